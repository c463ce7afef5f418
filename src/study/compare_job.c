/* One width and one seed: every method on the same pairs and the same start, and what lies between them. */
#include "core/mem.h"
#include "study/compare.h"

#include <eigenpair/bounds.h>
#include <eigenpair/kernel.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <string.h>

/* ---- what is run */

/* a fit of the job; `free`: it has no width */
typedef struct {
  const ep_method_row *method;
  bool analytic, free;
} step;
enum { MOST_FITS = 32 };

typedef struct {
  char text[48];
} label;

/* kernel; kernel, analytic */
static label label_of(const step *s) {
  label l;
  snprintf(l.text, sizeof l.text, "%s%s", s->method->name, s->analytic ? ", analytic" : "");
  return l;
}

/* every method named, in the order of the table; after the largest width those without one, and those that are always there */
static int steps_of(step list[MOST_FITS], const ep_compare_config *config, bool last) {
  int n = 0;
  for (int free = 0; free <= (last ? 1 : 0); free++)
    for (int i = 0; ep_method_at(i) && n < MOST_FITS - 2; i++) {
      const ep_method_row *m = ep_method_at(i);
      if (!ep_compare_has(config, m->name) || m->no_width != (free == 1)) continue;
      list[n++] = (step){m, false, free == 1};
      if (m->both_kernels) list[n++] = (step){m, true, false};
    }
  for (int i = 0; last && ep_method_at(i) && n < MOST_FITS; i++)
    if (ep_method_at(i)->always && !ep_compare_has(config, ep_method_at(i)->name))
      list[n++] = (step){ep_method_at(i), false, true};
  return n;
}

void ep_compare_plan(ep_compare_progress *p, const ep_compare_config *config, long width,
                     bool last) {
  step list[MOST_FITS];
  const int n = steps_of(list, config, last);
  for (int i = 0; i < n; i++)
    ep_progress_plan(p, label_of(&list[i]).text, list[i].free ? 0 : (double)width);
  if (!last) return;
  for (int k = EP_NO_BASELINE + 1; k < EP_BASELINES; k++)
    ep_progress_plan(p, ep_baseline_name(k), 0);
}

/* ---- one fit */

typedef struct {
  ep_fitted result;
  ep_model *model;
  ep_fit_info info;
  bool analytic;
  label name;
} fit;

typedef struct {
  const ep_job *job;
  ep_setup *setup;                /* scratch: the settings of one fit */
  json_t *out, *free;             /* the result; that of methods without a width */
  json_t *methods, *free_methods; /* of them */
  json_t *bounds;                 /* of the theory; NULL: not yet */
  fit fit[MOST_FITS];
  ep_fitted baseline[2];
  int count;
  size_t held; /* bytes before the first fit */
} stage;

/* s->setup for a method; everything else as the options say */
static void set(stage *s, const ep_method_row *method) {
  *s->setup = *s->job->base;
  strcpy(s->setup->fit.method, method->name);
  s->setup->net.width = s->job->width;
  s->setup->run.seed = s->job->seed;
  s->setup->fit.rate = s->job->config->rate;
  s->setup->fit.epochs = method->few_steps ? s->job->config->iterations : s->job->config->epochs;
  s->setup->fit.track_points = s->job->config->track_points;
  const long every = s->setup->fit.epochs / 12;
  s->setup->fit.track_every = every > 1 ? every : 1;
  s->setup->files.out[0] = '\0'; /* no files */
}

/* a method that nobody named: patches of images, else a network no wider than need be */
static void set_unasked(stage *s) {
  enum { WIDE_ENOUGH = 1000 };
  if (s->job->points->shape.height > 0 && ep_features_are_network(&s->job->base->feature))
    strcpy(s->setup->feature.features, EP_COMPARE_PATCHES);
  if (s->setup->net.width > WIDE_ENOUGH) s->setup->net.width = WIDE_ENOUGH;
}

static void set_step(stage *s, const step *one) {
  set(s, one->method);
  if (one->analytic) s->setup->fit.kernel = EP_KERNEL_ANALYTIC;
  if (one->free && !one->method->no_width) set_unasked(s);
  if (one->method->track) strcpy(s->setup->fit.track, one->method->track);
}

/* the weights that every method starts from */
static ep_status start_weights(ep_net *net, const stage *s) {
  const ep_mat *X = &s->job->points->X;
  return ep_net_draw(net, &s->setup->net, &s->setup->analytic, X->cols, (uint64_t)s->job->seed,
                     X->prec);
}

