#include "learnability.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- modes: the levels, largest eigenvalue first, each as often as it counts */

typedef struct {
  const ep_spectrum *spectrum;
  ptrdiff_t *order; /* (levels) */
} ranking;

typedef struct {
  double value;
  ptrdiff_t level;
} ranked;

static int by_value(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->value != y->value) return (x->value < y->value) - (x->value > y->value);
  return (x->level > y->level) - (x->level < y->level);
}

static ep_status rank_levels(ep_work *work, ranking *r, const ep_spectrum *s) {
  ranked *all;
  r->spectrum = s;
  EP_TRY(ep_work_get(work, &r->order, s->levels, sizeof *r->order));
  EP_TRY(ep_work_get(work, &all, s->levels, sizeof *all));
  for (ptrdiff_t i = 0; i < s->levels; i++) all[i] = (ranked){s->value[i], i};
  qsort(all, (size_t)s->levels, sizeof *all, by_value);
  for (ptrdiff_t i = 0; i < s->levels; i++) r->order[i] = all[i].level;
  return EP_OK;
}

/* of[level] for every mode, `most` of them */
static json_t *modes_json(const ranking *r, const double *of, double most) {
  json_t *list = json_array();
  for (ptrdiff_t i = 0; i < r->spectrum->levels && list; i++) {
    const ptrdiff_t k = r->order[i];
    for (double j = 0; j < r->spectrum->count[k]; j++, most--) {
      if (most < 1) return list;
      if (json_array_append_new(list, ep_json_number(of[k]))) return json_decref(list), NULL;
    }
  }
  return list;
}

static json_t *levels_json(const learn_work *w) {
  const ep_spectrum *s = ep_domain_spectrum(w->domain);
  const ptrdiff_t most = s->levels < 1024 ? s->levels : 1024;
  json_t *list = json_array();
  for (ptrdiff_t k = 0; k < most && list; k++) {
    json_t *one =
        json_pack("{s:I,s:f,s:o,s:f}", "degree", (json_int_t)k, "multiplicity", s->count[k],
                  "eigenvalue", ep_json_number(s->value[k]), "learnability", w->L[k]);
    if (one && w->T) json_object_set_new(one, "measured_learnability", ep_json_number(w->T[k]));
    if (one && w->power) json_object_set_new(one, "target_power", ep_json_number(w->power[k]));
    if (json_array_append_new(list, one)) return json_decref(list), NULL;
  }
  return list;
}

/* ---- one n */

static void set(json_t *to, const char *name, double x) {
  json_object_set_new(to, name, ep_json_number(x));
}

static void set_prediction(json_t *to, const ep_prediction *p) {
  set(to, "kappa", p->kappa);
  set(to, "target_learnability", p->learnability);
  set(to, "predicted_mse", p->mse);
  set(to, "predicted_clean_mse", p->clean_mse);
  set(to, "predicted_train_mse", p->train_mse);
  set(to, "predicted_unseen_mse", p->unseen_mse);
  set(to, "overfitting", p->overfit);
  set(to, "sum", p->sum);
}

/* mse also under the name of what it is the measurement of */
static json_t *measured_json(const learn_work *w, const ep_measurement *m, long sets) {
  json_t *to = json_object();
  const struct {
    const char *name;
    ep_mean value;
    bool of_labels;
  } all[] = {{"kappa", m->kappa, false},
             {"target_learnability", m->learnability, false},
             {"mse", m->mse, false},
             {"clean_mse", m->clean_mse, false},
             {"train_mse", m->train_mse, false},
             {"unseen_mse", m->unseen_mse, false},
             {"gcv_mse", m->gcv, false},
             {"sum", m->sum, false},
             {"rank", m->rank, false},
             {"accuracy", m->accuracy, true}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char name[64];
    if (all[i].of_labels && !w->labels) continue;
    snprintf(name, sizeof name, "%s_error", all[i].name);
    set(to, all[i].name, all[i].value.mean);
    set(to, name, all[i].value.error);
  }
  set(to, "predicted_mse", m->mse.mean);
  json_object_set_new(to, "sets", json_integer(sets));
  return to;
}

