/* The generator: published answers, moments, and independence of threads, shapes and order. */
#include "check.h"

#include <eigenpair/random.h>
#include <omp.h>
#include <string.h>

/* Random123, tests/kat_vectors, the lines "philox4x32 10": counter, key, answer. */
static const struct {
  uint32_t counter[4], key[2], answer[4];
} published[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

static uint64_t join(uint32_t high, uint32_t low) { return (uint64_t)high << 32 | low; }

static ep_random at_counter(int k) {
  const uint32_t *c = published[k].counter, *key = published[k].key;
  ep_random r = ep_random_new(join(key[1], key[0]), c[2], c[3]);
  r.next = join(c[1], c[0]);
  return r;
}

/* All four words of the answer: the first two make the uniform, all four the normal. */
static void test_published_answers(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    const uint32_t *v = published[k].answer;
    const uint64_t first = join(v[0], v[1]), second = join(v[2], v[3]);
    ep_random r = at_counter(k);
    const double u = ldexp((double)(first >> 11), -53), t = ldexp((double)(second >> 11), -53);
    assert_true(ep_random_uniform(&r) == u);
    assert_true(r.next == at_counter(k).next + 1);
    r = at_counter(k);
    assert_true(ep_random_below(&r, INT64_C(1) << 61) ==
                (int64_t)(first & ((UINT64_C(1) << 61) - 1)));
    r = at_counter(k);
    CHECK_NEAR(ep_random_normal(&r), sqrt(-2 * log1p(-u)) * cos(2 * acos(-1) * t), 1e-14);
  }
}

static void test_uniform_moments(void **state) {
  (void)state;
  enum { N = 200000 };
  ep_random r = ep_random_new(5, EP_STREAM_DATA, 1);
  double mean = 0, square = 0, lag = 0, previous = 0.5;
  for (int i = 0; i < N; i++) {
    const double u = ep_random_uniform(&r);
    assert_true(u >= 0 && u < 1);
    mean += u / N;
    square += u * u / N;
    lag += (u - 0.5) * (previous - 0.5) / N;
    previous = u;
  }
  CHECK_NEAR(mean, 0.5, 5 * sqrt(1.0 / 12 / N));
  CHECK_NEAR(square, 1.0 / 3, 5 * sqrt(4.0 / 45 / N));
  CHECK_NEAR(lag, 0, 5 / 12.0 / sqrt(N));
}

/* E z = 0, E z^2 = 1, E z^3 = 0, E z^4 = 3, and the share beyond 2 of them */
static void check_normal(const double *z, ptrdiff_t n) {
  double m[5] = {0}, beyond = 0;
  for (ptrdiff_t i = 0; i < n; i++) {
    for (int k = 1; k <= 4; k++) m[k] += pow(z[i], k) / (double)n;
    beyond += (fabs(z[i]) > 2) / (double)n;
  }
  const double unit = 5 / sqrt((double)n);
  CHECK_NEAR(m[1], 0, unit);
  CHECK_NEAR(m[2], 1, sqrt(2) * unit);
  CHECK_NEAR(m[3], 0, sqrt(15) * unit);
  CHECK_NEAR(m[4], 3, sqrt(96) * unit);
  CHECK_NEAR(beyond, 0.0455002638963584, 0.21 * unit);
}

static void test_normal_moments(void **state) {
  (void)state;
  enum { N = 100000 };
  static double z[N];
  ep_random r = ep_random_new(6, EP_STREAM_DATA, 2);
  for (int i = 0; i < N; i++) z[i] = ep_random_normal(&r);
  check_normal(z, N);
  const ep_mat A = ep_mat_view(EP_DOUBLE, 100, N / 100, z);
  ep_random_fill_normal(&A, 6, EP_STREAM_DATA, 3);
  check_normal(z, N);
  double neighbours = 0; /* the two halves of Box-Muller must not know each other */
  for (int i = 0; i + 1 < N; i += 2) neighbours += z[i] * z[i + 1] / (N / 2.0);
  CHECK_NEAR(neighbours, 0, 5 / sqrt(N / 2.0));
}

static void test_fill_ignores_threads(void **state) {
  (void)state;
  enum { ROWS = 131, COLS = 173 };
  static double once[ROWS * COLS], again[ROWS * COLS];
  const ep_mat A = ep_mat_view(EP_DOUBLE, ROWS, COLS, once);
  const ep_mat B = ep_mat_view(EP_DOUBLE, ROWS, COLS, again);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  ep_random_fill_normal(&A, 9, EP_STREAM_WEIGHTS, 0);
  for (int threads = 2; threads <= 3; threads++) {
    omp_set_num_threads(threads);
    memset(again, 0, sizeof again);
    ep_random_fill_normal(&B, 9, EP_STREAM_WEIGHTS, 0);
    assert_memory_equal(once, again, sizeof once);
  }
  omp_set_num_threads(before);
}

