/* reproduce: claims as jobs, kept in files as they end. */
#include "study/jobs.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"

#include <eigenpair/dataset.h>
#include <eigenpair/machine.h>
#include <eigenpair/reproduce.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
  uint64_t data;            /* what the data sets hold that any claim may read */
  const char *kept;         /* folder of results of any build, or NULL */
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
  char command[128];
  snprintf(command, sizeof command, "eigenpair reproduce %s [--quick]", c->id);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:s}", "id", c->id, "paper",
                   paper_of(c)->name, "source", c->source, "says", c->says, "criterion",
                   c->criterion, "control", c->control, "mutation", c->mutation, "command",
                   command);
}

const char *ep_claim_outcome_name(ep_claim_outcome outcome) {
  static const char *const names[] = {[EP_CLAIM_PASS] = "pass",
                                      [EP_CLAIM_FAIL] = "fail",
                                      [EP_CLAIM_ANSWERED] = "answered",
                                      [EP_CLAIM_ERROR] = "error"};
  return names[outcome];
}

ep_claim_outcome ep_checked_outcome(const ep_checked *c) {
  if (c->error[0]) return EP_CLAIM_ERROR;
  if (!c->result.pass) return EP_CLAIM_FAIL;
  return c->claim->question ? EP_CLAIM_ANSWERED : EP_CLAIM_PASS;
}

static ep_status put_checked(json_t *job, const ep_checked *c) {
  const ep_claim_result *r = &c->result;
  json_t *measured;
  EP_TRY(ep_json_put(job, "pass", json_boolean(r->pass)));
  EP_TRY(ep_claim_measured_to_json(&measured, r));
  EP_TRY(ep_json_put(job, "measured", measured));
  EP_TRY(ep_json_put(job, "figures", json_incref(r->figures)));
  EP_TRY(ep_json_put(job, "notes", json_incref(r->notes)));
  EP_TRY(ep_json_put(job, "found", json_incref(r->found)));
  EP_TRY(ep_json_put(job, "seconds", json_real(c->seconds)));
  EP_TRY(ep_json_put(job, "made", json_string(c->made)));
  if (c->error[0]) EP_TRY(ep_json_put(job, "error", json_string(c->error)));
  return ep_json_put(job, "outcome", json_string(ep_claim_outcome_name(ep_checked_outcome(c))));
}

ep_status ep_checked_to_json(json_t **out, const ep_checked *c) {
  *out = words_of(c->claim);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a result");
  const ep_status st = put_checked(*out, c);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

long ep_claim_seed(long seed) { /* odd: no two of the 2^53 seeds meet */
  return (long)((uint64_t)seed * 1000003 & ((UINT64_C(1) << 53) - 1));
}

/* runs it; what is wrong with the claim's own work becomes its error */
static ep_status run_claim(ep_checked *c, ep_claim_size size, const ep_run_config *run) {
  const double begin = omp_get_wtime();
  ep_run_config own = *run;
  own.seed = ep_claim_seed(run->seed);
  EP_TRY(ep_claim_result_new(&c->result));
  const ep_status st = c->claim->check(&c->result, size, &own);
  if (st == EP_ERR_INTERRUPTED) return st;
  if (st) {
    snprintf(c->error, sizeof c->error, "%s", ep_last_error());
    c->result.pass = false;
  }
  c->seconds = omp_get_wtime() - begin;
  snprintf(c->made, sizeof c->made, "%s, kernels %s, %d threads, eigenpair %s, build %.8s",
           ep_machine_processor(), ep_machine_kernels(), ep_run_threads(), ep_version(),
           ep_machine_build());
  return EP_OK;
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

/* What a data set holds, to the bit; one that is not there counts as nothing. */
static void hash_set(uint64_t *hash, const char *name) {
  char folder[1024];
  const ep_dataset_entry *set = ep_dataset_find(name);
  if (!set || !ep_dataset_folder(folder, name)) return;
  for (int k = 0; k < EP_DATASET_FILES && set->file[k].name; k++)
    hash_file(hash, folder, set->file[k].name);
}

/* those that any claim may read past the quick size; a row names others, which are larger */
static uint64_t hash_common(ep_claim_size size) {
  uint64_t hash = EP_HASH_START;
  if (size == EP_CLAIM_QUICK) return hash;
  hash_set(&hash, "mnist");
  hash_set(&hash, "fashion");
  return hash;
}

/* everything that decides the numbers of a claim */
static ep_status job_path(char path[1200], const char *folder, const ep_claim *c,
                          ep_claim_size size, const ep_run_config *run, uint64_t common) {
  char name[40], data[20];
  if (c->data && size != EP_CLAIM_QUICK) hash_set(&common, c->data);
  snprintf(data, sizeof data, "%016llx", (unsigned long long)common);
  json_t *settings =
      json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s}", "id", c->id, "criterion", c->criterion,
                "size", ep_claim_size_name(size), "seed", (json_int_t)run->seed, "precision",
                ep_precision_name(run->precision), "version", ep_version(), "data", data);
  EP_CHECK(settings, EP_ERR_NOMEM, "no memory for the settings");
  const ep_status st = ep_jobs_fingerprint(name, settings);
  json_decref(settings);
  if (!st) snprintf(path, 1200, "%.1000s/jobs/%s-%s.json", folder, name, c->id);
  return st;
}

