/* Kernels of infinitely wide networks, tile by tile, a tile a thread: its correlations by one product of points, then every
 * row of it goes through the layers. What belongs to a point alone (its variance in every layer) is computed once.
 *
 * The product is in the precision of points and kernel, all else in double. In single a sum of many products loses digits:
 * it is taken from pieces of SUM dimensions, and correlations near 1 or -1, where the angle hangs on the last digits, come
 * from the difference of the points. Rows without such pairs go through a few layers of relu, leaky or erf in single as
 * well. The error of the kernel is then about 5e-7 of sqrt(K_ii K_jj) instead of 1e-7, and up to 2e-6 where relu meets
 * points of which most are nearly parallel (raw images): there the angle is the root of a small gap. */
#include "core/crew.h"
#include "core/mem.h"
#include "core/products.h"
#include "core/threads.h"
#include "core/vector.h"
#include "kernel/analytic.h"
#include "kernel/dual_table.h"
#include "kernel/quick.h"

#include <eigenpair/analytic.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { TILE = 256, LEAST_TILE = 64, STRIP = 16, SUM = 192, WORTH_THREADS = 4096 /* entries */ };
static const double tile_bytes = 16e6; /* of points, where TILE of them would be more */
static const double tile_share = 0.2;  /* of the memory that is left, for points and for the tile */

/* The points x_i in every layer, all arrays of the call's scratch:
 *   size[i] = |x_i|,  norm_0 = s |x|,  P_l = w norm_{l-1}^2 + b,  norm_l = sqrt S(P_l, P_l, P_l),  l = 1 .. L */
typedef struct {
  const ep_mat *X;
  double *size;
  double *inverse; /* 1 / size, 0 of 0 */
  bool plain;      /* products of these points neither overflow nor underflow in X's precision */
  double *P, *root, *norm, *rho; /* (L + 1) x n: the layers 0 .. L; of layer 0 only norm is used */
  double *over, *damp;           /* 1 / norm, 1 / sqrt(1 + 2 P) */
  const ep_dual_table *table;    /* (L + 1) of all points of the call; degree 0: none */
  /* root, over, damp of every layer in single, 3 (L + 1) x n; NULL: rows go through the layers in double */
  float *quick;
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
  return (ep_dual_points){p->P + at, p->root + at, p->norm + at, p->rho + at,
                          table,     p->over + at, p->damp + at};
}

/* |x|; where its square would overflow or underflow m |x/m|, m = max |x_j|; NaN where an entry is */
static double row_size(const ep_mat *X, ptrdiff_t i) {
  const ep_mat x = ep_mat_rows(X, i, 1);
  double sum = EP_PICK(X->prec, ep_row_sum2)(x.data, 1, x.data, 0, X->cols);
  if (sum > 1e-200 && sum < 1e200) return sqrt(sum);
  const double m = ep_mat_max(&x);
  if (!(m > 0)) return m;
  sum = 0;
  for (ptrdiff_t j = 0; j < X->cols; j++) {
    const double e = ep_get(X, i, j) / m;
    sum += e * e;
  }
  return m * sqrt(sum);
}

typedef struct {
  const points *p;
  const double *size; /* NULL, or what is known of them */
  double scale;
} sizes_loop;

static void find_sizes(void *of, ptrdiff_t first, ptrdiff_t end) {
  const sizes_loop *l = of;
  const points *p = l->p;
  for (ptrdiff_t i = first; i < end; i++) {
    p->size[i] = l->size ? l->size[i] : row_size(p->X, i);
    p->inverse[i] = p->size[i] > 0 ? 1 / p->size[i] : 0;
    p->norm[i] = l->scale * p->size[i];
  }
}

/* `size`: NULL, or what is known of them */
static ep_status points_new(ep_work *work, points *p, const model *m, const ep_mat *X,
                            const double *size) {
  const ptrdiff_t n = X->rows, layers = m->a->depth + 1;
  p->X = X;
  p->quick = NULL;
  EP_CHECK(n < PTRDIFF_MAX / layers, EP_ERR_ARG, "%td layers of %td points are too many", layers,
           n);
  EP_TRY(ep_work_get(work, &p->size, n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->inverse, n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->P, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->root, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->norm, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->rho, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->over, layers * n, sizeof(double)));
  EP_TRY(ep_work_get(work, &p->damp, layers * n, sizeof(double)));
  ep_crew_loop(n, ep_rows_at_once(X->cols, 32768), n * X->cols > WORTH_THREADS, find_sizes,
               &(sizes_loop){p, size, m->a->input_scale});
  const double most = X->prec == EP_SINGLE ? 1e15 : 1e120;
  p->plain = true;
  for (ptrdiff_t i = 0; i < n; i++)
    p->plain &= p->size[i] == 0 || (p->size[i] < most && p->size[i] > 1 / most);
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
    p->damp[l * n + i] = 1 / sqrt(1 + 2 * P);
    if (P > 0) range[0] = fmin(range[0], P);
    if (!(P <= range[1])) range[1] = P; /* NaN stays */
  }
}

