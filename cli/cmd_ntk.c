#include "commands.h"
#include "core/mem.h"
#include "data/npy_owned.h"
#include "data/rows.h"

#include <math.h>
#include <string.h>

enum { EMPIRICAL, ANALYTIC, NNGP };
static const char *kernel_name(int i) {
  static const char *const names[] = {"empirical", "analytic", "nngp", NULL};
  return names[i];
}

static const char *from_name(int i) {
  static const char *const names[] = {"auto", "torch", NULL};
  return names[i];
}

#define NTK_OPTIONS(X, S)                                                                     \
  X(S, CHOICE, kernel, "empirical", 0, 0, kernel_name,                                        \
    "of a finite network, or at infinite width: tangent kernel, Gaussian process")            \
  X(S, CHOICE, layout, "full", 0, 0, ep_layout_name,                                          \
    "empirical: (n, n2, Z, Z), (n, n2, Z), or their mean (n, n2)")                            \
  X(S, TEXT, data2, "", 0, 0, NULL, "second set of points, like --data (default: the first)") \
  X(S, TEXT, drift, "", 0, 0, NULL,                                                           \
    "how far the kernels of models are from that of the first: --drift A.npz B.npz ..")       \
  X(S, CHOICE, from, "auto", 0, 0, from_name,                                                 \
    "what --init holds; torch: a state dict, and nothing else will do")                       \
  X(S, FLAG, explain, NULL, 0, 0, NULL, "say how it is computed, and why")                    \
  X(S, TEXT, out, "kernel.npy", 0, 0, NULL, "the kernel")
typedef struct {
  NTK_OPTIONS(EP_OPT_FIELD, )
} ntk_config;
static const ep_option ntk_options[] = {NTK_OPTIONS(EP_OPT_ROW, ntk_config){0}};

typedef struct {
  ntk_config ntk;
  ep_data_config data;
  ep_net_config net;
  ep_variance_config analytic;
  ep_run_config run;
  cli_config cli;
  int argc; /* the command line */
  char **argv;
  const char **words; /* models of --drift behind the first */
  int count;
} setup_ntk;

static void groups_of(ep_option_group groups[7], setup_ntk *s) {
  const ep_option_group all[7] = {{"Kernel", ntk_options, &s->ntk},
                                  {"Data", ep_data_options, &s->data},
                                  {"Network", ep_net_options, &s->net},
                                  {"Infinite width", ep_variance_options, &s->analytic},
                                  {"Run", ep_run_options, &s->run},
                                  {"Output", cli_options, &s->cli},
                                  {0}};
  memcpy(groups, all, sizeof all);
}

void help_ntk(FILE *to) {
  static setup_ntk s;
  ep_option_group groups[7];
  groups_of(groups, &s);
  fprintf(
      to,
      "\n  eigenpair ntk --data x.npy --width 1000 --outputs 10 --seed 1 --layout trace --out "
      "K.npy\n"
      "  eigenpair ntk --data x.npy --init model.npz --out K.npy         of a model's network\n"
      "  eigenpair ntk --data x.npy --kernel analytic --depth 3          at infinite width\n"
      "  eigenpair ntk --drift before.npz after.npz --data x.npy --json  max, frobenius, "
      "relative_frobenius\n"
      "  eigenpair ntk --drift epoch-*.npz --data x.npy                  along training\n\n"
      "A result larger than --memory goes straight to the file, and points larger than it stay in "
      "theirs. Under mpirun every\nrank writes its own rows, to a disk that all of them see.\n");
  args_help(groups, to);
}

/* ---- networks and points */

/* A network of a file, or one that was drawn. */
typedef struct {
  ep_model *model; /* of the file; NULL: drawn */
  ep_net drawn;
  ep_net *net; /* NULL: none yet */
} network;

static void free_network(network *n) {
  ep_model_free(n->model);
  ep_net_free(&n->drawn);
}

