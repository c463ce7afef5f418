#pragma once
/* What the closed forms sum over anchors, in double whatever the run's precision: sums over parts of the data add up.
 *
 *   whitened  psi = sum over views of psi_v,  B = sum over views of psi_v psi_v',  C = sum over groups of s s', s = sum_v psi_v
 *   pca       C = sum over anchors of psi_n t_n', t_n = sum_q a_q psi_nq
 *
 * A group is an anchor and its positives. */
#include "method/closed.h"

typedef struct {
  ep_precision prec;            /* of the products */
  double anchors, views, pairs; /* pairs: of different views of one group, both orders */
  ep_mat psi;                   /* (1, M); whitened */
  ep_mat B;                     /* (M, M) upper triangle; whitened */
  ep_mat C;                     /* (M, M); whitened: upper triangle */
  ep_dist *spread; /* NULL: whole matrices; else B and C are this rank's parts, both triangles */
  bool lent;       /* spread is another sum's; else owned */
} ep_sum;

ep_status ep_sum_new(ep_sum *out, ptrdiff_t features, bool whitened); /* zeros; owned */
/* Of whitened, for matrices spread over ranks; `spread` is taken over. */
ep_status ep_sum_new_spread(ep_sum *out, ep_dist *spread);
/* Zeros of the same shape, spread like it; `like` outlives it. */
ep_status ep_sum_new_like(ep_sum *out, const ep_sum *like);
ptrdiff_t ep_sum_features(const ep_sum *sum);
void ep_sum_free(ep_sum *sum);
bool ep_sum_is_whitened(const ep_sum *sum);
void ep_sum_add(const ep_sum *to, const ep_sum *from); /* matrices; counts are ep_sum_count's */
void ep_sum_count(ep_sum *to, const ep_sum *from);
/* Adds the anchors of the points. pca keeps features that are met again, within `memory`. */
ep_status ep_sum_whitened(ep_sum *sum, const ep_map *map, const ep_points *points);
ep_status ep_sum_whitened_some(ep_sum *sum, const ep_map *map, const ep_points *points,
                               ep_share anchors);
ep_status ep_sum_pca(ep_sum *sum, const ep_map *map, const ep_points *points, double memory);
/* Bytes that a sum of so many features takes, and adding to it besides. */
double ep_sum_bytes(ptrdiff_t features, bool whitened);
double ep_sum_scratch(ptrdiff_t features, ep_precision prec);
double ep_sum_spread_bytes(const ep_dist *spread, const ep_mat *X); /* both; of points like X */

/* Whole covariances of `features` on every rank (*out NULL), or spread over them: as --solver asks, or where they do not
 * fit. X: what is to be summed, its shape; NULL: the sums are there, in a file. */
ep_status ep_whitened_place(ep_dist **out, ptrdiff_t features, const ep_mat *X,
                            const ep_setup *setup);

/* The method's own eigenproblem and what it says of it, from a sum over all anchors, which is lost: W (M x Z) and the
 * model's offset. */
ep_status ep_whitened_solve(const ep_mat *W, ep_model *model, ep_fit_info *info, ep_sum *sum,
                            const ep_setup *setup);
ep_status ep_primal_solve(const ep_mat *W, double *lambda, ep_eigen_info *info, const ep_sum *sum,
                          const ep_setup *setup);
