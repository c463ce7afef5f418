/* WIDE with W'W = I beyond its figures: the time scale, the dot product (Remark 15), the lower bound of the cosine (eq. 9). */
#include "study/wide.h"

#include <math.h>
#include <string.h>

/* ---- the time scale. V moves by rate x t / M and C with it; W follows C by rate x t, so that the loss does once W has
 * caught up: from half of the time on. */

enum { TIMES = 10, LATE = 5, SETTINGS = 4 };
static const struct {
  double width, rate; /* as multiples */
} settings[SETTINGS] = {{1, 1}, {2, 1}, {2, 2}, {4, 4}};

/* out: C drift at TIMES equal times, then the fall of the loss there */
static ep_status measure_times(double *out, const wide_fit *f) {
  for (int j = 0; j < TIMES; j++) {
    const ptrdiff_t row = (ptrdiff_t)f->setup->fit.track_every * (j + 1);
    out[j] = wide_history(&f->info, "c_frobenius", row);
    out[TIMES + j] = wide_history(&f->info, "loss", 0) - wide_history(&f->info, "loss", row);
  }
  return EP_OK;
}

/* curves over time of one setting: (TIMES, seeds) of each quantity; x is rate t / M */
static ep_status one_setting(claim_curve c[2], ep_work *work, const wide_size *z, int k,
                             const char *images, const ep_run_config *run) {
  const long width = (long)((double)z->width[0] * settings[k].width);
  const wide_setting s = {
      .data = images, .method = "grassmann", .track = "c", .rate = settings[k].rate};
  const wide_size here = {z->anchors,
                          (long)((double)z->epochs * settings[k].width / settings[k].rate),
                          z->seeds,
                          1,
                          {width}};
  for (int q = 0; q < 2; q++) EP_TRY(claim_curve_new(&c[q], work, TIMES, z->seeds));
  for (int seed = 0; seed < z->seeds; seed++) {
    double out[2 * TIMES];
    wide_fit f;
    wide_setting timed = s;
    timed.track_every = here.epochs / TIMES;
    ep_status st = wide_begin(&f, &timed, &here, width, run->seed + seed, run);
    if (!st) st = wide_train(&f);
    if (!st) st = measure_times(out, &f);
    wide_free(&f);
    EP_TRY(st);
    for (int q = 0; q < 2; q++)
      for (int j = 0; j < TIMES; j++) {
        c[q].x[j] = s.rate * (double)(timed.track_every * (j + 1)) / (double)width;
        *claim_at(&c[q], j, seed) = out[q * TIMES + j];
      }
  }
  return EP_OK;
}

/* largest over the late times of (largest over settings) / (least), medians over seeds */
static double spread_of(const claim_curve c[SETTINGS][2], int q) {
  double worst = 1;
  for (int j = TIMES - LATE; j < TIMES; j++) {
    double low = INFINITY, high = 0;
    for (int k = 0; k < SETTINGS; k++) {
      const double m = claim_median(&c[k][q], j);
      low = fmin(low, m), high = fmax(high, m);
    }
    worst = fmax(worst, high / low);
  }
  return worst;
}

/* the same curves against the epoch, and against rate t / M: a panel each */
static ep_status draw_collapse(ep_claim_result *r, const claim_curve c[SETTINGS][2], int q,
                               const wide_size *z) {
  static const char *const
      names[] = {"drift", "loss"},
      *const titles[] = {"C against time", "The loss against time"},
      *const alts[] =
          {"Change of C for several widths and rates, against the epoch and against rate x t / M.",
           "Fall of the loss for several widths and rates, against the epoch and against rate x t "
           "/ M."},
      *const y[] = {"|C(t) - C(0)|_F", "fall of the loss"};
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, names[q], EP_FIGURE_LINE, titles[q], alts[q],
                      (ep_axis){"time", .log = true}, (ep_axis){y[q], .log = true}));
  for (int k = 0; k < SETTINGS; k++) {
    char name[64];
    double epoch[TIMES];
    claim_curve against = c[k][q];
    const double width = (double)z->width[0] * settings[k].width;
    snprintf(name, sizeof name, "M = %.0f, rate %g", width, settings[k].rate);
    EP_TRY(claim_draw(figure, name, "rate x t / M", &c[k][q], false));
    for (int j = 0; j < TIMES; j++) epoch[j] = c[k][q].x[j] * width / settings[k].rate;
    against.x = epoch;
    EP_TRY(claim_draw(figure, name, "epoch t", &against, false));
  }
  return EP_OK;
}

