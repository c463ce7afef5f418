#pragma once
/* --ridge auto and --outputs auto of method whitened. */
#include "method/sum.h"

typedef struct {
  double ridge; /* share of the mean eigenvalue */
  ptrdiff_t outputs;
} ep_choice;

bool ep_choice_open(const ep_setup *setup); /* is there anything to choose? */
double ep_choice_bytes(ptrdiff_t features); /* beside the sums of the fit */
/* The anchors in two parts; both sums begin as zeros. */
ep_status ep_choice_sums(ep_sum *fit, ep_sum *held, const ep_map *map, const ep_points *points);
/* Says in `info` what was tried. Neither sum is lost: of `held` the lower triangles are filled in. */
ep_status ep_choice_make(ep_choice *out, ep_fit_info *info, const ep_sum *fit, const ep_sum *held,
                         const ep_setup *setup);

/* ---- whitened.c: C <- A, B <- B, psi <- mean, all centred; B <- Cholesky factor of B + ridge I */
void ep_whitened_centre(const ep_sum *sum);
ep_status ep_whitened_ridge(const ep_mat *B, double *ridge, double share);
