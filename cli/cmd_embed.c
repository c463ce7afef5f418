#include "commands.h"
#include "core/file.h"
#include "data/npy_rows.h"
#include "data/rows.h"

#include <string.h>

#define EMBED_OPTIONS(X, S)                                                           \
  X(S, TEXT, model, "model.npz", 0, 0, NULL, "the model, as written by fit")          \
  X(S, TEXT, out, "embedding.npy", 0, 0, NULL,                                        \
    "the embedding (n, Z), rows as in the data; NAME.csv: as CSV; -: CSV to read on") \
  X(S, FLAG, normalise, NULL, 0, 0, NULL,                                             \
    "divide by the norm of the features: W'psi(x) in the place of M^{-1/2} W'phi(x)") \
  X(S, TEXT, labels_out, "", 0, 0, NULL, "also write the labels of the data, where it has some")
typedef struct {
  EMBED_OPTIONS(EP_OPT_FIELD, )
} embed_config;
static const ep_option embed_options[] = {EMBED_OPTIONS(EP_OPT_ROW, embed_config){0}};

typedef struct {
  embed_config embed;
  ep_data_config data;
  ep_run_config run;
  cli_config cli;
  bool own_missing; /* --missing was given */
  int argc;         /* the command line */
  char **argv;
} setup_embed;

