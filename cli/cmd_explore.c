#include "commands.h"
#include "data/table.h"
#include "core/file.h"
#include "core/mem.h"
#include "report/pack.h"
#include "study/explore.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_OPTIONS(X, S)                                                                        \
  X(S, TEXT, embedding, "", 0, 0, NULL, "the embedding (n, Z): .npy, .npz, CSV; ours or not")     \
  X(S, FLAG, images, NULL, 0, 0, NULL, "the data are images: show them")                          \
  X(S, TEXT, text, "", 0, 0, NULL, "file with a line of text for each point, to show and search") \
  X(S, TEXT, colour, "", 0, 0, NULL,                                                              \
    "further columns to colour by (n, c): numbers, or a CSV with a header, texts too")            \
  X(S, TEXT, out, "map.html", 0, 0, NULL, "the page, complete in one file")
typedef struct {
  LOOK_OPTIONS(EP_OPT_FIELD, )
} look_config;
static const ep_option look_options[] = {LOOK_OPTIONS(EP_OPT_ROW, look_config){0}};

typedef struct {
  look_config look;
  ep_data_config data;
  ep_explore_config explore;
  ep_run_config run;
  cli_config cli;
  bool own_precision;
} setup_explore;

enum { GROUPS = 6, MOST_TABLE = 32 }; /* columns of a table that become colours */

static void groups_of(ep_option_group groups[GROUPS], setup_explore *s) {
  const ep_option_group all[GROUPS] = {{"Page", look_options, &s->look},
                                       {"Data", ep_data_options, &s->data},
                                       {"What is measured", ep_explore_options, &s->explore},
                                       {"Run", ep_run_options, &s->run},
                                       {"Output", cli_options, &s->cli},
                                       {0}};
  memcpy(groups, all, sizeof all);
}

void help_explore(FILE *to) {
  static setup_explore s;
  ep_option_group groups[GROUPS];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair embed --model model.npz --data digits --out e.npy\n"
          "  eigenpair explore --embedding e.npy --data digits --images --out map.html\n"
          "  eigenpair explore --embedding vectors.npy --labels y.npy --text words.txt\n\n"
          "One page that needs no network: maps (PCA, spectral, neighbours) coloured by label, "
          "cluster or any column,\nneighbours of a point in the data and in the embedding, scores, "
          "probes, doubtful labels; search, selection as CSV.\nAt most 100,000 points. --data are "
          "the points that were embedded, in the same order (the same --samples and --seed);\n"
          "their labels are used where --labels says nothing else.\n");
  args_help(groups, to);
}

/* ---- reading */

static ep_status read_data(ep_explore_input *in, ep_dataset *set, const setup_explore *s) {
  static ep_data_config config;
  config = s->data;
  EP_CHECK(config.data[0] || !s->look.images, EP_ERR_ARG, "--images needs --data");
  EP_CHECK(config.data[0] || !config.samples, EP_ERR_ARG, "--samples goes with --data");
  if (!config.data[0]) return EP_OK;
  config.labels[0] = '\0'; /* read by themselves */
  EP_TRY(ep_dataset_load(NULL, set, &config, &s->run));
  EP_CHECK(set->X.rows == in->E.rows, EP_ERR_SHAPE,
           "%s has %td points, %s has %td: the data must be those that were embedded",
           s->look.embedding, in->E.rows, config.data, set->X.rows);
  EP_CHECK(!s->look.images || set->shape.height > 0, EP_ERR_ARG,
           "--images: %s does not say how its rows are images; say it with --image HxW",
           config.data);
  if (s->look.images) EP_TRY(ep_pack_pictures(&in->pictures, &set->X, set->shape));
  if (ep_dataset_is_unit(set, &config)) ep_scale_to_unit(&set->X);
  in->X = set->X;
  return EP_OK;
}

/* ---- names of columns: the first line of a table, where it has a word for each and is no row of numbers */

static void trim(char **field) {
  while (isspace((unsigned char)**field) || **field == '"') ++*field;
  for (size_t n = strlen(*field);
       n && (isspace((unsigned char)(*field)[n - 1]) || (*field)[n - 1] == '"'); n--)
    (*field)[n - 1] = '\0';
}

static void header(json_t *names, char *line) {
  for (char *rest = line, *field; (field = strsep(&rest, ",;\t"));) {
    char *end;
    trim(&field);
    (void)strtod(field, &end);
    json_t *name = *field && *end ? json_string(field) : NULL;
    if (name) json_array_append_new(names, name);
  }
}

