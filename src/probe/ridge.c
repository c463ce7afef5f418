/* Least squares with a ridge, one against the rest: W minimises sum_i |W z_i - y_i|^2 + penalty n |W|^2 with y_ic = 1 for its
 * class and -1 for the others, z_i a point with a 1 behind it, whose column is not penalised. Closed form:
 *
 *   (Z'Z + penalty n I) W' = Z'Y
 *
 * Penalties are chosen on a tenth of the training points: of this probe by the share that it gets right (its squares say little
 * of classes), of the logistic one by its loss. */
#include "probe/probes.h"

#include <math.h>

const double ep_penalties[EP_PENALTIES] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};

/* ---- a part of the training points held out */

static ep_status take(ep_part *out, ep_work *work, const ep_part *from, const ptrdiff_t *order,
                      ptrdiff_t count) {
  ptrdiff_t *index;
  int *class;
  EP_TRY(ep_work_get(work, &index, count, sizeof *index));
  EP_TRY(ep_work_get(work, &class, count, sizeof *class));
  for (ptrdiff_t i = 0; i < count; i++) {
    index[i] = from->rows.index ? from->rows.index[order[i]] : order[i];
    class[i] = from->class[order[i]];
  }
  *out = (ep_part){.rows = from->rows, .class = class};
  out->rows.index = index, out->rows.count = count;
  return EP_OK;
}

ep_status ep_penalty_parts(ep_part *fit, ep_part *judge, ep_work *work, const ep_probe_task *t) {
  const ptrdiff_t n = t->train.rows.count, held = n / 10 > 0 ? n / 10 : 1;
  ptrdiff_t *order;
  EP_CHECK(n >= 4, EP_ERR_INPUT, "%td training points are too few to choose a penalty", n);
  EP_TRY(ep_work_get(work, &order, n, sizeof *order));
  ep_split(order, n, held, (uint64_t)t->run->seed, 2);
  EP_TRY(take(judge, work, &t->train, order, held));
  return take(fit, work, &t->train, order + held, n - held);
}

/* share of points that W gets right */
static ep_status score_of(double *score, ep_work *work, const ep_part *judge, const ep_mat *W) {
  int *found;
  ptrdiff_t right = 0;
  EP_TRY(ep_work_get(work, &found, judge->rows.count, sizeof *found));
  EP_TRY(ep_linear_classify(found, &judge->rows, W));
  for (ptrdiff_t i = 0; i < judge->rows.count; i++) right += found[i] == judge->class[i];
  *score = (double)right / (double)judge->rows.count;
  return EP_OK;
}

/* ---- the closed form */

typedef struct {
  ep_mat G,
      T; /* (d, d) upper triangle of Z'Z, (d, classes) Z'Y; of this rank's share of the points */
  double n;
} normal;

static ep_status new_normal(normal *m, ep_work *work, ptrdiff_t d, ptrdiff_t classes) {
  m->n = 0;
  EP_TRY(ep_work_mat(work, &m->G, EP_DOUBLE, d, d));
  return ep_work_mat(work, &m->T, EP_DOUBLE, d, classes);
}

static ep_status add_part(normal *m, ep_work *work, const ep_part *part) {
  enum { BLOCK = 4 * EP_TALL_BLOCK };
  ep_mat block, targets;
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, BLOCK, m->G.cols));
  EP_TRY(ep_work_mat(work, &targets, EP_DOUBLE, BLOCK, m->T.cols));
  const ep_share mine = ep_comm_share(part->rows.count);
  const ptrdiff_t end = mine.first + mine.count;
  for (ptrdiff_t i = mine.first; i < end; i += BLOCK) {
    const ptrdiff_t here = end - i < BLOCK ? end - i : BLOCK;
    const ep_mat Z = ep_mat_rows(&block, 0, here), Y = ep_mat_rows(&targets, 0, here);
    EP_TRY(ep_run_step("ridge probe", (double)i, (double)part->rows.count));
    ep_linear_rows(&Z, &part->rows, i);
    ep_mat_fill(&Y, -1);
    for (ptrdiff_t k = 0; k < here; k++) *ep_d(&Y, k, part->class[i + k]) = 1;
    ep_mat_gram_cols(&m->G, 1, &Z, 1);
    ep_mat_mul(&m->T, 1, &Z, EP_T, &Y, EP_N, 1);
  }
  m->n += (double)part->rows.count;
  return EP_OK;
}

/* W (classes x d); L (d x d) and B (d x classes) are scratch */
static ep_status solve(const ep_mat *W, const ep_mat *L, const ep_mat *B, const normal *m,
                       double penalty) {
  const ptrdiff_t d = L->rows;
  ep_mat_copy(L, &m->G);
  EP_TRY(ep_comm_sum(L));
  ep_mat_mirror(L);
  for (ptrdiff_t j = 0; j + 1 < d; j++) *ep_d(L, j, j) += penalty * m->n;
  for (ptrdiff_t j = 0; j < d; j++) /* a column of zeros */
    if (*ep_d(L, j, j) == 0) *ep_d(L, j, j) = 1;
  EP_CHECK(ep_mat_cholesky(L) == EP_OK, EP_ERR_NUMERIC,
           "the ridge probe's equations are singular: raise --penalty");
  ep_mat_copy(B, &m->T);
  EP_TRY(ep_comm_sum(B));
  ep_mat_solve_triangular(B, L, EP_N);
  ep_mat_solve_triangular(B, L, EP_T);
  for (ptrdiff_t c = 0; c < W->rows; c++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(W, c, j) = *ep_d(B, j, c);
  return EP_OK;
}

ep_status ep_ridge_fit(ep_mat *W, ep_probe_result *info, ep_work *work, const ep_probe_task *t) {
  const ptrdiff_t d = t->train.rows.X->cols + 1;
  const double need = 8. * (double)d * (double)(2 * d + 3 * t->classes + 1024);
  ep_mat L, B;
  normal m;
  EP_CHECK(need <= ep_run_room(), EP_ERR_ARG,
           "the ridge probe of %td dimensions takes %.0f MiB, more than --memory", d - 1,
           ceil(need / 1048576));
  EP_TRY(new_normal(&m, work, d, t->classes));
  EP_TRY(ep_work_mat(work, &L, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, d, t->classes));
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, t->classes, d));
  info->converged = true;
  info->penalty = t->config->penalty;
  if (info->penalty != EP_AUTO) {
    EP_TRY(add_part(&m, work, &t->train));
    return solve(W, &L, &B, &m, info->penalty);
  }
  ep_part fit, judge;
  double best = -1, score;
  EP_TRY(ep_penalty_parts(&fit, &judge, work, t));
  EP_TRY(add_part(&m, work, &fit));
  for (int k = 0; k < EP_PENALTIES; k++) {
    EP_TRY(solve(W, &L, &B, &m, ep_penalties[k]));
    EP_TRY(score_of(&score, work, &judge, W));
    if (score > best) best = score, info->penalty = ep_penalties[k];
  }
  EP_TRY(add_part(&m, work, &judge));
  return solve(W, &L, &B, &m, info->penalty);
}
