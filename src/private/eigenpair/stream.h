#pragma once
/* Points through a network, in blocks: stream.c. */
#include <eigenpair/network.h>
#include <eigenpair/packed.h>

/* The points of a data matrix, streamed through a network in blocks that fit the memory given. */
typedef struct ep_stream ep_stream; /* opaque; borrows X */

typedef enum {
  EP_PASS_FORWARD,  /* ep_stream_forward only: two layers of activations at a time */
  EP_PASS_BACKWARD, /* and ep_stream_backward */
  EP_PASS_TANGENT   /* and ep_stream_tangent */
} ep_pass;

/* `passes`: how often the points will go through (packing has to pay); `memory`: bytes for activations
 * and packed data together. Fails if not even one point fits. */
ep_status ep_stream_new(ep_stream **out, const ep_mat *X, const ep_net_shape *shape, double passes,
                        ep_pass pass, double memory);
void ep_stream_free(ep_stream *s);
ptrdiff_t ep_stream_block(const ep_stream *s); /* points a block */
double ep_stream_density(const ep_stream *s); /* share of the first layer's work that zeros leave */

/* From now on outputs are u = W'h_L / (|h_L| + sqrt(M) delta) in the place of f, forward and backward (not tangent):
 * the representation of WIDE section 4. */
ep_status ep_stream_normalise(ep_stream *s, double delta);

/* F (n x Z) = f(X). */
void ep_stream_forward(const ep_mat *F, ep_stream *s, const ep_net *net);
/* grad = sum_n (df(x_n)/dtheta)' dF_n, after a forward pass with the same weights. */
void ep_stream_backward(ep_net *grad, ep_stream *s, const ep_net *net, const ep_mat *dF);
/* dF (n x Z) = J(X) direction: the derivative of f along a direction of the weights. */
void ep_stream_tangent(const ep_mat *dF, ep_stream *s, const ep_net *net, const ep_net *direction);
