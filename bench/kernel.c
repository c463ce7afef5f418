/* Tangent kernels, single precision: beside the products they contain, PyTorch's functorch, and training. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5 };

static double fastest(double (*run)(void *), void *what) {
  double best = INFINITY;
  for (int r = 0; r < ROUNDS; r++) best = fmin(best, run(what));
  return best;
}

/* ---- empirical */

typedef struct {
  const char *name, *peer;
  ptrdiff_t n, inputs, width, outputs;
  int depth;
  ep_net net;
  ep_mat X, K, B, T, C;
} empirical;

static double run_kernel(void *what) {
  empirical *e = what;
  const double begin = bench_now();
  bench_must(ep_ntk_empirical(NULL, &e->K, &e->net, &e->X, NULL, EP_FULL, 8e9));
  return bench_now() - begin;
}

/* the products alone: forward, B downwards, and the symmetric rank-k update of every layer */
static double run_products(void *what) {
  empirical *e = what;
  const double begin = bench_now();
  const ep_mat A = ep_mat_rows(&e->C, 0, e->n);
  ep_mat_mul(&A, 1, &e->X, EP_N, &e->net.V[0], EP_T, 0);
  for (int l = 1; l < e->depth; l++) {
    const ep_mat H = ep_mat_rows(&e->B, 0, e->n);
    ep_mat_mul(&A, 1, &H, EP_N, &e->net.V[l], EP_T, 0);
    ep_mat_mul(&e->C, 1, &e->B, EP_N, &e->net.V[l], EP_N, 0);
  }
  for (int l = 0; l < e->depth; l++) ep_mat_gram(&e->T, 1, &e->B, 0);
  return bench_now() - begin;
}

static double run_update(void *what) {
  empirical *e = what;
  const double begin = bench_now();
  for (int l = 0; l < e->depth; l++) ep_mat_gram(&e->T, 1, &e->B, 0);
  return bench_now() - begin;
}

static void set_up(empirical *e) {
  ep_net_config config;
  ep_options_default(ep_net_options, &config);
  config.width = e->width;
  config.outputs = e->outputs;
  config.depth = e->depth;
  const ptrdiff_t rows = e->n * e->outputs;
  bench_must(ep_net_start(&e->net, &config, e->inputs, 0, EP_SINGLE));
  bench_must(ep_mat_new(&e->X, EP_SINGLE, e->n, e->inputs));
  bench_must(ep_mat_new(&e->K, EP_SINGLE, e->n, e->n * e->outputs * e->outputs));
  bench_must(ep_mat_new(&e->B, EP_SINGLE, rows, e->width));
  bench_must(ep_mat_new(&e->C, EP_SINGLE, rows, e->width));
  bench_must(ep_mat_new(&e->T, EP_SINGLE, rows, rows));
  ep_random_fill_normal(&e->X, 1, EP_STREAM_DATA, 0);
  ep_random_fill_normal(&e->B, 1, EP_STREAM_DATA, 1);
}

static void tear_down(empirical *e) {
  ep_net_free(&e->net);
  ep_mat_free(&e->X);
  ep_mat_free(&e->K);
  ep_mat_free(&e->B);
  ep_mat_free(&e->C);
  ep_mat_free(&e->T);
}

/* seconds of the same kernel by functorch, or NAN */
static double functorch(const char *peers, const char *which) {
  char command[1200], line[1024];
  double seconds = NAN;
  if (!peers || !which) return NAN;
  snprintf(command, sizeof command, "%s %s/peers_ntk.py --case %s", bench_python(), peers, which);
  FILE *in = popen(command, "r");
  if (in && fgets(line, sizeof line, in)) {
    json_t *row = json_loads(line, 0, NULL);
    const json_t *s = json_object_get(row, "seconds");
    if (json_is_number(s)) seconds = json_number_value(s);
    json_decref(row);
  }
  if (in) pclose(in);
  return seconds;
}

/* operations of the symmetric rank-k updates, and of all products: forward, B downwards, updates */
static double update_flops(const empirical *e) {
  const double rows = (double)(e->n * e->outputs);
  return rows * (rows + 1) * (double)e->width * e->depth;
}

static double all_flops(const empirical *e) {
  const double n = (double)e->n, m = (double)e->width, above = e->depth - 1;
  return 2 * n * m * ((double)e->inputs + above * m * (1 + (double)e->outputs)) + update_flops(e);
}