typedef struct {
  const points *p;
  const model *m;
  int l;
} norms_loop;

static void find_norms(void *of, ptrdiff_t first, ptrdiff_t end) {
  const points *p = ((norms_loop *)of)->p;
  const model *m = ((norms_loop *)of)->m;
  const int l = ((norms_loop *)of)->l;
  const ptrdiff_t n = p->X->rows;
  for (ptrdiff_t i = first; i < end; i++) {
    const double gap = 0, P = p->P[l * n + i];
    const ep_dual_points x = layer(p, l, i);
    double S, slope, next;
    if (x.table && P > 0) p->rho[l * n + i] = ep_dual_table_rho(x.table, P);
    ep_dual_row(&S, &slope, &next, dual_of(m, l), phi_of(m->a, l)->parameter, &gap, &x, &x, 1);
    p->norm[l * n + i] = sqrt(S);
    p->over[l * n + i] = S > 0 ? 1 / sqrt(S) : 0;
  }
}

/* rho_l and norm_l, once there is a table or none */
static void layer_norms(const points *p, const model *m, int l) {
  const ptrdiff_t n = p->X->rows;
  ep_crew_loop(n, 256, n > WORTH_THREADS, find_norms, &(norms_loop){p, m, l});
}

/* what belongs to the points alone, layer by layer; the tables are of all points, y may be x */
static ep_status layers_new(ep_work *work, points *x, points *y, const model *m, double entries,
                            ep_precision prec) {
  ep_dual_table *tables;
  EP_TRY(ep_work_get(work, &tables, m->a->depth + 1, sizeof *tables));
  x->table = y->table = tables;
  for (int l = 1; l <= m->a->depth; l++) {
    double range[2] = {INFINITY, 0};
    layer_variances(x, &m->a->config, l, range);
    if (y != x) layer_variances(y, &m->a->config, l, range);
    EP_TRY(ep_dual_tabulate(work, &tables[l], dual_of(m, l), range[0], range[1], entries));
    if (prec == EP_SINGLE) ep_dual_table_shorten(&tables[l], 1e-9);
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
  double theta[TILE + 8], S[TILE + 8], slope[TILE + 8], other[TILE + 8]; /* 8: apart in the cache */
  double *gap = K, *next = other;
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
    EP_PICK_DOUBLE(ep_dual_theta)(theta, S, m->kind == EP_NNGP ? NULL : slope, weight, bias, n);
    if (!last) add_bias(next, w, b, x, i, y, j, l, n);
    double *swap = gap;
    gap = next;
    next = swap;
  }
  memcpy(K, theta, (size_t)n * sizeof *K);
}

/* ---- the same in single */

enum { QUICK_DEPTH = 4 }; /* an error of a layer is carried on by those above it */

/* NULL: there is no quick one */
static ep_quick_layer *quick_layer(const model *m, int l) {
  const char *name = ep_activation_label(phi_of(m->a, l));
  const bool leaky = strcmp(name, "relu") == 0 || strcmp(name, "leaky") == 0;
  return leaky                      ? EP_PICK(EP_SINGLE, ep_quick_leaky)
         : strcmp(name, "erf") == 0 ? EP_PICK(EP_SINGLE, ep_quick_erf)
                                    : NULL;
}

/* relu is leaky with 0 */
static double leaky_parameter(const ep_activation *phi) {
  return strcmp(ep_activation_label(phi), "leaky") == 0 ? phi->parameter : 0;
}

static bool can_be_quick(const model *m, const points *p) {
  bool can = m->a->depth <= QUICK_DEPTH && m->a->config.bias_variance == 0;
  for (int l = 1; can && l <= m->a->depth; l++) can = quick_layer(m, l) != NULL;
  for (ptrdiff_t i = 0; can && i < p->X->rows; i++) can = p->size[i] > 0;
  return can;
}