static ep_status column_titles(json_t *out, const char *path, const char *what, ptrdiff_t count) {
  char line[4096] = "";
  FILE *f = ep_file_stream(path);
  if (f && !fgets(line, sizeof line, f)) line[0] = '\0';
  if (f) fclose(f);
  if (line[0] == '\x93' || strncmp(line, "PK", 2) == 0) line[0] = '\0'; /* .npy, .npz */
  header(out, line);
  if ((ptrdiff_t)json_array_size(out) == count) return EP_OK;
  json_array_clear(out);
  for (ptrdiff_t c = 0; c < count; c++)
    EP_CHECK(json_array_append_new(out, json_sprintf("%s %td", what, c + 1)) == 0, EP_ERR_NOMEM,
             "no memory for the names of columns");
  return EP_OK;
}

/* the i-th row of a column of text: the place of its category, past the last of them where it is missing */
static double category(const ep_mat *X, ptrdiff_t i, ptrdiff_t first, ptrdiff_t count) {
  for (ptrdiff_t c = 0; c < count; c++)
    if (ep_get(X, i, first + c) > 0.999) return (double)c;
  return (double)count;
}

/* A table has its columns as they were in the file: numbers before they were scaled (NaN where there was none), texts as
 * classes. */
static ep_status table_columns(ep_explore_input *in, const ep_mat *X, const json_t *plan,
                               const bool *holes) {
  const json_t *list = json_object_get(plan, "columns"), *column;
  const char *scale = json_string_value(json_object_get(plan, "scale"));
  const bool scaled = scale && strcmp(scale, "standard") == 0;
  const size_t width = json_array_size(list);
  size_t k;
  ptrdiff_t at = 0;
  EP_TRY(ep_mat_new(&in->columns, EP_DOUBLE, X->rows, (ptrdiff_t)width));
  json_array_foreach(list, k, column) {
    const char *name = json_string_value(json_object_get(column, "name"));
    json_t *names = json_deep_copy(json_object_get(column, "categories"));
    const ptrdiff_t count = names ? (ptrdiff_t)json_array_size(names) : 1;
    const char *kind = json_string_value(json_object_get(column, "kind"));
    const bool date = kind && strcmp(kind, "date") == 0;
    const double mean = json_number_value(json_object_get(column, "mean")),
                 deviation = json_number_value(json_object_get(column, "deviation"));
    bool missing = false;
    for (ptrdiff_t i = 0; i < X->rows; i++) {
      const double x = names ? category(X, i, at, count) : ep_get(X, i, at);
      missing |= names && x == (double)count;
      const bool hole = holes && holes[(size_t)i * width + k];
      *ep_d(&in->columns, i, (ptrdiff_t)k) = names    ? x
                                             : hole   ? (double)NAN
                                             : scaled ? mean + deviation * x
                                                      : x;
    }
    if (missing) json_array_append_new(names, json_string("missing"));
    EP_CHECK(json_array_append_new(in->titles, json_string(name ? name : "")) == 0 &&
                 json_array_append_new(in->names, names ? names : json_boolean(date)) == 0,
             EP_ERR_NOMEM, "no memory for the names of columns");
    at += count;
  }
  return EP_OK;
}

/* a file to colour by: a table of anything, or numbers */
static ep_status colour_columns(ep_explore_input *in, const char *path, const ep_run_config *run) {
  static ep_data_config config;
  ep_table table = {0};
  bool is_table;
  ep_options_default(ep_data_options, &config);
  config.scale = EP_SCALE_RAW;
  EP_TRY(ep_table_read(&table, &is_table, path, &config, EP_DOUBLE, NULL));
  const ep_status st = is_table ? table_columns(in, &table.X, table.plan, table.missing)
                                : read_embedding(&in->columns, path, false, run);
  if (is_table) ep_table_free(&table);
  return st;
}

/* --colour, or the data themselves where they are a small table */
static ep_status read_columns(ep_explore_input *in, const setup_explore *s, const ep_dataset *set) {
  const char *path = s->look.colour;
  const json_t *columns = json_object_get(set->table, "columns");
  const ptrdiff_t width = columns ? (ptrdiff_t)json_array_size(columns) : set->X.cols;
  in->titles = json_array();
  in->names = json_array();
  if (*path) {
    EP_TRY(colour_columns(in, path, &s->run));
    EP_CHECK(in->columns.rows == in->E.rows, EP_ERR_SHAPE, "%s: %td rows for %td points", path,
             in->columns.rows, in->E.rows);
  } else if (set->X.data && set->shape.height == 0 && width <= MOST_TABLE) {
    if (columns) return table_columns(in, &set->X, set->table, set->missing);
    EP_TRY(ep_mat_new(&in->columns, set->X.prec, set->X.rows, set->X.cols));
    ep_mat_copy(&in->columns, &set->X);
  } else return EP_OK;
  if (json_array_size(in->titles)) return EP_OK;
  return column_titles(in->titles, *path ? path : s->data.data, *path ? "column" : "data",
                       in->columns.cols);
}

