/* Learnability: published numbers, exact cases, spectra by symmetry against dense eigenproblems, derivatives against
 * central differences, measurement against plain linear algebra and against prediction. */
#include "theory/domains.h"

/* ---- published numbers */

static void cube_of_dimension_8(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 1, 0, 1);
  ep_domain *d = domain(EP_CUBE, 8, &k);
  const ep_spectrum *s = ep_domain_spectrum(d);
  const double by_degree[] = {0.1912546689, 0.0625, 0.0087732537, 0, 0.0007250203, 0,
                              0.0004281137, 0,      0.0003556219};
  const double count[] = {1, 8, 28, 56, 70, 56, 28, 8, 1};
  assert_int_equal(s->levels, 9);
  assert_true(s->size == 256 && s->tail == 0);
  for (int i = 0; i < 9; i++) {
    CHECK_NEAR(s->value[i], by_degree[i], 5e-11);
    assert_true(s->count[i] == count[i]);
    assert_true((s->value[i] == 0) == (by_degree[i] == 0));
  }
  ep_prediction p;
  double L[9];
  CHECK_OK(ep_learn_predict(&p, L, s, NULL, &(ep_training_set){.train = 32}));
  CHECK_NEAR(p.kappa, 0.0069837531, 5e-11);
  CHECK_NEAR(L[0], 0.964771, 5e-7);
  CHECK_NEAR(L[1], 0.899491, 5e-7);
  CHECK_NEAR(L[2], 0.556784, 5e-7);
  CHECK_NEAR(p.overfit, 2.105077, 5e-7);
  CHECK_NEAR(ep_spectrum_trace(s), 1, 1e-14);
  ep_domain_free(d);
}

/* L = n/M, error 1 - n/M for every target of norm 1, at any scale of the kernel; and measured: the same to rounding */
static void flat_spectrum(void **state) {
  (void)state;
  enum { M = 40 };
  for (int e = -200; e <= 200; e += 100) {
    double value[M], count[M], L[M], power[M] = {0};
    for (int i = 0; i < M; i++) value[i] = pow(10, e), count[i] = 1;
    power[3] = 0.25, power[17] = 0.75;
    const ep_spectrum s = {M, value, count, M, 0};
    for (int n = 1; n <= M; n += 13) {
      ep_prediction p;
      for (int which = 0; which < 2; which++) {
        CHECK_OK(ep_learn_predict(&p, L, &s, which ? power : NULL, &(ep_training_set){.train = n}));
        for (int i = 0; i < M; i++) CHECK_NEAR(L[i], (double)n / M, 1e-13);
        CHECK_NEAR(p.mse, 1 - (double)n / M, 1e-12);
        CHECK_NEAR(p.learnability, (double)n / M, 1e-13);
        CHECK_NEAR(p.sum, n, 1e-12);
        if (n < M) CHECK_NEAR(p.unseen_mse, 1, 1e-12);
      }
    }
  }
  ep_mat K;
  ep_domain *d;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, M, M));
  for (int i = 0; i < M; i++) *ep_d(&K, i, i) = 7;
  CHECK_OK(ep_domain_sample(&d, &K, DBL_EPSILON));
  ep_measurement m;
  double L[M];
  CHECK_OK(
      ep_domain_measure(&m, NULL, d, &(ep_target){0}, &(ep_training_set){.train = 10}, 3, 1, 1e9));
  CHECK_NEAR(m.mse.mean, 0.75, 1e-12);
  CHECK_NEAR(m.learnability.mean, 0.25, 1e-12);
  CHECK_NEAR(m.sum.mean, 10, 1e-12);
  CHECK_NEAR(m.unseen_mse.mean, 1, 1e-12);
  CHECK_OK(ep_domain_measure(&m, L, d, &(ep_target){0}, &(ep_training_set){.train = M}, 1, 1, 1e9));
  for (int i = 0; i < M; i++) CHECK_NEAR(L[i], 1, 1e-12);
  ep_domain_free(d);
}

/* ---- kappa */

