/* Data -> the distinct points and the pairs among them. */
#include "core/crew.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/threads.h"
#include "data/parse.h"
#include "data/packages.h"
#include "data/rows.h"

#include <eigenpair/dataset.h>
#include <eigenpair/run.h>
#include <stdatomic.h>
#include <string.h>

/* ---- pairs drawn from a data set: anchors, then each view of all anchors */

static ep_status parse_chain(ep_augment *chain, const ep_pair_config *config,
                             ep_image_shape shape) {
  return ep_augment_parse(chain, ep_augment_text(config->augment, shape), shape);
}

/* Points that are made when they are asked for: point i is row i % anchors, seen as view i / anchors.
 * Pairs that are not listed (views > 0): view v of anchor i is point v each + first + i. */
struct ep_view_rows {
  ep_rows *rows;
  ptrdiff_t anchors;
  ep_augment chain;
  uint64_t seed;
  ptrdiff_t first, each, views;
};

/* What is loaded: a shard of the anchors; unlisted: all points are made when they are asked for, and pairs that are but views of
 * every point are not listed. */
typedef struct {
  ep_shard shard;
  bool unlisted;
} extent;

/* Asked to stop on the way, there are no points: whoever began to work on them would do a step first. */
static ep_status lay_out(ep_points *out, const struct ep_view_rows *m) {
  const ptrdiff_t n = m->anchors;
  EP_TRY(ep_mat_new(&out->X, out->X.prec, out->X.rows, out->X.cols));
  const ep_mat anchors = ep_mat_rows(&out->X, 0, n);
  EP_TRY(ep_rows_read(&anchors, m->rows, NULL, 0));
  for (int v = 1; v < out->X.rows / n; v++) {
    const ep_mat view = ep_mat_rows(&out->X, v * n, n);
    EP_TRY(ep_run_look());
    EP_TRY(ep_augment_apply(&view, &anchors, &m->chain, out->shape, m->seed, 0, v));
  }
  if (out->unit) ep_scale_to_unit(&out->X);
  out->drawn = out->X.rows;
  EP_TRY(ep_pairs_merge_equal(&out->X, &out->pairs));
  return ep_run_look();
}

ptrdiff_t ep_points_drawn(const ep_points *p) { return p->drawn ? p->drawn : p->X.rows; }

/* point v N + n was view v of anchor n, which is its partner v - 1 */
ptrdiff_t ep_points_place(const ep_points *p, ptrdiff_t i) {
  if (ep_points_drawn(p) == p->X.rows) return i;
  const ptrdiff_t n = i % p->pairs.anchors, v = i / p->pairs.anchors;
  return v == 0 ? p->pairs.anchor[n] : p->pairs.partner[p->pairs.start[n] + v - 1];
}

ptrdiff_t ep_points_views(const ep_points *p, ptrdiff_t i) {
  const ep_pairs *q = &p->pairs;
  ptrdiff_t views = 1;
  if (!q->anchor) return p->made ? p->made->views : 0;
  while (q->start[i] + views - 1 < q->start[i + 1] && q->sign[q->start[i] + views - 1] > 0) views++;
  return views;
}

ptrdiff_t ep_points_view(const ep_points *p, ptrdiff_t i, ptrdiff_t v) {
  const ep_pairs *q = &p->pairs;
  if (!q->anchor) return v * p->made->each + p->made->first + i;
  return v == 0 ? q->anchor[i] : q->partner[q->start[i] + v - 1];
}

ptrdiff_t ep_points_most_views(const ep_points *p) {
  return p->pairs.anchor ? 1 + ep_pairs_most_partners(&p->pairs) : ep_points_views(p, 0);
}

bool ep_points_are_views(const ep_points *p) {
  return !p->pairs.anchor || (!ep_pairs_has_negatives(&p->pairs) && !p->pairs.all_others);
}

/* Laid out where that takes less than half of what is left, else, and for a shard, made when asked for (rows are taken
 * over). */
