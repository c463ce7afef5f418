/* OPTIMA's statements on stability, on cases with closed forms: points with a Gaussian law, Gaussian weights, a disc. */
#include "study/optima_claims.h"

#include <math.h>
#include <stdio.h>

static const double pi = 3.14159265358979323846;

/* ---- optima-stability: x Gaussian in the plane, variances s^2 and 1. With S = diag(s^2, 1), relu, uniform weights:
 *
 *   A(w) = S/2 - S w w'S / (2 pi w'S w),   A(w) w = (1/2 - 1/(2 pi)) S w
 *
 * so that at w = e_1 the eigenvalue along is s^2 (1/2 - 1/(2 pi)), across 1/2, the roughness 1/(2 pi), and the dynamics is
 * that of S: e_1 is stable for s^2 > 1, a locally maximal eigenvector for s^2 > pi/(pi-1), and Theorem 1 promises its
 * stability for s^2 > (pi+1)/(pi-1). A(w) sees the length of x through E r and E r^2 alone: two radii have both. */

enum { ANGLES = 8000 };

static ep_status gaussian_plane(ep_population *p, double ratio) {
  const double mean = sqrt(pi / 2), spread = sqrt(2 - pi / 2);
  const double radius[2] = {mean - spread, mean + spread};
  return ep_population_plane(p, ANGLES, radius, 2, sqrt(ratio));
}

static ep_status at_ratio(ep_optimum *o, double ratio, int pushes) {
  const double w[2] = {1, 0};
  ep_population p;
  ep_optima_config c = optima_config(1);
  c.directions = 1;
  c.pushes = pushes;
  c.settle = 1e-4; /* A(w) jumps by 1e-4 from angle to angle */
  EP_TRY(gaussian_plane(&p, ratio));
  const ep_status st = ep_optimum_measure(o, &p.layer, w, &c, 0);
  ep_population_free(&p);
  return st;
}

/* both sides of the three numbers: is e_1 stable, maximal, promised? */
static ep_status three_thresholds(ep_claim_result *r) {
  static const char *const names[] = {"stable", "maximal", "promised"};
  const double at[3] = {1, pi / (pi - 1), (pi + 1) / (pi - 1)};
  char text[64];
  for (int k = 0; k < 3; k++)
    for (int side = 0; side < 2; side++) {
      const double ratio = at[k] + (side ? 0.05 : -0.05);
      ep_optimum o = {0};
      EP_TRY(ep_run_step("ratios", 2 * k + side, 6));
      EP_TRY(at_ratio(&o, ratio, 4));
      const bool is = k == 0 ? o.stable : k == 1 ? o.maximal : o.theorem1;
      snprintf(text, sizeof text, "%s_at_%.2f", names[k], ratio);
      EP_TRY(ep_claim_measure(r, text, is));
      r->pass = r->pass && is == (side == 1) && o.stable == (ratio > 1);
    }
  return EP_OK;
}

static ep_status gaussian_figure(ep_claim_result *r) {
  enum { R = 18 };
  double x[R], gap[R], rough[R], margin[R], flat[R], worst[2] = {0};
  json_t *figure;
  for (int i = 0; i < R; i++) {
    ep_optimum o = {0};
    x[i] = 0.8 + 0.1 * i;
    EP_TRY(at_ratio(&o, x[i], 0));
    margin[i] = x[i] * (0.5 - 0.5 / pi) - 0.5;
    flat[i] = 0.5 / pi;
    gap[i] = o.alignment > 0.5 ? o.gap : o.lambda - o.top;
    rough[i] = o.roughness;
    worst[0] = fmax(worst[0], fabs(gap[i] - margin[i]));
    worst[1] = fmax(worst[1], fabs(rough[i] / flat[i] - 1));
  }
  r->pass = r->pass && worst[0] < 1e-4 && worst[1] < 0.03;
  EP_TRY(ep_claim_measure(r, "error_of_gap", worst[0]));
  EP_TRY(ep_claim_measure(r, "relative_error_of_roughness", worst[1]));
  EP_TRY(claim_figure(&figure, r, "gaussian", EP_FIGURE_LINE, "Gap and roughness, Gaussian points",
                      "At w = e_1: its eigenvalue less the other one, and the roughness, against "
                      "the ratio of the variances; the formulas are dashed. Theorem 1 begins where "
                      "the lines cross.",
                      (ep_axis){"ratio of the variances", .log = false},
                      (ep_axis){"gap, roughness", .log = false}));
  EP_TRY(ep_figure_add(figure, &(ep_series){.name = "gap", .count = R, .x = x, .y = gap}));
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){.name = "gap, formula", .count = R, .x = x, .y = margin, .dashed = true}));
  EP_TRY(ep_figure_add(figure, &(ep_series){.name = "roughness", .count = R, .x = x, .y = rough}));
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){.name = "roughness, formula", .count = R, .x = x, .y = flat, .dashed = true}));
  EP_TRY(ep_figure_rule(figure, 'x', 1, "stable"));
  EP_TRY(ep_figure_rule(figure, 'x', pi / (pi - 1), "locally maximal"));
  return ep_figure_rule(figure, 'x', (pi + 1) / (pi - 1), "Theorem 1");
}

