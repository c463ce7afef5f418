/* The only door to LAPACK. Factorisations of less than a thousand rows run on one thread, where they are steady; larger ones
 * on the threads of the caller, one at a time in a process: OpenBLAS has one thread count for all. */
#include "core/products.h"

#include <assert.h>
#include <eigenpair/matrix.h>
#include <lapacke.h>
#include <limits.h>
#include <pthread.h>

enum {
  LARGE = 1024
}; /* two threads gain a fifth at 784 rows alone, and lose a factor of four beside other work */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* The threads of a factorisation of n rows: begin gives what end takes. */
static int begin(ptrdiff_t n) {
  if (n < LARGE) return ep_solo_begin();
  pthread_mutex_lock(&one_at_a_time);
  return 0;
}

static void end(int threads) {
  if (threads) ep_solo_end(threads);
  else pthread_mutex_unlock(&one_at_a_time);
}

ep_status ep_mat_eig_sym(const ep_mat *A, double *lambda) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  if (A->rows == 0) return EP_OK;
  /* row-major A read as column-major is A' = A, so eigenvectors come back as rows */
  const int threads = begin(A->rows);
  const int info =
      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', (int)A->rows, A->data, (int)A->ld, lambda);
  end(threads);
  EP_CHECK(info >= 0, EP_ERR_NUMERIC,
           "a matrix of order %td has entries that are not finite: the data are too large; scale "
           "them, or --precision double",
           A->rows); /* LAPACKE has looked */
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "symmetric eigenproblem of order %td: dsyevd info %d",
           A->rows, info);
  return EP_OK;
}

/* A = Q R, then signs: D = diag(sign R_jj), Q <- Q D, R <- D R. Row-major A read as column-major is A' = L Q', R = L'. */
static ep_status qr(ep_work *work, const ep_mat *A, const ep_mat *R) {
  const int m = (int)A->rows, n = (int)A->cols, ld = (int)A->ld;
  double *tau;
  EP_TRY(ep_work_get(work, &tau, n, sizeof *tau));
  int info = LAPACKE_dgelqf(LAPACK_COL_MAJOR, n, m, A->data, ld, tau);
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dgelqf info %d", info);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(R, i, j) = j >= i ? *ep_d(A, i, j) : 0;
  info = LAPACKE_dorglq(LAPACK_COL_MAJOR, n, m, n, A->data, ld, tau);
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dorglq info %d", info);
  for (ptrdiff_t j = 0; j < n; j++) {
    if (*ep_d(R, j, j) >= 0) continue;
    for (ptrdiff_t k = j; k < n; k++) *ep_d(R, j, k) *= -1;
    for (ptrdiff_t i = 0; i < m; i++) *ep_d(A, i, j) *= -1;
  }
  return EP_OK;
}

ep_status ep_mat_qr(const ep_mat *A, const ep_mat *R) {
  assert(A->prec == EP_DOUBLE && R->prec == EP_DOUBLE && A->rows >= A->cols);
  assert(R->rows == A->cols && R->cols == A->cols);
  ep_work work = {0};
  const int threads = begin(A->cols);
  const ep_status st = qr(&work, A, R);
  end(threads);
  ep_work_free(&work);
  return st;
}

/* row-major A read as column-major is A' = Q R, and L = R' */
static ep_status triangle(ep_work *work, const ep_mat *A) {
  const int m = (int)A->cols, n = (int)A->rows, ld = (int)A->ld;
  double *tau, *scratch, size;
  EP_TRY(ep_work_get(work, &tau, n, sizeof *tau));
  int info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, m, n, A->data, ld, tau, &size, -1);
  if (!info) {
    EP_TRY(ep_work_get(work, &scratch, (ptrdiff_t)size, sizeof *scratch));
    info = LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, m, n, A->data, ld, tau, scratch, (int)size);
  }
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dgeqrf info %d", info);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = i + 1; j < n; j++) *ep_d(A, i, j) = 0;
  return EP_OK;
}

ep_status ep_mat_triangle(const ep_mat *A) {
  assert(A->prec == EP_DOUBLE && A->cols >= A->rows && A->rows <= INT_MAX && A->ld <= INT_MAX);
  if (A->rows == 0) return EP_OK;
  ep_work work = {0};
  const int threads = begin(A->rows);
  const ep_status st = triangle(&work, A);
  end(threads);
  ep_work_free(&work);
  return st;
}

