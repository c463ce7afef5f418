/* Spectra and functions on circle, cube and sphere, against dense ones and published numbers. */
#include "theory/domains.h"

/* ---- spectra */

static void check_against_dense(ep_domain_kind kind, ptrdiff_t size, const ep_domain_kernel *k) {
  ep_domain *a = domain(kind, size, k), *b = dense(kind, size, k);
  const ep_spectrum *s = ep_domain_spectrum(a), *t = ep_domain_spectrum(b);
  double *all = calloc((size_t)t->levels, sizeof *all), trace = ep_spectrum_trace(t);
  ptrdiff_t n = 0;
  for (ptrdiff_t i = 0; i < s->levels; i++)
    for (int j = 0; j < s->count[i]; j++) {
      assert_true(n < t->levels);
      all[n++] = s->value[i];
    }
  assert_int_equal(n, t->levels);
  qsort(all, (size_t)n, sizeof *all, falling);
  for (ptrdiff_t i = 0; i < n; i++) CHECK_NEAR(all[i], t->value[i], 2e-14 * trace);
  CHECK_NEAR(ep_spectrum_trace(s), trace, 1e-13 * trace);
  free(all);
  ep_domain_free(a);
  ep_domain_free(b);
}

static void symmetric_spectra(void **state) {
  (void)state;
  const char *const phi[] = {"relu", "leaky:0.2", "tanh", "erf",        "sigmoid", "linear",
                             "gelu", "sin",       "cos",  "monomial:3", "exp",     "csoftplus"};
  for (size_t i = 0; i < sizeof phi / sizeof *phi; i++)
    for (int depth = 1; depth <= 2; depth++)
      for (int bias = 0; bias < 2; bias++) {
        const ep_domain_kernel k = kernel(phi[i], depth, 0.3 * bias, bias ? 1.2 : 1);
        check_against_dense(EP_CIRCLE, 24, &k);
        check_against_dense(EP_CUBE, 5, &k);
      }
  const ep_domain_kernel k = kernel("relu", 3, 0.1, 2);
  for (int M = 1; M < 12; M++) check_against_dense(EP_CIRCLE, M, &k);
  for (int d = 1; d < 9; d++) check_against_dense(EP_CUBE, d, &k);
  check_against_dense(EP_CIRCLE, 331, &k);
}

/* Rank of relu without biases on the cube of 256: degrees 0, 1 and even ones. */
static void rank_is_exact(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 1, 0, 1);
  for (int d = 4; d <= 8; d += 2) {
    ep_domain *a = domain(EP_CUBE, d, &k), *b = dense(EP_CUBE, d, &k);
    const double rank = ldexp(1, d - 1) + d;
    assert_true(ep_spectrum_rank(ep_domain_spectrum(a)) == rank);
    assert_true(ep_spectrum_rank(ep_domain_spectrum(b)) == rank);
    ep_domain_free(a);
    ep_domain_free(b);
  }
}

/* The sphere in R^2 is the limit of the circle; smooth kernels are there to rounding. */
static void sphere_of_the_plane(void **state) {
  (void)state;
  const char *const phi[] = {"erf", "relu"};
  for (int i = 0; i < 2; i++) {
    const ep_domain_kernel k = kernel(phi[i], 2, 0.1, 1);
    ep_domain *a = domain(EP_SPHERE, 2, &k), *b = domain(EP_CIRCLE, (ptrdiff_t)1 << 18, &k);
    const ep_spectrum *s = ep_domain_spectrum(a), *t = ep_domain_spectrum(b);
    for (int l = 0; l < 200; l++) {
      CHECK_NEAR(s->value[l], t->value[l], i ? 1e-10 : 1e-13); /* relu: aliases of order M^-2 */
      assert_true(s->count[l] == t->count[l]);
    }
    CHECK_NEAR(ep_spectrum_trace(s), ep_spectrum_trace(t), 1e-11);
    ep_domain_free(a);
    ep_domain_free(b);
  }
}

