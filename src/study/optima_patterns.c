/* OPTIMA's generative models. Populations (points with probabilities) are exact: their probabilities are weights
 * alpha_ij = N^2 p_i p_j, so nothing is left to sampling. */
#include "study/optima_claims.h"

#include <math.h>
#include <stdio.h>

/* ---- optima-exact */

/* max |A(u_m) - along u u' - across (I - u u')| over m; eq. 37 and 38 */
static ep_status worst_entry(double *worst, const ep_population *p, double along, double across) {
  const ptrdiff_t d = p->U.rows;
  ep_mat A;
  double u[EP_PATTERNS];
  EP_TRY(ep_mat_new(&A, EP_DOUBLE, d, d));
  ep_status st = EP_OK;
  for (ptrdiff_t m = 0; !st && m < p->U.cols; m++) {
    ep_population_pattern(u, p, m);
    st = ep_layer_matrix(&A, &p->layer, u, NULL);
    for (ptrdiff_t i = 0; i < d * d; i++) {
      const double expected =
          (along - across) * u[i / d] * u[i % d] + (i / d == i % d ? across : 0);
      *worst = fmax(*worst, fabs(*ep_d(&A, i / d, i % d) - expected));
    }
  }
  ep_mat_free(&A);
  return st;
}

/* patterns with an optimum within an angle */
static int patterns_found(const ep_optima *o, const ep_population *p, double angle) {
  int found = 0;
  double u[EP_PATTERNS];
  for (ptrdiff_t m = 0; m < p->U.cols; m++) {
    ep_population_pattern(u, p, m);
    found += ep_optima_nearest(o, u, &p->layer, angle) >= 0;
  }
  return found;
}

static ep_status exact_model(ep_claim_result *r, const char *name, const ep_population *p,
                             double along, double across, ep_claim_size size,
                             const ep_run_config *run) {
  const ep_optima_config c = optima_config(optima_starts(size, 200));
  char text[64];
  double worst = 0;
  ep_optima o;
  EP_TRY(worst_entry(&worst, p, along, across));
  EP_TRY(ep_optima_find(&o, &p->layer, &c, run));
  const int found = patterns_found(&o, p, 1e-6);
  r->pass = r->pass && worst < 1e-12 && found == p->U.cols && o.maximal == p->U.cols;
  const struct {
    const char *what;
    double value;
  } numbers[] = {{"error", worst},
                 {"patterns", (double)p->U.cols},
                 {"found", found},
                 {"maximal", (double)o.maximal},
                 {"other_ends", (double)(o.count - o.maximal)},
                 {"dead", (double)o.dead}};
  ep_status st = EP_OK;
  for (size_t i = 0; !st && i < sizeof numbers / sizeof *numbers; i++) {
    snprintf(text, sizeof text, "%s_%s", name, numbers[i].what);
    st = ep_claim_measure(r, text, numbers[i].value);
  }
  ep_optima_free(&o);
  return st;
}

/* u_m of the summation model at q: lambda less the largest other eigenvalue, and the share of pushes it returns from */
static ep_status at_q(double *margin, double *returns, double q, bool pushes, long seed) {
  ep_population p;
  ep_optima_config c = optima_config(1);
  ep_optimum o = {0};
  double u[EP_PATTERNS];
  c.push = 0.01;
  c.pushes = pushes ? 4 : 0;
  c.directions = 1;
  c.iterations = 6000;
  EP_TRY(ep_population_summation(&p, 5, q, 0, (uint64_t)seed));
  ep_population_pattern(u, &p, 0);
  const ep_status st = ep_optimum_measure(&o, &p.layer, u, &c, (uint64_t)seed);
  *margin = o.lambda - (o.alignment > 0.5 ? o.top - o.gap : o.top);
  *returns = o.returns;
  ep_population_free(&p);
  return st;
}

