/* "job 3 of 12: kernel, width 300, seed 1; about 4 min left", to whom it concerns and into a log. */
#include "study/compare.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* what a fit of this name takes, by the last one, in proportion to the width; NAN: none has been run */
static double expected(const ep_compare_progress *p, const char *name, double width) {
  for (int k = 0; k < p->names; k++)
    if (strcmp(p->known[k].name, name) == 0)
      return p->known[k].seconds * (p->known[k].width > 0 ? width / p->known[k].width : 1);
  return NAN;
}

static void remember(ep_compare_progress *p, double seconds) {
  int k = 0;
  while (k < p->names && strcmp(p->known[k].name, p->name) != 0) k++;
  if (k == EP_MOST_STEPS) return;
  if (k == p->names) p->names++;
  snprintf(p->known[k].name, sizeof p->known[k].name, "%s", p->name);
  p->known[k].seconds = seconds;
  p->known[k].width = p->width;
}

void ep_progress_plan(ep_compare_progress *p, const char *name, double width) {
  if (p->planned == EP_MOST_STEPS) return;
  snprintf(p->plan[p->planned].name, sizeof p->plan[0].name, "%s", name);
  p->plan[p->planned++].width = width;
}

/* seconds of everything from the next fit on; fits that nobody has seen take as long as the mean of the others */
static double left(const ep_compare_progress *p) {
  double sum = 0, all = 0;
  int known = 0, count = 0;
  const int seed = p->planned > 0 ? p->planned : 1;
  for (int i = p->done; i < p->total; i++, count++) {
    const double t = expected(p, p->plan[i % seed].name, p->plan[i % seed].width);
    if (isfinite(t)) sum += t, known++;
  }
  for (int k = 0; k < p->names; k++) all += p->known[k].seconds;
  if (p->names == 0) return NAN;
  return sum + (count - known) * all / p->names;
}

static void in_words(char text[40], double seconds) {
  if (!isfinite(seconds)) snprintf(text, 40, "time left not known yet");
  else if (seconds < 99.5) snprintf(text, 40, "about %.0f s left", fmax(seconds, 1));
  else if (seconds < 5970) snprintf(text, 40, "about %.0f min left", seconds / 60);
  else snprintf(text, 40, "about %.1f h left", seconds / 3600);
}

void ep_progress_begin(ep_compare_progress *p, const char *name, double width, long seed) {
  char time[40], at[40] = "";
  in_words(time, left(p));
  p->begin = omp_get_wtime();
  p->width = width;
  snprintf(p->name, sizeof p->name, "%s", name);
  if (width > 0) snprintf(at, sizeof at, ", width %.0f", width);
  snprintf(p->text, sizeof p->text, "job %d of %d: %s%s, seed %ld; %s", p->done + 1, p->total, name,
           at, seed, time);
  ep_run_progress(p->text, -1, 0);
  if (p->log) fprintf(p->log, "%s\n", p->text), fflush(p->log);
}

void ep_progress_end(ep_compare_progress *p) {
  remember(p, omp_get_wtime() - p->begin);
  p->done++;
}
