/* Points from arrays that the caller lends are those of a file with the same array; pairs of groups as they are defined. */
#include "core/mem.h"
#include "files.h"
#include "random_mat.h"

#include <eigenpair/dataset.h>

static struct {
  ep_data_config data;
  ep_pair_config pair;
  ep_run_config run;
} s;

static void defaults(ep_precision precision) {
  ep_options_default(ep_data_options, &s.data);
  ep_options_default(ep_pair_options, &s.pair);
  s.run = ep_run_default();
  s.run.precision = precision;
}

static uint64_t print_of(ep_points *p) {
  uint64_t print;
  CHECK_OK(ep_points_fingerprint(&print, p));
  ep_points_free(p);
  return print;
}

static ep_array array_of(const ep_mat *X) {
  return (ep_array){.dtype = X->prec == EP_SINGLE ? EP_F32 : EP_F64,
                    .ndim = 2,
                    .shape = {X->rows, X->cols},
                    .data = X->data};
}

static void same_as_file(const ep_array *a, const char *path) {
  ep_points lent, read;
  CHECK_OK(ep_points_draw(NULL, &lent, a, &s.data, &s.pair, "triplet", &s.run));
  snprintf(s.data.data, sizeof s.data.data, "%s", path);
  CHECK_OK(ep_points_load(NULL, &read, &s.data, &s.pair, "triplet", &s.run));
  assert_int_equal(lent.X.rows, read.X.rows);
  assert_true(lent.unit == read.unit && lent.shape.height == read.shape.height);
  assert_true(print_of(&lent) == print_of(&read));
}

static void draw_is_that_of_a_file(void **state) {
  (void)state;
  for (int stored = 0; stored < 2; stored++)
    for (int asked = 0; asked < 2; asked++) {
      ep_mat X = random_mat((ep_precision)stored, 30, 12, 3);
      const ep_array a = array_of(&X);
      const char *path = in_folder("x.npy");
      CHECK_OK(ep_npy_write(path, &X));
      defaults((ep_precision)asked);
      same_as_file(&a, path);
      defaults((ep_precision)asked);
      s.data.samples = 7, s.run.seed = 4, s.pair.views = 3;
      strcpy(s.data.image, "3x4"), strcpy(s.pair.augment, "crop,flip");
      same_as_file(&a, path);
      ep_mat_free(&X);
    }
}

/* unsigned bytes are pixels, three dimensions are images */
static void bytes_are_pixels(void **state) {
  (void)state;
  uint8_t pixels[6 * 4 * 5];
  for (int i = 0; i < 120; i++) pixels[i] = (uint8_t)(i * 37);
  const ptrdiff_t shape[3] = {6, 4, 5};
  const ep_array a = {.dtype = EP_U8, .ndim = 3, .shape = {6, 4, 5}, .data = pixels};
  defaults(EP_SINGLE);
  CHECK_OK(ep_idx_write(in_folder("x.idx"), pixels, 3, shape));
  same_as_file(&a, in_folder("x.idx"));
}

static void pairs_are_those_of_files(void **state) {
  (void)state;
  ep_mat M[3];
  ep_array a[3];
  const char *path[3];
  ep_points lent, read;
  defaults(EP_DOUBLE);
  for (int i = 0; i < 3; i++) {
    char name[] = {(char)('a' + i), '.', 'n', 'p', 'y', 0};
    M[i] = random_mat(EP_DOUBLE, 8, 4, 10 + i);
    a[i] = array_of(&M[i]), path[i] = in_folder(name);
    CHECK_OK(ep_npy_write(path[i], &M[i]));
  }
  s.data.scale = EP_SCALE_UNIT;
  CHECK_OK(ep_points_pair(NULL, &lent, a, 3, 1, &s.data, &s.run));
  strcpy(s.pair.anchors, path[0]), strcpy(s.pair.positives, path[1]),
      strcpy(s.pair.negatives, path[2]);
  CHECK_OK(ep_points_load(NULL, &read, &s.data, &s.pair, "triplet", &s.run));
  assert_true(lent.unit && read.unit);
  assert_true(print_of(&lent) == print_of(&read));
  a[2].shape[0] = 7;
  CHECK_STATUS(ep_points_pair(NULL, &lent, a, 3, 1, &s.data, &s.run), EP_ERR_SHAPE);
  check_message("negatives has 7 rows", "anchors has 8");
  CHECK_STATUS(ep_points_pair(NULL, &lent, a, 3, 3, &s.data, &s.run), EP_ERR_ARG);
  CHECK_STATUS(ep_points_pair(NULL, &lent, a, 1, 0, &s.data, &s.run), EP_ERR_ARG);
  for (int i = 0; i < 3; i++) ep_mat_free(&M[i]);
}

