#pragma once
/* Back to orthonormal columns after a step: W (n x k) -> a matrix with W'W = I. */
#include <eigenpair/matrix.h>

/* qr     Q of W = QR, R with a non-negative diagonal
 * polar  W (W'W)^{-1/2}, the orthonormal matrix nearest to W */
typedef enum { EP_RETRACT_QR, EP_RETRACT_POLAR } ep_retraction;

const char *ep_retraction_name(int i); /* NULL past the last */

/* W (double, n >= k) in place, by the retraction of that number. A W of less than full rank is completed by some
 * orthonormal columns. Entries have to be finite. */
ep_status ep_retract(const ep_mat *W, int which);
