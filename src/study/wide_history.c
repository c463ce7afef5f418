/* Histories of long fits as small files among the parts of a claim: where only the history is looked at, a fit that is
 * done is not done again, by no later build either. {"asked": settings, "outcome", "epochs", "columns": names, "rows"} */
#include "study/wide.h"

#include "core/file.h"
#include "core/hash.h"
#include "study/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const known[] = {"epoch",       "loss",     "ntk_max",  "ntk_frobenius",
                                    "c_frobenius", "w_change", "v_change", "rank"};
enum { KNOWN = sizeof known / sizeof *known };

/* what decides the numbers */
static ep_status question(json_t **out, const wide_fit *f) {
  static const char *const others[] = {"threads", "memory"};
  EP_TRY(ep_setup_to_json(out, f->setup));
  for (int i = 0; i < 2; i++) json_object_del(*out, others[i]);
  return EP_OK;
}

static ep_status place(char path[1200], const wide_fit *f, const json_t *asked) {
  char *text = ep_json_text(asked, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the settings");
  const unsigned long long hash = ep_hash(EP_HASH_START, text, strlen(text));
  free(text);
  snprintf(path, 1200, "%.1000s/M%ld-%016llx.json", ep_run_parts(), f->setup->net.width, hash);
  return EP_OK;
}

/* ---- to a file */

static ep_status put_rows(json_t *job, const ep_history *h) {
  json_t *columns = json_array(), *rows = json_array();
  EP_TRY(ep_json_put(job, "columns", columns));
  EP_TRY(ep_json_put(job, "rows", rows));
  for (int c = 0; c < h->columns; c++) EP_TRY(ep_json_append(columns, json_string(h->name[c])));
  for (ptrdiff_t i = 0; i < h->rows; i++)
    EP_TRY(ep_json_append(rows, ep_json_numbers(h->value + i * h->columns, h->columns)));
  return EP_OK;
}

static ep_status put_job(json_t *job, const wide_fit *f, const json_t *asked) {
  EP_TRY(ep_json_put(job, "asked", json_incref((json_t *)asked)));
  EP_TRY(ep_json_put(job, "outcome", json_integer(f->info.outcome)));
  EP_TRY(ep_json_put(job, "epochs", json_integer(f->info.epochs)));
  return put_rows(job, &f->info.history);
}

ep_status wide_history_keep(const wide_fit *f) {
  char path[1200];
  json_t *asked, *job = json_object();
  EP_CHECK(job, EP_ERR_NOMEM, "no memory for a history");
  ep_status st = question(&asked, f);
  if (!st) {
    st = place(path, f, asked);
    if (!st) st = put_job(job, f, asked);
    if (!st) st = ep_jobs_write(path, job);
    json_decref(asked);
  }
  json_decref(job);
  return st;
}

/* ---- from a file */

static bool take_columns(ep_history *h, const json_t *names) {
  size_t i;
  json_t *name;
  json_array_foreach(names, i, name) {
    int k = 0;
    while (k < KNOWN && (!json_is_string(name) || strcmp(json_string_value(name), known[k]) != 0))
      k++;
    if (k == KNOWN || h->columns == KNOWN) return false;
    h->name[h->columns++] = known[k];
  }
  return h->columns > 0;
}

/* false: it is not a history */
static bool take_row(double value[KNOWN], const ep_history *h, const json_t *row) {
  if (json_array_size(row) != (size_t)h->columns) return false;
  for (int c = 0; c < h->columns; c++) {
    const json_t *x = json_array_get(row, (size_t)c);
    if (!json_is_number(x) && !json_is_null(x)) return false;
    value[c] = json_is_null(x) ? NAN : json_number_value(x);
  }
  return true;
}

static ep_status take_rows(bool *whole, ep_history *h, const json_t *rows) {
  size_t i;
  json_t *row;
  double value[KNOWN];
  *whole = json_array_size(rows) > 0;
  json_array_foreach(rows, i, row) {
    *whole = *whole && take_row(value, h, row);
    if (*whole) EP_TRY(ep_history_add(h, value));
  }
  return EP_OK;
}

static ep_status take(bool *there, wide_fit *f, const json_t *job, const json_t *asked) {
  const json_t *outcome = json_object_get(job, "outcome"), *epochs = json_object_get(job, "epochs");
  const json_int_t how = json_integer_value(outcome);
  ep_history h = {0};
  *there = json_equal(json_object_get(job, "asked"), asked) && json_is_integer(outcome) &&
           json_is_integer(epochs) && how >= EP_DONE && how <= EP_DIVERGED &&
           take_columns(&h, json_object_get(job, "columns"));
  const ep_status st = *there ? take_rows(there, &h, json_object_get(job, "rows")) : EP_OK;
  if (st || !*there) {
    ep_history_free(&h);
    return st;
  }
  f->info.history = h;
  f->info.outcome = (ep_outcome)how;
  f->info.epochs = (long)json_integer_value(epochs);
  return EP_OK;
}

ep_status wide_history_take(bool *there, wide_fit *f) {
  char path[1200];
  json_t *asked, *job;
  *there = false;
  EP_TRY(question(&asked, f));
  ep_status st = place(path, f, asked);
  if (!st) {
    job = ep_jobs_read(path);
    st = take(there, f, job, asked);
    json_decref(job);
  }
  json_decref(asked);
  return st;
}
