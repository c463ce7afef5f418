/* What an embedding looks like without labels: ranks, alignment, uniformity, spread, collapse. */
#include "probe/probes.h"

#include <eigenpair/random.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <stdlib.h>

const ep_option ep_metrics_options[] = {EP_METRICS_OPTIONS(EP_OPT_ROW, ep_metrics_config){0}};

/* ---- alignment */

static ep_status alignment(double *out, ep_work *work, const ep_tall *a, const ep_tall *b) {
  ep_mat u, v;
  double sum = 0;
  EP_TRY(ep_work_mat(work, &u, EP_DOUBLE, EP_TALL_BLOCK, a->X->cols));
  EP_TRY(ep_work_mat(work, &v, EP_DOUBLE, EP_TALL_BLOCK, a->X->cols));
  for (ptrdiff_t i = 0; i < a->count; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = a->count - i < EP_TALL_BLOCK ? a->count - i : EP_TALL_BLOCK;
    const ep_mat x = ep_mat_rows(&u, 0, m), y = ep_mat_rows(&v, 0, m);
    ep_unit_rows(&x, a, i);
    ep_unit_rows(&y, b, i);
    sum += ep_mat_distance2(&x, &y);
  }
  *out = sum / (double)a->count;
  return EP_OK;
}

/* ---- uniformity */

typedef struct {
  double *length2; /* |u_i|^2: 1, or 0 for a zero row */
  double *sum;     /* sum over j != i of k(u_i, u_j), k = exp(-2 |u_i - u_j|^2) */
} kernel_sums;

/* sum over first <= j < end of k(u_i, u_j), with |u_i - u_j|^2 = a + b_j - 2 s_j */
static double add_range(double a, const double *b, const double *s, ptrdiff_t first,
                        ptrdiff_t end) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = first; j < end; j++) {
    const double d2 = a + b[j] - 2 * s[j];
    sum += exp(-2 * (d2 > 0 ? d2 : 0));
  }
  return sum;
}

static void add_tile(void *user, const ep_mat *S, ptrdiff_t row, ptrdiff_t col) {
  const kernel_sums *k = user;
  const ptrdiff_t n = S->cols;
  for (ptrdiff_t i = 0; i < S->rows; i++) {
    const double *s = ep_d(S, i, 0), *b = k->length2 + col, a = k->length2[row + i];
    const ptrdiff_t own = row + i - col, gap = own < 0 ? 0 : own < n ? own : n;
    k->sum[row + i] +=
        add_range(a, b, s, 0, gap) + add_range(a, b, s, own == gap ? gap + 1 : gap, n);
  }
}

static ep_status lengths(double *length2, ep_work *work, const ep_tall *rows) {
  ep_mat x;
  EP_TRY(ep_work_mat(work, &x, EP_DOUBLE, 1, rows->X->cols));
  for (ptrdiff_t i = 0; i < rows->count; i++) {
    ep_tall_get(&x, rows, i);
    length2[i] = ep_mat_norm2(&x) > 0;
  }
  return EP_OK;
}

/* U = mean over pairs of k. Drawn points: its variance is about 4/m of that of the means k_i over the partners of one
 * point (Hoeffding), less the share that was drawn; d log U = dU / U. */
static void finish_uniformity(ep_metrics *out, const double *sum, ptrdiff_t m, ptrdiff_t n) {
  double mean = 0, square = 0;
  for (ptrdiff_t i = 0; i < m; i++) mean += sum[i] / (double)(m - 1) / (double)m;
  for (ptrdiff_t i = 0; i < m; i++) {
    const double d = sum[i] / (double)(m - 1) - mean;
    square += d * d / (double)(m - 1);
  }
  out->uniformity = log(mean);
  out->uniformity_points = m;
  out->uniformity_error =
      m < n ? sqrt(4 / (double)m * square * (1 - (double)m / (double)n)) / mean : 0;
}

static ep_status uniformity(ep_metrics *out, ep_work *work, const ep_tall *E, ptrdiff_t most,
                            uint64_t seed) {
  const ptrdiff_t n = E->count, m = n < most ? n : most;
  ep_tall rows = *E;
  kernel_sums k;
  rows.count = m;
  if (m < n) {
    ptrdiff_t *order;
    EP_TRY(ep_work_get(work, &order, n, sizeof *order));
    ep_random r = ep_random_new(seed, EP_STREAM_PROBE, 2);
    ep_random_permutation(&r, order, n);
    rows.index = order;
  }
  EP_TRY(ep_work_get(work, &k.length2, m, sizeof *k.length2));
  EP_TRY(ep_work_get(work, &k.sum, m, sizeof *k.sum));
  EP_TRY(lengths(k.length2, work, &rows));
  EP_TRY(ep_tiles(&rows, &rows, EP_COSINE, add_tile, &k, "uniformity"));
  finish_uniformity(out, k.sum, m, n);
  return EP_OK;
}

/* ---- ranks, spread and correlation */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* mean |r_jk| over j < k, both alive; r_jk = cov_jk / (sd_j sd_k) */
static double correlation(const ep_mat *cov, const double *sd, ptrdiff_t alive) {
  const ptrdiff_t d = cov->cols;
  double sum = 0;
  for (ptrdiff_t j = 0; j < d; j++)
    for (ptrdiff_t k = j + 1; k < d; k++)
      if (sd[j] > 0 && sd[k] > 0) sum += fabs(*ep_d(cov, j, k)) / (sd[j] * sd[k]);
  return alive < 2 ? NAN : sum / (0.5 * (double)alive * (double)(alive - 1));
}

