#pragma once
#include "core/real.h"
#include "model/activation_table.h"

/* Loops over n entries: out = phi(in), phi'(in) or phi''(in), parameter p; both: value = phi(in), slope = phi'(in).
 * Any of the outputs may be `in`. An entry has the same bits wherever in the row it stands. */
#define X(name, ...)                                                                          \
  EP_REAL_FN(void, ep_act_value_##name, void *out, const void *in, ptrdiff_t n, double p);    \
  EP_REAL_FN(void, ep_act_slope_##name, void *out, const void *in, ptrdiff_t n, double p);    \
  EP_REAL_FN(void, ep_act_curve_##name, void *out, const void *in, ptrdiff_t n, double p);    \
  EP_REAL_FN(void, ep_act_both_##name, void *value, void *slope, const void *in, ptrdiff_t n, \
             double p);
EP_ACTIVATIONS(X, X)
#undef X
