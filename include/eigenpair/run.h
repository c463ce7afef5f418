#pragma once
/* A run is the handle of a piece of work: its threads, its memory and its cap, whom it tells how far it is, who may stop
 * it. Fits, embeddings and searches take one first; NULL: the run that this thread has entered, or none (all cores, half of
 * the machine's memory, nobody told). Whatever else takes time works for the run of its thread. Nothing is shared between
 * runs: two in two threads of a process give the bits they give one after the other. The library prints nothing. */
#include <eigenpair/comm.h>
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>

EP_BEGIN

const char *ep_precision_name(int i);

#define EP_RUN_OPTIONS(X, S)                                                                    \
  X(S, INT, seed, "0", 0, 9007199254740992., NULL, "seed of every random number")               \
  X(S, NAME, precision, "single", 0, 0, ep_precision_name, "precision of weights and products") \
  X(S, INT, threads, "0", 0, 4096, NULL, "threads; 0: all cores, or OMP_NUM_THREADS")           \
  X(S, BYTES, memory, "0", 0, 1e18, NULL,                                                       \
    "cap on memory, such as 4G, all of the program counted; 0: half of the machine's")

typedef struct {
  EP_RUN_OPTIONS(EP_OPT_FIELD, )
} ep_run_config;
extern const ep_option ep_run_options[];

ep_run_config ep_run_default(void);
ep_precision ep_run_precision(const ep_run_config *config);
double ep_run_memory(
    const ep_run_config *config); /* bytes for arrays under the cap, default filled in */
double ep_run_memory_left(const ep_run_config *config); /* less what this thread's run holds now */

/* How a run talks to its caller; every part may be NULL. */
typedef struct {
  /* Called now and then with work done and work in all (0: nobody knows); done < 0: `what` is a whole sentence. */
  void (*progress)(void *user, const char *what, double done, double total);
  void *user;
  /* Non-zero asks long work to save and stop. */
  const volatile int *stop;
  /* Folder in which very long work keeps its parts, to go on from them when it is run again. */
  const char *parts;
  /* Called with a sentence that a user should read: what was left out, and why. */
  void (*note)(void *user, const char *text);
} ep_run_hooks;

typedef struct ep_run ep_run;
/* Fails if BLAS is not the OpenMP build. `config` (NULL: defaults) is copied. */
ep_status ep_run_new(ep_run **out, const ep_run_config *config);
void ep_run_free(ep_run *run); /* what it allocated may live on */
/* Sets the hooks (NULL: none) and gives back those before; what they point to stays the caller's. */
ep_run_hooks ep_run_set_hooks(ep_run *run, const ep_run_hooks *hooks);

/* From now on the run is one of several ranks; comm (NULL: alone) is borrowed. */
void ep_run_set_comm(ep_run *run, const ep_comm *comm);
const ep_comm *ep_run_comm(const ep_run *run); /* NULL: of no run; never NULL */

/* Takes the progress hook out of this thread's run for some work within it; the hooks before. */
ep_run_hooks ep_run_quiet(void);

/* From enter to leave this thread works for the run: its threads, its memory, its hooks. Entries nest. */
typedef struct {
  ep_run *run;
  void *account;
  int threads;
} ep_run_scope;
ep_run_scope ep_run_enter(ep_run *run); /* NULL: nothing changes */
void ep_run_leave(const ep_run_scope *scope);
ep_run *ep_run_current(void); /* NULL: none */

/* For work within a run: tells how far it is. */
void ep_run_progress(const char *what, double done, double total);
bool ep_run_stopped(void);
/* A sentence for the user of the run. */
void ep_run_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Both: EP_ERR_INTERRUPTED once the run is asked to stop. */
ep_status ep_run_step(const char *what, double done, double total);
const char *ep_run_parts(void); /* NULL: none */
int ep_run_threads(void);       /* threads that parallel work of this thread has now */

double ep_run_room(void);       /* bytes left under the cap of this thread's run */
size_t ep_memory_current(void); /* bytes that this thread's run holds now */
size_t ep_memory_peak(void);    /* and the most it held since the last ep_memory_peak_reset */
void ep_memory_peak_reset(void);
const char *ep_version(void);

EP_END