static double equation(const ep_spectrum *s, double kappa, double ridge) {
  double sum = (ridge + s->tail) / kappa;
  for (ptrdiff_t i = 0; i < s->levels; i++)
    sum += s->count[i] * s->value[i] / (s->value[i] + kappa);
  return sum;
}

static void kappa_solves_its_equation(void **state) {
  (void)state;
  const double value[] = {0, 3, 3, 1e-3, 0, 1e-12, 1e-12, 1e-290, 1e5};
  const double count[] = {4, 1, 2, 50, 1, 1000, 1, 3, 1};
  const ep_spectrum s = {9, value, count, 1e9, 0}, with_tail = {9, value, count, 1e9, 1e-4};
  const double rank = 1 + 2 + 50 + 1000 + 1 + 3 + 1, ridges[] = {0, 1e-300, 1e-9, 1, 1e9};
  double kappa;
  assert_true(ep_spectrum_rank(&s) == rank && isinf(ep_spectrum_rank(&with_tail)));
  for (int tail = 0; tail < 2; tail++)
    for (int r = 0; r < 5; r++)
      for (double n = 1; n < 3e3; n = ceil(n * 1.7)) {
        const ep_spectrum *of = tail ? &with_tail : &s;
        CHECK_OK(ep_learn_kappa(&kappa, of, n, ridges[r]));
        if (!tail && r == 0 && n >= rank) assert_true(kappa == 0);
        else CHECK_NEAR(equation(of, kappa, ridges[r]) / n, 1, 1e-11);
      }
  CHECK_OK(ep_learn_kappa(&kappa, &s, rank, 0));
  assert_true(kappa == 0);
  CHECK_OK(ep_learn_kappa(&kappa, &s, rank - 1, 0));
  assert_true(kappa > 0);
  CHECK_STATUS(ep_learn_kappa(&kappa, &s, 0, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_learn_kappa(&kappa, &s, 5, -1), EP_ERR_ARG);
  CHECK_STATUS(ep_learn_kappa(&kappa, &s, 2e9, 0), EP_ERR_ARG);
  CHECK_STATUS(ep_learn_kappa(&kappa, &(ep_spectrum){1, value, count, 4, 0}, 1, 0), EP_ERR_INPUT);
}

/* More points than dimensions: least squares. E = sigma^2 n/(n - rank), nothing else is missed. */
static void least_squares(void **state) {
  (void)state;
  const double value[] = {2, 1, 0}, count[] = {3, 7, 90}, inside[] = {1, 1, 0}, out[] = {1, 1, 0.5};
  const ep_spectrum s = {3, value, count, 100, 0};
  ep_prediction p;
  CHECK_OK(
      ep_learn_predict(&p, NULL, &s, inside, &(ep_training_set){.train = 25, .variance = 0.3}));
  CHECK_NEAR(p.mse, 0.3 * 25 / 15, 1e-13);
  CHECK_NEAR(p.clean_mse, 0.3 * 10 / 15, 1e-13);
  CHECK_NEAR(p.train_mse, 0.3 * 15 / 25, 1e-13); /* (1 - rank/n) sigma^2 */
  assert_true(isnan(p.unseen_mse));
  CHECK_OK(ep_learn_predict(&p, NULL, &s, inside, &(ep_training_set){.train = 10}));
  assert_true(p.mse == 0);
  CHECK_OK(ep_learn_predict(&p, NULL, &s, out, &(ep_training_set){.train = 10}));
  assert_true(isinf(p.mse)); /* the peak at n = rank */
  CHECK_OK(ep_learn_predict(&p, NULL, &s, out, &(ep_training_set){.train = 20}));
  CHECK_NEAR(p.mse, 1, 1e-13);
}

/* dL_j/dlambda_i against central differences; a level of several modes is split to move one of them */
static void sensitivity(void **state) {
  (void)state;
  const double value[] = {2, 0.7, 0.05}, count[] = {1, 4, 30};
  const ep_spectrum s = {3, value, count, 35, 0};
  const double ridges[] = {0, 0.2};
  ep_mat D;
  CHECK_OK(ep_mat_new(&D, EP_DOUBLE, 3, 3));
  for (int r = 0; r < 2; r++) {
    CHECK_OK(ep_learn_sensitivity(&D, &s, 6, ridges[r]));
    for (int i = 0; i < 3; i++) {
      double L[2][4];
      for (int side = 0; side < 2; side++) {
        double v[4] = {value[0], value[1], value[2], value[i]}, c[4] = {1, 4, 30, 1};
        c[i] -= 1;
        v[3] += (side ? 1e-6 : -1e-6) * value[i];
        ep_prediction p;
        CHECK_OK(ep_learn_predict(&p, L[side], &(ep_spectrum){4, v, c, 35, 0}, NULL,
                                  &(ep_training_set){.train = 6, .ridge = ridges[r]}));
      }
      for (int j = 0; j < 3; j++) {
        const int at = i == j ? 3 : j;
        const double slope = (L[1][at] - L[0][at]) / (2e-6 * value[i]);
        CHECK_NEAR(*ep_d(&D, i, j) / slope, 1, 1e-6);
        assert_true(i == j ? slope > 0 : slope < 0);
      }
    }
  }
  CHECK_STATUS(ep_learn_sensitivity(&D, &s, 35, 0), EP_ERR_ARG);
  ep_mat_free(&D);
}

/* ---- measurement */

/* A (n x n) <- A^{-1}, by elimination with pivots */
static void invert_plainly(double *A, int n) {
  double B[32 * 32] = {0};
  for (int i = 0; i < n; i++) B[i * n + i] = 1;
  for (int c = 0; c < n; c++) {
    int top = c;
    for (int i = c; i < n; i++)
      if (fabs(A[i * n + c]) > fabs(A[top * n + c])) top = i;
    for (int j = 0; j < n; j++) {
      double t = A[c * n + j];
      A[c * n + j] = A[top * n + j], A[top * n + j] = t;
      t = B[c * n + j], B[c * n + j] = B[top * n + j], B[top * n + j] = t;
    }
    const double p = A[c * n + c];
    for (int j = 0; j < n; j++) A[c * n + j] /= p, B[c * n + j] /= p;
    for (int i = 0; i < n; i++) {
      const double e = A[i * n + c];
      for (int j = 0; j < n && i != c; j++)
        A[i * n + j] -= e * A[c * n + j], B[i * n + j] -= e * B[c * n + j];
    }
  }
  memcpy(A, B, (size_t)(n * n) * sizeof *A);
}

enum { SMALL = 16 };
/* T_jj = lambda_j sum_xy phi_j(x) (Phi' Lam Phi)^{-1}_xy phi_j(y) from eigenpairs (phi: row a mode), n points `at` */
static void transfer_plainly(double *T, const double *lambda, double phi[SMALL][SMALL],
                             const ptrdiff_t *at, int n) {
  double A[32 * 32];
  for (int x = 0; x < n; x++)
    for (int y = 0; y < n; y++) {
      A[x * n + y] = 0;
      for (int j = 0; j < SMALL; j++) A[x * n + y] += lambda[j] * phi[j][at[x]] * phi[j][at[y]];
    }
  invert_plainly(A, n);
  for (int j = 0; j < SMALL; j++) {
    T[j] = 0;
    for (int x = 0; x < n; x++)
      for (int y = 0; y < n; y++) T[j] += lambda[j] * phi[j][at[x]] * A[x * n + y] * phi[j][at[y]];
  }
}

/* T and its derivatives: parities on the cube of 16 points as eigenfunctions, any eigenvalues, central differences */
static void derivatives_of_learnability(void **state) {
  (void)state;
  const ptrdiff_t at[] = {11, 2, 7, 12, 1};
  enum { N = 5 };
  double phi[SMALL][SMALL], lambda[SMALL], T[SMALL], plain[SMALL];
  ep_mat K, D;
  ep_domain *d;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, SMALL, SMALL));
  CHECK_OK(ep_mat_new(&D, EP_DOUBLE, SMALL, SMALL));
  for (int j = 0; j < SMALL; j++) {
    lambda[j] = 1 / (1 + 0.7 * j);
    for (int x = 0; x < SMALL; x++) phi[j][x] = __builtin_popcount(x & (j * 5 % 16)) & 1 ? -1 : 1;
  }
  for (int x = 0; x < SMALL; x++)
    for (int y = 0; y < SMALL; y++)
      for (int j = 0; j < SMALL; j++) *ep_d(&K, x, y) += lambda[j] * phi[j][x] * phi[j][y];
  CHECK_OK(ep_domain_sample(&d, &K, DBL_EPSILON));
  for (int j = 0; j < SMALL; j++) CHECK_NEAR(ep_domain_spectrum(d)->value[j], lambda[j], 1e-14);
  CHECK_OK(ep_domain_derivatives(&D, T, d, at, N));
  transfer_plainly(plain, lambda, phi, at, N);
  double sum = 0;
  for (int j = 0; j < SMALL; j++) {
    CHECK_NEAR(T[j], plain[j], 1e-13);
    sum += T[j];
  }
  CHECK_NEAR(sum, N, 1e-12);
  for (int i = 0; i < SMALL; i++) {
    double up[SMALL], down[SMALL], moved[SMALL];
    memcpy(moved, lambda, sizeof moved);
    moved[i] = lambda[i] * (1 + 1e-5);
    transfer_plainly(up, moved, phi, at, N);
    moved[i] = lambda[i] * (1 - 1e-5);
    transfer_plainly(down, moved, phi, at, N);
    for (int j = 0; j < SMALL; j++) {
      CHECK_NEAR(*ep_d(&D, i, j), (up[j] - down[j]) / (2e-5 * lambda[i]), 1e-8);
      assert_true(i == j ? *ep_d(&D, i, j) >= 0 : *ep_d(&D, i, j) <= 0);
    }
  }
  ep_domain_free(d);
  ep_mat_free(&D);
}

