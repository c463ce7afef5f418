#pragma once
#include "../../../include/eigenpair/method.h"
#include <eigenpair/analytic.h>
#include <eigenpair/covariance.h>
#include <eigenpair/eigen.h>
#include <eigenpair/features.h>
#include <eigenpair/json.h>
#include <eigenpair/retraction.h>

const char *ep_method_help(int i);
const char *ep_kernel_name(int i);     /* empirical, analytic */
const char *ep_integrator_name(int i); /* euler, flow */
const char *ep_rows_name(int i);       /* free, unit */

const char *ep_path_name(int i);   /* auto, primal, free, dual */
const char *ep_solver_name(int i); /* auto, local, scalapack, elpa */
const char *ep_norms_name(int i);  /* features, outputs */

extern const ep_option ep_closed_options[];
extern const ep_option ep_fit_options[], ep_fit_file_options[];

ep_status ep_history_add(ep_history *h, const double *row);
ep_status ep_history_write(const char *path, const ep_history *h); /* CSV */
void ep_history_free(ep_history *h);

/* The spectrum, as itself and in numbers: eigenvalues, gap. */
ep_status ep_fit_spectrum(ep_fit_info *info, const double *lambda, ptrdiff_t count, double gap);
/* Adds to numbers (takes `value` over), notes, explain. */
ep_status ep_fit_number(ep_fit_info *info, const char *name, json_t *value);
ep_status ep_fit_note(ep_fit_info *info, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
ep_status ep_fit_explain(ep_fit_info *info, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

ep_psi ep_model_psi(const ep_model *model); /* the similarity it was made with */
/* From now on outputs are W'psi(x), psi with the norm of phi, in the place of M^{-1/2} W'phi(x). */
ep_status ep_model_normalise(ep_model *model);

/* A setup in which nothing is changed; *out is the caller's. */
ep_status ep_setup_defaults_json(json_t **out);
/* The place of the checkpoint of this setup; empty: none is written, since no file is to be made at all. */
void ep_checkpoint_path(char path[1100], const ep_setup *setup);
