#pragma once
/* The generative models of OPTIMA B.1 as exact populations: few points with probabilities. */
#include <eigenpair/optima.h>

enum { EP_PATTERNS = 8 }; /* most patterns */

typedef struct {
  ep_mat U;       /* (m, m) columns u_m, owned */
  ep_layer layer; /* relu; its points and weights are owned */
} ep_population;

/* x = u_m, m uniform. The points lie on the hyperplanes of the other patterns; they are moved off by rounding's size to
 * the inactive side, so that h'(0) = 0 holds for u_m. */
ep_status ep_population_categorical(ep_population *out, ptrdiff_t m, uint64_t seed);
/* x = U y, y_m standardised Bernoulli(q), all 2^m of them; |U'U - I|_2 = tilt with unit columns. */
ep_status ep_population_summation(ep_population *out, ptrdiff_t m, double q, double tilt,
                                  uint64_t seed);
void ep_population_free(ep_population *p);
void ep_population_pattern(double *u, const ep_population *p, ptrdiff_t m);
