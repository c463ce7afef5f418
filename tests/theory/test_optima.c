/* A(w) against its definition and the paper's exact cases; optima, stability, roughness, basins. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/eigen.h>
#include <eigenpair/optima.h>
#include <eigenpair/optima_figures.h>
#include <omp.h>
#include <string.h>

static ep_optima_config config_of(long starts) {
  ep_optima_config c;
  ep_options_default(ep_optima_options, &c);
  c.starts = starts;
  return c;
}

static ep_layer layer_of(const ep_mat *X, const char *activation, const char *weights) {
  ep_layer l = {.X = *X};
  CHECK_OK(ep_activation_parse(&l.h, activation));
  CHECK_OK(ep_alpha_load(&l.alpha, weights, ""));
  return l;
}

static void normalise(double *w, ptrdiff_t d) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < d; j++) sum += w[j] * w[j];
  for (ptrdiff_t j = 0; j < d; j++) w[j] /= sqrt(sum);
}

/* ---- products and matrices against the double sum */

/* A(v) = 1/(2N^2) sum_ij alpha_ij [ (x~_i-x~_j)(x~_i-x~_j)' - (x~_i-x~'_i)(x~_i-x~'_i)' ], alpha at w */
static ep_mat naive_matrix(const ep_layer *l, const double *v, const double *at) {
  const ptrdiff_t n = l->X.rows, d = l->X.cols;
  ep_mat A, Z[2], F[3], *alpha_from;
  const ep_mat *X[3] = {&l->X, &l->X2, l->X0.data ? &l->X0 : &l->X};
  double row[64];
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, d, d));
  for (int view = 0; view < 3; view++) {
    CHECK_OK(ep_mat_new(&F[view], EP_DOUBLE, n, 1));
    if (view < 2) CHECK_OK(ep_mat_new(&Z[view], EP_DOUBLE, n, d));
    for (ptrdiff_t i = 0; X[view]->data && i < n; i++) {
      double s = 0, t = 0;
      for (ptrdiff_t j = 0; j < d; j++) {
        s += ep_get(X[view], i, j) * v[j];
        t += ep_get(X[view], i, j) * at[j];
      }
      ep_set(&F[view], i, 0, ep_activation_value(&l->h, t));
      for (ptrdiff_t j = 0; view < 2 && j < d; j++)
        ep_set(&Z[view], i, j, ep_activation_slope(&l->h, s) * ep_get(X[view], i, j));
    }
  }
  alpha_from = ep_alpha_of_views(&l->alpha) ? &F[0] : &F[2];
  for (ptrdiff_t i = 0; i < n; i++) {
    ep_alpha_row(row, &l->alpha, alpha_from, l->X2.data ? &F[1] : NULL, i);
    for (ptrdiff_t k = 0; k < n; k++)
      for (ptrdiff_t p = 0; p < d; p++)
        for (ptrdiff_t q = 0; q < d; q++) {
          double c = (ep_get(&Z[0], i, p) - ep_get(&Z[0], k, p)) *
                     (ep_get(&Z[0], i, q) - ep_get(&Z[0], k, q));
          if (l->X2.data)
            c -= (ep_get(&Z[0], i, p) - ep_get(&Z[1], i, p)) *
                 (ep_get(&Z[0], i, q) - ep_get(&Z[1], i, q));
          *ep_d(&A, p, q) += row[k] * c / (2. * (double)(n * n));
        }
  }
  for (int view = 0; view < 3; view++) ep_mat_free(&F[view]);
  ep_mat_free(&Z[0]);
  ep_mat_free(&Z[1]);
  return A;
}

