/* Multinomial logistic regression. The only door to libLBFGS. */
#include "core/crew.h"
#include "probe/probes.h"

#include <lbfgs.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

void ep_linear_rows(const ep_mat *block, const ep_tall *rows, ptrdiff_t first) {
  const ptrdiff_t d = rows->X->cols;
  const ep_mat points = ep_mat_cols(block, 0, d);
  ep_tall_get(&points, rows, first);
  for (ptrdiff_t i = 0; i < block->rows; i++) *ep_d(block, i, d) = 1;
}

/* ---- scores and classes */

static void argmax(int *found, const ep_mat *S) {
  for (ptrdiff_t i = 0; i < S->cols; i++) {
    found[i] = 0;
    for (ptrdiff_t c = 1; c < S->rows; c++)
      if (*ep_d(S, c, i) > *ep_d(S, found[i], i)) found[i] = (int)c;
  }
}

static ep_status classify(int *found, ep_work *work, const ep_tall *rows, const ep_mat *W) {
  ep_mat block, scores;
  EP_TRY(ep_work_mat(work, &block, EP_DOUBLE, EP_TALL_BLOCK, W->cols));
  EP_TRY(ep_work_mat(work, &scores, EP_DOUBLE, W->rows, EP_TALL_BLOCK));
  const ep_share mine = ep_comm_share(rows->count);
  const ptrdiff_t end = mine.first + mine.count;
  for (ptrdiff_t i = mine.first; i < end; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = end - i < EP_TALL_BLOCK ? end - i : EP_TALL_BLOCK;
    const ep_mat Z = ep_mat_rows(&block, 0, m), S = ep_mat_cols(&scores, 0, m);
    ep_linear_rows(&Z, rows, i);
    ep_mat_mul(&S, 1, W, EP_N, &Z, EP_T, 0);
    argmax(found + i, &S);
  }
  return ep_found_gather(found, rows->count);
}

ep_status ep_found_gather(int *found, ptrdiff_t count) {
  const ep_mat all = ep_mat_view(EP_SINGLE, count, 1, found); /* numbers of four bytes, moved */
  _Static_assert(sizeof(int) == sizeof(float), "classes travel as four bytes");
  return ep_comm_gather(&all);
}

ep_status ep_linear_classify(int *found, const ep_tall *rows, const ep_mat *W) {
  ep_work work = {0};
  const ep_status st = classify(found, &work, rows, W);
  ep_work_free(&work);
  return st;
}

/* ---- the loss */

ep_status ep_logistic_new(ep_logistic *out, ep_work *work, const ep_part *part, ptrdiff_t classes,
                          double ridge, double memory) {
  enum { MOST = 16 };
  const ptrdiff_t d = part->rows.X->cols + 1, blocks = 1 + (part->rows.count - 1) / EP_TALL_BLOCK;
  const double bytes = 8. * (double)(EP_TALL_BLOCK * (d + classes + 2) + classes * d);
  ptrdiff_t groups = blocks < MOST ? blocks : MOST;
  while (groups > 1 && (double)groups * bytes > memory) groups--;
  *out = (ep_logistic){.part = part, .ridge = ridge, .groups = groups, .classes = classes};
  EP_TRY(ep_work_get(work, &out->block, groups, sizeof *out->block));
  EP_TRY(ep_work_get(work, &out->scores, groups, sizeof *out->scores));
  EP_TRY(ep_work_get(work, &out->gradient, groups, sizeof *out->gradient));
  EP_TRY(ep_work_get(work, &out->loss, groups, sizeof *out->loss));
  for (ptrdiff_t g = 0; g < groups; g++) {
    EP_TRY(ep_work_mat(work, &out->block[g], EP_DOUBLE, EP_TALL_BLOCK, d));
    EP_TRY(ep_work_mat(work, &out->scores[g], EP_DOUBLE, classes + 2, EP_TALL_BLOCK));
    EP_TRY(ep_work_mat(work, &out->gradient[g], EP_DOUBLE, classes, d));
  }
  return EP_OK;
}

/* S (classes x m): scores -> softmax_c - 1{c = y}, column by column; returns sum_i -log softmax_y. `top` and `sum` are
 * scratch; the largest score is taken off first, so that nothing overflows. */
static double softmax(const ep_mat *S, double *restrict top, double *restrict sum, const int *y) {
  const ptrdiff_t m = S->cols;
  double loss = 0;
  for (ptrdiff_t i = 0; i < m; i++) top[i] = -INFINITY, sum[i] = 0;
  for (ptrdiff_t c = 0; c < S->rows; c++) {
    const double *s = ep_d(S, c, 0);
    for (ptrdiff_t i = 0; i < m; i++) top[i] = s[i] > top[i] ? s[i] : top[i];
  }
  for (ptrdiff_t i = 0; i < m; i++) loss += top[i] - *ep_d(S, y[i], i);
  for (ptrdiff_t c = 0; c < S->rows; c++) {
    double *s = ep_d(S, c, 0);
#pragma omp simd
    for (ptrdiff_t i = 0; i < m; i++) {
      s[i] = exp(s[i] - top[i]);
      sum[i] += s[i];
    }
  }
  for (ptrdiff_t i = 0; i < m; i++) loss += log(sum[i]);
  for (ptrdiff_t c = 0; c < S->rows; c++) {
    double *s = ep_d(S, c, 0);
    for (ptrdiff_t i = 0; i < m; i++) s[i] /= sum[i];
  }
  for (ptrdiff_t i = 0; i < m; i++) *ep_d(S, y[i], i) -= 1;
  return loss;
}

