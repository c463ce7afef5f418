#include "commands.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

#define DYNAMICS_FILES(X, S)                                                               \
  X(S, TEXT, matrix, "", 0, 0, NULL, "C itself (d, d), symmetric, in the place of pairs")  \
  X(S, TEXT, q0, "", 0, 0, NULL,                                                           \
    "start (d, z) in the eigenbasis of C (default: a random network)")                     \
  X(S, TEXT, out, "q.npy", 0, 0, NULL, "q(T) (d, z)")                                      \
  X(S, TEXT, trajectory, "", 0, 0, NULL, "q at --times and --time (k, d, z)")              \
  X(S, TEXT, basis, "", 0, 0, NULL, "also write the eigenvectors U (d, d), a column each") \
  X(S, TEXT, embed, "", 0, 0, NULL, "new points, like --data: u(x) = q(T)'U'x")            \
  X(S, TEXT, embedding, "embedding.npy", 0, 0, NULL, "where they go (n, z)")               \
  X(S, TEXT, report, "", 0, 0, NULL, "folder for report.html: loss and spans over time")
typedef struct {
  DYNAMICS_FILES(EP_OPT_FIELD, )
} dynamics_files;
static const ep_option file_options[] = {DYNAMICS_FILES(EP_OPT_ROW, dynamics_files){0}};

typedef struct {
  ep_dynamics_config dynamics;
  dynamics_files files;
  ep_data_config data;
  ep_pair_config pair;
  ep_descent_config descent;
  ep_run_config run;
  cli_config cli;
  bool own_outputs, own_times; /* --outputs, --times were given */
} setup_dynamics;

/* This command computes in double, and reads in double unless told otherwise. */
static const ep_option *run_options(void) {
  static ep_option rows[8];
  for (int i = 0; ep_run_options[i].name && i < 7; i++) {
    rows[i] = ep_run_options[i];
    if (strcmp(rows[i].name, "precision") == 0)
      rows[i].def = "double", rows[i].help = "precision in which data are read";
  }
  return rows;
}

enum { GROUPS = 7 };
static void groups_of(ep_option_group groups[GROUPS + 1], setup_dynamics *s) {
  const ep_option_group all[GROUPS + 1] = {{"Dynamics", ep_dynamics_options, &s->dynamics},
                                           {"Files", file_options, &s->files},
                                           {"Data", ep_data_options, &s->data},
                                           {"Pairs", ep_pair_options, &s->pair},
                                           {"Network", ep_descent_options, &s->descent},
                                           {"Run", run_options(), &s->run},
                                           {"Output", cli_options, &s->cli},
                                           {0}};
  memcpy(groups, all, sizeof all);
}

void help_dynamics(FILE *to) {
  static setup_dynamics s;
  ep_option_group groups[GROUPS + 1];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair dynamics --data moons --outputs 2 --time 100 --times 1,10 --out q.npy\n"
          "  eigenpair dynamics --matrix C.npy --q0 q0.npy --time 5 --out q.npy --json\n"
          "  eigenpair dynamics --data moons --times 1,10 --compare --constraint none\n\n"
          "Linear models u(x) = q'U'x with the loss Tr(q' Lam q): C = U Lam U' is the mean over "
          "anchors of\n-sym sum_q a_q x x_q' (a = +1 for positives, -1 for negatives), eigenvalues "
          "ascending. An orthogonal\nlinear network of any width and depth moves by\n"
          "  dq/dt = -2 (2 Lam q - Lam q q'q - q q' Lam q)\n"
          "With --compare a network descends beside it, under one of these constraints:\n");
  for (int i = 0; ep_constraint_name(i); i++)
    fprintf(to, "  %-12s %s\n", ep_constraint_name(i), ep_constraint_help(i));
  args_help(groups, to);
}

/* ---- what a person sees */

static void print_list(const char *name, const double *x, ptrdiff_t n) {
  enum { SHOWN = 8 };
  printf("%s", name);
  for (ptrdiff_t i = 0; i < n && i < SHOWN; i++) printf(" %.6g", x[i]);
  printf("%s\n", n > SHOWN ? " .." : "");
}

/* Eigenvalues below rounding. */
static ptrdiff_t negatives(const ep_dynamics *d) {
  const ep_linear basis = ep_dynamics_basis(d);
  return ep_linear_negatives(&basis);
}

