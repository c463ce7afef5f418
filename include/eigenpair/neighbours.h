#pragma once
/* Nearest neighbours, exactly: blocked products find candidates, plain differences order them. */
#include <eigenpair/run.h>

EP_BEGIN

/*   cosine     1 - x'y / (|x| |y|), 1 where one of them is zero
 *   euclidean  |x - y| */
typedef enum { EP_COSINE, EP_EUCLIDEAN } ep_metric;
const char *ep_metric_name(int i); /* NULL past the last */

/* who (n x k): the rows of `points` nearest to each row of `queries`, nearest first, of equal ones the lower index;
 * distance (n x k, NULL: not wanted) theirs. queries NULL: the points themselves, none being its own neighbour. Any two
 * precisions; the arithmetic is in double, and what lies below the rounding of its products (10^-16 of the squared spread
 * of the points, or of 1 for cosines) may be taken for equal. */
ep_status ep_neighbours(ep_run *run, ptrdiff_t *who, double *distance, const ep_mat *queries,
                        const ep_mat *points, ptrdiff_t k, ep_metric metric);

EP_END
