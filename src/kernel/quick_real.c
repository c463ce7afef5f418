/* A layer of an analytic kernel, from gaps and Theta to those one layer on in one loop over a row: for kernels in single
 * precision, without hidden biases, where no pair of points is close. The formulas are those of dual_double.c. */
#include "kernel/quick.h"

#include <math.h>

#define PI ((real)3.14159265358979323846)

static inline real root_of(real x) {
  return sizeof x == sizeof(float) ? (real)sqrtf((float)x) : (real)sqrt((double)x);
}

/* atan(x)/x, 0 <= x <= 1, z = x^2; relative error 2e-9 */
static inline real arc(real z) {
  const real w = z * z;
  const real even = (((real)-0.00931730641 * w - (real)0.049295071) * w - (real)0.0893885729) * w;
  const real odd = (((real)0.00152672783 * w + (real)0.0266320502) * w + (real)0.0705189947) * w;
  const real low = (even - (real)0.142841429) * w - (real)0.333333331;
  const real high = (odd + (real)0.110896555) * w + (real)0.199999547;
  return 1 + z * (low + z * high);
}

void R(ep_quick_leaky)(void *theta_, void *gap_, const ep_quick *l, const ep_quick_points *y,
                       ptrdiff_t n) {
  real *restrict theta = theta_, *restrict gap = gap_;
  const real *root = y->root;
  const real p = (real)l->p, q = (1 - p) * (1 - p), norm = 1 + p * p, w = (real)l->w,
             b = (real)l->b, half = (real)l->root * norm / 2, turn = (real)l->tangent;
  const real per_angle = q / (PI * norm), per_gap = 2 * p / norm;
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) {
    const real g = gap[j], h = g < 1 ? g : 2 - g, z = h / (2 - h), x = root_of(z);
    const real acute = 2 * x * arc(z), t = g < 1 ? acute : PI - acute, sine = x * (2 - h);
    const real e = per_angle * ((PI - t) * g + (t - sine)) + per_gap * g;
    const real slope = q * (PI - t) / (2 * PI) + p;
    theta[j] = w * (half * root[j] * (1 - e) + turn * theta[j] * slope) + b;
    gap[j] = e > 0 ? e : 0;
  }
}

void R(ep_quick_erf)(void *theta_, void *gap_, const ep_quick *l, const ep_quick_points *y,
                     ptrdiff_t n) {
  real *restrict theta = theta_, *restrict gap = gap_;
  const real *root = y->root, *damp = y->damp, *over = y->over;
  const real d = (real)l->damp, d2 = d * d, both = 2 * d * (real)l->root, w = (real)l->w,
             b = (real)l->b, turn = (real)l->tangent * 4 / PI * d, one_over = (real)l->over;
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) {
    const real g = gap[j], c = 1 - g, e = damp[j], size = c < 0 ? -c : c;
    const real u = size * (both * (root[j] * e));
    const real v = root_of(g * (2 - g) + c * c * (d2 + e * e * (1 - d2)));
    const real large = u < v ? v : u, one = 1 / (v * large), over_v = large * one;
    const real x = u < v ? u * over_v : v * (v * one), t = x * arc(x * x);
    const real acute = 2 / PI * (u < v ? t : PI / 2 - t), S = c < 0 ? -acute : acute;
    const real next = 1 - one_over * over[j] * S;
    theta[j] = w * (S + theta[j] * (turn * e * over_v)) + b;
    gap[j] = next > 0 ? next : 0;
  }
}

/* a row at the start: gaps of the inputs, Theta = w |x||y| (1 - gap) */
void R(ep_quick_start)(void *theta_, void *gap_, const double *gap, double norm,
                       const double *norms, ptrdiff_t n) {
  real *restrict theta = theta_, *restrict to = gap_;
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) {
    to[j] = (real)gap[j];
    theta[j] = (real)(norm * norms[j] * (1 - gap[j]));
  }
}

void R(ep_quick_end)(double *K, const void *theta, ptrdiff_t n) {
  const real *from = theta;
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) K[j] = (double)from[j];
}
