/* The only door to BLAS. Every call into it runs on one thread; larger products are cut into tiles, which our own threads
 * share out. The tiles depend on the shapes alone, so a product has the same bits on any number of threads. */
#include "core/products.h"

#include "core/crew.h"
#include "core/loops.h"
#include "core/threads.h"
#include "core/vector.h"

#include <assert.h>
#include <cblas.h>
#include <eigenpair/run.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>

int ep_solo_begin(void) {
  const int threads = omp_get_max_threads();
  if (threads > 1) omp_set_num_threads(1);
  return threads;
}

void ep_solo_end(int threads) {
  if (threads > 1) omp_set_num_threads(threads);
}

/* ---- tiles */

enum { ALIGN = 48 }; /* a multiple of what kernels of BLAS take at once */

/* Pieces of a side of n, about `side` long each. */
static ptrdiff_t piece(ptrdiff_t n, double side) {
  const ptrdiff_t count = (ptrdiff_t)fmax(1, round((double)n / side));
  return ((n + count - 1) / count + ALIGN - 1) / ALIGN * ALIGN;
}

/* Eight tiles or more, of 240 to 1,000 rows and columns: small enough to share out, large enough to pack once. */
static double tile_side(double entries) { return fmin(1000, fmax(240, sqrt(entries / 8))); }

static ptrdiff_t tiles(ptrdiff_t n, ptrdiff_t piece) { return (n + piece - 1) / piece; }

static bool solo(double operations) { return !ep_worth_threads(operations) || ep_crew_busy(); }

/* ---- C = alpha op(A) op(B) + beta C */

static void gemm(const ep_mat *C, double alpha, const ep_mat *A, ep_trans ta, const ep_mat *B,
                 ep_trans tb, double beta) {
  const int m = (int)C->rows, n = (int)C->cols, k = (int)(ta == EP_N ? A->cols : A->rows);
  const CBLAS_TRANSPOSE ca = ta == EP_N ? CblasNoTrans : CblasTrans;
  const CBLAS_TRANSPOSE cb = tb == EP_N ? CblasNoTrans : CblasTrans;
  const int lda = (int)(A->ld > 0 ? A->ld : 1), ldb = (int)(B->ld > 0 ? B->ld : 1);
  const int threads = ep_solo_begin();
  if (C->prec == EP_SINGLE)
    cblas_sgemm(CblasRowMajor, ca, cb, m, n, k, (float)alpha, A->data, lda, B->data, ldb,
                (float)beta, C->data, (int)C->ld);
  else
    cblas_dgemm(CblasRowMajor, ca, cb, m, n, k, alpha, A->data, lda, B->data, ldb, beta, C->data,
                (int)C->ld);
  ep_solo_end(threads);
}

/* rows i .. i + n of op(A) */
static ep_mat op_rows(const ep_mat *A, ep_trans t, ptrdiff_t i, ptrdiff_t n) {
  return t == EP_N ? ep_mat_rows(A, i, n) : ep_mat_cols(A, i, n);
}

typedef struct {
  const ep_mat *C, *A, *B;
  double alpha, beta;
  ep_trans ta, tb;
  ptrdiff_t rows, cols; /* of a tile */
  const volatile int *stop;
} product;

static void mul_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const product *p = of;
  const ep_mat *C = p->C;
  const ptrdiff_t across = tiles(C->cols, p->cols);
  const ep_trans columns =
      p->tb == EP_N ? EP_T : EP_N; /* columns of op(B) are rows of its transpose */
  for (ptrdiff_t t = first; t < end && !(p->stop && *p->stop); t++) {
    const ptrdiff_t i = t / across * p->rows, j = t % across * p->cols;
    const ptrdiff_t height = ep_least(p->rows, C->rows - i), width = ep_least(p->cols, C->cols - j);
    const ep_mat c_rows = ep_mat_rows(C, i, height), c = ep_mat_cols(&c_rows, j, width);
    const ep_mat a = op_rows(p->A, p->ta, i, height), b = op_rows(p->B, columns, j, width);
    gemm(&c, p->alpha, &a, p->ta, &b, p->tb, p->beta);
  }
}

void ep_mat_mul(const ep_mat *C, double alpha, const ep_mat *A, ep_trans ta, const ep_mat *B,
                ep_trans tb, double beta) {
  const ptrdiff_t m = ta == EP_N ? A->rows : A->cols, k = ta == EP_N ? A->cols : A->rows;
  const ptrdiff_t n = tb == EP_N ? B->cols : B->rows;
  assert(C->rows == m && C->cols == n && (tb == EP_N ? B->rows : B->cols) == k);
  assert(A->prec == C->prec && B->prec == C->prec);
  assert(m <= INT_MAX && n <= INT_MAX && k <= INT_MAX && A->ld <= INT_MAX);
  if (m == 0 || n == 0) return;
  if (solo(2. * (double)m * (double)n * (double)k)) {
    gemm(C, alpha, A, ta, B, tb, beta);
    return;
  }
  const double side = tile_side((double)m * (double)n);
  product p = {C, A, B, alpha, beta, ta, tb, piece(m, side), piece(n, side), ep_run_loose_stop()};
  ep_crew_loop(tiles(m, p.rows) * tiles(n, p.cols), 1, true, mul_tiles, &p);
}

