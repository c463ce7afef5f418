#pragma once
/* Tangent kernels of finite networks. Theory: section 4.
 *
 *   K_ij(x, y) = sum over hidden layers l of (s_l^2 h_{l-1}(x)'h_{l-1}(y) + t_l^2) (B_l,i(x)'B_l,j(y))
 *                + 1{i=j} (s^2 h_L(x)'h_L(y) + t^2),        B_l,i(x) = df_i/da_l(x), s and t as in network.h
 *
 * One Gram matrix of the activations and one of the B a layer; no Jacobian is ever formed. */
#include <eigenpair/network.h>

EP_BEGIN

typedef enum { EP_FULL, EP_DIAGONAL, EP_TRACE } ep_layout;
const char *ep_layout_name(int i);
ptrdiff_t ep_layout_entries(ep_layout layout,
                            ptrdiff_t outputs); /* numbers a pair of points: Z^2, Z or 1 */

/* How the work is cut up, and what it costs; from ep_ntk_plan. */
typedef struct {
  ptrdiff_t block;     /* points a block */
  ptrdiff_t blocks[2]; /* of X and of Y */
  bool symmetric;      /* one set of points: blocks on and above the diagonal only */
  double flops;        /* in all */
  double features;     /* of these, spent on making features again, block by block */
  double bytes;        /* of scratch */
} ep_ntk_cost;

/* Chooses the largest blocks that fit `memory` bytes (besides the result). Y NULL: one set of points. */
ep_status ep_ntk_plan(ep_ntk_cost *cost, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                      ep_layout layout, double memory);

/* K (n x n2 entries), row x: for every y the Z x Z numbers K_ij(x, y) (full), the Z numbers K_ii (diagonal), or
 * their mean (trace). Y NULL: X itself; then K is exactly symmetric. Precision of net, X, Y and K is one. */
ep_status ep_ntk_empirical(const ep_mat *K, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                           ep_layout layout, double memory);

/* direction = J(X)'g, and out = J(Y) direction: the two halves of a kernel-vector product. */
ep_status ep_ntk_pull(ep_net *direction, const ep_net *net, const ep_mat *X, const ep_mat *g,
                      double memory);
ep_status ep_ntk_push(const ep_mat *out, const ep_net *net, const ep_mat *Y,
                      const ep_net *direction, double memory);

/* out (n2 x Z) = sum_x K(y, x) g(x), g (n x Z), as J(Y) J(X)' g: forms nothing. Y NULL: X. */
ep_status ep_ntk_apply(const ep_mat *out, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                       const ep_mat *g, double memory);

/* How far two kernels of the same shape are apart. */
typedef struct {
  double max, frobenius, relative_frobenius; /* |A-B|_max, |A-B|_F, |A-B|_F / |A|_F */
} ep_drift;
ep_drift ep_kernel_drift(const ep_mat *A, const ep_mat *B);

EP_END
