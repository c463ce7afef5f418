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
#include "method/closed.h"
#include "method/methods.h"

#include <math.h>
#include <string.h>

/* ---- covariances */

typedef struct {
  ep_mat B, S; /* (M, M) upper triangles: sums over views and over groups, precision of the run */
  ep_mat H, G, x; /* (block, M) features of views, (block, M) sums of groups, (block, D) */
  ptrdiff_t *point;
  ptrdiff_t *group; /* (block) which row of G a view belongs to */
  double *mean;     /* (M) */
  double views, pairs;
} sums;

/* views of whole groups from anchor `first` on that fill a block; how many anchors that is */
static ptrdiff_t next_block(sums *m, ptrdiff_t *views, const ep_pairs *p, ptrdiff_t first) {
  ptrdiff_t n = 0, anchors = 0;
  for (ptrdiff_t i = first; i < p->anchors; i++, anchors++) {
    ptrdiff_t size = 1;
    while (p->start[i] + size - 1 < p->start[i + 1] && p->sign[p->start[i] + size - 1] > 0) size++;
    if (n + size > m->H.rows) break;
    for (ptrdiff_t v = 0; v < size; v++) {
      m->point[n] = v == 0 ? p->anchor[i] : p->partner[p->start[i] + v - 1];
      m->group[n++] = anchors;
    }
    m->views += (double)size;
    m->pairs += (double)size * (double)(size - 1);
  }
  *views = n;
  return anchors;
}

/* G_group += H_view; views of a group stand together */
static void add_groups(const ep_mat *G, const ep_mat *H, const ptrdiff_t *group) {
  ep_mat_fill(G, 0);
#pragma omp parallel for schedule(static) if (ep_worth_entries(H))
  for (ptrdiff_t i = 0; i < H->rows; i++)
    if (i == 0 || group[i] != group[i - 1])
      for (ptrdiff_t k = i; k < H->rows && group[k] == group[i]; k++) {
        const ep_mat g = ep_mat_rows(G, group[i], 1), h = ep_mat_rows(H, k, 1);
        ep_mat_axpy(&g, 1, &h);
      }
}

static void add_mean(double *mean, const ep_mat *G) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(G))
  for (ptrdiff_t j0 = 0; j0 < G->cols; j0 += 64)
    for (ptrdiff_t i = 0; i < G->rows; i++)
      for (ptrdiff_t j = j0; j < j0 + 64 && j < G->cols; j++) mean[j] += ep_get(G, i, j);
}

static ep_status accumulate(sums *m, const ep_map *map, const ep_points *points) {
  const ep_pairs *p = &points->pairs;
  for (ptrdiff_t i = 0, count, n; i < p->anchors; i += count) {
    EP_TRY(ep_run_step("anchors", (double)i, (double)p->anchors));
    count = next_block(m, &n, p, i);
    const ep_mat H = ep_mat_rows(&m->H, 0, n), G = ep_mat_rows(&m->G, 0, count);
    const ep_mat x = ep_mat_rows(&m->x, 0, n);
    EP_TRY(ep_psi_rows_gather(&H, map, points, m->point, &x));
    add_groups(&G, &H, m->group);
    add_mean(m->mean, &G);
    ep_mat_gram_cols(&m->B, 1, &H, i > 0);
    ep_mat_gram_cols(&m->S, 1, &G, i > 0);
  }
  return EP_OK;
}

/* A = (S - B) / pairs - mm', B = B / views - mm' */
static void centre(const ep_mat *A, const ep_mat *B, const sums *m) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(A))
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = i; j < A->cols; j++) {
      const double b = ep_get(&m->B, i, j), s = ep_get(&m->S, i, j), mm = m->mean[i] * m->mean[j];
      *ep_d(A, i, j) = (s - b) / m->pairs - mm;
      *ep_d(B, i, j) = b / m->views - mm;
    }
  ep_mat_mirror(A);
  ep_mat_mirror(B);
}

static ep_status covariances(ep_work *work, sums *m, const ep_mat *A, const ep_mat *B, double *mean,
                             const ep_map *map, const ep_points *points) {
  const ep_precision prec = points->X.prec;
  const ptrdiff_t k = map->count, most = 1 + ep_pairs_most_partners(&points->pairs);
  const ptrdiff_t block = most > 2048 ? most : 2048;
  *m = (sums){.mean = mean};
  EP_TRY(ep_work_mat(work, &m->B, prec, k, k));
  EP_TRY(ep_work_mat(work, &m->S, prec, k, k));
  EP_TRY(ep_work_mat(work, &m->H, prec, block, k));
  EP_TRY(ep_work_mat(work, &m->G, prec, block, k));
  EP_TRY(ep_work_mat(work, &m->x, prec, block, points->X.cols));
  EP_TRY(ep_work_get(work, &m->point, block, sizeof *m->point));
  EP_TRY(ep_work_get(work, &m->group, block, sizeof *m->group));
  EP_TRY(accumulate(m, map, points));
  EP_CHECK(m->pairs > 0, EP_ERR_INPUT, "method whitened needs two views of a point: a positive");
  for (ptrdiff_t j = 0; j < k; j++) m->mean[j] /= m->views;
  centre(A, B, m);
  return EP_OK;
}

/* ---- the eigenproblem */

typedef struct {
  const ep_mat *A, *L;
  ep_mat T; /* (M, b) */
} whitening;