static void check_layer(const ep_layer *l) {
  enum { K = 3 };
  const ptrdiff_t d = l->X.cols;
  ep_mat W = random_mat(EP_DOUBLE, K, d, 5), V = random_mat(EP_DOUBLE, K, d, 6), A, Y[2], one;
  for (int i = 0; i < 2; i++) CHECK_OK(ep_mat_new(&Y[i], EP_DOUBLE, K, d));
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, d, d));
  CHECK_OK(ep_mat_new(&one, EP_DOUBLE, 1, d));
  CHECK_OK(ep_layer_product(&Y[0], l, &W, NULL, NULL));
  CHECK_OK(ep_layer_product(&Y[1], l, &W, &V, &W));
  for (ptrdiff_t k = 0; k < K; k++) {
    const double *w = ep_d(&W, k, 0), *v = ep_d(&V, k, 0);
    for (int other = 0; other < 2; other++) {
      ep_mat R = naive_matrix(l, other ? v : w, w);
      const double size = 1 + ep_mat_max(&R);
      CHECK_OK(ep_layer_matrix(&A, l, other ? v : w, w));
      CHECK_NEAR(mat_gap(&A, &R), 0, 1e-13 * size);
      ep_mat_vec(one.data, 1, &R, EP_N, w, 0);
      const ep_mat y = ep_mat_rows(&Y[other], k, 1), row = ep_mat_rows(&W, k, 1);
      CHECK_NEAR(mat_gap(&y, &one), 0, 1e-13 * size);
      ep_mat_free(&R);
      if (other) continue; /* one row alone takes another way */
      CHECK_OK(ep_layer_product(&one, l, &row, NULL, NULL));
      CHECK_NEAR(mat_gap(&y, &one), 0, 1e-13 * size);
    }
  }
  for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&W, &V, &A, &Y[0], &Y[1], &one}[i]);
}

static const char *const activations[] = {"relu", "leaky:0.3", "linear", "monomial:3"};
static const char *const weightings[] = {"uniform", "gaussian:0.4", "infonce:0.4", "infonce:0.4,1",
                                         "triplet:0.2"};

static void products(void **state) {
  (void)state;
  enum { N = 40, D = 4 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), X2 = random_mat(EP_DOUBLE, N, D, 2),
         X0 = random_mat(EP_DOUBLE, N, D, 3);
  for (int a = 0; a < 4; a++)
    for (int g = 0; g < 5; g++) {
      ep_layer l = layer_of(&X, activations[a], weightings[g]);
      check_layer(&l);
      l.X2 = X2;
      check_layer(&l);
      l.X0 = X0;
      check_layer(&l);
    }
  ep_mat_free(&X);
  ep_mat_free(&X2);
  ep_mat_free(&X0);
}

/* More points than a block, one row and several, points far from 0: against the matrix, and the same bits on any
 * number of threads. */
static void large(void **state) {
  (void)state;
  enum { N = 3000, D = 7 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), X2 = random_mat(EP_DOUBLE, N, D, 2), A, y, z;
  for (ptrdiff_t i = 0; i < N; i++) *ep_d(&X, i, 0) += 1000;
  ep_layer l = layer_of(&X, "linear", "uniform");
  double w[D] = {1, 1, 0.5, -1, 2, 0, 1};
  const ep_mat row = ep_mat_view(EP_DOUBLE, 1, D, w);
  normalise(w, D);
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, D, D));
  CHECK_OK(ep_mat_new(&y, EP_DOUBLE, 1, D));
  CHECK_OK(ep_mat_new(&z, EP_DOUBLE, 1, D));
  for (int views = 0; views < 2; views++) {
    if (views) l.X2 = X2;
    CHECK_OK(ep_layer_matrix(&A, &l, w, NULL));
    ep_mat_vec(z.data, 1, &A, EP_N, w, 0);
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    CHECK_OK(ep_layer_product(&y, &l, &row, NULL, NULL));
    CHECK_NEAR(mat_gap(&y, &z), 0, views ? 1e-7 : 1e-10); /* second views are 1000 away */
    omp_set_num_threads(3);
    CHECK_OK(ep_layer_product(&z, &l, &row, NULL, NULL));
    omp_set_num_threads(before);
    assert_memory_equal(y.data, z.data, sizeof w);
  }
  for (int i = 0; i < 5; i++) ep_mat_free((ep_mat *[]){&X, &X2, &A, &y, &z}[i]);
}

/* A(w)w / p is the gradient of C_alpha[h(w'x)] / 2 with alpha held constant (Lemma 3; monomials carry 1/p) */
static void gradient(void **state) {
  (void)state;
  enum { N = 30, D = 3 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), y;
  CHECK_OK(ep_mat_new(&y, EP_DOUBLE, 1, D));
  for (int a = 0; a < 4; a++)
    for (int given = 0; given < 2; given++) {
      ep_layer l = layer_of(&X, activations[a], "uniform");
      if (given)
        l.alpha = (ep_alpha){.kind = EP_ALPHA_GIVEN, .given = random_mat(EP_DOUBLE, N, N, 4)};
      double w[D] = {0.3, -0.8, 0.5}, up, down;
      const ep_mat row = ep_mat_view(EP_DOUBLE, 1, D, w);
      CHECK_OK(ep_layer_product(&y, &l, &row, NULL, NULL));
      for (int j = 0; j < D; j++) {
        const double step = 1e-6, keep = w[j];
        w[j] = keep + step;
        CHECK_OK(ep_layer_energy(&up, &l, w));
        w[j] = keep - step;
        CHECK_OK(ep_layer_energy(&down, &l, w));
        w[j] = keep;
        CHECK_CLOSE(ep_get(&y, 0, j) / ep_layer_power(&l), (up - down) / (4 * step), 1e-7);
      }
      ep_alpha_free(&l.alpha);
    }
  ep_mat_free(&X);
  ep_mat_free(&y);
}

