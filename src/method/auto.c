/* Method auto: a closed form from data and pairs; training where its options are given. */
#include "method/methods.h"

#include <stdio.h>
#include <string.h>

static const char *option_name(int i) { return i == 0 ? ep_auto_name(0) : ep_method_name(i - 1); }

const ep_option ep_fit_auto_options[] = {EP_OPT_ROW(
    ep_fit_config, NAME, method, "auto", 0, 0, option_name,
    "how the model is made; auto: a closed form, or gd where training or a network is spoken of",
    EP_FOR(ANY, SUMS, SAME)) EP_FIT_OTHER_OPTIONS(EP_OPT_ROW, ep_fit_config){0}};

static bool is_in(const char *const list[], const char *name) {
  for (int i = 0; list[i]; i++)
    if (strcmp(list[i], name) == 0) return true;
  return false;
}

/* An option that speaks of this and of nothing else, the first of the tables: they may be given in any order. NULL: none */
static const char *first_given(ep_opt_about about, const char *const given[]) {
  for (int i = 0; ep_setup_table(i); i++)
    for (const ep_option *o = ep_setup_table(i); o->name; o++)
      if (o->about == about && is_in(given, o->name)) return o->name;
  return NULL;
}

static const char *method_for(ep_chosen what) {
  const ep_method_row *row;
  for (int i = 0; (row = ep_method_at(i)); i++)
    if (row->chosen == what) return row->name;
  return NULL;
}

/* --pairs that have negatives: triplet, all, P+Q with Q > 0 */
static bool draws_negatives(const ep_pair_config *p) {
  ep_pair_plan plan;
  return p->pairs[0] && ep_pair_plan_parse(&plan, p->pairs) == EP_OK &&
         (plan.negatives > 0 || plan.all_others);
}

static bool has_recipe(const ep_setup *s) {
  const ep_method_row *row = ep_method_find(s->fit.method);
  return row && row->recipe;
}

/* What --features auto stands for besides features, where it is left open: docs/representations.md */
static void fill_in(ep_setup *s, const char *const given[], bool ready) {
  if (strcmp(s->feature.features, ep_auto_name(0)) != 0 || !has_recipe(s)) return;
  if (!s->pair.pairs[0] && !ready) {
    if (!is_in(given, "views")) s->pair.views = 3;
    if (!is_in(given, "augment")) strcpy(s->pair.augment, ep_auto_name(0));
  }
  if (!is_in(given, "scale")) s->data.scale = EP_SCALE_RAW;
  if (!is_in(given, "outputs")) s->net.outputs = 256;
  if (!is_in(given, "power")) s->closed.power = 1;
  if (!is_in(given, "eigen_tolerance")) s->eigen.eigen_tolerance = 1e-3;
}

/* a network is what 0.1 trained unless a method was named */
static void choose_method(ep_setup *s, char why[200], const char *const given[], bool ready,
                          bool negatives) {
  char flag[64];
  const char *trains = first_given(EP_ABOUT_TRAINING, given), *net = NULL;
  const char *const training = method_for(EP_CHOSEN_TO_TRAIN);
  const char *const closed = method_for(EP_CHOSEN_FOR_POSITIVES);
  if (!trains && !first_given(EP_ABOUT_CLOSED, given)) net = first_given(EP_ABOUT_NETWORK, given);
  if (trains || net) {
    ep_options_flag(flag, trains ? trains : net);
    strcpy(s->fit.method, training);
    if (trains)
      snprintf(why, 200, "%s, since --%s is given; without training: --method %s", training, flag,
               closed);
    else
      snprintf(why, 200,
               "%s, since --%s is given: a network is trained unless a method is named; "
               "pca and whitened have one without training: --method pca",
               training, flag);
  } else if (negatives || draws_negatives(&s->pair)) {
    const char *const with_negatives = method_for(EP_CHOSEN_FOR_NEGATIVES);
    strcpy(s->fit.method, with_negatives);
    snprintf(why, 200, "%s: a closed form that uses the negatives; --method %s trains a network",
             with_negatives, training);
  } else {
    strcpy(s->fit.method, closed);
    if (!s->pair.views && !s->pair.pairs[0] && !ready) s->pair.views = 4;
    snprintf(why, 200, "%s: a closed form for positives; --method %s trains a network", closed,
             training);
  }
}

void ep_fit_choose(ep_setup *s, char why[200], const char *const given[], bool ready,
                   bool negatives) {
  why[0] = '\0';
  if (strcmp(s->fit.method, ep_auto_name(0)) == 0) choose_method(s, why, given, ready, negatives);
  fill_in(s, given, ready);
}

bool ep_fit_choose_features(ep_setup *s, const ep_points *points, const char *const given[]) {
  const bool patches = has_recipe(s) && points->shape.height >= 12 && points->shape.width >= 12 &&
                       !is_in(given, "features");
  if (patches) strcpy(s->feature.features, "patches");
  return patches;
}
