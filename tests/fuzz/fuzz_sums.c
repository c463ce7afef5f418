/* Sums in an .npz: read, written again, merged with themselves as read once more */
#include "use.h"

#include <eigenpair/sums.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  (void)use; /* sums have their own */
  ep_sums *a, *b;
  unsigned char *again;
  size_t length;
  if (ep_sums_from_bytes(&a, bytes, size, "x.npz") == EP_OK) {
    sink = ep_sums_anchors(a);
    if (ep_sums_to_bytes(&again, &length, a) == EP_OK) {
      if (ep_sums_from_bytes(&b, again, length, "y.npz") == EP_OK) {
        if (ep_sums_anchors(b) != ep_sums_anchors(a)) abort();
        if (ep_sums_merge(a, b) == EP_OK && ep_sums_anchors(b) > 0)
          abort(); /* the same shards twice */
        ep_sums_free(b);
      }
      ep_bytes_free(again);
    }
    ep_sums_free(a);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
