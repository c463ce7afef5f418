/* Block Krylov with Rayleigh-Ritz and restarts.
 *
 *   basis Q = orth [X, AX, A^2 X, ..],  T = Q'AQ = U Theta U',  Ritz pairs (Theta_j, Q u_j)
 *
 * A new block is A times the last one, orthogonalised against all before it, twice; AQ is kept, so residuals cost no
 * further products. A restart keeps the best Ritz vectors, two blocks of them (with one, half as many products again), and
 * goes on with the residuals of the first.
 *
 * What is there in both precisions is first taken in single, all large products with it; what comes out of that is the start in double,
 * where one block is enough if the tolerance is what single precision can reach. */
#include "core/crew.h"
#include "core/mem.h"
#include "core/threads.h"
#include "core/vector.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <string.h>

const ep_option ep_eigen_options[] = {EP_EIGEN_OPTIONS(EP_OPT_ROW, ep_eigen_config){0}};

typedef struct {
  ep_precision prec; /* of the large products: Q, AQ, R, G, B */
  ep_mat Q, AQ;      /* (n, most): basis and its image; the first `filled` columns are there */
  ptrdiff_t filled, block, wanted;
  ptrdiff_t kept; /* columns that were there when the basis was begun again; 0 at first */
  ep_mat T;       /* (most, most) double */
  double *theta;  /* (most) */
  double *norm;   /* (block) of columns */
  ep_mat B, AB;   /* (n, block) the block that is worked on: in the end Ritz vectors; its image */
  ep_mat R;       /* (n, block) residuals */
  ep_mat G;       /* (most, block) coefficients */
  ep_mat U;       /* (2 block, most) rows of coefficients of the Ritz vectors that stay */
  ep_mat D;       /* (n, block) double: B itself, or a copy to orthonormalise it in */
  ep_mat L;       /* (block, block) double */
  ep_operator *A;
  void *user;
  ep_eigen_info *info;
} krylov;

static void project_out(krylov *k, const ep_mat *X) {
  if (k->filled == 0) return;
  const ep_mat Q = ep_mat_cols(&k->Q, 0, k->filled);
  const ep_mat G = ep_mat_view(k->prec, k->filled, X->cols, k->G.data);
  ep_mat_mul(&G, 1, &Q, EP_T, X, EP_N, 0);
  ep_mat_mul(X, -1, &Q, EP_N, &G, EP_N, 1);
}

static void column_norms(double *norm, const ep_mat *X) {
  for (ptrdiff_t j = 0; j < X->cols; j++) norm[j] = 0;
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j < X->cols; j++) norm[j] += ep_get(X, i, j) * ep_get(X, i, j);
  for (ptrdiff_t j = 0; j < X->cols; j++) norm[j] = sqrt(norm[j]);
}

/* Columns that vanished in the projection are replaced by random ones, so that QR has something to work with. */
static bool refill(const ep_mat *X, const double *before, const double *after, uint64_t seed,
                   uint32_t turn) {
  const double rounding = X->prec == EP_SINGLE ? 1e-6 : 1e-12;
  bool any = false;
  for (ptrdiff_t j = 0; j < X->cols; j++) {
    if (after[j] > rounding * before[j]) continue;
    ep_random r = ep_random_new(seed, EP_STREAM_KRYLOV, turn * 65536 + (uint32_t)j);
    for (ptrdiff_t i = 0; i < X->rows; i++) ep_set(X, i, j, ep_random_normal(&r));
    any = true;
  }
  return any;
}

/* X <- Q of X = QR, double. By Cholesky of X'X, all of it products, where X is far from singular; by QR if not. A second
 * pass brings the first one's error down to rounding. */
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
  const ep_mat D = ep_mat_view(EP_DOUBLE, X->rows, X->cols, k->D.data),
               L = ep_mat_view(EP_DOUBLE, X->cols, X->cols, k->L.data);
  double *const before = k->norm, *const after = k->norm + k->block;
  for (int pass = 0, passes = 2; pass < passes; pass++) { /* twice is enough */
    column_norms(before, X);
    project_out(k, X);
    column_norms(after, X);
    if (pass < 2 && refill(X, before, after, seed, turn * 4 + (uint32_t)pass)) {
      project_out(k, X);
      passes = 3; /* once more after random columns */
    }
    if (D.data != X->data) ep_mat_copy(&D, X);
    EP_TRY(orthonormalise(&D, &L));
    if (D.data != X->data) ep_mat_copy(X, &D);
  }
  return EP_OK;
}

