/* TANGENT's claims on networks beside their linearisation: Theorem 2.1, the constants of its proof, other losses and targets. */
#include "study/tangent_claims.h"

#include <eigenpair/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 20, INPUTS = 10 };

/* A problem of one seed: points of the sphere, new ones, random targets. */
typedef struct {
  ep_mat X, test, Y;
} lee_problem;

static ep_status problem(ep_work *work, lee_problem *p, ptrdiff_t outputs, long seed, int run) {
  EP_TRY(tangent_points(work, &p->X, POINTS, INPUTS, seed, 2 * (uint32_t)run));
  EP_TRY(tangent_points(work, &p->test, POINTS, INPUTS, seed, 2 * (uint32_t)run + 1));
  EP_TRY(ep_work_mat(work, &p->Y, EP_DOUBLE, POINTS, outputs));
  ep_random_fill_normal(&p->Y, (uint64_t)seed, EP_STREAM_START, (uint32_t)run);
  return EP_OK;
}

/* ---- tangent-lee */

typedef struct {
  const char *name, *phi;
  int depth, outputs;
  bool control; /* targets grow as sqrt M, and R_0 with them */
} lee_setting;
static const lee_setting lee_settings[] = {{"erf", "erf", 1, 1, false},
                                           {"tanh", "tanh", 1, 1, false},
                                           {"relu", "relu", 1, 1, false},
                                           {"erf, 2 layers", "erf", 2, 1, false},
                                           {"erf, 3 layers", "erf", 3, 1, false},
                                           {"erf, 3 outputs", "erf", 1, 3, false},
                                           {"relu, 2 layers", "relu", 2, 1, false},
                                           {"tanh, 2 layers", "tanh", 2, 1, false},
                                           {"tanh, 3 layers, 2 outputs", "tanh", 3, 2, false},
                                           {"control", "erf", 1, 1, true}};
enum { ERF, TANH, RELU }; /* the first of them */
enum { SETTINGS = sizeof lee_settings / sizeof *lee_settings, QUANTITIES = 3 };
static const char *const quantities[QUANTITIES] = {"outputs", "parameters", "kernel"};
static const char *const quantity_titles[QUANTITIES] = {
    "|f - f_lin| on new points", "|theta - theta_0| / sqrt M", "|K - K_0|_F"};

static ep_status lee_run(double out[QUANTITIES], const lee_setting *s, long width, long steps,
                         long seed, int run) {
  ep_net_config net = tangent_network(s->phi, width, s->depth);
  net.outputs = s->outputs;
  ep_work work = {0};
  lee_problem p;
  ep_lee_run one;
  ep_status st = problem(&work, &p, s->outputs, seed, run);
  if (!st && s->control) ep_mat_axpy(&p.Y, sqrt((double)width / 64) - 1, &p.Y);
  if (!st)
    st = ep_lee_follow(&one, &net, &p.X, &p.Y, &p.test, EP_LOSS_SQUARED, 0.5, steps,
                       (uint64_t)(seed + run));
  ep_work_free(&work);
  EP_TRY(st);
  out[0] = one.sup.outputs, out[1] = one.sup.parameters, out[2] = one.sup.kernel;
  return EP_OK;
}

static ep_status lee_curves(ep_work *work, claim_curve *c, const lee_setting *s, ep_claim_size size,
                            long seed) {
  const bool deep = s->depth > 1;
  const int seeds = deep ? claim_pick(size, 3, 5, 10) : claim_pick(size, 6, 8, 10);
  const long first = deep ? 32 : 64;
  const int widths = deep ? claim_pick(size, 4, 5, 7) : claim_pick(size, 4, 7, 9);
  const long steps = claim_pick(size, 300, 500, 500);
  for (int q = 0; q < QUANTITIES; q++) EP_TRY(claim_curve_new(&c[q], work, widths, seeds));
  for (int i = 0; i < widths; i++)
    for (int k = 0; k < seeds; k++) {
      double out[QUANTITIES];
      EP_TRY(lee_run(out, s, first << i, steps, seed, k));
      for (int q = 0; q < QUANTITIES; q++)
        c[q].x[i] = (double)(first << i), *claim_at(&c[q], i, k) = out[q];
    }
  return EP_OK;
}

/* how |f - f_lin| falls: over all widths, over the last three */
typedef struct {
  ep_power_law law;
  double late;
} lee_fall;

