/* Searching and measuring: linear layers, dead starts, roughness, irregularity, basins; threads, memory, refusals. */
#include "core/mem.h"
#include "optima_layers.h"
#include "study/optima_population.h"

#include <eigenpair/eigen.h>
#include <eigenpair/optima_figures.h>
#include <omp.h>

/* Linear: whatever the start, the top eigenvector of the covariance; w and -w are one. */
static void linear(void **state) {
  (void)state;
  enum { N = 200, D = 6 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), C, z;
  double lambda[D];
  for (ptrdiff_t i = 0; i < N; i++)
    for (ptrdiff_t j = 0; j < D; j++) *ep_d(&X, i, j) = *ep_d(&X, i, j) / sqrt(1. + (double)j) + 3;
  const ep_layer l = layer_of(&X, "linear", "uniform");
  const ep_run_config run = ep_run_default();
  const ep_optima_config c = config_of(100);
  ep_optima o;
  CHECK_OK(ep_optima_find(NULL, &o, &l, &c, &run));
  assert_int_equal(o.count, 1);
  assert_int_equal(o.optimum[0].count, 100);
  assert_true(o.optimum[0].theorem1 && o.optimum[0].roughness < 1e-10);
  CHECK_NEAR(o.optimum[0].roughness_bound, 0, 0);
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
  CHECK_OK(ep_covariance(&C, &l.alpha, &X, NULL, &X, NULL, &X, NULL));
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  z = ep_mat_view(EP_DOUBLE, D, 1, ep_d(&C, D - 1, 0));
  ep_eigen_signs(&z);
  for (int j = 0; j < D; j++) CHECK_NEAR(ep_get(&o.W, 0, j), ep_get(&z, j, 0), 1e-6);
  CHECK_NEAR(o.optimum[0].gap, lambda[D - 1] - lambda[D - 2], 1e-12);
  ep_optima_free(&o);
  ep_mat_free(&C);
  ep_mat_free(&X);
}

/* A start without an active point is dead, and only such a one. */
static void dead_starts(void **state) {
  (void)state;
  const double p[4] = {0.25, 0.25, 0.25, 0.25};
  population s = categorical(4, p);
  const ep_optima_config c = config_of(300);
  const ep_run_config run = ep_run_default();
  ep_optima o;
  ep_mat W;
  CHECK_OK(ep_mat_new(&W, EP_DOUBLE, 300, 4));
  ep_optima_starts(&W, 0);
  CHECK_OK(ep_optima_find(NULL, &o, &s.layer, &c, &run));
  ptrdiff_t dead = 0;
  for (ptrdiff_t k = 0; k < 300; k++) {
    bool active = false;
    for (ptrdiff_t i = 0; i < 4; i++) {
      double sum = 0;
      for (ptrdiff_t j = 0; j < 4; j++) sum += ep_get(&s.X, i, j) * ep_get(&W, k, j);
      active |= sum > 0;
    }
    dead += !active;
    assert_true((o.label[k] == -1) == !active);
  }
  assert_true(dead > 5 && o.dead == dead);
  ep_mat_free(&W);
  ep_optima_free(&o);
  population_free(&s);
}

/* Var relu(w'x) over the rows of X, half the objective of uniform weights; w of length 1 */
static double variance_of(const ep_mat *X, const double *w) {
  double sum = 0, squares = 0, size = 0;
  for (ptrdiff_t j = 0; j < X->cols; j++) size += w[j] * w[j];
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double h = 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) h += ep_get(X, i, j) * w[j] / sqrt(size);
    h = fmax(h, 0);
    sum += h, squares += h * h;
  }
  return squares / (double)X->rows - sum * sum / (double)(X->rows * X->rows);
}

/* Tilted patterns have their optima where the hyperplanes of several others meet: every start settles, and nothing about
 * 0.08 away is better (ends are told apart from 0.05 on). */
