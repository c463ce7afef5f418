/* gzip: what unpacks stays within memory and is as long as it says */
#include "use.h"

#include "core/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  unsigned char *out;
  size_t length;
  if (!ep_gunzip(&out, &length, bytes, size, "x.gz")) {
    if (out[length] != 0) abort();
    ep_release(out);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
