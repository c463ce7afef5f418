/* WIDE sections 3 and 5: the tangent kernel of contrastive models stays, or does not. */
#include "study/wide.h"

#include <math.h>
#include <string.h>

/* ---- Fig. 1: descent beside the same descent with the kernel frozen */

/* largest over points of |f - f_frozen| / |f_frozen|; blank crops have f = 0 and are left out */
static double largest_difference(const ep_mat *A, const ep_mat *B) {
  double top = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const ep_mat a = ep_mat_rows(A, i, 1), b = ep_mat_rows(B, i, 1);
    const double norm = ep_mat_norm2(&b);
    if (norm > 0) top = fmax(top, sqrt(ep_mat_distance2(&a, &b) / norm));
  }
  return top;
}

static ep_status against_frozen(double *out, wide_fit *f, bool first_seed, void *user) {
  ep_model *frozen = NULL;
  ep_fit_info info = {0};
  ep_mat A = {0}, B = {0};
  (void)first_seed;
  (void)user;
  ep_status st = wide_fit_again(&frozen, &info, f, "kernel", f->setup->fit.epochs);
  if (!st) st = wide_embed(&A, f->model, &f->points.X);
  if (!st) st = wide_embed(&B, frozen, &f->points.X);
  if (!st) out[0] = largest_difference(&A, &B);
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_model_free(frozen);
  ep_fit_info_free(&info);
  return st;
}

ep_status wide_fig1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{10, 500, 3, 4, {100, 300, 1000, 3000}},
                                    {10, 500, 5, 5, {100, 300, 1000, 3000, 10000}},
                                    {10, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};
  static const wide_words words = {
      "difference", "Training and the frozen kernel",
      "The largest fractional difference of the two representations falls with width, with the "
      "range over seeds.",
      "largest fractional difference"};
  const wide_setting s = {.data = wide_images(size), .rate = 1};
  ep_power_law law;
  bool falls;
  EP_TRY(wide_law_check(&law, &falls, r, &words, against_frozen, &s, &sizes[size], run));
  r->pass = falls && law.exponent <= -0.4;
  return wide_say(r, &s, &sizes[size]);
}

/* ---- Figs. 3, 5 left, 7: the drift falls with width */

static ep_status falls(ep_claim_result *r, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  wide_drift d;
  EP_TRY(wide_drift_check(&d, r, "", "ntk_max", s, z, run));
  r->pass = d.width.exponent <= -0.4 && d.width.high < 0 && d.time < 1 && d.diverged == 0;
  return wide_say(r, s, z);
}

