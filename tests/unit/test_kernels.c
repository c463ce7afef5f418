/* The hot loops of every level that this processor can run, beside the plain ones: the same to rounding. */
#include "core/real.h"
#include "random_mat.h"

#include <eigenpair/analytic.h>
#include <eigenpair/kernel.h>
#include <eigenpair/machine.h>
#include <eigenpair/network.h>
#include <eigenpair/packed.h>
#include <eigenpair/stream.h>
#include <string.h>

enum { P = 37, D = 61, M = 45, Z = 3 };

static int best;

static int find_best(void **state) {
  (void)state;
  CHECK_OK(ep_machine_check());
  best = ep_level; /* without EP_KERNELS the highest there is */
  return 0;
}

static double tolerance(ep_precision prec) { return prec == EP_SINGLE ? 2e-5 : 1e-13; }

/* out: all that the piece of work computes, one after the other */
typedef void piece(const ep_mat *out, ep_precision prec);

static void check(const char *name, piece *work, ptrdiff_t size) {
  for (int prec = 0; prec < 2; prec++) {
    ep_mat plain, other;
    CHECK_OK(ep_mat_new(&plain, (ep_precision)prec, 1, size));
    CHECK_OK(ep_mat_new(&other, (ep_precision)prec, 1, size));
    ep_level = 0;
    work(&plain, (ep_precision)prec);
    const double scale = ep_mat_max(&plain);
    assert_true(scale > 0);
    for (ep_level = 1; ep_level <= best; ep_level++) {
      ep_mat_fill(&other, NAN);
      work(&other, (ep_precision)prec);
      for (ptrdiff_t j = 0; j < size; j++)
        if (!(fabs(ep_get(&plain, 0, j) - ep_get(&other, 0, j)) <=
              tolerance((ep_precision)prec) * scale))
          fail_msg("%s, %s: %.17g with %s, %.17g with plain kernels", name,
                   prec == EP_SINGLE ? "single" : "double", ep_get(&other, 0, j),
                   ep_machine_kernels(), ep_get(&plain, 0, j));
    }
    ep_level = best;
    ep_mat_free(&plain);
    ep_mat_free(&other);
  }
}

/* the part of out that begins at `from`, as a matrix */
static ep_mat part(const ep_mat *out, ptrdiff_t from, ptrdiff_t rows, ptrdiff_t cols) {
  const ep_mat rest = ep_mat_cols(out, from, rows * cols);
  return ep_mat_view(out->prec, rows, cols, rest.data);
}

static ep_mat sparse(ep_precision prec) {
  ep_mat X = random_mat(prec, P, D, 1);
  for (ptrdiff_t i = 0; i < P; i++)
    for (ptrdiff_t j = 0; j < D; j++)
      if ((i * 7 + j * 3) % 11 < 8) ep_set(&X, i, j, 0);
  return X;
}

static void packed(const ep_mat *out, ep_precision prec) {
  ep_mat X = sparse(prec), V = random_mat(prec, M, D, 2);
  const ep_mat A = part(out, 0, P, M), G = part(out, P * M, M, D);
  ep_packed *p;
  CHECK_OK(ep_packed_new(&p, &X, 1e6));
  assert_true(ep_packed_density(p) < 1);
  ep_packed_mul_nt(&A, 0.5, p, &V);
  ep_packed_mul_tn(&G, -2, &A, p, 0);
  ep_packed_free(p);
  ep_mat_free(&X);
  ep_mat_free(&V);
}

static const char *activation;

static void passes(const ep_mat *out, ep_precision prec) {
  ep_net net, grad;
  ep_net_config config;
  ep_stream *s;
  ep_mat X = sparse(prec);
  ep_options_default(ep_net_options, &config);
  strcpy(config.activation, activation);
  config.width = M;
  config.outputs = Z;
  config.depth = 2;
  CHECK_OK(ep_net_start(&net, &config, D, 3, prec));
  CHECK_OK(ep_net_new(&grad, &net.shape, prec));
  const ep_mat F = part(out, 0, P, Z), V = part(out, P * Z, M, D),
               W = part(out, P * Z + M * D, M, Z);
  CHECK_OK(ep_stream_new(&s, &X, &net.shape, 1e4, EP_PASS_BACKWARD, 1e9));
  ep_stream_forward(&F, s, &net);
  ep_stream_backward(&grad, s, &net, &F);
  ep_mat_copy(&V, &grad.V[0]);
  ep_mat_copy(&W, &grad.W);
  ep_stream_free(s);
  ep_net_free(&net);
  ep_net_free(&grad);
  ep_mat_free(&X);
}

static void tangent_kernel(const ep_mat *out, ep_precision prec) {
  ep_net net;
  ep_net_config config;
  ep_mat X = sparse(prec);
  ep_options_default(ep_net_options, &config);
  config.width = M;
  config.outputs = Z;
  CHECK_OK(ep_net_start(&net, &config, D, 3, prec));
  const ep_mat K = part(out, 0, P, P * Z * Z);
  CHECK_OK(ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_FULL, 1e9));
  ep_net_free(&net);
  ep_mat_free(&X);
}

static void analytic_kernel(const ep_mat *out, ep_precision prec) {
  ep_analytic a = {.depth = 2, .input_scale = 1};
  ep_mat X = sparse(prec);
  ep_options_default(ep_variance_options, &a.config);
  CHECK_OK(ep_activation_parse(&a.phi, activation));
  const ep_mat K = part(out, 0, P, P);
  CHECK_OK(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  ep_mat_free(&X);
}

static void levels_agree(void **state) {
  (void)state;
  check("packed products", packed, P * M + M * D);
  check("tangent kernel", tangent_kernel, P * P * Z * Z);
  for (int k = 0; ep_activation_name(k); k++) {
    activation = ep_activation_name(k);
    if (strcmp(activation, "exp") == 0) continue; /* overflows */
    check(activation, passes, P * Z + M * D + M * Z);
    if (strcmp(activation, "monomial")) check(activation, analytic_kernel, P * P);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(levels_agree)};
  return cmocka_run_group_tests(tests, find_best, NULL);
}
