#pragma once
/* A data matrix X (n x d) packed once for many products with changing partners:
 *
 *   A = alpha X V'     (forward: points through a layer)
 *   G = alpha B' X + beta G     (backward: gradient of that layer)
 *
 * Images are mostly zeros, and zeros in X cost nothing here: rows of X with like supports are packed
 * in panels of six, and a panel lists only the columns in which one of its rows is not zero. A matrix
 * without enough zeros goes through BLAS instead. Results do not depend on the thread count. */
#include <eigenpair/matrix.h>

typedef struct ep_packed ep_packed; /* opaque; owned by the caller; borrows X */

/* `columns` says how many columns V' will have in all products together (width times epochs): packing
 * has to pay for itself. */
ep_status ep_packed_new(ep_packed **out, const ep_mat *X, double columns);
void ep_packed_free(ep_packed *p);                  /* NULL is fine */
const ep_mat *ep_packed_matrix(const ep_packed *p); /* X itself */
double ep_packed_density(const ep_packed *p); /* share of the dense products' work done; 1: BLAS */

void ep_packed_mul_nt(const ep_mat *A, double alpha, const ep_packed *X, const ep_mat *V);
void ep_packed_mul_tn(const ep_mat *G, double alpha, const ep_mat *B, const ep_packed *X,
                      double beta);
