#include "model/activation_loops.h"

#include <tgmath.h>

/* a^k by repeated multiplication; k is a small whole number */
static inline real power(real a, int k) {
  real x = 1;
  for (int i = 0; i < k; i++) x *= a;
  return x;
}

#define LOOP(function, expression)                                             \
  void R(function)(void *out, const void *in, ptrdiff_t n, double parameter) { \
    real *y = out;                                                             \
    const real *x = in;                                                        \
    const real p = (real)parameter;                                            \
    (void)p;                                                                   \
    _Pragma("omp simd") for (ptrdiff_t i = 0; i < n; i++) {                    \
      const real a = x[i];                                                     \
      (void)a;                                                                 \
      y[i] = (real)(expression);                                               \
    }                                                                          \
  }
#define X(name, def, lo, hi, L, B, value, slope, curve) \
  LOOP(ep_act_value_##name, value)                      \
  LOOP(ep_act_slope_##name, slope)                      \
  LOOP(ep_act_curve_##name, curve)
EP_ACTIVATIONS(X)
