#pragma once
/* Layers of an analytic kernel in one loop each (quick_real.c). */
#include "core/real.h"

/* One point and a layer. */
typedef struct {
  double root, over, damp; /* of the one point, as ep_dual_points has them */
  double p;                /* leaky's parameter */
  double w, b;             /* Theta one layer on: w (S + tangent Theta S') + b */
  double tangent;          /* 1; 0: the NNGP */
} ep_quick;

/* The others, numbers of the precision of the loop. */
typedef struct {
  const void *root, *over, *damp;
} ep_quick_points;

typedef void ep_quick_layer(void *theta, void *gap, const ep_quick *layer, const ep_quick_points *y,
                            ptrdiff_t n);
EP_REAL_FN(void, ep_quick_leaky, void *theta, void *gap, const ep_quick *layer,
           const ep_quick_points *y, ptrdiff_t n);
EP_REAL_FN(void, ep_quick_erf, void *theta, void *gap, const ep_quick *layer,
           const ep_quick_points *y, ptrdiff_t n);
EP_REAL_FN(void, ep_quick_start, void *theta, void *gap, const double *inputs, double norm,
           const double *norms, ptrdiff_t n);
EP_REAL_FN(void, ep_quick_end, double *K, const void *theta, ptrdiff_t n);
