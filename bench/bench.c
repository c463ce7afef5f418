#include "bench.h"

#include <eigenpair/machine.h>
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --cpu: seconds of the processor, all threads and ended children together; for a machine that others use too */
static bool by_processor;
double bench_now(void) {
  struct rusage c;
  if (!by_processor) return omp_get_wtime();
  getrusage(RUSAGE_CHILDREN, &c);
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID) + (double)(c.ru_utime.tv_sec + c.ru_stime.tv_sec) +
         1e-6 * (double)(c.ru_utime.tv_usec + c.ru_stime.tv_usec);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_median(double *x, int n) {
  qsort(x, (size_t)n, sizeof *x, ascending);
  return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

void bench_must(ep_status st) {
  if (st == EP_OK) return;
  fprintf(stderr, "bench: %s\n", ep_last_error());
  exit(1);
}

/* ---- what was asked */

enum { MOST_ROWS = 64 };
static struct {
  char what[120];
  bench_sense sense;
  double asked, measured;
} rows[MOST_ROWS];
static int row_count;

void bench_row(const char *what, bench_sense sense, double asked, double measured) {
  if (row_count == MOST_ROWS) return;
  snprintf(rows[row_count].what, sizeof rows->what, "%s", what);
  rows[row_count].sense = sense;
  rows[row_count].asked = asked;
  rows[row_count++].measured = measured;
}

static bool met(int i) {
  return rows[i].sense == AT_MOST ? rows[i].measured <= rows[i].asked
                                  : rows[i].measured >= rows[i].asked;
}

static void print_rows(void) {
  if (row_count) printf("%-78s %14s %9s\n", "asked", "", "measured");
  for (int i = 0; i < row_count; i++) {
    printf("%-78s %8s %5.4g ", rows[i].what, rows[i].sense == AT_MOST ? "at most" : "at least",
           rows[i].asked);
    if (isfinite(rows[i].measured))
      printf("%9.3g %s\n", rows[i].measured, met(i) ? "" : " NOT MET");
    else printf("not measured\n");
  }
}

/* ---- the machine */

typedef struct {
  double wall, cpu; /* seconds of the known loop; share of the cores that it got */
} loop_time;

/* the same dependent additions on every thread; beside other work it takes longer than its processor time */
static loop_time known_loop(void) {
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = omp_get_wtime();
  const int threads = omp_get_max_threads();
#pragma omp parallel for schedule(static)
  for (int t = 0; t < threads; t++) {
    volatile double sum = 0;
    for (long i = 0; i < 500000000; i++) sum += 1;
  }
  const double wall = omp_get_wtime() - begin;
  return (loop_time){wall, (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (wall * threads)};
}

/* Gflop/s of the best of some products of BLAS in single precision */
static double peak(void) {
  enum { SIDE = 1536 };
  ep_mat A, B, C;
  double best = INFINITY;
  bench_must(ep_mat_new(&A, EP_SINGLE, SIDE, SIDE));
  bench_must(ep_mat_new(&B, EP_SINGLE, SIDE, SIDE));
  bench_must(ep_mat_new(&C, EP_SINGLE, SIDE, SIDE));
  ep_random_fill_normal(&A, 1, EP_STREAM_DATA, 0);
  ep_random_fill_normal(&B, 1, EP_STREAM_DATA, 1);
  for (int r = 0; r < 10; r++) {
    const double begin = bench_now();
    ep_mat_mul(&C, 1, &A, EP_N, &B, EP_T, 0);
    best = fmin(best, bench_now() - begin);
  }
  ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&C);
  return 2e-9 * SIDE * SIDE * SIDE / best;
}

static bool quiet(loop_time before, loop_time after) {
  return before.cpu > 0.95 && after.cpu > 0.95 && fabs(before.wall / after.wall - 1) < 0.1;
}

double bench_busy(double (*run)(void *), void *what, int turns) {
  enum { MOST = 16 };
  double alone[MOST], beside[MOST];
  if (by_processor) return NAN; /* says nothing of waiting */
  if (turns > MOST) turns = MOST;
  fflush(stdout);
  for (int t = 0; t < turns; t++) {
    alone[t] = run(what);
    const pid_t child = fork();
    if (child == 0)
      for (volatile long i = 0;; i++) continue;
    beside[t] = run(what);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
  }
  return bench_median(beside, turns) / bench_median(alone, turns);
}

bool bench_scripts(char *folder, size_t size) {
  char place[1024];
  const ssize_t length = readlink("/proc/self/exe", place, sizeof place - 40);
  if (length < 0) return false;
  place[length] = '\0';
  strcpy(strrchr(place, '/'), "/../../bench");
  snprintf(folder, size, "%s", place);
  return access(folder, X_OK) == 0;
}

/* ---- */

static const struct {
  const char *name;
  void (*run)(const char *peers);
} benches[] = {{"train", bench_train},
               {"kernel", bench_kernel},
               {"closed", bench_closed},
               {"dynamics", bench_dynamics},
               {"learnability", bench_learnability},
               {"optima", bench_optima},
               {"mnist", bench_mnist},
               {"augment", bench_augment},
               {"quality", bench_quality}};
enum { BENCHES = sizeof benches / sizeof *benches };

/* everything as JSON; the tables have gone to standard error */
static void write_json(FILE *to, double peak, loop_time before, loop_time after) {
  json_t *list = json_array(), *all;
  for (int i = 0; i < row_count; i++)
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:f, s:o, s:b}", "what", rows[i].what, "sense",
                        rows[i].sense == AT_MOST ? "at most" : "at least", "asked", rows[i].asked,
                        "measured", ep_json_number(rows[i].measured), "met", met(i)));
  all = json_pack("{s:s, s:s, s:s, s:i, s:f, s:b, s:[f,f], s:o}", "version", ep_version(),
                  "processor", ep_machine_processor(), "kernels", ep_machine_kernels(), "threads",
                  ep_run_threads(), "peak_gflops", peak, "quiet", quiet(before, after),
                  "known_loop", before.wall, after.wall, "rows", list);
  json_dumpf(all, to, JSON_INDENT(1));
  fprintf(to, "\n");
  json_decref(all);
}