/* Q <- [Q, X], AQ <- [AQ, AX] */
static ep_status append(krylov *k, const ep_mat *X) {
  const ep_mat q = ep_mat_cols(&k->Q, k->filled, X->cols),
               aq = ep_mat_cols(&k->AQ, k->filled, X->cols);
  const ep_mat Y = ep_mat_view(k->prec, X->rows, X->cols, k->AB.data);
  ep_mat_copy(&q, X);
  EP_TRY(k->A(&Y, X, k->user));
  ep_mat_copy(&aq, &Y);
  k->filled += X->cols;
  k->info->products += X->cols;
  return EP_OK;
}

/* theta falling, T <- rows of coefficients of the Ritz vectors */
static ep_status rayleigh_ritz(krylov *k) {
  const ptrdiff_t m = k->filled;
  const ep_mat Q = ep_mat_cols(&k->Q, 0, m), T = ep_mat_view(EP_DOUBLE, m, m, k->T.data);
  for (ptrdiff_t j = 0, n; j < m; j += n) {
    n = m - j < k->block ? m - j : k->block;
    const ep_mat aq = ep_mat_cols(&k->AQ, j, n), t = ep_mat_cols(&T, j, n);
    const ep_mat G = ep_mat_view(k->prec, m, n, k->G.data);
    ep_mat_mul(&G, 1, &Q, EP_T, &aq, EP_N, 0);
    ep_mat_copy(&t, &G);
  }
  ep_mat_symmetrise(&T);
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

/* Z <- Z U', as many columns as U has rows; some rows of Z at a time, in the room of AB */
static void combine(const krylov *k, const ep_mat *Z, const ep_mat *U) {
  const ptrdiff_t n = Z->rows, most = n * k->block / U->rows, most_rows = most > 0 ? most : 1;
  for (ptrdiff_t i = 0, rows; i < n; i += rows) {
    rows = ep_least(most_rows, n - i);
    const ep_mat part = ep_mat_rows(Z, i, rows), z = ep_mat_cols(&part, 0, U->cols),
                 to = ep_mat_cols(&part, 0, U->rows),
                 T = ep_mat_view(k->prec, rows, U->rows, k->AB.data);
    ep_mat_mul(&T, 1, &z, EP_N, U, EP_T, 0);
    ep_mat_copy(&to, &T);
  }
}

/* The basis becomes the best Ritz vectors, AQ their image */
static void restart(krylov *k) {
  const ptrdiff_t room = k->Q.cols - k->block, two = ep_least(2 * k->block, k->filled);
  k->kept = two <= room ? two : ep_least(k->block, k->filled);
  const ep_mat T = ep_mat_view(EP_DOUBLE, k->kept, k->filled, k->T.data),
               U = ep_mat_view(k->prec, k->kept, k->filled, k->U.data);
  ep_mat_copy(&U, &T);
  combine(k, &k->Q, &U);
  combine(k, &k->AQ, &U);
  k->filled = k->kept;
}

/* R = A v_j - theta_j v_j of a block; the largest of the pairs wanted */
static double residuals(krylov *k) {
  double worst = 0;
  for (ptrdiff_t i = 0; i < k->R.rows; i++)
    for (ptrdiff_t j = 0; j < k->block; j++)
      ep_set(&k->R, i, j, ep_get(&k->AQ, i, j) - k->theta[j] * ep_get(&k->Q, i, j));
  column_norms(k->norm, &k->R);
  for (ptrdiff_t j = 0; j < k->wanted; j++) worst = fmax(worst, k->norm[j]);
  return worst;
}

/* A times the last block, or the residuals after a restart, until the basis has `most` columns */
static ep_status fill_basis(krylov *k, ptrdiff_t most, uint64_t seed, long r) {
  while (k->filled < most) {
    const ptrdiff_t room = most - k->filled, width = k->block < room ? k->block : room;
    const ep_mat last = ep_mat_cols(&k->AQ, k->filled - k->block, width),
                 R = ep_mat_cols(&k->R, 0, width);
    const ep_mat next = ep_mat_view(k->prec, k->B.rows, width, k->B.data);
    ep_mat_copy(&next, k->filled == k->kept ? &R : &last);
    EP_TRY(orthogonalise(k, &next, seed, (uint32_t)(2 + r * 64 + k->filled / k->block)));
    EP_TRY(append(k, &next));
  }
  return EP_OK;
}

/* The residual after every restart, relative to the largest eigenvalue, and what it is to be */
typedef struct {
  double aim, now, before, best;
  ptrdiff_t blocks; /* that took it from `before` to `now` */
  int idle;         /* restarts without a gain */
} progress;

/* Columns of the next basis: as many blocks as are still needed at what each of the last ones gained, and one to be sure. */
static ptrdiff_t columns(const krylov *k, const progress *p) {
  const double gain = p->blocks > 0 ? log(p->before / p->now) / (double)p->blocks : 0;
  const double blocks = gain > 0 ? 1 + ceil(log(p->now / p->aim) / gain) : INFINITY;
  const double all = (double)k->filled + blocks * (double)k->block;
  return all < (double)k->Q.cols ? (ptrdiff_t)all : k->Q.cols;
}

/* Single precision gives up where rounding has the say: near it a restart that gains nothing, or anywhere several (close
 * eigenvalues come apart by fits and starts, so one is not enough). */
static bool gives_up(const krylov *k, const progress *p) {
  enum { PATIENCE = 4 };
  return k->prec == EP_SINGLE && p->idle > 0 && (p->best < 1e-5 || p->idle >= PATIENCE);
}

static void note(progress *p, double residual, ptrdiff_t blocks) {
  p->before = p->now;
  p->now = residual;
  p->blocks = blocks;
  p->idle = residual < 0.9 * p->best ? 0 : p->idle + 1;
  p->best = fmin(p->best, residual);
}

/* From the block in B. `good`: it may be the answer already. */
static ep_status iterate(krylov *k, bool good, const ep_eigen_config *config, uint64_t seed) {
  progress p = {.aim = config->eigen_tolerance, .now = INFINITY, .best = INFINITY};
  EP_TRY(orthogonalise(k, &k->B, seed, 1));
  EP_TRY(append(k, &k->B));
  for (long r = 0; r < config->restarts; r++) {
    k->info->restarts = r;
    if (r > 0 || !good) EP_TRY(fill_basis(k, r > 1 ? columns(k, &p) : k->Q.cols, seed, r));
    EP_TRY(rayleigh_ritz(k));
    const double scale = fmax(fabs(k->theta[0]), fabs(k->theta[k->filled - 1]));
    const bool whole = k->filled == k->B.rows;
    const ptrdiff_t blocks = (k->filled - k->kept) / k->block;
    k->info->next = k->block > k->wanted ? k->theta[k->wanted] : NAN;
    restart(k);
    k->info->residual = residuals(k);
    note(&p, k->info->residual / scale, blocks);
    k->info->converged = k->info->residual <= config->eigen_tolerance * scale || whole;
    if (k->info->converged || gives_up(k, &p)) break;
  }
  const ep_mat best = ep_mat_cols(&k->Q, 0, k->block);
  ep_mat_copy(&k->B, &best);
  return EP_OK;
}

static ep_status new_krylov(krylov *k, ep_work *work, ptrdiff_t n, const ep_eigen_config *config) {
  const ptrdiff_t b = k->block, all = b * config->krylov, most = all < n ? all : n;
  EP_TRY(ep_work_mat(work, &k->Q, k->prec, n, most));
  EP_TRY(ep_work_mat(work, &k->AQ, k->prec, n, most));
  EP_TRY(ep_work_mat(work, &k->T, EP_DOUBLE, most, most));
  EP_TRY(ep_work_mat(work, &k->B, k->prec, n, b));
  EP_TRY(ep_work_mat(work, &k->AB, k->prec, n, b));
  EP_TRY(ep_work_mat(work, &k->R, k->prec, n, b));
  EP_TRY(ep_work_mat(work, &k->G, k->prec, most, b));
  EP_TRY(ep_work_mat(work, &k->U, k->prec, ep_least(2 * b, most), most));
  EP_TRY(ep_work_mat(work, &k->L, EP_DOUBLE, b, b));
  EP_TRY(ep_work_get(work, &k->theta, most, sizeof *k->theta));
  EP_TRY(ep_work_get(work, &k->norm, 2 * b, sizeof *k->norm));
  k->D = k->B;
  return k->prec == EP_DOUBLE ? EP_OK : ep_work_mat(work, &k->D, EP_DOUBLE, n, b);
}

ptrdiff_t ep_eigen_block(const ep_eigen_config *config, ptrdiff_t wanted, ptrdiff_t order) {
  const ptrdiff_t block = config->block > wanted ? config->block : wanted + 8;
  return block < order ? block : order;
}

static ep_status largest(krylov *k, ep_work *work, const ep_mat *V, double *lambda,
                         const ep_mat *start, const ep_eigen_config *config, uint64_t seed) {
  EP_TRY(new_krylov(k, work, V->rows, config));
  if (start) ep_mat_copy(&k->B, start);
  else ep_random_fill_normal(&k->B, seed, EP_STREAM_KRYLOV, 0);
  EP_TRY(iterate(k, start, config, seed));
  const ep_mat best = ep_mat_cols(&k->B, 0, V->cols);
  ep_mat_copy(V, &best);
  if (lambda) memcpy(lambda, k->theta, (size_t)k->wanted * sizeof *lambda);
  return EP_OK;
}

static ep_status begin(krylov *k, const ep_mat *V, ep_eigen_info *info, ep_operator *A, void *user,
                       const ep_eigen_config *config) {
  const ptrdiff_t n = V->rows, wanted = V->cols;
  *info = (ep_eigen_info){.next = NAN};
  EP_CHECK(wanted >= 1 && wanted <= n && V->prec == EP_DOUBLE, EP_ERR_ARG,
           "%td eigenpairs of a problem of order %td", wanted, n);
  *k = (krylov){EP_DOUBLE, .block = ep_eigen_block(config, wanted, n), .wanted = wanted};
  k->A = A, k->user = user, k->info = info;
  return EP_OK;
}

ep_status ep_eigen_largest(const ep_mat *V, double *lambda, ep_eigen_info *info, ep_operator *A,
                           void *user, const ep_eigen_config *config, uint64_t seed) {
  krylov k;
  ep_work work = {0};
  EP_TRY(begin(&k, V, info, A, user, config));
  const ep_status st = largest(&k, &work, V, lambda, NULL, config, seed);
  ep_work_free(&work);
  return st;
}

/* ---- single precision, then double */

typedef struct {
  const ep_mat *to, *A;
  double c;
} single_loop;

static void single_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const single_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < l->A->cols; j++)
      *ep_s(l->to, i, j) = (float)(l->c * *ep_d(l->A, i, j));
}

