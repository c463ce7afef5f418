/* Linear self-supervised dynamics: C, the equation, its exact case. */
#include "theory/linear.h"

#include <eigenpair/objective.h>

/* ---- C */

/* Tr(B'CB) = L(XB) of the linear loss with dot products, for every kind of pairs, in both precisions */
static void matrix_of_pairs(void **state) {
  (void)state;
  enum { N = 1100, DIM = 5, Z = 3 }; /* more anchors than a block */
  static const char *const plans[] = {"triplet", "positives", "2+3", "1+4", "all"};
  ep_objective_config config;
  ep_objective objective;
  ep_options_default(ep_objective_options, &config);
  config.similarity = EP_SIMILARITY_DOT;
  CHECK_OK(ep_objective_parse(&objective, &config));
  for (int k = 0; k < 5; k++)
    for (int prec = 0; prec < 2; prec++) {
      ep_pair_plan plan;
      ep_pairs pairs;
      double loss;
      CHECK_OK(ep_pair_plan_parse(&plan, plans[k]));
      CHECK_OK(ep_pairs_draw(&pairs, N, &plan, 4));
      ep_mat X = random_mat((ep_precision)prec, pairs.points, DIM, 1), Y, F, C, T;
      ep_mat B = random_mat(EP_DOUBLE, DIM, Z, 2);
      CHECK_OK(ep_mat_new(&Y, EP_DOUBLE, X.rows, DIM));
      CHECK_OK(ep_mat_new(&F, EP_DOUBLE, X.rows, Z));
      CHECK_OK(ep_mat_new(&C, EP_DOUBLE, DIM, DIM));
      CHECK_OK(ep_mat_new(&T, EP_DOUBLE, DIM, Z));
      ep_mat_copy(&Y, &X);
      ep_mat_mul(&F, 1, &Y, EP_N, &B, EP_N, 0);
      CHECK_OK(ep_objective_value(&loss, NULL, &F, &pairs, &objective));
      CHECK_OK(ep_linear_add(&C, &X, &pairs, 1. / N));
      ep_mat_mul(&T, 1, &C, EP_N, &B, EP_N, 0);
      double trace = 0;
      for (int i = 0; i < DIM * Z; i++) trace += ((double *)T.data)[i] * ((double *)B.data)[i];
      CHECK_CLOSE(trace, loss, 1e-11);
      for (int i = 0; i < DIM; i++)
        for (int j = 0; j < i; j++) assert_true(*ep_d(&C, i, j) == *ep_d(&C, j, i));
      for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&X, &Y, &F, &C, &T, &B}[i]);
      ep_pairs_free(&pairs);
    }
}

/* any N: batches of anchors add up to the whole */
static void streamed(void **state) {
  (void)state;
  enum { N = 30, DIM = 4, STEP = 7 };
  const ep_pair_plan plan = {1, 2, false, false};
  ep_pairs pairs, batch;
  CHECK_OK(ep_pairs_draw(&pairs, N, &plan, 4));
  ep_mat X = random_mat(EP_DOUBLE, pairs.points, DIM, 1), C, S;
  ptrdiff_t anchors[N], point[2 * N], place[2 * N];
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, DIM, DIM));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, DIM, DIM));
  CHECK_OK(ep_linear_add(&C, &X, &pairs, 1. / N));
  for (int i = 0; i < 2 * N; i++) place[i] = -1;
  for (int i = 0; i < N; i++) anchors[i] = i;
  for (int first = 0; first < N; first += STEP) {
    const int count = N - first < STEP ? N - first : STEP;
    ep_mat part;
    CHECK_OK(ep_pairs_batch(&batch, point, &pairs, anchors + first, count, place));
    CHECK_OK(ep_mat_new(&part, EP_DOUBLE, batch.points, DIM));
    for (ptrdiff_t i = 0; i < batch.points; i++) {
      const ep_mat to = ep_mat_rows(&part, i, 1), from = ep_mat_rows(&X, point[i], 1);
      ep_mat_copy(&to, &from);
    }
    CHECK_OK(ep_linear_add(&S, &part, &batch, 1. / N));
    ep_mat_free(&part);
    ep_pairs_free(&batch);
  }
  CHECK_NEAR(mat_gap(&C, &S), 0, 1e-14);
  ep_mat_free(&X);
  ep_mat_free(&C);
  ep_mat_free(&S);
  ep_pairs_free(&pairs);
}

