/* The generalised problem of several views: maximise Tr(W'AW) subject to W'(B + r I)W = I (theory: section 6).
 *
 *   B  covariance of the features of all views
 *   A  covariance across views: mean over pairs of different views of one group, with s_i the sum of a group's features
 *      sum_i (s_i s_i' - sum_v psi_iv psi_iv') / sum_i R_i (R_i - 1)
 *
 * both centred by the mean over all views. A group is an anchor and its positives. With B + r I = LL' it is the
 * eigenproblem of L^{-1} A L'^{-1}, w = L'^{-1} v. */
#include "core/threads.h"
#include "core/mem.h"
#include "method/choose.h"
#include "method/methods.h"

#include <math.h>
#include <string.h>

/* ---- covariances */

/* C <- A = (C - B) / pairs - mm', B <- B / views - mm', psi <- m = psi / views */
void ep_whitened_centre(const ep_sum *sum) {
  const ep_mat *A = &sum->C, *B = &sum->B;
  double *mean = sum->psi.data;
  for (ptrdiff_t j = 0; j < A->cols; j++) mean[j] /= sum->views;
#pragma omp parallel for schedule(static) if (ep_worth_entries(A))
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = i; j < A->cols; j++) {
      const double b = *ep_d(B, i, j), c = *ep_d(A, i, j), mm = mean[i] * mean[j];
      *ep_d(A, i, j) = (c - b) / sum->pairs - mm;
      *ep_d(B, i, j) = b / sum->views - mm;
    }
  ep_mat_mirror(A);
  ep_mat_mirror(B);
}

/* ---- the eigenproblem */

ep_status ep_whitened_ridge(const ep_mat *B, double *ridge, double share) {
  double trace = 0;
  for (ptrdiff_t i = 0; i < B->rows; i++) trace += *ep_d(B, i, i);
  *ridge = share * trace / (double)B->rows;
  EP_CHECK(trace > 0, EP_ERR_NUMERIC, "all views of all points have the same features");
  for (ptrdiff_t i = 0; i < B->rows; i++) *ep_d(B, i, i) += *ridge;
  EP_CHECK(ep_mat_cholesky(B) == EP_OK, EP_ERR_NUMERIC,
           "the covariance of %td features is singular: raise --ridge", B->rows);
  return EP_OK;
}

/* ---- */

static ep_status check_memory(const ep_map *map, const ep_points *points, const ep_setup *s) {
  const double m = (double)map->count;
  const double krylov = 8 * m * (double)(s->net.outputs + 8) * (2 * (double)s->eigen.krylov + 5);
  const double scratch = ep_sum_scratch(map->count, points->X.prec);
  const double need = ep_sum_bytes(map->count, true) + fmax(krylov, scratch) +
                      (ep_choice_open(s) ? ep_choice_bytes(map->count) : 0);
  EP_CHECK(need <= ep_run_memory_left(&s->run), EP_ERR_ARG,
           "two covariances of %td features take %.0f MiB, more than --memory", map->count,
           ceil((need + (double)ep_memory_current()) / 1048576));
  return EP_OK;
}

/* outputs W'(psi - mean), times lambda^power */
static ep_status set_offset(ep_model *model, const ep_mat *W, const double *lambda,
                            const double *mean, const ep_setup *s) {
  EP_TRY(ep_mat_new(&model->offset, EP_DOUBLE, 1, W->cols));
  for (ptrdiff_t k = 0; k < W->cols; k++) {
    const double scale = s->closed.power > 0 ? pow(fmax(lambda[k], 0), s->closed.power) : 1;
    double sum = 0;
    for (ptrdiff_t i = 0; i < W->rows; i++) sum += (*ep_d(W, i, k) *= scale) * mean[i];
    *ep_d(&model->offset, 0, k) = sum;
  }
  return EP_OK;
}

static ep_status solve(ep_work *work, const ep_mat *W, ep_model *model, ep_fit_info *info,
                       ep_sum *sum, const ep_setup *s) {
  const ptrdiff_t m = W->rows, z = W->cols;
  double *lambda, ridge;
  ep_eigen_info eigen;
  EP_CHECK(sum->pairs > 0, EP_ERR_INPUT, "method whitened needs two views of a point: a positive");
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  ep_whitened_centre(sum);
  EP_TRY(ep_whitened_ridge(&sum->B, &ridge, s->closed.ridge));
  const ep_eigen_config config = ep_closed_eigen(s, sum->prec);
  EP_TRY(ep_eigen_generalised(W, lambda, &eigen, &sum->C, &sum->B, &config, (uint64_t)s->run.seed));
  EP_TRY(
      ep_fit_explain(info,
                     "path     covariances of %td features over %.0f views in groups of %.3g, then "
                     "block Krylov on L^{-1} A L'^{-1}",
                     m, sum->views, sum->views / sum->anchors));
  EP_TRY(ep_closed_report(info, lambda, z, &eigen, "primal"));
  EP_TRY(ep_fit_number(info, "ridge", json_real(ridge)));
  return set_offset(model, W, lambda, sum->psi.data, s);
}

