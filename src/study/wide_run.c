/* Fits over widths and seeds for WIDE's claims. */
#include "study/wide.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"
#include "method/methods.h"
#include "study/jobs.h"

#include <eigenpair/dataset.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *wide_images(ep_claim_size size) { return size == EP_CLAIM_PAPER ? "mnist" : "digits"; }

long wide_points(ep_claim_size size) { return size == EP_CLAIM_QUICK ? 20 : 50; }

/* ---- one fit */

static void put_name(char *to, size_t size, const char *text) {
  if (text) snprintf(to, size, "%s", text);
}
#define PUT(field, text) put_name(field, sizeof field, text)

static void set_up(ep_setup *u, const wide_setting *s, const wide_size *z, long width, long seed,
                   const ep_run_config *run) {
  ep_setup_default(u);
  u->run = *run;
  u->run.seed = seed;
  PUT(u->data.data, s->data ? s->data : "digits");
  PUT(u->pair.pairs, s->pairs);
  PUT(u->pair.augment, s->augment);
  PUT(u->fit.method, s->method);
  PUT(u->fit.track, s->track);
  PUT(u->objective.loss, s->loss);
  u->objective.similarity = s->similarity;
  PUT(u->net.activation, s->activation);
  u->data.samples = z->anchors;
  u->net.width = width;
  if (s->depth) u->net.depth = s->depth;
  if (s->outputs) u->net.outputs = s->outputs;
  if (s->rate > 0) u->fit.rate = s->rate;
  if (s->rate_of_width > 0) u->fit.rate = s->rate_of_width * (double)width;
  if (s->patience) u->fit.patience = s->patience;
  u->fit.tolerance = s->tolerance;
  u->fit.epochs = z->epochs;
  u->fit.track_points = s->track_points ? s->track_points : z->anchors < 100 ? 20 : 50;
  u->fit.track_every = s->track_every ? s->track_every : z->epochs > 25 ? z->epochs / 25 : 1;
}

wide_setting wide_same_progress(const wide_setting *s, const wide_size *z) {
  wide_setting other = *s;
  other.rate_of_width = s->rate / (double)z->width[0];
  return other;
}

/* ---- long fits are parts: kept on the way, so that a claim that was killed goes on from them */

static bool is_long(const ep_setup *u) { /* a second and more */
  return (double)u->fit.epochs * (double)u->net.width * (double)u->data.samples >= 1e6;
}

/* The place of a fit is named by its settings and the weights it starts from (NULL: drawn with its seed). */
static ep_status keep_parts(ep_setup *u, const ep_net *start) {
  char name[40], weights[40] = "";
  json_t *settings;
  EP_TRY(ep_folder_make(ep_run_parts()));
  EP_TRY(ep_setup_to_json(&settings, u));
  if (start)
    snprintf(weights, sizeof weights, "%016llx",
             (unsigned long long)ep_hash(EP_HASH_START, start->theta.data,
                                         (size_t)start->theta.cols * ep_sizeof(start->theta.prec)));
  ep_status st = ep_json_put(settings, "start", json_string(weights));
  if (!st) st = ep_jobs_fingerprint(name, settings);
  json_decref(settings);
  EP_TRY(st);
  snprintf(u->files.checkpoint, sizeof u->files.checkpoint, "%.900s/%s.npz", ep_run_parts(), name);
  u->files.every = u->fit.epochs < 5000 ? u->fit.epochs / 10 : 500;
  if (access(u->files.checkpoint, R_OK) == 0)
    memcpy(u->files.resume, u->files.checkpoint, sizeof u->files.resume);
  return EP_OK;
}

static ep_status fit(ep_model **model, ep_fit_info *info, const ep_points *points, ep_setup *u,
                     const ep_net *start) {
  u->files.out[0] = u->files.checkpoint[0] = '\0'; /* no files, but for the parts of a long fit */
  if (ep_run_parts() && is_long(u)) EP_TRY(keep_parts(u, start));
  const ep_status st = ep_fit_quietly(model, info, points, u, start);
  u->files.resume[0] = '\0';
  return st;
}

