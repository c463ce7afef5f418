/* .npz: archives in memory */
#include "use.h"

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