/* the blocks of one group: S = W Z', loss and P = dL/dS, dW += P Z */
static void group_loss(const ep_logistic *l, const ep_mat *W, ptrdiff_t g) {
  const ep_tall *rows = &l->part->rows;
  const ptrdiff_t blocks = 1 + (rows->count - 1) / EP_TALL_BLOCK;
  ep_mat_fill(&l->gradient[g], 0);
  l->loss[g] = 0;
  for (ptrdiff_t b = blocks * g / l->groups; b < blocks * (g + 1) / l->groups; b++) {
    const ptrdiff_t i = b * EP_TALL_BLOCK;
    const ptrdiff_t m = rows->count - i < EP_TALL_BLOCK ? rows->count - i : EP_TALL_BLOCK;
    const ep_mat Z = ep_mat_rows(&l->block[g], 0, m), all = ep_mat_rows(&l->scores[g], 0, W->rows);
    const ep_mat S = ep_mat_cols(&all, 0, m);
    ep_linear_rows(&Z, rows, i);
    ep_mat_mul(&S, 1, W, EP_N, &Z, EP_T, 0);
    l->loss[g] += softmax(&S, ep_d(&l->scores[g], W->rows, 0), ep_d(&l->scores[g], W->rows + 1, 0),
                          l->part->class + i);
    ep_mat_mul(&l->gradient[g], 1, &S, EP_N, &Z, EP_N, 1);
  }
}

typedef struct {
  const ep_logistic *l;
  const ep_mat *W;
  ptrdiff_t first; /* group of this rank */
} loss_loop;

static void group_losses(void *of, ptrdiff_t first, ptrdiff_t end) {
  const loss_loop *s = of;
  for (ptrdiff_t g = first; g < end; g++) group_loss(s->l, s->W, s->first + g);
}

/* L = 1/n sum_i -log softmax(W x_i)_{y_i} + ridge/2 |W|^2, the last column of W (the offsets) not penalised */
double ep_logistic_loss(const ep_mat *dW, const ep_logistic *l, const ep_mat *W) {
  const double n = (double)l->part->rows.count;
  const ep_mat slopes = ep_mat_cols(W, 0, W->cols - 1), d_slopes = ep_mat_cols(dW, 0, W->cols - 1);
  double loss = 0.5 * l->ridge * ep_mat_norm2(&slopes);
  const ep_share mine = ep_comm_share(l->groups);
  double own = 0;
  const ep_mat sum = ep_mat_view(EP_DOUBLE, 1, 1, &own);
  ep_crew_loop(mine.count, 1, true, group_losses, &(loss_loop){l, W, mine.first});
  ep_mat_fill(dW, 0);
  for (ptrdiff_t g = mine.first; g < mine.first + mine.count; g++) {
    own += l->loss[g] / n;
    ep_mat_axpy(dW, 1 / n, &l->gradient[g]);
  }
  if (ep_comm_sum(&sum) || ep_comm_sum(dW)) return NAN; /* L-BFGS then ends */
  loss += own;
  ep_mat_axpy(&d_slopes, l->ridge, &slopes);
  return loss;
}

/* ---- its minimum */

typedef struct {
  const ep_logistic *logistic;
  ep_probe_result *info;
  double tolerance, first; /* first: |dW| at W = 0 */
  long most;
  ep_status status;
} descent;
enum { SMALL_GRADIENT = 1, ASKED_TO_STOP = 2 }; /* our reasons to end it */

static ep_mat matrix_of(const ep_logistic *l, const double *x) {
  return ep_mat_view(EP_DOUBLE, l->classes, l->part->rows.X->cols + 1, (double *)(uintptr_t)x);
}

/* libLBFGS rounds the number of variables up: those behind ours stay 0 */
static double evaluate(void *user, const double *x, double *g, const int n, const double step) {
  const descent *d = user;
  const ep_mat W = matrix_of(d->logistic, x), dW = matrix_of(d->logistic, g);
  (void)step;
  memset(g, 0, (size_t)n * sizeof *g);
  return ep_logistic_loss(&dW, d->logistic, &W);
}

static int progress(void *user, const double *x, const double *g, const double loss,
                    const double x_norm, const double g_norm, const double step, int n, int k,
                    int evaluations) {
  descent *d = user;
  (void)x, (void)g, (void)loss, (void)x_norm, (void)step, (void)n, (void)evaluations;
  d->info->iterations = k;
  d->info->converged = g_norm <= d->tolerance * d->first;
  d->status = ep_run_step("linear probe", (double)k, (double)d->most);
  return d->status ? ASKED_TO_STOP : d->info->converged ? SMALL_GRADIENT : 0;
}

