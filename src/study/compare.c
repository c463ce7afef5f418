/* compare: jobs over widths and seeds, kept in files as they end, and their summary. */
#include "study/compare.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/mem.h"
#include "data/table.h"
#include "report/pack.h"

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

typedef struct {
  int count;
  long width[EP_MOST_WIDTHS];
} width_list;

static ep_status add_width(void *user, const char *word) {
  width_list *w = user;
  char *end;
  const long width = strtol(word, &end, 10);
  EP_CHECK(*word && !*end && width >= 1 && width <= 10000000, EP_ERR_ARG,
           "--widths: '%s' is no width; write such as 100,1000,10000", word);
  EP_CHECK(w->count < EP_MOST_WIDTHS, EP_ERR_ARG, "--widths names more than %d", EP_MOST_WIDTHS);
  EP_CHECK(w->count == 0 || width > w->width[w->count - 1], EP_ERR_ARG,
           "--widths must grow: %ld comes after %ld", width, w->width[w->count - 1]);
  w->width[w->count++] = width;
  return EP_OK;
}

/* ---- data */

typedef struct {
  const ep_compare_config *config;
  ep_setup base;
  char folder[1024], name[40];
  width_list widths;
  json_t *jobs;
  ep_points points, unseen; /* to fit, and to score on */
  ep_dataset train, test;
  bool labelled, tested;
  bool seen;  /* unseen are the points themselves: there were too few pairs to keep some back */
  long first; /* seed */
  ep_compare_progress progress;
} comparison;

static ep_status load_labelled(ep_dataset *set, const comparison *c, const char *name,
                               const char *labels, long samples) {
  ep_data_config data = c->base.data;
  snprintf(data.data, sizeof data.data, "%.1023s", name);
  snprintf(data.labels, sizeof data.labels, "%.1023s", labels);
  data.samples = samples;
  EP_TRY(ep_dataset_load_as(set, &data, &c->base.run, c->points.table));
  if (c->points.unit) ep_scale_to_unit(&set->X);
  return EP_OK;
}

/* data to judge on that the fits do not see; empty: none */
static void test_name(char name[1100], const comparison *c) {
  const ep_dataset_entry *set = ep_dataset_find(c->base.data.data);
  snprintf(name, 1100, "%s", c->config->test);
  if (!*name && set && set->judged) snprintf(name, 1100, "%s:test", c->base.data.data);
}

static ep_status load_test(comparison *c) {
  char name[1100];
  const long most = c->config->test_samples;
  test_name(name, c);
  if (!*name) return EP_OK;
  EP_TRY(load_labelled(&c->test, c, name, c->config->test_labels, 0));
  c->tested = true;
  if (c->test.X.rows > most) c->test.X.rows = most;
  EP_CHECK(c->test.labels, EP_ERR_INPUT,
           "%s has no labels to judge embeddings by: give them with --test-labels", name);
  EP_CHECK(!c->train.classes == !c->test.classes, EP_ERR_INPUT,
           "labels are words in one of training and test data, numbers in the other");
  return c->test.classes
             ? ep_labels_rename(c->test.labels, c->test.X.rows, c->train.classes, c->test.classes)
             : EP_OK;
}

/* the anchors that `keep` has, from 0 to count, with the points they need: out owns its points */
static ep_status take(ep_points *out, ep_work *work, const ep_points *from, ptrdiff_t *anchor,
                      ptrdiff_t count) {
  ptrdiff_t *point, *place;
  EP_TRY(ep_work_get(work, &point, from->pairs.points, sizeof *point));
  EP_TRY(ep_work_get(work, &place, from->pairs.points, sizeof *place));
  for (ptrdiff_t i = 0; i < from->pairs.points; i++) place[i] = -1;
  *out = (ep_points){.shape = from->shape, .unit = from->unit};
  EP_TRY(ep_pairs_batch(&out->pairs, point, &from->pairs, anchor, count, place));
  EP_TRY(ep_mat_new(&out->X, from->X.prec, out->pairs.points, from->X.cols));
  return ep_points_rows(&out->X, from, point, 0);
}

