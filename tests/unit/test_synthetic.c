/* Synthetic data: shapes, exact structure, and the closed forms of OPTIMA B.1. */
#include "check.h"
#include "core/mem.h"
#include "data/patterns.h"

#include <eigenpair/synthetic.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
  ep_mat X;
  int *labels;
} data;

static data make_in(ep_precision prec, const char *name, const char *parameters, ptrdiff_t samples,
                    uint64_t seed) {
  data d;
  CHECK_OK(ep_synthetic_make(&d.X, &d.labels, name, parameters, samples, seed, prec));
  assert_int_equal(d.X.prec, prec);
  return d;
}

static data make(const char *name, const char *parameters) {
  return make_in(EP_DOUBLE, name, parameters, 0, 42);
}

static void drop(data *d) {
  ep_mat_free(&d->X);
  ep_release(d->labels);
}

static double dot(const ep_mat *X, ptrdiff_t i, ptrdiff_t k) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < X->cols; j++) sum += *ep_d(X, i, j) * *ep_d(X, k, j);
  return sum;
}

/* Small enough for any test, with every parameter given. */
static const struct {
  const char *name, *small;
  ptrdiff_t n, d; /* of the defaults */
  bool labelled, sized;
} known[] = {
    {"moons", "30", 200, 3, true, true},
    {"circle", "30", 64, 2, false, false},
    {"cube", "5", 256, 8, false, false},
    {"sphere", "4,30", 256, 3, false, true},
    {"categorical", "5,30,0.1", 600, 6, true, true},
    {"summation", "5,30,0.3,0.1", 600, 6, false, true},
    {"clusters", "4,30,6", 1000, 20, true, true},
};
enum { KNOWN = sizeof known / sizeof *known };

static void test_table(void **state) {
  (void)state;
  for (int k = 0; k < KNOWN; k++) {
    assert_string_equal(ep_synthetic_name(k), known[k].name);
    assert_memory_equal(ep_synthetic_help(k), known[k].name, strlen(known[k].name));
    data d = make(known[k].name, NULL);
    assert_true(d.X.rows == known[k].n && d.X.cols == known[k].d);
    assert_int_equal(d.labels != NULL, known[k].labelled);
    drop(&d);
    d = make_in(EP_DOUBLE, known[k].name, NULL, 17, 42);
    assert_true(d.X.rows == (known[k].sized ? 17 : known[k].n) && d.X.cols == known[k].d);
    drop(&d);
    d = make_in(EP_DOUBLE, known[k].name, known[k].small, 16, 42); /* wins over the list */
    assert_true(d.X.rows == (known[k].sized ? 16 : k == 1 ? 30 : 32));
    drop(&d);
  }
  assert_null(ep_synthetic_name(KNOWN));
  assert_null(ep_synthetic_help(KNOWN));
  assert_null(ep_synthetic_name(-1));
}

/* Label 0 lies about the upper half of the circle around 0, label 1 about the lower half of the one
 * around (1, 1/2); what is left is noise of 0.1. */
static void test_moons(void **state) {
  (void)state;
  data d = make("moons", "4000");
  double height[2] = {0}, off[2] = {0}, width[2] = {0}, third = 0;
  for (ptrdiff_t i = 0; i < 4000; i++) {
    const int label = d.labels[i];
    assert_int_equal(label, i % 2);
    const double x = *ep_d(&d.X, i, 0) - (label ? 1 : 0);
    const double y = label ? 0.5 - *ep_d(&d.X, i, 1) : *ep_d(&d.X, i, 1);
    height[label] += y / 2000;
    width[label] += x * x / 2000;
    off[label] += pow(hypot(x, y) - 1, 2) / 2000;
    third += pow(*ep_d(&d.X, i, 2), 2) / 4000;
  }
  for (int k = 0; k < 2; k++) {
    CHECK_NEAR(height[k], 2 / acos(-1), 0.04); /* mean of sin over the arc */
    CHECK_NEAR(width[k], 0.51, 0.045);         /* mean of cos^2, and the noise */
    CHECK_NEAR(off[k], 0.01, 0.0025);
  }
  CHECK_NEAR(third, 0.01, 0.0015);
  drop(&d);
}

static void test_circle(void **state) {
  (void)state;
  data d = make("circle", "12");
  const double half = 0.5, root = sqrt(3) / 2;
  const double x[12] = {1, root, half, 0, -half, -root, -1, -root, -half, 0, half, root};
  for (int i = 0; i < 12; i++) {
    CHECK_NEAR(*ep_d(&d.X, i, 0), x[i], 1e-15);
    CHECK_NEAR(*ep_d(&d.X, i, 1), x[(i + 9) % 12], 1e-15); /* sin t = cos(t - pi/2) */
  }
  drop(&d);
}

