#pragma once
/* The activations. A new one is a row here: its name, its parameter's default and range (0, 0: none),
 * L and B as functions of the parameter p, then phi, phi' and phi'' of a. tgmath makes tanh() single or double
 * as the file that includes this is compiled. Values of relu and its like at 0 follow phi'(0) = 0,
 * and phi'' is that beside the kink. */
#define EP_ACTIVATIONS(X)                                                                       \
  X(relu, 0, 0, 0, 1, INFINITY, a > 0 ? a : 0, a > 0 ? 1 : 0, 0)                                \
  X(leaky, 0.01, -10, 10, fmax(1, fabs(p)), p == 1 ? 0 : INFINITY, a > 0 ? a : p * a,           \
    a > 0 ? 1 : p, 0)                                                                           \
  X(tanh, 0, 0, 0, 1, 0.7698003589195010, tanh(a), 1 - tanh(a) * tanh(a),                       \
    -2 * tanh(a) * (1 - tanh(a) * tanh(a)))                                                     \
  X(sigmoid, 0, 0, 0, 0.25, 0.09622504486493763, SIGMOID, SIGMOID *(1 - SIGMOID),               \
    SIGMOID *(1 - SIGMOID) * (1 - 2 * SIGMOID))                                                 \
  X(erf, 0, 0, 0, TWO_OVER_ROOT_PI, 0.9678828980765735, erf(a),                                 \
    (real)TWO_OVER_ROOT_PI *exp(-a *a), -2 * a * (real)TWO_OVER_ROOT_PI * exp(-a * a))          \
  X(linear, 0, 0, 0, 1, 0, a, 1, 0)                                                             \
  X(gelu, 0, 0, 0, 1.128904145, 0.7978845608028654, a *NORMAL_CDF, NORMAL_CDF + a * NORMAL_PDF, \
    (2 - a * a) * NORMAL_PDF)                                                                   \
  X(sin, 0, 0, 0, 1, 1, sin(a), cos(a), -sin(a))                                                \
  X(cos, 0, 0, 0, 1, 1, cos(a), -sin(a), -cos(a))                                               \
  X(monomial, 2, 1, 16, p == 1 ? 1 : INFINITY,                                                  \
    p == 1   ? 0                                                                                \
    : p == 2 ? 2                                                                                \
             : INFINITY,                                                                        \
    power(a, (int)p), p * power(a, (int)p - 1), p * (p - 1) * power(a, (int)p - 2))             \
  X(exp, 0, 0, 0, INFINITY, INFINITY, exp(a), exp(a), exp(a))

#define TWO_OVER_ROOT_PI 1.1283791670955126
#define SIGMOID          (1 / (1 + exp(-a)))
#define NORMAL_CDF       ((real)0.5 * (1 + erf(a * (real)0.7071067811865476)))
#define NORMAL_PDF       ((real)0.3989422804014327 * exp((real)-0.5 * a * a))
