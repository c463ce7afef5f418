/* What is learnt on a table, and what a table becomes by it. */
#include "data/table.h"

#include "core/file.h"
#include "core/mem.h"
#include "data/cells.h"
#include "data/parse.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* categories of a column, of one that --columns names; so many that are all different are names of the rows */
enum { MOST_CATEGORIES = 100, MOST_ASKED = 1000, FEW = 10 };

/* A table on its way: columns of the plan and where they are in the file. */
typedef struct {
  const ep_data_config *config;
  const char *file;
  ep_cells cells;
  json_t *plan;         /* owned */
  bool learning;        /* the plan is made here */
  ptrdiff_t count, *at; /* columns of the plan: which of the file */
  ptrdiff_t label;      /* column of the file; -1: none */
  ptrdiff_t kept, *row; /* rows that are kept */
} reading;

static ep_status no_memory(const reading *r) {
  return EP_FAIL(EP_ERR_NOMEM, "%s: no memory for a table", r->file);
}

static const char *text_of(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

static json_t *column_of(const reading *r, ptrdiff_t k) {
  return json_array_get(json_object_get(r->plan, "columns"), (size_t)k);
}

static bool is_text(const json_t *column) { return strcmp(text_of(column, "kind"), "text") == 0; }

/* ---- which columns */

/* Names with commas between them, each of which has to be a column; -> marks[column] = its place in the list, from 1 on. */
static ep_status mark_columns(int *marks, const reading *r, const char *flag, const char *list) {
  char name[1024];
  for (int place = 1; *list; place++) {
    const size_t n = strcspn(list, ",");
    snprintf(name, sizeof name, "%.*s", (int)n, list);
    const ptrdiff_t j = ep_cells_find(&r->cells, name);
    EP_CHECK(j >= 0, EP_ERR_ARG, "%s: --%s %s: no such column; the first is '%s', the last '%s'",
             r->file, flag, name, r->cells.name[0], r->cells.name[r->cells.cols - 1]);
    marks[j] = place;
    list += n + (list[n] == ',');
  }
  return EP_OK;
}

static ep_status find_label(reading *r) {
  const char *name = r->config->label_column;
  const bool given = *name;
  if (!given) name = text_of(r->plan, "label");
  r->label = *name ? ep_cells_find(&r->cells, name) : -1;
  EP_CHECK(!given || r->label >= 0, EP_ERR_ARG,
           "%s: --label-column %s: no such column; the first is '%s', the last '%s'", r->file, name,
           r->cells.name[0], r->cells.name[r->cells.cols - 1]);
  return EP_OK;
}

/* the columns to learn from, in the order of --columns or of the file */
static ep_status choose(reading *r, int *asked, int *dropped) {
  EP_TRY(mark_columns(asked, r, "columns", r->config->columns));
  EP_TRY(mark_columns(dropped, r, "drop", r->config->drop));
  const bool all = !r->config->columns[0];
  for (int place = 1; place <= (all ? 1 : r->cells.cols); place++)
    for (ptrdiff_t j = 0; j < r->cells.cols; j++)
      if ((all || asked[j] == place) && !dropped[j] && j != r->label) r->at[r->count++] = j;
  EP_CHECK(r->count > 0, EP_ERR_ARG, "%s: no column is left to learn from", r->file);
  return EP_OK;
}

/* ---- what a column is */

/* now and then in a loop over rows: is it to stop? */
static ep_status row_step(ptrdiff_t i, ptrdiff_t rows) {
  return (i + 1) % 1024 ? EP_OK : ep_run_step("reading a table", (double)i, (double)rows);
}

typedef struct {
  ptrdiff_t numbers, commas, dates, missing, rest;
  ptrdiff_t odd; /* the first row that is no number; -1: none */
} contents;

static ep_status look(contents *k, const ep_cells *c, ptrdiff_t j) {
  *k = (contents){.odd = -1};
  for (ptrdiff_t i = 0; i < c->rows; i++) {
    const char *cell = ep_cell(c, i, j);
    double x;
    EP_TRY(row_step(i, c->rows));
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

static ep_status odd_cell(const reading *r, ptrdiff_t i, ptrdiff_t j, const char *what) {
  return EP_FAIL(EP_ERR_INPUT, "%s: line %zu, column %s: '%.60s' %s", r->file, r->cells.line[i],
                 r->cells.name[j], ep_cell(&r->cells, i, j), what);
}

/* one number of a column; *missing instead, where there is none */
static ep_status value(double *x, bool *missing, const reading *r, const json_t *column,
                       ptrdiff_t i, ptrdiff_t j) {
  const char *cell = ep_cell(&r->cells, i, j);
  *x = 0;
  *missing = ep_cell_is_missing(cell);
  if (*missing) return EP_OK;
  const bool date = strcmp(text_of(column, "kind"), "date") == 0;
  const char decimal = strcmp(text_of(column, "decimal"), ",") == 0 ? ',' : '.';
  if (!(date ? ep_cell_date(x, cell) : ep_cell_number(x, cell, decimal)))
    return odd_cell(r, i, j, date ? "is not a date" : "is not a number");
  return isfinite(*x) ? EP_OK : odd_cell(r, i, j, "is not a finite number");
}

/* mean and standard deviation of what is there */
static ep_status learn_number(const reading *r, json_t *column, ptrdiff_t j) {
  double x, sum = 0, squares = 0, n = 0;
  bool missing;
  for (int pass = 0; pass < 2; pass++) {
    const double mean = n > 0 ? sum / n : 0;
    for (ptrdiff_t i = 0; i < r->cells.rows; i++) {
      EP_TRY(row_step(i, r->cells.rows));
      EP_TRY(value(&x, &missing, r, column, i, j));
      if (missing) continue;
      if (pass) squares += (x - mean) * (x - mean);
      else sum += x, n++;
    }
  }
  EP_CHECK(n > 0, EP_ERR_INPUT, "%s: column %s has no value; leave it out with --drop", r->file,
           r->cells.name[j]);
  EP_CHECK(isfinite(sum) && isfinite(squares), EP_ERR_INPUT,
           "%s: the values of column %s are too large", r->file, r->cells.name[j]);
  EP_TRY(ep_json_put(column, "mean", json_real(sum / n)));
  return ep_json_put(column, "deviation", json_real(sqrt(squares / n)));
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* the texts of a column, sorted: *count of them are there, *different are different and come first; how often in times */
static ep_status distinct(const char ***texts, ptrdiff_t **times, ptrdiff_t *count,
                          ptrdiff_t *different, const reading *r, ptrdiff_t j) {
  *times = ep_alloc(r->cells.rows, sizeof **times);
  *texts = ep_alloc(r->cells.rows, sizeof **texts);
  if (!*times || !*texts) return no_memory(r);
  *count = *different = 0;
  for (ptrdiff_t i = 0; i < r->cells.rows; i++)
    if (!ep_cell_is_missing(ep_cell(&r->cells, i, j)))
      (*texts)[(*count)++] = ep_cell(&r->cells, i, j);
  qsort(*texts, (size_t)*count, sizeof **texts, by_text);
  for (ptrdiff_t i = 0; i < *count; i++) {
    const bool again = i > 0 && strcmp((*texts)[*different - 1], (*texts)[i]) == 0;
    if (!again) (*texts)[(*different)++] = (*texts)[i];
    (*times)[*different - 1]++;
  }
  return EP_OK;
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
static ep_status learn_text(const reading *r, json_t *column, ptrdiff_t j, bool *used) {
  const char **texts = NULL;
  ptrdiff_t *times = NULL, count, n = 0;
  ep_status st = distinct(&texts, &times, &count, &n, r, j);
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
static ep_status learn_column(const reading *r, json_t *column, ptrdiff_t j, bool *used) {
  contents k;
  EP_TRY(look(&k, &r->cells, j));
  const ptrdiff_t there = r->cells.rows - k.missing;
  const bool dates = k.dates > 0 && k.dates == there;
  const bool text = !dates && (k.numbers == 0 ? there > 0 : 2 * k.numbers < there);
  *used = true;
  if (!text && !dates && k.numbers < there)
    return odd_cell(r, k.odd, j, "is not a number, though others of its column are; see --drop");
  EP_TRY(ep_json_put(column, "name", json_string(r->cells.name[j])));
  EP_TRY(ep_json_put(column, "kind", json_string(text ? "text" : dates ? "date" : "number")));
  if (k.commas) EP_TRY(ep_json_put(column, "decimal", json_string(",")));
  return text ? learn_text(r, column, j, used) : learn_number(r, column, j);
}

/* ---- the plan */

/* Of mixed units: text or dates among the columns, or spreads that differ by more than a factor of ten. */
static bool is_mixed(const reading *r, double *least, double *most) {
  bool other = false;
  *least = INFINITY, *most = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const json_t *column = column_of(r, k);
    const double d = json_real_value(json_object_get(column, "deviation"));
    other = other || strcmp(text_of(column, "kind"), "number") != 0;
    if (is_text(column) || d == 0) continue;
    if (d < *least) *least = d;
    if (d > *most) *most = d;
  }
  return other || *most > 10 * *least;
}

static ep_status choose_scale(const reading *r) {
  double least, most;
  const char *scale = r->config->scale;
  const bool open = strcmp(scale, "auto") == 0, mixed = is_mixed(r, &least, &most);
  const bool standard = open ? mixed : strcmp(scale, "standard") == 0;
  EP_TRY(ep_json_put(r->plan, "scale", json_string(standard ? "standard" : "raw")));
  if (open && mixed && most > 0)
    ep_run_note(
        "%s: columns are of different units (spread %.3g to %.3g): each is brought to mean 0 "
        "and spread 1; --scale raw leaves them as they are",
        r->file, least, most);
  return EP_OK;
}

/* a column that sounds like labels and is none of them yet */
static void point_at_label(const reading *r) {
  static const char *const words[] = {"label", "labels", "class", "target", "species", "y"};
  for (ptrdiff_t k = 0; r->label < 0 && k < r->count; k++)
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
      const char *name = text_of(column_of(r, k), "name");
      if (strcasecmp(name, words[w]) == 0)
        ep_run_note(
            "%s: column %s sounds like labels and is learnt from like the others; "
            "--label-column %s keeps it as labels",
            r->file, name, name);
    }
}

static ep_status learn_columns(reading *r) {
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

static ep_status learn(reading *r) {
  int *asked = ep_alloc(r->cells.cols, sizeof *asked);
  int *dropped = ep_alloc(r->cells.cols, sizeof *dropped);
  ep_status st = asked && dropped ? choose(r, asked, dropped) : no_memory(r);
  ep_release(asked);
  ep_release(dropped);
  EP_TRY(st);
  EP_TRY(ep_json_put(r->plan, "columns", json_array()));
  EP_TRY(ep_json_put(r->plan, "missing", json_string(r->config->missing)));
  if (r->label >= 0) EP_TRY(ep_json_put(r->plan, "label", json_string(r->cells.name[r->label])));
  return learn_columns(r);
}

/* the columns of a plan in another table */
static ep_status find_columns(reading *r) {
  r->count = (ptrdiff_t)json_array_size(json_object_get(r->plan, "columns"));
  EP_CHECK(r->count <= r->cells.cols, EP_ERR_INPUT,
           "%s: has %td columns, the model was made from %td", r->file, r->cells.cols, r->count);
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const char *name = text_of(column_of(r, k), "name");
    r->at[k] = ep_cells_find(&r->cells, name);
    EP_CHECK(r->at[k] >= 0, EP_ERR_INPUT, "%s: has no column '%s', which the model was made from",
             r->file, name);
  }
  return EP_OK;
}

/* ---- rows */

static ep_status keep_rows(reading *r) {
  const char *what = r->config->missing;
  const bool drop = strcmp(what, "drop") == 0, error = strcmp(what, "error") == 0;
  ptrdiff_t unlabelled = 0, dropped = 0, filled = 0;
  for (ptrdiff_t i = 0; i < r->cells.rows; i++) {
    ptrdiff_t holes = 0;
    EP_TRY(row_step(i, r->cells.rows));
    const bool no_label = r->label >= 0 && ep_cell_is_missing(ep_cell(&r->cells, i, r->label));
    for (ptrdiff_t k = 0; k < r->count; k++) {
      const bool hole = ep_cell_is_missing(ep_cell(&r->cells, i, r->at[k]));
      holes += hole;
      EP_CHECK(!hole || !error, EP_ERR_INPUT,
               "%s: line %zu, column %s: is missing; --missing mean fills it in, drop leaves the "
               "row out",
               r->file, r->cells.line[i], r->cells.name[r->at[k]]);
    }
    EP_CHECK(!no_label || !error, EP_ERR_INPUT, "%s: line %zu has no label", r->file,
             r->cells.line[i]);
    unlabelled += no_label;
    dropped += !no_label && drop && holes > 0;
    if (no_label || (drop && holes > 0)) continue;
    filled += holes;
    r->row[r->kept++] = i;
  }
  EP_CHECK(r->kept > 0, EP_ERR_INPUT, "%s: no row is left without a missing value", r->file);
  if (unlabelled) ep_run_note("%s: %td rows without a label are left out", r->file, unlabelled);
  if (dropped) ep_run_note("%s: %td rows with missing values are left out", r->file, dropped);
  if (filled)
    ep_run_note(
        "%s: %td missing values became the mean of their column; --missing drop leaves such "
        "rows out, error stops at them",
        r->file, filled);
  return EP_OK;
}

/* ---- labels */

/* the place of a text in a list; -1: it is not there */
static int place_of(const json_t *list, const char *text) {
  for (size_t k = 0; k < json_array_size(list); k++)
    if (strcmp(json_string_value(json_array_get(list, k)), text) == 0) return (int)k;
  return -1;
}

static bool is_whole(double *x, const char *cell) {
  return ep_cell_number(x, cell, '.') && *x == floor(*x) && fabs(*x) <= INT_MAX;
}

/* classes that the list does not have yet, sorted, behind those it has */
static ep_status learn_classes(const reading *r, json_t *classes, ptrdiff_t j) {
  const char **texts = NULL;
  ptrdiff_t *times = NULL, count, n = 0;
  ep_status st = distinct(&texts, &times, &count, &n, r, j);
  if (!st && n > 100000)
    st = EP_FAIL(EP_ERR_INPUT, "%s: column %s has %td different labels", r->file, r->cells.name[j],
                 n);
  for (ptrdiff_t k = 0; !st && k < n; k++) {
    st = row_step(k, n);
    if (!st && place_of(classes, texts[k]) < 0) st = ep_json_append(classes, json_string(texts[k]));
  }
  ep_release(texts);
  ep_release(times);
  return st;
}

/* Numbers that are not whole are no labels. */
static ep_status check_words(const reading *r) {
  double x;
  for (ptrdiff_t i = 0; i < r->kept; i++)
    if (!ep_cell_number(&x, ep_cell(&r->cells, r->row[i], r->label), '.')) return EP_OK;
  return EP_FAIL(EP_ERR_INPUT,
                 "%s: labels are whole numbers or words, and column %s has other numbers", r->file,
                 r->cells.name[r->label]);
}

/* Whole numbers stay what they are, unless the plan has classes; words are places in classes. */
static ep_status read_labels(int **labels, const reading *r) {
  json_t *classes = json_object_get(r->plan, "classes");
  bool numbers = !classes;
  double x;
  for (ptrdiff_t i = 0; numbers && i < r->kept; i++)
    numbers = is_whole(&x, ep_cell(&r->cells, r->row[i], r->label));
  if (!numbers && !classes) {
    EP_TRY(check_words(r));
    classes = json_array();
    EP_TRY(ep_json_put(r->plan, "classes", classes));
  }
  if (!numbers) EP_TRY(learn_classes(r, classes, r->label));
  *labels = ep_alloc(r->kept, sizeof **labels);
  if (!*labels) return no_memory(r);
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    const char *cell = ep_cell(&r->cells, r->row[i], r->label);
    EP_TRY(row_step(i, r->kept));
    (*labels)[i] = numbers ? (is_whole(&x, cell), (int)x) : place_of(classes, cell);
  }
  return EP_OK;
}

/* ---- points */

static ptrdiff_t width_of(const json_t *column) {
  return is_text(column) ? (ptrdiff_t)json_array_size(json_object_get(column, "categories")) : 1;
}

static double real_at(const json_t *list, size_t k) {
  return json_number_value(json_array_get(list, k));
}

/* (x - mean) / deviation, or x */
static ep_status fill_number(const ep_table *t, const reading *r, ptrdiff_t k, ptrdiff_t to) {
  const json_t *column = column_of(r, k);
  const bool standard = strcmp(text_of(r->plan, "scale"), "standard") == 0;
  const double mean = json_number_value(json_object_get(column, "mean"));
  const double deviation = json_number_value(json_object_get(column, "deviation"));
  const double shift = standard ? mean : 0, factor = !standard       ? 1
                                                     : deviation > 0 ? 1 / deviation
                                                                     : 0;
  t->spread[to] = factor * deviation;
  t->group[to] = (int)k;
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    double x;
    bool missing;
    EP_TRY(row_step(i, r->kept));
    EP_TRY(value(&x, &missing, r, column, r->row[i], r->at[k]));
    x = factor * ((missing ? mean : x) - shift);
    if (t->X.prec == EP_SINGLE && fabs(x) > 3.4e38)
      return odd_cell(r, r->row[i], r->at[k], "is too large for single precision");
    ep_set(&t->X, i, to, x);
  }
  return EP_OK;
}

/* one column of 0 and 1 a category; a missing text is the mean of those */
static ep_status fill_text(const ep_table *t, const reading *r, ptrdiff_t k, ptrdiff_t to) {
  const json_t *column = column_of(r, k), *shares = json_object_get(column, "shares");
  const json_t *categories = json_object_get(column, "categories");
  const ptrdiff_t n = width_of(column);
  ptrdiff_t unknown = 0;
  for (ptrdiff_t c = 0; c < n; c++) {
    const double p = real_at(shares, (size_t)c);
    t->spread[to + c] = sqrt(p * (1 - p));
    t->group[to + c] = (int)k;
  }
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    const char *cell = ep_cell(&r->cells, r->row[i], r->at[k]);
    const bool missing = ep_cell_is_missing(cell);
    EP_TRY(row_step(i, r->kept));
    const int place = missing ? -1 : place_of(categories, cell);
    unknown += !missing && place < 0;
    for (ptrdiff_t c = 0; c < n; c++)
      ep_set(&t->X, i, to + c, missing ? real_at(shares, (size_t)c) : c == place);
  }
  if (unknown)
    ep_run_note("%s: column %s: %td texts that the model has not seen count as none of its %td",
                r->file, text_of(column, "name"), unknown, n);
  return EP_OK;
}

static ep_status fill(ep_table *out, const reading *r, ep_precision prec) {
  ptrdiff_t D = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) D += width_of(column_of(r, k));
  EP_CHECK(D > 0, EP_ERR_INPUT, "%s: no column is left to learn from", r->file);
  EP_TRY(ep_mat_new(&out->X, prec, r->kept, D));
  out->spread = ep_alloc(D, sizeof *out->spread);
  out->group = ep_alloc(D, sizeof *out->group);
  if (!out->spread || !out->group) return no_memory(r);
  for (ptrdiff_t k = 0, to = 0; k < r->count; to += width_of(column_of(r, k)), k++)
    EP_TRY(is_text(column_of(r, k)) ? fill_text(out, r, k, to) : fill_number(out, r, k, to));
  return EP_OK;
}