/* every `every`-th anchor for scoring, the others to fit; every = 0: the first `most` of them for scoring */
static ep_status split(ep_points *kept, ep_points *scored, const ep_points *from, ptrdiff_t every,
                       ptrdiff_t most) {
  ep_work work = {0};
  ptrdiff_t *mine, *its, a = 0, b = 0;
  ep_status st = ep_work_get(&work, &mine, from->pairs.anchors, sizeof *mine);
  if (!st) st = ep_work_get(&work, &its, from->pairs.anchors, sizeof *its);
  for (ptrdiff_t i = 0; !st && i < from->pairs.anchors; i++)
    if (every > 0 ? i % every == every - 1 : i < most) its[b++] = i;
    else mine[a++] = i;
  if (!st && b > most) b = most;
  if (!st && kept) st = take(kept, &work, from, mine, a);
  if (!st) st = take(scored, &work, from, its, b);
  ep_work_free(&work);
  return st;
}

/* ready pairs: one in 1/share of them is kept back, where there are enough to spare */
static ep_status hold_out(comparison *c) {
  enum { ENOUGH = 50 };
  ep_points kept = {0};
  const double share = c->config->holdout;
  const ptrdiff_t n = c->points.pairs.anchors, every = share > 0 ? (ptrdiff_t)lround(1 / share) : 0;
  c->seen = every < 2 || n < ENOUGH || !ep_points_in_memory(&c->points);
  if (c->seen) return split(NULL, &c->unseen, &c->points, 0, c->config->test_samples);
  const ep_status st = split(&kept, &c->unseen, &c->points, every, c->config->test_samples);
  if (st) ep_points_free(&kept);
  EP_TRY(st);
  ep_points_free(&c->points);
  c->points = kept;
  return EP_OK;
}

static const char *default_pairs(const comparison *c) {
  ep_objective o;
  return ep_objective_parse(&o, &c->base.objective) == EP_OK && ep_objective_positives_only(&o)
             ? "positives"
             : "triplet";
}

/* pairs of the test part, or else new views of the data: drawn with a seed of their own */
static ep_status load_unseen(comparison *c) {
  ep_data_config data = c->base.data;
  ep_run_config run = c->base.run;
  ep_points all;
  char name[1100];
  test_name(name, c);
  if (*name)
    snprintf(data.data, sizeof data.data, "%.1023s", name), data.labels[0] = '\0', data.samples = 0;
  run.seed += 1000003;
  EP_TRY(ep_points_load_as(&all, &data, &c->base.pair, default_pairs(c), &run, c->points.table));
  const ep_status st = split(NULL, &c->unseen, &all, 0, c->config->test_samples);
  ep_points_free(&all);
  return st;
}

static void drop_data(comparison *c) {
  ep_points_free(&c->points);
  ep_points_free(&c->unseen);
  ep_dataset_free(&c->train);
  ep_dataset_free(&c->test);
  c->points = c->unseen = (ep_points){0};
  c->train = c->test = (ep_dataset){0};
  c->labelled = c->tested = false;
}

static ep_status load_data(comparison *c, long seed) {
  ep_objective o;
  const char *data = c->base.data.data, *labels = c->base.data.labels;
  const bool ready = !data[0];
  if (c->points.X.data) return EP_OK;
  c->base.run.seed = seed;
  EP_TRY(ep_objective_parse(&o, &c->base.objective));
  EP_TRY(ep_points_load(NULL, &c->points, &c->base.data, &c->base.pair, default_pairs(c),
                        &c->base.run));
  if (!ready || labels[0]) {
    EP_TRY(load_labelled(&c->train, c, ready ? c->base.pair.anchors : data, labels,
                         c->base.data.samples));
    c->labelled = c->train.labels != NULL;
    if (c->labelled) EP_TRY(load_test(c));
  }
  return ready ? hold_out(c) : load_unseen(c);
}

/* ---- running */

/* A finished job from its file, if it is that of this width and seed, with what belongs to the last width; NULL: it is to
 * be run. */
static json_t *finished(const char *path, long width, long seed, bool last) {
  json_t *job = ep_jobs_read(path);
  const json_t *w = json_object_get(job, "width"), *s = json_object_get(job, "seed");
  if (json_is_integer(w) && json_integer_value(w) == width && json_is_integer(s) &&
      json_integer_value(s) == seed && json_is_object(json_object_get(job, "methods")) &&
      (!last || json_object_size(json_object_get(json_object_get(job, "free"), "methods")) > 0))
    return job;
  json_decref(job);
  return NULL;
}

/* the methods without a width are a job of their own in the result */
static ep_status add_job(json_t *jobs, json_t *job) {
  json_t *free = json_incref(json_object_get(job, "free"));
  json_object_del(job, "free");
  const ep_status st = ep_json_append(jobs, job);
  if (st) json_decref(free);
  return st || !free ? st : ep_json_append(jobs, free);
}

