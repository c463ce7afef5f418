/* Cells of a table: numbers, texts, what is wrong with them. */
#include "core/mem.h"
#include "core/words.h"
#include "data/reading.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

ep_status ep_reading_no_memory(const ep_reading *r) {
  return EP_FAIL(EP_ERR_NOMEM, "%s: no memory for a table", r->file);
}

const char *ep_plan_text(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

json_t *ep_plan_column(const ep_reading *r, ptrdiff_t k) {
  return json_array_get(json_object_get(r->plan, "columns"), (size_t)k);
}

bool ep_column_is_text(const json_t *column) {
  return strcmp(ep_plan_text(column, "kind"), "text") == 0;
}

ep_status ep_reading_step(ptrdiff_t i, ptrdiff_t rows) {
  return (i + 1) % 1024 ? EP_OK : ep_run_step("reading a table", (double)i, (double)rows);
}

ep_status ep_reading_odd(const ep_reading *r, ptrdiff_t i, ptrdiff_t j, const char *what) {
  return EP_FAIL(EP_ERR_INPUT, "%s: line %zu, column %s: '%.60s' %s", r->file, r->cells.line[i],
                 r->cells.name[j], ep_cell(&r->cells, i, j), what);
}

ep_status ep_reading_column(ptrdiff_t *j, const ep_reading *r, const char *flag, const char *name) {
  const ep_cells *c = &r->cells;
  const char *near = NULL;
  size_t least = 3;
  *j = ep_cells_find(c, name);
  if (*j >= 0) return EP_OK;
  for (ptrdiff_t k = 0; k < c->cols; k++) ep_word_nearer(&near, &least, name, c->name[k]);
  return near ? EP_FAIL(EP_ERR_ARG, "%s: --%s %s: no such column; did you mean %s?", r->file, flag,
                        name, near)
              : EP_FAIL(EP_ERR_ARG, "%s: --%s %s: no such column; the first is '%s', the last '%s'",
                        r->file, flag, name, c->name[0], c->name[c->cols - 1]);
}

ep_status ep_reading_value(double *x, bool *missing, const ep_reading *r, const json_t *column,
                           ptrdiff_t i, ptrdiff_t j) {
  const char *cell = ep_cell(&r->cells, i, j);
  *x = 0;
  *missing = ep_cell_is_missing(cell);
  if (*missing) return EP_OK;
  const bool date = strcmp(ep_plan_text(column, "kind"), "date") == 0;
  const char decimal = strcmp(ep_plan_text(column, "decimal"), ",") == 0 ? ',' : '.';
  if (!(date ? ep_cell_date(x, cell) : ep_cell_number(x, cell, decimal)))
    return ep_reading_odd(r, i, j, date ? "is not a date" : "is not a number");
  return isfinite(*x) ? EP_OK : ep_reading_odd(r, i, j, "is not a finite number");
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

ep_status ep_reading_texts(const char ***texts, ptrdiff_t **times, ptrdiff_t *count,
                           ptrdiff_t *different, const ep_reading *r, ptrdiff_t j) {
  *times = ep_alloc(r->cells.rows, sizeof **times);
  *texts = ep_alloc(r->cells.rows, sizeof **texts);
  if (!*times || !*texts) return ep_reading_no_memory(r);
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

ep_status ep_plan_index(json_t **index, const json_t *list) {
  *index = json_object();
  ep_status st = *index ? EP_OK : EP_FAIL(EP_ERR_NOMEM, "no memory for a list of texts");
  for (size_t k = 0; !st && k < json_array_size(list); k++) {
    const char *text = json_string_value(json_array_get(list, k));
    if (!json_object_get(*index, text)) st = ep_json_put(*index, text, json_integer((json_int_t)k));
  }
  return st;
}
