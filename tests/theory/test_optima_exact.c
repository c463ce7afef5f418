/* The cases that have closed forms: OPTIMA B.1, Gaussian weights, Gaussian points. */
#include "optima_layers.h"

/* A(u_m) = along u_m u_m' + across (I - u_m u_m') */
static void check_exact(const population *s, ptrdiff_t m, double along, double across) {
  const ptrdiff_t d = s->U.rows;
  ep_mat A, B;
  double u[8];
  pattern(u, s, m);
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, d, d));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, d, d));
  CHECK_OK(ep_layer_matrix(&A, &s->layer, u, NULL));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      *ep_d(&B, i, j) = (along - across) * u[i] * u[j] + (i == j ? across : 0);
  CHECK_NEAR(mat_gap(&A, &B), 0, 1e-13);
  ep_mat_free(&A);
  ep_mat_free(&B);
}

/* OPTIMA eq. 37 and 38 */
static void exact_cases(void **state) {
  (void)state;
  const double p[5] = {0.1, 0.15, 0.2, 0.25, 0.3}, qs[] = {0.05, 0.2, 0.38, 0.5, 0.9};
  population s = categorical(5, p);
  ep_mat A;
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, 5, 5));
  for (ptrdiff_t m = 0; m < 5; m++) {
    double u
        [5]; /* a hair towards m and away from all others: rounding puts no other point on the active side */
    for (ptrdiff_t j = 0; j < 5; j++) {
      u[j] = *ep_d(&s.U, j, m);
      for (ptrdiff_t k = 0; k < 5; k++) u[j] -= k == m ? 0 : 1e-12 * *ep_d(&s.U, j, k);
    }
    CHECK_OK(ep_layer_matrix(&A, &s.layer, u, NULL));
    for (ptrdiff_t i = 0; i < 5; i++)
      for (ptrdiff_t j = 0; j < 5; j++)
        CHECK_NEAR(ep_get(&A, i, j), p[m] * (1 - p[m]) * ep_get(&s.U, i, m) * ep_get(&s.U, j, m),
                   1e-14);
  }
  ep_mat_free(&A);
  population_free(&s);
  for (int k = 0; k < 5; k++) {
    s = summation(5, qs[k], "relu");
    for (ptrdiff_t m = 0; m < 5; m++) check_exact(&s, m, pow(1 - qs[k], 2), qs[k]);
    population_free(&s);
  }
}

/* how many patterns are an optimum, within an angle; each at most once */
static int patterns_found(const ep_optima *o, const population *s, double angle) {
  int found = 0;
  for (ptrdiff_t m = 0; m < s->U.cols; m++) {
    double u[8], least = 9;
    pattern(u, s, m);
    for (ptrdiff_t i = 0; i < o->count; i++)
      least = fmin(least, ep_layer_angle(&s->layer, u, ep_d(&o->W, i, 0)));
    found += least <= angle;
  }
  return found;
}

/* All u_m are found; of locally maximal eigenvectors nothing else is; power iteration and flow agree. */
static void all_patterns(void **state) {
  (void)state;
  const double p[5] = {0.1, 0.15, 0.2, 0.25, 0.3};
  const ep_run_config run = ep_run_default();
  for (int model = 0; model < 2; model++)
    for (int flow = 0; flow < 2; flow++) {
      population s = model ? summation(5, 0.2, "relu") : categorical(5, p);
      ep_optima_config c = config_of(200);
      ep_optima o;
      if (flow) c.search = EP_SEARCH_FLOW;
      CHECK_OK(ep_optima_find(NULL, &o, &s.layer, &c, &run));
      assert_int_equal(patterns_found(&o, &s, 1e-6), 5);
      assert_int_equal(o.maximal, 5);
      assert_int_equal(o.unsettled, 0);
      if (!model) assert_int_equal(o.count, 5);
      double share = 0;
      for (ptrdiff_t i = 0; i < o.count; i++) {
        const ep_optimum *q = &o.optimum[i];
        share += q->basin;
        assert_true(q->low <= q->basin && q->basin <= q->high);
        if (!q->maximal) continue;
        assert_true(q->stable && q->returns == 1);
        CHECK_NEAR(q->lambda, q->top, 1e-8);
        if (model) CHECK_NEAR(q->lambda, 0.64, 1e-8);
        if (model) CHECK_NEAR(q->gap, 0.44, 1e-8);
      }
      CHECK_NEAR(share + (double)(o.dead + o.unsettled) / 200, 1, 1e-12);
      ep_optima_free(&o);
      population_free(&s);
    }
}

/* q_m below and above (3 - sqrt 5)/2 = 0.381966: returns, departs; the gap changes its sign */
static void threshold(void **state) {
  (void)state;
  const double qs[] = {0.380, 0.384};
  for (int k = 0; k < 2; k++) {
    population s = summation(5, qs[k], "relu");
    ep_optima_config c = config_of(1);
    ep_optimum o;
    double u[5];
    pattern(u, &s, 2);
    c.push = 0.01;
    c.pushes = 3;
    c.iterations = 8000;
    CHECK_OK(ep_optimum_measure(&o, &s.layer, u, &c, 1));
    CHECK_NEAR(o.lambda, pow(1 - qs[k], 2), 1e-12);
    assert_true(o.residual < 1e-12);
    CHECK_NEAR(o.returns, k == 0, 0);
    assert_true(o.stable == (k == 0) && o.maximal == (k == 0));
    CHECK_NEAR(o.top, fmax(pow(1 - qs[k], 2), qs[k]), 1e-12);
    population_free(&s);
  }
}

/* ---- Gaussian weights: kappa = exp(-(1-q)/(2 tau q)), (1-q)^2 kappa along, q^2 + q(1-q) kappa across */

