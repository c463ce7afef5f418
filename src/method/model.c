/* Models: their terms, their files, how they embed. */
#include "method/methods.h"
#include "method/model.h"

#include "core/hash.h"
#include "core/mem.h"
#include "data/table.h"

#include <eigenpair/comm.h>
#include <eigenpair/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- terms */

ep_status ep_model_new(ep_model **out) {
  *out = ep_alloc(1, sizeof **out);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a model");
  return EP_OK;
}

void ep_model_free(ep_model *model) {
  if (!model) return;
  for (int k = model->terms - 1; k >= 0; k--) ep_term_free(&model->term[k]);
  ep_mat_free(&model->offset);
  json_decref(model->config);
  ep_release(model);
}

ep_term *ep_model_add(ep_model *model) { return &model->term[model->terms++]; }

ep_status ep_model_add_network(ep_model *model, ep_net **net) {
  ep_network_map *map;
  EP_TRY(ep_network_map_new(&map));
  ep_model_add(model)->map = &map->head;
  *net = &map->own;
  return EP_OK;
}

ep_status ep_model_keep(ep_model *model, ep_map *map, const ep_mat *W) {
  model->psi = map->psi;
  return map->kind->keep(ep_model_add(model), map, W);
}

/* networks know their shape by now; outputs are psi's or phi's */
void ep_model_seal(ep_model *model) {
  const ep_psi plain = {false, model->psi.delta};
  for (int k = 0; k < model->terms; k++) {
    ep_term *t = &model->term[k];
    const ep_net *net = ep_term_net(t);
    if (net) {
      ep_network_map_set((void *)t->map);
      t->outputs = net->shape.outputs;
    }
    if (t->map->kind->scaled) t->map->psi = model->normalise ? model->psi : plain;
  }
}

ep_status ep_model_normalise(ep_model *model) {
  for (int k = 0; k < model->terms; k++)
    EP_CHECK(model->term[k].map->kind->similarity, EP_ERR_ARG,
             "--normalise goes with networks and closed forms; this model is a kernel's or a "
             "linearised one");
  model->normalise = true;
  ep_model_seal(model);
  return EP_OK;
}

ptrdiff_t ep_model_inputs(const ep_model *m) { return m->term[0].map->inputs; }
ptrdiff_t ep_model_outputs(const ep_model *m) { return m->term[0].outputs; }
ep_psi ep_model_psi(const ep_model *m) { return m->psi; }
bool ep_model_is_unit(const ep_model *m) { return m->unit; }
const json_t *ep_model_config(const ep_model *m) { return m->config; }
ep_net *ep_model_net(const ep_model *m) { return ep_term_net(&m->term[0]); }
const ep_mat *ep_model_coefficients(const ep_model *m, int k) {
  const ep_net *net = k < m->terms ? ep_term_net(&m->term[k]) : NULL;
  return k >= m->terms ? NULL : net ? &net->W : &m->term[k].C;
}

void ep_model_describe(char text[EP_DESCRIPTION], const ep_model *m) {
  m->term[0].map->kind->describe(text, &m->term[0]);
}

/* ---- writing */

static json_t *names_of_terms(const ep_model *m) {
  json_t *names = json_array();
  for (int k = 0; names && k < m->terms; k++)
    if (json_array_append_new(names, json_string(m->term[k].map->kind->name)))
      json_decref(names), names = NULL;
  return names;
}