/* ---- populations: points with probabilities p are weights alpha_ij = N^2 p_i p_j */

typedef struct {
  ep_mat U, X; /* columns u_m; the points */
  ep_layer layer;
} population;

static ep_mat orthonormal(ptrdiff_t m) {
  ep_mat U = random_mat(EP_DOUBLE, m, m, 9), R;
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, m, m));
  CHECK_OK(ep_mat_qr(&U, &R));
  ep_mat_free(&R);
  return U;
}

static population with_probabilities(ep_mat U, ep_mat X, const double *p, const char *activation) {
  population s = {.U = U, .X = X};
  s.layer = layer_of(&s.X, activation, "uniform");
  s.layer.alpha.kind = EP_ALPHA_GIVEN;
  const ptrdiff_t n = X.rows;
  CHECK_OK(ep_mat_new(&s.layer.alpha.given, EP_DOUBLE, n, n));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++)
      *ep_d(&s.layer.alpha.given, i, j) = (double)(n * n) * p[i] * p[j];
  return s;
}

/* x = u_m with probability p_m */
static population categorical(ptrdiff_t m, const double *p) {
  ep_mat U = orthonormal(m), X;
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, m, m));
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < m; j++) *ep_d(&X, i, j) = *ep_d(&U, j, i);
  return with_probabilities(U, X, p, "relu");
}

/* x = U y, y_m = sqrt((1-q)/q) with probability q, else -sqrt(q/(1-q)): all 2^m of them */
static population summation(ptrdiff_t m, double q, const char *activation) {
  ep_mat U = orthonormal(m), X;
  double p[256];
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, (ptrdiff_t)1 << m, m));
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    p[i] = 1;
    for (ptrdiff_t k = 0; k < m; k++) {
      const bool on = i >> k & 1;
      p[i] *= on ? q : 1 - q;
      for (ptrdiff_t j = 0; j < m; j++)
        *ep_d(&X, i, j) += *ep_d(&U, j, k) * (on ? sqrt((1 - q) / q) : -sqrt(q / (1 - q)));
    }
  }
  return with_probabilities(U, X, p, activation);
}

static void population_free(population *s) {
  ep_alpha_free(&s->layer.alpha);
  ep_mat_free(&s->U);
  ep_mat_free(&s->X);
}

static void pattern(double *u, const population *s, ptrdiff_t m) {
  for (ptrdiff_t j = 0; j < s->U.rows; j++) u[j] = *ep_d(&s->U, j, m);
}

/* A(u_m) = along u_m u_m' + across (I - u_m u_m') */
static void check_exact(const population *s, ptrdiff_t m, double along, double across) {
  const ptrdiff_t d = s->U.rows;
  ep_mat A, B;
  double u[8];
  pattern(u, s, m);
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, d, d));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, d, d));
  CHECK_OK(ep_layer_matrix(&A, &s->layer, u, NULL));
  for (ptrdiff_t i = 0; i < d; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      *ep_d(&B, i, j) = (along - across) * u[i] * u[j] + (i == j ? across : 0);
  CHECK_NEAR(mat_gap(&A, &B), 0, 1e-13);
  ep_mat_free(&A);
  ep_mat_free(&B);
}

