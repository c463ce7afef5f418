/* The outcome of a comparison as JSON: table, power laws, verdict. */
#include "study/compare_words.h"

#include <math.h>
#include <string.h>

/* ---- the table */

static json_t *width_json(long width) { return width > 0 ? json_integer(width) : json_null(); }

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
  EP_TRY(ep_json_put(one, "loss_gap", ep_json_number(ep_row_loss_gap(m, row))));
  EP_TRY(ep_json_put(one, "memory",
                     ep_json_number(ep_spread_of(row, offsetof(ep_trial, memory)).high)));
  EP_TRY(ep_json_put(one, "runs", json_integer(runs.count)));
  EP_TRY(ep_json_put(one, "diverged", json_integer(ep_row_diverged(row))));
  return ep_json_put(one, "best", json_boolean(best));
}

static ep_status make_table(json_t *result, const ep_comparison *m) {
  json_t *table = json_array();
  EP_TRY(ep_json_put(result, "table", table));
  for (int i = 0; i < m->rows; i++) EP_TRY(add_row(table, m, &m->row[i], ep_row_is_best(m, i)));
  return EP_OK;
}

/* ---- drifts against width */

static ep_status make_drift(json_t *result, const ep_comparison *m) {
  json_t *all = json_object();
  EP_TRY(ep_json_put(result, "drift", all));
  for (int k = 0; k < EP_DRIFTS; k++) {
    const ep_drift_row *d = &m->drift[k];
    double mean[EP_MOST_WIDTHS], low[EP_MOST_WIDTHS], high[EP_MOST_WIDTHS];
    if (!ep_drift_measured(d, m)) continue;
    for (int w = 0; w < m->widths; w++) {
      const ep_finding f = ep_drift_at(d, m, w);
      mean[w] = f.number, low[w] = f.low, high[w] = f.high;
    }
    json_t *one =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "what", d->what, "exponent",
                  ep_json_number(d->law.exponent), "exponent_low", ep_json_number(d->law.low),
                  "exponent_high", ep_json_number(d->law.high), "width_needed",
                  ep_json_number(ep_drift_width_needed(d, m->tolerance)), "width",
                  ep_json_numbers(m->width, m->widths), "mean", ep_json_numbers(mean, m->widths),
                  "low", ep_json_numbers(low, m->widths), "high", ep_json_numbers(high, m->widths),
                  "falls", ep_answer_name(ep_falls(&d->law).answer));
    EP_TRY(ep_json_put(all, d->name, one));
  }
  return EP_OK;
}

/* ---- the verdict */

static json_t *said_json(const ep_said *s) {
  const ep_finding *f = &s->finding;
  return json_pack("{s:s, s:o, s:o, s:o, s:s}", "answer", ep_answer_name(f->answer), "number",
                   ep_json_number(f->number), "low", ep_json_number(f->low), "high",
                   ep_json_number(f->high), "words", s->words);
}

static ep_status add_answers(json_t *to, const ep_answers *a) {
  for (int k = 0; k < EP_ASKED; k++)
    EP_TRY(ep_json_put(to, ep_asked_key(k), said_json(&a->said[k])));
  return EP_OK;
}

static json_t *choice_json(const ep_comparison *m, const ep_row *row) {
  return json_pack("{s:o, s:o, s:o}", "number",
                   ep_json_number(row ? ep_spread_score(row, m->by).mean : NAN), "method",
                   row ? json_string(row->name) : json_null(), "width",
                   row ? width_json(row->width) : json_null());
}

static ep_status add_use(json_t *verdict, const ep_comparison *m, const ep_verdict *v) {
  const ep_row *about = v->about.row;
  json_t *one = choice_json(m, v->use);
  EP_TRY(ep_json_put(verdict, "use", one));
  EP_TRY(ep_json_put(one, "answer", json_string(v->use ? "yes" : "no answer")));
  EP_TRY(ep_json_put(one, "sentence", json_string(v->sentence)));
  EP_TRY(ep_json_put(one, "command", json_string(v->command)));
  EP_TRY(ep_json_put(one, "fit", choice_json(m, v->fit)));
  EP_TRY(ep_json_put(one, "words",
                     json_sprintf("%s%s%s", v->sentence, v->command[0] ? " " : "", v->command)));
  EP_TRY(ep_json_put(verdict, "score", json_string(ep_score_name(m->by))));
  EP_TRY(ep_json_put(verdict, "about", about ? json_string(about->name) : json_null()));
  return add_answers(verdict, &v->about);
}

static ep_status add_methods(json_t *verdict, const ep_verdict *v) {
  json_t *all = json_object(), *one;
  EP_TRY(ep_json_put(verdict, "methods", all));
  for (int i = 0; i < v->methods; i++) {
    EP_TRY(ep_json_put(all, v->method[i].row->name, one = json_object()));
    EP_TRY(ep_json_put(one, "width", width_json(v->method[i].row->width)));
    EP_TRY(add_answers(one, &v->method[i]));
  }
  return EP_OK;
}

static ep_status add_theory(json_t *verdict, const ep_comparison *m, const ep_theory_part *t) {
  if (!t->method) return EP_OK;
  return ep_json_put(
      verdict, t->method->name,
      json_pack("{s:s, s:b, s:b, s:f, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "answer",
                t->holds ? "holds" : "fails", "holds", t->holds, "fails", !t->holds, "tolerance",
                m->tolerance, "from_width", ep_json_number(t->from), "difference",
                ep_json_number(t->now), "width_needed", ep_json_number(t->needed), "measured",
                ep_drift_measured(t->difference, m) ? t->difference->what : "nothing", "words",
                t->words, "small", said_json(&t->small), "falls", said_json(&t->falls)));
}

/* the drifts' answers, whatever was run */
static ep_status add_drifts(json_t *verdict, const ep_verdict *v) {
  json_t *all = json_object();
  EP_TRY(ep_json_put(verdict, "theory", all));
  for (int k = EP_NO_THEORY + 1; k < EP_THEORIES; k++)
    EP_TRY(ep_json_put(all, ep_method_of_theory(k, false)->name,
                       json_pack("{s:o, s:o}", "small", said_json(&v->theory[k].small), "falls",
                                 said_json(&v->theory[k].falls))));
  return EP_OK;
}

/* Is W at its optimum? The largest principal angle between the trained W and PCA of C at the end. */
static ep_status add_angles(json_t *verdict, const ep_comparison *m, const ep_verdict *v) {
  if (!v->trained[0]) return EP_OK;
  return ep_json_put(verdict, "trained",
                     json_pack("{s:o, s:o, s:s}", "angle_first", ep_json_number(m->angle_first),
                               "angle_last", ep_json_number(m->angle_last), "words", v->trained));
}

ep_status ep_compare_summary(json_t *result, const ep_comparison *m, const ep_verdict *v) {
  json_t *verdict = json_object();
  EP_TRY(ep_json_put(result, "verdict", verdict));
  EP_TRY(make_table(result, m));
  EP_TRY(make_drift(result, m));
  EP_TRY(add_use(verdict, m, v));
  EP_TRY(add_methods(verdict, v));
  for (int k = 0; k < EP_THEORIES; k++) EP_TRY(add_theory(verdict, m, &v->theory[k]));
  EP_TRY(add_drifts(verdict, v));
  return add_angles(verdict, m, v);
}
