/* The verdict of a comparison: what to use, three questions of every method, and the theory's part. */
#include "study/compare_words.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *key, *text;
} questions[EP_ASKED] = {[EP_ASK_SAME] = {"same_function", "Is it the same function?"},
                         [EP_ASK_GOOD] = {"as_good", "Is it as good?"},
                         [EP_ASK_CHEAPER] = {"cheaper", "Is it cheaper?"}};
const char *ep_asked_key(ep_asked question) { return questions[question].key; }
const char *ep_asked_text(ep_asked question) { return questions[question].text; }

/* ---- three questions of a row */

static void ask(ep_answers *a, const ep_comparison *m, const ep_row *row,
                const ep_compare_config *config) {
  const ep_row *training = ep_row_training(row, m->row, m->rows, m->by);
  ep_said *same = &a->said[EP_ASK_SAME], *good = &a->said[EP_ASK_GOOD],
          *cheap = &a->said[EP_ASK_CHEAPER];
  a->row = row;
  same->finding = ep_same_function(row, training, m->tolerance);
  good->finding = ep_as_good(row, training, m->by, m->tests, m->tolerance);
  cheap->finding = ep_cheaper(row, training);
  ep_say_same(same->words, &same->finding, row, training, m, config);
  ep_say_good(good->words, &good->finding, row, training, m, config);
  ep_say_cheaper(cheap->words, &cheap->finding, row, training, config);
}

static void ask_nothing(ep_answers *a) {
  a->row = NULL;
  for (int k = 0; k < EP_ASKED; k++) {
    a->said[k].finding = (ep_finding){EP_NO_ANSWER, EP_NOT_MEASURED, NAN, NAN, NAN};
    strcpy(a->said[k].words, "No answer: nothing was scored.");
  }
}

static const ep_row *chosen(const ep_comparison *m, ep_among of) {
  const int i = ep_rows_choose(m->row, m->rows, m->by, of);
  return i >= 0 ? &m->row[i] : NULL;
}

static ep_status choose(ep_verdict *v, const ep_comparison *m, const ep_compare_config *config,
                        const ep_setup *base) {
  const ep_row *baseline = chosen(m, EP_OF_BASELINES), *rival = chosen(m, EP_OF_CLOSED);
  v->fit = chosen(m, EP_OF_METHODS);
  v->use = v->fit && baseline ? baseline : v->fit;
  EP_TRY(ep_say_use(v, m, rival, config, base));
  const ep_row *asked = v->fit && ep_row_trains(v->fit) ? rival : v->fit;
  if (asked) ask(&v->about, m, asked, config);
  else ask_nothing(&v->about);
  return EP_OK;
}

static bool is_there(const ep_verdict *v, const char *name) {
  for (int i = 0; i < v->methods; i++)
    if (strcmp(v->method[i].row->name, name) == 0) return true;
  return false;
}

/* every method that could take training's place, at its best width: rows are sorted */
static ep_status ask_all(ep_verdict *v, ep_work *work, const ep_comparison *m,
                         const ep_compare_config *config) {
  EP_TRY(ep_work_get(work, &v->method, m->rows, sizeof *v->method));
  for (int i = 0; i < m->rows; i++) {
    const ep_row *row = &m->row[i];
    if (row->method && !ep_row_trains(row) && !is_there(v, row->name))
      ask(&v->method[v->methods++], m, row, config);
  }
  return EP_OK;
}

/* ---- the theory's part */

static int diverged_at(const ep_comparison *m, const ep_method_row *method, double width) {
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == (long)width && m->row[i].method == method)
      return ep_row_diverged(&m->row[i]);
  return 0;
}

/* the smallest width from which on every seed is within the tolerance; NAN: none */
static double holds_from(const ep_comparison *m, const ep_drift_row *d,
                         const ep_method_row *trained) {
  double from = NAN;
  for (int w = m->widths - 1; w >= 0; w--) {
    if (diverged_at(m, trained, m->width[w]) || ep_drift_at(d, m, w).answer != EP_YES) break;
    from = m->width[w];
  }
  return from;
}

/* what a theory speaks of: how far its replacement is from training, and the drift that it says falls with width */
static const struct {
  ep_drift_kind difference, drift;
} theories[EP_THEORIES] = {[EP_THEORY_KERNEL] = {EP_DRIFT_KERNEL, EP_DRIFT_NTK},
                           [EP_THEORY_PCA] = {EP_DRIFT_PCA, EP_DRIFT_C}};

/* asked of every comparison: what was not run is no answer */
static void drift(ep_theory_part *t, ep_theory which, const ep_comparison *m,
                  const ep_compare_config *config) {
  const ep_drift_row *d = &m->drift[theories[which].drift];
  t->small.finding = ep_drift_at(d, m, m->widths - 1);
  t->falls.finding = ep_falls(&d->law);
  ep_say_small(&t->small, which, d, m, config);
  ep_say_falls(&t->falls, which, d, m, config);
}

static void theory(ep_theory_part *t, ep_theory which, const ep_comparison *m,
                   const ep_compare_config *config) {
  const ep_method_row *instead = ep_method_of_theory(which, false),
                      *trained = ep_method_of_theory(which, true);
  const int last = m->widths - 1;
  drift(t, which, m, config);
  if (!ep_compare_has(config, instead->name) || !ep_compare_has(config, trained->name)) return;
  t->method = instead;
  t->difference = &m->drift[theories[which].difference];
  t->now = ep_drift_at(t->difference, m, last).number;
  t->from = holds_from(m, t->difference, trained);
  t->holds = isfinite(t->from);
  t->needed = ep_drift_width_needed(t->difference, m->tolerance);
  ep_say_theory(t, which, m, diverged_at(m, trained, m->width[last]) > 0, config);
}

const char *ep_theory_asks(ep_theory which, int k) {
  static const char *const asked[EP_THEORIES][3] = {
      [EP_THEORY_KERNEL] = {"Does the frozen kernel follow training?",
                            "Is the drift of the tangent kernel small?",
                            "Does the drift of the tangent kernel fall with width?"},
      [EP_THEORY_PCA] = {"Is PCA of C(0) that of C at the end?", "Is the drift of C small?",
                         "Does the drift of C fall with width?"}};
  return asked[which][k];
}

ep_status ep_verdict_reach(ep_verdict *v, ep_work *work, const ep_comparison *m,
                           const ep_compare_config *config, const ep_setup *base) {
  *v = (ep_verdict){0};
  EP_TRY(choose(v, m, config, base));
  EP_TRY(ask_all(v, work, m, config));
  for (int k = EP_NO_THEORY + 1; k < EP_THEORIES; k++) theory(&v->theory[k], k, m, config);
  if (isfinite(m->angle_last)) ep_say_angles(v->trained, m);
  return EP_OK;
}