static json_t *curve_json(const learn_work *w, const setup_learn *s) {
  json_t *list = json_array();
  for (int i = 0; i < w->curve; i++) {
    json_t *one = json_object();
    set(one, "train", w->n[i]);
    set_prediction(one, &w->predicted[i]);
    if (i >= w->within)
      json_object_set_new(one, "beyond",
                          json_pack("{s:o,s:o}", "low", ep_json_number(w->low[i]), "high",
                                    ep_json_number(w->high[i])));
    else if (s->learn.measure)
      json_object_set_new(one, "measured", measured_json(w, &w->measured[i], s->learn.measure));
    json_array_append_new(list, one);
  }
  return list;
}

/* ---- figures */

/* share of the labels right, at points that were not trained on */
static ep_status accuracy_figure(json_t *figures, const learn_work *w) {
  double y[LEARN_CURVE], low[LEARN_CURVE], high[LEARN_CURVE];
  json_t *f;
  for (int i = 0; i < w->within; i++) {
    const ep_mean m = w->measured[i].accuracy;
    y[i] = m.mean, low[i] = m.mean - m.error, high[i] = m.mean + m.error;
  }
  EP_TRY(ep_figure_new(&f, "accuracy", EP_FIGURE_LINE, "Accuracy against training points",
                       "Share of the labels that kernel regression gets right, measured, with its "
                       "standard error.",
                       (ep_axis){"training points n", .log = true},
                       (ep_axis){"accuracy", .percent = true}));
  EP_TRY(ep_json_append(figures, f));
  return ep_figure_add(
      f, &(ep_series){
             .name = "measured", .count = w->within, .x = w->n, .y = y, .low = low, .high = high});
}

/* is the error on points that were not trained on known at every n? */
static bool all_unseen(const learn_work *w) {
  for (int i = 0; i < w->curve; i++)
    if (!isfinite(w->predicted[i].unseen_mse)) return false;
  return true;
}

/* at points that were not trained on, where that is known of all of them */
static ep_status curve_figure(json_t *figures, const learn_work *w, const setup_learn *s) {
  double predicted[LEARN_CURVE], measured[LEARN_CURVE], low[LEARN_CURVE], high[LEARN_CURVE];
  json_t *f;
  const bool unseen = all_unseen(w);
  for (int i = 0; i < w->curve; i++) {
    const ep_mean m = unseen ? w->measured[i].unseen_mse : w->measured[i].mse;
    predicted[i] = unseen ? w->predicted[i].unseen_mse : w->predicted[i].mse;
    measured[i] = m.mean, low[i] = m.mean - m.error, high[i] = m.mean + m.error;
  }
  EP_TRY(ep_figure_new(&f, "learning-curve", EP_FIGURE_LINE, "Test error against training points",
                       "Test error against the number of training points, predicted from the "
                       "eigenvalues and measured; beyond the points there are by the law that the "
                       "error follows up to them, with its 95 % interval.",
                       (ep_axis){"training points n", .log = true},
                       (ep_axis){unseen ? "error at unseen points" : "test error", .log = true}));
  const int more = w->curve - w->within;
  const ep_series line = {
      .name = "predicted", .count = w->within, .x = w->n, .y = predicted, .dashed = true};
  const ep_series bars = {
      .name = "measured", .count = w->within, .x = w->n, .y = measured, .low = low, .high = high};
  ep_status st = ep_figure_add(f, &line);
  if (!st && s->learn.measure) st = ep_figure_add(f, &bars);
  /* begins where the data end */
  const int from = w->within > 0 ? w->within - 1 : 0;
  for (int i = 0; i < w->curve; i++)
    low[i] = i < w->within ? predicted[i] : w->low[i],
    high[i] = i < w->within ? predicted[i] : w->high[i];
  const ep_series beyond = {.name = "beyond the data",
                            .count = w->curve - from,
                            .x = w->n + from,
                            .y = predicted + from,
                            .low = low + from,
                            .high = high + from};
  if (!st && more) st = ep_figure_add(f, &beyond);
  if (!st) st = ep_figure_rule(f, 'y', w->total, "knowing nothing");
  if (json_array_append_new(figures, f) && !st)
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for a figure");
  return st;
}

