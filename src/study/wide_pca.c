/* WIDE section 4: with an orthogonal output layer the model is PCA of C(0). */
#include "study/wide.h"

#include "study/size.h"

#include <eigenpair/subspace.h>
#include <math.h>

static const wide_size pca_sizes[] = {{50, 200, 3, 4, {50, 100, 200, 400}},
                                      {100, 500, 5, 4, {100, 200, 500, 1000}},
                                      {1000, 500, 5, 5, {100, 300, 1000, 3000, 10000}}};
/* ---- Fig. 4 left: the drift of C */

ep_status wide_fig4l_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                        const char *images) {
  const wide_setting s = {.data = images, .method = "grassmann", .track = "c", .rate = 1};
  wide_drift d, other;
  EP_TRY(wide_drift_check(&d, r, "", &wide_of_C, &s, &pca_sizes[size], run));
  const wide_setting scaled = wide_same_progress(&s, &pca_sizes[size]);
  EP_TRY(wide_drift_check(&other, r, "control", &wide_of_C, &scaled, &pca_sizes[size], run));
  r->pass = wide_falls(&d.width) && d.diverged == 0 && !wide_falls(&other.width);
  return wide_say(r, &s, &pca_sizes[size]);
}

ep_status wide_fig4l(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig4l_on(r, size, run, wide_images(size));
}

/* ---- Fig. 4 middle: W moves faster than C */

typedef struct {
  wide_times W, C; /* figure NULL: not drawn */
} race;

static ep_status measure_race(double *out, wide_fit *f, bool first_seed, void *user) {
  race *g = user;
  double size;
  EP_TRY(ep_covariance_size(&size, f->start, &f->points));
  out[0] = INFINITY;
  for (ptrdiff_t row = 1; row < f->info.history.rows; row++) {
    const double c = wide_history(&f->info, "c_frobenius", row) / size;
    if (c > 0) out[0] = fmin(out[0], wide_history(&f->info, "w_change", row) / c);
  }
  (void)first_seed;
  if (!g->W.figure) return EP_OK;
  EP_TRY(wide_times_add(&g->W, f, 1));
  return wide_times_add(&g->C, f, 1 / size);
}

/* least over times, runs and widths */
static ep_status race_of(double *all, double least[WIDE_WIDTHS], claim_curve *c, ep_work *work,
                         race *g, const wide_setting *s, const wide_size *z,
                         const ep_run_config *run) {
  const ep_status st = wide_sweep_histories(c, 1, work, s, z, measure_race, g, run);
  ep_work_free(&g->W.work);
  ep_work_free(&g->C.work);
  EP_TRY(st);
  *all = claim_whole(c) ? INFINITY : NAN;
  for (ptrdiff_t i = 0; i < c->count; i++) {
    least[i] = claim_least(c, i);
    if (!(least[i] >= *all)) *all = least[i];
  }
  return EP_OK;
}

static ep_status fig4m(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  race g = {.W = {.column = "w_change", .panel = "W", .seeds = z->seeds},
            .C = {.column = "c_frobenius", .panel = "C", .seeds = z->seeds}};
  race unseen = {0};
  wide_setting fast = *s;
  wide_size narrow = *z;
  claim_curve c;
  double least[WIDE_WIDTHS], all, control, unused[WIDE_WIDTHS];
  fast.rate = 30 * s->rate;
  narrow.widths = 1;
  EP_TRY(
      claim_figure(&g.W.figure, r, "race", EP_FIGURE_LINE, "W and C over time",
                   "Relative change of W and of C after so many epochs, a line a width, mean and "
                   "deviation over the seeds.",
                   (ep_axis){"epoch", .log = true}, (ep_axis){"relative change", .log = true}));
  g.C.figure = g.W.figure;
  EP_TRY(race_of(&all, least, &c, work, &g, s, z, run));
  EP_TRY(ep_claim_measure_all(r, "widths", c.x, c.count));
  EP_TRY(ep_claim_measure_all(r, "least_ratio_of_W_to_C", least, c.count));
  EP_TRY(ep_claim_measure(r, "least_ratio", all));
  EP_TRY(race_of(&control, unused, &c, work, &unseen, &fast, &narrow, run));
  EP_TRY(ep_claim_measure(r, "control_least_ratio", control));
  r->pass = all > 1 && control < 1;
  return wide_say(r, s, z);
}

ep_status wide_fig4m_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                        const char *images) {
  const wide_setting s = {.data = images, .method = "grassmann", .track = "c,weights", .rate = 1};
  ep_work work = {0};
  const ep_status st = fig4m(r, &work, &s, &pca_sizes[size], run);
  ep_work_free(&work);
  return st;
}

ep_status wide_fig4m(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig4m_on(r, size, run, wide_images(size));
}

/* ---- Fig. 4 right: trained with C(t), and with C held at C(0) */

/* mean over points of |f(x) - f_frozen(x)| / |f_frozen(x)|: as they are, and after the best rotation */
static ep_status compare_outputs(double out[2], ep_work *work, const ep_mat *A, const ep_mat *B) {
  ep_procrustes_info info;
  ep_mat O;
  ptrdiff_t n = 0;
  out[0] = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++) { /* blank crops have f = 0 and are left out */
    const ep_mat a = ep_mat_rows(A, i, 1), b = ep_mat_rows(B, i, 1);
    const double norm = ep_mat_norm2(&b);
    if (norm > 0) out[0] += sqrt(ep_mat_distance2(&a, &b) / norm), n++;
  }
  out[0] /= (double)n;
  EP_TRY(ep_work_mat(work, &O, EP_DOUBLE, A->cols, A->cols));
  EP_TRY(ep_procrustes(&O, &info, A, B));
  out[1] = info.mean;
  return EP_OK;
}

