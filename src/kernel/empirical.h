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
/* K[y, x, j, i] = K[x, y, i, j] for y > x, ys[0] <= y < ys[1], xs[0] <= x < xs[1] */
EP_REAL_FN(void, ep_ntk_mirror, const ep_mat *K, const ptrdiff_t ys[2], const ptrdiff_t xs[2],
           ptrdiff_t rows, ptrdiff_t cols);
/* F[x, i] = sum_{y, j} K[x, y, i, j] Y[y, j] */
EP_REAL_FN(void, ep_ntk_full_apply, const ep_mat *F, const ep_mat *K, const ep_mat *Y);
/* P[y, m] = s[m] S[y, m] */
EP_REAL_FN(void, ep_ntk_row_products, const ep_mat *P, const ep_mat *s, const ep_mat *S);
/* K[y, i, j] and K[y, j, i] += c h[y] T[y, ij], one row of K; ij counts the pairs i <= j */
EP_REAL_FN(void, ep_ntk_add_pairs, const ep_mat *K, double c, const ep_mat *h, const ep_mat *T,
           ptrdiff_t z);
/* Wt = W', and rows of WW: w_i . w_j for i <= j (Z(Z+1)/2 rows), w_i . w_i (Z rows), or their mean (1 row) */
EP_REAL_FN(void, ep_ntk_products_of_w, const ep_mat *Wt, const ep_mat *WW, const ep_mat *W);
