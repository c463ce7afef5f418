/* Files of networks. Ours have V or V1 .. VL, W and, where there are biases, b or b1 .. bL, c. A state dict of PyTorch,
 * saved with numpy.savez(path, **{k: v.numpy() for k, v in state_dict.items()}), has STEM.weight (out, in) and STEM.bias of
 * every Linear in the order of the network; its last one is W', c. */
#include "model/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Where the layers of a network are in a file. */
typedef struct {
  char weight[128], bias[128]; /* bias empty: none */
} place;
typedef struct {
  int depth;
  bool torch; /* the last weights are transposed */
  place at[EP_MAX_DEPTH + 1];
} places;

/* prefix and V, V1.., or W; b, b1.., or c */
static void layer_names(place *p, const char *prefix, int depth, int l) {
  char number[16] = "";
  if (depth > 1) snprintf(number, sizeof number, "%d", l + 1);
  const bool last = l == depth;
  snprintf(p->weight, sizeof p->weight, "%s%s%s", prefix, last ? "W" : "V", last ? "" : number);
  snprintf(p->bias, sizeof p->bias, "%s%s%s", prefix, last ? "c" : "b", last ? "" : number);
}

/* ---- where things are */

/* the deepest network whose layers are all there */
static ep_status find_ours(places *out, const ep_npz *file, const char *path, const char *prefix) {
  int depth = 1;
  place next;
  for (; depth < EP_MAX_DEPTH; depth++) {
    layer_names(&next, prefix, depth + 2, depth);
    if (!ep_npz_has(file, next.weight)) break;
  }
  *out = (places){.depth = depth};
  for (int l = 0; l <= depth; l++) {
    place *p = &out->at[l];
    layer_names(p, prefix, depth, l);
    EP_CHECK(ep_npz_has(file, p->weight), EP_ERR_INPUT,
             "%s: holds no network: there is no %s; a network is V and W, or V1, V2, .. and W",
             path, p->weight);
    if (!ep_npz_has(file, p->bias)) p->bias[0] = '\0';
  }
  return EP_OK;
}

/* the part in front of `suffix`; false: the name does not end so */
static bool stem_of(char stem[128], const char *name, const char *suffix) {
  const size_t n = strlen(name), k = strlen(suffix);
  if (n < k || strcmp(name + n - k, suffix) != 0) return false;
  snprintf(stem, 128, "%.*s", (int)(n - k), name);
  return true;
}

static bool is_torch(const ep_npz *file) {
  char name[128], stem[128];
  for (int i = 0; ep_npz_name(name, file, i); i++)
    if (stem_of(stem, name, ".weight")) return true;
  return false;
}

static ep_status find_torch(places *out, const ep_npz *file, const char *path) {
  char name[128], stem[128];
  *out = (places){.torch = true, .depth = -1};
  for (int i = 0; ep_npz_name(name, file, i); i++) {
    if (!stem_of(stem, name, ".weight")) continue;
    EP_CHECK(out->depth < EP_MAX_DEPTH, EP_ERR_INPUT, "%s: has more than %d hidden layers", path,
             EP_MAX_DEPTH);
    place *p = &out->at[++out->depth];
    snprintf(p->weight, sizeof p->weight, "%s", name);
    snprintf(p->bias, sizeof p->bias, "%.120s.bias", stem);
    if (!ep_npz_has(file, p->bias)) p->bias[0] = '\0';
  }
  EP_CHECK(out->depth >= 1, EP_ERR_INPUT,
           "%s: has one layer; a network has a hidden layer and an output", path);
  return EP_OK;
}

static bool is_used(const places *at, const char *name) {
  for (int l = 0; l <= at->depth; l++)
    if (strcmp(name, at->at[l].weight) == 0 || strcmp(name, at->at[l].bias) == 0) return true;
  return false;
}

/* A file without a config is a network and nothing else, or a kernel's model by hand: what we would not use is named. */
static ep_status check_used(const places *at, const ep_npz *file, const char *path) {
  static const char *const others[] = {"X", "Y", "Y0", "offset", NULL};
  char name[128];
  if (ep_npz_has(file, "config")) return EP_OK;
  for (int i = 0; ep_npz_name(name, file, i); i++) {
    bool known = is_used(at, name) || name[0] == 'd';
    for (int k = 0; !at->torch && others[k]; k++) known = known || strcmp(name, others[k]) == 0;
    EP_CHECK(known, EP_ERR_INPUT,
             "%s: holds %s, which is no part of %s; leave it out of the file, or say what it is",
             path, name, at->torch ? "a chain of Linear layers" : "a network of V, b, W and c");
  }
  return EP_OK;
}

static ep_status find(places *out, const ep_npz *file, const char *path, const char *prefix) {
  if (!prefix[0] && is_torch(file)) EP_TRY(find_torch(out, file, path));
  else EP_TRY(find_ours(out, file, path, prefix));
  return prefix[0] ? EP_OK : check_used(out, file, path);
}

/* ---- shape */

static ep_status shape_of_matrix(ptrdiff_t *rows, ptrdiff_t *cols, ep_npz *file, const char *name,
                                 const char *path) {
  ep_array a;
  EP_TRY(ep_npz_shape(&a, file, name));
  EP_CHECK(a.ndim == 2, EP_ERR_SHAPE, "%s:%s: is not a matrix; the weights of a layer are", path,
           name);
  EP_CHECK(a.shape[0] >= 1 && a.shape[1] >= 1, EP_ERR_SHAPE, "%s:%s: has no entries", path, name);
  *rows = a.shape[0];
  *cols = a.shape[1];
  return EP_OK;
}

