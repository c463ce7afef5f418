/* A w = lambda (B + r I) w where B, and A with it, has rank p far below its order n, as covariances of few points have. Eigenvectors
 * of lambda > 0 lie in the span of B's columns:
 *
 *   Q = orth(B Omega), Omega (n, p) random;  Q'AQ u = lambda (Q'BQ + r I) u,  w = Q u
 *
 * a problem of order p. Of a large n the other way takes long besides, for few points with many features have many pairs of
 * views that agree: eigenvalues close to 1 that block Krylov cannot tell apart. */
#include "core/mem.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>

static double trace(const ep_mat *B) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < B->rows; i++) sum += *ep_d(B, i, i);
  return sum;
}

/* out = Q'BQ */
static void within(const ep_mat *out, const ep_mat *B, const ep_mat *Q, const ep_mat *scratch) {
  ep_mat_mul(scratch, 1, B, EP_N, Q, EP_N, 0);
  ep_mat_mul(out, 1, Q, EP_T, scratch, EP_N, 0);
  ep_mat_symmetrise(out);
}

static ep_status solve(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *info,
                       const ep_mat *A, const ep_mat *B, double ridge, ptrdiff_t p, double rounding,
                       const ep_eigen_config *config, uint64_t seed) {
  const ptrdiff_t n = A->rows;
  ep_mat Q, T, R, a, U;
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, n, p));
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, n, p));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, p, p));
  EP_TRY(ep_work_mat(work, &a, EP_DOUBLE, p, p));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, p, W->cols));
  ep_random_fill_normal(&T, seed, EP_STREAM_KRYLOV, 1);
  ep_mat_mul(&Q, 1, B, EP_N, &T, EP_N, 0);
  const ep_status st = ep_mat_qr(&Q, &R);
  if (st)
    return st == EP_ERR_NUMERIC ? EP_OK : st; /* numbers that are not finite: the others say so */
  EP_TRY(ep_run_step("products", 0, 0));
  within(&R, B, &Q, &T);
  if (trace(B) - trace(&R) > config->eigen_tolerance * ridge + rounding * trace(B)) return EP_OK;
  within(&a, A, &Q, &T);
  for (ptrdiff_t i = 0; i < p; i++) *ep_d(&R, i, i) += ridge;
  if (ep_mat_cholesky(&R) != EP_OK) return EP_OK;
  EP_TRY(ep_eigen_generalised(&U, lambda, info, &a, &R, config, seed));
  if (!(lambda[W->cols - 1] > 0)) info->converged = false; /* there are zeros outside the span */
  ep_mat_mul(W, 1, &Q, EP_N, &U, EP_N, 0);
  ep_eigen_signs(W);
  return EP_OK;
}

ep_status ep_eigen_span(const ep_mat *W, double *lambda, ep_eigen_info *info, const ep_mat *A,
                        const ep_mat *B, double ridge, double rank, double rounding,
                        const ep_eigen_config *config, uint64_t seed) {
  const double n = (double)A->rows;
  *info = (ep_eigen_info){.next = NAN};
  if (3 * rank > n || rank < (double)W->cols || ridge <= 0 ||
      8 * rank * (2 * n + 7 * rank) > ep_run_room())
    return EP_OK;
  ep_work work = {0};
  const ptrdiff_t p = (ptrdiff_t)rank;
  const ep_status st = solve(&work, W, lambda, info, A, B, ridge, p, rounding, config, seed);
  info->span = p;
  ep_work_free(&work);
  return st;
}