static const wide_size drift_sizes[] = {{50, 500, 3, 4, {50, 100, 200, 400}},
                                        {100, 500, 5, 5, {100, 200, 400, 800, 1600}},
                                        {1000, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};

ep_status wide_fig3(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return falls(r, &(wide_setting){.data = wide_images(size), .rate = 1, .track = "ntk"},
               &drift_sizes[size], run);
}

ep_status wide_fig7(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return falls(
      r,
      &(wide_setting){.data = wide_images(size), .rate = 1, .track = "ntk", .activation = "tanh"},
      &drift_sizes[size], run);
}

static const wide_size deep_sizes[] = {{20, 100, 3, 4, {25, 50, 100, 200}},
                                       {50, 200, 5, 5, {50, 100, 200, 400, 800}},
                                       {1000, 500, 5, 5, {50, 100, 300, 1000, 3000}}};

ep_status wide_fig5l(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return falls(r, &(wide_setting){.data = wide_images(size), .rate = 1, .track = "ntk", .depth = 3},
               &deep_sizes[size], run);
}

/* ---- Figs. 2, 5 middle: with the dot product it grows without bound */

typedef struct {
  json_t *time;
  bool all; /* every run's drift passed 100 and its loss was lost */
} growth;

/* max |K - K(0)| at the first points between the start and the weights at which the loss was lost */
static ep_status kernels_apart(ep_work *work, double *drift, const wide_fit *f) {
  const ptrdiff_t p = f->points.X.rows, asked = f->setup->fit.track_points;
  const ptrdiff_t n = asked < p ? asked : p, z = ep_model_net(f->model)->W.cols;
  const ep_mat X = ep_mat_rows(&f->points.X, 0, n);
  const ep_net *const nets[] = {ep_model_net(f->start), ep_model_net(f->model)};
  const double memory = ep_run_memory(f->run) - (double)ep_memory_current();
  ep_mat K[2];
  for (int i = 0; i < 2; i++) {
    EP_TRY(ep_work_mat(work, &K[i], X.prec, n, n * z * z));
    EP_TRY(ep_ntk_empirical(&K[i], nets[i], &X, NULL, EP_FULL, memory));
  }
  *drift = ep_kernel_drift(&K[0], &K[1]).max;
  return EP_OK;
}

static ep_status measure_growth(double *out, wide_fit *f, bool first_seed, void *user) {
  growth *g = user;
  ep_work work = {0};
  const ep_status st = kernels_apart(&work, &out[1], f);
  ep_work_free(&work);
  EP_TRY(st);
  out[0] = wide_diverged(f) ? (double)f->info.epochs : NAN;
  g->all = g->all && wide_diverged(f) && !(out[1] <= 100); /* not a number: it overflowed */
  return first_seed ? wide_time_line(g->time, f, "ntk_max", NULL, 1) : EP_OK;
}

static ep_status grows(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  claim_curve c[2];
  json_t *figure;
  double first[WIDE_WIDTHS], last[WIDE_WIDTHS], drift[WIDE_WIDTHS];
  growth g = {.all = true};
  EP_TRY(
      claim_figure(&g.time, r, "time", EP_FIGURE_LINE, "Drift over time",
                   "Drift of the tangent kernel until training stops, a line a width, first seed.",
                   (ep_axis){"epoch", false}, (ep_axis){"largest change of K", true}));
  EP_TRY(wide_sweep(c, 2, work, s, z, measure_growth, &g, run));
  for (ptrdiff_t i = 0; i < c->count; i++) {
    first[i] = claim_least(&c[0], i), last[i] = claim_worst(&c[0], i);
    drift[i] = claim_least(&c[1], i);
  }
  EP_TRY(ep_claim_measure_all(r, "widths", c[0].x, c->count));
  EP_TRY(ep_claim_measure_all(r, "first_epoch_of_blow_up", first, c->count));
  EP_TRY(ep_claim_measure_all(r, "last_epoch_of_blow_up", last, c->count));
  EP_TRY(ep_claim_measure_all(r, "least_drift_there", drift, c->count));
  EP_TRY(claim_figure(&figure, r, "blow-up", EP_FIGURE_LINE, "When training is lost",
                      "Epoch at which the loss cannot be used any more, for each width.",
                      (ep_axis){"width M", true}, (ep_axis){"epoch", false}));
  EP_TRY(claim_draw(figure, "measured", NULL, &c[0], false));
  r->pass = g.all;
  EP_TRY(ep_claim_note(r, "K(0) has entries of about 1."));
  if (first[c->count - 1] > first[0])
    EP_TRY(ep_claim_found(r,
                          "Larger widths only delay the blow-up: from epoch %.0f at the least to "
                          "%.0f at the largest.",
                          first[0], first[c->count - 1]));
  return wide_say(r, s, z);
}

static ep_status unbounded(ep_claim_result *r, const wide_setting *s, const wide_size *z,
                           const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st = grows(r, &work, s, z, run);
  ep_work_free(&work);
  return st;
}

ep_status wide_fig2(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{50, 50, 3, 3, {50, 200, 800}},
                                    {100, 50, 3, 4, {100, 400, 1600, 6400}},
                                    {1000, 50, 5, 5, {100, 300, 1000, 3000, 10000}}};
  return unbounded(
      r, &(wide_setting){.data = wide_images(size), .rate = 1, .track = "ntk", .similarity = "dot"},
      &sizes[size], run);
}

ep_status wide_fig5m(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const wide_setting s = {
      .data = wide_images(size), .rate = 1, .track = "ntk", .similarity = "dot", .depth = 3};
  return unbounded(r, &s, &deep_sizes[size], run);
}

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

/* ---- Lemmas 7, 8, 11, 12, 16, 17, Theorem 13 */

/* log10 of bound and of measurement over the widths, of every bound, for one method and activation */
typedef struct {
  claim_curve bound[EP_BOUNDS], measured[EP_BOUNDS];
  bool applies[EP_BOUNDS];
  int vacuous; /* how many are not below what the quantity can be in any run */
} bound_table;

static ep_status bounds_of(bound_table *t, wide_fit *f, int width, int seed) {
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->model), &f->points, f->setup,
                            f->info.epochs};
  ep_bound_result rows[EP_BOUNDS];
  EP_TRY(ep_bounds_check(rows, &run));
  for (int i = 0; i < EP_BOUNDS; i++) {
    t->applies[i] = !rows[i].why;
    t->vacuous += !rows[i].why && rows[i].vacuous;
    *claim_at(&t->bound[i], width, seed) = rows[i].log10_bound;
    *claim_at(&t->measured[i], width, seed) = log10(rows[i].measured.value);
  }
  return EP_OK;
}

static ep_status fill_bounds(bound_table *t, ep_work *work, const wide_setting *s,
                             const wide_size *z, const ep_run_config *run) {
  for (int i = 0; i < EP_BOUNDS; i++) {
    EP_TRY(claim_curve_new(&t->bound[i], work, z->widths, z->seeds));
    EP_TRY(claim_curve_new(&t->measured[i], work, z->widths, z->seeds));
  }
  for (int w = 0; w < z->widths; w++)
    for (int k = 0; k < z->seeds; k++) {
      wide_fit f;
      for (int i = 0; i < EP_BOUNDS; i++)
        t->bound[i].x[w] = t->measured[i].x[w] = (double)z->width[w];
      ep_status st = wide_begin(&f, s, z, z->width[w], run->seed + k, run);
      if (!st) st = wide_train(&f);
      if (!st) st = bounds_of(t, &f, w, k);
      wide_free(&f);
      EP_TRY(st);
    }
  return EP_OK;
}

