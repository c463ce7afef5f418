/* Descents on linear networks under constraints: what the equation says of them, where they end, what can fail. */
#include "core/mem.h"
#include "theory/linear.h"

#include <eigenpair/dynamics.h>
#include <eigenpair/method.h>

/* q = U'B of the network */
static ep_mat coordinates(const ep_descent *d, const ep_linear *l, ptrdiff_t z) {
  ep_mat B, q;
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, l->U.rows, z));
  CHECK_OK(ep_mat_new(&q, EP_DOUBLE, l->U.rows, z));
  ep_descent_product(&B, d);
  ep_mat_mul(&q, 1, &l->U, EP_T, &B, EP_N, 0);
  ep_mat_free(&B);
  return q;
}

/* Theorem 2: Grassmann descent of any width, depth and retraction is the equation to first order in the rate. */
static void theorem_2(void **state) {
  (void)state;
  ep_mat C = with_spectrum(mixed, D, 3);
  ep_linear l;
  CHECK_OK(ep_linear_new(&l, &C));
  for (int layers = 1; layers <= 4; layers++)
    for (int way = 0; way < 2; way++) {
      double gap[2];
      for (int half = 0; half < 2; half++) {
        const double rate = 0.002 / (1 + half), t = 2;
        const ep_descent_config c = config_of(layers, 9 + 8 * way, EP_CONSTRAINT_GRASSMANN,
                                              way ? EP_RETRACT_POLAR : EP_RETRACT_QR, rate);
        ep_descent *d;
        CHECK_OK(ep_descent_new(&d, &c, &C, NULL, 11));
        ep_mat q = coordinates(d, &l, 2);
        CHECK_OK(ep_descent_step(d, (long)(t / rate + 0.5)));
        ep_mat r = coordinates(d, &l, 2);
        flow_to(&q, l.lambda, t);
        gap[half] = mat_gap(&q, &r);
        ep_mat_free(&q);
        ep_mat_free(&r);
        ep_descent_free(d);
      }
      assert_true(gap[0] < 0.02);
      CHECK_NEAR(gap[0] / gap[1], 2, 0.1);
    }
  ep_linear_free(&l);
  ep_mat_free(&C);
}

/* Plain gradient with polar projection follows dq/dt = -4 Lam q + Lam q q'q + 3 q q' Lam q (two layers), another path
 * to the same optimum; plain gradient with QR does not reach it. */
static ep_status polar_path(const double *q, double *dq, const double *lambda, int d, int z) {
  for (int i = 0; i < d; i++)
    for (int k = 0; k < z; k++) {
      double sum = -4 * lambda[i] * q[i * z + k];
      for (int j = 0; j < z; j++)
        for (int m = 0; m < d; m++)
          sum += (lambda[i] + 3 * lambda[m]) * q[i * z + j] * q[m * z + j] * q[m * z + k];
      dq[i * z + k] = sum;
    }
  return EP_OK;
}

static double end_of(const ep_mat *C, const ep_descent_config *c, long steps, uint64_t seed) {
  ep_descent *d;
  double loss;
  CHECK_OK(ep_descent_new(&d, c, C, NULL, seed));
  CHECK_OK(ep_descent_step(d, steps));
  CHECK_OK(ep_descent_loss(&loss, d));
  ep_descent_free(d);
  return loss;
}

static void plain_gradient(void **state) {
  (void)state;
  ep_mat C = with_spectrum(mixed, D, 3);
  ep_linear l;
  CHECK_OK(ep_linear_new(&l, &C));
  const double best = ep_linear_optimum(l.lambda, D, 2), rate = 1e-4;
  ep_descent_config c = config_of(2, 12, EP_CONSTRAINT_ORTHOGONAL, EP_RETRACT_POLAR, rate);
  ep_descent *d;
  double dq[D * 2];
  CHECK_OK(ep_descent_new(&d, &c, &C, NULL, 11));
  ep_mat q = coordinates(d, &l, 2);
  CHECK_OK(ep_descent_step(d, 1));
  ep_mat r = coordinates(d, &l, 2);
  CHECK_OK(polar_path(q.data, dq, l.lambda, D, 2));
  for (int i = 0; i < D * 2; i++)
    CHECK_NEAR((((double *)r.data)[i] - ((double *)q.data)[i]) / rate, dq[i], 2e-3);
  ep_descent_free(d);
  c.rate = 0.05;
  CHECK_NEAR(end_of(&C, &c, 4000, 11), best, 1e-6);
  c.retraction = EP_RETRACT_QR;
  assert_true(end_of(&C, &c, 4000, 11) > best + 0.01);
  ep_linear_free(&l);
  ep_mat_free(&C);
  ep_mat_free(&q);
  ep_mat_free(&r);
}

