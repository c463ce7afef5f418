/* The verdict in words: numbers first, and where there is no answer what to run to get one. */
#include "study/compare_words.h"

#include "core/mem.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const char *ep_score_name(ep_score by) {
  return by == EP_BY_ACCURACY ? "accuracy" : "recall of positives";
}

__attribute__((format(printf, 3, 4))) static void say(char *text, size_t room, const char *format,
                                                      ...) {
  va_list args;
  const size_t used = strlen(text);
  va_start(args, format);
  vsnprintf(text + used, room - used, format, args);
  va_end(args);
}

static void duration(char out[32], double seconds) {
  if (seconds < 0.095) snprintf(out, 32, "%.1g s", fmax(seconds, 1e-3));
  else if (seconds < 100) snprintf(out, 32, "%.2g s", seconds);
  else if (seconds < 6000) snprintf(out, 32, "%.0f min", seconds / 60);
  else snprintf(out, 32, "%.1f h", seconds / 3600);
}

static void bytes(char out[32], double b) {
  if (b < 1073741824.) snprintf(out, 32, "%.3g MiB", b / 1048576);
  else snprintf(out, 32, "%.3g GiB", b / 1073741824.);
}

static double seconds_of(const ep_row *row) {
  return ep_spread_of(row, offsetof(ep_trial, seconds)).mean;
}
static double memory_of(const ep_row *row) {
  return ep_spread_of(row, offsetof(ep_trial, memory)).high;
}

static void name_row(char out[80], const ep_row *row) {
  if (row->width > 0) snprintf(out, 80, "%s at width %ld", row->name, row->width);
  else snprintf(out, 80, "%s", row->name);
}

/* ---- the command */

static void shell_value(char *text, size_t room, const char *flag, const char *value) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+=@%:,";
  const bool quote = !*value || strspn(value, plain) != strlen(value);
  say(text, room, quote ? " --%s '%s'" : " --%s %s", flag, value);
}

static void add_option(char *text, size_t room, const char *name, const json_t *value) {
  char flag[64], number[64];
  ep_options_flag(flag, name);
  if (json_is_string(value)) { /* a list has one a line */
    char line[1024];
    for (const char *at = json_string_value(value); *at;) {
      const size_t n = strcspn(at, "\n");
      snprintf(line, sizeof line, "%.*s", (int)(n < 1023 ? n : 1023), at);
      shell_value(text, room, flag, line);
      at += n + (at[n] == '\n');
    }
  } else if (json_is_boolean(value)) {
    if (json_is_true(value)) say(text, room, " --%s", flag);
  } else {
    snprintf(number, sizeof number, "%.10g", json_number_value(value));
    shell_value(text, room, flag, number);
  }
}

/* --flags of everything in the setup that is not as it is by default */
static ep_status add_changed(char *text, size_t room, const ep_setup *setup) {
  json_t *mine, *its, *value;
  const char *name;
  EP_TRY(ep_setup_to_json(&mine, setup));
  const ep_status st = ep_setup_defaults_json(&its);
  json_object_foreach(mine, name, value) {
    if (!st && strcmp(name, "method") != 0 && !json_equal(value, json_object_get(its, name)))
      add_option(text, room, name, value);
  }
  json_decref(mine);
  json_decref(its);
  return st;
}

/* the fit of a row, as a user would ask for it */
static ep_status command_of(char command[1800], const ep_row *row, const ep_compare_config *config,
                            const ep_setup *base) {
  ep_setup *s = ep_alloc(1, sizeof *s);
  EP_CHECK(s, EP_ERR_NOMEM, "no memory for a command");
  *s = *base;
  s->run.threads = 0;
  s->run.memory = 0;
  if (row->width > 0) s->net.width = row->width;
  if (!row->method->closed) {
    s->fit.rate = config->rate;
    s->fit.epochs = row->method->few_steps ? config->iterations : config->epochs;
  }
  if (row->analytic) s->fit.kernel = EP_KERNEL_ANALYTIC;
  if (row->width == 0 && !row->method->no_width && ep_features_are_network(&s->feature) &&
      row->features)
    snprintf(s->feature.features, sizeof s->feature.features, "%.63s", row->features);
  snprintf(command, 1800, "eigenpair fit --method %s", row->method->name);
  const ep_status st = add_changed(command, 1800, s);
  ep_release(s);
  return st;
}

/* ---- what to use */

static const ep_row *raw_inputs(const ep_comparison *m) {
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].baseline == EP_BASELINE_RAW) return &m->row[i];
  return NULL;
}