/* ---- a table */

static void summary(const reading *r) {
  int kinds[3] = {0};
  ptrdiff_t categories = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const char *kind = text_of(column_of(r, k), "kind");
    kinds[*kind == 't' ? 1 : *kind == 'd' ? 2 : 0]++;
    if (*kind == 't') categories += width_of(column_of(r, k));
  }
  char text[80] = "", dates[40] = "", label[200] = "";
  if (kinds[1]) snprintf(text, sizeof text, ", %d of text (%td categories)", kinds[1], categories);
  if (kinds[2]) snprintf(dates, sizeof dates, ", %d of dates", kinds[2]);
  if (r->label >= 0) snprintf(label, sizeof label, "; labels: %.100s", r->cells.name[r->label]);
  if (kinds[1] || kinds[2] || r->label >= 0)
    ep_run_note("%s: %td rows, %d columns of numbers%s%s%s", r->file, r->kept, kinds[0], text,
                dates, label);
}

static ep_status read_rows(ep_table *out, reading *r, ep_precision prec, const json_t *plan) {
  if (plan) EP_TRY(ep_json_copy(&r->plan, plan));
  else r->plan = json_object();
  r->learning = !plan;
  r->at = ep_alloc(r->cells.cols, sizeof *r->at);
  r->row = ep_alloc(r->cells.rows, sizeof *r->row);
  if (!r->plan || !r->at || !r->row) return no_memory(r);
  EP_TRY(find_label(r));
  EP_TRY(r->learning ? learn(r) : find_columns(r));
  EP_TRY(keep_rows(r));
  if (r->learning) summary(r);
  if (r->label >= 0) EP_TRY(read_labels(&out->labels, r));
  EP_TRY(fill(out, r, prec));
  out->plan = json_incref(r->plan);
  return EP_OK;
}