/* By symmetry and by a dense eigenproblem: the same sets, so the same numbers. With ridge, noise and two columns too. */
static void symmetric_measurement(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 2, 0, 1);
  const struct {
    ep_domain_kind kind;
    ptrdiff_t size;
  } cases[] = {{EP_CIRCLE, 60}, {EP_CUBE, 6}};
  for (int c = 0; c < 2; c++) {
    ep_domain *a = domain(cases[c].kind, cases[c].size, &k);
    ep_domain *b = dense(cases[c].kind, cases[c].size, &k);
    const ep_spectrum *s = ep_domain_spectrum(a), *t = ep_domain_spectrum(b);
    for (int columns = 0; columns < 3; columns++)
      for (int ridge = 0; ridge < 2; ridge++) {
        double L[64], T[64];
        ep_measurement m, q;
        ep_target f = {0};
        if (columns) f.F = random_mat(EP_DOUBLE, t->levels, columns, 8);
        const ep_training_set tr = {.train = 20, .ridge = 0.1 * ridge, .variance = 0.2 * ridge};
        CHECK_OK(ep_domain_measure(&m, L, a, &f, &tr, 3, 11, 1e9));
        CHECK_OK(ep_domain_measure(&q, T, b, &f, &tr, 3, 11, 1e9));
        for (size_t i = 0; i < sizeof m / sizeof(ep_mean); i++) {
          const ep_mean x = ((ep_mean *)&m)[i], y = ((ep_mean *)&q)[i];
          if (isnan(x.mean)) assert_true(isnan(y.mean) && columns == 0); /* accuracy */
          else CHECK_CLOSE(x.mean, y.mean, 1e-9);
        }
        for (ptrdiff_t l = 0; l < s->levels; l++) {
          double sum = 0;
          for (ptrdiff_t i = 0; i < t->levels; i++)
            if (fabs(t->value[i] - s->value[l]) < 1e-12) sum += T[i];
          CHECK_NEAR(s->count[l] * L[l], sum, 1e-9);
        }
        ep_mat_free(&f.F);
      }
    ep_domain_free(a);
    ep_domain_free(b);
  }
}