static ep_status settle(ep_points *out, ep_rows **rows, ptrdiff_t anchors, const ep_augment *chain,
                        const ep_run_config *run) {
  struct ep_view_rows m = {.rows = *rows, .anchors = anchors, .seed = (uint64_t)run->seed};
  if (chain) m.chain = *chain;
  out->X = (ep_mat){.rows = out->pairs.points,
                    .cols = ep_rows_length(*rows),
                    .ld = ep_rows_length(*rows),
                    .prec = ep_run_precision(run)};
  const double bytes = (double)out->X.rows * (double)out->X.cols * (double)ep_sizeof(out->X.prec);
  if (!out->total && bytes <= 0.5 * ep_run_memory_left(run)) return lay_out(out, &m);
  out->made = ep_alloc(1, sizeof *out->made);
  EP_CHECK(out->made, EP_ERR_NOMEM, "no memory for a source of points");
  *out->made = m;
  *rows = NULL;
  return EP_OK;
}

/* ---- shards */

ep_status ep_shard_parse(ep_shard *out, const char *text) {
  int end = 0;
  const bool read = sscanf(text, "%9ld/%9ld%n", &out->number, &out->count, &end) == 2 && !text[end];
  EP_CHECK(read && out->count >= 1 && out->number >= 0 && out->number <= out->count, EP_ERR_ARG,
           "--shard '%s' is not i/n with i from 1 to n, such as 3/64", text);
  if (out->number == 0) out->number = out->count;
  return EP_OK;
}

/* anchors first .. first + count of n */
static ep_status share(ptrdiff_t *first, ptrdiff_t *count, ep_points *out, ptrdiff_t n,
                       extent all) {
  const ep_shard shard = all.shard;
  *first = 0;
  *count = n;
  if (all.unlisted) out->total = n;
  if (shard.count == 0) return EP_OK;
  EP_CHECK(shard.count <= n, EP_ERR_ARG, "%td anchors cannot be cut into %ld shards: use fewer", n,
           shard.count);
  const double each = (double)n / (double)shard.count;
  *first = (ptrdiff_t)(each * (double)(shard.number - 1) + 0.5);
  *count =
      (shard.number == shard.count ? n : (ptrdiff_t)(each * (double)shard.number + 0.5)) - *first;
  out->total = n;
  return EP_OK;
}

/* settled, with `views` points v each + first + i for each of `count` anchors */
static ep_status settle_views(ep_points *out, ep_rows **rows, ptrdiff_t anchors,
                              const ep_augment *chain, const ep_run_config *run,
                              const struct ep_view_rows *place, ptrdiff_t count) {
  out->pairs = (ep_pairs){.anchors = count, .points = place->each * place->views};
  EP_TRY(settle(out, rows, anchors, chain, run));
  out->made->first = place->first, out->made->each = place->each, out->made->views = place->views;
  return EP_OK;
}

static ep_status draw_from(ep_points *out, ep_rows **rows, const ep_data_config *data,
                           const ep_pair_config *config, const ep_pair_plan *plan,
                           const ep_run_config *run, extent all) {
  ep_augment chain;
  ptrdiff_t first, count;
  out->shape = ep_rows_shape(*rows);
  out->unit = ep_scale_is_unit(data, out->shape);
  EP_TRY(parse_chain(&chain, config, out->shape));
  chain.spread = ep_rows_spread(*rows);
  chain.group = ep_rows_group(*rows);
  if (ep_augment_needs_sample(&chain)) EP_TRY(ep_rows_sample(&chain.sample, *rows));
  EP_TRY(share(&first, &count, out, ep_rows_count(*rows), all));
  if (all.unlisted && plan->negatives == 0 && !plan->all_others) {
    const struct ep_view_rows place = {
        .first = first, .each = ep_rows_count(*rows), .views = 1 + plan->positives};
    return settle_views(out, rows, ep_rows_count(*rows), &chain, run, &place, count);
  }
  EP_TRY(ep_pairs_draw_some(&out->pairs, ep_rows_count(*rows), first, count, plan, run->seed));
  return settle(out, rows, ep_rows_count(*rows), &chain, run);
}

