/* Fast Gauss transform on the line. With u = (g - c) / sqrt(2 tau) measured from the centre c of a box,
 *
 *   exp(-(u_i - u_j)^2) = e^{-u_i^2} sum_m u_i^m [ (2^m / m!) u_j^m e^{-u_j^2} ],
 *
 * so a box of sources is its TERMS moments, whoever looks at it. Boxes are 1 wide: |u_j| <= 1/2. A target looks at boxes
 * up to REACH away; what it leaves out is below e^{-36}, and what the series leaves out below 1e-16. */
#include "objective/gauss.h"

#include <math.h>
#include <stdbool.h>

enum { TERMS = 24, REACH = 6, LANES = 16 };

/* Points at the least g (those that relu cuts off: about half of them) are one source and one target. */
typedef struct {
  ptrdiff_t n, boxes; /* different points; boxes */
  ptrdiff_t *at;      /* (points) place of each in the order of boxes */
  double *x;        /* (n) (g - least g) / sqrt(2 tau) in that order; box b holds b <= x < b + 1 */
  ptrdiff_t *start; /* (boxes + 1) first place of each box */
  ep_mat V, S;      /* (k, n + LANES) sources and sums in that order, a row a column of V and S */
  ep_mat moments;   /* (boxes k, TERMS) */
} line;

/* counting sort by box, the least x first and once */
static ep_status sort_boxes(line *l, ep_work *work, const double *x, ptrdiff_t points) {
  ptrdiff_t *next;
  EP_TRY(ep_work_get(work, &l->at, points, sizeof *l->at));
  EP_TRY(ep_work_get(work, &l->start, l->boxes + 1, sizeof *l->start));
  EP_TRY(ep_work_get(work, &next, l->boxes, sizeof *next));
  l->start[1] = 1;
  for (ptrdiff_t i = 0; i < points; i++)
    if (x[i] > 0) l->start[(ptrdiff_t)x[i] + 1]++;
  for (ptrdiff_t b = 0; b < l->boxes; b++) l->start[b + 1] += next[b] = l->start[b];
  next[0] = 1;
  l->n = l->start[l->boxes];
  EP_TRY(ep_work_get(work, &l->x, l->n, sizeof *l->x));
  for (ptrdiff_t i = 0; i < points; i++) {
    l->at[i] = x[i] > 0 ? next[(ptrdiff_t)x[i]]++ : 0;
    l->x[l->at[i]] = x[i];
  }
  return EP_OK;
}

static ep_status fill_sources(line *l, ep_work *work, const ep_mat *V) {
  EP_TRY(ep_work_mat(work, &l->V, EP_DOUBLE, V->cols, l->n + LANES));
  EP_TRY(ep_work_mat(work, &l->S, EP_DOUBLE, V->cols, l->n + LANES));
  EP_TRY(ep_work_mat(work, &l->moments, EP_DOUBLE, l->boxes * V->cols, TERMS));
  for (ptrdiff_t i = 0; i < V->rows; i++)
    for (ptrdiff_t j = 0; j < V->cols; j++) *ep_d(&l->V, j, l->at[i]) += *ep_d(V, i, j);
  return EP_OK;
}

/* u and e^{-u^2} of LANES points of a box; 0 past its last, so that what follows adds nothing */
static void centre(double u[LANES], double e[LANES], const line *l, ptrdiff_t first,
                   ptrdiff_t box) {
  for (int i = 0; i < LANES; i++) {
    const bool inside = first + i < l->start[box + 1];
    u[i] = inside ? l->x[first + i] - ((double)box + 0.5) : 0;
    e[i] = inside ? exp(-u[i] * u[i]) : 0;
  }
}

/* moment_m += sum over LANES sources of (2^m / m!) u^m e^{-u^2} v */
static void collect(double moment[TERMS], const double u[LANES], const double e[LANES],
                    const double *v) {
  double c[LANES];
  for (int i = 0; i < LANES; i++) c[i] = e[i] * v[i];
  for (int m = 0; m < TERMS; m++) {
    const double ratio = 2. / (m + 1);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < LANES; i++) {
      sum += c[i];
      c[i] *= ratio * u[i];
    }
    moment[m] += sum;
  }
}

/* LANES targets at one box: s += e^{-u^2} sum_m u^m moment_m, by Horner */
static void look(double *s, const double u[LANES], const double e[LANES],
                 const double moment[TERMS]) {
  double sum[LANES] = {0};
  for (int m = TERMS - 1; m >= 0; m--)
#pragma omp simd
    for (int i = 0; i < LANES; i++) sum[i] = sum[i] * u[i] + moment[m];
#pragma omp simd
  for (int i = 0; i < LANES; i++) s[i] += e[i] * sum[i];
}

