#include "probe/probes.h"

#include <math.h>

enum {
  TILE = 128,
  WIDE = 1024,
  ROUND = 16
}; /* rows, columns of a tile; row tiles between two signs of life */

void ep_unit_rows(const ep_mat *to, const ep_rows *rows, ptrdiff_t first) {
  ep_rows_get(to, rows, first);
  for (ptrdiff_t i = 0; i < to->rows; i++) {
    double *x = ep_d(to, i, 0), square = 0;
    for (ptrdiff_t j = 0; j < to->cols; j++) square += x[j] * x[j];
    for (ptrdiff_t j = 0; square > 0 && j < to->cols; j++) x[j] /= sqrt(square);
  }
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }

/* one tile of rows against all of B */
static void row_tile(const ep_mat scratch[3], const ep_rows *A, const ep_rows *B, ptrdiff_t row,
                     ep_tile_fn *use, void *user) {
  const ep_mat u = ep_mat_rows(&scratch[0], 0, least(TILE, A->count - row));
  ep_unit_rows(&u, A, row);
  for (ptrdiff_t col = 0; col < B->count; col += WIDE) {
    const ep_mat v = ep_mat_rows(&scratch[1], 0, least(WIDE, B->count - col));
    const ep_mat all = ep_mat_rows(&scratch[2], 0, u.rows), S = ep_mat_cols(&all, 0, v.rows);
    ep_unit_rows(&v, B, col);
    ep_mat_mul(&S, 1, &u, EP_N, &v, EP_T, 0);
    use(user, &S, row, col);
  }
}

static ep_status tiles(ep_work *work, const ep_rows *A, const ep_rows *B, ep_tile_fn *use,
                       void *user, const char *what) {
  ep_mat scratch[ROUND][3];
  const ptrdiff_t count = (A->count + TILE - 1) / TILE, slots = least(count, ROUND);
  for (ptrdiff_t s = 0; s < slots; s++) {
    EP_TRY(ep_work_mat(work, &scratch[s][0], EP_DOUBLE, TILE, A->X->cols));
    EP_TRY(ep_work_mat(work, &scratch[s][1], EP_DOUBLE, least(WIDE, B->count), B->X->cols));
    EP_TRY(ep_work_mat(work, &scratch[s][2], EP_DOUBLE, TILE, least(WIDE, B->count)));
  }
  for (ptrdiff_t first = 0; first < count; first += slots) {
    const ptrdiff_t n = least(slots, count - first);
    EP_TRY(ep_run_step(what, (double)(first * TILE), (double)A->count));
#pragma omp parallel for schedule(dynamic)
    for (ptrdiff_t s = 0; s < n; s++) row_tile(scratch[s], A, B, (first + s) * TILE, use, user);
  }
  return EP_OK;
}

ep_status ep_tiles(const ep_rows *A, const ep_rows *B, ep_tile_fn *use, void *user,
                   const char *what) {
  ep_work work = {0};
  const ep_status st = tiles(&work, A, B, use, user, what);
  ep_work_free(&work);
  return st;
}
