/* WIDE section 4: with an orthogonal output layer the model is PCA of C(0). */
#include "study/wide.h"

#include "study/size.h"

#include <eigenpair/probe.h>
#include <math.h>

static const wide_size pca_sizes[] = {{50, 200, 3, 4, {50, 100, 200, 400}},
                                      {100, 500, 5, 4, {100, 200, 500, 1000}},
                                      {1000, 500, 5, 4, {100, 300, 1000, 3000}}};
/* ---- Fig. 4 left: the drift of C */

ep_status wide_fig4l(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const wide_setting s = {
      .data = wide_images(size), .method = "grassmann", .track = "c", .rate = 1};
  wide_drift d;
  EP_TRY(wide_drift_check(&d, r, "", "c_frobenius", &s, &pca_sizes[size], run));
  r->pass = d.width.exponent <= -0.4 && d.width.high < 0 && d.diverged == 0;
  return wide_say(r, &s, &pca_sizes[size]);
}

/* ---- Fig. 4 middle: W moves faster than C */

typedef struct {
  json_t *time;
  double least; /* of (change of W) / (change of C), both relative, over all times and runs */
} race;

static ep_status measure_race(double *out, wide_fit *f, bool first_seed, void *user) {
  race *g = user;
  double size;
  EP_TRY(ep_covariance_size(&size, f->start, &f->points));
  out[0] = INFINITY;
  for (ptrdiff_t row = 1; row < f->info.history.rows; row++) {
    const double c = wide_history(&f->info, "c_frobenius", row) / size;
    if (c > 0) out[0] = fmin(out[0], wide_history(&f->info, "w_change", row) / c);
  }
  if (!first_seed) return EP_OK;
  EP_TRY(wide_time_line(g->time, f, "w_change", "W", 1));
  return wide_time_line(g->time, f, "c_frobenius", "C", 1 / size);
}

static ep_status fig4m(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  race g = {0};
  claim_curve c;
  double least[WIDE_WIDTHS];
  EP_TRY(claim_figure(&g.time, r, "race", EP_FIGURE_LINE, "W and C over time",
                      "Relative change of W and of C after so many epochs, a line a width, first "
                      "seed.",
                      (ep_axis){"epoch", true}, (ep_axis){"relative change", true}));
  EP_TRY(wide_sweep(&c, 1, work, s, z, measure_race, &g, run));
  double all = INFINITY;
  for (ptrdiff_t i = 0; i < c.count; i++) {
    least[i] = claim_least(&c, i);
    all = fmin(all, least[i]);
  }
  r->pass = all > 1 && claim_whole(&c);
  EP_TRY(ep_claim_measure_all(r, "widths", c.x, c.count));
  EP_TRY(ep_claim_measure_all(r, "least_ratio_of_W_to_C", least, c.count));
  EP_TRY(ep_claim_measure(r, "least_ratio", all));
  return wide_say(r, s, z);
}

ep_status wide_fig4m(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const wide_setting s = {
      .data = wide_images(size), .method = "grassmann", .track = "c,weights", .rate = 1};
  ep_work work = {0};
  const ep_status st = fig4m(r, &work, &s, &pca_sizes[size], run);
  ep_work_free(&work);
  return st;
}

/* ---- Fig. 4 right: PCA of C(0) and PCA of the trained C give one representation */

static ep_status measure_representation(double *out, wide_fit *f, bool first_seed, void *user) {
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->model), &f->points, f->setup,
                            f->info.epochs};
  ep_measured m;
  (void)first_seed;
  (void)user;
  EP_TRY(ep_bound_measure(&m, EP_BOUND_REPRESENTATION, &run));
  out[0] = m.value;
  return EP_OK;
}

ep_status wide_fig4r(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_words words = {
      "difference", "PCA of C(0) and of the trained C",
      "The largest difference of the two representations after the best rotation falls with width, "
      "with the range over seeds.",
      "largest difference of a point"};
  const wide_setting s = {.data = wide_images(size), .method = "grassmann", .rate = 1};
  ep_power_law law;
  EP_TRY(
      wide_law_check(&law, &r->pass, r, &words, measure_representation, &s, &pca_sizes[size], run));
  EP_TRY(ep_claim_note(r,
                       "Largest over points of |O'u_T(x) - u_0(x)|, O the rotation that brings "
                       "the one basis closest to the other."));
  return wide_say(r, &s, &pca_sizes[size]);
}

