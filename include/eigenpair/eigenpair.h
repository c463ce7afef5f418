#pragma once
/* eigenpair: positive pairs in, eigenpairs out. Everything, one module a header. */
#include <eigenpair/activation.h>
#include <eigenpair/array.h>
#include <eigenpair/augment.h>
#include <eigenpair/dataset.h>
#include <eigenpair/matrix.h>
#include <eigenpair/method.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/options.h>
#include <eigenpair/packed.h>
#include <eigenpair/pairs.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <eigenpair/status.h>
#include <eigenpair/subspace.h>
#include <eigenpair/synthetic.h>