/* OPTIMA eq. 37 and 38 */
static void exact_cases(void **state) {
  (void)state;
  const double p[5] = {0.1, 0.15, 0.2, 0.25, 0.3}, qs[] = {0.05, 0.2, 0.38, 0.5, 0.9};
  population s = categorical(5, p);
  ep_mat A;
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, 5, 5));
  for (ptrdiff_t m = 0; m < 5; m++) {
    double u
        [5]; /* a hair towards m and away from all others: rounding puts no other point on the active side */
    for (ptrdiff_t j = 0; j < 5; j++) {
      u[j] = *ep_d(&s.U, j, m);
      for (ptrdiff_t k = 0; k < 5; k++) u[j] -= k == m ? 0 : 1e-12 * *ep_d(&s.U, j, k);
    }
    CHECK_OK(ep_layer_matrix(&A, &s.layer, u, NULL));
    for (ptrdiff_t i = 0; i < 5; i++)
      for (ptrdiff_t j = 0; j < 5; j++)
        CHECK_NEAR(ep_get(&A, i, j), p[m] * (1 - p[m]) * ep_get(&s.U, i, m) * ep_get(&s.U, j, m),
                   1e-14);
  }
  ep_mat_free(&A);
  population_free(&s);
  for (int k = 0; k < 5; k++) {
    s = summation(5, qs[k], "relu");
    for (ptrdiff_t m = 0; m < 5; m++) check_exact(&s, m, pow(1 - qs[k], 2), qs[k]);
    population_free(&s);
  }
}

/* how many patterns are an optimum, within an angle; each at most once */
static int patterns_found(const ep_optima *o, const population *s, double angle) {
  int found = 0;
  for (ptrdiff_t m = 0; m < s->U.cols; m++) {
    double u[8], least = 9;
    pattern(u, s, m);
    for (ptrdiff_t i = 0; i < o->count; i++)
      least = fmin(least, ep_layer_angle(&s->layer, u, ep_d(&o->W, i, 0)));
    found += least <= angle;
  }
  return found;
}

/* All u_m are found; of locally maximal eigenvectors nothing else is; power iteration and flow agree. */
static void all_patterns(void **state) {
  (void)state;
  const double p[5] = {0.1, 0.15, 0.2, 0.25, 0.3};
  const ep_run_config run = ep_run_default();
  for (int model = 0; model < 2; model++)
    for (int flow = 0; flow < 2; flow++) {
      population s = model ? summation(5, 0.2, "relu") : categorical(5, p);
      ep_optima_config c = config_of(200);
      ep_optima o;
      if (flow) strcpy(c.search, "flow");
      CHECK_OK(ep_optima_find(&o, &s.layer, &c, &run));
      assert_int_equal(patterns_found(&o, &s, 1e-6), 5);
      assert_int_equal(o.maximal, 5);
      assert_int_equal(o.unsettled, 0);
      if (!model) assert_int_equal(o.count, 5);
      double share = 0;
      for (ptrdiff_t i = 0; i < o.count; i++) {
        const ep_optimum *q = &o.optimum[i];
        share += q->basin;
        assert_true(q->low <= q->basin && q->basin <= q->high);
        if (!q->maximal) continue;
        assert_true(q->stable && q->returns == 1);
        CHECK_NEAR(q->lambda, q->top, 1e-8);
        if (model) CHECK_NEAR(q->lambda, 0.64, 1e-8);
        if (model) CHECK_NEAR(q->gap, 0.44, 1e-8);
      }
      CHECK_NEAR(share + (double)(o.dead + o.unsettled) / 200, 1, 1e-12);
      ep_optima_free(&o);
      population_free(&s);
    }
}

/* q_m below and above (3 - sqrt 5)/2 = 0.381966: returns, departs; the gap changes its sign */
static void threshold(void **state) {
  (void)state;
  const double qs[] = {0.380, 0.384};
  for (int k = 0; k < 2; k++) {
    population s = summation(5, qs[k], "relu");
    ep_optima_config c = config_of(1);
    ep_optimum o;
    double u[5];
    pattern(u, &s, 2);
    c.push = 0.01;
    c.pushes = 3;
    c.iterations = 8000;
    CHECK_OK(ep_optimum_measure(&o, &s.layer, u, &c, 1));
    CHECK_NEAR(o.lambda, pow(1 - qs[k], 2), 1e-12);
    assert_true(o.residual < 1e-12);
    CHECK_NEAR(o.returns, k == 0, 0);
    assert_true(o.stable == (k == 0) && o.maximal == (k == 0));
    CHECK_NEAR(o.top, fmax(pow(1 - qs[k], 2), qs[k]), 1e-12);
    population_free(&s);
  }
}

