#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FILES_OPTIONS(X, S)                                                                    \
  X(S, TEXT, embedding, "", 0, 0, NULL, "the embedding (n, Z), as written by embed")           \
  X(S, TEXT, labels, "", 0, 0, NULL,                                                           \
    "its labels: .npy, IDX, CSV, or a data set by name, such as digits or mnist:test")         \
  X(S, TEXT, test_embedding, "", 0, 0, NULL, "test points; without them a part is held out")   \
  X(S, TEXT, test_labels, "", 0, 0, NULL, "their labels")                                      \
  X(S, TEXT, positives, "", 0, 0, NULL, "embedding of positives, row by row: gives alignment") \
  X(S, TEXT, probe, "linear", 0, 0, NULL,                                                      \
    "linear, svm, knn, ridge, several with commas between, or all")                            \
  X(S, TEXT, out, "", 0, 0, NULL, "also write the results to this file, as JSON")
typedef struct {
  FILES_OPTIONS(EP_OPT_FIELD, )
} files_config;
static const ep_option files_options[] = {FILES_OPTIONS(EP_OPT_ROW, files_config){0}};

#define LABEL_OPTIONS(X, S)                                                         \
  X(S, INT, samples, "0", 0, 1e9, NULL,                                             \
    "labels of so many points, those that embed drew with the same --seed; 0: all") \
  EP_TABLE_OPTIONS(X, S)
static const ep_option label_options[] = {LABEL_OPTIONS(EP_OPT_ROW, ep_data_config){0}};

typedef struct {
  files_config files;
  ep_probe_config probe;
  ep_metrics_config metrics;
  ep_data_config data; /* of the labels */
  ep_run_config run;
  cli_config cli;
  bool own_precision; /* --precision was given */
} setup_probe;

enum { GROUPS = 7, MOST_PROBES = 8, MOST_SHOWN = 20 };

/* What is read and found. */
typedef struct {
  large_embedding E, test, positives;
  int *labels, *test_labels;
  json_t *classes; /* names of labels that are words */
  ep_metrics metrics;
  ep_probe_result probes[MOST_PROBES];
  int count;
} probe_work;

