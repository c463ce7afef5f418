#pragma once
#include <eigenpair/theory.h>

double ep_spectrum_trace(const ep_spectrum *s); /* mean of K(x, x) */

/* D (levels x levels) = dL_j/dlambda_i in row i, column j: one eigenvalue of level i is moved, j is the level of another
 * mode, and on the diagonal of the same mode. Needs kappa > 0. */
ep_status ep_learn_sensitivity(const ep_mat *D, const ep_spectrum *s, double n, double ridge);
