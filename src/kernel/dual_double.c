/* Duals of the activations. Notation: u, v centred Gaussians of variances A, B and correlation c = 1 - gap,
 * r = sqrt(AB). Loops run over the points of a row.
 *
 * tanh, sigmoid and the centred softplus have no closed form. They are written as mixtures of erf with positive weights, so S is a sum of
 * erf's closed forms: as good at variance 1e8 as at 1, and positive definite like the sum it is. */
#include "kernel/dual_table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

typedef ep_dual_job row;

/* a + b w + c w^2 + d w^3 + e w^4 */
static inline double quartic(double w, double a, double b, double c, double d, double e) {
  return (((e * w + d) * w + c) * w + b) * w + a;
}

/* atan(x)/x for 0 <= x <= 1, z = x^2: 1 + z Q(z), Q of degree 19 the Chebyshev fit of (atan(x)/x - 1)/z, relative error
 * 8e-17. Written out, unlike libm's, it is vector code on every compiler, with the same bits in every place of a row. */
static inline double arc(double z) {
  const double w = z * z * z * z;
  const double q0 = quartic(w, -0.3333333333333333, -0.09090908590891934, -0.052579733342841106,
                            -0.031277189066996385, -0.0034958859739163094);
  const double q1 = quartic(w, 0.1999999999999753, 0.07692298971033217, 0.04737749579527779,
                            0.023696731580048622, 0.0010496035084968515);
  const double q2 = quartic(w, -0.14285714285384132, -0.06666564699289104, -0.04260356632601652,
                            -0.015535152475414177, -0.00019996189377901382);
  const double q3 = quartic(w, 0.11111111093490827, 0.05881506877793656, 0.03749486812535247,
                            0.008368931178450162, 1.806195461861215e-05);
  return 1 + z * ((q0 + z * q1) + z * z * (q2 + z * q3));
}

/* linear: S = C, S' = 1 */
static void fill_linear(const row *r) {
  const double a = *r->x->root;
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    r->value[j] = a * r->y->root[j] * (1 - r->gap[j]);
    r->slope[j] = 1;
    r->next[j] = r->gap[j];
  }
}

/* leaky, phi(u) = u for u > 0, p u for u <= 0; relu: p = 0. With t = acos c, J = sin t + (pi - t) c:
 *   S = r ((1-p)^2 J / 2 pi + p c) = r (1 + p^2)/2 (1 - next),     S' = (1-p)^2 (pi - t) / 2 pi + p,
 *   next = ((1-p)^2 (1 - J/pi) + 2p (1 - c)) / (1 + p^2),          pi - J = (pi - t)(1 - c) + t - sin t.
 * A variable of variance 0 has phi' = p. */
static void fill_leaky(const row *r) {
  const double a = *r->x->root, p = r->p, q = (1 - p) * (1 - p), norm = 1 + p * p;
  const double *b = r->y->root, *gap = r->gap;
  double *value = r->value, *slope = r->slope, *next = r->next;
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    /* h = 1 - |c|, z = tan^2 of half the angle of |c|, sin t = (1 + |c|) sqrt z */
    const double g = gap[j], h = g < 1 ? g : 2 - g, z = h / (2 - h), x = sqrt(z);
    const double acute = 2 * x * arc(z), t = g < 1 ? acute : PI - acute, sine = x * (2 - h);
    const double e = (q / PI * ((PI - t) * g + (t - sine)) + 2 * p * g) / norm;
    next[j] = e > 0 ? e : 0;
    value[j] = a * b[j] * (0.5 * norm) * (1 - e);
    slope[j] = q * (PI - t) / (2 * PI) + p;
  }
  for (ptrdiff_t j = 0; j < r->n; j++)
    if (a == 0 || b[j] == 0) slope[j] = a == b[j] ? p * p : 0.5 * p * (1 + p);
}

static void fill_relu(const row *r) {
  row relu = *r;
  relu.p = 0;
  fill_leaky(&relu);
}

/* E x^p y^p of unit variances = sum_k h_k c^k, h_k = (p! / (2^m m!))^2 / k!, m = (p - k)/2 whole. All h_k >= 0 and of
 * one parity, so nothing cancels. h[0..p]; gives their sum (2p - 1)!! */
static double monomial_moments(double h[], int p) {
  double sum = 0, f = 1; /* f = p!/(2^m m!) */
  for (int k = p; k >= 0; k--) h[k] = 0;
  for (int i = 2; i <= p; i++) f *= i;
  for (int m = 0; 2 * m <= p; m++) {
    const int k = p - 2 * m;
    double factorial = 1;
    for (int i = 2; i <= k; i++) factorial *= i;
    h[k] = f * f / factorial;
    sum += h[k];
    f /= 2.0 * (m + 1);
  }
  return sum;
}

