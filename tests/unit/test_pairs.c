/* Pairs: drawn, batched, merged; points and pairs of data sets. */
#include "core/mem.h"
#include "random_mat.h"

#include <eigenpair/dataset.h>
#include <eigenpair/objective.h>
#include <string.h>

static uint64_t print_of(const ep_points *p) {
  uint64_t print;
  CHECK_OK(ep_points_fingerprint(&print, p));
  return print;
}

static void plans(void **state) {
  (void)state;
  ep_pair_plan p;
  CHECK_OK(ep_pair_plan_parse(&p, "2+3"));
  assert_true(p.positives == 2 && p.negatives == 3 && !p.all_others);
  assert_false(p.by_label);
  CHECK_OK(ep_pair_plan_parse(&p, "labels:2+4"));
  assert_true(p.positives == 2 && p.negatives == 4 && !p.all_others && p.by_label);
  CHECK_OK(ep_pair_plan_parse(&p, "all"));
  assert_true(p.positives == 1 && p.negatives == 0 && p.all_others);
  static const char *const bad[] = {"", "two", "0+1", "1+", "1+x", "1+2+3", "-1+2", "99999+1"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(ep_pair_plan_parse(&p, bad[i]), EP_ERR_ARG);
}

/* No anchor is its own negative, every other anchor can be one, the seed decides. */
static void draw(void **state) {
  (void)state;
  enum { N = 5, REPEATS = 400 };
  int met[N][N] = {{0}};
  for (int r = 0; r < REPEATS; r++) {
    ep_pairs pairs;
    const ep_pair_plan plan = {2, 3, false, false};
    CHECK_OK(ep_pairs_draw(&pairs, N, &plan, r));
    assert_int_equal(pairs.points, 3 * N);
    for (int n = 0; n < N; n++) {
      assert_int_equal(pairs.start[n + 1] - pairs.start[n], 5);
      for (ptrdiff_t k = pairs.start[n]; k < pairs.start[n + 1]; k++) {
        if (pairs.sign[k] > 0) assert_int_equal(pairs.partner[k] % N, n);
        else met[n][pairs.partner[k]]++;
      }
    }
    ep_pairs_free(&pairs);
  }
  for (int n = 0; n < N; n++)
    for (int m = 0; m < N; m++) /* 1200 draws of 4: 300 each, give or take 6 standard deviations */
      assert_true(n == m ? met[n][m] == 0 : abs(met[n][m] - 300) < 90);
}

/* A batch has the pairs of its anchors, by other numbers for the same points. */
static void batch(void **state) {
  (void)state;
  ep_pairs pairs, part;
  const ep_pair_plan plan = {1, 2, false, false};
  const ptrdiff_t anchors[3] = {6, 1, 4};
  ptrdiff_t point[16], place[16];
  CHECK_OK(ep_pairs_draw(&pairs, 8, &plan, 1));
  for (int i = 0; i < 16; i++) place[i] = -1;
  CHECK_OK(ep_pairs_batch(&part, point, &pairs, anchors, 3, place));
  for (int i = 0; i < 16; i++) assert_int_equal(place[i], -1);
  for (ptrdiff_t i = 0; i < part.points; i++)
    for (ptrdiff_t j = 0; j < i; j++) assert_true(point[i] != point[j]);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(point[part.anchor[i]], anchors[i]);
    for (int k = 0; k < 3; k++) {
      const ptrdiff_t old = pairs.start[anchors[i]] + k, new = part.start[i] + k;
      assert_int_equal(point[part.partner[new]], pairs.partner[old]);
      assert_int_equal(part.sign[new], pairs.sign[old]);
    }
  }
  ep_pairs_free(&pairs);
  ep_pairs_free(&part);
}