static void print_summary(const setup_dynamics *s, const ep_dynamics *d) {
  const ptrdiff_t last = d->rows - 1, dim = d->U.rows;
  printf("C        %td x %td, %td negative eigenvalues\n", dim, dim, negatives(d));
  print_list("lambda  ", d->lambda, dim);
  printf("%10s %13s %8s%s\n", "time", "loss", "rank",
         s->dynamics.compare ? "  descent loss     rank  difference" : "");
  for (ptrdiff_t i = 0; i < d->rows; i++) {
    const ep_dynamics_row *r = &d->row[i];
    printf("%10g %13.8g %8.4f", r->time, r->loss, r->rank);
    if (s->dynamics.compare)
      printf(" %13.8g %8.4f %11.3g", r->descent_loss, r->descent_rank, r->difference);
    printf("\n");
  }
  print_list("singular values of q(T)            ", ep_d(&d->sigma, last, 0), d->spectrum);
  print_list("projections of e_1.. on span(q(T)) ", ep_d(&d->projection, last, 0), d->spectrum);
  printf("optimum  %.8g\n", ep_linear_optimum(d->lambda, dim, d->q.cols));
  if (d->diverged) printf("status   the descent diverged\n");
  printf("q(T)     %s, %ld evaluations, %.2f s\n", s->files.out, d->evaluations, d->seconds);
}

static json_t *rows_json(const ep_dynamics *d, bool compare) {
  json_t *list = json_array();
  for (ptrdiff_t i = 0; list && i < d->rows; i++) {
    const ep_dynamics_row *r = &d->row[i];
    json_t *one = json_pack("{s:f,s:o,s:o,s:o,s:o}", "time", r->time, "loss", number_json(r->loss),
                            "rank", number_json(r->rank), "singular_values",
                            ep_json_numbers(ep_d(&d->sigma, i, 0), d->spectrum), "projections",
                            ep_json_numbers(ep_d(&d->projection, i, 0), d->spectrum));
    if (one && compare) {
      json_object_set_new(one, "descent_loss", number_json(r->descent_loss));
      json_object_set_new(one, "descent_rank", number_json(r->descent_rank));
      json_object_set_new(one, "difference", number_json(r->difference));
    }
    if (json_array_append_new(list, one)) json_decref(list), list = NULL;
  }
  return list;
}

static json_t *config_json(const setup_dynamics *s) {
  static setup_dynamics copy;
  ep_option_group groups[GROUPS + 1];
  json_t *config = json_object();
  copy = *s;
  groups_of(groups, &copy);
  for (const ep_option_group *g = groups; config && g->table; g++)
    if (g->table != cli_options && ep_options_to_json(config, g->table, g->config))
      json_decref(config), config = NULL;
  return config;
}

static json_t *result_json(const setup_dynamics *s, const ep_dynamics *d) {
  const ptrdiff_t last = d->rows - 1, dim = d->U.rows;
  return json_pack(
      "{s:o,s:o,s:o,s:f,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:b,s:f,s:f,s:s,s:s,s:o,s:o}", "loss",
      number_json(d->row[last].loss), "start_loss", number_json(d->row[0].loss), "optimum",
      number_json(ep_linear_optimum(d->lambda, dim, d->q.cols)), "time", d->row[last].time,
      "dimension", (json_int_t)dim, "outputs", (json_int_t)d->q.cols, "negative",
      (json_int_t)negatives(d), "eigenvalues", ep_json_numbers(d->lambda, dim), "singular_values",
      ep_json_numbers(ep_d(&d->sigma, last, 0), d->spectrum), "projections",
      ep_json_numbers(ep_d(&d->projection, last, 0), d->spectrum), "rows",
      rows_json(d, s->dynamics.compare), "evaluations", (json_int_t)d->evaluations, "diverged",
      d->diverged, "seconds", d->seconds, "peak_memory", (double)ep_memory_peak(), "out",
      s->files.out, "version", ep_version(), "machine", machine_json(), "config", config_json(s));
}

/* ---- files */

static ep_status read_square(ep_mat *A, const char *path) {
  ep_array a = {0};
  ep_status st = ep_array_read(&a, path);
  if (!st && a.ndim != 2 && a.ndim != 1) st = EP_FAIL(EP_ERR_SHAPE, "%s: is not a matrix", path);
  if (!st) st = ep_array_to_matrix(A, &a, NULL, a.shape[0], 1, EP_DOUBLE, path);
  ep_array_free(&a);
  return st;
}

