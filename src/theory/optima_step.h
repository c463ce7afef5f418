#pragma once
/* One step of a node towards its end; the formulas are at the head of optima_search.c. */
#include <eigenpair/optima.h>

typedef struct {
  double top, brake; /* largest |y| so far, b */
  double least;      /* what b shrinks to, and 1 at least; grows with every turn, but from 0 */
  int rests;         /* 1: it has come to rest once; 2: b does not shrink any more */
  int places;        /* how many places it has rested at */
} ep_momentum;

/* y = A(w)w -> the next w minus w, in place; the new w into w; last: the step before, in and out. m->top is at least |y|.
 * Returns |step|. */
double ep_optima_advance(double *w, double *y, double *last, ep_momentum *m, ptrdiff_t d,
                         const ep_optima_config *config);
/* |A(w)w| below which it is nothing but rounding: no point is active. */
double ep_optima_dead_level(const ep_layer *layer);
/* H (K x N) = h(W X'). */
void ep_layer_outputs(const ep_mat *H, const ep_layer *layer, const ep_mat *X, const ep_mat *W);
/* D = h'(V X'), G = D o (W X'). */
void ep_layer_gate(const ep_mat *D, const ep_mat *G, const ep_layer *layer, const ep_mat *X,
                   const ep_mat *V, const ep_mat *W);
