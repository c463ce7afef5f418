/* Packing: which rows share a panel, which columns a panel lists. The products: packed_real.c. */
#include "core/packed.h"

#include "core/crew.h"
#include "core/mem.h"

#include <eigenpair/packed.h>
#include <eigenpair/run.h>
#include <string.h>

struct ep_packed {
  ep_mat X; /* borrowed */
  bool dense;
  double density;
  ep_side forward, backward;
  void *scratch;
  int threads;
};

/* Greedy ordering looks at so many rows at a time. */
enum { WINDOW = 2048, BITS = EP_ORDER_BITS, WORDS = BITS / 64 };
/* Below so many columns in all products, ordering and packing cost more than they save. */
static const double order_columns = 4000, pack_columns = 500;

static double entry(const ep_mat *X, int transposed, ptrdiff_t i, ptrdiff_t k) {
  return transposed ? ep_get(X, k, i) : ep_get(X, i, k);
}

/* a side while it is packed; loops over its rows, windows of them and blocks are shared out */
typedef struct {
  ep_side *side;
  const ep_mat *X;
  int transposed;
  uint64_t (*bits)[WORDS]; /* of every row, and the rows still to be placed */
  ptrdiff_t *left;
} packing;

/* bits[i] = support of row i, on at most BITS columns spread over all */
static void supports(void *of, ptrdiff_t first, ptrdiff_t end) {
  const packing *p = of;
  const ptrdiff_t depth = p->side->depth, step = (depth + BITS - 1) / BITS;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t k = 0, b = 0; k < depth; k += step, b++)
      if (entry(p->X, p->transposed, i, k) != 0) p->bits[i][b / 64] |= (uint64_t)1 << (b % 64);
}

static void order_windows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const packing *p = of;
  const ptrdiff_t window = WINDOW / EP_PANEL_ROWS * EP_PANEL_ROWS, rows = p->side->rows;
  const ptrdiff_t columns = p->side->depth < BITS ? p->side->depth : BITS;
  for (ptrdiff_t i0 = first * window; i0 < end * window && i0 < rows; i0 += window) {
    const ptrdiff_t n = rows - i0 < window ? rows - i0 : window;
    EP_PICK(p->X->prec, ep_side_order)
    (p->side->order + i0, p->bits[0], p->left + i0, n, (int)((columns + 63) / 64));
  }
}

static ep_status order_rows(ep_work *work, packing *p) {
  const ptrdiff_t rows = p->side->rows, window = WINDOW / EP_PANEL_ROWS * EP_PANEL_ROWS;
  EP_TRY(ep_work_get(work, &p->bits, rows, sizeof *p->bits));
  EP_TRY(ep_work_get(work, &p->left, rows, sizeof *p->left));
  ep_crew_loop(rows, 64, true, supports, p);
  for (ptrdiff_t i = 0; i < rows; i++) p->left[i] = i;
  ep_crew_loop((rows + window - 1) / window, 1, true, order_windows, p);
  return EP_OK;
}

/* Lists the columns of one panel of one chunk; index NULL: only counts them. */
static ptrdiff_t list_columns(uint16_t *index, const ep_side *side, const ep_mat *X, int transposed,
                              ptrdiff_t block) {
  const ptrdiff_t *rows = side->order + block % side->panels * EP_PANEL_ROWS;
  const ptrdiff_t k0 = block / side->panels * EP_PANEL_DEPTH;
  const ptrdiff_t k1 = k0 + EP_PANEL_DEPTH < side->depth ? k0 + EP_PANEL_DEPTH : side->depth;
  ptrdiff_t n = 0;
  for (ptrdiff_t k = k0; k < k1; k++) {
    bool any = false;
    for (int r = 0; r < EP_PANEL_ROWS && !any; r++)
      any = rows[r] >= 0 && entry(X, transposed, rows[r], k) != 0;
    if (any && index) index[n] = (uint16_t)(k - k0);
    n += any;
  }
  return n;
}

static void count_columns(void *of, ptrdiff_t first, ptrdiff_t end) {
  const packing *p = of;
  for (ptrdiff_t b = first; b < end; b++)
    p->side->start[b + 1] = list_columns(NULL, p->side, p->X, p->transposed, b);
}

static void fill_columns(void *of, ptrdiff_t first, ptrdiff_t end) {
  const packing *p = of;
  for (ptrdiff_t b = first; b < end; b++)
    list_columns(p->side->index + p->side->start[b], p->side, p->X, p->transposed, b);
}

static ep_status allocate(void *out, ptrdiff_t count, size_t size) {
  void *p = ep_alloc(count, size);
  EP_CHECK(p, EP_ERR_NOMEM, "no memory to pack the data (%td x %zu bytes)", count, size);
  memcpy(out, &p, sizeof p);
  return EP_OK;
}

