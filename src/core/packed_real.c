/* C = L B with L packed: C_rj = sum over the listed k of L_rk B_kj.
 *
 * The inner function keeps a tile of 6 x 2 vectors of sums in registers, 6 x 4 where there are 32 of them; per listed column
 * it loads one row of B and six numbers of L. Cost: the dense product's times the share of listed columns. */
#include "core/crew.h"
#include "core/packed.h"
#include "core/threads.h"
#include "core/vector.h"

#include <eigenpair/run.h>
#include <string.h>

enum {
  MR = EP_PANEL_ROWS,
  LANES = EP_VECTOR / sizeof(real),
  NV = EP_VECTOR == 64 ? 4 : 2,
  NR = NV * LANES,
  AHEAD =
      EP_VECTOR == 64
          ? 6
          : 0 /* entries from now, a row of B is fetched: rows are too far apart for the processor to guess */
};
enum {
  PANELS_AT_ONCE = 256 / (NV * EP_VECTOR)
}; /* 256 bytes of a row of B: EP_PANEL_COLS or half of it */
typedef real vec __attribute__((vector_size(EP_VECTOR), aligned(sizeof(real)), may_alias));

static int new_columns(const uint64_t *row, const uint64_t *have, int words) {
  int n = 0;
  for (int w = 0; w < words; w++) n += __builtin_popcountll(row[w] & ~have[w]);
  return n;
}

void R(ep_side_order)(ptrdiff_t *order, const uint64_t *bits, ptrdiff_t *left, ptrdiff_t n,
                      int words) {
  enum { WORDS = EP_ORDER_BITS / 64 };
  uint64_t have[WORDS] = {0}; /* columns of the panel that is being filled */
  for (ptrdiff_t place = 0; n > 0; place++) {
    if (place % EP_PANEL_ROWS == 0) memset(have, 0, sizeof have);
    ptrdiff_t best = 0;
    int fewest = EP_ORDER_BITS + 1;
    for (ptrdiff_t c = 0; c < n; c++) {
      const int k = new_columns(bits + left[c] * WORDS, have, words);
      if (k < fewest) fewest = k, best = c;
    }
    for (int w = 0; w < words; w++) have[w] |= bits[left[best] * WORDS + w];
    order[place] = left[best];
    left[best] = left[--n];
  }
}

/* the values of side->index, once rows are ordered and columns listed */
typedef struct {
  ep_side *side;
  const ep_mat *X;
  int transposed;
} values_loop;

static void some_values(void *of, ptrdiff_t first, ptrdiff_t end) {
  const values_loop *l = of;
  const ep_side *side = l->side;
  for (ptrdiff_t b = first; b < end; b++) {
    const ptrdiff_t *rows = side->order + b % side->panels * MR;
    const ptrdiff_t k0 = b / side->panels * EP_PANEL_DEPTH;
    real *to = (real *)side->value + side->start[b] * MR;
    for (ptrdiff_t e = side->start[b]; e < side->start[b + 1]; e++, to += MR) {
      const ptrdiff_t k = k0 + side->index[e];
      for (int r = 0; r < MR; r++)
        to[r] = rows[r] < 0 ? 0 : l->transposed ? *at(l->X, k, rows[r]) : *at(l->X, rows[r], k);
    }
  }
}

void R(ep_side_values)(ep_side *side, const ep_mat *X, int transposed) {
  values_loop l = {side, X, transposed};
  ep_crew_loop(side->chunks * side->panels, 16, true, some_values, &l);
}

static inline __attribute__((always_inline)) void fetch(const real *b, const int wide) {
#pragma GCC unroll 4
  for (int v = 0; v < wide; v++) __builtin_prefetch(b + v * LANES);
}

/* tile (MR x NR) = sum_k a_k b_{index k}', for the first `wide` vectors of a row of B */
static inline __attribute__((always_inline)) void sum_wide(real *tile, const real *a,
                                                           const uint16_t *index, ptrdiff_t count,
                                                           const real *B, const int wide) {
  vec c[MR][NV] = {{{0}}};
  for (ptrdiff_t e = 0; e < count; e++, a += MR) {
    const vec *b = (const vec *)(B + (ptrdiff_t)index[e] * NR);
    if (AHEAD) fetch(B + (ptrdiff_t)index[e + AHEAD < count ? e + AHEAD : e] * NR, wide);
#pragma GCC unroll 6
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
      for (int v = 0; v < wide; v++) c[r][v] += a[r] * b[v];
  }
#pragma GCC unroll 6
  for (int r = 0; r < MR; r++)
#pragma GCC unroll 4
    for (int v = 0; v < wide; v++) ((vec *)tile)[r * NV + v] = c[r][v];
}

