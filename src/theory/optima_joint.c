/* K nodes that share the weights of pairs. Node k ascends C_alpha[h(w_k'x)] with |w_k| = 1, and alpha is made from the
 * outputs of all K nodes together (OPTIMA eq. 2 and 5): with G = h'(WX') o (WX'), F = h(WX')' (N x K),
 *
 *   Y = 1/(2N^2) [ (D o (G L)) X - (D o E) X + (D' o E) X' ],   L made from F,  E = (G - G') D_r.
 *
 * With uniform weights the nodes do not see each other. Steps are those of one node, see optima_search.c. */
#include "theory/optima_step.h"

#include "core/crew.h"
#include "core/mem.h"
#include "core/vector.h"

#include <eigenpair/powerlaw.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Y */

static void transpose(const ep_mat *to, const ep_mat *from) {
  for (ptrdiff_t i = 0; i < to->rows; i++)
    for (ptrdiff_t k = 0; k < to->cols; k++) *ep_d(to, i, k) = *ep_d(from, k, i);
}

/* F (N x K) = h(X W') of these points */
static ep_status features(ep_mat *F, ep_work *work, const ep_layer *layer, const ep_mat *X,
                          const ep_mat *W) {
  ep_mat H;
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, W->rows, X->rows));
  EP_TRY(ep_work_mat(work, F, EP_DOUBLE, X->rows, W->rows));
  ep_layer_outputs(&H, layer, X, W);
  transpose(F, &H);
  return EP_OK;
}

typedef struct {
  ep_mat D, G; /* (K, N) slopes and gated values of one view */
} gated;

static ep_status new_gated(gated *g, ep_work *work, const ep_layer *layer, const ep_mat *X,
                           const ep_mat *W) {
  EP_TRY(ep_work_mat(work, &g->D, EP_DOUBLE, W->rows, X->rows));
  EP_TRY(ep_work_mat(work, &g->G, EP_DOUBLE, W->rows, X->rows));
  ep_layer_gate(&g->D, &g->G, layer, X, W, W);
  return EP_OK;
}

/* T (N x K) = L G', r the row sums of alpha */
static ep_status laplacian(ep_mat *T, double **r, ep_work *work, const ep_layer *layer,
                           const gated *g, const ep_mat *W) {
  const ptrdiff_t n = layer->X.rows, K = W->rows;
  const bool views = ep_alpha_of_views(&layer->alpha), twins = views && layer->X2.data;
  ep_mat F, F2 = {0}, B;
  EP_TRY(features(&F, work, layer, views || !layer->X0.data ? &layer->X : &layer->X0, W));
  if (twins) EP_TRY(features(&F2, work, layer, &layer->X2, W));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, n, K));
  EP_TRY(ep_work_mat(work, T, EP_DOUBLE, n, K));
  EP_TRY(ep_work_get(work, r, n, sizeof **r));
  transpose(&B, &g->G);
  return ep_alpha_apply(T, *r, NULL, &layer->alpha, &F, twins ? &F2 : NULL, &B);
}

static ep_status joint(ep_work *work, const ep_mat *Y, const ep_layer *layer, const ep_mat *W) {
  const double n = (double)layer->X.rows, share = 1 / (2 * n * n);
  const bool views = layer->X2.data;
  gated g, g2;
  ep_mat T;
  double *r;
  EP_TRY(new_gated(&g, work, layer, &layer->X, W));
  if (views) EP_TRY(new_gated(&g2, work, layer, &layer->X2, W));
  EP_TRY(laplacian(&T, &r, work, layer, &g, W));
  for (ptrdiff_t k = 0; k < W->rows; k++)
    for (ptrdiff_t i = 0; i < layer->X.rows; i++) {
      const double e = views ? r[i] * (*ep_d(&g.G, k, i) - *ep_d(&g2.G, k, i)) : 0;
      *ep_d(&g.D, k, i) *= *ep_d(&T, i, k) - e;
      if (views) *ep_d(&g2.D, k, i) *= e;
    }
  ep_mat_mul(Y, share, &g.D, EP_N, &layer->X, EP_N, 0);
  if (views) ep_mat_mul(Y, share, &g2.D, EP_N, &layer->X2, EP_N, 1);
  return EP_OK;
}

ep_status ep_layer_joint(const ep_mat *Y, const ep_layer *layer, const ep_mat *W) {
  ep_work work = {0};
  const ep_status st = joint(&work, Y, layer, W);
  ep_work_free(&work);
  return st;
}

/* ---- following */

typedef struct {
  const ep_mat *W;
  ep_path *paths;
  ptrdiff_t nodes;
  const ep_layer *layer;
  const ep_optima_config *config;
  double dead, layers;
  atomic_int status, done;
  char message[512];
} search;

