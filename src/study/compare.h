#pragma once
/* The parts of compare: jobs (compare_job.c), how fits are judged (compare_judge.c), progress (compare_progress.c), rows
 * from jobs (compare_rows.c), the verdict (verdict.h) and its words (compare_words.c), the report. */
#include "study/jobs.h"
#include "study/size.h"
#include "study/verdict.h"

#include <eigenpair/compare.h>
#include <stdio.h>

/* ---- progress: one fit after the other, with what is left by what has been measured */

enum { EP_MOST_STEPS = 512 };
typedef struct {
  int done, total; /* fits, of all seeds */
  FILE *log;       /* NULL: none */
  struct {
    char name[32];
    double width;
  } plan[EP_MOST_STEPS]; /* the fits of one seed, in order */
  int planned;
  struct {
    char name[32];
    double seconds, width;
  } known[EP_MOST_STEPS]; /* the last fit of each name */
  int names;
  char text[200], name[32]; /* of the fit that is running */
  double width, begin;
} ep_compare_progress;
void ep_progress_plan(ep_compare_progress *p, const char *name, double width);
void ep_progress_begin(ep_compare_progress *p, const char *name, double width, long seed);
void ep_progress_end(ep_compare_progress *p);

/* ---- jobs */

#define EP_COMPARE_PATCHES "patches:100" /* of whitened where nobody named it, on images */

enum { EP_SHOWN = 400 }; /* points of a scatter plot */

/* One width and one seed. */
typedef struct {
  const ep_compare_config *config;
  const ep_setup *base;
  const ep_points *points;        /* of this seed */
  const ep_points *unseen;        /* pairs to score on */
  const ep_dataset *train, *test; /* labelled points, scaled; NULL: none */
  long width, seed;
  bool last; /* the largest width: methods without a width and baselines run here too */
  bool show; /* embeddings for the scatter plot are wanted */
  ep_compare_progress *progress;
} ep_job;
/* *out: the numbers of the job; those of methods without a width and of baselines are its "free", a job of its own. */
ep_status ep_compare_job(json_t **out, const ep_job *job);
/* Its fits, in order, into the plan. */
void ep_compare_plan(ep_compare_progress *p, const ep_compare_config *config, long width,
                     bool last);

/* ---- judging */

/* What a fit leaves behind. */
typedef struct {
  const char *name;
  const ep_method_row *method; /* NULL: a baseline */
  ep_trial trial;
  ep_mat F; /* outputs at the held-out pairs, double, owned; none: diverged */
  json_t *entry;
} ep_fitted;

/* A map from points to outputs: E (n x Z) of X. */
typedef struct {
  ptrdiff_t outputs;
  ep_status (*embed)(const ep_mat *E, const ep_mat *X, const void *user);
  const void *user;
} ep_outputs;
ep_outputs ep_outputs_of(const ep_model *model);
/* Scores and, where the job shows them, a plane of outputs; F is kept. */
ep_status ep_judge(ep_fitted *f, const ep_outputs *map, const ep_job *job);
/* *d: |A - B| relative to |B|: mean over rows, or (rotated) of whole matrices after the best rotation and scale. */
ep_status ep_outputs_difference(double *d, const ep_mat *A, const ep_mat *B, bool rotated);

/* Raw inputs, and their first principal components. */
ep_status ep_judge_baselines(ep_fitted fitted[2], json_t *methods, const ep_job *job);

/* ---- rows */

ep_status ep_trial_write(json_t *entry, const ep_trial *trial);
void ep_trial_read(ep_trial *trial, const json_t *entry);

typedef enum {
  EP_DRIFT_NTK,
  EP_DRIFT_KERNEL,
  EP_DRIFT_ANALYTIC,
  EP_DRIFT_C,
  EP_DRIFT_PCA,
  EP_DRIFTS
} ep_drift_kind;
/* A drift against width: one value a width and a seed. */
typedef struct {
  const char *name, *what, *legend; /* in result.json; a sentence; beside its line */
  double *value;                    /* (widths, seeds), NAN: not measured */
  ep_power_law law;
} ep_drift_row;

/* Everything measured, out of the jobs. */
typedef struct {
  int widths, seeds, rows;
  double width[64];
  ep_row *row; /* sorted by score */
  ep_drift_row drift[EP_DRIFTS];
  ep_score by;
  double tests; /* points or pairs behind a score */
  double tolerance;
  double angle_first,
      angle_last; /* trained W against PCA of C(0) and of C(T), largest width; NAN: not measured */
} ep_comparison;
ep_status ep_comparison_read(ep_comparison *m, ep_work *work, const json_t *jobs, double tolerance);

/* ---- the outcome */

/* Is the method named in the list? */
bool ep_compare_has(const ep_compare_config *config, const char *method);
/* table, drift, verdict from the jobs, into result. `base`: for the command that the verdict proposes. */
ep_status ep_compare_summary(json_t *result, const ep_compare_config *config, const ep_setup *base);
