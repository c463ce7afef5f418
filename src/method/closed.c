/* Top eigenpairs of C = Psi'S Psi = 1/N sum_n psi_n t_n', symmetrised, t_n = sum_q a_q psi_nq (theory: section 6).
 *
 *   primal  C itself, summed over blocks of anchors; then its top eigenpairs
 *   free    block Krylov on w -> Psi'(S (Psi w)), nothing but rows of Psi is stored
 *   dual    G = Psi Psi' = RR' by pivoted Cholesky, R'SR z = lambda z, y = S R z / lambda, w = Psi'y
 *
 * All three give the same answer; the cost model below chooses. */
#include "core/crew.h"
#include "core/threads.h"
#include "method/sum.h"

#include "core/mem.h"

#include <math.h>
#include <string.h>

/* Single-precision products carry no more than this relative to the largest eigenvalue. */
ep_eigen_config ep_closed_eigen(const ep_setup *s, ep_precision prec) {
  ep_eigen_config config = s->eigen;
  if (prec == EP_SINGLE && config.eigen_tolerance < 3e-6) config.eigen_tolerance = 3e-6;
  return config;
}

/* ---- primal */

static void divide_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_sum *sum = of;
  const ep_mat *C = &sum->C;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < C->cols; j++) *ep_d(C, i, j) /= sum->anchors;
}

ep_status ep_primal_solve(const ep_mat *W, double *lambda, ep_eigen_info *info, const ep_sum *sum,
                          const ep_setup *s) {
  const ep_eigen_config config = ep_closed_eigen(s, sum->prec);
  const ep_mat *C = &sum->C;
  ep_sum own = *sum;
  ep_crew_rows(C, divide_rows, &own);
  ep_mat_symmetrise(C);
  return ep_eigen_matrix(W, lambda, info, C, &config, (uint64_t)s->run.seed);
}

static ep_status solve_primal(const ep_mat *W, double *lambda, ep_eigen_info *info,
                              const ep_map *map, const ep_points *points, const ep_setup *s) {
  ep_sum sum;
  EP_CHECK(!points->pairs.all_others, EP_ERR_ARG,
           "--path primal takes listed pairs; for --pairs all use free or dual");
  EP_TRY(ep_sum_new(&sum, map->count, false));
  ep_status st = ep_sum_pca(&sum, map, points, ep_run_memory_left(&s->run));
  if (!st) st = ep_primal_solve(W, lambda, info, &sum, s);
  ep_sum_free(&sum);
  return st;
}

/* ---- free */

typedef struct {
  ep_psi_rows rows;
  ep_pair_matrix S;
  ep_mat X, T, U, Y; /* (M, b), (P, b), (P, b), (M, b) in the run's precision */
  double products;
} free_operator;

/* Y = Psi'(S (Psi X)); a rank has some rows of Psi */
static ep_status apply_free(const ep_mat *Y, const ep_mat *X, void *user) {
  free_operator *f = user;
  const ptrdiff_t b = X->cols, p = f->rows.points->X.rows, m = X->rows;
  const ep_mat x = ep_mat_view(f->X.prec, m, b, f->X.data),
               y = ep_mat_view(f->X.prec, m, b, f->Y.data);
  const ep_mat T = ep_mat_view(f->X.prec, p, b, f->T.data),
               U = ep_mat_view(f->X.prec, p, b, f->U.data);
  ep_mat psi;
  ep_mat_copy(&x, X);
  for (ptrdiff_t i = 0; i < f->rows.rows; i += f->rows.block) {
    EP_TRY(ep_run_step("products", f->products, 0));
    EP_TRY(ep_psi_rows_get(&psi, &f->rows, i));
    const ep_mat t = ep_mat_rows(&T, f->rows.first + i, psi.rows);
    ep_mat_mul(&t, 1, &psi, EP_N, &x, EP_N, 0);
  }
  EP_TRY(ep_comm_gather(&T));
  ep_pair_matrix_mul(&U, &f->S, &T);
  ep_mat_fill(&y, 0);
  for (ptrdiff_t i = 0; i < f->rows.rows; i += f->rows.block) {
    EP_TRY(ep_psi_rows_get(&psi, &f->rows, i));
    const ep_mat u = ep_mat_rows(&U, f->rows.first + i, psi.rows);
    ep_mat_mul(&y, 1, &psi, EP_T, &u, EP_N, i > 0);
  }
  EP_TRY(ep_comm_sum(&y));
  f->products += (double)b;
  ep_mat_copy(Y, &y);
  return EP_OK;
}

