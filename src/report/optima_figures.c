#include "core/vector.h"

#include <eigenpair/optima_figures.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CURVES = 6, LENGTH = 300, GRID = 33 };

/* ---- convergence */

static ep_status add_curve(json_t *figure, const double *moved, const double *t, ptrdiff_t which,
                           bool optimum) {
  char name[32];
  ptrdiff_t n = 0;
  while (n < LENGTH && moved[n] > 0) n++;
  snprintf(name, sizeof name, optimum ? "optimum %td" : "other end %td", which + 1);
  return ep_figure_add(figure, &(ep_series){.name = name, .count = n, .x = t, .y = moved});
}

static ep_status curves(ep_work *work, json_t *figure, const ep_optima *o, const ep_layer *layer,
                        const ep_optima_config *config, uint64_t seed) {
  const ptrdiff_t count = o->count < CURVES ? o->count : CURVES, d = layer->X.cols;
  ep_mat all, W, trace;
  ep_path *paths;
  double *t;
  EP_TRY(ep_work_mat(work, &all, EP_DOUBLE, o->starts, d));
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, count, d));
  EP_TRY(ep_work_mat(work, &trace, EP_DOUBLE, count, LENGTH));
  EP_TRY(ep_work_get(work, &paths, count, sizeof *paths));
  EP_TRY(ep_work_get(work, &t, LENGTH, sizeof *t));
  for (int i = 0; i < LENGTH; i++) t[i] = i + 1;
  ep_optima_starts(&all, seed);
  for (ptrdiff_t i = 0; i < count; i++) {
    ptrdiff_t k = 0;
    while (o->label[k] != i) k++;
    memcpy(ep_d(&W, i, 0), ep_d(&all, k, 0), (size_t)d * sizeof(double));
  }
  EP_TRY(ep_optima_follow(&W, paths, layer, config, &trace));
  for (ptrdiff_t i = 0; i < count; i++)
    EP_TRY(add_curve(figure, ep_d(&trace, i, 0), t, i, i < o->optima));
  return EP_OK;
}

