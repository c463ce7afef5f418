#include "commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIMA_FILES(X, S)                                                                     \
  X(S, TEXT, augment, "", 0, 0, NULL,                                                          \
    "two views of every point: crop[:LO-HI],flip,noise:S,.. (default: none, no second views)") \
  X(S, TEXT, anchors, "", 0, 0, NULL, "ready pairs: first views")                              \
  X(S, TEXT, positives, "", 0, 0, NULL, "ready pairs: second views, row by row")               \
  X(S, TEXT, out, "", 0, 0, NULL, "the optima as a matrix .npy, a row each")                   \
  X(S, TEXT, report, "", 0, 0, NULL,                                                           \
    "folder for report.html: table, convergence curves, map of which optimum a start reaches")
typedef struct {
  OPTIMA_FILES(EP_OPT_FIELD, )
} optima_files;
static const ep_option optima_file_options[] = {OPTIMA_FILES(EP_OPT_ROW, optima_files){0}};

typedef struct {
  ep_optima_config optima;
  ep_data_config data;
  optima_files files;
  ep_run_config run;
  cli_config cli;
} setup_optima;

enum { GROUPS = 6 };
static void groups_of(ep_option_group groups[GROUPS], setup_optima *s) {
  const ep_option_group all[GROUPS] = {{"Layer and search", ep_optima_options, &s->optima},
                                       {"Data", ep_data_options, &s->data},
                                       {"Views and files", optima_file_options, &s->files},
                                       {"Run", ep_run_options, &s->run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_optima(FILE *to) {
  static setup_optima s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(
      to,
      "\nOne node h(w'x) with |w| = 1 ascends its contrastive covariance: which w can it end in?\n"
      "  eigenpair optima --data summation:6,2000,0.2 --starts 200       six patterns, six optima\n"
      "  eigenpair optima --data summation:6 --activation linear         only the strongest one\n"
      "  eigenpair optima --data x.npy --weights gaussian:0.5 --json     the user's own points\n"
      "  eigenpair optima --data digits --samples 500 --augment noise:0.1 --report out\n\n"
      "lambda, gap: of A(w) = C_alpha[x h'(w'x)]. roughness: how fast A turns w away as w moves. "
      "Theorem 1: gap >\n"
      "roughness makes it stable. basin: share of the starts. Everything is computed in double.\n"
      "Optima are where starts settle. Most are locally maximal eigenvectors, A(w)w = "
      "lambda_1(A(w)) w with a gap, but need not be:\n"
      "Theorem 1 is sufficient, not necessary. Ends held by many points on one hyperplane, where "
      "A(w) jumps far from any\n"
      "eigenvector, are listed apart.\n"
      "--nodes K: layers of K nodes whose weights are made from all K outputs (infonce then makes "
      "nodes share out the patterns).\n"
      "  eigenpair optima --data summation:6,500,0.2 --nodes 6 --weights infonce:2 --starts 12\n");
  args_help(groups, to);
}

/* ---- what a person sees */

static void print_ends(const ep_optima *o, ptrdiff_t first, ptrdiff_t end) {
  enum { MOST = 40 };
  const ptrdiff_t shown = end - first < MOST ? end : first + MOST;
  if (first < end)
    printf(
        "\n   #   basin  (95 %%)            lambda       gap  roughness  Theorem 1  came back\n");
  for (ptrdiff_t i = first; i < shown; i++) {
    const ep_optimum *p = &o->optimum[i];
    printf("%4td  %5.1f %%  (%4.1f to %4.1f)  %9.4g %9.4g  %9.4g  %-9s  ", i + 1, 100 * p->basin,
           100 * p->low, 100 * p->high, p->lambda, p->gap, p->roughness,
           p->theorem1  ? "stable"
           : p->maximal ? "open"
           : p->nearly  ? "jump"
                        : "not max.");
    if (isnan(p->returns)) printf("-\n");
    else printf("%.0f %%\n", 100 * p->returns);
  }
  if (first < end) printf(shown < end ? "" : "\n");
  if (shown < end) printf("  .. and %td more (--json has all)\n", end - shown);
}

static void print_head(const setup_optima *s, const ep_layer *layer) {
  printf("data     %s: ", s->data.data[0] ? s->data.data : s->files.anchors);
  print_count(stdout, (double)layer->X.rows);
  printf(" points of dimension %td%s\n", layer->X.cols, layer->X2.data ? ", two views each" : "");
  printf("layer    %s, %s weights, %s search\n", s->optima.activation, s->optima.weights,
         ep_search_name(s->optima.search));
}

static void print_optima(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  print_head(s, layer);
  printf("starts   %td: %td dead, %td not settled, %.0f iterations on average\n", o->starts,
         o->dead, o->unsettled, o->iterations);
  printf("optima   %td, of which %td are locally maximal eigenvectors", o->optima, o->maximal);
  printf(o->nearly ? ", %td nearly so: A(w) jumps there\n" : "\n", o->nearly);
  print_ends(o, 0, o->optima);
  if (o->optima < o->count)
    printf("other    %td ends held by equal points where A(w) jumps\n", o->count - o->optima);
  print_ends(o, o->optima, o->count);
  if (s->files.out[0]) printf("\nvectors  %s\n", s->files.out);
  if (s->files.report[0]) print_report("\nreport   ", s->files.report);
}

static json_t *optimum_json(const ep_optimum *p, const double *w, ptrdiff_t d) {
  return json_pack(
      "{s:o,s:o,s:o,s:o,s:b,s:f,s:f,s:f,s:I,s:o,s:o,s:o,s:b,s:b,s:b,s:I,s:o,s:o,s:o,s:o,s:o,s:o}",
      "w", ep_json_numbers(w, d), "lambda", number_json(p->lambda), "gap", number_json(p->gap),
      "roughness", number_json(p->roughness), "stable", p->stable, "basin", p->basin, "basin_low",
      p->low, "basin_high", p->high, "count", (json_int_t)p->count, "lambda_1", number_json(p->top),
      "alignment", number_json(p->alignment), "residual", number_json(p->residual), "maximal",
      p->maximal, "nearly_maximal", p->nearly, "theorem1", p->theorem1, "touching",
      (json_int_t)p->touching, "returns", number_json(p->returns), "roughness_bound",
      number_json(p->roughness_bound), "r", number_json(p->r), "z0", number_json(p->z0),
      "irregularity", number_json(p->irregularity), "ball", number_json(p->ball));
}

static json_t *list_json(const ep_optima *o, ptrdiff_t first, ptrdiff_t end) {
  json_t *list = json_array();
  for (ptrdiff_t i = first; i < end; i++)
    json_array_append_new(list, optimum_json(&o->optimum[i], ep_d(&o->W, i, 0), o->W.cols));
  return list;
}

static json_t *config_json(const setup_optima *s) {
  json_t *config = json_object();
  bool ok = config && !ep_options_to_json(config, ep_optima_options, &s->optima) &&
            !ep_options_to_json(config, ep_data_options, &s->data) &&
            !ep_options_to_json(config, optima_file_options, &s->files) &&
            !ep_options_to_json(config, ep_run_options, &s->run);
  if (ok) return config;
  json_decref(config);
  return NULL;
}

static json_t *result_json(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  return json_pack("{s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:f,s:s,s:o,s:o}", "optima",
                   list_json(o, 0, o->optima), "other_ends", list_json(o, o->optima, o->count),
                   "maximal", (json_int_t)o->maximal, "nearly_maximal", (json_int_t)o->nearly,
                   "starts", (json_int_t)o->starts, "dead", (json_int_t)o->dead, "unsettled",
                   (json_int_t)o->unsettled, "iterations", o->iterations, "points",
                   (json_int_t)layer->X.rows, "dimension", (json_int_t)layer->X.cols, "peak_memory",
                   (double)ep_memory_peak(), "version", ep_version(), "machine", machine_json(),
                   "config", config_json(s));
}

/* ---- files */

/* starts that settled in other ends */
static ptrdiff_t others_of(const ep_optima *o) {
  ptrdiff_t starts = 0;
  for (ptrdiff_t i = o->optima; i < o->count; i++) starts += o->optimum[i].count;
  return starts;
}

enum { UNFOLDED = 10 }; /* rows of a table that is open */

static json_t *table_json(const ep_optima *o, const char *title, ptrdiff_t first, ptrdiff_t end) {
  json_t *rows = json_array();
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_optimum *p = &o->optimum[i];
    json_array_append_new(
        rows, json_pack("[I,f,f,f,o,o,o,b,b,o]", (json_int_t)i + 1, p->basin, p->low, p->high,
                        number_json(p->lambda), number_json(p->gap), number_json(p->roughness),
                        p->maximal, p->theorem1, number_json(p->returns)));
  }
  return json_pack(
      "{s:s,s:[{s:s},{s:s,s:s},{s:s,s:s},{s:s,s:s},{s:s},{s:s},{s:s},{s:s},{s:s},{s:s,s:s}],"
      "s:o,s:b}",
      "title", title, "columns", "name", "#", "name", "basin", "format", ".1%", "name", "from",
      "format", ".1%", "name", "to", "format", ".1%", "name", "lambda", "name", "gap", "name",
      "roughness", "name", "maximal", "name", "stable by Theorem 1", "name", "came back", "format",
      ".0%", "rows", rows, "folded", end - first > UNFOLDED);
}

static void say(char *words, size_t size, const char *format, ptrdiff_t count) {
  const size_t used = strlen(words);
  if (count > 0) snprintf(words + used, size - used, format, count, count == 1 ? "" : "s");
}

/* how many optima there are, how many of them the theory says are stable, where the rest of the starts went */
static void say_optima(char *words, size_t size, const ep_optima *o) {
  ptrdiff_t stable = 0;
  for (ptrdiff_t i = 0; i < o->optima; i++) stable += o->optimum[i].theorem1;
  snprintf(words, size,
           "%td %s: %td of %td starts end there, and Theorem 1 says of %td that %s stable.",
           o->optima, o->optima == 1 ? "optimum" : "optima",
           o->starts - o->dead - o->unsettled - others_of(o), o->starts, stable,
           stable == 1 ? "it is" : "they are");
  say(words, size, " %td start%s ended elsewhere, where A(w) jumps.", others_of(o));
  say(words, size, " %td start%s died: the node answers to no point.", o->dead);
  say(words, size, " %td start%s had not settled: try more --iterations.", o->unsettled);
}

static ep_status write_report(const setup_optima *s, const ep_layer *layer, const ep_optima *o,
                              int argc, char **argv) {
  json_t *curves = NULL, *map = NULL, *gaps = NULL;
  char words[400];
  const uint64_t seed = (uint64_t)s->run.seed;
  EP_TRY(ep_optima_curves(&curves, o, layer, &s->optima, seed));
  ep_status st = ep_optima_map(&map, o, layer, &s->optima, seed);
  if (!st) st = ep_optima_gaps(&gaps, o);
  if (st) return json_decref(curves), json_decref(map), st;
  say_optima(words, sizeof words, o);
  json_t *tables = json_array();
  json_array_append_new(tables, table_json(o, "Optima", 0, o->optima));
  if (o->count > o->optima)
    json_array_append_new(tables, table_json(o, "Other ends", o->optima, o->count));
  json_t *section =
      json_pack("{s:s,s:[s],s:o,s:[o,o,o]}", "title", "Optima", "text",
                "maximal: a locally maximal eigenvector of A(w). The other ends are held where "
                "A(w) jumps, by "
                "many points orthogonal to w, far from any eigenvector.",
                "tables", tables, "figures", curves, map, gaps);
  json_t *result = result_json(s, layer, o);
  st = write_page(s->files.report, "Where one node can end", headline_json(words), section, result,
                  argc, argv);
  json_decref(result);
  return st;
}

static ep_status report(const setup_optima *s, const ep_layer *layer, const ep_optima *o, int argc,
                        char **argv) {
  const ep_mat found = ep_mat_rows(&o->W, 0, o->optima);
  if (s->files.out[0]) EP_TRY(ep_npy_write(s->files.out, &found));
  if (s->files.report[0]) EP_TRY(write_report(s, layer, o, argc, argv));
  terminal_clear();
  if (s->cli.json) return print_json(result_json(s, layer, o));
  print_optima(s, layer, o);
  return EP_OK;
}

/* ---- layers of several nodes */

static json_t *joint_json(const setup_optima *s, const ep_layer *layer, const ep_joint *j) {
  json_t *list = json_array(), *distinct = json_array();
  for (ptrdiff_t a = 0; a < j->count; a++)
    json_array_append_new(
        list, json_pack("{s:o,s:I,s:f}", "w", ep_json_numbers(ep_d(&j->direction, a, 0), j->W.cols),
                        "layers", (json_int_t)j->held[a], "share",
                        (double)j->held[a] / (double)j->layers));
  for (ptrdiff_t l = 0; l < j->layers; l++)
    json_array_append_new(distinct, json_integer(j->distinct[l]));
  return json_pack("{s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:s,s:o,s:o}", "optima", list,
                   "distinct", distinct, "distinct_mean", number_json(j->mean), "distinct_low",
                   number_json(j->low), "distinct_high", number_json(j->high), "layers",
                   (json_int_t)j->layers, "nodes", (json_int_t)j->nodes, "dead",
                   (json_int_t)j->dead, "unsettled", (json_int_t)j->unsettled, "points",
                   (json_int_t)layer->X.rows, "dimension", (json_int_t)layer->X.cols, "peak_memory",
                   (double)ep_memory_peak(), "version", ep_version(), "machine", machine_json(),
                   "config", config_json(s));
}

static void print_joint(const setup_optima *s, const ep_layer *layer, const ep_joint *j) {
  enum { MOST = 40 };
  print_head(s, layer);
  printf("layers   %td of %td nodes: %td nodes dead, %td not settled\n", j->layers, j->nodes,
         j->dead, j->unsettled);
  printf("optima   %td directions in all; a layer holds %.2f", j->count, j->mean);
  if (j->layers > 1) printf(" (%.2f to %.2f)", j->low, j->high);
  printf("\n\n   #  layers with a node there\n");
  for (ptrdiff_t a = 0; a < j->count && a < MOST; a++)
    printf("%4td  %td (%.0f %%)\n", a + 1, j->held[a],
           100 * (double)j->held[a] / (double)j->layers);
  if (j->count > MOST) printf("  .. and %td more (--json has all)\n", j->count - MOST);
}

/* a dot a layer */
static ep_status joint_figure(json_t **out, const ep_joint *j) {
  EP_TRY(ep_figure_new(out, "layers", EP_FIGURE_SCATTER, "What each layer holds",
                       "How many distinct directions the nodes of each layer end in.",
                       (ep_axis){"layer", .log = false},
                       (ep_axis){"distinct directions", .log = false}));
  double *x = malloc(2 * (size_t)j->layers * sizeof *x), *y = x + j->layers;
  for (ptrdiff_t l = 0; x && l < j->layers; l++)
    x[l] = (double)l + 1, y[l] = (double)j->distinct[l];
  const ep_status st =
      x ? ep_figure_add(*out, &(ep_series){.name = "layers", .count = j->layers, .x = x, .y = y})
        : EP_FAIL(EP_ERR_NOMEM, "no memory for a figure");
  free(x);
  if (st) json_decref(*out);
  return st;
}

static ep_status write_joint(const setup_optima *s, const ep_layer *layer, const ep_joint *j,
                             int argc, char **argv) {
  json_t *figure, *rows = json_array();
  char words[200];
  EP_TRY(joint_figure(&figure, j));
  for (ptrdiff_t a = 0; a < j->count; a++)
    json_array_append_new(rows, json_pack("[I,I,f]", (json_int_t)a + 1, (json_int_t)j->held[a],
                                          (double)j->held[a] / (double)j->layers));
  snprintf(words, sizeof words,
           "%td layers of %td nodes: %td directions in all, %.2f a layer; %td nodes were dead, %td "
           "had not settled.",
           j->layers, j->nodes, j->count, j->mean, j->dead, j->unsettled);
  json_t *section =
      json_pack("{s:s,s:[{s:s,s:[{s:s},{s:s},{s:s,s:s}],s:o}],s:[o]}", "title", "Optima of layers",
                "tables", "title", "Directions", "columns", "name", "#", "name", "layers", "name",
                "share", "format", ".0%", "rows", rows, "figures", figure);
  json_t *result = joint_json(s, layer, j);
  const ep_status st = write_page(s->files.report, "Where the nodes of a layer end",
                                  headline_json(words), section, result, argc, argv);
  json_decref(result);
  return st;
}

static ep_status report_joint(const setup_optima *s, const ep_layer *layer, const ep_joint *j,
                              int argc, char **argv) {
  if (s->files.out[0]) EP_TRY(ep_npy_write(s->files.out, &j->direction));
  if (s->files.report[0]) EP_TRY(write_joint(s, layer, j, argc, argv));
  terminal_clear();
  if (s->cli.json) return print_json(joint_json(s, layer, j));
  print_joint(s, layer, j);
  return EP_OK;
}

/* ---- */

static ep_status run_joint(const setup_optima *s, const ep_layer *layer, int argc, char **argv) {
  ep_joint joint;
  EP_TRY(ep_joint_find(NULL, &joint, layer, &s->optima, &s->run));
  const ep_status st = report_joint(s, layer, &joint, argc, argv);
  ep_joint_free(&joint);
  return st;
}

static ep_status run_single(const setup_optima *s, const ep_layer *layer, int argc, char **argv) {
  ep_optima optima;
  EP_TRY(ep_optima_find(NULL, &optima, layer, &s->optima, &s->run));
  const ep_status st = report(s, layer, &optima, argc, argv);
  ep_optima_free(&optima);
  return st;
}

static ep_status load(ep_layer *layer, const setup_optima *s) {
  static ep_pair_config pairs;
  ep_options_default(ep_pair_options, &pairs);
  memcpy(pairs.augment, s->files.augment, sizeof pairs.augment);
  memcpy(pairs.anchors, s->files.anchors, sizeof pairs.anchors);
  snprintf(pairs.positives, sizeof pairs.positives, "%s", s->files.positives);
  return ep_layer_load(NULL, layer, &s->optima, &s->data, &pairs, &s->run);
}

ep_status cmd_optima(int argc, char **argv) {
  static setup_optima s;
  ep_option_group groups[GROUPS];
  ep_layer layer;
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  const char *const outputs[] = {s.files.out, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  EP_TRY(load(&layer, &s));
  ep_status st = make_report_folder(s.files.report);
  if (!st) st = (s.optima.nodes > 1 ? run_joint : run_single)(&s, &layer, argc, argv);
  ep_layer_free(&layer);
  return st;
}
