/* Stacks of whitened patches: rows by the definition, what is found from images by its properties over all places. */
#include "theory/closed.h"

static ep_status make_stack(ep_map **map, const char *text, const ep_mat *X, ep_image_shape shape) {
  static ep_setup s;
  ep_setup_default(&s);
  snprintf(s.feature.features, sizeof s.feature.features, "%s", text);
  const ep_points points = {.X = *X, .shape = shape};
  const ep_map_plan plan = {.feature = &s.feature, .net = &s.net, .points = &points, .seed = 1};
  return ep_map_make(map, &plan);
}

static const ep_stack *stack_of(const ep_map *map) { return (const void *)map; }

/* smooth images: neighbours have to do with one another */
static ep_mat smooth_images(ptrdiff_t n, ep_image_shape s, ep_precision prec) {
  ep_mat X, noise = random_mat(EP_DOUBLE, n, (ptrdiff_t)s.channels * s.height * s.width, 5);
  CHECK_OK(ep_mat_new(&X, prec, n, noise.cols));
  for (ptrdiff_t i = 0; i < n; i++)
    for (int c = 0; c < s.channels; c++)
      for (int y = 0; y < s.height; y++)
        for (int x = 0; x < s.width; x++) {
          double sum = 0;
          for (int a = -2; a <= 2; a++)
            for (int b = -2; b <= 2; b++) {
              const int u = (y + a + s.height) % s.height, v = (x + b + s.width) % s.width;
              sum += ep_get(&noise, i, (c * s.height + u) * s.width + v) / (1 + a * a + b * b);
            }
          ep_set(&X, i, (c * s.height + y) * s.width + x, 0.5 + 0.1 * sum);
        }
  ep_mat_free(&noise);
  return X;
}

/* most of the images have places of one colour, every sixth nothing else: such places are seen once for all of an image */
static void blank_parts(const ep_mat *X, ep_image_shape s) {
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (int c = 0; c < s.channels; c++)
      for (int y = 0; y < s.height; y++)
        for (int x = 0; x < s.width; x++)
          if (i % 6 == 5 || (i % 3 == 1 && x >= 3) || (i % 3 == 2 && (y < 4 || x < 2)))
            ep_set(X, i, (c * s.height + y) * s.width + x, i % 2 ? 0 : 0.7);
}

/* ---- the definition */

/* the codes of one place, d and M at most 64 */
static void codes_at(double *code, const ep_coder *l, const double *image, int top, int left,
                     double *whitened) {
  const int p = (int)l->size, d = (int)ep_coder_numbers(l);
  double x[64], y[64], mean = 0, var = 0, norm = 0;
  int k = 0;
  for (int c = 0; c < l->in.channels; c++)
    for (int a = 0; a < p; a++)
      for (int b = 0; b < p; b++)
        x[k++] = image[(c * l->in.height + top + a) * l->in.width + left + b];
  for (int j = 0; j < d; j++) mean += x[j] / d;
  for (int j = 0; j < d; j++) var += (x[j] - mean) * (x[j] - mean) / d;
  for (int j = 0; j < d; j++) x[j] = (x[j] - mean) / sqrt(var + l->floor) - ep_get(&l->mean, 0, j);
  for (int j = 0; j < d; j++) {
    y[j] = 0;
    for (int i = 0; i < d; i++) y[j] += x[i] * ep_get(&l->whiten, i, j);
    norm += y[j] * y[j];
    if (whitened) whitened[j] = y[j];
  }
  for (int f = 0; f < l->filters; f++) {
    double z = 0;
    for (int j = 0; j < d; j++) z += y[j] / sqrt(norm) * ep_get(&l->F, f, j);
    code[f] = fmax(z - l->theta, 0);
    if (l->two) code[l->filters + f] = fmax(-z - l->theta, 0);
  }
}

/* one layer: (channels, g, g) */
static void seen_by_hand(double *to, const ep_coder *l, const double *image) {
  const int down = l->in.height - (int)l->size + 1, across = l->in.width - (int)l->size + 1;
  const int g = (int)l->grid, n = (int)ep_coder_channels(l), M = (int)ep_coder_codes(l);
  for (int u = 0; u < g; u++)
    for (int v = 0; v < g; v++) {
      double sum[64] = {0};
      int places = 0;
      for (int i = u * down / g; i < (u + 1) * down / g; i++)
        for (int j = v * across / g; j < (v + 1) * across / g; j++, places++) {
          double code[64], h[64], norm = 0;
          codes_at(code, l, image, i, j, NULL);
          for (int c = 0; c < n; c++) {
            h[c] = l->keep ? -ep_get(&l->shift, 0, c) : code[c];
            for (int k = 0; l->keep && k < M; k++) h[c] += code[k] * ep_get(&l->E, k, c);
            norm += h[c] * h[c];
          }
          for (int c = 0; c < n; c++) sum[c] += l->keep ? h[c] / sqrt(norm) : h[c];
        }
      for (int c = 0; c < n; c++) to[(c * g + u) * g + v] = sum[c] / places;
    }
}