/* the summation model with masses p_i 2^m; row 0 of the given weights is 4^m p_0 p_j */
static population with_masses(ptrdiff_t m, double q, double tau) {
  population s = summation(m, q, "relu");
  const ptrdiff_t n = s.X.rows;
  ep_alpha a = {.kind = EP_ALPHA_GAUSSIAN, .tau = tau};
  CHECK_OK(ep_mat_new(&a.mass, EP_DOUBLE, 1, n));
  const double first = sqrt(*ep_d(&s.layer.alpha.given, 0, 0));
  for (ptrdiff_t i = 0; i < n; i++)
    *ep_d(&a.mass, 0, i) = *ep_d(&s.layer.alpha.given, 0, i) / first;
  ep_alpha_free(&s.layer.alpha);
  s.layer.alpha = a;
  return s;
}

static void gaussian_weights(void **state) {
  (void)state;
  const double qs[] = {0.1, 0.2, 0.3}, taus[] = {0.3, 0.7, 2, 50};
  for (int k = 0; k < 3; k++)
    for (int t = 0; t < 4; t++) {
      const double q = qs[k], tau = taus[t], kappa = exp(-(1 - q) / (2 * tau * q));
      population s = with_masses(4, q, tau);
      for (ptrdiff_t m = 0; m < 4; m++)
        check_exact(&s, m, (1 - q) * (1 - q) * kappa, q * q + q * (1 - q) * kappa);
      population_free(&s);
    }
}

/* Both sides of tau = (1-q) / (2q log((1-q)(1-2q)/q^2)) = 0.805, where u_m becomes a locally maximal eigenvector, and of
 * 0.5355, where it becomes stable because alpha follows w. */
static void gaussian_thresholds(void **state) {
  (void)state;
  const double q = 0.2, lme = (1 - q) / (2 * q * log((1 - q) * (1 - 2 * q) / (q * q)));
  CHECK_NEAR(lme, 0.8049, 1e-4);
  for (int k = 0; k < 4; k++) {
    const double tau = (k < 2 ? lme : 0.5355) + (k % 2 ? 0.02 : -0.02);
    population s = with_masses(4, q, tau);
    ep_optima_config c = config_of(1);
    ep_optimum o;
    double u[4];
    c.push = 0.01;
    c.pushes = 3;
    c.settle = 1e-8;
    pattern(u, &s, 1);
    CHECK_OK(ep_optimum_measure(&o, &s.layer, u, &c, 1));
    assert_true(o.residual < 1e-12);
    assert_true(o.maximal == (tau > lme));
    CHECK_NEAR(o.returns, k != 2, 0);
    population_free(&s);
  }
}

/* ---- Gaussian points with covariance S, in any dimension: A(w) = S/2 - S w w'S / (2 pi w'S w); a sample with its
 * mirror images in every coordinate's sign, with S exactly */

static void gaussian_points(void **state) {
  (void)state;
  enum { N = 40000, D = 3 };
  const double s2[D] = {3, 1.5, 1}, pi = acos(-1);
  ep_mat X, G = random_mat(EP_DOUBLE, N, D, 1), A;
  double w[D] = {2, 1, -1}, sum[D] = {0};
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 8 * N, D));
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, D, D));
  for (ptrdiff_t i = 0; i < N; i++)
    for (int j = 0; j < D; j++) {
      const double g = ep_get(&G, i, j);
      sum[j] += g * g / N;
      for (int m = 0; m < 8; m++) *ep_d(&X, 8 * i + m, j) = m >> j & 1 ? -g : g;
    }
  for (ptrdiff_t i = 0; i < X.rows; i++)
    for (int j = 0; j < D; j++) *ep_d(&X, i, j) *= sqrt(s2[j] / sum[j]);
  normalise(w, D);
  const ep_layer l = layer_of(&X, "relu", "uniform");
  CHECK_OK(ep_layer_matrix(&A, &l, w, NULL));
  double size = 0;
  for (int j = 0; j < D; j++) size += s2[j] * w[j] * w[j];
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++)
      CHECK_NEAR(ep_get(&A, i, j),
                 (i == j) * s2[i] / 2 - s2[i] * w[i] * s2[j] * w[j] / (2 * pi * size), 5e-3);
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&X, &G, &A}[i]);
}

/* Points uniform in a disc of radius C: roughness (2 C/(3 pi))^2, above Theorem 2's C^3/pi as printed where C < 4/(9 pi),
 * below C^2/pi always. */
static void disc(void **state) {
  (void)state;
  enum { RINGS = 10, ANGLES = 1600 };
  const double pi = acos(-1), w[2] = {0, 1}, C = 0.05;
  ep_mat X;
  ep_optimum o;
  ep_optima_config c = config_of(1);
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, RINGS * ANGLES, 2));
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    const double t = 2 * pi * ((double)(i / RINGS) + 0.5) / ANGLES,
                 r = C * sqrt(((double)(i % RINGS) + 0.5) / RINGS);
    *ep_d(&X, i, 0) = r * cos(t), *ep_d(&X, i, 1) = r * sin(t);
  }
  c.pushes = 0;
  c.directions = 1;
  const ep_layer l = layer_of(&X, "relu", "uniform");
  CHECK_OK(ep_optimum_measure(&o, &l, w, &c, 1));
  CHECK_NEAR(o.roughness / pow(2 * C / (3 * pi), 2), 1, 0.02);
  assert_true(o.roughness > pow(C, 3) / pi && o.roughness < C * C / pi);
  ep_mat_free(&X);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact_cases),
      cmocka_unit_test(all_patterns),
      cmocka_unit_test(threshold),
      cmocka_unit_test(gaussian_weights),
      cmocka_unit_test(gaussian_thresholds),
      cmocka_unit_test(gaussian_points),
      cmocka_unit_test(disc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
