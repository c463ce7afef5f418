/* Products with a packed matrix equal the plain ones, whatever the zeros, shapes and threads. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/packed.h>
#include <eigenpair/run.h>
#include <omp.h>

/* X with about `share` of its entries kept, in patches, and a zero row and column */
static ep_mat sparse_mat(ep_precision prec, ptrdiff_t n, ptrdiff_t d, double share) {
  ep_mat X = random_mat(prec, n, d, 1);
  ep_random r = ep_random_new(5, 78, 0);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      if (i == n / 2 || j == d / 2 || ep_random_uniform(&r) > share * (1 + (i % 3 == j % 3)))
        ep_set(&X, i, j, 0);
  return X;
}

/* c_ij by the definition, sums in double */
static double entry(const ep_mat *A, const ep_mat *B, ptrdiff_t i, ptrdiff_t j, bool transposed) {
  double sum = 0;
  for (ptrdiff_t k = 0; k < (transposed ? A->rows : A->cols); k++)
    sum += transposed ? ep_get(A, k, i) * ep_get(B, k, j) : ep_get(A, i, k) * ep_get(B, j, k);
  return sum;
}

static void check_shape(ep_precision prec, ptrdiff_t n, ptrdiff_t d, ptrdiff_t m, double share) {
  const double tol = (prec == EP_SINGLE ? 1e-4 : 1e-12) * sqrt((double)(n > d ? n : d));
  ep_mat X = sparse_mat(prec, n, d, share), V = random_mat(prec, m, d, 2);
  ep_mat B = random_mat(prec, n, m, 3), G0 = random_mat(prec, m, d, 4), A, G;
  ep_packed *p;
  CHECK_OK(ep_mat_new(&A, prec, n, m));
  CHECK_OK(ep_mat_new(&G, prec, m, d));
  CHECK_OK(ep_packed_new(&p, &X, 1e6));
  ep_packed_mul_nt(&A, 0.5, p, &V);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < m; j++)
      CHECK_NEAR(ep_get(&A, i, j), 0.5 * entry(&X, &V, i, j, false), tol);
  for (double beta = 0; beta < 2; beta += 1.5) {
    ep_mat_copy(&G, &G0);
    if (beta == 0) ep_mat_fill(&G, NAN); /* must not be read */
    ep_packed_mul_tn(&G, -2, &B, p, beta);
    for (ptrdiff_t i = 0; i < m; i++)
      for (ptrdiff_t j = 0; j < d; j++)
        CHECK_NEAR(ep_get(&G, i, j), -2 * entry(&B, &X, i, j, true) + beta * ep_get(&G0, i, j),
                   tol);
  }
  ep_packed_free(p);
  ep_mat_free(&X);
  ep_mat_free(&V);
  ep_mat_free(&B);
  ep_mat_free(&G0);
  ep_mat_free(&A);
  ep_mat_free(&G);
}

static void products(void **state) {
  (void)state;
  static const ptrdiff_t shapes[][3] = {{1, 1, 1},   {5, 3, 2},     {6, 16, 16},  {7, 17, 33},
                                        {50, 40, 8}, {13, 1100, 9}, {1100, 9, 5}, {64, 30, 130}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int prec = 0; prec < 2; prec++)
      for (double share = 0; share <= 0.5; share += 0.1)
        check_shape((ep_precision)prec, shapes[s][0], shapes[s][1], shapes[s][2], share);
}

/* Zeros are skipped: work falls with the share of non-zeros, and dense data go through BLAS. */
static void density(void **state) {
  (void)state;
  ep_mat X = sparse_mat(EP_SINGLE, 300, 200, 0.02), Y = random_mat(EP_SINGLE, 300, 200, 9);
  ep_packed *p;
  CHECK_OK(ep_packed_new(&p, &X, 1e6));
  assert_true(ep_packed_density(p) > 0.01 && ep_packed_density(p) < 0.25);
  ep_packed_free(p);
  CHECK_OK(ep_packed_new(&p, &Y, 1e6));
  CHECK_NEAR(ep_packed_density(p), 1, 0);
  ep_packed_free(p);
  CHECK_OK(ep_packed_new(&p, &X, 10)); /* would not pay */
  CHECK_NEAR(ep_packed_density(p), 1, 0);
  ep_packed_free(p);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* The same bits for 1, 2 and 3 threads. */
static void threads(void **state) {
  (void)state;
  ep_mat X = sparse_mat(EP_SINGLE, 200, 150, 0.1), V = random_mat(EP_SINGLE, 70, 150, 2), A, first;
  CHECK_OK(ep_mat_new(&A, EP_SINGLE, 200, 70));
  CHECK_OK(ep_mat_new(&first, EP_SINGLE, 200, 70));
  const int usual = omp_get_max_threads();
  for (int t = 1; t <= 3; t++) {
    ep_packed *p;
    omp_set_num_threads(t);
    CHECK_OK(ep_packed_new(&p, &X, 1e6));
    assert_true(ep_packed_density(p) < 1);
    ep_packed_mul_nt(t == 1 ? &first : &A, 1, p, &V);
    if (t > 1) assert_memory_equal(A.data, first.data, 200 * 70 * sizeof(float));
    ep_packed_free(p);
  }
  omp_set_num_threads(usual);
  ep_mat_free(&X);
  ep_mat_free(&V);
  ep_mat_free(&A);
  ep_mat_free(&first);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat X = sparse_mat(EP_DOUBLE, 40, 30, 0.1);
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  for (int n = 0; st == EP_ERR_NOMEM; n++) {
    ep_packed *p;
    ep_alloc_fail_after = n;
    st = ep_packed_new(&p, &X, 1e6);
    ep_alloc_fail_after = -1;
    assert_true(st == EP_OK ? n > 5 : p == NULL);
    ep_packed_free(p);
    assert_int_equal(ep_mem_current(), before);
  }
  assert_int_equal(st, EP_OK);
  ep_mat_free(&X);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products),
      cmocka_unit_test(density),
      cmocka_unit_test(threads),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
