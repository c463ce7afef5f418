/* Sums as an .npz: a model whose coefficients are still to come (its map's arrays, its config), the sample, and
 *
 *   sum_C (M, M); whitened also sum_B (M, M), sum_psi (1, M)     of the first node; of others sum_C.1, ..
 *   config.sums   how many shards, which of them a node is of, counts
 *
 * Everything is checked before it is believed. */
#include "method/sums.h"

#include "core/mem.h"
#include "data/parse.h"
#include "data/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void array_name(char out[32], const char *name, int node) {
  if (node == 0) snprintf(out, 32, "sum_%s", name);
  else snprintf(out, 32, "sum_%s.%d", name, node);
}

/* ---- writing */

static ep_status describe(json_t *config, const ep_sums *s) {
  json_t *nodes = json_array();
  for (int i = 0; nodes && i < s->nodes; i++) {
    const ep_sums_node *n = &s->node[i];
    json_t *one = json_pack("{s:I,s:I,s:f,s:f,s:f}", "first", (json_int_t)n->first, "count",
                            (json_int_t)n->count, "anchors", n->sum.anchors, "views", n->sum.views,
                            "pairs", n->sum.pairs);
    if (json_array_append_new(nodes, one)) json_decref(nodes), nodes = NULL;
  }
  EP_CHECK(nodes, EP_ERR_NOMEM, "no memory for the settings as JSON");
  json_t *all = json_pack("{s:I,s:f,s:o,s:O}", "shards", (json_int_t)s->shards, "total", s->total,
                          "nodes", nodes, "prints", s->prints);
  EP_CHECK(all && json_object_set_new(config, "sums", all) == 0, EP_ERR_NOMEM,
           "no memory for the settings as JSON");
  return EP_OK;
}

static ep_status write_node(ep_npz *file, const ep_sums_node *n, int i) {
  const struct {
    const char *name;
    const ep_mat *A;
  } parts[] = {{"C", &n->sum.C}, {"B", &n->sum.B}, {"psi", &n->sum.psi}};
  char name[32];
  for (int k = 0; k < (ep_sum_is_whitened(&n->sum) ? 3 : 1); k++) {
    array_name(name, parts[k].name, i);
    EP_CHECK(isfinite(ep_mat_max(parts[k].A)), EP_ERR_NUMERIC,
             "the sums are not finite: the data are too large; scale them, or --precision double");
    EP_TRY(ep_npz_add_matrix(file, name, parts[k].A, false));
  }
  return EP_OK;
}

static ep_status write_all(ep_npz *file, json_t *config, const ep_sums *s) {
  EP_TRY(describe(config, s));
  EP_TRY(ep_npz_add_matrix(file, "sample", &s->sample, false));
  for (int i = 0; i < s->nodes; i++) EP_TRY(write_node(file, &s->node[i], i));
  return ep_model_write(file, config, s->model);
}

static ep_status write_to(ep_npz *file, const ep_sums *s) {
  json_t *config;
  EP_TRY(ep_config_copy(&config, s->model->config));
  const ep_status st = write_all(file, config, s);
  json_decref(config);
  return st;
}

ep_status ep_sums_save(const char *path, const ep_sums *sums) {
  ep_npz *file;
  EP_TRY(ep_npz_create(&file, path));
  ep_status st = write_to(file, sums);
  if (!st) st = ep_npz_commit(file);
  ep_npz_close(file);
  return st;
}

ep_status ep_sums_to_bytes(unsigned char **bytes, size_t *size, const ep_sums *sums) {
  ep_npz *file;
  *bytes = NULL;
  EP_TRY(ep_npz_create_bytes(&file));
  ep_status st = write_to(file, sums);
  if (!st) st = ep_npz_commit_bytes(file, bytes, size);
  ep_npz_close(file);
  return st;
}

void ep_bytes_free(unsigned char *bytes) { ep_release(bytes); }

/* ---- reading */

