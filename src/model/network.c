/* Weights: shape, start, files. The passes are in stream.c. */
#include "core/mem.h"

#include <eigenpair/network.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const ep_option ep_net_options[] = {EP_NET_OPTIONS(EP_OPT_ROW, ep_net_config){0}};

static ptrdiff_t layer_inputs(const ep_net_shape *s, int layer) {
  return layer == 0 ? s->inputs : s->width;
}

ptrdiff_t ep_net_parameters(const ep_net_shape *s) {
  return s->width * (s->inputs + (s->depth - 1) * s->width + s->outputs);
}

ep_status ep_net_new(ep_net *out, const ep_net_shape *shape, ep_precision prec) {
  *out = (ep_net){.shape = *shape};
  EP_CHECK(
      (double)shape->width * ((double)shape->inputs + (double)shape->width * shape->depth) < 1e15,
      EP_ERR_ARG, "a network of width %td and depth %d is too large", shape->width, shape->depth);
  EP_TRY(ep_mat_new(&out->theta, prec, 1, ep_net_parameters(shape)));
  ep_net_view(out, out->theta.data);
  return EP_OK;
}

void ep_net_view(ep_net *net, void *theta) {
  const ep_net_shape *s = &net->shape;
  ptrdiff_t first = 0;
  net->theta.data = theta;
  for (int l = 0; l <= s->depth; l++) {
    ep_mat *layer = l < s->depth ? &net->V[l] : &net->W;
    const ptrdiff_t cols = l < s->depth ? layer_inputs(s, l) : s->outputs;
    void *data = ep_mat_cols(&net->theta, first, 1).data;
    *layer = ep_mat_view(net->theta.prec, s->width, cols, data);
    first += s->width * cols;
  }
}

void ep_net_free(ep_net *net) {
  ep_mat_free(&net->theta);
  *net = (ep_net){.shape = net->shape};
}

ep_status ep_net_begin(ep_net *out, const ep_net *start, const ep_net_config *config,
                       ptrdiff_t inputs, uint64_t seed, ep_precision prec) {
  if (!start) return ep_net_start(out, config, inputs, seed, prec);
  EP_CHECK(start->shape.inputs == inputs, EP_ERR_SHAPE,
           "the weights take points of dimension %td, the data have %td", start->shape.inputs,
           inputs);
  EP_TRY(ep_net_new(out, &start->shape, prec));
  ep_mat_copy(&out->theta, &start->theta);
  return EP_OK;
}

/* prefix and V, V1.., or W */
static void layer_name(char name[32], const char *prefix, int depth, int layer) {
  if (layer == depth) snprintf(name, 32, "%sW", prefix);
  else if (depth == 1) snprintf(name, 32, "%sV", prefix);
  else snprintf(name, 32, "%sV%d", prefix, layer + 1);
}

static const ep_mat *layer_matrix(const ep_net *net, int layer) {
  return layer < net->shape.depth ? &net->V[layer] : &net->W;
}

ep_status ep_net_write(ep_npz *file, const char *prefix, const ep_net *net) {
  for (int l = 0; l <= net->shape.depth; l++) {
    char name[32];
    layer_name(name, prefix, net->shape.depth, l);
    EP_TRY(ep_npz_add_matrix(file, name, layer_matrix(net, l), false));
  }
  return EP_OK;
}

/* the deepest network whose layers are all there */
static ep_status find_depth(int *depth, const ep_npz *file, const char *path, const char *prefix) {
  char name[32];
  for (*depth = 1; *depth < EP_MAX_DEPTH; ++*depth) {
    layer_name(name, prefix, *depth + 2, *depth);
    if (!ep_npz_has(file, name)) break;
  }
  for (int l = 0; l <= *depth; l += *depth) {
    layer_name(name, prefix, *depth, l);
    EP_CHECK(ep_npz_has(file, name), EP_ERR_INPUT,
             "%s: holds no %s; a network is V and W, or V1, V2, .. and W", path, name);
  }
  return EP_OK;
}

