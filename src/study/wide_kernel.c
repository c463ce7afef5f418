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

/* falls with width, to at most a tenth at the largest; the median, for one point of a seed can be far off */
static bool close_and_closer(const ep_power_law *law, const claim_curve *c) {
  return wide_falls(law) && claim_median(c, c->count - 1) <= 0.1;
}

static ep_status fig1(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                      const ep_run_config *run) {
  wide_setting dot = *s;
  wide_size fewer = *z;
  claim_curve c, control;
  ep_power_law law, other;
  json_t *figure;
  dot.similarity = EP_SIMILARITY_DOT;
  fewer.epochs = z->epochs / 5;
  EP_TRY(wide_sweep(&c, 1, work, s, z, against_frozen, NULL, run));
  EP_TRY(wide_sweep(&control, 1, work, &dot, &fewer, against_frozen, NULL, run));
  EP_TRY(wide_law(&law, r, "difference", &c));
  EP_TRY(wide_law(&other, r, "control_difference", &control));
  const double worst = claim_worst(&c, c.count - 1);
  EP_TRY(ep_claim_measure(r, "difference_at_largest_width_worst_seed", worst));
  if (worst > 0.1)
    EP_TRY(ep_claim_found(r,
                          "At width %.0f the farthest point of one seed is still %.2f away: the "
                          "largest over points has a heavy tail over seeds.",
                          c.x[c.count - 1], worst));
  EP_TRY(wide_width_figure(&figure, r, "difference", "Training and the frozen kernel",
                           "The largest fractional difference of the two representations against "
                           "width, with the range over seeds.",
                           "largest fractional difference"));
  EP_TRY(claim_draw(figure, "measured", NULL, &c, false));
  r->pass = close_and_closer(&law, &c) && !close_and_closer(&other, &control);
  return wide_slope(figure, NULL, &c);
}

ep_status wide_fig1_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                       const char *images) {
  static const wide_size sizes[] = {{10, 500, 3, 4, {100, 300, 1000, 3000}},
                                    {10, 500, 5, 5, {100, 300, 1000, 3000, 10000}},
                                    {10, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};
  const wide_setting s = {.data = images, .rate = 1};
  ep_work work = {0};
  const ep_status st = fig1(r, &work, &s, &sizes[size], run);
  ep_work_free(&work);
  EP_TRY(st);
  EP_TRY(ep_claim_note(r,
                       "Norms a point in the place of entries, whose largest is heavy-tailed. "
                       "Control: the dot product for a fifth of the epochs."));
  return wide_say(r, &s, &sizes[size]);
}

ep_status wide_fig1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig1_on(r, size, run, wide_images(size));
}

/* ---- Figs. 3, 5 left, 7: the drift falls with width */

static ep_status count_lost(double *out, wide_fit *f, bool first_seed, void *user) {
  (void)first_seed;
  *(int *)user += wide_diverged(f);
  out[0] = wide_diverged(f) ? NAN : wide_history(&f->info, "ntk_max", -1);
  return EP_OK;
}

ep_status wide_dot_falls(bool *does, ep_claim_result *r, const wide_setting *s, const wide_size *z,
                         const ep_run_config *run) {
  wide_setting dot = *s;
  claim_curve c;
  ep_power_law law;
  ep_work work = {0};
  int lost = 0;
  dot.similarity = EP_SIMILARITY_DOT;
  ep_status st = wide_sweep_histories(&c, 1, &work, &dot, z, count_lost, &lost, run);
  if (!st) st = wide_law(&law, r, "control_drift", &c);
  if (!st) st = ep_claim_measure(r, "control_runs_lost", lost);
  *does = !st && lost == 0 && wide_falls(&law);
  ep_work_free(&work);
  return st;
}

static ep_status falls(ep_claim_result *r, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  wide_drift d;
  bool control;
  EP_TRY(wide_drift_check(&d, r, "", &wide_of_K, s, z, run));
  EP_TRY(wide_dot_falls(&control, r, s, z, run));
  r->pass = wide_falls(&d.width) && d.time_high < 1 && d.diverged == 0 && !control;
  return wide_say(r, s, z);
}

static const wide_size drift_sizes[] = {{50, 500, 3, 4, {50, 100, 200, 400}},
                                        {100, 500, 5, 5, {100, 200, 400, 800, 1600}},
                                        {1000, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};

ep_status wide_fig3_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                       const char *images) {
  return falls(r, &(wide_setting){.data = images, .rate = 1, .track = "ntk"}, &drift_sizes[size],
               run);
}