/* --pairs labels:P+Q: every row is a point as it is, its positives are points of its label */
static ep_status label_rows(ep_points *out, ep_rows **rows, const int *labels,
                            const ep_data_config *data, const ep_pair_config *config,
                            const ep_pair_plan *plan, const ep_run_config *run, extent all) {
  EP_CHECK(labels, EP_ERR_INPUT,
           "--pairs %s needs points with labels: a data set that has them, or --label-column",
           config->pairs);
  EP_CHECK(!config->augment[0] && all.shard.count == 0, EP_ERR_ARG,
           "--augment and shards do not go with --pairs labels:P+Q: positives are other points");
  out->shape = ep_rows_shape(*rows);
  out->unit = ep_scale_is_unit(data, out->shape);
  EP_TRY(ep_pairs_by_label(&out->pairs, labels, ep_rows_count(*rows), plan, run->seed));
  EP_TRY(settle(out, rows, ep_rows_count(*rows), NULL, run));
  out->drawn = 0; /* ep_points_place does not know these pairs */
  return EP_OK;
}

static ep_status read_plan(ep_pair_plan *plan, const ep_pair_config *config,
                           const char *default_pairs) {
  EP_TRY(ep_pair_plan_parse(plan, config->pairs[0] ? config->pairs : default_pairs));
  EP_CHECK(config->views == 0 || !config->pairs[0], EP_ERR_ARG,
           "give --pairs or --views, not both: --views R is R - 1 positives a point");
  EP_CHECK(config->views != 1, EP_ERR_ARG, "--views 1 makes no pair: two views at least");
  if (config->views > 0) plan->positives = (int)config->views - 1;
  return EP_OK;
}

/* of --data, or of the array X that the caller lends in its place */
static ep_status draw(ep_points *out, const ep_array *X, const ep_data_config *data,
                      const ep_pair_config *config, const char *default_pairs,
                      const ep_run_config *run, extent all, const json_t *table) {
  ep_rows *rows;
  int *labels = NULL;
  ep_pair_plan plan;
  EP_TRY(read_plan(&plan, config, default_pairs));
  EP_TRY(X ? ep_rows_open_array(&rows, X, data, run)
           : ep_rows_open(&rows, &labels, data, run, table));
  out->table = json_incref((json_t *)ep_rows_table(rows));
  const ep_status st = plan.by_label ? label_rows(out, &rows, labels, data, config, &plan, run, all)
                                     : draw_from(out, &rows, data, config, &plan, run, all);
  ep_rows_free(rows);
  ep_labels_free(labels);
  return st;
}

/* ---- ready pairs: matrices of anchors, positives, negatives, stacked */

enum { MOST_FILES = 64 };
typedef struct {
  int count, positives; /* file 0: anchors, then positives, then negatives */
  const char *list[MOST_FILES];
  char path[MOST_FILES][1024];
} pair_files;

/* a set of a package stands for its file of points */
static ep_status resolve(char path[1024]) {
  ep_packaged p;
  char folder[1024];
  EP_TRY(ep_packaged_find(&p, folder, path));
  if (!p.set) return EP_OK;
  EP_CHECK(!p.first, EP_ERR_ARG, "%s: only --data takes the first of a set", path);
  EP_CHECK(snprintf(path, 1024, "%s/%s", folder, p.points) < 1024, EP_ERR_ARG,
           "path is too long: %.80s...", folder);
  return EP_OK;
}

static ep_status add_files(pair_files *f, const char *lines) {
  while (*lines) {
    const size_t length = strcspn(lines, "\n");
    EP_CHECK(f->count < MOST_FILES, EP_ERR_ARG, "more than %d files of pairs", MOST_FILES);
    EP_CHECK(length < sizeof f->path[0], EP_ERR_ARG, "path is too long: %.80s...", lines);
    memcpy(f->path[f->count], lines, length);
    EP_TRY(resolve(f->path[f->count]));
    f->list[f->count] = f->path[f->count];
    f->count++;
    lines += length + (lines[length] == '\n');
  }
  return EP_OK;
}

