/* Runs: what they hold, whom they tell, and that two of them in one process do not meet. */
#include "core/mem.h"
#include "in_run.h"
#include "random_mat.h"

#include <eigenpair/analytic.h>
#include <eigenpair/kernel.h>
#include <eigenpair/machine.h>
#include <eigenpair/method.h>
#include <eigenpair/probe.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static ep_run *new_run(double memory, long threads) {
  ep_run_config config = ep_run_default();
  ep_run *run;
  config.memory = memory;
  config.threads = threads;
  CHECK_OK(ep_run_new(&run, &config));
  return run;
}

/* memory is of the run that asked for it, wherever and whenever it is given back */
static void memory(void **state) {
  (void)state;
  ep_run *a = new_run(1e6, 1), *b = new_run(2e6, 1);
  const size_t outside = ep_memory_current();
  const ep_run_scope in_a = ep_run_enter(a);
  ep_mat A, B;
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, 10, 10));
  assert_int_equal(ep_memory_current(), 800);
  const ep_run_scope in_b = ep_run_enter(b);
  assert_int_equal(ep_memory_current(), 0);
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, 1, 10));
  assert_int_equal(ep_memory_current(), 80);
  ep_mat_free(&A); /* a's, from within b */
  assert_int_equal(ep_memory_current(), 80);
  ep_run_leave(&in_b);
  assert_int_equal(ep_memory_current(), 0);
  assert_int_equal(ep_memory_peak(), 800);
  ep_run_leave(&in_a);
  assert_int_equal(ep_memory_current(), outside);
  ep_run_free(b);
  ep_mat_free(&B); /* outlives its run */
  ep_run_free(a);
}

/* threads hold from enter to leave, and entries nest */
static void threads(void **state) {
  (void)state;
  const int usual = ep_run_threads();
  ep_run *a = new_run(0, 3), *b = new_run(0, 1);
  const ep_run_scope in_a = ep_run_enter(a);
  assert_int_equal(ep_run_threads(), 3);
  const ep_run_scope in_b = ep_run_enter(b), again = ep_run_enter(b), none = ep_run_enter(NULL);
  assert_int_equal(ep_run_threads(), 1);
  assert_ptr_equal(ep_run_current(), b);
  ep_run_leave(&none);
  ep_run_leave(&again);
  assert_ptr_equal(ep_run_current(), b);
  ep_run_leave(&in_b);
  assert_int_equal(ep_run_threads(), 3);
  ep_run_leave(&in_a);
  assert_int_equal(ep_run_threads(), usual);
  assert_null(ep_run_current());
  ep_run_free(a);
  ep_run_free(b);
}

static void count_calls(void *user, const char *what, double done, double total) {
  (void)what, (void)done, (void)total;
  ++*(int *)user;
}

static void hooks(void **state) {
  (void)state;
  int told = 0;
  volatile int stop = 0;
  ep_run *run = new_run(0, 1);
  ep_run_set_hooks(run, &(ep_run_hooks){.progress = count_calls, .user = &told, .stop = &stop});
  CHECK_OK(ep_run_step("outside", 0, 1)); /* nobody's */
  const ep_run_scope scope = ep_run_enter(run);
  CHECK_OK(ep_run_step("inside", 0, 1));
  const ep_run_hooks before = ep_run_quiet();
  CHECK_OK(ep_run_step("quiet", 0, 1));
  stop = 1; /* silence does not keep it from stopping */
  CHECK_STATUS(ep_run_step("stopped", 0, 1), EP_ERR_INTERRUPTED);
  ep_run_set_hooks(run, &before);
  CHECK_STATUS(ep_run_step("stopped", 0, 1), EP_ERR_INTERRUPTED);
  ep_run_leave(&scope);
  assert_int_equal(told, 2);
  ep_run_free(run);
}

