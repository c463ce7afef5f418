/* Symmetric eigenproblems spread over ranks in blocks of a grid, by ScaLAPACK, and by ELPA where it is asked for. Entry (i, j)
 * of the whole is with the rank in row i / nb mod p, column j / nb mod q of the grid. */
#define _GNU_SOURCE /* dladdr */
#include "commands.h"

#ifdef EP_MPI
#include "core/mem.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void Cblacs_get(int context, int what, int *value);
void Cblacs_set(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
void Cblacs_gridexit(int context);
void pdpotrf_(const char *uplo, const int *n, double *a, const int *ia, const int *ja,
              const int *desc, int *info);
void pdtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
             const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *desca, double *b, const int *ib, const int *jb, const int *descb);
void pdsymm_(const char *side, const char *uplo, const int *m, const int *n, const double *alpha,
             const double *a, const int *ia, const int *ja, const int *desca, const double *b,
             const int *ib, const int *jb, const int *descb, const double *beta, double *c,
             const int *ic, const int *jc, const int *descc);
void pdsyevd_(const char *job, const char *uplo, const int *n, double *a, const int *ia,
              const int *ja, const int *desca, double *w, double *z, const int *iz, const int *jz,
              const int *descz, double *work, const int *lwork, int *iwork, const int *liwork,
              int *info);

typedef struct {
  ep_dist base;
  bool elpa;
  int context, n, nb;
  int grid[2], at[2]; /* ranks in rows and columns, this one's place */
  ptrdiff_t *index;   /* rows, then columns, of this rank */
} spread;

static const int one = 1;
static const double unity = 1, zero = 0;

/* ---- the grid */

/* How many of n this place of `places` has; which, if wanted. */
static ptrdiff_t owned(ptrdiff_t *index, ptrdiff_t n, int nb, int place, int places) {
  ptrdiff_t count = 0;
  for (ptrdiff_t first = (ptrdiff_t)place * nb; first < n; first += (ptrdiff_t)nb * places)
    for (ptrdiff_t i = first; i < n && i < first + nb; i++, count++)
      if (index) index[count] = i;
  return count;
}

static void describe(int desc[9], const spread *s, ptrdiff_t cols) {
  const int local = s->base.rows > 0 ? (int)s->base.rows : 1;
  const int all[9] = {1, s->context, s->n, (int)cols, s->nb, s->nb, 0, 0, local};
  memcpy(desc, all, sizeof all);
}

static void release(ep_dist *base) {
  spread *s = (spread *)base;
  if (s->context >= 0) Cblacs_gridexit(s->context);
  ep_release(s->index);
  ep_release(s);
}

/* p <= q, as square as can be: ranks come row by row */
static void make_grid(spread *s, const ep_comm *comm) {
  enum { REPEATABLE = 15, BLOCK = 64 };
  int yes = 1, p = (int)sqrt((double)comm->size);
  while (comm->size % p) p--;
  s->grid[0] = p, s->grid[1] = comm->size / p;
  s->at[0] = comm->rank / s->grid[1], s->at[1] = comm->rank % s->grid[1];
  s->nb = s->n / s->grid[1] < BLOCK ? s->n / s->grid[1] : BLOCK; /* every rank has something */
  if (s->nb < 1) s->nb = 1;
  Cblacs_get(-1, 0, &s->context);
  Cblacs_gridinit(&s->context, "Row", s->grid[0], s->grid[1]);
  Cblacs_set(s->context, REPEATABLE, &yes); /* sums in one order: the same bits every time */
}

/* whose products these are: ScaLAPACK takes the BLAS that the system's alternatives name, unless rpath finds another */
static void name_blas(char out[128]) {
  Dl_info info;
  char path[PATH_MAX];
  void *at = dlsym(RTLD_DEFAULT, "dgemm_");
  const char *name = at && dladdr(at, &info) && info.dli_fname ? info.dli_fname : "unknown";
  snprintf(out, 128, "%.127s", realpath(name, path) ? path : name);
}

