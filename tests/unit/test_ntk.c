/* Tangent kernels: against a Jacobian by differences and by single outputs, all layouts, one and two sets of
 * points, blocks of any size; kernel-vector products against the kernel. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/stream.h>
#include <eigenpair/kernel.h>
#include <string.h>

enum { N = 7, N2 = 5, D = 4, M = 6, Z = 3 };

static ep_net make_net(const char *activation, int depth, ep_precision prec) {
  ep_net net;
  ep_net_config config;
  ep_options_default(ep_net_options, &config);
  strcpy(config.activation, activation);
  config.width = M;
  config.outputs = Z;
  config.depth = depth;
  config.input_scale = depth == 3;
  CHECK_OK(ep_net_start(&net, &config, D, 3, prec));
  return net;
}

static ep_mat make_points(ptrdiff_t n, uint32_t sub, ep_precision prec) {
  ep_mat X = random_mat(prec, n, D, sub);
  for (int j = 0; j < D; j++) ep_set(&X, 1, j, 0);
  return X;
}

/* J (n Z x parameters), row x Z + i = df_i(x)/dtheta: backward passes of single outputs, which test_network
 * holds against central differences */
static ep_mat jacobian(const ep_net *net, const ep_mat *X) {
  ep_mat J, F, g;
  ep_net grad;
  ep_stream *s;
  CHECK_OK(ep_mat_new(&J, EP_DOUBLE, X->rows * Z, net->theta.cols));
  CHECK_OK(ep_mat_new(&F, X->prec, X->rows, Z));
  CHECK_OK(ep_mat_new(&g, X->prec, X->rows, Z));
  CHECK_OK(ep_net_new(&grad, &net->shape, X->prec));
  CHECK_OK(ep_stream_new(&s, X, &net->shape, 1, EP_PASS_BACKWARD, 1e9));
  for (ptrdiff_t r = 0; r < J.rows; r++) {
    ep_mat_fill(&g, 0);
    ep_set(&g, r / Z, r % Z, 1);
    ep_stream_forward(&F, s, net);
    ep_stream_backward(&grad, s, net, &g);
    const ep_mat row = ep_mat_rows(&J, r, 1);
    ep_mat_copy(&row, &grad.theta);
  }
  ep_stream_free(s);
  ep_net_free(&grad);
  ep_mat_free(&F);
  ep_mat_free(&g);
  return J;
}

/* K_ij(x, y) from the Jacobians */
static double entry(const ep_mat *J, const ep_mat *J2, ptrdiff_t x, ptrdiff_t y, ptrdiff_t i,
                    ptrdiff_t j) {
  double sum = 0;
  for (ptrdiff_t p = 0; p < J->cols; p++) sum += *ep_d(J, x * Z + i, p) * *ep_d(J2, y * Z + j, p);
  return sum;
}

static double expected(const ep_mat *J, const ep_mat *J2, ep_layout layout, ptrdiff_t x,
                       ptrdiff_t y, ptrdiff_t e) {
  double sum = 0;
  if (layout == EP_FULL) return entry(J, J2, x, y, e / Z, e % Z);
  if (layout == EP_DIAGONAL) return entry(J, J2, x, y, e, e);
  for (int i = 0; i < Z; i++) sum += entry(J, J2, x, y, i, i) / Z;
  return sum;
}

static void check_kernel(const ep_net *net, const ep_mat *X, const ep_mat *Y, ep_layout layout,
                         double memory) {
  const ptrdiff_t n2 = Y ? Y->rows : X->rows, e = ep_layout_entries(layout, Z);
  const double tol = X->prec == EP_SINGLE ? 1e-5 : 1e-12;
  ep_mat K, J = jacobian(net, X), J2 = jacobian(net, Y ? Y : X);
  CHECK_OK(ep_mat_new(&K, X->prec, X->rows, n2 * e));
  ep_mat_fill(&K, NAN);
  CHECK_OK(ep_ntk_empirical(NULL, &K, net, X, Y, layout, memory));
  double top = 0;
  for (ptrdiff_t x = 0; x < X->rows; x++)
    for (ptrdiff_t y = 0; y < n2; y++)
      for (ptrdiff_t k = 0; k < e; k++) {
        const double want = expected(&J, &J2, layout, x, y, k);
        CHECK_NEAR(ep_get(&K, x, y * e + k), want, tol * fmax(1, fabs(want)));
        top = fmax(top, fabs(want));
        const ptrdiff_t t = layout == EP_FULL ? k % Z * Z + k / Z : k;
        if (!Y) assert_true(ep_get(&K, x, y * e + k) == ep_get(&K, y, x * e + t));
      }
  assert_true(top > 0.1);
  ep_mat_free(&K);
  ep_mat_free(&J);
  ep_mat_free(&J2);
}

