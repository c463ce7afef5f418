#pragma once
/* The activations. A new one is a row here: its name; its degree (0: not homogeneous), the jump of phi' at 0 if it is made
 * of lines (NAN: it is not) and whether phi(-a) is phi(a) or -phi(a), as eigenpair/activation.h has them; its parameter's
 * default and range (0, 0: none), L and B as functions of the parameter p, then phi, phi' and phi'' of a, by the
 * functions of core/functions.h. A row of sin or cos is a W, and may ask whether a is `far`. Values of relu and its like
 * at 0 follow phi'(0) = 0, and phi'' is that beside the kink; what is no number stays none. */
#define EP_ACTIVATIONS(X, W)                                                                \
  X(relu, 1, 1, false, 0, 0, 0, 1, INFINITY, a<0 ? 0 : a, a> 0 ? 1 : 0, 0)                  \
  X(leaky, 1, fabs(1 - p), false, 0.01, -10, 10, fmax(1, fabs(p)), p == 1 ? 0 : INFINITY,   \
    a > 0 ? a : p * a, a > 0 ? 1 : p, 0)                                                    \
  X(tanh, 0, NAN, true, 0, 0, 0, 1, 0.7698003589195010, fn_tanh(a), fn_tanh_slope(a),       \
    -2 * fn_tanh(a) * fn_tanh_slope(a))                                                     \
  X(sigmoid, 0, NAN, false, 0, 0, 0, 0.25, 0.09622504486493763, fn_sigmoid(a),              \
    fn_sigmoid_slope(a), fn_sigmoid_slope(a) * (fn_sigmoid(-a) - fn_sigmoid(a)))            \
  X(erf, 0, NAN, true, 0, 0, 0, TWO_OVER_ROOT_PI, 0.9678828980765735, fn_erf(a), ERF_SLOPE, \
    -2 * CLAMPED * ERF_SLOPE)                                                               \
  X(linear, 1, 0, true, 0, 0, 0, 1, 0, a, 1, 0)                                             \
  X(gelu, 0, NAN, false, 0, 0, 0, 1.128904145, 0.7978845608028654,                          \
    (a < -99 ? -99 : a) * fn_normal(a), fn_normal(a) + CLAMPED * fn_density(a),             \
    (2 - CLAMPED * CLAMPED) * fn_density(a))                                                \
  W(sin, 0, NAN, true, 0, 0, 0, 1, 1, SIN, COS, -SIN)                                       \
  W(cos, 0, NAN, true, 0, 0, 0, 1, 1, COS, -SIN, -COS)                                      \
  X(monomial, p, NAN, true, 2, 1, 16, p == 1 ? 1 : INFINITY,                                \
    p == 1   ? 0                                                                            \
    : p == 2 ? 2                                                                            \
             : INFINITY,                                                                    \
    power(a, (int)p), p * power(a, (int)p - 1), p * (p - 1) * power(a, (int)p - 2))         \
  X(exp, 0, NAN, false, 0, 0, 0, INFINITY, INFINITY, fn_exp(a), fn_exp(a), fn_exp(a))       \
  X(csoftplus, 0, NAN, false, 0, 0, 0, 2, 0.5, fn_centred_softplus(a), 2 * fn_sigmoid(a),   \
    2 * fn_sigmoid_slope(a))

#define TWO_OVER_ROOT_PI 1.1283791670955126
#define ERF_SLOPE        ((real)TWO_OVER_ROOT_PI * fn_bell(fn_abs(a), 1))
#define CLAMPED          (a < -99 ? -99 : a > 99 ? 99 : a) /* infinity times exp(-infinity) is 0 */
#define SIN              (far ? (real)sin((double)a) : fn_sin(a))
#define COS              (far ? (real)cos((double)a) : fn_cos(a))
