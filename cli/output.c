#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

json_t *number_json(double x) { return isfinite(x) ? json_real(x) : json_null(); }

json_t *machine_json(void) {
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  return json_pack("{s:i,s:i,s:f}", "cores", (int)sysconf(_SC_NPROCESSORS_ONLN), "threads",
                   ep_run_threads(), "memory", memory);
}

ep_status print_json(json_t *object) {
  char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(object);
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the result as JSON");
  const bool written = puts(text) >= 0 && fflush(stdout) == 0;
  free(text);
  EP_CHECK(written, EP_ERR_IO, "standard output cannot be written");
  return EP_OK;
}

void print_count(FILE *to, double n) {
  char digits[32];
  const int length = snprintf(digits, sizeof digits, "%.0f", n);
  for (int i = 0; i < length; i++) {
    if (i && (length - i) % 3 == 0) fputc(',', to);
    fputc(digits[i], to);
  }
}
