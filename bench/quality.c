/* What closed forms are worth: test accuracy of a linear probe on representations of Z = 64, no label and no training
 * loop in them. Settings were chosen on a held-out part of the training set. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Z = 64 };

typedef struct {
  ep_dataset train, test; /* on the sphere, as the models see them */
  ep_mat A, B;            /* embeddings */
} labelled;

static void load(labelled *d, const char *name, long samples) {
  ep_data_config config;
  ep_run_config run = ep_run_default();
  ep_options_default(ep_data_options, &config);
  snprintf(config.data, sizeof config.data, "%s", name);
  config.samples = samples;
  bench_must(ep_dataset_load(NULL, &d->train, &config, &run));
  snprintf(config.data, sizeof config.data, "%s:test", name);
  config.samples = 0;
  bench_must(ep_dataset_load(NULL, &d->test, &config, &run));
  ep_scale_to_unit(&d->train.X);
  ep_scale_to_unit(&d->test.X);
}

static void unload(labelled *d) {
  ep_dataset_free(&d->train);
  ep_dataset_free(&d->test);
}

/* accuracy of a linear probe; *seconds of it */
static double probe(double *seconds, const ep_mat *A, const ep_mat *B, const labelled *d) {
  const ep_labelled train = {A, d->train.labels, NULL}, test = {B, d->test.labels, NULL};
  const ep_run_config run = ep_run_default();
  ep_probe_config config;
  ep_probe_result r;
  ep_options_default(ep_probe_options, &config);
  const double begin = bench_now();
  bench_must(ep_probe_run(NULL, &r, "linear", &train, &test, &config, &run));
  *seconds = bench_now() - begin;
  const double accuracy = r.accuracy;
  ep_probe_result_free(&r);
  return accuracy;
}

static void row(const char *name, double fit, double embed, double probing, double accuracy) {
  printf("  %-40s %7.2f %7.2f %7.2f %7.2f s %8.2f %%\n", name, fit, embed, probing,
         fit + embed + probing, 100 * accuracy);
}

static void raw_pixels(const labelled *d) {
  double seconds;
  const double accuracy = probe(&seconds, &d->train.X, &d->test.X, d);
  row("raw pixels (784 numbers)", 0, 0, seconds, accuracy);
}

/* the 64 principal axes of the pixels, centred */
static void pca_of_pixels(labelled *d) {
  const ptrdiff_t n = d->train.X.cols;
  ep_mat C, V, W, S;
  double lambda[Z], probing;
  ep_eigen_info info;
  ep_eigen_config config;
  const double begin = bench_now();
  ep_options_default(ep_eigen_options, &config);
  bench_must(ep_mat_new(&C, EP_DOUBLE, n, n));
  bench_must(ep_mat_new(&S, EP_SINGLE, n, n));
  bench_must(ep_mat_new(&V, EP_DOUBLE, n, Z));
  bench_must(ep_mat_new(&W, EP_SINGLE, n, Z));
  double *mean = calloc((size_t)n, sizeof *mean);
  for (ptrdiff_t i = 0; i < d->train.X.rows; i++)
    for (ptrdiff_t j = 0; j < n; j++)
      mean[j] += ep_get(&d->train.X, i, j) / (double)d->train.X.rows;
  ep_mat_gram_cols(&S, 1 / (double)d->train.X.rows, &d->train.X, 0);
  ep_mat_mirror(&S);
  ep_mat_copy(&C, &S);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(&C, i, j) -= mean[i] * mean[j];
  bench_must(ep_eigen_matrix(&V, lambda, &info, &C, &config, 0));
  ep_mat_copy(&W, &V);
  const double fit = bench_now() - begin;
  ep_mat_mul(&d->A, 1, &d->train.X, EP_N, &W, EP_N, 0);
  ep_mat_mul(&d->B, 1, &d->test.X, EP_N, &W, EP_N, 0);
  const double embed = bench_now() - begin - fit, accuracy = probe(&probing, &d->A, &d->B, d);
  row("PCA of pixels", fit, embed, probing, accuracy);
  free(mean);
  ep_mat_free(&C), ep_mat_free(&S), ep_mat_free(&V), ep_mat_free(&W);
}

