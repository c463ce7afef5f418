/* LINEAR Figs. 3, 4 and 6: descent against the equation, spans, depth. */
#include "study/linear_claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- descent beside the equation, Figs. 3 and 6 */

enum { LOOKS = 41, SPACING = 1 }; /* looks at the times 0, 1, .. */

typedef struct {
  claim_curve descent, equation, steps; /* loss over time; eq. 11 with the rate of the descent */
  claim_curve gap;                      /* |q of descent - q of equation|_F */
  double span;                          /* 1 - projection of e_1 at the end, worst */
} beside;

static ep_status beside_new(beside *b, ep_work *work, int runs) {
  b->span = 0;
  EP_TRY(claim_curve_new(&b->descent, work, LOOKS, runs));
  EP_TRY(claim_curve_new(&b->equation, work, LOOKS, runs));
  EP_TRY(claim_curve_new(&b->steps, work, LOOKS, runs));
  return claim_curve_new(&b->gap, work, LOOKS, runs);
}

static ep_status beside_run(beside *b, ep_work *work, int run, const linear_problem *p,
                            const ep_descent_config *config, ep_descent *d) {
  const double *lambda = p->basis.lambda;
  const long each = (long)(SPACING / config->rate + 0.5);
  ep_linear_info info;
  ep_mat q, e, s;
  double projection, sigma[8];
  EP_TRY(ep_work_mat(work, &q, EP_DOUBLE, p->C.rows, config->outputs));
  EP_TRY(ep_work_mat(work, &e, EP_DOUBLE, p->C.rows, config->outputs));
  EP_TRY(ep_work_mat(work, &s, EP_DOUBLE, p->C.rows, config->outputs));
  EP_TRY(linear_coordinates(&e, d, p));
  ep_mat_copy(&s, &e);
  for (ptrdiff_t i = 0; i < LOOKS; i++) {
    b->descent.x[i] = b->equation.x[i] = b->steps.x[i] = b->gap.x[i] = (double)(i * SPACING);
    EP_TRY(linear_coordinates(&q, d, p));
    *claim_at(&b->descent, i, run) = ep_linear_loss(&q, lambda);
    *claim_at(&b->equation, i, run) = ep_linear_loss(&e, lambda);
    *claim_at(&b->steps, i, run) = ep_linear_loss(&s, lambda);
    *claim_at(&b->gap, i, run) = sqrt(ep_mat_distance2(&q, &e));
    if (i == LOOKS - 1) break;
    EP_TRY(ep_descent_step(d, each));
    EP_TRY(ep_linear_flow(&e, &info, lambda, SPACING, 1e-10));
    EP_TRY(ep_linear_steps(&s, lambda, config->rate, each));
  }
  EP_TRY(ep_linear_spectrum(sigma, &projection, 1, &q));
  b->span = fmax(b->span, fmax(fabs(1 - projection), fabs(1 - sigma[0])));
  return EP_OK;
}

static ep_status beside_one(beside *b, int run, const linear_problem *p,
                            const ep_descent_config *config, uint64_t seed) {
  ep_descent *d;
  ep_work work = {0};
  EP_TRY(linear_descent_new(&d, config, p, seed));
  const ep_status st = beside_run(b, &work, run, p, config, d);
  ep_descent_free(d);
  ep_work_free(&work);
  return st;
}

/* largest difference of the last losses, and of q at any time */
static double end_gap(const beside *b) {
  double gap = 0;
  for (int i = 0; i < b->descent.runs; i++)
    gap = fmax(gap,
               fabs(*claim_at(&b->descent, LOOKS - 1, i) - *claim_at(&b->equation, LOOKS - 1, i)));
  return gap;
}
static double path_gap(const beside *b) {
  double gap = 0;
  for (ptrdiff_t i = 0; i < LOOKS; i++) gap = fmax(gap, claim_worst(&b->gap, i));
  return gap;
}

/* how far eq. 11 at the rate of the descent is behind it, at any time */
static double behind(const beside *b) {
  double gap = 0;
  for (ptrdiff_t i = 0; i < LOOKS; i++)
    gap = fmax(gap, fabs(claim_median(&b->steps, i) - claim_median(&b->descent, i)));
  return gap;
}