static ep_status place(spread *s) {
  ep_dist *b = &s->base;
  b->rows = owned(NULL, s->n, s->nb, s->at[0], s->grid[0]);
  b->cols = owned(NULL, s->n, s->nb, s->at[1], s->grid[1]);
  EP_CHECK((double)b->rows * (double)b->cols < INT_MAX, EP_ERR_ARG,
           "%d features over %d ranks: a rank's part has more numbers than ScaLAPACK can count; "
           "take more ranks",
           s->n, b->comm->size);
  EP_CHECK((s->index = ep_alloc(b->rows + b->cols + 1, sizeof *s->index)) != NULL, EP_ERR_NOMEM,
           "no memory for the places of %d features", s->n);
  owned(s->index, s->n, s->nb, s->at[0], s->grid[0]);
  owned(s->index + b->rows, s->n, s->nb, s->at[1], s->grid[1]);
  b->row = s->index, b->col = s->index + b->rows;
  char blas[128];
  name_blas(blas);
  snprintf(b->what, sizeof b->what, "%s on %d x %d ranks, blocks of %d, BLAS of %.128s",
           s->elpa ? "ELPA after ScaLAPACK's Cholesky" : "ScaLAPACK", s->grid[0], s->grid[1], s->nb,
           blas);
  return EP_OK;
}

/* ---- matrices of few columns: whole on every rank, in parts for ScaLAPACK */

typedef struct {
  int desc[9];
  double *x;      /* (cols, rows) */
  ptrdiff_t *col; /* of the columns: which */
  ptrdiff_t cols;
} tall;

static void tall_free(tall *t) {
  ep_release(t->x);
  ep_release(t->col);
}

static ep_status tall_new(tall *t, const spread *s, ptrdiff_t cols) {
  *t = (tall){.cols = owned(NULL, cols, s->nb, s->at[1], s->grid[1])};
  describe(t->desc, s, cols);
  t->col = ep_alloc(t->cols + 1, sizeof *t->col);
  t->x = ep_alloc(t->cols * s->base.rows + 1, sizeof *t->x);
  if (t->col && t->x) {
    owned(t->col, cols, s->nb, s->at[1], s->grid[1]);
    return EP_OK;
  }
  tall_free(t);
  return EP_FAIL(EP_ERR_NOMEM, "no memory for %td vectors", cols);
}

static void to_parts(const tall *t, const spread *s, const ep_mat *X) {
  const ptrdiff_t m = s->base.rows;
  for (ptrdiff_t j = 0; j < t->cols; j++)
    for (ptrdiff_t i = 0; i < m; i++) t->x[j * m + i] = *ep_d(X, s->base.row[i], t->col[j]);
}

/* X (n x k) = columns of x, which are columns col[] - first of X; those outside of it are left out */
static ep_status to_whole(const ep_mat *X, const spread *s, const double *x, const ptrdiff_t *col,
                          ptrdiff_t cols, ptrdiff_t first, bool falling) {
  const ep_comm *comm = s->base.comm;
  const ptrdiff_t m = s->base.rows;
  ep_mat_fill(X, 0);
  for (ptrdiff_t j = 0; j < cols; j++) {
    const ptrdiff_t at = falling ? first - col[j] : col[j] - first;
    for (ptrdiff_t i = 0; at >= 0 && at < X->cols && i < m; i++)
      *ep_d(X, s->base.row[i], at) = x[j * m + i];
  }
  return comm->sum(comm, X->data, X->rows * X->cols, EP_DOUBLE);
}

/* ---- what ScaLAPACK does; a row-major part is a column-major part of the transpose, which is the same */

static ep_status cholesky(ep_dist *base, double *B) {
  const spread *s = (spread *)base;
  int desc[9], info = 0;
  describe(desc, s, s->n);
  pdpotrf_("L", &s->n, B, &one, &one, desc, &info);
  EP_CHECK(info == 0, EP_ERR_NUMERIC,
           "a covariance of %d features is not positive: pdpotrf info %d", s->n, info);
  return EP_OK;
}

static ep_status solve(ep_dist *base, const ep_mat *X, double *L, ep_trans trans) {
  const spread *s = (spread *)base;
  const int cols = (int)X->cols;
  int desc[9];
  tall t;
  describe(desc, s, s->n);
  EP_TRY(tall_new(&t, s, X->cols));
  to_parts(&t, s, X);
  pdtrsm_("L", "L", trans == EP_T ? "T" : "N", "N", &s->n, &cols, &unity, L, &one, &one, desc, t.x,
          &one, &one, t.desc);
  const ep_status st = to_whole(X, s, t.x, t.col, t.cols, 0, false);
  tall_free(&t);
  return st;
}