/* a part of a job's file, which becomes the claim's */
static bool take(json_t **to, const json_t *job, const char *name, json_type type) {
  json_t *value = json_object_get(job, name);
  if (!value || json_typeof(value) != type) return false;
  json_decref(*to);
  *to = json_incref(value);
  return true;
}

/* what a file says becomes the claim's; false: it is not whole */
static bool take_job(ep_checked *c, const json_t *job) {
  const json_t *seconds = json_object_get(job, "seconds"),
               *measured = json_object_get(job, "measured");
  ep_claim_result *r = &c->result;
  const bool whole =
      json_is_number(seconds) && !json_object_get(job, "error") && json_is_object(measured) &&
      !ep_claim_measured_from_json(r, measured) && take(&r->figures, job, "figures", JSON_ARRAY) &&
      take(&r->notes, job, "notes", JSON_ARRAY) && take(&r->found, job, "found", JSON_ARRAY);
  const char *made = json_string_value(json_object_get(job, "made"));
  r->pass = json_is_true(json_object_get(job, "pass"));
  c->seconds = json_number_value(seconds);
  snprintf(c->made, sizeof c->made, "%s", made ? made : "");
  if (!whole) ep_claim_result_free(r);
  return whole;
}

/* a finished claim from its file; false: it is to be run */
static bool finished(ep_checked *c, const char *path) {
  json_t *job = ep_jobs_read(path);
  const bool whole = take_job(c, job);
  json_decref(job);
  return whole;
}

static ep_status write_job(const ep_checked *c, const char *path) {
  json_t *job;
  EP_TRY(ep_checked_to_json(&job, c));
  const ep_status st = ep_jobs_write(path, job);
  json_decref(job);
  return st;
}

/* ---- results that are kept, of any build and machine */

/* what a kept result is an answer to */
static json_t *question(const ep_claim *c, ep_claim_size size, const ep_run_config *run) {
  return json_pack("{s:s, s:s, s:s, s:I, s:s}", "id", c->id, "criterion", c->criterion, "size",
                   ep_claim_size_name(size), "seed", (json_int_t)run->seed, "precision",
                   ep_precision_name(run->precision));
}

static void kept_path(char path[1200], const char *folder, const ep_claim *c) {
  snprintf(path, 1200, "%.1000s/%.100s.json", folder, c->id);
}

/* false: it is not there. Hours of work are not written over: what answers something else is an error. */
static ep_status was_kept(bool *is, ep_checked *c, ep_claim_size size, const ep_run_config *run,
                          const char *folder) {
  char path[1200];
  *is = false;
  if (!folder) return EP_OK;
  kept_path(path, folder, c->claim);
  json_t *job = ep_jobs_read(path), *asked = question(c->claim, size, run);
  const bool there = access(path, F_OK) == 0;
  c->kept = *is = asked && json_equal(json_object_get(job, "asked"), asked) && take_job(c, job);
  json_decref(asked);
  json_decref(job);
  EP_CHECK(*is || !there, EP_ERR_INPUT,
           "%s is not a result of this criterion, size, seed and precision: remove it, or give "
           "--kept another folder",
           path);
  return EP_OK;
}

static ep_status put_kept(const ep_checked *c, ep_claim_size size, const ep_run_config *run,
                          const char *folder) {
  char path[1200];
  json_t *job;
  kept_path(path, folder, c->claim);
  EP_TRY(ep_checked_to_json(&job, c));
  ep_status st = ep_json_put(job, "asked", question(c->claim, size, run));
  if (!st) st = ep_jobs_write(path, job);
  json_decref(job);
  return st;
}

/* Its parts are beside its file until it is finished; a claim that could not run is tried again next time. */
static ep_status run_job(ep_checked *c, ep_claim_size size, const ep_run_config *run,
                         const char *path, progress *p) {
  char kept[1200], parts[1240];
  if (p->kept) kept_path(kept, p->kept, c->claim);
  snprintf(parts, sizeof parts, "%s.parts", p->kept ? kept : path);
  const ep_run_hooks hooks = {.progress = tell, .user = p, .stop = p->outer.stop, .parts = parts};
  ep_run_set_hooks(ep_run_current(), &hooks);
  p->here = c->claim->seconds[size];
  EP_TRY(run_claim(c, size, run));
  p->before += p->here;
  p->here = p->within = 0;
  p->stage[0] = '\0';
  if (c->error[0]) return EP_OK;
  EP_TRY(write_job(c, path));
  ep_folder_remove(parts);
  return EP_OK;
}