/* ---- results */

static void print_probes(const json_t *result) {
  size_t i;
  json_t *p, *list = json_object_get(result, "probes");
  json_array_foreach(list, i, p) {
    printf("%s%s %.1f %%", i ? ", " : "probes       ",
           json_string_value(json_object_get(p, "probe")),
           100 * json_real_value(json_object_get(p, "accuracy")));
    if (json_object_get(p, "raw"))
      printf(" (raw %.1f %%)", 100 * json_real_value(json_object_get(p, "raw")));
  }
  if (json_array_size(list)) printf("\n");
}

static void print_result(const json_t *result, const char *out, const setup_explore *s) {
  const json_t *scores = json_object_get(result, "scores"), *x;
  printf("embedding    ");
  print_count(stdout, (double)json_integer_value(json_object_get(result, "points")));
  printf(" points in %lld dimensions: %s\n",
         (long long)json_integer_value(json_object_get(result, "dimensions")), s->look.embedding);
  printf("scores       RankMe %.4g, effective rank %.4g, uniformity %.3f\n",
         json_number_value(json_object_get(scores, "rankme")),
         json_number_value(json_object_get(scores, "effective_rank")),
         json_number_value(json_object_get(scores, "uniformity")));
  if ((x = json_object_get(result, "neighbours_kept")))
    printf("neighbours   %.0f %% of those in the data are kept\n", 100 * json_real_value(x));
  print_probes(result);
  if ((x = json_object_get(result, "doubtful_labels")))
    printf("labels       %lld that most neighbours contradict\n", (long long)json_integer_value(x));
  printf("page         %s\n", out);
}

static ep_status finish(json_t *page, json_t *result, setup_explore *s, int argc, char **argv) {
  static char line[4096];
  json_t *config = json_object();
  ep_option_group groups[GROUPS];
  groups_of(groups, s);
  for (const ep_option_group *g = groups; g->table != cli_options; g++)
    EP_TRY(ep_options_to_json(config, g->table, g->config));
  command_line(line, argc, argv);
  json_object_set_new(page, "command", json_string(line));
  json_object_set_new(page, "version", json_string(ep_version()));
  EP_TRY(ep_json_put(page, "config", config)); /* the page's now */
  EP_TRY(ep_explore_write(s->look.out, page));
  terminal_clear();
  if (!s->cli.json) return print_result(result, s->look.out, s), EP_OK;
  json_object_set_new(result, "page", json_string(s->look.out));
  json_object_set(result, "config", config);
  json_object_set_new(result, "peak_memory", json_real((double)ep_memory_peak()));
  json_object_set_new(result, "version", json_string(ep_version()));
  json_object_set_new(result, "machine", machine_json());
  return print_json(json_incref(result));
}

static ep_status work(setup_explore *s, ep_explore_input *in, ep_dataset *set, int **labels,
                      json_t **classes, int argc, char **argv) {
  json_t *page, *result;
  EP_TRY(read_embedding(&in->E, s->look.embedding, s->own_precision, &s->run));
  EP_TRY(read_data(in, set, s));
  if (s->data.labels[0])
    EP_TRY(
        read_labels(labels, classes, s->data.labels, &s->data, &in->E, s->look.embedding, &s->run));
  in->labels = *labels ? *labels : set->labels;
  in->classes = *labels ? *classes : set->classes;
  if (s->look.text[0]) EP_TRY(ep_lines_read(&in->text, s->look.text, in->E.rows));
  EP_TRY(read_columns(in, s, set));
  EP_TRY(ep_explore(&page, &result, in, &s->explore, &s->run));
  const ep_status st = finish(page, result, s, argc, argv);
  json_decref(page);
  json_decref(result);
  return st;
}

ep_status cmd_explore(int argc, char **argv) {
  static setup_explore s;
  ep_option_group groups[GROUPS];
  ep_dataset set = {0};
  int *labels = NULL;
  json_t *classes = NULL;
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  s.own_precision = args_has(argc, argv, "precision");
  EP_CHECK(s.look.embedding[0], EP_ERR_ARG, "give --embedding FILE");
  EP_TRY(ep_explore_check());
  const char *const outputs[] = {s.look.out, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  ep_explore_input in = {.name = s.look.embedding};
  const ep_status st = work(&s, &in, &set, &labels, &classes, argc, argv);
  json_decref(in.pictures);
  json_decref(in.text);
  json_decref(in.titles);
  json_decref(in.names);
  json_decref(classes);
  ep_mat_free(&in.E);
  ep_mat_free(&in.columns);
  ep_dataset_free(&set);
  ep_labels_free(labels);
  return st;
}
