/* A w = lambda B w, every way of solving it. */
#include "check.h"
#include "random_mat.h"

#include <eigenpair/eigen.h>

/* A = random symmetric, B = RR' + I; few eigenpairs (by factors) and many (formed) */
static void check(ptrdiff_t n, ptrdiff_t k) {
  ep_mat R = random_mat(EP_DOUBLE, n, n, 1), A, B, A0, B0, W, AW, BW;
  ep_eigen_config config;
  ep_eigen_info info;
  double lambda[64];
  ep_mat *const all[] = {&A, &B, &A0, &B0};
  for (int i = 0; i < 4; i++) CHECK_OK(ep_mat_new(all[i], EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_new(&W, EP_DOUBLE, n, k));
  CHECK_OK(ep_mat_new(&AW, EP_DOUBLE, n, k));
  CHECK_OK(ep_mat_new(&BW, EP_DOUBLE, n, k));
  ep_mat_copy(&A, &R);
  ep_mat_symmetrise(&A);
  for (ptrdiff_t i = 0; i < n; i++) *ep_d(&A, i, i) += 40. * (double)(i < k) * (double)(k - i);
  ep_mat_gram(&B, 1 / (double)n, &R, 0);
  for (ptrdiff_t i = 0; i < n; i++) *ep_d(&B, i, i) += 1;
  ep_mat_copy(&A0, &A), ep_mat_copy(&B0, &B);
  ep_options_default(ep_eigen_options, &config);
  CHECK_OK(ep_mat_cholesky(&B));
  CHECK_OK(ep_eigen_generalised(&W, lambda, &info, &A, &B, &config, 0));
  assert_true(info.converged);
  ep_mat_mul(&AW, 1, &A0, EP_N, &W, EP_N, 0);
  ep_mat_mul(&BW, 1, &B0, EP_N, &W, EP_N, 0);
  for (ptrdiff_t a = 0; a < k; a++) {
    if (a > 0) assert_true(lambda[a] <= lambda[a - 1]);
    for (ptrdiff_t i = 0; i < n; i++)
      CHECK_NEAR(*ep_d(&AW, i, a), lambda[a] * *ep_d(&BW, i, a), 1e-8 * lambda[0]);
    for (ptrdiff_t b = 0; b < k; b++) {
      double dot = 0;
      for (ptrdiff_t i = 0; i < n; i++) dot += *ep_d(&W, i, a) * *ep_d(&BW, i, b);
      CHECK_NEAR(dot, a == b, 1e-10);
    }
  }
  assert_true(!(info.next > lambda[k - 1]));
  for (int i = 0; i < 4; i++) ep_mat_free(all[i]);
  ep_mat_free(&R), ep_mat_free(&W), ep_mat_free(&AW), ep_mat_free(&BW);
}

static void generalised(void **state) {
  (void)state;
  check(500, 2);  /* by factors */
  check(100, 2);  /* formed, by LAPACK */
  check(450, 30); /* formed, by block Krylov */
  check(60, 60);  /* all of them */
}

/* Covariances of p points with n features: B = X'X, A = s X'DX with D falling from 1. In their span, and as if they had full
 * rank: the same. A rank that is said too small, no positive eigenvalues, more eigenpairs than directions, an order that is
 * not far above: for the others, with A and B as they were. */
static bool in_span(ptrdiff_t n, ptrdiff_t p, ptrdiff_t said, ptrdiff_t k, double sign) {
  ep_mat X = random_mat(EP_DOUBLE, p, n, 5), Y = random_mat(EP_DOUBLE, p, n, 5), A, B, A0, L, W, V,
         T, G;
  ep_eigen_config config;
  ep_eigen_info info, other;
  double lambda[64], full[64];
  const double ridge = 0.01;
  ep_mat *const square[] = {&A, &B, &A0, &L}, *const tall[] = {&W, &V, &T};
  for (int i = 0; i < 4; i++) CHECK_OK(ep_mat_new(square[i], EP_DOUBLE, n, n));
  for (int i = 0; i < 3; i++) CHECK_OK(ep_mat_new(tall[i], EP_DOUBLE, n, k));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, k, k));
  for (ptrdiff_t i = 0; i < p; i++)
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(&Y, i, j) *= sign / (1. + (double)i);
  ep_mat_mul(&A, 1, &X, EP_T, &Y, EP_N, 0);
  ep_mat_mul(&B, 1, &X, EP_T, &X, EP_N, 0);
  ep_mat_symmetrise(&A), ep_mat_symmetrise(&B);
  ep_mat_copy(&A0, &A), ep_mat_copy(&L, &B);
  ep_options_default(ep_eigen_options, &config);
  CHECK_OK(ep_eigen_span(&W, lambda, &info, &A, &B, ridge, (double)said, 1e-14, &config, 3));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      assert_true(*ep_d(&A, i, j) == *ep_d(&A0, i, j) && *ep_d(&B, i, j) == *ep_d(&L, i, j));
      *ep_d(&L, i, j) += ridge * (i == j);
    }
  CHECK_OK(ep_mat_cholesky(&L));
  CHECK_OK(ep_eigen_generalised(&V, full, &other, &A0, &L, &config, 3));
  for (ptrdiff_t a = 0; info.converged && a < k; a++) CHECK_NEAR(lambda[a], full[a], 1e-9);
  if (info.converged) { /* V'(B + r)W = I: the same vectors, with the same signs */
    assert_true(info.span == said);
    for (ptrdiff_t i = 0; i < n; i++) *ep_d(&B, i, i) += ridge;
    ep_mat_mul(&T, 1, &B, EP_N, &W, EP_N, 0);
    ep_mat_mul(&G, 1, &V, EP_T, &T, EP_N, 0);
    for (ptrdiff_t a = 0; a < k; a++)
      for (ptrdiff_t b = 0; b < k; b++) CHECK_NEAR(*ep_d(&G, a, b), a == b, 1e-6);
  }
  for (int i = 0; i < 4; i++) ep_mat_free(square[i]);
  for (int i = 0; i < 3; i++) ep_mat_free(tall[i]);
  ep_mat_free(&G), ep_mat_free(&X), ep_mat_free(&Y);
  return info.converged;
}

static void span(void **state) {
  (void)state;
  assert_true(in_span(200, 40, 40, 5, 1));
  assert_true(in_span(500, 30, 30, 30, 1));
  assert_true(in_span(200, 40, 60, 5, 1)); /* fewer than said */
  assert_false(in_span(200, 40, 20, 5, 1));
  assert_false(in_span(200, 40, 40, 5, -1));
  assert_false(in_span(200, 4, 4, 5, 1));
  assert_false(in_span(100, 40, 40, 5, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(generalised), cmocka_unit_test(span)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
