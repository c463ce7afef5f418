#include "core/crew.h"
#include "objective/gauss.h"

#include <eigenpair/array.h>
#include <eigenpair/covariance.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *ep_alpha_name(int i) {
  static const char *const names[] = {"uniform", "gaussian", "infonce", "triplet", "given", NULL};
  return names[i];
}

/* ---- reading */

static ep_status parse(ep_alpha *out, const char *text) {
  int kind = 0;
  const char *parameters;
  EP_TRY(ep_options_name(&kind, &parameters, "weights", text, ep_alpha_name));
  *out = (ep_alpha){.kind = (ep_alpha_kind)kind, .tau = kind == EP_ALPHA_TRIPLET ? 1 : 0.5};
  if (!parameters) return EP_OK;
  EP_CHECK(kind != EP_ALPHA_UNIFORM && kind != EP_ALPHA_GIVEN, EP_ERR_ARG,
           "weights %s take no parameter", ep_alpha_name(kind));
  char *end;
  out->tau = strtod(parameters, &end);
  bool read = end != parameters;
  if (read && kind == EP_ALPHA_INFONCE && *end == ',') {
    const char *second = end + 1;
    out->epsilon = strtod(second, &end);
    read = end != second;
  }
  EP_CHECK(read && !*end && isfinite(out->tau) && isfinite(out->epsilon), EP_ERR_ARG,
           "weights '%s': what follows the colon is not a number", text);
  EP_CHECK(kind == EP_ALPHA_TRIPLET || (out->tau >= 1e-12 && out->tau <= 1e12), EP_ERR_ARG,
           "weights '%s': tau is a number from 1e-12 to 1e12", text);
  EP_CHECK(out->epsilon >= 0, EP_ERR_ARG, "weights '%s': epsilon is negative", text);
  return EP_OK;
}

static ep_status read_matrix(ep_mat *out, const char *path) {
  ep_array a;
  EP_TRY(ep_array_read(&a, path));
  ep_status st = EP_OK;
  if (a.ndim != 2 || a.shape[0] != a.shape[1])
    st = EP_FAIL(EP_ERR_SHAPE, "%s: weights of pairs are a square matrix", path);
  else st = ep_array_to_matrix(out, &a, NULL, a.shape[0], 1, EP_DOUBLE, path);
  ep_array_free(&a);
  return st;
}

ep_status ep_alpha_load(ep_alpha *out, const char *weights, const char *path) {
  EP_TRY(parse(out, weights));
  EP_CHECK((out->kind == EP_ALPHA_GIVEN) == (path && *path), EP_ERR_ARG,
           "--weights given and --alpha FILE go together");
  return out->kind == EP_ALPHA_GIVEN ? read_matrix(&out->given, path) : EP_OK;
}

void ep_alpha_free(ep_alpha *alpha) {
  ep_mat_free(&alpha->given);
  ep_mat_free(&alpha->mass);
}

bool ep_alpha_is_plain(const ep_alpha *alpha) {
  return alpha->kind == EP_ALPHA_UNIFORM && !alpha->mass.data;
}

bool ep_alpha_of_views(const ep_alpha *alpha) {
  return alpha->kind == EP_ALPHA_INFONCE || alpha->kind == EP_ALPHA_TRIPLET;
}

ep_status ep_alpha_check(const ep_alpha *alpha, ptrdiff_t points) {
  EP_CHECK(points >= 2, EP_ERR_INPUT, "a contrastive covariance needs at least two points");
  EP_CHECK(alpha->kind != EP_ALPHA_GIVEN || alpha->given.rows == points, EP_ERR_SHAPE,
           "weights given for %td points, but there are %td", alpha->given.rows, points);
  EP_CHECK(!alpha->mass.data || alpha->mass.cols == points, EP_ERR_SHAPE,
           "masses of %td points, but there are %td", alpha->mass.cols, points);
  return EP_OK;
}

/* ---- one row of alpha, from the definition */

/* |f_i - f'_i|^2 / 2 */
static double twin_distance(const ep_mat *F, const ep_mat *F2, ptrdiff_t i) {
  double sum = 0;
  if (!F2) return 0;
  for (ptrdiff_t z = 0; z < F->cols; z++) {
    const double t = *ep_d(F, i, z) - *ep_d(F2, i, z);
    sum += t * t;
  }
  return sum / 2;
}

