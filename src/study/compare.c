/* compare: jobs over widths and seeds, kept in files as they end, and their summary. */
#include "study/compare.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const ep_option ep_compare_options[] = {EP_COMPARE_OPTIONS(EP_OPT_ROW, ep_compare_config){0}};

/* ---- lists in options */

/* calls use(user, word) for every word of a list with commas */
static ep_status words(const char *list, ep_status (*use)(void *user, const char *word),
                       void *user) {
  while (*list) {
    char word[64];
    const size_t length = strcspn(list, ",");
    snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), list);
    EP_TRY(use(user, word));
    list += length + (list[length] == ',');
  }
  return EP_OK;
}

bool ep_compare_has(const ep_compare_config *config, const char *method) {
  const size_t length = strlen(method);
  for (const char *at = config->methods; (at = strstr(at, method)); at += length)
    if ((at == config->methods || at[-1] == ',') && (at[length] == ',' || !at[length])) return true;
  return false;
}

static ep_status check_method(void *user, const char *word) {
  int which;
  (void)user;
  return ep_options_name(&which, NULL, "--methods", word, ep_method_name);
}

enum { MOST_WIDTHS = 32 };
typedef struct {
  int count;
  long width[MOST_WIDTHS];
} width_list;

static ep_status add_width(void *user, const char *word) {
  width_list *w = user;
  char *end;
  const long width = strtol(word, &end, 10);
  EP_CHECK(*word && !*end && width >= 1 && width <= 10000000, EP_ERR_ARG,
           "--widths: '%s' is no width; write such as 100,1000,10000", word);
  EP_CHECK(w->count < MOST_WIDTHS, EP_ERR_ARG, "--widths names more than %d", MOST_WIDTHS);
  EP_CHECK(w->count == 0 || width > w->width[w->count - 1], EP_ERR_ARG,
           "--widths must grow: %ld comes after %ld", width, w->width[w->count - 1]);
  w->width[w->count++] = width;
  return EP_OK;
}

/* ---- running */

typedef struct {
  const ep_compare_config *config;
  ep_setup base;
  char folder[1024], name[40];
  width_list widths;
  json_t *jobs;
  double work, all; /* done and in all, a job counts by its width */
  ep_points points;
  ep_dataset train, test;
  bool labelled, tested;
  long first; /* seed */
} comparison;

static ep_status load_labelled(ep_dataset *set, const comparison *c, const char *name,
                               long samples) {
  ep_data_config data = c->base.data;
  snprintf(data.data, sizeof data.data, "%.1023s", name);
  data.samples = samples;
  EP_TRY(ep_dataset_load(set, &data, &c->base.run));
  if (c->points.unit) ep_scale_to_unit(&set->X);
  return EP_OK;
}

/* the data sets that come with a test part */
static bool has_test_part(const char *name) {
  return strcmp(name, "digits") == 0 || strcmp(name, "mnist") == 0 || strcmp(name, "fashion") == 0;
}

static ep_status load_test(comparison *c) {
  char name[1100];
  const long most = c->config->test_samples;
  snprintf(name, sizeof name, "%s", c->config->test);
  if (!*name && has_test_part(c->base.data.data))
    snprintf(name, sizeof name, "%s:test", c->base.data.data);
  if (!*name) return EP_OK;
  EP_TRY(load_labelled(&c->test, c, name, 0));
  c->tested = true;
  if (c->test.X.rows > most) c->test.X.rows = most;
  EP_CHECK(c->test.labels, EP_ERR_INPUT, "%s has no labels to judge embeddings by", name);
  return EP_OK;
}

static void drop_data(comparison *c) {
  ep_points_free(&c->points);
  ep_dataset_free(&c->train);
  ep_dataset_free(&c->test);
  c->points = (ep_points){0};
  c->train = c->test = (ep_dataset){0};
  c->labelled = c->tested = false;
}

static ep_status load_data(comparison *c, long seed) {
  ep_objective o;
  if (c->points.X.data) return EP_OK;
  c->base.run.seed = seed;
  EP_TRY(ep_objective_parse(&o, &c->base.objective));
  EP_TRY(ep_points_load(&c->points, &c->base.data, &c->base.pair,
                        ep_objective_positives_only(&o) ? "positives" : "triplet", &c->base.run));
  if (!c->base.data.data[0]) return EP_OK; /* ready pairs have no labels */
  EP_TRY(load_labelled(&c->train, c, c->base.data.data, c->base.data.samples));
  c->labelled = c->train.labels != NULL;
  return c->labelled ? load_test(c) : EP_OK;
}

/* A finished job from its file, if it is that of this width (none: null) and seed; NULL: it is to be run. */
static json_t *finished(const char *path, long width, long seed) {
  json_t *job = ep_jobs_read(path);
  const json_t *w = json_object_get(job, "width"), *s = json_object_get(job, "seed");
  if ((width < 0 ? json_is_null(w) : json_is_integer(w) && json_integer_value(w) == width) &&
      json_is_integer(s) && json_integer_value(s) == seed &&
      json_object_size(json_object_get(job, "methods")) > 0)
    return job;
  json_decref(job);
  return NULL;
}

