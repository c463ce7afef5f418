#pragma once
/* A .npy file that is written in pieces, in any order, by several ranks: each its own rows. Rank 0 makes it, on a disk that
 * all of them see; it appears under its name with the commit. */
#include <eigenpair/matrix.h>

typedef struct ep_npy_owned ep_npy_owned; /* owned by the caller until ep_npy_owned_close */
ep_status ep_npy_owned_create(ep_npy_owned **out, const char *path, ep_precision prec, int ndim,
                              const ptrdiff_t *shape);
/* A stands at this row, and within rows at this number. */
ep_status ep_npy_owned_put(ep_npy_owned *f, const ep_mat *A, ptrdiff_t row, ptrdiff_t col);
ep_status ep_npy_owned_commit(ep_npy_owned *f); /* by all ranks */
void ep_npy_owned_close(
    ep_npy_owned *f); /* NULL is fine; without a commit nothing is left behind */
