#pragma once
/* One function a method; the table is in method.c. */
#include <eigenpair/method.h>

/* Adds the terms of the model; its config and `unit` are there already. */
typedef ep_status ep_method(ep_model *model, ep_fit_info *info, const ep_points *points,
                            const ep_setup *setup);
ep_method ep_fit_alpha, ep_fit_gd, ep_fit_kernel, ep_fit_linearised, ep_fit_linear;
ep_method ep_fit_grassmann, ep_fit_iterate, ep_fit_pca, ep_fit_infinite, ep_fit_whitened;

/* A row of the table: all that anyone asks of a method. */
typedef struct {
  const char *name, *help;
  ep_method *fit;
  bool batches;  /* --batch means something to it */
  bool views;    /* it takes views of a point: positives only, unless --pairs says otherwise */
  bool closed;   /* no epochs: nothing to save on the way, nothing to track */
  bool own_loss; /* not the objective's */
  bool streams;  /* points need not all be in memory (descent: with --batch) */
  /* for compare: */
  const char *
      stands_for; /* the training whose place it takes, with a loss on the same scale; NULL: none of its own */
  bool rotated;      /* its outputs mean the same after a rotation */
  bool no_width;     /* run once, not at every width */
  bool both_kernels; /* run with --kernel empirical and analytic */
  bool few_steps;    /* --iterations in the place of --epochs */
} ep_method_row;
const ep_method_row *ep_method_at(int i);              /* NULL past the last */
const ep_method_row *ep_method_find(const char *name); /* NULL: none */
