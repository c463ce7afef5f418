#pragma once
/* exp, tanh, sigmoid, softplus, erf, the normal distribution, sin and cos as straight code: a loop over them is vector code on every
 * compiler and processor. For files named *_real.c.
 *
 * Errors, held against the C library in tests/unit/test_functions.c: FN_ULPS units in the last place, twice that for
 * slopes and the normal distribution; what is below 100 times the smallest normal number may be 0. sin and cos: for
 * |x| <= FN_FAR, beyond that ask the C library. Coefficients are minimax fits (Remez) of the functions named beside
 * them. */
#include "core/real.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { FN_ULPS = 4 };

#define FN static inline __attribute__((always_inline))

FN real fn_quadratic(real z, real a, real b, real c) { return (c * z + b) * z + a; }
FN real fn_quartic(real z, real a, real b, real c, real d, real e) {
  return (((e * z + d) * z + c) * z + b) * z + a;
}

#ifdef EP_REAL_SINGLE
typedef uint32_t fn_bits;
enum { FN_FRACTION = 23 };
#define FN_HALF_BITS 0xfffff000u
#define FN_ONE       0x3f800000u
#define FN_MAGIC \
  12582912.f /* 1.5 2^23: adding it rounds to a whole number, kept in the last bits */
#define FN_LN2_HIGH  0.693115234375f
#define FN_LN2_LOW   3.1946184945309417e-05f
#define FN_QUARTER_1 1.57073974609375f
#define FN_QUARTER_2 5.657970905303955e-05f
#define FN_QUARTER_3 9.920935796805404e-10f
#define FN_FAR       500
#define FN_EXP_LOW   (-87.f)  /* exp of this is normal */
#define FN_EXP_LEAST (-104.f) /* 0 */
#define FN_EXP_MOST  89.f     /* infinite */
#define FN_EXP_HALF  100.f    /* powers of two beyond this are taken in two steps */
#define FN_MILLS     0.35f

/* (exp(r) - 1 - r) / r^2, |r| <= log(2)/2 */
FN real fn_exp_rest(real r) {
  return fn_quartic(r, 0.50000001f, 0.166665129f, 0.0416661876f, 0.00836959813f, 0.00139516932f);
}
/* exp(x^2) erfc(x) / s with s = 1 / (1 + FN_MILLS x), u = 2s - 1 */
FN real fn_mills(real u) {
  const real w = u * u;
  return fn_quartic(w, 0.374212756f, 0.194224364f, 0.0318425257f, -0.00159295548f,
                    5.69327069e-05f) +
         u * fn_quartic(w, 0.302357195f, 0.095096962f, 0.00457838753f, -0.000849941065f,
                        7.37804518e-05f);
}
/* (atanh(x)/x - 1)/z, z = x^2 <= 1/9 */
FN real fn_atanh_rest(real z) {
  return fn_quartic(z, 0.333333337f, 0.199998527f, 0.142962062f, 0.108528285f, 0.116145351f);
}
/* erf(x)/x, z = x^2 <= 1/4 */
FN real fn_erf_near(real z) {
  return fn_quartic(z, 1.12837917f, -0.376126086f, 0.112828228f, -0.0267571847f, 0.00471799007f);
}
/* (sin(x)/x - 1)/z and (cos x - 1 + z/2)/z^2, z = x^2, |x| <= pi/4 */
FN real fn_sin_rest(real z) {
  return fn_quadratic(z, -0.166666543f, 0.00833213435f, -0.0001951114f);
}
FN real fn_cos_rest(real z) {
  return fn_quadratic(z, 0.0416666459f, -0.00138873172f, 2.44322542e-05f);
}
#else
typedef uint64_t fn_bits;
enum { FN_FRACTION = 52 };
#define FN_HALF_BITS 0xfffffffff8000000u
#define FN_ONE       0x3ff0000000000000u
#define FN_MAGIC     6755399441055744.
#define FN_LN2_HIGH  0.69314718055920820916
#define FN_LN2_LOW   7.3710025651677989e-13
#define FN_QUARTER_1 1.5707963267341256142
#define FN_QUARTER_2 6.0771005063039659766e-11
#define FN_QUARTER_3 2.0222662487959507324e-21
#define FN_FAR       1e5
#define FN_EXP_LOW   (-708.)
#define FN_EXP_LEAST (-746.)
#define FN_EXP_MOST  710.
#define FN_EXP_HALF  1000.
#define FN_MILLS     0.25