static ep_status spectrum_figure(json_t *figures, ep_work *work, const learn_work *w,
                                 const ranking *r) {
  enum { DRAWN = 1000 };
  const ptrdiff_t most = r->spectrum->levels < DRAWN ? r->spectrum->levels : DRAWN;
  double *x, *y, *z;
  json_t *f;
  EP_TRY(ep_work_get(work, &x, most, sizeof *x));
  EP_TRY(ep_work_get(work, &y, most, sizeof *y));
  EP_TRY(ep_work_get(work, &z, most, sizeof *z));
  ptrdiff_t count = 0;
  for (; count < most && r->spectrum->value[r->order[count]] > 0; count++) {
    x[count] = r->spectrum->value[r->order[count]];
    y[count] = w->L[r->order[count]];
    z[count] = w->T ? w->T[r->order[count]] : NAN;
  }
  EP_TRY(ep_figure_new(&f, "learnability", EP_FIGURE_SCATTER, "Learnability of eigenfunctions",
                       "Eigenfunctions with large eigenvalues are learnt, those with small ones "
                       "are not.",
                       (ep_axis){"eigenvalue", .log = true},
                       (ep_axis){"learnability", .log = false}));
  ep_status st =
      ep_figure_add(f, &(ep_series){.name = "predicted", .count = count, .x = x, .y = y});
  if (!st && w->T)
    st = ep_figure_add(f, &(ep_series){.name = "measured", .count = count, .x = x, .y = z});
  if (!st && w->predicted[w->at].kappa > 0)
    st = ep_figure_rule(f, 'x', w->predicted[w->at].kappa, "kappa");
  if (json_array_append_new(figures, f) && !st)
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for a figure");
  return st;
}

/* ---- a sentence */

/* error as a share of that of knowing nothing, on points not trained on where that is known */
static double left(const learn_work *w, int i) {
  const ep_prediction *p = &w->predicted[i];
  return (isfinite(p->unseen_mse) ? p->unseen_mse : p->clean_mse) / w->total;
}

static void sentence(char out[512], const learn_work *w, const setup_learn *s) {
  const ep_prediction *p = &w->predicted[w->at];
  const ep_measurement *m = &w->measured[w->at];
  int n = snprintf(out, 512,
                   "From %.0f points the kernel learns %.3g %% of %s; on points it has not seen "
                   "%.3g %% of the target's variance is missed",
                   w->n[w->at], 100 * p->learnability,
                   w->white    ? "a random function"
                   : w->labels ? "the labels"
                               : "the target",
                   100 * left(w, w->at));
  if (s->learn.measure)
    n += snprintf(out + n, 512 - (size_t)n, " (measured: %.3g %%",
                  100 * m->unseen_mse.mean / w->total);
  if (s->learn.measure && w->labels)
    n +=
        snprintf(out + n, 512 - (size_t)n, ", %.3g %% of the labels right", 100 * m->accuracy.mean);
  if (s->learn.measure) n += snprintf(out + n, 512 - (size_t)n, ")");
  if (w->at != w->curve - 1)
    n += snprintf(out + n, 512 - (size_t)n, ", %.3g %% from %.0f", 100 * left(w, w->curve - 1),
                  w->n[w->curve - 1]);
  if (w->within < w->curve)
    n += snprintf(out + n, 512 - (size_t)n,
                  " (%.3g to %.3g %%, by the law of the error up to all the points)",
                  100 * w->low[w->curve - 1] / w->total, 100 * w->high[w->curve - 1] / w->total);
  n += snprintf(out + n, 512 - (size_t)n, ".");
  if (s->learn.measure && s->learn.ridge == 0 && m->rank.mean < w->n[w->at])
    snprintf(out + n, 512 - (size_t)n,
             " Some training sets have a singular kernel matrix, which the prediction does not "
             "know of: a ridge or --bias-variance mends that.");
}

