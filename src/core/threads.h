#pragma once
/* When to wake other threads: waking and joining them costs some microseconds alone, and far more beside other work. */
#include "core/crew.h"

#include <eigenpair/matrix.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool ep_worth_threads(double operations) { return operations > 2e6; }
/* for a loop over the entries of A: reading one takes longer than an operation */
static inline bool ep_worth_entries(const ep_mat *A) {
  return ep_worth_threads(4. * (double)A->rows * (double)A->cols);
}
/* rows of a shared loop to take at once, so that these hold about so many numbers */
static inline ptrdiff_t ep_rows_at_once(ptrdiff_t cols, ptrdiff_t numbers) {
  return cols > 0 && cols < numbers ? numbers / cols : 1;
}
/* a loop over the rows of A that reads or writes their entries: a turn is a row */
static inline void ep_crew_rows(const ep_mat *A, ep_turns *turns, void *loop) {
  ep_crew_loop(A->rows, ep_rows_at_once(A->cols, 32768), ep_worth_entries(A), turns, loop);
}