static ep_status write_trajectory(const setup_dynamics *s, const ep_dynamics *d) {
  ep_npy_map *map;
  const ptrdiff_t dim = d->U.rows, z = d->q.cols, shape[3] = {d->rows - 1, dim, z};
  EP_TRY(ep_npy_map_create(&map, s->files.trajectory, EP_DOUBLE, 3, shape));
  memcpy(ep_npy_map_data(map), ep_d(&d->q, dim, 0),
         (size_t)((d->rows - 1) * dim * z) * sizeof(double));
  const ep_status st = ep_npy_map_commit(map);
  ep_npy_map_close(map);
  return st;
}

static ep_status embed_new(const setup_dynamics *s, const ep_dynamics *d, bool unit) {
  ep_data_config config = s->data;
  ep_dataset set;
  ep_mat E = {0};
  config.samples = 0;
  snprintf(config.data, sizeof config.data, "%s", s->files.embed);
  EP_TRY(ep_dataset_load(NULL, &set, &config, &s->run));
  const bool of_fit = config.scale == EP_SCALE_AUTO && !s->files.matrix[0];
  if (of_fit ? unit : ep_dataset_is_unit(&set, &config)) ep_scale_to_unit(&set.X);
  const ep_mat q = ep_dynamics_at(d, d->rows - 1);
  const ep_linear basis = ep_dynamics_basis(d);
  ep_status st = ep_mat_new(&E, set.X.prec, set.X.rows, q.cols);
  if (!st) st = ep_linear_embed(&E, &basis, &q, &set.X);
  if (!st) st = ep_npy_write(s->files.embedding, &E);
  ep_mat_free(&E);
  ep_dataset_free(&set);
  return st;
}

/* a line over time: row i has value `of` at index k */
static ep_status add_over_time(ep_work *work, json_t *figure, const char *name, bool dashed,
                               const ep_dynamics *d,
                               double (*of)(const ep_dynamics *, ptrdiff_t, int), int k) {
  double *t, *y;
  EP_TRY(ep_work_get(work, &t, d->rows, sizeof *t));
  EP_TRY(ep_work_get(work, &y, d->rows, sizeof *y));
  for (ptrdiff_t i = 0; i < d->rows; i++) t[i] = d->row[i].time, y[i] = of(d, i, k);
  return ep_figure_add(
      figure, &(ep_series){.name = name, .count = d->rows, .x = t, .y = y, .dashed = dashed});
}
static double best_loss(const ep_dynamics *d) {
  return ep_linear_optimum(d->lambda, d->U.rows, d->q.cols);
}
/* a descent that runs away ends where it leaves the figure */
static bool in_sight(const ep_dynamics *d, double loss) {
  const double best = best_loss(d), range = fabs(d->row[0].loss - best) + 1e-12;
  return loss > best - 2 * range && loss < d->row[0].loss + 2 * range;
}
static double loss_of(const ep_dynamics *d, ptrdiff_t i, int k) {
  if (!k) return d->row[i].loss;
  return in_sight(d, d->row[i].descent_loss) ? d->row[i].descent_loss : NAN;
}
static double projection_of(const ep_dynamics *d, ptrdiff_t i, int k) {
  return *ep_d(&d->projection, i, k);
}

static ep_status draw(ep_work *work, json_t **loss, json_t **spans, const ep_dynamics *d,
                      bool compare) {
  EP_TRY(
      ep_figure_new(loss, "loss", EP_FIGURE_LINE, "Loss over time",
                    "The loss of the equation falls to the sum of the most negative eigenvalues.",
                    (ep_axis){"time", .log = true}, (ep_axis){"loss", .log = false}));
  EP_TRY(ep_figure_new(spans, "spans", EP_FIGURE_LINE, "Eigenvectors in the span of q",
                       "How far each of the most negative eigenvectors lies in the span of q.",
                       (ep_axis){"time", .log = true}, (ep_axis){"projection", .log = false}));
  EP_TRY(add_over_time(work, *loss, "equation", false, d, loss_of, 0));
  if (compare) EP_TRY(add_over_time(work, *loss, "descent", true, d, loss_of, 1));
  EP_TRY(ep_figure_rule(*loss, 'y', best_loss(d), "optimum"));
  for (int k = 0; k < d->spectrum && k < 8; k++) {
    char name[24];
    snprintf(name, sizeof name, "v_%d", k + 1);
    EP_TRY(add_over_time(work, *spans, name, false, d, projection_of, k));
  }
  return EP_OK;
}