static ep_status mul(ep_dist *base, const ep_mat *Y, double *A, const ep_mat *X) {
  const spread *s = (spread *)base;
  const int cols = (int)X->cols;
  int desc[9];
  tall t, u;
  describe(desc, s, s->n);
  EP_TRY(tall_new(&t, s, X->cols));
  ep_status st = tall_new(&u, s, X->cols);
  if (!st) {
    to_parts(&t, s, X);
    pdsymm_("L", "L", &s->n, &cols, &unity, A, &one, &one, desc, t.x, &one, &one, t.desc, &zero,
            u.x, &one, &one, u.desc);
    st = to_whole(Y, s, u.x, u.col, u.cols, 0, false);
    tall_free(&u);
  }
  tall_free(&t);
  return st;
}

/* A <- L^{-1} A L'^{-1} */
static void reduce(const spread *s, double *A, const double *L) {
  int desc[9];
  describe(desc, s, s->n);
  pdtrsm_("L", "L", "N", "N", &s->n, &s->n, &unity, L, &one, &one, desc, A, &one, &one, desc);
  pdtrsm_("R", "L", "T", "N", &s->n, &s->n, &unity, L, &one, &one, desc, A, &one, &one, desc);
}

/* rising */
static ep_status by_scalapack(ep_work *work, const spread *s, double *w, double *Z, double *A) {
  int desc[9], info = 0, least = -1, count = 0;
  double size = 0, *scratch;
  int *integers;
  describe(desc, s, s->n);
  pdsyevd_("V", "L", &s->n, A, &one, &one, desc, w, Z, &one, &one, desc, &size, &least, &count,
           &least, &info);
  /* what pdormtr takes within it is more than it asks for on some grids */
  const double more =
      (double)s->nb * (4 * (double)(s->base.rows + s->base.cols) + 8 * s->nb) + s->n;
  EP_CHECK(size + more < INT_MAX, EP_ERR_ARG,
           "pdsyevd of order %d takes %.3g numbers of scratch a rank, more than it can count: take "
           "more ranks, or --solver elpa",
           s->n, size);
  const int room = (int)(size + more);
  EP_TRY(ep_work_get(work, &scratch, room, sizeof *scratch));
  EP_TRY(ep_work_get(work, &integers, count, sizeof *integers));
  pdsyevd_("V", "L", &s->n, A, &one, &one, desc, w, Z, &one, &one, desc, scratch, &room, integers,
           &count, &info);
  EP_CHECK(info == 0, EP_ERR_NUMERIC, "symmetric eigenproblem of order %d: pdsyevd info %d", s->n,
           info);
  return EP_OK;
}

#ifdef EP_ELPA
#include <elpa/elpa.h>

/* the `wanted` smallest, rising */
static ep_status by_elpa(const spread *s, double *w, double *Z, double *A, ptrdiff_t wanted) {
  const struct {
    const char *name;
    int value;
  } settings[] = {{"na", s->n},
                  {"nev", (int)wanted},
                  {"local_nrows", (int)s->base.rows},
                  {"local_ncols", (int)s->base.cols},
                  {"nblk", s->nb},
                  {"mpi_comm_parent", ranks_handle()},
                  {"process_row", s->at[0]},
                  {"process_col", s->at[1]}};
  int bad = ELPA_OK;
  EP_CHECK(elpa_init(20211125) == ELPA_OK, EP_ERR_ARG, "this ELPA is older than its headers");
  elpa_t handle = elpa_allocate(&bad);
  for (size_t i = 0; bad == ELPA_OK && i < sizeof settings / sizeof *settings; i++)
    elpa_set_integer(handle, settings[i].name, settings[i].value, &bad);
  if (bad == ELPA_OK) bad = elpa_setup(handle);
  if (bad == ELPA_OK) elpa_eigenvectors_a_h_a_d(handle, A, w, Z, &bad);
  const int found = bad;
  if (handle) elpa_deallocate(handle, &bad);
  elpa_uninit(&bad);
  EP_CHECK(found == ELPA_OK, EP_ERR_NUMERIC, "symmetric eigenproblem of order %d: ELPA: %s", s->n,
           elpa_strerr(found));
  return EP_OK;
}
#else
static ep_status by_elpa(const spread *s, double *w, double *Z, double *A, ptrdiff_t wanted) {
  (void)s, (void)w, (void)Z, (void)A, (void)wanted;
  return EP_FAIL(EP_ERR_ARG, "this build knows no ELPA");
}
#endif

