/* Models: their files and how they embed. */
#include "core/mem.h"

#include <eigenpair/method.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

ptrdiff_t ep_model_inputs(const ep_model *m) {
  const ep_image_shape s = m->patches.shape;
  if (m->patches.F.data) return (ptrdiff_t)s.channels * s.height * s.width;
  return m->net.theta.data ? m->net.shape.inputs : m->X.cols;
}
ptrdiff_t ep_model_outputs(const ep_model *m) {
  if (m->patches.F.data) return m->W.cols;
  return m->net.theta.data ? m->net.shape.outputs : m->Y.cols;
}

void ep_model_free(ep_model *model) {
  ep_net_free(&model->net);
  ep_net_free(&model->change);
  ep_mat_free(&model->X);
  ep_mat_free(&model->Y);
  ep_mat_free(&model->Y0);
  ep_mat_free(&model->W);
  ep_mat_free(&model->offset);
  ep_mat_free(&model->patches.F);
  ep_mat_free(&model->patches.theta);
  json_decref(model->config);
  model->config = NULL;
}

/* ---- writing */

static bool add_shape(json_t *config, const ep_patches *p) {
  if (!p->F.data) return true;
  return json_object_set_new(
             config, "image_shape",
             json_pack("[i,i,i]", p->shape.channels, p->shape.height, p->shape.width)) == 0 &&
         json_object_set_new(config, "patch_size", json_integer(p->size)) == 0 &&
         json_object_set_new(config, "patch_grid", json_integer(p->grid)) == 0;
}

