#pragma once
/* Rows of a matrix that is not in memory; X is then its shape, without data. */
#include <eigenpair/matrix.h>

/* to (m x D, double) = rows index[0 .. m-1], or from `first` on where index is NULL; from any thread. What goes wrong is kept:
 * the rows are zeros then, and whoever began the work looks at `status` when it ends. */
typedef struct ep_reader {
  ep_status (*read)(const ep_mat *to, void *user, const ptrdiff_t *index, ptrdiff_t first);
  void *user;
  _Atomic ep_status status;
  char message[400];
} ep_reader;

void ep_reader_read(ep_reader *r, const ep_mat *to, const ptrdiff_t *index, ptrdiff_t first);
ep_status ep_reader_check(const ep_reader *r); /* NULL is fine */
