#pragma once
/* Kernels of infinitely wide networks: NNGP and NTK for any depth. Theory: sections 4 and 10.
 *
 * With (u, v) ~ N(0, [[A, C], [C, B]]):  S = E phi(u) phi(v),  S' = E phi'(u) phi'(v).
 *
 *   P_1 = w s^2 x'y + b,               Theta_1 = P_1
 *   P_{l+1} = w S(P_l) + b,            Theta_{l+1} = w (S(P_l) + Theta_l S'(P_l)) + b      l = 1 .. L-1
 *   NNGP = o S(P_L) + o',              NTK = o (S(P_L) + Theta_L S'(P_L)) + o'
 *
 * w, b: variance of weights and biases of hidden layers, o, o': of the last layer's, s: 1 or D^{-1/2}. S of layer l is
 * that of its activation. The NTK is that of --parametrisation ntk; in the standard one it grows with the width. */
#include <eigenpair/network.h>
#include <eigenpair/options.h>

EP_BEGIN

typedef struct {
  ep_activation phi;
  int depth;          /* hidden layers L >= 1 */
  double input_scale; /* s */
  ep_analytic_config config;
  ep_activation phis[EP_MAX_DEPTH]; /* of each layer; kind NULL: phi */
} ep_analytic;

/* Two variables with variances A, B and covariance C. `gap` is 1 - C / sqrt(AB) where A, B > 0, kept apart because
 * it cannot be had from A, B, C when the two variables are almost the same; 0 for equal ones. */
typedef struct {
  double A, B, C, gap;
} ep_moments;

/* *value = S, *slope = S' (NULL: not wanted); the same as how accurately: see ep_dual_error. A or B may be 0. */
void ep_dual(double *value, double *slope, const ep_activation *phi, const ep_moments *m);
/* Stated bound on the error of ep_dual for this activation, relative to sqrt(S(A, A, A) S(B, B, B)), for S' likewise:
 * about 1e-15 for closed forms. */
double ep_dual_error(const ep_activation *phi);
/* The same for a layer of ep_analytic_kernel, which may go by tables. */
double ep_analytic_error(const ep_activation *phi);
/* "closed form" or "quadrature" */
const char *ep_dual_way(const ep_activation *phi);

typedef enum { EP_NNGP, EP_NTK } ep_analytic_kind;
/* The limit of networks of this shape, or of these settings (variances NULL: the defaults), as their widths grow. */
ep_status ep_analytic_of(ep_analytic *out, const ep_net_shape *shape, ep_analytic_kind kind);
ep_status ep_analytic_from(ep_analytic *out, const ep_net_config *config,
                           const ep_analytic_config *variances, ptrdiff_t inputs,
                           ep_analytic_kind kind);
/* K (n x n2) of points X (n x D) and Y (n2 x D); Y NULL: X itself, then K is exactly symmetric. K, X and Y may be of
 * either precision; everything is computed in double. Needs a few blocks of rows beside K, X and Y. tanh and sigmoid go by
 * tables of S and S' where the points' norms lie close enough together: 2e-14 beside S and S' of equal points. */
ep_status ep_analytic_kernel(const ep_mat *K, const ep_analytic *a, ep_analytic_kind kind,
                             const ep_mat *X, const ep_mat *Y);
/* diagonal[i] = K(x_i, x_i) */
ep_status ep_analytic_diagonal(double *diagonal, const ep_analytic *a, ep_analytic_kind kind,
                               const ep_mat *X);

EP_END
