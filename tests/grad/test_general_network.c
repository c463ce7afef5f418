/* Networks with biases, layers of unequal width, an activation a layer, other variances, both parametrisations: forward
 * pass against the definition, backward and tangent pass against central differences, kernels against Jacobians, in one
 * block and in many. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/kernel.h>
#include <eigenpair/stream.h>
#include <string.h>

enum { P = 7, D = 5, Z = 3 };

/* What --layers, --parametrisation, --biases and the variances say. */
typedef struct {
  const char *layers;
  ep_parametrisation parametrisation;
  bool biases, input_scale;
  ep_variance_config variances;
  int without; /* a layer whose biases are taken away again; -1: none */
} kind;

static const kind kinds[] = {
    {"6", EP_PARAMETRISATION_NTK, false, false, {1, 0.3, 1, 0.2}, -1},
    {"4:tanh,6,3:leaky:0.2", EP_PARAMETRISATION_NTK, false, true, {1.7, 0.3, 0.6, 0.2}, -1},
    {"4:tanh,6,3:leaky:0.2", EP_PARAMETRISATION_NTK, false, false, {1.7, 0, 0.6, 0.2}, -1},
    {"6:erf", EP_PARAMETRISATION_STANDARD, true, false, {1, 0, 1, 0}, -1},
    {"3,7:tanh", EP_PARAMETRISATION_STANDARD, true, true, {2, 0.1, 1, 0.4}, -1},
    {"5:gelu,4,6:sin", EP_PARAMETRISATION_STANDARD, true, false, {2, 0.1, 1, 0}, 1},
    {"5,4:tanh", EP_PARAMETRISATION_STANDARD, false, false, {2, 0, 1, 0}, -1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static ep_net make_net(const kind *k, ep_precision prec) {
  ep_net net, less;
  ep_net_config config;
  ep_options_default(ep_net_options, &config);
  strcpy(config.layers, k->layers);
  config.parametrisation = k->parametrisation;
  config.outputs = Z;
  config.biases = k->biases;
  config.input_scale = k->input_scale;
  CHECK_OK(ep_net_draw(&net, &config, &k->variances, D, 3, prec));
  /* biases that start at 0 would hide errors */
  for (int l = 0; l <= net.shape.depth; l++) {
    const ep_mat *b = l < net.shape.depth ? &net.b[l] : &net.c;
    if (b->data) ep_random_fill_normal(b, 4, 81, (uint32_t)l);
  }
  if (k->without < 0) return net;
  ep_net_shape shape = net.shape;
  shape.bias[k->without] = false;
  CHECK_OK(ep_net_new(&less, &shape, prec));
  ep_random_fill_normal(&less.theta, 5, 82, 0);
  ep_net_free(&net);
  return less;
}

/* f_z(x) by the formulas at the head of network.h, written out */
static void reference(double f[Z], const ep_net *net, const ep_mat *X, ptrdiff_t point) {
  const ep_net_shape *s = &net->shape;
  double h[16], a[16];
  for (int j = 0; j < D; j++) h[j] = ep_get(X, point, j);
  for (int l = 0; l <= s->depth; l++) {
    const bool last = l == s->depth;
    const ep_mat *V = last ? &net->W : &net->V[l], *b = last ? &net->c : &net->b[l];
    const ptrdiff_t in = last ? V->rows : V->cols, out = last ? V->cols : V->rows;
    const double fan = l ? 1 / sqrt((double)in) : s->input_scale;
    const double scale = s->standard ? 1 : fan * sqrt(last ? s->last_variance : s->weight_variance);
    const double bias = s->standard ? 1 : sqrt(last ? s->last_bias_variance : s->bias_variance);
    for (ptrdiff_t m = 0; m < out; m++) {
      a[m] = b->data ? bias * ep_get(b, 0, m) : 0;
      for (ptrdiff_t k = 0; k < in; k++)
        a[m] += scale * (last ? ep_get(V, k, m) : ep_get(V, m, k)) * h[k];
    }
    for (ptrdiff_t m = 0; m < out; m++)
      if (last) f[m] = a[m];
      else h[m] = ep_activation_value(ep_net_phi(s, l), a[m]);
  }
}

static ep_mat make_points(ep_precision prec) {
  ep_mat X = random_mat(prec, P, D, 21);
  for (int j = 0; j < D; j++) ep_set(&X, 2, j, 0);
  return X;
}

/* all points at once, or one by one: with the least memory that the stream takes */
static ep_stream *new_stream(const ep_mat *X, const ep_net *net, ep_pass pass, bool one) {
  ep_stream *s = NULL;
  double refused = 0, memory = 1e7;
  while (one && memory - refused > 1) {
    const double middle = (refused + memory) / 2;
    const ep_status st = ep_stream_new(&s, X, &net->shape, 1e4, pass, middle);
    *(st ? &refused : &memory) = middle;
    ep_stream_free(s);
  }
  CHECK_OK(ep_stream_new(&s, X, &net->shape, 1e4, pass, memory));
  assert_int_equal(ep_stream_block(s), one ? 1 : P);
  return s;
}

static void check_forward(const kind *k, ep_precision prec, ep_pass pass, bool few) {
  ep_net net = make_net(k, prec);
  ep_mat X = make_points(prec), F;
  ep_stream *s = new_stream(&X, &net, pass, few);
  CHECK_OK(ep_mat_new(&F, prec, P, Z));
  ep_stream_forward(&F, s, &net);
  for (int i = 0; i < P; i++) {
    double f[Z];
    reference(f, &net, &X, i);
    for (int z = 0; z < Z; z++)
      CHECK_CLOSE(ep_get(&F, i, z), f[z], prec == EP_SINGLE ? 2e-5 : 1e-13);
  }
  ep_stream_free(s);
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&F);
}

static void forward(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int way = 0; way < 8; way++)
      check_forward(&kinds[k], way & 1 ? EP_SINGLE : EP_DOUBLE,
                    way & 2 ? EP_PASS_FORWARD : EP_PASS_BACKWARD, way & 4);
}