static void on_jumps(void **state) {
  (void)state;
  enum { M = 8, STEPS = 100 };
  const ep_optima_config c = config_of(1);
  for (uint64_t seed = 0; seed < 40; seed++) {
    ep_population p;
    ep_path paths[M];
    ep_mat W = random_mat(EP_DOUBLE, M, M, 1);
    CHECK_OK(ep_population_categorical(&p, M, NULL, 0.15, seed));
    for (ptrdiff_t k = 0; k < M; k++) ep_population_pattern(ep_d(&W, k, 0), &p, k);
    CHECK_OK(ep_optima_follow(&W, paths, &p.layer, &c, NULL));
    ep_mat D = random_mat(EP_DOUBLE, STEPS, M, seed + 1);
    for (ptrdiff_t k = 0; k < M; k++) {
      assert_int_equal(paths[k].end, EP_END_SETTLED);
      const double at = variance_of(&p.layer.X, ep_d(&W, k, 0));
      for (ptrdiff_t i = 0; i < STEPS; i++) {
        double w[M];
        for (int j = 0; j < M; j++) w[j] = ep_get(&W, k, j) + 0.03 * ep_get(&D, i, j);
        assert_true(variance_of(&p.layer.X, w) < at);
      }
    }
    ep_mat_free(&D);
    ep_mat_free(&W);
    ep_population_free(&p);
  }
}

/* ---- roughness */

/* What is measured never exceeds the bound; without a kink there is no bound. */
static void roughness_bound(void **state) {
  (void)state;
  enum { N = 120, D = 4 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), X2 = random_mat(EP_DOUBLE, N, D, 2),
         W = random_mat(EP_DOUBLE, 3, D, 3);
  ep_mat_axpy(&X2, 3, &X);
  ep_optima_config c = config_of(1);
  c.pushes = 0;
  c.directions = 3;
  for (int a = 0; a < 4; a++)
    for (int g = 0; g < 5; g++)
      for (int views = 0; views < 2; views++) {
        ep_layer l = layer_of(&X, activations[a], weightings[g]);
        if (views) l.X2 = X2;
        for (ptrdiff_t k = 0; k < 3; k++) {
          ep_optimum o;
          double *w = ep_d(&W, k, 0);
          normalise(w, D);
          CHECK_OK(ep_optimum_measure(&o, &l, w, &c, 1));
          assert_true(isnan(o.returns) && o.stable == o.theorem1);
          if (a == 3) {
            assert_true(isnan(o.roughness_bound) && isnan(o.r) && o.roughness > 0);
            continue;
          }
          assert_true(o.roughness <= o.roughness_bound + 1e-12);
          if (a < 2) assert_true(o.roughness > 0);
        }
      }
  ep_mat_free(&X);
  ep_mat_free(&X2);
  ep_mat_free(&W);
}

/* Corollary 2 on Gaussian points: r shrinks by z0 = E exp(-h^2/(2 tau)) <= 1, the measured roughness by
 * E[h exp(-h^2/(2 tau))] / E[h]. */
static void gaussian_weights(void **state) {
  (void)state;
  enum { N = 4000, D = 3 };
  const double taus[] = {0.1, 0.5, 2, 50};
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1);
  double w[D] = {0.6, 0, 0.8};
  ep_optima_config c = config_of(1);
  ep_optimum plain;
  c.pushes = 0;
  c.step = 0.02;
  ep_layer l = layer_of(&X, "relu", "uniform");
  CHECK_OK(ep_optimum_measure(&plain, &l, w, &c, 1));
  CHECK_NEAR(plain.z0, 1, 0);
  for (int k = 0; k < 4; k++) {
    ep_optimum o;
    double z0 = 0, weighted = 0, mean = 0;
    for (ptrdiff_t i = 0; i < N; i++) {
      const double h = fmax(0, 0.6 * ep_get(&X, i, 0) + 0.8 * ep_get(&X, i, 2));
      const double e = exp(-h * h / (2 * taus[k]));
      z0 += e / N, weighted += h * e / N, mean += h / N;
    }
    l.alpha = (ep_alpha){.kind = EP_ALPHA_GAUSSIAN, .tau = taus[k]};
    CHECK_OK(ep_optimum_measure(&o, &l, w, &c, 1));
    CHECK_NEAR(o.z0, z0, 1e-14);
    assert_true(o.z0 <= 1);
    CHECK_NEAR(o.r / plain.r, z0, 0.01);
    CHECK_NEAR(o.roughness / plain.roughness, weighted / mean, 0.1);
  }
  ep_mat_free(&X);
}

