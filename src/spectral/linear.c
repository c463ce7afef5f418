/* The matrix C of a linear model, its eigenbasis, and what is read off in it. */
#include "core/crew.h"
#include "core/mem.h"

#include <eigenpair/eigen.h>
#include <eigenpair/linear.h>
#include <eigenpair/retraction.h>
#include <eigenpair/run.h>
#include <float.h>
#include <math.h>

/* ---- C */

enum { BLOCK = 512 }; /* anchors at a time */

/* y += a x */
static void add_row(double *y, double a, const ep_mat *X, ptrdiff_t i) {
  for (ptrdiff_t j = 0; j < X->cols; j++) y[j] += a * ep_get(X, i, j);
}

/* the sum of all views, anchors and first positives: every one is a negative of every other anchor */
static void sum_views(double *total, const ep_mat *X, const ep_pairs *pairs) {
  for (ptrdiff_t n = 0; n < pairs->anchors; n++) {
    add_row(total, 1, X, pairs->anchor[n]);
    add_row(total, 1, X, pairs->partner[pairs->start[n]]);
  }
}

/* y_n = sum_q a_q x_nq */
static void partners(double *y, const ep_mat *X, const ep_pairs *pairs, ptrdiff_t n,
                     const double *total) {
  for (ptrdiff_t j = 0; j < X->cols; j++) y[j] = 0;
  for (ptrdiff_t k = pairs->start[n]; k < pairs->start[n + 1]; k++)
    add_row(y, pairs->sign[k], X, pairs->partner[k]);
  if (!pairs->all_others) return;
  for (ptrdiff_t j = 0; j < X->cols; j++) y[j] -= total[j];
  add_row(y, 1, X, pairs->anchor[n]); /* its own views are no negatives */
  add_row(y, 1, X, pairs->partner[pairs->start[n]]);
}

typedef struct {
  const ep_mat *a, *y, *X;
  const ep_pairs *pairs;
  ptrdiff_t first; /* anchor of the block */
  const double *total;
} anchors_loop;

static void some_anchors(void *of, ptrdiff_t first, ptrdiff_t end) {
  const anchors_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat row = ep_mat_rows(l->a, i, 1),
                 from = ep_mat_rows(l->X, l->pairs->anchor[l->first + i], 1);
    ep_mat_copy(&row, &from);
    partners(ep_d(l->y, i, 0), l->X, l->pairs, l->first + i, l->total);
  }
}

/* T = sum_n x_n y_n', C -= weight (T + T')/2 */
static ep_status add(ep_work *work, const ep_mat *C, const ep_mat *X, const ep_pairs *pairs,
                     double weight) {
  const ptrdiff_t d = X->cols, N = pairs->anchors, block = N < BLOCK ? N : BLOCK;
  ep_mat T, A, Y;
  double *total;
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, block, d));
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, block, d));
  EP_TRY(ep_work_get(work, &total, d, sizeof *total));
  if (pairs->all_others) sum_views(total, X, pairs);
  for (ptrdiff_t first = 0; first < N; first += block) {
    const ptrdiff_t count = N - first < block ? N - first : block;
    const ep_mat a = ep_mat_rows(&A, 0, count), y = ep_mat_rows(&Y, 0, count);
    EP_TRY(ep_run_step("pairs", (double)first, (double)N));
    ep_crew_loop(count, 16, count * d > 10000, some_anchors,
                 &(anchors_loop){&a, &y, X, pairs, first, total});
    ep_mat_mul(&T, 1, &a, EP_T, &y, EP_N, 1);
  }
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      *ep_d(C, i, j) -= weight * (*ep_d(&T, i, j) + *ep_d(&T, j, i)) / 2;
  return EP_OK;
}

ep_status ep_linear_add(const ep_mat *C, const ep_mat *X, const ep_pairs *pairs, double weight) {
  EP_CHECK(C->rows == X->cols && C->cols == X->cols && C->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "C of points of dimension %td is not %td x %td", X->cols, C->rows, C->cols);
  EP_CHECK(pairs->points <= X->rows, EP_ERR_SHAPE, "pairs of %td points, but %td are there",
           pairs->points, X->rows);
  ep_work work = {0};
  const ep_status st = add(&work, C, X, pairs, weight);
  ep_work_free(&work);
  return st;
}

/* ---- its eigenbasis */

static ep_status check_symmetric(const ep_mat *C) {
  const double top = ep_mat_max(C);
  EP_CHECK(C->rows == C->cols && C->rows > 0 && C->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "C is %td x %td; it has to be square and in double", C->rows, C->cols);
  EP_CHECK(isfinite(top), EP_ERR_INPUT, "C has entries that are not finite");
  for (ptrdiff_t i = 0; i < C->rows; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      EP_CHECK(fabs(*ep_d(C, i, j) - *ep_d(C, j, i)) <= 1e-6 * top, EP_ERR_INPUT,
               "C is not symmetric: entries (%td, %td) are %.9g and %.9g", i, j, *ep_d(C, i, j),
               *ep_d(C, j, i));
  return EP_OK;
}

static ep_status decompose(ep_work *work, const ep_linear *l, const ep_mat *C) {
  const ptrdiff_t d = C->rows;
  ep_mat A; /* C, then rows of eigenvectors */
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, d, d));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(&A, i, j) = (*ep_d(C, i, j) + *ep_d(C, j, i)) / 2;
  EP_TRY(ep_mat_eig_sym(&A, l->lambda));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(&l->U, i, j) = *ep_d(&A, j, i);
  ep_eigen_signs(&l->U);
  return EP_OK;
}