/* Equal rows become one point; the pairs still lead to equal rows. */
static void merge(void **state) {
  (void)state;
  enum { P = 60, D = 5 };
  ep_mat X = random_mat(EP_SINGLE, P, D, 1), Y;
  ep_pairs pairs;
  const ep_pair_plan plan = {2, 1, false, false};
  for (int i = 0; i < P; i += 3)
    for (int j = 0; j < D; j++) ep_set(&X, i, j, i % 2 ? 0 : 7);
  CHECK_OK(ep_pairs_draw(&pairs, P / 3, &plan, 1));
  CHECK_OK(ep_mat_new(&Y, EP_SINGLE, P, D));
  ep_mat_copy(&Y, &X);
  ptrdiff_t old[P / 3][4];
  for (int n = 0; n < P / 3; n++) {
    old[n][0] = pairs.anchor[n];
    for (int k = 0; k < 3; k++) old[n][k + 1] = pairs.partner[3 * n + k];
  }
  CHECK_OK(ep_pairs_merge_equal(&X, &pairs));
  assert_int_equal(X.rows, 2 + P * 2 / 3);
  assert_int_equal(pairs.points, X.rows);
  for (int n = 0; n < P / 3; n++)
    for (int k = 0; k < 4; k++) {
      const ptrdiff_t now = k ? pairs.partner[3 * n + k - 1] : pairs.anchor[n];
      for (int j = 0; j < D; j++) CHECK_NEAR(ep_get(&X, now, j), ep_get(&Y, old[n][k], j), 0);
    }
  ep_pairs_free(&pairs);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

static void set_data(ep_data_config *data, ep_pair_config *pairs, const char *name, long samples) {
  ep_options_default(ep_data_options, data);
  ep_options_default(ep_pair_options, pairs);
  strcpy(data->data, name);
  data->samples = samples;
}

/* Images: anchors first, on the unit sphere; every anchor differs from its crop. */
static void digits(void **state) {
  (void)state;
  static ep_data_config data;
  static ep_pair_config pairs;
  ep_run_config run = ep_run_default();
  ep_points p, again;
  set_data(&data, &pairs, "digits", 40);
  CHECK_OK(ep_points_load(NULL, &p, &data, &pairs, "triplet", &run));
  assert_true(p.unit && p.shape.height == 28 && p.X.rows <= 80 && p.X.rows > 70);
  for (ptrdiff_t i = 0; i < p.X.rows; i++) {
    const ep_mat row = ep_mat_rows(&p.X, i, 1);
    const double norm = sqrt(ep_mat_norm2(&row));
    assert_true(norm == 0 || fabs(norm - 1) < 1e-6);
  }
  CHECK_OK(ep_points_load(NULL, &again, &data, &pairs, "triplet", &run));
  assert_true(print_of(&p) == print_of(&again));
  ep_points_free(&again);
  run.seed = 1;
  CHECK_OK(ep_points_load(NULL, &again, &data, &pairs, "triplet", &run));
  assert_true(print_of(&p) != print_of(&again));
  ep_points_free(&again);
  ep_points_free(&p);
}

/* Labels follow their images when a part is drawn. */
static void labels_follow(void **state) {
  (void)state;
  static ep_data_config data;
  static ep_pair_config pairs;
  const ep_run_config run = ep_run_default();
  ep_dataset all, some;
  set_data(&data, &pairs, "digits:test", 0);
  CHECK_OK(ep_dataset_load(NULL, &all, &data, &run));
  data.samples = 25;
  CHECK_OK(ep_dataset_load(NULL, &some, &data, &run));
  assert_true(all.X.rows == 1000 && some.X.rows == 25);
  for (int i = 0; i < 25; i++) {
    const ep_mat row = ep_mat_rows(&some.X, i, 1);
    bool found = false;
    for (int k = 0; k < 1000; k++) {
      const ep_mat other = ep_mat_rows(&all.X, k, 1);
      found = found || (ep_mat_distance2(&row, &other) == 0 && all.labels[k] == some.labels[i]);
    }
    assert_true(found);
  }
  ep_dataset_free(&all);
  ep_dataset_free(&some);
}

static void out_of_memory(void **state) {
  (void)state;
  static ep_data_config data;
  static ep_pair_config pairs;
  const ep_run_config run = ep_run_default();
  const size_t before = ep_mem_current();
  static const char *const names[] = {"digits", "moons:30", "cube:6"};
  for (int i = 0; i < 3; i++) {
    ep_status st = EP_ERR_NOMEM;
    set_data(&data, &pairs, names[i], 20);
    for (int n = 0; st == EP_ERR_NOMEM; n++) {
      ep_points p;
      ep_alloc_fail_after = n;
      st = ep_points_load(NULL, &p, &data, &pairs, "triplet", &run);
      ep_alloc_fail_after = -1;
      ep_points_free(&p);
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
  }
}

/* Tr(U'SU) is minus the linear loss with the dot product, for any pairs; S T against the dense S. */
static void pair_matrix(void **state) {
  (void)state;
  static const ep_pair_plan plans_[] = {
      {1, 1, false, false}, {2, 3, false, false}, {1, 0, false, false}, {1, 0, true, false}};
  for (size_t k = 0; k < sizeof plans_ / sizeof *plans_; k++) {
    ep_pairs pairs;
    ep_pair_matrix S;
    CHECK_OK(ep_pairs_draw(&pairs, 9, &plans_[k], 5));
    pairs.anchor[3] = pairs.anchor[2];               /* an anchor twice */
    pairs.partner[pairs.start[5]] = pairs.anchor[5]; /* a point paired with itself */
    const ptrdiff_t p = pairs.points;
    ep_mat U = random_mat(EP_DOUBLE, p, 70, 3), V, I, dense, single, out;
    CHECK_OK(ep_pair_matrix_new(&S, &pairs));
    CHECK_OK(ep_mat_new(&V, EP_DOUBLE, p, 70));
    CHECK_OK(ep_mat_new(&I, EP_DOUBLE, p, p));
    CHECK_OK(ep_mat_new(&dense, EP_DOUBLE, p, p));
    CHECK_OK(ep_mat_new(&single, EP_SINGLE, p, 70));
    CHECK_OK(ep_mat_new(&out, EP_SINGLE, p, 70));
    ep_pair_matrix_mul(&V, &S, &U);
    for (ptrdiff_t i = 0; i < p; i++) *ep_d(&I, i, i) = 1;
    ep_pair_matrix_mul(&dense, &S, &I);
    double trace = 0, loss = 0;
    for (ptrdiff_t i = 0; i < p; i++)
      for (ptrdiff_t j = 0; j < p; j++) CHECK_NEAR(*ep_d(&dense, i, j), *ep_d(&dense, j, i), 1e-15);
    for (ptrdiff_t i = 0; i < p * 70; i++) trace += *ep_d(&U, 0, i) * *ep_d(&V, 0, i);
    ep_objective objective;
    ep_objective_config config;
    ep_options_default(ep_objective_options, &config);
    config.similarity = EP_SIMILARITY_DOT;
    CHECK_OK(ep_objective_parse(&objective, &config));
    CHECK_OK(ep_objective_value(&loss, NULL, &U, &pairs, &objective));
    CHECK_CLOSE(trace, -loss, 1e-12);
    ep_mat_mul(&V, -1, &dense, EP_N, &U, EP_N, 1);
    CHECK_NEAR(ep_mat_max(&V), 0, 1e-12);
    ep_mat_copy(&single, &U);
    ep_pair_matrix_mul(&out, &S, &single);
    ep_mat_mul(&V, 1, &dense, EP_N, &U, EP_N, 0);
    CHECK_NEAR(mat_gap(&out, &V), 0, 1e-5);
    ep_mat_free(&U), ep_mat_free(&V), ep_mat_free(&I), ep_mat_free(&dense), ep_mat_free(&single),
        ep_mat_free(&out);
    ep_pair_matrix_free(&S);
    ep_pairs_free(&pairs);
  }
}

/* partners of the anchor's label are positives, all others negatives; a point alone is its own; one label has no negatives */
static void by_label(void **state) {
  (void)state;
  static const int label[] = {3, 1, 3, 1, 1, 3, 7, 3}, one[] = {2, 2, 2};
  const ep_pair_plan plan = {2, 3, false, false};
  ep_pairs p;
  CHECK_OK(ep_pairs_by_label(&p, label, 8, &plan, 5));
  assert_int_equal(p.anchors, 8);
  assert_int_equal(p.points, 8);
  for (ptrdiff_t n = 0; n < 8; n++) {
    assert_int_equal(p.start[n + 1] - p.start[n], 5);
    for (ptrdiff_t q = p.start[n]; q < p.start[n + 1]; q++) {
      assert_int_equal(p.sign[q], q < p.start[n] + 2 ? 1 : -1);
      assert_int_equal(label[p.partner[q]] == label[n], p.sign[q] > 0);
      assert_int_equal(p.partner[q] == n, n == 6 && p.sign[q] > 0);
    }
    assert_true(n == 6 || p.partner[p.start[n]] != p.partner[p.start[n] + 1]);
  }
  ep_pairs_free(&p);
  assert_int_equal(ep_pairs_by_label(&p, one, 3, &plan, 5), EP_ERR_INPUT);
  ep_pairs_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans),         cmocka_unit_test(draw),
      cmocka_unit_test(batch),         cmocka_unit_test(merge),
      cmocka_unit_test(digits),        cmocka_unit_test(labels_follow),
      cmocka_unit_test(out_of_memory), cmocka_unit_test(pair_matrix),
      cmocka_unit_test(by_label),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
