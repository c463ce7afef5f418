/* Kernels of infinitely wide networks, tile by tile: correlations of a tile by one product of unit rows, then every
 * row of it goes through the layers. What belongs to a point alone (its variance in every layer) is computed once. */
#include "kernel/dual_table.h"

#include "core/mem.h"
#include "core/vector.h"

#include <eigenpair/analytic.h>
#include <eigenpair/run.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { TILE = 512, LEAST_TILE = 64, WORTH_THREADS = 4096 /* entries */ };
static const double tile_bytes = 16e6; /* of unit rows, where TILE rows would be more */
static const double tile_share =
    0.2; /* of the memory that is left, for unit rows and for the tile */
/* a correlation this close to 1 or -1 comes from the difference of the points, not from their product */
static const double close_gap = 1e-4;

/* The points x_i in every layer, all arrays of the call's scratch:
 *   size[i] = |x_i|,  norm_0 = s |x|,  P_l = w norm_{l-1}^2 + b,  norm_l = sqrt S(P_l, P_l, P_l),  l = 1 .. L */
typedef struct {
  const ep_mat *X;
  double *size;
  double *P, *root, *norm, *rho; /* (L + 1) x n: the layers 0 .. L; of layer 0 only norm is used */
  const ep_dual_table *table;    /* (L + 1) of all points of the call; degree 0: none */
} points;

typedef struct {
  const ep_analytic *a;
  const ep_dual_kind
      *dual[EP_MAX_DEPTH + 1]; /* of the layers 1 ..; the last: of all that are deeper */
  ep_analytic_kind kind;
} model;

/* activation and dual of layer l = 1 .. L */
static const ep_activation *phi_of(const ep_analytic *a, int l) {
  return l <= EP_MAX_DEPTH && a->phis[l - 1].kind ? &a->phis[l - 1] : &a->phi;
}
static const ep_dual_kind *dual_of(const model *m, int l) {
  return m->dual[l <= EP_MAX_DEPTH ? l - 1 : EP_MAX_DEPTH];
}

/* ---- the limit of a network */

/* of the biases' contribution at the start */
static double start_variance(const ep_net_shape *s, int l) {
  const double drawn = l < s->depth ? s->bias_variance : s->last_bias_variance;
  return s->standard ? drawn * s->bias[l] : pow(ep_net_bias_scale(s, l), 2);
}

ep_status ep_analytic_of(ep_analytic *out, const ep_net_shape *s, ep_analytic_kind kind) {
  EP_CHECK(kind == EP_NNGP || !s->standard, EP_ERR_ARG,
           "the analytic tangent kernel is that of --parametrisation ntk: in the standard one it "
           "grows with the width");
  for (int l = 1; l < s->depth; l++)
    EP_CHECK(s->bias[l] == s->bias[0], EP_ERR_ARG,
             "the analytic kernel has biases in all hidden layers or in none; layer %d of this "
             "network differs from the first",
             l + 1);
  *out = (ep_analytic){.phi = s->phi, .depth = s->depth, .input_scale = s->input_scale};
  out->config = (ep_variance_config){.weight_variance = ep_net_variance(s->weight_variance),
                                     .last_variance = ep_net_variance(s->last_variance),
                                     .bias_variance = start_variance(s, 0),
                                     .last_bias_variance = start_variance(s, s->depth)};
  memcpy(out->phis, s->phis, sizeof out->phis);
  return EP_OK;
}

ep_status ep_analytic_from(ep_analytic *out, const ep_net_config *config,
                           const ep_variance_config *variances, ptrdiff_t inputs,
                           ep_analytic_kind kind) {
  ep_net_shape shape;
  ep_variance_config v = {.weight_variance = 1, .last_variance = 1};
  if (variances) v = *variances;
  const ep_variance_config finite = {ep_net_variance(v.weight_variance), v.bias_variance,
                                     ep_net_variance(v.last_variance), v.last_bias_variance};
  EP_TRY(ep_net_shape_of(&shape, config, &finite, inputs));
  EP_TRY(ep_analytic_of(out, &shape, kind));
  out->config = v;
  return EP_OK;
}

static ep_dual_points layer(const points *p, int l, ptrdiff_t first) {
  const ptrdiff_t at = l * p->X->rows + first;
  const ep_dual_table *table = p->table[l].degree ? &p->table[l] : NULL;
  return (ep_dual_points){p->P + at, p->root + at, p->norm + at, p->rho + at, table};
}

