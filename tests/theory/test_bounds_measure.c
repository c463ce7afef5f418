/* What WIDE's bounds are bounds on: a run's constants and measurements against their definitions. */
#include "map/map.h"
#include "theory/bounds.h"

static void constants(void **state) {
  (void)state;
  static trained t;
  make_setup(&t.setup, "gd", "sigmoid", 5);
  t.setup.net.input_scale = true;
  t.setup.fit.batch = 5;
  strcpy(t.setup.objective.loss, "softmax");
  train(&t, make_points(12, 4, EP_DOUBLE, false));
  ep_bound_inputs in;
  double x_2 = 0, c_in = 0, dv = 0, dw = 0;
  CHECK_OK(ep_bound_inputs_from(&in, &t.run));
  for (int i = 0; i < 24; i++) {
    double sum = 0;
    for (int j = 0; j < 4; j++) {
      sum += pow(ep_get(&t.points.X, i, j) / 2, 2);
      c_in = fmax(c_in, fabs(ep_get(&t.points.X, i, j) / 2));
    }
    x_2 = fmax(x_2, sqrt(sum));
  }
  for (int m = 0; m < 5; m++) {
    for (int j = 0; j < 4; j++)
      dv += pow(ep_get(&t.start.V[0], m, j) - ep_get(&ep_model_net(t.model)->V[0], m, j), 2);
    for (int j = 0; j < 2; j++)
      dw += pow(ep_get(&t.start.W, m, j) - ep_get(&ep_model_net(t.model)->W, m, j), 2);
  }
  CHECK_CLOSE(in.x_2, x_2, 1e-15);
  CHECK_CLOSE(in.c_in, c_in, 1e-15);
  CHECK_CLOSE(in.R, sqrt(dv) + sqrt(dw), 1e-14);
  assert_true(in.R > 1e-3);
  const double expected[] = {5, 4, 2, 2, 0.1, 30, 0.1, 2, 0.25, 0.5};
  const double got[] = {in.M, in.D, in.Z, in.Q, in.eta, in.steps, in.delta, in.c_l, in.L, in.phi0};
  for (int i = 0; i < 10; i++) CHECK_CLOSE(got[i], expected[i], 1e-15);
  assert_true(in.c0 == fmax(in.v0, in.s0) && in.s0 == ep_mat_max(&t.start.W));
  assert_true(in.v == ep_mat_max(&ep_model_net(t.model)->V[0]) &&
              in.w == ep_mat_max(&ep_model_net(t.model)->W));
  assert_true(in.cosine && in.descent && !in.orthogonal && isnan(in.gap) && in.depth == 1);
  drop(&t);
}

/* f_z(x) at weights theta = (V, W), by the formula */
static double output(const ep_net *net, const double *theta, const double *x, ptrdiff_t z) {
  const ptrdiff_t m = net->shape.width, d = net->shape.inputs, k = net->shape.outputs;
  double f = 0;
  for (ptrdiff_t i = 0; i < m; i++) {
    double a = 0;
    for (ptrdiff_t j = 0; j < d; j++) a += net->shape.input_scale * theta[i * d + j] * x[j];
    f += theta[m * d + i * k + z] * ep_activation_value(&net->shape.phi, a);
  }
  return f / sqrt((double)m);
}

/* |H|_2 of the dense Hessian of f_z(x) by second differences */
static double dense_hessian(const ep_net *net, const double *x, ptrdiff_t z) {
  const ptrdiff_t n = net->theta.cols;
  const double h = 1e-4;
  double theta[64], lambda[64];
  ep_mat H;
  CHECK_OK(ep_mat_new(&H, EP_DOUBLE, n, n));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) {
      double sum = 0;
      for (int s = 0; s < 4; s++) {
        memcpy(theta, net->theta.data, (size_t)n * sizeof *theta);
        theta[i] += s & 1 ? h : -h;
        theta[j] += s & 2 ? h : -h;
        sum += (s == 0 || s == 3 ? 1 : -1) * output(net, theta, x, z);
      }
      *ep_d(&H, i, j) = sum / (4 * h * h);
    }
  CHECK_OK(ep_mat_eig_sym(&H, lambda));
  ep_mat_free(&H);
  return fmax(fabs(lambda[0]), fabs(lambda[n - 1]));
}

