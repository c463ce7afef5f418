/* The outcome of a comparison as JSON: table, power laws, verdict. */
#include "study/compare.h"

#include "study/compare_words.h"

#include <math.h>
#include <string.h>

/* ---- the table */

static json_t *width_json(long width) { return width > 0 ? json_integer(width) : json_null(); }

/* loss of the method less that of what it stands for, at its width; NAN: there is nothing to compare with */
static double loss_gap(const ep_comparison *m, const ep_row *row) {
  const size_t loss = offsetof(ep_trial, loss);
  if (!row->method || !row->method->stands_for) return NAN;
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == row->width && m->row[i].method &&
        strcmp(m->row[i].name, row->method->stands_for) == 0)
      return ep_spread_of(row, loss).mean - ep_spread_of(&m->row[i], loss).mean;
  return NAN;
}

static ep_status add_row(json_t *table, const ep_comparison *m, const ep_row *row, bool best) {
  static const struct {
    const char *name;
    size_t offset;
  } means[] = {{"accuracy", offsetof(ep_trial, accuracy)},
               {"recall", offsetof(ep_trial, recall)},
               {"rankme", offsetof(ep_trial, rankme)},
               {"test_loss", offsetof(ep_trial, test_loss)},
               {"loss", offsetof(ep_trial, loss)},
               {"seconds", offsetof(ep_trial, seconds)},
               {"difference", offsetof(ep_trial, difference)}};
  json_t *one = json_object();
  const ep_spread runs = ep_spread_of(row, offsetof(ep_trial, seconds));
  EP_TRY(ep_json_append(table, one));
  EP_TRY(ep_json_put(one, "method", json_string(row->name)));
  EP_TRY(ep_json_put(one, "width", width_json(row->width)));
  for (size_t k = 0; k < sizeof means / sizeof *means; k++)
    EP_TRY(
        ep_json_put(one, means[k].name, ep_json_number(ep_spread_of(row, means[k].offset).mean)));
  EP_TRY(ep_json_put(one, "accuracy_sd",
                     ep_json_number(ep_spread_of(row, offsetof(ep_trial, accuracy)).sd)));
  EP_TRY(ep_json_put(one, "score", ep_json_number(ep_spread_score(row, m->by).mean)));
  EP_TRY(ep_json_put(one, "loss_gap", ep_json_number(loss_gap(m, row))));
  EP_TRY(ep_json_put(one, "memory",
                     ep_json_number(ep_spread_of(row, offsetof(ep_trial, memory)).high)));
  EP_TRY(ep_json_put(one, "runs", json_integer(runs.count)));
  EP_TRY(ep_json_put(one, "diverged", json_integer(ep_row_diverged(row))));
  return ep_json_put(one, "best", json_boolean(best));
}

static ep_status make_table(json_t *result, const ep_comparison *m) {
  json_t *table = json_array();
  EP_TRY(ep_json_put(result, "table", table));
  for (int i = 0; i < m->rows; i++)
    EP_TRY(
        add_row(table, m, &m->row[i], i == 0 && isfinite(ep_spread_score(&m->row[0], m->by).mean)));
  return EP_OK;
}

/* ---- drifts against width */

static bool measured(const ep_drift_row *d, const ep_comparison *m) {
  for (int i = 0; i < m->widths * m->seeds; i++)
    if (isfinite(d->value[i])) return true;
  return false;
}

static double width_needed(const ep_drift_row *d, double tolerance) {
  return d->law.exponent < 0 ? ep_power_law_meets(&d->law, tolerance) : NAN;
}

static ep_status make_drift(json_t *result, const ep_comparison *m) {
  json_t *all = json_object();
  EP_TRY(ep_json_put(result, "drift", all));
  for (int k = 0; k < EP_DRIFTS; k++) {
    const ep_drift_row *d = &m->drift[k];
    double mean[64], low[64], high[64];
    if (!measured(d, m)) continue;
    for (int w = 0; w < m->widths; w++) {
      const ep_finding f = ep_small(d->value + w * m->seeds, m->seeds, m->tolerance);
      mean[w] = f.number, low[w] = f.low, high[w] = f.high;
    }
    json_t *one =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "what", d->what, "exponent",
                  ep_json_number(d->law.exponent), "exponent_low", ep_json_number(d->law.low),
                  "exponent_high", ep_json_number(d->law.high), "width_needed",
                  ep_json_number(width_needed(d, m->tolerance)), "width",
                  ep_json_numbers(m->width, m->widths), "mean", ep_json_numbers(mean, m->widths),
                  "low", ep_json_numbers(low, m->widths), "high", ep_json_numbers(high, m->widths),
                  "falls", ep_answer_name(ep_falls(&d->law).answer));
    EP_TRY(ep_json_put(all, d->name, one));
  }
  return EP_OK;
}

