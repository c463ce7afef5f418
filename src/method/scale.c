/* The cost model of docs/scale.md. With N anchors of R views, M features that take f operations a view, Z outputs, and
 * c = nodes x ranks x threads cores:
 *
 *   views     N R v / c
 *   features  N R f / (c r)
 *   sums      whitened N (R + 1) M^2 / (c r): half of a symmetric product; pca 2 N M^2 / (c r)
 *             gd: T epochs of 2 passes: 4 f N R / (c r), and N R (6 M Z) / (c r)
 *   solve     on every rank, in double: M^3 / 3 (whitened) and 14 blocks of Z + 8 columns: 4 M^2 each (pca: 2 M^2)
 *   traffic   every number of B and C twice; gd: gradients and outputs, every epoch
 *
 * whitened with --solver scalapack or elpa, or (auto) whose B and C do not fit a node, spread over K ranks: sums twice, both
 * triangles being computed; solve by all cores; traffic N R M numbers, the features, to every rank; of the matrices a rank has
 * its part, 1 / K.
 *
 * memory      of a rank: B and C in double, sums in the run's precision before they are added, a block of rows, weights; pca
 *             lists its pairs, 16 + 9 (R - 1) bytes an anchor, whitened takes the same for any number of points */
#include "method/methods.h"
#include "method/sum.h"

#include <eigenpair/random.h>
#include <eigenpair/scale.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- rates, of one core */

static double seconds_of(void (*work)(void *), void *user) {
  double best = INFINITY;
  for (int k = 0; k < 3; k++) {
    const double begin = omp_get_wtime();
    work(user);
    best = fmin(best, omp_get_wtime() - begin);
  }
  return best;
}

typedef struct {
  ep_mat A, G, X, Psi;
  const ep_map *map;
  ep_status st;
} trial;

static void gram(void *user) {
  const trial *t = user;
  ep_mat_gram_cols(&t->G, 1, &t->A, 0);
}

static void rows(void *user) {
  trial *t = user;
  t->st = ep_map_rows(&t->Psi, t->map, &t->X);
}

static ep_status product_rate(double *rate, ep_work *work, ep_precision prec) {
  enum { ROWS = 512, COLS = 512 };
  trial t = {0};
  EP_TRY(ep_work_mat(work, &t.A, prec, ROWS, COLS));
  EP_TRY(ep_work_mat(work, &t.G, prec, COLS, COLS));
  ep_random_fill_normal(&t.A, 1, EP_STREAM_DATA, 0);
  *rate = (double)ROWS * COLS * COLS / seconds_of(gram, &t);
  return EP_OK;
}

static ep_status map_rate(double *rate, ep_work *work, const ep_map *map, ep_precision prec) {
  enum { ROWS = 128 };
  trial t = {.map = map};
  EP_TRY(ep_work_mat(work, &t.X, prec, ROWS, map->inputs));
  EP_TRY(ep_work_mat(work, &t.Psi, prec, ROWS, map->count));
  ep_random_fill_normal(&t.X, 1, EP_STREAM_DATA, 1);
  *rate = ROWS * ep_map_flops(map) / seconds_of(rows, &t);
  return t.st;
}

static ep_status measure(ep_work *work, ep_scale_rates *out, const ep_map *map, ep_precision prec) {
  EP_TRY(product_rate(&out->product, work, prec));
  EP_TRY(product_rate(&out->solve, work, EP_DOUBLE));
  return map_rate(&out->features, work, map, prec);
}

static ep_status measure_rates(ep_scale_rates *out, const ep_map *map, ep_precision prec) {
  ep_work work = {0};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const ep_status st = measure(&work, out, map, prec);
  omp_set_num_threads(threads);
  ep_work_free(&work);
  return st;
}

/* ---- the map: made of noise, which costs what points cost */

static ep_status fill(ep_points *p, ptrdiff_t inputs, ep_image_shape shape, ep_precision prec) {
  enum { ROWS = 64 };
  const ep_pair_plan plan = {1, 0, false, false};
  *p = (ep_points){.shape = shape};
  EP_TRY(ep_mat_new(&p->X, prec, 2 * ROWS, inputs));
  ep_random_fill_normal(&p->X, 2, EP_STREAM_DATA, 0);
  return ep_pairs_draw(&p->pairs, ROWS, &plan, 0);
}

static ep_status describe(ep_scale_case *c, ep_scale_rates *rates, const ep_points *p,
                          const ep_setup *s) {
  ep_map *map = NULL;
  const bool pca = c->method == EP_SCALE_PCA;
  ep_status st = (pca ? ep_pca_map : ep_whitened_map)(&map, NULL, p, s);
  if (!st) {
    c->features = (double)map->count;
    c->inputs = (double)map->inputs;
    c->flops = ep_map_flops(map);
    st = measure_rates(rates, map, p->X.prec);
  }
  ep_map_free(map);
  return st;
}

ep_status ep_scale_map(ep_scale_case *c, ep_scale_rates *rates, const ep_setup *s, ptrdiff_t inputs,
                       ep_image_shape shape) {
  ep_points p;
  ep_status st = fill(&p, inputs, shape, ep_run_precision(&s->run));
  if (!st) st = describe(c, rates, &p, s);
  ep_points_free(&p);
  return st;
}

/* ---- the model */

