/* Duals S = E phi(u) phi(v) and S' = E phi'(u) phi'(v): against brute-force integration for every activation, variances
 * 0 to 1e8 and correlations -1 to 1; tanh's mixture of erf against tanh; dS/dC = S'; almost equal points. */
#include "check.h"
#include "kernel/dual_table.h"

#include <eigenpair/analytic.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- integration by panels of 16 Gauss-Legendre nodes */
enum { NODES = 16 };
static double node[NODES], node_weight[NODES];

/* roots of the Legendre polynomial by Newton's method */
static int gauss_legendre(void **state) {
  (void)state;
  for (int i = 0; i < NODES; i++) {
    double x = cos(PI * (i + 0.75) / (NODES + 0.5)), slope = 1;
    for (int step = 0; step < 20; step++) {
      double p = 1, before = 0;
      for (int k = 0; k < NODES; k++) {
        const double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
        before = p;
        p = next;
      }
      slope = NODES * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    node[i] = x;
    node_weight[i] = 2 / ((1 - x * x) * slope * slope);
  }
  return 0;
}

/* The end of the panel that begins at x: as wide as the Gaussian (sd) and, where phi bends, as phi allow; never over 0;
 * graded: finer towards 0, where relu has its kink. */
static double panel_end(double x, double sd, int graded) {
  double step = fmin(1.5 * sd, fabs(x) < 20 ? 1.5 : INFINITY);
  if (graded) step = fmin(step, fmax(1e-9 * fmin(1, sd), 0.5 * fabs(x)));
  else if (fabs(x) >= 20) step = fmin(step, fmax(1.5, 0.5 * fabs(x)));
  return x < 0 && x + step > -1e-12 * sd ? 0 : x + step;
}

typedef struct {
  const ep_activation *phi;
  int what;     /* 0: phi(u) phi(v), 1: phi'(u) phi'(v), 2: (phi(u) - phi(v))^2 */
  double reach; /* standard deviations beyond which nothing is left */
} integrand;

/* out[i] = f(u, v[i]) */
static void f(double out[], const integrand *g, double u, const double v[], int n) {
  const double a = g->what == 1 ? ep_activation_slope(g->phi, u) : ep_activation_value(g->phi, u);
  const ep_mat V = ep_mat_view(EP_DOUBLE, 1, n, (double *)v), B = ep_mat_view(EP_DOUBLE, 1, n, out);
  if (g->what == 1) ep_activation_slopes(&B, g->phi, &V);
  else ep_activation_values(&B, g->phi, &V);
  for (int i = 0; i < n; i++) out[i] = g->what == 2 ? (a - out[i]) * (a - out[i]) : a * out[i];
}

static integrand integrand_of(const ep_activation *phi, int what) {
  const char *name = ep_activation_label(phi);
  return (integrand){phi, what,
                     strcmp(name, "monomial") == 0 || strcmp(name, "exp") == 0 ? 12 : 8.5};
}

/* E f(u, v) over v ~ N(mean, sd^2); sd = 0: v = mean */
static double inner(const integrand *g, double u, double mean, double sd) {
  long double sum = 0;
  double v[NODES], values[NODES];
  if (sd == 0) return f(values, g, u, &mean, 1), values[0];
  for (double x = mean - g->reach * sd, end; x < mean + g->reach * sd; x = end) {
    end = panel_end(x, sd, 0);
    for (int i = 0; i < NODES; i++) v[i] = x + (end - x) * (0.5 + 0.5 * node[i]);
    f(values, g, u, v, NODES);
    for (int i = 0; i < NODES; i++) {
      const double z = (v[i] - mean) / sd;
      sum += node_weight[i] * 0.5 * (end - x) / sd * exp(-0.5 * z * z) * values[i];
    }
  }
  return (double)(sum / sqrt(2 * PI));
}

/* E f(u, v) of variances A, B and correlation 1 - gap */
static double brute(const integrand *g, double A, double B, double gap) {
  const double a = sqrt(A), ratio = (1 - gap) * sqrt(B / A), sd = sqrt(B * gap * (2 - gap));
  long double sum = 0;
  for (double x = -g->reach * a, end; x < g->reach * a; x = end) {
    end = panel_end(x, a, 1);
    for (int i = 0; i < NODES; i++) {
      const double u = x + (end - x) * (0.5 + 0.5 * node[i]), z = u / a;
      sum += node_weight[i] * 0.5 * (end - x) / a * exp(-0.5 * z * z) * inner(g, u, ratio * u, sd);
    }
  }
  return (double)(sum / sqrt(2 * PI));
}

static ep_moments moments(double A, double B, double gap) {
  return (ep_moments){A, B, sqrt(A) * sqrt(B) * (1 - gap), gap};
}

static void dual(double *S, double *slope, const ep_activation *phi, double A, double B,
                 double gap) {
  const ep_moments m = moments(A, B, gap);
  ep_dual(S, slope, phi, &m);
}

static const char *const all[] = {"relu",       "leaky:0.2",  "leaky:-1",    "tanh", "sigmoid",
                                  "erf",        "linear",     "gelu",        "sin",  "cos",
                                  "monomial:1", "monomial:3", "monomial:16", "exp",  "csoftplus"};
enum { ALL = sizeof all / sizeof *all };

static ep_activation parse(const char *name) {
  ep_activation phi;
  CHECK_OK(ep_activation_parse(&phi, name));
  return phi;
}

/* the largest variance for which brute() sees what phi does */
static double most_variance(const char *name) {
  return strcmp(name, "exp") == 0                               ? 3
         : strcmp(name, "sin") == 0 || strcmp(name, "cos") == 0 ? 30
                                                                : 1e9;
}

/* |S - brute|, |S' - brute| <= (stated error + that of brute) sqrt(S_A S_B) */
static void check_brute(const char *name, double A, double B, double gap) {
  const ep_activation phi = parse(name);
  double got[2], a[2], b[2];
  dual(&got[0], &got[1], &phi, A, B, gap);
  dual(&a[0], &a[1], &phi, A, A, 0);
  dual(&b[0], &b[1], &phi, B, B, 0);
  for (int what = 0; what < 2; what++) {
    const integrand g = integrand_of(&phi, what);
    const double want = brute(&g, A, B, gap), scale = sqrt(a[what]) * sqrt(b[what]);
    const double error = fabs(got[what] - want) / scale;
    if (!(error <= ep_dual_error(&phi) + 1e-15))
      fail_msg("%s: S%s(%g, %g, gap %g) = %.17g, integration gives %.17g: error %.2g", name,
               what ? "'" : "", A, B, gap, got[what], want, error);
  }
}

/* each activation meets every pair and every gap, as on a chess board */
static void against_integration(void **state) {
  (void)state;
  static const double gaps[] = {0, 1e-6, 0.01, 0.5, 1.7, 2};
  static const double pairs[][2] = {{1, 1}, {0.3, 2.5}, {1e-4, 20}, {1e4, 1e4}, {1e8, 100}};
  for (int k = 0; k < ALL; k++)
    for (int i = 0; i < 5; i++)
      for (int j = 0; j < 6; j++)
        if ((i + j + k) % 2 == 0 && fmax(pairs[i][0], pairs[i][1]) < most_variance(all[k]))
          check_brute(all[k], pairs[i][0], pairs[i][1], gaps[j]);
}

/* |sum_k w_k erf(s_k u) - tanh u| <= e |tanh u| bounds the error of S for all variances; the same of the slopes */
static void mixture_is_tanh(void **state) {
  (void)state;
  ep_erf_mixture m;
  ep_tanh_mixture(&m);
  const ep_activation phi = parse("tanh");
  for (double u = 1e-6; u < 40; u *= 1.01) {
    long double value = 0, slope = 0;
    for (int k = 0; k < m.terms; k++) {
      const long double s = m.scale[k], w = m.weight[k];
      assert_true(w > 0);
      value += w * erfl(s * u);
      slope += w * s * 2 / sqrtl(PI) * expl(-s * s * u * u);
    }
    CHECK_NEAR((double)value, tanh(u), 0.4 * ep_dual_error(&phi) * tanh(u));
    CHECK_NEAR((double)slope, 1 / (cosh(u) * cosh(u)), 0.4 * ep_dual_error(&phi));
  }
}

/* dS/dC = S', by differences of fourth order */
static void slope_is_derivative(void **state) {
  (void)state;
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    for (double c = -0.9; c < 0.95; c += 0.3)
      for (int i = 0; i < 3; i++) {
        const double A = i == 2 ? 2 : 1, B = i == 0 ? 1 : 0.4, h = 1e-3, r = sqrt(A * B);
        double S[4], slope, a, b;
        for (int s = 0; s < 4; s++)
          dual(&S[s], NULL, &phi, A, B, 1 - (c + h * (s < 2 ? s - 2 : s - 1)));
        dual(NULL, &slope, &phi, A, B, 1 - c);
        dual(NULL, &a, &phi, A, A, 0);
        dual(NULL, &b, &phi, B, B, 0);
        const double d = (8 * (S[2] - S[1]) - (S[3] - S[0])) / (12 * h * r);
        CHECK_NEAR(slope, d, 1e-8 * sqrt(a * b));
      }
  }
}

