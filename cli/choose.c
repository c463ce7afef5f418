/* fit without --method: a closed form from data and pairs; training where its options are given. */
#include "commands.h"

#include <string.h>

static const char *option_name(int i) {
  const char *name = i == 0 ? "auto" : ep_method_name(i - 1);
  return name;
}

const ep_option *fit_method_options(void) {
  static ep_option table[64];
  int n = 0;
  for (; ep_fit_options[n].name && n < 63; n++) {
    table[n] = ep_fit_options[n];
    if (strcmp(table[n].name, "method") != 0) continue;
    table[n].def = "auto";
    table[n].names = option_name;
    table[n].help = "how the model is made; auto: a closed form, or gd where training is spoken of";
  }
  return table;
}

/* ---- what options speak of */

/* training and nothing else */
static const char *const training[] = {
    "epochs",   "rate",        "batch",      "loss",         "temperature",    "history", "track",
    "patience", "track_every", "tolerance",  "track_points", "checkpoint",     "every",   "weights",
    "alpha",    "rows",        "integrator", "frozen",       "flow_tolerance", NULL};
/* a network, which 0.1 trained unless a method was named */
static const char *const network[] = {"width", "depth",      "activation",  "init",
                                      "delta", "similarity", "input_scale", NULL};
static const char *const closed[] = {"features", "filters", "landmarks", "ridge",
                                     "power",    "path",    NULL};

bool args_has(int argc, char **argv, const char *option) {
  char flag[70] = "--";
  ep_options_flag(flag + 2, option);
  const size_t n = strlen(flag);
  for (int i = 1; i < argc; i++)
    if (strncmp(argv[i], flag, n) == 0 && (!argv[i][n] || argv[i][n] == '=')) return true;
  return false;
}

static const char *first_given(const char *const list[], int argc, char **argv) {
  for (int i = 0; list[i]; i++)
    if (args_has(argc, argv, list[i])) return list[i];
  return NULL;
}

/* --pairs that have negatives: triplet, all, P+Q with Q > 0 */
static bool has_negatives(const ep_pair_config *p) {
  const char *plus = strchr(p->pairs, '+');
  return p->negatives[0] || strcmp(p->pairs, "triplet") == 0 || strcmp(p->pairs, "all") == 0 ||
         (plus && plus[1] != '0');
}

void choose_method(ep_setup *s, char why[200], int argc, char **argv) {
  char flag[64];
  why[0] = '\0';
  if (strcmp(s->fit.method, "auto") != 0) return;
  const char *trains = first_given(training, argc, argv);
  const char *of_closed = first_given(closed, argc, argv);
  if (!trains && !of_closed) trains = first_given(network, argc, argv);
  if (trains) {
    ep_options_flag(flag, trains);
    strcpy(s->fit.method, "gd");
    snprintf(why, 200, "gd, since --%s is given; without training: --method whitened", flag);
  } else if (has_negatives(&s->pair)) {
    strcpy(s->fit.method, "infinite");
    snprintf(why, 200,
             "infinite: a closed form that uses the negatives; --method gd trains a network");
  } else {
    strcpy(s->fit.method, "whitened");
    if (!s->pair.views && !s->pair.pairs[0] && !s->pair.anchors[0]) s->pair.views = 4;
    snprintf(why, 200, "whitened: a closed form for positives; --method gd trains a network");
  }
}

bool choose_features(ep_setup *s, const ep_points *points, int argc, char **argv) {
  const bool patches = strcmp(s->fit.method, "whitened") == 0 && points->shape.height >= 12 &&
                       points->shape.width >= 12 && !args_has(argc, argv, "features");
  if (patches) strcpy(s->feature.features, "patches");
  return patches;
}

/* ---- options that were given for nothing */

static ep_status ignored(ep_fit_info *info, const char *const list[], const char *method,
                         const char *why, int argc, char **argv) {
  for (int i = 0; list[i]; i++) {
    char flag[64];
    ep_options_flag(flag, list[i]);
    if (args_has(argc, argv, list[i]))
      EP_TRY(ep_fit_note(info, "--%s means nothing to method %s, which %s", flag, method, why));
  }
  return EP_OK;
}

ep_status note_ignored(ep_fit_info *info, const ep_setup *s, int argc, char **argv) {
  static const char *const epochs[] = {"epochs",   "rate",       "temperature", "tolerance",
                                       "patience", "integrator", NULL};
  static const char *const loss[] = {"loss", NULL}, *const width[] = {"width", "init", NULL};
  static const char *const forms[] = {"ridge",  "power",    "landmarks", "path",
                                      "solver", "features", NULL};
  const char *m = s->fit.method;
  const bool whitened = strcmp(m, "whitened") == 0;
  if (!ep_method_is_closed(m)) return ignored(info, forms, m, "trains", argc, argv);
  EP_TRY(ignored(info, epochs, m, "does not train", argc, argv));
  if (whitened) EP_TRY(ignored(info, loss, m, "has one of its own", argc, argv));
  if (strcmp(m, "infinite") == 0) EP_TRY(ignored(info, width, m, "has no width", argc, argv));
  return EP_OK;
}

/* a loss that rose, or did not move, is said */
ep_status note_loss(ep_fit_info *info, const ep_setup *s) {
  const double size = info->start < 0 ? -info->start : info->start;
  const bool descends = !ep_method_is_closed(s->fit.method) && info->epochs > 0 &&
                        strcmp(s->fit.method, "alpha") != 0 && strcmp(s->fit.method, "linear") != 0;
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