/* |x| without overflow: m |x/m|, m = max |x_j|; NaN where an entry is */
static double row_size(const ep_mat *X, ptrdiff_t i) {
  const ep_mat x = ep_mat_rows(X, i, 1);
  const double m = ep_mat_max(&x);
  double sum = 0;
  if (!(m > 0)) return m;
  for (ptrdiff_t j = 0; j < X->cols; j++) {
    const double e = ep_get(X, i, j) / m;
    sum += e * e;
  }
  return m * sqrt(sum);
}

/* `size`: NULL, or what is known of them */
static ep_status points_new(ep_work *work, points *p, const model *m, const ep_mat *X,
                            const double *size) {
  const ptrdiff_t n = X->rows, layers = m->a->depth + 1;
  p->X = X;
  EP_CHECK(n < PTRDIFF_MAX / layers, EP_ERR_ARG, "%td layers of %td points are too many", layers,
           n);
  EP_TRY(ep_work_get(work, &p->size, n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->P, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->root, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->norm, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->rho, layers * n, sizeof(double)));
#pragma omp parallel for schedule(static) if (n * X->cols > WORTH_THREADS)
  for (ptrdiff_t i = 0; i < n; i++) {
    p->size[i] = size ? size[i] : row_size(X, i);
    p->norm[i] = m->a->input_scale * p->size[i];
  }
  return EP_OK;
}

/* P_l and its root; the range of all P_l > 0 */
static void layer_variances(const points *p, const ep_variance_config *c, int l, double range[2]) {
  const ptrdiff_t n = p->X->rows;
  for (ptrdiff_t i = 0; i < n; i++) {
    const double before = p->norm[(l - 1) * n + i];
    const double P = c->weight_variance * before * before + c->bias_variance;
    p->P[l * n + i] = P;
    p->root[l * n + i] = sqrt(P);
    if (P > 0) range[0] = fmin(range[0], P);
    if (!(P <= range[1])) range[1] = P; /* NaN stays */
  }
}

/* rho_l and norm_l, once there is a table or none */
static void layer_norms(const points *p, const model *m, int l) {
  const ptrdiff_t n = p->X->rows;
#pragma omp parallel for schedule(static) if (n > 64)
  for (ptrdiff_t i = 0; i < n; i++) {
    const double gap = 0, P = p->P[l * n + i];
    const ep_dual_points x = layer(p, l, i);
    double S, slope, next;
    if (x.table && P > 0) p->rho[l * n + i] = ep_dual_table_rho(x.table, P);
    ep_dual_row(&S, &slope, &next, dual_of(m, l), phi_of(m->a, l)->parameter, &gap, &x, &x, 1);
    p->norm[l * n + i] = sqrt(S);
  }
}

/* what belongs to the points alone, layer by layer; the tables are of all points, y may be x */
static ep_status layers_new(ep_work *work, points *x, points *y, const model *m, double entries) {
  ep_dual_table *tables;
  EP_TRY(ep_work_get(work, &tables, m->a->depth + 1, sizeof *tables));
  x->table = y->table = tables;
  for (int l = 1; l <= m->a->depth; l++) {
    double range[2] = {INFINITY, 0};
    layer_variances(x, &m->a->config, l, range);
    if (y != x) layer_variances(y, &m->a->config, l, range);
    EP_TRY(ep_dual_tabulate(work, &tables[l], dual_of(m, l), range[0], range[1], entries));
    layer_norms(x, m, l);
    if (y != x) layer_norms(y, m, l);
  }
  return EP_OK;
}

/* gap[] of S in layer l -> gap[] of P = w S + b in layer l + 1. With e = sqrt S_xx - sqrt S_yy, q = w sqrt(S_xx S_yy),
 * D = sqrt(P_xx P_yy):  D - P_xy = q gap + (D - q - b) = q gap + b w e^2 / (D + q + b). The same for b = 0. */
static void add_bias(double *gap, double w, double b, const points *x, ptrdiff_t i, const points *y,
                     ptrdiff_t j, int l, ptrdiff_t n) {
  const double norm = *layer(x, l, i).norm, root = *layer(x, l + 1, i).root;
  const double *norms = layer(y, l, j).norm, *roots = layer(y, l + 1, j).root;
  if (b == 0) return;
#pragma omp simd
  for (ptrdiff_t k = 0; k < n; k++) {
    const double q = w * norm * norms[k], D = root * roots[k], e = norm - norms[k];
    const double next = (q * gap[k] + b * w * (e * e) / (D + q + b)) / D;
    gap[k] = next < 2 ? next : 2;
  }
}

/* The recursion of analytic.h for point i of x against points j .. j + n - 1 of y, n <= TILE. K: in, the gaps of the
 * inputs; out, the kernel. Without its slopes Theta is P, and at the end the NNGP. */
