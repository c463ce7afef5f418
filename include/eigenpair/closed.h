#pragma once
/* Options of the closed forms: their features, the problem they solve, the eigensolver. Theory: section 6. */
#include <eigenpair/options.h>

EP_BEGIN

enum { EP_DESCRIPTION = 400 }; /* room for a sentence on a map or a model */

#define EP_EIGEN_OPTIONS(X, S)                                                                 \
  X(S, INT, block, "0", 0, 1e6, NULL,                                                          \
    "eigensolver: columns of a block; 0: the eigenpairs wanted and 8 more",                    \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                \
  X(S, INT, krylov, "6", 2, 1000, NULL, "eigensolver: blocks of the basis before it restarts", \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                \
  X(S, INT, restarts, "200", 1, 1e6, NULL, "eigensolver: restarts at most",                    \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                \
  X(S, REAL, eigen_tolerance, "1e-10", 1e-15, 1, NULL,                                         \
    "eigensolver: residual relative to the largest eigenvalue", EP_FOR(ANY, NO_SUMS, SAME))
typedef struct {
  EP_EIGEN_OPTIONS(EP_OPT_FIELD, )
} ep_eigen_config;

typedef enum { EP_FILTERS_DATA, EP_FILTERS_GAUSSIAN } ep_filters;

#define EP_FEATURE_OPTIONS(X, S)                                                                 \
  X(S, NAME, features, "dense", 0, 1, ep_features_name,                                          \
    "closed forms: dense (a random network); of images patches[:K[,p[,g]]]: K filters of p x p " \
    "pixels, averaged over a g x g grid; stack:KxP[,..]: whitened patches, see "                 \
    "docs/representations.md; auto: a recipe that fits images, --time and --memory",             \
    EP_FOR(CLOSED, SUMS, SAME))                                                                  \
  X(S, TEXT, time, "10m", 0, 0, NULL,                                                            \
    "--features auto: about so long, such as 90s, 10m, 2h; a thread is taken to do 20 Gflop/s",  \
    EP_FOR(ANY, SUMS, SAME))                                                                     \
  X(S, CHOICE, filters, "data", 0, 0, ep_filters_name,                                           \
    "patches: drawn from the data's own patches, contrast-normalised, or Gaussian",              \
    EP_FOR(CLOSED, SUMS, SAME))
typedef struct {
  EP_FEATURE_OPTIONS(EP_OPT_FIELD, )
} ep_feature_config;

typedef enum { EP_PATH_AUTO, EP_PATH_PRIMAL, EP_PATH_FREE, EP_PATH_DUAL, EP_PATHS } ep_closed_path;
typedef enum { EP_SOLVER_AUTO, EP_SOLVER_LOCAL, EP_SOLVER_SCALAPACK, EP_SOLVER_ELPA } ep_solver;
/* qr: Q of W = QR, R with a non-negative diagonal; polar: W (W'W)^{-1/2}, the orthonormal matrix nearest to W */
typedef enum { EP_RETRACT_QR, EP_RETRACT_POLAR } ep_retraction;
/* What the cosine divides by. features: |phi(Vx)|, the right side of WIDE eq. 9, which makes the linear loss a trace of C;
 * outputs: |f(x)|, the cosine itself. */
typedef enum { EP_NORMS_FEATURES, EP_NORMS_OUTPUTS } ep_norms;

#define EP_CLOSED_OPTIONS(X, S)                                                                    \
  X(S, CHOICE, path, "auto", 0, 0, ep_path_name,                                                   \
    "pca: by C itself, by products with its factors, by the Gram matrix; auto: the cheapest",      \
    EP_FOR(CLOSED, NO_SUMS, SAME))                                                                 \
  X(S, INT, landmarks, "0", 0, 1e7, NULL,                                                          \
    "infinite width: points the kernel is seen from; 0: all, or as many as fit --memory",          \
    EP_FOR(CLOSED, SUMS, SAME))                                                                    \
  X(S, REAL, ridge, "0.01", 0, 1e6, ep_auto_name,                                                  \
    "whitened: ridge, as a share of the mean eigenvalue of the total covariance; auto: by "        \
    "held-out points",                                                                             \
    EP_FOR(CLOSED, NO_SUMS, SAME))                                                                 \
  X(S, REAL, power, "0", 0, 10, NULL,                                                              \
    "whitened: outputs times eigenvalue^power (0.5 serves nearest neighbours)",                    \
    EP_FOR(CLOSED, NO_SUMS, SAME))                                                                 \
  X(S, CHOICE, solver, "auto", 0, 0, ep_solver_name,                                               \
    "whitened under mpirun: the eigenproblem on every rank (local), or spread over them; auto: "   \
    "spread where it does not fit --memory",                                                       \
    EP_FOR(ANY, NO_SUMS, SAME))                                                                    \
  X(S, CHOICE, retraction, "qr", 0, 0, ep_retraction_name,                                         \
    "grassmann: how W comes back to W'W = I after a step", EP_FOR(ANY, NO_SUMS, SAME))             \
  X(S, FLAG, frozen, NULL, 0, 0, NULL, "grassmann: V stays, only W moves: C is that of the start", \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, CHOICE, norms, "features", 0, 0, ep_norms_name,                                             \
    "grassmann: the cosine divides by |phi(Vx)|, WIDE's bound, or by |f(x)|: outputs, as it is",   \
    EP_FOR(ANY, NO_SUMS, SAME))

typedef struct {
  EP_CLOSED_OPTIONS(EP_OPT_FIELD, )
} ep_closed_config;

EP_END
