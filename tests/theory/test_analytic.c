/* Analytic kernels: published values, the recursion written out, random features, positive definite with repeated and
 * almost repeated points, both precisions, products in single, many tiles, bad input, no memory. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/analytic.h>
#include <eigenpair/dataset.h>
#include <float.h>
#include <string.h>

#define PI 3.14159265358979323846

static ep_analytic model(const char *activation, int depth) {
  ep_analytic a = {.depth = depth, .input_scale = 1};
  ep_options_default(ep_variance_options, &a.config);
  CHECK_OK(ep_activation_parse(&a.phi, activation));
  return a;
}

static ep_mat matrix(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols) {
  ep_mat A;
  CHECK_OK(ep_mat_new(&A, prec, rows, cols));
  return A;
}

static ep_mat kernel(const ep_analytic *a, ep_analytic_kind kind, const ep_mat *X) {
  ep_mat K = matrix(EP_DOUBLE, X->rows, X->rows);
  CHECK_OK(ep_analytic_kernel(NULL, &K, a, kind, X, NULL));
  return K;
}

/* points made ready once give the bits of points that are not, in one tile and in several, with tables and without */
static void made_ready(void **state) {
  (void)state;
  static const char *const activations[] = {"relu", "gelu"};
  for (int k = 0; k < 8; k++) {
    const ep_analytic a = model(activations[k & 1], 2);
    const ep_analytic_kind kind = k & 2 ? EP_NTK : EP_NNGP;
    const ep_precision prec = k & 4 ? EP_DOUBLE : EP_SINGLE;
    ep_mat X = matrix(prec, 40, 7), Y = matrix(prec, 600, 7);
    ep_random_fill_normal(&X, 1, EP_STREAM_DATA, 0),
        ep_random_fill_normal(&Y, 2, EP_STREAM_DATA, 0);
    ep_mat A = matrix(EP_DOUBLE, 40, 600), B = matrix(EP_DOUBLE, 40, 600),
           d = matrix(EP_DOUBLE, 1, 600);
    ep_analytic_ready r;
    CHECK_OK(ep_analytic_ready_new(&r, &a, kind, &Y));
    CHECK_OK(ep_analytic_kernel(NULL, &A, &a, kind, &X, &Y));
    for (int again = 0; again < 2; again++) {
      ep_mat_fill(&B, 0);
      CHECK_OK(ep_analytic_kernel_ready(&B, &a, kind, &X, &r));
      assert_memory_equal(A.data, B.data, 40 * 600 * sizeof(double));
    }
    CHECK_OK(ep_analytic_diagonal(NULL, d.data, &a, kind, &Y));
    assert_memory_equal(d.data, r.diagonal, 600 * sizeof(double));
    ep_analytic_ready_free(&r);
    ep_mat_free(&X), ep_mat_free(&Y), ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&d);
  }
}

/* NTK of relu, w = 2, o = 1, unit vectors of correlation 0, 1/2, 1 */
static void published(void **state) {
  (void)state;
  static const double want[4][3] = {{0.318309886, 0.942331114, 2},
                                    {0.685708636, 1.351479561, 3},
                                    {1.060388107, 1.737844679, 4},
                                    {1.430390497, 2.107112538, 5}};
  double x[] = {1, 0, 0, 1, 0.5, sqrt(0.75)};
  const ep_mat X = ep_mat_view(EP_DOUBLE, 3, 2, x);
  for (int depth = 1; depth <= 4; depth++) {
    ep_analytic a = model("relu", depth);
    a.config.weight_variance = 2;
    ep_mat K = kernel(&a, EP_NTK, &X);
    CHECK_NEAR(*ep_d(&K, 0, 1), want[depth - 1][0], 1e-9);
    CHECK_NEAR(*ep_d(&K, 0, 2), want[depth - 1][1], 1e-9);
    CHECK_NEAR(*ep_d(&K, 1, 1), want[depth - 1][2], 1e-9);
    ep_mat_free(&K);
  }
}

