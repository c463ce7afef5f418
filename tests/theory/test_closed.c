/* Closed forms: every path against C, A, B and G formed by the definition, in double. */
#include "core/mem.h"
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

static ep_points make_points(const kind_of_pairs *k) {
  const ep_pair_plan plan = {k->positives, k->negatives, k->others};
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

static void make_setup(ep_setup *s, const char *method) {
  ep_setup_default(s);
  strcpy(s->run.precision, "double");
  strcpy(s->files.out, out);
  strcpy(s->fit.method, method);
  s->net.width = 40;
  s->net.outputs = 4;
}

static void fit(ep_model *m, ep_fit_info *info, const ep_points *p, const ep_setup *s) {
  if (ep_fit(m, info, p, s))
    fail_msg("%s, path %s: %s", s->fit.method, s->closed.path, ep_last_error());
}

static void drop(ep_model *m, ep_fit_info *info) {
  ep_model_free(m);
  ep_fit_info_free(info);
}

static double eigenvalue(const ep_fit_info *info, int k) {
  return json_real_value(json_array_get(json_object_get(info->numbers, "eigenvalues"), (size_t)k));
}

/* ---- the definition */

/* psi(x) by the formula */
static void psi_of(double *psi, const ep_net *net, const ep_mat *X, ptrdiff_t i, bool cosine,
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

static ep_mat all_psi(const ep_net *net, const ep_mat *X, bool cosine, double delta) {
  ep_mat Psi;
  CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, X->rows, net->shape.width));
  for (ptrdiff_t i = 0; i < X->rows; i++) psi_of(ep_d(&Psi, i, 0), net, X, i, cosine, delta);
  return Psi;
}

static void add_outer(const ep_mat *C, double a, const double *x, const double *y) {
  for (ptrdiff_t i = 0; i < C->rows; i++)
    for (ptrdiff_t j = 0; j < C->cols; j++) *ep_d(C, i, j) += a * (x[i] * y[j] + y[i] * x[j]) / 2;
}

