/* WIDE where everything is known exactly: Prop. 10, Prop. 18. */
#include "study/wide.h"

#include <math.h>
#include <string.h>

/* ---- Prop. 10: one dimension, one output, linear, dot: everything in closed form */

typedef struct {
  double C, alpha, beta, blow_up;
} closed_form;

/* P = mean(v^2 + w^2), S = mean(vw), alpha = P(0)^2/4 - S(0)^2,
 * beta = (P(0) - 2 sqrt(alpha)) / (P(0) + 2 sqrt(alpha)), t* = log(1/beta) / (8 C sqrt(alpha)) */
static closed_form closed_form_of(double *P0, const ep_net *start, double C) {
  double P = 0, S = 0;
  const ptrdiff_t M = start->W.rows;
  for (ptrdiff_t m = 0; m < M; m++) {
    const double v = ep_get(&start->V[0], m, 0), w = ep_get(&start->W, m, 0);
    P += (v * v + w * w) / (double)M;
    S += v * w / (double)M;
  }
  const double alpha = P * P / 4 - S * S, beta = (P - 2 * sqrt(alpha)) / (P + 2 * sqrt(alpha));
  *P0 = P;
  return (closed_form){C, alpha, beta, log(1 / beta) / (8 * C * sqrt(alpha))};
}

/* P(t) = 2 sqrt(alpha) (1 + beta e^{8 C sqrt(alpha) t}) / (1 - beta e^{8 C sqrt(alpha) t}) */
static double P_at(const closed_form *k, double t) {
  const double e = k->beta * exp(8 * k->C * sqrt(k->alpha) * t);
  return 2 * sqrt(k->alpha) * (1 + e) / (1 - e);
}

/* one anchor x = 1, its positive 1 and its negative -0.5: C = x (x+ - x-) = 1.5 */
static ep_status line_points(ep_points *p) {
  EP_TRY(ep_mat_new(&p->X, EP_DOUBLE, 2, 1));
  EP_TRY(ep_pairs_new(&p->pairs, 1, 2, 2, false));
  *ep_d(&p->X, 0, 0) = 1;
  *ep_d(&p->X, 1, 0) = -0.5;
  p->pairs.start[1] = 2;
  p->pairs.partner[1] = 1; /* the positive is the anchor itself */
  p->pairs.sign[0] = 1;
  p->pairs.sign[1] = -1;
  return EP_OK;
}

/* P(t) of one run, and its largest error up to 0.95 of the blow-up; the figure (or NULL) gets both curves */
static ep_status compare_P(double *worst, json_t *figure, const wide_fit *f, const closed_form *k,
                           double P0) {
  enum { POINTS = 60 };
  double t[POINTS], measured[POINTS], theory[POINTS];
  const double step = f->setup->fit.rate;
  *worst = 0;
  for (int i = 0; i < POINTS; i++) {
    const ptrdiff_t row = (ptrdiff_t)(0.95 * k->blow_up / step * i / (POINTS - 1));
    t[i] = step * (double)row;
    measured[i] = P0 + wide_history(&f->info, "ntk_max", row); /* K(1, 1; t) = P(t) */
    theory[i] = P_at(k, t[i]);
    if (!(fabs(measured[i] / theory[i] - 1) <= *worst)) *worst = fabs(measured[i] / theory[i] - 1);
  }
  if (!figure) return EP_OK;
  char panel[24];
  snprintf(panel, sizeof panel, "M = %ld", f->setup->net.width);
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){.name = "descent", .panel = panel, .count = POINTS, .x = t, .y = measured}));
  return ep_figure_add(figure, &(ep_series){.name = "closed form",
                                            .panel = panel,
                                            .count = POINTS,
                                            .x = t,
                                            .y = theory,
                                            .dashed = true});
}

/* out: blow-up time seen, that of the closed form, largest error of P */
static ep_status blow_up(double out[3], json_t *figure, wide_fit *f) {
  double P0;
  strcpy(f->setup->run.precision, "double");
  EP_TRY(line_points(&f->points));
  EP_TRY(wide_start(f));
  const closed_form k = closed_form_of(&P0, ep_model_net(f->start), 1.5);
  f->setup->fit.rate = 1e-4 * k.blow_up;
  f->setup->fit.epochs = 12000;
  f->setup->fit.track_every = 1;
  EP_TRY(wide_fit_on(f));
  out[0] = wide_diverged(f) ? f->setup->fit.rate * (double)f->info.epochs : NAN;
  out[1] = k.blow_up;
  return compare_P(&out[2], figure, f, &k, P0);
}

