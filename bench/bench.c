#include "bench.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

double bench_now(void) { return omp_get_wtime(); }

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

static const struct {
  const char *name;
  void (*run)(const char *peers);
} benches[] = {{"train", bench_train},
               {"kernel", bench_kernel},
               {"closed", bench_closed},
               {"dynamics", bench_dynamics},
               {"learnability", bench_learnability},
               {"optima", bench_optima},
               {"quality", bench_quality}};
enum { BENCHES = sizeof benches / sizeof *benches };

/* bench [--peers FOLDER] [NAME...] */
int main(int argc, char **argv) {
  const char *peers = NULL;
  bool chosen[BENCHES] = {false}, any = false;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--peers") == 0 && i + 1 < argc) peers = argv[++i];
    for (int b = 0; b < BENCHES; b++)
      if (strcmp(argv[i], benches[b].name) == 0) chosen[b] = any = true;
  }
  const ep_run_config run = ep_run_default();
  ep_run *work;
  bench_must(ep_run_new(&work, &run));
  const ep_run_scope outside = ep_run_enter(work);
  printf("eigenpair %s, %d threads\n\n", ep_version(), ep_run_threads());
  for (int b = 0; b < BENCHES; b++)
    if (chosen[b] || !any) benches[b].run(peers);
  ep_run_leave(&outside);
  ep_run_free(work);
  return 0;
}
