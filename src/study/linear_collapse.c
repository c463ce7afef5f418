/* LINEAR sections 2 and 3: collapse without orthonormal weights, none with them (Fig. 1, Props. 1 to 3, section 5). */
#include "study/linear_claims.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Fig. 1 */

enum { KINDS = 4, CONTROL = 3 };
static const struct {
  ep_constraint constraint;
  const char *title;
  int stride; /* steps between two looks; there are 51 */
  double rate, decay;
} kinds[KINDS] = {
    {EP_CONSTRAINT_NONE, "no constraint", 2, 0.02, 1}, /* short steps: it is soon over */
    {EP_CONSTRAINT_GRASSMANN, "orthonormal weights", 10, 0.1, 1},
    {EP_CONSTRAINT_SCALED, "scaled loss", 10, 0.1, 0.99}, /* its kinks want a falling rate */
    {EP_CONSTRAINT_FROBENIUS, "control: |W_i|_F = 1", 10, 0.1, 1},
};

typedef struct {
  linear_problem p;
  claim_curve loss[KINDS], ratio[KINDS]; /* minus the loss, and second over first singular value */
  json_t *losses, *ratios, *scatter;
} fig1;

static ep_status scatter(const fig1 *f, const char *panel, const ep_descent *d) {
  const ptrdiff_t n = f->p.points.pairs.anchors;
  const ep_mat X = ep_mat_rows(&f->p.points.X, 0, n);
  ep_work work = {0};
  ep_mat E;
  double *x = NULL;
  ep_status st = ep_work_mat(&work, &E, EP_DOUBLE, n, 2);
  if (!st) st = ep_work_get(&work, &x, 2 * n, sizeof *x);
  if (!st) st = ep_descent_embed(&E, d, &X);
  for (ptrdiff_t i = 0; !st && i < 2 * n; i++) x[i] = *ep_d(&E, i % n, i / n);
  if (!st) {
    const ep_series s = {
        .name = panel, .panel = panel, .count = n, .x = x, .y = x + n, .label = f->p.labels};
    st = ep_figure_add(f->scatter, &s);
  }
  ep_work_free(&work);
  return st;
}

static ep_status fig1_descend(fig1 *f, int kind, int run, ep_descent *d) {
  if (run == 0 && kind == 0) EP_TRY(scatter(f, "start", d));
  for (ptrdiff_t i = 0; i < f->loss[kind].count; i++) {
    double loss;
    f->loss[kind].x[i] = f->ratio[kind].x[i] = (double)(i * kinds[kind].stride);
    EP_TRY(ep_descent_loss(&loss, d));
    *claim_at(&f->loss[kind], i, run) = -loss;
    EP_TRY(linear_collapse(claim_at(&f->ratio[kind], i, run), d, &f->p));
    if (i < f->loss[kind].count - 1) EP_TRY(ep_descent_step(d, kinds[kind].stride));
  }
  return run == 0 ? scatter(f, kinds[kind].title, d) : EP_OK;
}

static ep_status fig1_judge(ep_claim_result *r, const fig1 *f) {
  const ptrdiff_t first = f->loss[0].count - 1, last = f->loss[1].count - 1;
  double least = INFINITY, median = INFINITY, drift = 0;
  for (int k = 1; k < CONTROL; k++) {
    least = fmin(least, claim_least(&f->ratio[k], last));
    median = fmin(median, claim_median(&f->ratio[k], last));
    for (int i = 0; i < f->loss[k].runs; i++)
      drift = fmax(
          drift, fabs(*claim_at(&f->loss[k], last, i) / *claim_at(&f->loss[k], last - 10, i) - 1));
  }
  const double collapsed = claim_worst(&f->ratio[0], first);
  const double growth = claim_least(&f->loss[0], first) / claim_median(&f->loss[1], last);
  const double control = claim_worst(&f->ratio[CONTROL], last);
  EP_TRY(ep_claim_measure(r, "unconstrained_second_over_first", collapsed));
  EP_TRY(ep_claim_measure(r, "unconstrained_loss_over_orthogonal", growth));
  EP_TRY(ep_claim_measure(r, "orthogonal_second_over_first", least));
  EP_TRY(ep_claim_measure(r, "orthogonal_median_second_over_first", median));
  EP_TRY(ep_claim_measure(r, "orthogonal_change_in_last_100_steps", drift));
  EP_TRY(ep_claim_measure(r, "control_second_over_first", control));
  if (least <= 0.2 && median > 0.2 && collapsed < 0.05)
    EP_TRY(ep_claim_found(r,
                          "Under a constraint the flattest of %d starts ends at %.2f, where their "
                          "median is %.2f: a tail over the starts, not a collapse.",
                          f->loss[1].runs, least, median));
  r->pass = collapsed < 0.05 && growth > 100 && least > 0.2 && drift < 0.01 && control < 0.2;
  return EP_OK;
}

