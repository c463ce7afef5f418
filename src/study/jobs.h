#pragma once
/* Jobs of a study: results kept as files named by everything that decides their numbers, so that an interrupted study
 * goes on where it was. */
#include <eigenpair/json.h>
#include <eigenpair/method.h>

/* Hash of the settings and of this build, as text. */
ep_status ep_jobs_fingerprint(char name[40], const json_t *settings);
json_t *ep_jobs_read(const char *path); /* NULL: not there, not whole, or too large */
ep_status ep_jobs_write(const char *path, const json_t *job);

/* A fit within a job, from `start` (NULL: as the setup says): the job tells how far it is, not the fit. */
ep_status ep_fit_quietly(ep_model **model, ep_fit_info *info, const ep_points *points,
                         const ep_setup *setup, const ep_net *start);
