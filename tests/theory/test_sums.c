/* Sums that are merged: against sums by the definition, against a fit on everything, in every order, refused by name. */
#include "theory/closed.h"
#include "data/parse.h"

#include <eigenpair/sums.h>

enum { SHARDS = 5 };

/* points of one shard of `all`, lent */
static ep_points some(const ep_points *all, long i, long n) {
  ep_points p = {.X = all->X, .shape = all->shape, .lent = true};
  const ptrdiff_t first = N * (i - 1) / n, count = N * i / n - first, r = all->pairs.start[1];
  CHECK_OK(ep_pairs_new(&p.pairs, count, all->X.rows, count * r, false));
  for (ptrdiff_t k = 0; k < count; k++) {
    p.pairs.anchor[k] = all->pairs.anchor[first + k];
    p.pairs.start[k + 1] = (k + 1) * r;
    for (ptrdiff_t q = 0; q < r; q++) {
      p.pairs.partner[k * r + q] = all->pairs.partner[(first + k) * r + q];
      p.pairs.sign[k * r + q] = all->pairs.sign[(first + k) * r + q];
    }
  }
  return p;
}

static ep_sums *part(const ep_points *all, const ep_sums *like, const ep_setup *s, long i, long n,
                     bool numbered) {
  ep_sums *sums;
  ep_points p = some(all, i, n);
  if (like) CHECK_OK(ep_sums_like(&sums, like));
  else CHECK_OK(ep_sums_new(NULL, &sums, all, s));
  CHECK_OK(ep_sums_add(NULL, sums, &p, numbered ? (ep_shard){i, n} : (ep_shard){0, 0}));
  ep_points_free(&p);
  return sums;
}

static void check_model(const ep_sums *sums, const ep_points *p, const ep_setup *s) {
  ep_model *a, *b;
  ep_fit_info one, other;
  fit(&a, &one, p, s);
  CHECK_OK(ep_fit_sums(NULL, &b, &other, sums, s));
  for (int k = 0; k < s->net.outputs; k++)
    CHECK_NEAR(eigenvalue(&one, k), eigenvalue(&other, k), 1e-12);
  const ep_mat *W = ep_model_coefficients(a, 0), *U = ep_model_coefficients(b, 0);
  CHECK_NEAR(ep_mat_distance2(W, U), 0, 1e-16 * ep_mat_norm2(W));
  ep_mat E, F;
  CHECK_OK(ep_mat_new(&E, EP_DOUBLE, p->X.rows, s->net.outputs));
  CHECK_OK(ep_mat_new(&F, EP_DOUBLE, p->X.rows, s->net.outputs));
  CHECK_OK(ep_model_embed(NULL, &E, a, &p->X));
  CHECK_OK(ep_model_embed(NULL, &F, b, &p->X));
  CHECK_NEAR(ep_mat_distance2(&E, &F), 0, 1e-18 * ep_mat_norm2(&E));
  ep_mat_free(&E), ep_mat_free(&F);
  drop(a, &one), drop(b, &other);
}

static void setup_of(ep_setup *s, int kind) {
  make_setup(s, kind == 0 ? "pca" : "whitened");
  if (kind == 2) strcpy(s->feature.features, "patches:5,3,2");
  if (kind == 3) s->fit.kernel = EP_KERNEL_ANALYTIC, s->closed.landmarks = 20;
  if (kind == 4) s->net.depth = 2, s->objective.similarity = EP_SIMILARITY_COSINE;
}

static ep_points points_of(int kind) {
  return kind == 2 ? make_images(2, 2) : make_points(&kinds[kind == 0 ? 1 : 2]);
}

static void free_all(ep_sums **sums, int n) {
  for (int i = 0; i < n; i++) ep_sums_free(sums[i]);
}