static void tell_quiet(const char *when, loop_time t) {
  printf("%s: a known loop took %.3f s and had %.0f %% of the cores\n", when, t.wall, 100 * t.cpu);
}

/* waiting threads sleep soon, as in the program */
static void wait_asleep(char **argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "2000", 1) == 0) execv("/proc/self/exe", argv);
}

const char *bench_python(void) {
  const char *named = getenv("PYTHON");
  return named && named[0] == '/' ? named : "/usr/bin/python3";
}

static int usage(FILE *to) {
  fprintf(to, "bench [--json] [--cpu] [--peers FOLDER] [NAME ..]   all of them, or:");
  for (int b = 0; b < BENCHES; b++) fprintf(to, " %s", benches[b].name);
  fprintf(to,
          "\n  --json   rows as JSON on standard output, tables on standard error\n"
          "  --cpu    seconds of the processor, for a machine that others use too\n"
          "  --peers  where peers*.py are, if they do not stand in the sources\n"
          "PYTHON=/path/of/python3 runs the peers: another PyTorch than Debian's\n");
  return to == stderr ? 2 : 0;
}

/* true: it is the name of a bench */
static bool choose(bool chosen[BENCHES], const char *word) {
  int b = 0;
  while (b < BENCHES && strcmp(word, benches[b].name) != 0) b++;
  if (b < BENCHES) chosen[b] = true;
  return b < BENCHES;
}

int main(int argc, char **argv) {
  wait_asleep(argv);
  const char *peers = NULL;
  bool chosen[BENCHES] = {false}, any = false, json = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0) return usage(stdout);
    if (strcmp(argv[i], "--peers") == 0 && i + 1 < argc) peers = argv[++i];
    else if (strcmp(argv[i], "--json") == 0) json = true;
    else if (strcmp(argv[i], "--cpu") == 0) by_processor = true;
    else if (choose(chosen, argv[i])) any = true;
    else return usage(stderr);
  }
  FILE *out = json ? fdopen(dup(STDOUT_FILENO), "w") : stdout;
  if (!out || (json && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)) return 1;
  const ep_run_config run = ep_run_default();
  ep_run *work;
  bench_must(ep_run_new(&work, &run));
  const ep_run_scope outside = ep_run_enter(work);
  setenv("OPENBLAS_CORETYPE", ep_machine_blas_core(), 0); /* peers get the products that we have */
  const double top = peak();
  const loop_time before = known_loop();
  printf(
      "eigenpair %s, %s, kernels %s, %d threads; BLAS at most %.0f Gflop/s in single precision\n",
      ep_version(), ep_machine_processor(), ep_machine_kernels(), ep_run_threads(), top);
  tell_quiet("before", before);
  printf("\n");
  for (int b = 0; b < BENCHES; b++)
    if (chosen[b] || !any) benches[b].run(peers);
  const loop_time after = known_loop();
  print_rows();
  tell_quiet("before", before);
  tell_quiet("after", after);
  if (!quiet(before, after))
    printf("the machine was NOT QUIET: others used it, ratios are worth little%s\n",
           by_processor ? "" : " (--cpu with OMP_NUM_THREADS=1 counts the processor's time)");
  if (by_processor) printf("seconds are the processor's, of all threads together\n");
  if (json) write_json(out, top, before, after);
  ep_run_leave(&outside);
  ep_run_free(work);
  return json ? fclose(out) != 0 : 0;
}
