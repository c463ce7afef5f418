/* Sections of a kernel of infinite width: psi(x) = K(x, X), C = Y (P x Z), so that f(x) = sum_p K(x, x_p) y_p. K is the
 * tangent kernel, the Gaussian-process kernel (of outputs at the start), or kappa, the latter as the similarity sees
 * it:
 *
 *   kappa(x, y) = L(x, y) / ((sqrt L(x, x) + delta) (sqrt L(y, y) + delta)),  L the NNGP kernel; dot: L itself */
#include "core/crew.h"
#include "core/threads.h"
#include "map/map.h"

#include <math.h>

/* ---- kappa */

typedef struct {
  const ep_mat *K;
  const double *x, *y;
  double delta;
} divide_loop;

static void divide_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const divide_loop *l = of;
  const ep_mat *K = l->K;
  const double *x = l->x, *y = l->y, delta = l->delta;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < K->cols; j++)
      *ep_d(K, i, j) /= (sqrt(x[i]) + delta) * (sqrt(y[j]) + delta);
}

static void divide(const ep_mat *K, const double *x, const double *y, double delta) {
  ep_crew_rows(K, divide_rows, &(divide_loop){K, x, y, delta});
}

static ep_status kappa(ep_work *work, const ep_mat *K, const ep_analytic *kernel, ep_psi psi,
                       const ep_mat *X, const ep_mat *Y, const ep_analytic_ready *r) {
  double *x, *y;
  EP_TRY(r ? ep_analytic_kernel_ready(K, kernel, EP_NNGP, X, r)
           : ep_analytic_kernel(NULL, K, kernel, EP_NNGP, X, Y));
  if (!psi.cosine) return EP_OK;
  EP_TRY(ep_work_get(work, &x, X->rows, sizeof *x));
  EP_TRY(ep_analytic_diagonal(NULL, x, kernel, EP_NNGP, X));
  y = r ? r->diagonal : x;
  if (Y) {
    EP_TRY(ep_work_get(work, &y, Y->rows, sizeof *y));
    EP_TRY(ep_analytic_diagonal(NULL, y, kernel, EP_NNGP, Y));
  }
  divide(K, x, y, psi.delta);
  return EP_OK;
}

ep_status ep_kappa(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                   const ep_mat *Y) {
  ep_work work = {0};
  const ep_status st = kappa(&work, K, kernel, psi, X, Y, NULL);
  ep_work_free(&work);
  return st;
}

ep_status ep_kappa_ready_new(ep_analytic_ready *out, const ep_analytic *kernel, const ep_mat *Y) {
  const double bytes = sizeof(double) * (double)Y->rows * (double)Y->cols;
  *out = (ep_analytic_ready){0};
  if (bytes > 0.1 * ep_run_room()) return EP_OK;
  const ep_status st = ep_analytic_ready_new(out, kernel, EP_NNGP, Y);
  return st == EP_ERR_NOMEM ? st : EP_OK;
}

ep_status ep_kappa_ready(const ep_mat *K, const ep_analytic *kernel, ep_psi psi, const ep_mat *X,
                         const ep_mat *Y, const ep_analytic_ready *r) {
  ep_work work = {0};
  const bool is = r->size;
  const ep_status st = kappa(&work, K, kernel, psi, X, is ? NULL : Y, is ? r : NULL);
  ep_work_free(&work);
  return st;
}

/* ---- the map */

typedef struct {
  ep_map head;
  ep_analytic kernel;
  ep_mat X; /* (P, D) */
  bool borrowed;
  ep_analytic_ready ready; /* kappa */
} sections;

static const sections *cast(const ep_map *map) { return (const void *)map; }

ep_status ep_sections_new(ep_map **out, const ep_map_kind *kind, const ep_analytic *kernel,
                          ep_psi psi, ep_mat *X, bool borrowed) {
  EP_TRY(ep_map_new(out, sizeof(sections), kind, X->cols, X->rows, psi));
  sections *s = (void *)*out;
  s->kernel = *kernel;
  s->X = *X;
  s->borrowed = borrowed;
  if (!borrowed) *X = (ep_mat){0};
  if (kind != &ep_map_kappa) return EP_OK;
  const ep_status st = ep_kappa_ready_new(&s->ready, kernel, &s->X);
  if (st) ep_map_free(*out), *out = NULL;
  return st;
}

const ep_mat *ep_sections_points(const ep_map *map) { return &cast(map)->X; }

/* K (n x P, double) */
static ep_status values(const ep_mat *K, const sections *s, const ep_mat *X) {
  if (s->head.kind == &ep_map_kappa)
    return ep_kappa_ready(K, &s->kernel, s->head.psi, X, &s->X, &s->ready);
  return ep_analytic_kernel(NULL, K, &s->kernel, s->head.kind == &ep_map_ntk ? EP_NTK : EP_NNGP, X,
                            &s->X);
}

