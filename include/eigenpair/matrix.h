#pragma once
/* Dense row-major matrices in single or double precision, and the products on them. */
#include <eigenpair/status.h>
#include <stddef.h>

EP_BEGIN

typedef enum { EP_SINGLE, EP_DOUBLE } ep_precision;

/* A plain view: it never owns `data`, except where ep_mat_new made it and ep_mat_free ends it. */
typedef struct {
  ptrdiff_t rows, cols, ld;
  ep_precision prec;
  void *data; /* float * or double * */
} ep_mat;

static inline size_t ep_sizeof(ep_precision prec) {
  return prec == EP_SINGLE ? sizeof(float) : sizeof(double);
}
/* Address of entry (i, j): of the right type for a matrix known to be single (s) or double (d). */
static inline float *ep_s(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return (float *)A->data + i * A->ld + j;
}
static inline double *ep_d(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return (double *)A->data + i * A->ld + j;
}
static inline double ep_get(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return A->prec == EP_SINGLE ? (double)*ep_s(A, i, j) : *ep_d(A, i, j);
}
static inline void ep_set(const ep_mat *A, ptrdiff_t i, ptrdiff_t j, double x) {
  if (A->prec == EP_SINGLE) *ep_s(A, i, j) = (float)x;
  else *ep_d(A, i, j) = x;
}

ep_mat ep_mat_view(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols, void *data); /* ld = cols */
ep_mat ep_mat_rows(const ep_mat *A, ptrdiff_t first, ptrdiff_t count); /* view of some rows */
ep_mat ep_mat_cols(const ep_mat *A, ptrdiff_t first, ptrdiff_t count); /* view of some columns */

ep_status ep_mat_new(ep_mat *out, ep_precision prec, ptrdiff_t rows, ptrdiff_t cols); /* zeroed */
void ep_mat_free(ep_mat *A); /* leaves an empty matrix; an empty one is fine */

void ep_mat_copy(const ep_mat *to, const ep_mat *from); /* same shape, any two precisions */
void ep_mat_fill(const ep_mat *A, double x);

/* C = alpha op(A) op(B) + beta C, op(A) = A or A'. Shapes are the caller's promise (asserted). */
typedef enum { EP_N, EP_T } ep_trans;
void ep_mat_mul(const ep_mat *C, double alpha, const ep_mat *A, ep_trans ta, const ep_mat *B,
                ep_trans tb, double beta);

EP_END