static ep_status make_quick(ep_work *work, points *p, int depth) {
  const ptrdiff_t all = (depth + 1) * p->X->rows;
  EP_TRY(ep_work_get(work, &p->quick, 3 * all, sizeof(float)));
  for (ptrdiff_t k = p->X->rows; k < all; k++) {
    p->quick[k] = (float)p->root[k];
    p->quick[all + k] = (float)p->over[k];
    p->quick[2 * all + k] = (float)p->damp[k];
  }
  return EP_OK;
}

/* kernel_row of pairs none of which is close */
static void quick_row(double *K, const model *m, const points *x, ptrdiff_t i, const points *y,
                      ptrdiff_t j, ptrdiff_t n) {
  float theta[TILE], gap[TILE];
  const ep_variance_config *c = &m->a->config;
  const ptrdiff_t all = (m->a->depth + 1) * y->X->rows;
  EP_PICK(EP_SINGLE, ep_quick_start)
  (theta, gap, K, c->weight_variance * x->norm[i], y->norm + j, n);
  for (int l = 1; l <= m->a->depth; l++) {
    const bool last = l == m->a->depth;
    const ep_dual_points from = layer(x, l, i);
    const ep_quick q = {.root = *from.root,
                        .over = *from.over,
                        .damp = *from.damp,
                        .p = leaky_parameter(phi_of(m->a, l)),
                        .w = last ? c->last_variance : c->weight_variance,
                        .b = last ? c->last_bias_variance : 0,
                        .tangent = m->kind == EP_NTK};
    const float *to = y->quick + l * y->X->rows + j;
    quick_layer(m, l)(theta, gap, &q, &(ep_quick_points){to, to + all, to + 2 * all}, n);
  }
  EP_PICK(EP_SINGLE, ep_quick_end)(K, theta, n);
}

/* ---- tiles */

/* What a thread works with. */
typedef struct {
  ep_mat U, V; /* (tile, D) unit rows in double; none where products are in single */
  ep_mat P;    /* (tile, tile) products */
  ep_mat T;    /* (STRIP, tile) a few rows of the kernel */
} room;

/* A tile of K: rows i0 .. of x, columns j0 .. of y. */
typedef struct {
  const room *own;
  ptrdiff_t i0, j0;
  bool
      symmetric; /* it also goes to its mirror image; on the diagonal only the upper half of it is computed */
  ep_mat U, V, P;      /* points of its rows and of its columns, their products */
  const double *a, *b; /* correlations are a_i b_j P_ij */
  double close; /* a correlation this close to 1 or -1 comes from the difference of the points */
} tile;

static const double ones[TILE] = {[0 ... TILE - 1] = 1};

/* U = rows first .. of X over their sizes, in double */
static void unit_rows(const ep_mat *U, const points *p, ptrdiff_t first) {
  for (ptrdiff_t i = 0; i < U->rows; i++) {
    const ep_mat to = ep_mat_rows(U, i, 1), from = ep_mat_rows(p->X, first + i, 1);
    const double size = p->size[first + i];
    double *u = to.data;
    ep_mat_copy(&to, &from);
    for (ptrdiff_t j = 0; j < U->cols; j++) u[j] = size > 0 ? u[j] / size : 0;
  }
}

/* n points as a product in this precision takes them: as they are, or unit rows in `space`; *scale: what it is multiplied by */
static ep_mat rows_for(const double **scale, const points *p, ptrdiff_t first, ptrdiff_t n,
                       ep_precision prec, const ep_mat *space) {
  if (p->plain && p->X->prec == prec) {
    *scale = p->inverse + first;
    return ep_mat_rows(p->X, first, n);
  }
  const ep_mat U = ep_mat_rows(space, 0, n);
  unit_rows(&U, p, first);
  *scale = ones;
  return U;
}

static const double close_in[] = {1e-4, 1e-2}; /* double, single */

static bool on_diagonal(const tile *t) { return t->symmetric && t->i0 == t->j0; }

/* the first column of row i that is computed */
static ptrdiff_t first_column(const tile *t, ptrdiff_t i) { return on_diagonal(t) ? i : 0; }