/* S(A,B,C) = S(B,A,C), |S| <= sqrt(S(A,A,A) S(B,B,B)), for S and S' */
static void symmetry(void **state) {
  (void)state;
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    for (double gap = 0; gap <= 2; gap += 0.125)
      for (double A = 1e-3; A < 30; A *= 7) {
        double s[2], t[2], a[2], b[2];
        const double B = 1.3;
        dual(&s[0], &s[1], &phi, A, B, gap);
        dual(&t[0], &t[1], &phi, B, A, gap);
        dual(&a[0], &a[1], &phi, A, A, 0);
        dual(&b[0], &b[1], &phi, B, B, 0);
        for (int i = 0; i < 2; i++) {
          const double scale = sqrt(a[i] * b[i]);
          CHECK_NEAR(s[i], t[i], 1e-14 * scale);
          assert_true(fabs(s[i]) <= scale * (1 + 1e-14));
        }
      }
  }
}

/* E of one Gaussian of variance A: phi(0) E phi(v) is what S is where the other is 0 */
static void zero_variance(void **state) {
  (void)state;
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    const double value0 = ep_activation_value(&phi, 0), slope0 = ep_activation_slope(&phi, 0);
    double S, slope;
    dual(&S, &slope, &phi, 0, 0, 0);
    CHECK_NEAR(S, value0 * value0, 1e-15);
    CHECK_NEAR(slope, slope0 * slope0, 1e-15);
    for (int what = 0; what < 2; what++) {
      const integrand g = integrand_of(&phi, what);
      for (int side = 0; side < 2; side++) {
        double got[2];
        dual(&got[0], &got[1], &phi, side ? 0 : 2, side ? 2 : 0, 0.3);
        /* f(0, v) by the inner integral */
        CHECK_CLOSE(got[what], inner(&g, 0, 0, sqrt(2)), 1e-14);
      }
    }
  }
}

