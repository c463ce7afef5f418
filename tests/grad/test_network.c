/* Networks: forward pass against the definition, backward pass against central differences, for every
 * activation, depth 1 to 3, in one block and in many; single precision close to double. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/stream.h>
#include <string.h>

enum { P = 7, D = 5, M = 6, Z = 3 };

static ep_net make_net(const char *activation, int depth, bool input_scale, ep_precision prec) {
  ep_net net;
  ep_net_config config;
  ep_options_default(ep_net_options, &config);
  strcpy(config.activation, activation);
  config.width = M;
  config.outputs = Z;
  config.depth = depth;
  config.input_scale = input_scale;
  CHECK_OK(ep_net_start(&net, &config, D, 3, prec));
  return net;
}

/* points, one of them zero */
static ep_mat make_points(ep_precision prec) {
  ep_mat X = random_mat(prec, P, D, 21);
  for (int j = 0; j < D; j++) ep_set(&X, 2, j, 0);
  return X;
}

static const double all_memory = 1e9;
/* room for the tiles and two points */
static double little_memory(ep_precision prec, int depth) {
  const double size = (double)ep_sizeof(prec);
  const double point = size * (M * (depth + (depth > 1)) + Z) + 64;
  return size * (128 * 256 * ep_run_threads() + M * Z) + 4096 + 2.9 * point;
}

static double delta; /* 0: f; else u = W'h / (|h| + sqrt(M) delta) */

/* f_z(x) by the formulas at the head of network.h */
static void reference(double f[Z], const ep_net *net, const ep_mat *X, ptrdiff_t point) {
  double h[16], a[16];
  for (int j = 0; j < D; j++) h[j] = ep_get(X, point, j);
  for (int l = 0; l < net->shape.depth; l++) {
    const double c = l ? 1 / sqrt(M) : net->shape.input_scale;
    for (int m = 0; m < M; m++) {
      a[m] = 0;
      for (ptrdiff_t k = 0; k < net->V[l].cols; k++) a[m] += c * ep_get(&net->V[l], m, k) * h[k];
    }
    for (int m = 0; m < M; m++) h[m] = ep_activation_value(&net->shape.phi, a[m]);
  }
  for (int z = 0; z < Z; z++) {
    f[z] = 0;
    for (int m = 0; m < M; m++) f[z] += ep_get(&net->W, m, z) * h[m] / sqrt(M);
  }
  if (delta == 0) return;
  double norm = 0;
  for (int m = 0; m < M; m++) norm += h[m] * h[m];
  for (int z = 0; z < Z; z++) f[z] /= sqrt(norm / M) + delta;
}

static void outputs(const ep_mat *F, const ep_net *net, const ep_mat *X, double memory) {
  ep_stream *s;
  CHECK_OK(ep_stream_new(&s, X, &net->shape, 1e4, EP_PASS_BACKWARD, memory));
  if (delta > 0) CHECK_OK(ep_stream_normalise(s, delta));
  ep_stream_forward(F, s, net);
  ep_stream_free(s);
}

static void check_forward(const char *activation, int depth, bool scale, ep_precision prec) {
  ep_net net = make_net(activation, depth, scale, prec);
  ep_mat X = make_points(prec), F;
  CHECK_OK(ep_mat_new(&F, prec, P, Z));
  for (int little = 0; little < 2; little++) {
    outputs(&F, &net, &X, little ? little_memory(prec, depth) : all_memory);
    for (int i = 0; i < P; i++) {
      double f[Z];
      reference(f, &net, &X, i);
      for (int z = 0; z < Z; z++)
        CHECK_CLOSE(ep_get(&F, i, z), f[z], prec == EP_SINGLE ? 2e-5 : 1e-13);
    }
  }
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&F);
}

static void forward(void **state) {
  (void)state;
  for (int a = 0; ep_activation_name(a); a++)
    for (int depth = 1; depth <= 3; depth++)
      for (int k = 0; k < 4; k++)
        if (strcmp(ep_activation_name(a), "exp") != 0 ||
            depth == 1) /* exp of exp overflows single */
          check_forward(ep_activation_name(a), depth, k & 1, k & 2 ? EP_DOUBLE : EP_SINGLE);
}

/* c = sum_ij F_ij T_ij, so dc/dF = T */
static double contract(const ep_net *net, const ep_mat *X, const ep_mat *T) {
  double c = 0;
  for (int i = 0; i < P; i++) {
    double f[Z];
    reference(f, net, X, i);
    for (int z = 0; z < Z; z++) c += f[z] * *ep_d(T, i, z);
  }
  return c;
}

