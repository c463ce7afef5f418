#pragma once
#include "objective/similarity.h"

/* l(s_1..s_Q) of one anchor's similarities, and ds_q = dl/ds_q; signs +1 come first. */
typedef double ep_pair_loss(double *ds, const double *s, const signed char *sign, ptrdiff_t count,
                            const ep_objective_config *config);
/* L of the two views A, B (N x Z each), and dA, dB. */
typedef ep_status ep_view_loss(double *loss, ep_work *work, const ep_mat *dA, const ep_mat *dB,
                               const ep_mat *A, const ep_mat *B, const ep_objective_config *config);

/* One of `pair` and `view` is set. */
struct ep_loss {
  const char *name, *help;
  ep_pair_loss *pair;
  ep_view_loss *view;
  int similarity;       /* the one it is defined with */
  bool other;           /* it can take the other one too */
  bool needs_negatives; /* of the pairs */
  bool positives_only;  /* negatives make no sense */
  bool every_view;      /* both views are anchors, all other views negatives (NT-Xent) */
  double slope;         /* sup |dl/ds_q| for |s| <= 1; of a function of s/tau, times tau */
  bool tempered;        /* a function of s/tau */
  bool trace;   /* of C, so that PCA of C is its optimum and a linear model's dynamics are known */
  bool whitens; /* its closed form is method whitened */
  const char *options; /* of the objective's, those that it looks at and not all do; NULL: none */
};

/* The table: the loss NAME is ep_loss_FUNCTION, of one anchor's similarities (pair) or of two views (view), and what else its
 * row says. A function that several losses share is in several rows. */
#define EP_LOSSES(X)                                                                            \
  X(linear, pair, linear, "- sum a s", .slope = 1, .similarity = EP_SIMILARITY_COSINE,          \
    .other = true, .trace = true)                                                               \
  X(softmax, pair, softmax, "InfoNCE", .slope = 1, .tempered = true,                            \
    .similarity = EP_SIMILARITY_COSINE, .other = true, .needs_negatives = true,                 \
    .options = "temperature epsilon")                                                           \
  X(ntxent, pair, softmax, "SimCLR: InfoNCE over all views", .slope = 1, .tempered = true,      \
    .similarity = EP_SIMILARITY_COSINE, .every_view = true, .options = "temperature")           \
  X(spectral, pair, spectral, "- 2 s(+) + s(-)^2", .slope = 2, .similarity = EP_SIMILARITY_DOT, \
    .other = true, .needs_negatives = true, .whitens = true)                                    \
  X(barlow, view, barlow, "Barlow Twins", .similarity = EP_SIMILARITY_DOT, .whitens = true,     \
    .options = "off_diagonal")                                                                  \
  X(vicreg, view, vicreg, "VICReg", .similarity = EP_SIMILARITY_DOT, .whitens = true,           \
    .options = "invariance variance covariance")                                                \
  X(noncontrastive, pair, linear, "- sum s over positives", .slope = 1,                         \
    .similarity = EP_SIMILARITY_COSINE, .other = true, .positives_only = true, .trace = true)

#define X(name, of, function, ...) ep_##of##_loss ep_loss_##function;
EP_LOSSES(X)
#undef X