static void tile_products(tile *t, const points *x, const points *y, ptrdiff_t rows, ptrdiff_t cols,
                          ep_precision prec) {
  const ptrdiff_t D = x->X->cols, pieces = prec == EP_SINGLE ? (D + SUM - 1) / SUM : 1;
  const ptrdiff_t step = pieces > 1 ? (D + pieces - 1) / pieces : D;
  t->close = close_in[prec == EP_SINGLE];
  t->P = ep_mat_view(prec, rows, cols, t->own->P.data);
  t->U = rows_for(&t->a, x, t->i0, rows, prec, &t->own->U);
  t->V = t->U;
  t->b = t->a;
  if (!on_diagonal(t)) t->V = rows_for(&t->b, y, t->j0, cols, prec, &t->own->V);
  ptrdiff_t k = 0;
  do {
    const ptrdiff_t n = ep_least(step, D - k);
    const ep_mat u = ep_mat_cols(&t->U, k, n), v = ep_mat_cols(&t->V, k, n);
    if (on_diagonal(t)) ep_mat_gram(&t->P, 1, &u, k > 0);
    else ep_mat_mul(&t->P, 1, &u, EP_N, &v, EP_T, k > 0);
    k += step;
  } while (k < D);
}

/* gaps of row i from column j on; how many of them are close */
static ptrdiff_t row_gaps(double *gap, const tile *t, ptrdiff_t i, ptrdiff_t j) {
  const ep_precision prec = t->P.prec;
  const char *p = (const char *)t->P.data + (size_t)(i * t->P.ld + j) * ep_sizeof(prec);
  return EP_PICK(prec, ep_row_gaps)(gap, p, t->a[i], t->b + j, t->P.cols - j, t->close);
}

/* gap = 1 - u'v of unit vectors; near 0 it is |u - v|^2/2, near 2 it is 2 - |u + v|^2/2 */
static double close_gap(const tile *t, ptrdiff_t i, ptrdiff_t j, double gap) {
  const size_t size = ep_sizeof(t->U.prec);
  const char *u = (const char *)t->U.data + (size_t)(i * t->U.ld) * size,
             *v = (const char *)t->V.data + (size_t)(j * t->V.ld) * size;
  const double sum =
      EP_PICK(t->U.prec, ep_row_sum2)(u, t->a[i], v, gap < 1 ? -t->b[j] : t->b[j], t->U.cols);
  return gap < 1 ? 0.5 * sum : 2 - 0.5 * sum;
}

/* row i of the kernel from column j on: products -> gaps -> kernel */
static void tile_row(double *row, const tile *t, const model *m, const points *x, const points *y,
                     ptrdiff_t i, ptrdiff_t j) {
  const ptrdiff_t n = t->P.cols - j, close = row_gaps(row, t, i, j);
  const int itself = t->symmetric && t->i0 + i == t->j0 + j; /* the first is the point itself */
  if (itself) row[0] = 0;
  if (y->quick && close == itself) {
    if (itself) kernel_row(row, m, x, t->i0 + i, y, t->j0 + j, 1);
    quick_row(row + itself, m, x, t->i0 + i, y, t->j0 + j + itself, n - itself);
    return;
  }
  for (ptrdiff_t k = itself; close > itself && k < n; k++)
    if (!(row[k] > t->close && row[k] < 2 - t->close)) row[k] = close_gap(t, i, j + k, row[k]);
  kernel_row(row, m, x, t->i0 + i, y, t->j0 + j, n);
}

static void *entry(const ep_mat *K, ptrdiff_t i, ptrdiff_t j) {
  return (char *)K->data + (size_t)(i * K->ld + j) * ep_sizeof(K->prec);
}

/* K takes rows i .. i + n - 1 of the tile, n <= STRIP, and their mirror image, of which a row is a whole line of the cache;
 * gives the number of entries that are no numbers in K's precision. */
static long strip_store(const ep_mat *K, const tile *t, ptrdiff_t i, ptrdiff_t n) {
  const ep_mat *T = &t->own->T;
  long bad = 0;
  for (ptrdiff_t k = 0; k < n; k++) {
    const ptrdiff_t j = first_column(t, i + k);
    bad += EP_PICK(K->prec, ep_row_store)(entry(K, t->i0 + i + k, t->j0 + j), ep_d(T, k, j),
                                          t->P.cols - j);
  }
  if (!t->symmetric) return bad;
  const ptrdiff_t whole = on_diagonal(t) ? i + n : 0; /* columns from here on have all rows */
  for (ptrdiff_t k = 0; on_diagonal(t) && k < n; k++)
    for (ptrdiff_t j = i + k + 1; j < whole; j++)
      ep_set(K, t->j0 + j, t->i0 + i + k, *ep_d(T, k, j));
  EP_PICK(K->prec, ep_row_mirror)
  (entry(K, t->j0 + whole, t->i0 + i), K->ld, ep_d(T, 0, whole), T->ld, n, t->P.cols - whole);
  return bad;
}

