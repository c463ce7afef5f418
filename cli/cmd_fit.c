#include "commands.h"
#include "core/file.h"
#include "method/methods.h"

#include <math.h>
#include <string.h>

#define FIT_OPTIONS(X, S)                                                             \
  X(S, TEXT, from, "", 0, 0, NULL,                                                    \
    "sums that accumulate and merge made, in the place of data; their options hold; " \
    "torch: --init holds a state dict")                                               \
  X(S, FLAG, explain, NULL, 0, 0, NULL, "closed forms: say which way was taken, and why")
typedef struct {
  FIT_OPTIONS(EP_OPT_FIELD, )
} fit_config;
static const ep_option fit_options[] = {FIT_OPTIONS(EP_OPT_ROW, fit_config){0}};

enum { GROUPS = EP_SETUP_GROUPS + 3 };
static void groups_of(ep_option_group groups[GROUPS], ep_setup *setup, fit_config *own,
                      cli_config *cli) {
  ep_setup_groups(groups, setup);
  for (int i = 0; groups[i].table; i++)
    if (groups[i].table == ep_fit_options) groups[i].table = ep_fit_auto_options;
  groups[EP_SETUP_GROUPS] = (ep_option_group){"Explanation", fit_options, own};
  groups[EP_SETUP_GROUPS + 1] = (ep_option_group){"Output", cli_options, cli};
  groups[EP_SETUP_GROUPS + 2] = (ep_option_group){0};
}

void help_fit(FILE *to) {
  static ep_setup setup;
  fit_config own = {0};
  cli_config cli = {0};
  ep_option_group groups[GROUPS];
  groups_of(groups, &setup, &own, &cli);
  fprintf(to,
          "\nThree ways to say what the pairs are:\n"
          "  eigenpair fit --data digits --epochs 50                 positives are crops, "
          "negatives random\n"
          "  eigenpair fit --data x.npy --augment noise:0.05         rows of a matrix\n"
          "  eigenpair fit --anchors a.npy --positives p.npy --negatives n.npy\n\n"
          "No training at all:\n"
          "  eigenpair fit --method pca --data digits --width 2000 --outputs 32 --explain\n"
          "  eigenpair fit --method whitened --features patches --views 4 --outputs 64 --data "
          "digits\n\n"
          "From sums over shards of the data (eigenpair help accumulate):\n"
          "  eigenpair fit --from sums.npz --outputs 64\n\n"
          "Stopped with Ctrl-C, it saves its work and says how to go on. Methods:\n");
  for (int i = 0; ep_method_name(i); i++)
    fprintf(to, "  %-12s %s\n", ep_method_name(i), ep_method_help(i));
  fprintf(to, "Losses:\n");
  for (int i = 0; ep_loss_name(i); i++)
    fprintf(to, "  %-15s %s\n", ep_loss_name(i), ep_loss_help(i));
  args_help(groups, to);
}

/* --from names sums; torch says what --init is, which is checked where that is read. */
static const char *sums_path(int argc, char **argv) {
  const char *from = args_peek(argc, argv, "--from");
  return from && strcmp(from, "torch") != 0 ? from : NULL;
}

/* The options of sums come first; what a machine has is that of this one, and what is written is named on the command line. */
static ep_status setup_of_sums(ep_setup *setup, int argc, char **argv) {
  static const char *const data[] = {"--data", "--anchors", "--resume", NULL};
  const ep_run_config run = setup->run;
  const ep_fit_files files = setup->files;
  for (int i = 0; data[i]; i++)
    EP_CHECK(!args_peek(argc, argv, data[i]), EP_ERR_ARG,
             "give %s or --from, not both: sums have their data behind them", data[i]);
  EP_TRY(ep_sums_peek(setup, sums_path(argc, argv)));
  setup->run.threads = run.threads;
  setup->run.memory = run.memory;
  setup->files = files;
  return EP_OK;
}

/* A checkpoint's options come first, the command line's after. */
static ep_status read_options(ep_setup *setup, fit_config *own, cli_config *cli, int argc,
                              char **argv) {
  ep_option_group groups[GROUPS];
  const char *resume = args_peek(argc, argv, "--resume");
  groups_of(groups, setup, own, cli);
  ep_setup_default(setup);
  if (!resume && !sums_path(argc, argv)) strcpy(setup->fit.method, "auto");
  if (resume) EP_TRY(ep_checkpoint_setup(setup, resume));
  if (sums_path(argc, argv)) EP_TRY(setup_of_sums(setup, argc, argv));
  for (int list = 0; list < 2;
       list++) /* files on the command line replace those of the checkpoint */
    if (args_peek(argc, argv, list ? "--positives" : "--negatives"))
      (list ? setup->pair.positives : setup->pair.negatives)[0] = '\0';
  EP_TRY(args_parse(groups, argc, argv, NULL, 0, NULL));
  return init_options(&setup->net, &setup->analytic, argc, argv);
}

