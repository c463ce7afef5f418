#pragma once
/* Back to orthonormal columns after a step: W (n x k) -> a matrix with W'W = I. */
#include <eigenpair/closed.h>
#include <eigenpair/matrix.h>

const char *ep_retraction_name(int i); /* NULL past the last */

/* W (double, n >= k) in place, by the retraction of that number. A W of less than full rank is completed by some
 * orthonormal columns. Entries have to be finite. */
ep_status ep_retract(const ep_mat *W, int which);
