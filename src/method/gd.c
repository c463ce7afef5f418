/* Gradient descent on the whole network: theta <- theta - eta dL/dtheta. Theory: WIDE eq. 1-2. */
#include "method/methods.h"
#include "method/training.h"

#include "core/mem.h"

#include <eigenpair/stream.h>
#include <eigenpair/random.h>
#include <string.h>

/* ---- all pairs at once */

static ep_status evaluate(ep_training *t, double *loss, bool gradient) {
  return ep_training_pass(t, loss, t->method, &t->points->pairs, gradient);
}

static ep_status descend_full(ep_training *t) {
  ep_stream *stream;
  const double passes = 2.0 * (double)t->setup->fit.epochs + 1;
  const ep_mat X = ep_comm_rows(&t->X);
  EP_TRY(
      ep_stream_new(&stream, &X, &t->net->shape, passes, EP_PASS_BACKWARD, ep_training_memory(t)));
  t->info->block = ep_stream_block(stream);
  t->info->density = ep_stream_density(stream);
  t->method = stream;
  t->evaluate = evaluate;
  const ep_status st = ep_training_descend(t);
  ep_stream_free(stream);
  return st;
}

static ep_status diverge(ep_training *t) {
  t->info->outcome = EP_DIVERGED;
  return EP_OK;
}

/* ---- batches: row t of the history is the mean loss met during epoch t, row 0 that of the first
 * epoch's batches at the start */

typedef struct {
  ptrdiff_t *order; /* (N) anchors in this epoch's order */
  ptrdiff_t *point; /* (P) points of a batch */
  ptrdiff_t *place; /* (P) scratch of ep_pairs_batch */
  ep_mat X;         /* (P, D) rows of a batch */
  ptrdiff_t size;   /* anchors a batch */
  ptrdiff_t least;  /* a rest smaller than this goes with the batch before it */
} batches;

static ep_status new_batches(batches *b, ep_work *work, const ep_training *t) {
  const ptrdiff_t n = t->points->pairs.anchors, p = t->X.rows;
  b->size = t->setup->fit.batch;
  b->least =
      t->loss.value ? t->loss.least : ep_objective_least_anchors(&t->objective, &t->points->pairs);
  EP_CHECK(b->size >= b->least, EP_ERR_ARG, "--batch %td is too small: %s %s needs %td anchors",
           b->size, t->loss.value ? "method" : "loss",
           t->loss.value ? t->setup->fit.method : t->setup->objective.loss, b->least);
  const ptrdiff_t most = t->F.rows;
  EP_TRY(ep_work_get(work, &b->order, n, sizeof *b->order));
  EP_TRY(ep_work_get(work, &b->point, p, sizeof *b->point));
  EP_TRY(ep_work_get(work, &b->place, p, sizeof *b->place));
  EP_TRY(ep_work_mat(work, &b->X, t->X.prec, most, t->X.cols));
  for (ptrdiff_t i = 0; i < p; i++) b->place[i] = -1;
  return EP_OK;
}

/* the order of an epoch is a function of the seed and the epoch */
static void shuffle(batches *b, const ep_training *t, long epoch) {
  ep_random r = ep_random_new((uint64_t)t->setup->run.seed, EP_STREAM_BATCH, (uint32_t)epoch);
  ep_random_permutation(&r, b->order, t->points->pairs.anchors);
}

