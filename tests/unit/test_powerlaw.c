/* Power laws: exact ones come back; the interval against a textbook example; what is not positive is left out. */
#include "check.h"

#include <eigenpair/powerlaw.h>

static void exact(void **state) {
  (void)state;
  const double x[] = {10, 100, 1000, -1, 50}, y[] = {3 / sqrt(10), 0.3, 3 / sqrt(1000), 1, NAN};
  const ep_power_law law = ep_power_law_fit(x, y, 5);
  assert_int_equal(law.count, 3);
  CHECK_NEAR(law.exponent, -0.5, 1e-14);
  CHECK_NEAR(exp(law.log_c), 3, 1e-12);
  CHECK_NEAR(law.high - law.low, 0, 1e-12);
  CHECK_NEAR(ep_power_law_meets(&law, 0.03), 10000, 1e-6);
  assert_true(isnan(ep_power_law_fit(x, y, 1).exponent));
  const double same[] = {5, 5, 5};
  assert_true(isnan(ep_power_law_fit(same, y, 3).exponent));
}

/* log x = 0..4, log y = 1, 3, 2, 5, 4: slope 0.8, residual sum 3.6, standard error sqrt(1.2 / 10), t(3) = 3.182 */
static void interval(void **state) {
  (void)state;
  double x[5], y[5];
  const double log_y[] = {1, 3, 2, 5, 4};
  for (int i = 0; i < 5; i++) x[i] = exp(i), y[i] = exp(log_y[i]);
  const ep_power_law law = ep_power_law_fit(x, y, 5);
  CHECK_NEAR(law.exponent, 0.8, 1e-13);
  CHECK_NEAR(law.low, 0.8 - 3.182 * sqrt(0.12), 1e-12);
  CHECK_NEAR(law.high, 0.8 + 3.182 * sqrt(0.12), 1e-12);
}

/* The first example three times with other constants: the same exponent, the residuals of all, t(15 - 3 - 1) = 2.201; one run
 * is the fit above. What cannot be used is left out. */
static void of_runs(void **state) {
  (void)state;
  enum { X = 5, RUNS = 3 };
  const double log_y[] = {1, 3, 2, 5, 4};
  double x[X + 1], y[(X + 1) * RUNS], one[X];
  for (int i = 0; i < X; i++) {
    x[i] = exp(i), one[i] = exp(log_y[i]);
    for (int k = 0; k < RUNS; k++) y[i * RUNS + k] = exp(log_y[i] + 7 * k);
  }
  x[X] = 1;
  for (int k = 0; k < RUNS; k++) y[X * RUNS + k] = k ? 0 : INFINITY;
  const ep_power_law law = ep_power_law_fit_runs(x, y, X + 1, RUNS),
                     single = ep_power_law_fit_runs(x, one, X, 1),
                     same = ep_power_law_fit(x, one, X);
  assert_int_equal(law.count, X * RUNS);
  CHECK_NEAR(law.exponent, 0.8, 1e-13);
  CHECK_NEAR(law.log_c, 1.4 + 7, 1e-12);
  CHECK_NEAR(law.high, 0.8 + 2.201 * sqrt(3 * 3.6 / 11 / 30), 5e-4);
  CHECK_NEAR(law.low + law.high, 1.6, 1e-12);
  CHECK_NEAR(single.high, same.high, 1e-13);
  CHECK_NEAR(single.log_c, same.log_c, 1e-13);
  assert_true(isnan(ep_power_law_fit_runs(x, y, 1, RUNS).exponent));
}

/* 2, 4, 9: mean 5, variance 13, t(2) = 4.303; one number has no interval */
static void mean(void **state) {
  (void)state;
  const double value[] = {2, 4, 9};
  double m, low, high;
  ep_mean_interval(&m, &low, &high, value, 3);
  CHECK_NEAR(m, 5, 1e-15);
  CHECK_NEAR(low, 5 - 4.303 * sqrt(13. / 3), 1e-12);
  CHECK_NEAR(high, 5 + 4.303 * sqrt(13. / 3), 1e-12);
  ep_mean_interval(&m, &low, &high, value, 1);
  assert_true(m == 2 && isnan(low) && isnan(high));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exact), cmocka_unit_test(interval),
                                     cmocka_unit_test(of_runs), cmocka_unit_test(mean)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