/* d_j = |f_i - f_j|^2 / 2 for all j */
static void distances(double *d, const ep_mat *F, ptrdiff_t i) {
  const double *f = ep_d(F, i, 0);
  for (ptrdiff_t j = 0; j < F->rows; j++) {
    const double *g = ep_d(F, j, 0);
    double sum = 0;
    for (ptrdiff_t z = 0; z < F->cols; z++) sum += (f[z] - g[z]) * (f[z] - g[z]);
    d[j] = sum / 2;
  }
}

/* the same with masses: e^{-d_j/tau} / sum_k m_k e^{-d_k/tau}; d_i = 0 is the least */
static void softmax_of_masses(double *d, const ep_alpha *alpha, ptrdiff_t n) {
  double sum = 0;
  for (ptrdiff_t j = 0; j < n; j++) {
    d[j] = exp(-d[j] / alpha->tau);
    sum += *ep_d(&alpha->mass, 0, j) * d[j];
  }
  for (ptrdiff_t j = 0; j < n; j++) d[j] /= sum;
}

/* softmax of -d/tau over j != i, with epsilon times the twin's term in the denominator; the largest exponent is
 * taken out */
static void softmax_row(double *d, const ep_alpha *alpha, double twin, ptrdiff_t n, ptrdiff_t i) {
  if (alpha->mass.data) {
    softmax_of_masses(d, alpha, n);
    return;
  }
  double least = alpha->epsilon > 0 ? twin : INFINITY;
  for (ptrdiff_t j = 0; j < n; j++)
    if (j != i) least = fmin(least, d[j]);
  double sum = alpha->epsilon > 0 ? alpha->epsilon * exp((least - twin) / alpha->tau) : 0;
  for (ptrdiff_t j = 0; j < n; j++) {
    d[j] = j == i ? 0 : exp((least - d[j]) / alpha->tau);
    sum += d[j];
  }
  for (ptrdiff_t j = 0; j < n; j++) d[j] /= sum;
}

static void row_of_points(double *out, const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2,
                          ptrdiff_t i) {
  const ptrdiff_t n = F->rows;
  if (alpha->kind == EP_ALPHA_UNIFORM) {
    for (ptrdiff_t j = 0; j < n; j++) out[j] = 1;
    return;
  }
  if (alpha->kind == EP_ALPHA_GIVEN) {
    memcpy(out, ep_d(&alpha->given, i, 0), (size_t)n * sizeof *out);
    return;
  }
  distances(out, F, i);
  const double twin = ep_alpha_of_views(alpha) ? twin_distance(F, F2, i) : 0;
  if (alpha->kind == EP_ALPHA_INFONCE) softmax_row(out, alpha, twin, n, i);
  else if (alpha->kind == EP_ALPHA_GAUSSIAN)
    for (ptrdiff_t j = 0; j < n; j++) out[j] = exp(-out[j] / alpha->tau);
  else
    for (ptrdiff_t j = 0; j < n; j++) out[j] = j != i && twin - out[j] + alpha->tau > 0;
}

void ep_alpha_row(double *out, const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2,
                  ptrdiff_t i) {
  row_of_points(out, alpha, F, F2, i);
  if (!alpha->mass.data) return;
  const double *m = alpha->mass.data;
  for (ptrdiff_t j = 0; j < F->rows; j++) out[j] *= m[i] * m[j];
}

/* ---- what a row needs of alpha B, alpha'B and the sums, gathered by one of three ways */

typedef struct {
  const ep_alpha *alpha;
  const ep_mat *F, *F2, *B;
  double *r, *c; /* (N) row and column sums */
  double *f;     /* (N) features on the line, side by side */
  ep_mat S;      /* (N, k) (alpha + alpha') B */
} sums;

/* alpha = m m', m the masses or 1: S = 2 m (m'B) */
static ep_status uniform(ep_work *work, sums *s) {
  const ptrdiff_t n = s->B->rows, k = s->B->cols;
  const double *mass = s->alpha->mass.data;
  double *total, all = 0;
  EP_TRY(ep_work_get(work, &total, k, sizeof *total));
  for (ptrdiff_t i = 0; i < n; i++) {
    const double m = mass ? mass[i] : 1;
    all += m;
    for (ptrdiff_t j = 0; j < k; j++) total[j] += m * *ep_d(s->B, i, j);
  }
  for (ptrdiff_t i = 0; i < n; i++) {
    const double m = mass ? mass[i] : 1;
    s->r[i] = s->c[i] = m * all;
    for (ptrdiff_t j = 0; j < k; j++) *ep_d(&s->S, i, j) = 2 * m * total[j];
  }
  return EP_OK;
}

