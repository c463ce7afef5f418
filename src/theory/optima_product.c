/* A(w)w and A(w) = C_alpha[x h'(w'x)]. With slopes D (K x N), D_ki = h'(v_k'x_i), and gated values G = D o (W X'):
 *
 *   uniform   Y = 1/N (D o G) X - (1/N D X) (mean G)            one pass over blocks of X that stay in cache
 *   any       Y = 1/(2N^2) (D o (G L)) X, L of start k made from h(w_k'x)
 *
 * and with second views x', e = G - G', both less 1/(2N^2) [ (D o e r) X - (D' o e r) X' ], r the row sums of alpha. */
#include "theory/optima_step.h"

#include "core/crew.h"

#include <math.h>
#include <string.h>

double ep_layer_power(const ep_layer *layer) { return ep_activation_degree(&layer->h); }

static ep_status check_views(const ep_mat *X, const ep_mat *other, const char *what) {
  if (!other->data) return EP_OK;
  EP_CHECK(other->rows == X->rows && other->cols == X->cols && other->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "%td x %td points, but %s of %td x %td", X->rows, X->cols, what,
           other->rows, other->cols);
  EP_CHECK(isfinite(ep_mat_max(other)), EP_ERR_INPUT, "%s are not finite", what);
  return EP_OK;
}

ep_status ep_layer_check(const ep_layer *layer) {
  EP_CHECK(ep_activation_degree(&layer->h) > 0, EP_ERR_ARG,
           "activation %s is not homogeneous; optima are of relu, leaky, linear and monomial",
           ep_activation_label(&layer->h));
  EP_CHECK(layer->X.prec == EP_DOUBLE && layer->X.cols >= 1, EP_ERR_SHAPE,
           "optima are searched in double");
  EP_CHECK(isfinite(ep_mat_max(&layer->X)), EP_ERR_INPUT, "the points are not finite");
  EP_TRY(check_views(&layer->X, &layer->X2, "second views"));
  EP_TRY(check_views(&layer->X, &layer->X0, "points before augmentation"));
  return ep_alpha_check(&layer->alpha, layer->X.rows);
}

/* ---- products with few rows: one row is a vector, for which BLAS needs not pack X */

/* S (K x n) = W X' */
static void rows_times(const ep_mat *S, const ep_mat *W, const ep_mat *X) {
  if (W->rows == 1) ep_mat_vec(S->data, 1, X, EP_N, W->data, 0);
  else ep_mat_mul(S, 1, W, EP_N, X, EP_T, 0);
}

/* Y (K x d) += c T X */
static void add_back(const ep_mat *Y, double c, const ep_mat *T, const ep_mat *X) {
  if (T->rows == 1) ep_mat_vec(Y->data, c, X, EP_T, T->data, 1);
  else ep_mat_mul(Y, c, T, EP_N, X, EP_N, 1);
}

void ep_layer_gate(const ep_mat *D, const ep_mat *G, const ep_layer *layer, const ep_mat *X,
                   const ep_mat *V, const ep_mat *W) {
  rows_times(G, W, X);
  if (V != W) rows_times(D, V, X);
  ep_activation_slopes(D, &layer->h, V == W ? G : D);
  for (ptrdiff_t k = 0; k < G->rows; k++) {
    double *g = ep_d(G, k, 0);
    const double *d = ep_d(D, k, 0);
    for (ptrdiff_t i = 0; i < G->cols; i++) g[i] *= d[i];
  }
}

/* ---- uniform weights */

enum { LANES = 16 }; /* blocks of points go to lanes in turn; lanes are summed in order */

typedef struct {
  ep_mat D, G, D2, G2, T; /* (K, block) */
  ep_mat P, Q;            /* (K, d) sums of D o (G - shift) X and D X */
  double *sum, *shift;    /* (K) sum of G, and a number near its mean: P stays small */
} lane;

