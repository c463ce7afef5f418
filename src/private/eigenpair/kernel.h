#pragma once
#include "../../../include/eigenpair/kernel.h"

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

/* direction = J(X)'g, and out = J(Y) direction: the two halves of a kernel-vector product. */
ep_status ep_ntk_pull(ep_net *direction, const ep_net *net, const ep_mat *X, const ep_mat *g,
                      double memory);
ep_status ep_ntk_push(const ep_mat *out, const ep_net *net, const ep_mat *Y,
                      const ep_net *direction, double memory);