/* y = alpha op(A) x + beta y, entries of y shared out */
static void gemv(void *y, double alpha, const ep_mat *A, ep_trans ta, const void *x, double beta) {
  const CBLAS_TRANSPOSE ca = ta == EP_N ? CblasNoTrans : CblasTrans;
  const int m = (int)A->rows, n = (int)A->cols, lda = (int)(A->ld > 0 ? A->ld : 1);
  const int threads = ep_solo_begin();
  if (A->prec == EP_SINGLE)
    cblas_sgemv(CblasRowMajor, ca, m, n, (float)alpha, A->data, lda, x, 1, (float)beta, y, 1);
  else cblas_dgemv(CblasRowMajor, ca, m, n, alpha, A->data, lda, x, 1, beta, y, 1);
  ep_solo_end(threads);
}

typedef struct {
  char *y;
  const ep_mat *A;
  const void *x;
  double alpha, beta;
  ep_trans ta;
  ptrdiff_t n, part;
} vector_product;

static void vec_parts(void *of, ptrdiff_t first, ptrdiff_t end) {
  const vector_product *p = of;
  for (ptrdiff_t i = first * p->part; i < ep_least(end * p->part, p->n); i += p->part) {
    const ep_mat a = op_rows(p->A, p->ta, i, ep_least(p->part, p->n - i));
    gemv(p->y + (size_t)i * ep_sizeof(p->A->prec), p->alpha, &a, p->ta, p->x, p->beta);
  }
}

void ep_mat_vec(void *y, double alpha, const ep_mat *A, ep_trans ta, const void *x, double beta) {
  const ptrdiff_t n = ta == EP_N ? A->rows : A->cols;
  if (n == 0) return;
  if (solo(8. * (double)A->rows * (double)A->cols)) { /* it lives on reading A, not on operations */
    gemv(y, alpha, A, ta, x, beta);
    return;
  }
  vector_product p = {y, A, x, alpha, beta, ta, n, piece(n, fmax(48, (double)n / 8))};
  ep_crew_loop(tiles(n, p.part), 1, true, vec_parts, &p);
}

void ep_mat_mul_skinny(const ep_mat *C, const ep_mat *A, const ep_mat *B) {
  assert(C->rows == A->rows && C->cols == B->rows && A->cols == B->cols);
  assert(A->prec == C->prec && B->prec == C->prec);
  EP_PICK(C->prec, ep_loop_skinny)(C, A, B);
}

/* ---- upper triangle of G = alpha op(A) op(A)' + beta G */

static void syrk(const ep_mat *G, double alpha, const ep_mat *A, ep_trans t, double beta) {
  const CBLAS_TRANSPOSE ct = t == EP_N ? CblasNoTrans : CblasTrans;
  const int n = (int)G->rows, k = (int)(t == EP_N ? A->cols : A->rows);
  const int lda = (int)(A->ld > 0 ? A->ld : 1), ldg = (int)G->ld, threads = ep_solo_begin();
  if (G->prec == EP_SINGLE)
    cblas_ssyrk(CblasRowMajor, CblasUpper, ct, n, k, (float)alpha, A->data, lda, (float)beta,
                G->data, ldg);
  else cblas_dsyrk(CblasRowMajor, CblasUpper, ct, n, k, alpha, A->data, lda, beta, G->data, ldg);
  ep_solo_end(threads);
}

void ep_triangle_place(ptrdiff_t *row, ptrdiff_t *col, ptrdiff_t t, ptrdiff_t count) {
  *row = 0;
  while (t >= count - *row) t -= count - (*row)++;
  *col = *row + t;
}

typedef struct {
  const ep_mat *G, *A;
  double alpha, beta;
  ep_trans t;
  ptrdiff_t part;
  const volatile int *stop;
} square;

static void gram_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const square *s = of;
  const ptrdiff_t n = s->G->rows, part = s->part;
  for (ptrdiff_t e = first; e < end && !(s->stop && *s->stop); e++) {
    ptrdiff_t i, j;
    ep_triangle_place(&i, &j, e, tiles(n, part));
    const ptrdiff_t height = ep_least(part, n - i * part), width = ep_least(part, n - j * part);
    const ep_mat rows = ep_mat_rows(s->G, i * part, height),
                 g = ep_mat_cols(&rows, j * part, width);
    const ep_mat a = op_rows(s->A, s->t, i * part, height),
                 b = op_rows(s->A, s->t, j * part, width);
    if (i == j) syrk(&g, s->alpha, &a, s->t, s->beta);
    else gemm(&g, s->alpha, &a, s->t, &b, s->t == EP_N ? EP_T : EP_N, s->beta);
  }
}

