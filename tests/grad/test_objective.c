/* Every similarity and loss: dL/dF against central differences, with points where f = 0, repeated
 * points, several positives and negatives; and values against the formulas of theory.md section 3. */
#include "random_mat.h"

#include <eigenpair/objective.h>
#include <string.h>

enum { P = 9, Z = 4, N = 4 };

/* N anchors; partners as the plan says; point 7 plays two parts, point 8 has f = 0 */
static ep_pairs make_pairs(int positives, int negatives, bool all_others) {
  ep_pairs pairs;
  const int q = positives + negatives;
  CHECK_OK(ep_pairs_new(&pairs, N, P, N * q, all_others));
  for (int n = 0; n < N; n++) {
    pairs.anchor[n] = n == 3 ? 7 : n;
    pairs.start[n + 1] = (n + 1) * q;
    for (int k = 0; k < q; k++) {
      pairs.partner[n * q + k] = (n * 2 + 3 * k + 4) % P;
      pairs.sign[n * q + k] = k < positives ? 1 : -1;
    }
  }
  pairs.partner[0] = 8;
  return pairs;
}

static ep_status try_objective(ep_objective *o, const char *loss, int similarity) {
  ep_objective_config config;
  ep_options_default(ep_objective_options, &config);
  strcpy(config.loss, loss);
  config.similarity = similarity;
  config.delta = 0.1;
  config.epsilon = 0.7;
  return ep_objective_parse(o, &config);
}

static ep_objective make_objective(const char *loss, int similarity) {
  ep_objective o;
  CHECK_OK(try_objective(&o, loss, similarity));
  return o;
}

static double value(const ep_mat *F, const ep_pairs *pairs, const ep_objective *o) {
  double l;
  CHECK_OK(ep_objective_value(&l, NULL, F, pairs, o));
  return l;
}

static void check_gradient(const ep_objective *o, const ep_pairs *pairs, const char *what) {
  ep_mat F = random_mat(EP_DOUBLE, P, Z, 11), dF = random_mat(EP_DOUBLE, P, Z, 12);
  for (int j = 0; j < Z; j++) *ep_d(&F, 8, j) = 0;
  double l, most = 0;
  CHECK_OK(ep_objective_check(o, pairs));
  CHECK_OK(ep_objective_value(&l, &dF, &F, pairs, o));
  CHECK_NEAR(l, value(&F, pairs, o), 1e-15);
  for (int i = 0; i < P * Z; i++) most = fmax(most, fabs(*ep_d(&dF, 0, i)));
  for (int i = 0; i < P * Z; i++) {
    /* at f = 0 the cosine's map is f / (|f| + delta): differences are off by h / delta there */
    const double h = i / Z == 8 ? 2e-8 : 1e-5;
    double *f = ep_d(&F, 0, i), keep = *f;
    *f = keep + h;
    const double up = value(&F, pairs, o);
    *f = keep - h;
    const double down = value(&F, pairs, o);
    *f = keep;
    if (fabs((up - down) / (2 * h) - *ep_d(&dF, 0, i)) > 1e-6 * most)
      fail_msg("%s: dF[%d] = %.12g, differences give %.12g", what, i, *ep_d(&dF, 0, i),
               (up - down) / (2 * h));
  }
  assert_true(most > 1e-3);
  ep_mat_free(&F);
  ep_mat_free(&dF);
}

static void gradients(void **state) {
  (void)state;
  static const struct {
    const char *loss;
    int positives, negatives;
    bool all_others;
  } cases[] = {{"linear", 1, 1, false},   {"linear", 2, 3, false},  {"linear", 1, 0, false},
               {"linear", 1, 0, true},    {"softmax", 1, 1, false}, {"softmax", 2, 3, false},
               {"softmax", 1, 0, true},   {"ntxent", 1, 0, false},  {"spectral", 1, 1, false},
               {"spectral", 2, 3, false}, {"spectral", 1, 0, true}, {"noncontrastive", 2, 0, false},
               {"barlow", 1, 0, false},   {"vicreg", 1, 0, false}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int s = 0; ep_similarity_option(s); s++) {
      char what[80];
      ep_pairs pairs = make_pairs(cases[c].positives, cases[c].negatives, cases[c].all_others);
      ep_objective o;
      const ep_status st = try_objective(&o, cases[c].loss, s);
      if (st) ep_pairs_free(&pairs);
      if (st) { /* losses with a similarity of their own */
        assert_true(st == EP_ERR_ARG && s > 0);
        continue;
      }
      snprintf(what, sizeof what, "%s %s %d+%d%s", cases[c].loss, ep_similarity_option(s),
               cases[c].positives, cases[c].negatives, cases[c].all_others ? " all" : "");
      check_gradient(&o, &pairs, what);
      ep_pairs_free(&pairs);
    }
}

