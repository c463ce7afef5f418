#pragma once
/* A method turns pairs into a model; every model embeds new points. Training is one of the methods. */
#include <eigenpair/closed.h>
#include <eigenpair/dataset.h>
#include <eigenpair/kernel.h>
#include <eigenpair/matrix.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/options.h>
#include <stdint.h>

EP_BEGIN

const char *ep_method_name(int i);            /* NULL past the last */
bool ep_method_takes_views(const char *name); /* its pairs are positives unless --pairs is given */

typedef enum { EP_ROWS_FREE, EP_ROWS_UNIT } ep_rows_kind;
typedef enum { EP_KERNEL_EMPIRICAL, EP_KERNEL_ANALYTIC } ep_kernel_kind;
typedef enum { EP_INTEGRATOR_EULER, EP_INTEGRATOR_FLOW } ep_integrator;

#define EP_FIT_OPTIONS(X, S)                                                                       \
  X(S, NAME, method, "gd", 0, 0, ep_method_name, "how the model is made", EP_FOR(ANY, SUMS, SAME)) \
  EP_FIT_OTHER_OPTIONS(X, S)
#define EP_FIT_OTHER_OPTIONS(X, S)                                                                 \
  X(S, REAL, rate, "1", 1e-12, 1e12, NULL, "step length eta of gradient descent",                  \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, INT, epochs, "100", 0, 1e9, NULL, "passes over the pairs", EP_FOR(TRAINING, NO_SUMS, FREE)) \
  X(S, INT, batch, "0", 0, 1e9, NULL, "anchors a step, drawn anew each epoch; 0: all at once",     \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  EP_ALPHA_OPTIONS(X, S)                                                                           \
  X(S, CHOICE, rows, "free", 0, 0, ep_rows_name,                                                   \
    "method alpha: unit: one layer phi(V x), rows of V of length 1, --width = --outputs",          \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, CHOICE, kernel, "empirical", 0, 0, ep_kernel_name,                                          \
    "methods kernel and whitened: of the network at its start, or at infinite width",              \
    EP_FOR(ANY, SUMS, SAME))                                                                       \
  X(S, CHOICE, integrator, "euler", 0, 0, ep_integrator_name,                                      \
    "method kernel: steps of descent, or gradient flow for the time rate x epochs",                \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, REAL, flow_tolerance, "1e-8", 1e-14, 1, NULL,                                               \
    "gradient flow, method linear: relative error a step", EP_FOR(TRAINING, NO_SUMS, SAME))        \
  X(S, REAL, tolerance, "0", 0, 1, NULL,                                                           \
    "stop once the loss improves by less than this share of itself in `patience` epochs; 0: "      \
    "never",                                                                                       \
    EP_FOR(TRAINING, NO_SUMS, FREE))                                                               \
  X(S, INT, patience, "10", 1, 1e9, NULL, "epochs that --tolerance looks at",                      \
    EP_FOR(TRAINING, NO_SUMS, FREE))                                                               \
  X(S, TEXT, track, "", 0, 0, NULL,                                                                \
    "more columns of the history: ntk (ntk_max, ntk_frobenius), c (c_frobenius), weights "         \
    "(w_change, v_change), rank (RankMe)",                                                         \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, INT, track_points, "20", 1, 1e6, NULL, "points whose kernel --track ntk follows",           \
    EP_FOR(TRAINING, NO_SUMS, SAME))                                                               \
  X(S, INT, track_every, "1", 1, 1e9, NULL,                                                        \
    "look every so many epochs; between, the last values stand", EP_FOR(TRAINING, NO_SUMS, SAME))

/* Files of a fit; they do not change its result. */
#define EP_FIT_FILES(X, S)                                                                         \
  X(S, TEXT, out, "model.npz", 0, 0, NULL, "the model", EP_FOR(ANY, NO_SUMS, FREE))                \
  X(S, TEXT, history, "", 0, 0, NULL,                                                              \
    "CSV of the loss (and --track), one row an epoch, row 0 the start",                            \
    EP_FOR(TRAINING, NO_SUMS, FREE))                                                               \
  X(S, TEXT, checkpoint, "", 0, 0, NULL,                                                           \
    "where to save work in progress (default: the model's name with .checkpoint.npz, or the file " \
    "of --resume)",                                                                                \
    EP_FOR(TRAINING, NO_SUMS, FREE))                                                               \
  X(S, INT, every, "0", 0, 1e9, NULL, "save every so many epochs; 0: only when interrupted",       \
    EP_FOR(TRAINING, NO_SUMS, FREE))                                                               \
  X(S, TEXT, resume, "", 0, 0, NULL, "go on from this checkpoint; its options hold",               \
    EP_FOR(ANY, NO_SUMS, FREE))

typedef struct {
  EP_FIT_OPTIONS(EP_OPT_FIELD, )
} ep_fit_config;
typedef struct {
  EP_FIT_FILES(EP_OPT_FIELD, )
} ep_fit_files;
extern const ep_option ep_fit_auto_options[]; /* of ep_fit_config, with method auto, its default */

/* All settings of a fit. */
typedef struct {
  ep_run_config run;
  ep_data_config data;
  ep_pair_config pair;
  ep_net_config net;
  ep_variance_config analytic;
  ep_objective_config objective;
  ep_fit_config fit;
  ep_feature_config feature;
  ep_closed_config closed;
  ep_eigen_config eigen;
  ep_fit_files files;
} ep_setup;
enum { EP_SETUP_GROUPS = 11 };

void ep_setup_default(ep_setup *setup);
/* The tables of the setup with their structs, for flags, help and JSON; ends with a zero row. */
void ep_setup_groups(ep_option_group groups[EP_SETUP_GROUPS + 1], ep_setup *setup);
ep_status ep_setup_to_json(json_t **out, const ep_setup *setup); /* the caller's, json_decref */
ep_status ep_setup_from_json(ep_setup *setup, const json_t *object);

/* Method auto becomes one, by the names of the options that a user gave (NULL behind the last), and --views what it likes;
 * why[0] is 0 where the user chose. `ready`: pairs are not drawn, but there; `negatives`: and have negatives. */
void ep_fit_choose(ep_setup *setup, char why[200], const char *const given[], bool ready,
                   bool negatives);
/* Then --features, for images of 12 x 12 pixels and more: patches, where whitened is the method and nothing was given. */
bool ep_fit_choose_features(ep_setup *setup, const ep_points *points, const char *const given[]);

/* A table of numbers that grows by rows: the history of a fit. */
typedef struct {
  int columns;
  const char *name[16]; /* static strings */
  ptrdiff_t rows, room;
  double *value; /* (rows, columns), owned */
} ep_history;

typedef enum { EP_DONE, EP_CONVERGED, EP_DIVERGED } ep_outcome;
const char *ep_outcome_name(ep_outcome outcome);

/* Eigenvalues that a fit found, largest first, and how far behind the last of them the next one is (NAN: there is none). */
typedef struct {
  ptrdiff_t count; /* 0: it solves no eigenproblem */
  double *value;   /* (count), owned */
  double gap;
} ep_eigenvalues;

/* How a fit went: data, not an error. */
typedef struct {
  ep_outcome outcome;
  long epochs;  /* done; for EP_DIVERGED the epoch after which the loss could not be used */
  double loss;  /* last finite one */
  double start; /* of row 0 */
  double seconds;
  ptrdiff_t anchors, points, dimension, block; /* N, P, D, points a block */
  double density; /* share of the first layer's products that zeros in the data leave */
  ep_history history;
  ep_eigenvalues spectrum;
  const char *path; /* how a closed form was computed, static; NULL: it was trained */
  json_t *numbers;  /* the method's own, by name (NULL: none), owned */
  json_t *notes;    /* sentences a user should read, owned */
  json_t *explain;  /* lines on how it was computed, owned */
  bool saved;       /* a checkpoint was written, also by a fit that failed */
} ep_fit_info;
void ep_fit_info_free(ep_fit_info *info);

/* A model: f(x) = sum_k C_k' psi_k(x) - offset, a sum of maps of the point (at most two):
 *   network      the hidden layer, C = W              M^{-1/2} W'h(x)
 *   linearised   network, and tangent, C = the change  f(x; net) + J(x) change
 *   empirical    network, and sections of its kernel   f(x; net) + sum_p K(x, x_p) y_p
 *   analytic     sections of the NTK and of the NNGP   sum_p NTK(x, x_p) y_p + NNGP(x, x_p) y0_p; or a network first
 *   infinite     sections of kappa                     sum_p kappa(x, x_p) y_p
 *   patches      responses of patches, C = W           M^{-1/2} W' phi(x) */
typedef struct ep_model ep_model;
void ep_model_free(ep_model *model); /* NULL is fine */
ptrdiff_t ep_model_inputs(const ep_model *model);
ptrdiff_t ep_model_outputs(const ep_model *model);
bool ep_model_is_unit(const ep_model *model); /* made from points on the unit sphere */
const json_t *ep_model_config(
    const ep_model *model); /* the setup it was made with; NULL: a file without one */
ep_net *ep_model_net(const ep_model *model); /* the network in it, the model's; NULL: none */
const ep_mat *ep_model_coefficients(const ep_model *model,
                                    int term); /* C of a term; NULL: no such term */
/* What it is, for a person. */
void ep_model_describe(char text[EP_DESCRIPTION], const ep_model *model);

/* Fits setup->fit.method to the points. An interrupted fit saves a checkpoint and returns
 * EP_ERR_INTERRUPTED; info is filled in as far as the work got. */
ep_status ep_fit(ep_run *run, ep_model **model, ep_fit_info *info, const ep_points *points,
                 const ep_setup *setup);
/* A loss of the caller's own: L and dL/dF (NULL: the value only) at the outputs F (points x Z), both double. */
typedef struct {
  ep_status (*value)(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *pairs,
                     const void *user);
  const void *user;
  ptrdiff_t least; /* fewest anchors of a batch */
  double memory;   /* bytes of scratch that value takes */
} ep_loss_function;

/* The same with what the caller lends in the place of what the setup says; every part may be NULL. */
typedef struct {
  const ep_net *start;          /* weights to begin from; they also give the shape */
  const ep_loss_function *loss; /* of methods that descend on outputs */
} ep_fit_lent;
ep_status ep_fit_from(ep_run *run, ep_model **model, ep_fit_info *info, const ep_points *points,
                      const ep_setup *setup, const ep_fit_lent *lent);
/* Sets everything in `setup` from the checkpoint. */
ep_status ep_checkpoint_setup(ep_setup *setup, const char *path);

ep_status ep_model_save(const char *path, const ep_model *model);
ep_status ep_model_load(ep_model **out, const char *path, ep_precision prec);
/* E (n x Z) = f(X), in blocks within the run's memory. Fails if an output is not finite. */
ep_status ep_model_embed(ep_run *run, const ep_mat *E, const ep_model *model, const ep_mat *X);

EP_END