static void eigenbasis(void **state) {
  (void)state;
  ep_mat C = with_spectrum(mixed, D, 3), UL, R;
  ep_linear l;
  CHECK_OK(ep_linear_new(&l, &C));
  CHECK_OK(ep_mat_new(&UL, EP_DOUBLE, D, D));
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, D, D));
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++) *ep_d(&UL, i, j) = *ep_d(&l.U, i, j) * l.lambda[j];
  ep_mat_mul(&R, 1, &UL, EP_N, &l.U, EP_T, 0);
  CHECK_NEAR(mat_gap(&R, &C), 0, 1e-14);
  for (int j = 0; j < D; j++) {
    double top = 0;
    CHECK_NEAR(l.lambda[j], mixed[j], 1e-14);
    for (int i = 0; i < D; i++)
      if (fabs(*ep_d(&l.U, i, j)) > fabs(top)) top = *ep_d(&l.U, i, j);
    assert_true(top > 0);
  }
  assert_int_equal(ep_linear_negatives(&l), 4);
  CHECK_NEAR(ep_linear_optimum(l.lambda, D, 2), -1.8, 1e-14);
  CHECK_NEAR(ep_linear_optimum(l.lambda, D, 6), -2.6, 1e-14);
  /* new points: X U q, single and double */
  ep_mat q = random_mat(EP_DOUBLE, D, 2, 5), X = random_mat(EP_DOUBLE, 3, D, 6), E, X1, E1;
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, 3, 2));
  CHECK_OK(ep_mat_new(&X1, EP_SINGLE, 3, D));
  CHECK_OK(ep_mat_new(&E1, EP_SINGLE, 3, 2));
  ep_mat_copy(&X1, &X);
  CHECK_OK(ep_linear_embed(&E, &l, &q, &X));
  CHECK_OK(ep_linear_embed(&E1, &l, &q, &X1));
  CHECK_NEAR(mat_gap(&E, &E1), 0, 1e-5);
  for (int n = 0; n < 3; n++)
    for (int k = 0; k < 2; k++) {
      double sum = 0;
      for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) sum += *ep_d(&X, n, i) * *ep_d(&l.U, i, j) * *ep_d(&q, j, k);
      CHECK_NEAR(*ep_d(&E, n, k), sum, 1e-13);
    }
  *ep_d(&C, 0, 1) += 0.1;
  ep_linear other;
  CHECK_STATUS(ep_linear_new(&other, &C), EP_ERR_INPUT);
  ep_linear_free(&l);
  for (int i = 0; i < 8; i++) ep_mat_free((ep_mat *[]){&C, &UL, &R, &q, &X, &E, &X1, &E1}[i]);
}

/* ---- the equation */

/* dq = -2 [2 Lam q - Lam q q'q - q q' Lam q], entry by entry */
static void slope_by_hand(double *dq, const double *q, const double *lambda, int d, int z) {
  for (int i = 0; i < d; i++)
    for (int k = 0; k < z; k++) {
      double sum = 2 * lambda[i] * q[i * z + k];
      for (int j = 0; j < z; j++)
        for (int m = 0; m < d; m++) {
          sum -= lambda[i] * q[i * z + j] * q[m * z + j] * q[m * z + k];
          sum -= q[i * z + j] * q[m * z + j] * lambda[m] * q[m * z + k];
        }
      dq[i * z + k] = -2 * sum;
    }
}

/* the classical method of order 4 in `steps` equal steps */
static void runge_kutta(double *q, const double *lambda, int d, int z, double t, int steps) {
  enum { MOST = 64 };
  double k[4][MOST], y[MOST];
  const int n = d * z;
  const double dt = t / steps, at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
  assert_true(n <= MOST);
  for (int s = 0; s < steps; s++) {
    for (int r = 0; r < 4; r++) {
      for (int i = 0; i < n; i++) y[i] = q[i] + (r ? dt * at[r] * k[r - 1][i] : 0);
      slope_by_hand(k[r], y, lambda, d, z);
    }
    for (int i = 0; i < n; i++)
      for (int r = 0; r < 4; r++) q[i] += dt / 6 * weight[r] * k[r][i];
  }
}