static ep_status lee_judge(ep_claim_result *r, lee_fall *fall, const lee_setting *s,
                           const claim_curve *c, ep_claim_size size) {
  bool meets = true;
  for (int q = 0; q < QUANTITIES; q++) {
    char name[96];
    const ep_power_law law = claim_law_of_runs(&c[q]);
    meets = meets && law.exponent <= -0.35 && law.high <= -0.25;
    if (q == 1 && (s->depth == 1 || size != EP_CLAIM_QUICK))
      meets = meets && fabs(law.exponent + 0.5) <= 0.1;
    snprintf(name, sizeof name, "exponent %s %s", quantities[q], s->name);
    EP_TRY(claim_measure_law(r, name, &law));
    if (q == 0) {
      claim_curve late = c[q];
      late.x += c[q].count - 3, late.all += (c[q].count - 3) * c[q].runs, late.count = 3;
      snprintf(name, sizeof name, "late exponent outputs %s", s->name);
      *fall = (lee_fall){law, claim_law_of_runs(&late).exponent};
      EP_TRY(ep_claim_measure(r, name, fall->late));
    }
  }
  r->pass = r->pass && meets == !s->control;
  return EP_OK;
}

static ep_status lee_all(ep_claim_result *r, lee_fall *fall, ep_work *work, json_t *figure,
                         ep_claim_size size, long seed) {
  for (int i = 0; i < SETTINGS; i++) {
    claim_curve c[QUANTITIES];
    EP_TRY(ep_run_step("settings", i, SETTINGS));
    EP_TRY(lee_curves(work, c, &lee_settings[i], size, seed));
    EP_TRY(lee_judge(r, &fall[i], &lee_settings[i], c, size));
    for (int q = 0; q < QUANTITIES; q++)
      EP_TRY(claim_draw(figure, lee_settings[i].name, quantity_titles[q], &c[q],
                        lee_settings[i].control));
  }
  return EP_OK;
}

ep_status tangent_lee(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  json_t *figure;
  lee_fall fall[SETTINGS];
  ep_work work = {0};
  r->pass = true;
  EP_TRY(claim_figure(
      &figure, r, "lee", EP_FIGURE_LINE, "Network and linearisation under descent",
      "Three distances between a network and its linearisation against width, a line a setting; "
      "the control (dashed) has targets that grow as the root of the width.",
      (ep_axis){"width M", .log = true}, (ep_axis){"largest over training", .log = true}));
  const ep_status st = lee_all(r, fall, &work, figure, size, run->seed);
  ep_work_free(&work);
  EP_TRY(st);
  EP_TRY(ep_claim_measure(r, "seeds of one layer", claim_pick(size, 6, 8, 10)));
  EP_TRY(ep_claim_measure(r, "seeds of deep networks", claim_pick(size, 3, 5, 10)));
  EP_TRY(
      ep_claim_note(r,
                    "20 points on the sphere of R^10, random targets, half the critical rate, 300 "
                    "steps or more; parametrisation of the NTK, where theta is sqrt(n) times the "
                    "paper's. relu does not meet assumption 4 (phi' Lipschitz). A seed is one "
                    "problem at every width, and intervals leave out how problems differ."));
  if (!(fall[ERF].law.high < -0.5 && fall[TANH].law.high < -0.5)) return EP_OK;
  return ep_claim_found(
      r,
      "Smooth networks come closer to their linearisation faster than M^-1/2: |f - f_lin| falls as "
      "%.2f (erf), %.2f (tanh), relu as %.2f (over the three largest widths %.2f, %.2f, %.2f).",
      fall[ERF].law.exponent, fall[TANH].law.exponent, fall[RELU].law.exponent, fall[ERF].late,
      fall[TANH].late, fall[RELU].late);
}

/* ---- tangent-bounds */

enum { BOUNDS = 6 };
static const char *const bound_names[BOUNDS] = {"eq 57 loss", "eq 58 path",   "eq 59 kernel",
                                                "eq 30 step", "eq 30 summed", "eq 120 Gronwall"};
static double bound_of(const ep_lee_bounds *b, int i) {
  const double all[BOUNDS] = {b->loss, b->path, b->kernel, b->step, b->sum, b->gronwall};
  return all[i];
}

/* Table of widths x seeds: ratios of measurement and bound; in the rest of it the constants. */
typedef struct {
  claim_curve ratio[BOUNDS], K, N, misprint, difference;
} bound_table;

