/* OPTIMA's claims on what nodes collect: linear activation, weights of pairs, stability. */
#include "study/optima_claims.h"

#include <eigenpair/optima_figures.h>
#include <eigenpair/random.h>
#include <eigenpair/synthetic.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- optima-linear */

/* where the starts of a slice end; the name of the activation in that of the figure */
static ep_status draw_starts(ep_claim_result *r, const char *activation, const ep_optima *o,
                             const ep_layer *layer, const ep_optima_config *c,
                             const ep_run_config *run) {
  json_t *figure;
  char text[64];
  EP_TRY(ep_optima_map(&figure, o, layer, c, (uint64_t)run->seed));
  snprintf(text, sizeof text, "map-%s", activation);
  json_object_set_new(figure, "name", json_string(text));
  snprintf(text, sizeof text, "Which optimum a start reaches, %s", activation);
  json_object_set_new(figure, "title", json_string(text));
  return ep_claim_figure(r, figure);
}

ep_status optima_linear(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const char *const activations[] = {"linear", "relu"};
  const ep_optima_config c = optima_config(optima_starts(size, 100));
  int *labels;
  ep_layer layer = {0};
  char name[64];
  EP_TRY(ep_synthetic_make(&layer.X, &labels, "clusters", "5,400,8", 0, (uint64_t)run->seed,
                           EP_DOUBLE));
  ep_labels_free(labels);
  ep_status st = EP_OK;
  for (int a = 0; !st && a < 2; a++) {
    ep_optima o;
    st = ep_activation_parse(&layer.h, activations[a]);
    if (!st) st = ep_optima_find(&o, &layer, &c, run);
    if (st) break;
    if (a == 0) r->pass = o.count == 1 && o.maximal == 1 && o.dead == 0 && o.unsettled == 0;
    snprintf(name, sizeof name, "optima_%s", activations[a]);
    st = ep_claim_measure(r, name, (double)o.count);
    if (!st && a == 0)
      st = ep_claim_measure(r, "alignment_with_principal_axis", o.optimum[0].alignment);
    if (!st) st = draw_starts(r, activations[a], &o, &layer, &c, run);
    ep_optima_free(&o);
  }
  ep_mat_free(&layer.X);
  if (st) return st;
  return ep_claim_note(r, "Five clusters of 400 points in all, in R^8; relu beside it.");
}

/* ---- optima-count */

static const char *const weightings[] = {"uniform", "gaussian:2", "gaussian:0.5", "gaussian:0.1",
                                         "infonce:0.5"};
enum { WEIGHTINGS = sizeof weightings / sizeof *weightings, NODES = 7 };

/* r(w, alpha_g) / r(w, alpha_u) against z0, on points that have a density at the hyperplane */
static ep_status shrinkage(ep_claim_result *r, long points, uint64_t seed) {
  enum { D = 5 };
  double w[D] = {1}, ratio[3], z0[3], rough[3], worst = 0;
  ep_layer layer = {0};
  ep_optima_config c = optima_config(1);
  ep_optimum plain, o;
  c.pushes = 0;
  c.step = 0.02;
  EP_TRY(ep_activation_parse(&layer.h, "relu"));
  EP_TRY(ep_mat_new(&layer.X, EP_DOUBLE, points, D));
  ep_random_fill_normal(&layer.X, seed, EP_STREAM_DATA, 5);
  ep_status st = ep_optimum_measure(&plain, &layer, w, &c, seed);
  for (int i = 0; !st && i < 3; i++) {
    st = ep_alpha_load(&layer.alpha, weightings[i + 1], "");
    if (!st) st = ep_optimum_measure(&o, &layer, w, &c, seed);
    ratio[i] = o.r / plain.r, z0[i] = o.z0, rough[i] = o.roughness / plain.roughness;
    worst = fmax(worst, fabs(ratio[i] - z0[i]));
    r->pass = r->pass && o.z0 <= 1 && o.roughness <= o.roughness_bound;
  }
  ep_mat_free(&layer.X);
  if (st) return st;
  r->pass = r->pass && worst < 0.02;
  EP_TRY(ep_claim_measure_all(r, "tau", (double[]){2, 0.5, 0.1}, 3));
  EP_TRY(ep_claim_measure_all(r, "r_ratio", ratio, 3));
  EP_TRY(ep_claim_measure_all(r, "z0", z0, 3));
  return ep_claim_measure_all(r, "roughness_ratio", rough, 3);
}

/* distinct locally maximal eigenvectors that the first 1, 2, 5, .. nodes hold */
static void collected(double *distinct, const double *nodes, const ep_optima *o) {
  for (int i = 0; i < NODES; i++) {
    distinct[i] = 0;
    for (ptrdiff_t a = 0; a < o->count; a++)
      for (ptrdiff_t k = 0; k < o->starts && k < (ptrdiff_t)nodes[i]; k++)
        if (o->label[k] == a && o->optimum[a].maximal) {
          distinct[i]++;
          break;
        }
  }
}