/* (training 62 %, raw inputs 78 %); NULL: not named */
static void say_others(char *text, size_t room, const ep_comparison *m, const ep_row *training,
                       const ep_row *rival, const ep_row *raw) {
  const ep_row *list[] = {training, rival, raw};
  bool any = false;
  for (int k = 0; k < 3; k++) {
    if (!list[k]) continue;
    const double score = ep_spread_score(list[k], m->by).mean;
    const char *name = k == 0 ? "training" : list[k]->name, *open = any ? ", " : " (";
    if (isfinite(score)) say(text, room, "%s%s %.1f %%", open, name, 100 * score), any = true;
    else if (ep_row_diverged(list[k])) say(text, room, "%s%s diverged", open, name), any = true;
  }
  if (any) say(text, room, ")");
}

/* 2 s and 117 MiB */
static void cost(char text[80], const ep_row *row) {
  char time[32], memory[32];
  duration(time, seconds_of(row));
  bytes(memory, memory_of(row));
  snprintf(text, 80, memory_of(row) > 0 ? "%s and %s" : "%s", time, memory);
}

static void say_score(char *text, size_t room, const ep_comparison *m, const ep_row *row) {
  say(text, room, "%.1f %%%s", 100 * ep_spread_score(row, m->by).mean,
      m->by == EP_BY_RECALL ? " of positives found" : "");
}

/* the row that is marked best, where a cheaper one is proposed */
static void say_better(char *text, size_t room, const ep_comparison *m, const ep_row *row) {
  const double best = ep_spread_score(&m->row[0], m->by).mean;
  char name[80];
  if (!(best > ep_spread_score(row, m->by).mean)) return;
  name_row(name, &m->row[0]);
  say(text, room, " The best, %s, has %.1f %%: within a point, at a higher cost.", name,
      100 * best);
}

static void say_method(char *text, size_t room, const ep_comparison *m, const ep_row *row,
                       const ep_row *rival) {
  char mine[80], its[80];
  const ep_row *training = ep_row_training(row, m->row, m->rows, m->by);
  const bool trains = ep_row_trains(row);
  const ep_row *instead = trains ? rival : NULL;
  say(text, room, "Use %s: ", row->name);
  say_score(text, room, m, row);
  say_others(text, room, m, trains ? NULL : training, instead, raw_inputs(m));
  cost(mine, row);
  say(text, room, ", %s", mine);
  if (!trains && training) cost(its, training), say(text, room, " instead of %s", its);
  if (instead) cost(its, instead), say(text, room, " (%s %s)", instead->name, its);
  say(text, room, ".");
  say_better(text, room, m, row);
}

/* a baseline that no method is better than: there is nothing to fit, but the best that could be is named */
static void say_baseline(char *text, size_t room, const ep_comparison *m, const ep_row *baseline,
                         const ep_row *method) {
  char its[80];
  const ep_row *raw = raw_inputs(m), *training = ep_row_training(method, m->row, m->rows, m->by);
  const double ahead = ep_spread_score(baseline, m->by).mean - ep_spread_score(method, m->by).mean;
  say(text, room, "Use %s: ", baseline->name);
  say_score(text, room, m, baseline);
  say_others(text, room, m, training, NULL, raw == baseline ? NULL : raw);
  cost(its, method);
  say(text, room, ", %s. The best of these is %s: ",
      ahead > EP_MARGIN ? "better than any method" : "as good as any method, and free",
      method->name);
  say_score(text, room, m, method);
  say(text, room, ", %s.", its);
}

ep_status ep_say_use(ep_verdict *v, const ep_comparison *m, const ep_row *rival,
                     const ep_compare_config *config, const ep_setup *base) {
  const size_t room = sizeof v->sentence;
  if (!v->fit) {
    say(v->sentence, room,
        "No answer: no method has a score. Lower --rate if training diverged, or name a closed "
        "form in --methods.");
    return EP_OK;
  }
  EP_TRY(command_of(v->command, v->fit, config, base));
  if (v->use != v->fit) say_baseline(v->sentence, room, m, v->use, v->fit);
  else say_method(v->sentence, room, m, v->fit, rival);
  return EP_OK;
}

/* ---- no answer, and what to run */

static long more_runs(const ep_compare_config *config) {
  return config->runs < 5 ? 5 : 2 * config->runs;
}

