/* Sums of shards: what they belong to, how they are merged (include/eigenpair/sums.h).
 *
 * Numbered shards are leaves of the binary tree over 0 .. n - 1: two neighbours that make up an aligned block of 2^k are
 * added as soon as both are there, left + right; what is left when all are there is added from left to right. So the
 * bits depend on n alone. At most log2 n + 1 sums wait at a time when shards come in order. */
#include "method/sums.h"

#include "core/hash.h"
#include "core/mem.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making */

ep_status ep_sums_alloc(ep_sums **out, const char *name) {
  *out = ep_alloc(1, sizeof **out);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for sums");
  (*out)->shards = -1;
  snprintf((*out)->name, sizeof(*out)->name, "%s", name);
  (*out)->prints = json_array();
  ep_status st = ep_model_new(&(*out)->model);
  if (!st && !(*out)->prints) st = EP_FAIL(EP_ERR_NOMEM, "no memory for sums");
  if (st) ep_sums_free(*out), *out = NULL;
  return st;
}

void ep_sums_free(ep_sums *s) {
  if (!s) return;
  for (int i = 0; i < s->nodes; i++) ep_sum_free(&s->node[i].sum);
  ep_release(s->node);
  ep_mat_free(&s->sample);
  ep_model_free(s->model);
  json_decref(s->prints);
  ep_release(s);
}

const ep_method_row *ep_sums_method(const ep_sums *s) {
  return ep_method_find(json_string_value(json_object_get(s->model->config, "method")));
}

bool ep_sums_whitened(const ep_sums *s) {
  const ep_method_row *method = ep_sums_method(s);
  return method && method->views;
}

/* the i-th of `count` anchors, spread over all the data, or over these */
static ptrdiff_t anchor_at(const ep_points *points, bool all, ptrdiff_t i, ptrdiff_t count) {
  const bool data = all && points->total;
  const ptrdiff_t n = data ? points->total : points->pairs.anchors;
  const ptrdiff_t at =
      count > 1 ? (ptrdiff_t)((double)i * (double)(n - 1) / (double)(count - 1)) : 0;
  return data ? at : ep_points_view(points, at, 0);
}

/* to (1 x D) = sum of +- x over all anchors, or over so many of them that are spread over the data: another value in one of
 * them shows, in any order of rounding */
static ep_status check_row(const ep_mat *to, ep_work *work, const ep_points *points) {
  enum { MOST = 65536, BLOCK = 512 };
  const ptrdiff_t count = points->total < MOST ? points->total : MOST;
  ep_mat block, sum;
  ptrdiff_t index[BLOCK];
  EP_TRY(ep_work_mat(work, &block, points->X.prec, BLOCK, points->X.cols));
  EP_TRY(ep_work_mat(work, &sum, EP_DOUBLE, 1, points->X.cols));
  for (ptrdiff_t i = 0; i < count; i += BLOCK) {
    const ep_mat x = ep_mat_rows(&block, 0, count - i < BLOCK ? count - i : BLOCK);
    for (ptrdiff_t k = 0; k < x.rows; k++) index[k] = anchor_at(points, true, i + k, count);
    EP_TRY(ep_points_rows(&x, points, index, 0));
    for (ptrdiff_t k = 0; k < x.rows; k++) {
      const double sign = (uint32_t)(i + k) * 2654435761u >> 31 ? 1 : -1;
      for (ptrdiff_t j = 0; j < x.cols; j++) *ep_d(&sum, 0, j) += sign * ep_get(&x, k, j);
    }
  }
  ep_mat_copy(to, &sum);
  return EP_OK;
}

/* some anchors; behind those of all the data, what tells other data (check_row) */
static ep_status take_sample(ep_mat *to, const ep_points *points, bool all) {
  enum { SAMPLE = 32 };
  ptrdiff_t index[SAMPLE];
  const bool data = all && points->total;
  const ptrdiff_t n = data ? points->total : points->pairs.anchors;
  const ptrdiff_t count = n < SAMPLE ? n : SAMPLE;
  for (ptrdiff_t i = 0; i < count; i++) index[i] = anchor_at(points, all, i, count);
  EP_TRY(ep_mat_new(to, points->X.prec, count + data, points->X.cols));
  const ep_mat rows = ep_mat_rows(to, 0, count), last = ep_mat_rows(to, to->rows - 1, 1);
  EP_TRY(ep_points_rows(&rows, points, index, 0));
  if (!data) return EP_OK;
  ep_work work = {0};
  const ep_status st = check_row(&last, &work, points);
  ep_work_free(&work);
  return st;
}

