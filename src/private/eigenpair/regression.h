#pragma once
/* Kernel regression and Gaussian processes. Theory: section 8. One ridge by Cholesky; many ridges and times by one
 * eigendecomposition: ep_squared (squared.h). All matrices double; K (n x n) of the training points, Kx (m x n) of new
 * points and training points. */
#include <eigenpair/matrix.h>
#include <eigenpair/squared.h>

/* C (n x Z) = (K + ridge)^{-1} Y: new points are Kx C. Fails where K + ridge is singular (ep_squared_ridge does not). */
ep_status ep_regression_ridge(const ep_mat *C, const ep_mat *K, const ep_mat *Y, double ridge);

/* Posterior of a Gaussian process with kernel K, after observing Y with noise of this variance:
 *   mean (m x Z) = Kx (K + noise)^{-1} Y,   variance[i] = diagonal[i] - Kx_i (K + noise)^{-1} Kx_i'
 * diagonal[i] = K(x_i, x_i) of the new points (ep_analytic_diagonal). */
ep_status ep_gp_posterior(const ep_mat *mean, double *variance, const ep_mat *K, const ep_mat *Kx,
                          const double *diagonal, const ep_mat *Y, double noise);

/* Outputs of infinitely wide networks after time t of gradient flow on squared loss are Gaussian (Lee 2019). With
 * Theta the tangent kernel (`ntk` of the training points, Tx (m x n)), K, Kx, diagonal the NNGP at the start, and
 * B = Tx Theta^{-1} (I - e^{-eta Theta t}):
 *   mean = B Y,   variance[i] = diagonal[i] - 2 B_i Kx_i' + B_i K B_i' */
ep_status ep_gp_trained(const ep_mat *mean, double *variance, const ep_squared *ntk,
                        const ep_mat *Tx, const ep_mat *K, const ep_mat *Kx, const double *diagonal,
                        const ep_mat *Y, double rate, double t);
