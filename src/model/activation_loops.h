#pragma once
#include "core/real.h"
#include "model/activation_table.h"

/* Loops over n entries: out = phi(in), phi'(in) or phi''(in), parameter p. */
#define X(name, ...)                                                                       \
  EP_REAL_FN(void, ep_act_value_##name, void *out, const void *in, ptrdiff_t n, double p); \
  EP_REAL_FN(void, ep_act_slope_##name, void *out, const void *in, ptrdiff_t n, double p); \
  EP_REAL_FN(void, ep_act_curve_##name, void *out, const void *in, ptrdiff_t n, double p);
EP_ACTIVATIONS(X)
#undef X