/* the tile at i0, j0; left half done once *stop says so */
static long tile_fill(const ep_mat *K, const room *own, const model *m, const points *x,
                      const points *y, ptrdiff_t i0, ptrdiff_t j0, ptrdiff_t rows, ptrdiff_t cols,
                      const volatile int *stop) {
  tile t = {.own = own, .i0 = i0, .j0 = j0, .symmetric = x == y};
  tile_products(&t, x, y, rows, cols, own->P.prec);
  long bad = 0;
  for (ptrdiff_t i = 0; i < rows && !(stop && *stop); i += STRIP) {
    const ptrdiff_t n = ep_least(STRIP, rows - i);
    for (ptrdiff_t k = 0; k < n; k++) {
      const ptrdiff_t j = first_column(&t, i + k);
      tile_row(ep_d(&own->T, k, j), &t, m, x, y, i + k, j);
    }
    bad += strip_store(K, &t, i, n);
  }
  return bad;
}

static ptrdiff_t tile_rows(ptrdiff_t D, ptrdiff_t n) {
  const double share = tile_share * fmax(0, ep_run_room()) / ep_run_threads(),
               row = sizeof(double) * (double)(D > 0 ? D : 1);
  const double fit = fmin(fmin(tile_bytes, share) / row, sqrt(share / sizeof(double)));
  return ep_least(n, fit > TILE ? TILE : fit > LEAST_TILE ? (ptrdiff_t)fit : LEAST_TILE);
}

/* How many tiles lie between two looks, at which pages of a K that is a file may be let go: of these a tile and its mirror image
 * touch one a row at least. */
static ptrdiff_t batch_of(const ep_mat *K) {
  const double touched = 2. * TILE * fmax(4096, TILE * (double)ep_sizeof(K->prec));
  const double fit = tile_share * fmax(0, ep_run_room()) / touched;
  const ptrdiff_t threads = ep_run_threads();
  return fit > 32. * (double)threads ? 32 * threads
         : fit > (double)threads     ? (ptrdiff_t)fit
                                     : threads;
}

