#include "data/patterns.h"

#include <eigenpair/random.h>
#include <math.h>
#include <omp.h>

static const uint32_t patterns_stream = UINT32_MAX, tilt_stream = UINT32_MAX - 1; /* past points */

/* |U'U - I|_2 */
static ep_status off_orthogonal(double *out, ep_work *work, const ep_mat *U) {
  const ptrdiff_t m = U->cols;
  double *lambda;
  ep_mat G;
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, m, m));
  EP_TRY(ep_work_get(work, &lambda, m, sizeof *lambda));
  ep_mat_mul(&G, 1, U, EP_T, U, EP_N, 0);
  for (ptrdiff_t i = 0; i < m; i++) *ep_d(&G, i, i) -= 1;
  EP_TRY(ep_mat_eig_sym(&G, lambda));
  *out = fmax(fabs(lambda[0]), fabs(lambda[m - 1]));
  return EP_OK;
}

/* U = columns of Q + t G, made unit */
static void mix(const ep_mat *U, const ep_mat *Q, double t, const ep_mat *G) {
  for (ptrdiff_t k = 0; k < U->cols; k++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < U->rows; j++) {
      *ep_d(U, j, k) = *ep_d(Q, j, k) + t * *ep_d(G, j, k);
      sum += *ep_d(U, j, k) * *ep_d(U, j, k);
    }
    for (ptrdiff_t j = 0; j < U->rows; j++) *ep_d(U, j, k) /= sqrt(sum);
  }
}

/* t by bisection: at t = 1 the columns are as good as random, and farther from orthogonal than any tilt asked for */
static ep_status tilt_by(ep_work *work, const ep_mat *U, double tilt, uint64_t seed) {
  enum { STEPS = 50 };
  ep_mat Q, G;
  double low = 0, high = 1, off;
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, U->rows, U->cols));
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, U->rows, U->cols));
  ep_random_fill_normal(&G, seed, EP_STREAM_DATA, tilt_stream);
  ep_mat_copy(&Q, U);
  for (int i = 0; i < STEPS; i++) {
    ep_work step = {0};
    mix(U, &Q, (low + high) / 2, &G);
    const ep_status st = off_orthogonal(&off, &step, U);
    ep_work_free(&step);
    EP_TRY(st);
    if (off > tilt) high = (low + high) / 2;
    else low = (low + high) / 2;
  }
  mix(U, &Q, low, &G);
  return EP_OK;
}

/* Q of a Gaussian matrix, R's diagonal positive, which makes it uniform */
static ep_status make(ep_work *work, const ep_mat *U, double tilt, uint64_t seed) {
  ep_mat R;
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, U->rows, U->cols));
  ep_random_fill_normal(U, seed, EP_STREAM_DATA, patterns_stream);
  EP_TRY(ep_mat_qr(U, &R));
  return tilt > 0 ? tilt_by(work, U, tilt, seed) : EP_OK;
}

ep_status ep_patterns(ep_mat *U, ptrdiff_t m, double tilt, uint64_t seed) {
  EP_TRY(ep_mat_new(U, EP_DOUBLE, m, m));
  ep_work work = {0};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1); /* blocked factorisations round differently on two */
  const ep_status st = make(&work, U, tilt, seed);
  omp_set_num_threads(threads);
  ep_work_free(&work);
  if (st) ep_mat_free(U);
  return st;
}
