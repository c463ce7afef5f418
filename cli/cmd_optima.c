#include "commands.h"
#include "core/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPTIMA_FILES(X, S)                                                                     \
  X(S, TEXT, augment, "", 0, 0, NULL,                                                          \
    "two views of every point: crop[:LO-HI],flip,noise:S,.. (default: none, no second views)") \
  X(S, TEXT, anchors, "", 0, 0, NULL, "ready pairs: first views")                              \
  X(S, TEXT, positives, "", 0, 0, NULL, "ready pairs: second views, row by row")               \
  X(S, TEXT, out, "", 0, 0, NULL, "the optima as a matrix .npy, a row each")                   \
  X(S, TEXT, figures, "", 0, 0, NULL,                                                          \
    "JSON of two figures: convergence curves, and a map of which optimum a start reaches")
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
      "  eigenpair optima --data digits --samples 500 --augment noise:0.1 --figures f.json\n\n"
      "lambda, gap: of A(w) = C_alpha[x h'(w'x)]. roughness: how fast A turns w away as w moves. "
      "Theorem 1: gap >\n"
      "roughness makes it stable. basin: share of the starts. Everything is computed in double.\n");
  args_help(groups, to);
}

/* ---- what a person sees */

static void print_optima(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  enum { MOST = 40 };
  const ptrdiff_t shown = o->count < MOST ? o->count : MOST;
  printf("data     %s: ", s->data.data[0] ? s->data.data : s->files.anchors);
  print_count(stdout, (double)layer->X.rows);
  printf(" points of dimension %td%s\n", layer->X.cols, layer->X2.data ? ", two views each" : "");
  printf("layer    %s, %s weights, %s search\n", s->optima.activation, s->optima.weights,
         s->optima.search);
  printf("starts   %td: %td dead, %td not settled, %.0f iterations on average\n", o->starts,
         o->dead, o->unsettled, o->iterations);
  printf("optima   %td, of which %td are locally maximal eigenvectors\n", o->count, o->maximal);
  if (o->count)
    printf(
        "\n   #   basin  (95 %%)            lambda       gap  roughness  Theorem 1  came back\n");
  for (ptrdiff_t i = 0; i < shown; i++) {
    const ep_optimum *p = &o->optimum[i];
    printf("%4td  %5.1f %%  (%4.1f to %4.1f)  %9.4g %9.4g  %9.4g  %-9s  ", i + 1, 100 * p->basin,
           100 * p->low, 100 * p->high, p->lambda, p->gap, p->roughness,
           p->theorem1  ? "stable"
           : p->maximal ? "open"
                        : "no eigenv.");
    if (isnan(p->returns)) printf("-\n");
    else printf("%.0f %%\n", 100 * p->returns);
  }
  if (shown < o->count) printf("  .. and %td more (--json has all)\n", o->count - shown);
  if (s->files.out[0]) printf("\nvectors  %s\n", s->files.out);
  if (s->files.figures[0]) printf("figures  %s\n", s->files.figures);
}

static json_t *optimum_json(const ep_optimum *p, const double *w, ptrdiff_t d) {
  return json_pack(
      "{s:o,s:o,s:o,s:o,s:b,s:f,s:f,s:f,s:I,s:o,s:o,s:o,s:b,s:b,s:o,s:o,s:o,s:o,s:o,s:o}", "w",
      ep_json_numbers(w, d), "lambda", number_json(p->lambda), "gap", number_json(p->gap),
      "roughness", number_json(p->roughness), "stable", p->stable, "basin", p->basin, "basin_low",
      p->low, "basin_high", p->high, "count", (json_int_t)p->count, "lambda_1", number_json(p->top),
      "alignment", number_json(p->alignment), "residual", number_json(p->residual), "maximal",
      p->maximal, "theorem1", p->theorem1, "returns", number_json(p->returns), "roughness_bound",
      number_json(p->roughness_bound), "r", number_json(p->r), "z0", number_json(p->z0),
      "irregularity", number_json(p->irregularity), "ball", number_json(p->ball));
}

