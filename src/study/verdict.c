/* The verdict: answers from measured rows. */
#include "study/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *ep_answer_name(ep_answer answer) {
  static const char *const names[] = {"no answer", "yes", "no"};
  return names[answer];
}

double ep_trial_score(const ep_trial *t, ep_score by) {
  if (!t->there || t->diverged) return NAN;
  return by == EP_BY_ACCURACY ? t->accuracy : t->recall;
}

/* ---- over seeds */

static void add(ep_spread *s, double x) {
  if (!isfinite(x)) return;
  s->low = s->count ? fmin(s->low, x) : x;
  s->high = s->count ? fmax(s->high, x) : x;
  s->count++;
  const double d = x - s->mean;
  s->mean += d / s->count;
  s->sd += d * (x - s->mean);
}

static ep_spread close_spread(ep_spread s) {
  s.sd = s.count > 1 ? sqrt(s.sd / (s.count - 1)) : NAN;
  if (!s.count) s.mean = s.low = s.high = NAN;
  return s;
}

ep_spread ep_spread_of(const ep_row *row, size_t offset) {
  ep_spread s = {0};
  for (int k = 0; k < row->seeds; k++)
    if (row->trial[k].there) add(&s, *(const double *)((const char *)&row->trial[k] + offset));
  return close_spread(s);
}

ep_spread ep_spread_score(const ep_row *row, ep_score by) {
  ep_spread s = {0};
  for (int k = 0; k < row->seeds; k++) add(&s, ep_trial_score(&row->trial[k], by));
  return close_spread(s);
}

static int runs(const ep_row *row) {
  int count = 0;
  for (int k = 0; k < row->seeds; k++) count += row->trial[k].there;
  return count;
}

int ep_row_diverged(const ep_row *row) {
  int count = 0;
  for (int k = 0; k < row->seeds; k++) count += row->trial[k].there && row->trial[k].diverged;
  return count;
}

/* ---- answers */

static ep_finding none(ep_reason reason) {
  return (ep_finding){EP_NO_ANSWER, reason, NAN, NAN, NAN};
}

/* every seed of one of them diverged: an answer; some did: none */
static bool divergence(ep_finding *f, const ep_row *row, const ep_row *training, ep_answer lost) {
  const int mine = ep_row_diverged(row), its = ep_row_diverged(training);
  if (!mine && !its) return false;
  *f = none(EP_SEEDS_DISAGREE);
  if (mine && mine == runs(row)) *f = none(EP_METHOD_DIVERGED), f->answer = EP_NO;
  else if (!mine && its == runs(training)) *f = none(EP_TRAINING_DIVERGED), f->answer = lost;
  return true;
}

ep_reason ep_training_state(const ep_row *training, double tolerance) {
  ep_reason reason = EP_NOT_MEASURED;
  for (int k = 0; k < training->seeds; k++) {
    const ep_trial *t = &training->trial[k];
    if (!t->there || t->diverged) continue;
    if (isfinite(t->moved) && t->moved <= tolerance) return EP_NOT_MOVED;
    if (isnan(t->settling)) reason = EP_TOO_FEW_EPOCHS;
    else if (t->settling > EP_SETTLED) reason = EP_NOT_SETTLED;
    else if (reason == EP_NOT_MEASURED) reason = EP_DECIDED;
  }
  return reason;
}

/* a yes that training's state does not allow */
static void doubt(ep_finding *f, const ep_row *training, double tolerance) {
  const ep_reason state = ep_training_state(training, tolerance);
  if (f->answer == EP_YES && state != EP_DECIDED) f->answer = EP_NO_ANSWER, f->reason = state;
}

/* yes: all at most `most`; no: none */
static ep_finding all_within(const ep_spread *s, double most) {
  if (!s->count) return none(EP_NOT_MEASURED);
  ep_finding f = {EP_NO_ANSWER, EP_SEEDS_DISAGREE, s->mean, s->low, s->high};
  if (s->high <= most) f.answer = EP_YES, f.reason = EP_DECIDED;
  if (s->low > most) f.answer = EP_NO, f.reason = EP_DECIDED;
  return f;
}

ep_finding ep_same_function(const ep_row *row, const ep_row *training, double tolerance) {
  ep_finding f;
  if (!training) return none(EP_NOT_MEASURED);
  if (divergence(&f, row, training, EP_NO)) return f;
  const ep_spread s = ep_spread_of(row, offsetof(ep_trial, difference));
  f = all_within(&s, tolerance);
  doubt(&f, training, tolerance);
  if (f.answer == EP_NO && ep_training_state(training, tolerance) == EP_NOT_MOVED)
    f.answer = EP_NO_ANSWER, f.reason = EP_NOT_MOVED;
  return f;
}

/* 95 % interval of the difference of two shares of `tests` points */
static double of_points(double a, double b, double tests) {
  return 1.96 * sqrt((a * (1 - a) + b * (1 - b)) / tests);
}

ep_finding ep_as_good(const ep_row *row, const ep_row *training, ep_score by, double tests,
                      double tolerance) {
  ep_finding f;
  double d[1000];
  int n = 0;
  double half = INFINITY;
  if (!training) return none(EP_NOT_MEASURED);
  if (divergence(&f, row, training, EP_YES)) return f;
  for (int k = 0; k < row->seeds && k < training->seeds && n < 1000; k++) {
    const double a = ep_trial_score(&row->trial[k], by),
                 b = ep_trial_score(&training->trial[k], by);
    if (!isfinite(a - b)) continue;
    d[n++] = a - b;
    half = tests > 0 ? of_points(a, b, tests) : INFINITY;
  }
  if (n == 0) return none(EP_NOT_MEASURED);
  f = none(EP_SEEDS_DISAGREE);
  ep_mean_interval(&f.number, &f.low, &f.high, d, n);
  if (n == 1) f.low = d[0] - half, f.high = d[0] + half;
  if (f.low >= -EP_MARGIN) f.answer = EP_YES, f.reason = EP_DECIDED;
  if (f.high < -EP_MARGIN) f.answer = EP_NO, f.reason = EP_DECIDED;
  doubt(&f, training, tolerance);
  return f;
}

