/* OPTIMA's claims on layers of several nodes whose weights are made from all outputs together (eq. 2 and 5). */
#include "study/optima_claims.h"

#include <eigenpair/powerlaw.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 6, MOST_LAYERS = 64, KS = 4, WEIGHTINGS = 4 };

/* six patterns, q = 0.2 */
static ep_status patterns(ep_population *p, const char *weights, uint64_t seed) {
  EP_TRY(ep_population_summation_of(p, M, 0.2, seed));
  ep_alpha made;
  const ep_status st = ep_alpha_load(&made, weights, "");
  if (st) ep_population_free(p);
  p->layer.alpha.kind = made.kind;
  p->layer.alpha.tau = made.tau;
  return st;
}

static ep_optima_config layer_config(long layers, long nodes) {
  ep_optima_config c = optima_config(layers);
  c.nodes = nodes;
  c.settle = 1e-4;
  c.iterations = 600;
  return c;
}

/* patterns with a node within 0.2 radians */
static int covered(const ep_population *p, const ep_mat *W) {
  int count = 0;
  double u[EP_PATTERNS];
  for (int m = 0; m < M; m++) {
    bool there = false;
    ep_population_pattern(u, p, m);
    for (ptrdiff_t k = 0; k < W->rows; k++)
      there = there || ep_layer_angle(&p->layer, u, ep_d(W, k, 0)) < 0.2;
    count += there;
  }
  return count;
}

/* coverage of each layer; `apart`: every node has weights of its own output alone */
static ep_status coverage(double *out, const char *weights, long nodes, long layers, bool apart,
                          uint64_t seed) {
  ep_population p;
  ep_mat W;
  ep_path *paths;
  ep_work work = {0};
  const ep_optima_config c = layer_config(layers, nodes);
  EP_TRY(patterns(&p, weights, seed));
  ep_status st = ep_work_mat(&work, &W, EP_DOUBLE, layers * nodes, M);
  if (!st) st = ep_work_get(&work, &paths, layers * nodes, sizeof *paths);
  if (!st) {
    ep_optima_starts(&W, seed);
    st = ep_joint_follow(&W, paths, apart ? 1 : nodes, &p.layer, &c);
  }
  for (long l = 0; !st && l < layers; l++) {
    const ep_mat rows = ep_mat_rows(&W, l * nodes, nodes);
    out[l] = covered(&p, &rows);
  }
  ep_work_free(&work);
  ep_population_free(&p);
  return st;
}

/* mean of b - a over layers that began alike, as NAME with its interval; is all of it above 0? */
static ep_status gain(bool *above, ep_claim_result *r, const char *name, const double *a,
                      const double *b, long layers) {
  double value[MOST_LAYERS], mean, low, high;
  for (long l = 0; l < layers; l++) value[l] = b[l] - a[l];
  ep_mean_interval(&mean, &low, &high, value, layers);
  *above = low > 0;
  return ep_claim_measure_within(r, name, mean, low, high);
}

/* ---- optima-joint */

static const char *const weightings[WEIGHTINGS] = {"uniform", "infonce:4", "infonce:2",
                                                   "infonce:1"};
static const long nodes_of[KS] = {3, 6, 12, 24};

/* coverage against K, a line for each weighting with 95 % intervals */
static ep_status coverage_figure(ep_claim_result *r, double all[WEIGHTINGS][KS][MOST_LAYERS],
                                 int sizes, long layers) {
  json_t *figure;
  double x[KS];
  for (int k = 0; k < sizes; k++) x[k] = (double)nodes_of[k];
  EP_TRY(ep_claim_measure_all(r, "nodes", x, sizes));
  EP_TRY(claim_figure(&figure, r, "coverage", EP_FIGURE_LINE, "Patterns that a layer holds",
                      "Mean number of the six patterns with a node next to them, against the "
                      "number of nodes, for uniform and InfoNCE weights made from all outputs.",
                      (ep_axis){"nodes K", .log = true},
                      (ep_axis){"patterns covered", .log = false}));
  for (int g = 0; g < WEIGHTINGS; g++) {
    double mean[KS], low[KS], high[KS];
    char name[64];
    for (int k = 0; k < sizes; k++)
      ep_mean_interval(&mean[k], &low[k], &high[k], all[g][k], layers);
    EP_TRY(ep_figure_add(
        figure,
        &(ep_series){
            .name = weightings[g], .count = sizes, .x = x, .y = mean, .low = low, .high = high}));
    snprintf(name, sizeof name, "coverage_%s", weightings[g]);
    EP_TRY(ep_claim_measure_all(r, name, mean, sizes));
  }
  return EP_OK;
}

