#pragma once
#include <eigenpair/matrix.h>

/* S (n x k) = K V, K_ij = exp(-(g_i - g_j)^2 / (2 tau)), V (n x k): sums over the line in O(n k) to rounding. */
ep_status ep_gauss_sums(const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V, double tau);
