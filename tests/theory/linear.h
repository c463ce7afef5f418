#pragma once
/* What the tests of linear self-supervised models share: C with a known spectrum, starts, the flow, descents. */
#include "random_mat.h"

#include <eigenpair/descent.h>
#include <eigenpair/linear.h>
#include <string.h>

/* a symmetric matrix with these eigenvalues */
static inline ep_mat with_spectrum(const double *lambda, ptrdiff_t d, uint32_t sub) {
  ep_mat Q = random_mat(EP_DOUBLE, d, d, sub), S, C;
  CHECK_OK(ep_retract(&Q, EP_RETRACT_QR));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, d, d));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, d, d));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(&S, i, j) = *ep_d(&Q, i, j) * lambda[j];
  ep_mat_mul(&C, 1, &S, EP_N, &Q, EP_T, 0);
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < i; j++) *ep_d(&C, i, j) = *ep_d(&C, j, i);
  ep_mat_free(&Q);
  ep_mat_free(&S);
  return C;
}

static const double mixed[] = {-1, -0.8, -0.6, -0.2, 0.1, 0.5, 0.9};
enum { D = 7 };

static inline ep_mat start(ptrdiff_t d, ptrdiff_t z, ptrdiff_t width, uint64_t seed) {
  ep_mat q;
  CHECK_OK(ep_mat_new(&q, EP_DOUBLE, d, z));
  CHECK_OK(ep_linear_start(&q, width, seed));
  return q;
}

static inline ep_mat copy_of(const ep_mat *A) {
  ep_mat B;
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, A->rows, A->cols));
  ep_mat_copy(&B, A);
  return B;
}

static inline void flow_to(const ep_mat *q, const double *lambda, double t) {
  ep_linear_info info;
  CHECK_OK(ep_linear_flow(q, &info, lambda, t, 1e-10));
}

static inline ep_descent_config config_of(int layers, ptrdiff_t width, ep_constraint constraint,
                                          ep_retraction retraction, double rate) {
  ep_descent_config c;
  ep_options_default(ep_descent_options, &c);
  c.layers = layers;
  c.width = width;
  c.rate = rate;
  c.constraint = constraint;
  c.retraction = retraction;
  return c;
}
