/* Kernel regression by Cholesky, Gaussian-process posteriors, and the law of trained networks. */
#include <eigenpair/regression.h>

static ep_status check(const ep_mat *K, const ep_mat *Y, double ridge) {
  EP_CHECK(K->rows == K->cols && Y->rows == K->rows && K->prec == EP_DOUBLE && Y->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "kernel %td x %td and targets %td x %td do not go together in double",
           K->rows, K->cols, Y->rows, Y->cols);
  EP_CHECK(ridge >= 0, EP_ERR_ARG, "ridge %g is negative", ridge);
  return EP_OK;
}

/* L L' = K + ridge */
static ep_status factor(ep_work *work, ep_mat *L, const ep_mat *K, double ridge) {
  EP_TRY(ep_work_mat(work, L, EP_DOUBLE, K->rows, K->rows));
  ep_mat_copy(L, K);
  for (ptrdiff_t i = 0; i < K->rows; i++) *ep_d(L, i, i) += ridge;
  return ep_mat_cholesky(L);
}

/* B <- (K + ridge)^{-1} B */
static void solve(const ep_mat *B, const ep_mat *L) {
  ep_mat_solve_triangular(B, L, EP_N);
  ep_mat_solve_triangular(B, L, EP_T);
}

ep_status ep_regression_ridge(const ep_mat *C, const ep_mat *K, const ep_mat *Y, double ridge) {
  EP_TRY(check(K, Y, ridge));
  ep_work work = {0};
  ep_mat L;
  const ep_status st = factor(&work, &L, K, ridge);
  if (!st) ep_mat_copy(C, Y);
  if (!st) solve(C, &L);
  ep_work_free(&work);
  return st;
}

static ep_status check_new(const ep_mat *mean, const ep_mat *Kx, const ep_mat *Y) {
  EP_CHECK(Kx->cols == Y->rows && mean->rows == Kx->rows && mean->cols == Y->cols &&
               Kx->prec == EP_DOUBLE && mean->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "kernel %td x %td of new points, mean %td x %td, targets %td x %td",
           Kx->rows, Kx->cols, mean->rows, mean->cols, Y->rows, Y->cols);
  return EP_OK;
}

static void transpose(const ep_mat *to, const ep_mat *from) {
  for (ptrdiff_t i = 0; i < from->rows; i++)
    for (ptrdiff_t j = 0; j < from->cols; j++) *ep_d(to, j, i) = *ep_d(from, i, j);
}

/* with V = L^{-1} Kx':  Kx (K + noise)^{-1} Kx' = V'V,  mean = V' (L^{-1} Y) */
static ep_status posterior(ep_work *work, const ep_mat *mean, double *variance, const ep_mat *K,
                           const ep_mat *Kx, const double *diagonal, const ep_mat *Y,
                           double noise) {
  ep_mat L, V, R;
  EP_TRY(factor(work, &L, K, noise));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, Kx->cols, Kx->rows));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, Y->rows, Y->cols));
  transpose(&V, Kx);
  ep_mat_copy(&R, Y);
  ep_mat_solve_triangular(&V, &L, EP_N);
  ep_mat_solve_triangular(&R, &L, EP_N);
  ep_mat_mul(mean, 1, &V, EP_T, &R, EP_N, 0);
  for (ptrdiff_t i = 0; i < Kx->rows; i++) variance[i] = diagonal[i];
  for (ptrdiff_t j = 0; j < V.rows; j++)
    for (ptrdiff_t i = 0; i < V.cols; i++) variance[i] -= *ep_d(&V, j, i) * *ep_d(&V, j, i);
  return EP_OK;
}

ep_status ep_gp_posterior(const ep_mat *mean, double *variance, const ep_mat *K, const ep_mat *Kx,
                          const double *diagonal, const ep_mat *Y, double noise) {
  EP_TRY(check(K, Y, noise));
  EP_TRY(check_new(mean, Kx, Y));
  ep_work work = {0};
  const ep_status st = posterior(&work, mean, variance, K, Kx, diagonal, Y, noise);
  ep_work_free(&work);
  return st;
}

/* B' = Theta^{-1} (I - e^{-eta Theta t}) Tx': the coefficients of a fit to Tx' from 0 */
static ep_status trained(ep_work *work, const ep_mat *mean, double *variance, const ep_squared *ntk,
                         const ep_mat *Tx, const ep_mat *K, const ep_mat *Kx,
                         const double *diagonal, const ep_mat *Y, double rate, double t) {
  const ptrdiff_t n = Tx->cols, m = Tx->rows;
  ep_mat Tt, zero, B, KB;
  EP_TRY(ep_work_mat(work, &Tt, EP_DOUBLE, n, m));
  EP_TRY(ep_work_mat(work, &zero, EP_DOUBLE, n, m));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, n, m));
  EP_TRY(ep_work_mat(work, &KB, EP_DOUBLE, n, m));
  transpose(&Tt, Tx);
  EP_TRY(ep_squared_coefficients(&B, ntk, &zero, &Tt, rate, t, 0));
  ep_mat_mul(mean, 1, &B, EP_T, Y, EP_N, 0);
  ep_mat_mul(&KB, 1, K, EP_N, &B, EP_N, 0);
  for (ptrdiff_t i = 0; i < m; i++) {
    variance[i] = diagonal[i];
    for (ptrdiff_t j = 0; j < n; j++)
      variance[i] += *ep_d(&B, j, i) * (*ep_d(&KB, j, i) - 2 * *ep_d(Kx, i, j));
  }
  return EP_OK;
}

ep_status ep_gp_trained(const ep_mat *mean, double *variance, const ep_squared *ntk,
                        const ep_mat *Tx, const ep_mat *K, const ep_mat *Kx, const double *diagonal,
                        const ep_mat *Y, double rate, double t) {
  EP_TRY(check(K, Y, 0));
  EP_TRY(check_new(mean, Kx, Y));
  EP_TRY(check_new(mean, Tx, Y));
  ep_work work = {0};
  const ep_status st = trained(&work, mean, variance, ntk, Tx, K, Kx, diagonal, Y, rate, t);
  ep_work_free(&work);
  return st;
}
