#include "study/optima_population.h"

#include <eigenpair/random.h>
#include <math.h>

/* ---- patterns */

/* |U'U - I|_2 */
static ep_status off_orthogonal(double *out, const ep_mat *U) {
  double lambda[EP_PATTERNS];
  ep_mat G;
  const ptrdiff_t m = U->cols;
  EP_TRY(ep_mat_new(&G, EP_DOUBLE, m, m));
  ep_mat_mul(&G, 1, U, EP_T, U, EP_N, 0);
  for (ptrdiff_t i = 0; i < m; i++) *ep_d(&G, i, i) -= 1;
  const ep_status st = ep_mat_eig_sym(&G, lambda);
  ep_mat_free(&G);
  *out = fmax(fabs(lambda[0]), fabs(lambda[m - 1]));
  return st;
}

/* U = columns of Q + t G, made unit */
static void mix(const ep_mat *U, const ep_mat *Q, double t, const ep_mat *G) {
  for (ptrdiff_t k = 0; k < U->cols; k++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < U->rows; j++) {
      *ep_d(U, j, k) = *ep_d(Q, j, k) + t * *ep_d(G, j, k);
      sum += *ep_d(U, j, k) * *ep_d(U, j, k);
    }
    for (ptrdiff_t j = 0; j < U->rows; j++) *ep_d(U, j, k) /= sqrt(sum);
  }
}

/* t by bisection, so that |U'U - I| is the tilt */
static ep_status make_patterns(ep_work *work, const ep_mat *U, double tilt, uint64_t seed) {
  const ptrdiff_t m = U->rows;
  ep_mat Q, R, G;
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, m, m));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, m, m));
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, m, m));
  ep_random_fill_normal(&Q, seed, EP_STREAM_DATA, 100);
  ep_random_fill_normal(&G, seed, EP_STREAM_DATA, 101);
  EP_TRY(ep_mat_qr(&Q, &R));
  double low = 0, high = 1, off = 0;
  for (int i = 0; i < 60; i++) {
    mix(U, &Q, (low + high) / 2, &G);
    EP_TRY(off_orthogonal(&off, U));
    if (off > tilt) high = (low + high) / 2;
    else low = (low + high) / 2;
  }
  mix(U, &Q, low, &G);
  return EP_OK;
}

/* ---- points */

/* patterns, room for n points, and alpha_ij = n^2 p_i p_j from p in column 0 of the weights */
static ep_status begin(ep_population *p, ptrdiff_t m, ptrdiff_t n, double tilt, uint64_t seed) {
  ep_work work = {0};
  EP_TRY(ep_activation_parse(&p->layer.h, "relu"));
  EP_TRY(ep_mat_new(&p->U, EP_DOUBLE, m, m));
  EP_TRY(ep_mat_new(&p->layer.X, EP_DOUBLE, n, m));
  EP_TRY(ep_mat_new(&p->layer.alpha.given, EP_DOUBLE, n, n));
  p->layer.alpha.kind = EP_ALPHA_GIVEN;
  const ep_status st = make_patterns(&work, &p->U, tilt, seed);
  ep_work_free(&work);
  return st;
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