/* One set by hand: f^ = K(x,D)(K(D,D)+ridge)^{-1} f(D) with plain elimination; n = M - 1, so every set leaves one out */
static void one_set_by_hand(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 2, 0, 1);
  ep_domain *a = domain(EP_CUBE, 4, &k), *b = dense(EP_CUBE, 4, &k);
  ep_mat F = random_mat(EP_DOUBLE, 16, 1, 3), K, X;
  ptrdiff_t index[16];
  CHECK_OK(ep_mat_new(&X, EP_DOUBLE, 16, 4));
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 16, 16));
  for (int i = 0; i < 16; i++) index[i] = i;
  CHECK_OK(ep_domain_points(&X, a, index, 0, 0));
  CHECK_OK(ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &X, NULL));
  const double ridge = 0.05;
  ep_measurement m;
  CHECK_OK(ep_domain_measure(&m, NULL, b, &(ep_target){.F = F},
                             &(ep_training_set){.train = 15, .ridge = ridge}, 1, 4, 1e9));
  double nearest = INFINITY;
  for (int out = 0; out < 16; out++) {
    double A[32 * 32], mse = 0, unseen = 0, train = 0, trace = 0, along = 0, y2 = 0;
    int at[15];
    for (int i = 0; i < 15; i++) at[i] = i < out ? i : i + 1;
    for (int i = 0; i < 225; i++)
      A[i] = *ep_d(&K, at[i / 15], at[i % 15]) + (i / 15 == i % 15 ? ridge : 0);
    invert_plainly(A, 15);
    double c[15] = {0};
    for (int i = 0; i < 225; i++) c[i / 15] += A[i] * *ep_d(&F, at[i % 15], 0);
    for (int i = 0; i < 15; i++) trace += A[i * 16], y2 += c[i] * c[i];
    for (int x = 0; x < 16; x++) {
      double h = 0;
      for (int i = 0; i < 15; i++) h += *ep_d(&K, x, at[i]) * c[i];
      const double e = pow(h - *ep_d(&F, x, 0), 2);
      mse += e / 16, along += h * *ep_d(&F, x, 0);
      if (x == out) unseen = e;
      else train += e / 15;
    }
    const double far = fmax(fmax(fabs(m.mse.mean - mse), fabs(m.unseen_mse.mean - unseen)),
                            fmax(fabs(m.train_mse.mean - train), fabs(m.kappa.mean - 1 / trace)));
    const double more = fmax(fabs(m.learnability.mean - along / ep_mat_norm2(&F)),
                             fabs(m.gcv.mean - 15 * y2 / (trace * trace)));
    nearest = fmin(nearest, fmax(far, more));
  }
  CHECK_NEAR(nearest, 0, 1e-12); /* it is one of the sixteen */
  assert_true(isnan(m.mse.error));
  ep_domain_free(a);
  ep_domain_free(b);
  for (int i = 0; i < 3; i++) ep_mat_free((ep_mat *[]){&F, &K, &X}[i]);
}

