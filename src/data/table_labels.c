/* Labels: a column of a table, or a file of their own. */
#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"
#include "data/reading.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_whole(double *x, const char *cell) {
  return ep_cell_number(x, cell, '.') && *x == floor(*x) && fabs(*x) <= INT_MAX;
}

static ep_status add_class(json_t *classes, json_t *index, const char *text) {
  if (ep_text_place(index, text) >= 0) return EP_OK;
  EP_TRY(ep_json_put(index, text, json_integer((json_int_t)json_array_size(classes))));
  return ep_json_append(classes, json_string(text));
}

/* classes that the list does not have yet, sorted, behind those it has */
static ep_status learn_classes(const ep_reading *r, json_t *classes, json_t *index) {
  const char **texts = NULL;
  ptrdiff_t *times = NULL, count, n = 0;
  ep_status st = ep_reading_texts(&texts, &times, &count, &n, r, r->label);
  if (!st && n > 100000)
    st = EP_FAIL(EP_ERR_INPUT, "%s: column %s has %td different labels", r->file,
                 r->cells.name[r->label], n);
  for (ptrdiff_t k = 0; !st && k < n; k++) {
    st = ep_reading_step(k, n);
    if (!st) st = add_class(classes, index, texts[k]);
  }
  ep_release(texts);
  ep_release(times);
  return st;
}

/* Numbers that are not whole are no labels. */
static ep_status check_words(const ep_reading *r) {
  double x;
  for (ptrdiff_t i = 0; i < r->kept; i++)
    if (!ep_cell_number(&x, ep_cell(&r->cells, r->row[i], r->label), '.')) return EP_OK;
  return EP_FAIL(EP_ERR_INPUT,
                 "%s: labels are whole numbers or words, and column %s has other numbers", r->file,
                 r->cells.name[r->label]);
}

static ep_status name_labels(int *labels, const ep_reading *r, json_t *classes, json_t *index) {
  EP_TRY(learn_classes(r, classes, index));
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    EP_TRY(ep_reading_step(i, r->kept));
    labels[i] = ep_text_place(index, ep_cell(&r->cells, r->row[i], r->label));
  }
  return EP_OK;
}

static ep_status read_words(int *labels, const ep_reading *r) {
  json_t *classes = json_object_get(r->plan, "classes"), *index;
  if (!classes) {
    EP_TRY(check_words(r));
    classes = json_array();
    EP_TRY(ep_json_put(r->plan, "classes", classes));
  }
  ep_status st = ep_plan_index(&index, classes);
  if (!st) st = name_labels(labels, r, classes, index);
  json_decref(index);
  return st;
}

ep_status ep_reading_labels(int **labels, const ep_reading *r) {
  bool numbers = !json_object_get(r->plan, "classes");
  double x;
  *labels = ep_alloc(r->kept, sizeof **labels);
  if (!*labels) return ep_reading_no_memory(r);
  for (ptrdiff_t i = 0; numbers && i < r->kept; i++) {
    EP_TRY(ep_reading_step(i, r->kept));
    numbers = is_whole(&x, ep_cell(&r->cells, r->row[i], r->label));
    (*labels)[i] = numbers ? (int)x : 0;
  }
  return numbers ? EP_OK : read_words(*labels, r);
}

/* ---- labels by themselves */

static ep_status lone_labels(int **labels, json_t **classes, ptrdiff_t *n, ep_reading *r) {
  EP_CHECK(r->cells.cols == 1, EP_ERR_INPUT,
           "%s: labels are one a row; this has %td columns: name one with --label-column", r->file,
           r->cells.cols);
  r->plan = json_object();
  r->kept = r->cells.rows;
  r->row = ep_alloc(r->kept, sizeof *r->row);
  if (!r->plan || !r->row) return ep_reading_no_memory(r);
  for (ptrdiff_t i = 0; i < r->kept; i++) {
    r->row[i] = i;
    if (ep_cell_is_missing(ep_cell(&r->cells, i, 0))) return ep_reading_odd(r, i, 0, "is no label");
  }
  if (*classes) EP_TRY(ep_json_put(r->plan, "classes", json_incref(*classes)));
  EP_TRY(ep_reading_labels(labels, r));
  *n = r->kept;
  if (!*classes) *classes = json_incref(json_object_get(r->plan, "classes"));
  return EP_OK;
}

static ep_status text_labels(int **labels, json_t **classes, ptrdiff_t *n, const char *path) {
  unsigned char *bytes;
  size_t size;
  ep_reading r = {.file = path};
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
  if (st != EP_ERR_INPUT || !ep_file_may_be_table(path))
    return *classes ? ep_labels_read(labels, n, path) : st;
  EP_TRY(ep_plain_numbers_begin(&numbers));
  const ep_status words = text_labels(labels, classes, n, path);
  ep_plain_numbers_end(&numbers);
  return words;
}

static ep_status rename_labels(int *labels, ptrdiff_t n, json_t *classes, json_t *index,
                               const json_t *from) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const char *name = json_string_value(json_array_get(from, (size_t)labels[i]));
    EP_TRY(ep_reading_step(i, n));
    if (!name) continue;
    EP_TRY(add_class(classes, index, name));
    labels[i] = ep_text_place(index, name);
  }
  return EP_OK;
}

ep_status ep_labels_rename(int *labels, ptrdiff_t n, json_t *classes, const json_t *from) {
  json_t *index;
  ep_status st = ep_plan_index(&index, classes);
  if (!st) st = rename_labels(labels, n, classes, index, from);
  json_decref(index);
  return st;
}
