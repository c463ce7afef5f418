/* The measurements behind `explore` in the small: graphs against a plain matrix, layouts, clusters, memory. */
#include "core/mem.h"
#include "probe/probes.h"
#include "random_mat.h"
#include "spectral/graph.h"
#include "study/explore.h"

#include <string.h>

enum { N = 60, K = 5 };

static ep_mat clouds(ep_precision prec) {
  ep_mat E = random_mat(prec, N, 4, 3);
  for (ptrdiff_t i = 0; i < N; i++) ep_set(&E, i, i % 3, ep_get(&E, i, i % 3) + 6);
  return E;
}

/* W = (A + A') / 2 entry by entry, each edge once */
static void graph(void **state) {
  (void)state;
  ep_mat E = clouds(EP_DOUBLE);
  ptrdiff_t who[N * K];
  double A[N][N] = {{0}}, seen = 0, all = 0;
  ep_work work = {0};
  ep_graph g;
  CHECK_OK(ep_neighbours(NULL, who, NULL, NULL, &E, K, EP_COSINE));
  CHECK_OK(ep_graph_new(&g, &work, who, N, K));
  for (int e = 0; e < N * K; e++) A[e / K][who[e]] = 1;
  for (ptrdiff_t i = 0; i < N; i++) {
    double degree = 0;
    for (ptrdiff_t e = g.start[i]; e < g.start[i + 1]; e++) {
      const ptrdiff_t j = g.to[e];
      CHECK_NEAR(g.weight[e], (A[i][j] + A[j][i]) / 2, 0);
      seen += g.weight[e];
    }
    for (ptrdiff_t j = 0; j < N; j++) degree += (A[i][j] + A[j][i]) / 2;
    CHECK_NEAR(g.degree[i], degree, 1e-12);
    all += degree;
  }
  CHECK_NEAR(seen, all, 1e-9);
  ep_work_free(&work);
  ep_mat_free(&E);
}

/* Forty points joined two by two: a pair ends near each other, nothing is lost to infinity, and one thread gives the bits
 * of two. */
static void layout(void **state) {
  (void)state;
  enum { M = 40 };
  ptrdiff_t who[M];
  double first[2 * M], again[2 * M];
  for (ptrdiff_t i = 0; i < M; i++) who[i] = i ^ 1; /* pairs */
  for (int threads = 2; threads >= 1; threads--) {
    ep_run_config config = ep_run_default();
    ep_run *run;
    ep_work work = {0};
    ep_graph g;
    const ep_mat Y = ep_mat_view(EP_DOUBLE, M, 2, threads == 2 ? first : again);
    config.threads = threads;
    CHECK_OK(ep_run_new(&run, &config));
    const ep_run_scope scope = ep_run_enter(run);
    ep_random_fill_normal(&Y, 1, 2, 3);
    CHECK_OK(ep_graph_new(&g, &work, who, M, 1));
    CHECK_OK(ep_graph_layout(&Y, &g, 300, 7));
    ep_work_free(&work);
    ep_run_leave(&scope);
    ep_run_free(run);
  }
  assert_memory_equal(first, again, sizeof first);
  for (ptrdiff_t i = 0; i < M; i++) {
    double pair =
        hypot(first[2 * i] - first[2 * (i ^ 1)], first[2 * i + 1] - first[2 * (i ^ 1) + 1]);
    ptrdiff_t nearer = 0;
    for (ptrdiff_t j = 0; j < M; j++)
      nearer +=
          j != i && hypot(first[2 * i] - first[2 * j], first[2 * i + 1] - first[2 * j + 1]) < pair;
    assert_true(nearer <= 4 && pair < 3);
  }
}