/* The sphere in R^3 as a product of Gauss-Legendre heights and even angles: the eigenproblem of sqrt(w) K sqrt(w) is
 * exact for polynomials, so its leading eigenvalues are those of a smooth kernel, with 2k+1 copies each. */
static void sphere_in_space(void **state) {
  (void)state;
  enum { H = 12, A = 24, M = H * A };
  const double x[H / 2] = {0.1252334085114689, 0.3678314989981802, 0.5873179542866175,
                           0.7699026741943047, 0.9041172563704749, 0.9815606342467193};
  const double w[H / 2] = {0.2491470458134028, 0.2334925365383548, 0.2031674267230659,
                           0.1600783285433462, 0.1069393259953184, 0.0471753363865118};
  const ep_domain_kernel k = kernel("erf", 1, 0.1, 1);
  ep_mat X, K;
  double lambda[M], weight[M];
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, M, 3));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, M, M));
  for (int i = 0; i < M; i++) {
    const double h = i / A % 2 ? x[i / A / 2] : -x[i / A / 2], a = 2 * acos(-1) * (i % A) / A;
    *ep_d(&X, i, 0) = sqrt(1 - h * h) * cos(a), *ep_d(&X, i, 1) = sqrt(1 - h * h) * sin(a);
    *ep_d(&X, i, 2) = h;
    weight[i] = w[i / A / 2] / 2 / A;
  }
  CHECK_OK(ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &X, NULL));
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) *ep_d(&K, i, j) *= sqrt(weight[i] * weight[j]);
  CHECK_OK(ep_mat_eig_sym(&K, lambda));
  ep_domain *d = domain(EP_SPHERE, 3, &k);
  const ep_spectrum *s = ep_domain_spectrum(d);
  double all[36];
  for (int l = 0, at = 0; l < 6; l++) {
    assert_true(s->count[l] == 2 * l + 1);
    for (int j = 0; j < 2 * l + 1; j++) all[at++] = s->value[l];
  }
  qsort(all, 36, sizeof *all, falling);
  for (int i = 0; i < 36; i++) CHECK_NEAR(lambda[M - 1 - i], all[i], 1e-9);
  assert_true(all[35] > 1e-6); /* what was compared is more than the tolerance */
  ep_domain_free(d);
  ep_mat_free(&X);
  ep_mat_free(&K);
}

/* Closed forms on the sphere in R^d: K = x'y has the one eigenvalue 1/d; traces; large dimensions stay finite */
static void sphere_of_any_dimension(void **state) {
  (void)state;
  const int dims[] = {2, 3, 8, 50, 1000};
  for (int i = 0; i < 5; i++) {
    ep_domain_kernel k = kernel("linear", 1, 0, 1); /* NNGP of a linear network is x'y */
    k.kind = EP_NNGP;
    ep_domain *d = domain(EP_SPHERE, dims[i], &k);
    const ep_spectrum *s = ep_domain_spectrum(d);
    for (ptrdiff_t l = 0; l < s->levels; l++)
      CHECK_NEAR(s->value[l], l == 1 ? 1. / dims[i] : 0, 1e-14);
    assert_true(s->count[1] == dims[i] && s->tail == 0);
    ep_domain_free(d);
    k = kernel("relu", 2, 0, 1);
    d = domain(EP_SPHERE, dims[i], &k);
    CHECK_NEAR(ep_spectrum_trace(ep_domain_spectrum(d)), 0.75, 1e-13); /* K(x, x) */
    assert_true(dims[i] > 8 || ep_domain_spectrum(d)->tail < 0.02);
    ep_domain_free(d);
  }
}

/* ---- targets */

