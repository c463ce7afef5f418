#pragma once
/* What theory says without training: of a kernel (learnability), of linear models (dynamics), of one layer (optima). */
#include <eigenpair/dataset.h>
#include <eigenpair/matrix.h>
#include <eigenpair/method.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/run.h>
#include <stdint.h>

EP_BEGIN

/* What a kernel can learn from n points (Simon 2021). Theory: section 8.
 *
 * A domain has M points and the uniform measure; K/M has eigenvalues lambda_i and eigenfunctions phi_i. The target is
 * f = sum_i v_i phi_i, the training targets carry noise of variance sigma^2. For regression f^ = K(x,D)(K(D,D) +
 * ridge)^{-1} y, predicted without any training set:
 *
 *   sum_i lambda_i/(lambda_i + kappa) + ridge/kappa = n,   L_i = lambda_i/(lambda_i + kappa),   E0 = n/(n - sum L_i^2)
 *   learnability of f   sum L_i v_i^2 / |v|^2
 *   test error          E = E0 (sum (1-L_i)^2 v_i^2 + sigma^2)     (on noisy targets; on clean ones minus sigma^2)
 *   training error      (ridge/(n kappa))^2 E
 *
 * Equal eigenvalues are kept once, as a level with its multiplicity: a cube of 2^20 points has 21 of them. */

typedef struct {
  ptrdiff_t levels;
  const double
      *value; /* (levels) lambda >= 0, any order; exactly 0: the kernel has no such direction */
  const double *count; /* (levels) multiplicity */
  double size;         /* M; INFINITY: a continuous domain */
  double tail; /* trace of the levels past the list, each small beside kappa: it acts as a ridge */
} ep_spectrum;
double ep_spectrum_rank(const ep_spectrum *s); /* positive eigenvalues; INFINITY with a tail */

typedef struct {
  double train;    /* n */
  double ridge;    /* added to the diagonal of K(D,D) */
  double variance; /* sigma^2 of the noise on training targets */
} ep_training_set;

typedef struct {
  double kappa;        /* 0: more points than the kernel has dimensions, and no ridge */
  double sum;          /* of all learnabilities: n - ridge/kappa */
  double learnability; /* of the target; NAN for f = 0 */
  double overfit;      /* E0 */
  double mse;          /* E; may be INFINITY, at n = rank without a ridge */
  double clean_mse;    /* E - sigma^2 */
  double train_mse;
  double unseen_mse; /* on the M - n points not trained on, without noise; NAN with noise */
} ep_prediction;

ep_status ep_learn_kappa(double *kappa, const ep_spectrum *s, double n, double ridge);
/* L (levels) may be NULL. power[k] = sum of v_i^2 over level k; NULL: a random function of variance 1. */
ep_status ep_learn_predict(ep_prediction *out, double *L, const ep_spectrum *s, const double *power,
                           const ep_training_set *t);

/* Linear self-supervised models u(x) = B'x over time (LINEAR). Theory: section 7.
 *
 *   L = Tr(B'CB),  C = -1/N sym sum_{n,q} a_q x_n x_nq'  (d x d),  C = U diag(lambda) U', lambda ascending, q = U'B
 *
 * An orthogonal linear network of any width and depth, B = W_1'..W_{l-1}'W_l, follows Theorem 2's equation
 *
 *   dq/dt = -2 [ 2 Lam q - Lam q q'q - q q' Lam q ]
 *
 * at chosen times; beside it, if wished, descent on a network u(x) = W_l' phi(W_{l-1} .. phi(W_1 x)) from the same start. */

typedef enum {
  EP_CONSTRAINT_GRASSMANN,
  EP_CONSTRAINT_ORTHOGONAL,
  EP_CONSTRAINT_NONE,
  EP_CONSTRAINT_FROBENIUS,
  EP_CONSTRAINT_SPECTRAL,
  EP_CONSTRAINT_PRODUCT,
  EP_CONSTRAINT_SCALED
} ep_constraint;

#define EP_DESCENT_OPTIONS(X, S)                                                                   \
  X(S, INT, layers, "2", 1, 8, NULL, "descent: weight matrices l; hidden layers and one")          \
  X(S, INT, width, "0", 0, 1e6, NULL,                                                              \
    "hidden units h, at least d and z; 0: 2d, or d + z where that is more")                        \
  X(S, INT, outputs, "2", 1, 1e5, NULL, "dimensions z of the representation")                      \
  X(S, NAME, activation, "linear", 0, 1, ep_activation_name, "descent: activation")                \
  X(S, CHOICE, constraint, "grassmann", 0, 0, ep_constraint_name,                                  \
    "descent: constraint on weights")                                                              \
  X(S, CHOICE, retraction, "qr", 0, 0, ep_retraction_name,                                         \
    "descent: how grassmann and orthogonal return to orthonormal weights")                         \
  X(S, REAL, rate, "0.01", 1e-12, 1e12, NULL, "step length eta")                                   \
  X(S, REAL, decay, "1", 1e-3, 1, NULL, "descent: the rate is multiplied by this after each step") \
  X(S, REAL, radius, "1", 1e-12, 1e12, NULL, "descent: |W_i|_F at most this, for frobenius")
