#pragma once
#include "../../../include/eigenpair/probe.h"

const char *ep_probe_name(int i); /* linear, svm, knn, ridge; NULL past the last */
const char *ep_standardise_name(int i);

/* ep_metrics_of points that may not be in memory; labels are not looked at. */
ep_status ep_metrics_read(ep_metrics *out, const ep_labelled *E, const ep_labelled *positives,
                          const ep_metrics_config *config, const ep_run_config *run);
