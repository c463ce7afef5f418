/* PNG and JPEG */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array a;
  unsigned char out[3 * 8 * 8];
  if (!ep_parse_picture(&a, bytes, size, "x.png")) {
    if (!ep_picture_fit(out, &a, (ep_image_shape){3, 8, 8})) sink = out[0];
    use(&a);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