/* ---- Fig. 5 right: linear probes */

/* what is beside training (first): name, method, share of the epochs (0: the paper's five iterations), judged */
enum { METHODS = 5 };
static const struct {
  const char *name, *method;
  double epochs;
  bool judged; /* the others are shown beside them */
} methods[METHODS] = {{"grassmann", "grassmann", 1, true},
                      {"pca", "pca", 1, true},
                      {"iterate", "iterate", 0, true},
                      {"gd", "gd", 1, false},
                      {"grassmann_a_tenth", "grassmann", 0.1, false}};

typedef struct {
  ep_dataset train, test;
} labelled;

static ep_status load_part(ep_dataset *set, const wide_fit *f, const char *part, long samples) {
  ep_data_config data = f->setup->data;
  snprintf(data.data, sizeof data.data, "%.500s%s", f->setup->data.data, part);
  data.samples = samples;
  EP_TRY(ep_dataset_load(set, &data, &f->setup->run));
  ep_scale_to_unit(&set->X);
  return EP_OK;
}

static ep_status probe(double *accuracy, const wide_fit *f, const ep_model *m, const labelled *l) {
  ep_mat A = {0}, B = {0};
  ep_probe_config config;
  ep_probe_result result = {0};
  ep_options_default(ep_probe_options, &config);
  ep_status st = wide_embed(&A, m, &l->train.X);
  if (!st) st = wide_embed(&B, m, &l->test.X);
  const ep_labelled train = {&A, l->train.labels}, test = {&B, l->test.labels};
  if (!st) st = ep_probe_run(&result, "linear", &train, &test, &config, &f->setup->run);
  *accuracy = result.accuracy;
  ep_probe_result_free(&result);
  ep_mat_free(&A);
  ep_mat_free(&B);
  return st;
}

