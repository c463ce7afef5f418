/* TANGENT's claims on what the spectrum of a kernel says: no free lunch, the test error (Simon). */
#include "study/tangent_claims.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tangent-nofreelunch */

static const char *const lunch_sets[] = {"circle:64", "cube:6", "sphere:5,64", "digits"};
static const struct {
  const char *name;
  int depth;
  double bias;
} lunch_kernels[] = {{"two layers", 2, 0}, {"biases", 1, 0.5}, {"neither", 1, 0}};

static ep_status lunch_domain(ep_domain **out, const char *data, const ep_domain_kernel *k,
                              const ep_run_config *run) {
  ep_data_config c;
  ep_run_config in_double = *run;
  ep_dataset set;
  ep_mat K = {0};
  *out = NULL;
  ep_options_default(ep_data_options, &c);
  snprintf(in_double.precision, sizeof in_double.precision, "double");
  snprintf(c.data, sizeof c.data, "%s", data);
  if (strcmp(data, "digits") == 0) c.samples = 64;
  EP_TRY(ep_dataset_load(&set, &c, &in_double));
  ep_scale_to_unit(&set.X);
  ep_status st = ep_mat_new(&K, EP_DOUBLE, set.X.rows, set.X.rows);
  if (!st) st = ep_analytic_kernel(&K, &k->network, EP_NTK, &set.X, NULL);
  ep_dataset_free(&set);
  if (!st) return ep_domain_sample(out, &K, DBL_EPSILON);
  ep_mat_free(&K);
  return st;
}

typedef struct {
  double off;   /* largest |sum of learnabilities - rank of K(D,D)| over the sets */
  bool full;    /* the rank was n each time */
  double wrong; /* largest derivative of the wrong sign */
} lunch;

/* derivatives only where every training set has an invertible kernel matrix */
static ep_status lunch_one(lunch *out, const ep_domain *d, int sets, bool invertible,
                           const ep_run_config *run) {
  enum { M = 64, N = 20 };
  const ep_training_set t = {.train = N};
  for (int i = 0; i < sets; i++) {
    ep_measurement m;
    EP_TRY(ep_domain_measure(&m, NULL, d, &(ep_target){0}, &t, 1, (uint64_t)(run->seed + i),
                             tangent_memory));
    out->off = fmax(out->off, fabs(m.sum.mean - m.rank.mean));
    out->full = out->full && m.rank.mean == N;
  }
  ep_mat D;
  ptrdiff_t index[M];
  EP_TRY(ep_mat_new(&D, EP_DOUBLE, M, M));
  ep_random random = ep_random_new((uint64_t)run->seed, EP_STREAM_SAMPLE, 99);
  ep_random_permutation(&random, index, M);
  const ep_status st = invertible ? ep_domain_derivatives(&D, NULL, d, index, N) : EP_OK;
  for (int i = 0; i < M * M; i++) {
    const double e = *ep_d(&D, i / M, i % M);
    out->wrong = fmax(out->wrong, i / M == i % M ? -e : e);
  }
  ep_mat_free(&D);
  return st;
}

/* the sum against n on the cube, a line a kernel */
static ep_status lunch_figure(ep_claim_result *r, const ep_run_config *run) {
  enum { SIZES = 8 };
  json_t *f;
  double n[SIZES], sum[SIZES];
  EP_TRY(ep_figure_new(&f, "sum", EP_FIGURE_LINE, "Sum of learnabilities on the cube of 64 points",
                       "The sum of learnabilities grows as n until the kernel matrix is singular.",
                       (ep_axis){"training points n", false}, (ep_axis){"sum", false}));
  ep_status st = EP_OK;
  for (int j = 0; !st && j < 3; j++) {
    ep_domain_kernel k;
    ep_domain *d = NULL;
    st = tangent_kernel(&k, "relu", lunch_kernels[j].depth, lunch_kernels[j].bias);
    if (!st) st = lunch_domain(&d, "cube:6", &k, run);
    for (int i = 0; !st && i < SIZES; i++) {
      ep_measurement m = {0};
      n[i] = 8 * (i + 1);
      st = ep_domain_measure(&m, NULL, d, &(ep_target){0}, &(ep_training_set){.train = n[i]}, 5,
                             (uint64_t)run->seed, tangent_memory);
      sum[i] = m.sum.mean;
    }
    if (!st) st = tangent_line(f, lunch_kernels[j].name, n, sum, SIZES, j == 2);
    ep_domain_free(d);
  }
  return tangent_figure(r, f, st);
}

