/* Matrices: products, norms, copies between precisions, QR, singular values, symmetric eigenproblems, scratch. */
#include "core/loops.h"
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/subspace.h>

static void products(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int ta = 0; ta < 2; ta++)
      for (int tb = 0; tb < 2; tb++) {
        ep_mat A = random_mat((ep_precision)prec, ta ? 4 : 3, ta ? 3 : 4, 1);
        ep_mat B = random_mat((ep_precision)prec, tb ? 5 : 4, tb ? 4 : 5, 2);
        ep_mat C = random_mat((ep_precision)prec, 3, 5, 3),
               D = random_mat((ep_precision)prec, 3, 5, 3);
        ep_mat_mul(&C, 2, &A, ta ? EP_T : EP_N, &B, tb ? EP_T : EP_N, 0.5);
        for (int i = 0; i < 3; i++)
          for (int j = 0; j < 5; j++) {
            double sum = 0.5 * ep_get(&D, i, j);
            for (int k = 0; k < 4; k++)
              sum += 2 * ep_get(&A, ta ? k : i, ta ? i : k) * ep_get(&B, tb ? j : k, tb ? k : j);
            CHECK_NEAR(ep_get(&C, i, j), sum, prec ? 1e-14 : 1e-5);
          }
        ep_mat_free(&A);
        ep_mat_free(&B);
        ep_mat_free(&C);
        ep_mat_free(&D);
      }
}

/* C = A B' for every small shape */
static void skinny(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (ptrdiff_t m = 1; m < 6; m++)
      for (ptrdiff_t n = 1; n < 10; n++) {
        ep_mat A = random_mat((ep_precision)prec, m, 37, 1),
               B = random_mat((ep_precision)prec, n, 37, 2), C, D;
        CHECK_OK(ep_mat_new(&C, (ep_precision)prec, m, n));
        CHECK_OK(ep_mat_new(&D, (ep_precision)prec, m, n));
        ep_mat_mul_skinny(&C, &A, &B);
        ep_mat_mul(&D, 1, &A, EP_N, &B, EP_T, 0);
        CHECK_NEAR(mat_gap(&C, &D), 0, prec ? 1e-13 : 1e-5);
        ep_mat_free(&A);
        ep_mat_free(&B);
        ep_mat_free(&C);
        ep_mat_free(&D);
      }
}

/* y = 2 op(A) x + 3 y on a view with a longer stride */
static void vector(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int t = 0; t < 2; t++) {
      ep_mat W = random_mat((ep_precision)prec, 7, 9, 1),
             x = random_mat((ep_precision)prec, 1, 7, 2);
      ep_mat y = random_mat((ep_precision)prec, 1, 7, 3),
             z = random_mat((ep_precision)prec, 1, 7, 3);
      const ep_mat A = ep_mat_cols(&W, 1, 5);
      ep_mat_vec(y.data, 2, &A, t ? EP_T : EP_N, x.data, 3);
      for (ptrdiff_t i = 0; i < (t ? 5 : 7); i++) {
        double sum = 3 * ep_get(&z, 0, i);
        for (ptrdiff_t j = 0; j < (t ? 7 : 5); j++)
          sum += 2 * ep_get(&A, t ? j : i, t ? i : j) * ep_get(&x, 0, j);
        CHECK_NEAR(ep_get(&y, 0, i), sum, prec ? 1e-13 : 1e-5);
      }
      for (int i = 0; i < 4; i++) ep_mat_free((ep_mat *[]){&W, &x, &y, &z}[i]);
    }
}

/* A_ij *= sum_z G_iz B_zj, around the width of a strip */
static void times_product(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (ptrdiff_t n = 1; n < 140; n += 23) {
      ep_mat A = random_mat((ep_precision)prec, 3, n, 1),
             G = random_mat((ep_precision)prec, 3, 5, 2);
      ep_mat B = random_mat((ep_precision)prec, 5, n, 3),
             C = random_mat((ep_precision)prec, 3, n, 1);
      EP_PICK(prec, ep_loop_times_product)(&A, &G, &B);
      for (ptrdiff_t i = 0; i < 3; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
          double sum = 0;
          for (ptrdiff_t z = 0; z < 5; z++) sum += ep_get(&G, i, z) * ep_get(&B, z, j);
          CHECK_NEAR(ep_get(&A, i, j), ep_get(&C, i, j) * sum, prec ? 1e-13 : 1e-5);
        }
      ep_mat_free(&A);
      ep_mat_free(&B);
      ep_mat_free(&C);
      ep_mat_free(&G);
    }
}

