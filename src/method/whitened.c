/* The generalised problem of several views: maximise Tr(W'AW) subject to W'(B + r I)W = I (theory: section 6).
 *
 *   B  covariance of the features of all views
 *   A  covariance across views: mean over pairs of different views of one group, with s_i the sum of a group's features
 *      sum_i (s_i s_i' - sum_v psi_iv psi_iv') / sum_i R_i (R_i - 1)
 *
 * both centred by the mean over all views. A group is an anchor and its positives. With B + r I = LL' it is the
 * eigenproblem of L^{-1} A L'^{-1}, w = L'^{-1} v. */
#include "core/crew.h"
#include "core/mem.h"
#include "core/threads.h"
#include "method/choose.h"
#include "method/methods.h"

#include <eigenpair/augment.h>
#include <eigenpair/views.h>
#include <float.h>
#include <math.h>
#include <string.h>

const char *ep_solver_name(int i) {
  static const char *const names[] = {"auto", "local", "scalapack", "elpa", NULL};
  return names[i];
}

/* ---- covariances */

/* C <- A = (C - B) / pairs - mm', B <- B / views - mm' */
static void centre_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_sum *sum = of;
  const ep_mat *A = &sum->C, *B = &sum->B;
  const ep_dist *s = sum->spread;
  const double *mean = sum->psi.data;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = s ? 0 : i; j < A->cols; j++) {
      const double mm = mean[s ? s->col[i] : i] * mean[s ? s->row[j] : j];
      const double b = *ep_d(B, i, j), c = *ep_d(A, i, j);
      *ep_d(A, i, j) = (c - b) / sum->pairs - mm;
      *ep_d(B, i, j) = b / sum->views - mm;
    }
}

/* and psi <- m = psi / views */
static void centre(const ep_sum *sum) {
  ep_sum own = *sum;
  const ep_mat *A = &sum->C;
  double *mean = sum->psi.data;
  for (ptrdiff_t j = 0; j < sum->psi.cols; j++) mean[j] /= sum->views;
  ep_crew_rows(A, centre_rows, &own);
  if (sum->spread) return;
  ep_mat_mirror(A);
  ep_mat_mirror(&sum->B);
}

/* ---- the eigenproblem */

static ep_status check_factor(ep_status st, ptrdiff_t features) {
  EP_CHECK(st != EP_ERR_NUMERIC, EP_ERR_NUMERIC,
           "the covariance of %td features is singular: raise --ridge", features);
  return st;
}

static ep_status find_ridge(const ep_mat *B, double *ridge, double share) {
  double trace = 0;
  for (ptrdiff_t i = 0; i < B->rows; i++) trace += *ep_d(B, i, i);
  *ridge = share * trace / (double)B->rows;
  EP_CHECK(trace > 0, EP_ERR_NUMERIC, "all views of all points have the same features");
  return EP_OK;
}

/* the same of a B that is spread over ranks */
static ep_status spread_ridge(const ep_sum *sum, double *ridge, double share) {
  ep_dist *s = sum->spread;
  double trace = 0;
  const ep_mat all = ep_mat_view(EP_DOUBLE, 1, 1, &trace);
  for (int pass = 0; pass < 2; pass++) {
    for (ptrdiff_t i = 0; i < s->cols; i++)
      for (ptrdiff_t j = 0; j < s->rows; j++)
        if (s->col[i] == s->row[j]) {
          if (pass == 0) trace += *ep_d(&sum->B, i, j);
          else *ep_d(&sum->B, i, j) += *ridge;
        }
    if (pass > 0) break;
    EP_TRY(ep_comm_sum(&all));
    *ridge = share * trace / (double)s->order;
    EP_CHECK(trace > 0, EP_ERR_NUMERIC, "all views of all points have the same features");
  }
  return check_factor(s->cholesky(s, sum->B.data), s->order);
}

