#include "core/mem.h"

#include <cblas.h>
#include <eigenpair/run.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

const ep_option ep_run_options[] = {EP_RUN_OPTIONS(EP_OPT_ROW, ep_run_config){0}};

const char *ep_precision_name(int i) {
  static const char *const names[] = {"single", "double", NULL};
  return names[i];
}

ep_run_config ep_run_default(void) {
  ep_run_config run = {0};
  ep_options_default(ep_run_options, &run);
  return run;
}

ep_precision ep_run_precision(const ep_run_config *run) {
  return strcmp(run->precision, "double") == 0 ? EP_DOUBLE : EP_SINGLE;
}

double ep_run_memory(const ep_run_config *run) {
  if (run->memory > 0) return run->memory;
  return 0.5 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

double ep_run_memory_left(const ep_run_config *run) {
  return ep_run_memory(run) - (double)ep_memory_current();
}

ep_status ep_run_start(const ep_run_config *run) {
  EP_CHECK(openblas_get_parallel() == 2, EP_ERR_NUMERIC,
           "the BLAS found at start is not OpenBLAS with OpenMP (install libopenblas0-openmp)");
  static int usual; /* what OMP_NUM_THREADS says, or all cores: as it was before the first change */
  if (!usual) usual = omp_get_max_threads();
  const int threads = run->threads > 0 ? (int)run->threads : usual;
  omp_set_num_threads(threads);
  return EP_OK;
}

static const ep_run_config *watcher;

void ep_watch(const ep_run_config *run) { watcher = run; }

ep_status ep_watch_step(const char *what, double done, double total) {
  if (!watcher) return EP_OK;
  ep_run_progress(watcher, what, done, total);
  EP_CHECK(!ep_run_stopped(watcher), EP_ERR_INTERRUPTED, "interrupted; nothing was written");
  return EP_OK;
}

int ep_run_threads(void) { return omp_get_max_threads(); }

size_t ep_memory_current(void) { return ep_mem_current(); }
size_t ep_memory_peak(void) { return ep_mem_peak(); }
void ep_memory_peak_reset(void) { ep_mem_peak_reset(); }
const char *ep_version(void) { return EP_VERSION; }