/* C = 1/N sum a psi_m psi_n', symmetrised; every view of every other anchor a negative where pairs say so */
static ep_mat covariance(const ep_mat *Psi, const ep_pairs *p) {
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
static double outside(const ep_mat *W, const ep_mat *Q) {
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

static double orthonormality(const ep_mat *W) {
  double worst = 0;
  for (ptrdiff_t a = 0; a < W->cols; a++)
    for (ptrdiff_t b = 0; b < W->cols; b++) {
      double dot = -(a == b);
      for (ptrdiff_t i = 0; i < W->rows; i++) dot += ep_get(W, i, a) * ep_get(W, i, b);
      worst = fmax(worst, fabs(dot));
    }
  return worst;
}

/* ---- pca */

static void check_pca(const kind_of_pairs *kind, const char *path, const char *activation,
                      int depth, bool cosine) {
  static ep_setup s;
  ep_points p = make_points(kind);
  ep_model m;
  ep_fit_info info;
  make_setup(&s, "pca");
  strcpy(s.closed.path, path);
  strcpy(s.net.activation, activation);
  strcpy(s.objective.similarity, cosine ? "cosine" : "dot");
  s.net.depth = depth;
  if (kind->deficient) s.net.outputs = 2;
  fit(&m, &info, &p, &s);
  ep_mat Psi = all_psi(&m.net, &p.X, cosine, s.objective.delta), C = covariance(&Psi, &p.pairs);
  double lambda[64], scale;
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  scale = lambda[C.rows - 1];
  double sum = 0;
  for (int k = 0; k < s.net.outputs; k++) {
    CHECK_NEAR(eigenvalue(&info, k), lambda[C.rows - 1 - k], 1e-9 * scale);
    sum += lambda[C.rows - 1 - k];
  }
  CHECK_NEAR(info.loss, -sum, 1e-9 * scale);
  CHECK_NEAR(outside(&m.net.W, &C), 0, 1e-7);
  CHECK_NEAR(orthonormality(&m.net.W), 0, 1e-12);
  for (ptrdiff_t k = 0; k < s.net.outputs; k++) { /* the sign of a column */
    double top = 0;
    for (ptrdiff_t i = 0; i < m.net.W.rows; i++)
      if (fabs(ep_get(&m.net.W, i, k)) > fabs(top)) top = ep_get(&m.net.W, i, k);
    assert_true(top > 0);
  }
  ep_mat_free(&Psi), ep_mat_free(&C);
  drop(&m, &info);
  ep_points_free(&p);
}

static void pca(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int path = kinds[k].others ? 2 : 1; ep_path_name(path); path++)
      for (int c = 0; c < 2; c++) {
        if (path == 3 && kinds[k].others) continue; /* no positive eigenvalue but one */
        check_pca(&kinds[k], ep_path_name(path), "relu", 1, c);
        check_pca(&kinds[k], ep_path_name(path), "tanh", 2, c);
      }
  for (int a = 0; ep_activation_name(a); a++)
    for (int path = 1; ep_path_name(path); path++)
      if (strcmp(ep_activation_name(a), "linear") !=
          0) /* of rank D: fewer positive eigenvalues than outputs */
        check_pca(&kinds[0], ep_path_name(path), ep_activation_name(a), 1, true);
}

/* Blocks smaller than the data, features made again each time: the same numbers. */
static void little_memory(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = {.X = random_mat(EP_DOUBLE, 6000, D, 43)};
  const ep_pair_plan plan = {1, 1, false};
  CHECK_OK(ep_pairs_draw(&p.pairs, 3000, &plan, 1));
  double first[4] = {0};
  for (int k = 0; k < 4; k++) {
    ep_model m;
    ep_fit_info info;
    make_setup(&s, "pca");
    strcpy(s.closed.path, k < 2 ? "primal" : "free");
    s.net.width = 60;
    if (k % 2) s.run.memory = (double)ep_mem_current() + 1.2e6 + (k == 3 ? 1.2e6 : 0);
    fit(&m, &info, &p, &s);
    for (int z = 0; z < 4; z++) {
      if (k == 0) first[z] = eigenvalue(&info, z);
      CHECK_NEAR(eigenvalue(&info, z), first[z], 1e-9 * first[0]);
    }
    drop(&m, &info);
  }
  ep_points_free(&p);
}

/* Two disconnected copies of the same pairs: eigenvalues come in twos, and the gap is said to be missing. */
static void missing_gap(void **state) {
  (void)state;
  static ep_setup s;
  enum { HALF = 6 };
  ep_points p = {0};
  CHECK_OK(ep_mat_new(&p.X, EP_DOUBLE, 4 * HALF, 2 * D));
  ep_mat x = random_mat(EP_DOUBLE, 2 * HALF, D, 44);
  const ep_pair_plan plan = {1, 0, false};
  CHECK_OK(ep_pairs_draw(&p.pairs, 2 * HALF, &plan, 1));
  for (int i = 0; i < 2 * HALF; i++)
    for (int j = 0; j < D; j++) /* anchor i and positive 2 HALF + i: copies in other dimensions */
      ep_set(&p.X, i % 2 * HALF + i / 2 % HALF + (i / 2 >= HALF ? 2 * HALF : 0), i % 2 * D + j, 0);
  for (int h = 0; h < 2; h++)
    for (int i = 0; i < HALF; i++)
      for (int j = 0; j < D; j++) {
        ep_set(&p.X, h * HALF + i, h * D + j, ep_get(&x, i, j));
        ep_set(&p.X, 2 * HALF + h * HALF + i, h * D + j, ep_get(&x, HALF + i, j));
      }
  ep_model m;
  ep_fit_info info;
  make_setup(&s, "infinite");
  strcpy(s.net.activation, "linear");
  strcpy(s.objective.similarity, "dot");
  s.net.outputs = 1;
  fit(&m, &info, &p, &s);
  assert_true(json_is_false(json_object_get(info.numbers, "unique")));
  assert_true(json_array_size(info.notes) == 1);
  drop(&m, &info);
  s.net.outputs = 2;
  fit(&m, &info, &p, &s);
  CHECK_NEAR(eigenvalue(&info, 0), eigenvalue(&info, 1), 1e-10 * eigenvalue(&info, 0));
  assert_true(json_is_true(json_object_get(info.numbers, "unique")));
  drop(&m, &info);
  ep_mat_free(&x);
  ep_points_free(&p);
}

/* ---- infinite */

/* eigenvalues of G^{1/2} S G^{1/2} from a dense S and a dense square root */
static void dense_dual(double *lambda, const ep_mat *G, const ep_pairs *pairs) {
  const ptrdiff_t p = G->rows;
  ep_pair_matrix S;
  ep_mat U, root, SR, H;
  double *d = malloc((size_t)p * sizeof *d);
  CHECK_OK(ep_pair_matrix_new(&S, pairs));
  CHECK_OK(ep_mat_new(&U, EP_DOUBLE, p, p));
  CHECK_OK(ep_mat_new(&root, EP_DOUBLE, p, p));
  CHECK_OK(ep_mat_new(&SR, EP_DOUBLE, p, p));
  CHECK_OK(ep_mat_new(&H, EP_DOUBLE, p, p));
  ep_mat_copy(&U, G);
  CHECK_OK(ep_mat_eig_sym(&U, d));
  for (ptrdiff_t k = 0; k < p; k++)
    for (ptrdiff_t i = 0; i < p; i++) *ep_d(&root, i, k) = *ep_d(&U, k, i) * sqrt(fmax(d[k], 0));
  ep_pair_matrix_mul(&SR, &S, &root);
  ep_mat_mul(&H, 1, &root, EP_T, &SR, EP_N, 0);
  CHECK_OK(ep_mat_eig_sym(&H, lambda));
  free(d);
  ep_pair_matrix_free(&S);
  ep_mat_free(&U), ep_mat_free(&root), ep_mat_free(&SR), ep_mat_free(&H);
}

static void check_infinite(const kind_of_pairs *kind, const char *activation, int depth,
                           bool cosine) {
  static ep_setup s;
  ep_points p = make_points(kind);
  const ptrdiff_t n = p.X.rows;
  ep_model m, back;
  ep_fit_info info;
  ep_mat G, E, GY, SGY;
  ep_pair_matrix S;
  double lambda[128];
  make_setup(&s, "infinite");
  strcpy(s.net.activation, activation);
  strcpy(s.objective.similarity, cosine ? "cosine" : "dot");
  s.net.depth = depth;
  if (kind->deficient) s.net.outputs = 2;
  const ptrdiff_t z = s.net.outputs;
  fit(&m, &info, &p, &s);
  assert_true(m.X.rows == n && m.Y.rows == n && m.Y.cols == z);
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_new(&GY, EP_DOUBLE, n, z));
  CHECK_OK(ep_mat_new(&SGY, EP_DOUBLE, n, z));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, n, z));
  CHECK_OK(ep_analytic_kernel(&G, &m.analytic, EP_NNGP, &p.X, NULL));
  if (cosine) {
    double norm[128];
    for (ptrdiff_t i = 0; i < n; i++) norm[i] = sqrt(*ep_d(&G, i, i)) + s.objective.delta;
    for (ptrdiff_t i = 0; i < n; i++)
      for (ptrdiff_t j = 0; j < n; j++) *ep_d(&G, i, j) /= norm[i] * norm[j];
  }
  dense_dual(lambda, &G, &p.pairs);
  const double top = lambda[n - 1];
  for (ptrdiff_t k = 0; k < z; k++)
    CHECK_NEAR(eigenvalue(&info, (int)k), lambda[n - 1 - k], 1e-9 * top);
  /* S G Y = Y Lambda, Y'GY = I */
  ep_mat_mul(&GY, 1, &G, EP_N, &m.Y, EP_N, 0);
  CHECK_OK(ep_pair_matrix_new(&S, &p.pairs));
  ep_pair_matrix_mul(&SGY, &S, &GY);
  for (ptrdiff_t k = 0; k < z; k++) {
    double biggest = 0;
    for (ptrdiff_t i = 0; i < n; i++) biggest = fmax(biggest, fabs(ep_get(&m.Y, i, k)));
    for (ptrdiff_t i = 0; i < n; i++)
      CHECK_NEAR(ep_get(&SGY, i, k), eigenvalue(&info, (int)k) * ep_get(&m.Y, i, k),
                 1e-8 * biggest * top);
    for (ptrdiff_t l = 0; l < z; l++) {
      double dot = 0;
      for (ptrdiff_t i = 0; i < n; i++) dot += ep_get(&m.Y, i, l) * ep_get(&GY, i, k);
      CHECK_NEAR(dot, k == l, 1e-8);
    }
  }
  /* a point of the training set embeds the same in and out of sample, also from the file */
  CHECK_OK(ep_model_embed(&E, &m, &p.X, 1e9));
  CHECK_NEAR(mat_gap(&E, &GY), 0, 1e-10 * fmax(1, ep_mat_max(&GY)));
  CHECK_OK(ep_model_save(out, &m));
  CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
  CHECK_OK(ep_model_embed(&GY, &back, &p.X, 1e5));
  CHECK_NEAR(mat_gap(&E, &GY), 0, 1e-12 * fmax(1, ep_mat_max(&GY)));
  ep_model_free(&back);
  ep_pair_matrix_free(&S);
  ep_mat_free(&G), ep_mat_free(&GY), ep_mat_free(&SGY), ep_mat_free(&E);
  drop(&m, &info);
  ep_points_free(&p);
}

