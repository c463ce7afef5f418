#include <eigenpair/json.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *ep_json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *ep_json_numbers(const double *x, ptrdiff_t count) {
  json_t *array = json_array();
  for (ptrdiff_t i = 0; array && i < count; i++)
    if (json_array_append_new(array, ep_json_number(x[i]))) json_decref(array), array = NULL;
  return array;
}

ep_status ep_json_put(json_t *object, const char *name, json_t *value) {
  EP_CHECK(json_object_set_new(object, name, value) == 0, EP_ERR_NOMEM, "no memory for results");
  return EP_OK;
}

ep_status ep_json_append(json_t *array, json_t *value) {
  EP_CHECK(json_array_append_new(array, value) == 0, EP_ERR_NOMEM, "no memory for results");
  return EP_OK;
}

ep_status ep_json_copy(json_t **out, const json_t *value) {
  *out = json_deep_copy(value);
  if (*out && json_equal(*out, value)) return EP_OK;
  json_decref(*out);
  *out = NULL;
  return EP_FAIL(EP_ERR_NOMEM, "no memory for a copy of JSON");
}

char *ep_json_text(const json_t *value, size_t flags) {
  char *text = json_dumps(value, flags);
  if (text && strlen(text) == json_dumpb(value, NULL, 0, flags)) return text;
  free(text);
  return NULL;
}

double ep_json_becomes(const char *text, size_t size) {
  size_t bytes = 256 + 2 * size;
  for (size_t i = 0; i < size; i++) switch (text[i]) {
      case '[': bytes += 160; break;
      case '{': bytes += 360; break;
      case ':': bytes += 112; break;
      case ',': bytes += 64; break;
      case '"': bytes += 24; break;
      default: break;
    }
  return (double)bytes;
}

ep_status ep_json_check(const char *text, size_t size, double room, const char *what) {
  EP_CHECK(size <= 1024 || ep_json_becomes(text, size) <= room, EP_ERR_INPUT,
           "%s: its JSON has %zu bytes, which may take more than --memory", what, size);
  return EP_OK;
}

ep_status ep_json_parse(json_t **out, const char *text, double room, const char *what) {
  enum { MOST = 8 << 20 };
  json_error_t error;
  const size_t size = strlen(text);
  *out = NULL;
  EP_CHECK(size <= MOST, EP_ERR_INPUT, "%s: its config has %zu bytes, %d at most", what, size,
           (int)MOST);
  EP_TRY(ep_json_check(text, size, room / 4, what));
  *out = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  EP_CHECK(*out || json_error_code(&error) != json_error_out_of_memory, EP_ERR_NOMEM,
           "%s: no memory for its JSON", what);
  EP_CHECK(*out, EP_ERR_INPUT, "%s: its config is not JSON: %s", what, error.text);
  if (json_is_object(*out)) return EP_OK;
  json_decref(*out);
  *out = NULL;
  return EP_FAIL(EP_ERR_INPUT, "%s: its config is no JSON object", what);
}