/* Prop. 3: four problems, one optimum; also with fewer negative eigenvalues (4) than outputs, where orthonormal weights
 * need a width of d + z - 4 */
static void proposition_3(void **state) {
  (void)state;
  ep_mat C = with_spectrum(mixed, D, 3);
  static const ep_constraint problems[] = {EP_CONSTRAINT_SCALED, EP_CONSTRAINT_SPECTRAL,
                                           EP_CONSTRAINT_PRODUCT, EP_CONSTRAINT_GRASSMANN};
  for (int z = 2; z <= 6; z += 4)
    for (int p = 0; p < 4; p++) {
      ep_descent_config c = config_of(2, 12, problems[p], EP_RETRACT_QR, 0.05);
      c.outputs = z;
      /* the scaled loss has kinks, where singular values meet: its rate has to fall, and what is left of a surplus
       * direction, a small square, falls with it */
      if (p == 0) c.rate = 0.5, c.decay = 0.999;
      CHECK_NEAR(end_of(&C, &c, p == 0 ? 18000 : 9000, 2), ep_linear_optimum(mixed, D, z),
                 p == 0 && z == 6 ? 1e-5 : 1e-6);
    }
  ep_mat_free(&C);
}

/* ratio of the second to the first singular value of B */
static double ratio(const ep_descent *d, ptrdiff_t dim, ptrdiff_t z) {
  ep_mat B;
  double sigma[8];
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, dim, z));
  ep_descent_product(&B, d);
  CHECK_OK(ep_linear_spectrum(sigma, NULL, 0, &B));
  ep_mat_free(&B);
  return sigma[1] / sigma[0];
}

/* Half moons: collapse without a constraint and with Frobenius norms, rank 2 with orthonormal weights. */
static void half_moons(void **state) {
  (void)state;
  ep_data_config data;
  ep_pair_config pair;
  ep_run_config run = ep_run_default();
  ep_points p;
  ep_mat C;
  ep_options_default(ep_data_options, &data);
  ep_options_default(ep_pair_options, &pair);
  strcpy(data.data, "moons:200");
  run.precision = EP_DOUBLE;
  CHECK_OK(ep_points_load(NULL, &p, &data, &pair, "triplet", &run));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, 3, 3));
  CHECK_OK(ep_linear_add(&C, &p.X, &p.pairs, 1. / 200));
  static const ep_constraint kinds[] = {EP_CONSTRAINT_NONE, EP_CONSTRAINT_FROBENIUS,
                                        EP_CONSTRAINT_GRASSMANN, EP_CONSTRAINT_SCALED};
  for (int k = 0; k < 4; k++)
    for (int tanh = 0; tanh < 2; tanh++) {
      ep_descent_config c = config_of(2, 20, kinds[k], EP_RETRACT_QR, 0.1);
      ep_descent *d;
      if (k == 3)
        c.decay =
            0.99; /* kinks where singular values meet: at a constant rate it jumps about them */
      if (tanh) strcpy(c.activation, "tanh");
      CHECK_OK(ep_descent_new(&d, &c, tanh ? NULL : &C, tanh ? &p : NULL, 1));
      CHECK_OK(ep_descent_step(d, 400));
      if (k < 2) assert_true(ratio(d, 3, 2) < (tanh ? 0.3 : 0.02));
      else assert_true(ratio(d, 3, 2) > 0.5);
      ep_descent_free(d);
    }
  ep_mat_free(&C);
  ep_points_free(&p);
}

/* ---- what can fail */

static ep_status everything(const ep_mat *C, const ep_points *p) {
  ep_linear l;
  ep_linear_info info;
  ep_mat q = {0};
  ep_descent *d = NULL;
  double sigma[2], loss;
  ep_descent_config c =
      config_of(2, 9, p ? EP_CONSTRAINT_SCALED : EP_CONSTRAINT_SPECTRAL, EP_RETRACT_POLAR, 0.1);
  EP_TRY(ep_linear_new(&l, C));
  ep_status st = ep_mat_new(&q, EP_DOUBLE, C->rows, 2);
  if (!st) st = ep_linear_start(&q, 9, 1);
  if (!st) st = ep_linear_flow(&q, &info, l.lambda, 0.1, 1e-8);
  if (!st) st = ep_linear_steps(&q, l.lambda, 0.1, 2);
  if (!st) st = ep_linear_spectrum(sigma, NULL, 0, &q);
  if (!st) st = ep_descent_new(&d, &c, p ? NULL : C, p, 1);
  if (!st) st = ep_descent_step(d, 1);
  if (!st) st = ep_descent_loss(&loss, d);
  ep_descent_free(d);
  ep_mat_free(&q);
  ep_linear_free(&l);
  return st;
}