static void infinite(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int c = 0; c < 2 && !kinds[k].others; c++) {
      check_infinite(&kinds[k], "relu", 1, c);
      check_infinite(&kinds[k], "erf", 3, c);
    }
  check_infinite(&kinds[0], "tanh", 1, true);
  check_infinite(&kinds[0], "gelu", 2, true);
}

/* All points as landmarks, out of order: the exact answer. Fewer: less trace, by as much as is said. */
static void landmarks(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[3]);
  ep_model exact, m;
  ep_fit_info a, b;
  make_setup(&s, "infinite");
  fit(&exact, &a, &p, &s);
  const ep_analytic kernel = exact.analytic;
  ep_features map;
  CHECK_OK(ep_features_landmarks(&map, &kernel, &p.X, exact.psi));
  assert_true(map.count < p.X.rows); /* zero and repeated points are left out */
  ep_mat Psi, G, H;
  CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, p.X.rows, map.count));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, p.X.rows, p.X.rows));
  CHECK_OK(ep_mat_new(&H, EP_DOUBLE, p.X.rows, p.X.rows));
  CHECK_OK(ep_features_map(&Psi, &map, &p.X));
  CHECK_OK(ep_kappa(&G, &kernel, exact.psi, &p.X, NULL));
  ep_mat_gram(&H, 1, &Psi, 0);
  CHECK_NEAR(mat_gap(&G, &H), 0, 1e-12);
  s.closed.landmarks = 30;
  fit(&m, &b, &p, &s);
  double trace = 0, left = 0;
  for (ptrdiff_t i = 0; i < p.X.rows; i++) trace += *ep_d(&G, i, i);
  /* G - K(X,L) K(L,L)^{-1} K(L,X) from the model's own landmarks */
  ep_mat K, L;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, p.X.rows, m.X.rows));
  CHECK_OK(ep_mat_new(&L, EP_DOUBLE, m.X.rows, m.X.rows));
  CHECK_OK(ep_kappa(&K, &kernel, exact.psi, &p.X, &m.X));
  CHECK_OK(ep_kappa(&L, &kernel, exact.psi, &m.X, NULL));
  CHECK_OK(ep_mat_cholesky(&L));
  ep_mat_solve_rows(&K, &L);
  for (ptrdiff_t i = 0; i < p.X.rows; i++) {
    left += *ep_d(&G, i, i);
    for (ptrdiff_t j = 0; j < K.cols; j++) left -= *ep_d(&K, i, j) * *ep_d(&K, i, j);
  }
  CHECK_NEAR(json_real_value(json_object_get(b.numbers, "gram_error")), left / trace, 1e-10);
  assert_true(left / trace > 1e-3 && m.X.rows <= 30);
  for (int k = 0; k < 4; k++) /* C seen in a subspace: eigenvalues of a compression */
    assert_true(eigenvalue(&b, k) <= eigenvalue(&a, k) + 1e-12);
  ep_features_free(&map);
  ep_mat_free(&Psi), ep_mat_free(&G), ep_mat_free(&H), ep_mat_free(&K), ep_mat_free(&L);
  drop(&exact, &a);
  drop(&m, &b);
  ep_points_free(&p);
}