static double polynomial(const double h[], int degree, double c) {
  double s = h[degree];
  for (int k = degree - 1; k >= 0; k--) s = s * c + h[k];
  return s;
}

static double power(double x, int p) {
  double s = 1;
  for (; p; p >>= 1, x *= x)
    if (p & 1) s *= x;
  return s;
}

/* monomial u^p: S = r^p m_p(c), S' = p^2 r^{p-1} m_{p-1}(c), next = sum_k h_k (1 - c^k) / sum_k h_k */
static void fill_monomial(const row *r) {
  double h[17], d[17];
  const int p = (int)r->p;
  const double sum = monomial_moments(h, p);
  monomial_moments(d, p - 1);
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double gap = r->gap[j], c = 1 - gap, root = *r->x->root * r->y->root[j];
    double one_less = 0, next = 0; /* 1 - c^k */
    for (int k = 1; k <= p; k++) {
      one_less = gap + c * one_less;
      next += h[k] * one_less;
    }
    r->next[j] = next / sum;
    r->value[j] = power(root, p) * polynomial(h, p, c);
    r->slope[j] = p * p * power(root, p - 1) * polynomial(d, p - 1, c);
  }
}

/* (sqrt A - sqrt B)^2 = A + B - 2r, without the loss of digits where A is close to B */
static inline double root_distance2(double A, double root_A, double B, double root_B) {
  const double d = (A - B) / (root_A + root_B + DBL_MIN);
  return d * d;
}

/* exp: S = S' = exp((A + B)/2 + C); S / sqrt(S_A S_B) = exp(-(A + B - 2C)/2) */
static void fill_exp(const row *r) {
  const double A = *r->x->P, a = *r->x->root;
  const double *B = r->y->P, *b = r->y->root, *gap = r->gap;
  for (ptrdiff_t j = 0; j < r->n; j++) {
    r->value[j] = exp(0.5 * (A + B[j]) + a * b[j] * (1 - gap[j]));
    r->slope[j] = r->value[j];
    r->next[j] = -expm1(-(0.5 * root_distance2(A, a, B[j], b[j]) + a * b[j] * gap[j]));
  }
}

/* E sin u sin v = exp(-(A+B)/2) sinh C, E cos u cos v = exp(-(A+B)/2) cosh C. With C = +-|C|, |C| = r (1 - h):
 * exp(|C| - (A+B)/2) = exp(-(sqrt A - sqrt B)^2/2 - r h) and sinh |C| = exp |C| (1 - exp(-2|C|))/2. */
static void sines(double *odd, double *even, const row *r) {
  const double A = *r->x->P, a = *r->x->root;
  const double *B = r->y->P, *b = r->y->root, *gap = r->gap;
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double h = gap[j] < 1 ? gap[j] : 2 - gap[j], root = a * b[j];
    const double top = 0.5 * exp(-(0.5 * root_distance2(A, a, B[j], b[j]) + root * h));
    const double less = expm1(-2 * root * (1 - h));
    odd[j] = gap[j] < 1 ? -top * less : top * less;
    even[j] = top * (2 + less);
  }
}
static void fill_sin(const row *r) { sines(r->value, r->slope, r); }
static void fill_cos(const row *r) { sines(r->slope, r->value, r); }

/* gelu(u) = u P(z < u): with (u - z, v - z') of correlation rho = c alpha beta, alpha = sqrt(A/(1+A)), a = 1/(1+A),
 * beta, b likewise of B, s = sqrt(1 - rho^2), t = acos rho, Stein's lemma gives
 *   S = r/2 (1 - sigma),  sigma = ((1 - c)(pi - t) + t - alpha beta (s + c^2 a b / s)) / pi,
 *   S' = (pi - t + rho/s (a + b + ab + ab rho^2/s^2)) / 2 pi.
 * sigma -> 0 where gelu looks like u; its error is that of t, not that of 1. */
static inline double gelu_sine(double a, double b, double gap) {
  const double c = 1 - gap;
  return sqrt(gap * (2 - gap) + c * c * (a + b - a * b));
}
static inline double gelu_angle(double s, double rho) {
  const double x = s / (1 + fabs(rho)), t = 2 * x * arc(x * x);
  return rho > 0 ? t : PI - t;
}
static inline double gelu_sigma(double alpha, double a, double beta, double b, double gap) {
  const double s = gelu_sine(a, b, gap), c = 1 - gap, t = gelu_angle(s, c * alpha * beta);
  return (gap * (PI - t) + (t - alpha * beta * (s + c * c * a * b / s))) / PI;
}

