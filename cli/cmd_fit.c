#include "commands.h"

#include <math.h>
#include <string.h>

static void groups_of(ep_option_group groups[EP_SETUP_GROUPS + 2], ep_setup *setup,
                      cli_config *cli) {
  ep_setup_groups(groups, setup);
  groups[EP_SETUP_GROUPS] = (ep_option_group){"Output", cli_options, cli};
  groups[EP_SETUP_GROUPS + 1] = (ep_option_group){0};
}

void help_fit(FILE *to) {
  static ep_setup setup;
  cli_config cli = {0};
  ep_option_group groups[EP_SETUP_GROUPS + 2];
  groups_of(groups, &setup, &cli);
  fprintf(to,
          "\nThree ways to say what the pairs are:\n"
          "  eigenpair fit --data digits --epochs 50                 positives are crops, "
          "negatives random\n"
          "  eigenpair fit --data x.npy --augment noise:0.05         rows of a matrix\n"
          "  eigenpair fit --anchors a.npy --positives p.npy --negatives n.npy\n\n"
          "Stopped with Ctrl-C, it saves its work and says how to go on. Methods:\n");
  for (int i = 0; ep_method_name(i); i++)
    fprintf(to, "  %-12s %s\n", ep_method_name(i), ep_method_help(i));
  fprintf(to, "Losses:\n");
  for (int i = 0; ep_loss_name(i); i++)
    fprintf(to, "  %-15s %s\n", ep_loss_name(i), ep_loss_help(i));
  args_help(groups, to);
}

/* A checkpoint's options come first, the command line's after. */
static ep_status read_options(ep_setup *setup, cli_config *cli, int argc, char **argv) {
  ep_option_group groups[EP_SETUP_GROUPS + 2];
  const char *resume = args_peek(argc, argv, "--resume");
  groups_of(groups, setup, cli);
  ep_setup_default(setup);
  if (resume) EP_TRY(ep_checkpoint_setup(setup, resume));
  for (int list = 0; list < 2;
       list++) /* files on the command line replace those of the checkpoint */
    if (args_peek(argc, argv, list ? "--positives" : "--negatives"))
      (list ? setup->pair.positives : setup->pair.negatives)[0] = '\0';
  return args_parse(groups, argc, argv, NULL, 0, NULL);
}

static ep_status check_files(const ep_setup *setup) {
  char checkpoint[1100];
  ep_checkpoint_path(checkpoint, setup);
  EP_CHECK(setup->files.out[0], EP_ERR_ARG, "--out is empty; give the model a name");
  const char *const outputs[] = {setup->files.out, setup->files.history, checkpoint, NULL};
  return check_outputs(outputs);
}

/* ---- what a person sees */

static void print_summary(const ep_setup *s, const ep_model *m, const ep_fit_info *info) {
  const ep_net_shape *n = &m->net.shape;
  ep_objective objective;
  if (ep_objective_parse(&objective, &s->objective)) return; /* it was read once already */
  printf("data     %s: ", s->data.data[0] ? s->data.data : s->pair.anchors);
  print_count(stdout, (double)info->anchors);
  printf(" anchors, ");
  print_count(stdout, (double)info->points);
  printf(" distinct points of dimension %td\n", info->dimension);
  if (m->net.theta.data) {
    printf("network  %td", n->inputs);
    for (int l = 0; l < n->depth; l++) printf(" -> %td %s", n->width, s->net.activation);
    printf(" -> %td, %s precision\n", n->outputs, s->run.precision);
  } else
    printf("kernel   of infinite width, %ld hidden layers of %s, %td outputs, %s precision\n",
           s->net.depth, s->net.activation, ep_model_outputs(m), s->run.precision);
  if (ep_method_takes_views(s->fit.method))
    printf("training %s, %s weights, rate %g\n", s->fit.method, s->fit.weights, s->fit.rate);
  else
    printf("training %s, %s similarity, %s loss, rate %g\n", s->fit.method,
           ep_objective_similarity(&objective), s->objective.loss, s->fit.rate);
  printf("loss     %.6g -> %.6g in %ld epochs, %.2f s", info->start, info->loss, info->epochs,
         info->seconds);
  if (info->epochs > 0) printf(" (%.3g ms an epoch)", 1e3 * info->seconds / (double)info->epochs);
  printf("\n");
  if (info->outcome == EP_DIVERGED)
    printf(
        "status   diverged at epoch %ld: lower --rate; the model holds the last finite weights\n",
        info->epochs);
  else printf("status   %s\n", ep_outcome_name(info->outcome));
  printf("model    %s\n", s->files.out);
  if (s->files.history[0]) printf("history  %s\n", s->files.history);
}

static json_t *result_json(const ep_setup *s, const ep_fit_info *info) {
  json_t *config;
  if (ep_setup_to_json(&config, s)) return NULL;
  return json_pack("{s:o,s:o,s:I,s:f,s:s,s:I,s:I,s:I,s:I,s:o,s:f,s:s,s:s,s:o,s:o}", "loss",
                   number_json(info->loss), "start_loss", number_json(info->start), "epochs",
                   (json_int_t)info->epochs, "seconds", info->seconds, "status",
                   ep_outcome_name(info->outcome), "anchors", (json_int_t)info->anchors, "points",
                   (json_int_t)info->points, "dimension", (json_int_t)info->dimension, "block",
                   (json_int_t)info->block, "density", number_json(info->density), "peak_memory",
                   (double)ep_memory_peak(), "model", s->files.out, "version", ep_version(),
                   "machine", machine_json(), "config", config);
}

static ep_status write_results(const ep_setup *s, const cli_config *cli, const ep_model *model,
                               const ep_fit_info *info) {
  EP_TRY(ep_model_save(s->files.out, model));
  if (s->files.history[0]) EP_TRY(ep_history_write(s->files.history, &info->history));
  terminal_clear();
  if (cli->json) return print_json(result_json(s, info));
  print_summary(s, model, info);
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

static ep_status fit(ep_setup *setup, const cli_config *cli, ep_points *points) {
  ep_model model = {0};
  ep_fit_info info = {0};
  ep_objective objective;
  EP_TRY(ep_objective_parse(&objective, &setup->objective));
  EP_TRY(ep_points_load(points, &setup->data, &setup->pair,
                        pairs_for(&objective, setup->fit.method), &setup->run));
  ep_status st = ep_fit(&model, &info, points, setup);
  if (!st) st = write_results(setup, cli, &model, &info);
  if (st == EP_ERR_INTERRUPTED) st = interrupted(setup);
  ep_model_free(&model);
  ep_fit_info_free(&info);
  return st;
}

ep_status cmd_fit(int argc, char **argv) {
  static ep_setup setup;
  cli_config cli = {0};
  ep_points points = {0};
  EP_TRY(read_options(&setup, &cli, argc, argv));
  EP_TRY(check_files(&setup));
  EP_TRY(ep_run_start(&setup.run));
  terminal_attach(&setup.run, cli.progress);
  const ep_status st = fit(&setup, &cli, &points);
  ep_points_free(&points);
  return st;
}
