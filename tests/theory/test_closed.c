/* Closed forms: every path against C, A, B and G formed by the definition, in double. */
#include "theory/closed.h"

/* ---- pca */

static void check_pca(const kind_of_pairs *kind, int path, const char *activation, int depth,
                      bool cosine) {
  static ep_setup s;
  ep_points p = make_points(kind);
  ep_model *m;
  ep_fit_info info;
  make_setup(&s, "pca");
  s.closed.path = path;
  strcpy(s.net.activation, activation);
  s.objective.similarity = cosine ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
  s.net.depth = depth;
  if (kind->deficient) s.net.outputs = 2;
  fit(&m, &info, &p, &s);
  ep_mat Psi = all_psi(ep_model_net(m), &p.X, cosine, s.objective.delta),
         C = covariance(&Psi, &p.pairs);
  double lambda[64], scale;
  CHECK_OK(ep_mat_eig_sym(&C, lambda));
  scale = lambda[C.rows - 1];
  double sum = 0;
  for (int k = 0; k < s.net.outputs; k++) {
    CHECK_NEAR(eigenvalue(&info, k), lambda[C.rows - 1 - k], 1e-9 * scale);
    sum += lambda[C.rows - 1 - k];
  }
  CHECK_NEAR(info.loss, -sum, 1e-9 * scale);
  CHECK_NEAR(outside(&ep_model_net(m)->W, &C), 0, 1e-7);
  CHECK_NEAR(orthonormality(&ep_model_net(m)->W), 0, 1e-12);
  for (ptrdiff_t k = 0; k < s.net.outputs; k++) { /* the sign of a column */
    double top = 0;
    for (ptrdiff_t i = 0; i < ep_model_net(m)->W.rows; i++)
      if (fabs(ep_get(&ep_model_net(m)->W, i, k)) > fabs(top))
        top = ep_get(&ep_model_net(m)->W, i, k);
    assert_true(top > 0);
  }
  ep_mat_free(&Psi), ep_mat_free(&C);
  drop(m, &info);
  ep_points_free(&p);
}

static void pca(void **state) {
  (void)state;
  for (int k = 0; k < KINDS; k++)
    for (int path = kinds[k].others ? 2 : 1; ep_path_name(path); path++)
      for (int c = 0; c < 2; c++) {
        if (path == 3 && kinds[k].others) continue; /* no positive eigenvalue but one */
        check_pca(&kinds[k], path, "relu", 1, c);
        check_pca(&kinds[k], path, "tanh", 2, c);
      }
  for (int a = 0; ep_activation_name(a); a++)
    for (int path = 1; ep_path_name(path); path++)
      if (strcmp(ep_activation_name(a), "linear") !=
          0) /* of rank D: fewer positive eigenvalues than outputs */
        check_pca(&kinds[0], path, ep_activation_name(a), 1, true);
}