/* ---- the verdict: three questions of a row */

static json_t *finding_json(const ep_finding *f, const char *words) {
  return json_pack("{s:s, s:o, s:o, s:o, s:s}", "answer", ep_answer_name(f->answer), "number",
                   ep_json_number(f->number), "low", ep_json_number(f->low), "high",
                   ep_json_number(f->high), "words", words);
}

static ep_status add_questions(json_t *to, const ep_comparison *m, const ep_row *row,
                               const ep_compare_config *config) {
  const ep_row *training = ep_row_training(row, m->row, m->rows, m->by);
  const ep_finding same = ep_same_function(row, training, m->tolerance),
                   good = ep_as_good(row, training, m->by, m->tests, m->tolerance),
                   cheap = ep_cheaper(row, training);
  char text[600];
  ep_say_same(text, &same, row, training, m, config);
  EP_TRY(ep_json_put(to, "same_function", finding_json(&same, text)));
  ep_say_good(text, &good, row, training, m, config);
  EP_TRY(ep_json_put(to, "as_good", finding_json(&good, text)));
  ep_say_cheaper(text, &cheap, row, training);
  return ep_json_put(to, "cheaper", finding_json(&cheap, text));
}

/* what to use; the three questions are about it, or, where that is training, about the best that could take its place */
static ep_status add_use(json_t *verdict, const ep_comparison *m, const ep_compare_config *config,
                         const ep_setup *base) {
  const int use = ep_rows_choose(m->row, m->rows, m->by, false);
  const int rival = ep_rows_choose(m->row, m->rows, m->by, true);
  const bool trains = use >= 0 && ep_row_trains(&m->row[use]);
  const int asked = trains ? rival : use;
  char text[600], command[1800];
  ep_say_use(text, command, m, use, rival, config, base);
  json_t *one = json_pack(
      "{s:s, s:o, s:o, s:o, s:s, s:s}", "answer", use >= 0 ? "yes" : "no answer", "number",
      ep_json_number(use >= 0 ? ep_spread_score(&m->row[use], m->by).mean : NAN), "method",
      use >= 0 ? json_string(m->row[use].name) : json_null(), "width",
      use >= 0 ? width_json(m->row[use].width) : json_null(), "sentence", text, "command", command);
  EP_TRY(ep_json_put(one, "words", json_sprintf("%s%s%s", text, command[0] ? " " : "", command)));
  EP_TRY(ep_json_put(verdict, "use", one));
  EP_TRY(ep_json_put(verdict, "score", json_string(ep_score_name(m->by))));
  EP_TRY(ep_json_put(verdict, "about", asked >= 0 ? json_string(m->row[asked].name) : json_null()));
  if (asked >= 0) return add_questions(verdict, m, &m->row[asked], config);
  const ep_finding none = {EP_NO_ANSWER, EP_NOT_MEASURED, NAN, NAN, NAN};
  static const char *const names[] = {"same_function", "as_good", "cheaper"};
  for (int k = 0; k < 3; k++)
    EP_TRY(ep_json_put(verdict, names[k], finding_json(&none, "No answer: nothing was scored.")));
  return EP_OK;
}

/* the three questions of every method that could take training's place, at its best width */
static ep_status add_methods(json_t *verdict, const ep_comparison *m,
                             const ep_compare_config *config) {
  json_t *all = json_object(), *one;
  EP_TRY(ep_json_put(verdict, "methods", all));
  for (int i = 0; i < m->rows; i++) {
    const ep_row *row = &m->row[i];
    if (!row->method || ep_row_trains(row) || json_object_get(all, row->name)) continue;
    EP_TRY(ep_json_put(all, row->name, one = json_object()));
    EP_TRY(ep_json_put(one, "width", width_json(row->width)));
    EP_TRY(add_questions(one, m, row, config));
  }
  return EP_OK;
}

