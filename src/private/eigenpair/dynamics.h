#pragma once
#include <eigenpair/theory.h>
#include <eigenpair/descent.h>
#include <eigenpair/linear.h>

const char *ep_dynamics_way(int i); /* flow, steps, exact */

/* U and lambda, as the equation takes them; both stay those of d. */
static inline ep_linear ep_dynamics_basis(const ep_dynamics *d) {
  return (ep_linear){d->U, d->lambda};
}
