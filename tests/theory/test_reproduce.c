/* The papers' claims as functions: their table, stopping, the seed, failing allocations. What they measure at the quick
 * size is checked by tests/cli/test_claims.py. */
#include "in_run.h"
#include "check.h"
#include "core/mem.h"

#include <eigenpair/reproduce.h>
#include <stdlib.h>
#include <string.h>

static const ep_claim *find(const char *id) {
  const ep_claim *wanted[EP_MOST_CLAIMS];
  int count;
  CHECK_OK(ep_claims_find(wanted, &count, &id, 1));
  assert_int_equal(count, 1);
  return wanted[0];
}

/* every id begins with its paper's name, is there once, and has its words and its seconds */
static void table(void **state) {
  (void)state;
  const ep_claim *all[EP_MOST_CLAIMS];
  static const char *const unknown[] = {"wide-fig3", "nothing"};
  int count, at = 0;
  CHECK_OK(ep_claims_find(all, &count, NULL, 0));
  for (const ep_paper *p = ep_papers; p->name; p++)
    for (const ep_claim *c = p->claims; c->id; c++, at++) {
      assert_ptr_equal(all[at], c);
      assert_true(strncmp(c->id, p->name, strlen(p->name)) == 0 && c->id[strlen(p->name)] == '-');
      assert_true(strlen(c->says) > 15 && strlen(c->criterion) > 15 && c->check);
      for (int i = 0; i < at; i++) assert_string_not_equal(all[i]->id, c->id);
      for (int s = 0; s < 3; s++) assert_true(c->seconds[s] > 0);
      assert_true(c->seconds[0] <= c->seconds[1] && c->seconds[1] <= c->seconds[2]);
    }
  assert_int_equal(at, count);
  assert_int_equal(ep_claims_find(all, &count, unknown, 2), EP_ERR_ARG);
  assert_non_null(strstr(ep_last_error(), "'nothing'"));
}

/* asked to stop, every check does */
static void stops(void **state) {
  (void)state;
  const volatile int now = 1;
  const ep_run_config run = ep_run_default();
  const ep_run_scope scope = enter_stopped(&now);
  for (const ep_paper *p = ep_papers; p->name; p++)
    for (const ep_claim *c = p->claims; c->id; c++) {
      ep_claim_result r;
      CHECK_OK(ep_claim_result_new(&r));
      const ep_status st = c->check(&r, EP_CLAIM_QUICK, &run);
      if (st != EP_ERR_INTERRUPTED) fail_msg("%s does not stop", c->id);
      ep_claim_result_free(&r);
    }
  leave(&scope);
}

static json_t *measured(const char *id, long seed) {
  ep_claim_result r;
  ep_run_config run = ep_run_default();
  run.seed = seed;
  CHECK_OK(ep_claim_result_new(&r));
  CHECK_OK(find(id)->check(&r, EP_CLAIM_QUICK, &run));
  json_t *m;
  CHECK_OK(ep_claim_measured_to_json(&m, &r));
  ep_claim_result_free(&r);
  return m;
}

static void same_seed_same_numbers(void **state) {
  (void)state;
  static const char *const ids[] = {"wide-prop18", "linear-fig4", "tangent-nofreelunch",
                                    "optima-linear"};
  for (int i = 0; i < 4; i++) {
    json_t *a = measured(ids[i], 1), *b = measured(ids[i], 1), *c = measured(ids[i], 5);
    assert_true(json_equal(a, b) && !json_equal(a, c));
    json_decref(a), json_decref(b), json_decref(c);
  }
}

/* claims count on from their seed, by thousands at most: no two seeds share a run */
static void seeds_share_no_run(void **state) {
  (void)state;
  assert_int_equal(ep_claim_seed(0), 0);
  for (long a = 0; a < 50; a++)
    for (long b = 0; b < a; b++) assert_true(labs(ep_claim_seed(a) - ep_claim_seed(b)) > 100000);
  for (long k = 0; k < 4; k++) assert_true(ep_claim_seed((1L << 53) - k) >= 0);
}

/* Allocations that fail, here and there along the way, as long as there are any: an error and no leak. */
static void without_memory(const ep_claim *claim, long most) {
  const ep_run_config run = ep_run_default();
  const size_t before = ep_mem_current();
  for (long n = 0; n < most; n += 1 + n / 8) {
    ep_claim_result r;
    CHECK_OK(ep_claim_result_new(&r));
    ep_alloc_fail_after = n;
    const ep_status st = claim->check(&r, EP_CLAIM_QUICK, &run);
    ep_alloc_fail_after = -1;
    ep_claim_result_free(&r);
    assert_int_equal(ep_mem_current(), before);
    if (!st && n >= 4) return;
    assert_int_equal(st, EP_ERR_NOMEM);
  }
}

static void memory(void **state) {
  (void)state;
  static const char *const ids[] = {"wide-prop18", "wide-fig4m",  "wide-bounds", "linear-prop1",
                                    "linear-fig4", "linear-fig5", "tangent-lee"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) without_memory(find(ids[i]), 120);
  for (const ep_claim *c = ep_claims_optima; c->id; c++) without_memory(c, 60);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table),
      cmocka_unit_test(stops),
      cmocka_unit_test(same_seed_same_numbers),
      cmocka_unit_test(seeds_share_no_run),
      cmocka_unit_test(memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