/* a fit by its command-line options */
static void closed(labelled *d, const char *data, long samples, const char *const *options) {
  static ep_setup s;
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_points points;
  ep_model *model;
  ep_fit_info info;
  char name[200] = "";
  double probing;
  ep_setup_default(&s);
  ep_setup_groups(groups, &s);
  snprintf(s.data.data, sizeof s.data.data, "%s", data);
  s.data.samples = samples;
  s.net.outputs = Z;
  for (; options[0]; options += 2) {
    for (const ep_option_group *g = groups; g->table; g++)
      if (ep_options_find(g->table, options[0]))
        bench_must(ep_options_set(ep_options_find(g->table, options[0]), g->config, options[1]));
    snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", *name ? ", " : "",
             options[1]);
  }
  double begin = bench_now();
  bench_must(ep_points_load(NULL, &points, &s.data, &s.pair,
                            ep_method_takes_views(s.fit.method) ? "positives" : "triplet", &s.run));
  bench_must(ep_fit(NULL, &model, &info, &points, &s));
  const double fit = bench_now() - begin;
  begin = bench_now();
  bench_must(ep_model_embed(NULL, &d->A, model, &d->train.X));
  bench_must(ep_model_embed(NULL, &d->B, model, &d->test.X));
  const double embed = bench_now() - begin, accuracy = probe(&probing, &d->A, &d->B, d);
  row(name, fit, embed, probing, accuracy);
  ep_model_free(model);
  ep_fit_info_free(&info);
  ep_points_free(&points);
}

static void table(const char *data, long samples, bool dense, const char *patches) {
  static const char *const pca[] = {"method", "pca", "width", "4096", NULL};
  static const char *const infinite[] = {"method", "infinite", "landmarks", "4000", NULL};
  static const char *const whitened[] = {"method", "whitened", "width",   "4096",
                                         "views",  "4",        "augment", "shift:2,rotate:10",
                                         "ridge",  "0.1",      NULL};
  const char *const with_patches[] = {"method", "whitened", "features",        patches,
                                      "views",  "2",        "augment",         "shift:2,rotate:10",
                                      "ridge",  "0.001",    "eigen_tolerance", "0.01",
                                      NULL};
  labelled d;
  load(&d, data, samples);
  printf("%s, %ld training points, 10,000 to test%28s %7s %7s %9s %10s\n", data, samples, "fit",
         "embed", "probe", "all", "accuracy");
  bench_must(ep_mat_new(&d.A, EP_SINGLE, d.train.X.rows, Z));
  bench_must(ep_mat_new(&d.B, EP_SINGLE, d.test.X.rows, Z));
  if (dense) {
    raw_pixels(&d);
    pca_of_pixels(&d);
    closed(&d, data, samples, pca);
    closed(&d, data, samples, infinite);
    closed(&d, data, samples, whitened);
  }
  closed(&d, data, samples, with_patches);
  ep_mat_free(&d.A);
  ep_mat_free(&d.B);
  unload(&d);
}

void bench_quality(const char *peers) {
  char folder[1024];
  (void)peers;
  static const char *const sets[] = {"mnist", "fashion"};
  for (int k = 0; k < 2; k++) {
    if (!ep_dataset_folder(folder, sets[k])) {
      printf("quality: %s is not here; get it with: eigenpair data fetch %s\n", sets[k], sets[k]);
      continue;
    }
    table(sets[k], 6000, true, "patches:256,7,4");
    table(sets[k], 10000, false, "patches:256,7,4");
    table(sets[k], 60000, false, "patches:256,7,4");
  }
  printf("\n");
}