static void groups_of(ep_option_group groups[GROUPS], setup_probe *s) {
  const ep_option_group all[GROUPS] = {{"Files", files_options, &s->files},
                                       {"Labels by name", label_options, &s->data},
                                       {"Probes", ep_probe_options, &s->probe},
                                       {"Metrics", ep_metrics_options, &s->metrics},
                                       {"Run", ep_run_options, &s->run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_probe(FILE *to) {
  static setup_probe s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair probe --embedding train.npy --labels digits \\\n"
      "    --test-embedding test.npy --test-labels digits:test --probe linear,knn\n"
      "  eigenpair probe --embedding e.npy --labels y.npy --probe all --json   a fifth held "
      "out\n"
      "  eigenpair probe --embedding e.npy --positives p.npy      metrics alone: no labels\n\n"
      "Embeddings are read in the precision they are stored in, unless --precision says "
      "otherwise;\nall arithmetic is in double. A .npy that is large beside --memory stays in its "
      "file: "
      "linear, ridge and knn go\nthrough it in blocks; svm copies the points at 16 bytes a number "
      "and has to have room for them.\n");
  args_help(groups, to);
}

/* ---- reading */

static ep_status read_all(probe_work *w, const setup_probe *s) {
  const files_config *f = &s->files;
  EP_TRY(open_embedding(&w->E, f->embedding, s->own_precision, &s->run));
  if (*f->labels)
    EP_TRY(
        read_labels(&w->labels, &w->classes, f->labels, &s->data, &w->E.X, f->embedding, &s->run));
  if (*f->positives) EP_TRY(open_embedding(&w->positives, f->positives, s->own_precision, &s->run));
  if (!*f->test_embedding) return EP_OK;
  EP_TRY(open_embedding(&w->test, f->test_embedding, s->own_precision, &s->run));
  EP_CHECK(w->test.X.cols == w->E.X.cols, EP_ERR_SHAPE, "%s has %td dimensions, %s has %td",
           f->test_embedding, w->test.X.cols, f->embedding, w->E.X.cols);
  static ep_data_config all; /* test points are not drawn */
  all = s->data;
  all.samples = 0;
  return read_labels(&w->test_labels, &w->classes, f->test_labels, &all, &w->test.X,
                     f->test_embedding, &s->run);
}

static ep_status check_files(const setup_probe *s, bool probe_given) {
  const files_config *f = &s->files;
  EP_CHECK(*f->embedding, EP_ERR_ARG, "give --embedding FILE");
  EP_CHECK(*f->labels || !probe_given, EP_ERR_ARG, "--probe needs --labels");
  EP_CHECK(*f->labels || !*f->test_embedding, EP_ERR_ARG, "--test-embedding needs --labels");
  EP_CHECK(!*f->test_embedding == !*f->test_labels, EP_ERR_ARG,
           "--test-embedding and --test-labels go together");
  return EP_OK;
}

/* ---- working */

static ep_status run_probe(probe_work *w, const setup_probe *s, const char *name) {
  const ep_labelled train = embedding_points(&w->E, w->labels);
  const ep_labelled test = embedding_points(&w->test, w->test_labels);
  EP_CHECK(w->count < MOST_PROBES, EP_ERR_ARG, "--probe: at most %d probes", MOST_PROBES);
  EP_TRY(ep_probe_run(NULL, &w->probes[w->count], name, &train, w->test.X.rows ? &test : NULL,
                      &s->probe, &s->run));
  w->count++;
  return EP_OK;
}

static ep_status run_probes(probe_work *w, const setup_probe *s) {
  char list[sizeof s->files.probe], *rest = list;
  strcpy(list, s->files.probe);
  if (strcmp(list, "all") == 0) {
    for (int i = 0; ep_probe_name(i); i++) EP_TRY(run_probe(w, s, ep_probe_name(i)));
    return EP_OK;
  }
  for (char *name; (name = strsep(&rest, ","));) EP_TRY(run_probe(w, s, name));
  return EP_OK;
}

/* ---- results as JSON */

static json_t *confusion_json(const ep_probe_result *r) {
  json_t *rows = json_array();
  for (ptrdiff_t i = 0; i < r->classes; i++) {
    json_t *row = json_array();
    for (ptrdiff_t j = 0; j < r->classes; j++)
      json_array_append_new(row, json_integer(r->confusion[i * r->classes + j]));
    json_array_append_new(rows, row);
  }
  return rows;
}

static json_t *labels_json(const ep_probe_result *r) {
  json_t *all = json_array();
  for (ptrdiff_t c = 0; c < r->classes; c++) json_array_append_new(all, json_integer(r->label[c]));
  return all;
}

static json_t *class_accuracy_json(const ep_probe_result *r) {
  json_t *all = json_array();
  for (ptrdiff_t c = 0; c < r->classes; c++)
    json_array_append_new(all, number_json(ep_probe_class_accuracy(r, c)));
  return all;
}

static json_t *probe_json(const ep_probe_result *r) {
  json_t *all = json_pack(
      "{s:s,s:f,s:f,s:I,s:I,s:b,s:I,s:I,s:b,s:b,s:I,s:o,s:o,s:o}", "probe", r->name, "accuracy",
      r->accuracy, "train_accuracy", r->train_accuracy, "train_points", (json_int_t)r->train,
      "test_points", (json_int_t)r->test, "held_out", r->held_out, "train_points_judged",
      (json_int_t)r->judged, "unseen_labels", (json_int_t)r->unseen, "standardised",
      r->standardised, "converged", r->converged, "iterations", (json_int_t)r->iterations, "labels",
      labels_json(r), "confusion", confusion_json(r), "class_accuracy", class_accuracy_json(r));
  if (all && !isnan(r->penalty)) json_object_set_new(all, "penalty", json_real(r->penalty));
  return all;
}

static json_t *metrics_json(const ep_metrics *m) {
  json_t *all = json_pack(
      "{s:I,s:I,s:f,s:f,s:o,s:o,s:I,s:{s:f,s:f,s:f},s:I,s:o,s:b,s:s}", "points",
      (json_int_t)m->points, "dimensions", (json_int_t)m->dimensions, "rankme", m->rankme,
      "effective_rank", m->effective_rank, "uniformity", number_json(m->uniformity),
      "uniformity_error", number_json(m->uniformity_error), "uniformity_points",
      (json_int_t)m->uniformity_points, "spread", "min", m->spread_min, "median", m->spread_median,
      "max", m->spread_max, "dead_dimensions", (json_int_t)m->dead, "correlation",
      number_json(m->correlation), "collapsed", m->collapsed, "collapse", m->collapse);
  if (all && !isnan(m->alignment)) json_object_set_new(all, "alignment", json_real(m->alignment));
  return all;
}

/* The first probe's results stand at the top; `probes` has them all. */
static ep_status result_json(json_t **out, const probe_work *w, setup_probe *s) {
  json_t *config = json_object(), *probes = json_array();
  *out =
      json_pack("{s:o,s:o,s:s,s:f,s:o}", "config", config, "probes", probes, "version",
                ep_version(), "peak_memory", (double)ep_memory_peak(), "machine", machine_json());
  EP_CHECK(*out && json_object_update_new(*out, metrics_json(&w->metrics)) == 0, EP_ERR_NOMEM,
           "no memory for the result as JSON");
  ep_option_group groups[GROUPS];
  groups_of(groups, s);
  for (const ep_option_group *g = groups; g->table != cli_options; g++)
    EP_TRY(ep_options_to_json(config, g->table, g->config));
  if (w->classes) json_object_set(*out, "classes", w->classes);
  for (int i = 0; i < w->count; i++)
    EP_CHECK(json_array_append_new(probes, probe_json(&w->probes[i])) == 0, EP_ERR_NOMEM,
             "no memory for the result as JSON");
  if (w->count) (void)json_object_update_missing(*out, json_array_get(probes, 0));
  return EP_OK;
}

/* ---- results as text */

static void print_metrics(const ep_metrics *m, const char *path) {
  printf("embedding    ");
  print_count(stdout, (double)m->points);
  printf(" points in %td dimensions: %s\n", m->dimensions, path);
  printf("rank         RankMe %.4g, effective rank %.4g\n", m->rankme, m->effective_rank);
  printf("spread       deviations %.3g to %.3g, median %.3g; %td dimensions dead\n", m->spread_min,
         m->spread_max, m->spread_median, m->dead);
  if (!isnan(m->correlation))
    printf("correlation  %.3g on average between two dimensions\n", m->correlation);
  printf("uniformity   %.4f", m->uniformity);
  if (m->uniformity_error > 0) {
    printf(" (standard error %.2g: pairs of ", m->uniformity_error);
    print_count(stdout, (double)m->uniformity_points);
    printf(" points)");
  }
  printf("\n");
  if (!isnan(m->alignment)) printf("alignment    %.4f\n", m->alignment);
  printf("collapse     %s\n", m->collapse);
}

/* names of columns are cut to six letters, those of rows stand whole */
static void print_confusion(const ep_probe_result *r, const json_t *classes) {
  char number[24];
  int wide = 8;
  for (ptrdiff_t j = 0; j < r->classes; j++) {
    const int n = (int)strlen(label_name(number, classes, r->label[j]));
    if (n > wide) wide = n;
  }
  printf("\n%s: rows are true labels, columns found ones\n%*s", r->name, wide, "");
  for (ptrdiff_t j = 0; j < r->classes; j++)
    printf(" %6.6s", label_name(number, classes, r->label[j]));
  printf("   right\n");
  for (ptrdiff_t i = 0; i < r->classes; i++) {
    printf("%*s", wide, label_name(number, classes, r->label[i]));
    for (ptrdiff_t j = 0; j < r->classes; j++) printf(" %6td", r->confusion[i * r->classes + j]);
    const double right = ep_probe_class_accuracy(r, i);
    if (isnan(right)) printf("       -\n");
    else printf(" %5.1f %%\n", 100 * right);
  }
}

static void print_probes(const probe_work *w, long seed) {
  printf("\nprobe          test  training\n");
  for (int i = 0; i < w->count; i++) {
    const ep_probe_result *r = &w->probes[i];
    printf("%-10s %6.2f %%  %6.2f %%", r->name, 100 * r->accuracy, 100 * r->train_accuracy);
    if (r->iterations)
      printf("  %s %ld iterations", r->converged ? "converged in" : "NOT converged in",
             r->iterations);
    if (!isnan(r->penalty)) printf("  penalty %g", r->penalty);
    if (r->judged < r->train) printf("  training judged on %td points", r->judged);
    printf("\n");
  }
  const ep_probe_result *r = &w->probes[0];
  printf("trained on ");
  print_count(stdout, (double)r->train);
  printf(" points, tested on ");
  print_count(stdout, (double)r->test);
  if (r->held_out) printf(" held out with seed %ld", seed);
  printf("; %td classes\n", r->classes);
  if (r->unseen)
    printf("%td test points have a label that no training point has: they count as wrong\n",
           r->unseen);
  for (int i = 0; i < w->count && r->classes <= MOST_SHOWN; i++)
    print_confusion(&w->probes[i], w->classes);
}

/* ---- */

static ep_status report(const probe_work *w, setup_probe *s) {
  json_t *result = NULL;
  terminal_clear();
  ep_status st = result_json(&result, w, s);
  if (!st && s->files.out[0]) st = write_json_file(s->files.out, result);
  if (!st && s->cli.json) return print_json(result);
  json_decref(result);
  if (st) return st;
  print_metrics(&w->metrics, s->files.embedding);
  if (w->count) print_probes(w, s->run.seed);
  return EP_OK;
}

static ep_status probe(probe_work *w, setup_probe *s) {
  EP_TRY(read_all(w, s));
  const ep_labelled E = embedding_points(&w->E, NULL), P = embedding_points(&w->positives, NULL);
  EP_TRY(ep_metrics_read(&w->metrics, &E, w->positives.X.rows ? &P : NULL, &s->metrics, &s->run));
  if (w->labels) EP_TRY(run_probes(w, s));
  return report(w, s);
}

ep_status cmd_probe(int argc, char **argv) {
  static setup_probe s;
  static probe_work w;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  ep_options_default(ep_data_options, &s.data);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  s.own_precision = args_has(argc, argv, "precision");
  EP_TRY(check_files(&s, args_peek(argc, argv, "--probe") != NULL));
  const char *const outputs[] = {s.files.out, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const ep_status st = probe(&w, &s);
  for (int i = 0; i < w.count; i++) ep_probe_result_free(&w.probes[i]);
  close_embedding(&w.E);
  close_embedding(&w.test);
  close_embedding(&w.positives);
  ep_labels_free(w.labels);
  ep_labels_free(w.test_labels);
  json_decref(w.classes);
  return st;
}
