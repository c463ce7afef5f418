/* One width and one seed: every method on the same pairs and the same start, and what lies between them. */
#include "core/mem.h"
#include "study/compare.h"

#include <eigenpair/bounds.h>
#include <eigenpair/kernel.h>
#include <eigenpair/probe.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <string.h>

typedef struct {
  const ep_job *job;
  ep_setup *setup; /* scratch: the settings of one fit */
  json_t *methods; /* of the result */
  json_t *out;     /* the result */
  int done, steps; /* for progress */
} stage;

/* ---- one method */

/* the accuracy of a linear probe on the model's outputs, and a plane of them for the scatter plot */
static ep_status outputs(ep_mat *E, const ep_model *m, const ep_dataset *set) {
  EP_TRY(ep_mat_new(E, set->X.prec, set->X.rows, ep_model_outputs(m)));
  return ep_model_embed(NULL, E, m, &set->X);
}

/* the two principal axes of E, centred */
static ep_status plane(ep_work *work, json_t *entry, const ep_mat *E, const int *labels) {
  const ptrdiff_t n = E->rows < 400 ? E->rows : 400, z = E->cols;
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
  json_t *label = json_array();
  for (ptrdiff_t i = 0; i < n; i++) {
    x[i] = *ep_d(&Y, i, 0);
    x[n + i] = V.cols > 1 ? *ep_d(&Y, i, 1) : 0;
    json_array_append_new(label, json_integer(labels[i]));
  }
  return ep_json_put(entry, "plane",
                     json_pack("{s:o, s:o, s:o}", "x", ep_json_numbers(x, n), "y",
                               ep_json_numbers(x + n, n), "label", label));
}

static ep_status judge_outputs(ep_work *work, json_t *entry, const ep_mat *A, const ep_mat *B,
                               const ep_job *job) {
  const ep_labelled train = {A, job->train->labels},
                    test = {B, job->test ? job->test->labels : NULL};
  ep_probe_config config;
  ep_probe_result r = {0};
  ep_options_default(ep_probe_options, &config);
  const ep_status st =
      ep_probe_run(&r, "linear", &train, job->test ? &test : NULL, &config, &job->base->run);
  const double accuracy = r.accuracy, on_train = r.train_accuracy;
  ep_probe_result_free(&r);
  EP_TRY(st);
  EP_TRY(ep_json_put(entry, "accuracy", json_real(accuracy)));
  EP_TRY(ep_json_put(entry, "train_accuracy", json_real(on_train)));
  if (!job->show) return EP_OK;
  return job->test ? plane(work, entry, B, job->test->labels)
                   : plane(work, entry, A, job->train->labels);
}

static ep_status judge(json_t *entry, const ep_model *m, const ep_job *job) {
  ep_mat A = {0}, B = {0};
  ep_work work = {0};
  if (!job->train) return EP_OK;
  ep_status st = outputs(&A, m, job->train);
  if (!st && job->test) st = outputs(&B, m, job->test);
  if (!st) st = judge_outputs(&work, entry, &A, &B, job);
  ep_work_free(&work);
  ep_mat_free(&A);
  ep_mat_free(&B);
  return st;
}

/* s->setup for a method; everything else as the options say */
static void set(stage *s, const char *method) {
  *s->setup = *s->job->base;
  strcpy(s->setup->fit.method, method);
  s->setup->net.width = s->job->width;
  s->setup->run.seed = s->job->seed;
  s->setup->fit.rate = s->job->config->rate;
  s->setup->fit.epochs = s->job->config->epochs;
  s->setup->fit.track_points = s->job->config->track_points;
  const long every = s->setup->fit.epochs / 12;
  s->setup->fit.track_every = every > 1 ? every : 1;
  s->setup->files.out[0] = '\0'; /* no files */
}

