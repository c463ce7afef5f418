/* k-means: Lloyd's iterations from the starts of k-means++ (Arthur and Vassilvitskii 2007).
 *
 *   class of x = argmin_c |x - m_c|^2 = argmax_c x'm_c - |m_c|^2 / 2,   m_c = mean of its class
 *
 * With cosine the points are put on the unit sphere first. */
#include "core/vector.h"
#include "probe/probes.h"

#include <eigenpair/random.h>
#include <math.h>
#include <string.h>

enum { MOST_ROUNDS = 100 };

typedef struct {
  ep_tall rows;
  bool unit;
  ep_mat M, sums;       /* (k, Z) centres; sums of the points of a class */
  double *half;         /* |m_c|^2 / 2 */
  double *nearest;      /* (n) |x - m|^2 to the nearest centre */
  ep_mat block, scores; /* some points; x'm */
  ptrdiff_t *size;
} kmeans;

static ep_status new_kmeans(kmeans *k, ep_work *work, const ep_mat *E, ptrdiff_t clusters,
                            bool unit) {
  *k = (kmeans){.rows = ep_tall_all(E), .unit = unit};
  EP_TRY(ep_work_mat(work, &k->M, EP_DOUBLE, clusters, E->cols));
  EP_TRY(ep_work_mat(work, &k->sums, EP_DOUBLE, clusters, E->cols));
  EP_TRY(ep_work_mat(work, &k->block, EP_DOUBLE, EP_TALL_BLOCK, E->cols));
  EP_TRY(ep_work_mat(work, &k->scores, EP_DOUBLE, EP_TALL_BLOCK, clusters));
  EP_TRY(ep_work_get(work, &k->half, clusters, sizeof *k->half));
  EP_TRY(ep_work_get(work, &k->nearest, E->rows, sizeof *k->nearest));
  return ep_work_get(work, &k->size, clusters, sizeof *k->size);
}

static ep_mat take(const kmeans *k, ptrdiff_t first) {
  const ptrdiff_t left = k->rows.count - first;
  const ep_mat x = ep_mat_rows(&k->block, 0, left < EP_TALL_BLOCK ? left : EP_TALL_BLOCK);
  (k->unit ? ep_unit_rows : ep_tall_get)(&x, &k->rows, first);
  return x;
}

static void set_centre(kmeans *k, ptrdiff_t c, ptrdiff_t row) {
  const ep_mat m = ep_mat_rows(&k->M, c, 1);
  (k->unit ? ep_unit_rows : ep_tall_get)(&m, &k->rows, row);
}

/* ---- starts: the next one is drawn with probability |x - nearest centre|^2 */

static void come_nearer(kmeans *k, ptrdiff_t c) {
  const double *m = ep_d(&k->M, c, 0);
  for (ptrdiff_t i = 0; i < k->rows.count; i += EP_TALL_BLOCK) {
    const ep_mat x = take(k, i);
    for (ptrdiff_t r = 0; r < x.rows; r++) {
      double d2 = 0;
      for (ptrdiff_t j = 0; j < x.cols; j++) {
        const double d = *ep_d(&x, r, j) - m[j];
        d2 += d * d;
      }
      if (c == 0 || d2 < k->nearest[i + r]) k->nearest[i + r] = d2;
    }
  }
}

static ep_status start(kmeans *k, uint64_t seed) {
  const ptrdiff_t n = k->rows.count;
  ep_random r = ep_random_new(seed, EP_STREAM_PROBE, 3);
  set_centre(k, 0, (ptrdiff_t)ep_random_below(&r, n));
  for (ptrdiff_t c = 1; c < k->M.rows; c++) {
    double all = 0;
    ptrdiff_t who = 0;
    EP_TRY(ep_run_step("clusters: starts", (double)c, (double)k->M.rows));
    come_nearer(k, c - 1);
    for (ptrdiff_t i = 0; i < n; i++) all += k->nearest[i];
    double left = ep_random_uniform(&r) * all;
    while (who < n - 1 && (left -= k->nearest[who]) >= 0) who++;
    set_centre(k, c, who);
  }
  return EP_OK;
}

