/* WIDE Fig. 5 right: linear probes on PCA of C(0), on training, and on a few iterations of PCA and a step of V. */
#include "study/wide.h"

#include <eigenpair/probe.h>
#include <math.h>
#include <string.h>

/* The anchors; 1,000 points more of the training part, to choose by; the test part. */
enum { HELD_OUT, TEST, JUDGED, TRAIN = JUDGED, PARTS };
typedef struct {
  ep_dataset training, test;
  ep_labelled part[PARTS];
  ep_mat X[PARTS]; /* views */
} labelled;

static ep_status load_part(ep_dataset *set, const wide_fit *f, const char *part, long samples) {
  ep_data_config data = f->setup->data;
  snprintf(data.data, sizeof data.data, "%.500s%s", f->setup->data.data, part);
  data.samples = samples;
  EP_TRY(ep_dataset_load(NULL, set, &data, &f->setup->run));
  ep_scale_to_unit(&set->X);
  return EP_OK;
}

/* the anchors are the first points of a permutation of the training part: with more points they are the same */
static ep_status load_parts(labelled *l, const wide_fit *f) {
  const long n = f->setup->data.samples, held = 1000;
  EP_TRY(load_part(&l->training, f, "", n + held));
  EP_TRY(load_part(&l->test, f, ":test", 0));
  l->X[TRAIN] = ep_mat_rows(&l->training.X, 0, n);
  l->X[HELD_OUT] = ep_mat_rows(&l->training.X, n, held);
  l->X[TEST] = l->test.X;
  l->part[TRAIN].labels = l->training.labels;
  l->part[HELD_OUT].labels = l->training.labels + n;
  l->part[TEST].labels = l->test.labels;
  return EP_OK;
}

/* accuracy[JUDGED] of a linear classifier on the anchors' outputs */
static ep_status judge(double *accuracy, const wide_fit *f, labelled *l) {
  ep_probe_config config;
  ep_options_default(ep_probe_options, &config);
  for (int k = 0; k < JUDGED; k++) {
    ep_probe_result result = {0};
    EP_TRY(ep_probe_run(NULL, &result, "linear", &l->part[TRAIN], &l->part[k], &config,
                        &f->setup->run));
    accuracy[k] = result.accuracy;
    ep_probe_result_free(&result);
  }
  return EP_OK;
}

static ep_status probe(double *accuracy, const wide_fit *f, const ep_model *m, labelled *l) {
  ep_mat E[PARTS] = {{0}};
  ep_status st = EP_OK;
  for (int k = 0; !st && k < PARTS; k++) {
    st = wide_embed(&E[k], m, &l->X[k]);
    l->part[k].X = &E[k];
  }
  if (!st) st = judge(accuracy, f, l);
  for (int k = 0; k < PARTS; k++) ep_mat_free(&E[k]);
  return st;
}

