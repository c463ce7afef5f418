#pragma once
/* The parts of compare: jobs, their summary, the report. */
#include "study/jobs.h"
#include "study/size.h"

#include <eigenpair/compare.h>

/* One width and one seed. */
typedef struct {
  const ep_compare_config *config;
  const ep_setup *base;
  const ep_points *points;        /* of this seed */
  const ep_dataset *train, *test; /* labelled points, scaled; NULL: none */
  long width, seed;
  bool show;         /* embeddings for the scatter plot are wanted */
  double begin, end; /* share of all work before and after this job */
} ep_job;
/* *out: the numbers of the job; `infinite`: those methods that have no width, and only those. */
ep_status ep_compare_job(json_t **out, const ep_job *job, bool infinite);

/* Is the method named in the list? */
bool ep_compare_has(const ep_compare_config *config, const char *method);
/* table, drift, verdict from the jobs, into result. */
ep_status ep_compare_summary(json_t *result, const ep_compare_config *config);
