/* The table of methods, and the settings that all of them share. */
#include "method/methods.h"

#include <math.h>
#include <string.h>

const ep_option ep_fit_options[] = {EP_FIT_OPTIONS(EP_OPT_ROW, ep_fit_config){0}};
const ep_option ep_fit_file_options[] = {EP_FIT_FILES(EP_OPT_ROW, ep_fit_files){0}};

static const struct {
  const char *name, *help;
  ep_method *fit;
  bool batches; /* --batch means something to it */
  bool views;   /* it takes two views of a point: positives only, unless --pairs says otherwise */
} methods[] = {
    {"gd", "gradient descent on the whole network", ep_fit_gd, true, false},
    {"alpha", "ascent of the contrastive covariance tr C_alpha[f] (--weights)", ep_fit_alpha, true,
     true},
    {"kernel", "the same descent with the tangent kernel frozen (--kernel empirical or analytic)",
     ep_fit_kernel, false, false},
    {"linearised", "gradient descent on the network's first-order Taylor model", ep_fit_linearised,
     false, false},
};
enum { METHODS = sizeof methods / sizeof *methods };

const char *ep_method_name(int i) { return i < METHODS ? methods[i].name : NULL; }
const char *ep_kernel_name(int i) {
  static const char *const names[] = {"empirical", "analytic", NULL};
  return names[i];
}

const char *ep_integrator_name(int i) {
  static const char *const names[] = {"euler", "flow", NULL};
  return names[i];
}

bool ep_method_takes_views(const char *name) {
  for (int i = 0; i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return methods[i].views;
  return false;
}

const char *ep_method_help(int i) { return i < METHODS ? methods[i].help : NULL; }

void ep_setup_groups(ep_option_group groups[EP_SETUP_GROUPS + 1], ep_setup *s) {
  const ep_option_group all[EP_SETUP_GROUPS + 1] = {
      {"Data", ep_data_options, &s->data},
      {"Pairs", ep_pair_options, &s->pair},
      {"Network", ep_net_options, &s->net},
      {"Infinite width", ep_analytic_options, &s->analytic},
      {"Objective", ep_objective_options, &s->objective},
      {"Method", ep_fit_options, &s->fit},
      {"Run", ep_run_options, &s->run},
      {"Files", ep_fit_file_options, &s->files},
  };
  memcpy(groups, all, sizeof all);
}

void ep_setup_default(ep_setup *setup) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  memset(setup, 0, sizeof *setup);
  ep_setup_groups(groups, setup);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
}

static ep_status add_groups(json_t *object, const ep_setup *setup) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_setup copy = *setup;
  ep_setup_groups(groups, &copy);
  for (const ep_option_group *g = groups; g->table; g++)
    if (g->table != ep_fit_file_options) EP_TRY(ep_options_to_json(object, g->table, g->config));
  return EP_OK;
}

ep_status ep_setup_to_json(json_t **out, const ep_setup *setup) {
  *out = json_object();
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for the settings as JSON");
  const ep_status st = add_groups(*out, setup);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

ep_status ep_setup_from_json(ep_setup *setup, const json_t *object) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_setup_groups(groups, setup);
  for (const ep_option_group *g = groups; g->table; g++)
    EP_TRY(ep_options_from_json(g->table, g->config, object));
  return EP_OK;
}

/* weights from a file decide the shape: the config says what it came to */
static ep_status note_shape(const ep_model *model) {
  const ep_net_shape *s = &model->net.shape;
  if (!model->net.theta.data) return EP_OK;
  EP_CHECK(json_object_set_new(model->config, "width", json_integer(s->width)) == 0 &&
               json_object_set_new(model->config, "depth", json_integer(s->depth)) == 0 &&
               json_object_set_new(model->config, "outputs", json_integer(s->outputs)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

ep_status ep_fit(ep_model *model, ep_fit_info *info, const ep_points *points,
                 const ep_setup *setup) {
  int which = 0;
  *model = (ep_model){.unit = points->unit};
  *info = (ep_fit_info){.anchors = points->pairs.anchors,
                        .points = points->X.rows,
                        .dimension = points->X.cols,
                        .loss = NAN,
                        .start = NAN};
  EP_TRY(ep_options_name(&which, NULL, "method", setup->fit.method, ep_method_name));
  EP_CHECK(methods[which].batches || setup->fit.batch == 0 || setup->fit.batch >= info->anchors,
           EP_ERR_ARG, "--batch goes with methods gd and alpha; %s descends on all pairs at once",
           methods[which].name);
  EP_TRY(ep_setup_to_json(&model->config, setup));
  ep_status st = methods[which].fit(model, info, points, setup);
  if (!st) st = note_shape(model);
  if (st) ep_model_free(model);
  return st;
}

const char *ep_outcome_name(ep_outcome outcome) {
  static const char *const names[] = {"done", "converged", "diverged"};
  return names[outcome];
}

void ep_fit_info_free(ep_fit_info *info) { ep_history_free(&info->history); }
