#pragma once
/* A run is the handle of a piece of work: its threads, its memory and its cap, whom it tells how far it is, who may stop
 * it. Everything that takes time takes one first; NULL: the run that this thread has entered, or none (all cores, half of the
 * machine's memory, nobody told). Nothing is shared between runs: two in two threads of a process give the bits they give one
 * after the other. The library prints nothing. */
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>
#include <stdbool.h>

EP_BEGIN

/* What the library asks of a parallel machine: several processes, the ranks, that make the same calls with the same
 * arguments. What each computes alone is a share of rows or anchors; the rest is the same on all of them, to the last
 * bit, and so are all random numbers. Files are written by rank 0 alone. Alone, which is the default: nothing to do. */
struct ep_dist;
typedef struct ep_comm {
  int rank, size;
  void *impl;
  /* x (n numbers) += those of the other ranks, in the order of ranks: the same bits everywhere and every time */
  ep_status (*sum)(const struct ep_comm *comm, void *x, ptrdiff_t n, ep_precision prec);
  /* rank r has filled in rows first[r] .. first[r + 1] - 1 of x, each of `bytes`; afterwards all are there */
  ep_status (*gather)(const struct ep_comm *comm, void *x, const ptrdiff_t *first, size_t bytes);
  /* from rank 0 */
  ep_status (*broadcast)(const struct ep_comm *comm, void *x, size_t bytes);
  /* NULL: cannot. Matrices of this order spread over the ranks, by "scalapack" or "elpa". */
  ep_status (*spread)(const struct ep_comm *comm, struct ep_dist **out, ptrdiff_t order, bool elpa);
} ep_comm;

/* ---- for work within a run (ep_run_set_comm) */

#define EP_RUN_OPTIONS(X, S)                                                                      \
  X(S, INT, seed, "0", 0, 9007199254740992., NULL, "seed of every random number",                 \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, CHOICE, precision, "single", 0, 0, ep_precision_name, "precision of weights and products", \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, INT, threads, "0", 0, 4096, NULL, "threads; 0: all cores, or OMP_NUM_THREADS",             \
    EP_FOR(ANY, NO_SUMS, FREE))                                                                   \
  X(S, BYTES, memory, "0", 0, 1e18, NULL,                                                         \
    "cap on memory, such as 4G, all of the program counted; 0: half of the machine's",            \
    EP_FOR(ANY, NO_SUMS, FREE))

typedef struct {
  EP_RUN_OPTIONS(EP_OPT_FIELD, )
} ep_run_config;
extern const ep_option ep_run_options[];

ep_run_config ep_run_default(void);

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

/* From enter to leave this thread works for the run: its threads, its memory, its hooks. Entries nest. */
typedef struct {
  ep_run *run;
  void *account;
  int threads;
} ep_run_scope;
ep_run_scope ep_run_enter(ep_run *run); /* NULL: nothing changes */
void ep_run_leave(const ep_run_scope *scope);

/* For work within a run, such as a loss of your own: has it been asked to stop? */
bool ep_run_stopped(void);

double ep_run_room(void);    /* bytes left under the cap of this thread's run */
size_t ep_memory_peak(void); /* the most it has held */
const char *ep_version(void);

EP_END