static void hessian(void **state) {
  (void)state;
  static const char *const activations[] = {"tanh",   "erf", "sigmoid",  "gelu",
                                            "linear", "sin", "csoftplus"};
  static ep_setup s;
  for (int a = 0; a < 7; a++) {
    ep_net net;
    ep_points p = make_points(3, 3, EP_DOUBLE, false);
    make_setup(&s, "gd", activations[a], 4);
    s.net.input_scale = a & 1;
    CHECK_OK(ep_net_start(&net, &s.net, 3, (uint64_t)a, EP_DOUBLE));
    double most = 0;
    for (ptrdiff_t i = 0; i < p.X.rows; i++)
      for (ptrdiff_t z = 0; z < 2; z++) most = fmax(most, dense_hessian(&net, ep_d(&p.X, i, 0), z));
    CHECK_CLOSE(measure(EP_BOUND_HESSIAN, &(ep_bound_run){&net, &net, &p, &s, 0}), most, 1e-6);
    ep_net_free(&net);
    ep_points_free(&p);
  }
}

/* A step of `fit` is the step that is measured; kernel and C are what --track writes. */
static void measurements(void **state) {
  (void)state;
  static trained t;
  for (int c = 0; c < 4; c++) {
    make_setup(&t.setup, c & 1 ? "grassmann" : "gd", "tanh", c & 2 ? 40 : 6);
    strcpy(t.setup.fit.track, "ntk,c");
    t.setup.fit.track_points = 7;
    t.setup.fit.epochs = c & 1 ? 3 : 1;
    train(&t, make_points(8, 5, EP_DOUBLE, false));
    const double *row = t.info.history.value + t.info.history.columns * t.info.history.rows - 3;
    if (c & 1) {
      CHECK_CLOSE(measure(EP_BOUND_COVARIANCE, &t.run), row[2], 1e-12);
      assert_true(row[2] > 1e-6);
    } else {
      const ep_bound_run before = {&t.start, &t.start, &t.points, &t.setup, 0};
      const double v = mat_gap(&t.start.V[0], &ep_model_net(t.model)->V[0]);
      const double w = mat_gap(&t.start.W, &ep_model_net(t.model)->W);
      CHECK_NEAR(measure(EP_BOUND_STEP_V, &before), v, 1e-13);
      CHECK_NEAR(measure(EP_BOUND_STEP_W, &before), w, 1e-13);
      CHECK_NEAR(measure(EP_BOUND_WEIGHTS, &t.run), fmax(v, w), 0);
      CHECK_CLOSE(measure(EP_BOUND_KERNEL, &t.run), row[0], 1e-12);
      assert_true(v > 1e-3 && w > 1e-3 && row[0] > 1e-3);
    }
    drop(&t);
  }
}

/* C = 1/N sum a psi_m psi_n', symmetrised, and its top two eigenvectors as columns of W */
static void definition_of_pca(ep_mat *W, double *gap, const ep_net *net, const ep_points *p,
                              double delta) {
  const ptrdiff_t m = net->shape.width;
  const ep_network_map map = ep_network_map_of(net, (ep_psi){true, delta});
  double lambda[64];
  ep_mat Psi, C;
  CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, p->X.rows, m));
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, m, m));
  CHECK_OK(ep_mat_new(W, EP_DOUBLE, m, 2));
  CHECK_OK(ep_map_rows(&Psi, &map.head, &p->X));
  for (ptrdiff_t n = 0; n < p->pairs.anchors; n++)
    for (ptrdiff_t k = p->pairs.start[n]; k < p->pairs.start[n + 1]; k++)
      for (ptrdiff_t i = 0; i < m; i++)
        for (ptrdiff_t j = 0; j < m; j++)
          *ep_d(&C, i, j) += p->pairs.sign[k] / (double)p->pairs.anchors *
                             *ep_d(&Psi, p->pairs.anchor[n], i) *
                             *ep_d(&Psi, p->pairs.partner[k], j);
  ep_mat_symmetrise(&C);
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  for (ptrdiff_t i = 0; i < m; i++)
    for (int z = 0; z < 2; z++) *ep_d(W, i, z) = *ep_d(&C, m - 1 - z, i);
  *gap = lambda[m - 2] - lambda[m - 3];
  ep_mat_free(&Psi);
  ep_mat_free(&C);
}

