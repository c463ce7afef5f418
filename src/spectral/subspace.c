#include "spectral/tall.h"

#include <eigenpair/subspace.h>
#include <float.h>
#include <math.h>

/* ---- principal angles (Bjorck and Golub) */

/* Q (n x rank): the left singular vectors of A that carry its span. Columns are first brought to one size, which
 * changes no span, so that the rank does not depend on their units. */
static ep_status basis(ep_mat *Q, ep_work *work, const ep_mat *A) {
  const ptrdiff_t n = A->rows, d = A->cols, k = n < d ? n : d;
  ep_mat C, U, Vt;
  double *sigma;
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, n, d));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, n, k));
  EP_TRY(ep_work_mat(work, &Vt, EP_DOUBLE, k, d));
  EP_TRY(ep_work_get(work, &sigma, k, sizeof *sigma));
  ep_mat_copy(&C, A);
  for (ptrdiff_t j = 0; j < d; j++) {
    const ep_mat column = ep_mat_cols(&C, j, 1);
    const double top = ep_mat_max(&column);
    for (ptrdiff_t i = 0; top > 0 && i < n; i++) *ep_d(&C, i, j) /= top;
  }
  EP_TRY(ep_mat_svd(&U, sigma, &Vt, &C));
  const double unit = A->prec == EP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  ptrdiff_t rank = 0;
  /* rounded entries move singular values by about unit sigma_0; the root leaves room for sums */
  const double zero = 4 * sqrt((double)(n > d ? n : d)) * unit;
  while (rank < k && sigma[rank] > zero * sigma[0]) rank++;
  *Q = ep_mat_cols(&U, 0, rank);
  return EP_OK;
}

/* cos theta = singular values of Qa'Qb, sin theta = those of Qb - Qa Qa'Qb; each is used where it is steep */
static ep_status angles(double *angle, ptrdiff_t *count, ep_work *work, const ep_mat *A,
                        const ep_mat *B) {
  ep_mat Qa, Qb, C, S;
  double *cosine, *sine;
  EP_TRY(basis(&Qa, work, A));
  EP_TRY(basis(&Qb, work, B));
  if (Qa.cols < Qb.cols) {
    const ep_mat swap = Qa;
    Qa = Qb, Qb = swap;
  }
  const ptrdiff_t k = *count = Qb.cols;
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, Qa.cols, k));
  EP_TRY(ep_work_mat(work, &S, EP_DOUBLE, Qb.rows, k));
  EP_TRY(ep_work_get(work, &cosine, k, sizeof *cosine));
  EP_TRY(ep_work_get(work, &sine, k, sizeof *sine));
  ep_mat_mul(&C, 1, &Qa, EP_T, &Qb, EP_N, 0);
  ep_mat_copy(&S, &Qb);
  ep_mat_mul(&S, -1, &Qa, EP_N, &C, EP_N, 1);
  EP_TRY(ep_mat_svd(NULL, cosine, NULL, &C));
  EP_TRY(ep_mat_svd(NULL, sine, NULL, &S));
  for (ptrdiff_t i = 0; i < k; i++) {
    const double c = cosine[i], s = sine[k - 1 - i];
    const double theta = c * c >= 0.5 ? asin(fmin(s, 1)) : acos(c);
    angle[i] =
        i && theta < angle[i - 1] ? angle[i - 1] : theta; /* equal ones may differ by rounding */
  }
  return EP_OK;
}

ep_status ep_principal_angles(double *angle, ptrdiff_t *count, const ep_mat *A, const ep_mat *B) {
  *count = 0;
  EP_CHECK(A->rows == B->rows, EP_ERR_SHAPE,
           "spans of vectors of %td and of %td numbers have no angles between them", A->rows,
           B->rows);
  for (ptrdiff_t i = 0; i < A->cols && i < B->cols; i++) angle[i] = NAN;
  ep_work work = {0};
  const ep_status st = angles(angle, count, &work, A, B);
  ep_work_free(&work);
  return st;
}

/* ---- Procrustes */

