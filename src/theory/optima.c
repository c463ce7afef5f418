/* From starts to a list of optima: search, merging, basins. What is measured of each is in optima_measure.c. */
#include "core/crew.h"
#include "core/mem.h"
#include "core/products.h"

#include <eigenpair/optima.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ep_option ep_optima_options[] = {EP_OPTIMA_OPTIONS(EP_OPT_ROW, ep_optima_config){0}};

/* p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2), over 1 + z^2/n */
void ep_wilson(double *low, double *high, ptrdiff_t count, ptrdiff_t n) {
  const double z = 1.959963984540054, m = (double)n, p = (double)count / m, z2 = z * z / m;
  const double centre = p + z2 / 2, half = z * sqrt(p * (1 - p) / m + z2 / (4 * m));
  *low = fmax(0, (centre - half) / (1 + z2));
  *high = fmin(1, (centre + half) / (1 + z2));
}

/* A(-w) = A(w): w and -w are one optimum */
static bool has_lines(const ep_layer *layer) { return ep_activation_mirrored(&layer->h); }

double ep_layer_angle(const ep_layer *layer, const double *v, const double *w) {
  double near2 = 0, far2 = 0; /* |v - w|^2, |v + w|^2 */
  for (ptrdiff_t j = 0; j < layer->X.cols; j++) {
    near2 += (v[j] - w[j]) * (v[j] - w[j]);
    far2 += (v[j] + w[j]) * (v[j] + w[j]);
  }
  if (has_lines(layer) && far2 < near2) near2 = far2;
  return 2 * asin(fmin(1, sqrt(near2) / 2));
}

ptrdiff_t ep_optima_nearest(const ep_optima *o, const double *w, const ep_layer *layer,
                            double merge) {
  ptrdiff_t best = -1;
  double least = merge;
  for (ptrdiff_t i = 0; i < o->count; i++) {
    const double angle = ep_layer_angle(layer, ep_d(&o->W, i, 0), w);
    if (angle <= least) least = angle, best = i;
  }
  return best;
}

/* ---- merging */

typedef struct {
  double lambda;
  ptrdiff_t start;
} ranked;

static int by_lambda(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->lambda != y->lambda) return x->lambda < y->lambda ? 1 : -1;
  return (x->start > y->start) - (x->start < y->start);
}

/* Ends by falling energy; one that is near no earlier optimum is a new one. */
static ep_status merge(ep_work *work, ep_optima *o, const ep_mat *W, const ep_path *paths,
                       const ep_layer *layer, double angle) {
  ranked *order;
  ptrdiff_t ends = 0;
  EP_TRY(ep_work_get(work, &order, W->rows, sizeof *order));
  for (ptrdiff_t k = 0; k < W->rows; k++) {
    o->label[k] = paths[k].end == EP_END_DEAD ? -1 : -2;
    o->dead += paths[k].end == EP_END_DEAD;
    o->unsettled += paths[k].end == EP_END_UNSETTLED;
    if (paths[k].end != EP_END_SETTLED) continue;
    order[ends++] = (ranked){paths[k].lambda, k};
    o->iterations += (double)paths[k].iterations;
  }
  if (ends) o->iterations /= (double)ends;
  qsort(order, (size_t)ends, sizeof *order, by_lambda);
  for (ptrdiff_t e = 0; e < ends; e++) {
    const ptrdiff_t k = order[e].start;
    ptrdiff_t which = ep_optima_nearest(o, ep_d(W, k, 0), layer, angle);
    if (which < 0) {
      which = o->count++;
      memcpy(ep_d(&o->W, which, 0), ep_d(W, k, 0), (size_t)W->cols * sizeof(double));
    }
    o->label[k] = which;
    o->optimum[which].count++;
  }
  return EP_OK;
}

/* Optima first, then ends that are held; each kind by falling basin, ties keep their order. Rows of W, labels follow. */
static ep_status sort_ends(ep_work *work, ep_optima *o) {
  ranked *order;
  ptrdiff_t *place;
  ep_mat W;
  ep_optimum *old;
  EP_TRY(ep_work_get(work, &order, o->count, sizeof *order));
  EP_TRY(ep_work_get(work, &place, o->count, sizeof *place));
  EP_TRY(ep_work_get(work, &old, o->count, sizeof *old));
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, o->count, o->W.cols));
  const ep_mat found = ep_mat_rows(&o->W, 0, o->count);
  ep_mat_copy(&W, &found);
  memcpy(old, o->optimum, (size_t)o->count * sizeof *old);
  for (ptrdiff_t i = 0; i < o->count; i++)
    order[i] = (ranked){(double)(old[i].count + (old[i].held ? 0 : o->starts)), i};
  qsort(order, (size_t)o->count, sizeof *order, by_lambda);
  for (ptrdiff_t i = 0; i < o->count; i++) {
    place[order[i].start] = i;
    o->optimum[i] = old[order[i].start];
    memcpy(ep_d(&o->W, i, 0), ep_d(&W, order[i].start, 0), (size_t)W.cols * sizeof(double));
  }
  for (ptrdiff_t k = 0; k < o->starts; k++)
    if (o->label[k] >= 0) o->label[k] = place[o->label[k]];
  return EP_OK;
}

/* Of w and -w the one whose entry of largest magnitude is positive. */
static void fix_signs(ep_optima *o) {
  for (ptrdiff_t i = 0; i < o->count; i++) {
    double *w = ep_d(&o->W, i, 0), big = 0;
    for (ptrdiff_t j = 0; j < o->W.cols; j++) big = fabs(w[j]) > fabs(big) ? w[j] : big;
    for (ptrdiff_t j = 0; j < o->W.cols && big < 0; j++) w[j] = -w[j];
  }
}

