/* Votes of the nearest neighbours, weighted by exp(cosine / T) (Wu et al. 2018). */
#include "probe/probes.h"

#include <math.h>

/* The k nearest so far of every point, nearest first; of equal ones the first in the training part. */
typedef struct {
  ptrdiff_t k;
  double *cosine;       /* -inf: none yet */
  ptrdiff_t *who;       /* training point */
  const ptrdiff_t *own; /* point i is training point own[i] and no neighbour of itself; or NULL */
} neighbours;

static void insert(double *cosine, ptrdiff_t *who, ptrdiff_t k, double s, ptrdiff_t j) {
  ptrdiff_t at = k - 1;
  for (; at > 0 && cosine[at - 1] < s; at--) cosine[at] = cosine[at - 1], who[at] = who[at - 1];
  cosine[at] = s;
  who[at] = j;
}

static void collect(void *user, const ep_mat *S, ptrdiff_t row, ptrdiff_t col) {
  const neighbours *n = user;
  for (ptrdiff_t i = 0; i < S->rows; i++) {
    double *cosine = n->cosine + (row + i) * n->k;
    const double *s = ep_d(S, i, 0);
    const ptrdiff_t own = n->own ? n->own[row + i] - col : -1;
    for (ptrdiff_t j = 0; j < S->cols; j++)
      if (s[j] > cosine[n->k - 1] && j != own)
        insert(cosine, n->who + (row + i) * n->k, n->k, s[j], col + j);
  }
}

/* argmax_c sum of exp((cosine - largest) / T) over neighbours of class c, the lowest of equals; votes is all 0 */
static int elect(double *votes, const double *cosine, const ptrdiff_t *who, ptrdiff_t k,
                 const int *class, double temperature) {
  int best = class[who[0]];
  for (ptrdiff_t i = 0; i < k; i++)
    votes[class[who[i]]] += exp((cosine[i] - cosine[0]) / temperature);
  for (ptrdiff_t i = 0; i < k; i++) {
    const int c = class[who[i]];
    if (votes[c] > votes[best] || (votes[c] == votes[best] && c < best)) best = c;
  }
  for (ptrdiff_t i = 0; i < k; i++) votes[class[who[i]]] = 0;
  return best;
}

static ep_status classify(int *found, ep_work *work, const ep_probe_task *t, const ep_rows *points,
                          const ptrdiff_t *own) {
  const ptrdiff_t others = t->train.rows.count - (own ? 1 : 0);
  neighbours n = {.k = t->config->neighbours < others ? t->config->neighbours : others, .own = own};
  double *votes;
  EP_TRY(ep_work_get(work, &n.cosine, points->count * n.k, sizeof *n.cosine));
  EP_TRY(ep_work_get(work, &n.who, points->count * n.k, sizeof *n.who));
  EP_TRY(ep_work_get(work, &votes, t->classes, sizeof *votes));
  for (ptrdiff_t i = 0; i < points->count * n.k; i++) n.cosine[i] = -INFINITY;
  EP_TRY(ep_tiles(points, &t->train.rows, collect, &n, "knn probe"));
  for (ptrdiff_t i = 0; i < points->count; i++)
    found[i] = elect(votes, n.cosine + i * n.k, n.who + i * n.k, n.k, t->train.class,
                     t->config->temperature);
  return EP_OK;
}

ep_status ep_knn_classes(int *found, int *own_found, ep_work *work, const ep_probe_task *t) {
  EP_TRY(classify(found, work, t, &t->test.rows, NULL));
  return classify(own_found, work, t, &t->judged.rows, t->own);
}
