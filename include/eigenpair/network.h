#pragma once
/* Fully connected networks of L hidden layers with widths M_1 .. M_L:
 *
 *   a_1 = s_1 V_1 x + t_1 b_1,  h_l = phi_l(a_l),  a_{l+1} = s_{l+1} V_{l+1} h_l + t_{l+1} b_{l+1},  f = s W'h_L + t c
 *
 * V_1 (M_1 x D), V_l (M_l x M_{l-1}), W (M_L x Z), biases b_l and c only where there are some. With variances w, o of
 * hidden and last weights, b and o' of hidden and last biases, s_0 = 1 or D^{-1/2} (input_scale):
 *
 *   ntk        s_1 = s_0 sqrt(w), s_l = sqrt(w / M_{l-1}), s = sqrt(o / M_L), t_l = sqrt(b), t = sqrt(o'); entries N(0, 1)
 *   standard   s = t = 1; entries of V_1 are N(0, w s_0^2), of V_l N(0, w / M_{l-1}), of W N(0, o / M_L), of b_l N(0, b), of c N(0, o')
 *
 * The defaults, one width, one activation, ntk, w = o = 1 and no biases, are the networks of WIDE: f = M^{-1/2} W'phi(V x).
 * Theory: section 2. */
#include <eigenpair/array.h>
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>
#include <eigenpair/run.h>
#include <stdbool.h>

EP_BEGIN

/* An activation phi. */
typedef struct ep_activation_kind ep_activation_kind; /* a row of the table */

typedef struct {
  const ep_activation_kind *kind;
  double parameter; /* slope of leaky, power of monomial; unused by the others */
} ep_activation;

/* "relu", "leaky:0.1", "monomial:3" */
ep_status ep_activation_parse(ep_activation *out, const char *text);

typedef enum { EP_PARAMETRISATION_NTK, EP_PARAMETRISATION_STANDARD } ep_parametrisation;