ep_status ep_whitened_eigenpairs(const ep_mat *W, double *lambda, ep_eigen_info *info,
                                 double *ridge, const ep_sum *sum, double share,
                                 const ep_setup *s) {
  const ep_eigen_config config = ep_closed_eigen(s, sum->prec);
  const uint64_t seed = (uint64_t)s->run.seed;
  centre(sum);
  if (sum->spread) {
    EP_TRY(spread_ridge(sum, ridge, share));
    return ep_eigen_spread(W, lambda, info, sum->spread, sum->C.data, sum->B.data, &config, seed);
  }
  const ep_mat *B = &sum->B;
  EP_TRY(find_ridge(B, ridge, share));
  EP_TRY(ep_eigen_span(W, lambda, info, &sum->C, B, *ridge, sum->views,
                       sum->prec == EP_SINGLE ? 2 * FLT_EPSILON : 64 * DBL_EPSILON, &config, seed));
  if (info->converged) return EP_OK;
  for (ptrdiff_t i = 0; i < B->rows; i++) *ep_d(B, i, i) += *ridge;
  EP_TRY(check_factor(ep_mat_cholesky(B), B->rows));
  return ep_eigen_generalised(W, lambda, info, &sum->C, &sum->B, &config, seed);
}

/* ---- */

static ep_status refuse(double need, ptrdiff_t features, const char *advice) {
  return EP_FAIL(EP_ERR_ARG, "two covariances of %td features take %.0f MiB%s", features,
                 ceil((need + (double)ep_memory_current()) / 1048576), advice);
}

/* sums that are in a file are read in blocks of rows */
static double parts_bytes(const ep_dist *spread, const ep_mat *X) {
  return X ? ep_sum_spread_bytes(spread, X)
           : 16 * (double)spread->rows * (double)spread->cols + 8e6 + 8 * (double)spread->order;
}

static ep_status place_parts(ep_dist **out, ptrdiff_t features, const ep_mat *X, double krylov,
                             const ep_setup *s) {
  ep_dist *spread;
  EP_TRY(ep_comm_spread(&spread, features, s->closed.solver == EP_SOLVER_ELPA));
  const double part = 16 * (double)spread->rows * (double)spread->cols;
  const double need = parts_bytes(spread, X) + krylov + ep_choice_bytes(part, s);
  bool small = need > ep_run_memory_left(&s->run);
  ep_status st = ep_comm_any(&small);
  if (!st && small) st = refuse(need, features, " a rank, more than --memory: take more ranks");
  if (st) ep_dist_free(spread);
  else *out = spread;
  return st;
}

ep_status ep_whitened_place(ep_dist **out, ptrdiff_t features, const ep_mat *X, const ep_setup *s) {
  const double m = (double)features, both = ep_sum_bytes(features, true);
  const double krylov =
      8 * m * (double)(ep_choice_outputs(features, s) + 8) * (2 * (double)s->eigen.krylov + 5);
  const double scratch = X ? ep_sum_scratch(features, X->prec) : both / 2; /* as it is read */
  const double need = both + fmax(krylov, scratch) + ep_choice_bytes(both, s);
  const ep_solver solver = s->closed.solver;
  const bool asked = solver == EP_SOLVER_SCALAPACK || solver == EP_SOLVER_ELPA;
  bool small = need > ep_run_memory_left(&s->run);
  *out = NULL;
  EP_TRY(ep_comm_any(&small));
  if (asked || (solver == EP_SOLVER_AUTO && small && ep_comm_can_spread()))
    return place_parts(out, features, X, krylov, s);
  return small ? refuse(need, features, ", more than --memory") : EP_OK;
}

static ep_status new_sum(ep_sum *sum, const ep_map *map, const ep_points *points,
                         const ep_setup *s) {
  ep_dist *spread;
  EP_TRY(ep_whitened_place(&spread, map->count, &points->X, s));
  return spread ? ep_sum_new_spread(sum, spread) : ep_sum_new(sum, map->count, true);
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
  EP_TRY(ep_whitened_eigenpairs(W, lambda, &eigen, &ridge, sum, s->closed.ridge, s));
  EP_TRY(ep_fit_explain(
      info, "path     covariances of %td features over %.0f views in groups of %.3g, then %s", m,
      sum->views, sum->views / sum->anchors,
      eigen.span ? "the eigenproblem in the span of the views"
                 : "block Krylov on L^{-1} A L'^{-1}, or LAPACK where that is cheaper"));
  EP_TRY(ep_closed_report(info, lambda, z, &eigen, "primal"));
  EP_TRY(ep_fit_number(info, "ridge", json_real(ridge)));
  if (sum->spread) {
    EP_TRY(ep_fit_explain(info, "solver   %s", sum->spread->what));
    EP_TRY(ep_fit_number(info, "solver", json_string(sum->spread->what)));
  }
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
  const ep_psi psi = {s->objective.similarity == EP_SIMILARITY_COSINE, s->objective.delta};
  ep_analytic kernel = {0};
  ep_map_plan plan = ep_closed_plan(points, psi, &kernel, s);
  plan.start = start;
  if (s->fit.kernel != EP_KERNEL_ANALYTIC) return ep_map_make(map, &plan);
  EP_TRY(ep_closed_kernel(&kernel, points, s));
  return ep_landmarks_draw(map, &plan);
}

