#pragma once
/* Linear self-supervised models u(x) = B'x (LINEAR). Theory: section 7.
 *
 *   L = Tr(B'CB),  C = -1/N sym sum_{n,q} a_q x_n x_nq'  (d x d),  C = U diag(lambda) U', lambda ascending
 *
 * Coordinates are those of the eigenbasis: q = U'B (d x z), L = Tr(q' Lam q). An orthogonal linear network of any
 * width and depth, B = W_1'..W_{l-1}'W_l with W_i'W_i = I, descends on the Grassmannian by Theorem 2's equation
 *
 *   dq/dt = -2 [ 2 Lam q - Lam q q'q - q q' Lam q ]
 *
 * whose steps cost O(d z^2). It is meant for |q|_2 <= 1, which orthonormal weights have. Everything is double. */
#include <eigenpair/pairs.h>
#include <eigenpair/random.h>

/* C += -weight sym sum_{n,q} a_q x_n x_nq' over these pairs; X is streamed through in blocks and may be of either
 * precision. A data set of any size is a sum of calls, one a batch of anchors (all_others is of one batch). */
ep_status ep_linear_add(const ep_mat *C, const ep_mat *X, const ep_pairs *pairs, double weight);

typedef struct {
  ep_mat U;       /* (d, d) columns are eigenvectors, entry of largest magnitude positive; owned */
  double *lambda; /* (d) ascending; owned */
} ep_linear;
/* C has to be symmetric up to rounding; it is left alone. */
ep_status ep_linear_new(ep_linear *out, const ep_mat *C);
void ep_linear_free(ep_linear *l);
ptrdiff_t ep_linear_negatives(const ep_linear *l); /* eigenvalues below -d eps max |lambda| */

/* q = U'W_1'W_2 of a random orthogonal network of this width (at least d and z): the first d rows of a uniform
 * orthonormal width x z matrix. */
ep_status ep_linear_start(const ep_mat *q, ptrdiff_t width, uint64_t seed);
/* B (d x z) = U q; and E (n x z) = X U q, the embedding of new points, in the precision of X. */
void ep_linear_weights(const ep_mat *B, const ep_linear *l, const ep_mat *q);
ep_status ep_linear_embed(const ep_mat *E, const ep_linear *l, const ep_mat *q, const ep_mat *X);

/* ---- the equation: q (d x z) is moved on in place; lambda (d) as above */

typedef struct {
  long evaluations; /* of the right-hand side, or steps */
} ep_linear_info;
/* To time t with this relative error a step, by SUNDIALS. Rounding cannot lead out of |q|_2 <= 1: excess is pulled back
 * by a term that is 0 inside. */
ep_status ep_linear_flow(const ep_mat *q, ep_linear_info *info, const double *lambda, double t,
                         double tolerance);
/* Equation 11 of the paper, q <- q - rate [ .. ], `count` times: half the speed, a step is the time rate / 2. Steps may
 * overshoot |q|_2 = 1 a little; to diverge is an error. */
ep_status ep_linear_steps(const ep_mat *q, const double *lambda, double rate, long count);
/* z = 1, exactly: the direction is exp(-Lam s) q(0) with ds = 2 (2 - |q|^2) dt. */
ep_status ep_linear_exact(const ep_mat *q, const double *lambda, double t);
/* Without a constraint: q(t) = exp(-2 Lam t) q(0) = e^{*log_scale} times what q becomes (of largest entry about 1). */
void ep_linear_unconstrained(const ep_mat *q, double *log_scale, const double *lambda, double t);

/* ---- how far it is */

double ep_linear_loss(const ep_mat *q, const double *lambda);             /* Tr(q' Lam q) */
double ep_linear_optimum(const double *lambda, ptrdiff_t d, ptrdiff_t z); /* its least value */
/* sigma (min(d, z)): singular values of q, falling. projection (count, or NULL): length of the projection of the
 * first eigenvectors e_1 .. e_count on the span of q (singular values above 1e-8). */
ep_status ep_linear_spectrum(double *sigma, double *projection, ptrdiff_t count, const ep_mat *q);