/* of a file, with the settings it was made with, unless the flags say otherwise */
static ep_status read_network(network *n, const setup_ntk *s, const char *path) {
  EP_TRY(ep_model_load(&n->model, path, ep_run_precision(&s->run)));
  n->net = ep_model_net(n->model);
  EP_CHECK(n->net, EP_ERR_INPUT, "%s: holds no network", path);
  return network_flags(n->net, &s->net, &s->analytic, s->argc, s->argv);
}

/* of --width and --seed */
static ep_status draw_network(network *n, const setup_ntk *s, ptrdiff_t inputs) {
  n->net = &n->drawn;
  return ep_net_draw(&n->drawn, &s->net, &s->analytic, inputs, (uint64_t)s->run.seed,
                     ep_run_precision(&s->run));
}

/* Points in memory, or, where they are large beside it, where they are: X is then their shape. */
typedef struct {
  ep_mat X;
  struct ep_rows *rows; /* NULL: in memory */
  bool unit;
} ntk_points;

static void free_points(ntk_points *p) {
  if (p->X.data) ep_mat_free(&p->X);
  ep_rows_free(p->rows);
}

/* points first .. first + n: a view of X, or of `room`, into which they are read */
static ep_status some_points(ep_mat *view, const ntk_points *p, ptrdiff_t first, ptrdiff_t n,
                             const ep_mat *room) {
  *view = ep_mat_rows(p->rows ? room : &p->X, p->rows ? 0 : first, n);
  if (!p->rows) return EP_OK;
  EP_TRY(ep_rows_read(view, p->rows, NULL, first));
  if (p->unit) ep_scale_to_unit(view);
  return EP_OK;
}

static ep_status hold(ntk_points *p) {
  const ep_mat shape = p->X;
  ep_rows *rows = p->rows;
  EP_TRY(ep_mat_new(&p->X, shape.prec, shape.rows, shape.cols));
  EP_TRY(ep_rows_read(&p->X, rows, NULL, 0));
  if (p->unit) ep_scale_to_unit(&p->X);
  ep_rows_free(rows);
  p->rows = NULL;
  return EP_OK;
}

/* scaled as the model's own points were, unless the flags say otherwise */
static ep_status read_points(ntk_points *p, const setup_ntk *s, const char *name,
                             const ep_model *model) {
  ep_data_config config = s->data;
  int *labels;
  snprintf(config.data, sizeof config.data, "%s", name);
  EP_TRY(ep_rows_open(&p->rows, &labels, &config, &s->run,
                      json_object_get(model ? ep_model_config(model) : NULL, "table")));
  ep_labels_free(labels);
  const ptrdiff_t cols = ep_rows_length(p->rows);
  p->X = (ep_mat){
      .prec = ep_run_precision(&s->run), .rows = ep_rows_count(p->rows), .cols = cols, .ld = cols};
  const bool of_model = config.scale == EP_SCALE_AUTO && model && ep_model_config(model);
  p->unit = of_model ? ep_model_is_unit(model) : ep_scale_is_unit(&config, ep_rows_shape(p->rows));
  const double bytes = (double)p->X.rows * (double)cols * (double)ep_sizeof(p->X.prec);
  return bytes < 0.4 * ep_run_memory_left(&s->run) ? hold(p) : EP_OK;
}

/* ---- one kernel */

typedef struct {
  network of;
  ntk_points x, y;
  ep_mat K; /* owned unless mapped */
  ep_npy_map *map;
  ep_run_hooks outer; /* of the run before K was mapped */
  ep_analytic a;
  ep_analytic_kind kind;
} ntk_work;