/* power by Fourier and Walsh transforms against dense eigenvectors, level by level; and functions by degree */
static void power_by_level(void **state) {
  (void)state;
  const struct {
    ep_domain_kind kind;
    ptrdiff_t size;
  } cases[] = {{EP_CIRCLE, 15}, {EP_CIRCLE, 16}, {EP_CUBE, 4}};
  const ep_domain_kernel k = kernel("relu", 2, 0.1, 1.5);
  for (int c = 0; c < 3; c++) {
    ep_domain *a = domain(cases[c].kind, cases[c].size, &k);
    ep_domain *b = dense(cases[c].kind, cases[c].size, &k);
    const ep_spectrum *s = ep_domain_spectrum(a), *t = ep_domain_spectrum(b);
    const ptrdiff_t M = t->levels;
    ep_mat F = random_mat(EP_DOUBLE, M, 2, 8), X, f;
    double level[32], mode[32], total = 0;
    CHECK_OK(ep_domain_power(level, a, &(ep_target){.F = F}));
    CHECK_OK(ep_domain_power(mode, b, &(ep_target){.F = F}));
    for (ptrdiff_t l = 0; l < s->levels; l++) {
      double sum = 0;
      for (ptrdiff_t i = 0; i < M; i++)
        if (fabs(t->value[i] - s->value[l]) < 1e-10) sum += mode[i];
      CHECK_NEAR(level[l], sum, 1e-12);
      total += level[l];
    }
    CHECK_NEAR(total, ep_mat_norm2(&F) / (double)M, 1e-13);
    ptrdiff_t index[16];
    CHECK_OK(ep_mat_new(&X, EP_DOUBLE, M, ep_domain_dimension(a)));
    CHECK_OK(ep_mat_new(&f, EP_DOUBLE, M, 1));
    for (ptrdiff_t i = 0; i < M; i++) index[i] = i;
    CHECK_OK(ep_domain_points(&X, a, index, 0, 0));
    for (int degree = 0; degree < s->levels; degree++) {
      const ep_target by = {.degree = &degree, .degrees = 1};
      CHECK_OK(ep_domain_values(&f, a, &by, &X));
      CHECK_OK(ep_domain_power(level, a, &(ep_target){.F = f}));
      CHECK_OK(ep_domain_power(mode, a, &by));
      for (ptrdiff_t l = 0; l < s->levels; l++) CHECK_NEAR(level[l], mode[l], 1e-13);
    }
    ep_domain_free(a);
    ep_domain_free(b);
    for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&F, &X, &f}[i]);
  }
}

/* Harmonics on the sphere: norm 1, and eigenfunctions: the mean of K(x, y) f(y) over y is lambda f(x) */
static void harmonics_of_the_sphere(void **state) {
  (void)state;
  enum { N = 20000 };
  const ep_domain_kernel k = kernel("exp", 1, 0, 1.3);
  ep_domain *d = domain(EP_SPHERE, 4, &k);
  ep_mat X, F, K;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, N, 4));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, N, 1));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 1, N));
  CHECK_OK(ep_domain_points(&X, d, NULL, 5, 0));
  for (int degree = 0; degree < 4; degree++) {
    CHECK_OK(ep_domain_values(&F, d, &(ep_target){.degree = &degree, .degrees = 1}, &X));
    CHECK_NEAR(ep_mat_norm2(&F) / N, 1, 0.05);
    const ep_mat x = ep_mat_rows(&X, 7, 1);
    CHECK_OK(ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &x, &X));
    double mean = 0, top = 0;
    for (int i = 0; i < N; i++) mean += *ep_d(&K, 0, i) * *ep_d(&F, i, 0) / N;
    for (int i = 0; i < N; i++) top = fmax(top, fabs(*ep_d(&K, 0, i)));
    CHECK_NEAR(mean, ep_domain_spectrum(d)->value[degree] * *ep_d(&F, 7, 0), 0.02 * top);
  }
  ep_domain_free(d);
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&X, &F, &K}[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(symmetric_spectra),       cmocka_unit_test(rank_is_exact),
      cmocka_unit_test(sphere_of_the_plane),     cmocka_unit_test(sphere_in_space),
      cmocka_unit_test(sphere_of_any_dimension), cmocka_unit_test(power_by_level),
      cmocka_unit_test(harmonics_of_the_sphere)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
