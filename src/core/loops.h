#pragma once
/* Element-wise loops of matrix.c. Sums are in double whatever the precision. */
#include "core/real.h"

EP_REAL_FN(double, ep_loop_norm2, const ep_mat *A);
EP_REAL_FN(double, ep_loop_distance2, const ep_mat *A, const ep_mat *B);
EP_REAL_FN(double, ep_loop_max, const ep_mat *A);
EP_REAL_FN(void, ep_loop_axpy, const ep_mat *Y, double a, const ep_mat *X);
EP_REAL_FN(void, ep_loop_fill, const ep_mat *A, double x);
EP_REAL_FN(void, ep_loop_copy_from, const ep_mat *to, const ep_mat *from); /* any `from` */
EP_REAL_FN(void, ep_loop_mirror, const ep_mat *G);     /* lower triangle = upper triangle */
EP_REAL_FN(void, ep_loop_symmetrise, const ep_mat *A); /* A <- (A + A') / 2 */
EP_REAL_FN(void, ep_loop_skinny, const ep_mat *C, const ep_mat *A, const ep_mat *B); /* C = A B' */
/* A_ij *= sum_z G_iz B_zj, for few z; serial */
EP_REAL_FN(void, ep_loop_times_product, const ep_mat *A, const ep_mat *G, const ep_mat *B);

/* ---- skinny_real.c: serial; equal columns of B give equal columns of C */
EP_REAL_FN(void, ep_skinny_mul, const ep_mat *C, double alpha, const ep_mat *A, const ep_mat *B,
           double beta); /* C = alpha A B + beta C */
EP_REAL_FN(void, ep_skinny_mul_t, const ep_mat *C, double alpha, const ep_mat *A, const ep_mat *B,
           double beta); /* C = alpha A'B + beta C */
