/* The tangent kernel of a network whose weights the caller has: V (M x D), W (M x Z), f(x) = M^{-1/2} W' tanh(V x), and
 * beside it the kernel of infinite width.
 *
 *   cc kernel.c $(pkg-config --cflags --libs eigenpair) -lm && ./a.out */
#include <eigenpair/eigenpair.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 5, INPUTS = 3, WIDTH = 4000, OUTPUTS = 2 };

/* N(0, 1), by Box and Muller */
static double normal(void) {
  const double u = (rand() + 1.) / (RAND_MAX + 1.), v = (double)rand() / RAND_MAX;
  return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

static void draw(double *to, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; i++) to[i] = normal();
}

static ep_status kernels(const ep_mat *finite, const ep_mat *infinite, const ep_mat *X,
                         const ep_mat *V, const ep_mat *W) {
  ep_net_shape shape = {
      .inputs = INPUTS, .width = WIDTH, .outputs = OUTPUTS, .depth = 1, .input_scale = 1};
  ep_net net;
  EP_TRY(ep_activation_parse(&shape.phi, "tanh"));
  EP_TRY(ep_net_new(&net, &shape, EP_DOUBLE));
  ep_mat_copy(&net.V[0], V);
  ep_mat_copy(&net.W, W);
  ep_status st = ep_ntk_empirical(NULL, finite, &net, X, NULL, EP_TRACE, ep_run_room());
  const ep_analytic limit = {
      .phi = shape.phi, .depth = 1, .input_scale = 1, .config = {1, 0, 1, 0}};
  if (!st) st = ep_analytic_kernel(NULL, infinite, &limit, EP_NTK, X, NULL);
  ep_net_free(&net);
  return st;
}

int main(void) {
  static double x[POINTS * INPUTS], v[WIDTH * INPUTS], w[WIDTH * OUTPUTS], k[POINTS * POINTS],
      t[POINTS * POINTS];
  const ep_mat X = ep_mat_view(EP_DOUBLE, POINTS, INPUTS, x);
  const ep_mat V = ep_mat_view(EP_DOUBLE, WIDTH, INPUTS, v);
  const ep_mat W = ep_mat_view(EP_DOUBLE, WIDTH, OUTPUTS, w);
  const ep_mat K = ep_mat_view(EP_DOUBLE, POINTS, POINTS, k);
  const ep_mat T = ep_mat_view(EP_DOUBLE, POINTS, POINTS, t);
  draw(x, POINTS * INPUTS);
  draw(v, WIDTH * INPUTS);
  draw(w, WIDTH * OUTPUTS);
  const ep_status st = kernels(&K, &T, &X, &V, &W);
  if (st) return fprintf(stderr, "%s\n", ep_last_error()), ep_status_exit(st);
  double worst = 0;
  for (int i = 0; i < POINTS; i++) {
    for (int j = 0; j < POINTS; j++) {
      printf("%8.3f (%.3f)", *ep_d(&K, i, j), *ep_d(&T, i, j));
      worst = fmax(worst, fabs(*ep_d(&K, i, j) - *ep_d(&T, i, j)));
    }
    printf("\n");
  }
  printf("width %d is %.3f from infinite width (in brackets)\n", WIDTH, worst);
  return worst < 0.3 ? 0 : 1;
}