ep_status optima_joint(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const long layers = claim_pick(size, 24, 48, MOST_LAYERS);
  const int sizes = claim_pick(size, KS - 1, KS, KS);
  const uint64_t seed = (uint64_t)run->seed;
  double all[WEIGHTINGS][KS][MOST_LAYERS], apart[MOST_LAYERS];
  bool four, two, one, control, wider[2];
  for (int g = 0; g < WEIGHTINGS; g++)
    for (int k = 0; k < sizes; k++) {
      EP_TRY(ep_run_step("settings", g * sizes + k, WEIGHTINGS * sizes));
      EP_TRY(coverage(all[g][k], weightings[g], nodes_of[k], layers, false, seed));
    }
  EP_TRY(coverage_figure(r, all, sizes, layers));
  EP_TRY(gain(&four, r, "gain_of_tau_4_with_12_nodes", all[0][2], all[1][2], layers));
  EP_TRY(gain(&two, r, "gain_of_tau_2_with_6_nodes", all[0][1], all[2][1], layers));
  EP_TRY(gain(&one, r, "gain_of_tau_1_with_6_nodes", all[0][1], all[3][1], layers));
  EP_TRY(coverage(apart, "infonce:2", 6, layers, true, seed));
  EP_TRY(gain(&control, r, "gain_of_tau_2_each_node_by_itself", all[0][1], apart, layers));
  EP_TRY(gain(&wider[0], r, "gain_from_3_to_12_nodes_uniform", all[0][0], all[0][2], layers));
  EP_TRY(gain(&wider[1], r, "gain_from_3_to_12_nodes_tau_2", all[2][0], all[2][2], layers));
  r->pass = four && two && one && wider[0] && wider[1] && !control;
  EP_TRY(ep_claim_note(r,
                       "Six patterns, q = 0.2, exact population; layers of each size from the "
                       "same starts for all weights; a pattern is covered by a node within 0.2 "
                       "radians; differences are of layers that began alike."));
  double few, low, high; /* of tau = 1, twelve nodes */
  ep_mean_interval(&few, &low, &high, all[3][2], layers);
  if (r->pass)
    EP_TRY(ep_claim_found(r,
                          "InfoNCE finds more patterns than the quadratic loss only jointly: "
                          "weights of one node's own output give no gain."));
  if (few >= 5) return EP_OK;
  return ep_claim_found(
      r, "A smaller tau is not always better: at tau = 1 twelve nodes cover %.1f of 6 patterns.",
      few);
}

/* ---- optima-ticket: a wide layer, cut down to one node a pattern, and trained again */

/* of a layer's starts S and ends E: the start of the node nearest to each pattern that is covered; how many */
static ptrdiff_t prune(const ep_mat *to, const ep_population *p, const ep_mat *S, const ep_mat *E) {
  ptrdiff_t count = 0;
  double u[EP_PATTERNS];
  for (int m = 0; m < M; m++) {
    ptrdiff_t best = -1;
    double least = 0.2;
    ep_population_pattern(u, p, m);
    for (ptrdiff_t k = 0; k < E->rows; k++) {
      const double angle = ep_layer_angle(&p->layer, u, ep_d(E, k, 0));
      if (angle < least) least = angle, best = k;
    }
    if (best >= 0) memcpy(ep_d(to, count++, 0), ep_d(S, best, 0), (size_t)S->cols * sizeof(double));
  }
  return count;
}

typedef struct {
  double wide[MOST_LAYERS], ticket[MOST_LAYERS], fresh[MOST_LAYERS];
} tickets;

static ep_status one_ticket(tickets *t, long l, const ep_population *p, long nodes, uint64_t seed) {
  enum { MOST = 24 };
  double start[MOST * M], end[MOST * M], small[M * M];
  ep_path paths[MOST];
  const ep_optima_config c = layer_config(1, nodes);
  const ep_mat S = ep_mat_view(EP_DOUBLE, nodes, M, start),
               E = ep_mat_view(EP_DOUBLE, nodes, M, end);
  ep_mat few = ep_mat_view(EP_DOUBLE, M, M, small);
  ep_optima_starts(&S, seed + 1000 + (uint64_t)l);
  ep_mat_copy(&E, &S);
  EP_TRY(ep_joint_follow(&E, paths, nodes, &p->layer, &c));
  t->wide[l] = covered(p, &E);
  few.rows = prune(&few, p, &S, &E);
  if (few.rows == 0) return EP_OK;
  EP_TRY(ep_joint_follow(&few, paths, few.rows, &p->layer, &c));
  t->ticket[l] = covered(p, &few);
  ep_optima_starts(&few, seed + 5000 + (uint64_t)l);
  EP_TRY(ep_joint_follow(&few, paths, few.rows, &p->layer, &c));
  t->fresh[l] = covered(p, &few);
  return EP_OK;
}

