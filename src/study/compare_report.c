/* The report of a comparison: sections, tables and figures from its result. */
#include "study/compare.h"

#include <eigenpair/figure.h>
#include <eigenpair/report.h>
#include <math.h>
#include <string.h>

enum { MOST = 4096 };

/* numbers of a JSON array; how many */
static ptrdiff_t numbers(double *x, const json_t *array) {
  const size_t n = json_array_size(array);
  ptrdiff_t count = 0;
  for (size_t i = 0; i < n && count < MOST; i++) {
    const json_t *v = json_array_get(array, i);
    x[count++] = json_is_number(v) ? json_number_value(v) : NAN;
  }
  return count;
}

/* ---- figures */

static ep_status drift_width(json_t *figures, const json_t *result) {
  static const char *const names[][2] = {{"ntk", "tangent kernel drift"},
                                         {"kernel_difference", "training against frozen kernel"},
                                         {"analytic_difference", "training against infinite width"},
                                         {"c", "drift of C"},
                                         {"pca_difference", "PCA of C(T) against C(0)"}};
  json_t *f;
  double top = 0, x[MOST], y[MOST], low[MOST], high[MOST];
  ptrdiff_t n = 0;
  EP_TRY(ep_figure_new(
      &f, "drift-width", EP_FIGURE_LINE, "Drift against width",
      "Relative drifts and differences at the end of training for each width, with the range over "
      "seeds; the dashed line falls as the width to the power -1/2.",
      (ep_axis){"width M", true}, (ep_axis){"relative difference", true}));
  EP_TRY(ep_json_append(figures, f));
  for (int k = 0; k < 5; k++) {
    const json_t *d = json_object_get(json_object_get(result, "drift"), names[k][0]);
    if (!d) continue;
    n = numbers(x, json_object_get(d, "width"));
    numbers(y, json_object_get(d, "mean"));
    numbers(low, json_object_get(d, "low"));
    numbers(high, json_object_get(d, "high"));
    for (ptrdiff_t i = 0; i < n; i++)
      if (isfinite(y[i])) top = fmax(top, y[i]);
    EP_TRY(ep_figure_add(f, &(ep_series){names[k][1], NULL, n, x, y, low, high, NULL, false}));
  }
  for (ptrdiff_t i = 0; i < n; i++) y[i] = top * sqrt(x[0] / x[i]);
  if (n > 1 && top > 0)
    EP_TRY(ep_figure_add(
        f, &(ep_series){.name = "slope -1/2", .count = n, .x = x, .y = y, .dashed = true}));
  const double tolerance =
      json_number_value(json_object_get(json_object_get(result, "config"), "tolerance"));
  return ep_figure_rule(f, 'y', tolerance, "tolerance");
}

static ep_status drift_time(json_t *figures, const json_t *result) {
  static const char *const names[][2] = {
      {"ntk_time", "tangent kernel"}, {"c_time", "C"}, {"w_time", "W"}};
  json_t *f, *job;
  size_t i;
  const json_t *jobs = json_object_get(result, "jobs");
  const json_t *first = json_object_get(json_array_get(jobs, 0), "seed");
  EP_TRY(ep_figure_new(&f, "drift-time", EP_FIGURE_LINE, "Drift over time",
                       "How far the tangent kernel, C and W have moved after so many epochs, one "
                       "line a width, first seed.",
                       (ep_axis){"epoch", true}, (ep_axis){"relative drift", true}));
  EP_TRY(ep_json_append(figures, f));
  for (int k = 0; k < 3; k++) json_array_foreach(jobs, i, job) {
      double x[MOST], y[MOST];
      char name[64];
      const json_t *s = json_object_get(job, names[k][0]);
      if (!s || !json_equal(json_object_get(job, "seed"), first)) continue;
      ptrdiff_t n = numbers(x, json_object_get(s, "epoch")), at = 0;
      numbers(y, json_object_get(s, "value"));
      while (at < n && !(x[at] > 0 && y[at] > 0)) at++; /* logarithms */
      snprintf(name, sizeof name, "M = %.0f", json_number_value(json_object_get(job, "width")));
      EP_TRY(ep_figure_add(
          f, &(ep_series){
                 .name = name, .panel = names[k][1], .count = n - at, .x = x + at, .y = y + at}));
    }
  return EP_OK;
}

