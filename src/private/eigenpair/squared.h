#pragma once
/* Kernel machines with squared loss, in closed form. Theory: section 8. For L = 1/2 |f(X) - Y|^2, K = K(X, X):
 *
 *   gradient flow   f(X; t) = Y + e^{-eta K t} (f_0 - Y)
 *   steps           f(X; t) = Y + (I - eta K)^t (f_0 - Y)
 *   new points      f(x; t) = f_0(x) + K(x, X) c(t),   c(t) = K^{-1} (I - e^{-eta K t}) (Y - f_0(X))
 *
 * and K^{-1}(..) at t = infinity is ridgeless regression. One eigendecomposition serves every t and every ridge. */
#include <eigenpair/kernel.h>

typedef struct ep_squared ep_squared; /* opaque; owned by the caller */

/* K (n x n, double, symmetric positive semidefinite) is copied. */
ep_status ep_squared_new(ep_squared **out, const ep_mat *K);
void ep_squared_free(ep_squared *s);                       /* NULL is fine */
const double *ep_squared_eigenvalues(const ep_squared *s); /* n, ascending */

/* The linearised model is stable below 2 / lambda_max; 2 / (lambda_min + lambda_max) is the fastest safe rate. */
double ep_squared_stable_rate(const ep_squared *s);
double ep_squared_critical_rate(const ep_squared *s);

/* F (n x Z) = f(X; t), all double. t may be INFINITY. Directions with eigenvalue 0 (below n eps lambda_max) stay
 * at their start. `steps`: t discrete steps instead of time t of the flow. */
ep_status ep_squared_train(const ep_mat *F, const ep_squared *s, const ep_mat *F0, const ep_mat *Y,
                           double rate, double t, int steps);
/* C (n x Z): coefficients c(t), so that new points are f_0(x) + K(x, X) C. */
ep_status ep_squared_coefficients(const ep_mat *C, const ep_squared *s, const ep_mat *F0,
                                  const ep_mat *Y, double rate, double t, int steps);
/* C (n x Z) = (K + ridge)^{-1} Y; without a ridge the pseudo-inverse. */
ep_status ep_squared_ridge(const ep_mat *C, const ep_squared *s, const ep_mat *Y, double ridge);

/* K (nZ x mZ): the tangent kernel of all outputs of a network, rows (x, i), columns (y, j), which is what the kernel
 * machine of a network with Z outputs takes. Y NULL: X itself; then K is exactly symmetric. */
ep_status ep_ntk_joint(const ep_mat *K, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                       double memory);
