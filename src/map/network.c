/* The last hidden layer of a network, phi = h_L(x); with the network's own output layer W as coefficients it is the
 * network: f(x) = s W'h_L(x) + t c, or W'psi(x) where outputs are normalised. psi = s h_L, or s h_L / (s |h_L| + delta). */
#include "map/map.h"
#include <eigenpair/stream.h>
#include <math.h>

static const ep_network_map *cast(const ep_map *map) { return (const void *)map; }

ep_network_map ep_network_map_of(const ep_net *net, ep_psi psi) {
  const ep_net_shape *s = &net->shape;
  return (ep_network_map){.head = {&ep_map_network, s->inputs, s->width, s->outputs, psi},
                          .net = net};
}

ep_status ep_network_map_new(ep_network_map **out) {
  ep_map *map;
  EP_TRY(ep_map_new(&map, sizeof **out, &ep_map_network, 0, 0, (ep_psi){0}));
  *out = (void *)map;
  (*out)->net = &(*out)->own;
  return EP_OK;
}

void ep_network_map_set(ep_network_map *map) {
  const ep_psi psi = map->head.psi;
  map->head = ep_network_map_of(&map->own, psi).head;
}

ep_net *ep_term_net(const ep_term *term) {
  if (!term->map || term->map->kind != &ep_map_network) return NULL;
  return &((ep_network_map *)(void *)term->map)->own;
}

static ep_status make(ep_map **out, const ep_map_plan *plan) {
  ep_network_map *map;
  EP_TRY(ep_network_map_new(&map));
  const ep_status st = ep_net_begin(&map->own, plan->start, plan->net, plan->variances,
                                    plan->points->X.cols, plan->seed, plan->points->X.prec);
  map->head.psi = plan->psi;
  if (st) ep_map_free(&map->head);
  EP_TRY(st);
  if (map->own.c.data) ep_mat_fill(&map->own.c, 0); /* a closed form has an offset in its place */
  ep_network_map_set(map);
  *out = &map->head;
  return EP_OK;
}

static ep_status rows(const ep_mat *Psi, const ep_map *map, const ep_mat *X) {
  const ep_net *net = cast(map)->net;
  const double c = ep_net_scale(&net->shape, net->shape.depth) * sqrt((double)map->count);
  EP_TRY(ep_net_hidden(Psi, net, X));
  if (fabs(c - 1) > 1e-15) ep_mat_axpy(Psi, c - 1, Psi); /* all maps are divided by sqrt(M) later */
  return EP_OK;
}

static double flops(const ep_map *map) {
  const ep_net_shape *s = &cast(map)->net->shape;
  double sum = 0;
  for (int l = 0; l < s->depth; l++)
    sum += 2 * (double)ep_net_width(s, l) * (double)ep_net_width(s, l - 1);
  return sum;
}

static double scratch(const ep_map *map, ep_precision prec) {
  const ep_net_shape *s = &cast(map)->net->shape;
  const double packed = 2.2 * (double)map->inputs, layers = fmin(2, s->depth - 1);
  return (double)ep_sizeof(prec) * (layers * (double)ep_net_widest(s) + packed);
}

/* through the stream, which never forms psi; into E itself where nothing is there yet */
static ep_status apply(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory) {
  const ep_network_map *m = cast(term->map);
  ep_stream *stream;
  ep_mat F;
  EP_TRY(ep_mat_new(&F, E->prec, E->rows, E->cols));
  ep_status st = ep_stream_new(&stream, X, &m->net->shape, 1, EP_PASS_FORWARD, memory);
  if (!st && m->head.psi.cosine) st = ep_stream_normalise(stream, m->head.psi.delta);
  if (!st) ep_stream_forward(&F, stream, m->net);
  if (!st) ep_mat_axpy(E, 1, &F);
  ep_stream_free(stream);
  ep_mat_free(&F);
  return st;
}

