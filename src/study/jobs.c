/* Files of jobs. */
#include "study/jobs.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"

#include <eigenpair/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ep_status ep_jobs_fingerprint(char name[40], const json_t *settings) {
  char *text = ep_json_text(settings, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the settings");
  const char *build = ep_machine_build(); /* another build may have other numbers */
  const uint64_t h = ep_hash(ep_hash(EP_HASH_START, build, strlen(build)), text, strlen(text));
  snprintf(name, 40, "%016llx", (unsigned long long)h);
  free(text);
  return EP_OK;
}

json_t *ep_jobs_read(const char *path) {
  unsigned char *bytes;
  size_t size;
  if (ep_file_read(&bytes, &size, path)) return NULL;
  const char *text = (const char *)bytes;
  const bool fits = !ep_json_check(text, size, ep_run_room(), path);
  json_t *job = fits ? json_loadb(text, size, 0, NULL) : NULL;
  ep_release(bytes);
  return job;
}

ep_status ep_jobs_write(const char *path, const json_t *job) {
  char *text = ep_json_text(job, JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the results of a job");
  const ep_status st = ep_file_write_text(path, text);
  free(text);
  return st;
}

ep_status ep_fit_quietly(ep_model **model, ep_fit_info *info, const ep_points *points,
                         const ep_setup *setup, const ep_net *start) {
  const ep_run_hooks hooks = ep_run_quiet();
  const ep_status st =
      ep_fit_from(NULL, model, info, points, setup, &(ep_fit_lent){.start = start});
  ep_run_set_hooks(ep_run_current(), &hooks);
  return st;
}