/* pca tends to infinite as the width grows: mean |lambda - lambda_infinite| falls as M^{-1/2}. */
static void limit(void **state) {
  (void)state;
  static ep_setup s;
  enum { WIDTHS = 4, SEEDS = 16, Z = 4 };
  const double width[WIDTHS] = {64, 256, 1024, 4096};
  ep_points p = make_points(&kinds[0]);
  double wanted[Z], sx = 0, sy = 0, sxx = 0, sxy = 0;
  ep_model m;
  ep_fit_info info;
  make_setup(&s, "infinite");
  fit(&m, &info, &p, &s);
  for (int k = 0; k < Z; k++) wanted[k] = eigenvalue(&info, k);
  drop(&m, &info);
  for (int w = 0; w < WIDTHS; w++) {
    double gap = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      make_setup(&s, "pca");
      s.net.width = (long)width[w];
      s.run.seed = seed;
      fit(&m, &info, &p, &s);
      for (int k = 0; k < Z; k++) gap += fabs(eigenvalue(&info, k) - wanted[k]) / wanted[k];
      drop(&m, &info);
    }
    const double x = log(width[w]), y = log(gap);
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double exponent = (WIDTHS * sxy - sx * sy) / (WIDTHS * sxx - sx * sx);
  print_message("pca against infinite: exponent %.3f\n", exponent);
  CHECK_NEAR(exponent, -0.5, 0.1);
  ep_points_free(&p);
}

/* ---- whitened */

/* A and B by their definitions */
static void view_covariances(const ep_mat *A, const ep_mat *B, double *mean, const ep_mat *Psi,
                             const ep_pairs *p) {
  const ptrdiff_t m = Psi->cols;
  double views = 0, couples = 0;
  for (int pass = 0; pass < 2; pass++) /* the mean first */
    for (ptrdiff_t n = 0; n < p->anchors; n++) {
      const ptrdiff_t size = 1 + p->start[n + 1] - p->start[n];
      for (ptrdiff_t v = 0; v < size; v++) {
        const double *x = ep_d(Psi, v ? p->partner[p->start[n] + v - 1] : p->anchor[n], 0);
        if (pass == 0) views++;
        for (ptrdiff_t i = 0; pass == 0 && i < m; i++) mean[i] += x[i];
        for (ptrdiff_t u = 0; pass == 1 && u < size; u++) {
          const double *y = ep_d(Psi, u ? p->partner[p->start[n] + u - 1] : p->anchor[n], 0);
          if (u != v) couples++;
          for (ptrdiff_t i = 0; i < m; i++)
            for (ptrdiff_t j = 0; j < m; j++)
              *ep_d(u == v ? B : A, i, j) += (x[i] - mean[i]) * (y[j] - mean[j]);
        }
      }
      if (pass == 0 && n == p->anchors - 1)
        for (ptrdiff_t i = 0; i < m; i++) mean[i] /= views;
    }
  for (ptrdiff_t i = 0; i < m * m; i++) *ep_d(A, 0, i) /= couples, *ep_d(B, 0, i) /= views;
}