static ptrdiff_t block_points(const ep_mat *X) {
  const ptrdiff_t n = (ptrdiff_t)65536 / X->cols, points = n < 16 ? 16 : n < 512 ? n : 512;
  return points < X->rows ? points : X->rows;
}

static ep_status new_lane(lane *l, ep_work *work, const ep_layer *layer, ptrdiff_t k) {
  const ptrdiff_t block = block_points(&layer->X), d = layer->X.cols;
  ep_mat *const parts[] = {&l->D, &l->G, &l->D2, &l->G2, &l->T};
  for (int i = 0; i < 5; i++) EP_TRY(ep_work_mat(work, parts[i], EP_DOUBLE, k, block));
  EP_TRY(ep_work_mat(work, &l->P, EP_DOUBLE, k, d));
  EP_TRY(ep_work_mat(work, &l->Q, EP_DOUBLE, k, d));
  EP_TRY(ep_work_get(work, &l->sum, k, sizeof *l->sum));
  return ep_work_get(work, &l->shift, k, sizeof *l->shift);
}

static ep_mat narrow(const ep_mat *A, ptrdiff_t cols) {
  return ep_mat_view(EP_DOUBLE, A->rows, cols, A->data); /* side by side: one row is a vector */
}

/* second views of a block: P -= 1/2 [ (D o e) X - (D' o e) X' ] */
static void add_views(lane *l, const ep_layer *layer, ptrdiff_t first, ptrdiff_t n, const ep_mat *V,
                      const ep_mat *W) {
  const ep_mat X2 = ep_mat_rows(&layer->X2, first, n);
  const ep_mat D = narrow(&l->D, n), G = narrow(&l->G, n), T = narrow(&l->T, n);
  const ep_mat D2 = narrow(&l->D2, n), G2 = narrow(&l->G2, n);
  ep_layer_gate(&D2, &G2, layer, &X2, V, W);
  for (ptrdiff_t k = 0; k < G.rows; k++)
    for (ptrdiff_t i = 0; i < n; i++) {
      const double e = *ep_d(&G, k, i) - *ep_d(&G2, k, i);
      *ep_d(&T, k, i) -= e / 2 * *ep_d(&D, k, i);
      *ep_d(&D2, k, i) *= e;
    }
  add_back(&l->P, 0.5, &D2, &X2);
}

static void add_block(lane *l, const ep_layer *layer, ptrdiff_t first, ptrdiff_t n, const ep_mat *V,
                      const ep_mat *W) {
  const ep_mat X = ep_mat_rows(&layer->X, first, n);
  const ep_mat D = narrow(&l->D, n), G = narrow(&l->G, n), T = narrow(&l->T, n);
  ep_layer_gate(&D, &G, layer, &X, V, W);
  for (ptrdiff_t k = 0; k < G.rows; k++)
    for (ptrdiff_t i = 0; i < n; i++) {
      l->sum[k] += *ep_d(&G, k, i);
      *ep_d(&T, k, i) = *ep_d(&D, k, i) * (*ep_d(&G, k, i) - l->shift[k]);
    }
  if (layer->X2.data) add_views(l, layer, first, n, V, W);
  add_back(&l->P, 1, &T, &X);
  add_back(&l->Q, 1, &D, &X);
}

/* shift = mean of G over the first points */
static void find_shift(lane *l, const ep_layer *layer, const ep_mat *V, const ep_mat *W) {
  const ptrdiff_t block = block_points(&layer->X), n = block < 64 ? block : 64;
  const ep_mat X = ep_mat_rows(&layer->X, 0, n), D = narrow(&l->D, n), G = narrow(&l->G, n);
  ep_layer_gate(&D, &G, layer, &X, V, W);
  for (ptrdiff_t k = 0; k < G.rows; k++)
    for (ptrdiff_t i = 0; i < n; i++) l->shift[k] += *ep_d(&G, k, i) / (double)n;
}

