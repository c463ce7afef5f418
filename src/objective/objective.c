/* L(F) and dL/dF: similarity map forward, loss on its values, map backward. */
#include "objective/loss.h"

#include "core/crew.h"
#include "core/vector.h"

#include <eigenpair/run.h>
#include <math.h>
#include <string.h>

const ep_option ep_objective_options[] = {EP_OBJECTIVE_OPTIONS(EP_OPT_ROW, ep_objective_config){0}};

static const ep_loss losses[] = {
#define X(name, of, function, help, ...) {#name, help, .of = ep_loss_##function, __VA_ARGS__},
    EP_LOSSES(X)
#undef X
};
enum { LOSSES = sizeof losses / sizeof *losses };

const char *ep_loss_name(int i) { return i < LOSSES ? losses[i].name : NULL; }
const char *ep_loss_help(int i) { return i < LOSSES ? losses[i].help : NULL; }
const char *ep_loss_options(int i) { return i < LOSSES ? losses[i].options : NULL; }

ep_status ep_objective_parse(ep_objective *out, const ep_objective_config *config) {
  int l = 0;
  EP_TRY(ep_options_name(&l, NULL, "loss", config->loss, ep_loss_name));
  const int s = config->similarity; /* losses of two views have none to choose */
  const int chosen = s == EP_SIMILARITY_AUTO || losses[l].view ? losses[l].similarity : s;
  EP_CHECK(losses[l].other || chosen == losses[l].similarity, EP_ERR_ARG,
           "loss %s is defined with another similarity; leave --similarity %s out", losses[l].name,
           ep_similarities[s].name);
  *out =
      (ep_objective){.loss = &losses[l], .similarity = &ep_similarities[chosen], .config = *config};
  return EP_OK;
}

void ep_objective_products(ep_objective *o) { o->similarity = &ep_similarities[EP_SIMILARITY_DOT]; }

bool ep_objective_positives_only(const ep_objective *o) {
  return o->loss->positives_only || o->loss->view || o->loss->every_view;
}

const char *ep_objective_similarity(const ep_objective *o) {
  return o->loss->view ? "no" : o->similarity->name;
}

bool ep_objective_is_cosine(const ep_objective *o) {
  return !o->loss->view && o->similarity == &ep_similarities[EP_SIMILARITY_COSINE];
}

bool ep_objective_is_trace(const ep_objective *o) { return o->loss->trace; }
bool ep_objective_whitens(const ep_objective *o) { return o->loss->whitens; }
bool ep_objective_of_views(const ep_objective *o) { return o->loss->view; }

static bool in_views(const ep_objective *o, const ep_pairs *pairs) {
  return o->loss->view || o->loss->every_view || pairs->all_others;
}

double ep_objective_slope(const ep_objective *o) {
  if (o->loss->view) return INFINITY;
  return o->loss->slope / (o->loss->tempered ? o->config.temperature : 1);
}

double ep_objective_partners(const ep_objective *o, const ep_pairs *pairs) {
  double most = (double)ep_pairs_most_partners(pairs);
  if (in_views(o, pairs)) most += (1 + most) * ((double)pairs->anchors - 1);
  return most;
}

ptrdiff_t ep_objective_least_anchors(const ep_objective *o, const ep_pairs *pairs) {
  return in_views(o, pairs) ? 2 : 1;
}

ep_status ep_objective_check(const ep_objective *o, const ep_pairs *pairs) {
  const char *name = o->loss->name;
  EP_CHECK(pairs->anchors >= 1, EP_ERR_INPUT, "there are no pairs");
  for (ptrdiff_t n = 0; n < pairs->anchors; n++) {
    const ptrdiff_t k0 = pairs->start[n], k1 = pairs->start[n + 1];
    EP_CHECK(k1 > k0 && pairs->sign[k0] > 0, EP_ERR_INPUT, "anchor %td has no positive", n);
    EP_CHECK(!o->loss->needs_negatives || pairs->all_others || pairs->sign[k1 - 1] < 0,
             EP_ERR_INPUT, "loss %s needs negatives; anchor %td has none (see --pairs)", name, n);
    EP_CHECK(!o->loss->positives_only || pairs->sign[k1 - 1] > 0, EP_ERR_INPUT,
             "loss %s takes positives only; anchor %td has a negative", name, n);
  }
  const bool views = o->loss->view || o->loss->every_view;
  for (ptrdiff_t n = 0; views && n < pairs->anchors; n++)
    EP_CHECK(pairs->start[n + 1] - pairs->start[n] == 1, EP_ERR_INPUT,
             "loss %s takes two views of a point: one positive and no negatives an anchor", name);
  EP_CHECK(!o->loss->positives_only || !pairs->all_others, EP_ERR_INPUT,
           "loss %s takes positives only (use --pairs positives)", name);
  EP_CHECK(pairs->anchors >= ep_objective_least_anchors(o, pairs), EP_ERR_INPUT,
           "%s needs at least two anchors", views ? name : "--pairs all");
  return EP_OK;
}