static void explain(FILE *to, const ntk_work *w, const ep_ntk_cost *c, double bytes) {
  const double own = c->flops - c->features;
  fprintf(to, "way      Gram matrices layer by layer, %s\n",
          c->blocks[0] * c->blocks[1] == 1
              ? "all points in one block"
              : "block by block, features made again for each pair of blocks");
  fprintf(to, "blocks   %td x %td of %td points%s, %.1f MiB of scratch\n", c->blocks[0],
          c->blocks[1], c->block, c->symmetric ? " (on and above the diagonal)" : "",
          c->bytes / 1048576);
  fprintf(to,
          "work     %.3g Gflop in Gram matrices, %.3g in features; an explicit Jacobian would take "
          "%.3g\n",
          own / 1e9, c->features / 1e9,
          2 * (c->symmetric ? 0.5 : 1) * (double)w->K.rows * (double)w->K.cols *
              (double)w->of.net->theta.cols / 1e9);
  fprintf(to, "result   %.1f MiB %s\n", bytes / 1048576,
          w->map ? "on disk: it does not fit --memory" : "in memory");
}

/* Between two tiles what was written of a mapped K leaves memory. */
static void rest(void *user, const char *what, double done, double total) {
  const ntk_work *w = user;
  ep_npy_map_rest(w->map);
  if (w->outer.progress) w->outer.progress(w->outer.user, what, done, total);
}

/* K in memory if it fits, else in the file */
static ep_status make_room(ntk_work *w, const setup_ntk *s, int ndim, const ptrdiff_t *shape) {
  const ep_precision prec = ep_run_precision(&s->run);
  double count = 1;
  for (int i = 0; i < ndim; i++) count *= (double)shape[i];
  const double left = ep_run_memory_left(&s->run);
  ptrdiff_t cols = 1;
  for (int i = 1; i < ndim; i++) cols *= shape[i];
  if (count * (double)ep_sizeof(prec) < 0.5 * left) return ep_mat_new(&w->K, prec, shape[0], cols);
  EP_TRY(ep_npy_map_create(&w->map, s->ntk.out, prec, ndim, shape));
  w->K = ep_mat_view(prec, shape[0], cols, ep_npy_map_data(w->map));
  ep_run_hooks hooks = w->outer = ep_run_set_hooks(ep_run_current(), NULL);
  hooks.progress = rest;
  hooks.user = w;
  ep_run_set_hooks(ep_run_current(), &hooks);
  return EP_OK;
}

/* As many rows of K as are in memory at once. */
static ptrdiff_t strip(const ep_mat *K) {
  enum { BYTES = 1 << 22 };
  const ptrdiff_t rows = BYTES / (K->cols * (ptrdiff_t)ep_sizeof(K->prec) + 1) + 1;
  return rows < K->rows ? rows : K->rows;
}

static ep_status check_finite(const ntk_work *w) {
  double most = 0;
  for (ptrdiff_t i = 0, n = strip(&w->K); i < w->K.rows && isfinite(most); i += n) {
    const ep_mat part = ep_mat_rows(&w->K, i, n < w->K.rows - i ? n : w->K.rows - i);
    most = ep_mat_max(&part);
    ep_npy_map_rest(w->map);
  }
  EP_CHECK(isfinite(most), EP_ERR_NUMERIC,
           "the kernel is not finite: the data are too large for it");
  return EP_OK;
}

static ep_status store(ntk_work *w, const setup_ntk *s, int ndim, const ptrdiff_t *shape) {
  if (!w->map) {
    EP_TRY(ep_npy_map_create(&w->map, s->ntk.out, w->K.prec, ndim, shape));
    const ep_mat to = ep_mat_view(w->K.prec, w->K.rows, w->K.cols, ep_npy_map_data(w->map));
    for (ptrdiff_t i = 0, n = strip(&w->K); i < w->K.rows; i += n) {
      const ptrdiff_t rows = n < w->K.rows - i ? n : w->K.rows - i;
      const ep_mat part = ep_mat_rows(&w->K, i, rows), there = ep_mat_rows(&to, i, rows);
      ep_mat_copy(&there, &part);
      ep_npy_map_rest(w->map);
    }
    ep_mat_free(&w->K);
  }
  return ep_npy_map_commit(w->map);
}

