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

static const char *text_of(const json_t *job, const char *name) {
  const char *s = json_string_value(json_object_get(job, name));
  return s ? s : "";
}

static const char *outcome(const json_t *job) { return text_of(job, "outcome"); }

static bool belongs(const json_t *job, const char *paper) {
  return strcmp(text_of(job, "paper"), paper) == 0;
}

static bool is_open(const json_t *job) { return strstr(text_of(job, "source"), "(open)") != NULL; }

/* ---- a section a claim */

static ep_status facts(json_t *section, const json_t *job) {
  json_t *list = json_array();
  EP_TRY(ep_json_put(section, "facts", list));
  EP_TRY(ep_json_append(list, json_pack("[s, s]", is_open(job) ? "The question" : "The paper says",
                                        text_of(job, "says"))));
  EP_TRY(ep_json_append(list, json_pack("[s, s]", "Criterion", text_of(job, "criterion"))));
  if (text_of(job, "control")[0])
    EP_TRY(ep_json_append(list, json_pack("[s, s]", "Must fail", text_of(job, "control"))));
  if (json_object_get(job, "error"))
    return ep_json_append(list, json_pack("[s, s]", "Could not run", text_of(job, "error")));
  EP_TRY(ep_json_append(list, json_pack("[s, O]", "Measured", json_object_get(job, "measured"))));
  const char *const words[][2] = {{is_open(job) ? "Found" : "Found besides", "found"},
                                  {"What was done", "notes"}};
  for (int i = 0; i < 2; i++) {
    const json_t *sentences = json_object_get(job, words[i][1]);
    if (json_array_size(sentences))
      EP_TRY(ep_json_append(list, json_pack("[s, O]", words[i][0], sentences)));
  }
  return ep_json_append(list, json_pack("[s, O]", "Seconds", json_object_get(job, "seconds")));
}

/* names of figures are names of files: those of a page differ by the claim's id in front */
static ep_status figures(json_t *section, const json_t *job) {
  size_t i;
  json_t *figure, *list = json_array();
  EP_TRY(ep_json_put(section, "figures", list));
  json_array_foreach(json_object_get(job, "figures"), i, figure) {
    char name[128];
    json_t *copy;
    EP_TRY(ep_json_copy(&copy, figure));
    snprintf(name, sizeof name, "%s-%.60s", text_of(job, "id"), text_of(figure, "name"));
    EP_TRY(ep_json_append(list, copy));
    EP_TRY(ep_json_put(copy, "name", json_string(name)));
  }
  return EP_OK;
}

static ep_status claim_section(json_t *sections, const json_t *job) {
  char title[256];
  snprintf(title, sizeof title, "%s: %s", text_of(job, "id"), text_of(job, "source"));
  json_t *section = json_pack("{s:s, s:s}", "title", title, "badge", outcome(job));
  EP_TRY(ep_json_append(sections, section));
  EP_TRY(facts(section, job));
  return figures(section, job);
}

/* ---- the table of claims */

static bool is_bound(const char *name) {
  const size_t n = strlen(name);
  return (n > 4 && strcmp(name + n - 4, "_low") == 0) ||
         (n > 5 && strcmp(name + n - 5, "_high") == 0);
}

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

static void put_value(buffer *b, const json_t *v) {
  if (json_is_number(v)) put(b, "%.4g", json_number_value(v));
  else put(b, "-");
}

/* "name value (low to high)" or "name first, second, ..", in words */
static void put_measured(buffer *b, const json_t *measured, const char *name, const json_t *value) {
  enum { SHOWN = 5 };
  char end[2][140];
  const size_t n = json_array_size(value);
  snprintf(end[0], sizeof end[0], "%s_low", name);
  snprintf(end[1], sizeof end[1], "%s_high", name);
  const json_t *low = json_object_get(measured, end[0]), *high = json_object_get(measured, end[1]);
  for (const char *c = name; *c; c++) put(b, "%c", *c == '_' ? ' ' : *c);
  put(b, " ");
  if (!json_is_array(value)) put_value(b, value);
  for (size_t i = 0; i < n && i < SHOWN; i++) {
    if (i) put(b, ", ");
    put_value(b, json_array_get(value, i));
  }
  if (n > SHOWN) put(b, ", ..");
  if (json_is_number(low) && json_is_number(high))
    put(b, " (%.3g to %.3g)", json_number_value(low), json_number_value(high));
}

/* the first few numbers; all of them are in the paper's page */
enum { WORDS = 1600 };
static const char *measured_words(char out[WORDS], const json_t *job) {
  enum { MOST = 10 };
  const json_t *measured = json_object_get(job, "measured");
  const char *name;
  json_t *value;
  buffer b = {out, 0, WORDS};
  int count = 0;
  if (json_object_get(job, "error")) return text_of(job, "error");
  out[0] = '\0';
  for (int arrays = 0; arrays < 2; arrays++) /* single numbers first */
    json_object_foreach((json_t *)measured, name, value) {
      if (json_is_array(value) != arrays || is_bound(name)) continue;
      if (count++ >= MOST) continue;
      if (b.used) put(&b, "; ");
      put_measured(&b, measured, name, value);
    }
  if (count > MOST) put(&b, "; and %d more", count - MOST);
  return out;
}

