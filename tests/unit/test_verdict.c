/* The verdict on rows made up: every answer from both sides. */
#include "study/verdict.h"

#include "check.h"

#include <math.h>
#include <string.h>

enum { SEEDS = 3 };
static const double none = NAN;

/* a row whose every trial is alike */
static ep_row row_of(ep_trial trial[SEEDS], const char *method, double score, double seconds) {
  for (int k = 0; k < SEEDS; k++)
    trial[k] =
        (ep_trial){true, false, score, none, none, none, none, none, seconds, 1e9, none, 1, 0};
  return (ep_row){.name = method,
                  .method = ep_method_find(method),
                  .width = 100,
                  .seeds = SEEDS,
                  .trial = trial};
}

static void test_same_function(void **state) {
  (void)state;
  ep_trial a[SEEDS], b[SEEDS];
  const ep_row kernel = row_of(a, "kernel", 0.9, 1), gd = row_of(b, "gd", 0.9, 1);
  assert_true(ep_same_function(&kernel, &gd, 0.1).reason == EP_NOT_MEASURED);
  assert_true(ep_same_function(&kernel, NULL, 0.1).answer == EP_NO_ANSWER);
  a[0].difference = 0.05, a[1].difference = 0.08, a[2].difference = 0.1;
  ep_finding f = ep_same_function(&kernel, &gd, 0.1);
  assert_true(f.answer == EP_YES && f.low == 0.05 && f.high == 0.1);
  assert_true(fabs(f.number - 0.23 / 3) < 1e-15);
  a[2].difference = 0.11; /* seeds disagree */
  f = ep_same_function(&kernel, &gd, 0.1);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_SEEDS_DISAGREE);
  a[0].difference = a[1].difference = 0.2;
  assert_true(ep_same_function(&kernel, &gd, 0.1).answer == EP_NO);
  for (int k = 0; k < SEEDS; k++) a[k].difference = 0.01;
  b[1].settling = 0.03; /* still falling at one seed */
  f = ep_same_function(&kernel, &gd, 0.1);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_NOT_SETTLED && f.high == 0.01);
  b[1].settling = none; /* too few epochs to tell */
  f = ep_same_function(&kernel, &gd, 0.1);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_TOO_FEW_EPOCHS && f.high == 0.01);
  b[1].settling = 0.02;
  assert_true(ep_same_function(&kernel, &gd, 0.1).answer == EP_YES);
  b[2].moved = 0.1; /* no further than the tolerance */
  f = ep_same_function(&kernel, &gd, 0.1);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_NOT_MOVED);
  b[2].moved = 0.101;
  assert_true(ep_same_function(&kernel, &gd, 0.1).answer == EP_YES);
}

static void test_divergence(void **state) {
  (void)state;
  ep_trial a[SEEDS], b[SEEDS];
  const ep_row kernel = row_of(a, "kernel", 0.9, 1), gd = row_of(b, "gd", 0.8, 1);
  for (int k = 0; k < SEEDS; k++) a[k].difference = 0.01;
  b[0].diverged = true; /* one seed */
  assert_true(ep_same_function(&kernel, &gd, 0.1).reason == EP_SEEDS_DISAGREE);
  assert_true(ep_as_good(&kernel, &gd, EP_BY_ACCURACY, 100, 0.1).answer == EP_NO_ANSWER);
  b[1].diverged = b[2].diverged = true; /* training, at every one */
  assert_true(ep_same_function(&kernel, &gd, 0.1).answer == EP_NO);
  ep_finding f = ep_as_good(&kernel, &gd, EP_BY_ACCURACY, 100, 0.1);
  assert_true(f.answer == EP_YES && f.reason == EP_TRAINING_DIVERGED);
  for (int k = 0; k < SEEDS; k++) a[k].diverged = true, b[k].diverged = false;
  f = ep_as_good(&kernel, &gd, EP_BY_ACCURACY, 100, 0.1);
  assert_true(f.answer == EP_NO && f.reason == EP_METHOD_DIVERGED);
  assert_true(ep_row_diverged(&kernel) == SEEDS && ep_row_diverged(&gd) == 0);
}

