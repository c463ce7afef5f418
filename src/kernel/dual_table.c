/* How a table is made; dual_table_double.c uses it. */
#include "kernel/dual_table.h"

#include <eigenpair/matrix.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { LEAST_DEGREE = 32, MOST_DEGREE = 512 };
/* where a table ends: the last coefficient beside the largest */
static const double last_coefficient = 3e-16;

double ep_dual_table_rho(const ep_dual_table *t, double P) {
  return t->half > 0 ? (log(P) - t->middle) / t->half : 0;
}

/* f at the nodes cos(pi (k + 1/2) / n) -> coefficients of T_d; cosines[i] = cos(pi i / 2n), i < 4n */
static void transform(double *a, const double *f, ptrdiff_t n, ptrdiff_t terms,
                      const double *cosines) {
  for (ptrdiff_t d = 0; d < terms; d++) {
    double sum = 0;
    for (ptrdiff_t k = 0; k < n; k++) sum += f[k] * cosines[d * (2 * k + 1) % (4 * n)];
    a[d] = sum * (d ? 2. : 1.) / (double)n;
  }
}

/* scratch of a table while it is made */
typedef struct {
  ep_dual_mixture_d_fn *exact;
  double stretch;
  double cosines[4 * MOST_DEGREE];
  double gap[MOST_DEGREE], P[MOST_DEGREE], root[MOST_DEGREE]; /* of the nodes */
  double f[MOST_DEGREE], g[MOST_DEGREE];
} maker;

/* S / c and S' at the nodes of 1 - 2w, for two variances */
static void at_nodes(maker *m, double A, double B, ptrdiff_t n) {
  const double root = sqrt(A);
  for (ptrdiff_t k = 0; k < n; k++) {
    const double s = sin(0.25 * PI * (double)(2 * k + 1) / (double)n); /* sqrt w = sin(t/2) */
    const double c = cos(0.25 * PI * (double)(2 * k + 1) / (double)n);
    m->gap[k] = s * s / (1 + c);
    m->P[k] = B;
    m->root[k] = sqrt(B);
  }
  const ep_dual_points x = {.P = &A, .root = &root}, y = {.P = m->P, .root = m->root};
  m->exact(m->f, m->g, m->stretch, m->gap, &x, &y, n);
  for (ptrdiff_t k = 0; k < n; k++) m->f[k] /= 1 - m->gap[k];
}

static void set_cosines(maker *m, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < 4 * n; i++) m->cosines[i] = cos(0.5 * PI * (double)i / (double)n);
}

/* how many coefficients matter: up to four small ones in a row, for single ones may happen to be; n: all of them */
static ptrdiff_t count(const double *a, ptrdiff_t n) {
  double top = 0;
  for (ptrdiff_t d = 0; d < n; d++) top = fmax(top, fabs(a[d]));
  for (ptrdiff_t d = 0, small = 0; d < n; d++) {
    small = fabs(a[d]) <= last_coefficient * top ? small + 1 : 0;
    if (small == 4) return d - 1;
  }
  return n;
}

/* The degree that the largest variance needs, which bends most; the nodes it was found with; 0: too many. */
static ptrdiff_t find_degree(maker *m, ptrdiff_t *nodes, double most) {
  double a[MOST_DEGREE];
  for (ptrdiff_t n = LEAST_DEGREE; n <= MOST_DEGREE; n *= 2) {
    set_cosines(m, n);
    at_nodes(m, most, most, n);
    transform(a, m->g, n, n, m->cosines);
    const ptrdiff_t slope = count(a, n);
    transform(a, m->f, n, n, m->cosines);
    const ptrdiff_t value = count(a, n), degree = slope > value ? slope : value;
    *nodes = n;
    if (degree <= 3 * n / 4) return degree;
  }
  return 0;
}

/* Norms are singular at log P = +-i pi: coefficients of T_a fall like r^-a, r = (pi + sqrt(pi^2 + half^2)) / half. */
static int find_norms(double half) {
  if (half < 1e-16) return 1;
  const double r = (PI + sqrt(PI * PI + half * half)) / half, n = ceil(-log(1e-15) / log(r));
  return n < EP_TABLE_NORMS ? (int)n : EP_TABLE_NORMS + 1;
}

/* coefficients of V and D: transforms in d, then in both norms */
static void fill(ep_dual_table *t, maker *m, ptrdiff_t nodes) {
  const ptrdiff_t q = t->norms, D = t->degree;
  double T[EP_TABLE_NORMS][EP_TABLE_NORMS], P[EP_TABLE_NORMS], a[2][MOST_DEGREE];
  memset(t->value, 0, (size_t)(q * q * D) * sizeof *t->value);
  memset(t->slope, 0, (size_t)(q * q * D) * sizeof *t->slope);
  for (ptrdiff_t i = 0; i < q; i++) {
    const double rho = cos(PI * ((double)i + 0.5) / (double)q);
    P[i] = exp(t->middle + t->half * rho);
    ep_chebyshev(T[i], rho, (int)q);
  }
  for (ptrdiff_t i = 0; i < q; i++)
    for (ptrdiff_t j = 0; j < q; j++) {
      at_nodes(m, P[i], P[j], nodes);
      transform(a[0], m->f, nodes, D, m->cosines);
      transform(a[1], m->g, nodes, D, m->cosines);
      for (ptrdiff_t k = 0; k < q; k++)
        for (ptrdiff_t l = 0; l < q; l++) {
          const double share = T[i][k] * T[j][l] * (k ? 2 : 1) * (l ? 2 : 1) / (double)(q * q);
          for (ptrdiff_t d = 0; d < D; d++) {
            t->value[(k * q + l) * D + d] += share * a[0][d];
            t->slope[(k * q + l) * D + d] += share * a[1][d];
          }
        }
    }
}

