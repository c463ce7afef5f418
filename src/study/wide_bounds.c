/* WIDE's bounds beside what they bound: Lemmas 7, 8, 11, 12, 16, 17, Theorem 13. */
#include "study/wide.h"

#include "method/methods.h"

#include <math.h>
#include <string.h>

/* ---- all of them at the end of training */

/* log10 of bound and of measurement over the widths, of every bound, for one method and activation */
typedef struct {
  claim_curve bound[EP_BOUNDS], measured[EP_BOUNDS];
  bool applies[EP_BOUNDS];
} bound_table;

/* of all runs */
typedef struct {
  int checked, held;
  int judged, vacuous;      /* those with a ceiling, and how many of them are not below it */
  double margin[EP_BOUNDS]; /* least log10(bound / measured) */
  double speaks[EP_BOUNDS]; /* least log10 of the width from which it would be below its ceiling */
  double step[2];           /* Lemma 11, V and W: least log10(bound / step) over all steps */
  long steps, kept;         /* of all runs; those within Lemma 11 */
} tally;

/* log10 of the width from which the bound is below the ceiling, all other constants as they are */
static double speaks_from(const ep_bound *bound, ep_bound_inputs in, double ceiling) {
  double low = 0, high = 80;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    in.M = pow(10, middle);
    if (bound->log10(&in) < log10(ceiling)) high = middle;
    else low = middle;
  }
  return high < 79 ? high : INFINITY;
}

static ep_status judge_run(tally *t, bound_table *table, wide_fit *f, int width, int seed) {
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->model), &f->points, f->setup,
                            f->info.epochs};
  ep_bound_result rows[EP_BOUNDS];
  ep_bound_inputs in;
  EP_TRY(ep_bounds_check(rows, &run));
  EP_TRY(ep_bound_inputs_from(&in, &run));
  for (int i = 0; i < EP_BOUNDS; i++) {
    table->applies[i] = !rows[i].why;
    *claim_at(&table->bound[i], width, seed) = rows[i].log10_bound;
    *claim_at(&table->measured[i], width, seed) = log10(rows[i].measured.value);
    if (rows[i].why) continue;
    if (isfinite(rows[i].measured.gap)) in.gap = rows[i].measured.gap;
    if (isfinite(rows[i].measured.ceiling)) {
      t->judged++, t->vacuous += rows[i].vacuous;
      t->speaks[i] = fmin(t->speaks[i], speaks_from(rows[i].bound, in, rows[i].measured.ceiling));
    }
  }
  return EP_OK;
}

/* ---- Lemma 11 in every step: descent again, a step at a time */

/* V (k = 0) or W (k = 1), as one row */
static ep_mat layer(const ep_net *net, int k) {
  const ptrdiff_t w = net->W.rows * net->W.cols, v = net->theta.cols - w;
  return ep_mat_cols(&net->theta, k ? v : 0, k ? w : v);
}

/* max |dV_ij| and max |dW_ij| of one step, by the weights that it began from */
static void judge_step(tally *t, ep_bound_inputs *in, const ep_net *from, const ep_net *to) {
  static const char *const names[] = {"Lemma 11 V", "Lemma 11 W"};
  const ep_mat before[] = {layer(from, 0), layer(from, 1)};
  bool kept = true;
  in->v = ep_mat_max(&before[0]), in->w = ep_mat_max(&before[1]);
  for (int k = 0; k < 2; k++) {
    const ep_mat after = layer(to, k);
    const double moved = ep_kernel_drift(&before[k], &after).max;
    const double over = ep_bound_find(names[k])->log10(in) - log10(moved);
    t->step[k] = fmin(t->step[k], over);
    kept = kept && over >= 0;
  }
  t->steps++, t->kept += kept;
}

static ep_status every_step(tally *t, wide_fit *f) {
  const long epochs = f->setup->fit.epochs;
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->start), &f->points, f->setup,
                            0};
  ep_bound_inputs in;
  ep_model *now = NULL;
  EP_TRY(ep_bound_inputs_from(&in, &run));
  ep_status st = EP_OK;
  for (long step = 0; !st && step < epochs; step++) {
    ep_model *next = NULL;
    ep_fit_info info = {0};
    const ep_net *from = ep_model_net(now ? now : f->start);
    st = wide_fit_from(&next, &info, f, NULL, from, 1);
    if (!st) judge_step(t, &in, from, ep_model_net(next));
    ep_fit_info_free(&info);
    ep_model_free(now);
    now = next;
  }
  ep_model_free(now);
  return st;
}

