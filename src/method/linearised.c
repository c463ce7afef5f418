/* The network's first-order Taylor model, trained by gradient descent on the change of its weights:
 *
 *   f_lin(x) = f(x; theta_0) + J_0(x) d,     d <- d - eta J_0(X)' dL/df_lin
 *
 * The kernel is never formed. Theory: section 8. */
#include "method/methods.h"
#include "method/training.h"
#include <eigenpair/stream.h>

typedef struct {
  ep_net change;     /* d */
  ep_mat F0;         /* (P, Z) outputs at the start */
  ep_stream *stream; /* points through the network at its start */
} linearised;

static ep_status evaluate(ep_training *t, double *loss, bool gradient) {
  linearised *l = t->method;
  ep_training_loose_begin(t);
  ep_stream_tangent(&t->F, l->stream, t->net, &l->change);
  EP_TRY(ep_training_loose_end(t));
  ep_mat_axpy(&t->F, 1, &l->F0);
  t->outputs_current = true;
  EP_TRY(ep_training_loss(t, loss, &t->points->pairs, gradient));
  if (!gradient) return EP_OK;
  ep_training_loose_begin(t);
  ep_stream_backward(&t->grad, l->stream, t->net, &t->dF);
  return ep_training_loose_end(t);
}

static ep_status prepare(ep_training *t, linearised *l) {
  const double passes = 4.0 * (double)t->setup->fit.epochs + 1;
  EP_TRY(ep_training_network(t, false));
  EP_TRY(ep_net_new(&l->change, &t->net->shape, t->X.prec));
  EP_TRY(ep_training_begin(t, &l->change.theta, &t->grad.theta, t->net->shape.outputs));
  EP_TRY(ep_mat_new(&l->F0, t->X.prec, t->X.rows, t->net->shape.outputs));
  EP_TRY(ep_stream_new(&l->stream, &t->X, &t->net->shape, passes, EP_PASS_TANGENT,
                       ep_training_memory(t)));
  ep_training_loose_begin(t);
  ep_stream_forward(&l->F0, l->stream, t->net);
  EP_TRY(ep_run_loose_end());
  t->info->block = ep_stream_block(l->stream);
  t->info->density = ep_stream_density(l->stream);
  t->method = l;
  t->evaluate = evaluate;
  return EP_OK;
}

/* the network, and its tangent along the change */
static ep_status finish(ep_training *t, linearised *l) {
  ep_training_summary(t);
  ep_term *term = ep_model_add(t->model);
  term->C = l->change.theta;
  term->outputs = l->change.shape.outputs;
  l->change.theta = (ep_mat){0};
  return ep_tangent_new(&term->map, t->whole);
}

ep_status ep_fit_linearised(ep_model *model, ep_fit_info *info, const ep_points *points,
                            const ep_setup *setup) {
  ep_training t;
  linearised l = {0};
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = prepare(&t, &l);
  if (!st) st = ep_training_descend(&t);
  if (!st) st = finish(&t, &l);
  ep_stream_free(l.stream);
  ep_mat_free(&l.F0);
  ep_net_free(&l.change);
  ep_training_free(&t);
  return st;
}
