/* Descent on V and W with W'W = I (WIDE eq. 7, 10): u(x) = W'psi(x),
 *
 *   W <- retract(W - eta (I - WW') dL/dW),   V <- V - eta dL/dV
 *
 * Frozen: V stays, so C does, and W goes to its top eigenvectors. Iterated (WIDE section 5): W = PCA of C(V), then one
 * step of V. With --norms outputs the loss is that of the cosine of f(x) = M^{-1/2} W'phi(Vx). */
#include "method/closed.h"
#include "method/methods.h"
#include "method/training.h"

#include <math.h>
#include <string.h>
#include <eigenpair/stream.h>

/* ---- the step */

/* W <- retract(W - eta (I - WW') G), in double */
static ep_status move_W(ep_work *work, const ep_net *net, const ep_mat *grad, double rate,
                        int how) {
  const ptrdiff_t m = net->W.rows, z = net->W.cols;
  ep_mat W, G, T;
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, m, z));
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, m, z));
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, z, z));
  ep_mat_copy(&W, &net->W);
  ep_mat_copy(&G, grad);
  ep_mat_mul(&T, 1, &W, EP_T, &G, EP_N, 0);
  ep_mat_mul(&G, -1, &W, EP_N, &T, EP_N, 1);
  ep_mat_axpy(&W, -rate, &G);
  EP_TRY(ep_retract(&W, how));
  ep_mat_copy(&net->W, &W);
  return EP_OK;
}

static ep_status retract_W(const ep_net *net, const ep_mat *grad, double rate, const ep_setup *s) {
  ep_work work = {0};
  const ep_status st = move_W(&work, net, grad, rate, s->closed.retraction);
  ep_work_free(&work);
  return st;
}

static ep_status grassmann_step(ep_training *t, bool *finite) {
  const double rate = t->setup->fit.rate;
  const ep_mat V = ep_net_hidden_theta(t->net), dV = ep_net_hidden_theta(&t->grad);
  *finite = ep_training_step_is_safe(t);
  if (!*finite) return EP_OK;
  if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, &dV);
  t->outputs_current = false;
  return retract_W(t->net, &t->grad.W, rate, t->setup);
}

/* W is found anew each time; only V moves */
static ep_status iterate_step(ep_training *t, bool *finite) {
  const ep_mat V = ep_net_hidden_theta(t->net), dV = ep_net_hidden_theta(&t->grad);
  *finite = ep_training_step_is_safe(t);
  if (!*finite) return EP_OK;
  ep_mat_axpy(&V, -t->setup->fit.rate, &dV);
  t->outputs_current = false;
  return EP_OK;
}

/* ---- the loss */

typedef struct {
  ep_stream *stream;
  ep_psi psi;
  double *lambda; /* (Z) of the last PCA */
  ep_eigen_info eigen;
  ep_plan plan;
} orthogonal;

static ep_status grassmann_loss(ep_training *t, double *loss, bool gradient) {
  const orthogonal *o = t->method;
  return ep_training_pass(t, loss, o->stream, &t->points->pairs, gradient);
}

/* W = PCA of C(V) */
static ep_status pca_of_now(ep_training *t) {
  orthogonal *o = t->method;
  const ep_network_map map = ep_network_map_of(t->net, o->psi);
  ep_points points = *t->points;
  ep_work work = {0};
  ep_mat W;
  points.X = t->X;
  ep_status st = ep_work_mat(&work, &W, EP_DOUBLE, t->net->W.rows, t->net->W.cols);
  if (!st) st = ep_closed_pca(&W, o->lambda, &o->eigen, &o->plan, &map.head, &points, t->setup);
  if (!st) ep_mat_copy(&t->net->W, &W);
  ep_work_free(&work);
  return st;
}

static ep_status iterate_loss(ep_training *t, double *loss, bool gradient) {
  EP_TRY(pca_of_now(t));
  return grassmann_loss(t, loss, gradient);
}

/* ---- setting up */

const char *ep_norms_name(int i) {
  static const char *const names[] = {"features", "outputs", NULL};
  return names[i];
}

/* Losses of inner products do not see a rotation of the outputs; the others have no place on the Grassmannian. With the
 * norms of features in psi, similarities are products of the outputs. */
static ep_status objective(ep_training *t, ep_psi *psi, bool iterated) {
  const int norms = t->setup->closed.norms;
  *psi = ep_psi_of(&t->objective);
  EP_CHECK(!ep_objective_of_views(&t->objective), EP_ERR_ARG,
           "loss %s changes when outputs are rotated: it has no descent with W'W = I; use gd or "
           "whitened",
           t->setup->objective.loss);
  EP_CHECK(norms == EP_NORMS_FEATURES || !iterated, EP_ERR_ARG,
           "--norms outputs: the cosine itself is no trace of C, so W is no PCA; use --method "
           "grassmann");
  if (norms == EP_NORMS_OUTPUTS) psi->cosine = false;
  else ep_objective_products(&t->objective);
  return EP_OK;
}

