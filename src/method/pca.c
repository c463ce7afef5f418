/* PCA of C at the start (WIDE section 4): the features are those of random weights, W the top eigenvectors of
 * C = Psi'S Psi. No training. */
#include "core/mem.h"
#include "method/closed.h"
#include "method/methods.h"

#include <math.h>

/* The features that the options name: a random network's (model->net) or patches (taken into the model at the end). */
ep_status ep_closed_features(ep_features *map, ep_model *model, const ep_points *points, ep_psi psi,
                             const ep_setup *s) {
  const uint64_t seed = (uint64_t)s->run.seed;
  if (ep_features_are_patches(&s->feature)) {
    EP_CHECK(!s->net.init[0], EP_ERR_ARG, "--init goes with dense features");
    return ep_features_patches(map, &s->feature, &points->X, points->shape, psi, seed);
  }
  EP_TRY(ep_net_start(&model->net, &s->net, points->X.cols, seed, points->X.prec));
  *map = ep_features_dense(&model->net, psi);
  return EP_OK;
}

/* W goes where the model keeps it. */
ep_status ep_closed_keep(ep_model *model, ep_features *map, const ep_mat *W) {
  model->psi = map->psi;
  if (map->net) return ep_mat_copy(&model->net.W, W), EP_OK;
  EP_TRY(ep_mat_new(&model->W, map->patches.F.prec, W->rows, W->cols));
  ep_mat_copy(&model->W, W);
  model->patches = map->patches;
  map->patches = (ep_patches){0};
  return EP_OK;
}

static ep_status solve(ep_work *work, ep_model *model, ep_fit_info *info, ep_features *map,
                       const ep_points *points, const ep_setup *s) {
  const ptrdiff_t z = map->net ? model->net.shape.outputs : s->net.outputs;
  ep_mat W;
  double *lambda;
  ep_eigen_info eigen;
  ep_plan plan;
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, map->count, z));
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  EP_TRY(ep_plan_make(&plan, map, points, z, s));
  EP_TRY(ep_closed_pca(&W, lambda, &eigen, &plan, map, points, s));
  EP_TRY(ep_plan_explain(info, &plan, map, points, s));
  EP_TRY(ep_closed_report(info, lambda, z, &eigen, ep_path_name(plan.path + 1)));
  return ep_closed_keep(model, map, &W);
}

ep_status ep_fit_pca(ep_model *model, ep_fit_info *info, const ep_points *points,
                     const ep_setup *setup) {
  ep_features map = {0};
  ep_work work = {0};
  ep_psi psi;
  EP_TRY(ep_closed_psi(&psi, setup));
  ep_status st = ep_closed_features(&map, model, points, psi, setup);
  if (!st) st = solve(&work, model, info, &map, points, setup);
  ep_work_free(&work);
  ep_features_free(&map);
  return st;
}