/* margin[i]: least log10(bound / measured) of bound i so far; *checked, *held: how many there were */
static ep_status judge_bounds(ep_claim_result *r, const bound_table *t, const char *label,
                              json_t *figure, double *margin, int *checked, int *held) {
  for (int i = 0; i < EP_BOUNDS; i++) {
    double gap[WIDE_WIDTHS];
    char name[128];
    if (!t->applies[i]) continue;
    const claim_curve *b = &t->bound[i], *m = &t->measured[i];
    for (ptrdiff_t w = 0; w < b->count; w++) {
      gap[w] = INFINITY;
      for (int k = 0; k < b->runs; k++, ++*checked) {
        const double over = *claim_at(b, w, k) - *claim_at(m, w, k);
        gap[w] = fmin(gap[w], over);
        *held += over >= 0;
      }
      margin[i] = fmin(margin[i], gap[w]);
      if (gap[w] < 0)
        EP_TRY(ep_claim_found(r, "%s does not hold: %s, width %.0f, by %.2g.", ep_bounds[i].name,
                              label, b->x[w], pow(10, -gap[w])));
    }
    snprintf(name, sizeof name, "%s, %s: log10 bound", ep_bounds[i].name, label);
    EP_TRY(wide_medians(r, name, b));
    snprintf(name, sizeof name, "%s, %s: log10 measured", ep_bounds[i].name, label);
    EP_TRY(wide_medians(r, name, m));
    EP_TRY(ep_figure_add(
        figure,
        &(ep_series){
            .name = ep_bounds[i].name, .panel = label, .count = b->count, .x = b->x, .y = gap}));
  }
  return EP_OK;
}

static ep_status all_bounds(ep_claim_result *r, ep_work *work, const wide_size *z,
                            const char *images, const ep_run_config *run) {
  static const char *const methods[] = {"gd", "grassmann"}, *const phi[] = {"tanh", "erf"};
  double margin[EP_BOUNDS];
  int checked = 0, held = 0, vacuous = 0;
  json_t *figure;
  for (int i = 0; i < EP_BOUNDS; i++) margin[i] = INFINITY;
  EP_TRY(wide_width_figure(&figure, r, "margin", "How far the bounds are",
                           "Orders of magnitude between each bound and what it bounds, the least "
                           "over seeds, against width: a bound that fails is not on the page.",
                           "log10(bound / measured)"));
  for (int k = 0; k < 4; k++) {
    const wide_setting s = {
        .data = images, .method = methods[k / 2], .activation = phi[k % 2], .rate = 1};
    bound_table t = {0};
    char label[40];
    snprintf(label, sizeof label, "%s %s", methods[k / 2], phi[k % 2]);
    EP_TRY(ep_run_step("bounds", k, 4));
    EP_TRY(fill_bounds(&t, work, &s, z, run));
    EP_TRY(judge_bounds(r, &t, label, figure, margin, &checked, &held));
    vacuous += t.vacuous;
  }
  EP_TRY(ep_claim_measure(r, "checked", checked));
  EP_TRY(ep_claim_measure(r, "held", held));
  EP_TRY(ep_claim_measure(r, "vacuous", vacuous));
  if (vacuous)
    EP_TRY(
        ep_claim_found(r,
                       "%d of the %d bounds say nothing: they are not below what the quantity can "
                       "be in any run.",
                       vacuous, checked));
  for (int i = 0; i < EP_BOUNDS; i++) {
    char name[128];
    snprintf(name, sizeof name, "least_orders_%s", ep_bounds[i].name);
    if (isfinite(margin[i])) EP_TRY(ep_claim_measure(r, name, margin[i]));
  }
  r->pass = held == checked && checked > 0;
  return EP_OK;
}

ep_status wide_bounds(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 100, 1, 2, {100, 400}},
                                    {100, 500, 2, 3, {100, 400, 1600}},
                                    {1000, 500, 3, 3, {100, 1000, 10000}}};
  ep_work work = {0};
  const ep_status st = all_bounds(r, &work, &sizes[size], wide_images(size), run);
  ep_work_free(&work);
  EP_TRY(st);
  EP_TRY(ep_claim_note(
      r,
      "Each bound with the norm of x that its proof needs; for smooth activations only (relu "
      "has no second derivative)."));
  return wide_say(
      r, &(wide_setting){.data = wide_images(size), .rate = 1, .activation = "tanh and erf"},
      &sizes[size]);
}