/* Linear: whatever the start, the top eigenvector of the covariance; w and -w are one. */
static void linear(void **state) {
  (void)state;
  enum { N = 200, D = 6 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), C, z;
  double lambda[D];
  for (ptrdiff_t i = 0; i < N; i++)
    for (ptrdiff_t j = 0; j < D; j++) *ep_d(&X, i, j) = *ep_d(&X, i, j) / sqrt(1. + (double)j) + 3;
  const ep_layer l = layer_of(&X, "linear", "uniform");
  const ep_run_config run = ep_run_default();
  const ep_optima_config c = config_of(100);
  ep_optima o;
  CHECK_OK(ep_optima_find(&o, &l, &c, &run));
  assert_int_equal(o.count, 1);
  assert_int_equal(o.optimum[0].count, 100);
  assert_true(o.optimum[0].theorem1 && o.optimum[0].roughness < 1e-10);
  CHECK_NEAR(o.optimum[0].roughness_bound, 0, 0);
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, D, D));
  CHECK_OK(ep_covariance(&C, &l.alpha, &X, NULL, &X, NULL, &X, NULL));
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  z = ep_mat_view(EP_DOUBLE, D, 1, ep_d(&C, D - 1, 0));
  ep_eigen_signs(&z);
  for (int j = 0; j < D; j++) CHECK_NEAR(ep_get(&o.W, 0, j), ep_get(&z, j, 0), 1e-6);
  CHECK_NEAR(o.optimum[0].gap, lambda[D - 1] - lambda[D - 2], 1e-12);
  ep_optima_free(&o);
  ep_mat_free(&C);
  ep_mat_free(&X);
}

/* A start without an active point is dead, and only such a one. */
static void dead_starts(void **state) {
  (void)state;
  const double p[4] = {0.25, 0.25, 0.25, 0.25};
  population s = categorical(4, p);
  const ep_optima_config c = config_of(300);
  const ep_run_config run = ep_run_default();
  ep_optima o;
  ep_mat W;
  CHECK_OK(ep_mat_new(&W, EP_DOUBLE, 300, 4));
  ep_optima_starts(&W, 0);
  CHECK_OK(ep_optima_find(&o, &s.layer, &c, &run));
  ptrdiff_t dead = 0;
  for (ptrdiff_t k = 0; k < 300; k++) {
    bool active = false;
    for (ptrdiff_t i = 0; i < 4; i++) {
      double sum = 0;
      for (ptrdiff_t j = 0; j < 4; j++) sum += ep_get(&s.X, i, j) * ep_get(&W, k, j);
      active |= sum > 0;
    }
    dead += !active;
    assert_true((o.label[k] == -1) == !active);
  }
  assert_true(dead > 5 && o.dead == dead);
  ep_mat_free(&W);
  ep_optima_free(&o);
  population_free(&s);
}

/* ---- roughness */

/* What is measured never exceeds the bound; without a kink there is no bound. */
static void roughness_bound(void **state) {
  (void)state;
  enum { N = 120, D = 4 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), X2 = random_mat(EP_DOUBLE, N, D, 2),
         W = random_mat(EP_DOUBLE, 3, D, 3);
  ep_mat_axpy(&X2, 3, &X);
  ep_optima_config c = config_of(1);
  c.pushes = 0;
  c.directions = 3;
  for (int a = 0; a < 4; a++)
    for (int g = 0; g < 5; g++)
      for (int views = 0; views < 2; views++) {
        ep_layer l = layer_of(&X, activations[a], weightings[g]);
        if (views) l.X2 = X2;
        for (ptrdiff_t k = 0; k < 3; k++) {
          ep_optimum o;
          double *w = ep_d(&W, k, 0);
          normalise(w, D);
          CHECK_OK(ep_optimum_measure(&o, &l, w, &c, 1));
          assert_true(isnan(o.returns) && o.stable == o.theorem1);
          if (a == 3) {
            assert_true(isnan(o.roughness_bound) && isnan(o.r) && o.roughness > 0);
            continue;
          }
          assert_true(o.roughness <= o.roughness_bound + 1e-12);
          if (a < 2) assert_true(o.roughness > 0);
        }
      }
  ep_mat_free(&X);
  ep_mat_free(&X2);
  ep_mat_free(&W);
}

/* Corollary 2 on Gaussian points: r shrinks by z0 = E exp(-h^2/(2 tau)) <= 1, the measured roughness by
 * E[h exp(-h^2/(2 tau))] / E[h]. */
