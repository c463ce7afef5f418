/* Models in files: V or V1.., W, and config, a JSON text. */
#include "core/mem.h"

#include <eigenpair/method.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* config with what the settings do not say: version, points on the sphere or not */
static ep_status config_text(char **text, const ep_model *model) {
  json_t *all = model->config ? json_copy(model->config) : json_object();
  const bool made = all && json_object_set_new(all, "version", json_string(ep_version())) == 0 &&
                    json_object_set_new(all, "unit", json_boolean(model->unit)) == 0;
  *text = made ? json_dumps(all, JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(all);
  EP_CHECK(*text, EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

static ep_status write_all(ep_npz *file, const ep_model *model) {
  char *text;
  EP_TRY(ep_net_write(file, &model->net));
  EP_TRY(config_text(&text, model));
  const ep_status st = ep_npz_add_text(file, "config", text);
  free(text);
  return st ? st : ep_npz_commit(file);
}

ep_status ep_model_save(const char *path, const ep_model *model) {
  ep_npz *file;
  EP_TRY(ep_npz_create(&file, path));
  const ep_status st = write_all(file, model);
  ep_npz_close(file);
  return st;
}

/* Weights without a config (written by hand with numpy.savez) are a relu network. */
static ep_status read_config(ep_model *out, ep_setup *setup, ep_npz *file, const char *path) {
  char *text;
  json_error_t error;
  ep_setup_default(setup);
  if (!ep_npz_has(file, "config")) return EP_OK;
  EP_TRY(ep_npz_get_text(&text, file, "config"));
  out->config = json_loads(text, 0, &error);
  ep_npz_text_free(text);
  EP_CHECK(json_is_object(out->config), EP_ERR_INPUT, "%s: its config is not JSON: %s", path,
           out->config ? "not an object" : error.text);
  out->unit = json_is_true(json_object_get(out->config, "unit"));
  return ep_setup_from_json(setup, out->config);
}

static ep_status read_all(ep_model *out, ep_setup *setup, ep_npz *file, const char *path,
                          ep_precision prec) {
  ep_net_shape shape = {.input_scale = 1};
  EP_TRY(read_config(out, setup, file, path));
  EP_TRY(ep_activation_parse(&shape.phi, setup->net.activation));
  EP_TRY(ep_net_read(&out->net, file, path, &shape, prec));
  if (setup->net.input_scale) out->net.shape.input_scale = 1 / sqrt((double)out->net.shape.inputs);
  return EP_OK;
}

ep_status ep_model_load(ep_model *out, const char *path, ep_precision prec) {
  ep_npz *file;
  *out = (ep_model){0};
  EP_TRY(ep_npz_open(&file, path));
  ep_setup *setup = ep_alloc(1, sizeof *setup);
  ep_status st = setup ? read_all(out, setup, file, path, prec)
                       : EP_FAIL(EP_ERR_NOMEM, "no memory to read a model");
  ep_release(setup);
  ep_npz_close(file);
  if (st) ep_model_free(out);
  return st;
}

void ep_model_free(ep_model *model) {
  ep_net_free(&model->net);
  json_decref(model->config);
  model->config = NULL;
}

ep_status ep_model_embed(const ep_mat *E, const ep_model *model, const ep_mat *X, double memory) {
  ep_stream *stream;
  EP_TRY(ep_stream_new(&stream, X, &model->net.shape, 1, EP_PASS_FORWARD, memory));
  ep_stream_forward(E, stream, &model->net);
  ep_stream_free(stream);
  EP_CHECK(isfinite(ep_mat_norm2(E)), EP_ERR_NUMERIC,
           "outputs of the model are not finite: the data are too large for it");
  return EP_OK;
}