/* Y = L^{-1} A L'^{-1} X */
static ep_status apply(const ep_mat *Y, const ep_mat *X, void *user) {
  const whitening *w = user;
  const ep_mat T = ep_mat_view(EP_DOUBLE, X->rows, X->cols, w->T.data);
  ep_mat_copy(&T, X);
  ep_mat_solve_triangular(&T, w->L, EP_T);
  ep_mat_mul(Y, 1, w->A, EP_N, &T, EP_N, 0);
  ep_mat_solve_triangular(Y, w->L, EP_N);
  return ep_run_step("products", 0, 0);
}

static ep_status add_ridge(const ep_mat *B, double *ridge, const ep_setup *s) {
  double trace = 0;
  for (ptrdiff_t i = 0; i < B->rows; i++) trace += *ep_d(B, i, i);
  *ridge = s->closed.ridge * trace / (double)B->rows;
  EP_CHECK(trace > 0, EP_ERR_NUMERIC, "all views of all points have the same features");
  for (ptrdiff_t i = 0; i < B->rows; i++) *ep_d(B, i, i) += *ridge;
  EP_CHECK(ep_mat_cholesky(B) == EP_OK, EP_ERR_NUMERIC,
           "the covariance of %td features is singular: raise --ridge", B->rows);
  return EP_OK;
}

static ep_status generalised(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *eigen,
                             const ep_mat *A, const ep_mat *L, ep_precision prec,
                             const ep_setup *s) {
  const ep_eigen_config config = ep_closed_eigen(s, prec);
  whitening w = {A, L, {0}};
  EP_TRY(ep_work_mat(work, &w.T, EP_DOUBLE, W->rows, ep_eigen_block(&config, W->cols, W->rows)));
  EP_TRY(ep_eigen_largest(W, lambda, eigen, apply, &w, &config, (uint64_t)s->run.seed));
  ep_mat_solve_triangular(W, L, EP_T);
  ep_eigen_signs(W);
  return EP_OK;
}

/* ---- */

static ep_status check_memory(const ep_map *map, const ep_points *points, const ep_setup *s) {
  const double m = (double)map->count, size = (double)ep_sizeof(points->X.prec);
  const double need = m * m * (2 * size + 16) + 2 * 2048 * m * size +
                      8 * m * (double)(s->net.outputs + 8) * (2 * (double)s->eigen.krylov + 5);
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

static ep_status solve(ep_mat *W, ep_work *work, ep_model *model, ep_fit_info *info,
                       const ep_map *map, const ep_points *points, const ep_setup *s) {
  const ptrdiff_t m = map->count, z = ep_closed_outputs(map, s);
  ep_mat A, B;
  double *lambda, *mean, ridge;
  ep_eigen_info eigen;
  sums all;
  ep_work scratch = {0};
  EP_CHECK(z <= m, EP_ERR_ARG, "--outputs %td is more than the %td features", z, m);
  EP_TRY(check_memory(map, points, s));
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, m, m));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, m, m));
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, m, z));
  EP_TRY(ep_work_get(work, &lambda, z, sizeof *lambda));
  EP_TRY(ep_work_get(work, &mean, m, sizeof *mean));
  const ep_status st = covariances(&scratch, &all, &A, &B, mean, map, points);
  ep_work_free(&scratch);
  if (st) return st;
  EP_TRY(add_ridge(&B, &ridge, s));
  EP_TRY(generalised(work, W, lambda, &eigen, &A, &B, points->X.prec, s));
  EP_TRY(
      ep_fit_explain(info,
                     "path     covariances of %td features over %.0f views in groups of %.3g, then "
                     "block Krylov on L^{-1} A L'^{-1}",
                     m, all.views, all.views / (double)points->pairs.anchors));
  EP_TRY(ep_closed_report(info, lambda, z, &eigen, "primal"));
  EP_TRY(ep_fit_number(info, "ridge", json_real(ridge)));
  return set_offset(model, W, lambda, mean, s);
}

/* views of finite features, or with --kernel analytic those of infinite width seen from landmarks */
static ep_status make_map(ep_map **map, const ep_model *model, const ep_points *points, ep_psi psi,
                          const ep_setup *s) {
  ep_analytic kernel;
  ep_map_plan plan = ep_closed_plan(points, psi, &kernel, s);
  plan.start = model->lent.start;
  if (strcmp(s->fit.kernel, "analytic") != 0) return ep_map_make(map, &plan);
  EP_TRY(ep_closed_kernel(&kernel, points, s));
  return ep_landmarks_draw(map, &plan);
}

ep_status ep_fit_whitened(ep_model *model, ep_fit_info *info, const ep_points *points,
                          const ep_setup *setup) {
  ep_map *map = NULL;
  ep_work work = {0};
  ep_mat W;
  const ep_psi psi = {strcmp(setup->objective.similarity, "cosine") == 0, setup->objective.delta};
  EP_CHECK(
      !ep_pairs_has_negatives(&points->pairs) && !points->pairs.all_others, EP_ERR_INPUT,
      "method whitened takes views of points, no negatives: use --views R or --pairs positives");
  ep_status st = make_map(&map, model, points, psi, setup);
  if (!st) st = solve(&W, &work, model, info, map, points, setup);
  if (!st) {
    model->normalise = map->kind->scaled && psi.cosine; /* W is for psi, not for phi */
    st = ep_model_keep(model, map, &W);
  } else {
    ep_map_free(map);
  }
  ep_work_free(&work);
  return st;
}
