#pragma once
#include <eigenpair/theory.h>
#include <eigenpair/activation.h>
#include <eigenpair/covariance.h>

const char *ep_search_name(int i); /* power, flow */

/* Shapes, precision, a homogeneous activation, finite data. */
ep_status ep_layer_check(const ep_layer *layer);
double ep_layer_power(const ep_layer *layer); /* p: h'(a) a = p h(a) */

/* Row k of Y = A(v_k) w_k with alpha made at `at`_k; V and `at` NULL: W. K x d each. With uniform weights the data are
 * read once, and the bits do not depend on the threads. */
ep_status ep_layer_product(const ep_mat *Y, const ep_layer *layer, const ep_mat *W, const ep_mat *V,
                           const ep_mat *at);
/* A (d x d) = A(v), alpha made at `at` (NULL: v). v, at: d numbers. */
ep_status ep_layer_matrix(const ep_mat *A, const ep_layer *layer, const double *v,
                          const double *at);
/* *energy = C_alpha[h(w'x)] = w'A(w)w / p^2. */
ep_status ep_layer_energy(double *energy, const ep_layer *layer, const double *w);

typedef enum { EP_END_SETTLED, EP_END_DEAD, EP_END_UNSETTLED } ep_end;
typedef struct {
  ep_end end;
  long iterations;
  double lambda;   /* w'A(w)w */
  double residual; /* |A(w)w - lambda w| / |A(w)w| */
} ep_path;
/* Follows the rows of W (K x d, unit vectors) to their ends, which take their place. Threads share out blocks of starts;
 * the bits do not depend on how many there are. trace (K x T, or NULL): |w(t+1) - w(t)|, 0 after the end. */
ep_status ep_optima_follow(const ep_mat *W, ep_path *paths, const ep_layer *layer,
                           const ep_optima_config *config, const ep_mat *trace);
/* W = starts drawn uniformly on the sphere, a function of the seed alone. */
void ep_optima_starts(const ep_mat *W, uint64_t seed);

/* Which end a unit vector belongs to (within config->merge), -1: none. */
ptrdiff_t ep_optima_nearest(const ep_optima *optima, const double *w, const ep_layer *layer,
                            double merge);
/* Angle between unit vectors; of lines where A(-w) = A(w) (linear, monomial). */
double ep_layer_angle(const ep_layer *layer, const double *v, const double *w);

/* Row k of Y = C_alpha[x h'(w_k'x)] w_k, alpha made from h(W x) in R^K. */
ep_status ep_layer_joint(const ep_mat *Y, const ep_layer *layer, const ep_mat *W);
/* Layers of K nodes, the rows of W (layers K x d) in turn, to their ends, which take their place; a path a node. A node is
 * settled when all of its layer are. The bits do not depend on the threads. */
ep_status ep_joint_follow(const ep_mat *W, ep_path *paths, ptrdiff_t nodes, const ep_layer *layer,
                          const ep_optima_config *config);

/* Everything of *out but its basin, for a unit vector w. */
ep_status ep_optimum_measure(ep_optimum *out, const ep_layer *layer, const double *w,
                             const ep_optima_config *config, uint64_t seed);
/* 95 % interval of a share, count of n (Wilson). */
void ep_wilson(double *low, double *high, ptrdiff_t count, ptrdiff_t n);
/* OPTIMA Definition 4, from eigenvalues and correlation c = |w'phi_1|, and Theorem 3's ball: w'w(0) >= the result. */
double ep_irregularity(double c, double top, double gap, double lipschitz, double kappa);
double ep_theorem3_ball(double c0, double gamma);
