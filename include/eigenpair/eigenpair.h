#pragma once
/* eigenpair: positive pairs in, eigenpairs out. Everything, one room a header. */
#include <eigenpair/array.h>
#include <eigenpair/closed.h>
#include <eigenpair/dataset.h>
#include <eigenpair/kernel.h>
#include <eigenpair/matrix.h>
#include <eigenpair/method.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/options.h>
#include <eigenpair/probe.h>
#include <eigenpair/run.h>
#include <eigenpair/status.h>
#include <eigenpair/sums.h>
#include <eigenpair/theory.h>