/* Blocks smaller than the data, features made again each time: the same numbers. */
static void little_memory(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = {.X = random_mat(EP_DOUBLE, 6000, D, 43)};
  const ep_pair_plan plan = {1, 1, false, false};
  CHECK_OK(ep_pairs_draw(&p.pairs, 3000, &plan, 1));
  double first[4] = {0};
  for (int k = 0; k < 4; k++) {
    ep_model *m;
    ep_fit_info info;
    make_setup(&s, "pca");
    s.closed.path = k < 2 ? EP_PATH_PRIMAL : EP_PATH_FREE;
    s.net.width = 60;
    if (k % 2) s.run.memory = (double)ep_mem_current() + 1.2e6 + (k == 3 ? 1.2e6 : 0);
    fit(&m, &info, &p, &s);
    for (int z = 0; z < 4; z++) {
      if (k == 0) first[z] = eigenvalue(&info, z);
      CHECK_NEAR(eigenvalue(&info, z), first[z], 1e-9 * first[0]);
    }
    drop(m, &info);
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
  const ep_pair_plan plan = {1, 0, false, false};
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
  ep_model *m;
  ep_fit_info info;
  make_setup(&s, "infinite");
  strcpy(s.net.activation, "linear");
  s.objective.similarity = EP_SIMILARITY_DOT;
  s.net.outputs = 1;
  fit(&m, &info, &p, &s);
  assert_true(json_is_false(json_object_get(info.numbers, "unique")));
  assert_true(json_array_size(info.notes) == 1);
  drop(m, &info);
  s.net.outputs = 2;
  fit(&m, &info, &p, &s);
  CHECK_NEAR(eigenvalue(&info, 0), eigenvalue(&info, 1), 1e-10 * eigenvalue(&info, 0));
  assert_true(json_is_true(json_object_get(info.numbers, "unique")));
  assert_int_equal(info.spectrum.count, 2); /* the same, typed */
  assert_true(info.spectrum.value[1] == eigenvalue(&info, 1));
  assert_true(info.spectrum.gap == json_real_value(json_object_get(info.numbers, "gap")));
  assert_string_equal(info.path, json_string_value(json_object_get(info.numbers, "path")));
  drop(m, &info);
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
  ep_model *m, *back;
  ep_fit_info info;
  ep_mat G, E, GY, SGY;
  ep_pair_matrix S;
  double lambda[128];
  make_setup(&s, "infinite");
  strcpy(s.net.activation, activation);
  s.objective.similarity = cosine ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
  s.net.depth = depth;
  if (kind->deficient) s.net.outputs = 2;
  const ptrdiff_t z = s.net.outputs;
  fit(&m, &info, &p, &s);
  const ep_mat *const Y = model_Y(m);
  ep_analytic kernel;
  CHECK_OK(ep_closed_kernel(&kernel, &p, &s));
  assert_true(model_X(m)->rows == n && Y->rows == n && Y->cols == z);
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, n, n));
  CHECK_OK(ep_mat_new(&GY, EP_DOUBLE, n, z));
  CHECK_OK(ep_mat_new(&SGY, EP_DOUBLE, n, z));
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, n, z));
  CHECK_OK(ep_analytic_kernel(NULL, &G, &kernel, EP_NNGP, &p.X, NULL));
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
  ep_mat_mul(&GY, 1, &G, EP_N, Y, EP_N, 0);
  CHECK_OK(ep_pair_matrix_new(&S, &p.pairs));
  ep_pair_matrix_mul(&SGY, &S, &GY);
  for (ptrdiff_t k = 0; k < z; k++) {
    double biggest = 0;
    for (ptrdiff_t i = 0; i < n; i++) /* no fmax: gcc 12 for arm64 stumbles over it */
      if (fabs(ep_get(Y, i, k)) > biggest) biggest = fabs(ep_get(Y, i, k));
    for (ptrdiff_t i = 0; i < n; i++)
      CHECK_NEAR(ep_get(&SGY, i, k), eigenvalue(&info, (int)k) * ep_get(Y, i, k),
                 1e-8 * biggest * top);
    for (ptrdiff_t l = 0; l < z; l++) {
      double dot = 0;
      for (ptrdiff_t i = 0; i < n; i++) dot += ep_get(Y, i, l) * ep_get(&GY, i, k);
      CHECK_NEAR(dot, k == l, 1e-8);
    }
  }
  /* a point of the training set embeds the same in and out of sample, also from the file */
  CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
  CHECK_NEAR(mat_gap(&E, &GY), 0, 1e-10 * fmax(1, ep_mat_max(&GY)));
  CHECK_OK(ep_model_save(out, m));
  CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
  CHECK_OK(embed_within(1e5, &GY, back, &p.X));
  CHECK_NEAR(mat_gap(&E, &GY), 0, 1e-12 * fmax(1, ep_mat_max(&GY)));
  ep_model_free(back);
  ep_pair_matrix_free(&S);
  ep_mat_free(&G), ep_mat_free(&GY), ep_mat_free(&SGY), ep_mat_free(&E);
  drop(m, &info);
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
  ep_model *exact, *m;
  ep_fit_info a, b;
  make_setup(&s, "infinite");
  fit(&exact, &a, &p, &s);
  ep_analytic kernel;
  ep_map *map;
  const ep_psi psi = ep_model_psi(exact);
  CHECK_OK(ep_closed_kernel(&kernel, &p, &s));
  CHECK_OK(ep_landmarks_new(&map, &kernel, &p.X, psi));
  assert_true(map->count < p.X.rows); /* zero and repeated points are left out */
  ep_mat Psi, G, H;
  CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, p.X.rows, map->count));
  CHECK_OK(ep_mat_new(&G, EP_DOUBLE, p.X.rows, p.X.rows));
  CHECK_OK(ep_mat_new(&H, EP_DOUBLE, p.X.rows, p.X.rows));
  CHECK_OK(ep_map_rows(&Psi, map, &p.X));
  CHECK_OK(ep_kappa(&G, &kernel, psi, &p.X, NULL));
  ep_mat_gram(&H, 1, &Psi, 0);
  CHECK_NEAR(mat_gap(&G, &H), 0, 1e-12);
  s.closed.landmarks = 30;
  fit(&m, &b, &p, &s);
  double trace = 0, left = 0;
  for (ptrdiff_t i = 0; i < p.X.rows; i++) trace += *ep_d(&G, i, i);
  /* G - K(X,L) K(L,L)^{-1} K(L,X) from the model's own landmarks */
  ep_mat K, L;
  CHECK_OK(ep_mat_new(&K, EP_DOUBLE, p.X.rows, model_X(m)->rows));
  CHECK_OK(ep_mat_new(&L, EP_DOUBLE, K.cols, K.cols));
  CHECK_OK(ep_kappa(&K, &kernel, psi, &p.X, model_X(m)));
  CHECK_OK(ep_kappa(&L, &kernel, psi, model_X(m), NULL));
  CHECK_OK(ep_mat_cholesky(&L));
  ep_mat_solve_rows(&K, &L);
  for (ptrdiff_t i = 0; i < p.X.rows; i++) {
    left += *ep_d(&G, i, i);
    for (ptrdiff_t j = 0; j < K.cols; j++) left -= *ep_d(&K, i, j) * *ep_d(&K, i, j);
  }
  CHECK_NEAR(json_real_value(json_object_get(b.numbers, "gram_error")), left / trace, 1e-10);
  assert_true(left / trace > 1e-3 && K.cols <= 30);
  for (int k = 0; k < 4; k++) /* C seen in a subspace: eigenvalues of a compression */
    assert_true(eigenvalue(&b, k) <= eigenvalue(&a, k) + 1e-12);
  ep_map_free(map);
  ep_mat_free(&Psi), ep_mat_free(&G), ep_mat_free(&H), ep_mat_free(&K), ep_mat_free(&L);
  drop(exact, &a);
  drop(m, &b);
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
  ep_model *m;
  ep_fit_info info;
  make_setup(&s, "infinite");
  fit(&m, &info, &p, &s);
  for (int k = 0; k < Z; k++) wanted[k] = eigenvalue(&info, k);
  drop(m, &info);
  for (int w = 0; w < WIDTHS; w++) {
    double gap = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      make_setup(&s, "pca");
      s.net.width = (long)width[w];
      s.run.seed = seed;
      fit(&m, &info, &p, &s);
      for (int k = 0; k < Z; k++) gap += fabs(eigenvalue(&info, k) - wanted[k]) / wanted[k];
      drop(m, &info);
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
  ep_model *m, *back;
  ep_fit_info info;
  ep_mat A, B, Psi, AW, BW, E, F;
  double *mean;
  make_setup(&s, "whitened");
  if (cosine) s.objective.similarity = EP_SIMILARITY_COSINE;
  if (kernel) s.fit.kernel = EP_KERNEL_ANALYTIC;
  s.closed.ridge = 0.05;
  fit(&m, &info, &p, &s);
  ep_mat L = {0};
  if (kernel) { /* psi = L^{-1} kappa(X_L, x), by the definition */
    ep_analytic a;
    const ptrdiff_t r = model_X(m)->rows;
    CHECK_OK(ep_closed_kernel(&a, &p, &s));
    CHECK_OK(ep_mat_new(&L, EP_DOUBLE, r, r));
    CHECK_OK(ep_mat_new(&Psi, EP_DOUBLE, p.X.rows, r));
    CHECK_OK(ep_kappa(&L, &a, ep_model_psi(m), model_X(m), NULL));
    CHECK_OK(ep_kappa(&Psi, &a, ep_model_psi(m), &p.X, model_X(m)));
    CHECK_OK(ep_mat_cholesky(&L));
    ep_mat_solve_rows(&Psi, &L);
  } else {
    Psi = all_psi(ep_model_net(m), &p.X, cosine, s.objective.delta);
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
  if (kernel) ep_mat_mul(&W, 1, &L, EP_T, model_Y(m), EP_N, 0);
  else ep_mat_copy(&W, &ep_model_net(m)->W);
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
  CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-9);
  CHECK_OK(ep_model_save(out, m));
  CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
  CHECK_OK(embed_within(3e6, &F, back, &p.X));
  CHECK_NEAR(mat_gap(&E, &F), 0, 1e-11);
  ep_model_free(back);
  free(mean);
  ep_mat_free(&L);
  ep_mat_free(&A), ep_mat_free(&B), ep_mat_free(&Psi), ep_mat_free(&AW), ep_mat_free(&BW);
  ep_mat_free(&E), ep_mat_free(&F), ep_mat_free(&W);
  drop(m, &info);
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

/* ---- single precision, refusals, memory */

/* In single precision the three paths agree to what single precision can say. */
static void single(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]), q = make_points(&kinds[0]);
  ep_model *m;
  ep_fit_info info;
  double wanted[4];
  make_setup(&s, "pca");
  fit(&m, &info, &p, &s);
  for (int k = 0; k < 4; k++) wanted[k] = eigenvalue(&info, k);
  drop(m, &info);
  ep_mat_free(&q.X);
  CHECK_OK(ep_mat_new(&q.X, EP_SINGLE, p.X.rows, p.X.cols));
  ep_mat_copy(&q.X, &p.X);
  s.run.precision = EP_SINGLE;
  for (int path = 1; ep_path_name(path); path++) {
    s.closed.path = path;
    fit(&m, &info, &q, &s);
    for (int k = 0; k < 4; k++) CHECK_NEAR(eigenvalue(&info, k), wanted[k], 1e-5 * wanted[0]);
    CHECK_NEAR(orthonormality(&ep_model_net(m)->W), 0, 1e-5);
    drop(m, &info);
  }
  ep_points_free(&p);
  ep_points_free(&q);
}

