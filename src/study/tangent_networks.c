/* TANGENT's claims on networks: beside their linearisation (Lee), at large rates, as a Gaussian process (Neal). */
#include "study/tangent_claims.h"

#include <eigenpair/stream.h>
#include <eigenpair/powerlaw.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdio.h>

/* ---- tangent-lee */

typedef struct {
  double width[TANGENT_MOST], outputs[TANGENT_MOST], parameters[TANGENT_MOST], kernel[TANGENT_MOST],
      loss;
  int count;
} lee_table;

/* mean over the seeds of the logarithm: exponents are fitted to it */
static ep_status lee_width(lee_table *t, ep_work *work, long width, int seeds,
                           const ep_run_config *run) {
  ep_mat X, test, Y;
  double a = 0, b = 0, c = 0;
  for (int s = 0; s < seeds; s++) {
    const ep_net_config net = tangent_network("erf", width, 1);
    ep_lee_run one;
    EP_TRY(tangent_points(work, &X, 20, 10, run->seed, 2 * (uint32_t)s));
    EP_TRY(tangent_points(work, &test, 20, 10, run->seed, 2 * (uint32_t)s + 1));
    EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, 20, 1));
    ep_random_fill_normal(&Y, (uint64_t)run->seed, EP_STREAM_START, (uint32_t)s);
    EP_TRY(ep_lee_follow(&one, &net, &X, &Y, &test, 0.5, 500, (uint64_t)(run->seed + s)));
    a += log(one.sup.outputs) / seeds;
    b += log(one.sup.parameters) / seeds;
    c += log(one.sup.kernel) / seeds;
    t->loss = fmax(t->loss, one.loss[1] / one.loss[0]);
  }
  const int i = t->count++;
  t->width[i] = (double)width;
  t->outputs[i] = exp(a), t->parameters[i] = exp(b), t->kernel[i] = exp(c);
  return EP_OK;
}

static ep_status lee_figure(ep_claim_result *r, const lee_table *t) {
  json_t *f;
  EP_TRY(ep_figure_new(&f, "lee", EP_FIGURE_LINE, "Network and linearisation under descent",
                       "Three distances between a network and its linearisation fall with width.",
                       (ep_axis){"width M", true}, (ep_axis){"largest over training", true}));
  ep_status st =
      tangent_line(f, "|f - f_lin| on test points", t->width, t->outputs, t->count, false);
  if (!st)
    st = tangent_line(f, "|theta - theta_0| / sqrt M", t->width, t->parameters, t->count, false);
  if (!st) st = tangent_line(f, "|K - K_0|_F", t->width, t->kernel, t->count, false);
  double slope[TANGENT_MOST];
  for (int i = 0; i < t->count; i++) slope[i] = t->parameters[0] * sqrt(t->width[0] / t->width[i]);
  if (!st) st = tangent_line(f, "M^-1/2", t->width, slope, t->count, true);
  return tangent_figure(r, f, st);
}

ep_status tangent_lee(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  lee_table t = {0};
  const int seeds = size == EP_CLAIM_QUICK ? 3 : size == EP_CLAIM_MEDIUM ? 5 : 10;
  const long widest = size == EP_CLAIM_QUICK ? 2048 : size == EP_CLAIM_MEDIUM ? 4096 : 16384;
  for (long width = 64; width <= widest; width *= 2) {
    EP_TRY(ep_run_step("widths", log2((double)width / 64), log2((double)widest / 64)));
    ep_work work = {0};
    const ep_status st = lee_width(&t, &work, width, seeds, run);
    ep_work_free(&work);
    EP_TRY(st);
  }
  const ep_power_law outputs = ep_power_law_fit(t.width, t.outputs, t.count);
  const ep_power_law parameters = ep_power_law_fit(t.width, t.parameters, t.count);
  const ep_power_law kernel = ep_power_law_fit(t.width, t.kernel, t.count);
  const double a = outputs.exponent, b = parameters.exponent, c = kernel.exponent;
  r->pass = a <= -0.35 && b <= -0.35 && c <= -0.35 && fabs(b + 0.5) <= 0.1;
  EP_TRY(claim_measure_law(r, "exponent_outputs", &outputs));
  EP_TRY(claim_measure_law(r, "exponent_parameters", &parameters));
  EP_TRY(claim_measure_law(r, "exponent_kernel", &kernel));
  EP_TRY(ep_claim_measure(r, "seeds", seeds));
  EP_TRY(ep_claim_measure_all(r, "widths", t.width, t.count));
  EP_TRY(ep_claim_measure_all(r, "outputs", t.outputs, t.count));
  EP_TRY(ep_claim_measure_all(r, "parameters", t.parameters, t.count));
  EP_TRY(ep_claim_measure_all(r, "kernel", t.kernel, t.count));
  EP_TRY(ep_claim_measure(r, "loss_left", t.loss));
  EP_TRY(ep_claim_note(r,
                       "20 points on the sphere of R^10, random targets, erf, half the critical "
                       "rate, 500 steps."));
  if (outputs.high < -0.5 && kernel.high < -0.5)
    EP_TRY(ep_claim_found(r,
                          "Outputs and kernel come closer faster than the theorem says: exponents "
                          "%.2f and %.2f where it has -0.5.",
                          a, c));
  return lee_figure(r, &t);
}

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
  EP_TRY(ep_ntk_empirical(&K, ep_supervised_net(d), X, NULL, EP_TRACE, tangent_memory));
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
  json_t *f;
  EP_TRY(ep_figure_new(&f, "rate", EP_FIGURE_LINE, "Loss left after 1,000 steps",
                       "Share of the loss that is left, of the network and of the linear model, "
                       "against the rate: the largest over seeds.",
                       (ep_axis){"rate / (2 / lambda_max)", false}, (ep_axis){"loss left", true}));
  ep_status st = tangent_line(f, "network", rates, t->network, RATES, false);
  if (!st) st = tangent_line(f, "linear model", rates, t->linear, RATES, true);
  if (!st) st = ep_figure_rule(f, 'x', 1, "2/lambda_max");
  return tangent_figure(r, f, st);
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