/* q(T) against a fine Runge-Kutta, and eq. 11 at half the speed; z = 1 .. 3 and more outputs than dimensions */
static void against_runge_kutta(void **state) {
  (void)state;
  const double times[] = {0.1, 1, 7};
  for (int z = 1; z <= 8; z = z < 3 ? z + 1 : z + 5)
    for (int k = 0; k < 3; k++) {
      ep_mat q = start(D, z, 12, 3), r = copy_of(&q), s = copy_of(&q);
      flow_to(&q, mixed, times[k]);
      runge_kutta(r.data, mixed, D, z, times[k], 4000);
      CHECK_NEAR(mat_gap(&q, &r), 0, 1e-7);
      double gap[2];
      for (int half = 0; half < 2; half++) { /* first order: half the rate, half the error */
        const long steps = 2000 << half;
        ep_mat e = copy_of(&s);
        CHECK_OK(ep_linear_steps(&e, mixed, 2 * times[k] / (double)steps, steps));
        gap[half] = mat_gap(&e, &r);
        ep_mat_free(&e);
      }
      assert_true(gap[0] < 1e-2 * times[k]);
      CHECK_NEAR(gap[0] / gap[1], 2, 0.05);
      ep_mat_free(&q);
      ep_mat_free(&r);
      ep_mat_free(&s);
    }
}

/* Eigenvalues of very different size, as of data that are not scaled (defect 8): the implicit integrator of one long
 * stretch against the explicit one in short ones, while the small ones still move. */
static void stiff(void **state) {
  (void)state;
  const double lambda[D] = {-2e4, -3, -1, -0.4, 0.2, 0.7, 2};
  const double t = 0.6;
  const int pieces = 2;
  for (int z = 1; z <= 2; z++) {
    ep_mat q = start(D, z, 12, 8), r = copy_of(&q), e = copy_of(&q);
    flow_to(&q, lambda, t);
    for (int i = 0; i < pieces; i++) flow_to(&r, lambda, t / pieces);
    CHECK_NEAR(mat_gap(&q, &r), 0, 1e-8);
    if (z == 1) CHECK_OK(ep_linear_exact(&e, lambda, t));
    if (z == 1) CHECK_NEAR(mat_gap(&q, &e), 0, 1e-8);
    ep_mat_free(&q);
    ep_mat_free(&r);
    ep_mat_free(&e);
  }
}

/* one step of eq. 11, entry by entry */
static void discrete_step(void **state) {
  (void)state;
  double dq[D * 3];
  ep_mat q = start(D, 3, 10, 4), r = copy_of(&q);
  slope_by_hand(dq, r.data, mixed, D, 3);
  CHECK_OK(ep_linear_steps(&q, mixed, 0.1, 1));
  for (int i = 0; i < D * 3; i++)
    CHECK_NEAR(((double *)q.data)[i], ((double *)r.data)[i] + 0.1 / 2 * dq[i], 1e-15);
  CHECK_STATUS(ep_linear_steps(&r, mixed, 1e6, 100), EP_ERR_NUMERIC);
  ep_mat_free(&q);
  ep_mat_free(&r);
}

/* z = 1: the scalar equation against Runge-Kutta, the integrator, and for times at which all but e_1 has long died */
static void exact(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    const double t = (double[]){0.3, 3, 20}[k];
    ep_mat q = start(D, 1, 9, 5), r = copy_of(&q), e = copy_of(&q);
    CHECK_OK(ep_linear_exact(&e, mixed, t));
    runge_kutta(r.data, mixed, D, 1, t, 20000);
    CHECK_NEAR(mat_gap(&e, &r), 0, 1e-11);
    flow_to(&q, mixed, t);
    CHECK_NEAR(mat_gap(&e, &q), 0, 1e-8);
    ep_mat_free(&q);
    ep_mat_free(&r);
    ep_mat_free(&e);
  }
  for (int unit = 0; unit < 2;
       unit++) { /* |q| < 1, and |q| = 1, where it stays; times without bound */
    ep_mat q = start(D, 1, unit ? D : 20, 6);
    const double side = *ep_d(&q, 0, 0) > 0 ? 1 : -1;
    CHECK_OK(ep_linear_exact(&q, mixed, 1e5));
    for (int i = 0; i < D; i++) CHECK_NEAR(*ep_d(&q, i, 0), i == 0 ? side : 0, 1e-12);
    ep_mat_free(&q);
  }
  ep_mat q = start(D, 2, 9, 5), zero;
  CHECK_STATUS(ep_linear_exact(&q, mixed, 1), EP_ERR_ARG);
  CHECK_OK(ep_mat_new(&zero, EP_DOUBLE, D, 1));
  CHECK_OK(ep_linear_exact(&zero, mixed, 1));
  CHECK_NEAR(ep_mat_max(&zero), 0, 0);
  ep_mat_free(&q);
  ep_mat_free(&zero);
}