typedef struct {
  lane *lanes;
  ptrdiff_t count;
  const ep_layer *layer;
  const ep_mat *V, *W;
} lanes_loop;

static void fill_lanes(void *of, ptrdiff_t first, ptrdiff_t end) {
  const lanes_loop *s = of;
  const ptrdiff_t n = s->layer->X.rows, block = block_points(&s->layer->X);
  for (ptrdiff_t l = first; l < end; l++)
    for (ptrdiff_t i = l * block; i < n; i += s->count * block)
      add_block(&s->lanes[l], s->layer, i, n - i < block ? n - i : block, s->V, s->W);
}

/* Y = P/N - (Q/N) (mean G - shift) */
static ep_status product_uniform(ep_work *work, const ep_mat *Y, const ep_layer *layer,
                                 const ep_mat *V, const ep_mat *W) {
  const ptrdiff_t n = layer->X.rows, block = block_points(&layer->X), K = W->rows;
  const double share = 1 / (double)n;
  lane lanes[LANES];
  const int count = K == 1 && n > block ? LANES : 1; /* several starts are blocks of their own */
  for (int l = 0; l < count; l++) EP_TRY(new_lane(&lanes[l], work, layer, K));
  find_shift(&lanes[0], layer, V, W);
  for (int l = 1; l < count; l++)
    memcpy(lanes[l].shift, lanes[0].shift, (size_t)K * sizeof(double));
  ep_crew_loop(count, 1, count > 1, fill_lanes, &(lanes_loop){lanes, count, layer, V, W});
  for (int l = 1; l < count; l++) {
    ep_mat_axpy(&lanes[0].P, 1, &lanes[l].P);
    ep_mat_axpy(&lanes[0].Q, 1, &lanes[l].Q);
    for (ptrdiff_t k = 0; k < K; k++) lanes[0].sum[k] += lanes[l].sum[k];
  }
  for (ptrdiff_t k = 0; k < K; k++) {
    const double mean = lanes[0].sum[k] * share - lanes[0].shift[k];
    for (ptrdiff_t j = 0; j < Y->cols; j++)
      *ep_d(Y, k, j) = share * (*ep_d(&lanes[0].P, k, j) - mean * *ep_d(&lanes[0].Q, k, j));
  }
  return EP_OK;
}

/* ---- any weights */

void ep_layer_outputs(const ep_mat *H, const ep_layer *layer, const ep_mat *X, const ep_mat *W) {
  rows_times(H, W, X);
  ep_activation_values(H, &layer->h, H);
}

static ep_mat column(const ep_mat *A, ptrdiff_t k) {
  return ep_mat_view(EP_DOUBLE, A->cols, 1, ep_d(A, k, 0));
}

typedef struct {
  ep_mat H, H2; /* (K, N) features of first (or unaugmented) and second views */
  bool twins;   /* alpha looks at H2 */
} sources;

static ep_status new_sources(sources *s, ep_work *work, const ep_layer *layer, const ep_mat *at) {
  const bool views = ep_alpha_of_views(&layer->alpha);
  s->twins = views && layer->X2.data;
  EP_TRY(ep_work_mat(work, &s->H, EP_DOUBLE, at->rows, layer->X.rows));
  ep_layer_outputs(&s->H, layer, views || !layer->X0.data ? &layer->X : &layer->X0, at);
  if (!s->twins) return EP_OK;
  EP_TRY(ep_work_mat(work, &s->H2, EP_DOUBLE, at->rows, layer->X.rows));
  ep_layer_outputs(&s->H2, layer, &layer->X2, at);
  return EP_OK;
}

