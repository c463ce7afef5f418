/* --ridge auto and --outputs auto, against plain sums over held-out anchors. */
#include "theory/closed.h"

#include <eigenpair/views.h>

enum { ANCHORS = 230, M = 20, RIDGES = 5 };
static const double ridges[RIDGES] = {1e-4, 1e-3, 1e-2, 1e-1, 1};

/* views of a point agree the less the later the coordinate */
static ep_points make_views(int positives) {
  const ep_pair_plan plan = {positives, 0, false, false};
  ep_points p = {.X = random_mat(EP_DOUBLE, (ptrdiff_t)ANCHORS * (1 + positives), D, 43)};
  CHECK_OK(ep_pairs_draw(&p.pairs, ANCHORS, &plan, 3));
  for (ptrdiff_t i = ANCHORS; i < p.X.rows; i++)
    for (ptrdiff_t j = 0; j < D; j++)
      ep_set(&p.X, i, j, ep_get(&p.X, i % ANCHORS, j) + 0.5 * (double)j * ep_get(&p.X, i, j));
  return p;
}

static bool is_held(ptrdiff_t anchor) {
  for (ptrdiff_t k = 0; k < 10; k++) {
    const ptrdiff_t a = ANCHORS * k / 10, b = ANCHORS * (k + 1) / 10;
    if (anchor >= a && anchor < b) return anchor >= b - (b - a) / 10;
  }
  return false;
}

/* A and B of the anchors that are held out, or of the others, by the definition */
static double covariances(const ep_mat *A, const ep_mat *B, const ep_mat *Psi, const ep_pairs *p,
                          bool held) {
  double mean[M] = {0}, views = 0, pairs = 0, anchors = 0;
  ep_mat_fill(A, 0), ep_mat_fill(B, 0);
  for (ptrdiff_t n = 0; n < p->anchors; n++) {
    ptrdiff_t who[8], count = 0;
    if (is_held(n) != held) continue;
    who[count++] = p->anchor[n];
    for (ptrdiff_t k = p->start[n]; k < p->start[n + 1]; k++) who[count++] = p->partner[k];
    for (ptrdiff_t v = 0; v < count; v++, views++) {
      for (int j = 0; j < M; j++) mean[j] += *ep_d(Psi, who[v], j);
      add_outer(B, 1, ep_d(Psi, who[v], 0), ep_d(Psi, who[v], 0));
      for (ptrdiff_t w = 0; w < v; w++, pairs++)
        add_outer(A, 1, ep_d(Psi, who[v], 0), ep_d(Psi, who[w], 0));
    }
    anchors++;
  }
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      const double mm = mean[i] * mean[j] / views / views;
      *ep_d(A, i, j) = *ep_d(A, i, j) / pairs - mm;
      *ep_d(B, i, j) = *ep_d(B, i, j) / views - mm;
    }
  return anchors;
}

static double form(const ep_mat *A, const double *w) {
  double sum = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) sum += w[i] * *ep_d(A, i, j) * w[j];
  return sum;
}

/* rho of all directions of the problem of the others, by falling eigenvalue */
static void correlations(double rho[M], const ep_mat *A, const ep_mat *B, double share,
                         const ep_mat *Ah, const ep_mat *Bh) {
  ep_mat T, L, w;
  double lambda[M], trace = 0;
  CHECK_OK(ep_mat_new(&T, EP_DOUBLE, M, M));
  CHECK_OK(ep_mat_new(&L, EP_DOUBLE, M, M));
  CHECK_OK(ep_mat_new(&w, EP_DOUBLE, M, 1));
  ep_mat_copy(&T, A), ep_mat_copy(&L, B);
  for (int i = 0; i < M; i++) trace += *ep_d(B, i, i);
  for (int i = 0; i < M; i++) *ep_d(&L, i, i) += share * trace / M;
  CHECK_OK(ep_mat_cholesky(&L));
  ep_mat_solve_triangular(&T, &L, EP_N);
  ep_mat_solve_rows(&T, &L);
  ep_mat_symmetrise(&T);
  CHECK_OK(ep_mat_eig_sym(&T, lambda));
  for (int k = 0; k < M; k++) {
    for (int i = 0; i < M; i++) *ep_d(&w, i, 0) = *ep_d(&T, M - 1 - k, i);
    ep_mat_solve_triangular(&w, &L, EP_T);
    rho[k] = form(Ah, ep_d(&w, 0, 0)) / form(Bh, ep_d(&w, 0, 0));
  }
  ep_mat_free(&T), ep_mat_free(&L), ep_mat_free(&w);
}

static double number_of(const ep_fit_info *info, const char *name) {
  return json_number_value(json_object_get(info->numbers, name));
}

