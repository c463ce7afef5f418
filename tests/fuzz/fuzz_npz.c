/* .npz: archives in memory */
#include "core/mem.h"
#include "data/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile double sink; /* the sum of all values: without a use clang leaves the call out */

static void use(ep_array *a) {
  double sum = 0;
  const ptrdiff_t n = ep_array_count(a);
  for (ptrdiff_t i = 0; i < n; i++) sum += ep_array_value(a, i);
  sink = sum;
  ep_array_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const names[] = {"X", "W", "arr_0", "config"};
  ep_npz *z;
  ep_array a;
  char *text;
  if (ep_npz_open_bytes(&z, bytes, size, "x.npz")) return 0;
  if (!ep_npz_get_only(&a, z)) use(&a);
  for (int i = 0; i < 4; i++) {
    if (!ep_npz_get(&a, z, names[i])) use(&a);
    if (ep_npz_get_text(&text, z, names[i])) continue;
    for (const char *p = text; *p; p++) sink = *p;
    ep_npz_text_free(text);
  }
  ep_npz_close(z);
  if (ep_mem_current() != 0) abort();
  return 0;
}
