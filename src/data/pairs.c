#include "core/hash.h"
#include "core/mem.h"

#include <eigenpair/pairs.h>
#include <eigenpair/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ep_status ep_pairs_new(ep_pairs *out, ptrdiff_t anchors, ptrdiff_t points, ptrdiff_t count,
                       bool all_others) {
  *out = (ep_pairs){.anchors = anchors,
                    .points = points,
                    .anchor = ep_alloc(anchors, sizeof *out->anchor),
                    .start = ep_alloc(anchors + 1, sizeof *out->start),
                    .partner = ep_alloc(count, sizeof *out->partner),
                    .sign = ep_alloc(count, 1),
                    .all_others = all_others};
  if (out->anchor && out->start && out->partner && out->sign) return EP_OK;
  ep_pairs_free(out);
  return EP_FAIL(EP_ERR_NOMEM, "no memory for %td pairs", count);
}

void ep_pairs_free(ep_pairs *pairs) {
  ep_release(pairs->anchor);
  ep_release(pairs->start);
  ep_release(pairs->partner);
  ep_release(pairs->sign);
  *pairs = (ep_pairs){0};
}

bool ep_pairs_has_negatives(const ep_pairs *pairs) {
  if (pairs->all_others) return pairs->anchors > 1;
  for (ptrdiff_t i = 0; i < pairs->start[pairs->anchors]; i++)
    if (pairs->sign[i] < 0) return true;
  return false;
}

ptrdiff_t ep_pairs_most_partners(const ep_pairs *pairs) {
  ptrdiff_t most = 0;
  for (ptrdiff_t n = 0; n < pairs->anchors; n++)
    if (pairs->start[n + 1] - pairs->start[n] > most) most = pairs->start[n + 1] - pairs->start[n];
  return most;
}

ep_status ep_pair_plan_parse(ep_pair_plan *out, const char *text) {
  static const char labels[] = "labels:";
  const bool by_label = strncmp(text, labels, strlen(labels)) == 0;
  if (by_label) text += strlen(labels);
  if (strcmp(text, "triplet") == 0) *out = (ep_pair_plan){1, 1, false, by_label};
  else if (strcmp(text, "positives") == 0) *out = (ep_pair_plan){1, 0, false, by_label};
  else if (strcmp(text, "all") == 0) *out = (ep_pair_plan){1, 0, true, by_label};
  else {
    int p = 0, q = -1, end = 0;
    const bool read = sscanf(text, "%4d+%4d%n", &p, &q, &end) == 2 && !text[end];
    EP_CHECK(read && p >= 1 && p <= 1000 && q >= 0 && q <= 1000, EP_ERR_ARG,
             "--pairs '%s' is not one of: triplet, positives, all, P+Q such as 2+3, or labels:P+Q",
             text);
    *out = (ep_pair_plan){p, q, false, by_label};
  }
  return EP_OK;
}

ep_status ep_pairs_draw_some(ep_pairs *out, ptrdiff_t anchors, ptrdiff_t first, ptrdiff_t count,
                             const ep_pair_plan *plan, long seed) {
  const int partners = plan->positives + plan->negatives;
  EP_CHECK(anchors >= 2 || plan->negatives == 0, EP_ERR_INPUT,
           "negatives are drawn from the other points, but there is only one point");
  EP_TRY(ep_pairs_new(out, count, anchors * (1 + plan->positives), count * partners,
                      plan->all_others));
  for (ptrdiff_t i = 0; i < count; i++) {
    const ptrdiff_t n = first + i;
    ep_random r = ep_random_new((uint64_t)seed, EP_STREAM_NEGATIVE, (uint32_t)n);
    out->anchor[i] = n;
    out->start[i + 1] = (i + 1) * partners;
    for (int q = 0; q < partners; q++) {
      const ptrdiff_t at = i * partners + q;
      const bool positive = q < plan->positives;
      ptrdiff_t other = 0;
      if (!positive) other = (ptrdiff_t)ep_random_below(&r, anchors - 1);
      out->sign[at] = positive ? 1 : -1;
      out->partner[at] = positive ? (q + 1) * anchors + n : other + (other >= n);
    }
  }
  return EP_OK;
}