/* one step of every node; the largest of them */
static double step_all(const ep_mat *W, const ep_mat *Y, const ep_mat *last, ep_momentum *m,
                       ep_path *paths, const search *s, long t) {
  const ptrdiff_t d = W->cols;
  double most = 0;
  for (ptrdiff_t k = 0; k < W->rows; k++) {
    double *w = ep_d(W, k, 0), *y = ep_d(Y, k, 0);
    const double norm = sqrt(ep_dot(y, y, d)), rho = ep_dot(w, y, d);
    paths[k] = (ep_path){.end = norm > s->dead ? EP_END_UNSETTLED : EP_END_DEAD,
                         .iterations = t,
                         .lambda = rho,
                         .residual = norm > 0 ? sqrt(fmax(0, 1 - rho * rho / (norm * norm))) : 0};
    if (paths[k].end == EP_END_DEAD) continue; /* no point sees it, and it moves no more */
    m[k].top = fmax(m[k].top, norm);
    if (2 * t > s->config->iterations) m[k].rests = 2;
    most = fmax(most, ep_optima_advance(w, y, ep_d(last, k, 0), &m[k], d, s->config));
  }
  return most;
}

static ep_status follow_layer(ep_work *work, const ep_mat *W, ep_path *paths, search *s) {
  ep_mat Y, last;
  ep_momentum *m;
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, W->rows, W->cols));
  EP_TRY(ep_work_mat(work, &last, EP_DOUBLE, W->rows, W->cols));
  EP_TRY(ep_work_get(work, &m, W->rows, sizeof *m));
  for (ptrdiff_t k = 0; k < W->rows; k++) m[k].brake = 1;
  double moved = INFINITY;
  for (long t = 0; moved > s->config->settle && t < s->config->iterations; t++) {
    if (ep_crew_thread() == 0 && t % 16 == 0)
      EP_TRY(ep_run_step("layers", atomic_load(&s->done), s->layers));
    EP_TRY((ep_status)atomic_load(&s->status));
    EP_TRY(ep_layer_joint(&Y, s->layer, W));
    moved = step_all(W, &Y, &last, m, paths, s, t);
  }
  for (ptrdiff_t k = 0; k < W->rows; k++)
    if (paths[k].end == EP_END_UNSETTLED && moved <= s->config->settle)
      paths[k].end = EP_END_SETTLED;
  atomic_fetch_add(&s->done, 1);
  return EP_OK;
}

static void follow_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  search *s = of;
  for (ptrdiff_t l = first; l < end && !atomic_load(&s->status); l++) {
    ep_work work = {0};
    const ep_mat rows = ep_mat_rows(s->W, l * s->nodes, s->nodes);
    const ep_status st = follow_layer(&work, &rows, s->paths + l * s->nodes, s);
    ep_work_free(&work);
    int none = EP_OK;
    if (st && atomic_compare_exchange_strong(&s->status, &none, (int)st))
      snprintf(s->message, sizeof s->message, "%s", ep_last_error());
  }
}

ep_status ep_joint_follow(const ep_mat *W, ep_path *paths, ptrdiff_t nodes, const ep_layer *layer,
                          const ep_optima_config *config) {
  const ptrdiff_t layers = W->rows / nodes;
  search s = {.W = W,
              .paths = paths,
              .nodes = nodes,
              .layer = layer,
              .config = config,
              .dead = ep_optima_dead_level(layer),
              .layers = (double)layers};
  ep_crew_loop(layers, 1, true, follow_some, &s);
  const ep_status st = (ep_status)atomic_load(&s.status);
  return st ? EP_FAIL(st, "%s", s.message) : EP_OK;
}

/* ---- what the layers hold */

/* row of `direction` within `angle` of w, -1: none */
static ptrdiff_t nearest(const ep_joint *j, const double *w, const ep_layer *layer, double angle) {
  for (ptrdiff_t a = 0; a < j->count; a++)
    if (ep_layer_angle(layer, ep_d(&j->direction, a, 0), w) <= angle) return a;
  return -1;
}

static void label_nodes(ep_joint *j, const ep_path *paths, const ep_layer *layer, double angle) {
  for (ptrdiff_t k = 0; k < j->W.rows; k++) {
    const double *w = ep_d(&j->W, k, 0);
    j->dead += paths[k].end == EP_END_DEAD;
    j->unsettled += paths[k].end == EP_END_UNSETTLED;
    j->label[k] = paths[k].end == EP_END_DEAD ? -1 : -2;
    if (paths[k].end != EP_END_SETTLED) continue;
    j->label[k] = nearest(j, w, layer, angle);
    if (j->label[k] >= 0) continue;
    memcpy(ep_d(&j->direction, j->count, 0), w, (size_t)j->W.cols * sizeof *w);
    j->label[k] = j->count++;
  }
}

