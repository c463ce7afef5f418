/* The nearest neighbours: candidates by tiles of products, their order by plain differences.
 *
 *   |a - b|^2 = |a|^2 - 2 (a'b - |b|^2 / 2)      1 - cos(a, b) = |a/|a| - b/|b||^2 / 2
 *
 * A product carries rounding of the points' lengths; the differences on the right do not, so a few candidates more than
 * are wanted are kept and then ordered by those. */
#include "core/crew.h"
#include "probe/probes.h"

#include <math.h>

enum { MORE = 8, CHUNK = 32 }; /* candidates beyond those wanted; similarities looked at together */

const char *ep_metric_name(int i) {
  static const char *const names[] = {"cosine", "euclidean", NULL};
  return names[i];
}

/* ---- candidates */

static void insert(double *closeness, ptrdiff_t *who, ptrdiff_t k, double s, ptrdiff_t j) {
  ptrdiff_t at = k - 1;
  for (; at > 0 && closeness[at - 1] < s; at--)
    closeness[at] = closeness[at - 1], who[at] = who[at - 1];
  closeness[at] = s;
  who[at] = j;
}

static double largest(const double *s, ptrdiff_t count) {
  double top = -INFINITY;
#pragma omp simd reduction(max : top)
  for (ptrdiff_t j = 0; j < count; j++) top = s[j] > top ? s[j] : top;
  return top;
}

/* Most chunks hold nothing nearer than the k-th so far. */
static void collect(void *user, const ep_mat *S, ptrdiff_t row, ptrdiff_t col) {
  const ep_nearest *n = user;
  for (ptrdiff_t i = 0; i < S->rows; i++) {
    double *closeness = n->closeness + (row + i) * n->k;
    const double *s = ep_d(S, i, 0);
    const ptrdiff_t own = n->own ? n->own[row + i] - col : -1;
    for (ptrdiff_t first = 0; first < S->cols; first += CHUNK) {
      const ptrdiff_t end = first + CHUNK < S->cols ? first + CHUNK : S->cols;
      if (!(largest(s + first, end - first) > closeness[n->k - 1])) continue;
      for (ptrdiff_t j = first; j < end; j++)
        if (s[j] > closeness[n->k - 1] && j != own)
          insert(closeness, n->who + (row + i) * n->k, n->k, s[j], col + j);
    }
  }
}

ep_status ep_nearest_find(ep_nearest *n, ep_work *work, const ep_tall *A, const ep_tall *B,
                          ep_metric metric, const char *what) {
  EP_TRY(ep_work_get(work, &n->closeness, A->count * n->k, sizeof *n->closeness));
  EP_TRY(ep_work_get(work, &n->who, A->count * n->k, sizeof *n->who));
  for (ptrdiff_t i = 0; i < A->count * n->k; i++) n->closeness[i] = -INFINITY;
  return ep_tiles(A, B, metric, collect, n, what);
}

/* ---- order */

static double distance_of(const double *a, const double *b, ptrdiff_t d, ep_metric metric) {
  double sum = 0, aa = 0, bb = 0;
  if (metric == EP_EUCLIDEAN) {
#pragma omp simd reduction(+ : sum)
    for (ptrdiff_t j = 0; j < d; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sqrt(sum);
  }
#pragma omp simd reduction(+ : aa, bb)
  for (ptrdiff_t j = 0; j < d; j++) aa += a[j] * a[j], bb += b[j] * b[j];
  const double p = sqrt(aa), q = sqrt(bb);
  if (p == 0 || q == 0) return 1;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < d; j++) sum += (a[j] / p - b[j] / q) * (a[j] / p - b[j] / q);
  return sum / 2;
}

/* of row i of A: the k best of its candidates by distance, then by index */
static void order(ptrdiff_t *who, double *distance, double *scratch, ptrdiff_t k,
                  const ep_nearest *n, ptrdiff_t i, const ep_tall *A, const ep_tall *B,
                  ep_metric metric) {
  const ptrdiff_t d = B->X->cols;
  double *best = scratch + 2 * d;
  const ep_mat a = ep_mat_view(EP_DOUBLE, 1, d, scratch),
               b = ep_mat_view(EP_DOUBLE, 1, d, scratch + d);
  ep_tall_get(&a, A, i);
  for (ptrdiff_t c = 0; c < n->k; c++) {
    const ptrdiff_t j = n->who[i * n->k + c];
    ep_tall_get(&b, B, j);
    const double x = distance_of(scratch, scratch + d, d, metric);
    ptrdiff_t at = c < k ? c : k;
    for (; at > 0 && (best[at - 1] > x || (best[at - 1] == x && who[at - 1] > j)); at--)
      if (at < k) best[at] = best[at - 1], who[at] = who[at - 1];
    if (at < k) best[at] = x, who[at] = j;
  }
  for (ptrdiff_t c = 0; distance && c < k; c++) distance[c] = best[c];
}

/* ---- all of it */

typedef struct {
  ep_tall A, B;        /* as they are */
  const double *shift; /* euclidean: the mean of B, so that lengths are as small as they can be */
  const double *scale;
  const ptrdiff_t *own; /* 0, 1, .. or NULL */
  ptrdiff_t k, candidates;
  ep_metric metric;
} search;