ep_status ep_eigen_single(ep_mat *out, ep_work *work, const ep_mat *A) {
  const double top = ep_mat_max(A), c = top > 0 ? 1 / top : 1;
  EP_TRY(ep_work_mat(work, out, EP_SINGLE, A->rows, A->cols));
  ep_crew_rows(A, single_rows, &(single_loop){out, A, c});
  return EP_OK;
}

/* V (n x block): about the answer */
static ep_status in_single(const ep_mat *V, krylov k, const ep_eigen_config *config,
                           uint64_t seed) {
  ep_eigen_config own = *config;
  ep_work work = {0};
  own.eigen_tolerance = fmax(0.8 * own.eigen_tolerance, 2e-6);
  k.prec = EP_SINGLE;
  const ep_status st = largest(&k, &work, V, NULL, NULL, &own, seed);
  ep_work_free(&work);
  return st;
}

static ep_status mixed(ep_work *work, const ep_mat *V, double *lambda, krylov *k,
                       const ep_eigen_config *config, uint64_t seed) {
  ep_mat start;
  EP_TRY(ep_work_mat(work, &start, EP_DOUBLE, V->rows, k->block));
  const ep_status st = in_single(&start, *k, config, seed);
  if (st && st != EP_ERR_NUMERIC) return st; /* numbers out of its range: double has to do it */
  const long before = k->info->restarts;
  EP_TRY(largest(k, work, V, lambda, st ? NULL : &start, config, seed));
  k->info->restarts += before;
  return EP_OK;
}

