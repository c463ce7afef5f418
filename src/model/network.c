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
  EP_CHECK((double)shape->width * ((double)shape->inputs + (double)shape->width * shape->depth +
                                   (double)shape->outputs) <
               1e15,
           EP_ERR_ARG, "a network of width %td and depth %d is too large", shape->width,
           shape->depth);
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

ep_status ep_net_set_outputs(ep_net *net, ptrdiff_t outputs) {
  ep_net_shape shape = net->shape;
  ep_net other;
  if (shape.outputs == outputs) return EP_OK;
  shape.outputs = outputs;
  EP_TRY(ep_net_new(&other, &shape, net->theta.prec));
  for (int l = 0; l < shape.depth; l++) ep_mat_copy(&other.V[l], &net->V[l]);
  ep_net_free(net);
  *net = other;
  return EP_OK;
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

/* width, inputs, outputs from the shapes of the layers, all of which the file holds: nothing is allocated for less */
static ep_status read_shape(ep_net_shape *s, ep_npz *file, const char *path, const char *prefix) {
  EP_TRY(find_depth(&s->depth, file, path, prefix));
  for (int l = 0; l <= s->depth; l++) {
    char name[32];
    ep_array a;
    layer_name(name, prefix, s->depth, l);
    EP_TRY(ep_npz_shape(&a, file, name));
    EP_CHECK(a.ndim == 2, EP_ERR_SHAPE, "%s:%s: is not a matrix; V and W are", path, name);
    if (l == 0) s->width = a.shape[0], s->inputs = a.shape[1];
    if (l == s->depth) s->outputs = a.shape[1];
    EP_CHECK(a.shape[0] >= 1 && a.shape[1] >= 1, EP_ERR_SHAPE, "%s:%s: has no entries", path, name);
    EP_CHECK(a.shape[0] == s->width && (l == 0 || l == s->depth || a.shape[1] == s->width),
             EP_ERR_SHAPE, "%s:%s: is %td x %td in a network of width %td", path, name, a.shape[0],
             a.shape[1], s->width);
  }
  return EP_OK;
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
  EP_CHECK(config->outputs != EP_AUTO, EP_ERR_ARG, "--outputs auto goes with --method whitened");
  EP_TRY(ep_activation_parse(&shape.phi, config->activation));
  if (config->init[0]) return read_init(out, config->init, &shape, inputs, prec);
  EP_TRY(ep_net_new(out, &shape, prec));
  for (int l = 0; l <= shape.depth; l++)
    ep_random_fill_normal(layer_matrix(out, l), seed, EP_STREAM_WEIGHTS, (uint32_t)l);
  return EP_OK;
}