/* Numbers of the Krylov basis, its image and scratch. */
static double krylov_numbers(const ep_setup *s, double order, double b) {
  return order * b * (2 * (double)s->eigen.krylov + 5);
}

static ep_status open_free(free_operator *f, ep_work *work, const ep_map *map,
                           const ep_points *points, ptrdiff_t b, const ep_setup *s) {
  const ep_precision prec = points->X.prec;
  const ptrdiff_t p = points->X.rows;
  EP_TRY(ep_pair_matrix_new(&f->S, &points->pairs));
  EP_TRY(ep_work_mat(work, &f->X, prec, map->count, b));
  EP_TRY(ep_work_mat(work, &f->Y, prec, map->count, b));
  EP_TRY(ep_work_mat(work, &f->T, prec, p, b));
  EP_TRY(ep_work_mat(work, &f->U, prec, p, b));
  const double basis = sizeof(double) * krylov_numbers(s, (double)map->count, (double)b);
  return ep_psi_rows_new(&f->rows, work, map, points, ep_comm_share(p), true,
                         ep_run_memory_left(&s->run) - basis);
}

static ep_status solve_free(const ep_mat *W, double *lambda, ep_eigen_info *info, const ep_map *map,
                            const ep_points *points, const ep_setup *s) {
  const ep_eigen_config config = ep_closed_eigen(s, points->X.prec);
  const ptrdiff_t b = ep_eigen_block(&s->eigen, W->cols, map->count);
  free_operator f = {0};
  ep_work work = {0};
  ep_status st = open_free(&f, &work, map, points, b, s);
  if (!st) st = ep_eigen_largest(W, lambda, info, apply_free, &f, &config, (uint64_t)s->run.seed);
  ep_pair_matrix_free(&f.S);
  ep_work_free(&work);
  return st;
}

/* ---- dual */

typedef struct {
  ep_mat R;         /* (P, r): row i belongs to point pivot[i] */
  ptrdiff_t *pivot; /* (P) */
  ep_pair_matrix S;
  ep_mat T, U; /* (P, b) double */
} dual_operator;

typedef struct {
  const ep_mat *to, *from;
  const ptrdiff_t *pivot;
  bool back;
} permute_loop;

static void permute_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const permute_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat a = ep_mat_rows(l->to, l->back ? i : l->pivot[i], 1);
    const ep_mat b = ep_mat_rows(l->from, l->back ? l->pivot[i] : i, 1);
    ep_mat_copy(&a, &b);
  }
}

static void permute(const ep_mat *to, const ep_mat *from, const ptrdiff_t *pivot, bool back) {
  ep_crew_rows(from, permute_rows, &(permute_loop){to, from, pivot, back});
}

/* T = S R X, rows by point */
static void apply_pairs(const ep_mat *T, dual_operator *d, const ep_mat *X) {
  const ep_mat U = ep_mat_view(EP_DOUBLE, T->rows, T->cols, d->U.data);
  ep_mat_mul(T, 1, &d->R, EP_N, X, EP_N, 0);
  permute(&U, T, d->pivot, false);
  ep_pair_matrix_mul(T, &d->S, &U);
}

/* Y = R'S R X */
static ep_status apply_dual(const ep_mat *Y, const ep_mat *X, void *user) {
  dual_operator *d = user;
  const ptrdiff_t p = d->R.rows, b = X->cols;
  const ep_mat T = ep_mat_view(EP_DOUBLE, p, b, d->T.data);
  const ep_mat U = ep_mat_view(EP_DOUBLE, p, b, d->U.data);
  EP_TRY(ep_run_step("products", 0, 0));
  apply_pairs(&T, d, X);
  permute(&U, &T, d->pivot, true);
  ep_mat_mul(Y, 1, &d->R, EP_T, &U, EP_N, 0);
  return EP_OK;
}

