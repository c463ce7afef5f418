#pragma once
/* One function a method; the table is in method.c. */
#include <eigenpair/method.h>

/* Adds the terms of the model; its config and `unit` are there already. */
typedef ep_status ep_method(ep_model *model, ep_fit_info *info, const ep_points *points,
                            const ep_setup *setup);
ep_method ep_fit_alpha, ep_fit_gd, ep_fit_kernel, ep_fit_linearised, ep_fit_linear;
ep_method ep_fit_grassmann, ep_fit_iterate, ep_fit_pca, ep_fit_infinite, ep_fit_whitened;