static ep_status bound_runs(ep_work *work, bound_table *t, int widths, int seeds, long steps,
                            long seed) {
  claim_curve *more[] = {&t->K, &t->N, &t->misprint, &t->difference};
  for (int b = 0; b < BOUNDS; b++) EP_TRY(claim_curve_new(&t->ratio[b], work, widths, seeds));
  for (int b = 0; b < 4; b++) EP_TRY(claim_curve_new(more[b], work, widths, seeds));
  for (int i = 0; i < widths; i++)
    for (int k = 0; k < seeds; k++) {
      const long width = 64L << (2 * i);
      const ep_net_config net = tangent_network("erf", width, 1);
      lee_problem p;
      ep_lee_bounds b;
      EP_TRY(ep_run_step("networks", i * seeds + k, widths * seeds));
      EP_TRY(problem(work, &p, 1, seed, k));
      EP_TRY(ep_lee_check(&b, &net, &p.X, &p.Y, 0.25, steps, (uint64_t)(seed + k)));
      for (int j = 0; j < BOUNDS; j++)
        t->ratio[j].x[i] = (double)width, *claim_at(&t->ratio[j], i, k) = bound_of(&b, j);
      const double rest[] = {b.K, b.width, b.misprint, b.difference};
      for (int j = 0; j < 4; j++) more[j]->x[i] = (double)width, *claim_at(more[j], i, k) = rest[j];
    }
  return EP_OK;
}

static ep_status bound_report(ep_claim_result *r, const bound_table *t) {
  json_t *figure;
  const ptrdiff_t last = t->K.count - 1;
  EP_TRY(claim_figure(&figure, r, "bounds", EP_FIGURE_LINE, "Measurement over bound",
                      "Measurement over bound against width; a bound holds below 1.",
                      (ep_axis){"width M", .log = true},
                      (ep_axis){"measured / bound", .log = true}));
  for (int b = 0; b < BOUNDS; b++) {
    double worst = 0;
    char name[64];
    for (ptrdiff_t i = 0; i <= last; i++) worst = fmax(worst, claim_worst(&t->ratio[b], i));
    r->pass = r->pass && worst <= 1;
    snprintf(name, sizeof name, "largest over bound %s", bound_names[b]);
    EP_TRY(ep_claim_measure(r, name, worst));
    EP_TRY(claim_draw(figure, bound_names[b], NULL, &t->ratio[b], false));
  }
  EP_TRY(ep_figure_rule(figure, 'y', 1, "bound"));
  EP_TRY(ep_claim_measure(r, "K of Lemma B.1 least width", claim_median(&t->K, 0)));
  EP_TRY(ep_claim_measure(r, "K of Lemma B.1 largest width", claim_median(&t->K, last)));
  EP_TRY(ep_claim_measure(r, "N of eq 92", claim_median(&t->N, last)));
  EP_TRY(ep_claim_measure(r, "f_lin as printed less f", claim_median(&t->misprint, last)));
  return ep_claim_measure(r, "f_lin less f", claim_median(&t->difference, last));
}

/* the other activations, depths and numbers of outputs: the largest ratio of each bound over two widths and the seeds */
static ep_status bound_settings(ep_claim_result *r, int seeds, long steps, long seed) {
  enum { COUNT = SETTINGS - 1 }; /* without the control */
  for (int i = 1; i < COUNT; i++) {
    const lee_setting *s = &lee_settings[i];
    const long first = s->depth > 1 ? 32 : 64;
    double worst[BOUNDS] = {0};
    char name[96];
    for (int k = 0; k < 2 * seeds; k++) {
      ep_net_config net = tangent_network(s->phi, first << (2 * (k % 2)), s->depth);
      lee_problem p;
      ep_lee_bounds b;
      ep_work work = {0};
      net.outputs = s->outputs;
      EP_TRY(ep_run_step("settings", 2 * seeds * i + k, 2 * seeds * COUNT));
      ep_status st = problem(&work, &p, s->outputs, seed, k / 2);
      if (!st) st = ep_lee_check(&b, &net, &p.X, &p.Y, 0.25, steps, (uint64_t)(seed + k / 2));
      ep_work_free(&work);
      EP_TRY(st);
      for (int j = 0; j < BOUNDS; j++) worst[j] = fmax(worst[j], bound_of(&b, j));
    }
    for (int j = 0; j < BOUNDS; j++) r->pass = r->pass && worst[j] <= 1;
    snprintf(name, sizeof name, "largest over bounds (57 58 59 30 30 120) %s", s->name);
    EP_TRY(ep_claim_measure_all(r, name, worst, BOUNDS));
  }
  return EP_OK;
}

