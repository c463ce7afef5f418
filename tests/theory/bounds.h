#pragma once
/* What the tests of WIDE's bounds share: a bound by its name, points with pairs, and trained networks. */
#include "random_mat.h"

#include <eigenpair/bounds.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out[64];

static inline double bound(const char *name, const ep_bound_inputs *in) {
  const char *why;
  assert_non_null(ep_bound_find(name));
  const double x = ep_bound_log10(&why, ep_bound_find(name), in);
  if (why) fail_msg("%s: %s", name, why);
  return x;
}

/* ---- runs */

typedef struct {
  ep_setup setup;
  ep_points points;
  ep_net start;
  ep_model *model;
  ep_fit_info info;
  ep_bound_run run;
} trained;

/* near pairs: a positive is its anchor and a little noise */
static inline ep_points make_points(ptrdiff_t n, ptrdiff_t d, ep_precision prec, bool unit) {
  const ep_pair_plan plan = {1, 1, false, false};
  ep_points p = {.X = random_mat(prec, 2 * n, d, 91)};
  for (ptrdiff_t i = n; i < 2 * n; i++)
    for (ptrdiff_t j = 0; j < d; j++)
      ep_set(&p.X, i, j, ep_get(&p.X, i - n, j) + 0.3 * ep_get(&p.X, i, j));
  if (unit) ep_scale_to_unit(&p.X);
  CHECK_OK(ep_pairs_draw(&p.pairs, n, &plan, 3));
  return p;
}

static inline void make_setup(ep_setup *s, const char *method, const char *activation, long width) {
  ep_setup_default(s);
  s->run.precision = EP_DOUBLE;
  strcpy(s->files.out, out);
  strcpy(s->fit.method, method);
  strcpy(s->net.activation, activation);
  s->net.width = width;
  s->net.outputs = 2;
  s->objective.delta = 0.1;
  s->fit.rate = 0.1;
  s->fit.epochs = 10;
}

/* t->setup is there; takes the points over */
static inline void train(trained *t, ep_points points) {
  t->points = points;
  CHECK_OK(ep_net_start(&t->start, &t->setup.net, points.X.cols, (uint64_t)t->setup.run.seed,
                        points.X.prec));
  CHECK_OK(ep_fit(NULL, &t->model, &t->info, &t->points, &t->setup));
  t->run = (ep_bound_run){&t->start, ep_model_net(t->model), &t->points, &t->setup, t->info.epochs};
}

static inline void drop(trained *t) {
  ep_net_free(&t->start);
  ep_model_free(t->model);
  ep_fit_info_free(&t->info);
  ep_points_free(&t->points);
}

static inline double measure(ep_bound_quantity what, const ep_bound_run *run) {
  ep_measured m;
  CHECK_OK(ep_bound_measure(&m, what, run));
  return m.value;
}
/* before and after all tests: a file for models */
static inline int make_out(void **state) {
  (void)state;
  strcpy(out, "/tmp/ep_bounds_XXXXXX");
  const int file = mkstemp(out);
  return file < 0 ? -1 : close(file);
}

static inline int remove_out(void **state) {
  (void)state;
  return unlink(out);
}
