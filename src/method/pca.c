/* PCA of C at the start (WIDE section 4): the features are those of random weights, W the top eigenvectors of
 * C = Psi'S Psi. No training. */
#include "core/mem.h"
#include "method/sum.h"
#include "method/methods.h"

#include <math.h>

ep_map_plan ep_closed_plan(const ep_points *points, ep_psi psi, const ep_analytic *kernel,
                           const ep_setup *s) {
  return (ep_map_plan){.feature = &s->feature,
                       .net = &s->net,
                       .variances = &s->analytic,
                       .kernel = kernel,
                       .landmarks = s->closed.landmarks,
                       .psi = psi,
                       .points = points,
                       .seed = (uint64_t)s->run.seed};
}

ptrdiff_t ep_closed_outputs(const ep_map *map, const ep_setup *s) {
  return map->outputs ? map->outputs : s->net.outputs;
}

static ep_status solve(ep_mat *W, ep_work *work, ep_fit_info *info, const ep_map *map,
                       const ep_points *points, const ep_setup *s) {
  const ptrdiff_t z = ep_closed_outputs(map, s);
  double *lambda;
  ep_eigen_info eigen;
  ep_plan plan;
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, map->count, z));
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  EP_TRY(ep_plan_make(&plan, map, points, z, s));
  EP_TRY(ep_closed_pca(W, lambda, &eigen, &plan, map, points, s));
  EP_TRY(ep_plan_explain(info, &plan, map, points, s));
  return ep_closed_report(info, lambda, z, &eigen, ep_path_name(plan.path));
}

ep_status ep_pca_map(ep_map **map, const ep_net *start, const ep_points *points,
                     const ep_setup *setup) {
  ep_psi psi;
  EP_TRY(ep_closed_psi(&psi, setup));
  ep_map_plan plan = ep_closed_plan(points, psi, NULL, setup);
  plan.start = start;
  return ep_map_make(map, &plan);
}

ep_status ep_fit_pca(ep_model *model, ep_fit_info *info, const ep_points *points,
                     const ep_setup *setup) {
  ep_work work = {0};
  ep_map *map = NULL;
  ep_mat W;
  ep_status st = ep_pca_map(&map, model->lent.start, points, setup);
  if (!st) st = solve(&W, &work, info, map, points, setup);
  if (!st) st = ep_model_keep(model, map, &W);
  else ep_map_free(map);
  ep_work_free(&work);
  return st;
}