ep_status ep_whitened_solve(const ep_mat *W, ep_model *model, ep_fit_info *info, ep_sum *sum,
                            const ep_setup *setup) {
  ep_work work = {0};
  EP_CHECK(W->cols <= W->rows, EP_ERR_ARG, "--outputs %td is more than the %td features", W->cols,
           W->rows);
  EP_CHECK(setup->closed.ridge != EP_AUTO, EP_ERR_ARG,
           "--ridge auto holds points out, and sums have lost them: give a number");
  const ep_status st = solve(&work, W, model, info, sum, setup);
  ep_work_free(&work);
  return st;
}

/* views of finite features, or with --kernel analytic those of infinite width seen from landmarks */
ep_status ep_whitened_map(ep_map **map, const ep_net *start, const ep_points *points,
                          const ep_setup *s) {
  const ep_psi psi = {strcmp(s->objective.similarity, "cosine") == 0, s->objective.delta};
  ep_analytic kernel = {0};
  ep_map_plan plan = ep_closed_plan(points, psi, &kernel, s);
  plan.start = start;
  if (strcmp(s->fit.kernel, "analytic") != 0) return ep_map_make(map, &plan);
  EP_TRY(ep_closed_kernel(&kernel, points, s));
  return ep_landmarks_draw(map, &plan);
}

/* sums of all anchors; what is left open is chosen on the way, into `own` */
static ep_status sum_up(ep_sum *sum, ep_fit_info *info, const ep_map *map, const ep_points *points,
                        const ep_setup *s, ep_setup *own) {
  ep_sum held;
  ep_choice choice;
  if (!ep_choice_open(s)) return ep_sum_whitened(sum, map, points);
  EP_TRY(ep_sum_new(&held, map->count, true));
  ep_status st = ep_choice_sums(sum, &held, map, points);
  if (!st) st = ep_choice_make(&choice, info, sum, &held, s);
  if (!st) {
    ep_sum_add(sum, &held);
    ep_sum_count(sum, &held);
    own->closed.ridge = choice.ridge;
    own->net.outputs = choice.outputs;
  }
  ep_sum_free(&held);
  return st;
}

static ep_status fit(ep_mat *W, ep_work *work, ep_model *model, ep_fit_info *info,
                     const ep_map *map, const ep_points *points, const ep_setup *s, ep_setup *own) {
  ep_sum sum;
  EP_CHECK(s->net.outputs == EP_AUTO || ep_closed_outputs(map, s) <= map->count, EP_ERR_ARG,
           "--outputs %td is more than the %td features", ep_closed_outputs(map, s), map->count);
  EP_TRY(check_memory(map, points, s));
  EP_TRY(ep_sum_new(&sum, map->count, true));
  ep_status st = sum_up(&sum, info, map, points, s, own);
  const ptrdiff_t z = s->net.outputs == EP_AUTO ? own->net.outputs : ep_closed_outputs(map, own);
  if (!st) st = ep_work_mat(work, W, EP_DOUBLE, map->count, z);
  if (!st) st = ep_whitened_solve(W, model, info, &sum, own);
  if (!st) st = ep_closed_explain_map(info, map);
  ep_sum_free(&sum);
  return st;
}

/* --features auto becomes a recipe */
static ep_status choose_features(ep_setup *own, ep_model *model, ep_fit_info *info,
                                 const ep_points *points) {
  const ptrdiff_t n = points->pairs.anchors, partners = points->pairs.start[n];
  const ep_recipe_ask ask = {.shape = points->shape,
                             .anchors = n,
                             .views = n > 0 ? 1 + partners / n : 1,
                             .prec = points->X.prec,
                             .memory = ep_run_memory_left(&own->run),
                             .time = own->feature.time};
  char why[EP_DESCRIPTION];
  EP_TRY(ep_features_recipe(own->feature.features, why, &ask));
  EP_CHECK(json_object_set_new(model->config, "features", json_string(own->feature.features)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return ep_fit_note(info, "%s", why);
}

/* `own`: the setup with what was left open filled in */
static ep_status fit_and_keep(ep_model *model, ep_fit_info *info, const ep_points *points,
                              const ep_setup *setup, ep_setup *own) {
  ep_map *map = NULL;
  ep_work work = {0};
  ep_mat W;
  *own = *setup;
  if (setup->net.outputs == EP_AUTO) own->net.outputs = 1; /* the map does not look at it */
  if (ep_features_are_open(&setup->feature)) EP_TRY(choose_features(own, model, info, points));
  ep_status st = ep_whitened_map(&map, model->lent.start, points, own);
  if (!st) st = fit(&W, &work, model, info, map, points, setup, own);
  if (!st) {
    model->normalise = map->kind->scaled && map->psi.cosine; /* W is for psi, not for phi */
    st = ep_model_keep(model, map, &W);
  } else {
    ep_map_free(map);
  }
  ep_work_free(&work);
  if (st || !ep_choice_open(setup)) return st;
  EP_CHECK(json_object_set_new(model->config, "ridge", json_real(own->closed.ridge)) == 0 &&
               json_object_set_new(model->config, "outputs", json_integer(own->net.outputs)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

ep_status ep_fit_whitened(ep_model *model, ep_fit_info *info, const ep_points *points,
                          const ep_setup *setup) {
  ep_setup *own = ep_alloc(1, sizeof *own);
  EP_CHECK(own, EP_ERR_NOMEM, "no memory for the settings of a fit");
  const ep_status st = fit_and_keep(model, info, points, setup, own);
  ep_release(own);
  return st;
}
