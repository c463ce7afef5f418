/* WIDE's bounds: formulas against numbers computed apart, and bound >= measurement in trainings; where the paper's own
 * constants fail, that they do. */
#include "core/mem.h"
#include "theory/bounds.h"

/* ---- formulas */

static ep_bound_inputs example(void) {
  return (ep_bound_inputs){.M = 400,
                           .D = 6,
                           .Z = 3,
                           .Q = 2,
                           .eta = 0.05,
                           .steps = 40,
                           .delta = 0.5,
                           .c_l = 2,
                           .x_2 = 1.5,
                           .c_in = 1.1,
                           .L = 1.25,
                           .B = 0.75,
                           .v0 = 3,
                           .s0 = 2.5,
                           .c0 = 3,
                           .v = 3.25,
                           .w = 2.75,
                           .R = 4,
                           .gap = 0.125,
                           .depth = 1,
                           .cosine = true,
                           .descent = true,
                           .orthogonal = true};
}

static void formulas(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double value; /* of the formulas, in Python */
  } by_hand[EP_BOUNDS] = {
      {"Lemma 11 V", 0.5239453692895853},
      {"Lemma 11 W", 2.145},
      {"Lemma 12", 1911810205.6803184},
      {"Lemma 7", 3.1171875},
      {"Lemma 8", 374.848922018106},
      {"Theorem 13", 4.628093026283244e+40},
      {"Lemma 16 (as printed)", 237.1106071014116},
      {"Lemma 16 (D for sqrt D)", 580.8},
      {"Lemma 16 sharp", 2.25},
      {"Lemma 17", 336738.2337509961},
  };
  ep_bound_inputs in = example();
  for (int i = 0; i < EP_BOUNDS; i++) {
    assert_string_equal(ep_bounds[i].name, by_hand[i].name);
    CHECK_CLOSE(bound(by_hand[i].name, &in), log10(by_hand[i].value), 1e-13);
  }
  in.phi0 = 0.5;
  CHECK_CLOSE(bound("Lemma 17", &in), log10(605723.5782612147), 1e-13);
  in.D = 0.01; /* D x_2 log M < 1: |phi(0)| itself, where the paper has less */
  in.v0 = 0;
  const double z = 4 * 0.05 * 2 * 2 * 0.1 * pow(1.25 * 1.5, 2) / 0.5;
  CHECK_CLOSE(bound("Lemma 17", &in), log10(z * 2 * (1 + pow(2, 3.5) * 2 * 0.5 / (0.5 * 0.125))),
              1e-13);
  assert_null(ep_bound_find("Lemma 13"));
}

/* 10^9 steps: e^t is far beyond double; no step: nothing may have moved */
static void extremes(void **state) {
  (void)state;
  ep_bound_inputs in = example();
  in.steps = 1e9;
  CHECK_CLOSE(bound("Lemma 12", &in), 220108088.5171764, 1e-12);
  /* three factors e^{bt/sqrt(M)} */
  CHECK_CLOSE(bound("Theorem 13", &in), 3 * 13.2 / 20 * 1e9 / log(10), 1e-6);
  for (int i = 0; i < EP_BOUNDS; i++) assert_true(isfinite(bound(ep_bounds[i].name, &in)));
  in.steps = in.R = 0;
  for (int i = 0; i < EP_BOUNDS; i++)
    if (ep_bounds[i].what != EP_BOUND_STEP_V && ep_bounds[i].what != EP_BOUND_STEP_W &&
        ep_bounds[i].what != EP_BOUND_HESSIAN)
      assert_true(bound(ep_bounds[i].name, &in) == -INFINITY);
  in = example();
  in.B = 0; /* linear: a1 = 0 */
  assert_true(isfinite(bound("Theorem 13", &in)));
}

static void conditions(void **state) {
  (void)state;
  /* which rows drop out, in the order of the table, and the reason */
  static const struct {
    const char *what, *rows, *why;
  } c[] = {
      {"depth", "1111111111", "it is for one hidden layer"},
      {"L", "1111111111", "phi is not"},
      {"B", "...111....", "phi is not smooth"},
      {"phi0", ".11..1....", "phi(0) is not 0"},
      {"c_l", "111..11111", "the loss is not a function of similarities"},
      {"cosine", "111..11111", "it is for cosine similarity"},
      {"descent", "111..1....", "it is for plain gradient descent (method gd)"},
      {"orthogonal", "......1111", "it is for W'W = I (methods grassmann and iterate)"},
      {"gap", ".........1", "there is no known gap behind eigenvalue Z of C(0)"},
      {"no gap", ".........1", "there is no known gap behind eigenvalue Z of C(0)"},
  };
  for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
    ep_bound_inputs in = example();
    in.depth = k == 0 ? 2 : 1;
    if (k == 1) in.L = INFINITY;
    if (k == 2) in.B = INFINITY;
    if (k == 3) in.phi0 = 0.5;
    if (k == 4) in.c_l = INFINITY;
    in.cosine = k != 5;
    in.descent = k != 6;
    in.orthogonal = k != 7;
    if (k >= 8) in.gap = k == 8 ? NAN : 0;
    for (int i = 0; i < EP_BOUNDS; i++) {
      const char *why;
      const double x = ep_bound_log10(&why, &ep_bounds[i], &in);
      const bool drops = c[k].rows[i] == '1';
      if ((why != NULL) != drops || isnan(x) != drops)
        fail_msg("%s: %s says %s", c[k].what, ep_bounds[i].name, why ? why : "nothing");
      if (drops) assert_int_equal(strncmp(why, c[k].why, strlen(c[k].why)), 0);
    }
  }
}