/* the last panel may be narrower */
static void tile_sum(real *tile, const real *a, const uint16_t *index, ptrdiff_t count,
                     const real *B, ptrdiff_t cols) {
  if (NV == 4 && cols > 3 * LANES) sum_wide(tile, a, index, count, B, NV);
  else if (NV == 4 && cols > 2 * LANES) sum_wide(tile, a, index, count, B, NV - 1);
  else if (cols > LANES) sum_wide(tile, a, index, count, B, 2);
  else sum_wide(tile, a, index, count, B, 1);
}

/* B_kj = V[j][k], a panel of NR columns after the other; columns past the end are zero */
static void pack_transposed(real *B, const ep_mat *V, ptrdiff_t j0, ptrdiff_t panels, ptrdiff_t k0,
                            ptrdiff_t depth) {
  static const real none[EP_PANEL_DEPTH];
  for (ptrdiff_t p = 0; p < panels; p++) {
    const real *v[NR];
    for (int c = 0; c < NR; c++) {
      const ptrdiff_t j = j0 + p * NR + c;
      v[c] = j < V->rows ? at(V, j, k0) : none;
    }
    for (ptrdiff_t k = 0; k < depth; k++, B += NR)
      for (int c = 0; c < NR; c++) B[c] = v[c][k];
  }
}

/* B_kj = B[k][j], the same panels */
static void pack_straight(real *to, const ep_mat *B, ptrdiff_t j0, ptrdiff_t panels, ptrdiff_t k0,
                          ptrdiff_t depth) {
  for (ptrdiff_t p = 0; p < panels; p++)
    for (ptrdiff_t k = 0; k < depth; k++, to += NR) {
      const ptrdiff_t j = j0 + p * NR, n = B->cols - j < NR ? B->cols - j : NR;
      memcpy(to, at(B, k0 + k, j), (size_t)n * sizeof(real));
      if (n < NR) memset(to + n, 0, (size_t)(NR - n) * sizeof(real));
    }
}

/* Tasks: blocks of columns, and groups of row panels where there are too few of those. */
typedef struct {
  ptrdiff_t blocks, width, groups;
} split;

static split share_out(ptrdiff_t cols, ptrdiff_t row_panels) {
  const ptrdiff_t panels = (cols + NR - 1) / NR, threads = ep_run_threads();
  split s = {.width = panels < PANELS_AT_ONCE ? panels : PANELS_AT_ONCE, .groups = 1};
  s.blocks = (panels + s.width - 1) / s.width;
  if (s.blocks < 4 * threads && panels * row_panels > 64) s.groups = threads;
  if (s.groups > row_panels) s.groups = row_panels;
  return s;
}

static bool worth_threads(const ep_side *L, ptrdiff_t cols) {
  return ep_worth_threads(2. * MR * (double)L->start[L->panels * L->chunks] * (double)cols);
}

/* first panel of a group: groups have equal numbers of entries, not of panels (the order puts sparse rows first) */
static ptrdiff_t group_start(const ep_side *L, ptrdiff_t group, ptrdiff_t groups) {
  const ptrdiff_t want = L->start[L->panels] * group / groups;
  ptrdiff_t low = 0, high = L->panels;
  while (low < high) {
    const ptrdiff_t p = (low + high) / 2;
    if (L->start[p] < want) low = p + 1;
    else high = p;
  }
  return group == groups ? L->panels : low;
}

/* A[row][j] (+)= alpha tile, for the rows that a panel stands for */
static void store_rows(const ep_mat *A, double alpha, const ptrdiff_t *rows, ptrdiff_t j,
                       const real *tile, int add) {
  const ptrdiff_t n = ep_least(NR, A->cols - j);
  const real c = (real)alpha;
  for (int r = 0; r < MR && rows[r] >= 0; r++, tile += NR) {
    real *a = at(A, rows[r], j);
    if (add)
      for (ptrdiff_t i = 0; i < n; i++) a[i] += c * tile[i];
    else
      for (ptrdiff_t i = 0; i < n; i++) a[i] = c * tile[i];
  }
}

/* a product of a packed side, whose tasks are shared out */
typedef struct {
  const ep_mat *to, *from;
  double alpha, beta;
  const ep_side *L;
  real *scratch;
  split s;
  const volatile int *stop;
} side_loop;