/* The slope of relu near c = 1 is 1/2 - t/(2 pi) with t = sqrt(2 gap); erf's at large variance likewise feels the gap */
static void slopes_near_one(void **state) {
  (void)state;
  const ep_activation relu = parse("relu"), erf_ = parse("erf");
  for (double gap = 1e-30; gap < 1e-3; gap *= 10) {
    double slope;
    const double t = 2 * asin(sqrt(gap / 2));
    dual(NULL, &slope, &relu, 3, 1e150, gap);
    CHECK_NEAR(slope, 0.5 - t / (2 * PI), 2e-16);
    dual(NULL, &slope, &relu, 1, 1, 2 - gap);
    CHECK_NEAR(slope, 2 * asin(sqrt((2 - (2 - gap)) / 2)) / (2 * PI), 2e-16);
    for (double A = 1; A < 1e20; A *= 1e3) {
      dual(NULL, &slope, &erf_, A, A, gap);
      const double want = 4 / PI / sqrt(1 + 4 * A + 4 * A * A * gap * (2 - gap));
      CHECK_NEAR(slope / want, 1, 2e-15);
    }
  }
}

/* next[] of one pair */
static double next_gap(const ep_activation *phi, double A, double B, double gap) {
  double S[2], value, slope, next;
  const double root[2] = {sqrt(A), sqrt(B)};
  dual(&S[0], NULL, phi, A, A, 0);
  dual(&S[1], NULL, phi, B, B, 0);
  const double norm[2] = {sqrt(S[0]), sqrt(S[1])};
  const ep_dual_points x = {.P = &A, .root = &root[0], .norm = &norm[0]},
                       y = {.P = &B, .root = &root[1], .norm = &norm[1]};
  ep_dual_row(&value, &slope, &next, ep_dual_find(phi), phi->parameter, &gap, &x, &y, 1);
  return next;
}

