#pragma once
#include <stddef.h>

/* a'b, summed in order */
static inline double ep_dot(const double *a, const double *b, ptrdiff_t n) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}