static ep_status empirical(ntk_work *w, const setup_ntk *s, int ndim, const ptrdiff_t shape[4],
                           ep_layout layout) {
  ep_ntk_cost cost;
  const ep_mat *Y = s->ntk.data2[0] ? &w->y.X : NULL;
  EP_TRY(make_room(w, s, ndim, shape));
  const double memory =
      ep_run_memory_left(&s->run) * (w->map ? 0.5 : 1); /* half for the part of K at work */
  EP_TRY(ep_ntk_plan(&cost, w->of.net, &w->x.X, Y, layout, memory));
  if (s->ntk.explain)
    explain(stderr, w, &cost, (double)(w->K.rows * w->K.cols) * (double)ep_sizeof(w->K.prec));
  return ep_ntk_empirical(NULL, &w->K, w->of.net, &w->x.X, Y, layout, memory);
}

/* depth, activation and scale from --init where it is given, from the flags otherwise */
static ep_status read_analytic(ntk_work *w, const setup_ntk *s) {
  w->kind = s->ntk.kernel == NNGP ? EP_NNGP : EP_NTK;
  if (w->of.net) EP_TRY(ep_analytic_of(&w->a, &w->of.net->shape, w->kind));
  else EP_TRY(ep_analytic_from(&w->a, &s->net, &s->analytic, w->x.X.cols, w->kind));
  if (s->ntk.explain)
    fprintf(
        stderr,
        "way      recursion over %d layers on the Gram matrix; %s for %s, relative error %.1g\n",
        w->a.depth, ep_dual_way(&w->a.phi), ep_activation_label(&w->a.phi),
        ep_analytic_error(&w->a.phi));
  return EP_OK;
}

static ep_status analytic(ntk_work *w, const setup_ntk *s, const ptrdiff_t shape[4]) {
  EP_TRY(make_room(w, s, 2, shape));
  return ep_analytic_kernel(NULL, &w->K, &w->a, w->kind, &w->x.X, s->ntk.data2[0] ? &w->y.X : NULL);
}

/* ---- in tiles: points that stay in their file, or rows that belong to ranks; each writes its own */

typedef struct {
  ptrdiff_t tall, wide; /* points a tile */
  ptrdiff_t entries;    /* numbers a pair of points */
  ep_mat K, x, y;       /* rooms */
  bool finite;          /* a network's, not that of infinite width */
  ep_layout layout;
  double memory; /* for features of a tile */
} tiling;

/* a quarter of what is left for K, a tenth each for points, half for features of them */
static ep_status new_tiling(tiling *t, ep_work *work, const ntk_work *w, const ntk_points *y,
                            const ep_share *mine, double left) {
  enum { MOST = 2048 };
  const ep_mat *X = &w->x.X;
  const double size = (double)ep_sizeof(X->prec), row = size * (double)X->cols;
  double side = sqrt(0.25 * left / (size * (double)t->entries));
  side = fmin(fmin(side, 0.1 * left / row), MOST);
  EP_CHECK(side >= 1, EP_ERR_ARG, "--memory is too small for one pair of points");
  t->tall = (double)mine->count < side ? mine->count : (ptrdiff_t)side;
  t->wide = (double)y->X.rows < side ? y->X.rows : (ptrdiff_t)side;
  t->memory = 0.5 * left;
  EP_TRY(ep_work_mat(work, &t->K, X->prec, t->tall, t->wide * t->entries));
  if (w->x.rows) EP_TRY(ep_work_mat(work, &t->x, X->prec, t->tall, X->cols));
  if (y->rows) EP_TRY(ep_work_mat(work, &t->y, X->prec, t->wide, X->cols));
  return EP_OK;
}

static ep_status make_tile(const ep_mat *K, const tiling *t, const ntk_work *w, const ep_mat *x,
                           const ep_mat *y) {
  EP_TRY(t->finite ? ep_ntk_empirical(NULL, K, w->of.net, x, y, t->layout, t->memory)
                   : ep_analytic_kernel(NULL, K, &w->a, w->kind, x, y));
  EP_CHECK(isfinite(ep_mat_max(K)), EP_ERR_NUMERIC,
           "the kernel is not finite: the data are too large for it");
  return EP_OK;
}

