#include "study/optima_population.h"

#include "data/patterns.h"

#include <math.h>

/* ---- points */

/* patterns, room for n points, and alpha_ij = n^2 p_i p_j from p in column 0 of the weights */
static ep_status begin(ep_population *p, ptrdiff_t m, ptrdiff_t n, double tilt, uint64_t seed) {
  EP_TRY(ep_activation_parse(&p->layer.h, "relu"));
  EP_TRY(ep_mat_new(&p->layer.X, EP_DOUBLE, n, m));
  EP_TRY(ep_mat_new(&p->layer.alpha.given, EP_DOUBLE, n, n));
  p->layer.alpha.kind = EP_ALPHA_GIVEN;
  return ep_patterns(&p->U, m, tilt, seed);
}

static ep_status categorical(ep_population *out, ptrdiff_t m, uint64_t seed) {
  EP_TRY(begin(out, m, m, 0, seed));
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < m; j++) {
      double others = 0;
      for (ptrdiff_t k = 0; k < m; k++) others += k == i ? 0 : *ep_d(&out->U, j, k);
      *ep_d(&out->layer.X, i, j) = *ep_d(&out->U, j, i) - 1e-14 * others;
      *ep_d(&out->layer.alpha.given, i, j) = 1;
    }
  return EP_OK;
}

static ep_status summation(ep_population *out, ptrdiff_t m, double q, double tilt, uint64_t seed) {
  const ptrdiff_t n = (ptrdiff_t)1 << m;
  const double on = sqrt((1 - q) / q), off = -sqrt(q / (1 - q));
  double p[1 << EP_PATTERNS];
  EP_TRY(begin(out, m, n, tilt, seed));
  for (ptrdiff_t i = 0; i < n; i++) {
    p[i] = 1;
    for (ptrdiff_t k = 0; k < m; k++) {
      p[i] *= i >> k & 1 ? q : 1 - q;
      for (ptrdiff_t j = 0; j < m; j++)
        *ep_d(&out->layer.X, i, j) += *ep_d(&out->U, j, k) * (i >> k & 1 ? on : off);
    }
  }
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++)
      *ep_d(&out->layer.alpha.given, i, j) = (double)(n * n) * p[i] * p[j];
  return EP_OK;
}

ep_status ep_population_categorical(ep_population *out, ptrdiff_t m, uint64_t seed) {
  *out = (ep_population){0};
  const ep_status st = categorical(out, m, seed);
  if (st) ep_population_free(out);
  return st;
}

ep_status ep_population_summation(ep_population *out, ptrdiff_t m, double q, double tilt,
                                  uint64_t seed) {
  *out = (ep_population){0};
  const ep_status st = summation(out, m, q, tilt, seed);
  if (st) ep_population_free(out);
  return st;
}

void ep_population_free(ep_population *p) {
  ep_layer_free(&p->layer);
  ep_mat_free(&p->U);
}

void ep_population_pattern(double *u, const ep_population *p, ptrdiff_t m) {
  for (ptrdiff_t j = 0; j < p->U.rows; j++) u[j] = *ep_d(&p->U, j, m);
}