typedef struct {
  double q[2][64], gap[2][64]; /* of those that depart (0) and that come back (1) */
  int of[2], count, promised, departed, broken;
  double roughness; /* the largest: 0 but for rounding, no point lies on a hyperplane */
} tally;

static void add(tally *t, const ep_optimum *o, double q) {
  const int back = o->stable, i = t->of[back]++;
  t->q[back][i] = q;
  t->gap[back][i] = o->alignment > 0.5 ? o->gap : o->lambda - o->top;
  t->roughness = fmax(t->roughness, o->roughness);
  t->count++;
  t->promised += o->theorem1;
  t->departed += !o->stable;
  t->broken += o->theorem1 && !o->stable;
}

/* critical points that no search has picked: u_m of summation models with every q_m different */
static ep_status critical_points(tally *t, uint64_t seed) {
  enum { M = 6 };
  static const double q[4][M] = {{0.02, 0.06, 0.10, 0.14, 0.18, 0.22},
                                 {0.24, 0.26, 0.28, 0.30, 0.32, 0.34},
                                 {0.35, 0.36, 0.37, 0.375, 0.39, 0.40},
                                 {0.41, 0.42, 0.44, 0.46, 0.48, 0.5}};
  ep_optima_config c = optima_config(1);
  c.push = 0.01;
  c.pushes = 4;
  c.directions = 2;
  c.step = 0.01;
  c.settle = 1e-8;
  for (int k = 0; k < 4; k++) {
    ep_population p;
    double u[EP_PATTERNS];
    EP_TRY(ep_population_summation(&p, M, q[k], 0, seed + (uint64_t)k));
    ep_status st = EP_OK;
    for (int m = 0; !st && m < M; m++) {
      ep_optimum o = {0};
      ep_population_pattern(u, &p, m);
      st = ep_optimum_measure(&o, &p.layer, u, &c, seed);
      if (!st) add(t, &o, q[k][m]);
    }
    ep_population_free(&p);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status tally_figure(ep_claim_result *r, const tally *t) {
  json_t *figure;
  EP_TRY(claim_figure(
      &figure, r, "stability", EP_FIGURE_SCATTER,
      "Critical points that come back after a push, and those that depart",
      "Every u_m of four summation models with unequal q_m: lambda(u_m) less the "
      "largest other eigenvalue. Their roughness is 0, so that Theorem 1 promises all above 0.",
      (ep_axis){"q_m", .log = false}, (ep_axis){"lambda(u_m) - largest other", .log = false}));
  for (int back = 1; back >= 0; back--)
    EP_TRY(ep_figure_add(figure, &(ep_series){.name = back ? "comes back" : "departs",
                                              .count = t->of[back],
                                              .x = t->q[back],
                                              .y = t->gap[back]}));
  return ep_figure_rule(figure, 'y', 0, "Theorem 1");
}

ep_status optima_stability(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  tally t = {0};
  (void)size; /* populations: there is no larger size */
  r->pass = true;
  EP_TRY(three_thresholds(r));
  EP_TRY(gaussian_figure(r));
  EP_TRY(critical_points(&t, (uint64_t)run->seed));
  r->pass = r->pass && t.promised > 0 && t.departed > 0 && t.broken == 0;
  EP_TRY(ep_claim_measure(r, "critical_points", t.count));
  EP_TRY(ep_claim_measure(r, "gap_above_roughness", t.promised));
  EP_TRY(ep_claim_measure(r, "of_these_departed", t.broken));
  EP_TRY(ep_claim_measure(r, "departed", t.departed));
  EP_TRY(ep_claim_measure(r, "largest_roughness_of_them", t.roughness));
  EP_TRY(tally_figure(r, &t));
  EP_TRY(ep_claim_note(r,
                       "Gaussian points of the plane on 8,000 angles with two radii that have "
                       "the law's moments; pushes of 0.05. Summation models of six patterns as "
                       "exact populations; pushes of 0.01."));
  if (!r->pass) return EP_OK;
  return ep_claim_found(
      r,
      "Gaussian points with variances s^2 and 1: e_1 is stable for s^2 > 1, a locally maximal "
      "eigenvector only above pi/(pi-1) = %.3f, and Theorem 1 promises stability above "
      "(pi+1)/(pi-1) = %.3f. Between 1 and %.3f lie smooth stable optima that are no locally "
      "maximal eigenvectors.",
      pi / (pi - 1), (pi + 1) / (pi - 1), pi / (pi - 1));
}

/* ---- optima-weights: the summation model with Gaussian weights. kappa = exp(-(1-q)/(2 tau q)):
 *
 *   A(u_m) = (1-q)^2 kappa along u_m, q^2 + q(1-q) kappa across;
 *
 * alpha follows w, and that takes (1-q)^2 kappa/tau more off what a push across grows by. */

static const double q0 = 0.2;
static double kappa(double tau) { return exp(-(1 - q0) / (2 * tau * q0)); }
static double along(double tau) { return (1 - q0) * (1 - q0) * kappa(tau); }
static double across(double tau) { return q0 * q0 + q0 * (1 - q0) * kappa(tau); }
static double held_margin(double tau) { return along(tau) - across(tau); }
static double following_margin(double tau) { return held_margin(tau) + along(tau) / tau; }
/* tau at which a margin changes its sign */
static double zero_of(double (*margin)(double)) {
  double low = 0.3, high = 2;
  for (int i = 0; i < 60; i++) {
    const double mid = (low + high) / 2;
    if (margin(mid) > 0) high = mid;
    else low = mid;
  }
  return (low + high) / 2;
}

/* weights made at u and held there */
static ep_status hold(ep_population *p, const double *u) {
  ep_layer *l = &p->layer;
  ep_mat F, alpha;
  EP_TRY(ep_mat_new(&F, EP_DOUBLE, l->X.rows, 1));
  ep_status st = ep_mat_new(&alpha, EP_DOUBLE, l->X.rows, l->X.rows);
  if (!st) {
    ep_mat_vec(F.data, 1, &l->X, EP_N, u, 0);
    ep_activation_values(&F, &l->h, &F);
    for (ptrdiff_t i = 0; i < F.rows; i++) ep_alpha_row(ep_d(&alpha, i, 0), &l->alpha, &F, NULL, i);
    ep_alpha_free(&l->alpha);
    l->alpha = (ep_alpha){.kind = EP_ALPHA_GIVEN, .given = alpha};
  }
  ep_mat_free(&F);
  return st;
}

/* u_1 at tau: what is measured of it, the largest error of A(u_1), and minus the growth of a small push across */
static ep_status at_tau(ep_optimum *o, double *error, double *margin, double tau, bool held,
                        int pushes, uint64_t seed) {
  enum { M = 5 };
  ep_population p;
  ep_optima_config c = optima_config(1);
  double u[EP_PATTERNS], other[EP_PATTERNS], v[M], y[M], a[M * M];
  const double step = 1e-5;
  const ep_mat A = ep_mat_view(EP_DOUBLE, M, M, a), V = ep_mat_view(EP_DOUBLE, 1, M, v),
               Y = ep_mat_view(EP_DOUBLE, 1, M, y);
  c.push = 0.01;
  c.pushes = pushes;
  c.directions = 1;
  c.settle = 1e-8;
  EP_TRY(ep_population_summation_of(&p, M, q0, seed));
  p.layer.alpha.kind = EP_ALPHA_GAUSSIAN;
  p.layer.alpha.tau = tau;
  ep_population_pattern(u, &p, 0);
  ep_population_pattern(other, &p, 1);
  ep_status st = held ? hold(&p, u) : EP_OK;
  if (!st) st = ep_optimum_measure(o, &p.layer, u, &c, seed);
  if (!st) st = ep_layer_matrix(&A, &p.layer, u, NULL);
  for (int i = 0; i < M * M; i++)
    *error = fmax(*error, fabs(a[i] - (along(tau) - across(tau)) * u[i / M] * u[i % M] -
                               (i / M == i % M ? across(tau) : 0)));
  for (int i = 0; i < M; i++) v[i] = cos(step) * u[i] + sin(step) * other[i];
  if (!st) st = ep_layer_product(&Y, &p.layer, &V, NULL, NULL);
  double up = 0, out = 0; /* (I - vv')A(v)v along the push: y'(other cos - u sin) */
  for (int i = 0; i < M; i++) up += y[i] * u[i], out += y[i] * other[i];
  *margin = (up * sin(step) - out * cos(step)) / step;
  ep_population_free(&p);
  return st;
}

static ep_status margins(ep_claim_result *r, uint64_t seed) {
  enum { T = 16 };
  double tau[T], value[2][T], formula[2][T], error = 0, worst = 0;
  json_t *figure;
  for (int i = 0; i < T; i++) {
    EP_TRY(ep_run_step("temperatures", i, T));
    tau[i] = 0.4 + 0.05 * i;
    formula[0][i] = held_margin(tau[i]), formula[1][i] = following_margin(tau[i]);
    for (int k = 0; k < 2; k++) {
      ep_optimum o = {0};
      EP_TRY(at_tau(&o, &error, &value[k][i], tau[i], k == 0, 0, seed));
      worst = fmax(worst, fabs(value[k][i] - formula[k][i]));
    }
  }
  r->pass = r->pass && error < 1e-12 && worst < 1e-4;
  EP_TRY(ep_claim_measure(r, "error_of_A", error));
  EP_TRY(ep_claim_measure(r, "error_of_margins", worst));
  EP_TRY(claim_figure(&figure, r, "margins", EP_FIGURE_LINE,
                      "How fast a push across u_m dies, Gaussian weights",
                      "Rate at which a small push across u_m decays, with the weights held at u_m "
                      "and with weights that follow w; the formulas are dashed. Below zero it "
                      "grows.",
                      (ep_axis){"tau", .log = false}, (ep_axis){"rate of decay", .log = false}));
  for (int k = 0; k < 2; k++) {
    EP_TRY(ep_figure_add(
        figure,
        &(ep_series){
            .name = k ? "weights follow" : "weights held", .count = T, .x = tau, .y = value[k]}));
    EP_TRY(ep_figure_add(figure, &(ep_series){.name = k ? "follow, formula" : "held, formula",
                                              .count = T,
                                              .x = tau,
                                              .y = formula[k],
                                              .dashed = true}));
  }
  EP_TRY(ep_figure_rule(figure, 'x', zero_of(held_margin), "locally maximal"));
  return ep_figure_rule(figure, 'x', zero_of(following_margin), "stable");
}

/* locally maximal eigenvectors among the ends of a search */
static ep_status count_maximal(double *maximal, double *ends, double tau,
                               const ep_run_config *run) {
  ep_population p;
  ep_optima o;
  ep_optima_config c = optima_config(50);
  c.pushes = 0;
  c.directions = 1;
  c.iterations = 500;
  c.settle = 1e-8;
  EP_TRY(ep_population_summation_of(&p, 6, q0, (uint64_t)run->seed));
  p.layer.alpha.kind = EP_ALPHA_GAUSSIAN;
  p.layer.alpha.tau = tau;
  const ep_status st = ep_optima_find(NULL, &o, &p.layer, &c, run);
  ep_population_free(&p);
  if (st) return st;
  *maximal = (double)o.maximal, *ends = (double)o.count;
  ep_optima_free(&o);
  return EP_OK;
}

ep_status optima_weights(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const double lme = zero_of(held_margin), stable = zero_of(following_margin);
  const uint64_t seed = (uint64_t)run->seed;
  double maximal[2], ends[2], unused = 0, rate;
  char text[64];
  (void)size;
  r->pass = true;
  EP_TRY(margins(r, seed));
  const struct {
    const char *what;
    double tau;
    bool held, expected;
  } cases[] = {{"maximal", lme - 0.03, false, false},     {"maximal", lme + 0.03, false, true},
               {"returns", stable - 0.03, false, false},  {"returns", stable + 0.03, false, true},
               {"returns_held", lme - 0.03, true, false}, {"returns_held", lme + 0.03, true, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ep_optimum o = {0};
    EP_TRY(at_tau(&o, &unused, &rate, cases[i].tau, cases[i].held, 4, seed));
    const bool is = cases[i].what[0] == 'm' ? o.maximal : o.stable;
    r->pass = r->pass && is == cases[i].expected;
    snprintf(text, sizeof text, "%s_at_tau_%.3f", cases[i].what, cases[i].tau);
    EP_TRY(ep_claim_measure(r, text, is));
  }
  EP_TRY(ep_claim_measure(r, "tau_maximal", lme));
  EP_TRY(ep_claim_measure(r, "tau_stable", stable));
  EP_TRY(count_maximal(&maximal[0], &ends[0], 2, run));
  EP_TRY(count_maximal(&maximal[1], &ends[1], 0.7, run));
  r->pass = r->pass && maximal[0] == 6 && maximal[1] == 0;
  EP_TRY(ep_claim_measure(r, "maximal_of_a_search_at_tau_2", maximal[0]));
  EP_TRY(ep_claim_measure(r, "maximal_of_a_search_at_tau_0.7", maximal[1]));
  EP_TRY(ep_claim_note(r,
                       "Exact populations, q = 0.2: five patterns (six for the searches); "
                       "Gaussian weights of the points before augmentation."));
  if (!r->pass) return EP_OK;
  return ep_claim_found(
      r,
      "With Gaussian weights u_m is a locally maximal eigenvector only for tau > %.3f (q = 0.2), "
      "which is why the count of them falls from 6 to 0. It stays a stable end down to tau = %.3f, "
      "because alpha follows w: with the weights held at u_m it departs at once.",
      lme, stable);
}
