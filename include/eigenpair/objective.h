#pragma once
/* Similarities and losses: F (points x Z) -> L and dL/dF. Theory: section 3.
 *
 * Both similarities are inner products of one map of the points, s(x, y) = u(x)'u(y): u = f (dot) or
 * u = f / (|f| + delta) (cosine). So a similarity is that map and its derivative, and a loss is a
 * function of u. Everything here is double: F is small. */
#include <eigenpair/dataset.h>
#include <eigenpair/matrix.h>
#include <eigenpair/options.h>

EP_BEGIN

typedef enum {
  EP_SIMILARITY_AUTO,
  EP_SIMILARITY_DOT,
  EP_SIMILARITY_COSINE,
  EP_SIMILARITIES
} ep_similarity_kind;

#define EP_OBJECTIVE_OPTIONS(X, S)                                                              \
  X(S, NAME, loss, "linear", 0, 0, ep_loss_name, "what is minimised",                           \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                            \
  X(S, CHOICE, similarity, "auto", 0, 0, ep_similarity_option,                                  \
    "of pairs; auto: dot for spectral and method whitened, none for barlow and vicreg, else "   \
    "cosine",                                                                                   \
    EP_FOR(NETWORK, SUMS, SAME))                                                                \
  X(S, REAL, delta, "0.01", 1e-12, 1e6, NULL, "cosine: added to every norm",                    \
    EP_FOR(NETWORK, SUMS, SAME))                                                                \
  X(S, REAL, temperature, "0.5", 1e-6, 1e6, NULL, "softmax, ntxent: tau",                       \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                            \
  X(S, REAL, epsilon, "1", 0, 1e6, NULL, "softmax: weight of the positives in the denominator", \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                 \
  X(S, REAL, off_diagonal, "0.005", 0, 1e6, NULL,                                               \
    "barlow: weight of the off-diagonal correlations", EP_FOR(ANY, NO_SUMS, SAME))              \
  X(S, REAL, invariance, "25", 0, 1e6, NULL, "vicreg: weight of the distance of the two views", \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                 \
  X(S, REAL, variance, "25", 0, 1e6, NULL, "vicreg: weight of the variance hinge",              \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                 \
  X(S, REAL, covariance, "1", 0, 1e6, NULL, "vicreg: weight of the covariances",                \
    EP_FOR(ANY, NO_SUMS, SAME))

typedef struct {
  EP_OBJECTIVE_OPTIONS(EP_OPT_FIELD, )
} ep_objective_config;

typedef struct ep_loss ep_loss;             /* a row of the table of losses */
typedef struct ep_similarity ep_similarity; /* a row of the table of similarities */

typedef struct {
  const ep_loss *loss;
  const ep_similarity *similarity;
  ep_objective_config config;
} ep_objective;

/* Looks the names up. The similarity is the one the loss prescribes, where it prescribes one. */
ep_status ep_objective_parse(ep_objective *out, const ep_objective_config *config);
bool ep_objective_positives_only(
    const ep_objective *objective); /* needs no negatives to be drawn */

/* Contrastive covariance (OPTIMA eq. 3). Theory: section 9. Rows a_i, b_i of first views, a'_i, b'_i of second ones,
 * weights alpha (N x N) that say how much a pair (i, j) counts:
 *
 *   C_alpha[a,b] = 1/(2N^2) sum_ij alpha_ij [ (a_i-a_j)(b_i-b_j)' - (a_i-a'_i)(b_i-b'_i)' ]
 *                = 1/(2N^2) [ a'L b - (a-a')' D_r (b-b') ],   L = D_r + D_c - alpha - alpha',
 *
 * D_r and D_c the row and column sums of alpha. L is never formed, and alpha only some rows at a time:
 *   uniform                     O(N k)      memory and time, k the columns L is applied to
 *   gaussian, infonce, f in R   O(N k)      by sums over the line (objective/gauss.c)
 *   any other                   O(N^2 k)    as products of blocks, O(N) memory beside the operands. */

/* uniform          1                                              quadratic loss
 * gaussian:TAU     exp(-|f_i-f_j|^2 / (2 tau)), f of the points before augmentation
 * infonce:TAU[,E]  e^{-d_ij/tau} / (E e^{-d_i/tau} + sum_{k != i} e^{-d_ik/tau}), d_ij = |f_i-f_j|^2/2 of first views,
 *                  d_i = |f_i-f'_i|^2/2 of the two views of i; 0 for j = i
 * triplet:MARGIN   1 where d_i - d_ij + margin > 0, j != i
 * given            a matrix */
typedef enum {
  EP_ALPHA_UNIFORM,
  EP_ALPHA_GAUSSIAN,
  EP_ALPHA_INFONCE,
  EP_ALPHA_TRIPLET,
  EP_ALPHA_GIVEN
} ep_alpha_kind;

#define EP_ALPHA_OPTIONS(X, S)                                                                  \
  X(S, NAME, weights, "uniform", 0, 1, ep_alpha_name,                                           \
    "of pairs in the contrastive covariance: gaussian:TAU, infonce:TAU[,EPSILON], "             \
    "triplet:MARGIN",                                                                           \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                            \
  X(S, TEXT, alpha, "", 0, 0, NULL, "contrastive covariance: N x N matrix for --weights given", \
    EP_FOR(TRAINING, NO_SUMS, SAME))

typedef struct {
  ep_alpha_kind kind;
  double tau;     /* of gaussian and infonce; margin of triplet */
  double epsilon; /* of infonce; default 0 */
  ep_mat given;   /* (N, N) double; owned where ep_alpha_load read it */
  /* (1, N) how often a point counts, mean 1: alpha_ij is then m_i m_j times the above, and infonce's sum over k has m_k
   * and k = i, as if there were many copies of each point (and no E). data NULL: once each. Owned. */
  ep_mat mass;
} ep_alpha;

EP_END
