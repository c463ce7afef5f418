/* A(w)w and A(w) against their definition, of one node and of several that share their weights. */
#include "core/mem.h"
#include "optima_layers.h"

#include <omp.h>

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

/* ---- masses */

/* row i of alpha for points with masses, written out: m_i m_j exp(-d_ij/tau), infonce over sum_k m_k exp(-d_ik/tau) */
static ep_mat alpha_of(const ep_alpha *a, const ep_mat *F, const double *m) {
  ep_mat out;
  const ptrdiff_t n = F->rows;
  CHECK_OK(ep_mat_new(&out, EP_DOUBLE, n, n));
  for (ptrdiff_t i = 0; i < n; i++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
      double d = 0;
      for (ptrdiff_t k = 0; k < F->cols; k++) d += pow(ep_get(F, i, k) - ep_get(F, j, k), 2) / 2;
      *ep_d(&out, i, j) = a->kind == EP_ALPHA_UNIFORM ? 1 : exp(-d / a->tau);
      if (!m && a->kind == EP_ALPHA_INFONCE && i == j) *ep_d(&out, i, j) = 0;
      sum += *ep_d(&out, i, j) * (m ? m[j] : 1);
    }
    for (ptrdiff_t j = 0; j < n; j++)
      *ep_d(&out, i, j) *= (m ? m[i] * m[j] : 1) / (a->kind == EP_ALPHA_INFONCE ? sum : 1);
  }
  return out;
}

/* F (N x K) = relu(X W') */
static ep_mat outputs_of(const ep_mat *X, const ep_mat *W) {
  ep_mat F;
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, X->rows, W->rows));
  ep_mat_mul(&F, 1, X, EP_N, W, EP_T, 0);
  for (ptrdiff_t i = 0; i < F.rows; i++)
    for (ptrdiff_t k = 0; k < F.cols; k++) *ep_d(&F, i, k) = fmax(0, *ep_d(&F, i, k));
  return F;
}

/* A point that counts twice is two points; with infonce the weights are those written out. */
static void masses(void **state) {
  (void)state;
  enum { N = 12, MORE = 20, D = 3 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), W = random_mat(EP_DOUBLE, 1, D, 2), twice, A, B, y, z;
  double mass[N];
  ptrdiff_t rows = 0;
  CHECK_OK(ep_mat_new(&twice, EP_DOUBLE, MORE, D));
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, D, D));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, D, D));
  CHECK_OK(ep_mat_new(&y, EP_DOUBLE, 1, D));
  CHECK_OK(ep_mat_new(&z, EP_DOUBLE, 1, D));
  for (ptrdiff_t i = 0; i < N; i++) {
    const int copies = i < 8 ? 2 : 1;
    mass[i] = (double)copies * N / MORE;
    for (int c = 0; c < copies; c++, rows++)
      memcpy(ep_d(&twice, rows, 0), ep_d(&X, i, 0), D * sizeof(double));
  }
  assert_int_equal(rows, MORE);
  for (int g = 0; g < 3; g++) {
    ep_layer l = layer_of(&X, "relu", weightings[g]), r = l;
    l.alpha.mass = ep_mat_view(EP_DOUBLE, 1, N, mass);
    if (g < 2) r.X = twice;
    else {
      ep_mat F = outputs_of(&X, &W);
      r.alpha = (ep_alpha){.kind = EP_ALPHA_GIVEN, .given = alpha_of(&l.alpha, &F, mass)};
      ep_mat_free(&F);
    }
    CHECK_OK(ep_layer_matrix(&A, &l, W.data, NULL));
    CHECK_OK(ep_layer_matrix(&B, &r, W.data, NULL));
    CHECK_NEAR(mat_gap(&A, &B), 0, 1e-14);
    CHECK_OK(ep_layer_product(&y, &l, &W, NULL, NULL));
    CHECK_OK(ep_layer_joint(&z, &l, &W));
    CHECK_NEAR(mat_gap(&y, &z), 0, 1e-15);
    ep_mat_vec(z.data, 1, &B, EP_N, W.data, 0);
    CHECK_NEAR(mat_gap(&y, &z), 0, 1e-14);
    ep_alpha_free(&r.alpha);
  }
  ep_layer l = layer_of(&X, "relu", "uniform");
  l.alpha.mass = ep_mat_view(EP_DOUBLE, 1, N - 1, mass);
  CHECK_STATUS(ep_layer_check(&l), EP_ERR_SHAPE);
  for (int i = 0; i < 7; i++) ep_mat_free((ep_mat *[]){&X, &W, &twice, &A, &B, &y, &z}[i]);
}

/* ---- several nodes */

/* The weights are those of all outputs together: given as a matrix, they lead to the same; one node is ep_layer_product;
 * uniform weights leave every node by itself. */
