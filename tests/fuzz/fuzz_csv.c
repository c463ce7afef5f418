/* CSV, and matrices made of it: finite or refused */
#include "use.h"

static void use_matrix(const ep_array *a) {
  ep_mat X;
  if (ep_array_to_matrix(&X, a, NULL, a->shape[0], 1, EP_SINGLE, "x.csv")) return;
  const double top = ep_mat_max(&X);
  if (!(top <= 3.5e38)) abort();
  ep_mat_free(&X);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_array a;
  if (!ep_parse_csv(&a, bytes, size, "x.csv")) {
    if (a.shape[0] < 1 || a.shape[1] < 1) abort();
    use_matrix(&a);
    use(&a);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
