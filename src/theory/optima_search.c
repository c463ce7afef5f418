/* Following starts to their ends. One step of a start w, y = A(w)w, top = largest |y| so far:
 *
 *   power   w <- (y + s w) / |.|,   s = shift top b                     shifted power iteration (OPTIMA eq. 94)
 *   flow    w <- (w + e (y - (w'y) w)) / |.|,   e = rate / (top b)      Euler step of dw/dt = (I - ww') A(w) w
 *
 * The shift keeps the iteration from turning round where C_alpha is indefinite. A(w)w jumps where w crosses the
 * hyperplane of a data point, and an optimum may lie on such a jump: there steps turn back on themselves, and b grows
 * with every turn until w settles; it shrinks again while w goes straight on, each time a little less far, for where
 * several hyperplanes meet w may go round without turning back. Where b had to grow w may have stopped short on a ridge
 * that still rises: it goes on from there with b = 1, until it settles twice at one place, or, where it wanders to and
 * fro, at the last of PLACES. The last time b grows with every step, so that w does settle, within merge / 5 of there. */
#include "theory/optima_step.h"

#include "core/crew.h"
#include "core/vector.h"

#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 32, PLACES = 12 }; /* starts that go through the data together */

const char *ep_search_name(int i) {
  static const char *const names[] = {"power", "flow", NULL};
  return names[i];
}

void ep_optima_starts(const ep_mat *W, uint64_t seed) {
  ep_random_fill_normal(W, seed, EP_STREAM_START, 8);
  for (ptrdiff_t k = 0; k < W->rows; k++) {
    double *w = ep_d(W, k, 0);
    const double norm = sqrt(ep_dot(w, w, W->cols));
    for (ptrdiff_t j = 0; j < W->cols; j++) w[j] = norm > 0 ? w[j] / norm : j == 0;
  }
}

/* ---- one start */

double ep_optima_advance(double *w, double *y, double *last, ep_momentum *m, ptrdiff_t d,
                         const ep_optima_config *c) {
  const double rho = ep_dot(w, y, d), power = c->search == EP_SEARCH_POWER;
  const double a = power ? 1 : c->rate / (m->top * m->brake);
  const double b = power ? c->shift * m->top * m->brake : 1 - a * rho;
  for (ptrdiff_t j = 0; j < d; j++) y[j] = a * y[j] + b * w[j];
  const double norm = sqrt(ep_dot(y, y, d));
  for (ptrdiff_t j = 0; j < d; j++) {
    const double next = y[j] / norm;
    y[j] = next - w[j];
    w[j] = next;
  }
  const bool turned = ep_dot(y, last, d) < 0;
  if (turned) m->brake *= 1.5, m->least *= 1.02;
  else m->brake = m->rests < 2 ? fmax(fmax(1, m->least), 0.95 * m->brake) : 1.01 * m->brake;
  memcpy(last, y, (size_t)d * sizeof *last);
  return sqrt(ep_dot(y, y, d));
}

/* A is at most (slope |x|)^2 */
double ep_optima_dead_level(const ep_layer *layer) {
  double most = 0;
  for (ptrdiff_t i = 0; i < layer->X.rows; i++)
    most = fmax(most, ep_dot(ep_d(&layer->X, i, 0), ep_d(&layer->X, i, 0), layer->X.cols));
  return ep_layer_power(layer) == 1 ? 1e-15 * most : 0;
}

static void close_path(ep_path *path, const double *w, const double *y, ptrdiff_t d) {
  const double rho = ep_dot(w, y, d), norm = sqrt(ep_dot(y, y, d));
  double sum = 0;
  for (ptrdiff_t j = 0; j < d; j++) sum += (y[j] - rho * w[j]) * (y[j] - rho * w[j]);
  path->lambda = rho;
  path->residual = norm > 0 ? sqrt(sum) / norm : 0;
}

/* ---- a block of starts */

typedef struct {
  const ep_mat *W;
  ep_path *paths;
  const ep_layer *layer;
  const ep_optima_config *config;
  const ep_mat *trace;
  double dead, total; /* level of dead starts; starts in all, for the progress */
  atomic_int status, done;
  char message[512]; /* of the thread that failed */
} search;

typedef struct {
  ep_mat W, Y, last, rest; /* (K, d) of the starts still under way, side by side */
  ep_momentum *m;
  ptrdiff_t *who; /* their place in the block */
} crowd;

static ep_status new_crowd(crowd *c, ep_work *work, ptrdiff_t k, ptrdiff_t d) {
  EP_TRY(ep_work_mat(work, &c->W, EP_DOUBLE, k, d));
  EP_TRY(ep_work_mat(work, &c->Y, EP_DOUBLE, k, d));
  EP_TRY(ep_work_mat(work, &c->last, EP_DOUBLE, k, d));
  EP_TRY(ep_work_mat(work, &c->rest, EP_DOUBLE, k, d));
  EP_TRY(ep_work_get(work, &c->m, k, sizeof *c->m));
  EP_TRY(ep_work_get(work, &c->who, k, sizeof *c->who));
  for (ptrdiff_t i = 0; i < k; i++) c->who[i] = i, c->m[i].brake = c->m[i].least = 1;
  return EP_OK;
}

static void copy_row(const ep_mat *to, ptrdiff_t i, const ep_mat *from, ptrdiff_t j) {
  memcpy(ep_d(to, i, 0), ep_d(from, j, 0), (size_t)to->cols * sizeof(double));
}

