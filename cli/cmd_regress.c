#include "commands.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { ANALYTIC, NNGP, EMPIRICAL };
static const char *kernel_name(int i) {
  static const char *const names[] = {"analytic", "nngp", "empirical", NULL};
  return names[i];
}

#define REGRESS_OPTIONS(X, S)                                                                    \
  X(S, CHOICE, method, "ridge", 0, 0, ep_regress_method_name,                                    \
    "ridge: kernel regression, mean of a Gaussian process; flow: gradient flow until --time; "   \
    "descent: train a network")                                                                  \
  X(S, CHOICE, kernel, "analytic", 0, 0, kernel_name,                                            \
    "tangent kernel or Gaussian process of an infinitely wide network; empirical: of a network") \
  X(S, TEXT, targets, "", 0, 0, NULL,                                                            \
    "what is learnt, a row a training point (default: labels, a column each)")                   \
  X(S, TEXT, test, "", 0, 0, NULL, "new points, as --data (default: the training points)")       \
  X(S, INT, test_samples, "0", 0, 1e9, NULL, "use so many new points; 0: all")                   \
  X(S, TEXT, test_targets, "", 0, 0, NULL, "targets of the new points, for the error")           \
  X(S, TEXT, test_labels, "", 0, 0, NULL, "labels of the new points, for the accuracy")          \
  X(S, TEXT, kernel_matrix, "", 0, 0, NULL, "kernel of the training points, n x n, for --data")  \
  X(S, TEXT, test_kernel, "", 0, 0, NULL, "kernel of new and training points, m x n")            \
  X(S, TEXT, test_diagonal, "", 0, 0, NULL,                                                      \
    "kernel of each new point with itself, for --variance")                                      \
  X(S, REAL, ridge, "0", 0, 1e300, NULL, "added to the diagonal of the kernel matrix")           \
  X(S, REAL, noise, "0", 0, 1e150, NULL,                                                         \
    "standard deviation of the noise on targets: a ridge of its square")                         \
  X(S, FLAG, centre, NULL, 0, 0, NULL,                                                           \
    "take the mean of the targets away before and add it after; labels always are")              \
  X(S, REAL, time, "0", 0, 1e300, NULL, "flow: until this time, at rate 1; 0: to the end")       \
  X(S, REAL, rate, "0", 0, 1e300, NULL,                                                          \
    "descent: step; 0: one over the largest eigenvalue of the tangent kernel at the start")      \
  X(S, INT, epochs, "1000", 0, 1e9, NULL, "descent: steps")                                      \
  X(S, FLAG, from_zero, NULL, 0, 0, NULL,                                                        \
    "flow of the empirical kernel, descent: f - f_0 learns, without the random start")           \
  X(S, TEXT, out, "predictions.npy", 0, 0, NULL, "f at the new points, m x Z")                   \
  X(S, TEXT, variance, "", 0, 0, NULL, "and its variance in this file, m x Z")
typedef struct {
  REGRESS_OPTIONS(EP_OPT_FIELD, )
} regress_config;
static const ep_option regress_options[] = {REGRESS_OPTIONS(EP_OPT_ROW, regress_config){0}};

typedef struct {
  regress_config regress;
  ep_data_config data;
  ep_net_config net;
  ep_variance_config analytic;
  ep_run_config run;
  cli_config cli;
} setup;

typedef struct {
  ep_dataset train, test; /* test without points: the training ones */
  ep_mat Y, Y2;           /* targets of both; Y2 without data: not known */
  bool labels;
  int low;      /* first label */
  double *mean; /* (Z) taken away from the targets; NULL: nothing */
  ep_mat means;
  ep_mat K, Kx, d; /* as given */
  ep_net net;
  ep_analytic analytic;
  ep_mat F, V; /* (m x Z) predictions, variance */
  ep_regress_kernel kernel;
  ep_regress_config config;
  ep_regress_result result;
  double seconds;
} work_of;

