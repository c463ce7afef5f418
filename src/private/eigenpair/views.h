#pragma once
/* What two views of a point share, on points that the fit has not seen (src/method/choose.c). */
#include <eigenpair/method.h>

/* W of method whitened from nine tenths of the anchors; the rest are held out. */
typedef struct {
  ptrdiff_t outputs; /* as asked, or as many as there are features */
  double *rho;       /* (outputs) correlation across views of held-out anchors, falling; owned */
  double held;       /* anchors held out */
  double noise;      /* three deviations of a correlation that is 0 */
  double mean;       /* of rho */
  double shared;     /* sum of what rho has above its noise */
  ptrdiff_t above;   /* how many are above it */
} ep_view_spectrum;

ep_status ep_view_spectrum_new(ep_view_spectrum *out, const ep_points *points,
                               const ep_setup *setup);
void ep_view_spectrum_free(ep_view_spectrum *spectrum);