/* start a leaves; the last one takes its place */
static void leave(crowd *c, const ep_mat *W, ptrdiff_t a) {
  const ptrdiff_t z = c->W.rows - 1;
  copy_row(W, c->who[a], &c->W, a);
  if (a != z) {
    copy_row(&c->W, a, &c->W, z);
    copy_row(&c->Y, a, &c->Y, z);
    copy_row(&c->last, a, &c->last, z);
    copy_row(&c->rest, a, &c->rest, z);
    c->m[a] = c->m[z];
    c->who[a] = c->who[z];
  }
  c->W.rows = c->Y.rows = c->last.rows = c->rest.rows = z;
}

/* Settled for good? On a jump only after it has come to rest in one place twice; else it goes on from there. */
static bool arrived(crowd *c, ptrdiff_t a, double moved, const search *s) {
  ep_momentum *m = &c->m[a];
  const double near = s->config->merge / 10;
  double *w = ep_d(&c->W, a, 0), *rest = ep_d(&c->rest, a, 0);
  if (m->brake == 1 || m->rests == 2) return moved <= s->config->settle;
  if (moved > near / 50) return false;
  if (m->places == PLACES || (m->rests == 1 && ep_layer_angle(s->layer, w, rest) <= near)) {
    m->rests = 2;
    return moved <= s->config->settle;
  }
  memcpy(rest, w, (size_t)c->W.cols * sizeof *w);
  memset(ep_d(&c->last, a, 0), 0, (size_t)c->W.cols * sizeof *w);
  m->rests = 1;
  m->places++;
  m->brake = m->least = 1;
  return false;
}

/* Y is A(w)w of all in the crowd: one step of each; those that have arrived leave */
static void step_all(crowd *c, const ep_mat *W, ep_path *paths, ptrdiff_t first, const search *s,
                     long t) {
  const ptrdiff_t d = W->cols;
  for (ptrdiff_t a = c->W.rows - 1; a >= 0; a--) {
    ep_path *path = &paths[c->who[a]];
    double *w = ep_d(&c->W, a, 0), *y = ep_d(&c->Y, a, 0);
    const double norm = sqrt(ep_dot(y, y, d));
    close_path(path, w, y, d);
    path->iterations = t;
    if (!(norm > s->dead)) {
      path->end = EP_END_DEAD;
      leave(c, W, a);
      continue;
    }
    c->m[a].top = fmax(c->m[a].top, norm);
    const double moved = ep_optima_advance(w, y, ep_d(&c->last, a, 0), &c->m[a], d, s->config);
    if (s->trace && t < s->trace->cols) *ep_d(s->trace, first + c->who[a], t) = moved;
    if (!arrived(c, a, moved, s)) continue;
    path->end = EP_END_SETTLED;
    leave(c, W, a);
  }
}

/* The first thread speaks for all; the others see its status. */
static ep_status pulse(search *s, long t) {
  if (ep_crew_thread() == 0 && t % 16 == 0)
    EP_TRY(ep_run_step("starts", atomic_load(&s->done), s->total));
  return (ep_status)atomic_load(&s->status);
}

static ep_status follow_block(ep_work *work, const ep_mat *W, ep_path *paths, ptrdiff_t first,
                              search *s) {
  const ptrdiff_t d = W->cols;
  crowd c;
  EP_TRY(new_crowd(&c, work, W->rows, d));
  ep_mat_copy(&c.W, W);
  for (ptrdiff_t k = 0; k < W->rows; k++) paths[k] = (ep_path){.end = EP_END_UNSETTLED};
  for (long t = 0; c.W.rows > 0 && t < s->config->iterations; t++) {
    EP_TRY(pulse(s, t));
    EP_TRY(ep_layer_product(&c.Y, s->layer, &c.W, NULL, NULL));
    const ptrdiff_t before = c.W.rows;
    step_all(&c, W, paths, first, s, t);
    atomic_fetch_add(&s->done, (int)(before - c.W.rows));
  }
  while (c.W.rows > 0) leave(&c, W, c.W.rows - 1);
  return EP_OK;
}

static void run_block(search *s, ptrdiff_t first) {
  ep_work work = {0};
  const ep_mat rows = ep_mat_rows(s->W, first, ep_least(BLOCK, s->W->rows - first));
  const ep_status st = follow_block(&work, &rows, s->paths + first, first, s);
  ep_work_free(&work);
  int none = EP_OK;
  if (st && atomic_compare_exchange_strong(&s->status, &none, (int)st))
    snprintf(s->message, sizeof s->message, "%s", ep_last_error());
}

static void run_blocks(void *of, ptrdiff_t first, ptrdiff_t end) {
  search *s = of;
  for (ptrdiff_t b = first; b < end && !atomic_load(&s->status); b++) run_block(s, b * BLOCK);
}

ep_status ep_optima_follow(const ep_mat *W, ep_path *paths, const ep_layer *layer,
                           const ep_optima_config *config, const ep_mat *trace) {
  search s = {.W = W,
              .paths = paths,
              .layer = layer,
              .config = config,
              .trace = trace,
              .dead = ep_optima_dead_level(layer),
              .total = (double)W->rows};
  ep_crew_loop((W->rows + BLOCK - 1) / BLOCK, 1, true, run_blocks, &s);
  const ep_status st = (ep_status)atomic_load(&s.status);
  return st ? EP_FAIL(st, "%s", s.message) : EP_OK;
}
