#pragma once
/* The generative models of OPTIMA as exact populations: few points with probabilities, which are their masses. */
#include <eigenpair/optima.h>

enum { EP_PATTERNS = 8 }; /* most patterns */

typedef struct {
  ep_mat U;       /* (m, m) columns u_m, owned; the plane has none */
  ep_layer layer; /* relu, uniform weights; its points and masses are owned */
} ep_population;

/* x = u_m with probability p_m (NULL: all the same); |U'U - I|_2 = tilt with unit columns. Orthonormal points lie on the
 * hyperplanes of the other patterns; they are moved off by rounding's size to the inactive side, so that h'(0) = 0 holds
 * for u_m. */
ep_status ep_population_categorical(ep_population *out, ptrdiff_t m, const double *p, double tilt,
                                    uint64_t seed);
/* x = U y, y_m standardised Bernoulli(q_m), all 2^m of them. */
ep_status ep_population_summation(ep_population *out, ptrdiff_t m, const double *q, double tilt,
                                  uint64_t seed);
ep_status ep_population_summation_of(ep_population *out, ptrdiff_t m, double q, uint64_t seed);
/* x = (s r cos t, r sin t), t on a circle of `angles`, r one of `radius` (count of them), all equally likely. What is
 * quadratic in x and sees signs alone depends on r through its first two moments. */
ep_status ep_population_plane(ep_population *out, ptrdiff_t angles, const double *radius, int count,
                              double s);
void ep_population_free(ep_population *p);
void ep_population_pattern(double *u, const ep_population *p, ptrdiff_t m);