static void kernel_row(double *K, const model *m, const points *x, ptrdiff_t i, const points *y,
                       ptrdiff_t j, ptrdiff_t n) {
  double theta[TILE + 8], S[TILE + 8], slope[TILE + 8], room[TILE + 8]; /* 8: apart in the cache */
  double *gap = K, *next = room;
  const ep_variance_config *c = &m->a->config;
  const double w = c->weight_variance, b = c->bias_variance;
  for (ptrdiff_t k = 0; k < n; k++) {
    const double q = w * x->norm[i] * y->norm[j + k];
    theta[k] = q * (1 - gap[k]) + b;
  }
  add_bias(gap, w, b, x, i, y, j, 0, n);
  for (int l = 1; l <= m->a->depth; l++) {
    const int last = l == m->a->depth;
    const double weight = last ? c->last_variance : w, bias = last ? c->last_bias_variance : b;
    const ep_dual_points from = layer(x, l, i), to = layer(y, l, j);
    ep_dual_row(S, slope, next, dual_of(m, l), phi_of(m->a, l)->parameter, gap, &from, &to, n);
    if (m->kind == EP_NNGP) memset(slope, 0, (size_t)n * sizeof *slope);
    for (ptrdiff_t k = 0; k < n; k++) theta[k] = weight * (S[k] + theta[k] * slope[k]) + bias;
    if (!last) add_bias(next, w, b, x, i, y, j, l, n);
    double *swap = gap;
    gap = next;
    next = swap;
  }
  memcpy(K, theta, (size_t)n * sizeof *K);
}

/* U = rows first .. of X over their sizes, in double */
static void unit_rows(const ep_mat *U, const points *p, ptrdiff_t first) {
#pragma omp parallel for schedule(static) if (U->rows * U->cols > WORTH_THREADS)
  for (ptrdiff_t i = 0; i < U->rows; i++) {
    const ep_mat to = ep_mat_rows(U, i, 1), from = ep_mat_rows(p->X, first + i, 1);
    const double size = p->size[first + i];
    double *u = to.data;
    ep_mat_copy(&to, &from);
    for (ptrdiff_t j = 0; j < U->cols; j++) u[j] = size > 0 ? u[j] / size : 0;
  }
}

/* gap = 1 - u'v of unit vectors; near 0 it is |u - v|^2/2, near 2 it is 2 - |u + v|^2/2 */
static double pair_gap(double product, const double *u, const double *v, ptrdiff_t D) {
  const double gap = 1 - product;
  if (gap > close_gap && gap < 2 - close_gap) return gap;
  const double sign = gap < 1 ? -1 : 1;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t k = 0; k < D; k++) {
    const double e = u[k] + sign * v[k];
    sum += e * e;
  }
  return gap < 1 ? 0.5 * sum : 2 - 0.5 * sum;
}

/* A tile of K: rows i0 .. of x, columns j0 .. of y. */
typedef struct {
  ptrdiff_t i0, j0;
  int symmetric; /* the tile also goes to its mirror image; on the diagonal only the upper half of it is computed */
  ep_mat U, V, T; /* unit rows of x and of y, the tile itself */
} tile;

/* the first column of row i that is computed */
static ptrdiff_t first_column(const tile *t, ptrdiff_t i) {
  return t->symmetric && t->i0 == t->j0 ? i : 0;
}

/* row i of T: products -> gaps -> kernel */
static void tile_row(const tile *t, const model *m, const points *x, const points *y, ptrdiff_t i) {
  const ptrdiff_t first = first_column(t, i), n = t->T.cols - first;
  double *row = ep_d(&t->T, i, first);
  for (ptrdiff_t k = 0; k < n; k++)
    row[k] = pair_gap(row[k], ep_d(&t->U, i, 0), ep_d(&t->V, first + k, 0), t->U.cols);
  if (t->symmetric && t->i0 + i == t->j0 + first) row[0] = 0; /* a point and itself */
  kernel_row(row, m, x, t->i0 + i, y, t->j0 + first, n);
}

/* K takes rows i .. end - 1 of the tile; gives the number of entries that are no numbers in K's precision. */
static long tile_store(const ep_mat *K, const tile *t, ptrdiff_t i, ptrdiff_t end) {
  const double most = K->prec == EP_SINGLE ? FLT_MAX : DBL_MAX;
  long bad = 0;
  for (ptrdiff_t k = i; k < end; k++)
    for (ptrdiff_t j = first_column(t, k); j < t->T.cols; j++) {
      const double value = *ep_d(&t->T, k, j);
      bad += !(fabs(value) <= most);
      ep_set(K, t->i0 + k, t->j0 + j, value);
    }
  for (ptrdiff_t j = 0; t->symmetric && j < t->T.cols; j++)
    for (ptrdiff_t k = i; k < end && first_column(t, k) <= j; k++)
      ep_set(K, t->j0 + j, t->i0 + k, *ep_d(&t->T, k, j));
  return bad;
}