static ep_status threshold(ep_claim_result *r, long seed) {
  enum { Q = 21 };
  double q[Q], margin[Q], formula[Q], back[2], unused;
  json_t *figure;
  for (int i = 0; i < Q; i++) {
    q[i] = 0.3 + 0.008 * i;
    formula[i] = (1 - q[i]) * (1 - q[i]) - q[i];
    EP_TRY(at_q(&margin[i], &unused, q[i], false, seed));
  }
  EP_TRY(at_q(&unused, &back[0], 0.380, true, seed));
  EP_TRY(at_q(&unused, &back[1], 0.384, true, seed));
  r->pass = r->pass && back[0] == 1 && back[1] == 0;
  EP_TRY(ep_claim_measure(r, "returns_at_0.380", back[0]));
  EP_TRY(ep_claim_measure(r, "returns_at_0.384", back[1]));
  EP_TRY(ep_figure_new(&figure, "threshold", EP_FIGURE_LINE, "Where u_m stops being an optimum",
                       "The eigenvalue of u_m less the largest other one falls through zero at q = "
                       "0.382, as the formula says.",
                       (ep_axis){"q", false}, (ep_axis){"lambda(u_m) - largest other", false}));
  ep_status st =
      ep_figure_add(figure, &(ep_series){.name = "measured", .count = Q, .x = q, .y = margin});
  if (!st)
    st = ep_figure_add(
        figure,
        &(ep_series){.name = "(1-q)^2 - q", .count = Q, .x = q, .y = formula, .dashed = true});
  if (!st) st = ep_figure_rule(figure, 'x', (3 - sqrt(5)) / 2, "(3 - sqrt 5)/2");
  if (st) return json_decref(figure), st;
  return ep_claim_figure(r, figure);
}

/* Reported, not judged: locally maximal eigenvectors of the summation model at a small q, those that are no u_m */
static ep_status small_q(ep_claim_result *r, const ep_run_config *run) {
  ep_population p;
  ep_optima o;
  double all_off[EP_PATTERNS] = {0};
  const ep_optima_config c = optima_config(300);
  EP_TRY(ep_population_summation(&p, 6, 0.1, 0, (uint64_t)run->seed));
  for (int j = 0; j < 6; j++)
    for (int m = 0; m < 6; m++) all_off[j] -= *ep_d(&p.U, j, m) / sqrt(6);
  const ep_status st = ep_optima_find(&o, &p.layer, &c, run);
  const ptrdiff_t at = st ? -1 : ep_optima_nearest(&o, all_off, &p.layer, 1e-6);
  const bool there = at >= 0 && o.optimum[at].maximal;
  const ptrdiff_t maximal = st ? 0 : o.maximal;
  ep_population_free(&p);
  if (st) return st;
  ep_optima_free(&o);
  EP_TRY(ep_claim_measure(r, "summation_maximal_at_0.1", (double)maximal));
  if (maximal == 6) return EP_OK;
  return ep_claim_found(
      r, "At q = 0.1 the summation model of six patterns has %td locally maximal eigenvectors%s.",
      maximal,
      there ? ": with the patterns also w = -(u_1 + .. + u_6)/sqrt 6, all of them off" : "");
}

ep_status optima_exact(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_population p;
  r->pass = true;
  EP_TRY(ep_population_categorical(&p, 6, (uint64_t)run->seed));
  ep_status st = exact_model(r, "categorical", &p, 1 / 6. * (5 / 6.), 0, size, run);
  ep_population_free(&p);
  if (!st) st = ep_population_summation(&p, 6, 0.2, 0, (uint64_t)run->seed);
  if (st) return st;
  st = exact_model(r, "summation", &p, 0.64, 0.2, size, run);
  ep_population_free(&p);
  if (!st) st = threshold(r, run->seed);
  if (!st) st = small_q(r, run);
  if (st) return st;
  EP_TRY(ep_claim_note(r, "Six patterns, q = 0.2, exact populations: probabilities as weights."));
  const double others = json_number_value(json_object_get(r->measured, "summation_other_ends"));
  if (others == 0) return EP_OK;
  return ep_claim_found(r,
                        "The summation model has %.0f further ends that are no eigenvectors: local "
                        "maxima of the energy at which w is orthogonal to data points, where A(w) "
                        "jumps.",
                        others);
}

/* ---- optima-fig1 */

/* Power iteration from each u_m of one U. ends: settled within 5 degrees, and of these eigenvectors; the largest angle
 * between start and end; curves into the figure, if there is one. */