/* eq. 57 and eq. 84 at a rate past the critical one */
static ep_status bound_control(ep_claim_result *r, ep_work *work, long seed) {
  const ep_net_config net = tangent_network("erf", 1024, 1);
  lee_problem p;
  ep_lee_bounds b;
  EP_TRY(problem(work, &p, 1, seed, 0));
  EP_TRY(ep_lee_check(&b, &net, &p.X, &p.Y, 1.2, 40, (uint64_t)seed));
  r->pass = r->pass && b.loss > 1;
  return ep_claim_measure(r, "control eq 57 at 1.2 of the critical rate", b.loss);
}

ep_status tangent_bounds(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  bound_table t;
  ep_work work = {0};
  r->pass = true;
  ep_status st = bound_runs(&work, &t, claim_pick(size, 3, 4, 4), claim_pick(size, 3, 5, 10),
                            claim_pick(size, 200, 400, 400), run->seed);
  if (!st) st = bound_report(r, &t);
  if (!st)
    st = bound_settings(r, claim_pick(size, 1, 2, 5), claim_pick(size, 150, 300, 400), run->seed);
  if (!st) st = bound_control(r, &work, run->seed);
  const double N = st ? NAN : claim_median(&t.N, t.N.count - 1);
  const double widest = st ? NAN : t.N.x[t.N.count - 1];
  const double printed = st ? NAN : claim_median(&t.misprint, t.N.count - 1);
  const double right = st ? NAN : claim_median(&t.difference, t.N.count - 1);
  ep_work_free(&work);
  EP_TRY(st);
  EP_TRY(ep_claim_note(
      r,
      "erf, one hidden layer, a quarter of the critical rate; K of Lemma B.1 is the largest "
      "over 12 points of the path and 4 at random in the ball that it reaches; "
      "lambda_min is that of the kernel at the start. Eq. 120 is for gradient flow: "
      "its integrals by the trapezoid rule over the steps."));
  if (r->pass && N > widest)
    EP_TRY(ep_claim_found(r,
                          "The bounds hold at every width tried, although the proof promises them "
                          "from N = %.1e on (eq. 92).",
                          N));
  return ep_claim_found(
      r,
      "Eq. 22 and 101 define f_lin with f(theta_t): it is then %.2g away from the "
      "network at the largest width. With f(theta_0), as in eq. 1, it is %.2g.",
      printed, right);
}

/* ---- tangent-loss */

/* sup over the times so far, for both losses; targets +-1 */
static ep_status loss_runs(ep_work *work, claim_curve end[2], claim_curve late[2],
                           claim_curve time[2], int widths, int seeds, long steps, long seed) {
  for (int l = 0; l < 2; l++) {
    EP_TRY(claim_curve_new(&end[l], work, widths, seeds));
    EP_TRY(claim_curve_new(&late[l], work, widths, seeds));
    EP_TRY(claim_curve_new(&time[l], work, EP_LEE_TIMES, seeds));
  }
  for (int l = 0; l < 2; l++)
    for (int i = 0; i < widths; i++)
      for (int k = 0; k < seeds; k++) {
        const long width = 64L << (2 * i);
        const ep_net_config net = tangent_network("erf", width, 1);
        lee_problem p;
        ep_lee_run one;
        double sup = 0;
        EP_TRY(ep_run_step("networks", (l * widths + i) * seeds + k, 2 * widths * seeds));
        EP_TRY(problem(work, &p, 1, seed, k));
        for (int j = 0; j < POINTS; j++) *ep_d(&p.Y, j, 0) = *ep_d(&p.Y, j, 0) > 0 ? 1 : -1;
        EP_TRY(ep_lee_follow(&one, &net, &p.X, &p.Y, &p.test,
                             l ? EP_LOSS_LOGISTIC : EP_LOSS_SQUARED, 0.5, steps,
                             (uint64_t)(seed + k)));
        end[l].x[i] = late[l].x[i] = (double)width;
        for (int j = 0; j < EP_LEE_TIMES; j++) {
          sup = fmax(sup, one.at[j].outputs);
          if (j == EP_LEE_TIMES - 3) *claim_at(&late[l], i, k) = one.sup.outputs / sup - 1;
          time[l].x[j] = (double)one.step[j];
          if (i == widths - 1) *claim_at(&time[l], j, k) = sup;
        }
        *claim_at(&end[l], i, k) = one.sup.outputs;
      }
  return EP_OK;
}