/* ---- the control: points of the sphere in R^1000, whose entries are small, at the start */

/* orders[2]: log10(bound / Hessian) of Lemma 7, and with max |x_j| in the place of |x|_2 */
static ep_status lemma_7_by_entries(double orders[2], const wide_size *z,
                                    const ep_run_config *run) {
  const wide_setting s = {.data = "sphere:1000", .activation = "tanh"};
  const ep_bound *bound = ep_bound_find("Lemma 7");
  ep_bound_inputs in;
  ep_measured m;
  wide_fit f;
  ep_status st = wide_begin(&f, &s, z, z->width[0], run->seed, run);
  if (!st) st = wide_start(&f);
  if (!st) {
    const ep_bound_run at = {ep_model_net(f.start), ep_model_net(f.start), &f.points, f.setup, 0};
    st = ep_bound_inputs_from(&in, &at);
    if (!st) st = ep_bound_measure(&m, bound->what, &at);
  }
  wide_free(&f);
  EP_TRY(st);
  orders[0] = bound->log10(&in) - log10(m.value);
  in.x_2 = in.c_in;
  orders[1] = bound->log10(&in) - log10(m.value);
  return EP_OK;
}

/* ---- over widths and seeds, methods and activations */

static ep_status fill_bounds(tally *t, bound_table *table, ep_work *work, const wide_setting *s,
                             const wide_size *z, const ep_run_config *run) {
  for (int i = 0; i < EP_BOUNDS; i++) {
    EP_TRY(claim_curve_new(&table->bound[i], work, z->widths, z->seeds));
    EP_TRY(claim_curve_new(&table->measured[i], work, z->widths, z->seeds));
  }
  for (int w = 0; w < z->widths; w++)
    for (int k = 0; k < z->seeds; k++) {
      wide_fit f;
      for (int i = 0; i < EP_BOUNDS; i++)
        table->bound[i].x[w] = table->measured[i].x[w] = (double)z->width[w];
      ep_status st = wide_begin(&f, s, z, z->width[w], run->seed + k, run);
      if (!st) st = wide_train(&f);
      if (!st) st = judge_run(t, table, &f, w, k);
      if (!st && k == 0 && ep_method_find(s->method)->plain) st = every_step(t, &f);
      wide_free(&f);
      EP_TRY(st);
    }
  return EP_OK;
}