/* config with what the settings do not say: version, terms, points on the sphere or not, how outputs are scaled */
static ep_status add_facts(json_t *config, const ep_model *m) {
  const bool kappa = m->term[0].map->kind->kappa;
  EP_CHECK(json_object_set_new(config, "version", json_string(ep_version())) == 0 &&
               json_object_set_new(config, "terms", names_of_terms(m)) == 0 &&
               json_object_set_new(config, "unit", json_boolean(m->unit)) == 0 &&
               json_object_set_new(config, "normalise", json_boolean(m->normalise)) == 0 &&
               json_object_set_new(config, "kappa", json_boolean(kappa)) == 0 &&
               json_object_set_new(config, "cosine", json_boolean(m->psi.cosine)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

ep_status ep_model_write(ep_npz *file, json_t *config, const ep_model *m) {
  EP_TRY(add_facts(config, m));
  for (int k = 0; k < m->terms; k++) EP_TRY(m->term[k].map->kind->write(file, config, &m->term[k]));
  if (m->offset.data) EP_TRY(ep_npz_add_matrix(file, "offset", &m->offset, false));
  char *text = ep_json_text(config, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the settings as JSON");
  const ep_status st = ep_npz_add_text(file, "config", text);
  free(text);
  return st;
}

ep_status ep_config_copy(json_t **out, const json_t *config) {
  if (config) return ep_json_copy(out, config);
  *out = json_object();
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

ep_status ep_model_save(const char *path, const ep_model *model) {
  ep_npz *file;
  json_t *config;
  EP_TRY(ep_config_copy(&config, model->config));
  ep_status st = ep_npz_create(&file, path);
  if (!st) {
    st = ep_model_write(file, config, model);
    if (!st) st = ep_npz_commit(file);
    ep_npz_close(file);
  }
  json_decref(config);
  return st;
}

/* ---- reading */

/* Weights without a config (written by hand with numpy.savez) are a relu network. */
static ep_status read_config(ep_model *out, ep_setup *setup, ep_npz *file, const char *path) {
  ep_setup_default(setup);
  if (!ep_npz_has(file, "config")) return EP_OK;
  EP_TRY(ep_npz_get_json(&out->config, file, "config"));
  EP_TRY(ep_plan_check(json_object_get(out->config, "table"), path));
  out->unit = json_is_true(json_object_get(out->config, "unit"));
  out->normalise = json_is_true(json_object_get(out->config, "normalise"));
  return ep_setup_from_json(setup, out->config);
}

/* as the config says, or as its loss does */
static ep_status read_psi(ep_model *out, const ep_setup *setup) {
  const json_t *cosine = json_object_get(out->config, "cosine");
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &setup->objective));
  out->psi = ep_psi_of(&o);
  if (cosine) out->psi.cosine = json_is_true(cosine);
  return EP_OK;
}

typedef struct {
  int count;
  const char *name[EP_MOST_TERMS];
} term_list;

/* A file that does not name its terms (written before 0.2, or by hand) shows them by its arrays. */
static void guess_terms(term_list *list, const ep_term_source *from, const ep_setup *setup) {
  ep_npz *f = from->file;
  const bool Y = ep_npz_has(f, "Y"), kappa = json_is_true(json_object_get(from->config, "kappa"));
  const ep_method_row *method = ep_method_find(setup->fit.method);
  const bool infinite = method && method->tangent && setup->fit.kernel == EP_KERNEL_ANALYTIC;
  if (ep_npz_has(f, "F")) list->name[list->count++] = "patches";
  else if (ep_npz_has(f, "W") || !Y) list->name[list->count++] = "network";
  if (ep_npz_has(f, "dW")) list->name[list->count++] = "tangent";
  else if (Y) list->name[list->count++] = kappa ? "kappa" : infinite ? "ntk" : "empirical";
  if (ep_npz_has(f, "Y0") && list->count < EP_MOST_TERMS) list->name[list->count++] = "nngp";
}

static ep_status list_terms(term_list *list, const ep_term_source *from, const ep_setup *setup) {
  const json_t *names = json_object_get(from->config, "terms");
  *list = (term_list){0};
  if (!names) {
    guess_terms(list, from, setup);
    return EP_OK;
  }
  const size_t n = json_array_size(names);
  EP_CHECK(n >= 1 && n <= EP_MOST_TERMS, EP_ERR_INPUT, "%s: its config names %zu terms", from->path,
           n);
  for (size_t k = 0; k < n; k++) {
    const char *name = json_string_value(json_array_get(names, k));
    EP_CHECK(name, EP_ERR_INPUT, "%s: the terms of its config are no names", from->path);
    list->name[list->count++] = name;
  }
  return EP_OK;
}

static ep_status read_terms(ep_model *out, ep_term_source *from, const term_list *list) {
  for (int k = 0; k < list->count; k++) {
    const ep_map_kind *kind = ep_map_kind_of(list->name[k]);
    EP_CHECK(kind && kind->read, EP_ERR_INPUT, "%s: this version knows no term '%s'", from->path,
             list->name[k]);
    from->first = k ? &out->term[0] : NULL;
    EP_TRY(kind->read(ep_model_add(out), from));
  }
  const ep_term *a = &out->term[0], *b = &out->term[list->count - 1];
  EP_CHECK(a->map->inputs == b->map->inputs && a->outputs == b->outputs, EP_ERR_SHAPE,
           "%s: its terms do not fit together", from->path);
  return EP_OK;
}

/* Before 0.2 the variances were those of analytic kernels alone. */
static ep_status read_network_settings(ep_term_source *from, const ep_setup *setup) {
  const bool before = !json_object_get(from->config, "parametrisation");
  EP_TRY(ep_net_shape_of(&from->shape, &setup->net, before ? NULL : &setup->analytic, 1));
  return ep_analytic_from(&from->kernel, &setup->net, &setup->analytic, 1, EP_NNGP);
}

static ep_status read_all(ep_model *out, ep_setup *setup, ep_npz *file, const char *path,
                          ep_precision prec) {
  term_list list;
  EP_TRY(read_config(out, setup, file, path));
  EP_TRY(read_psi(out, setup));
  ep_term_source from = {
      .file = file, .path = path, .prec = prec, .config = out->config, .psi = out->psi};
  from.input_scale = setup->net.input_scale;
  EP_TRY(read_network_settings(&from, setup));
  EP_TRY(list_terms(&list, &from, setup));
  EP_TRY(read_terms(out, &from, &list));
  from.prec = EP_DOUBLE;
  if (ep_npz_has(file, "offset")) EP_TRY(ep_term_matrix(&out->offset, &from, "offset"));
  EP_CHECK(
      !out->offset.data || (out->offset.rows == 1 && out->offset.cols == ep_model_outputs(out)),
      EP_ERR_SHAPE, "%s: its offset does not fit its outputs", path);
  ep_model_seal(out);
  return EP_OK;
}

ep_status ep_model_read(ep_model *out, ep_npz *file, const char *path, ep_precision prec) {
  ep_setup *setup = ep_alloc(1, sizeof *setup);
  const ep_status st = setup ? read_all(out, setup, file, path, prec)
                             : EP_FAIL(EP_ERR_NOMEM, "no memory to read a model");
  ep_release(setup);
  return st;
}

static ep_status load(ep_model *out, const char *path, ep_precision prec) {
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  ep_status st = ep_model_read(out, file, path, prec);
  if (!st && json_object_get(out->config, "sums"))
    st = EP_FAIL(EP_ERR_INPUT, "%s: holds sums, not yet a model: eigenpair fit --from %s", path,
                 path);
  for (int k = 0; !st && k < out->terms; k++)
    if (!out->term[k].map->kind->apply && !out->term[k].C.data)
      st = EP_FAIL(EP_ERR_INPUT, "%s: its term '%s' has no coefficients", path,
                   out->term[k].map->kind->name);
  ep_npz_close(file);
  return st;
}

/* ranks: one file for all, by all of its bytes */
static ep_status same(const char *path) {
  uint64_t print = EP_HASH_START;
  unsigned char block[8192];
  if (ep_comm_size() == 1) return EP_OK;
  FILE *file = fopen(path, "rb");
  EP_CHECK(file, EP_ERR_INPUT, "%s: cannot be read", path);
  for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) print = ep_hash(print, block, n);
  fclose(file);
  return ep_comm_same(print, path);
}

ep_status ep_model_load(ep_model **out, const char *path, ep_precision prec) {
  EP_TRY(ep_model_new(out));
  ep_status st = load(*out, path, prec);
  if (!st) st = same(path);
  if (st) ep_model_free(*out), *out = NULL;
  return st;
}

/* ---- embedding */

static ep_status embed_rows(const ep_mat *E, const ep_term *term, int terms, const ep_mat *offset,
                            const ep_mat *X) {
  const double memory = ep_run_room();
  ep_mat_fill(E, 0);
  for (int k = 0; k < terms; k++) EP_TRY(ep_term_apply(E, &term[k], X, memory));
  for (ptrdiff_t i = 0; offset->data && i < E->rows; i++)
    for (ptrdiff_t k = 0; k < E->cols; k++) ep_set(E, i, k, ep_get(E, i, k) - *ep_d(offset, 0, k));
  return EP_OK;
}

/* so many rows at a time that there is something to tell */
static ep_status embed_all(const ep_mat *E, const ep_model *m, const ep_term *term,
                           const ep_mat *X) {
  enum { ROWS = 4096 };
  for (ptrdiff_t i = 0; i < X->rows; i += ROWS) {
    const ptrdiff_t n = X->rows - i < ROWS ? X->rows - i : ROWS;
    const ep_mat e = ep_mat_rows(E, i, n), x = ep_mat_rows(X, i, n);
    EP_TRY(ep_run_step("points", (double)i, (double)X->rows));
    ep_run_loose_begin();
    const ep_status st = embed_rows(&e, term, m->terms, &m->offset, &x);
    EP_TRY(ep_run_loose_end());
    EP_TRY(st);
  }
  EP_CHECK(isfinite(ep_mat_max(E)), EP_ERR_NUMERIC,
           "outputs of the model are not finite: the data are too large for it");
  return EP_OK;
}

/* terms that are cheaper once prepared, for all points */
static ep_status embed(const ep_mat *E, const ep_model *m, const ep_mat *X) {
  ep_term term[EP_MOST_TERMS], ready[EP_MOST_TERMS] = {{0}};
  ep_status st = EP_OK;
  EP_CHECK(X->cols == ep_model_inputs(m), EP_ERR_SHAPE,
           "the model takes points of dimension %td, the data have %td", ep_model_inputs(m),
           X->cols);
  EP_CHECK(E->prec == X->prec, EP_ERR_ARG, "points and embedding are of two precisions");
  EP_CHECK(E->rows == X->rows && E->cols == ep_model_outputs(m), EP_ERR_SHAPE,
           "%td points and %td outputs do not fit a matrix of %td x %td", X->rows,
           ep_model_outputs(m), E->rows, E->cols);
  for (int k = 0; !st && k < m->terms; k++) {
    term[k] = m->term[k];
    if (!term[k].map->kind->prepare) continue;
    st = term[k].map->kind->prepare(&ready[k], &m->term[k], ep_run_room());
    term[k] = ready[k];
  }
  const ep_mat x = ep_comm_rows(X), e = ep_comm_rows(E);
  if (!st) st = embed_all(&e, m, term, &x);
  if (!st) st = ep_comm_gather(E);
  for (int k = 0; k < m->terms; k++) ep_term_free(&ready[k]);
  return st;
}

ep_status ep_model_embed(ep_run *run, const ep_mat *E, const ep_model *model, const ep_mat *X) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = embed(E, model, X);
  ep_run_leave(&scope);
  return st;
}
