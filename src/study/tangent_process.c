/* TANGENT's claims on networks as a Gaussian process (Neal): how normal outputs are, and what ensembles learn. */
#include "study/tangent_claims.h"

#include <eigenpair/random.h>
#include <eigenpair/regression.h>
#include <eigenpair/stream.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tangent-nngp */

enum { INPUTS = 5, BATCHES = 32 };

/* A mean with its standard error, over batches. */
typedef struct {
  double mean, error;
} estimate;

/* excess kurtosis m4/m2^2 - 3 of values, the error from batches */
static estimate kurtosis(const double *f, ptrdiff_t count, double *variance) {
  const ptrdiff_t size = count / BATCHES;
  double m2 = 0, m4[BATCHES] = {0}, mean = 0, squares = 0;
  for (ptrdiff_t i = 0; i < size * BATCHES; i++) {
    m2 += f[i] * f[i] / (double)(size * BATCHES);
    m4[i / size] += pow(f[i], 4) / (double)size;
  }
  for (int b = 0; b < BATCHES; b++) {
    m4[b] = m4[b] / (m2 * m2) - 3;
    mean += m4[b] / BATCHES;
  }
  for (int b = 0; b < BATCHES; b++) squares += (m4[b] - mean) * (m4[b] - mean);
  *variance = m2;
  return (estimate){mean, sqrt(squares / (BATCHES - 1) / BATCHES)};
}

/* A hidden layer, and the variance of its biases and of the output's. */
typedef struct {
  const char *name, *phi;
  double hidden, last;
} layer_kind;

/* E h^power for h = phi(sd z), z ~ N(0, 1), by the trapezoid rule; the activations written out again */
static double moment(const char *phi, double sd, int power) {
  const double step = 1e-3;
  double sum = 0;
  for (double z = -12; z <= 12; z += step) {
    const double a = sd * z, h = phi[0] == 'e' ? erf(a) : phi[0] == 't' ? tanh(a) : fmax(a, 0);
    sum += pow(h, power) * exp(-0.5 * z * z) * step;
  }
  return sum / sqrt(2 * acos(-1.));
}

/* One layer of H units: the outputs of a network of H x count units, H at a time, are those of `count` networks, each
 * with an output bias of its own. */
static ep_status shallow(estimate *out, double *variance, const layer_kind *kind, int H,
                         ptrdiff_t count, long seed) {
  const ep_net_config c = tangent_network(kind->phi, (long)(H * count), 1);
  ep_variance_config variances;
  ep_options_default(ep_variance_options, &variances);
  variances.bias_variance = kind->hidden;
  ep_work work = {0};
  ep_net net = {0};
  ep_mat x, h;
  double *f;
  ep_status st = tangent_points(&work, &x, 1, INPUTS, seed, 7);
  if (!st) st = ep_work_mat(&work, &h, EP_DOUBLE, 1, H * count);
  if (!st) st = ep_work_get(&work, &f, count, sizeof *f);
  if (!st) st = ep_net_draw(&net, &c, &variances, INPUTS, (uint64_t)seed, EP_DOUBLE);
  if (!st) st = ep_net_hidden(&h, &net, &x);
  ep_random random = ep_random_new((uint64_t)seed, EP_STREAM_BATCH, 5);
  for (ptrdiff_t i = 0; !st && kind->last > 0 && i < count; i++)
    f[i] = sqrt(kind->last) * ep_random_normal(&random);
  for (ptrdiff_t i = 0; !st && i < H * count; i++)
    f[i / H] += *ep_d(&h, 0, i) * *ep_d(&net.W, i, 0) / sqrt(H);
  if (!st) *out = kurtosis(f, count, variance);
  ep_net_free(&net);
  ep_work_free(&work);
  return st;
}

