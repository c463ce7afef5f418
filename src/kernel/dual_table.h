#pragma once
/* S and S' of a mixture of erf as a polynomial, for points whose variances lie close enough together:
 *
 *   S = c sum_abd V_abd T_a(rho_x) T_b(rho_y) T_d(1 - 2w),  S' = sum_abd D_abd T_a(rho_x) T_b(rho_y) T_d(1 - 2w),
 *
 * c the correlation, w = 1 - c^2, T Chebyshev polynomials, rho the logarithm of the variance scaled to [-1, 1]. Points of
 * equal norm need one a and b, those of single precision on the unit sphere two. */
#include "kernel/dual.h"

#include <eigenpair/matrix.h>

enum { EP_TABLE_MOST = 2048, EP_TABLE_NORMS = 24 }; /* norms * degree, norms */
/* of S and S', relative to those of equal points; a table is tried in a few places and must do a little better there */
#define EP_TABLE_ERROR 2e-14

struct ep_dual_table {
  int norms, degree; /* numbers of a (and of b), of d */
  double middle, half;
  double *value, *slope; /* V and D, (norms, norms, degree); memory of the call's scratch */
};

/* Table for variances from least to most (> 0) and about `entries` uses. Its degree is 0 where it would not pay, or not
 * be as accurate as what it stands for. */
ep_status ep_dual_table_new(ep_work *work, ep_dual_table *t, ep_dual_mixture_d_fn *exact,
                            double stretch, double least, double most, double entries);
/* T_0(x) .. T_{n-1}(x) */
static inline void ep_chebyshev(double T[], double x, int n) {
  for (int k = 0; k < n; k++) T[k] = k == 0 ? 1 : k == 1 ? x : 2 * x * T[k - 1] - T[k - 2];
}
/* Leaves out what adds less than `error`, relative to S and S' of equal points. */
void ep_dual_table_shorten(ep_dual_table *t, double error);
double ep_dual_table_rho(const ep_dual_table *t, double P);
/* dual_table_double.c */
EP_DOUBLE_FN(void, ep_dual_table_row, double *value, double *slope, const ep_dual_table *t,
             const double *gap, double rho_x, const double *rho_y, ptrdiff_t n);