/* tells whom it concerns where the job is */
static void tell(stage *s) {
  const ep_job *j = s->job;
  const double share = (double)s->done++ / (double)s->steps;
  ep_run_progress("compare", 100 * (j->begin + (j->end - j->begin) * share), 100);
}

/* fits s->setup, judges the outputs, writes the row of the table under `name` */
static ep_status run_from(stage *s, ep_model **m, ep_fit_info *info, const char *name,
                          const ep_net *start) {
  json_t *entry = json_object();
  tell(s);
  EP_TRY(ep_json_put(s->methods, name, entry));
  ep_memory_peak_reset();
  EP_TRY(ep_fit_quietly(m, info, s->job->points, s->setup, start));
  EP_TRY(ep_json_put(entry, "loss", ep_json_number(info->loss)));
  EP_TRY(ep_json_put(entry, "status", json_string(ep_outcome_name(info->outcome))));
  EP_TRY(ep_json_put(entry, "epochs", json_integer(info->epochs)));
  EP_TRY(ep_json_put(entry, "seconds", json_real(info->seconds)));
  EP_TRY(ep_json_put(entry, "memory", json_real((double)ep_memory_peak())));
  return judge(entry, *m, s->job);
}

static ep_status run(stage *s, ep_model **m, ep_fit_info *info, const char *name) {
  return run_from(s, m, info, name, NULL);
}

/* the weights that every method starts from */
static ep_status start_weights(ep_net *net, const stage *s) {
  const ep_mat *X = &s->job->points->X;
  return ep_net_draw(net, &s->setup->net, &s->setup->analytic, X->cols, (uint64_t)s->job->seed,
                     X->prec);
}

/* the theory's bounds on this run, beside what was measured; `setup` is still that of the fit */
static ep_status check_bounds(stage *s, const ep_model *m, const ep_fit_info *info) {
  ep_net start;
  ep_bound_result rows[EP_BOUNDS];
  json_t *list = NULL, *all = json_object_get(s->out, "bounds"), *one;
  size_t i;
  if (s->setup->net.depth > 1) return EP_OK;
  EP_TRY(start_weights(&start, s));
  const ep_bound_run run = {&start, ep_model_net(m), s->job->points, s->setup, info->epochs};
  ep_status st = ep_bounds_check(rows, &run);
  if (!st) st = ep_bounds_to_json(&list, rows);
  ep_net_free(&start);
  EP_TRY(st);
  if (!all) st = ep_json_put(s->out, "bounds", all = json_array());
  json_array_foreach(list, i, one) {
    const ep_bound_quantity what =
        rows[i].bound->what; /* of the orthogonal model: C, and its PCA */
    const bool orthogonal = what == EP_BOUND_COVARIANCE || what == EP_BOUND_REPRESENTATION;
    if (st || orthogonal != (strcmp(s->setup->fit.method, "grassmann") == 0)) continue;
    json_object_set_new(one, "method", json_string(s->setup->fit.method));
    json_array_append(all, one);
  }
  json_decref(list);
  return st;
}

static bool diverged(const ep_fit_info *info) { return info->outcome == EP_DIVERGED; }

/* column `name` of the history, divided by `scale`, with its epochs */
static ep_status series(json_t *out, const char *name, const ep_history *h, const char *column,
                        double scale) {
  int c = 2;
  while (c < h->columns && strcmp(h->name[c], column) != 0) c++;
  if (c == h->columns) return EP_OK;
  json_t *x = json_array(), *y = json_array();
  double last = NAN;
  for (ptrdiff_t r = 0; r < h->rows; r++) {
    const double v = h->value[r * h->columns + c] / scale;
    if (v == last) continue; /* between two looks */
    last = v;
    json_array_append_new(x, json_real(h->value[r * h->columns]));
    json_array_append_new(y, ep_json_number(v));
  }
  return ep_json_put(out, name, json_pack("{s:o, s:o}", "epoch", x, "value", y));
}

/* ---- how far apart two representations are */

