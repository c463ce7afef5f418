#pragma once
/* What the closed forms build on: options of feature maps, and how features become a similarity. Theory: section 6. */
#include <eigenpair/closed.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/analytic.h>
#include <eigenpair/augment.h>

const char *ep_features_name(int i); /* dense, patches, .. */
const char *ep_filters_name(int i);  /* data, gaussian */

extern const ep_option ep_feature_options[];

/* How phi becomes psi; also how a kernel becomes kappa(x, y) = psi(x)'psi(y). */
typedef struct {
  bool cosine;
  double delta;
} ep_psi;

ep_psi ep_psi_of(const ep_objective *objective); /* the similarity that the objective uses */

/* Are they left to the program (auto)? */
bool ep_features_are_open(const ep_feature_config *config);
/* Is a share of active responses left open (stack:..,active=auto)? Then the next: the text with this one in its place. */
bool ep_features_share_open(const ep_feature_config *config);
void ep_features_set_share(ep_feature_config *config, const char *open, double share);
/* Are they those of a network, which has weights to be trained? */
bool ep_features_are_network(const ep_feature_config *config);
/* Does --filters speak to them? */
bool ep_features_have_filters(const ep_feature_config *config);

/* K (n x n2, double) = kappa(x_i, y_j) = L(x, y) / ((sqrt L(x, x) + delta) (sqrt L(y, y) + delta)), L the NNGP kernel
 * (dot: L itself); Y NULL: X. */
ep_status ep_kappa(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                   const ep_mat *Y);
/* The same against points Y that are met again and again, to the same bits. Empty where they take a large part of the memory, or
 * where the kernel will fail anyway: nothing is gained then, and nothing lost. */
ep_status ep_kappa_ready_new(ep_analytic_ready *out, const ep_analytic *kernel, const ep_mat *Y);
ep_status ep_kappa_ready(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                         const ep_mat *Y, const ep_analytic_ready *r);
