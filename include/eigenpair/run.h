#pragma once
/* How a piece of work runs: precision, threads, memory, seed; and how it talks to its caller while it
 * runs. The library prints nothing: progress and interruption are callbacks. */
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>

const char *ep_precision_name(int i);

#define EP_RUN_OPTIONS(X, S)                                                                    \
  X(S, INT, seed, "0", 0, 9007199254740992., NULL, "seed of every random number")               \
  X(S, NAME, precision, "single", 0, 0, ep_precision_name, "precision of weights and products") \
  X(S, INT, threads, "0", 0, 4096, NULL, "threads; 0: all cores, or OMP_NUM_THREADS")           \
  X(S, BYTES, memory, "0", 0, 1e18, NULL, "cap on memory, such as 4G; 0: half of the machine's")

typedef struct {
  EP_RUN_OPTIONS(EP_OPT_FIELD, )
  /* Called now and then with work done and work in all; may be NULL. */
  void (*progress)(void *user, const char *what, double done, double total);
  void *user;
  /* Non-zero asks long work to save and stop; may be NULL. */
  const volatile int *stop;
  /* Folder in which very long work keeps its parts, to go on from them when it is run again; may be NULL. */
  const char *parts;
} ep_run_config;
extern const ep_option ep_run_options[];

ep_run_config ep_run_default(void);
ep_precision ep_run_precision(const ep_run_config *run);
double ep_run_memory(const ep_run_config *run);      /* the cap in bytes, default filled in */
double ep_run_memory_left(const ep_run_config *run); /* less what the library holds now */
/* Sets the threads of our loops and of BLAS; fails if BLAS is not the OpenMP build. */
ep_status ep_run_start(const ep_run_config *run);
int ep_run_threads(void);

static inline bool ep_run_stopped(const ep_run_config *run) { return run->stop && *run->stop; }
static inline void ep_run_progress(const ep_run_config *run, const char *what, double done,
                                   double total) {
  if (run->progress) run->progress(run->user, what, done, total);
}

/* The same for work that takes no run config, such as a kernel: one watcher for the process; NULL: none. The config
 * must stay in place while it watches. */
void ep_watch(const ep_run_config *run);
/* Called by such work now and then: tells, and is EP_ERR_INTERRUPTED once the watcher is asked to stop. */
ep_status ep_watch_step(const char *what, double done, double total);

size_t ep_memory_current(void); /* bytes the library holds now */
size_t ep_memory_peak(void);    /* and the most it held since the last ep_memory_peak_reset */
void ep_memory_peak_reset(void);
const char *ep_version(void);