/* the same points with the positives alone */
static ep_status leave_negatives_out(ep_points *out, const ep_points *from) {
  const ep_pairs *p = &from->pairs;
  ep_pairs q;
  ptrdiff_t count = 0;
  EP_TRY(ep_pairs_new(&q, p->anchors, p->points, p->start[p->anchors], false));
  for (ptrdiff_t i = 0; i < p->anchors; i++) {
    q.anchor[i] = p->anchor[i];
    for (ptrdiff_t k = p->start[i]; k < p->start[i + 1] && p->sign[k] > 0; k++) {
      q.partner[count] = p->partner[k];
      q.sign[count++] = 1;
    }
    q.start[i + 1] = count;
  }
  *out = ep_points_borrow(&from->X, &q);
  out->shape = from->shape;
  out->unit = from->unit;
  return EP_OK;
}

static ep_status fit_views(stage *s, fit *f) {
  ep_points views;
  EP_TRY(leave_negatives_out(&views, s->job->points));
  const ep_status st = ep_fit_quietly(&f->model, &f->info, &views, s->setup, NULL);
  ep_points_free(&views);
  return st;
}

/* the analytic kernel begins at the outputs of the same network */
static ep_status fit_step(stage *s, fit *f, const step *one) {
  ep_net start = {0};
  if (one->method->views && ep_pairs_has_negatives(&s->job->points->pairs)) return fit_views(s, f);
  if (!one->analytic) return ep_fit_quietly(&f->model, &f->info, s->job->points, s->setup, NULL);
  EP_TRY(start_weights(&start, s));
  const ep_status st = ep_fit_quietly(&f->model, &f->info, s->job->points, s->setup, &start);
  ep_net_free(&start);
  return st;
}

static int column_of(const ep_history *h, const char *name) {
  int c = 0;
  while (c < h->columns && strcmp(h->name[c], name) != 0) c++;
  return c;
}

static double history_at(const ep_history *h, ptrdiff_t row, const char *name) {
  const int c = column_of(h, name);
  return c < h->columns && row >= 0 && row < h->rows ? h->value[row * h->columns + c] : NAN;
}

/* share of the change of the loss that the last tenth of the epochs made */
static double settling(const ep_fit_info *info) {
  const ep_history *h = &info->history;
  const ptrdiff_t last = h->rows - 1;
  if (info->outcome == EP_CONVERGED) return 0;
  if (last < EP_TENTHS) return NAN;
  const double end = history_at(h, last, "loss"), all = fabs(history_at(h, 0, "loss") - end);
  return all > 0 ? fabs(history_at(h, last - last / 10, "loss") - end) / all : 0;
}

