/* Curves of claims. */
#include "study/curve.h"

#include <assert.h>
#include <eigenpair/powerlaw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ep_status claim_figure(json_t **figure, ep_claim_result *r, const char *name, ep_figure_kind kind,
                       const char *title, const char *alt, ep_axis x, ep_axis y) {
  EP_TRY(ep_figure_new(figure, name, kind, title, alt, x, y));
  return ep_claim_figure(r, *figure);
}

ep_status claim_curve_new(claim_curve *c, ep_work *work, ptrdiff_t count, int runs) {
  *c = (claim_curve){.count = count, .runs = runs};
  EP_TRY(ep_work_get(work, &c->x, count, sizeof *c->x));
  return ep_work_get(work, &c->all, count * runs, sizeof *c->all);
}

/* what is no number comes last */
static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
  return (x > y) - (x < y);
}

bool claim_whole(const claim_curve *c) {
  for (ptrdiff_t i = 0; i < c->count * c->runs; i++)
    if (!isfinite(c->all[i])) return false;
  return true;
}

/* the runs at i, sorted: their order carries no meaning of its own */
static const double *sorted(const claim_curve *c, ptrdiff_t i, double *room) {
  memcpy(room, claim_at(c, i, 0), (size_t)c->runs * sizeof *room);
  qsort(room, (size_t)c->runs, sizeof *room, ascending);
  return room;
}

enum { MOST_RUNS = 128 };
double claim_median(const claim_curve *c, ptrdiff_t i) {
  double room[MOST_RUNS];
  const double *v = sorted(c, i, room);
  return (v[(c->runs - 1) / 2] + v[c->runs / 2]) / 2;
}
double claim_worst(const claim_curve *c, ptrdiff_t i) {
  double room[MOST_RUNS];
  return sorted(c, i, room)[c->runs - 1];
}
double claim_least(const claim_curve *c, ptrdiff_t i) {
  double room[MOST_RUNS];
  return sorted(c, i, room)[0];
}

static double not_below(double x, double floor) { return x < floor ? floor : x; }

static ep_status draw(ep_work *work, json_t *figure, const char *name, const char *panel,
                      const claim_curve *c, bool dashed, double floor) {
  double *mid, *low, *high;
  EP_TRY(ep_work_get(work, &mid, c->count, sizeof *mid));
  EP_TRY(ep_work_get(work, &low, c->count, sizeof *low));
  EP_TRY(ep_work_get(work, &high, c->count, sizeof *high));
  for (ptrdiff_t i = 0; i < c->count; i++) {
    mid[i] = not_below(claim_median(c, i), floor);
    low[i] = not_below(claim_least(c, i), floor);
    high[i] = not_below(claim_worst(c, i), floor);
  }
  const bool several = c->runs > 1;
  const ep_series s = {
      name, panel, c->count, c->x, mid, several ? low : NULL, several ? high : NULL, NULL, dashed};
  return ep_figure_add(figure, &s);
}

ep_status claim_draw_above(json_t *figure, const char *name, const char *panel,
                           const claim_curve *c, bool dashed, double floor) {
  ep_work work = {0};
  const ep_status st = draw(&work, figure, name, panel, c, dashed, floor);
  ep_work_free(&work);
  return st;
}

ep_status claim_draw(json_t *figure, const char *name, const char *panel, const claim_curve *c,
                     bool dashed) {
  return claim_draw_above(figure, name, panel, c, dashed, -INFINITY);
}

double claim_exponent(const claim_curve *c) {
  enum { MOST = 64 };
  double median[MOST];
  assert(c->count <= MOST);
  for (ptrdiff_t i = 0; i < c->count; i++) median[i] = claim_median(c, i);
  return ep_power_law_fit(c->x, median, c->count).exponent;
}

ep_power_law claim_law(const claim_curve *c) {
  enum { MOST = 512 };
  double x[MOST], y[MOST];
  ptrdiff_t n = 0;
  for (ptrdiff_t i = 0; i < c->count; i++)
    for (int k = 0; k < c->runs && n < MOST; k++, n++) x[n] = c->x[i], y[n] = *claim_at(c, i, k);
  return ep_power_law_fit(x, y, n);
}

ep_power_law claim_law_of_runs(const claim_curve *c) {
  return ep_power_law_fit_runs(c->x, c->all, c->count, c->runs);
}

ep_status claim_measure_law(ep_claim_result *r, const char *name, const ep_power_law *law) {
  return ep_claim_measure_within(r, name, law->exponent, law->low, law->high);
}