static void layouts(void **state) {
  (void)state;
  static const char *const activations[] = {"relu", "tanh", "linear", "erf", "gelu"};
  for (int a = 0; a < 5; a++)
    for (int depth = 1; depth <= 3; depth += 2)
      for (int prec = 0; prec < 2; prec++) {
        ep_net net = make_net(activations[a], depth, (ep_precision)prec);
        ep_mat X = make_points(N, 41, (ep_precision)prec),
               Y = make_points(N2, 42, (ep_precision)prec);
        for (int layout = 0; layout < 3; layout++)
          for (int two = 0; two < 2; two++)
            check_kernel(&net, &X, two ? &Y : NULL, (ep_layout)layout, 1e9);
        ep_net_free(&net);
        ep_mat_free(&X);
        ep_mat_free(&Y);
      }
}

/* Every block size from all points down to one gives the kernel. */
static void blocks(void **state) {
  (void)state;
  ep_net net = make_net("tanh", 3, EP_DOUBLE);
  ep_mat X = make_points(N, 41, EP_DOUBLE), Y = make_points(N2, 42, EP_DOUBLE);
  ptrdiff_t seen = 0;
  for (double memory = 40000; memory > 2000; memory *= 0.8) {
    ep_ntk_cost cost;
    if (ep_ntk_plan(&cost, &net, &X, NULL, EP_FULL, memory)) break;
    seen |= 1 << cost.block;
    check_kernel(&net, &X, NULL, EP_FULL, memory);
    check_kernel(&net, &X, NULL, EP_TRACE, memory);
    check_kernel(&net, &X, &Y, EP_FULL, memory);
  }
  assert_true((seen & 1 << 7) && (seen & 1 << 4) && (seen & 1 << 2) && (seen & 1 << 1));
  ep_mat K;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, N, N));
  CHECK_STATUS(ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_TRACE, 100), EP_ERR_ARG);
  CHECK_STATUS(ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_FULL, 1e9), EP_ERR_SHAPE);
  ep_mat_free(&K);
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* J(Y) J(X)' g = sum_x K(y, x) g(x) */
static void products(void **state) {
  (void)state;
  for (int depth = 1; depth <= 3; depth++) {
    ep_net net = make_net("tanh", depth, EP_DOUBLE);
    ep_mat X = make_points(N, 41, EP_DOUBLE), Y = make_points(N2, 42, EP_DOUBLE);
    ep_mat g = random_mat(EP_DOUBLE, N, Z, 43), out, K;
    CHECK_OK(ep_mat_new(&out, EP_DOUBLE, N2, Z));
    CHECK_OK(ep_mat_new(&K, EP_DOUBLE, N2, N * Z * Z));
    CHECK_OK(ep_ntk_empirical(NULL, &K, &net, &Y, &X, EP_FULL, 1e9));
    CHECK_OK(ep_ntk_apply(NULL, &out, &net, &X, &Y, &g, 1e9));
    for (int y = 0; y < N2; y++)
      for (int i = 0; i < Z; i++) {
        double sum = 0;
        for (int x = 0; x < N; x++)
          for (int j = 0; j < Z; j++) sum += *ep_d(&K, y, x * Z * Z + i * Z + j) * *ep_d(&g, x, j);
        CHECK_CLOSE(*ep_d(&out, y, i), sum, 1e-12);
      }
    ep_net_free(&net);
    ep_mat_free(&X);
    ep_mat_free(&Y);
    ep_mat_free(&g);
    ep_mat_free(&out);
    ep_mat_free(&K);
  }
}

static void drift(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_SINGLE, 3, 4, 1), B = random_mat(EP_SINGLE, 3, 4, 1);
  ep_set(&B, 1, 2, ep_get(&A, 1, 2) + 3);
  ep_set(&B, 2, 0, ep_get(&A, 2, 0) - 4);
  const ep_drift d = ep_kernel_drift(&A, &B);
  CHECK_NEAR(d.max, 4, 1e-6);
  CHECK_NEAR(d.frobenius, 5, 1e-6);
  CHECK_NEAR(d.relative_frobenius, 5 / sqrt(ep_mat_norm2(&A)), 1e-6);
  ep_mat_free(&A);
  ep_mat_free(&B);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_net net = make_net("relu", 3, EP_DOUBLE);
  ep_mat X = make_points(N, 41, EP_DOUBLE), K, g = random_mat(EP_DOUBLE, N, Z, 43);
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, N, N));
  const size_t before = ep_mem_current();
  for (int what = 0; what < 2; what++) {
    ep_status st = EP_ERR_NOMEM;
    for (int n = 0; st == EP_ERR_NOMEM; n++) {
      ep_alloc_fail_after = n;
      st = what ? ep_ntk_apply(NULL, &g, &net, &X, NULL, &g, 1e9)
                : ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_TRACE, 9000);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&K);
  ep_mat_free(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layouts), cmocka_unit_test(blocks),        cmocka_unit_test(products),
      cmocka_unit_test(drift),   cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
