/* Optima: one evaluation of A(w)w beside one product with the data; a thousand starts. */
#include "bench.h"

#include <eigenpair/synthetic.h>

#include <math.h>

enum { ROUNDS = 11 };

/* N = 10,000, d = 784, uniform weights: one pass over the data */
static void bench_product(void) {
  enum { N = 10000, D = 784 };
  ep_layer layer = {0};
  ep_mat w, y;
  double product[ROUNDS], plain[ROUNDS], s[N];
  bench_must(ep_activation_parse(&layer.h, "relu"));
  bench_must(ep_mat_new(&layer.X, EP_DOUBLE, N, D));
  bench_must(ep_mat_new(&w, EP_DOUBLE, 1, D));
  bench_must(ep_mat_new(&y, EP_DOUBLE, 1, D));
  ep_random_fill_normal(&layer.X, 1, EP_STREAM_DATA, 0);
  ep_optima_starts(&w, 1);
  for (int r = 0; r < ROUNDS; r++) {
    double begin = bench_now();
    bench_must(ep_layer_product(&y, &layer, &w, NULL, NULL));
    product[r] = bench_now() - begin;
    begin = bench_now();
    ep_mat_vec(s, 1, &layer.X, EP_N, w.data, 0);
    plain[r] = bench_now() - begin;
  }
  const double a = bench_median(product, ROUNDS), b = bench_median(plain, ROUNDS);
  printf(
      "A(w)w, N = 10,000, d = 784, uniform weights: %.2f ms; one matrix-vector product with the "
      "data "
      "%.2f ms: %.2f times (at most 3)\n",
      1e3 * a, 1e3 * b, a / b);
  ep_mat_free(&layer.X);
  ep_mat_free(&w);
  ep_mat_free(&y);
}

/* 1,000 starts at N = 2,000, d = 50, with everything that is measured of each optimum */
static void bench_starts(const char *weights) {
  ep_layer layer = {0};
  ep_optima_config config;
  ep_optima o;
  int *labels;
  const ep_run_config run = ep_run_default();
  ep_options_default(ep_optima_options, &config);
  config.starts = 1000;
  bench_must(ep_activation_parse(&layer.h, "relu"));
  bench_must(ep_alpha_load(&layer.alpha, weights, ""));
  bench_must(ep_synthetic_make(&layer.X, &labels, "clusters", "10,2000,50", 0, 0, EP_DOUBLE));
  ep_labels_free(labels);
  const double begin = bench_now();
  bench_must(ep_optima_find(NULL, &o, &layer, &config, &run));
  printf(
      "1,000 starts, clusters of N = 2,000, d = 50, %s weights: %.1f s (under 60), %.0f "
      "iterations a start, %td optima\n",
      weights, bench_now() - begin, o.iterations, o.count);
  ep_optima_free(&o);
  ep_mat_free(&layer.X);
}

void bench_optima(const char *peers) {
  (void)peers;
  bench_product();
  bench_starts("uniform");
  bench_starts("gaussian:20");
  printf("\n");
}