static void check_backward(const char *activation, int depth, bool scale, double memory) {
  ep_net net = make_net(activation, depth, scale, EP_DOUBLE), grad;
  ep_mat X = make_points(EP_DOUBLE), T = random_mat(EP_DOUBLE, P, Z, 22), F;
  ep_stream *s;
  const double h = 1e-6;
  CHECK_OK(ep_net_new(&grad, &net.shape, EP_DOUBLE));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, P, Z));
  CHECK_OK(ep_stream_new(&s, &X, &net.shape, 1e4, EP_PASS_BACKWARD, memory));
  if (memory < all_memory) assert_int_equal(ep_stream_block(s), 2);
  if (delta > 0) CHECK_OK(ep_stream_normalise(s, delta));
  ep_mat_fill(&grad.theta, 7); /* must be overwritten */
  ep_stream_forward(&F, s, &net);
  ep_stream_backward(&grad, s, &net, &T);
  const double most = ep_mat_max(&grad.theta);
  for (ptrdiff_t i = 0; i < net.theta.cols; i++) {
    double *w = ep_d(&net.theta, 0, i), keep = *w;
    *w = keep + h;
    const double up = contract(&net, &X, &T);
    *w = keep - h;
    const double down = contract(&net, &X, &T);
    *w = keep;
    if (!(fabs((up - down) / (2 * h) - *ep_d(&grad.theta, 0, i)) <= 1e-6 * most))
      fail_msg("%s depth %d: gradient %td is %.10g, differences give %.10g", activation, depth, i,
               *ep_d(&grad.theta, 0, i), (up - down) / (2 * h));
  }
  ep_stream_free(s);
  ep_net_free(&net);
  ep_net_free(&grad);
  ep_mat_free(&X);
  ep_mat_free(&T);
  ep_mat_free(&F);
}

static void backward(void **state) {
  (void)state;
  for (int a = 0; ep_activation_name(a); a++)
    for (int depth = 1; depth <= 3; depth++)
      if (strcmp(ep_activation_name(a), "exp") != 0 || depth == 1) {
        check_backward(ep_activation_name(a), depth, false, all_memory);
        check_backward(ep_activation_name(a), depth, true, little_memory(EP_DOUBLE, depth));
      }
  check_backward("leaky:0.3", 2, false, all_memory);
  check_backward("monomial:3", 1, EP_PASS_FORWARD, all_memory);
}

/* J v against differences of the definition along v, and <J'g, v> = <g, J v>. */
static void check_tangent(const char *activation, int depth, double memory) {
  ep_net net = make_net(activation, depth, true, EP_DOUBLE), v, grad;
  ep_mat X = make_points(EP_DOUBLE), G = random_mat(EP_DOUBLE, P, Z, 23), F, dF;
  ep_stream *s;
  const double h = 1e-6;
  CHECK_OK(ep_net_new(&v, &net.shape, EP_DOUBLE));
  CHECK_OK(ep_net_new(&grad, &net.shape, EP_DOUBLE));
  ep_random_fill_normal(&v.theta, 1, 79, 0);
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, P, Z));
  CHECK_OK(ep_mat_new(&dF, EP_DOUBLE, P, Z));
  CHECK_OK(ep_stream_new(&s, &X, &net.shape, 1e4, EP_PASS_TANGENT, memory));
  ep_stream_tangent(&dF, s, &net, &v);
  double along = 0, back = 0;
  ep_stream_forward(&F, s, &net);
  ep_stream_backward(&grad, s, &net, &G);
  for (int i = 0; i < P * Z; i++) along += *ep_d(&G, 0, i) * *ep_d(&dF, 0, i);
  for (ptrdiff_t i = 0; i < v.theta.cols; i++)
    back += *ep_d(&grad.theta, 0, i) * *ep_d(&v.theta, 0, i);
  CHECK_CLOSE(along, back, 1e-12);
  for (int i = 0; i < P; i++) {
    double up[Z], down[Z];
    ep_mat_axpy(&net.theta, h, &v.theta);
    reference(up, &net, &X, i);
    ep_mat_axpy(&net.theta, -2 * h, &v.theta);
    reference(down, &net, &X, i);
    ep_mat_axpy(&net.theta, h, &v.theta);
    for (int z = 0; z < Z; z++)
      CHECK_NEAR(*ep_d(&dF, i, z), (up[z] - down[z]) / (2 * h),
                 1e-6 * fmax(1, fabs(*ep_d(&dF, i, z))));
  }
  ep_stream_free(s);
  ep_net_free(&net);
  ep_net_free(&v);
  ep_net_free(&grad);
  ep_mat_free(&X);
  ep_mat_free(&G);
  ep_mat_free(&F);
  ep_mat_free(&dF);
}

