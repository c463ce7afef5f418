#pragma once
/* Fewer points than dimensions: X = R'Q' with Q (D x P) orthonormal. Training sees X only through X V'
 * and changes V only within the span of Q, so it is exactly the training of VQ on the points R'; at the
 * end V = V(0) + (VQ - V(0)Q) Q'. A Gaussian V makes a Gaussian VQ. */
#include <eigenpair/network.h>

typedef struct {
  ep_mat Q; /* (D, P), precision of the data */
  ep_mat X; /* (P, P) the points in the new coordinates: lower triangular */
} ep_rotation;

/* Does it pay? Zeros among the pixels are skipped anyway, so P has to be well below D. */
bool ep_rotation_pays(ptrdiff_t points, ptrdiff_t dimension);
ep_status ep_rotation_new(ep_rotation *out, const ep_mat *X);
void ep_rotation_free(ep_rotation *r);
/* small = net with V_1 Q in the place of V_1; made by ep_net_new. */
ep_status ep_rotation_apply(ep_net *small, const ep_rotation *r, const ep_net *net);
/* net <- the network that `small` has become; net still holds the weights of the start. */
ep_status ep_rotation_undo(ep_net *net, const ep_rotation *r, const ep_net *small);
