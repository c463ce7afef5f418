#include "core/mem.h"

#include <cblas.h>
#include <eigenpair/machine.h>
#include <eigenpair/run.h>
#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

ep_precision ep_run_precision(const ep_run_config *config) {
  return (ep_precision)config->precision;
}

/* Of a cap, what program, libraries and the buffers of BLAS take is not for arrays: `elsewhere`. Caps below 40 MB are kept
 * by the arrays alone: 20 MB of them and the rest is the least that the program is resident with. */
static const double elsewhere = 20e6, least = 20e6;
/* What small arrays may take beside those that were planned, out of `elsewhere`; past that an allocation is refused. */
static const double slack = 2e6;

double ep_run_memory(const ep_run_config *config) {
  const double half = 0.5 * (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  const double cap = config->memory > 0 ? config->memory : half;
  return cap <= least ? cap : fmax(least, cap - elsewhere);
}

double ep_run_memory_left(const ep_run_config *config) {
  return ep_run_memory(config) - (double)ep_memory_current();
}

/* ---- the handle */

struct ep_run {
  ep_run_config config;
  ep_run_hooks hooks;
  ep_account *account;
  int threads;
  const ep_comm *comm; /* NULL: alone */
  bool loose;          /* products may be left half done */
};

static _Thread_local ep_run *current;

ep_status ep_run_new(ep_run **out, const ep_run_config *config) {
  *out = NULL;
  EP_TRY(ep_machine_check());
  EP_CHECK(openblas_get_parallel() == 2, EP_ERR_NUMERIC,
           "the BLAS found at start is not OpenBLAS with OpenMP (install libopenblas0-openmp)");
  const ep_run_config usual = {.memory = 0};
  ep_run *run = calloc(1, sizeof *run);
  if (run)
    run->account = ep_account_new(slack + fmax(least, ep_run_memory(config ? config : &usual)));
  if (!run || !run->account) {
    free(run);
    return EP_FAIL(EP_ERR_NOMEM, "no memory for a run");
  }
  run->config = config ? *config : ep_run_default();
  run->threads = run->config.threads > 0 ? (int)run->config.threads : omp_get_max_threads();
  *out = run;
  return EP_OK;
}

void ep_run_free(ep_run *run) {
  if (!run) return;
  ep_account_free(run->account);
  free(run);
}

ep_run_hooks ep_run_set_hooks(ep_run *run, const ep_run_hooks *hooks) {
  const ep_run_hooks before = run ? run->hooks : (ep_run_hooks){0};
  if (run) run->hooks = hooks ? *hooks : (ep_run_hooks){0};
  return before;
}

void ep_run_set_comm(ep_run *run, const ep_comm *comm) { run->comm = comm; }

const ep_comm *ep_run_comm(const ep_run *run) {
  static const ep_comm alone = {.size = 1};
  return run && run->comm ? run->comm : &alone;
}

ep_run_hooks ep_run_quiet(void) {
  const ep_run_hooks before = current ? current->hooks : (ep_run_hooks){0};
  if (current) current->hooks.progress = NULL;
  return before;
}

ep_run_scope ep_run_enter(ep_run *run) {
  const ep_run_scope before = {current, NULL, omp_get_max_threads()};
  if (!run) return before;
  current = run;
  omp_set_num_threads(run->threads);
  return (ep_run_scope){before.run, ep_account_use(run->account), before.threads};
}

void ep_run_leave(const ep_run_scope *scope) {
  if (current == scope->run) return; /* nothing was entered, or the same again */
  current = scope->run;
  ep_account_use(scope->account);
  omp_set_num_threads(scope->threads);
}

ep_run *ep_run_current(void) { return current; }

void ep_run_progress(const char *what, double done, double total) {
  const ep_run_hooks *h = current ? &current->hooks : NULL;
  if (h && h->progress) h->progress(h->user, what, done, total);
}

void ep_run_note(const char *format, ...) {
  char text[1200];
  const ep_run_hooks *h = current ? &current->hooks : NULL;
  if (!h || !h->note) return;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  h->note(h->user, text);
}

bool ep_run_stopped(void) { return current && current->hooks.stop && *current->hooks.stop; }

ep_status ep_run_look(void) {
  EP_CHECK(!ep_run_stopped(), EP_ERR_INTERRUPTED, "interrupted; nothing was written");
  return EP_OK;
}

ep_status ep_run_step(const char *what, double done, double total) {
  ep_run_progress(what, done, total);
  return ep_run_look();
}

void ep_run_loose_begin(void) {
  if (current) current->loose = true;
}

ep_status ep_run_loose_end(void) {
  const bool loose = current && current->loose;
  if (current) current->loose = false;
  return loose ? ep_run_look() : EP_OK;
}

const volatile int *ep_run_stop(void) { return current ? current->hooks.stop : NULL; }

const volatile int *ep_run_loose_stop(void) {
  return current && current->loose ? current->hooks.stop : NULL;
}

const char *ep_run_parts(void) { return current ? current->hooks.parts : NULL; }
double ep_run_room(void) {
  const ep_run_config usual = {.memory = 0};
  return ep_run_memory_left(current ? &current->config : &usual);
}

int ep_run_threads(void) { return omp_get_max_threads(); }

size_t ep_memory_current(void) { return ep_mem_current(); }
size_t ep_memory_peak(void) { return ep_mem_peak(); }
void ep_memory_peak_reset(void) { ep_mem_peak_reset(); }
const char *ep_version(void) { return EP_VERSION; }