static ep_status read_cells(ep_table *out, reading *r, ep_precision prec, const json_t *plan) {
  ep_plain_numbers numbers;
  EP_TRY(ep_plain_numbers_begin(&numbers));
  const ep_status st = read_rows(out, r, prec, plan);
  ep_plain_numbers_end(&numbers);
  ep_release(r->at);
  ep_release(r->row);
  json_decref(r->plan);
  if (st) ep_table_free(out);
  return st;
}

ep_status ep_parse_table(ep_table *out, const unsigned char *bytes, size_t size, const char *name,
                         const ep_data_config *config, ep_precision prec, const json_t *plan) {
  reading r = {.config = config, .file = name};
  *out = (ep_table){0};
  EP_TRY(ep_cells_parse(&r.cells, bytes, size, name));
  const ep_status st = read_cells(out, &r, prec, plan);
  ep_cells_free(&r.cells);
  return st;
}

/* ---- files */

static bool asks(const ep_data_config *c) {
  return c->label_column[0] || c->columns[0] || c->drop[0];
}

/* made from a table, and not from a matrix */
static bool has_names(const json_t *plan) {
  return json_object_get(json_array_get(json_object_get(plan, "columns"), 0), "name");
}

/* Does the file begin as text does? Packed text is told by its name. */
static bool may_be_table(const char *path) {
  unsigned char start[4096];
  const size_t length = strlen(path);
  FILE *in = ep_file_stream(path);
  if (!in) return false; /* whoever reads it tells why */
  const size_t n = fread(start, 1, sizeof start, in);
  fclose(in);
  return ep_bytes_are_text(start, n) || (length > 7 && strcmp(path + length - 7, ".csv.gz") == 0);
}

