/* fit without --method: what stands on the command line, for the library to choose by. */
#include "commands.h"
#include "method/methods.h"

#include <string.h>

enum { GIVEN = 256 };

bool args_has(int argc, char **argv, const char *option) {
  char flag[70] = "--";
  ep_options_flag(flag + 2, option);
  const size_t n = strlen(flag);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], flag, n) == 0 && (!argv[i][n] || argv[i][n] == '=')) return true;
  return config_gives(option);
}

/* the options of a fit that stand on the command line */
static void list_given(const char *given[GIVEN], ep_setup *s, int argc, char **argv) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  int n = 0;
  ep_setup_groups(groups, s);
  for (int g = 0; groups[g].table; g++)
    for (const ep_option *o = groups[g].table; o->name && n < GIVEN - 1; o++)
      if (args_has(argc, argv, o->name)) given[n++] = o->name;
  given[n] = NULL;
}

void choose_method(ep_setup *s, char why[200], int argc, char **argv) {
  const char *given[GIVEN];
  list_given(given, s, argc, argv);
  ep_fit_choose(s, why, given, s->pair.anchors[0], s->pair.negatives[0]);
}

bool choose_features(ep_setup *s, const ep_points *points, int argc, char **argv) {
  const char *given[GIVEN];
  list_given(given, s, argc, argv);
  return ep_fit_choose_features(s, points, given);
}

/* ---- options that were given for nothing */

/* Does an option speak to this fit? `names`: the methods, losses or features that it is for; of if_network and if_cosine those
 * that it is not for. */
typedef bool speaks(const ep_setup *s, const ep_method_row *m, const char *names);

static bool is_one(const char *names, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = names; (at = strstr(at, name)); at += n)
    if ((at == names || at[-1] == ' ') && (at[n] == '\0' || at[n] == ',')) return true;
  return false;
}
static bool by_method(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)s;
  return is_one(names, m->name);
}
static bool by_loss(const ep_setup *s, const ep_method_row *m, const char *names) {
  return !m->own_loss && is_one(names, s->objective.loss);
}
static bool by_features(const ep_setup *s, const ep_method_row *m, const char *names) {
  return m->map && strncmp(s->feature.features, names, strlen(names)) == 0;
}
static bool if_trained(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)s, (void)names;
  return !m->closed;
}
static bool if_loss(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)s, (void)names;
  return !m->own_loss || !m->closed;
}
static bool if_similarity(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)s, (void)names;
  return !m->own_loss || m->closed;
}
static bool if_width(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)names;
  return !m->no_width && (!m->map || ep_features_are_network(&s->feature));
}
static bool if_network(const ep_setup *s, const ep_method_row *m, const char *names) {
  return !is_one(names, m->name) && (!m->map || ep_features_are_network(&s->feature));
}
static bool if_eigen(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)s, (void)names;
  return m->closed || m->few_steps;
}
static bool if_cosine(const ep_setup *s, const ep_method_row *m, const char *names) {
  ep_objective o;
  if (m->views || is_one(names, m->name)) /* their auto is dot */
    return m->closed && s->objective.similarity == EP_SIMILARITY_COSINE;
  return ep_objective_parse(&o, &s->objective) ||
         strcmp(ep_objective_similarity(&o), "cosine") == 0;
}
static bool if_landmarks(const ep_setup *s, const ep_method_row *m, const char *names) {
  (void)names;
  return m->no_width || (m->map && m->views && s->fit.kernel == EP_KERNEL_ANALYTIC);
}
static bool if_flow(const ep_setup *s, const ep_method_row *m, const char *names) {
  return is_one(names, m->name) || (m->tangent && s->fit.integrator != EP_INTEGRATOR_EULER);
}

/* The table: what an option is for, and in words why it means nothing where it does not speak to a fit. Options that every fit
 * looks at, and those of data, pairs and the run, have no row. */