/* A' = V S U' column-major: LAPACK's left vectors are the rows of Vt, its right ones the columns of U */
static ep_status svd(ep_work *work, const ep_mat *U, double *sigma, const ep_mat *Vt,
                     const ep_mat *A) {
  const int m = (int)A->rows, n = (int)A->cols, ld = (int)A->ld, k = m < n ? m : n;
  const char job = U ? 'S' : 'N';
  double none = 0, size, *scratch, *left = U ? Vt->data : &none, *right = U ? U->data : &none;
  const int ld_left = U ? (int)Vt->ld : n, ld_right = U ? (int)U->ld : k;
  lapack_int *iwork;
  EP_TRY(ep_work_get(work, &iwork, 8 * (ptrdiff_t)k, sizeof *iwork));
  int info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, n, m, A->data, ld, sigma, left, ld_left,
                                 right, ld_right, &size, -1, iwork);
  EP_CHECK(info || size < INT_MAX, EP_ERR_ARG, "singular values of %d x %d: too large", m, n);
  if (!info) {
    EP_TRY(ep_work_get(work, &scratch, (ptrdiff_t)size, sizeof *scratch));
    info = LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, job, n, m, A->data, ld, sigma, left, ld_left,
                               right, ld_right, scratch, (int)size, iwork);
  }
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "singular values of %d x %d: dgesdd info %d", m, n, info);
  return EP_OK;
}

ep_status ep_mat_svd(const ep_mat *U, double *sigma, const ep_mat *Vt, const ep_mat *A) {
  const ptrdiff_t k = A->rows < A->cols ? A->rows : A->cols;
  assert(A->prec == EP_DOUBLE && A->rows <= INT_MAX && A->ld <= INT_MAX && !U == !Vt);
  assert(!U || (U->prec == EP_DOUBLE && U->rows == A->rows && U->cols == k));
  assert(!Vt || (Vt->prec == EP_DOUBLE && Vt->rows == k && Vt->cols == A->cols));
  if (k == 0) return EP_OK;
  ep_work work = {0};
  const int threads = begin(k);
  const ep_status st = svd(&work, U, sigma, Vt, A);
  end(threads);
  ep_work_free(&work);
  return st;
}

ep_status ep_mat_cholesky(const ep_mat *A) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  /* the lower triangle of row-major A is the upper one of column-major A' = A, and A = U'U with U = L' */
  const int threads = begin(A->rows);
  const int info = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', (int)A->rows, A->data, (int)A->ld);
  end(threads);
  EP_CHECK(info == 0, EP_ERR_NUMERIC,
           "a matrix of order %td is not positive definite (dpotrf info %d)", A->rows, info);
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = i + 1; j < A->cols; j++) *ep_d(A, i, j) = 0;
  return EP_OK;
}

/* column-major upper U of A = U'U is row-major lower L */
static ep_status pivoted(ep_work *work, const ep_mat *A, ptrdiff_t *pivot, ptrdiff_t *rank,
                         double tolerance) {
  const ptrdiff_t n = A->rows;
  lapack_int *order, r = 0;
  double *scratch, top = 0;
  EP_TRY(ep_work_get(work, &order, n, sizeof *order));
  EP_TRY(ep_work_get(work, &scratch, 2 * n, sizeof *scratch));
  for (ptrdiff_t i = 0; i < n; i++) top = *ep_d(A, i, i) > top ? *ep_d(A, i, i) : top;
  const int info =
      LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)n, A->data, (lapack_int)A->ld, order,
                          &r, tolerance > 0 ? tolerance * top : -1, scratch);
  EP_CHECK(info >= 0, EP_ERR_NUMERIC, "dpstrf info %d", info);
  *rank = top > 0 ? r : 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    pivot[i] = order[i] - 1;
    for (ptrdiff_t j = i + 1 < *rank ? i + 1 : *rank; j < n; j++) *ep_d(A, i, j) = 0;
  }
  return EP_OK;
}

ep_status ep_mat_cholesky_pivoted(const ep_mat *A, ptrdiff_t *pivot, ptrdiff_t *rank,
                                  double tolerance) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  ep_work work = {0};
  *rank = 0;
  const int threads = begin(A->cols);
  const ep_status st = pivoted(&work, A, pivot, rank, tolerance);
  end(threads);
  ep_work_free(&work);
  return st;
}
