#pragma once
/* One file and one row here a method. */
#include "map/map.h"

#include <eigenpair/method.h>

/* Adds the terms of the model; its config and `unit` are there already. */
typedef ep_status ep_method(ep_model *model, ep_fit_info *info, const ep_points *points,
                            const ep_setup *setup);

/* The table: ep_fit_NAME in NAME.c, and all that anyone asks of a method (ep_method_row). */
#define EP_METHODS(X)                                                                             \
  X(gd, "gradient descent on the whole network", .batches = true, .streams = true, .plain = true, \
    .theory = EP_THEORY_KERNEL, .track = "ntk", .chosen = EP_CHOSEN_TO_TRAIN)                     \
  X(alpha, "ascent of the contrastive covariance tr C_alpha[f] (--weights)", .batches = true,     \
    .views = true, .own_loss = true, .weights = true, .streams = true,                            \
    .options = "weights alpha rows")                                                              \
  X(kernel, "the same descent with the tangent kernel frozen (--kernel empirical or analytic)",   \
    .stands_for = "gd", .tangent = true, .both_kernels = true, .theory = EP_THEORY_KERNEL,        \
    .options = "kernel integrator")                                                               \
  X(linearised, "gradient descent on the network's first-order Taylor model", .stands_for = "gd") \
  X(grassmann, "gradient descent on V and W with W'W = I", .rotated = true, .orthogonal = true,   \
    .theory = EP_THEORY_PCA, .track = "c,weights", .options = "retraction frozen norms")          \
  X(iterate, "PCA for W, one gradient step for V, repeated", .stands_for = "grassmann",           \
    .rotated = true, .orthogonal = true, .few_steps = true, .options = "path")                    \
  X(pca, "PCA of C at the random start: no training", .closed = true, .streams = true,            \
    .map = ep_pca_map, .stands_for = "grassmann", .rotated = true, .theory = EP_THEORY_PCA,       \
    .options = "features path")                                                                   \
  X(infinite, "the same at infinite width", .closed = true, .streams = true, .rotated = true,     \
    .no_width = true, .options = "path", .chosen = EP_CHOSEN_FOR_NEGATIVES)                       \
  X(whitened, "generalised eigenproblem of views: closed form of Barlow Twins, VICReg, spectral", \
    .views = true, .closed = true, .own_loss = true, .streams = true, .map = ep_whitened_map,     \
    .rotated = true, .always = true, .options = "features kernel ridge power solver",             \
    .chosen = EP_CHOSEN_FOR_POSITIVES, .recipe = true)                                            \
  X(linear, "linear model by its learning-dynamics equation, for the time rate x epochs",         \
    .own_loss = true, .no_network = true, .options = "flow_tolerance")

#define X(name, ...) ep_method ep_fit_##name;
EP_METHODS(X)
#undef X

/* The map of the features that a method sums over anchors. */
typedef ep_status ep_method_map(ep_map **map, const ep_net *start, const ep_points *points,
                                const ep_setup *setup);
ep_method_map ep_pca_map, ep_whitened_map;

/* What the theory says may take the place of training: its kernel, frozen, or PCA of C(0). */
typedef enum { EP_NO_THEORY, EP_THEORY_KERNEL, EP_THEORY_PCA, EP_THEORIES } ep_theory;

/* What --method auto takes it for. */
typedef enum {
  EP_NOT_CHOSEN,
  EP_CHOSEN_TO_TRAIN,
  EP_CHOSEN_FOR_NEGATIVES,
  EP_CHOSEN_FOR_POSITIVES
} ep_chosen;

/* A row of the table. */
typedef struct {
  const char *name, *help;
  ep_method *fit;
  bool batches;    /* --batch means something to it */
  bool views;      /* it takes views of a point: positives only, unless --pairs says otherwise */
  bool closed;     /* no epochs: nothing to save on the way, nothing to track */
  bool weights;    /* --weights in the place of a loss */
  bool own_loss;   /* not the objective's */
  bool no_network; /* its model has no hidden layer */
  const char *options; /* what is for it and not for every method; NULL: nothing */
  bool plain; /* every step is the gradient of the whole network: what bounds on training are of */
  bool orthogonal; /* W'W = I throughout */
  bool tangent;    /* descent by a tangent kernel */
  ep_method_map *
      map; /* it is a sum over anchors, B and C of these features (views) or C alone; NULL: it is none */
  ep_chosen chosen;
  bool recipe;  /* --outputs and --ridge auto; --features auto fills in the rest */
  bool streams; /* points need not all be in memory (descent: with --batch) */
  /* for compare: */
  const char *
      stands_for; /* the training whose place it takes, with a loss on the same scale; NULL: none of its own */
  bool rotated;      /* its outputs mean the same after a rotation */
  bool no_width;     /* run once, not at every width */
  bool both_kernels; /* run with --kernel empirical and analytic */
  bool few_steps;    /* --iterations in the place of --epochs */
  bool always;       /* beside the others, named or not */
  ep_theory theory;  /* it is part of: as the training, or (stands_for) as what takes its place */
  const char *track; /* what is followed along its epochs; NULL: nothing */
} ep_method_row;
const ep_method_row *ep_method_at(int i);              /* NULL past the last */
const ep_method_row *ep_method_find(const char *name); /* NULL: none */
/* The training of a theory, or the method that stands for it. */
const ep_method_row *ep_method_of_theory(ep_theory theory, bool training);

/* The tables of a setup, without one; NULL past the last. */
const ep_option *ep_setup_table(int i);
/* The row of that name in one of them; NULL: none. */
const ep_option *ep_setup_option(const char *name);
