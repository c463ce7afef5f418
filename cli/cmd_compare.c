#include "commands.h"
#include "study/compare_words.h"

#include <eigenpair/report.h>
#include <math.h>
#include <string.h>

#define OUT_OPTIONS(X, S)                                                                      \
  X(S, TEXT, out, "compare", 0, 0, NULL, "folder of the report; finished jobs stay there")     \
  X(S, FLAG, quick, NULL, 0, 0, NULL,                                                          \
    "an answer in seconds: gd, pca, infinite and whitened at one width, one run, at most 500 " \
    "points; what else is given stays")
typedef struct {
  OUT_OPTIONS(EP_OPT_FIELD, )
} out_config;
static const ep_option out_options[] = {OUT_OPTIONS(EP_OPT_ROW, out_config){0}};

typedef struct {
  ep_setup base;
  ep_compare_config compare;
  out_config out;
  cli_config cli;
} setup_compare;

enum { GROUPS = 11 };
static void groups_of(ep_option_group groups[GROUPS], setup_compare *s) {
  const ep_option_group all[GROUPS] = {{"Comparison", ep_compare_options, &s->compare},
                                       {"Data", ep_data_options, &s->base.data},
                                       {"Pairs", ep_pair_options, &s->base.pair},
                                       {"Network", ep_net_options, &s->base.net},
                                       {"Objective", ep_objective_options, &s->base.objective},
                                       {"Features", ep_feature_options, &s->base.feature},
                                       {"Closed forms", ep_closed_options, &s->base.closed},
                                       {"Run", ep_run_options, &s->base.run},
                                       {"Files", out_options, &s->out},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_compare(FILE *to) {
  static setup_compare s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair compare --data digits --quick\n"
      "  eigenpair compare --data digits --samples 200 --widths 100,300,1000 --out compare\n"
      "  eigenpair compare --data mnist --samples 1000 --widths 100,1000,10000 --epochs 500\n"
      "  eigenpair compare --anchors a.npy --positives p.npy --labels l.npy --test t.npy "
      "--test-labels tl.npy\n\n"
      "Fits every method at every width and seed, beside raw inputs, PCA of inputs and whitened "
      "(which uses the positives and leaves\nnegatives out). The first line says what to use: "
      "how good it is, what it costs, the command. Then three questions, each\nyes, no or no "
      "answer: is it the same function as training, is it as good, is it cheaper? Labels make "
      "the score a linear\nprobe; without labels it is whether an anchor finds its positive "
      "at pairs that were not trained on. Opens as\nDIR/report.html, a line a fit is in "
      "DIR/log.txt. Stopped with Ctrl-C or killed, the same command goes on from the jobs\n"
      "that were finished.\n");
  args_help(groups, to);
}

/* ---- what a person sees */

static void cell(const char *format, int width, double x) {
  if (isfinite(x)) printf(format, width, x);
  else printf("%*s", width, "-");
}

static void share(int width, double x) {
  cell("%*.1f", width, 100 * x);
  printf(isfinite(x) ? " %%" : "  ");
}

static double mean(const ep_row *row, size_t offset) { return ep_spread_of(row, offset).mean; }

static void print_row(const ep_row *row, bool best, bool labelled) {
  const ep_spread seconds = ep_spread_of(row, offsetof(ep_trial, seconds));
  printf("%s %-18s ", best ? "*" : " ", row->name);
  if (row->width > 0) printf("%8ld ", row->width);
  else printf("%8s ", row->method && row->method->no_width ? "infinite" : "-");
  if (labelled) share(8, mean(row, offsetof(ep_trial, accuracy)));
  share(7, mean(row, offsetof(ep_trial, recall)));
  cell("%*.3g", 8, mean(row, offsetof(ep_trial, rankme)));
  cell("%*.6g", 13, mean(row, offsetof(ep_trial, loss)));
  cell("%*.3g", 10, seconds.mean);
  cell("%*.3g", 10, ep_spread_of(row, offsetof(ep_trial, memory)).high / 1048576);
  if (ep_row_diverged(row)) printf("  %d of %d diverged", ep_row_diverged(row), seconds.count);
  printf("\n");
}

/* best first */
static void print_table(const ep_compared *c) {
  const ep_comparison *m = &c->table;
  const bool labelled = m->by == EP_BY_ACCURACY;
  printf("  %-18s %8s ", "method", "width");
  if (labelled) printf("%10s", "accuracy");
  printf("%9s %7s %12s %9s %9s\n", "recall", "RankMe", "loss", "seconds", "MiB");
  for (int i = 0; i < m->rows; i++) print_row(&m->row[i], ep_row_is_best(m, i), labelled);
  if (labelled) printf("\n* best. Accuracy: of a linear probe, on %s.\n", c->scored_on);
  else printf("\n* best. No labels; scored on %s.\n", c->scored_on);
  printf(
      "Recall: an anchor's own positive is the nearest of all positives. whitened leaves "
      "negatives out.\n");
}

static void print_answer(const ep_finding *f, double scale, const char *unit) {
  const char *answer = ep_answer_name(f->answer);
  char text[40] = "";
  if (isfinite(f->number)) snprintf(text, sizeof text, " %.2g%s", scale * f->number, unit);
  printf("  %s%-*s", answer, 24 - (int)strlen(answer), text);
}

/* the three answers of every method that could take training's place */
static void print_methods(const ep_verdict *v) {
  printf("\n%-18s  %-24s  %-24s  %s\n", "instead of training", "same function", "as good",
         "cheaper");
  for (int i = 0; i < v->methods; i++) {
    const ep_said *said = v->method[i].said;
    printf("%-18s ", v->method[i].row->name);
    print_answer(&said[EP_ASK_SAME].finding, 1, " apart");
    print_answer(&said[EP_ASK_GOOD].finding, 100, " points");
    print_answer(&said[EP_ASK_CHEAPER].finding, 1, " times");
    printf("\n");
  }
}

static void print_drift(const ep_drift_row *d, const char *more) {
  if (!isfinite(d->law.exponent)) return;
  printf("%-58s width^", d->what);
  cell("%*.2f", 5, d->law.exponent);
  if (!isfinite(d->law.low)) printf("  no answer: no interval; try %s", more);
  else
    printf("  (%.2f to %.2f)%s%s", d->law.low, d->law.high,
           ep_falls(&d->law).answer == EP_NO_ANSWER ? " no answer: it contains 0; try " : "",
           ep_falls(&d->law).answer == EP_NO_ANSWER ? more : "");
  printf("\n");
}

static void print_theory(const setup_compare *s, const ep_compared *c) {
  static const char *const names[EP_THEORIES] = {
      [EP_THEORY_KERNEL] = "frozen kernel:", [EP_THEORY_PCA] = "PCA of C:"};
  char more[100];
  ep_say_more(more, &c->table, &s->compare);
  printf("\nThe theory's part:\n");
  for (int k = EP_NO_THEORY + 1; k < EP_THEORIES; k++) {
    const ep_theory_part *t = &c->verdict.theory[k];
    if (t->method) printf("%s %s\n", names[k], t->words);
    printf("%s %s\n", ep_theory_asks(k, 1), t->small.words);
    printf("%s %s\n", ep_theory_asks(k, 2), t->falls.words);
  }
  if (c->verdict.trained[0]) printf("trained W: %s\n", c->verdict.trained);
  for (int k = 0; k < EP_DRIFTS; k++) print_drift(&c->table.drift[k], more);
}

static void print_result(const setup_compare *s, const ep_compared *c) {
  const ep_verdict *v = &c->verdict;
  printf("%s%s%s\n\n", v->sentence, v->command[0] ? " " : "", v->command);
  print_table(c);
  if (v->about.row) {
    printf("\n%s in the place of training:\n", v->about.row->name);
    for (int k = 0; k < EP_ASKED; k++) printf("%s %s\n", ep_asked_text(k), v->about.said[k].words);
  }
  print_methods(v);
  print_theory(s, c);
  printf("\n");
  print_report("report: ", s->out.out);
}

static ep_status write_report(const setup_compare *s, const ep_compared *c, const char *line) {
  json_t *machine = machine_json(), *document = NULL;
  ep_status st = ep_compare_document(&document, c, line, machine);
  if (!st) st = ep_report_write(s->out.out, document);
  json_decref(document);
  json_decref(machine);
  return st;
}

/* --quick is a set of other defaults */
static void be_quick(setup_compare *s, int argc, char **argv) {
  strcpy(s->compare.methods, "gd,pca,infinite");
  strcpy(s->compare.widths, "300");
  s->compare.runs = 1;
  s->compare.test_samples = 500;
  const char *data = args_peek(argc, argv, "--data");
  const ep_dataset_entry *set = data ? ep_dataset_find(data) : NULL;
  if (set && set->judged) s->base.data.samples = 500;
}

ep_status cmd_compare(int argc, char **argv) {
  static setup_compare s;
  static char line[4096];
  ep_option_group groups[GROUPS];
  ep_compared c;
  ep_setup_default(&s.base);
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--quick") == 0) be_quick(&s, argc, argv);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  EP_CHECK(!args_peek(argc, argv, "--width"), EP_ERR_ARG,
           "compare takes a list of widths: --widths 100,1000");
  EP_CHECK(s.out.out[0], EP_ERR_ARG, "--out is empty; give the report a folder");
  EP_CHECK(!s.base.net.layers[0], EP_ERR_ARG,
           "compare takes --widths: --layers does not go with it");
  EP_CHECK(!s.base.net.init[0], EP_ERR_ARG,
           "compare draws its own starts: --init does not go with it");
  EP_TRY(work_begin(&s.base.run, s.cli.progress));
  EP_TRY(ep_compare(&c, &s.compare, &s.base, s.out.out));
  command_line(line, argc, argv);
  ep_status st = write_report(&s, &c, line);
  terminal_clear();
  if (!st && s.cli.json) st = print_json(json_incref(c.result));
  else if (!st) print_result(&s, &c);
  ep_compared_free(&c);
  return st;
}
