#pragma once
/* Tangent kernels of finite networks. Theory: section 4.
 *
 *   K_ij(x, y) = sum over hidden layers l of (s_l^2 h_{l-1}(x)'h_{l-1}(y) + t_l^2) (B_l,i(x)'B_l,j(y))
 *                + 1{i=j} (s^2 h_L(x)'h_L(y) + t^2),        B_l,i(x) = df_i/da_l(x), s and t as in network.h
 *
 * One Gram matrix of the activations and one of the B a layer; no Jacobian is ever formed. */
#include <eigenpair/network.h>
#include <eigenpair/options.h>

EP_BEGIN

typedef enum { EP_FULL, EP_DIAGONAL, EP_TRACE } ep_layout;
const char *ep_layout_name(int i);

/* K (n x n2 entries), row x: for every y the Z x Z numbers K_ij(x, y) (full), the Z numbers K_ii (diagonal), or
 * their mean (trace). Y NULL: X itself; then K is exactly symmetric. Precision of net, X, Y and K is one. */
ep_status ep_ntk_empirical(ep_run *run, const ep_mat *K, const ep_net *net, const ep_mat *X,
                           const ep_mat *Y, ep_layout layout, double memory);

/* out (n2 x Z) = sum_x K(y, x) g(x), g (n x Z), as J(Y) J(X)' g: forms nothing. Y NULL: X. */
ep_status ep_ntk_apply(ep_run *run, const ep_mat *out, const ep_net *net, const ep_mat *X,
                       const ep_mat *Y, const ep_mat *g, double memory);

/* How far two kernels of the same shape are apart. */
typedef struct {
  double max, frobenius, relative_frobenius; /* |A-B|_max, |A-B|_F, |A-B|_F / |A|_F */
} ep_drift;
ep_drift ep_kernel_drift(const ep_mat *A, const ep_mat *B);

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

typedef struct {
  ep_activation phi;
  int depth;          /* hidden layers L >= 1 */
  double input_scale; /* s */
  ep_variance_config config;
  ep_activation phis[EP_MAX_DEPTH]; /* of each layer; kind NULL: phi */
} ep_analytic;

typedef enum { EP_NNGP, EP_NTK } ep_analytic_kind;
/* The limit of networks of this shape, or of these settings (variances NULL: the defaults), as their widths grow. */
ep_status ep_analytic_of(ep_analytic *out, const ep_net_shape *shape, ep_analytic_kind kind);
ep_status ep_analytic_from(ep_analytic *out, const ep_net_config *config,
                           const ep_variance_config *variances, ptrdiff_t inputs,
                           ep_analytic_kind kind);
/* K (n x n2) of points X (n x D) and Y (n2 x D); Y NULL: X itself, then K is exactly symmetric. K, X and Y may be of
 * either precision; everything is computed in double but where all three are in single: then products of points, and up to
 * four layers of relu, leaky or erf without biases, are in single (an error of at most 9e-7 sqrt(K_ii K_jj) was seen, of 2e-6
 * with relu on raw images, which are nearly parallel). Needs a few blocks of rows a thread beside K, X and Y. tanh and sigmoid
 * go by tables of S and S' where the points' norms lie close enough together: 2e-14 beside S and S' of equal points, in single
 * 1e-9. */
ep_status ep_analytic_kernel(ep_run *run, const ep_mat *K, const ep_analytic *a,
                             ep_analytic_kind kind, const ep_mat *X, const ep_mat *Y);
/* diagonal[i] = K(x_i, x_i) */
ep_status ep_analytic_diagonal(ep_run *run, double *diagonal, const ep_analytic *a,
                               ep_analytic_kind kind, const ep_mat *X);

EP_END
