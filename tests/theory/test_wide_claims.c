/* The claims of WIDE: the cheap ones at quick size, the table of all papers, failing allocations. */
#include "claims.h"
#include "core/mem.h"

#include <eigenpair/reproduce.h>
#include <stdlib.h>
#include <string.h>

static double number(const ep_claim_result *r, const char *name) {
  const json_t *x = json_object_get(r->measured, name);
  if (!json_is_number(x)) fail_msg("%s was not measured", name);
  return json_number_value(x);
}

static const ep_claim *find(const char *id) {
  const ep_claim *wanted[EP_MOST_CLAIMS];
  int count;
  CHECK_OK(ep_claims_find(wanted, &count, &id, 1));
  assert_int_equal(count, 1);
  return wanted[0];
}

static void run_claim(const char *id, ep_claim_result *r) {
  const ep_claim *c = find(id);
  const ep_run_config run = ep_run_default();
  CHECK_OK(ep_claim_result_new(r));
  CHECK_OK(c->check(r, EP_CLAIM_QUICK, &run));
  char *text = json_dumps(r->measured, JSON_REAL_PRECISION(6));
  if (!r->pass) fail_msg("%s: %s; measured %s", id, c->criterion, text);
  free(text);
}

/* those with an exact answer, and one of each kind of the others */
static void cheap(void **state) {
  (void)state;
  static const char *const ids[] = {"wide-fig2",  "wide-prop10", "wide-fig3",  "wide-fig4l",
                                    "wide-fig4m", "wide-fig5m",  "wide-prop18"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    ep_claim_result r;
    run_claim(ids[i], &r);
    if (strcmp(ids[i], "wide-prop10") == 0) /* the closed form, not only the criterion */
      assert_true(number(&r, "blow_up_error") < 2e-3);
    if (strcmp(ids[i], "wide-prop18") == 0) {
      assert_true(number(&r, "dot_outputs_apart") <= 1e-12);
      assert_true(number(&r, "cosine_loss_fell_by") > 0.1);
    }
    if (strcmp(ids[i], "wide-fig3") == 0)
      assert_true(number(&r, "drift_exponent_low") < number(&r, "drift_exponent_high"));
    ep_claim_result_free(&r);
  }
}

/* every paper's ids begin with its name, each id is there once, and has its words */
static void table(void **state) {
  (void)state;
  const ep_claim *all[EP_MOST_CLAIMS], *wide[EP_MOST_CLAIMS];
  static const char *const paper[] = {"wide"}, *const unknown[] = {"wide-fig3", "nothing"};
  int count, wides;
  CHECK_OK(ep_claims_find(all, &count, NULL, 0));
  CHECK_OK(ep_claims_find(wide, &wides, paper, 1));
  for (int i = 0; i < count; i++) {
    assert_true(strlen(all[i]->says) > 15 && strlen(all[i]->criterion) > 15 && all[i]->check);
    for (int j = 0; j < i; j++) assert_string_not_equal(all[i]->id, all[j]->id);
  }
  for (int i = 0; i < wides; i++) assert_true(strncmp(wide[i]->id, "wide-", 5) == 0);
  assert_true(wides >= 14 && count > wides);
  assert_int_equal(ep_claims_find(all, &count, unknown, 2), EP_ERR_ARG);
  assert_non_null(strstr(ep_last_error(), "'nothing'"));
}

static void memory(void **state) {
  (void)state;
  claim_without_memory(find("wide-prop18"), 120);
  claim_without_memory(find("wide-fig4m"), 120);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cheap), cmocka_unit_test(table),
                                     cmocka_unit_test(memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