/* pairs are row by row: every file has as many rows as the first */
static ep_status check_files(ptrdiff_t *n, const ep_rows *rows, const pair_files *f) {
  *n = ep_rows_part(rows, 0);
  for (int i = 1; i < f->count; i++)
    EP_CHECK(ep_rows_part(rows, i) == *n, EP_ERR_SHAPE,
             "%s has %td rows, but %s has %td: pairs are row by row", f->path[i],
             ep_rows_part(rows, i), f->path[0], *n);
  return EP_OK;
}

static ep_status pair_up(ep_pairs *pairs, const pair_files *f, ptrdiff_t n, ptrdiff_t first,
                         ptrdiff_t count) {
  const ptrdiff_t partners = f->count - 1;
  EP_TRY(ep_pairs_new(pairs, count, n * f->count, count * partners, false));
  for (ptrdiff_t i = 0; i < count; i++) {
    pairs->anchor[i] = first + i;
    pairs->start[i + 1] = (i + 1) * partners;
    for (ptrdiff_t q = 0; q < partners; q++) {
      pairs->partner[i * partners + q] = (q + 1) * n + first + i;
      pairs->sign[i * partners + q] = q < f->positives ? 1 : -1;
    }
  }
  return EP_OK;
}

static ep_status use_files(ep_points *out, ep_rows **rows, const pair_files *f,
                           const ep_data_config *data, const ep_run_config *run, extent all) {
  ptrdiff_t n, first, count;
  EP_TRY(check_files(&n, *rows, f));
  out->shape = ep_rows_shape(*rows);
  if (data->image[0]) EP_TRY(ep_image_shape_parse(&out->shape, data->image, ep_rows_length(*rows)));
  EP_TRY(share(&first, &count, out, n, all));
  if (all.unlisted && f->positives == f->count - 1) {
    const struct ep_view_rows place = {.first = first, .each = n, .views = f->count};
    return settle_views(out, rows, ep_rows_count(*rows), NULL, run, &place, count);
  }
  EP_TRY(pair_up(&out->pairs, f, n, first, count));
  return settle(out, rows, ep_rows_count(*rows), NULL, run); /* every row is a point as it is */
}

static ep_status read_files(ep_points *out, pair_files *f, const ep_data_config *data,
                            const ep_pair_config *config, const ep_run_config *run, extent all) {
  ep_rows *rows;
  EP_TRY(add_files(f, config->anchors));
  EP_TRY(add_files(f, config->positives));
  f->positives = f->count - 1;
  EP_TRY(add_files(f, config->negatives));
  EP_TRY(ep_rows_stack(&rows, f->list, f->count));
  ep_status st = ep_rows_same(rows, config->anchors);
  if (!st) st = use_files(out, &rows, f, data, run, all);
  ep_rows_free(rows);
  return st;
}

static ep_status ready(ep_points *out, const ep_data_config *data, const ep_pair_config *config,
                       const ep_run_config *run, extent all) {
  EP_CHECK(!data->data[0], EP_ERR_ARG, "give --data or --anchors, not both");
  EP_CHECK(config->anchors[0] && config->positives[0], EP_ERR_ARG,
           "ready pairs need both --anchors and --positives");
  EP_CHECK(!config->pairs[0] && !config->augment[0] && data->samples == 0 && config->views == 0,
           EP_ERR_ARG,
           "--pairs, --views, --augment and --samples go with --data; ready pairs are taken as "
           "they are");
  pair_files *f = ep_alloc(1, sizeof *f);
  EP_CHECK(f, EP_ERR_NOMEM, "no memory for a list of files");
  out->unit = data->scale == EP_SCALE_UNIT;
  const ep_status st = read_files(out, f, data, config, run, all);
  ep_release(f);
  return st;
}

