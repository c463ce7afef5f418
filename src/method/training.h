#pragma once
/* What methods that descend on a network share: the network's points, one evaluation of loss and
 * gradient, the history with its trackers, checkpoints. */
#include "model/rotation.h"

#include <eigenpair/method.h>

typedef struct {
  const ep_setup *setup;
  const ep_points *points;
  ep_fit_info *info;
  ep_objective objective;
  ep_mat X;             /* what the first layer sees: points->X, or rotation.X; borrowed */
  ep_rotation rotation; /* used if rotation.Q has entries */
  ep_net *whole;        /* the model's network; with a rotation it keeps the start until the end */
  ep_net small;         /* with a rotation: the network on rotated points */
  ep_net *net;          /* the one that is trained: whole or &small */
  ep_net grad;          /* gradient at the last evaluation */
  ep_mat start;         /* (1, parameters) weights at the start, where a tracker needs them */
  double start_w, start_v;    /* |W(0)|_F, |V(0)|_F */
  ep_mat F, dF;               /* (P, Z) outputs and dL/dF, precision of the network */
  ep_mat F_double, dF_double; /* the same in double, where losses live */
  ptrdiff_t *trackers;        /* indices into the table of trackers, -1 ends */
  bool outputs_current;       /* F holds the outputs of all points at the present weights */
  uint64_t print;             /* of the weights in --init; 0: none */
  uint64_t points_print;      /* of the points; 0: not yet taken */
  /* where the work is; all of it goes into a checkpoint */
  long epoch;      /* updates of this many epochs are in the weights */
  long batch;      /* and of so many batches of the next one */
  double loss_sum; /* over those batches */
  double seconds;  /* spent before the last resume */
  double clock;    /* when this run began */
} ep_training;

ep_status ep_training_new(ep_training *t, ep_model *model, ep_fit_info *info,
                          const ep_points *points, const ep_setup *setup);
/* Puts the trained weights into the model; after this only ep_training_free. */
ep_status ep_training_finish(ep_training *t);
void ep_training_free(ep_training *t);

/* Bytes left for activations under the cap. */
double ep_training_memory(const ep_training *t);
/* *loss = L at the weights; with `gradient` grad = dL/dtheta. The stream carries the points of pairs. */
ep_status ep_training_evaluate(ep_training *t, double *loss, ep_stream *stream,
                               const ep_pairs *pairs, bool gradient);
/* theta -= rate grad; false, and nothing changed, if the step is not finite. */
bool ep_training_update(ep_training *t);
/* Adds a row: epoch, loss, and what --track asks for. */
ep_status ep_training_record(ep_training *t, double loss);
/* Can this loss be gone on with? A loss that is not finite, or 1e10 times the first, is divergence. */
bool ep_training_diverged(const ep_training *t, double loss);
bool ep_training_converged(const ep_training *t);
double ep_training_seconds(const ep_training *t);

bool ep_training_full_batch(const ep_training *t);
/* F = outputs of all points at the present weights, if it is not that already. */
ep_status ep_training_outputs(ep_training *t);

ep_status ep_checkpoint_write(ep_training *t);
ep_status ep_checkpoint_read(ep_training *t, const char *path);