/* Sums do not depend on where pieces end, and are in double. */
static void sums(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_SINGLE, 3, 9000, 1), B = random_mat(EP_SINGLE, 3, 9000, 2);
  double norm = 0, distance = 0, top = 0;
  for (ptrdiff_t i = 0; i < 3; i++)
    for (ptrdiff_t j = 0; j < 9000; j++) {
      const double a = ep_get(&A, i, j), d = a - ep_get(&B, i, j);
      norm += a * a;
      distance += d * d;
      top = fmax(top, fabs(a));
    }
  CHECK_NEAR(ep_mat_norm2(&A), norm, 1e-12 * norm);
  CHECK_NEAR(ep_mat_distance2(&A, &B), distance, 1e-12 * distance);
  CHECK_NEAR(ep_mat_max(&A), top, 0);
  ep_mat_axpy(&A, -1, &B);
  CHECK_NEAR(ep_mat_norm2(&A), distance, 1e-6 * distance);
  ep_set(&A, 1, 5, NAN);
  assert_true(isnan(ep_mat_max(&A)) && isnan(ep_mat_norm2(&A)));
  ep_mat_free(&A);
  ep_mat_free(&B);
}

/* Views of rows and columns are parts of the same memory. */
static void views(void **state) {
  (void)state;
  ep_mat A = random_mat(EP_DOUBLE, 6, 5, 1), S;
  const ep_mat R = ep_mat_rows(&A, 2, 3), C = ep_mat_cols(&R, 1, 2);
  CHECK_NEAR(ep_get(&C, 1, 1), ep_get(&A, 3, 2), 0);
  ep_mat_fill(&C, 4);
  CHECK_NEAR(ep_get(&A, 4, 2), 4, 0);
  assert_true(ep_get(&A, 4, 3) != 4);
  CHECK_OK(ep_mat_new(&S, EP_SINGLE, 3, 2));
  ep_mat_copy(&S, &C);
  CHECK_NEAR(ep_get(&S, 2, 1), 4, 0);
  ep_mat_free(&A);
  ep_mat_free(&S);
}

static void factorisations(void **state) {
  (void)state;
  enum { M = 9, N = 4 };
  ep_mat A = random_mat(EP_DOUBLE, M, N, 1), Q = random_mat(EP_DOUBLE, M, N, 1), R, G, S;
  double lambda[N];
  CHECK_OK(ep_mat_new(&R, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(&S, EP_DOUBLE, M, N));
  CHECK_OK(ep_mat_qr(&Q, &R));
  ep_mat_mul(&G, 1, &Q, EP_T, &Q, EP_N, 0);
  ep_mat_mul(&S, 1, &Q, EP_N, &R, EP_N, 0);
  CHECK_NEAR(mat_gap(&S, &A), 0, 1e-14);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      CHECK_NEAR(*ep_d(&G, i, j), i == j, 1e-14);
      assert_true(i == j ? *ep_d(&R, i, j) > 0 : i < j || *ep_d(&R, i, j) == 0);
    }
  ep_mat_mul(&G, 1, &A, EP_T, &A, EP_N, 0);
  ep_mat_mul(&R, 1, &A, EP_T, &A, EP_N, 0);
  CHECK_OK(ep_mat_eig_sym(&G, lambda)); /* rows v_k of G:  R v_k = lambda_k v_k */
  for (int k = 0; k < N; k++)
    for (int i = 0; i < N; i++) {
      double sum = 0;
      for (int j = 0; j < N; j++) sum += *ep_d(&R, i, j) * *ep_d(&G, k, j);
      CHECK_NEAR(sum, lambda[k] * *ep_d(&G, k, i), 1e-13);
      assert_true(k == 0 || lambda[k] >= lambda[k - 1]);
    }
  ep_mat_free(&A);
  ep_mat_free(&Q);
  ep_mat_free(&R);
  ep_mat_free(&G);
  ep_mat_free(&S);
}