static void joint(void **state) {
  (void)state;
  enum { N = 30, D = 4, K = 3 };
  ep_mat X = random_mat(EP_DOUBLE, N, D, 1), X2 = random_mat(EP_DOUBLE, N, D, 2),
         W = random_mat(EP_DOUBLE, K, D, 5), F = outputs_of(&X, &W), Y, Z;
  CHECK_OK(ep_mat_new(&Y, EP_DOUBLE, K, D));
  CHECK_OK(ep_mat_new(&Z, EP_DOUBLE, K, D));
  for (int g = 0; g < 3; g++)
    for (int views = 0; views < 2; views++) {
      ep_layer l = layer_of(&X, "relu", weightings[g]), given;
      if (views) l.X2 = X2;
      given = l;
      given.alpha = (ep_alpha){.kind = EP_ALPHA_GIVEN, .given = alpha_of(&l.alpha, &F, NULL)};
      CHECK_OK(ep_layer_joint(&Y, &l, &W));
      CHECK_OK(ep_layer_product(&Z, &given, &W, NULL, NULL));
      CHECK_NEAR(mat_gap(&Y, &Z), 0, 1e-14);
      CHECK_OK(ep_layer_product(&Z, &l, &W, NULL, NULL));
      if (g == 0) CHECK_NEAR(mat_gap(&Y, &Z), 0, 1e-14);
      else assert_true(mat_gap(&Y, &Z) > 1e-4); /* they see each other */
      ep_alpha_free(&given.alpha);
    }
  for (int a = 0; a < 4; a++)
    for (int g = 0; g < 5; g++) {
      ep_layer l = layer_of(&X, activations[a], weightings[g]);
      const ep_mat w = ep_mat_rows(&W, 0, 1), y = ep_mat_rows(&Y, 0, 1), z = ep_mat_rows(&Z, 0, 1);
      l.X2 = X2;
      CHECK_OK(ep_layer_joint(&y, &l, &w));
      CHECK_OK(ep_layer_product(&z, &l, &w, NULL, NULL));
      CHECK_NEAR(mat_gap(&y, &z), 0, 1e-13 * (1 + ep_mat_max(&z)));
    }
  for (int i = 0; i < 6; i++) ep_mat_free((ep_mat *[]){&X, &X2, &W, &F, &Y, &Z}[i]);
}

/* Two layers that start in the same place end in the same place, whatever is beside them and on any number of threads;
 * the ends of every layer are counted. */
static void layers(void **state) {
  (void)state;
  enum { L = 4, K = 3 };
  population s = summation(4, 0.2, "relu");
  ep_optima_config c = config_of(L);
  const ep_run_config run = ep_run_default();
  ep_joint j[2];
  s.layer.alpha.mass = s.layer.alpha.given; /* the first row: N^2 p_1 p_j */
  s.layer.alpha.mass.rows = 1;
  const double first = *ep_d(&s.layer.alpha.given, 0, 0);
  for (ptrdiff_t i = 0; i < 16; i++) *ep_d(&s.layer.alpha.mass, 0, i) /= sqrt(first);
  s.layer.alpha.kind = EP_ALPHA_INFONCE;
  s.layer.alpha.tau = 2;
  c.nodes = K;
  const int before = omp_get_max_threads();
  for (int t = 0; t < 2; t++) {
    omp_set_num_threads(t + 1);
    CHECK_OK(ep_joint_find(NULL, &j[t], &s.layer, &c, &run));
  }
  omp_set_num_threads(before);
  assert_memory_equal(j[0].W.data, j[1].W.data, L * K * 4 * sizeof(double));
  assert_int_equal(j[0].unsettled, 0);
  double sum = 0;
  for (ptrdiff_t l = 0; l < L; l++) {
    bool seen[L * K] = {0};
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < K; k++) {
      const ptrdiff_t at = j[0].label[l * K + k];
      assert_true(at >= -1 && at < j[0].count);
      if (at < 0) continue;
      CHECK_NEAR(
          ep_layer_angle(&s.layer, ep_d(&j[0].W, l * K + k, 0), ep_d(&j[0].direction, at, 0)), 0,
          c.merge);
      count += !seen[at];
      seen[at] = true;
    }
    assert_int_equal(j[0].distinct[l], count);
    sum += (double)count / L;
  }
  CHECK_NEAR(j[0].mean, sum, 1e-14);
  for (ptrdiff_t a = 1; a < j[0].count; a++) assert_true(j[0].held[a] <= j[0].held[a - 1]);
  for (int t = 0; t < 2; t++) ep_joint_free(&j[t]);
  s.layer.alpha.mass = (ep_mat){0};
  population_free(&s);
}

/* every allocation fails once */
static void joint_memory(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 20, 3, 1), X2 = random_mat(EP_DOUBLE, 20, 3, 2);
  ep_layer l = layer_of(&X, "relu", "infonce:1");
  ep_run_config run = ep_run_default();
  ep_optima_config c = config_of(2);
  ep_joint j;
  l.X2 = X2;
  c.nodes = 2;
  c.iterations = 2;
  c.settle = 1;
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  for (int n = 0; st == EP_ERR_NOMEM; n++) {
    ep_alloc_fail_after = n;
    st = ep_joint_find(NULL, &j, &l, &c, &run);
    ep_alloc_fail_after = -1;
    if (st) assert_int_equal(ep_mem_current(), before);
  }
  CHECK_STATUS(st, EP_OK);
  ep_joint_free(&j);
  assert_int_equal(ep_mem_current(), before);
  run.memory = 1;
  CHECK_STATUS(ep_joint_find(NULL, &j, &l, &c, &run), EP_ERR_ARG);
  ep_mat_free(&X);
  ep_mat_free(&X2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),     cmocka_unit_test(large), cmocka_unit_test(gradient),
      cmocka_unit_test(masses),       cmocka_unit_test(joint), cmocka_unit_test(layers),
      cmocka_unit_test(joint_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
