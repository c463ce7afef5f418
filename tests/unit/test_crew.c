#define _GNU_SOURCE
/* Loops that threads share out: every turn once, by threads that keep apart, wherever they are called from. */
#include "core/crew.h"
#include "random_mat.h"

#include <eigenpair/run.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 5000, THREADS = 8 };

typedef struct {
  atomic_int taken[MOST];   /* times */
  atomic_int busy[THREADS]; /* turns in hand of each thread, now */
  atomic_int clash;         /* two threads of one number at once, or a number too large */
  atomic_int largest;       /* part that was given out */
  atomic_int seen;          /* numbers of threads, as bits */
  int threads;
  long wait; /* nanoseconds a turn */
} record;

static void take(void *of, ptrdiff_t first, ptrdiff_t end) {
  record *r = of;
  const int me = ep_crew_thread();
  const struct timespec some = {0, r->wait};
  if (me < 0 || me >= r->threads || atomic_fetch_add(&r->busy[me], 1)) atomic_store(&r->clash, 1);
  atomic_fetch_or(&r->seen, 1 << me);
  if (end - first > atomic_load(&r->largest)) atomic_store(&r->largest, (int)(end - first));
  for (ptrdiff_t i = first; i < end; i++) {
    atomic_fetch_add(&r->taken[i], 1);
    if (r->wait) nanosleep(&some, NULL);
  }
  atomic_fetch_sub(&r->busy[me], 1);
}

static bool all_once(const record *r, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < MOST; i++)
    if (r->taken[i] != (i < count)) return false;
  return true;
}

static void every_turn_once(void **state) {
  (void)state;
  static record r;
  const int usual = omp_get_max_threads();
  for (int threads = 1; threads <= 5; threads++) /* a crew grows, and is larger than asked for */
    for (int round = 0; round < 400; round++) {
      const ptrdiff_t count = (round * 37) % MOST, at_once = 1 + round % 9;
      omp_set_num_threads(round % 2 ? threads : 2);
      memset(&r, 0, sizeof r);
      r.threads = ep_run_threads();
      ep_crew_loop(count, at_once, true, take, &r);
      assert_true(all_once(&r, count));
      assert_int_equal(r.clash, 0);
      assert_true(count == 0 || r.threads == 1 || count <= at_once || r.largest <= at_once);
      assert_int_equal(ep_run_threads(), r.threads);
      assert_false(ep_crew_busy());
    }
  omp_set_num_threads(usual);
}

/* turns that sleep: others take the rest meanwhile */
static void several_threads_take_part(void **state) {
  (void)state;
  static record r;
  const int usual = omp_get_max_threads();
  omp_set_num_threads(4);
  memset(&r, 0, sizeof r);
  r.threads = 4, r.wait = 2000000;
  ep_crew_loop(60, 1, true, take, &r);
  assert_true(all_once(&r, 60));
  assert_int_equal(r.seen, 15);
  memset(&r, 0, sizeof r);
  r.threads = 4;
  ep_crew_loop(60, 1, false, take, &r); /* not worth it: the caller, in one go */
  assert_true(all_once(&r, 60));
  assert_int_equal(r.seen, 1);
  assert_int_equal(r.largest, 60);
  omp_set_num_threads(usual);
}

/* helpers that have gone to sleep come back, or are not missed */
static void after_a_pause(void **state) {
  (void)state;
  static record r;
  const int usual = omp_get_max_threads();
  omp_set_num_threads(3);
  for (int k = 0; k < 50; k++) {
    const struct timespec some = {0, 500000};
    nanosleep(&some, NULL);
    memset(&r, 0, sizeof r);
    r.threads = 3;
    ep_crew_loop(3, 1, true, take, &r);
    assert_true(all_once(&r, 3));
  }
  omp_set_num_threads(usual);
}

typedef struct {
  record inner[THREADS];
  atomic_int wrong;
} outer;

static void nest(void *of, ptrdiff_t first, ptrdiff_t end) {
  outer *o = of;
  const int me = ep_crew_thread();
  if (!ep_crew_busy() || ep_run_threads() != 1) atomic_store(&o->wrong, 1);
  for (ptrdiff_t i = first; i < end; i++) {
    record *r = &o->inner[i];
    r->threads = 1; /* scratch of the inner loop is one thread's: it is the first there */
    ep_crew_loop(100, 1, true, take, r);
    if (ep_crew_thread() != me) atomic_store(&o->wrong, 1);
  }
}

static void a_loop_within_a_loop(void **state) {
  (void)state;
  static outer o;
  const int usual = omp_get_max_threads();
  memset(&o, 0, sizeof o);
  omp_set_num_threads(3);
  ep_crew_loop(THREADS, 1, true, nest, &o);
  omp_set_num_threads(usual);
  assert_int_equal(o.wrong, 0);
  for (int i = 0; i < THREADS; i++) {
    assert_true(all_once(&o.inner[i], 100));
    assert_int_equal(o.inner[i].clash, 0);
    assert_int_equal(o.inner[i].largest, 100);
  }
}