static void test_as_good(void **state) {
  (void)state;
  ep_trial a[SEEDS], b[SEEDS];
  ep_row pca = row_of(a, "pca", 0.9, 1), trained = row_of(b, "grassmann", 0.9, 1);
  ep_finding f = ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1);
  assert_true(f.answer == EP_YES && f.number == 0);
  for (int k = 0; k < SEEDS; k++) a[k].accuracy = 0.9 - EP_MARGIN + 1e-9; /* within the margin */
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).answer == EP_YES);
  for (int k = 0; k < SEEDS; k++) a[k].accuracy = 0.9 - EP_MARGIN - 1e-9;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).answer == EP_NO);
  a[0].accuracy = 0.95, a[1].accuracy = 0.85; /* no telling */
  f = ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_SEEDS_DISAGREE && f.low < 0 && f.high > 0);
  /* training that has not settled may get better: a yes is none, a no stays */
  for (int k = 0; k < SEEDS; k++) a[k].accuracy = 0.95, b[k].settling = 0.1;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).reason == EP_NOT_SETTLED);
  for (int k = 0; k < SEEDS; k++) a[k].accuracy = 0.8;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).answer == EP_NO);
  for (int k = 0; k < SEEDS; k++) a[k].accuracy = 0.95, b[k].moved = 0;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).reason == EP_NOT_MOVED);
  /* one seed: the interval is that of the test points */
  pca.seeds = trained.seeds = 1;
  b[0].moved = 1, b[0].settling = 0, a[0].accuracy = 0.88, b[0].accuracy = 0.9;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1).answer == EP_NO_ANSWER);
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100000, 0.1).answer == EP_NO);
  a[0].accuracy = 0.9;
  assert_true(ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100000, 0.1).answer == EP_YES);
  f = ep_as_good(&pca, &trained, EP_BY_ACCURACY, 100, 0.1);
  assert_true(fabs(f.high - 1.96 * sqrt(2 * 0.9 * 0.1 / 100)) < 1e-15);
  assert_true(ep_as_good(&pca, &trained, EP_BY_RECALL, 100, 0.1).reason == EP_NOT_MEASURED);
}

static void test_cheaper(void **state) {
  (void)state;
  ep_trial a[SEEDS], b[SEEDS];
  const ep_row pca = row_of(a, "pca", 0.9, 2), gd = row_of(b, "gd", 0.9, 13);
  ep_finding f = ep_cheaper(&pca, &gd);
  assert_true(f.answer == EP_YES && fabs(f.number - 6.5) < 1e-12);
  assert_true(ep_cheaper(&gd, &pca).answer == EP_NO);
  for (int k = 0; k < SEEDS; k++) a[k].memory = 1.11e9; /* less time, more memory */
  f = ep_cheaper(&pca, &gd);
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_TRADE);
  f = ep_cheaper(&gd, &pca); /* more time, less memory */
  assert_true(f.answer == EP_NO_ANSWER && f.reason == EP_TRADE && f.number < 1);
  for (int k = 0; k < SEEDS; k++) a[k].memory = 1.09e9;
  assert_true(ep_cheaper(&pca, &gd).answer == EP_YES);
  for (int k = 0; k < SEEDS; k++) b[k].memory = 1e6, a[k].memory = 1.6e7; /* too little to matter */
  assert_true(ep_cheaper(&pca, &gd).answer == EP_YES);
  for (int k = 0; k < SEEDS; k++) b[k].memory = 66 * 1048576., a[k].memory = 117 * 1048576.;
  assert_true(ep_cheaper(&pca, &gd).reason == EP_TRADE);
  a[1].seconds = 14;
  assert_true(ep_cheaper(&pca, &gd).reason == EP_SEEDS_DISAGREE);
  assert_true(ep_cheaper(&pca, NULL).reason == EP_NOT_MEASURED);
}

static void test_drift_and_law(void **state) {
  (void)state;
  const double small[] = {0.01, 0.1, none}, mixed[] = {0.01, 0.11}, large[] = {0.2, 0.11};
  assert_true(ep_small(small, 3, 0.1).answer == EP_YES && ep_small(large, 2, 0.1).answer == EP_NO);
  assert_true(ep_small(mixed, 2, 0.1).reason == EP_SEEDS_DISAGREE);
  assert_true(ep_small(small, 0, 0.1).reason == EP_NOT_MEASURED);
  assert_true(ep_falls(&(ep_power_law){-0.5, -0.6, -0.4, 0, 9}).answer == EP_YES);
  assert_true(ep_falls(&(ep_power_law){0.5, 0.4, 0.6, 0, 9}).answer == EP_NO);
  assert_true(ep_falls(&(ep_power_law){-1.4, -5.3, 2.55, 0, 9}).answer == EP_NO_ANSWER);
  assert_true(ep_falls(&(ep_power_law){-0.5, none, none, 0, 2}).reason == EP_NOT_MEASURED);
}

static void set_memory(ep_trial trial[SEEDS], double bytes) {
  for (int k = 0; k < SEEDS; k++) trial[k].memory = bytes;
}

static void set_score(ep_trial trial[SEEDS], double score) {
  for (int k = 0; k < SEEDS; k++) trial[k].accuracy = score;
}