static double all_ranks(const ep_scale_case *c) { return c->nodes * c->ranks; }

/* x numbers that every rank sends once and gets once */
static double exchange(const ep_scale_case *c, double bytes) {
  const double k = all_ranks(c);
  return k > 1 ? 2 * bytes * (k - 1) / k : 0;
}

static void closed(ep_scale_cost *out, const ep_scale_case *c, const ep_scale_rates *r, bool pca) {
  const double m = c->features, b = c->outputs + 8, cores = all_ranks(c) * c->threads;
  const double sums = c->points * m * m * (pca ? 2 : c->views + 1);
  const double solve = (pca ? 0 : m * m * m / 3) + 14 * b * m * m * (pca ? 2 : 4);
  const double krylov = 8 * m * b * 17, parts = c->size < 8 ? c->size * m * m * (pca ? 1 : 2) : 0;
  out->sums = sums / (cores * r->product);
  out->solve = solve / (c->threads * r->solve);
  out->bytes = exchange(c, 8 * m * m * (pca ? 1 : 2));
  const double block = 2048 * c->size * (2 * m + 3.2 * c->inputs); /* features; points, packed */
  out->memory = 8 * m * m * (pca ? 1 : 2) + fmax(krylov, parts + block) + c->size * m * c->inputs +
                (pca ? c->points * (16 + 9 * (c->views - 1)) : 0);
  out->operations += sums + all_ranks(c) * solve;
}

/* instead of `closed` where it takes more than the node has, or as --solver says */
static void spread(ep_scale_cost *out, const ep_scale_case *c, const ep_scale_rates *r) {
  const double m = c->features, b = c->outputs + 8, k = all_ranks(c), side = m / sqrt(k);
  const double sums = 2 * c->points * m * m * (c->views + 1);
  const double solve = m * m * m / 3 + 14 * b * m * m * 4;
  out->spread = true;
  out->sums = sums / (k * c->threads * r->product);
  out->solve = solve / (k * c->threads * r->solve);
  out->bytes = c->points * c->views * m * c->size * (k - 1) / k;
  const double part = (16 + (c->size < 8 ? 2 * c->size : 0)) * m * m / k;
  out->memory = part + 8 * m * b * 17 + 2048 * c->size * (2 * (m + c->inputs) + 2 * side) +
                c->size * m * c->inputs;
  out->operations = c->points * c->views * c->flops + sums + solve;
}

static void descent(ep_scale_cost *out, const ep_scale_case *c, const ep_scale_rates *r) {
  const double m = c->features, z = c->outputs, p = c->points * c->views,
               cores = all_ranks(c) * c->threads, weights = m * (c->inputs + z);
  const double passes = c->epochs * p * (2 * c->flops + 6 * m * z);
  out->map = 0; /* the points are there; every epoch passes them */
  out->sums = passes / (cores * r->features);
  out->bytes = c->epochs * (exchange(c, c->size * weights) + exchange(c, c->size * p * z) / 2);
  out->memory = c->size * (2 * weights + p * c->inputs + p / all_ranks(c) * m) + p * z * 24;
  out->operations = passes;
}

ep_scale_cost ep_scale_estimate(const ep_scale_case *c, const ep_scale_rates *r) {
  const double cores = all_ranks(c) * c->threads, seen = c->points * c->views;
  ep_scale_cost out = {0};
  out.views = seen * r->view / cores;
  out.map = seen * c->flops / (cores * r->features);
  out.operations = seen * c->flops;
  if (c->method == EP_SCALE_GD) descent(&out, c, r);
  else closed(&out, c, r, c->method == EP_SCALE_PCA);
  const bool large = c->memory > 0 && out.memory * c->ranks > c->memory && all_ranks(c) > 1;
  const bool asked = c->solver == EP_SOLVER_SCALAPACK || c->solver == EP_SOLVER_ELPA;
  if (c->method == EP_SCALE_WHITENED && (asked || (c->solver == EP_SOLVER_AUTO && large)))
    spread(&out, c, r);
  out.traffic = out.bytes * c->ranks / r->network; /* a node carries that of its ranks */
  out.seconds = out.views + out.map + out.sums + out.solve + out.traffic;
  return out;
}

/* ---- what can be afforded */

static bool affordable(const ep_scale_case *c, const ep_scale_rates *r, double seconds) {
  const ep_scale_cost cost = ep_scale_estimate(c, r);
  return cost.seconds <= seconds && (c->memory == 0 || cost.memory * c->ranks <= c->memory);
}

/* the largest x for which the case with it can be afforded, by bisection of its logarithm */
static double largest(ep_scale_case c, const ep_scale_rates *r, double seconds, bool points) {
  const double flops = c.flops / c.features;
  double low = 0, high = log(points ? 1e15 : 1e8);
  for (int k = 0; k < 60; k++) {
    const double middle = (low + high) / 2, x = exp(middle);
    if (points) c.points = x;
    else c.features = x, c.flops = flops * x;
    if (affordable(&c, r, seconds)) low = middle;
    else high = middle;
  }
  return floor(exp(low));
}

double ep_scale_features(const ep_scale_case *c, const ep_scale_rates *r, double seconds) {
  return largest(*c, r, seconds, false);
}

double ep_scale_points(const ep_scale_case *c, const ep_scale_rates *r, double seconds) {
  return largest(*c, r, seconds, true);
}