static ep_status against_frozen(double *out, wide_fit *f, bool first_seed, void *user) {
  ep_model *frozen = NULL;
  ep_fit_info info = {0};
  ep_mat A = {0}, B = {0};
  ep_work work = {0};
  (void)first_seed;
  (void)user;
  f->setup->closed.frozen = true;
  ep_status st = wide_fit_again(&frozen, &info, f, NULL, f->setup->fit.epochs);
  f->setup->closed.frozen = false;
  if (!st) st = wide_embed(&A, f->model, &f->points.X);
  if (!st) st = wide_embed(&B, frozen, &f->points.X);
  if (!st) st = compare_outputs(out, &work, &A, &B);
  ep_mat_free(&A);
  ep_mat_free(&B);
  ep_model_free(frozen);
  ep_fit_info_free(&info);
  ep_work_free(&work);
  return st;
}

static ep_status fig4r(ep_claim_result *r, ep_work *work, const wide_setting *s, const wide_size *z,
                       const ep_run_config *run) {
  static const char *const names[] = {"difference", "difference_rotated"};
  const wide_setting scaled = wide_same_progress(s, z);
  claim_curve c[2], control[2];
  ep_power_law law[2], other;
  json_t *figure;
  EP_TRY(wide_sweep(c, 2, work, s, z, against_frozen, NULL, run));
  EP_TRY(wide_sweep(control, 2, work, &scaled, z, against_frozen, NULL, run));
  EP_TRY(wide_width_figure(&figure, r, "difference", "C frozen and C trained",
                           "Mean fractional difference of the outputs of training with C held at "
                           "C(0) and with C free, against width, with the range over seeds; the "
                           "control's rate grows with the width.",
                           "mean fractional difference"));
  EP_TRY(claim_draw(figure, "as they are", NULL, &c[0], false));
  EP_TRY(claim_draw(figure, "after the best rotation", NULL, &c[1], false));
  EP_TRY(claim_draw(figure, "control: rate grows with M", NULL, &control[1], false));
  EP_TRY(wide_slope(figure, NULL, &c[0]));
  for (int k = 0; k < 2; k++) EP_TRY(wide_law(&law[k], r, names[k], &c[k]));
  EP_TRY(wide_law(&other, r, "control_difference_rotated", &control[1]));
  r->pass = wide_falls(&law[0]) && wide_falls(&law[1]) && !wide_falls(&other);
  EP_TRY(ep_claim_note(r,
                       "Both trainings begin at the same V and W; mean over the points of "
                       "|f - f_frozen| / |f_frozen|, as they are and after the rotation of the "
                       "outputs that brings them closest. Control: the same at rate M over the "
                       "least width."));
  return wide_say(r, s, z);
}

ep_status wide_fig4r_on(ep_claim_result *r, ep_claim_size size, const ep_run_config *run,
                        const char *images) {
  const wide_setting s = {.data = images, .method = "grassmann", .rate = 1};
  ep_work work = {0};
  const ep_status st = fig4r(r, &work, &s, &pca_sizes[size], run);
  ep_work_free(&work);
  return st;
}

ep_status wide_fig4r(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return wide_fig4r_on(r, size, run, wide_images(size));
}

/* ---- Lemma 17: PCA of C(0) and PCA of C(t) */

/* largest over points of |O'u_t(x) - u_0(x)|, and over |u_0(x)| the mean: what the eye sees of it */
static ep_status measure_representation(double *out, wide_fit *f, bool first_seed, void *user) {
  const ep_bound_run run = {ep_model_net(f->start), ep_model_net(f->model), &f->points, f->setup,
                            f->info.epochs};
  ep_measured m;
  (void)first_seed;
  (void)user;
  EP_TRY(ep_bound_measure(&m, EP_BOUND_REPRESENTATION, &run));
  out[0] = m.value;
  out[1] = m.gap;
  return EP_OK;
}

static ep_status lemma17(ep_claim_result *r, ep_work *work, const wide_setting *s,
                         const wide_size *z, const ep_run_config *run) {
  const wide_setting scaled = wide_same_progress(s, z);
  claim_curve c[2], control[2];
  ep_power_law law, other;
  json_t *figure;
  EP_TRY(wide_sweep(c, 2, work, s, z, measure_representation, NULL, run));
  EP_TRY(wide_sweep(control, 2, work, &scaled, z, measure_representation, NULL, run));
  EP_TRY(wide_width_figure(
      &figure, r, "difference", "PCA of C(0) and of the trained C",
      "The largest difference of the two representations after the best "
      "rotation against width, with the range over seeds; the control's rate grows with the width.",
      "largest difference of a point"));
  EP_TRY(claim_draw(figure, "measured", NULL, &c[0], false));
  EP_TRY(claim_draw(figure, "control: rate grows with M", NULL, &control[0], false));
  EP_TRY(wide_slope(figure, NULL, &c[0]));
  EP_TRY(wide_law(&law, r, "difference", &c[0]));
  EP_TRY(wide_law(&other, r, "control_difference", &control[0]));
  EP_TRY(wide_medians(r, "gap_behind_eigenvalue_Z", &c[1]));
  r->pass = wide_falls(&law) && !wide_falls(&other);
  EP_TRY(ep_claim_note(r,
                       "Largest over points of |O'u_T(x) - u_0(x)|, O the rotation that brings "
                       "the one basis closest to the other. Control: the same at rate M over the "
                       "least width."));
  return wide_say(r, s, z);
}

ep_status wide_lemma17(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const wide_setting s = {.data = wide_images(size), .method = "grassmann", .rate = 1};
  ep_work work = {0};
  const ep_status st = lemma17(r, &work, &s, &pca_sizes[size], run);
  ep_work_free(&work);
  return st;
}
