/* Rows of features, made in blocks, kept as far as memory allows. */
#include "method/closed.h"

enum { BLOCK = 512 };

ep_status ep_psi_rows_new(ep_psi_rows *out, ep_work *work, const ep_map *map,
                          const ep_points *points, ep_share part, bool keep_some, double memory) {
  const ep_mat *X = &points->X; /* its shape */
  const double row = (double)ep_sizeof(X->prec) * (double)map->count;
  const double made = points->made ? (double)X->cols * (double)ep_sizeof(X->prec) : 0;
  const double point = row + ep_map_scratch(map, X->prec) + made;
  *out = (ep_psi_rows){.map = map, .points = points, .first = part.first, .rows = part.count};
  out->block = BLOCK < part.count ? BLOCK : part.count > 0 ? part.count : 1;
  if ((double)out->block * point > memory / 4) out->block = (ptrdiff_t)(memory / 4 / point);
  EP_CHECK(out->block >= 1, EP_ERR_ARG,
           "--memory is too small: one point's %td features take %.0f KiB", map->count,
           point / 1024);
  const double block = (double)out->block;
  double blocks = (memory - block * point) / (block * row);
  ptrdiff_t keep =
      keep_some && blocks > 1 ? (ptrdiff_t)(blocks < 1e9 ? blocks : 1e9) * out->block : 0;
  if (keep >= part.count) keep = part.count;
  if (keep > 0) EP_TRY(ep_work_mat(work, &out->kept, X->prec, keep, map->count));
  if (keep < part.count) EP_TRY(ep_work_mat(work, &out->buffer, X->prec, out->block, map->count));
  if (points->made) EP_TRY(ep_work_mat(work, &out->x, X->prec, out->block, X->cols));
  return EP_OK;
}

bool ep_psi_rows_all_kept(const ep_psi_rows *r) { return r->kept.rows == r->rows; }

ep_status ep_psi_rows_get(ep_mat *out, ep_psi_rows *r, ptrdiff_t first) {
  const ptrdiff_t left = r->rows - first, n = left < r->block ? left : r->block;
  const bool keep = first + n <= r->kept.rows;
  *out = keep ? ep_mat_rows(&r->kept, first, n) : ep_mat_rows(&r->buffer, 0, n);
  if (keep && first < r->filled) return EP_OK;
  ep_mat x;
  EP_TRY(ep_points_block(&x, r->points, r->first + first, n, &r->x));
  EP_TRY(ep_map_rows(out, r->map, &x));
  if (keep) r->filled = first + n;
  return EP_OK;
}

ep_status ep_psi_rows_gather(const ep_mat *H, const ep_map *map, const ep_points *points,
                             const ptrdiff_t *index, const ep_mat *x) {
  EP_TRY(ep_points_rows(x, points, index, 0));
  return ep_map_rows(H, map, x);
}
