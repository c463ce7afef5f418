/* Products that are cut into tiles: right in every tile, the same bits on any number of threads; skinny products that
 * treat all columns alike. */
#include "core/loops.h"
#include "random_mat.h"

#include <omp.h>
#include <string.h>

/* entry (i, j) of op(A) op(B) in double */
static double entry(const ep_mat *A, int ta, const ep_mat *B, int tb, ptrdiff_t i, ptrdiff_t j) {
  const ptrdiff_t n = ta ? A->rows : A->cols;
  double sum = 0;
  for (ptrdiff_t k = 0; k < n; k++)
    sum += ep_get(A, ta ? k : i, ta ? i : k) * ep_get(B, tb ? j : k, tb ? k : j);
  return sum;
}

static void same_bits(const ep_mat *A, const ep_mat *B) {
  assert_memory_equal(A->data, B->data, (size_t)(A->rows * A->cols) * ep_sizeof(A->prec));
}

enum { M = 611, N = 530, K = 97 }; /* several tiles of uneven size */

static void tiled(void **state) {
  const int usual = omp_get_max_threads();
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int ta = 0; ta < 2; ta++)
      for (int tb = 0; tb < 2; tb++) {
        ep_mat A = random_mat((ep_precision)prec, ta ? K : M, ta ? M : K, 1);
        ep_mat B = random_mat((ep_precision)prec, tb ? N : K, tb ? K : N, 2);
        ep_mat C[3];
        for (int t = 0; t < 3; t++) {
          C[t] = random_mat((ep_precision)prec, M, N, 3);
          omp_set_num_threads(t + 1);
          ep_mat_mul(&C[t], 2, &A, ta ? EP_T : EP_N, &B, tb ? EP_T : EP_N, 0.5);
        }
        omp_set_num_threads(usual);
        same_bits(&C[0], &C[1]);
        same_bits(&C[0], &C[2]);
        ep_mat D = random_mat((ep_precision)prec, M, N, 3);
        for (ptrdiff_t i = 0; i < M; i += 7)
          for (ptrdiff_t j = 0; j < N; j += 5)
            CHECK_NEAR(ep_get(&C[0], i, j),
                       2 * entry(&A, ta, &B, tb, i, j) + 0.5 * ep_get(&D, i, j),
                       prec ? 1e-12 : 1e-3);
        for (int t = 0; t < 3; t++) ep_mat_free(&C[t]);
        ep_mat_free(&A);
        ep_mat_free(&B);
        ep_mat_free(&D);
      }
}

static void tiled_gram(void **state) {
  const int usual = omp_get_max_threads();
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int t = 0; t < 2; t++) {
      ep_mat A = random_mat((ep_precision)prec, t ? K : M, t ? M : K, 1), G[2];
      for (int k = 0; k < 2; k++) {
        G[k] = random_mat((ep_precision)prec, M, M, 2);
        if (t) ep_mat_mirror(&G[k]);
        omp_set_num_threads(k + 1);
        if (t) ep_mat_gram_cols(&G[k], 2, &A, 0.5);
        else ep_mat_gram(&G[k], 2, &A, 0);
      }
      omp_set_num_threads(usual);
      same_bits(&G[0], &G[1]);
      ep_mat old = random_mat((ep_precision)prec, M, M, 2);
      for (ptrdiff_t i = 0; i < M; i += 7)
        for (ptrdiff_t j = i; j < M; j += 5)
          CHECK_NEAR(ep_get(&G[0], i, j),
                     2 * entry(&A, t, &A, !t, i, j) + (t ? 0.5 * ep_get(&old, i, j) : 0),
                     prec ? 1e-12 : 1e-3);
      ep_mat_free(&A);
      ep_mat_free(&old);
      for (int k = 0; k < 2; k++) ep_mat_free(&G[k]);
    }
}

/* y = op(A) x and triangular systems, on one thread and on two, against what they are defined by */
static void tiled_vectors(void **state) {
  const int usual = omp_get_max_threads();
  (void)state;
  ep_mat A = random_mat(EP_DOUBLE, M, N, 1), x = random_mat(EP_DOUBLE, 1, M, 2), y[2];
  for (int t = 0; t < 2; t++) {
    for (int k = 0; k < 2; k++) {
      CHECK_OK(ep_mat_new(&y[k], EP_DOUBLE, 1, M));
      omp_set_num_threads(k + 1);
      ep_mat_vec(y[k].data, 3, &A, t ? EP_T : EP_N, x.data, 0);
    }
    omp_set_num_threads(usual);
    same_bits(&y[0], &y[1]);
    for (ptrdiff_t i = 0; i < (t ? N : M); i++) {
      double sum = 0;
      for (ptrdiff_t k = 0; k < (t ? M : N); k++)
        sum += 3 * *ep_d(&A, t ? k : i, t ? i : k) * *ep_d(&x, 0, k);
      CHECK_NEAR(*ep_d(&y[0], 0, i), sum, 1e-11);
    }
    for (int k = 0; k < 2; k++) ep_mat_free(&y[k]);
  }
  ep_mat_free(&A);
  ep_mat_free(&x);
}