/* Strips of rows: a mirrored one fills whole cache lines. */
static long tile_fill(const ep_mat *K, const tile *t, const model *m, const points *x,
                      const points *y) {
  enum { STRIP = 16 };
  long bad = 0;
  if (t->V.data == t->U.data) ep_mat_gram(&t->T, 1, &t->U, 0);
  else ep_mat_mul(&t->T, 1, &t->U, EP_N, &t->V, EP_T, 0);
#pragma omp parallel for schedule(dynamic) reduction(+ : bad) if (t->T.rows * t->T.cols > WORTH_THREADS)
  for (ptrdiff_t i = 0; i < t->T.rows; i += STRIP) {
    const ptrdiff_t end = i + STRIP < t->T.rows ? i + STRIP : t->T.rows;
    for (ptrdiff_t k = i; k < end; k++) tile_row(t, m, x, y, k);
    bad += tile_store(K, t, i, end);
  }
  return bad;
}

static ptrdiff_t tile_rows(ptrdiff_t D, ptrdiff_t n) {
  const double room = tile_share * fmax(0, ep_run_room()),
               row = sizeof(double) * (double)(D > 0 ? D : 1);
  const double fit = fmin(fmin(tile_bytes, room) / row, sqrt(room / sizeof(double)));
  return ep_least(n, fit > TILE ? TILE : fit > LEAST_TILE ? (ptrdiff_t)fit : LEAST_TILE);
}

static ep_status model_new(model *m, const ep_analytic *a, ep_analytic_kind kind) {
  *m = (model){.a = a, .kind = kind};
  for (int l = 1; l <= EP_MAX_DEPTH + 1; l++) {
    m->dual[l - 1] = ep_dual_find(phi_of(a, l));
    EP_CHECK(m->dual[l - 1] || l > a->depth, EP_ERR_ARG, "no analytic kernel of activation %s",
             ep_activation_label(phi_of(a, l)));
  }
  EP_CHECK(a->depth >= 1, EP_ERR_ARG, "an analytic kernel has at least one hidden layer, not %d",
           a->depth);
  EP_CHECK(a->config.weight_variance >= 0 && a->config.bias_variance >= 0 &&
               a->config.last_variance >= 0 && a->config.last_bias_variance >= 0,
           EP_ERR_ARG, "variances of an analytic kernel cannot be negative");
  return EP_OK;
}

/* `r`: Y made ready, or NULL */
static ep_status kernel(ep_work *work, const ep_mat *K, const model *m, const ep_mat *X,
                        const ep_mat *Y, const ep_analytic_ready *r) {
  points x, other, *y = Y ? &other : &x;
  EP_TRY(points_new(work, &x, m, X, NULL));
  if (Y) EP_TRY(points_new(work, &other, m, Y, r ? r->size : NULL));
  EP_TRY(layers_new(work, &x, y, m, (double)K->rows * (double)K->cols));
  const ptrdiff_t n = X->rows, n2 = y->X->rows, D = X->cols;
  const ptrdiff_t tall = tile_rows(D, n), wide = tile_rows(D, n2);
  ep_mat U, V, T;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, tall, D));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, r ? 0 : wide, D));
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, tall, wide));
  for (ptrdiff_t i = 0; i < n; i += tall) {
    const ptrdiff_t rows = ep_least(tall, n - i);
    tile t = {.i0 = i, .symmetric = !Y, .U = ep_mat_rows(&U, 0, rows)};
    unit_rows(&t.U, &x, i);
    for (ptrdiff_t j = Y ? 0 : i; j < n2; j += wide) {
      const double top =
          (double)i /
          (double)n; /* rows above are done; of this row of tiles, the part to the left */
      EP_TRY(ep_run_step("percent of the kernel", 100 * (Y ? top : top * (2 - top)), 100));
      const ptrdiff_t cols = ep_least(wide, n2 - j);
      t.j0 = j;
      t.V = !Y && i == j ? t.U : r ? ep_mat_rows(&r->U, j, cols) : ep_mat_rows(&V, 0, cols);
      t.T = ep_mat_view(EP_DOUBLE, rows, cols, T.data);
      if (!r && (Y || i != j)) unit_rows(&t.V, y, j);
      const long bad = tile_fill(K, &t, m, &x, y);
      EP_CHECK(!bad, EP_ERR_NUMERIC,
               "%ld entries of the kernel of points %td to %td are infinite or no numbers: points "
               "that are not finite, or too long",
               bad, i, i + rows - 1);
    }
  }
  return EP_OK;
}