/* One step from where the layout begins (no steps), by its formula with the same random points. */
static void layout_step(void **state) {
  (void)state;
  enum { M = 30 };
  ptrdiff_t who[2 * M];
  double y[2 * M], z[2 * M];
  ep_work work = {0};
  ep_graph g;
  const ep_mat Y = ep_mat_view(EP_DOUBLE, M, 2, y), Z = ep_mat_view(EP_DOUBLE, M, 2, z);
  for (ptrdiff_t i = 0; i < M; i++) who[2 * i] = (i + 1) % M, who[2 * i + 1] = (i * i + 7) % M;
  CHECK_OK(ep_graph_new(&g, &work, who, M, 2));
  ep_random_fill_normal(&Y, 1, 2, 3);
  ep_mat_copy(&Z, &Y);
  CHECK_OK(ep_graph_layout(&Y, &g, 0, 7));
  CHECK_OK(ep_graph_layout(&Z, &g, 1, 7));
  for (ptrdiff_t i = 0; i < M; i++)
    for (int c = 0; c < 2; c++) {
      double pull = 0, push = 0;
      ep_random r = ep_random_new(7, EP_STREAM_MAP, 1);
      r.next = 64 * (uint64_t)i;
      for (ptrdiff_t e = g.start[i]; e < g.start[i + 1]; e++) {
        const ptrdiff_t j = g.to[e];
        const double d = hypot(y[2 * i] - y[2 * j], y[2 * i + 1] - y[2 * j + 1]);
        pull += g.weight[e] / g.degree[i] * (y[2 * j + c] - y[2 * i + c]) / (1 + d * d);
      }
      for (int s = 0; s < 8; s++) {
        const ptrdiff_t j = ep_random_below(&r, M);
        const double d = hypot(y[2 * i] - y[2 * j], y[2 * i + 1] - y[2 * j + 1]);
        const double f = (y[2 * i + c] - y[2 * j + c]) / ((0.001 + d * d) * (1 + d * d));
        push += fmax(-4, fmin(4, f)) / 8;
      }
      CHECK_NEAR(z[2 * i + c], y[2 * i + c] + pull + 2.5 * push, 1e-12);
    }
  ep_work_free(&work);
}

/* Clouds far apart are the clusters, whatever the seed; as many clusters as points leave every point alone. */
static void clusters(void **state) {
  (void)state;
  ep_mat E = clouds(EP_SINGLE);
  int class[N], right = 0;
  for (ptrdiff_t i = 0; i < N; i++) /* 21, 20, 19 points */
    for (int j = 0; j < 4; j++)
      ep_set(&E, i, j, 0.01 * ep_get(&E, i, j) + (j == (i == 2 ? 0 : i % 3)));
  for (uint64_t seed = 0; seed < 20; seed++) {
    CHECK_OK(ep_clusters(class, &E, 3, EP_EUCLIDEAN, seed));
    bool same = true;
    for (ptrdiff_t i = 0; i < N; i++) same = same && class[i] == (i == 2 ? 0 : i % 3);
    right += same;
  }
  assert_true(right >= 18);
  CHECK_OK(ep_clusters(class, &E, N, EP_EUCLIDEAN, 1));
  for (ptrdiff_t i = 0; i < N; i++)
    for (ptrdiff_t j = 0; j < i; j++) assert_int_not_equal(class[i], class[j]);
  CHECK_STATUS(ep_clusters(class, &E, N + 1, EP_COSINE, 1), EP_ERR_ARG);
  ep_mat_free(&E);
}

static void out_of_memory(void **state) {
  (void)state;
  ep_mat E = clouds(EP_SINGLE), X = clouds(EP_DOUBLE);
  int labels[N];
  for (int i = 0; i < N; i++) labels[i] = i % 3;
  ep_explore_input in = {.name = "e", .E = E, .X = X, .labels = labels};
  ep_explore_config config;
  const ep_run_config run = ep_run_default();
  ep_options_default(ep_explore_options, &config);
  config.steps = 5;
  const size_t before = ep_mem_current();
  ep_status st = EP_ERR_NOMEM;
  int n = 0;
  for (; st == EP_ERR_NOMEM; n++) {
    json_t *page;
    ep_explored found;
    ep_alloc_fail_after = n;
    st = ep_explore(&page, &found, &in, &config, &run);
    ep_alloc_fail_after = -1;
    if (!st) { /* what is typed is what its JSON says */
      const json_t *probe = json_array_get(json_object_get(found.json, "probes"), 0);
      assert_int_equal(found.probes, 2);
      assert_string_equal(found.probe[0].name, json_string_value(json_object_get(probe, "probe")));
      assert_true(found.probe[0].raw == json_real_value(json_object_get(probe, "raw")));
      assert_true(found.kept == json_real_value(json_object_get(found.json, "neighbours_kept")));
      assert_int_equal(found.doubtful,
                       json_integer_value(json_object_get(found.json, "doubtful_labels")));
      json_decref(page);
      ep_explored_free(&found);
    }
    assert_int_equal(ep_mem_current(), before);
  }
  CHECK_STATUS(st, EP_OK);
  assert_true(n > 100);
  ep_mat_free(&E);
  ep_mat_free(&X);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(graph),    cmocka_unit_test(layout),        cmocka_unit_test(layout_step),
      cmocka_unit_test(clusters), cmocka_unit_test(out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