ep_status ep_pairs_draw(ep_pairs *out, ptrdiff_t anchors, const ep_pair_plan *plan, long seed) {
  return ep_pairs_draw_some(out, anchors, 0, anchors, plan, seed);
}

/* ---- pairs by label */

/* the next point after `from` that has the anchor's label, or another one; -1: there is none */
static ptrdiff_t next_of(const int *label, ptrdiff_t n, ptrdiff_t anchor, ptrdiff_t from,
                         bool same) {
  for (ptrdiff_t tried = 1; tried <= n; tried++) {
    const ptrdiff_t at = (from + tried) % n;
    if (at != anchor && (label[at] == label[anchor]) == same) return at;
  }
  return -1;
}

ep_status ep_pairs_by_label(ep_pairs *out, const int *label, ptrdiff_t n, const ep_pair_plan *plan,
                            long seed) {
  const int partners = plan->positives + plan->negatives;
  EP_CHECK(!plan->all_others, EP_ERR_ARG,
           "--pairs labels:all would make negatives of a point's own label: give labels:P+Q");
  EP_TRY(ep_pairs_new(out, n, n, n * partners, false));
  for (ptrdiff_t i = 0; i < n; i++) {
    ep_random r = ep_random_new((uint64_t)seed, EP_STREAM_NEGATIVE, (uint32_t)i);
    ptrdiff_t at[2] = {(ptrdiff_t)ep_random_below(&r, n), (ptrdiff_t)ep_random_below(&r, n)};
    out->anchor[i] = i;
    out->start[i + 1] = (i + 1) * partners;
    for (int q = 0; q < partners; q++) {
      const bool same = q < plan->positives;
      const ptrdiff_t found = next_of(label, n, i, at[same], same);
      EP_CHECK(found >= 0 || same, EP_ERR_INPUT,
               "all points have one label: --pairs labels:P+Q finds no negatives");
      at[same] = found < 0 ? at[same] : found;
      out->partner[i * partners + q] = found < 0 ? i : found;
      out->sign[i * partners + q] = same ? 1 : -1;
    }
  }
  return EP_OK;
}

/* ---- groups of points that are there */

typedef struct {
  ptrdiff_t group, point;
} member;

static int by_group(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  return (x->point > y->point) - (x->point < y->point);
}

static int by_point(const void *a, const void *b) {
  const member *x = a, *y = b;
  return (x->point > y->point) - (x->point < y->point);
}

/* all (n): members, group by group; first (n): where a group begins in `all`, by the order of first points */
static ptrdiff_t sort_groups(member *all, member *first, const ptrdiff_t *group, ptrdiff_t n) {
  ptrdiff_t groups = 0;
  for (ptrdiff_t i = 0; i < n; i++) all[i] = (member){group[i], i};
  qsort(all, (size_t)n, sizeof *all, by_group);
  for (ptrdiff_t i = 0; i < n; i++)
    if (i == 0 || all[i].group != all[i - 1].group) first[groups++] = (member){i, all[i].point};
  qsort(first, (size_t)groups, sizeof *first, by_point);
  return groups;
}

static void add_group(ep_pairs *out, ptrdiff_t g, const member *all, const member *first,
                      ptrdiff_t n, int negatives, long seed) {
  ep_random r = ep_random_new((uint64_t)seed, EP_STREAM_NEGATIVE, (uint32_t)g);
  ptrdiff_t at = out->start[g];
  out->anchor[g] = first[g].point;
  for (ptrdiff_t i = first[g].group + 1; i < n && all[i].group == all[i - 1].group; i++, at++)
    out->partner[at] = all[i].point, out->sign[at] = 1;
  for (int q = 0; q < negatives; q++, at++) {
    const ptrdiff_t other = (ptrdiff_t)ep_random_below(&r, out->anchors - 1);
    out->partner[at] = first[other + (other >= g)].point, out->sign[at] = -1;
  }
  out->start[g + 1] = at;
}

