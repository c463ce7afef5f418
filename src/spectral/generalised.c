/* A w = lambda B w with B = LL': the eigenproblem of L^{-1} A L'^{-1}, w = L'^{-1} v. Formed where many eigenpairs are
 * wanted of it, or where few do not come apart soon; else products with its factors. */
#include <eigenpair/eigen.h>
#include <eigenpair/run.h>

typedef struct {
  const ep_mat *A, *L;
  ep_mat a, l; /* the same in single precision, up to factors */
  ep_mat T;    /* (n, b) */
} factors;

/* Y = L^{-1} A L'^{-1} X */
static ep_status apply(const ep_mat *Y, const ep_mat *X, void *user) {
  const factors *f = user;
  const bool single = X->prec == EP_SINGLE;
  const ep_mat *A = single ? &f->a : f->A, *L = single ? &f->l : f->L;
  const ep_mat T = ep_mat_view(X->prec, X->rows, X->cols, f->T.data);
  ep_mat_copy(&T, X);
  ep_mat_solve_triangular(&T, L, EP_T);
  ep_mat_mul(Y, 1, A, EP_N, &T, EP_N, 0);
  ep_mat_solve_triangular(Y, L, EP_N);
  return ep_run_step("products", 0, 0);
}

static ep_status by_factors(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *info,
                            const ep_mat *A, const ep_mat *L, const ep_eigen_config *config,
                            uint64_t seed) {
  const double n = (double)A->rows, b = (double)ep_eigen_block(config, W->cols, A->rows);
  const double vectors = 8 * n * b * (2 * (double)config->krylov + 6);
  factors f = {.A = A, .L = L};
  EP_TRY(ep_work_mat(work, &f.T, EP_DOUBLE, W->rows, (ptrdiff_t)b));
  if (8 * n * n + vectors > ep_run_room())
    return ep_eigen_largest(W, lambda, info, apply, &f, config, seed);
  EP_TRY(ep_eigen_single(&f.a, work, A));
  EP_TRY(ep_eigen_single(&f.l, work, L));
  return ep_eigen_mixed(W, lambda, info, apply, &f, config, seed);
}

static void form(const ep_mat *A, const ep_mat *L) {
  ep_mat_solve_triangular(A, L, EP_N);
  ep_mat_solve_rows(A, L);
  ep_mat_symmetrise(A);
}

/* V: eigenvectors of L^{-1} A L'^{-1} */
static ep_status solve(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A,
                       const ep_mat *L, const ep_eigen_config *config, uint64_t seed) {
  const double n = (double)A->rows;
  if (32 * ep_eigen_block(config, V->cols, A->rows) > A->rows &&
      40 * n * n < ep_run_room()) { /* LAPACK takes five matrices */
    form(A, L);
    return ep_eigen_matrix(V, lambda, info, A, config, seed);
  }
  ep_work work = {0};
  const ep_eigen_config own = ep_eigen_patient(config, V->cols, A->rows, 3);
  const ep_status st = by_factors(&work, V, lambda, info, A, L, &own, seed);
  ep_work_free(&work);
  if (st || info->converged || own.restarts == config->restarts) return st;
  form(A, L);
  return ep_eigen_whole(V, lambda, info, A);
}

ep_status ep_eigen_generalised(const ep_mat *W, double *lambda, ep_eigen_info *info,
                               const ep_mat *A, const ep_mat *L, const ep_eigen_config *config,
                               uint64_t seed) {
  EP_TRY(solve(W, lambda, info, A, L, config, seed));
  ep_mat_solve_triangular(W, L, EP_T);
  ep_eigen_signs(W);
  return EP_OK;
}