/* of a hundred starts the slowest settles after 500 steps: they have twice as many */
static ep_status fig1_run(ep_claim_result *r, ep_work *work, fig1 *f, int runs, long seed) {
  const ep_axis step = {"steps", .log = false};
  EP_TRY(linear_problem_load(&f->p, linear_moons, "triplet", seed));
  EP_TRY(claim_figure(&f->losses, r, "loss", EP_FIGURE_LINE, "Minus the loss",
                      "Minus the loss over the steps, without a constraint, with orthonormal "
                      "weights, with the scaled loss and, the control, with bounded norms.",
                      step, (ep_axis){"minus the loss", .log = true}));
  EP_TRY(claim_figure(&f->ratios, r, "collapse", EP_FIGURE_LINE, "How flat the representation is",
                      "Second over first singular value of the outputs over the steps, a line a "
                      "constraint. What is below 1e-12 is drawn there: rounding.",
                      step, (ep_axis){"second over first singular value", .log = true}));
  EP_TRY(
      claim_figure(&f->scatter, r, "embedding", EP_FIGURE_SCATTER, "Half moons in two dimensions",
                   "The outputs of one start, before training and after it under each constraint.",
                   (ep_axis){"u_1", .log = false}, (ep_axis){"u_2", .log = false}));
  for (int k = 0; k < KINDS; k++) {
    ep_descent_config config = linear_descent(kinds[k].constraint, "tanh", 2, 20, 2, kinds[k].rate);
    config.decay = kinds[k].decay;
    const ptrdiff_t looks = k > 0 && runs >= 100 ? 101 : 51;
    EP_TRY(claim_curve_new(&f->loss[k], work, looks, runs));
    EP_TRY(claim_curve_new(&f->ratio[k], work, looks, runs));
    for (int i = 0; i < runs; i++) {
      ep_descent *d;
      EP_TRY(linear_descent_new(&d, &config, &f->p, (uint64_t)(seed + i)));
      const ep_status st = fig1_descend(f, k, i, d);
      ep_descent_free(d);
      EP_TRY(st);
    }
    EP_TRY(claim_draw(f->losses, kinds[k].title, NULL, &f->loss[k], false));
    EP_TRY(claim_draw_above(f->ratios, kinds[k].title, NULL, &f->ratio[k], false, CLAIM_ROUNDING));
  }
  EP_TRY(ep_claim_note(r,
                       "Half moons of 200 points in R^3, tanh, 20 hidden units, positives x + "
                       "0.1 N(0, I); C is divided by n: with the paper's sum its rate diverges."));
  EP_TRY(ep_claim_note(r,
                       "Rates 0.02 without a constraint, 0.1 with one; the scaled loss has kinks "
                       "and its rate falls by 1 % a step."));
  return fig1_judge(r, f);
}

ep_status linear_fig1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  fig1 f = {0};
  ep_work work = {0};
  const ep_status st = fig1_run(r, &work, &f, claim_pick(size, 3, 20, 100), run->seed);
  linear_problem_free(&f.p);
  ep_work_free(&work);
  return st;
}

/* ---- Prop. 1: B(t) = exp(-2Ct) B(0), sigma_2/sigma_1 ~ exp(-2 (lambda_2 - lambda_1) t) */