static void bench_empirical(const char *peers) {
  empirical cases[] = {
      {.name = "one hidden layer, n = 100",
       .n = 100,
       .inputs = 784,
       .width = 10000,
       .outputs = 10,
       .depth = 1},
      {.name = "one hidden layer, n = 16",
       .peer = "two",
       .n = 16,
       .inputs = 784,
       .width = 10000,
       .outputs = 10,
       .depth = 1},
      {.name = "three of 2,048, n = 16",
       .peer = "deep",
       .n = 16,
       .inputs = 3072,
       .width = 2048,
       .outputs = 8,
       .depth = 3},
  };
  printf(
      "empirical NTK, full layout: one hidden layer D = 784, M = 10,000, Z = 10; three of 2,048: D "
      "= 3,072, Z = 8\n");
  printf("%-26s %10s %10s %10s %12s %12s %14s %10s\n", "", "kernel ms", "syrk ms", "products",
         "syrk/kernel", "products/k.", "Gflop/s", "functorch");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    empirical *e = &cases[c];
    set_up(e);
    const double kernel = fastest(run_kernel, e), update = fastest(run_update, e),
                 products = fastest(run_products, e);
    printf("%-26s %10.2f %10.2f %10.2f %11.0f%% %11.0f%% %5.0f of %-5.0f", e->name, 1e3 * kernel,
           1e3 * update, 1e3 * products, 100 * update / kernel, 100 * products / kernel,
           all_flops(e) / kernel / 1e9, update_flops(e) / update / 1e9);
    tear_down(e);
    char what[80];
    snprintf(what, sizeof what, "NTK full, %s, over all products contained", e->name);
    bench_row(what, AT_MOST, 1.15, kernel / products);
    const double theirs = functorch(peers, e->peer);
    if (isfinite(theirs)) printf(" %8.2f s: ours is %.0f times faster", theirs, theirs / kernel);
    printf("\n");
  }
  printf("published for the last case on a data-centre GPU, three methods: 243, 81 and 3.5 ms\n\n");
}

/* ---- analytic */