static ep_status centre(search *s, ep_work *work) {
  const ptrdiff_t d = s->B.X->cols;
  double *mean, *scale;
  if (s->metric == EP_COSINE) return EP_OK;
  EP_TRY(ep_work_get(work, &mean, d, sizeof *mean));
  EP_TRY(ep_work_get(work, &scale, d, sizeof *scale));
  EP_TRY(ep_tall_moments(mean, scale, &s->B));
  for (ptrdiff_t j = 0; j < d; j++) scale[j] = 1;
  s->shift = mean, s->scale = scale;
  return EP_OK;
}

typedef struct {
  ptrdiff_t *who;
  double *distance; /* NULL: not wanted */
  const search *s;
  const ep_nearest *n;
  const ep_tall *queries;
  const ep_mat *scratch; /* a row a thread */
} order_loop;

static void order_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const order_loop *l = of;
  const search *s = l->s;
  double *scratch = ep_d(l->scratch, ep_crew_thread(), 0);
  for (ptrdiff_t i = first; i < end; i++)
    order(l->who + i * s->k, l->distance ? l->distance + i * s->k : NULL, scratch, s->k, l->n, i,
          l->queries, &s->B, s->metric);
}

/* queries first .. first + count - 1 */
static ep_status block(ptrdiff_t *who, double *distance, ep_work *work, const search *s,
                       ptrdiff_t first, ptrdiff_t count) {
  const ep_mat part = ep_mat_rows(s->A.X, first, count);
  const ep_tall plain = ep_tall_all(&part);
  ep_tall a = plain, b = s->B;
  ep_nearest n = {.k = s->candidates, .own = s->own ? s->own + first : NULL};
  ep_mat scratch;
  a.shift = b.shift = s->shift, a.scale = b.scale = s->scale;
  EP_TRY(ep_work_mat(work, &scratch, EP_DOUBLE, ep_run_threads(), 2 * part.cols + s->k));
  EP_TRY(ep_nearest_find(&n, work, &a, &b, s->metric, "neighbours"));
  ep_crew_loop(count, 16, true, order_rows, &(order_loop){who, distance, s, &n, &plain, &scratch});
  return EP_OK;
}

static ep_status blocks(ptrdiff_t *who, double *distance, ep_work *work, search *s) {
  enum { FEWEST = 256 };
  const ptrdiff_t n = s->A.count;
  const double left = ep_run_room(), tiles = ep_tiles_bytes(s->B.X->cols);
  const double each = 16. * (double)s->candidates; /* bytes a query */
  EP_CHECK(tiles + FEWEST * each <= left, EP_ERR_NOMEM,
           "tiles of products need %.3g MB, which --memory does not leave (%.3g MB are in use)",
           1e-6 * tiles, 1e-6 * (double)ep_memory_current());
  const double most = (left - tiles) / each;
  const ptrdiff_t rows = most < (double)n ? (ptrdiff_t)most : n;
  EP_TRY(centre(s, work));
  for (ptrdiff_t i = 0; i < n; i += rows) {
    const ptrdiff_t count = n - i < rows ? n - i : rows;
    ep_work part = {0};
    const ep_status st =
        block(who + i * s->k, distance ? distance + i * s->k : NULL, &part, s, i, count);
    ep_work_free(&part);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status own_rows(search *s, ep_work *work) {
  ptrdiff_t *own;
  EP_TRY(ep_work_get(work, &own, s->A.count, sizeof *own));
  for (ptrdiff_t i = 0; i < s->A.count; i++) own[i] = i;
  s->own = own;
  return EP_OK;
}

ep_status ep_neighbours(ep_run *run, ptrdiff_t *who, double *distance, const ep_mat *queries,
                        const ep_mat *points, ptrdiff_t k, ep_metric metric) {
  const ptrdiff_t others = points->rows - !queries;
  EP_CHECK(points->rows > 0 && points->cols > 0 && (!queries || queries->rows > 0), EP_ERR_SHAPE,
           "neighbours need points, and queries");
  EP_CHECK(!queries || queries->cols == points->cols, EP_ERR_SHAPE,
           "queries have %td dimensions, points %td", queries->cols, points->cols);
  EP_CHECK(k >= 1 && k <= others, EP_ERR_ARG, "%td neighbours, but there are only %td%s points", k,
           others, queries ? "" : " other");
  EP_CHECK(ep_mat_max(points) < 1e100 && (!queries || ep_mat_max(queries) < 1e100), EP_ERR_INPUT,
           "points have values that are not finite or above 1e100");
  search s = {.A = ep_tall_all(queries ? queries : points), .B = ep_tall_all(points), .k = k};
  s.candidates = k + MORE < others ? k + MORE : others;
  s.metric = metric;
  const ep_run_scope scope = ep_run_enter(run);
  ep_work work = {0};
  ep_status st = queries ? EP_OK : own_rows(&s, &work);
  if (!st) st = blocks(who, distance, &work, &s);
  ep_work_free(&work);
  ep_run_leave(&scope);
  return st;
}