/* width < 0: the methods without one */
static ep_status one_job(comparison *c, long width, long seed, double cost) {
  char path[1200];
  json_t *job = NULL;
  snprintf(path, sizeof path, width < 0 ? "%s/%s-infinite-%ld.json" : "%s/%s-%ld-%ld.json",
           c->folder, c->name, width < 0 ? seed : width, seed);
  const double begin = c->work / c->all;
  c->work += cost;
  if (!(job = finished(path, width, seed))) {
    EP_TRY(load_data(c, seed));
    const ep_job one = {
        .config = c->config,
        .base = &c->base,
        .points = &c->points,
        .train = c->labelled ? &c->train : NULL,
        .test = c->tested ? &c->test : NULL,
        .width = width < 0 ? 1 : width,
        .seed = seed,
        .show = seed == c->first && (width < 0 || width == c->widths.width[c->widths.count - 1]),
        .begin = begin,
        .end = c->work / c->all};
    EP_TRY(ep_compare_job(&job, &one, width < 0));
    const ep_status st = ep_jobs_write(path, job);
    if (st) json_decref(job);
    EP_TRY(st);
  }
  return ep_json_append(c->jobs, job);
}

static ep_status all_jobs(comparison *c) {
  const long runs = c->config->runs;
  for (int w = 0; w < c->widths.count; w++) c->all += (double)c->widths.width[w] * (double)runs;
  const double flat = 0.05 * c->all / (double)runs;
  c->all += flat * (double)runs;
  for (long seed = c->first; seed < c->first + runs; seed++) {
    if (seed > c->first) drop_data(c);
    if (ep_compare_has(c->config, "infinite")) EP_TRY(one_job(c, -1, seed, flat));
    for (int w = 0; w < c->widths.count; w++)
      EP_TRY(one_job(c, c->widths.width[w], seed, (double)c->widths.width[w]));
  }
  return EP_OK;
}

static ep_status settings(json_t **out, const comparison *c) {
  EP_TRY(ep_setup_to_json(out, &c->base));
  static const char *const free_of[] = {"threads", "memory", "method", "width", "out"};
  for (int i = 0; i < 5; i++) json_object_del(*out, free_of[i]);
  const ep_status st = ep_options_to_json(*out, ep_compare_options, c->config);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

static uint64_t hash_set(uint64_t h, const ep_dataset *set) {
  const size_t n = (size_t)set->X.rows;
  if (!set->X.data) return h;
  h = ep_hash(h, set->X.data, n * (size_t)set->X.cols * ep_sizeof(set->X.prec));
  return set->labels ? ep_hash(h, set->labels, n * sizeof *set->labels) : h;
}

/* Jobs are named by everything that decides their numbers: settings, version, and what the data hold, not how they are
 * called. */
static ep_status name_jobs(comparison *c, const json_t *config) {
  uint64_t points;
  EP_TRY(ep_points_fingerprint(&points, &c->points));
  const uint64_t sets[] = {points, hash_set(EP_HASH_START, &c->train),
                           hash_set(EP_HASH_START, &c->test)};
  char data[40];
  snprintf(data, sizeof data, "%016llx",
           (unsigned long long)ep_hash(EP_HASH_START, sets, sizeof sets));
  json_t *all =
      json_pack("{s:O, s:s, s:s}", "config", config, "data", data, "version", ep_version());
  EP_CHECK(all, EP_ERR_NOMEM, "no memory for the settings");
  const ep_status st = ep_jobs_fingerprint(c->name, all);
  json_decref(all);
  return st;
}

static ep_status compare(json_t *result, comparison *c, const char *folder) {
  json_t *config;
  c->first = c->base.run.seed;
  EP_TRY(words(c->config->methods, check_method, NULL));
  EP_TRY(words(c->config->widths, add_width, &c->widths));
  EP_CHECK(c->widths.count > 0 && c->config->methods[0], EP_ERR_ARG,
           "--widths and --methods name at least one each");
  EP_TRY(settings(&config, c));
  EP_TRY(ep_json_put(result, "config", config));
  EP_TRY(load_data(c, c->first));
  EP_TRY(name_jobs(c, config));
  snprintf(c->folder, sizeof c->folder, "%.1000s/jobs", folder);
  EP_TRY(ep_folder_make(c->folder));
  c->jobs = json_array();
  EP_TRY(ep_json_put(result, "jobs", c->jobs));
  EP_TRY(all_jobs(c));
  EP_TRY(ep_json_put(result, "version", json_string(ep_version())));
  return ep_compare_summary(result, c->config);
}

ep_status ep_compare(json_t **result, const ep_compare_config *config, const ep_setup *base,
                     const char *folder) {
  comparison *c = ep_alloc(1, sizeof *c);
  *result = json_object();
  EP_CHECK(c && *result, EP_ERR_NOMEM, "no memory for a comparison");
  c->config = config;
  c->base = *base;
  ep_status st = compare(*result, c, folder);
  if (st == EP_ERR_INTERRUPTED)
    st = EP_FAIL(st, "interrupted; finished jobs are in %s: the same command goes on from there",
                 c->folder);
  drop_data(c);
  ep_release(c);
  if (st) json_decref(*result), *result = NULL;
  return st;
}
