#include "spectral/tall.h"

#include <eigenpair/run.h>

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

ep_tall ep_tall_all(const ep_mat *X) { return (ep_tall){.X = X, .count = X->rows}; }

static void widen(double *restrict y, const float *restrict x, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) y[j] = (double)x[j];
}

static void adjust(double *restrict y, const double *restrict shift, const double *restrict scale,
                   ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) y[j] = (y[j] - shift[j]) * scale[j];
}

/* ---- rows that are not in memory */

void ep_reader_read(ep_reader *r, const ep_mat *to, const ptrdiff_t *index, ptrdiff_t first) {
  const ep_status st = r->read(to, r->user, index, first);
  if (!st) return;
  ep_mat_fill(to, 0);
  ep_status fine = EP_OK; /* the first that went wrong is kept */
  if (atomic_compare_exchange_strong(&r->status, &fine, st))
    snprintf(r->message, sizeof r->message, "%.399s", ep_last_error());
}

ep_status ep_reader_check(const ep_reader *r) {
  return r && r->status ? EP_FAIL(r->status, "%s", r->message) : EP_OK;
}

static void read_rows(const ep_mat *to, const ep_tall *rows, ptrdiff_t first) {
  ep_reader_read(rows->reader, to, rows->index ? rows->index + first : NULL, first);
  for (ptrdiff_t i = 0; rows->shift && i < to->rows; i++)
    adjust(ep_d(to, i, 0), rows->shift, rows->scale, to->cols);
}

void ep_tall_get(const ep_mat *to, const ep_tall *rows, ptrdiff_t first) {
  const ep_mat *X = rows->X;
  if (rows->reader) {
    read_rows(to, rows, first);
    return;
  }
  for (ptrdiff_t i = 0; i < to->rows; i++) {
    const ptrdiff_t r = rows->index ? rows->index[first + i] : first + i;
    double *y = ep_d(to, i, 0);
    if (X->prec == EP_DOUBLE) memcpy(y, ep_d(X, r, 0), (size_t)X->cols * sizeof *y);
    else widen(y, ep_s(X, r, 0), X->cols);
    if (rows->shift) adjust(y, rows->shift, rows->scale, X->cols);
  }
}

static ptrdiff_t block_rows(const ep_tall *rows, ptrdiff_t first) {
  return rows->count - first < EP_TALL_BLOCK ? rows->count - first : EP_TALL_BLOCK;
}

/* ---- moments */

/* a_j += sum_i (x_ij - c_j), b_j += sum_i (x_ij - c_j)^2, top_j = max |x_ij| */
static void add_up(double *a, double *b, double *top, const double *c, const ep_mat *block) {
  for (ptrdiff_t i = 0; i < block->rows; i++) {
    const double *x = ep_d(block, i, 0);
    for (ptrdiff_t j = 0; j < block->cols; j++) {
      const double d = x[j] - c[j];
      a[j] += d;
      b[j] += d * d;
      top[j] = fabs(x[j]) > top[j] ? fabs(x[j]) : top[j];
    }
  }
}

/* Twice: the sums of the second pass are about the mean of the first, so nothing cancels. */
static ep_status moments(ep_work *work, double *mean, double *sd, const ep_tall *rows) {
  const ptrdiff_t d = rows->X->cols;
  const double n = (double)rows->count;
  const double unit = 16 * (rows->X->prec == EP_SINGLE ? FLT_EPSILON : DBL_EPSILON);
  ep_mat block;
  double *a, *b, *top;
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, EP_TALL_BLOCK, d));
  EP_TRY(ep_work_get(work, &a, 3 * d, sizeof *a));
  b = a + d, top = b + d;
  memset(mean, 0, (size_t)d * sizeof *mean);
  for (int pass = 0; pass < 2; pass++) {
    memset(a, 0, 3 * (size_t)d * sizeof *a);
    for (ptrdiff_t i = 0; i < rows->count; i += EP_TALL_BLOCK) {
      const ep_mat part = ep_mat_rows(&block, 0, block_rows(rows, i));
      ep_tall_get(&part, rows, i);
      add_up(a, b, top, mean, &part);
    }
    for (ptrdiff_t j = 0; j < d; j++) mean[j] += a[j] / n;
  }
  for (ptrdiff_t j = 0; j < d; j++) { /* var = E (x-c)^2 - (E (x-c))^2, c the first mean */
    sd[j] = sqrt(fmax(b[j] / n - (a[j] / n) * (a[j] / n), 0));
    if (sd[j] <= unit * top[j]) sd[j] = 0;
  }
  return EP_OK;
}

ep_status ep_tall_moments(double *mean, double *sd, const ep_tall *rows) {
  ep_work work = {0};
  const ep_status st = moments(&work, mean, sd, rows);
  ep_work_free(&work);
  return st;
}

