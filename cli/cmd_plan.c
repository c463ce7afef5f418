/* What a fit costs on so many machines, before it is run. */
#include "commands.h"
#include "data/parse.h"

#include <eigenpair/scale.h>
#include <math.h>
#include <string.h>

static const char *plan_method(int i) {
  static const char *const names[] = {"whitened", "pca", "gd", NULL};
  return names[i];
}

#define PLAN_OPTIONS(X, S)                                                                    \
  X(S, CHOICE, method, "whitened", 0, 0, plan_method, "what is planned")                      \
  X(S, REAL, points, "1e6", 1, 1e15, NULL, "points (anchors), such as 1e8")                   \
  X(S, INT, views, "2", 1, 1000, NULL, "views of a point, itself among them")                 \
  X(S, INT, dimension, "784", 1, 1e7, NULL, "numbers a point; --image says it for images")    \
  X(S, TEXT, image, "", 0, 0, NULL, "points are images of HxW or CxHxW")                      \
  X(S, INT, epochs, "100", 1, 1e9, NULL, "gd: passes over the points")                        \
  X(S, CHOICE, solver, "auto", 0, 0, ep_solver_name,                                          \
    "whitened: eigenproblem on every rank (local) or spread over ranks, as fit --solver")     \
  X(S, INT, nodes, "1", 1, 1e6, NULL, "machines")                                             \
  X(S, INT, ranks, "0", 0, 1e5, NULL, "ranks a node; 0: as many as this machine has cores")   \
  X(S, REAL, hours, "24", 1e-6, 1e9, NULL, "time there is: what can be afforded in it")       \
  X(S, REAL, view_cost, "2e-5", 0, 1e3, NULL, "seconds of a core to read and augment a view") \
  X(S, BYTES, network, "1G", 1, 1e15, NULL, "bytes a second of a node's network")
typedef struct {
  PLAN_OPTIONS(EP_OPT_FIELD, )
} plan_config;
static const ep_option plan_options[] = {PLAN_OPTIONS(EP_OPT_ROW, plan_config){0}};

typedef struct {
  plan_config plan;
  ep_setup setup; /* features, network, run */
  cli_config cli;
} setup_plan;

enum { GROUPS = 6 };
static void groups_of(ep_option_group groups[GROUPS], setup_plan *s) {
  const ep_option_group all[GROUPS] = {
      {"Plan", plan_options, &s->plan},
      {"Features", ep_feature_options, &s->setup.feature},
      {"Network", ep_net_options, &s->setup.net},
      {"Run (of a rank; --memory: of a node)", ep_run_options, &s->setup.run},
      {"Output", cli_options, &s->cli},
      {0}};
  memcpy(groups, all, sizeof all);
}

void help_plan(FILE *to) {
  static setup_plan s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair plan --points 1e8 --features patches:256,7,4 --image 28x28 --nodes 64 "
          "--ranks 32 --memory 128G\n\n"
          "Time, memory and traffic of each rank, from rates that are measured here on one core in "
          "a second; what can be\nafforded in --hours. The model and how it was checked: "
          "docs/scale.md.\n");
  args_help(groups, to);
}

static void print_time(const char *what, double seconds, const char *why) {
  const char *unit = seconds < 120 ? "s" : seconds < 7200 ? "min" : seconds < 172800 ? "h" : "days";
  const double by = seconds < 120 ? 1 : seconds < 7200 ? 60 : seconds < 172800 ? 3600 : 86400;
  printf("%-9s %8.3g %-4s %s\n", what, seconds / by, unit, why);
}

/* three digits: 12,300 */
static void print_rounded(double n) {
  const double unit = pow(10, fmax(0, floor(log10(fmax(n, 1))) - 2));
  print_count(stdout, floor(n / unit) * unit);
}

static void print_advice(const ep_scale_case *c, const ep_scale_rates *r, const ep_scale_cost *cost,
                         double hours) {
  const bool fits = c->memory == 0 || cost->memory * c->ranks <= c->memory;
  const double points = ep_scale_points(c, r, 3600 * hours);
  if (!fits)
    printf("memory    does not fit: %.3g ranks of a node take %.3g GiB, it has %.3g\n", c->ranks,
           c->ranks * cost->memory / 1073741824, c->memory / 1073741824);
  printf("afford    in %g h: ", hours);
  print_rounded(ep_scale_features(c, r, 3600 * hours));
  printf(" features of all points, or ");
  print_rounded(points < 1 ? 0 : points);
  printf(" points with these features\n");
  if (fits && cost->seconds > 3600 * hours && points >= 1)
    printf("advice    sample: --samples %.0f; sums converge like one over the root of points\n",
           points);
  else if (!fits)
    printf(
        "advice    fewer features, fewer ranks a node with more threads, or pca by products "
        "(--path free)\n");
}

static const char *solver_of(const ep_scale_case *c, const ep_scale_cost *x) {
  return ep_solver_name(!x->spread                    ? EP_SOLVER_LOCAL
                        : c->solver == EP_SOLVER_ELPA ? EP_SOLVER_ELPA
                                                      : EP_SOLVER_SCALAPACK);
}

