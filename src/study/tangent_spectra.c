/* TANGENT's claims on what the spectrum of a kernel says: the test error, of regression and of networks (Simon). */
#include "study/tangent_claims.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tangent-predict */

typedef struct {
  double n[TANGENT_MOST], predicted[TANGENT_MOST], measured[TANGENT_MOST], error[TANGENT_MOST],
      median[TANGENT_MOST];    /* test error */
  double learnt[TANGENT_MOST]; /* learnability predicted less measured */
  int count;
} predict_table;

static const int predict_degrees[] = {1, 2};
static const ep_target predict_target = {.degree = predict_degrees, .degrees = 2};

static ep_status predict_error(double *mse, double *learnability, ep_work *work, const ep_domain *d,
                               int n) {
  double *power;
  ep_prediction p;
  EP_TRY(ep_work_get(work, &power, ep_domain_spectrum(d)->levels, sizeof *power));
  EP_TRY(ep_domain_power(power, d, &predict_target));
  EP_TRY(ep_learn_predict(&p, NULL, ep_domain_spectrum(d), power, &(ep_training_set){.train = n}));
  *mse = p.mse;
  *learnability = p.learnability;
  return EP_OK;
}

static ep_status predict_domain(predict_table *t, ep_work *work, ep_domain_kind kind,
                                ptrdiff_t size, int depth, int sets, const ep_run_config *run) {
  ep_domain_kernel k;
  ep_domain *d;
  EP_TRY(tangent_kernel(&k, "relu", depth, 0));
  EP_TRY(ep_domain_new(&d, kind, size, &k));
  ep_status st = EP_OK;
  for (int n = 32; !st && n <= 128; n *= 2) {
    const int i = t->count++;
    ep_measurement m = {0};
    double learnability = NAN;
    st = predict_error(&t->predicted[i], &learnability, work, d, n);
    if (!st)
      st = ep_domain_measure(&m, NULL, d, &predict_target, &(ep_training_set){.train = n}, sets,
                             (uint64_t)run->seed, tangent_memory);
    t->n[i] = n, t->measured[i] = m.mse.mean, t->error[i] = m.mse.error,
    t->median[i] = m.mse.median;
    t->learnt[i] = learnability - m.learnability.mean;
  }
  ep_domain_free(d);
  return st;
}

/* Errors over all points of the domain, the first n of them the training set, all without the function of the start. */
typedef struct {
  double network; /* trained until the linear model would have nothing left */
  double linear;  /* its linearisation at the end of time: regression with its own kernel */
  double limit;   /* regression with the kernel of infinite width */
} three_errors;

/* regression with K of all points and the first n */
static ep_status regression_error(double *mse, ep_work *work, const ep_mat *K, const ep_mat *F,
                                  int n) {
  const ep_mat KD = ep_mat_rows(K, 0, n), Y = ep_mat_rows(F, 0, n);
  ep_mat C, H;
  ep_squared *s;
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, n, 1));
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, F->rows, 1));
  EP_TRY(ep_squared_new(&s, &KD));
  const ep_status st = ep_squared_ridge(&C, s, &Y, 0);
  ep_squared_free(s);
  EP_TRY(st);
  ep_mat_mul(&H, 1, K, EP_N, &C, EP_N, 0);
  *mse = ep_mat_distance2(&H, F) / (double)F->rows;
  return EP_OK;
}

static ep_status network_errors(three_errors *e, ep_work *work, const ep_mat *all, const ep_mat *F,
                                int n, long width, uint64_t seed) {
  const ep_net_config c = tangent_network("relu", width, 1);
  const ep_mat X = ep_mat_rows(all, 0, n), Y = ep_mat_rows(F, 0, n);
  ep_domain_kernel limit;
  ep_supervised *net;
  ep_squared *s = NULL;
  ep_mat K, H;
  double loss;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, all->rows, n));
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, F->rows, 1));
  EP_TRY(tangent_kernel(&limit, "relu", 1, 0));
  EP_TRY(ep_analytic_kernel(NULL, &K, &limit.network, EP_NTK, all, &X));
  EP_TRY(regression_error(&e->limit, work, &K, F, n));
  EP_TRY(ep_supervised_new(&net, &c, &X, &Y, true, seed));
  ep_status st =
      ep_ntk_empirical(NULL, &K, ep_supervised_net(net), all, &X, EP_TRACE, tangent_memory);
  if (!st) st = regression_error(&e->linear, work, &K, F, n);
  const ep_mat KD = ep_mat_rows(&K, 0, n);
  if (!st) st = ep_squared_new(&s, &KD);
  if (!st) st = ep_supervised_steps(&loss, net, 0.9 * ep_squared_critical_rate(s), 800, INFINITY);
  if (!st) st = ep_supervised_outputs(&H, net, all);
  ep_squared_free(s);
  ep_supervised_free(net);
  e->network = st ? NAN : ep_mat_distance2(&H, F) / (double)F->rows;
  return st;
}