static ep_status from_patterns(double *degrees, int ends[2], json_t *figure,
                               const ep_population *p) {
  enum { LENGTH = 200 };
  const ptrdiff_t m = p->U.cols;
  const ep_optima_config c = optima_config(1);
  ep_mat W, trace;
  ep_path paths[EP_PATTERNS];
  double t[LENGTH], u[EP_PATTERNS];
  char name[32];
  EP_TRY(ep_mat_new(&W, EP_DOUBLE, m, m));
  ep_status st = ep_mat_new(&trace, EP_DOUBLE, m, LENGTH);
  for (int i = 0; i < LENGTH; i++) t[i] = i + 1;
  for (ptrdiff_t k = 0; k < m; k++) ep_population_pattern(ep_d(&W, k, 0), p, k);
  if (!st) st = ep_optima_follow(&W, paths, &p->layer, &c, &trace);
  for (ptrdiff_t k = 0; !st && k < m; k++) {
    ep_population_pattern(u, p, k);
    const double angle = ep_layer_angle(&p->layer, u, ep_d(&W, k, 0)) * 57.29577951308232;
    *degrees = fmax(*degrees, angle);
    const bool next_to = paths[k].end == EP_END_SETTLED && angle < 5;
    ends[0] += next_to;
    ends[1] += next_to && paths[k].residual < 1e-6;
    ptrdiff_t n = 0;
    while (n<LENGTH && * ep_d(&trace, k, n)> 0) n++;
    snprintf(name, sizeof name, "from u_%td", k + 1);
    if (figure)
      st = ep_figure_add(figure,
                         &(ep_series){.name = name, .count = n, .x = t, .y = ep_d(&trace, k, 0)});
  }
  ep_mat_free(&W);
  ep_mat_free(&trace);
  return st;
}

/* several U of one tilt; the first one's curves are drawn */
enum { TILTED = 10 };
static ep_status tilted(ep_claim_result *r, int ends[2], double tilt, json_t *figure,
                        uint64_t seed) {
  double degrees = 0;
  char name[64];
  ends[0] = ends[1] = 0;
  for (int i = 0; i < TILTED; i++) {
    ep_population p;
    EP_TRY(ep_run_step("patterns", i, TILTED));
    EP_TRY(ep_population_summation(&p, EP_PATTERNS, 0.2, tilt, seed + (uint64_t)i));
    const ep_status st = from_patterns(&degrees, ends, i ? NULL : figure, &p);
    ep_population_free(&p);
    EP_TRY(st);
  }
  snprintf(name, sizeof name, "next_to_at_%.2f", tilt);
  EP_TRY(ep_claim_measure(r, name, ends[0]));
  snprintf(name, sizeof name, "eigenvectors_at_%.2f", tilt);
  EP_TRY(ep_claim_measure(r, name, ends[1]));
  snprintf(name, sizeof name, "largest_degrees_at_%.2f", tilt);
  return ep_claim_measure(r, name, degrees);
}

ep_status optima_fig1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  enum { ALL = TILTED * EP_PATTERNS };
  json_t *figure;
  int ends[2];
  (void)size; /* the population is the paper's own size */
  EP_TRY(ep_claim_measure(r, "patterns", ALL));
  EP_TRY(
      ep_figure_new(&figure, "power-iteration", EP_FIGURE_LINE, "Power iteration near every u_m",
                    "How far power iteration still moves at each step, from each of eight nearly "
                    "orthogonal patterns.",
                    (ep_axis){"iteration", false}, (ep_axis){"|w(t+1) - w(t)|", true}));
  const ep_status st = tilted(r, ends, 0.15, figure, (uint64_t)run->seed);
  if (st) return json_decref(figure), st;
  EP_TRY(ep_claim_figure(r, figure));
  r->pass = ends[0] == ALL;
  EP_TRY(ep_claim_note(r, "Ten random U of eight patterns, q = 0.2, exact populations."));
  if (ends[1] < ends[0])
    EP_TRY(ep_claim_found(r,
                          "%d of %d ends are no eigenvectors: they lie on the hyperplane of a data "
                          "point, where A(w) jumps.",
                          ends[0] - ends[1], ends[0]));
  EP_TRY(tilted(r, ends, 0.39, NULL, (uint64_t)run->seed));
  if (ends[0] == ALL) return EP_OK;
  return ep_claim_found(r, "At |U'U - I| = 0.39 it settles next to %d of %d patterns.", ends[0],
                        (int)ALL);
}