/* ---- small formulas */

static void formulas(void **state) {
  (void)state;
  double low, high;
  ep_wilson(&low, &high, 8, 10); /* published: 0.4902 to 0.9433 */
  CHECK_NEAR(low, 0.49016, 1e-5);
  CHECK_NEAR(high, 0.94331, 1e-5);
  ep_wilson(&low, &high, 0, 10);
  CHECK_NEAR(low, 0, 0);
  CHECK_NEAR(high, 0.27753, 1e-5);
  ep_wilson(&low, &high, 10, 10);
  CHECK_NEAR(high, 1, 1e-15);
  CHECK_NEAR(ep_irregularity(1, 4, 2, 0, 7), 0.25, 1e-15);
  CHECK_NEAR(ep_irregularity(0.5, 4, 2, 0.1, 2), 0.75 + 0.04 * 1.375 + 0.1 * sqrt(0.75 * 1.375),
             1e-15);
  CHECK_NEAR(ep_theorem3_ball(1, 0.3), 1, 1e-15);
  CHECK_NEAR(ep_theorem3_ball(0.95, 0.01), (0.95 - 0.2 / 1.01) / (1 - 0.2 / 1.01), 1e-15);
  /* the ball is |w - w(0)| <= sqrt(2(1+g)(1-c0)) / (1 - sqrt g), OPTIMA eq. 98 */
  const double g = 0.2, c0 = 0.97, far = sqrt(2 * (1 + g) * (1 - c0)) / (1 - sqrt(g));
  CHECK_NEAR(2 * (1 - ep_theorem3_ball(c0, g)), far * far, 1e-12);
}

/* Where A does not change nearby, omega is (lambda_2/lambda_1)^2 and the ball reaches to the first data hyperplane. */
static void irregularity(void **state) {
  (void)state;
  population s = summation(4, 0.2, "relu");
  ep_optima_config c = config_of(1);
  ep_optimum o;
  double u[4];
  pattern(u, &s, 1);
  c.ball = true;
  CHECK_OK(ep_optimum_measure(&o, &s.layer, u, &c, 1));
  CHECK_NEAR(o.irregularity, pow(0.2 / 0.64, 2), 1e-10);
  assert_true(o.ball >= 0.05 && o.ball < 0.4);
  assert_true(o.theorem1);
  population_free(&s);
}

/* ---- threads, memory, refusals */

static void same_bits(void **state) {
  (void)state;
  enum { N = 60, D = 5 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1);
  const int before = omp_get_max_threads();
  const ep_run_config run = ep_run_default();
  for (int g = 0; g < 3; g++) {
    const ep_layer l = layer_of(&X, "relu", weightings[g]);
    ep_optima_config c = config_of(100);
    ep_optima o[3];
    c.iterations = 60;
    c.pushes = c.directions = 2;
    for (int t = 0; t < 3; t++) {
      omp_set_num_threads(t + 1);
      CHECK_OK(ep_optima_find(NULL, &o[t], &l, &c, &run));
    }
    omp_set_num_threads(before);
    for (int t = 1; t < 3; t++) {
      assert_int_equal(o[0].count, o[t].count);
      assert_memory_equal(o[0].W.data, o[t].W.data, (size_t)(o[0].count * D) * sizeof(double));
      assert_memory_equal(o[0].label, o[t].label, 100 * sizeof *o[0].label);
      for (ptrdiff_t i = 0; i < o[0].count; i++) {
        const ep_optimum *p = &o[0].optimum[i], *q = &o[t].optimum[i];
        assert_true(p->lambda == q->lambda && p->roughness == q->roughness && p->gap == q->gap &&
                    p->returns == q->returns && p->roughness_bound == q->roughness_bound);
      }
    }
    for (int t = 0; t < 3; t++) ep_optima_free(&o[t]);
  }
  ep_mat_free(&X);
}