static void test_order_and_choice(void **state) {
  (void)state;
  ep_trial t[5][SEEDS];
  ep_row rows[] = {row_of(t[0], "gd", 0.62, 13), row_of(t[1], "pca", 0.74, 1),
                   row_of(t[2], "whitened", 0.756, 2), row_of(t[3], "infinite", none, 1),
                   row_of(t[4], "raw inputs", 0.76, 0)};
  const ep_row *training = ep_row_training(&rows[2], rows, 5, EP_BY_ACCURACY);
  assert_true(training == &rows[0] && ep_row_trains(&rows[0]) && !ep_row_trains(&rows[1]));
  assert_true(rows[4].method == NULL && !ep_row_trains(&rows[4]));
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_METHODS) == 2);
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_BASELINES) == 4);
  set_score(t[4], 0.755); /* within the margin, but not as good */
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_BASELINES) == -1);
  set_score(t[4], 0.76);
  set_score(t[1], 0.75); /* as good, and cheaper */
  set_memory(t[1], 9e8);
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_METHODS) == 1);
  set_score(t[0], 0.755); /* training in less memory is no closed form */
  set_memory(t[0], 1e6);
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_METHODS) == 1);
  set_score(t[0], 0.9); /* nothing comes near training */
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_METHODS) == 0);
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_CLOSED) == 1);
  assert_true(ep_rows_choose(rows, 5, EP_BY_ACCURACY, EP_OF_BASELINES) == -1);
  assert_true(ep_rows_choose(rows, 5, EP_BY_RECALL, EP_OF_METHODS) == -1);
  assert_true(ep_rows_choose(rows, 5, EP_BY_RECALL, EP_OF_BASELINES) == -1);
  ep_rows_sort(rows, 5, EP_BY_ACCURACY);
  static const char *const order[] = {"gd", "raw inputs", "whitened", "pca", "infinite"};
  for (int i = 0; i < 5; i++) assert_true(strcmp(rows[i].name, order[i]) == 0);
}

/* as good as the best method, and free: proposed, and marked as the best */
static void test_baseline_that_is_as_good(void **state) {
  (void)state;
  ep_trial t[3][SEEDS];
  ep_row rows[] = {row_of(t[0], "infinite", 1, 1), row_of(t[1], "gd", 1, 1),
                   row_of(t[2], "raw inputs", 1, 0)};
  assert_true(ep_rows_choose(rows, 3, EP_BY_ACCURACY, EP_OF_BASELINES) == 2);
  assert_true(ep_rows_choose(rows, 3, EP_BY_ACCURACY, EP_OF_METHODS) == 0);
  ep_rows_sort(rows, 3, EP_BY_ACCURACY);
  assert_true(strcmp(rows[0].name, "raw inputs") == 0 && strcmp(rows[1].name, "infinite") == 0);
}

/* times differ from run to run: neither the order of equals nor the choice may hang on them */
static void test_times_do_not_decide(void **state) {
  (void)state;
  ep_trial t[4][SEEDS];
  ep_row rows[] = {row_of(t[0], "gd", 0.7, 1), row_of(t[1], "kernel", 0.7, 1),
                   row_of(t[2], "whitened", 0.7, 1), row_of(t[3], "pca", 0.7, 1)};
  static const char *const order[] = {"pca", "whitened", "kernel", "gd"};
  set_memory(t[3], 1e8);
  for (int slow = 0; slow < 4; slow++) {
    for (int i = 0; i < 4; i++)
      for (int k = 0; k < SEEDS; k++) rows[i].trial[k].seconds = i == slow ? 100 : 1;
    const int i = ep_rows_choose(rows, 4, EP_BY_ACCURACY, EP_OF_METHODS);
    assert_true(strcmp(rows[i].name, "pca") == 0);
    ep_rows_sort(rows, 4, EP_BY_ACCURACY);
    for (int k = 0; k < 4; k++) assert_true(strcmp(rows[k].name, order[k]) == 0);
  }
}

/* what a method stands for, at its own width, comes before a better training of another kind */
static void test_what_it_stands_for(void **state) {
  (void)state;
  ep_trial t[4][SEEDS];
  ep_row rows[] = {row_of(t[0], "gd", 0.9, 1), row_of(t[1], "grassmann", 0.5, 1),
                   row_of(t[2], "grassmann", 0.6, 1), row_of(t[3], "pca", 0.7, 1)};
  rows[2].width = 300;
  assert_true(ep_row_training(&rows[3], rows, 4, EP_BY_ACCURACY) == &rows[1]);
  rows[3].width = 300;
  assert_true(ep_row_training(&rows[3], rows, 4, EP_BY_ACCURACY) == &rows[2]);
  rows[3].width = 7;
  assert_true(ep_row_training(&rows[3], rows, 4, EP_BY_ACCURACY) == &rows[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_function),
                                     cmocka_unit_test(test_divergence),
                                     cmocka_unit_test(test_as_good),
                                     cmocka_unit_test(test_cheaper),
                                     cmocka_unit_test(test_drift_and_law),
                                     cmocka_unit_test(test_order_and_choice),
                                     cmocka_unit_test(test_baseline_that_is_as_good),
                                     cmocka_unit_test(test_times_do_not_decide),
                                     cmocka_unit_test(test_what_it_stands_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
