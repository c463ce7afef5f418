/* The papers' statements on kernels: width, Proposition 10, linearised = frozen kernel. */
#include "method/model.h"
#include "random_mat.h"

#include <eigenpair/stream.h>
#include <eigenpair/analytic.h>
#include <eigenpair/kernel.h>
#include <eigenpair/method.h>
#include <string.h>

/* slope of log y against log x by least squares */
static double exponent(const double *x, const double *y, int n) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int i = 0; i < n; i++) {
    sx += log(x[i]) / n;
    sy += log(y[i]) / n;
  }
  for (int i = 0; i < n; i++) {
    sxx += (log(x[i]) - sx) * (log(x[i]) - sx);
    sxy += (log(x[i]) - sx) * (log(y[i]) - sy);
  }
  return sxy / sxx;
}

static ep_mat sphere(ptrdiff_t n, ptrdiff_t d) {
  ep_mat X = random_mat(EP_SINGLE, n, d, 61);
  for (ptrdiff_t i = 0; i < n; i++) {
    const ep_mat row = ep_mat_rows(&X, i, 1);
    const double norm = sqrt(ep_mat_norm2(&row));
    for (ptrdiff_t j = 0; j < d; j++) ep_set(&X, i, j, ep_get(&X, i, j) / norm);
  }
  return X;
}

/* |K_empirical - K_analytic|_F, one output; the geometric mean over seeds, since its tail is heavy */
static double kernel_error(const char *activation, int depth, ptrdiff_t width, const ep_mat *X,
                           const ep_mat *K) {
  enum { SEEDS = 64 };
  double sum = 0;
  ep_net_config config;
  ep_mat E;
  ep_options_default(ep_net_options, &config);
  strcpy(config.activation, activation);
  config.width = width;
  config.depth = depth;
  config.outputs = 1;
  CHECK_OK(ep_mat_new(&E, EP_SINGLE, X->rows, X->rows));
  for (int seed = 0; seed < SEEDS; seed++) {
    ep_net net;
    CHECK_OK(ep_net_start(&net, &config, X->cols, (uint64_t)seed, EP_SINGLE));
    CHECK_OK(ep_ntk_empirical(NULL, &E, &net, X, NULL, EP_TRACE, 1e9));
    sum += log(ep_mat_distance2(&E, K)) / 2 / SEEDS;
    ep_net_free(&net);
  }
  ep_mat_free(&E);
  return exp(sum);
}

/* The empirical kernel tends to the analytic one as M^{-1/2}: relu, tanh, erf at depth 1 and 3. */
static void width_limit(void **state) {
  (void)state;
  static const char *const activations[] = {"relu", "tanh", "erf"};
  const double widths[4] = {64, 128, 256, 512};
  ep_mat X = sphere(6, 5), K;
  CHECK_OK(ep_mat_new(&K, EP_SINGLE, 6, 6));
  for (int a = 0; a < 3; a++)
    for (int depth = 1; depth <= 3; depth += 2) {
      ep_analytic infinite = {.depth = depth, .input_scale = 1};
      double error[4];
      ep_options_default(ep_variance_options, &infinite.config);
      CHECK_OK(ep_activation_parse(&infinite.phi, activations[a]));
      CHECK_OK(ep_analytic_kernel(NULL, &K, &infinite, EP_NTK, &X, NULL));
      for (int w = 0; w < 4; w++)
        error[w] = kernel_error(activations[a], depth, (ptrdiff_t)widths[w], &X, &K);
      const double slope = exponent(widths, error, 4);
      if (!(fabs(slope + 0.5) < 0.1))
        fail_msg("%s depth %d: exponent %.3f", activations[a], depth, slope);
    }
  ep_mat_free(&X);
  ep_mat_free(&K);
}