/* seconds of the NTK of three hidden layers of 2,000 points on the sphere */
static double three_layers(void *activation) {
  ep_analytic a = {.depth = 3, .input_scale = 1};
  ep_mat X, K;
  ep_options_default(ep_variance_options, &a.config);
  bench_must(ep_activation_parse(&a.phi, activation));
  bench_must(ep_mat_new(&X, EP_SINGLE, 2000, 784));
  bench_must(ep_mat_new(&K, EP_SINGLE, 2000, 2000));
  ep_random_fill_normal(&X, 1, EP_STREAM_DATA, 0);
  ep_scale_to_unit(&X);
  const double begin = bench_now();
  bench_must(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  const double seconds = bench_now() - begin;
  ep_mat_free(&X);
  ep_mat_free(&K);
  return seconds;
}

static void bench_activations(void) {
  static const char *const names[] = {"tanh", "sigmoid", "erf", "gelu"};
  const double relu = fastest(three_layers, (char *)"relu");
  printf("analytic NTK, three hidden layers, n = 2,000, D = 784, over relu (%.3f s):", relu);
  for (int k = 0; k < 4; k++) {
    const double ratio = fastest(three_layers, (char *)names[k]) / relu;
    char what[80];
    printf(" %s %.2f", names[k], ratio);
    snprintf(what, sizeof what, "analytic kernel with %s over relu, n = 2,000, depth 3", names[k]);
    if (k < 2) bench_row(what, AT_MOST, 2, ratio);
  }
  printf("\n\n");
}

enum { ANALYTIC_N = 10000, ANALYTIC_D = 784, FEW = 8 };

/* seconds of a kernel of n points on the sphere; *extra: bytes beside the kernel and the points */
static double analytic_seconds(double *extra, const char *activation, int depth, ptrdiff_t inputs) {
  ep_analytic a = {.depth = depth, .input_scale = 1};
  ep_mat X, K;
  ep_options_default(ep_variance_options, &a.config);
  bench_must(ep_activation_parse(&a.phi, activation));
  bench_must(ep_mat_new(&X, EP_SINGLE, ANALYTIC_N, inputs));
  bench_must(ep_mat_new(&K, EP_SINGLE, ANALYTIC_N, ANALYTIC_N));
  ep_mat_fill(&K, 1); /* its pages are there */
  ep_random_fill_normal(&X, 1, EP_STREAM_DATA, 0);
  ep_scale_to_unit(&X);
  const double before = (double)ep_memory_current();
  ep_memory_peak_reset();
  const double begin = bench_now();
  bench_must(ep_analytic_kernel(NULL, &K, &a, EP_NTK, &X, NULL));
  const double seconds = bench_now() - begin;
  *extra = (double)ep_memory_peak() - before;
  ep_mat_free(&X);
  ep_mat_free(&K);
  return seconds;
}

/* the Gram matrix alone, in the precision of the points, on and above the diagonal */
static double gram_seconds(void) {
  enum { BLOCK = 512 };
  ep_mat Y, G;
  bench_must(ep_mat_new(&Y, EP_SINGLE, ANALYTIC_N, ANALYTIC_D));
  bench_must(ep_mat_new(&G, EP_SINGLE, BLOCK, ANALYTIC_N));
  ep_random_fill_normal(&Y, 1, EP_STREAM_DATA, 0);
  const double begin = bench_now();
  for (ptrdiff_t i = 0; i < ANALYTIC_N; i += BLOCK) {
    const ptrdiff_t n = ANALYTIC_N - i < BLOCK ? ANALYTIC_N - i : BLOCK;
    const ep_mat rows = ep_mat_rows(&Y, i, n), rest = ep_mat_rows(&Y, i, ANALYTIC_N - i);
    const ep_mat g = ep_mat_view(EP_SINGLE, n, ANALYTIC_N - i, G.data);
    ep_mat_mul(&g, 1, &rows, EP_N, &rest, EP_T, 0);
  }
  const double seconds = bench_now() - begin;
  ep_mat_free(&Y);
  ep_mat_free(&G);
  return seconds;
}

/* The transform: three layers of relu less one, and half of that again, on points of so few dimensions that the Gram product
 * does not count. What neither has is storing. */
static void bench_analytic(void) {
  double extra, unused;
  const double all = analytic_seconds(&extra, "relu", 3, ANALYTIC_D), gram = gram_seconds();
  const double transform =
      1.5 * (analytic_seconds(&unused, "relu", 3, FEW) - analytic_seconds(&unused, "relu", 1, FEW));
  printf(
      "analytic NTK, relu, three hidden layers, n = 10,000, D = 784: %.2f s; the Gram product "
      "alone %.2f s, the transform "
      "%.2f s: together %.0f %%\n  memory beside the kernel and the points: %.1f %% of the "
      "kernel\n\n",
      all, gram, transform, 100 * (gram + transform) / all,
      100 * extra / (4.0 * ANALYTIC_N * ANALYTIC_N));
}

/* ---- frozen kernel against training */

static double fit_seconds(ep_setup *s, const ep_points *p) {
  ep_model *model;
  ep_fit_info info;
  const double begin = bench_now();
  bench_must(ep_fit(NULL, &model, &info, p, s));
  const double seconds = bench_now() - begin;
  ep_model_free(model);
  ep_fit_info_free(&info);
  return seconds;
}

static void bench_frozen(void) {
  static ep_setup s;
  ep_points p;
  ep_setup_default(&s);
  strcpy(s.data.data, "digits");
  s.data.samples = 1000;
  s.net.width = 10000;
  bench_must(ep_points_load(NULL, &p, &s.data, &s.pair, "triplet", &s.run));
  s.fit.epochs = 5;
  const double few = fit_seconds(&s, &p);
  s.fit.epochs = 25;
  const double gd = (fit_seconds(&s, &p) - few) / 20 * 500;
  strcpy(s.fit.method, "kernel");
  s.fit.kernel = EP_KERNEL_ANALYTIC;
  s.fit.epochs = 500;
  const double kernel = fit_seconds(&s, &p);
  printf(
      "500 epochs, N = 1000 triplets, Z = 10: gradient descent at M = 10,000 %.1f s (from 20 "
      "epochs), frozen analytic "
      "kernel %.2f s in all: %.0f times faster\n\n",
      gd, kernel, gd / kernel);
  ep_points_free(&p);
}

void bench_kernel(const char *peers) {
  bench_empirical(peers);
  bench_analytic();
  bench_activations();
  bench_frozen();
}