static ep_status read_matrix(ep_mat *to, ep_npz *file, const char *name, ep_precision prec,
                             ptrdiff_t rows, ptrdiff_t cols, const char *path) {
  const ep_term_source from = {.file = file, .path = path, .prec = prec};
  EP_TRY(ep_term_matrix(to, &from, name));
  EP_CHECK((rows < 0 || to->rows == rows) && to->cols == cols, EP_ERR_SHAPE,
           "%s:%s: is %td x %td and does not fit the features", path, name, to->rows, to->cols);
  return EP_OK;
}

/* ---- parts of a matrix of which the file has the upper triangle */

/* rows first .. of the file -> this rank's part, both triangles */
static void take_rows(const ep_mat *to, const ep_dist *s, const ep_mat *rows, ptrdiff_t first) {
  const ptrdiff_t end = first + rows->rows;
  for (ptrdiff_t a = 0; a < s->cols; a++)
    for (ptrdiff_t b = 0; s->col[a] >= first && s->col[a] < end && b < s->rows; b++)
      if (s->row[b] >= s->col[a]) *ep_d(to, a, b) = *ep_d(rows, s->col[a] - first, s->row[b]);
  for (ptrdiff_t b = 0; b < s->rows; b++)
    for (ptrdiff_t a = 0; s->row[b] >= first && s->row[b] < end && a < s->cols; a++)
      if (s->col[a] > s->row[b]) *ep_d(to, a, b) = *ep_d(rows, s->row[b] - first, s->col[a]);
}

static ep_status take_parts(const ep_mat *to, ep_work *work, const ep_dist *s, const ep_rows *rows,
                            const char *name) {
  const ptrdiff_t m = s->order, most = 1000000 / m, block = most < 1 ? 1 : most < m ? most : m;
  ep_mat some;
  EP_CHECK(ep_rows_count(rows) == m && ep_rows_length(rows) == m, EP_ERR_SHAPE,
           "%s: is %td x %td and does not fit the features", name, ep_rows_count(rows),
           ep_rows_length(rows));
  EP_TRY(ep_work_mat(work, &some, EP_DOUBLE, block, m));
  for (ptrdiff_t i = 0; i < m; i += block) {
    const ep_mat part = ep_mat_rows(&some, 0, m - i < block ? m - i : block);
    EP_TRY(ep_run_step("rows of sums", (double)i, (double)m));
    EP_TRY(ep_rows_read(&part, rows, NULL, i));
    take_rows(to, s, &part, i);
  }
  return EP_OK;
}

static ep_status read_part(const ep_mat *to, const ep_dist *s, const char *path, const char *name) {
  char full[1100];
  const char *const list[] = {full};
  ep_rows *rows;
  ep_work work = {0};
  const size_t length = strlen(path);
  EP_CHECK(snprintf(full, sizeof full, "%s:%s", path, name) < (int)sizeof full, EP_ERR_ARG,
           "path is too long: %.80s...", path);
  EP_CHECK(length > 4 && strcmp(path + length - 4, ".npz") == 0, EP_ERR_ARG,
           "%s: to be read by parts of ranks its name has to end in .npz", path);
  EP_TRY(ep_rows_stack(&rows, list, 1));
  ep_status st = ep_rows_same(rows, full);
  if (!st) st = take_parts(to, &work, s, rows, full);
  ep_work_free(&work);
  ep_rows_free(rows);
  return st;
}

/* ---- what is said of shards */

static bool is_count(double x) { return x >= 0 && x < 9e15 && x == floor(x); }

/* an aligned block of shards, or all of them, or so many parts without numbers */
static bool is_node(const ep_sums *s, json_int_t first, json_int_t count) {
  if (count < 1 || first < 0 || count > 1000000000 || first > 1000000000) return false;
  if (s->shards == 0) return first == 0 && s->nodes == 0;
  const bool block = (count & (count - 1)) == 0 && first % count == 0;
  if (first + count > s->shards || !(block || count == s->shards)) return false;
  for (int i = 0; i < s->nodes; i++)
    if (first < s->node[i].first + s->node[i].count && s->node[i].first < first + count)
      return false;
  return true;
}

