/* What is learnt on a table: which columns, what they are, how they are scaled. */
#include "core/mem.h"
#include "data/reading.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* categories of a column, of one that --columns names; so many that are all different are names of the rows */
enum { MOST_CATEGORIES = 100, MOST_ASKED = 1000, FEW = 10 };

/* ---- which columns */

/* Names with commas between them, each of which has to be a column; -> marks[column] = its place in the list, from 1 on. */
static ep_status mark_columns(int *marks, int *count, const ep_reading *r, const char *flag,
                              const char *list) {
  char name[1024];
  *count = 0;
  while (*list) {
    const size_t n = strcspn(list, ",");
    snprintf(name, sizeof name, "%.*s", (int)n, list);
    ptrdiff_t j;
    EP_TRY(ep_reading_column(&j, r, flag, name));
    marks[j] = ++*count;
    list += n + (list[n] == ',');
  }
  return EP_OK;
}

/* the columns to learn from, in the order of --columns or of the file */
static ep_status choose(ep_reading *r, int *asked, int *dropped) {
  int names, others;
  EP_TRY(mark_columns(asked, &names, r, "columns", r->config->columns));
  EP_TRY(mark_columns(dropped, &others, r, "drop", r->config->drop));
  const bool all = !r->config->columns[0];
  for (int place = 1; place <= (all ? 1 : names); place++)
    for (ptrdiff_t j = 0; j < r->cells.cols; j++)
      if ((all || asked[j] == place) && !dropped[j] && j != r->label) r->at[r->count++] = j;
  EP_CHECK(r->count > 0, EP_ERR_ARG, "%s: no column is left to learn from", r->file);
  return EP_OK;
}

/* ---- what a column is */

typedef struct {
  ptrdiff_t numbers, commas, dates, missing, rest;
  ptrdiff_t odd; /* the first row that is no number; -1: none */
} contents;

static ep_status look(contents *k, const ep_cells *c, ptrdiff_t j) {
  *k = (contents){.odd = -1};
  for (ptrdiff_t i = 0; i < c->rows; i++) {
    const char *cell = ep_cell(c, i, j);
    double x;
    EP_TRY(ep_reading_step(i, c->rows));
    if (ep_cell_is_missing(cell)) k->missing++;
    else if (ep_cell_number(&x, cell, '.')) {
      k->numbers++;
      k->commas += c->separator != ',' && ep_cell_number(&x, cell, ',') && strchr(cell, ',');
    } else if (c->separator != ',' && ep_cell_number(&x, cell, ',')) k->numbers++, k->commas++;
    else {
      if (ep_cell_date(&x, cell)) k->dates++;
      else k->rest++;
      if (k->odd < 0) k->odd = i;
    }
  }
  return EP_OK;
}

/* mean and standard deviation of what is there */
static ep_status learn_number(const ep_reading *r, json_t *column, ptrdiff_t j) {
  double x, sum = 0, squares = 0, n = 0;
  bool missing;
  for (int pass = 0; pass < 2; pass++) {
    const double mean = n > 0 ? sum / n : 0;
    for (ptrdiff_t i = 0; i < r->cells.rows; i++) {
      EP_TRY(ep_reading_step(i, r->cells.rows));
      EP_TRY(ep_reading_value(&x, &missing, r, column, i, j));
      if (missing) continue;
      if (pass) squares += (x - mean) * (x - mean);
      else sum += x, n++;
    }
  }
  EP_CHECK(n > 0, EP_ERR_INPUT, "%s: column %s has no value; leave it out with --drop", r->file,
           r->cells.name[j]);
  EP_CHECK(fabs(sum / n) <= EP_TABLE_LARGEST && isfinite(squares), EP_ERR_INPUT,
           "%s: the values of column %s are too large", r->file, r->cells.name[j]);
  EP_TRY(ep_json_put(column, "mean", json_real(sum / n)));
  return ep_json_put(column, "deviation", json_real(sqrt(squares / n)));
}

static ep_status put_categories(json_t *column, const char *const *texts, const ptrdiff_t *times,
                                ptrdiff_t n, ptrdiff_t count) {
  json_t *categories = json_array(), *shares = json_array();
  ep_status st = ep_json_put(column, "categories", categories);
  const ep_status other = ep_json_put(column, "shares", shares);
  if (!st) st = other;
  for (ptrdiff_t k = 0; !st && k < n; k++) {
    st = ep_json_append(categories, json_string(texts[k]));
    if (!st) st = ep_json_append(shares, json_real((double)times[k] / (double)count));
  }
  return st;
}

/* categories and their shares; *used false: as many texts as an identifier has */
static ep_status learn_text(const ep_reading *r, json_t *column, ptrdiff_t j, bool *used) {
  const char **texts = NULL;
  ptrdiff_t *times = NULL, count, n = 0;
  ep_status st = ep_reading_texts(&texts, &times, &count, &n, r, j);
  const bool identifier = n > MOST_CATEGORIES || (n > FEW && n == count);
  *used = r->config->columns[0] ? n <= MOST_ASKED : !identifier;
  if (!st && !*used && r->config->columns[0])
    st = EP_FAIL(EP_ERR_INPUT, "%s: column %s has %td different texts, more than %d; leave it out",
                 r->file, r->cells.name[j], n, MOST_ASKED);
  if (!st && !*used)
    ep_run_note("%s: column %s has %td different texts and is left out; --columns keeps it",
                r->file, r->cells.name[j], n);
  if (!st && *used) st = put_categories(column, texts, times, n, count);
  ep_release(texts);
  ep_release(times);
  return st;
}