/* the formulas at the head of analytic.h, pair by pair, without any care for almost equal points */
static double recursion(const ep_analytic *a, ep_analytic_kind kind, const ep_mat *X, ptrdiff_t i,
                        const ep_mat *Y, ptrdiff_t j) {
  const ep_variance_config *c = &a->config;
  double P[3] = {0}; /* xx, yy, xy */
  for (ptrdiff_t k = 0; k < X->cols; k++) {
    const double x = a->input_scale * ep_get(X, i, k), y = a->input_scale * ep_get(Y, j, k);
    P[0] += x * x;
    P[1] += y * y;
    P[2] += x * y;
  }
  for (int k = 0; k < 3; k++) P[k] = c->weight_variance * P[k] + c->bias_variance;
  double theta = P[2], S[3], slope = 0;
  for (int l = 1; l <= a->depth; l++) {
    const double w = l < a->depth ? c->weight_variance : c->last_variance;
    const double b = l < a->depth ? c->bias_variance : c->last_bias_variance,
                 r = sqrt(P[0]) * sqrt(P[1]);
    ep_dual(&S[0], NULL, &a->phi, &(ep_moments){P[0], P[0], P[0], 0});
    ep_dual(&S[1], NULL, &a->phi, &(ep_moments){P[1], P[1], P[1], 0});
    ep_dual(&S[2], &slope, &a->phi, &(ep_moments){P[0], P[1], P[2], r > 0 ? 1 - P[2] / r : 1});
    theta = w * (S[2] + theta * slope) + b;
    for (int k = 0; k < 3; k++) P[k] = w * S[k] + b;
  }
  return kind == EP_NTK ? theta : P[2];
}

static const char *const all[] = {"relu", "leaky:0.3", "tanh", "sigmoid",    "erf", "linear",
                                  "gelu", "sin",       "cos",  "monomial:3", "exp", "csoftplus"};
enum { ALL = sizeof all / sizeof *all };

/* points of lengths of order 1, the third zero */
static ep_mat points(ep_precision prec, ptrdiff_t n, ptrdiff_t D, uint32_t sub) {
  ep_mat X = random_mat(prec, n, D, sub);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t k = 0; k < D; k++) ep_set(&X, i, k, i == 2 ? 0 : 0.4 * ep_get(&X, i, k));
  return X;
}

/* |K_ij - recursion| <= tolerance sqrt(K_ii K_jj) for every stride-th point */
static void check_recursion(const ep_analytic *a, ep_analytic_kind kind, const ep_mat *X,
                            const ep_mat *Y, ep_precision prec, ptrdiff_t stride) {
  const ep_mat *other = Y ? Y : X;
  ep_mat K = matrix(prec, X->rows, other->rows), d = matrix(EP_DOUBLE, 1, other->rows);
  CHECK_OK(ep_analytic_kernel(NULL, &K, a, kind, X, Y));
  for (ptrdiff_t j = 0; j < other->rows; j += stride)
    *ep_d(&d, 0, j) = recursion(a, kind, other, j, other, j);
  for (ptrdiff_t i = 0; i < X->rows; i += stride) {
    const double mine = recursion(a, kind, X, i, X, i);
    for (ptrdiff_t j = Y ? 0 : i + stride; j < other->rows; j += stride) {
      const double want = recursion(a, kind, X, i, other, j), scale = sqrt(mine * *ep_d(&d, 0, j));
      if (!(fabs(ep_get(&K, i, j) - want) <= (prec == EP_SINGLE ? 1e-7 : 2e-13) * scale))
        fail_msg("%s depth %d, %td %td: %.15g, recursion gives %.15g", ep_activation_label(&a->phi),
                 a->depth, i, j, ep_get(&K, i, j), want);
    }
  }
  ep_mat_free(&K);
  ep_mat_free(&d);
}

/* So many points that tanh and sigmoid go by tables: equal norms, equal in single precision, different ones, a zero. */
static void by_table(void **state) {
  (void)state;
  static const char *const names[] = {"tanh", "sigmoid"};
  enum { N = 250, STEP = 29 };
  for (int k = 0; k < 2; k++)
    for (int way = 0; way < 4; way++) {
      ep_analytic a = model(names[k], 3);
      ep_mat X = random_mat(way == 1 ? EP_SINGLE : EP_DOUBLE, N, 4, 7);
      ep_scale_to_unit(&X);
      for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t c = 0; c < 4; c++) {
          if (way >= 2) ep_set(&X, i, c, (1 + 0.001 * (double)(i % STEP)) * ep_get(&X, i, c));
          if (way == 3) ep_set(&X, i, c, i == 2 * STEP ? 0 : 2 * ep_get(&X, i, c));
        }
      if (way == 3) a.config = (ep_variance_config){1.3, 0.2, 0.7, 0.4};
      check_recursion(&a, way % 2 ? EP_NNGP : EP_NTK, &X, NULL, EP_DOUBLE, STEP);
      ep_mat_free(&X);
    }
}