/* L = 1/N sum_n l(s_n1 .. s_nQ), listed pairs */
static ep_status listed(double *loss, ep_work *work, const ep_mat *dU, const ep_mat *U,
                        const ep_pairs *pairs, const ep_objective *o) {
  const ptrdiff_t most = ep_pairs_most_partners(pairs), z = U->cols;
  const double share = 1 / (double)pairs->anchors;
  double *s, *ds, sum = 0;
  EP_TRY(ep_work_get(work, &s, most, sizeof *s));
  EP_TRY(ep_work_get(work, &ds, most, sizeof *ds));
  for (ptrdiff_t n = 0; n < pairs->anchors; n++) {
    const ptrdiff_t k0 = pairs->start[n], count = pairs->start[n + 1] - k0;
    const double *u = ep_d(U, pairs->anchor[n], 0);
    for (ptrdiff_t q = 0; q < count; q++) s[q] = ep_dot(u, ep_d(U, pairs->partner[k0 + q], 0), z);
    sum += o->loss->pair(ds, s, pairs->sign + k0, count, &o->config);
    for (ptrdiff_t q = 0; q < count; q++) {
      const ptrdiff_t m = pairs->partner[k0 + q];
      ep_add(ep_d(dU, pairs->anchor[n], 0), share * ds[q], ep_d(U, m, 0), z);
      ep_add(ep_d(dU, m, 0), share * ds[q], u, z);
    }
  }
  *loss = sum * share;
  return EP_OK;
}

/* l of one view with all 2n views (first the anchors, then their positives). Its twin is the positive,
 * every view of another anchor a negative. The row s of similarities becomes dl/ds, 0 where there is
 * no pair. */
static double all_row(double *s, double *ds, const signed char *sign, ptrdiff_t self, ptrdiff_t n,
                      const ep_objective *o) {
  const ptrdiff_t twin = self < n ? self + n : self - n;
  const ptrdiff_t low = self < n ? self : twin, high = low + n;
  const double positive = s[twin];
  /* positive in front, then the others: self and twin leave the row */
  memmove(s + low, s + low + 1, (size_t)(n - 1) * sizeof *s);
  memmove(s + high - 1, s + high + 1, (size_t)(2 * n - high - 1) * sizeof *s);
  memmove(s + 1, s, (size_t)(2 * n - 2) * sizeof *s);
  s[0] = positive;
  const double l = o->loss->pair(ds, s, sign, 2 * n - 1, &o->config);
  memcpy(s, ds + 1, (size_t)low * sizeof *s);
  memcpy(s + low + 1, ds + 1 + low, (size_t)(n - 1) * sizeof *s);
  memcpy(s + high + 1, ds + high, (size_t)(2 * n - high - 1) * sizeof *s);
  s[self] = 0;
  s[twin] = ds[0];
  return l;
}

enum { ROWS = 256 }; /* of similarities at a time */

typedef struct {
  double *loss;
  const signed char *sign;
  const ep_mat *S, *dS; /* similarities of rows `first`, ..; a row a thread */
  ptrdiff_t first, anchors;
  const ep_objective *o;
} rows_loop;

static void all_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  double *ds = ep_d(l->dS, ep_crew_thread(), 0);
  for (ptrdiff_t r = first; r < end; r++)
    l->loss[r] = all_row(ep_d(l->S, r, 0), ds, l->sign, l->first + r, l->anchors, l->o);
}

