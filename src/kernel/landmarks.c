/* A kernel of infinite width seen from landmarks X_L (Nystrom): with kappa(X_L, X_L) = LL',
 *
 *   psi(x) = L^{-1} kappa(X_L, x),   psi(x)'psi(y) = kappa(x, X_L) kappa(X_L, X_L)^{-1} kappa(X_L, y)
 *
 * which is kappa(x, y) for x among the landmarks, and falls short of kappa(x, x) by what they do not explain. */
#include "core/threads.h"
#include "core/mem.h"
#include "kernel/features.h"

#include <math.h>

/* K <- K / ((sqrt L(x, x) + delta) (sqrt L(y, y) + delta)) */
static void divide(const ep_mat *K, const double *x, const double *y, double delta) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(K))
  for (ptrdiff_t i = 0; i < K->rows; i++)
    for (ptrdiff_t j = 0; j < K->cols; j++)
      *ep_d(K, i, j) /= (sqrt(x[i]) + delta) * (sqrt(y[j]) + delta);
}

static ep_status kappa(ep_work *work, const ep_mat *K, const ep_analytic *kernel, ep_psi psi,
                       const ep_mat *X, const ep_mat *Y) {
  double *x, *y;
  EP_TRY(ep_analytic_kernel(K, kernel, EP_NNGP, X, Y));
  if (!psi.cosine) return EP_OK;
  EP_TRY(ep_work_get(work, &x, X->rows, sizeof *x));
  EP_TRY(ep_analytic_diagonal(x, kernel, EP_NNGP, X));
  y = x;
  if (Y) {
    EP_TRY(ep_work_get(work, &y, Y->rows, sizeof *y));
    EP_TRY(ep_analytic_diagonal(y, kernel, EP_NNGP, Y));
  }
  divide(K, x, y, psi.delta);
  return EP_OK;
}

ep_status ep_kappa(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                   const ep_mat *Y) {
  ep_work work = {0};
  const ep_status st = kappa(&work, K, kernel, psi, X, Y);
  ep_work_free(&work);
  return st;
}

/* ---- */

static ep_status choose(ep_work *work, ep_landmarks *out, const ep_analytic *kernel,
                        const ep_mat *X, ep_psi psi) {
  ep_mat K;
  ptrdiff_t *pivot, rank;
  out->kernel = *kernel;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, X->rows, X->rows));
  EP_TRY(ep_work_get(work, &pivot, X->rows, sizeof *pivot));
  EP_TRY(ep_kappa(&K, kernel, psi, X, NULL));
  EP_TRY(ep_mat_cholesky_pivoted(&K, pivot, &rank, 0));
  EP_CHECK(rank > 0, EP_ERR_INPUT, "all landmarks are zero");
  EP_TRY(ep_mat_new(&out->X, X->prec, rank, X->cols));
  EP_TRY(ep_mat_new(&out->L, EP_DOUBLE, rank, rank));
  const ep_mat top = ep_mat_rows(&K, 0, rank), L = ep_mat_cols(&top, 0, rank);
  ep_mat_copy(&out->L, &L);
  for (ptrdiff_t i = 0; i < rank; i++) {
    const ep_mat to = ep_mat_rows(&out->X, i, 1), from = ep_mat_rows(X, pivot[i], 1);
    ep_mat_copy(&to, &from);
  }
  return EP_OK;
}

ep_status ep_landmarks_choose(ep_landmarks *out, const ep_analytic *kernel, const ep_mat *X,
                              ep_psi psi) {
  ep_work work = {0};
  const ep_status st = choose(&work, out, kernel, X, psi);
  ep_work_free(&work);
  return st;
}

ep_status ep_landmarks_map(const ep_mat *Psi, const ep_features *f, const ep_mat *X) {
  const ep_landmarks *l = &f->landmarks;
  ep_mat K;
  EP_TRY(ep_mat_new(&K, EP_DOUBLE, X->rows, l->X.rows));
  const ep_status st = ep_kappa(&K, &l->kernel, f->psi, X, &l->X);
  if (!st) {
    ep_mat_solve_rows(&K, &l->L);
    ep_mat_copy(Psi, &K);
  }
  ep_mat_free(&K);
  return st;
}

double ep_landmarks_flops(const ep_features *f) {
  const double r = (double)f->count;
  return r * (2 * (double)f->inputs + 60 * f->landmarks.kernel.depth + r);
}

double ep_landmarks_scratch(const ep_features *f, ep_precision prec) {
  (void)prec;
  return sizeof(double) * (double)f->count;
}
