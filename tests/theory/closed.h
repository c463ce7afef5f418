#pragma once
/* What the tests of closed forms share: small problems, and C, psi and spans by the definition. */
#include "core/mem.h"
#include "in_run.h"
#include "method/closed.h"
#include "random_mat.h"

#include <eigenpair/method.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char out[64];

/* ---- points and pairs */

typedef struct {
  const char *what;
  int positives, negatives;
  bool repeat, deficient, others;
} kind_of_pairs;
static const kind_of_pairs kinds[] = {
    {"triplets", 1, 1, false, false, false},
    {"Q > 2", 2, 3, false, false, false},
    {"positives only", 1, 0, false, false, false},
    {"repeated and zero points", 1, 1, true, false, false},
    {"rank-deficient Gram matrix", 2, 1, true, true, false},
    {"all others", 1, 0, false, false, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds, N = 24, D = 7 };

static inline ep_points make_points(const kind_of_pairs *k) {
  const ep_pair_plan plan = {k->positives, k->negatives, k->others, false};
  ep_points p = {.X = random_mat(EP_DOUBLE, (ptrdiff_t)N * (1 + k->positives), D, 41)};
  CHECK_OK(ep_pairs_draw(&p.pairs, N, &plan, 3));
  for (ptrdiff_t i = N; i < p.X.rows; i++) /* a positive is near its anchor */
    for (ptrdiff_t j = 0; j < D; j++)
      ep_set(&p.X, i, j, ep_get(&p.X, i % N, j) + 0.3 * ep_get(&p.X, i, j));
  for (ptrdiff_t j = 0; k->deficient && j < D; j++) /* points in a plane */
    for (ptrdiff_t i = 0; j >= 2 && i < p.X.rows; i++) ep_set(&p.X, i, j, 0);
  for (ptrdiff_t j = 0; k->repeat && j < D; j++) {
    ep_set(&p.X, 3, j, 0);
    ep_set(&p.X, N + 1, j, ep_get(&p.X, 5, j));
    ep_set(&p.X, 9, j, ep_get(&p.X, 8, j));
  }
  return p;
}

static inline void make_setup(ep_setup *s, const char *method) {
  ep_setup_default(s);
  s->run.precision = EP_DOUBLE;
  strcpy(s->files.out, out);
  strcpy(s->fit.method, method);
  s->net.width = 40;
  s->net.outputs = 4;
}

static inline void fit(ep_model **m, ep_fit_info *info, const ep_points *p, const ep_setup *s) {
  if (ep_fit(NULL, m, info, p, s))
    fail_msg("%s, path %s: %s", s->fit.method, ep_path_name(s->closed.path), ep_last_error());
}

static inline void drop(ep_model *m, ep_fit_info *info) {
  ep_model_free(m);
  ep_fit_info_free(info);
}

static inline double eigenvalue(const ep_fit_info *info, int k) {
  return json_real_value(json_array_get(json_object_get(info->numbers, "eigenvalues"), (size_t)k));
}

/* coefficients and points of a model of sections */
static inline const ep_mat *model_Y(const ep_model *m) { return ep_model_coefficients(m, 0); }
static inline const ep_mat *model_X(const ep_model *m) {
  return ep_sections_points(m->term[0].map);
}

/* ---- the definition */

/* psi(x) by the formula */
static inline void psi_of(double *psi, const ep_net *net, const ep_mat *X, ptrdiff_t i, bool cosine,
                          double delta) {
  const ptrdiff_t m = net->shape.width;
  double h[64], a[64], norm = 0;
  for (ptrdiff_t j = 0; j < X->cols; j++) h[j] = ep_get(X, i, j);
  for (int l = 0; l < net->shape.depth; l++) {
    for (ptrdiff_t k = 0; k < m; k++) {
      a[k] = 0;
      for (ptrdiff_t j = 0; j < net->V[l].cols; j++)
        a[k] += ep_get(&net->V[l], k, j) * h[j] / (l ? sqrt((double)m) : 1);
    }
    for (ptrdiff_t k = 0; k < m; k++) h[k] = ep_activation_value(&net->shape.phi, a[k]);
  }
  for (ptrdiff_t k = 0; k < m; k++) norm += h[k] * h[k];
  for (ptrdiff_t k = 0; k < m; k++)
    psi[k] = cosine ? h[k] / (sqrt(norm) + sqrt((double)m) * delta) : h[k] / sqrt((double)m);
}

static inline ep_mat all_psi(const ep_net *net, const ep_mat *X, bool cosine, double delta) {
  ep_mat Psi;
  CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, X->rows, net->shape.width));
  for (ptrdiff_t i = 0; i < X->rows; i++) psi_of(ep_d(&Psi, i, 0), net, X, i, cosine, delta);
  return Psi;
}

