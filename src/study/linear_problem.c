#include "study/linear_claims.h"

#include "core/mem.h"

#include <eigenpair/activation.h>
#include <eigenpair/augment.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- problems */

const char linear_moons[] = "moons:200";

static ep_status decompose(linear_problem *p) {
  const ptrdiff_t d = p->points.X.cols;
  EP_TRY(ep_mat_new(&p->C, EP_DOUBLE, d, d));
  EP_TRY(ep_linear_add(&p->C, &p->points.X, &p->points.pairs, 1 / (double)p->points.pairs.anchors));
  return ep_linear_new(&p->basis, &p->C);
}

static ep_run_config in_double(long seed) {
  ep_run_config run = ep_run_default();
  run.precision = EP_DOUBLE;
  run.seed = seed;
  return run;
}

static ep_status load(linear_problem *p, const char *data, const char *pairs, long seed) {
  ep_data_config config;
  ep_pair_config pair;
  ep_dataset set;
  const ep_run_config run = in_double(seed);
  ep_options_default(ep_data_options, &config);
  ep_options_default(ep_pair_options, &pair);
  snprintf(config.data, sizeof config.data, "%s", data);
  EP_TRY(ep_points_load(NULL, &p->points, &config, &pair, pairs, &run));
  EP_TRY(ep_dataset_load(NULL, &set, &config, &run));
  p->labels = set.labels; /* anchor n is point n of the set */
  set.labels = NULL;
  ep_dataset_free(&set);
  return decompose(p);
}

ep_status linear_problem_load(linear_problem *p, const char *data, const char *pairs, long seed) {
  *p = (linear_problem){0};
  const ep_status st = load(p, data, pairs, seed);
  if (st) linear_problem_free(p);
  return st;
}

void linear_problem_free(linear_problem *p) {
  ep_points_free(&p->points);
  ep_release(p->labels);
  ep_mat_free(&p->C);
  ep_linear_free(&p->basis);
  *p = (linear_problem){0};
}

/* the first `each` points of two classes; means of 2 x 2 pixels where `pool` */
static ptrdiff_t take_classes(const ep_mat *X, int *labels, const ep_dataset *set, ptrdiff_t each,
                              bool pool) {
  static const int classes[2] = {3, 8};
  const ptrdiff_t side = set->shape.width, half = side / 2;
  ptrdiff_t taken[2] = {0, 0}, n = 0;
  for (ptrdiff_t i = 0; i < set->X.rows; i++)
    for (int c = 0; c < 2; c++) {
      if (set->labels[i] != classes[c] || taken[c] == each) continue;
      taken[c]++;
      labels[n] = c;
      for (ptrdiff_t r = 0; pool && r < half; r++)
        for (ptrdiff_t k = 0; k < half; k++) {
          const ptrdiff_t at = 2 * r * side + 2 * k;
          *ep_d(X, n, r * half + k) =
              (*ep_d(&set->X, i, at) + *ep_d(&set->X, i, at + 1) + *ep_d(&set->X, i, at + side) +
               *ep_d(&set->X, i, at + side + 1)) /
              4;
        }
      for (ptrdiff_t k = 0; !pool && k < X->cols; k++) *ep_d(X, n, k) = *ep_d(&set->X, i, k);
      n++;
    }
  return n;
}