/* Sum of learnabilities: n where K(D,D) is invertible, its rank where not; every domain, data among them. */
static void no_free_lunch(void **state) {
  (void)state;
  const struct {
    const char *data;
    ptrdiff_t samples;
  } sets[] = {{"circle:64", 0}, {"cube:6", 0}, {"sphere:5,64", 0}, {"digits", 64}};
  for (int i = 0; i < 4; i++)
    for (int which = 0; which < 3; which++) { /* two layers; biases; neither: rank-deficient */
      const ep_domain_kernel k = kernel("relu", which == 0 ? 2 : 1, which == 1 ? 0.5 : 0, 1);
      ep_data_config c;
      ep_run_config run = ep_run_default();
      ep_dataset set;
      ep_mat K;
      ep_domain *d;
      ep_options_default(ep_data_options, &c);
      run.precision = EP_DOUBLE;
      snprintf(c.data, sizeof c.data, "%s", sets[i].data);
      c.samples = sets[i].samples;
      CHECK_OK(ep_dataset_load(NULL, &set, &c, &run));
      ep_scale_to_unit(&set.X);
      CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 64, 64));
      CHECK_OK(ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &set.X, NULL));
      CHECK_OK(ep_domain_sample(&d, &K, DBL_EPSILON));
      for (int n = 1; n <= 64; n += 21) {
        ep_measurement m;
        double T[64], sum = 0;
        CHECK_OK(ep_domain_measure(&m, T, d, &(ep_target){0}, &(ep_training_set){.train = n}, 4, 2,
                                   1e9));
        for (int j = 0; j < 64; j++) {
          sum += T[j];
          assert_true(T[j] > -1e-8 && T[j] < 1 + 1e-8);
        }
        CHECK_NEAR(sum, m.sum.mean, 1e-10);
        CHECK_NEAR(m.sum.mean, m.rank.mean, 1e-8);
        CHECK_NEAR(m.sum.error, m.rank.error, 1e-8);
        if (which < 2) assert_true(m.rank.mean == n);
        if (which == 2 && n == 64 && i < 2) /* degrees 0, 1 and even ones */
          assert_true(m.rank.mean == (i == 0 ? 1 + 2 + 31 : 32 + 6));
      }
      ep_domain_free(d);
      ep_dataset_free(&set);
    }
}