static void check_whitened(int positives, bool cosine, bool kernel) {
  static ep_setup s;
  const kind_of_pairs kind = {"", positives, 0, true, false, false};
  ep_points p = make_points(&kind);
  ep_model m, back;
  ep_fit_info info;
  ep_mat A, B, Psi, AW, BW, E, F;
  double *mean;
  make_setup(&s, "whitened");
  if (cosine) strcpy(s.objective.similarity, "cosine");
  if (kernel) strcpy(s.fit.kernel, "analytic");
  s.closed.ridge = 0.05;
  fit(&m, &info, &p, &s);
  ep_features map = {0};
  if (kernel) {
    CHECK_OK(ep_features_landmarks(&map, &m.analytic, &m.X, m.psi));
    CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, p.X.rows, map.count));
    CHECK_OK(ep_features_map(&Psi, &map, &p.X));
  } else {
    Psi = all_psi(&m.net, &p.X, cosine, s.objective.delta);
  }
  const ptrdiff_t k = Psi.cols, z = s.net.outputs;
  mean = calloc((size_t)k, sizeof *mean);
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, k, k));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, k, k));
  CHECK_OK(ep_mat_new(&AW, EP_DOUBLE, k, z));
  CHECK_OK(ep_mat_new(&BW, EP_DOUBLE, k, z));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, z));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, z));
  view_covariances(&A, &B, mean, &Psi, &p.pairs);
  double trace = 0;
  for (ptrdiff_t i = 0; i < k; i++) trace += *ep_d(&B, i, i);
  CHECK_NEAR(json_real_value(json_object_get(info.numbers, "ridge")), 0.05 * trace / (double)k,
             1e-14);
  for (ptrdiff_t i = 0; i < k; i++) *ep_d(&B, i, i) += 0.05 * trace / (double)k;
  /* W = L'Y for a kernel: psi(x)'W = kappa(x, X)'Y */
  ep_mat W;
  CHECK_OK(ep_mat_new(&W, EP_DOUBLE, k, z));
  if (kernel) ep_mat_mul(&W, 1, &map.landmarks.L, EP_T, &m.Y, EP_N, 0);
  else ep_mat_copy(&W, &m.net.W);
  /* A W = (B + r) W Lambda, W'(B + r)W = I */
  ep_mat_mul(&AW, 1, &A, EP_N, &W, EP_N, 0);
  ep_mat_mul(&BW, 1, &B, EP_N, &W, EP_N, 0);
  for (ptrdiff_t a = 0; a < z; a++)
    for (ptrdiff_t b = 0; b < z; b++) {
      double ww = 0, waw = 0;
      for (ptrdiff_t i = 0; i < k; i++)
        ww += ep_get(&W, i, a) * ep_get(&BW, i, b), waw += ep_get(&W, i, a) * ep_get(&AW, i, b);
      CHECK_NEAR(ww, a == b, 1e-9);
      CHECK_NEAR(waw, a == b ? eigenvalue(&info, (int)a) : 0, 1e-9);
    }
  for (ptrdiff_t i = 0; i < k; i++)
    for (ptrdiff_t a = 0; a < z; a++)
      CHECK_NEAR(ep_get(&AW, i, a), eigenvalue(&info, (int)a) * ep_get(&BW, i, a), 1e-8);
  if (!kernel) { /* the largest: against the dense problem L^{-1} A L'^{-1} */
    double all[64];
    CHECK_OK(ep_mat_cholesky(&B));
    ep_mat_solve_triangular(&A, &B, EP_N);
    ep_mat_solve_rows(&A, &B);
    CHECK_OK(ep_mat_eig_sym(&A, all));
    for (int a = 0; a < z; a++) CHECK_NEAR(eigenvalue(&info, a), all[k - 1 - a], 1e-10);
  }
  /* outputs are W'(psi - mean), also from the file */
  for (ptrdiff_t i = 0; i < p.X.rows; i++)
    for (ptrdiff_t a = 0; a < z; a++) {
      double sum = 0;
      for (ptrdiff_t j = 0; j < k; j++) sum += ep_get(&W, j, a) * (*ep_d(&Psi, i, j) - mean[j]);
      *ep_d(&F, i, a) = sum;
    }
  CHECK_OK(ep_model_embed(&E, &m, &p.X, 1e9));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-9);
  CHECK_OK(ep_model_save(out, &m));
  CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
  CHECK_OK(ep_model_embed(&F, &back, &p.X, 3e6));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-11);
  ep_model_free(&back);
  free(mean);
  ep_features_free(&map);
  ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&Psi), ep_mat_free(&AW), ep_mat_free(&BW);
  ep_mat_free(&E), ep_mat_free(&F), ep_mat_free(&W);
  drop(&m, &info);
  ep_points_free(&p);
}

static void whitened(void **state) {
  (void)state;
  check_whitened(1, false, false);
  check_whitened(3, false, false);
  check_whitened(2, true, false);
  check_whitened(2, true, true);
  check_whitened(1, false, true);
}

/* ---- grassmann, iterate, --track c */

static void grassmann(void **state) {
  (void)state;
  static ep_setup s;
  for (int polar = 0; polar < 2; polar++)
    for (int cosine = 0; cosine < 2; cosine++) {
      ep_points p = make_points(&kinds[0]);
      ep_model m, reference;
      ep_fit_info info;
      make_setup(&s, "pca");
      strcpy(s.objective.similarity, cosine ? "cosine" : "dot");
      fit(&reference, &info, &p, &s);
      ep_mat Psi = all_psi(&reference.net, &p.X, cosine, s.objective.delta);
      ep_mat C = covariance(&Psi, &p.pairs);
      double lambda[64];
      CHECK_OK(ep_mat_eig_sym(&C, lambda));
      ep_fit_info_free(&info);
      strcpy(s.fit.method, "grassmann");
      strcpy(s.closed.retraction, polar ? "polar" : "qr");
      s.closed.frozen = true;
      s.fit.rate = 0.4 / lambda[C.rows - 1];
      s.fit.epochs = 4000;
      fit(&m, &info, &p, &s);
      CHECK_NEAR(mat_gap(&m.net.V[0], &reference.net.V[0]), 0, 0);
      CHECK_NEAR(outside(&m.net.W, &C), 0, 1e-6); /* sines of the principal angles */
      CHECK_NEAR(orthonormality(&m.net.W), 0, 1e-10);
      CHECK_NEAR(info.loss, -(lambda[39] + lambda[38] + lambda[37] + lambda[36]), 1e-10);
      drop(&m, &info);
      s.closed.frozen = false; /* V moves too, and the loss falls further */
      s.fit.epochs = 50;
      const double frozen = -(lambda[39] + lambda[38] + lambda[37] + lambda[36]);
      s.fit.epochs = 3000;
      fit(&m, &info, &p, &s);
      CHECK_NEAR(orthonormality(&m.net.W), 0, 1e-10);
      assert_true(info.loss < frozen);
      drop(&m, &info);
      ep_mat_free(&Psi), ep_mat_free(&C);
      ep_model_free(&reference);
      ep_points_free(&p);
    }
}