static void groups_of(ep_option_group groups[7], setup *s) {
  const ep_option_group all[7] = {{"Regression", regress_options, &s->regress},
                                  {"Data", ep_data_options, &s->data},
                                  {"Network", ep_net_options, &s->net},
                                  {"Infinite width", ep_variance_options, &s->analytic},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_regress(FILE *to) {
  static setup s;
  ep_option_group groups[7];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair regress --data x.npy --targets y.npy --test new.npy --noise 0.1 --variance "
      "v.npy\n"
      "  eigenpair regress --data digits --test digits:test --depth 2            labels: a column "
      "each\n"
      "  eigenpair regress --data x.npy --targets y.npy --method flow --time 5   an infinitely "
      "wide "
      "network, early\n"
      "  eigenpair regress --data x.npy --targets y.npy --method flow --kernel empirical --width "
      "1000\n"
      "  eigenpair regress --data x.npy --targets y.npy --method descent --width 1000 --epochs "
      "2000\n"
      "  eigenpair regress --kernel-matrix K.npy --targets y.npy --test-kernel Kx.npy --ridge "
      "0.1\n\n"
      "Squared loss, 1/2 sum |f(x) - y|^2. ridge gives K(x,X)(K + ridge)^-1 Y and with --variance "
      "how sure it is: with\n"
      "--kernel nngp and --noise the Bayesian posterior of an infinitely wide network. Without a "
      "ridge, where K is\n"
      "singular, by the pseudo-inverse. flow at infinite width is the mean over networks, its "
      "variance that of trained\n"
      "ones; of the empirical kernel it is the network's own linearisation, and descent is the "
      "network. Networks have as\n"
      "many outputs as the targets have columns. Errors are means over points of |f(x) - y|^2. In "
      "JSON `norm` is\n"
      "sqrt(Y'(K + ridge)^-1 Y), `leave_one_out_mse` the error of each point by all the others. "
      "Everything is double.\n");
  args_help(groups, to);
}

/* ---- what was asked */

static ep_status check_flags(const setup *s, int argc, char **argv) {
  const regress_config *r = &s->regress;
  const bool given = r->kernel_matrix[0], ridge = r->method == EP_REGRESS_RIDGE;
  const bool flow = r->method == EP_REGRESS_FLOW, descent = r->method == EP_REGRESS_DESCENT;
  const bool net = descent || r->kernel == EMPIRICAL;
  EP_CHECK(given != (s->data.data[0] != '\0'), EP_ERR_ARG,
           given ? "--kernel-matrix and --data: give one of them"
                 : "no points: give --data NAME|FILE, or --kernel-matrix");
  EP_CHECK(!given || !descent, EP_ERR_ARG, "descent trains on points: give --data");
  EP_CHECK(!given || (!r->test[0] && r->test_kernel[0]), EP_ERR_ARG,
           "--kernel-matrix wants the kernel of the new points: --test-kernel Kx.npy");
  EP_CHECK(given || (!r->test_kernel[0] && !r->test_diagonal[0]), EP_ERR_ARG,
           "--test-kernel and --test-diagonal go with --kernel-matrix");
  EP_CHECK(given || r->test[0] || (!r->test_labels[0] && r->test_samples == 0), EP_ERR_ARG,
           "--test-labels and --test-samples are of new points: give --test");
  EP_CHECK(r->ridge == 0 || r->noise == 0, EP_ERR_ARG, "--ridge and --noise: give one of them");
  EP_CHECK(ridge || (r->ridge == 0 && r->noise == 0), EP_ERR_ARG,
           "--method %s knows no ridge: use --method ridge", ep_regress_method_name(r->method));
  EP_CHECK(flow || r->time == 0, EP_ERR_ARG, "--time goes with --method flow");
  EP_CHECK(descent || (r->rate == 0 && !args_peek(argc, argv, "--epochs")), EP_ERR_ARG,
           "--rate and --epochs go with --method descent");
  EP_CHECK(!r->from_zero || (net && !ridge), EP_ERR_ARG,
           "--from-zero goes with --method descent, and with flow of --kernel empirical");
  EP_CHECK(!r->variance[0] || !given || (ridge && r->test_diagonal[0]), EP_ERR_ARG,
           "--variance of a given kernel wants --method ridge and --test-diagonal");
  EP_CHECK(!r->variance[0] || ridge || (flow && !net), EP_ERR_ARG,
           "one network has no variance: use --kernel analytic or nngp, or --method ridge");
  return EP_OK;
}

static ep_status load(ep_dataset *set, const setup *s, const char *name, const char *labels,
                      long samples, bool *unit) {
  ep_data_config config = s->data;
  ep_run_config run = s->run;
  run.precision = EP_DOUBLE;
  snprintf(config.data, sizeof config.data, "%s", name);
  snprintf(config.labels, sizeof config.labels, "%s", labels);
  config.samples = samples;
  EP_TRY(ep_dataset_load(NULL, set, &config, &run));
  if (unit) *unit = ep_dataset_is_unit(set, &config);
  return EP_OK;
}

static ep_status read_points(work_of *w, const setup *s) {
  const regress_config *r = &s->regress;
  bool unit;
  EP_TRY(load(&w->train, s, s->data.data, s->data.labels, s->data.samples, &unit));
  if (unit) ep_scale_to_unit(&w->train.X);
  w->kernel.X = w->kernel.T = &w->train.X;
  if (!r->test[0]) return EP_OK;
  EP_TRY(load(&w->test, s, r->test, r->test_labels, r->test_samples, NULL));
  EP_CHECK(w->test.X.cols == w->train.X.cols, EP_ERR_SHAPE,
           "%s has points of dimension %td, %s of %td", r->test, w->test.X.cols, s->data.data,
           w->train.X.cols);
  if (unit) ep_scale_to_unit(&w->test.X);
  w->kernel.T = &w->test.X;
  return EP_OK;
}

static ep_status read_kernels(work_of *w, const setup *s) {
  const regress_config *r = &s->regress;
  EP_TRY(read_values(&w->K, r->kernel_matrix));
  EP_CHECK(w->K.rows == w->K.cols, EP_ERR_SHAPE, "%s: a kernel is a square matrix",
           r->kernel_matrix);
  double off = 0;
  for (ptrdiff_t i = 0; i < w->K.rows; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      off = fmax(off, fabs(*ep_d(&w->K, i, j) - *ep_d(&w->K, j, i)));
  EP_CHECK(off <= 1e-4 * ep_mat_max(&w->K), EP_ERR_INPUT, "%s: is not symmetric", r->kernel_matrix);
  EP_TRY(read_values(&w->Kx, r->test_kernel));
  EP_CHECK(w->Kx.cols == w->K.rows, EP_ERR_SHAPE, "%s: %td columns for %td training points",
           r->test_kernel, w->Kx.cols, w->K.rows);
  w->kernel.K = &w->K, w->kernel.Kx = &w->Kx;
  if (!r->test_diagonal[0]) return EP_OK;
  EP_TRY(read_values(&w->d, r->test_diagonal));
  EP_CHECK(w->d.rows * w->d.cols == w->Kx.rows, EP_ERR_SHAPE, "%s: %td numbers for %td new points",
           r->test_diagonal, w->d.rows * w->d.cols, w->Kx.rows);
  w->kernel.diagonal = w->d.data;
  return EP_OK;
}

/* labels of the training points, for --kernel-matrix in a file of their own */
static ep_status label_targets(work_of *w, const setup *s, ptrdiff_t n) {
  const char *file = s->data.labels;
  int *own = NULL;
  ptrdiff_t count = n, columns;
  if (w->kernel.K && file[0]) EP_TRY(ep_labels_read(&own, &count, file));
  const int *labels = own ? own : w->train.labels;
  ep_status st = !labels ? EP_FAIL(EP_ERR_ARG, "nothing to learn: give --targets or --labels")
                 : count != n
                     ? EP_FAIL(EP_ERR_SHAPE, "%s: %td labels for %td points", file, count, n)
                     : label_range(&w->low, &columns, labels, n);
  if (!st) st = label_columns(&w->Y, labels, n, w->low, columns);
  w->labels = true;
  ep_labels_free(own);
  return st;
}

static ep_status test_targets(work_of *w, const setup *s, ptrdiff_t m) {
  const char *file = s->regress.test_targets;
  if (w->kernel.T && w->kernel.T == w->kernel.X && !file[0]) {
    EP_TRY(ep_mat_new(&w->Y2, EP_DOUBLE, w->Y.rows, w->Y.cols));
    ep_mat_copy(&w->Y2, &w->Y);
    return EP_OK;
  }
  if (file[0]) {
    EP_TRY(read_values(&w->Y2, file));
    EP_CHECK(w->Y2.rows == m && w->Y2.cols == w->Y.cols, EP_ERR_SHAPE,
             "%s: %td x %td targets for %td new points and %td columns", file, w->Y2.rows,
             w->Y2.cols, m, w->Y.cols);
    return EP_OK;
  }
  if (!w->labels) return EP_OK;
  int *own = NULL;
  ptrdiff_t count = m;
  if (w->kernel.K && s->regress.test_labels[0])
    EP_TRY(ep_labels_read(&own, &count, s->regress.test_labels));
  const int *labels = own ? own : w->test.labels;
  ep_status st = count != m ? EP_FAIL(EP_ERR_SHAPE, "%s: %td labels for %td new points",
                                      s->regress.test_labels, count, m)
                            : EP_OK;
  if (!st && labels) st = label_columns(&w->Y2, labels, m, w->low, w->Y.cols);
  ep_labels_free(own);
  return st;
}

static ep_status read_targets(work_of *w, const setup *s) {
  const ptrdiff_t n = w->kernel.K ? w->K.rows : w->train.X.rows;
  const ptrdiff_t m = w->kernel.K ? w->Kx.rows : w->kernel.T->rows;
  const char *file = s->regress.targets;
  if (file[0]) EP_TRY(read_values(&w->Y, file));
  else EP_TRY(label_targets(w, s, n));
  EP_CHECK(w->Y.rows == n, EP_ERR_SHAPE, "%s: %td rows for %td training points", file, w->Y.rows,
           n);
  EP_TRY(test_targets(w, s, m));
  if (s->regress.centre || w->labels) {
    EP_TRY(ep_mat_new(&w->means, EP_DOUBLE, 1, w->Y.cols));
    w->mean = w->means.data;
    centre_columns(&w->Y, w->mean);
  }
  EP_TRY(ep_mat_new(&w->F, EP_DOUBLE, m, w->Y.cols));
  return s->regress.variance[0] ? ep_mat_new(&w->V, EP_DOUBLE, m, w->Y.cols) : EP_OK;
}

static ep_status read_kernel(work_of *w, const setup *s, int argc, char **argv) {
  const regress_config *r = &s->regress;
  if (w->kernel.K) return EP_OK;
  const ptrdiff_t D = w->train.X.cols, Z = w->Y.cols;
  if (r->kernel == EMPIRICAL || r->method == EP_REGRESS_DESCENT) {
    ep_net_config config = s->net;
    EP_CHECK(!args_peek(argc, argv, "--outputs") || s->net.outputs == Z, EP_ERR_ARG,
             "--outputs %ld: the targets have %td columns", s->net.outputs, Z);
    config.outputs = Z;
    EP_TRY(ep_net_draw(&w->net, &config, &s->analytic, D, (uint64_t)s->run.seed, EP_DOUBLE));
    w->kernel.net = &w->net;
    return EP_OK;
  }
  w->kernel.analytic = &w->analytic;
  w->kernel.kind = r->kernel == NNGP ? EP_NNGP : EP_NTK;
  return ep_analytic_from(&w->analytic, &s->net, &s->analytic, D, w->kernel.kind);
}

static ep_status plan(work_of *w, const setup *s) {
  const regress_config *r = &s->regress;
  w->config = (ep_regress_config){.method = (ep_regress_method)r->method,
                                  .ridge = r->noise > 0 ? r->noise * r->noise : r->ridge,
                                  .time = r->time > 0 ? r->time : INFINITY,
                                  .centred = r->from_zero,
                                  .rate = r->rate,
                                  .epochs = r->epochs};
  const double bytes = ep_regress_bytes(&w->kernel, &w->Y, &w->config);
  EP_CHECK((double)ep_memory_current() + bytes < ep_run_memory(&s->run), EP_ERR_ARG,
           "--memory is too small for %td points (%.0f MiB): use --samples", w->Y.rows,
           bytes / 1048576);
  return EP_OK;
}

/* ---- what came out */

static ptrdiff_t place_of_largest(const ep_mat *F, ptrdiff_t i) {
  ptrdiff_t at = 0;
  for (ptrdiff_t z = 1; z < F->cols; z++)
    if (*ep_d(F, i, z) > *ep_d(F, i, at)) at = z;
  return at;
}

/* share of the new points whose largest output is the label's */
static double accuracy(const work_of *w) {
  double right = 0;
  for (ptrdiff_t i = 0; i < w->F.rows; i++)
    right += place_of_largest(&w->F, i) == place_of_largest(&w->Y2, i);
  return right / (double)w->F.rows;
}

static double test_error(const work_of *w) {
  return w->Y2.data ? ep_mat_distance2(&w->F, &w->Y2) / (double)w->F.rows : NAN;
}

/* error of the mean of the training targets at every new point */
static double nothing_known(const work_of *w) {
  double sum = 0;
  for (ptrdiff_t z = 0; w->Y2.data && z < w->Y.cols; z++) {
    double mean = w->mean ? w->mean[z] : 0;
    for (ptrdiff_t i = 0; i < w->Y.rows; i++) mean += *ep_d(&w->Y, i, z) / (double)w->Y.rows;
    for (ptrdiff_t i = 0; i < w->Y2.rows; i++) sum += pow(*ep_d(&w->Y2, i, z) - mean, 2);
  }
  return w->Y2.data ? sum / (double)w->Y2.rows : NAN;
}

static ep_status report_json(const work_of *w, const setup *s, const ep_option_group *groups) {
  const ep_regress_result *r = &w->result;
  json_t *config = json_object();
  for (const ep_option_group *g = groups; g->table; g++)
    EP_TRY(ep_options_to_json(config, g->table, g->config));
  return print_json(json_pack(
      "{s:s,s:s,s:s?,s:[I,I],s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:f,s:f,s:o,s:s,s:"
      "o}",
      "method", ep_regress_method_name(s->regress.method), "out", s->regress.out, "variance",
      s->regress.variance[0] ? s->regress.variance : NULL, "shape", (json_int_t)w->F.rows,
      (json_int_t)w->F.cols, "train", (json_int_t)w->Y.rows, "train_mse", number_json(r->train_mse),
      "leave_one_out_mse", number_json(r->leave_one_out), "mse", number_json(test_error(w)),
      "mse_of_the_mean", number_json(nothing_known(w)), "accuracy",
      number_json(w->labels && w->Y2.data ? accuracy(w) : NAN), "norm", number_json(r->norm),
      "order", (json_int_t)r->order, "rank", (json_int_t)r->rank, "largest_eigenvalue",
      number_json(r->largest), "rate", number_json(r->rate > 0 ? r->rate : NAN), "loss",
      number_json(r->loss[1]), "status", json_string(isfinite(r->loss[1]) ? "done" : "diverged"),
      "seconds", w->seconds, "peak_memory", (double)ep_memory_peak(), "config", config, "version",
      ep_version(), "machine", machine_json()));
}

static void print_fit(const work_of *w, const setup *s) {
  const ep_regress_result *r = &w->result;
  const char *method = ep_regress_method_name(s->regress.method);
  if (w->config.method == EP_REGRESS_RIDGE) {
    printf("ridge    %.4g: training error %.4g", w->config.ridge, r->train_mse);
    if (isfinite(r->leave_one_out)) printf(", leaving one out %.4g", r->leave_one_out);
    if (r->rank < r->order) printf("; the kernel matrix has rank %td of %td", r->rank, r->order);
  } else if (w->config.method == EP_REGRESS_FLOW) {
    printf("flow     to %s %.4g: training error %.4g; largest eigenvalue %.4g",
           isfinite(w->config.time) ? "time" : "the end,", w->config.time, r->train_mse,
           r->largest);
  } else if (isfinite(r->loss[1])) {
    printf("%-8s %ld steps at rate %.4g: loss %.4g -> %.4g", method, w->config.epochs, r->rate,
           r->loss[0], r->loss[1]);
  } else {
    printf("%-8s diverged at rate %.4g: it has to be below about %.4g", method, r->rate,
           2 / r->largest);
  }
  putchar('\n');
}

static void print_text(const work_of *w, const setup *s) {
  printf("train    ");
  print_count(stdout, (double)w->Y.rows);
  printf(" points, %td target%s\n", w->Y.cols, w->Y.cols == 1 ? "" : "s");
  print_fit(w, s);
  printf("new      ");
  print_count(stdout, (double)w->F.rows);
  printf(" points");
  if (w->Y2.data) printf(": error %.4g (of the mean %.4g)", test_error(w), nothing_known(w));
  if (w->Y2.data && w->labels) printf(", accuracy %.4g %%", 100 * accuracy(w));
  printf("\n%s", isfinite(w->result.loss[1]) ? "written  " : "not written: ");
  printf("%s", s->regress.out);
  if (w->V.data) printf(", %s", s->regress.variance);
  putchar('\n');
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static ep_status regress(work_of *w, const setup *s, const ep_option_group *groups) {
  const double begin = now();
  EP_TRY(ep_regress(&w->result, &w->F, w->V.data, &w->kernel, &w->Y, &w->config));
  w->seconds = now() - begin;
  for (ptrdiff_t i = 0; w->mean && i < w->F.rows; i++)
    for (ptrdiff_t z = 0; z < w->F.cols; z++) *ep_d(&w->F, i, z) += w->mean[z];
  const bool fine = isfinite(w->result.loss[1]);
  if (fine) EP_TRY(ep_npy_write(s->regress.out, &w->F));
  if (fine && w->V.data) EP_TRY(ep_npy_write(s->regress.variance, &w->V));
  terminal_clear();
  if (s->cli.json) return report_json(w, s, groups);
  return print_text(w, s), EP_OK;
}

static void release(work_of *w) {
  ep_dataset_free(&w->train);
  ep_dataset_free(&w->test);
  ep_net_free(&w->net);
  ep_mat *all[] = {&w->Y, &w->Y2, &w->means, &w->K, &w->Kx, &w->d, &w->F, &w->V};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) ep_mat_free(all[i]);
}

ep_status cmd_regress(int argc, char **argv) {
  static setup s;
  ep_option_group groups[7];
  work_of w = {0};
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  EP_TRY(check_flags(&s, argc, argv));
  const char *const outputs[] = {s.regress.out, s.regress.variance, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  ep_status st = s.regress.kernel_matrix[0] ? read_kernels(&w, &s) : read_points(&w, &s);
  if (!st) st = read_targets(&w, &s);
  if (!st) st = read_kernel(&w, &s, argc, argv);
  if (!st) st = plan(&w, &s);
  if (!st) st = regress(&w, &s, groups);
  release(&w);
  return st;
}
