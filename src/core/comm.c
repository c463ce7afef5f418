/* Shares of work among ranks, and what they exchange (include/eigenpair/comm.h). Only a file of the program knows MPI. */
#include "core/mem.h"

#include <eigenpair/comm.h>
#include <eigenpair/run.h>

static const ep_comm *mine(void) { return ep_run_comm(ep_run_current()); }

int ep_comm_rank(void) { return mine()->rank; }
int ep_comm_size(void) { return mine()->size; }

static ptrdiff_t begin(ptrdiff_t n, int rank, int size) {
  const ptrdiff_t each = n / size, more = n % size;
  return rank * each + (rank < more ? rank : more);
}

ep_share ep_comm_share(ptrdiff_t n) {
  const ep_comm *c = mine();
  const ptrdiff_t first = begin(n, c->rank, c->size);
  return (ep_share){first, begin(n, c->rank + 1, c->size) - first};
}

ep_mat ep_comm_rows(const ep_mat *A) {
  const ep_share s = ep_comm_share(A->rows);
  return ep_mat_rows(A, s.first, s.count);
}

const ep_mat *ep_comm_columns(const ep_mat *X) { return mine()->size == 1 ? NULL : X; }

ep_status ep_comm_sum(const ep_mat *A) {
  const ep_comm *c = mine();
  if (c->size == 1) return EP_OK;
  EP_CHECK(A->ld == A->cols || A->rows <= 1, EP_ERR_ARG, "ranks exchange rows without gaps");
  return c->sum(c, A->data, A->rows * A->cols, A->prec);
}

ep_status ep_comm_gather(const ep_mat *A) {
  const ep_comm *c = mine();
  if (c->size == 1) return EP_OK;
  EP_CHECK(A->ld == A->cols || A->rows <= 1, EP_ERR_ARG, "ranks exchange rows without gaps");
  ptrdiff_t *first = ep_alloc(c->size + 1, sizeof *first);
  EP_CHECK(first, EP_ERR_NOMEM, "no memory for the shares of %d ranks", c->size);
  for (int r = 0; r <= c->size; r++) first[r] = begin(A->rows, r, c->size);
  const ep_status st = c->gather(c, A->data, first, (size_t)A->cols * ep_sizeof(A->prec));
  ep_release(first);
  return st;
}

bool ep_comm_can_spread(void) { return mine()->size > 1 && mine()->spread; }

ep_status ep_comm_spread(ep_dist **out, ptrdiff_t order, bool elpa) {
  const ep_comm *c = mine();
  *out = NULL;
  EP_CHECK(c->spread, EP_ERR_ARG,
           "--solver %s spreads the eigenproblem over ranks: build with `cmake --preset mpi`, run "
           "under mpirun",
           elpa ? "elpa" : "scalapack");
  return c->spread(c, out, order, elpa);
}

void ep_dist_free(ep_dist *s) {
  if (s) s->free(s);
}

ep_status ep_comm_same(uint64_t print, const char *name) {
  const ep_comm *c = mine();
  ep_mat all;
  int other = 0;
  if (c->size == 1) return EP_OK;
  EP_TRY(ep_mat_new(&all, EP_DOUBLE, c->size, 2));
  *ep_d(&all, c->rank, 0) = (double)(print >> 32);
  *ep_d(&all, c->rank, 1) = (double)(print & 0xffffffffu);
  const ep_status st = ep_comm_gather(&all);
  for (int r = c->size - 1; !st && r > 0; r--)
    for (int k = 0; k < 2; k++)
      if (*ep_d(&all, r, k) != *ep_d(&all, 0, k)) other = r;
  ep_mat_free(&all);
  EP_CHECK(st || !other, EP_ERR_INPUT,
           "%s: is another file for rank %d than for rank 0: all ranks have to see the same", name,
           other);
  return st;
}

ep_status ep_comm_any(bool *flag) {
  const ep_comm *c = mine();
  double count = *flag;
  if (c->size == 1) return EP_OK;
  EP_TRY(c->sum(c, &count, 1, EP_DOUBLE));
  *flag = count > 0;
  return EP_OK;
}