static ep_status load(ep_points *out, const ep_data_config *data, const ep_pair_config *pairs,
                      const char *default_pairs, const ep_run_config *run, extent all,
                      const json_t *table) {
  *out = (ep_points){0};
  const bool from_files = pairs->anchors[0] || pairs->positives[0] || pairs->negatives[0];
  const ep_status st = from_files ? ready(out, data, pairs, run, all)
                                  : draw(out, NULL, data, pairs, default_pairs, run, all, table);
  if (st) ep_points_free(out);
  return st;
}

static ep_status points_load(ep_points *out, const ep_data_config *data,
                             const ep_pair_config *pairs, const char *default_pairs,
                             const ep_run_config *run) {
  return load(out, data, pairs, default_pairs, run, (extent){0}, NULL);
}

ep_status ep_points_load(ep_run *run, ep_points *out, const ep_data_config *data,
                         const ep_pair_config *pairs, const char *default_pairs,
                         const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = points_load(out, data, pairs, default_pairs, settings);
  ep_run_leave(&scope);
  return st;
}

ep_status ep_points_load_as(ep_points *out, const ep_data_config *data, const ep_pair_config *pairs,
                            const char *default_pairs, const ep_run_config *run,
                            const json_t *table) {
  return load(out, data, pairs, default_pairs, run, (extent){0}, table);
}

ep_status ep_points_load_views(ep_points *out, const ep_data_config *data,
                               const ep_pair_config *pairs, const char *default_pairs,
                               const ep_run_config *run, ep_shard shard) {
  return load(out, data, pairs, default_pairs, run, (extent){shard, true}, NULL);
}

static ep_status points_load_shard(ep_points *out, const ep_data_config *data,
                                   const ep_pair_config *pairs, const char *default_pairs,
                                   const ep_run_config *run, ep_shard shard) {
  return load(out, data, pairs, default_pairs, run, (extent){shard, false}, NULL);
}

ep_status ep_points_load_shard(ep_run *run, ep_points *out, const ep_data_config *data,
                               const ep_pair_config *pairs, const char *default_pairs,
                               const ep_run_config *settings, ep_shard shard) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = points_load_shard(out, data, pairs, default_pairs, settings, shard);
  ep_run_leave(&scope);
  return st;
}

/* ---- points that the caller has in memory */

static ep_status points_draw(ep_points *out, const ep_array *X, const ep_data_config *data,
                             const ep_pair_config *pairs, const char *default_pairs,
                             const ep_run_config *run) {
  *out = (ep_points){0};
  const ep_status st = draw(out, X, data, pairs, default_pairs, run, (extent){0}, NULL);
  if (st) ep_points_free(out);
  return st;
}

ep_status ep_points_draw(ep_run *run, ep_points *out, const ep_array *X, const ep_data_config *data,
                         const ep_pair_config *pairs, const char *default_pairs,
                         const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = points_draw(out, X, data, pairs, default_pairs, settings);
  ep_run_leave(&scope);
  return st;
}

static ep_status pair_arrays(ep_points *out, pair_files *f, const ep_array *arrays,
                             const ep_data_config *data, const ep_run_config *run) {
  ep_rows *rows;
  for (int i = 0; i < f->count; i++) {
    f->list[i] = f->path[i];
    snprintf(f->path[i], sizeof f->path[i], "%s",
             i == 0              ? "anchors"
             : i <= f->positives ? "positives"
                                 : "negatives");
  }
  EP_TRY(ep_rows_lend(&rows, arrays, f->list, f->count));
  const ep_status st = use_files(out, &rows, f, data, run, (extent){0});
  ep_rows_free(rows);
  return st;
}

