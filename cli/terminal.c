/* Progress (bar, rate, time left) on standard error, and signals. */
#include "commands.h"
#include "core/hash.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int stop;

static void ask_to_stop(int number) {
  stop = 1;
  signal(number, SIG_DFL); /* the second one ends the program at once */
}

static struct {
  double begin, last, first_done;
  bool shown, terminal;
  char what[64]; /* the stage; each is timed by itself */
} bar;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void duration(char out[32], double seconds) {
  if (seconds < 100) snprintf(out, 32, "%.0f s", seconds);
  else if (seconds < 6000) snprintf(out, 32, "%.0f min", seconds / 60);
  else snprintf(out, 32, "%.1f h", seconds / 3600);
}

/* a whole line: at once on a terminal, else at most every two seconds */
static void say_words(const char *what) {
  const double t = now();
  if (!bar.terminal && bar.last > 0 && t - bar.last < 2) return;
  bar.last = t;
  fprintf(stderr, "%s%s%s", bar.terminal ? "\r" : "", what, bar.terminal ? "\033[K" : "\n");
  fflush(stderr);
  bar.shown = bar.terminal;
}

static void show(void *user, const char *what, double done, double total) {
  enum { WIDTH = 30 };
  const double t = now();
  (void)user;
  if (done < 0) { /* the words say it all */
    say_words(what);
    return;
  }
  if (bar.begin == 0 || strncmp(bar.what, what, sizeof bar.what - 1) != 0) {
    bar.begin = t, bar.first_done = done;
    snprintf(bar.what, sizeof bar.what, "%s", what);
  }
  const double patience = bar.terminal ? 0.2 : 2; /* nothing for work shorter than this */
  if (t - bar.begin < patience || t - bar.last < patience) return;
  bar.last = t;
  const double rate = (done - bar.first_done) / (t - bar.begin);
  if (total <= 0) { /* nobody knows how much is left */
    fprintf(stderr, "%s%s %.0f, %.0f s%s", bar.terminal ? "\r" : "", what, done, t - bar.begin,
            bar.terminal ? "\033[K" : "\n");
    fflush(stderr);
    bar.shown = bar.terminal;
    return;
  }
  char left[32] = "?", line[WIDTH + 1];
  if (rate > 0) duration(left, (total - done) / rate);
  const int full = total > 0 ? (int)(WIDTH * done / total) : 0;
  for (int i = 0; i < WIDTH; i++) line[i] = i < full ? '#' : '.';
  line[WIDTH] = '\0';
  fprintf(stderr, "%s%s %.0f/%.0f [%s] %.3g/s, %s left%s", bar.terminal ? "\r" : "", what, done,
          total, line, rate, left, bar.terminal ? "\033[K" : "\n");
  fflush(stderr);
  bar.shown = bar.terminal;
}

void terminal_clear(void) {
  if (bar.shown) fputs("\r\033[K", stderr);
  bar.shown = false;
  bar.begin = bar.last = 0;
}

/* A note is told once, however often the same data are read. */
static void tell(void *user, const char *text) {
  enum { MOST = 64 };
  static uint64_t told[MOST];
  static int count;
  const uint64_t mark = ep_hash(EP_HASH_START, text, strlen(text));
  (void)user;
  for (int i = 0; i < count; i++)
    if (told[i] == mark) return;
  if (count < MOST) told[count++] = mark;
  terminal_clear();
  fprintf(stderr, "note: %s\n", text);
}

static ep_run *run;
static ep_run_scope outside;

ep_status work_begin(ep_run_config *config, bool progress) {
  struct sigaction action = {0};
  EP_TRY(ranks_share_machine(config));
  if (ranks()->rank > 0) progress = false;
  action.sa_handler = ask_to_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  bar.terminal = ranks()->rank == 0 && isatty(STDERR_FILENO);
  EP_TRY(ep_run_new(&run, config));
  const ep_run_hooks hooks = {progress || bar.terminal ? show : NULL, NULL, &stop, NULL, tell};
  ep_run_set_hooks(run, &hooks);
  ep_run_set_comm(run, ranks());
  outside = ep_run_enter(run);
  return EP_OK;
}

void work_end(void) {
  if (run) ep_run_leave(&outside);
  ep_run_free(run);
  run = NULL;
}
