#pragma once
/* Data sets made by formula. Every one is a function of its parameters and the seed alone. */
#include <eigenpair/matrix.h>
#include <stdint.h>

/* name              parameters behind the colon       what
 * moons             n                                 two half moons in R^3, labels 0 and 1
 * circle            M                                 M points evenly on the unit circle, in R^2
 * cube              d                                 all 2^d vertices of {-1,1}^d (d <= 20), point i has the bits of i
 * sphere            d[,n]                             n points uniform on the unit sphere of R^d
 * categorical       m[,n[,noise]]                     x = u_k, k uniform in 1..m, u orthonormal in R^m   (OPTIMA B.1)
 * summation         m[,n[,q[,tilt]]]                  x = sum_k y_k u_k, y_k standardised Bernoulli(q)   (OPTIMA B.1);
 *                                                     tilt: |U'U - I|_2, 0: orthonormal              (OPTIMA Fig. 1)
 * clusters          k[,n[,d]]                         k Gaussian clusters in R^d, labels the cluster      */
const char *ep_synthetic_name(int i); /* NULL past the last */
const char *ep_synthetic_help(int i); /* "moons[:n]  two half moons in R^3", for `data list` */

/* X (made by ep_mat_new) and labels (ep_alloc'ed, or NULL where the set has none) are the caller's.
 * parameters may be NULL. samples > 0 replaces n where the set has one. */
ep_status ep_synthetic_make(ep_mat *X, int **labels, const char *name, const char *parameters,
                            ptrdiff_t samples, uint64_t seed, ep_precision prec);