#define EP_NET_OPTIONS(X, S)                                                                      \
  X(S, INT, width, "1000", 1, 1e7, NULL, "hidden units M of every layer",                         \
    EP_FOR(NETWORK, SUMS, SAME))                                                                  \
  X(S, INT, depth, "1", 1, 32, NULL, "hidden layers L", EP_FOR(NETWORK, SUMS, SAME))              \
  X(S, INT, outputs, "10", 1, 1e6, ep_auto_name,                                                  \
    "dimensions Z of the representation; auto: method whitened finds how many hold",              \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                   \
  X(S, NAME, activation, "relu", 0, 1, ep_activation_name,                                        \
    "activation; leaky:SLOPE and monomial:POWER take a parameter; csoftplus: 2 log((1 + e^a)/2)", \
    EP_FOR(NETWORK, SUMS, SAME))                                                                  \
  X(S, FLAG, input_scale, NULL, 0, 0, NULL, "divide the first layer by sqrt(D)",                  \
    EP_FOR(NETWORK, SUMS, SAME))                                                                  \
  X(S, TEXT, layers, "", 0, 0, NULL,                                                              \
    "hidden layers one by one, WIDTH[:ACTIVATION],.. such as 512,256:tanh, in the place of "      \
    "--width and --depth",                                                                        \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, CHOICE, parametrisation, "ntk", 0, 0, ep_parametrisation_name,                             \
    "where 1/sqrt(M) is: in the network (ntk), or in the variance of the weights (standard, as "  \
    "PyTorch has it)",                                                                            \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, FLAG, biases, NULL, 0, 0, NULL,                                                            \
    "standard: biases in every layer, also where they start at 0; ntk has those whose variance "  \
    "is not 0",                                                                                   \
    EP_FOR(ANY, SUMS, SAME))                                                                      \
  X(S, TEXT, init, "", 0, 0, NULL,                                                                \
    "start from the weights of this .npz: V (or V1..VL) and W, biases b (b1..bL) and c; or "      \
    "0.weight, 0.bias, .. of PyTorch",                                                            \
    EP_FOR(NETWORK, NO_SUMS, FREE))

/* Of the weights and biases of finite networks, and of their limits. */
#define EP_VARIANCE_OPTIONS(X, S)                                                          \
  X(S, REAL, weight_variance, "1", 0, 1e6, NULL, "variance of hidden weights",             \
    EP_FOR(ANY, SUMS, SAME))                                                               \
  X(S, REAL, bias_variance, "0", 0, 1e6, NULL, "variance of hidden biases",                \
    EP_FOR(ANY, SUMS, SAME))                                                               \
  X(S, REAL, last_variance, "1", 0, 1e6, NULL, "variance of the last layer's weights",     \
    EP_FOR(ANY, SUMS, SAME))                                                               \
  X(S, REAL, last_bias_variance, "0", 0, 1e6, NULL, "variance of the last layer's biases", \
    EP_FOR(ANY, SUMS, SAME))

typedef struct {
  EP_NET_OPTIONS(EP_OPT_FIELD, )
} ep_net_config;
extern const ep_option ep_net_options[];

typedef struct {
  EP_VARIANCE_OPTIONS(EP_OPT_FIELD, )
} ep_variance_config;
extern const ep_option ep_variance_options[];

enum { EP_MAX_DEPTH = 32 };
typedef struct {
  ptrdiff_t inputs, width, outputs; /* D, M_L, Z */
  int depth;                        /* L */
  double input_scale;               /* s_0: 1, or D^{-1/2} */
  ep_activation phi;                /* of layers that have none of their own */
  /* Zeros from here on: one width and activation, ntk, variances 1, no biases. */
  ptrdiff_t widths[EP_MAX_DEPTH];           /* M_l; 0: width */
  ep_activation phis[EP_MAX_DEPTH];         /* phi_l; kind NULL: phi */
  bool standard;                            /* parametrisation */
  bool bias[EP_MAX_DEPTH + 1];              /* there is b_l; L: there is c */
  double weight_variance, last_variance;    /* w, o; 0: 1 */
  double bias_variance, last_bias_variance; /* b, o'; ntk: 0: the biases have the factor 1 */
} ep_net_shape;

/* Weights, or a gradient, which has the same shape. V, b, W and c are views of theta: V_1, b_1, V_2, .., W, c. */
typedef struct {
  ep_net_shape shape;
  ep_mat theta; /* (1, parameters), owned */
  ep_mat V[EP_MAX_DEPTH], W;
  ep_mat b[EP_MAX_DEPTH], c; /* (1, M_l), (1, Z); data NULL: none */
} ep_net;

ep_status ep_net_new(ep_net *out, const ep_net_shape *shape, ep_precision prec); /* zeros */
void ep_net_free(ep_net *net);
ptrdiff_t ep_net_parameters(const ep_net_shape *shape);
/* What the settings say; variances NULL: the defaults. */
ep_status ep_net_shape_of(ep_net_shape *out, const ep_net_config *config,
                          const ep_variance_config *variances, ptrdiff_t inputs);
/* Entries drawn with the seed, or the weights in config->init, which also give the widths. */
ep_status ep_net_draw(ep_net *out, const ep_net_config *config, const ep_variance_config *variances,
                      ptrdiff_t inputs, uint64_t seed, ep_precision prec);
/* V or V1.., W, biases b or b1.., c of an .npz, with `prefix` in front of the names, or a state dict of PyTorch; widths
 * and which biases there are come from the file, the rest is the caller's (a state dict is `standard`). */
ep_status ep_net_read(ep_net *out, ep_npz *file, const char *path, const char *prefix,
                      const ep_net_shape *shape, ep_precision prec);
/* Widths, biases, inputs and outputs of the network in a file. */
ep_status ep_net_file_shape(ep_net_shape *out, const char *path);
ep_status ep_net_write(ep_npz *file, const char *prefix, const ep_net *net);

EP_END
