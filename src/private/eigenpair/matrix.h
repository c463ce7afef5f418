#pragma once
#include "../../../include/eigenpair/matrix.h"

double ep_mat_norm2(const ep_mat *A);                         /* sum of squares, in double */
double ep_mat_distance2(const ep_mat *A, const ep_mat *B);    /* |A - B|_F^2, in double */
double ep_mat_max(const ep_mat *A);                           /* max |a_ij|; NaN if any entry is */
void ep_mat_axpy(const ep_mat *Y, double a, const ep_mat *X); /* Y += a X */

/* y = alpha op(A) x + beta y; x and y in the precision of A. */
void ep_mat_vec(void *y, double alpha, const ep_mat *A, ep_trans ta, const void *x, double beta);

/* C = A B' for a B of few rows: A is read once, where it stands (BLAS would pack it first). */
void ep_mat_mul_skinny(const ep_mat *C, const ep_mat *A, const ep_mat *B);

/* G = alpha A A' + beta G, all of it, exactly symmetric (half the work of a product). */
void ep_mat_gram(const ep_mat *G, double alpha, const ep_mat *A, double beta);

/* Upper triangle of G = alpha A'A + beta G: sums over blocks of rows first, and the mirror once at the end. */
void ep_mat_gram_cols(const ep_mat *G, double alpha, const ep_mat *A, double beta);
void ep_mat_mirror(const ep_mat *G);     /* lower triangle = upper triangle */
void ep_mat_symmetrise(const ep_mat *A); /* A <- (A + A') / 2 */

/* A (symmetric, double) -> its rows are eigenvectors; lambda ascending. */
ep_status ep_mat_eig_sym(const ep_mat *A, double *lambda);
/* A (m x n, double, m >= n) -> Q with orthonormal columns in place, R (n x n) upper triangular with
 * a non-negative diagonal. */
ep_status ep_mat_qr(const ep_mat *A, const ep_mat *R);
/* A (n x m, double, m >= n) -> its first n columns become L, lower triangular with LL' = AA'; the others are scratch.
 * A QR factorisation of A' without Q, whose columns are contiguous: twice as fast as one of rows. */
ep_status ep_mat_triangle(const ep_mat *A);
/* A (m x n, double) = U diag(sigma) Vt, sigma falling, k = min(m, n) of them; U (m x k), Vt (k x n). A is scratch
 * afterwards. U and Vt may both be NULL: values only. */
ep_status ep_mat_svd(const ep_mat *U, double *sigma, const ep_mat *Vt, const ep_mat *A);

/* A (symmetric positive definite, double) -> its lower Cholesky factor L, A = LL'; zeros above. */
ep_status ep_mat_cholesky(const ep_mat *A);
/* A (symmetric positive semidefinite, double) -> lower trapezoidal L (n x rank, in the first columns of A; zeros
 * elsewhere) with A[pivot_i, pivot_j] = (LL')_ij. Rank: pivots above `tolerance` times the largest diagonal entry;
 * 0: n times the rounding unit. */
ep_status ep_mat_cholesky_pivoted(const ep_mat *A, ptrdiff_t *pivot, ptrdiff_t *rank,
                                  double tolerance);
/* B <- L^{-1} B, or L'^{-1} B with EP_T; L lower triangular, double. */
void ep_mat_solve_triangular(const ep_mat *B, const ep_mat *L, ep_trans t);

/* B <- B L'^{-1}: every row b becomes L^{-1} b. */
void ep_mat_solve_rows(const ep_mat *B, const ep_mat *L);

/* B <- B L, L lower triangular. */
void ep_mat_mul_triangular(const ep_mat *B, const ep_mat *L);

/* Scratch of one public call: grows, and is released as a whole. */
typedef struct ep_work_block ep_work_block;
typedef struct {
  ep_work_block *head;
} ep_work;
ep_status ep_work_mat(ep_work *work, ep_mat *out, ep_precision prec, ptrdiff_t rows,
                      ptrdiff_t cols);
ep_status ep_work_get(ep_work *work, void *out, ptrdiff_t count, size_t size); /* out: T ** */
void ep_work_free(ep_work *work);
