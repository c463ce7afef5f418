/* Loops of analytic.c over a row of a tile: `real` is the precision of points, products and kernel, what is between them is
 * in double. */
#include "kernel/analytic.h"

#include <float.h>
#include <math.h>

ptrdiff_t R(ep_row_gaps)(double *gap, const void *products, double a, const double *b, ptrdiff_t n,
                         double close) {
  const real *p = products;
  ptrdiff_t count = 0;
#pragma omp simd reduction(+ : count)
  for (ptrdiff_t k = 0; k < n; k++) {
    const double g = 1 - a * b[k] * (double)p[k];
    gap[k] = g;
    count += !(g > close && g < 2 - close);
  }
  return count;
}

double R(ep_row_sum2)(const void *u, double a, const void *v, double b, ptrdiff_t n) {
  const real *x = u, *y = v;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t k = 0; k < n; k++) {
    const double e = a * (double)x[k] + b * (double)y[k];
    sum += e * e;
  }
  return sum;
}

long R(ep_row_store)(void *to, const double *from, ptrdiff_t n) {
  const double most = sizeof(real) == sizeof(float) ? FLT_MAX : DBL_MAX;
  real *t = to;
  long bad = 0;
#pragma omp simd reduction(+ : bad)
  for (ptrdiff_t k = 0; k < n; k++) {
    t[k] = (real)from[k];
    bad += !(fabs(from[k]) <= most);
  }
  return bad;
}

void R(ep_row_mirror)(void *to, ptrdiff_t ld, const double *from, ptrdiff_t step, ptrdiff_t rows,
                      ptrdiff_t cols) {
  for (ptrdiff_t k = 0; k < cols; k++)
    for (ptrdiff_t j = 0; j < rows; j++) ((real *)to)[k * ld + j] = (real)from[j * step + k];
}
