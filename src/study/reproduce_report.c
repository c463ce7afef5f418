/* The reports of claims: a page a paper, an overview of all, a table of findings. */
#include "core/file.h"
#include "report/markdown.h"
#include "study/jobs.h"

#include <eigenpair/report.h>
#include <eigenpair/reproduce.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *outcome(const ep_checked *c) {
  return ep_claim_outcome_name(ep_checked_outcome(c));
}

static bool is_open(const ep_checked *c) { return c->claim->question; }

/* ---- a section a claim */

/* what repeats one claim at the size of this run */
static ep_status repeat(json_t *list, const ep_checked *c, ep_claim_size size) {
  char command[160];
  snprintf(command, sizeof command, "eigenpair reproduce %s%s", c->claim->id,
           size == EP_CLAIM_QUICK   ? " --quick"
           : size == EP_CLAIM_PAPER ? " --paper"
                                    : "");
  return ep_json_append(list, json_pack("[s, s]", "Repeat with", command));
}

static ep_status facts(json_t *section, const ep_checked *c, ep_claim_size size) {
  json_t *list = json_array();
  EP_TRY(ep_json_put(section, "facts", list));
  EP_TRY(ep_json_append(
      list, json_pack("[s, s]", is_open(c) ? "The question" : "The paper says", c->claim->says)));
  EP_TRY(ep_json_append(list, json_pack("[s, s]", "Criterion", c->claim->criterion)));
  if (c->claim->control)
    EP_TRY(ep_json_append(list, json_pack("[s, s]", "Must fail", c->claim->control)));
  if (c->claim->mutation)
    EP_TRY(ep_json_append(list, json_pack("[s, s]", "Goes red with", c->claim->mutation)));
  EP_TRY(repeat(list, c, size));
  if (c->error[0]) return ep_json_append(list, json_pack("[s, s]", "Could not run", c->error));
  json_t *measured;
  EP_TRY(ep_claim_measured_to_json(&measured, &c->result));
  EP_TRY(ep_json_append(list, json_pack("[s, o]", "Measured", measured)));
  if (json_array_size(c->result.found))
    EP_TRY(ep_json_append(
        list, json_pack("[s, O]", is_open(c) ? "Found" : "Found besides", c->result.found)));
  if (json_array_size(c->result.notes))
    EP_TRY(ep_json_append(list, json_pack("[s, O]", "What was done", c->result.notes)));
  if (c->kept && c->made[0])
    EP_TRY(ep_json_append(list, json_pack("[s, s]", "Kept from a run on", c->made)));
  return ep_json_append(list, json_pack("[s, f]", "Seconds", c->seconds));
}

/* names of figures are names of files: those of a page differ by the claim's id in front */
static ep_status figures(json_t *section, const ep_checked *c) {
  size_t i;
  json_t *figure, *list = json_array();
  EP_TRY(ep_json_put(section, "figures", list));
  json_array_foreach(c->result.figures, i, figure) {
    char name[128];
    json_t *copy;
    EP_TRY(ep_json_copy(&copy, figure));
    snprintf(name, sizeof name, "%s-%.60s", c->claim->id,
             json_string_value(json_object_get(figure, "name")));
    EP_TRY(ep_json_append(list, copy));
    EP_TRY(ep_json_put(copy, "name", json_string(name)));
  }
  return EP_OK;
}

static ep_status claim_section(json_t *sections, const ep_checked *c, ep_claim_size size) {
  char title[256];
  snprintf(title, sizeof title, "%s: %s", c->claim->id, c->claim->source);
  json_t *section = json_pack("{s:s, s:s}", "title", title, "badge", outcome(c));
  EP_TRY(ep_json_append(sections, section));
  EP_TRY(facts(section, c, size));
  return figures(section, c);
}

/* ---- the table of claims */

