#pragma once
/* Feature maps x -> psi(x) in R^M, what the closed forms build on; the methods do not know which they got.
 *
 *   dense      phi = h_L(x), the last hidden layer of a network of any depth
 *   patches    phi = relu(filter . patch - theta), averaged over a g x g grid of the places of an image; M = K g^2
 *   landmarks  psi = L^{-1} kappa(X_L, x), kappa(X_L, X_L) = LL': a kernel of infinite width seen from some points
 *
 * psi = phi / (|phi| + sqrt(M) delta) (cosine) or M^{-1/2} phi (dot). Theory: section 6. */
#include <eigenpair/analytic.h>
#include <eigenpair/augment.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>

const char *ep_features_name(int i); /* dense, patches */
const char *ep_filters_name(int i);  /* data, gaussian */

#define EP_FEATURE_OPTIONS(X, S)                                                              \
  X(S, NAME, features, "dense", 0, 1, ep_features_name,                                       \
    "closed forms: dense (a random network), or patches[:K[,p[,g]]] of images: K filters of " \
    "p x p pixels, averaged over a g x g grid")                                               \
  X(S, NAME, filters, "data", 0, 0, ep_filters_name,                                          \
    "patches: drawn from the data's own patches, contrast-normalised, or Gaussian")
typedef struct {
  EP_FEATURE_OPTIONS(EP_OPT_FIELD, )
} ep_feature_config;
extern const ep_option ep_feature_options[];

/* How phi becomes psi; also how a kernel becomes kappa(x, y) = psi(x)'psi(y). */
typedef struct {
  bool cosine;
  double delta;
} ep_psi;

ep_psi ep_psi_of(const ep_objective *objective); /* the similarity that the objective uses */

typedef struct {
  ep_image_shape shape;
  ptrdiff_t filters, size, grid; /* K, p, g */
  ep_mat F;                      /* (K, channels p^2), owned */
  ep_mat theta;                  /* (1, K), owned */
} ep_patches;

typedef struct {
  ep_analytic kernel;
  ep_mat X; /* (r, D), owned */
  ep_mat L; /* (r, r) lower triangular, double, owned */
} ep_landmarks;

typedef struct ep_feature_kind ep_feature_kind; /* a row of the table in features.c */
typedef struct {
  const ep_feature_kind *kind;
  ptrdiff_t inputs, count; /* D, M */
  ep_psi psi;
  const ep_net *net; /* dense: borrowed, only its V are used */
  ep_patches patches;
  ep_landmarks landmarks;
} ep_features;

/* Which map do the options name? */
bool ep_features_are_patches(const ep_feature_config *config);
ep_features ep_features_dense(const ep_net *net, ep_psi psi);
/* Filters and thresholds drawn from X with the seed. */
ep_status ep_features_patches(ep_features *out, const ep_feature_config *config, const ep_mat *X,
                              ep_image_shape shape, ep_psi psi, uint64_t seed);
/* The same from filters that are there already; takes F and theta over. */
ep_status ep_features_from_filters(ep_features *out, ep_patches *patches, ep_psi psi);
/* From candidates X (n x D): those that the others do not determine, by pivoted Cholesky. */
ep_status ep_features_landmarks(ep_features *out, const ep_analytic *kernel, const ep_mat *X,
                                ep_psi psi);
void ep_features_free(ep_features *f);

/* Psi (n x M) = psi(x_i), rows of X (n x D); Psi and X of one precision. Scratch is a few numbers a point, but for
 * depth > 1 (another Psi) and landmarks (n x r in double). */
ep_status ep_features_map(const ep_mat *Psi, const ep_features *f, const ep_mat *X);
double ep_features_flops(const ep_features *f);                      /* a point */
double ep_features_scratch(const ep_features *f, ep_precision prec); /* bytes a point, beside Psi */

/* K (n x n2, double) = kappa(x_i, y_j) = L(x, y) / ((sqrt L(x, x) + delta) (sqrt L(y, y) + delta)), L the NNGP kernel
 * (dot: L itself); Y NULL: X. */
ep_status ep_kappa(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                   const ep_mat *Y);