ep_status wide_fig3(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig3_on(r, size, run, wide_images(size));
}

ep_status wide_fig7(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return falls(
      r,
      &(wide_setting){.data = wide_images(size), .rate = 1, .track = "ntk", .activation = "tanh"},
      &drift_sizes[size], run);
}

static const wide_size deep_sizes[] = {{20, 100, 3, 4, {25, 50, 100, 200}},
                                       {50, 200, 5, 5, {50, 100, 200, 400, 800}},
                                       {1000, 500, 5, 6, {50, 100, 300, 1000, 3000, 10000}}};

ep_status wide_fig5l_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                        const char *images) {
  return falls(
      r,
      &(wide_setting){
          .data = images, .rate = 1, .track = "ntk", .track_points = wide_points(size), .depth = 3},
      &deep_sizes[size], run);
}

ep_status wide_fig5l(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig5l_on(r, size, run, wide_images(size));
}

/* ---- Figs. 2, 5 middle: with the dot product it grows without bound */

typedef struct {
  wide_times time;
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
    EP_TRY(ep_ntk_empirical(NULL, &K[i], nets[i], &X, NULL, EP_FULL, memory));
  }
  *drift = ep_kernel_drift(&K[0], &K[1]).max;
  return EP_OK;
}

static ep_status measure_growth(double *out, wide_fit *f, bool first_seed, void *user) {
  growth *g = user;
  ep_work work = {0};
  (void)first_seed;
  const ep_status st = kernels_apart(&work, &out[1], f);
  ep_work_free(&work);
  EP_TRY(st);
  out[0] = wide_diverged(f) ? (double)f->info.epochs : NAN;
  g->all = g->all && wide_diverged(f) && !(out[1] <= 100); /* not a number: it overflowed */
  return wide_times_add(&g->time, f, 1);
}

/* the control: the cosine, at the same rate and epochs */
static ep_status cosine_is_lost(bool *is, ep_claim_result *r, ep_work *work, const wide_setting *s,
                                const wide_size *z, const ep_run_config *run) {
  wide_setting cosine = *s;
  claim_curve c;
  int lost = 0;
  cosine.similarity = EP_SIMILARITY_COSINE;
  EP_TRY(wide_sweep_histories(&c, 1, work, &cosine, z, count_lost, &lost, run));
  double worst = 0;
  for (ptrdiff_t i = 0; i < c.count; i++) worst = fmax(worst, claim_worst(&c, i));
  EP_TRY(ep_claim_measure(r, "control_runs_lost", lost));
  EP_TRY(ep_claim_measure(r, "control_largest_drift", worst));
  *is = lost > 0 || !(worst < 100);
  return EP_OK;
}

static ep_status grows(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  claim_curve c[2];
  json_t *figure;
  double first[WIDE_WIDTHS], last[WIDE_WIDTHS], drift[WIDE_WIDTHS];
  growth g = {.time = {.column = "ntk_max", .seeds = z->seeds}, .all = true};
  bool control;
  EP_TRY(claim_figure(&g.time.figure, r, "time", EP_FIGURE_LINE, "Drift over time",
                      "Drift of the tangent kernel until training stops, a line a width, mean and "
                      "deviation over the seeds that are still running.",
                      (ep_axis){"epoch", .log = false},
                      (ep_axis){"largest change of K", .log = true}));
  const ep_status swept = wide_sweep(c, 2, work, s, z, measure_growth, &g, run);
  ep_work_free(&g.time.work);
  EP_TRY(swept);
  EP_TRY(cosine_is_lost(&control, r, work, s, z, run));
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
                      (ep_axis){"width M", .log = true}, (ep_axis){"epoch", .log = false}));
  EP_TRY(claim_draw(figure, "measured", NULL, &c[0], false));
  r->pass = g.all && !control;
  EP_TRY(ep_claim_note(r, "K(0) has entries of about 1."));
  if (g.all && first[c->count - 1] > first[0])
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
      r,
      &(wide_setting){
          .data = wide_images(size), .rate = 1, .track = "ntk", .similarity = EP_SIMILARITY_DOT},
      &sizes[size], run);
}

ep_status wide_fig5m_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                        const char *images) {
  const wide_setting s = {.data = images,
                          .rate = 1,
                          .track = "ntk",
                          .track_points = wide_points(size),
                          .similarity = EP_SIMILARITY_DOT,
                          .depth = 3};
  return unbounded(r, &s, &deep_sizes[size], run);
}

ep_status wide_fig5m(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig5m_on(r, size, run, wide_images(size));
}