static void say_reason(char *text, size_t room, const ep_finding *f, const ep_row *training,
                       const ep_compare_config *config) {
  switch (f->reason) {
    case EP_NOT_MOVED:
      say(text, room,
          " Training has not moved: its outputs are within the tolerance of those at its start, "
          "which would pass as well. Try --epochs %ld, or a larger --rate.",
          10 * config->epochs);
      break;
    case EP_NOT_SETTLED:
      say(text, room,
          " Training has not settled: the last tenth of its epochs made %.0f %% of the change of "
          "its loss. Try --epochs %ld.",
          100 * ep_spread_of(training, offsetof(ep_trial, settling)).high, 10 * config->epochs);
      break;
    case EP_TOO_FEW_EPOCHS:
      say(text, room, " Too few epochs to tell whether training has settled. Try --epochs %d.",
          10 * EP_TENTHS);
      break;
    case EP_SEEDS_DISAGREE:
      say(text, room, " Seeds disagree, or are too few. Try --runs %ld.", more_runs(config));
      break;
    case EP_NOT_MEASURED:
      say(text, room,
          training ? " It was not measured." : " No training was run. Try --methods gd,... .");
      break;
    case EP_TRAINING_DIVERGED: say(text, room, " Training diverged. Try a smaller --rate."); break;
    case EP_METHOD_DIVERGED: say(text, room, " It diverged. Try a smaller --rate."); break;
    default: break;
  }
}

static const char *opening(ep_answer answer) {
  return answer == EP_YES ? "Yes" : answer == EP_NO ? "No" : "No answer";
}

void ep_say_same(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                 const ep_comparison *m, const ep_compare_config *config) {
  char mine[80];
  name_row(mine, row);
  snprintf(text, 600, "%s", opening(f->answer));
  if (isfinite(f->number))
    say(text, 600,
        ": at held-out points the outputs of %s differ from those of training by %.2g of their "
        "length%s (seeds %.2g to %.2g, tolerance %g).",
        mine, f->number, row->method->rotated ? ", after the best rotation" : "", f->low, f->high,
        m->tolerance);
  else say(text, 600, ".");
  say_reason(text, 600, f, training, config);
}

void ep_say_good(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                 const ep_comparison *m, const ep_compare_config *config) {
  char mine[80], its[80];
  const ep_row *raw = raw_inputs(m);
  name_row(mine, row);
  snprintf(text, 600, "%s", opening(f->answer));
  if (isfinite(f->number)) {
    name_row(its, training);
    say(text, 600,
        ": %s has %s %.1f %%, training (%s) %.1f %%: %+.1f points (95 %% interval %+.1f to %+.1f).",
        mine, ep_score_name(m->by), 100 * ep_spread_score(row, m->by).mean, its,
        100 * ep_spread_score(training, m->by).mean, 100 * f->number, 100 * f->low, 100 * f->high);
  } else say(text, 600, ".");
  say_reason(text, 600, f, training, config);
  if (raw && ep_spread_score(raw, m->by).mean > ep_spread_score(row, m->by).mean + EP_MARGIN)
    say(text, 600, " Raw inputs are better: %.1f %%.", 100 * ep_spread_score(raw, m->by).mean);
}

void ep_say_cheaper(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                    const ep_compare_config *config) {
  char a[32], b[32], c[32], d[32];
  snprintf(text, 600, "%s", opening(f->answer));
  if (!training || !isfinite(f->number)) {
    say(text, 600, ": there is no training to compare its cost with.");
    return;
  }
  duration(a, seconds_of(row));
  duration(b, seconds_of(training));
  bytes(c, memory_of(row));
  bytes(d, memory_of(training));
  say(text, 600, ": %s and %s instead of %s and %s.", a, c, b, d);
  if (f->reason == EP_TRADE)
    say(text, 600, " It is a trade: %s.",
        f->number > 1 ? "less time, more memory" : "more time, less memory");
  if (f->reason == EP_SEEDS_DISAGREE)
    say(text, 600, " Seeds disagree on the time. Try --runs %ld, with nothing else running.",
        more_runs(config));
}

/* ---- the theory's part */

static const char *const model_of[] = {
    [EP_THEORY_KERNEL] = "the frozen tangent kernel", [EP_THEORY_PCA] = "PCA of C(0)"};
static const char *const instead_of[] = {
    [EP_THEORY_KERNEL] = "training", [EP_THEORY_PCA] = "the PCA of C at the end of training"};