/* Eq. 10 as it is written: a plain gradient step, then a projection; how far its last loss is from the equation's */
static ep_status equation10(double *end, ep_work *work, json_t *losses, const linear_problem *p,
                            ep_retraction retraction, int z, int runs, long seed) {
  ep_descent_config config = linear_descent(EP_CONSTRAINT_ORTHOGONAL, "linear", 2, 100, z, 0.01);
  char name[32], panel[32];
  beside b;
  config.retraction = retraction;
  EP_TRY(beside_new(&b, work, runs));
  for (int i = 0; i < runs; i++) EP_TRY(beside_one(&b, i, p, &config, (uint64_t)(seed + i)));
  snprintf(name, sizeof name, "eq. 10, %s", ep_retraction_name(retraction));
  snprintf(panel, sizeof panel, "z = %d, h = 100", z);
  *end = end_gap(&b);
  return claim_draw(losses, name, panel, &b.descent, false);
}

/* outputs at the eigenvectors over time, one start: a panel an eigenvector */
static ep_status trajectory(json_t *figure, ep_work *work, const linear_problem *p, ep_descent *d,
                            int start) {
  enum { DRAWN = 3 };
  static const char *const panels[DRAWN] = {"u(v_1)", "u(v_2)", "u(v_3)"};
  claim_curve c[2][DRAWN];
  ep_linear_info info;
  ep_mat q, e;
  char name[32];
  EP_TRY(ep_work_mat(work, &q, EP_DOUBLE, p->C.rows, 1));
  EP_TRY(ep_work_mat(work, &e, EP_DOUBLE, p->C.rows, 1));
  EP_TRY(linear_coordinates(&e, d, p));
  for (int k = 0; k < 2 * DRAWN; k++) EP_TRY(claim_curve_new(&c[k % 2][k / 2], work, LOOKS, 1));
  for (ptrdiff_t i = 0; i < LOOKS; i++) {
    EP_TRY(linear_coordinates(&q, d, p));
    for (int k = 0; k < DRAWN; k++) {
      c[0][k].x[i] = c[1][k].x[i] = (double)(i * SPACING);
      *claim_at(&c[0][k], i, 0) = *ep_d(&q, k, 0);
      *claim_at(&c[1][k], i, 0) = *ep_d(&e, k, 0);
    }
    EP_TRY(ep_descent_step(d, SPACING * 100));
    EP_TRY(ep_linear_flow(&e, &info, p->basis.lambda, SPACING, 1e-10));
  }
  for (int k = 0; k < 2 * DRAWN; k++) {
    snprintf(name, sizeof name, "%s, start %d", k % 2 ? "equation" : "descent", start + 1);
    EP_TRY(claim_draw(figure, name, panels[k / 2], &c[k % 2][k / 2], k % 2));
  }
  return EP_OK;
}

