/* TANGENT's claim on rates: where descent converges, of the network and of its linearisation. */
#include "study/tangent_claims.h"

#include <eigenpair/random.h>
#include <math.h>
#include <stdio.h>

/* ---- tangent-rate */

/* rates in units of 2/lambda_max */
static const double rates[] = {0.5, 0.9, 0.98, 1.02, 1.1, 1.5, 2, 2.5, 3, 4};
enum { RATES = sizeof rates / sizeof *rates };

/* Loss at the end over loss at the start (INFINITY: diverged), and lambda_max of the network's kernel at the end over
 * that at the start (NAN where it diverged); the worst of the seeds, but for the flattening, which is the last one's. */
typedef struct {
  double linear[RATES], network[RATES], linear_least[RATES], network_least[RATES], flat[RATES];
} rate_table;

static double share(double end, double start) {
  return end <= 1e6 * start ? end / start : INFINITY;
}

/* loss of the linear model after t steps, in closed form */
static ep_status linear_loss(double *loss, ep_work *work, const ep_squared *s, const ep_mat *F0,
                             const ep_mat *Y, double rate, long steps) {
  ep_mat F;
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, Y->rows, 1));
  EP_TRY(ep_squared_train(&F, s, F0, Y, rate, (double)steps, 1));
  *loss = 0.5 * ep_mat_distance2(&F, Y);
  return EP_OK;
}

static ep_status kernel_now(ep_squared **out, ep_work *work, const ep_supervised *d,
                            const ep_mat *X) {
  ep_mat K;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, X->rows, X->rows));
  EP_TRY(ep_ntk_empirical(NULL, &K, ep_supervised_net(d), X, NULL, EP_TRACE, tangent_memory));
  return ep_squared_new(out, &K);
}

typedef struct {
  ep_mat X, Y, F0;
  ep_net_config net;
  long steps;
  uint64_t seed;
} rate_problem;

/* at one rate: shares of the loss left, and how flat it has become; *critical = eta_crit / (2 / lambda_max) */
static ep_status one_rate(double out[3], double *critical, ep_work *work, const rate_problem *p,
                          double rate, ep_supervised *d) {
  ep_squared *begin = NULL, *end = NULL;
  double loss = 0;
  EP_TRY(ep_supervised_outputs(&p->F0, d, &p->X));
  const double start = 0.5 * ep_mat_distance2(&p->F0, &p->Y);
  EP_TRY(kernel_now(&begin, work, d, &p->X));
  const double limit = ep_squared_stable_rate(begin);
  *critical = ep_squared_critical_rate(begin) / limit;
  ep_status st = linear_loss(&loss, work, begin, &p->F0, &p->Y, rate * limit, p->steps);
  out[0] = share(loss, start);
  if (!st) st = ep_supervised_steps(&loss, d, rate * limit, p->steps, 1e6 * start);
  out[1] = share(loss, start);
  out[2] = NAN;
  if (!st && isfinite(out[1])) st = kernel_now(&end, work, d, &p->X);
  if (end) out[2] = limit / ep_squared_stable_rate(end);
  ep_squared_free(begin);
  ep_squared_free(end);
  return st;
}

static ep_status rate_seed(rate_table *t, double *critical, ep_work *work, long width, long steps,
                           long seed) {
  rate_problem p = {
      .net = tangent_network("erf", width, 1), .steps = steps, .seed = (uint64_t)seed};
  EP_TRY(tangent_points(work, &p.X, 20, 10, seed, 0));
  EP_TRY(ep_work_mat(work, &p.Y, EP_DOUBLE, 20, 1));
  EP_TRY(ep_work_mat(work, &p.F0, EP_DOUBLE, 20, 1));
  ep_random_fill_normal(&p.Y, (uint64_t)seed, EP_STREAM_START, 0);
  for (int i = 0; i < RATES; i++) {
    double out[3];
    ep_supervised *d;
    EP_TRY(ep_supervised_new(&d, &p.net, &p.X, &p.Y, false, p.seed));
    const ep_status st = one_rate(out, critical, work, &p, rates[i], d);
    ep_supervised_free(d);
    EP_TRY(st);
    t->linear[i] = fmax(t->linear[i], out[0]);
    t->linear_least[i] = fmin(t->linear_least[i], out[0]);
    t->network[i] = fmax(t->network[i], out[1]);
    t->network_least[i] = fmin(t->network_least[i], out[1]);
    t->flat[i] = out[2];
  }
  return EP_OK;
}