/* config with what the settings do not say: version, points on the sphere or not, how outputs are scaled */
static ep_status config_text(char **text, const ep_model *model) {
  json_t *all = model->config ? json_copy(model->config) : json_object();
  const bool made = all && json_object_set_new(all, "version", json_string(ep_version())) == 0 &&
                    json_object_set_new(all, "unit", json_boolean(model->unit)) == 0 &&
                    json_object_set_new(all, "normalise", json_boolean(model->normalise)) == 0 &&
                    json_object_set_new(all, "kappa", json_boolean(model->kappa)) == 0 &&
                    json_object_set_new(all, "cosine", json_boolean(model->psi.cosine)) == 0 &&
                    add_shape(all, &model->patches);
  *text = made ? json_dumps(all, JSON_SORT_KEYS | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(all);
  EP_CHECK(*text, EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

static ep_status write_all(ep_npz *file, const ep_model *m) {
  char *text;
  if (m->net.theta.data) EP_TRY(ep_net_write(file, "", &m->net));
  if (m->change.theta.data) EP_TRY(ep_net_write(file, "d", &m->change));
  if (m->X.data) EP_TRY(ep_npz_add_matrix(file, "X", &m->X, false));
  if (m->Y.data) EP_TRY(ep_npz_add_matrix(file, "Y", &m->Y, false));
  if (m->Y0.data) EP_TRY(ep_npz_add_matrix(file, "Y0", &m->Y0, false));
  if (m->W.data) EP_TRY(ep_npz_add_matrix(file, "W", &m->W, false));
  if (m->patches.F.data) EP_TRY(ep_npz_add_matrix(file, "F", &m->patches.F, false));
  if (m->patches.F.data) EP_TRY(ep_npz_add_matrix(file, "theta", &m->patches.theta, false));
  if (m->offset.data) EP_TRY(ep_npz_add_matrix(file, "offset", &m->offset, false));
  EP_TRY(config_text(&text, m));
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

/* ---- reading */

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
  out->normalise = json_is_true(json_object_get(out->config, "normalise"));
  out->kappa = json_is_true(json_object_get(out->config, "kappa"));
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

static ep_status read_matrix(ep_mat *to, ep_npz *file, const char *name, const char *path,
                             ep_precision prec) {
  ep_array a = {0};
  char place[1200];
  snprintf(place, sizeof place, "%s:%s", path, name);
  ep_status st = ep_npz_get(&a, file, name);
  if (!st && a.ndim != 2) st = EP_FAIL(EP_ERR_SHAPE, "%s: is not a matrix", place);
  if (!st) st = ep_array_to_matrix(to, &a, NULL, a.shape[0], 1, prec, place);
  ep_array_free(&a);
  return st;
}

static ep_status read_kernel(ep_model *out, ep_npz *file, const char *path, ep_precision prec) {
  EP_TRY(read_matrix(&out->X, file, "X", path, prec));
  EP_TRY(read_matrix(&out->Y, file, "Y", path, prec));
  if (ep_npz_has(file, "Y0")) EP_TRY(read_matrix(&out->Y0, file, "Y0", path, prec));
  EP_CHECK(out->X.rows == out->Y.rows &&
               (!out->Y0.data || (out->Y0.rows == out->X.rows && out->Y0.cols == out->Y.cols)),
           EP_ERR_SHAPE, "%s: X and Y have different numbers of rows", path);
  return EP_OK;
}

/* F, theta, W of a model of patches */
static ep_status read_patches(ep_model *out, ep_npz *file, const char *path, ep_precision prec) {
  ep_patches *p = &out->patches;
  int c, h, w;
  json_int_t size, grid;
  EP_CHECK(json_unpack(out->config, "{s:[i,i,i], s:I, s:I}", "image_shape", &c, &h, &w,
                       "patch_size", &size, "patch_grid", &grid) == 0 &&
               c > 0 && h > 0 && w > 0 && c < 10000 && h < 100000 && w < 100000 && size > 0 &&
               size < 100000 && grid > 0 && grid < 100000,
           EP_ERR_INPUT, "%s: its config does not say what its patches are", path);
  p->shape = (ep_image_shape){c, h, w};
  p->size = size;
  p->grid = grid;
  EP_TRY(read_matrix(&p->F, file, "F", path, prec));
  EP_TRY(read_matrix(&p->theta, file, "theta", path, prec));
  EP_TRY(read_matrix(&out->W, file, "W", path, prec));
  p->filters = p->F.rows;
  EP_CHECK(p->theta.rows == 1 && p->theta.cols == p->filters && p->F.cols == c * size * size &&
               out->W.rows == p->filters * grid * grid && size + grid - 1 <= (h < w ? h : w),
           EP_ERR_SHAPE, "%s: F, theta and W do not fit together", path);
  return EP_OK;
}

static ep_status read_all(ep_model *out, ep_setup *setup, ep_npz *file, const char *path,
                          ep_precision prec) {
  ep_net_shape shape = {.input_scale = 1};
  EP_TRY(read_config(out, setup, file, path));
  EP_TRY(read_psi(out, setup));
  EP_TRY(ep_activation_parse(&shape.phi, setup->net.activation));
  if (ep_npz_has(file, "Y")) EP_TRY(read_kernel(out, file, path, prec));
  if (ep_npz_has(file, "offset"))
    EP_TRY(read_matrix(&out->offset, file, "offset", path, EP_DOUBLE));
  if (ep_npz_has(file, "F")) EP_TRY(read_patches(out, file, path, prec));
  else if (ep_npz_has(file, "W") || !out->Y.data)
    EP_TRY(ep_net_read(&out->net, file, path, "", &shape, prec));
  if (ep_npz_has(file, "dW")) EP_TRY(ep_net_read(&out->change, file, path, "d", &shape, prec));
  const double scale = setup->net.input_scale ? 1 / sqrt((double)ep_model_inputs(out)) : 1;
  out->net.shape.input_scale = out->change.shape.input_scale = scale;
  out->analytic = (ep_analytic){shape.phi, (int)setup->net.depth, scale, setup->analytic};
  out->infinite =
      strcmp(setup->fit.method, "kernel") == 0 && strcmp(setup->fit.kernel, "analytic") == 0;
  EP_CHECK(
      !out->offset.data || (out->offset.rows == 1 && out->offset.cols == ep_model_outputs(out)),
      EP_ERR_SHAPE, "%s: its offset does not fit its outputs", path);
  EP_CHECK(!out->Y.data || out->infinite || out->kappa || out->net.theta.data, EP_ERR_INPUT,
           "%s: a model of X and Y needs V and W too, or a config that says the kernel is analytic",
           path);
  EP_CHECK(!out->change.theta.data || out->change.theta.cols == out->net.theta.cols, EP_ERR_SHAPE,
           "%s: the weights and their changes have different shapes", path);
  EP_CHECK(!out->Y.data || !out->net.theta.data ||
               (out->X.cols == out->net.shape.inputs && out->Y.cols == out->net.shape.outputs),
           EP_ERR_SHAPE, "%s: X and Y do not fit its network", path);
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

/* ---- embedding */

/* E = f(X) at the weights, or W'psi(X) */
static ep_status network(const ep_mat *E, const ep_model *m, const ep_mat *X, double memory) {
  ep_stream *stream;
  EP_TRY(ep_stream_new(&stream, X, &m->net.shape, 1, EP_PASS_FORWARD, memory));
  const ep_status st =
      m->normalise && m->psi.cosine ? ep_stream_normalise(stream, m->psi.delta) : EP_OK;
  if (!st) ep_stream_forward(E, stream, &m->net);
  ep_stream_free(stream);
  return st;
}

/* E = M^{-1/2} phi(X) W, or psi(X) W, phi of patches */
static ep_status patches(const ep_mat *E, const ep_model *m, const ep_mat *X, double memory) {
  const double row = (double)ep_sizeof(X->prec) * (double)m->W.rows, rows = memory / row;
  const ptrdiff_t block = rows > 1024 ? 1024 : rows > 1 ? (ptrdiff_t)rows : 1;
  ep_patches borrowed = m->patches;
  ep_features map;
  ep_mat H;
  EP_TRY(ep_features_from_filters(&map, &borrowed,
                                  (ep_psi){m->normalise && m->psi.cosine, m->psi.delta}));
  ep_status st = ep_mat_new(&H, X->prec, block < X->rows ? block : X->rows, m->W.rows);
  for (ptrdiff_t i = 0; !st && i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), h = ep_mat_rows(&H, 0, n), e = ep_mat_rows(E, i, n);
    st = ep_features_map(&h, &map, &x);
    if (!st) ep_mat_mul(&e, 1, &h, EP_N, &m->W, EP_N, 0);
  }
  ep_mat_free(&H);
  return st;
}

/* E += J(X) change */
static ep_status tangent(const ep_mat *E, const ep_net *net, const ep_net *change, const ep_mat *X,
                         double memory) {
  ep_mat dE;
  EP_TRY(ep_mat_new(&dE, E->prec, E->rows, E->cols));
  const ep_status st = ep_ntk_push(&dE, net, X, change, memory);
  if (!st) ep_mat_axpy(E, 1, &dE);
  ep_mat_free(&dE);
  return st;
}

/* E += K(X, X_p) Y, a block of rows at a time; in double, since coefficients of nearby points are large and cancel */
typedef enum { NTK, NNGP, KAPPA } kernel_of;
static ep_status kernel_rows(const ep_mat *K, const ep_model *m, kernel_of which, const ep_mat *X) {
  if (which == KAPPA) return ep_kappa(K, &m->analytic, m->psi, X, &m->X);
  return ep_analytic_kernel(K, &m->analytic, which == NTK ? EP_NTK : EP_NNGP, X, &m->X);
}

static ep_status analytic_rows(ep_work *work, const ep_mat *E, const ep_model *m, kernel_of which,
                               const ep_mat *Y, const ep_mat *X, double memory) {
  enum { BLOCK = 256 };
  const double row = 2 * (double)m->X.rows * sizeof(double), rows = memory / row;
  const ptrdiff_t block = rows > BLOCK ? BLOCK : rows > 1 ? (ptrdiff_t)rows : 1;
  ep_mat K, C, S;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, block, m->X.rows));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, Y->rows, Y->cols));
  EP_TRY(ep_work_mat(work, &S, EP_DOUBLE, block, Y->cols));
  ep_mat_copy(&C, Y);
  for (ptrdiff_t i = 0; i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), e = ep_mat_rows(E, i, n), k = ep_mat_rows(&K, 0, n);
    const ep_mat s = ep_mat_rows(&S, 0, n);
    EP_TRY(kernel_rows(&k, m, which, &x));
    ep_mat_copy(&s, &e);
    ep_mat_mul(&s, 1, &k, EP_N, &C, EP_N, 1);
    ep_mat_copy(&e, &s);
  }
  return EP_OK;
}

