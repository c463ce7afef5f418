/* A w = lambda B w, both ways of solving it. */
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(generalised)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