/* share of the way from the first loss to the optimum that is done at row i */
static double way(const ep_dynamics *d, ptrdiff_t i) {
  const double best = best_loss(d), start = d->row[0].loss;
  return start > best ? (start - d->row[i].loss) / (start - best) : 1;
}

enum { WORDS = 400 };
static const double SETTLED = 0.99, FOLLOWS = 0.05;

/* has it reached the optimum? */
static bool settled(char words[WORDS], const ep_dynamics *d) {
  const ptrdiff_t last = d->rows - 1;
  const double done = way(d, last);
  ptrdiff_t first = 0;
  while (first < last && way(d, first) < SETTLED) first++;
  if (done > SETTLED)
    snprintf(words, WORDS,
             "It has settled: at time %.4g the loss is %.4g, its optimum is %.4g; 99 %% of the way "
             "were done by time %.2g.",
             d->row[last].time, d->row[last].loss, best_loss(d), d->row[first].time);
  else
    snprintf(words, WORDS,
             "It has not settled: at time %.4g the loss has come %.4g %% of the way from %.4g to "
             "its optimum %.4g. Try --time %.4g.",
             d->row[last].time, 100 * done, d->row[0].loss, best_loss(d), 10 * d->row[last].time);
  return done > SETTLED;
}

/* does the descent do what the equation says? */
static const char *followed(char words[WORDS], const ep_dynamics *d, const char *constraint) {
  double most = 0, gone = NAN;
  for (ptrdiff_t i = 0; i < d->rows; i++) {
    most = fmax(most, d->row[i].difference);
    if (isnan(gone) && !in_sight(d, d->row[i].descent_loss)) gone = d->row[i].time;
  }
  if (d->diverged || !isnan(gone)) {
    snprintf(words, WORDS,
             "With the constraint %s it diverges: its loss is far from the "
             "equation's from time %.2g on.",
             constraint, gone);
    return "no";
  }
  snprintf(words, WORDS,
           "With the constraint %s its q differs from the equation's by at most %.2g "
           "along the way (tolerance %.2g).",
           constraint, most, FOLLOWS);
  return most < FOLLOWS ? "yes" : "no";
}

static json_t *front_json(const setup_dynamics *s, const ep_dynamics *d) {
  char words[WORDS];
  (void)settled(words, d);
  json_t *front = headline_json(words);
  if (!s->dynamics.compare) return front;
  const char *answer = followed(words, d, ep_constraint_name(s->descent.constraint));
  json_object_set_new(
      front, "verdict",
      json_pack("[{s:s,s:s,s:s}]", "question", "Does the descent follow the equation?", "answer",
                answer, "words", words));
  return front;
}

/* `dense`: the same, at many times */
static ep_status write_report(const setup_dynamics *s, const ep_dynamics *d,
                              const ep_dynamics *dense, int argc, char **argv) {
  json_t *loss = NULL, *spans = NULL;
  ep_work work = {0};
  ep_status st = draw(&work, &loss, &spans, dense, s->dynamics.compare);
  ep_work_free(&work);
  if (st) return json_decref(loss), json_decref(spans), st;
  json_t *result = result_json(s, d);
  json_t *section =
      json_pack("{s:s,s:[s],s:[o,o]}", "title", "Over time", "text",
                "q'U'x is the model; v_1, v_2, .. are the eigenvectors of C, the most "
                "negative eigenvalue first.",
                "figures", loss, spans);
  st = write_page(s->files.report, "Linear self-supervised dynamics", front_json(s, dense), section,
                  result, argc, argv);
  json_decref(result);
  return st;
}

static ep_status write_all(const setup_dynamics *s, const ep_dynamics *d, const ep_dynamics *dense,
                           bool unit, int argc, char **argv) {
  const ep_mat q = ep_dynamics_at(d, d->rows - 1);
  EP_TRY(ep_npy_write(s->files.out, &q));
  if (s->files.trajectory[0]) EP_TRY(write_trajectory(s, d));
  if (s->files.basis[0]) EP_TRY(ep_npy_write(s->files.basis, &d->U));
  if (s->files.embed[0]) EP_TRY(embed_new(s, d, unit));
  if (s->files.report[0]) EP_TRY(write_report(s, d, dense, argc, argv));
  terminal_clear();
  if (s->cli.json) return print_json(result_json(s, d));
  print_summary(s, d);
  if (s->files.report[0]) print_report("report   ", s->files.report);
  return EP_OK;
}

