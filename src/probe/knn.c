/* Votes of the nearest neighbours, weighted by exp(cosine / T) (Wu et al. 2018). */
#include "probe/probes.h"

#include <math.h>

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

/* these of the rows */
static ep_status take(ep_tall *rows, ep_work *work, ep_share mine) {
  ptrdiff_t *index;
  EP_TRY(ep_work_get(work, &index, mine.count, sizeof *index));
  for (ptrdiff_t i = 0; i < mine.count; i++)
    index[i] = rows->index ? rows->index[mine.first + i] : mine.first + i;
  rows->index = index, rows->count = mine.count;
  return EP_OK;
}

static ep_status classify(int *found, ep_work *work, const ep_probe_task *t, const ep_tall *points,
                          const ptrdiff_t *own) {
  const ptrdiff_t others = t->train.rows.count - (own ? 1 : 0);
  const ep_share mine = ep_comm_share(points->count);
  ep_nearest n = {.k = t->config->neighbours < others ? t->config->neighbours : others,
                  .own = own ? own + mine.first : NULL};
  ep_tall part = *points;
  double *votes;
  EP_TRY(ep_work_get(work, &votes, t->classes, sizeof *votes));
  EP_TRY(take(&part, work, mine));
  if (mine.count > 0)
    EP_TRY(ep_nearest_find(&n, work, &part, &t->train.rows, EP_COSINE, "knn probe"));
  for (ptrdiff_t i = 0; i < mine.count; i++)
    found[mine.first + i] = elect(votes, n.closeness + i * n.k, n.who + i * n.k, n.k,
                                  t->train.class, t->config->temperature);
  return ep_found_gather(found, points->count);
}

ep_status ep_knn_classes(int *found, int *own_found, ep_work *work, const ep_probe_task *t) {
  EP_TRY(classify(found, work, t, &t->test.rows, NULL));
  return classify(own_found, work, t, &t->judged.rows, t->own);
}
