/* The first Z features as they are: W = I. */
#include "method/methods.h"
#include "method/sum.h"

ep_status ep_fit_first(ep_model *model, ep_fit_info *info, const ep_points *points,
                       const ep_setup *setup) {
  ep_map *map;
  ep_mat W;
  (void)info;
  EP_TRY(ep_pca_map(&map, model->lent.start, points, setup));
  ep_status st = ep_mat_new(&W, EP_DOUBLE, map->count, ep_closed_outputs(map, setup));
  for (ptrdiff_t k = 0; !st && k < W.cols; k++) ep_set(&W, k, k, 1);
  if (!st) st = ep_model_keep(model, map, &W);
  else ep_map_free(map);
  ep_mat_free(&W);
  return st;
}
