#pragma once
/* Loops of empirical.c. Rows of B are i-major: row i n + x belongs to output i and point x. */
#include "core/real.h"

/* B[i, x, m] = c Wt[i, m] S[x, m] */
EP_REAL_FN(void, ep_ntk_top, const ep_mat *B, double c, const ep_mat *Wt, const ep_mat *S);
/* B[i, x, m] *= S[x, m] */
EP_REAL_FN(void, ep_ntk_mask, const ep_mat *B, const ep_mat *S);
/* K[x, y, i, j] += c H[x, y] T[i, x, j, y];  K: rows x0.., a block of points y0.. of rows of n2 z^2 */
EP_REAL_FN(void, ep_ntk_add_full, const ep_mat *K, double c, const ep_mat *H, const ep_mat *T,
           ptrdiff_t z);
/* K[x, y, i] += c H[x, y] T[x, y] */
EP_REAL_FN(void, ep_ntk_add_one, const ep_mat *K, double c, const ep_mat *H, const ep_mat *T,
           ptrdiff_t z, ptrdiff_t i);
/* K[x, y, e] += c H[x, y] for the entries e of a pair that belong to i = j */
EP_REAL_FN(void, ep_ntk_add_last, const ep_mat *K, double c, const ep_mat *H, ptrdiff_t entries,
           ptrdiff_t step);
/* K[y, x, j, i] = K[x, y, i, j] for y > x */
EP_REAL_FN(void, ep_ntk_mirror, const ep_mat *K, ptrdiff_t rows, ptrdiff_t cols);
/* F[x, i] = sum_{y, j} K[x, y, i, j] Y[y, j] */
EP_REAL_FN(void, ep_ntk_full_apply, const ep_mat *F, const ep_mat *K, const ep_mat *Y);