/* in double: coefficients of nearby points are large and cancel */
static ep_status add(ep_work *work, const ep_mat *E, const ep_term *term, const ep_mat *X,
                     double memory) {
  enum { BLOCK = 256 };
  const sections *s = cast(term->map);
  const double row = 2 * (double)s->X.rows * sizeof(double), fit = memory / row;
  const ptrdiff_t block = fit > BLOCK ? BLOCK : fit > 1 ? (ptrdiff_t)fit : 1;
  ep_mat K, C, S;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, block, s->X.rows));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, term->C.rows, term->C.cols));
  EP_TRY(ep_work_mat(work, &S, EP_DOUBLE, block, term->C.cols));
  ep_mat_copy(&C, &term->C);
  for (ptrdiff_t i = 0; i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), e = ep_mat_rows(E, i, n), k = ep_mat_rows(&K, 0, n);
    const ep_mat sum = ep_mat_rows(&S, 0, n);
    EP_TRY(values(&k, s, &x));
    ep_mat_copy(&sum, &e);
    ep_mat_mul(&sum, 1, &k, EP_N, &C, EP_N, 1);
    ep_mat_copy(&e, &sum);
  }
  return EP_OK;
}

static ep_status apply(const ep_mat *E, const ep_term *term, const ep_mat *X, double memory) {
  ep_work work = {0};
  const ep_status st = add(&work, E, term, X, memory);
  ep_work_free(&work);
  return st;
}

/* ---- files: X, and Y or (of the Gaussian process) Y0 */

static const char *coefficients(const ep_map_kind *kind) {
  return kind == &ep_map_nngp ? "Y0" : "Y";
}

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  const sections *s = cast(term->map);
  (void)config;
  if (!s->borrowed) EP_TRY(ep_npz_add_matrix(file, "X", &s->X, false));
  return ep_npz_add_matrix(file, coefficients(s->head.kind), &term->C, false);
}

static ep_status read_as(ep_term *out, const ep_term_source *from, const ep_map_kind *kind) {
  const bool shared = from->first && (from->first->map->kind == &ep_map_ntk);
  ep_mat X = {0};
  if (shared) X = *ep_sections_points(from->first->map);
  else EP_TRY(ep_term_matrix(&X, from, "X"));
  const ep_net *net = from->first ? ep_term_net(from->first) : NULL;
  ep_analytic kernel = from->kernel;
  kernel.input_scale = ep_term_input_scale(from, X.cols);
  if (net) kernel.depth = net->shape.depth;
  const ep_status st = ep_sections_new(&out->map, kind, &kernel, from->psi, &X, shared);
  if (!shared) ep_mat_free(&X);
  EP_TRY(st);
  ep_term_source stored = *from;
  if (kind == &ep_map_kappa) stored.prec = EP_DOUBLE; /* as the closed form left them */
  EP_TRY(ep_term_matrix(&out->C, &stored, coefficients(kind)));
  EP_CHECK(out->C.rows == out->map->count, EP_ERR_SHAPE,
           "%s: X and Y have different numbers of rows", from->path);
  out->outputs = out->C.cols;
  return EP_OK;
}

static ep_status read_ntk(ep_term *out, const ep_term_source *from) {
  return read_as(out, from, &ep_map_ntk);
}
static ep_status read_nngp(ep_term *out, const ep_term_source *from) {
  return read_as(out, from, &ep_map_nngp);
}
static ep_status read_kappa(ep_term *out, const ep_term_source *from) {
  return read_as(out, from, &ep_map_kappa);
}

static void describe(char text[EP_DESCRIPTION], const ep_term *term) {
  const sections *s = cast(term->map);
  snprintf(text, EP_DESCRIPTION,
           "kernel   of infinite width, %d hidden layers of %s, seen from %td points, %td outputs",
           s->kernel.depth, ep_activation_label(&s->kernel.phi), s->X.rows, term->outputs);
}

static void release(ep_map *map) {
  sections *s = (void *)map;
  if (!s->borrowed) ep_mat_free(&s->X);
  ep_analytic_ready_free(&s->ready);
}

const ep_map_kind ep_map_ntk = {.name = "ntk",
                                .apply = apply,
                                .write = write,
                                .read = read_ntk,
                                .describe = describe,
                                .free = release};
const ep_map_kind ep_map_nngp = {.name = "nngp",
                                 .apply = apply,
                                 .write = write,
                                 .read = read_nngp,
                                 .describe = describe,
                                 .free = release};
const ep_map_kind ep_map_kappa = {.name = "kappa",
                                  .kappa = true,
                                  .similarity = true,
                                  .apply = apply,
                                  .write = write,
                                  .read = read_kappa,
                                  .describe = describe,
                                  .free = release};
