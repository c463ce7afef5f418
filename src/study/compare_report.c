/* The report of a comparison: sections and tables from its rows and verdict. */
#include "study/compare_words.h"

#include <eigenpair/report.h>
#include <math.h>
#include <string.h>

/* ---- tables */

static json_t *columns(const char *const names[][3], int count) {
  json_t *out = json_array();
  for (int i = 0; i < count; i++)
    json_array_append_new(out, json_pack("{s:s, s:s, s:s}", "name", names[i][0], "unit",
                                         names[i][1], "format", names[i][2]));
  return out;
}

/* A table out of rows that are lists of cells; `rows` is taken over. */
static ep_status add_table(json_t *tables, const char *title, const char *const names[][3],
                           int count, json_t *rows, bool folded) {
  return ep_json_append(tables, json_pack("{s:s, s:o, s:o, s:b}", "title", title, "columns",
                                          columns(names, count), "rows", rows, "folded", folded));
}

/* ∞ where that is the width, a dash where there is none */
static json_t *width_cell(const ep_row *row) {
  if (row->width > 0) return json_integer(row->width);
  return row->method && row->method->no_width ? json_string("∞") : json_null();
}

static json_t *remark(const ep_row *row, bool best) {
  const int diverged = ep_row_diverged(row);
  if (best) return json_string("best");
  if (diverged > 0)
    return json_sprintf("%d of %d diverged", diverged,
                        ep_spread_of(row, offsetof(ep_trial, seconds)).count);
  return json_string(row->method && row->method->views ? "leaves negatives out" : "");
}

static json_t *mean_cell(const ep_row *row, size_t offset) {
  return ep_json_number(ep_spread_of(row, offset).mean);
}

static json_t *methods_row(const ep_row *row, bool best) {
  const ep_spread accuracy = ep_spread_of(row, offsetof(ep_trial, accuracy));
  return json_pack(
      "[s, o, o, o, o, o, o, o, o, o]", row->name, width_cell(row), ep_json_number(accuracy.mean),
      ep_json_number(accuracy.sd), mean_cell(row, offsetof(ep_trial, recall)),
      mean_cell(row, offsetof(ep_trial, rankme)), mean_cell(row, offsetof(ep_trial, test_loss)),
      mean_cell(row, offsetof(ep_trial, seconds)),
      ep_json_number(ep_spread_of(row, offsetof(ep_trial, memory)).high), remark(row, best));
}

/* sorted by quality; `once`: each method at its best width */
static ep_status methods_table(json_t *tables, const ep_comparison *m, bool once) {
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
  json_t *rows = json_array();
  for (int i = 0; i < m->rows; i++)
    if (!once || ep_row_is_first(m, i))
      json_array_append_new(rows, methods_row(&m->row[i], ep_row_is_best(m, i)));
  return add_table(tables, once ? "Methods, each at its best width" : "All widths", names, 10, rows,
                   !once);
}

/* the three answers of every method */
static ep_status answers_table(json_t *tables, const ep_verdict *v) {
  static const char *const names[][3] = {{"method", "", ""},         {"same function", "", ""},
                                         {"difference", "", ".2~g"}, {"as good", "", ""},
                                         {"points", "", "+.1f"},     {"cheaper", "", ""},
                                         {"times", "", ".2~g"}};
  json_t *rows = json_array();
  for (int i = 0; i < v->methods; i++) {
    json_t *cells = json_array();
    json_array_append_new(cells, json_string(v->method[i].row->name));
    for (int k = 0; k < EP_ASKED; k++) {
      const ep_finding *f = &v->method[i].said[k].finding;
      json_array_append_new(cells, json_string(ep_answer_name(f->answer)));
      json_array_append_new(cells, ep_json_number(k == EP_ASK_GOOD ? 100 * f->number : f->number));
    }
    json_array_append_new(rows, cells);
  }
  return add_table(tables, "In the place of training", names, 7, rows, false);
}

/* an exponent without an interval says nothing: what the theory asks then has the answer */
static bool has_law(const ep_drift_row *d, const ep_comparison *m) {
  return ep_drift_measured(d, m) && isfinite(d->law.low);
}

static const char *falls_cell(const ep_drift_row *d) {
  const ep_answer falls = ep_falls(&d->law).answer;
  return falls == EP_NO_ANSWER ? "no answer: it contains 0" : ep_answer_name(falls);
}

