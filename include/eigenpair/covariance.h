#pragma once
/* Contrastive covariance (OPTIMA eq. 3). Theory: section 9. Rows a_i, b_i of first views, a'_i, b'_i of second ones,
 * weights alpha (N x N) that say how much a pair (i, j) counts:
 *
 *   C_alpha[a,b] = 1/(2N^2) sum_ij alpha_ij [ (a_i-a_j)(b_i-b_j)' - (a_i-a'_i)(b_i-b'_i)' ]
 *                = 1/(2N^2) [ a'L b - (a-a')' D_r (b-b') ],   L = D_r + D_c - alpha - alpha',
 *
 * D_r and D_c the row and column sums of alpha. L is never formed, and alpha only some rows at a time:
 *   uniform                     O(N k)      memory and time, k the columns L is applied to
 *   gaussian, infonce, f in R   O(N k)      by sums over the line (objective/gauss.c)
 *   any other                   O(N^2 k)    as products of blocks, O(N) memory beside the operands. */
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>

EP_BEGIN

/* uniform          1                                              quadratic loss
 * gaussian:TAU     exp(-|f_i-f_j|^2 / (2 tau)), f of the points before augmentation
 * infonce:TAU[,E]  e^{-d_ij/tau} / (E e^{-d_i/tau} + sum_{k != i} e^{-d_ik/tau}), d_ij = |f_i-f_j|^2/2 of first views,
 *                  d_i = |f_i-f'_i|^2/2 of the two views of i; 0 for j = i
 * triplet:MARGIN   1 where d_i - d_ij + margin > 0, j != i
 * given            a matrix */
typedef enum {
  EP_ALPHA_UNIFORM,
  EP_ALPHA_GAUSSIAN,
  EP_ALPHA_INFONCE,
  EP_ALPHA_TRIPLET,
  EP_ALPHA_GIVEN
} ep_alpha_kind;
const char *ep_alpha_name(int i); /* NULL past the last */

#define EP_ALPHA_OPTIONS(X, S)                                                      \
  X(S, NAME, weights, "uniform", 0, 1, ep_alpha_name,                               \
    "of pairs in the contrastive covariance: gaussian:TAU, infonce:TAU[,EPSILON], " \
    "triplet:MARGIN")                                                               \
  X(S, TEXT, alpha, "", 0, 0, NULL, "contrastive covariance: N x N matrix for --weights given")

typedef struct {
  ep_alpha_kind kind;
  double tau;     /* of gaussian and infonce; margin of triplet */
  double epsilon; /* of infonce; default 0 */
  ep_mat given;   /* (N, N) double; owned where ep_alpha_load read it */
  /* (1, N) how often a point counts, mean 1: alpha_ij is then m_i m_j times the above, and infonce's sum over k has m_k
   * and k = i, as if there were many copies of each point (and no E). data NULL: once each. Owned. */
  ep_mat mass;
} ep_alpha;

/* `weights` and, for "given", the matrix in the file `path`. */
ep_status ep_alpha_load(ep_alpha *out, const char *weights, const char *path);
void ep_alpha_free(ep_alpha *alpha);
/* Are they made from the first views (infonce, triplet), not from the points before augmentation? */
bool ep_alpha_of_views(const ep_alpha *alpha);
/* Is alpha 1 for every pair, and every point there once? */
bool ep_alpha_is_plain(const ep_alpha *alpha);
/* A given matrix has to be N x N, masses N; other weights need two points. */
ep_status ep_alpha_check(const ep_alpha *alpha, ptrdiff_t points);
/* Bytes of scratch ep_alpha_apply takes at most, for features in R^m and k columns. */
double ep_alpha_memory(const ep_alpha *alpha, ptrdiff_t points, ptrdiff_t m, ptrdiff_t k);

/* LB (N x k) = L B, r[i] = sum_j alpha_ij, c[i] = sum_j alpha_ji, with alpha made from the features F (N x m), and F2 of second views (NULL:
 * there are none, d_i = 0). All double. LB may not be B. r and c may be NULL. */
ep_status ep_alpha_apply(const ep_mat *LB, double *r, double *c, const ep_alpha *alpha,
                         const ep_mat *F, const ep_mat *F2, const ep_mat *B);
/* One row of alpha, as it stands in the definition: out[j] = alpha_ij. */
void ep_alpha_row(double *out, const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2,
                  ptrdiff_t i);

/* C (p x q) = C_alpha[a, b]; a2 and b2 NULL: no augmentation. */
ep_status ep_covariance(const ep_mat *C, const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2,
                        const ep_mat *a, const ep_mat *a2, const ep_mat *b, const ep_mat *b2);

/* *energy = tr C_alpha[f], and dF, dF2 (NULL: not wanted) its gradient with alpha held constant. F2 NULL: no
 * augmentation. */
ep_status ep_covariance_energy(double *energy, const ep_mat *dF, const ep_mat *dF2,
                               const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2);

EP_END
