/* reproduce: claims as jobs, kept in files as they end. */
#include "study/jobs.h"

#include "core/file.h"
#include "core/hash.h"

#include <eigenpair/dataset.h>
#include <eigenpair/reproduce.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

const ep_paper ep_papers[] = {
    {"wide", "WIDE: when wide contrastive models are kernels or PCA", ep_claims_wide,
     ep_statements_wide, false},
    {"linear", "LINEAR: learning dynamics of linear self-supervised models", ep_claims_linear,
     ep_statements_linear, true},
    {"tangent", "TANGENT: linearised networks, Gaussian processes, learnability", ep_claims_tangent,
     ep_statements_tangent, true},
    {"optima", "OPTIMA: local optima of one-layer contrastive learning", ep_claims_optima,
     ep_statements_optima, true},
    {0}};

const char *ep_claim_size_name(ep_claim_size size) {
  return size == EP_CLAIM_QUICK ? "quick" : size == EP_CLAIM_MEDIUM ? "medium" : "paper";
}

/* ---- which claims */

static bool names(const char *word, const ep_paper *p, const ep_claim *c) {
  return strcmp(word, p->name) == 0 || strcmp(word, c->id) == 0;
}

static ep_status check_word(const char *word) {
  for (const ep_paper *p = ep_papers; p->name; p++)
    for (const ep_claim *c = p->claims; c->id; c++)
      if (names(word, p, c)) return EP_OK;
  return EP_FAIL(EP_ERR_ARG, "no claim '%s'; `eigenpair reproduce --list` shows them all", word);
}

ep_status ep_claims_find(const ep_claim *wanted[], int *count, const char *const *words,
                         int word_count) {
  *count = 0;
  for (int i = 0; i < word_count; i++) EP_TRY(check_word(words[i]));
  for (const ep_paper *p = ep_papers; p->name; p++)
    for (const ep_claim *c = p->claims; c->id; c++) {
      bool asked = word_count == 0;
      for (int i = 0; i < word_count; i++) asked = asked || names(words[i], p, c);
      if (asked && *count < EP_MOST_CLAIMS) wanted[(*count)++] = c;
    }
  return EP_OK;
}

/* ---- progress: a claim counts as the seconds it is known to take; within one, its outermost stage counts */

typedef struct {
  ep_run_hooks outer;
  double before, here, all; /* seconds of those done, of this one, of all that are to be run */
  char stage[40];           /* of this one, the first that spoke: those within it do not count */
  double within;            /* share of it */
  int count;                /* to be run */
  char data[20];            /* what the data sets hold */
} progress;

static void tell(void *user, const char *what, double done, double total) {
  progress *p = user;
  if (!p->stage[0]) snprintf(p->stage, sizeof p->stage, "%s", what);
  if (total > 0 && strcmp(p->stage, what) == 0) p->within = fmax(p->within, fmin(done / total, 1));
  if (p->all > 0 && p->outer.progress)
    p->outer.progress(p->outer.user, "claims",
                      p->count * (p->before + p->within * p->here) / p->all, p->count);
}

/* ---- one claim */

static const ep_paper *paper_of(const ep_claim *claim) {
  const ep_paper *p = ep_papers;
  for (; p->name; p++)
    for (const ep_claim *c = p->claims; c->id; c++)
      if (c == claim) return p;
  return p;
}

static json_t *words_of(const ep_claim *c) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?}", "id", c->id, "paper", paper_of(c)->name,
                   "source", c->source, "says", c->says, "criterion", c->criterion, "control",
                   c->control);
}

/* pass, fail, answered (a question) or error; from what is in the job */
static ep_status put_outcome(json_t *job, const ep_claim *c) {
  const bool pass = json_is_true(json_object_get(job, "pass"));
  const char *word = json_object_get(job, "error") ? "error"
                     : !pass                       ? "fail"
                     : ep_claim_is_question(c)     ? "answered"
                                                   : "pass";
  return ep_json_put(job, "outcome", json_string(word));
}

static ep_status keep(json_t *job, const ep_claim_result *r, double seconds) {
  EP_TRY(ep_json_put(job, "pass", json_boolean(r->pass)));
  EP_TRY(ep_json_put(job, "measured", json_incref(r->measured)));
  EP_TRY(ep_json_put(job, "figures", json_incref(r->figures)));
  EP_TRY(ep_json_put(job, "notes", json_incref(r->notes)));
  EP_TRY(ep_json_put(job, "found", json_incref(r->found)));
  return ep_json_put(job, "seconds", json_real(seconds));
}