/* s(x, y) as printed in theory.md */
static double similarity(const ep_mat *F, ptrdiff_t x, ptrdiff_t y, bool cosine, double delta) {
  double xy = 0, xx = 0, yy = 0;
  for (int j = 0; j < Z; j++) {
    xy += *ep_d(F, x, j) * *ep_d(F, y, j);
    xx += *ep_d(F, x, j) * *ep_d(F, x, j);
    yy += *ep_d(F, y, j) * *ep_d(F, y, j);
  }
  return cosine ? xy / ((sqrt(xx) + delta) * (sqrt(yy) + delta)) : xy;
}

/* Listed losses by their formulas, a triplet at a time. */
static void values(void **state) {
  (void)state;
  ep_mat F = random_mat(EP_DOUBLE, P, Z, 13);
  ep_pairs pairs = make_pairs(1, 1, false);
  for (int c = 0; c < 2; c++) {
    double linear = 0, softmax = 0, spectral = 0;
    for (int n = 0; n < N; n++) {
      const double p = similarity(&F, pairs.anchor[n], pairs.partner[2 * n], c, 0.1);
      const double q = similarity(&F, pairs.anchor[n], pairs.partner[2 * n + 1], c, 0.1);
      linear += (-p + q) / N;
      softmax -= log(exp(p / 0.5) / (0.7 * exp(p / 0.5) + exp(q / 0.5))) / N;
      spectral += (-2 * p + q * q) / N;
    }
    const int s = c ? EP_SIMILARITY_COSINE : EP_SIMILARITY_DOT;
    ep_objective o = make_objective("linear", s);
    CHECK_NEAR(value(&F, &pairs, &o), linear, 1e-14);
    o = make_objective("softmax", s);
    CHECK_NEAR(value(&F, &pairs, &o), softmax, 1e-13);
    o = make_objective("spectral", s);
    CHECK_NEAR(value(&F, &pairs, &o), spectral, 1e-13);
  }
  ep_pairs_free(&pairs);
  ep_mat_free(&F);
}

/* NT-Xent over the 2N views by its definition: points 0..3 with partners 4..7. */
static void ntxent(void **state) {
  (void)state;
  ep_mat F = random_mat(EP_DOUBLE, P, Z, 14);
  ep_pairs pairs;
  double sum = 0;
  CHECK_OK(ep_pairs_new(&pairs, N, P, N, false));
  for (int n = 0; n < N; n++) {
    pairs.anchor[n] = n;
    pairs.partner[n] = N + n;
    pairs.sign[n] = 1;
    pairs.start[n + 1] = n + 1;
  }
  ep_objective o = make_objective("ntxent", EP_SIMILARITY_AUTO);
  o.config.epsilon = 1;
  for (int i = 0; i < 2 * N; i++) {
    double all = 0;
    for (int j = 0; j < 2 * N; j++)
      if (j != i) all += exp(similarity(&F, i, j, true, 0.1) / 0.5);
    sum -= log(exp(similarity(&F, i, (i + N) % (2 * N), true, 0.1) / 0.5) / all) / (2 * N);
  }
  CHECK_NEAR(value(&F, &pairs, &o), sum, 1e-13);
  ep_pairs_free(&pairs);
  ep_mat_free(&F);
}