/* weights from a file decide the outputs */
static ep_status make(ep_sums *s, const ep_points *points, const ep_setup *setup) {
  ep_model *m = s->model;
  const ep_method_row *method = ep_method_find(setup->fit.method);
  EP_CHECK(method && method->map, EP_ERR_ARG,
           "sums over anchors are what methods pca and whitened are made of; %s is not",
           setup->fit.method);
  EP_CHECK(setup->net.outputs != EP_AUTO, EP_ERR_ARG,
           "--outputs auto goes with a fit, not with sums: give a number");
  EP_TRY(ep_setup_to_json(&m->config, setup));
  EP_TRY(method->map(&ep_model_add(m)->map, NULL, points, setup));
  ep_map *map = ep_sums_map(s);
  EP_CHECK(map->kind->write && map->kind->read, EP_ERR_ARG,
           "features '%s' cannot be kept in a file", map->kind->name);
  m->psi = map->psi;
  m->unit = points->unit;
  s->prec = points->X.prec;
  s->total = (double)points->total;
  const ptrdiff_t z = ep_closed_outputs(map, setup);
  m->term[0].outputs = z;
  EP_TRY(ep_mat_new(&m->term[0].C, s->prec, map->count, z));
  EP_CHECK(json_object_set_new(m->config, "outputs", json_integer(z)) == 0 &&
               (!points->table || json_object_set(m->config, "table", points->table) == 0),
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  return take_sample(&s->sample, points, true);
}

ep_status ep_sums_new(ep_run *run, ep_sums **out, const ep_points *points, const ep_setup *setup) {
  const ep_run_scope scope = ep_run_enter(run);
  ep_status st = ep_sums_alloc(out, "these sums");
  if (!st) st = make(*out, points, setup);
  if (st) ep_sums_free(*out), *out = NULL;
  ep_run_leave(&scope);
  return st;
}

/* ---- what they belong to */

double ep_sums_anchors(const ep_sums *s) {
  double sum = 0;
  for (int i = 0; i < s->nodes; i++) sum += s->node[i].sum.anchors;
  return sum;
}
ptrdiff_t ep_sums_features(const ep_sums *s) { return ep_sums_map(s)->count; }
ptrdiff_t ep_sums_inputs(const ep_sums *s) { return ep_sums_map(s)->inputs; }
long ep_sums_shards(const ep_sums *s, long *there) {
  *there = 0;
  for (int i = 0; i < s->nodes; i++) *there += s->node[i].count;
  return s->shards > 0 ? s->shards : 0;
}

ep_status ep_sums_setup(ep_setup *setup, const ep_sums *s) {
  ep_setup_default(setup);
  return ep_setup_from_json(setup, s->model->config);
}

static void value_text(char out[80], const json_t *value) {
  char *text = value ? ep_json_text(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6)) : NULL;
  snprintf(out, 80, "%.79s", text ? text : "not there");
  free(text);
}

static ep_status same_option(const char *name, const json_t *a, const json_t *b, const char *name_a,
                             const char *name_b) {
  const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);
  char flag[64], text[2][80];
  if ((!x && !y) || (x && y && json_equal(x, y))) return EP_OK;
  ep_options_flag(flag, name);
  value_text(text[0], x);
  value_text(text[1], y);
  return EP_FAIL(EP_ERR_INPUT, "%s is of another setup: --%s is %s there and %s in %s", name_b,
                 flag, text[1], text[0], name_a);
}

/* in all that sums depend on */
static ep_status same_setup(const json_t *a, const json_t *b, const char *name_a,
                            const char *name_b) {
  for (int i = 0; ep_setup_table(i); i++)
    for (const ep_option *o = ep_setup_table(i); o->name; o++)
      if (o->decides == EP_DECIDES_SUMS) EP_TRY(same_option(o->name, a, b, name_a, name_b));
  return EP_OK;
}