static void test_cube(void **state) {
  (void)state;
  data d = make("cube", "4");
  assert_int_equal(d.X.rows, 16);
  for (int i = 0; i < 16; i++) {
    int back = 0;
    for (int j = 0; j < 4; j++) {
      assert_true(fabs(*ep_d(&d.X, i, j)) == 1);
      back += *ep_d(&d.X, i, j) > 0 ? 1 << j : 0;
    }
    assert_int_equal(back, i);
  }
  drop(&d);
}

/* |x| = 1, E x = 0, E xx' = I/d, E x_1^4 = 3 / (d (d + 2)) */
static void test_sphere(void **state) {
  (void)state;
  enum { D = 4, N = 20000 };
  data d = make("sphere", "4,20000");
  double mean[D] = {0}, second[D][D] = {{0}}, fourth = 0;
  for (ptrdiff_t i = 0; i < N; i++) {
    CHECK_NEAR(dot(&d.X, i, i), 1, 1e-14);
    for (int a = 0; a < D; a++) {
      mean[a] += *ep_d(&d.X, i, a) / N;
      for (int b = 0; b < D; b++) second[a][b] += *ep_d(&d.X, i, a) * *ep_d(&d.X, i, b) / N;
    }
    fourth += pow(*ep_d(&d.X, i, 0), 4) / N;
  }
  for (int a = 0; a < D; a++) {
    CHECK_NEAR(mean[a], 0, 5 * 0.5 / sqrt(N));
    for (int b = 0; b < D; b++) CHECK_NEAR(second[a][b], a == b ? 0.25 : 0, 5 * 0.25 / sqrt(N));
  }
  CHECK_NEAR(fourth, 3.0 / 24, 5 * 0.2 / sqrt(N));
  drop(&d);
  d = make("sphere", "1,50");
  for (int i = 0; i < 50; i++) assert_true(fabs(*ep_d(&d.X, i, 0)) == 1);
  drop(&d);
}

/* Rows of equal label are equal, of different labels orthogonal; the labels are uniform. */
static void test_categorical(void **state) {
  (void)state;
  enum { M = 7, N = 2100 };
  data d = make("categorical", "7,2100"), noisy = make("categorical", "7,2100,0.5");
  int count[M] = {0};
  double e2 = 0;
  for (ptrdiff_t i = 0; i < N; i++) {
    assert_in_range(d.labels[i], 0, M - 1);
    count[d.labels[i]]++;
    CHECK_NEAR(dot(&d.X, i, (i * 5 + 1) % N), d.labels[i] == d.labels[(i * 5 + 1) % N], 1e-13);
    assert_int_equal(noisy.labels[i], d.labels[i]);
    for (int j = 0; j < M; j++) e2 += pow(*ep_d(&noisy.X, i, j) - *ep_d(&d.X, i, j), 2) / (M * N);
  }
  for (int k = 0; k < M; k++) assert_in_range(count[k], 220, 380); /* 300 +- 5 deviations */
  CHECK_NEAR(e2, 0.25, 5 * 0.25 * sqrt(2.0 / (M * N)));
  drop(&d);
  drop(&noisy);
}

/* u: m rows, the orthonormal vectors, taken from the categorical set of the same seed */
static void basis(double *u, const char *m) {
  data d = make_in(EP_DOUBLE, "categorical", m, 500, 42);
  for (ptrdiff_t i = 0; i < d.X.rows; i++)
    memcpy(u + d.labels[i] * d.X.cols, ep_d(&d.X, i, 0), (size_t)d.X.cols * sizeof *u);
  drop(&d);
}

/* y = U'x takes two values; E y = 0, E yy' = I. With relu, A(u_k) = Cov[x 1(u_k'x > 0)] is
 * (1-q)^2 u_k u_k' + q (I - u_k u_k'): in the basis U, diagonal. */
static void check_summation(const char *parameters, double q) {
  enum { M = 4, N = 40000 };
  double u[M * M], second[M][M] = {{0}}, mean[M] = {0}, A[M][M] = {{0}}, active[M] = {0};
  basis(u, "4");
  data d = make("summation", parameters);
  assert_true(d.X.rows == N && d.X.cols == M);
  for (ptrdiff_t i = 0; i < N; i++) {
    double y[M] = {0};
    for (int k = 0; k < M; k++) {
      for (int j = 0; j < M; j++) y[k] += u[M * k + j] * *ep_d(&d.X, i, j);
      CHECK_NEAR(y[k], y[k] > 0 ? sqrt((1 - q) / q) : -sqrt(q / (1 - q)), 1e-13);
    }
    for (int a = 0; a < M; a++) {
      const double on = y[0] > 0 ? 1 : 0;
      mean[a] += y[a] / N;
      active[a] += on * y[a] / N;
      for (int b = 0; b < M; b++) {
        second[a][b] += y[a] * y[b] / N;
        A[a][b] += on * y[a] * y[b] / N;
      }
    }
  }
  const double slack = 5 * sqrt((1 - q) / q) / sqrt(N);
  for (int a = 0; a < M; a++) {
    CHECK_NEAR(mean[a], 0, 5 / sqrt(N));
    for (int b = 0; b < M; b++) {
      CHECK_NEAR(second[a][b], a == b ? 1 : 0, 2 * slack);
      const double expect = a != b ? 0 : a == 0 ? (1 - q) * (1 - q) : q;
      CHECK_NEAR(A[a][b] - active[a] * active[b], expect, 2 * slack);
    }
  }
  drop(&d);
}