/* ---- all of it */

/* Is there room for A(w) and its eigenvectors, and for a block of starts, on every thread? */
static ep_status check_memory(const ep_layer *layer, const ep_run_config *run) {
  const double n = (double)layer->X.rows, d = (double)layer->X.cols;
  const bool uniform = ep_alpha_is_plain(&layer->alpha), views = layer->X2.data;
  const double search = uniform ? 32 * 512 * 5 : 32 * n * (views ? 7 : 4);
  const double matrix = 4 * d * d + (uniform ? 2048 * d : n * d * (views ? 4 : 2));
  const double weights =
      uniform ? 0 : ep_alpha_memory(&layer->alpha, layer->X.rows, 1, layer->X.cols);
  const double need = (double)ep_run_threads() * (8 * fmax(search, matrix) + weights);
  EP_CHECK((double)ep_memory_current() + need <= ep_run_memory(run), EP_ERR_ARG,
           "optima of %td points of dimension %td need %.0f MiB on %d threads, more than --memory: "
           "use --samples or fewer --threads",
           layer->X.rows, layer->X.cols, ceil(need / 1048576), ep_run_threads());
  return EP_OK;
}

typedef struct {
  ep_optima *o;
  const ep_layer *layer;
  const ep_optima_config *config;
  uint64_t seed;
  atomic_int status;
  char message[512];
} measure_loop;

/* The first thread speaks for all, but not of the searches within. */
static ep_status measure_one(measure_loop *l, ptrdiff_t i) {
  const ep_optima *o = l->o;
  if (ep_crew_thread() == 0) EP_TRY(ep_run_step("optima", (double)i, (double)o->count));
  const ep_run_hooks hooks = ep_run_quiet();
  const ep_status st = ep_optimum_measure(&o->optimum[i], l->layer, ep_d(&o->W, i, 0), l->config,
                                          l->seed + (uint64_t)i);
  ep_run_set_hooks(ep_run_current(), &hooks);
  return st;
}

/* factorisations on one thread, even of a single optimum: the bits do not depend on how many we are */
static void measure_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  measure_loop *l = of;
  const int threads = ep_solo_begin();
  for (ptrdiff_t i = first; i < end && !atomic_load(&l->status); i++) {
    const ep_status st = measure_one(l, i);
    int none = EP_OK;
    if (st && atomic_compare_exchange_strong(&l->status, &none, (int)st))
      snprintf(l->message, sizeof l->message, "%s", ep_last_error());
  }
  ep_solo_end(threads);
}

static ep_status measure_all(ep_optima *o, const ep_layer *layer, const ep_optima_config *config,
                             uint64_t seed) {
  measure_loop l = {.o = o, .layer = layer, .config = config, .seed = seed};
  ep_crew_loop(o->count, 1, true, measure_some, &l);
  const ep_status st = (ep_status)atomic_load(&l.status);
  return st ? EP_FAIL(st, "%s", l.message) : EP_OK;
}

static void count_basins(ep_optima *o) {
  for (ptrdiff_t i = 0; i < o->count; i++) {
    ep_optimum *p = &o->optimum[i];
    p->basin = (double)p->count / (double)o->starts;
    ep_wilson(&p->low, &p->high, p->count, o->starts);
    o->maximal += p->maximal;
    o->nearly += p->nearly;
    o->optima += !p->held;
  }
}

static ep_status find(ep_work *work, ep_optima *o, const ep_layer *layer,
                      const ep_optima_config *config, uint64_t seed) {
  ep_mat W;
  ep_path *paths;
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, o->starts, layer->X.cols));
  EP_TRY(ep_work_get(work, &paths, o->starts, sizeof *paths));
  ep_optima_starts(&W, seed);
  EP_TRY(ep_optima_follow(&W, paths, layer, config, NULL));
  EP_TRY(ep_mat_new(&o->W, EP_DOUBLE, o->starts, W.cols));
  o->optimum = ep_alloc(o->starts, sizeof *o->optimum);
  o->label = ep_alloc(o->starts, sizeof *o->label);
  EP_CHECK(o->optimum && o->label, EP_ERR_NOMEM, "no memory for %td optima", o->starts);
  EP_TRY(merge(work, o, &W, paths, layer, config->merge));
  o->W.rows = o->count;
  if (has_lines(layer)) fix_signs(o);
  EP_TRY(measure_all(o, layer, config, seed));
  count_basins(o);
  return sort_ends(work, o);
}

static ep_status optima_find(ep_optima *out, const ep_layer *layer, const ep_optima_config *config,
                             const ep_run_config *run) {
  *out = (ep_optima){.starts = config->starts};
  EP_TRY(ep_layer_check(layer));
  EP_TRY(check_memory(layer, run));
  ep_work work = {0};
  const ep_status st = find(&work, out, layer, config, (uint64_t)run->seed);
  ep_work_free(&work);
  if (st) ep_optima_free(out);
  return st;
}

ep_status ep_optima_find(ep_run *run, ep_optima *out, const ep_layer *layer,
                         const ep_optima_config *config, const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = optima_find(out, layer, config, settings);
  ep_run_leave(&scope);
  return st;
}

void ep_optima_free(ep_optima *o) {
  ep_mat_free(&o->W);
  ep_release(o->optimum);
  ep_release(o->label);
  *o = (ep_optima){0};
}