static ep_status read_parts(ep_sum *sum, ep_npz *file, ep_dist *spread, const char *path) {
  const ep_sum counts = *sum;
  EP_TRY(ep_sum_new_spread(sum, spread));
  sum->prec = counts.prec;
  sum->anchors = counts.anchors, sum->views = counts.views, sum->pairs = counts.pairs;
  EP_TRY(read_part(&sum->C, spread, path, "sum_C"));
  EP_TRY(read_part(&sum->B, spread, path, "sum_B"));
  ep_mat_free(&sum->psi);
  return read_matrix(&sum->psi, file, "sum_psi", EP_DOUBLE, 1, spread->order, path);
}

/* `setup`: for a fit with it, which may spread a node that is the only one; NULL: whole */
static ep_status place_node(ep_dist **out, const ep_sums *s, const json_t *nodes,
                            const ep_setup *setup) {
  *out = NULL;
  if (!setup || json_array_size(nodes) != 1) return EP_OK;
  if (ep_sums_whitened(s)) return ep_whitened_place(out, ep_sums_features(s), NULL, setup);
  EP_CHECK(setup->closed.solver <= EP_SOLVER_LOCAL, EP_ERR_ARG,
           "%s: --solver %s spreads sums of whitened; these are of pca, whose fit --path free "
           "needs no matrix of features",
           s->name, ep_solver_name(setup->closed.solver));
  return EP_OK;
}

static ep_status read_node(ep_sums *s, ep_npz *file, json_t *from, ep_dist *spread) {
  const ptrdiff_t m = ep_sums_features(s);
  const int i = s->nodes;
  json_int_t first = 0, count = 0;
  double anchors = -1, views = -1, pairs = -1;
  ep_sums_node *n;
  char name[3][32];
  const bool read = json_unpack(from, "{s:I,s:I,s:F,s:F,s:F}", "first", &first, "count", &count,
                                "anchors", &anchors, "views", &views, "pairs", &pairs) == 0;
  EP_CHECK(read && is_node(s, first, count) && anchors >= 1 && is_count(anchors) &&
               is_count(views) && is_count(pairs) && (views >= anchors || !ep_sums_whitened(s)),
           EP_ERR_INPUT, "%s: what it says of its shards makes no sense", s->name);
  array_name(name[0], "C", i), array_name(name[1], "B", i), array_name(name[2], "psi", i);
  EP_TRY(ep_sums_grow(s, &n));
  n->first = (long)first, n->count = (long)count;
  n->sum = (ep_sum){.prec = s->prec, .anchors = anchors, .views = views, .pairs = pairs};
  if (spread) return read_parts(&n->sum, file, spread, s->name);
  EP_TRY(read_matrix(&n->sum.C, file, name[0], EP_DOUBLE, m, m, s->name));
  if (!ep_sums_whitened(s)) return EP_OK;
  EP_TRY(read_matrix(&n->sum.B, file, name[1], EP_DOUBLE, m, m, s->name));
  return read_matrix(&n->sum.psi, file, name[2], EP_DOUBLE, 1, m, s->name);
}

static ep_status read_nodes(ep_sums *s, ep_npz *file, const ep_setup *setup) {
  ep_dist *spread;
  json_t *all = json_object_get(s->model->config, "sums"), *nodes, *prints, *one;
  json_int_t shards;
  size_t i;
  EP_CHECK(json_unpack(all, "{s:I,s:F,s:o,s:o}", "shards", &shards, "total", &s->total, "nodes",
                       &nodes, "prints", &prints) == 0 &&
               shards >= -1 && shards < 1000000000 && is_count(s->total) && json_is_array(nodes) &&
               json_is_array(prints) && (shards >= 0) == (json_array_size(nodes) > 0),
           EP_ERR_INPUT, "%s: what it says of its shards makes no sense", s->name);
  s->shards = (long)shards;
  EP_TRY(place_node(&spread, s, nodes, setup));
  json_array_foreach(nodes, i, one) { EP_TRY(read_node(s, file, one, spread)); }
  json_array_foreach(prints, i, one) {
    EP_CHECK(json_is_string(one), EP_ERR_INPUT, "%s: its list of parts is damaged", s->name);
  }
  EP_CHECK(json_array_extend(s->prints, prints) == 0, EP_ERR_NOMEM, "no memory for sums");
  return EP_OK;
}