ep_status ep_eigen_mixed(const ep_mat *V, double *lambda, ep_eigen_info *info, ep_operator *A,
                         void *user, const ep_eigen_config *config, uint64_t seed) {
  krylov k;
  ep_work work = {0};
  EP_TRY(begin(&k, V, info, A, user, config));
  const ep_status st = mixed(&work, V, lambda, &k, config, seed);
  ep_work_free(&work);
  return st;
}

/* ---- a matrix */

typedef struct {
  const ep_mat *A;
  ep_mat a; /* A / max |A|, single */
} two_matrices;

static ep_status apply_matrix(const ep_mat *Y, const ep_mat *X, void *user) {
  const two_matrices *m = user;
  ep_mat_mul(Y, 1, X->prec == EP_SINGLE ? &m->a : m->A, EP_N, X, EP_N, 0);
  return ep_run_step("products", 0, 0);
}

static ep_status by_products(ep_work *work, const ep_mat *V, double *lambda, ep_eigen_info *info,
                             const ep_mat *A, const ep_eigen_config *config, uint64_t seed) {
  two_matrices m = {.A = A};
  EP_TRY(ep_eigen_single(&m.a, work, A));
  return ep_eigen_mixed(V, lambda, info, apply_matrix, &m, config, seed);
}

static ep_status whole(ep_work *work, const ep_mat *V, double *lambda, ep_eigen_info *info,
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
  }
  column_norms(all, &R);
  for (ptrdiff_t j = 0; j < k; j++) info->residual = fmax(info->residual, all[j]);
  return EP_OK;
}