static void tiled_triangles(void **state) {
  const int usual = omp_get_max_threads();
  enum { S = 150, R = 400 };
  (void)state;
  ep_mat L = random_mat(EP_DOUBLE, S, S, 1);
  for (ptrdiff_t i = 0; i < S; i++)
    for (ptrdiff_t j = 0; j < S; j++) {
      if (j > i) *ep_d(&L, i, j) = 0;
      else *ep_d(&L, i, j) *= 0.1;
      if (i == j) *ep_d(&L, i, j) = 2;
    }
  for (int form = 0; form < 4; form++) { /* L^{-1} B, L'^{-1} B, B L'^{-1}, B L */
    ep_mat B[2], back, old = random_mat(EP_DOUBLE, form < 2 ? S : R, form < 2 ? R : S, 2);
    for (int k = 0; k < 2; k++) {
      B[k] = random_mat(EP_DOUBLE, old.rows, old.cols, 2);
      omp_set_num_threads(k + 1);
      if (form < 2) ep_mat_solve_triangular(&B[k], &L, form ? EP_T : EP_N);
      else if (form == 2) ep_mat_solve_rows(&B[k], &L);
      else ep_mat_mul_triangular(&B[k], &L);
    }
    omp_set_num_threads(usual);
    same_bits(&B[0], &B[1]);
    CHECK_OK(ep_mat_new(&back, EP_DOUBLE, old.rows, old.cols));
    if (form < 2) ep_mat_mul(&back, 1, &L, form ? EP_T : EP_N, &B[0], EP_N, 0);
    else if (form == 2) ep_mat_mul(&back, 1, &B[0], EP_N, &L, EP_T, 0);
    else ep_mat_mul(&back, 1, &old, EP_N, &L, EP_N, 0);
    CHECK_NEAR(mat_gap(&back, form < 3 ? &old : &B[0]), 0, 1e-10);
    for (int k = 0; k < 4; k++) ep_mat_free((ep_mat *[]){&B[0], &B[1], &back, &old}[k]);
  }
  ep_mat_free(&L);
}

/* C = 2 op(A) B + beta C against BLAS, and equal columns of B give equal columns of C, wherever they stand */
static void skinny_columns(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int t = 0; t < 2; t++)
      for (ptrdiff_t z = 1; z < 40; z += 3) {
        const ptrdiff_t m = 61, k = 300;
        ep_mat A = random_mat((ep_precision)prec, t ? k : m, t ? m : k, 1);
        ep_mat B = random_mat((ep_precision)prec, k, z, 2);
        for (ptrdiff_t i = 0; i < k; i++) ep_set(&B, i, z - 1, ep_get(&B, i, 0));
        for (int add = 0; add < 2; add++) {
          ep_mat C = random_mat((ep_precision)prec, m, z, 3), D;
          for (ptrdiff_t i = 0; i < m; i++) ep_set(&C, i, z - 1, ep_get(&C, i, 0));
          CHECK_OK(ep_mat_new(&D, (ep_precision)prec, m, z));
          ep_mat_copy(&D, &C);
          if (t) EP_PICK(C.prec, ep_skinny_mul_t)(&C, 2, &A, &B, add);
          else EP_PICK(C.prec, ep_skinny_mul)(&C, 2, &A, &B, add);
          ep_mat_mul(&D, 2, &A, t ? EP_T : EP_N, &B, EP_N, add);
          CHECK_NEAR(mat_gap(&C, &D), 0, prec ? 1e-11 : 1e-3);
          for (ptrdiff_t i = 0; i < m; i++) assert_true(ep_get(&C, i, 0) == ep_get(&C, i, z - 1));
          ep_mat_free(&C);
          ep_mat_free(&D);
        }
        ep_mat_free(&A);
        ep_mat_free(&B);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiled),          cmocka_unit_test(tiled_gram),
      cmocka_unit_test(tiled_vectors),  cmocka_unit_test(tiled_triangles),
      cmocka_unit_test(skinny_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