static ep_status dual(ep_work *work, dual_operator *d, const ep_mat *Y, double *lambda,
                      ep_eigen_info *info, ptrdiff_t *positive, const ep_mat *G,
                      const ep_pairs *pairs, double least, const ep_setup *s) {
  const ptrdiff_t p = G->rows, z = Y->cols;
  ptrdiff_t rank;
  ep_mat Z;
  *positive = 0;
  EP_TRY(ep_pair_matrix_new(&d->S, pairs));
  EP_TRY(ep_work_get(work, &d->pivot, p, sizeof *d->pivot));
  EP_TRY(ep_mat_cholesky_pivoted(G, d->pivot, &rank, least > 1e-9 ? least : 0));
  if (rank < z) return EP_OK;
  d->R = ep_mat_cols(G, 0, rank);
  const ptrdiff_t b = ep_eigen_block(&s->eigen, z, rank);
  EP_TRY(ep_work_mat(work, &d->T, EP_DOUBLE, p, b));
  EP_TRY(ep_work_mat(work, &d->U, EP_DOUBLE, p, b));
  EP_TRY(ep_work_mat(work, &Z, EP_DOUBLE, rank, z));
  EP_TRY(ep_eigen_largest(&Z, lambda, info, apply_dual, d, &s->eigen, (uint64_t)s->run.seed));
  while (*positive < z && lambda[*positive] > least * fabs(lambda[0])) ++*positive;
  if (*positive < z) return EP_OK;
  const ep_mat T = ep_mat_view(EP_DOUBLE, p, z, d->T.data);
  apply_pairs(&T, d, &Z); /* y = S R z / lambda */
  for (ptrdiff_t i = 0; i < p; i++)
    for (ptrdiff_t k = 0; k < z; k++) *ep_d(Y, i, k) = *ep_d(&T, i, k) / lambda[k];
  return EP_OK;
}

ep_status ep_closed_dual(const ep_mat *Y, double *lambda, ep_eigen_info *info, ptrdiff_t *positive,
                         const ep_mat *G, const ep_pairs *pairs, double least,
                         const ep_setup *setup) {
  ep_work work = {0};
  dual_operator d = {0};
  const ep_status st = dual(&work, &d, Y, lambda, info, positive, G, pairs, least, setup);
  ep_pair_matrix_free(&d.S);
  ep_work_free(&work);
  return st;
}

/* Psi (P x M), all of it */
static ep_status all_rows(ep_mat *Psi, ep_psi_rows *rows) {
  ep_mat part;
  for (ptrdiff_t i = 0; i < rows->points->X.rows; i += rows->block) {
    EP_TRY(ep_run_step("features", (double)i, (double)rows->points->X.rows));
    EP_TRY(ep_psi_rows_get(&part, rows, i));
  }
  *Psi = rows->kept;
  return EP_OK;
}

/* W = Psi'Y, orthonormal to the last digit */
static ep_status to_primal(const ep_mat *W, ep_work *work, const ep_mat *Psi, const ep_mat *Y) {
  ep_mat y, w, R;
  EP_TRY(ep_work_mat(work, &y, Psi->prec, Y->rows, Y->cols));
  EP_TRY(ep_work_mat(work, &w, Psi->prec, W->rows, W->cols));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, W->cols, W->cols));
  ep_mat_copy(&y, Y);
  ep_mat_mul(&w, 1, Psi, EP_T, &y, EP_N, 0);
  ep_mat_copy(W, &w);
  return ep_mat_qr(W, &R);
}

static ep_status dual_of_rows(ep_work *work, const ep_mat *W, double *lambda, ep_eigen_info *info,
                              ptrdiff_t *positive, const ep_map *map, const ep_points *points,
                              const ep_setup *s) {
  const ptrdiff_t p = points->X.rows;
  const ep_precision prec = points->X.prec;
  ep_psi_rows rows;
  ep_mat Psi, G, g, Y;
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, p, p));
  EP_TRY(ep_psi_rows_new(&rows, work, map, points, (ep_share){0, p}, true,
                         ep_run_memory_left(&s->run)));
  EP_CHECK(ep_psi_rows_all_kept(&rows), EP_ERR_ARG,
           "--path dual keeps the features of all points; they do not fit --memory");
  EP_TRY(all_rows(&Psi, &rows));
  g = G;
  if (prec == EP_SINGLE) EP_TRY(ep_work_mat(work, &g, prec, p, p));
  ep_mat_gram(&g, 1, &Psi, 0);
  if (prec == EP_SINGLE) ep_mat_copy(&G, &g);
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, p, W->cols));
  const double least = prec == EP_SINGLE ? 1e-6 : 1e-11;
  EP_TRY(ep_closed_dual(&Y, lambda, info, positive, &G, &points->pairs, least, s));
  return *positive == W->cols ? to_primal(W, work, &Psi, &Y) : EP_OK;
}

