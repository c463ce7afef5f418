#pragma once
/* What the equation of linear.h is compared with: gradient descent on networks
 *
 *   u(x) = W_l' phi(W_{l-1} .. phi(W_1 x)),   W_1 (h x d), W_2 .. (h x h), W_l (h x z);  l = 1: u(x) = W_1'x
 *
 * with the loss L = 1/N sum_n u(x_n)'(sum of negatives - sum of positives), under a constraint. Theory: section 7. */
#include <eigenpair/theory.h>
#include <eigenpair/activation.h>
#include <eigenpair/random.h>
#include <eigenpair/retraction.h>

const char *ep_constraint_name(int i); /* NULL past the last */
const char *ep_constraint_help(int i);

typedef struct ep_descent ep_descent; /* opaque; owned by the caller */

/* A network with uniform orthonormal weights. L is Tr(B'CB) for a given C (linear activation, any depth: the products
 * with C cost d^2 z), or comes from points and pairs (in double, any activation, two layers or more). One of the two
 * is NULL; both have to stay in place. */
ep_status ep_descent_new(ep_descent **out, const ep_descent_config *config, const ep_mat *C,
                         const ep_points *points, uint64_t seed);
void ep_descent_free(ep_descent *d); /* NULL is fine */

/* `count` steps. Ends early where weights or gradient leave every bound: an outcome, see ep_descent_diverged. */
ep_status ep_descent_step(ep_descent *d, long count);
bool ep_descent_diverged(const ep_descent *d);
/* What is minimised (for `scaled`: L divided by the product of |W_i|_2^2). */
ep_status ep_descent_loss(double *loss, ep_descent *d);
/* The derivative of that with respect to W_i, before the constraint acts: (rows, cols) of W_i; for tests. */
ep_status ep_descent_gradient(const ep_mat *G, ep_descent *d, int layer);

int ep_descent_layers(const ep_descent *d);
const ep_mat *ep_descent_weights(const ep_descent *d, int layer); /* W_{layer+1}; may be written */
/* B (d x z) = W_1' .. W_{l-1}' W_l: what the network is where phi is linear. */
void ep_descent_product(const ep_mat *B, const ep_descent *d);
/* E (n x z) = u(X), X in double. */
ep_status ep_descent_embed(const ep_mat *E, const ep_descent *d, const ep_mat *X);