static ep_status check_files(ep_setup *setup, fit_config *own, cli_config *cli) {
  char checkpoint[1100];
  ep_option_group groups[GROUPS];
  groups_of(groups, setup, own, cli);
  ep_checkpoint_path(checkpoint, setup);
  EP_CHECK(setup->files.out[0], EP_ERR_ARG, "--out is empty; give the model a name");
  EP_TRY(check_no_csv(setup->files.out, ".npz"));
  const char *const outputs[] = {setup->files.out, setup->files.history, checkpoint, NULL};
  const char *resume = setup->files.resume;
  for (int i = 0; *resume && i < 2; i++)
    EP_CHECK(!outputs[i][0] || !ep_file_same(resume, outputs[i]), EP_ERR_ARG,
             "%s: is gone on from and would be overwritten; give the output another name",
             outputs[i]);
  return check_outputs(outputs, groups);
}

/* ---- what a person sees */

static void print_lines(const char *name, const json_t *lines) {
  for (size_t i = 0; i < json_array_size(lines); i++)
    printf("%s%s\n", name, json_string_value(json_array_get(lines, i)));
}

/* the first eigenvalues, the last, and the gap behind it */
static void print_spectrum(const ep_eigenvalues *s) {
  const ptrdiff_t n = s->count;
  if (n == 0) return;
  printf("spectrum ");
  for (ptrdiff_t i = 0; i < n; i++)
    if (i < 3 || i == n - 1)
      printf("%s%.5g", i == 0 ? "" : i == 3 && n > 4 ? " .. " : " ", s->value[i]);
  if (isfinite(s->gap)) printf(", gap %.3g", s->gap);
  printf("\n");
}

static void print_descent(const ep_setup *s, const ep_fit_info *info, const char *similarity) {
  if (ep_method_find(s->fit.method)->weights)
    printf("training %s, %s weights, rate %g\n", s->fit.method, s->fit.weights, s->fit.rate);
  else
    printf("training %s, %s similarity, %s loss, rate %g\n", s->fit.method, similarity,
           s->objective.loss, s->fit.rate);
  printf("loss     %.6g -> %.6g in %ld epochs, %.2f s", info->start, info->loss, info->epochs,
         info->seconds);
  if (info->epochs > 0) printf(" (%.3g ms an epoch)", 1e3 * info->seconds / (double)info->epochs);
  printf("\n");
}

static void print_closed(const ep_setup *s, const ep_fit_info *info) {
  printf("method   %s, path %s, %.2f s, no training\n", s->fit.method, info->path, info->seconds);
}

static void print_map(const ep_setup *s, const ep_model *m) {
  char text[EP_DESCRIPTION];
  ep_model_describe(text, m);
  printf("%s, %s precision\n", text, ep_precision_name(s->run.precision));
}

/* a closed form has no epochs to tell of */
static bool has_history(const ep_setup *s, const ep_fit_info *info) {
  return s->files.history[0] && info->history.rows > 0;
}

/* why: of a method that the program chose; "": the user did */
static void print_summary(const ep_setup *s, const ep_model *m, const ep_fit_info *info,
                          const char *why) {
  ep_objective objective;
  ep_objective_config config = s->objective;
  /* the model's own settings say what a method made of the options */
  if (ep_options_from_json(ep_objective_options, &config, ep_model_config(m)) ||
      ep_objective_parse(&objective, &config))
    return; /* it was read once already */
  printf("data     %s: ", s->data.data[0] ? s->data.data : s->pair.anchors);
  print_count(stdout, (double)info->anchors);
  printf(" anchors, ");
  print_count(stdout, (double)info->points);
  printf(" distinct points of dimension %td\n", info->dimension);
  if (*why) printf("chosen   %s\n", why);
  print_map(s, m);
  if (info->path) print_closed(s, info);
  else print_descent(s, info, ep_objective_similarity(&objective));
  print_spectrum(&info->spectrum);
  print_lines("note     ", info->notes);
  if (info->outcome == EP_DIVERGED)
    printf(
        "status   diverged at epoch %ld: lower --rate; the model holds the last finite weights\n",
        info->epochs);
  else printf("status   %s\n", ep_outcome_name(info->outcome));
  printf("model    %s\n", s->files.out);
  if (has_history(s, info)) printf("history  %s\n", s->files.history);
}