/* ---- rounds */

static int choose(const double *scores, const double *half, ptrdiff_t count) {
  int best = 0;
  for (ptrdiff_t c = 1; c < count; c++)
    if (scores[c] - half[c] > scores[best] - half[best]) best = (int)c;
  return best;
}

/* class of every point, sums and sizes of the classes -> how many points changed */
static ptrdiff_t assign(int *class, kmeans *k) {
  const ptrdiff_t d = k->M.cols, clusters = k->M.rows;
  ptrdiff_t changed = 0;
  ep_mat_fill(&k->sums, 0);
  memset(k->size, 0, (size_t)clusters * sizeof *k->size);
  for (ptrdiff_t c = 0; c < clusters; c++)
    k->half[c] = ep_dot(ep_d(&k->M, c, 0), ep_d(&k->M, c, 0), d) / 2;
  for (ptrdiff_t i = 0; i < k->rows.count; i += EP_TALL_BLOCK) {
    const ep_mat x = take(k, i), S = ep_mat_rows(&k->scores, 0, x.rows);
    ep_mat_mul(&S, 1, &x, EP_N, &k->M, EP_T, 0);
    for (ptrdiff_t r = 0; r < x.rows; r++) {
      const int c = choose(ep_d(&S, r, 0), k->half, clusters);
      changed += class[i + r] != c;
      class[i + r] = c;
      k->size[c]++;
      for (ptrdiff_t j = 0; j < d; j++) *ep_d(&k->sums, c, j) += *ep_d(&x, r, j);
    }
  }
  return changed;
}

/* A class that lost all its points keeps its centre. */
static void move(kmeans *k) {
  for (ptrdiff_t c = 0; c < k->M.rows; c++)
    for (ptrdiff_t j = 0; k->size[c] && j < k->M.cols; j++)
      *ep_d(&k->M, c, j) = *ep_d(&k->sums, c, j) / (double)k->size[c];
}

/* the largest class is 0, of equal ones the one found first */
static void by_size(int *class, kmeans *k, int *rank) {
  for (ptrdiff_t c = 0; c < k->M.rows; c++) {
    rank[c] = 0;
    for (ptrdiff_t o = 0; o < k->M.rows; o++)
      rank[c] += k->size[o] > k->size[c] || (k->size[o] == k->size[c] && o < c);
  }
  for (ptrdiff_t i = 0; i < k->rows.count; i++) class[i] = rank[class[i]];
}

static ep_status clusters_of(int *class, ep_work *work, const ep_mat *E, ptrdiff_t clusters,
                             bool unit, uint64_t seed) {
  kmeans k;
  int *rank;
  EP_TRY(new_kmeans(&k, work, E, clusters, unit));
  EP_TRY(ep_work_get(work, &rank, clusters, sizeof *rank));
  EP_TRY(start(&k, seed));
  for (ptrdiff_t i = 0; i < E->rows; i++) class[i] = -1;
  for (int t = 0; t < MOST_ROUNDS; t++) {
    EP_TRY(ep_run_step("clusters", t, MOST_ROUNDS));
    if (assign(class, &k) == 0) break;
    move(&k);
  }
  by_size(class, &k, rank);
  return EP_OK;
}

ep_status ep_clusters(int *class, const ep_mat *E, ptrdiff_t clusters, ep_metric metric,
                      uint64_t seed) {
  EP_CHECK(clusters >= 1 && clusters <= E->rows, EP_ERR_ARG, "%td clusters of %td points", clusters,
           E->rows);
  ep_work work = {0};
  const ep_status st = clusters_of(class, &work, E, clusters, metric == EP_COSINE, seed);
  ep_work_free(&work);
  return st;
}
