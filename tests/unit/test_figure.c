/* Figures and claim results: what goes in comes out, numbers that are not finite as null. */
#include "check.h"

#include <eigenpair/claim.h>
#include <math.h>
#include <string.h>

static void series_and_rules(void **state) {
  (void)state;
  const double x[] = {1, 2, 3}, y[] = {0.5, NAN, 1.0 / 3};
  const int label[] = {0, 1, 2};
  json_t *f;
  CHECK_OK(ep_figure_new(&f, "drift", EP_FIGURE_LINE, "Drift", "It falls.",
                         (ep_axis){"M", .log = true}, (ep_axis){"drift", .log = false}));
  CHECK_OK(ep_figure_add(f, &(ep_series){"gd", NULL, 3, x, y, x, y, label, false}));
  CHECK_OK(
      ep_figure_add(f, &(ep_series){.name = "slope", .count = 2, .x = x, .y = x, .dashed = true}));
  CHECK_OK(ep_figure_rule(f, 'y', 0.1, "tolerance"));
  const json_t *s = json_array_get(json_object_get(f, "series"), 0);
  assert_true(json_is_true(json_object_get(json_object_get(f, "x"), "log")));
  assert_true(json_is_null(json_array_get(json_object_get(s, "y"), 1)));
  assert_true(json_real_value(json_array_get(json_object_get(s, "y"), 2)) == 1.0 / 3);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(s, "label"), 2)), 2);
  assert_int_equal(json_array_size(json_object_get(f, "series")), 2);
  const json_t *r = json_array_get(json_object_get(f, "rules"), 0);
  assert_string_equal(json_string_value(json_object_get(r, "axis")), "y");
  json_decref(f);
}

static void results(void **state) {
  (void)state;
  ep_claim_result r;
  const double two[] = {1, INFINITY};
  CHECK_OK(ep_claim_result_new(&r));
  CHECK_OK(ep_claim_measure(&r, "exponent", -0.5));
  CHECK_OK(ep_claim_measure_all(&r, "drift", two, 2));
  CHECK_OK(ep_claim_note(&r, "The paper does not say the rate."));
  CHECK_OK(ep_claim_figure(&r, json_object()));
  assert_true(json_real_value(json_object_get(r.measured, "exponent")) == -0.5);
  assert_true(json_is_null(json_array_get(json_object_get(r.measured, "drift"), 1)));
  assert_int_equal(json_array_size(r.notes), 1);
  assert_int_equal(json_array_size(r.figures), 1);
  ep_claim_result_free(&r);
  assert_null(r.measured);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(series_and_rules), cmocka_unit_test(results)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