/* max_j |C v_j - lambda_j v_j|: these libraries print and go on where a size is wrong */
static ep_status residual(double *out, ep_work *work, spread *s, const ep_mat *V,
                          const double *lambda, double *C) {
  ep_mat R;
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, V->rows, V->cols));
  EP_TRY(mul(&s->base, &R, C, V));
  *out = 0;
  for (ptrdiff_t j = 0; j < V->cols; j++) {
    double sum = 0;
    for (ptrdiff_t i = 0; i < V->rows; i++) {
      const double e = *ep_d(&R, i, j) - lambda[j] * *ep_d(V, i, j);
      sum += e * e;
    }
    *out = fmax(*out, sqrt(sum));
  }
  EP_CHECK(*out <= 1e-6 * fabs(lambda[0]), EP_ERR_NUMERIC,
           "%s: eigenpairs have a residual of %.2g; use --solver local", s->base.what, *out);
  return EP_OK;
}

static ep_status largest(ep_work *work, spread *s, const ep_mat *V, double *lambda, double *rest,
                         double *A, const double *L) {
  const ptrdiff_t n = s->n, k = V->cols, some = k < n ? k + 1 : n;
  const ptrdiff_t part = s->base.rows * s->base.cols + 1;
  double *w, *Z, *C;
  EP_TRY(ep_work_get(work, &w, n, sizeof *w));
  EP_TRY(ep_work_get(work, &Z, part, sizeof *Z));
  EP_TRY(ep_work_get(work, &C, part, sizeof *C));
  reduce(s, A, L);
  memcpy(C, A, (size_t)(part - 1) * sizeof *C);
  for (ptrdiff_t i = 0; s->elpa && i < part - 1; i++)
    A[i] = -A[i]; /* it begins with the smallest */
  EP_TRY(s->elpa ? by_elpa(s, w, Z, A, some) : by_scalapack(work, s, w, Z, A));
  lambda[k] = NAN;
  for (ptrdiff_t j = 0; j < some; j++) lambda[j] = s->elpa ? -w[j] : w[n - 1 - j];
  EP_TRY(to_whole(V, s, Z, s->base.col, s->base.cols, s->elpa ? 0 : n - 1, !s->elpa));
  return residual(rest, work, s, V, lambda, C);
}

static ep_status eigen(ep_dist *base, const ep_mat *V, double *lambda, double *rest, double *A,
                       double *L) {
  ep_work work = {0};
  const ep_status st = largest(&work, (spread *)base, V, lambda, rest, A, L);
  ep_work_free(&work);
  return st;
}

ep_status ranks_spread(const ep_comm *comm, ep_dist **out, ptrdiff_t order, bool elpa) {
  EP_CHECK(order <= INT_MAX / 4, EP_ERR_ARG, "%td features are more than ScaLAPACK can count",
           order);
#ifndef EP_ELPA
  EP_CHECK(!elpa, EP_ERR_ARG,
           "this build knows no ELPA: build with `cmake --preset mpi -DEP_ELPA=ON`");
#endif
  spread *s = ep_alloc(1, sizeof *s);
  EP_CHECK(s, EP_ERR_NOMEM, "no memory to spread an eigenproblem");
  s->base = (ep_dist){.comm = comm,
                      .order = order,
                      .cholesky = cholesky,
                      .solve = solve,
                      .mul = mul,
                      .eigen = eigen,
                      .free = release};
  s->elpa = elpa;
  s->n = (int)order, s->context = -1;
  make_grid(s, comm);
  const ep_status st = place(s);
  if (st) release(&s->base);
  else *out = &s->base;
  return st;
}
#else

ep_status ranks_spread(const ep_comm *comm, ep_dist **out, ptrdiff_t order, bool elpa) {
  (void)comm, (void)out, (void)order, (void)elpa;
  return EP_FAIL(EP_ERR_ARG, "--solver scalapack and elpa: this build knows no MPI");
}
#endif
