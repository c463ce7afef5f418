/* fit through the library: the rotation is exact, every allocation may fail, models come back from files. */
#include "in_run.h"
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/stream.h>
#include <eigenpair/method.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out[64];

/* P points of dimension D; anchors 0..3, positives 4..7, negatives among the anchors */
static ep_points make_points(ptrdiff_t dimension, int negatives) {
  ep_points p = {.X = random_mat(EP_DOUBLE, 8, dimension, 31)};
  const ep_pair_plan plan = {1, negatives, false, false};
  CHECK_OK(ep_pairs_draw(&p.pairs, 4, &plan, 1));
  for (ptrdiff_t j = 0; j < dimension; j++) ep_set(&p.X, 5, j, 0); /* a blank crop */
  return p;
}

static void make_setup(ep_setup *s) {
  ep_setup_default(s);
  s->run.precision = EP_DOUBLE;
  strcpy(s->files.out, out);
  strcpy(s->fit.track, "weights,rank");
  s->net.width = 12;
  s->net.outputs = 3;
  s->fit.epochs = 6;
}

/* Gradient descent by hand on V (M x D) and W (M x Z), relu and cosine, through the library's passes but
 * without its rotation. */
static void plain_descent(ep_net *net, const ep_points *p, const ep_setup *s) {
  ep_objective o;
  ep_net grad;
  ep_stream *stream;
  ep_mat F, dF;
  double loss;
  CHECK_OK(ep_objective_parse(&o, &s->objective));
  CHECK_OK(ep_net_start(net, &s->net, p->X.cols, (uint64_t)s->run.seed, EP_DOUBLE));
  CHECK_OK(ep_net_new(&grad, &net->shape, EP_DOUBLE));
  CHECK_OK(ep_stream_new(&stream, &p->X, &net->shape, 1, EP_PASS_BACKWARD, 1e9));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p->X.rows, net->shape.outputs));
  CHECK_OK(ep_mat_new(&dF, EP_DOUBLE, p->X.rows, net->shape.outputs));
  for (long t = 0; t < s->fit.epochs; t++) {
    ep_stream_forward(&F, stream, net);
    CHECK_OK(ep_objective_value(&loss, &dF, &F, &p->pairs, &o));
    ep_stream_backward(&grad, stream, net, &dF);
    ep_mat_axpy(&net->theta, -s->fit.rate, &grad.theta);
  }
  ep_stream_free(stream);
  ep_net_free(&grad);
  ep_mat_free(&F);
  ep_mat_free(&dF);
}

/* dimension 50 > 2.5 points: the rotation is used; dimension 6: it is not. Depth 1 and 3, input scale. */
static void rotation_is_exact(void **state) {
  (void)state;
  static ep_setup s;
  for (int c = 0; c < 4; c++) {
    const ptrdiff_t dimension = c % 2 ? 50 : 6;
    ep_points p = make_points(dimension, 1);
    ep_model *m;
    ep_fit_info info;
    ep_net net;
    make_setup(&s);
    s.net.depth = c < 2 ? 1 : 3;
    s.net.input_scale = c >= 2;
    CHECK_OK(ep_fit(NULL, &m, &info, &p, &s));
    plain_descent(&net, &p, &s);
    CHECK_NEAR(mat_gap(&ep_model_net(m)->theta, &net.theta), 0, 1e-12);
    assert_true(info.history.rows == 7 && info.history.columns == 5);
    ep_net start;
    CHECK_OK(ep_net_start(&start, &s.net, dimension, 0, EP_DOUBLE));
    const double *last = info.history.value + 6 * 5;
    CHECK_NEAR(last[2], sqrt(ep_mat_distance2(&net.W, &start.W) / ep_mat_norm2(&start.W)), 1e-12);
    if (s.net.depth == 1)
      CHECK_NEAR(last[3],
                 sqrt(ep_mat_distance2(&net.V[0], &start.V[0]) / ep_mat_norm2(&start.V[0])), 1e-12);
    assert_true(last[2] > 1e-3);
    ep_net_free(&start);
    ep_net_free(&net);
    ep_fit_info_free(&info);
    ep_model_free(m);
    ep_points_free(&p);
  }
}

