#pragma once
/* How good is a representation: what simple classifiers make of it, and numbers that need no labels. */
#include <eigenpair/run.h>

EP_BEGIN

/* All probes see x, or (x - mean) / sd of the training part (0 where sd = 0).
 *
 *   linear  multinomial logistic regression: 1/n sum_i -log softmax(W x_i + b)_{y_i} + ridge/2 |W|^2, by L-BFGS
 *   svm     one against the rest: 1/2 |w|^2 + cost sum_i max(0, 1 - y_i w'x_i)^2, x with a 1 behind it
 *   ridge   one against the rest: 1/n sum_i |W x_i + b - y_i|^2 + penalty |W|^2, y = 1 or -1; closed form
 *   knn     votes exp(cos(x, x_i) / temperature) of the nearest neighbours (Wu et al. 2018)
 *
 * A penalty `auto` is the best of 1e-6 .. 1 on a tenth of the training points, held out; then all are used.
 * Standardisation by default (auto) serves linear, ridge and svm, whose penalties would otherwise depend on units; knn measures
 * angles in the representation as it is, since the scale of its coordinates is part of it. */
typedef enum { EP_STANDARDISE_AUTO, EP_STANDARDISE_ON, EP_STANDARDISE_OFF } ep_standardise;

#define EP_PROBE_OPTIONS(X, S)                                                                   \
  X(S, CHOICE, standardise, "auto", 0, 0, ep_standardise_name,                                   \
    "mean 0 and deviation 1 by the training part; auto: for all but knn")                        \
  X(S, REAL, holdout, "0.2", 0.001, 0.999, NULL,                                                 \
    "without a test embedding: share of the points kept for testing, drawn with --seed")         \
  X(S, REAL, ridge, "1e-4", 0, 1e12, ep_auto_name,                                               \
    "linear: penalty ridge/2 |W|^2 beside the mean loss; auto: least loss on held-out training " \
    "points")                                                                                    \
  X(S, REAL, penalty, "auto", 0, 1e12, ep_auto_name,                                             \
    "ridge: penalty |W|^2 beside the mean square; auto: the best on held-out training points")   \
  X(S, REAL, cost, "0.01", 1e-12, 1e12, NULL, "svm: weight of the sum of squared hinges")        \
  X(S, REAL, tolerance, "1e-4", 1e-9, 0.5, NULL,                                                 \
    "linear, svm: stop when the gradient is this small a part of what it was at the start")      \
  X(S, INT, iterations, "1000", 1, 1e6, NULL, "linear, svm: at most so many iterations")         \
  X(S, INT, neighbours, "20", 1, 1e6, NULL, "knn: neighbours that vote")                         \
  X(S, REAL, temperature, "0.07", 1e-6, 1e6, NULL, "knn: votes are exp(cosine / temperature)")

typedef struct {
  EP_PROBE_OPTIONS(EP_OPT_FIELD, )
} ep_probe_config;
extern const ep_option ep_probe_options[];

/* Points with their labels, which are any whole numbers. */
typedef struct {
  const ep_mat *X; /* (n, Z), any precision */
  const int *labels;
  struct ep_reader
      *reader; /* NULL: X is in memory; else it is a shape, and rows are read when asked for */
} ep_labelled;

typedef struct {
  const char *name;
  double accuracy, train_accuracy;
  ptrdiff_t train, test; /* points */
  ptrdiff_t unseen;      /* test points whose label no training point has: they count as wrong */
  ptrdiff_t
      judged; /* training points behind train_accuracy (knn: at most 10,000, never its own neighbour) */
  bool held_out; /* test points were split off the training points */
  bool standardised;
  double penalty; /* linear, ridge: as given, or as chosen; NAN: none */
  bool converged; /* within the tolerance; knn has nothing to converge */
  long iterations;
  ptrdiff_t classes;
  int *label; /* of class c, ascending; owned */
  ptrdiff_t
      *confusion; /* [true class * classes + class found], test points but the unseen; owned */
} ep_probe_result;

/* Trains probe `name` on train and judges it on test; test NULL: on a part of train held out. A clear error if there are
 * fewer than two classes. The same seed, the same result. */
ep_status ep_probe_run(ep_run *run, ep_probe_result *out, const char *name,
                       const ep_labelled *train, const ep_labelled *test,
                       const ep_probe_config *config, const ep_run_config *settings);
void ep_probe_result_free(ep_probe_result *r);
double ep_probe_class_accuracy(const ep_probe_result *r, ptrdiff_t c); /* NaN without test points */

/* ---- without labels */

#define EP_METRICS_OPTIONS(X, S)                      \
  X(S, INT, uniformity_points, "10000", 2, 1e6, NULL, \
    "uniformity over all pairs of at most so many points, drawn with --seed")

typedef struct {
  EP_METRICS_OPTIONS(EP_OPT_FIELD, )
} ep_metrics_config;
extern const ep_option ep_metrics_options[];

/* u(x) = f(x) / |f(x)|, 0 for 0 (Wang and Isola 2020) */
typedef struct {
  ptrdiff_t points, dimensions;
  double rankme, effective_rank;                /* subspace.h */
  double alignment;                             /* mean |u(x) - u(x+)|^2; NaN without positives */
  double uniformity;                            /* log mean_{i<j} exp(-2 |u_i - u_j|^2) */
  double uniformity_error;                      /* standard error; 0 where all pairs were taken */
  ptrdiff_t uniformity_points;                  /* all pairs of so many points */
  double spread_min, spread_median, spread_max; /* standard deviations of the dimensions */
  ptrdiff_t dead;                               /* dimensions that are constant to rounding */
  double
      correlation; /* mean |correlation| of two dimensions that are alive; NaN for fewer than two */
  bool collapsed;
  char collapse[160]; /* a sentence that says whether, and how */
} ep_metrics;

/* `positives` (NULL: none) has the positive of row i of E in row i. Collapsed means one of three things: the points' spread is
 * below 1e-4 of their length; they lie on a line (effective rank below 1.05); both ranks are below a tenth of what Z
 * dimensions and n points allow. */
ep_status ep_metrics_of(ep_run *run, ep_metrics *out, const ep_mat *E, const ep_mat *positives,
                        const ep_metrics_config *config, const ep_run_config *settings);

/* Nearest neighbours, exactly: blocked products find candidates, plain differences order them. */

/*   cosine     1 - x'y / (|x| |y|), 1 where one of them is zero
 *   euclidean  |x - y| */
typedef enum { EP_COSINE, EP_EUCLIDEAN } ep_metric;
const char *ep_metric_name(int i); /* NULL past the last */

/* who (n x k): the rows of `points` nearest to each row of `queries`, nearest first, of equal ones the lower index;
 * distance (n x k, NULL: not wanted) theirs. queries NULL: the points themselves, none being its own neighbour. Any two
 * precisions; the arithmetic is in double, and what lies below the rounding of its products (10^-16 of the squared spread
 * of the points, or of 1 for cosines) may be taken for equal. */
ep_status ep_neighbours(ep_run *run, ptrdiff_t *who, double *distance, const ep_mat *queries,
                        const ep_mat *points, ptrdiff_t k, ep_metric metric);

EP_END
