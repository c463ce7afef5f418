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
  static const char *const names[][2] = {{"ntk", "tangent kernel"},
                                         {"kernel_difference", "frozen kernel"},
                                         {"analytic_difference", "infinite width"},
                                         {"c", "C"},
                                         {"pca_difference", "PCA of C"}};
  json_t *f;
  double top = 0, x[MOST], y[MOST], low[MOST], high[MOST];
  ptrdiff_t n = 0;
  EP_TRY(ep_figure_new(
      &f, "drift-width", EP_FIGURE_LINE, "Drift against width",
      "How far the tangent kernel and C have drifted at the end of training, and how far the "
      "outputs of the frozen kernel, of infinite width and of PCA of C(0) are from those of "
      "training, for each width, with the range over seeds; the dashed line falls as the width to "
      "the power -1/2.",
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

static double number_of(const json_t *object, const char *name) {
  const json_t *v = json_object_get(object, name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

/* quality against time: one dot a method, at its best width; raw inputs are a rule */
static ep_status quality(json_t *figures, const json_t *result) {
  const char *by = json_string_value(json_object_get(json_object_get(result, "verdict"), "score"));
  json_t *f, *row, *seen = json_object();
  size_t i;
  EP_TRY(
      ep_figure_new(&f, "quality", EP_FIGURE_SCATTER, "Score against time",
                    "Score against the time of the fit, one dot a method at its best width, mean "
                    "over seeds; the rule is what raw inputs give. Up and to the left is better.",
                    (ep_axis){"seconds", true}, (ep_axis){by, false}));
  ep_status st = ep_json_append(figures, f);
  json_array_foreach(json_object_get(result, "table"), i, row) {
    const char *name = json_string_value(json_object_get(row, "method"));
    const double x = number_of(row, "seconds"), y = number_of(row, "score");
    if (st || !isfinite(y) || json_object_get(seen, name)) continue;
    json_object_set_new(seen, name, json_true());
    if (x > 0) st = ep_figure_add(f, &(ep_series){.name = name, .count = 1, .x = &x, .y = &y});
    else st = ep_figure_rule(f, 'y', y, name);
  }
  json_decref(seen);
  return st;
}

/* names of classes and pictures of the points, where the job has them */
static ep_status show_points(json_t *f, const json_t *job) {
  const json_t *shown = json_object_get(job, "shown"), *name;
  json_t *pictures = json_object_get(shown, "pictures"), *classes = NULL;
  size_t k;
  if (pictures) EP_TRY(ep_json_put(f, "pictures", json_incref(pictures)));
  json_array_foreach(json_object_get(shown, "classes"), k, name) {
    if (!classes) EP_TRY(ep_json_put(f, "classes", classes = json_array()));
    EP_TRY(ep_json_append(
        classes, json_pack("{s:i, s:s}", "label", (int)k, "name", json_string_value(name))));
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
    char panel[80];
    snprintf(panel, sizeof panel, "%s, %.1f %%", method, 100 * number_of(entry, "accuracy"));
    ep_status st = ep_figure_add(
        f,
        &(ep_series){.name = method, .panel = panel, .count = n, .x = x, .y = y, .label = label});
    if (!st && !any) st = show_points(f, job);
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

/* ∞ where that is the width, a dash where there is none */
static json_t *width_cell(const json_t *row) {
  const json_t *width = json_object_get(row, "width");
  const ep_method_row *m = ep_method_find(json_string_value(json_object_get(row, "method")));
  if (json_is_number(width)) return json_incref((json_t *)width);
  return m && m->no_width ? json_string("∞") : json_null();
}

static json_t *remark(const json_t *row) {
  const ep_method_row *m = ep_method_find(json_string_value(json_object_get(row, "method")));
  if (json_is_true(json_object_get(row, "best"))) return json_string("best");
  if (number_of(row, "diverged") > 0)
    return json_sprintf("%.0f of %.0f diverged", number_of(row, "diverged"),
                        number_of(row, "runs"));
  return m && m->views ? json_string("leaves negatives out") : json_string("");
}

/* rows of the table, sorted by quality; `best`: each method once */
static ep_status methods_table(json_t *tables, const json_t *result, bool best) {
  static const char *const names[][3] = {{"method", "", ""},
                                         {"width", "", ",d"},
                                         {"accuracy", "", ".1%"},
                                         {"± seeds", "", ".1%"},
                                         {"recall", "", ".1%"},
                                         {"RankMe", "", ".3~g"},
                                         {"held-out loss", "", ".3~g"},
                                         {"time", "s", ".2~g"},
                                         {"memory", "bytes", ".2~s"},
                                         {"remark", "", ""}};
  static const char *const fields[] = {"accuracy",  "accuracy_sd", "recall", "rankme",
                                       "test_loss", "seconds",     "memory"};
  json_t *rows = json_array(), *row, *seen = json_object();
  size_t i;
  json_array_foreach(json_object_get(result, "table"), i, row) {
    const char *method = json_string_value(json_object_get(row, "method"));
    if (best && json_object_get(seen, method)) continue;
    json_object_set_new(seen, method, json_true());
    json_t *cells = json_array();
    json_array_append_new(cells, copy_of(row, "method"));
    json_array_append_new(cells, width_cell(row));
    for (int k = 0; k < 7; k++) json_array_append_new(cells, copy_of(row, fields[k]));
    json_array_append_new(cells, remark(row));
    json_array_append_new(rows, cells);
  }
  json_decref(seen);
  return ep_json_append(
      tables, json_pack("{s:s, s:o, s:o, s:b}", "title",
                        best ? "Methods, each at its best width" : "All widths", "columns",
                        columns(names, 10), "rows", rows, "folded", !best));
}

/* the three answers of every method */
static ep_status answers_table(json_t *tables, const json_t *result) {
  static const char *const names[][3] = {{"method", "", ""},         {"same function", "", ""},
                                         {"difference", "", ".2~g"}, {"as good", "", ""},
                                         {"points", "", "+.3f"},     {"cheaper", "", ""},
                                         {"times", "", ".2~g"}};
  static const char *const asked[] = {"same_function", "as_good", "cheaper"};
  json_t *rows = json_array(), *one;
  const char *name;
  json_object_foreach(json_object_get(json_object_get(result, "verdict"), "methods"), name, one) {
    json_t *cells = json_array();
    json_array_append_new(cells, json_string(name));
    for (int k = 0; k < 3; k++) {
      json_array_append_new(cells, copy_of(json_object_get(one, asked[k]), "answer"));
      json_array_append_new(cells, copy_of(json_object_get(one, asked[k]), "number"));
    }
    json_array_append_new(rows, cells);
  }
  return ep_json_append(tables, json_pack("{s:s, s:o, s:o}", "title", "In the place of training",
                                          "columns", columns(names, 7), "rows", rows));
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

/* how many bounds there are, hold, and say something */
static void bounds_sentence(char text[400], const json_t *result) {
  int all = 0, hold = 0, tight = 0;
  size_t i, k;
  json_t *job, *one;
  json_array_foreach(json_object_get(result, "jobs"), i, job)
      json_array_foreach(json_object_get(job, "bounds"), k, one) {
    const double limit = number_of(one, "log10_bound"), value = number_of(one, "log10_measured");
    if (!json_is_number(json_object_get(one, "log10_bound"))) continue;
    all++;
    hold += json_is_true(json_object_get(one, "holds"));
    tight += isfinite(value) && limit - value < 2;
  }
  snprintf(text, 400,
           all ? "%d of %d bounds that apply to these runs hold; %d of them are within a factor of "
                 "100 of what was measured."
               : "No bound of the theory applies to these runs: they are for one hidden layer.",
           hold, all, tight);
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
  return ep_json_append(
      tables, json_pack("{s:s, s:o, s:o, s:b}", "title", "Bounds and measurements", "columns",
                        columns(names, 7), "rows", rows, "folded", true));
}

/* ---- the document */

static ep_status add_answer(json_t *out, const char *question, const json_t *v) {
  if (!v) return EP_OK;
  return ep_json_append(
      out, json_pack("{s:s, s:O, s:O}", "question", question, "answer",
                     json_object_get(v, "answer"), "words", json_object_get(v, "words")));
}

static ep_status verdicts(json_t *out, const json_t *result) {
  static const char *const asked[][2] = {{"same_function", "Is it the same function?"},
                                         {"as_good", "Is it as good?"},
                                         {"cheaper", "Is it cheaper?"}};
  const json_t *verdict = json_object_get(result, "verdict");
  for (int k = 0; k < 3; k++)
    EP_TRY(add_answer(out, asked[k][1], json_object_get(verdict, asked[k][0])));
  return EP_OK;
}

/* question, answer, words: what the theory asks */
static ep_status theory_table(json_t *tables, const json_t *result) {
  static const char *const names[][3] = {{"question", "", ""}, {"answer", "", ""}, {"", "", ""}};
  static const struct {
    const char *method, *part, *question;
  } asked[] = {{"kernel", NULL, "Does the frozen kernel follow training?"},
               {"kernel", "small", "Is the drift of the tangent kernel small?"},
               {"kernel", "falls", "Does it fall with width?"},
               {"pca", NULL, "Is PCA of C(0) that of C at the end?"},
               {"pca", "small", "Is the drift of C small?"},
               {"pca", "falls", "Does it fall with width?"}};
  const json_t *verdict = json_object_get(result, "verdict");
  json_t *rows = json_array();
  for (int k = 0; k < 6; k++) {
    const json_t *v = json_object_get(verdict, asked[k].method);
    if (asked[k].part) v = json_object_get(v, asked[k].part);
    if (v)
      json_array_append_new(rows,
                            json_pack("[s, O, O]", asked[k].question, json_object_get(v, "answer"),
                                      json_object_get(v, "words")));
  }
  if (!json_array_size(rows)) {
    json_decref(rows);
    return EP_OK;
  }
  return ep_json_append(tables, json_pack("{s:s, s:o, s:o}", "title", "What the theory asks",
                                          "columns", columns(names, 3), "rows", rows));
}

static ep_status glossary(json_t *out) {
  static const char *const words[][2] = {
      {"frozen kernel",
       "Gradient descent with the tangent kernel kept as it was at the start: what "
       "training becomes when the network is wide enough."},
      {"tangent kernel",
       "K(x, y) = J(x) J(y)', J the derivative of the outputs by the weights: how "
       "a step for one point moves the outputs at another."},
      {"of their length",
       "The length of the difference of two outputs, divided by the length of "
       "the one of training; 0.1 is a tenth."},
      {"of its length",
       "The length of the difference, divided by the length of what it is compared "
       "with; 0.1 is a tenth."},
      {"C(0)",
       "The contrastive covariance of the hidden features at the random start: that of "
       "positive pairs less that of negative ones. C(T) is the same after training."},
      {"grassmann", "Gradient descent on both layers with orthonormal output weights, W'W = I."},
      {"iterate", "PCA for the output layer, one gradient step for the hidden one, repeated."},
      {"whitened",
       "The closed form of Barlow Twins, VICReg and spectral losses: directions in which "
       "two views of a point agree, with all variances one. It uses positives alone."},
      {"infinite", "PCA of C(0) for a network of infinite width, through its kernel."},
      {"RankMe",
       "How many directions the outputs use: exp of the entropy of their singular values."},
      {"recall", "Share of held-out anchors whose own positive is the nearest of all positives."},
      {"linear probe",
       "Logistic regression on the outputs, trained with labels: how much of the "
       "classes can be read off them."},
      {"largest principal angle",
       "0 degrees: two subspaces are one; 90: one has a direction that the "
       "other lacks altogether."},
      {"PCA of inputs",
       "The first principal components of the data as they are: no pairs, no network."}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    EP_TRY(ep_json_append(out, json_pack("{s:s, s:s}", "term", words[k][0], "means", words[k][1])));
  return EP_OK;
}

static ep_status section(json_t *sections, const char *title, const char *text, json_t **tables,
                         json_t **figures) {
  json_t *one = json_pack("{s:s, s:[s]}", "title", title, "text", text);
  EP_TRY(ep_json_append(sections, one));
  if (tables) EP_TRY(ep_json_put(one, "tables", *tables = json_array()));
  if (figures) EP_TRY(ep_json_put(one, "figures", *figures = json_array()));
  return EP_OK;
}

static ep_status front(json_t *document, const json_t *result) {
  const json_t *use = json_object_get(json_object_get(result, "verdict"), "use");
  json_t *answers = json_array(), *words = json_array();
  EP_TRY(ep_json_put(document, "title", json_string("May a closed form replace this model?")));
  EP_TRY(ep_json_put(document, "headline",
                     json_pack("{s:O, s:O}", "words", json_object_get(use, "sentence"), "command",
                               json_object_get(use, "command"))));
  EP_TRY(ep_json_put(document, "verdict", answers));
  EP_TRY(verdicts(answers, result));
  EP_TRY(ep_json_put(document, "glossary", words));
  return glossary(words);
}

static ep_status methods_section(json_t *sections, const json_t *result) {
  json_t *tables, *figures;
  char text[400];
  snprintf(text, sizeof text,
           "Every method on the same pairs and the same random start. Scored on %s; accuracy is "
           "that of a linear probe. Time and memory are those of the fit alone.",
           json_string_value(json_object_get(result, "scored_on")));
  EP_TRY(section(sections, "How good, and how long it takes", text, NULL, &figures));
  EP_TRY(quality(figures, result));
  prune(figures);
  EP_TRY(section(sections, "Methods", "Sorted by score, the best marked; each at its best width.",
                 &tables, NULL));
  EP_TRY(methods_table(tables, result, true));
  EP_TRY(answers_table(tables, result));
  return methods_table(tables, result, false);
}

static ep_status theory_sections(json_t *sections, const json_t *result) {
  json_t *tables, *figures;
  char text[400];
  const json_t *note =
      json_object_get(json_object_get(json_object_get(result, "verdict"), "trained"), "words");
  EP_TRY(section(sections, "Does the approximation improve with width?",
                 "The theory says that drifts fall at least as the width to the power -1/2. "
                 "Measured at the end of training, with the range over seeds.",
                 &tables, &figures));
  EP_TRY(theory_table(tables, result));
  EP_TRY(drift_table(tables, result));
  EP_TRY(drift_width(figures, result));
  EP_TRY(drift_time(figures, result));
  prune(figures);
  EP_TRY(section(sections, "PCA and the trained output layer",
                 note ? json_string_value(note) : "Spectra and angles.", NULL, &figures));
  EP_TRY(spectrum(figures, result));
  EP_TRY(angles(figures, result));
  prune(figures);
  bounds_sentence(text, result);
  EP_TRY(section(sections, "The theory's bounds", text, &tables, NULL));
  return bounds_table(tables, result);
}

static ep_status fill(json_t *document, const json_t *result, const char *command,
                      const json_t *machine) {
  json_t *sections = json_array(), *figures;
  EP_TRY(front(document, result));
  EP_TRY(ep_json_put(document, "sections", sections));
  EP_TRY(methods_section(sections, result));
  EP_TRY(section(sections, "What the methods see",
                 "Switch between methods to compare; first seed, with the accuracy of each.", NULL,
                 &figures));
  EP_TRY(embedding(figures, result));
  if (!json_array_size(figures)) json_array_remove(sections, json_array_size(sections) - 1);
  EP_TRY(theory_sections(sections, result));
  EP_TRY(ep_json_put(document, "settings", copy_of(result, "config")));
  EP_TRY(ep_json_put(document, "changed", copy_of(result, "changed")));
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