/* sum_iz F_iz T_iz, so that its gradient is J'T */
static double contract(const ep_net *net, const ep_mat *X, const ep_mat *T) {
  double c = 0;
  for (int i = 0; i < P; i++) {
    double f[Z];
    reference(f, net, X, i);
    for (int z = 0; z < Z; z++) c += f[z] * *ep_d(T, i, z);
  }
  return c;
}

static void check_backward(const kind *k, bool few) {
  ep_net net = make_net(k, EP_DOUBLE), grad;
  ep_mat X = make_points(EP_DOUBLE), T = random_mat(EP_DOUBLE, P, Z, 22), F;
  ep_stream *s = new_stream(&X, &net, EP_PASS_BACKWARD, few);
  const double h = 1e-6;
  CHECK_OK(ep_net_new(&grad, &net.shape, EP_DOUBLE));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, P, Z));
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
      fail_msg("%s: gradient %td is %.10g, differences give %.10g", k->layers, i,
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
  for (int k = 0; k < KINDS; k++)
    for (int few = 0; few < 2; few++) check_backward(&kinds[k], few);
}

static void check_tangent(const kind *k, bool few) {
  ep_net net = make_net(k, EP_DOUBLE), v;
  ep_mat X = make_points(EP_DOUBLE), dF;
  ep_stream *s = new_stream(&X, &net, EP_PASS_TANGENT, few);
  const double h = 1e-6;
  CHECK_OK(ep_net_new(&v, &net.shape, EP_DOUBLE));
  CHECK_OK(ep_mat_new(&dF, EP_DOUBLE, P, Z));
  ep_random_fill_normal(&v.theta, 1, 79, 0);
  ep_stream_tangent(&dF, s, &net, &v);
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
  ep_mat_free(&X);
  ep_mat_free(&dF);
}

static void tangent(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int few = 0; few < 2; few++) check_tangent(&kinds[k], few);
}

/* K_ij(x, y) = J_i(x)'J_j(y), J by central differences of the definition */
static void check_kernel(const kind *k, ep_layout layout, double memory) {
  ep_net net = make_net(k, EP_DOUBLE);
  ep_mat X = make_points(EP_DOUBLE), J, K;
  const double h = 1e-5;
  const ptrdiff_t n = net.theta.cols, e = ep_layout_entries(layout, Z);
  CHECK_OK(ep_mat_new(&J, EP_DOUBLE, P * Z, n));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, P, P * e));
  for (ptrdiff_t t = 0; t < n; t++)
    for (int i = 0; i < P; i++) {
      double *w = ep_d(&net.theta, 0, t), keep = *w, up[Z], down[Z];
      *w = keep + h;
      reference(up, &net, &X, i);
      *w = keep - h;
      reference(down, &net, &X, i);
      *w = keep;
      for (int z = 0; z < Z; z++) *ep_d(&J, i * Z + z, t) = (up[z] - down[z]) / (2 * h);
    }
  CHECK_OK(ep_ntk_empirical(NULL, &K, &net, &X, NULL, layout, memory));
  for (int x = 0; x < P; x++)
    for (int y = 0; y < P; y++)
      for (int c = 0; c < e; c++) {
        double want = 0;
        for (int z = 0; z < Z; z++)
          for (int q = 0; q < Z; q++) {
            const bool here = layout == EP_FULL       ? c == z * Z + q
                              : layout == EP_DIAGONAL ? c == z && c == q
                                                      : z == q;
            for (ptrdiff_t t = 0; here && t < n; t++)
              want +=
                  *ep_d(&J, x * Z + z, t) * *ep_d(&J, y * Z + q, t) / (layout == EP_TRACE ? Z : 1);
          }
        CHECK_NEAR(*ep_d(&K, x, y * e + c), want, 2e-7 * fmax(1, fabs(want)));
      }
  ep_net_free(&net);
  ep_mat_free(&X);
  ep_mat_free(&J);
  ep_mat_free(&K);
}