/* Embedding with the model read back gives the same as the model in memory. */
static void model_files(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(50, 1);
  ep_model *m, *back;
  ep_fit_info info;
  ep_mat E, F;
  make_setup(&s);
  strcpy(s.net.activation, "leaky:0.25");
  s.net.input_scale = true;
  CHECK_OK(ep_fit(NULL, &m, &info, &p, &s));
  CHECK_OK(ep_model_save(out, m));
  CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, 8, 3));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, 8, 3));
  CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
  CHECK_OK(embed_within(2.2e6, &F, back, &p.X));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-15);
  assert_true(ep_mat_norm2(&E) > 0);
  ep_mat_free(&E);
  ep_mat_free(&F);
  ep_fit_info_free(&info);
  ep_model_free(m);
  ep_model_free(back);
  ep_points_free(&p);
}

static volatile int stop;

static void resume_from_checkpoint(ep_setup *s) {
  char path[1100];
  ep_checkpoint_path(path, s);
  assert_true(strlen(path) < sizeof s->files.resume);
  strcpy(s->files.resume, path);
}

static ep_status fit_save_resume(const ep_points *p, ep_setup *s) {
  ep_model *m = NULL;
  ep_fit_info info = {0};
  s->files.every = 2;
  ep_status st = ep_fit(NULL, &m, &info, p, s);
  if (!st) st = ep_model_save(out, m);
  ep_model_free(m);
  ep_fit_info_free(&info);
  if (st) return st;
  resume_from_checkpoint(s);
  st = ep_fit(NULL, &m, &info, p, s);
  ep_model_free(m);
  ep_fit_info_free(&info);
  s->files.resume[0] = '\0';
  if (st) return st;
  st = ep_model_load(&m, out, EP_SINGLE);
  ep_model_free(m);
  return st;
}

/* Full batch, rotated, batches, view losses: the n-th allocation fails, nothing leaks, and once none
 * fails the work is done. */
static void out_of_memory(void **state) {
  (void)state;
  static ep_setup s;
  for (int c = 0; c < 3; c++) {
    ep_points p = make_points(c == 1 ? 50 : 6, c == 2);
    make_setup(&s);
    s.fit.epochs = 2;
    s.fit.batch = c == 2 ? 3 : 0;
    if (c == 0) strcpy(s.objective.loss, "barlow");
    if (c == 1) strcpy(s.objective.loss, "ntxent");
    const size_t before = ep_mem_current();
    ep_status st = EP_ERR_NOMEM;
    int n = 0;
    for (; st == EP_ERR_NOMEM; n++) {
      ep_alloc_fail_after = n;
      st = fit_save_resume(&p, &s);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
    assert_true(n > 40);
    ep_points_free(&p);
  }
}

/* A stop flag saves and returns; going on gives the same weights as never stopping. */
static void interrupted(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(6, 1);
  ep_model *whole, *m;
  ep_fit_info info;
  make_setup(&s);
  CHECK_OK(ep_fit(NULL, &whole, &info, &p, &s));
  ep_fit_info_free(&info);
  stop = 1;
  const ep_run_scope scope = enter_stopped(&stop);
  int stops = 0;
  ep_points
      none; /* asked to stop while points are drawn, they are not there: no fit begins with a step */
  strcpy(s.data.data, "digits");
  s.data.samples = 4;
  CHECK_STATUS(ep_points_load(NULL, &none, &s.data, &s.pair, "triplet", &s.run),
               EP_ERR_INTERRUPTED);
  for (ep_status st = EP_ERR_INTERRUPTED; st; stops++) { /* one epoch at a time */
    st = ep_fit(NULL, &m, &info, &p, &s);
    assert_true(st == EP_OK || st == EP_ERR_INTERRUPTED);
    if (st) assert_null(m);
    resume_from_checkpoint(&s);
    if (st) ep_fit_info_free(&info);
  }
  leave(&scope);
  assert_int_equal(stops, s.fit.epochs + 1);
  assert_int_equal(info.history.rows, s.fit.epochs + 1);
  CHECK_NEAR(mat_gap(&ep_model_net(m)->theta, &ep_model_net(whole)->theta), 0, 0);
  ep_fit_info_free(&info);
  ep_model_free(m);
  ep_model_free(whole);
  ep_points_free(&p);
}

static int set_up(void **state) {
  (void)state;
  snprintf(out, sizeof out, "/tmp/eigenpair-test-%ld.npz", (long)getpid());
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  char checkpoint[100];
  snprintf(checkpoint, sizeof checkpoint, "%s.checkpoint.npz", out);
  unlink(out);
  unlink(checkpoint);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rotation_is_exact),
      cmocka_unit_test(model_files),
      cmocka_unit_test(out_of_memory),
      cmocka_unit_test(interrupted),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