static ep_status loss_report(ep_claim_result *r, const claim_curve end[2],
                             const claim_curve late[2], const claim_curve time[2]) {
  static const char *const names[2] = {"squared loss", "cross-entropy"};
  const ptrdiff_t last = end[0].count - 1;
  json_t *widths, *times;
  ep_power_law law[2];
  EP_TRY(claim_figure(
      &widths, r, "loss-width", EP_FIGURE_LINE, "Distance from the linearisation",
      "Largest distance of networks from their linearisation against width, under either loss.",
      (ep_axis){"width M", .log = true}, (ep_axis){"sup |f - f_lin|", .log = true}));
  EP_TRY(claim_figure(&times, r, "loss-time", EP_FIGURE_LINE, "The same in time, largest width",
                      "Largest distance so far over the steps, under either loss.",
                      (ep_axis){"steps", .log = true},
                      (ep_axis){"sup |f - f_lin| so far", .log = true}));
  for (int l = 0; l < 2; l++) {
    char name[64];
    law[l] = claim_law(&end[l]);
    EP_TRY(claim_draw(widths, names[l], NULL, &end[l], false));
    EP_TRY(claim_draw(times, names[l], NULL, &time[l], false));
    snprintf(name, sizeof name, "exponent %s", names[l]);
    EP_TRY(claim_measure_law(r, name, &law[l]));
    snprintf(name, sizeof name, "sup at largest width %s", names[l]);
    EP_TRY(ep_claim_measure(r, name, claim_median(&end[l], last)));
    snprintf(name, sizeof name, "growth over the last two times %s", names[l]);
    EP_TRY(ep_claim_measure(r, name, claim_median(&late[l], last)));
  }
  double share = 0; /* the control: of the same network, the largest at that width */
  for (int k = 0; k < late[0].runs; k++)
    share = fmax(share, *claim_at(&late[0], last, k) / *claim_at(&late[1], last, k));
  EP_TRY(ep_claim_measure(r, "control: growth under squared loss over that under cross-entropy",
                          share));
  r->pass = share < 0.1;
  return ep_claim_found(
      r,
      "sup |f - f_lin| at the largest width is %.2g under squared loss and %.2g under "
      "cross-entropy; its exponents in width are %.2f (%.2f to %.2f) and %.2f (%.2f to %.2f). Over "
      "the last third of the logarithm of time it grew by %.0f %% and by %.0f %%: under "
      "cross-entropy it %s.",
      claim_median(&end[0], last), claim_median(&end[1], last), law[0].exponent, law[0].low,
      law[0].high, law[1].exponent, law[1].low, law[1].high, 100 * claim_median(&late[0], last),
      100 * claim_median(&late[1], last),
      claim_least(&late[1], last) > 0.1 ? "has not settled" : "has nearly settled");
}

ep_status tangent_loss(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  claim_curve end[2], late[2], time[2];
  ep_work work = {0};
  ep_status st =
      loss_runs(&work, end, late, time, claim_pick(size, 3, 3, 4), claim_pick(size, 3, 5, 10),
                claim_pick(size, 1000, 4000, 10000), run->seed);
  if (!st) st = loss_report(r, end, late, time);
  ep_work_free(&work);
  EP_TRY(st);
  return ep_claim_note(
      r,
      "20 points on the sphere of R^10 with random signs as classes, erf, the same "
      "rate (half the critical one) for both losses; the linear model descends on the "
      "same loss.");
}

/* ---- tangent-target */

/* targets that are eigenvectors of the kernel at the start, of one length; their norm in its space is sqrt(n/lambda). The
 * control: the last of them once more, shortened to the norm of the first. */