/* from a file, or run and written there */
static ep_status one_job(ep_checked *c, ep_claim_size size, const ep_run_config *run,
                         const char *folder, progress *p) {
  char path[1200];
  bool there;
  EP_TRY(was_kept(&there, c, size, run, p->kept));
  if (there) return EP_OK;
  EP_TRY(job_path(path, folder, c->claim, size, run, p->data));
  if (!finished(c, path)) EP_TRY(run_job(c, size, run, path, p));
  return p->kept && !c->error[0] ? put_kept(c, size, run, p->kept) : EP_OK;
}

/* what is not there yet */
static ep_status plan(progress *p, const ep_claim *const *claims, int count, ep_claim_size size,
                      const ep_run_config *run, const char *folder) {
  char path[1200];
  for (int i = 0; i < count; i++) {
    ep_checked c = {.claim = claims[i]};
    EP_TRY(job_path(path, folder, claims[i], size, run, p->data));
    bool there;
    EP_TRY(was_kept(&there, &c, size, run, p->kept));
    there = there || finished(&c, path);
    ep_claim_result_free(&c.result);
    if (there) continue;
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

static bool is_asked(const ep_paper *p, const ep_claim *const *claims, int count) {
  for (int i = 0; i < count; i++)
    if (paper_of(claims[i]) == p) return true;
  return false;
}

/* a paper without a table of its own: its claims */
static bool statement_of(ep_listed *out, const ep_paper *p, int i) {
  const ep_statement *s = p->statements;
  const ep_claim *c = p->claims;
  out->paper = p;
  if (!s) {
    while (i > 0 && c->id) c++, i--;
    out->statement = (ep_statement){c->source, c->id, c->outcome, c->says};
    return c->id;
  }
  while (i > 0 && s->where) s++, i--;
  out->statement = *s;
  if (!s->where) return false;
  c = claim_named(p, s->by);
  if (!s->outcome) out->statement.outcome = c ? c->outcome : "";
  return true;
}

bool ep_statement_at(ep_listed *out, int i, const ep_claim *const *claims, int count) {
  for (const ep_paper *p = ep_papers; p->name; p++) {
    if (!is_asked(p, claims, count)) continue;
    int k = 0;
    for (; statement_of(out, p, k); k++)
      if (k == i) return true;
    i -= k;
  }
  return false;
}

ep_status ep_statements_list(json_t **out, const ep_claim *const *claims, int count) {
  ep_listed one;
  *out = json_array();
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a list");
  ep_status st = EP_OK;
  for (int i = 0; !st && ep_statement_at(&one, i, claims, count); i++) {
    const ep_statement *s = &one.statement;
    st = ep_json_append(
        *out, json_pack("{s:s, s:s, s:s, s:s, s:s}", "paper", one.paper->name, "where", s->where,
                        "by", s->by, "outcome", s->outcome, "note", s->note));
  }
  if (st) json_decref(*out), *out = NULL;
  return st;
}

/* ---- all of them */

static ep_status reproduce(ep_reproduced *out, const ep_claim *const *claims, int count,
                           const ep_run_config *run, const char *folder, progress *p) {
  char jobs_folder[1200];
  out->claim = ep_alloc(count, sizeof *out->claim);
  EP_CHECK(out->claim, EP_ERR_NOMEM, "no memory for results");
  snprintf(jobs_folder, sizeof jobs_folder, "%.1000s/jobs", folder);
  EP_TRY(ep_folder_make(jobs_folder));
  if (p->kept) EP_TRY(ep_folder_make(p->kept));
  p->data = hash_common(out->size);
  EP_TRY(plan(p, claims, count, out->size, run, folder));
  for (int i = 0; i < count; i++) {
    EP_CHECK(!ep_run_stopped(), EP_ERR_INTERRUPTED, "interrupted");
    ep_checked *c = &out->claim[out->count++];
    c->claim = claims[i];
    c->paper = paper_of(claims[i]);
    EP_TRY(one_job(c, out->size, run, folder, p));
  }
  return EP_OK;
}

void ep_reproduced_free(ep_reproduced *r) {
  for (int i = 0; i < r->count; i++) ep_claim_result_free(&r->claim[i].result);
  ep_release(r->claim);
  *r = (ep_reproduced){0};
}

ep_status ep_reproduce(ep_reproduced *out, const ep_claim *const *claims, int count,
                       ep_claim_size size, const ep_run_config *run, const char *folder,
                       const char *kept) {
  *out = (ep_reproduced){.size = size, .seed = run->seed, .precision = run->precision};
  ep_run *const mine = ep_run_current(); /* its hooks are ours until the end */
  progress p = {.outer = ep_run_set_hooks(mine, NULL), .kept = kept};
  const ep_run_hooks hooks = {.progress = tell, .user = &p, .stop = p.outer.stop};
  ep_run_set_hooks(mine, &hooks);
  ep_status st = reproduce(out, claims, count, run, folder, &p);
  ep_run_set_hooks(mine, &p.outer);
  if (st == EP_ERR_INTERRUPTED)
    st = EP_FAIL(st,
                 "interrupted; finished claims are in %s/jobs: the same command goes on from there",
                 folder);
  if (st) ep_reproduced_free(out);
  return st;
}