static ep_status drift_table(json_t *tables, const ep_comparison *m) {
  static const char *const names[][3] = {
      {"what", "", ""},  {"exponent", "", ".3f"}, {"95 % from", "", ".3f"},
      {"to", "", ".3f"}, {"falls", "", ""},       {"width for the tolerance", "", ".3~s"}};
  json_t *rows = json_array();
  for (int k = 0; k < EP_DRIFTS; k++) {
    const ep_drift_row *d = &m->drift[k];
    if (has_law(d, m))
      json_array_append_new(
          rows, json_pack("[s, o, o, o, s, o]", d->what, ep_json_number(d->law.exponent),
                          ep_json_number(d->law.low), ep_json_number(d->law.high), falls_cell(d),
                          ep_json_number(ep_drift_width_needed(d, m->tolerance))));
  }
  if (json_array_size(rows))
    return add_table(tables, "Power laws of the drifts against width", names, 6, rows, false);
  json_decref(rows);
  return EP_OK;
}

/* how many bounds there are, hold, and say something */
static void bounds_sentence(char text[400], const ep_comparison *m) {
  int all = 0, hold = 0, tight = 0;
  for (int i = 0; i < m->jobs; i++)
    for (int k = 0; k < m->job[i].bounds; k++) {
      const ep_bound_line *b = &m->job[i].bound[k];
      if (isnan(b->bound)) continue;
      all++;
      hold += b->holds;
      tight += isfinite(b->measured) && b->bound - b->measured < 2;
    }
  snprintf(text, 400,
           all ? "%d of %d bounds that apply to these runs hold; %d of them are within a factor of "
                 "100 of what was measured."
               : "No bound of the theory applies to these runs: they are for one hidden layer.",
           hold, all, tight);
}

/* one row a width and a bound; log10 throughout, for they overflow */
static ep_status bounds_table(json_t *tables, const ep_comparison *m) {
  static const char *const names[][3] = {{"width", "", ",d"},        {"method", "", ""},
                                         {"bound", "", ""},          {"log10 measured", "", ".2f"},
                                         {"log10 bound", "", ".2f"}, {"holds", "", ""},
                                         {"remark", "", ""}};
  json_t *rows = json_array();
  for (int i = 0; i < m->jobs; i++)
    for (int k = 0; m->job[i].first && k < m->job[i].bounds; k++) {
      const ep_bound_line *b = &m->job[i].bound[k];
      json_array_append_new(
          rows, json_pack("[I, s, s, o, o, o, s]", (json_int_t)m->job[i].width, b->method, b->name,
                          ep_json_number(b->measured), ep_json_number(b->bound),
                          isnan(b->bound) ? json_null() : json_boolean(b->holds), b->note));
    }
  return add_table(tables, "Bounds and measurements", names, 7, rows, true);
}

/* ---- the document */

static ep_status verdicts(json_t *out, const ep_answers *a) {
  for (int k = 0; k < EP_ASKED; k++)
    EP_TRY(ep_json_append(
        out, json_pack("{s:s, s:s, s:s}", "question", ep_asked_text(k), "answer",
                       ep_answer_name(a->said[k].finding.answer), "words", a->said[k].words)));
  return EP_OK;
}

static void theory_row(json_t *rows, const char *question, const char *answer, const char *words) {
  json_array_append_new(rows, json_pack("[s, s, s]", question, answer, words));
}

