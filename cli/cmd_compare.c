#include "commands.h"

#include <eigenpair/compare.h>
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

static double number(const json_t *row, const char *name) {
  const json_t *v = json_object_get(row, name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

static void cell(const char *format, int width, double x) {
  if (isfinite(x)) printf(format, width, x);
  else printf("%*s", width, "-");
}

static void share(int width, double x) {
  cell("%*.1f", width, 100 * x);
  printf(isfinite(x) ? " %%" : "  ");
}

static bool any(const json_t *table, const char *name) {
  size_t i;
  json_t *row;
  json_array_foreach(table, i, row) if (isfinite(number(row, name))) return true;
  return false;
}

/* best first */
static void print_table(const json_t *table) {
  size_t i;
  json_t *row;
  const bool labelled = any(table, "accuracy");
  printf("  %-18s %8s ", "method", "width");
  if (labelled) printf("%10s", "accuracy");
  printf("%9s %7s %12s %9s %9s\n", "recall", "RankMe", "loss", "seconds", "MiB");
  json_array_foreach(table, i, row) {
    const char *method = json_string_value(json_object_get(row, "method"));
    printf("%s %-18s ", json_is_true(json_object_get(row, "best")) ? "*" : " ", method);
    if (isfinite(number(row, "width"))) printf("%8.0f ", number(row, "width"));
    else printf("%8s ", strcmp(method, "infinite") == 0 ? "infinite" : "-");
    if (labelled) share(8, number(row, "accuracy"));
    share(7, number(row, "recall"));
    cell("%*.3g", 8, number(row, "rankme"));
    cell("%*.6g", 13, number(row, "loss"));
    cell("%*.3g", 10, number(row, "seconds"));
    cell("%*.3g", 10, number(row, "memory") / 1048576);
    if (number(row, "diverged") > 0)
      printf("  %.0f of %.0f diverged", number(row, "diverged"), number(row, "runs"));
    printf("\n");
  }
}

static void print_notes(const json_t *result) {
  const bool labelled = any(json_object_get(result, "table"), "accuracy");
  const char *on = json_string_value(json_object_get(result, "scored_on"));
  if (labelled) printf("\n* best. Accuracy: of a linear probe, on %s.\n", on);
  else printf("\n* best. No labels; scored on %s.\n", on);
  printf(
      "Recall: an anchor's own positive is the nearest of all positives. whitened leaves "
      "negatives out.\n");
}

static void print_words(const char *label, const json_t *v) {
  const char *words = json_string_value(json_object_get(v, "words"));
  if (words) printf("%s %s\n", label, words);
}

static void print_answer(const json_t *f, double scale, const char *unit) {
  char text[40] = "";
  if (isfinite(number(f, "number")))
    snprintf(text, sizeof text, " %.2g%s", scale * number(f, "number"), unit);
  printf("  %s%-*s", json_string_value(json_object_get(f, "answer")),
         24 - (int)strlen(json_string_value(json_object_get(f, "answer"))), text);
}

/* the three answers of every method that could take training's place */
static void print_methods(const json_t *methods) {
  const char *name;
  json_t *one;
  printf("\n%-18s  %-24s  %-24s  %s\n", "instead of training", "same function", "as good",
         "cheaper");
  json_object_foreach((json_t *)methods, name, one) {
    printf("%-18s ", name);
    print_answer(json_object_get(one, "same_function"), 1, " apart");
    print_answer(json_object_get(one, "as_good"), 100, " points");
    print_answer(json_object_get(one, "cheaper"), 1, " times");
    printf("\n");
  }
}

static void print_result(const setup_compare *s, const json_t *result) {
  const json_t *verdict = json_object_get(result, "verdict");
  const char *about = json_string_value(json_object_get(verdict, "about")), *name;
  static const char *const questions[][2] = {{"same_function", "Is it the same function?"},
                                             {"as_good", "Is it as good?"},
                                             {"cheaper", "Is it cheaper?"}};
  static const char *const theory[][2] = {
      {"kernel", "frozen kernel:"}, {"pca", "PCA of C:"}, {"trained", "trained W:"}};
  json_t *drift;
  printf("%s\n\n", json_string_value(json_object_get(json_object_get(verdict, "use"), "words")));
  print_table(json_object_get(result, "table"));
  print_notes(result);
  if (about) printf("\n%s in the place of training:\n", about);
  for (int k = 0; about && k < 3; k++)
    print_words(questions[k][1], json_object_get(verdict, questions[k][0]));
  print_methods(json_object_get(verdict, "methods"));
  printf("\nThe theory's part:\n");
  for (int k = 0; k < 3; k++) print_words(theory[k][1], json_object_get(verdict, theory[k][0]));
  json_object_foreach(json_object_get(result, "drift"), name, drift) {
    printf("%-58s width^", json_string_value(json_object_get(drift, "what")));
    cell("%*.2f", 5, number(drift, "exponent"));
    if (isfinite(number(drift, "exponent_low")))
      printf("  (%.2f to %.2f)%s", number(drift, "exponent_low"), number(drift, "exponent_high"),
             strcmp(json_string_value(json_object_get(drift, "falls")), "no answer") == 0
                 ? " no answer: it contains 0"
                 : "");
    printf("\n");
  }
  printf("\n");
  print_report("report: ", s->out.out);
}

static ep_status write_report(const setup_compare *s, const json_t *result, const char *line) {
  json_t *machine = machine_json(), *document = NULL;
  ep_status st = ep_compare_document(&document, result, line, machine);
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
  if (data &&
      (strcmp(data, "digits") == 0 || strcmp(data, "mnist") == 0 || strcmp(data, "fashion") == 0))
    s->base.data.samples = 500;
}

ep_status cmd_compare(int argc, char **argv) {
  static setup_compare s;
  static char line[4096];
  ep_option_group groups[GROUPS];
  json_t *result;
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
  EP_TRY(ep_compare(&result, &s.compare, &s.base, s.out.out));
  command_line(line, argc, argv);
  ep_status st = write_report(&s, result, line);
  terminal_clear();
  if (st) json_decref(result);
  EP_TRY(st);
  if (s.cli.json) return print_json(result);
  print_result(&s, result);
  json_decref(result);
  return EP_OK;
}