/* ratio of the singular values of q(0) exp(-2 Lam t), at `count` times up to t */
static ep_status collapse_curve(claim_curve *c, int run, const linear_problem *p, double t,
                                uint64_t seed) {
  ep_work work = {0};
  ep_mat start, q;
  double sigma[2], scale;
  ep_status st = ep_work_mat(&work, &start, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = ep_work_mat(&work, &q, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = ep_linear_start(&start, 2 * p->C.rows, seed);
  for (ptrdiff_t i = 0; !st && i < c->count; i++) {
    c->x[i] = t * (double)i / (double)(c->count - 1);
    ep_mat_copy(&q, &start);
    ep_linear_unconstrained(&q, &scale, p->basis.lambda, c->x[i]);
    st = ep_linear_spectrum(sigma, NULL, 0, &q);
    *claim_at(c, i, run) = sigma[1] / sigma[0];
  }
  ep_work_free(&work);
  return st;
}

/* the control: the same starts by eq. 8, orthonormal weights, until t; the ratio at the end */
static ep_status kept_ratio(double *ratio, const linear_problem *p, double t, uint64_t seed) {
  ep_linear_info info;
  double sigma[2] = {0};
  ep_mat q;
  EP_TRY(ep_mat_new(&q, EP_DOUBLE, p->C.rows, 2));
  ep_status st = ep_linear_start(&q, 2 * p->C.rows, seed);
  if (!st) st = ep_linear_flow(&q, &info, p->basis.lambda, t, 1e-10);
  if (!st) st = ep_linear_spectrum(sigma, NULL, 0, &q);
  *ratio = sigma[1] / sigma[0];
  ep_mat_free(&q);
  return st;
}

/* |B - exp(-2Ct) B(0)| / |exp(-2Ct) B(0)| of descent on a linear model, t = 3, for a rate and for half of it */
static ep_status flow_gap(double *gap, const linear_problem *p, double rate, uint64_t seed) {
  const ep_descent_config config = linear_descent(EP_CONSTRAINT_NONE, "linear", 1, 0, 2, rate);
  const double t = 3;
  ep_work work = {0};
  ep_descent *d = NULL;
  ep_mat q, end;
  double scale = 0;
  ep_status st = ep_work_mat(&work, &q, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = ep_work_mat(&work, &end, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = linear_descent_new(&d, &config, p, seed);
  if (!st) st = linear_coordinates(&q, d, p);
  if (!st) st = ep_descent_step(d, (long)(t / rate + 0.5));
  if (!st) st = linear_coordinates(&end, d, p);
  if (!st) {
    ep_linear_unconstrained(&q, &scale, p->basis.lambda, t);
    ep_mat_axpy(&end, exp(-scale) - 1, &end);
    *gap = sqrt(ep_mat_distance2(&q, &end) / ep_mat_norm2(&q));
  }
  ep_descent_free(d);
  ep_work_free(&work);
  return st;
}

/* the rate of collapse over the second half of the times */
static double late_rate(const claim_curve *c) {
  const ptrdiff_t a = c->count / 2, b = c->count - 1;
  return (log(claim_median(c, b)) - log(claim_median(c, a))) / (c->x[b] - c->x[a]);
}

static ep_status prop1(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                       long seed) {
  json_t *figure;
  claim_curve c;
  double gap[2], kept = INFINITY, one;
  const double expected = -2 * (p->basis.lambda[1] - p->basis.lambda[0]), t = -20 / expected;
  EP_TRY(claim_curve_new(&c, work, 41, runs));
  for (int i = 0; i < runs; i++) {
    EP_TRY(collapse_curve(&c, i, p, t, (uint64_t)(seed + i)));
    EP_TRY(kept_ratio(&one, p, t, (uint64_t)(seed + i)));
    kept = fmin(kept, one);
  }
  for (int k = 0; k < 2; k++) EP_TRY(flow_gap(&gap[k], p, 2e-3 / (1 + k), (uint64_t)seed));
  EP_TRY(claim_figure(
      &figure, r, "collapse", EP_FIGURE_LINE, "Dimension collapse of a linear model",
      "Second over first singular value of the representation over time.",
      (ep_axis){"time", .log = false}, (ep_axis){"second over first singular value", .log = true}));
  EP_TRY(claim_draw(figure, "exp(-2Ct) B(0)", NULL, &c, false));
  EP_TRY(ep_claim_measure(r, "second_over_first_at_end", claim_worst(&c, 40)));
  EP_TRY(ep_claim_measure(r, "rate_of_collapse", late_rate(&c)));
  EP_TRY(ep_claim_measure(r, "rate_expected", expected));
  EP_TRY(ep_claim_measure_all(r, "descent_minus_closed_form", gap, 2));
  EP_TRY(ep_claim_measure(r, "control_second_over_first_at_end", kept));
  r->pass = claim_worst(&c, 40) < 1e-6 && fabs(late_rate(&c) / expected - 1) < 0.01 &&
            gap[0] < 0.05 && fabs(gap[0] / gap[1] - 2) < 0.1 && kept > 0.1;
  return ep_claim_note(r,
                       "Half moons, C divided by n, two outputs; descent on one layer at rates "
                       "0.002 and 0.001 until time 3.");
}

ep_status linear_prop1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, prop1, "triplet", claim_pick(size, 5, 20, 100), run->seed);
}

/* ---- Prop. 2: |W_i|_F <= c: L = c^4 lambda_1, rank 1 */

static ep_status bounded(const claim_curve *ratio, double *worst, int run, ep_constraint constraint,
                         const linear_problem *p, uint64_t seed) {
  const ep_descent_config config = linear_descent(constraint, "linear", 2, 20, 2, 0.1);
  ep_descent *d;
  double loss = NAN;
  EP_TRY(linear_descent_new(&d, &config, p, seed));
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; !st && i < ratio->count; i++) {
    ratio->x[i] = (double)i * 20;
    st = linear_collapse(claim_at(ratio, i, run), d, p);
    if (!st && i < ratio->count - 1) st = ep_descent_step(d, 20);
  }
  if (!st) st = ep_descent_loss(&loss, d);
  *worst = fmax(*worst, fabs(loss - p->basis.lambda[0]));
  ep_descent_free(d);
  return st;
}

static ep_status prop2(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                       long seed) {
  json_t *figure;
  claim_curve c, control;
  double worst = 0, other = 0;
  EP_TRY(claim_curve_new(&c, work, 51, runs));
  EP_TRY(claim_curve_new(&control, work, 51, runs));
  for (int i = 0; i < runs; i++) {
    EP_TRY(bounded(&c, &worst, i, EP_CONSTRAINT_FROBENIUS, p, (uint64_t)(seed + i)));
    EP_TRY(bounded(&control, &other, i, EP_CONSTRAINT_GRASSMANN, p, (uint64_t)(seed + i)));
  }
  EP_TRY(claim_figure(&figure, r, "collapse", EP_FIGURE_LINE, "Collapse under Frobenius norms",
                      "Second over first singular value of the representation over the steps, "
                      "under |W_i|_F <= 1 and, the control, with orthonormal weights. What is "
                      "below 1e-12 is drawn there: rounding.",
                      (ep_axis){"steps", .log = false},
                      (ep_axis){"second over first singular value", .log = true}));
  EP_TRY(claim_draw_above(figure, "|W_i|_F <= 1", NULL, &c, false, CLAIM_ROUNDING));
  EP_TRY(claim_draw(figure, "control: W_i'W_i = I", NULL, &control, true));
  EP_TRY(ep_claim_measure(r, "second_over_first_at_end", claim_worst(&c, 50)));
  EP_TRY(ep_claim_measure(r, "loss_minus_lambda_1", worst));
  EP_TRY(ep_claim_measure(r, "control_second_over_first_at_end", claim_least(&control, 50)));
  r->pass = claim_worst(&c, 50) < 1e-3 && worst < 1e-6 && claim_least(&control, 50) > 0.1;
  return ep_claim_note(
      r,
      "Half moons, C divided by n, 20 hidden units, two outputs, rate 0.1, weights "
      "scaled back to |W_i|_F = 1 after each step.");
}

ep_status linear_prop2(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, prop2, "triplet", claim_pick(size, 5, 20, 100), run->seed);
}