static ep_status timescale(ep_claim_result *r, ep_work *work, const wide_size *z,
                           const char *images, const ep_run_config *run) {
  claim_curve c[SETTINGS][2];
  double spread[2], ratio;
  for (int k = 0; k < SETTINGS; k++) {
    EP_TRY(ep_run_step("settings", k, SETTINGS));
    EP_TRY(one_setting(c[k], work, z, k, images, run));
  }
  for (int q = 0; q < 2; q++) {
    spread[q] = spread_of((const claim_curve(*)[2])c, q);
    EP_TRY(draw_collapse(r, (const claim_curve(*)[2])c, q, z));
  }
  /* rate 1 and the last common epoch: M at its end, 2 M half way */
  ratio = claim_median(&c[0][0], TIMES - 1) / claim_median(&c[1][0], TIMES / 2 - 1);
  r->pass = spread[0] <= 1.25 && spread[1] <= 1.25 && ratio > 1.25;
  EP_TRY(ep_claim_measure(r, "spread_of_drift", spread[0]));
  EP_TRY(ep_claim_measure(r, "spread_of_loss", spread[1]));
  EP_TRY(ep_claim_measure(r, "control_ratio_at_equal_epoch", ratio));
  for (int k = 0; k < SETTINGS; k++) {
    char name[64];
    snprintf(name, sizeof name, "drift_at_end_M_%.0f_rate_%g",
             (double)z->width[0] * settings[k].width, settings[k].rate);
    EP_TRY(ep_claim_measure(r, name, claim_median(&c[k][0], TIMES - 1)));
  }
  if (r->pass)
    EP_TRY(ep_claim_found(
        r,
        "The drift of C and the fall of the loss are functions of rate x t / M: "
        "at equal rate x t / M they agree to %.0f and %.0f %% from width %ld to "
        "%ld. So at a fixed time C moves less at larger widths because training has got less far; "
        "how far it has moved where training ends is asked in wide-open.",
        100 * (spread[0] - 1), 100 * (spread[1] - 1), z->width[0], z->width[1]));
  return wide_say(r, &(wide_setting){.data = images, .method = "grassmann", .rate = 1}, z);
}

ep_status wide_timescale(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {
      {30, 200, 5, 2, {100, 400}}, {100, 400, 5, 2, {200, 800}}, {1000, 500, 5, 2, {500, 2000}}};
  ep_work work = {0};
  const ep_status st = timescale(r, &work, &sizes[size], wide_images(size), run);
  ep_work_free(&work);
  return st;
}

/* ---- Remark 15: the dot product with W'W = I */

static ep_status measure_dot(double *out, wide_fit *f, bool first_seed, void *user) {
  const long *at = user; /* epoch at which the drift is read */
  (void)first_seed;
  out[0] = wide_history(&f->info, "c_frobenius", *at);
  out[1] = wide_diverged(f) ? (double)f->info.epochs : NAN;
  return EP_OK;
}

static ep_status remark15(ep_claim_result *r, ep_work *work, const wide_setting *s,
                          const wide_size *z, const ep_run_config *run) {
  wide_setting free = *s;
  claim_curve c[2], plain[2];
  ep_power_law drift, lost, lost_plain;
  json_t *figure;
  long at = 100;
  free.method = "gd";
  free.rate = 1;
  EP_TRY(wide_sweep_histories(c, 2, work, s, z, measure_dot, &at, run));
  EP_TRY(wide_sweep_histories(plain, 2, work, &free, z, measure_dot, &at, run));
  EP_TRY(wide_law(&drift, r, "c_drift_at_epoch_100", &c[0]));
  EP_TRY(wide_law(&lost, r, "epoch_lost", &c[1]));
  EP_TRY(wide_law(&lost_plain, r, "control_epoch_lost", &plain[1]));
  EP_TRY(wide_width_figure(
      &figure, r, "lost", "When training with the dot product is lost",
      "Epoch at which the loss cannot be used any more against width, with W'W = I and without.",
      "epoch"));
  EP_TRY(claim_draw(figure, "W'W = I", NULL, &c[1], false));
  EP_TRY(claim_draw(figure, "control: W free", NULL, &plain[1], false));
  r->pass = wide_falls(&drift) && lost.low > 0.8 && lost.high < 1.2 && lost_plain.high < 0.5;
  if (r->pass)
    EP_TRY(ep_claim_found(r,
                          "With W'W = I and the dot product C does not leave within log M steps: "
                          "its change at a fixed "
                          "epoch falls with exponent %.2f (%.2f to %.2f), and training is lost at "
                          "an epoch that grows "
                          "as M^%.2f (%.2f to %.2f); without the constraint as M^%.2f.",
                          drift.exponent, drift.low, drift.high, lost.exponent, lost.low, lost.high,
                          lost_plain.exponent));
  EP_TRY(ep_claim_note(r, "Control: plain descent with the dot product at rate 1."));
  return wide_say(r, s, z);
}

