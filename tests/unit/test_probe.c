/* Probes and metrics as a caller uses them: against plain loops, exact cases, every precision; splits, labels, memory. */
#include "in_run.h"
#include "core/mem.h"
#include "probe/probes.h"
#include "random_mat.h"

#include <string.h>

enum { Z = 5 };

static ep_probe_config settings(void) {
  ep_probe_config config;
  ep_options_default(ep_probe_options, &config);
  return config;
}
static ep_metrics_config metric_settings(void) {
  ep_metrics_config config;
  ep_options_default(ep_metrics_options, &config);
  return config;
}

/* n points in three clouds of classes 0, 1, 2, whose labels are -7, 0, 100; dimension 3 is constant */
static const int names[3] = {-7, 0, 100};
static ep_mat clouds(int **labels, ep_precision prec, ptrdiff_t n, double noise, uint32_t sub) {
  ep_mat X = random_mat(prec, n, Z, sub);
  *labels = ep_alloc(n, sizeof **labels);
  for (ptrdiff_t i = 0; i < n; i++) {
    const int c = (int)(i * i + i / 3) % 3;
    (*labels)[i] = names[c];
    for (int j = 0; j < Z; j++)
      ep_set(&X, i, j, noise * ep_get(&X, i, j) + (j == c ? 2 : 0) + 10 * (j == 4));
    ep_set(&X, i, 3, 0.1);
  }
  return X;
}

/* ---- neighbours */

/* all cosines, the k largest by repeated search, votes by class */
static int plain_vote(const ep_mat *X, const int *labels, const ep_mat *T, ptrdiff_t t,
                      ptrdiff_t own, int k, double temperature) {
  double votes[3] = {0};
  bool *taken = ep_alloc(X->rows, sizeof *taken);
  int best = 0;
  for (int r = 0; r < k; r++) {
    ptrdiff_t who = -1;
    double top = -2;
    for (ptrdiff_t i = 0; i < X->rows; i++) {
      double dot = 0, a = 0, b = 0;
      for (int j = 0; j < Z; j++) {
        const double x = ep_get(X, i, j), y = ep_get(T, t, j);
        dot += x * y, a += x * x, b += y * y;
      }
      const double s = a > 0 && b > 0 ? dot / sqrt(a * b) : 0;
      if (!taken[i] && i != own && s > top) top = s, who = i;
    }
    taken[who] = true;
    for (int c = 0; c < 3; c++)
      if (labels[who] == names[c]) votes[c] += exp(top / temperature);
  }
  for (int c = 0; c < 3; c++)
    if (votes[c] > votes[best]) best = c;
  ep_release(taken);
  return best;
}

static void nearest_neighbours(void **state) {
  (void)state;
  for (int prec = 0; prec < 2; prec++)
    for (int k = 1; k <= 2000; k = k == 1 ? 9 : k == 9 ? 2000 : 9999) { /* 2000: capped */
      enum { N = 60, T = 45 };
      int *labels, *test_labels;
      ep_mat X = clouds(&labels, (ep_precision)prec, N, 1.5, 1);
      ep_mat E = clouds(&test_labels, (ep_precision)prec, T, 1.5, 2);
      ep_probe_config config = settings();
      const ep_run_config run = ep_run_default();
      const ep_labelled train = {&X, labels, NULL}, test = {&E, test_labels, NULL};
      ep_probe_result r;
      ptrdiff_t confusion[9] = {0};
      double right = 0, own_right = 0;
      config.neighbours = k;
      config.temperature = 0.2;
      for (int j = 0; j < Z; j++) ep_set(&E, 7, j, 0); /* a point without a direction */
      CHECK_OK(ep_probe_run(NULL, &r, "knn", &train, &test, &config, &run));
      for (int i = 0; i < T; i++) {
        const int c = plain_vote(&X, labels, &E, i, -1, k < N ? k : N, 0.2);
        for (int y = 0; y < 3; y++) confusion[3 * y + c] += test_labels[i] == names[y];
        right += test_labels[i] == names[c];
      }
      for (int i = 0; i < N; i++)
        own_right += labels[i] == names[plain_vote(&X, labels, &X, i, i, k < N ? k : N - 1, 0.2)];
      CHECK_NEAR(r.accuracy, right / T, 1e-15);
      CHECK_NEAR(r.train_accuracy, own_right / N, 1e-15);
      assert_memory_equal(r.confusion, confusion, sizeof confusion);
      assert_true(right > 0.4 * T && right < T);
      ep_probe_result_free(&r);
      ep_mat_free(&X);
      ep_mat_free(&E);
      ep_release(labels);
      ep_release(test_labels);
    }
}

