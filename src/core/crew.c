/* Threads that help with a loop and may be absent.
 *
 * Beside other work a thread may lose its core for milliseconds, longer than most loops take. A team whose members all have to
 * come and go together (OpenMP's) then waits for the one that has no core, twice a loop. Here nobody waits for a helper that
 * holds no turns: the owner of a crew opens a loop, takes turns until there are none left, closes it, and waits only for
 * helpers that are in the middle of theirs. A helper that comes late finds the loop closed. Three things keep them from being
 * in the middle when they lose their core, and the owner from losing its own:
 *
 *   - a helper that has run for most of a tick of the clock gives way before it takes more, not after;
 *   - helpers keep off the core that the owner is on, where the scheduler likes to wake them;
 *   - who waits spins for half a millisecond, a tenth of that in the second after it has lost its core to others, then sleeps,
 *     and is owed its share of the core when it wakes.
 *
 * `round` is odd while a loop is open. A helper first counts itself in (`inside`), then looks whether the round is still the
 * one it saw; the owner first ends the round, then looks whether anybody is inside: one of the two sees the other. */
#define _GNU_SOURCE
#include "core/crew.h"

#include <eigenpair/run.h>
#include <linux/futex.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct crew crew;
typedef struct {
  crew *of;
  pthread_t thread;
  int number;    /* 1, 2, ..; the owner is 0 */
  int left;      /* the core that it keeps off; -1: none yet */
  double since;  /* when it got its core, as far as it knows */
  double lost;   /* when it last found that it had lost it */
  double tick;   /* of the scheduler's clock, seconds */
  uint32_t seen; /* the round that it was in last */
} helper;

struct crew {
  ep_turns *turns; /* the loop: written while nobody is inside */
  void *loop;
  ptrdiff_t count, at_once;
  _Alignas(64) _Atomic ptrdiff_t next;
  _Alignas(64) _Atomic uint32_t round;
  _Atomic uint32_t inside;
  _Atomic int asleep;        /* helpers */
  _Atomic bool owner_sleeps; /* until nobody is inside */
  _Atomic bool over;         /* helpers are to go */
  _Atomic int owner_core, threads;
  pid_t owner;
  int asked, helpers; /* fewer where threads could not be had */
  helper helper[];
};

