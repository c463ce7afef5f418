#include "commands.h"

#include <string.h>

#define EMBED_OPTIONS(X, S)                                                                 \
  X(S, TEXT, model, "model.npz", 0, 0, NULL, "the model, as written by fit")                \
  X(S, TEXT, out, "embedding.npy", 0, 0, NULL, "the embedding (n, Z), rows as in the data") \
  X(S, FLAG, normalise, NULL, 0, 0, NULL,                                                   \
    "divide by the norm of the features: W'psi(x) in the place of M^{-1/2} W'phi(x)")       \
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
          "\n  eigenpair embed --model model.npz --data digits:test --out embedding.npy\n\n"
          "Points are scaled as they were for the fit, unless --scale says otherwise.\n");
  args_help(groups, to);
}

static ep_status report(const setup_embed *s, const ep_mat *E) {
  terminal_clear();
  if (s->cli.json)
    return print_json(json_pack("{s:s,s:I,s:I,s:f,s:s,s:o}", "embedding", s->embed.out, "rows",
                                (json_int_t)E->rows, "outputs", (json_int_t)E->cols, "peak_memory",
                                (double)ep_memory_peak(), "version", ep_version(), "machine",
                                machine_json()));
  print_count(stdout, (double)E->rows);
  printf(" points in %td dimensions: %s\n", E->cols, s->embed.out);
  return EP_OK;
}

static ep_status embed(setup_embed *s, const ep_model *model, ep_dataset *set, ep_mat *E) {
  EP_TRY(ep_dataset_load(set, &s->data, &s->run));
  const bool given = strcmp(s->data.scale, "auto") != 0;
  if (given || !ep_model_config(model) ? ep_dataset_is_unit(set, &s->data)
                                       : ep_model_is_unit(model))
    ep_scale_to_unit(&set->X);
  EP_CHECK(set->X.cols == ep_model_inputs(model), EP_ERR_SHAPE,
           "%s takes points of dimension %td, %s has %td", s->embed.model, ep_model_inputs(model),
           s->data.data, set->X.cols);
  EP_CHECK(!s->embed.labels_out[0] || set->labels, EP_ERR_INPUT, "%s has no labels", s->data.data);
  EP_TRY(ep_mat_new(E, set->X.prec, set->X.rows, ep_model_outputs(model)));
  EP_TRY(ep_model_embed(NULL, E, model, &set->X));
  EP_TRY(ep_npy_write(s->embed.out, E));
  if (s->embed.labels_out[0])
    EP_TRY(ep_npy_write_labels(s->embed.labels_out, set->labels, set->X.rows));
  return report(s, E);
}

ep_status cmd_embed(int argc, char **argv) {
  static setup_embed s;
  ep_option_group groups[5];
  ep_model *model;
  ep_dataset set = {0};
  ep_mat E = {0};
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  const char *const outputs[] = {s.embed.out, s.embed.labels_out, NULL};
  EP_TRY(check_outputs(outputs));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  EP_TRY(ep_model_load(&model, s.embed.model, ep_run_precision(&s.run)));
  ep_status st = s.embed.normalise ? ep_model_normalise(model) : EP_OK;
  if (!st) st = embed(&s, model, &set, &E);
  ep_mat_free(&E);
  ep_dataset_free(&set);
  ep_model_free(model);
  return st;
}
