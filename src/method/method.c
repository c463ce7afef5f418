/* The table of methods, and the settings that all of them share. */
#include "core/mem.h"
#include "method/methods.h"
#include "method/model.h"

#include <math.h>
#include <omp.h>
#include <stdarg.h>
#include <string.h>

const ep_option ep_fit_options[] = {EP_FIT_OPTIONS(EP_OPT_ROW, ep_fit_config){0}};
const ep_option ep_closed_options[] = {EP_CLOSED_OPTIONS(EP_OPT_ROW, ep_closed_config){0}};
const ep_option ep_fit_file_options[] = {EP_FIT_FILES(EP_OPT_ROW, ep_fit_files){0}};

static const ep_method_row methods[] = {
#define X(name, help, ...) {#name, help, ep_fit_##name, __VA_ARGS__},
    EP_METHODS(X)
#undef X
};
enum { METHODS = sizeof methods / sizeof *methods };

const ep_method_row *ep_method_at(int i) { return i < METHODS ? &methods[i] : NULL; }
const ep_method_row *ep_method_find(const char *name) {
  for (int i = 0; name && i < METHODS; i++)
    if (strcmp(methods[i].name, name) == 0) return &methods[i];
  return NULL;
}
const ep_method_row *ep_method_of_theory(ep_theory theory, bool training) {
  for (int i = 0; i < METHODS; i++)
    if (methods[i].theory == theory && !methods[i].stands_for == training) return &methods[i];
  return NULL;
}

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
  const ep_method_row *m = ep_method_find(name);
  return m && m->views;
}

const char *ep_method_help(int i) { return i < METHODS ? methods[i].help : NULL; }

static const struct {
  const char *title;
  const ep_option *table;
  size_t offset;
} parts[EP_SETUP_GROUPS] = {
    {"Data", ep_data_options, offsetof(ep_setup, data)},
    {"Pairs", ep_pair_options, offsetof(ep_setup, pair)},
    {"Network", ep_net_options, offsetof(ep_setup, net)},
    {"Infinite width", ep_variance_options, offsetof(ep_setup, analytic)},
    {"Objective", ep_objective_options, offsetof(ep_setup, objective)},
    {"Method", ep_fit_options, offsetof(ep_setup, fit)},
    {"Features", ep_feature_options, offsetof(ep_setup, feature)},
    {"Closed forms", ep_closed_options, offsetof(ep_setup, closed)},
    {"Eigensolver", ep_eigen_options, offsetof(ep_setup, eigen)},
    {"Run", ep_run_options, offsetof(ep_setup, run)},
    {"Files", ep_fit_file_options, offsetof(ep_setup, files)},
};

void ep_setup_groups(ep_option_group groups[EP_SETUP_GROUPS + 1], ep_setup *s) {
  for (int i = 0; i < EP_SETUP_GROUPS; i++)
    groups[i] = (ep_option_group){parts[i].title, parts[i].table, (char *)s + parts[i].offset};
  groups[EP_SETUP_GROUPS] = (ep_option_group){0};
}

const ep_option *ep_setup_table(int i) { return i < EP_SETUP_GROUPS ? parts[i].table : NULL; }

const ep_option *ep_setup_option(const char *name) {
  const ep_option *row = NULL;
  for (int i = 0; !row && i < EP_SETUP_GROUPS; i++) row = ep_options_find(parts[i].table, name);
  return row;
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

ep_status ep_setup_defaults_json(json_t **out) {
  ep_setup *plain = ep_alloc(1, sizeof *plain);
  *out = NULL;
  EP_CHECK(plain, EP_ERR_NOMEM, "no memory for the settings");
  ep_setup_default(plain);
  const ep_status st = ep_setup_to_json(out, plain);
  ep_release(plain);
  return st;
}

ep_status ep_setup_from_json(ep_setup *setup, const json_t *object) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_setup_groups(groups, setup);
  for (const ep_option_group *g = groups; g->table; g++)
    EP_TRY(ep_options_from_json(g->table, g->config, object));
  return EP_OK;
}

/* what was learnt on a table goes with the model */
static ep_status keep_table(const ep_model *model, json_t *table) {
  EP_CHECK(!table || json_object_set(model->config, "table", table) == 0, EP_ERR_NOMEM,
           "no memory for the settings as JSON");
  return EP_OK;
}

/* weights from a file decide the shape: the config says what it came to */
static ep_status note_shape(const ep_model *model) {
  const ep_net *net = ep_model_net(model);
  if (!net) return EP_OK;
  const ep_net_shape *s = &net->shape;
  EP_CHECK(json_object_set_new(model->config, "width", json_integer(s->width)) == 0 &&
               json_object_set_new(model->config, "depth", json_integer(s->depth)) == 0 &&
               json_object_set_new(model->config, "outputs", json_integer(s->outputs)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return EP_OK;
}

/* how --normalise divides the outputs; methods may know better */
static ep_status similarity(ep_psi *psi, const ep_setup *setup) {
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &setup->objective));
  *psi = ep_psi_of(&o);
  return EP_OK;
}