FN real fn_exp_rest(real r) {
  const real w = r * r;
  return fn_quartic(w, 0.5000000000000014, 0.041666666666503132, 0.0013888888950533677,
                    2.4801486043490888e-05, 2.7632749562866879e-07) +
         r * fn_quartic(w, 0.16666666666666702, 0.0083333333333052223, 0.00019841269921647252,
                        2.7557212504906254e-06, 2.5119062164933713e-08);
}
FN real fn_mills(real u) {
  const real v = u * u, w = v * v;
  const real q0 = fn_quartic(w, 0.27399891525012278, 0.08271289696944728, 0.0015280139002667247,
                             -9.0909171020646134e-07, -2.1218992923096471e-07);
  const real q1 = fn_quartic(w, 0.2441371822702206, 0.043502734310348303, 7.0239765548285891e-05,
                             4.7161381184957024e-06, 2.1695183875468244e-08);
  const real q2 = fn_quartic(w, 0.19330217556631021, 0.019095378728570114, -0.00011376308742814442,
                             1.1742196404976626e-06, 3.1142732113112978e-08);
  const real q3 = fn_quartic(w, 0.13521345782829767, 0.0065925133294479816, -4.4203469664732482e-05,
                             -3.5808594284785408e-07, -2.4071585453281031e-09);
  const real w2 = w * w, top = w2 * w2 * w * (6.998795496481926e-10 * u - 3.4823007865530692e-09);
  return (q0 + u * q1) + v * (q2 + u * q3) + top;
}
FN real fn_atanh_rest(real z) {
  const real w = z * z;
  return fn_quartic(w, 0.33333333333333329, 0.14285714283539554, 0.090908946426923669,
                    0.066570374256268888, 0.043986849355047514) +
         z * fn_quartic(w, 0.20000000000007347, 0.11111111360213081, 0.076927871477216878,
                        0.060008662022293626, 0.080855938380708995);
}
FN real fn_erf_near(real z) {
  const real w = z * z;
  return fn_quartic(w, 1.1283791670955126, 0.11283791670924815, 0.0052239773703324086,
                    0.00012053324323886661, 1.4723215353508246e-06) +
         z * (fn_quadratic(w, -0.37612638903183467, -0.026866170632716322,
                           -0.00085482975247481631) +
              w * w * w * -1.4845583855143466e-05);
}
FN real fn_sin_rest(real z) {
  return fn_quartic(z, -0.16666666666666629, 0.0083333333333214513, -0.0001984126982897699,
                    2.7557313387026965e-06, -2.5050708204244403e-08 + 1.5893794704404843e-10 * z);
}
FN real fn_cos_rest(real z) {
  return fn_quartic(z, 0.041666666666666605, -0.0013888888888874588, 2.4801587289553397e-05,
                    -2.755731432471256e-07, 2.0875714296996949e-09 - 1.1358960607978268e-11 * z);
}
#endif

FN fn_bits fn_to_bits(real x) {
  fn_bits b;
  memcpy(&b, &x, sizeof b);
  return b;
}
FN real fn_of_bits(fn_bits b) {
  real x;
  memcpy(&x, &b, sizeof x);
  return x;
}
FN real fn_abs(real x) { return fn_of_bits(fn_to_bits(x) & ~((fn_bits)1 << (sizeof x * 8 - 1))); }
FN real fn_sign(real size, real x) { /* size with the sign of x */
  return fn_of_bits(fn_to_bits(size) | (fn_to_bits(x) & (fn_bits)1 << (sizeof x * 8 - 1)));
}

/* exp(x + d) = two (1 + p), two = 2^n, n from the least to the largest exponent of a normal number, d small */
typedef struct {
  real n, two, p;
} fn_power;

FN real fn_two(real n) { return fn_of_bits((fn_to_bits(n + FN_MAGIC) << FN_FRACTION) + FN_ONE); }

FN fn_power fn_power_of(real x, real d) {
  const real n = x * (real)1.4426950408889634 + FN_MAGIC - FN_MAGIC;
  const real r = (x - n * FN_LN2_HIGH) - n * FN_LN2_LOW + d;
  return (fn_power){n, fn_two(n), r + r * r * fn_exp_rest(r)};
}

FN real fn_exp(real x) {
  const real y = x < FN_EXP_LEAST ? FN_EXP_LEAST : x > FN_EXP_MOST ? FN_EXP_MOST : x;
  const fn_power e = fn_power_of(y, 0);
  const real first = e.n < -FN_EXP_HALF ? -FN_EXP_HALF : e.n > FN_EXP_HALF ? FN_EXP_HALF : e.n;
  return (1 + e.p) * fn_two(first) * fn_two(e.n - first);
}

/* exp(x + d) for x <= 0; 0 where that is not normal */
FN real fn_exp_below(real x, real d) {
  const fn_power e = fn_power_of(x, d);
  return x < FN_EXP_LOW ? 0 : e.two + e.two * e.p;
}