/* Prediction against measurement: test error within 10 % from n = 30 on, cube and sphere, with ridge and noise as well.
 * What depends on kappa to a power is off by more: kappa itself is 6 % low at these n. */
static void check_prediction(const ep_domain *d, int n, bool ridge) {
  const int degrees[] = {1, 2};
  const ep_target f = {.degree = degrees, .degrees = 2};
  const ep_training_set t = {.train = n, .ridge = 0.1 * ridge, .variance = 0.25 * ridge};
  double power[1024], L[1024], T[1024];
  ep_prediction p, q;
  ep_measurement m, w;
  CHECK_OK(ep_domain_power(power, d, &f));
  CHECK_OK(ep_learn_predict(&p, L, ep_domain_spectrum(d), power, &t));
  CHECK_OK(ep_domain_measure(&m, T, d, &f, &t, 60, 1, 1e9));
  CHECK_NEAR(p.mse / m.mse.mean, 1, 0.1);
  /* Tr A knows nothing of M, and the theory draws points anew each time, with their noise: a training set that is half of
   * a small domain is something else, unless there is neither ridge nor noise */
  const bool dilute = n < 0.2 * ep_domain_spectrum(d)->size;
  if (dilute || !ridge)
    CHECK_NEAR(p.learnability, m.learnability.mean, 0.01 + 3 * m.learnability.error);
  if (dilute) CHECK_NEAR(p.clean_mse / m.clean_mse.mean, 1, 0.1);
  if (dilute) CHECK_NEAR(p.kappa / m.kappa.mean, 1, 0.15);
  CHECK_NEAR(m.gcv.mean / (ridge ? m.mse.mean : m.unseen_mse.mean), 1, 0.15);
  if (ridge && dilute) CHECK_NEAR(p.train_mse / m.train_mse.mean, 1, 0.15);
  if (!ridge) CHECK_NEAR(m.train_mse.mean, 0, 1e-20);
  if (!ridge) CHECK_NEAR(p.unseen_mse / m.unseen_mse.mean, 1, 0.1);
  for (int l = 0; l < 3; l++) CHECK_NEAR(L[l], T[l], 0.05);
  CHECK_OK(ep_learn_predict(&q, NULL, ep_domain_spectrum(d), NULL, &t)); /* a random function */
  CHECK_OK(ep_domain_measure(&w, NULL, d, &(ep_target){0}, &t, 6, 1, 1e9));
  CHECK_NEAR(q.mse / w.mse.mean, 1, 0.1);
  if (!ridge) CHECK_NEAR(w.gcv.mean / w.unseen_mse.mean, 1, 0.1);
  if (dilute || !ridge) CHECK_NEAR(q.learnability, w.learnability.mean, 0.01);
}

static void prediction_holds(void **state) {
  (void)state;
  const ep_domain_kind kinds[] = {EP_CUBE, EP_SPHERE};
  for (int c = 0; c < 2; c++) {
    const ep_domain_kernel k = kernel("relu", 2, 0, 1);
    ep_domain *d = domain(kinds[c], 8, &k);
    for (int n = 32; n <= 128; n *= 2)
      for (int ridge = 0; ridge < 2; ridge++) check_prediction(d, n, ridge);
    ep_domain_free(d);
  }
}

