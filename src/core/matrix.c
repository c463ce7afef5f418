/* The only door to BLAS and LAPACK. */
#include "core/loops.h"
#include "core/mem.h"

#include <assert.h>
#include <cblas.h>
#include <eigenpair/matrix.h>
#include <lapacke.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

struct ep_work_block {
  ep_work_block *next;
};

ep_mat ep_mat_view(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols, void *data) {
  return (ep_mat){.rows = rows, .cols = cols, .ld = cols, .prec = prec, .data = data};
}

static void *address(const ep_mat *A, ptrdiff_t i, ptrdiff_t j) {
  return A->prec == EP_SINGLE ? (void *)ep_s(A, i, j) : (void *)ep_d(A, i, j);
}

ep_mat ep_mat_rows(const ep_mat *A, ptrdiff_t first, ptrdiff_t count) {
  ep_mat B = *A;
  B.rows = count;
  B.data = address(A, first, 0);
  return B;
}

ep_mat ep_mat_cols(const ep_mat *A, ptrdiff_t first, ptrdiff_t count) {
  ep_mat B = *A;
  B.cols = count;
  B.data = address(A, 0, first);
  return B;
}

static int fits(ptrdiff_t rows, ptrdiff_t cols) {
  return rows >= 0 && cols >= 0 && (cols == 0 || rows < PTRDIFF_MAX / 16 / cols);
}

ep_status ep_mat_new(ep_mat *out, ep_precision prec, ptrdiff_t rows, ptrdiff_t cols) {
  *out = (ep_mat){.prec = prec};
  EP_CHECK(fits(rows, cols), EP_ERR_ARG, "a matrix of %td x %td is too large", rows, cols);
  void *data = ep_alloc(rows * cols, ep_sizeof(prec));
  EP_CHECK(data, EP_ERR_NOMEM, "no memory for a matrix of %td x %td", rows, cols);
  *out = ep_mat_view(prec, rows, cols, data);
  return EP_OK;
}

void ep_mat_free(ep_mat *A) {
  ep_release(A->data);
  *A = (ep_mat){.prec = A->prec};
}

void ep_mat_copy(const ep_mat *to, const ep_mat *from) {
  assert(to->rows == from->rows && to->cols == from->cols);
  EP_PICK(to->prec, ep_loop_copy_from)(to, from);
}

void ep_mat_fill(const ep_mat *A, double x) { EP_PICK(A->prec, ep_loop_fill)(A, x); }
double ep_mat_norm2(const ep_mat *A) { return EP_PICK(A->prec, ep_loop_norm2)(A); }
double ep_mat_max(const ep_mat *A) { return EP_PICK(A->prec, ep_loop_max)(A); }

double ep_mat_distance2(const ep_mat *A, const ep_mat *B) {
  assert(A->prec == B->prec && A->rows == B->rows && A->cols == B->cols);
  return EP_PICK(A->prec, ep_loop_distance2)(A, B);
}

void ep_mat_axpy(const ep_mat *Y, double a, const ep_mat *X) {
  assert(X->prec == Y->prec && X->rows == Y->rows && X->cols == Y->cols);
  EP_PICK(Y->prec, ep_loop_axpy)(Y, a, X);
}

