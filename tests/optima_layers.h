#pragma once
/* Layers and generative models that the tests of optima share. */
#include "random_mat.h"

#include <eigenpair/optima.h>
#include <string.h>

static inline ep_optima_config config_of(long starts) {
  ep_optima_config c;
  ep_options_default(ep_optima_options, &c);
  c.starts = starts;
  return c;
}

static inline ep_layer layer_of(const ep_mat *X, const char *activation, const char *weights) {
  ep_layer l = {.X = *X};
  CHECK_OK(ep_activation_parse(&l.h, activation));
  CHECK_OK(ep_alpha_load(&l.alpha, weights, ""));
  return l;
}

static inline void normalise(double *w, ptrdiff_t d) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < d; j++) sum += w[j] * w[j];
  for (ptrdiff_t j = 0; j < d; j++) w[j] /= sqrt(sum);
}

/* what the tests go over */
static const char *const activations[] = {"relu", "leaky:0.3", "linear", "monomial:3"};
static const char *const weightings[] = {"uniform", "gaussian:0.4", "infonce:0.4", "infonce:0.4,1",
                                         "triplet:0.2"};

/* ---- populations: points with probabilities p are weights alpha_ij = N^2 p_i p_j */

typedef struct {
  ep_mat U, X; /* columns u_m; the points */
  ep_layer layer;
} population;

static inline ep_mat orthonormal(ptrdiff_t m) {
  ep_mat U = random_mat(EP_DOUBLE, m, m, 9), R;
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, m, m));
  CHECK_OK(ep_mat_qr(&U, &R));
  ep_mat_free(&R);
  return U;
}

static inline population with_probabilities(ep_mat U, ep_mat X, const double *p,
                                            const char *activation) {
  population s = {.U = U, .X = X};
  s.layer = layer_of(&s.X, activation, "uniform");
  s.layer.alpha.kind = EP_ALPHA_GIVEN;
  const ptrdiff_t n = X.rows;
  CHECK_OK(ep_mat_new(&s.layer.alpha.given, EP_DOUBLE, n, n));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++)
      *ep_d(&s.layer.alpha.given, i, j) = (double)(n * n) * p[i] * p[j];
  return s;
}

/* x = u_m with probability p_m */
static inline population categorical(ptrdiff_t m, const double *p) {
  ep_mat U = orthonormal(m), X;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, m, m));
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < m; j++) *ep_d(&X, i, j) = *ep_d(&U, j, i);
  return with_probabilities(U, X, p, "relu");
}

/* x = U y, y_m = sqrt((1-q)/q) with probability q, else -sqrt(q/(1-q)): all 2^m of them */
static inline population summation(ptrdiff_t m, double q, const char *activation) {
  ep_mat U = orthonormal(m), X;
  double p[256];
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, (ptrdiff_t)1 << m, m));
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    p[i] = 1;
    for (ptrdiff_t k = 0; k < m; k++) {
      const bool on = i >> k & 1;
      p[i] *= on ? q : 1 - q;
      for (ptrdiff_t j = 0; j < m; j++)
        *ep_d(&X, i, j) += *ep_d(&U, j, k) * (on ? sqrt((1 - q) / q) : -sqrt(q / (1 - q)));
    }
  }
  return with_probabilities(U, X, p, activation);
}

static inline void population_free(population *s) {
  ep_alpha_free(&s->layer.alpha);
  ep_mat_free(&s->U);
  ep_mat_free(&s->X);
}

static inline void pattern(double *u, const population *s, ptrdiff_t m) {
  for (ptrdiff_t j = 0; j < s->U.rows; j++) u[j] = *ep_d(&s->U, j, m);
}