/* every method that has a plane of outputs */
static ep_status embedding(json_t *figures, const json_t *result) {
  json_t *f, *job, *entry;
  const char *method;
  size_t i;
  bool any = false;
  EP_TRY(ep_figure_new(
      &f, "embedding", EP_FIGURE_SCATTER, "What the methods see",
      "Test points in the plane of the two principal axes of each method's outputs, at the largest "
      "width, coloured by label.",
      (ep_axis){"first principal axis", false}, (ep_axis){"second principal axis", false}));
  json_array_foreach(json_object_get(result, "jobs"), i, job)
      json_object_foreach(json_object_get(job, "methods"), method, entry) {
    double x[MOST], y[MOST], l[MOST];
    int label[MOST];
    const json_t *plane = json_object_get(entry, "plane");
    if (!plane) continue;
    const ptrdiff_t n = numbers(x, json_object_get(plane, "x"));
    numbers(y, json_object_get(plane, "y"));
    numbers(l, json_object_get(plane, "label"));
    for (ptrdiff_t k = 0; k < n; k++) label[k] = (int)l[k];
    const ep_status st = ep_figure_add(
        f,
        &(ep_series){.name = method, .panel = method, .count = n, .x = x, .y = y, .label = label});
    if (st) json_decref(f);
    EP_TRY(st);
    any = true;
  }
  if (any) return ep_json_append(figures, f);
  json_decref(f);
  return EP_OK;
}

static ep_status spectrum(json_t *figures, const json_t *result) {
  json_t *f, *job;
  size_t i;
  const json_t *jobs = json_object_get(result, "jobs");
  const json_t *first = json_object_get(json_array_get(jobs, 0), "seed");
  double x[MOST], y[MOST];
  ptrdiff_t n = 0;
  EP_TRY(ep_figure_new(&f, "spectrum", EP_FIGURE_LINE, "Spectrum of C(0)",
                       "Largest eigenvalues of C at the random start for each width and at "
                       "infinite width; behind the "
                       "rule lies the first one that the representation does not use.",
                       (ep_axis){"number", false}, (ep_axis){"eigenvalue", true}));
  EP_TRY(ep_json_append(figures, f));
  json_array_foreach(jobs, i, job) {
    char name[64];
    const json_t *w = json_object_get(job, "width"), *s = json_object_get(job, "spectrum");
    if (!json_array_size(s) || !json_equal(json_object_get(job, "seed"), first)) continue;
    n = numbers(y, s);
    for (ptrdiff_t k = 0; k < n; k++) x[k] = (double)(k + 1), y[k] = y[k] > 0 ? y[k] : NAN;
    snprintf(name, sizeof name, json_is_null(w) ? "infinite width" : "M = %.0f",
             json_number_value(w));
    EP_TRY(ep_figure_add(f, &(ep_series){.name = name, .count = n, .x = x, .y = y}));
  }
  return n > 1 ? ep_figure_rule(f, 'x', (double)n - 0.5, "gap") : EP_OK;
}

static ep_status angles(json_t *figures, const json_t *result) {
  static const char *const names[][2] = {{"angles_last_first", "PCA of C(T) and PCA of C(0)"},
                                         {"angles_trained_first", "trained W and PCA of C(0)"},
                                         {"angles_trained_last", "trained W and PCA of C(T)"}};
  json_t *f, *job;
  size_t i;
  const json_t *jobs = json_object_get(result, "jobs");
  const json_t *first = json_object_get(json_array_get(jobs, 0), "seed");
  EP_TRY(ep_figure_new(&f, "angles", EP_FIGURE_LINE, "Principal angles",
                       "Angles between the span of the trained W, PCA of C at the start and PCA of "
                       "C at the end, for "
                       "each width, first seed.",
                       (ep_axis){"number", false}, (ep_axis){"degrees", false}));
  EP_TRY(ep_json_append(figures, f));
  for (int k = 0; k < 3; k++) json_array_foreach(jobs, i, job) {
      double x[MOST], y[MOST];
      char name[64];
      const json_t *a = json_object_get(job, names[k][0]);
      if (!json_array_size(a) || !json_equal(json_object_get(job, "seed"), first)) continue;
      const ptrdiff_t n = numbers(y, a);
      for (ptrdiff_t j = 0; j < n; j++) x[j] = (double)(j + 1);
      snprintf(name, sizeof name, "M = %.0f", json_number_value(json_object_get(job, "width")));
      EP_TRY(ep_figure_add(
          f, &(ep_series){.name = name, .panel = names[k][1], .count = n, .x = x, .y = y}));
    }
  return EP_OK;
}