/* runs it; what is wrong with the claim's own work becomes its `error` */
static ep_status run_claim(json_t *job, const ep_claim *c, ep_claim_size size,
                           const ep_run_config *run) {
  ep_claim_result r;
  EP_TRY(ep_claim_result_new(&r));
  const double begin = omp_get_wtime();
  const ep_status check = c->check(&r, size, run);
  ep_status st = check;
  if (check != EP_ERR_INTERRUPTED) {
    if (check) r.pass = false;
    st = check ? ep_json_put(job, "error", json_string(ep_last_error())) : EP_OK;
    if (!st) st = keep(job, &r, omp_get_wtime() - begin);
  }
  ep_claim_result_free(&r);
  return st;
}

/* A file of a data set, packed or not. */
static void hash_file(uint64_t *hash, const char *folder, const char *name) {
  unsigned char bytes[1 << 14];
  char path[1300];
  size_t n;
  for (int packed = 0; packed < 2; packed++) {
    snprintf(path, sizeof path, "%s/%s%s", folder, name, packed ? ".gz" : "");
    FILE *in = ep_file_stream(path);
    while (in && (n = fread(bytes, 1, sizeof bytes, in)) > 0) *hash = ep_hash(*hash, bytes, n);
    if (in) fclose(in);
  }
}

/* What the data sets that claims of this size read hold, to the bit; a set that is not there counts as nothing. */
static void print_data(char print[20], ep_claim_size size) {
  uint64_t hash = EP_HASH_START;
  char folder[1024];
  const ep_dataset_entry *set;
  for (int i = 0; size != EP_CLAIM_QUICK && (set = ep_dataset_list(i)); i++) {
    if (strcmp(set->name, "mnist") != 0 && strcmp(set->name, "fashion") != 0) continue;
    if (!ep_dataset_folder(folder, set->name)) continue;
    for (int k = 0; k < EP_DATASET_FILES && set->file[k].name; k++)
      hash_file(&hash, folder, set->file[k].name);
  }
  snprintf(print, 20, "%016llx", (unsigned long long)hash);
}

/* everything that decides the numbers of a claim */
static ep_status job_path(char path[1200], const char *folder, const ep_claim *c,
                          ep_claim_size size, const ep_run_config *run, const char *data) {
  char name[40];
  json_t *settings =
      json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "id", c->id, "criterion", c->criterion,
                "size", ep_claim_size_name(size), "seed", (json_int_t)run->seed, "precision",
                run->precision, "version", ep_version(), "data", data);
  EP_CHECK(settings, EP_ERR_NOMEM, "no memory for the settings");
  const ep_status st = ep_jobs_fingerprint(name, settings);
  json_decref(settings);
  if (!st) snprintf(path, 1200, "%.1000s/jobs/%s-%s.json", folder, name, c->id);
  return st;
}

/* a finished claim from its file; NULL: it is to be run */
static json_t *finished(const char *path) {
  json_t *job = ep_jobs_read(path);
  if (json_is_object(json_object_get(job, "measured")) &&
      json_is_array(json_object_get(job, "figures")) &&
      json_is_number(json_object_get(job, "seconds")) &&
      json_is_string(json_object_get(job, "paper")))
    return job;
  json_decref(job);
  return NULL;
}

/* from its file, or run and written there; a claim that could not run is tried again next time. Its parts are beside it
 * until it is finished. */
static ep_status one_job(json_t *jobs, const ep_claim *c, ep_claim_size size,
                         const ep_run_config *run, const char *folder, progress *p) {
  char path[1200], parts[1240];
  EP_TRY(job_path(path, folder, c, size, run, p->data));
  json_t *job = finished(path);
  if (job) {
    EP_TRY(ep_json_append(jobs, job));
    return put_outcome(job, c);
  }
  snprintf(parts, sizeof parts, "%s.parts", path);
  const ep_run_hooks hooks = {.progress = tell, .user = p, .stop = p->outer.stop, .parts = parts};
  ep_run_set_hooks(ep_run_current(), &hooks);
  p->here = c->seconds[size];
  job = words_of(c);
  EP_TRY(ep_json_append(jobs, job));
  EP_TRY(run_claim(job, c, size, run));
  EP_TRY(put_outcome(job, c));
  p->before += p->here;
  p->here = p->within = 0;
  p->stage[0] = '\0';
  if (json_object_get(job, "error")) return EP_OK;
  EP_TRY(ep_jobs_write(path, job));
  ep_folder_remove(parts);
  return EP_OK;
}

/* what is not there yet */
static ep_status plan(progress *p, const ep_claim *const *claims, int count, ep_claim_size size,
                      const ep_run_config *run, const char *folder) {
  char path[1200];
  for (int i = 0; i < count; i++) {
    EP_TRY(job_path(path, folder, claims[i], size, run, p->data));
    json_t *job = finished(path);
    json_decref(job);
    if (job) continue;
    p->all += claims[i]->seconds[size];
    p->count++;
  }
  return EP_OK;
}

/* ---- lists, without running anything */

static ep_status list_claims(json_t *list, const ep_claim *const *claims, int count) {
  for (int i = 0; i < count; i++) {
    json_t *row = words_of(claims[i]);
    EP_TRY(ep_json_append(list, row));
    EP_TRY(ep_json_put(row, "outcome", json_string(claims[i]->outcome)));
  }
  return EP_OK;
}