static ep_status product_weighted(ep_work *work, const ep_mat *Y, const ep_layer *layer,
                                  const ep_mat *V, const ep_mat *W, const ep_mat *at) {
  const ptrdiff_t n = layer->X.rows, K = W->rows;
  const double share = 1 / (2 * (double)n * (double)n);
  const bool views = layer->X2.data;
  ep_mat D, G, T, D2, G2;
  sources s;
  double *r;
  EP_TRY(new_sources(&s, work, layer, at));
  EP_TRY(ep_work_mat(work, &D, EP_DOUBLE, K, n));
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, K, n));
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, K, n));
  EP_TRY(ep_work_mat(work, &D2, EP_DOUBLE, views ? K : 0, n));
  EP_TRY(ep_work_mat(work, &G2, EP_DOUBLE, views ? K : 0, n));
  EP_TRY(ep_work_get(work, &r, n, sizeof *r));
  ep_layer_gate(&D, &G, layer, &layer->X, V, W);
  if (views) ep_layer_gate(&D2, &G2, layer, &layer->X2, V, W);
  for (ptrdiff_t k = 0; k < K; k++) {
    const ep_mat h = column(&s.H, k), g = column(&G, k), t = column(&T, k);
    ep_mat h2 = {0};
    if (s.twins) h2 = column(&s.H2, k);
    EP_TRY(ep_alpha_apply(&t, r, NULL, &layer->alpha, &h, s.twins ? &h2 : NULL, &g));
    for (ptrdiff_t i = 0; i < n; i++) {
      const double e = views ? r[i] * (*ep_d(&G, k, i) - *ep_d(&G2, k, i)) : 0;
      *ep_d(&T, k, i) = *ep_d(&D, k, i) * (*ep_d(&T, k, i) - e);
      if (views) *ep_d(&D2, k, i) *= e;
    }
  }
  ep_mat_fill(Y, 0);
  add_back(Y, share, &T, &layer->X);
  if (views) add_back(Y, share, &D2, &layer->X2);
  return EP_OK;
}

ep_status ep_layer_product(const ep_mat *Y, const ep_layer *layer, const ep_mat *W, const ep_mat *V,
                           const ep_mat *at) {
  ep_work work = {0};
  if (!V) V = W;
  const ep_status st = ep_alpha_is_plain(&layer->alpha)
                           ? product_uniform(&work, Y, layer, V, W)
                           : product_weighted(&work, Y, layer, V, W, at ? at : W);
  ep_work_free(&work);
  return st;
}

ep_status ep_layer_energy(double *energy, const ep_layer *layer, const double *w) {
  ep_mat y;
  const ep_mat row = ep_mat_view(EP_DOUBLE, 1, layer->X.cols, (void *)(uintptr_t)w);
  EP_TRY(ep_mat_new(&y, EP_DOUBLE, 1, layer->X.cols));
  const ep_status st = ep_layer_product(&y, layer, &row, NULL, NULL);
  double sum = 0;
  for (ptrdiff_t j = 0; j < y.cols; j++) sum += w[j] * *ep_d(&y, 0, j);
  *energy = sum / pow(ep_layer_power(layer), 2);
  ep_mat_free(&y);
  return st;
}

/* ---- the matrix */

/* Z = X with row i times h'(v'x_i), less the mean; slopes in s */
static void gate_rows(const ep_mat *Z, const double *s, const ep_mat *X, const double *mean) {
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j < X->cols; j++)
      *ep_d(Z, i, j) = s[i] * *ep_d(X, i, j) - (mean ? mean[j] : 0);
}

/* s = h'(X v) */
static ep_status slopes(double **s, ep_work *work, const ep_layer *layer, const ep_mat *X,
                        const double *v) {
  EP_TRY(ep_work_get(work, s, X->rows, sizeof **s));
  ep_mat_vec(*s, 1, X, EP_N, v, 0);
  const ep_mat row = ep_mat_view(EP_DOUBLE, 1, X->rows, *s);
  ep_activation_slopes(&row, &layer->h, &row);
  return EP_OK;
}