/* how far the outputs of training are from those of its start: the same fit with no epochs */
static ep_status moved(stage *s, fit *f) {
  const ep_points *p = s->job->unseen;
  ep_model *m = NULL;
  ep_fit_info info = {0};
  ep_mat E = {0}, F = {0}; /* in the precision of the points, and in double */
  s->setup->fit.epochs = 0;
  s->setup->fit.track[0] = '\0';
  ep_status st = ep_fit_quietly(&m, &info, s->job->points, s->setup, NULL);
  if (!st) st = ep_mat_new(&E, p->X.prec, p->X.rows, ep_model_outputs(m));
  if (!st) st = ep_mat_new(&F, EP_DOUBLE, E.rows, E.cols);
  if (!st) st = ep_model_embed(NULL, &E, m, &p->X);
  if (!st) ep_mat_copy(&F, &E);
  if (!st)
    st = ep_outputs_difference(&f->result.trial.moved, &f->result.F, &F, f->result.method->rotated);
  ep_mat_free(&E);
  ep_mat_free(&F);
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

static bool diverged(const fit *f) { return f->info.outcome == EP_DIVERGED; }

static ep_status judge(stage *s, fit *f) {
  const ep_outputs map = ep_outputs_of(f->model);
  const ep_method_row *m = f->result.method;
  EP_TRY(ep_judge(&f->result, &map, s->job));
  if (m->closed || diverged(f)) return EP_OK;
  f->result.trial.settling = settling(&f->info);
  return m->stands_for ? EP_OK : moved(s, f);
}

static ep_status run_fit(stage *s, fit *f, const step *one) {
  const double nan = NAN;
  const size_t before = ep_memory_current();
  json_t *entry = json_object();
  f->name = label_of(one);
  f->result = (ep_fitted){.name = f->name.text, .method = one->method, .entry = entry};
  EP_TRY(ep_json_put(one->free ? s->free_methods : s->methods, f->result.name, entry));
  EP_TRY(ep_json_put(entry, "method", json_string(one->method->name)));
  EP_TRY(ep_json_put(entry, "analytic", json_boolean(one->analytic)));
  f->analytic = one->analytic;
  set_step(s, one);
  ep_memory_peak_reset();
  EP_TRY(fit_step(s, f, one));
  f->result.trial = (ep_trial){true,         diverged(f),     nan, nan, nan, nan, nan,
                               f->info.loss, f->info.seconds, 0,   nan, nan, nan};
  f->result.trial.memory = (double)ep_memory_peak() - (double)(before - s->held);
  EP_TRY(ep_json_put(entry, "status", json_string(ep_outcome_name(f->info.outcome))));
  EP_TRY(ep_json_put(entry, "epochs", json_integer(f->info.epochs)));
  if (one->free && !one->method->no_width)
    EP_TRY(ep_json_put(entry, "features", json_string(s->setup->feature.features)));
  return judge(s, f);
}

static ep_status run_step(stage *s, const step *one) {
  ep_progress_begin(s->job->progress, label_of(one).text, one->free ? 0 : (double)s->job->width,
                    s->job->seed);
  const ep_status st = run_fit(s, &s->fit[s->count++], one);
  ep_progress_end(s->job->progress);
  return st;
}

/* ---- what lies between them */

/* the fit of a method that ended well; NULL: there is none */
static fit *find(stage *s, const ep_method_row *method) {
  for (int i = 0; method && i < s->count; i++)
    if (s->fit[i].result.method == method && !s->fit[i].analytic && !diverged(&s->fit[i]))
      return &s->fit[i];
  return NULL;
}

/* the fit of a theory: its training, diverged or not, or what stands for it, which ended well; NULL: there is none */
static fit *of_theory(stage *s, ep_theory theory, bool training, bool analytic) {
  for (int i = 0; i < s->count; i++) {
    const ep_method_row *m = s->fit[i].result.method;
    if (m->theory == theory && !m->stands_for == training && s->fit[i].analytic == analytic &&
        (training || !diverged(&s->fit[i])))
      return &s->fit[i];
  }
  return NULL;
}

/* what a fit is held against: what it stands for, else the first training of the table that was run */
static fit *training_of(stage *s, const fit *f) {
  const ep_method_row *m = f->result.method;
  fit *own = find(s, ep_method_find(m->stands_for));
  if (own) return own;
  for (int i = 0; i < s->count; i++)
    if (!s->fit[i].result.method->closed && !s->fit[i].result.method->stands_for &&
        !diverged(&s->fit[i]))
      return &s->fit[i];
  return NULL;
}

static ep_status differences(stage *s) {
  for (int i = 0; i < s->count; i++) {
    fit *f = &s->fit[i], *training = training_of(s, f);
    if (training && training != f && !diverged(f))
      EP_TRY(ep_outputs_difference(&f->result.trial.difference, &f->result.F, &training->result.F,
                                   f->result.method->rotated));
    EP_TRY(ep_trial_write(f->result.entry, &f->result.trial));
  }
  return EP_OK;
}

/* a column of the history, divided by `scale`, with its epochs */
static ep_status series(json_t *out, const char *name, const ep_history *h, const char *column,
                        double scale) {
  if (column_of(h, column) == h->columns) return EP_OK;
  json_t *x = json_array(), *y = json_array();
  double last = NAN;
  EP_TRY(ep_json_put(out, name, json_pack("{s:o, s:o}", "epoch", x, "value", y)));
  for (ptrdiff_t r = 0; r < h->rows; r++) {
    const double v = history_at(h, r, column) / scale;
    if (v == last) continue; /* between two looks */
    last = v;
    EP_TRY(ep_json_append(x, json_real(history_at(h, r, "epoch"))));
    EP_TRY(ep_json_append(y, ep_json_number(v)));
  }
  return EP_OK;
}

/* mean and max over the points of the pairs of |a_i - b_i| / |b_i|; points with b = 0 are left out */
static ep_status point_differences(json_t *out, const char *name, const ep_mat *A,
                                   const ep_mat *B) {
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

/* ---- the theory's part: training and the frozen kernel */

/* the theory's bounds on this run, beside what was measured */
static ep_status check_bounds(stage *s, const fit *f) {
  ep_net start;
  ep_bound_result rows[EP_BOUNDS];
  json_t *list = NULL, *one;
  size_t i;
  const bool grassmann = f->result.method->rotated;
  set(s, f->result.method);
  if (s->setup->net.depth > 1) return EP_OK;
  EP_TRY(start_weights(&start, s));
  const ep_bound_run run = {&start, ep_model_net(f->model), s->job->points, s->setup,
                            f->info.epochs};
  ep_status st = ep_bounds_check(rows, &run);
  if (!st) st = ep_bounds_to_json(&list, rows);
  ep_net_free(&start);
  EP_TRY(st);
  if (!s->bounds) st = ep_json_put(s->out, "bounds", s->bounds = json_array());
  json_array_foreach(list, i, one) {
    const ep_bound_quantity what =
        rows[i].bound->what; /* of the orthogonal model: C, and its PCA */
    const bool orthogonal = what == EP_BOUND_COVARIANCE || what == EP_BOUND_REPRESENTATION;
    if (st || orthogonal != grassmann) continue;
    st = ep_json_put(one, "method", json_string(s->setup->fit.method));
    if (!st) st = ep_json_append(s->bounds, json_incref(one));
  }
  json_decref(list);
  return st;
}

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
    st =
        ep_ntk_empirical(NULL, &K, &net, &X, NULL, EP_FULL, ep_run_memory_left(&s->job->base->run));
  if (!st) *size = sqrt(ep_mat_norm2(&K));
  ep_mat_free(&K);
  ep_net_free(&net);
  return st;
}

static ep_status kernel_differences(stage *s, const fit *gd) {
  static const char *const names[] = {"kernel_difference", "analytic_difference"};
  const fit *const frozen[] = {of_theory(s, EP_THEORY_KERNEL, false, false),
                               of_theory(s, EP_THEORY_KERNEL, false, true)};
  ep_mat F = {0}, E = {0};
  ep_status st = frozen[0] ? embed_points(&F, s, gd->model) : EP_OK;
  for (int k = 0; !st && F.data && k < 2; k++) {
    if (!frozen[k]) continue;
    st = embed_points(&E, s, frozen[k]->model);
    if (!st) st = point_differences(s->out, names[k], &E, &F);
    ep_mat_free(&E);
    E = (ep_mat){0};
  }
  ep_mat_free(&F);
  return st;
}

static ep_status kernel_part(stage *s) {
  const fit *gd = of_theory(s, EP_THEORY_KERNEL, true, false);
  double size = NAN;
  if (!gd) return EP_OK;
  const ep_history *h = &gd->info.history;
  set(s, gd->result.method);
  EP_TRY(kernel_size(&size, s));
  EP_TRY(series(s->out, "ntk_time", h, "ntk_frobenius", size));
  if (diverged(gd)) return EP_OK;
  EP_TRY(ep_json_put(s->out, "ntk_drift",
                     ep_json_number(history_at(h, h->rows - 1, "ntk_frobenius") / size)));
  EP_TRY(check_bounds(s, gd));
  return kernel_differences(s, gd);
}

/* ---- and the orthogonal model and PCA */

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
static ep_status rotated_difference(stage *s, ep_model *first, ep_model *last) {
  ep_mat A = {0}, B = {0}, O = {0};
  ep_procrustes_info info;
  ep_status st = ep_model_normalise(first);
  if (!st) st = ep_model_normalise(last);
  if (!st) st = embed_points(&A, s, last);
  if (!st) st = embed_points(&B, s, first);
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

static ep_status spectrum(json_t *out, const ep_eigenvalues *s) {
  json_t *all = ep_json_numbers(s->value, s->count);
  EP_TRY(ep_json_put(out, "spectrum", all));
  if (s->count == 0 || !isfinite(s->gap)) return EP_OK;
  return ep_json_append(all,
                        json_real(s->value[s->count - 1] - s->gap)); /* the first not asked for */
}

/* PCA of C at the weights that grassmann ended with, beside that of C(0) and the trained W */
static ep_status last_pca(stage *s, const fit *trained, fit *first) {
  ep_model *last = NULL;
  ep_fit_info info = {0};
  set(s, first->result.method);
  ep_status st =
      ep_fit_quietly(&last, &info, s->job->points, s->setup, ep_model_net(trained->model));
  if (!st) st = rotated_difference(s, first->model, last);
  const ep_mat *const W = &ep_model_net(trained->model)->W,
                      *const W0 = &ep_model_net(first->model)->W,
                      *const W1 = st ? W : &ep_model_net(last)->W;
  if (!st) st = angles(s->out, "angles_trained_first", W, W0);
  if (!st) st = angles(s->out, "angles_trained_last", W, W1);
  if (!st) st = angles(s->out, "angles_last_first", W1, W0);
  ep_model_free(last);
  ep_fit_info_free(&info);
  return st;
}

static ep_status pca_part(stage *s) {
  fit *first = of_theory(s, EP_THEORY_PCA, false, false);
  const fit *trained = of_theory(s, EP_THEORY_PCA, true, false);
  double size = 1;
  if (first) EP_TRY(spectrum(s->out, &first->info.spectrum));
  for (int i = 0; i < s->count; i++)
    if (s->fit[i].result.method->no_width && !diverged(&s->fit[i]))
      EP_TRY(spectrum(s->free, &s->fit[i].info.spectrum));
  if (!trained) return EP_OK;
  const ep_history *h = &trained->info.history;
  if (first) EP_TRY(ep_covariance_size(&size, first->model, s->job->points));
  EP_TRY(series(s->out, "c_time", h, "c_frobenius", size));
  EP_TRY(series(s->out, "w_time", h, "w_change", 1));
  if (diverged(trained)) return EP_OK;
  EP_TRY(check_bounds(s, trained));
  EP_TRY(ep_json_put(s->out, "c_drift",
                     ep_json_number(history_at(h, h->rows - 1, "c_frobenius") / size)));
  return first ? last_pca(s, trained, first) : EP_OK;
}

/* ---- the job */

static ep_status begin(stage *s) {
  const ep_job *j = s->job;
  s->methods = json_object();
  EP_TRY(ep_json_put(s->out, "methods", s->methods));
  EP_TRY(ep_json_put(s->out, "width", json_integer(j->width)));
  EP_TRY(ep_json_put(s->out, "seed", json_integer(j->seed)));
  EP_TRY(ep_json_put(s->out, "tests",
                     json_integer(j->test    ? j->test->X.rows
                                  : j->train ? j->train->X.rows / 5
                                             : j->unseen->pairs.anchors)));
  if (!j->last) return EP_OK;
  s->free_methods = json_object();
  EP_TRY(ep_json_put(s->out, "free", s->free = json_object()));
  EP_TRY(ep_json_put(s->free, "methods", s->free_methods));
  EP_TRY(ep_json_put(s->free, "width", json_null()));
  return ep_json_put(s->free, "seed", json_integer(j->seed));
}

static ep_status everything(stage *s) {
  step list[MOST_FITS];
  const int n = steps_of(list, s->job->config, s->job->last);
  EP_TRY(begin(s));
  s->held = ep_memory_current();
  for (int i = 0; i < n; i++) EP_TRY(run_step(s, &list[i]));
  EP_TRY(differences(s));
  EP_TRY(kernel_part(s));
  EP_TRY(pca_part(s));
  return s->job->last ? ep_judge_baselines(s->baseline, s->free_methods, s->job) : EP_OK;
}

static void drop(stage *s) {
  for (int i = 0; i < s->count; i++) {
    ep_model_free(s->fit[i].model);
    ep_fit_info_free(&s->fit[i].info);
    ep_mat_free(&s->fit[i].result.F);
  }
  for (int i = 0; i < 2; i++) ep_mat_free(&s->baseline[i].F);
  ep_release(s->setup);
  ep_release(s);
}

ep_status ep_compare_job(json_t **out, const ep_job *job) {
  stage *s = ep_alloc(1, sizeof *s);
  *out = json_object();
  EP_CHECK(s && *out, EP_ERR_NOMEM, "no memory for a comparison");
  s->job = job;
  s->out = *out;
  s->setup = ep_alloc(1, sizeof *s->setup);
  const ep_status st =
      s->setup ? everything(s) : EP_FAIL(EP_ERR_NOMEM, "no memory for a comparison");
  drop(s);
  if (st) json_decref(*out), *out = NULL;
  return st;
}