static void nt_tasks(void *of, ptrdiff_t first_task, ptrdiff_t end) {
  const side_loop *l = of;
  const ep_mat *A = l->to, *V = l->from;
  const ep_side *L = l->L;
  for (ptrdiff_t task = first_task; task < end && !(l->stop && *l->stop); task++) {
    const ptrdiff_t j0 = task / l->s.groups * l->s.width * NR, g = task % l->s.groups;
    const ptrdiff_t wide = ep_least(l->s.width, (V->rows - j0 + NR - 1) / NR);
    const ptrdiff_t p0 = group_start(L, g, l->s.groups), p1 = group_start(L, g + 1, l->s.groups);
    real *B = l->scratch + ep_crew_thread() * ep_side_scratch(L, 0);
    for (ptrdiff_t chunk = 0; chunk < L->chunks; chunk++) {
      const ptrdiff_t k0 = chunk * EP_PANEL_DEPTH, depth = ep_least(EP_PANEL_DEPTH, L->depth - k0);
      pack_transposed(B, V, j0, wide, k0, depth);
      for (ptrdiff_t w = 0; w < wide; w++)
        for (ptrdiff_t p = p0; p < p1; p++) {
          const ptrdiff_t first = L->start[chunk * L->panels + p];
          const ptrdiff_t count = L->start[chunk * L->panels + p + 1] - first;
          real tile[MR * NR] = {0};
          tile_sum(tile, (const real *)L->value + first * MR, L->index + first, count,
                   B + w * depth * NR, V->rows - j0 - w * NR);
          store_rows(A, l->alpha, L->order + p * MR, j0 + w * NR, tile, chunk > 0);
        }
    }
  }
}

/* A = alpha L V' */
void R(ep_side_mul_nt)(const ep_mat *A, double alpha, const ep_side *L, const ep_mat *V,
                       void *scratch) {
  const split s = share_out(V->rows, L->panels);
  side_loop l = {A, V, alpha, 0, L, scratch, s, ep_run_loose_stop()};
  ep_crew_loop(s.blocks * s.groups, 1, worth_threads(L, V->rows), nt_tasks, &l);
}

/* G[j][row] = alpha C[row][j] + beta G[j][row] for the panels p0..p1 of C (rows in panel order) */
static void store_transposed(const ep_mat *G, double alpha, const real *C, const ep_side *L,
                             ptrdiff_t p0, ptrdiff_t p1, ptrdiff_t j0, double beta) {
  const real a = (real)alpha, b = (real)beta;
  for (ptrdiff_t j = j0; j < ep_least(j0 + NR, G->rows); j++) {
    real *g = at(G, j, 0);
    const real *c = C + (j - j0);
    for (ptrdiff_t r = p0 * MR; r < p1 * MR; r++, c += NR) {
      const ptrdiff_t row = L->order[r];
      if (row >= 0) g[row] = a * *c + (beta == 0 ? 0 : b * g[row]);
    }
  }
}

static void tn_tasks(void *of, ptrdiff_t first_task, ptrdiff_t end) {
  const side_loop *l = of;
  const ep_mat *B = l->from;
  const ep_side *L = l->L;
  for (ptrdiff_t task = first_task; task < end && !(l->stop && *l->stop); task++) {
    const ptrdiff_t j0 = task / l->s.groups * l->s.width * NR, g = task % l->s.groups;
    const ptrdiff_t wide = ep_least(l->s.width, (B->cols - j0 + NR - 1) / NR);
    const ptrdiff_t p0 = group_start(L, g, l->s.groups), p1 = group_start(L, g + 1, l->s.groups);
    const ptrdiff_t c_size = (p1 - p0) * MR * NR;
    real *C = l->scratch + ep_crew_thread() * ep_side_scratch(L, 1), *Bp = C + c_size * wide;
    memset(C, 0, (size_t)(c_size * wide) * sizeof(real));
    for (ptrdiff_t chunk = 0; chunk < L->chunks; chunk++) {
      const ptrdiff_t k0 = chunk * EP_PANEL_DEPTH, depth = ep_least(EP_PANEL_DEPTH, L->depth - k0);
      pack_straight(Bp, B, j0, wide, k0, depth);
      for (ptrdiff_t w = 0; w < wide; w++)
        for (ptrdiff_t p = p0; p < p1; p++) {
          const ptrdiff_t first = L->start[chunk * L->panels + p];
          const ptrdiff_t count = L->start[chunk * L->panels + p + 1] - first;
          real tile[MR * NR] = {0}, *c = C + w * c_size + (p - p0) * MR * NR;
          tile_sum(tile, (const real *)L->value + first * MR, L->index + first, count,
                   Bp + w * depth * NR, B->cols - j0 - w * NR);
          for (int i = 0; i < MR * NR; i++) c[i] += tile[i];
        }
    }
    for (ptrdiff_t w = 0; w < wide; w++)
      store_transposed(l->to, l->alpha, C + w * c_size, L, p0, p1, j0 + w * NR, l->beta);
  }
}

/* G = alpha B' L' + beta G, L = X' packed by columns of X */
void R(ep_side_mul_tn)(const ep_mat *G, double alpha, const ep_mat *B, const ep_side *L,
                       double beta, void *scratch) {
  const split s = share_out(B->cols, L->panels);
  side_loop l = {G, B, alpha, beta, L, scratch, s, ep_run_loose_stop()};
  ep_crew_loop(s.blocks * s.groups, 1, worth_threads(L, B->cols), tn_tasks, &l);
}