static ep_status draw_bounds(ep_claim_result *r, tally *t, const bound_table *table,
                             const char *label, json_t *figure) {
  for (int i = 0; i < EP_BOUNDS; i++) {
    double gap[WIDE_WIDTHS];
    char name[128];
    if (!table->applies[i]) continue;
    const claim_curve *b = &table->bound[i], *m = &table->measured[i];
    for (ptrdiff_t w = 0; w < b->count; w++) {
      gap[w] = INFINITY;
      for (int k = 0; k < b->runs; k++, t->checked++) {
        const double over = *claim_at(b, w, k) - *claim_at(m, w, k);
        gap[w] = fmin(gap[w], over);
        t->held += over >= 0;
      }
      t->margin[i] = fmin(t->margin[i], gap[w]);
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

/* how many say anything, and from which width they would */
static ep_status say_bounds(ep_claim_result *r, const tally *t) {
  char list[400] = "";
  int used = 0;
  for (int i = 0; i < EP_BOUNDS; i++) {
    char name[128];
    snprintf(name, sizeof name, "least_orders_%s", ep_bounds[i].name);
    if (isfinite(t->margin[i])) EP_TRY(ep_claim_measure(r, name, t->margin[i]));
    snprintf(name, sizeof name, "log10_width_from_which_%s_speaks", ep_bounds[i].name);
    if (!isfinite(t->speaks[i])) continue;
    EP_TRY(ep_claim_measure(r, name, t->speaks[i]));
    used += snprintf(list + used, sizeof list - (size_t)used, "%s%s from 10^%.1f", used ? ", " : "",
                     ep_bounds[i].name, t->speaks[i]);
  }
  if (t->vacuous == t->judged)
    EP_TRY(ep_claim_found(r,
                          "Every bound that can be judged says nothing at these sizes: %d of %d "
                          "are not below what the quantity can be in any run. The others are "
                          "Lemma 7, whose quantity has no ceiling to be measured by.",
                          t->vacuous, t->judged));
  else
    EP_TRY(ep_claim_found(r,
                          "%d of the %d bounds that can be judged say nothing: they are not below "
                          "what the quantity can be in any run (Lemma 7's has no such ceiling).",
                          t->vacuous, t->judged));
  return ep_claim_found(
      r, "With the other constants as they are, they would say something from these widths on: %s.",
      list);
}

static ep_status all_bounds(ep_claim_result *r, ep_work *work, const wide_size *z,
                            const char *images, const ep_run_config *run) {
  static const char *const methods[] = {"gd", "grassmann"}, *const phi[] = {"tanh", "erf"};
  tally t = {.step = {INFINITY, INFINITY}};
  double control[2];
  json_t *figure;
  for (int i = 0; i < EP_BOUNDS; i++) t.margin[i] = t.speaks[i] = INFINITY;
  EP_TRY(wide_width_figure(&figure, r, "margin", "How far the bounds are",
                           "Orders of magnitude between each bound and what it bounds, the least "
                           "over seeds, against width: a bound that fails is not on the page.",
                           "log10(bound / measured)"));
  for (int k = 0; k < 4; k++) {
    const wide_setting s = {
        .data = images, .method = methods[k / 2], .activation = phi[k % 2], .rate = 1};
    bound_table table = {0};
    char label[40];
    snprintf(label, sizeof label, "%s %s", methods[k / 2], phi[k % 2]);
    EP_TRY(ep_run_step("bounds", k, 4));
    EP_TRY(fill_bounds(&t, &table, work, &s, z, run));
    EP_TRY(draw_bounds(r, &t, &table, label, figure));
  }
  EP_TRY(ep_claim_measure(r, "checked", t.checked));
  EP_TRY(ep_claim_measure(r, "held", t.held));
  EP_TRY(ep_claim_measure(r, "judged", t.judged));
  EP_TRY(ep_claim_measure(r, "vacuous", t.vacuous));
  EP_TRY(ep_claim_measure(r, "steps", (double)t.steps));
  EP_TRY(ep_claim_measure(r, "steps_within_lemma_11", (double)t.kept));
  EP_TRY(ep_claim_measure_all(r, "least_orders_of_a_step_V_W", t.step, 2));
  EP_TRY(lemma_7_by_entries(control, z, run));
  EP_TRY(ep_claim_measure(r, "orders_of_Lemma_7_on_a_sphere", control[0]));
  EP_TRY(ep_claim_measure(r, "control_orders_of_Lemma_7_by_entries", control[1]));
  EP_TRY(say_bounds(r, &t));
  r->pass = t.held == t.checked && t.checked > 0 && t.kept == t.steps && t.steps > 0 &&
            control[0] >= 0 && control[1] < 0;
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
      "has no second derivative). Lemma 11 in every step of descent, first seed; the others at "
      "the end of training."));
  return wide_say(
      r, &(wide_setting){.data = wide_images(size), .rate = 1, .activation = "tanh and erf"},
      &sizes[size]);
}

/* ---- Theorem 13: the drift at t = M^a */

enum { POWERS = 3 };
static const double power[POWERS] = {1. / 6, 1. / 4, 1. / 2};
static const char *const power_name[POWERS] = {"1/6", "1/4", "1/2"};

/* between two epochs by a straight line; NAN past the end */
static double drift_at(const ep_fit_info *info, double t) {
  const ptrdiff_t row = (ptrdiff_t)floor(t);
  const double a = wide_history(info, "ntk_max", row), b = wide_history(info, "ntk_max", row + 1);
  return t == (double)row ? a : a + (t - (double)row) * (b - a);
}

/* log10 of b = max(b1, b2): Lemma 11 at weights and width 1 */
static ep_status log10_b(double *out, const wide_fit *f) {
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->start), &f->points, f->setup,
                            0};
  ep_bound_inputs in;
  EP_TRY(ep_bound_inputs_from(&in, &run));
  in.M = in.v = in.w = 1;
  *out = fmax(ep_bound_find("Lemma 11 V")->log10(&in), ep_bound_find("Lemma 11 W")->log10(&in));
  return EP_OK;
}

static ep_status early_drift(double *out, wide_fit *f, bool first_seed, void *user) {
  const double M = (double)f->setup->net.width;
  (void)first_seed;
  (void)user;
  for (int k = 0; k < POWERS; k++)
    out[k] = wide_diverged(f) ? NAN : drift_at(&f->info, pow(M, power[k]));
  return log10_b(&out[POWERS], f);
}