/* figures without a series are left out */
static void prune(json_t *figures) {
  for (size_t i = json_array_size(figures); i-- > 0;)
    if (!json_array_size(json_object_get(json_array_get(figures, i), "series")))
      json_array_remove(figures, i);
}

/* ---- tables */

static json_t *columns(const char *const names[][3], int count) {
  json_t *out = json_array();
  for (int i = 0; i < count; i++)
    json_array_append_new(out, json_pack("{s:s, s:s, s:s}", "name", names[i][0], "unit",
                                         names[i][1], "format", names[i][2]));
  return out;
}

static json_t *copy_of(const json_t *object, const char *name) {
  json_t *v = json_object_get(object, name);
  return v ? json_incref(v) : json_null();
}

/* rows of the table; `largest`: only those of the largest width, and of no width */
static ep_status methods_table(json_t *tables, const json_t *result, bool largest) {
  static const char *const names[][3] = {
      {"method", "", ""},       {"width", "", ",d"},
      {"accuracy", "", ".1%"},  {"± over seeds", "", ".1%"},
      {"loss", "", ".4~g"},     {"loss less that of training", "", ".2~g"},
      {"time", "s", ".3~g"},    {"memory", "bytes", ".3~s"},
      {"diverged", "runs", "d"}};
  static const char *const fields[] = {"method",   "width",   "accuracy", "accuracy_sd", "loss",
                                       "loss_gap", "seconds", "memory",   "diverged"};
  json_t *rows = json_array(), *row;
  size_t i;
  double top = 0;
  char title[80] = "All widths";
  json_array_foreach(json_object_get(result, "table"), i, row) {
    top = fmax(top, json_number_value(json_object_get(row, "width")));
  }
  if (largest) snprintf(title, sizeof title, "Methods at width %.0f", top);
  json_array_foreach(json_object_get(result, "table"), i, row) {
    const json_t *width = json_object_get(row, "width");
    if (largest && !json_is_null(width) && json_number_value(width) != top) continue;
    json_t *cells = json_array();
    for (int k = 0; k < 9; k++) json_array_append_new(cells, copy_of(row, fields[k]));
    json_array_append_new(rows, cells);
  }
  return ep_json_append(tables, json_pack("{s:s, s:o, s:o}", "title", title, "columns",
                                          columns(names, 9), "rows", rows));
}

static ep_status drift_table(json_t *tables, const json_t *result) {
  static const char *const names[][3] = {{"what", "", ""},
                                         {"exponent", "", ".3f"},
                                         {"95 % from", "", ".3f"},
                                         {"to", "", ".3f"},
                                         {"width for the tolerance", "", ".3~s"}};
  static const char *const fields[] = {"what", "exponent", "exponent_low", "exponent_high",
                                       "width_needed"};
  json_t *rows = json_array(), *one;
  const char *name;
  json_object_foreach(json_object_get(result, "drift"), name, one) {
    json_t *cells = json_array();
    for (int k = 0; k < 5; k++) json_array_append_new(cells, copy_of(one, fields[k]));
    json_array_append_new(rows, cells);
  }
  return ep_json_append(
      tables, json_pack("{s:s, s:o, s:o}", "title", "Power laws of the drifts against width",
                        "columns", columns(names, 5), "rows", rows));
}

/* one row a width and a bound; log10 throughout, for they overflow */
static ep_status bounds_table(json_t *tables, const json_t *result) {
  static const char *const names[][3] = {{"width", "", ",d"},        {"method", "", ""},
                                         {"bound", "", ""},          {"log10 measured", "", ".2f"},
                                         {"log10 bound", "", ".2f"}, {"holds", "", ""},
                                         {"remark", "", ""}};
  json_t *rows = json_array(), *job, *one;
  size_t i, k;
  const json_t *jobs = json_object_get(result, "jobs");
  const json_t *first = json_object_get(json_array_get(jobs, 0), "seed");
  json_array_foreach(jobs, i, job) {
    if (!json_equal(json_object_get(job, "seed"), first)) continue;
    json_array_foreach(json_object_get(job, "bounds"), k, one) {
      const json_t *limit = json_object_get(one, "log10_bound");
      EP_TRY(ep_json_append(
          rows, json_pack("[o, o, o, o, o, o, o]", copy_of(job, "width"), copy_of(one, "method"),
                          copy_of(one, "name"), copy_of(one, "log10_measured"),
                          copy_of(one, "log10_bound"),
                          json_is_number(limit) ? copy_of(one, "holds") : json_null(),
                          copy_of(one, "note"))));
    }
  }
  return ep_json_append(tables, json_pack("{s:s, s:o, s:o}", "title", "Bounds and measurements",
                                          "columns", columns(names, 7), "rows", rows));
}