/* seconds: to spin, and where others want the core; what no clock is late by unless its thread had no core; for how long to mind */
static const double spin = 5e-4, spin_beside = 5e-5, gap = 3e-4, minded = 1;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void pause_a_little(void) {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

static void sleep_while(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int most) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

/* ---- helpers */

static bool nothing_new(helper *h, uint32_t *round) {
  *round = atomic_load(&h->of->round);
  return (*round % 2 == 0 || *round == h->seen) && !atomic_load(&h->of->over);
}

/* the next round */
static uint32_t await_round(helper *h) {
  crew *c = h->of;
  uint32_t round;
  double begin = now(), last = begin;
  for (int k = 1; nothing_new(h, &round); k++) {
    pause_a_little();
    if (k % 64) continue;
    const double t = now();
    if (t - last > gap) h->lost = t;
    last = t;
    if (t - begin < (t - h->lost < minded ? spin_beside : spin)) continue;
    atomic_fetch_add(&c->asleep, 1);
    if (nothing_new(h, &round)) sleep_while(&c->round, round);
    atomic_fetch_sub(&c->asleep, 1);
    h->since = begin = last = now();
  }
  return round;
}

/* The cores that the owner may use (where OpenMP has bound it to one: all that OpenMP has) but the one that it is on, if there
 * are enough for all. */
static void keep_off(helper *h) {
  const int core = atomic_load(&h->of->owner_core), places = omp_get_num_places();
  cpu_set_t cores;
  if (core == h->left) return;
  h->left = core;
  CPU_ZERO(&cores);
  for (int p = 0; p < places; p++) {
    int some[CPU_SETSIZE];
    const int n = omp_get_place_num_procs(p);
    if (n <= CPU_SETSIZE) omp_get_place_proc_ids(p, some);
    for (int i = 0; i < n && n <= CPU_SETSIZE; i++) CPU_SET((size_t)some[i], &cores);
  }
  if (places == 0 && sched_getaffinity(h->of->owner, sizeof cores, &cores)) return;
  if (core >= 0 && CPU_COUNT(&cores) >= atomic_load(&h->of->threads)) CPU_CLR((size_t)core, &cores);
  (void)sched_setaffinity(0, sizeof cores, &cores);
}

static void give_way(helper *h) {
  const double t = now();
  if (t - h->since < 0.875 * h->tick) return;
  sched_yield();
  h->since = now();
  if (h->since - t > gap) h->lost = h->since;
}

static bool turns_left(crew *c) {
  const ptrdiff_t first = atomic_fetch_add(&c->next, c->at_once), end = first + c->at_once;
  if (first >= c->count) return false;
  c->turns(c->loop, first, end < c->count ? end : c->count);
  return true;
}

/* a few turns of the loop of this round, if it is still open */
static bool help_once(helper *h, uint32_t round) {
  crew *c = h->of;
  atomic_fetch_add(&c->inside, 1);
  const bool more =
      atomic_load(&c->round) == round && h->number < atomic_load(&c->threads) && turns_left(c);
  if (atomic_fetch_sub(&c->inside, 1) == 1 && atomic_load(&c->owner_sleeps)) wake(&c->inside, 1);
  return more;
}

static _Thread_local bool sharing; /* the calling thread has turns of a loop in hand */
static _Thread_local int number;   /* of the helper that it is */

static void *help(void *of) {
  helper *h = of;
  struct timespec tick = {0, 4000000};
  clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  h->tick = 1e-9 * (double)tick.tv_nsec;
  sharing = true;
  number = h->number;
  omp_set_num_threads(1); /* for BLAS */
  for (;;) {
    const uint32_t round = await_round(h);
    if (atomic_load(&h->of->over)) return NULL;
    keep_off(h);
    do give_way(h);
    while (help_once(h, round));
    h->seen = round;
  }
}

/* ---- crews: one for each thread that shares loops, as long as it lives */

static _Thread_local crew *mine;
static pthread_key_t at_exit; /* of such a thread */
static pthread_once_t prepared = PTHREAD_ONCE_INIT;

static void dismiss(void *of) {
  crew *c = of;
  mine = NULL;
  atomic_store(&c->over, true);
  atomic_fetch_add(&c->round, 2);
  wake(&c->round, c->helpers);
  for (int i = 0; i < c->helpers; i++) pthread_join(c->helper[i].thread, NULL);
  free(c);
}

/* helpers do not live on in a child */
static void forget(void) {
  mine = NULL;
  (void)pthread_setspecific(at_exit, NULL);
}

static void prepare(void) {
  (void)pthread_key_create(&at_exit, dismiss);
  (void)pthread_atfork(NULL, NULL, forget);
}

/* helpers hear no signal: these are the program's */
static void engage(crew *c, int helpers) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < helpers; i++) {
    helper *h = &c->helper[i];
    *h = (helper){.of = c, .number = i + 1, .left = -1, .since = now(), .lost = -minded};
    if (pthread_create(&h->thread, NULL, help, h)) break; /* with those that there are */
    c->helpers++;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* a crew of at least so many helpers, or as many as can be had; NULL: none */
static crew *crew_of(int helpers) {
  if (mine && mine->asked >= helpers) return mine;
  if (mine) dismiss(mine);
  pthread_once(&prepared, prepare);
  crew *c = aligned_alloc(_Alignof(crew), (sizeof *c + (size_t)helpers * sizeof *c->helper + 63) /
                                              _Alignof(crew) * _Alignof(crew));
  if (!c) return NULL;
  *c = (crew){.owner = (pid_t)syscall(SYS_gettid), .asked = helpers};
  engage(c, helpers);
  mine = c;
  pthread_setspecific(at_exit, c);
  return c;
}

/* ---- loops */

static void await_helpers(crew *c) {
  const double begin = now();
  for (int k = 1; atomic_load(&c->inside) > 0; k++) {
    pause_a_little();
    if (k % 64 || now() - begin < spin_beside) continue;
    atomic_store(&c->owner_sleeps, true);
    const uint32_t inside = atomic_load(&c->inside);
    if (inside > 0) sleep_while(&c->inside, inside);
    atomic_store(&c->owner_sleeps, false);
  }
}

static void share(crew *c, int threads, ptrdiff_t count, ptrdiff_t at_once, ep_turns *turns,
                  void *loop) {
  const ptrdiff_t others = (count + at_once - 1) / at_once - 1;
  const int most = c->helpers < threads && others < threads ? (int)others : c->helpers;
  c->turns = turns, c->loop = loop, c->count = count, c->at_once = at_once;
  atomic_store(&c->threads, threads);
  atomic_store(&c->next, 0);
  atomic_store(&c->owner_core, sched_getcpu());
  atomic_fetch_add(&c->round, 1);
  if (atomic_load(&c->asleep) > 0) wake(&c->round, most);
  while (turns_left(c)) continue;
  atomic_fetch_add(&c->round, 1);
  await_helpers(c);
}

/* All by the caller. What is within sees a shared loop where other threads would take part if there were any: then a product
 * there is cut, or not, in the same way on one thread and on several, and has the same bits. */
static void alone(ptrdiff_t count, bool shared, ep_turns *turns, void *loop) {
  const bool before = sharing;
  const int within = number;
  sharing = sharing || shared;
  number = 0;
  if (count > 0) turns(loop, 0, count);
  number = within;
  sharing = before;
}

void ep_crew_loop(ptrdiff_t count, ptrdiff_t at_once, bool worth, ep_turns *turns, void *loop) {
  const int threads = ep_run_threads();
  crew *c =
      worth && !ep_crew_busy() && threads > 1 && count > at_once ? crew_of(threads - 1) : NULL;
  if (!c) {
    alone(count, worth && count > at_once, turns, loop);
    return;
  }
  sharing = true;
  omp_set_num_threads(1);
  share(c, threads, count, at_once, turns, loop);
  omp_set_num_threads(threads);
  sharing = false;
}

bool ep_crew_busy(void) { return sharing || omp_in_parallel(); }
int ep_crew_thread(void) { return number; }