/* widths, inputs, outputs from the shapes of the layers, all of which the file holds: nothing is allocated for less */
static ep_status read_shape(ep_net_shape *s, const places *at, ep_npz *file, const char *path) {
  ptrdiff_t below = 0, out, in;
  s->depth = at->depth;
  s->standard = s->standard || at->torch;
  for (int l = 0; l <= s->depth; l++) {
    const char *name = at->at[l].weight;
    const bool turned = l == s->depth && !at->torch; /* W is (M_L, Z) */
    EP_TRY(shape_of_matrix(turned ? &in : &out, turned ? &out : &in, file, name, path));
    EP_CHECK(l == 0 || in == below, EP_ERR_SHAPE,
             "%s:%s: takes %td numbers, the layer before it gives %td", path, name, in, below);
    if (l == 0) s->inputs = in;
    if (l == s->depth) s->outputs = out;
    else s->width = s->widths[l] = out;
    s->bias[l] = at->at[l].bias[0];
    below = out;
  }
  return EP_OK;
}

/* ---- weights */

static void fill(const ep_mat *to, const ep_mat *from, bool transposed) {
  if (!transposed) ep_mat_copy(to, from);
  for (ptrdiff_t i = 0; transposed && i < to->rows; i++)
    for (ptrdiff_t j = 0; j < to->cols; j++) ep_set(to, i, j, ep_get(from, j, i));
}

/* a matrix; a row may also stand in the file as a vector or a column */
static ep_status read_layer(const ep_mat *to, ep_npz *file, const char *name, const char *path,
                            bool transposed) {
  const ptrdiff_t rows = transposed ? to->cols : to->rows, cols = transposed ? to->rows : to->cols;
  ep_array a = {0};
  ep_mat M = {0};
  char where[1200];
  snprintf(where, sizeof where, "%s:%s", path, name);
  ep_status st = ep_npz_get(&a, file, name);
  const bool row = !st && to->rows == 1 &&
                   (a.ndim == 1   ? a.shape[0]
                    : a.ndim == 2 ? a.shape[0] * a.shape[1]
                                  : 0) == cols;
  if (row && !transposed) a.ndim = 2, a.shape[0] = 1, a.shape[1] = cols;
  if (!st && (a.ndim != 2 || a.shape[0] != rows || a.shape[1] != cols))
    st = EP_FAIL(EP_ERR_SHAPE, "%s: should be %td x %td", where, rows, cols);
  if (!st) st = ep_array_to_matrix(&M, &a, NULL, rows, 1, to->prec, where);
  if (!st) fill(to, &M, transposed);
  ep_mat_free(&M);
  ep_array_free(&a);
  return st;
}

static ep_status read_layers(const ep_net *out, const places *at, ep_npz *file, const char *path) {
  for (int l = 0; l <= at->depth; l++) {
    const ep_mat *b = ep_net_biases(out, l);
    EP_TRY(read_layer(ep_net_weights(out, l), file, at->at[l].weight, path,
                      at->torch && l == at->depth));
    if (b->data) EP_TRY(read_layer(b, file, at->at[l].bias, path, false));
  }
  return EP_OK;
}

ep_status ep_net_read(ep_net *out, ep_npz *file, const char *path, const char *prefix,
                      const ep_net_shape *shape, ep_precision prec) {
  ep_net_shape s = *shape;
  places at;
  *out = (ep_net){0};
  EP_TRY(find(&at, file, path, prefix));
  EP_TRY(read_shape(&s, &at, file, path));
  ep_status st = ep_net_new(out, &s, prec);
  if (!st) st = read_layers(out, &at, file, path);
  if (st) ep_net_free(out);
  return st;
}

ep_status ep_net_file_shape(ep_net_shape *out, const char *path) {
  ep_npz *file;
  places at;
  *out = (ep_net_shape){.input_scale = 1};
  EP_TRY(ep_npz_open(&file, path));
  ep_status st = find(&at, file, path, "");
  if (!st) st = read_shape(out, &at, file, path);
  ep_npz_close(file);
  return st;
}

ep_status ep_net_write(ep_npz *file, const char *prefix, const ep_net *net) {
  for (int l = 0; l <= net->shape.depth; l++) {
    const ep_mat *b = ep_net_biases(net, l);
    place p;
    layer_names(&p, prefix, net->shape.depth, l);
    EP_TRY(ep_npz_add_matrix(file, p.weight, ep_net_weights(net, l), false));
    if (b->data) EP_TRY(ep_npz_add_matrix(file, p.bias, b, true));
  }
  return EP_OK;
}

ep_status ep_net_read_init(ep_net *out, const char *path, const ep_net_shape *shape,
                           ep_precision prec) {
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  ep_status st = ep_net_read(out, file, path, "", shape, prec);
  ep_npz_close(file);
  if (!st && out->shape.inputs != shape->inputs) {
    st = EP_FAIL(EP_ERR_SHAPE, "%s: its network takes points of dimension %td, the data have %td",
                 path, out->shape.inputs, shape->inputs);
    ep_net_free(out);
  }
  return st;
}
