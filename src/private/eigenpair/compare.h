#pragma once
/* May training be replaced, and by what? Several methods, widths and seeds side by side, and a verdict. */
#include <eigenpair/method.h>

#define EP_COMPARE_OPTIONS(X, S)                                                                \
  X(S, TEXT, methods, "gd,kernel,grassmann,pca,infinite,iterate", 0, 0, NULL,                   \
    "methods to compare; the verdict on the kernel needs gd and kernel, that on PCA grassmann " \
    "and pca")                                                                                  \
  X(S, TEXT, widths, "100,300,1000", 0, 0, NULL, "widths M, with commas")                       \
  X(S, INT, runs, "3", 1, 1000, NULL, "runs of each width: seeds --seed, --seed + 1, ..")       \
  X(S, REAL, tolerance, "0.1", 1e-9, 1e3, NULL,                                                 \
    "mean difference of representations, relative to their length, that still passes")          \
  X(S, REAL, rate, "1", 1e-12, 1e12, NULL, "step length eta of gradient descent")               \
  X(S, INT, epochs, "100", 1, 1e9, NULL, "passes over the pairs")                               \
  X(S, INT, iterations, "5", 1, 1e6, NULL, "iterate: PCA and gradient steps")                   \
  X(S, INT, track_points, "20", 1, 1e6, NULL, "points whose tangent kernel is followed")        \
  X(S, TEXT, test, "", 0, 0, NULL,                                                              \
    "data to judge embeddings on (default: the test part of --data, or a fifth of it)")         \
  X(S, TEXT, test_labels, "", 0, 0, NULL, "labels of a file given as --test")                   \
  X(S, INT, test_samples, "1000", 1, 1e9, NULL, "points, or pairs, to judge on")                \
  X(S, REAL, holdout, "0.2", 0, 0.5, NULL,                                                      \
    "ready pairs: share kept back to score on, from 50 pairs on; 0: none")

typedef struct {
  EP_COMPARE_OPTIONS(EP_OPT_FIELD, )
} ep_compare_config;
extern const ep_option ep_compare_options[];
