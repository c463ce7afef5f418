/* Linear self-supervised dynamics: C, the equation, its exact case, and what it says of descents. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/descent.h>
#include <eigenpair/dynamics.h>
#include <eigenpair/linear.h>
#include <eigenpair/method.h>
#include <eigenpair/objective.h>
#include <string.h>

/* ---- C */

/* Tr(B'CB) = L(XB) of the linear loss with dot products, for every kind of pairs, in both precisions */
static void matrix_of_pairs(void **state) {
  (void)state;
  enum { N = 1100, D = 5, Z = 3 }; /* more anchors than a block */
  static const char *const plans[] = {"triplet", "positives", "2+3", "1+4", "all"};
  ep_objective_config config;
  ep_objective objective;
  ep_options_default(ep_objective_options, &config);
  strcpy(config.similarity, "dot");
  CHECK_OK(ep_objective_parse(&objective, &config));
  for (int k = 0; k < 5; k++)
    for (int prec = 0; prec < 2; prec++) {
      ep_pair_plan plan;
      ep_pairs pairs;
      double loss;
      CHECK_OK(ep_pair_plan_parse(&plan, plans[k]));
      CHECK_OK(ep_pairs_draw(&pairs, N, &plan, 4));
      ep_mat X = random_mat((ep_precision)prec, pairs.points, D, 1), Y, F, C, T;
      ep_mat B = random_mat(EP_DOUBLE, D, Z, 2);
      CHECK_OK(ep_mat_new(&Y, EP_DOUBLE, X.rows, D));
      CHECK_OK(ep_mat_new(&F, EP_DOUBLE, X.rows, Z));
      CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
      CHECK_OK(ep_mat_new(&T, EP_DOUBLE, D, Z));
      ep_mat_copy(&Y, &X);
      ep_mat_mul(&F, 1, &Y, EP_N, &B, EP_N, 0);
      CHECK_OK(ep_objective_value(&loss, NULL, &F, &pairs, &objective));
      CHECK_OK(ep_linear_add(&C, &X, &pairs, 1. / N));
      ep_mat_mul(&T, 1, &C, EP_N, &B, EP_N, 0);
      double trace = 0;
      for (int i = 0; i < D * Z; i++) trace += ((double *)T.data)[i] * ((double *)B.data)[i];
      CHECK_CLOSE(trace, loss, 1e-11);
      for (int i = 0; i < D; i++)
        for (int j = 0; j < i; j++) assert_true(*ep_d(&C, i, j) == *ep_d(&C, j, i));
      for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&X, &Y, &F, &C, &T, &B}[i]);
      ep_pairs_free(&pairs);
    }
}

/* any N: batches of anchors add up to the whole */
static void streamed(void **state) {
  (void)state;
  enum { N = 30, D = 4, STEP = 7 };
  const ep_pair_plan plan = {1, 2, false};
  ep_pairs pairs, batch;
  CHECK_OK(ep_pairs_draw(&pairs, N, &plan, 4));
  ep_mat X = random_mat(EP_DOUBLE, pairs.points, D, 1), C, S;
  ptrdiff_t anchors[N], point[2 * N], place[2 * N];
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, D, D));
  CHECK_OK(ep_linear_add(&C, &X, &pairs, 1. / N));
  for (int i = 0; i < 2 * N; i++) place[i] = -1;
  for (int i = 0; i < N; i++) anchors[i] = i;
  for (int first = 0; first < N; first += STEP) {
    const int count = N - first < STEP ? N - first : STEP;
    ep_mat part;
    CHECK_OK(ep_pairs_batch(&batch, point, &pairs, anchors + first, count, place));
    CHECK_OK(ep_mat_new(&part, EP_DOUBLE, batch.points, D));
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

/* a symmetric matrix with these eigenvalues */
static ep_mat with_spectrum(const double *lambda, ptrdiff_t d, uint32_t sub) {
  ep_mat Q = random_mat(EP_DOUBLE, d, d, sub), S, C;
  CHECK_OK(ep_retract(&Q, EP_RETRACT_QR));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, d, d));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, d, d));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(&S, i, j) = *ep_d(&Q, i, j) * lambda[j];
  ep_mat_mul(&C, 1, &S, EP_N, &Q, EP_T, 0);
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < i; j++) *ep_d(&C, i, j) = *ep_d(&C, j, i);
  ep_mat_free(&Q);
  ep_mat_free(&S);
  return C;
}