static void gaussian_weights(void **state) {
  (void)state;
  enum { N = 4000, D = 3 };
  const double taus[] = {0.1, 0.5, 2, 50};
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1);
  double w[D] = {0.6, 0, 0.8};
  ep_optima_config c = config_of(1);
  ep_optimum plain;
  c.pushes = 0;
  c.step = 0.02;
  ep_layer l = layer_of(&X, "relu", "uniform");
  CHECK_OK(ep_optimum_measure(&plain, &l, w, &c, 1));
  CHECK_NEAR(plain.z0, 1, 0);
  for (int k = 0; k < 4; k++) {
    ep_optimum o;
    double z0 = 0, weighted = 0, mean = 0;
    for (ptrdiff_t i = 0; i < N; i++) {
      const double h = fmax(0, 0.6 * ep_get(&X, i, 0) + 0.8 * ep_get(&X, i, 2));
      const double e = exp(-h * h / (2 * taus[k]));
      z0 += e / N, weighted += h * e / N, mean += h / N;
    }
    l.alpha = (ep_alpha){.kind = EP_ALPHA_GAUSSIAN, .tau = taus[k]};
    CHECK_OK(ep_optimum_measure(&o, &l, w, &c, 1));
    CHECK_NEAR(o.z0, z0, 1e-14);
    assert_true(o.z0 <= 1);
    CHECK_NEAR(o.r / plain.r, z0, 0.01);
    CHECK_NEAR(o.roughness / plain.roughness, weighted / mean, 0.1);
  }
  ep_mat_free(&X);
}

/* ---- small formulas */

static void formulas(void **state) {
  (void)state;
  double low, high;
  ep_wilson(&low, &high, 8, 10); /* published: 0.4902 to 0.9433 */
  CHECK_NEAR(low, 0.49016, 1e-5);
  CHECK_NEAR(high, 0.94331, 1e-5);
  ep_wilson(&low, &high, 0, 10);
  CHECK_NEAR(low, 0, 0);
  CHECK_NEAR(high, 0.27753, 1e-5);
  ep_wilson(&low, &high, 10, 10);
  CHECK_NEAR(high, 1, 1e-15);
  CHECK_NEAR(ep_irregularity(1, 4, 2, 0, 7), 0.25, 1e-15);
  CHECK_NEAR(ep_irregularity(0.5, 4, 2, 0.1, 2), 0.75 + 0.04 * 1.375 + 0.1 * sqrt(0.75 * 1.375),
             1e-15);
  CHECK_NEAR(ep_theorem3_ball(1, 0.3), 1, 1e-15);
  CHECK_NEAR(ep_theorem3_ball(0.95, 0.01), (0.95 - 0.2 / 1.01) / (1 - 0.2 / 1.01), 1e-15);
  /* the ball is |w - w(0)| <= sqrt(2(1+g)(1-c0)) / (1 - sqrt g), OPTIMA eq. 98 */
  const double g = 0.2, c0 = 0.97, far = sqrt(2 * (1 + g) * (1 - c0)) / (1 - sqrt(g));
  CHECK_NEAR(2 * (1 - ep_theorem3_ball(c0, g)), far * far, 1e-12);
}

/* Where A does not change nearby, omega is (lambda_2/lambda_1)^2 and the ball reaches to the first data hyperplane. */
static void irregularity(void **state) {
  (void)state;
  population s = summation(4, 0.2, "relu");
  ep_optima_config c = config_of(1);
  ep_optimum o;
  double u[4];
  pattern(u, &s, 1);
  c.ball = true;
  CHECK_OK(ep_optimum_measure(&o, &s.layer, u, &c, 1));
  CHECK_NEAR(o.irregularity, pow(0.2 / 0.64, 2), 1e-10);
  assert_true(o.ball >= 0.05 && o.ball < 0.4);
  assert_true(o.theorem1);
  population_free(&s);
}

/* ---- threads, memory, refusals */