/* LANES targets of a box at the boxes 1, 2, .. to one side (step 1 or -1). From s boxes away u is u_0 - s, and
 * e^{-u^2} = e^{-u_0^2} (e^{2 u_0})^s e^{-s^2}: one exponential a target for a whole side. */
static void look_along(const line *l, ptrdiff_t first, ptrdiff_t box, int step, double u[LANES],
                       double e[LANES]) {
  double turn[LANES];
  for (int i = 0; i < LANES; i++) turn[i] = exp(2 * step * u[i]);
  ptrdiff_t b = box + step;
  for (int s = 1; s <= REACH && b >= 0 && b < l->boxes; s++, b += step) {
    const double fall = exp(1. - 2 * s);
#pragma omp simd
    for (int i = 0; i < LANES; i++) {
      e[i] *= fall * turn[i];
      u[i] -= step;
    }
    if (l->start[b] == l->start[b + 1]) continue;
    for (ptrdiff_t j = 0; j < l->S.rows; j++)
      look(ep_d(&l->S, j, first), u, e, ep_d(&l->moments, b * l->S.rows + j, 0));
  }
}

static void look_around(const line *l, ptrdiff_t first, ptrdiff_t box) {
  double u[LANES], e[LANES];
  centre(u, e, l, first, box);
  for (ptrdiff_t j = 0; j < l->S.rows; j++)
    look(ep_d(&l->S, j, first), u, e, ep_d(&l->moments, box * l->S.rows + j, 0));
  look_along(l, first, box, 1, u, e);
  centre(u, e, l, first, box);
  look_along(l, first, box, -1, u, e);
}

static void transform(const line *l) {
  double u[LANES], e[LANES];
  for (ptrdiff_t b = 0; b < l->boxes; b++)
    for (ptrdiff_t i = l->start[b]; i < l->start[b + 1]; i += LANES) {
      centre(u, e, l, i, b);
      for (ptrdiff_t j = 0; j < l->V.rows; j++)
        collect(ep_d(&l->moments, b * l->V.rows + j, 0), u, e, ep_d(&l->V, j, i));
    }
  for (ptrdiff_t b = 0; b < l->boxes; b++)
    for (ptrdiff_t i = l->start[b]; i < l->start[b + 1]; i += LANES) look_around(l, i, b);
}

/* s_i = sum_j K_ij v_j as it stands */
static void direct(const ep_mat *S, const double *g, const ep_mat *V, double tau) {
  for (ptrdiff_t i = 0; i < S->rows; i++)
    for (ptrdiff_t j = 0; j < S->rows; j++) {
      const double u2 = (g[i] - g[j]) * (g[i] - g[j]) / (2 * tau), e = u2 < 745 ? exp(-u2) : 0;
      for (ptrdiff_t z = 0; e > 0 && z < V->cols; z++) *ep_d(S, i, z) += e * *ep_d(V, j, z);
    }
}

static ep_status sums(ep_work *work, const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V,
                      double tau) {
  line l = {0};
  double low = INFINITY, high = -INFINITY, *x;
  EP_TRY(ep_work_get(work, &x, n, sizeof *x));
  for (ptrdiff_t i = 0; i < n; i++) low = fmin(low, g[i]), high = fmax(high, g[i]);
  for (ptrdiff_t i = 0; i < n; i++) x[i] = (g[i] - low) / sqrt(2 * tau);
  const double range = (high - low) / sqrt(2 * tau), seen = fmin(range + 1, 2 * REACH + 1);
  EP_CHECK(isfinite(range), EP_ERR_NUMERIC, "features are not finite");
  ep_mat_fill(S, 0);
  /* few points, or hardly two in reach of each other */
  if ((double)n < 4 * (seen + 1) || range > (double)n) return direct(S, g, V, tau), EP_OK;
  l.boxes = (ptrdiff_t)range + 1;
  EP_TRY(sort_boxes(&l, work, x, n));
  EP_TRY(fill_sources(&l, work, V));
  transform(&l);
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < S->cols; j++) *ep_d(S, i, j) = *ep_d(&l.S, j, l.at[i]);
  return EP_OK;
}

ep_status ep_gauss_sums(const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V,
                        double tau) {
  ep_work work = {0};
  const ep_status st = sums(&work, S, g, n, V, tau);
  ep_work_free(&work);
  return st;
}