/* find, or the figures of what was found, with allocation n failing */
static ep_status with_failure(int n, ep_optima *found, const ep_layer *l,
                              const ep_optima_config *c) {
  const ep_run_config run = ep_run_default();
  json_t *curves = NULL, *map = NULL;
  ep_optima o;
  ep_alloc_fail_after = n;
  ep_status st =
      found ? ep_optima_curves(&curves, found, l, c, 0) : ep_optima_find(NULL, &o, l, c, &run);
  if (!st && found) st = ep_optima_map(&map, found, l, c, 0);
  ep_alloc_fail_after = -1;
  if (!st && !found) ep_optima_free(&o);
  json_decref(curves);
  json_decref(map);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 30, 3, 1);
  const ep_run_config run = ep_run_default();
  ep_optima_config c = config_of(2);
  ep_optima o;
  c.ball = true;
  c.directions = c.pushes = 1;
  c.iterations = 2;
  c.settle = 1;
  for (int g = 0; g < 4; g++) { /* the last time the figures */
    const ep_layer l = layer_of(&X, "relu", weightings[g % 3]);
    if (g == 3) CHECK_OK(ep_optima_find(NULL, &o, &l, &c, &run));
    const size_t before = ep_mem_current();
    ep_status st = EP_ERR_NOMEM;
    for (int n = 0; st == EP_ERR_NOMEM; n += g == 3 ? 5 : 1) {
      st = with_failure(n, g == 3 ? &o : NULL, &l, &c);
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
  ep_optima_free(&o);
  ep_mat_free(&X);
}

static void refusals(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 10, 3, 1), Y = random_mat(EP_DOUBLE, 9, 3, 1);
  ep_mat single = random_mat(EP_SINGLE, 10, 3, 1);
  ep_run_config run = ep_run_default();
  const ep_optima_config c = config_of(3);
  ep_optima o;
  ep_layer l = layer_of(&X, "tanh", "uniform");
  CHECK_STATUS(ep_optima_find(NULL, &o, &l, &c, &run), EP_ERR_ARG);
  l = layer_of(&single, "relu", "uniform");
  CHECK_STATUS(ep_optima_find(NULL, &o, &l, &c, &run), EP_ERR_SHAPE);
  l = layer_of(&X, "relu", "uniform");
  l.X2 = Y;
  CHECK_STATUS(ep_optima_find(NULL, &o, &l, &c, &run), EP_ERR_SHAPE);
  l = layer_of(&X, "relu", "uniform");
  run.memory = 1;
  CHECK_STATUS(ep_optima_find(NULL, &o, &l, &c, &run), EP_ERR_ARG);
  run.memory = 0;
  *ep_d(&X, 3, 1) = NAN;
  CHECK_STATUS(ep_optima_find(NULL, &o, &l, &c, &run), EP_ERR_INPUT);
  ep_mat_free(&X);
  ep_mat_free(&Y);
  ep_mat_free(&single);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear),           cmocka_unit_test(dead_starts),
      cmocka_unit_test(on_jumps),         cmocka_unit_test(roughness_bound),
      cmocka_unit_test(gaussian_weights), cmocka_unit_test(formulas),
      cmocka_unit_test(irregularity),     cmocka_unit_test(same_bits),
      cmocka_unit_test(out_of_memory),    cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