/* the points of a domain in a random order, and the target there */
static ep_status shuffled(ep_work *work, ep_mat *all, ep_mat *F, const ep_domain *d,
                          const ep_target *target, uint64_t seed, int i) {
  const ptrdiff_t M = (ptrdiff_t)ep_domain_spectrum(d)->size;
  ptrdiff_t *order;
  ep_random random = ep_random_new(seed, EP_STREAM_BATCH, (uint32_t)i);
  EP_TRY(ep_work_get(work, &order, M, sizeof *order));
  EP_TRY(ep_work_mat(work, all, EP_DOUBLE, M, ep_domain_dimension(d)));
  EP_TRY(ep_work_mat(work, F, EP_DOUBLE, M, 1));
  ep_random_permutation(&random, order, M);
  EP_TRY(ep_domain_points(all, d, order, 0, 0));
  return ep_domain_values(F, d, target, all);
}

/* Networks of one hidden layer on the cube against the prediction from their kernel's spectrum: mean error over predicted
 * error. What scatters most is how hard a training set is, for the network and for kernel regression alike; so the mean
 * over networks is that over regressions on the same sets, times what regression's mean over many sets is of the prediction. */
static ep_status predict_networks(double *ratio, double *error, ep_work *work, const ep_domain *d,
                                  const ep_mean *regression, int n, long width, int runs,
                                  const ep_run_config *run) {
  double predicted, unused, *network, *limit, means[2] = {0}, rest = 0;
  EP_TRY(ep_work_get(work, &network, runs, sizeof *network));
  EP_TRY(ep_work_get(work, &limit, runs, sizeof *limit));
  EP_TRY(predict_error(&predicted, &unused, work, d, n));
  for (int i = 0; i < runs; i++) {
    ep_mat all, F;
    three_errors e;
    EP_TRY(ep_run_step("networks", i, runs));
    EP_TRY(shuffled(work, &all, &F, d, &predict_target, (uint64_t)run->seed, i));
    EP_TRY(network_errors(&e, work, &all, &F, n, width, (uint64_t)(run->seed + i)));
    network[i] = e.network, limit[i] = e.limit;
    means[0] += e.network / runs, means[1] += e.limit / runs;
  }
  const double beside = means[0] / means[1], known = regression->mean / predicted;
  for (int i = 0; i < runs; i++) rest += pow((network[i] - beside * limit[i]) / means[1], 2);
  *ratio = beside * known;
  *error = hypot(known * sqrt(rest / (runs - 1) / runs), beside * regression->error / predicted);
  return EP_OK;
}

