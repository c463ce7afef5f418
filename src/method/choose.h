#pragma once
/* --ridge auto and --outputs auto of method whitened. */
#include "method/sum.h"

typedef struct {
  double ridge; /* share of the mean eigenvalue */
  ptrdiff_t outputs;
} ep_choice;

bool ep_choice_open(const ep_setup *setup); /* is there anything to choose? */
/* Outputs at most; bytes beside the sums of the fit, which take `sums`. */
ptrdiff_t ep_choice_outputs(ptrdiff_t features, const ep_setup *setup);
double ep_choice_bytes(double sums, const ep_setup *setup);
/* The anchors in two parts; both sums begin as zeros. */
ep_status ep_choice_sums(ep_sum *fit, ep_sum *held, const ep_map *map, const ep_points *points);
/* Says in `info` what was tried. Neither sum is lost: of `held` the lower triangles are filled in. */
ep_status ep_choice_make(ep_choice *out, ep_fit_info *info, const ep_sum *fit, const ep_sum *held,
                         const ep_setup *setup);

/* ---- whitened.c: W, lambda of A w = lambda (B + ridge I) w, ridge = share of B's mean eigenvalue; the sum is lost: of it
 * psi becomes the mean. */
ep_status ep_whitened_eigenpairs(const ep_mat *W, double *lambda, ep_eigen_info *info,
                                 double *ridge, const ep_sum *sum, double share,
                                 const ep_setup *setup);