static ep_status write_tiles(ep_work *work, tiling *t, ntk_work *w, const setup_ntk *s,
                             ep_npy_owned *file) {
  const ntk_points *other = s->ntk.data2[0] ? &w->y : &w->x;
  const ep_share mine = ep_comm_share(w->x.X.rows);
  const ptrdiff_t end = mine.first + mine.count, n2 = other->X.rows;
  if (mine.count == 0) return EP_OK;
  EP_TRY(new_tiling(t, work, w, other, &mine, ep_run_memory_left(&s->run)));
  for (ptrdiff_t i = mine.first; i < end; i += t->tall) {
    ep_mat x, y;
    EP_TRY(some_points(&x, &w->x, i, end - i < t->tall ? end - i : t->tall, &t->x));
    for (ptrdiff_t j = 0; j < n2; j += t->wide) {
      EP_TRY(ep_run_step("rows of the kernel", (double)(i - mine.first), (double)mine.count));
      EP_TRY(some_points(&y, other, j, n2 - j < t->wide ? n2 - j : t->wide, &t->y));
      const ep_mat K = ep_mat_view(x.prec, x.rows, y.rows * t->entries, t->K.data);
      EP_TRY(make_tile(&K, t, w, &x, &y));
      EP_TRY(ep_npy_owned_put(file, &K, i, j * t->entries));
    }
  }
  return EP_OK;
}

static ep_status in_tiles(ntk_work *w, const setup_ntk *s, int ndim, const ptrdiff_t shape[4],
                          tiling *t) {
  ep_npy_owned *file;
  ep_work work = {0};
  if (s->ntk.explain)
    fprintf(stderr, "way      in tiles of points%s; a rank writes its own rows\n",
            w->x.rows ? ", which stay in their file" : "");
  EP_TRY(ep_npy_owned_create(&file, s->ntk.out, w->x.X.prec, ndim, shape));
  ep_status st = write_tiles(&work, t, w, s, file);
  ep_work_free(&work);
  if (!st) st = ep_npy_owned_commit(file);
  ep_npy_owned_close(file);
  return st;
}

static json_t *own_config(const setup_ntk *s) {
  static setup_ntk copy;
  ep_option_group groups[7];
  copy = *s;
  groups_of(groups, &copy);
  return config_of_run(groups, s->words, s->ntk.drift[0] ? s->count : 0, s->argc, s->argv);
}

static ep_status report(const setup_ntk *s, int ndim, const ptrdiff_t *shape) {
  json_t *list = json_array();
  for (int i = 0; i < ndim; i++) json_array_append_new(list, json_integer(shape[i]));
  if (s->cli.json)
    return print_json(json_pack("{s:s,s:s,s:o,s:f,s:s,s:o,s:o}", "kernel",
                                kernel_name(s->ntk.kernel), "out", s->ntk.out, "shape", list,
                                "peak_memory", (double)ep_memory_peak(), "version", ep_version(),
                                "machine", machine_json(), "config", own_config(s)));
  json_decref(list);
  printf("%s kernel (", kernel_name(s->ntk.kernel));
  for (int i = 0; i < ndim; i++) printf("%s%td", i ? ", " : "", shape[i]);
  printf("): %s\n", s->ntk.out);
  return EP_OK;
}