static ep_status solve_dual(const ep_mat *W, double *lambda, ep_eigen_info *info,
                            ptrdiff_t *positive, const ep_map *map, const ep_points *points,
                            const ep_setup *s) {
  ep_work work = {0};
  const ep_status st = dual_of_rows(&work, W, lambda, info, positive, map, points, s);
  ep_work_free(&work);
  return st;
}

/* ---- which path */

const char *ep_path_name(int i) {
  static const char *const names[] = {"auto", "primal", "free", "dual", NULL};
  return names[i];
}

/* Blocks the eigensolver is applied to, as met in practice. */
enum { KRYLOV_BLOCKS = 14 };

static void estimate(ep_plan *plan, const ep_map *map, const ep_points *points, ptrdiff_t b,
                     const ep_setup *s) {
  const double m = (double)map->count, p = (double)points->X.rows,
               n = (double)points->pairs.anchors;
  const double links = (double)points->pairs.start[points->pairs.anchors], w = (double)b;
  const double size = (double)ep_sizeof(points->X.prec), twice = size < 8 ? 2 : 1;
  const double each = ep_map_flops(map), memory = ep_run_memory_left(&s->run), all = p * m * size;
  const double block = 4 * fmin(256, p) * m * size; /* at least; more where there is room */
  plan->bytes[EP_PATH_PRIMAL] = m * m * (size + 8) + 2 * block;
  const double spare = memory - plan->bytes[EP_PATH_PRIMAL];
  plan->flops[EP_PATH_PRIMAL] = each * (all <= 0.6 * spare ? p : n + links) + 2 * n * m * m +
                                twice * KRYLOV_BLOCKS * 2 * m * m * w;
  const double vectors = 8 * krylov_numbers(s, m, w) + 2 * (m + p) * w * size;
  plan->bytes[EP_PATH_FREE] = vectors + block / 4;
  plan->features = fmax(0, fmin(1, (memory - vectors) / all));
  plan->flops[EP_PATH_FREE] =
      each * p * (plan->features + (1 - plan->features) * 2 * KRYLOV_BLOCKS) +
      KRYLOV_BLOCKS * w * (4 * p * m + twice * 4 * m * w * (double)s->eigen.krylov);
  plan->bytes[EP_PATH_DUAL] =
      all + p * p * (8 + (twice > 1 ? size : 0)) + 8 * krylov_numbers(s, p, w);
  plan->flops[EP_PATH_DUAL] = each * p + p * p * m +
                              twice * (p * p * p / 3 + KRYLOV_BLOCKS * w * 4 * p * p) +
                              2 * p * m * w;
  for (int k = EP_PATH_PRIMAL; k < EP_PATHS; k++) plan->fits[k] = plan->bytes[k] <= memory;
  if (points->pairs.all_others) plan->fits[EP_PATH_PRIMAL] = false;
}

ep_status ep_plan_make(ep_plan *plan, const ep_map *map, const ep_points *points, ptrdiff_t outputs,
                       const ep_setup *s) {
  *plan = (ep_plan){.path = EP_PATH_FREE};
  estimate(plan, map, points, ep_eigen_block(&s->eigen, outputs, map->count), s);
  for (int k = EP_PATH_PRIMAL; k < EP_PATHS; k++)
    if (plan->fits[k] && plan->flops[k] < plan->flops[plan->path]) plan->path = k;
  if (s->closed.path != EP_PATH_AUTO) plan->path = s->closed.path;
  return EP_OK;
}

ep_status ep_closed_pca(const ep_mat *W, double *lambda, ep_eigen_info *info, ep_plan *plan,
                        const ep_map *map, const ep_points *points, const ep_setup *s) {
  ptrdiff_t positive = 0;
  EP_CHECK(W->cols <= map->count, EP_ERR_ARG, "--outputs %td is more than the %td features",
           W->cols, map->count);
  if (plan->path == EP_PATH_DUAL) {
    EP_TRY(solve_dual(W, lambda, info, &positive, map, points, s));
    EP_CHECK(
        positive == W->cols || s->closed.path != EP_PATH_DUAL, EP_ERR_ARG,
        "--path dual gives eigenvectors of positive eigenvalues only, and there are %td: lower "
        "--outputs or use free",
        positive);
    if (positive < W->cols) plan->path = EP_PATH_FREE;
    if (map->count > points->X.rows)
      info->next = fmax(info->next, 0); /* C has more eigenvalues: zeros */
  }
  if (plan->path == EP_PATH_PRIMAL) EP_TRY(solve_primal(W, lambda, info, map, points, s));
  if (plan->path == EP_PATH_FREE) EP_TRY(solve_free(W, lambda, info, map, points, s));
  ep_eigen_signs(W);
  return EP_OK;
}

