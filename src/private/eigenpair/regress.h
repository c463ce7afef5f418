#pragma once
/* Regression on squared loss, of points in memory: by a kernel with a ridge, which is the posterior of a Gaussian process;
 * by gradient flow until time t; by descent of a network. Theory: section 8. Everything in double.
 *
 *   ridge     f(x) = K(x,X) (K + ridge)^{-1} Y,     variance K(x,x) - K(x,X) (K + ridge)^{-1} K(X,x)
 *   flow      f(x) = f_0(x) + K(x,X) K^{-1} (I - e^{-Kt}) (Y - f_0(X))      on 1/2 |f(X) - Y|^2 at rate 1
 *   descent   the network itself, after so many steps
 *
 * The tangent kernel of a network with Z outputs is one matrix of order nZ: flow is then exactly its linearisation. */
#include <eigenpair/analytic.h>
#include <eigenpair/kernel.h>

typedef enum { EP_REGRESS_RIDGE, EP_REGRESS_FLOW, EP_REGRESS_DESCENT } ep_regress_method;
const char *ep_regress_method_name(int i);

/* Training points X (n x D) and new ones T (m x D), and the kernel: of an infinitely wide network, of a network, or as
 * matrices K (n x n), Kx (m x n), diagonal (m, or NULL: no variance), without points. */
typedef struct {
  const ep_mat *X, *T;
  const ep_analytic *analytic;
  ep_analytic_kind kind;
  const ep_net *net;
  const ep_mat *K, *Kx;
  const double *diagonal;
} ep_regress_kernel;

typedef struct {
  ep_regress_method method;
  double ridge; /* added to the diagonal of K */
  double time;  /* of the flow; INFINITY: to the end */
  bool centred; /* flow and descent of a network: f - f_0 is the model, not f */
  double rate;  /* of the descent; 0: 1/lambda_max of the tangent kernel at the start */
  long epochs;
  double memory; /* bytes */
} ep_regress_config;

typedef struct {
  double train_mse; /* mean over the points of |f(x) - y|^2 */
  double
      leave_one_out; /* the same, each point by all the others (ridge); NAN: K + ridge is singular */
  double
      norm; /* ridge: sqrt(sum_z y'(K + ridge)^{-1} y), at ridge 0 the norm in the kernel's space */
  double largest; /* eigenvalue of the kernel (flow, descent); NAN: not asked for */
  double rate,
      loss[2]; /* descent: rate used, loss at the start and at the end (INFINITY: diverged) */
  ptrdiff_t order, rank; /* of the kernel matrix */
} ep_regress_result;

/* mean (m x Z) at the new points, variance (m Z, or NULL). Y (n x Z). Flow at infinite width
 * has the variance of trained networks; flow and descent of one network have none. Descent starts from kernel->net. */
ep_status ep_regress(ep_regress_result *out, const ep_mat *mean, double *variance,
                     const ep_regress_kernel *kernel, const ep_mat *Y,
                     const ep_regress_config *config);
/* Bytes that ep_regress takes beside its arguments, at least. */
double ep_regress_bytes(const ep_regress_kernel *kernel, const ep_mat *Y,
                        const ep_regress_config *config);
