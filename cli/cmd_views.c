/* Augmentations side by side: what their views share, on points that were held out. */
#include "commands.h"

#include <eigenpair/views.h>
#include <stdlib.h>
#include <string.h>

#define VIEWS_OPTIONS(X, S)                                                                    \
  X(S, LIST, augment, "", 0, 0, NULL,                                                          \
    "a candidate, as fit takes it; may be given again; without it the usual ones of the kind"  \
    " of data")                                                                                \
  X(S, INT, views, "3", 2, 1000, NULL, "views of a point: itself and augmented ones")          \
  X(S, INT, outputs, "64", 1, 1e5, NULL, "correlations that are looked at")                    \
  X(S, REAL, ridge, "0.01", 0, 1e6, NULL, "ridge of the fit, as fit --method whitened has it") \
  X(S, TEXT, report, "", 0, 0, NULL, "a folder for the page with table and picture")
typedef struct {
  VIEWS_OPTIONS(EP_OPT_FIELD, )
} views_config;
static const ep_option views_options[] = {VIEWS_OPTIONS(EP_OPT_ROW, views_config){0}};

typedef struct {
  views_config config;
  ep_setup setup; /* data, features, run */
  cli_config cli;
} setup_views;

enum { GROUPS = 6, MOST = 64 };
static void groups_of(ep_option_group groups[GROUPS], setup_views *s) {
  const ep_option_group all[GROUPS] = {{"Views", views_options, &s->config},
                                       {"Data", ep_data_options, &s->setup.data},
                                       {"Features", ep_feature_options, &s->setup.feature},
                                       {"Run", ep_run_options, &s->setup.run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_views(FILE *to) {
  static setup_views s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair views --data mnist --samples 5000\n"
      "  eigenpair views --data cifar10 --samples 5000 --augment crop:0.5-1,flip --augment "
      "jitter:0.5 --report views\n\n"
      "Without labels: the closed form is found from nine tenths of the points; of the others, how "
      "far do two views\nagree in each output? shared is the sum of those correlations above "
      "their noise. Much is shared by views that\nchange little: it says what survives, not what "
      "is worth keeping (docs/representations.md).\n");
  args_help(groups, to);
}

typedef struct {
  char name[256];
  ep_view_spectrum s;
} candidate;

typedef struct {
  candidate all[MOST];
  int count;
} table;

/* ---- candidates */

static const char *usual(const ep_points *p) {
  if (p->shape.channels == 3)
    return "flip\nlight:0.3\njitter:0.5\ngrey:0.5\nblur:1\ncutout:8\nrotate:10\nshift:3\ncrop:0."
           "5-1\n"
           "crop:0.5-1,flip\ncrop:0.5-1,flip,jitter:0.5,grey:0.2\n";
  if (p->shape.height > 0)
    return "flip\nlight:0.3\nblur:1\ncutout:8\nrotate:10\nshift:2\ncrop:0.5-1\nshift:2,rotate:"
           "10\n"
           "crop:0.5-1,flip\n";
  return "noise:0.05\nnoise:0.1\nnoise:0.3\ncorrupt:0.1\ncorrupt:0.3\n";
}

static ep_status list(table *t, const char *text) {
  for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
    const size_t n = strcspn(at, "\n");
    if (n == 0) continue;
    EP_CHECK(t->count < MOST && n < sizeof t->all[0].name, EP_ERR_ARG,
             "%d augmentations at most, each of less than %zu letters", MOST,
             sizeof t->all[0].name);
    snprintf(t->all[t->count++].name, sizeof t->all[0].name, "%.*s", (int)n, at);
  }
  return EP_OK;
}

static ep_status load(ep_points *p, const setup_views *s, const char *augment) {
  ep_pair_config pair = s->setup.pair;
  snprintf(pair.augment, sizeof pair.augment, "%s", augment);
  return ep_points_load(NULL, p, &s->setup.data, &pair, "positives", &s->setup.run);
}

static ep_status judge_all(table *t, setup_views *s, int argc, char **argv) {
  ep_points p = {0};
  ep_status st = EP_OK;
  for (int k = 0; !st && (k == 0 || k < t->count); k++) {
    if (t->count > 0) st = load(&p, s, t->all[k].name);
    else { /* the kind of data says what is usual */ st = load(&p, s, "");
      if (!st) st = list(t, usual(&p));
      ep_points_free(&p);
      if (!st) st = load(&p, s, t->all[0].name);
    }
    if (!st && k == 0) (void)choose_features(&s->setup, &p, argc, argv);
    if (!st) st = ep_view_spectrum_new(&t->all[k].s, &p, &s->setup);
    ep_points_free(&p);
    p = (ep_points){0};
  }
  return st;
}

static int by_shared(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  const double u = x->s.shared, v = y->s.shared;
  return u != v ? (u < v) - (u > v) : strcmp(x->name, y->name);
}

/* ---- what is told */

static json_t *candidates_json(const table *t) {
  json_t *all = json_array();
  for (int k = 0; k < t->count; k++) {
    const candidate *c = &t->all[k];
    json_t *rho = json_array();
    for (ptrdiff_t i = 0; i < c->s.outputs; i++)
      json_array_append_new(rho, number_json(c->s.rho[i]));
    json_array_append_new(
        all, json_pack("{s:s,s:f,s:f,s:I,s:f,s:f,s:o}", "augment", c->name, "shared", c->s.shared,
                       "mean", c->s.mean, "above", (json_int_t)c->s.above, "noise", c->s.noise,
                       "held_out", c->s.held, "correlations", rho));
  }
  return all;
}

static ep_status figure_of(json_t **out, ep_work *work, const table *t) {
  const ptrdiff_t most = t->all[0].s.outputs;
  double *x;
  EP_TRY(ep_work_get(work, &x, most, sizeof *x));
  for (ptrdiff_t i = 0; i < most; i++) x[i] = (double)(i + 1);
  EP_TRY(ep_figure_new(out, "views", EP_FIGURE_LINE, "What two views share",
                       "Correlation across views of held-out points, output by output, a line for "
                       "every augmentation.",
                       (ep_axis){"output", .log = false},
                       (ep_axis){"correlation across views", .log = false}));
  for (int k = 0; k < t->count; k++) {
    const ep_view_spectrum *s = &t->all[k].s;
    EP_TRY(ep_figure_add(
        *out, &(ep_series){.name = t->all[k].name, .count = s->outputs, .x = x, .y = s->rho}));
  }
  return ep_figure_rule(*out, 'y', t->all[0].s.noise, "noise");
}

static json_t *table_json(const table *t) {
  json_t *rows = json_array();
  for (int k = 0; k < t->count; k++) {
    const ep_view_spectrum *s = &t->all[k].s;
    json_array_append_new(
        rows, json_pack("[s,f,f,I]", t->all[k].name, s->shared, s->mean, (json_int_t)s->above));
  }
  return json_pack("{s:s,s:[{s:s},{s:s},{s:s},{s:s}],s:o}", "title", "Augmentations", "columns",
                   "name", "augmentation", "name", "shared", "name", "mean correlation", "name",
                   "outputs above noise", "rows", rows);
}

static ep_status write_report(const setup_views *s, const table *t, const json_t *result, int argc,
                              char **argv) {
  ep_work work = {0};
  json_t *figure = NULL;
  const ep_status st = figure_of(&figure, &work, t);
  ep_work_free(&work);
  if (st) return json_decref(figure), st;
  json_t *section = json_pack(
      "{s:s,s:[s],s:[o],s:[o]}", "title", "What survives", "text",
      "Correlations across views of points that the fit has not seen. Views that change little "
      "share much: this says what survives, not what is worth keeping.",
      "tables", table_json(t), "figures", figure);
  return write_page(s->config.report, "What augmentations keep", NULL, section, result, argc, argv);
}

static void print_table(const setup_views *s, const table *t) {
  const ep_view_spectrum *first = &t->all[0].s;
  printf("data     %s, %.0f points held out, %td outputs on %s, noise %.3g\n\n", s->setup.data.data,
         first->held, first->outputs, s->setup.feature.features, first->noise);
  printf("%8s  %8s  %8s  %s\n", "shared", "mean", "above", "augmentation");
  for (int k = 0; k < t->count; k++) {
    const ep_view_spectrum *v = &t->all[k].s;
    printf("%8.2f  %8.3f  %8td  %s\n", v->shared, v->mean, v->above, t->all[k].name);
  }
  if (s->config.report[0]) print_report("\nreport   ", s->config.report);
}

static ep_status tell(const setup_views *s, const table *t, const ep_option_group *groups, int argc,
                      char **argv) {
  json_t *config = json_object();
  ep_status st = EP_OK;
  for (const ep_option_group *g = groups; g->table && !st; g++)
    st = ep_options_to_json(config, g->table, g->config);
  json_t *result = json_pack("{s:o,s:o,s:s,s:o}", "candidates", candidates_json(t), "config",
                             config, "version", ep_version(), "machine", machine_json());
  if (!st && !result) st = EP_FAIL(EP_ERR_NOMEM, "no memory for JSON");
  if (!st && s->config.report[0]) st = write_report(s, t, result, argc, argv);
  terminal_clear();
  if (!st && s->cli.json) return print_json(result);
  if (!st) print_table(s, t);
  json_decref(result);
  return st;
}

ep_status cmd_views(int argc, char **argv) {
  static setup_views s;
  static table t;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  ep_setup_default(&s.setup);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  EP_CHECK(s.setup.data.data[0], EP_ERR_ARG, "give --data");
  EP_TRY(make_report_folder(s.config.report));
  EP_TRY(work_begin(&s.setup.run, s.cli.progress));
  snprintf(s.setup.fit.method, sizeof s.setup.fit.method, "whitened");
  s.setup.pair.views = s.config.views;
  s.setup.net.outputs = s.config.outputs;
  s.setup.closed.ridge = s.config.ridge;
  s.setup.eigen.eigen_tolerance = 1e-6;
  EP_TRY(list(&t, s.config.augment));
  ep_status st = judge_all(&t, &s, argc, argv);
  if (!st) qsort(t.all, (size_t)t.count, sizeof *t.all, by_shared);
  if (!st) st = tell(&s, &t, groups, argc, argv);
  for (int k = 0; k < t.count; k++) ep_view_spectrum_free(&t.all[k].s);
  return st;
}