/* every width has epochs of its own: M^{1/2} and one more */
static ep_status early_sweep(claim_curve c[POWERS + 1], ep_work *work, const wide_setting *s,
                             const wide_size *z, const ep_run_config *run) {
  for (int q = 0; q <= POWERS; q++) EP_TRY(claim_curve_new(&c[q], work, z->widths, z->seeds));
  for (int w = 0; w < z->widths; w++) {
    claim_curve one[POWERS + 1];
    wide_size here = {
        z->anchors, (long)ceil(sqrt((double)z->width[w])) + 1, z->seeds, 1, {z->width[w]}};
    EP_TRY(ep_run_step("M^a", w, z->widths));
    EP_TRY(wide_sweep_histories(one, POWERS + 1, work, s, &here, early_drift, NULL, run));
    for (int q = 0; q <= POWERS; q++) {
      c[q].x[w] = (double)z->width[w];
      for (int k = 0; k < z->seeds; k++) *claim_at(&c[q], w, k) = *claim_at(&one[q], 0, k);
    }
  }
  return EP_OK;
}

static ep_status theorem13(ep_claim_result *r, ep_work *work, const wide_setting *s,
                           const wide_setting *dot, const wide_size *z, const ep_run_config *run) {
  claim_curve c[POWERS + 1], control[POWERS + 1];
  ep_power_law law[POWERS], other;
  json_t *figure;
  EP_TRY(early_sweep(c, work, s, z, run));
  EP_TRY(early_sweep(control, work, dot, z, run));
  EP_TRY(wide_width_figure(&figure, r, "early", "Drift after M^a steps",
                           "Largest change of the tangent kernel after M^a steps against width, "
                           "with the range over seeds; and the dot product's after M^{1/2}.",
                           "largest change of K"));
  for (int k = 0; k < POWERS; k++) {
    char name[64];
    snprintf(name, sizeof name, "drift_at_M^%s", power_name[k]);
    EP_TRY(wide_law(&law[k], r, name, &c[k]));
    snprintf(name, sizeof name, "t = M^%s", power_name[k]);
    EP_TRY(claim_draw(figure, name, NULL, &c[k], false));
  }
  EP_TRY(claim_draw(figure, "dot product, t = M^1/2", NULL, &control[POWERS - 1], false));
  EP_TRY(wide_law(&other, r, "control_drift_at_M^1/2", &control[POWERS - 1]));
  double cube[WIDE_WIDTHS];
  for (ptrdiff_t i = 0; i < c->count; i++) cube[i] = 3 * claim_median(&c[POWERS], i);
  EP_TRY(ep_claim_measure_all(r, "log10_b_cubed", cube, c->count));
  r->pass = law[0].high <= -1. / 6 && law[1].high < 0 && law[2].high < 0 && !(other.high < 0);
  EP_TRY(ep_claim_found(
      r,
      "The drift after M^{1/6} steps has exponent %.2f (%.2f to %.2f) in width%s; after M^{1/4}, "
      "where its proof ends, %.2f (%.2f to %.2f), after M^{1/2} %.2f (%.2f to %.2f).",
      law[0].exponent, law[0].low, law[0].high,
      law[0].high <= -1. / 6 ? ", below the theorem's -1/6" : "", law[1].exponent, law[1].low,
      law[1].high, law[2].exponent, law[2].low, law[2].high));
  const double widest = log10(c->x[c->count - 1]);
  return ep_claim_found(r, "The theorem asks for M above b^3, which is 10^%.0f here%s.", cube[0],
                        widest < cube[c->count - 1]
                            ? ": no width tried is, and what is seen is not what it explains"
                            : "");
}

ep_status wide_theorem13(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 0, 3, 4, {64, 192, 576, 1728}},
                                    {100, 0, 5, 5, {64, 256, 1024, 4096, 16384}},
                                    {1000, 0, 5, 5, {64, 256, 1024, 4096, 16384}}};
  const wide_setting s = {
      .data = wide_images(size), .rate = 1, .track = "ntk", .track_every = 1, .activation = "tanh"};
  wide_setting dot = s;
  ep_work work = {0};
  dot.similarity = EP_SIMILARITY_DOT;
  const ep_status st = theorem13(r, &work, &s, &dot, &sizes[size], run);
  ep_work_free(&work);
  EP_TRY(st);
  EP_TRY(ep_claim_note(r,
                       "M^{1/2} epochs at most; the drift between two epochs by a straight line. "
                       "b as in Lemma 12 with max |x_j|; the theorem is for smooth activations."));
  wide_size said = sizes[size];
  said.epochs = (long)sqrt((double)said.width[said.widths - 1]);
  return wide_say(r, &s, &said);
}