static void kernels(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int layout = 0; layout < 3; layout++) {
      check_kernel(&kinds[k], (ep_layout)layout, 1e9);
      ep_net net = make_net(&kinds[k], EP_DOUBLE);
      ep_mat X = make_points(EP_DOUBLE);
      ep_ntk_cost cost = {.block = P};
      double memory = 1e6;
      while (cost.block > 2) {
        memory *= 0.95;
        CHECK_OK(ep_ntk_plan(&cost, &net, &X, NULL, (ep_layout)layout, memory));
      }
      check_kernel(&kinds[k], (ep_layout)layout, memory);
      ep_net_free(&net);
      ep_mat_free(&X);
    }
}

/* W'h_L times the scale, and the bias, is f */
static void hidden(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++) {
    ep_net net = make_net(&kinds[k], EP_DOUBLE);
    const ep_net_shape *s = &net.shape;
    ep_mat X = make_points(EP_DOUBLE), H;
    CHECK_OK(ep_mat_new(&H, EP_DOUBLE, P, s->width));
    CHECK_OK(ep_net_hidden(&H, &net, &X));
    for (int i = 0; i < P; i++) {
      double f[Z];
      reference(f, &net, &X, i);
      for (int z = 0; z < Z; z++) {
        double sum = net.c.data ? ep_net_bias_scale(s, s->depth) * *ep_d(&net.c, 0, z) : 0;
        for (ptrdiff_t m = 0; m < s->width; m++)
          sum += ep_net_scale(s, s->depth) * *ep_d(&H, i, m) * *ep_d(&net.W, m, z);
        CHECK_NEAR(sum, f[z], 1e-12 * fmax(1, fabs(f[z])));
      }
    }
    ep_net_free(&net);
    ep_mat_free(&X);
    ep_mat_free(&H);
  }
}

/* Entries at the start: mean square 1 (ntk), or the variance that the parametrisation gives them. */
static void start(void **state) {
  (void)state;
  for (int standard = 0; standard < 2; standard++) {
    ep_net net;
    ep_net_config config;
    const ep_variance_config v = {2, 0.3, 0.5, 0.7};
    ep_options_default(ep_net_options, &config);
    strcpy(config.layers, "400,250");
    config.parametrisation = standard ? EP_PARAMETRISATION_STANDARD : EP_PARAMETRISATION_NTK;
    config.outputs = 200;
    CHECK_OK(ep_net_draw(&net, &config, &v, 100, 1, EP_DOUBLE));
    const ep_mat *const part[] = {&net.V[0], &net.V[1], &net.W, &net.b[0], &net.c};
    const double want[] = {2, 2. / 400, 0.5 / 250, 0.3, 0.7};
    for (int i = 0; i < 5; i++) {
      const double count = (double)(part[i]->rows * part[i]->cols);
      const double mean = ep_mat_norm2(part[i]) / count;
      CHECK_NEAR(mean / (standard ? want[i] : 1), 1, 6 * sqrt(2 / count));
    }
    assert_int_equal(net.theta.cols, 400 * 101 + 250 * 401 + 200 * 251);
    assert_int_equal(ep_net_hidden_parameters(&net.shape), 400 * 101 + 250 * 401);
    ep_net_free(&net);
  }
}

static void bad(void **state) {
  (void)state;
  static const char *const layers[] = {"0",   "5,", ",5",  "5,x", "5:swish",
                                       "1.5", "-3", "5::", "1e9"};
  ep_net_config config;
  ep_net_shape shape;
  const ep_variance_config zero = {0, 0, 1, 0};
  ep_options_default(ep_net_options, &config);
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    strcpy(config.layers, layers[i]);
    if (strcmp(layers[i], "5,") != 0) /* a comma at the end ends the list */
      CHECK_STATUS(ep_net_shape_of(&shape, &config, NULL, D), EP_ERR_ARG);
  }
  config.layers[0] = '\0';
  CHECK_STATUS(ep_net_shape_of(&shape, &config, &zero, D), EP_ERR_ARG);
  config.biases = true; /* ntk with factors of 0 */
  CHECK_STATUS(ep_net_shape_of(&shape, &config, NULL, D), EP_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward), cmocka_unit_test(backward), cmocka_unit_test(tangent),
      cmocka_unit_test(kernels), cmocka_unit_test(hidden),   cmocka_unit_test(start),
      cmocka_unit_test(bad),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