static ep_status overview_table(json_t *section, const json_t *jobs, const char *paper) {
  json_t *rows = json_array(), *job;
  size_t i;
  json_t *table =
      json_pack("{s:s, s:[{s:s}, {s:s}, {s:s}, {s:s}, {s:s, s:s, s:s}], s:o}", "title", "Claims",
                "columns", "name", "claim", "name", "source", "name", "outcome", "name", "measured",
                "name", "time", "unit", "s", "format", ".3~g", "rows", rows);
  EP_TRY(ep_json_put(section, "tables", json_pack("[o]", table)));
  json_array_foreach(jobs, i, job) {
    if (paper && !belongs(job, paper)) continue;
    char words[WORDS];
    EP_TRY(ep_json_append(
        rows, json_pack("[s, s, s, s, O]", text_of(job, "id"), text_of(job, "source"), outcome(job),
                        measured_words(words, job), json_object_get(job, "seconds"))));
  }
  return EP_OK;
}

/* ---- documents */

static ep_status verdict(json_t *document, const json_t *jobs, const char *paper) {
  int count[3] = {0}; /* pass or answered, fail, error */
  char words[200];
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) {
    if (paper && !belongs(job, paper)) continue;
    count[outcome(job)[0] == 'f' ? 1 : outcome(job)[0] == 'e' ? 2 : 0]++;
  }
  snprintf(words, sizeof words,
           "%d of %d claims came out at this size, %d did not, %d could not run.", count[0],
           count[0] + count[1] + count[2], count[1], count[2]);
  return ep_json_put(document, "verdict",
                     json_pack("[{s:s, s:s, s:s}]", "question", "Do the claims come out?", "answer",
                               count[1] + count[2] ? "fails" : "holds", "words", words));
}

typedef struct {
  const json_t *result, *machine;
  const char *command, *folder;
} source;

/* what the pages share; the first section is the table. paper NULL: all of them */
static ep_status begin(json_t *document, const source *s, const char *title, const char *paper) {
  const json_t *jobs = json_object_get(s->result, "claims");
  json_t *first = json_pack("{s:s}", "title", "All claims"), *settings = json_object();
  EP_TRY(ep_json_put(document, "title", json_string(title)));
  EP_TRY(ep_json_put(document, "sections", json_pack("[o]", first)));
  EP_TRY(verdict(document, jobs, paper));
  EP_TRY(overview_table(first, jobs, paper));
  EP_TRY(ep_json_put(document, "settings", settings));
  static const char *const fields[] = {"size", "seed", "precision"};
  for (int i = 0; i < 3; i++)
    EP_TRY(ep_json_put(settings, fields[i], json_incref(json_object_get(s->result, fields[i]))));
  EP_TRY(ep_json_put(document, "command", json_string(s->command)));
  EP_TRY(ep_json_put(document, "version", json_incref(json_object_get(s->result, "version"))));
  if (s->machine) EP_TRY(ep_json_put(document, "machine", json_incref((json_t *)s->machine)));
  return EP_OK;
}

static ep_status fill_paper(json_t *document, const source *s, const ep_paper *paper) {
  size_t i;
  json_t *job, *own = json_array(), *result = json_pack("{s:o}", "claims", own);
  EP_TRY(ep_json_put(document, "result", result));
  EP_TRY(begin(document, s, paper->title, paper->name));
  if (paper->in_double)
    EP_TRY(ep_json_put(json_object_get(document, "settings"), "precision", json_string("double")));
  json_array_foreach(json_object_get(s->result, "claims"), i, job) {
    if (!belongs(job, paper->name)) continue;
    EP_TRY(claim_section(json_object_get(document, "sections"), job));
    EP_TRY(ep_json_append(own, json_incref(job)));
  }
  return EP_OK;
}

/* a card a claim: its first figure, what it says, how it came out, and where the rest is */
static ep_status add_card(json_t *cards, const json_t *job, const ep_paper *paper) {
  char link[300];
  json_t *card = json_object();
  const json_t *figure = json_array_get(json_object_get(job, "figures"), 0);
  snprintf(link, sizeof link, "%s/report.html#%s", paper->name, text_of(job, "id"));
  EP_TRY(ep_json_append(cards, card));
  EP_TRY(ep_json_put(card, "title", json_string(text_of(job, "id"))));
  EP_TRY(ep_json_put(card, "badge", json_string(outcome(job))));
  EP_TRY(ep_json_put(card, "text", json_string(text_of(job, "says"))));
  EP_TRY(ep_json_put(card, "link", json_string(link)));
  return figure ? ep_json_put(card, "figure", json_incref((json_t *)figure)) : EP_OK;
}