/* Numbers without a header are a matrix, unless something asks for a table. */
static ep_status read_bytes(ep_table *out, bool *is_table, const unsigned char *bytes, size_t size,
                            const char *path, const ep_data_config *config, ep_precision prec,
                            const json_t *plan) {
  reading r = {.config = config, .file = path};
  EP_TRY(ep_cells_parse(&r.cells, bytes, size, path));
  *is_table = plan ? has_names(plan) : r.cells.header || asks(config);
  const ep_status st = *is_table ? read_cells(out, &r, prec, plan) : EP_OK;
  ep_cells_free(&r.cells);
  return st;
}

ep_status ep_table_read(ep_table *out, bool *is_table, const char *path,
                        const ep_data_config *config, ep_precision prec, const json_t *plan) {
  unsigned char *bytes;
  size_t size;
  *out = (ep_table){0};
  *is_table = false;
  if (!may_be_table(path)) {
    EP_CHECK(!asks(config), EP_ERR_ARG,
             "%s: is no table: --label-column, --columns and --drop go with CSV files", path);
    return EP_OK;
  }
  EP_TRY(ep_file_read(&bytes, &size, path));
  const ep_status st = read_bytes(out, is_table, bytes, size, path, config, prec, plan);
  ep_release(bytes);
  return st;
}