static ep_status rate_figure(ep_claim_result *r, const rate_table *t) {
  const double floor = 1e-16, lost = 1e6; /* rounding; what is called diverged */
  double network[RATES], linear[RATES];
  json_t *f;
  for (int i = 0; i < RATES; i++) {
    network[i] = fmin(fmax(t->network[i], floor), lost);
    linear[i] = fmin(fmax(t->linear[i], floor), lost);
  }
  EP_TRY(claim_figure(
      &f, r, "rate", EP_FIGURE_LINE, "Loss left after 1,000 steps",
      "Share of the loss that is left, of the network and of the linear model, "
      "against the rate: the largest over seeds. Points on the upper line diverged; "
      "below 1e-16 it is rounding.",
      (ep_axis){"rate / (2 / lambda_max)", .log = false}, (ep_axis){"loss left", .log = true}));
  EP_TRY(tangent_line(f, "network", rates, network, RATES, false));
  EP_TRY(tangent_line(f, "linear model", rates, linear, RATES, true));
  EP_TRY(ep_figure_rule(f, 'y', lost, "diverged"));
  return ep_figure_rule(f, 'x', 1, "2/lambda_max");
}

ep_status tangent_rate(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  enum { SEEDS = 3 };
  const double gone = 1e-3; /* converged: so much of the loss is left at most */
  const long width = size == EP_CLAIM_PAPER ? 8192 : size == EP_CLAIM_MEDIUM ? 2048 : 512;
  rate_table t = {0};
  double critical = NAN;
  for (int i = 0; i < RATES; i++) t.linear_least[i] = t.network_least[i] = INFINITY;
  for (int k = 0; k < SEEDS; k++) {
    ep_work work = {0};
    EP_TRY(ep_run_step("seeds", k, SEEDS));
    const ep_status st = rate_seed(&t, &critical, &work, width, 1000, run->seed + k);
    ep_work_free(&work);
    EP_TRY(st);
  }
  r->pass = true;
  int survives = -1; /* largest rate at which every network converged */
  for (int i = 0; i < RATES; i++) {
    const bool below = rates[i] < 1;
    r->pass = r->pass && (below ? t.linear[i] < gone : t.linear_least[i] > 1);
    if (below) r->pass = r->pass && t.network[i] < gone;
    if (rates[i] >= 3) r->pass = r->pass && isinf(t.network_least[i]);
    if (t.network[i] < gone) survives = i;
  }
  EP_TRY(ep_claim_measure_all(r, "rate_over_limit", rates, RATES));
  EP_TRY(ep_claim_measure_all(r, "linear_loss_left", t.linear, RATES));
  EP_TRY(ep_claim_measure_all(r, "network_loss_left", t.network, RATES));
  EP_TRY(ep_claim_measure_all(r, "lambda_max_at_end_over_start", t.flat, RATES));
  EP_TRY(ep_claim_measure(r, "network_converges_up_to", survives < 0 ? NAN : rates[survives]));
  EP_TRY(ep_claim_measure(r, "critical_over_limit", critical));
  EP_TRY(ep_claim_note(r,
                       "20 points on the sphere of R^10, erf, 1,000 steps, 3 seeds, the worst of "
                       "them; rates in units of 2/lambda_max of the kernel at the start; null: "
                       "diverged."));
  if (survives >= 0 && rates[survives] > 1)
    EP_TRY(
        ep_claim_found(r,
                       "The network converges at rates at which its linearisation diverges, up to "
                       "%.1f of 2/lambda_max: there lambda_max has come down to %.2f of what it "
                       "was.",
                       rates[survives], t.flat[survives]));
  return rate_figure(r, &t);
}