/* ---- */

typedef struct {
  ep_points points;
  ep_mat C, q0;
  ep_dynamics d, dense; /* dense: at many times, for the page */
} dynamics_work;

/* C, its copy and its eigenvectors while they are computed; q of --q0 has as many columns as --outputs, if both say */
static ep_status check_sizes(const dynamics_work *w, const setup_dynamics *s) {
  const double d = (double)(w->C.data ? w->C.rows : w->points.X.cols),
               z = (double)s->descent.outputs;
  const double bytes = (double)ep_memory_current() + 8 * (6 * d * d + 24 * d * z);
  EP_CHECK(bytes <= ep_run_memory(&s->run), EP_ERR_ARG,
           "the eigenbasis of %g dimensions takes %.0f MiB, more than --memory", d,
           bytes / 1048576);
  EP_CHECK(!w->q0.data || !s->own_outputs || w->q0.cols == s->descent.outputs, EP_ERR_SHAPE,
           "%s has %td columns for %ld outputs", s->files.q0, w->q0.cols, s->descent.outputs);
  return EP_OK;
}

/* a page looks 60 times, evenly in the logarithm */
static void dense_times(ep_dynamics_config *config) {
  size_t used = 0;
  for (int i = 0; i < 60; i++)
    used += (size_t)snprintf(config->times + used, sizeof config->times - used, "%s%.7g",
                             used ? "," : "", config->time * pow(10, -4 + i / 15.));
}

static ep_status dynamics(dynamics_work *w, setup_dynamics *s, int argc, char **argv) {
  const bool matrix = s->files.matrix[0];
  EP_CHECK(!matrix || (!s->data.data[0] && !s->pair.anchors[0]), EP_ERR_ARG,
           "give pairs or --matrix, not both");
  if (s->files.q0[0]) EP_TRY(read_square(&w->q0, s->files.q0));
  if (matrix) EP_TRY(read_square(&w->C, s->files.matrix));
  else EP_TRY(ep_points_load(NULL, &w->points, &s->data, &s->pair, "triplet", &s->run));
  EP_TRY(check_sizes(w, s));
  EP_TRY(make_report_folder(s->files.report));
  const bool again = s->files.report[0] && s->own_times;
  for (int k = 0; k <= again; k++) {
    ep_dynamics_config config = s->dynamics;
    if (k) dense_times(&config);
    EP_TRY(ep_dynamics_run(NULL, k ? &w->dense : &w->d, &config, &s->descent, matrix ? &w->C : NULL,
                           matrix ? NULL : &w->points, s->files.q0[0] ? &w->q0 : NULL,
                           (uint64_t)s->run.seed));
  }
  return write_all(s, &w->d, again ? &w->dense : &w->d, w->points.unit, argc, argv);
}

/* --times without --time end with the last of them */
static void fill_in(setup_dynamics *s, int argc, char **argv) {
  const char *last = strrchr(s->dynamics.times, ',');
  s->own_outputs = args_peek(argc, argv, "--outputs") != NULL;
  if (s->dynamics.times[0] && !args_peek(argc, argv, "--time"))
    s->dynamics.time = strtod(last ? last + 1 : s->dynamics.times, NULL);
  s->own_times = s->dynamics.times[0];
  if (s->files.report[0] && !s->own_times) dense_times(&s->dynamics);
}

ep_status cmd_dynamics(int argc, char **argv) {
  static setup_dynamics s;
  ep_option_group groups[GROUPS + 1];
  dynamics_work w = {0};
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  fill_in(&s, argc, argv);
  if (!s.files.embed[0]) s.files.embedding[0] = '\0';
  const char *const outputs[] = {s.files.out, s.files.trajectory, s.files.basis, s.files.embedding,
                                 NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const ep_status st = dynamics(&w, &s, argc, argv);
  ep_dynamics_free(&w.d);
  ep_dynamics_free(&w.dense);
  ep_points_free(&w.points);
  ep_mat_free(&w.C);
  ep_mat_free(&w.q0);
  return st;
}