/* loss (and gradient) of the batch that begins at anchor `first` of the order */
static ep_status evaluate_batch(double *loss, ptrdiff_t *anchors, batches *b, ep_training *t,
                                ptrdiff_t first, bool gradient) {
  const ptrdiff_t left = t->points->pairs.anchors - first;
  ep_pairs pairs;
  ep_stream *stream = NULL;
  *anchors = left < b->size + b->least ? left : b->size;
  EP_TRY(ep_pairs_batch(&pairs, b->point, &t->points->pairs, b->order + first, *anchors, b->place));
  const ep_share mine = ep_comm_share(pairs.points);
  ep_mat X = ep_mat_rows(&b->X, 0, mine.count);
  ep_status st = ep_points_rows(&X, t->points, b->point + mine.first, 0);
  if (!st && !t->loss.value) st = ep_objective_check(&t->objective, &pairs);
  if (!st)
    st = ep_stream_new(&stream, &X, &t->net->shape, 2, EP_PASS_BACKWARD, ep_training_memory(t));
  if (!st) st = ep_training_pass(t, loss, stream, &pairs, gradient);
  if (!st) t->info->block = ep_stream_block(stream), t->info->density = ep_stream_density(stream);
  ep_stream_free(stream);
  ep_pairs_free(&pairs);
  return st;
}

static ep_status first_row(batches *b, ep_training *t) {
  const ptrdiff_t n = t->points->pairs.anchors;
  double sum = 0, loss;
  shuffle(b, t, 0);
  for (ptrdiff_t i = 0, count; i < n; i += count) {
    EP_TRY(evaluate_batch(&loss, &count, b, t, i, false));
    sum += loss * (double)count;
  }
  if (ep_training_diverged(t, sum / (double)n)) return diverge(t);
  return ep_training_record(t, sum / (double)n);
}

/* one epoch from batch t->batch on */
static ep_status epoch(batches *b, ep_training *t) {
  const ptrdiff_t n = t->points->pairs.anchors;
  double loss;
  shuffle(b, t, t->epoch);
  for (ptrdiff_t i = t->batch * b->size, count; i < n; i += count) {
    EP_TRY(evaluate_batch(&loss, &count, b, t, i, true));
    if (ep_training_diverged(t, loss) || !ep_training_update(t)) return diverge(t);
    t->loss_sum += loss * (double)count;
    t->batch++;
    if (i + count < n) EP_TRY(ep_training_between(t, false));
  }
  t->epoch++;
  EP_TRY(ep_training_record(t, t->loss_sum / (double)n));
  t->batch = 0;
  t->loss_sum = 0;
  return ep_training_between(t, true);
}

static ep_status descend_batches(ep_work *work, ep_training *t) {
  batches b;
  EP_TRY(new_batches(&b, work, t));
  if (t->info->history.rows == 0) EP_TRY(first_row(&b, t));
  while (t->info->outcome == EP_DONE && !ep_training_finished(t)) {
    EP_TRY(epoch(&b, t));
    if (t->info->outcome != EP_DONE || !ep_training_converged(t)) continue;
    t->info->outcome = EP_CONVERGED;
    EP_TRY(ep_trackers_end(t));
  }
  return EP_OK;
}

/* ---- */

/* of a batch; 0: outputs of all points are looked at on the way */
static ptrdiff_t most_points(const ep_training *t) {
  const ptrdiff_t least =
      t->loss.value ? t->loss.least : ep_objective_least_anchors(&t->objective, &t->points->pairs);
  const ptrdiff_t most =
      (t->setup->fit.batch + least) * (1 + ep_pairs_most_partners(&t->points->pairs));
  return ep_trackers_see_outputs(t) ? 0 : most;
}

static ep_status descend(ep_training *t) {
  if (ep_training_full_batch(t)) return descend_full(t);
  ep_work work = {0};
  const ep_status st = descend_batches(&work, t);
  ep_work_free(&work);
  return st;
}

ep_status ep_training_gd(ep_training *t) {
  EP_TRY(ep_training_network(t, ep_training_full_batch(t) && !t->project));
  if (t->project) EP_TRY(t->project(t));
  if (!ep_training_full_batch(t)) t->most_points = most_points(t);
  EP_TRY(ep_training_begin(t, &t->net->theta, &t->grad.theta, t->net->shape.outputs));
  EP_TRY(descend(t));
  return ep_training_finish(t);
}

ep_status ep_fit_gd(ep_model *model, ep_fit_info *info, const ep_points *points,
                    const ep_setup *setup) {
  ep_training t;
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = ep_training_gd(&t);
  ep_training_free(&t);
  return st;
}
