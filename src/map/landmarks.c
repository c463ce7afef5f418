/* A kernel of infinite width seen from landmarks X_L (Nystrom): with kappa(X_L, X_L) = LL',
 *
 *   psi(x) = L^{-1} kappa(X_L, x),   psi(x)'psi(y) = kappa(x, X_L) kappa(X_L, X_L)^{-1} kappa(X_L, y)
 *
 * which is kappa(x, y) for x among the landmarks, and falls short of kappa(x, x) by what they do not explain. */
#include "map/map.h"

#include <eigenpair/random.h>

typedef struct {
  ep_map head;
  ep_analytic kernel;
  ep_mat X;                /* (r, D), owned */
  ep_mat L;                /* (r, r) lower triangular, double, owned */
  ep_analytic_ready ready; /* X, for every block of points that it meets */
} landmarks;

static const landmarks *cast(const ep_map *map) { return (const void *)map; }

static ep_status choose(ep_work *work, landmarks *out, const ep_analytic *kernel, const ep_mat *X,
                        ep_psi psi) {
  ep_mat K;
  ptrdiff_t *pivot, rank;
  out->kernel = *kernel;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, X->rows, X->rows));
  EP_TRY(ep_work_get(work, &pivot, X->rows, sizeof *pivot));
  EP_TRY(ep_kappa(&K, kernel, psi, X, NULL));
  EP_TRY(ep_mat_cholesky_pivoted(&K, pivot, &rank, 0));
  EP_CHECK(rank > 0, EP_ERR_INPUT, "all landmarks are zero");
  EP_TRY(ep_mat_new(&out->X, X->prec, rank, X->cols));
  EP_TRY(ep_mat_new(&out->L, EP_DOUBLE, rank, rank));
  const ep_mat top = ep_mat_rows(&K, 0, rank), L = ep_mat_cols(&top, 0, rank);
  ep_mat_copy(&out->L, &L);
  for (ptrdiff_t i = 0; i < rank; i++) {
    const ep_mat to = ep_mat_rows(&out->X, i, 1), from = ep_mat_rows(X, pivot[i], 1);
    ep_mat_copy(&to, &from);
  }
  return ep_kappa_ready_new(&out->ready, kernel, &out->X);
}

ep_status ep_landmarks_new(ep_map **out, const ep_analytic *kernel, const ep_mat *X, ep_psi psi) {
  ep_work work = {0};
  EP_TRY(ep_map_new(out, sizeof(landmarks), &ep_map_landmarks, X->cols, 0, psi));
  landmarks *l = (void *)*out;
  const ep_status st = choose(&work, l, kernel, X, psi);
  l->head.count = l->X.rows;
  ep_work_free(&work);
  if (st) ep_map_free(*out), *out = NULL;
  return st;
}

/* some points, drawn without repetition */
static ep_status draw(ep_work *work, ep_mat *X, const ep_map_plan *plan) {
  const ep_mat *all = &plan->points->X; /* its shape */
  const ptrdiff_t p = ep_points_drawn(plan->points), asked = plan->landmarks;
  const ptrdiff_t count = asked > 0 && asked < p ? asked : all->rows;
  ptrdiff_t *order;
  ep_random r = ep_random_new(plan->seed, EP_STREAM_LANDMARK, 0);
  EP_TRY(ep_work_get(work, &order, count, sizeof *order));
  EP_TRY(ep_work_mat(work, X, all->prec, count, all->cols));
  if (count == all->rows) return ep_points_rows(X, plan->points, NULL, 0);
  ep_random_some(&r, order, count, p);
  for (ptrdiff_t i = 0; i < count; i++) order[i] = ep_points_place(plan->points, order[i]);
  return ep_points_rows(X, plan->points, order, 0);
}

ep_status ep_landmarks_draw(ep_map **out, const ep_map_plan *plan) {
  ep_work work = {0};
  ep_mat X;
  *out = NULL;
  ep_status st = draw(&work, &X, plan);
  if (!st) st = ep_landmarks_new(out, plan->kernel, &X, plan->psi);
  ep_work_free(&work);
  return st;
}

static ep_status rows(const ep_mat *Psi, const ep_map *map, const ep_mat *X) {
  const landmarks *l = cast(map);
  ep_mat K;
  EP_TRY(ep_mat_new(&K, EP_DOUBLE, X->rows, l->X.rows));
  const ep_status st = ep_kappa_ready(&K, &l->kernel, map->psi, X, &l->X, &l->ready);
  if (!st) {
    ep_mat_solve_rows(&K, &l->L);
    ep_mat_copy(Psi, &K);
  }
  ep_mat_free(&K);
  return st;
}

static double flops(const ep_map *map) {
  const double r = (double)map->count;
  return r * (2 * (double)map->inputs + 60 * cast(map)->kernel.depth + r);
}

static double scratch(const ep_map *map, ep_precision prec) {
  (void)prec;
  return sizeof(double) * (double)map->count;
}

/* In a model: sections of kappa at the landmarks, Y = L'^{-1} W. */
static ep_status keep(ep_term *out, ep_map *map, const ep_mat *W) {
  landmarks *l = (void *)map;
  *out = (ep_term){.outputs = W->cols};
  ep_status st = ep_mat_new(&out->C, EP_DOUBLE, W->rows, W->cols);
  if (!st) {
    ep_mat_copy(&out->C, W);
    ep_mat_solve_triangular(&out->C, &l->L, EP_T);
    st = ep_sections_new(&out->map, &ep_map_kappa, &l->kernel, map->psi, &l->X, false);
  }
  ep_map_free(map);
  return st;
}

/* ---- files of sums: the landmarks and their factor; coefficients are still to come */

static ep_status write(ep_npz *file, json_t *config, const ep_term *term) {
  (void)config;
  EP_TRY(ep_npz_add_matrix(file, "X", &cast(term->map)->X, false));
  return ep_npz_add_matrix(file, "L", &cast(term->map)->L, false);
}

static ep_status read(ep_term *out, const ep_term_source *from) {
  ep_term_source exact = *from;
  EP_TRY(ep_map_new(&out->map, sizeof(landmarks), &ep_map_landmarks, 0, 0, from->psi));
  landmarks *l = (void *)out->map;
  exact.prec = EP_DOUBLE;
  EP_TRY(ep_term_matrix(&l->X, from, "X"));
  EP_TRY(ep_term_matrix(&l->L, &exact, "L"));
  EP_CHECK(l->L.rows == l->X.rows && l->L.cols == l->X.rows && l->X.rows > 0, EP_ERR_SHAPE,
           "%s: X and L do not fit together", from->path);
  for (ptrdiff_t i = 0; i < l->L.rows; i++)
    EP_CHECK(*ep_d(&l->L, i, i) > 0, EP_ERR_INPUT, "%s: L is no factor", from->path);
  l->kernel = from->kernel;
  l->kernel.input_scale = ep_term_input_scale(from, l->X.cols);
  l->head.inputs = l->X.cols;
  l->head.count = out->outputs = l->X.rows;
  return ep_kappa_ready_new(&l->ready, &l->kernel, &l->X);
}

static void release(ep_map *map) {
  landmarks *l = (void *)map;
  ep_mat_free(&l->X);
  ep_mat_free(&l->L);
  ep_analytic_ready_free(&l->ready);
}

const ep_map_kind ep_map_landmarks = {.name = "landmarks",
                                      .make = ep_landmarks_draw,
                                      .rows = rows,
                                      .flops = flops,
                                      .scratch = scratch,
                                      .keep = keep,
                                      .write = write,
                                      .read = read,
                                      .free = release};