/* within 15 % at the largest width; at 20, the control, not */
static ep_status check_networks(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  enum { WIDTHS = 4, N = 32, SETS = 1000 };
  static const double widths[WIDTHS] = {20, 64, 256, 1024};
  const int runs = claim_pick(size, 20, 60, 200);
  ep_domain_kernel k;
  ep_domain *d;
  EP_TRY(tangent_kernel(&k, "relu", 1, 0));
  EP_TRY(ep_domain_new(&d, EP_CUBE, 8, &k));
  double ratio[WIDTHS], error[WIDTHS], low[WIDTHS], high[WIDTHS];
  ep_measurement m = {0};
  ep_status st = ep_domain_measure(&m, NULL, d, &predict_target, &(ep_training_set){.train = N},
                                   SETS, (uint64_t)run->seed, tangent_memory);
  for (int i = 0; i < WIDTHS && !st; i++) {
    ep_work work = {0};
    st = predict_networks(&ratio[i], &error[i], &work, d, &m.mse, N, (long)widths[i], runs, run);
    ep_work_free(&work);
    low[i] = ratio[i] - 2 * error[i], high[i] = ratio[i] + 2 * error[i];
  }
  ep_domain_free(d);
  EP_TRY(st);
  r->pass = r->pass && fabs(ratio[3] - 1) <= 0.15 && fabs(ratio[0] - 1) > 0.15;
  EP_TRY(ep_claim_measure_all(r, "widths of networks", widths, WIDTHS));
  EP_TRY(ep_claim_measure_all(r, "networks_over_predicted", ratio, WIDTHS));
  EP_TRY(ep_claim_measure_all(r, "networks_standard_errors", error, WIDTHS));
  json_t *f;
  EP_TRY(claim_figure(&f, r, "networks", EP_FIGURE_LINE, "Networks and the prediction",
                      "Test error of trained networks over the prediction against width; bars are "
                      "two standard errors.",
                      (ep_axis){"width M", .log = true},
                      (ep_axis){"test error / prediction", .log = false}));
  EP_TRY(ep_figure_add(
      f,
      &(ep_series){
          .name = "networks", .count = WIDTHS, .x = widths, .y = ratio, .low = low, .high = high}));
  EP_TRY(ep_figure_rule(f, 'y', 1, "prediction"));
  int from = WIDTHS; /* all from there on are within 15 % */
  while (from > 0 && fabs(ratio[from - 1] - 1) <= 0.15) from--;
  char within[64] = "";
  if (from < WIDTHS)
    snprintf(within, sizeof within, ", within 15 %% of it from width %.0f on", widths[from]);
  return ep_claim_found(r,
                        "Networks of width 20 have %.2f of the predicted error, of 64 %.2f, of 256 "
                        "%.2f, of 1,024 %.2f%s.",
                        ratio[0], ratio[1], ratio[2], ratio[3], within);
}

static ep_status predict_figure(ep_claim_result *r, const char *name, const predict_table *t) {
  char text[64], alt[200];
  json_t *f;
  double low[TANGENT_MOST], high[TANGENT_MOST];
  for (int i = 0; i < t->count; i++) {
    low[i] = t->measured[i] - t->error[i];
    high[i] = t->measured[i] + t->error[i];
  }
  snprintf(text, sizeof text, "predict-%s", name);
  snprintf(alt, sizeof alt,
           "Test error of kernel regression on the %s against n, mean with its standard error and "
           "median, and as predicted from the spectrum.",
           name);
  EP_TRY(ep_figure_new(&f, text, EP_FIGURE_LINE, "Test error against training points", alt,
                       (ep_axis){"training points n", .log = true},
                       (ep_axis){"test error", .log = true}));
  ep_status st = tangent_line(f, "predicted", t->n, t->predicted, t->count, true);
  const ep_series bars = {
      "kernel regression", NULL, t->count, t->n, t->measured, low, high, NULL, false};
  if (!st) st = ep_figure_add(f, &bars);
  if (!st) st = tangent_line(f, "kernel regression, median", t->n, t->median, t->count, false);
  return tangent_figure(r, f, st);
}

