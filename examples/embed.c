/* Embeds points that the caller holds: no training, no labels. Two noisy views of every point are the pairs; the closed form
 * (`whitened`) finds what they share.
 *
 *   cc embed.c $(pkg-config --cflags --libs eigenpair) -lm && ./a.out */
#include <eigenpair/eigenpair.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 400, INPUTS = 6, OUTPUTS = 2 };

/* N(0, 1), by Box and Muller */
static double normal(void) {
  const double u = (rand() + 1.) / (RAND_MAX + 1.), v = (double)rand() / RAND_MAX;
  return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

/* a point on a circle in a plane of R^6, seen twice with independent noise */
static void make_views(double *X) {
  for (int i = 0; i < POINTS; i++) {
    const double angle = 2 * acos(-1) * i / POINTS;
    for (int view = 0; view < 2; view++)
      for (int j = 0; j < INPUTS; j++)
        X[(view * POINTS + i) * INPUTS + j] = (j == 0   ? cos(angle)
                                               : j == 1 ? sin(angle)
                                                        : 0) +
                                              0.3 * normal();
  }
}

static ep_status embed(ep_run *run, const ep_mat *X, const ep_mat *E) {
  static ep_setup setup; /* every option of `eigenpair fit`, by its name */
  ep_setup_default(&setup);
  strcpy(setup.fit.method, "whitened");
  setup.run.precision = EP_DOUBLE;
  setup.net.width = 300;
  setup.net.outputs = OUTPUTS;

  ep_pairs pairs; /* point i and point POINTS + i are views of one thing */
  EP_TRY(ep_pairs_draw(&pairs, POINTS, &(ep_pair_plan){.positives = 1}, 0));
  ep_points points = ep_points_borrow(X, &pairs);
  ep_model *model;
  ep_fit_info info;
  ep_status st = ep_fit(run, &model, &info, &points, &setup);
  if (!st) st = ep_model_embed(run, E, model, X);
  if (!st)
    printf("%d points of dimension %d -> %d, %.3f s\n", POINTS, INPUTS, OUTPUTS, info.seconds);
  ep_model_free(model);
  ep_fit_info_free(&info);
  ep_points_free(&points); /* the matrix stays ours */
  return st;
}

/* how well the two outputs know the angle: correlation of the views, averaged */
static double agreement(const double *E) {
  double sum = 0;
  for (int k = 0; k < OUTPUTS; k++) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < POINTS; i++) {
      const double a = E[i * OUTPUTS + k], b = E[(POINTS + i) * OUTPUTS + k];
      ab += a * b, aa += a * a, bb += b * b;
    }
    sum += ab / sqrt(aa * bb) / OUTPUTS;
  }
  return sum;
}

int main(void) {
  static double x[2 * POINTS * INPUTS], e[2 * POINTS * OUTPUTS];
  const ep_mat X = ep_mat_view(EP_DOUBLE, 2 * POINTS, INPUTS, x);
  const ep_mat E = ep_mat_view(EP_DOUBLE, 2 * POINTS, OUTPUTS, e);
  ep_run *run;
  make_views(x);
  ep_status st = ep_run_new(&run, NULL); /* all cores, half of the memory */
  if (!st) st = embed(run, &X, &E);
  ep_run_free(run);
  if (st) return fprintf(stderr, "%s\n", ep_last_error()), ep_status_exit(st);
  printf("the two views of a point agree by %.3f\n", agreement(e));
  return agreement(e) > 0.8 ? 0 : 1;
}
