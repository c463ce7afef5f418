/* What a claim's check hands back. */
#include "core/mem.h"

#include <eigenpair/claim.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static ep_status nomem(void) { return EP_FAIL(EP_ERR_NOMEM, "no memory for a claim's result"); }

ep_status ep_claim_result_new(ep_claim_result *out) {
  *out = (ep_claim_result){.figures = json_array(), .notes = json_array(), .found = json_array()};
  if (out->figures && out->notes && out->found) return EP_OK;
  ep_claim_result_free(out);
  return nomem();
}

void ep_claim_result_free(ep_claim_result *r) {
  for (int i = 0; i < r->numbers; i++) ep_release(r->measured[i].value);
  ep_release(r->measured);
  json_decref(r->figures);
  json_decref(r->notes);
  json_decref(r->found);
  *r = (ep_claim_result){0};
}

/* ---- numbers */

/* where a number of that name goes: the place of the one there is, which is dropped, or a new one */
static ep_status place(ep_claim_number **out, ep_claim_result *r, const char *name) {
  for (int i = 0; i < r->numbers; i++)
    if (strncmp(r->measured[i].name, name, EP_CLAIM_NAME - 1) == 0) {
      *out = &r->measured[i];
      ep_release((*out)->value);
      return EP_OK;
    }
  if (r->numbers == r->room) {
    const int room = r->room ? 2 * r->room : 16;
    ep_claim_number *more = ep_alloc(room, sizeof *more);
    if (!more) return nomem();
    if (r->numbers) memcpy(more, r->measured, (size_t)r->numbers * sizeof *more);
    ep_release(r->measured);
    r->measured = more;
    r->room = room;
  }
  *out = &r->measured[r->numbers++];
  snprintf((*out)->name, sizeof(*out)->name, "%s", name);
  return EP_OK;
}

/* low and high: both, or NULL */
static ep_status measure(ep_claim_result *r, const char *name, bool list, const double *value,
                         const double *low, const double *high, ptrdiff_t count) {
  const double *const part[] = {value, low, high};
  const int parts = low ? 3 : 1;
  double *x = ep_alloc(parts * count + 1, sizeof *x); /* a list may be empty */
  ep_claim_number *n;
  if (!x) return nomem();
  const ep_status st = place(&n, r, name);
  if (st) {
    ep_release(x);
    return st;
  }
  for (int k = 0; k < parts; k++)
    for (ptrdiff_t i = 0; i < count; i++) x[k * count + i] = part[k][i];
  n->list = list;
  n->count = count;
  n->value = x;
  n->low = low ? x + count : NULL;
  n->high = low ? x + 2 * count : NULL;
  return EP_OK;
}

ep_status ep_claim_measure(ep_claim_result *r, const char *name, double value) {
  return measure(r, name, false, &value, NULL, NULL, 1);
}

ep_status ep_claim_measure_all(ep_claim_result *r, const char *name, const double *value,
                               ptrdiff_t count) {
  return measure(r, name, true, value, NULL, NULL, count);
}

ep_status ep_claim_measure_within(ep_claim_result *r, const char *name, double value, double low,
                                  double high) {
  return measure(r, name, false, &value, &low, &high, 1);
}

ep_status ep_claim_measure_all_within(ep_claim_result *r, const char *name, const double *value,
                                      const double *low, const double *high, ptrdiff_t count) {
  return measure(r, name, true, value, low, high, count);
}

ep_status ep_claim_measure_as(ep_claim_result *r, const char *name, const ep_claim_number *n) {
  return measure(r, name, n->list, n->value, n->low, n->high, n->count);
}

/* ---- and in files */

static ep_status put(json_t *object, const ep_claim_number *n, const char *end,
                     const double *value) {
  char name[EP_CLAIM_NAME + 8];
  snprintf(name, sizeof name, "%s%s", n->name, end);
  return ep_json_put(object, name,
                     n->list ? ep_json_numbers(value, n->count) : ep_json_number(*value));
}

