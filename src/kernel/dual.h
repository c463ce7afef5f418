#pragma once
/* Duals S = E phi(u) phi(v), S' = E phi'(u) phi'(v) of one point against many: what a layer of an infinitely wide
 * network does to a row of its kernel. The state of a pair is its gap 1 - C / sqrt(AB), never C itself: S' of relu
 * falls like sqrt(gap), and the gap of two almost equal points is lost in C. */
#include "core/real.h"

#include <eigenpair/activation.h>
#include <stdbool.h>

typedef struct ep_dual_kind ep_dual_kind;                   /* a row of the table */
typedef struct ep_dual_table ep_dual_table;                 /* dual_table.h */
const ep_dual_kind *ep_dual_find(const ep_activation *phi); /* NULL: none known */

/* Points as one layer sees them; all of the caller. */
typedef struct {
  const double *P;    /* variance */
  const double *root; /* sqrt P */
  const double *norm; /* sqrt S(P, P, P); only next[] of ep_dual_row needs it */
  const double *rho;  /* place of P in the table of the layer; NULL: there is none */
  const ep_dual_table *table;
  const double *over; /* 1 / norm, 0 of 0; NULL: not known */
  const double *damp; /* 1 / sqrt(1 + 2 P); NULL: not known */
} ep_dual_points;

/* x: the one (its first entry); y: the n others; gap[j] from 0 to 2, anything where a variance is 0.
 * value[j] = S, slope[j] = S', next[j] = 1 - S / sqrt(S(A,A,A) S(B,B,B)): the gap one layer on, without biases. */
void ep_dual_row(double *value, double *slope, double *next, const ep_dual_kind *kind,
                 double parameter, const double *gap, const ep_dual_points *x,
                 const ep_dual_points *y, ptrdiff_t n);

/* The activations: whether next[] follows from value[] alone (phi is bounded), the error of S and S', and for those
 * without a closed form the stretch of their mixture (negative: one that no table stands for). Errors are those of tests/theory/test_dual.c and a margin; that of
 * exp is for variances of order 1 and grows with them, as the exponent does. */
#define EP_DUALS(X)         \
  X(relu, 0, 2e-15, 0)      \
  X(leaky, 0, 2e-15, 0)     \
  X(tanh, 1, 6e-15, 1)      \
  X(sigmoid, 1, 6e-15, 0.5) \
  X(erf, 1, 2e-15, 0)       \
  X(linear, 0, 2e-15, 0)    \
  X(gelu, 0, 2e-15, 0)      \
  X(sin, 1, 2e-15, 0)       \
  X(cos, 1, 2e-15, 0)       \
  X(monomial, 0, 4e-15, 0)  \
  X(exp, 0, 2e-15, 0)       \
  X(csoftplus, 0, 6e-15, -0.5)

/* ---- dual_double.c: a row as ep_dual_row has it, without next[] where that is not wanted */
typedef struct {
  double *value, *slope, *next;
  const double *gap;
  const ep_dual_points *x, *y;
  ptrdiff_t n;
  double p; /* parameter of the activation */
} ep_dual_job;
EP_DOUBLE_FN(void, ep_dual_fill, const ep_dual_job *job, int kind, bool next);
/* Theta one layer on: w (S + Theta . S') + b; slope NULL: that of the NNGP, w S + b */
EP_DOUBLE_FN(void, ep_dual_theta, double *theta, const double *S, const double *slope, double w,
             double b, ptrdiff_t n);
/* S and S' of tanh(stretch u), summed over the mixture */
EP_DOUBLE_FN(void, ep_dual_mixture, double *value, double *slope, double stretch, const double *gap,
             const ep_dual_points *x, const ep_dual_points *y, ptrdiff_t n);

/* A table for variances from least to most, of about so many entries; for activations without a closed form, and where
 * it pays (else its degree is 0). Its error is that of ep_dual_error. */
ep_status ep_dual_tabulate(ep_work *work, ep_dual_table *table, const ep_dual_kind *kind,
                           double least, double most, double entries);

/* tanh(u) = sum_k weight_k erf(scale_k u), weights positive: trapezoid rule in log k of
 * tanh(u) = int g(k) erf(u / (sqrt 2 k)) dk, g the density of Kolmogorov's distribution (Andrews and Mallows 1974). */
enum { EP_TANH_TERMS = 28 };
typedef struct {
  int terms;
  double scale[EP_TANH_TERMS], weight[EP_TANH_TERMS];
} ep_erf_mixture;
void ep_tanh_mixture(ep_erf_mixture *out);
