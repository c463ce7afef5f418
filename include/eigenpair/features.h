#pragma once
/* What the closed forms build on: options of feature maps, and how features become a similarity. Theory: section 6. */
#include <eigenpair/analytic.h>
#include <eigenpair/augment.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>

EP_BEGIN

const char *ep_features_name(int i); /* dense, patches, .. */
const char *ep_filters_name(int i);  /* data, gaussian */

#define EP_FEATURE_OPTIONS(X, S)                                                                 \
  X(S, NAME, features, "dense", 0, 1, ep_features_name,                                          \
    "closed forms: dense (a random network); of images patches[:K[,p[,g]]]: K filters of p x p " \
    "pixels, averaged over a g x g grid; stack:KxP[,..]: whitened patches, see "                 \
    "docs/representations.md; auto: a recipe that fits images, --time and --memory")             \
  X(S, TEXT, time, "10m", 0, 0, NULL,                                                            \
    "--features auto: about so long, such as 90s, 10m, 2h; a thread is taken to do 20 Gflop/s")  \
  X(S, NAME, filters, "data", 0, 0, ep_filters_name,                                             \
    "patches: drawn from the data's own patches, contrast-normalised, or Gaussian")
typedef struct {
  EP_FEATURE_OPTIONS(EP_OPT_FIELD, )
} ep_feature_config;
extern const ep_option ep_feature_options[];

enum { EP_DESCRIPTION = 400 }; /* room for a sentence on a map */

/* How phi becomes psi; also how a kernel becomes kappa(x, y) = psi(x)'psi(y). */
typedef struct {
  bool cosine;
  double delta;
} ep_psi;

ep_psi ep_psi_of(const ep_objective *objective); /* the similarity that the objective uses */

/* Are they left to the program (auto)? */
bool ep_features_are_open(const ep_feature_config *config);
/* Are they those of a network, which has weights to be trained? */
bool ep_features_are_network(const ep_feature_config *config);

/* K (n x n2, double) = kappa(x_i, y_j) = L(x, y) / ((sqrt L(x, x) + delta) (sqrt L(y, y) + delta)), L the NNGP kernel
 * (dot: L itself); Y NULL: X. */
ep_status ep_kappa(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                   const ep_mat *Y);

EP_END
