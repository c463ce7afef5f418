/* Tables, and tables read as a model would: by what was learnt on them */
#include "data/table.h"
#include "use.h"

#include <string.h>

static void use_table(ep_table *t) {
  const double top = ep_mat_max(&t->X);
  if (!(top <= 3.5e38)) abort();
  for (ptrdiff_t i = 0; t->labels && i < t->X.rows; i++) sink = t->labels[i];
  for (ptrdiff_t j = 0; j < t->X.cols; j++) sink = t->spread[j] + t->group[j];
}

/* the first byte chooses options */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static ep_data_config config;
  ep_table t, again;
  if (size < 1) return 0;
  ep_options_default(ep_data_options, &config);
  if (bytes[0] & 1) strcpy(config.label_column, "1");
  if (bytes[0] & 2) strcpy(config.missing, "drop");
  if (bytes[0] & 4) strcpy(config.scale, "standard");
  if (!ep_parse_table(&t, bytes + 1, size - 1, "t.csv", &config, EP_SINGLE, NULL)) {
    use_table(&t);
    if (ep_parse_table(&again, bytes + 1, size - 1, "t.csv", &config, EP_SINGLE, t.plan)) abort();
    if (again.X.rows != t.X.rows || again.X.cols != t.X.cols) abort();
    ep_table_free(&again);
    ep_table_free(&t);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
