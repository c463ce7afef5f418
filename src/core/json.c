#include <eigenpair/json.h>
#include <math.h>

json_t *ep_json_number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *ep_json_numbers(const double *x, ptrdiff_t count) {
  json_t *array = json_array();
  for (ptrdiff_t i = 0; array && i < count; i++)
    if (json_array_append_new(array, ep_json_number(x[i]))) json_decref(array), array = NULL;
  return array;
}
