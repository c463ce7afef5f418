/* The table of maps, and what all of them share. */
#include "map/map.h"

#include "core/crew.h"
#include "core/mem.h"
#include "core/threads.h"

#include <math.h>
#include <string.h>

const ep_option ep_feature_options[] = {EP_FEATURE_OPTIONS(EP_OPT_ROW, ep_feature_config){0}};

static const ep_map_kind *const kinds[] = {
#define X(name) &ep_map_##name,
    EP_MAPS(X)
#undef X
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const ep_map_kind *ep_map_kind_of(const char *name) {
  for (int i = 0; i < KINDS; i++)
    if (strcmp(kinds[i]->name, name) == 0) return kinds[i];
  return NULL;
}

/* ---- choices of --features */

static const ep_map_kind *choice(int i) {
  for (int k = 0; k < KINDS; k++)
    if (kinds[k]->help && i-- == 0) return kinds[k];
  return NULL;
}

/* a random network goes by the name of its layers there */
const char *ep_features_name(int i) {
  const ep_map_kind *kind = choice(i);
  if (!kind && i > 0 && choice(i - 1)) return ep_auto_name(0);
  return !kind ? NULL : kind == &ep_map_network ? "dense" : kind->name;
}

const char *ep_filters_name(int i) {
  static const char *const names[] = {"data", "gaussian", NULL};
  return names[i];
}

ep_psi ep_psi_of(const ep_objective *o) {
  return (ep_psi){ep_objective_is_cosine(o), o->config.delta};
}

static ep_status chosen(const ep_map_kind **out, const ep_feature_config *config) {
  int which = 0;
  EP_TRY(ep_options_name(&which, NULL, "--features", config->features, ep_features_name));
  *out = choice(which);
  EP_CHECK(*out, EP_ERR_ARG, "--features auto goes with a fit by method whitened");
  return EP_OK;
}

bool ep_features_are_open(const ep_feature_config *config) {
  return strcmp(config->features, ep_auto_name(0)) == 0;
}

bool ep_features_are_network(const ep_feature_config *config) {
  const ep_map_kind *kind = NULL;
  return chosen(&kind, config) == EP_OK && kind == &ep_map_network;
}

bool ep_features_have_filters(const ep_feature_config *config) {
  const ep_map_kind *kind = NULL;
  return chosen(&kind, config) == EP_OK && kind->filters;
}

ep_status ep_map_make(ep_map **out, const ep_map_plan *plan) {
  const ep_map_kind *kind;
  *out = NULL;
  EP_TRY(chosen(&kind, plan->feature));
  return kind->make(out, plan);
}

/* ---- maps */

ep_status ep_map_new(ep_map **out, size_t size, const ep_map_kind *kind, ptrdiff_t inputs,
                     ptrdiff_t count, ep_psi psi) {
  ep_map *map = ep_alloc(1, size);
  *out = map;
  EP_CHECK(map, EP_ERR_NOMEM, "no memory for a map");
  *map = (ep_map){.kind = kind, .inputs = inputs, .count = count, .psi = psi};
  return EP_OK;
}

void ep_map_free(ep_map *map) {
  if (!map) return;
  if (map->kind->free) map->kind->free(map);
  ep_release(map);
}

double ep_map_flops(const ep_map *map) { return map->kind->flops(map); }
double ep_map_scratch(const ep_map *map, ep_precision prec) {
  return map->kind->scratch(map, prec) + 64;
}

typedef struct {
  const ep_mat *Psi;
  ep_psi psi;
} scale_loop;

/* psi = phi / (|phi| + sqrt(M) delta), or M^{-1/2} phi */
static void scale_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *Psi = ((scale_loop *)of)->Psi;
  const ep_psi psi = ((scale_loop *)of)->psi;
  const double root = sqrt((double)Psi->cols);
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat row = ep_mat_rows(Psi, i, 1);
    const double norm = psi.cosine ? sqrt(ep_mat_norm2(&row)) + root * psi.delta : root;
    if (Psi->prec == EP_SINGLE)
      for (ptrdiff_t j = 0; j < Psi->cols; j++) *ep_s(Psi, i, j) *= (float)(1 / norm);
    else
      for (ptrdiff_t j = 0; j < Psi->cols; j++) *ep_d(Psi, i, j) /= norm;
  }
}

ep_status ep_map_rows(const ep_mat *Psi, const ep_map *map, const ep_mat *X) {
  EP_CHECK(X->cols == map->inputs && Psi->cols == map->count && Psi->rows == X->rows, EP_ERR_SHAPE,
           "the features take points of dimension %td, the data have %td", map->inputs, X->cols);
  EP_TRY(map->kind->rows(Psi, map, X));
  if (map->kind->scaled) ep_crew_rows(Psi, scale_rows, &(scale_loop){Psi, map->psi});
  return EP_OK;
}

/* ---- terms */

void ep_term_free(ep_term *term) {
  ep_map_free(term->map);
  ep_mat_free(&term->C);
  *term = (ep_term){0};
}

/* rows of psi, a block at a time, times C */
static ep_status by_rows(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory) {
  enum { BLOCK = 1024 };
  const ep_map *map = term->map;
  const double row = (double)ep_sizeof(X->prec) * (double)map->count + ep_map_scratch(map, X->prec);
  const double fit = memory / row;
  const ptrdiff_t block = fit > BLOCK ? BLOCK : fit > 1 ? (ptrdiff_t)fit : 1;
  ep_mat H;
  ep_status st = ep_mat_new(&H, X->prec, block < X->rows ? block : X->rows, map->count);
  for (ptrdiff_t i = 0; !st && i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), h = ep_mat_rows(&H, 0, n), e = ep_mat_rows(E, i, n);
    st = ep_map_rows(&h, map, &x);
    if (!st) ep_mat_mul(&e, 1, &h, EP_N, &term->C, EP_N, 1);
  }
  ep_mat_free(&H);
  return st;
}

ep_status ep_term_apply(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory) {
  const ep_map_kind *kind = term->map->kind;
  return (kind->apply ? kind->apply : by_rows)(E, term, X, memory);
}

ep_status ep_term_of_weights(ep_term *out, ep_map *map, const ep_mat *W, ep_precision prec) {
  *out = (ep_term){.map = map, .outputs = W->cols};
  EP_TRY(ep_mat_new(&out->C, prec, W->rows, W->cols));
  ep_mat_copy(&out->C, W);
  return EP_OK;
}

double ep_term_input_scale(const ep_term_source *from, ptrdiff_t inputs) {
  return from->input_scale ? 1 / sqrt((double)inputs) : 1;
}

ep_status ep_term_matrix(ep_mat *to, const ep_term_source *from, const char *name) {
  ep_array a = {0};
  char place[1200];
  snprintf(place, sizeof place, "%s:%s", from->path, name);
  ep_status st = ep_npz_get(&a, from->file, name);
  if (!st && a.ndim != 2) st = EP_FAIL(EP_ERR_SHAPE, "%s: is not a matrix", place);
  if (!st) st = ep_array_to_matrix(to, &a, NULL, a.shape[0], 1, from->prec, place);
  ep_array_free(&a);
  return st;
}