static void memory(void **state) {
  (void)state;
  const ep_pair_plan plan = {1, 1, false, false};
  ep_mat C = with_spectrum(mixed, D, 3);
  ep_points p = {.X = random_mat(EP_DOUBLE, 8, D, 7)};
  CHECK_OK(ep_pairs_draw(&p.pairs, 4, &plan, 3));
  const size_t before = ep_mem_current();
  for (int points = 0; points < 2; points++)
    for (long n = 0;; n++) {
      ep_alloc_fail_after = n;
      const ep_status st = everything(&C, points ? &p : NULL);
      const bool over = ep_alloc_fail_after >= 0;
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
      if (!st && over) break;
      assert_int_equal(st, EP_ERR_NOMEM);
    }
  ep_mat_free(&C);
  ep_points_free(&p);
}

/* the same for the two that run it all: `dynamics` beside a descent, and the method */
static ep_status run_dynamics(const ep_points *p) {
  ep_dynamics d;
  ep_dynamics_config config;
  ep_descent_config c = config_of(2, 9, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, 0.1);
  ep_options_default(ep_dynamics_options, &config);
  config.time = 0.2;
  config.compare = true;
  strcpy(config.times, "0.1");
  EP_TRY(ep_dynamics_run(NULL, &d, &config, &c, NULL, p, NULL, 1));
  assert_int_equal(d.rows, 3);
  ep_dynamics_free(&d);
  return EP_OK;
}

static ep_status run_method(const ep_points *p) {
  static ep_setup s;
  ep_model *model;
  ep_fit_info info;
  ep_setup_default(&s);
  strcpy(s.fit.method, "linear");
  strcpy(s.fit.track, "rank");
  s.fit.epochs = 2;
  s.net.outputs = 2;
  const ep_status st = ep_fit(NULL, &model, &info, p, &s);
  if (!st) ep_model_free(model);
  ep_fit_info_free(&info);
  return st;
}

static void memory_of_runs(void **state) {
  (void)state;
  const ep_pair_plan plan = {1, 1, false, false};
  ep_points p = {.X = random_mat(EP_DOUBLE, 8, D, 7)};
  CHECK_OK(ep_pairs_draw(&p.pairs, 4, &plan, 3));
  const size_t before = ep_mem_current();
  for (int method = 0; method < 2; method++)
    for (long n = 0;; n++) {
      ep_alloc_fail_after = n;
      const ep_status st = method ? run_method(&p) : run_dynamics(&p);
      const bool over = ep_alloc_fail_after >= 0;
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
      if (!st && over) break;
      assert_int_equal(st, EP_ERR_NOMEM);
    }
  ep_points_free(&p);
}

static void refused(void **state) {
  (void)state;
  ep_mat C = with_spectrum(mixed, D, 3);
  ep_descent *d;
  ep_descent_config c = config_of(2, D - 1, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, 0.1);
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  c.width = 9;
  strcpy(c.activation, "tanh");
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  strcpy(c.activation, "linear");
  CHECK_STATUS(ep_descent_new(&d, &c, NULL, NULL, 1), EP_ERR_ARG);
  c.constraint = 99;
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  c.constraint = EP_CONSTRAINT_NONE; /* diverges: said, and the weights are finite */
  c.rate = 1e3;
  CHECK_OK(ep_descent_new(&d, &c, &C, NULL, 1));
  CHECK_OK(ep_descent_step(d, 1000));
  assert_true(ep_descent_diverged(d));
  assert_true(isfinite(ep_mat_max(ep_descent_weights(d, 0))));
  ep_descent_free(d);
  ep_mat_free(&C);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(theorem_2),     cmocka_unit_test(plain_gradient),
      cmocka_unit_test(proposition_3), cmocka_unit_test(half_moons),
      cmocka_unit_test(memory),        cmocka_unit_test(memory_of_runs),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
