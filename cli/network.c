/* The network of a file and what the command line says of it: flags win, then what the file says, then the defaults; a flag
 * that the weights contradict is refused. */
#include "commands.h"

#include <string.h>
#include <unistd.h>

/* a width or a number of layers or outputs that was given, against the file's */
static ep_status check_flag(int argc, char **argv, const char *field, long value, ptrdiff_t held,
                            const char *path) {
  EP_CHECK(!args_has(argc, argv, field) || value == held, EP_ERR_ARG,
           "--%s %ld does not go with %s, whose network has %td; leave it out", field, value, path,
           held);
  return EP_OK;
}

/* a state dict has its factors in the weights, and the biases that it has */
static ep_status check_kind(ep_net_config *net, const ep_net_shape *file, int argc, char **argv) {
  EP_CHECK(!file->standard || !args_has(argc, argv, "parametrisation") ||
               net->parametrisation == EP_PARAMETRISATION_STANDARD,
           EP_ERR_ARG,
           "--parametrisation ntk does not go with %s: a state dict of PyTorch is standard; leave "
           "it out",
           net->init);
  if (!file->standard || !net->biases) return EP_OK;
  for (int l = 0; l <= file->depth; l++)
    EP_CHECK(file->bias[l], EP_ERR_ARG,
             "--biases does not go with %s, whose layer %d has none; leave it out", net->init,
             l + 1);
  net->parametrisation = EP_PARAMETRISATION_STANDARD;
  return EP_OK;
}

static ep_status check_shape(ep_net_config *net, int argc, char **argv) {
  ep_net_shape file, flags;
  EP_TRY(ep_net_file_shape(&file, net->init));
  EP_TRY(check_kind(net, &file, argc, argv));
  EP_TRY(check_flag(argc, argv, "depth", net->depth, file.depth, net->init));
  EP_TRY(check_flag(argc, argv, "outputs", net->outputs, file.outputs, net->init));
  for (int l = 0; l < file.depth; l++)
    EP_TRY(check_flag(argc, argv, "width", net->width, ep_net_width(&file, l), net->init));
  if (!net->layers[0]) return EP_OK;
  EP_TRY(ep_net_shape_of(&flags, net, NULL, file.inputs));
  bool same = flags.depth == file.depth;
  for (int l = 0; same && l < file.depth; l++)
    same = ep_net_width(&flags, l) == ep_net_width(&file, l);
  EP_CHECK(same, EP_ERR_ARG, "--layers %s does not go with %s, whose layers have other widths",
           net->layers, net->init);
  return EP_OK;
}

/* fields of the table that the file's settings have and the command line does not */
static ep_status take(const ep_option *table, void *config, const json_t *from, int argc,
                      char **argv) {
  for (const ep_option *row = table; row->name; row++) {
    const json_t *value = json_object_get(from, row->name);
    if (!value || args_has(argc, argv, row->name) || strcmp(row->name, "init") == 0) continue;
    json_t *one = json_pack("{s:O}", row->name, value);
    EP_CHECK(one, EP_ERR_NOMEM, "no memory for the settings of a network");
    const ep_status st = ep_options_from_json(table, config, one);
    json_decref(one);
    EP_TRY(st);
  }
  return EP_OK;
}

/* --from torch: the file has to be a state dict, whatever its names would make of it */
static ep_status check_from(const ep_net_config *net, int argc, char **argv) {
  const char *from = args_peek(argc, argv, "--from");
  ep_net_shape file;
  if (!from || strcmp(from, "torch") != 0) return EP_OK;
  EP_CHECK(net->init[0], EP_ERR_ARG, "--from torch says what --init holds; give --init FILE.npz");
  EP_TRY(ep_net_file_shape(&file, net->init));
  EP_CHECK(
      file.standard, EP_ERR_INPUT,
      "%s: is no state dict of PyTorch, which has 0.weight, 0.bias, .. ; leave --from torch out",
      net->init);
  return EP_OK;
}

ep_status init_options(ep_net_config *net, ep_variance_config *variances, int argc, char **argv) {
  ep_npz *file;
  json_t *config = NULL;
  EP_TRY(check_from(net, argc, argv));
  if (!net->init[0] || access(net->init, R_OK) != 0) return EP_OK; /* who reads it will say so */
  EP_TRY(check_shape(net, argc, argv));
  EP_TRY(ep_npz_open(&file, net->init));
  ep_status st = ep_npz_has(file, "config") ? ep_npz_get_json(&config, file, "config") : EP_OK;
  ep_npz_close(file);
  if (!st) st = take(ep_net_options, net, config, argc, argv);
  /* before 0.2 the variances were those of analytic kernels alone */
  if (!st && json_object_get(config, "parametrisation"))
    st = take(ep_variance_options, variances, config, argc, argv);
  json_decref(config);
  return st;
}

ep_status network_flags(ep_net *net, const ep_net_config *config,
                        const ep_variance_config *variances, int argc, char **argv) {
  ep_net_shape flags, *s = &net->shape;
  EP_TRY(ep_net_shape_of(&flags, config, variances, s->inputs));
  if (args_has(argc, argv, "activation")) {
    s->phi = flags.phi;
    memset(s->phis, 0, sizeof s->phis);
  }
  if (config->layers[0]) memcpy(s->phis, flags.phis, sizeof s->phis);
  if (config->input_scale) s->input_scale = flags.input_scale;
  if (args_has(argc, argv, "parametrisation")) s->standard = flags.standard;
  if (args_has(argc, argv, "weight_variance")) s->weight_variance = flags.weight_variance;
  if (args_has(argc, argv, "last_variance")) s->last_variance = flags.last_variance;
  if (args_has(argc, argv, "bias_variance")) s->bias_variance = flags.bias_variance;
  if (args_has(argc, argv, "last_bias_variance")) s->last_bias_variance = flags.last_bias_variance;
  return EP_OK;
}