static ep_status all_accuracies(double *out, const wide_fit *f, const labelled *l) {
  EP_TRY(probe(&out[0], f, f->model, l));
  for (int k = 1; k < METHODS; k++) {
    ep_model *m = NULL;
    ep_fit_info info = {0};
    const double share = methods[k].epochs * (double)f->setup->fit.epochs;
    ep_status st = wide_fit_again(&m, &info, f, methods[k].method, share > 0 ? (long)share : 5);
    if (!st) st = probe(&out[k], f, m, l);
    ep_model_free(m);
    ep_fit_info_free(&info);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status measure_accuracy(double *out, wide_fit *f, bool first_seed, void *user) {
  labelled l = {0};
  (void)first_seed;
  (void)user;
  ep_status st = load_part(&l.train, f, "", f->setup->data.samples);
  if (!st) st = load_part(&l.test, f, ":test", 0);
  if (!st) st = all_accuracies(out, f, &l);
  ep_dataset_free(&l.train);
  ep_dataset_free(&l.test);
  return st;
}

static double mean_of(const claim_curve *c, ptrdiff_t i) {
  double sum = 0;
  for (int k = 0; k < c->runs; k++) sum += *claim_at(c, i, k) / c->runs;
  return sum;
}

/* iterate less pca at one width, mean over seeds, and its standard error */
static double gain_at(double *error, const claim_curve *c, ptrdiff_t i) {
  double mean = 0, square = 0;
  const double n = c->runs;
  for (int k = 0; k < c->runs; k++) {
    const double d = *claim_at(&c[2], i, k) - *claim_at(&c[1], i, k);
    mean += d / n, square += d * d / n;
  }
  *error = sqrt(fmax(square - mean * mean, 0) / fmax(n - 1, 1));
  return mean;
}

static ep_status say_gains(ep_claim_result *r, const claim_curve *c) {
  double error;
  const double gain = gain_at(&error, c, 0);
  return ep_claim_found(r,
                        "At the least width five iterations %s: %+.4f in accuracy (%.4f to %.4f).",
                        gain - 2 * error > 0   ? "help"
                        : gain + 2 * error < 0 ? "hurt"
                                               : "neither help nor hurt",
                        gain, gain - 2 * error, gain + 2 * error);
}

static ep_status gain(ep_claim_result *r, const claim_curve *c, ptrdiff_t i) {
  char name[64];
  double error;
  const double mean = gain_at(&error, c, i);
  snprintf(name, sizeof name, "gain_of_iterating_at_%.0f", c->x[i]);
  EP_TRY(ep_claim_measure(r, name, mean));
  snprintf(name, sizeof name, "gain_of_iterating_at_%.0f_low", c->x[i]);
  EP_TRY(ep_claim_measure(r, name, mean - 2 * error));
  snprintf(name, sizeof name, "gain_of_iterating_at_%.0f_high", c->x[i]);
  return ep_claim_measure(r, name, mean + 2 * error);
}

static ep_status fig5r(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  claim_curve c[METHODS];
  json_t *figure;
  EP_TRY(wide_sweep(c, METHODS, work, s, z, measure_accuracy, NULL, run));
  EP_TRY(claim_figure(&figure, r, "accuracy", EP_FIGURE_LINE, "Linear probe on test points",
                      "Accuracy of training, PCA of C(0) and five iterations against width, with "
                      "the range over seeds.",
                      (ep_axis){"width M", true}, (ep_axis){"test accuracy", false}));
  const ptrdiff_t last = c[0].count - 1;
  double least[WIDE_WIDTHS], most[WIDE_WIDTHS], spread[WIDE_WIDTHS];
  for (ptrdiff_t i = 0; i <= last; i++) least[i] = 1, most[i] = 0;
  EP_TRY(ep_claim_measure_all(r, "widths", c[0].x, c[0].count));
  for (int k = 0; k < METHODS; k++) {
    char name[64];
    double mean[WIDE_WIDTHS];
    EP_TRY(claim_draw(figure, methods[k].name, NULL, &c[k], false));
    for (ptrdiff_t i = 0; i <= last; i++) mean[i] = mean_of(&c[k], i);
    snprintf(name, sizeof name, "accuracy_%s", methods[k].name);
    EP_TRY(ep_claim_measure_all(r, name, mean, last + 1));
    for (ptrdiff_t i = 0; methods[k].judged && i <= last; i++) {
      least[i] = fmin(least[i], mean[i]), most[i] = fmax(most[i], mean[i]);
      spread[i] = most[i] - least[i];
    }
  }
  EP_TRY(ep_claim_measure_all(r, "spread", spread, last + 1));
  EP_TRY(ep_claim_measure(r, "spread_at_largest_width", spread[last]));
  for (ptrdiff_t i = 0; i <= last; i++) EP_TRY(gain(r, c, i));
  r->pass = spread[last] <= 0.03 && least[last] > 0.5;
  EP_TRY(ep_claim_note(r,
                       "Multinomial logistic regression on the anchors' outputs, judged on the "
                       "test part. Gains of iterating over PCA are means over seeds with two "
                       "standard errors; that they help at small widths is reported, not "
                       "required."));
  EP_TRY(say_gains(r, c));
  EP_TRY(
      ep_claim_found(r,
                     "Training after a tenth of the epochs reaches %.3f at the largest width, at "
                     "the end %.3f, PCA of C(0) %.3f.",
                     mean_of(&c[4], last), mean_of(&c[0], last), mean_of(&c[1], last)));
  EP_TRY(ep_claim_found(r,
                        "Plain descent, whose output layer is not held orthogonal, probes at %.3f.",
                        mean_of(&c[3], last)));
  return wide_say(r, s, z);
}

ep_status wide_fig5r(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{100, 500, 3, 3, {30, 100, 300}},
                                    {500, 500, 5, 4, {30, 100, 300, 1000}},
                                    {1000, 500, 5, 5, {30, 100, 300, 1000, 3000}}};
  const wide_setting s = {.data = wide_images(size), .method = "grassmann", .rate = 1};
  ep_work work = {0};
  const ep_status st = fig5r(r, &work, &s, &sizes[size], run);
  ep_work_free(&work);
  return st;
}