static void gram(const ep_mat *G, double alpha, const ep_mat *A, ep_trans t, double beta) {
  const ptrdiff_t n = G->rows, k = t == EP_N ? A->cols : A->rows;
  assert(G->cols == n && G->prec == A->prec && n <= INT_MAX && k <= INT_MAX);
  if (n == 0) return;
  if (solo((double)n * (double)n * (double)k)) {
    syrk(G, alpha, A, t, beta);
    return;
  }
  const ptrdiff_t part = piece(n, tile_side((double)n * (double)n / 2)), count = tiles(n, part);
  square s = {G, A, alpha, beta, t, part, ep_run_loose_stop()};
  ep_crew_loop(count * (count + 1) / 2, 1, true, gram_tiles, &s);
}

void ep_mat_gram(const ep_mat *G, double alpha, const ep_mat *A, double beta) {
  assert(G->rows == A->rows);
  gram(G, alpha, A, EP_N, beta);
  ep_mat_mirror(G);
}

void ep_mat_gram_cols(const ep_mat *G, double alpha, const ep_mat *A, double beta) {
  assert(G->rows == A->cols);
  gram(G, alpha, A, EP_T, beta);
}

/* ---- triangular systems and products */

static void trsm(const ep_mat *B, const ep_mat *L, CBLAS_SIDE side, CBLAS_TRANSPOSE t) {
  const int threads = ep_solo_begin();
  if (B->prec == EP_SINGLE)
    cblas_strsm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, (int)B->rows, (int)B->cols, 1,
                L->data, (int)L->ld, B->data, (int)B->ld);
  else
    cblas_dtrsm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, (int)B->rows, (int)B->cols, 1,
                L->data, (int)L->ld, B->data, (int)B->ld);
  ep_solo_end(threads);
}

static void trmm(const ep_mat *B, const ep_mat *L, CBLAS_SIDE side, CBLAS_TRANSPOSE t) {
  const int threads = ep_solo_begin();
  if (B->prec == EP_SINGLE)
    cblas_strmm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, (int)B->rows, (int)B->cols, 1,
                L->data, (int)L->ld, B->data, (int)B->ld);
  else
    cblas_dtrmm(CblasRowMajor, side, CblasLower, t, CblasNonUnit, (int)B->rows, (int)B->cols, 1,
                L->data, (int)L->ld, B->data, (int)B->ld);
  ep_solo_end(threads);
}

typedef void triangular(const ep_mat *B, const ep_mat *L, CBLAS_SIDE side, CBLAS_TRANSPOSE t);

typedef struct {
  triangular *apply;
  const ep_mat *B, *L;
  CBLAS_SIDE side;
  CBLAS_TRANSPOSE t;
  ptrdiff_t n, part;
} system_of;

static void triangular_parts(void *of, ptrdiff_t first, ptrdiff_t end) {
  const system_of *s = of;
  for (ptrdiff_t i = first * s->part; i < ep_least(end * s->part, s->n); i += s->part) {
    const ptrdiff_t count = ep_least(s->part, s->n - i);
    const ep_mat b =
        s->side == CblasLeft ? ep_mat_cols(s->B, i, count) : ep_mat_rows(s->B, i, count);
    s->apply(&b, s->L, s->side, s->t);
  }
}

/* right-hand sides are shared out: columns of B on the left of it, rows on the right */
static void by_parts(triangular *apply, const ep_mat *B, const ep_mat *L, CBLAS_SIDE side,
                     CBLAS_TRANSPOSE t) {
  const ptrdiff_t n = side == CblasLeft ? B->cols : B->rows;
  assert(L->rows == L->cols && L->prec == B->prec);
  if (n == 0 || L->rows == 0) return;
  if (solo((double)L->rows * (double)L->rows * (double)n)) {
    apply(B, L, side, t);
    return;
  }
  system_of s = {apply, B, L, side, t, n, piece(n, fmin(480, fmax(48, (double)n / 8)))};
  ep_crew_loop(tiles(n, s.part), 1, true, triangular_parts, &s);
}

void ep_mat_solve_triangular(const ep_mat *B, const ep_mat *L, ep_trans t) {
  assert(L->rows == B->rows);
  by_parts(trsm, B, L, CblasLeft, t == EP_T ? CblasTrans : CblasNoTrans);
}

void ep_mat_solve_rows(const ep_mat *B, const ep_mat *L) {
  assert(L->rows == B->cols);
  by_parts(trsm, B, L, CblasRight, CblasTrans);
}

void ep_mat_mul_triangular(const ep_mat *B, const ep_mat *L) {
  assert(L->rows == B->cols);
  by_parts(trmm, B, L, CblasRight, CblasNoTrans);
}