/* V = [q, q B] with a number q_i a row, T = K V */
static ep_status line_sums(const ep_mat *T, const ep_mat *V, const sums *s, const double *q) {
  const ptrdiff_t n = s->B->rows;
  for (ptrdiff_t i = 0; i < n; i++) {
    const double scale = q ? q[i] : 1;
    *ep_d(V, i, 0) = scale;
    for (ptrdiff_t j = 0; j < s->B->cols; j++) *ep_d(V, i, j + 1) = scale * *ep_d(s->B, i, j);
  }
  return ep_gauss_sums(T, s->f, n, V, s->alpha->tau);
}

/* gaussian on the line: alpha = K */
static ep_status gaussian_line(sums *s, const ep_mat *T, const ep_mat *V) {
  EP_TRY(line_sums(T, V, s, NULL));
  for (ptrdiff_t i = 0; i < T->rows; i++) {
    s->r[i] = s->c[i] = *ep_d(T, i, 0);
    for (ptrdiff_t j = 0; j < s->S.cols; j++) *ep_d(&s->S, i, j) = 2 * *ep_d(T, i, j + 1);
  }
  return EP_OK;
}

/* row i of alpha by the definition, added to all sums; a: scratch (N) */
static void add_direct_row(sums *s, double *a, ptrdiff_t i) {
  const ptrdiff_t n = s->B->rows, k = s->B->cols;
  ep_alpha_row(a, s->alpha, s->F, s->F2, i);
  double *si = ep_d(&s->S, i, 0), total = 0;
  const double *bi = ep_d(s->B, i, 0);
  for (ptrdiff_t j = 0; j < n; j++) {
    total += a[j];
    s->c[j] += a[j];
    for (ptrdiff_t z = 0; z < k; z++) si[z] += a[j] * *ep_d(s->B, j, z);
    for (ptrdiff_t z = 0; z < k; z++) *ep_d(&s->S, j, z) += a[j] * bi[z];
  }
  s->r[i] = total;
}

/* infonce on the line: alpha = D^{-1}(K - I), D_i = (K 1)_i - 1 + eps e^{-d_i/tau}. A point so far from all others that
 * K 1 - 1 loses digits gets its row by the definition. */
static ep_status infonce_line(ep_work *work, sums *s, const ep_mat *T, const ep_mat *V) {
  const double tau = s->alpha->tau, enough = 0.01;
  const ptrdiff_t n = s->B->rows, k = s->B->cols;
  double *q, *a;
  EP_TRY(ep_work_get(work, &q, n, sizeof *q)); /* 1 / D_i; 0: by the definition */
  EP_TRY(ep_work_get(work, &a, n, sizeof *a));
  EP_TRY(line_sums(T, V, s, NULL));
  for (ptrdiff_t i = 0; i < n; i++) {
    const double others = *ep_d(T, i, 0) - 1;
    if (others < enough) continue;
    q[i] = 1 / (others + s->alpha->epsilon * exp(-twin_distance(s->F, s->F2, i) / tau));
    s->r[i] = others * q[i];
    for (ptrdiff_t j = 0; j < k; j++) /* (alpha B)_i */
      *ep_d(&s->S, i, j) = q[i] * (*ep_d(T, i, j + 1) - *ep_d(s->B, i, j));
  }
  EP_TRY(line_sums(T, V, s, q));
  for (ptrdiff_t i = 0; i < n; i++) {
    s->c[i] = *ep_d(T, i, 0) - q[i];
    for (ptrdiff_t j = 0; j < k; j++) /* (alpha'B)_i */
      *ep_d(&s->S, i, j) += *ep_d(T, i, j + 1) - q[i] * *ep_d(s->B, i, j);
  }
  for (ptrdiff_t i = 0; i < n; i++)
    if (q[i] == 0) add_direct_row(s, a, i);
  return EP_OK;
}

static ep_status on_the_line(ep_work *work, sums *s) {
  ep_mat T, V;
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, s->B->rows, s->B->cols + 1));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, s->B->rows, s->B->cols + 1));
  EP_TRY(ep_work_get(work, &s->f, s->B->rows, sizeof *s->f));
  for (ptrdiff_t i = 0; i < s->B->rows; i++) s->f[i] = *ep_d(s->F, i, 0);
  return s->alpha->kind == EP_ALPHA_GAUSSIAN ? gaussian_line(s, &T, &V)
                                             : infonce_line(work, s, &T, &V);
}