static void fill_gelu(const row *r) {
  const double A = *r->x->P, a = 1 / (1 + A), alpha = sqrt(A / (1 + A)), root = *r->x->root;
  const double sigma_A = gelu_sigma(alpha, a, alpha, a, 0);
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double B = r->y->P[j], b = 1 / (1 + B), beta = sqrt(B / (1 + B)), g = r->gap[j];
    const double sigma = gelu_sigma(alpha, a, beta, b, g),
                 sigma_B = gelu_sigma(beta, b, beta, b, 0);
    const double both = sqrt((1 - sigma_A) * (1 - sigma_B));
    /* both - (1 - sigma), with 1 - both = (sigma_A + sigma_B - sigma_A sigma_B) / (1 + both) */
    const double e = sigma - (sigma_A + sigma_B - sigma_A * sigma_B) / (1 + both);
    const double s = gelu_sine(a, b, g), rho = (1 - g) * alpha * beta, f = rho / s;
    r->next[j] = e > 0 ? e / both : 0;
    r->value[j] = 0.5 * root * r->y->root[j] * (1 - sigma);
    r->slope[j] = (PI - gelu_angle(s, rho) + f * (a + b + a * b * (1 + f * f))) / (2 * PI);
  }
}

/* value += w S, slope += w S' of phi(u) = erf(s u), phi(v) = erf(z v). With a = 2 s^2 A, b = 2 z^2 B,
 *   S = 2/pi atan(c q / v), S' = 4/pi s z y / v,  y = (1+a+b)^{-1/2}, q = sqrt(ab) y, v = sqrt(1 + q^2 (1 - c^2)),
 * which is asin(2szC / sqrt((1+a)(1+b))) without loss of digits for c near 1 or large variance. */
static void add_erf(const row *r, double w, double s, double z) {
  const double a = 2 * s * s * *r->x->P, root = 2 * s * z * *r->x->root;
  const double *B = r->y->P, *root_B = r->y->root, *gap = r->gap;
  double *value = r->value, *slope = r->slope;
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double c = 1 - gap[j], y = 1 / sqrt(1 + a + 2 * z * z * B[j]), q = root * root_B[j] * y;
    const double v = sqrt(1 + q * q * (gap[j] * (2 - gap[j]))), u = fabs(c) * q; /* atan(u / v) */
    const double large = u > 1 ? u : 1, one = 1 / (v * large), over_v = large * one;
    /* u / v, or v / u where that is larger than 1, by one division for it and for 1 / v; v >= 1 */
    const double x = u < v ? u * over_v : v * v * one, t = x * arc(x * x);
    const double acute = w * (2 / PI) * (u < v ? t : PI / 2 - t);
    value[j] += c < 0 ? -acute : acute;
    slope[j] += w * (4 / PI) * s * z * y * over_v;
  }
}

/* phi(u) = sum_k weight_k erf(scale_k stretch u); pairs of weights below the last digit are left out */
static void fill_mixture(const row *r, const ep_erf_mixture *m, double stretch) {
  memset(r->value, 0, (size_t)r->n * sizeof *r->value);
  memset(r->slope, 0, (size_t)r->n * sizeof *r->slope);
  for (int k = 0; k < m->terms; k++)
    for (int l = 0; l < m->terms; l++)
      if (m->weight[k] * m->weight[l] > 1e-18)
        add_erf(r, m->weight[k] * m->weight[l], stretch * m->scale[k], stretch * m->scale[l]);
}

/* The same with what belongs to a point alone known, d = 1/sqrt(1 + 2A), e = 1/sqrt(1 + 2B): by a root and a division,
 *   S = 2/pi atan(|u| / v), S' = 4/pi d e / v,  u = 2 c d e sqrt(AB), v = sqrt(1 - u^2) = sqrt(1 - c^2 + c^2 (d^2 + e^2 - d^2 e^2)). */
static void fill_erf_known(const row *r) {
  const double d = *r->x->damp, root = 2 * d * *r->x->root;
  const double *e = r->y->damp, *root_B = r->y->root, *gap = r->gap;
  double *value = r->value, *slope = r->slope;
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double g = gap[j], c = 1 - g, u = fabs(c) * (root * (root_B[j] * e[j]));
    const double v = sqrt(g * (2 - g) + c * c * (d * d + e[j] * e[j] * (1 - d * d)));
    const double large = u < v ? v : u, one = 1 / (v * large), over_v = large * one;
    const double x = u < v ? u * over_v : v * (v * one), t = x * arc(x * x);
    const double acute = (2 / PI) * (u < v ? t : PI / 2 - t);
    value[j] = c < 0 ? -acute : acute;
    slope[j] = (4 / PI) * d * e[j] * over_v;
  }
}