/* every map: shards merged in every order, along every tree, give one set of bits, and the model of a fit on everything */
static void every_order(void **state) {
  (void)state;
  static ep_setup s;
  static const int orders[][SHARDS] = {
      {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 3, 0, 4, 2}};
  for (int kind = 0; kind < 5; kind++) {
    ep_points p = points_of(kind);
    setup_of(&s, kind);
    unsigned char *first = NULL, *bytes;
    size_t size = 0, length;
    for (int o = 0; o < 8; o++) {
      ep_sums *sums[SHARDS];
      for (int i = 0; i < SHARDS; i++)
        sums[i] = part(&p, i ? sums[0] : NULL, &s, orders[o % 4][i] + 1, SHARDS, true);
      if (o < 4) /* one after the other */
        for (int i = 1; i < SHARDS; i++) CHECK_OK(ep_sums_merge(sums[0], sums[i]));
      else { /* two groups, then both */ CHECK_OK(ep_sums_merge(sums[0], sums[1]));
        CHECK_OK(ep_sums_merge(sums[2], sums[3]));
        CHECK_OK(ep_sums_merge(sums[2], sums[4]));
        CHECK_STATUS(ep_sums_check(sums[2]), EP_ERR_INPUT);
        CHECK_OK(ep_sums_merge(sums[0], sums[2]));
      }
      CHECK_OK(ep_sums_check(sums[0]));
      CHECK_OK(ep_sums_to_bytes(&bytes, &length, sums[0]));
      if (o == 0) first = bytes, size = length, check_model(sums[0], &p, &s);
      else {
        assert_int_equal(length, size);
        assert_memory_equal(bytes, first, size);
        ep_bytes_free(bytes);
      }
      free_all(sums, SHARDS);
    }
    ep_bytes_free(first);
    ep_points_free(&p);
  }
}

/* parts without numbers: any number of them, to rounding */
static void without_numbers(void **state) {
  (void)state;
  static ep_setup s;
  for (int kind = 0; kind < 2; kind++) {
    ep_points p = points_of(kind);
    setup_of(&s, kind);
    ep_sums *a = part(&p, NULL, &s, 1, 3, false), *b = part(&p, a, &s, 3, 3, false);
    ep_points middle = some(&p, 2, 3);
    CHECK_OK(ep_sums_add(NULL, b, &middle, (ep_shard){0, 0}));
    CHECK_OK(ep_sums_merge(a, b));
    CHECK_NEAR(ep_sums_anchors(a), N, 0);
    check_model(a, &p, &s);
    CHECK_STATUS(ep_sums_merge(a, b), EP_ERR_INPUT);
    assert_non_null(strstr(ep_last_error(), "already"));
    ep_sums *numbered = part(&p, a, &s, 1, 3, true);
    CHECK_STATUS(ep_sums_merge(a, numbered), EP_ERR_INPUT);
    ep_sums_free(a), ep_sums_free(b), ep_sums_free(numbered);
    ep_points_free(&middle), ep_points_free(&p);
  }
}

/* C by the definition, as the file has it; A and B are checked by the model that comes of them */
static void by_definition(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[1]);
  setup_of(&s, 0);
  ep_sums *sums = part(&p, NULL, &s, 1, 1, true);
  unsigned char *bytes;
  size_t size;
  CHECK_OK(ep_sums_to_bytes(&bytes, &size, sums));
  ep_npz *file;
  ep_array a;
  ep_mat C;
  CHECK_OK(ep_npz_open_bytes(&file, bytes, size, "sums"));
  CHECK_OK(ep_npz_get(&a, file, "sum_C"));
  CHECK_OK(ep_array_to_matrix(&C, &a, NULL, a.shape[0], 1, EP_DOUBLE, "sum_C"));
  ep_mat_symmetrise(&C);
  ep_model *m;
  ep_fit_info info;
  fit(&m, &info, &p, &s);
  ep_mat Psi = all_psi(ep_model_net(m), &p.X, true, s.objective.delta),
         D0 = covariance(&Psi, &p.pairs);
  for (ptrdiff_t i = 0; i < C.rows; i++)
    for (ptrdiff_t j = 0; j < C.cols; j++) CHECK_NEAR(*ep_d(&C, i, j) / N, *ep_d(&D0, i, j), 1e-14);
  drop(m, &info);
  ep_array_free(&a), ep_npz_close(file), ep_bytes_free(bytes);
  ep_mat_free(&C), ep_mat_free(&Psi), ep_mat_free(&D0);
  ep_sums_free(sums), ep_points_free(&p);
}

