#pragma once
/* Pictures of a search for optima. */
#include <eigenpair/figure.h>
#include <eigenpair/optima.h>

/* Gap against roughness, one dot an optimum, and the line on which they are equal. */
ep_status ep_optima_gaps(json_t **out, const ep_optima *optima);

/* |w(t+1) - w(t)| of one start for each end, at most 12 of them (OPTIMA Fig. 1 right). *out is the caller's. */
ep_status ep_optima_curves(json_t **out, const ep_optima *optima, const ep_layer *layer,
                           const ep_optima_config *config, uint64_t seed);
/* Which optimum the starts of a two-dimensional slice of the sphere reach: w = a e1 + b e2 + sqrt(1-a^2-b^2) e3, e1, e2, e3
 * the first optima made orthonormal (filled up with fixed random directions), a and b on a grid; and where the optima lie. */
ep_status ep_optima_map(json_t **out, const ep_optima *optima, const ep_layer *layer,
                        const ep_optima_config *config, uint64_t seed);