/* points on the unit sphere are dark: the brightest pixel of every picture becomes white */
static void to_white(const ep_mat *X) {
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double most = 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) /* no fmax: gcc 12 for arm64 stumbles over it */
      if (ep_get(X, i, j) > most) most = ep_get(X, i, j);
    for (ptrdiff_t j = 0; most > 0 && j < X->cols; j++) ep_set(X, i, j, ep_get(X, i, j) / most);
  }
}

/* What the scatter plot shows beside places: names of the classes, and pictures where the points are images. */
static ep_status add_shown(json_t *job, const comparison *c, const ep_job *one) {
  const ep_dataset *set = one->test ? one->test : one->train;
  json_t *shown = json_object(), *pictures = NULL;
  json_t *classes = c->train.classes;
  EP_TRY(ep_json_put(job, "shown", shown));
  if (classes) EP_TRY(ep_json_put(shown, "classes", json_incref(classes)));
  if (set->shape.height < 2 || set->shape.width < 2) return EP_OK;
  const ptrdiff_t n = set->X.rows < EP_SHOWN ? set->X.rows : EP_SHOWN;
  const ep_mat from = ep_mat_rows(&set->X, 0, n);
  ep_mat X;
  EP_TRY(ep_mat_new(&X, set->X.prec, n, set->X.cols));
  ep_mat_copy(&X, &from);
  to_white(&X);
  const ep_status st = ep_pack_pictures(&pictures, &X, set->shape);
  ep_mat_free(&X);
  EP_TRY(st);
  return ep_json_put(shown, "pictures", pictures);
}

static ep_status one_job(comparison *c, long width, long seed) {
  char path[1200];
  json_t *job = NULL;
  const bool last = width == c->widths.width[c->widths.count - 1];
  snprintf(path, sizeof path, "%s/%s-%ld-%ld.json", c->folder, c->name, width, seed);
  if ((job = finished(path, width, seed, last))) return add_job(c->jobs, job);
  EP_TRY(load_data(c, seed));
  const ep_job one = {.config = c->config,
                      .base = &c->base,
                      .points = &c->points,
                      .unseen = &c->unseen,
                      .train = c->labelled ? &c->train : NULL,
                      .test = c->tested ? &c->test : NULL,
                      .width = width,
                      .seed = seed,
                      .last = last,
                      .show = last && seed == c->first,
                      .progress = &c->progress};
  EP_TRY(ep_compare_job(&job, &one));
  ep_status st = one.show && one.train ? add_shown(job, c, &one) : EP_OK;
  if (!st) st = ep_jobs_write(path, job);
  if (st) json_decref(job);
  EP_TRY(st);
  return add_job(c->jobs, job);
}