ep_status tangent_nofreelunch(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int sets = size == EP_CLAIM_QUICK ? 20 : 200;
  int singular = 0;
  r->pass = true;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 3; j++) {
      ep_domain_kernel k;
      ep_domain *d;
      lunch l = {.full = true};
      char name[96];
      EP_TRY(tangent_kernel(&k, "relu", lunch_kernels[j].depth, lunch_kernels[j].bias));
      EP_TRY(lunch_domain(&d, lunch_sets[i], &k, run));
      const ep_status st = lunch_one(&l, d, sets, j < 2, run);
      ep_domain_free(d);
      EP_TRY(st);
      singular += !l.full;
      r->pass = r->pass && l.off <= 1e-8 && l.wrong <= 1e-9 && (j == 2 || l.full);
      snprintf(name, sizeof name, "off %s %s", lunch_sets[i], lunch_kernels[j].name);
      EP_TRY(ep_claim_measure(r, name, l.off));
      snprintf(name, sizeof name, "invertible %s %s", lunch_sets[i], lunch_kernels[j].name);
      EP_TRY(ep_claim_measure(r, name, l.full));
    }
  EP_TRY(lunch_figure(r, run));
  EP_TRY(ep_claim_note(r, "Training sets of 20 out of 64 points, no ridge."));
  if (singular == 0) return EP_OK;
  return ep_claim_found(
      r,
      "On %d of 4 sets K(D,D) is singular for one relu layer without biases, which "
      "has no odd degrees above 1: the sum of learnabilities is its rank, not n.",
      singular);
}

/* ---- tangent-predict */

typedef struct {
  double n[TANGENT_MOST], predicted[TANGENT_MOST], measured[TANGENT_MOST],
      error[TANGENT_MOST];     /* test error */
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
    t->n[i] = n, t->measured[i] = m.mse.mean, t->error[i] = m.mse.error;
    t->learnt[i] = learnability - m.learnability.mean;
  }
  ep_domain_free(d);
  return st;
}

/* error of one network over all points of the domain, the first n of them its training set; trained until the linear
 * model would have nothing left */
static ep_status network_error(double *mse, ep_work *work, const ep_mat *all, const ep_mat *F,
                               int n, long width, uint64_t seed) {
  const ep_net_config c = tangent_network("relu", width, 1);
  const ep_mat X = ep_mat_rows(all, 0, n), Y = ep_mat_rows(F, 0, n);
  ep_supervised *net;
  ep_squared *s = NULL;
  ep_mat K, H;
  double loss;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, n, n));
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, F->rows, 1));
  EP_TRY(ep_supervised_new(&net, &c, &X, &Y, true, seed));
  ep_status st = ep_ntk_empirical(&K, ep_supervised_net(net), &X, NULL, EP_TRACE, tangent_memory);
  if (!st) st = ep_squared_new(&s, &K);
  if (!st) st = ep_supervised_steps(&loss, net, 0.9 * ep_squared_critical_rate(s), 800, INFINITY);
  if (!st) st = ep_supervised_outputs(&H, net, all);
  ep_squared_free(s);
  ep_supervised_free(net);
  *mse = st ? NAN : ep_mat_distance2(&H, F) / (double)F->rows;
  return st;
}

/* Networks of one hidden layer on the cube, against the prediction from their kernel's spectrum */
static ep_status predict_networks(double *ratio, double *error, ep_work *work, ep_domain *d, int n,
                                  long width, int runs, const ep_run_config *run) {
  const ptrdiff_t M = (ptrdiff_t)ep_domain_spectrum(d)->size;
  ptrdiff_t *order;
  ep_mat all, F;
  double predicted, unused, sum = 0, squares = 0;
  EP_TRY(predict_error(&predicted, &unused, work, d, n));
  EP_TRY(ep_work_get(work, &order, M, sizeof *order));
  EP_TRY(ep_work_mat(work, &all, EP_DOUBLE, M, ep_domain_dimension(d)));
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, M, 1));
  for (int i = 0; i < runs; i++) {
    EP_TRY(ep_run_step("networks", i, runs));
    ep_random random = ep_random_new((uint64_t)run->seed, EP_STREAM_BATCH, (uint32_t)i);
    double mse;
    ep_random_permutation(&random, order, M);
    EP_TRY(ep_domain_points(&all, d, order, 0, 0));
    EP_TRY(ep_domain_values(&F, d, &predict_target, &all));
    EP_TRY(network_error(&mse, work, &all, &F, n, width, (uint64_t)(run->seed + i)));
    sum += mse / predicted, squares += mse * mse / (predicted * predicted);
  }
  *ratio = sum / runs;
  *error = sqrt(fmax(squares / runs - *ratio * *ratio, 0) / (runs - 1));
  return EP_OK;
}

