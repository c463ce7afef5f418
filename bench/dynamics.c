/* One step of the learning-dynamics equation against one step of orthogonal gradient descent: d = 784, z = 10, 400
 * points of digits. The equation knows neither width nor depth. */
#include "bench.h"

#include <math.h>
#include <string.h>

enum { OUTPUTS = 10, POINTS = 400, ROUNDS = 7 };

typedef struct {
  ep_points points;
  ep_mat C;
  ep_linear basis;
} problem;

static void load(problem *p) {
  static ep_data_config data;
  static ep_pair_config pair;
  ep_run_config run = ep_run_default();
  ep_options_default(ep_data_options, &data);
  ep_options_default(ep_pair_options, &pair);
  strcpy(data.data, "digits");
  data.samples = POINTS;
  run.precision = EP_DOUBLE;
  bench_must(ep_points_load(NULL, &p->points, &data, &pair, "triplet", &run));
  const ptrdiff_t d = p->points.X.cols;
  bench_must(ep_mat_new(&p->C, EP_DOUBLE, d, d));
  bench_must(ep_linear_add(&p->C, &p->points.X, &p->points.pairs, 1. / POINTS));
  const double begin = bench_now();
  bench_must(ep_linear_new(&p->basis, &p->C));
  printf("equation: eigenbasis of C, once, %.0f ms\n", 1e3 * (bench_now() - begin));
}

static double time_equation(const problem *p) {
  enum { STEPS = 200 };
  double seconds[ROUNDS];
  ep_mat q;
  bench_must(ep_mat_new(&q, EP_DOUBLE, p->C.rows, OUTPUTS));
  bench_must(ep_linear_start(&q, 1000, 1));
  for (int r = 0; r < ROUNDS; r++) {
    const double begin = bench_now();
    bench_must(ep_linear_steps(&q, p->basis.lambda, 0.1, STEPS));
    seconds[r] = (bench_now() - begin) / STEPS;
  }
  ep_mat_free(&q);
  return bench_median(seconds, ROUNDS);
}

/* `through_points`: the network sees its data, as in the paper; otherwise only C, which is less work */
static double time_descent(const problem *p, int layers, ptrdiff_t width, ep_constraint constraint,
                           ep_retraction retraction, bool through_points) {
  double seconds[ROUNDS];
  ep_descent_config c;
  ep_descent *d;
  ep_options_default(ep_descent_options, &c);
  c.layers = layers;
  c.width = width;
  c.outputs = OUTPUTS;
  c.constraint = constraint;
  c.retraction = retraction;
  bench_must(
      ep_descent_new(&d, &c, through_points ? NULL : &p->C, through_points ? &p->points : NULL, 1));
  bench_must(ep_descent_step(d, 1));
  for (int r = 0; r < ROUNDS; r++) {
    const double begin = bench_now();
    bench_must(ep_descent_step(d, 1));
    seconds[r] = bench_now() - begin;
  }
  ep_descent_free(d);
  return bench_median(seconds, ROUNDS);
}

void bench_dynamics(const char *peers) {
  static const struct {
    int layers;
    ptrdiff_t width;
    ep_constraint constraint;
    ep_retraction retraction;
    bool points;
  } cases[] = {
      {2, 1000, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, true},
      {2, 1000, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, false},
      {2, 1000, EP_CONSTRAINT_ORTHOGONAL, EP_RETRACT_POLAR, true},
      {2, 2000, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, true},
      {3, 1000, EP_CONSTRAINT_GRASSMANN, EP_RETRACT_QR, true},
  };
  problem p = {0};
  (void)peers;
  load(&p);
  const double equation = time_equation(&p);
  printf("one step of the equation, d = 784, z = 10: %.1f us\n", 1e6 * equation);
  printf(
      "one step of orthogonal gradient descent on %d triplets:\n%8s %8s %-12s %-8s %-8s %10s "
      "%10s\n",
      POINTS, "layers", "h", "", "", "through", "ms", "ratio");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double step = time_descent(&p, cases[i].layers, cases[i].width, cases[i].constraint,
                                     cases[i].retraction, cases[i].points);
    printf("%8d %8td %-12s %-8s %-8s %10.1f %10.0f\n", cases[i].layers, cases[i].width,
           ep_constraint_name(cases[i].constraint), ep_retraction_name(cases[i].retraction),
           cases[i].points ? "points" : "C", 1e3 * step, step / equation);
  }
  printf("\n");
  ep_linear_free(&p.basis);
  ep_mat_free(&p.C);
  ep_points_free(&p.points);
}