static inline void add_outer(const ep_mat *C, double a, const double *x, const double *y) {
  for (ptrdiff_t i = 0; i < C->rows; i++)
    for (ptrdiff_t j = 0; j < C->cols; j++) *ep_d(C, i, j) += a * (x[i] * y[j] + y[i] * x[j]) / 2;
}

/* C = 1/N sum a psi_m psi_n', symmetrised; every view of every other anchor a negative where pairs say so */
static inline ep_mat covariance(const ep_mat *Psi, const ep_pairs *p) {
  ep_mat C;
  CHECK_OK(ep_mat_new(&C, EP_DOUBLE, Psi->cols, Psi->cols));
  for (ptrdiff_t n = 0; n < p->anchors; n++) {
    const double *x = ep_d(Psi, p->anchor[n], 0);
    for (ptrdiff_t k = p->start[n]; k < p->start[n + 1]; k++)
      add_outer(&C, (double)p->sign[k] / (double)p->anchors, x, ep_d(Psi, p->partner[k], 0));
    for (ptrdiff_t o = 0; p->all_others && o < p->anchors; o++) {
      if (o == n) continue;
      add_outer(&C, -1 / (double)p->anchors, x, ep_d(Psi, p->anchor[o], 0));
      add_outer(&C, -1 / (double)p->anchors, x, ep_d(Psi, p->partner[p->start[o]], 0));
    }
  }
  return C;
}

/* |(I - QQ')W|_F, Q the eigenvectors (rows of C after ep_mat_eig_sym) of the largest eigenvalues */
static inline double outside(const ep_mat *W, const ep_mat *Q) {
  double sum = 0;
  for (ptrdiff_t k = 0; k < W->cols; k++) {
    double r[64];
    for (ptrdiff_t i = 0; i < W->rows; i++) r[i] = ep_get(W, i, k);
    for (ptrdiff_t j = 0; j < W->cols; j++) {
      const double *q = ep_d(Q, Q->rows - 1 - j, 0);
      double dot = 0;
      for (ptrdiff_t i = 0; i < W->rows; i++) dot += q[i] * ep_get(W, i, k);
      for (ptrdiff_t i = 0; i < W->rows; i++) r[i] -= dot * q[i];
    }
    for (ptrdiff_t i = 0; i < W->rows; i++) sum += r[i] * r[i];
  }
  return sqrt(sum);
}

static inline double orthonormality(const ep_mat *W) {
  double worst = 0;
  for (ptrdiff_t a = 0; a < W->cols; a++)
    for (ptrdiff_t b = 0; b < W->cols; b++) {
      double dot = -(a == b);
      for (ptrdiff_t i = 0; i < W->rows; i++) dot += ep_get(W, i, a) * ep_get(W, i, b);
      worst = fmax(worst, fabs(dot));
    }
  return worst;
}

/* ---- images */

enum { TALL = 9, WIDE = 8, FILTERS = 5, SIZE = 3, GRID = 2 };

static inline ep_points make_images(int channels, int positives) {
  const ep_pair_plan plan = {positives, 0, false, false};
  ep_points p = {.X = random_mat(EP_DOUBLE, (ptrdiff_t)N * (1 + positives),
                                 (ptrdiff_t)channels * TALL * WIDE, 46),
                 .shape = {channels, TALL, WIDE}};
  CHECK_OK(ep_pairs_draw(&p.pairs, N, &plan, 3));
  for (ptrdiff_t j = 0; j < p.X.cols; j++) ep_set(&p.X, 3, j, 0);
  return p;
}

/* ---- running: models are saved in `out` */

#define RUN_CLOSED(tests)                                         \
  do {                                                            \
    strcpy(out, "/tmp/ep_closed_XXXXXX");                         \
    const int file = mkstemp(out);                                \
    if (file < 0) return 1;                                       \
    close(file);                                                  \
    const int failed = cmocka_run_group_tests(tests, NULL, NULL); \
    unlink(out);                                                  \
    return failed;                                                \
  } while (0)