ep_status optima_count(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const double nodes[NODES] = {1, 2, 5, 10, 20, 50, 100};
  double ends[WEIGHTINGS], maximal[WEIGHTINGS], unsettled[WEIGHTINGS], distinct[NODES] = {0};
  ep_optima_config c = optima_config(100);
  ep_layer layer = {0};
  int *labels;
  json_t *figure;
  c.iterations = size == EP_CLAIM_QUICK ? 500 : 5000;
  c.pushes = 0;
  c.directions = 2;
  r->pass = true;
  EP_TRY(shrinkage(r, optima_starts(size, 4000), (uint64_t)run->seed));
  EP_TRY(ep_activation_parse(&layer.h, "relu"));
  EP_TRY(ep_synthetic_make(&layer.X, &labels, "summation",
                           size == EP_CLAIM_QUICK ? "6,600,0.2" : "6,2000,0.2", 0,
                           (uint64_t)run->seed, EP_DOUBLE));
  ep_status st = EP_OK;
  for (int g = 0; !st && g < WEIGHTINGS; g++) {
    ep_optima o;
    st = ep_alpha_load(&layer.alpha, weightings[g], "");
    if (!st) st = ep_optima_find(&o, &layer, &c, run);
    if (st) break;
    ends[g] = (double)o.count, maximal[g] = (double)o.maximal, unsettled[g] = (double)o.unsettled;
    if (g == 0) collected(distinct, nodes, &o);
    ep_optima_free(&o);
  }
  ep_mat_free(&layer.X);
  if (st) return st;
  r->pass = r->pass && distinct[0] <= 1 && distinct[NODES - 1] == 6;
  EP_TRY(ep_claim_measure_all(r, "ends_uniform_gaussian_2_0.5_0.1_infonce_0.5", ends, WEIGHTINGS));
  EP_TRY(ep_claim_measure_all(r, "maximal_uniform_gaussian_2_0.5_0.1_infonce_0.5", maximal,
                              WEIGHTINGS));
  EP_TRY(ep_claim_measure_all(r, "unsettled_uniform_gaussian_2_0.5_0.1_infonce_0.5", unsettled,
                              WEIGHTINGS));
  EP_TRY(ep_claim_measure_all(r, "distinct_at_nodes_1_2_5_10_20_50_100", distinct, NODES));
  EP_TRY(ep_claim_note(r,
                       "Whether Gaussian weights give more optima is reported, not judged: ends "
                       "are all places where "
                       "starts settle, maximal those that are locally maximal eigenvectors. "
                       "Six patterns, q = 0.2."));
  EP_TRY(ep_claim_found(
      r,
      "Ends, and of these locally maximal eigenvectors: %.0f and %.0f with uniform "
      "weights, %.0f and %.0f with Gaussian ones of tau = 2, %.0f and %.0f at 0.5, "
      "%.0f and %.0f at 0.1.",
      ends[0], maximal[0], ends[1], maximal[1], ends[2], maximal[2], ends[3], maximal[3]));
  EP_TRY(ep_figure_new(&figure, "nodes", EP_FIGURE_LINE, "More nodes collect more optima",
                       "Distinct optima held by the first K nodes, uniform weights.",
                       (ep_axis){"nodes", true}, (ep_axis){"distinct optima", false}));
  st = ep_figure_add(figure,
                     &(ep_series){.name = "uniform", .count = NODES, .x = nodes, .y = distinct});
  if (st) return json_decref(figure), st;
  return ep_claim_figure(r, figure);
}

/* ---- optima-stability */

typedef struct {
  double gap[256], roughness[256];
  int label[256]; /* 1: came back after all pushes */
  ptrdiff_t count, promised, broken;
} tally;

static ep_status stable_on(tally *t, const char *parameters, const char *activation, long starts,
                           const ep_run_config *run) {
  ep_optima_config c = optima_config(starts);
  ep_layer layer = {0};
  ep_optima o;
  int *labels;
  c.push = 0.01;
  c.iterations = 2000;
  EP_TRY(ep_activation_parse(&layer.h, activation));
  EP_TRY(ep_synthetic_make(&layer.X, &labels, "summation", parameters, 0, (uint64_t)run->seed,
                           EP_DOUBLE));
  const ep_status st = ep_optima_find(&o, &layer, &c, run);
  ep_mat_free(&layer.X);
  if (st) return st;
  for (ptrdiff_t i = 0; i < o.count && t->count < 256; i++) {
    const ep_optimum *p = &o.optimum[i];
    if (!p->maximal) continue;
    t->gap[t->count] = p->gap;
    t->roughness[t->count] = p->roughness;
    t->label[t->count++] = p->stable;
    t->promised += p->theorem1;
    t->broken += p->theorem1 && !p->stable;
  }
  ep_optima_free(&o);
  return EP_OK;
}

ep_status optima_stability(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const char *const cases[][2] = {{"6,600,0.1", "relu"},       {"6,600,0.2", "relu"},
                                         {"6,2000,0.3", "relu"},      {"6,600,0.2", "leaky:0.2"},
                                         {"6,600,0.2", "monomial:3"}, {"6,600,0.2", "linear"}};
  tally t = {0};
  json_t *figure;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    EP_TRY(stable_on(&t, cases[i][0], cases[i][1], optima_starts(size, 60), run));
  r->pass = t.promised > 0 && t.broken == 0;
  EP_TRY(ep_claim_measure(r, "maximal_eigenvectors", (double)t.count));
  EP_TRY(ep_claim_measure(r, "gap_above_roughness", (double)t.promised));
  EP_TRY(ep_claim_measure(r, "of_these_not_returned", (double)t.broken));
  EP_TRY(ep_figure_new(&figure, "stability", EP_FIGURE_SCATTER, "Gap and roughness",
                       "Every locally maximal eigenvector found: its gap against its roughness; "
                       "label 1 came back after "
                       "every push.",
                       (ep_axis){"roughness", false}, (ep_axis){"gap", false}));
  EP_TRY(ep_claim_note(r,
                       "The summation model of six patterns at q = 0.1, 0.2, 0.3, with relu, leaky "
                       "relu, a cubic monomial and linear activation; pushes of 0.01."));
  const ep_status st = ep_figure_add(figure, &(ep_series){.name = "eigenvectors",
                                                          .count = t.count,
                                                          .x = t.roughness,
                                                          .y = t.gap,
                                                          .label = t.label});
  if (st) return json_decref(figure), st;
  return ep_claim_figure(r, figure);
}
