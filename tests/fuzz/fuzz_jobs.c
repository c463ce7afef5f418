/* Files of jobs: any bytes in the place of a finished job; what is read is named and written down again the same */
#include "archive.h"
#include "tree.h"
#include "use.h"

#include "study/jobs.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char name[40], again[40];
  json_t *job = ep_jobs_read(as_file(bytes, size));
  if (job) {
    char *text = json_dumps(job, JSON_REAL_PRECISION(17));
    if (!text) abort();
    json_t *copy = ep_jobs_read(as_file(text, strlen(text)));
    if (!copy || ep_jobs_fingerprint(name, job) || ep_jobs_fingerprint(again, copy)) abort();
    if (strcmp(name, again) != 0) abort();
    free(text);
    json_decref(copy);
  }
  json_decref(job);
  if (ep_mem_current() != 0) abort();
  return 0;
}