ep_status wide_setup_only(wide_fit *f, const wide_setting *s, const wide_size *z, long width,
                          long seed, const ep_run_config *run) {
  *f = (wide_fit){.setup = ep_alloc(1, sizeof *f->setup), .run = run};
  EP_CHECK(f->setup, EP_ERR_NOMEM, "no memory for a setup");
  set_up(f->setup, s, z, width, seed, run);
  return EP_OK;
}

ep_status wide_begin(wide_fit *f, const wide_setting *s, const wide_size *z, long width, long seed,
                     const ep_run_config *run) {
  ep_objective o;
  EP_TRY(wide_setup_only(f, s, z, width, seed, run));
  EP_TRY(ep_objective_parse(&o, &f->setup->objective));
  return ep_points_load(NULL, &f->points, &f->setup->data, &f->setup->pair,
                        ep_objective_positives_only(&o) ? "positives" : "triplet", &f->setup->run);
}

static ep_status fit_again(ep_model **model, ep_fit_info *info, const wide_fit *f,
                           const char *method, const ep_net *start, long epochs) {
  ep_setup *setup = ep_alloc(1, sizeof *setup);
  EP_CHECK(setup, EP_ERR_NOMEM, "no memory for a setup");
  *setup = *f->setup;
  PUT(setup->fit.method, method);
  setup->fit.track[0] = '\0';
  setup->fit.epochs = epochs;
  const ep_status st = fit(model, info, &f->points, setup, start);
  ep_release(setup);
  return st;
}

ep_status wide_fit_again(ep_model **model, ep_fit_info *info, const wide_fit *f, const char *method,
                         long epochs) {
  return fit_again(model, info, f, method, NULL, epochs);
}

ep_status wide_fit_from(ep_model **model, ep_fit_info *info, const wide_fit *f, const char *method,
                        const ep_net *start, long epochs) {
  return fit_again(model, info, f, method, start, epochs);
}

ep_status wide_start(wide_fit *f) {
  ep_fit_info none = {0};
  const ep_status st = wide_fit_again(&f->start, &none, f, NULL, 0);
  ep_fit_info_free(&none);
  return st;
}

ep_status wide_train_from_start(wide_fit *f) {
  return fit(&f->model, &f->info, &f->points, f->setup, ep_model_net(f->start));
}

ep_status wide_fit_on(wide_fit *f) { return fit(&f->model, &f->info, &f->points, f->setup, NULL); }

ep_status wide_train(wide_fit *f) {
  EP_TRY(wide_start(f));
  return wide_fit_on(f);
}

void wide_free(wide_fit *f) {
  ep_release(f->setup);
  ep_points_free(&f->points);
  ep_model_free(f->start);
  ep_model_free(f->model);
  ep_fit_info_free(&f->info);
  *f = (wide_fit){0};
}

ep_status wide_embed(ep_mat *E, const ep_model *model, const ep_mat *X) {
  EP_TRY(ep_mat_new(E, X->prec, X->rows, ep_model_outputs(model)));
  return ep_model_embed(NULL, E, model, X);
}

bool wide_diverged(const wide_fit *f) { return f->info.outcome == EP_DIVERGED; }

static int column_of(const ep_history *h, const char *column) {
  int c = 0;
  while (c < h->columns && strcmp(h->name[c], column) != 0) c++;
  return c;
}

double wide_history(const ep_fit_info *info, const char *column, ptrdiff_t row) {
  const ep_history *h = &info->history;
  const int c = column_of(h, column);
  if (c == h->columns || row >= h->rows || h->rows == 0) return NAN;
  return h->value[(row < 0 ? h->rows - 1 : row) * h->columns + c];
}

/* ---- all of them */

