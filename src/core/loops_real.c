#include "core/crew.h"
#include "core/loops.h"
#include "core/threads.h"
#include "core/vector.h"

#include <math.h>

/* A matrix is worked on in pieces of a row; sums of pieces are added in fixed groups, so that no result
 * depends on the thread count. */
enum { PIECE = 4096, GROUPS = 64 };

typedef struct {
  ptrdiff_t row, col, n;
} piece;

static ptrdiff_t pieces_a_row(const ep_mat *A) { return (A->cols + PIECE - 1) / PIECE; }
static ptrdiff_t pieces(const ep_mat *A) { return A->rows * pieces_a_row(A); }
static piece piece_at(const ep_mat *A, ptrdiff_t p) {
  const ptrdiff_t row = p / pieces_a_row(A), col = p % pieces_a_row(A) * PIECE;
  return (piece){row, col, A->cols - col < PIECE ? A->cols - col : PIECE};
}

static double norm2(const ep_mat *A, const ep_mat *unused, piece p) {
  (void)unused;
  const real *a = at(A, p.row, p.col);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < p.n; j++) sum += (double)a[j] * (double)a[j];
  return sum;
}

static double distance2(const ep_mat *A, const ep_mat *B, piece p) {
  const real *a = at(A, p.row, p.col), *b = at(B, p.row, p.col);
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < p.n; j++) {
    const double d = (double)a[j] - (double)b[j];
    sum += d * d;
  }
  return sum;
}

typedef double sum_fn(const ep_mat *A, const ep_mat *B, piece p);

static double sum_range(sum_fn *f, const ep_mat *A, const ep_mat *B, ptrdiff_t first,
                        ptrdiff_t end) {
  double sum = 0;
  for (ptrdiff_t k = first; k < end; k++) sum += f(A, B, piece_at(A, k));
  return sum;
}

typedef struct {
  sum_fn *f;
  const ep_mat *A, *B;
  double part[GROUPS];
} sum_loop;

static void sum_groups(void *of, ptrdiff_t first, ptrdiff_t end) {
  sum_loop *s = of;
  const ptrdiff_t n = pieces(s->A);
  for (ptrdiff_t g = first; g < end; g++)
    s->part[g] = sum_range(s->f, s->A, s->B, n * g / GROUPS, n * (g + 1) / GROUPS);
}

/* sum over the pieces of f(A, B, piece) */
static double sum_pieces(sum_fn *f, const ep_mat *A, const ep_mat *B) {
  sum_loop s = {.f = f, .A = A, .B = B};
  const ptrdiff_t n = pieces(A);
  double total = 0;
  if (n <= GROUPS && !ep_worth_entries(A)) return sum_range(f, A, B, 0, n); /* a group each */
  ep_crew_loop(GROUPS, 1, ep_worth_entries(A), sum_groups, &s);
  for (int g = 0; g < GROUPS; g++) total += s.part[g];
  return total;
}

double R(ep_loop_norm2)(const ep_mat *A) { return sum_pieces(norm2, A, A); }
double R(ep_loop_distance2)(const ep_mat *A, const ep_mat *B) {
  return sum_pieces(distance2, A, B);
}

/* a matrix without gaps is one long row: few pieces, each of them long */
static ep_mat flat(const ep_mat *A) {
  const ptrdiff_t n = A->rows * A->cols;
  return A->ld == A->cols ? ep_mat_view(A->prec, n > 0, n, A->data) : *A;
}

/* the largest of top and |a_ij|; NaN once there is one */
static double max_piece(double top, const ep_mat *A, piece p) {
  const real *a = at(A, p.row, p.col);
  int nan = top != top;
  for (ptrdiff_t j = 0; j < p.n; j++) {
    const double x = fabs((double)a[j]);
    if (x > top) top = x;
    if (x != x) nan = 1;
  }
  return nan ? NAN : top;
}

typedef struct {
  const ep_mat *A;
  double part[GROUPS];
} max_loop;

static void max_groups(void *of, ptrdiff_t first, ptrdiff_t end) {
  max_loop *m = of;
  const ptrdiff_t n = pieces(m->A);
  for (ptrdiff_t g = first; g < end; g++) {
    m->part[g] = 0;
    for (ptrdiff_t k = n * g / GROUPS; k < n * (g + 1) / GROUPS; k++)
      m->part[g] = max_piece(m->part[g], m->A, piece_at(m->A, k));
  }
}