ep_status ep_claims_list(json_t **out, const ep_claim *const *claims, int count) {
  *out = json_array();
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a list");
  const ep_status st = list_claims(*out, claims, count);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

static const ep_claim *claim_named(const ep_paper *p, const char *id) {
  for (const ep_claim *c = p->claims; c->id; c++)
    if (strcmp(c->id, id) == 0) return c;
  return NULL;
}

static json_t *statement_row(const ep_paper *p, const char *where, const char *by,
                             const char *outcome, const char *note) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s}", "paper", p->name, "where", where, "by", by,
                   "outcome", outcome, "note", note);
}

/* a paper without a table of its own: its claims */
static ep_status list_paper(json_t *list, const ep_paper *p) {
  for (const ep_statement *s = p->statements; s && s->where; s++) {
    const ep_claim *c = claim_named(p, s->by);
    const char *outcome = s->outcome ? s->outcome : c ? c->outcome : "";
    EP_TRY(ep_json_append(list, statement_row(p, s->where, s->by, outcome, s->note)));
  }
  for (const ep_claim *c = p->claims; !p->statements && c->id; c++)
    EP_TRY(ep_json_append(list, statement_row(p, c->source, c->id, c->outcome, c->says)));
  return EP_OK;
}

ep_status ep_statements_list(json_t **out, const ep_claim *const *claims, int count) {
  *out = json_array();
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a list");
  ep_status st = EP_OK;
  for (const ep_paper *p = ep_papers; !st && p->name; p++) {
    bool asked = false;
    for (int i = 0; i < count; i++) asked = asked || paper_of(claims[i]) == p;
    if (asked) st = list_paper(*out, p);
  }
  if (st) json_decref(*out), *out = NULL;
  return st;
}

/* ---- all of them */

static ep_status sum_up(json_t *result, const json_t *jobs) {
  size_t i;
  json_t *job;
  int passed = 0, errors = 0;
  double seconds = 0;
  json_array_foreach(jobs, i, job) {
    passed += json_is_true(json_object_get(job, "pass"));
    errors += json_object_get(job, "error") != NULL;
    seconds += json_number_value(json_object_get(job, "seconds"));
  }
  EP_TRY(ep_json_put(result, "passed", json_integer(passed)));
  EP_TRY(ep_json_put(result, "failed", json_integer((json_int_t)i - passed - errors)));
  EP_TRY(ep_json_put(result, "errors", json_integer(errors)));
  return ep_json_put(result, "seconds", json_real(seconds));
}

static ep_status reproduce(json_t *result, const ep_claim *const *claims, int count,
                           ep_claim_size size, const ep_run_config *run, const char *folder,
                           progress *p) {
  char jobs_folder[1200];
  json_t *jobs = json_array();
  EP_TRY(ep_json_put(result, "size", json_string(ep_claim_size_name(size))));
  EP_TRY(ep_json_put(result, "seed", json_integer(run->seed)));
  EP_TRY(ep_json_put(result, "precision", json_string(run->precision)));
  EP_TRY(ep_json_put(result, "version", json_string(ep_version())));
  EP_TRY(ep_json_put(result, "claims", jobs));
  snprintf(jobs_folder, sizeof jobs_folder, "%.1000s/jobs", folder);
  EP_TRY(ep_folder_make(jobs_folder));
  print_data(p->data, size);
  EP_TRY(plan(p, claims, count, size, run, folder));
  ep_status st = EP_OK;
  for (int i = 0; !st && i < count; i++) {
    st = ep_run_stopped() ? EP_FAIL(EP_ERR_INTERRUPTED, "interrupted") : EP_OK;
    if (!st) st = one_job(jobs, claims[i], size, run, folder, p);
  }
  EP_TRY(st);
  return sum_up(result, jobs);
}

ep_status ep_reproduce(json_t **result, const ep_claim *const *claims, int count,
                       ep_claim_size size, const ep_run_config *run, const char *folder) {
  *result = json_object();
  EP_CHECK(*result, EP_ERR_NOMEM, "no memory for results");
  ep_run *const mine = ep_run_current(); /* its hooks are ours until the end */
  progress p = {.outer = ep_run_set_hooks(mine, NULL)};
  const ep_run_hooks hooks = {.progress = tell, .user = &p, .stop = p.outer.stop};
  ep_run_set_hooks(mine, &hooks);
  ep_status st = reproduce(*result, claims, count, size, run, folder, &p);
  ep_run_set_hooks(mine, &p.outer);
  if (st == EP_ERR_INTERRUPTED)
    st = EP_FAIL(st,
                 "interrupted; finished claims are in %s/jobs: the same command goes on from there",
                 folder);
  if (st) json_decref(*result), *result = NULL;
  return st;
}
