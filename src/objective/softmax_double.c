#include "core/functions.h"
#include "objective/softmax.h"

/* e_q = exp((s_q - top) / tau), top = max s, which is returned */
double R(ep_softmax_terms)(double *restrict e, const double *restrict s, ptrdiff_t count,
                           double tau) {
  double top = -INFINITY;
#pragma omp simd reduction(max : top)
  for (ptrdiff_t q = 0; q < count; q++) top = s[q] > top ? s[q] : top;
#pragma omp simd
  for (ptrdiff_t q = 0; q < count; q++) e[q] = fn_exp((s[q] - top) / tau);
  return top;
}
