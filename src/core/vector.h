#pragma once
#include <stddef.h>

/* a'b, summed in order */
static inline double ep_dot(const double *a, const double *b, ptrdiff_t n) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

/* y += c x */
static inline void ep_add(double *y, double c, const double *x, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) y[j] += c * x[j];
}

static inline ptrdiff_t ep_least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