/* anchors in the first rows, their crops below; negatives are other anchors */
static ep_status pair_up(linear_problem *p, const ep_dataset *set, ptrdiff_t each, bool pool,
                         long seed) {
  const int side = pool ? set->shape.width / 2 : set->shape.width;
  const ep_image_shape shape = {1, side, side};
  const ep_pair_plan plan = {1, 1, false, false};
  ep_augment chain;
  p->labels = ep_alloc(2 * each, sizeof *p->labels);
  EP_CHECK(p->labels, EP_ERR_NOMEM, "no memory for %td labels", 2 * each);
  EP_TRY(ep_mat_new(&p->points.X, EP_DOUBLE, 4 * each, (ptrdiff_t)side * side));
  const ptrdiff_t n = take_classes(&p->points.X, p->labels, set, each, pool);
  const ep_mat anchors = ep_mat_rows(&p->points.X, 0, n), views = ep_mat_rows(&p->points.X, n, n);
  EP_TRY(ep_augment_parse(&chain, "crop:0.5-1", shape));
  EP_TRY(ep_augment_apply(&views, &anchors, &chain, shape, (uint64_t)seed, 0, 1));
  p->points.X.rows = 2 * n;
  ep_scale_to_unit(&p->points.X);
  p->points.unit = true;
  EP_TRY(ep_pairs_draw(&p->points.pairs, n, &plan, seed));
  return decompose(p);
}

ep_status linear_problem_digits(linear_problem *p, const char *data, ptrdiff_t each, bool pool,
                                long seed) {
  ep_data_config config;
  ep_dataset set;
  const ep_run_config run = in_double(seed);
  *p = (linear_problem){0};
  ep_options_default(ep_data_options, &config);
  snprintf(config.data, sizeof config.data, "%s", data);
  EP_TRY(ep_dataset_load(NULL, &set, &config, &run));
  const ep_status st = pair_up(p, &set, each, pool, seed);
  ep_dataset_free(&set);
  if (st) linear_problem_free(p);
  return st;
}

ep_status linear_on_moons(ep_claim_result *result, linear_inner *inner, const char *pairs, int runs,
                          long seed) {
  linear_problem p;
  ep_work work = {0};
  EP_TRY(linear_problem_load(&p, linear_moons, pairs, seed));
  const ep_status st = inner(result, &work, &p, runs, seed);
  ep_work_free(&work);
  linear_problem_free(&p);
  return st;
}

/* ---- descents */

ep_descent_config linear_descent(ep_constraint constraint, const char *activation, int layers,
                                 ptrdiff_t width, ptrdiff_t outputs, double rate) {
  ep_descent_config c;
  ep_options_default(ep_descent_options, &c);
  c.constraint = constraint;
  snprintf(c.activation, sizeof c.activation, "%s", activation);
  c.layers = layers;
  c.width = width;
  c.outputs = outputs;
  c.rate = rate;
  return c;
}

ep_status linear_descent_new(ep_descent **d, const ep_descent_config *config,
                             const linear_problem *p, uint64_t seed) {
  ep_activation phi;
  EP_TRY(ep_activation_parse(&phi, config->activation));
  const bool linear = ep_activation_is_linear(&phi);
  return ep_descent_new(d, config, linear ? &p->C : NULL, linear ? NULL : &p->points, seed);
}

ep_status linear_coordinates(const ep_mat *q, const ep_descent *d, const linear_problem *p) {
  ep_mat B;
  EP_TRY(ep_mat_new(&B, EP_DOUBLE, q->rows, q->cols));
  ep_descent_product(&B, d);
  ep_mat_mul(q, 1, &p->basis.U, EP_T, &B, EP_N, 0);
  ep_mat_free(&B);
  return EP_OK;
}

ep_status linear_collapse(double *ratio, const ep_descent *d, const linear_problem *p) {
  const ptrdiff_t z = ep_descent_weights(d, ep_descent_layers(d) - 1)->cols;
  ep_mat E;
  double *sigma;
  ep_work work = {0};
  ep_status st = ep_work_mat(&work, &E, EP_DOUBLE, p->points.X.rows, z);
  if (!st) st = ep_work_get(&work, &sigma, z, sizeof *sigma);
  if (!st) st = ep_descent_embed(&E, d, &p->points.X);
  if (!st) st = ep_linear_spectrum(sigma, NULL, 0, &E);
  if (!st) *ratio = sigma[0] > 0 ? sigma[1] / sigma[0] : 0;
  ep_work_free(&work);
  return st;
}