/* A = 1/N sum (x~ - mean)(x~ - mean)' - 1/(2N) sum (x~ - x~')(x~ - x~')', in blocks of points */
static ep_status matrix_uniform(ep_work *work, const ep_mat *A, const ep_layer *layer,
                                const double *v) {
  const ptrdiff_t n = layer->X.rows, d = layer->X.cols, most = n < 1024 ? n : 1024;
  const double share = 1 / (double)n;
  double *s, *s2, *mean;
  ep_mat Z, Z2;
  EP_TRY(slopes(&s, work, layer, &layer->X, v));
  if (layer->X2.data) EP_TRY(slopes(&s2, work, layer, &layer->X2, v));
  EP_TRY(ep_work_get(work, &mean, d, sizeof *mean));
  EP_TRY(ep_work_mat(work, &Z, EP_DOUBLE, most, d));
  EP_TRY(ep_work_mat(work, &Z2, EP_DOUBLE, most, d));
  ep_mat_vec(mean, share, &layer->X, EP_T, s, 0);
  ep_mat_fill(A, 0);
  for (ptrdiff_t i = 0; i < n; i += most) {
    const ptrdiff_t count = n - i < most ? n - i : most;
    const ep_mat X = ep_mat_rows(&layer->X, i, count), z = ep_mat_rows(&Z, 0, count);
    gate_rows(&z, s + i, &X, mean);
    ep_mat_mul(A, share, &z, EP_T, &z, EP_N, 1);
    if (!layer->X2.data) continue;
    const ep_mat X2 = ep_mat_rows(&layer->X2, i, count), z2 = ep_mat_rows(&Z2, 0, count);
    gate_rows(&z2, s2 + i, &X2, mean);
    ep_mat_axpy(&z, -1, &z2);
    ep_mat_mul(A, -share / 2, &z, EP_T, &z, EP_N, 1);
  }
  return EP_OK;
}

static ep_status matrix_weighted(ep_work *work, const ep_mat *A, const ep_layer *layer,
                                 const double *v, const double *at) {
  const ptrdiff_t n = layer->X.rows, d = layer->X.cols;
  const ep_mat row = ep_mat_view(EP_DOUBLE, 1, d, (void *)(uintptr_t)at);
  const bool views = layer->X2.data;
  sources src;
  double *s, *s2;
  ep_mat Z, Z2 = {0};
  EP_TRY(new_sources(&src, work, layer, &row));
  const ep_mat h = column(&src.H, 0);
  ep_mat h2 = {0};
  if (src.twins) h2 = column(&src.H2, 0);
  EP_TRY(slopes(&s, work, layer, &layer->X, v));
  EP_TRY(ep_work_mat(work, &Z, EP_DOUBLE, n, d));
  gate_rows(&Z, s, &layer->X, NULL);
  if (views) {
    EP_TRY(slopes(&s2, work, layer, &layer->X2, v));
    EP_TRY(ep_work_mat(work, &Z2, EP_DOUBLE, n, d));
    gate_rows(&Z2, s2, &layer->X2, NULL);
  }
  return ep_covariance(A, &layer->alpha, &h, src.twins ? &h2 : NULL, &Z, views ? &Z2 : NULL, &Z,
                       views ? &Z2 : NULL);
}

/* A <- (A + A')/2: rounding of the products */
static void symmetrise(const ep_mat *A) {
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < i; j++)
      *ep_d(A, i, j) = *ep_d(A, j, i) = (*ep_d(A, i, j) + *ep_d(A, j, i)) / 2;
}

ep_status ep_layer_matrix(const ep_mat *A, const ep_layer *layer, const double *v,
                          const double *at) {
  ep_work work = {0};
  const ep_status st = ep_alpha_is_plain(&layer->alpha)
                           ? matrix_uniform(&work, A, layer, v)
                           : matrix_weighted(&work, A, layer, v, at ? at : v);
  ep_work_free(&work);
  if (!st) symmetrise(A);
  return st;
}