/* |A - B| within a few roundings of A; other machines round otherwise */
static bool alike(const ep_mat *A, const ep_mat *B, ep_precision prec) {
  if (A->rows != B->rows || A->cols != B->cols) return false;
  const double scale = ep_mat_norm2(A), share = prec == EP_SINGLE ? 1e-4 : 1e-9;
  return ep_mat_distance2(A, B) <= share * share * fmax(scale, 1e-300);
}

static ep_status psi_of(ep_mat *out, ep_work *work, const ep_sums *s, const ep_mat *x) {
  EP_TRY(ep_work_mat(work, out, x->prec, x->rows, ep_sums_map(s)->count));
  return ep_map_rows(out, ep_sums_map(s), x);
}

/* both maps of the same points */
static ep_status same_map(const ep_sums *a, const ep_sums *b) {
  ep_work work = {0};
  ep_mat psi[2];
  const bool shape =
      ep_sums_features(a) == ep_sums_features(b) && ep_sums_inputs(a) == ep_sums_inputs(b);
  ep_status st = EP_OK;
  if (shape) st = psi_of(&psi[0], &work, a, &a->sample);
  if (shape && !st) st = psi_of(&psi[1], &work, b, &a->sample);
  if (!st && (!shape || !alike(&psi[0], &psi[1], a->prec)))
    st = EP_FAIL(EP_ERR_INPUT,
                 "%s has another map than %s: its features were drawn from other points, or --init "
                 "is another file",
                 b->name, a->name);
  ep_work_free(&work);
  return st;
}

static ep_status same_origin(const ep_sums *a, const ep_sums *b) {
  const char *va = json_string_value(json_object_get(a->model->config, "version"));
  const char *vb = json_string_value(json_object_get(b->model->config, "version"));
  if (!va) va = ep_version();
  if (!vb) vb = ep_version();
  EP_CHECK(strcmp(va, vb) == 0, EP_ERR_INPUT,
           "%s was made by version %s, %s by %s: make them again with one of them", b->name, vb,
           a->name, va);
  EP_TRY(same_setup(a->model->config, b->model->config, a->name, b->name));
  const bool data =
      a->total == b->total && (a->total == 0 || alike(&a->sample, &b->sample, a->prec));
  EP_CHECK(data && a->model->unit == b->model->unit, EP_ERR_INPUT,
           "%s is of other data than %s: %.0f anchors and %.0f, or other values in them", b->name,
           a->name, b->total, a->total);
  const json_t *ta = json_object_get(a->model->config, "table"),
               *tb = json_object_get(b->model->config, "table");
  EP_CHECK(ta == tb || (ta && tb && json_equal(ta, tb)), EP_ERR_INPUT,
           "%s is of another table than %s: columns, categories or scales differ", b->name,
           a->name);
  EP_CHECK(a->shards < 0 || b->shards < 0 || a->shards == b->shards, EP_ERR_INPUT,
           "%s is one of %ld shards, %s one of %ld: all have to be cut alike", b->name, b->shards,
           a->name, a->shards);
  return same_map(a, b);
}

/* ---- the tree */

ep_status ep_sums_grow(ep_sums *s, ep_sums_node **node) {
  if (s->nodes == s->room) {
    const int room = s->room ? 2 * s->room : 8;
    ep_sums_node *more = ep_alloc(room, sizeof *more);
    EP_CHECK(more, EP_ERR_NOMEM, "no memory for sums");
    if (s->nodes) memcpy(more, s->node, (size_t)s->nodes * sizeof *more);
    ep_release(s->node);
    s->node = more;
    s->room = room;
  }
  *node = &s->node[s->nodes++];
  **node = (ep_sums_node){0};
  return EP_OK;
}

static int find(const ep_sums *s, long first, long count) {
  for (int i = 0; i < s->nodes; i++)
    if (s->node[i].first == first && s->node[i].count == count) return i;
  return -1;
}

