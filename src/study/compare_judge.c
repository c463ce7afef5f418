/* How good a fit is: a linear probe where there are labels; without labels whether an anchor finds its positive, RankMe
 * and the loss at pairs that were not trained on. */
#include "spectral/tall.h"
#include "study/compare.h"

#include <eigenpair/neighbours.h>
#include <eigenpair/probe.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <omp.h>
#include <string.h>

static ep_status embed_model(const ep_mat *E, const ep_mat *X, const void *user) {
  return ep_model_embed(NULL, E, user, X);
}

ep_outputs ep_outputs_of(const ep_model *model) {
  return (ep_outputs){ep_model_outputs(model), embed_model, model};
}

/* ---- with labels */

/* the two principal axes of E, centred */
static ep_status plane(ep_work *work, json_t *entry, const ep_mat *E, const int *labels) {
  const ptrdiff_t n = E->rows < EP_SHOWN ? E->rows : EP_SHOWN, z = E->cols;
  ep_mat C, V, X, Y;
  double lambda[2], *x;
  ep_eigen_info info;
  ep_eigen_config config;
  ep_options_default(ep_eigen_options, &config);
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, z, z));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, z, z < 2 ? 1 : 2));
  EP_TRY(ep_work_mat(work, &X, EP_DOUBLE, E->rows, z));
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, E->rows, V.cols));
  EP_TRY(ep_work_get(work, &x, 2 * n, sizeof *x));
  ep_mat_copy(&X, E);
  for (ptrdiff_t k = 0; k < z; k++) {
    double mean = 0;
    for (ptrdiff_t i = 0; i < X.rows; i++) mean += *ep_d(&X, i, k) / (double)X.rows;
    for (ptrdiff_t i = 0; i < X.rows; i++) *ep_d(&X, i, k) -= mean;
  }
  ep_mat_mul(&C, 1, &X, EP_T, &X, EP_N, 0);
  EP_TRY(ep_eigen_matrix(&V, lambda, &info, &C, &config, 0));
  ep_eigen_signs(&V);
  ep_mat_mul(&Y, 1, &X, EP_N, &V, EP_N, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    x[i] = *ep_d(&Y, i, 0);
    x[n + i] = V.cols > 1 ? *ep_d(&Y, i, 1) : 0;
  }
  json_t *label = json_array();
  EP_TRY(ep_json_put(entry, "plane",
                     json_pack("{s:o, s:o, s:o}", "x", ep_json_numbers(x, n), "y",
                               ep_json_numbers(x + n, n), "label", label)));
  for (ptrdiff_t i = 0; i < n; i++) EP_TRY(ep_json_append(label, json_integer(labels[i])));
  return EP_OK;
}

static ep_status probe(ep_trial *t, const ep_labelled *train, const ep_labelled *test,
                       const ep_run_config *run) {
  ep_probe_config config;
  ep_probe_result r = {0};
  ep_options_default(ep_probe_options, &config);
  const ep_status st = ep_probe_run(NULL, &r, "linear", train, test, &config, run);
  t->accuracy = r.accuracy;
  t->train_accuracy = r.train_accuracy;
  ep_probe_result_free(&r);
  return st;
}

static ep_status judge_labels(ep_work *work, ep_fitted *f, const ep_outputs *map,
                              const ep_job *job) {
  ep_mat A, B;
  const ep_mat *X = &job->train->X, *Y = job->test ? &job->test->X : X;
  EP_TRY(ep_work_mat(work, &A, X->prec, X->rows, map->outputs));
  EP_TRY(map->embed(&A, X, map->user));
  const ep_labelled train = {&A, job->train->labels, NULL};
  if (!job->test) {
    EP_TRY(probe(&f->trial, &train, NULL, &job->base->run));
    return job->show ? plane(work, f->entry, &A, train.labels) : EP_OK;
  }
  EP_TRY(ep_work_mat(work, &B, Y->prec, Y->rows, map->outputs));
  EP_TRY(map->embed(&B, Y, map->user));
  const ep_labelled test = {&B, job->test->labels, NULL};
  EP_TRY(probe(&f->trial, &train, &test, &job->base->run));
  return job->show ? plane(work, f->entry, &B, test.labels) : EP_OK;
}

/* ---- without */