void ep_mat_mul(const ep_mat *C, double alpha, const ep_mat *A, ep_trans ta, const ep_mat *B,
                ep_trans tb, double beta) {
  const ptrdiff_t m = ta == EP_N ? A->rows : A->cols, k = ta == EP_N ? A->cols : A->rows;
  const ptrdiff_t n = tb == EP_N ? B->cols : B->rows;
  assert(C->rows == m && C->cols == n && (tb == EP_N ? B->rows : B->cols) == k);
  assert(A->prec == C->prec && B->prec == C->prec);
  assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX && A->ld <= INT_MAX);
  if (m == 0 || n == 0) return;
  const CBLAS_TRANSPOSE ca = ta == EP_N ? CblasNoTrans : CblasTrans;
  const CBLAS_TRANSPOSE cb = tb == EP_N ? CblasNoTrans : CblasTrans;
  const int lda = (int)(A->ld > 0 ? A->ld : 1), ldb = (int)(B->ld > 0 ? B->ld : 1);
  if (C->prec == EP_SINGLE)
    cblas_sgemm(CblasRowMajor, ca, cb, (int)m, (int)n, (int)k, (float)alpha, A->data, lda, B->data,
                ldb, (float)beta, C->data, (int)C->ld);
  else
    cblas_dgemm(CblasRowMajor, ca, cb, (int)m, (int)n, (int)k, alpha, A->data, lda, B->data, ldb,
                beta, C->data, (int)C->ld);
}

void ep_mat_vec(void *y, double alpha, const ep_mat *A, ep_trans ta, const void *x, double beta) {
  const CBLAS_TRANSPOSE ca = ta == EP_N ? CblasNoTrans : CblasTrans;
  const int m = (int)A->rows, n = (int)A->cols, lda = (int)(A->ld > 0 ? A->ld : 1);
  if ((ta == EP_N ? m : n) == 0) return;
  if (A->prec == EP_SINGLE)
    cblas_sgemv(CblasRowMajor, ca, m, n, (float)alpha, A->data, lda, x, 1, (float)beta, y, 1);
  else cblas_dgemv(CblasRowMajor, ca, m, n, alpha, A->data, lda, x, 1, beta, y, 1);
}

void ep_mat_mul_skinny(const ep_mat *C, const ep_mat *A, const ep_mat *B) {
  assert(C->rows == A->rows && C->cols == B->rows && A->cols == B->cols);
  assert(A->prec == C->prec && B->prec == C->prec);
  EP_PICK(C->prec, ep_loop_skinny)(C, A, B);
}

void ep_mat_gram(const ep_mat *G, double alpha, const ep_mat *A, double beta) {
  assert(G->rows == A->rows && G->cols == A->rows && G->prec == A->prec);
  const int n = (int)A->rows, k = (int)A->cols, lda = (int)A->ld, ldg = (int)G->ld;
  if (n == 0) return;
  if (G->prec == EP_SINGLE)
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, k, (float)alpha, A->data, lda,
                (float)beta, G->data, ldg);
  else
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, n, k, alpha, A->data, lda, beta, G->data,
                ldg);
  EP_PICK(G->prec, ep_loop_mirror)(G);
}

void ep_mat_symmetrise(const ep_mat *A) { EP_PICK(A->prec, ep_loop_symmetrise)(A); }
void ep_mat_mirror(const ep_mat *G) { EP_PICK(G->prec, ep_loop_mirror)(G); }

void ep_mat_gram_cols(const ep_mat *G, double alpha, const ep_mat *A, double beta) {
  assert(G->rows == A->cols && G->cols == A->cols && G->prec == A->prec);
  const int n = (int)A->cols, k = (int)A->rows, lda = (int)A->ld, ldg = (int)G->ld;
  if (n == 0) return;
  if (G->prec == EP_SINGLE)
    cblas_ssyrk(CblasRowMajor, CblasUpper, CblasTrans, n, k, (float)alpha, A->data, lda,
                (float)beta, G->data, ldg);
  else
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, k, alpha, A->data, lda, beta, G->data,
                ldg);
}

ep_status ep_mat_eig_sym(const ep_mat *A, double *lambda) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  if (A->rows == 0) return EP_OK;
  /* row-major A read as column-major is A' = A, so eigenvectors come back as rows */
  const int info =
      LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', (int)A->rows, A->data, (int)A->ld, lambda);
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
  const ep_status st = qr(&work, A, R);
  ep_work_free(&work);
  return st;
}