ep_status ep_optima_curves(json_t **out, const ep_optima *optima, const ep_layer *layer,
                           const ep_optima_config *config, uint64_t seed) {
  ep_work work = {0};
  EP_TRY(ep_figure_new(
      out, "convergence", EP_FIGURE_LINE, "How starts settle",
      "How far the weight vector still moves at each iteration, one curve for each of the "
      "ends with the largest basins.",
      (ep_axis){"iteration", .log = true}, (ep_axis){"|w(t+1) - w(t)|", .log = true}));
  const ep_status st = curves(&work, *out, optima, layer, config, seed);
  ep_work_free(&work);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

/* ---- map */

/* E (3 x d): the first optima, then random vectors, made orthonormal; rows that nothing is left of stay zero */
static void make_frame(const ep_mat *E, const ep_optima *o, uint64_t seed) {
  const ptrdiff_t d = E->cols;
  ep_random_fill_normal(E, seed, EP_STREAM_START, 4);
  for (ptrdiff_t i = 0; i < 3 && i < o->count; i++)
    memcpy(ep_d(E, i, 0), ep_d(&o->W, i, 0), (size_t)d * sizeof(double));
  for (ptrdiff_t i = 0; i < 3; i++) {
    double *e = ep_d(E, i, 0);
    for (ptrdiff_t k = 0; k < 2 * i; k++) { /* twice, for the digits */
      const double *f = ep_d(E, k % i, 0), along = ep_dot(e, f, d);
      for (ptrdiff_t j = 0; j < d; j++) e[j] -= along * f[j];
    }
    const double norm = sqrt(ep_dot(e, e, d));
    for (ptrdiff_t j = 0; j < d; j++) e[j] = norm > 1e-9 ? e[j] / norm : 0;
  }
}

typedef struct {
  ep_mat W; /* (points, d) starts, then ends */
  double *a, *b;
  int *label;
  ptrdiff_t count;
} slice;

static ep_status new_slice(slice *s, ep_work *work, const ep_mat *E) {
  const ptrdiff_t d = E->cols, most = GRID * GRID;
  EP_TRY(ep_work_mat(work, &s->W, EP_DOUBLE, most, d));
  EP_TRY(ep_work_get(work, &s->a, most, sizeof *s->a));
  EP_TRY(ep_work_get(work, &s->b, most, sizeof *s->b));
  EP_TRY(ep_work_get(work, &s->label, most, sizeof *s->label));
  for (ptrdiff_t k = 0; k < most; k++) {
    const double a = 2. * (double)(k % GRID) / (GRID - 1) - 1,
                 b = 2. * (double)(k / GRID) / (GRID - 1) - 1, rest = 1 - a * a - b * b;
    if (rest < 0) continue;
    double *w = ep_d(&s->W, s->count, 0);
    for (ptrdiff_t j = 0; j < d; j++)
      w[j] = a * *ep_d(E, 0, j) + b * *ep_d(E, 1, j) + sqrt(rest) * *ep_d(E, 2, j);
    const double norm = sqrt(ep_dot(w, w, d)); /* below 1 where d < 3 */
    if (!(norm > 1e-9)) continue;
    for (ptrdiff_t j = 0; j < d; j++) w[j] /= norm;
    s->a[s->count] = a;
    s->b[s->count++] = b;
  }
  s->W.rows = s->count;
  return EP_OK;
}

/* the optima that lie on the side of e3 the slice shows */
static ep_status add_optima(ep_work *work, json_t *figure, const ep_optima *o, const ep_mat *E) {
  double *a, *b;
  int *label;
  ptrdiff_t n = 0;
  EP_TRY(ep_work_get(work, &a, o->count, sizeof *a));
  EP_TRY(ep_work_get(work, &b, o->count, sizeof *b));
  EP_TRY(ep_work_get(work, &label, o->count, sizeof *label));
  for (ptrdiff_t i = 0; i < o->count; i++) {
    const double *w = ep_d(&o->W, i, 0);
    if (ep_dot(w, ep_d(E, 2, 0), E->cols) < -1e-6) continue;
    a[n] = ep_dot(w, ep_d(E, 0, 0), E->cols);
    b[n] = ep_dot(w, ep_d(E, 1, 0), E->cols);
    label[n++] = (int)i + 1;
  }
  return ep_figure_add(figure,
                       &(ep_series){.name = "optima", .count = n, .x = a, .y = b, .label = label});
}

/* the words for the labels of the map */
static ep_status name_basins(json_t *figure, const ep_optima *o) {
  json_t *names = json_array();
  EP_TRY(ep_json_put(figure, "classes", names));
  EP_TRY(ep_json_append(names, json_pack("{s:i, s:s}", "label", -1, "name", "not settled")));
  EP_TRY(ep_json_append(names, json_pack("{s:i, s:s}", "label", 0, "name", "dead")));
  for (ptrdiff_t i = 0; i < o->count; i++) {
    char name[40];
    snprintf(name, sizeof name, i < o->optima ? "optimum %td" : "other end %td",
             i < o->optima ? i + 1 : i + 1 - o->optima);
    EP_TRY(ep_json_append(names, json_pack("{s:i, s:s}", "label", (int)i + 1, "name", name)));
  }
  return EP_OK;
}

/* gap against roughness, one dot an optimum: above the line Theorem 1 says that it is stable. A roughness of rounding would
 * leave the others a corner: it is drawn at a floor. */
static ep_status gaps(json_t *figure, const ep_optima *o) {
  double low = INFINITY, high = 0, least = 0;
  for (ptrdiff_t i = 0; i < o->optima; i++)
    if (o->optimum[i].gap < INFINITY) least = fmax(least, 1e-6 * o->optimum[i].gap);
  for (ptrdiff_t i = 0; i < o->optima; i++) {
    const ep_optimum *p = &o->optimum[i];
    char name[40];
    if (!(p->gap > 0 && p->roughness >= 0)) continue;
    const double roughness = fmax(p->roughness, least);
    snprintf(name, sizeof name, "optimum %td", i + 1);
    low = fmin(low, fmin(p->gap, roughness)), high = fmax(high, fmax(p->gap, roughness));
    EP_TRY(ep_figure_add(figure,
                         &(ep_series){.name = name, .count = 1, .x = &roughness, .y = &p->gap}));
  }
  if (!(high > 0)) return EP_OK;
  const double ends[] = {low / 1.5, high * 1.5};
  return ep_figure_add(
      figure,
      &(ep_series){.name = "gap = roughness", .count = 2, .x = ends, .y = ends, .dashed = true});
}

ep_status ep_optima_gaps(json_t **out, const ep_optima *optima) {
  EP_TRY(
      ep_figure_new(out, "gap", EP_FIGURE_SCATTER, "Gap against roughness",
                    "One dot an optimum. Above the line gap = roughness Theorem 1 says that it is "
                    "stable. A roughness below a millionth of the largest gap is drawn there.",
                    (ep_axis){"roughness", .log = true}, (ep_axis){"gap", .log = true}));
  const ep_status st = gaps(*out, optima);
  if (st) json_decref(*out), *out = NULL;
  return st;
}

static ep_status map(ep_work *work, json_t *figure, const ep_optima *o, const ep_layer *layer,
                     const ep_optima_config *config, uint64_t seed) {
  ep_mat E;
  slice s = {0};
  ep_path *paths;
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, 3, layer->X.cols));
  make_frame(&E, o, seed);
  EP_TRY(new_slice(&s, work, &E));
  EP_TRY(ep_work_get(work, &paths, s.count, sizeof *paths));
  EP_TRY(ep_optima_follow(&s.W, paths, layer, config, NULL));
  for (ptrdiff_t k = 0; k < s.count; k++) {
    const ptrdiff_t which = ep_optima_nearest(o, ep_d(&s.W, k, 0), layer, config->merge);
    s.label[k] = paths[k].end == EP_END_DEAD      ? 0
                 : paths[k].end == EP_END_SETTLED ? (int)which + 1
                                                  : -1;
    if (paths[k].end == EP_END_SETTLED && which < 0) s.label[k] = -1;
  }
  EP_TRY(ep_figure_add(
      figure,
      &(ep_series){.name = "starts", .count = s.count, .x = s.a, .y = s.b, .label = s.label}));
  EP_TRY(name_basins(figure, o));
  EP_TRY(ep_json_put(figure, "named", json_true()));
  return add_optima(work, figure, o, &E);
}

ep_status ep_optima_map(json_t **out, const ep_optima *optima, const ep_layer *layer,
                        const ep_optima_config *config, uint64_t seed) {
  ep_work work = {0};
  EP_TRY(
      ep_figure_new(out, "map", EP_FIGURE_SCATTER, "Which optimum a start reaches",
                    "Starts on a slice of the sphere through the first three ends, coloured by "
                    "the end they reach; dead: the node answers to no point; not settled: or in an "
                    "end that is not in the table.",
                    (ep_axis){"along the first optimum", .log = false},
                    (ep_axis){"along the second", .log = false}));
  const ep_status st = map(&work, *out, optima, layer, config, seed);
  ep_work_free(&work);
  if (st) json_decref(*out), *out = NULL;
  return st;
}
