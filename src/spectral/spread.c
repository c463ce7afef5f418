/* A w = lambda B w with B = LL', A and L spread over ranks: as generalised.c, and the matrix L^{-1} A L'^{-1} is formed where
 * many eigenpairs are wanted of it. Vectors are whole on every rank. */
#include <eigenpair/eigen.h>
#include <eigenpair/run.h>
#include <math.h>

typedef struct {
  ep_dist *spread;
  double *A, *L;
  ep_mat T, U; /* (n, b) */
} factors;

/* Y = L^{-1} A L'^{-1} X */
static ep_status apply(const ep_mat *Y, const ep_mat *X, void *user) {
  const factors *f = user;
  ep_dist *s = f->spread;
  const ep_mat T = ep_mat_view(EP_DOUBLE, X->rows, X->cols, f->T.data);
  const ep_mat U = ep_mat_view(EP_DOUBLE, X->rows, X->cols, f->U.data);
  ep_mat_copy(&T, X);
  EP_TRY(s->solve(s, &T, f->L, EP_T));
  EP_TRY(s->mul(s, &U, f->A, &T));
  EP_TRY(s->solve(s, &U, f->L, EP_N));
  ep_mat_copy(Y, &U);
  return ep_run_step("products", 0, 0);
}

static ep_status by_factors(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *info,
                            factors *f, const ep_eigen_config *config, uint64_t seed) {
  const ptrdiff_t block = ep_eigen_block(config, W->cols, W->rows);
  EP_TRY(ep_work_mat(work, &f->T, EP_DOUBLE, W->rows, block));
  EP_TRY(ep_work_mat(work, &f->U, EP_DOUBLE, W->rows, block));
  return ep_eigen_largest(W, lambda, info, apply, f, config, seed);
}

static ep_status formed(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *info,
                        factors *f) {
  double *all;
  *info = (ep_eigen_info){.converged = true, .products = W->rows};
  EP_TRY(ep_work_get(work, &all, W->cols + 1, sizeof *all));
  EP_TRY(f->spread->eigen(f->spread, W, all, &info->residual, f->A, f->L));
  for (ptrdiff_t j = 0; j < W->cols; j++) lambda[j] = all[j];
  info->next = all[W->cols];
  return EP_OK;
}

ep_status ep_eigen_spread(const ep_mat *W, double *lambda, ep_eigen_info *info, ep_dist *spread,
                          double *A, double *L, const ep_eigen_config *config, uint64_t seed) {
  factors f = {.spread = spread, .A = A, .L = L};
  ep_work work = {0};
  const double part = 8 * (double)spread->rows * (double)spread->cols;
  /* a copy, eigenvectors of all, and twice that for scratch */
  bool few = 32 * ep_eigen_block(config, W->cols, W->rows) <= W->rows || 4.5 * part > ep_run_room();
  EP_CHECK(W->cols >= 1 && W->cols <= W->rows, EP_ERR_ARG,
           "%td eigenpairs of a problem of order %td", W->cols, W->rows);
  ep_status st = ep_comm_any(&few);
  if (!st)
    st = few ? by_factors(&work, W, lambda, info, &f, config, seed)
             : formed(&work, W, lambda, info, &f);
  if (!st) st = spread->solve(spread, W, L, EP_T);
  if (!st) ep_eigen_signs(W);
  ep_work_free(&work);
  return st;
}