/* width, inputs, outputs from the shapes of the first and the last layer */
static ep_status read_shape(ep_net_shape *s, ep_npz *file, const char *path, const char *prefix) {
  char first[32], last[32];
  EP_TRY(find_depth(&s->depth, file, path, prefix));
  layer_name(first, prefix, s->depth, 0);
  layer_name(last, prefix, s->depth, s->depth);
  ep_array V = {0}, W = {0};
  ep_status st = ep_npz_get(&V, file, first);
  if (!st) st = ep_npz_get(&W, file, last);
  if (!st && (V.ndim != 2 || W.ndim != 2))
    st = EP_FAIL(EP_ERR_SHAPE, "%s: V and W are matrices", path);
  if (!st) s->width = V.shape[0], s->inputs = V.shape[1], s->outputs = W.shape[1];
  if (!st && (s->width < 1 || s->inputs < 1 || s->outputs < 1))
    st = EP_FAIL(EP_ERR_SHAPE, "%s: V and W have no entries", path);
  ep_array_free(&V);
  ep_array_free(&W);
  return st;
}

static ep_status read_layer(const ep_mat *to, ep_npz *file, const char *name, const char *path) {
  ep_array a = {0};
  ep_mat M = {0};
  char place[1200];
  snprintf(place, sizeof place, "%s:%s", path, name);
  ep_status st = ep_npz_get(&a, file, name);
  if (!st && (a.ndim != 2 || a.shape[0] != to->rows || a.shape[1] != to->cols))
    st = EP_FAIL(EP_ERR_SHAPE, "%s: should be %td x %td", place, to->rows, to->cols);
  if (!st) st = ep_array_to_matrix(&M, &a, NULL, to->rows, 1, to->prec, place);
  if (!st) ep_mat_copy(to, &M);
  ep_mat_free(&M);
  ep_array_free(&a);
  return st;
}

ep_status ep_net_read(ep_net *out, ep_npz *file, const char *path, const char *prefix,
                      const ep_net_shape *shape, ep_precision prec) {
  ep_net_shape s = *shape;
  *out = (ep_net){0};
  EP_TRY(read_shape(&s, file, path, prefix));
  ep_status st = ep_net_new(out, &s, prec);
  for (int l = 0; !st && l <= s.depth; l++) {
    char name[32];
    layer_name(name, prefix, s.depth, l);
    st = read_layer(layer_matrix(out, l), file, name, path);
  }
  if (st) ep_net_free(out);
  return st;
}

static ep_status read_init(ep_net *out, const char *path, const ep_net_shape *shape,
                           ptrdiff_t inputs, ep_precision prec) {
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  ep_status st = ep_net_read(out, file, path, "", shape, prec);
  ep_npz_close(file);
  if (!st && out->shape.inputs != inputs) {
    st = EP_FAIL(EP_ERR_SHAPE, "%s: its network takes points of dimension %td, the data have %td",
                 path, out->shape.inputs, inputs);
    ep_net_free(out);
  }
  return st;
}

ep_status ep_net_start(ep_net *out, const ep_net_config *config, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec) {
  ep_net_shape shape = {.inputs = inputs,
                        .width = config->width,
                        .outputs = config->outputs,
                        .depth = (int)config->depth,
                        .input_scale = config->input_scale ? 1 / sqrt((double)inputs) : 1};
  *out = (ep_net){0};
  EP_TRY(ep_activation_parse(&shape.phi, config->activation));
  if (config->init[0]) return read_init(out, config->init, &shape, inputs, prec);
  EP_TRY(ep_net_new(out, &shape, prec));
  for (int l = 0; l <= shape.depth; l++)
    ep_random_fill_normal(layer_matrix(out, l), seed, EP_STREAM_WEIGHTS, (uint32_t)l);
  return EP_OK;
}
