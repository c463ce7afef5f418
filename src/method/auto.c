/* Method auto: a closed form from data and pairs; training where its options are given. */
#include "method/methods.h"

#include <stdio.h>
#include <string.h>

static const char *option_name(int i) { return i == 0 ? ep_auto_name(0) : ep_method_name(i - 1); }

const ep_option ep_fit_auto_options[] = {EP_OPT_ROW(
    ep_fit_config, NAME, method, "auto", 0, 0, option_name,
    "how the model is made; auto: a closed form, or gd where training or a network is spoken of")
                                             EP_FIT_OTHER_OPTIONS(EP_OPT_ROW, ep_fit_config){0}};

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

static bool is_in(const char *const list[], const char *name) {
  for (int i = 0; list[i]; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

/* in the order of the list: what is given first may be said in any order */
static const char *first_given(const char *const list[], const char *const given[]) {
  for (int i = 0; list[i]; i++)
    if (is_in(given, list[i])) return list[i];
  return NULL;
}

/* --pairs that have negatives: triplet, all, P+Q with Q > 0 */
static bool draws_negatives(const ep_pair_config *p) {
  ep_pair_plan plan;
  return p->pairs[0] && ep_pair_plan_parse(&plan, p->pairs) == EP_OK &&
         (plan.negatives > 0 || plan.all_others);
}

/* What --features auto stands for besides features, where it is left open: docs/representations.md */
static void fill_in(ep_setup *s, const char *const given[], bool ready) {
  if (strcmp(s->feature.features, ep_auto_name(0)) != 0 || strcmp(s->fit.method, "whitened") != 0)
    return;
  if (!s->pair.pairs[0] && !ready) {
    if (!is_in(given, "views")) s->pair.views = 3;
    if (!is_in(given, "augment")) strcpy(s->pair.augment, ep_auto_name(0));
  }
  if (!is_in(given, "scale")) s->data.scale = EP_SCALE_RAW;
  if (!is_in(given, "outputs")) s->net.outputs = 256;
  if (!is_in(given, "power")) s->closed.power = 1;
  if (!is_in(given, "eigen_tolerance")) s->eigen.eigen_tolerance = 1e-3;
}

static void choose_method(ep_setup *s, char why[200], const char *const given[], bool ready,
                          bool negatives) {
  char flag[64];
  const char *trains = first_given(training, given), *net = NULL;
  if (!trains && !first_given(closed, given)) net = first_given(network, given);
  if (trains || net) {
    ep_options_flag(flag, trains ? trains : net);
    strcpy(s->fit.method, "gd");
    snprintf(why, 200,
             trains ? "gd, since --%s is given; without training: --method whitened"
                    : "gd, since --%s is given: a network is trained unless a method is named; "
                      "pca and whitened have one without training: --method pca",
             flag);
  } else if (negatives || draws_negatives(&s->pair)) {
    strcpy(s->fit.method, "infinite");
    snprintf(why, 200,
             "infinite: a closed form that uses the negatives; --method gd trains a network");
  } else {
    strcpy(s->fit.method, "whitened");
    if (!s->pair.views && !s->pair.pairs[0] && !ready) s->pair.views = 4;
    snprintf(why, 200, "whitened: a closed form for positives; --method gd trains a network");
  }
}

void ep_fit_choose(ep_setup *s, char why[200], const char *const given[], bool ready,
                   bool negatives) {
  why[0] = '\0';
  if (strcmp(s->fit.method, ep_auto_name(0)) == 0) choose_method(s, why, given, ready, negatives);
  fill_in(s, given, ready);
}

bool ep_fit_choose_features(ep_setup *s, const ep_points *points, const char *const given[]) {
  const bool patches = strcmp(s->fit.method, "whitened") == 0 && points->shape.height >= 12 &&
                       points->shape.width >= 12 && !is_in(given, "features");
  if (patches) strcpy(s->feature.features, "patches");
  return patches;
}
