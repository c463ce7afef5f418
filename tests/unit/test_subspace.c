/* Ranks, principal angles, Procrustes, CKA: exact cases, identities, plain references. */
#include "core/mem.h"
#include "random_mat.h"
#include "spectral/tall.h"

#include <eigenpair/subspace.h>

static ep_mat zeros(ep_precision prec, ptrdiff_t rows, ptrdiff_t cols) {
  ep_mat A;
  CHECK_OK(ep_mat_new(&A, prec, rows, cols));
  return A;
}

/* n x k with orthonormal columns */
static ep_mat orthonormal(ptrdiff_t n, ptrdiff_t k, uint32_t sub) {
  ep_mat Q = random_mat(EP_DOUBLE, n, k, sub), R = zeros(EP_DOUBLE, k, k);
  CHECK_OK(ep_mat_qr(&Q, &R));
  ep_mat_free(&R);
  return Q;
}

/* ---- blocks of rows */

/* Block by block or at once: the same moments, products and singular values. */
static void blocks_of_rows(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (ptrdiff_t n = 5; n <= 1300; n += 431) { /* one block; several; the last one short */
      enum { D = 7 };
      ep_mat X = random_mat((ep_precision)prec, n, D, 3), D2 = zeros(EP_DOUBLE, n, D);
      ep_mat G = zeros(EP_DOUBLE, D, D), H = zeros(EP_DOUBLE, D, D);
      double mean[D], sd[D], sigma[D], whole[D];
      const double unit = prec ? 2.2e-16 : 1.2e-7; /* column 2 is constant but for its last bit */
      for (ptrdiff_t i = 0; i < n; i++) ep_set(&X, i, 2, (1. + (double)(i % 2) * unit) / 3);
      for (ptrdiff_t i = 0; i < n; i++) ep_set(&X, i, 4, 0);
      for (ptrdiff_t i = 0; i < n; i++) ep_set(&X, i, 5, 1e4 + ep_get(&X, i, 5));
      ep_mat_copy(&D2, &X);
      const ep_tall rows = ep_tall_all(&X);
      CHECK_OK(ep_tall_moments(mean, sd, &rows));
      for (int j = 0; j < D; j++) {
        long double sum = 0, square = 0;
        for (ptrdiff_t i = 0; i < n; i++) sum += *ep_d(&D2, i, j);
        for (ptrdiff_t i = 0; i < n; i++) {
          const long double d = *ep_d(&D2, i, j) - sum / n;
          square += d * d;
        }
        CHECK_CLOSE(mean[j], (double)(sum / n), 1e-15);
        CHECK_NEAR(sd[j], j == 2 || j == 4 ? 0 : sqrt((double)(square / n)), 1e-12);
      }
      assert_true(sd[2] == 0 && sd[4] == 0);
      CHECK_OK(ep_tall_cross(&G, &rows, &rows));
      ep_mat_mul(&H, 1, &D2, EP_T, &D2, EP_N, 0);
      CHECK_NEAR(mat_gap(&G, &H), 0, 1e-14 * ep_mat_max(&H));
      CHECK_OK(ep_tall_singular(sigma, &rows));
      CHECK_OK(ep_mat_svd(NULL, whole, NULL, &D2));
      for (int j = 0; j < D && j < n; j++) CHECK_NEAR(sigma[j], whole[j], 1e-13 * whole[0]);
      double me, effective, alone, both;
      CHECK_OK(ep_tall_ranks(&me, &effective, &G, &rows, mean, sd));
      CHECK_OK(ep_rankme(&alone, &X));
      CHECK_OK(ep_effective_rank(&both, &X));
      CHECK_NEAR(me, alone, prec ? 1e-11 : 1e-6); /* column 2 counts as constant */
      CHECK_NEAR(effective, both, 1e-12);
      for (int j = 0; j < D; j++)
        for (ptrdiff_t i = 0; i < n; i++)
          *ep_d(&D2, i, j) = sd[j] > 0 ? ep_get(&X, i, j) - mean[j] : 0;
      ep_mat_mul(&H, 1 / (double)n, &D2, EP_T, &D2, EP_N, 0);
      CHECK_NEAR(mat_gap(&G, &H), 0, 1e-13 * ep_mat_max(&H));
      ep_mat_free(&X);
      ep_mat_free(&D2);
      ep_mat_free(&G);
      ep_mat_free(&H);
    }
}

