/* Block Krylov against LAPACK: random, indefinite, repeated and missing eigenvalues, every size. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/eigen.h>
#include <string.h>

static ep_status apply(const ep_mat *Y, const ep_mat *X, void *user) {
  ep_mat_mul(Y, 1, user, EP_N, X, EP_N, 0);
  return EP_OK;
}

/* A = Q diag(lambda) Q' with Q random */
static ep_mat with_spectrum(const double *lambda, ptrdiff_t n) {
  ep_mat Q = random_mat(EP_DOUBLE, n, n, 81), R, A, L;
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_new(&L, EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_qr(&Q, &R));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(&L, i, j) = *ep_d(&Q, i, j) * lambda[j];
  ep_mat_mul(&A, 1, &L, EP_N, &Q, EP_T, 0);
  ep_mat_free(&Q);
  ep_mat_free(&R);
  ep_mat_free(&L);
  return A;
}

/* eigenvalues, residuals, orthonormality */
static void check(const double *lambda, ptrdiff_t n, ptrdiff_t k, long block) {
  ep_mat A = with_spectrum(lambda, n), V, AV, G;
  double *found = ep_alloc(k, sizeof *found), *sorted = ep_alloc(n, sizeof *sorted), top = 0;
  ep_eigen_config config;
  ep_eigen_info info;
  ep_options_default(ep_eigen_options, &config);
  config.block = block;
  CHECK_OK(ep_mat_new(&V, EP_DOUBLE, n, k));
  CHECK_OK(ep_mat_new(&AV, EP_DOUBLE, n, k));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, k, k));
  memcpy(sorted, lambda, (size_t)n * sizeof *sorted);
  for (ptrdiff_t i = 0; i < n; i++) { /* falling */
    top = fmax(top, fabs(lambda[i]));
    for (ptrdiff_t j = i; j > 0 && sorted[j] > sorted[j - 1]; j--) {
      const double t = sorted[j];
      sorted[j] = sorted[j - 1];
      sorted[j - 1] = t;
    }
  }
  CHECK_OK(ep_eigen_largest(&V, found, &info, apply, &A, &config, 1));
  assert_true(info.converged);
  for (ptrdiff_t j = 0; j < k; j++) CHECK_NEAR(found[j], sorted[j], 1e-9 * top);
  ep_mat_mul(&AV, 1, &A, EP_N, &V, EP_N, 0);
  ep_mat_mul(&G, 1, &V, EP_T, &V, EP_N, 0);
  for (ptrdiff_t j = 0; j < k; j++) {
    for (ptrdiff_t i = 0; i < n; i++)
      CHECK_NEAR(*ep_d(&AV, i, j), found[j] * *ep_d(&V, i, j), 1e-8 * top);
    for (ptrdiff_t i = 0; i < k; i++) CHECK_NEAR(*ep_d(&G, i, j), i == j, 1e-12);
  }
  ep_mat_free(&A);
  ep_mat_free(&V);
  ep_mat_free(&AV);
  ep_mat_free(&G);
  ep_release(found);
  ep_release(sorted);
}

static void spectra(void **state) {
  (void)state;
  enum { N = 120 };
  double decay[N], indefinite[N], repeated[N], low_rank[N] = {0}, close[N];
  for (int i = 0; i < N; i++) {
    decay[i] = 1 / (1. + i);
    indefinite[i] = (i % 2 ? -3 : 1) * exp(-0.1 * i);
    repeated[i] = i < 7 ? 2 : i < 12 ? 1 : 0.3 * exp(-0.05 * i);
    low_rank[i] = i < 3 ? 3 - i : 0;
    close[i] = 1 + 1e-3 * i;
  }
  for (ptrdiff_t k = 1; k <= 10; k += 3)
    for (long block = 0; block <= 20; block += 20) {
      check(decay, N, k, block);
      check(indefinite, N, k, block);
      check(repeated, N, k, block);
      check(low_rank, N, k, block);
      check(close, N, k, block);
    }
}