/* ---- Prop. 3: four problems, one optimum */

enum { PROBLEMS = 5, LOOKS = 61 };
static const struct {
  const char *title;
  ep_constraint constraint;
  const char *name;
  double rate, decay; /* rate times max |lambda| */
} problems[PROBLEMS] = {
    {"1: L/(|W1|^2 |W2|^2)", EP_CONSTRAINT_SCALED, "problem_1_gap", 0.5, 0.999},
    {"2: |W_i|_2 <= 1", EP_CONSTRAINT_SPECTRAL, "problem_2_gap", 0.1, 1},
    {"3: |W2'W1|_2 <= 1", EP_CONSTRAINT_PRODUCT, "problem_3_gap", 0.1, 1},
    {"4: W_i'W_i = I", EP_CONSTRAINT_GRASSMANN, "problem_4_gap", 0.1, 1},
    {"4, plain gradient and QR", EP_CONSTRAINT_ORTHOGONAL, "plain_qr_gap", 0.1, 1},
};

static ep_status solve(const claim_curve *gap, int run, int k, const linear_problem *p, int z,
                       uint64_t seed) {
  const double top = -p->basis.lambda[0], best = ep_linear_optimum(p->basis.lambda, p->C.rows, z);
  ep_descent_config config =
      linear_descent(problems[k].constraint, "linear", 2, 3 * p->C.rows, z, problems[k].rate / top);
  ep_descent *d;
  double loss;
  config.decay = problems[k].decay;
  EP_TRY(linear_descent_new(&d, &config, p, seed));
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; !st && i < LOOKS; i++) {
    gap->x[i] = (double)i * 300;
    st = ep_descent_loss(&loss, d);
    *claim_at(gap, i, run) = fabs(loss - best) / -best;
    if (!st && i < LOOKS - 1) st = ep_descent_step(d, 300);
  }
  ep_descent_free(d);
  return st;
}