static ep_status points_pair(ep_points *out, const ep_array *arrays, int count, int positives,
                             const ep_data_config *data, const ep_run_config *run) {
  *out = (ep_points){.unit = data->scale == EP_SCALE_UNIT};
  EP_CHECK(count >= 2 && count <= MOST_FILES && positives >= 1 && positives < count, EP_ERR_ARG,
           "ready pairs are anchors, 1 or more positives, and negatives: at most %d in all",
           MOST_FILES);
  pair_files *f = ep_alloc(1, sizeof *f);
  EP_CHECK(f, EP_ERR_NOMEM, "no memory for a list of arrays");
  f->count = count, f->positives = positives;
  const ep_status st = pair_arrays(out, f, arrays, data, run);
  ep_release(f);
  if (st) ep_points_free(out);
  return st;
}

ep_status ep_points_pair(ep_run *run, ep_points *out, const ep_array *arrays, int count,
                         int positives, const ep_data_config *data, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = points_pair(out, arrays, count, positives, data, settings);
  ep_run_leave(&scope);
  return st;
}

/* every row is a point as it is; its pairs are those of its group */
static ep_status group_rows(ep_points *out, ep_rows **rows, const ptrdiff_t *group,
                            const ep_pair_plan *plan, const ep_data_config *data,
                            const ep_run_config *run) {
  out->shape = ep_rows_shape(*rows);
  out->unit = ep_scale_is_unit(data, out->shape);
  EP_TRY(ep_pairs_group(&out->pairs, group, ep_rows_count(*rows), plan, run->seed));
  EP_TRY(settle(out, rows, ep_rows_count(*rows), NULL, run));
  out->drawn = 0; /* groups are of any size: ep_points_place does not know them */
  return EP_OK;
}

static ep_status points_group(ep_points *out, const ep_array *X, const ptrdiff_t *group,
                              const ep_data_config *data, const ep_pair_config *pairs,
                              const char *default_pairs, const ep_run_config *run) {
  ep_rows *rows;
  ep_pair_plan plan;
  *out = (ep_points){0};
  EP_CHECK(!pairs->augment[0] && pairs->views == 0 && data->samples == 0, EP_ERR_ARG,
           "--augment, --views and --samples do not go with groups: the rows of a group are the "
           "views of one thing");
  EP_TRY(read_plan(&plan, pairs, default_pairs));
  EP_TRY(ep_rows_open_array(&rows, X, data, run));
  const ep_status st = group_rows(out, &rows, group, &plan, data, run);
  ep_rows_free(rows);
  if (st) ep_points_free(out);
  return st;
}

ep_status ep_points_group(ep_run *run, ep_points *out, const ep_array *X, const ptrdiff_t *group,
                          const ep_data_config *data, const ep_pair_config *pairs,
                          const char *default_pairs, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = points_group(out, X, group, data, pairs, default_pairs, settings);
  ep_run_leave(&scope);
  return st;
}

ep_points ep_points_borrow(const ep_mat *X, ep_pairs *pairs) {
  const ep_points p = {.X = *X, .pairs = *pairs, .lent = true};
  *pairs = (ep_pairs){0};
  return p;
}

void ep_points_free(ep_points *p) {
  if (!p->lent) ep_mat_free(&p->X);
  if (p->made) ep_rows_free(p->made->rows);
  ep_release(p->made);
  ep_pairs_free(&p->pairs);
  json_decref(p->table);
  p->made = NULL;
  p->table = NULL;
}

/* ---- points that are asked for */

/* x of row i of `out`, which holds the plain rows, becomes its view; `row` is scratch (1 x D) */
static ep_status see(const ep_mat *out, ptrdiff_t i, const struct ep_view_rows *m, ptrdiff_t point,
                     ep_image_shape shape, const ep_mat *row) {
  const ep_mat x = ep_mat_rows(out, i, 1);
  if (point < m->anchors) return EP_OK;
  ep_mat_copy(row, &x);
  return ep_augment_apply(&x, row, &m->chain, shape, m->seed, point % m->anchors,
                          (int)(point / m->anchors));
}

/* loops over rows of `out` */
typedef struct {
  const ep_mat *out, *scratch; /* scratch: a row a thread */
  const ep_points *p;
  const ptrdiff_t *index;
  ptrdiff_t first;
  atomic_int failed;
} rows_loop;