/* One iteration by hand: W0 = PCA of C(V0), V1 = V0 - eta dL/dV, W1 = PCA of C(V1). The derivative by differences. */
static void iterate(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]);
  ep_model m, start;
  ep_fit_info info;
  const double eta = 0.7, h = 1e-6;
  make_setup(&s, "pca");
  strcpy(s.net.activation, "tanh");
  s.net.width = 12;
  fit(&start, &info, &p, &s);
  ep_fit_info_free(&info);
  strcpy(s.fit.method, "iterate");
  s.fit.rate = eta;
  s.fit.epochs = 1;
  fit(&m, &info, &p, &s);
  double worst = 0;
  for (ptrdiff_t i = 0; i < start.net.V[0].rows * D; i++) {
    double value[2], *v = ep_d(&start.net.V[0], 0, i), keep = *v;
    for (int side = 0; side < 2; side++) { /* -Tr(W0'C(V)W0) */
      *v = keep + (side ? h : -h);
      ep_mat Psi = all_psi(&start.net, &p.X, true, s.objective.delta),
             C = covariance(&Psi, &p.pairs);
      value[side] = 0;
      for (ptrdiff_t z = 0; z < 4; z++)
        for (ptrdiff_t a = 0; a < 12; a++)
          for (ptrdiff_t b = 0; b < 12; b++)
            value[side] -=
                ep_get(&start.net.W, a, z) * *ep_d(&C, a, b) * ep_get(&start.net.W, b, z);
      ep_mat_free(&Psi), ep_mat_free(&C);
    }
    *v = keep;
    worst =
        fmax(worst, fabs(keep - eta * (value[1] - value[0]) / (2 * h) - *ep_d(&m.net.V[0], 0, i)));
  }
  CHECK_NEAR(worst, 0, 1e-8);
  ep_mat Psi = all_psi(&m.net, &p.X, true, s.objective.delta), C = covariance(&Psi, &p.pairs);
  double lambda[64];
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  CHECK_NEAR(outside(&m.net.W, &C), 0, 1e-7);
  CHECK_NEAR(info.loss, -(lambda[11] + lambda[10] + lambda[9] + lambda[8]), 1e-10);
  ep_mat_free(&Psi), ep_mat_free(&C);
  drop(&m, &info);
  ep_model_free(&start);
  ep_points_free(&p);
}

static void tracked(void **state) {
  (void)state;
  static ep_setup s;
  for (int c = 0; c < 4; c++) {
    ep_points p = make_points(&kinds[c == 3 ? 1 : 0]);
    ep_model m;
    ep_fit_info info;
    ep_net start;
    make_setup(&s, c == 2 ? "gd" : c == 3 ? "iterate" : "grassmann");
    strcpy(s.objective.similarity, c ? "cosine" : "dot");
    strcpy(s.fit.track, "c");
    s.net.width = c == 1 || c == 2 ? 60 : 40; /* more features than points, and fewer */
    s.fit.epochs = 3;
    fit(&m, &info, &p, &s);
    assert_string_equal(info.history.name[2], "c_frobenius");
    CHECK_NEAR(info.history.value[2], 0, 0);
    CHECK_OK(ep_net_start(&start, &s.net, D, 0, EP_DOUBLE));
    ep_mat P0 = all_psi(&start, &p.X, c > 0, s.objective.delta), C0 = covariance(&P0, &p.pairs);
    ep_mat P1 = all_psi(&m.net, &p.X, c > 0, s.objective.delta), C1 = covariance(&P1, &p.pairs);
    const double drift = sqrt(ep_mat_distance2(&C0, &C1));
    CHECK_NEAR(info.history.value[3 * 3 + 2], drift, 1e-10 * drift);
    assert_true(drift > 1e-8);
    ep_mat_free(&P0), ep_mat_free(&P1), ep_mat_free(&C0), ep_mat_free(&C1);
    ep_net_free(&start);
    drop(&m, &info);
    ep_points_free(&p);
  }
}

/* ---- patches */

enum { H = 9, WIDE = 8, FILTERS = 5, SIZE = 3, GRID = 2 };

static ep_points make_images(int channels, int positives) {
  const ep_pair_plan plan = {positives, 0, false};
  ep_points p = {.X = random_mat(EP_DOUBLE, (ptrdiff_t)N * (1 + positives),
                                 (ptrdiff_t)channels * H * WIDE, 46),
                 .shape = {channels, H, WIDE}};
  CHECK_OK(ep_pairs_draw(&p.pairs, N, &plan, 3));
  for (ptrdiff_t j = 0; j < p.X.cols; j++) ep_set(&p.X, 3, j, 0);
  return p;
}