/* share of anchors whose first positive is the nearest of all first positives, by cosine */
static ep_status recall(double *share, ep_work *work, const ep_mat *F, const ep_pairs *p) {
  ep_mat A, B;
  ptrdiff_t *who, n = 0, hits = 0;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, p->anchors, F->cols));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, p->anchors, F->cols));
  EP_TRY(ep_work_get(work, &who, p->anchors, sizeof *who));
  for (ptrdiff_t i = 0; i < p->anchors; i++) {
    if (p->start[i] == p->start[i + 1] || p->sign[p->start[i]] < 0) continue;
    const ep_mat a = ep_mat_rows(&A, n, 1), b = ep_mat_rows(&B, n, 1);
    const ep_mat from = ep_mat_rows(F, p->anchor[i], 1),
                 to = ep_mat_rows(F, p->partner[p->start[i]], 1);
    ep_mat_copy(&a, &from);
    ep_mat_copy(&b, &to);
    n++;
  }
  if (n == 0) return EP_OK;
  const ep_mat queries = ep_mat_rows(&A, 0, n), points = ep_mat_rows(&B, 0, n);
  EP_TRY(ep_neighbours(NULL, who, NULL, &queries, &points, 1, EP_COSINE));
  for (ptrdiff_t i = 0; i < n; i++) hits += who[i] == i;
  *share = (double)hits / (double)n;
  return EP_OK;
}

static ep_status judge_pairs(ep_work *work, ep_fitted *f, const ep_outputs *map,
                             const ep_job *job) {
  const ep_points *p = job->unseen;
  ep_objective o;
  ep_mat E;
  EP_TRY(ep_work_mat(work, &E, p->X.prec, p->X.rows, map->outputs));
  EP_TRY(ep_mat_new(&f->F, EP_DOUBLE, p->X.rows, map->outputs));
  EP_TRY(map->embed(&E, &p->X, map->user));
  ep_mat_copy(&f->F, &E);
  EP_TRY(recall(&f->trial.recall, work, &f->F, &p->pairs));
  EP_TRY(ep_rankme(&f->trial.rankme, &f->F));
  EP_TRY(ep_objective_parse(&o, &job->base->objective));
  if (ep_objective_check(&o, &p->pairs) != EP_OK) return EP_OK; /* too few for this loss */
  return ep_objective_value(&f->trial.test_loss, NULL, &f->F, &p->pairs, &o);
}

ep_status ep_judge(ep_fitted *f, const ep_outputs *map, const ep_job *job) {
  ep_work work = {0};
  ep_status st = EP_OK;
  if (job->train) st = judge_labels(&work, f, map, job);
  if (!st) st = judge_pairs(&work, f, map, job);
  ep_work_free(&work);
  return st;
}

/* ---- how far apart two representations are */

static double mean_difference(const ep_mat *A, const ep_mat *B) {
  double sum = 0, count = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const ep_mat a = ep_mat_rows(A, i, 1), b = ep_mat_rows(B, i, 1);
    const double norm = sqrt(ep_mat_norm2(&b));
    if (norm > 0) sum += sqrt(ep_mat_distance2(&a, &b)) / norm, count++;
  }
  return count > 0 ? sum / count : NAN;
}

/* min over rotations O and scales s of |s A O - B| / |B|: with t = Tr(O'A'B) at Procrustes' O, |A O - B|^2 = |A|^2 +
 * |B|^2 - 2t, and the best s leaves |B|^2 - t^2 / |A|^2. Columns that one lacks are zero. */
static ep_status rotated_difference(double *d, ep_work *work, const ep_mat *A, const ep_mat *B) {
  const ptrdiff_t z = A->cols > B->cols ? A->cols : B->cols;
  ep_mat P, Q, O;
  ep_procrustes_info info;
  EP_TRY(ep_work_mat(work, &P, EP_DOUBLE, A->rows, z));
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, B->rows, z));
  EP_TRY(ep_work_mat(work, &O, EP_DOUBLE, z, z));
  const ep_mat p = ep_mat_cols(&P, 0, A->cols), q = ep_mat_cols(&Q, 0, B->cols);
  ep_mat_copy(&p, A);
  ep_mat_copy(&q, B);
  EP_TRY(ep_procrustes(&O, &info, &P, &Q));
  const double a = ep_mat_norm2(A), b = ep_mat_norm2(B);
  const double t = (a + b - info.residual * info.residual) / 2;
  *d = a > 0 && b > 0 ? sqrt(fmax(0, 1 - t * t / (a * b))) : NAN;
  return EP_OK;
}

ep_status ep_outputs_difference(double *d, const ep_mat *A, const ep_mat *B, bool rotated) {
  ep_work work = {0};
  ep_status st = EP_OK;
  *d = NAN;
  if (rotated) st = rotated_difference(d, &work, A, B);
  else if (A->cols == B->cols) *d = mean_difference(A, B);
  ep_work_free(&work);
  return st;
}

/* ---- baselines */

static ep_status embed_raw(const ep_mat *E, const ep_mat *X, const void *user) {
  (void)user;
  ep_mat_copy(E, X);
  return EP_OK;
}

typedef struct {
  ep_tall rows;      /* the points, less their mean */
  ep_mat V, part, Y; /* (D, Z), (block, D), (block, Z), double */
} components;

