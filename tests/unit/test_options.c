/* One table: defaults, flags, ranges, JSON there and back. */
#include "check.h"

#include <eigenpair/dynamics.h>
#include <eigenpair/method.h>
#include <eigenpair/optima.h>
#include <eigenpair/probe.h>
#include <eigenpair/regress.h>
#include <string.h>

static const char *colour(int i) {
  static const char *const names[] = {"red", "green", NULL};
  return names[i];
}

#define THING_OPTIONS(X, S)                                    \
  X(S, INT, big_count, "3", 1, 10, NULL, "a count")            \
  X(S, REAL, rate, "0.5", 0, 1, NULL, "a rate")                \
  X(S, BYTES, memory, "1K", 0, 1e15, NULL, "bytes")            \
  X(S, FLAG, fast, NULL, 0, 0, NULL, "a flag")                 \
  X(S, CHOICE, shade, "green", 0, 0, colour, "one of several") \
  X(S, NAME, colour, "red", 0, 1, colour, "a name")            \
  X(S, TEXT, path, "", 0, 0, NULL, "a path")                   \
  X(S, LIST, files, "", 0, 0, NULL, "files")
typedef struct {
  THING_OPTIONS(EP_OPT_FIELD, )
} thing;
static const ep_option table[] = {THING_OPTIONS(EP_OPT_ROW, thing){0}};

static ep_status set(thing *t, const char *name, const char *value) {
  const ep_option *row = ep_options_find(table, name);
  assert_non_null(row);
  return ep_options_set(row, t, value);
}

static void values(void **state) {
  (void)state;
  thing t;
  ep_options_default(table, &t);
  assert_int_equal(t.big_count, 3);
  CHECK_NEAR(t.memory, 1024, 0);
  assert_false(t.fast);
  assert_string_equal(t.colour, "red");
  assert_int_equal(t.shade, 1);
  CHECK_OK(set(&t, "shade", "red"));
  assert_int_equal(t.shade, 0);
  CHECK_OK(set(&t, "big-count", "7"));
  assert_int_equal(t.big_count, 7);
  CHECK_OK(set(&t, "memory", "1.5G"));
  CHECK_NEAR(t.memory, 1.5 * 1024 * 1024 * 1024, 0);
  CHECK_OK(set(&t, "memory", "2MB"));
  CHECK_NEAR(t.memory, 2097152, 0);
  CHECK_OK(set(&t, "colour", "green:5"));
  assert_string_equal(t.colour, "green:5");
  CHECK_OK(set(&t, "files", "a"));
  CHECK_OK(set(&t, "files", "b"));
  assert_string_equal(t.files, "a\nb");
  assert_null(ep_options_find(table, "big"));
}

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *name, *value, *says;
  } cases[] = {
      {"big_count", "11", "out of range"},  {"big_count", "0", "out of range"},
      {"big_count", "2.5", "whole number"}, {"big_count", "3x", "not a number"},
      {"big_count", "", "not a number"},    {"rate", "nan", "not a number"},
      {"rate", "inf", "not a number"},      {"rate", "-1", "out of range"},
      {"memory", "4X", "K, M, G or T"},     {"colour", "blue", "red, green"},
      {"colour", "redd", "red, green"},     {"path", "a\nb", "line break"},
      {"shade", "blue", "red, green"},      {"shade", "", "red, green"},
      {"shade", "red:5", "no parameters"},  {"shade", "r\033[2J", "control character"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    thing t;
    ep_options_default(table, &t);
    CHECK_STATUS(set(&t, cases[i].name, cases[i].value), EP_ERR_ARG);
    if (!strstr(ep_last_error(), cases[i].says)) fail_msg("%s", ep_last_error());
  }
  thing t;
  static char longer[5000];
  memset(longer, 'x', sizeof longer - 1);
  ep_options_default(table, &t);
  CHECK_STATUS(set(&t, "path", longer), EP_ERR_ARG);
}

/* Every option of a fit survives JSON, and every default is within its own range. */
static void json(void **state) {
  (void)state;
  static ep_setup a, b;
  json_t *object;
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  ep_setup_default(&a);
  ep_setup_groups(groups, &a);
  for (const ep_option_group *g = groups; g->table; g++)
    for (const ep_option *o = g->table; o->name; o++)
      if (o->def && *o->def) CHECK_OK(ep_options_set(o, g->config, o->def));
  ep_setup_default(&a);
  a.net.width = 321;
  a.fit.rate = 0.1 + 0.2;
  a.net.input_scale = true;
  strcpy(a.net.activation, "leaky:0.2");
  strcpy(a.pair.negatives, "x.npy\ny.npy");
  CHECK_OK(ep_setup_to_json(&object, &a));
  ep_setup_default(&b);
  CHECK_OK(ep_setup_from_json(&b, object));
  json_decref(object);
  assert_memory_equal(&a.net, &b.net, sizeof a.net);
  assert_memory_equal(&a.fit.rate, &b.fit.rate, sizeof a.fit.rate);
  assert_string_equal(a.pair.negatives, b.pair.negatives);
  object = json_pack("{s:s}", "width", "many");
  assert_int_not_equal(ep_setup_from_json(&b, object), EP_OK);
  json_decref(object);
  object = json_pack("{s:[i]}", "width", 3);
  assert_int_not_equal(ep_setup_from_json(&b, object), EP_OK);
  json_decref(object);
}