ep_status tangent_predict(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const struct {
    const char *name;
    ep_domain_kind kind;
    ptrdiff_t size;
    int depth;
    bool judged;
  } domains[] = {{"cube", EP_CUBE, 8, 2, true},
                 {"sphere", EP_SPHERE, 8, 2, true},
                 {"circle", EP_CIRCLE, 256, 2, false},
                 {"cube-one-layer", EP_CUBE, 8, 1, false}};
  double circle = NAN, learnt = 0, worst[4]; /* predicted over measured, farthest from 1 */
  const int sets = size == EP_CLAIM_QUICK ? 60 : 400, judged = 400;
  r->pass = true;
  for (int i = 0; i < 4; i++) {
    predict_table t = {0};
    ep_work work = {0};
    char name[64];
    const ep_status st = predict_domain(&t, &work, domains[i].kind, domains[i].size,
                                        domains[i].depth, domains[i].judged ? judged : sets, run);
    ep_work_free(&work);
    EP_TRY(st);
    double ratio[TANGENT_MOST];
    for (int j = 0; j < t.count; j++) {
      ratio[j] = t.predicted[j] / t.measured[j];
      if (domains[i].judged) r->pass = r->pass && fabs(ratio[j] - 1) <= 0.1;
      if (i < 3) r->pass = r->pass && fabs(t.learnt[j]) <= 0.05; /* the circle too */
      if (i == 2) learnt = fmax(learnt, fabs(t.learnt[j]));
    }
    if (i == 2) circle = t.predicted[0] / t.median[0];
    worst[i] = ratio[0];
    for (int j = 1; j < t.count; j++)
      if (fabs(log(ratio[j])) > fabs(log(worst[i]))) worst[i] = ratio[j];
    snprintf(name, sizeof name, "learnability_predicted_less_measured_%s", domains[i].name);
    EP_TRY(ep_claim_measure_all(r, name, t.learnt, t.count));
    snprintf(name, sizeof name, "predicted_over_measured_%s", domains[i].name);
    EP_TRY(ep_claim_measure_all(r, name, ratio, t.count));
    EP_TRY(predict_figure(r, domains[i].name, &t));
  }
  EP_TRY(check_networks(r, size, run));
  EP_TRY(ep_claim_note(
      r,
      "relu, two hidden layers (networks: one, n = 32), targets of degrees 1 and 2, n = 32, 64, "
      "128. The circle's error is reported, not judged, and so is one layer on the cube. Networks "
      "over the prediction: over regression on the same training sets, times regression on 1,000 "
      "sets over the prediction, which scatters less than networks alone."));
  EP_TRY(ep_claim_measure(r, "predicted over the median on the circle, n = 32", circle));
  if (fabs(worst[2] - 1) > 0.1)
    EP_TRY(ep_claim_found(
        r,
        "On the circle the prediction of the error is off: %.2f of the mean at worst, and %.2f of "
        "the median at n = 32; that of the learnability is off by %.4f at most.",
        worst[2], circle, learnt));
  if (fabs(worst[3] - 1) > 0.1)
    EP_TRY(
        ep_claim_found(r,
                       "With one hidden layer and no bias on the cube the prediction is off: %.2f "
                       "of the measured error at worst.",
                       worst[3]));
  return EP_OK;
}

/* ---- tangent-finite */

enum { FINITE_WIDTHS = 3, FINITE_TARGETS = 3, FINITE_RUNS = 100 };
static const double finite_widths[FINITE_WIDTHS] = {20, 128, 1024};

/* mean error over that of the limit on the same training sets, with two standard errors, by width */
typedef struct {
  double ratio[FINITE_WIDTHS], low[FINITE_WIDTHS], high[FINITE_WIDTHS];
} ratio_curve;

/* of means: on some sets the limit has no error at all */
static void ratio_add(ratio_curve *c, int i, const double *error, const double *limit, int runs) {
  double sum = 0, all = 0, squares = 0;
  for (int k = 0; k < runs; k++) sum += error[k], all += limit[k];
  const double ratio = sum / all;
  for (int k = 0; k < runs; k++) squares += pow((error[k] - ratio * limit[k]) * runs / sum, 2);
  const double two = 2 * sqrt(squares / (runs - 1) / runs); /* of the logarithm */
  c->ratio[i] = ratio, c->low[i] = ratio * exp(-two), c->high[i] = ratio * exp(two);
}

/* one target: networks (0) and their linearisations (1) */
static ep_status finite_target(ratio_curve c[2], const ep_domain *d, int degree, int runs,
                               long seed) {
  const ep_target target = {.degree = &degree, .degrees = 1};
  for (int i = 0; i < FINITE_WIDTHS; i++) {
    double error[2][FINITE_RUNS], limit[FINITE_RUNS];
    for (int k = 0; k < runs; k++) {
      ep_work work = {0};
      ep_mat all, F;
      three_errors e;
      ep_status st = ep_run_step("networks", i * runs + k, FINITE_WIDTHS * runs);
      if (!st) st = shuffled(&work, &all, &F, d, &target, (uint64_t)seed, k);
      if (!st)
        st = network_errors(&e, &work, &all, &F, 32, (long)finite_widths[i], (uint64_t)(seed + k));
      ep_work_free(&work);
      EP_TRY(st);
      error[0][k] = e.network, error[1][k] = e.linear, limit[k] = e.limit;
    }
    for (int w = 0; w < 2; w++) ratio_add(&c[w], i, error[w], limit, runs);
  }
  return EP_OK;
}