static ep_status pack_side(ep_work *work, ep_side *side, const ep_mat *X, int transposed,
                           bool ordered) {
  side->rows = transposed ? X->cols : X->rows;
  side->depth = transposed ? X->rows : X->cols;
  side->panels = (side->rows + EP_PANEL_ROWS - 1) / EP_PANEL_ROWS;
  side->chunks = (side->depth + EP_PANEL_DEPTH - 1) / EP_PANEL_DEPTH;
  const ptrdiff_t places = side->panels * EP_PANEL_ROWS, blocks = side->panels * side->chunks;
  EP_TRY(allocate(&side->order, places, sizeof *side->order));
  EP_TRY(allocate(&side->start, blocks + 1, sizeof *side->start));
  for (ptrdiff_t i = 0; i < places; i++) side->order[i] = i < side->rows ? i : -1;
  packing p = {.side = side, .X = X, .transposed = transposed};
  if (ordered) EP_TRY(order_rows(work, &p));
  ep_crew_loop(blocks, 16, true, count_columns, &p);
  for (ptrdiff_t b = 0; b < blocks; b++) side->start[b + 1] += side->start[b];
  return EP_OK;
}

static ep_status fill_side(ep_side *side, const ep_mat *X, int transposed) {
  const ptrdiff_t blocks = side->panels * side->chunks, entries = side->start[blocks];
  EP_TRY(allocate(&side->index, entries, sizeof *side->index));
  EP_TRY(allocate(&side->value, entries * EP_PANEL_ROWS, ep_sizeof(X->prec)));
  ep_crew_loop(blocks, 16, true, fill_columns, &(packing){side, X, transposed, NULL, NULL});
  EP_PICK(X->prec, ep_side_values)(side, X, transposed);
  return EP_OK;
}

static double side_density(const ep_side *side) {
  const double all = (double)side->panels * (double)side->depth;
  return all > 0 ? (double)side->start[side->panels * side->chunks] / all : 1;
}

static void free_side(ep_side *side) {
  ep_release(side->order);
  ep_release(side->start);
  ep_release(side->index);
  ep_release(side->value);
  *side = (ep_side){0};
}

static ep_status pack(ep_work *work, ep_packed *p, double columns) {
  if (columns < pack_columns) return EP_OK;
  const bool ordered = columns >= order_columns;
  EP_TRY(pack_side(work, &p->forward, &p->X, 0, ordered));
  EP_TRY(pack_side(work, &p->backward, &p->X, 1, ordered));
  p->density = (side_density(&p->forward) + side_density(&p->backward)) / 2;
  if (p->density > 0.8) { /* our tiles run at 0.9 of the speed of BLAS */
    free_side(&p->forward);
    free_side(&p->backward);
    p->density = 1;
    return EP_OK;
  }
  EP_TRY(fill_side(&p->forward, &p->X, 0));
  EP_TRY(fill_side(&p->backward, &p->X, 1));
  const ptrdiff_t a = ep_side_scratch(&p->forward, 0), b = ep_side_scratch(&p->backward, 1);
  p->threads = ep_run_threads();
  EP_TRY(allocate(&p->scratch, p->threads * (a > b ? a : b), ep_sizeof(p->X.prec)));
  p->dense = false;
  return EP_OK;
}

ep_status ep_packed_new(ep_packed **out, const ep_mat *X, double columns) {
  *out = NULL;
  ep_packed *p = ep_alloc(1, sizeof *p);
  EP_CHECK(p, EP_ERR_NOMEM, "no memory to pack the data");
  *p = (ep_packed){.X = *X, .dense = true, .density = 1};
  ep_work work = {0};
  const ep_status st = pack(&work, p, columns);
  ep_work_free(&work);
  if (st) ep_packed_free(p);
  else *out = p;
  return st;
}

void ep_packed_free(ep_packed *p) {
  if (!p) return;
  free_side(&p->forward);
  free_side(&p->backward);
  ep_release(p->scratch);
  ep_release(p);
}

const ep_mat *ep_packed_matrix(const ep_packed *p) { return &p->X; }
double ep_packed_density(const ep_packed *p) { return p->density; }

/* scratch was made for so many threads: more than that since then means the plain product */
static bool plain(const ep_packed *p) { return p->dense || ep_run_threads() > p->threads; }

void ep_packed_mul_nt(const ep_mat *A, double alpha, const ep_packed *X, const ep_mat *V) {
  if (plain(X)) ep_mat_mul(A, alpha, &X->X, EP_N, V, EP_T, 0);
  else EP_PICK(A->prec, ep_side_mul_nt)(A, alpha, &X->forward, V, X->scratch);
}

void ep_packed_mul_tn(const ep_mat *G, double alpha, const ep_mat *B, const ep_packed *X,
                      double beta) {
  if (plain(X)) ep_mat_mul(G, alpha, B, EP_T, &X->X, EP_N, beta);
  else EP_PICK(G->prec, ep_side_mul_tn)(G, alpha, B, &X->backward, beta, X->scratch);
}
