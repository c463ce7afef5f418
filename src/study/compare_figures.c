/* Figures of a comparison. */
#include "study/compare_words.h"

#include <eigenpair/figure.h>
#include <math.h>
#include <string.h>

/* a figure without a series is left out */
static ep_status add(json_t *figures, json_t *f) {
  if (json_array_size(json_object_get(f, "series"))) return ep_json_append(figures, f);
  json_decref(f);
  return EP_OK;
}

/* figures are drawn by a function that may return anywhere; here they are kept or dropped */
typedef ep_status draw(json_t *f, const ep_comparison *m);
static ep_status drawn(json_t *figures, json_t *f, draw *content, const ep_comparison *m) {
  const ep_status st = content(f, m);
  if (!st) return add(figures, f);
  json_decref(f);
  return st;
}

/* ---- how good, and how long it takes */

static ep_status quality(json_t *f, const ep_comparison *m) {
  for (int i = 0; i < m->rows; i++) {
    const ep_row *row = &m->row[i];
    const double x = ep_spread_of(row, offsetof(ep_trial, seconds)).mean,
                 y = ep_spread_score(row, m->by).mean;
    if (!isfinite(y) || !ep_row_is_first(m, i)) continue;
    EP_TRY(x > 0 ? ep_figure_add(f, &(ep_series){.name = row->name, .count = 1, .x = &x, .y = &y})
                 : ep_figure_rule(f, 'y', y, row->name));
  }
  return EP_OK;
}

ep_status ep_figures_quality(json_t *figures, const ep_comparison *m) {
  json_t *f;
  EP_TRY(
      ep_figure_new(&f, "quality", EP_FIGURE_SCATTER,
                    m->by == EP_BY_ACCURACY ? "Accuracy against time" : "Recall against time",
                    "Score against the time of the fit, one dot a method at its best width, mean "
                    "over seeds; the rule is what raw inputs give. Up and to the left is better.",
                    (ep_axis){"seconds", .log = true, .percent = false},
                    (ep_axis){ep_score_name(m->by), .log = false, .percent = true}));
  return drawn(figures, f, quality, m);
}

/* ---- what the methods see */

/* names of classes and pictures of the points, where the job has them */
static ep_status show_points(json_t *f, const json_t *shown) {
  json_t *pictures = json_object_get(shown, "pictures"), *classes = NULL;
  const json_t *name;
  size_t k;
  if (pictures) EP_TRY(ep_json_put(f, "pictures", json_incref(pictures)));
  json_array_foreach(json_object_get(shown, "classes"), k, name) {
    if (!classes) EP_TRY(ep_json_put(f, "classes", classes = json_array()));
    EP_TRY(ep_json_append(
        classes, json_pack("{s:i, s:s}", "label", (int)k, "name", json_string_value(name))));
  }
  return EP_OK;
}

static ep_status planes(json_t *f, const ep_comparison *m) {
  const json_t *shown = NULL;
  for (int i = 0; i < m->jobs; i++) {
    if (!shown) shown = m->job[i].shown;
    for (int k = 0; k < m->job[i].planes; k++) {
      const ep_plane *p = &m->job[i].plane[k];
      char panel[80];
      snprintf(panel, sizeof panel, "%s, %.1f %%", p->method, 100 * p->accuracy);
      EP_TRY(ep_figure_add(f, &(ep_series){.name = p->method,
                                           .panel = panel,
                                           .count = p->at.count,
                                           .x = p->at.x,
                                           .y = p->at.y,
                                           .label = p->label}));
    }
  }
  return show_points(f, shown);
}

ep_status ep_figures_seen(json_t *figures, const ep_comparison *m) {
  json_t *f;
  EP_TRY(ep_figure_new(
      &f, "embedding", EP_FIGURE_SCATTER, "What the methods see",
      "Test points in the plane of the two principal axes of each method's outputs, at the largest "
      "width, coloured by label.",
      (ep_axis){"first principal axis", .log = false},
      (ep_axis){"second principal axis", .log = false}));
  return drawn(figures, f, planes, m);
}

/* ---- drifts */

static ep_status drift_width(json_t *f, const ep_comparison *m) {
  static const char *const names[EP_DRIFTS] = {
      [EP_DRIFT_NTK] = "tangent kernel",
      [EP_DRIFT_KERNEL] = "frozen kernel",
      [EP_DRIFT_ANALYTIC] = "infinite width",
      [EP_DRIFT_C] = "C",
      [EP_DRIFT_PCA] = "PCA of C",
  };
  double top = 0, x[EP_MOST_WIDTHS], y[EP_MOST_WIDTHS], low[EP_MOST_WIDTHS], high[EP_MOST_WIDTHS];
  const int n = m->widths;
  memcpy(x, m->width, (size_t)n * sizeof *x);
  for (int k = 0; k < EP_DRIFTS; k++) {
    if (!ep_drift_measured(&m->drift[k], m)) continue;
    for (int i = 0; i < n; i++) {
      const ep_finding at = ep_drift_at(&m->drift[k], m, i);
      y[i] = at.number, low[i] = at.low, high[i] = at.high;
      if (isfinite(y[i])) top = fmax(top, y[i]);
    }
    EP_TRY(ep_figure_add(f, &(ep_series){names[k], NULL, n, x, y, low, high, NULL, false}));
  }
  for (int i = 0; i < n; i++) y[i] = top * sqrt(x[0] / x[i]);
  if (n > 1 && top > 0)
    EP_TRY(ep_figure_add(
        f, &(ep_series){.name = "slope -1/2", .count = n, .x = x, .y = y, .dashed = true}));
  return ep_figure_rule(f, 'y', m->tolerance, "tolerance");
}

