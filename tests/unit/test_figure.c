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
  assert_true(r.numbers == 2 && r.measured[0].value[0] == -0.5 && !r.measured[0].list);
  assert_true(r.measured[1].list && r.measured[1].count == 2 && !r.measured[1].low);
  CHECK_OK(ep_claim_note(&r, "The paper does not say the rate."));
  CHECK_OK(ep_claim_figure(&r, json_object()));
  assert_int_equal(json_array_size(r.notes), 1);
  assert_int_equal(json_array_size(r.figures), 1);
  ep_claim_result_free(&r);
  assert_null(r.measured);
}

/* An interval is of its number, whatever names others have; files have it as NAME_low and NAME_high, and it comes back. */
static void intervals(void **state) {
  (void)state;
  ep_claim_result r, s;
  json_t *a, *b;
  const double value[] = {1, 2}, low[] = {0, 1}, high[] = {2, NAN};
  CHECK_OK(ep_claim_result_new(&r));
  CHECK_OK(ep_claim_result_new(&s));
  CHECK_OK(ep_claim_measure(&r, "rate_low", 7)); /* a number of its own */
  CHECK_OK(ep_claim_measure_within(&r, "drift", 0, -1, 1));
  CHECK_OK(ep_claim_measure_all_within(&r, "share", value, low, high, 2));
  CHECK_OK(ep_claim_measure_within(&r, "drift", -0.5, -0.75, -0.25)); /* in its place */
  assert_int_equal(r.numbers, 3);
  assert_null(r.measured[0].low);
  assert_true(*r.measured[1].low == -0.75 && *r.measured[1].high == -0.25);
  CHECK_OK(ep_claim_measured_to_json(&a, &r));
  char *text = json_dumps(a, JSON_COMPACT);
  assert_string_equal(text,
                      "{\"rate_low\":7.0,\"drift\":-0.5,\"drift_low\":-0.75,\"drift_high\":-0.25,"
                      "\"share\":[1.0,2.0],\"share_low\":[0.0,1.0],\"share_high\":[2.0,null]}");
  free(text);
  CHECK_OK(ep_claim_measured_from_json(&s, a));
  assert_int_equal(s.numbers, 3);
  assert_null(s.measured[0].low);
  assert_true(*s.measured[1].low == -0.75 && s.measured[2].low[1] == 1);
  assert_true(isnan(s.measured[2].high[1]));
  CHECK_OK(ep_claim_measured_to_json(&b, &s));
  assert_true(json_equal(a, b));
  json_decref(b);
  CHECK_OK(ep_claim_measure_as(&s, "fig1: drift", &r.measured[1]));
  assert_true(s.numbers == 4 && *s.measured[3].high == -0.25);
  json_object_set_new(a, "drift", json_string("much"));
  assert_int_not_equal(ep_claim_measured_from_json(&s, a), EP_OK);
  json_decref(a);
  ep_claim_result_free(&r);
  ep_claim_result_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(series_and_rules), cmocka_unit_test(results),
                                     cmocka_unit_test(intervals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