/* mean and max over points of |a_i - b_i| / |b_i|; points with b = 0 are left out */
static ep_status difference(json_t *out, const char *name, const ep_mat *A, const ep_mat *B) {
  double sum = 0, top = 0, count = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const ep_mat a = ep_mat_rows(A, i, 1), b = ep_mat_rows(B, i, 1);
    const double norm = sqrt(ep_mat_norm2(&b));
    if (!(norm > 0)) continue;
    const double d = sqrt(ep_mat_distance2(&a, &b)) / norm;
    sum += d, count++;
    top = fmax(top, d);
  }
  return ep_json_put(out, name,
                     json_pack("{s:o, s:o}", "mean", ep_json_number(count > 0 ? sum / count : NAN),
                               "max", ep_json_number(count > 0 ? top : NAN)));
}

static ep_status embed_points(ep_mat *F, const stage *s, const ep_model *m) {
  EP_TRY(ep_mat_new(F, s->job->points->X.prec, s->job->points->X.rows, ep_model_outputs(m)));
  return ep_model_embed(NULL, F, m, &s->job->points->X);
}

/* ---- training and the frozen kernel */

/* |K(0)|_F at the points that are followed */
static ep_status kernel_size(double *size, const stage *s) {
  ep_net net;
  ep_mat K = {0};
  const ep_points *p = s->job->points;
  const long asked = s->job->config->track_points;
  const ep_mat X = ep_mat_rows(&p->X, 0, asked < p->X.rows ? asked : p->X.rows);
  EP_TRY(ep_net_draw(&net, &s->setup->net, &s->setup->analytic, X.cols, (uint64_t)s->job->seed,
                     X.prec));
  const ptrdiff_t z = net.shape.outputs;
  ep_status st = ep_mat_new(&K, X.prec, X.rows, X.rows * z * z);
  if (!st)
    st = ep_ntk_empirical(&K, &net, &X, NULL, EP_FULL, ep_run_memory_left(&s->job->base->run));
  if (!st) *size = sqrt(ep_mat_norm2(&K));
  ep_mat_free(&K);
  ep_net_free(&net);
  return st;
}

