#pragma once
/* What the probes share: parts of labelled points, linear scores, cosines in tiles. */
#include "spectral/tall.h"

#include <eigenpair/comm.h>
#include <eigenpair/neighbours.h>
#include <eigenpair/probe.h>
#include <stdint.h>

/* Points and the numbers of their classes (-1: a class no training point has). */
typedef struct {
  ep_tall rows;
  const int *class;
} ep_part;

typedef struct {
  ep_part train, test, judged; /* judged: training points that train_accuracy is taken from */
  const ptrdiff_t *own;        /* judged point i is training point own[i] */
  ptrdiff_t classes;
  const ep_probe_config *config;
  const ep_run_config *run;
} ep_probe_task;

/* A probe either makes weights W (classes x Z+1, in work) whose largest score wins, or finds classes in its own way:
 * found[i] of test point i, own_found[i] of judged point i. */
typedef ep_status ep_weights_fn(ep_mat *W, ep_probe_result *info, ep_work *work,
                                const ep_probe_task *task);
typedef ep_status ep_classes_fn(int *found, int *own_found, ep_work *work,
                                const ep_probe_task *task);
ep_weights_fn ep_linear_fit, ep_ridge_fit, ep_svm_fit;
ep_classes_fn ep_knn_classes;

/* ---- linear.c: the last column of W meets a 1 behind every point */

/* Scratch of the logistic loss; groups of points are worked on side by side and added up in order. */
typedef struct {
  const ep_part *part;
  double ridge;
  ptrdiff_t groups, classes;
  ep_mat *block, *scores, *gradient; /* one a group */
  double *loss;
} ep_logistic;
ep_status ep_logistic_new(ep_logistic *out, ep_work *work, const ep_part *part, ptrdiff_t classes,
                          double ridge, double memory);
/* Returns L(W), dW = dL/dW */
double ep_logistic_loss(const ep_mat *dW, const ep_logistic *l, const ep_mat *W);
/* found[i] = argmax_c (W x_i)_c, the lowest of equals */
ep_status ep_linear_classify(int *found, const ep_tall *rows, const ep_mat *W);
ep_status ep_found_gather(int *found, ptrdiff_t count); /* every rank has found its share */
/* block (m x Z+1) = rows first .. with a 1 behind them */
void ep_linear_rows(const ep_mat *block, const ep_tall *rows, ptrdiff_t first);

/* ---- probe.c: 0 .. n-1 in two parts drawn with the seed, each ascending, so that a file is read from its beginning to its end */
void ep_split(ptrdiff_t *order, ptrdiff_t n, ptrdiff_t first, uint64_t seed, uint32_t what);

/* ---- ridge.c: penalties chosen on training points, a tenth of them held out */
enum { EP_PENALTIES = 7 };
extern const double ep_penalties[EP_PENALTIES];
ep_status ep_penalty_parts(ep_part *fit, ep_part *judge, ep_work *work, const ep_probe_task *task);

/* ---- tiles.c: how near all rows of A and B are, never all pairs at once */

/* S (m x l): rows row .. row + m - 1 of A with rows col .. col + l - 1 of B,
 *
 *   cosine     a'b / (|a| |b|), 0 where one of them is zero
 *   euclidean  a'b - |b|^2 / 2, which for one a falls with |a - b|
 *
 * For one row the calls come with rising col and never at the same time; for different rows they may. */
typedef void ep_tile_fn(void *user, const ep_mat *S, ptrdiff_t row, ptrdiff_t col);
ep_status ep_tiles(const ep_tall *A, const ep_tall *B, ep_metric metric, ep_tile_fn *use,
                   void *user, const char *what);
double ep_tiles_bytes(ptrdiff_t dimensions); /* scratch of ep_tiles */
/* rows first .. of `rows`, each divided by its length; zero stays zero */
void ep_unit_rows(const ep_mat *to, const ep_tall *rows, ptrdiff_t first);

/* ---- neighbours.c */

/* The k nearest of every row of A among B by the tiles' numbers, nearest first; of equal ones the first. Row i of A is row
 * own[i] of B and no neighbour of itself (own NULL: it is none of them). closeness and who (A->count x k) are work's. */
typedef struct {
  ptrdiff_t k;
  const ptrdiff_t *own;
  double *closeness;
  ptrdiff_t *who;
} ep_nearest;
ep_status ep_nearest_find(ep_nearest *n, ep_work *work, const ep_tall *A, const ep_tall *B,
                          ep_metric metric, const char *what);

/* ---- clusters.c */

/* class[i] of row i by k-means, the largest class first; cosine: of rows on the unit sphere */
ep_status ep_clusters(int *class, const ep_mat *E, ptrdiff_t clusters, ep_metric metric,
                      uint64_t seed);