/* Exponents that overflow on their own do not overflow in the softmax. */
static void large_similarities(void **state) {
  (void)state;
  ep_mat F = random_mat(EP_DOUBLE, P, Z, 15), dF = random_mat(EP_DOUBLE, P, Z, 16);
  ep_pairs pairs = make_pairs(1, 1, false);
  const ep_objective o = make_objective("softmax", EP_SIMILARITY_DOT);
  double l;
  for (int i = 0; i < P * Z; i++) *ep_d(&F, 0, i) *= 1e3;
  CHECK_OK(ep_objective_value(&l, &dF, &F, &pairs, &o));
  assert_true(isfinite(l) && isfinite(ep_mat_norm2(&dF)));
  ep_pairs_free(&pairs);
  ep_mat_free(&F);
  ep_mat_free(&dF);
}

/* What the pairs lack is said. */
static void refusals(void **state) {
  (void)state;
  ep_pairs positives = make_pairs(1, 0, false), triplets = make_pairs(1, 1, false);
  const ep_objective softmax = make_objective("softmax", EP_SIMILARITY_DOT);
  const ep_objective spectral = make_objective("spectral", EP_SIMILARITY_DOT);
  const ep_objective non = make_objective("noncontrastive", EP_SIMILARITY_DOT);
  CHECK_STATUS(ep_objective_check(&softmax, &positives), EP_ERR_INPUT);
  CHECK_STATUS(ep_objective_check(&spectral, &positives), EP_ERR_INPUT);
  CHECK_STATUS(ep_objective_check(&non, &triplets), EP_ERR_INPUT);
  CHECK_STATUS(ep_objective_check(&non, &positives), EP_OK);
  ep_pairs_free(&positives);
  ep_pairs_free(&triplets);
}

/* c_l: |dl/ds| of one anchor with f = 1, whose partners' outputs are the similarities, over a grid of [-1, 1]^2 */
static void slopes(void **state) {
  (void)state;
  static const char *const losses[] = {"linear", "softmax", "spectral", "noncontrastive"};
  for (int k = 0; k < 4; k++) {
    ep_objective o = make_objective(losses[k], EP_SIMILARITY_COSINE);
    ep_pairs pairs;
    double f[3] = {1}, df[3], l, most = 0;
    const ep_mat F = ep_mat_view(EP_DOUBLE, 3, 1, f), dF = ep_mat_view(EP_DOUBLE, 3, 1, df);
    o.config.temperature = 0.2;
    ep_objective_products(&o);
    CHECK_OK(ep_pairs_new(&pairs, 1, 3, 2, false));
    pairs.start[1] = 2;
    for (int q = 0; q < 2; q++) {
      pairs.partner[q] = 1 + q;
      pairs.sign[q] = q && k < 3 ? -1 : 1;
    }
    for (int i = 0; i <= 400; i++) {
      f[1] = -1 + 0.1 * (i % 20);
      f[2] = -1 + 0.1 * (i / 20);
      CHECK_OK(ep_objective_value(&l, &dF, &F, &pairs, &o));
      most = fmax(most, fmax(fabs(df[1]), fabs(df[2])));
    }
    assert_true(most <= ep_objective_slope(&o) && most > 0.99 * ep_objective_slope(&o));
    CHECK_NEAR(ep_objective_partners(&o, &pairs), 2, 0);
    ep_pairs_free(&pairs);
  }
  for (int k = 0; ep_loss_name(k); k++) { /* no row without one */
    const ep_objective o = make_objective(ep_loss_name(k), EP_SIMILARITY_AUTO);
    assert_true(ep_objective_slope(&o) > 0);
  }
  ep_objective o = make_objective("barlow", EP_SIMILARITY_AUTO);
  assert_true(isinf(ep_objective_slope(&o)));
  ep_pairs pairs = make_pairs(1, 0, true); /* its positive, and both views of the other anchors */
  o = make_objective("linear", EP_SIMILARITY_AUTO);
  CHECK_NEAR(ep_objective_partners(&o, &pairs), 2 * N - 1, 0);
  ep_pairs_free(&pairs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients),          cmocka_unit_test(values),   cmocka_unit_test(ntxent),
      cmocka_unit_test(large_similarities), cmocka_unit_test(refusals), cmocka_unit_test(slopes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