/* ---- JSON */

static ep_status result_json(json_t **out, ep_work *work, const learn_work *w, const setup_learn *s,
                             const ranking *r, const ep_option_group *groups) {
  const double most = (double)s->learn.modes;
  const ep_measurement *m = &w->measured[w->at];
  char words[512];
  json_t *o = json_object(), *config = json_object(), *figures = json_array();
  *out = o;
  sentence(words, w, s);
  json_object_set_new(o, "domain", json_string(w->name));
  set(o, "points", r->spectrum->size);
  set(o, "train", w->n[w->at]);
  json_object_set_new(o, "eigenvalues", modes_json(r, r->spectrum->value, most));
  json_object_set_new(o, "learnability", modes_json(r, w->L, most));
  set_prediction(o, &w->predicted[w->at]);
  set(o, "rank", ep_spectrum_rank(r->spectrum));
  set(o, "trace", ep_spectrum_trace(r->spectrum));
  set(o, "tail", r->spectrum->tail);
  set(o, "target_norm2", w->total);
  if (w->power) json_object_set_new(o, "target_power", modes_json(r, w->power, most));
  if (ep_domain_kind_of(w->domain) != EP_SAMPLE) {
    json_object_del(o, "target_power"); /* is known by degree, not by mode */
    json_object_set_new(o, "levels", levels_json(w));
  }
  if (s->learn.measure) {
    json_t *measured = measured_json(w, m, s->learn.measure);
    json_object_set_new(measured, "eigenvalues", modes_json(r, r->spectrum->value, most));
    json_object_set_new(measured, "learnability", modes_json(r, w->T, most));
    json_object_set_new(o, "measured", measured);
  }
  json_object_set_new(o, "curve", curve_json(w, s));
  json_object_set_new(o, "answer", json_string(words));
  ep_status st = curve_figure(figures, w, s);
  if (!st && w->labels && s->learn.measure) st = accuracy_figure(figures, w);
  if (!st) st = spectrum_figure(figures, work, w, r);
  for (const ep_option_group *g = groups; g->table && !st; g++)
    st = ep_options_to_json(config, g->table, g->config);
  json_object_set_new(o, "figures", figures);
  json_object_set_new(o, "config", config);
  json_object_set_new(o, "version", json_string(ep_version()));
  json_object_set_new(o, "machine", machine_json());
  if (!st && !json_object_get(o, "eigenvalues")) st = EP_FAIL(EP_ERR_NOMEM, "no memory for JSON");
  return st;
}

/* ---- text */

static void print_levels(const learn_work *w, const ranking *r) {
  enum { SHOWN = 12 };
  const bool degrees = ep_domain_kind_of(w->domain) != EP_SAMPLE;
  const ep_spectrum *s = r->spectrum;
  printf("\n%6s  %12s  %10s  %12s", degrees ? "degree" : "mode", "eigenvalue", "modes",
         "learnability");
  if (w->T) printf("  %10s", "measured");
  if (w->power) printf("  %10s", "of target");
  putchar('\n');
  for (ptrdiff_t i = 0; i < s->levels && i < SHOWN; i++) {
    const ptrdiff_t k = degrees ? i : r->order[i];
    printf("%6td  %12.6g  %10.6g  %12.6f", i + !degrees, s->value[k], s->count[k], w->L[k]);
    if (w->T && isnan(w->T[k])) printf("  %10s", "-");
    else if (w->T) printf("  %10.6f", w->T[k]);
    if (w->power) printf("  %8.3g %%", 100 * w->power[k] / w->total);
    putchar('\n');
  }
  if (s->levels > SHOWN) printf("   ... and %td more\n", s->levels - SHOWN);
}