static void check_patches(int channels, const char *filters, ep_precision prec) {
  ep_feature_config config;
  ep_features map;
  ep_points p = make_images(channels, 1);
  ep_mat Psi, X;
  ep_options_default(ep_feature_options, &config);
  strcpy(config.features, "patches:5,3,2");
  strcpy(config.filters, filters);
  CHECK_OK(ep_mat_new(&X, prec, p.X.rows, p.X.cols));
  ep_mat_copy(&X, &p.X);
  CHECK_OK(ep_features_patches(&map, &config, &X, p.shape, (ep_psi){false, 0}, 1));
  assert_int_equal(map.count, FILTERS * GRID * GRID);
  CHECK_OK(ep_mat_new(&Psi, prec, X.rows, map.count));
  CHECK_OK(ep_features_map(&Psi, &map, &X));
  for (ptrdiff_t k = 0; k < FILTERS; k++) { /* filters have mean 0 and norm 1 */
    double mean = 0, norm = 0;
    for (ptrdiff_t j = 0; j < map.patches.F.cols; j++) {
      mean += ep_get(&map.patches.F, k, j);
      norm += pow(ep_get(&map.patches.F, k, j), 2);
    }
    CHECK_NEAR(mean, 0, 1e-5);
    CHECK_NEAR(norm, 1, 1e-5);
  }
  const int down = H - SIZE + 1, across = WIDE - SIZE + 1;
  for (ptrdiff_t i = 0; i < X.rows; i++)
    for (int u = 0; u < GRID; u++)
      for (int v = 0; v < GRID; v++)
        for (int k = 0; k < FILTERS; k++) {
          double sum = 0;
          int places = 0;
          for (int y = u * down / GRID; y < (u + 1) * down / GRID; y++)
            for (int x = v * across / GRID; x < (v + 1) * across / GRID; x++, places++) {
              double r = -ep_get(&map.patches.theta, 0, k);
              for (int c = 0; c < channels; c++)
                for (int a = 0; a < SIZE; a++)
                  for (int b = 0; b < SIZE; b++)
                    r += ep_get(&map.patches.F, k, (c * SIZE + a) * SIZE + b) *
                         ep_get(&X, i, (c * H + y + a) * WIDE + x + b);
              sum += fmax(r, 0);
            }
          CHECK_NEAR(ep_get(&Psi, i, (u * GRID + v) * FILTERS + k),
                     sum / places / sqrt((double)map.count), prec == EP_SINGLE ? 1e-5 : 1e-13);
        }
  ep_features_free(&map);
  ep_mat_free(&Psi), ep_mat_free(&X);
  ep_points_free(&p);
}

/* through a fit, a file and an embedding */
static void patch_models(void) {
  static ep_setup s;
  for (int k = 0; k < 4; k++) {
    ep_points p = make_images(1, 2);
    ep_model m, back;
    ep_fit_info info;
    ep_mat E, F;
    make_setup(&s, k < 2 ? "pca" : "whitened");
    strcpy(s.feature.features, "patches:5,3,2");
    if (k % 2) strcpy(s.objective.similarity, "cosine");
    else strcpy(s.objective.similarity, "dot");
    fit(&m, &info, &p, &s);
    CHECK_OK(ep_model_save(out, &m));
    CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
    CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, 4));
    CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, 4));
    if (k < 2) m.normalise = back.normalise = true; /* Tr(U'SU) = sum of eigenvalues, U = Psi W */
    CHECK_OK(ep_model_embed(&E, &m, &p.X, 1e9));
    CHECK_OK(ep_model_embed(&F, &back, &p.X, 1e3));
    CHECK_NEAR(mat_gap(&E, &F), 0, 1e-12);
    if (k < 2) {
      ep_pair_matrix S;
      double sum = 0;
      CHECK_OK(ep_pair_matrix_new(&S, &p.pairs));
      ep_pair_matrix_mul(&F, &S, &E);
      for (ptrdiff_t i = 0; i < E.rows * E.cols; i++) sum += *ep_d(&E, 0, i) * *ep_d(&F, 0, i);
      CHECK_NEAR(sum, -info.loss, 1e-12);
      ep_pair_matrix_free(&S);
    }
    ep_mat_free(&E), ep_mat_free(&F);
    ep_model_free(&back);
    drop(&m, &info);
    ep_points_free(&p);
  }
}

static void patches(void **state) {
  (void)state;
  check_patches(1, "data", EP_DOUBLE);
  check_patches(3, "data", EP_DOUBLE);
  check_patches(2, "gaussian", EP_DOUBLE);
  check_patches(1, "data", EP_SINGLE);
  patch_models();
  ep_feature_config config;
  ep_features map;
  ep_points p = make_images(1, 1);
  ep_options_default(ep_feature_options, &config);
  static const char *const bad[] = {"patches:0",  "patches:x",   "patches:5,3,2,1",
                                    "patches:5,", "patches:5,9", "patches:5,3,7"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    strcpy(config.features, bad[i]);
    CHECK_STATUS(ep_features_patches(&map, &config, &p.X, p.shape, (ep_psi){false, 0}, 1),
                 EP_ERR_ARG);
  }
  strcpy(config.features, "patches");
  CHECK_STATUS(ep_features_patches(&map, &config, &p.X, (ep_image_shape){0}, (ep_psi){false, 0}, 1),
               EP_ERR_INPUT);
  ep_points_free(&p);
}