/* Theorem 3: to the most negative eigenvector, or to 0 */
static void theorem_3(void **state) {
  (void)state;
  const double positive[D] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
  for (uint64_t seed = 0; seed < 5; seed++) {
    ep_mat q = start(D, 1, 15, seed), p = copy_of(&q);
    const double side = *ep_d(&q, 0, 0) > 0 ? 1 : -1;
    flow_to(&q, mixed, 100);
    for (int i = 0; i < D; i++) CHECK_NEAR(*ep_d(&q, i, 0), i == 0 ? side : 0, 1e-7);
    flow_to(&p, positive, 100);
    CHECK_NEAR(ep_mat_max(&p), 0, 1e-7);
    ep_mat_free(&q);
    ep_mat_free(&p);
  }
}

/* Conjecture 2: the span of q is that of the z most negative eigenvectors. With fewer than z negative ones the surplus
 * singular values go to 0, which the spans alone would not show. */
static void spans(void **state) {
  (void)state;
  for (int z = 1; z <= 6; z++) {
    const int negatives = z < 4 ? z : 4;
    ep_mat q = start(D, z, 16, 7);
    double sigma[D], projection[D];
    flow_to(&q, mixed, 300);
    CHECK_OK(ep_linear_spectrum(sigma, projection, negatives, &q));
    for (int i = 0; i < negatives; i++) CHECK_NEAR(projection[i], 1, 1e-7);
    for (int i = 0; i < z; i++) CHECK_NEAR(sigma[i], i < negatives ? 1 : 0, 1e-7);
    CHECK_NEAR(ep_linear_loss(&q, mixed), ep_linear_optimum(mixed, D, z), 1e-7);
    ep_mat_free(&q);
  }
}

/* Orthonormal columns are at the edge of |q| <= 1, and unstable where eigenvalues are positive: rounding must not lead
 * to infinity. Singular values of 1 + 1e-7 (a file in single precision) are taken, larger ones are not. */
static void edge(void **state) {
  (void)state;
  const double positive[D] = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};
  for (int over = 0; over < 2; over++) {
    ep_mat q = start(D, 3, D, 8);
    double sigma[3];
    if (over) ep_mat_axpy(&q, 1e-7, &q);
    flow_to(&q, positive, 200);
    CHECK_OK(ep_linear_spectrum(sigma, NULL, 0, &q));
    assert_true(sigma[0] < 1 + 1e-6);
    ep_mat_free(&q);
  }
  ep_linear_info info;
  ep_mat q = start(D, 3, D, 8);
  ep_mat_axpy(&q, 0.01, &q);
  CHECK_STATUS(ep_linear_flow(&q, &info, mixed, 1, 1e-10), EP_ERR_INPUT);
  CHECK_STATUS(ep_linear_exact(&q, mixed, 0.1), EP_ERR_ARG);
  CHECK_STATUS(ep_linear_start(&q, D - 1, 0), EP_ERR_ARG);
  ep_mat_free(&q);
}

/* exp(-2 Lam t) q(0), where it can be written down, and where it would overflow */
static void unconstrained(void **state) {
  (void)state;
  ep_mat q = random_mat(EP_DOUBLE, D, 2, 9), r = copy_of(&q);
  double scale;
  ep_linear_unconstrained(&r, &scale, mixed, 2.5);
  for (int i = 0; i < D; i++)
    for (int k = 0; k < 2; k++)
      CHECK_CLOSE(*ep_d(&r, i, k) * exp(scale), *ep_d(&q, i, k) * exp(-2 * mixed[i] * 2.5), 1e-13);
  ep_mat_copy(&r, &q);
  ep_linear_unconstrained(&r, &scale, mixed, 1e6);
  CHECK_CLOSE(scale / 2e6, 1, 1e-6);
  CHECK_NEAR(ep_mat_max(&r), 1, 1e-9);
  CHECK_NEAR(*ep_d(&r, 0, 1) / *ep_d(&r, 0, 0), *ep_d(&q, 0, 1) / *ep_d(&q, 0, 0), 1e-9);
  for (int i = 1; i < D; i++) CHECK_NEAR(*ep_d(&r, i, 0), 0, 0);
  ep_mat_free(&q);
  ep_mat_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matrix_of_pairs), cmocka_unit_test(streamed),
      cmocka_unit_test(eigenbasis),      cmocka_unit_test(against_runge_kutta),
      cmocka_unit_test(stiff),           cmocka_unit_test(discrete_step),
      cmocka_unit_test(exact),           cmocka_unit_test(theorem_3),
      cmocka_unit_test(spans),           cmocka_unit_test(edge),
      cmocka_unit_test(unconstrained),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
