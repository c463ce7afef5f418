#pragma once
#include "../../../include/eigenpair/probe.h"

const char *ep_probe_name(int i); /* linear, svm, knn, ridge; NULL past the last */
const char *ep_standardise_name(int i);