/* C = R diag(lambda) R' of a given spectrum, R a uniform rotation, or none: axis-aligned */
static ep_status turned(linear_problem *p, bool rotated, uint64_t seed) {
  enum { D = 6 };
  static const double lambda[D] = {-1, -0.6, -0.3, 0.1, 0.2, 0.4};
  ep_mat R;
  *p = (linear_problem){0};
  EP_TRY(ep_mat_new(&R, EP_DOUBLE, D, D));
  for (int i = 0; i < D; i++) *ep_d(&R, i, i) = 1;
  if (rotated) ep_random_fill_normal(&R, seed, EP_STREAM_DATA, 5);
  ep_status st = ep_retract(&R, EP_RETRACT_QR);
  if (!st) st = ep_mat_new(&p->C, EP_DOUBLE, D, D);
  for (int i = 0; !st && i < D * D; i++)
    for (int k = 0; k < D; k++)
      *ep_d(&p->C, i / D, i % D) += lambda[k] * *ep_d(&R, i / D, k) * *ep_d(&R, i % D, k);
  if (!st) st = ep_linear_new(&p->basis, &p->C);
  ep_mat_free(&R);
  if (st) linear_problem_free(p);
  return st;
}

/* problem 4 along the Grassmannian (3) and by plain gradient and QR (4) on such a C: the largest last gap of the runs */
static ep_status axes(double *worst, ep_work *work, json_t *figure, int k, bool rotated, int runs,
                      long seed) {
  claim_curve c;
  EP_TRY(claim_curve_new(&c, work, LOOKS, runs));
  for (int i = 0; i < runs; i++) {
    linear_problem p;
    EP_TRY(turned(&p, rotated, (uint64_t)(seed + i)));
    const ep_status st = solve(&c, i, k, &p, 2, (uint64_t)(seed + i));
    linear_problem_free(&p);
    EP_TRY(st);
  }
  *worst = claim_worst(&c, LOOKS - 1);
  return claim_draw_above(figure, problems[k].title, rotated ? "C rotated" : "C axis-aligned", &c,
                          k == 4, CLAIM_ROUNDING);
}

