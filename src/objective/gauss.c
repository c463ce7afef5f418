/* Fast Gauss transform on the line. With u = (g - c) / sqrt(2 tau) measured from the centre c of a box,
 *
 *   exp(-(u_i - u_j)^2) = e^{-u_i^2} sum_m u_i^m [ (2^m / m!) u_j^m e^{-u_j^2} ],
 *
 * so a box of sources is its TERMS moments, whoever looks at it. Boxes are 1 wide: |u_j| <= 1/2. A target looks at boxes
 * up to REACH away; what it leaves out is below e^{-36}, and what the series leaves out below 1e-16. */
#include "objective/gauss.h"

#include <math.h>
#include <string.h>

enum { TERMS = 24, REACH = 6, LANES = 16 };

typedef struct {
  double *x; /* (n) (g - least g) / sqrt(2 tau), box b holds b <= x < b + 1 */
  ptrdiff_t n, boxes;
  ptrdiff_t *order; /* (n) points by box */
  ptrdiff_t *start; /* (boxes + 1) first of each box in the order */
  ep_mat moments;   /* (boxes TERMS, k) */
} line;

static void add_row(double *y, double c, const double *x, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) y[j] += c * x[j];
}

/* counting sort by box */
static ep_status sort_boxes(line *l, ep_work *work) {
  ptrdiff_t *next;
  EP_TRY(ep_work_get(work, &l->order, l->n, sizeof *l->order));
  EP_TRY(ep_work_get(work, &l->start, l->boxes + 1, sizeof *l->start));
  EP_TRY(ep_work_get(work, &next, l->boxes, sizeof *next));
  for (ptrdiff_t i = 0; i < l->n; i++) l->start[(ptrdiff_t)l->x[i] + 1]++;
  for (ptrdiff_t b = 0; b < l->boxes; b++) l->start[b + 1] += next[b] = l->start[b];
  for (ptrdiff_t i = 0; i < l->n; i++) l->order[next[(ptrdiff_t)l->x[i]]++] = i;
  return EP_OK;
}

/* moment m of a box: sum over its sources of (2^m / m!) u^m e^{-u^2} v */
static void collect(const line *l, const ep_mat *V) {
  for (ptrdiff_t i = 0; i < l->n; i++) {
    const ptrdiff_t box = (ptrdiff_t)l->x[i];
    const double u = l->x[i] - ((double)box + 0.5);
    double c = exp(-u * u);
    for (int m = 0; m < TERMS; c *= 2 * u / ++m)
      add_row(ep_d(&l->moments, box * TERMS + m, 0), c, ep_d(V, i, 0), V->cols);
  }
}

/* LANES targets look at one box: S += e^{-u^2} sum_m u^m moment_m */
static void look(const ep_mat *S, const line *l, const ptrdiff_t *who, ptrdiff_t count,
                 ptrdiff_t box) {
  double u[LANES] = {0}, e[LANES] = {0}, sum[LANES];
  for (ptrdiff_t i = 0; i < count; i++) {
    u[i] = l->x[who[i]] - ((double)box + 0.5);
    e[i] = exp(-u[i] * u[i]);
  }
  for (ptrdiff_t j = 0; j < S->cols; j++) {
    const double *moment = ep_d(&l->moments, box * TERMS, j);
    memset(sum, 0, sizeof sum);
    for (ptrdiff_t m = TERMS - 1; m >= 0; m--) { /* Horner */
      const double c = moment[m * l->moments.ld];
#pragma omp simd
      for (int i = 0; i < LANES; i++) sum[i] = sum[i] * u[i] + c;
    }
    for (ptrdiff_t i = 0; i < count; i++) *ep_d(S, who[i], j) += e[i] * sum[i];
  }
}

/* all targets of a box at all boxes in reach that hold a source */
static void look_around(const ep_mat *S, const line *l, ptrdiff_t box) {
  const ptrdiff_t first = box > REACH ? box - REACH : 0;
  const ptrdiff_t last = box + REACH < l->boxes ? box + REACH : l->boxes - 1;
  for (ptrdiff_t i = l->start[box]; i < l->start[box + 1]; i += LANES) {
    const ptrdiff_t left = l->start[box + 1] - i;
    for (ptrdiff_t b = first; b <= last; b++)
      if (l->start[b] < l->start[b + 1]) look(S, l, l->order + i, left < LANES ? left : LANES, b);
  }
}

/* s_i = sum_j K_ij v_j as it stands */
static void direct(const ep_mat *S, const double *g, const ep_mat *V, double tau) {
  for (ptrdiff_t i = 0; i < S->rows; i++)
    for (ptrdiff_t j = 0; j < S->rows; j++) {
      const double u2 = (g[i] - g[j]) * (g[i] - g[j]) / (2 * tau);
      if (u2 < 745) add_row(ep_d(S, i, 0), exp(-u2), ep_d(V, j, 0), V->cols);
    }
}

static ep_status sums(ep_work *work, const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V,
                      double tau) {
  line l = {.n = n};
  double low = INFINITY, high = -INFINITY;
  EP_TRY(ep_work_get(work, &l.x, n, sizeof *l.x));
  for (ptrdiff_t i = 0; i < n; i++) low = fmin(low, g[i]), high = fmax(high, g[i]);
  for (ptrdiff_t i = 0; i < n; i++) l.x[i] = (g[i] - low) / sqrt(2 * tau);
  const double range = (high - low) / sqrt(2 * tau), seen = fmin(range + 1, 2 * REACH + 1);
  EP_CHECK(isfinite(range), EP_ERR_NUMERIC, "features are not finite");
  ep_mat_fill(S, 0);
  /* few points, or hardly two in reach of each other */
  if ((double)n < 4 * (seen + 1) || range > (double)n) return direct(S, g, V, tau), EP_OK;
  l.boxes = (ptrdiff_t)range + 1;
  EP_TRY(sort_boxes(&l, work));
  EP_TRY(ep_work_mat(work, &l.moments, EP_DOUBLE, l.boxes * TERMS, V->cols));
  collect(&l, V);
  for (ptrdiff_t b = 0; b < l.boxes; b++) look_around(S, &l, b);
  return EP_OK;
}

ep_status ep_gauss_sums(const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V,
                        double tau) {
  ep_work work = {0};
  const ep_status st = sums(&work, S, g, n, V, tau);
  ep_work_free(&work);
  return st;
}
