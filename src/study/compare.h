#pragma once
/* The parts of compare: jobs (compare_job.c), how fits are judged (compare_judge.c), progress (compare_progress.c). Jobs are
 * files; out of them come typed rows and curves (compare_rows.c, compare_curves.c), out of these the verdict (compare_verdict.c,
 * by the rules of verdict.h, in the words of compare_words.c). The result's JSON (compare_summary.c), the report (compare_report.c,
 * compare_figures.c) and what the program prints are made from rows, curves and verdict. */
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

enum { EP_MOST_WIDTHS = 32 };

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

/* What a job has besides: curves of (x, y), the theory's bounds, places of points. */
typedef struct {
  ptrdiff_t count;
  double *x, *y;
} ep_curve;
typedef enum { EP_TIME_NTK, EP_TIME_C, EP_TIME_W, EP_TIMES } ep_time;
typedef enum {
  EP_ANGLES_LAST_FIRST, /* PCA of C(T) and of C(0) */
  EP_ANGLES_TRAINED_FIRST,
  EP_ANGLES_TRAINED_LAST,
  EP_ANGLES
} ep_angles;
typedef struct {
  const char *method, *name, *note;
  double measured, bound; /* log10; NAN: it was not measured, it does not apply */
  bool holds;
} ep_bound_line;
typedef struct {
  const char *method;
  double accuracy;
  ep_curve at; /* of a test point */
  int *label;
} ep_plane;
typedef struct {
  long width; /* 0: of methods without one */
  bool first; /* seed */
  ep_curve time[EP_TIMES], spectrum, angles[EP_ANGLES];
  int bounds, planes;
  ep_bound_line *bound;
  ep_plane *plane;
  const json_t *shown; /* names of classes and pictures of the points, packed; NULL: none */
} ep_job_curves;
ep_status ep_curves_read(ep_job_curves *curves, ep_work *work, const json_t *job);

/* Everything measured, out of the jobs. */
typedef struct {
  int widths, seeds, rows, jobs;
  ep_job_curves *job;
  double width[EP_MOST_WIDTHS];
  ep_row *row; /* sorted by score */
  ep_drift_row drift[EP_DRIFTS];
  ep_score by;
  double tests; /* points or pairs behind a score */
  double tolerance;
  double angle_first,
      angle_last; /* trained W against PCA of C(0) and of C(T), largest width; NAN: not measured */
} ep_comparison;
ep_status ep_comparison_read(ep_comparison *m, ep_work *work, const json_t *jobs, double tolerance);
bool ep_drift_measured(const ep_drift_row *drift, const ep_comparison *m);
/* Mean and range over seeds at a width. */
ep_finding ep_drift_at(const ep_drift_row *drift, const ep_comparison *m, int width);
double ep_drift_width_needed(const ep_drift_row *drift, double tolerance); /* NAN: none */
/* Is it the first row of its name, which is the best one? The best of all? */
bool ep_row_is_first(const ep_comparison *m, int i);
bool ep_row_is_best(const ep_comparison *m, int i);
/* loss of the method less that of what it stands for, at its width; NAN: there is nothing to compare with */
double ep_row_loss_gap(const ep_comparison *m, const ep_row *row);

/* ---- the verdict */

typedef enum { EP_ASK_SAME, EP_ASK_GOOD, EP_ASK_CHEAPER, EP_ASKED } ep_asked;
const char *ep_asked_key(ep_asked question);  /* in files: same_function, as_good, cheaper */
const char *ep_asked_text(ep_asked question); /* Is it the same function? .. */
typedef struct {
  ep_finding finding;
  char words[600];
} ep_said;
typedef struct {
  const ep_row *row; /* NULL: nothing was scored */
  ep_said said[EP_ASKED];
} ep_answers;

/* May what the theory says take the place of its training? */
typedef struct {
  const ep_method_row *method; /* NULL: it was not run, or its training was not */
  const ep_drift_row *difference;
  bool holds;
  double from, needed,
      now; /* width it holds from on, by the law would; difference at the largest */
  char words[600];
  ep_said small, falls; /* of the drift: asked whatever was run */
} ep_theory_part;

typedef struct {
  const ep_row
      *use; /* a method, or a baseline that none of them is better than; NULL: none has a score */
  const ep_row *fit; /* of the methods, the one to use: what the command fits */
  char sentence[600], command[1800];
  ep_answers
      about; /* of what to fit, or, where that is training, of the best that could take its place */
  int methods;
  ep_answers *method; /* of all that could, each at its best width */
  ep_theory_part theory[EP_THEORIES];
  char trained[600]; /* angles of the trained W; "": not measured */
} ep_verdict;

/* The theory's questions: may it take the place of training (0), is its drift small (1), does that fall with width (2)? */
const char *ep_theory_asks(ep_theory which, int k);
/* Is the method named in the list? */
bool ep_compare_has(const ep_compare_config *config, const char *method);
/* `base`: for the command that the verdict proposes. */
ep_status ep_verdict_reach(ep_verdict *v, ep_work *work, const ep_comparison *m,
                           const ep_compare_config *config, const ep_setup *base);

/* ---- the outcome */

/* All of a comparison. The JSON holds what rows and curves point to. */
typedef struct {
  json_t *result;
  const char *scored_on; /* in words */
  ep_comparison table;
  ep_verdict verdict;
  ep_work work;
} ep_compared;
/* Runs every width and seed as a job of its own; finished ones are kept in folder/jobs, and taken from there when the
 * same comparison is run again; folder/log.txt has a line a fit. `base` has everything that the methods share. */
ep_status ep_compare(ep_compared *out, const ep_compare_config *config, const ep_setup *base,
                     const char *folder);
void ep_compared_free(ep_compared *c);

/* table, drift and verdict as JSON, into the result */
ep_status ep_compare_summary(json_t *result, const ep_comparison *m, const ep_verdict *v);
/* The report (report.h). `command` repeats it; machine is borrowed. */
ep_status ep_compare_document(json_t **document, const ep_compared *c, const char *command,
                              const json_t *machine);

/* Figures of the report, each added to the list if it shows anything. */
ep_status ep_figures_quality(json_t *figures, const ep_comparison *m);
ep_status ep_figures_seen(json_t *figures, const ep_comparison *m);
ep_status ep_figures_drift(json_t *figures, const ep_comparison *m);
ep_status ep_figures_pca(json_t *figures, const ep_comparison *m);
