/* The logistic loss: its gradient against central differences, its value against the formula, its minimum against Newton;
 * the SVM's minimum against its own gradient. */
#include "probe/probes.h"
#include "random_mat.h"

#include <string.h>

enum { N = 700, D = 4, K = 3, SIZE = K * (D + 1) };
#define COST 0.7

static const ep_run_config *the_run(void) {
  static ep_run_config run;
  run = ep_run_default();
  return &run;
}

/* points and classes; shifted and scaled rows, some of them twice; three blocks in several groups */
typedef struct {
  ep_mat X;
  ptrdiff_t index[N];
  int class[N];
  double shift[D], scale[D];
  ep_part part;
  ep_work work;
} sample;

static void make(sample *s, ep_precision prec) {
  *s =
      (sample){.X = random_mat(prec, 500, D, 1), .shift = {0.1, 0, -2, 0}, .scale = {1, 2, 0.5, 3}};
  for (int i = 0; i < N; i++) {
    s->index[i] = (i * 7) % 500;
    const double x = ep_get(&s->X, s->index[i], 0) + 0.8 * ep_get(&s->X, s->index[i], 1);
    s->class[i] = i % 9 == 0 ? i % K : x < -0.5 ? 0 : x < 0.4 ? 1 : 2;
  }
  s->part = (ep_part){{&s->X, N, s->index, s->shift, s->scale, NULL}, s->class};
}

static void finish(sample *s) {
  ep_work_free(&s->work);
  ep_mat_free(&s->X);
}

static double point(const sample *s, int i, int j) {
  return j == D ? 1 : (ep_get(&s->X, s->index[i], j) - s->shift[j]) * s->scale[j];
}

/* p_c = softmax of the scores of point i, in long double; returns -log p_y */
static double plain_softmax(double p[K], const sample *s, int i, const double *W) {
  long double score[K], sum = 0;
  for (int c = 0; c < K; c++) {
    score[c] = 0;
    for (int j = 0; j <= D; j++) score[c] += (long double)W[c * (D + 1) + j] * point(s, i, j);
  }
  for (int c = 0; c < K; c++) sum += expl(score[c] - score[0]);
  for (int c = 0; c < K; c++) p[c] = (double)(expl(score[c] - score[0]) / sum);
  return (double)(logl(sum) + score[0] - score[s->class[i]]);
}

static double plain_loss(const sample *s, const double *W, double ridge) {
  double loss = 0, p[K];
  for (int i = 0; i < N; i++) loss += plain_softmax(p, s, i, W) / N;
  for (int k = 0; k < SIZE; k++)
    if (k % (D + 1) != D) loss += 0.5 * ridge * W[k] * W[k];
  return loss;
}

static void gradient(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++) {
    sample s;
    ep_logistic l;
    make(&s, (ep_precision)prec);
    ep_mat W = random_mat(EP_DOUBLE, K, D + 1, 3), dW = random_mat(EP_DOUBLE, K, D + 1, 4);
    ep_mat none = random_mat(EP_DOUBLE, K, D + 1, 5);
    CHECK_OK(ep_logistic_new(&l, &s.work, &s.part, K, 0.3, 1e9));
    assert_int_equal(l.groups, 3);
    CHECK_CLOSE(ep_logistic_loss(&dW, &l, &W), plain_loss(&s, W.data, 0.3), 1e-14);
    for (int k = 0; k < SIZE; k++) {
      double *w = ep_d(&W, 0, k), keep = *w, slope[2];
      for (int t = 0; t < 2; t++) { /* steps h and 2h: the errors in h^2 cancel */
        const double h = 5e-4 * (1 + t);
        *w = keep + h;
        slope[t] = ep_logistic_loss(&none, &l, &W) / (2 * h);
        *w = keep - h;
        slope[t] -= ep_logistic_loss(&none, &l, &W) / (2 * h);
      }
      *w = keep;
      CHECK_NEAR(*ep_d(&dW, 0, k), (4 * slope[0] - slope[1]) / 3, 1e-10);
    }
    ep_logistic one; /* little memory: one group, the same sums */
    CHECK_OK(ep_logistic_new(&one, &s.work, &s.part, K, 0.3, 1));
    assert_int_equal(one.groups, 1);
    (void)ep_logistic_loss(&none, &one, &W);
    CHECK_NEAR(mat_gap(&none, &dW), 0, 1e-15);
    ep_mat_free(&W);
    ep_mat_free(&dW);
    ep_mat_free(&none);
    finish(&s);
  }
}

/* scores of a million: the loss is their difference, not infinity */
static void large_scores(void **state) {
  (void)state;
  sample s;
  ep_logistic l;
  make(&s, EP_DOUBLE);
  ep_mat W = random_mat(EP_DOUBLE, K, D + 1, 3), dW = random_mat(EP_DOUBLE, K, D + 1, 4);
  for (int k = 0; k < SIZE; k++) *ep_d(&W, 0, k) *= 1e6;
  CHECK_OK(ep_logistic_new(&l, &s.work, &s.part, K, 0, 1e9));
  const double loss = ep_logistic_loss(&dW, &l, &W);
  double expected = 0;
  for (int i = 0; i < N; i++) { /* max - score of the own class, to rounding */
    double top = -INFINITY, own = 0;
    for (int c = 0; c < K; c++) {
      double score = 0;
      for (int j = 0; j <= D; j++) score += *ep_d(&W, c, j) * point(&s, i, j);
      top = fmax(top, score);
      if (c == s.class[i]) own = score;
    }
    expected += (top - own) / N;
  }
  CHECK_CLOSE(loss, expected, 1e-12);
  assert_true(isfinite(ep_mat_norm2(&dW)));
  ep_mat_free(&W);
  ep_mat_free(&dW);
  finish(&s);
}

