/* A linear model u(x) = B'x by the learning-dynamics equation (LINEAR Theorem 2): what an orthogonal linear network of
 * any width and depth is after gradient flow for the time rate x epochs. Theory: section 7. */
#include "method/methods.h"
#include "method/training.h"

#include <eigenpair/linear.h>
#include <math.h>
#include <string.h>

typedef struct {
  ep_linear basis;
  ep_mat q, next; /* (D, Z) what is trained, and where it is an epoch later */
  ep_mat mean;    /* (D, Z) mean slope of the epoch */
} linear;

/* The step of an epoch is the flow for the time `rate`: gradient = (q - q(t + rate)) / rate. */
static ep_status evaluate(ep_training *t, double *loss, bool gradient) {
  linear *l = t->method;
  const double rate = t->setup->fit.rate;
  ep_linear_info info;
  *loss = ep_linear_loss(&l->q, l->basis.lambda);
  if (t->setup->fit.track[0]) EP_TRY(ep_linear_embed(&t->F, &l->basis, &l->q, &t->X));
  t->outputs_current = true;
  if (!gradient) return EP_OK;
  ep_mat_copy(&l->next, &l->q);
  EP_TRY(ep_linear_flow(&l->next, &info, l->basis.lambda, rate, t->setup->fit.flow_tolerance));
  ep_mat_fill(&l->mean, 0);
  ep_mat_axpy(&l->mean, 1 / rate, &l->q);
  ep_mat_axpy(&l->mean, -1 / rate, &l->next);
  return EP_OK;
}

static ep_status check(const ep_setup *s) {
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &s->objective));
  EP_CHECK(ep_objective_is_trace(&o), EP_ERR_ARG,
           "method linear is for --loss linear and noncontrastive, not %s", s->objective.loss);
  EP_CHECK(s->objective.similarity != EP_SIMILARITY_COSINE, EP_ERR_ARG,
           "method linear is for --similarity dot, not cosine");
  EP_CHECK(!s->net.init[0], EP_ERR_ARG,
           "method linear draws its start; eigenpair dynamics takes one as --q0");
  return EP_OK;
}

static ep_status make_basis(linear *l, const ep_points *p) {
  ep_mat C;
  EP_TRY(ep_mat_new(&C, EP_DOUBLE, p->X.cols, p->X.cols));
  ep_status st = ep_linear_add(&C, &p->X, &p->pairs, 1 / (double)p->pairs.anchors);
  if (!st) st = ep_linear_new(&l->basis, &C);
  ep_mat_free(&C);
  return st;
}

/* A start as of a network of --width, or of D + Z where that is more: narrower ones cannot be orthonormal. */
static ep_status prepare(ep_training *t, linear *l) {
  const ptrdiff_t d = t->X.cols, z = t->setup->net.outputs, width = t->setup->net.width;
  EP_TRY(make_basis(l, t->points));
  EP_TRY(ep_mat_new(&l->q, EP_DOUBLE, d, z));
  EP_TRY(ep_mat_new(&l->next, EP_DOUBLE, d, z));
  EP_TRY(ep_mat_new(&l->mean, EP_DOUBLE, d, z));
  EP_TRY(ep_linear_start(&l->q, width > d + z ? width : d + z, (uint64_t)t->setup->run.seed));
  const ep_mat state = ep_mat_view(EP_DOUBLE, 1, d * z, l->q.data);
  const ep_mat gradient = ep_mat_view(EP_DOUBLE, 1, d * z, l->mean.data);
  t->method = l;
  t->evaluate = evaluate;
  t->info->block = t->X.rows;
  t->info->density = 1;
  return ep_training_begin(t, &state, &gradient, z);
}

/* In the file it is a linear network of width Z: V = B' and W = sqrt(Z) I, so that Z^{-1/2} W'V x = B'x. */
static ep_status store(ep_model *model, ep_training *t, const linear *l) {
  const ptrdiff_t d = l->q.rows, z = l->q.cols;
  ep_net_shape shape = {.inputs = d, .width = z, .outputs = z, .depth = 1, .input_scale = 1};
  ep_mat B;
  ep_training_summary(t);
  EP_TRY(ep_activation_parse(&shape.phi, "linear"));
  ep_net *net;
  EP_TRY(ep_model_add_network(model, &net));
  EP_TRY(ep_net_new(net, &shape, t->X.prec));
  EP_TRY(ep_mat_new(&B, EP_DOUBLE, d, z));
  ep_linear_weights(&B, &l->basis, &l->q);
  for (ptrdiff_t j = 0; j < z; j++) {
    for (ptrdiff_t i = 0; i < d; i++) ep_set(&net->V[0], j, i, *ep_d(&B, i, j));
    ep_set(&net->W, j, j, sqrt((double)z));
  }
  ep_mat_free(&B);
  EP_CHECK(json_object_set_new(model->config, "activation", json_string("linear")) == 0 &&
               json_object_set_new(model->config, "similarity", json_string("dot")) == 0 &&
               json_object_set_new(model->config, "input_scale", json_false()) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

ep_status ep_fit_linear(ep_model *model, ep_fit_info *info, const ep_points *points,
                        const ep_setup *setup) {
  ep_training t;
  linear l = {0};
  EP_TRY(check(setup));
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = prepare(&t, &l);
  if (!st) st = ep_training_descend(&t);
  if (!st) st = store(model, &t, &l);
  ep_linear_free(&l.basis);
  ep_mat_free(&l.q);
  ep_mat_free(&l.next);
  ep_mat_free(&l.mean);
  ep_training_free(&t);
  return st;
}