static const char *const ticket_weights[] = {"uniform", "infonce:4", "infonce:2"};

/* all layers of one weighting */
static ep_status all_tickets(tickets *t, int g, long layers, const ep_run_config *run) {
  ep_population p;
  EP_TRY(patterns(&p, ticket_weights[g], (uint64_t)run->seed));
  ep_status st = EP_OK;
  for (long l = 0; !st && l < layers; l++) {
    st = ep_run_step("layers", (double)(g * layers + l), (double)(3 * layers));
    if (!st) st = one_ticket(t, l, &p, 12, (uint64_t)run->seed);
  }
  ep_population_free(&p);
  return st;
}

typedef struct {
  double mean[3], low[3], high[3]; /* uniform, tau = 4, tau = 2 */
} means;

static ep_status ticket_figure(ep_claim_result *r, const means part[3]) {
  static const char *const names[3] = {"wide layer", "ticket", "fresh start"};
  static const char *const words[3] = {"covered_wide_uniform_4_2", "covered_ticket_uniform_4_2",
                                       "covered_fresh_uniform_4_2"};
  const double x[3] = {0, 1. / 4, 1. / 2};
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, "ticket", EP_FIGURE_LINE, "Tickets",
                      "Patterns covered by a layer of twelve nodes, by the nodes it is cut down to "
                      "when trained again from their own starts, and from fresh starts; uniform "
                      "weights, InfoNCE of tau = 4 and 2.",
                      (ep_axis){"1/tau (0: uniform weights)", .log = false},
                      (ep_axis){"patterns covered", .log = false}));
  for (int k = 0; k < 3; k++) {
    EP_TRY(ep_figure_add(figure, &(ep_series){.name = names[k],
                                              .count = 3,
                                              .x = x,
                                              .y = part[k].mean,
                                              .low = part[k].low,
                                              .high = part[k].high}));
    EP_TRY(ep_claim_measure_all(r, words[k], part[k].mean, 3));
  }
  return EP_OK;
}

ep_status optima_ticket(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const long layers = claim_pick(size, 16, 32, MOST_LAYERS);
  means part[3]; /* wide, ticket, fresh */
  bool above, kept = true;
  char name[64];
  for (int g = 0; g < 3; g++) {
    tickets t = {0};
    EP_TRY(all_tickets(&t, g, layers, run));
    const double *const value[3] = {t.wide, t.ticket, t.fresh};
    for (int k = 0; k < 3; k++)
      ep_mean_interval(&part[k].mean[g], &part[k].low[g], &part[k].high[g], value[k], layers);
    snprintf(name, sizeof name, "ticket_over_fresh_%s", ticket_weights[g]);
    EP_TRY(gain(&above, r, name, t.fresh, t.ticket, layers));
    if (g > 0) continue;
    for (long l = 0; l < layers; l++) kept = kept && t.ticket[l] == t.wide[l];
    r->pass = above && kept; /* uniform weights: the control and an identity */
  }
  EP_TRY(ticket_figure(r, part));
  EP_TRY(ep_claim_measure(r, "uniform_weights_keep_everything", kept));
  EP_TRY(ep_claim_note(r,
                       "Six patterns, q = 0.2, exact population; layers of twelve nodes, cut "
                       "down to one node for each pattern that they cover."));
  const double *w = part[0].mean, *t = part[1].mean, *f = part[2].mean;
  return ep_claim_found(
      r,
      "Cut down to one node a pattern and trained again from their own starts, nodes cover %.1f "
      "(uniform), %.1f (tau = 4), %.1f (tau = 2) of the %.1f, %.1f, %.1f patterns of the wide "
      "layer; from fresh starts %.1f, %.1f, %.1f. With uniform weights nodes do not see each other "
      "and a ticket keeps everything by construction; with InfoNCE that is measured.",
      t[0], t[1], t[2], w[0], w[1], w[2], f[0], f[1], f[2]);
}
