/* PCA of C at infinite width: the Gram matrix is G = kappa(X, X) of the NNGP kernel, and there is no W, but
 *
 *   S G y = lambda y,  y'Gy = 1,  a new point embeds as y'kappa(X, x)
 *
 * Where a P x P matrix does not fit, or --landmarks asks for fewer: features seen from landmarks (Nystrom), C of them,
 * and y = L'^{-1} w on the landmarks. Its error is known: how far psi(x)'psi(x) falls short of kappa(x, x). */
#include "core/mem.h"
#include "method/closed.h"
#include "method/methods.h"

#include <math.h>

/* how many landmarks: all points if --landmarks leaves it open and the Gram matrix and its eigenvectors fit */
static ptrdiff_t landmarks(const ep_points *points, const ep_setup *s) {
  const ptrdiff_t p = points->X.rows;
  const double most = sqrt(ep_run_memory_left(&s->run) / (2.5 * sizeof(double)));
  if (s->closed.landmarks > 0) return s->closed.landmarks < p ? s->closed.landmarks : p;
  return most < (double)p || !ep_points_in_memory(points)
             ? (ptrdiff_t)fmin(most / 2 + 1, (double)p / 2)
             : p;
}

ep_status ep_closed_kernel(ep_analytic *kernel, const ep_points *points, const ep_setup *s) {
  EP_CHECK(
      ep_features_are_network(&s->feature), EP_ERR_ARG,
      "these features have a finite width; kernels of infinite width are those of dense networks");
  EP_CHECK(!s->net.init[0], EP_ERR_ARG,
           "infinite width has no weights: --init does not go with it");
  return ep_analytic_from(kernel, &s->net, &s->analytic, points->X.cols, EP_NNGP);
}

/* ---- all points */

/* sections of kappa at the points, C = Y */
static ep_status keep_exact(ep_model *model, const ep_mat *Y, const ep_analytic *kernel, ep_psi psi,
                            const ep_mat *points) {
  ep_term *term = ep_model_add(model);
  ep_mat X;
  EP_TRY(ep_mat_new(&term->C, EP_DOUBLE, Y->rows, Y->cols));
  ep_mat_copy(&term->C, Y);
  term->outputs = Y->cols;
  EP_TRY(ep_mat_new(&X, points->prec, points->rows, points->cols));
  ep_mat_copy(&X, points);
  const ep_status st = ep_sections_new(&term->map, &ep_map_kappa, kernel, psi, &X, false);
  ep_mat_free(&X);
  return st;
}

static ep_status exact(ep_work *work, ep_model *model, ep_fit_info *info, const ep_analytic *kernel,
                       ep_psi psi, const ep_points *points, const ep_setup *s) {
  const ptrdiff_t p = points->X.rows, z = s->net.outputs;
  ep_mat G, Y;
  double *lambda;
  ptrdiff_t positive = 0;
  ep_eigen_info eigen = {0};
  EP_CHECK(z <= p, EP_ERR_ARG, "--outputs %td is more than the %td points", z, p);
  EP_CHECK((double)p * (double)p * sizeof(double) <= ep_run_memory_left(&s->run), EP_ERR_ARG,
           "the Gram matrix of %td points does not fit --memory: use --landmarks", p);
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, p, p));
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, p, z));
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  const ep_mat rows = ep_comm_rows(&G), x = ep_comm_rows(&points->X);
  EP_TRY(ep_kappa(&rows, kernel, psi, &x, ep_comm_columns(&points->X)));
  EP_TRY(ep_comm_gather(&G));
  EP_TRY(ep_closed_dual(&Y, lambda, &eigen, &positive, &G, &points->pairs, 1e-11, s));
  EP_CHECK(positive == z, EP_ERR_ARG,
           "only %td eigenvalues are positive: --outputs can be %td at most here", positive,
           positive);
  ep_eigen_signs(&Y);
  EP_TRY(keep_exact(model, &Y, kernel, psi, &points->X));
  EP_TRY(ep_fit_explain(info, "path     dual: Gram matrix of all %td points, %.0f MiB", p,
                        (double)p * (double)p * 8 / 1048576));
  return ep_closed_report(info, lambda, z, &eigen, "dual");
}

/* ---- landmarks */

