#pragma once
/* Rows of a tall matrix of any precision, a block at a time in double: what statistics and probes read. */
#include <eigenpair/matrix.h>
#include <eigenpair/reader.h>

/* Row i is (x_r - shift) * scale with r = index[i]. index NULL: r = i; shift and scale NULL: x_r as it is. reader NULL: X is in
 * memory. */
typedef struct {
  const ep_mat *X;
  ptrdiff_t count;
  const ptrdiff_t *index;
  const double *shift, *scale; /* X->cols numbers; the caller's */
  ep_reader *reader;
} ep_tall;

enum {
  EP_TALL_BLOCK = 256
}; /* rows a block: with 64 columns they stay in the second-level cache */

ep_tall ep_tall_all(const ep_mat *X);
/* to (m x X->cols, double) = rows first .. first + m - 1 */
void ep_tall_get(const ep_mat *to, const ep_tall *rows, ptrdiff_t first);

/* Mean and standard deviation (divisor count) of every column. A column that is constant to the rounding of X's precision
 * has sd = 0 exactly. */
ep_status ep_tall_moments(double *mean, double *sd, const ep_tall *rows);
/* All rows of X less their mean; columns of sd = 0 become 0 exactly. The numbers it points to are work's. */
ep_status ep_tall_centred(ep_tall *out, ep_work *work, const ep_mat *X);
ep_status ep_tall_centre(ep_tall *rows, ep_work *work); /* the same of rows as they are */
double ep_tall_max(const ep_tall *rows,
                   const ep_mat *block); /* max |x|; block is scratch; NaN is kept */
/* RankMe and effective rank (eigenpair/subspace.h) and the covariance (d x d, divisor count), from what ep_tall_moments found:
 * the rows are read once. */
ep_status ep_tall_ranks(double *rankme, double *effective, const ep_mat *covariance,
                        const ep_tall *rows, const double *mean, const double *sd);
/* G (k x l, double) = sum_i a_i b_i' */
ep_status ep_tall_cross(const ep_mat *G, const ep_tall *A, const ep_tall *B);
/* F with F'F = sum_i x_i x_i', work's: the rows themselves where they are few, else a triangle by orthogonal transformations,
 * so that singular values are those of the rows. */
ep_status ep_tall_factor(ep_mat *F, ep_work *work, const ep_tall *rows);
/* Singular values of the matrix of all rows, falling; min(count, cols) of them. Its memory does not grow with count. */
ep_status ep_tall_singular(double *sigma, const ep_tall *rows);