static const double mixed[] = {-1, -0.8, -0.6, -0.2, 0.1, 0.5, 0.9};
enum { D = 7 };

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

static ep_mat start(ptrdiff_t d, ptrdiff_t z, ptrdiff_t width, uint64_t seed) {
  ep_mat q;
  CHECK_OK(ep_mat_new(&q, EP_DOUBLE, d, z));
  CHECK_OK(ep_linear_start(&q, width, seed));
  return q;
}

static ep_mat copy_of(const ep_mat *A) {
  ep_mat B;
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, A->rows, A->cols));
  ep_mat_copy(&B, A);
  return B;
}

static void flow_to(const ep_mat *q, const double *lambda, double t) {
  ep_linear_info info;
  CHECK_OK(ep_linear_flow(q, &info, lambda, t, 1e-10));
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

/* ---- descents */

static ep_descent_config config_of(int layers, ptrdiff_t width, const char *constraint,
                                   const char *retraction, double rate) {
  ep_descent_config c;
  ep_options_default(ep_descent_options, &c);
  c.layers = layers;
  c.width = width;
  c.rate = rate;
  strcpy(c.constraint, constraint);
  strcpy(c.retraction, retraction);
  return c;
}

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
        const ep_descent_config c =
            config_of(layers, 9 + 8 * way, "grassmann", way ? "polar" : "qr", rate);
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
  ep_descent_config c = config_of(2, 12, "orthogonal", "polar", rate);
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
  strcpy(c.retraction, "qr");
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
  static const char *const problems[] = {"scaled", "spectral", "product", "grassmann"};
  for (int z = 2; z <= 6; z += 4)
    for (int p = 0; p < 4; p++) {
      ep_descent_config c = config_of(2, 12, problems[p], "qr", 0.05);
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
  strcpy(run.precision, "double");
  CHECK_OK(ep_points_load(&p, &data, &pair, "triplet", &run));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, 3, 3));
  CHECK_OK(ep_linear_add(&C, &p.X, &p.pairs, 1. / 200));
  static const char *const kinds[] = {"none", "frobenius", "grassmann", "scaled"};
  for (int k = 0; k < 4; k++)
    for (int tanh = 0; tanh < 2; tanh++) {
      ep_descent_config c = config_of(2, 20, kinds[k], "qr", 0.1);
      ep_descent *d;
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
  ep_descent_config c = config_of(2, 9, p ? "scaled" : "spectral", "polar", 0.1);
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
  const ep_pair_plan plan = {1, 1, false};
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
  ep_descent_config c = config_of(2, 9, "grassmann", "qr", 0.1);
  ep_options_default(ep_dynamics_options, &config);
  config.time = 0.2;
  config.compare = true;
  strcpy(config.times, "0.1");
  EP_TRY(ep_dynamics_run(&d, &config, &c, NULL, p, NULL, 1));
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
  const ep_pair_plan plan = {1, 1, false};
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
  ep_descent_config c = config_of(2, D - 1, "grassmann", "qr", 0.1);
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  c.width = 9;
  strcpy(c.activation, "tanh");
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  strcpy(c.activation, "linear");
  CHECK_STATUS(ep_descent_new(&d, &c, NULL, NULL, 1), EP_ERR_ARG);
  strcpy(c.constraint, "some");
  CHECK_STATUS(ep_descent_new(&d, &c, &C, NULL, 1), EP_ERR_ARG);
  strcpy(c.constraint, "none"); /* diverges: said, and the weights are finite */
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
      cmocka_unit_test(matrix_of_pairs), cmocka_unit_test(streamed),
      cmocka_unit_test(eigenbasis),      cmocka_unit_test(against_runge_kutta),
      cmocka_unit_test(stiff),           cmocka_unit_test(discrete_step),
      cmocka_unit_test(exact),           cmocka_unit_test(theorem_3),
      cmocka_unit_test(spans),           cmocka_unit_test(edge),
      cmocka_unit_test(unconstrained),   cmocka_unit_test(theorem_2),
      cmocka_unit_test(plain_gradient),  cmocka_unit_test(proposition_3),
      cmocka_unit_test(half_moons),      cmocka_unit_test(memory),
      cmocka_unit_test(memory_of_runs),  cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
