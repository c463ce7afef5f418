/* The claims of TANGENT at their quick size. */
#include "check.h"

#include <eigenpair/claim.h>
#include <stdlib.h>

static ep_run_config config(void) {
  ep_run_config run = ep_run_default();
  run.seed = 1;
  return run;
}

static void holds(void **state) {
  const ep_claim *c = *state;
  const ep_run_config run = config();
  ep_claim_result r;
  CHECK_OK(ep_claim_result_new(&r));
  CHECK_OK(c->check(&r, EP_CLAIM_QUICK, &run));
  char *text = json_dumps(r.measured, JSON_REAL_PRECISION(4));
  print_message("%s: %s\n", c->id, text);
  free(text);
  assert_true(r.pass);
  assert_true(json_object_size(r.measured) > 0 && json_array_size(r.notes) > 0);
  ep_claim_result_free(&r);
}

static double number(const ep_claim_result *r, const char *name, size_t i) {
  const json_t *v = json_object_get(r->measured, name);
  return json_number_value(json_is_array(v) ? json_array_get(v, i) : v);
}

/* asked to stop, every check does */
static void stops(void **state) {
  (void)state;
  const volatile int now = 1;
  ep_run_config run = config();
  run.stop = &now;
  ep_watch(&run);
  for (const ep_claim *c = ep_claims_tangent; c->id; c++) {
    ep_claim_result r;
    CHECK_OK(ep_claim_result_new(&r));
    CHECK_STATUS(c->check(&r, EP_CLAIM_QUICK, &run), EP_ERR_INTERRUPTED);
    ep_claim_result_free(&r);
  }
  ep_watch(NULL);
}

static void same_seed_same_numbers(void **state) {
  (void)state;
  ep_claim_result r[3];
  for (int i = 0; i < 3; i++) {
    ep_run_config run = config();
    run.seed = i == 2 ? 5 : 1;
    CHECK_OK(ep_claim_result_new(&r[i]));
    CHECK_OK(ep_claims_tangent[3].check(&r[i], EP_CLAIM_QUICK, &run));
  }
  assert_true(json_equal(r[0].measured, r[1].measured));
  assert_true(number(&r[0], "off digits biases", 0) != number(&r[2], "off digits biases", 0));
  for (int i = 0; i < 3; i++) ep_claim_result_free(&r[i]);
}

int main(void) {
  struct CMUnitTest tests[16] = {0};
  size_t count = 0;
  for (const ep_claim *c = ep_claims_tangent; c->id; c++)
    tests[count++] = (struct CMUnitTest){c->id, holds, NULL, NULL, (void *)(size_t)c};
  tests[count++] = (struct CMUnitTest)cmocka_unit_test(stops);
  tests[count++] = (struct CMUnitTest)cmocka_unit_test(same_seed_same_numbers);
  return _cmocka_run_group_tests("tangent", tests, count, NULL, NULL);
}
