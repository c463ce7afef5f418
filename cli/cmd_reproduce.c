#include "commands.h"

#include <eigenpair/reproduce.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

#define REPRODUCE_OPTIONS(X, S)                                                                   \
  X(S, FLAG, quick, NULL, 0, 0, NULL,                                                             \
    "small sizes: all claims in two minutes; default: in twenty")                                 \
  X(S, FLAG, paper, NULL, 0, 0, NULL, "the papers' own sizes: hours")                             \
  X(S, FLAG, list, NULL, 0, 0, NULL,                                                              \
    "only show the claims: what they say, criteria, controls, outcomes of the committed run")     \
  X(S, FLAG, all, NULL, 0, 0, NULL,                                                               \
    "with --list: every statement of the papers, one line each, and what became of it")           \
  X(S, TEXT, out, "reproduce", 0, 0, NULL, "folder of the reports; finished claims stay there")   \
  X(S, TEXT, kept, NULL, 0, 0, NULL,                                                              \
    "folder of results, a file a claim, to take whichever build and machine they are of, and to " \
    "put finished ones")
typedef struct {
  REPRODUCE_OPTIONS(EP_OPT_FIELD, )
} reproduce_config;
static const ep_option reproduce_options[] = {REPRODUCE_OPTIONS(EP_OPT_ROW, reproduce_config){0}};

typedef struct {
  reproduce_config own;
  ep_run_config run;
  cli_config cli;
} setup_reproduce;