/* three hidden layers, one network of many outputs after another */
static ep_status deep(estimate *out, long width, ptrdiff_t count, long seed) {
  enum { OUTPUTS = 64 };
  ep_net_config c = tangent_network("erf", width, 3);
  c.outputs = OUTPUTS;
  ep_work work = {0};
  ep_net net = {0};
  ep_stream *s = NULL;
  ep_mat x, F;
  double *f, unused;
  ep_status st = tangent_points(&work, &x, 1, INPUTS, seed, 7);
  if (!st) st = ep_work_mat(&work, &F, EP_DOUBLE, 1, OUTPUTS);
  if (!st) st = ep_work_get(&work, &f, count * OUTPUTS, sizeof *f);
  if (!st) st = ep_net_start(&net, &c, INPUTS, (uint64_t)seed, EP_DOUBLE);
  if (!st) st = ep_stream_new(&s, &x, &net.shape, 1, EP_PASS_FORWARD, tangent_memory);
  for (ptrdiff_t i = 0; !st && i < count; i++) {
    if (i % 1024 == 1023) st = ep_run_step("networks", (double)i, (double)count);
    ep_random_fill_normal(&net.theta, (uint64_t)seed, EP_STREAM_START, (uint32_t)i + 1);
    ep_stream_forward(&F, s, &net);
    memcpy(&f[i * OUTPUTS], F.data, OUTPUTS * sizeof *f);
  }
  if (!st) *out = kurtosis(f, count * OUTPUTS, &unused);
  ep_stream_free(s);
  ep_net_free(&net);
  ep_work_free(&work);
  return st;
}

enum { WIDTHS = 3, PHIS = 4, RELU = 2 };
static const layer_kind kinds[PHIS] = {{"erf", "erf", 0, 0},
                                       {"tanh", "tanh", 0, 0},
                                       {"relu", "relu", 0, 0},
                                       {"tanh with biases", "tanh", 0.5, 0.2}};
static const int layer_widths[WIDTHS] = {1, 4, 16};

static ep_status draw_kurtosis(json_t *figure, const char *name, const double *H, const estimate *e,
                               bool dashed) {
  double y[WIDTHS], low[WIDTHS], high[WIDTHS];
  for (int i = 0; i < WIDTHS; i++) {
    y[i] = e[i].mean;
    low[i] = e[i].mean - 2 * e[i].error, high[i] = e[i].mean + 2 * e[i].error;
  }
  return ep_figure_add(figure, &(ep_series){.name = name,
                                            .count = WIDTHS,
                                            .x = H,
                                            .y = y,
                                            .low = dashed ? NULL : low,
                                            .high = dashed ? NULL : high,
                                            .dashed = dashed});
}

/* excess kurtosis of f = c + H^{-1/2} sum W h: 3 (E h^4 - (E h^2)^2)/H over the square of the variance, E h^2 + Var c */
static double predicted(const layer_kind *k, int H, double *variance) {
  const double sd = sqrt(1 + k->hidden), h2 = moment(k->phi, sd, 2), h4 = moment(k->phi, sd, 4);
  *variance = h2 + k->last;
  return 3 * (h4 - h2 * h2) / (H * *variance * *variance);
}

/* one kind of layer: kurtosis at every H within five standard errors, at H = 1 so far from that of a normal output; the
 * variance of eq. 51, the same at every H */
static ep_status nngp_layer(ep_claim_result *r, json_t *figure, const layer_kind *kind,
                            ptrdiff_t count, long seed, double *variance) {
  estimate e[WIDTHS], theory[WIDTHS];
  double H[WIDTHS], expected;
  char name[96];
  for (int i = 0; i < WIDTHS; i++) {
    EP_TRY(shallow(&e[i], variance, kind, layer_widths[i], count, seed + i));
    H[i] = layer_widths[i];
    theory[i] = (estimate){predicted(kind, layer_widths[i], &expected), 0};
    const double error = expected * sqrt((2 + theory[i].mean) / (double)count);
    r->pass = r->pass && fabs(e[i].mean - theory[i].mean) <= 5 * e[i].error &&
              fabs(*variance - expected) <= 5 * error;
    snprintf(name, sizeof name, "kurtosis %s H=%d", kind->name, layer_widths[i]);
    EP_TRY(ep_claim_measure_all(r, name, (double[]){e[i].mean, e[i].error, theory[i].mean}, 3));
  }
  r->pass = r->pass && e[0].mean > 5 * e[0].error; /* the control */
  snprintf(name, sizeof name, "%s, predicted", kind->name);
  EP_TRY(draw_kurtosis(figure, kind->name, H, e, false));
  return draw_kurtosis(figure, name, H, theory, true);
}

