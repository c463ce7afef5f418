/* What WIDE leaves open: convergence, depth, data, starts. */
#include "study/wide.h"

#include <eigenpair/random.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <string.h>

/* ---- until the loss settles */

typedef struct {
  bool settled; /* every run so far */
} waiting;

/* cosines of the principal angles of two spans: least and mean */
static ep_status cosines(double *least, double *mean, const ep_mat *A, const ep_mat *B) {
  double *angle;
  ptrdiff_t count = 0;
  ep_work work = {0};
  ep_status st = ep_work_get(&work, &angle, A->cols, sizeof *angle);
  if (!st) st = ep_principal_angles(angle, &count, A, B);
  *least = count > 0 ? cos(angle[count - 1]) : NAN;
  *mean = 0;
  for (ptrdiff_t k = 0; !st && k < count; k++) *mean += cos(angle[k]) / (double)count;
  ep_work_free(&work);
  return st;
}

static ep_status measure_gd(double *out, wide_fit *f, bool first_seed, void *user) {
  waiting *g = user;
  (void)first_seed;
  g->settled = g->settled && f->info.outcome == EP_CONVERGED;
  out[0] = wide_history(&f->info, "ntk_max", -1);
  out[1] = (double)f->info.epochs;
  return EP_OK;
}

enum { C_DRIFT, EPOCHS, LEAST, MEAN, LOSS, LEAST_AT_END, MEAN_AT_END, ORTHOGONAL };

/* the trained W beside PCA of C with the features of `net`: cosines at out[least] and the next */
static ep_status beside_pca(double *out, int least, double *loss, const wide_fit *f,
                            const ep_net *net) {
  ep_model *pca = NULL;
  ep_fit_info info = {0};
  ep_status st = wide_fit_from(&pca, &info, f, "pca", net, 0);
  if (!st)
    st = cosines(&out[least], &out[least + 1], &ep_model_net(f->model)->W, &ep_model_net(pca)->W);
  *loss = info.loss;
  ep_model_free(pca);
  ep_fit_info_free(&info);
  return st;
}

static ep_status measure_orthogonal(double *out, wide_fit *f, bool first_seed, void *user) {
  waiting *g = user;
  double loss, unused;
  (void)first_seed;
  g->settled = g->settled && f->info.outcome == EP_CONVERGED;
  out[C_DRIFT] = wide_history(&f->info, "c_frobenius", -1);
  out[EPOCHS] = (double)f->info.epochs;
  EP_TRY(beside_pca(out, LEAST, &loss, f, ep_model_net(f->start)));
  out[LOSS] = loss - f->info.loss;
  return beside_pca(out, LEAST_AT_END, &unused, f, ep_model_net(f->model));
}

static ep_status draw_open(ep_claim_result *r, const claim_curve *kernel, const claim_curve *c) {
  json_t *figure;
  EP_TRY(wide_width_figure(&figure, r, "drift", "Drift once the loss has settled",
                           "Change of the tangent kernel (plain descent) and of C (orthogonal "
                           "output layer) against width, with the range over seeds.",
                           "change since the start"));
  EP_TRY(claim_draw(figure, "largest change of K", NULL, kernel, false));
  EP_TRY(claim_draw(figure, "|C(T) - C(0)|_F", NULL, c, false));
  EP_TRY(wide_slope(figure, NULL, kernel));
  EP_TRY(claim_figure(&figure, r, "cosines", EP_FIGURE_LINE, "The trained W and PCA of C(0)",
                      "Cosines of the principal angles between the trained output layer and PCA "
                      "of C(0): 1 would be the same span.",
                      (ep_axis){"width M", .log = true}, (ep_axis){"cosine", .log = false}));
  EP_TRY(claim_draw(figure, "least", NULL, &c[LEAST], false));
  EP_TRY(claim_draw(figure, "mean", NULL, &c[MEAN], false));
  return claim_draw(figure, "control: mean, PCA of C(T)", NULL, &c[MEAN_AT_END], true);
}

