#pragma once
#include <eigenpair/objective.h>

const char *ep_alpha_name(int i); /* NULL past the last */

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
