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

/* others: ends that are no locally maximal eigenvectors */
static ep_status exact_model(ep_claim_result *r, double *others, const char *name,
                             const ep_population *p, double along, double across,
                             ep_claim_size size, const ep_run_config *run) {
  const ep_optima_config c = optima_config(optima_starts(size, 200));
  char text[64];
  double worst = 0;
  ep_optima o;
  EP_TRY(worst_entry(&worst, p, along, across));
  EP_TRY(ep_optima_find(NULL, &o, &p->layer, &c, run));
  const int found = patterns_found(&o, p, 1e-6);
  r->pass = r->pass && worst < 1e-12 && found == p->U.cols && o.maximal == p->U.cols;
  *others = (double)(o.count - o.maximal);
  const struct {
    const char *what;
    double value;
  } numbers[] = {{"error", worst},        {"patterns", (double)p->U.cols},
                 {"found", found},        {"maximal", (double)o.maximal},
                 {"other_ends", *others}, {"dead", (double)o.dead}};
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
  EP_TRY(ep_population_summation_of(&p, 5, q, (uint64_t)seed));
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
  EP_TRY(ep_figure_new(
      &figure, "threshold", EP_FIGURE_LINE, "Where u_m stops being an optimum",
      "The eigenvalue of u_m less the largest other one against q, measured and by the formula.",
      (ep_axis){"q", .log = false}, (ep_axis){"lambda(u_m) - largest other", .log = false}));
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

/* every q_m another: A(u_m) to eq. 38, and locally maximal where q_m < (3 - sqrt 5)/2 alone */
static ep_status unequal(ep_claim_result *r, uint64_t seed) {
  enum { M = 6 };
  static const double q[M] = {0.05, 0.15, 0.25, 0.375, 0.39, 0.45};
  ep_population p;
  ep_optima_config c = optima_config(1);
  double u[EP_PATTERNS], a[M * M], worst = 0, right = 0;
  const ep_mat A = ep_mat_view(EP_DOUBLE, M, M, a);
  c.pushes = 0;
  c.directions = 1;
  EP_TRY(ep_population_summation(&p, M, q, 0, seed));
  ep_status st = EP_OK;
  for (int m = 0; !st && m < M; m++) {
    ep_optimum o = {0};
    const double along = (1 - q[m]) * (1 - q[m]);
    ep_population_pattern(u, &p, m);
    st = ep_layer_matrix(&A, &p.layer, u, NULL);
    if (!st) st = ep_optimum_measure(&o, &p.layer, u, &c, seed);
    for (int i = 0; i < M * M; i++)
      worst = fmax(worst,
                   fabs(a[i] - (along - q[m]) * u[i / M] * u[i % M] - (i / M == i % M ? q[m] : 0)));
    right += o.maximal == (q[m] < (3 - sqrt(5)) / 2);
  }
  ep_population_free(&p);
  EP_TRY(st);
  r->pass = r->pass && worst < 1e-12 && right == M;
  EP_TRY(ep_claim_measure(r, "unequal_q_error", worst));
  return ep_claim_measure(r, "unequal_q_predicted", right);
}

/* Reported, not judged: locally maximal eigenvectors of the summation model at a small q, those that are no u_m */
static ep_status small_q(ep_claim_result *r, const ep_run_config *run) {
  ep_population p;
  ep_optima o;
  double all_off[EP_PATTERNS] = {0};
  const ep_optima_config c = optima_config(300);
  EP_TRY(ep_population_summation_of(&p, 6, 0.1, (uint64_t)run->seed));
  for (int j = 0; j < 6; j++)
    for (int m = 0; m < 6; m++) all_off[j] -= *ep_d(&p.U, j, m) / sqrt(6);
  const ep_status st = ep_optima_find(NULL, &o, &p.layer, &c, run);
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
  double others = 0;
  r->pass = true;
  EP_TRY(ep_population_categorical(&p, 6, NULL, 0, (uint64_t)run->seed));
  ep_status st = exact_model(r, &others, "categorical", &p, 1 / 6. * (5 / 6.), 0, size, run);
  ep_population_free(&p);
  if (!st) st = ep_population_summation_of(&p, 6, 0.2, (uint64_t)run->seed);
  if (st) return st;
  st = exact_model(r, &others, "summation", &p, 0.64, 0.2, size, run);
  ep_population_free(&p);
  if (!st) st = threshold(r, run->seed);
  if (!st) st = unequal(r, (uint64_t)run->seed);
  if (!st) st = small_q(r, run);
  if (st) return st;
  EP_TRY(ep_claim_note(r, "Six patterns, q = 0.2, exact populations: probabilities as weights."));
  if (others == 0) return EP_OK;
  return ep_claim_found(r,
                        "The summation model has %.0f further ends that are no eigenvectors: local "
                        "maxima of the energy at which w is orthogonal to data points, where A(w) "
                        "jumps.",
                        others);
}

/* ---- optima-fig1 */

enum { TILTED = 10, ALL = TILTED * EP_PATTERNS };

/* What power iteration does from every pattern of several U. */
typedef struct {
  int next_to, eigenvectors, cycling; /* settled next to it; of these eigenvectors; not settled */
  double degrees;                     /* largest angle between start and end */
  double iterations;                  /* mean of those that settled */
} convergence;

static ep_status draw_trace(json_t *figure, const char *panel, ptrdiff_t k, const ep_mat *trace) {
  enum { LENGTH = 200 };
  double t[LENGTH];
  char name[32];
  ptrdiff_t n = 0;
  for (int i = 0; i < LENGTH; i++) t[i] = i + 1;
  while (n < LENGTH && n<trace->cols && * ep_d(trace, k, n)> 0) n++;
  snprintf(name, sizeof name, "from u_%td", k + 1);
  return ep_figure_add(
      figure,
      &(ep_series){.name = name, .panel = panel, .count = n, .x = t, .y = ep_d(trace, k, 0)});
}

/* Power iteration from each u_m of one U, shifted or as printed, settled within `near` degrees; curves into the figure, if
 * there is one. */
static ep_status from_patterns(convergence *out, json_t *figure, const ep_population *p,
                               bool printed, double near) {
  const ptrdiff_t m = p->U.cols;
  ep_optima_config c = optima_config(1);
  ep_mat W, trace;
  ep_path paths[EP_PATTERNS];
  double u[EP_PATTERNS];
  if (printed) c.shift = 0, c.iterations = 1000;
  EP_TRY(ep_mat_new(&W, EP_DOUBLE, m, m));
  ep_status st = ep_mat_new(&trace, EP_DOUBLE, m, 200);
  for (ptrdiff_t k = 0; k < m; k++) ep_population_pattern(ep_d(&W, k, 0), p, k);
  if (!st) st = ep_optima_follow(&W, paths, &p->layer, &c, &trace);
  for (ptrdiff_t k = 0; !st && k < m; k++) {
    ep_population_pattern(u, p, k);
    const bool settled = paths[k].end == EP_END_SETTLED;
    const double angle = ep_layer_angle(&p->layer, u, ep_d(&W, k, 0)) * 57.29577951308232;
    if (settled) out->degrees = fmax(out->degrees, angle);
    out->cycling += !settled;
    out->next_to += settled && angle < near;
    out->eigenvectors += settled && angle < near && paths[k].residual < 1e-6;
    if (settled) out->iterations += (double)paths[k].iterations;
    if (figure) st = draw_trace(figure, printed ? "as printed" : "with a shift", k, &trace);
  }
  ep_mat_free(&W);
  ep_mat_free(&trace);
  return st;
}

/* several U of one tilt, from every pattern; the first one's curves are drawn. `what` names the numbers. */
static ep_status tilted(convergence *out, ep_claim_result *r, const char *what, bool categorical,
                        double tilt, bool printed, json_t *figure, uint64_t seed) {
  double q[EP_PATTERNS];
  char name[80];
  *out = (convergence){0};
  for (int k = 0; k < EP_PATTERNS; k++) q[k] = 0.2;
  for (int i = 0; i < TILTED; i++) {
    ep_population p;
    EP_TRY(ep_run_step("patterns", i, TILTED));
    EP_TRY(categorical ? ep_population_categorical(&p, EP_PATTERNS, NULL, tilt, seed + (uint64_t)i)
                       : ep_population_summation(&p, EP_PATTERNS, q, tilt, seed + (uint64_t)i));
    /* an optimum of the categorical model keeps the other patterns on its inactive side */
    const double near = categorical ? asin(tilt) * 57.29577951308232 : 5;
    const ep_status st = from_patterns(out, i ? NULL : figure, &p, printed, near);
    ep_population_free(&p);
    EP_TRY(st);
  }
  if (out->cycling < ALL) out->iterations /= ALL - out->cycling;
  const struct {
    const char *word;
    double value;
  } numbers[] = {{"next_to", out->next_to},
                 {"eigenvectors", out->eigenvectors},
                 {"cycling", out->cycling},
                 {"largest_degrees", out->degrees},
                 {"iterations", out->iterations}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    snprintf(name, sizeof name, "%s_%s_at_%.2f", what, numbers[i].word, tilt);
    EP_TRY(ep_claim_measure(r, name, numbers[i].value));
  }
  return EP_OK;
}

/* eq. 94 as printed and with the shift, from random starts of one tilted U */
static ep_status from_anywhere(double cycling[2], double iterations[2], uint64_t seed) {
  enum { STARTS = 100 };
  ep_population p;
  ep_path paths[STARTS];
  double q[EP_PATTERNS];
  ep_mat W;
  for (int k = 0; k < EP_PATTERNS; k++) q[k] = 0.2;
  EP_TRY(ep_population_summation(&p, 6, q, 0.15, seed));
  ep_status st = ep_mat_new(&W, EP_DOUBLE, STARTS, 6);
  for (int printed = 0; !st && printed < 2; printed++) {
    ep_optima_config c = optima_config(STARTS);
    if (printed) c.shift = 0;
    c.iterations = 2000;
    ep_optima_starts(&W, seed);
    st = ep_optima_follow(&W, paths, &p.layer, &c, NULL);
    double settled = 0;
    cycling[printed] = iterations[printed] = 0;
    for (int k = 0; k < STARTS; k++) {
      cycling[printed] += paths[k].end == EP_END_UNSETTLED;
      if (paths[k].end != EP_END_SETTLED) continue;
      settled++;
      iterations[printed] += (double)paths[k].iterations;
    }
    iterations[printed] /= fmax(1, settled);
  }
  ep_mat_free(&W);
  ep_population_free(&p);
  return st;
}

typedef struct {
  convergence sum, printed, categorical, far; /* summation with the shift, as printed; 0.39 */
  double cycling[2], iterations[2];           /* from anywhere: with the shift, as printed */
} fig1;

static ep_status fig1_words(ep_claim_result *r, const fig1 *f) {
  if (f->sum.eigenvectors < f->sum.next_to)
    EP_TRY(ep_claim_found(r,
                          "%d of %d ends are no eigenvectors: they lie on the hyperplane of a data "
                          "point, where A(w) jumps.",
                          f->sum.next_to - f->sum.eigenvectors, f->sum.next_to));
  if (f->printed.cycling + f->cycling[1] > 0)
    EP_TRY(ep_claim_found(
        r,
        "As printed the iteration goes round for ever from %d of %d patterns and from %.0f of 100 "
        "random starts (with the shift %d and %.0f); where it settles it needs %.0f steps, with "
        "the shift %.0f.",
        f->printed.cycling, (int)ALL, f->cycling[1], f->sum.cycling, f->cycling[0],
        f->printed.iterations, f->sum.iterations));
  const convergence *c = &f->categorical;
  if (c->eigenvectors < c->next_to)
    EP_TRY(ep_claim_found(
        r,
        "%d of %d ends of the tilted categorical model are no eigenvectors, up to %.1f degrees "
        "from "
        "u_m: w comes to rest on the hyperplanes of the other patterns, where A(w) jumps, and "
        "Theorem 3 does not apply.",
        c->next_to - c->eigenvectors, c->next_to, c->degrees));
  if (f->far.next_to == ALL) return EP_OK;
  return ep_claim_found(r, "At |U'U - I| = 0.39 it settles next to %d of %d patterns.",
                        f->far.next_to, (int)ALL);
}

ep_status optima_fig1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const uint64_t seed = (uint64_t)run->seed;
  json_t *figure;
  fig1 f;
  (void)size; /* the population is the paper's own size */
  EP_TRY(ep_claim_measure(r, "patterns", ALL));
  EP_TRY(claim_figure(
      &figure, r, "power-iteration", EP_FIGURE_LINE, "Power iteration near every u_m",
      "How far power iteration still moves at each step, from each of eight nearly "
      "orthogonal patterns, with the shift and as printed.",
      (ep_axis){"iteration", .log = false}, (ep_axis){"|w(t+1) - w(t)|", .log = true}));
  EP_TRY(tilted(&f.sum, r, "summation", false, 0.15, false, figure, seed));
  EP_TRY(tilted(&f.printed, r, "printed", false, 0.15, true, figure, seed));
  EP_TRY(tilted(&f.categorical, r, "categorical", true, 0.15, false, NULL, seed));
  EP_TRY(tilted(&f.far, r, "summation", false, 0.39, false, NULL, seed));
  EP_TRY(from_anywhere(f.cycling, f.iterations, seed));
  EP_TRY(ep_claim_measure_all(r, "unsettled_of_100_shifted_printed", f.cycling, 2));
  EP_TRY(ep_claim_measure_all(r, "iterations_shifted_printed", f.iterations, 2));
  r->pass = f.sum.next_to == ALL && f.categorical.next_to == ALL && f.far.next_to < ALL;
  EP_TRY(ep_claim_note(r,
                       "Ten random U of eight patterns, q = 0.2, exact populations; the "
                       "categorical model with equal probabilities."));
  EP_TRY(ep_claim_note(
      r,
      "What was changed: eq. 94 iterates w <- A(w)w/|.|; here s w is added "
      "before dividing, s the largest |A(w)w| so far, and more of it where steps turn "
      "back on themselves. Fixed points are the same; the figure has both."));
  return fig1_words(r, &f);
}