static void sizes(void **state) {
  (void)state;
  double lambda[30];
  for (int i = 0; i < 30; i++) lambda[i] = cos(3. * i);
  for (ptrdiff_t n = 1; n <= 30; n++)
    for (ptrdiff_t k = 1; k <= n; k += n > 4 ? n / 4 : 1) check(lambda, n, k, 0);
}

typedef struct {
  const ep_mat *A;
  ep_mat a; /* in single precision */
} both;

static ep_status apply_both(const ep_mat *Y, const ep_mat *X, void *user) {
  const both *m = user;
  ep_mat_mul(Y, 1, X->prec == EP_SINGLE ? &m->a : m->A, EP_N, X, EP_N, 0);
  return EP_OK;
}

static ep_status by_products(const ep_mat *V, double *found, ep_eigen_info *info, const ep_mat *A,
                             const ep_eigen_config *config) {
  ep_work work = {0};
  both m = {.A = A};
  CHECK_OK(ep_eigen_single(&m.a, &work, A));
  const ep_status st = ep_eigen_mixed(V, found, info, apply_both, &m, config, 1);
  ep_work_free(&work);
  return st;
}

/* A large matrix goes through single precision first. Eigenvalues, residuals and columns are those of double, where the
 * tolerance asks for it, at any scale; where it does not, eigenvalues are right to the square of it. */
static void mixed(double scale, double tolerance, bool close, bool matrix) {
  enum { N = 450, K = 5 };
  double lambda[N], found[K];
  ep_eigen_config config;
  ep_eigen_info info;
  ep_mat V, R, G;
  for (int i = 0; i < N; i++)
    lambda[i] = scale * (close ? 1 - 1e-3 * i : (i % 3 == 2 ? -1 : 1) * exp(-0.03 * i));
  ep_mat A = with_spectrum(lambda, N);
  ep_options_default(ep_eigen_options, &config);
  config.eigen_tolerance = tolerance;
  CHECK_OK(ep_mat_new(&V, EP_DOUBLE, N, K));
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, N, K));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, K, K));
  CHECK_OK(matrix ? ep_eigen_matrix(&V, found, &info, &A, &config, 1)
                  : by_products(&V, found, &info, &A, &config));
  assert_true(info.converged);
  ep_mat_mul(&R, 1, &A, EP_N, &V, EP_N, 0);
  ep_mat_mul(&G, 1, &V, EP_T, &V, EP_N, 0);
  for (ptrdiff_t j = 0, place = 0; j < K; j++, place++) {
    double norm = 0;
    while (lambda[place] < 0) place++;
    CHECK_NEAR(found[j], lambda[place], scale * fmax(1e-12, 1e4 * tolerance * tolerance));
    for (ptrdiff_t i = 0; i < N; i++) norm += pow(*ep_d(&R, i, j) - found[j] * *ep_d(&V, i, j), 2);
    CHECK_NEAR(sqrt(norm), 0, 1.01 * scale * tolerance);
    for (ptrdiff_t i = 0; i < K; i++) CHECK_NEAR(*ep_d(&G, i, j), i == j, 1e-12);
  }
  ep_mat_free(&A);
  ep_mat_free(&V);
  ep_mat_free(&R);
  ep_mat_free(&G);
}

static void single_then_double(void **state) {
  (void)state;
  for (int close = 0; close < 2; close++)
    for (int matrix = 0; matrix < 2; matrix++) {
      mixed(1, 1e-10, close, matrix);
      mixed(1e-60, 1e-10, close, matrix);
      mixed(1e60, 3e-6, close, matrix);
      mixed(1, 1e-3, close, matrix);
    }
}

/* Eigenvalues that block Krylov does not tell apart before LAPACK would be done are LAPACK's; not those of who asks for few
 * restarts. */