/* node i += node k, which goes */
static void join(ep_sums *s, int i, int k) {
  ep_sums_node *left = &s->node[i], *right = &s->node[k];
  ep_sum_add(&left->sum, &right->sum);
  ep_sum_count(&left->sum, &right->sum);
  left->count += right->count;
  ep_sum_free(&right->sum);
  memmove(right, right + 1, (size_t)(s->nodes - 1 - k) * sizeof *right);
  s->nodes--;
}

/* node i meets its neighbours as far up as they are there */
static void climb(ep_sums *s, int i) {
  for (;;) {
    const long first = s->node[i].first, count = s->node[i].count;
    const bool left = first / count % 2 == 0;
    const int k = find(s, left ? first + count : first - count, count);
    if (k < 0) return;
    const long at = left ? first : first - count;
    join(s, left ? i : k, left ? k : i);
    i = find(s, at, 2 * count);
  }
}

static int beginning(const ep_sums *s, long first) {
  int i = 0;
  while (s->node[i].first != first) i++;
  return i;
}

/* all there: from left to right */
static void finish(ep_sums *s) {
  long there;
  if (ep_sums_shards(s, &there) == 0 || there < s->shards) return;
  while (s->nodes > 1) {
    const int left = beginning(s, 0);
    join(s, left, beginning(s, s->node[left].count));
  }
}

static ep_status not_yet(const ep_sums *s, long first, long count, const char *from) {
  for (int i = 0; i < s->nodes; i++) {
    const ep_sums_node *n = &s->node[i];
    const long a = first > n->first ? first : n->first;
    EP_CHECK(s->shards <= 0 || a >= first + count || a >= n->first + n->count, EP_ERR_INPUT,
             "%s has shard %ld/%ld, which is in %s already", from, a + 1, s->shards, s->name);
  }
  return EP_OK;
}

ep_status ep_sums_check(const ep_sums *s) {
  char missing[200] = "";
  long there, gone = 0;
  const long shards = ep_sums_shards(s, &there);
  EP_CHECK(there > 0, EP_ERR_INPUT, "%s: nothing was summed yet", s->name);
  for (long i = 0; i < shards; i++) {
    bool found = false;
    for (int k = 0; k < s->nodes; k++)
      found |= i >= s->node[k].first && i < s->node[k].first + s->node[k].count;
    const size_t used = strlen(missing);
    if (found || used > 150) continue;
    snprintf(missing + used, sizeof missing - used, "%s%ld/%ld", gone++ ? ", " : "", i + 1, shards);
  }
  EP_CHECK(there >= shards, EP_ERR_INPUT, "%s: %ld of %ld shards are missing: %s%s", s->name,
           shards - there, shards, missing, gone < shards - there ? ", .." : "");
  return EP_OK;
}

/* ---- adding */

static ep_status print_of(json_t **out, const ep_points *points) {
  ep_mat x = {0};
  char text[20];
  uint64_t h = ep_hash(EP_HASH_START, &points->pairs.anchors, sizeof points->pairs.anchors);
  ep_status st = take_sample(&x, points, false);
  for (ptrdiff_t i = 0; !st && i < x.rows; i++)
    h = ep_hash(h, ep_mat_rows(&x, i, 1).data, (size_t)x.cols * ep_sizeof(x.prec));
  ep_mat_free(&x);
  EP_TRY(st);
  snprintf(text, sizeof text, "%016" PRIx64, h);
  *out = json_string(text);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for sums");
  return EP_OK;
}

static ep_status add_up(ep_sum *sum, const ep_sums *s, const ep_points *points) {
  const ep_map *map = ep_sums_map(s);
  return ep_sums_whitened(s) ? ep_sum_whitened(sum, map, points)
                             : ep_sum_pca(sum, map, points, ep_run_room());
}

static ep_status room_for(const ep_sums *s, ep_precision prec) {
  const ptrdiff_t m = ep_sums_features(s);
  const double need = ep_sum_bytes(m, ep_sums_whitened(s)) + ep_sum_scratch(m, prec);
  EP_CHECK(need <= ep_run_room(), EP_ERR_ARG,
           "sums of %td features take %.0f MiB, more than --memory", m,
           ceil((need + (double)ep_memory_current()) / 1048576));
  return EP_OK;
}