ep_status ep_eigen_whole(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A) {
  ep_work work = {0};
  const ep_status st = whole(&work, V, lambda, info, A);
  ep_work_free(&work);
  return st;
}

/* Operations of a restart: products with the matrices, the basis orthogonalised twice and its Ritz vectors taken, a small
 * eigenproblem, all with few columns, at a fourth of the speed of large products; of LAPACK, beside such: 13 n^3. */
ep_eigen_config ep_eigen_patient(const ep_eigen_config *config, ptrdiff_t wanted, ptrdiff_t order,
                                 int matrices) {
  enum { LARGE = 2000 }; /* LAPACK takes a second or two, and hears no Ctrl-C meanwhile */
  ep_eigen_config own = *config;
  const double n = (double)order, b = (double)ep_eigen_block(config, wanted, order),
               basis = fmin(n, b * (double)config->krylov);
  const double fresh = fmax(b, basis - 2 * b);
  const double restart = 2 * matrices * n * n * fresh + 8 * n * basis * basis + 9 * pow(basis, 3);
  if (order <= LARGE && 40 * n * n < ep_run_room()) /* bytes of LAPACK's matrices */
    own.restarts = (long)fmin((double)own.restarts, fmax(1, 13 * n * n * n / (4 * restart)));
  return own;
}

ep_status ep_eigen_matrix(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A,
                          const ep_eigen_config *config, uint64_t seed) {
  enum { SMALL = 400 };
  EP_CHECK(V->cols >= 1 && V->cols <= A->rows, EP_ERR_ARG,
           "%td eigenpairs of a problem of order %td", V->cols, A->rows);
  if (A->rows <= SMALL || A->rows <= 4 * ep_eigen_block(config, V->cols, A->rows))
    return ep_eigen_whole(V, lambda, info, A);
  ep_work work = {0};
  const ep_eigen_config own = ep_eigen_patient(config, V->cols, A->rows, 1);
  const ep_status st = by_products(&work, V, lambda, info, A, &own, seed);
  ep_work_free(&work);
  const bool dear = !st && !info->converged && own.restarts < config->restarts;
  return dear ? ep_eigen_whole(V, lambda, info, A) : st;
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