static void mirrored(double *to, const double *image, ep_image_shape s) {
  for (int i = 0; i < s.channels * s.height; i++)
    for (int j = 0; j < s.width; j++) to[i * s.width + j] = image[i * s.width + s.width - 1 - j];
}

static void layer_by_hand(double *to, const ep_coder *l, const double *image) {
  const ptrdiff_t n = ep_coder_channels(l) * l->grid * l->grid;
  double flipped[300], other[300];
  seen_by_hand(to, l, image);
  mirrored(flipped, image, l->in);
  if (l->mirror) seen_by_hand(other, l, flipped);
  for (ptrdiff_t j = 0; j < n; j++) {
    if (l->mirror) to[j] = (to[j] + other[j]) / 2;
    if (l->root) to[j] = to[j] < 0 ? -sqrt(-to[j]) : sqrt(to[j]);
  }
}

static void check_rows(const char *text, int channels, ep_precision prec) {
  const ep_image_shape shape = {channels, 9, 8};
  ep_mat X = smooth_images(30, shape, prec), Psi;
  ep_map *map;
  blank_parts(&X, shape);
  CHECK_OK(make_stack(&map, text, &X, shape));
  const ep_stack *s = stack_of(map);
  CHECK_OK(ep_mat_new(&Psi, prec, X.rows, map->count));
  CHECK_OK(ep_map_rows(&Psi, map, &X));
  for (ptrdiff_t i = 0; i < X.rows; i++) {
    double image[300], in[300], made[300];
    ptrdiff_t at = 0;
    for (ptrdiff_t j = 0; j < X.cols; j++) image[j] = ep_get(&X, i, j);
    for (int k = 0; k < s->layers; k++) {
      memcpy(in, s->starts[k] ? image : made, sizeof in);
      layer_by_hand(made, &s->layer[k], in);
      const ptrdiff_t n = ep_coder_channels(&s->layer[k]) * s->layer[k].grid * s->layer[k].grid;
      for (ptrdiff_t j = 0; s->starts[k + 1] && j < n; j++, at++) {
        const double found = ep_get(&Psi, i, at) * sqrt((double)map->count), want = made[j];
        const bool root =
            s->layer[k].root; /* a root magnifies rounding next to 0: what is under it */
        CHECK_NEAR(root ? found * fabs(found) : found, root ? want * fabs(want) : want,
                   prec == EP_SINGLE ? 2e-5 : 1e-12);
      }
    }
    assert_int_equal(at, map->count);
  }
  ep_map_free(map);
  ep_mat_free(&X), ep_mat_free(&Psi);
}

static void rows_are_the_definition(void **state) {
  (void)state;
  check_rows("stack:7x3,pool=2", 1, EP_DOUBLE);
  check_rows("stack:6x3,one,active=0.3,zca=0.1,pool=1", 3, EP_DOUBLE);
  check_rows("stack:7x3,near=2,keep=4,pool=3", 1, EP_DOUBLE);
  check_rows("stack:7x3,near=2,keep=4,pool=2", 3, EP_SINGLE);
  check_rows("stack:6x3,near=1,keep=3,pool=4/5x2,pool=2+4x4,one,pool=1", 1, EP_DOUBLE);
  check_rows("stack:7x3,mirror,pool=3", 3, EP_DOUBLE);
  check_rows("stack:7x3,pool=2,mirror+5x4,mirror,near=2,keep=4,pool=3", 1, EP_SINGLE);
  check_rows("stack:7x3,pool=2,root", 1, EP_DOUBLE);
  check_rows("stack:7x3,near=2,keep=4,pool=2,root,mirror", 3, EP_DOUBLE);
}

/* an image and its mirror image are one, whatever stands behind */
static void mirrors_are_the_same(void **state) {
  (void)state;
  const ep_image_shape shape = {3, 9, 8};
  ep_mat X = smooth_images(20, shape, EP_DOUBLE), M = smooth_images(20, shape, EP_DOUBLE), P, Q;
  for (ptrdiff_t i = 0; i < X.rows; i++) mirrored(ep_d(&M, i, 0), ep_d(&X, i, 0), shape);
  for (int with = 0; with < 2; with++) {
    ep_map *map;
    CHECK_OK(make_stack(&map, with ? "stack:7x3,mirror,pool=3/4x2,pool=2" : "stack:7x3,pool=3", &X,
                        shape));
    CHECK_OK(ep_mat_new(&P, EP_DOUBLE, X.rows, map->count));
    CHECK_OK(ep_mat_new(&Q, EP_DOUBLE, X.rows, map->count));
    CHECK_OK(ep_map_rows(&P, map, &X));
    CHECK_OK(ep_map_rows(&Q, map, &M));
    if (with) CHECK_NEAR(mat_gap(&P, &Q), 0, 1e-12);
    else assert_true(mat_gap(&P, &Q) > 1e-3);
    ep_map_free(map);
    ep_mat_free(&P), ep_mat_free(&Q);
  }
  ep_mat_free(&X), ep_mat_free(&M);
}