/* One layer without biases: rank 136 of 256 on the cube. Training sets with more than 8 pairs x, -x have a singular
 * K(D,D), and the theory, which knows the spectrum only, does not see that: from about half the rank on it is far too
 * optimistic. */
static void prediction_fails_without_rank(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 1, 0, 1);
  const int degrees[] = {1, 2};
  const ep_target f = {.degree = degrees, .degrees = 2};
  ep_domain *d = domain(EP_CUBE, 8, &k);
  double power[9];
  CHECK_OK(ep_domain_power(power, d, &f));
  for (int n = 32; n <= 128; n *= 2) {
    ep_prediction p;
    ep_measurement m;
    CHECK_OK(
        ep_learn_predict(&p, NULL, ep_domain_spectrum(d), power, &(ep_training_set){.train = n}));
    CHECK_OK(ep_domain_measure(&m, NULL, d, &f, &(ep_training_set){.train = n}, 60, 1, 1e9));
    if (n < 128) CHECK_NEAR(p.mse / m.mse.mean, 1, 0.1);
    else assert_true(m.rank.mean < 0.85 * n && m.mse.mean > 3 * p.mse);
    CHECK_NEAR(m.sum.mean, m.rank.mean, 1e-8);
  }
  ep_domain_free(d);
}

/* 2^20 points: nothing of that size squared; the sum of learnabilities still comes out */
static void a_million_points(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 2, 0, 1);
  const struct {
    ep_domain_kind kind;
    ptrdiff_t size;
  } cases[] = {{EP_CIRCLE, 1 << 20}, {EP_CUBE, 20}};
  for (int c = 0; c < 2; c++) {
    ep_domain *d = domain(cases[c].kind, cases[c].size, &k);
    const ep_spectrum *s = ep_domain_spectrum(d);
    ep_prediction p;
    ep_measurement m;
    const int degree = 2;
    const ep_target f = {.degree = &degree, .degrees = 1};
    double *power = calloc((size_t)s->levels, sizeof *power);
    CHECK_OK(ep_domain_power(power, d, &f));
    assert_true(s->size == 1048576);
    CHECK_OK(ep_learn_predict(&p, NULL, s, power, &(ep_training_set){.train = 100}));
    CHECK_OK(ep_domain_measure(&m, NULL, d, &f, &(ep_training_set){.train = 100}, 2, 1, 1e9));
    CHECK_NEAR(m.sum.mean, 100, c == 0 ? 1e-6 : 1e-8);
    if (c)
      CHECK_NEAR(p.kappa / m.kappa.mean, 1,
                 0.05); /* the circle: far off, neighbours are too near */
    free(power);
    ep_domain_free(d);
  }
}

/* ---- refusals and failures */