void ep_table_free(ep_table *t) {
  ep_mat_free(&t->X);
  ep_release(t->labels);
  ep_release(t->spread);
  ep_release(t->group);
  json_decref(t->plan);
  *t = (ep_table){0};
}

/* ---- labels by themselves */

static ep_status lone_labels(int **labels, json_t **classes, ptrdiff_t *n, reading *r) {
  EP_CHECK(r->cells.cols == 1, EP_ERR_INPUT,
           "%s: labels are one a row; this has %td columns: name one with --label-column", r->file,
           r->cells.cols);
  r->plan = json_object();
  r->kept = r->cells.rows;
  r->row = ep_alloc(r->kept, sizeof *r->row);
  if (!r->plan || !r->row) return no_memory(r);
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    r->row[i] = i;
    if (ep_cell_is_missing(ep_cell(&r->cells, i, 0))) return odd_cell(r, i, 0, "is no label");
  }
  if (*classes) EP_TRY(ep_json_put(r->plan, "classes", json_incref(*classes)));
  EP_TRY(read_labels(labels, r));
  *n = r->kept;
  if (!*classes) *classes = json_incref(json_object_get(r->plan, "classes"));
  return EP_OK;
}

static ep_status text_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path) {
  unsigned char *bytes;
  size_t size;
  reading r = {.file = path};
  EP_TRY(ep_file_read(&bytes, &size, path));
  ep_status st = ep_cells_parse(&r.cells, bytes, size, path);
  ep_release(bytes);
  if (!st) st = lone_labels(labels, classes, n, &r);
  ep_release(r.row);
  json_decref(r.plan);
  ep_cells_free(&r.cells);
  return st;
}