static ep_status trajectories(ep_claim_result *r, ep_work *work, const linear_problem *p,
                              long seed) {
  const ep_descent_config config =
      linear_descent(EP_CONSTRAINT_GRASSMANN, "linear", 2, 100, 1, 0.01);
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, "trajectories", EP_FIGURE_LINE, "Outputs over time, z = 1",
                      "Outputs at three eigenvectors over time from four starts, by descent and "
                      "(dashed) by the equation.",
                      (ep_axis){"time = rate x steps", .log = false},
                      (ep_axis){"output", .log = false}));
  for (int i = 0; i < 4; i++) {
    ep_descent *d;
    EP_TRY(linear_descent_new(&d, &config, p, (uint64_t)(seed + i)));
    const ep_status st = trajectory(figure, work, p, d, i);
    ep_descent_free(d);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status fig3(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                      long seed) {
  static const int width[3] = {10, 100, 1000};
  json_t *losses, *gaps;
  double path[2] = {0, 0}, end[2] = {0, 0}, outputs = 0, late = INFINITY, polar[2], qr[2];
  char name[64];
  EP_TRY(claim_figure(&losses, r, "loss", EP_FIGURE_LINE, "Loss of descent and of the equation",
                      "Loss over time by descent, by the equation, by eq. 11 as printed at the "
                      "same rate and by eq. 10.",
                      (ep_axis){"time = rate x steps", .log = false},
                      (ep_axis){"loss", .log = false}));
  EP_TRY(claim_figure(&gaps, r, "outputs", EP_FIGURE_LINE, "Outputs: descent minus equation",
                      "Difference of the outputs at the eigenvectors over time, a line a width. "
                      "What is below 1e-12 is drawn there: rounding.",
                      (ep_axis){"time = rate x steps", .log = false},
                      (ep_axis){"|q of descent - q of equation|", .log = true}));
  for (int z = 1; z <= 2; z++)
    for (int w = 0; w < 3; w++) {
      const ep_descent_config config =
          linear_descent(EP_CONSTRAINT_GRASSMANN, "linear", 2, width[w], z, 0.01);
      beside b;
      EP_TRY(beside_new(&b, work, runs));
      for (int i = 0; i < runs; i++) EP_TRY(beside_one(&b, i, p, &config, (uint64_t)(seed + i)));
      path[z - 1] = fmax(path[z - 1], path_gap(&b));
      end[z - 1] = fmax(end[z - 1], end_gap(&b));
      late = fmin(late, behind(&b));
      if (z == 1) outputs = fmax(outputs, claim_worst(&b.gap, LOOKS - 1));
      snprintf(name, sizeof name, "z = %d, h = %d", z, width[w]);
      EP_TRY(claim_draw(losses, "descent", name, &b.descent, false));
      EP_TRY(claim_draw(losses, "equation", name, &b.equation, true));
      EP_TRY(claim_draw(losses, "eq. 11, same rate", name, &b.steps, true));
      snprintf(name, sizeof name, "h = %d", width[w]);
      EP_TRY(
          claim_draw_above(gaps, name, z == 1 ? "z = 1" : "z = 2", &b.gap, false, CLAIM_ROUNDING));
    }
  for (int z = 1; z <= 2; z++) {
    EP_TRY(equation10(&polar[z - 1], work, losses, p, EP_RETRACT_POLAR, z, runs, seed));
    EP_TRY(equation10(&qr[z - 1], work, losses, p, EP_RETRACT_QR, z, runs, seed));
  }
  EP_TRY(trajectories(r, work, p, seed));
  EP_TRY(ep_claim_measure_all(r, "eq10_polar_last_loss_for_z_1_and_2", polar, 2));
  EP_TRY(ep_claim_measure_all(r, "eq10_qr_last_loss_for_z_1_and_2", qr, 2));
  EP_TRY(ep_claim_measure(r, "least_lag_of_eq11_at_the_same_rate", late));
  EP_TRY(ep_claim_measure_all(r, "largest_difference_of_q_for_z_1_and_2", path, 2));
  EP_TRY(ep_claim_measure_all(r, "difference_of_last_losses_for_z_1_and_2", end, 2));
  EP_TRY(ep_claim_measure(r, "difference_of_last_outputs_for_z_1", outputs));
  EP_TRY(ep_claim_note(r,
                       "Half moons, rate 0.01, C divided by n, descent along the Grassmannian "
                       "with QR; several outputs are determined up to a rotation only, in which "
                       "the two may differ by the order of the rate."));
  r->pass = end[0] < 1e-6 && end[1] < 1e-6 && outputs < 1e-6 && path[0] < 0.05 && path[1] < 0.05 &&
            polar[0] < 1e-6 && polar[1] < 1e-6 && late > 0.05;
  return EP_OK;
}

ep_status linear_fig3(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, fig3, "triplet", claim_pick(size, 2, 5, 10), run->seed);
}