static ep_status analytic_kernel(const ep_mat *K, const ep_analytic *a, ep_analytic_kind kind,
                                 const ep_mat *X, const ep_mat *Y, const ep_analytic_ready *r) {
  model m;
  EP_TRY(model_new(&m, a, kind));
  const ptrdiff_t n2 = Y ? Y->rows : X->rows;
  EP_CHECK(K->rows == X->rows && K->cols == n2, EP_ERR_SHAPE,
           "the kernel of %td and %td points is not %td x %td", X->rows, n2, K->rows, K->cols);
  EP_CHECK(!Y || Y->cols == X->cols, EP_ERR_SHAPE, "points of %td and of %td dimensions", X->cols,
           Y ? Y->cols : 0);
  ep_work work = {0};
  const ep_status st = kernel(&work, K, &m, X, Y, r);
  ep_work_free(&work);
  return st;
}

ep_status ep_analytic_kernel(ep_run *run, const ep_mat *K, const ep_analytic *a,
                             ep_analytic_kind kind, const ep_mat *X, const ep_mat *Y) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = analytic_kernel(K, a, kind, X, Y, NULL);
  ep_run_leave(&scope);
  return st;
}

ep_status ep_analytic_kernel_ready(const ep_mat *K, const ep_analytic *a, ep_analytic_kind kind,
                                   const ep_mat *X, const ep_analytic_ready *r) {
  return analytic_kernel(K, a, kind, X, &r->X, r);
}

static ep_status diagonal_of(ep_work *work, double *diagonal, const model *m, const ep_mat *X) {
  points x;
  long bad = 0;
  EP_TRY(points_new(work, &x, m, X, NULL));
  EP_TRY(layers_new(work, &x, &x, m, (double)X->rows));
#pragma omp parallel for schedule(static) reduction(+ : bad) if (X->rows * X->cols > WORTH_THREADS)
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    diagonal[i] = 0; /* the gap of a point to itself */
    kernel_row(&diagonal[i], m, &x, i, &x, i, 1);
    bad += !isfinite(diagonal[i]);
  }
  EP_CHECK(!bad, EP_ERR_NUMERIC, "the kernel of %ld points is infinite or no number", bad);
  return EP_OK;
}

static ep_status analytic_diagonal(double *diagonal, const ep_analytic *a, ep_analytic_kind kind,
                                   const ep_mat *X) {
  model m;
  ep_work work = {0};
  EP_TRY(model_new(&m, a, kind));
  const ep_status st = diagonal_of(&work, diagonal, &m, X);
  ep_work_free(&work);
  return st;
}

ep_status ep_analytic_diagonal(ep_run *run, double *diagonal, const ep_analytic *a,
                               ep_analytic_kind kind, const ep_mat *X) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = analytic_diagonal(diagonal, a, kind, X);
  ep_run_leave(&scope);
  return st;
}

/* ---- points that are met again and again */

static ep_status make_ready(ep_analytic_ready *out, const ep_analytic *a, ep_analytic_kind kind) {
  const ep_mat *X = &out->X;
  out->size = ep_alloc(X->rows, sizeof *out->size);
  out->diagonal = ep_alloc(X->rows, sizeof *out->diagonal);
  EP_CHECK(out->size && out->diagonal, EP_ERR_NOMEM, "no memory for %td points", X->rows);
  EP_TRY(ep_mat_new(&out->U, EP_DOUBLE, X->rows, X->cols));
  for (ptrdiff_t i = 0; i < X->rows; i++) out->size[i] = row_size(X, i);
  const points p = {.X = X, .size = out->size};
  unit_rows(&out->U, &p, 0);
  return analytic_diagonal(out->diagonal, a, kind, X);
}

ep_status ep_analytic_ready_new(ep_analytic_ready *out, const ep_analytic *a, ep_analytic_kind kind,
                                const ep_mat *X) {
  *out = (ep_analytic_ready){.X = *X};
  const ep_status st = make_ready(out, a, kind);
  if (st) ep_analytic_ready_free(out);
  return st;
}

void ep_analytic_ready_free(ep_analytic_ready *r) {
  ep_mat_free(&r->U);
  ep_release(r->size);
  ep_release(r->diagonal);
  *r = (ep_analytic_ready){0};
}
