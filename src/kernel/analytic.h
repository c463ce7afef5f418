#pragma once
/* Loops over a row of a tile of an analytic kernel (analytic_real.c). */
#include "core/real.h"

/* gap_k = 1 - a b_k p_k of n products p; gives how many are within `close` of 0 or 2 */
EP_REAL_FN(ptrdiff_t, ep_row_gaps, double *gap, const void *products, double a, const double *b,
           ptrdiff_t n, double close);
/* |a u + b v|^2 of two points */
EP_REAL_FN(double, ep_row_sum2, const void *u, double a, const void *v, double b, ptrdiff_t n);
/* a row of the kernel; gives how many of its entries are no numbers there */
EP_REAL_FN(long, ep_row_store, void *to, const double *from, ptrdiff_t n);
/* to_kj = from_jk, k < cols, j < rows; rows of `from` are step apart, those of `to` ld */
EP_REAL_FN(void, ep_row_mirror, void *to, ptrdiff_t ld, const double *from, ptrdiff_t step,
           ptrdiff_t rows, ptrdiff_t cols);