static ep_status add(ep_sums *s, const ep_points *points, ep_shard shard) {
  ep_sum sum;
  json_t *print = NULL;
  ep_sums_node *node;
  if (shard.count > 0 && shard.number == 0) shard.number = shard.count;
  EP_CHECK(shard.count >= 0 && shard.number >= 0 && shard.number <= shard.count, EP_ERR_ARG,
           "shard %ld/%ld: shards are numbered from 1", shard.number, shard.count);
  EP_CHECK(s->shards < 0 || s->shards == shard.count, EP_ERR_ARG,
           "%s is of %ld shards; a shard of %ld does not fit", s->name, s->shards, shard.count);
  EP_CHECK(points->X.prec == s->prec, EP_ERR_ARG, "these points are of another precision than %s",
           s->name);
  if (shard.count > 0) EP_TRY(not_yet(s, shard.number - 1, 1, "this part"));
  EP_TRY(room_for(s, points->X.prec));
  EP_TRY(ep_sum_new(&sum, ep_sums_features(s), ep_sums_whitened(s)));
  ep_status st = add_up(&sum, s, points);
  if (!st && shard.count == 0) st = print_of(&print, points);
  if (!st) st = ep_sums_grow(s, &node);
  if (!st && print && json_array_append(s->prints, print))
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for sums");
  json_decref(print);
  if (st) ep_sum_free(&sum);
  EP_TRY(st);
  s->shards = shard.count;
  *node = (ep_sums_node){shard.count ? shard.number - 1 : 0, 1, sum};
  if (s->shards > 0) climb(s, s->nodes - 1), finish(s);
  else if (s->nodes > 1) join(s, 0, 1);
  return EP_OK;
}

ep_status ep_sums_add(ep_run *run, ep_sums *sums, const ep_points *points, ep_shard shard) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = add(sums, points, shard);
  ep_run_leave(&scope);
  return st;
}

/* ---- merging */

static ep_status other_prints(const ep_sums *into, const ep_sums *from) {
  size_t i, k;
  json_t *a, *b;
  json_array_foreach(into->prints, i, a) {
    json_array_foreach(from->prints, k, b) {
      EP_CHECK(!json_equal(a, b), EP_ERR_INPUT, "%s has points that are in %s already: part %zu",
               from->name, into->name, k + 1);
    }
  }
  return EP_OK;
}

static ep_status copy_node(ep_sums *into, const ep_sums_node *from) {
  ep_sums_node *node;
  ep_sum sum;
  EP_TRY(ep_sum_new(&sum, from->sum.C.rows, ep_sum_is_whitened(&from->sum)));
  sum.prec = from->sum.prec;
  ep_sum_add(&sum, &from->sum);
  ep_sum_count(&sum, &from->sum);
  const ep_status st = ep_sums_grow(into, &node);
  if (st) ep_sum_free(&sum);
  else *node = (ep_sums_node){from->first, from->count, sum};
  return st;
}

ep_status ep_sums_merge(ep_sums *into, const ep_sums *from) {
  const int before = into->nodes;
  EP_CHECK(into != from, EP_ERR_ARG, "%s cannot be merged with itself", into->name);
  EP_TRY(same_origin(into, from));
  for (int i = 0; i < from->nodes; i++)
    EP_TRY(not_yet(into, from->node[i].first, from->node[i].count, from->name));
  EP_TRY(other_prints(into, from));
  ep_status st = EP_OK;
  for (int i = 0; !st && i < from->nodes; i++) st = copy_node(into, &from->node[i]);
  if (!st && json_array_extend(into->prints, from->prints))
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for sums");
  while (st && into->nodes > before) ep_sum_free(&into->node[--into->nodes].sum);
  EP_TRY(st);
  if (into->shards < 0) into->shards = from->shards;
  for (int i = 0; into->shards > 0 && i < from->nodes; i++) {
    const int at = find(into, from->node[i].first, from->node[i].count);
    if (at >= 0) climb(into, at);
  }
  if (into->shards == 0 && into->nodes > 1) join(into, 0, 1);
  finish(into);
  return EP_OK;
}

/* ---- the model */

