#pragma once
#include "core/real.h"

/* e_q = exp((s_q - top) / tau), top = max s, which is returned */
EP_DOUBLE_FN(double, ep_softmax_terms, double *e, const double *s, ptrdiff_t count, double tau);