/* L = mean over anchor views of l(s with every other view), in blocks of rows */
static ep_status all_views(double *loss, ep_work *work, const ep_mat *dY, const ep_mat *Y,
                           ptrdiff_t anchors, const ep_objective *o) {
  const ptrdiff_t views = Y->rows, as_anchor = o->loss->every_view ? views : anchors;
  const double share = 1 / (double)as_anchor;
  ep_mat S, dS;
  double *l, sum = 0;
  signed char *sign;
  EP_TRY(ep_work_mat(work, &S, EP_DOUBLE, ROWS < as_anchor ? ROWS : as_anchor, views));
  EP_TRY(ep_work_mat(work, &dS, EP_DOUBLE, ep_run_threads(), views));
  EP_TRY(ep_work_get(work, &l, ROWS, sizeof *l));
  EP_TRY(ep_work_get(work, &sign, views, sizeof *sign));
  memset(sign, -1, (size_t)views);
  sign[0] = 1;
  for (ptrdiff_t i = 0; i < as_anchor; i += ROWS) {
    const ptrdiff_t n = as_anchor - i < ROWS ? as_anchor - i : ROWS;
    const ep_mat s = ep_mat_rows(&S, 0, n), y = ep_mat_rows(Y, i, n), dy = ep_mat_rows(dY, i, n);
    ep_mat_mul(&s, 1, &y, EP_N, Y, EP_T, 0);
    ep_crew_loop(n, 8, true, all_rows, &(rows_loop){l, sign, &s, &dS, i, anchors, o});
    for (ptrdiff_t r = 0; r < n; r++) sum += l[r];
    ep_mat_mul(&dy, share, &s, EP_N, Y, EP_N, 1);
    ep_mat_mul(dY, share, &s, EP_T, &y, EP_N, 1);
  }
  *loss = sum * share;
  return EP_OK;
}

/* rows of the two views: anchor n in row n, its first positive in row N + n */
static ptrdiff_t view_point(const ep_pairs *pairs, ptrdiff_t row) {
  const ptrdiff_t n = pairs->anchors;
  return row < n ? pairs->anchor[row] : pairs->partner[pairs->start[row - n]];
}

static ep_status views(double *loss, ep_work *work, const ep_mat *dU, const ep_mat *U,
                       const ep_pairs *pairs, const ep_objective *o) {
  const ptrdiff_t n = pairs->anchors, z = U->cols;
  ep_mat Y, dY;
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, 2 * n, z));
  EP_TRY(ep_work_mat(work, &dY, EP_DOUBLE, 2 * n, z));
  for (ptrdiff_t i = 0; i < 2 * n; i++)
    memcpy(ep_d(&Y, i, 0), ep_d(U, view_point(pairs, i), 0), (size_t)z * sizeof(double));
  if (o->loss->view) {
    const ep_mat A = ep_mat_rows(&Y, 0, n), B = ep_mat_rows(&Y, n, n);
    const ep_mat dA = ep_mat_rows(&dY, 0, n), dB = ep_mat_rows(&dY, n, n);
    EP_TRY(o->loss->view(loss, work, &dA, &dB, &A, &B, &o->config));
  } else {
    EP_TRY(all_views(loss, work, &dY, &Y, n, o));
  }
  for (ptrdiff_t i = 0; i < 2 * n; i++)
    ep_add(ep_d(dU, view_point(pairs, i), 0), 1, ep_d(&dY, i, 0), z);
  return EP_OK;
}

double ep_objective_memory(const ep_objective *o, const ep_pairs *pairs, ptrdiff_t outputs) {
  const double z = (double)outputs, n = (double)pairs->anchors, p = (double)pairs->points;
  double numbers = 2 * p * z + 2 * (double)ep_pairs_most_partners(pairs); /* U, dU, s, ds */
  if (in_views(o, pairs)) numbers += 4 * n * z;                           /* Y, dY */
  if (o->loss->view) numbers += 2 * n * z + 3 * z * (z + 1);
  else if (in_views(o, pairs)) numbers += (ROWS + ep_run_threads() + 2) * 2 * n;
  return numbers * sizeof(double) + 4096;
}

static ep_status value(double *loss, ep_work *work, const ep_mat *dF, const ep_mat *F,
                       const ep_pairs *pairs, const ep_objective *o) {
  ep_mat U, dU;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, F->rows, F->cols));
  if (dF) dU = *dF, ep_mat_fill(dF, 0);
  else EP_TRY(ep_work_mat(work, &dU, EP_DOUBLE, F->rows, F->cols));
  o->similarity->forward(&U, F, o->config.delta);
  EP_TRY((in_views(o, pairs) ? views : listed)(loss, work, &dU, &U, pairs, o));
  if (dF) o->similarity->backward(dF, F, o->config.delta);
  return EP_OK;
}

ep_status ep_objective_value(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *pairs,
                             const ep_objective *o) {
  EP_CHECK(F->rows == pairs->points, EP_ERR_SHAPE, "%td points, but pairs of %td", F->rows,
           pairs->points);
  ep_work work = {0};
  const ep_status st = value(loss, &work, dF, F, pairs, o);
  ep_work_free(&work);
  return st;
}