static ep_status analytic(const ep_mat *E, const ep_model *m, kernel_of which, const ep_mat *Y,
                          const ep_mat *X, double memory) {
  ep_work work = {0};
  const ep_status st = analytic_rows(&work, E, m, which, Y, X, memory);
  ep_work_free(&work);
  return st;
}

/* `change`: what the weights have moved by, NULL for none */
static ep_status embed_rows(const ep_mat *E, const ep_model *m, const ep_net *change,
                            const ep_mat *X, double memory) {
  if (m->patches.F.data) EP_TRY(patches(E, m, X, memory));
  else if (m->net.theta.data) EP_TRY(network(E, m, X, memory));
  else ep_mat_fill(E, 0);
  if (change) EP_TRY(tangent(E, &m->net, change, X, memory));
  if (m->Y.data && m->kappa) EP_TRY(analytic(E, m, KAPPA, &m->Y, X, memory));
  if (m->Y.data && m->infinite) EP_TRY(analytic(E, m, NTK, &m->Y, X, memory));
  if (m->Y0.data) EP_TRY(analytic(E, m, NNGP, &m->Y0, X, memory));
  for (ptrdiff_t i = 0; m->offset.data && i < E->rows; i++)
    for (ptrdiff_t k = 0; k < E->cols; k++)
      ep_set(E, i, k, ep_get(E, i, k) - *ep_d(&m->offset, 0, k));
  return EP_OK;
}