static void fill_erf(const row *r) {
  if (r->x->damp && r->y->damp) fill_erf_known(r);
  else fill_mixture(r, &(ep_erf_mixture){.terms = 1, .scale = {1}, .weight = {1}}, 1);
}

/* the mixture of tanh(stretch u), summed */
void R(ep_dual_mixture)(double *value, double *slope, double stretch, const double *gap,
                        const ep_dual_points *x, const ep_dual_points *y, ptrdiff_t n) {
  ep_erf_mixture m;
  ep_tanh_mixture(&m);
  fill_mixture(&(row){value, slope, NULL, gap, x, y, n, 0}, &m, stretch);
}

/* the same from the table where there is one; a variance of 0 has no place in it */
static void tanh_row(const row *r, double stretch) {
  const ep_dual_points *y = r->y;
  if (!r->x->table || !(*r->x->P > 0)) {
    R(ep_dual_mixture)(r->value, r->slope, stretch, r->gap, r->x, y, r->n);
    return;
  }
  R(ep_dual_table_row)(r->value, r->slope, r->x->table, r->gap, *r->x->rho, y->rho, r->n);
  for (ptrdiff_t j = 0; j < r->n; j++)
    if (!(y->P[j] > 0)) {
      const ep_dual_points zero = {.P = y->P + j, .root = y->root + j};
      R(ep_dual_mixture)(r->value + j, r->slope + j, stretch, r->gap + j, r->x, &zero, 1);
    }
}

static void fill_tanh(const row *r) { tanh_row(r, 1); }

/* sigmoid(u) = (1 + tanh(u/2))/2 */
static void fill_sigmoid(const row *r) {
  tanh_row(r, 0.5);
  for (ptrdiff_t j = 0; j < r->n; j++) {
    r->value[j] = 0.25 + 0.25 * r->value[j];
    r->slope[j] *= 0.25;
  }
}

/* atan(u / v), u >= 0, v > 0 */
static inline double angle(double u, double v) {
  const double x = (u < v ? u : v) / (u < v ? v : u), t = x * arc(x * x);
  return u < v ? t : PI / 2 - t;
}

/* One pair of the mixture of the centred softplus: with G(u) = int_0^u erf(s x) dx, H likewise with z,
 *   E G(u) H(v) = 2r/pi (whole - fall),  E erf(su) erf(zv) = +-2/pi theta,
 * theta0 = atan q that of c = 1, `whole` the value there; a, b, q, v as for add_erf, h = 1 - |c|, theta = theta0 - delta:
 *   whole = theta0 + sqrt(ab)/((1+p)(1+o)) - sqrt(ab)/(1/y + po),  p = sqrt(1+a), o = sqrt(1+b)
 *   fall = delta + h theta - q h (2 - h)/(1 + v),  tan delta = q (v - 1 + h)/(v + (1 - h) q^2). */
static void add_softplus(const row *r, double w, double s, double z) {
  const double a = 2 * s * s * *r->x->P, p = sqrt(1 + a), alpha = sqrt(a) / (1 + p);
  const double root = 2 * s * z * *r->x->root;
  const double *B = r->y->P, *root_B = r->y->root, *gap = r->gap;
  double *value = r->value, *slope = r->slope, *next = r->next;
#pragma omp simd
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double b = 2 * z * z * B[j], o = sqrt(1 + b), v0 = sqrt(1 + a + b), ab = root * root_B[j];
    const double q = ab / v0, h = gap[j] < 1 ? gap[j] : 2 - gap[j], less = q * (h * (2 - h));
    const double v = sqrt(1 + q * less), over = less / (1 + v), theta0 = angle(q, 1);
    const double delta = angle(q * (q * over + h), v + (1 - h) * (q * q)), theta = theta0 - delta;
    value[j] += w * (theta0 + alpha * (sqrt(b) / (1 + o)) - ab / (v0 + p * o));
    next[j] += w * (delta + h * theta - over);
    const double turn =
        gap[j] < 1 ? theta : -theta; /* before the product: fused alike in every place */
    slope[j] += w * turn;
  }
}