/* anchors are first rows, positives the others, negatives anchors of other groups, all of them in the end */
static void groups(void **state) {
  (void)state;
  enum { N = 9 };
  static const ptrdiff_t group[N] = {7, -2, 7, 5, -2, 7, 5, 1, 7}, anchor[4] = {0, 1, 3, 7},
                         size[4] = {4, 2, 2, 1};
  int met[4][N] = {{0}};
  for (int seed = 0; seed < 200; seed++) {
    ep_pairs p;
    CHECK_OK(ep_pairs_group(&p, group, N, &(ep_pair_plan){.negatives = 2}, seed));
    assert_true(p.anchors == 4 && p.points == N && p.start[4] == 5 + 8);
    for (int g = 0; g < 4; g++) {
      assert_int_equal(p.anchor[g], anchor[g]);
      assert_int_equal(p.start[g + 1] - p.start[g], size[g] - 1 + 2);
      for (ptrdiff_t k = p.start[g]; k < p.start[g + 1]; k++) {
        const bool positive = k - p.start[g] < size[g] - 1;
        assert_int_equal(p.sign[k], positive ? 1 : -1);
        assert_true((group[p.partner[k]] == group[anchor[g]]) == positive);
        assert_true(p.partner[k] != anchor[g]);
        if (!positive) met[g][p.partner[k]]++;
      }
    }
    ep_pairs_free(&p);
  }
  for (int g = 0; g < 4; g++) /* 400 draws of 3 */
    for (int h = 0; h < 4; h++) assert_true(g == h || abs(met[g][anchor[h]] - 133) < 60);
}

/* groups that are the views of a data set give its pairs */
static void groups_of_views(void **state) {
  (void)state;
  ep_points drawn, grouped;
  defaults(EP_DOUBLE);
  ep_mat X = random_mat(EP_DOUBLE, 10, 4, 5);
  const ep_array a = array_of(&X);
  CHECK_OK(ep_points_draw(NULL, &drawn, &a, &s.data, &s.pair, "triplet", &s.run));
  const ep_array views = array_of(&drawn.X);
  ptrdiff_t group[20];
  for (int i = 0; i < 20; i++) group[i] = i % 10;
  CHECK_OK(ep_points_group(NULL, &grouped, &views, group, &s.data, &s.pair, "triplet", &s.run));
  assert_int_equal(drawn.X.rows, 20);
  uint64_t one, two;
  CHECK_OK(ep_points_fingerprint(&one, &drawn));
  CHECK_OK(ep_points_fingerprint(&two, &grouped));
  assert_true(one == two);
  ep_points_free(&grouped);
  ep_points_free(&drawn);
  ep_mat_free(&X);
}

static void bad_groups(void **state) {
  (void)state;
  ep_pairs p;
  ep_points out;
  static const ptrdiff_t apart[3] = {0, 1, 2}, one[3] = {4, 4, 4};
  const ep_pair_plan plan = {1, 1, false, false};
  CHECK_STATUS(ep_pairs_group(&p, apart, 3, &plan, 0), EP_ERR_INPUT);
  CHECK_STATUS(ep_pairs_group(&p, one, 3, &plan, 0), EP_ERR_INPUT);
  double x[6] = {1, 2, 3, 4, 5, NAN};
  const ep_array a = {
      .dtype = EP_F64, .ndim = 2, .shape = {3, 2}, .data = (const unsigned char *)x};
  defaults(EP_DOUBLE);
  CHECK_STATUS(ep_points_group(NULL, &out, &a, one, &s.data, &s.pair, "positives", &s.run),
               EP_ERR_INPUT);
  check_message("X", "row 3");
  strcpy(s.pair.augment, "noise:0.1");
  CHECK_STATUS(ep_points_group(NULL, &out, &a, one, &s.data, &s.pair, "positives", &s.run),
               EP_ERR_ARG);
  const ep_array none = {.dtype = EP_F64, .ndim = 2, .shape = {0, 2}};
  CHECK_STATUS(ep_points_draw(NULL, &out, &none, &s.data, &s.pair, "triplet", &s.run),
               EP_ERR_INPUT);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat X = random_mat(EP_DOUBLE, 12, 4, 1);
  const ep_array a[2] = {array_of(&X), array_of(&X)};
  ptrdiff_t group[12];
  for (int i = 0; i < 12; i++) group[i] = i / 3;
  defaults(EP_SINGLE);
  const size_t before = ep_mem_current();
  for (int way = 0; way < 3; way++) {
    ep_status st = EP_ERR_NOMEM;
    for (int n = 0; st == EP_ERR_NOMEM; n++) {
      ep_points p;
      ep_alloc_fail_after = n;
      st = way == 0   ? ep_points_draw(NULL, &p, a, &s.data, &s.pair, "triplet", &s.run)
           : way == 1 ? ep_points_pair(NULL, &p, a, 2, 1, &s.data, &s.run)
                      : ep_points_group(NULL, &p, a, group, &s.data, &s.pair, "triplet", &s.run);
      ep_alloc_fail_after = -1;
      ep_points_free(&p);
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
  ep_mat_free(&X);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draw_is_that_of_a_file),
      cmocka_unit_test(bytes_are_pixels),
      cmocka_unit_test(pairs_are_those_of_files),
      cmocka_unit_test(groups),
      cmocka_unit_test(groups_of_views),
      cmocka_unit_test(bad_groups),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
