#pragma once
/* One-layer contrastive learning and its local optima (OPTIMA). Theory: section 9. A node h(w'x), |w| = 1, h homogeneous
 * (relu, leaky, linear, monomial), gated data x~ = x h'(w'x):
 *
 *   A(w) = C_alpha[x~],   dw/dt = (I - ww') A(w) w / p      (p = 1, the power for monomials)
 *
 * A fixed point with A(w)w = lambda_1(A(w)) w and a gap is a locally maximal eigenvector. All matrices are double. */
#include <eigenpair/activation.h>
#include <eigenpair/covariance.h>
#include <eigenpair/dataset.h>
#include <eigenpair/run.h>
#include <stdint.h>

EP_BEGIN

const char *ep_search_name(int i); /* power, flow */

#define EP_OPTIMA_OPTIONS(X, S)                                                                    \
  X(S, NAME, activation, "relu", 0, 1, ep_activation_name,                                         \
    "homogeneous: relu, leaky:SLOPE, linear, monomial:POWER")                                      \
  EP_ALPHA_OPTIONS(X, S)                                                                           \
  X(S, INT, starts, "100", 1, 1e7, NULL, "random starts on the sphere")                            \
  X(S, INT, nodes, "1", 1, 1e5, NULL,                                                              \
    "nodes of a layer: the weights are made from all their outputs; a start is then a layer")      \
  X(S, NAME, search, "power", 0, 0, ep_search_name,                                                \
    "shifted power iteration, or projected gradient flow in Euler steps")                          \
  X(S, REAL, shift, "1", 0, 1e6, NULL, "power: shift in multiples of the largest |A(w)w| so far")  \
  X(S, REAL, rate, "0.5", 1e-6, 10, NULL, "flow: step in multiples of 1 / largest |A(w)w| so far") \
  X(S, INT, iterations, "5000", 1, 1e9, NULL,                                                      \
    "a start that has not settled by then is reported apart")                                      \
  X(S, REAL, settle, "1e-9", 1e-15, 1, NULL, "a start has settled when w turns by less (radians)") \
  X(S, REAL, merge, "0.05", 0, 1, NULL, "ends nearer than this angle (radians) are one optimum")   \
  X(S, REAL, step, "0.1", 1e-6, 1, NULL, "roughness: how far the directional differences look")    \
  X(S, INT, directions, "8", 1, 1e5, NULL, "roughness, ball: directions looked in")                \
  X(S, REAL, push, "0.05", 1e-6, 1, NULL, "stability: how far an optimum is pushed (radians)")     \
  X(S, INT, pushes, "8", 0, 1e5, NULL, "stability: in how many directions")                        \
  X(S, FLAG, ball, NULL, 0, 0, NULL,                                                               \
    "estimate irregularity and Theorem 3's ball: an eigenproblem for each direction and radius")

typedef struct {
  EP_OPTIMA_OPTIONS(EP_OPT_FIELD, )
} ep_optima_config;
extern const ep_option ep_optima_options[];

/* N x d each: the caller's, or owned where ep_layer_load made them. */
typedef struct {
  ep_mat X;  /* first views */
  ep_mat X2; /* second views; X2.data = NULL: no augmentation */
  ep_mat X0; /* the points before augmentation; X0.data = NULL: X */
  ep_activation h;
  ep_alpha alpha;
} ep_layer;
/* The points of a data set, with --augment two views of each, or ready pairs (--anchors, --positives); activation and
 * weights of `config`. Points are read in double whatever the run's precision. */
ep_status ep_layer_load(ep_layer *out, const ep_optima_config *config, const ep_data_config *data,
                        const ep_pair_config *pairs, const ep_run_config *run);
void ep_layer_free(ep_layer *layer);
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

typedef struct {
  double lambda, residual;    /* w'A(w)w, |A(w)w - lambda w| / |A(w)w| */
  double top, gap, alignment; /* lambda_1(A(w)), lambda_1 - lambda_2, |w'phi_1| */
  bool maximal;               /* Definition 3: gap > 0, residual 0 and alignment 1 to 1e-6 */
  bool nearly;                /* not that, but A(w) jumps at w, and the alignment is above 0.99 */
  ptrdiff_t touching;         /* data points (and second views) orthogonal to w: there A(w) jumps */
  bool held;                  /* by atoms of the data: not an optimum (see ep_optima) */
  double roughness;           /* max |(A(v)-A(w))w| / |v-w| found, |v-w| = step, alpha held at w */
  double
      roughness_bound; /* what it cannot exceed on these data; NAN: not relu or leaky, or weights given */
  double r, z0;        /* Theorem 2's r(w, alpha), and E exp(-h^2/(2 tau)); NAN likewise */
  bool theorem1;       /* maximal and gap > roughness */
  double returns; /* share of pushes after which it came back; NAN: none made */
  bool stable;    /* it came back after all of them; by Theorem 1 if none was made */
  double irregularity,
      ball; /* omega(w), radius (radians) within which omega < 1 was found; NAN: not asked for */
  ptrdiff_t count;         /* starts that reached it */
  double basin, low, high; /* their share, and its 95 % Wilson interval */
} ep_optimum;