/* question, answer, words: what the theory asks */
static ep_status theory_table(json_t *tables, const ep_verdict *v) {
  static const char *const names[][3] = {
      {"question", "", ""}, {"answer", "", ""}, {"measured", "", ""}};
  json_t *rows = json_array();
  for (int k = EP_NO_THEORY + 1; k < EP_THEORIES; k++) {
    const ep_theory_part *t = &v->theory[k];
    if (t->method) theory_row(rows, ep_theory_asks(k, 0), t->holds ? "holds" : "fails", t->words);
    theory_row(rows, ep_theory_asks(k, 1), ep_answer_name(t->small.finding.answer), t->small.words);
    theory_row(rows, ep_theory_asks(k, 2), ep_answer_name(t->falls.finding.answer), t->falls.words);
  }
  return add_table(tables, "What the theory asks", names, 3, rows, false);
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
       "The first principal components of the data as they are: no pairs, no network."},
      {"held-out loss",
       "The loss on pairs that were not trained on: lower is better, for losses "
       "that the method minimises."}};
  /* words that are methods, or too common to be explained in a sentence: where they stand alone */
  static const char *const cells[][2] = {
      {"gd", "Gradient descent on all layers: training as it is done."},
      {"kernel",
       "Gradient descent of the network's outputs with its tangent kernel at the start, "
       "which stays: the frozen kernel of this width."},
      {"kernel, analytic", "The same with the kernel of a network of infinite width."},
      {"pca", "PCA of C(0): the closed form of the output layer, the hidden one stays random."},
      {"raw inputs", "The data as they are: what every method has to be better than."}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    EP_TRY(ep_json_append(out, json_pack("{s:s, s:s}", "term", words[k][0], "means", words[k][1])));
  for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
    EP_TRY(ep_json_append(out, json_pack("{s:s, s:s, s:b}", "term", cells[k][0], "means",
                                         cells[k][1], "cell", true)));
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

static ep_status front(json_t *document, const ep_verdict *v) {
  json_t *answers = json_array(), *words = json_array();
  EP_TRY(ep_json_put(document, "title", json_string("May a closed form replace this model?")));
  EP_TRY(ep_json_put(document, "headline",
                     json_pack("{s:s, s:s}", "words", v->sentence, "command", v->command)));
  EP_TRY(ep_json_put(document, "verdict", answers));
  EP_TRY(verdicts(answers, &v->about));
  EP_TRY(ep_json_put(document, "glossary", words));
  return glossary(words);
}

static ep_status methods_section(json_t *sections, const ep_compared *c) {
  json_t *tables, *figures;
  char text[400];
  snprintf(text, sizeof text,
           "Every method on the same pairs and the same random start. Scored on %s; accuracy is "
           "that of a linear probe. Time and memory are those of the fit alone.",
           c->scored_on);
  EP_TRY(section(sections, "How good, and how long it takes", text, NULL, &figures));
  EP_TRY(ep_figures_quality(figures, &c->table));
  EP_TRY(section(sections, "Methods", "Sorted by score, the best marked; each at its best width.",
                 &tables, NULL));
  EP_TRY(methods_table(tables, &c->table, true));
  EP_TRY(answers_table(tables, &c->verdict));
  return methods_table(tables, &c->table, false);
}

static ep_status theory_sections(json_t *sections, const ep_compared *c) {
  json_t *tables, *figures;
  char text[400];
  const char *trained = c->verdict.trained;
  EP_TRY(section(sections, "Does the approximation improve with width?",
                 "The theory says that drifts fall at least as the width to the power -1/2. "
                 "Measured at the end of training, with the range over seeds.",
                 &tables, &figures));
  EP_TRY(theory_table(tables, &c->verdict));
  EP_TRY(drift_table(tables, &c->table));
  EP_TRY(ep_figures_drift(figures, &c->table));
  EP_TRY(section(sections, "PCA and the trained output layer",
                 *trained ? trained : "Spectra and angles.", NULL, &figures));
  EP_TRY(ep_figures_pca(figures, &c->table));
  bounds_sentence(text, &c->table);
  EP_TRY(section(sections, "The theory's bounds", text, &tables, NULL));
  return bounds_table(tables, &c->table);
}

/* what the result has as it is */
static ep_status carry(json_t *document, const char *to, const json_t *result, const char *from) {
  json_t *v = json_object_get(result, from);
  return ep_json_put(document, to, v ? json_incref(v) : json_null());
}

static ep_status fill(json_t *document, const ep_compared *c, const char *command,
                      const json_t *machine) {
  json_t *sections = json_array(), *figures;
  EP_TRY(front(document, &c->verdict));
  EP_TRY(ep_json_put(document, "sections", sections));
  EP_TRY(methods_section(sections, c));
  EP_TRY(section(sections, "What the methods see",
                 "Switch between methods to compare; first seed, with the accuracy of each.", NULL,
                 &figures));
  EP_TRY(ep_figures_seen(figures, &c->table));
  if (!json_array_size(figures)) json_array_remove(sections, json_array_size(sections) - 1);
  EP_TRY(theory_sections(sections, c));
  EP_TRY(carry(document, "settings", c->result, "config"));
  EP_TRY(carry(document, "changed", c->result, "changed"));
  EP_TRY(carry(document, "version", c->result, "version"));
  EP_TRY(ep_json_put(document, "command", json_string(command)));
  if (machine) EP_TRY(ep_json_put(document, "machine", json_incref((json_t *)machine)));
  return ep_json_put(document, "result", json_incref(c->result));
}

ep_status ep_compare_document(json_t **document, const ep_compared *c, const char *command,
                              const json_t *machine) {
  *document = json_object();
  EP_CHECK(*document, EP_ERR_NOMEM, "no memory for a report");
  const ep_status st = fill(*document, c, command, machine);
  if (st) json_decref(*document), *document = NULL;
  return st;
}