static ep_status solve_pca(const ep_mat *W, ep_work *work, ep_fit_info *info, const ep_sum *sum,
                           const ep_setup *s) {
  double *lambda;
  ep_eigen_info eigen;
  EP_CHECK(W->cols <= W->rows, EP_ERR_ARG, "--outputs %td is more than the %td features", W->cols,
           W->rows);
  EP_TRY(ep_work_get(work, &lambda, W->cols, sizeof *lambda));
  EP_TRY(ep_primal_solve(W, lambda, &eigen, sum, s));
  ep_eigen_signs(W);
  EP_TRY(ep_fit_explain(info, "path     primal: C of %td features summed over %.0f anchors",
                        W->rows, sum->anchors));
  return ep_closed_report(info, lambda, W->cols, &eigen, "primal");
}

/* a sum of its own, which the eigenproblem uses up; the map is a copy too */
static ep_status solve(ep_model *model, ep_fit_info *info, ep_work *work, ep_sum *sum,
                       const ep_sums *s, const ep_setup *setup) {
  ep_sums *copy;
  ep_mat W;
  const bool whitened = ep_sums_whitened(s);
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, ep_sums_features(s), setup->net.outputs));
  EP_TRY(whitened ? ep_whitened_solve(&W, model, info, sum, setup)
                  : solve_pca(&W, work, info, sum, setup));
  EP_TRY(ep_sums_like(&copy, s));
  ep_map *map = ep_sums_map(copy);
  copy->model->term[0].map = NULL;
  copy->model->terms = 0;
  ep_mat_free(&copy->model->term[0].C);
  ep_sums_free(copy);
  model->normalise =
      whitened && map->kind->scaled && map->psi.cosine; /* W is for psi, not for phi */
  return ep_model_keep(model, map, &W);
}

/* `sum`: NULL, the node's own is copied; else that is used up */
static ep_status fit(ep_model *model, ep_fit_info *info, const ep_sums *s, ep_sum *sum,
                     const ep_setup *setup) {
  ep_sums copy = {0};
  ep_work work = {0};
  json_t *config;
  EP_TRY(ep_setup_to_json(&config, setup));
  ep_status st = same_setup(s->model->config, config, s->name, "this fit");
  json_t *table = json_object_get(s->model->config, "table");
  if (!st && table && json_object_set(config, "table", table))
    st = EP_FAIL(EP_ERR_NOMEM, "no memory for the settings as JSON");
  model->config = config;
  model->unit = s->model->unit;
  if (!st && !sum) st = copy_node(&copy, &s->node[0]);
  if (!st) st = solve(model, info, &work, sum ? sum : &copy.node[0].sum, s, setup);
  if (copy.nodes) ep_sum_free(&copy.node[0].sum);
  ep_release(copy.node);
  ep_work_free(&work);
  if (!st) ep_model_seal(model);
  return st;
}

/* `own`: the same sums, if they may be used up */
static ep_status fit_timed(ep_model **model, ep_fit_info *info, const ep_sums *sums, ep_sums *own,
                           const ep_setup *setup) {
  *info = (ep_fit_info){.anchors = (ptrdiff_t)ep_sums_anchors(sums),
                        .dimension = ep_sums_inputs(sums),
                        .loss = NAN,
                        .start = NAN};
  info->points = sums->nodes ? (ptrdiff_t)sums->node[0].sum.views : 0;
  const double clock = omp_get_wtime();
  ep_status st = ep_model_new(model);
  if (!st) st = ep_sums_check(sums);
  if (!st) st = fit(*model, info, sums, own ? &own->node[0].sum : NULL, setup);
  info->seconds = omp_get_wtime() - clock;
  if (st) ep_model_free(*model), *model = NULL;
  return st;
}

ep_status ep_fit_sums(ep_run *run, ep_model **model, ep_fit_info *info, const ep_sums *sums,
                      const ep_setup *setup) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = fit_timed(model, info, sums, NULL, setup);
  ep_run_leave(&scope);
  return st;
}

ep_status ep_fit_sums_file(ep_model **model, ep_fit_info *info, const char *path,
                           const ep_setup *setup) {
  ep_sums *sums;
  EP_TRY(ep_sums_load_for(&sums, path, setup));
  const ep_status st = fit_timed(model, info, sums, sums, setup);
  ep_sums_free(sums);
  return st;
}
