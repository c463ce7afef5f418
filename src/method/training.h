#pragma once
/* What methods that descend share: loss and its gradient at the outputs, the loop, the history with its
 * trackers, checkpoints. What is trained is a flat array, `state`: a network's weights, their change, or the
 * coefficients of a kernel. */
#include "method/model.h"
#include "model/rotation.h"
#include <eigenpair/stream.h>

typedef struct ep_training ep_training;
struct ep_training {
  const ep_setup *setup;
  const ep_points *points;
  ep_fit_info *info;
  ep_objective objective;
  ep_loss_function loss; /* in the place of the objective, if loss.value is set */
  ep_mat state,
      gradient; /* (1, count) what is trained, and dL/dstate at the last evaluation; views */
  /* *loss = L of all pairs at the state, with outputs in F; with `gradient` also the gradient */
  ep_status (*evaluate)(ep_training *t, double *loss, bool gradient);
  /* after an evaluation with gradient: moves the state; NULL: state -= rate gradient. *finite false: nothing changed,
   * the step would not be finite */
  ep_status (*step)(ep_training *t, bool *finite);
  /* brings the network back to where it has to be, at the start and after each step; may fail at the start alone; NULL:
   * it may be anywhere */
  ep_status (*project)(ep_training *t);
  void *method;               /* what the method's own functions need */
  ep_mat F, dF;               /* (P, Z) outputs and dL/dF, precision of the run */
  ep_mat F_double, dF_double; /* the same in double, where losses live */
  ptrdiff_t most_points;      /* rows that F and dF need; 0: all points */
  bool patient;               /* asked to stop before it began: one step is made, then */
  bool outputs_current;       /* F holds the outputs of all points at the present state */
  struct ep_trackers *trackers;
  /* for methods with a network */
  ep_mat X;              /* what its first layer sees: points->X, or rotation.X; borrowed */
  ep_rotation rotation;  /* used if rotation.Q has entries */
  ep_model *model;       /* what is made */
  ep_net *whole;         /* the model's network; with a rotation it keeps the start until the end */
  ep_net small;          /* with a rotation: the network on rotated points */
  ep_net *net;           /* the one that is trained: whole or &small; NULL: there is none */
  ep_net grad;           /* same shape, for gradients */
  uint64_t print;        /* of the weights in --init; 0: none */
  uint64_t points_print; /* of the points; 0: not yet taken */
  /* where the work is; all of it goes into a checkpoint */
  long epoch;      /* updates of this many epochs are in the state */
  long batch;      /* and of so many batches of the next one */
  double loss_sum; /* over those batches */
  double seconds;  /* spent before the last resume */
  double clock;    /* when this run began */
  /* whether it has converged, found again from the history */
  ptrdiff_t looked_at; /* rows of the history .. */
  double best;         /* .. and their least loss */
};

/* In this order: new, network (where there is one), begin, descend; free in any case. */
ep_status ep_training_new(ep_training *t, ep_model *model, ep_fit_info *info,
                          const ep_points *points, const ep_setup *setup);
/* Weights of the start. `rotate`: fewer points than dimensions may shorten the first layer. */
ep_status ep_training_network(ep_training *t, bool rotate);
/* What is trained, its gradient, the number of outputs; goes on from a checkpoint if there is one. */
ep_status ep_training_begin(ep_training *t, const ep_mat *state, const ep_mat *gradient,
                            ptrdiff_t outputs);
/* Full-batch descent: row t of the history is the loss after t steps. */
ep_status ep_training_descend(ep_training *t);
/* gd.c: gradient descent on the network from ep_training_new to the model, all pairs at once or in batches. */
ep_status ep_training_gd(ep_training *t);
void ep_training_summary(ep_training *t); /* fills in info */
/* The same, and the model's weights from those of a rotated network. */
ep_status ep_training_finish(ep_training *t);
void ep_training_free(ep_training *t);

/* Bytes left under the cap, the loss's scratch taken off. */
double ep_training_memory(const ep_training *t);
/* *loss = L(F) of these pairs; with `gradient` dF = dL/dF. */
ep_status ep_training_loss(ep_training *t, double *loss, const ep_pairs *pairs, bool gradient);
/* The same through the network, and grad = dL/dtheta. The stream carries the points of `pairs`, of which a rank has its
 * share of rows (ep_comm_rows). */
ep_status ep_training_pass(ep_training *t, double *loss, ep_stream *stream, const ep_pairs *pairs,
                           bool gradient);
/* A pass between these may be left half done (ep_run_loose_begin). Asked to stop, the work is saved as it was before the pass,
 * which changes no weights. */
void ep_training_loose_begin(const ep_training *t);
ep_status ep_training_loose_end(ep_training *t);
/* Is rate |gradient| far from overflow? */
bool ep_training_step_is_safe(const ep_training *t);
/* state -= rate gradient; false, and nothing changed, if the step is not finite. */
bool ep_training_update(ep_training *t);
/* Adds a row: epoch, loss, and what --track asks for. */
ep_status ep_training_record(ep_training *t, double loss);
/* After an update: tell, save, stop if asked. */
ep_status ep_training_between(ep_training *t, bool epoch_over);
/* Can this loss not be gone on with? One that is not finite, or 1e10 times the first. */
bool ep_training_diverged(const ep_training *t, double loss);
bool ep_training_converged(ep_training *t);
bool ep_training_finished(const ep_training *t);
double ep_training_seconds(const ep_training *t);
bool ep_training_full_batch(const ep_training *t);
/* F = outputs of all points at the present weights, if it is not that already. */
ep_status ep_training_outputs(ep_training *t);

/* ---- trackers.c */
ep_status ep_trackers_new(ep_training *t);   /* reads --track, names the columns */
ep_status ep_trackers_start(ep_training *t); /* remembers what they compare with */
ep_status ep_trackers_record(double *row, ep_training *t);
/* Training ends with the last row, before its --epochs: the trackers look once more. */
ep_status ep_trackers_end(ep_training *t);
bool ep_trackers_see_outputs(const ep_training *t); /* of all points at once */
void ep_trackers_free(ep_training *t);

/* ---- checkpoint.c */
ep_status ep_checkpoint_write(ep_training *t);
ep_status ep_checkpoint_read(ep_training *t, const char *path);
