/* Gradients of the descents of linear.h's comparison against central differences: through C and through points, every
 * depth, every activation with a slope, and through the spectral norms of the scaled loss. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/descent.h>
#include <eigenpair/linear.h>
#include <string.h>

enum { D = 4, N = 6, H = 7, Z = 2 };

/* N triplets in R^D */
static void make_points(ep_points *p) {
  const ep_pair_plan plan = {1, 1, false, false};
  *p = (ep_points){.X = random_mat(EP_DOUBLE, 2 * N, D, 7)};
  CHECK_OK(ep_pairs_draw(&p->pairs, N, &plan, 3));
}

static ep_descent_config config_of(int layers, ep_constraint constraint, const char *activation) {
  ep_descent_config c;
  ep_options_default(ep_descent_options, &c);
  c.layers = layers;
  c.width = H;
  c.outputs = Z;
  c.constraint = constraint;
  strcpy(c.activation, activation);
  return c;
}

static void check_gradient(ep_descent *d, double tol) {
  for (int i = 0; i < ep_descent_layers(d); i++) {
    const ep_mat *W = ep_descent_weights(d, i);
    ep_mat G;
    CHECK_OK(ep_mat_new(&G, EP_DOUBLE, W->rows, W->cols));
    CHECK_OK(ep_descent_gradient(&G, d, i));
    for (ptrdiff_t r = 0; r < W->rows; r++)
      for (ptrdiff_t c = 0; c < W->cols; c++) {
        const double at = *ep_d(W, r, c), e = 1e-5;
        double up, down;
        *ep_d(W, r, c) = at + e;
        CHECK_OK(ep_descent_loss(&up, d));
        *ep_d(W, r, c) = at - e;
        CHECK_OK(ep_descent_loss(&down, d));
        *ep_d(W, r, c) = at;
        CHECK_NEAR(*ep_d(&G, r, c), (up - down) / (2 * e), tol * fmax(1, ep_mat_max(&G)));
      }
    ep_mat_free(&G);
  }
}

/* away from the orthonormal start, where the largest singular value is simple */
static void shake(ep_descent *d) {
  for (int i = 0; i < ep_descent_layers(d); i++) {
    const ep_mat *W = ep_descent_weights(d, i);
    ep_mat noise = random_mat(EP_DOUBLE, W->rows, W->cols, 40 + (uint32_t)i);
    ep_mat_axpy(W, 0.3, &noise);
    ep_mat_free(&noise);
  }
}

static void through_a_matrix(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_DOUBLE, D, D, 8), C;
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
  for (int i = 0; i < D; i++)
    for (int j = 0; j < D; j++) *ep_d(&C, i, j) = *ep_d(&A, i, j) + *ep_d(&A, j, i);
  for (int layers = 1; layers <= 4; layers++)
    for (int scaled = 0; scaled < 2; scaled++) {
      ep_descent *d;
      const ep_descent_config config =
          config_of(layers, scaled ? EP_CONSTRAINT_SCALED : EP_CONSTRAINT_NONE, "linear");
      CHECK_OK(ep_descent_new(&d, &config, &C, NULL, 5));
      shake(d);
      check_gradient(d, 1e-8);
      ep_descent_free(d);
    }
  ep_mat_free(&A);
  ep_mat_free(&C);
}

static void through_points(void **state) {
  (void)state;
  ep_points p;
  make_points(&p);
  static const char *const smooth[] = {"tanh", "sigmoid",    "linear",
                                       "gelu", "monomial:3", "csoftplus"};
  for (int a = 0; a < 6; a++)
    for (int layers = 2; layers <= 4; layers += 2)
      for (int scaled = 0; scaled < 2; scaled++) {
        ep_descent *d;
        const ep_descent_config config =
            config_of(layers, scaled ? EP_CONSTRAINT_SCALED : EP_CONSTRAINT_NONE, smooth[a]);
        CHECK_OK(ep_descent_new(&d, &config, NULL, &p, 5));
        shake(d);
        check_gradient(d, 2e-7);
        ep_descent_free(d);
      }
  ep_points_free(&p);
}

/* A linear network's loss and gradient are the same through its points and through their C, every depth. */
static void both_ways(void **state) {
  (void)state;
  ep_points p;
  ep_mat C;
  make_points(&p);
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
  CHECK_OK(ep_linear_add(&C, &p.X, &p.pairs, 1. / N));
  for (int layers = 2; layers <= 4; layers++) {
    const ep_descent_config config = config_of(layers, EP_CONSTRAINT_NONE, "linear");
    ep_descent *a, *b;
    double la, lb;
    CHECK_OK(ep_descent_new(&a, &config, &C, NULL, 9));
    CHECK_OK(ep_descent_new(&b, &config, NULL, &p, 9));
    CHECK_OK(ep_descent_step(a, 3));
    CHECK_OK(ep_descent_step(b, 3));
    CHECK_OK(ep_descent_loss(&la, a));
    CHECK_OK(ep_descent_loss(&lb, b));
    CHECK_CLOSE(la, lb, 1e-13);
    for (int i = 0; i < layers; i++) {
      CHECK_NEAR(mat_gap(ep_descent_weights(a, i), ep_descent_weights(b, i)), 0, 1e-13);
    }
    ep_mat E, F;
    CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, Z));
    CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, Z));
    CHECK_OK(ep_descent_embed(&E, a, &p.X));
    CHECK_OK(ep_descent_embed(&F, b, &p.X));
    CHECK_NEAR(mat_gap(&E, &F), 0, 1e-13);
    ep_mat_free(&E);
    ep_mat_free(&F);
    ep_descent_free(a);
    ep_descent_free(b);
  }
  ep_mat_free(&C);
  ep_points_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(through_a_matrix),
      cmocka_unit_test(through_points),
      cmocka_unit_test(both_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