/* ---- what is told */

ep_status ep_closed_psi(ep_psi *psi, const ep_setup *s) {
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &s->objective));
  EP_CHECK(ep_objective_is_trace(&o), EP_ERR_ARG,
           "method %s maximises the linear loss's trace; loss %s has %s", s->fit.method,
           s->objective.loss,
           ep_objective_whitens(&o) ? "its closed form in --method whitened" : "no closed form");
  *psi = ep_psi_of(&o);
  return EP_OK;
}

ep_status ep_closed_explain_map(ep_fit_info *info, const ep_map *map) {
  char text[EP_DESCRIPTION];
  for (int i = 0; map->kind->explain && map->kind->explain(text, map, i); i++)
    EP_TRY(ep_fit_explain(info, "%s", text));
  return EP_OK;
}

ep_status ep_plan_explain(ep_fit_info *info, const ep_plan *plan, const ep_map *map,
                          const ep_points *points, const ep_setup *s) {
  EP_TRY(ep_fit_explain(info, "path     %s%s: %td features, %td points, %td anchors",
                        ep_path_name(plan->path),
                        s->closed.path != EP_PATH_AUTO ? ", as asked" : ", the cheapest that fits",
                        map->count, points->X.rows, points->pairs.anchors));
  for (int k = EP_PATH_PRIMAL; k < EP_PATHS; k++)
    EP_TRY(ep_fit_explain(info, "%-8s about %.3g Gflop, %.0f MiB%s", ep_path_name(k),
                          plan->flops[k] / 1e9, plan->bytes[k] / 1048576,
                          plan->fits[k] ? "" : ": not possible here"));
  EP_TRY(ep_closed_explain_map(info, map));
  return ep_fit_explain(info, "features %.3g Mflop a point; free keeps %.0f %% of them in memory",
                        ep_map_flops(map) / 1e6, 100 * plan->features);
}

ep_status ep_closed_report(ep_fit_info *info, const double *lambda, ptrdiff_t count,
                           const ep_eigen_info *eigen, const char *path) {
  const double gap = lambda[count - 1] - eigen->next, scale = fabs(lambda[0]);
  double sum = 0;
  for (ptrdiff_t k = 0; k < count; k++) sum += lambda[k];
  info->loss = -sum;
  info->outcome = eigen->converged ? EP_CONVERGED : EP_DONE;
  EP_TRY(ep_fit_spectrum(info, lambda, count, gap));
  EP_TRY(ep_fit_number(info, "residual", json_real(eigen->residual)));
  EP_TRY(ep_fit_number(info, "products", json_integer(eigen->products)));
  EP_TRY(ep_fit_number(info, "restarts", json_integer(eigen->restarts)));
  info->path = path;
  EP_TRY(ep_fit_number(info, "path", json_string(path)));
  const bool unique = !isfinite(gap) || gap > 10 * eigen->residual + 1e-9 * scale;
  EP_TRY(ep_fit_number(info, "unique", json_boolean(unique)));
  if (!eigen->converged)
    EP_TRY(ep_fit_note(info,
                       "the eigensolver has not converged: residual %.2g of %.2g; raise --krylov "
                       "or --restarts",
                       eigen->residual, scale));
  if (!unique)
    EP_TRY(ep_fit_note(info,
                       "no gap behind eigenvalue %td (%.6g, the next is %.6g): the subspace is not "
                       "unique",
                       count, lambda[count - 1], eigen->next));
  if (lambda[count - 1] <= 1e-9 * scale) {
    ptrdiff_t positive = 0;
    while (positive < count && lambda[positive] > 1e-9 * scale) positive++;
    EP_TRY(ep_fit_note(
        info, "only %td of %td eigenvalues are positive: the other outputs do not serve the loss",
        positive, count));
  }
  return EP_OK;
}
