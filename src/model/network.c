/* Networks: shape, weights at the start. Their files are in network_file.c, the passes in stream.c. */
#include "model/network.h"

#include "core/mem.h"

#include <eigenpair/random.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ep_option ep_net_options[] = {EP_NET_OPTIONS(EP_OPT_ROW, ep_net_config){0}};
const ep_option ep_variance_options[] = {EP_VARIANCE_OPTIONS(EP_OPT_ROW, ep_variance_config){0}};

const char *ep_parametrisation_name(int i) {
  static const char *const names[] = {"ntk", "standard", NULL};
  return names[i];
}

/* ---- shape */

ptrdiff_t ep_net_width(const ep_net_shape *s, int l) {
  if (l < 0) return s->inputs;
  if (l >= s->depth) return s->outputs;
  return s->widths[l] ? s->widths[l] : s->width;
}

ptrdiff_t ep_net_widest(const ep_net_shape *s) {
  ptrdiff_t most = 0;
  for (int l = 0; l < s->depth; l++)
    if (ep_net_width(s, l) > most) most = ep_net_width(s, l);
  return most;
}

const ep_activation *ep_net_phi(const ep_net_shape *s, int l) {
  return s->phis[l].kind ? &s->phis[l] : &s->phi;
}

/* variance of the entries a_l, for inputs of length 1 where l = 0 and entries of size 1 else, that a unit of a weight's
 * variance makes: s_0^2 or 1/M_{l-1} */
static double root_of_layer(const ep_net_shape *s, int l) {
  const double variance = ep_net_variance(l < s->depth ? s->weight_variance : s->last_variance);
  const double fan = l == 0 ? s->input_scale : 1 / sqrt((double)ep_net_width(s, l - 1));
  return sqrt(variance) * fan;
}

double ep_net_scale(const ep_net_shape *s, int l) { return s->standard ? 1 : root_of_layer(s, l); }

static double bias_variance(const ep_net_shape *s, int l) {
  return l < s->depth ? s->bias_variance : s->last_bias_variance;
}

double ep_net_bias_scale(const ep_net_shape *s, int l) {
  if (!s->bias[l]) return 0;
  return s->standard ? 1 : sqrt(ep_net_variance(bias_variance(s, l)));
}

bool ep_net_is_plain(const ep_net_shape *s) {
  for (int l = 0; l <= s->depth; l++)
    if (s->bias[l]) return false;
  for (int l = 0; l < s->depth; l++)
    if (ep_net_width(s, l) != s->width || !ep_activation_equal(ep_net_phi(s, l), &s->phi))
      return false;
  return !s->standard && ep_net_variance(s->weight_variance) == 1 &&
         ep_net_variance(s->last_variance) == 1;
}

ptrdiff_t ep_net_hidden_parameters(const ep_net_shape *s) {
  ptrdiff_t count = 0;
  for (int l = 0; l < s->depth; l++)
    count += ep_net_width(s, l) * (ep_net_width(s, l - 1) + s->bias[l]);
  return count;
}

ep_mat ep_net_hidden_theta(const ep_net *net) {
  return ep_mat_cols(&net->theta, 0, ep_net_hidden_parameters(&net->shape));
}

void ep_net_add_bias(const ep_mat *A, double t, const ep_mat *b) {
  for (ptrdiff_t i = 0; t != 0 && i < A->rows; i++) {
    const ep_mat a = ep_mat_rows(A, i, 1);
    ep_mat_axpy(&a, t, b);
  }
}

ptrdiff_t ep_net_parameters(const ep_net_shape *s) {
  return ep_net_hidden_parameters(s) + s->outputs * (s->width + s->bias[s->depth]);
}

/* "512", "256:tanh": layer l of --layers */
static ep_status parse_layer(ep_net_shape *s, int l, const char *text) {
  char *end;
  const double width = strtod(text, &end);
  EP_CHECK(end != text && width >= 1 && width <= 1e7 && width == floor(width) &&
               (*end == '\0' || *end == ':'),
           EP_ERR_ARG,
           "--layers: '%s' is no layer; layers are WIDTH or WIDTH:ACTIVATION, such as 256:tanh",
           text);
  s->widths[l] = (ptrdiff_t)width;
  if (*end == ':') EP_TRY(ep_activation_parse(&s->phis[l], end + 1));
  return EP_OK;
}

static ep_status parse_layers(ep_net_shape *s, const char *text) {
  for (s->depth = 0; *text; s->depth++) {
    char layer[96];
    const size_t length = strcspn(text, ",");
    EP_CHECK(s->depth < EP_MAX_DEPTH, EP_ERR_ARG, "--layers has more than %d layers", EP_MAX_DEPTH);
    EP_CHECK(length < sizeof layer, EP_ERR_ARG, "--layers: a layer of %zu characters", length);
    snprintf(layer, sizeof layer, "%.*s", (int)length, text);
    EP_TRY(parse_layer(s, s->depth, layer));
    text += length + (text[length] == ',');
  }
  s->width = s->widths[s->depth - 1];
  return EP_OK;
}

static ep_status set_variances(ep_net_shape *s, const ep_net_config *config,
                               const ep_variance_config *v) {
  s->standard = config->parametrisation == EP_PARAMETRISATION_STANDARD;
  const bool all = config->biases && s->standard;
  for (int l = 0; l < s->depth; l++) s->bias[l] = all || v->bias_variance > 0;
  s->bias[s->depth] = all || v->last_bias_variance > 0;
  EP_CHECK(!config->biases || s->bias[0] || s->bias[s->depth], EP_ERR_ARG,
           "--biases: with --parametrisation ntk a bias has the factor sqrt(--bias-variance) "
           "(outputs: --last-bias-variance), which is 0; give one, such as 0.1");
  EP_CHECK(v->weight_variance > 0 && v->last_variance > 0, EP_ERR_ARG,
           "a finite network needs --weight-variance and --last-variance above 0");
  s->weight_variance = v->weight_variance;
  s->last_variance = v->last_variance;
  s->bias_variance = v->bias_variance;
  s->last_bias_variance = v->last_bias_variance;
  return EP_OK;
}