static const struct {
  const char *option;
  speaks *speaks;
  const char *names, *why;
} rows[] = {
    {"epochs", if_trained, NULL, "does not train"},
    {"rate", if_trained, NULL, "does not train"},
    {"tolerance", if_trained, NULL, "does not train"},
    {"patience", if_trained, NULL, "does not train"},
    {"track_points", if_trained, NULL, "does not train"},
    {"track_every", if_trained, NULL, "does not train"},
    {"history", if_trained, NULL, "does not train"},
    {"checkpoint", if_trained, NULL, "does not train"},
    {"every", if_trained, NULL, "does not train"},
    {"integrator", by_method, "kernel", NULL},
    {"flow_tolerance", if_flow, "linear", "follows no gradient flow"},
    {"kernel", by_method, "kernel, whitened", NULL},
    {"weights", by_method, "alpha", NULL},
    {"alpha", by_method, "alpha", NULL},
    {"rows", by_method, "alpha", NULL},
    {"retraction", by_method, "grassmann", NULL},
    {"frozen", by_method, "grassmann", NULL},
    {"norms", by_method, "grassmann", NULL},
    {"loss", if_loss, NULL, "has one of its own"},
    {"similarity", if_similarity, NULL, "has none"},
    {"delta", if_cosine, "linear", "has no cosine here"},
    {"temperature", by_loss, "softmax, ntxent", NULL},
    {"epsilon", by_loss, "softmax", NULL},
    {"off_diagonal", by_loss, "barlow", NULL},
    {"invariance", by_loss, "vicreg", NULL},
    {"variance", by_loss, "vicreg", NULL},
    {"covariance", by_loss, "vicreg", NULL},
    {"width", if_width, NULL, "has no width"},
    {"init", if_width, NULL, "has no width"},
    {"depth", if_network, "linear", "has no network"},
    {"layers", if_network, "linear", "has no network"},
    {"activation", if_network, "linear", "has no network"},
    {"input_scale", if_network, "linear", "has no network"},
    {"biases", if_network, "linear", "has no network"},
    {"parametrisation", if_network, "linear, infinite", "has no finite network"},
    {"weight_variance", if_network, "linear", "has no network"},
    {"bias_variance", if_network, "linear", "has no network"},
    {"last_variance", if_network, "linear", "has no network"},
    {"last_bias_variance", if_network, "linear", "has no network"},
    {"features", by_method, "pca, whitened", NULL},
    {"time", by_features, "auto", "does not choose its features: --features auto does"},
    {"filters", by_features, "patches", "has no --features patches"},
    {"path", by_method, "pca, infinite, iterate", NULL},
    {"ridge", by_method, "whitened", NULL},
    {"power", by_method, "whitened", NULL},
    {"solver", by_method, "whitened", NULL},
    {"landmarks", if_landmarks, NULL, "has no kernel of infinite width"},
    {"block", if_eigen, NULL, "has no eigenproblem"},
    {"krylov", if_eigen, NULL, "has no eigenproblem"},
    {"restarts", if_eigen, NULL, "has no eigenproblem"},
    {"eigen_tolerance", if_eigen, NULL, "has no eigenproblem"},
};

ep_status note_ignored(ep_fit_info *info, const ep_setup *s, int argc, char **argv) {
  const ep_method_row *m = ep_method_find(s->fit.method);
  char flag[64];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!args_has(argc, argv, rows[i].option) || rows[i].speaks(s, m, rows[i].names)) continue;
    ep_options_flag(flag, rows[i].option);
    if (rows[i].why)
      EP_TRY(ep_fit_note(info, "--%s means nothing to method %s, which %s", flag, m->name,
                         rows[i].why));
    else if (rows[i].speaks == by_loss)
      EP_TRY(ep_fit_note(info, "--%s means nothing to %s %s: it is for --loss %s", flag,
                         m->own_loss ? "method" : "loss", m->own_loss ? m->name : s->objective.loss,
                         rows[i].names));
    else
      EP_TRY(ep_fit_note(info, "--%s means nothing to method %s: it is for %s", flag, m->name,
                         rows[i].names));
  }
  return EP_OK;
}

/* a loss that rose, or did not move, is said */
ep_status note_loss(ep_fit_info *info, const ep_setup *s) {
  const double size = info->start < 0 ? -info->start : info->start;
  const ep_method_row *row = ep_method_find(s->fit.method);
  const bool descends = !row->closed && !row->own_loss && info->epochs > 0;
  if (!descends || info->outcome == EP_DIVERGED) return EP_OK;
  if (info->loss > info->start + 1e-6 * size)
    return ep_fit_note(info, "the loss rose from %.6g to %.6g: lower --rate (now %g)", info->start,
                       info->loss, s->fit.rate);
  if (info->start - info->loss < 1e-4 * size)
    return ep_fit_note(info,
                       "the loss hardly moved in %ld epochs: raise --epochs or --rate (now %g)",
                       info->epochs, s->fit.rate);
  return EP_OK;
}