/* A = U S Vt with orthonormal U' U, Vt Vt' for tall, square and wide A with room between the rows; values alone are
 * the same; LL' = AA'. */
static void singular_values(void **state) {
  (void)state;
  static const int shapes[][2] = {{7, 3}, {4, 4}, {3, 8}, {1, 5}, {5, 1}, {300, 20}};
  for (size_t t = 0; t < sizeof shapes / sizeof *shapes; t++) {
    const ptrdiff_t m = shapes[t][0], n = shapes[t][1], k = m < n ? m : n;
    ep_mat all = random_mat(EP_DOUBLE, m, n + 2, 1), wide = random_mat(EP_DOUBLE, m, k + 3, 2);
    ep_mat again = random_mat(EP_DOUBLE, m, n + 2, 1), third = random_mat(EP_DOUBLE, m, n + 2, 1);
    const ep_mat A = ep_mat_cols(&all, 1, n), B = ep_mat_cols(&again, 1, n);
    const ep_mat U = ep_mat_cols(&wide, 2, k);
    ep_mat Vt = random_mat(EP_DOUBLE, k, n, 3), S, G, P;
    double *sigma = ep_alloc(k, sizeof *sigma), *alone = ep_alloc(k, sizeof *alone);
    CHECK_OK(ep_mat_new(&S, EP_DOUBLE, m, n));
    CHECK_OK(ep_mat_new(&G, EP_DOUBLE, k, k));
    CHECK_OK(ep_mat_svd(&U, sigma, &Vt, &A));
    CHECK_OK(ep_mat_svd(NULL, alone, NULL, &B));
    for (ptrdiff_t i = 0; i < k; i++) {
      CHECK_NEAR(sigma[i], alone[i], 1e-13 * sigma[0]);
      assert_true(sigma[i] >= 0 && (i == 0 || sigma[i] <= sigma[i - 1]));
    }
    for (int side = 0; side < 2; side++) {
      ep_mat_mul(&G, 1, side ? &Vt : &U, side ? EP_N : EP_T, side ? &Vt : &U, side ? EP_T : EP_N,
                 0);
      for (ptrdiff_t i = 0; i < k * k; i++) CHECK_NEAR(*ep_d(&G, 0, i), i % k == i / k, 1e-13);
    }
    for (ptrdiff_t i = 0; i < m * k; i++) *ep_d(&U, i / k, i % k) *= sigma[i % k];
    const ep_mat C = ep_mat_cols(&third, 1, n);
    ep_mat_mul(&S, 1, &U, EP_N, &Vt, EP_N, 0);
    CHECK_NEAR(mat_gap(&S, &C), 0, 1e-13 * sigma[0]);
    if (m <= n) {
      CHECK_OK(ep_mat_new(&P, EP_DOUBLE, m, m));
      ep_mat_mul(&G, 1, &C, EP_N, &C, EP_T, 0);
      CHECK_OK(ep_mat_triangle(&C));
      const ep_mat L = ep_mat_cols(&C, 0, m);
      ep_mat_mul(&P, 1, &L, EP_N, &L, EP_T, 0);
      CHECK_NEAR(mat_gap(&P, &G), 0, 1e-13 * sigma[0] * sigma[0]);
      for (ptrdiff_t i = 0; i < m * m; i++)
        assert_true(i / m >= i % m || *ep_d(&L, i / m, i % m) == 0);
      ep_mat_free(&P);
    }
    ep_mat *const used[] = {&all, &again, &third, &wide, &Vt, &S, &G};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) ep_mat_free(used[i]);
    ep_release(sigma);
    ep_release(alone);
  }
}