/* Theorem 3's other case: with all eigenvalues positive q goes to 0. The largest |q| after a long time. */
static ep_status to_zero(double *length, ep_work *work, const linear_problem *p, int runs,
                         long seed) {
  const ptrdiff_t d = p->C.rows;
  double *lambda, least = INFINITY;
  ep_linear_info info;
  ep_mat q;
  EP_TRY(ep_work_mat(work, &q, EP_DOUBLE, d, 1));
  EP_TRY(ep_work_get(work, &lambda, d, sizeof *lambda));
  *length = 0;
  for (ptrdiff_t i = 0; i < d; i++) {
    lambda[i] = fabs(p->basis.lambda[i]);
    least = fmin(least, lambda[i]);
  }
  for (int i = 0; i < runs; i++) {
    EP_TRY(ep_linear_start(&q, 2 * d, (uint64_t)(seed + i)));
    EP_TRY(ep_linear_flow(&q, &info, lambda, 10 / least, 1e-10));
    *length = fmax(*length, sqrt(ep_mat_norm2(&q)));
  }
  return EP_OK;
}

static ep_status fig6(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                      long seed) {
  json_t *figure;
  double path = 0, span = 0, late = INFINITY, end[3], zero;
  EP_TRY(claim_figure(&figure, r, "loss", EP_FIGURE_LINE, "One, two and three hidden layers",
                      "Loss over time at each depth by descent and by the equation; eq. 11 as "
                      "printed is the control.",
                      (ep_axis){"time = rate x steps", .log = false},
                      (ep_axis){"loss", .log = false}));
  for (int hidden = 1; hidden <= 3; hidden++) {
    const ep_descent_config config =
        linear_descent(EP_CONSTRAINT_GRASSMANN, "linear", hidden + 1, 20, 1, 0.01);
    char panel[64];
    beside b;
    EP_TRY(beside_new(&b, work, runs));
    for (int i = 0; i < runs; i++) EP_TRY(beside_one(&b, i, p, &config, (uint64_t)(seed + i)));
    path = fmax(path, path_gap(&b));
    span = fmax(span, b.span);
    late = fmin(late, behind(&b));
    end[hidden - 1] = claim_median(&b.descent, LOOKS - 1);
    snprintf(panel, sizeof panel, "%d hidden", hidden);
    EP_TRY(claim_draw(figure, "descent", panel, &b.descent, false));
    EP_TRY(claim_draw(figure, "equation", panel, &b.equation, true));
    EP_TRY(claim_draw(figure, "control: eq. 11 as printed", panel, &b.steps, true));
  }
  EP_TRY(ep_figure_rule(figure, 'y', p->basis.lambda[0], "most negative eigenvalue"));
  EP_TRY(ep_claim_measure_all(r, "last_loss_for_1_2_3_hidden_layers", end, 3));
  EP_TRY(ep_claim_measure(r, "most_negative_eigenvalue", p->basis.lambda[0]));
  EP_TRY(ep_claim_measure(r, "distance_from_the_eigenvector", span));
  EP_TRY(ep_claim_measure(r, "largest_difference_from_the_equation", path));
  EP_TRY(to_zero(&zero, work, p, runs, seed));
  EP_TRY(ep_claim_measure(r, "length_of_q_with_positive_eigenvalues", zero));
  EP_TRY(ep_claim_measure(r, "control_least_lag_of_eq11", late));
  r->pass = span < 1e-6 && path < 0.05 && zero < 1e-6 && late > 0.05;
  return ep_claim_note(r,
                       "Half moons, rate 0.01, 20 units a layer, one output, C divided by n, every "
                       "layer along the Grassmannian.");
}

ep_status linear_fig6(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, fig6, "triplet", claim_pick(size, 3, 10, 20), run->seed);
}

/* ---- Fig. 4, Conjecture 2 */

enum { TIMES = 25 };

/* projections of e_1 .. e_3 on the span of q over time, and how far the first z and the singular values are from 1;
 * c NULL: that alone */
static ep_status spans(claim_curve c[3], double *off, int run, const double *lambda, ptrdiff_t d,
                       int z, double t, uint64_t seed) {
  ep_mat q;
  ep_linear_info info;
  double sigma[3], projection[3], before = 0;
  EP_TRY(ep_mat_new(&q, EP_DOUBLE, d, z));
  ep_status st = ep_linear_start(&q, 2 * d, seed);
  for (ptrdiff_t i = 0; !st && i < TIMES; i++) {
    const double now = t * pow(10, -5. * (double)(TIMES - 1 - i) / (TIMES - 1));
    st = ep_linear_flow(&q, &info, lambda, now - before, 1e-10);
    if (!st) st = ep_linear_spectrum(sigma, projection, 3, &q);
    for (int k = 0; c && !st && k < 3; k++) {
      c[k].x[i] = now;
      *claim_at(&c[k], i, run) = projection[k];
    }
    before = now;
  }
  for (int k = 0; !st && k < z; k++)
    *off = fmax(*off, fmax(fabs(1 - projection[k]), fabs(1 - sigma[k])));
  ep_mat_free(&q);
  return st;
}