static void against_recursion(void **state) {
  (void)state;
  ep_mat X = points(EP_DOUBLE, 9, 5, 1), Y = points(EP_SINGLE, 6, 5, 2);
  for (int k = 0; k < ALL; k++)
    for (int depth = 1; depth <= 3; depth++)
      for (int way = 0; way < 4; way++) {
        ep_analytic a = model(all[k], strcmp(all[k], "exp") == 0 ? 1 : depth);
        if (way & 1) {
          a.input_scale = 1 / sqrt(5);
          a.config = (ep_variance_config){1.3, 0.2, 0.7, 0.4};
        }
        check_recursion(&a, way & 2 ? EP_NTK : EP_NNGP, &X, NULL, EP_DOUBLE, 1);
        check_recursion(&a, way & 2 ? EP_NTK : EP_NNGP, &X, &Y, way & 1 ? EP_SINGLE : EP_DOUBLE, 1);
      }
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* more points than a tile has, and more dimensions than a tile of 512 rows may hold */
static void many_tiles(void **state) {
  (void)state;
  ep_mat X = points(EP_SINGLE, 1100, 7, 3), Y = points(EP_DOUBLE, 530, 7, 4);
  const ep_analytic a = model("relu", 2);
  check_recursion(&a, EP_NTK, &X, NULL, EP_SINGLE, 37);
  check_recursion(&a, EP_NTK, &Y, &X, EP_DOUBLE, 37);
  ep_mat K = kernel(&a, EP_NTK, &X);
  for (ptrdiff_t i = 0; i < X.rows; i++)
    for (ptrdiff_t j = 0; j < i; j++) assert_true(*ep_d(&K, i, j) == *ep_d(&K, j, i));
  ep_mat_free(&K);
  ep_mat_free(&X);
  ep_mat_free(&Y);
  X = points(EP_SINGLE, 70, 40000, 5);
  check_recursion(&a, EP_NTK, &X, NULL, EP_DOUBLE, 11);
  ep_mat_free(&X);
}

/* Points and kernel in single against the same points with the kernel in double, whose products are too: positive ones as images
 * are, half of them close to the one before at distances of 1 to 1e-5; all close to each other; too long for products in single. */
static void in_single(void **state) {
  (void)state;
  enum { N = 300, D = 784 };
  static const char *const names[] = {"relu", "erf", "gelu", "leaky:0.2", "erf", "tanh", "sigmoid"};
  for (int way = 0; way < 21; way++) {
    ep_mat X = matrix(EP_SINGLE, N, D), noise = matrix(EP_DOUBLE, N, D);
    ep_random_fill_normal(&noise, 3, EP_STREAM_DATA, (uint32_t)way);
    for (ptrdiff_t i = 0; i < N; i++)
      for (ptrdiff_t k = 0; k < D; k++) {
        const double e = ep_get(&noise, i, k), near = pow(10, -(double)(i / 2 % 6));
        const double image = i % 2 ? ep_get(&X, i - 1, k) + near * e : fabs(e);
        ep_set(&X, i, k, way % 3 == 0 ? image : way % 3 == 1 ? 1 + 0.02 * e : 1e17 * e);
      }
    ep_analytic a = model(names[way / 3], way < 9 ? 3 : 4);
    a.input_scale = way % 3 == 2 ? 1e-17 : 0.1;
    for (int kind = 0; kind < 2; kind++) {
      ep_mat K = matrix(EP_SINGLE, N, N), want = kernel(&a, kind ? EP_NTK : EP_NNGP, &X);
      CHECK_OK(ep_analytic_kernel(NULL, &K, &a, kind ? EP_NTK : EP_NNGP, &X, NULL));
      double worst = 0;
      for (ptrdiff_t i = 0; i < N; i++)
        for (ptrdiff_t j = 0; j < N; j++) {
          const double scale = sqrt(*ep_d(&want, i, i) * *ep_d(&want, j, j));
          worst = fmax(worst, fabs(ep_get(&K, i, j) - *ep_d(&want, i, j)) / scale);
          assert_true(ep_get(&K, i, j) == ep_get(&K, j, i));
        }
      if (!(worst < 7e-7)) fail_msg("%s way %d kind %d: %.2g", names[way / 3], way, kind, worst);
      ep_mat_free(&K), ep_mat_free(&want);
    }
    ep_mat_free(&X), ep_mat_free(&noise);
  }
}

/* diagonal[i] = K(x_i, x_i) in closed form for relu, w = 2: |x|^2 (L + 1)  */
static void diagonals(void **state) {
  (void)state;
  ep_mat X = points(EP_SINGLE, 9, 5, 1);
  double diagonal[9];
  for (int k = 0; k < ALL; k++) {
    const ep_analytic a = model(all[k], strcmp(all[k], "exp") == 0 ? 1 : 3);
    for (int kind = 0; kind < 2; kind++) {
      ep_mat K = kernel(&a, (ep_analytic_kind)kind, &X);
      CHECK_OK(ep_analytic_diagonal(NULL, diagonal, &a, (ep_analytic_kind)kind, &X));
      for (int i = 0; i < 9; i++) {
        assert_true(isfinite(diagonal[i]));
        CHECK_CLOSE(diagonal[i], *ep_d(&K, i, i), 1e-15);
      }
      ep_mat_free(&K);
    }
  }
  ep_analytic a = model("relu", 3);
  a.config.weight_variance = 2;
  CHECK_OK(ep_analytic_diagonal(NULL, diagonal, &a, EP_NTK, &X));
  for (int i = 0; i < 9; i++) {
    const ep_mat x = ep_mat_rows(&X, i, 1);
    CHECK_CLOSE(diagonal[i], 4 * ep_mat_norm2(&x), 1e-14);
  }
  ep_mat_free(&X);
}

/* 1/M sum_m phi(v_m x) phi(v_m y) and, for the tangent kernel, + x'y phi'(v_m x) phi'(v_m y): within 5 standard errors */
static void random_features(void **state) {
  (void)state;
  enum { M = 200000, D = 4 };
  ep_mat V = random_mat(EP_SINGLE, M, D, 9), X = points(EP_DOUBLE, 2, D, 8);
  double product = 0;
  for (int k = 0; k < D; k++) product += *ep_d(&X, 0, k) * *ep_d(&X, 1, k);
  for (int k = 0; k < ALL; k++) {
    const ep_analytic a = model(all[k], 1);
    double sum[2] = {0}, squares[2] = {0};
    for (int m = 0; m < M; m++) {
      double u = 0, v = 0;
      for (int d = 0; d < D; d++) {
        u += *ep_s(&V, m, d) * *ep_d(&X, 0, d);
        v += *ep_s(&V, m, d) * *ep_d(&X, 1, d);
      }
      const double g = ep_activation_value(&a.phi, u) * ep_activation_value(&a.phi, v);
      const double t =
          g + product * ep_activation_slope(&a.phi, u) * ep_activation_slope(&a.phi, v);
      sum[0] += g;
      sum[1] += t;
      squares[0] += g * g;
      squares[1] += t * t;
    }
    for (int kind = 0; kind < 2; kind++) {
      ep_mat K = kernel(&a, (ep_analytic_kind)kind, &X);
      const double mean = sum[kind] / M, sd = sqrt((squares[kind] / M - mean * mean) / M);
      CHECK_NEAR(*ep_d(&K, 0, 1), mean, 5 * sd + 1e-6);
      ep_mat_free(&K);
    }
  }
  ep_mat_free(&V);
  ep_mat_free(&X);
}

/* 60 points: on the sphere, zero, repeated, opposite, at distances 1e-12 to 1e-2 from one another, scaled copies; with
 * `lengths` some of them 1e6 long and some 1e-6 */
enum { HARD = 60, HARD_D = 6 };
static ep_mat hard_points(int lengths) {
  ep_mat X = random_mat(EP_DOUBLE, HARD, HARD_D, 31),
         noise = random_mat(EP_DOUBLE, HARD, HARD_D, 32);
  static const double distance[] = {0, 1e-12, 1e-9, 1e-8, 2e-8, 1e-6, 1e-3, 1e-2};
  for (int i = 0; i < HARD; i++) {
    double *x = ep_d(&X, i, 0), size = 0;
    const double *base = ep_d(&X, i % 5, 0);
    for (int k = 0; k < HARD_D; k++) {
      if (i >= 20 && i < 52)
        x[k] = (i < 46 ? 1 : -1) * base[k] + distance[i % 8] * *ep_d(&noise, i, k);
      if (i >= 52 && i < 57) x[k] = base[k] * (lengths ? 1e-6 : 0.3);
    }
    for (int k = 0; k < HARD_D; k++) size += x[k] * x[k];
    for (int k = 0; k < HARD_D; k++) {
      if (i < 52) x[k] /= sqrt(size);
      if (i >= 57) x[k] = i == 57 && lengths ? 1e6 * base[k] : 0;
    }
  }
  ep_mat_free(&noise);
  return X;
}

static double least_over_largest(const ep_mat *K) {
  double lambda[HARD];
  CHECK_OK(ep_mat_eig_sym(K, lambda));
  return lambda[0] / lambda[HARD - 1];
}

/* the same of K_ij / sqrt(K_ii K_jj): short points count as much as long ones */
static void normalise(const ep_mat *K) {
  double root[HARD];
  for (int i = 0; i < HARD; i++) root[i] = sqrt(*ep_d(K, i, i));
  for (int i = 0; i < HARD; i++)
    for (int j = 0; j < HARD; j++)
      *ep_d(K, i, j) = root[i] > 0 && root[j] > 0 ? *ep_d(K, i, j) / root[i] / root[j] : i == j;
}

static void positive_definite(void **state) {
  (void)state;
  for (int way = 0; way < 8; way++) {
    const int lengths = way & 1, depth = way & 2 ? 3 : 1, bias = way & 4;
    ep_mat X = hard_points(lengths);
    for (int k = 0; k < ALL; k++)
      for (int kind = 0; kind < 2; kind++) {
        if (strcmp(all[k], "exp") == 0) continue;
        if (lengths && strcmp(all[k], "monomial:3") == 0) continue;
        ep_analytic a = model(all[k], depth);
        if (bias) a.config = (ep_variance_config){2, 0.1, 1, 0};
        ep_mat K = kernel(&a, (ep_analytic_kind)kind, &X), F = matrix(EP_SINGLE, HARD, HARD);
        ep_mat copy = matrix(EP_DOUBLE, HARD, HARD);
        ep_mat_copy(&copy, &K);
        normalise(&copy);
        const double plain = least_over_largest(&K), unit = least_over_largest(&copy);
        CHECK_OK(ep_analytic_kernel(NULL, &F, &a, (ep_analytic_kind)kind, &X, NULL));
        ep_mat_copy(&copy, &F);
        const double single = least_over_largest(&copy);
        if (!(plain >= -1e-12 && unit >= -1e-12 && single >= -1e-6))
          fail_msg(
              "%s depth %d lengths %d bias %d %s: least eigenvalue %.2g, normalised %.2g, single "
              "%.2g",
              all[k], depth, lengths, bias, kind ? "NTK" : "NNGP", plain, unit, single);
        ep_mat_free(&K);
        ep_mat_free(&F);
        ep_mat_free(&copy);
      }
    ep_mat_free(&X);
  }
}

/* relu NTK, w = 2, L = 1, at angle t: |x||y| (sin t + 2 (pi - t) cos t)/pi. It falls like t, so its distance from K(x,x)
 * is there for every t that the points have; from x'y alone it would be lost below 1e-8. */
static void almost_equal(void **state) {
  (void)state;
  for (double d = 1e-14; d < 1e-2; d *= 10) {
    double x[] = {0.6, 0.8, 0.6 - 0.8 * d, 0.8 + 0.6 * d};
    const ep_mat X = ep_mat_view(EP_DOUBLE, 2, 2, x);
    ep_analytic a = model("relu", 1);
    a.config.weight_variance = 2;
    ep_mat K = kernel(&a, EP_NTK, &X);
    const double c = 1 / sqrt(1 + d * d), t = atan(d), n = sqrt(1 + d * d);
    const double want = n * (sin(t) + 2 * (PI - t) * c) / PI;
    CHECK_NEAR(*ep_d(&K, 0, 1), want, 1e-15);
    ep_mat_free(&K);
  }
}

/* relu is homogeneous: K(s x, r y) = s r K(x, y), whatever the lengths */
static void huge_and_tiny(void **state) {
  (void)state;
  ep_mat X = points(EP_DOUBLE, 6, 5, 1), Y = points(EP_DOUBLE, 6, 5, 1);
  static const double scale[] = {1e150, 1e-150, 1, 1e-140, 1e100, 3};
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 5; k++) *ep_d(&Y, i, k) *= scale[i];
  const ep_analytic a = model("relu", 3);
  ep_mat K = kernel(&a, EP_NTK, &X), H = kernel(&a, EP_NTK, &Y);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      CHECK_CLOSE(*ep_d(&H, i, j) / scale[i] / scale[j], *ep_d(&K, i, j), 1e-13);
  ep_mat_free(&H);
  for (int k = 0; k < ALL; k++) { /* the bounded ones are finite there */
    const ep_analytic b = model(all[k], 2);
    if (!isfinite(ep_activation_lipschitz(&b.phi))) continue;
    H = kernel(&b, EP_NTK, &Y);
    assert_true(isfinite(ep_mat_max(&H)));
    ep_mat_free(&H);
  }
  ep_mat_free(&K);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void bad_input(void **state) {
  (void)state;
  ep_mat X = points(EP_DOUBLE, 6, 5, 1), Y = points(EP_DOUBLE, 4, 3, 1),
         K = matrix(EP_DOUBLE, 6, 6);
  ep_mat F = matrix(EP_SINGLE, 6, 6);
  double diagonal[6];
  ep_analytic a = model("relu", 1);
  CHECK_STATUS(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, &Y), EP_ERR_SHAPE);
  const ep_mat part = ep_mat_cols(&K, 0, 4);
  CHECK_STATUS(ep_analytic_kernel(NULL, &part, &a, EP_NTK, &X, &Y), EP_ERR_SHAPE);
  a.depth = 0;
  CHECK_STATUS(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL), EP_ERR_ARG);
  CHECK_STATUS(ep_analytic_diagonal(NULL, diagonal, &a, EP_NTK, &X), EP_ERR_ARG);
  a.depth = 1;
  a.config.bias_variance = -1;
  CHECK_STATUS(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL), EP_ERR_ARG);
  a.config.bias_variance = 0;
  *ep_d(&X, 1, 2) = 1e100;
  CHECK_OK(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  CHECK_STATUS(ep_analytic_kernel(NULL, &F, &a, EP_NTK, &X, NULL), EP_ERR_NUMERIC);
  static const double bad[] = {NAN, INFINITY, 1e200};
  for (int i = 0; i < 3; i++) {
    *ep_d(&X, 1, 2) = bad[i];
    CHECK_STATUS(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL), EP_ERR_NUMERIC);
    CHECK_STATUS(ep_analytic_diagonal(NULL, diagonal, &a, EP_NTK, &X), EP_ERR_NUMERIC);
  }
  const ep_mat none = ep_mat_rows(&X, 0, 0), empty = ep_mat_view(EP_DOUBLE, 0, 0, NULL);
  CHECK_OK(ep_analytic_kernel(NULL, &empty, &a, EP_NTK, &none, NULL));
  ep_mat_free(&X);
  ep_mat_free(&Y);
  ep_mat_free(&K);
  ep_mat_free(&F);
}