/* Newton steps W <- W - H^+ g with the Hessian in full; H is singular along equal offsets of all classes, where g = 0 */
static void newton(double *W, const sample *s, double ridge) {
  for (int step = 0; step < 30; step++) {
    ep_mat H;
    double g[SIZE] = {0}, p[K], lambda[SIZE], move[SIZE] = {0};
    CHECK_OK(ep_mat_new(&H, EP_DOUBLE, SIZE, SIZE));
    for (int i = 0; i < N; i++) {
      plain_softmax(p, s, i, W);
      for (int a = 0; a < SIZE; a++) {
        const int c = a / (D + 1);
        const double x = point(s, i, a % (D + 1));
        g[a] += (p[c] - (s->class[i] == c)) * x / N;
        for (int b = 0; b < SIZE; b++) {
          const int e = b / (D + 1);
          *ep_d(&H, a, b) += p[c] * ((c == e) - p[e]) * x * point(s, i, b % (D + 1)) / N;
        }
      }
    }
    for (int a = 0; a < SIZE; a++)
      if (a % (D + 1) != D) g[a] += ridge * W[a], *ep_d(&H, a, a) += ridge;
    CHECK_OK(ep_mat_eig_sym(&H, lambda));
    for (int k = 0; k < SIZE; k++) {
      double along = 0;
      if (lambda[k] < 1e-10) continue;
      for (int a = 0; a < SIZE; a++) along += *ep_d(&H, k, a) * g[a] / lambda[k];
      for (int a = 0; a < SIZE; a++) move[a] += along * *ep_d(&H, k, a);
    }
    for (int a = 0; a < SIZE; a++) W[a] -= move[a];
    ep_mat_free(&H);
  }
}

static ep_probe_config settings(void) {
  ep_probe_config config;
  ep_options_default(ep_probe_options, &config);
  config.tolerance = 1e-7; /* of the gradient: where the loss no longer tells two steps apart */
  return config;
}

static void minimum(void **state) {
  (void)state;
  sample s;
  double W[SIZE] = {0}, top = 0;
  ep_mat found;
  ep_probe_config config = settings();
  ep_probe_result info = {0};
  make(&s, EP_DOUBLE);
  config.ridge = 0.1;
  const ep_probe_task task = {.train = s.part, .classes = K, .config = &config, .run = the_run()};
  CHECK_OK(ep_linear_fit(&found, &info, &s.work, &task));
  assert_true(info.converged && info.iterations > 3 && info.iterations < 200);
  newton(W, &s, 0.1);
  for (int k = 0; k < SIZE; k++) {
    CHECK_NEAR(*ep_d(&found, 0, k), W[k], 2e-6);
    top = fmax(top, fabs(W[k]));
  }
  assert_true(top > 0.3); /* it went somewhere */
  config.iterations = 2;
  CHECK_OK(ep_linear_fit(&found, &info, &s.work, &task));
  assert_true(!info.converged && info.iterations <= 3);
  finish(&s);
}

/* |d/dw [ 1/2 |w|^2 + C sum max(0, 1 - y w'x)^2 ] |, of class c against the rest */
static double svm_slope(const sample *s, const double *w, int c) {
  double g[D + 1], square = 0;
  memcpy(g, w, sizeof g);
  for (int i = 0; i < N; i++) {
    const double y = s->class[i] == c ? 1 : -1;
    double margin = 1;
    for (int j = 0; j <= D; j++) margin -= y * w[j] * point(s, i, j);
    for (int j = 0; j <= D; j++) g[j] -= 2 * COST * fmax(margin, 0) * y * point(s, i, j);
  }
  for (int j = 0; j <= D; j++) square += g[j] * g[j];
  return sqrt(square);
}

static void svm_minimum(void **state) {
  (void)state;
  for (int classes = 2; classes <= K; classes++) {
    sample s;
    ep_mat W;
    ep_probe_config config = settings();
    ep_probe_result info = {0};
    make(&s, EP_SINGLE);
    for (int i = 0; i < N; i++) s.class[i] %= classes;
    config.cost = COST;
    config.tolerance = 1e-6;
    const ep_probe_task task = {
        .train = s.part, .classes = classes, .config = &config, .run = the_run()};
    CHECK_OK(ep_svm_fit(&W, &info, &s.work, &task));
    assert_true(info.converged && info.iterations > 0);
    for (int c = 0; c < classes; c++) {
      const double zero[D + 1] = {0};
      const double first = svm_slope(&s, zero, c), last = svm_slope(&s, ep_d(&W, c, 0), c);
      const ep_mat w = ep_mat_rows(&W, c, 1);
      assert_true(last <= config.tolerance * first && ep_mat_max(&w) > 0.05);
    }
    finish(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradient),
      cmocka_unit_test(large_scores),
      cmocka_unit_test(minimum),
      cmocka_unit_test(svm_minimum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