static ep_status read_config(json_t **config, ep_npz *file, const char *name) {
  EP_CHECK(ep_npz_has(file, "config") && ep_npz_has(file, "sample"), EP_ERR_INPUT,
           "%s: holds no sums; they are made by eigenpair accumulate", name);
  return ep_npz_get_json(config, file, "config");
}

/* of which precision the map is */
static ep_status read_precision(ep_precision *prec, ep_npz *file, const char *name) {
  json_t *config;
  EP_TRY(read_config(&config, file, name));
  const char *word = json_string_value(json_object_get(config, "precision"));
  *prec = word && strcmp(word, "double") == 0 ? EP_DOUBLE : EP_SINGLE;
  json_decref(config);
  return EP_OK;
}

static ep_status read_all(ep_sums *s, ep_npz *file, const ep_setup *setup) {
  EP_TRY(read_precision(&s->prec, file, s->name));
  EP_TRY(ep_model_read(s->model, file, s->name, s->prec));
  ep_term *term = &s->model->term[0];
  const ep_method_row *method = ep_sums_method(s);
  EP_CHECK(s->model->terms == 1 && term->map->kind->keep && method && method->map, EP_ERR_INPUT,
           "%s: holds no sums of pca or whitened", s->name);
  term->map->psi = s->model->psi;
  EP_TRY(read_matrix(&s->sample, file, "sample", s->prec, -1, term->map->inputs, s->name));
  return read_nodes(s, file, setup);
}

static ep_status take(ep_sums **out, ep_npz *file, const char *name, const ep_setup *setup) {
  ep_status st = ep_sums_alloc(out, name);
  if (!st) st = read_all(*out, file, setup);
  if (st) ep_sums_free(*out), *out = NULL;
  return st;
}

ep_status ep_sums_load_for(ep_sums **out, const char *path, const ep_setup *setup) {
  ep_npz *file;
  *out = NULL;
  EP_TRY(ep_npz_open(&file, path));
  const ep_status st = take(out, file, path, setup);
  ep_npz_close(file);
  return st;
}

ep_status ep_sums_load(ep_sums **out, const char *path) {
  return ep_sums_load_for(out, path, NULL);
}

ep_status ep_sums_from_bytes(ep_sums **out, const unsigned char *bytes, size_t size,
                             const char *name) {
  ep_npz *file;
  *out = NULL;
  EP_TRY(ep_npz_open_bytes(&file, bytes, size, name));
  const ep_status st = take(out, file, name, NULL);
  ep_npz_close(file);
  return st;
}

/* by way of a file in memory, without the nodes */
ep_status ep_sums_like(ep_sums **out, const ep_sums *sums) {
  ep_sums empty = *sums;
  unsigned char *bytes;
  size_t size;
  *out = NULL;
  empty.nodes = 0;
  empty.shards = -1;
  empty.prints = json_array();
  EP_CHECK(empty.prints, EP_ERR_NOMEM, "no memory for sums");
  ep_status st = ep_sums_to_bytes(&bytes, &size, &empty);
  if (!st) st = ep_sums_from_bytes(out, bytes, size, sums->name);
  ep_bytes_free(bytes);
  json_decref(empty.prints);
  return st;
}

/* ---- many files: which shards they have is seen first, so that they are read in order */

typedef struct {
  const char *path;
  long first; /* the first of its shards */
} part;

/* shards first .. first + count - 1 of a file */
typedef struct {
  long first, count;
  int file;
} stretch;

typedef struct {
  long shards;
  ptrdiff_t used, room;
  stretch *all;
} ledger;

static ep_status peek(json_t **config, const char *path) {
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  const ep_status st = read_config(config, file, path);
  ep_npz_close(file);
  return st;
}

ep_status ep_sums_peek(ep_setup *setup, const char *path) {
  json_t *config;
  EP_TRY(peek(&config, path));
  ep_setup_default(setup);
  const ep_status st = ep_setup_from_json(setup, config);
  json_decref(config);
  return st;
}