/* Two neighbours at equal cosines, one of each class: the lower label wins, whichever comes first. */
static void ties(void **state) {
  (void)state;
  double x[] = {1, 1, 1, -1}, e[] = {1, 0};
  const ep_mat X = ep_mat_view(EP_DOUBLE, 2, 2, x), E = ep_mat_view(EP_DOUBLE, 1, 2, e);
  const ep_probe_config config = settings();
  const ep_run_config run = ep_run_default();
  for (int first = 0; first < 2; first++) {
    const int labels[] = {first ? 9 : 4, first ? 4 : 9}, four = 4;
    const ep_labelled train = {&X, labels, NULL}, test = {&E, &four, NULL};
    ep_probe_result r;
    CHECK_OK(ep_probe_run(NULL, &r, "knn", &train, &test, &config, &run));
    CHECK_NEAR(r.accuracy, 1, 0);
    ep_probe_result_free(&r);
  }
}

/* More tiles than one round, more columns than one tile: every pair comes once, columns rising. */
typedef struct {
  ptrdiff_t *next;
  double *sum;
} seen;
static void see(void *user, const ep_mat *S, ptrdiff_t row, ptrdiff_t col) {
  const seen *s = user;
  for (ptrdiff_t i = 0; i < S->rows; i++) {
    if (s->next[row + i] != col) s->next[row + i] = -100000;
    s->next[row + i] += S->cols;
    for (ptrdiff_t j = 0; j < S->cols; j++) s->sum[row + i] += *ep_d(S, i, j);
  }
}

static void tiles(void **state) {
  (void)state;
  enum { A = 2500, B = 1100 };
  ep_mat X = random_mat(EP_SINGLE, A, 3, 1), Y = random_mat(EP_DOUBLE, B, 3, 2);
  const ep_tall rx = ep_tall_all(&X), ry = ep_tall_all(&Y);
  seen s = {ep_alloc(A, sizeof *s.next), ep_alloc(A, sizeof *s.sum)};
  CHECK_OK(ep_tiles(&rx, &ry, EP_COSINE, see, &s, "test"));
  for (ptrdiff_t i = 0; i < A; i += 97) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < B; j++) {
      double dot = 0, a = 0, b = 0;
      for (int k = 0; k < 3; k++) {
        dot += ep_get(&X, i, k) * ep_get(&Y, j, k);
        a += ep_get(&X, i, k) * ep_get(&X, i, k);
        b += ep_get(&Y, j, k) * ep_get(&Y, j, k);
      }
      sum += dot / sqrt(a * b);
    }
    CHECK_NEAR(s.sum[i], sum, 1e-11);
  }
  for (ptrdiff_t i = 0; i < A; i++) assert_int_equal(s.next[i], B);
  ep_release(s.next);
  ep_release(s.sum);
  ep_mat_free(&X);
  ep_mat_free(&Y);
}

/* ---- every probe */

/* Clouds far apart are told apart by every probe, standardised or not, held out or with a test set. */
static void easy_points(void **state) {
  (void)state;
  for (int p = 0; ep_probe_name(p); p++)
    for (int t = 0; t < 12; t++) {
      int *labels, *test_labels;
      ep_mat X = clouds(&labels, t & 1 ? EP_SINGLE : EP_DOUBLE, 600, 0.1, 1);
      ep_mat E = clouds(&test_labels, EP_DOUBLE, 30, 0.1, 2);
      ep_probe_config config = settings();
      const ep_run_config run = ep_run_default();
      const ep_labelled train = {&X, labels, NULL}, test = {&E, test_labels, NULL};
      ep_probe_result r;
      config.standardise = t / 4;
      CHECK_OK(
          ep_probe_run(NULL, &r, ep_probe_name(p), &train, t & 2 ? &test : NULL, &config, &run));
      CHECK_NEAR(r.accuracy, 1, 0);
      CHECK_NEAR(r.train_accuracy, 1, 0);
      assert_string_equal(r.name, ep_probe_name(p));
      assert_true(r.held_out == !(t & 2) && r.converged && r.classes == 3 && !r.unseen);
      assert_true(r.standardised == (t / 4 == 1 || (t / 4 == 0 && strcmp(r.name, "knn") != 0)));
      assert_int_equal(r.train + r.test, t & 2 ? 630 : 600);
      assert_int_equal(r.test, t & 2 ? 30 : 120);
      assert_memory_equal(r.label, names, sizeof names);
      ptrdiff_t all = 0;
      for (int c = 0; c < 9; c++) all += r.confusion[c], assert_true(c % 4 == 0 || !r.confusion[c]);
      assert_int_equal(all, r.test);
      for (int c = 0; c < 3; c++) CHECK_NEAR(ep_probe_class_accuracy(&r, c), 1, 0);
      ep_probe_result_free(&r);
      ep_mat_free(&X);
      ep_mat_free(&E);
      ep_release(labels);
      ep_release(test_labels);
    }
}