/* phi(u) = u + g(u), g(u) = 2 log cosh(u/2) even with slope tanh(u/2): E u g(v) = C E g'(v) = 0, so S = C + E g g and
 * S' = 1 + E g' g'. Until the last loop value and next hold what add_softplus calls whole and fall. */
static void fill_csoftplus(const row *r) {
  ep_erf_mixture m;
  ep_tanh_mixture(&m);
  const size_t bytes = (size_t)r->n * sizeof(double);
  memset(r->value, 0, bytes);
  memset(r->slope, 0, bytes);
  memset(r->next, 0, bytes);
  for (int k = 0; k < m.terms; k++)
    for (int l = 0; l < m.terms; l++)
      if (m.weight[k] * m.weight[l] > 1e-18)
        add_softplus(r, m.weight[k] * m.weight[l], 0.5 * m.scale[k], 0.5 * m.scale[l]);
  const double A = *r->x->P;
  for (ptrdiff_t j = 0; j < r->n; j++) {
    const double root = *r->x->root * r->y->root[j], B = r->y->P[j];
    const double whole = root * (1 + 2 / PI * r->value[j]);
    const double fall = root * (r->gap[j] + 2 / PI * r->next[j]);
    const double both = r->x->norm ? *r->x->norm * r->y->norm[j] : 0;
    const double rest = fabs(A - B) > 1e-8 * (A + B) ? fmax(0, both - whole) : 0;
    r->value[j] = whole - fall;
    r->slope[j] = 1 + 2 / PI * r->slope[j];
    r->next[j] = both > 0 ? (fall + rest) / both : 1;
  }
}

typedef void fill(const row *r);

/* next = 1 - S / sqrt(S_A S_B) for bounded phi, whose next layer has a variance of order 1 and so forgives an error
 * of the last digit. Almost equal points: S(A,A,A) - S = A gap S'(gap/2) to second order in A gap. */
static void bounded_gap(const row *r, fill *f) {
  const double A = *r->x->P, a = *r->x->root, norm = *r->x->norm;
  const double *B = r->y->P, *b = r->y->root;
  const double *value = r->value, *gap = r->gap;
  double *next = r->next, least = INFINITY; /* of b gap */
  if (r->x->over && r->y->over) {
    const double one = *r->x->over, *over = r->y->over;
#pragma omp simd reduction(min : least)
    for (ptrdiff_t j = 0; j < r->n; j++) {
      const double e = 1 - one * over[j] * value[j], far = b[j] * gap[j];
      next[j] = e > 0 ? e : 0;
      least = far < least ? far : least;
    }
  } else {
    for (ptrdiff_t j = 0; j < r->n; j++) {
      const double both = norm * r->y->norm[j], e = (both - value[j]) / both;
      next[j] = both > 0 ? (e > 0 ? e : 0) : 1;
      least = fmin(least, b[j] * gap[j]);
    }
  }
  const bool close = !(a * least > 1e-5);
  for (ptrdiff_t j = 0; close && j < r->n; j++) {
    const double both = norm * r->y->norm[j];
    if (a * b[j] * gap[j] > 1e-5 || fabs(A - B[j]) > 1e-8 * (A + B[j]) || !(both > 0)) continue;
    const double middle = 0.5 * gap[j];
    double middle_value, slope = 0, unused;
    const ep_dual_points *y = r->y, other = {.P = B + j,
                                             .root = b + j,
                                             .norm = y->norm + j,
                                             .rho = y->rho ? y->rho + j : NULL,
                                             .table = y->table};
    if (middle > 0) f(&(row){&middle_value, &slope, &unused, &middle, r->x, &other, 1, r->p});
    next[j] = a * b[j] * gap[j] * slope / both;
  }
}

void R(ep_dual_theta)(double *theta, const double *S, const double *slope, double w, double b,
                      ptrdiff_t n) {
  if (slope) {
#pragma omp simd
    for (ptrdiff_t k = 0; k < n; k++) theta[k] = w * (S[k] + theta[k] * slope[k]) + b;
  } else {
#pragma omp simd
    for (ptrdiff_t k = 0; k < n; k++) theta[k] = w * S[k] + b;
  }
}

/* in the order of EP_DUALS */
void R(ep_dual_fill)(const ep_dual_job *job, int kind, bool next) {
#define X(name, bounded, error, stretch) {fill_##name, bounded},
  static const struct {
    fill *f;
    bool bounded; /* f leaves next[] to bounded_gap */
  } fills[] = {EP_DUALS(X)};
#undef X
  fills[kind].f(job);
  if (next && fills[kind].bounded) bounded_gap(job, fills[kind].f);
}
