#pragma once
/* Inside of a domain, for domains.c and measure.c. */
#include <eigenpair/domain.h>

struct ep_domain {
  ep_domain_kind kind;
  ptrdiff_t size; /* M of the circle and of a sample, d of cube and sphere */
  ep_domain_kernel kernel;
  ep_spectrum spectrum;
  double *value, *count; /* (levels), owned: what the spectrum shows */
  double precision;      /* a sample: rounding of the entries of K */
  ep_mat K, U;           /* a sample: K and its eigenvectors, the rows of U, falling; owned */
};

/* What rounding makes of an eigenvalue 0 of K (n x n): errors of the entries are a random matrix of norm 2 sqrt(n) times
 * their size, the eigensolver adds some units of the last place of the largest eigenvalue. */
double ep_domain_noise(ptrdiff_t n, double precision, double largest_entry, double largest_value);

/* out[k] = sum over pairs (x, y) of A_xy P_k(x, y), P_k the zonal function of level k with P_k(x, x) = 1. Points of
 * circle and cube by index, of the sphere by X. On the sphere the first EP_ZONAL_DEGREES levels; NAN past them. */
enum { EP_ZONAL_DEGREES = 33 };
ep_status ep_domain_zonal_sums(double *out, const ep_domain *d, const ep_mat *A,
                               const ptrdiff_t *index, const ep_mat *X);