/* ---- and the theory's part */

typedef struct {
  const char *name, *trained;
  ep_drift_kind difference, drift;
} question;
static const question questions[] = {{"kernel", "gd", EP_DRIFT_KERNEL, EP_DRIFT_NTK},
                                     {"pca", "grassmann", EP_DRIFT_PCA, EP_DRIFT_C}};

static int diverged_at(const ep_comparison *m, const char *method, double width) {
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == (long)width && strcmp(m->row[i].name, method) == 0)
      return ep_row_diverged(&m->row[i]);
  return 0;
}

/* the smallest width from which on every seed is within the tolerance; NAN: none */
static double holds_from(const ep_comparison *m, const ep_drift_row *d, const char *trained) {
  double from = NAN;
  for (int w = m->widths - 1; w >= 0; w--) {
    const ep_finding f = ep_small(d->value + w * m->seeds, m->seeds, m->tolerance);
    if (diverged_at(m, trained, m->width[w]) || f.answer != EP_YES) break;
    from = m->width[w];
  }
  return from;
}

static ep_status add_theory(json_t *verdict, const ep_comparison *m, const question *q) {
  const ep_drift_row *d = &m->drift[q->difference], *drift = &m->drift[q->drift];
  const int last = m->widths - 1;
  const ep_finding now = ep_small(d->value + last * m->seeds, m->seeds, m->tolerance);
  const ep_finding small = ep_small(drift->value + last * m->seeds, m->seeds, m->tolerance);
  const ep_finding falls = ep_falls(&drift->law);
  const double from = holds_from(m, d, q->trained), needed = width_needed(d, m->tolerance);
  const bool holds = isfinite(from);
  char text[600], more[2][300];
  ep_say_theory(text, q->name, m, d, &now, from, needed,
                diverged_at(m, q->trained, m->width[last]) > 0);
  ep_say_small(more[0], &small, drift, m);
  ep_say_falls(more[1], &falls, drift, m);
  json_t *one = json_pack("{s:s, s:b, s:b, s:f, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "answer",
                          holds ? "holds" : "fails", "holds", holds, "fails", !holds, "tolerance",
                          m->tolerance, "from_width", ep_json_number(from), "difference",
                          ep_json_number(now.number), "width_needed", ep_json_number(needed),
                          "measured", measured(d, m) ? d->what : "nothing", "words", text, "small",
                          finding_json(&small, more[0]), "falls", finding_json(&falls, more[1]));
  return ep_json_put(verdict, q->name, one);
}

/* Is W at its optimum? The largest principal angle between the trained W and PCA of C at the end. */
static ep_status add_angles(json_t *verdict, const ep_comparison *m) {
  char text[600];
  if (!isfinite(m->angle_last)) return EP_OK;
  ep_say_angles(text, m);
  return ep_json_put(verdict, "trained",
                     json_pack("{s:o, s:o, s:s}", "angle_first", ep_json_number(m->angle_first),
                               "angle_last", ep_json_number(m->angle_last), "words", text));
}

static ep_status summarise(json_t *result, ep_work *work, const ep_compare_config *config,
                           const ep_setup *base) {
  ep_comparison m;
  json_t *verdict = json_object();
  EP_TRY(ep_json_put(result, "verdict", verdict));
  EP_TRY(ep_comparison_read(&m, work, json_object_get(result, "jobs"), config->tolerance));
  EP_TRY(make_table(result, &m));
  EP_TRY(make_drift(result, &m));
  EP_TRY(add_use(verdict, &m, config, base));
  EP_TRY(add_methods(verdict, &m, config));
  for (int k = 0; k < 2; k++)
    if (ep_compare_has(config, questions[k].name) && ep_compare_has(config, questions[k].trained))
      EP_TRY(add_theory(verdict, &m, &questions[k]));
  return add_angles(verdict, &m);
}

ep_status ep_compare_summary(json_t *result, const ep_compare_config *config,
                             const ep_setup *base) {
  ep_work work = {0};
  const ep_status st = summarise(result, &work, config, base);
  ep_work_free(&work);
  return st;
}
