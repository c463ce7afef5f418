#pragma once
/* Similarities and losses: F (points x Z) -> L and dL/dF. Theory: section 3.
 *
 * Both similarities are inner products of one map of the points, s(x, y) = u(x)'u(y): u = f (dot) or
 * u = f / (|f| + delta) (cosine). So a similarity is that map and its derivative, and a loss is a
 * function of u. Everything here is double: F is small. */
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>
#include <eigenpair/pairs.h>

EP_BEGIN

const char *ep_similarity_name(int i);   /* dot, cosine */
const char *ep_similarity_option(int i); /* auto, and those */
const char *ep_loss_name(int i);
const char *ep_loss_help(int i);

#define EP_OBJECTIVE_OPTIONS(X, S)                                                              \
  X(S, NAME, loss, "linear", 0, 0, ep_loss_name, "what is minimised")                           \
  X(S, NAME, similarity, "auto", 0, 0, ep_similarity_option,                                    \
    "of pairs; auto: dot for spectral and method whitened, none for barlow and vicreg, else "   \
    "cosine")                                                                                   \
  X(S, REAL, delta, "0.01", 1e-12, 1e6, NULL, "cosine: added to every norm")                    \
  X(S, REAL, temperature, "0.5", 1e-6, 1e6, NULL, "softmax, ntxent: tau")                       \
  X(S, REAL, epsilon, "1", 0, 1e6, NULL, "softmax: weight of the positives in the denominator") \
  X(S, REAL, off_diagonal, "0.005", 0, 1e6, NULL,                                               \
    "barlow: weight of the off-diagonal correlations")                                          \
  X(S, REAL, invariance, "25", 0, 1e6, NULL, "vicreg: weight of the distance of the two views") \
  X(S, REAL, variance, "25", 0, 1e6, NULL, "vicreg: weight of the variance hinge")              \
  X(S, REAL, covariance, "1", 0, 1e6, NULL, "vicreg: weight of the covariances")

typedef struct {
  EP_OBJECTIVE_OPTIONS(EP_OPT_FIELD, )
} ep_objective_config;
extern const ep_option ep_objective_options[];

typedef struct ep_loss ep_loss;             /* a row of the table of losses */
typedef struct ep_similarity ep_similarity; /* a row of the table of similarities */

typedef struct {
  const ep_loss *loss;
  const ep_similarity *similarity;
  ep_objective_config config;
} ep_objective;

/* Looks the names up. The similarity is the one the loss prescribes, where it prescribes one. */
ep_status ep_objective_parse(ep_objective *out, const ep_objective_config *config);
/* From now on similarities are products of the outputs, whatever the loss prescribes: their norm is dealt with already. */
void ep_objective_products(ep_objective *objective);
/* Do these pairs have what the loss needs (negatives, a positive for each anchor, two anchors)? */
ep_status ep_objective_check(const ep_objective *objective, const ep_pairs *pairs);
bool ep_objective_positives_only(
    const ep_objective *objective); /* needs no negatives to be drawn */
const char *ep_objective_similarity(
    const ep_objective *objective); /* the one in use; "no" for none */

/* c_l = sup |dl/ds| over similarities in [-1, 1]; INFINITY for a loss that is no function of similarities. */
double ep_objective_slope(const ep_objective *objective);
/* Q: the most partners that l of one anchor takes, every view of the others counted where it does. */
double ep_objective_partners(const ep_objective *objective, const ep_pairs *pairs);

/* Fewest anchors a batch can have. */
ptrdiff_t ep_objective_least_anchors(const ep_objective *objective, const ep_pairs *pairs);
/* Bytes of scratch that ep_objective_value takes. */
double ep_objective_memory(const ep_objective *objective, const ep_pairs *pairs, ptrdiff_t outputs);

/* *loss = L(F), dF = dL/dF (NULL: value only). F and dF are double, pairs->points x Z. */
ep_status ep_objective_value(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *pairs,
                             const ep_objective *objective);

EP_END