/* The control: a spectrum with one negative eigenvalue, the others turned round: two and three outputs cannot span the
 * first eigenvectors. The least distance. */
static ep_status one_negative(double *off, ep_work *work, const linear_problem *p, int runs,
                              long seed) {
  const ptrdiff_t d = p->C.rows;
  double *lambda;
  EP_TRY(ep_work_get(work, &lambda, d, sizeof *lambda));
  for (ptrdiff_t i = 0; i < d; i++) lambda[i] = i ? fabs(p->basis.lambda[i]) : p->basis.lambda[i];
  *off = INFINITY;
  for (int z = 2; z <= 3; z++)
    for (int i = 0; i < runs; i++) {
      double one = 0;
      EP_TRY(spans(NULL, &one, i, lambda, d, z, -20 / lambda[0], (uint64_t)(seed + i)));
      *off = fmin(*off, one);
    }
  return EP_OK;
}

static ep_status fig4_set(ep_claim_result *r, ep_work *work, const char *data, const char *name,
                          int runs, long seed) {
  linear_problem p;
  claim_curve c[3];
  json_t *figure;
  double off[3] = {0, 0, 0}, control = 0;
  char panel[32], other[64];
  EP_TRY(linear_problem_load(&p, data, "triplet", seed));
  ep_status st = claim_figure(&figure, r, name, EP_FIGURE_LINE,
                              "Projections of the most negative eigenvectors on the span of q",
                              "Lengths of the projections over time, for one to three outputs z.",
                              (ep_axis){"time", .log = true},
                              (ep_axis){"length of the projection", .log = false});
  for (int z = 1; !st && z <= 3; z++) {
    const double *l = p.basis.lambda;
    const double gap = z < p.C.rows ? fmin(-l[z - 1], l[z] - l[z - 1]) : -l[z - 1];
    for (int k = 0; !st && k < 3; k++) st = claim_curve_new(&c[k], work, TIMES, runs);
    for (int i = 0; !st && i < runs; i++)
      st = spans(c, &off[z - 1], i, l, p.C.rows, z, 20 / gap, (uint64_t)(seed + i));
    snprintf(panel, sizeof panel, "z = %d", z);
    if (!st) st = claim_draw(figure, "v_1", panel, &c[0], false);
    if (!st) st = claim_draw(figure, "v_2", panel, &c[1], false);
    if (!st) st = claim_draw(figure, "v_3", panel, &c[2], false);
  }
  if (!st) st = ep_claim_measure(r, name, fmax(off[0], fmax(off[1], off[2])));
  if (!st) st = one_negative(&control, work, &p, runs, seed);
  snprintf(other, sizeof other, "control_%s", name);
  if (!st) st = ep_claim_measure(r, other, control);
  for (int z = 0; z < 3; z++) r->pass = r->pass && off[z] < 1e-6;
  r->pass = r->pass && control > 0.1;
  linear_problem_free(&p);
  return st;
}

ep_status linear_fig4(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int runs = claim_pick(size, 3, 10, 20);
  ep_work work = {0};
  r->pass = true;
  ep_status st = fig4_set(r, &work, linear_moons, "distance_on_half_moons", runs, run->seed);
  if (!st) st = fig4_set(r, &work, "clusters:5,300,20", "distance_on_clusters", runs, run->seed);
  if (!st)
    st = ep_claim_note(r,
                       "Half moons live in R^3, where three outputs span everything; clusters in "
                       "R^20 do not have that. Distances are of projections and of singular "
                       "values from 1, largest over z = 1, 2, 3 and the starts.");
  ep_work_free(&work);
  return st;
}