static void refusals(void **state) {
  (void)state;
  const ep_domain_kernel k = kernel("relu", 1, 0, 1);
  ep_domain *d;
  CHECK_STATUS(ep_domain_new(&d, EP_CUBE, 31, &k), EP_ERR_ARG);
  CHECK_STATUS(ep_domain_new(&d, EP_SPHERE, 1, &k), EP_ERR_ARG);
  CHECK_STATUS(ep_domain_new(&d, EP_CIRCLE, 0, &k), EP_ERR_ARG);
  CHECK_STATUS(ep_domain_new(&d, EP_SAMPLE, 5, &k), EP_ERR_ARG);
  ep_mat K;
  for (int i = 0; i < 4; i++) {
    CHECK_OK(ep_mat_new(&K, EP_DOUBLE, 3, i == 0 ? 2 : 3));
    for (int j = 0; j < 2; j++) *ep_d(&K, j, j) = 1;
    if (i == 1) *ep_d(&K, 2, 1) = 0.1;
    if (i == 2) *ep_d(&K, 2, 2) = -0.1;
    if (i == 3) *ep_d(&K, 2, 2) = NAN;
    CHECK_STATUS(ep_domain_sample(&d, &K, DBL_EPSILON), i == 0 ? EP_ERR_SHAPE : EP_ERR_INPUT);
    assert_null(K.data);
  }
  d = domain(EP_SPHERE, 3, &k);
  ep_measurement m;
  double power[4096];
  const int twice[] = {1, 1}, far = 5000;
  ep_mat F = random_mat(EP_DOUBLE, 8, 1, 1);
  CHECK_STATUS(ep_domain_power(power, d, &(ep_target){.F = F}), EP_ERR_ARG);
  CHECK_STATUS(ep_domain_power(power, d, &(ep_target){.degree = twice, .degrees = 2}), EP_ERR_ARG);
  CHECK_STATUS(ep_domain_power(power, d, &(ep_target){.degree = &far, .degrees = 1}), EP_ERR_ARG);
  CHECK_STATUS(
      ep_domain_measure(&m, NULL, d, &(ep_target){0}, &(ep_training_set){.train = 2.5}, 1, 0, 1e9),
      EP_ERR_ARG);
  CHECK_STATUS(
      ep_domain_measure(&m, NULL, d, &(ep_target){0}, &(ep_training_set){.train = 500}, 1, 0, 1e6),
      EP_ERR_ARG);
  CHECK_STATUS(ep_domain_measure(&m, NULL, d, &(ep_target){.F = F}, &(ep_training_set){.train = 5},
                                 1, 0, 1e9),
               EP_ERR_SHAPE);
  ep_domain_free(d);
  ep_mat_free(&F);
}

static ep_status everything(ep_domain_kind kind) {
  const ep_domain_kernel k = kernel("relu", 1, 0, 1);
  const int degree = 1;
  ep_domain *d;
  ep_measurement m;
  double room[4096];
  const ptrdiff_t size[] = {12, 4, 50};
  EP_TRY(ep_domain_new(&d, kind, size[kind], &k));
  const ep_target f = {.degree = &degree, .degrees = 1};
  ep_status st = ep_domain_power(room, d, &f);
  if (!st) st = ep_domain_measure(&m, room, d, &f, &(ep_training_set){.train = 4}, 1, 0, 1e9);
  ep_domain_free(d);
  return st;
}

static ep_status everything_dense(void) {
  ep_domain *d;
  ep_measurement m;
  double room[6];
  ep_mat K = {0};
  EP_TRY(ep_mat_new(&K, EP_DOUBLE, 6, 6));
  for (int i = 0; i < 36; i++) *ep_d(&K, i / 6, i % 6) = 1 + (i / 6 == i % 6 && i < 20);
  EP_TRY(ep_domain_sample(&d, &K, DBL_EPSILON));
  ep_status st =
      ep_domain_measure(&m, room, d, &(ep_target){0}, &(ep_training_set){.train = 5}, 1, 0, 1e9);
  ep_domain_free(d);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    ep_status st = EP_ERR_NOMEM;
    const size_t before = ep_mem_current();
    int k = 0;
    for (; st; k++) {
      assert_true(k < 200);
      ep_alloc_fail_after = k;
      st = kind < 3 ? everything((ep_domain_kind)kind) : everything_dense();
      ep_alloc_fail_after = -1;
      assert_true(st == EP_OK || st == EP_ERR_NOMEM);
      assert_int_equal(ep_mem_current(), before);
    }
    assert_true(k > 10);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cube_of_dimension_8),
                                     cmocka_unit_test(flat_spectrum),
                                     cmocka_unit_test(kappa_solves_its_equation),
                                     cmocka_unit_test(least_squares),
                                     cmocka_unit_test(sensitivity),
                                     cmocka_unit_test(derivatives_of_learnability),
                                     cmocka_unit_test(symmetric_measurement),
                                     cmocka_unit_test(one_set_by_hand),
                                     cmocka_unit_test(no_free_lunch),
                                     cmocka_unit_test(prediction_holds),
                                     cmocka_unit_test(prediction_fails_without_rank),
                                     cmocka_unit_test(a_million_points),
                                     cmocka_unit_test(refusals),
                                     cmocka_unit_test(out_of_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