double R(ep_loop_max)(const ep_mat *A) {
  const ep_mat F = flat(A);
  max_loop m = {.A = &F};
  double top = 0;
  ep_crew_loop(GROUPS, 4, ep_worth_entries(A), max_groups, &m);
  for (int g = 0; g < GROUPS; g++) {
    if (m.part[g] != m.part[g]) return NAN;
    if (m.part[g] > top) top = m.part[g];
  }
  return top;
}

/* f(A, B, x, piece) for every piece */
typedef void piece_fn(const ep_mat *A, const ep_mat *B, double x, piece p);

typedef struct {
  piece_fn *f;
  ep_mat a, b;
  double x;
} piece_loop;

static void some_pieces(void *of, ptrdiff_t first, ptrdiff_t end) {
  const piece_loop *l = of;
  for (ptrdiff_t k = first; k < end; k++) l->f(&l->a, &l->b, l->x, piece_at(&l->a, k));
}

static void each_piece(piece_fn *f, const ep_mat *A, const ep_mat *B, double x) {
  const bool gaps = A->ld != A->cols || B->ld != B->cols;
  piece_loop l = {f, gaps ? *A : flat(A), gaps ? *B : flat(B), x};
  ep_crew_loop(pieces(&l.a), 16, ep_worth_entries(A), some_pieces, &l);
}

/* y_ij += c x_ij */
static void axpy_piece(const ep_mat *Y, const ep_mat *X, double a, piece p) {
  const real c = (real)a;
  real *restrict y = at(Y, p.row, p.col);
  const real *restrict x = at(X, p.row, p.col);
#pragma omp simd
  for (ptrdiff_t j = 0; j < p.n; j++) y[j] += c * x[j];
}

static void fill_piece(const ep_mat *A, const ep_mat *same, double x, piece p) {
  (void)same;
  real *a = at(A, p.row, p.col);
  for (ptrdiff_t j = 0; j < p.n; j++) a[j] = (real)x;
}

static void copy_piece(const ep_mat *to, const ep_mat *from, double unused, piece p) {
  (void)unused;
  real *y = at(to, p.row, p.col);
  if (from->prec == EP_SINGLE) {
    const float *x = ep_s(from, p.row, p.col);
    for (ptrdiff_t j = 0; j < p.n; j++) y[j] = (real)x[j];
  } else {
    const double *x = ep_d(from, p.row, p.col);
    for (ptrdiff_t j = 0; j < p.n; j++) y[j] = (real)x[j];
  }
}

void R(ep_loop_axpy)(const ep_mat *Y, double a, const ep_mat *X) {
  each_piece(axpy_piece, Y, X, a);
}
void R(ep_loop_fill)(const ep_mat *A, double x) { each_piece(fill_piece, A, A, x); }
void R(ep_loop_copy_from)(const ep_mat *to, const ep_mat *from) {
  each_piece(copy_piece, to, from, 0);
}

/* the lower triangle, in tiles that stay in cache; a turn is a row of them */
enum { TILE = 32 };

/* g_ji = g_ij for j > i */
static void mirror_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *G = of;
  for (ptrdiff_t i0 = first * TILE; i0 < end * TILE; i0 += TILE)
    for (ptrdiff_t j0 = 0; j0 <= i0; j0 += TILE)
      for (ptrdiff_t i = i0; i < i0 + TILE && i < G->rows; i++)
        for (ptrdiff_t j = j0; j < j0 + TILE && j < i; j++) *at(G, i, j) = *at(G, j, i);
}

static void symmetrise_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *A = of;
  for (ptrdiff_t i0 = first * TILE; i0 < end * TILE; i0 += TILE)
    for (ptrdiff_t j0 = 0; j0 <= i0; j0 += TILE)
      for (ptrdiff_t i = i0; i < i0 + TILE && i < A->rows; i++)
        for (ptrdiff_t j = j0; j < j0 + TILE && j < i; j++)
          *at(A, i, j) = *at(A, j, i) = (*at(A, i, j) + *at(A, j, i)) / 2;
}

void R(ep_loop_mirror)(const ep_mat *G) {
  ep_mat of = *G;
  ep_crew_loop((G->rows + TILE - 1) / TILE, 4, ep_worth_entries(G), mirror_tiles, &of);
}

void R(ep_loop_symmetrise)(const ep_mat *A) {
  ep_mat of = *A;
  ep_crew_loop((A->rows + TILE - 1) / TILE, 4, ep_worth_entries(A), symmetrise_tiles, &of);
}

