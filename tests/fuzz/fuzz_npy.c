/* .npy as an array and as a text */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array a;
  char *text;
  if (!ep_parse_npy(&a, bytes, size, "x.npy")) use(&a);
  if (!ep_parse_npy_text(&text, bytes, size, "x.npy")) {
    for (const char *p = text; *p; p++) sink = *p;
    ep_release(text);
  }
  sink = ep_npy_is_numeric(bytes, size);
  if (ep_mem_current() != 0) abort();
  return 0;
}