/* chosen rows, shifted and scaled */
static void chosen_rows(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_SINGLE, 6, 3, 4), Y = zeros(EP_DOUBLE, 2, 3);
  const ptrdiff_t index[] = {5, 0, 3, 3};
  const double shift[] = {1, 2, 3}, scale[] = {2, 0, -1};
  const ep_tall rows = {.X = &X, .count = 4, .index = index, .shift = shift, .scale = scale};
  ep_tall_get(&Y, &rows, 2);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 3; j++)
      CHECK_NEAR(*ep_d(&Y, i, j), (ep_get(&X, 3, j) - shift[j]) * scale[j], 0);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* ---- ranks */

/* k orthogonal directions of variance v_k: exp of the entropy of v / sum v, wherever the mean is */
static void effective_rank(void **state) {
  (void)state;
  enum { N = 8, D = 3 };
  static const double size[D] = {4, 2, 1}, sign[D] = {0, 1, 2};
  ep_mat F = zeros(EP_DOUBLE, N, D);
  double rank, me, expected = 0;
  CHECK_OK(ep_effective_rank(&rank, &F));
  CHECK_NEAR(rank, 0, 0);
  ep_mat_fill(&F, 0.1); /* a constant is no variance, though 8 times 0.1 is not 0.8 */
  CHECK_OK(ep_effective_rank(&rank, &F));
  CHECK_OK(ep_rankme(&me, &F));
  CHECK_NEAR(rank, 0, 0);
  CHECK_NEAR(me, 1, 1e-13);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < D; j++) *ep_d(&F, i, j) = 100 + (i >> (int)sign[j] & 1 ? 1 : -1) * size[j];
  for (int j = 0; j < D; j++) {
    const double p = size[j] * size[j] / 21;
    expected -= p * log(p);
  }
  CHECK_OK(ep_effective_rank(&rank, &F));
  CHECK_NEAR(rank, exp(expected), 1e-12);
  CHECK_OK(ep_rankme(&me, &F));
  assert_true(me < rank); /* here the mean outweighs everything */
  ep_mat_free(&F);
}

/* A rank-one matrix has rank 1 to rounding: no square roots of rounding errors are added up. */
static void rank_one(void **state) {
  (void)state;
  ep_mat a = random_mat(EP_DOUBLE, 700, 1, 1), b = random_mat(EP_DOUBLE, 1, 90, 2);
  ep_mat F = zeros(EP_DOUBLE, 700, 90);
  double me, rank;
  ep_mat_mul(&F, 1e-3, &a, EP_N, &b, EP_N, 0);
  CHECK_OK(ep_rankme(&me, &F));
  CHECK_OK(ep_effective_rank(&rank, &F));
  CHECK_NEAR(me, 1, 1e-11);
  CHECK_NEAR(rank, 1, 1e-13);
  ep_mat_free(&a);
  ep_mat_free(&b);
  ep_mat_free(&F);
}

/* ---- angles */

