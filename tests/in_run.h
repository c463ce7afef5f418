#pragma once
/* Work within a run, for tests. */
#include "check.h"

#include <eigenpair/method.h>

/* From here to leave() this thread's work is asked to stop while *stop is not zero. */
static inline ep_run_scope enter_stopped(const volatile int *stop) {
  ep_run *run;
  CHECK_OK(ep_run_new(&run, NULL));
  ep_run_set_hooks(run, &(ep_run_hooks){.stop = stop});
  return ep_run_enter(run);
}

static inline void leave(const ep_run_scope *scope) {
  ep_run *run = ep_run_current();
  ep_run_leave(scope);
  ep_run_free(run);
}

/* ep_model_embed with so many bytes to work with. */
static inline ep_status embed_within(double bytes, const ep_mat *E, const ep_model *m,
                                     const ep_mat *X) {
  ep_run_config config = ep_run_default();
  ep_run *run;
  config.memory = bytes;
  CHECK_OK(ep_run_new(&run, &config));
  const ep_status st = ep_model_embed(run, E, m, X);
  ep_run_free(run);
  return st;
}
