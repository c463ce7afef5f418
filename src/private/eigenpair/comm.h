#pragma once
/* Ranks, for work within a run (ep_run_set_comm): what run.h says of them, shares and sums. */
#include <eigenpair/run.h>
#include <stdint.h>

/* Two symmetric matrices A and B of one order, spread over the ranks: for eigenproblems that are too large for one of them.
 * This rank's part of a matrix has cols rows of `rows` numbers, row-major: number (a, b) is entry (col[a], row[b]) of the
 * whole, both triangles filled in. Matrices of `order` rows are whole and the same on every rank, without gaps, double.
 * Every rank makes every call. */
typedef struct ep_dist {
  const struct ep_comm *comm;
  ptrdiff_t order, rows, cols;
  const ptrdiff_t *row, *col;
  char what[256];                                      /* who does it, in words */
  ep_status (*cholesky)(struct ep_dist *s, double *B); /* B <- L, B = LL' */
  ep_status (*solve)(struct ep_dist *s, const ep_mat *X, double *L, ep_trans t); /* X <- L^{-1} X */
  ep_status (*mul)(struct ep_dist *s, const ep_mat *Y, double *A, const ep_mat *X); /* Y = A X */
  /* The largest eigenpairs of L^{-1} A L'^{-1}, falling: V (order x k), lambda[k + 1] (NAN past the last), the largest
   * residual. A is lost. */
  ep_status (*eigen)(struct ep_dist *s, const ep_mat *V, double *lambda, double *residual,
                     double *A, double *L);
  void (*free)(struct ep_dist *s);
} ep_dist;

int ep_comm_rank(void);
int ep_comm_size(void); /* 1: alone */

/* This rank's share of n rows. */
typedef struct {
  ptrdiff_t first, count;
} ep_share;
ep_share ep_comm_share(ptrdiff_t n);
ep_mat ep_comm_rows(const ep_mat *A); /* view of this rank's share of the rows */

/* Points of the columns of a symmetric matrix whose rows belong to the points X: NULL, which is X again and half of the
 * work, for one rank alone; X for a rank that has only its share of the rows. */
const ep_mat *ep_comm_columns(const ep_mat *X);

/* A += that of the other ranks; rows of A without gaps. */
ep_status ep_comm_sum(const ep_mat *A);
/* Every rank has its share of the rows of A: now all have all. Rows without gaps. */
ep_status ep_comm_gather(const ep_mat *A);
/* A place for matrices of this order, spread over the ranks; for ep_dist_free. */
ep_status ep_comm_spread(ep_dist **out, ptrdiff_t order, bool elpa);
bool ep_comm_can_spread(void); /* is there more than one rank, and someone who can? */
void ep_dist_free(ep_dist *s); /* NULL is fine */
/* Do all ranks have the same print of what `name` holds? The error, the same on all, names the first that has another. */
ep_status ep_comm_same(uint64_t print, const char *name);
/* True on all ranks if it is on one. */
ep_status ep_comm_any(bool *flag);
