/* What is known about the duals of the activations; the loops are in dual_double.c. */
#include "kernel/dual_table.h"

#include <eigenpair/analytic.h>
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

struct ep_dual_kind {
  const char *name;
  double error; /* of S and S', relative to sqrt(S(A,A,A) S(B,B,B)) */
  double
      stretch; /* phi = some constant + the mixture of tanh(stretch u); 0: a closed form; negative: see dual.h */
};

#define X(name, bounded, error, stretch) {#name, error, stretch},
static const ep_dual_kind kinds[] = {EP_DUALS(X)};
#undef X

/* g(k) = 8k sum_n (-1)^{n+1} n^2 exp(-2 n^2 k^2), and for small k its theta transform,
 * sqrt(2 pi) / k^2 sum_{n odd} (2 e - 1) exp(-e), e = n^2 pi^2 / 8 k^2 */
static double kolmogorov_density(double k) {
  double sum = 0;
  for (int n = 1; n <= 6; n++) {
    const double odd = 2 * n - 1, e = odd * odd * PI * PI / (8 * k * k);
    sum += k > 0.8 ? 8 * k * (n % 2 ? n * n : -n * n) * exp(-2.0 * n * n * k * k)
                   : sqrt(2 * PI) / (k * k) * (2 * e - 1) * exp(-e);
  }
  return sum;
}

void ep_tanh_mixture(ep_erf_mixture *out) {
  const double step = 0.12, middle = -0.12686; /* of log k: there g(k) k is e^-36 at both ends */
  out->terms = EP_TANH_TERMS;
  for (int i = 0; i < EP_TANH_TERMS; i++) {
    const double k = exp(middle + step * (i - 0.5 * (EP_TANH_TERMS - 1)));
    out->scale[i] = 1 / (sqrt(2) * k);
    out->weight[i] = step * k * kolmogorov_density(k);
  }
}

const ep_dual_kind *ep_dual_find(const ep_activation *phi) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, ep_activation_label(phi)) == 0) return &kinds[i];
  return NULL;
}

void ep_dual_row(double *value, double *slope, double *next, const ep_dual_kind *kind,
                 double parameter, const double *gap, const ep_dual_points *x,
                 const ep_dual_points *y, ptrdiff_t n) {
  const ep_dual_job job = {value, slope, next, gap, x, y, n, parameter};
  EP_PICK_DOUBLE(ep_dual_fill)(&job, (int)(kind - kinds), true);
}

void ep_dual(double *value, double *slope, const ep_activation *phi, const ep_moments *m) {
  const ep_dual_kind *kind = ep_dual_find(phi);
  const double root_A = sqrt(m->A), root_B = sqrt(m->B);
  const double gap = m->gap > 0 ? fmin(m->gap, 2) : 0;
  double S = NAN, S1 = NAN, next;
  const ep_dual_points x = {.P = &m->A, .root = &root_A}, y = {.P = &m->B, .root = &root_B};
  const ep_dual_job job = {&S, &S1, &next, &gap, &x, &y, 1, phi->parameter};
  if (kind) EP_PICK_DOUBLE(ep_dual_fill)(&job, (int)(kind - kinds), false);
  if (value) *value = S;
  if (slope) *slope = S1;
}

double ep_dual_error(const ep_activation *phi) {
  const ep_dual_kind *kind = ep_dual_find(phi);
  return kind ? kind->error : INFINITY;
}

double ep_analytic_error(const ep_activation *phi) {
  const ep_dual_kind *kind = ep_dual_find(phi);
  return ep_dual_error(phi) + (kind && kind->stretch > 0 ? EP_TABLE_ERROR : 0);
}

const char *ep_dual_way(const ep_activation *phi) {
  const ep_dual_kind *kind = ep_dual_find(phi);
  return kind && kind->stretch != 0 ? "quadrature" : "closed form";
}

ep_status ep_dual_tabulate(ep_work *work, ep_dual_table *table, const ep_dual_kind *kind,
                           double least, double most, double entries) {
  *table = (ep_dual_table){0};
  if (!(kind->stretch > 0) || !(least > 0) || !isfinite(most)) return EP_OK;
  return ep_dual_table_new(work, table, EP_PICK_DOUBLE(ep_dual_mixture), kind->stretch, least, most,
                           entries);
}
