#include "commands.h"

#include <string.h>
#include <time.h>

#define NEIGHBOURS_OPTIONS(X, S)                                                                  \
  X(S, TEXT, embedding, "", 0, 0, NULL, "the points (n, Z): an embedding or any matrix")          \
  X(S, TEXT, query, "", 0, 0, NULL,                                                               \
    "whose neighbours to find; without it those of every point among the others")                 \
  X(S, INT, k, "10", 1, 1e6, NULL, "neighbours of each; also -k")                                 \
  X(S, CHOICE, metric, "cosine", 0, 0, ep_metric_name, "cosine: 1 - cos; euclidean: |x - y|")     \
  X(S, TEXT, out, "neighbours.npy", 0, 0, NULL, "their rows (queries, k), counted from 0: '<i8'") \
  X(S, TEXT, distances, "", 0, 0, NULL, "also write their distances (queries, k)")
typedef struct {
  NEIGHBOURS_OPTIONS(EP_OPT_FIELD, )
} neighbours_config;
static const ep_option neighbours_options[] = {
    NEIGHBOURS_OPTIONS(EP_OPT_ROW, neighbours_config){0}};

typedef struct {
  neighbours_config config;
  ep_run_config run;
  cli_config cli;
  int argc; /* the command line */
  char **argv;
} setup_neighbours;

enum { GROUPS = 4 };

static void groups_of(ep_option_group groups[GROUPS], setup_neighbours *s) {
  const ep_option_group all[GROUPS] = {{"Neighbours", neighbours_options, &s->config},
                                       {"Run", ep_run_options, &s->run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_neighbours(FILE *to) {
  static setup_neighbours s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair neighbours --embedding train.npy --query test.npy -k 10 --out n.npy\n"
          "  eigenpair neighbours --embedding e.npy --metric euclidean --distances d.npy\n\n"
          "Exact: every pair is looked at, in blocks. Nearest first; of equal ones the lower row. "
          "All arithmetic\nis in double.\n");
  args_help(groups, to);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static json_t *own_config(const setup_neighbours *s) {
  static setup_neighbours copy;
  ep_option_group groups[GROUPS];
  copy = *s;
  groups_of(groups, &copy);
  return config_of_run(groups, NULL, 0, s->argc, s->argv);
}

static ep_status tell(const setup_neighbours *s, const ep_mat *Q, const ep_mat *E, double seconds) {
  const neighbours_config *c = &s->config;
  terminal_clear();
  if (s->cli.json)
    return print_json(json_pack(
        "{s:s,s:s,s:I,s:I,s:I,s:I,s:s,s:f,s:f,s:s,s:o,s:o}", "neighbours", c->out, "distances",
        c->distances, "queries", (json_int_t)Q->rows, "points", (json_int_t)E->rows, "dimensions",
        (json_int_t)E->cols, "k", (json_int_t)c->k, "metric", ep_metric_name(c->metric), "seconds",
        seconds, "peak_memory", (double)ep_memory_peak(), "version", ep_version(), "machine",
        machine_json(), "config", own_config(s)));
  printf("%ld nearest of ", c->k);
  print_count(stdout, (double)E->rows);
  printf(" points for each of ");
  print_count(stdout, (double)Q->rows);
  printf(" (%s, %.2g s): %s\n", ep_metric_name(c->metric), seconds, c->out);
  return EP_OK;
}

static ep_status find(const setup_neighbours *s, ep_work *work, const ep_mat *Q, const ep_mat *E) {
  const neighbours_config *c = &s->config;
  const ep_mat *queries = Q->data ? Q : E;
  const double start = now();
  const ep_metric metric = (ep_metric)c->metric;
  ptrdiff_t *who;
  ep_mat D = {0};
  EP_TRY(ep_work_get(work, &who, queries->rows * c->k, sizeof *who));
  if (c->distances[0]) EP_TRY(ep_work_mat(work, &D, EP_DOUBLE, queries->rows, c->k));
  EP_TRY(ep_neighbours(NULL, who, D.data, Q->data ? Q : NULL, E, c->k, metric));
  const double seconds = now() - start;
  EP_TRY(ep_npy_write_indices(c->out, who, queries->rows, c->k));
  if (c->distances[0]) EP_TRY(ep_npy_write(c->distances, &D));
  return tell(s, queries, E, seconds);
}

static ep_status read_and_find(setup_neighbours *s, ep_work *work, ep_mat *Q, ep_mat *E,
                               bool own_precision) {
  EP_TRY(read_embedding(E, s->config.embedding, own_precision, &s->run));
  if (s->config.query[0]) {
    EP_TRY(read_embedding(Q, s->config.query, own_precision, &s->run));
    EP_CHECK(Q->cols == E->cols, EP_ERR_SHAPE, "%s has %td dimensions, %s has %td", s->config.query,
             Q->cols, s->config.embedding, E->cols);
  }
  EP_CHECK(s->config.k <= E->rows - !Q->data, EP_ERR_ARG, "-k %ld, but %s has only %td%s points",
           s->config.k, s->config.embedding, E->rows - !Q->data, Q->data ? "" : " other");
  return find(s, work, Q, E);
}

ep_status cmd_neighbours(int argc, char **argv) {
  static setup_neighbours s;
  ep_option_group groups[GROUPS];
  ep_mat E = {0}, Q = {0};
  ep_work work = {0};
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  s.argc = argc;
  s.argv = argv;
  EP_CHECK(s.config.embedding[0], EP_ERR_ARG, "give --embedding FILE");
  const char *const outputs[] = {s.config.out, s.config.distances, NULL};
  EP_TRY(check_outputs(outputs, groups));
  for (int i = 0; outputs[i]; i++) EP_TRY(check_no_csv(outputs[i], ".npy"));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const ep_status st = read_and_find(&s, &work, &Q, &E, args_has(argc, argv, "precision"));
  ep_work_free(&work);
  ep_mat_free(&Q);
  ep_mat_free(&E);
  return st;
}