/* span(e_1 .. e_k) against cos(t_j) e_j + sin(t_j) e_{k+j}, seen through a rotation and two mixings of the columns */
static void known_angles(void **state) {
  (void)state;
  enum { N = 20, K = 6, L = 4 };
  static const double t[L] = {1e-12, 1e-5, 0.7, 1.5};
  ep_mat Q = orthonormal(N, N, 1), A = zeros(EP_DOUBLE, N, K), B = zeros(EP_DOUBLE, N, L);
  ep_mat mixA = random_mat(EP_DOUBLE, K, K, 2), mixB = random_mat(EP_DOUBLE, L, L, 3);
  ep_mat QA = zeros(EP_DOUBLE, N, K), QB = zeros(EP_DOUBLE, N, L), T = zeros(EP_DOUBLE, N, K);
  ep_mat Tb = zeros(EP_DOUBLE, N, L);
  for (int j = 0; j < K; j++) *ep_d(&A, j, j) = 1;
  for (int j = 0; j < L; j++) *ep_d(&B, j, j) = cos(t[j]), *ep_d(&B, K + j, j) = sin(t[j]);
  ep_mat_mul(&T, 1, &Q, EP_N, &A, EP_N, 0);
  ep_mat_mul(&Tb, 1, &Q, EP_N, &B, EP_N, 0);
  ep_mat_mul(&QA, 1, &T, EP_N, &mixA, EP_N, 0);
  ep_mat_mul(&QB, 1, &Tb, EP_N, &mixB, EP_N, 0);
  for (ptrdiff_t i = 0; i < N; i++) *ep_d(&QA, i, 0) *= 1e-30; /* units do not matter */
  for (int swap = 0; swap < 2; swap++) {
    double angle[L];
    ptrdiff_t count;
    CHECK_OK(ep_principal_angles(angle, &count, swap ? &QB : &QA, swap ? &QA : &QB));
    assert_int_equal(count, L);
    for (int j = 0; j < L; j++) CHECK_NEAR(angle[j], t[j], 2e-14);
    CHECK_NEAR(angle[0], t[0], 2e-14); /* an arc cosine would be off by 1e-8 */
  }
  ep_mat *const used[] = {&Q, &A, &B, &mixA, &mixB, &QA, &QB, &T, &Tb};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
}

/* Repeated and zero columns add nothing; more columns than rows span everything; nothing has no angles. */
static void deficient_spans(void **state) {
  (void)state;
  enum { N = 6 };
  ep_mat A = random_mat(EP_DOUBLE, N, 4, 5), B = zeros(EP_DOUBLE, N, 3);
  double angle[4];
  ptrdiff_t count;
  for (int i = 0; i < N; i++) { /* A: two directions in four columns; B: one of them, and zeros */
    *ep_d(&A, i, 2) = *ep_d(&A, i, 0) - 3 * *ep_d(&A, i, 1);
    *ep_d(&A, i, 3) = 0;
    *ep_d(&B, i, 1) = 7 * *ep_d(&A, i, 1);
  }
  CHECK_OK(ep_principal_angles(angle, &count, &A, &B));
  assert_int_equal(count, 1);
  CHECK_NEAR(angle[0], 0, 1e-14);
  assert_true(isnan(angle[1]) && isnan(angle[2]));
  ep_mat C = random_mat(EP_SINGLE, N, 9, 6), none = zeros(EP_SINGLE, N, 2);
  CHECK_OK(ep_principal_angles(angle, &count, &A, &C));
  assert_int_equal(count, 2);
  CHECK_NEAR(angle[1], 0, 1e-14);
  CHECK_OK(ep_principal_angles(angle, &count, &A, &none));
  assert_int_equal(count, 0);
  ep_mat other = zeros(EP_DOUBLE, N + 1, 2);
  CHECK_STATUS(ep_principal_angles(angle, &count, &A, &other), EP_ERR_SHAPE);
  ep_mat *const used[] = {&A, &B, &C, &none, &other};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
}

/* ---- Procrustes */