static ep_status finite_draw(ep_claim_result *r, json_t *figure, int degree,
                             const ratio_curve c[2]) {
  static const char *const names[2] = {"networks", "their linearisations"};
  char panel[32], name[96];
  snprintf(panel, sizeof panel, "target of degree %d", degree);
  for (int w = 0; w < 2; w++) {
    EP_TRY(ep_figure_add(figure, &(ep_series){.name = names[w],
                                              .panel = panel,
                                              .count = FINITE_WIDTHS,
                                              .x = finite_widths,
                                              .y = c[w].ratio,
                                              .low = c[w].low,
                                              .high = c[w].high}));
    snprintf(name, sizeof name, "error over that of the limit, degree %d, %s", degree, names[w]);
    EP_TRY(ep_claim_measure_all(r, name, c[w].ratio, FINITE_WIDTHS));
    snprintf(name, sizeof name, "two standard errors below, degree %d, %s", degree, names[w]);
    EP_TRY(ep_claim_measure_all(r, name, c[w].low, FINITE_WIDTHS));
    snprintf(name, sizeof name, "two standard errors above, degree %d, %s", degree, names[w]);
    EP_TRY(ep_claim_measure_all(r, name, c[w].high, FINITE_WIDTHS));
  }
  return EP_OK;
}

ep_status tangent_finite(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const int degrees[FINITE_TARGETS] = {1, 2, 4};
  const int runs = claim_pick(size, 12, 30, FINITE_RUNS);
  ratio_curve c[FINITE_TARGETS][2];
  ep_domain_kernel k;
  ep_domain *d;
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, "finite", EP_FIGURE_LINE, "Networks against their limit",
                      "Test error of trained networks, and of their linearisations, over that of "
                      "kernel regression at infinite width on the same training sets; below 1 the "
                      "finite network does better. Bars are two standard errors.",
                      (ep_axis){"width M", .log = true},
                      (ep_axis){"error / error of the limit", .log = true}));
  EP_TRY(ep_figure_rule(figure, 'y', 1, "limit"));
  EP_TRY(tangent_kernel(&k, "relu", 1, 0));
  EP_TRY(ep_domain_new(&d, EP_CUBE, 8, &k));
  ep_status st = EP_OK;
  for (int t = 0; !st && t < FINITE_TARGETS; t++) {
    st = finite_target(c[t], d, degrees[t], runs, run->seed);
    if (!st) st = finite_draw(r, figure, degrees[t], c[t]);
  }
  ep_domain_free(d);
  EP_TRY(st);
  int wins = 0, kernels = 0; /* targets at which networks of width 20 win; their linearisations */
  for (int t = 0; t < FINITE_TARGETS; t++) {
    wins += c[t][0].high[0] < 1;
    kernels += c[t][1].high[0] < 1;
  }
  EP_TRY(ep_claim_measure(r, "targets at which networks of width 20 win", wins));
  EP_TRY(ep_claim_measure(r, "control: targets at which their linearisations win", kernels));
  r->pass = kernels == 0 && c[0][1].low[0] > 1;
  EP_TRY(ep_claim_note(r,
                       "relu, one hidden layer, all 256 points of a cube, 32 of them for training, "
                       "the function of the start taken away; the same training sets for network, "
                       "linearisation and limit, ratios of mean errors."));
  EP_TRY(ep_claim_found(
      r,
      "Targets of degree 1, 2, 4 on the cube, networks of width 20 over their limit on the same "
      "sets: %.2f, %.2f, %.2f of its error; their own linearisations %.2f, %.2f, %.2f. Width "
      "1,024: "
      "%.2f, %.2f, %.2f.",
      c[0][0].ratio[0], c[1][0].ratio[0], c[2][0].ratio[0], c[0][1].ratio[0], c[1][1].ratio[0],
      c[2][1].ratio[0], c[0][0].ratio[2], c[1][0].ratio[2], c[2][0].ratio[2]));
  if (wins == 0)
    return ep_claim_found(r,
                          "Networks of width 20 do better than their limit nowhere here, by two "
                          "standard errors.");
  return ep_claim_found(r,
                        "Networks of width 20 do better than their limit by two standard errors at "
                        "%d of 3 targets, their linearisations at %d%s.",
                        wins, kernels,
                        kernels == 0 ? ": where a narrow network wins it is by moving its "
                                       "features, not by its kernel at the start"
                                     : "");
}