static void expect(ep_sums *into, const ep_sums *from, const char *word) {
  unsigned char *before, *after;
  size_t size, length;
  CHECK_OK(ep_sums_to_bytes(&before, &size, into));
  CHECK_STATUS(ep_sums_merge(into, from), EP_ERR_INPUT);
  if (!strstr(ep_last_error(), word)) fail_msg("'%s' does not say %s", ep_last_error(), word);
  CHECK_OK(ep_sums_to_bytes(&after, &length, into)); /* as it was */
  assert_int_equal(size, length);
  assert_memory_equal(before, after, size);
  ep_bytes_free(before), ep_bytes_free(after);
}

static void refused(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[2]);
  setup_of(&s, 1);
  ep_sums *a = part(&p, NULL, &s, 1, 3, true), *other;
  expect(a, other = part(&p, a, &s, 1, 3, true), "shard 1/3"), ep_sums_free(other);
  expect(a, other = part(&p, a, &s, 2, 4, true), "cut alike"), ep_sums_free(other);
  s.net.width = 41;
  expect(a, other = part(&p, NULL, &s, 2, 3, true), "--width is 41"), ep_sums_free(other);
  s.net.width = 40, s.run.seed = 7;
  expect(a, other = part(&p, NULL, &s, 2, 3, true), "--seed"), ep_sums_free(other);
  s.run.seed = 0, strcpy(s.fit.method, "pca");
  expect(a, other = part(&p, NULL, &s, 2, 3, true), "--method"), ep_sums_free(other);
  strcpy(s.fit.method, "whitened");
  s.closed.ridge = 5, s.net.outputs = 2; /* what they do not depend on */
  other = part(&p, NULL, &s, 2, 3, true);
  CHECK_OK(ep_sums_merge(a, other));
  ep_sums_free(other);
  ep_model *m;
  ep_fit_info info;
  CHECK_STATUS(ep_fit_sums(NULL, &m, &info, a, &s), EP_ERR_INPUT);
  assert_non_null(strstr(ep_last_error(), "missing: 3/3"));
  ep_sums_free(a), ep_points_free(&p);
}

/* filters drawn from other points are another map, whatever the options say */
static void another_map(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_images(1, 1), q = make_images(1, 1);
  for (ptrdiff_t j = 0; j < q.X.cols; j++)
    for (ptrdiff_t i = 0; i < q.X.rows; i++)
      ep_set(&q.X, i, j, ep_get(&q.X, i, j) * (double)(1 + (i + j) % 3));
  setup_of(&s, 2);
  ep_sums *a = part(&p, NULL, &s, 1, 2, true), *b = part(&q, NULL, &s, 2, 2, true);
  expect(a, b, "another map");
  ep_sums_free(a), ep_sums_free(b);
  ep_points_free(&p), ep_points_free(&q);
}

/* no allocation that fails leaks or breaks anything */
static void failing(void **state) {
  (void)state;
  static ep_setup s;
  ep_points p = make_points(&kinds[2]);
  setup_of(&s, 1);
  ep_sums *a = part(&p, NULL, &s, 1, 2, true), *b = part(&p, a, &s, 2, 2, true);
  ep_points last = some(&p, 2, 2);
  int failures = 0;
  for (long n = 0; n < 400; n++) {
    ep_sums *c = NULL;
    const size_t before = ep_mem_current();
    ep_alloc_fail_after = n;
    ep_status st = ep_sums_like(&c, a);
    if (!st) st = ep_sums_merge(c, a);
    if (!st) st = ep_sums_add(NULL, c, &last, (ep_shard){2, 2});
    ep_alloc_fail_after = -1;
    if (!st) CHECK_OK(ep_sums_check(c));
    failures += st != EP_OK;
    ep_sums_free(c);
    assert_int_equal(ep_mem_current(), before);
  }
  assert_true(failures > 20 && failures < 400);
  ep_sums_free(a), ep_sums_free(b);
  ep_points_free(&last), ep_points_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_order),   cmocka_unit_test(without_numbers),
      cmocka_unit_test(by_definition), cmocka_unit_test(refused),
      cmocka_unit_test(another_map),   cmocka_unit_test(failing)};
  RUN_CLOSED(tests);
}