/* room for n more */
static ep_status ledger_grow(ledger *l, ptrdiff_t n) {
  if (l->used + n <= l->room) return EP_OK;
  const ptrdiff_t room = 2 * (l->used + n);
  stretch *all = ep_alloc(room, sizeof *all);
  EP_CHECK(all, EP_ERR_NOMEM, "no memory for a list of %td shards", room);
  if (l->used) memcpy(all, l->all, (size_t)l->used * sizeof *all);
  ep_release(l->all);
  l->all = all, l->room = room;
  return EP_OK;
}

/* what makes no sense is seen when it is read */
static ep_status enter(ledger *l, part *all, int which, const json_t *config) {
  const json_t *sums = json_object_get(config, "sums"), *nodes = json_object_get(sums, "nodes");
  const json_int_t shards = json_integer_value(json_object_get(sums, "shards"));
  json_t *one;
  size_t i;
  if (which == 0) l->shards = (long)shards;
  EP_TRY(ledger_grow(l, (ptrdiff_t)json_array_size(nodes)));
  json_array_foreach(nodes, i, one) {
    const json_int_t first = json_integer_value(json_object_get(one, "first"));
    const json_int_t count = json_integer_value(json_object_get(one, "count"));
    if (first < 0 || count < 1) continue;
    if (i == 0 || first < all[which].first) all[which].first = (long)first;
    if (shards == l->shards && first < shards && count <= shards - first)
      l->all[l->used++] = (stretch){(long)first, (long)count, which};
  }
  return EP_OK;
}

static int by_shard(const void *a, const void *b) {
  const stretch *x = a, *y = b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : x->file - y->file;
}

/* no shard twice */
static ep_status check_ledger(const ledger *l, const part *all) {
  if (l->used) qsort(l->all, (size_t)l->used, sizeof *l->all, by_shard);
  for (ptrdiff_t i = 1; i < l->used; i++) {
    const stretch *a = &l->all[i - 1], *b = &l->all[i];
    const bool later = b->file >= a->file;
    EP_CHECK(b->first >= a->first + a->count, EP_ERR_INPUT,
             "%s has shard %ld/%ld, which is in %s already", all[later ? b->file : a->file].path,
             b->first + 1, l->shards, all[later ? a->file : b->file].path);
  }
  return EP_OK;
}

static int by_first(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : strcmp(x->path, y->path);
}

static ep_status look(ep_work *work, part **all, const char *const *paths, int count) {
  ledger l = {0};
  ep_status st = EP_OK;
  EP_TRY(ep_work_get(work, all, count, sizeof **all));
  for (int i = 0; i < count; i++) (*all)[i].path = paths[i];
  for (int i = 0; !st && i < count; i++) {
    json_t *config;
    st = peek(&config, paths[i]);
    if (st) break;
    st = enter(&l, *all, i, config);
    json_decref(config);
  }
  if (!st) st = check_ledger(&l, *all);
  ep_release(l.all);
  return st;
}

static ep_status merge_all(ep_work *work, ep_sums **out, const char *const *paths, int count) {
  part *all;
  EP_TRY(look(work, &all, paths, count));
  qsort(all, (size_t)count, sizeof *all, by_first);
  EP_TRY(ep_sums_load(out, all[0].path));
  for (int i = 1; i < count; i++) {
    ep_sums *next;
    EP_TRY(ep_run_step("parts", i, count));
    EP_TRY(ep_sums_load(&next, all[i].path));
    const ep_status st = ep_sums_merge(*out, next);
    ep_sums_free(next);
    EP_TRY(st);
  }
  return EP_OK;
}

ep_status ep_sums_merge_files(ep_sums **out, const char *const *paths, int count) {
  ep_work work = {0};
  *out = NULL;
  EP_CHECK(count > 0, EP_ERR_ARG, "give the files of some parts");
  const ep_status st = merge_all(&work, out, paths, count);
  if (!st && count > 1) snprintf((*out)->name, sizeof(*out)->name, "these parts");
  ep_work_free(&work);
  if (st) ep_sums_free(*out), *out = NULL;
  return st;
}
