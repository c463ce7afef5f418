/* First-order change of a network: psi_z(x) = df_z(x)/dtheta at its weights, and
 *
 *   tangent    f(x) = J(x) d,                            C = d, a change of the weights (1 x parameters)
 *   empirical  f(x) = sum_p K(x, x_p) y_p = J(x) J(X)'Y,  C = Y (P x Z): a tangent with d = J(X)'Y
 *
 * The network is that of the model's first term. */
#include "map/map.h"

#include <eigenpair/kernel.h>
#include <string.h>

typedef struct {
  ep_map head;
  const ep_net *net; /* borrowed */
  ep_mat X;          /* (P, D) of empirical */
} tangent;

static const tangent *cast(const ep_map *map) { return (const void *)map; }

static ep_status make(ep_map **out, const ep_map_kind *kind, const ep_net *net, ptrdiff_t count) {
  EP_TRY(ep_map_new(out, sizeof(tangent), kind, net->shape.inputs, count, (ep_psi){0}));
  ((tangent *)(void *)*out)->net = net;
  return EP_OK;
}

ep_status ep_tangent_new(ep_map **out, const ep_net *net) {
  return make(out, &ep_map_tangent, net, ep_net_parameters(&net->shape));
}

ep_status ep_empirical_new(ep_map **out, const ep_net *net, ep_mat *X) {
  EP_TRY(make(out, &ep_map_empirical, net, X->rows));
  ((tangent *)(void *)*out)->X = *X;
  *X = (ep_mat){0};
  return EP_OK;
}

/* the flat C as weights */
static ep_net as_net(const ep_mat *C, const ep_net *like) {
  ep_net net = *like;
  ep_net_view(&net, C->data);
  return net;
}

static ep_status apply(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory) {
  const ep_net *net = cast(term->map)->net, change = as_net(&term->C, net);
  ep_mat dE;
  EP_TRY(ep_mat_new(&dE, E->prec, E->rows, E->cols));
  const ep_status st = ep_ntk_push(&dE, net, X, &change, memory);
  if (!st) ep_mat_axpy(E, 1, &dE);
  ep_mat_free(&dE);
  return st;
}

/* d = J(X)'Y, once */
static ep_status prepare(ep_term *out, const ep_term *term, double memory) {
  const tangent *t = cast(term->map);
  *out = (ep_term){.outputs = term->outputs};
  EP_TRY(ep_tangent_new(&out->map, t->net));
  EP_TRY(ep_mat_new(&out->C, t->net->theta.prec, 1, t->net->theta.cols));
  ep_net change = as_net(&out->C, t->net);
  return ep_ntk_pull(&change, t->net, &t->X, &term->C, memory);
}

static ep_status apply_empirical(const ep_mat *E, const ep_term *term, const ep_mat *X,
                                 double memory) {
  ep_term once = {0};
  ep_status st = prepare(&once, term, memory);
  if (!st) st = apply(E, &once, X, memory);
  ep_term_free(&once);
  return st;
}

/* ---- files: dV.., dW; X, Y */

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  const ep_net change = as_net(&term->C, cast(term->map)->net);
  (void)config;
  return ep_net_write(file, "d", &change);
}

static ep_status write_empirical(ep_npz *file, json_t *config, const ep_term *term) {
  (void)config;
  EP_TRY(ep_npz_add_matrix(file, "X", &cast(term->map)->X, false));
  return ep_npz_add_matrix(file, "Y", &term->C, false);
}

static ep_status first_net(const ep_net **net, const ep_term_source *from) {
  *net = from->first ? ep_term_net(from->first) : NULL;
  EP_CHECK(*net, EP_ERR_INPUT,
           "%s: a model of X and Y needs V and W too, or a config that says the kernel is analytic",
           from->path);
  return EP_OK;
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  const ep_net *net;
  ep_net change = {0};
  EP_TRY(first_net(&net, from));
  EP_TRY(ep_net_read(&change, from->file, from->path, "d", &from->shape, from->prec));
  const bool fits = change.theta.cols == net->theta.cols;
  out->C = change.theta; /* taken over */
  out->outputs = net->shape.outputs;
  EP_CHECK(fits, EP_ERR_SHAPE, "%s: the weights and their changes have different shapes",
           from->path);
  return ep_tangent_new(&out->map, net);
}

static ep_status read_empirical(ep_term *out, const ep_term_source *from) {
  const ep_net *net;
  ep_mat X = {0};
  EP_TRY(first_net(&net, from));
  EP_TRY(ep_term_matrix(&X, from, "X"));
  const ep_status st = ep_empirical_new(&out->map, net, &X);
  ep_mat_free(&X);
  EP_TRY(st);
  EP_TRY(ep_term_matrix(&out->C, from, "Y"));
  out->outputs = out->C.cols;
  const ep_mat *P = &cast(out->map)->X;
  EP_CHECK(P->rows == out->C.rows, EP_ERR_SHAPE, "%s: X and Y have different numbers of rows",
           from->path);
  EP_CHECK(P->cols == net->shape.inputs && out->C.cols == net->shape.outputs, EP_ERR_SHAPE,
           "%s: X and Y do not fit its network", from->path);
  return EP_OK;
}

static void release(ep_map *map) { ep_mat_free(&((tangent *)(void *)map)->X); }

const ep_map_kind ep_map_tangent = {
    .name = "tangent", .apply = apply, .write = write, .read = read, .free = release};
const ep_map_kind ep_map_empirical = {.name = "empirical",
                                      .apply = apply_empirical,
                                      .prepare = prepare,
                                      .write = write_empirical,
                                      .read = read_empirical,
                                      .free = release};
