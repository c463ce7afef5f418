/* The table of probes; what comes before one (classes, parts, scales) and after it (counting). */
#include "core/mem.h"
#include "core/vector.h"
#include "probe/probes.h"

#include <eigenpair/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A probe that looks at all pairs judges as many training points as there are test points, within these. */
enum { FEWEST_JUDGED = 1000, MOST_JUDGED = 10000 };

typedef struct {
  const char *name;
  ep_weights_fn *weights; /* one of the two */
  ep_classes_fn *classes;
  bool standardise; /* by default */
} row;
static const row probes[] = {
    {"linear", ep_linear_fit, NULL, true},
    {"svm", ep_svm_fit, NULL, true},
    {"knn", NULL, ep_knn_classes, false},
    {"ridge", ep_ridge_fit, NULL, true},
};
enum { PROBES = sizeof probes / sizeof *probes };

const char *ep_probe_name(int i) { return i < PROBES ? probes[i].name : NULL; }
const char *ep_standardise_name(int i) {
  static const char *const names[] = {"auto", "on", "off", NULL};
  return names[i];
}
const ep_option ep_probe_options[] = {EP_PROBE_OPTIONS(EP_OPT_ROW, ep_probe_config){0}};

/* ---- classes */

static int by_value(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

/* label = the distinct labels of the training points, ascending */
static ep_status find_classes(ep_probe_result *out, const int *labels, const ep_tall *train) {
  const ptrdiff_t n = train->count;
  out->label = ep_alloc(n, sizeof *out->label);
  EP_CHECK(out->label, EP_ERR_NOMEM, "no memory for %td labels", n);
  for (ptrdiff_t i = 0; i < n; i++) out->label[i] = labels[train->index ? train->index[i] : i];
  qsort(out->label, (size_t)n, sizeof *out->label, by_value);
  for (ptrdiff_t i = 0; i < n; i++)
    if (i == 0 || out->label[i] != out->label[i - 1]) out->label[out->classes++] = out->label[i];
  EP_CHECK(out->classes > 1, EP_ERR_INPUT,
           "all training points have the label %d; a probe needs two classes", out->label[0]);
  EP_CHECK((out->confusion =
                ep_alloc(out->classes, (size_t)out->classes * sizeof *out->confusion)) != NULL,
           EP_ERR_NOMEM, "no memory for a confusion matrix of %td classes", out->classes);
  return EP_OK;
}

static int class_of(const ep_probe_result *r, int label) {
  const int *at = bsearch(&label, r->label, (size_t)r->classes, sizeof *r->label, by_value);
  return at ? (int)(at - r->label) : -1;
}

static ep_status set_classes(ep_part *part, ep_work *work, const ep_probe_result *r,
                             const int *labels) {
  int *class;
  EP_TRY(ep_work_get(work, &class, part->rows.count, sizeof *class));
  for (ptrdiff_t i = 0; i < part->rows.count; i++)
    class[i] = class_of(r, labels[part->rows.index ? part->rows.index[i] : i]);
  part->class = class;
  return EP_OK;
}

/* ---- parts */

static int by_place(const void *a, const void *b) {
  const ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
  return (x > y) - (x < y);
}

void ep_split(ptrdiff_t *order, ptrdiff_t n, ptrdiff_t first, uint64_t seed, uint32_t what) {
  ep_random r = ep_random_new(seed, EP_STREAM_PROBE, what);
  ep_random_permutation(&r, order, n);
  qsort(order, (size_t)first, sizeof *order, by_place);
  qsort(order + first, (size_t)(n - first), sizeof *order, by_place);
}

/* the first points of a permutation are for testing, the others for training */
static ep_status hold_out(ep_probe_task *t, ep_work *work, const ep_labelled *all) {
  const ep_mat *X = all->X;
  const ptrdiff_t n = X->rows;
  ptrdiff_t *order, test = (ptrdiff_t)lrint(t->config->holdout * (double)n);
  EP_CHECK(n >= 3, EP_ERR_INPUT, "%td points cannot be split into training and test points", n);
  test = test < 1 ? 1 : test > n - 2 ? n - 2 : test;
  EP_TRY(ep_work_get(work, &order, n, sizeof *order));
  ep_split(order, n, test, (uint64_t)t->run->seed, 0);
  t->test.rows = (ep_tall){.X = X, .count = test, .index = order};
  t->train.rows = (ep_tall){.X = X, .count = n - test, .index = order + test};
  t->train.rows.reader = t->test.rows.reader = all->reader;
  return EP_OK;
}

static ep_status standardise(ep_probe_task *t, ep_work *work) {
  const ptrdiff_t d = t->train.rows.X->cols;
  double *mean, *scale;
  EP_TRY(ep_work_get(work, &mean, d, sizeof *mean));
  EP_TRY(ep_work_get(work, &scale, d, sizeof *scale));
  EP_TRY(ep_tall_moments(mean, scale, &t->train.rows));
  for (ptrdiff_t j = 0; j < d; j++) scale[j] = scale[j] > 0 ? 1 / scale[j] : 0;
  t->train.rows.shift = t->test.rows.shift = mean;
  t->train.rows.scale = t->test.rows.scale = scale;
  return EP_OK;
}

/* Training points that train_accuracy is taken from: all, or a draw of `most`. */
static ep_status choose_judged(ep_probe_task *t, ep_work *work, ptrdiff_t most) {
  const ptrdiff_t n = t->train.rows.count, m = n < most ? n : most;
  const ptrdiff_t *from = t->train.rows.index;
  ptrdiff_t *own, *index;
  int *class;
  EP_TRY(ep_work_get(work, &own, n, sizeof *own));
  EP_TRY(ep_work_get(work, &index, m, sizeof *index));
  EP_TRY(ep_work_get(work, &class, m, sizeof *class));
  ep_random r = ep_random_new((uint64_t)t->run->seed, EP_STREAM_PROBE, 1);
  if (m < n) ep_random_permutation(&r, own, n);
  else
    for (ptrdiff_t i = 0; i < n; i++) own[i] = i;
  for (ptrdiff_t i = 0; i < m; i++) {
    index[i] = from ? from[own[i]] : own[i];
    class[i] = t->train.class[own[i]];
  }
  t->judged = (ep_part){.rows = t->train.rows, .class = class};
  t->judged.rows.index = index, t->judged.rows.count = m;
  t->own = own;
  return EP_OK;
}

/* ---- counting */

static double share(const int *found, const ep_part *part) {
  ptrdiff_t right = 0;
  for (ptrdiff_t i = 0; i < part->rows.count; i++) right += found[i] == part->class[i];
  return (double)right / (double)part->rows.count;
}

static void count(ep_probe_result *out, const int *found, const ep_part *test) {
  for (ptrdiff_t i = 0; i < test->rows.count; i++)
    if (test->class[i] < 0) out->unseen++;
    else out->confusion[test->class[i] * out -> classes + found[i]]++;
}

double ep_probe_class_accuracy(const ep_probe_result *r, ptrdiff_t c) {
  ptrdiff_t all = 0;
  for (ptrdiff_t k = 0; k < r->classes; k++) all += r->confusion[c * r->classes + k];
  return (double)r->confusion[c * r->classes + c] / (double)all; /* 0/0 is NaN */
}

/* ---- all of it */

static ep_status judge(ep_probe_result *out, ep_work *work, const row *probe, ep_probe_task *t) {
  int *found, *own_found;
  const ptrdiff_t test = t->test.rows.count;
  const ptrdiff_t some = test < FEWEST_JUDGED ? FEWEST_JUDGED : ep_least(test, MOST_JUDGED);
  EP_TRY(choose_judged(t, work, probe->classes ? some : PTRDIFF_MAX));
  EP_TRY(ep_work_get(work, &found, t->test.rows.count, sizeof *found));
  EP_TRY(ep_work_get(work, &own_found, t->judged.rows.count, sizeof *own_found));
  if (probe->weights) {
    ep_mat W;
    EP_TRY(probe->weights(&W, out, work, t));
    EP_TRY(ep_linear_classify(found, &t->test.rows, &W));
    EP_TRY(ep_linear_classify(own_found, &t->judged.rows, &W));
  } else {
    EP_TRY(probe->classes(found, own_found, work, t));
    out->converged = true;
  }
  out->train = t->train.rows.count, out->test = t->test.rows.count;
  out->judged = t->judged.rows.count;
  out->accuracy = share(found, &t->test);
  out->train_accuracy = share(own_found, &t->judged);
  count(out, found, &t->test);
  return EP_OK;
}

static ep_status run_probe(ep_probe_result *out, ep_work *work, const row *probe,
                           const ep_labelled *train, const ep_labelled *test,
                           const ep_probe_config *config, const ep_run_config *run) {
  ep_probe_task t = {.config = config, .run = run};
  out->held_out = !test;
  if (!test) EP_TRY(hold_out(&t, work, train));
  else {
    t.train.rows = ep_tall_all(train->X), t.train.rows.reader = train->reader;
    t.test.rows = ep_tall_all(test->X), t.test.rows.reader = test->reader;
  }
  EP_TRY(find_classes(out, train->labels, &t.train.rows));
  t.classes = out->classes;
  EP_TRY(set_classes(&t.train, work, out, train->labels));
  EP_TRY(set_classes(&t.test, work, out, (test ? test : train)->labels));
  out->standardised = config->standardise == EP_STANDARDISE_AUTO
                          ? probe->standardise
                          : config->standardise == EP_STANDARDISE_ON;
  if (out->standardised) EP_TRY(standardise(&t, work));
  return judge(out, work, probe, &t);
}

static ep_status check(const ep_labelled *train, const ep_labelled *test) {
  const ep_labelled *const both[2] = {train, test};
  for (int i = 0; i < 2 && both[i]; i++) {
    const ep_mat *X = both[i]->X;
    EP_CHECK(X->rows > 0 && X->cols > 0, EP_ERR_SHAPE, "an embedding of %td x %td holds no points",
             X->rows, X->cols);
    EP_CHECK(both[i]->reader || ep_mat_max(X) < 1e100, EP_ERR_INPUT, /* NaN is refused too */
             "an embedding has values that are not finite or above 1e100");
  }
  EP_CHECK(!test || test->X->cols == train->X->cols, EP_ERR_SHAPE,
           "training points have %td dimensions, test points %td", train->X->cols, test->X->cols);
  return EP_OK;
}

static ep_status probe_run(ep_probe_result *out, const char *name, const ep_labelled *train,
                           const ep_labelled *test, const ep_probe_config *config,
                           const ep_run_config *run) {
  int which;
  *out = (ep_probe_result){.penalty = NAN};
  EP_TRY(ep_options_name(&which, NULL, "probe", name, ep_probe_name));
  EP_TRY(check(train, test));
  out->name = probes[which].name;
  ep_work work = {0};
  ep_status st = run_probe(out, &work, &probes[which], train, test, config, run);
  ep_work_free(&work);
  if (!st) st = ep_reader_check(train->reader);
  if (!st && test) st = ep_reader_check(test->reader);
  if (st) ep_probe_result_free(out);
  return st;
}

ep_status ep_probe_run(ep_run *run, ep_probe_result *out, const char *name,
                       const ep_labelled *train, const ep_labelled *test,
                       const ep_probe_config *config, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = probe_run(out, name, train, test, config, settings);
  ep_run_leave(&scope);
  return st;
}

void ep_probe_result_free(ep_probe_result *r) {
  ep_release(r->label);
  ep_release(r->confusion);
  r->label = NULL, r->confusion = NULL;
}
