/* alpha-CL (OPTIMA eq. 2): ascent of tr C_alpha[f], the weights alpha made from the outputs at every step and held
 * constant in the gradient. First views are the anchors, second views their positives; every other anchor is a
 * negative. Written as descent on L = -tr C_alpha[f]: with uniform, infonce and triplet weights its gradient is that of
 * the quadratic, InfoNCE and triplet loss, divided by N^2. Theory: section 9. */
#include "method/methods.h"
#include "method/training.h"

#include <math.h>
#include <string.h>

static ep_status check(const ep_training *t, const ep_alpha *alpha) {
  const ep_pairs *p = &t->points->pairs;
  for (ptrdiff_t n = 0; n < p->anchors; n++)
    EP_CHECK(
        p->start[n + 1] - p->start[n] == 1 && p->sign[p->start[n]] > 0 && !p->all_others,
        EP_ERR_INPUT,
        "method alpha takes one positive and no negatives an anchor (--pairs positives): every "
        "other anchor is a negative");
  EP_CHECK(ep_objective_is_trace(&t->objective) && !ep_objective_positives_only(&t->objective),
           EP_ERR_ARG, "method alpha has --weights in the place of --loss %s",
           t->setup->objective.loss);
  EP_CHECK(alpha->kind != EP_ALPHA_GIVEN || ep_training_full_batch(t), EP_ERR_ARG,
           "given weights are of all pairs: leave --batch out");
  return ep_alpha_check(alpha, p->anchors);
}

/* rows of the two views: from the outputs, or added to them */
static void gather(const ep_mat *A, const ep_mat *F, const ptrdiff_t *rows) {
  for (ptrdiff_t n = 0; n < A->rows; n++)
    memcpy(ep_d(A, n, 0), ep_d(F, rows[n], 0), (size_t)A->cols * sizeof(double));
}

static void subtract(const ep_mat *dF, const ep_mat *dA, const ptrdiff_t *rows) {
  for (ptrdiff_t n = 0; n < dA->rows; n++)
    for (ptrdiff_t z = 0; z < dA->cols; z++) *ep_d(dF, rows[n], z) -= *ep_d(dA, n, z);
}

static ep_status evaluate(ep_work *work, double *loss, const ep_mat *dF, const ep_mat *F,
                          const ep_pairs *pairs, const ep_alpha *alpha) {
  ep_mat A, B, dA, dB;
  double energy;
  ep_mat *const all[] = {&A, &B, &dA, &dB};
  for (int i = 0; i < 4; i++) EP_TRY(ep_work_mat(work, all[i], EP_DOUBLE, pairs->anchors, F->cols));
  gather(&A, F, pairs->anchor);
  gather(&B, F, pairs->partner); /* one an anchor, in their order */
  EP_TRY(ep_covariance_energy(&energy, dF ? &dA : NULL, dF ? &dB : NULL, alpha, &A, &B));
  *loss = -energy;
  if (!dF) return EP_OK;
  ep_mat_fill(dF, 0);
  subtract(dF, &dA, pairs->anchor);
  subtract(dF, &dB, pairs->partner);
  return EP_OK;
}

/* L = -tr C_alpha[f] and dL/dF */
static ep_status value(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *pairs,
                       const void *alpha) {
  ep_work work = {0};
  const ep_status st = evaluate(&work, loss, dF, F, pairs, alpha);
  ep_work_free(&work);
  return st;
}

/* ---- --rows unit: f = phi(V x), |v_k| = 1 (OPTIMA eq. 5). The output layer is W = I / s = sqrt(M) I, M = Z,
 * and stays there. */

const char *ep_rows_name(int i) {
  static const char *const names[] = {"free", "unit", NULL};
  return names[i];
}

static ep_status unit_rows(ep_training *t) {
  const ep_net_shape *s = &t->net->shape;
  EP_CHECK(s->depth == 1 && s->width == s->outputs, EP_ERR_ARG,
           "--rows unit is one layer of --outputs nodes: --depth 1 --width %td, not --depth %d "
           "--width %td",
           s->outputs, s->depth, s->width);
  EP_CHECK(!s->bias[0] && !s->bias[1], EP_ERR_ARG, "--rows unit has no biases");
  ep_scale_to_unit(&t->net->V[0]);
  ep_mat_fill(&t->net->W, 0);
  for (ptrdiff_t k = 0; k < s->width; k++) ep_set(&t->net->W, k, k, 1 / ep_net_scale(s, 1));
  return EP_OK;
}

static ep_status fit(ep_training *t, const ep_alpha *alpha) {
  const ptrdiff_t n = t->points->pairs.anchors, z = t->setup->net.outputs;
  EP_TRY(check(t, alpha));
  if (t->setup->fit.rows == EP_ROWS_UNIT) t->project = unit_rows;
  t->loss =
      (ep_loss_function){.value = value,
                         .user = alpha,
                         .least = 2,
                         .memory = ep_alpha_memory(alpha, n, z, z) + 6 * 8. * (double)(n * z)};
  return ep_training_gd(t);
}

ep_status ep_fit_alpha(ep_model *model, ep_fit_info *info, const ep_points *points,
                       const ep_setup *setup) {
  ep_training t;
  ep_alpha alpha;
  EP_TRY(ep_alpha_load(&alpha, setup->fit.weights, setup->fit.alpha));
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = fit(&t, &alpha);
  ep_training_free(&t);
  ep_alpha_free(&alpha);
  return st;
}