static ep_status group_points(ep_work *work, ep_pairs *out, const ptrdiff_t *group, ptrdiff_t n,
                              const ep_pair_plan *plan, long seed) {
  member *all, *first;
  EP_TRY(ep_work_get(work, &all, n, sizeof *all));
  EP_TRY(ep_work_get(work, &first, n, sizeof *first));
  const ptrdiff_t groups = sort_groups(all, first, group, n);
  EP_CHECK(groups < n, EP_ERR_INPUT,
           "no group has two rows: rows of one group are views of one thing");
  EP_CHECK(groups >= 2 || plan->negatives == 0, EP_ERR_INPUT,
           "negatives are drawn from the other groups, but there is only one group");
  EP_TRY(ep_pairs_new(out, groups, n, n - groups + groups * plan->negatives, plan->all_others));
  for (ptrdiff_t g = 0; g < groups; g++) add_group(out, g, all, first, n, plan->negatives, seed);
  return EP_OK;
}

ep_status ep_pairs_group(ep_pairs *out, const ptrdiff_t *group, ptrdiff_t points,
                         const ep_pair_plan *plan, long seed) {
  ep_work work = {0};
  *out = (ep_pairs){0};
  const ep_status st = group_points(&work, out, group, points, plan, seed);
  ep_work_free(&work);
  return st;
}

static ptrdiff_t renumber(ptrdiff_t *point, ptrdiff_t *place, ptrdiff_t *used, ptrdiff_t p) {
  if (place[p] < 0) {
    place[p] = *used;
    point[(*used)++] = p;
  }
  return place[p];
}

ep_status ep_pairs_batch(ep_pairs *out, ptrdiff_t *point, const ep_pairs *pairs,
                         const ptrdiff_t *anchors, ptrdiff_t count, ptrdiff_t *place) {
  ptrdiff_t total = 0, used = 0;
  for (ptrdiff_t i = 0; i < count; i++)
    total += pairs->start[anchors[i] + 1] - pairs->start[anchors[i]];
  EP_TRY(ep_pairs_new(out, count, 0, total, pairs->all_others));
  for (ptrdiff_t i = 0, at = 0; i < count; i++) {
    const ptrdiff_t n = anchors[i];
    out->anchor[i] = renumber(point, place, &used, pairs->anchor[n]);
    for (ptrdiff_t k = pairs->start[n]; k < pairs->start[n + 1]; k++, at++) {
      out->partner[at] = renumber(point, place, &used, pairs->partner[k]);
      out->sign[at] = pairs->sign[k];
    }
    out->start[i + 1] = at;
  }
  for (ptrdiff_t i = 0; i < used; i++) place[point[i]] = -1;
  out->points = used;
  return EP_OK;
}

static ep_status merge(ep_work *work, ep_mat *X, ep_pairs *pairs) {
  const size_t bytes = (size_t)X->cols * ep_sizeof(X->prec);
  ptrdiff_t slots = 4, kept = 0, *table, *now;
  while (slots < 2 * X->rows) slots *= 2;
  EP_TRY(ep_work_get(work, &table, slots, sizeof *table)); /* open addressing; row + 1, 0 empty */
  EP_TRY(ep_work_get(work, &now, X->rows, sizeof *now));
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    const ep_mat row = ep_mat_rows(X, i, 1);
    ptrdiff_t slot = (ptrdiff_t)(ep_hash(EP_HASH_START, row.data, bytes) & (uint64_t)(slots - 1));
    for (; table[slot]; slot = (slot + 1) & (slots - 1))
      if (memcmp(ep_mat_rows(X, table[slot] - 1, 1).data, row.data, bytes) == 0) break;
    if (!table[slot]) {
      if (kept < i) memcpy(ep_mat_rows(X, kept, 1).data, row.data, bytes);
      table[slot] = ++kept;
    }
    now[i] = table[slot] - 1;
  }
  for (ptrdiff_t n = 0; n < pairs->anchors; n++) pairs->anchor[n] = now[pairs->anchor[n]];
  for (ptrdiff_t k = 0; k < pairs->start[pairs->anchors]; k++)
    pairs->partner[k] = now[pairs->partner[k]];
  X->rows = pairs->points = kept;
  return EP_OK;
}

ep_status ep_pairs_merge_equal(ep_mat *X, ep_pairs *pairs) {
  ep_work work = {0};
  const ep_status st = merge(&work, X, pairs);
  ep_work_free(&work);
  return st;
}