enum { GROUPS = 4 };
static void groups_of(ep_option_group groups[GROUPS], setup_reproduce *s) {
  const ep_option_group all[GROUPS] = {{"Claims", reproduce_options, &s->own},
                                       {"Run", ep_run_options, &s->run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_reproduce(FILE *to) {
  static setup_reproduce s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair reproduce wide-fig3 linear-fig1 --quick --out reproduce\n"
          "  eigenpair reproduce optima --quick\n  eigenpair reproduce\n\n"
          "Runs the papers' figures and claims (all, or those named by id or by paper: ");
  for (const ep_paper *p = ep_papers; p->name; p++)
    fprintf(to, "%s%s", p == ep_papers ? "" : ", ", p->name);
  fprintf(
      to,
      "), measures each,\nand says PASS or FAIL against its criterion, ANSWERED for a question. "
      "OUT/report.html has all of "
      "them, OUT/PAPER/report.html the figures,\nreport.md beside each the same as text, "
      "OUT/findings.md a table. Stopped with Ctrl-C or killed, the same command goes\non where it "
      "was. Claims are independent: several commands may work on different ones in one folder, and "
      "a "
      "command\nfor all of them gathers the results. All but --quick need data: eigenpair data "
      "fetch "
      "mnist, fashion and cifar10.\nExit status 1 if a claim did not pass.\n"
      "--paper takes days: with --kept FOLDER it goes on from any machine, and whatever has been "
      "built since.\n");
  args_help(groups, to);
}

/* ---- what a person sees */

static void print_claim(const ep_claim *c) {
  printf("%s  (%s)  %s\n  says       %s\n  criterion  %s\n", c->id, c->source, c->outcome, c->says,
         c->criterion);
  if (c->control) printf("  must fail  %s\n", c->control);
  if (c->mutation) printf("  goes red   %s\n", c->mutation);
  printf("  repeat     eigenpair reproduce %s [--quick]\n", c->id);
}

static ep_status list_statements(const ep_claim *const *claims, int count, bool json) {
  ep_listed row;
  json_t *rows;
  for (int i = 0; !json && ep_statement_at(&row, i, claims, count); i++)
    printf("%-8s %-24s %-26s %-9s %s\n", row.paper->name, row.statement.where, row.statement.by,
           row.statement.outcome, row.statement.note);
  if (!json) return EP_OK;
  EP_TRY(ep_statements_list(&rows, claims, count));
  return print_json(rows);
}

static ep_status list(const ep_claim *const *claims, int count, bool json) {
  json_t *rows;
  for (int i = 0; !json && i < count; i++) print_claim(claims[i]);
  if (!json) return EP_OK;
  EP_TRY(ep_claims_list(&rows, claims, count));
  return print_json(rows);
}

static void print_number(const ep_claim_number *n, const char *end, const double *value) {
  char name[EP_CLAIM_NAME + 8];
  snprintf(name, sizeof name, "%s%s", n->name, end);
  if (value && isfinite(*value)) printf("    %-40s %.4g\n", name, *value);
}

static void print_measured(const ep_claim_result *r) {
  for (const ep_claim_number *n = r->measured; n < r->measured + r->numbers; n++) {
    if (n->list) continue;
    print_number(n, "", n->value);
    print_number(n, "_low", n->low);
    print_number(n, "_high", n->high);
  }
}

static int count_of(const ep_reproduced *r, ep_claim_outcome outcome) {
  int n = 0;
  for (int i = 0; i < r->count; i++) n += ep_checked_outcome(&r->claim[i]) == outcome;
  return n;
}

static void print_result(const ep_reproduced *r, const char *folder) {
  const int failed = count_of(r, EP_CLAIM_FAIL), errors = count_of(r, EP_CLAIM_ERROR);
  for (const ep_checked *c = r->claim; c < r->claim + r->count; c++) {
    char outcome[16];
    snprintf(outcome, sizeof outcome, "%s", ep_claim_outcome_name(ep_checked_outcome(c)));
    for (char *o = outcome; *o; o++) *o = (char)toupper((unsigned char)*o);
    printf("%-8s %-24s %s\n", outcome, c->claim->id, c->error[0] ? c->error : c->claim->criterion);
    if (!c->result.pass) print_measured(&c->result);
  }
  printf("\n%d passed, %d failed, %d could not run\n", r->count - failed - errors, failed, errors);
  print_report("report: ", folder);
}

/* the list of the contract: no figures, they are in the report */
static ep_status print_claims(const ep_reproduced *r) {
  json_t *all = json_array();
  for (int i = 0; i < r->count; i++) {
    json_t *one;
    const ep_status st = ep_checked_to_json(&one, &r->claim[i]);
    if (st) json_decref(all);
    EP_TRY(st);
    json_object_del(one, "figures");
    json_array_append_new(all, one); /* print_json sees what was lost */
  }
  return print_json(all);
}

/* takes the config over */
static ep_status write_report(const char *folder, const ep_reproduced *r, json_t *config, int argc,
                              char **argv) {
  static char line[4096];
  json_t *machine = machine_json();
  command_line(line, argc, argv);
  const ep_status st = config ? ep_reproduce_write(folder, r, line, machine, config)
                              : EP_FAIL(EP_ERR_NOMEM, "no memory for the options of the claims");
  json_decref(machine);
  json_decref(config);
  return st;
}

/* of the first claim that could not run; NULL: all did */
static const ep_checked *first_error(const ep_reproduced *r) {
  for (int i = 0; i < r->count; i++)
    if (r->claim[i].error[0]) return &r->claim[i];
  return NULL;
}

static ep_status finish(const setup_reproduce *s, const ep_reproduced *r) {
  if (s->cli.json) EP_TRY(print_claims(r));
  else print_result(r, s->own.out);
  const int bad = count_of(r, EP_CLAIM_FAIL) + count_of(r, EP_CLAIM_ERROR);
  const ep_checked *error = first_error(r);
  EP_CHECK(bad == 0, EP_ERR_NUMERIC, "%d of %d claims did not pass%s%s%s%s", bad, r->count,
           error ? "; " : "", error ? error->claim->id : "", error ? ": " : "",
           error ? error->error : "");
  return EP_OK;
}

ep_status cmd_reproduce(int argc, char **argv) {
  static setup_reproduce s;
  ep_option_group groups[GROUPS];
  const char *words[EP_MOST_CLAIMS];
  const ep_claim *claims[EP_MOST_CLAIMS];
  int word_count, count;
  ep_reproduced result;
  s.run = ep_run_default();
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, words, EP_MOST_CLAIMS, &word_count));
  config_words(words, EP_MOST_CLAIMS, &word_count);
  EP_CHECK(!(s.own.quick && s.own.paper), EP_ERR_ARG, "--quick and --paper exclude each other");
  EP_CHECK(s.own.out[0], EP_ERR_ARG, "--out is empty; give the reports a folder");
  EP_TRY(ep_claims_find(claims, &count, words, word_count));
  EP_CHECK(s.own.list || !s.own.all, EP_ERR_ARG, "--all goes with --list");
  if (s.own.list) return (s.own.all ? list_statements : list)(claims, count, s.cli.json);
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const ep_claim_size size = s.own.quick   ? EP_CLAIM_QUICK
                             : s.own.paper ? EP_CLAIM_PAPER
                                           : EP_CLAIM_MEDIUM;
  EP_TRY(ep_reproduce(&result, claims, count, size, &s.run, s.own.out,
                      s.own.kept[0] ? s.own.kept : NULL));
  ep_status st = write_report(s.own.out, &result,
                              config_of_run(groups, words, word_count, argc, argv), argc, argv);
  terminal_clear();
  if (!st) st = finish(&s, &result);
  ep_reproduced_free(&result);
  return st;
}
