/* The claims of OPTIMA at their smallest size: each returns its numbers and its verdict. */
#include "check.h"
#include "core/mem.h"

#include <eigenpair/claim.h>
#include <stdlib.h>
#include <string.h>

static void each(const char *id, bool pass) {
  const ep_run_config run = ep_run_default();
  for (const ep_claim *c = ep_claims_optima; c->id; c++) {
    if (strcmp(c->id, id)) continue;
    ep_claim_result r;
    CHECK_OK(ep_claim_result_new(&r));
    CHECK_OK(c->check(&r, EP_CLAIM_QUICK, &run));
    char *text = json_dumps(r.measured, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    print_message("%s: %s\n%s\n", c->id, r.pass ? "PASS" : "FAIL", text);
    free(text);
    assert_true(json_object_size(r.measured) >= 2);
    const char *name;
    json_t *value;
    json_object_foreach(r.measured, name, value) assert_false(json_is_null(value));
    assert_true(r.pass == pass);
    ep_claim_result_free(&r);
    return;
  }
  fail_msg("no claim %s", id);
}

static void exact(void **state) { (void)state, each("optima-exact", true); }
static void fig1(void **state) { (void)state, each("optima-fig1", true); }
static void linear(void **state) { (void)state, each("optima-linear", true); }
static void count(void **state) { (void)state, each("optima-count", true); }
static void stability(void **state) { (void)state, each("optima-stability", true); }
static void limit(void **state) { (void)state, each("optima-limit", true); }

/* Nothing is left behind when memory runs out in the middle of one. */
static void out_of_memory(void **state) {
  (void)state;
  const ep_run_config run = ep_run_default();
  for (const ep_claim *c = ep_claims_optima; c->id; c++) {
    const size_t before = ep_mem_current();
    for (int n = 0; n < 60; n += 3) {
      ep_claim_result r;
      CHECK_OK(ep_claim_result_new(&r));
      ep_alloc_fail_after = n;
      const ep_status st = c->check(&r, EP_CLAIM_QUICK, &run);
      ep_alloc_fail_after = -1;
      CHECK_STATUS(st, EP_ERR_NOMEM);
      ep_claim_result_free(&r);
      assert_int_equal(ep_mem_current(), before);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exact),         cmocka_unit_test(fig1),      cmocka_unit_test(linear),
      cmocka_unit_test(count),         cmocka_unit_test(stability), cmocka_unit_test(limit),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