static ep_status check_networks(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int runs = size == EP_CLAIM_QUICK ? 20 : size == EP_CLAIM_MEDIUM ? 60 : 200;
  ep_domain_kernel k;
  ep_domain *d;
  EP_TRY(tangent_kernel(&k, "relu", 1, 0));
  EP_TRY(ep_domain_new(&d, EP_CUBE, 8, &k));
  ep_status st = EP_OK;
  double ratio[2], error[2];
  for (int i = 0; i < 2 && !st; i++) {
    ep_work work = {0};
    st = predict_networks(&ratio[i], &error[i], &work, d, 32, i ? 1024 : 64, runs, run);
    ep_work_free(&work);
  }
  ep_domain_free(d);
  EP_TRY(st);
  r->pass = r->pass && fabs(ratio[1] - 1) <= 0.15;
  EP_TRY(ep_claim_measure(r, "networks_over_predicted_width_64", ratio[0]));
  EP_TRY(ep_claim_measure(r, "networks_over_predicted_width_1024", ratio[1]));
  return ep_claim_measure_all(r, "networks_standard_errors", error, 2);
}

static ep_status predict_figure(ep_claim_result *r, const char *name, const predict_table *t) {
  char text[64], alt[128];
  json_t *f;
  double low[TANGENT_MOST], high[TANGENT_MOST];
  for (int i = 0; i < t->count; i++) {
    low[i] = t->measured[i] - t->error[i];
    high[i] = t->measured[i] + t->error[i];
  }
  snprintf(text, sizeof text, "predict-%s", name);
  snprintf(alt, sizeof alt, "Test error on the %s falls with n, as predicted from the spectrum.",
           name);
  EP_TRY(ep_figure_new(&f, text, EP_FIGURE_LINE, "Test error against training points", alt,
                       (ep_axis){"training points n", true}, (ep_axis){"test error", true}));
  ep_status st = tangent_line(f, "predicted", t->n, t->predicted, t->count, true);
  const ep_series bars = {
      "kernel regression", NULL, t->count, t->n, t->measured, low, high, NULL, false};
  if (!st) st = ep_figure_add(f, &bars);
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
  double worst[4]; /* predicted over measured, farthest from 1 */
  const int sets = size == EP_CLAIM_QUICK ? 60 : 400;
  r->pass = true;
  for (int i = 0; i < 4; i++) {
    predict_table t = {0};
    ep_work work = {0};
    char name[64];
    const ep_status st =
        predict_domain(&t, &work, domains[i].kind, domains[i].size, domains[i].depth, sets, run);
    ep_work_free(&work);
    EP_TRY(st);
    double ratio[TANGENT_MOST];
    for (int j = 0; j < t.count; j++) {
      ratio[j] = t.predicted[j] / t.measured[j];
      if (domains[i].judged)
        r->pass = r->pass && fabs(ratio[j] - 1) <= 0.1 && fabs(t.learnt[j]) <= 0.05;
    }
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
      "128. Circle and one layer on the cube are reported, not judged."));
  if (fabs(worst[2] - 1) > 0.1)
    EP_TRY(
        ep_claim_found(r,
                       "On the circle, where neighbours are near, the prediction is off: %.2f of "
                       "the measured error at worst.",
                       worst[2]));
  if (fabs(worst[3] - 1) > 0.1)
    EP_TRY(
        ep_claim_found(r,
                       "With one hidden layer and no bias on the cube the prediction is off: %.2f "
                       "of the measured error at worst. K(D,D) is singular there once n is "
                       "large.",
                       worst[3]));
  return EP_OK;
}
