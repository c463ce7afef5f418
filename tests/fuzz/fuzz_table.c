/* Tables, and tables read as a model would: by what was learnt on them, or by a plan that is part of the input */
#include "data/table.h"
#include "use.h"

#include <eigenpair/json.h>
#include <string.h>

static void use_table(ep_table *t) {
  const double top = ep_mat_max(&t->X);
  if (!(top <= 3.5e38)) abort();
  for (ptrdiff_t i = 0; t->labels && i < t->X.rows; i++) sink = t->labels[i];
  for (ptrdiff_t j = 0; j < t->X.cols; j++) sink = t->spread[j] + t->group[j];
}

/* what a stranger's model says: JSON, a zero, the table */
static void by_plan(const uint8_t *bytes, size_t size, const ep_data_config *config) {
  const uint8_t *end = memchr(bytes, 0, size);
  json_t *plan;
  ep_table t;
  if (!end || ep_json_parse(&plan, (const char *)bytes, 1e9, "plan")) return;
  const size_t rest = size - (size_t)(end + 1 - bytes);
  if (!ep_plan_check(plan, "plan") &&
      !ep_parse_table(&t, end + 1, rest, "t.csv", config, EP_SINGLE, plan)) {
    use_table(&t);
    ep_table_free(&t);
  }
  json_decref(plan);
}

static void by_itself(const uint8_t *bytes, size_t size, const ep_data_config *config) {
  ep_table t, again;
  if (ep_parse_table(&t, bytes, size, "t.csv", config, EP_SINGLE, NULL)) return;
  use_table(&t);
  if (ep_plan_check(t.plan, "plan")) abort(); /* what was learnt could have been */
  if (ep_parse_table(&again, bytes, size, "t.csv", config, EP_SINGLE, t.plan)) abort();
  if (again.X.rows != t.X.rows || again.X.cols != t.X.cols) abort();
  ep_table_free(&again);
  ep_table_free(&t);
}

/* the first byte chooses options */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static ep_data_config config;
  if (size < 1) return 0;
  ep_options_default(ep_data_options, &config);
  if (bytes[0] & 1) strcpy(config.label_column, "1");
  if (bytes[0] & 2) config.missing = EP_MISSING_DROP;
  if (bytes[0] & 4) config.scale = EP_SCALE_STANDARD;
  if (bytes[0] & 8) by_plan(bytes + 1, size - 1, &config);
  else by_itself(bytes + 1, size - 1, &config);
  if (ep_mem_current() != 0) abort();
  return 0;
}
