#pragma once
/* Fourier and Walsh transforms, for kernels that only depend on the difference of two points. */
#include <eigenpair/status.h>
#include <stddef.h>

/* In place: X_k = sum_j x_j e^{-2 pi i jk/n}, x_j = re[j] + i im[j]; any n >= 1, O(n log n). */
ep_status ep_fft(double *re, double *im, ptrdiff_t n);
/* In place: X_S = sum_i x_i (-1)^{number of common bits of i and S}; n a power of 2. */
void ep_walsh(double *x, ptrdiff_t n);