/* ---- bound >= measurement */

/* every row that applies holds; which apply is as said, a 1 a row */
static void check_all(trained *t, const char *applies) {
  ep_bound_result r[EP_BOUNDS];
  CHECK_OK(ep_bounds_check(r, &t->run));
  for (int i = 0; i < EP_BOUNDS; i++) {
    const bool expected = applies[i] == '1';
    if ((r[i].why == NULL) != expected)
      fail_msg("%s %s, %s: %s", t->setup.fit.method, t->setup.net.activation, r[i].bound->name,
               r[i].why ? r[i].why : "applies");
    if (!expected) continue;
    if (!r[i].holds)
      fail_msg("%s %s, width %ld, rate %g, %s: measured %g, bound 10^%g", t->setup.fit.method,
               t->setup.net.activation, t->setup.net.width, t->setup.fit.rate, r[i].bound->name,
               r[i].measured.value, r[i].log10_bound);
    assert_true(r[i].measured.value > 10 * r[i].measured.rounding); /* something did move */
    assert_true(r[i].vacuous == (pow(10, r[i].log10_bound) >= r[i].measured.ceiling));
  }
}

static void descent(void **state) {
  (void)state;
  static const struct {
    const char *activation, *loss, *applies;
  } c[] = {{"tanh", "linear", "111111...."},    {"erf", "linear", "111111...."},
           {"tanh", "softmax", "111111...."},   {"gelu", "ntxent", "111111...."},
           {"erf", "spectral", "111111...."},   {"relu", "linear", "111......."},
           {"sigmoid", "linear", "1..11....."}, {"linear", "linear", "111111...."}};
  static trained t;
  for (size_t k = 0; k < sizeof c / sizeof *c; k++)
    for (int v = 0; v < 8; v++) {
      make_setup(&t.setup, "gd", c[k].activation, v & 1 ? 200 : 20);
      strcpy(t.setup.objective.loss, c[k].loss);
      t.setup.objective.similarity = EP_SIMILARITY_COSINE;
      t.setup.fit.rate = v & 2 ? 1 : 0.01;
      t.setup.run.seed = v;
      t.setup.fit.epochs = v & 4 ? 30 : 3;
      t.setup.fit.batch = v == 5 ? 4 : 0;
      t.setup.net.input_scale = v == 6;
      ep_points p = make_points(10, 8, EP_DOUBLE, v & 4);
      if (strcmp(c[k].loss, "ntxent") == 0) { /* two views */
        ep_pairs_free(&p.pairs);
        CHECK_OK(ep_pairs_draw(&p.pairs, 10, &(ep_pair_plan){1, 0, false, false}, 3));
      }
      train(&t, p);
      check_all(&t, c[k].applies);
      drop(&t);
    }
}

static void orthogonal(void **state) {
  (void)state;
  static const struct {
    const char *method, *activation, *loss, *applies;
  } c[] = {{"grassmann", "tanh", "linear", "...11.1111"},
           {"grassmann", "erf", "linear", "...11.1111"},
           {"grassmann", "relu", "linear", "......1111"},
           {"grassmann", "tanh", "softmax", "...11.1111"},
           {"iterate", "sigmoid", "linear", "...11.1111"},
           {"iterate", "erf", "linear", "...11.1111"}};
  static trained t;
  for (size_t k = 0; k < sizeof c / sizeof *c; k++)
    for (int v = 0; v < 8; v++) {
      make_setup(&t.setup, c[k].method, c[k].activation, v & 1 ? 100 : 15);
      strcpy(t.setup.objective.loss, c[k].loss);
      t.setup.fit.rate = v & 2 ? 1 : 0.01;
      t.setup.run.seed = v;
      t.setup.fit.epochs = v & 4 ? 20 : 3;
      train(&t, make_points(10, 8, EP_DOUBLE, v & 4));
      check_all(&t, c[k].applies);
      drop(&t);
    }
}

/* Dot products: only what does not ask how the weights came about. No step at all: everything is 0 and holds; both
 * precisions. */