static ep_status all_jobs(comparison *c) {
  const long runs = c->config->runs;
  int first[EP_MOST_WIDTHS]; /* fit of a width, in the plan of a seed */
  for (int w = 0; w < c->widths.count; w++) {
    first[w] = c->progress.planned;
    ep_compare_plan(&c->progress, c->config, c->widths.width[w], w == c->widths.count - 1);
  }
  c->progress.total = c->progress.planned * (int)runs;
  for (long seed = c->first; seed < c->first + runs; seed++) {
    if (seed > c->first) drop_data(c);
    for (int w = 0; w < c->widths.count; w++) {
      c->progress.done = (int)(seed - c->first) * c->progress.planned + first[w];
      EP_TRY(one_job(c, c->widths.width[w], seed));
    }
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

/* names of the settings that are not as they are by default */
static ep_status changed(json_t *result, const json_t *config) {
  ep_compare_config options;
  json_t *its, *list = json_array(), *value;
  const char *name;
  EP_TRY(ep_json_put(result, "changed", list));
  ep_options_default(ep_compare_options, &options);
  EP_TRY(ep_setup_defaults_json(&its));
  ep_status st = ep_options_to_json(its, ep_compare_options, &options);
  json_object_foreach((json_t *)config, name, value) {
    if (!st && !json_equal(value, json_object_get(its, name)))
      st = ep_json_append(list, json_string(name));
  }
  json_decref(its);
  return st;
}

static uint64_t hash_set(uint64_t h, const ep_dataset *set) {
  const size_t n = (size_t)set->X.rows;
  if (!set->X.data) return h;
  h = ep_hash(h, set->X.data, n * (size_t)set->X.cols * ep_sizeof(set->X.prec));
  if (set->labels) h = ep_hash(h, set->labels, n * sizeof *set->labels);
  size_t k;
  json_t *name;
  json_array_foreach(set->classes, k, name) h =
      ep_hash(h, json_string_value(name), json_string_length(name) + 1);
  return h;
}

/* Jobs are named by everything that decides their numbers: settings, version, and what the data hold, not how they are
 * called. */
static ep_status name_jobs(comparison *c, const json_t *config) {
  static const char *const files[] = {"data",      "labels", "anchors",    "positives",
                                      "negatives", "test",   "test_labels"};
  uint64_t points, unseen;
  EP_TRY(ep_points_fingerprint(&points, &c->points));
  EP_TRY(ep_points_fingerprint(&unseen, &c->unseen));
  const uint64_t sets[] = {points, unseen, hash_set(EP_HASH_START, &c->train),
                           hash_set(EP_HASH_START, &c->test)};
  char data[40];
  snprintf(data, sizeof data, "%016llx",
           (unsigned long long)ep_hash(EP_HASH_START, sets, sizeof sets));
  json_t *rest;
  EP_TRY(ep_json_copy(&rest, config));
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) json_object_del(rest, files[i]);
  json_t *all = json_pack("{s:o, s:s, s:s}", "config", rest, "data", data, "version", ep_version());
  EP_CHECK(all, EP_ERR_NOMEM, "no memory for the settings");
  const ep_status st = ep_jobs_fingerprint(c->name, all);
  json_decref(all);
  return st;
}

/* the same lines as on the terminal, one a fit */
static ep_status open_log(comparison *c, const char *folder) {
  char path[1200];
  snprintf(path, sizeof path, "%.1000s/log.txt", folder);
  c->progress.log = fopen(path, "a");
  EP_CHECK(c->progress.log, EP_ERR_IO, "%s: cannot be written", path);
  return EP_OK;
}

/* what a score is of, in words */
static const char *scored_on(const comparison *c) {
  if (c->tested) return "test points";
  if (c->labelled) return "a fifth of the labelled points, which the probe does not see";
  if (c->seen) return "the pairs that were fitted: with 50 pairs or more, some are kept back";
  return c->base.data.data[0] && !c->config->test[0] ? "new views of the data" : "held-out pairs";
}

static ep_status compare(ep_compared *out, comparison *c, const char *folder) {
  json_t *config, *result = out->result;
  c->first = c->base.run.seed;
  EP_TRY(words(c->config->methods, check_method, NULL));
  EP_TRY(words(c->config->widths, add_width, &c->widths));
  EP_CHECK(c->widths.count > 0 && c->config->methods[0], EP_ERR_ARG,
           "--widths and --methods name at least one each");
  EP_TRY(settings(&config, c));
  EP_TRY(ep_json_put(result, "config", config));
  EP_TRY(changed(result, config));
  EP_TRY(load_data(c, c->first));
  EP_TRY(name_jobs(c, config));
  snprintf(c->folder, sizeof c->folder, "%.1000s/jobs", folder);
  EP_TRY(ep_folder_make(c->folder));
  EP_TRY(open_log(c, folder));
  c->jobs = json_array();
  EP_TRY(ep_json_put(result, "jobs", c->jobs));
  out->scored_on = scored_on(c);
  EP_TRY(ep_json_put(result, "scored_on", json_string(out->scored_on)));
  EP_TRY(all_jobs(c));
  EP_TRY(ep_json_put(result, "version", json_string(ep_version())));
  c->base.run.seed = c->first;
  EP_TRY(ep_comparison_read(&out->table, &out->work, c->jobs, c->config->tolerance));
  EP_TRY(ep_verdict_reach(&out->verdict, &out->work, &out->table, c->config, &c->base));
  return ep_compare_summary(result, &out->table, &out->verdict);
}

void ep_compared_free(ep_compared *c) {
  json_decref(c->result);
  ep_work_free(&c->work);
  *c = (ep_compared){0};
}

ep_status ep_compare(ep_compared *out, const ep_compare_config *config, const ep_setup *base,
                     const char *folder) {
  comparison *c = ep_alloc(1, sizeof *c);
  *out = (ep_compared){.result = json_object()};
  EP_CHECK(c && out->result, EP_ERR_NOMEM, "no memory for a comparison");
  c->config = config;
  c->base = *base;
  ep_status st = compare(out, c, folder);
  if (st == EP_ERR_INTERRUPTED)
    st = EP_FAIL(st, "interrupted; finished jobs are in %s: the same command goes on from there",
                 c->folder);
  drop_data(c);
  if (c->progress.log) fclose(c->progress.log);
  ep_release(c);
  if (st) ep_compared_free(out);
  return st;
}