static void patience(void **state) {
  (void)state;
  enum { N = 600, K = 4 };
  double lambda[N], found[K];
  ep_eigen_config config;
  ep_eigen_info info;
  ep_mat V;
  ep_options_default(ep_eigen_options, &config);
  assert_int_equal(ep_eigen_patient(&config, K, 100000, 1).restarts,
                   200); /* LAPACK takes longer than all of them */
  assert_int_equal(ep_eigen_patient(&config, K, 2001, 1).restarts, 200); /* nor is it interrupted */
  assert_true(ep_eigen_patient(&config, K, 2 * N, 1).restarts >
              ep_eigen_patient(&config, K, N, 1).restarts);
  CHECK_OK(ep_mat_new(&V, EP_DOUBLE, N, K));
  for (int close = 0; close < 2; close++) {
    for (int i = 0; i < N; i++) lambda[i] = close ? 1 - 1e-7 * i : exp(-0.1 * i);
    ep_mat A = with_spectrum(lambda, N);
    CHECK_OK(ep_eigen_matrix(&V, found, &info, &A, &config, 1));
    assert_true(info.converged && (info.products == N) == close);
    for (int j = 0; j < K; j++) CHECK_NEAR(found[j], lambda[j], 1e-12);
    config.restarts = 2;
    CHECK_OK(ep_eigen_matrix(&V, found, &info, &A, &config, 1));
    assert_true(info.converged == !close && info.products != N);
    ep_options_default(ep_eigen_options, &config);
    ep_mat_free(&A);
  }
  ep_mat_free(&V);
}

/* How many products: slowly falling eigenvalues, many of them near the largest, as views that agree make them. */
static long products(double tolerance, bool both_precisions) {
  enum { N = 900, K = 8 };
  double lambda[N], found[K];
  ep_eigen_config config;
  ep_eigen_info info;
  ep_mat V;
  for (int i = 0; i < N; i++) lambda[i] = 1 / (1 + 0.004 * i);
  ep_mat A = with_spectrum(lambda, N);
  ep_options_default(ep_eigen_options, &config);
  config.eigen_tolerance = tolerance;
  CHECK_OK(ep_mat_new(&V, EP_DOUBLE, N, K));
  CHECK_OK(both_precisions ? by_products(&V, found, &info, &A, &config)
                           : ep_eigen_largest(&V, found, &info, apply, &A, &config, 1));
  assert_true(info.converged);
  for (int j = 0; j < K; j++) CHECK_NEAR(found[j], lambda[j], 10 * tolerance * tolerance + 1e-12);
  ep_mat_free(&A);
  ep_mat_free(&V);
  return info.products;
}

static void few_products(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) { /* restarts that keep one block took 576 and 976 */
    assert_in_range(products(1e-5, k), 8, 480);
    assert_in_range(products(1e-9, k), 8, 800);
  }
}

static void signs(void **state) {
  (void)state;
  double v[6] = {1, 0.5, -2, 0.1, 0.3, -0.2};
  const ep_mat V = ep_mat_view(EP_DOUBLE, 3, 2, v);
  ep_eigen_signs(&V);
  CHECK_NEAR(v[2], 2, 0);
  CHECK_NEAR(v[0], -1, 0);
  CHECK_NEAR(v[1], 0.5, 0);
}

static void out_of_memory(void **state) {
  (void)state;
  double lambda[20], found[3];
  for (int i = 0; i < 20; i++) lambda[i] = 1. / (i + 1);
  ep_mat A = with_spectrum(lambda, 20), V;
  ep_eigen_config config;
  ep_eigen_info info;
  ep_options_default(ep_eigen_options, &config);
  CHECK_OK(ep_mat_new(&V, EP_DOUBLE, 20, 3));
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  for (int n = 0; st == EP_ERR_NOMEM; n++) {
    ep_alloc_fail_after = n;
    st = ep_eigen_largest(&V, found, &info, apply, &A, &config, 1);
    ep_alloc_fail_after = -1;
    assert_int_equal(ep_mem_current(), before);
  }
  CHECK_STATUS(st, EP_OK);
  CHECK_STATUS(ep_eigen_largest(&V, found, &info, apply, &A, &config, 1), EP_OK);
  ep_mat_free(&A);
  ep_mat_free(&V);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spectra),
      cmocka_unit_test(sizes),
      cmocka_unit_test(single_then_double),
      cmocka_unit_test(patience),
      cmocka_unit_test(few_products),
      cmocka_unit_test(signs),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
