/* Block Krylov with Rayleigh-Ritz and restarts.
 *
 *   basis Q = orth [X, AX, A^2 X, ..],  T = Q'AQ = U Theta U',  Ritz pairs (Theta_j, Q u_j)
 *
 * A new block is A times the last one, orthogonalised against all before it, twice; AQ is kept, so residuals cost no
 * further products. A restart keeps the best Ritz vectors, one block of them. */
#include "core/mem.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <string.h>

const ep_option ep_eigen_options[] = {EP_EIGEN_OPTIONS(EP_OPT_ROW, ep_eigen_config){0}};

typedef struct {
  ep_mat Q, AQ; /* (n, most): basis and its image; the first `filled` columns are there */
  ptrdiff_t filled, block, wanted;
  ep_mat T;      /* (most, most) */
  double *theta; /* (most) */
  ep_mat R;      /* (n, block) residuals and new vectors */
  ep_mat G;      /* (most, block) coefficients */
  ep_operator *A;
  void *user;
  ep_eigen_info *info;
} krylov;

static ep_mat columns(const ep_mat *A, ptrdiff_t first, ptrdiff_t count) {
  return ep_mat_cols(A, first, count);
}

static void project_out(krylov *k, const ep_mat *X) {
  if (k->filled == 0) return;
  const ep_mat Q = columns(&k->Q, 0, k->filled);
  const ep_mat G = ep_mat_view(EP_DOUBLE, k->filled, X->cols, k->G.data);
  ep_mat_mul(&G, 1, &Q, EP_T, X, EP_N, 0);
  ep_mat_mul(X, -1, &Q, EP_N, &G, EP_N, 1);
}

static double column_norm(const ep_mat *X, ptrdiff_t j) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < X->rows; i++) sum += *ep_d(X, i, j) * *ep_d(X, i, j);
  return sqrt(sum);
}

/* Columns that vanished in the projection are replaced by random ones, so that QR has something to work with. */
static bool refill(const ep_mat *X, const double *before, uint64_t seed, uint32_t turn) {
  bool any = false;
  for (ptrdiff_t j = 0; j < X->cols; j++) {
    if (column_norm(X, j) > 1e-12 * before[j]) continue;
    ep_random r = ep_random_new(seed, EP_STREAM_KRYLOV, turn * 65536 + (uint32_t)j);
    for (ptrdiff_t i = 0; i < X->rows; i++) *ep_d(X, i, j) = ep_random_normal(&r);
    any = true;
  }
  return any;
}

/* X <- Q of X = QR. By Cholesky of X'X, all of it products, where X is far from singular; by QR if not. A second pass
 * brings the first one's error down to rounding. */
static ep_status orthonormalise(const ep_mat *X, const ep_mat *R) {
  double least = INFINITY, most = 0;
  ep_mat_gram_cols(R, 1, X, 0);
  ep_mat_mirror(R);
  if (ep_mat_cholesky(R) == EP_OK)
    for (ptrdiff_t j = 0; j < R->rows; j++) {
      least = fmin(least, *ep_d(R, j, j));
      most = fmax(most, *ep_d(R, j, j));
    }
  if (most == 0 || least <= 1e-6 * most) return ep_mat_qr(X, R);
  ep_mat_solve_rows(X, R);
  return EP_OK;
}

static ep_status orthogonalise(krylov *k, const ep_mat *X, uint64_t seed, uint32_t turn) {
  ep_work work = {0};
  double *before = NULL;
  ep_mat R = {0};
  ep_status st = ep_work_get(&work, &before, X->cols, sizeof *before);
  if (!st) st = ep_work_mat(&work, &R, EP_DOUBLE, X->cols, X->cols);
  for (int pass = 0, passes = 2; !st && pass < passes; pass++) { /* twice is enough */
    for (ptrdiff_t j = 0; j < X->cols; j++) before[j] = column_norm(X, j);
    project_out(k, X);
    if (pass < 2 && refill(X, before, seed, turn * 4 + (uint32_t)pass)) {
      project_out(k, X);
      passes = 3; /* once more after random columns */
    }
    st = orthonormalise(X, &R);
  }
  ep_work_free(&work);
  return st;
}

/* Q <- [Q, X], AQ <- [AQ, AX] */
static ep_status append(krylov *k, const ep_mat *X) {
  const ep_mat q = columns(&k->Q, k->filled, X->cols), aq = columns(&k->AQ, k->filled, X->cols);
  ep_work work = {0};
  ep_mat Y = {0};
  ep_mat_copy(&q, X);
  ep_status st = ep_work_mat(&work, &Y, EP_DOUBLE, X->rows, X->cols);
  if (!st) st = k->A(&Y, X, k->user);
  if (!st) ep_mat_copy(&aq, &Y);
  ep_work_free(&work);
  k->filled += X->cols;
  k->info->products += X->cols;
  return st;
}