static void no_memory(void **state) {
  (void)state;
  ep_mat X = points(EP_DOUBLE, 6, 5, 1), Y = points(EP_SINGLE, 4, 5, 1),
         K = matrix(EP_DOUBLE, 6, 4);
  double diagonal[6];
  const ep_analytic a = model("tanh", 2);
  const size_t before = ep_mem_current();
  for (int what = 0; what < 2; what++) {
    ep_status st = EP_ERR_NOMEM;
    for (int k = 0; st; k++) {
      assert_true(k < 50);
      ep_alloc_fail_after = k;
      st = what ? ep_analytic_diagonal(NULL, diagonal, &a, EP_NTK, &X)
                : ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, &Y);
      ep_alloc_fail_after = -1;
      assert_true(st == EP_OK ? k > 0 : st == EP_ERR_NOMEM);
      assert_int_equal(ep_mem_current(), before);
    }
  }
  ep_mat_free(&X);
  ep_mat_free(&Y);
  ep_mat_free(&K);
}

/* beside K and X at most a tenth of K once K is large */
static void memory(void **state) {
  (void)state;
  enum { N = 4000 };
  ep_mat X = points(EP_SINGLE, N, 50, 6), K = matrix(EP_SINGLE, N, N);
  const ep_analytic a = model("relu", 3);
  ep_mem_peak_reset();
  const size_t before = ep_mem_current();
  CHECK_OK(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  assert_true(ep_mem_peak() - before < (size_t)N * N * sizeof(float) / 10);
  ep_mat_free(&X);
  ep_mat_free(&K);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published),       cmocka_unit_test(against_recursion),
      cmocka_unit_test(by_table),        cmocka_unit_test(many_tiles),
      cmocka_unit_test(made_ready),      cmocka_unit_test(diagonals),
      cmocka_unit_test(random_features), cmocka_unit_test(positive_definite),
      cmocka_unit_test(almost_equal),    cmocka_unit_test(huge_and_tiny),
      cmocka_unit_test(bad_input),       cmocka_unit_test(no_memory),
      cmocka_unit_test(memory),          cmocka_unit_test(in_single),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