/* ---- the document */

static json_t *verdicts(const json_t *result) {
  static const char *const asked[][2] = {
      {"kernel", "May I replace training by the frozen kernel?"},
      {"pca", "May I replace training by PCA of random features?"}};
  json_t *out = json_array();
  for (int k = 0; k < 2; k++) {
    const json_t *v = json_object_get(json_object_get(result, "verdict"), asked[k][0]);
    if (v)
      json_array_append_new(
          out, json_pack("{s:s, s:O, s:O}", "question", asked[k][1], "answer",
                         json_object_get(v, "answer"), "words", json_object_get(v, "words")));
  }
  return out;
}

static ep_status section(json_t *sections, const char *title, const char *text, json_t **tables,
                         json_t **figures) {
  json_t *one = json_pack("{s:s, s:[s]}", "title", title, "text", text);
  EP_TRY(ep_json_append(sections, one));
  if (tables) EP_TRY(ep_json_put(one, "tables", *tables = json_array()));
  if (figures) EP_TRY(ep_json_put(one, "figures", *figures = json_array()));
  return EP_OK;
}

static ep_status fill(json_t *document, const json_t *result, const char *command,
                      const json_t *machine) {
  json_t *sections = json_array(), *tables, *figures;
  const json_t *note =
      json_object_get(json_object_get(json_object_get(result, "verdict"), "trained"), "words");
  EP_TRY(ep_json_put(document, "title", json_string("May a closed form replace this model?")));
  EP_TRY(ep_json_put(document, "verdict", verdicts(result)));
  EP_TRY(ep_json_put(document, "sections", sections));
  EP_TRY(section(sections, "Methods",
                 "Every method on the same pairs and the same random start. Accuracy is that of a "
                 "linear probe on "
                 "labelled test points; time and memory are those of the fit alone.",
                 &tables, NULL));
  EP_TRY(methods_table(tables, result, true));
  EP_TRY(section(sections, "Does the approximation improve with width?",
                 "The theory says that drifts fall at least as the width to the power -1/2. "
                 "Measured at the end of "
                 "training, with the range over seeds.",
                 &tables, &figures));
  EP_TRY(drift_table(tables, result));
  EP_TRY(drift_width(figures, result));
  EP_TRY(drift_time(figures, result));
  prune(figures);
  EP_TRY(section(sections, "What the methods see", "Switch between methods to compare.", NULL,
                 &figures));
  EP_TRY(embedding(figures, result));
  EP_TRY(section(sections, "PCA and the trained output layer",
                 note ? json_string_value(note) : "Spectra and angles.", NULL, &figures));
  EP_TRY(spectrum(figures, result));
  EP_TRY(angles(figures, result));
  prune(figures);
  EP_TRY(section(
      sections, "The theory's bounds",
      "What the lemmas allow beside what was measured, first seed of each width, for one hidden "
      "layer; some need a smooth activation. A bound that any run would meet says nothing.",
      &tables, NULL));
  EP_TRY(bounds_table(tables, result));
  EP_TRY(section(sections, "Every width", "The same numbers at all widths, means over seeds.",
                 &tables, NULL));
  EP_TRY(methods_table(tables, result, false));
  EP_TRY(ep_json_put(document, "settings", copy_of(result, "config")));
  EP_TRY(ep_json_put(document, "command", json_string(command)));
  EP_TRY(ep_json_put(document, "version", copy_of(result, "version")));
  if (machine) EP_TRY(ep_json_put(document, "machine", json_incref((json_t *)machine)));
  return ep_json_put(document, "result", json_incref((json_t *)result));
}

ep_status ep_compare_document(json_t **document, const json_t *result, const char *command,
                              const json_t *machine) {
  *document = json_object();
  EP_CHECK(*document, EP_ERR_NOMEM, "no memory for a report");
  const ep_status st = fill(*document, result, command, machine);
  if (st) json_decref(*document), *document = NULL;
  return st;
}