static ep_status prop10(ep_claim_result *r, ep_work *work, const ep_run_config *run) {
  enum { WIDTHS = 3, SEEDS = 3 };
  static const long widths[WIDTHS] = {10, 100, 1000};
  const wide_setting s = {
      .activation = "linear", .similarity = "dot", .track = "ntk", .outputs = 1};
  claim_curve c[3]; /* seen, closed form, error of P */
  json_t *figure;
  double off = 0, worst = 0;
  EP_TRY(
      claim_figure(&figure, r, "kernel", EP_FIGURE_LINE, "The kernel in one dimension",
                   "P(t) by gradient descent and its closed form, up to 0.95 of the blow-up time, "
                   "first seed.",
                   (ep_axis){"time", false}, (ep_axis){"P(t) = K(1, 1; t)", true}));
  for (int q = 0; q < 3; q++) EP_TRY(claim_curve_new(&c[q], work, WIDTHS, SEEDS));
  for (int w = 0; w < WIDTHS; w++)
    for (int k = 0; k < SEEDS; k++) {
      double out[3];
      wide_fit f;
      EP_TRY(ep_run_step("widths", w, WIDTHS));
      ep_status st =
          wide_setup_only(&f, &s, &(wide_size){.epochs = 1}, widths[w], run->seed + k, run);
      if (!st) st = blow_up(out, k ? NULL : figure, &f);
      wide_free(&f);
      EP_TRY(st);
      for (int q = 0; q < 3; q++) {
        c[q].x[w] = (double)widths[w];
        *claim_at(&c[q], w, k) = out[q];
      }
      off = fmax(off, fabs(out[0] / out[1] - 1)), worst = fmax(worst, out[2]);
    }
  EP_TRY(ep_claim_measure_all(r, "widths", c[0].x, WIDTHS));
  EP_TRY(wide_medians(r, "blow_up_time", &c[0]));
  EP_TRY(wide_medians(r, "blow_up_time_closed_form", &c[1]));
  EP_TRY(ep_claim_measure(r, "blow_up_error", off));
  EP_TRY(ep_claim_measure(r, "largest_error_of_P", worst));
  r->pass = off <= 0.01 && worst <= 0.01 && claim_whole(&c[0]) && claim_whole(&c[2]);
  return ep_claim_note(
      r,
      "x = x+ = 1, x- = -1/2, double precision, steps of 1e-4 of the blow-up time; "
      "P(t) compared until 0.95 of it; 3 seeds at each width.");
}

ep_status wide_prop10(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_work work = {0};
  (void)size;
  const ep_status st = prop10(r, &work, run);
  ep_work_free(&work);
  return st;
}

/* ---- Prop. 18: two equal columns of W(0) */

static void copy_column(const ep_mat *W) {
  for (ptrdiff_t m = 0; m < W->rows; m++) ep_set(W, m, 1, ep_get(W, m, 0));
}

/* f_1 against f_0 of all points after training, and f_2, which had a column of its own */
static ep_status draw_twins(json_t *figure, const ep_mat *E, const char *panel) {
  double *x;
  ep_work work = {0};
  ep_status st = ep_work_get(&work, &x, 3 * E->rows, sizeof *x);
  for (ptrdiff_t i = 0; !st && i < E->rows; i++)
    for (int k = 0; k < 3; k++) x[k * E->rows + i] = ep_get(E, i, k);
  for (int k = 1; !st && k < 3; k++)
    st = ep_figure_add(figure, &(ep_series){.name = k == 1 ? "its twin" : "another output",
                                            .panel = panel,
                                            .count = E->rows,
                                            .x = x,
                                            .y = x + k * E->rows});
  ep_work_free(&work);
  return st;
}

/* largest |f_0 - f_1| over the largest |f_0| */
static ep_status twins(double *apart, json_t *figure, wide_fit *f) {
  ep_mat E = {0};
  double top = 0, worst = 0;
  ep_status st = wide_start(f);
  if (!st) copy_column(&ep_model_net(f->start)->W);
  if (!st) st = wide_train_from_start(f);
  if (!st) st = wide_embed(&E, f->model, &f->points.X);
  for (ptrdiff_t i = 0; !st && i < E.rows; i++) {
    top = fmax(top, fabs(ep_get(&E, i, 0)));
    worst = fmax(worst, fabs(ep_get(&E, i, 0) - ep_get(&E, i, 1)));
  }
  if (!st && figure) st = draw_twins(figure, &E, f->setup->objective.similarity);
  ep_mat_free(&E);
  *apart = worst / top;
  return st;
}

ep_status wide_prop18(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {
      {30, 50, 3, 1, {100}}, {100, 200, 3, 1, {400}}, {1000, 500, 3, 1, {1000}}};
  static const char *const similarity[] = {"cosine", "dot"};
  ep_run_config in_double = *run;
  json_t *figure;
  strcpy(in_double.precision, "double");
  EP_TRY(claim_figure(&figure, r, "twins", EP_FIGURE_SCATTER, "Outputs that started equal",
                      "After training the second output against the first, which it started equal "
                      "to, and a third one, which started apart; first seed.",
                      (ep_axis){"first output", false}, (ep_axis){"other output", false}));
  r->pass = true;
  for (int k = 0; k < 2; k++) {
    const wide_setting s = {
        .data = wide_images(size), .similarity = similarity[k], .rate = k ? 0.02 : 1};
    double apart = 0, fell = INFINITY; /* worst over the seeds */
    char name[64];
    for (int i = 0; i < sizes[size].seeds; i++) {
      wide_fit f;
      double one = NAN;
      EP_TRY(ep_run_step("seeds", k * sizes[size].seeds + i, 2 * sizes[size].seeds));
      ep_status st =
          wide_begin(&f, &s, &sizes[size], sizes[size].width[0], run->seed + i, &in_double);
      if (!st) st = twins(&one, i ? NULL : figure, &f);
      const double change = wide_history(&f.info, "loss", 0) - wide_history(&f.info, "loss", -1);
      wide_free(&f);
      EP_TRY(st);
      if (!(one <= apart)) apart = one;
      if (!(change >= fell)) fell = change;
    }
    snprintf(name, sizeof name, "%s_outputs_apart", similarity[k]);
    EP_TRY(ep_claim_measure(r, name, apart));
    snprintf(name, sizeof name, "%s_loss_fell_by", similarity[k]);
    EP_TRY(ep_claim_measure(r, name, fell));
    r->pass = r->pass && apart <= 1e-12 && fell > 0;
    EP_TRY(wide_say(r, &s, &sizes[size]));
  }
  return ep_claim_note(r, "Double precision; dot with a rate at which it does not blow up.");
}