static ep_status add_cards(json_t *sections, const json_t *jobs) {
  size_t i;
  json_t *job, *cards;
  for (const ep_paper *p = ep_papers; p->name; p++) {
    cards = NULL;
    json_array_foreach(jobs, i, job) {
      if (!belongs(job, p->name)) continue;
      if (!cards)
        EP_TRY(ep_json_append(
            sections, json_pack("{s:s, s:o}", "title", p->title, "cards", cards = json_array())));
      EP_TRY(add_card(cards, job, p));
    }
  }
  return EP_OK;
}

static ep_status fill_overview(json_t *document, const source *s) {
  EP_TRY(ep_json_put(document, "result", json_incref((json_t *)s->result)));
  EP_TRY(begin(document, s, "The papers' claims, checked", NULL));
  EP_TRY(add_cards(json_object_get(document, "sections"), json_object_get(s->result, "claims")));
  json_t *where = json_array();
  EP_TRY(ep_json_append(json_object_get(document, "sections"),
                        json_pack("{s:s, s:o}", "title", "A page a paper", "text", where)));
  for (const ep_paper *p = ep_papers; p->name; p++) {
    char line[256];
    snprintf(line, sizeof line, "%s: %s/report.html", p->title, p->name);
    EP_TRY(ep_json_append(where, json_string(line)));
  }
  return EP_OK;
}

static bool any_of(const json_t *jobs, const char *paper) {
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) if (belongs(job, paper)) return true;
  return false;
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
static void put_open(FILE *to, const json_t *jobs) {
  size_t i, k;
  json_t *job, *sentence;
  fputs("\n## Open problems\n\n| claim | outcome | question | found |\n|---|---|---|---|\n", to);
  json_array_foreach(jobs, i, job) {
    if (!is_open(job)) continue;
    fprintf(to, "| %s | %s | ", text_of(job, "id"), outcome(job));
    put_cell(to, text_of(job, "says"));
    fputs(" | ", to);
    put_cell(to, text_of(job, "error"));
    json_array_foreach(json_object_get(job, "found"), k, sentence) {
      if (k) fputc(' ', to);
      put_cell(to, json_string_value(sentence));
    }
    fputs(" |\n", to);
  }
}

static void put_found(FILE *to, const json_t *jobs, const char *paper) {
  size_t i, k;
  json_t *job, *sentence;
  json_array_foreach(jobs, i, job) if (belongs(job, paper) && !is_open(job))
      json_array_foreach(json_object_get(job, "found"), k, sentence)
          fprintf(to, "* %s: %s\n", text_of(job, "id"), json_string_value(sentence));
}

static void put_claims(FILE *to, const json_t *jobs, const char *paper) {
  char words[WORDS];
  size_t i;
  json_t *job;
  fputs("\n| claim | outcome | criterion | measured |\n|---|---|---|---|\n", to);
  json_array_foreach(jobs, i, job) {
    if (!belongs(job, paper)) continue;
    fprintf(to, "| %s | %s | ", text_of(job, "id"), outcome(job));
    put_cell(to, text_of(job, "criterion"));
    fputs(" | ", to);
    put_cell(to, measured_words(words, job));
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
  const json_t *jobs = json_object_get(s->result, "claims");
  snprintf(path, sizeof path, "%.1000s/findings.md", s->folder);
  EP_TRY(ep_file_open(&file, path));
  FILE *to = file.stream;
  fputs("# Findings\n\nMade by ", to);
  ep_markdown_code(to, s->command);
  fprintf(to, ": size %s, seed %lld, version %s.\n", text_of(s->result, "size"),
          (long long)json_integer_value(json_object_get(s->result, "seed")),
          text_of(s->result, "version"));
  if (s->machine) {
    fputs("Machine: ", to);
    put_machine(to, s->machine);
    fputs(".\n", to);
  }
  fputs("In brackets: 95 % intervals of exponents, two standard errors of gains.\n", to);
  bool open = false;
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) open = open || is_open(job);
  if (open) put_open(to, jobs);
  for (const ep_paper *p = ep_papers; p->name; p++) {
    if (!any_of(jobs, p->name)) continue;
    fprintf(to, "\n## %s\n\n", p->title);
    put_found(to, jobs, p->name);
    put_claims(to, jobs, p->name);
  }
  return ep_file_commit(&file);
}

ep_status ep_reproduce_write(const char *folder, const json_t *result, const char *command,
                             const json_t *machine) {
  const source s = {result, machine, command, folder};
  for (const ep_paper *p = ep_papers; p->name; p++)
    if (any_of(json_object_get(result, "claims"), p->name)) EP_TRY(write_page(&s, p));
  EP_TRY(write_page(&s, NULL));
  return write_findings(&s);
}