ep_status ep_table_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path) {
  ep_plain_numbers numbers;
  const ep_status st = *classes ? EP_ERR_INPUT : ep_labels_read(labels, n, path);
  if (st != EP_ERR_INPUT || !may_be_table(path))
    return *classes ? ep_labels_read(labels, n, path) : st;
  EP_TRY(ep_plain_numbers_begin(&numbers));
  const ep_status words = text_labels(labels, classes, n, path);
  ep_plain_numbers_end(&numbers);
  return words;
}

ep_status ep_labels_rename(int *labels, ptrdiff_t n, json_t *classes, const json_t *from) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const char *name = json_string_value(json_array_get(from, (size_t)labels[i]));
    EP_TRY(row_step(i, n));
    if (name && place_of(classes, name) < 0) EP_TRY(ep_json_append(classes, json_string(name)));
    if (name) labels[i] = place_of(classes, name);
  }
  return EP_OK;
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
  const bool standard = strcmp(text_of(plan, "scale"), "standard") == 0;
  if ((ptrdiff_t)json_array_size(columns) != count) return false;
  for (ptrdiff_t j = 0; j < count; j++) {
    const json_t *column = json_array_get(columns, (size_t)j);
    const double d = json_number_value(json_object_get(column, "deviation"));
    if (strcmp(text_of(column, "kind"), "number") != 0) return false;
    mean[j] = standard ? json_number_value(json_object_get(column, "mean")) : 0;
    inverse[j] = !standard ? 1 : d > 0 ? 1 / d : 0;
  }
  return true;
}