/* ---- tangent-nngp */

enum { NNGP_POINTS = 8, NNGP_INPUTS = 5 };

/* error[i] = |covariance over draws - NNGP|_F / |NNGP|_F after draws[i] networks */
static ep_status nngp_errors(double *error, const double *draws, int count, ep_work *work,
                             long width, int depth, const ep_run_config *run) {
  ep_domain_kernel k;
  ep_mat X, K, S, F, E;
  EP_TRY(tangent_kernel(&k, "erf", depth, 0));
  EP_TRY(tangent_points(work, &X, NNGP_POINTS, NNGP_INPUTS, run->seed, 7));
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, NNGP_POINTS, NNGP_POINTS));
  EP_TRY(ep_work_mat(work, &S, EP_DOUBLE, NNGP_POINTS, NNGP_POINTS));
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, NNGP_POINTS, NNGP_POINTS));
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, NNGP_POINTS, 1));
  EP_TRY(ep_analytic_kernel(&K, &k.network, EP_NNGP, &X, NULL));
  const ep_net_config c = tangent_network("erf", width, depth);
  ep_net net;
  ep_stream *s = NULL;
  EP_TRY(ep_net_start(&net, &c, NNGP_INPUTS, 0, EP_DOUBLE));
  ep_status st = ep_stream_new(&s, &X, &net.shape, 1, EP_PASS_FORWARD, tangent_memory);
  int at = 0;
  for (long i = 1; !st && at < count; i++) {
    ep_random_fill_normal(&net.theta, (uint64_t)run->seed, EP_STREAM_START, (uint32_t)i);
    ep_stream_forward(&F, s, &net);
    ep_mat_gram(&S, 1, &F, 1);
    if (i % 1024 == 0) st = ep_run_step("networks", (double)i, draws[count - 1]);
    if ((double)i != draws[at]) continue;
    ep_mat_copy(&E, &K);
    ep_mat_axpy(&E, -1 / (double)i, &S);
    error[at++] = sqrt(ep_mat_norm2(&E) / ep_mat_norm2(&K));
  }
  ep_stream_free(s);
  ep_net_free(&net);
  return st;
}

enum { NNGP_SIZES = 6 };
typedef struct {
  double draws[NNGP_SIZES], two[NNGP_SIZES], narrow[NNGP_SIZES], wide[NNGP_SIZES];
} nngp_table;

static ep_status nngp_figure(ep_claim_result *r, const nngp_table *t) {
  json_t *f;
  EP_TRY(ep_figure_new(&f, "nngp", EP_FIGURE_LINE, "Covariance of random networks",
                       "The error of the covariance falls as one over the root of the draws, down "
                       "to a bias for deep narrow networks.",
                       (ep_axis){"networks drawn", true}, (ep_axis){"relative error", true}));
  ep_status st = tangent_line(f, "one hidden layer, M = 10", t->draws, t->two, NNGP_SIZES, false);
  if (!st) st = tangent_line(f, "three, M = 5", t->draws, t->narrow, NNGP_SIZES, false);
  if (!st) st = tangent_line(f, "three, M = 50", t->draws, t->wide, NNGP_SIZES, false);
  return tangent_figure(r, f, st);
}

ep_status tangent_nngp(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  enum { LAST = NNGP_SIZES - 1 };
  nngp_table t;
  const double first = size == EP_CLAIM_QUICK ? 16 : size == EP_CLAIM_MEDIUM ? 64 : 256;
  for (int i = 0; i < NNGP_SIZES; i++) t.draws[i] = first * pow(4, i);
  ep_work work = {0};
  ep_status st = nngp_errors(t.two, t.draws, NNGP_SIZES, &work, 10, 1, run);
  if (!st) st = nngp_errors(t.narrow, t.draws, NNGP_SIZES, &work, 5, 3, run);
  if (!st) st = nngp_errors(t.wide, t.draws, NNGP_SIZES, &work, 50, 3, run);
  ep_work_free(&work);
  EP_TRY(st);
  const double exponent = ep_power_law_fit(t.draws, t.two, NNGP_SIZES).exponent;
  r->pass = exponent < -0.35 && exponent > -0.65 && t.two[LAST] < 4 / sqrt(t.draws[LAST]) &&
            t.wide[LAST] < t.narrow[LAST];
  EP_TRY(ep_claim_measure(r, "exponent", exponent));
  EP_TRY(ep_claim_measure_all(r, "draws", t.draws, NNGP_SIZES));
  EP_TRY(ep_claim_measure_all(r, "error_two_layers_width_10", t.two, NNGP_SIZES));
  EP_TRY(ep_claim_measure_all(r, "error_depth_3_width_5", t.narrow, NNGP_SIZES));
  EP_TRY(ep_claim_measure_all(r, "error_depth_3_width_50", t.wide, NNGP_SIZES));
  EP_TRY(ep_claim_note(r, "erf, 8 points on the sphere of R^5, networks without biases."));
  if (t.narrow[LAST] > 3 * t.two[LAST])
    EP_TRY(
        ep_claim_found(r,
                       "Three hidden layers of width 5 keep a bias: %.3f after the most draws, "
                       "where one hidden layer, without one, has come down to %.3f, and three of "
                       "width 50 to %.3f.",
                       t.narrow[LAST], t.two[LAST], t.wide[LAST]));
  return nngp_figure(r, &t);
}
