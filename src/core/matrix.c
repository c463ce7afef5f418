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

/* A = Q R, then signs: D = diag(sign R_jj), Q <- Q D, R <- D R */
static ep_status qr(ep_work *work, const ep_mat *A, const ep_mat *R) {
  const int m = (int)A->rows, n = (int)A->cols, ld = (int)A->ld;
  double *tau;
  EP_TRY(ep_work_get(work, &tau, n, sizeof *tau));
  int info = LAPACKE_dgeqrf(LAPACK_ROW_MAJOR, m, n, A->data, ld, tau);
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dgeqrf info %d", info);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(R, i, j) = j >= i ? *ep_d(A, i, j) : 0;
  info = LAPACKE_dorgqr(LAPACK_ROW_MAJOR, m, n, n, A->data, ld, tau);
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "dorgqr info %d", info);
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

ep_status ep_mat_cholesky(const ep_mat *A) {
  assert(A->rows == A->cols && A->prec == EP_DOUBLE);
  const int info = LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (int)A->rows, A->data, (int)A->ld);
  EP_CHECK(info == 0, EP_ERR_NUMERIC,
           "a matrix of order %td is not positive definite (dpotrf info %d)", A->rows, info);
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = i + 1; j < A->cols; j++) *ep_d(A, i, j) = 0;
  return EP_OK;
}

void ep_mat_solve_triangular(const ep_mat *B, const ep_mat *L, ep_trans t) {
  assert(L->rows == L->cols && L->rows == B->rows && L->prec == EP_DOUBLE && B->prec == EP_DOUBLE);
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, t == EP_T ? CblasTrans : CblasNoTrans,
              CblasNonUnit, (int)B->rows, (int)B->cols, 1, L->data, (int)L->ld, B->data,
              (int)B->ld);
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