static json_t *plan_json(const ep_scale_case *c, const ep_scale_rates *r, const ep_scale_cost *x,
                         double hours) {
  json_t *rates = json_pack("{s:f,s:f,s:f,s:f,s:f}", "product", r->product, "solve", r->solve,
                            "features", r->features, "view", r->view, "network", r->network);
  return json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:b,s:s,s:b,s:f,s:f,s:f,s:f,s:o,s:s,s:o}",
                   "seconds", x->seconds, "views", x->views, "map", x->map, "sums", x->sums,
                   "solve", x->solve, "traffic", x->traffic, "memory", x->memory, "bytes", x->bytes,
                   "operations", x->operations, "spread", x->spread, "solver", solver_of(c, x),
                   "fits", c->memory == 0 || x->memory * c->ranks <= c->memory, "features",
                   c->features, "flops", c->flops, "affordable_features",
                   ep_scale_features(c, r, 3600 * hours), "affordable_points",
                   ep_scale_points(c, r, 3600 * hours), "rates", rates, "version", ep_version(),
                   "machine", machine_json());
}

/* which solver this is the plan of, and what its matrices take */
static void print_solver(const ep_scale_case *c, const ep_scale_cost *x) {
  const double GiB = 1073741824, ranks = c->nodes * c->ranks;
  const double whole = (c->method == EP_SCALE_PCA ? 8 : 16) * c->features * c->features;
  if (c->method == EP_SCALE_GD) return;
  if (!x->spread) {
    printf("solver    local: whole matrices of %.3g GiB on every rank\n", whole / GiB);
    return;
  }
  printf("solver    %s, B and C spread over %.0f ranks: %.3g GiB of %.3g%s\n", solver_of(c, x),
         ranks, whole / ranks / GiB, whole / GiB,
         c->solver == EP_SOLVER_AUTO ? ", which do not fit a node whole" : "");
}

static void print_plan(const ep_scale_case *c, const ep_scale_rates *r, const ep_scale_cost *x) {
  printf("plan      %s of ", plan_method(c->method));
  print_count(stdout, c->points);
  printf(
      " points in %.0f views, %.0f features of %.3g Mflop, on %.0f node%s of %.0f ranks of %.0f "
      "thread%s\n",
      c->views, c->features, c->flops / 1e6, c->nodes, c->nodes > 1 ? "s" : "", c->ranks,
      c->threads, c->threads > 1 ? "s" : "");
  printf(
      "rates     a core: products %.3g Gflop/s, in double %.3g, features %.3g; a node's network "
      "%.3g GB/s\n",
      r->product / 1e9, r->solve / 1e9, r->features / 1e9, r->network / 1e9);
  print_time("views", x->views, "read and augment");
  if (x->map > 0) print_time("features", x->map, "");
  print_time("sums", x->sums,
             c->method != EP_SCALE_GD ? "" : "passes forward and back, all epochs");
  print_time("solve", x->solve,
             x->spread                  ? "spread over the ranks"
             : c->method == EP_SCALE_GD ? ""
                                        : "the same on every rank");
  print_time("traffic", x->traffic, "");
  print_time("all", x->seconds, "");
  print_solver(c, x);
  printf("memory    %.3g GiB a rank\n", x->memory / 1073741824);
  printf("traffic   %.3g GB a rank\n", x->bytes / 1e9);
}

static ep_status plan(setup_plan *s) {
  const plan_config *p = &s->plan;
  ep_image_shape shape = {0};
  ep_scale_rates rates = {.view = p->view_cost, .network = p->network};
  const bool gd = p->method == EP_SCALE_GD;
  ep_scale_case c = {.method = (ep_scale_method)p->method,
                     .points = p->points,
                     .views = (double)p->views,
                     .epochs = (double)p->epochs,
                     .nodes = (double)p->nodes,
                     .ranks = (double)(p->ranks ? p->ranks : ep_run_threads()),
                     .threads = (double)(s->setup.run.threads ? s->setup.run.threads : 1),
                     .outputs = (double)s->setup.net.outputs,
                     .memory = s->setup.run.memory,
                     .solver = (ep_solver)p->solver,
                     .size = (double)ep_sizeof(ep_run_precision(&s->setup.run))};
  ptrdiff_t inputs = p->dimension;
  if (p->image[0]) {
    int a = 0, b = 0, d = 1;
    const int n = sscanf(p->image, "%9dx%9dx%9d", &a, &b, &d);
    inputs = n >= 2 && a > 0 && b > 0 && d > 0 ? (ptrdiff_t)a * b * d : 0;
    EP_TRY(ep_image_shape_parse(&shape, p->image, inputs));
  }
  snprintf(s->setup.fit.method, sizeof s->setup.fit.method, "%s",
           plan_method(gd ? EP_SCALE_WHITENED : p->method));
  s->setup.run.memory = 0;
  EP_TRY(ep_scale_map(&c, &rates, &s->setup, inputs, shape));
  const ep_scale_cost cost = ep_scale_estimate(&c, &rates);
  if (s->cli.json) return print_json(plan_json(&c, &rates, &cost, p->hours));
  print_plan(&c, &rates, &cost);
  print_advice(&c, &rates, &cost, p->hours);
  return EP_OK;
}

ep_status cmd_plan(int argc, char **argv) {
  static setup_plan s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  ep_setup_default(&s.setup);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  ep_run_config one = s.setup.run;
  one.memory = 0, one.threads = 0;
  EP_TRY(work_begin(&one, s.cli.progress));
  return plan(&s);
}