/* with e = exp(-2|a|), |tanh a| = -(e - 1)/(1 + e), tanh' a = 4 e / (1 + e)^2 */
FN fn_power fn_tanh_power(real a) {
  const real x = -2 * fn_abs(a);
  return fn_power_of(x < FN_EXP_LOW ? FN_EXP_LOW : x, 0);
}
FN real fn_tanh(real a) {
  const fn_power e = fn_tanh_power(a);
  const real less = e.two * e.p + (e.two - 1);
  return fn_sign((0 - less) / (2 + less), a);
}
FN real fn_tanh_slope(real a) {
  const fn_power e = fn_tanh_power(a);
  const real less = e.two * e.p + (e.two - 1), q = 1 / (2 + less);
  return -2 * fn_abs(a) < FN_EXP_LOW ? 0 : 4 * (e.two + e.two * e.p) * q * q;
}

/* with e = exp(-|a|): 1/(1 + e) or e/(1 + e), slope e/(1 + e)^2 */
FN real fn_sigmoid(real a) {
  const real e = fn_exp_below(-fn_abs(a), 0), q = 1 / (1 + e);
  return a < 0 ? e * q : q;
}
FN real fn_sigmoid_slope(real a) {
  const real e = fn_exp_below(-fn_abs(a), 0), q = 1 / (1 + e);
  return e * q * q;
}

/* 2 (log(1 + exp a) - log 2) = a + 2 log cosh(a/2), with t = tanh(a/2), e = exp(-|a|):
 * 2 log cosh(a/2) = 2 atanh(t^2 / (2 - t^2)) near 0, |a| - 2 log 2 + 4 atanh(e / (2 + e)) beyond */
FN real fn_centred_softplus(real a) {
  const fn_power e = fn_tanh_power((real)0.5 * a);
  const real less = e.two * e.p + (e.two - 1), t = less / (2 + less), z = t * t;
  const bool near = z < (real)0.5;
  const real x = near ? z / (2 - z) : (1 + less) / (3 + less);
  const real y = 2 * (x + x * (x * x * fn_atanh_rest(x * x)));
  return near ? a + y : (a > 0 ? 2 * a : 0) + (2 * y - (real)1.3862943611198906);
}

/* exp(-c x^2), c = 1 or 1/2: x^2 = h^2 + (x - h)(x + h) with h half the digits of x, so that no digit is lost */
FN real fn_bell(real x, real c) {
  const real h = fn_of_bits(fn_to_bits(x) & FN_HALF_BITS);
  return fn_exp_below(-c * (h * h), -c * ((x - h) * (x + h)));
}

/* erfc(x) = exp(-x^2) s fn_mills(2s - 1); erf a = 1 - erfc |a| but near 0 */
FN real fn_erf(real a) {
  const real x = fn_abs(a), s = 1 / (1 + FN_MILLS * x);
  const real tail = fn_bell(x, 1) * (s * fn_mills(2 * s - 1));
  return x < (real)0.5 ? a * fn_erf_near(a * a) : fn_sign(1 - tail, a);
}

/* P(z <= a) = (1 + erf(a / sqrt 2))/2, and the density, of a standard normal z */
FN real fn_normal(real a) {
  const real x = fn_abs(a), s = 1 / (1 + FN_MILLS * (real)0.7071067811865476 * x);
  const real tail = (real)0.5 * fn_bell(x, (real)0.5) * (s * fn_mills(2 * s - 1));
  const real near = (real)0.5 + a * ((real)0.3535533905932738 * fn_erf_near((real)0.5 * a * a));
  return x < (real)0.7 ? near : a < 0 ? tail : 1 - tail;
}
FN real fn_density(real a) { return (real)0.3989422804014327 * fn_bell(fn_abs(a), (real)0.5); }

/* sin(a + turn pi/2), |a| <= FN_FAR: a = n pi/2 + r */
FN real fn_wave(real a, fn_bits turn) {
  const real t = a * (real)0.6366197723675814 + FN_MAGIC, n = t - FN_MAGIC;
  const real r = ((a - n * FN_QUARTER_1) - n * FN_QUARTER_2) - n * FN_QUARTER_3, z = r * r;
  const real s = r + r * (z * fn_sin_rest(z)), c = 1 - ((real)0.5 * z - z * z * fn_cos_rest(z));
  const fn_bits quarter = fn_to_bits(t) + turn;
  return fn_of_bits(fn_to_bits(quarter & 1 ? c : s) ^ (quarter & 2) << (sizeof a * 8 - 2));
}
FN real fn_sin(real a) { return fn_wave(a, 0); }
FN real fn_cos(real a) { return fn_wave(a, 1); }