static ep_status target_runs(ep_work *work, claim_curve *far, claim_curve *norm,
                             claim_curve *control, int modes, long width, int seeds, long seed) {
  EP_TRY(claim_curve_new(far, work, modes, seeds));
  EP_TRY(claim_curve_new(control, work, 1, seeds));
  EP_TRY(claim_curve_new(norm, work, modes, seeds));
  for (int k = 0; k < seeds; k++) {
    const ep_net_config net = tangent_network("erf", width, 1);
    lee_problem p;
    ep_domain_kernel kernel;
    ep_mat U;
    double lambda[POINTS];
    EP_TRY(problem(work, &p, 1, seed, k));
    EP_TRY(tangent_kernel(&kernel, "erf", 1, 0));
    EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, POINTS, POINTS));
    EP_TRY(ep_analytic_kernel(NULL, &U, &kernel.network, EP_NTK, &p.X, NULL));
    EP_TRY(ep_mat_eig_sym(&U, lambda));
    for (int i = 0; i <= modes; i++) {
      const int mode = i < modes ? POINTS - 1 - i * (POINTS - 1) / (modes - 1) : 0;
      const double length2 = i < modes ? POINTS : POINTS * lambda[0] / lambda[POINTS - 1];
      ep_lee_run one;
      EP_TRY(ep_run_step("targets", k * (modes + 1) + i, (modes + 1) * seeds));
      for (int j = 0; j < POINTS; j++) *ep_d(&p.Y, j, 0) = sqrt(length2) * *ep_d(&U, mode, j);
      EP_TRY(ep_lee_follow(&one, &net, &p.X, &p.Y, &p.test, EP_LOSS_SQUARED, 0.5, 500,
                           (uint64_t)(seed + k)));
      if (i == modes) {
        const double shorter = sqrt(lambda[0] / lambda[POINTS - 1]);
        *claim_at(control, 0, k) = one.sup.outputs / *claim_at(far, i - 1, k) / shorter;
        break;
      }
      far->x[i] = norm->x[i] = i + 1;
      *claim_at(far, i, k) = one.sup.outputs;
      *claim_at(norm, i, k) = sqrt(POINTS / lambda[mode]);
    }
  }
  return EP_OK;
}

static ep_status target_report(ep_claim_result *r, ep_work *work, const claim_curve *far,
                               const claim_curve *norm) {
  const ptrdiff_t n = far->count * far->runs;
  const ep_power_law law = ep_power_law_fit(norm->all, far->all, n);
  int *label;
  json_t *figure;
  EP_TRY(ep_work_get(work, &label, n, sizeof *label));
  for (ptrdiff_t i = 0; i < n; i++) label[i] = (int)(i / far->runs) + 1;
  EP_TRY(claim_figure(
      &figure, r, "target", EP_FIGURE_SCATTER, "Targets along the kernel's spectrum",
      "How far a network leaves its linearisation against the norm of its target in the kernel's "
      "space, a colour an eigenvector.",
      (ep_axis){"sqrt(y'K^-1 y)", .log = true}, (ep_axis){"sup |f - f_lin|", .log = true}));
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){.name = "targets", .count = n, .x = norm->all, .y = far->all, .label = label}));
  EP_TRY(claim_measure_law(r, "exponent of sup in the norm", &law));
  EP_TRY(ep_claim_measure(r, "sup for the first mode", claim_median(far, 0)));
  EP_TRY(ep_claim_measure(r, "sup for the last mode", claim_median(far, far->count - 1)));
  EP_TRY(ep_claim_measure(r, "norm of the first mode", claim_median(norm, 0)));
  EP_TRY(ep_claim_measure(r, "norm of the last mode", claim_median(norm, norm->count - 1)));
  return ep_claim_found(
      r,
      "Targets of one length along the kernel's eigenvectors: |f - f_lin| is %.2g for the first "
      "and "
      "%.2g for the last, and goes with sqrt(y'K^-1 y) to the power %.2f (%.2f to %.2f).",
      claim_median(far, 0), claim_median(far, far->count - 1), law.exponent, law.low, law.high);
}

ep_status tangent_target(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  claim_curve far, norm, control;
  ep_work work = {0};
  ep_status st = target_runs(&work, &far, &norm, &control, 6, claim_pick(size, 512, 1024, 4096),
                             claim_pick(size, 3, 8, 10), run->seed);
  if (!st) st = target_report(r, &work, &far, &norm);
  if (!st) r->pass = claim_worst(&control, 0) < 1;
  if (!st)
    st = ep_claim_measure(r, "control: last mode at the norm of the first, sup over its length",
                          claim_worst(&control, 0));
  ep_work_free(&work);
  EP_TRY(st);
  return ep_claim_note(
      r,
      "erf, one hidden layer; eigenvectors of the analytic kernel of 20 points, six of "
      "them from the first to the last, all of length sqrt(20).");
}