static ep_status prop3(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                       long seed) {
  json_t *figure, *turns;
  claim_curve c;
  double gap[2][2], along = NAN; /* of 4 and of plain QR; axis-aligned and rotated; of 4 here */
  EP_TRY(claim_figure(
      &figure, r, "optimum", EP_FIGURE_LINE, "Four problems and their optimum",
      "Distance of the loss from the sum of the two most negative eigenvalues over the steps; "
      "dashed: plain gradient with QR. What is below 1e-12 is drawn there: rounding.",
      (ep_axis){"steps", .log = false},
      (ep_axis){"relative distance from the optimum", .log = true}));
  r->pass = true;
  for (int k = 0; k < PROBLEMS; k++) {
    EP_TRY(claim_curve_new(&c, work, LOOKS, runs));
    for (int i = 0; i < runs; i++) EP_TRY(solve(&c, i, k, p, 2, (uint64_t)(seed + i)));
    EP_TRY(
        claim_draw_above(figure, problems[k].title, NULL, &c, k == PROBLEMS - 1, CLAIM_ROUNDING));
    EP_TRY(ep_claim_measure(r, problems[k].name, claim_worst(&c, LOOKS - 1)));
    r->pass = r->pass && (k == PROBLEMS - 1 || claim_worst(&c, LOOKS - 1) < 1e-6);
    if (problems[k].constraint == EP_CONSTRAINT_GRASSMANN) along = claim_worst(&c, LOOKS - 1);
  }
  EP_TRY(claim_figure(&turns, r, "axes", EP_FIGURE_LINE, "The same spectrum, turned",
                      "Distance from the optimum of a diagonal C and of a rotated one of the same "
                      "spectrum, along the Grassmannian and (dashed) by plain gradient with QR. "
                      "What is below 1e-12 is drawn there: rounding.",
                      (ep_axis){"steps", .log = false},
                      (ep_axis){"relative distance from the optimum", .log = true}));
  for (int k = 0; k < 4; k++)
    EP_TRY(axes(&gap[k / 2][k % 2], work, turns, 3 + k / 2, k % 2, runs, seed));
  EP_TRY(ep_claim_measure_all(r, "problem_4_gap_axis_aligned_and_rotated", gap[0], 2));
  EP_TRY(ep_claim_measure_all(r, "plain_qr_gap_axis_aligned_and_rotated", gap[1], 2));
  r->pass = r->pass && gap[0][0] < 1e-6 && gap[0][1] < 1e-6 && gap[1][1] > 1e-3;
  if (gap[1][1] > 1e-3 && gap[1][0] < 1e-6)
    EP_TRY(
        ep_claim_found(r,
                       "Plain gradient and QR depends on the axes: for eigenvalues -1, -0.6, -0.3, "
                       "0.1, 0.2, 0.4 it stops %.1e (relative) short of the optimum of a rotated "
                       "C, and less than 1e-6 of that of a diagonal one.",
                       gap[1][1]));
  EP_TRY(ep_claim_note(r,
                       "The scaled loss has kinks where singular values meet, so its rate falls "
                       "by 0.1 % a step."));
  if (claim_worst(&c, LOOKS - 1) < 1e-6) return EP_OK; /* of the last one, plain gradient and QR */
  return ep_claim_found(
      r,
      "A plain gradient step projected back by QR, one way to read the paper's "
      "equation 10, stops %.1e short of the optimum, along the Grassmannian %.1e.",
      claim_worst(&c, LOOKS - 1), along);
}

ep_status linear_prop3(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, prop3, "triplet", claim_pick(size, 2, 5, 10), run->seed);
}

/* ---- section 5: positives only */