/* wide_train; `history`: its end may be missing */
static ep_status train_once(wide_fit *f, bool history) {
  bool there = false;
  const bool keeps = history && ep_run_parts() && is_long(f->setup);
  EP_TRY(wide_start(f));
  if (keeps) EP_TRY(wide_history_take(&there, f));
  if (there) return EP_OK;
  EP_TRY(wide_fit_on(f));
  if (!keeps) return EP_OK;
  EP_TRY(wide_history_keep(f));
  unlink(f->setup->files.checkpoint); /* a gigabyte at the papers' widths */
  return EP_OK;
}

static ep_status one(double *out, const wide_setting *s, const wide_size *z, long width, long seed,
                     wide_measure *measure, bool history, void *user, const ep_run_config *run) {
  wide_fit f;
  ep_status st = wide_begin(&f, s, z, width, seed, run);
  if (!st) st = train_once(&f, history);
  if (!st) st = measure(out, &f, seed == run->seed, user);
  wide_free(&f);
  return st;
}

/* a run costs about as its width */
static ep_status sweep(claim_curve *curves, int quantities, ep_work *work, const wide_setting *s,
                       const wide_size *z, wide_measure *measure, bool history, void *user,
                       const ep_run_config *run) {
  double done = 0, all = 0, out[16];
  for (int w = 0; w < z->widths; w++) all += (double)z->width[w] * z->seeds;
  for (int q = 0; q < quantities; q++)
    EP_TRY(claim_curve_new(&curves[q], work, z->widths, z->seeds));
  for (int w = 0; w < z->widths; w++)
    for (int k = 0; k < z->seeds; k++) {
      EP_TRY(ep_run_step("widths", done, all));
      EP_TRY(one(out, s, z, z->width[w], run->seed + k, measure, history, user, run));
      for (int q = 0; q < quantities; q++) {
        curves[q].x[w] = (double)z->width[w];
        *claim_at(&curves[q], w, k) = out[q];
      }
      done += (double)z->width[w];
    }
  return EP_OK;
}

ep_status wide_sweep(claim_curve *curves, int quantities, ep_work *work, const wide_setting *s,
                     const wide_size *z, wide_measure *measure, void *user,
                     const ep_run_config *run) {
  return sweep(curves, quantities, work, s, z, measure, false, user, run);
}

ep_status wide_sweep_histories(claim_curve *curves, int quantities, ep_work *work,
                               const wide_setting *s, const wide_size *z, wide_measure *measure,
                               void *user, const ep_run_config *run) {
  return sweep(curves, quantities, work, s, z, measure, true, user, run);
}

/* ---- laws and figures */

ep_status wide_medians(ep_claim_result *r, const char *name, const claim_curve *c) {
  double x[WIDE_WIDTHS];
  for (ptrdiff_t i = 0; i < c->count; i++) x[i] = claim_median(c, i);
  return ep_claim_measure_all(r, name, x, c->count);
}

ep_status wide_law(ep_power_law *law, ep_claim_result *r, const char *name, const claim_curve *c) {
  char full[96];
  *law = claim_law(c);
  if (!claim_whole(c)) law->exponent = law->low = law->high = NAN; /* a run was lost */
  EP_TRY(ep_claim_measure_all(r, "widths", c->x, c->count));
  EP_TRY(wide_medians(r, name, c));
  snprintf(full, sizeof full, "%s_exponent", name);
  return claim_measure_law(r, full, law);
}

bool wide_falls(const ep_power_law *law) { return law->exponent <= -0.4 && law->high < 0; }

ep_status wide_width_figure(json_t **figure, ep_claim_result *r, const char *name,
                            const char *title, const char *alt, const char *y) {
  return claim_figure(figure, r, name, EP_FIGURE_LINE, title, alt,
                      (ep_axis){"width M", .log = true}, (ep_axis){y, .log = true});
}

ep_status wide_slope(json_t *figure, const char *panel, const claim_curve *c) {
  double y[WIDE_WIDTHS];
  for (ptrdiff_t i = 0; i < c->count; i++) y[i] = claim_median(c, 0) * sqrt(c->x[0] / c->x[i]);
  return ep_figure_add(figure, &(ep_series){.name = "slope -1/2",
                                            .panel = panel,
                                            .count = c->count,
                                            .x = c->x,
                                            .y = y,
                                            .dashed = true});
}

