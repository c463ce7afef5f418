/* The table of feature maps, and what all of them share. */
#include "core/threads.h"
#include "kernel/features.h"

#include <math.h>
#include <string.h>

const ep_option ep_feature_options[] = {EP_FEATURE_OPTIONS(EP_OPT_ROW, ep_feature_config){0}};

/* ---- dense */

static ep_status dense_map(const ep_mat *Psi, const ep_features *f, const ep_mat *X) {
  return ep_net_hidden(Psi, f->net, X);
}

static double dense_flops(const ep_features *f) {
  const double m = (double)f->count;
  return 2 * m * (double)f->inputs + 2 * m * m * (f->net->shape.depth - 1);
}

static double dense_scratch(const ep_features *f, ep_precision prec) {
  const double packed = 2.2 * (double)f->inputs;
  return (double)ep_sizeof(prec) * ((f->net->shape.depth > 1 ? (double)f->count : 0) + packed);
}

/* ---- the table; landmarks are not a choice of --features */

struct ep_feature_kind {
  const char *name;
  ep_status (*map)(const ep_mat *Psi, const ep_features *f, const ep_mat *X);
  double (*flops)(const ep_features *f);
  double (*scratch)(const ep_features *f, ep_precision prec);
  bool scaled; /* map gives phi: psi is still to be made */
};
static const ep_feature_kind kinds[] = {
    {"dense", dense_map, dense_flops, dense_scratch, true},
    {"patches", ep_patches_map, ep_patches_flops, ep_patches_scratch, true},
    {"landmarks", ep_landmarks_map, ep_landmarks_flops, ep_landmarks_scratch, false},
};
enum { DENSE, PATCHES, LANDMARKS };

const char *ep_features_name(int i) { return i < LANDMARKS ? kinds[i].name : NULL; }
const char *ep_filters_name(int i) {
  static const char *const names[] = {"data", "gaussian", NULL};
  return names[i];
}

ep_psi ep_psi_of(const ep_objective *o) {
  return (ep_psi){strcmp(ep_objective_similarity(o), "cosine") == 0, o->config.delta};
}

bool ep_features_are_patches(const ep_feature_config *config) {
  return strncmp(config->features, "patches", 7) == 0;
}

ep_features ep_features_dense(const ep_net *net, ep_psi psi) {
  return (ep_features){.kind = &kinds[DENSE],
                       .inputs = net->shape.inputs,
                       .count = net->shape.width,
                       .psi = psi,
                       .net = net};
}

ep_status ep_features_patches(ep_features *out, const ep_feature_config *config, const ep_mat *X,
                              ep_image_shape shape, ep_psi psi, uint64_t seed) {
  ep_patches patches = {.shape = shape};
  EP_TRY(ep_patches_draw(&patches, config, X, seed));
  return ep_features_from_filters(out, &patches, psi);
}

ep_status ep_features_from_filters(ep_features *out, ep_patches *p, ep_psi psi) {
  *out = (ep_features){.kind = &kinds[PATCHES],
                       .inputs = (ptrdiff_t)p->shape.channels * p->shape.height * p->shape.width,
                       .count = p->filters * p->grid * p->grid,
                       .psi = psi,
                       .patches = *p};
  *p = (ep_patches){0};
  const ep_status st = ep_patches_check(&out->patches);
  if (st) ep_features_free(out);
  return st;
}

ep_status ep_features_landmarks(ep_features *out, const ep_analytic *kernel, const ep_mat *X,
                                ep_psi psi) {
  *out = (ep_features){.kind = &kinds[LANDMARKS], .inputs = X->cols, .psi = psi};
  const ep_status st = ep_landmarks_choose(&out->landmarks, kernel, X, psi);
  out->count = out->landmarks.X.rows;
  if (st) ep_features_free(out);
  return st;
}

void ep_features_free(ep_features *f) {
  ep_mat_free(&f->patches.F);
  ep_mat_free(&f->patches.theta);
  ep_mat_free(&f->landmarks.X);
  ep_mat_free(&f->landmarks.L);
}

double ep_features_flops(const ep_features *f) { return f->kind->flops(f); }
double ep_features_scratch(const ep_features *f, ep_precision prec) {
  return f->kind->scratch(f, prec) + 64;
}

/* psi = phi / (|phi| + sqrt(M) delta), or M^{-1/2} phi */
static void scale_rows(const ep_mat *Psi, ep_psi psi) {
  const double root = sqrt((double)Psi->cols);
#pragma omp parallel for schedule(static) if (ep_worth_entries(Psi))
  for (ptrdiff_t i = 0; i < Psi->rows; i++) {
    const ep_mat row = ep_mat_rows(Psi, i, 1);
    const double norm = psi.cosine ? sqrt(ep_mat_norm2(&row)) + root * psi.delta : root;
    if (Psi->prec == EP_SINGLE)
      for (ptrdiff_t j = 0; j < Psi->cols; j++) *ep_s(Psi, i, j) *= (float)(1 / norm);
    else
      for (ptrdiff_t j = 0; j < Psi->cols; j++) *ep_d(Psi, i, j) /= norm;
  }
}

ep_status ep_features_map(const ep_mat *Psi, const ep_features *f, const ep_mat *X) {
  EP_CHECK(X->cols == f->inputs && Psi->cols == f->count && Psi->rows == X->rows, EP_ERR_SHAPE,
           "the features take points of dimension %td, the data have %td", f->inputs, X->cols);
  EP_TRY(f->kind->map(Psi, f, X));
  if (f->kind->scaled) scale_rows(Psi, f->psi);
  return EP_OK;
}
