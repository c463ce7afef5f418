#include "core/vector.h"
#include "probe/probes.h"

#include <math.h>
#include <omp.h>

enum {
  TILE = 256,
  WIDE = 512
}; /* rows, columns of a tile: 1 MB, and a row of B is made ready once for 256 of A */

void ep_unit_rows(const ep_mat *to, const ep_rows *rows, ptrdiff_t first) {
  ep_rows_get(to, rows, first);
  for (ptrdiff_t i = 0; i < to->rows; i++) {
    double *x = ep_d(to, i, 0), square = 0;
    for (ptrdiff_t j = 0; j < to->cols; j++) square += x[j] * x[j];
    for (ptrdiff_t j = 0; square > 0 && j < to->cols; j++) x[j] /= sqrt(square);
  }
}

/* Rows so that their products are what is wanted: u = a / |a|, or (a, 1) with (b, -|b|^2 / 2) */
static void make_ready(const ep_mat *to, const ep_rows *rows, ptrdiff_t first, ep_metric metric,
                       bool left) {
  const ptrdiff_t d = rows->X->cols;
  if (metric == EP_COSINE) {
    ep_unit_rows(to, rows, first);
    return;
  }
  const ep_mat x = ep_mat_cols(to, 0, d);
  ep_rows_get(&x, rows, first);
  for (ptrdiff_t i = 0; i < to->rows; i++)
    *ep_d(to, i, d) = left ? 1 : -0.5 * ep_dot(ep_d(to, i, 0), ep_d(to, i, 0), d);
}

typedef struct {
  const ep_rows *A, *B;
  ep_metric metric;
  ep_tile_fn *use;
  void *user;
} task;

/* one tile of rows against all of B */
static void row_tile(const ep_mat scratch[3], const task *t, ptrdiff_t row) {
  const ep_mat u = ep_mat_rows(&scratch[0], 0, ep_least(TILE, t->A->count - row));
  make_ready(&u, t->A, row, t->metric, true);
  for (ptrdiff_t col = 0; col < t->B->count; col += WIDE) {
    const ep_mat v = ep_mat_rows(&scratch[1], 0, ep_least(WIDE, t->B->count - col));
    const ep_mat all = ep_mat_rows(&scratch[2], 0, u.rows), S = ep_mat_cols(&all, 0, v.rows);
    make_ready(&v, t->B, col, t->metric, false);
    ep_mat_mul(&S, 1, &u, EP_N, &v, EP_T, 0);
    t->use(t->user, &S, row, col);
  }
}

double ep_tiles_bytes(ptrdiff_t dimensions) {
  const double numbers = (TILE + WIDE) * ((double)dimensions + 1) + TILE * WIDE;
  return 8 * numbers * ep_run_threads();
}

/* Row tiles between two signs of life: about half a second of products. */
static ptrdiff_t round_of(const task *t, ptrdiff_t threads) {
  const double tile = 2. * TILE * (double)t->B->count * (double)t->B->X->cols;
  const double round = 2e10 / (tile + 1);
  return round < (double)threads ? threads : round > 1000 ? 1000 : (ptrdiff_t)round;
}

static ep_status tiles(ep_work *work, const task *t, const char *what) {
  const ptrdiff_t count = (t->A->count + TILE - 1) / TILE, threads = ep_run_threads();
  const ptrdiff_t d = t->A->X->cols + (t->metric == EP_EUCLIDEAN), round = round_of(t, threads);
  ep_mat(*scratch)[3]; /* one a thread */
  EP_TRY(ep_work_get(work, &scratch, threads, sizeof *scratch));
  for (ptrdiff_t s = 0; s < threads; s++) {
    EP_TRY(ep_work_mat(work, &scratch[s][0], EP_DOUBLE, TILE, d));
    EP_TRY(ep_work_mat(work, &scratch[s][1], EP_DOUBLE, WIDE, d));
    EP_TRY(ep_work_mat(work, &scratch[s][2], EP_DOUBLE, TILE, WIDE));
  }
  for (ptrdiff_t first = 0; first < count; first += round) {
    EP_TRY(ep_run_step(what, (double)(first * TILE), (double)t->A->count));
#pragma omp parallel for schedule(dynamic) num_threads((int)threads)
    for (ptrdiff_t s = first; s < ep_least(first + round, count); s++)
      row_tile(scratch[omp_get_thread_num()], t, s * TILE);
  }
  return EP_OK;
}

ep_status ep_tiles(const ep_rows *A, const ep_rows *B, ep_metric metric, ep_tile_fn *use,
                   void *user, const char *what) {
  const task t = {A, B, metric, use, user};
  ep_work work = {0};
  const ep_status st = tiles(&work, &t, what);
  ep_work_free(&work);
  return st;
}