/* Prop. 10: D = Z = 1, linear, dot, linear loss: P(t) = mean(v^2 + w^2) follows the closed form up to the blow-up. */
static void proposition_10(void **state) {
  (void)state;
  enum { M = 200 };
  ep_net_config config;
  ep_net net, grad;
  ep_options_default(ep_net_options, &config);
  strcpy(config.activation, "linear");
  config.width = M;
  config.outputs = 1;
  CHECK_OK(ep_net_start(&net, &config, 1, 5, EP_DOUBLE));
  CHECK_OK(ep_net_new(&grad, &net.shape, EP_DOUBLE));
  double x[3] = {1.1, 0.9, -0.4}, P0 = 0, S0 = 0; /* anchor, positive, negative */
  for (int m = 0; m < M; m++) {
    const double v = *ep_d(&net.V[0], m, 0), w = *ep_d(&net.W, m, 0);
    P0 += (v * v + w * w) / M;
    S0 += v * w / M;
  }
  const double C = x[0] * (x[1] - x[2]), root = sqrt(P0 * P0 / 4 - S0 * S0);
  const double beta = (P0 - 2 * root) / (P0 + 2 * root), end = log(1 / beta) / (8 * C * root);
  const double step = 1e-4 * end;
  const ep_mat X = ep_mat_view(EP_DOUBLE, 3, 1, x);
  ep_pairs pairs;
  CHECK_OK(ep_pairs_new(&pairs, 1, 3, 2, false));
  pairs.start[1] = 2;
  pairs.partner[0] = 1;
  pairs.partner[1] = 2;
  pairs.sign[0] = 1;
  pairs.sign[1] = -1;
  ep_objective_config oc;
  ep_objective o;
  ep_options_default(ep_objective_options, &oc);
  oc.similarity = EP_SIMILARITY_DOT;
  CHECK_OK(ep_objective_parse(&o, &oc));
  ep_stream *stream;
  ep_mat F, dF, K;
  double loss, blow_up = 0;
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, 3, 1));
  CHECK_OK(ep_mat_new(&dF, EP_DOUBLE, 3, 1));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 3, 3));
  CHECK_OK(ep_stream_new(&stream, &X, &net.shape, 1, EP_PASS_BACKWARD, 1e9));
  for (int i = 0; i < 20000 && !blow_up; i++) {
    const double t = i * step, e = beta * exp(8 * C * root * t);
    double P = 0;
    for (int m = 0; m < M; m++)
      P += (pow(*ep_d(&net.V[0], m, 0), 2) + pow(*ep_d(&net.W, m, 0), 2)) / M;
    if (t < 0.9 * end && i % 1000 == 0) {
      CHECK_NEAR(P, 2 * root * (1 + e) / (1 - e), 0.01 * P);
      CHECK_OK(
          ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_FULL, 1e9)); /* K(x, y; t) = P(t) x y */
      CHECK_NEAR(*ep_d(&K, 0, 2), P * x[0] * x[2], 1e-12 * P);
    }
    if (P > 1e6 * P0) blow_up = t;
    ep_stream_forward(&F, stream, &net);
    CHECK_OK(ep_objective_value(&loss, &dF, &F, &pairs, &o));
    ep_stream_backward(&grad, stream, &net, &dF);
    ep_mat_axpy(&net.theta, -step, &grad.theta);
  }
  CHECK_NEAR(blow_up, end, 0.01 * end);
  ep_stream_free(stream);
  ep_pairs_free(&pairs);
  ep_net_free(&net);
  ep_net_free(&grad);
  ep_mat_free(&F);
  ep_mat_free(&dF);
  ep_mat_free(&K);
}

/* The linearised network and the frozen empirical kernel are one model: 50 epochs, formed or not. */
static void linearised_is_frozen(void **state) {
  (void)state;
  static ep_setup s;
  static const char *const losses[] = {"linear", "softmax"};
  for (int c = 0; c < 8; c++) {
    ep_points p = {.X = random_mat(EP_DOUBLE, 12, 5, 71)};
    const ep_pair_plan plan = {1, 1, false, false};
    ep_model *a, *b;
    ep_fit_info ia, ib;
    ep_mat T = random_mat(EP_DOUBLE, 9, 5, 72), E, F;
    CHECK_OK(ep_pairs_draw(&p.pairs, 6, &plan, 1));
    ep_setup_default(&s);
    s.run.precision = EP_DOUBLE;
    s.objective.similarity = c & 1 ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
    strcpy(s.objective.loss, losses[c >> 1 & 1]);
    s.net.width = c & 4 ? 300 : 30; /* formed only where it pays */
    s.net.depth = c & 4 ? 3 : 1;
    s.net.outputs = 3;
    s.fit.epochs = 50;
    s.fit.rate = c & 1 ? 0.3 : 0.003;
    strcpy(s.fit.method, "linearised");
    CHECK_OK(ep_fit(NULL, &a, &ia, &p, &s));
    strcpy(s.fit.method, "kernel");
    CHECK_OK(ep_fit(NULL, &b, &ib, &p, &s));
    for (int t = 0; t <= 50; t++)
      CHECK_CLOSE(ia.history.value[2 * t + 1], ib.history.value[2 * t + 1], 1e-8);
    CHECK_OK(ep_mat_new(&E, EP_DOUBLE, 9, 3));
    CHECK_OK(ep_mat_new(&F, EP_DOUBLE, 9, 3));
    CHECK_OK(ep_model_embed(NULL, &E, a, &T));
    CHECK_OK(ep_model_embed(NULL, &F, b, &T));
    CHECK_NEAR(mat_gap(&E, &F), 0, 1e-8);
    b->terms = 1; /* the network alone: and it has moved */
    CHECK_OK(ep_model_embed(NULL, &F, b, &T));
    b->terms = 2;
    assert_true(mat_gap(&E, &F) > 1e-3);
    ep_fit_info_free(&ia);
    ep_fit_info_free(&ib);
    ep_model_free(a);
    ep_model_free(b);
    ep_points_free(&p);
    ep_mat_free(&T);
    ep_mat_free(&E);
    ep_mat_free(&F);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(width_limit),
      cmocka_unit_test(proposition_10),
      cmocka_unit_test(linearised_is_frozen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