ep_status ep_net_shape_of(ep_net_shape *out, const ep_net_config *config,
                          const ep_variance_config *variances, ptrdiff_t inputs) {
  const ep_variance_config defaults = {.weight_variance = 1, .last_variance = 1};
  *out = (ep_net_shape){.inputs = inputs,
                        .width = config->width,
                        .outputs = config->outputs,
                        .depth = (int)config->depth,
                        .input_scale = config->input_scale ? 1 / sqrt((double)inputs) : 1};
  EP_TRY(ep_activation_parse(&out->phi, config->activation));
  if (config->layers[0]) EP_TRY(parse_layers(out, config->layers));
  return set_variances(out, config, variances ? variances : &defaults);
}

/* ---- weights */

ep_status ep_net_new(ep_net *out, const ep_net_shape *shape, ep_precision prec) {
  double count = 0;
  *out = (ep_net){.shape = *shape};
  for (int l = 0; l <= shape->depth; l++)
    count += (double)ep_net_width(shape, l) * ((double)ep_net_width(shape, l - 1) + 1);
  EP_CHECK(count < 1e15, EP_ERR_ARG, "a network of width %td and depth %d is too large",
           ep_net_widest(shape), shape->depth);
  EP_TRY(ep_mat_new(&out->theta, prec, 1, ep_net_parameters(shape)));
  ep_net_view(out, out->theta.data);
  return EP_OK;
}

/* the next `rows` x `cols` numbers of theta */
static ep_mat next_part(const ep_net *net, ptrdiff_t *first, ptrdiff_t rows, ptrdiff_t cols) {
  void *data = ep_mat_cols(&net->theta, *first, 1).data;
  *first += rows * cols;
  return ep_mat_view(net->theta.prec, rows, cols, data);
}

void ep_net_view(ep_net *net, void *theta) {
  const ep_net_shape *s = &net->shape;
  ptrdiff_t first = 0;
  net->theta.data = theta;
  for (int l = 0; l < s->depth; l++) {
    const ptrdiff_t width = ep_net_width(s, l);
    net->V[l] = next_part(net, &first, width, ep_net_width(s, l - 1));
    if (s->bias[l]) net->b[l] = next_part(net, &first, 1, width);
  }
  net->W = next_part(net, &first, s->width, s->outputs);
  if (s->bias[s->depth]) net->c = next_part(net, &first, 1, s->outputs);
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
  const ptrdiff_t hidden = ep_net_hidden_parameters(&shape);
  const ep_mat to = ep_mat_cols(&other.theta, 0, hidden),
               from = ep_mat_cols(&net->theta, 0, hidden);
  ep_mat_copy(&to, &from);
  ep_net_free(net);
  *net = other;
  return EP_OK;
}

const ep_mat *ep_net_weights(const ep_net *net, int l) {
  return l < net->shape.depth ? &net->V[l] : &net->W;
}

const ep_mat *ep_net_biases(const ep_net *net, int l) {
  return l < net->shape.depth ? &net->b[l] : &net->c;
}

/* N(0, 1), or with the variance of the standard parametrisation */
static void draw(const ep_mat *A, double root, uint64_t seed, int stream) {
  ep_random_fill_normal(A, seed, EP_STREAM_WEIGHTS, (uint32_t)stream);
  if (root != 1) ep_mat_axpy(A, root - 1, A);
}

ep_status ep_net_begin(ep_net *out, const ep_net *start, const ep_net_config *config,
                       const ep_variance_config *variances, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec) {
  if (!start) return ep_net_draw(out, config, variances, inputs, seed, prec);
  EP_CHECK(start->shape.inputs == inputs, EP_ERR_SHAPE,
           "the weights take points of dimension %td, the data have %td", start->shape.inputs,
           inputs);
  EP_TRY(ep_net_new(out, &start->shape, prec));
  ep_mat_copy(&out->theta, &start->theta);
  return EP_OK;
}

ep_status ep_net_draw(ep_net *out, const ep_net_config *config, const ep_variance_config *variances,
                      ptrdiff_t inputs, uint64_t seed, ep_precision prec) {
  enum { BIASES = EP_MAX_DEPTH + 1 }; /* streams behind those of the weights */
  ep_net_shape shape;
  *out = (ep_net){0};
  EP_CHECK(config->outputs != EP_AUTO, EP_ERR_ARG, "--outputs auto goes with --method whitened");
  EP_TRY(ep_net_shape_of(&shape, config, variances, inputs));
  if (config->init[0]) return ep_net_read_init(out, config->init, &shape, prec);
  EP_TRY(ep_net_new(out, &shape, prec));
  for (int l = 0; l <= shape.depth; l++) {
    const double bias = sqrt(bias_variance(&shape, l));
    draw(ep_net_weights(out, l), shape.standard ? root_of_layer(&shape, l) : 1, seed, l);
    if (shape.bias[l]) draw(ep_net_biases(out, l), shape.standard ? bias : 1, seed, BIASES + l);
  }
  return EP_OK;
}

ep_status ep_net_start(ep_net *out, const ep_net_config *config, ptrdiff_t inputs, uint64_t seed,
                       ep_precision prec) {
  return ep_net_draw(out, config, NULL, inputs, seed, prec);
}
