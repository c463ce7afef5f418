/* Features from patches of images, against the definition. */
#include "theory/closed.h"

/* ---- patches */

static ep_status make_map(ep_map **map, const ep_feature_config *config, const ep_mat *X,
                          ep_image_shape shape) {
  static ep_setup s;
  ep_setup_default(&s);
  const ep_points points = {.X = *X, .shape = shape};
  const ep_map_plan plan = {.feature = config, .net = &s.net, .points = &points, .seed = 1};
  return ep_map_make(map, &plan);
}

static void check_patches(int channels, ep_filters filters, ep_precision prec) {
  ep_feature_config config;
  ep_map *map;
  ep_points p = make_images(channels, 1);
  ep_mat Psi, X;
  ep_options_default(ep_feature_options, &config);
  strcpy(config.features, "patches:5,3,2");
  config.filters = filters;
  CHECK_OK(ep_mat_new(&X, prec, p.X.rows, p.X.cols));
  ep_mat_copy(&X, &p.X);
  for (ptrdiff_t j = 0; j < X.cols; j++) { /* a blank image, and one that is blank in part */
    ep_set(&X, 0, j, 0);
    if (j % (TALL * WIDE) < TALL * WIDE * 2 / 3) ep_set(&X, 1, j, 0);
  }
  CHECK_OK(make_map(&map, &config, &X, p.shape));
  const ep_patches *const filter = (const void *)map;
  ep_set(&filter->theta, 0, 1, -0.3); /* so that blank places are heard of */
  assert_int_equal(map->count, FILTERS * GRID * GRID);
  CHECK_OK(ep_mat_new(&Psi, prec, X.rows, map->count));
  CHECK_OK(ep_map_rows(&Psi, map, &X));
  for (ptrdiff_t k = 0; k < FILTERS; k++) { /* filters have mean 0 and norm 1 */
    double mean = 0, norm = 0;
    for (ptrdiff_t j = 0; j < filter->F.cols; j++) {
      mean += ep_get(&filter->F, k, j);
      norm += pow(ep_get(&filter->F, k, j), 2);
    }
    CHECK_NEAR(mean, 0, 1e-5);
    CHECK_NEAR(norm, 1, 1e-5);
  }
  const int down = TALL - SIZE + 1, across = WIDE - SIZE + 1;
  for (ptrdiff_t i = 0; i < X.rows; i++)
    for (int u = 0; u < GRID; u++)
      for (int v = 0; v < GRID; v++)
        for (int k = 0; k < FILTERS; k++) {
          double sum = 0;
          int places = 0;
          for (int y = u * down / GRID; y < (u + 1) * down / GRID; y++)
            for (int x = v * across / GRID; x < (v + 1) * across / GRID; x++, places++) {
              double r = -ep_get(&filter->theta, 0, k);
              for (int c = 0; c < channels; c++)
                for (int a = 0; a < SIZE; a++)
                  for (int b = 0; b < SIZE; b++)
                    r += ep_get(&filter->F, k, (c * SIZE + a) * SIZE + b) *
                         ep_get(&X, i, (c * TALL + y + a) * WIDE + x + b);
              sum += fmax(r, 0);
            }
          CHECK_NEAR(ep_get(&Psi, i, (u * GRID + v) * FILTERS + k),
                     sum / places / sqrt((double)map->count), prec == EP_SINGLE ? 1e-5 : 1e-13);
        }
  ep_map_free(map);
  ep_mat_free(&Psi), ep_mat_free(&X);
  ep_points_free(&p);
}

/* through a fit, a file and an embedding */
static void patch_models(void) {
  static ep_setup s;
  for (int k = 0; k < 4; k++) {
    ep_points p = make_images(1, 2);
    ep_model *m, *back;
    ep_fit_info info;
    ep_mat E, F;
    make_setup(&s, k < 2 ? "pca" : "whitened");
    strcpy(s.feature.features, "patches:5,3,2");
    if (k % 2) s.objective.similarity = EP_SIMILARITY_COSINE;
    else s.objective.similarity = EP_SIMILARITY_DOT;
    fit(&m, &info, &p, &s);
    CHECK_OK(ep_model_save(out, m));
    CHECK_OK(ep_model_load(&back, out, EP_DOUBLE));
    CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p.X.rows, 4));
    CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p.X.rows, 4));
    if (k < 2) { /* Tr(U'SU) = sum of eigenvalues, U = Psi W */
      CHECK_OK(ep_model_normalise(m));
      CHECK_OK(ep_model_normalise(back));
    }
    CHECK_OK(ep_model_embed(NULL, &E, m, &p.X));
    CHECK_OK(embed_within(1e3, &F, back, &p.X));
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
    ep_model_free(back);
    drop(m, &info);
    ep_points_free(&p);
  }
}

static void patches(void **state) {
  (void)state;
  check_patches(1, EP_FILTERS_DATA, EP_DOUBLE);
  check_patches(3, EP_FILTERS_DATA, EP_DOUBLE);
  check_patches(2, EP_FILTERS_GAUSSIAN, EP_DOUBLE);
  check_patches(1, EP_FILTERS_DATA, EP_SINGLE);
  patch_models();
  ep_feature_config config;
  ep_map *map;
  ep_points p = make_images(1, 1);
  ep_options_default(ep_feature_options, &config);
  static const char *const bad[] = {"patches:0",  "patches:x",   "patches:5,3,2,1",
                                    "patches:5,", "patches:5,9", "patches:5,3,7"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    strcpy(config.features, bad[i]);
    CHECK_STATUS(make_map(&map, &config, &p.X, p.shape), EP_ERR_ARG);
  }
  strcpy(config.features, "patches");
  CHECK_STATUS(make_map(&map, &config, &p.X, (ep_image_shape){0}), EP_ERR_INPUT);
  ep_points_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(patches)};
  RUN_CLOSED(tests);
}
