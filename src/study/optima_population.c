#include "study/optima_population.h"

#include "data/patterns.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* room for n points in R^d, all of mass 1 */
static ep_status begin(ep_population *p, ptrdiff_t n, ptrdiff_t d) {
  EP_TRY(ep_activation_parse(&p->layer.h, "relu"));
  EP_TRY(ep_mat_new(&p->layer.X, EP_DOUBLE, n, d));
  EP_TRY(ep_mat_new(&p->layer.alpha.mass, EP_DOUBLE, 1, n));
  ep_mat_fill(&p->layer.alpha.mass, 1);
  return EP_OK;
}

static ep_status categorical(ep_population *out, ptrdiff_t m, const double *p, double tilt,
                             uint64_t seed) {
  EP_TRY(begin(out, m, m));
  EP_TRY(ep_patterns(&out->U, m, tilt, seed));
  for (ptrdiff_t i = 0; i < m; i++) {
    if (p) *ep_d(&out->layer.alpha.mass, 0, i) = (double)m * p[i];
    for (ptrdiff_t j = 0; j < m; j++) {
      double others = 0;
      for (ptrdiff_t k = 0; k < m; k++) others += k == i || tilt > 0 ? 0 : *ep_d(&out->U, j, k);
      *ep_d(&out->layer.X, i, j) = *ep_d(&out->U, j, i) - 1e-14 * others;
    }
  }
  return EP_OK;
}

static ep_status summation(ep_population *out, ptrdiff_t m, const double *q, double tilt,
                           uint64_t seed) {
  const ptrdiff_t n = (ptrdiff_t)1 << m;
  EP_TRY(begin(out, n, m));
  EP_TRY(ep_patterns(&out->U, m, tilt, seed));
  for (ptrdiff_t i = 0; i < n; i++) {
    double *mass = ep_d(&out->layer.alpha.mass, 0, i);
    *mass = (double)n;
    for (ptrdiff_t k = 0; k < m; k++) {
      const double on = sqrt((1 - q[k]) / q[k]), off = -sqrt(q[k] / (1 - q[k]));
      *mass *= i >> k & 1 ? q[k] : 1 - q[k];
      for (ptrdiff_t j = 0; j < m; j++)
        *ep_d(&out->layer.X, i, j) += *ep_d(&out->U, j, k) * (i >> k & 1 ? on : off);
    }
  }
  return EP_OK;
}

static ep_status plane(ep_population *out, ptrdiff_t angles, const double *radius, int count,
                       double s) {
  EP_TRY(ep_activation_parse(&out->layer.h, "relu"));
  EP_TRY(ep_mat_new(&out->layer.X, EP_DOUBLE, angles * count, 2));
  for (ptrdiff_t i = 0; i < angles * count; i++) {
    const double t = 2 * pi * ((double)(i / count) + 0.5) / (double)angles;
    *ep_d(&out->layer.X, i, 0) = s * radius[i % count] * cos(t);
    *ep_d(&out->layer.X, i, 1) = radius[i % count] * sin(t);
  }
  return EP_OK;
}

ep_status ep_population_categorical(ep_population *out, ptrdiff_t m, const double *p, double tilt,
                                    uint64_t seed) {
  *out = (ep_population){0};
  const ep_status st = categorical(out, m, p, tilt, seed);
  if (st) ep_population_free(out);
  return st;
}

ep_status ep_population_summation(ep_population *out, ptrdiff_t m, const double *q, double tilt,
                                  uint64_t seed) {
  *out = (ep_population){0};
  const ep_status st = summation(out, m, q, tilt, seed);
  if (st) ep_population_free(out);
  return st;
}

ep_status ep_population_summation_of(ep_population *out, ptrdiff_t m, double q, uint64_t seed) {
  double all[EP_PATTERNS];
  for (ptrdiff_t k = 0; k < m; k++) all[k] = q;
  return ep_population_summation(out, m, all, 0, seed);
}

ep_status ep_population_plane(ep_population *out, ptrdiff_t angles, const double *radius, int count,
                              double s) {
  *out = (ep_population){0};
  const ep_status st = plane(out, angles, radius, count, s);
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
