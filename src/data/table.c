/* What a table becomes by its plan: rows that are kept, points, labels. */
#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"
#include "data/reading.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns */

static ep_status find_label(ep_reading *r) {
  const char *name = r->config->label_column;
  if (*name) {
    char second[256];
    EP_TRY(ep_reading_column(&r->label, r, "label-column", name));
    snprintf(second, sizeof second, "%.240s.2", name);
    if (ep_cells_find(&r->cells, second) >= 0)
      ep_run_note("%s: several columns are called %s: labels are in the first, the second is %s",
                  r->file, name, second);
    return EP_OK;
  }
  name = ep_plan_text(r->plan, "label");
  r->label = *name ? ep_cells_find(&r->cells, name) : -1;
  return EP_OK;
}

/* the columns of a plan in another table */
static ep_status find_columns(ep_reading *r) {
  r->count = (ptrdiff_t)json_array_size(json_object_get(r->plan, "columns"));
  EP_CHECK(r->count <= r->cells.cols, EP_ERR_INPUT,
           "%s: has %td columns, the model was made from %td", r->file, r->cells.cols, r->count);
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const char *name = ep_plan_text(ep_plan_column(r, k), "name");
    r->at[k] = ep_cells_find(&r->cells, name);
    EP_CHECK(r->at[k] >= 0, EP_ERR_INPUT, "%s: has no column '%s', which the model was made from",
             r->file, name);
  }
  return EP_OK;
}

/* ---- rows */

static ep_status keep_rows(ep_reading *r) {
  const int what = r->config->missing;
  const bool drop = what == EP_MISSING_DROP, error = what == EP_MISSING_ERROR;
  ptrdiff_t unlabelled = 0, dropped = 0;
  for (ptrdiff_t i = 0; i < r->cells.rows; i++) {
    ptrdiff_t holes = 0;
    EP_TRY(ep_reading_step(i, r->cells.rows));
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
    r->filled += holes;
    r->row[r->kept++] = i;
  }
  EP_CHECK(r->kept > 0, EP_ERR_INPUT, "%s: no row is left without a missing value", r->file);
  if (unlabelled)
    ep_run_note("%s: %td row%s left out", r->file, unlabelled,
                unlabelled == 1 ? " without a label is" : "s without a label are");
  if (dropped)
    ep_run_note("%s: %td row%s left out", r->file, dropped,
                dropped == 1 ? " with a missing value is" : "s with missing values are");
  if (r->filled && r->config->data[0]) /* a file to colour by keeps its holes */
    ep_run_note(
        "%s: %td missing value%s became the mean of their column; --missing drop leaves such "
        "rows out, error stops at them",
        r->file, r->filled, r->filled == 1 ? "" : "s");
  return EP_OK;
}

/* ---- points */

static ptrdiff_t width_of(const json_t *column) {
  return ep_column_is_text(column)
             ? (ptrdiff_t)json_array_size(json_object_get(column, "categories"))
             : 1;
}

static double real_at(const json_t *list, size_t k) {
  return json_number_value(json_array_get(list, k));
}

/* (x - mean) / deviation, or x */
static ep_status fill_number(const ep_table *t, const ep_reading *r, ptrdiff_t k, ptrdiff_t to) {
  const json_t *column = ep_plan_column(r, k);
  const bool standard = strcmp(ep_plan_text(r->plan, "scale"), "standard") == 0;
  const double mean = json_number_value(json_object_get(column, "mean"));
  const double deviation = json_number_value(json_object_get(column, "deviation"));
  const double shift = standard ? mean : 0, factor = !standard       ? 1
                                                     : deviation > 0 ? 1 / deviation
                                                                     : 0;
  const bool single = t->X.prec == EP_SINGLE;
  const double most = single ? 3.4e38 : DBL_MAX;
  t->spread[to] = factor * deviation;
  t->group[to] = (int)k;
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    double x;
    bool missing;
    EP_TRY(ep_reading_step(i, r->kept));
    EP_TRY(ep_reading_value(&x, &missing, r, column, r->row[i], r->at[k]));
    x = factor * ((missing ? mean : x) - shift);
    if (!(fabs(x) <= most))
      return ep_reading_odd(r, r->row[i], r->at[k],
                            single ? "is too large for single precision" : "is too large");
    ep_set(&t->X, i, to, x);
  }
  return EP_OK;
}

/* one column of 0 and 1 a category; a missing text is the mean of those */
static ep_status fill_places(const ep_table *t, const ep_reading *r, ptrdiff_t k, ptrdiff_t to,
                             const json_t *index) {
  const json_t *column = ep_plan_column(r, k), *shares = json_object_get(column, "shares");
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
    EP_TRY(ep_reading_step(i, r->kept));
    const int place = missing ? -1 : ep_text_place(index, cell);
    unknown += !missing && place < 0;
    for (ptrdiff_t c = 0; c < n; c++)
      ep_set(&t->X, i, to + c, missing ? real_at(shares, (size_t)c) : c == place);
  }
  if (unknown)
    ep_run_note("%s: column %s: %td texts that the model has not seen count as none of its %td",
                r->file, ep_plan_text(column, "name"), unknown, n);
  return EP_OK;
}