/* Ends that leave the best point found: no step is better any more within rounding, or time is up. */
static bool usable(int end) {
  static const int ends[] = {LBFGS_SUCCESS,           LBFGS_STOP,
                             LBFGS_ALREADY_MINIMIZED, LBFGSERR_MAXIMUMITERATION,
                             LBFGSERR_ROUNDING_ERROR, LBFGSERR_MINIMUMSTEP,
                             LBFGSERR_MAXIMUMSTEP,    LBFGSERR_MAXIMUMLINESEARCH,
                             LBFGSERR_WIDTHTOOSMALL,  LBFGSERR_INCORRECT_TMINMAX,
                             LBFGSERR_OUTOFINTERVAL,  LBFGSERR_INCREASEGRADIENT,
                             SMALL_GRADIENT};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (end == ends[i]) return true;
  return false;
}

static ep_status minimise(double *x, ptrdiff_t n, descent *d) {
  lbfgs_parameter_t p;
  double loss;
  lbfgs_parameter_init(&p);
  p.m = 10;
  p.epsilon = 1e-300; /* `progress` decides */
  p.max_iterations = (int)d->most;
  const int end = lbfgs((int)n, x, &loss, evaluate, progress, d, &p);
  if (d->status) return d->status;
  EP_CHECK(end != LBFGSERR_OUTOFMEMORY, EP_ERR_NOMEM, "no memory for L-BFGS on %td weights", n);
  EP_CHECK(usable(end) && isfinite(loss), EP_ERR_NUMERIC, "L-BFGS failed (%d)", end);
  return EP_OK;
}

/* `from`: where the descent starts; NULL: at 0 */
static ep_status fit_part(ep_mat *W, ep_probe_result *info, ep_work *work, const ep_part *part,
                          double ridge, const ep_mat *from, const ep_probe_task *t) {
  const ptrdiff_t d = part->rows.X->cols + 1, n = (t->classes * d + 15) / 16 * 16;
  ep_logistic logistic;
  double *x, *g;
  EP_CHECK(n < INT_MAX, EP_ERR_ARG, "a linear probe of %td classes in %td dimensions is too large",
           t->classes, d);
  EP_TRY(ep_logistic_new(&logistic, work, part, t->classes, ridge, 0.25 * ep_run_memory(t->run)));
  EP_TRY(ep_work_get(work, &x, n, sizeof *x));
  EP_TRY(ep_work_get(work, &g, n, sizeof *g));
  descent state = {&logistic, info, t->config->tolerance, 0, t->config->iterations, EP_OK};
  const ep_mat dW = matrix_of(&logistic, g);
  *W = matrix_of(&logistic, x);
  (void)ep_logistic_loss(&dW, &logistic, W);
  state.first = sqrt(ep_mat_norm2(&dW));
  info->converged = state.first == 0; /* points that are all the same, classes of one size */
  if (from) ep_mat_copy(W, from);
  return info->converged ? EP_OK : minimise(x, n, &state);
}

/* The penalty with the least mean loss on training points that were held out (their accuracy is a count of a few errors, and
 * luck decides). From the largest on, each descent from where the last one ended: small ones take long from 0. Two in a row that
 * are no better end it. */
static ep_status choose_ridge(double *ridge, ep_probe_result *info, ep_work *work,
                              const ep_probe_task *t) {
  ep_part fit, judge;
  ep_logistic judged;
  ep_mat last, slope;
  double least = INFINITY;
  int worse = 0;
  EP_TRY(ep_penalty_parts(&fit, &judge, work, t));
  EP_TRY(ep_work_mat(work, &last, EP_DOUBLE, t->classes, fit.rows.X->cols + 1));
  EP_TRY(ep_work_mat(work, &slope, EP_DOUBLE, t->classes, fit.rows.X->cols + 1));
  EP_TRY(ep_logistic_new(&judged, work, &judge, t->classes, 0, 0.25 * ep_run_memory(t->run)));
  ep_mat_fill(&last, 0);
  for (int k = EP_PENALTIES - 1; k >= 0 && worse < 2; k--) {
    ep_work own = {0};
    ep_mat W;
    const ep_status st = fit_part(&W, info, &own, &fit, ep_penalties[k], &last, t);
    if (!st) ep_mat_copy(&last, &W);
    ep_work_free(&own);
    if (st) return st;
    const double loss = ep_logistic_loss(&slope, &judged, &last);
    EP_CHECK(isfinite(loss), EP_ERR_NUMERIC, "the loss of points held out is not a number");
    worse = loss < least ? 0 : worse + 1;
    if (loss < least) least = loss, *ridge = ep_penalties[k];
  }
  return EP_OK;
}

ep_status ep_linear_fit(ep_mat *W, ep_probe_result *info, ep_work *work, const ep_probe_task *t) {
  info->penalty = t->config->ridge;
  if (info->penalty == EP_AUTO) EP_TRY(choose_ridge(&info->penalty, info, work, t));
  return fit_part(W, info, work, &t->train, info->penalty, NULL, t);
}