ep_status wide_remark15(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 4000, 3, 4, {20, 40, 80, 160}},
                                    {50, 40000, 5, 4, {50, 100, 200, 400}},
                                    {200, 100000, 5, 4, {100, 200, 400, 800}}};
  const wide_setting s = {.data = wide_images(size),
                          .method = "grassmann",
                          .similarity = EP_SIMILARITY_DOT,
                          .track = "c",
                          .track_every = 100,
                          .rate = 10};
  ep_work work = {0};
  const ep_status st = remark15(r, &work, &s, &sizes[size], run);
  ep_work_free(&work);
  return st;
}

/* ---- eq. 9: the similarity with the norms of the features in the place of the cosine */

typedef struct {
  ptrdiff_t pairs, negative, reversed,
      against; /* f'f < 0; bound above the cosine; one without the other */
  double loss; /* linear, of the cosine itself */
} bound_count;

/* f (P x Z): outputs; u: W'psi, with the norms of the features */
static bound_count count_pairs(const ep_mat *f, const ep_mat *u, const ep_pairs *p, double delta) {
  bound_count c = {0};
  for (ptrdiff_t n = 0; n < p->anchors; n++)
    for (ptrdiff_t q = p->start[n]; q < p->start[n + 1]; q++) {
      const ep_mat a = ep_mat_rows(f, p->anchor[n], 1), b = ep_mat_rows(f, p->partner[q], 1);
      double dot = 0, bound = 0;
      for (ptrdiff_t z = 0; z < f->cols; z++) {
        dot += ep_get(&a, 0, z) * ep_get(&b, 0, z);
        bound += ep_get(u, p->anchor[n], z) * ep_get(u, p->partner[q], z);
      }
      const double cosine =
          dot / ((sqrt(ep_mat_norm2(&a)) + delta) * (sqrt(ep_mat_norm2(&b)) + delta));
      c.loss -= p->sign[q] * cosine / (double)p->anchors;
      if (dot == 0) continue; /* a blank crop */
      const bool reversed = bound > cosine;
      c.pairs++, c.negative += dot < 0, c.reversed += reversed;
      c.against += reversed != (dot < 0);
    }
  return c;
}

static ep_status count_in(bound_count *c, ep_model *m, const wide_fit *f) {
  ep_mat F = {0}, U = {0};
  ep_status st = wide_embed(&F, m, &f->points.X);
  if (!st) st = ep_model_normalise(m);
  if (!st) st = wide_embed(&U, m, &f->points.X);
  if (!st) *c = count_pairs(&F, &U, &f->points.pairs, f->setup->objective.delta);
  ep_mat_free(&F);
  ep_mat_free(&U);
  return st;
}

enum { REVERSED_START, REVERSED, AGAINST, LOSS_OF_BOUND, LOSS_OF_COSINE, DRIFT_OF_COSINE, EQ9 };

/* what the loss of the cosine and C become if the cosine itself is trained, from the same start */
static ep_status train_cosine(double *out, const wide_fit *f) {
  ep_setup *const setup = f->setup;
  ep_model *m = NULL;
  ep_fit_info info = {0};
  bound_count c = {0};
  setup->closed.norms = EP_NORMS_OUTPUTS;
  ep_status st = wide_fit_again(&m, &info, f, NULL, setup->fit.epochs);
  setup->closed.norms = EP_NORMS_FEATURES;
  if (!st) {
    const ep_bound_run run = {ep_model_net(f->start), ep_model_net(m), &f->points, setup,
                              info.epochs};
    ep_measured drift;
    st = ep_bound_measure(&drift, EP_BOUND_COVARIANCE, &run);
    if (!st) out[DRIFT_OF_COSINE] = drift.value;
  }
  if (!st) st = count_in(&c, m, f);
  out[LOSS_OF_COSINE] = c.loss;
  ep_model_free(m);
  ep_fit_info_free(&info);
  return st;
}