/* The run that is given is the one that is asked to stop; none given: the one this thread has entered, or nobody. */
static void given(void **state) {
  (void)state;
  volatile int stop = 1;
  double x[12], k[16], theta[4];
  int labels[4] = {0, 1, 0, 1};
  for (int i = 0; i < 12; i++) x[i] = i * i % 7;
  const ep_mat X = ep_mat_view(EP_DOUBLE, 4, 3, x), K = ep_mat_view(EP_DOUBLE, 4, 4, k);
  ep_analytic a = {.depth = 1, .input_scale = 1, .config = {1, 0, 1, 0}};
  CHECK_OK(ep_activation_parse(&a.phi, "relu"));
  ep_run *run = new_run(0, 1);
  ep_run_set_hooks(run, &(ep_run_hooks){.stop = &stop});
  CHECK_OK(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  CHECK_OK(ep_analytic_diagonal(run, theta, &a, EP_NTK, &X)); /* too short to be stopped */
  assert_true(fabs(theta[1] - k[5]) < 1e-12 * k[5]);
  CHECK_STATUS(ep_analytic_kernel(run, &K, &a, EP_NTK, &X, NULL), EP_ERR_INTERRUPTED);
  ep_probe_config config;
  const ep_run_config settings = ep_run_default();
  const ep_labelled set = {.X = &X, .labels = labels};
  ep_probe_result result;
  ep_options_default(ep_probe_options, &config);
  CHECK_STATUS(ep_probe_run(run, &result, "linear", &set, &set, &config, &settings),
               EP_ERR_INTERRUPTED);
  const ep_run_scope scope = ep_run_enter(run);
  CHECK_STATUS(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL), EP_ERR_INTERRUPTED);
  ep_run_leave(&scope);
  CHECK_OK(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  ep_run_free(run);
}

/* ---- two fits, two kernels, two embeddings at once give the bits they give alone */

enum { JOBS = 8, N = 60, D = 20 };

typedef struct {
  int kind;
  ep_mat out;
  ep_status st;
} job;

static ep_status fit_and_embed(ep_run *run, job *j, const ep_mat *X, const char *method,
                               long epochs) {
  ep_setup *s = calloc(1, sizeof *s);
  ep_points p = {.X = *X};
  ep_model *m;
  ep_fit_info info;
  ep_setup_default(s);
  snprintf(s->fit.method, sizeof s->fit.method, "%s", method);
  s->net.width = 300;
  s->net.outputs = 5;
  s->fit.epochs = epochs;
  s->run.seed = j->kind;
  snprintf(s->files.out, sizeof s->files.out, "/tmp/eigenpair-none.npz");
  ep_status st = ep_pairs_draw(&p.pairs, N / 2, &(ep_pair_plan){1, 1, false, false}, 3);
  if (!st) st = ep_fit(run, &m, &info, &p, s);
  if (!st) {
    const ep_run_scope scope = ep_run_enter(run);
    st = ep_model_embed(NULL, &j->out, m, X);
    ep_run_leave(&scope);
    ep_model_free(m);
    ep_fit_info_free(&info);
  }
  ep_pairs_free(&p.pairs);
  free(s);
  return st;
}

static ep_status kernel(ep_run *run, job *j, const ep_mat *X) {
  ep_net net;
  ep_net_config config;
  ep_options_default(ep_net_options, &config);
  config.width = 400;
  config.outputs = 5;
  ep_status st = ep_net_start(&net, &config, D, (uint64_t)j->kind, X->prec);
  if (!st && j->kind % 2 == 0) st = ep_ntk_empirical(run, &j->out, &net, X, NULL, EP_TRACE, 1e9);
  if (!st && j->kind % 2) {
    const ep_analytic a = {
        .phi = net.shape.phi, .depth = 3, .input_scale = 1, .config = {1, 0, 1, 0}};
    st = ep_analytic_kernel(run, &j->out, &a, EP_NTK, X, NULL);
  }
  ep_net_free(&net);
  return st;
}

static void *work(void *user) {
  job *j = user;
  ep_mat X = random_mat(EP_SINGLE, N, D, 9);
  ep_run *run = new_run(0, 1 + j->kind % 2);
  if (j->kind < 2) j->st = fit_and_embed(run, j, &X, "gd", 40);
  else if (j->kind < 4) j->st = fit_and_embed(run, j, &X, "pca", 0);
  else j->st = kernel(run, j, &X);
  ep_run_free(run);
  ep_mat_free(&X);
  return NULL;
}

/* Defect 10: eight threads of a process, each with a run of its own, get the bits they get one after the other. */
static void at_once(void **state) {
  (void)state;
  job alone[JOBS], together[JOBS];
  pthread_t thread[JOBS];
  for (int i = 0; i < JOBS; i++) {
    const ptrdiff_t columns = i < 4 ? 5 : N;
    alone[i] = together[i] = (job){.kind = i};
    CHECK_OK(ep_mat_new(&alone[i].out, EP_SINGLE, N, columns));
    CHECK_OK(ep_mat_new(&together[i].out, EP_SINGLE, N, columns));
    work(&alone[i]);
    CHECK_OK(alone[i].st);
  }
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < JOBS; i++)
      assert_int_equal(pthread_create(&thread[i], NULL, work, &together[i]), 0);
    for (int i = 0; i < JOBS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < JOBS; i++) {
      CHECK_OK(together[i].st);
      assert_memory_equal(alone[i].out.data, together[i].out.data,
                          (size_t)(alone[i].out.rows * alone[i].out.cols) * sizeof(float));
    }
  }
  assert_true(ep_mat_norm2(&alone[0].out) > 0);
  assert_true(ep_mat_distance2(&alone[0].out, &alone[1].out) > 0); /* they are different work */
  for (int i = 0; i < JOBS; i++) {
    ep_mat_free(&alone[i].out);
    ep_mat_free(&together[i].out);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory), cmocka_unit_test(threads), cmocka_unit_test(hooks),
      cmocka_unit_test(given),  cmocka_unit_test(at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