static ep_status put_all(json_t *object, const ep_claim_result *r) {
  for (const ep_claim_number *n = r->measured; n < r->measured + r->numbers; n++) {
    EP_TRY(put(object, n, "", n->value));
    if (n->low) EP_TRY(put(object, n, "_low", n->low));
    if (n->low) EP_TRY(put(object, n, "_high", n->high));
  }
  return EP_OK;
}

ep_status ep_claim_measured_to_json(json_t **out, const ep_claim_result *r) {
  *out = json_object();
  if (!*out) return nomem();
  const ep_status st = put_all(*out, r);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

static bool same_shape(const json_t *a, const json_t *b) {
  return a && b && json_is_array(a) == json_is_array(b) && json_array_size(a) == json_array_size(b);
}

/* the end of the interval of `name`; NULL: it has none */
static const json_t *end_of(const json_t *object, const char *name, const char *end) {
  char full[EP_CLAIM_NAME + 8];
  snprintf(full, sizeof full, "%s%s", name, end);
  const json_t *value = json_object_get(object, full);
  return same_shape(json_object_get(object, name), value) ? value : NULL;
}

static bool has_interval(const json_t *object, const char *name) {
  return end_of(object, name, "_low") && end_of(object, name, "_high");
}

/* NAME_low or NAME_high, beside a NAME that has both */
static bool is_end(const json_t *object, const char *name) {
  static const char *const ends[] = {"_low", "_high"};
  const size_t n = strlen(name);
  for (int k = 0; k < 2; k++) {
    const size_t m = strlen(ends[k]);
    char base[EP_CLAIM_NAME];
    if (n <= m || n - m >= sizeof base || strcmp(name + n - m, ends[k]) != 0) continue;
    snprintf(base, sizeof base, "%.*s", (int)(n - m), name);
    if (has_interval(object, base)) return true;
  }
  return false;
}

static ep_status read_numbers(double *to, const json_t *from) {
  const size_t count = json_is_array(from) ? json_array_size(from) : 1;
  for (size_t i = 0; i < count; i++) {
    const json_t *one = json_is_array(from) ? json_array_get(from, i) : from;
    EP_CHECK(json_is_number(one) || json_is_null(one), EP_ERR_INPUT, "a measured number is none");
    to[i] = json_is_null(one) ? NAN : json_number_value(one);
  }
  return EP_OK;
}

static ep_status read_one(ep_claim_result *r, const json_t *object, const char *name,
                          const json_t *value) {
  const bool list = json_is_array(value), within = has_interval(object, name);
  const ptrdiff_t count = list ? (ptrdiff_t)json_array_size(value) : 1;
  double *x = ep_alloc(3 * count + 1, sizeof *x), *low = x + count, *high = low + count;
  if (!x) return nomem();
  ep_status st = read_numbers(x, value);
  if (!st && within) st = read_numbers(low, end_of(object, name, "_low"));
  if (!st && within) st = read_numbers(high, end_of(object, name, "_high"));
  if (!st) st = measure(r, name, list, x, within ? low : NULL, within ? high : NULL, count);
  ep_release(x);
  return st;
}

ep_status ep_claim_measured_from_json(ep_claim_result *r, const json_t *object) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    EP_CHECK(strlen(name) < EP_CLAIM_NAME, EP_ERR_INPUT,
             "the name of a measured number is too long");
    if (!is_end(object, name)) EP_TRY(read_one(r, object, name, value));
  }
  return EP_OK;
}

/* ---- all else */

ep_status ep_claim_figure(ep_claim_result *r, json_t *figure) {
  return json_array_append_new(r->figures, figure) ? nomem() : EP_OK;
}

ep_status ep_claim_note(ep_claim_result *r, const char *sentence) {
  return json_array_append_new(r->notes, json_string(sentence)) ? nomem() : EP_OK;
}

ep_status ep_claim_found(ep_claim_result *r, const char *format, ...) {
  char sentence[800];
  va_list values;
  va_start(values, format);
  vsnprintf(sentence, sizeof sentence, format, values);
  va_end(values);
  return json_array_append_new(r->found, json_string(sentence)) ? nomem() : EP_OK;
}