/* Units do not matter to standardised probes: scaled and moved dimensions give the same classes. */
static void units(void **state) {
  (void)state;
  for (int p = 0; p < 2; p++) {
    int *labels;
    ep_mat X = clouds(&labels, EP_DOUBLE, 400, 1.2, 1);
    const ep_probe_config config = settings();
    const ep_run_config run = ep_run_default();
    const ep_labelled train = {&X, labels, NULL};
    ep_probe_result a, b;
    CHECK_OK(ep_probe_run(NULL, &a, ep_probe_name(p), &train, NULL, &config, &run));
    for (ptrdiff_t i = 0; i < 400; i++)
      for (int j = 0; j < Z; j++) *ep_d(&X, i, j) = pow(100, j - 2) * (*ep_d(&X, i, j) + j);
    CHECK_OK(ep_probe_run(NULL, &b, ep_probe_name(p), &train, NULL, &config, &run));
    assert_memory_equal(a.confusion, b.confusion, 9 * sizeof *a.confusion);
    assert_true(a.accuracy < 1 && a.accuracy > 0.6);
    ep_probe_result_free(&a);
    ep_probe_result_free(&b);
    ep_mat_free(&X);
    ep_release(labels);
  }
}

/* The same seed splits in the same way, another one otherwise; a test label never seen is wrong and counted. */
static void splits_and_unseen(void **state) {
  (void)state;
  int *labels;
  ep_mat X = clouds(&labels, EP_DOUBLE, 200, 1.5, 1);
  ep_probe_config config = settings();
  ep_run_config run = ep_run_default();
  const ep_labelled train = {&X, labels, NULL};
  ep_probe_result a, b, c;
  CHECK_OK(ep_probe_run(NULL, &a, "linear", &train, NULL, &config, &run));
  CHECK_OK(ep_probe_run(NULL, &b, "linear", &train, NULL, &config, &run));
  run.seed = 1;
  CHECK_OK(ep_probe_run(NULL, &c, "linear", &train, NULL, &config, &run));
  assert_memory_equal(a.confusion, b.confusion, 9 * sizeof *a.confusion);
  assert_memory_not_equal(a.confusion, c.confusion, 9 * sizeof *a.confusion);
  ep_probe_result_free(&a);
  ep_probe_result_free(&b);
  ep_probe_result_free(&c);
  config.holdout = 0.999; /* two points are always left to train on, one to test with */
  const ep_mat few = ep_mat_rows(&X, 0, 3);
  const int three[] = {1, 2, 3};
  const ep_labelled small = {&few, three, NULL};
  CHECK_OK(ep_probe_run(NULL, &a, "knn", &small, NULL, &config, &run));
  assert_true(a.train == 2 && a.test == 1 && a.unseen == 1 && a.accuracy == 0);
  assert_true(isnan(ep_probe_class_accuracy(&a, 0)));
  ep_probe_result_free(&a);

  int test_labels[10];
  memcpy(test_labels, labels, sizeof test_labels);
  test_labels[4] = 55; /* between two known ones */
  const ep_mat T = ep_mat_rows(&X, 0, 10);
  const ep_labelled test = {&T, test_labels, NULL}, known = {&T, labels, NULL};
  for (int p = 0; ep_probe_name(p); p++) {
    CHECK_OK(ep_probe_run(NULL, &a, ep_probe_name(p), &train, &known, &config, &run));
    CHECK_OK(ep_probe_run(NULL, &b, ep_probe_name(p), &train, &test, &config, &run));
    ptrdiff_t all = 0;
    for (int k = 0; k < 9; k++) all += b.confusion[k];
    assert_true(b.unseen == 1 && all == 9 && a.accuracy - b.accuracy < 0.1 + 1e-12);
    assert_true(b.accuracy <= 0.9 && b.accuracy > 0);
    ep_probe_result_free(&a);
    ep_probe_result_free(&b);
  }
  ep_mat_free(&X);
  ep_release(labels);
}

