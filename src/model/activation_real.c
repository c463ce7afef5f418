/* Rows go through in chunks of one cache line, the last one filled up: every entry passes the same vector code. */
#include "model/activation_loops.h"

#include "core/functions.h"

#include <stdbool.h>

enum { CHUNK = 64 / sizeof(real) };

/* a^k by repeated multiplication; k is a small whole number */
static inline real power(real a, int k) {
  real x = 1;
  for (int i = 0; i < k; i++) x *= a;
  return x;
}

static bool any_far(const real *x) {
  int far = 0;
  for (int i = 0; i < CHUNK; i++) far |= !(fabs((double)x[i]) <= FN_FAR);
  return far;
}

typedef void chunk(real *value, real *slope, const real *x, real p);

/* slope NULL: there is one output */
static inline __attribute__((always_inline)) void by_chunks(real *value, real *slope, const real *x,
                                                            ptrdiff_t n, real p, chunk *f) {
  ptrdiff_t i = 0;
  for (; i + CHUNK <= n; i += CHUNK) f(value + i, slope ? slope + i : NULL, x + i, p);
  if (i == n) return;
  real in[CHUNK] = {0}, one[CHUNK], two[CHUNK];
  const size_t bytes = (size_t)(n - i) * sizeof(real);
  memcpy(in, x + i, bytes);
  f(one, two, in, p);
  memcpy(value + i, one, bytes);
  if (slope) memcpy(slope + i, two, bytes);
}

/* `far`: a is an argument of sin or cos for the C library */
#define EACH(is_far, ...)           \
  for (int i = 0; i < CHUNK; i++) { \
    const real a = x[i];            \
    const bool far = is_far;        \
    (void)a, (void)far;             \
    __VA_ARGS__;                    \
  }
#define VECTOR(...) _Pragma("omp simd") EACH(false, __VA_ARGS__)
#define WAVE(...)                                   \
  if (any_far(x)) {                                 \
    EACH(!(fabs((double)a) <= FN_FAR), __VA_ARGS__) \
  } else {                                          \
    VECTOR(__VA_ARGS__)                             \
  }
#define ONE(LOOP, function, expression)                                        \
  static void function##_chunk(real *y, real *unused, const real *x, real p) { \
    (void)unused, (void)p;                                                     \
    LOOP(y[i] = (real)(expression))                                            \
  }                                                                            \
  void R(function)(void *out, const void *in, ptrdiff_t n, double p) {         \
    by_chunks(out, NULL, in, n, (real)p, function##_chunk);                    \
  }
#define BOTH(LOOP, function, first, second)                                           \
  static void function##_chunk(real *y, real *z, const real *x, real p) {             \
    (void)p;                                                                          \
    LOOP(y[i] = (real)(first); z[i] = (real)(second))                                 \
  }                                                                                   \
  void R(function)(void *value, void *slope, const void *in, ptrdiff_t n, double p) { \
    by_chunks(value, slope, in, n, (real)p, function##_chunk);                        \
  }
#define ROW(LOOP, name, DEGREE, JUMP, MIRRORED, def, lo, hi, L, B, value, slope, curve) \
  ONE(LOOP, ep_act_value_##name, value)                                                 \
  ONE(LOOP, ep_act_slope_##name, slope)                                                 \
  ONE(LOOP, ep_act_curve_##name, curve)                                                 \
  BOTH(LOOP, ep_act_both_##name, value, slope)
#define X(...) ROW(VECTOR, __VA_ARGS__)
#define W(...) ROW(WAVE, __VA_ARGS__)
EP_ACTIVATIONS(X, W)