/* mean and deviation of what is finite */
static ep_status draw_times(const wide_times *t, const char *name) {
  const claim_curve *c = &t->c;
  ep_work work = {0};
  double *y[3];
  ep_status st = EP_OK;
  for (int k = 0; !st && k < 3; k++) st = ep_work_get(&work, &y[k], c->count, sizeof **y);
  for (ptrdiff_t i = 0; !st && i < c->count; i++) {
    double n = 0, sum = 0, square = 0;
    for (int k = 0; k < c->runs; k++) {
      const double v = *claim_at(c, i, k);
      if (isfinite(v)) n++, sum += v, square += v * v;
    }
    const double mean = sum / n, deviation = sqrt(fmax(square / n - mean * mean, 0));
    y[0][i] = mean, y[1][i] = mean - deviation, y[2][i] = mean + deviation;
  }
  if (!st)
    st = ep_figure_add(t->figure, &(ep_series){.name = name,
                                               .panel = t->panel,
                                               .count = c->count,
                                               .x = c->x,
                                               .y = y[0],
                                               .low = c->runs > 1 ? y[1] : NULL,
                                               .high = c->runs > 1 ? y[2] : NULL});
  ep_work_free(&work);
  return st;
}

ep_status wide_times_add(wide_times *t, const wide_fit *f, double scale) {
  const long every = f->setup->fit.track_every, looks = f->setup->fit.epochs / every;
  const ep_history *h = &f->info.history;
  char name[64];
  ep_status st = EP_OK;
  if (looks == 0) return EP_OK;
  if (t->seen == 0) st = claim_curve_new(&t->c, &t->work, looks, t->seeds);
  for (long i = 0; !st && i < looks; i++) {
    const ptrdiff_t row = (i + 1) * every;
    t->c.x[i] = (double)row;
    *claim_at(&t->c, i, t->seen) =
        row < h->rows ? scale * wide_history(&f->info, t->column, row) : NAN;
  }
  snprintf(name, sizeof name, "M = %ld", f->setup->net.width);
  if (!st && ++t->seen < t->seeds) return EP_OK;
  if (!st) st = draw_times(t, name);
  ep_work_free(&t->work);
  t->work = (ep_work){0};
  t->seen = 0;
  return st;
}

/* what was run, and what is the same in all of them */
ep_status wide_say(ep_claim_result *r, const wide_setting *s, const wide_size *z) {
  const ep_dataset_entry *set = ep_dataset_find(s->data);
  const ep_method_row *method = ep_method_find(s->method);
  char text[500];
  snprintf(text, sizeof text,
           "%s, %ld anchors, positives by %s, one random negative; widths %ld to %ld, %ld outputs, "
           "%s, %s; rate %g, %ld epochs%s, full batch; %d seed%s.",
           s->data, z->anchors, set && set->images ? "crops" : "noise of 0.1", z->width[0],
           z->width[z->widths - 1], s->outputs ? s->outputs : 10,
           s->activation ? s->activation : "relu",
           s->similarity == EP_SIMILARITY_DOT ? "dot" : "cosine", s->rate, z->epochs,
           s->tolerance > 0 ? " at most" : "", z->seeds, z->seeds > 1 ? "s" : "");
  EP_TRY(ep_claim_note(r, text));
  if (method && method->orthogonal)
    EP_TRY(
        ep_claim_note(r,
                      "Descent on W along the Grassmannian (QR retraction), on V as it is; C with "
                      "the cosine's norms inside."));
  snprintf(
      text, sizeof text,
      "Points on the unit sphere, delta 0.01, N(0, 1) weights, first layer not scaled; kernels "
      "at %d points, all outputs.",
      s->track_points    ? (int)s->track_points
      : z->anchors < 100 ? 20
                         : 50);
  return ep_claim_note(r, text);
}

/* ---- drift of a column of the history */

typedef struct {
  wide_times time;
  int diverged;
} following;