static void test_summation(void **state) {
  (void)state;
  check_summation("4,40000", 0.2);
  check_summation("4,40000,0.5", 0.5);
  check_summation("4,40000,0.7", 0.7);
}

/* Unit columns, |U'U - I|_2 = tilt to bisection's end; the set's points are whole sums of them. */
static void test_tilted_patterns(void **state) {
  (void)state;
  enum { M = 5 };
  static const double tilts[] = {0, 0.15, 0.9};
  for (int t = 0; t < 3; t++) {
    ep_mat U, G;
    double lambda[M];
    CHECK_OK(ep_patterns(&U, M, tilts[t], 42));
    CHECK_OK(ep_mat_new(&G, EP_DOUBLE, M, M));
    ep_mat_mul(&G, 1, &U, EP_T, &U, EP_N, 0);
    for (int k = 0; k < M; k++) {
      CHECK_NEAR(*ep_d(&G, k, k), 1, 1e-14);
      *ep_d(&G, k, k) -= 1;
    }
    CHECK_OK(ep_mat_eig_sym(&G, lambda));
    CHECK_NEAR(fmax(-lambda[0], lambda[M - 1]), tilts[t], 1e-12);
    ep_mat_free(&G);
    ep_mat_free(&U);
  }
  ep_mat U;
  data plain = make("summation", "5,30,0.3"), tilted = make("summation", "5,30,0.3,0.4");
  double u[M * M];
  basis(u, "5");
  CHECK_OK(ep_patterns(&U, M, 0.4, 42));
  for (ptrdiff_t i = 0; i < 30; i++) {
    double y[M] = {0};
    for (int k = 0; k < M; k++)
      for (int j = 0; j < M; j++) y[k] += u[M * k + j] * *ep_d(&plain.X, i, j);
    for (int j = 0; j < M; j++) {
      double x = 0;
      for (int k = 0; k < M; k++) x += *ep_d(&U, j, k) * y[k];
      CHECK_NEAR(*ep_d(&tilted.X, i, j), x, 1e-12);
    }
  }
  ep_mat_free(&U);
  drop(&plain);
  drop(&tilted);
}

/* Within a cluster N(0, I); the centres spread three times as far. */
static void test_clusters(void **state) {
  (void)state;
  enum { K = 40, N = 20000, D = 5 };
  static double centre[K][D];
  data d = make("clusters", "40,20000,5");
  double within = 0, between = 0;
  for (ptrdiff_t i = 0; i < N; i++) {
    assert_int_equal(d.labels[i], i % K);
    for (int j = 0; j < D; j++) centre[d.labels[i]][j] += *ep_d(&d.X, i, j) / (N / K);
  }
  for (ptrdiff_t i = 0; i < N; i++)
    for (int j = 0; j < D; j++)
      within += pow(*ep_d(&d.X, i, j) - centre[d.labels[i]][j], 2) / (D * N);
  for (int k = 0; k < K; k++)
    for (int j = 0; j < D; j++) between += centre[k][j] * centre[k][j] / (K * D);
  CHECK_NEAR(within, 1 - (double)K / N, 5 * sqrt(2.0 / (D * N)));
  CHECK_NEAR(between, 9, 5 * 9 * sqrt(2.0 / (K * D)));
  drop(&d);
}

static bool same(const data *a, const data *b) {
  const size_t n = (size_t)a->X.rows;
  return a->X.rows == b->X.rows && a->X.cols == b->X.cols &&
         memcmp(a->X.data, b->X.data, n * (size_t)a->X.cols * sizeof(double)) == 0 &&
         (!a->labels || memcmp(a->labels, b->labels, n * sizeof(int)) == 0);
}

/* Seeds matter, threads and n do not, single precision is double precision rounded. 150 is large
 * enough for a factorisation on two threads to round differently. */
