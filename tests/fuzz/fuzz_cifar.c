/* CIFAR-10, and the choice of a format by content */
#include "use.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array images, labels, any;
  if (!ep_parse_cifar(&images, &labels, bytes, size, "x.bin")) {
    use(&images);
    use(&labels);
  }
  if (!ep_parse_any(&any, bytes, size, "x")) use(&any);
  if (ep_mem_current() != 0) abort();
  return 0;
}