static void groups_of(ep_option_group groups[5], setup_embed *s) {
  const ep_option_group all[5] = {{"Embedding", embed_options, &s->embed},
                                  {"Data", ep_data_options, &s->data},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_embed(FILE *to) {
  setup_embed s;
  ep_option_group groups[5];
  groups_of(groups, &s);
  fprintf(to,
          "\n  eigenpair embed --model model.npz --data digits:test --out embedding.npy\n"
          "  eigenpair embed --model model.npz --data new.csv --out - | sort -t, -g | head\n\n"
          "Points are scaled as they were for the fit, unless --scale says otherwise.\n");
  args_help(groups, to);
}

static json_t *own_config(const setup_embed *s) {
  static setup_embed copy;
  ep_option_group groups[5];
  copy = *s;
  groups_of(groups, &copy);
  return config_of_run(groups, NULL, 0, s->argc, s->argv);
}

static ep_status report(const setup_embed *s, ptrdiff_t rows, ptrdiff_t outputs) {
  terminal_clear();
  if (s->cli.json)
    return print_json(json_pack("{s:s,s:I,s:I,s:f,s:s,s:o,s:o}", "embedding", s->embed.out, "rows",
                                (json_int_t)rows, "outputs", (json_int_t)outputs, "peak_memory",
                                (double)ep_memory_peak(), "version", ep_version(), "machine",
                                machine_json(), "config", own_config(s)));
  FILE *to = is_stdout(s->embed.out) ? stderr : stdout; /* where the numbers are not */
  print_count(to, (double)rows);
  fprintf(to, " points in %td dimensions: %s\n", outputs, s->embed.out);
  return EP_OK;
}

/* ---- a block of points at a time, from where they are to the file */

typedef struct {
  ep_model *model;
  ep_rows *rows;
  int *labels;
  bool unit;
  ep_mat X, E;  /* (block, D), (block, Z) */
  ep_file file; /* not open: to standard output */
  FILE *csv;    /* NULL: .npy */
} embedding;

static ep_status begin_csv(embedding *e, const char *path, ptrdiff_t outputs) {
  if (!is_stdout(path)) EP_TRY(ep_file_open(&e->file, path));
  e->csv = e->file.stream ? e->file.stream : stdout;
  for (ptrdiff_t j = 0; j < outputs; j++) fprintf(e->csv, "%sz%td", j ? "," : "", j + 1);
  fputc('\n', e->csv);
  return EP_OK;
}

/* as many digits as give the same number again */
static void add_csv(FILE *to, const ep_mat *F) {
  for (ptrdiff_t i = 0; i < F->rows; i++)
    for (ptrdiff_t j = 0; j < F->cols; j++)
      fprintf(to, "%.*g%c", F->prec == EP_SINGLE ? 9 : 17, ep_get(F, i, j),
              j + 1 < F->cols ? ',' : '\n');
}

static ep_status open_points(embedding *e, const setup_embed *s) {
  static ep_data_config data;
  const json_t *table = json_object_get(ep_model_config(e->model), "table");
  data = s->data; /* a model without a table learnt nothing of its columns: they stay as they are */
  if (!table && ep_model_config(e->model) && data.scale == EP_SCALE_AUTO) data.scale = EP_SCALE_RAW;
  const char *missing = json_string_value(json_object_get(table, "missing"));
  if (missing && !s->own_missing)
    EP_TRY(ep_options_set(ep_options_find(ep_data_options, "missing"), &data, missing));
  EP_CHECK(!table || (!data.columns[0] && !data.drop[0]), EP_ERR_ARG,
           "--columns and --drop are those of the model");
  EP_TRY(ep_rows_open(&e->rows, &e->labels, &data, &s->run, table));
  const bool given = s->data.scale != EP_SCALE_AUTO || !ep_model_config(e->model);
  e->unit = given ? ep_scale_is_unit(&s->data, ep_rows_shape(e->rows)) : ep_model_is_unit(e->model);
  const ptrdiff_t d = ep_rows_length(e->rows);
  EP_CHECK(d == ep_model_inputs(e->model), EP_ERR_SHAPE,
           "%s takes points of dimension %td, %s has %td", s->embed.model,
           ep_model_inputs(e->model), s->data.data, d);
  EP_CHECK(!s->embed.labels_out[0] || e->labels, EP_ERR_INPUT, "%s has no labels", s->data.data);
  return EP_OK;
}

static ep_status embed_blocks(embedding *e) {
  const ptrdiff_t n = ep_rows_count(e->rows);
  const ep_run_hooks hooks = ep_run_quiet(); /* the blocks are told of here */
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; !st && i < n; i += e->X.rows) {
    const ptrdiff_t here = n - i < e->X.rows ? n - i : e->X.rows;
    const ep_mat x = ep_mat_rows(&e->X, 0, here), f = ep_mat_rows(&e->E, 0, here);
    st = ep_rows_read(&x, e->rows, NULL, i);
    if (!st && e->unit) ep_scale_to_unit(&x);
    if (!st) st = ep_model_embed(NULL, &f, e->model, &x);
    if (!st && e->csv) add_csv(e->csv, &f);
    else if (!st) ep_npy_add_rows(&e->file, &f);
    ep_run_set_hooks(ep_run_current(), &hooks);
    if (!st) st = ep_run_step("points", (double)(i + here), (double)n);
    ep_run_quiet();
  }
  ep_run_set_hooks(ep_run_current(), &hooks);
  return st;
}

static ep_status embed(embedding *e, const setup_embed *s) {
  const ep_precision prec = ep_run_precision(&s->run);
  if (s->embed.normalise) EP_TRY(ep_model_normalise(e->model));
  EP_TRY(open_points(e, s));
  const ptrdiff_t n = ep_rows_count(e->rows), z = ep_model_outputs(e->model);
  const double row = (double)ep_sizeof(prec) * (double)(ep_rows_length(e->rows) + 2 * z);
  const double fit = ep_run_memory_left(&s->run) / 4 / row;
  const ptrdiff_t most = fit > 16384 ? 16384 : fit > 1 ? (ptrdiff_t)fit : 1;
  EP_TRY(ep_mat_new(&e->X, prec, n < most ? n : most, ep_rows_length(e->rows)));
  EP_TRY(ep_mat_new(&e->E, prec, e->X.rows, z));
  EP_TRY(is_stdout(s->embed.out) || ends_in_csv(s->embed.out)
             ? begin_csv(e, s->embed.out, z)
             : ep_npy_begin(&e->file, s->embed.out, prec, n, z));
  const ep_status st = embed_blocks(e);
  if (st) ep_file_discard(&e->file);
  EP_TRY(st);
  if (e->file.stream) EP_TRY(ep_file_commit(&e->file));
  if (s->embed.labels_out[0]) EP_TRY(ep_npy_write_labels(s->embed.labels_out, e->labels, n));
  return report(s, n, z);
}

ep_status cmd_embed(int argc, char **argv) {
  static setup_embed s;
  ep_option_group groups[5];
  embedding e = {0};
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  s.own_missing = args_has(argc, argv, "missing");
  s.argc = argc;
  s.argv = argv;
  EP_CHECK(!s.cli.json || !is_stdout(s.embed.out), EP_ERR_ARG,
           "--out %s and --json are both for standard output: give one of them", s.embed.out);
  const char *const outputs[] = {is_stdout(s.embed.out) ? "" : s.embed.out, s.embed.labels_out,
                                 NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  EP_TRY(ep_model_load(&e.model, s.embed.model, ep_run_precision(&s.run)));
  const ep_status st = embed(&e, &s);
  ep_mat_free(&e.X);
  ep_mat_free(&e.E);
  ep_rows_free(e.rows);
  ep_labels_free(e.labels);
  ep_model_free(e.model);
  return st;
}
