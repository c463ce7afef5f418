/* The claims of LINEAR at quick size: each runs, measures, draws, and passes. */
#include "claims.h"
#include "core/mem.h"

#include <eigenpair/claim.h>
#include <stdlib.h>
#include <string.h>

/* every series has as many x as y, and low and high where it has one of them */
static void check_figures(const json_t *figures) {
  size_t i, k;
  json_t *figure, *series;
  assert_true(json_array_size(figures) > 0);
  json_array_foreach(figures, i, figure) {
    assert_true(strlen(json_string_value(json_object_get(figure, "alt"))) > 20);
    assert_true(json_array_size(json_object_get(figure, "series")) > 0);
    json_array_foreach(json_object_get(figure, "series"), k, series) {
      const size_t count = json_array_size(json_object_get(series, "x"));
      assert_true(count > 1);
      assert_int_equal(json_array_size(json_object_get(series, "y")), count);
      for (size_t n = 0; n < count; n++)
        assert_true(json_is_real(json_array_get(json_object_get(series, "y"), n)));
      if (json_object_get(series, "low"))
        assert_int_equal(json_array_size(json_object_get(series, "high")), count);
    }
  }
}

static double number(const ep_claim_result *r, const char *name) {
  const json_t *x = json_object_get(r->measured, name);
  if (!json_is_number(x)) fail_msg("%s was not measured", name);
  return json_number_value(x);
}

static const ep_claim *find(const char *id) {
  for (const ep_claim *c = ep_claims_linear; c->id; c++)
    if (strcmp(c->id, id) == 0) return c;
  fail_msg("no claim %s", id);
  return NULL;
}

static void run_claim(const char *id, ep_claim_result *r) {
  const ep_claim *c = find(id);
  const ep_run_config run = ep_run_default();
  CHECK_OK(ep_claim_result_new(r));
  CHECK_OK(c->check(r, EP_CLAIM_QUICK, &run));
  char *text = json_dumps(r->measured, JSON_REAL_PRECISION(6));
  if (!r->pass) fail_msg("%s: %s; measured %s", id, c->criterion, text);
  free(text);
  check_figures(r->figures);
}

static void all(void **state) {
  (void)state;
  static const char *const ids[] = {
      "linear-fig1", "linear-fig2",  "linear-fig3",  "linear-fig4",  "linear-fig5",
      "linear-fig6", "linear-prop1", "linear-prop2", "linear-prop3", "linear-noncontrastive"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    ep_claim_result r;
    run_claim(ids[i], &r);
    if (strcmp(ids[i], "linear-fig1") == 0) { /* half moons: rank 1 without, rank 2 with */
      assert_true(number(&r, "unconstrained_second_over_first") < 0.05);
      assert_true(number(&r, "orthogonal_second_over_first") > 0.2);
    }
    if (strcmp(ids[i], "linear-fig2") == 0) /* the finding: relu does not become linear */
      assert_true(number(&r, "relu_exponent") > -0.3);
    if (strcmp(ids[i], "linear-prop3") == 0)
      assert_true(number(&r, "plain_qr_gap") > 10 * number(&r, "problem_4_gap"));
    ep_claim_result_free(&r);
  }
}

/* every id has its words */
static void table(void **state) {
  (void)state;
  int count = 0;
  for (const ep_claim *c = ep_claims_linear; c->id; c++, count++) {
    assert_true(strncmp(c->id, "linear-", 7) == 0 && strncmp(c->source, "LINEAR ", 7) == 0);
    assert_true(strlen(c->says) > 20 && strlen(c->criterion) > 20 && c->check);
  }
  assert_int_equal(count, 10);
}

static void memory(void **state) {
  (void)state;
  claim_without_memory(find("linear-prop1"), 400);
  claim_without_memory(find("linear-fig4"), 400);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all), cmocka_unit_test(table),
                                     cmocka_unit_test(memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