static ep_status rooms_new(ep_work *work, room **out, ptrdiff_t tall, ptrdiff_t wide, ptrdiff_t D,
                           ep_precision prec) {
  EP_TRY(ep_work_get(work, out, ep_run_threads(), sizeof **out));
  for (int k = 0; k < ep_run_threads(); k++) {
    room *r = *out + k;
    if (prec == EP_DOUBLE) EP_TRY(ep_work_mat(work, &r->U, EP_DOUBLE, tall, D));
    if (prec == EP_DOUBLE) EP_TRY(ep_work_mat(work, &r->V, EP_DOUBLE, wide, D));
    EP_TRY(ep_work_mat(work, &r->P, prec, tall, wide));
    EP_TRY(ep_work_mat(work, &r->T, EP_DOUBLE, STRIP, wide));
  }
  return EP_OK;
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

/* Close pairs take a sum of their own each, dearer than a product in double if they are many: a few pairs are asked. */
static bool many_close(const points *x, const points *y) {
  enum { PAIRS = 64 };
  int close = 0;
  uint64_t draw = 1;
  for (int k = 0; k < PAIRS; k++) {
    draw = draw * 6364136223846793005u + 1442695040888963407u; /* Knuth's */
    const ptrdiff_t i = (ptrdiff_t)(draw >> 48) % x->X->rows,
                    j = (ptrdiff_t)(draw >> 32 & 0xffff) % y->X->rows;
    const ep_mat u = ep_mat_rows(x->X, i, 1), v = ep_mat_rows(y->X, j, 1);
    const double sum =
        EP_PICK(EP_SINGLE, ep_row_sum2)(u.data, x->inverse[i], v.data, -y->inverse[j], u.cols);
    const double gap = 0.5 * sum;
    close += !(x == y && i == j) && !(gap > close_in[1] && gap < 2 - close_in[1]);
  }
  return close > PAIRS / 16;
}

/* of the products */
static ep_precision precision_of(const ep_mat *K, const points *x, const points *y) {
  const bool single = K->prec == EP_SINGLE && x->plain && x->X->prec == EP_SINGLE && y->plain &&
                      y->X->prec == EP_SINGLE && x->X->rows > 0 && y->X->rows > 0;
  return single && !many_close(x, y) ? EP_SINGLE : EP_DOUBLE;
}

typedef struct {
  const ep_mat *K;
  const model *m;
  const points *x, *y;
  const room *rooms;
  ptrdiff_t tall, wide, down, across; /* rows and columns of a tile; tiles */
  ptrdiff_t first;                    /* of the batch */
  const volatile int *stop;
  _Atomic long bad;
} tiles_loop;

static void fill_tiles(void *of, ptrdiff_t first, ptrdiff_t end) {
  tiles_loop *l = of;
  const room *own = &l->rooms[ep_crew_thread()];
  const ptrdiff_t n = l->x->X->rows, n2 = l->y->X->rows, tall = l->tall, wide = l->wide;
  for (ptrdiff_t t = l->first + first; t < l->first + end && !(l->stop && *l->stop); t++) {
    ptrdiff_t i = t / l->across, j = t % l->across;
    if (l->x == l->y) ep_triangle_place(&i, &j, t, l->down);
    l->bad += tile_fill(l->K, own, l->m, l->x, l->y, i * tall, j * wide,
                        ep_least(tall, n - i * tall), ep_least(wide, n2 - j * wide), l->stop);
  }
}

static ep_status all_tiles(tiles_loop *l) {
  const ptrdiff_t tiles = l->x == l->y ? l->down * (l->down + 1) / 2 : l->down * l->across;
  const ptrdiff_t batch = batch_of(l->K);
  for (l->first = 0; l->first < tiles; l->first += batch) {
    EP_TRY(ep_run_step("percent of the kernel", 100 * (double)l->first / (double)tiles, 100));
    ep_crew_loop(ep_least(batch, tiles - l->first), 1, l->K->rows * l->K->cols > WORTH_THREADS,
                 fill_tiles, l);
    EP_TRY(ep_run_look());
    EP_CHECK(!l->bad, EP_ERR_NUMERIC,
             "%ld entries of the kernel are infinite or no numbers: points that are not finite, or "
             "too long",
             l->bad);
  }
  return EP_OK;
}

/* `r`: Y made ready, or NULL */
static ep_status kernel(ep_work *work, const ep_mat *K, const model *m, const ep_mat *X,
                        const ep_mat *Y, const ep_analytic_ready *r) {
  points x, other, *y = Y ? &other : &x;
  EP_TRY(points_new(work, &x, m, X, NULL));
  if (Y) EP_TRY(points_new(work, &other, m, Y, r ? r->size : NULL));
  const ep_precision prec = precision_of(K, &x, y);
  EP_TRY(layers_new(work, &x, y, m, (double)K->rows * (double)K->cols, prec));
  const ptrdiff_t n = X->rows, n2 = y->X->rows, D = X->cols;
  const ptrdiff_t tall = tile_rows(D, n), wide = tile_rows(D, n2);
  if (n == 0 || n2 == 0) return EP_OK;
  tiles_loop l = {.K = K, .m = m, .x = &x, .y = y, .tall = tall, .wide = wide};
  l.down = (n + tall - 1) / tall, l.across = (n2 + wide - 1) / wide;
  l.stop = ep_run_stop();
  room *rooms;
  if (prec == EP_SINGLE && can_be_quick(m, &x) && can_be_quick(m, y))
    EP_TRY(make_quick(work, y, m->a->depth));
  EP_TRY(rooms_new(work, &rooms, tall, wide, D, prec));
  l.rooms = rooms;
  return all_tiles(&l);
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

typedef struct {
  double *diagonal;
  const model *m;
  const points *x;
} diagonal_loop;

static void fill_diagonal(void *of, ptrdiff_t first, ptrdiff_t end) {
  const diagonal_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    l->diagonal[i] = 0; /* the gap of a point to itself */
    kernel_row(&l->diagonal[i], l->m, l->x, i, l->x, i, 1);
  }
}

static ep_status diagonal_of(ep_work *work, double *diagonal, const model *m, const ep_mat *X) {
  points x;
  long bad = 0;
  EP_TRY(points_new(work, &x, m, X, NULL));
  EP_TRY(layers_new(work, &x, &x, m, (double)X->rows, EP_DOUBLE));
  ep_crew_loop(X->rows, 64, X->rows * X->cols > WORTH_THREADS, fill_diagonal,
               &(diagonal_loop){diagonal, m, &x});
  for (ptrdiff_t i = 0; i < X->rows; i++) bad += !isfinite(diagonal[i]);
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
  for (ptrdiff_t i = 0; i < X->rows; i++) out->size[i] = row_size(X, i);
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
  ep_release(r->size);
  ep_release(r->diagonal);
  *r = (ep_analytic_ready){0};
}
