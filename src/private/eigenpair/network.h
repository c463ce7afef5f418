#pragma once
#include "../../../include/eigenpair/network.h"
#include <eigenpair/activation.h>

const char *ep_parametrisation_name(int i); /* ntk, standard */

/* Layers are l = 0 .. L - 1, and L for the outputs. */
ptrdiff_t ep_net_width(const ep_net_shape *shape, int l); /* of layer l; L: Z; -1: D */
ptrdiff_t ep_net_widest(const ep_net_shape *shape);       /* max M_l */
const ep_activation *ep_net_phi(const ep_net_shape *shape, int l);
double ep_net_scale(const ep_net_shape *shape, int l);      /* s of layer l */
double ep_net_bias_scale(const ep_net_shape *shape, int l); /* t of layer l; 0: no biases there */
/* A network of WIDE: one width, one activation, ntk, variances 1, no biases. */
bool ep_net_is_plain(const ep_net_shape *shape);

/* V and W become views of these parameters, which stay the caller's. */
void ep_net_view(ep_net *net, void *theta);
/* W for so many outputs: zeros, unless it is for so many already. The rest stays. */
ep_status ep_net_set_outputs(ep_net *net, ptrdiff_t outputs);
ptrdiff_t ep_net_hidden_parameters(const ep_net_shape *shape); /* those before W */
ep_mat ep_net_hidden_theta(const ep_net *net);                 /* and these: V_1, b_1, V_2, .. */
ep_status ep_net_start(ep_net *out, const ep_net_config *config, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec); /* with the default variances */
/* As ep_net_draw, or a copy of `start` where it is not NULL. */
ep_status ep_net_begin(ep_net *out, const ep_net *start, const ep_net_config *config,
                       const ep_variance_config *variances, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec);
/* H (n x M) = h_L(X), the last hidden layer. */
ep_status ep_net_hidden(const ep_mat *H, const ep_net *net, const ep_mat *X);
/* A_i += t b for every row; t = 0: there are no biases. Serial: callers share out rows. */
void ep_net_add_bias(const ep_mat *A, double t, const ep_mat *b);
/* A variance of a shape, where 0 stands for 1. */
static inline double ep_net_variance(double variance) { return variance > 0 ? variance : 1; }