ep_status ep_linear_new(ep_linear *out, const ep_mat *C) {
  *out = (ep_linear){0};
  EP_TRY(check_symmetric(C));
  out->lambda = ep_alloc(C->rows, sizeof *out->lambda);
  EP_CHECK(out->lambda, EP_ERR_NOMEM, "no memory for %td eigenvalues", C->rows);
  ep_work work = {0};
  ep_status st = ep_mat_new(&out->U, EP_DOUBLE, C->rows, C->rows);
  if (!st) st = decompose(&work, out, C);
  ep_work_free(&work);
  if (st) ep_linear_free(out);
  return st;
}

void ep_linear_free(ep_linear *l) {
  ep_mat_free(&l->U);
  ep_release(l->lambda);
  *l = (ep_linear){0};
}

ptrdiff_t ep_linear_negatives(const ep_linear *l) {
  const ptrdiff_t d = l->U.rows;
  const double zero = (double)d * DBL_EPSILON * fmax(fabs(l->lambda[0]), fabs(l->lambda[d - 1]));
  ptrdiff_t count = 0;
  while (count < d && l->lambda[count] < -zero) count++;
  return count;
}

/* ---- starts and embeddings */

ep_status ep_linear_start(const ep_mat *q, ptrdiff_t width, uint64_t seed) {
  EP_CHECK(width >= q->rows && width >= q->cols, EP_ERR_ARG,
           "a width of %td is less than the %td dimensions or the %td outputs: weights cannot be "
           "orthonormal",
           width, q->rows, q->cols);
  ep_mat W;
  EP_TRY(ep_mat_new(&W, EP_DOUBLE, width, q->cols));
  ep_random_fill_normal(&W, seed, EP_STREAM_START, 1);
  const ep_status st = ep_retract(&W, EP_RETRACT_QR);
  const ep_mat top = ep_mat_rows(&W, 0, q->rows);
  if (!st) ep_mat_copy(q, &top);
  ep_mat_free(&W);
  return st;
}

void ep_linear_weights(const ep_mat *B, const ep_linear *l, const ep_mat *q) {
  ep_mat_mul(B, 1, &l->U, EP_N, q, EP_N, 0);
}

/* in blocks of double: X may be single */
static ep_status embed(ep_work *work, const ep_mat *E, const ep_linear *l, const ep_mat *q,
                       const ep_mat *X) {
  const ptrdiff_t block = X->rows < BLOCK ? X->rows : BLOCK;
  ep_mat B, x, e;
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, q->rows, q->cols));
  EP_TRY(ep_work_mat(work, &x, EP_DOUBLE, block, X->cols));
  EP_TRY(ep_work_mat(work, &e, EP_DOUBLE, block, q->cols));
  ep_linear_weights(&B, l, q);
  for (ptrdiff_t first = 0; first < X->rows; first += block) {
    const ptrdiff_t count = X->rows - first < block ? X->rows - first : block;
    const ep_mat from = ep_mat_rows(X, first, count), to = ep_mat_rows(E, first, count);
    const ep_mat in = ep_mat_rows(&x, 0, count), out = ep_mat_rows(&e, 0, count);
    ep_mat_copy(&in, &from);
    ep_mat_mul(&out, 1, &in, EP_N, &B, EP_N, 0);
    ep_mat_copy(&to, &out);
  }
  return EP_OK;
}

ep_status ep_linear_embed(const ep_mat *E, const ep_linear *l, const ep_mat *q, const ep_mat *X) {
  EP_CHECK(X->cols == l->U.rows && q->rows == l->U.rows, EP_ERR_SHAPE,
           "the model takes points of dimension %td, the data have %td", l->U.rows, X->cols);
  ep_work work = {0};
  const ep_status st = embed(&work, E, l, q, X);
  ep_work_free(&work);
  return st;
}

/* ---- how far it is */

double ep_linear_loss(const ep_mat *q, const double *lambda) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < q->rows; i++) {
    const ep_mat row = ep_mat_rows(q, i, 1);
    sum += lambda[i] * ep_mat_norm2(&row);
  }
  return sum;
}

/* min Tr(q' Lam q), |q|_2 <= 1: the sum of the z most negative eigenvalues */
double ep_linear_optimum(const double *lambda, ptrdiff_t d, ptrdiff_t z) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < d && i < z && lambda[i] < 0; i++) sum += lambda[i];
  return sum;
}

/* q = P diag(sigma) R', or q' = R diag(sigma) P' where q is wide: P (d x k) either way */
static ep_status spectrum(double *sigma, double *projection, ptrdiff_t count, ep_work *work,
                          const ep_mat *q) {
  const bool tall = q->rows >= q->cols;
  const ptrdiff_t m = tall ? q->rows : q->cols, k = tall ? q->cols : q->rows;
  ep_mat A, U, Vt;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, m, k));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, m, k));
  EP_TRY(ep_work_mat(work, &Vt, EP_DOUBLE, k, k));
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < k; j++) *ep_d(&A, i, j) = tall ? *ep_d(q, i, j) : *ep_d(q, j, i);
  EP_TRY(ep_mat_svd(&U, sigma, &Vt, &A));
  for (ptrdiff_t i = 0; projection && i < count; i++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < k && sigma[j] > 1e-8; j++) {
      const double p = tall ? *ep_d(&U, i, j) : *ep_d(&Vt, j, i);
      sum += p * p;
    }
    projection[i] = sqrt(sum);
  }
  return EP_OK;
}

ep_status ep_linear_spectrum(double *sigma, double *projection, ptrdiff_t count, const ep_mat *q) {
  EP_CHECK(isfinite(ep_mat_max(q)), EP_ERR_NUMERIC, "q is not finite");
  ep_work work = {0};
  const ep_status st = spectrum(sigma, projection, count, &work, q);
  ep_work_free(&work);
  return st;
}