/* a buffer that is written to its end and no farther */
typedef struct {
  char *text;
  size_t used, size;
} buffer;
static void put(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(buffer *b, const char *format, ...) {
  va_list values;
  va_start(values, format);
  const int n = vsnprintf(b->text + b->used, b->size - b->used, format, values);
  va_end(values);
  b->used += n > 0 && b->used + (size_t)n < b->size ? (size_t)n : b->size - 1 - b->used;
}

static void put_value(buffer *b, double v) {
  if (isfinite(v)) put(b, "%.4g", v);
  else put(b, "-");
}

/* "name value (low to high)" or "name first, second, ..", in words */
static void put_measured(buffer *b, const ep_claim_number *n) {
  enum { SHOWN = 5 };
  for (const char *c = n->name; *c; c++) put(b, "%c", *c == '_' ? ' ' : *c);
  put(b, " ");
  for (ptrdiff_t i = 0; i < n->count && i < SHOWN; i++) {
    if (i) put(b, ", ");
    put_value(b, n->value[i]);
  }
  if (n->count > SHOWN) put(b, ", ..");
  if (!n->list && n->low && isfinite(*n->low) && isfinite(*n->high))
    put(b, " (%.3g to %.3g)", *n->low, *n->high);
}

/* the first few numbers; all of them are in the paper's page */
enum { WORDS = 1600 };
static const char *measured_words(char out[WORDS], const ep_checked *c) {
  enum { MOST = 10 };
  const ep_claim_result *r = &c->result;
  buffer b = {out, 0, WORDS};
  int count = 0;
  if (c->error[0]) return c->error;
  out[0] = '\0';
  for (int lists = 0; lists < 2; lists++) /* single numbers first */
    for (const ep_claim_number *n = r->measured; n < r->measured + r->numbers; n++) {
      if (n->list != (lists == 1) || count++ >= MOST) continue;
      if (b.used) put(&b, "; ");
      put_measured(&b, n);
    }
  if (count > MOST) put(&b, "; and %d more", count - MOST);
  return out;
}

/* claim i, if it is of the paper (NULL: of any); else NULL */
static const ep_checked *of_paper(const ep_reproduced *r, int i, const ep_paper *paper) {
  return !paper || r->claim[i].paper == paper ? &r->claim[i] : NULL;
}

static bool any_of(const ep_reproduced *r, const ep_paper *paper) {
  for (int i = 0; i < r->count; i++)
    if (of_paper(r, i, paper)) return true;
  return false;
}

/* folded where cards say it first */
static ep_status overview_table(json_t *section, const ep_reproduced *r, const ep_paper *paper) {
  json_t *rows = json_array();
  json_t *table =
      json_pack("{s:s, s:b, s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s, s:s, s:s}], s:o}", "title",
                "Claims and what was measured", "folded", !paper, "columns", "name", "claim",
                "name", "source", "name", "outcome", "name", "measured", "name", "time", "unit",
                "s", "format", ".3~g", "rows", rows);
  EP_TRY(ep_json_put(section, "tables", json_pack("[o]", table)));
  for (int i = 0; i < r->count; i++) {
    const ep_checked *c = of_paper(r, i, paper);
    char words[WORDS];
    if (c)
      EP_TRY(ep_json_append(rows, json_pack("[s, s, s, s, f]", c->claim->id, c->claim->source,
                                            outcome(c), measured_words(words, c), c->seconds)));
  }
  return EP_OK;
}

/* ---- documents */

typedef struct {
  int good, failed, errors; /* passed or answered */
  double seconds;
} tally;
static tally count_up(const ep_reproduced *r, const ep_paper *paper) {
  tally t = {0};
  for (int i = 0; i < r->count; i++) {
    const ep_checked *c = of_paper(r, i, paper);
    if (!c) continue;
    const ep_claim_outcome o = ep_checked_outcome(c);
    t.failed += o == EP_CLAIM_FAIL;
    t.errors += o == EP_CLAIM_ERROR;
    t.good += o == EP_CLAIM_PASS || o == EP_CLAIM_ANSWERED;
    t.seconds += c->seconds;
  }
  return t;
}

static ep_status verdict(json_t *document, const ep_reproduced *r, const ep_paper *paper) {
  const tally t = count_up(r, paper);
  char words[200];
  snprintf(words, sizeof words,
           "%d of %d claims came out at this size, %d did not, %d could not run.", t.good,
           t.good + t.failed + t.errors, t.failed, t.errors);
  return ep_json_put(document, "verdict",
                     json_pack("[{s:s, s:s, s:s}]", "question", "Do the claims come out?", "answer",
                               t.failed + t.errors ? "fails" : "holds", "words", words));
}

/* a card a claim: its first figure, what it says, how it came out, and where the rest is */
static ep_status add_card(json_t *cards, const ep_checked *c) {
  char link[300];
  json_t *card = json_object(), *figure = json_array_get(c->result.figures, 0);
  snprintf(link, sizeof link, "%s/report.html#%s", c->paper->name, c->claim->id);
  EP_TRY(ep_json_append(cards, card));
  EP_TRY(ep_json_put(card, "title", json_string(c->claim->id)));
  EP_TRY(ep_json_put(card, "badge", json_string(outcome(c))));
  EP_TRY(ep_json_put(card, "text", json_string(c->claim->says)));
  EP_TRY(ep_json_put(card, "link", json_string(link)));
  return figure ? ep_json_put(card, "figure", json_incref(figure)) : EP_OK;
}

static ep_status add_cards(json_t *sections, const ep_reproduced *r) {
  for (const ep_paper *p = ep_papers; p->name; p++) {
    json_t *cards = json_array();
    if (!any_of(r, p)) {
      json_decref(cards);
      continue;
    }
    EP_TRY(ep_json_append(sections, json_pack("{s:s, s:o}", "title", p->title, "cards", cards)));
    for (int i = 0; i < r->count; i++)
      if (of_paper(r, i, p)) EP_TRY(add_card(cards, &r->claim[i]));
  }
  return EP_OK;
}

typedef struct {
  const ep_reproduced *result;
  const json_t *machine, *config;
  const char *command, *folder;
} source;

/* the precision used: that of the options, and where it is not */
static void precision_of(buffer *b, const ep_reproduced *r, const ep_paper *paper) {
  int others = 0;
  const ep_precision used = paper && paper->in_double ? EP_DOUBLE : r->precision;
  put(b, "%s", ep_precision_name(used));
  if (used == EP_DOUBLE) return;
  for (const ep_paper *p = ep_papers; !paper && p->name; p++)
    if (p->in_double && any_of(r, p)) put(b, "%s%s", others++ ? ", " : " (double in ", p->name);
  for (int i = 0; i < r->count; i++)
    if (of_paper(r, i, paper) && r->claim[i].claim->in_double)
      put(b, "%s%s", others++ ? ", " : " (double in ", r->claim[i].claim->id);
  if (others) put(b, ")");
}

/* what the pages share, and its sections for more; first the cards (paper NULL: all of them), then the table */
static ep_status begin(json_t **to, json_t *document, const source *s, const char *title,
                       const ep_paper *paper) {
  const ep_reproduced *r = s->result;
  char precision[400];
  buffer words = {precision, 0, sizeof precision};
  precision_of(&words, r, paper);
  json_t *sections = *to = json_array();
  EP_TRY(ep_json_put(document, "title", json_string(title)));
  EP_TRY(ep_json_put(document, "sections", sections));
  EP_TRY(verdict(document, r, paper));
  if (!paper) EP_TRY(add_cards(sections, r));
  json_t *table = json_pack("{s:s}", "title", "All claims");
  EP_TRY(ep_json_append(sections, table));
  EP_TRY(overview_table(table, r, paper));
  EP_TRY(ep_json_put(document, "settings",
                     json_pack("{s:s, s:I, s:s}", "size", ep_claim_size_name(r->size), "seed",
                               (json_int_t)r->seed, "precision", precision)));
  EP_TRY(ep_json_put(document, "command", json_string(s->command)));
  EP_TRY(ep_json_put(document, "version", json_string(ep_version())));
  if (s->machine) EP_TRY(ep_json_put(document, "machine", json_incref((json_t *)s->machine)));
  return EP_OK;
}

/* result.json: the claims of a paper, or (NULL) all, with how many passed */
static ep_status result_json(json_t *document, const source *s, const ep_paper *paper) {
  const ep_reproduced *r = s->result;
  const tally t = count_up(r, paper);
  json_t *claims = json_array(), *one, *result = json_object();
  EP_TRY(ep_json_put(document, "result", result));
  if (!paper)
    EP_CHECK(json_object_update_new(
                 result, json_pack("{s:s, s:I, s:s, s:s, s:i, s:i, s:i, s:f}", "size",
                                   ep_claim_size_name(r->size), "seed", (json_int_t)r->seed,
                                   "precision", ep_precision_name(r->precision), "version",
                                   ep_version(), "passed", t.good, "failed", t.failed, "errors",
                                   t.errors, "seconds", t.seconds)) == 0,
             EP_ERR_NOMEM, "no memory for a result");
  EP_TRY(ep_json_put(result, "config", json_incref((json_t *)s->config)));
  EP_TRY(ep_json_put(result, "claims", claims));
  for (int i = 0; i < r->count; i++) {
    if (!of_paper(r, i, paper)) continue;
    EP_TRY(ep_checked_to_json(&one, &r->claim[i]));
    EP_TRY(ep_json_append(claims, one));
  }
  return EP_OK;
}

static ep_status fill_paper(json_t *document, const source *s, const ep_paper *paper) {
  json_t *sections;
  EP_TRY(result_json(document, s, paper));
  EP_TRY(begin(&sections, document, s, paper->title, paper));
  for (int i = 0; i < s->result->count; i++) {
    const ep_checked *c = of_paper(s->result, i, paper);
    if (c) EP_TRY(claim_section(sections, c, s->result->size));
  }
  return EP_OK;
}

static ep_status fill_overview(json_t *document, const source *s) {
  json_t *sections;
  EP_TRY(result_json(document, s, NULL));
  EP_TRY(begin(&sections, document, s, "The papers' claims, checked", NULL));
  json_t *where = json_array();
  EP_TRY(
      ep_json_append(sections, json_pack("{s:s, s:o}", "title", "A page a paper", "text", where)));
  for (const ep_paper *p = ep_papers; p->name; p++) {
    char line[256];
    if (!any_of(s->result, p)) continue; /* it has no page */
    snprintf(line, sizeof line, "%s: %s/report.html", p->title, p->name);
    EP_TRY(ep_json_append(where, json_string(line)));
  }
  return EP_OK;
}

/* paper NULL: the overview */
static ep_status write_page(const source *s, const ep_paper *paper) {
  char folder[1200];
  json_t *document = json_object();
  EP_CHECK(document, EP_ERR_NOMEM, "no memory for a report");
  snprintf(folder, sizeof folder, paper ? "%.1000s/%s" : "%.1000s", s->folder,
           paper ? paper->name : "");
  ep_status st = paper ? fill_paper(document, s, paper) : fill_overview(document, s);
  if (!st) st = ep_report_write(folder, document);
  json_decref(document);
  return st;
}

/* ---- findings.md */

/* text in a cell */
static void put_cell(FILE *to, const char *s) {
  for (; *s; s++) {
    if (*s == '|') fputc('\\', to);
    fputc(*s, to);
  }
}

/* what is asked, and what was found, with its uncertainty */
static void put_open(FILE *to, const ep_reproduced *r) {
  size_t k;
  json_t *sentence;
  fputs("\n## Open problems\n\n| claim | outcome | question | found |\n|---|---|---|---|\n", to);
  for (const ep_checked *c = r->claim; c < r->claim + r->count; c++) {
    if (!is_open(c)) continue;
    fprintf(to, "| %s | %s | ", c->claim->id, outcome(c));
    put_cell(to, c->claim->says);
    fputs(" | ", to);
    put_cell(to, c->error);
    json_array_foreach(c->result.found, k, sentence) {
      if (k) fputc(' ', to);
      put_cell(to, json_string_value(sentence));
    }
    fputs(" |\n", to);
  }
}

static void put_found(FILE *to, const ep_reproduced *r, const ep_paper *paper) {
  size_t k;
  json_t *sentence;
  for (int i = 0; i < r->count; i++) {
    const ep_checked *c = of_paper(r, i, paper);
    if (!c || is_open(c)) continue;
    json_array_foreach(c->result.found, k, sentence)
        fprintf(to, "* %s: %s\n", c->claim->id, json_string_value(sentence));
  }
}

static void put_claims(FILE *to, const ep_reproduced *r, const ep_paper *paper) {
  char words[WORDS];
  fputs("\n| claim | outcome | criterion | measured |\n|---|---|---|---|\n", to);
  for (int i = 0; i < r->count; i++) {
    const ep_checked *c = of_paper(r, i, paper);
    if (!c) continue;
    fprintf(to, "| %s | %s | ", c->claim->id, outcome(c));
    put_cell(to, c->claim->criterion);
    fputs(" | ", to);
    put_cell(to, measured_words(words, c));
    fputs(" |\n", to);
  }
}

static void put_machine(FILE *to, const json_t *machine) {
  const char *name;
  json_t *value;
  int count = 0;
  json_object_foreach((json_t *)machine, name, value) {
    fprintf(to, "%s%s ", count++ ? ", " : "", name);
    if (json_is_string(value)) fputs(json_string_value(value), to);
    else if (strcmp(name, "memory") == 0) fprintf(to, "%.1f GB", json_number_value(value) / 1e9);
    else fprintf(to, "%.4g", json_number_value(value));
  }
}

/* What is open; then for each paper what was found that it does not say, and a row a claim. */
static ep_status write_findings(const source *s) {
  char path[1200];
  ep_file file;
  const ep_reproduced *r = s->result;
  snprintf(path, sizeof path, "%.1000s/findings.md", s->folder);
  EP_TRY(ep_file_open(&file, path));
  FILE *to = file.stream;
  fputs("# Findings\n\nMade by ", to);
  ep_markdown_code(to, s->command);
  fprintf(to, ": size %s, seed %ld, version %s.\n", ep_claim_size_name(r->size), r->seed,
          ep_version());
  if (s->machine) {
    fputs("Machine: ", to);
    put_machine(to, s->machine);
    fputs(".\n", to);
  }
  fputs("In brackets: 95 % intervals of exponents, two standard errors of gains.\n", to);
  bool open = false;
  for (int i = 0; i < r->count; i++) open = open || is_open(&r->claim[i]);
  if (open) put_open(to, r);
  for (const ep_paper *p = ep_papers; p->name; p++) {
    if (!any_of(r, p)) continue;
    fprintf(to, "\n## %s\n\n", p->title);
    put_found(to, r, p);
    put_claims(to, r, p);
  }
  return ep_file_commit(&file);
}

ep_status ep_reproduce_write(const char *folder, const ep_reproduced *r, const char *command,
                             const json_t *machine, const json_t *config) {
  const source s = {r, machine, config, command, folder};
  for (const ep_paper *p = ep_papers; p->name; p++)
    if (any_of(r, p)) EP_TRY(write_page(&s, p));
  EP_TRY(write_page(&s, NULL));
  return write_findings(&s);
}