/* row-major A read as column-major is A': A' = L Q, so R = L' stands where A did */
static ep_status triangle(ep_work *work, const ep_mat *A) {
  const int m = (int)A->rows, n = (int)A->cols, ld = (int)A->ld;
  double *tau, *scratch, size;
  EP_TRY(ep_work_get(work, &tau, n, sizeof *tau));
  int info = LAPACKE_dgelqf_work(LAPACK_COL_MAJOR, n, m, A->data, ld, tau, &size, -1);
  if (!info) {
    EP_TRY(ep_work_get(work, &scratch, (ptrdiff_t)size, sizeof *scratch));
    info = LAPACKE_dgelqf_work(LAPACK_COL_MAJOR, n, m, A->data, ld, tau, scratch, (int)size);
  }
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dgelqf info %d", info);
  for (ptrdiff_t i = 1; i < n; i++)
    for (ptrdiff_t j = 0; j < i; j++) *ep_d(A, i, j) = 0;
  return EP_OK;
}

ep_status ep_mat_triangle(const ep_mat *A) {
  assert(A->prec == EP_DOUBLE && A->rows >= A->cols && A->rows <= INT_MAX && A->ld <= INT_MAX);
  if (A->cols == 0) return EP_OK;
  ep_work work = {0};
  const ep_status st = triangle(&work, A);
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
  const ep_status st = svd(&work, U, sigma, Vt, A);
  ep_work_free(&work);
  return st;
}

ep_status ep_mat_cholesky(const ep_mat *A) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  const int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)A->rows, A->data, (int)A->ld);
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
  const ep_status st = pivoted(&work, A, pivot, rank, tolerance);
  ep_work_free(&work);
  return st;
}

void ep_mat_solve_triangular(const ep_mat *B, const ep_mat *L, ep_trans t) {
  assert(L->rows == L->cols && L->rows == B->rows && L->prec == EP_DOUBLE && B->prec == EP_DOUBLE);
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, t == EP_T ? CblasTrans : CblasNoTrans,
              CblasNonUnit, (int)B->rows, (int)B->cols, 1, L->data, (int)L->ld, B->data,
              (int)B->ld);
}

void ep_mat_solve_rows(const ep_mat *B, const ep_mat *L) {
  assert(L->rows == L->cols && L->rows == B->cols && L->prec == EP_DOUBLE && B->prec == EP_DOUBLE);
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)B->rows,
              (int)B->cols, 1, L->data, (int)L->ld, B->data, (int)B->ld);
}

ep_status ep_work_get(ep_work *work, void *out, ptrdiff_t count, size_t size) {
  EP_CHECK(count >= 0 && (count == 0 || size < (size_t)PTRDIFF_MAX / 16 / (size_t)count),
           EP_ERR_ARG, "scratch of %td x %zu bytes is too large", count, size);
  const ptrdiff_t head = 64; /* keeps the alignment of ep_alloc */
  unsigned char *b = ep_alloc(head + count * (ptrdiff_t)size, 1);
  EP_CHECK(b, EP_ERR_NOMEM, "no memory for %td x %zu bytes of scratch", count, size);
  ep_work_block *block = (void *)b;
  block->next = work->head;
  work->head = block;
  void *data = b + head;
  memcpy(out, &data, sizeof data); /* all object pointers look alike here */
  return EP_OK;
}

ep_status ep_work_mat(ep_work *work, ep_mat *out, ep_precision prec, ptrdiff_t rows,
                      ptrdiff_t cols) {
  EP_CHECK(fits(rows, cols), EP_ERR_ARG, "a matrix of %td x %td is too large", rows, cols);
  void *data;
  EP_TRY(ep_work_get(work, &data, rows * cols, ep_sizeof(prec)));
  *out = ep_mat_view(prec, rows, cols, data);
  return EP_OK;
}

void ep_work_free(ep_work *work) {
  while (work->head) {
    ep_work_block *b = work->head;
    work->head = b->next;
    ep_release(b);
  }
}