static json_t *result_json(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  json_t *list = json_array(), *config = json_object();
  bool ok = list && config && !ep_options_to_json(config, ep_optima_options, &s->optima) &&
            !ep_options_to_json(config, ep_data_options, &s->data) &&
            !ep_options_to_json(config, optima_file_options, &s->files) &&
            !ep_options_to_json(config, ep_run_options, &s->run);
  for (ptrdiff_t i = 0; ok && i < o->count; i++)
    ok = json_array_append_new(list, optimum_json(&o->optimum[i], ep_d(&o->W, i, 0), o->W.cols)) ==
         0;
  if (!ok) return json_decref(list), json_decref(config), NULL;
  return json_pack("{s:o,s:I,s:I,s:I,s:I,s:f,s:I,s:I,s:f,s:s,s:o,s:o}", "optima", list, "maximal",
                   (json_int_t)o->maximal, "starts", (json_int_t)o->starts, "dead",
                   (json_int_t)o->dead, "unsettled", (json_int_t)o->unsettled, "iterations",
                   o->iterations, "points", (json_int_t)layer->X.rows, "dimension",
                   (json_int_t)layer->X.cols, "peak_memory", (double)ep_memory_peak(), "version",
                   ep_version(), "machine", machine_json(), "config", config);
}

/* ---- files */

static ep_status write_figures(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  json_t *figures[2] = {NULL, NULL};
  char *text = NULL;
  const uint64_t seed = (uint64_t)s->run.seed;
  ep_status st = ep_optima_curves(&figures[0], o, layer, &s->optima, seed);
  if (!st) st = ep_optima_map(&figures[1], o, layer, &s->optima, seed);
  json_t *both = json_pack("[o?,o?]", figures[0], figures[1]);
  if (!st) text = both ? json_dumps(both, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
  json_decref(both);
  if (!st && !text) st = EP_FAIL(EP_ERR_NOMEM, "no memory for the figures");
  if (!st) st = ep_file_write_text(s->files.figures, text);
  free(text);
  return st;
}

static ep_status report(const setup_optima *s, const ep_layer *layer, const ep_optima *o) {
  if (s->files.out[0]) EP_TRY(ep_npy_write(s->files.out, &o->W));
  if (s->files.figures[0]) EP_TRY(write_figures(s, layer, o));
  terminal_clear();
  if (s->cli.json) return print_json(result_json(s, layer, o));
  print_optima(s, layer, o);
  return EP_OK;
}

/* ---- */

static ep_status load(ep_layer *layer, const setup_optima *s) {
  static ep_pair_config pairs;
  ep_options_default(ep_pair_options, &pairs);
  memcpy(pairs.augment, s->files.augment, sizeof pairs.augment);
  memcpy(pairs.anchors, s->files.anchors, sizeof pairs.anchors);
  snprintf(pairs.positives, sizeof pairs.positives, "%s", s->files.positives);
  return ep_layer_load(layer, &s->optima, &s->data, &pairs, &s->run);
}

ep_status cmd_optima(int argc, char **argv) {
  static setup_optima s;
  ep_option_group groups[GROUPS];
  ep_layer layer;
  ep_optima optima;
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  const char *const outputs[] = {s.files.out, s.files.figures, NULL};
  EP_TRY(check_outputs(outputs));
  EP_TRY(ep_run_start(&s.run));
  terminal_attach(&s.run, s.cli.progress);
  ep_watch(&s.run);
  EP_TRY(load(&layer, &s));
  ep_status st = ep_optima_find(&optima, &layer, &s.optima, &s.run);
  if (!st) {
    st = report(&s, &layer, &optima);
    ep_optima_free(&optima);
  }
  ep_layer_free(&layer);
  return st;
}