/* Y = sum_i x_i x_i' V, a block of points at a time */
static ep_status covariance(const ep_mat *Y, const ep_mat *V, void *user) {
  components *c = user;
  for (ptrdiff_t i = 0; i < c->rows.count; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = c->rows.count - i < EP_TALL_BLOCK ? c->rows.count - i : EP_TALL_BLOCK;
    const ep_mat x = ep_mat_rows(&c->part, 0, m);
    const ep_mat y = ep_mat_view(EP_DOUBLE, m, V->cols, c->Y.data);
    ep_tall_get(&x, &c->rows, i);
    ep_mat_mul(&y, 1, &x, EP_N, V, EP_N, 0);
    ep_mat_mul(Y, 1, &x, EP_T, &y, EP_N, i > 0);
  }
  return ep_run_step("principal components", 0, 0);
}

/* V: the first Z principal directions of X; by the covariance where that is small, else by products with X */
static ep_status principal(ep_work *work, components *c, const ep_mat *X, ptrdiff_t outputs) {
  enum { SMALL = 2048 };
  ep_mat C;
  double *lambda;
  ep_eigen_info info;
  ep_eigen_config config;
  ep_options_default(ep_eigen_options, &config);
  config.eigen_tolerance = 1e-6;
  EP_TRY(ep_work_mat(work, &c->V, EP_DOUBLE, X->cols, outputs));
  EP_TRY(ep_work_get(work, &lambda, outputs, sizeof *lambda));
  EP_TRY(ep_tall_centred(&c->rows, work, X));
  EP_TRY(ep_work_mat(work, &c->part, EP_DOUBLE, EP_TALL_BLOCK, X->cols));
  if (X->cols > SMALL) {
    EP_TRY(ep_work_mat(work, &c->Y, EP_DOUBLE, EP_TALL_BLOCK,
                       ep_eigen_block(&config, outputs, X->cols)));
    return ep_eigen_largest(&c->V, lambda, &info, covariance, c, &config, 0);
  }
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, X->cols, X->cols));
  EP_TRY(ep_tall_cross(&C, &c->rows, &c->rows));
  return ep_eigen_matrix(&c->V, lambda, &info, &C, &config, 0);
}

static ep_status embed_components(const ep_mat *E, const ep_mat *X, const void *user) {
  const components *c = user;
  ep_tall rows = c->rows; /* the mean is that of the points it was made from */
  ep_work work = {0};
  ep_mat y;
  rows.X = X, rows.count = X->rows, rows.index = NULL;
  const ep_status st = ep_work_mat(&work, &y, EP_DOUBLE, EP_TALL_BLOCK, E->cols);
  for (ptrdiff_t i = 0; !st && i < X->rows; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = X->rows - i < EP_TALL_BLOCK ? X->rows - i : EP_TALL_BLOCK;
    const ep_mat x = ep_mat_rows(&c->part, 0, m), out = ep_mat_rows(&y, 0, m),
                 to = ep_mat_rows(E, i, m);
    ep_tall_get(&x, &rows, i);
    ep_mat_mul(&out, 1, &x, EP_N, &c->V, EP_N, 0);
    ep_mat_copy(&to, &out);
  }
  ep_work_free(&work);
  return st;
}

static ep_status add_baseline(ep_fitted *f, json_t *methods, ep_baseline which,
                              const ep_outputs *map, double seconds, const ep_job *job) {
  const double nan = NAN;
  f->name = ep_baseline_name(which);
  f->entry = json_object();
  f->trial = (ep_trial){true, false, nan, nan, nan, nan, nan, nan, seconds, 0, nan, nan, nan};
  f->trial.memory = (double)ep_memory_peak();
  EP_TRY(ep_json_put(methods, f->name, f->entry));
  EP_TRY(ep_judge(f, map, job));
  return ep_trial_write(f->entry, &f->trial);
}

ep_status ep_judge_baselines(ep_fitted fitted[2], json_t *methods, const ep_job *job) {
  const ep_mat *X = &job->points->X;
  const long wanted = job->base->net.outputs;
  const ptrdiff_t z = wanted < X->cols ? wanted : X->cols;
  ep_work work = {0};
  components c = {0};
  ep_memory_peak_reset();
  const ep_outputs raw = {X->cols, embed_raw, NULL};
  ep_progress_begin(job->progress, ep_baseline_name(EP_BASELINE_RAW), 0, job->seed);
  ep_status st = add_baseline(&fitted[0], methods, EP_BASELINE_RAW, &raw, 0, job);
  ep_progress_end(job->progress);
  ep_progress_begin(job->progress, ep_baseline_name(EP_BASELINE_PCA), 0, job->seed);
  ep_memory_peak_reset();
  const double clock = omp_get_wtime();
  if (!st) st = principal(&work, &c, X, z);
  const ep_outputs map = {z, embed_components, &c};
  if (!st)
    st = add_baseline(&fitted[1], methods, EP_BASELINE_PCA, &map, omp_get_wtime() - clock, job);
  ep_progress_end(job->progress);
  ep_work_free(&work);
  return st;
}
