#pragma once
/* What the checks of WIDE's claims share: fits over widths and seeds, and power laws of what is measured of them. */
#include "study/curve.h"

#include <eigenpair/bounds.h>
#include <eigenpair/method.h>
#include <eigenpair/powerlaw.h>

/* How large a check is. */
enum { WIDE_WIDTHS = 8 };
typedef struct {
  long anchors, epochs;
  int seeds, widths;
  long width[WIDE_WIDTHS];
} wide_size;

/* What is trained; texts left NULL and numbers left 0 are the program's defaults. */
typedef struct {
  ep_similarity_kind similarity; /* 0: the loss's own */
  const char *data, *method, *loss, *activation, *track, *pairs, *augment;
  long outputs, depth;
  double rate, tolerance;
  double rate_of_width; /* > 0: the rate is this times M */
  long patience, track_every,
      track_points; /* looks: every 25th part; 20 points, 50 from 100 anchors on */
} wide_setting;
/* The control of what falls with width because training has got less far: a rate that grows with M, from that of the least
 * width, so that rate x t / M is the same at all of them. */
wide_setting wide_same_progress(const wide_setting *s, const wide_size *z);

/* A fit with everything it was made from. */
typedef struct {
  ep_setup *setup;
  ep_points points;
  ep_model *start, *model; /* at epoch 0, and at the end */
  ep_fit_info info;
  const ep_run_config *run;
} wide_fit;
/* Settings alone; and with the points and pairs of the seed. */
ep_status wide_setup_only(wide_fit *f, const wide_setting *s, const wide_size *z, long width,
                          long seed, const ep_run_config *run);
ep_status wide_begin(wide_fit *f, const wide_setting *s, const wide_size *z, long width, long seed,
                     const ep_run_config *run);
/* The start of f->setup; its end; both; the end from a start that was changed. */
ep_status wide_start(wide_fit *f);
ep_status wide_fit_on(wide_fit *f);
ep_status wide_train(wide_fit *f);
ep_status wide_train_from_start(wide_fit *f);
/* Another model from the same points and start; method NULL: as it is. */
ep_status wide_fit_again(ep_model **model, ep_fit_info *info, const wide_fit *f, const char *method,
                         long epochs);
/* The same from other weights. */
ep_status wide_fit_from(ep_model **model, ep_fit_info *info, const wide_fit *f, const char *method,
                        const ep_net *start, long epochs);
void wide_free(wide_fit *f);
ep_status wide_embed(ep_mat *E, const ep_model *model, const ep_mat *X);

/* A column of the history at a row; the last row for row < 0. NAN if there is no such column. */
double wide_history(const ep_fit_info *info, const char *column, ptrdiff_t row);
bool wide_diverged(const wide_fit *f);

/* Trains at every width with every seed and measures: out[q] for each of the curves. */
typedef ep_status wide_measure(double *out, wide_fit *f, bool first_seed, void *user);
ep_status wide_sweep(claim_curve *curves, int quantities, ep_work *work, const wide_setting *s,
                     const wide_size *z, wide_measure *measure, void *user,
                     const ep_run_config *run);

/* The same where `measure` looks at points, start and history, not at the end: of a long fit whose history is among the parts
 * there is none, it is not done again. */
ep_status wide_sweep_histories(claim_curve *curves, int quantities, ep_work *work,
                               const wide_setting *s, const wide_size *z, wide_measure *measure,
                               void *user, const ep_run_config *run);
/* wide_history.c: the history of a fit, from the parts of the claim and to them. */
ep_status wide_history_take(bool *there, wide_fit *f);
ep_status wide_history_keep(const wide_fit *f);

/* Medians over the seeds, at most WIDE_WIDTHS. */
ep_status wide_medians(ep_claim_result *r, const char *name, const claim_curve *c);
/* The law of all runs, as NAME_exponent within its interval, and the medians as NAME. */
ep_status wide_law(ep_power_law *law, ep_claim_result *r, const char *name, const claim_curve *c);
#define WIDE_EXPONENT "exponent in width is at most -0.4 with its 95 % interval below 0"
/* The criterion of most: exponent at most -0.4, all of its 95 % interval below 0. */
bool wide_falls(const ep_power_law *law);
/* A figure against width, with dashed M^-1/2 through its first point. */
ep_status wide_width_figure(json_t **figure, ep_claim_result *r, const char *name,
                            const char *title, const char *alt, const char *y);
ep_status wide_slope(json_t *figure, const char *panel, const claim_curve *c);
/* A column of the history over time, mean and deviation over the seeds: a line "M = 100" once the last of them is there. */
typedef struct {
  json_t *figure;
  const char *column, *panel;
  int seeds, seen;
  claim_curve c;
  ep_work work;
} wide_times;
ep_status wide_times_add(wide_times *t, const wide_fit *f, double scale);
const char *wide_images(ep_claim_size size); /* digits, or the papers' mnist */
long wide_points(ep_claim_size size);        /* tracked where anchors are few */
/* Notes of what was run: sizes, rate, seeds, and what is the same in all of them. */
ep_status wide_say(ep_claim_result *r, const wide_setting *s, const wide_size *z);

typedef ep_status wide_check(ep_claim_result *result, ep_claim_size size, const ep_run_config *run);
wide_check wide_fig1, wide_lemma9, wide_fig2, wide_prop10, wide_fig3, wide_fig4l, wide_fig4m,
    wide_fig4r, wide_lemma17, wide_timescale, wide_remark15, wide_eq9, wide_fig5l, wide_fig5m,
    wide_fig5r, wide_fig7, wide_bounds, wide_theorem13, wide_prop18, wide_open, wide_open_losses,
    wide_open_depth, wide_open_data, wide_open_start, wide_cifar;
/* The same on other images. */
typedef ep_status wide_check_on(ep_claim_result *result, ep_claim_size size,
                                const ep_run_config *run, const char *images);
wide_check_on wide_fig1_on, wide_fig3_on, wide_fig4l_on, wide_fig4m_on, wide_fig4r_on,
    wide_fig5l_on, wide_fig5m_on;

/* A column of the history that is followed, and what it is. */
typedef struct {
  const char *name, *says;
} wide_column;
extern const wide_column wide_of_K, wide_of_C;

/* Drift of a column over widths, with its two figures. */
typedef struct {
  ep_power_law width; /* of the drift at the end */
  double time, time_low,
      time_high; /* exponent over time, last three quarters of the epochs: mean of
                                       all runs with its 95 % interval */
  int diverged;  /* runs */
} wide_drift;
ep_status wide_drift_check(wide_drift *out, ep_claim_result *r, const char *prefix,
                           const wide_column *column, const wide_setting *s, const wide_size *z,
                           const ep_run_config *run);
/* The control of a drift that falls with the cosine: the dot product in the same setting, by the same criterion. */
ep_status wide_dot_falls(bool *does, ep_claim_result *r, const wide_setting *s, const wide_size *z,
                         const ep_run_config *run);