/* RankMe: r equal singular values have rank r; a zero matrix has none. */
static void rankme(void **state) {
  (void)state;
  ep_mat F;
  double rank;
  CHECK_OK(ep_mat_new(&F, EP_SINGLE, 6, 4));
  CHECK_OK(ep_rankme(&rank, &F));
  CHECK_NEAR(rank, 0, 0);
  for (int k = 0; k < 3; k++) ep_set(&F, k, k, -2);
  CHECK_OK(ep_rankme(&rank, &F));
  CHECK_NEAR(rank, 3, 1e-12);
  ep_set(&F, 5, 3, 1); /* p = 2/7, 2/7, 2/7, 1/7 */
  CHECK_OK(ep_rankme(&rank, &F));
  CHECK_NEAR(rank, exp(3 * 2. / 7 * log(3.5) + log(7) / 7), 1e-12);
  ep_mat_free(&F);
}

static void memory(void **state) {
  (void)state;
  const size_t before = ep_mem_current();
  ep_work work = {0};
  ep_mat A;
  double *x;
  CHECK_OK(ep_work_mat(&work, &A, EP_SINGLE, 10, 10));
  CHECK_OK(ep_work_get(&work, &x, 7, sizeof *x));
  CHECK_NEAR(x[6] + ep_get(&A, 9, 9), 0, 0);
  assert_true(ep_mem_current() >= before + 456);
  ep_work_free(&work);
  assert_int_equal(ep_mem_current(), before);
  CHECK_STATUS(ep_mat_new(&A, EP_DOUBLE, PTRDIFF_MAX / 8, 8), EP_ERR_ARG);
  CHECK_STATUS(ep_mat_new(&A, EP_DOUBLE, -1, 8), EP_ERR_ARG);
  assert_null(ep_alloc(PTRDIFF_MAX, 8));
  ep_mem_peak_reset();
  void *p = ep_alloc(1000, 1000);
  ep_release(p);
  assert_true(ep_mem_peak() >= before + 1000000 && ep_mem_current() == before);
}

/* A = BB' of rank 4 and order 9: LL' gives it back, in both orders of the columns; A'A of a tall matrix. */
static void semidefinite(void **state) {
  (void)state;
  enum { N = 9, RANK = 4 };
  ep_mat B = random_mat(EP_DOUBLE, N, RANK, 61), A, L, G, H;
  ptrdiff_t pivot[N], rank;
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, N, N));
  CHECK_OK(ep_mat_new(&H, EP_DOUBLE, RANK, RANK));
  ep_mat_gram(&A, 1, &B, 0);
  ep_mat_copy(&G, &A);
  CHECK_OK(ep_mat_cholesky_pivoted(&A, pivot, &rank, 0));
  assert_int_equal(rank, RANK);
  L = ep_mat_cols(&A, 0, rank);
  for (ptrdiff_t i = 0; i < N; i++)
    for (ptrdiff_t j = 0; j < N; j++) {
      double sum = 0;
      for (ptrdiff_t k = 0; k < rank; k++) sum += *ep_d(&L, i, k) * *ep_d(&L, j, k);
      CHECK_NEAR(sum, *ep_d(&G, pivot[i], pivot[j]), 1e-13);
      if (j > i) CHECK_NEAR(*ep_d(&A, i, j), 0, 0);
    }
  ep_mat_gram_cols(&H, 2, &B, 0);
  ep_mat_gram_cols(&H, 1, &B, 1);
  ep_mat_mirror(&H);
  for (ptrdiff_t i = 0; i < RANK; i++)
    for (ptrdiff_t j = 0; j < RANK; j++) {
      double sum = 0;
      for (ptrdiff_t k = 0; k < N; k++) sum += 3 * *ep_d(&B, k, i) * *ep_d(&B, k, j);
      CHECK_NEAR(*ep_d(&H, i, j), sum, 1e-13);
    }
  ep_mat_fill(&A, 0);
  CHECK_OK(ep_mat_cholesky_pivoted(&A, pivot, &rank, 0));
  assert_int_equal(rank, 0);
  ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&G), ep_mat_free(&H);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),        cmocka_unit_test(skinny),
      cmocka_unit_test(times_product),   cmocka_unit_test(sums),
      cmocka_unit_test(views),           cmocka_unit_test(factorisations),
      cmocka_unit_test(singular_values), cmocka_unit_test(rankme),
      cmocka_unit_test(memory),          cmocka_unit_test(semidefinite),
      cmocka_unit_test(vector),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
