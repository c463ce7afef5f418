#pragma once
/* The rows of the table of feature maps. */
#include "core/real.h"

#include <eigenpair/features.h>

/* ---- patches.c: out->shape is given */
ep_status ep_patches_draw(ep_patches *out, const ep_feature_config *config, const ep_mat *X,
                          uint64_t seed);
ep_status ep_patches_check(const ep_patches *p);
ep_status ep_patches_map(const ep_mat *Phi, const ep_features *f, const ep_mat *X);
double ep_patches_flops(const ep_features *f);
double ep_patches_scratch(const ep_features *f, ep_precision prec);

/* ---- patches_real.c: one image (1 x D) -> its K g^2 numbers; scratch for one band of places: `columns` of channels p^2
 * numbers each, `responses` of K */
EP_REAL_FN(void, ep_patches_image, const ep_mat *phi, const ep_patches *p, const ep_mat *image,
           const ep_mat *columns, const ep_mat *responses);

/* ---- landmarks.c */
ep_status ep_landmarks_choose(ep_landmarks *out, const ep_analytic *kernel, const ep_mat *X,
                              ep_psi psi);
ep_status ep_landmarks_map(const ep_mat *Psi, const ep_features *f, const ep_mat *X);
double ep_landmarks_flops(const ep_features *f);
double ep_landmarks_scratch(const ep_features *f, ep_precision prec);
