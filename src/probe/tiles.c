#include "core/crew.h"
#include "core/vector.h"
#include "probe/probes.h"

#include <math.h>

/* Rows, columns of a tile: half a MB, which a core's cache holds while it is looked at. */
enum { TILE = 256, WIDE = 256 };

/* Rows of B that are made ready once and for all of A: a few MB, whole tiles. */
static ptrdiff_t panel_rows(ptrdiff_t dimensions) {
  const ptrdiff_t tiles = (4 << 20) / (8 * WIDE * dimensions);
  return WIDE * (tiles < 1 ? 1 : tiles > 16 ? 16 : tiles);
}

void ep_unit_rows(const ep_mat *to, const ep_tall *rows, ptrdiff_t first) {
  ep_tall_get(to, rows, first);
  for (ptrdiff_t i = 0; i < to->rows; i++) {
    double *x = ep_d(to, i, 0), square = 0;
    for (ptrdiff_t j = 0; j < to->cols; j++) square += x[j] * x[j];
    for (ptrdiff_t j = 0; square > 0 && j < to->cols; j++) x[j] /= sqrt(square);
  }
}

/* Rows so that their products are what is wanted: u = a / |a|, or (a, 1) with (b, -|b|^2 / 2) */
static void make_ready(const ep_mat *to, const ep_tall *rows, ptrdiff_t first, ep_metric metric,
                       bool left) {
  const ptrdiff_t d = rows->X->cols;
  if (metric == EP_COSINE) {
    ep_unit_rows(to, rows, first);
    return;
  }
  const ep_mat x = ep_mat_cols(to, 0, d);
  ep_tall_get(&x, rows, first);
  for (ptrdiff_t i = 0; i < to->rows; i++)
    *ep_d(to, i, d) = left ? 1 : -0.5 * ep_dot(ep_d(to, i, 0), ep_d(to, i, 0), d);
}

typedef struct {
  const ep_tall *A, *B;
  ep_metric metric;
  ep_tile_fn *use;
  void *user;
} task;

/* one tile of rows against a panel, rows first .. of B */
static void row_tile(const ep_mat scratch[2], const task *t, ptrdiff_t row, const ep_mat *panel,
                     ptrdiff_t first) {
  const ep_mat u = ep_mat_rows(&scratch[0], 0, ep_least(TILE, t->A->count - row));
  make_ready(&u, t->A, row, t->metric, true);
  for (ptrdiff_t col = 0; col < panel->rows; col += WIDE) {
    const ep_mat v = ep_mat_rows(panel, col, ep_least(WIDE, panel->rows - col));
    const ep_mat all = ep_mat_rows(&scratch[1], 0, u.rows), S = ep_mat_cols(&all, 0, v.rows);
    ep_mat_mul(&S, 1, &u, EP_N, &v, EP_T, 0);
    t->use(t->user, &S, row, first + col);
  }
}

double ep_tiles_bytes(ptrdiff_t dimensions) {
  const double d = (double)dimensions + 1;
  return 8 * ((TILE * d + TILE * WIDE) * ep_run_threads() + (double)panel_rows(dimensions + 1) * d);
}

/* Row tiles between two signs of life: about half a second of products. */
static ptrdiff_t round_of(const ep_mat *panel, ptrdiff_t threads) {
  const double tile = 2. * TILE * (double)panel->rows * (double)panel->cols;
  const double round = 2e10 / tile;
  return round < (double)threads ? threads : round > 1000 ? 1000 : (ptrdiff_t)round;
}

/* a panel of B, and all of A against it */
typedef struct {
  const ep_mat (*scratch)[2]; /* one a thread */
  const task *t;
  const ep_mat *panel;
  ptrdiff_t first, row; /* of the panel in B; tile of A */
} panel_loop;

static void fill_panel(void *of, ptrdiff_t first, ptrdiff_t end) { /* a turn: a tile */
  const panel_loop *l = of;
  const ep_mat *panel = l->panel;
  for (ptrdiff_t col = first * WIDE; col < ep_least(end * WIDE, panel->rows); col += WIDE) {
    const ep_mat v = ep_mat_rows(panel, col, ep_least(WIDE, panel->rows - col));
    make_ready(&v, l->t->B, l->first + col, l->t->metric, false);
  }
}

static void row_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  const panel_loop *l = of;
  for (ptrdiff_t s = l->row + first; s < l->row + end; s++)
    row_tile(l->scratch[ep_crew_thread()], l->t, s * TILE, l->panel, l->first);
}

static ep_status panel_tiles(const ep_mat (*scratch)[2], const task *t, const ep_mat *panel,
                             ptrdiff_t first, const char *what) {
  const ptrdiff_t count = (t->A->count + TILE - 1) / TILE,
                  round = round_of(panel, ep_run_threads());
  panel_loop l = {scratch, t, panel, first, 0};
  ep_crew_loop((panel->rows + WIDE - 1) / WIDE, 1, true, fill_panel, &l);
  for (ptrdiff_t r = 0; r < count; r += round) {
    const double done = (double)first + (double)panel->rows * (double)r / (double)count;
    EP_TRY(ep_run_step(what, done, (double)t->B->count));
    l.row = r;
    ep_crew_loop(ep_least(round, count - r), 1, true, row_tiles, &l);
  }
  return EP_OK;
}

static ep_status tiles(ep_work *work, const task *t, const char *what) {
  const ptrdiff_t d = t->A->X->cols + (t->metric == EP_EUCLIDEAN), threads = ep_run_threads();
  const ptrdiff_t rows = ep_least(panel_rows(d), t->B->count);
  ep_mat(*scratch)[2], panel; /* scratch: one a thread */
  EP_TRY(ep_work_get(work, &scratch, threads, sizeof *scratch));
  for (ptrdiff_t s = 0; s < threads; s++) {
    EP_TRY(ep_work_mat(work, &scratch[s][0], EP_DOUBLE, TILE, d));
    EP_TRY(ep_work_mat(work, &scratch[s][1], EP_DOUBLE, TILE, WIDE));
  }
  EP_TRY(ep_work_mat(work, &panel, EP_DOUBLE, rows, d));
  for (ptrdiff_t first = 0; first < t->B->count; first += rows) {
    const ep_mat part = ep_mat_rows(&panel, 0, ep_least(rows, t->B->count - first));
    EP_TRY(panel_tiles((const ep_mat(*)[2])scratch, t, &part, first, what));
  }
  return EP_OK;
}

ep_status ep_tiles(const ep_tall *A, const ep_tall *B, ep_metric metric, ep_tile_fn *use,
                   void *user, const char *what) {
  const task t = {A, B, metric, use, user};
  ep_work work = {0};
  const ep_status st = tiles(&work, &t, what);
  ep_work_free(&work);
  return st;
}