/* sqrt(S_A S_B) - S = (E (phi(u) - phi(v))^2 - (sqrt S_A - sqrt S_B)^2)/2; the last term is 0 for A = B */
static void gap_of_next_layer(void **state) {
  (void)state;
  static const double gaps[] = {1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 0.1, 1, 1.9};
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    const integrand g = integrand_of(&phi, 2);
    const int bounded = fabs(ep_activation_value(&phi, 40)) <= 1;
    int first = k % 2; /* every other gap, the others at the next A */
    for (double A = 0.09; A <= 1e4; A *= 33.333, first = !first) {
      if (A > most_variance(all[k])) break;
      CHECK_NEAR(next_gap(&phi, A, A, 0), 0, 1e-16);
      for (int i = first; i < 9; i += 2) {
        double S;
        dual(&S, NULL, &phi, A, A, 0);
        const double want = 0.5 * brute(&g, A, A, gaps[i]) / S, got = next_gap(&phi, A, A, gaps[i]);
        if (!(fabs(got - want) <= 1e-8 * want + 1e-15 * (bounded ? 1 : sqrt(gaps[i] + 1 / A))))
          fail_msg("%s: gap %g of variance %g becomes %.12g, integration gives %.12g", all[k],
                   gaps[i], A, got, want);
      }
    }
    /* different variances: what S itself says */
    double S, a, b;
    dual(&S, NULL, &phi, 0.5, 2, 0.2);
    dual(&a, NULL, &phi, 0.5, 0.5, 0);
    dual(&b, NULL, &phi, 2, 2, 0);
    CHECK_NEAR(next_gap(&phi, 0.5, 2, 0.2), 1 - S / sqrt(a * b), 1e-14);
  }
}

/* relu, leaky and gelu keep their variance, so their gaps must stay true however small */
static void tiny_gaps(void **state) {
  (void)state;
  const ep_activation relu = parse("relu"), gelu = parse("gelu");
  for (double gap = 1e-28; gap < 1e-12; gap *= 10) {
    const double t = sqrt(2 * gap); /* 1 - J/pi = t^2/2 - t^3/(3 pi) + ... */
    CHECK_NEAR(sqrt(2 * next_gap(&relu, 2, 5, gap)), t * (1 - t / (3 * PI)), 1e-15);
    CHECK_NEAR(sqrt(2 * next_gap(&gelu, 1e40, 3e40, gap)), t * (1 - t / (3 * PI)), 1e-15);
  }
}

static void table(void **state) {
  (void)state;
  for (int i = 0; ep_activation_name(i); i++) {
    const ep_activation phi = parse(ep_activation_name(i));
    const char *name = ep_activation_name(i);
    const int numerical =
        strcmp(name, "tanh") == 0 || strcmp(name, "sigmoid") == 0 || strcmp(name, "csoftplus") == 0;
    assert_non_null(ep_dual_find(&phi));
    assert_string_equal(ep_dual_way(&phi), numerical ? "quadrature" : "closed form");
    assert_true(ep_dual_error(&phi) > 0 && ep_dual_error(&phi) < 1e-12);
  }
}

/* A row of many points gives what single pairs give, bit by bit. */
static void rows_and_pairs(void **state) {
  (void)state;
  enum { N = 23 };
  double P[N], root[N], norm[N], gap[N], S[N], slope[N], next[N];
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    for (int j = 0; j < N; j++) {
      P[j] = j % 7 == 3 ? 0 : 0.1 * (j + 1);
      root[j] = sqrt(P[j]);
      gap[j] = 2.0 * j / (N - 1);
      dual(&S[0], NULL, &phi, P[j], P[j], 0);
      norm[j] = sqrt(S[0]);
    }
    const ep_dual_points y = {.P = P, .root = root, .norm = norm},
                         x = {.P = P + 1, .root = root + 1, .norm = norm + 1};
    ep_dual_row(S, slope, next, ep_dual_find(&phi), phi.parameter, gap, &x, &y, N);
    for (int j = 0; j < N; j++) {
      double s, d;
      dual(&s, &d, &phi, P[1], P[j], gap[j]);
      CHECK_NEAR(s, S[j], 0);
      CHECK_NEAR(d, slope[j], 0);
      assert_true(next[j] >= 0 && next[j] <= 2 + 1e-12);
    }
  }
}