void ep_say_more(char text[100], const ep_comparison *m, const ep_compare_config *config) {
  const double top = m->width[m->widths - 1], least = top < 300 ? top : top / 10;
  if (m->widths > 2)
    snprintf(text, 100, "--runs %ld, or a wider range of --widths", more_runs(config));
  else
    snprintf(text, 100, "--widths %.0f,%.0f,%.0f --runs %ld", least, floor(3 * least), 10 * least,
             config->runs < 3 ? 3 : config->runs);
}

void ep_say_theory(ep_theory_part *t, ep_theory which, const ep_comparison *m, bool lost,
                   const ep_compare_config *config) {
  char more[100];
  const double top = m->width[m->widths - 1];
  const ep_power_law *law = &t->difference->law;
  const ep_finding falls = ep_falls(law);
  const char *model = model_of[which], *training = instead_of[which];
  char *text = t->words;
  text[0] = '\0';
  ep_say_more(more, m, config);
  if (t->holds)
    say(text, 600,
        "Yes, from width %.0f on: %s differs from %s by %.2g of its length at width %.0f "
        "(tolerance %g).",
        t->from, model, training, t->now, top, m->tolerance);
  else if (lost)
    say(text, 600, "No: training diverges at width %.0f, and %s cannot describe it.", top, model);
  else
    say(text, 600,
        "No: at width %.0f %s still differs from %s by %.2g of its length (tolerance %g).", top,
        model, training, t->now, m->tolerance);
  if (falls.answer == EP_YES)
    say(text, 600, " It falls as width^%.2f (95 %% interval %.2f to %.2f).", law->exponent,
        law->low, law->high);
  else if (falls.answer == EP_NO)
    say(text, 600, " It grows as width^%.2f (95 %% interval %.2f to %.2f).", law->exponent,
        law->low, law->high);
  else if (isfinite(law->low))
    say(text, 600,
        " Whether it falls with width these runs do not say: the exponent is between %.2f and "
        "%.2f. Try %s.",
        law->low, law->high, more);
  if (t->holds || lost || falls.answer != EP_YES) return;
  if (isfinite(t->needed) && t->needed > top && t->needed < 1e9)
    say(text, 600, " By that law the tolerance is met near width %.2g.", t->needed);
  else say(text, 600, " More width does not mend it at any size one can train.");
}

/* what measures the drift of a theory: the training it is about, and what may take its place */
static void say_unmeasured(char text[300], ep_theory which) {
  say(text, 300, ": it was not measured. Try --methods %s,%s.",
      ep_method_of_theory(which, true)->name, ep_method_of_theory(which, false)->name);
}

void ep_say_small(ep_said *said, ep_theory which, const ep_drift_row *d, const ep_comparison *m,
                  const ep_compare_config *config) {
  const ep_finding *f = &said->finding;
  snprintf(said->words, 300, "%s", opening(f->answer));
  if (!isfinite(f->number)) {
    say_unmeasured(said->words, which);
    return;
  }
  say(said->words, 300, ": %s is %.2g at width %.0f (seeds %.2g to %.2g, tolerance %g).", d->what,
      f->number, m->width[m->widths - 1], f->low, f->high, m->tolerance);
  say_reason(said->words, 300, f, NULL, config);
}

void ep_say_falls(ep_said *said, ep_theory which, const ep_drift_row *d, const ep_comparison *m,
                  const ep_compare_config *config) {
  const ep_finding *f = &said->finding;
  char more[100];
  ep_say_more(more, m, config);
  snprintf(said->words, 300, "%s", opening(f->answer));
  if (!ep_drift_measured(d, m)) {
    say_unmeasured(said->words, which);
    return;
  }
  if (isfinite(f->low))
    say(said->words, 300, ": %s goes as width^%.2f (95 %% interval %.2f to %.2f%s).", d->legend,
        f->number, f->low, f->high, f->answer == EP_NO_ANSWER ? ", which contains 0" : "");
  else
    say(said->words, 300, ": %d width%s and %d seed%s do not give an interval.", m->widths,
        m->widths == 1 ? "" : "s", m->seeds, m->seeds == 1 ? "" : "s");
  if (f->answer == EP_NO_ANSWER) say(said->words, 300, " Try %s.", more);
}

void ep_say_angles(char text[600], const ep_comparison *m) {
  snprintf(text, 600,
           "At width %.0f the trained W is %.3g degrees (largest principal angle) from PCA of C(0) "
           "and %.3g degrees from PCA of C at the end: training %s.",
           m->width[m->widths - 1], m->angle_first, m->angle_last,
           m->angle_last < 5 ? "has reached its optimum" : "is still on its way");
}
