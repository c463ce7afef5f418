#pragma once
/* Maps of points by the graph of their nearest neighbours. */
#include <eigenpair/matrix.h>
#include <stdint.h>

/* W = (A + A') / 2, A_ij = 1 where j is a neighbour of i: row i is to[start[i]] .. to[start[i + 1] - 1] with its weights
 * (1 where it holds both ways, 1/2 if not). */
typedef struct {
  ptrdiff_t count, *start, *to;
  double *weight, *degree; /* degree_i = sum_j W_ij */
} ep_graph;

/* who (n x k): the neighbours of every point. The graph is work's. */
ep_status ep_graph_new(ep_graph *out, ep_work *work, const ptrdiff_t *who, ptrdiff_t n,
                       ptrdiff_t k);

/* Laplacian eigenmap: Y (n x d, double) = T^{-1/2} v_2 .. v_{d+1}, v_1, v_2, .. the eigenvectors of the largest eigenvalues
 * lambda of T^{-1/2} (W + t/n 11') T^{-1/2}, T = diag(degree) + t. The small t (a hundredth of the mean degree) ties parts of
 * the graph that no edge joins, whose eigenvectors would otherwise be any mixture of their indicators. lambda (d) leaves
 * the first one, which is 1, out. */
ep_status ep_graph_eigenmap(const ep_mat *Y, double *lambda, const ep_graph *graph, uint64_t seed);

/* Y (n x 2, double), of which the order along each axis is the start -> a layout in which neighbours attract each other and all points repel each other:
 *
 *   y_i += a [ sum_j W_ij (y_j - y_i) / (1 + d_ij^2) / degree_i
 *              + 5/2 mean over s of (y_i - y_s) / ((1/1000 + d_is^2) (1 + d_is^2)) ],   d_ij = |y_i - y_j|
 *
 * with a falling from 1 to 0 and eight points s drawn anew each time: the forces of UMAP (McInnes et al. 2018) with a = b = 1,
 * on all points at once, so that the result does not depend on the number of threads. */
ep_status ep_graph_layout(const ep_mat *Y, const ep_graph *graph, long steps, uint64_t seed);