/* What belongs to a point alone may be known before: erf by one root and one division, and the gap of the next layer. */
static void known_points(void **state) {
  (void)state;
  static const double P[] = {0, 1e-12, 0.01, 0.3, 1, 7, 1e3, 1e8},
                      gaps[] = {0, 1e-14, 1e-7, 1e-3, 0.3, 1, 1.7, 2};
  enum { N = sizeof P / sizeof *P };
  for (int k = 0; k < ALL; k++) {
    const ep_activation phi = parse(all[k]);
    double root[N], norm[N], over[N], damp[N], S;
    for (int i = 0; i < N; i++) {
      dual(&S, NULL, &phi, P[i], P[i], 0);
      root[i] = sqrt(P[i]), norm[i] = sqrt(S), over[i] = S > 0 ? 1 / sqrt(S) : 0;
      damp[i] = 1 / sqrt(1 + 2 * P[i]);
    }
    for (int i = 0; i < N * N * N; i++) {
      const int a = i % N, b = i / N % N;
      if (P[a] > most_variance(all[k]) || P[b] > most_variance(all[k])) continue;
      const double gap = gaps[i / (N * N)];
      ep_dual_points x = {.P = P + a, .root = root + a, .norm = norm + a},
                     y = {.P = P + b, .root = root + b, .norm = norm + b};
      double want[3], got[3];
      ep_dual_row(&want[0], &want[1], &want[2], ep_dual_find(&phi), phi.parameter, &gap, &x, &y, 1);
      x.over = over + a, x.damp = damp + a, y.over = over + b, y.damp = damp + b;
      ep_dual_row(&got[0], &got[1], &got[2], ep_dual_find(&phi), phi.parameter, &gap, &x, &y, 1);
      CHECK_NEAR(got[0], want[0], 1e-15 + 2e-15 * fabs(want[0]));
      CHECK_NEAR(got[1], want[1], 4e-15 * fabs(want[1]));
      CHECK_NEAR(got[2], want[2], 2e-15);
    }
  }
}

/* Tables against what they stand for: S and S' relative to those of equal points. */
static void check_table(const char *name, double least, double most, bool made) {
  const ep_activation phi = parse(name);
  ep_work work = {0};
  ep_dual_table table;
  CHECK_OK(ep_dual_tabulate(&work, &table, ep_dual_find(&phi), least, most, 1e12));
  if ((table.degree > 0) != made)
    fail_msg("%s, variances %g to %g: %s table", name, least, most, made ? "no" : "a");
  for (int i = 0; made && i < 40; i++)
    for (int k = 0; k <= 60; k++) {
      const double A = least + (most - least) * fabs(sin(3. * i)), root = sqrt(A),
                   rho_A = ep_dual_table_rho(&table, A);
      const double B = least + (most - least) * fabs(sin(7. * k)), root_B = sqrt(B),
                   rho_B = ep_dual_table_rho(&table, B);
      const double gap = k < 20 ? pow(10, -k) : (k - 20) / 20., norm = 1;
      const ep_dual_points x = {&A, &root, &norm, &rho_A, &table, NULL, NULL},
                           y = {&B, &root_B, &norm, &rho_B, &table, NULL, NULL};
      double got[2], want[2], equal[2], next;
      ep_dual_row(&got[0], &got[1], &next, ep_dual_find(&phi), 0, &gap, &x, &y, 1);
      dual(&want[0], &want[1], &phi, A, B, gap);
      dual(&equal[0], &equal[1], &phi, A, A, 0);
      for (int what = 0; what < 2; what++)
        if (!(fabs(got[what] - want[what]) <= EP_TABLE_ERROR * equal[what]))
          fail_msg("%s: S%s(%g, %g, gap %g) is %.17g by the table, %.17g by the sum", name,
                   what ? "'" : "", A, B, gap, got[what], want[what]);
    }
  ep_work_free(&work);
}

static void tables(void **state) {
  (void)state;
  check_table("tanh", 1, 1, true);
  check_table("tanh", 1 - 1.2e-7, 1 + 1.2e-7, true);
  check_table("tanh", 0.39, 0.4, true);
  check_table("tanh", 0.7, 1.3, true);
  check_table("tanh", 30, 30, true);
  check_table("tanh", 1e-12, 1e-12, true);
  check_table("sigmoid", 1, 1.001, true);
  check_table("sigmoid", 80, 80, true);
  check_table("tanh", 1e5, 1e5, false); /* bends too much */
  check_table("tanh", 0.1, 10, false);  /* too many norms */
  check_table("relu", 1, 1, false);     /* has a closed form */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(against_integration),
      cmocka_unit_test(mixture_is_tanh),
      cmocka_unit_test(slope_is_derivative),
      cmocka_unit_test(symmetry),
      cmocka_unit_test(zero_variance),
      cmocka_unit_test(slopes_near_one),
      cmocka_unit_test(gap_of_next_layer),
      cmocka_unit_test(tiny_gaps),
      cmocka_unit_test(table),
      cmocka_unit_test(rows_and_pairs),
      cmocka_unit_test(known_points),
      cmocka_unit_test(tables),
  };
  return cmocka_run_group_tests(tests, gauss_legendre, NULL);
}