/* Where starts settle. For relu and leaky the energy has kinks at the hyperplanes of data points, and A(w) jumps there.
 * An end is an optimum where it is a locally maximal eigenvector, nearly so, or where at most d - 1 points lie on its
 * hyperplane, the most there are in general position: then the jump is one of sampling. (An optimum need not be a locally
 * maximal eigenvector, and not only because of jumps: see the exact case of theory section 11.) The other ends are held by atoms of the data,
 * many points on one hyperplane, and no eigenvector is near. */
typedef struct {
  ptrdiff_t starts, dead, unsettled;
  ptrdiff_t count, optima;   /* ends, of which the first `optima` are the optima */
  ptrdiff_t maximal, nearly; /* of these, locally maximal eigenvectors, and those that nearly are */
  ep_mat W;                  /* (count, d), owned */
  ep_optimum *optimum;       /* (count), each kind by falling basin; owned */
  ptrdiff_t *label;          /* (starts) end each start reached; -1 dead, -2 unsettled; owned */
  double iterations;         /* mean of the settled starts */
} ep_optima;
/* Search, merging, and everything above for each end. */
ep_status ep_optima_find(ep_optima *out, const ep_layer *layer, const ep_optima_config *config,
                         const ep_run_config *run);
void ep_optima_free(ep_optima *optima);
/* Which end a unit vector belongs to (within config->merge), -1: none. */
ptrdiff_t ep_optima_nearest(const ep_optima *optima, const double *w, const ep_layer *layer,
                            double merge);
/* Angle between unit vectors; of lines where A(-w) = A(w) (linear, monomial). */
double ep_layer_angle(const ep_layer *layer, const double *v, const double *w);

/* ---- K nodes that share their weights (eq. 2 and 5): alpha is made from all K outputs, and every |w_k| = 1 */

/* Row k of Y = C_alpha[x h'(w_k'x)] w_k, alpha made from h(W x) in R^K. */
ep_status ep_layer_joint(const ep_mat *Y, const ep_layer *layer, const ep_mat *W);
/* Layers of K nodes, the rows of W (layers K x d) in turn, to their ends, which take their place; a path a node. A node is
 * settled when all of its layer are. The bits do not depend on the threads. */
ep_status ep_joint_follow(const ep_mat *W, ep_path *paths, ptrdiff_t nodes, const ep_layer *layer,
                          const ep_optima_config *config);
typedef struct {
  ptrdiff_t layers, nodes;
  ptrdiff_t dead, unsettled; /* nodes */
  ep_mat W;                  /* (layers nodes, d) where they ended, owned */
  ptrdiff_t count;           /* distinct directions of all of them, config->merge apart */
  ep_mat direction;          /* (count, d), by falling number of layers; owned */
  ptrdiff_t *held;           /* (count) layers with a node there; owned */
  ptrdiff_t *label;          /* (layers nodes) direction; -1 dead, -2 unsettled; owned */
  ptrdiff_t *distinct;       /* (layers) directions that a layer holds; owned */
  double mean, low, high;    /* of `distinct`, and its 95 % interval (NAN: one layer) */
} ep_joint;
/* config->starts layers of config->nodes nodes. */
ep_status ep_joint_find(ep_joint *out, const ep_layer *layer, const ep_optima_config *config,
                        const ep_run_config *run);
void ep_joint_free(ep_joint *joint);

/* Everything of *out but its basin, for a unit vector w. */
ep_status ep_optimum_measure(ep_optimum *out, const ep_layer *layer, const double *w,
                             const ep_optima_config *config, uint64_t seed);
/* 95 % interval of a share, count of n (Wilson). */
void ep_wilson(double *low, double *high, ptrdiff_t count, ptrdiff_t n);
/* OPTIMA Definition 4, from eigenvalues and correlation c = |w'phi_1|, and Theorem 3's ball: w'w(0) >= the result. */
double ep_irregularity(double c, double top, double gap, double lipschitz, double kappa);
double ep_theorem3_ball(double c0, double gamma);

EP_END