static ep_status fit(ep_model *model, ep_fit_info *info, const ep_points *points,
                     const ep_setup *setup) {
  int which = 0;
  model->unit = points->unit;
  *info = (ep_fit_info){.anchors = points->pairs.anchors,
                        .points = points->X.rows,
                        .dimension = points->X.cols,
                        .loss = NAN,
                        .start = NAN};
  EP_TRY(ep_options_name(&which, NULL, "method", setup->fit.method, ep_method_name));
  EP_CHECK(methods[which].batches || setup->fit.batch == 0 || setup->fit.batch >= info->anchors,
           EP_ERR_ARG, "--batch goes with methods gd and alpha; %s descends on all pairs at once",
           methods[which].name);
  EP_CHECK(!methods[which].closed || (!setup->fit.track[0] && !setup->files.resume[0]), EP_ERR_ARG,
           "method %s has no epochs: --track and --resume do not go with it", methods[which].name);
  const bool streams =
      methods[which].streams && !setup->fit.track[0] &&
      (methods[which].closed || (setup->fit.batch > 0 && setup->fit.batch < info->anchors));
  EP_CHECK(streams || ep_points_in_memory(points), EP_ERR_ARG,
           "%td points of %td numbers do not fit --memory, and this needs them all at once: use "
           "--samples, --batch with method gd, or pca, infinite or whitened",
           points->X.rows, points->X.cols);
  EP_CHECK(!model->lent.loss || (!methods[which].closed && !methods[which].own_loss), EP_ERR_ARG,
           "method %s has a loss of its own", methods[which].name);
  EP_CHECK(
      (setup->net.outputs != EP_AUTO && setup->closed.ridge != EP_AUTO) || methods[which].recipe,
      EP_ERR_ARG, "--outputs auto and --ridge auto go with method whitened, not with %s",
      methods[which].name);
  EP_TRY(similarity(&model->psi, setup));
  EP_TRY(ep_setup_to_json(&model->config, setup));
  EP_TRY(keep_table(model, points->table));
  const double clock = omp_get_wtime();
  ep_status st = methods[which].fit(model, info, points, setup);
  if (methods[which].closed)
    info->seconds = omp_get_wtime() - clock; /* others count over resumes */
  if (!st) ep_model_seal(model);
  return st ? st : note_shape(model);
}

ep_status ep_fit_from(ep_run *run, ep_model **model, ep_fit_info *info, const ep_points *points,
                      const ep_setup *setup, const ep_fit_lent *lent) {
  const ep_run_scope scope = ep_run_enter(run);
  *info = (ep_fit_info){.loss = NAN, .start = NAN};
  ep_status st = ep_model_new(model);
  if (!st) {
    if (lent) (*model)->lent = *lent;
    st = fit(*model, info, points, setup);
    (*model)->lent = (ep_fit_lent){0};
  }
  if (st) ep_model_free(*model), *model = NULL;
  ep_run_leave(&scope);
  return st;
}

ep_status ep_fit(ep_run *run, ep_model **model, ep_fit_info *info, const ep_points *points,
                 const ep_setup *setup) {
  return ep_fit_from(run, model, info, points, setup, NULL);
}

const char *ep_outcome_name(ep_outcome outcome) {
  static const char *const names[] = {"done", "converged", "diverged"};
  return names[outcome];
}

void ep_fit_info_free(ep_fit_info *info) {
  ep_history_free(&info->history);
  ep_release(info->spectrum.value);
  info->spectrum = (ep_eigenvalues){0};
  json_decref(info->numbers);
  json_decref(info->notes);
  json_decref(info->explain);
  info->numbers = info->notes = info->explain = NULL;
}

ep_status ep_fit_number(ep_fit_info *info, const char *name, json_t *value) {
  if (!info->numbers) info->numbers = json_object();
  EP_CHECK(json_object_set_new(info->numbers, name, value) == 0, EP_ERR_NOMEM,
           "no memory for the numbers of a fit");
  return EP_OK;
}

ep_status ep_fit_spectrum(ep_fit_info *info, const double *lambda, ptrdiff_t count, double gap) {
  double *value = ep_alloc(count, sizeof *value);
  EP_CHECK(value, EP_ERR_NOMEM, "no memory for the numbers of a fit");
  memcpy(value, lambda, (size_t)count * sizeof *value);
  ep_release(info->spectrum.value);
  info->spectrum = (ep_eigenvalues){count, value, isfinite(gap) ? gap : NAN};
  EP_TRY(ep_fit_number(info, "eigenvalues", ep_json_numbers(lambda, count)));
  return ep_fit_number(info, "gap", ep_json_number(gap));
}

static ep_status add_line(json_t **list, const char *format, va_list args) {
  char line[1000];
  vsnprintf(line, sizeof line, format, args);
  if (!*list) *list = json_array();
  EP_CHECK(json_array_append_new(*list, json_string(line)) == 0, EP_ERR_NOMEM,
           "no memory for the notes of a fit");
  return EP_OK;
}

ep_status ep_fit_note(ep_fit_info *info, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const ep_status st = add_line(&info->notes, format, args);
  va_end(args);
  return st;
}

ep_status ep_fit_explain(ep_fit_info *info, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const ep_status st = add_line(&info->explain, format, args);
  va_end(args);
  return st;
}
