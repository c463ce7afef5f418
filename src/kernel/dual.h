#pragma once
/* Duals S = E phi(u) phi(v), S' = E phi'(u) phi'(v) of one point against many: what a layer of an infinitely wide
 * network does to a row of its kernel. The state of a pair is its gap 1 - C / sqrt(AB), never C itself: S' of relu
 * falls like sqrt(gap), and the gap of two almost equal points is lost in C. */
#include <eigenpair/activation.h>

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
} ep_dual_points;

/* x: the one (its first entry); y: the n others; gap[j] from 0 to 2, anything where a variance is 0.
 * value[j] = S, slope[j] = S', next[j] = 1 - S / sqrt(S(A,A,A) S(B,B,B)): the gap one layer on, without biases. */
void ep_dual_row(double *value, double *slope, double *next, const ep_dual_kind *kind,
                 double parameter, const double *gap, const ep_dual_points *x,
                 const ep_dual_points *y, ptrdiff_t n);

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