/* exponent of the drift over time, in the last three quarters of the epochs */
static double over_time(const ep_fit_info *info, const char *column) {
  enum { MOST = 256 };
  double x[MOST], y[MOST];
  const ptrdiff_t rows = info->history.rows, first = rows / 4 > 0 ? rows / 4 : 1;
  const ptrdiff_t step = (rows - first) / MOST + 1;
  ptrdiff_t n = 0;
  for (ptrdiff_t row = first; row < rows; row += step, n++) {
    x[n] = (double)row;
    y[n] = wide_history(info, column, row);
  }
  return ep_power_law_fit(x, y, n).exponent;
}

static ep_status measure_drift(double *out, wide_fit *f, bool first_seed, void *user) {
  following *g = user;
  (void)first_seed;
  out[0] = wide_diverged(f) ? NAN : wide_history(&f->info, g->time.column, -1);
  out[1] = over_time(&f->info, g->time.column);
  g->diverged += wide_diverged(f);
  return wide_times_add(&g->time, f, 1);
}

/* the figure of that name, made the first time it is asked for: several sweeps are its panels */
static ep_status shared_figure(json_t **figure, ep_claim_result *r, const char *name,
                               const char *title, const char *alt, ep_axis x, ep_axis y) {
  size_t i;
  json_t *f;
  json_array_foreach(r->figures, i, f) {
    if (strcmp(json_string_value(json_object_get(f, "name")), name) != 0) continue;
    *figure = f;
    return EP_OK;
  }
  return claim_figure(figure, r, name, EP_FIGURE_LINE, title, alt, x, y);
}

const wide_column wide_of_K = {"ntk_max", "largest change of K"};
const wide_column wide_of_C = {"c_frobenius", "|C(t) - C(0)|_F"};

static ep_status drift(wide_drift *out, ep_claim_result *r, ep_work *work, const char *prefix,
                       const wide_column *column, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  claim_curve c[2];
  json_t *figure;
  char name[64];
  const char *panel = *prefix ? prefix : NULL;
  following g = {.time = {.column = column->name, .panel = panel, .seeds = z->seeds}};
  const char *quantity = column->says;
  EP_TRY(shared_figure(&g.time.figure, r, "time", "Drift over time",
                       "How far it has moved after so many epochs, a line a width, mean and "
                       "deviation over the seeds.",
                       (ep_axis){"epoch", .log = true}, (ep_axis){quantity, .log = true}));
  const ep_status swept = wide_sweep_histories(c, 2, work, s, z, measure_drift, &g, run);
  ep_work_free(&g.time.work);
  EP_TRY(swept);
  EP_TRY(shared_figure(&figure, r, "width", "Drift against width",
                       "Drift at the end of training for each width, with the range over seeds, "
                       "beside a slope of -1/2.",
                       (ep_axis){"width M", .log = true}, (ep_axis){quantity, .log = true}));
  EP_TRY(claim_draw(figure, "measured", panel, &c[0], false));
  EP_TRY(wide_slope(figure, panel, &c[0]));
  snprintf(name, sizeof name, "%s%sdrift", prefix, *prefix ? "_" : "");
  EP_TRY(wide_law(&out->width, r, name, &c[0]));
  ep_mean_interval(&out->time, &out->time_low, &out->time_high, c[1].all,
                   (int)c[1].count * c[1].runs);
  out->diverged = g.diverged;
  snprintf(name, sizeof name, "%s%stime_exponent", prefix, *prefix ? "_" : "");
  EP_TRY(ep_claim_measure_within(r, name, out->time, out->time_low, out->time_high));
  snprintf(name, sizeof name, "%s%sdiverged", prefix, *prefix ? "_" : "");
  return ep_claim_measure(r, name, g.diverged);
}

ep_status wide_drift_check(wide_drift *out, ep_claim_result *r, const char *prefix,
                           const wide_column *column, const wide_setting *s, const wide_size *z,
                           const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st = drift(out, r, &work, prefix, column, s, z, run);
  ep_work_free(&work);
  return st;
}