static ep_status fill_text(const ep_table *t, const ep_reading *r, ptrdiff_t k, ptrdiff_t to) {
  json_t *index;
  ep_status st = ep_plan_index(&index, json_object_get(ep_plan_column(r, k), "categories"));
  if (!st) st = fill_places(t, r, k, to, index);
  json_decref(index);
  return st;
}

static ep_status mark_missing(ep_table *out, const ep_reading *r) {
  if (!r->filled) return EP_OK;
  out->missing = ep_alloc(r->kept * r->count, sizeof *out->missing);
  if (!out->missing) return ep_reading_no_memory(r);
  for (ptrdiff_t i = 0; i < r->kept; i++)
    for (ptrdiff_t k = 0; k < r->count; k++)
      out->missing[i * r->count + k] = ep_cell_is_missing(ep_cell(&r->cells, r->row[i], r->at[k]));
  return EP_OK;
}

static ep_status fill(ep_table *out, const ep_reading *r, ep_precision prec) {
  ptrdiff_t D = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) D += width_of(ep_plan_column(r, k));
  EP_CHECK(D > 0, EP_ERR_INPUT, "%s: no column is left to learn from", r->file);
  EP_TRY(ep_mat_new(&out->X, prec, r->kept, D));
  out->spread = ep_alloc(D, sizeof *out->spread);
  out->group = ep_alloc(D, sizeof *out->group);
  if (!out->spread || !out->group) return ep_reading_no_memory(r);
  for (ptrdiff_t k = 0, to = 0; k < r->count; to += width_of(ep_plan_column(r, k)), k++)
    EP_TRY(ep_column_is_text(ep_plan_column(r, k)) ? fill_text(out, r, k, to)
                                                   : fill_number(out, r, k, to));
  return mark_missing(out, r);
}

/* ---- a table */

static void summary(const ep_reading *r) {
  int kinds[3] = {0};
  ptrdiff_t categories = 0;
  for (ptrdiff_t k = 0; k < r->count; k++) {
    const char *kind = ep_plan_text(ep_plan_column(r, k), "kind");
    kinds[*kind == 't' ? 1 : *kind == 'd' ? 2 : 0]++;
    if (*kind == 't') categories += width_of(ep_plan_column(r, k));
  }
  char text[80] = "", dates[40] = "", label[200] = "";
  if (kinds[1]) snprintf(text, sizeof text, ", %d of text (%td categories)", kinds[1], categories);
  if (kinds[2]) snprintf(dates, sizeof dates, ", %d of dates", kinds[2]);
  if (r->label >= 0) snprintf(label, sizeof label, "; labels: %.100s", r->cells.name[r->label]);
  if (kinds[1] || kinds[2] || r->label >= 0)
    ep_run_note("%s: %td rows, %d columns of numbers%s%s%s", r->file, r->kept, kinds[0], text,
                dates, label);
}

static ep_status read_rows(ep_table *out, ep_reading *r, ep_precision prec, const json_t *plan) {
  if (plan) EP_TRY(ep_json_copy(&r->plan, plan));
  else r->plan = json_object();
  r->learning = !plan;
  r->at = ep_alloc(r->cells.cols, sizeof *r->at);
  r->row = ep_alloc(r->cells.rows, sizeof *r->row);
  if (!r->plan || !r->at || !r->row) return ep_reading_no_memory(r);
  EP_TRY(find_label(r));
  EP_TRY(r->learning ? ep_plan_learn(r) : find_columns(r));
  EP_TRY(keep_rows(r));
  if (r->learning) summary(r);
  if (r->label >= 0) EP_TRY(ep_reading_labels(&out->labels, r));
  EP_TRY(fill(out, r, prec));
  out->plan = json_incref(r->plan);
  return EP_OK;
}

static ep_status read_cells(ep_table *out, ep_reading *r, ep_precision prec, const json_t *plan) {
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
  ep_reading r = {.config = config, .file = name};
  *out = (ep_table){0};
  EP_TRY(ep_cells_parse(&r.cells, bytes, size, name));
  const ep_status st = read_cells(out, &r, prec, plan);
  ep_cells_free(&r.cells);
  return st;
}

/* ---- files */

bool ep_file_may_be_table(const char *path) {
  unsigned char start[4096];
  const size_t length = strlen(path);
  FILE *in = ep_file_stream(path);
  if (!in) return false; /* whoever reads it tells why */
  const size_t n = fread(start, 1, sizeof start, in);
  fclose(in);
  return ep_bytes_are_text(start, n) || (length > 7 && strcmp(path + length - 7, ".csv.gz") == 0);
}

static bool asks(const ep_data_config *c) {
  return c->label_column[0] || c->columns[0] || c->drop[0];
}

/* made from a table, and not from a matrix */
static bool has_names(const json_t *plan) {
  return json_object_get(json_array_get(json_object_get(plan, "columns"), 0), "name");
}

/* Numbers without a header are a matrix, unless something asks for a table. */
static ep_status read_bytes(ep_table *out, bool *is_table, const unsigned char *bytes, size_t size,
                            const char *path, const ep_data_config *config, ep_precision prec,
                            const json_t *plan) {
  ep_reading r = {.config = config, .file = path};
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
  if (!ep_file_may_be_table(path)) {
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
  ep_release(t->missing);
  json_decref(t->plan);
  *t = (ep_table){0};
}