/* Single precision is double precision rounded; number i cols + j whatever the shape. */
static void test_fill_numbers(void **state) {
  (void)state;
  double wide[35], tall[35], two[2 * 8];
  float single[35];
  const ep_mat W = ep_mat_view(EP_DOUBLE, 5, 7, wide), T = ep_mat_view(EP_DOUBLE, 35, 1, tall);
  const ep_mat S = ep_mat_view(EP_SINGLE, 7, 5, single);
  ep_random_fill_normal(&W, 3, 4, 5);
  ep_random_fill_normal(&T, 3, 4, 5);
  ep_random_fill_normal(&S, 3, 4, 5);
  assert_memory_equal(wide, tall, sizeof wide);
  ep_random r = ep_random_new(3, 4, 5);
  for (int i = 0; i < 35; i++) {
    assert_true(single[i] == (float)wide[i]);
    if (i % 2 == 0) assert_true(ep_random_normal(&r) == wide[i]);
  }
  for (int i = 0; i < 16; i++) two[i] = 77;
  const ep_mat all = ep_mat_view(EP_DOUBLE, 2, 8, two), part = ep_mat_cols(&all, 2, 3);
  ep_random_fill_normal(&part, 3, 4, 5);
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 8; j++)
      assert_true(two[8 * i + j] == (j >= 2 && j < 5 ? wide[3 * i + j - 2] : 77));
}

/* Every field of the generator changes the numbers, its upper halves too. */
static void test_streams_differ(void **state) {
  (void)state;
  enum { N = 20000 };
  const uint64_t far = UINT64_C(1) << 32;
  const ep_random base = ep_random_new(1, 2, 3);
  ep_random other[] = {ep_random_new(2, 2, 3), ep_random_new(1 + far, 2, 3), ep_random_new(1, 3, 3),
                       ep_random_new(1, 2, 4), ep_random_new(1, 2, 3)};
  other[4].next = far;
  for (size_t k = 0; k < sizeof other / sizeof *other; k++) {
    ep_random a = base, b = other[k];
    double together = 0;
    for (int i = 0; i < N; i++)
      together += (ep_random_uniform(&a) - 0.5) * (ep_random_uniform(&b) - 0.5) / N;
    CHECK_NEAR(together, 0, 5 / 12.0 / sqrt(N));
  }
}

/* the first of the permutation that the same numbers make, and as many numbers are used */
static void test_some_of_a_permutation(void **state) {
  (void)state;
  enum { N = 50 };
  for (ptrdiff_t k = 0; k <= N; k++) {
    ep_random a = ep_random_new(7, EP_STREAM_BATCH, 1), b = a;
    ptrdiff_t all[N], some[N + 1] = {0};
    some[k] = -1;
    ep_random_permutation(&a, all, N);
    ep_random_some(&b, some, k, N);
    assert_memory_equal(all, some, (size_t)k * sizeof *all);
    assert_true(some[k] == -1 && ep_random_uniform(&a) == ep_random_uniform(&b));
  }
}

static void test_permutation(void **state) {
  (void)state;
  ep_random r = ep_random_new(4, EP_STREAM_BATCH, 0);
  for (ptrdiff_t n = 0; n <= 200; n += 1 + n / 3) {
    ptrdiff_t p[200];
    int seen[200] = {0};
    ep_random_permutation(&r, p, n);
    for (ptrdiff_t i = 0; i < n; i++) {
      assert_true(p[i] >= 0 && p[i] < n);
      seen[p[i]]++;
    }
    for (ptrdiff_t i = 0; i < n; i++) assert_int_equal(seen[i], 1);
  }
  enum { DRAWS = 24000 };
  int count[27] = {0};
  for (int k = 0; k < DRAWS; k++) {
    ptrdiff_t p[3];
    ep_random_permutation(&r, p, 3);
    count[9 * p[0] + 3 * p[1] + p[2]]++;
  }
  double chi2 = 0; /* five degrees of freedom: beyond 25.7 once in 10,000 */
  for (int k = 0; k < 27; k++)
    if (count[k]) chi2 += pow(count[k] - DRAWS / 6.0, 2) / (DRAWS / 6.0);
  assert_true(chi2 < 25.7);
}

static void test_below_is_unbiased(void **state) {
  (void)state;
  enum { N = 30000 };
  ep_random r = ep_random_new(8, EP_STREAM_SAMPLE, 0);
  int count[7] = {0}, third[3] = {0};
  double chi2 = 0;
  for (int i = 0; i < N; i++) {
    const int64_t v = ep_random_below(&r, 7);
    assert_true(v >= 0 && v < 7);
    count[v]++;
  }
  for (int k = 0; k < 7; k++) chi2 += pow(count[k] - N / 7.0, 2) / (N / 7.0);
  assert_true(chi2 < 27.9); /* six degrees of freedom: once in 10,000 */
  /* 2^64 is no multiple of 3 2^61: the plain remainder would give the thirds 3/8, 3/8, 2/8 */
  for (int i = 0; i < N; i++) third[ep_random_below(&r, INT64_C(3) << 61) >> 61]++;
  for (int k = 0; k < 3; k++) CHECK_NEAR(third[k] / (double)N, 1 / 3.0, 5 * 0.472 / sqrt(N));
  for (int i = 0; i < 10; i++) assert_true(ep_random_below(&r, 1) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_answers),     cmocka_unit_test(test_uniform_moments),
      cmocka_unit_test(test_normal_moments),        cmocka_unit_test(test_fill_ignores_threads),
      cmocka_unit_test(test_fill_numbers),          cmocka_unit_test(test_streams_differ),
      cmocka_unit_test(test_some_of_a_permutation), cmocka_unit_test(test_permutation),
      cmocka_unit_test(test_below_is_unbiased),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