/* B = A O: O comes back. Then B with noise: no rotation nearby does better; rows measured one by one. */
static void procrustes(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++) {
    enum { N = 300, K = 4 };
    const ep_precision p = (ep_precision)prec;
    ep_mat A = random_mat(EP_DOUBLE, N, K, 1), O = orthonormal(K, K, 2), B = zeros(EP_DOUBLE, N, K);
    ep_mat As = zeros(p, N, K), Bs = zeros(p, N, K), found = zeros(EP_DOUBLE, K, K);
    ep_mat E = random_mat(EP_DOUBLE, N, K, 3), turn = zeros(EP_DOUBLE, K, K);
    ep_procrustes_info info;
    ep_mat_mul(&B, 1, &A, EP_N, &O, EP_N, 0);
    ep_mat_copy(&As, &A);
    ep_mat_copy(&Bs, &B);
    CHECK_OK(ep_procrustes(&found, &info, &As, &Bs));
    CHECK_NEAR(mat_gap(&found, &O), 0, prec ? 1e-14 : 1e-7);
    CHECK_NEAR(info.residual, 0, prec ? 1e-13 : 1e-5);
    assert_true(info.max <= (prec ? 1e-14 : 1e-6) && info.mean <= info.max && !info.zero_rows);

    ep_mat_axpy(&B, 0.3, &E);
    for (int j = 0; j < K; j++) *ep_d(&B, 17, j) = 0;
    ep_mat_copy(&Bs, &B);
    CHECK_OK(ep_procrustes(&found, &info, &As, &Bs));
    double top = 0, sum = 0, square = 0;
    for (int i = 0; i < N; i++) {
      double e = 0, b = 0;
      for (int j = 0; j < K; j++) {
        double d = -ep_get(&Bs, i, j);
        for (int k = 0; k < K; k++) d += ep_get(&As, i, k) * *ep_d(&found, k, j);
        e += d * d;
        b += ep_get(&Bs, i, j) * ep_get(&Bs, i, j);
      }
      square += e;
      if (i == 17) continue;
      top = fmax(top, sqrt(e / b));
      sum += sqrt(e / b);
    }
    CHECK_CLOSE(info.residual, sqrt(square), 1e-13);
    CHECK_CLOSE(info.max, top, 1e-13);
    CHECK_CLOSE(info.mean, sum / (N - 1), 1e-13);
    assert_int_equal(info.zero_rows, 1);
    for (int t = 0; t < K * (K - 1); t++) { /* a small turn of any two axes, either way */
      const int i = t / (K - 1), j = (i + 1 + t % (K - 1)) % K;
      ep_mat_copy(&turn, &found);
      for (int r = 0; r < K; r++) {
        const double x = *ep_d(&found, r, i), y = *ep_d(&found, r, j);
        *ep_d(&turn, r, i) = cos(1e-3) * x - sin(1e-3) * y;
        *ep_d(&turn, r, j) = sin(1e-3) * x + cos(1e-3) * y;
      }
      ep_mat_copy(&E, &B);
      ep_mat_mul(&E, 1, &A, EP_N, &turn, EP_N, -1);
      assert_true(sqrt(ep_mat_norm2(&E)) > info.residual);
    }
    ep_mat *const used[] = {&A, &B, &O, &As, &Bs, &E, &found, &turn};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
  }
}

static void procrustes_edges(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_DOUBLE, 5, 3, 1), B = zeros(EP_DOUBLE, 5, 3), O = zeros(EP_DOUBLE, 3, 3);
  ep_mat G = zeros(EP_DOUBLE, 3, 3), C = zeros(EP_DOUBLE, 5, 2);
  ep_procrustes_info info;
  CHECK_OK(ep_procrustes(&O, &info, &A, &B)); /* A'B = 0: any rotation, but a rotation */
  ep_mat_mul(&G, 1, &O, EP_T, &O, EP_N, 0);
  for (int i = 0; i < 9; i++) CHECK_NEAR(*ep_d(&G, 0, i), i % 4 == 0, 1e-14);
  CHECK_NEAR(info.residual, sqrt(ep_mat_norm2(&A)), 1e-14);
  assert_true(info.zero_rows == 5 && isnan(info.max) && isnan(info.mean));
  CHECK_STATUS(ep_procrustes(&O, &info, &A, &C), EP_ERR_SHAPE);
  CHECK_STATUS(ep_procrustes(&C, &info, &A, &A), EP_ERR_SHAPE);
  ep_mat *const used[] = {&A, &B, &O, &G, &C};
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
}

/* ---- CKA */