/* theta falling, T <- rows of coefficients of the Ritz vectors */
static ep_status rayleigh_ritz(krylov *k) {
  const ptrdiff_t m = k->filled;
  const ep_mat Q = columns(&k->Q, 0, m), AQ = columns(&k->AQ, 0, m);
  const ep_mat T = ep_mat_view(EP_DOUBLE, m, m, k->T.data);
  ep_mat_mul(&T, 1, &Q, EP_T, &AQ, EP_N, 0);
  for (ptrdiff_t i = 0; i < m; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      *ep_d(&T, i, j) = *ep_d(&T, j, i) = (*ep_d(&T, i, j) + *ep_d(&T, j, i)) / 2;
  EP_TRY(ep_mat_eig_sym(&T, k->theta));
  for (ptrdiff_t i = 0; i < m / 2; i++) { /* largest first */
    const double swap = k->theta[i];
    k->theta[i] = k->theta[m - 1 - i];
    k->theta[m - 1 - i] = swap;
    for (ptrdiff_t j = 0; j < m; j++) {
      const double t = *ep_d(&T, i, j);
      *ep_d(&T, i, j) = *ep_d(&T, m - 1 - i, j);
      *ep_d(&T, m - 1 - i, j) = t;
    }
  }
  return EP_OK;
}

/* Out (n x count) = Z u_1.. u_count, Z = Q or AQ */
static void combine(const ep_mat *out, const krylov *k, const ep_mat *Z) {
  const ep_mat T = ep_mat_view(EP_DOUBLE, out->cols, k->filled, k->T.data),
               z = columns(Z, 0, k->filled);
  ep_mat_mul(out, 1, &z, EP_N, &T, EP_T, 0);
}

/* largest |A v_j - theta_j v_j| of the pairs wanted; leaves A v_j - theta_j v_j of a block in R */
static double residuals(krylov *k, const ep_mat *V) {
  double worst = 0;
  combine(&k->R, k, &k->AQ);
  for (ptrdiff_t j = 0; j < k->block; j++) {
    for (ptrdiff_t i = 0; i < V->rows; i++) *ep_d(&k->R, i, j) -= k->theta[j] * *ep_d(V, i, j);
    if (j < k->wanted) worst = fmax(worst, column_norm(&k->R, j));
  }
  return worst;
}

/* the basis becomes one block of Ritz vectors and their image */
static void restart(krylov *k, const ep_mat *V, const ep_mat *AV) {
  const ep_mat q = columns(&k->Q, 0, k->block), aq = columns(&k->AQ, 0, k->block);
  ep_mat_copy(&q, V);
  ep_mat_copy(&aq, AV);
  k->filled = k->block;
}

static ep_status iterate(krylov *k, ep_work *work, const ep_mat *V, double *lambda,
                         const ep_eigen_config *config, uint64_t seed) {
  ep_mat B, AB;
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, V->rows, k->block));
  EP_TRY(ep_work_mat(work, &AB, EP_DOUBLE, V->rows, k->block));
  ep_random_fill_normal(&B, seed, EP_STREAM_KRYLOV, 0);
  EP_TRY(orthogonalise(k, &B, seed, 1));
  EP_TRY(append(k, &B));
  for (long r = 0; r < config->restarts; r++) {
    k->info->restarts = r;
    while (k->filled < k->Q.cols) { /* A times the last block, or the residuals after a restart */
      const ptrdiff_t room = k->Q.cols - k->filled, width = k->block < room ? k->block : room;
      const ep_mat last = columns(&k->AQ, k->filled - k->block, width),
                   R = columns(&k->R, 0, width);
      const ep_mat next = ep_mat_view(EP_DOUBLE, B.rows, width, B.data);
      ep_mat_copy(&next, r > 0 && k->filled == k->block ? &R : &last);
      EP_TRY(orthogonalise(k, &next, seed, (uint32_t)(2 + r * 64 + k->filled / k->block)));
      EP_TRY(append(k, &next));
    }
    EP_TRY(rayleigh_ritz(k));
    combine(&B, k, &k->Q);
    combine(&AB, k, &k->AQ);
    k->info->residual = residuals(k, &B);
    k->info->next = k->block > k->wanted ? k->theta[k->wanted] : NAN;
    const double scale = fmax(fabs(k->theta[0]), fabs(k->theta[k->filled - 1]));
    k->info->converged =
        k->info->residual <= config->eigen_tolerance * scale || k->filled == V->rows;
    if (k->info->converged) break;
    restart(k, &B, &AB);
  }
  const ep_mat best = columns(&B, 0, k->wanted);
  ep_mat_copy(V, &best);
  memcpy(lambda, k->theta, (size_t)k->wanted * sizeof *lambda);
  return EP_OK;
}

