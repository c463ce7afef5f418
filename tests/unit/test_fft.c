/* Fourier and Walsh transforms against their defining sums. */
#include "core/fft.h"
#include "core/mem.h"
#include "random_mat.h"

static void any_length(void **state) {
  (void)state;
  const ptrdiff_t lengths[] = {1, 2, 3, 4, 5, 7, 12, 16, 31, 60, 64, 97, 100, 128, 243};
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
    const ptrdiff_t n = lengths[l];
    ep_mat x = random_mat(EP_DOUBLE, 2, n, (uint32_t)n), X = random_mat(EP_DOUBLE, 2, n, 1);
    ep_mat_copy(&X, &x);
    CHECK_OK(ep_fft(ep_d(&X, 0, 0), ep_d(&X, 1, 0), n));
    for (ptrdiff_t k = 0; k < n; k++) {
      double re = 0, im = 0;
      for (ptrdiff_t j = 0; j < n; j++) {
        const double a = -2 * acos(-1) * (double)(j * k % n) / (double)n;
        re += cos(a) * *ep_d(&x, 0, j) - sin(a) * *ep_d(&x, 1, j);
        im += sin(a) * *ep_d(&x, 0, j) + cos(a) * *ep_d(&x, 1, j);
      }
      CHECK_NEAR(*ep_d(&X, 0, k), re, 1e-13 * (double)(n + 10));
      CHECK_NEAR(*ep_d(&X, 1, k), im, 1e-13 * (double)(n + 10));
    }
    ep_mat_free(&x);
    ep_mat_free(&X);
  }
  CHECK_STATUS(ep_fft(NULL, NULL, 0), EP_ERR_ARG);
}

/* A long one: two transforms give the sequence back, turned round, n times. */
static void long_one(void **state) {
  (void)state;
  for (int odd = 0; odd < 2; odd++) {
    const ptrdiff_t n = ((ptrdiff_t)1 << 17) + odd;
    ep_mat x = random_mat(EP_DOUBLE, 2, n, 9), X = random_mat(EP_DOUBLE, 2, n, 9);
    for (int i = 0; i < 2; i++) CHECK_OK(ep_fft(ep_d(&X, 0, 0), ep_d(&X, 1, 0), n));
    for (ptrdiff_t j = 0; j < n; j++)
      CHECK_NEAR(*ep_d(&X, 0, (n - j) % n) / (double)n, *ep_d(&x, 0, j), 2e-14);
    ep_mat_free(&x);
    ep_mat_free(&X);
  }
}

static void walsh(void **state) {
  (void)state;
  enum { N = 32 };
  ep_mat x = random_mat(EP_DOUBLE, 1, N, 4), X = random_mat(EP_DOUBLE, 1, N, 4);
  ep_walsh(X.data, N);
  for (int S = 0; S < N; S++) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += *ep_d(&x, 0, i) * (__builtin_popcount(i & S) & 1 ? -1 : 1);
    CHECK_NEAR(*ep_d(&X, 0, S), sum, 1e-13);
  }
  ep_mat_free(&x);
  ep_mat_free(&X);
}

static void out_of_memory(void **state) {
  (void)state;
  double re[12] = {1}, im[12] = {0};
  ep_status st = EP_ERR_NOMEM;
  for (int k = 0; st; k++) {
    ep_alloc_fail_after = k;
    st = ep_fft(re, im, 12);
    ep_alloc_fail_after = -1;
    assert_true(st == EP_OK || st == EP_ERR_NOMEM);
    assert_true(k < 20);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_length),
      cmocka_unit_test(long_one),
      cmocka_unit_test(walsh),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