/* O = [c -s; s c] diag(1, r) that makes |W O - W0|_F least, by a search over the angle */
static void rotation_by_search(double O[4], const ep_mat *W, const ep_mat *W0) {
  double best = INFINITY;
  double centre[2] = {0, 0};
  for (double width = 3.2; width > 1e-13; width /= 50)
    for (int r = 0; r < 2; r++) {
      double least = INFINITY, at = centre[r];
      for (int k = -100; k <= 100; k++) {
        const double angle = centre[r] + width * k / 100, f = r ? -1 : 1;
        const double o[4] = {cos(angle), -f * sin(angle), sin(angle), f * cos(angle)};
        double sum = 0; /* |WO - W0|^2 = const - 2 Tr(O'W'W0) */
        for (ptrdiff_t i = 0; i < W->rows; i++)
          for (int z = 0; z < 2; z++)
            sum -= (*ep_d(W, i, 0) * o[z] + *ep_d(W, i, 1) * o[2 + z]) * *ep_d(W0, i, z);
        if (sum < least) least = sum, at = angle;
        if (sum < best) best = sum, memcpy(O, o, sizeof o);
      }
      centre[r] = at;
    }
}

static void representation(void **state) {
  (void)state;
  static trained t;
  for (int c = 0; c < 2; c++) {
    make_setup(&t.setup, c ? "iterate" : "grassmann", c ? "relu" : "tanh", c ? 30 : 8);
    t.setup.fit.rate = 0.3;
    train(&t, make_points(10, 5, EP_DOUBLE, false));
    const ep_net *nets[2] = {&t.start, ep_model_net(t.model)};
    const double root = sqrt((double)t.start.shape.width);
    ep_mat W[2], H[2];
    double gap[2], O[4] = {0}, most = 0;
    for (int k = 0; k < 2; k++) {
      definition_of_pca(&W[k], &gap[k], nets[k], &t.points, t.setup.objective.delta);
      CHECK_OK(ep_mat_new(&H[k], EP_DOUBLE, 20, t.start.shape.width));
      CHECK_OK(ep_net_hidden(&H[k], nets[k], &t.points.X));
    }
    rotation_by_search(O, &W[1], &W[0]);
    for (int i = 0; i < 20; i++) {
      double u[2][2] = {{0}}, sum = 0;
      for (int k = 0; k < 2; k++)
        for (ptrdiff_t m = 0; m < H[k].cols; m++)
          for (int z = 0; z < 2; z++) u[k][z] += *ep_d(&H[k], i, m) * *ep_d(&W[k], m, z) / root;
      for (int z = 0; z < 2; z++) sum += pow(u[1][0] * O[z] + u[1][1] * O[2 + z] - u[0][z], 2);
      most = fmax(most, sqrt(sum));
    }
    ep_measured m;
    CHECK_OK(ep_bound_measure(&m, EP_BOUND_REPRESENTATION, &t.run));
    CHECK_NEAR(m.value, most, 1e-6 * most);
    CHECK_CLOSE(m.gap, gap[0], 1e-8);
    assert_true(most > 1e-4 && m.rounding < 1e-3 * most);
    for (int k = 0; k < 2; k++) ep_mat_free(&W[k]), ep_mat_free(&H[k]);
    drop(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants),
      cmocka_unit_test(hessian),
      cmocka_unit_test(measurements),
      cmocka_unit_test(representation),
  };
  return cmocka_run_group_tests(tests, make_out, remove_out);
}