/* the largest error, relative to S and S' of equal points, in places between the nodes and at both ends */
static double error_of(const ep_dual_table *t, maker *m) {
  enum { PLACES = 23 };
  double value[PLACES], slope[PLACES], rho[PLACES], error = 0;
  for (int i = 0; i < 3; i++) {
    const double A = exp(t->middle + t->half * (0.93 * i - 0.93)), root = sqrt(A);
    for (int k = 0; k < PLACES; k++) {
      m->gap[k] = k < 11 ? pow(10, -11 + k) : k == 11 ? 0 : k == 12 ? 2 : 0.19 * (k - 12);
      m->P[k] = exp(t->middle + t->half * sin(5. * k));
      m->root[k] = sqrt(m->P[k]);
      rho[k] = ep_dual_table_rho(t, m->P[k]);
    }
    const ep_dual_points x = {.P = &A, .root = &root}, y = {.P = m->P, .root = m->root};
    m->exact(m->f, m->g, m->stretch, m->gap, &x, &y, PLACES);
    EP_PICK_DOUBLE(ep_dual_table_row)
    (value, slope, t, m->gap, ep_dual_table_rho(t, A), rho, PLACES);
    for (int k = 0; k < PLACES; k++)
      error = fmax(error,
                   fmax(fabs(value[k] - m->f[k]) / m->f[11], fabs(slope[k] - m->g[k]) / m->g[11]));
  }
  return error;
}

ep_status ep_dual_table_new(ep_work *work, ep_dual_table *t, ep_dual_mixture_d_fn *exact,
                            double stretch, double least, double most, double entries) {
  *t = (ep_dual_table){.middle = 0.5 * (log(least) + log(most)),
                       .half = 0.5 * (log(most) - log(least))};
  const double norms = find_norms(t->half);
  if (norms > EP_TABLE_NORMS || entries < 4 * LEAST_DEGREE * norms * norms) return EP_OK;
  maker *m;
  ptrdiff_t nodes;
  EP_TRY(ep_work_get(work, &m, 1, sizeof *m));
  m->exact = exact;
  m->stretch = stretch;
  const ptrdiff_t degree = find_degree(m, &nodes, most), size = (ptrdiff_t)(norms * norms) * degree;
  if (norms * (double)degree > EP_TABLE_MOST || entries < 4 * norms * norms * (double)nodes)
    return EP_OK;
  EP_TRY(ep_work_get(work, &t->value, size, sizeof *t->value));
  EP_TRY(ep_work_get(work, &t->slope, size, sizeof *t->slope));
  t->norms = (int)norms;
  t->degree = (int)degree;
  if (degree) fill(t, m, nodes);
  if (degree && !(error_of(t, m) <= 0.75 * EP_TABLE_ERROR)) t->degree = 0;
  return EP_OK;
}

/* sum of |coefficients| of those with a or b >= norms, or d >= degree; all of them are bounds of their terms */
static double left_out(const double *table, const ep_dual_table *t, int norms, int degree) {
  double sum = 0;
  for (int a = 0; a < t->norms; a++)
    for (int b = 0; b < t->norms; b++)
      for (int d = 0; d < t->degree; d++)
        if (a >= norms || b >= norms || d >= degree)
          sum += fabs(table[(a * t->norms + b) * t->degree + d]);
  return sum;
}

/* the value of equal points in the middle of the table: T_d(1) = 1, T_a(0) T_b(0) of a = b = 0 */
static double at_equal(const double *table, const ep_dual_table *t) {
  double sum = 0;
  for (int d = 0; d < t->degree; d++) sum += table[d];
  return fabs(sum);
}

static bool shorter_will_do(const ep_dual_table *t, int norms, int degree, double error) {
  return left_out(t->value, t, norms, degree) <= error * at_equal(t->value, t) &&
         left_out(t->slope, t, norms, degree) <= error * at_equal(t->slope, t);
}

static void keep(double *table, const ep_dual_table *t, int norms, int degree) {
  for (int a = 0; a < norms; a++)
    for (int b = 0; b < norms; b++)
      memmove(table + (a * norms + b) * degree, table + (a * t->norms + b) * t->degree,
              (size_t)degree * sizeof *table);
}

void ep_dual_table_shorten(ep_dual_table *t, double error) {
  int norms = t->norms, degree = t->degree;
  while (norms > 1 && shorter_will_do(t, norms - 1, degree, error / 2)) norms--;
  while (degree > 1 && shorter_will_do(t, norms, degree - 1, error)) degree--;
  keep(t->value, t, norms, degree);
  keep(t->slope, t, norms, degree);
  t->norms = norms, t->degree = degree;
}