ep_status ep_tall_centre(ep_tall *rows, ep_work *work) {
  const ptrdiff_t d = rows->X->cols;
  double *mean, *keep;
  EP_TRY(ep_work_get(work, &mean, d, sizeof *mean));
  EP_TRY(ep_work_get(work, &keep, d, sizeof *keep));
  EP_TRY(ep_tall_moments(mean, keep, rows));
  for (ptrdiff_t j = 0; j < d; j++) keep[j] = keep[j] > 0; /* else rounding is left */
  rows->shift = mean, rows->scale = keep;
  return EP_OK;
}

ep_status ep_tall_centred(ep_tall *out, ep_work *work, const ep_mat *X) {
  *out = ep_tall_all(X);
  return ep_tall_centre(out, work);
}

double ep_tall_max(const ep_tall *rows, const ep_mat *block) {
  double most = 0;
  if (!rows->reader) return ep_mat_max(rows->X);
  for (ptrdiff_t i = 0; i < rows->count && !isnan(most); i += block->rows) {
    const ep_mat part =
        ep_mat_rows(block, 0, rows->count - i < block->rows ? rows->count - i : block->rows);
    ep_tall_get(&part, rows, i);
    const double here = ep_mat_max(&part);
    if (!(here <= most)) most = here;
  }
  return most;
}

/* ---- products */

static ep_status cross(ep_work *work, const ep_mat *G, const ep_tall *A, const ep_tall *B) {
  ep_mat a, b;
  EP_TRY(ep_work_mat(work, &a, EP_DOUBLE, EP_TALL_BLOCK, A->X->cols));
  EP_TRY(ep_work_mat(work, &b, EP_DOUBLE, EP_TALL_BLOCK, B->X->cols));
  ep_mat_fill(G, 0);
  for (ptrdiff_t i = 0; i < A->count; i += EP_TALL_BLOCK) {
    const ep_mat u = ep_mat_rows(&a, 0, block_rows(A, i)), v = ep_mat_rows(&b, 0, u.rows);
    ep_tall_get(&u, A, i);
    ep_tall_get(&v, B, i);
    ep_mat_mul(G, 1, &u, EP_T, &v, EP_N, 1);
  }
  return EP_OK;
}

ep_status ep_tall_cross(const ep_mat *G, const ep_tall *A, const ep_tall *B) {
  ep_work work = {0};
  const ep_status st = cross(&work, G, A, B);
  ep_work_free(&work);
  return st;
}

/* ---- singular values */

/* A (d x m) = rows first .. first + m - 1, one a column */
static void get_columns(const ep_mat *A, const ep_mat *block, const ep_tall *rows,
                        ptrdiff_t first) {
  for (ptrdiff_t k = 0; k < A->cols; k += EP_TALL_BLOCK) {
    const ptrdiff_t m = A->cols - k < EP_TALL_BLOCK ? A->cols - k : EP_TALL_BLOCK;
    const ep_mat part = ep_mat_rows(block, 0, m);
    ep_tall_get(&part, rows, first + k);
    for (ptrdiff_t j = 0; j < A->rows; j++)
      for (ptrdiff_t i = 0; i < m; i++) *ep_d(A, j, k + i) = *ep_d(&part, i, j);
  }
}

/* L of the rows so far, and a block of rows beside it, as columns -> L of both */
static ep_status triangle(ep_work *work, const ep_mat *R, const ep_tall *rows, ptrdiff_t step) {
  const ptrdiff_t d = rows->X->cols, n = rows->count;
  ep_mat A, block;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, d, d + step));
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, EP_TALL_BLOCK, d));
  for (ptrdiff_t i = 0; i < n; i += step) {
    const ptrdiff_t m = n - i < step ? n - i : step;
    const ep_mat beside = ep_mat_cols(&A, d, m), both = ep_mat_cols(&A, 0, d + m);
    EP_TRY(ep_run_step("ranks", (double)i, (double)n));
    get_columns(&beside, &block, rows, i);
    EP_TRY(ep_mat_triangle(&both));
  }
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(R, i, j) = *ep_d(&A, j, i);
  return EP_OK;
}

ep_status ep_tall_factor(ep_mat *F, ep_work *work, const ep_tall *rows) {
  const ptrdiff_t d = rows->X->cols, n = rows->count;
  const ptrdiff_t step = 2 * d > EP_TALL_BLOCK ? 2 * d : EP_TALL_BLOCK;
  EP_TRY(ep_work_mat(work, F, EP_DOUBLE, n <= step ? n : d, d));
  if (n <= step) {
    ep_tall_get(F, rows, 0);
    return EP_OK;
  }
  ep_work own = {0};
  const ep_status st = triangle(&own, F, rows, step);
  ep_work_free(&own);
  return st;
}

ep_status ep_tall_singular(double *sigma, const ep_tall *rows) {
  ep_work work = {0};
  ep_mat F;
  ep_status st = ep_tall_factor(&F, &work, rows);
  if (!st) st = ep_mat_svd(NULL, sigma, NULL, &F);
  ep_work_free(&work);
  return st;
}
