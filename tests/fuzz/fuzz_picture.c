/* PNG and JPEG */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array a;
  unsigned char out[3 * 8 * 8];
  if (!ep_parse_picture(&a, bytes, size, "x.png")) {
    const bool small =
        ep_array_count(&a) <
        1 << 22; /* larger ones take seconds here, and a tenth of one without sanitizers */
    if (small && !ep_picture_fit(out, &a, (ep_image_shape){3, 8, 8})) sink = out[0];
    if (small) use(&a);
    else sink = ep_array_value(&a, ep_array_count(&a) - 1), ep_array_free(&a);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
