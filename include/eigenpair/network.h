#pragma once
/* Fully connected networks in NTK parametrisation:
 *
 *   a_1 = s V_1 x,  h_l = phi(a_l),  a_{l+1} = M^{-1/2} V_{l+1} h_l,  f = M^{-1/2} W' h_L
 *
 * V_1 (M x D), V_2.. (M x M), W (M x Z); s = 1, or D^{-1/2} with input_scale. Theory: section 2. */
#include <eigenpair/activation.h>
#include <eigenpair/array.h>
#include <eigenpair/options.h>
#include <eigenpair/run.h>

EP_BEGIN

#define EP_NET_OPTIONS(X, S)                                                         \
  X(S, INT, width, "1000", 1, 1e7, NULL, "hidden units M of every layer")            \
  X(S, INT, depth, "1", 1, 32, NULL, "hidden layers L")                              \
  X(S, INT, outputs, "10", 1, 1e6, ep_auto_name,                                     \
    "dimensions Z of the representation; auto: method whitened finds how many hold") \
  X(S, NAME, activation, "relu", 0, 1, ep_activation_name,                           \
    "activation; leaky:SLOPE and monomial:POWER take a parameter")                   \
  X(S, FLAG, input_scale, NULL, 0, 0, NULL, "divide the first layer by sqrt(D)")     \
  X(S, TEXT, init, "", 0, 0, NULL, "start from the weights V (or V1..VL) and W of this .npz")

typedef struct {
  EP_NET_OPTIONS(EP_OPT_FIELD, )
} ep_net_config;
extern const ep_option ep_net_options[];

enum { EP_MAX_DEPTH = 32 };
typedef struct {
  ptrdiff_t inputs, width, outputs;
  int depth;
  double input_scale; /* s: 1, or D^{-1/2} */
  ep_activation phi;
} ep_net_shape;

/* Weights, or a gradient, which has the same shape. V and W are views of theta. */
typedef struct {
  ep_net_shape shape;
  ep_mat theta; /* (1, parameters), owned */
  ep_mat V[EP_MAX_DEPTH], W;
} ep_net;

ep_status ep_net_new(ep_net *out, const ep_net_shape *shape, ep_precision prec); /* zeros */
/* V and W become views of these parameters, which stay the caller's. */
void ep_net_view(ep_net *net, void *theta);
void ep_net_free(ep_net *net);
/* W for so many outputs: zeros, unless it is for so many already. The rest stays. */
ep_status ep_net_set_outputs(ep_net *net, ptrdiff_t outputs);
ptrdiff_t ep_net_parameters(const ep_net_shape *shape);
/* Entries N(0, 1) of the seed, or the weights in config->init, which also give the shape. */
ep_status ep_net_start(ep_net *out, const ep_net_config *config, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec);
/* The same, or a copy of `start` where it is not NULL. */
ep_status ep_net_begin(ep_net *out, const ep_net *start, const ep_net_config *config,
                       ptrdiff_t inputs, uint64_t seed, ep_precision prec);
/* V or V1.., W of an .npz, with `prefix` in front of the names; shape->phi and input_scale are the caller's,
 * the rest comes from the file. */
ep_status ep_net_read(ep_net *out, ep_npz *file, const char *path, const char *prefix,
                      const ep_net_shape *shape, ep_precision prec);
ep_status ep_net_write(ep_npz *file, const char *prefix, const ep_net *net);

/* H (n x M) = h_L(X), the last hidden layer. */
ep_status ep_net_hidden(const ep_mat *H, const ep_net *net, const ep_mat *X);

EP_END
