/* Training with a loss of the caller's own: a value and a derivative at the outputs, nothing else. This one is a margin,
 *
 *   L = 1/N sum_n max(0, margin - f(x_n)'f(x_n+) + f(x_n)'f(x_n-))
 *
 *   cc loss.c $(pkg-config --cflags --libs eigenpair) -lm && ./a.out */
#include <eigenpair/eigenpair.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 60, INPUTS = 8, OUTPUTS = 3 };

static double similarity(const ep_mat *F, ptrdiff_t a, ptrdiff_t b) {
  double sum = 0;
  for (ptrdiff_t z = 0; z < F->cols; z++) sum += *ep_d(F, a, z) * *ep_d(F, b, z);
  return sum;
}

/* dF_a += c F_b, dF_b += c F_a */
static void pull(const ep_mat *dF, const ep_mat *F, ptrdiff_t a, ptrdiff_t b, double c) {
  for (ptrdiff_t z = 0; z < F->cols; z++) {
    *ep_d(dF, a, z) += c * *ep_d(F, b, z);
    *ep_d(dF, b, z) += c * *ep_d(F, a, z);
  }
}

static ep_status margin_loss(double *loss, const ep_mat *dF, const ep_mat *F, const ep_pairs *p,
                             const void *user) {
  const double margin = *(const double *)user, share = 1 / (double)p->anchors;
  *loss = 0;
  if (dF) ep_mat_fill(dF, 0);
  for (ptrdiff_t n = 0; n < p->anchors; n++) {
    const ptrdiff_t x = p->anchor[n], near = p->partner[p->start[n]],
                    far = p->partner[p->start[n] + 1];
    const double gap = margin - similarity(F, x, near) + similarity(F, x, far);
    if (gap <= 0) continue;
    *loss += share * gap;
    if (!dF) continue;
    pull(dF, F, x, near, -share);
    pull(dF, F, x, far, share);
  }
  return EP_OK;
}

static ep_status train(ep_fit_info *info, const ep_mat *X) {
  static ep_setup setup;
  const double margin = 1;
  const ep_loss_function loss = {.value = margin_loss, .user = &margin, .least = 2};
  ep_model *model;
  ep_pairs pairs;
  ep_setup_default(&setup);
  setup.net.width = 200;
  setup.net.outputs = OUTPUTS;
  setup.fit.rate = 0.05;
  setup.fit.epochs = 200;
  setup.files.out[0] = '\0'; /* no file, no checkpoint */
  EP_TRY(ep_pairs_draw(&pairs, POINTS, &(ep_pair_plan){.positives = 1, .negatives = 1}, 0));
  ep_points points = ep_points_borrow(X, &pairs);
  const ep_status st =
      ep_fit_from(NULL, &model, info, &points, &setup, &(ep_fit_lent){.loss = &loss});
  ep_model_free(model);
  ep_points_free(&points);
  return st;
}

/* N(0, 1), by Box and Muller */
static double normal(void) {
  const double u = (rand() + 1.) / (RAND_MAX + 1.), v = (double)rand() / RAND_MAX;
  return sqrt(-2 * log(u)) * cos(2 * acos(-1) * v);
}

int main(void) {
  static float x[2 * POINTS * INPUTS];
  const ep_mat X = ep_mat_view(EP_SINGLE, 2 * POINTS, INPUTS, x);
  ep_fit_info info;
  for (int i = 0; i < POINTS * INPUTS; i++) {
    x[i] = (float)normal();
    x[POINTS * INPUTS + i] = x[i] + 0.1f * (float)normal(); /* the positive */
  }
  const ep_status st = train(&info, &X);
  if (st) return fprintf(stderr, "%s\n", ep_last_error()), ep_status_exit(st);
  printf("loss %.4f -> %.4f in %ld epochs\n", info.start, info.loss, info.epochs);
  const int fell = info.loss < 0.5 * info.start;
  ep_fit_info_free(&info);
  return fell ? 0 : 1;
}