static void add_rows(ep_procrustes_info *info, double *sum, const ep_mat *E, const ep_mat *B) {
  for (ptrdiff_t i = 0; i < E->rows; i++) {
    const ep_mat e = ep_mat_rows(E, i, 1), b = ep_mat_rows(B, i, 1);
    const double square = ep_mat_norm2(&e), size = sqrt(ep_mat_norm2(&b));
    info->residual += square; /* its root comes last */
    if (size == 0) {
      info->zero_rows++;
      continue;
    }
    info->max = fmax(info->max, sqrt(square) / size); /* NaN at first: fmax passes over it */
    *sum += sqrt(square) / size;
  }
}

/* A'B = U S V', O = U V' */
static ep_status procrustes(const ep_mat *O, ep_procrustes_info *info, ep_work *work,
                            const ep_mat *A, const ep_mat *B) {
  const ptrdiff_t k = A->cols;
  const ep_tall ra = ep_tall_all(A), rb = ep_tall_all(B);
  ep_mat C, U, Vt, a, b;
  double *sigma, sum = 0;
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, k, k));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, k, k));
  EP_TRY(ep_work_mat(work, &Vt, EP_DOUBLE, k, k));
  EP_TRY(ep_work_mat(work, &a, EP_DOUBLE, EP_TALL_BLOCK, k));
  EP_TRY(ep_work_mat(work, &b, EP_DOUBLE, EP_TALL_BLOCK, 2 * k));
  EP_TRY(ep_work_get(work, &sigma, k, sizeof *sigma));
  EP_TRY(ep_tall_cross(&C, &ra, &rb));
  EP_TRY(ep_mat_svd(&U, sigma, &Vt, &C));
  ep_mat_mul(O, 1, &U, EP_N, &Vt, EP_N, 0);
  for (ptrdiff_t i = 0; i < A->rows; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = A->rows - i < EP_TALL_BLOCK ? A->rows - i : EP_TALL_BLOCK;
    const ep_mat u = ep_mat_rows(&a, 0, m), v = ep_mat_rows(&b, 0, m);
    const ep_mat e = ep_mat_cols(&v, 0, k), w = ep_mat_cols(&v, k, k);
    ep_tall_get(&u, &ra, i);
    ep_tall_get(&w, &rb, i);
    ep_mat_copy(&e, &w);
    ep_mat_mul(&e, 1, &u, EP_N, O, EP_N, -1); /* E = A O - B */
    add_rows(info, &sum, &e, &w);
  }
  info->residual = sqrt(info->residual);
  info->mean = sum / (double)(A->rows - info->zero_rows); /* 0/0 is NaN */
  return EP_OK;
}

ep_status ep_procrustes(const ep_mat *O, ep_procrustes_info *info, const ep_mat *A,
                        const ep_mat *B) {
  *info = (ep_procrustes_info){.max = NAN};
  EP_CHECK(A->rows == B->rows && A->cols == B->cols, EP_ERR_SHAPE,
           "no rotation takes %td x %td to %td x %td", A->rows, A->cols, B->rows, B->cols);
  EP_CHECK(O->rows == A->cols && O->cols == A->cols && O->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "the rotation has to be %td x %td in double", A->cols, A->cols);
  ep_work work = {0};
  const ep_status st = procrustes(O, info, &work, A, B);
  ep_work_free(&work);
  return st;
}

/* ---- CKA */

static ep_status frobenius2(double *out, ep_work *work, const ep_tall *A, const ep_tall *B) {
  ep_mat G;
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, A->X->cols, B->X->cols));
  EP_TRY(ep_tall_cross(&G, A, B));
  *out = ep_mat_norm2(&G);
  return EP_OK;
}

static ep_status cka_of(double *cka, ep_work *work, const ep_mat *A, const ep_mat *B) {
  ep_tall a, b;
  double ab, aa, bb;
  EP_TRY(ep_tall_centred(&a, work, A));
  EP_TRY(ep_tall_centred(&b, work, B));
  EP_TRY(frobenius2(&ab, work, &a, &b));
  EP_TRY(frobenius2(&aa, work, &a, &a));
  EP_TRY(frobenius2(&bb, work, &b, &b));
  *cka = aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : 0;
  return EP_OK;
}

ep_status ep_cka(double *cka, const ep_mat *A, const ep_mat *B) {
  EP_CHECK(A->rows == B->rows, EP_ERR_SHAPE, "representations of %td and of %td points", A->rows,
           B->rows);
  ep_work work = {0};
  const ep_status st = cka_of(cka, &work, A, B);
  ep_work_free(&work);
  return st;
}