static void refusals(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[0]), positives = make_points(&kinds[2]);
  ep_model *m;
  ep_fit_info info;
  make_setup(&s, "pca");
  strcpy(s.objective.loss, "softmax");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "pca");
  s.net.outputs = 41;
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "infinite");
  s.net.outputs = 40;
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "whitened");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_INPUT);
  s.closed.ridge = 0;
  strcpy(s.net.activation, "linear");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &positives, &s), EP_ERR_NUMERIC);
  make_setup(&s, "grassmann");
  strcpy(s.objective.loss, "barlow");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &positives, &s), EP_ERR_ARG);
  make_setup(&s, "grassmann");
  strcpy(s.feature.features, "patches");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_ARG);
  make_setup(&s, "infinite");
  strcpy(s.feature.features, "patches");
  CHECK_STATUS(ep_fit(NULL, &m, &info, &p, &s), EP_ERR_ARG);
  ep_points_free(&p);
  ep_points_free(&positives);
}

static ep_status fit_and_back(const ep_points *p, const ep_setup *s) {
  ep_model *m;
  ep_fit_info info;
  ep_mat E = {0};
  ep_status st = ep_fit(NULL, &m, &info, p, s);
  ep_fit_info_free(&info);
  if (st) return st;
  st = ep_mat_new(&E, EP_DOUBLE, p->X.rows, 4);
  if (!st) st = ep_model_embed(NULL, &E, m, &p->X);
  ep_mat_free(&E);
  ep_model_free(m);
  return st;
}