static ep_status largest(krylov *k, ep_work *work, const ep_mat *V, double *lambda,
                         const ep_eigen_config *config, uint64_t seed) {
  const ptrdiff_t n = V->rows;
  ptrdiff_t most = k->block * config->krylov;
  if (most > n) most = n;
  EP_TRY(ep_work_mat(work, &k->Q, EP_DOUBLE, n, most));
  EP_TRY(ep_work_mat(work, &k->AQ, EP_DOUBLE, n, most));
  EP_TRY(ep_work_mat(work, &k->T, EP_DOUBLE, most, most));
  EP_TRY(ep_work_mat(work, &k->R, EP_DOUBLE, n, k->block));
  EP_TRY(ep_work_mat(work, &k->G, EP_DOUBLE, most, k->block));
  EP_TRY(ep_work_get(work, &k->theta, most, sizeof *k->theta));
  return iterate(k, work, V, lambda, config, seed);
}

ptrdiff_t ep_eigen_block(const ep_eigen_config *config, ptrdiff_t wanted, ptrdiff_t order) {
  const ptrdiff_t block = config->block > wanted ? config->block : wanted + 8;
  return block < order ? block : order;
}

ep_status ep_eigen_largest(const ep_mat *V, double *lambda, ep_eigen_info *info, ep_operator *A,
                           void *user, const ep_eigen_config *config, uint64_t seed) {
  const ptrdiff_t n = V->rows, wanted = V->cols;
  *info = (ep_eigen_info){.next = NAN};
  EP_CHECK(wanted >= 1 && wanted <= n && V->prec == EP_DOUBLE, EP_ERR_ARG,
           "%td eigenpairs of a problem of order %td", wanted, n);
  const ptrdiff_t block = ep_eigen_block(config, wanted, n);
  krylov k = {.block = block, .wanted = wanted, .A = A, .user = user, .info = info};
  ep_work work = {0};
  const ep_status st = largest(&k, &work, V, lambda, config, seed);
  ep_work_free(&work);
  return st;
}

/* ---- a matrix */

static ep_status apply_matrix(const ep_mat *Y, const ep_mat *X, void *user) {
  ep_mat_mul(Y, 1, user, EP_N, X, EP_N, 0);
  return ep_run_step("products", 0, 0);
}

/* the whole decomposition, largest first */
static ep_status dense(ep_work *work, const ep_mat *V, double *lambda, ep_eigen_info *info,
                       const ep_mat *A) {
  const ptrdiff_t n = A->rows, k = V->cols;
  ep_mat copy, R;
  double *all;
  EP_TRY(ep_work_get(work, &all, n, sizeof *all));
  EP_TRY(ep_work_mat(work, &copy, EP_DOUBLE, n, n));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, n, k));
  ep_mat_copy(&copy, A);
  EP_TRY(ep_mat_eig_sym(&copy, all));
  for (ptrdiff_t j = 0; j < k; j++) {
    lambda[j] = all[n - 1 - j];
    for (ptrdiff_t i = 0; i < n; i++) *ep_d(V, i, j) = *ep_d(&copy, n - 1 - j, i);
  }
  *info = (ep_eigen_info){.converged = true, .products = n, .next = k < n ? all[n - 1 - k] : NAN};
  ep_mat_mul(&R, 1, A, EP_N, V, EP_N, 0);
  for (ptrdiff_t j = 0; j < k; j++) {
    for (ptrdiff_t i = 0; i < n; i++) *ep_d(&R, i, j) -= lambda[j] * *ep_d(V, i, j);
    info->residual = fmax(info->residual, column_norm(&R, j));
  }
  return EP_OK;
}

ep_status ep_eigen_matrix(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A,
                          const ep_eigen_config *config, uint64_t seed) {
  enum { SMALL = 400 };
  if (A->rows > SMALL && A->rows > 4 * ep_eigen_block(config, V->cols, A->rows))
    return ep_eigen_largest(V, lambda, info, apply_matrix, (void *)A, config, seed);
  EP_CHECK(V->cols >= 1 && V->cols <= A->rows, EP_ERR_ARG,
           "%td eigenpairs of a problem of order %td", V->cols, A->rows);
  ep_work work = {0};
  const ep_status st = dense(&work, V, lambda, info, A);
  ep_work_free(&work);
  return st;
}

void ep_eigen_signs(const ep_mat *V) {
  for (ptrdiff_t j = 0; j < V->cols; j++) {
    ptrdiff_t top = 0;
    for (ptrdiff_t i = 1; i < V->rows; i++)
      if (fabs(ep_get(V, i, j)) > fabs(ep_get(V, top, j))) top = i;
    if (ep_get(V, top, j) >= 0) continue;
    for (ptrdiff_t i = 0; i < V->rows; i++) ep_set(V, i, j, -ep_get(V, i, j));
  }
}
