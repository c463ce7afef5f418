#include "study/explore.h"

#include "core/mem.h"
#include "probe/probes.h"
#include "report/pack.h"
#include "spectral/graph.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const ep_option ep_explore_options[] = {EP_EXPLORE_OPTIONS(EP_OPT_ROW, ep_explore_config){0}};

enum { GRAPH = 15, MOST_CLASSES = 1000, MOST_DOUBTS = 200, FEWEST = 5 };

typedef struct {
  const ep_explore_input *in;
  const ep_explore_config *config;
  const ep_run_config *run;
  ep_work *work;
  ep_metric metric;
  ptrdiff_t n, k, graph_k; /* points; neighbours shown; neighbours in the graph, k or more */
  ptrdiff_t *near, *raw;   /* (n, graph_k) in the embedding; (n, k) in the data, or NULL */
  double *distance;        /* (n, graph_k) in the embedding */
  int *class, *label;      /* (n) number of the label, or NULL; the labels themselves, ascending */
  ptrdiff_t classes;
  int *cluster; /* (n) */
  ptrdiff_t clusters;
  ep_pack pack;
  json_t *page, *maps;
  ep_explored *out;
} explore;

static ep_status set(json_t *object, const char *name, json_t *value) {
  EP_CHECK(json_object_set_new(object, name, value) == 0, EP_ERR_NOMEM, "no memory for the page");
  return EP_OK;
}

static ep_status append(json_t *array, json_t *value) {
  EP_CHECK(json_array_append_new(array, value) == 0, EP_ERR_NOMEM, "no memory for the page");
  return EP_OK;
}

/* ---- labels */