static void refusals(void **state) {
  (void)state;
  int *labels;
  ep_mat X = clouds(&labels, EP_DOUBLE, 20, 1, 1), wide = random_mat(EP_DOUBLE, 20, 6, 2);
  ep_mat none = {.prec = EP_DOUBLE};
  const int same[20] = {0};
  const ep_probe_config config = settings();
  ep_run_config run = ep_run_default();
  const ep_labelled good = {&X, labels, NULL}, one = {&X, same, NULL},
                    other = {&wide, labels, NULL};
  const ep_labelled empty = {&none, labels, NULL};
  ep_probe_result r;
  CHECK_STATUS(ep_probe_run(NULL, &r, "tree", &good, NULL, &config, &run), EP_ERR_ARG);
  CHECK_STATUS(ep_probe_run(NULL, &r, "linear", &one, NULL, &config, &run), EP_ERR_INPUT);
  CHECK_STATUS(ep_probe_run(NULL, &r, "linear", &good, &other, &config, &run), EP_ERR_SHAPE);
  CHECK_STATUS(ep_probe_run(NULL, &r, "linear", &empty, NULL, &config, &run), EP_ERR_SHAPE);
  run.memory = 1000; /* no copy of the points fits: they are made a row at a time */
  CHECK_OK(ep_probe_run(NULL, &r, "svm", &good, NULL, &config, &run));
  ep_probe_result_free(&r);
  CHECK_OK(ep_probe_run(NULL, &r, "linear", &good, NULL, &config, &run));
  ep_probe_result_free(&r);
  *ep_d(&X, 3, 2) = NAN;
  CHECK_STATUS(ep_probe_run(NULL, &r, "linear", &good, NULL, &config, &run), EP_ERR_INPUT);
  assert_null(r.label);
  ep_mat_free(&X);
  ep_mat_free(&wide);
  ep_release(labels);
}

/* An interrupted probe says so. */
static void interruption(void **state) {
  (void)state;
  int *labels;
  ep_mat X = clouds(&labels, EP_DOUBLE, 200, 1, 1);
  const ep_probe_config config = settings();
  const ep_labelled train = {&X, labels, NULL};
  ep_run_config run = ep_run_default();
  volatile int stop = 1;
  ep_probe_result r;
  const ep_run_scope scope = enter_stopped(&stop);
  for (int p = 0; ep_probe_name(p); p++)
    CHECK_STATUS(ep_probe_run(NULL, &r, ep_probe_name(p), &train, NULL, &config, &run),
                 EP_ERR_INTERRUPTED);
  leave(&scope);
  ep_mat_free(&X);
  ep_release(labels);
}

/* ---- metrics */

static double plain_uniformity(const ep_mat *E) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < E->rows; i++)
    for (ptrdiff_t j = 0; j < i; j++) {
      double a = 0, b = 0, d2 = 0;
      for (ptrdiff_t k = 0; k < E->cols; k++)
        a += pow(ep_get(E, i, k), 2), b += pow(ep_get(E, j, k), 2);
      for (ptrdiff_t k = 0; k < E->cols; k++) {
        const double u = a > 0 ? ep_get(E, i, k) / sqrt(a) : 0,
                     v = b > 0 ? ep_get(E, j, k) / sqrt(b) : 0;
        d2 += (u - v) * (u - v);
      }
      sum += exp(-2 * d2);
    }
  return log(sum / (0.5 * (double)E->rows * (double)(E->rows - 1)));
}