/* sums of all anchors; what is left open is chosen on the way, into `own` */
static ep_status sum_up(ep_sum *sum, ep_fit_info *info, const ep_map *map, const ep_points *points,
                        const ep_setup *s, ep_setup *own) {
  ep_sum held;
  ep_choice choice;
  if (!ep_choice_open(s)) return ep_sum_whitened(sum, map, points);
  EP_TRY(ep_sum_new_like(&held, sum));
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
  EP_TRY(new_sum(&sum, map, points, s));
  ep_status st = sum_up(&sum, info, map, points, s, own);
  const ptrdiff_t z = s->net.outputs == EP_AUTO ? own->net.outputs : ep_closed_outputs(map, own);
  if (!st) st = ep_work_mat(work, W, EP_DOUBLE, map->count, z);
  if (!st) st = ep_whitened_solve(W, model, info, &sum, own);
  if (!st) st = ep_closed_explain_map(info, map);
  ep_sum_free(&sum);
  return st;
}

static ep_status keep_features(ep_model *model, const ep_setup *own) {
  EP_CHECK(json_object_set_new(model->config, "features", json_string(own->feature.features)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

/* what views of held-out points share where the features are those of `own` */
static ep_status mean_correlation(double *mean, const ep_points *points, const ep_setup *s,
                                  ep_setup *own) {
  ep_view_spectrum spectrum;
  if (s->closed.ridge == EP_AUTO) own->closed.ridge = 0.01;
  if (s->net.outputs == EP_AUTO) own->net.outputs = 64;
  const ep_status st = ep_view_spectrum_new(&spectrum, points, own);
  own->closed.ridge = s->closed.ridge;
  own->net.outputs = s->net.outputs == EP_AUTO ? 1 : s->net.outputs;
  EP_TRY(st);
  *mean = spectrum.mean;
  ep_view_spectrum_free(&spectrum);
  return EP_OK;
}

/* active=auto becomes the share whose outputs agree best across views of points that were held out */
static ep_status choose_share(ep_setup *own, ep_model *model, ep_fit_info *info,
                              const ep_points *points, const ep_setup *s) {
  static const double shares[] = {0.05, 0.1, 0.2};
  enum { SHARES = sizeof shares / sizeof *shares };
  double best = -INFINITY, chosen = 0;
  for (int k = 0; k < SHARES; k++) {
    double mean;
    EP_TRY(ep_run_step("shares", k, SHARES));
    ep_features_set_share(&own->feature, s->feature.features, shares[k]);
    EP_TRY(mean_correlation(&mean, points, s, own));
    EP_TRY(ep_fit_explain(info,
                          "active   %-5g cross-view correlation of held-out anchors: mean %.4g",
                          shares[k], mean));
    if (mean > best) best = mean, chosen = shares[k];
  }
  ep_features_set_share(&own->feature, s->feature.features, chosen);
  EP_TRY(ep_fit_note(info, "active=%g: the best of %d on a tenth of the anchors, held out", chosen,
                     SHARES));
  return keep_features(model, own);
}

/* --features auto becomes a recipe */
static ep_status choose_features(ep_setup *own, ep_model *model, ep_fit_info *info,
                                 const ep_points *points) {
  const ptrdiff_t n = points->pairs.anchors;
  const ep_recipe_ask ask = {.shape = points->shape,
                             .anchors = n,
                             .views = n > 0 ? ep_points_most_views(points) : 1,
                             .prec = points->X.prec,
                             .memory = ep_run_memory_left(&own->run),
                             .time = own->feature.time,
                             .flips = ep_augment_flips(own->pair.augment, points->shape)};
  char why[EP_DESCRIPTION];
  EP_TRY(ep_features_recipe(own->feature.features, why, &ask));
  EP_TRY(keep_features(model, own));
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
  if (ep_features_share_open(&setup->feature))
    EP_TRY(choose_share(own, model, info, points, setup));
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