static bool takes_more(double a, double b) { return a > fmax(1.1 * b, b + EP_MEMORY_MARGIN); }

ep_finding ep_cheaper(const ep_row *row, const ep_row *training) {
  ep_spread ratio = {0};
  bool more = false, less = false;
  if (!training) return none(EP_NOT_MEASURED);
  for (int k = 0; k < row->seeds && k < training->seeds; k++) {
    const ep_trial *a = &row->trial[k], *b = &training->trial[k];
    if (!a->there || !b->there || b->diverged || !(a->seconds >= 0)) continue;
    add(&ratio, b->seconds / fmax(a->seconds, 1e-9));
    more = more || takes_more(a->memory, b->memory);
    less = less || takes_more(b->memory, a->memory);
  }
  ratio = close_spread(ratio);
  if (!ratio.count) return none(EP_NOT_MEASURED);
  ep_finding f = {EP_NO_ANSWER, EP_SEEDS_DISAGREE, ratio.mean, ratio.low, ratio.high};
  if (ratio.low > 1) f.answer = EP_YES, f.reason = EP_DECIDED;
  if (ratio.high <= 1) f.answer = EP_NO, f.reason = EP_DECIDED;
  if ((f.answer == EP_YES && more) || (f.answer == EP_NO && less && !more))
    f.answer = EP_NO_ANSWER, f.reason = EP_TRADE;
  return f;
}

ep_finding ep_small(const double *drift, int count, double tolerance) {
  ep_spread s = {0};
  for (int k = 0; k < count; k++) add(&s, drift[k]);
  s = close_spread(s);
  return all_within(&s, tolerance);
}

ep_finding ep_falls(const ep_power_law *law) {
  ep_finding f = {EP_NO_ANSWER, EP_SEEDS_DISAGREE, law->exponent, law->low, law->high};
  if (!isfinite(law->low) || !isfinite(law->high)) f.reason = EP_NOT_MEASURED;
  else if (law->high < 0) f.answer = EP_YES, f.reason = EP_DECIDED;
  else if (law->low > 0) f.answer = EP_NO, f.reason = EP_DECIDED;
  return f;
}

/* ---- order and choice */

/* what it takes, as a class: inputs as they are, a closed form, a descent in training's place, training */
static int effort(const ep_row *row) {
  if (!row->method) return 0;
  return row->method->closed ? 1 : row->method->stands_for ? 2 : 3;
}

/* Bytes are counted, so that a choice by them is the same again; seconds are not. */
static bool costs_less(const ep_row *a, const ep_row *b) {
  if (effort(a) != effort(b)) return effort(a) < effort(b);
  return ep_spread_of(a, offsetof(ep_trial, memory)).high <
         ep_spread_of(b, offsetof(ep_trial, memory)).high;
}

static bool before(const ep_row *a, const ep_row *b, ep_score by) {
  const double x = ep_spread_score(a, by).mean, y = ep_spread_score(b, by).mean;
  if (isfinite(x) != isfinite(y)) return isfinite(x);
  return isfinite(x) && x != y ? x > y : costs_less(a, b);
}

void ep_rows_sort(ep_row *row, int count, ep_score by) {
  for (int i = 1; i < count; i++)
    for (int j = i; j > 0 && before(&row[j], &row[j - 1], by); j--) {
      const ep_row swap = row[j];
      row[j] = row[j - 1], row[j - 1] = swap;
    }
}

static bool is_choice(const ep_row *row, ep_among of) {
  if (of == EP_OF_BASELINES) return !row->method;
  return row->method && !(of == EP_OF_CLOSED && ep_row_trains(row));
}

static double best_score(const ep_row *row, int count, ep_score by, ep_among of) {
  double best = -INFINITY;
  for (int i = 0; i < count; i++)
    if (is_choice(&row[i], of)) best = fmax(best, ep_spread_score(&row[i], by).mean);
  return best;
}

int ep_rows_choose(const ep_row *row, int count, ep_score by, ep_among of) {
  const double best = best_score(row, count, by, of);
  int chosen = -1;
  if (of == EP_OF_BASELINES && best < best_score(row, count, by, EP_OF_METHODS)) return -1;
  for (int i = 0; i < count; i++)
    if (is_choice(&row[i], of) && ep_spread_score(&row[i], by).mean >= best - EP_MARGIN &&
        (chosen < 0 || costs_less(&row[i], &row[chosen])))
      chosen = i;
  return chosen;
}

const char *ep_baseline_name(ep_baseline which) {
  static const char *const names[EP_BASELINES] = {NULL, "raw inputs", "PCA of inputs"};
  return names[which];
}

bool ep_row_trains(const ep_row *row) {
  return row->method && !row->method->closed && !row->method->stands_for;
}

const ep_row *ep_row_training(const ep_row *row, const ep_row *rows, int count, ep_score by) {
  const ep_row *best = NULL;
  for (int i = 0; i < count; i++) {
    if (!ep_row_trains(&rows[i])) continue;
    if (row->method && row->method->stands_for && rows[i].width == row->width &&
        rows[i].method == ep_method_find(row->method->stands_for))
      return &rows[i];
    if (!best || before(&rows[i], best, by)) best = &rows[i];
  }
  return best;
}