static ep_status trained(stage *s, ep_mat *F) {
  ep_model *m = NULL;
  ep_fit_info info = {0};
  double size = NAN;
  set(s, "gd");
  strcpy(s->setup->fit.track, "ntk");
  ep_status st = kernel_size(&size, s);
  if (!st) st = run(s, &m, &info, "gd");
  if (!st) st = series(s->out, "ntk_time", &info.history, "ntk_frobenius", size);
  if (!st && !diverged(&info))
    st = ep_json_put(
        s->out, "ntk_drift",
        ep_json_number(info.history.value[(info.history.rows - 1) * info.history.columns + 3] /
                       size));
  if (!st && !diverged(&info)) st = embed_points(F, s, m);
  if (!st && !diverged(&info)) st = check_bounds(s, m, &info);
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

/* the same descent with a frozen kernel; F: outputs of training, empty if it diverged. The analytic kernel begins at the
 * outputs of the same network. */
static ep_status frozen(stage *s, const ep_mat *F, bool analytic) {
  ep_model *m = NULL;
  ep_fit_info info = {0};
  ep_mat E = {0};
  ep_net start = {0};
  ep_status st = EP_OK;
  set(s, "kernel");
  if (analytic) {
    strcpy(s->setup->fit.kernel, "analytic");
    st = start_weights(&start, s);
  }
  if (!st)
    st = run_from(s, &m, &info, analytic ? "kernel, analytic" : "kernel", analytic ? &start : NULL);
  if (!st && F->data && !diverged(&info)) st = embed_points(&E, s, m);
  if (!st && E.data)
    st = difference(s->out, analytic ? "analytic_difference" : "kernel_difference", &E, F);
  ep_mat_free(&E);
  ep_net_free(&start);
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

static ep_status kernels(stage *s) {
  ep_mat F = {0};
  ep_status st = EP_OK;
  if (ep_compare_has(s->job->config, "gd")) st = trained(s, &F);
  if (!st && ep_compare_has(s->job->config, "kernel")) {
    st = frozen(s, &F, false);
    if (!st) st = frozen(s, &F, true);
  }
  ep_mat_free(&F);
  return st;
}

/* ---- the orthogonal model and PCA */

typedef struct {
  ep_model *trained, *first, *last; /* grassmann; PCA of C(0); PCA of C at the end */
  ep_fit_info info[3];
} orthogonal;

/* principal angles in degrees */
static ep_status angles(json_t *out, const char *name, const ep_mat *A, const ep_mat *B) {
  ep_work work = {0};
  double *a;
  ptrdiff_t count = 0;
  ep_status st = ep_work_get(&work, &a, A->cols, sizeof *a);
  if (!st) st = ep_principal_angles(a, &count, A, B);
  for (ptrdiff_t k = 0; !st && k < count; k++) a[k] *= 180 / acos(-1);
  if (!st) st = ep_json_put(out, name, ep_json_numbers(a, count));
  ep_work_free(&work);
  return st;
}

/* U = W'psi of the two PCAs at all points, after the best rotation */
static ep_status rotated_difference(stage *s, orthogonal *o) {
  ep_mat A = {0}, B = {0}, O = {0};
  ep_procrustes_info info;
  ep_status st = ep_model_normalise(o->first);
  if (!st) st = ep_model_normalise(o->last);
  if (!st) st = embed_points(&A, s, o->last);
  if (!st) st = embed_points(&B, s, o->first);
  if (!st) st = ep_mat_new(&O, EP_DOUBLE, A.cols, A.cols);
  if (!st) st = ep_procrustes(&O, &info, &A, &B);
  if (!st)
    st = ep_json_put(s->out, "pca_difference",
                     json_pack("{s:o, s:o, s:o}", "mean", ep_json_number(info.mean), "max",
                               ep_json_number(info.max), "relative",
                               ep_json_number(info.residual / sqrt(ep_mat_norm2(&B)))));
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_mat_free(&O);
  return st;
}

static ep_status spectrum(json_t *out, const ep_fit_info *info) {
  const json_t *lambda = json_object_get(info->numbers, "eigenvalues");
  const json_t *gap = json_object_get(info->numbers, "gap");
  json_t *all = json_copy((json_t *)lambda);
  const size_t n = json_array_size(all);
  if (n > 0 && json_is_real(gap)) /* and the first that was not asked for */
    json_array_append_new(
        all, json_real(json_real_value(json_array_get(all, n - 1)) - json_real_value(gap)));
  return ep_json_put(out, "spectrum", all);
}

static ep_status fit_pca(stage *s, orthogonal *o) {
  set(s, "pca");
  EP_TRY(run(s, &o->first, &o->info[1], "pca"));
  return spectrum(s->out, &o->info[1]);
}

static ep_status fit_grassmann(stage *s, orthogonal *o, double size) {
  const ep_history *h = &o->info[0].history;
  set(s, "grassmann");
  strcpy(s->setup->fit.track, "c,weights");
  EP_TRY(run(s, &o->trained, &o->info[0], "grassmann"));
  EP_TRY(series(s->out, "c_time", h, "c_frobenius", size));
  EP_TRY(series(s->out, "w_time", h, "w_change", 1));
  if (diverged(&o->info[0])) return EP_OK;
  EP_TRY(check_bounds(s, o->trained, &o->info[0]));
  return ep_json_put(s->out, "c_drift",
                     ep_json_number(h->value[(h->rows - 1) * h->columns + 2] / size));
}

/* PCA of C at the weights that grassmann ended with, beside that of C(0) and the trained W */
static ep_status last_pca(stage *s, orthogonal *o) {
  set(s, "pca");
  EP_TRY(ep_fit_quietly(&o->last, &o->info[2], s->job->points, s->setup, ep_model_net(o->trained)));
  EP_TRY(rotated_difference(s, o));
  const ep_mat *const trained = &ep_model_net(o->trained)->W,
                      *const first = &ep_model_net(o->first)->W,
                      *const last = &ep_model_net(o->last)->W;
  EP_TRY(angles(s->out, "angles_trained_first", trained, first));
  EP_TRY(angles(s->out, "angles_trained_last", trained, last));
  return angles(s->out, "angles_last_first", last, first);
}

static ep_status closed(stage *s, orthogonal *o) {
  const ep_compare_config *c = s->job->config;
  double size = NAN;
  if (ep_compare_has(c, "pca")) EP_TRY(fit_pca(s, o));
  if (!ep_compare_has(c, "grassmann")) return EP_OK;
  if (!ep_compare_has(c, "pca")) return fit_grassmann(s, o, 1);
  EP_TRY(ep_covariance_size(&size, o->first, s->job->points));
  EP_TRY(fit_grassmann(s, o, size));
  return diverged(&o->info[0]) ? EP_OK : last_pca(s, o);
}

static ep_status closed_forms(stage *s) {
  orthogonal *o = ep_alloc(1, sizeof *o);
  EP_CHECK(o, EP_ERR_NOMEM, "no memory for a comparison");
  const ep_status st = closed(s, o);
  ep_model_free(o->trained);
  ep_model_free(o->first);
  ep_model_free(o->last);
  for (int i = 0; i < 3; i++) ep_fit_info_free(&o->info[i]);
  ep_release(o);
  return st;
}

/* ---- methods that are only rows of the table */

static ep_status plain(stage *s, const char *method) {
  ep_model *m = NULL;
  ep_fit_info info = {0};
  set(s, method);
  if (strcmp(method, "iterate") == 0) s->setup->fit.epochs = s->job->config->iterations;
  ep_status st = run(s, &m, &info, method);
  if (!st && strcmp(method, "infinite") == 0) st = spectrum(s->out, &info);
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

static bool has_width(const char *method) { return strcmp(method, "infinite") != 0; }

static ep_status everything(stage *s, bool infinite) {
  static const char *const done[] = {"gd", "kernel", "pca", "grassmann"};
  for (int i = 0; ep_method_name(i); i++) {
    const char *name = ep_method_name(i);
    bool plain_one = ep_compare_has(s->job->config, name) && has_width(name) == !infinite;
    for (int k = 0; k < 4; k++) plain_one = plain_one && strcmp(name, done[k]) != 0;
    if (plain_one) EP_TRY(plain(s, name));
  }
  if (infinite) return EP_OK;
  EP_TRY(closed_forms(s));
  return kernels(s);
}

static ep_status fill(stage *s, bool infinite) {
  const ep_job *j = s->job;
  s->methods = json_object();
  EP_TRY(ep_json_put(s->out, "methods", s->methods));
  EP_TRY(ep_json_put(s->out, "width", infinite ? json_null() : json_integer(j->width)));
  EP_TRY(ep_json_put(s->out, "seed", json_integer(j->seed)));
  for (int i = 0; ep_method_name(i); i++) s->steps += ep_compare_has(j->config, ep_method_name(i));
  s->steps += 1;
  return everything(s, infinite);
}

ep_status ep_compare_job(json_t **out, const ep_job *job, bool infinite) {
  stage s = {.job = job, .setup = ep_alloc(1, sizeof *s.setup), .out = json_object()};
  ep_status st =
      s.setup && s.out ? fill(&s, infinite) : EP_FAIL(EP_ERR_NOMEM, "no memory for a comparison");
  ep_release(s.setup);
  *out = s.out;
  if (st) json_decref(s.out), *out = NULL;
  return st;
}
