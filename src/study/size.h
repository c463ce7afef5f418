#pragma once
/* What drifts are measured against. */
#include <eigenpair/method.h>

/* |C|_F of the model's features at the points. */
ep_status ep_covariance_size(double *size, const ep_model *model, const ep_points *points);