static void others(void **state) {
  (void)state;
  static trained t;
  make_setup(&t.setup, "gd", "tanh", 30);
  t.setup.objective.similarity = EP_SIMILARITY_DOT;
  t.setup.fit.rate = 0.01;
  train(&t, make_points(10, 8, EP_DOUBLE, false));
  check_all(&t, "...11.....");
  drop(&t);
  for (int c = 0; c < 4; c++) {
    ep_bound_result r[EP_BOUNDS];
    make_setup(&t.setup, c & 1 ? "grassmann" : "gd", "tanh", 30);
    t.setup.run.precision = c & 2 ? EP_DOUBLE : EP_SINGLE;
    train(&t, make_points(10, 8, c & 2 ? EP_DOUBLE : EP_SINGLE, false));
    check_all(&t, c & 1 ? "...11.1111" : "111111....");
    const ep_bound_run still = {&t.start, &t.start, &t.points, &t.setup, 0};
    CHECK_OK(ep_bounds_check(r, &still));
    for (int i = 0; i < EP_BOUNDS; i++) assert_true(r[i].why || r[i].holds);
    drop(&t);
  }
}

/* ---- where the paper's constants fail */

/* Lemma 16 as printed, M = Z = Q = N = 1, phi linear: C = psi^2, psi = a/(|a| + delta), a = v'x, x of +-1. At
 * delta = |a| one step changes C by eta D / (16 delta^2), the printed bound is 16 eta sqrt(D) / delta^2: it breaks for D above 256^2,
 * by 3.9 at 10^6. */
static void counterexample(void **state) {
  (void)state;
  const ptrdiff_t d = 1000000;
  static trained t;
  ep_bound_result r[EP_BOUNDS];
  ep_points p = {.X = random_mat(EP_DOUBLE, 1, d, 92)};
  double a = 0;
  CHECK_OK(ep_pairs_new(&p.pairs, 1, 1, 1, false));
  p.pairs.start[1] = 1;
  p.pairs.sign[0] = 1; /* the point is its own positive */
  make_setup(&t.setup, "grassmann", "linear", 1);
  t.setup.net.outputs = 1;
  CHECK_OK(ep_net_start(&t.start, &t.setup.net, d, 0, EP_DOUBLE));
  for (ptrdiff_t j = 0; j < d; j++) {
    *ep_d(&p.X, 0, j) = *ep_d(&p.X, 0, j) > 0 ? 1 : -1;
    a += *ep_d(&p.X, 0, j) * *ep_d(&t.start.V[0], 0, j);
  }
  ep_net_free(&t.start);
  t.setup.objective.delta = fabs(a);
  t.setup.fit.rate = 1e-9 * a * a; /* C moves by 6e-5 */
  t.setup.fit.epochs = 1;
  train(&t, p);
  CHECK_OK(ep_bounds_check(r, &t.run));
  const double printed = pow(10, r[6].log10_bound);
  CHECK_NEAR(printed, 16e-6, 1e-14);
  CHECK_CLOSE(r[6].measured.value / printed, 3.90625, 1e-3);
  assert_false(r[6].holds);
  assert_true(r[7].holds && r[8].holds);
  CHECK_NEAR(r[8].log10_bound, log10(4e-3), 1e-9);
  assert_string_equal(r[6].bound->name, "Lemma 16 (as printed)");
  drop(&t);
}

/* Lemma 7 with max |x_j| in the place of max |x|_2, D = 100: the Hessian at the start is several times the bound. */
static void entries_for_norms(void **state) {
  (void)state;
  static ep_setup s;
  double most = 0;
  for (int seed = 0; seed < 5; seed++) {
    ep_net net;
    ep_bound_inputs in;
    ep_points p = make_points(10, 100, EP_DOUBLE, false);
    for (ptrdiff_t i = 0; i < p.X.rows * p.X.cols;
         i++) /* |x_j| = 1/5: pre-activations of order 1 */
      ((double *)p.X.data)[i] = copysign(0.2, ((double *)p.X.data)[i]);
    make_setup(&s, "gd", "tanh", 1000);
    CHECK_OK(ep_net_start(&net, &s.net, 100, (uint64_t)seed, EP_DOUBLE));
    const ep_bound_run run = {&net, &net, &p, &s, 0};
    CHECK_OK(ep_bound_inputs_from(&in, &run));
    const double measured = measure(EP_BOUND_HESSIAN, &run);
    assert_true(log10(measured) <= bound("Lemma 7", &in));
    in.x_2 = in.c_in;
    most = fmax(most, measured / pow(10, bound("Lemma 7", &in)));
    ep_net_free(&net);
    ep_points_free(&p);
  }
  if (!(most > 2)) fail_msg("ratio %.2f", most);
}

/* ---- what can go wrong */