/* ---- what is found, over all places of the images it was found from */

enum { IMAGES_SEEN = 40 };

static void whitening_and_share(void **state) {
  (void)state;
  const ep_image_shape shape = {1, 12, 12};
  for (int two = 0; two < 2; two++) {
    ep_mat X = smooth_images(IMAGES_SEEN, shape, EP_DOUBLE);
    ep_map *map;
    CHECK_OK(make_stack(
        &map, two ? "stack:30x3,zca=0,active=0.1,pool=2" : "stack:30x3,one,zca=0,active=0.2,pool=2",
        &X, shape));
    const ep_coder *l = &stack_of(map)->layer[0];
    double C[9][9] = {{0}}, sum[9] = {0}, code[64], y[64], active = 0, n = 0;
    for (ptrdiff_t i = 0; i < X.rows; i++)
      for (int a = 0; a < 10; a++)
        for (int b = 0; b < 10; b++, n++) {
          codes_at(code, l, ep_d(&X, i, 0), a, b, y);
          for (int k = 0; k < ep_coder_codes(l); k++) active += code[k] > 0;
          for (int j = 0; j < 9; j++) {
            sum[j] += y[j];
            for (int k = 0; k < 9; k++) C[j][k] += y[j] * y[k];
          }
        }
    CHECK_NEAR(active / n / (double)ep_coder_codes(l), l->active, 0.01);
    /* contrast takes one direction out of nine: the others have variance 1 and do not correlate */
    double trace = 0;
    for (int j = 0; j < 9; j++)
      for (int k = 0; k < 9; k++) {
        C[j][k] = C[j][k] / n - sum[j] * sum[k] / n / n;
        CHECK_NEAR(C[j][k], (j == k) - 1 / 9., 0.04);
        trace += j == k ? C[j][k] : 0;
      }
    CHECK_NEAR(trace, 8, 0.15);
    for (ptrdiff_t k = 0; k < l->filters; k++) {
      const ep_mat f = ep_mat_rows(&l->F, k, 1);
      CHECK_NEAR(ep_mat_norm2(&f), 1, 1e-12);
    }
    ep_map_free(map);
    ep_mat_free(&X);
  }
}

/* covariances of codes of all groups (place, right, below), by the definition */
static void population(const ep_mat *A, const ep_mat *B, double *mean, const ep_coder *l,
                       const ep_mat *X) {
  const int r = (int)l->near, M = (int)ep_coder_codes(l), last = l->in.height - (int)l->size - r;
  double n = 0;
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (int a = 0; a <= last; a++)
      for (int b = 0; b <= last; b++, n++) {
        double code[3][64];
        codes_at(code[0], l, ep_d(X, i, 0), a, b, NULL);
        codes_at(code[1], l, ep_d(X, i, 0), a, b + r, NULL);
        codes_at(code[2], l, ep_d(X, i, 0), a + r, b, NULL);
        for (int v = 0; v < 3; v++) {
          for (int j = 0; j < M; j++) mean[j] += code[v][j];
          add_outer(B, 1, code[v], code[v]);
          for (int w = 0; w < v; w++) add_outer(A, 2, code[v], code[w]);
        }
      }
  for (int j = 0; j < M; j++) mean[j] /= 3 * n;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < M; j++) {
      *ep_d(A, i, j) = *ep_d(A, i, j) / (6 * n) - mean[i] * mean[j];
      *ep_d(B, i, j) = *ep_d(B, i, j) / (3 * n) - mean[i] * mean[j];
    }
}