static ep_status kernel(ntk_work *w, const setup_ntk *s) {
  const bool finite = s->ntk.kernel == EMPIRICAL;
  int ndim = 2;
  const ep_layout layout = (ep_layout)s->ntk.layout;
  if (s->net.init[0]) EP_TRY(read_network(&w->of, s, s->net.init));
  EP_TRY(read_points(&w->x, s, s->data.data, w->of.model));
  EP_CHECK(!s->net.init[0] || w->of.net->shape.inputs == w->x.X.cols, EP_ERR_SHAPE,
           "%s: its network takes points of dimension %td, %s has %td", s->net.init,
           w->of.net->shape.inputs, s->data.data, w->x.X.cols);
  if (s->ntk.data2[0]) EP_TRY(read_points(&w->y, s, s->ntk.data2, w->of.model));
  EP_CHECK(!s->ntk.data2[0] || w->x.X.cols == w->y.X.cols, EP_ERR_SHAPE,
           "%s has points of dimension %td, %s of %td", s->data.data, w->x.X.cols, s->ntk.data2,
           w->y.X.cols);
  if (finite && !s->net.init[0]) EP_TRY(draw_network(&w->of, s, w->x.X.cols));
  const ptrdiff_t z = finite ? w->of.net->shape.outputs : 0;
  const ptrdiff_t shape[4] = {w->x.X.rows, s->ntk.data2[0] ? w->y.X.rows : w->x.X.rows, z, z};
  if (finite) ndim = layout == EP_FULL ? 4 : layout == EP_DIAGONAL ? 3 : 2;
  if (!finite) EP_TRY(read_analytic(w, s));
  if (w->x.rows || w->y.rows || ep_comm_size() > 1) {
    tiling t = {
        .entries = finite ? ep_layout_entries(layout, z) : 1, .finite = finite, .layout = layout};
    EP_TRY(in_tiles(w, s, ndim, shape, &t));
    return report(s, ndim, shape);
  }
  EP_TRY(finite ? empirical(w, s, ndim, shape, layout) : analytic(w, s, shape));
  EP_TRY(check_finite(w));
  EP_TRY(store(w, s, ndim, shape));
  return report(s, ndim, shape);
}

/* ---- how far kernels are from the first, along training */

static ep_status first_kernel(ntk_work *w, const setup_ntk *s, ep_mat *K2) {
  const ptrdiff_t outputs = w->of.net->shape.outputs;
  EP_TRY(read_points(&w->x, s, s->data.data, w->of.model));
  EP_CHECK(!w->x.rows, EP_ERR_ARG, "--drift needs its points in memory: use --samples");
  const ptrdiff_t n = w->x.X.rows, cols = n * outputs * outputs;
  const double bytes = 2 * (double)n * (double)cols * (double)ep_sizeof(w->x.X.prec);
  EP_CHECK((double)ep_memory_current() + bytes < ep_run_memory(&s->run), EP_ERR_ARG,
           "--memory is too small for two kernels of %td points and %td outputs (%.0f MiB): use "
           "--samples",
           n, outputs, bytes / 1048576);
  EP_TRY(ep_mat_new(&w->K, w->x.X.prec, n, cols));
  EP_TRY(ep_mat_new(K2, w->x.X.prec, n, cols));
  return ep_ntk_empirical(NULL, &w->K, w->of.net, &w->x.X, NULL, EP_FULL,
                          ep_run_memory_left(&s->run));
}

/* of the network in a file from the first; K2 is scratch */
static ep_status drift_of(ep_drift *d, ntk_work *w, const setup_ntk *s, const char *path,
                          ep_mat *K2) {
  network b = {0};
  const ep_net_shape *p = &w->of.net->shape;
  ep_status st = read_network(&b, s, path);
  const ep_net_shape *q = st ? p : &b.net->shape;
  if (p->inputs != q->inputs || p->outputs != q->outputs)
    st = EP_FAIL(EP_ERR_SHAPE,
                 "the two models take points of dimension %td and %td and give %td and %td outputs",
                 p->inputs, q->inputs, p->outputs, q->outputs);
  if (!st && !K2->data) st = first_kernel(w, s, K2);
  if (!st)
    st = ep_ntk_empirical(NULL, K2, b.net, &w->x.X, NULL, EP_FULL, ep_run_memory_left(&s->run));
  if (!st) *d = ep_kernel_drift(&w->K, K2);
  free_network(&b);
  return st;
}

static json_t *drift_json(const ep_drift *d) {
  return json_pack("{s:o,s:o,s:o}", "max", number_json(d->max), "frobenius",
                   number_json(d->frobenius), "relative_frobenius",
                   number_json(d->relative_frobenius));
}