static void test_function_of_the_seed(void **state) {
  (void)state;
  static const char *const large[] = {"5000",        "6000",        "12",      "40,400",
                                      "150,100,0.1", "150,100,0.3", "7,900,30"};
  const int before = omp_get_max_threads();
  for (int k = 0; k < KNOWN; k++) {
    omp_set_num_threads(1);
    data once = make(known[k].name, large[k]);
    for (int threads = 2; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      data again = make(known[k].name, large[k]);
      assert_int_equal(omp_get_max_threads(), threads);
      if (!same(&once, &again)) fail_msg("%s on %d threads", known[k].name, threads);
      drop(&again);
    }
    omp_set_num_threads(before);
    data other = make_in(EP_DOUBLE, known[k].name, large[k], 0, 43);
    data single = make_in(EP_SINGLE, known[k].name, large[k], 0, 42);
    assert_int_equal(same(&once, &other), !known[k].sized);
    for (ptrdiff_t i = 0; i < once.X.rows; i++)
      for (ptrdiff_t j = 0; j < once.X.cols; j++)
        assert_true(*ep_s(&single.X, i, j) == (float)*ep_d(&once.X, i, j));
    if (known[k].sized) {
      data few = make_in(EP_DOUBLE, known[k].name, large[k], 33, 42);
      once.X.rows = 33;
      assert_true(same(&few, &once));
      drop(&few);
    }
    drop(&once);
    drop(&other);
    drop(&single);
  }
}

static void refused(const char *name, const char *parameters, ptrdiff_t samples, const char *hint) {
  ep_mat X;
  int *labels;
  const size_t before = ep_mem_current();
  CHECK_STATUS(ep_synthetic_make(&X, &labels, name, parameters, samples, 0, EP_DOUBLE), EP_ERR_ARG);
  if (!strstr(ep_last_error(), hint))
    fail_msg("%s:%s: %s", name, parameters ? parameters : "", ep_last_error());
  assert_null(X.data);
  assert_null(labels);
  assert_int_equal(ep_mem_current(), before);
}

static void test_refuses(void **state) {
  (void)state;
  static const char *const no_number[] = {"",    ",",   "x",     "3x",  " 3",  "3 ", "nan",
                                          "inf", "0x3", "1e999", "--3", "3;4", "1e", "."};
  for (size_t k = 0; k < sizeof no_number / sizeof *no_number; k++)
    refused("sphere", no_number[k], 0, "sphere[:d[,n]]");
  refused("sphere", "3,", 0, "n '' is not a number");
  refused("sphere", "3,,4", 0, "n '' is not a number");
  refused("sphere", "3,4,5", 0, "too many parameters");
  refused("categorical", "3,4,0.5,1", 0, "too many parameters");
  refused("moons", "2.5", 0, "whole");
  refused("moons", "0", 0, "out of range");
  refused("moons", "-4", 0, "out of range");
  refused("moons", "1e12", 0, "out of range");
  refused("cube", "21", 0, "out of range: 1 to 20");
  refused("summation", "6,10,0", 0, "q 0 is out of range");
  refused("summation", "6,10,1", 0, "q 1 is out of range");
  refused("categorical", "6,10,-1", 0, "noise -1 is out of range");
  refused("categorical", "1e5", 0, "m 100000 is out of range");
  refused("sphere", "1000000,100000000", 0, "more than 1e+09 numbers");
  refused("clusters", "1000000,10,1000000", 0, "centres");
  refused("moons", NULL, PTRDIFF_MAX, "samples");
  refused("sun", NULL, 0, "moons, circle, cube, sphere, categorical, summation, clusters");
  refused("moon", NULL, 0, "did you mean moons");
  refused("", NULL, 0, "choose one of");
  refused("moons:5", NULL, 0, "apart");
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  for (int k = 0; k < KNOWN; k++) {
    const size_t before = ep_mem_current();
    for (int n = 0;; n++) {
      data d = {.labels = (int *)(void *)&d};
      ep_alloc_fail_after = n;
      const ep_status st =
          ep_synthetic_make(&d.X, &d.labels, known[k].name, known[k].small, 0, 1, EP_SINGLE);
      ep_alloc_fail_after = -1;
      if (!st) {
        assert_true(n >= 2 + known[k].labelled); /* each was reached */
        drop(&d);
        assert_int_equal(ep_mem_current(), before);
        break;
      }
      assert_int_equal(st, EP_ERR_NOMEM);
      assert_null(d.X.data);
      assert_null(d.labels);
      assert_int_equal(ep_mem_current(), before);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),     cmocka_unit_test(test_moons),
      cmocka_unit_test(test_circle),    cmocka_unit_test(test_cube),
      cmocka_unit_test(test_sphere),    cmocka_unit_test(test_categorical),
      cmocka_unit_test(test_summation), cmocka_unit_test(test_tilted_patterns),
      cmocka_unit_test(test_clusters),  cmocka_unit_test(test_function_of_the_seed),
      cmocka_unit_test(test_refuses),   cmocka_unit_test(test_every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
