/* Activations entry by entry: the vector functions of core/functions.h against the C library, over a grid of all numbers
 * of a precision and the special ones; slopes likewise; the same bits in every place of a row. */
#include "check.h"

#include <eigenpair/activation.h>
#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { ULPS = 4, ROW = 1000 };

static long double normal(long double a) { return 0.5L * erfcl(-a * sqrtl(0.5L)); }
static long double density(long double a) {
  return expl(-0.5L * a * a) / sqrtl(2 * 3.14159265358979323846L);
}
static long double bell(long double a) { return 2 / sqrtl(3.14159265358979323846L) * expl(-a * a); }
static long double sigmoidl(long double a) { return 1 / (1 + expl(-a)); }
static long double sech2(long double a) { return 1 / (coshl(a) * coshl(a)); }
static long double logistic(long double a) { return sigmoidl(a) * sigmoidl(-a); }
static long double minus_sinl(long double a) { return -sinl(a); }
static long double gelu(long double a) { return isinf(a) ? fmaxl(a, 0) : a * normal(a); }
static long double gelu_slope(long double a) {
  return isinf(a) ? a > 0 : normal(a) + a * density(a);
}
static long double softplus2(long double a) { /* 2 log((1 + exp a)/2) */
  return isinf(a) && a > 0 ? a
         : fabsl(a) < 1    ? a + log1pl(sinhl(a / 2) * sinhl(a / 2))
                           : (a > 0 ? 2 * a : 0) + 2 * log1pl(expl(-fabsl(a))) - 2 * logl(2);
}
static long double sigmoid2(long double a) { return 2 * sigmoidl(a); }
/* how large the terms of a value are, where they cancel */
static long double gelu_terms(long double a) { return normal(a) + fabsl(a) * density(a); }

/* `ulps` of the size of the terms (NULL: of the value itself); `absolute`: what the reduction of the argument costs, in
 * the last place of 1 */
typedef struct {
  const char *name;
  bool slope;
  long double (*want)(long double), (*terms)(long double);
  int ulps;
  double absolute;
} function;

