#pragma once
/* Ranks and subspaces of representations. F, A, B are n x Z in any precision; all arithmetic is in double. */
#include <eigenpair/matrix.h>

/* Both ranks are exp of the entropy of shares p_k of the singular values of F; 0 where there is nothing to share.
 *
 * RankMe (Garrido et al.): p_k = sigma_k / sum sigma, F as it stands. That is the effective rank of Roy and
 * Vetterli: sensitive to weak directions, and to the mean, which is one of the directions.
 *
 * Effective rank here: p_k = sigma_k^2 / sum sigma^2, F centred: shares of variance on the principal axes. It asks in
 * how many directions the points differ, so it is the smaller one for a falling spectrum, and an offset does not
 * count. */
ep_status ep_rankme(double *rank, const ep_mat *F);
ep_status ep_effective_rank(double *rank, const ep_mat *F);

/* Principal angles between the column spans of A (n x k) and B (n x l), ascending, in radians, accurate to rounding also
 * where they are tiny (sines there, cosines elsewhere). Columns need not be orthonormal, nor independent: the spans'
 * dimensions are found, *count = min(rank A, rank B) <= min(k, l), and so many angles are written; the rest of
 * the min(k, l) numbers are NaN. */
ep_status ep_principal_angles(double *angle, ptrdiff_t *count, const ep_mat *A, const ep_mat *B);

/* Orthogonal Procrustes: O (k x k, double, O'O = I) minimises |A O - B|_F; A and B are n x k. */
typedef struct {
  double residual;     /* |A O - B|_F */
  double max, mean;    /* over rows: |O'a_i - b_i| / |b_i|; NaN if every b_i is 0 */
  ptrdiff_t zero_rows; /* with b_i = 0: left out of max and mean */
} ep_procrustes_info;
ep_status ep_procrustes(const ep_mat *O, ep_procrustes_info *info, const ep_mat *A,
                        const ep_mat *B);

/* Linear CKA of A (n x k) and B (n x l), both centred: |A'B|_F^2 / (|A'A|_F |B'B|_F), in [0, 1]; 0 if one of them is
 * constant. No n x n matrix is made. */
ep_status ep_cka(double *cka, const ep_mat *A, const ep_mat *B);