typedef struct {
  ep_mat A, B, C[4];
} products;

static void multiply(void *of, ptrdiff_t first, ptrdiff_t end) {
  products *p = of;
  for (ptrdiff_t i = first; i < end; i++) ep_mat_mul(&p->C[i], 1, &p->A, EP_N, &p->B, EP_N, 0);
}

/* Products within a loop have the same bits on one thread and on several. Of these two shapes some kernel of BLAS rounds what
 * is cut in tiles differently. */
static void the_same_bits(void **state) {
  (void)state;
  static const struct {
    ep_precision prec;
    ptrdiff_t m, n, k;
  } shape[2] = {{EP_DOUBLE, 500, 500, 20}, {EP_SINGLE, 100, 1000, 333}};
  const int usual = omp_get_max_threads();
  for (int s = 0; s < 2; s++) {
    const ptrdiff_t m = shape[s].m, n = shape[s].n;
    products p[2];
    for (int t = 0; t < 2; t++) {
      p[t].A = random_mat(shape[s].prec, m, shape[s].k, 7);
      p[t].B = random_mat(shape[s].prec, shape[s].k, n, 8);
      for (int i = 0; i < 4; i++) CHECK_OK(ep_mat_new(&p[t].C[i], shape[s].prec, m, n));
      omp_set_num_threads(t + 1);
      ep_crew_loop(4, 1, true, multiply, &p[t]);
    }
    for (int i = 0; i < 4; i++)
      assert_memory_equal(p[0].C[i].data, p[1].C[i].data,
                          (size_t)(m * n) * ep_sizeof(shape[s].prec));
    for (int t = 0; t < 2; t++) {
      ep_mat_free(&p[t].A);
      ep_mat_free(&p[t].B);
      for (int i = 0; i < 4; i++) ep_mat_free(&p[t].C[i]);
    }
  }
  omp_set_num_threads(usual);
}

static void *call(void *of) {
  bool *ok = of;
  record *r = calloc(1, sizeof *r);
  omp_set_num_threads(3);
  for (int k = 0; k < 100; k++) {
    memset(r, 0, sizeof *r);
    r->threads = 3;
    ep_crew_loop(500, 3, true, take, r);
    *ok = *ok && all_once(r, 500) && !r->clash;
  }
  free(r);
  return NULL;
}

/* threads that share loops at the same time have a crew each, which goes when they go */
static void several_callers(void **state) {
  (void)state;
  bool ok[4] = {true, true, true, true};
  pthread_t t[4];
  for (int again = 0; again < 3; again++) {
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, call, &ok[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++) assert_true(ok[i]);
  }
}

/* a child has no helpers, and gets its own */
static void in_a_child(void **state) {
  (void)state;
  bool ok = true;
  if (getenv("EP_IN_QEMU"))
    skip(); /* qemu-user 7.2 ends by an assertion of its own where a process with threads forks */
  int status;
  call(&ok);
  const pid_t child = fork();
  if (child == 0) {
    pthread_t t;
    bool both[2] = {true, true};
    call(&both[0]);
    if (pthread_create(&t, NULL, call, &both[1])) _exit(2);
    pthread_join(t, NULL);
    _exit(!both[0] || !both[1]);
  }
  call(&ok);
  waitpid(child, &status, 0);
  assert_true(ok);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void which_cores(void *of, ptrdiff_t first, ptrdiff_t end) {
  cpu_set_t *cores = of;
  const struct timespec some = {0, 2000000};
  (void)first, (void)end;
  sched_getaffinity(0, sizeof *cores, &cores[ep_crew_thread()]);
  nanosleep(&some, NULL);
}

/* helpers stay on cores that their owner may use, and leave it the one it is on if there are others */
static void *look_at_cores(void *of) {
  cpu_set_t *cores = of;
  omp_set_num_threads(2);
  CPU_ZERO(&cores[1]);
  for (int k = 0; k < 100 && CPU_COUNT(&cores[1]) == 0; k++)
    ep_crew_loop(20, 1, true, which_cores, cores);
  return NULL;
}

static void on_the_owners_cores(void **state) {
  (void)state;
  cpu_set_t mine, cores[2], both;
  pthread_t t;
  sched_getaffinity(0, sizeof mine, &mine);
  assert_int_equal(pthread_create(&t, NULL, look_at_cores, cores), 0);
  pthread_join(t, NULL);
  CPU_AND(&both, &cores[1], &mine);
  assert_true(CPU_EQUAL(&both, &cores[1]));
  assert_true(CPU_EQUAL(&cores[0], &mine));
  assert_int_equal(CPU_COUNT(&cores[1]), CPU_COUNT(&mine) - (CPU_COUNT(&mine) >= 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_turn_once), cmocka_unit_test(several_threads_take_part),
      cmocka_unit_test(after_a_pause),   cmocka_unit_test(a_loop_within_a_loop),
      cmocka_unit_test(the_same_bits),   cmocka_unit_test(several_callers),
      cmocka_unit_test(in_a_child),      cmocka_unit_test(on_the_owners_cores),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