static ep_status measure_eq9(double *out, wide_fit *f, bool first_seed, void *user) {
  bound_count before, after;
  (void)first_seed;
  (void)user;
  EP_TRY(train_cosine(out, f));
  EP_TRY(count_in(&before, f->start, f));
  EP_TRY(count_in(&after, f->model, f));
  out[REVERSED_START] = (double)before.reversed / (double)before.pairs;
  out[REVERSED] = (double)after.reversed / (double)after.pairs;
  out[AGAINST] = (double)(before.against + after.against);
  out[LOSS_OF_BOUND] = after.loss;
  return EP_OK;
}

static ep_status eq9(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                     const ep_run_config *run) {
  claim_curve c[EQ9], other[EQ9];
  wide_setting odd = *s; /* features of both signs */
  ep_power_law law;
  json_t *figure;
  odd.activation = "tanh";
  double against = 0;
  EP_TRY(wide_sweep(c, EQ9, work, s, z, measure_eq9, NULL, run));
  EP_TRY(wide_sweep(other, EQ9, work, &odd, z, measure_eq9, NULL, run));
  for (ptrdiff_t i = 0; i < c->count; i++)
    against += claim_worst(&c[AGAINST], i) + claim_worst(&other[AGAINST], i);
  const double least = fmin(claim_least(&c[REVERSED], 0), claim_least(&other[REVERSED], 0));
  EP_TRY(wide_law(&law, r, "c_drift_of_the_cosine", &c[DRIFT_OF_COSINE]));
  EP_TRY(wide_medians(r, "share_reversed_at_start", &c[REVERSED_START]));
  EP_TRY(wide_medians(r, "share_reversed_after_training", &c[REVERSED]));
  EP_TRY(wide_medians(r, "tanh_share_reversed_at_start", &other[REVERSED_START]));
  EP_TRY(wide_medians(r, "tanh_share_reversed_after_training", &other[REVERSED]));
  EP_TRY(wide_medians(r, "cosine_loss_trained_on_bound", &c[LOSS_OF_BOUND]));
  EP_TRY(wide_medians(r, "cosine_loss_trained_on_cosine", &c[LOSS_OF_COSINE]));
  EP_TRY(ep_claim_measure(r, "pairs_against_the_sign", against));
  EP_TRY(ep_claim_measure(r, "control_least_share_reversed", least));
  EP_TRY(claim_figure(&figure, r, "reversed", EP_FIGURE_LINE, "Where the lower bound is above",
                      "Share of the pairs whose similarity with the norms of the features is above "
                      "their cosine, before and after training, against width.",
                      (ep_axis){"width M", .log = true},
                      (ep_axis){"share of pairs", .log = false}));
  EP_TRY(claim_draw(figure, "at the start", "relu", &c[REVERSED_START], false));
  EP_TRY(claim_draw(figure, "after training", "relu", &c[REVERSED], false));
  EP_TRY(claim_draw(figure, "at the start", "tanh", &other[REVERSED_START], false));
  EP_TRY(claim_draw(figure, "after training", "tanh", &other[REVERSED], false));
  r->pass = against == 0 && least > 0 && law.high < 0;
  const ptrdiff_t last = c->count - 1;
  if (against == 0)
    EP_TRY(ep_claim_found(
        r,
        "Eq. 9 is reversed in the pairs with f(x)'f(y) < 0 and in no other: after training in %.0f "
        "to "
        "%.0f %% of the pairs with relu (least to largest width; its features overlap more and "
        "more), "
        "in %.0f to %.0f %% with tanh. Trained on the bound the loss of the cosine itself falls to "
        "%.2f, trained on the cosine to %.2f (relu, largest width).",
        100 * claim_median(&c[REVERSED], 0), 100 * claim_median(&c[REVERSED], last),
        100 * claim_median(&other[REVERSED], 0), 100 * claim_median(&other[REVERSED], last),
        claim_median(&c[LOSS_OF_BOUND], last), claim_median(&c[LOSS_OF_COSINE], last)));
  EP_TRY(ep_claim_note(r, "The cosine itself: fit --method grassmann --norms outputs."));
  return wide_say(r, s, z);
}

ep_status wide_eq9(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  static const wide_size sizes[] = {{30, 200, 3, 3, {50, 100, 200}},
                                    {100, 500, 5, 4, {100, 200, 400, 800}},
                                    {1000, 500, 5, 4, {100, 300, 1000, 3000}}};
  const wide_setting s = {.data = wide_images(size), .method = "grassmann", .rate = 1};
  ep_work work = {0};
  const ep_status st = eq9(r, &work, &s, &sizes[size], run);
  ep_work_free(&work);
  return st;
}