/* *tightness = sqrt(sum_j sd_j^2 / mean |x|^2) */
static ep_status spread(ep_metrics *out, double *tightness, ep_work *work, const ep_tall *E) {
  const ptrdiff_t d = E->X->cols;
  double *mean, *sd, variance = 0, square = 0;
  ep_mat cov;
  EP_TRY(ep_work_get(work, &mean, d, sizeof *mean));
  EP_TRY(ep_work_get(work, &sd, d, sizeof *sd));
  EP_TRY(ep_work_mat(work, &cov, EP_DOUBLE, d, d));
  EP_TRY(ep_tall_moments(mean, sd, E));
  EP_TRY(ep_tall_ranks(&out->rankme, &out->effective_rank, &cov, E, mean, sd));
  for (ptrdiff_t j = 0; j < d; j++) {
    out->dead += sd[j] == 0;
    variance += sd[j] * sd[j];
    square += mean[j] * mean[j] + sd[j] * sd[j];
  }
  *tightness = square > 0 ? sqrt(variance / square) : 0;
  out->correlation = correlation(&cov, sd, d - out->dead);
  qsort(sd, (size_t)d, sizeof *sd, by_size);
  out->spread_min = sd[0], out->spread_max = sd[d - 1];
  out->spread_median = 0.5 * (sd[(d - 1) / 2] + sd[d / 2]);
  return EP_OK;
}

/* ---- collapse */

static void conclude(ep_metrics *m, double tightness) {
  const ptrdiff_t most = m->dimensions < m->points - 1 ? m->dimensions : m->points - 1;
  const double least = 0.1 * (double)most;
  const bool line = m->effective_rank < 1.05;
  const bool same = tightness < 1e-4;
  const bool flat = most > 1 && (line || (m->effective_rank < least && m->rankme < least));
  m->collapsed = same || flat;
  if (same)
    snprintf(m->collapse, sizeof m->collapse,
             "collapsed: all points are the same (their spread is %.2g of their length)",
             tightness);
  else
    snprintf(m->collapse, sizeof m->collapse,
             "%s: the points differ in %.1f of %td directions (effective rank)",
             flat ? "collapsed in dimension" : "not collapsed", m->effective_rank, most);
}

static ep_status check_values(ep_work *work, const ep_tall *E) {
  ep_mat block;
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, EP_TALL_BLOCK, E->X->cols));
  EP_CHECK(ep_tall_max(E, &block) < 1e100, EP_ERR_INPUT,
           "an embedding has values that are not finite or above 1e100");
  return ep_reader_check(E->reader);
}

static ep_status metrics(ep_metrics *out, ep_work *work, const ep_tall *E, const ep_tall *positives,
                         const ep_metrics_config *config, const ep_run_config *run) {
  double tightness;
  EP_TRY(check_values(work, E));
  if (positives) EP_TRY(check_values(work, positives));
  EP_TRY(spread(out, &tightness, work, E));
  if (positives) EP_TRY(alignment(&out->alignment, work, E, positives));
  EP_TRY(uniformity(out, work, E, config->uniformity_points, (uint64_t)run->seed));
  conclude(out, tightness);
  return EP_OK;
}

static ep_tall rows_of(const ep_labelled *l) {
  ep_tall rows = ep_tall_all(l->X);
  rows.reader = l->reader;
  return rows;
}

ep_status ep_metrics_read(ep_metrics *out, const ep_labelled *labelled, const ep_labelled *positive,
                          const ep_metrics_config *config, const ep_run_config *run) {
  const ep_mat *E = labelled->X, *positives = positive ? positive->X : NULL;
  *out = (ep_metrics){.points = E->rows, .dimensions = E->cols, .alignment = NAN};
  EP_CHECK(E->rows >= 2 && E->cols >= 1, EP_ERR_SHAPE,
           "an embedding of %td x %td; metrics need two points and a dimension", E->rows, E->cols);
  EP_CHECK(!positives || (positives->rows == E->rows && positives->cols == E->cols), EP_ERR_SHAPE,
           "the embedding is %td x %td, its positives are %td x %td", E->rows, E->cols,
           positives->rows, positives->cols);
  const ep_tall rows = rows_of(labelled), others = positive ? rows_of(positive) : rows;
  ep_work work = {0};
  ep_status st = metrics(out, &work, &rows, positive ? &others : NULL, config, run);
  ep_work_free(&work);
  if (!st) st = ep_reader_check(rows.reader);
  return st || !positive ? st : ep_reader_check(others.reader);
}

static ep_status metrics_of(ep_metrics *out, const ep_mat *E, const ep_mat *positives,
                            const ep_metrics_config *config, const ep_run_config *run) {
  const ep_labelled all = {.X = E}, others = {.X = positives};
  return ep_metrics_read(out, &all, positives ? &others : NULL, config, run);
}

ep_status ep_metrics_of(ep_run *run, ep_metrics *out, const ep_mat *E, const ep_mat *positives,
                        const ep_metrics_config *config, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = metrics_of(out, E, positives, config, settings);
  ep_run_leave(&scope);
  return st;
}