typedef struct {
  EP_DESCENT_OPTIONS(EP_OPT_FIELD, )
} ep_descent_config;
extern const ep_option ep_descent_options[];

typedef enum { EP_WAY_FLOW, EP_WAY_STEPS, EP_WAY_EXACT } ep_dynamics_kind;

#define EP_DYNAMICS_OPTIONS(X, S)                                                             \
  X(S, REAL, time, "100", 0, 1e12, NULL,                                                      \
    "time T at the end; a step of descent is the time --rate")                                \
  X(S, TEXT, times, "", 0, 0, NULL, "times on the way, rising: t1,t2,..")                     \
  X(S, CHOICE, way, "flow", 0, 0, ep_dynamics_way,                                            \
    "flow: integrator with error control; steps: the paper's eq. 11 with --rate; exact: one " \
    "output only")                                                                            \
  X(S, REAL, tolerance, "1e-10", 1e-14, 1e-2, NULL, "flow: relative error a step")            \
  X(S, FLAG, compare, NULL, 0, 0, NULL, "also descend with a network, from the same start")
typedef struct {
  EP_DYNAMICS_OPTIONS(EP_OPT_FIELD, )
} ep_dynamics_config;
extern const ep_option ep_dynamics_options[];

/* One time. Ranks are RankMe: of the embedded points, or of q where there are no points. */
typedef struct {
  double time, loss, rank;
  double descent_loss, descent_rank; /* NAN without a descent */
  double difference;                 /* |q - U'B|_F of the two, B the network's product */
} ep_dynamics_row;

typedef struct {
  ep_mat U;       /* (d, d) columns are eigenvectors of C, and their eigenvalues, ascending: */
  double *lambda; /* (d) */
  ptrdiff_t rows; /* row 0 is the start, then --times, then --time */
  ep_dynamics_row *row; /* (rows) */
  ptrdiff_t spectrum;   /* min(d, z) */
  ep_mat sigma;         /* (rows, spectrum) singular values of q, falling */
  ep_mat projection;    /* (rows, spectrum) of the most negative eigenvectors on the span of q */
  ep_mat q;             /* (rows * d, z): q at each time, one below the other */
  long evaluations;     /* of the right-hand side, or steps */
  double seconds;
  bool diverged; /* the descent has */
} ep_dynamics;   /* all owned */

/* C (d x d), or NULL: that of the points. points may be NULL where C is given. q0 (d x z), or NULL: a random
 * orthogonal network's. Both are left alone. */
ep_status ep_dynamics_run(ep_run *run, ep_dynamics *out, const ep_dynamics_config *config,
                          const ep_descent_config *descent, const ep_mat *C,
                          const ep_points *points, const ep_mat *q0, uint64_t seed);
void ep_dynamics_free(ep_dynamics *d);
ep_mat ep_dynamics_at(const ep_dynamics *d, ptrdiff_t row); /* q of a row: a view */

/* One-layer contrastive learning and its local optima (OPTIMA). Theory: section 9. A node h(w'x), |w| = 1, h homogeneous
 * (relu, leaky, linear, monomial), gated data x~ = x h'(w'x):
 *
 *   A(w) = C_alpha[x~],   dw/dt = (I - ww') A(w) w / p      (p = 1, the power for monomials)
 *
 * A fixed point with A(w)w = lambda_1(A(w)) w and a gap is a locally maximal eigenvector. All matrices are double. */

typedef enum { EP_SEARCH_POWER, EP_SEARCH_FLOW } ep_search;

#define EP_OPTIMA_OPTIONS(X, S)                                                                    \
  X(S, NAME, activation, "relu", 0, 1, ep_activation_name,                                         \
    "homogeneous: relu, leaky:SLOPE, linear, monomial:POWER")                                      \
  EP_ALPHA_OPTIONS(X, S)                                                                           \
  X(S, INT, starts, "100", 1, 1e7, NULL, "random starts on the sphere")                            \
  X(S, INT, nodes, "1", 1, 1e5, NULL,                                                              \
    "nodes of a layer: the weights are made from all their outputs; a start is then a layer")      \
  X(S, CHOICE, search, "power", 0, 0, ep_search_name,                                              \
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
ep_status ep_layer_load(ep_run *run, ep_layer *out, const ep_optima_config *config,
                        const ep_data_config *data, const ep_pair_config *pairs,
                        const ep_run_config *settings);
void ep_layer_free(ep_layer *layer);

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
ep_status ep_optima_find(ep_run *run, ep_optima *out, const ep_layer *layer,
                         const ep_optima_config *config, const ep_run_config *settings);
void ep_optima_free(ep_optima *optima);

/* ---- K nodes that share their weights (eq. 2 and 5): alpha is made from all K outputs, and every |w_k| = 1 */

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
ep_status ep_joint_find(ep_run *run, ep_joint *out, const ep_layer *layer,
                        const ep_optima_config *config, const ep_run_config *settings);
void ep_joint_free(ep_joint *joint);

EP_END