static ep_status say_open(ep_claim_result *r, const ep_power_law *kernel, const ep_power_law *C,
                          const claim_curve *cosine, bool settled) {
  const ptrdiff_t last = cosine->count - 1;
  if (!settled)
    return ep_claim_found(r, "Not every run settled within its epochs: the question stays open.");
  EP_TRY(ep_claim_found(
      r, "Trained until it settles, the drift of the kernel %s: exponent %.2f (%.2f to %.2f).",
      kernel->high < 0 ? "still falls with width" : "does not fall clearly with width",
      kernel->exponent, kernel->low, kernel->high));
  EP_TRY(ep_claim_found(r, "C, with an orthogonal output layer, %s: exponent %.2f (%.2f to %.2f).",
                        C->high < -0.1  ? "drifts less with width there too"
                        : C->low > -0.1 ? "has moved by then about as far at every width"
                                        : "drifts by then with an unclear dependence on width",
                        C->exponent, C->low, C->high));
  const double near = claim_median(cosine, last);
  return ep_claim_found(r,
                        "The trained output layer %s: mean principal cosine %.2f at the largest "
                        "width (%.2f to %.2f over seeds).",
                        near > 0.9 ? "spans nearly PCA of C(0)" : "is not PCA of C(0)", near,
                        claim_least(cosine, last), claim_worst(cosine, last));
}

static ep_status open_run(ep_claim_result *r, ep_work *work, wide_setting *s, const wide_size *z,
                          const ep_run_config *run) {
  waiting g = {true};
  claim_curve kernel[2], c[ORTHOGONAL];
  ep_power_law a, b;
  s->track = "ntk";
  EP_TRY(wide_sweep(kernel, 2, work, s, z, measure_gd, &g, run));
  s->track = "c", s->method = "grassmann";
  EP_TRY(wide_sweep(c, ORTHOGONAL, work, s, z, measure_orthogonal, &g, run));
  EP_TRY(wide_law(&a, r, "ntk_drift", &kernel[0]));
  EP_TRY(wide_law(&b, r, "c_drift", &c[C_DRIFT]));
  EP_TRY(wide_medians(r, "epochs_gd", &kernel[1]));
  EP_TRY(wide_medians(r, "epochs_grassmann", &c[EPOCHS]));
  EP_TRY(wide_medians(r, "least_principal_cosine_to_pca", &c[LEAST]));
  EP_TRY(wide_medians(r, "mean_principal_cosine_to_pca", &c[MEAN]));
  EP_TRY(wide_medians(r, "loss_of_pca_less_trained", &c[LOSS]));
  EP_TRY(ep_claim_measure(r, "mean_principal_cosine_at_largest_width",
                          claim_median(&c[MEAN], c->count - 1)));
  double same = 1; /* the control: the least of all runs */
  for (ptrdiff_t i = 0; i < c->count; i++) same = fmin(same, claim_least(&c[MEAN_AT_END], i));
  EP_TRY(ep_claim_measure(r, "control_least_mean_cosine_to_pca_of_C_at_the_end", same));
  EP_TRY(ep_claim_measure(r, "all_settled", g.settled));
  EP_TRY(draw_open(r, kernel, c));
  r->pass = g.settled && a.high - a.low < 1 && b.high - b.low < 1 && same > 0.9;
  EP_TRY(say_open(r, &a, &b, &c[MEAN], g.settled));
  s->method = NULL;
  return wide_say(r, s, z);
}

ep_status wide_open(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 30000, 3, 3, {50, 100, 200}},
                                    {50, 50000, 5, 4, {50, 100, 200, 400}},
                                    {200, 100000, 5, 4, {100, 200, 500, 1000}}};
  wide_setting s = {.data = wide_images(size),
                    .rate = 10,
                    .tolerance = 1e-4,
                    .patience = 100,
                    .track_points = wide_points(size)};
  ep_work work = {0};
  const ep_status st = open_run(r, &work, &s, &sizes[size], run);
  ep_work_free(&work);
  return st;
}

/* ---- depth, data: the same drift */