static void uniformity_and_alignment(void **state) {
  (void)state;
  const ep_run_config run = ep_run_default();
  ep_metrics_config config = metric_settings();
  ep_metrics m;
  for (int prec = 0; prec < 2; prec++) {
    ep_mat E = random_mat((ep_precision)prec, 1200, 4, 1),
           P = random_mat((ep_precision)prec, 1200, 4, 2);
    for (int j = 0; j < 4; j++) ep_set(&E, 77, j, 0), ep_set(&E, 900, j, 0);
    CHECK_OK(ep_metrics_of(NULL, &m, &E, &P, &config, &run));
    CHECK_NEAR(m.uniformity, plain_uniformity(&E), 1e-13);
    CHECK_NEAR(m.uniformity_error, 0, 0);
    double sum = 0;
    for (ptrdiff_t i = 0; i < 1200; i++) {
      double a = 0, b = 0, dot = 0;
      for (int j = 0; j < 4; j++) {
        a += pow(ep_get(&E, i, j), 2), b += pow(ep_get(&P, i, j), 2);
        dot += ep_get(&E, i, j) * ep_get(&P, i, j);
      }
      sum += a > 0 ? 2 - 2 * dot / sqrt(a * b) : 1;
    }
    CHECK_NEAR(m.alignment, sum / 1200, 1e-13);
    ep_mat_free(&E);
    ep_mat_free(&P);
  }
  double two[] = {1, 0, -3, 0}; /* opposite: exp(-2 4) */
  const ep_mat E = ep_mat_view(EP_DOUBLE, 2, 2, two);
  CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
  CHECK_NEAR(m.uniformity, -8, 1e-14);
  assert_true(isnan(m.alignment) && isnan(m.correlation));
}

/* A draw of points: another value for another seed, near the whole, as its standard error says. */
static void sampled_uniformity(void **state) {
  (void)state;
  enum { N = 3000, SEEDS = 60, M = 150 };
  ep_mat E = random_mat(EP_DOUBLE, N, 3, 1);
  ep_metrics_config config = metric_settings();
  ep_run_config run = ep_run_default();
  ep_metrics m;
  double square = 0, stated = 0;
  for (ptrdiff_t i = 0; i < N; i++) *ep_d(&E, i, 0) += 1; /* crowded on one side */
  const double whole = plain_uniformity(&E);
  config.uniformity_points = M;
  for (int s = 0; s < SEEDS; s++) {
    run.seed = s;
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_int_equal(m.uniformity_points, M);
    square += (m.uniformity - whole) * (m.uniformity - whole) / SEEDS;
    stated += m.uniformity_error / SEEDS;
  }
  assert_true(sqrt(square) > 0.75 * stated && sqrt(square) < 1.25 * stated);
  ep_mat_free(&E);
}

/* sd 1, 2, 3 and 0; corr(x0, x1) = 1/2, others 0 */
static void spread_and_correlation(void **state) {
  (void)state;
  double e[8 * 4];
  for (int i = 0; i < 8; i++) {
    const double a = i & 1 ? 1 : -1, b = i & 2 ? 1 : -1, c = i & 4 ? 1 : -1;
    e[4 * i] = 5 + a;
    e[4 * i + 1] = 2 * (0.5 * a + sqrt(0.75) * b);
    e[4 * i + 2] = 1. / 3;
    e[4 * i + 3] = -3 * c;
  }
  const ep_mat E = ep_mat_view(EP_DOUBLE, 8, 4, e);
  const ep_metrics_config config = metric_settings();
  const ep_run_config run = ep_run_default();
  ep_metrics m;
  CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
  CHECK_NEAR(m.spread_min, 0, 0);
  CHECK_NEAR(m.spread_median, 1.5, 1e-14);
  CHECK_NEAR(m.spread_max, 3, 1e-14);
  CHECK_NEAR(m.correlation, 0.5 / 3, 1e-14);
  assert_true(m.dead == 1 && m.points == 8 && m.dimensions == 4 && !m.collapsed);
}