/* two rows of A with four of B: eight sums, each number loaded serves two or four of them */
static void skinny_tile(real out[8], const real *restrict a0, const real *restrict a1,
                        const real *const b[4], ptrdiff_t n) {
  const real *restrict b0 = b[0], *restrict b1 = b[1], *restrict b2 = b[2], *restrict b3 = b[3];
  real s0 = 0, s1 = 0, s2 = 0, s3 = 0, t0 = 0, t1 = 0, t2 = 0, t3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3, t0, t1, t2, t3)
  for (ptrdiff_t k = 0; k < n; k++) {
    s0 += a0[k] * b0[k], s1 += a0[k] * b1[k], s2 += a0[k] * b2[k], s3 += a0[k] * b3[k];
    t0 += a1[k] * b0[k], t1 += a1[k] * b1[k], t2 += a1[k] * b2[k], t3 += a1[k] * b3[k];
  }
  const real all[8] = {s0, s1, s2, s3, t0, t1, t2, t3};
  for (int i = 0; i < 8; i++) out[i] = all[i];
}

typedef struct {
  const ep_mat *C, *A, *B;
} skinny_loop;

static void skinny_rows(void *of, ptrdiff_t first, ptrdiff_t end) { /* a turn: two rows */
  const ep_mat *C = ((skinny_loop *)of)->C, *A = ((skinny_loop *)of)->A,
               *B = ((skinny_loop *)of)->B;
  for (ptrdiff_t i = 2 * first; i < ep_least(2 * end, A->rows); i += 2) {
    const ptrdiff_t second = i + 1 < A->rows ? i + 1 : i;
    for (ptrdiff_t j = 0; j < B->rows; j += 4) {
      real sums[8];
      const real *b[4];
      for (ptrdiff_t r = 0; r < 4; r++) b[r] = at(B, j + r < B->rows ? j + r : B->rows - 1, 0);
      skinny_tile(sums, at(A, i, 0), at(A, second, 0), b, A->cols);
      for (ptrdiff_t r = 0; r < 4 && j + r < B->rows; r++) {
        *at(C, i, j + r) = sums[r];
        *at(C, second, j + r) = second > i ? sums[4 + r] : sums[r];
      }
    }
  }
}

void R(ep_loop_skinny)(const ep_mat *C, const ep_mat *A, const ep_mat *B) {
  skinny_loop l = {C, A, B};
  ep_crew_loop((A->rows + 1) / 2, 16, ep_worth_entries(A), skinny_rows, &l);
}

/* A <- A . (G B), tile by tile of A: two rows of four vectors, whose sums stay in registers and share what is loaded of B */
typedef real vec __attribute__((vector_size(EP_VECTOR), aligned(sizeof(real)), may_alias));
enum { LANES = EP_VECTOR / sizeof(real), STRIP = 4 * LANES };

static void times_tile(real *const a[2], const real *const g[2], const ep_mat *B, ptrdiff_t j,
                       ptrdiff_t zs) {
  vec sum[2][4] = {{{0}}};
  for (ptrdiff_t z = 0; z < zs; z++)
    for (int v = 0; v < 4; v++) {
      const vec b = *(const vec *)at(B, z, j + v * LANES);
      for (int r = 0; r < 2; r++) sum[r][v] += g[r][z] * b;
    }
  for (int r = 0; r < 2; r++)
    for (int v = 0; v < 4; v++) *(vec *)(a[r] + v * LANES) *= sum[r][v];
}

/* the same for `count` columns of one row, at most STRIP */
static void times_rest(real *a, const real *g, const ep_mat *B, ptrdiff_t j, ptrdiff_t zs,
                       ptrdiff_t count) {
  real sum[STRIP] = {0};
  for (ptrdiff_t z = 0; z < zs; z++) {
    const real *b = at(B, z, j);
#pragma omp simd
    for (ptrdiff_t k = 0; k < count; k++) sum[k] += g[z] * b[k];
  }
#pragma omp simd
  for (ptrdiff_t k = 0; k < count; k++) a[k] *= sum[k];
}

void R(ep_loop_times_product)(const ep_mat *A, const ep_mat *G, const ep_mat *B) {
  for (ptrdiff_t i = 0; i < A->rows; i += 2) {
    const ptrdiff_t rows = ep_least(2, A->rows - i), whole = rows < 2 ? 0 : A->cols / STRIP * STRIP;
    for (ptrdiff_t j = 0; j < whole; j += STRIP)
      times_tile((real *[]){at(A, i, j), at(A, i + 1, j)},
                 (const real *[]){at(G, i, 0), at(G, i + 1, 0)}, B, j, G->cols);
    for (ptrdiff_t r = i; r < i + rows; r++)
      for (ptrdiff_t j = whole; j < A->cols; j += STRIP)
        times_rest(at(A, r, j), at(G, r, 0), B, j, G->cols, ep_least(STRIP, A->cols - j));
  }
}