static void count_layers(ep_joint *j) {
  for (ptrdiff_t a = 0; a < j->count; a++)
    for (ptrdiff_t l = 0; l < j->layers; l++) {
      bool there = false;
      for (ptrdiff_t k = 0; k < j->nodes; k++) there |= j->label[l * j->nodes + k] == a;
      j->held[a] += there;
      j->distinct[l] += there;
    }
}

/* directions by falling number of layers, ties in their order; labels follow */
static ep_status sort_directions(ep_work *work, ep_joint *j) {
  ptrdiff_t *place, *held;
  ep_mat old;
  EP_TRY(ep_work_get(work, &place, j->count, sizeof *place));
  EP_TRY(ep_work_get(work, &held, j->count, sizeof *held));
  EP_TRY(ep_work_mat(work, &old, EP_DOUBLE, j->count, j->W.cols));
  const ep_mat found = ep_mat_rows(&j->direction, 0, j->count);
  ep_mat_copy(&old, &found);
  memcpy(held, j->held, (size_t)j->count * sizeof *held);
  for (ptrdiff_t a = 0; a < j->count; a++)
    for (ptrdiff_t b = 0; b < j->count; b++)
      place[a] += held[b] > held[a] || (held[b] == held[a] && b < a);
  for (ptrdiff_t a = 0; a < j->count; a++) {
    j->held[place[a]] = held[a];
    memcpy(ep_d(&j->direction, place[a], 0), ep_d(&old, a, 0), (size_t)old.cols * sizeof(double));
  }
  for (ptrdiff_t k = 0; k < j->W.rows; k++)
    if (j->label[k] >= 0) j->label[k] = place[j->label[k]];
  return EP_OK;
}

static ep_status sum_up(ep_work *work, ep_joint *j) {
  double *value;
  EP_TRY(ep_work_get(work, &value, j->layers, sizeof *value));
  for (ptrdiff_t l = 0; l < j->layers; l++) value[l] = (double)j->distinct[l];
  ep_mean_interval(&j->mean, &j->low, &j->high, value, j->layers);
  return EP_OK;
}

static ep_status find(ep_work *work, ep_joint *j, const ep_layer *layer,
                      const ep_optima_config *config, uint64_t seed) {
  const ptrdiff_t rows = j->layers * j->nodes, d = layer->X.cols;
  ep_path *paths;
  EP_TRY(ep_work_get(work, &paths, rows, sizeof *paths));
  EP_TRY(ep_mat_new(&j->W, EP_DOUBLE, rows, d));
  EP_TRY(ep_mat_new(&j->direction, EP_DOUBLE, rows, d));
  j->label = ep_alloc(rows, sizeof *j->label);
  j->held = ep_alloc(rows, sizeof *j->held);
  j->distinct = ep_alloc(j->layers, sizeof *j->distinct);
  EP_CHECK(j->label && j->held && j->distinct, EP_ERR_NOMEM, "no memory for %td nodes", rows);
  ep_optima_starts(&j->W, seed);
  EP_TRY(ep_joint_follow(&j->W, paths, j->nodes, layer, config));
  label_nodes(j, paths, layer, config->merge);
  j->direction.rows = j->count;
  count_layers(j);
  EP_TRY(sort_directions(work, j));
  return sum_up(work, j);
}

/* outputs, gates and sums of a layer on every thread, and the scratch of its weights */
static ep_status check_memory(const ep_layer *layer, ptrdiff_t nodes, const ep_run_config *run) {
  const double n = (double)layer->X.rows, k = (double)nodes;
  const double need =
      ep_run_threads() *
      (8 * 12 * n * k + ep_alpha_memory(&layer->alpha, layer->X.rows, nodes, nodes));
  EP_CHECK((double)ep_memory_current() + need <= ep_run_memory(run), EP_ERR_ARG,
           "layers of %td nodes on %td points need %.0f MiB, more than --memory: use --samples or "
           "fewer --threads",
           nodes, layer->X.rows, ceil(need / 1048576));
  return EP_OK;
}

static ep_status joint_find(ep_joint *out, const ep_layer *layer, const ep_optima_config *config,
                            const ep_run_config *run) {
  *out = (ep_joint){.layers = config->starts, .nodes = config->nodes};
  EP_TRY(ep_layer_check(layer));
  EP_TRY(check_memory(layer, config->nodes, run));
  ep_work work = {0};
  const ep_status st = find(&work, out, layer, config, (uint64_t)run->seed);
  ep_work_free(&work);
  if (st) ep_joint_free(out);
  return st;
}

ep_status ep_joint_find(ep_run *run, ep_joint *out, const ep_layer *layer,
                        const ep_optima_config *config, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = joint_find(out, layer, config, settings);
  ep_run_leave(&scope);
  return st;
}

void ep_joint_free(ep_joint *j) {
  ep_mat_free(&j->W);
  ep_mat_free(&j->direction);
  ep_release(j->held);
  ep_release(j->label);
  ep_release(j->distinct);
  *j = (ep_joint){0};
}
