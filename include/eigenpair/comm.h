#pragma once
/* What the library asks of a parallel machine: several processes, the ranks, that make the same calls with the same
 * arguments. What each computes alone is a share of rows or anchors; the rest is the same on all of them, to the last
 * bit, and so are all random numbers. Files are written by rank 0 alone. Alone, which is the default: nothing to do. */
#include <eigenpair/matrix.h>
#include <stdbool.h>

EP_BEGIN

typedef struct ep_comm {
  int rank, size;
  void *impl;
  /* x (n numbers) += those of the other ranks, in the order of ranks: the same bits everywhere and every time */
  ep_status (*sum)(const struct ep_comm *comm, void *x, ptrdiff_t n, ep_precision prec);
  /* rank r has filled in rows first[r] .. first[r + 1] - 1 of x, each of `bytes`; afterwards all are there */
  ep_status (*gather)(const struct ep_comm *comm, void *x, const ptrdiff_t *first, size_t bytes);
  /* from rank 0 */
  ep_status (*broadcast)(const struct ep_comm *comm, void *x, size_t bytes);
} ep_comm;

/* ---- for work within a run (ep_run_set_comm) */

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
/* True on all ranks if it is on one. */
ep_status ep_comm_any(bool *flag);

EP_END