static int by_value(const void *a, const void *b) {
  const int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static ep_status find_classes(explore *x) {
  if (!x->in->labels) return EP_OK;
  EP_TRY(ep_work_get(x->work, &x->label, x->n, sizeof *x->label));
  memcpy(x->label, x->in->labels, (size_t)x->n * sizeof *x->label);
  qsort(x->label, (size_t)x->n, sizeof *x->label, by_value);
  for (ptrdiff_t i = 0; i < x->n; i++)
    if (i == 0 || x->label[i] != x->label[i - 1]) x->label[x->classes++] = x->label[i];
  EP_CHECK(
      x->classes <= MOST_CLASSES, EP_ERR_INPUT,
      "%td different labels; labels name classes, at most %d of them (other numbers: --colour)",
      x->classes, MOST_CLASSES);
  EP_TRY(ep_work_get(x->work, &x->class, x->n, sizeof *x->class));
  for (ptrdiff_t i = 0; i < x->n; i++) {
    const int *at = bsearch(&x->in->labels[i], x->label, (size_t)x->classes, sizeof *at, by_value);
    x->class[i] = (int)(at - x->label);
  }
  return EP_OK;
}

/* of a class: its name, or its number */
static json_t *name_of(const explore *x, ptrdiff_t c) {
  const int label = x->label[c];
  json_t *name = label < 0 ? NULL : json_array_get(x->in->classes, (size_t)label);
  return name ? json_incref(name) : json_sprintf("%d", label);
}

/* ---- columns to colour by */

static ep_status add_values(explore *x, json_t *columns, const char *title, const char *kind,
                            const float *values, const char *note) {
  char name[32];
  snprintf(name, sizeof name, "column%zu", json_array_size(columns));
  EP_TRY(ep_pack_add(&x->pack, name, EP_PACK_F32, values, x->n));
  return append(columns, json_pack("{s:s,s:s,s:s,s:s}", "array", name, "title", title, "kind", kind,
                                   "note", note));
}

static ep_status add_numbers(explore *x, json_t *columns, const char *title, const float *values,
                             const char *note) {
  return add_values(x, columns, title, "number", values, note);
}

static ep_status pack_classes(explore *x, const char *name, const int *class) {
  uint32_t *values;
  EP_TRY(ep_work_get(x->work, &values, x->n, sizeof *values));
  for (ptrdiff_t i = 0; i < x->n; i++) values[i] = (uint32_t) class[i];
  return ep_pack_add(&x->pack, name, EP_PACK_U32, values, x->n);
}

/* takes over names */
static ep_status add_classes(explore *x, json_t *columns, const char *title, const int *class,
                             json_t *names, const char *note) {
  char array[32];
  snprintf(array, sizeof array, "column%zu", json_array_size(columns));
  const ep_status st = pack_classes(x, array, class);
  if (st) json_decref(names);
  EP_TRY(st);
  return append(columns, json_pack("{s:s,s:s,s:s,s:s,s:o}", "array", array, "title", title, "kind",
                                   "class", "note", note, "names", names));
}

static json_t *class_names(const explore *x) {
  json_t *names = json_array();
  for (ptrdiff_t c = 0; names && c < x->classes; c++)
    if (json_array_append_new(names, name_of(x, c))) json_decref(names), names = NULL;
  return names;
}

static json_t *cluster_names(const explore *x) {
  json_t *names = json_array();
  for (ptrdiff_t c = 0; names && c < x->clusters; c++)
    if (json_array_append_new(names, json_sprintf("%td", c + 1))) json_decref(names), names = NULL;
  return names;
}

static ptrdiff_t agreeing(const explore *x, const ptrdiff_t *who, int class) {
  ptrdiff_t same = 0;
  for (ptrdiff_t c = 0; c < x->k; c++) same += x->class[who[c]] == class;
  return same;
}

/* how many of the neighbours in the data are neighbours in the embedding */
static ptrdiff_t kept(const explore *x, ptrdiff_t i) {
  ptrdiff_t both = 0;
  for (ptrdiff_t a = 0; a < x->k; a++)
    for (ptrdiff_t b = 0; b < x->k; b++)
      both += x->raw[i * x->k + a] == x->near[i * x->graph_k + b];
  return both;
}

static ep_status add_measures(explore *x, json_t *columns) {
  float *v;
  double sum = 0;
  EP_TRY(ep_work_get(x->work, &v, x->n, sizeof *v));
  if (x->class) {
    for (ptrdiff_t i = 0; i < x->n; i++)
      v[i] = (float)agreeing(x, x->near + i * x->graph_k, x->class[i]) / (float)x->k;
    EP_TRY(add_numbers(x, columns, "agreement", v,
                       "share of the nearest in the embedding that have the point's label"));
  }
  if (x->raw) {
    for (ptrdiff_t i = 0; i < x->n; i++) sum += v[i] = (float)kept(x, i) / (float)x->k;
    EP_TRY(add_numbers(
        x, columns, "neighbours kept", v,
        "share of the nearest in the data that are among the nearest in the embedding"));
    x->out->kept = sum / (double)x->n;
    EP_TRY(set(x->out->json, "neighbours_kept", json_real(x->out->kept)));
  }
  for (ptrdiff_t i = 0; i < x->n; i++) v[i] = (float)x->distance[i * x->graph_k + x->k - 1];
  EP_TRY(
      add_numbers(x, columns, "distance", v,
                  "distance to the last of the nearest in the embedding: small in dense places"));
  for (ptrdiff_t i = 0; i < x->n; i++) {
    const ep_mat row = ep_mat_rows(&x->in->E, i, 1);
    v[i] = (float)sqrt(ep_mat_norm2(&row));
  }
  return add_numbers(x, columns, "length", v, "length of the point's row in the embedding");
}

static ep_status add_columns(explore *x) {
  json_t *columns = json_array();
  const ep_mat *C = &x->in->columns;
  float *v;
  int *class;
  EP_TRY(set(x->page, "columns", columns));
  if (x->class) EP_TRY(add_classes(x, columns, "label", x->class, class_names(x), "as given"));
  EP_TRY(add_classes(x, columns, "cluster", x->cluster, cluster_names(x),
                     "k-means of the embedding, the largest first"));
  EP_TRY(add_measures(x, columns));
  EP_TRY(ep_work_get(x->work, &v, x->n, sizeof *v));
  EP_TRY(ep_work_get(x->work, &class, x->n, sizeof *class));
  for (ptrdiff_t c = 0; C->data && c < C->cols; c++) {
    const char *title = json_string_value(json_array_get(x->in->titles, (size_t)c));
    json_t *names = json_array_get(x->in->names, (size_t)c);
    const bool classes = json_is_array(names); /* other numbers may be missing: NAN */
    for (ptrdiff_t i = 0; i < x->n; i++) {
      v[i] = (float)ep_get(C, i, c);
      class[i] = classes ? (int)v[i] : 0;
    }
    EP_TRY(classes ? add_classes(x, columns, title, class, json_incref(names), "as given")
                   : add_values(x, columns, title, json_is_true(names) ? "date" : "number", v,
                                "as given"));
  }
  return EP_OK;
}

/* ---- maps: places of 16 bits, the middle at 32768, both axes on one scale */

static ep_status add_map(explore *x, const char *name, const char *note, const ep_mat *Y) {
  double middle[2], half = 0;
  uint16_t *places;
  EP_TRY(ep_work_get(x->work, &places, 2 * x->n, sizeof *places));
  for (int c = 0; c < 2; c++) {
    double low = INFINITY, high = -INFINITY;
    for (ptrdiff_t i = 0; i < x->n; i++) {
      low = fmin(low, *ep_d(Y, i, c));
      high = fmax(high, *ep_d(Y, i, c));
    }
    middle[c] = (low + high) / 2;
    half = fmax(half, (high - low) / 2);
  }
  for (ptrdiff_t i = 0; i < 2 * x->n; i++) {
    const double y = *ep_d(Y, i / 2, i % 2) - middle[i % 2];
    places[i] = (uint16_t)lrint(32768 + (half > 0 ? 32767 * y / half : 0));
  }
  EP_TRY(ep_pack_add(&x->pack, name, EP_PACK_U16, places, 2 * x->n));
  return append(x->maps, json_pack("{s:s,s:s}", "name", name, "note", note));
}

/* C = 1/n sum_i (x_i - mean)(x_i - mean)'; variances are its eigenvalues, Y = (x_i - mean)'v of the first two */
static ep_status principal(explore *x, const ep_mat *Y) {
  const ptrdiff_t d = x->in->E.cols;
  ep_tall rows;
  ep_mat C, V, block;
  double *variance;
  EP_TRY(ep_work_mat(x->work, &C, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(x->work, &V, EP_DOUBLE, d, 2));
  EP_TRY(ep_work_mat(x->work, &block, EP_DOUBLE, EP_TALL_BLOCK, d));
  EP_TRY(ep_work_get(x->work, &variance, d, sizeof *variance));
  EP_TRY(ep_tall_centred(&rows, x->work, &x->in->E));
  EP_TRY(ep_tall_cross(&C, &rows, &rows));
  EP_TRY(ep_mat_eig_sym(&C, variance));
  json_t *falling = json_array();
  for (ptrdiff_t j = d - 1; j >= 0; j--)
    EP_TRY(append(falling, json_real(fmax(variance[j], 0) / (double)x->n)));
  EP_TRY(set(x->page, "spectrum", falling));
  for (ptrdiff_t c = 0; c < 2 && c < d; c++)
    for (ptrdiff_t j = 0; j < d; j++) *ep_d(&V, j, c) = *ep_d(&C, d - 1 - c, j);
  ep_eigen_signs(&V);
  for (ptrdiff_t i = 0; i < x->n; i += EP_TALL_BLOCK) {
    const ptrdiff_t m = x->n - i < EP_TALL_BLOCK ? x->n - i : EP_TALL_BLOCK;
    const ep_mat b = ep_mat_rows(&block, 0, m), y = ep_mat_rows(Y, i, m);
    ep_tall_get(&b, &rows, i);
    ep_mat_mul(&y, 1, &b, EP_N, &V, EP_N, 0);
  }
  return EP_OK;
}

static ep_status add_maps(explore *x) {
  ep_mat Y;
  ep_graph graph;
  double lambda[2];
  const uint64_t seed = (uint64_t)x->run->seed;
  EP_TRY(ep_work_mat(x->work, &Y, EP_DOUBLE, x->n, 2));
  EP_TRY(set(x->page, "maps", x->maps = json_array()));
  EP_TRY(principal(x, &Y));
  EP_TRY(add_map(x, "PCA", "the two directions in which the points vary most", &Y));
  EP_TRY(ep_graph_new(&graph, x->work, x->near, x->n, x->graph_k));
  EP_TRY(ep_graph_eigenmap(&Y, lambda, &graph, seed));
  EP_TRY(add_map(x, "spectral", "Laplacian eigenvectors of the graph of nearest neighbours", &Y));
  EP_TRY(ep_graph_layout(&Y, &graph, x->config->steps, seed));
  return add_map(
      x, "neighbours",
      "spectral map, then neighbours attract and all points repel each other (as in UMAP): "
      "groups can be trusted, distances between them cannot",
      &Y);
}

/* ---- neighbours */

static ep_status add_who(explore *x, const char *name, const ptrdiff_t *who, ptrdiff_t stride) {
  uint32_t *few;
  EP_TRY(ep_work_get(x->work, &few, x->n * x->k, sizeof *few));
  for (ptrdiff_t i = 0; i < x->n; i++)
    for (ptrdiff_t c = 0; c < x->k; c++) few[i * x->k + c] = (uint32_t)who[i * stride + c];
  return ep_pack_add(&x->pack, name, EP_PACK_U32, few, x->n * x->k);
}

static ep_status find_neighbours(explore *x) {
  const ep_mat *E = &x->in->E, *X = &x->in->X;
  EP_TRY(ep_work_get(x->work, &x->near, x->n * x->graph_k, sizeof *x->near));
  EP_TRY(ep_work_get(x->work, &x->distance, x->n * x->graph_k, sizeof *x->distance));
  EP_TRY(ep_neighbours(NULL, x->near, x->distance, NULL, E, x->graph_k, x->metric));
  EP_TRY(add_who(x, "near", x->near, x->graph_k));
  if (!X->data) return EP_OK;
  EP_TRY(ep_work_get(x->work, &x->raw, x->n * x->k, sizeof *x->raw));
  EP_TRY(ep_neighbours(NULL, x->raw, NULL, NULL, X, x->k, x->metric));
  return add_who(x, "raw", x->raw, x->k);
}

/* ---- dense places: of each cluster the point whose neighbours are nearest */

static ep_status add_dense(explore *x) {
  json_t *list = json_array();
  ptrdiff_t *best, *size, *votes;
  EP_TRY(set(x->page, "dense", list));
  EP_TRY(ep_work_get(x->work, &best, x->clusters, sizeof *best));
  EP_TRY(ep_work_get(x->work, &size, x->clusters, sizeof *size));
  EP_TRY(ep_work_get(x->work, &votes, x->clusters * (x->classes + 1), sizeof *votes));
  for (ptrdiff_t i = 0; i < x->n; i++) {
    const int c = x->cluster[i];
    const double *d = x->distance + x->k - 1;
    if (size[c]++ == 0 || d[i * x->graph_k] < d[best[c] * x->graph_k]) best[c] = i;
    if (x->class) votes[c * x->classes + x->class[i]]++;
  }
  for (ptrdiff_t c = 0; c < x->clusters; c++) {
    ptrdiff_t top = 0;
    if (!size[c]) continue;
    for (ptrdiff_t l = 1; l < x->classes; l++)
      if (votes[c * x->classes + l] > votes[c * x->classes + top]) top = l;
    json_t *entry = json_pack("{s:I,s:I,s:I}", "cluster", (json_int_t)c + 1, "size",
                              (json_int_t)size[c], "row", (json_int_t)best[c]);
    EP_TRY(append(list, entry));
    if (!x->class) continue;
    EP_TRY(set(entry, "label", name_of(x, top)));
    EP_TRY(set(entry, "share", json_real((double)votes[c * x->classes + top] / (double)size[c])));
  }
  return EP_OK;
}

/* ---- labels that most neighbours contradict */

typedef struct {
  ptrdiff_t row, own, other; /* neighbours with its label, with the commonest other one */
  int class;                 /* that one */
} doubt;

static doubt doubt_of(const explore *x, ptrdiff_t i, ptrdiff_t *votes) {
  const ptrdiff_t *who = x->near + i * x->graph_k;
  doubt d = {.row = i, .class = -1};
  for (ptrdiff_t c = 0; c < x->k; c++) votes[x->class[who[c]]]++;
  d.own = votes[x->class[i]];
  for (ptrdiff_t c = 0; c < x->k; c++) {
    const int l = x->class[who[c]];
    if (l != x->class[i] && votes[l] > d.other) d.other = votes[l], d.class = l;
  }
  for (ptrdiff_t c = 0; c < x->k; c++) votes[x->class[who[c]]] = 0;
  return d;
}

static int worst_first(const void *a, const void *b) {
  const doubt *p = a, *q = b;
  const ptrdiff_t x = p->other - p->own, y = q->other - q->own;
  return x != y ? (x < y) - (x > y) : (p->row > q->row) - (p->row < q->row);
}

static ep_status add_doubts(explore *x) {
  json_t *list = json_array();
  doubt *all;
  ptrdiff_t *votes, count = 0;
  EP_TRY(set(x->page, "doubts", list));
  if (!x->class) return EP_OK;
  EP_TRY(ep_work_get(x->work, &all, x->n, sizeof *all));
  EP_TRY(ep_work_get(x->work, &votes, x->classes, sizeof *votes));
  for (ptrdiff_t i = 0; i < x->n; i++) {
    all[count] = doubt_of(x, i, votes);
    count += 2 * all[count].other > x->k;
  }
  qsort(all, (size_t)count, sizeof *all, worst_first);
  x->out->doubtful = count;
  EP_TRY(set(x->out->json, "doubtful_labels", json_integer(count)));
  for (ptrdiff_t d = 0; d < count && d < MOST_DOUBTS; d++) {
    json_t *entry =
        json_pack("{s:I,s:I,s:I,s:o}", "row", (json_int_t)all[d].row, "own", (json_int_t)all[d].own,
                  "other", (json_int_t)all[d].other, "label", name_of(x, all[d].class));
    EP_TRY(append(list, entry));
    if (!x->raw) continue;
    EP_TRY(set(entry, "raw", json_integer(agreeing(x, x->raw + all[d].row * x->k, all[d].class))));
  }
  return EP_OK;
}

/* ---- scores and probes */

static ep_status add_scores(explore *x) {
  ep_metrics_config config;
  ep_options_default(ep_metrics_options, &config);
  EP_TRY(ep_metrics_of(NULL, &x->out->scores, &x->in->E, NULL, &config, x->run));
  const ep_metrics m = x->out->scores;
  json_t *scores =
      json_pack("{s:f,s:f,s:o,s:I,s:b,s:s}", "rankme", m.rankme, "effective_rank", m.effective_rank,
                "uniformity", ep_json_number(m.uniformity), "dead_dimensions", (json_int_t)m.dead,
                "collapsed", m.collapsed, "collapse", m.collapse);
  return set(x->out->json, "scores", scores);
}

/* Points for the probes: all, or a draw, in the embedding and in the data. */
typedef struct {
  ep_mat space[2]; /* no data: none */
  int *labels;
} drawn;

static ep_status draw(drawn *out, explore *x) {
  const ptrdiff_t m = x->n < x->config->probe_points ? x->n : x->config->probe_points;
  const ep_mat *from[] = {&x->in->E, &x->in->X};
  ptrdiff_t *order;
  EP_TRY(ep_work_get(x->work, &order, x->n, sizeof *order));
  EP_TRY(ep_work_get(x->work, &out->labels, m, sizeof *out->labels));
  ep_random r = ep_random_new((uint64_t)x->run->seed, EP_STREAM_MAP, UINT32_MAX);
  if (m < x->n) ep_random_permutation(&r, order, x->n);
  else
    for (ptrdiff_t i = 0; i < m; i++) order[i] = i;
  for (ptrdiff_t i = 0; i < m; i++) out->labels[i] = x->in->labels[order[i]];
  for (int s = 0; s < 2; s++) {
    out->space[s] = *from[s];
    if (m == x->n || !from[s]->data) continue;
    EP_TRY(ep_work_mat(x->work, &out->space[s], from[s]->prec, m, from[s]->cols));
    for (ptrdiff_t i = 0; i < m; i++) {
      const ep_mat to = ep_mat_rows(&out->space[s], i, 1), row = ep_mat_rows(from[s], order[i], 1);
      ep_mat_copy(&to, &row);
    }
  }
  return EP_OK;
}

static ep_status add_probe(explore *x, json_t *list, ep_explored_probe *out, const char *name,
                           const drawn *d) {
  ep_probe_config config;
  ep_probe_result r;
  snprintf(out->name, sizeof out->name, "%s", name);
  out->raw = NAN;
  json_t *entry = json_pack("{s:s}", "probe", name);
  EP_TRY(append(list, entry));
  ep_options_default(ep_probe_options, &config);
  for (int s = 0; s < 2 && d->space[s].data; s++) {
    const ep_labelled points = {&d->space[s], d->labels, NULL};
    EP_TRY(ep_probe_run(NULL, &r, name, &points, NULL, &config, x->run));
    *(s ? &out->raw : &out->accuracy) = r.accuracy;
    ep_status st = set(entry, s ? "raw" : "accuracy", json_real(r.accuracy));
    if (!st && s == 0) st = set(entry, "train_points", json_integer(r.train));
    if (!st && s == 0) st = set(entry, "test_points", json_integer(r.test));
    ep_probe_result_free(&r);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status add_probes(explore *x) {
  char names[sizeof x->config->probe], *rest = names;
  json_t *list = json_array();
  EP_TRY(set(x->out->json, "probes", list));
  strcpy(names, x->config->probe);
  if (x->classes < 2 || strcmp(names, "none") == 0 || !*names) return EP_OK;
  drawn d;
  EP_TRY(draw(&d, x));
  int count = 1;
  for (const char *c = names; *c; c++) count += *c == ',';
  x->out->probe = ep_alloc(count, sizeof *x->out->probe);
  EP_CHECK(x->out->probe, EP_ERR_NOMEM, "no memory for probes");
  for (char *name; (name = strsep(&rest, ","));)
    EP_TRY(add_probe(x, list, &x->out->probe[x->out->probes++], name, &d));
  return EP_OK;
}

/* ---- all of it */

static ep_status start(explore *x) {
  const ptrdiff_t most = x->n - 1;
  x->k = x->config->neighbours < most ? x->config->neighbours : most;
  x->graph_k = x->k > GRAPH ? x->k : GRAPH < most ? GRAPH : most;
  x->metric = (ep_metric)x->config->metric;
  EP_TRY(find_classes(x));
  x->clusters = x->config->clusters ? x->config->clusters : x->classes ? x->classes : 10;
  if (x->clusters > x->n) x->clusters = x->n;
  return ep_work_get(x->work, &x->cluster, x->n, sizeof *x->cluster);
}

static ep_status look(explore *x) {
  EP_TRY(start(x));
  EP_TRY(add_scores(x));
  EP_TRY(find_neighbours(x));
  EP_TRY(ep_clusters(x->cluster, &x->in->E, x->clusters, x->metric, (uint64_t)x->run->seed));
  EP_TRY(add_columns(x));
  EP_TRY(add_maps(x));
  EP_TRY(add_dense(x));
  EP_TRY(add_doubts(x));
  EP_TRY(add_probes(x));
  json_t *numbers;
  EP_TRY(ep_pack_json(&numbers, &x->pack));
  EP_TRY(set(x->page, "numbers", numbers));
  if (x->in->pictures) EP_TRY(set(x->page, "pictures", json_incref(x->in->pictures)));
  if (x->in->text) EP_TRY(set(x->page, "text", json_incref(x->in->text)));
  return set(x->page, "result", json_incref(x->out->json));
}

void ep_explored_free(ep_explored *e) {
  json_decref(e->json);
  ep_release(e->probe);
  *e = (ep_explored){0};
}

ep_status ep_explore(json_t **page, ep_explored *out, const ep_explore_input *in,
                     const ep_explore_config *config, const ep_run_config *run) {
  const ptrdiff_t n = in->E.rows;
  ep_work work = {0};
  explore x = {.in = in, .config = config, .run = run, .work = &work, .n = n, .out = out};
  *page = NULL;
  *out = (ep_explored){.kept = NAN, .doubtful = -1};
  EP_CHECK(n >= FEWEST, EP_ERR_SHAPE, "%s: %td points; a map needs %d", in->name, n, FEWEST);
  EP_CHECK(n <= EP_EXPLORE_POINTS, EP_ERR_SHAPE,
           "%s: %td points; a page holds %d (embed fewer, with --samples)", in->name, n,
           EP_EXPLORE_POINTS);
  EP_CHECK(!in->X.data || in->X.rows == n, EP_ERR_SHAPE, "%s: %td points, but the data have %td",
           in->name, n, in->X.rows);
  out->json =
      json_pack("{s:s,s:I,s:I,s:s}", "embedding", in->name, "points", (json_int_t)n, "dimensions",
                (json_int_t)in->E.cols, "metric", ep_metric_name(config->metric));
  x.page = json_object();
  const ep_status st = x.page && out->json ? look(&x) : EP_FAIL(EP_ERR_NOMEM, "no memory");
  ep_pack_free(&x.pack);
  ep_work_free(&work);
  if (!st) *page = x.page;
  else json_decref(x.page), ep_explored_free(out);
  return st;
}