static void refusals(void **state) {
  (void)state;
  static trained t;
  ep_bound_inputs in;
  ep_bound_result r[EP_BOUNDS];
  ep_measured m;
  make_setup(&t.setup, "gd", "tanh", 6);
  t.setup.net.depth = 2;
  train(&t, make_points(6, 4, EP_DOUBLE, false));
  check_all(&t, ".........."); /* one hidden layer only */
  CHECK_STATUS(ep_bound_measure(&m, EP_BOUND_HESSIAN, &t.run), EP_ERR_ARG);
  drop(&t);
  make_setup(&t.setup, "gd", "exp", 6);
  t.setup.fit.epochs = 0;
  train(&t, make_points(6, 4, EP_DOUBLE, false));
  check_all(&t, "..........");
  t.run.epochs = -1;
  CHECK_STATUS(ep_bound_inputs_from(&in, &t.run), EP_ERR_ARG);
  t.run.epochs = 0;
  t.setup.run.memory = 1;
  CHECK_STATUS(ep_bound_measure(&m, EP_BOUND_KERNEL, &t.run), EP_ERR_ARG);
  CHECK_STATUS(ep_bound_measure(&m, EP_BOUND_COVARIANCE, &t.run), EP_ERR_ARG);
  ep_net other;
  t.setup.net.width = 7;
  CHECK_OK(ep_net_start(&other, &t.setup.net, 4, 0, EP_DOUBLE));
  t.run.now = &other;
  CHECK_STATUS(ep_bounds_check(r, &t.run), EP_ERR_SHAPE);
  ep_net_free(&other);
  t.setup.net.width = 6;
  CHECK_OK(ep_net_start(&other, &t.setup.net, 4, 0, EP_SINGLE));
  CHECK_STATUS(ep_bounds_check(r, &t.run), EP_ERR_ARG);
  ep_net_free(&other);
  CHECK_OK(ep_net_start(&other, &t.setup.net, 5, 0, EP_DOUBLE));
  t.run.start = &other;
  CHECK_STATUS(ep_bounds_check(r, &t.run), EP_ERR_SHAPE);
  ep_net_free(&other);
  drop(&t);
}

static void json(void **state) {
  (void)state;
  static trained t;
  ep_bound_result r[EP_BOUNDS];
  json_t *list;
  make_setup(&t.setup, "gd", "tanh", 20);
  t.setup.fit.epochs = 1000;
  train(&t, make_points(6, 4, EP_DOUBLE, false));
  CHECK_OK(ep_bounds_check(r, &t.run));
  CHECK_OK(ep_bounds_to_json(&list, r));
  assert_int_equal(json_array_size(list), EP_BOUNDS);
  const json_t *theorem = json_array_get(list, 5), *lemma = json_array_get(list, 6);
  assert_string_equal(json_string_value(json_object_get(theorem, "name")), "Theorem 13");
  assert_string_equal(json_string_value(json_object_get(theorem, "note")),
                      "says nothing: it is not below the largest entry of K(0)");
  assert_true(json_is_true(json_object_get(theorem, "holds")));
  assert_true(json_is_true(json_object_get(theorem, "vacuous")));
  assert_true(json_real_value(json_object_get(theorem, "log10_bound")) > 308); /* beyond double */
  assert_true(json_is_null(json_object_get(lemma, "log10_bound")));
  assert_true(json_is_null(json_object_get(lemma, "holds")));
  assert_string_equal(json_string_value(json_object_get(lemma, "note")),
                      "does not apply: it is for W'W = I (methods grassmann and iterate)");
  json_decref(list);
  drop(&t);
}

static void out_of_memory(void **state) {
  (void)state;
  static trained t;
  for (int c = 0; c < 2; c++) {
    ep_bound_result r[EP_BOUNDS];
    make_setup(&t.setup, c ? "grassmann" : "gd", "tanh", 9);
    train(&t, make_points(6, 4, EP_DOUBLE, false));
    const size_t before = ep_mem_current();
    ep_status st = EP_ERR_NOMEM;
    int n = 0;
    for (; st == EP_ERR_NOMEM; n++) {
      ep_alloc_fail_after = n;
      st = ep_bounds_check(r, &t.run);
      ep_alloc_fail_after = -1;
      assert_int_equal(ep_mem_current(), before);
    }
    CHECK_STATUS(st, EP_OK);
    assert_true(n > 20);
    drop(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(formulas),       cmocka_unit_test(extremes),
      cmocka_unit_test(conditions),     cmocka_unit_test(descent),
      cmocka_unit_test(orthogonal),     cmocka_unit_test(others),
      cmocka_unit_test(counterexample), cmocka_unit_test(entries_for_norms),
      cmocka_unit_test(refusals),       cmocka_unit_test(json),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, make_out, remove_out);
}