/* <K, L> / (|K| |L|) of the centred n x n Gram matrices, as it is defined */
static double plain_cka(const ep_mat *A, const ep_mat *B) {
  const ptrdiff_t n = A->rows;
  const ep_mat *both[2] = {A, B};
  ep_mat K[2];
  double inner = 0;
  for (int s = 0; s < 2; s++) {
    ep_mat C = zeros(EP_DOUBLE, n, both[s]->cols);
    ep_mat_copy(&C, both[s]);
    for (ptrdiff_t j = 0; j < C.cols; j++) {
      double mean = 0;
      for (ptrdiff_t i = 0; i < n; i++) mean += *ep_d(&C, i, j) / (double)n;
      for (ptrdiff_t i = 0; i < n; i++) *ep_d(&C, i, j) -= mean;
    }
    K[s] = zeros(EP_DOUBLE, n, n);
    ep_mat_gram(&K[s], 1, &C, 0);
    ep_mat_free(&C);
  }
  for (ptrdiff_t i = 0; i < n * n; i++) inner += *ep_d(&K[0], 0, i) * *ep_d(&K[1], 0, i);
  const double cka = inner / sqrt(ep_mat_norm2(&K[0]) * ep_mat_norm2(&K[1]));
  ep_mat_free(&K[0]);
  ep_mat_free(&K[1]);
  return cka;
}

static void cka(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++) {
    ep_mat A = random_mat((ep_precision)prec, 300, 5, 1),
           B = random_mat((ep_precision)prec, 300, 3, 2);
    ep_mat C = zeros(EP_DOUBLE, 300, 5), D = zeros(EP_DOUBLE, 300, 5), Q = orthonormal(5, 5, 4);
    double c;
    for (ptrdiff_t i = 0; i < 300; i++) ep_set(&B, i, 0, 5 + ep_get(&A, i, 1));
    CHECK_OK(ep_cka(&c, &A, &B));
    CHECK_NEAR(c, plain_cka(&A, &B), 1e-13);
    assert_true(c > 0.1 && c < 0.9);
    ep_mat_copy(&C, &A); /* rotated, scaled, moved: the same representation */
    ep_mat_mul(&D, 7, &C, EP_N, &Q, EP_N, 0);
    for (ptrdiff_t i = 0; i < 1500; i++) *ep_d(&D, 0, i) += (double)(i % 5);
    CHECK_OK(ep_cka(&c, &A, &D));
    CHECK_NEAR(c, 1, 1e-13);
    ep_mat_fill(&B, 0.1);
    CHECK_OK(ep_cka(&c, &A, &B));
    CHECK_NEAR(c, 0, 0);
    ep_mat short_one = ep_mat_rows(&B, 0, 299);
    CHECK_STATUS(ep_cka(&c, &A, &short_one), EP_ERR_SHAPE);
    ep_mat *const used[] = {&A, &B, &C, &D, &Q};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
  }
}

/* ---- memory */

static ep_status everything(const ep_mat *A, const ep_mat *B, const ep_mat *O) {
  double x, angle[3];
  ptrdiff_t count;
  ep_procrustes_info info;
  EP_TRY(ep_rankme(&x, A));
  EP_TRY(ep_effective_rank(&x, A));
  EP_TRY(ep_principal_angles(angle, &count, A, B));
  EP_TRY(ep_procrustes(O, &info, A, B));
  return ep_cka(&x, A, B);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_SINGLE, 600, 3, 1), B = random_mat(EP_DOUBLE, 600, 3, 2);
  ep_mat O = zeros(EP_DOUBLE, 3, 3);
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  int n = 0;
  for (; st == EP_ERR_NOMEM; n++) {
    ep_alloc_fail_after = n;
    st = everything(&A, &B, &O);
    ep_alloc_fail_after = -1;
    assert_int_equal(ep_mem_current(), before);
  }
  CHECK_STATUS(st, EP_OK);
  assert_true(n > 30);
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_mat_free(&O);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_rows),
      cmocka_unit_test(chosen_rows),
      cmocka_unit_test(effective_rank),
      cmocka_unit_test(rank_one),
      cmocka_unit_test(known_angles),
      cmocka_unit_test(deficient_spans),
      cmocka_unit_test(procrustes),
      cmocka_unit_test(procrustes_edges),
      cmocka_unit_test(cka),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