/* sum over points of kappa(x, x) - |psi(x)|^2, and of kappa(x, x) */
static ep_status shortfall(ep_work *work, double *lost, double *total, const ep_map *map,
                           const ep_analytic *kernel, const ep_points *points) {
  enum { BLOCK = 1024 };
  const ptrdiff_t p = points->X.rows, block = BLOCK < p ? BLOCK : p;
  ep_mat H, buffer, x;
  double *norm;
  *lost = *total = 0;
  EP_TRY(ep_work_mat(work, &H, points->X.prec, block, map->count));
  EP_TRY(ep_work_mat(work, &buffer, points->X.prec, points->made ? block : 0, points->X.cols));
  EP_TRY(ep_work_get(work, &norm, block, sizeof *norm));
  for (ptrdiff_t i = 0; i < p; i += BLOCK) {
    const ptrdiff_t n = p - i < BLOCK ? p - i : BLOCK;
    const ep_mat h = ep_mat_rows(&H, 0, n);
    EP_TRY(ep_run_step("points", (double)i, (double)p));
    EP_TRY(ep_points_block(&x, points, i, n, &buffer));
    EP_TRY(ep_analytic_diagonal(NULL, norm, kernel, EP_NNGP, &x));
    EP_TRY(ep_map_rows(&h, map, &x));
    for (ptrdiff_t k = 0; k < n; k++) {
      const ep_mat row = ep_mat_rows(&h, k, 1);
      const double root = sqrt(norm[k]);
      const double self = map->psi.cosine ? pow(root / (root + map->psi.delta), 2) : norm[k];
      *total += self;
      *lost += fmax(0, self - ep_mat_norm2(&row));
    }
  }
  return EP_OK;
}

static ep_status nystrom(ep_mat *W, ep_work *work, ep_fit_info *info, const ep_map *map,
                         const ep_analytic *kernel, const ep_points *points, const ep_setup *s) {
  const ptrdiff_t z = s->net.outputs;
  double *lambda, lost, total;
  ep_eigen_info eigen;
  ep_plan plan;
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, map->count, z));
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  EP_TRY(ep_plan_make(&plan, map, points, z, s));
  if (plan.path == EP_PATH_DUAL)
    plan.path = plan.fits[EP_PATH_PRIMAL] ? EP_PATH_PRIMAL : EP_PATH_FREE;
  EP_TRY(ep_closed_pca(W, lambda, &eigen, &plan, map, points, s));
  EP_TRY(shortfall(work, &lost, &total, map, kernel, points));
  EP_TRY(ep_plan_explain(info, &plan, map, points, s));
  EP_TRY(ep_closed_report(info, lambda, z, &eigen, "landmarks"));
  EP_TRY(ep_fit_number(info, "landmarks", json_integer(map->count)));
  EP_TRY(ep_fit_number(info, "gram_error", json_real(total > 0 ? lost / total : 0)));
  return ep_fit_note(info,
                     "seen from %td landmarks of %td points: they leave %.2g %% of the kernel's "
                     "trace unexplained",
                     map->count, points->X.rows, 100 * lost / total);
}

static ep_status from_landmarks(ep_work *work, ep_model *model, ep_fit_info *info,
                                const ep_map_plan *plan, const ep_points *points,
                                const ep_setup *setup) {
  ep_map *map;
  ep_mat W;
  EP_TRY(ep_landmarks_draw(&map, plan));
  const ep_status st = nystrom(&W, work, info, map, plan->kernel, points, setup);
  if (!st) return ep_model_keep(model, map, &W);
  ep_map_free(map);
  return st;
}

ep_status ep_fit_infinite(ep_model *model, ep_fit_info *info, const ep_points *points,
                          const ep_setup *setup) {
  ep_work work = {0};
  ep_analytic kernel;
  EP_TRY(ep_closed_psi(&model->psi, setup));
  EP_TRY(ep_closed_kernel(&kernel, points, setup));
  ep_map_plan plan = ep_closed_plan(points, model->psi, &kernel, setup);
  plan.landmarks = landmarks(points, setup);
  const ep_status st = plan.landmarks == points->X.rows
                           ? exact(&work, model, info, &kernel, model->psi, points, setup)
                           : from_landmarks(&work, model, info, &plan, points, setup);
  ep_work_free(&work);
  return st;
}