/* rows of alpha at a time: 8 MiB of them */
static ptrdiff_t block_rows(ptrdiff_t n) {
  const ptrdiff_t rows = (ptrdiff_t)(1 << 20) / n;
  return rows < 1 ? 1 : rows < 256 ? rows : 256;
}

typedef struct {
  const sums *s;
  const ep_mat *a;
  ptrdiff_t i0;
} alpha_loop;

static void alpha_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const alpha_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++)
    ep_alpha_row(ep_d(l->a, i, 0), l->s->alpha, l->s->F, l->s->F2, l->i0 + i);
}

/* any weights: blocks of rows of alpha, S_rows += alpha_rows B, S += alpha_rows' B_rows */
static ep_status in_blocks(ep_work *work, sums *s) {
  const ptrdiff_t n = s->B->rows, most = block_rows(n);
  ep_mat A;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, most < n ? most : n, n));
  for (ptrdiff_t i0 = 0; i0 < n; i0 += most) {
    const ptrdiff_t rows = n - i0 < most ? n - i0 : most;
    const ep_mat a = ep_mat_rows(&A, 0, rows), b = ep_mat_rows(s->B, i0, rows),
                 to = ep_mat_rows(&s->S, i0, rows);
    ep_crew_loop(rows, 4, true, alpha_rows, &(alpha_loop){s, &a, i0});
    for (ptrdiff_t i = 0; i < rows; i++)
      for (ptrdiff_t j = 0; j < n; j++) s->r[i0 + i] += *ep_d(&a, i, j), s->c[j] += *ep_d(&a, i, j);
    ep_mat_mul(&to, 1, &a, EP_N, s->B, EP_N, 1);
    ep_mat_mul(&s->S, 1, &a, EP_T, &b, EP_N, 1);
  }
  return EP_OK;
}

/* ---- L B */

static bool is_line(const ep_alpha *alpha, ptrdiff_t m) {
  return m == 1 && !alpha->mass.data &&
         (alpha->kind == EP_ALPHA_GAUSSIAN || alpha->kind == EP_ALPHA_INFONCE);
}

double ep_alpha_memory(const ep_alpha *alpha, ptrdiff_t points, ptrdiff_t m, ptrdiff_t k) {
  const double n = (double)points, columns = (double)k;
  double numbers = 2 * n + columns;
  if (is_line(alpha, m)) numbers += 8 * n + (4 * (n + 16) + 24 * (n + 1)) * (columns + 1);
  else if (alpha->kind != EP_ALPHA_UNIFORM) numbers += (double)block_rows(points) * n;
  return numbers * sizeof(double) + 4096;
}

static ep_status apply(ep_work *work, const ep_mat *LB, double *r, double *c, sums *s) {
  const ptrdiff_t n = s->B->rows, k = s->B->cols;
  s->S = *LB;
  ep_mat_fill(LB, 0);
  EP_TRY(ep_work_get(work, &s->r, n, sizeof *s->r));
  EP_TRY(ep_work_get(work, &s->c, n, sizeof *s->c));
  if (s->alpha->kind == EP_ALPHA_UNIFORM) EP_TRY(uniform(work, s));
  else EP_TRY((is_line(s->alpha, s->F->cols) ? on_the_line : in_blocks)(work, s));
  /* L B = (D_r + D_c) B - (alpha + alpha') B */
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < k; j++)
      *ep_d(LB, i, j) = (s->r[i] + s->c[i]) * *ep_d(s->B, i, j) - *ep_d(LB, i, j);
  if (r) memcpy(r, s->r, (size_t)n * sizeof *r);
  if (c) memcpy(c, s->c, (size_t)n * sizeof *c);
  return EP_OK;
}

ep_status ep_alpha_apply(const ep_mat *LB, double *r, double *c, const ep_alpha *alpha,
                         const ep_mat *F, const ep_mat *F2, const ep_mat *B) {
  EP_CHECK(LB->rows == B->rows && LB->cols == B->cols && F->rows == B->rows, EP_ERR_SHAPE,
           "%td points, but features of %td", B->rows, F->rows);
  EP_TRY(ep_alpha_check(alpha, B->rows));
  ep_work work = {0};
  sums s = {.alpha = alpha, .F = F, .F2 = F2, .B = B};
  const ep_status st = apply(&work, LB, r, c, &s);
  ep_work_free(&work);
  return st;
}

