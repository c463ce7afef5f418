#pragma once
/* What the tests of domains and of learnability share. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/dataset.h>
#include <eigenpair/domain.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

static inline ep_domain_kernel kernel(const char *phi, int depth, double bias, double radius) {
  ep_domain_kernel k = {.kind = EP_NTK, .radius = radius};
  k.network = (ep_analytic){.depth = depth, .input_scale = 1};
  ep_options_default(ep_variance_options, &k.network.config);
  k.network.config.bias_variance = bias;
  CHECK_OK(ep_activation_parse(&k.network.phi, phi));
  return k;
}

static inline ep_domain *domain(ep_domain_kind kind, ptrdiff_t size, const ep_domain_kernel *k) {
  ep_domain *d;
  CHECK_OK(ep_domain_new(&d, kind, size, k));
  return d;
}

/* the same domain as a sample: its points one by one, the kernel as a matrix */
static inline ep_domain *dense(ep_domain_kind kind, ptrdiff_t size, const ep_domain_kernel *k) {
  ep_domain *d = domain(kind, size, k), *s;
  const ptrdiff_t M = (ptrdiff_t)ep_domain_spectrum(d)->size;
  ptrdiff_t *index = calloc((size_t)M, sizeof *index);
  ep_mat X, K;
  for (ptrdiff_t i = 0; i < M; i++) index[i] = i;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, M, ep_domain_dimension(d)));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, M, M));
  CHECK_OK(ep_domain_points(&X, d, index, 0, 0));
  CHECK_OK(ep_analytic_kernel(NULL, &K, &k->network, k->kind, &X, NULL));
  CHECK_OK(ep_domain_sample(&s, &K, DBL_EPSILON));
  ep_mat_free(&X);
  ep_domain_free(d);
  free(index);
  return s;
}

static inline int falling(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}