/* A word among numbers is a mistake, and more words than numbers are text. */
static ep_status learn_column(const ep_reading *r, json_t *column, ptrdiff_t j, bool *used) {
  contents k;
  EP_TRY(look(&k, &r->cells, j));
  const ptrdiff_t there = r->cells.rows - k.missing;
  const bool dates = k.dates > 0 && k.dates == there;
  const bool text = !dates && (k.numbers == 0 ? there > 0 : 2 * k.numbers < there);
  *used = true;
  if (!text && !dates && k.numbers < there)
    return ep_reading_odd(r, k.odd, j,
                          "is not a number, though others of its column are; see --drop");
  EP_TRY(ep_json_put(column, "name", json_string(r->cells.name[j])));
  EP_TRY(ep_json_put(column, "kind", json_string(text ? "text" : dates ? "date" : "number")));
  if (k.commas) EP_TRY(ep_json_put(column, "decimal", json_string(",")));
  return text ? learn_text(r, column, j, used) : learn_number(r, column, j);
}

/* ---- the plan */

/* Of mixed units: text or dates among the columns, or spreads that differ by more than a factor of ten. */
static bool is_mixed(const ep_reading *r, double *least, double *most) {
  bool other = false;
  *least = INFINITY, *most = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const json_t *column = ep_plan_column(r, k);
    const double d = json_real_value(json_object_get(column, "deviation"));
    other = other || strcmp(ep_plan_text(column, "kind"), "number") != 0;
    if (ep_column_is_text(column) || d == 0) continue;
    if (d < *least) *least = d;
    if (d > *most) *most = d;
  }
  return other || *most > 10 * *least;
}

static ep_status choose_scale(const ep_reading *r) {
  double least, most;
  const int scale = r->config->scale;
  const bool open = scale == EP_SCALE_AUTO, mixed = is_mixed(r, &least, &most);
  const bool standard = open ? mixed : scale == EP_SCALE_STANDARD;
  EP_TRY(ep_json_put(r->plan, "scale", json_string(standard ? "standard" : "raw")));
  if (open && mixed && most > 0)
    ep_run_note(
        "%s: columns are of different units (spread %.3g to %.3g): each is brought to mean 0 "
        "and spread 1; --scale raw leaves them as they are",
        r->file, least, most);
  return EP_OK;
}

/* a column that sounds like labels and is none of them yet */
static void point_at_label(const ep_reading *r) {
  static const char *const words[] = {"label", "labels", "class", "target", "species", "y"};
  for (ptrdiff_t k = 0; r->label < 0 && k < r->count; k++)
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
      const char *name = ep_plan_text(ep_plan_column(r, k), "name");
      if (strcasecmp(name, words[w]) == 0)
        ep_run_note(
            "%s: column %s sounds like labels and is learnt from like the others; "
            "--label-column %s keeps it as labels",
            r->file, name, name);
    }
}

static ep_status learn_columns(ep_reading *r) {
  ptrdiff_t used = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) {
    bool keep;
    json_t *column = json_object();
    ep_status st = learn_column(r, column, r->at[k], &keep);
    if (!st && keep) st = ep_json_append(json_object_get(r->plan, "columns"), json_incref(column));
    json_decref(column);
    EP_TRY(st);
    if (keep) r->at[used++] = r->at[k];
  }
  r->count = used;
  EP_CHECK(used > 0, EP_ERR_INPUT, "%s: no column is left to learn from", r->file);
  EP_TRY(choose_scale(r));
  point_at_label(r);
  return EP_OK;
}

ep_status ep_plan_learn(ep_reading *r) {
  int *asked = ep_alloc(r->cells.cols, sizeof *asked);
  int *dropped = ep_alloc(r->cells.cols, sizeof *dropped);
  ep_status st = asked && dropped ? choose(r, asked, dropped) : ep_reading_no_memory(r);
  ep_release(asked);
  ep_release(dropped);
  EP_TRY(st);
  EP_TRY(ep_json_put(r->plan, "columns", json_array()));
  EP_TRY(ep_json_put(r->plan, "missing", json_string(ep_missing_name(r->config->missing))));
  if (r->label >= 0) EP_TRY(ep_json_put(r->plan, "label", json_string(r->cells.name[r->label])));
  return learn_columns(r);
}

/* ---- plans of matrices */

json_t *ep_plan_of_columns(const double *mean, const double *deviation, ptrdiff_t count) {
  json_t *columns = json_array();
  for (ptrdiff_t j = 0; columns && j < count; j++)
    if (json_array_append_new(columns, json_pack("{s:s,s:f,s:f}", "kind", "number", "mean", mean[j],
                                                 "deviation", deviation[j])))
      json_decref(columns), columns = NULL;
  return json_pack("{s:o,s:s}", "columns", columns, "scale", "standard");
}

bool ep_plan_scales(double *mean, double *inverse, ptrdiff_t count, const json_t *plan) {
  const json_t *columns = json_object_get(plan, "columns");
  const bool standard = strcmp(ep_plan_text(plan, "scale"), "standard") == 0;
  if ((ptrdiff_t)json_array_size(columns) != count) return false;
  for (ptrdiff_t j = 0; j < count; j++) {
    const json_t *column = json_array_get(columns, (size_t)j);
    const double d = json_number_value(json_object_get(column, "deviation"));
    if (strcmp(ep_plan_text(column, "kind"), "number") != 0) return false;
    mean[j] = standard ? json_number_value(json_object_get(column, "mean")) : 0;
    inverse[j] = !standard ? 1 : d > 0 ? 1 / d : 0;
  }
  return true;
}
