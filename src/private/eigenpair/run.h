#pragma once
#include "../../../include/eigenpair/run.h"
#include <eigenpair/comm.h>

const char *ep_precision_name(int i);

ep_precision ep_run_precision(const ep_run_config *config);
double ep_run_memory(
    const ep_run_config *config); /* bytes for arrays under the cap, default filled in */
double ep_run_memory_left(const ep_run_config *config); /* less what this thread's run holds now */

const ep_comm *ep_run_comm(const ep_run *run); /* NULL: of no run; never NULL */

/* Takes the progress hook out of this thread's run for some work within it; the hooks before. */
ep_run_hooks ep_run_quiet(void);

ep_run *ep_run_current(void); /* NULL: none */

/* For work within a run: tells how far it is. */
void ep_run_progress(const char *what, double done, double total);
/* A sentence for the user of the run. */
void ep_run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* EP_ERR_INTERRUPTED once the run is asked to stop. */
ep_status ep_run_look(void);
/* What says stop, for a loop that leaves its work half done then and has its caller look; NULL: nothing does. */
const volatile int *ep_run_stop(void);
/* Tells how far it is, and looks. */
ep_status ep_run_step(const char *what, double done, double total);
/* Between begin and end, a large product may be left half done when the run is asked to stop on the way, so that it stops at
 * once. The end says so: then nothing of what was computed is used, and the work is interrupted. */
void ep_run_loose_begin(void);
ep_status ep_run_loose_end(void);
const volatile int *ep_run_loose_stop(
    void);                      /* for products: what says stop; NULL: they go on to their end */
const char *ep_run_parts(void); /* NULL: none */
int ep_run_threads(void);       /* threads that parallel work of this thread has now */

size_t ep_memory_current(void); /* bytes that this thread's run holds now */
void ep_memory_peak_reset(void);
