/* Fast Gauss transform on the line. With u = (g - c) / sqrt(2 tau) measured from the centre c of a box,
 *
 *   exp(-(u_i - u_j)^2) = e^{-u_i^2} sum_m u_i^m [ (2^m / m!) u_j^m e^{-u_j^2} ],
 *
 * so a box of sources is its TERMS moments, whoever looks at it. Boxes are 1 wide: |u_j| <= 1/2. A target looks at boxes
 * up to REACH away; what it leaves out is below e^{-36}, and what the series leaves out below 1e-16. */
#include "objective/gauss.h"

#include <math.h>

enum { TERMS = 24, REACH = 6 };

typedef struct {
  double low, scale; /* u = (g - low) scale */
  ptrdiff_t boxes;
  ep_mat moments; /* (boxes TERMS, k) */
} boxes;

static ptrdiff_t box_of(const boxes *b, double u) {
  const ptrdiff_t box = (ptrdiff_t)u;
  return box < b->boxes ? box : b->boxes - 1;
}

static void add_row(double *y, double c, const double *x, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) y[j] += c * x[j];
}

/* moment m of a box: sum over its sources of (2^m / m!) u^m e^{-u^2} v */
static void collect(const boxes *b, const double *g, const ep_mat *V) {
  for (ptrdiff_t i = 0; i < V->rows; i++) {
    const double x = (g[i] - b->low) * b->scale;
    const ptrdiff_t box = box_of(b, x);
    const double u = x - ((double)box + 0.5);
    double c = exp(-u * u);
    for (int m = 0; m < TERMS; c *= 2 * u / ++m)
      add_row(ep_d(&b->moments, box * TERMS + m, 0), c, ep_d(V, i, 0), V->cols);
  }
}

static void look(double *s, const boxes *b, double x, ptrdiff_t k) {
  const ptrdiff_t box = box_of(b, x);
  const ptrdiff_t first = box > REACH ? box - REACH : 0;
  const ptrdiff_t last = box + REACH < b->boxes ? box + REACH : b->boxes - 1;
  for (ptrdiff_t j = 0; j < k; j++) s[j] = 0;
  for (ptrdiff_t o = first; o <= last; o++) {
    const double u = x - ((double)o + 0.5);
    double c = exp(-u * u);
    for (int m = 0; m < TERMS; m++, c *= u) add_row(s, c, ep_d(&b->moments, o * TERMS + m, 0), k);
  }
}

/* s_i = sum_j e^{-(u_i - u_j)^2} v_j as it stands */
static void direct(const ep_mat *S, const double *g, const ep_mat *V, double scale) {
  ep_mat_fill(S, 0);
  for (ptrdiff_t i = 0; i < S->rows; i++)
    for (ptrdiff_t j = 0; j < S->rows; j++) {
      const double u = (g[i] - g[j]) * scale;
      if (u * u < 745) add_row(ep_d(S, i, 0), exp(-u * u), ep_d(V, j, 0), V->cols);
    }
}

ep_status ep_gauss_sums(const ep_mat *S, const double *g, ptrdiff_t n, const ep_mat *V,
                        double tau) {
  boxes b = {.low = INFINITY, .scale = 1 / sqrt(2 * tau)};
  double high = -INFINITY;
  for (ptrdiff_t i = 0; i < n; i++) b.low = fmin(b.low, g[i]), high = fmax(high, g[i]);
  const double range = (high - b.low) * b.scale;
  EP_CHECK(isfinite(range), EP_ERR_NUMERIC, "features are not finite");
  const double seen = fmin(range + 1, 2 * REACH + 1);
  if ((double)n < TERMS * (seen + 1) || range > 4 * (double)n)
    return direct(S, g, V, b.scale), EP_OK;
  b.boxes = (ptrdiff_t)range + 1;
  EP_TRY(ep_mat_new(&b.moments, EP_DOUBLE, b.boxes * TERMS, V->cols));
  collect(&b, g, V);
  for (ptrdiff_t i = 0; i < n; i++) look(ep_d(S, i, 0), &b, (g[i] - b.low) * b.scale, V->cols);
  ep_mat_free(&b.moments);
  return EP_OK;
}
