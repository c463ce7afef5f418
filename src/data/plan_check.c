/* A plan that comes from a file is believed only after this. */
#include "data/reading.h"

#include <math.h>
#include <string.h>

static bool is_one_of(const json_t *value, const char *const words[]) {
  const char *text = json_string_value(value);
  for (; text && *words; words++)
    if (strcmp(text, *words) == 0) return true;
  return false;
}

static bool are_texts(const json_t *list) {
  const json_t *one;
  size_t i;
  json_array_foreach(list, i, one) if (!json_is_string(one)) return false;
  return json_is_array(list);
}

static bool is_within(const json_t *value, double least, double most) {
  const double x = json_number_value(value);
  return json_is_number(value) && x >= least && x <= most;
}

/* an array of count shares of rows */
static bool are_shares(const json_t *list, size_t count) {
  const json_t *one;
  size_t i;
  json_array_foreach(list, i, one) if (!is_within(one, 0, 1)) return false;
  return json_array_size(list) == count;
}

/* a number to divide by, or none */
static bool is_deviation(const json_t *value) {
  const double d = json_number_value(value);
  return is_within(value, 0, EP_TABLE_LARGEST) && (d == 0 || isfinite(1 / d));
}

static bool is_column(const json_t *c) {
  static const char *const kinds[] = {"number", "date", "text", NULL};
  const json_t *name = json_object_get(c, "name"), *decimal = json_object_get(c, "decimal");
  const json_t *categories = json_object_get(c, "categories");
  if (!is_one_of(json_object_get(c, "kind"), kinds)) return false;
  if ((name && !json_is_string(name)) || (decimal && !json_is_string(decimal))) return false;
  if (ep_column_is_text(c))
    return are_texts(categories) && json_array_size(categories) > 0 &&
           are_shares(json_object_get(c, "shares"), json_array_size(categories));
  return is_within(json_object_get(c, "mean"), -EP_TABLE_LARGEST, EP_TABLE_LARGEST) &&
         is_deviation(json_object_get(c, "deviation"));
}

static bool is_plan(const json_t *plan) {
  static const char *const scales[] = {"raw", "standard", NULL};
  const json_t *columns = json_object_get(plan, "columns"), *one;
  const json_t *classes = json_object_get(plan, "classes"), *label = json_object_get(plan, "label");
  size_t i;
  json_array_foreach(columns, i, one) if (!is_column(one)) return false;
  return json_array_size(columns) > 0 && is_one_of(json_object_get(plan, "scale"), scales) &&
         (!classes || are_texts(classes)) && (!label || json_is_string(label));
}

ep_status ep_plan_check(const json_t *plan, const char *path) {
  EP_CHECK(!plan || is_plan(plan), EP_ERR_INPUT,
           "%s: what it says of the table it was made from makes no sense", path);
  return EP_OK;
}