static void collapse(void **state) {
  (void)state;
  const ep_metrics_config config = metric_settings();
  const ep_run_config run = ep_run_default();
  ep_metrics m;
  for (int prec = 0; prec < 2; prec++) {
    enum { N = 300, D = 40 };
    ep_mat E = random_mat((ep_precision)prec, N, D, 1), line = random_mat(EP_DOUBLE, N, 1, 2);
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_true(!m.collapsed && strncmp(m.collapse, "not collapsed", 13) == 0);
    for (ptrdiff_t i = 0; i < N * D; i++) /* a falling spectrum is no collapse */
      ep_set(&E, i / D, i % D, ep_get(&E, i / D, i % D) * pow(0.6, (double)(i % D)));
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_true(m.effective_rank < 0.1 * D && m.rankme > 0.1 * D && !m.collapsed);
    for (ptrdiff_t i = 0; i < N * D; i++) /* a steep one is */
      ep_set(&E, i / D, i % D, ep_get(&E, i / D, i % D) * pow(0.5, (double)(i % D)));
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_true(m.rankme < 0.1 * D && m.effective_rank > 1.05 && m.collapsed);
    for (ptrdiff_t i = 0; i < N * D; i++) /* rank 1, and an offset */
      ep_set(&E, i / D, i % D,
             *ep_d(&line, i / D, 0) * cos((double)(i % D)) + 3 * sin((double)(i % D)));
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_true(m.collapsed && strstr(m.collapse, "collapsed in dimension") == m.collapse);
    ep_random_fill_normal(&E, 1, 1, 1);
    for (ptrdiff_t i = 0; i < N * D; i++) /* all near one point */
      ep_set(&E, i / D, i % D, 1 + 1e-5 * ep_get(&E, i / D, i % D));
    CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
    assert_true(m.collapsed && strstr(m.collapse, "all points are the same"));
    for (int zero = 0; zero < 2; zero++) {
      ep_mat_fill(&E, zero ? 0 : 0.7);
      CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
      assert_true(m.collapsed && strstr(m.collapse, "all points are the same"));
      assert_int_equal(m.dead, D);
      CHECK_NEAR(m.effective_rank, 0, 0);
      CHECK_NEAR(m.rankme, zero ? 0 : 1, 1e-9);
      CHECK_NEAR(m.uniformity, 0, 1e-12);
    }
    ep_mat_free(&E);
    ep_mat_free(&line);
  }
  double one[] = {1, 2, 3}, huge[] = {1, 1e200}; /* one dimension cannot lose any */
  ep_mat E = ep_mat_view(EP_DOUBLE, 3, 1, one), row = ep_mat_view(EP_DOUBLE, 1, 3, one);
  CHECK_OK(ep_metrics_of(NULL, &m, &E, NULL, &config, &run));
  assert_false(m.collapsed);
  CHECK_STATUS(ep_metrics_of(NULL, &m, &row, NULL, &config, &run), EP_ERR_SHAPE);
  CHECK_STATUS(ep_metrics_of(NULL, &m, &E, &row, &config, &run), EP_ERR_SHAPE);
  E = ep_mat_view(EP_DOUBLE, 2, 1, huge);
  CHECK_STATUS(ep_metrics_of(NULL, &m, &E, NULL, &config, &run), EP_ERR_INPUT);
}

/* ---- memory */

static ep_status everything(const ep_labelled *train, const ep_mat *positives) {
  const ep_probe_config config = settings();
  ep_metrics_config metrics = metric_settings();
  const ep_run_config run = ep_run_default();
  ep_metrics m;
  ep_probe_result r;
  for (int p = 0; ep_probe_name(p); p++) {
    EP_TRY(ep_probe_run(NULL, &r, ep_probe_name(p), train, NULL, &config, &run));
    ep_probe_result_free(&r);
  }
  metrics.uniformity_points = 100;
  ptrdiff_t who[300 * 3];
  for (int i = 0; ep_metric_name(i); i++)
    EP_TRY(ep_neighbours(NULL, who, NULL, NULL, train->X, 3, (ep_metric)i));
  return ep_metrics_of(NULL, &m, train->X, positives, &metrics, &run);
}

static void out_of_memory(void **state) {
  (void)state;
  int *labels;
  ep_mat X = clouds(&labels, EP_SINGLE, 300, 1, 1);
  const ep_labelled train = {&X, labels, NULL};
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  int n = 0;
  for (; st == EP_ERR_NOMEM; n++) {
    ep_alloc_fail_after = n;
    st = everything(&train, &X);
    ep_alloc_fail_after = -1;
    assert_int_equal(ep_mem_current(), before);
  }
  CHECK_STATUS(st, EP_OK);
  assert_true(n > 80);
  ep_mat_free(&X);
  ep_release(labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_neighbours),
      cmocka_unit_test(ties),
      cmocka_unit_test(tiles),
      cmocka_unit_test(easy_points),
      cmocka_unit_test(units),
      cmocka_unit_test(splits_and_unseen),
      cmocka_unit_test(refusals),
      cmocka_unit_test(interruption),
      cmocka_unit_test(uniformity_and_alignment),
      cmocka_unit_test(sampled_uniformity),
      cmocka_unit_test(spread_and_correlation),
      cmocka_unit_test(collapse),
      cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