static void print_drifts(const ep_drift *d, const char *const *paths, int count, ptrdiff_t points) {
  for (int i = 0; i < count; i++) {
    if (count > 1) printf("%s: ", paths[i]);
    printf("max %.6g, Frobenius %.6g, relative %.6g, on %td points\n", d[i].max, d[i].frobenius,
           d[i].relative_frobenius, points);
  }
}

static ep_status drifts_json(const ep_drift *d, const char *const *paths, int count,
                             const ntk_work *w, const setup_ntk *s) {
  json_t *rows = json_array(), *all = drift_json(&d[count - 1]);
  for (int i = 0; i < count; i++) {
    json_t *row = drift_json(&d[i]);
    json_object_set_new(row, "model", json_string(paths[i]));
    json_array_append_new(rows, row);
  }
  json_object_set_new(all, "points", json_integer(w->x.X.rows));
  json_object_set_new(all, "version", json_string(ep_version()));
  json_object_set_new(all, "drifts", rows);
  json_object_set_new(all, "config", own_config(s)); /* print_json sees what was lost */
  return print_json(all);
}

/* One other model: its drift. Several, as training left them: that of the last, and a row of `drifts` each. */
static ep_status drift(ntk_work *w, const setup_ntk *s, const char *const *paths, int count) {
  ep_mat K2 = {0};
  ep_drift *d = ep_alloc(count, sizeof *d);
  ep_status st = d ? read_network(&w->of, s, s->ntk.drift)
                   : EP_FAIL(EP_ERR_NOMEM, "no memory for %d drifts", count);
  for (int i = 0; !st && i < count; i++) st = drift_of(&d[i], w, s, paths[i], &K2);
  ep_mat_free(&K2);
  if (!st && s->cli.json) st = drifts_json(d, paths, count, w, s);
  else if (!st) print_drifts(d, paths, count, w->x.X.rows);
  ep_release(d);
  return st;
}

/* The words beside the options: models of --drift behind the first, else the data. */
static ep_status take_words(setup_ntk *s, const char *const *words, int count, int argc,
                            char **argv) {
  if (s->ntk.drift[0]) {
    EP_CHECK(count >= 1, EP_ERR_ARG, "--drift takes two models or more: --drift A.npz B.npz");
    return EP_OK;
  }
  EP_CHECK(count <= 1, EP_ERR_ARG, "'%s' is not an option (options begin with --)", words[1]);
  EP_CHECK(count == 0 || !args_peek(argc, argv, "--data"), EP_ERR_ARG,
           "'%s' and --data both say what the data are; give one", words[0]);
  if (count) EP_TRY(ep_options_set(ep_options_find(ep_data_options, "data"), &s->data, words[0]));
  return EP_OK;
}

ep_status cmd_ntk(int argc, char **argv) {
  enum { MOST = 1000 };
  static setup_ntk s;
  ep_option_group groups[7];
  ntk_work w = {0};
  const char *words[MOST];
  int count;
  groups_of(groups, &s);
  for (const ep_option_group *g = groups; g->table; g++) ep_options_default(g->table, g->config);
  EP_TRY(args_parse(groups, argc, argv, words, MOST, &count));
  if (s.ntk.drift[0]) config_words(words, MOST, &count);
  s.argc = argc;
  s.argv = argv;
  s.words = words;
  s.count = count;
  EP_TRY(take_words(&s, words, count, argc, argv));
  EP_TRY(init_options(&s.net, &s.analytic, argc, argv));
  const char *const outputs[] = {s.ntk.drift[0] ? "" : s.ntk.out, NULL};
  EP_TRY(check_outputs(outputs, groups));
  EP_TRY(check_no_csv(s.ntk.out, ".npy"));
  EP_TRY(work_begin(&s.run, s.cli.progress));
  const ep_status st = s.ntk.drift[0] ? drift(&w, &s, words, count) : kernel(&w, &s);
  if (!w.map) ep_mat_free(&w.K);
  ep_npy_map_close(w.map);
  free_points(&w.x);
  free_points(&w.y);
  free_network(&w.of);
  return st;
}