/* the choice is the reference's, and the fit that of the numbers chosen */
static void check(bool open_ridge, bool open_outputs, int positives) {
  static ep_setup s;
  ep_points p = make_views(positives);
  ep_model *m, *given;
  ep_fit_info info, plain;
  ep_mat A, B, Ah, Bh, E, F;
  ep_mat *const four[] = {&A, &B, &Ah, &Bh};
  double best = -INFINITY, ridge = 0;
  ptrdiff_t outputs = 4;
  make_setup(&s, "whitened");
  s.net.width = M;
  if (open_ridge) s.closed.ridge = EP_AUTO;
  if (open_outputs) s.net.outputs = EP_AUTO;
  fit(&m, &info, &p, &s);
  ep_mat Psi = all_psi(ep_model_net(m), &p.X, false, 0);
  for (int i = 0; i < 4; i++) CHECK_OK(ep_mat_new(four[i], EP_DOUBLE, M, M));
  covariances(&A, &B, &Psi, &p.pairs, false);
  const double noise = 3 / sqrt(covariances(&Ah, &Bh, &Psi, &p.pairs, true));
  for (int k = 0; k < (open_ridge ? RIDGES : 1); k++) {
    double rho[M], mean = 0, surplus = 0;
    ptrdiff_t above = 0;
    correlations(rho, &A, &B, open_ridge ? ridges[k] : 0.01, &Ah, &Bh);
    for (int j = 0; j < M; j++) {
      if (j < 4) mean += rho[j] / 4;
      surplus += fmax(rho[j] - noise, 0);
      above += rho[j] > noise;
    }
    const double score = open_outputs ? surplus : mean;
    if (score <= best) continue;
    best = score, ridge = open_ridge ? ridges[k] : 0.01;
    if (open_outputs) outputs = above;
  }
  CHECK_NEAR(number_of(&info, "ridge_share"), ridge, 1e-15);
  assert_int_equal(ep_model_outputs(m), outputs);
  assert_true(outputs > 1 && (!open_outputs || outputs < M));
  s.closed.ridge = ridge, s.net.outputs = outputs;
  fit(&given, &plain, &p, &s);
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, outputs));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, outputs));
  CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
  CHECK_OK(ep_model_embed(NULL, &F, given, &p.X));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-8);
  for (int i = 0; i < 4; i++) ep_mat_free(four[i]);
  ep_mat_free(&Psi), ep_mat_free(&E), ep_mat_free(&F);
  drop(m, &info), drop(given, &plain);
  ep_points_free(&p);
}

static void choices(void **state) {
  (void)state;
  check(true, false, 1);
  check(true, false, 3);
  check(false, true, 2);
  check(true, true, 2);
}

static int falling(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* what `views` shows of an augmentation is the reference's */
static void spectra(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_views(2);
  ep_model *m;
  ep_fit_info info;
  ep_view_spectrum found;
  ep_mat four[4];
  double rho[M], mean = 0, shared = 0;
  ptrdiff_t above = 0;
  make_setup(&s, "whitened");
  s.net.width = M;
  fit(&m, &info, &p, &s);
  ep_mat Psi = all_psi(ep_model_net(m), &p.X, false, 0);
  for (int i = 0; i < 4; i++) CHECK_OK(ep_mat_new(&four[i], EP_DOUBLE, M, M));
  covariances(&four[0], &four[1], &Psi, &p.pairs, false);
  const double held = covariances(&four[2], &four[3], &Psi, &p.pairs, true);
  correlations(rho, &four[0], &four[1], s.closed.ridge, &four[2], &four[3]);
  qsort(rho, 4, sizeof *rho, falling); /* of the first outputs */
  CHECK_OK(ep_view_spectrum_new(&found, &p, &s));
  assert_int_equal(found.outputs, 4);
  CHECK_NEAR(found.held, held, 0);
  CHECK_NEAR(found.noise, 3 / sqrt(held), 1e-15);
  for (int k = 0; k < 4; k++) {
    CHECK_NEAR(found.rho[k], rho[k], 1e-8);
    mean += rho[k] / 4;
    shared += fmax(rho[k] - found.noise, 0);
    above += rho[k] > found.noise;
  }
  CHECK_NEAR(found.mean, mean, 1e-8);
  CHECK_NEAR(found.shared, shared, 1e-8);
  assert_int_equal(found.above, above);
  ep_view_spectrum_free(&found);
  s.closed.ridge = EP_AUTO;
  CHECK_STATUS(ep_view_spectrum_new(&found, &p, &s), EP_ERR_ARG);
  for (int i = 0; i < 4; i++) ep_mat_free(&four[i]);
  ep_mat_free(&Psi);
  drop(m, &info);
  ep_points_free(&p);
}

static void refused(void **state) {
  (void)state;
  static ep_setup s;
  ep_model *m;
  ep_fit_info info;
  ep_points few = make_points(&kinds[2]), many = make_views(1);
  make_setup(&s, "whitened");
  s.closed.ridge = EP_AUTO;
  CHECK_STATUS(ep_fit(NULL, &m, &info, &few, &s), EP_ERR_INPUT); /* nobody to hold out */
  ep_fit_info_free(&info);
  make_setup(&s, "pca");
  s.net.outputs = EP_AUTO;
  CHECK_STATUS(ep_fit(NULL, &m, &info, &many, &s), EP_ERR_ARG);
  ep_fit_info_free(&info);
  ep_points_free(&few), ep_points_free(&many);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(choices), cmocka_unit_test(spectra),
                                     cmocka_unit_test(refused)};
  RUN_CLOSED(tests);
}