static json_t *result_json(const ep_setup *s, const ep_fit_info *info) {
  json_t *config, *all;
  if (ep_setup_to_json(&config, s)) return NULL;
  all = json_pack("{s:o,s:o,s:I,s:f,s:s,s:I,s:I,s:I,s:I,s:o,s:f,s:s,s:s,s:o,s:o}", "loss",
                  number_json(info->loss), "start_loss", number_json(info->start), "epochs",
                  (json_int_t)info->epochs, "seconds", info->seconds, "status",
                  ep_outcome_name(info->outcome), "anchors", (json_int_t)info->anchors, "points",
                  (json_int_t)info->points, "dimension", (json_int_t)info->dimension, "block",
                  (json_int_t)info->block, "density", number_json(info->density), "peak_memory",
                  (double)ep_memory_peak(), "model", s->files.out, "version", ep_version(),
                  "machine", machine_json(), "config", config);
  if (all) json_object_set_new(all, "peak_resident", number_json(resident_peak()));
  if (all && info->numbers) json_object_update(all, info->numbers);
  if (all && info->notes) json_object_set(all, "notes", info->notes);
  if (all && info->explain) json_object_set(all, "explain", info->explain);
  return all;
}

static ep_status write_results(const ep_setup *s, const fit_config *own, const cli_config *cli,
                               const ep_model *model, const ep_fit_info *info, const char *why) {
  EP_TRY(ep_model_save(s->files.out, model));
  if (has_history(s, info)) EP_TRY(ep_history_write(s->files.history, &info->history));
  terminal_clear();
  if (cli->json) return print_json(result_json(s, info));
  print_summary(s, model, info, why);
  if (own->explain) print_lines("", info->explain);
  return EP_OK;
}

/* ---- */

static const char *pairs_for(const ep_objective *o, const char *method) {
  return ep_objective_positives_only(o) || ep_method_takes_views(method) ? "positives" : "triplet";
}

static ep_status interrupted(const ep_setup *s) {
  char path[1100], words[3][2100];
  const bool history = s->files.history[0];
  ep_checkpoint_path(path, s);
  return EP_FAIL(EP_ERR_INTERRUPTED,
                 "interrupted; work saved, go on with: eigenpair fit --resume %s --out %s%s%s",
                 shell_word(words[0], path), shell_word(words[1], s->files.out),
                 history ? " --history " : "",
                 history ? shell_word(words[2], s->files.history) : "");
}

static ep_status fit_data(ep_model **model, ep_fit_info *info, ep_points *points, ep_setup *setup,
                          bool chosen, int argc, char **argv) {
  ep_objective objective;
  EP_TRY(ep_objective_parse(&objective, &setup->objective));
  /* ranks read what they need of points that are not laid out on each of them; so does who reads everything once */
  const ep_method_row *method = ep_method_find(setup->fit.method);
  const bool sums =
      ep_comm_size() > 1 && method->map && strncmp(setup->pair.pairs, "labels:", 7) != 0;
  const char *pairs = pairs_for(&objective, setup->fit.method);
  EP_TRY(method->map && method->views
             ? ep_points_load_views(points, &setup->data, &setup->pair, pairs, &setup->run,
                                    (ep_shard){0, 0})
             : ep_points_load_shard(NULL, points, &setup->data, &setup->pair, pairs, &setup->run,
                                    (ep_shard){sums, sums}));
  if (chosen) choose_features(setup, points, argc, argv);
  EP_TRY(ep_fit(NULL, model, info, points, setup));
  EP_TRY(note_ignored(info, setup, argc, argv));
  return note_loss(info, setup);
}

static ep_status fit(ep_setup *setup, const fit_config *own, const cli_config *cli,
                     ep_points *points, int argc, char **argv) {
  char why[200] = "";
  ep_model *model = NULL;
  ep_fit_info info = {0};
  const char *sums = sums_path(argc, argv);
  ep_status st = sums ? ep_fit_sums_file(&model, &info, sums, setup) : EP_OK;
  if (!sums) {
    choose_method(setup, why, argc, argv);
    st = fit_data(&model, &info, points, setup, *why, argc, argv);
    if (!st && *why) st = ep_fit_number(&info, "chosen", json_string(why));
  }
  if (!st) st = write_results(setup, own, cli, model, &info, why);
  if (st == EP_ERR_INTERRUPTED && info.saved) st = interrupted(setup);
  ep_model_free(model);
  ep_fit_info_free(&info);
  return st;
}

ep_status cmd_fit(int argc, char **argv) {
  static ep_setup setup;
  static fit_config own;
  cli_config cli = {0};
  ep_points points = {0};
  EP_TRY(read_options(&setup, &own, &cli, argc, argv));
  EP_TRY(check_files(&setup, &own, &cli));
  EP_TRY(work_begin(&setup.run, cli.progress));
  const ep_status st = fit(&setup, &own, &cli, &points, argc, argv);
  ep_points_free(&points);
  return st;
}
