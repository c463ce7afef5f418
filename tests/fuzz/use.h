#pragma once
/* What every fuzz target does with an array that was accepted. */
#include "core/mem.h"
#include "data/parse.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static volatile double sink; /* the sum of all values: without a use clang leaves the call out */

static inline void use(ep_array *a) {
  double sum = 0;
  const ptrdiff_t n = ep_array_count(a);
  for (ptrdiff_t i = 0; i < n; i++) sum += ep_array_value(a, i);
  sink = sum;
  ep_array_free(a);
}