static ep_status run(ep_training *t, orthogonal *o, ep_work *work, bool iterated) {
  const double passes = 2.0 * (double)t->setup->fit.epochs + 1;
  const ptrdiff_t z = t->net->shape.outputs;
  EP_CHECK(z <= t->net->shape.width, EP_ERR_ARG, "--outputs %td is more than --width %td", z,
           t->net->shape.width);
  EP_TRY(ep_work_get(work, &o->lambda, z, sizeof *o->lambda));
  /* an iterated PCA needs memory of its own */
  const double memory = ep_training_memory(t) * (iterated ? 0.4 : 1);
  const ep_mat X = ep_comm_rows(&t->X);
  EP_TRY(ep_stream_new(&o->stream, &X, &t->net->shape, passes, EP_PASS_BACKWARD, memory));
  if (o->psi.cosine) EP_TRY(ep_stream_normalise(o->stream, o->psi.delta));
  t->info->block = ep_stream_block(o->stream);
  t->info->density = ep_stream_density(o->stream);
  t->method = o;
  t->evaluate = iterated ? iterate_loss : grassmann_loss;
  t->step = iterated ? iterate_step : grassmann_step;
  if (iterated) {
    const ep_network_map map = ep_network_map_of(t->net, o->psi);
    ep_points points = *t->points;
    points.X = t->X;
    EP_TRY(ep_plan_make(&o->plan, &map.head, &points, z, t->setup));
    EP_TRY(ep_plan_explain(t->info, &o->plan, &map.head, &points, t->setup));
  }
  return ep_training_descend(t);
}

/* how far W'W is from I, the eigenvalues of the last PCA */
static ep_status report(ep_training *t, const orthogonal *o, bool iterated) {
  ep_mat T;
  double worst = 0;
  const ptrdiff_t z = t->net->W.cols;
  EP_TRY(ep_mat_new(&T, t->net->W.prec, z, z));
  ep_mat_mul(&T, 1, &t->net->W, EP_T, &t->net->W, EP_N, 0);
  for (ptrdiff_t i = 0; i < z; i++)
    for (ptrdiff_t j = 0; j < z; j++) worst = fmax(worst, fabs(ep_get(&T, i, j) - (i == j)));
  ep_mat_free(&T);
  EP_TRY(ep_fit_number(t->info, "orthogonality", ep_json_number(worst)));
  if (!iterated) return EP_OK;
  return ep_fit_spectrum(t->info, o->lambda, z, o->lambda[z - 1] - o->eigen.next);
}

static ep_status descend(ep_training *t, bool iterated) {
  ep_work work = {0};
  orthogonal o = {0};
  ep_status st = objective(t, &o.psi, iterated);
  if (!st) st = ep_training_network(t, true);
  if (!st && t->whole->c.data) ep_mat_fill(&t->whole->c, 0); /* u = W'psi has none */
  if (!st && t->net->c.data) ep_mat_fill(&t->net->c, 0);
  if (!st) st = retract_W(t->net, &t->grad.W, 0, t->setup); /* the start: W <- qf(W) */
  if (!st && t->net != t->whole) ep_mat_copy(&t->whole->W, &t->net->W);
  if (!st) st = ep_training_begin(t, &t->net->theta, &t->grad.theta, t->net->shape.outputs);
  if (!st) st = run(t, &o, &work, iterated);
  if (!st) st = report(t, &o, iterated);
  if (!st) st = ep_training_finish(t);
  ep_stream_free(o.stream);
  ep_work_free(&work);
  return st;
}

static ep_status fit(ep_model *model, ep_fit_info *info, const ep_points *points,
                     const ep_setup *setup, bool iterated) {
  ep_training t;
  EP_CHECK(ep_features_are_network(&setup->feature), EP_ERR_ARG,
           "method %s trains the weights of a network: other features go with pca and whitened",
           setup->fit.method);
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = descend(&t, iterated);
  ep_training_free(&t);
  return st;
}

ep_status ep_fit_grassmann(ep_model *model, ep_fit_info *info, const ep_points *points,
                           const ep_setup *setup) {
  return fit(model, info, points, setup, false);
}

ep_status ep_fit_iterate(ep_model *model, ep_fit_info *info, const ep_points *points,
                         const ep_setup *setup) {
  ep_psi psi;
  EP_TRY(ep_closed_psi(&psi, setup));
  return fit(model, info, points, setup, true);
}