static void print_curve(const learn_work *w, const setup_learn *s) {
  const bool unseen = all_unseen(w);
  printf("\n%8s  %10s  %10s  %12s", "n", "learnt", "kappa", unseen ? "unseen error" : "test error");
  if (s->learn.measure) printf("  %21s%s", "measured", w->labels ? "  labels right" : "");
  putchar('\n');
  for (int i = 0; i < w->curve; i++) {
    const ep_prediction *p = &w->predicted[i];
    const ep_measurement *m = &w->measured[i];
    const ep_mean e = unseen ? m->unseen_mse : m->mse;
    if (i < w->within) printf("%8.0f  %8.3g %%", w->n[i], 100 * p->learnability);
    else printf("%8.0f  %10s", w->n[i], "-");
    printf("  %10.4g  %12.4g", p->kappa, unseen ? p->unseen_mse : p->mse);
    if (i >= w->within) printf("  beyond the data: %.4g to %.4g", w->low[i], w->high[i]);
    else if (s->learn.measure) printf("  %10.4g +- %-7.2g", e.mean, e.error);
    if (i < w->within && s->learn.measure && w->labels)
      printf("  %10.3g %%", 100 * m->accuracy.mean);
    putchar('\n');
  }
}

static void print_text(const learn_work *w, const setup_learn *s, const ranking *r) {
  char words[512];
  const double rank = ep_spectrum_rank(r->spectrum);
  sentence(words, w, s);
  printf("domain   %s, ", w->name);
  if (isfinite(r->spectrum->size)) print_count(stdout, r->spectrum->size), printf(" points");
  else printf("continuous");
  if (isfinite(rank)) printf(", rank %.0f", rank);
  putchar('\n');
  printf("target   %s, |f|^2 = %.4g\n",
         w->white    ? "a random function"
         : w->labels ? "labels, a column each, centred"
                     : s->learn.target,
         w->total);
  print_levels(w, r);
  print_curve(w, s);
  printf("\n%s\n", words);
}

static ep_status write_report(const json_t *o, const learn_work *w, const setup_learn *s, int argc,
                              char **argv) {
  char words[512];
  sentence(words, w, s);
  json_t *section = json_pack("{s:s,s:O}", "title", "Test error and spectrum", "figures",
                              json_object_get(o, "figures"));
  return write_page(s->learn.report, "What this kernel learns", headline_json(words), section, o,
                    argc, argv);
}

static ep_status report(ep_work *work, json_t **o, const learn_work *w, const setup_learn *s,
                        const ep_option_group *groups, int argc, char **argv) {
  ranking r;
  EP_TRY(rank_levels(work, &r, ep_domain_spectrum(w->domain)));
  if (s->cli.json || s->learn.out[0] || s->learn.report[0])
    EP_TRY(result_json(o, work, w, s, &r, groups));
  if (s->learn.out[0]) EP_TRY(write_json_file(s->learn.out, *o));
  if (s->learn.report[0]) EP_TRY(write_report(*o, w, s, argc, argv));
  terminal_clear();
  if (s->cli.json) return print_json(json_incref(*o));
  print_text(w, s, &r);
  if (s->learn.report[0]) print_report("\nreport   ", s->learn.report);
  return EP_OK;
}

ep_status learn_report(const learn_work *w, const setup_learn *s, const ep_option_group *groups,
                       int argc, char **argv) {
  ep_work work = {0};
  json_t *o = NULL;
  const ep_status st = report(&work, &o, w, s, groups, argc, argv);
  json_decref(o);
  ep_work_free(&work);
  return st;
}