static const wide_size open_sizes[] = {{30, 200, 3, 4, {50, 100, 200, 400}},
                                       {100, 500, 5, 4, {100, 200, 400, 800}},
                                       {1000, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};

static bool constant(const wide_drift *d) {
  return d->width.exponent <= -0.4 && d->width.high < 0 && d->diverged == 0;
}

/* enough is seen to answer by */
static bool known(const wide_drift *d) {
  return d->diverged > 0 || d->width.high - d->width.low < 1;
}

static ep_status say_constant(ep_claim_result *r, const char *what, const wide_drift *d) {
  if (d->diverged)
    return ep_claim_found(r, "%s: %d of the runs diverged, the kernel does not stay constant.",
                          what, d->diverged);
  return ep_claim_found(r, "%s: the kernel %s, exponent %.2f (%.2f to %.2f).", what,
                        constant(d) ? "stays nearly constant" : "does not stay constant",
                        d->width.exponent, d->width.low, d->width.high);
}

ep_status wide_open_depth(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{20, 100, 3, 4, {25, 50, 100, 200}},
                                    {50, 200, 5, 4, {50, 100, 200, 400}},
                                    {1000, 500, 3, 4, {50, 100, 300, 1000}}};
  bool control;
  r->pass = true;
  for (int depth = 1; depth <= 4; depth++) {
    EP_TRY(ep_run_step("depths", depth - 1, 4));
    const wide_setting s = {.data = wide_images(size),
                            .depth = depth,
                            .rate = 1,
                            .track = "ntk",
                            .track_points = wide_points(size)};
    wide_drift d;
    char name[24];
    snprintf(name, sizeof name, "depth%d", depth);
    EP_TRY(wide_drift_check(&d, r, name, &wide_of_K, &s, &sizes[size], run));
    snprintf(name, sizeof name, "depth %d", depth);
    EP_TRY(say_constant(r, name, &d));
    r->pass = r->pass && known(&d);
    if (depth > 1) continue;
    EP_TRY(wide_dot_falls(&control, r, &s, &sizes[size], run));
    r->pass = r->pass && !control;
  }
  return wide_say(
      r, &(wide_setting){.data = wide_images(size), .rate = 1, .track_points = wide_points(size)},
      &sizes[size]);
}

ep_status wide_open_data(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const wide_setting s = {
      .data = size == EP_CLAIM_QUICK ? "sphere:10" : "fashion", .rate = 1, .track = "ntk"};
  wide_drift d;
  bool control;
  EP_TRY(wide_drift_check(&d, r, "", &wide_of_K, &s, &open_sizes[size], run));
  EP_TRY(wide_dot_falls(&control, r, &s, &open_sizes[size], run));
  r->pass = known(&d) && !control;
  EP_TRY(say_constant(r, s.data, &d));
  return wide_say(r, &s, &open_sizes[size]);
}

/* ---- starts: columns of W(0) = sqrt(rho) w 1' + sqrt(1 - rho) W, w a vector of its own: any two correlate by rho */

static ep_status correlate(const ep_mat *W, double rho, long seed) {
  ep_mat w;
  EP_TRY(ep_mat_new(&w, EP_DOUBLE, 1, W->rows));
  ep_random_fill_normal(&w, (uint64_t)seed, EP_STREAM_START, 1000);
  for (ptrdiff_t m = 0; m < W->rows; m++)
    for (ptrdiff_t z = 0; z < W->cols; z++)
      ep_set(W, m, z, sqrt(rho) * *ep_d(&w, 0, m) + sqrt(1 - rho) * ep_get(W, m, z));
  ep_mat_free(&w);
  return EP_OK;
}

static ep_status rank_after(double *before, double *after, wide_fit *f, double rho) {
  ep_mat E = {0}, F = {0};
  ep_status st = wide_start(f);
  if (!st) st = correlate(&ep_model_net(f->start)->W, rho, f->setup->run.seed);
  if (!st) st = wide_train_from_start(f);
  if (!st) st = wide_embed(&E, f->start, &f->points.X);
  if (!st) st = wide_embed(&F, f->model, &f->points.X);
  if (!st) st = ep_rankme(before, &E);
  if (!st) st = ep_rankme(after, &F);
  ep_mat_free(&E);
  ep_mat_free(&F);
  return st;
}