static const function functions[] = {
    {"tanh", 0, tanhl, NULL, ULPS, 0},
    {"tanh", 1, sech2, NULL, 2 * ULPS, 0},
    {"sigmoid", 0, sigmoidl, NULL, ULPS, 0},
    {"sigmoid", 1, logistic, NULL, 2 * ULPS, 0},
    {"erf", 0, erfl, NULL, ULPS, 0},
    {"erf", 1, bell, NULL, ULPS, 0},
    {"gelu", 0, gelu, NULL, 2 * ULPS, 0},
    {"gelu", 1, gelu_slope, gelu_terms, 2 * ULPS, 0},
    {"sin", 0, sinl, NULL, ULPS, 1e-6},
    {"sin", 1, cosl, NULL, ULPS, 1e-6},
    {"cos", 0, cosl, NULL, ULPS, 1e-6},
    {"cos", 1, minus_sinl, NULL, ULPS, 1e-6},
    {"exp", 0, expl, NULL, ULPS, 0},
    {"exp", 1, expl, NULL, ULPS, 0},
    {"csoftplus", 0, softplus2, NULL, 2 * ULPS, 0},
    {"csoftplus", 1, sigmoid2, NULL, ULPS, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static ep_activation parse(const char *name) {
  ep_activation phi;
  CHECK_OK(ep_activation_parse(&phi, name));
  return phi;
}

/* distance of the numbers about x in a precision */
static double unit(double x, ep_precision prec) {
  const double least = prec == EP_SINGLE ? FLT_MIN : DBL_MIN,
               size = fabs(x) < least ? least : fabs(x);
  int exponent;
  frexp(size, &exponent);
  return ldexp(1, exponent - (prec == EP_SINGLE ? FLT_MANT_DIG : DBL_MANT_DIG));
}

static void check_one(const function *f, ep_precision prec, double a, double got) {
  const long double exact = f->want(a);
  const double want = prec == EP_SINGLE ? (double)(float)exact : (double)exact;
  if (isnan(want) || isinf(want)) {
    if (isnan(want) ? !isnan(got) : got != want)
      fail_msg("%s%s of %.17g is %g, not %g", f->name, f->slope ? "'" : "", a, got, want);
    return;
  }
  const double size = f->terms && isfinite(a) ? (double)f->terms(a) : want;
  const double tolerance = f->ulps * unit(size, prec) + f->absolute * unit(1, prec) +
                           100 * (prec == EP_SINGLE ? FLT_MIN : DBL_MIN);
  if (!(fabsl(got - exact) <= tolerance))
    fail_msg("%s%s of %.17g (%s) is %.17g, the C library says %.17g: %.2f units", f->name,
             f->slope ? "'" : "", a, prec == EP_SINGLE ? "single" : "double", got, want,
             (double)fabsl(got - exact) / unit(size, prec));
}

/* the loops are given a row, one more entry than a whole number of vectors */
static void check_row(const function *f, const ep_activation *phi, const ep_mat *A) {
  static double memory[2][ROW];
  const ep_mat H = ep_mat_view(A->prec, 1, A->cols, memory[0]),
               S = ep_mat_view(A->prec, 1, A->cols, memory[1]);
  if (f->slope) ep_activation_slopes(&S, phi, A);
  else ep_activation_values(&H, phi, A);
  const ep_mat *out = f->slope ? &S : &H;
  for (ptrdiff_t j = 0; j < A->cols; j++) check_one(f, A->prec, ep_get(A, 0, j), ep_get(out, 0, j));
}

static double of_bits(ep_precision prec, uint64_t bits) {
  float s;
  double d;
  const uint32_t half = (uint32_t)(bits >> 32);
  memcpy(&s, &half, sizeof s);
  memcpy(&d, &bits, sizeof d);
  return prec == EP_SINGLE ? (double)s : d;
}

/* numbers evenly spread over all bit patterns, and again over those from 2^-20 to 2^20 of either sign */
static double grid_point(ep_precision prec, uint64_t i, uint64_t count) {
  const uint64_t step = UINT64_MAX / (count / 2);
  if (i % 2) return of_bits(prec, i / 2 * step + 0x123456789abu * i);
  const double t = 2.0 * ((double)i / (double)count) - 1;
  const double x = copysign(exp2(40 * fabs(t) - 20), t);
  return prec == EP_SINGLE ? (double)(float)x : x;
}

static void against_the_library(void **state) {
  (void)state;
  enum { COUNT = 80 * ROW };
  static double row[ROW];
  for (int k = 0; k < FUNCTIONS; k++) {
    const ep_activation phi = parse(functions[k].name);
    for (int prec = 0; prec < 2; prec++) {
      const ep_mat A = ep_mat_view((ep_precision)prec, 1, ROW, row);
      for (uint64_t i = 0; i < COUNT; i += ROW) {
        for (int j = 0; j < ROW; j++)
          ep_set(&A, 0, j, grid_point((ep_precision)prec, i + (uint64_t)j, COUNT));
        check_row(&functions[k], &phi, &A);
      }
    }
  }
}

static void special_values(void **state) {
  (void)state;
  static const double values[] = {
      0,      -0.,    INFINITY, -INFINITY, NAN,      FLT_MIN,   -FLT_MIN, DBL_MIN, -DBL_MIN,
      1e-40,  -1e-42, 5e-324,   FLT_MAX,   -FLT_MAX, 1e300,     -1e300,   88.8,    -88.8,
      -103.9, 709.7,  -745.1,   0.5,       0.7,      500,       500.1,    1e5,     100000.1,
      -99,    -99.5,  99.5,     13.3,      -13.3,    1.5707964, 3.1415927};
  enum { VALUES = sizeof values / sizeof *values };
  double row[VALUES];
  for (int k = 0; k < FUNCTIONS; k++)
    for (int prec = 0; prec < 2; prec++) {
      const ep_activation phi = parse(functions[k].name);
      const ep_mat A = ep_mat_view((ep_precision)prec, 1, VALUES, row);
      for (int j = 0; j < VALUES; j++) ep_set(&A, 0, j, values[j]);
      check_row(&functions[k], &phi, &A);
    }
  static const char *const odd[] = {"tanh", "erf", "sin"};
  for (int k = 0; k < 3; k++) { /* what is not normal keeps its digits, and 0 is 0 */
    const ep_activation phi = parse(odd[k]);
    float a[3] = {1e-41f, -1e-41f, -0.f};
    const ep_mat A = ep_mat_view(EP_SINGLE, 1, 3, a);
    ep_activation_values(&A, &phi, &A);
    const double slope = ep_activation_slope(&phi, 0);
    CHECK_NEAR(a[0], slope * 1e-41, 2e-45);
    CHECK_NEAR(a[1], slope * -1e-41, 2e-45);
    assert_true(a[2] == 0);
  }
}

/* inf - inf before an activation must be seen behind it: a relu may not call it 0 */
static void no_number_stays_none(void **state) {
  (void)state;
  enum { N = 21 };
  for (int k = 0; ep_activation_name(k); k++)
    for (int prec = 0; prec < 2; prec++) {
      double a[N];
      const ep_activation phi = parse(ep_activation_name(k));
      const ep_mat A = ep_mat_view((ep_precision)prec, 1, N, a);
      for (int j = 0; j < N; j++) ep_set(&A, 0, j, NAN);
      ep_activation_values(&A, &phi, &A);
      for (int j = 0; j < N; j++) assert_true(isnan(ep_get(&A, 0, j)));
    }
}

static void check_same(double a, double b) {
  if (!(a == b || (isnan(a) && isnan(b)))) fail_msg("%.17g is not %.17g", a, b);
}

/* an entry alone, in any place of a row, with its slope or without, in place or not: the same bits */
static void places(void **state) {
  (void)state;
  enum { N = 53 };
  for (int k = 0; ep_activation_name(k); k++)
    for (int prec = 0; prec < 2; prec++) {
      double a[N], h[N], s[N], both[2][N];
      const ep_activation phi = parse(ep_activation_name(k));
      const ep_mat A = ep_mat_view((ep_precision)prec, 1, N, a), H = ep_mat_view(A.prec, 1, N, h),
                   S = ep_mat_view(A.prec, 1, N, s), B = ep_mat_view(A.prec, 1, N, both[0]),
                   C = ep_mat_view(A.prec, 1, N, both[1]);
      for (int j = 0; j < N; j++) ep_set(&A, 0, j, j % 17 == 3 ? 1e6 * j : 0.37 * (j - 20));
      ep_mat_copy(&C, &A);
      ep_activation_values(&H, &phi, &A);
      ep_activation_slopes(&S, &phi, &A);
      ep_activation_both(&B, &C, &phi, &C);
      for (int j = 0; j < N; j++) {
        double one = 0;
        const ep_mat a1 = ep_mat_cols(&A, j, 1), out = ep_mat_view(A.prec, 1, 1, &one);
        ep_activation_values(&out, &phi, &a1);
        check_same(ep_get(&H, 0, j), ep_get(&out, 0, 0));
        check_same(ep_get(&H, 0, j), ep_get(&B, 0, j));
        ep_activation_slopes(&out, &phi, &a1);
        check_same(ep_get(&S, 0, j), ep_get(&out, 0, 0));
        check_same(ep_get(&S, 0, j), ep_get(&C, 0, j));
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(against_the_library),
                                     cmocka_unit_test(special_values), cmocka_unit_test(places),
                                     cmocka_unit_test(no_number_stays_none)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
