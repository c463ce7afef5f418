/* IDX */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array a;
  const bool good = !ep_parse_idx(&a, bytes, size, "x.idx");
  if (good) use(&a);
  if (good && !ep_idx_fits(bytes, size)) abort();
  if (ep_mem_current() != 0) abort();
  return 0;
}