static void neighbours_are_views(void **state) {
  (void)state;
  const ep_image_shape shape = {1, 12, 12};
  enum { M = 24, L = 5 };
  ep_mat X = smooth_images(IMAGES_SEEN, shape, EP_DOUBLE), A, B;
  double mean[M] = {0}, lambda[M], trace = 0, best = 0, ridge = 0;
  ep_map *map;
  CHECK_OK(make_stack(&map, "stack:12x3,near=2,keep=5,pool=2", &X, shape));
  const ep_coder *l = &stack_of(map)->layer[0];
  CHECK_OK(ep_mat_new(&A, EP_DOUBLE, M, M));
  CHECK_OK(ep_mat_new(&B, EP_DOUBLE, M, M));
  population(&A, &B, mean, l, &X);
  for (int i = 0; i < M; i++) ridge += 1e-3 * *ep_d(&B, i, i) / M;
  for (int i = 0; i < M; i++) *ep_d(&B, i, i) += ridge;
  for (int a = 0; a < L; a++)
    for (int b = 0; b < L; b++) {
      double EBE = 0, EAE = 0;
      for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++) {
          EBE += ep_get(&l->E, i, a) * *ep_d(&B, i, j) * ep_get(&l->E, j, b);
          EAE += ep_get(&l->E, i, a) * *ep_d(&A, i, j) * ep_get(&l->E, j, b);
        }
      CHECK_NEAR(EBE, a == b, 0.06); /* the sample is not the population */
      if (a == b) trace += EAE;
      else CHECK_NEAR(EAE, 0, 0.06);
    }
  for (int k = 0; k < L; k++) {
    double shift = 0;
    for (int j = 0; j < M; j++) shift += mean[j] * ep_get(&l->E, j, k);
    CHECK_NEAR(ep_get(&l->shift, 0, k), shift, 0.03);
  }
  CHECK_OK(ep_mat_cholesky(&B)); /* the best there is: the largest of L^{-1} A L'^{-1} */
  ep_mat_solve_triangular(&A, &B, EP_N);
  ep_mat_solve_rows(&A, &B);
  CHECK_OK(ep_mat_eig_sym(&A, lambda));
  for (int k = 0; k < L; k++) best += lambda[M - 1 - k];
  CHECK_NEAR(trace, best, 0.03 * best);
  assert_true(best - trace > -0.03 * best && lambda[M - 1] < 1 && best > 0.3);
  ep_map_free(map);
  ep_mat_free(&X), ep_mat_free(&A), ep_mat_free(&B);
}

/* ---- through a fit, a file and an embedding */

static void models(void **state) {
  (void)state;
  static ep_setup s;
  static const char *const text[] = {
      "stack:7x3,pool=2", "stack:7x3,near=1,keep=3,pool=2",
      "stack:6x3,near=1,keep=3,pool=4,mirror/5x2,pool=2+4x4,one,pool=1,root"};
  for (int k = 0; k < 6; k++) {
    ep_points p = make_images(1, 2);
    ep_model *m, *back;
    ep_fit_info info;
    ep_mat E, F;
    make_setup(&s, k % 2 ? "pca" : "whitened");
    snprintf(s.feature.features, sizeof s.feature.features, "%s", text[k / 2]);
    fit(&m, &info, &p, &s);
    assert_true(json_array_size(info.explain) >= (k < 4 ? 2 : 4)); /* a line a layer */
    CHECK_OK(ep_model_save(out, m));
    CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
    CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, 4));
    CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, 4));
    CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
    CHECK_OK(embed_within(1e3, &F, back, &p.X));
    CHECK_NEAR(mat_gap(&E, &F), 0, 1e-12);
    assert_true(ep_mat_max(&E) > 1e-3);
    ep_mat_free(&E), ep_mat_free(&F);
    ep_model_free(back);
    drop(m, &info);
    ep_points_free(&p);
  }
}

static void bad_texts(void **state) {
  (void)state;
  static const char *const bad[] = {"stack",
                                    "stack:",
                                    "stack:5",
                                    "stack:0x3",
                                    "stack:5x9",
                                    "stack:5x3,",
                                    "stack:5x3,three",
                                    "stack:5x3,pool=0",
                                    "stack:5x3,pool=7",
                                    "stack:5x3,near=7",
                                    "stack:5x3,keep=2",
                                    "stack:5x3,near=1,keep=11",
                                    "stack:5x3,active=0.6",
                                    "stack:5x3,zca=-1",
                                    "stack:5x3,zca=x",
                                    "stack:5x3+",
                                    "stack:5x3/",
                                    "stack:5x3,pool=2/4x3",
                                    "stack:5x1"};
  ep_points p = make_images(1, 1);
  ep_map *map;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(make_stack(&map, bad[i], &p.X, p.shape), EP_ERR_ARG);
  CHECK_STATUS(make_stack(&map, "stack:5x3", &p.X, (ep_image_shape){0}), EP_ERR_INPUT);
  ep_mat_fill(&p.X, 0.5);
  CHECK_STATUS(make_stack(&map, "stack:5x3,pool=1", &p.X, p.shape), EP_ERR_INPUT);
  ep_points_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_the_definition),
                                     cmocka_unit_test(mirrors_are_the_same),
                                     cmocka_unit_test(whitening_and_share),
                                     cmocka_unit_test(neighbours_are_views),
                                     cmocka_unit_test(models),
                                     cmocka_unit_test(bad_texts)};
  RUN_CLOSED(tests);
}