ep_status tangent_nngp(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const ptrdiff_t count = claim_pick(size, 1 << 15, 1 << 17, 1 << 19);
  const ptrdiff_t draws = claim_pick(size, 1 << 11, 1 << 13, 1 << 15);
  double variance[PHIS];
  estimate narrow, wide;
  json_t *figure;
  r->pass = true;
  EP_TRY(claim_figure(&figure, r, "kurtosis", EP_FIGURE_LINE, "How normal outputs are",
                      "The excess kurtosis of outputs over random networks falls as one over the "
                      "width, as predicted.",
                      (ep_axis){"hidden units H", true}, (ep_axis){"excess kurtosis", true}));
  for (int i = 0; i < PHIS; i++)
    EP_TRY(nngp_layer(r, figure, &kinds[i], count, run->seed, &variance[i]));
  EP_TRY(deep(&narrow, 4, draws, run->seed));
  EP_TRY(deep(&wide, 64, draws, run->seed));
  r->pass = r->pass && narrow.mean - wide.mean > 3 * hypot(narrow.error, wide.error);
  EP_TRY(ep_claim_measure_all(r, "kurtosis three layers width 4",
                              (double[]){narrow.mean, narrow.error}, 2));
  EP_TRY(ep_claim_measure_all(r, "kurtosis three layers width 64",
                              (double[]){wide.mean, wide.error}, 2));
  EP_TRY(ep_claim_measure_all(r, "variance", variance, PHIS));
  EP_TRY(ep_claim_note(
      r,
      "Kurtosis with its standard error over 32 batches, and the prediction; one point of "
      "the sphere in R^5; biases of variance 0.5 (hidden) and 0.2 (output) in one of the four. The "
      "covariance of one hidden layer is "
      "exact at any width, so that it says nothing about the limit."));
  const double mean = 1 / sqrt(2 * acos(-1.)); /* of relu's h */
  return ep_claim_found(
      r,
      "Eq. 49 has Var[h] where E[h^2] belongs: for relu %.3f, measured %.3f; E[h^2] is "
      "%.3f.",
      moment("relu", 1, 2) - mean * mean, variance[RELU], moment("relu", 1, 2));
}

/* ---- tangent-ensemble */

enum { TRAIN = 8, NEW = 8 };
typedef struct {
  ep_mat X, T, Y;
  ep_mat mean; /* (NEW x 1) of trained networks at infinite width */
  double variance[NEW], prior[NEW], bayes[NEW];
} limit_law;

static ep_status limit_of(ep_work *work, limit_law *l, long seed) {
  ep_domain_kernel k;
  ep_mat Theta, Tx, K, Kx, unused;
  ep_squared *s;
  EP_TRY(tangent_points(work, &l->X, TRAIN, INPUTS, seed, 11));
  EP_TRY(tangent_points(work, &l->T, NEW, INPUTS, seed, 12));
  EP_TRY(ep_work_mat(work, &l->Y, EP_DOUBLE, TRAIN, 1));
  ep_random_fill_normal(&l->Y, (uint64_t)seed, EP_STREAM_DATA, 13);
  EP_TRY(tangent_kernel(&k, "erf", 1, 0));
  ep_mat *all[] = {&Theta, &Tx, &K, &Kx};
  for (int i = 0; i < 4; i++)
    EP_TRY(ep_work_mat(work, all[i], EP_DOUBLE, i % 2 ? NEW : TRAIN, TRAIN));
  EP_TRY(ep_work_mat(work, &l->mean, EP_DOUBLE, NEW, 1));
  EP_TRY(ep_work_mat(work, &unused, EP_DOUBLE, NEW, 1));
  for (int i = 0; i < 4; i++)
    EP_TRY(ep_analytic_kernel(all[i], &k.network, i < 2 ? EP_NTK : EP_NNGP, i % 2 ? &l->T : &l->X,
                              i % 2 ? &l->X : NULL));
  EP_TRY(ep_analytic_diagonal(l->prior, &k.network, EP_NNGP, &l->T));
  EP_TRY(ep_gp_posterior(&unused, l->bayes, &K, &Kx, l->prior, &l->Y, 0));
  EP_TRY(ep_squared_new(&s, &Theta));
  const ep_status st =
      ep_gp_trained(&l->mean, l->variance, s, &Tx, &K, &Kx, l->prior, &l->Y, 1, INFINITY);
  ep_squared_free(s);
  return st;
}