/* the curves of the first seed, one line a width; `from`: those that a job has, panels by name */
static ep_status lines(json_t *f, const ep_job_curves *job, const ep_curve *c, const char *panel) {
  char name[64] = "infinite width";
  if (!job->first || c->count == 0) return EP_OK;
  if (job->width > 0) snprintf(name, sizeof name, "M = %ld", job->width);
  return ep_figure_add(
      f, &(ep_series){.name = name, .panel = panel, .count = c->count, .x = c->x, .y = c->y});
}

static ep_status drift_time(json_t *f, const ep_comparison *m) {
  static const char *const names[EP_TIMES] = {"tangent kernel", "C", "W"};
  for (int k = 0; k < EP_TIMES; k++)
    for (int i = 0; i < m->jobs; i++) {
      ep_curve c = m->job[i].time[k];
      while (c.count > 0 && !(*c.x > 0 && *c.y > 0)) c.x++, c.y++, c.count--; /* logarithms */
      EP_TRY(lines(f, &m->job[i], &c, names[k]));
    }
  return EP_OK;
}

ep_status ep_figures_drift(json_t *figures, const ep_comparison *m) {
  json_t *f;
  EP_TRY(ep_figure_new(
      &f, "drift-width", EP_FIGURE_LINE, "Drift against width",
      "How far the tangent kernel and C have drifted at the end of training, and how far the "
      "outputs of the frozen kernel, of infinite width and of PCA of C(0) are from those of "
      "training, for each width, with the range over seeds; the dashed line falls as the width to "
      "the power -1/2.",
      (ep_axis){"width M", .log = true}, (ep_axis){"relative difference", .log = true}));
  EP_TRY(drawn(figures, f, drift_width, m));
  EP_TRY(ep_figure_new(&f, "drift-time", EP_FIGURE_LINE, "Drift over time",
                       "How far the tangent kernel, C and W have moved after so many epochs, one "
                       "line a width, first seed.",
                       (ep_axis){"epoch", .log = true}, (ep_axis){"relative drift", .log = true}));
  return drawn(figures, f, drift_time, m);
}

/* ---- PCA and the trained output layer */

static ep_status spectrum(json_t *f, const ep_comparison *m) {
  ptrdiff_t n = 0;
  for (int i = 0; i < m->jobs; i++) {
    const ep_curve *c = &m->job[i].spectrum;
    if (!m->job[i].first || c->count == 0) continue;
    for (ptrdiff_t k = 0; k < c->count; k++)
      if (!(c->y[k] > 0)) c->y[k] = NAN; /* logarithms */
    EP_TRY(lines(f, &m->job[i], c, NULL));
    n = c->count;
  }
  return n > 1 ? ep_figure_rule(f, 'x', (double)n - 0.5, "gap") : EP_OK;
}

static ep_status angles(json_t *f, const ep_comparison *m) {
  static const char *const names[EP_ANGLES] = {
      [EP_ANGLES_LAST_FIRST] = "PCA of C(T) and PCA of C(0)",
      [EP_ANGLES_TRAINED_FIRST] = "trained W and PCA of C(0)",
      [EP_ANGLES_TRAINED_LAST] = "trained W and PCA of C(T)"};
  for (int k = 0; k < EP_ANGLES; k++)
    for (int i = 0; i < m->jobs; i++) EP_TRY(lines(f, &m->job[i], &m->job[i].angles[k], names[k]));
  return EP_OK;
}

ep_status ep_figures_pca(json_t *figures, const ep_comparison *m) {
  json_t *f;
  EP_TRY(ep_figure_new(&f, "spectrum", EP_FIGURE_LINE, "Spectrum of C(0)",
                       "Largest eigenvalues of C at the random start for each width and at "
                       "infinite width; behind the "
                       "rule lies the first one that the representation does not use.",
                       (ep_axis){"number", .log = false}, (ep_axis){"eigenvalue", .log = true}));
  EP_TRY(drawn(figures, f, spectrum, m));
  EP_TRY(ep_figure_new(&f, "angles", EP_FIGURE_LINE, "Principal angles",
                       "Angles between the span of the trained W, PCA of C at the start and PCA of "
                       "C at the end, for "
                       "each width, first seed.",
                       (ep_axis){"number", .log = false}, (ep_axis){"degrees", .log = false}));
  return drawn(figures, f, angles, m);
}