/* ---- single precision, refusals, memory */

/* In single precision the three paths agree to what single precision can say. */
static void single(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]), q = make_points(&kinds[0]);
  ep_model m;
  ep_fit_info info;
  double wanted[4];
  make_setup(&s, "pca");
  fit(&m, &info, &p, &s);
  for (int k = 0; k < 4; k++) wanted[k] = eigenvalue(&info, k);
  drop(&m, &info);
  ep_mat_free(&q.X);
  CHECK_OK(ep_mat_new(&q.X, EP_SINGLE, p.X.rows, p.X.cols));
  ep_mat_copy(&q.X, &p.X);
  strcpy(s.run.precision, "single");
  for (int path = 1; ep_path_name(path); path++) {
    strcpy(s.closed.path, ep_path_name(path));
    fit(&m, &info, &q, &s);
    for (int k = 0; k < 4; k++) CHECK_NEAR(eigenvalue(&info, k), wanted[k], 1e-5 * wanted[0]);
    CHECK_NEAR(orthonormality(&m.net.W), 0, 1e-5);
    drop(&m, &info);
  }
  ep_points_free(&p);
  ep_points_free(&q);
}

static void refusals(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]), positives = make_points(&kinds[2]);
  ep_model m;
  ep_fit_info info;
  make_setup(&s, "pca");
  strcpy(s.objective.loss, "softmax");
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "pca");
  s.net.outputs = 41;
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "infinite");
  s.net.outputs = 40;
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "whitened");
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_INPUT);
  s.closed.ridge = 0;
  strcpy(s.net.activation, "linear");
  CHECK_STATUS(ep_fit(&m, &info, &positives, &s), EP_ERR_NUMERIC);
  make_setup(&s, "grassmann");
  strcpy(s.objective.loss, "barlow");
  CHECK_STATUS(ep_fit(&m, &info, &positives, &s), EP_ERR_ARG);
  make_setup(&s, "grassmann");
  strcpy(s.feature.features, "patches");
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "infinite");
  strcpy(s.feature.features, "patches");
  CHECK_STATUS(ep_fit(&m, &info, &p, &s), EP_ERR_ARG);
  ep_points_free(&p);
  ep_points_free(&positives);
}

static ep_status fit_and_back(const ep_points *p, const ep_setup *s) {
  ep_model m;
  ep_fit_info info;
  ep_mat E = {0};
  ep_status st = ep_fit(&m, &info, p, s);
  ep_fit_info_free(&info);
  if (st) return st;
  st = ep_mat_new(&E, EP_DOUBLE, p->X.rows, 4);
  if (!st) st = ep_model_embed(&E, &m, &p->X, 1e9);
  ep_mat_free(&E);
  ep_model_free(&m);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  static const struct {
    const char *method, *path, *kernel;
    long landmarks;
    bool patches;
  } c[] = {
      {"pca", "primal", "empirical", 0, false},     {"pca", "free", "empirical", 0, false},
      {"pca", "dual", "empirical", 0, false},       {"infinite", "auto", "empirical", 0, false},
      {"infinite", "auto", "empirical", 20, false}, {"whitened", "auto", "empirical", 0, false},
      {"whitened", "auto", "analytic", 20, false},  {"grassmann", "auto", "empirical", 0, false},
      {"iterate", "auto", "empirical", 0, false},   {"pca", "auto", "empirical", 0, true}};
  static ep_setup s;
  for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
    ep_points p = c[k].patches ? make_images(1, 1) : make_points(&kinds[2]);
    const size_t before = ep_mem_current();
    make_setup(&s, c[k].method);
    strcpy(s.closed.path, c[k].path);
    strcpy(s.fit.kernel, c[k].kernel);
    s.closed.landmarks = c[k].landmarks;
    s.fit.epochs = 2;
    if (c[k].patches) strcpy(s.feature.features, "patches:5,3,2");
    if (k == 7 || k == 8) strcpy(s.fit.track, "c");
    if (k == 8) s.net.width = 60;
    ep_status st = EP_ERR_NOMEM;
    int n = 0;
    for (; st == EP_ERR_NOMEM; n++) {
      ep_alloc_fail_after = n;
      st = fit_and_back(&p, &s);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
    assert_true(n > 8);
    ep_points_free(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pca),      cmocka_unit_test(little_memory), cmocka_unit_test(missing_gap),
      cmocka_unit_test(infinite), cmocka_unit_test(landmarks),     cmocka_unit_test(limit),
      cmocka_unit_test(whitened), cmocka_unit_test(grassmann),     cmocka_unit_test(iterate),
      cmocka_unit_test(tracked),  cmocka_unit_test(patches),       cmocka_unit_test(single),
      cmocka_unit_test(refusals), cmocka_unit_test(out_of_memory),
  };
  strcpy(out, "/tmp/ep_closed_XXXXXX");
  const int file = mkstemp(out);
  if (file < 0) return 1;
  close(file);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  unlink(out);
  return failed;
}