static ep_status keep(ep_term *out, ep_map *map, const ep_mat *W) {
  ep_network_map *m = (void *)map;
  *out = (ep_term){.map = map, .outputs = W->cols};
  EP_TRY(ep_net_set_outputs(&m->own, W->cols));
  ep_mat_copy(&m->own.W, W);
  return EP_OK;
}

/* "512:relu,256:tanh" */
static void layers_text(ep_opt_TEXT text, const ep_net_shape *s) {
  size_t n = 0;
  for (int l = 0; l < s->depth && n < sizeof(ep_opt_TEXT); l++) {
    char phi[64];
    ep_activation_text(phi, ep_net_phi(s, l));
    n += (size_t)snprintf(text + n, sizeof(ep_opt_TEXT) - n, "%s%td:%s", l ? "," : "",
                          ep_net_width(s, l), phi);
  }
}

/* What the weights are multiplied with may come from a file or a caller: the config says what holds. */
static ep_status write_facts(json_t *config, const ep_net_shape *s) {
  ep_opt_TEXT layers = "";
  bool one = true;
  for (int l = 1; l < s->depth; l++)
    one = one && ep_net_width(s, l) == ep_net_width(s, 0) &&
          ep_activation_equal(ep_net_phi(s, l), ep_net_phi(s, 0));
  if (!one) layers_text(layers, s);
  char phi[64];
  ep_activation_text(phi, ep_net_phi(s, 0));
  EP_CHECK(
      json_object_set_new(config, "parametrisation",
                          json_string(ep_parametrisation_name(s->standard))) == 0 &&
          json_object_set_new(config, "layers", json_string(layers)) == 0 &&
          json_object_set_new(config, "activation", json_string(phi)) == 0 &&
          json_object_set_new(config, "weight_variance",
                              json_real(s->weight_variance > 0 ? s->weight_variance : 1)) == 0 &&
          json_object_set_new(config, "last_variance",
                              json_real(s->last_variance > 0 ? s->last_variance : 1)) == 0 &&
          json_object_set_new(config, "bias_variance", json_real(s->bias_variance)) == 0 &&
          json_object_set_new(config, "last_bias_variance", json_real(s->last_bias_variance)) == 0,
      EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  const ep_net *net = cast(term->map)->net;
  EP_TRY(write_facts(config, &net->shape));
  return ep_net_write(file, "", net);
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  ep_network_map *m;
  EP_TRY(ep_network_map_new(&m));
  out->map = &m->head;
  EP_TRY(ep_net_read(&m->own, from->file, from->path, "", &from->shape, from->prec));
  m->own.shape.input_scale = ep_term_input_scale(from, m->own.shape.inputs);
  ep_network_map_set(m);
  out->outputs = m->own.shape.outputs;
  return EP_OK;
}

static void describe(char text[EP_DESCRIPTION], const ep_term *term) {
  const ep_net_shape *s = &cast(term->map)->net->shape;
  size_t n = (size_t)snprintf(text, EP_DESCRIPTION, "network  %td", s->inputs);
  for (int l = 0; l < s->depth && n < EP_DESCRIPTION; l++)
    n += (size_t)snprintf(text + n, EP_DESCRIPTION - n, " -> %td %s", ep_net_width(s, l),
                          ep_activation_label(ep_net_phi(s, l)));
  if (n < EP_DESCRIPTION)
    snprintf(text + n, EP_DESCRIPTION - n, " -> %td%s%s", s->outputs,
             s->bias[0] || s->bias[s->depth] ? ", biases" : "",
             s->standard ? ", standard parametrisation" : "");
}

static void release(ep_map *map) { ep_net_free(&((ep_network_map *)(void *)map)->own); }

const ep_map_kind ep_map_network = {.name = "network",
                                    .help = "dense (a random network)",
                                    .make = make,
                                    .rows = rows,
                                    .scaled = true,
                                    .similarity = true,
                                    .flops = flops,
                                    .scratch = scratch,
                                    .apply = apply,
                                    .keep = keep,
                                    .write = write,
                                    .read = read,
                                    .describe = describe,
                                    .free = release};