static void tangent(void **state) {
  (void)state;
  for (int a = 0; ep_activation_name(a); a++)
    for (int depth = 1; depth <= 3; depth++)
      if (strcmp(ep_activation_name(a), "exp") != 0 || depth == 1) {
        check_tangent(ep_activation_name(a), depth, all_memory);
        check_tangent(ep_activation_name(a), depth, little_memory(EP_DOUBLE, depth + 2));
      }
}

/* Slopes and curves against differences (the grid stays off the kinks), the constants L and B against a fine grid. */
static void activations(void **state) {
  (void)state;
  for (int k = 0; ep_activation_name(k); k++) {
    ep_activation phi;
    double L = 0, B = 0;
    CHECK_OK(ep_activation_parse(&phi, ep_activation_name(k)));
    for (double a = -12.0005; a < 12; a += 0.001) {
      const double h = 1e-6, slope = ep_activation_slope(&phi, a);
      const double d =
          (ep_activation_value(&phi, a + h) - ep_activation_value(&phi, a - h)) / (2 * h);
      CHECK_NEAR(slope, d, 1e-8 * fmax(1, fabs(d)));
      const double e =
          (ep_activation_slope(&phi, a + h) - ep_activation_slope(&phi, a - h)) / (2 * h);
      CHECK_NEAR(ep_activation_curve(&phi, a), e, 1e-8 * fmax(1, fabs(e)));
      L = fmax(L, fabs(slope));
      B = fmax(B, fabs(ep_activation_slope(&phi, a + 1e-4) - ep_activation_slope(&phi, a - 1e-4)) /
                      2e-4);
    }
    if (isfinite(ep_activation_lipschitz(&phi))) CHECK_NEAR(L, ep_activation_lipschitz(&phi), 1e-4);
    if (isfinite(ep_activation_smoothness(&phi)))
      CHECK_NEAR(B, ep_activation_smoothness(&phi), 1e-3);
  }
  ep_activation relu;
  CHECK_OK(ep_activation_parse(&relu, "relu"));
  CHECK_NEAR(ep_activation_slope(&relu, 0), 0, 0);
  CHECK_STATUS(ep_activation_parse(&relu, "swish"), EP_ERR_ARG);
  CHECK_STATUS(ep_activation_parse(&relu, "relu:2"), EP_ERR_ARG);
  CHECK_STATUS(ep_activation_parse(&relu, "monomial:2.5"), EP_ERR_ARG);
  CHECK_STATUS(ep_activation_parse(&relu, "leaky:x"), EP_ERR_ARG);
}

/* A forward-only stream keeps two layers and gives the same. */
static void forward_only(void **state) {
  (void)state;
  ep_net net = make_net("tanh", 3, false, EP_DOUBLE);
  ep_mat X = make_points(EP_DOUBLE), F, E;
  ep_stream *s;
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, P, Z));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, P, Z));
  outputs(&F, &net, &X, all_memory);
  CHECK_OK(ep_stream_new(&s, &X, &net.shape, 1, EP_PASS_FORWARD, all_memory));
  ep_stream_forward(&E, s, &net);
  ep_stream_free(s);
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-15);
  CHECK_STATUS(ep_stream_new(&s, &X, &net.shape, 1, EP_PASS_FORWARD, 100), EP_ERR_ARG);
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&F);
  ep_mat_free(&E);
}

/* The same two for outputs divided by the norm of the last hidden layer. */
static void normalised(void **state) {
  delta = 0.3;
  forward(state);
  backward(state);
  delta = 0;
}

/* The last hidden layer: W = I makes it the outputs. */
static void hidden(void **state) {
  (void)state;
  for (int depth = 1; depth <= 3; depth++)
    for (int single = 0; single < 2; single++) {
      const ep_precision prec = single ? EP_SINGLE : EP_DOUBLE;
      ep_net net = make_net("tanh", depth, false, prec);
      ep_mat X = make_points(prec), H;
      CHECK_OK(ep_mat_new(&H, prec, P, M));
      CHECK_OK(ep_net_hidden(&H, &net, &X));
      for (int i = 0; i < P; i++) {
        double f[Z];
        reference(f, &net, &X, i);
        for (int z = 0; z < Z; z++) {
          double sum = 0;
          for (int m = 0; m < M; m++) sum += ep_get(&H, i, m) * ep_get(&net.W, m, z) / sqrt(M);
          CHECK_CLOSE(sum, f[z], single ? 2e-5 : 1e-13);
        }
      }
      ep_net_free(&net);
      ep_mat_free(&X);
      ep_mat_free(&H);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward), cmocka_unit_test(backward),     cmocka_unit_test(activations),
      cmocka_unit_test(tangent), cmocka_unit_test(forward_only), cmocka_unit_test(normalised),
      cmocka_unit_test(hidden),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