/* ---- covariance and energy */

/* E = D_r (b - b') */
static void weighted_difference(const ep_mat *E, const double *r, const ep_mat *b,
                                const ep_mat *b2) {
  for (ptrdiff_t i = 0; i < b->rows; i++)
    for (ptrdiff_t j = 0; j < b->cols; j++)
      *ep_d(E, i, j) = r[i] * (*ep_d(b, i, j) - *ep_d(b2, i, j));
}

static ep_status covariance(ep_work *work, const ep_mat *C, const ep_alpha *alpha, const ep_mat *F,
                            const ep_mat *F2, const ep_mat *const a[2], const ep_mat *const b[2]) {
  const double n = (double)b[0]->rows, share = 1 / (2 * n * n);
  ep_mat T;
  double *r;
  EP_TRY(ep_work_mat(work, &T, EP_DOUBLE, b[0]->rows, b[0]->cols));
  EP_TRY(ep_work_get(work, &r, b[0]->rows, sizeof *r));
  EP_TRY(ep_alpha_apply(&T, r, NULL, alpha, F, F2, b[0]));
  ep_mat_mul(C, share, a[0], EP_T, &T, EP_N, 0);
  if (!b[1]) return EP_OK;
  weighted_difference(&T, r, b[0], b[1]);
  ep_mat_mul(C, -share, a[0], EP_T, &T, EP_N, 1);
  ep_mat_mul(C, share, a[1], EP_T, &T, EP_N, 1);
  return EP_OK;
}

ep_status ep_covariance(const ep_mat *C, const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2,
                        const ep_mat *a, const ep_mat *a2, const ep_mat *b, const ep_mat *b2) {
  EP_CHECK(a->rows == b->rows && C->rows == a->cols && C->cols == b->cols && !a2 == !b2,
           EP_ERR_SHAPE, "a covariance of %td and %td points", a->rows, b->rows);
  const ep_mat *const as[2] = {a, a2}, *const bs[2] = {b, b2};
  ep_work work = {0};
  const ep_status st = covariance(&work, C, alpha, F, F2, as, bs);
  ep_work_free(&work);
  return st;
}

static double inner(const ep_mat *A, const ep_mat *B) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++) sum += *ep_d(A, i, j) * *ep_d(B, i, j);
  return sum;
}

/* tr C = 1/(2N^2) [ <f, L f> - <f-f', D_r (f-f')> ]
 * d/df = 1/N^2 [ L f - D_r (f-f') ],   d/df' = 1/N^2 D_r (f-f') */
static ep_status energy_of(ep_work *work, double *energy, const ep_mat *dF, const ep_mat *dF2,
                           const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2) {
  const double n = (double)F->rows;
  ep_mat L, E;
  double *r;
  EP_TRY(ep_work_mat(work, &L, EP_DOUBLE, F->rows, F->cols));
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, F->rows, F->cols));
  EP_TRY(ep_work_get(work, &r, F->rows, sizeof *r));
  EP_TRY(ep_alpha_apply(&L, r, NULL, alpha, F, F2, F));
  if (F2) weighted_difference(&E, r, F, F2);
  *energy = (inner(F, &L) - inner(F, &E) + (F2 ? inner(F2, &E) : 0)) / (2 * n * n);
  if (dF) {
    ep_mat_fill(dF, 0);
    ep_mat_axpy(dF, 1 / (n * n), &L);
    ep_mat_axpy(dF, -1 / (n * n), &E);
  }
  if (dF2) {
    ep_mat_fill(dF2, 0);
    ep_mat_axpy(dF2, 1 / (n * n), &E);
  }
  return EP_OK;
}

ep_status ep_covariance_energy(double *energy, const ep_mat *dF, const ep_mat *dF2,
                               const ep_alpha *alpha, const ep_mat *F, const ep_mat *F2) {
  EP_CHECK(!F2 || (F2->rows == F->rows && F2->cols == F->cols), EP_ERR_SHAPE,
           "%td first views, but %td second ones", F->rows, F2->rows);
  ep_work work = {0};
  const ep_status st = energy_of(&work, energy, dF, dF2, alpha, F, F2);
  ep_work_free(&work);
  return st;
}
