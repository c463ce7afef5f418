#include "commands.h"

#include <eigenpair/compare.h>
#include <eigenpair/report.h>
#include <math.h>
#include <string.h>

#define OUT_OPTIONS(X, S) \
  X(S, TEXT, out, "compare", 0, 0, NULL, "folder of the report; finished jobs stay there")
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
  fprintf(to,
          "\n  eigenpair compare --data digits --samples 200 --widths 100,300,1000 --out compare\n"
          "  eigenpair compare --data mnist --samples 1000 --widths 100,1000,10000 --epochs 500\n\n"
          "Fits every method at every width and seed, and answers: does the frozen kernel describe "
          "this model, does "
          "PCA of random\nfeatures, from which width on, and what does it cost? Opens as "
          "DIR/report.html. Stopped with "
          "Ctrl-C or killed, the\nsame command goes on from the jobs that were finished.\n");
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

static void print_table(const json_t *table) {
  size_t i;
  json_t *row;
  printf("%-18s %8s %9s %12s %9s %9s\n", "method", "width", "accuracy", "loss", "seconds", "MiB");
  json_array_foreach(table, i, row) {
    printf("%-18s ", json_string_value(json_object_get(row, "method")));
    if (isfinite(number(row, "width"))) printf("%8.0f ", number(row, "width"));
    else printf("%8s ", "infinite");
    cell("%*.1f", 7, 100 * number(row, "accuracy"));
    printf(isfinite(number(row, "accuracy")) ? " %% " : "  ");
    cell("%*.6g", 12, number(row, "loss"));
    cell("%*.3g", 10, number(row, "seconds"));
    cell("%*.3g", 10, number(row, "memory") / 1048576);
    if (number(row, "diverged") > 0)
      printf("  %.0f of %.0f diverged", number(row, "diverged"), number(row, "runs"));
    printf("\n");
  }
}

static void print_result(const setup_compare *s, const json_t *result) {
  const json_t *verdict = json_object_get(result, "verdict");
  static const char *const names[][2] = {
      {"kernel", "frozen kernel"}, {"pca", "PCA"}, {"trained", "trained W"}};
  const char *name;
  json_t *drift;
  print_table(json_object_get(result, "table"));
  printf("\n");
  json_object_foreach(json_object_get(result, "drift"), name, drift) {
    printf("%-58s width^", json_string_value(json_object_get(drift, "what")));
    cell("%*.2f", 5, number(drift, "exponent"));
    if (isfinite(number(drift, "exponent_low")))
      printf("  (%.2f to %.2f)", number(drift, "exponent_low"), number(drift, "exponent_high"));
    printf("\n");
  }
  printf("\n");
  for (int k = 0; k < 3; k++) {
    const json_t *v = json_object_get(verdict, names[k][0]);
    if (v) printf("%s: %s\n", names[k][1], json_string_value(json_object_get(v, "words")));
  }
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

ep_status cmd_compare(int argc, char **argv) {
  static setup_compare s;
  static char line[4096];
  ep_option_group groups[GROUPS];
  json_t *result;
  ep_setup_default(&s.base);
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
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