static ptrdiff_t point_of(const rows_loop *l, ptrdiff_t i) {
  return l->index ? l->index[i] : l->first + i;
}

static void see_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  rows_loop *l = of;
  const ep_mat row = ep_mat_rows(l->scratch, ep_crew_thread(), 1);
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_status st = see(l->out, i, l->p->made, point_of(l, i), l->p->shape, &row);
    if (st) atomic_store(&l->failed, (int)st);
  }
}

static ep_status make_rows(ep_work *work, const ep_mat *out, const ep_points *p,
                           const ptrdiff_t *index, ptrdiff_t first) {
  const struct ep_view_rows *m = p->made;
  ptrdiff_t *plain;
  ep_mat scratch;
  EP_TRY(ep_work_get(work, &plain, out->rows, sizeof *plain));
  EP_TRY(ep_work_mat(work, &scratch, out->prec, ep_run_threads(), out->cols));
  for (ptrdiff_t i = 0; i < out->rows; i++) plain[i] = (index ? index[i] : first + i) % m->anchors;
  EP_TRY(ep_rows_read(out, m->rows, plain, 0));
  rows_loop l = {.out = out, .scratch = &scratch, .p = p, .index = index, .first = first};
  ep_crew_loop(out->rows, ep_rows_at_once(out->cols, 4096), ep_worth_entries(out), see_rows, &l);
  const ep_status failed = (ep_status)atomic_load(&l.failed);
  EP_CHECK(!failed, failed, "no memory for views of points");
  if (p->unit) ep_scale_to_unit(out);
  return EP_OK;
}

static void copy_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    const ep_mat to = ep_mat_rows(l->out, i, 1), from = ep_mat_rows(&l->p->X, point_of(l, i), 1);
    ep_mat_copy(&to, &from);
  }
}

ep_status ep_points_rows(const ep_mat *out, const ep_points *p, const ptrdiff_t *index,
                         ptrdiff_t first) {
  if (!p->made) {
    rows_loop l = {.out = out, .p = p, .index = index, .first = first};
    ep_crew_rows(out, copy_rows, &l);
    return EP_OK;
  }
  ep_work work = {0};
  const ep_status st = make_rows(&work, out, p, index, first);
  ep_work_free(&work);
  return st;
}

ep_status ep_points_block(ep_mat *view, const ep_points *p, ptrdiff_t first, ptrdiff_t n,
                          const ep_mat *buffer) {
  *view = p->made ? ep_mat_rows(buffer, 0, n) : ep_mat_rows(&p->X, first, n);
  return p->made ? ep_points_rows(view, p, NULL, first) : EP_OK;
}

ep_status ep_points_fingerprint(uint64_t *print, const ep_points *p) {
  enum { BLOCK = 1024 };
  uint64_t h = EP_HASH_START;
  const ptrdiff_t n = p->pairs.anchors, count = p->pairs.start[n], all = p->X.rows;
  const size_t row = (size_t)p->X.cols * ep_sizeof(p->X.prec);
  ep_mat buffer = {0}, x;
  ep_status st = p->made ? ep_mat_new(&buffer, p->X.prec, BLOCK, p->X.cols) : EP_OK;
  for (ptrdiff_t i = 0; !st && i < all; i += BLOCK) {
    const ptrdiff_t here = all - i < BLOCK ? all - i : BLOCK;
    st = ep_points_block(&x, p, i, here, &buffer);
    for (ptrdiff_t k = 0; !st && k < here; k++) h = ep_hash(h, ep_mat_rows(&x, k, 1).data, row);
  }
  ep_mat_free(&buffer);
  h = ep_hash(h, p->pairs.anchor, (size_t)n * sizeof *p->pairs.anchor);
  h = ep_hash(h, p->pairs.partner, (size_t)count * sizeof *p->pairs.partner);
  *print = ep_hash(h, p->pairs.sign, (size_t)count);
  return st;
}