/* mean and variance over networks at the new points, before (0) and after (1) training */
static ep_status ensemble(double mean[2][NEW], double variance[2][NEW], const limit_law *l,
                          long width, int count, long seed) {
  const ep_net_config c = tangent_network("erf", width, 1);
  double sum[2][NEW] = {{0}}, squares[2][NEW] = {{0}}, f[NEW], k[TRAIN * TRAIN], loss;
  const ep_mat F = ep_mat_view(EP_DOUBLE, NEW, 1, f), K = ep_mat_view(EP_DOUBLE, TRAIN, TRAIN, k);
  for (int i = 0; i < count; i++) {
    ep_supervised *d;
    ep_squared *s = NULL;
    EP_TRY(ep_run_step("networks", i, count));
    EP_TRY(ep_supervised_new(&d, &c, &l->X, &l->Y, false, (uint64_t)(1000 * (seed + 1) + i)));
    ep_status st =
        ep_ntk_empirical(&K, ep_supervised_net(d), &l->X, NULL, EP_TRACE, tangent_memory);
    if (!st) st = ep_squared_new(&s, &K);
    for (int after = 0; !st && after < 2; after++) {
      if (after)
        st = ep_supervised_steps(&loss, d, 0.9 * ep_squared_critical_rate(s), 400, INFINITY);
      if (!st) st = ep_supervised_outputs(&F, d, &l->T);
      for (int j = 0; j < NEW; j++) sum[after][j] += f[j], squares[after][j] += f[j] * f[j];
    }
    ep_squared_free(s);
    ep_supervised_free(d);
    EP_TRY(st);
  }
  for (int a = 0; a < 2; a++)
    for (int j = 0; j < NEW; j++) {
      mean[a][j] = sum[a][j] / count;
      variance[a][j] = (squares[a][j] - sum[a][j] * mean[a][j]) / (count - 1);
    }
  return EP_OK;
}

static double total(const double *x) {
  double sum = 0;
  for (int j = 0; j < NEW; j++) sum += x[j];
  return sum;
}

ep_status tangent_ensemble(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int count = claim_pick(size, 40, 100, 200);
  const long width = claim_pick(size, 512, 2048, 8192);
  double mean[2][NEW], variance[2][NEW], off[2] = {0}, at[NEW], low[NEW], high[NEW];
  limit_law l;
  json_t *figure;
  ep_work work = {0};
  ep_status st = limit_of(&work, &l, run->seed);
  if (!st) st = ensemble(mean, variance, &l, width, count, run->seed);
  for (int j = 0; !st && j < NEW; j++) {
    const double limit = *ep_d(&l.mean, j, 0);
    for (int a = 0; a < 2; a++)
      off[a] += pow(mean[a][j] - limit, 2) / (l.variance[j] / count) / NEW;
    at[j] = limit;
    low[j] = mean[1][j] - 2 * sqrt(variance[1][j] / count);
    high[j] = mean[1][j] + 2 * sqrt(variance[1][j] / count);
  }
  ep_work_free(&work);
  EP_TRY(st);
  const double ratio = total(variance[1]) / total(l.variance);
  const double before = total(variance[0]) / total(l.variance);
  const bool after_meets = off[1] < 4 && fabs(log(ratio)) < log(1.5);
  const bool before_meets = off[0] < 4 && fabs(log(before)) < log(1.5);
  r->pass = after_meets && !before_meets;
  EP_TRY(claim_figure(&figure, r, "ensemble", EP_FIGURE_SCATTER, "Trained networks and their limit",
                      "The mean of an ensemble of trained networks at new points is that of the "
                      "Gaussian process; bars are two standard errors.",
                      (ep_axis){"mean at infinite width", false},
                      (ep_axis){"mean of the ensemble", false}));
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){
          .name = "new points", .count = NEW, .x = at, .y = mean[1], .low = low, .high = high}));
  EP_TRY(ep_claim_measure(r, "squared distance of means in standard errors", off[1]));
  EP_TRY(ep_claim_measure(r, "variance over that of the limit", ratio));
  EP_TRY(ep_claim_measure(r, "variance over that of the NNGP posterior",
                          total(variance[1]) / total(l.bayes)));
  EP_TRY(ep_claim_measure(r, "variance before training over that of the limit", before));
  EP_TRY(ep_claim_measure_all(r, "networks and width", (double[]){count, (double)width}, 2));
  EP_TRY(
      ep_claim_note(r,
                    "8 points and 8 new ones on the sphere of R^5, random targets, erf, one hidden "
                    "layer, trained to the end; the limit is Lee's (mean and variance of trained "
                    "networks), beside the posterior of the NNGP."));
  return ep_claim_found(
      r,
      "Trained ensembles are Gaussian processes, but not the posterior of the NNGP: their "
      "variance is %.2f of it (limit: %.2f).",
      total(variance[1]) / total(l.bayes), total(l.variance) / total(l.bayes));
}