/* how far the spans of the equation are from those of the first eigenvectors at a late time, z = 1 .. 3 */
static ep_status late(double *off, const linear_problem *p, const double *lambda, uint64_t seed) {
  *off = 0;
  for (ptrdiff_t z = 1; z <= 3; z++) {
    ep_mat q;
    ep_linear_info info;
    double sigma[3], projection[3];
    const double t = 40 / fabs(lambda[z - 1]);
    EP_TRY(ep_mat_new(&q, EP_DOUBLE, p->C.rows, z));
    ep_status st = ep_linear_start(&q, 2 * p->C.rows, seed);
    if (!st) st = ep_linear_flow(&q, &info, lambda, t, 1e-10);
    if (!st) st = ep_linear_spectrum(sigma, projection, z, &q);
    for (ptrdiff_t i = 0; !st && i < z; i++)
      *off = fmax(*off, fmax(fabs(sigma[i] - 1), fabs(projection[i] - 1)));
    ep_mat_free(&q);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status noncontrastive(ep_claim_result *r, ep_work *work, const linear_problem *p,
                                int runs, long seed) {
  json_t *figure;
  claim_curve free_one, orthogonal;
  double off = 0, printed = INFINITY, one, *plus;
  const double gap = p->basis.lambda[1] - p->basis.lambda[0];
  EP_TRY(ep_work_get(work, &plus, p->C.rows, sizeof *plus));
  for (ptrdiff_t i = 0; i < p->C.rows; i++) plus[i] = -p->basis.lambda[i];
  EP_TRY(claim_curve_new(&free_one, work, 41, runs));
  EP_TRY(claim_curve_new(&orthogonal, work, LOOKS, runs));
  for (int i = 0; i < runs; i++) {
    EP_TRY(collapse_curve(&free_one, i, p, 10 / gap, (uint64_t)(seed + i)));
    EP_TRY(solve(&orthogonal, i, 3, p, 2, (uint64_t)(seed + i)));
    EP_TRY(late(&one, p, p->basis.lambda, (uint64_t)(seed + i)));
    off = fmax(off, one);
    EP_TRY(late(&one, p, plus, (uint64_t)(seed + i)));
    printed = fmin(printed, one);
  }
  EP_TRY(claim_figure(&figure, r, "collapse", EP_FIGURE_LINE, "Positives only, no constraint",
                      "Second over first singular value of the representation over time.",
                      (ep_axis){"time", .log = false},
                      (ep_axis){"second over first singular value", .log = true}));
  EP_TRY(claim_draw(figure, "exp(-2Ct) B(0)", NULL, &free_one, false));
  EP_TRY(claim_figure(&figure, r, "optimum", EP_FIGURE_LINE, "Positives only, orthonormal weights",
                      "Distance of the loss from the sum of the two most negative eigenvalues over "
                      "the steps. What is below 1e-12 is drawn there: rounding.",
                      (ep_axis){"steps", .log = false},
                      (ep_axis){"relative distance from the optimum", .log = true}));
  EP_TRY(claim_draw_above(figure, "W_i'W_i = I", NULL, &orthogonal, false, CLAIM_ROUNDING));
  EP_TRY(ep_claim_measure(r, "negative_eigenvalues", (double)ep_linear_negatives(&p->basis)));
  EP_TRY(ep_claim_measure(r, "second_over_first_at_end", claim_worst(&free_one, 40)));
  EP_TRY(ep_claim_measure(r, "orthogonal_gap", claim_worst(&orthogonal, LOOKS - 1)));
  EP_TRY(ep_claim_measure(r, "equation_distance_from_span", off));
  EP_TRY(ep_claim_measure(r, "control_distance_with_C_as_printed", printed));
  r->pass = claim_worst(&free_one, 40) < 1e-6 && claim_worst(&orthogonal, LOOKS - 1) < 1e-6 &&
            off < 1e-6 && printed > 0.5;
  return ep_claim_note(r,
                       "Half moons; C from anchors and positives alone, divided by n; the equation "
                       "for one to three outputs, descent for two.");
}

ep_status linear_noncontrastive(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, noncontrastive, "positives", claim_pick(size, 3, 10, 20), run->seed);
}