static void out_of_memory(void **state) {
  (void)state;
  static const struct {
    const char *method;
    ep_closed_path path;
    ep_kernel_kind kernel;
    long landmarks;
    bool patches;
  } c[] = {{"pca", EP_PATH_PRIMAL, EP_KERNEL_EMPIRICAL, 0, false},
           {"pca", EP_PATH_FREE, EP_KERNEL_EMPIRICAL, 0, false},
           {"pca", EP_PATH_DUAL, EP_KERNEL_EMPIRICAL, 0, false},
           {"infinite", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 0, false},
           {"infinite", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 20, false},
           {"whitened", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 0, false},
           {"whitened", EP_PATH_AUTO, EP_KERNEL_ANALYTIC, 20, false},
           {"grassmann", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 0, false},
           {"iterate", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 0, false},
           {"pca", EP_PATH_AUTO, EP_KERNEL_EMPIRICAL, 0, true}};
  static ep_setup s;
  for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
    ep_points p = c[k].patches ? make_images(1, 1) : make_points(&kinds[2]);
    const size_t before = ep_mem_current();
    make_setup(&s, c[k].method);
    s.closed.path = c[k].path;
    s.fit.kernel = c[k].kernel;
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
      cmocka_unit_test(pca),         cmocka_unit_test(little_memory),
      cmocka_unit_test(missing_gap), cmocka_unit_test(infinite),
      cmocka_unit_test(landmarks),   cmocka_unit_test(limit),
      cmocka_unit_test(whitened),    cmocka_unit_test(single),
      cmocka_unit_test(refusals),    cmocka_unit_test(out_of_memory)};
  RUN_CLOSED(tests);
}