/* so many rows at a time that there is something to tell */
static ep_status embed_all(const ep_mat *E, const ep_model *m, const ep_net *change,
                           const ep_mat *X, double memory) {
  enum { ROWS = 4096 };
  for (ptrdiff_t i = 0; i < X->rows; i += ROWS) {
    const ptrdiff_t n = X->rows - i < ROWS ? X->rows - i : ROWS;
    const ep_mat e = ep_mat_rows(E, i, n), x = ep_mat_rows(X, i, n);
    EP_TRY(ep_watch_step("points", (double)i, (double)X->rows));
    EP_TRY(embed_rows(&e, m, change, &x, memory));
  }
  EP_CHECK(isfinite(ep_mat_max(E)), EP_ERR_NUMERIC,
           "outputs of the model are not finite: the data are too large for it");
  return EP_OK;
}

ep_status ep_model_embed(const ep_mat *E, const ep_model *m, const ep_mat *X, double memory) {
  EP_CHECK(X->cols == ep_model_inputs(m), EP_ERR_SHAPE,
           "the model takes points of dimension %td, the data have %td", ep_model_inputs(m),
           X->cols);
  if (!m->Y.data || m->infinite || m->kappa)
    return embed_all(E, m, m->change.theta.data ? &m->change : NULL, X, memory);
  ep_net change; /* frozen kernel: sum_p K(x, x_p) y_p = J(x) J(X_p)'Y, without the kernel */
  EP_TRY(ep_net_new(&change, &m->net.shape, m->net.theta.prec));
  ep_status st = ep_ntk_pull(&change, &m->net, &m->X, &m->Y, memory);
  if (!st) st = embed_all(E, m, &change, X, memory);
  ep_net_free(&change);
  return st;
}