enum { RHOS = 6 };
static const double rhos[RHOS] = {0, 0.5, 0.9, 0.99, 0.999, 1};

static ep_status starts(ep_claim_result *r, ep_work *work, const wide_setting *s,
                        const wide_size *z, const ep_run_config *run) {
  claim_curve c[2];
  json_t *figure;
  for (int k = 0; k < 2; k++) EP_TRY(claim_curve_new(&c[k], work, RHOS, z->seeds));
  int left = 0,
      lower =
          0; /* seeds that left rank 1; that end lower from 0.99 than from independent columns */
  for (int i = 0; i < RHOS; i++)
    for (int k = 0; k < z->seeds; k++) {
      wide_fit f;
      EP_TRY(ep_run_step("starts", i, RHOS));
      c[0].x[i] = c[1].x[i] = rhos[i];
      ep_status st = wide_begin(&f, s, z, z->width[0], run->seed + k, run);
      if (!st) st = rank_after(claim_at(&c[0], i, k), claim_at(&c[1], i, k), &f, rhos[i]);
      wide_free(&f);
      EP_TRY(st);
      if (rhos[i] == 1) left += !(fabs(*claim_at(&c[1], i, k) - 1) <= 1e-6);
      if (rhos[i] == 0.99) lower += *claim_at(&c[1], i, k) < *claim_at(&c[1], 0, k);
    }
  r->pass = left == 0 && claim_least(&c[1], 0) > 2; /* independent columns: the control */
  EP_TRY(ep_claim_found(
      r,
      "RankMe of the outputs after training is %.1f for independent columns, %.1f at correlation "
      "0.9, %.1f at 0.99 (%.1f to %.1f over seeds); at the start it was %.1f, %.1f, %.1f "
      "(medians).",
      claim_median(&c[1], 0), claim_median(&c[1], 2), claim_median(&c[1], 3), claim_least(&c[1], 3),
      claim_worst(&c[1], 3), claim_median(&c[0], 0), claim_median(&c[0], 2),
      claim_median(&c[0], 3)));
  EP_TRY(ep_claim_measure(r, "seeds", z->seeds));
  EP_TRY(ep_claim_measure(r, "seeds_that_left_rank_1", left));
  EP_TRY(ep_claim_measure(r, "seeds_lower_at_0.99_than_independent", lower));
  if (left)
    EP_TRY(
        ep_claim_found(r,
                       "Equal columns stay equal for ever in exact arithmetic only. The products "
                       "round the columns of W differently, by 1e-16 in double precision; "
                       "training magnifies that, and %d of %d starts left rank 1.",
                       left, z->seeds));
  EP_TRY(ep_claim_measure_all(r, "correlation_of_columns", rhos, RHOS));
  EP_TRY(wide_medians(r, "rank_at_start", &c[0]));
  EP_TRY(wide_medians(r, "rank_after_training", &c[1]));
  EP_TRY(claim_figure(&figure, r, "rank", EP_FIGURE_LINE, "Rank of the outputs",
                      "RankMe of the outputs before and after training against the correlation of "
                      "the columns of W at the start, with the range over seeds.",
                      (ep_axis){"correlation of columns of W(0)", .log = false},
                      (ep_axis){"RankMe", .log = false}));
  EP_TRY(claim_draw(figure, "at the start", NULL, &c[0], false));
  EP_TRY(claim_draw(figure, "after training", NULL, &c[1], false));
  return wide_say(r, s, z);
}

ep_status wide_open_start(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {
      {30, 500, 3, 1, {100}}, {100, 500, 5, 1, {400}}, {1000, 500, 5, 1, {1000}}};
  const wide_setting s = {.data = wide_images(size), .rate = 1};
  ep_run_config in_double = *run;
  ep_work work = {0};
  in_double.precision = EP_DOUBLE;
  const ep_status st = starts(r, &work, &s, &sizes[size], &in_double);
  ep_work_free(&work);
  return st;
}