/* The same of another method from the same points and start. */
static ep_status probe_again(double *accuracy, const wide_fit *f, const char *method, long epochs,
                             labelled *l) {
  ep_model *m = NULL;
  ep_fit_info info = {0};
  ep_status st = wide_fit_again(&m, &info, f, method, epochs);
  if (!st) st = probe(accuracy, f, m, l);
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

static ep_status with_labels(double *out, wide_fit *f,
                             ep_status (*measure)(double *, wide_fit *, labelled *)) {
  labelled l = {0};
  ep_status st = load_parts(&l, f);
  if (!st) st = measure(out, f, &l);
  ep_dataset_free(&l.training);
  ep_dataset_free(&l.test);
  return st;
}

static double mean_of(const claim_curve *c, ptrdiff_t i) {
  double sum = 0;
  for (int k = 0; k < c->runs; k++) sum += *claim_at(c, i, k) / c->runs;
  return sum;
}

/* ---- training beside PCA of C(0) */

enum { TRAINED, TRAINED_A_TENTH, PCA, DESCENT, METHODS };
static const char *const method_names[METHODS] = {"grassmann", "grassmann_a_tenth", "pca", "gd"};

static ep_status training_accuracies(double *out, wide_fit *f, labelled *l) {
  double part[JUDGED];
  const long epochs = f->setup->fit.epochs;
  EP_TRY(probe(part, f, f->model, l));
  out[TRAINED] = part[TEST];
  EP_TRY(probe_again(part, f, "grassmann", epochs / 10, l));
  out[TRAINED_A_TENTH] = part[TEST];
  EP_TRY(probe_again(part, f, "pca", 0, l));
  out[PCA] = part[TEST];
  EP_TRY(probe_again(part, f, "gd", epochs, l));
  out[DESCENT] = part[TEST];
  return EP_OK;
}

static ep_status measure_training(double *out, wide_fit *f, bool first_seed, void *user) {
  (void)first_seed;
  (void)user;
  return with_labels(out, f, training_accuracies);
}

/* ---- five iterations, at several rates */

enum { RATES = 5, STEPS = 5, MOST_SEEDS = 64, ITERATED = JUDGED * (RATES + 1) }; /* PCA first */
static const double rates[RATES] = {1, 3, 10, 30, 100};

static ep_status iterated_accuracies(double *out, wide_fit *f, labelled *l) {
  EP_TRY(probe(out, f, f->model, l));
  for (int k = 0; k < RATES; k++) {
    f->setup->fit.rate = rates[k];
    EP_TRY(probe_again(&out[JUDGED * (k + 1)], f, "iterate", STEPS, l));
  }
  return EP_OK;
}

static ep_status measure_iterating(double *out, wide_fit *f, bool first_seed, void *user) {
  (void)first_seed;
  (void)user;
  return with_labels(out, f, iterated_accuracies);
}

/* what it gains over PCA of C(0) on a part: mean over seeds with its 95 % interval */
typedef struct {
  double mean, low, high;
} gain;

static double gain_in(const claim_curve *c, int part, ptrdiff_t width, int rate, int run) {
  return *claim_at(&c[JUDGED * (rate + 1) + part], width, run) - *claim_at(&c[part], width, run);
}

static gain gain_of(const claim_curve *c, int part, ptrdiff_t width, int rate) {
  double d[MOST_SEEDS];
  gain g;
  for (int k = 0; k < c->runs; k++) d[k] = gain_in(c, part, width, rate, k);
  ep_mean_interval(&g.mean, &g.low, &g.high, d, c->runs);
  return g;
}

/* the gain at the least width less that at the largest, seed by seed */
static gain excess(const claim_curve *c, const int rate[2]) {
  double d[MOST_SEEDS];
  gain g;
  for (int k = 0; k < c->runs; k++)
    d[k] = gain_in(c, TEST, 0, rate[0], k) - gain_in(c, TEST, c->count - 1, rate[1], k);
  ep_mean_interval(&g.mean, &g.low, &g.high, d, c->runs);
  return g;
}

/* the rate that gains most on the held-out points */
static int chosen(const claim_curve *c, ptrdiff_t width) {
  int best = 0;
  for (int k = 1; k < RATES; k++)
    if (gain_of(c, HELD_OUT, width, k).mean > gain_of(c, HELD_OUT, width, best).mean) best = k;
  return best;
}

static ep_status draw_gain(json_t *figure, const char *name, const claim_curve *c,
                           const gain g[WIDE_WIDTHS], bool dashed) {
  double y[3][WIDE_WIDTHS];
  for (ptrdiff_t i = 0; i < c->count; i++)
    y[0][i] = g[i].mean, y[1][i] = g[i].low, y[2][i] = g[i].high;
  return ep_figure_add(figure, &(ep_series){.name = name,
                                            .count = c->count,
                                            .x = c->x,
                                            .y = y[0],
                                            .low = y[1],
                                            .high = y[2],
                                            .dashed = dashed});
}

/* the gains at each rate and at the chosen one, and what iterating reaches there */
static ep_status gains(gain best[WIDE_WIDTHS], gain control[WIDE_WIDTHS], ep_claim_result *r,
                       const claim_curve *c) {
  json_t *figure;
  double rate[WIDE_WIDTHS], mean[3][WIDE_WIDTHS], reached[WIDE_WIDTHS];
  gain g[WIDE_WIDTHS];
  char name[64];
  EP_TRY(claim_figure(&figure, r, "gain", EP_FIGURE_LINE, "What five iterations gain",
                      "Test accuracy of five iterations less that of PCA of C(0) against width, "
                      "mean over seeds with its 95 % interval, for several rates.",
                      (ep_axis){"width M", .log = true},
                      (ep_axis){"gain in accuracy", .log = false}));
  for (int k = 0; k < RATES; k++) {
    for (ptrdiff_t i = 0; i < c->count; i++) g[i] = gain_of(c, TEST, i, k), mean[0][i] = g[i].mean;
    snprintf(name, sizeof name, "gain_at_rate_%g", rates[k]);
    EP_TRY(ep_claim_measure_all(r, name, mean[0], c->count));
    snprintf(name, sizeof name, "rate %g", rates[k]);
    EP_TRY(draw_gain(figure, name, c, g, false));
  }
  for (ptrdiff_t i = 0; i < c->count; i++) {
    const int k = chosen(c, i);
    rate[i] = rates[k];
    control[i] = gain_of(c, TEST, i, 0);
    best[i] = gain_of(c, TEST, i, k);
    reached[i] = mean_of(&c[JUDGED * (k + 1) + TEST], i);
    mean[0][i] = best[i].mean, mean[1][i] = best[i].low, mean[2][i] = best[i].high;
  }
  EP_TRY(ep_claim_measure_all(r, "chosen_rate", rate, c->count));
  EP_TRY(ep_claim_measure_all(r, "accuracy_iterate", reached, c->count));
  EP_TRY(ep_claim_measure_all(r, "gain", mean[0], c->count));
  EP_TRY(ep_claim_measure_all(r, "gain_from", mean[1], c->count));
  EP_TRY(ep_claim_measure_all(r, "gain_to", mean[2], c->count));
  return ep_claim_found(r,
                        "Five iterations gain %+.1f points (%+.1f to %+.1f) at width %.0f with "
                        "rate %g, %+.1f (%+.1f to %+.1f) at width %.0f; at rate 1 %+.1f (%+.1f to "
                        "%+.1f) at the least width.",
                        100 * best[0].mean, 100 * best[0].low, 100 * best[0].high, c->x[0], rate[0],
                        100 * best[c->count - 1].mean, 100 * best[c->count - 1].low,
                        100 * best[c->count - 1].high, c->x[c->count - 1], 100 * control[0].mean,
                        100 * control[0].low, 100 * control[0].high);
}

/* ---- both */

/* iterating at the chosen rates, and PCA of C(0) of the same anchors where they are not those of training */
static ep_status draw_iterating(json_t *figure, ep_work *work, const claim_curve *c, long anchors,
                                bool others) {
  claim_curve best;
  char name[64] = "iterate";
  EP_TRY(claim_curve_new(&best, work, c->count, c->runs));
  for (ptrdiff_t i = 0; i < c->count; i++) {
    const claim_curve *at = &c[JUDGED * (chosen(c, i) + 1) + TEST];
    best.x[i] = at->x[i];
    memcpy(claim_at(&best, i, 0), claim_at(at, i, 0), (size_t)best.runs * sizeof *best.all);
  }
  if (others) snprintf(name, sizeof name, "iterate, %ld anchors", anchors);
  EP_TRY(claim_draw(figure, name, NULL, &best, false));
  snprintf(name, sizeof name, "pca, %ld anchors", anchors);
  return others ? claim_draw(figure, name, NULL, &c[TEST], true) : EP_OK;
}

static ep_status accuracies(double *spread, double *least, json_t **figure, ep_claim_result *r,
                            const claim_curve *training) {
  char name[64];
  const ptrdiff_t n = training->count;
  double mean[WIDE_WIDTHS], top = 0;
  EP_TRY(claim_figure(figure, r, "accuracy", EP_FIGURE_LINE, "Linear probe on test points",
                      "Accuracy of training, PCA of C(0) and five iterations at the chosen rate "
                      "against width, with the range over seeds.",
                      (ep_axis){"width M", .log = true}, (ep_axis){"test accuracy", .log = false}));
  *least = 1;
  for (int k = 0; k < METHODS; k++) {
    for (ptrdiff_t i = 0; i < n; i++) mean[i] = mean_of(&training[k], i);
    snprintf(name, sizeof name, "accuracy_%s", method_names[k]);
    EP_TRY(ep_claim_measure_all(r, name, mean, n));
    EP_TRY(claim_draw(*figure, method_names[k], NULL, &training[k], k == DESCENT));
    if (k == TRAINED || k == PCA) *least = fmin(*least, mean[n - 1]), top = fmax(top, mean[n - 1]);
  }
  *spread = top - *least;
  return ep_claim_measure(r, "spread_at_largest_width", *spread);
}

static ep_status fig5r(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const wide_size *more, const ep_run_config *run) {
  wide_setting pca = *s;
  claim_curve training[METHODS], iterating[ITERATED];
  gain best[WIDE_WIDTHS], control[WIDE_WIDTHS];
  double spread, least;
  pca.method = "pca";
  EP_TRY(wide_sweep(training, METHODS, work, s, z, measure_training, NULL, run));
  EP_TRY(wide_sweep(iterating, ITERATED, work, &pca, more, measure_iterating, NULL, run));
  EP_TRY(ep_claim_measure_all(r, "widths", training->x, training->count));
  EP_TRY(gains(best, control, r, iterating));
  json_t *figure;
  EP_TRY(accuracies(&spread, &least, &figure, r, training));
  EP_TRY(draw_iterating(figure, work, iterating, more->anchors, more->anchors != z->anchors));
  const ptrdiff_t last = training->count - 1;
  EP_TRY(ep_claim_measure_within(r, "control_gain_at_least_width", control[0].mean, control[0].low,
                                 control[0].high));
  const gain more_than = excess(iterating, (int[]){chosen(iterating, 0), chosen(iterating, last)});
  EP_TRY(ep_claim_measure_within(r, "excess_at_least_width", more_than.mean, more_than.low,
                                 more_than.high));
  r->pass = spread <= 0.03 && least > 0.4 && fabs(best[last].mean) <= 0.03 && best[0].low > 0 &&
            more_than.low > 0 && control[0].high < best[0].low;
  EP_TRY(ep_claim_found(r,
                        "Training after a tenth of the epochs reaches %.3f at the largest width, "
                        "at the end %.3f, PCA of C(0) %.3f; plain descent, whose output layer is "
                        "not held orthogonal, %.3f.",
                        mean_of(&training[TRAINED_A_TENTH], last),
                        mean_of(&training[TRAINED], last), mean_of(&training[PCA], last),
                        mean_of(&training[DESCENT], last)));
  char text[400];
  snprintf(text, sizeof text,
           "Multinomial logistic regression on the anchors' outputs. Iterating: %d steps, %ld "
           "anchors, %d seeds at each width, rates 1, 3, 10, 30, 100 (the paper gives none), the "
           "one that gains most "
           "on 1,000 held-out points of the training part; all accuracies are of the test part.",
           STEPS, more->anchors, more->seeds);
  EP_TRY(ep_claim_note(r, text));
  return wide_say(r, s, z);
}

ep_status wide_fig5r(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size training[] = {{100, 300, 2, 2, {20, 200}},
                                       {1000, 500, 3, 4, {30, 100, 300, 1000}},
                                       {1000, 500, 5, 6, {30, 100, 300, 1000, 3000, 10000}}};
  static const wide_size iterating[] = {{1000, 0, 16, 2, {20, 200}},
                                        {1000, 0, 20, 4, {30, 100, 300, 1000}},
                                        {1000, 0, 20, 6, {30, 100, 300, 1000, 3000, 10000}}};
  const wide_setting s = {.data = wide_images(size), .method = "grassmann", .rate = 1};
  ep_work work = {0};
  const ep_status st = fig5r(r, &work, &s, &training[size], &iterating[size], run);
  ep_work_free(&work);
  return st;
}