static void same_bits(void **state) {
  (void)state;
  enum { N = 60, D = 5 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1);
  const int before = omp_get_max_threads();
  const ep_run_config run = ep_run_default();
  for (int g = 0; g < 3; g++) {
    const ep_layer l = layer_of(&X, "relu", weightings[g]);
    ep_optima_config c = config_of(100);
    ep_optima o[3];
    c.iterations = 60;
    c.pushes = c.directions = 2;
    for (int t = 0; t < 3; t++) {
      omp_set_num_threads(t + 1);
      CHECK_OK(ep_optima_find(&o[t], &l, &c, &run));
    }
    omp_set_num_threads(before);
    for (int t = 1; t < 3; t++) {
      assert_int_equal(o[0].count, o[t].count);
      assert_memory_equal(o[0].W.data, o[t].W.data, (size_t)(o[0].count * D) * sizeof(double));
      assert_memory_equal(o[0].label, o[t].label, 100 * sizeof *o[0].label);
      for (ptrdiff_t i = 0; i < o[0].count; i++) {
        const ep_optimum *p = &o[0].optimum[i], *q = &o[t].optimum[i];
        assert_true(p->lambda == q->lambda && p->roughness == q->roughness && p->gap == q->gap &&
                    p->returns == q->returns && p->roughness_bound == q->roughness_bound);
      }
    }
    for (int t = 0; t < 3; t++) ep_optima_free(&o[t]);
  }
  ep_mat_free(&X);
}

/* find, or the figures of what was found, with allocation n failing */
static ep_status with_failure(int n, ep_optima *found, const ep_layer *l,
                              const ep_optima_config *c) {
  const ep_run_config run = ep_run_default();
  json_t *curves = NULL, *map = NULL;
  ep_optima o;
  ep_alloc_fail_after = n;
  ep_status st = found ? ep_optima_curves(&curves, found, l, c, 0) : ep_optima_find(&o, l, c, &run);
  if (!st && found) st = ep_optima_map(&map, found, l, c, 0);
  ep_alloc_fail_after = -1;
  if (!st && !found) ep_optima_free(&o);
  json_decref(curves);
  json_decref(map);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 30, 3, 1);
  const ep_run_config run = ep_run_default();
  ep_optima_config c = config_of(2);
  ep_optima o;
  c.ball = true;
  c.directions = c.pushes = 1;
  c.iterations = 2;
  c.settle = 1;
  for (int g = 0; g < 4; g++) { /* the last time the figures */
    const ep_layer l = layer_of(&X, "relu", weightings[g % 3]);
    if (g == 3) CHECK_OK(ep_optima_find(&o, &l, &c, &run));
    const size_t before = ep_mem_current();
    ep_status st = EP_ERR_NOMEM;
    for (int n = 0; st == EP_ERR_NOMEM; n += g == 3 ? 5 : 1) {
      st = with_failure(n, g == 3 ? &o : NULL, &l, &c);
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
  ep_optima_free(&o);
  ep_mat_free(&X);
}

static void refusals(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 10, 3, 1), Y = random_mat(EP_DOUBLE, 9, 3, 1);
  ep_mat single = random_mat(EP_SINGLE, 10, 3, 1);
  ep_run_config run = ep_run_default();
  const ep_optima_config c = config_of(3);
  ep_optima o;
  ep_layer l = layer_of(&X, "tanh", "uniform");
  CHECK_STATUS(ep_optima_find(&o, &l, &c, &run), EP_ERR_ARG);
  l = layer_of(&single, "relu", "uniform");
  CHECK_STATUS(ep_optima_find(&o, &l, &c, &run), EP_ERR_SHAPE);
  l = layer_of(&X, "relu", "uniform");
  l.X2 = Y;
  CHECK_STATUS(ep_optima_find(&o, &l, &c, &run), EP_ERR_SHAPE);
  l = layer_of(&X, "relu", "uniform");
  run.memory = 1;
  CHECK_STATUS(ep_optima_find(&o, &l, &c, &run), EP_ERR_ARG);
  run.memory = 0;
  *ep_d(&X, 3, 1) = NAN;
  CHECK_STATUS(ep_optima_find(&o, &l, &c, &run), EP_ERR_INPUT);
  ep_mat_free(&X);
  ep_mat_free(&Y);
  ep_mat_free(&single);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),        cmocka_unit_test(large),
      cmocka_unit_test(gradient),        cmocka_unit_test(exact_cases),
      cmocka_unit_test(all_patterns),    cmocka_unit_test(threshold),
      cmocka_unit_test(linear),          cmocka_unit_test(dead_starts),
      cmocka_unit_test(roughness_bound), cmocka_unit_test(gaussian_weights),
      cmocka_unit_test(formulas),        cmocka_unit_test(irregularity),
      cmocka_unit_test(same_bits),       cmocka_unit_test(out_of_memory),
      cmocka_unit_test(refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
