/* Learnability: spectra of a million points, and regression from drawn sets beside the products it contains. */
#include "bench.h"

#include <eigenpair/domain.h>

#include <float.h>
#include <math.h>

enum { ROUNDS = 5, M = 2000, N = 1000, D = 50 };

static ep_domain_kernel relu(void) {
  ep_domain_kernel k = {.kind = EP_NTK, .radius = 1};
  k.network = (ep_analytic){.depth = 2, .input_scale = 1};
  ep_options_default(ep_variance_options, &k.network.config);
  bench_must(ep_activation_parse(&k.network.phi, "relu"));
  return k;
}

/* spectrum, kappa and test error of a domain that symmetry diagonalises */
static void bench_spectrum(const char *name, ep_domain_kind kind, ptrdiff_t size) {
  const ep_domain_kernel k = relu();
  double best = INFINITY;
  for (int r = 0; r < ROUNDS; r++) {
    const double begin = bench_now();
    ep_domain *d;
    ep_prediction p;
    bench_must(ep_domain_new(&d, kind, size, &k));
    bench_must(
        ep_learn_predict(&p, NULL, ep_domain_spectrum(d), NULL, &(ep_training_set){.train = 100}));
    ep_domain_free(d);
    best = fmin(best, bench_now() - begin);
  }
  printf("spectrum and prediction, %s: %.4f s\n", name, best);
}

/* one set of n = 1,000 out of M = 2,000 points with learnabilities of all modes: the inverse (2 n^3 flops by two
 * triangular solves, n^3/3 the factor) and Phi A (2 n^2 M), as products of the same count */
static void bench_sets(void) {
  const ep_domain_kernel k = relu();
  ep_mat X, K, A, B, C;
  ep_domain *d;
  ep_measurement m;
  bench_must(ep_mat_new(&X, EP_DOUBLE, M, D));
  bench_must(ep_mat_new(&K, EP_DOUBLE, M, M));
  bench_must(ep_mat_new(&A, EP_DOUBLE, M, N));
  bench_must(ep_mat_new(&B, EP_DOUBLE, N, N));
  bench_must(ep_mat_new(&C, EP_DOUBLE, M, N));
  ep_random_fill_normal(&X, 1, EP_STREAM_DATA, 0);
  ep_scale_to_unit(&X);
  bench_must(ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &X, NULL));
  bench_must(ep_domain_sample(&d, &K, DBL_EPSILON));
  double T[M], best = INFINITY, product = INFINITY;
  const ep_target f = {.F = X};
  for (int r = 0; r < ROUNDS; r++) {
    double begin = bench_now();
    bench_must(
        ep_domain_measure(&m, T, d, &f, &(ep_training_set){.train = N}, 1, (uint64_t)r, 8e9));
    best = fmin(best, bench_now() - begin);
    begin = bench_now();
    ep_mat_mul(&C, 1, &A, EP_N, &B, EP_N, 0); /* 2 n^2 M */
    product = fmin(product, bench_now() - begin);
  }
  const double n = N, limit = product * (2 * n * n * M + 7. / 3 * n * n * n) / (2 * n * n * M);
  printf(
      "regression and learnabilities, n = %d of M = %d: %.3f s a set; as products %.3f s: %.0f "
      "%%\n\n",
      N, M, best, limit, 100 * limit / best);
  ep_domain_free(d);
  ep_mat_free(&X);
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_mat_free(&C);
}

void bench_learnability(const char *peers) {
  (void)peers;
  bench_spectrum("circle of 2^20", EP_CIRCLE, (ptrdiff_t)1 << 20);
  bench_spectrum("cube of 2^20", EP_CUBE, 20);
  bench_spectrum("sphere in R^8", EP_SPHERE, 8);
  bench_sets();
}