/* Every setting of a fit says what it bears on: auto, sums and checkpoints have no other list. */
static void said(void **state) {
  (void)state;
  static ep_setup s;
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  int sums = 0, free = 0;
  ep_setup_groups(groups, &s);
  for (int g = 0; groups[g].table; g++)
    for (const ep_option *o = groups[g].table; o->name; o++) {
      if (!o->about || !o->decides || !o->resumed) fail_msg("%s: no EP_FOR in its row", o->name);
      sums += o->decides == EP_DECIDES_SUMS;
      free += o->resumed == EP_RESUMED_FREE;
    }
  for (const ep_option *o = ep_fit_auto_options; o->name; o++) {
    const ep_option *same = ep_options_find(groups[5].table, o->name);
    assert_int_equal(o->about, same->about);
    assert_int_equal(o->decides, same->decides);
    assert_int_equal(o->resumed, same->resumed);
  }
  assert_true(sums > 0 && free > 0);
}

/* An enum is in the order of the names of its option. */
static void choices(void **state) {
  (void)state;
  static const struct {
    const char *(*names)(int i);
    int value;
    const char *name;
  } last[] = {{ep_scale_name, EP_SCALE_STANDARD, "standard"},
              {ep_scale_name, EP_SCALE_UNIT, "unit"},
              {ep_scale_name, EP_SCALE_RAW, "raw"},
              {ep_missing_name, EP_MISSING_DROP, "drop"},
              {ep_missing_name, EP_MISSING_ERROR, "error"},
              {ep_precision_name, EP_DOUBLE, "double"},
              {ep_rows_name, EP_ROWS_UNIT, "unit"},
              {ep_kernel_name, EP_KERNEL_ANALYTIC, "analytic"},
              {ep_integrator_name, EP_INTEGRATOR_FLOW, "flow"},
              {ep_standardise_name, EP_STANDARDISE_ON, "on"},
              {ep_standardise_name, EP_STANDARDISE_OFF, "off"},
              {ep_parametrisation_name, EP_PARAMETRISATION_STANDARD, "standard"},
              {ep_filters_name, EP_FILTERS_GAUSSIAN, "gaussian"},
              {ep_path_name, EP_PATH_PRIMAL, "primal"},
              {ep_path_name, EP_PATH_FREE, "free"},
              {ep_path_name, EP_PATH_DUAL, "dual"},
              {ep_solver_name, EP_SOLVER_LOCAL, "local"},
              {ep_solver_name, EP_SOLVER_SCALAPACK, "scalapack"},
              {ep_solver_name, EP_SOLVER_ELPA, "elpa"},
              {ep_retraction_name, EP_RETRACT_POLAR, "polar"},
              {ep_norms_name, EP_NORMS_OUTPUTS, "outputs"},
              {ep_similarity_option, EP_SIMILARITY_DOT, "dot"},
              {ep_similarity_option, EP_SIMILARITY_COSINE, "cosine"},
              {ep_constraint_name, EP_CONSTRAINT_SCALED, "scaled"},
              {ep_constraint_name, EP_CONSTRAINT_NONE, "none"},
              {ep_dynamics_way, EP_WAY_STEPS, "steps"},
              {ep_dynamics_way, EP_WAY_EXACT, "exact"},
              {ep_search_name, EP_SEARCH_FLOW, "flow"},
              {ep_metric_name, EP_EUCLIDEAN, "euclidean"},
              {ep_layout_name, EP_DIAGONAL, "diagonal"},
              {ep_layout_name, EP_TRACE, "trace"},
              {ep_regress_method_name, EP_REGRESS_FLOW, "flow"},
              {ep_regress_method_name, EP_REGRESS_DESCENT, "descent"}};
  for (size_t i = 0; i < sizeof last / sizeof *last; i++)
    assert_string_equal(last[i].names(last[i].value), last[i].name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(values), cmocka_unit_test(refusals),
                                     cmocka_unit_test(json), cmocka_unit_test(choices),
                                     cmocka_unit_test(said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
