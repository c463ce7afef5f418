#pragma once
/* Random matrices for tests. */
#include "check.h"

#include <eigenpair/random.h>

static inline ep_mat random_mat(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols, uint32_t sub) {
  ep_mat A;
  CHECK_OK(ep_mat_new(&A, prec, rows, cols));
  ep_random_fill_normal(&A, 12345, 77, sub);
  return A;
}

/* |A - B|_max */
static inline double mat_gap(const ep_mat *A, const ep_mat *B) {
  double top = 0;
  assert_int_equal(A->rows, B->rows);
  assert_int_equal(A->cols, B->cols);
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++) {
      const double d = fabs(ep_get(A, i, j) - ep_get(B, i, j));
      if (!(d <= top)) top = d;
    }
  return top;
}
