/* Retractions: orthonormal, the right one of all orthonormal matrices, and what they do near the manifold. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/retraction.h>
#include <string.h>

/* |W'W - I|_max */
static double orthonormality(const ep_mat *W) {
  ep_mat G;
  double top = 0;
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, W->cols, W->cols));
  ep_mat_mul(&G, 1, W, EP_T, W, EP_N, 0);
  for (ptrdiff_t i = 0; i < G.rows; i++)
    for (ptrdiff_t j = 0; j < G.cols; j++) top = fmax(top, fabs(*ep_d(&G, i, j) - (i == j)));
  ep_mat_free(&G);
  return top;
}

static ep_mat retracted(const ep_mat *W, int which) {
  ep_mat Q;
  CHECK_OK(ep_mat_new(&Q, EP_DOUBLE, W->rows, W->cols));
  ep_mat_copy(&Q, W);
  CHECK_OK(ep_retract(&Q, which));
  return Q;
}

/* A = Q'W: upper triangular with a positive diagonal for qr, symmetric positive definite for polar; W = QA */
static void check_factor(const ep_mat *Q, const ep_mat *W, int which) {
  const ptrdiff_t k = W->cols;
  ep_mat A, B;
  double lambda[8];
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, k, k));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, W->rows, k));
  ep_mat_mul(&A, 1, Q, EP_T, W, EP_N, 0);
  ep_mat_mul(&B, 1, Q, EP_N, &A, EP_N, 0);
  CHECK_NEAR(mat_gap(&B, W), 0, 1e-13);
  for (ptrdiff_t i = 0; i < k; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      CHECK_NEAR(*ep_d(&A, i, j), which == EP_RETRACT_QR ? 0 : *ep_d(&A, j, i), 1e-13);
  if (which == EP_RETRACT_POLAR) {
    CHECK_OK(ep_mat_eig_sym(&A, lambda));
    assert_true(lambda[0] > 0);
  } else
    for (ptrdiff_t i = 0; i < k; i++) assert_true(*ep_d(&A, i, i) > 0);
  ep_mat_free(&A);
  ep_mat_free(&B);
}

static void factors(void **state) {
  (void)state;
  const ptrdiff_t shapes[][2] = {{7, 3}, {5, 5}, {40, 1}, {1, 1}, {9, 8}};
  for (int s = 0; s < 5; s++)
    for (int which = 0; ep_retraction_name(which); which++) {
      ep_mat W = random_mat(EP_DOUBLE, shapes[s][0], shapes[s][1], 3), Q = retracted(&W, which);
      CHECK_NEAR(orthonormality(&Q), 0, 1e-14 * 10);
      check_factor(&Q, &W, which);
      ep_mat again = retracted(&Q, which); /* nothing happens to what is orthonormal already */
      CHECK_NEAR(mat_gap(&again, &Q), 0, 1e-14);
      ep_mat_free(&W);
      ep_mat_free(&Q);
      ep_mat_free(&again);
    }
}

/* columns that are nearly, or exactly, the same: orthonormal all the same, which (W'W)^{-1/2} by eigenvalues is not */
static void nearly_dependent(void **state) {
  (void)state;
  for (double gap = 0; gap < 1e-5; gap = gap == 0 ? 1e-14 : gap * 100)
    for (int which = 0; which < 2; which++) {
      ep_mat W = random_mat(EP_DOUBLE, 9, 3, 4);
      for (ptrdiff_t i = 0; i < 9; i++) *ep_d(&W, i, 2) = *ep_d(&W, i, 0) + (i == 4) * gap;
      CHECK_OK(ep_retract(&W, which));
      CHECK_NEAR(orthonormality(&W), 0, 1e-14);
      ep_mat_free(&W);
    }
}

/* Polar is the nearest: no other orthonormal matrix of many is nearer. A step along the manifold changes W to first
 * order by the step: |R(W + e G) - W - e (I - WW')G| = O(e^2) for G = (I - WW')G. */
static void geometry(void **state) {
  (void)state;
  ep_mat W = random_mat(EP_DOUBLE, 6, 3, 5), P = retracted(&W, EP_RETRACT_POLAR), T, S;
  for (uint32_t i = 0; i < 50; i++) {
    ep_mat near = random_mat(EP_DOUBLE, 6, 3, 100 + i);
    for (ptrdiff_t k = 0; k < 18; k++)
      ((double *)near.data)[k] = ((double *)P.data)[k] + 0.1 * ((double *)near.data)[k];
    CHECK_OK(ep_retract(&near, EP_RETRACT_QR));
    assert_true(ep_mat_distance2(&near, &W) > ep_mat_distance2(&P, &W));
    ep_mat_free(&near);
  }
  ep_mat G = random_mat(EP_DOUBLE, 6, 3, 6);
  CHECK_OK(ep_mat_new(&T, EP_DOUBLE, 3, 3));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, 6, 3));
  ep_mat_mul(&T, 1, &P, EP_T, &G, EP_N, 0);
  ep_mat_mul(&G, -1, &P, EP_N, &T, EP_N, 1);
  for (int which = 0; which < 2; which++)
    for (double e = 1e-2; e > 1e-5; e /= 10) {
      ep_mat_copy(&S, &P);
      ep_mat_axpy(&S, e, &G);
      CHECK_OK(ep_retract(&S, which));
      ep_mat_axpy(&S, -e, &G);
      CHECK_NEAR(mat_gap(&S, &P), 0, 20 * e * e);
    }
  for (int i = 0; i < 5; i++) ep_mat_free((ep_mat *[]){&W, &P, &G, &T, &S}[i]);
}

static void refused(void **state) {
  (void)state;
  ep_mat wide = random_mat(EP_DOUBLE, 2, 3, 1), single = random_mat(EP_SINGLE, 3, 2, 1);
  ep_mat W = random_mat(EP_DOUBLE, 4, 2, 1);
  assert_string_equal(ep_retraction_name(0), "qr");
  assert_string_equal(ep_retraction_name(1), "polar");
  assert_null(ep_retraction_name(2));
  CHECK_STATUS(ep_retract(&wide, 0), EP_ERR_SHAPE);
  CHECK_STATUS(ep_retract(&single, 1), EP_ERR_SHAPE);
  CHECK_STATUS(ep_retract(&W, 2), EP_ERR_ARG);
  CHECK_STATUS(ep_retract(&W, -1), EP_ERR_ARG);
  const size_t before = ep_mem_current();
  for (int which = 0; which < 2; which++)
    for (long n = 0;; n++) {
      ep_alloc_fail_after = n;
      const ep_status st = ep_retract(&W, which);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
      if (!st) break;
      assert_int_equal(st, EP_ERR_NOMEM);
    }
  *ep_d(&W, 1, 1) = NAN;
  CHECK_STATUS(ep_retract(&W, 1), EP_ERR_NUMERIC);
  ep_mat_free(&wide);
  ep_mat_free(&single);
  ep_mat_free(&W);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors),
      cmocka_unit_test(nearly_dependent),
      cmocka_unit_test(geometry),
      cmocka_unit_test(refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
