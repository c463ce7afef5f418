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

/* Does this option speak to this fit? */
typedef bool speaks(const ep_setup *s, const ep_method_row *m, const char *option);

/* a word of a list with blanks between */
static bool is_one(const char *list, const char *word) {
  const size_t n = strlen(word);
  for (const char *at = list; at && (at = strstr(at, word)); at += n)
    if ((at == list || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ')) return true;
  return false;
}

static bool by_method(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)s;
  return is_one(m->options, option);
}
static bool by_loss(const ep_setup *s, const ep_method_row *m, const char *option) {
  int loss = 0;
  return !m->own_loss && !ep_options_name(&loss, NULL, "loss", s->objective.loss, ep_loss_name) &&
         is_one(ep_loss_options(loss), option);
}
static bool if_auto(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)option;
  return m->map && ep_features_are_open(&s->feature);
}
static bool if_patches(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)option;
  return m->map && ep_features_have_filters(&s->feature);
}
static bool if_trained(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)s, (void)option;
  return !m->closed;
}
static bool if_loss(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)s, (void)option;
  return !m->own_loss || !m->closed;
}
static bool if_similarity(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)s, (void)option;
  return !m->own_loss || m->closed;
}
static bool if_width(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)option;
  return !m->no_width && (!m->map || ep_features_are_network(&s->feature));
}
static bool if_network(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)option;
  return !m->no_network && (!m->map || ep_features_are_network(&s->feature));
}
static bool if_finite(const ep_setup *s, const ep_method_row *m, const char *option) {
  return !m->no_width && if_network(s, m, option);
}
static bool if_eigen(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)s, (void)option;
  return m->closed || m->few_steps;
}
static bool if_cosine(const ep_setup *s, const ep_method_row *m, const char *option) {
  ep_objective o;
  (void)option;
  if (m->own_loss) return m->closed && s->objective.similarity == EP_SIMILARITY_COSINE;
  return ep_objective_parse(&o, &s->objective) || ep_objective_is_cosine(&o);
}
static bool if_landmarks(const ep_setup *s, const ep_method_row *m, const char *option) {
  (void)option;
  return m->no_width || (m->map && m->views && s->fit.kernel == EP_KERNEL_ANALYTIC);
}
static bool if_flow(const ep_setup *s, const ep_method_row *m, const char *option) {
  return by_method(s, m, option) || (m->tangent && s->fit.integrator != EP_INTEGRATOR_EULER);
}

/* The table: to which fits an option speaks, and in words why not to others; by_method and by_loss are fields of their rows.
 * Options that every fit looks at, and those of data, pairs and the run, are not in it. */
static const struct {
  const char *option;
  speaks *speaks;
  const char *why;
} rows[] = {
    {"epochs", if_trained, "does not train"},
    {"rate", if_trained, "does not train"},
    {"tolerance", if_trained, "does not train"},
    {"patience", if_trained, "does not train"},
    {"track_points", if_trained, "does not train"},
    {"track_every", if_trained, "does not train"},
    {"history", if_trained, "does not train"},
    {"checkpoint", if_trained, "does not train"},
    {"every", if_trained, "does not train"},
    {"integrator", by_method, NULL},
    {"flow_tolerance", if_flow, "follows no gradient flow"},
    {"kernel", by_method, NULL},
    {"weights", by_method, NULL},
    {"alpha", by_method, NULL},
    {"rows", by_method, NULL},
    {"retraction", by_method, NULL},
    {"frozen", by_method, NULL},
    {"norms", by_method, NULL},
    {"loss", if_loss, "has one of its own"},
    {"similarity", if_similarity, "has none"},
    {"delta", if_cosine, "has no cosine here"},
    {"temperature", by_loss, NULL},
    {"epsilon", by_loss, NULL},
    {"off_diagonal", by_loss, NULL},
    {"invariance", by_loss, NULL},
    {"variance", by_loss, NULL},
    {"covariance", by_loss, NULL},
    {"width", if_width, "has no width"},
    {"init", if_width, "has no width"},
    {"depth", if_network, "has no network"},
    {"layers", if_network, "has no network"},
    {"activation", if_network, "has no network"},
    {"input_scale", if_network, "has no network"},
    {"biases", if_network, "has no network"},
    {"parametrisation", if_finite, "has no finite network"},
    {"weight_variance", if_network, "has no network"},
    {"bias_variance", if_network, "has no network"},
    {"last_variance", if_network, "has no network"},
    {"last_bias_variance", if_network, "has no network"},
    {"features", by_method, NULL},
    {"time", if_auto, "does not choose its features: --features auto does"},
    {"filters", if_patches, "has no --features patches"},
    {"path", by_method, NULL},
    {"ridge", by_method, NULL},
    {"power", by_method, NULL},
    {"solver", by_method, NULL},
    {"landmarks", if_landmarks, "has no kernel of infinite width"},
    {"block", if_eigen, "has no eigenproblem"},
    {"krylov", if_eigen, "has no eigenproblem"},
    {"restarts", if_eigen, "has no eigenproblem"},
    {"eigen_tolerance", if_eigen, "has no eigenproblem"},
};

/* the methods, or losses, that the option is for: "pca, whitened" */
static void list_users(char text[200], const char *option, bool losses) {
  const char *name;
  text[0] = '\0';
  for (int i = 0; (name = losses ? ep_loss_name(i) : ep_method_name(i)); i++) {
    const char *options = losses ? ep_loss_options(i) : ep_method_at(i)->options;
    const size_t used = strlen(text);
    if (is_one(options, option)) snprintf(text + used, 200 - used, "%s%s", used ? ", " : "", name);
  }
}

static ep_status note_one(ep_fit_info *info, const ep_setup *s, const ep_method_row *m,
                          const char *option, bool of_losses, const char *why) {
  char flag[64], users[200];
  const bool loss = of_losses && !m->own_loss;
  ep_options_flag(flag, option);
  list_users(users, option, of_losses);
  if (why)
    return ep_fit_note(info, "--%s means nothing to method %s, which %s", flag, m->name, why);
  return ep_fit_note(info, "--%s means nothing to %s %s: it is for %s%s", flag,
                     loss ? "loss" : "method", loss ? s->objective.loss : m->name,
                     of_losses ? "--loss " : "", users);
}

ep_status note_ignored(ep_fit_info *info, const ep_setup *s, int argc, char **argv) {
  const ep_method_row *m = ep_method_find(s->fit.method);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (args_has(argc, argv, rows[i].option) && !rows[i].speaks(s, m, rows[i].option))
      EP_TRY(note_one(info, s, m, rows[i].option, rows[i].speaks == by_loss, rows[i].why));
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
