#include "method/training.h"

#include "core/hash.h"
#include "core/mem.h"

#include <eigenpair/subspace.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* ---- trackers: more columns of the history */

/* |W(t) - W(0)|_F / |W(0)|_F and the same for all V together */
static ep_status track_weights(double *out, ep_training *t) {
  const ptrdiff_t w = t->net->shape.width * t->net->shape.outputs, all = t->start.cols;
  const ep_mat W0 = ep_mat_cols(&t->start, all - w, w), W = ep_mat_cols(&t->net->theta, all - w, w);
  const ep_mat V0 = ep_mat_cols(&t->start, 0, all - w), V = ep_mat_cols(&t->net->theta, 0, all - w);
  out[0] = sqrt(ep_mat_distance2(&W, &W0)) / t->start_w;
  out[1] = sqrt(ep_mat_distance2(&V, &V0)) / t->start_v; /* a rotation changes no distance */
  return EP_OK;
}

/* RankMe of the outputs at all points */
static ep_status track_rank(double *out, ep_training *t) {
  EP_TRY(ep_training_outputs(t));
  return ep_rankme(out, &t->F);
}

static const struct {
  const char *name;
  int columns;
  const char *column[2];
  ep_status (*value)(double *out, ep_training *t);
  bool needs_start;
} trackers[] = {
    {"weights", 2, {"w_change", "v_change"}, track_weights, true},
    {"rank", 1, {"rank"}, track_rank, false},
};
enum { TRACKERS = sizeof trackers / sizeof *trackers };

static const char *tracker_name(int i) { return i < TRACKERS ? trackers[i].name : NULL; }

/* "weights,rank" -> trackers and columns of the history; *start: one of them needs the first weights */
static ep_status parse_trackers(ep_training *t, bool *start) {
  ep_history *h = &t->info->history;
  const char *text = t->setup->fit.track;
  int count = 0;
  *h = (ep_history){.columns = 2, .name = {"epoch", "loss"}};
  t->trackers = ep_alloc(TRACKERS + 1, sizeof *t->trackers);
  EP_CHECK(t->trackers, EP_ERR_NOMEM, "no memory for trackers");
  while (*text) {
    char name[64];
    int which = 0;
    const size_t length = strcspn(text, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
    EP_TRY(ep_options_name(&which, NULL, "--track", name, tracker_name));
    for (int i = 0; i < count; i++)
      EP_CHECK(t->trackers[i] != which, EP_ERR_ARG, "--track names '%s' twice", name);
    for (int c = 0; c < trackers[which].columns; c++)
      h->name[h->columns++] = trackers[which].column[c];
    *start = *start || trackers[which].needs_start;
    t->trackers[count++] = which;
    text += length + (text[length] == ',');
  }
  t->trackers[count] = -1;
  return EP_OK;
}

ep_status ep_training_record(ep_training *t, double loss) {
  double row[16] = {(double)t->epoch, loss};
  for (ptrdiff_t *w = t->trackers, at = 2; *w >= 0; at += trackers[*w++].columns)
    EP_TRY(trackers[*w].value(row + at, t));
  for (int c = 0; c < t->info->history.columns; c++)
    EP_CHECK(isfinite(row[c]), EP_ERR_NUMERIC, "%s is not finite at epoch %ld",
             t->info->history.name[c], t->epoch);
  t->info->loss = loss;
  return ep_history_add(&t->info->history, row);
}

/* ---- setting up */

bool ep_training_full_batch(const ep_training *t) {
  return t->setup->fit.batch == 0 || t->setup->fit.batch >= t->points->pairs.anchors;
}

/* Weights, gradient and outputs have to fit before anything is allocated. */
static ep_status check_memory(const ep_training *t, ep_precision prec, bool start) {
  const ep_net_config *n = &t->setup->net;
  const double m = (double)n->width, d = (double)t->points->X.cols, z = (double)n->outputs;
  const double parameters = m * (d + m * (double)(n->depth - 1) + z);
  const double p = (double)t->points->X.rows, size = (double)ep_sizeof(prec);
  const double need = (double)ep_memory_current() + parameters * size * (start ? 3 : 2) +
                      p * z * 2 * (size + sizeof(double));
  EP_CHECK(n->init[0] || need <= ep_run_memory(&t->setup->run), EP_ERR_ARG,
           "a network of width %ld and depth %ld takes %.0f MiB with its gradient and the data, "
           "more than --memory",
           n->width, n->depth, ceil(need / 1048576));
  return EP_OK;
}

static ep_status start_network(ep_training *t, ep_precision prec) {
  const ep_run_config *run = &t->setup->run;
  EP_TRY(ep_net_start(t->whole, &t->setup->net, t->points->X.cols, (uint64_t)run->seed, prec));
  t->net = t->whole;
  t->X = t->points->X;
  if (t->setup->net.init[0])
    t->print = ep_hash(EP_HASH_START, t->whole->theta.data,
                       (size_t)t->whole->theta.cols * ep_sizeof(prec));
  if (!ep_training_full_batch(t) || !ep_rotation_pays(t->X.rows, t->X.cols)) return EP_OK;
  EP_TRY(ep_rotation_new(&t->rotation, &t->X));
  EP_TRY(ep_rotation_apply(&t->small, &t->rotation, t->whole));
  t->net = &t->small;
  t->X = t->rotation.X;
  return EP_OK;
}

static ep_status remember_start(ep_training *t) {
  const ptrdiff_t w = t->net->shape.width * t->net->shape.outputs;
  const ptrdiff_t all = t->whole->theta.cols;
  const ep_mat V = ep_mat_cols(&t->whole->theta, 0, all - w);
  EP_TRY(ep_mat_new(&t->start, t->net->theta.prec, 1, t->net->theta.cols));
  ep_mat_copy(&t->start, &t->net->theta);
  t->start_w = sqrt(ep_mat_norm2(&t->whole->W));
  t->start_v = sqrt(ep_mat_norm2(&V));
  return EP_OK;
}

ep_status ep_training_new(ep_training *t, ep_model *model, ep_fit_info *info,
                          const ep_points *points, const ep_setup *setup) {
  const ep_precision prec = points->X.prec;
  bool start = false;
  *t = (ep_training){.setup = setup, .points = points, .info = info, .whole = &model->net};
  t->clock = omp_get_wtime();
  EP_TRY(ep_objective_parse(&t->objective, &setup->objective));
  EP_TRY(ep_objective_check(&t->objective, &points->pairs));
  EP_TRY(parse_trackers(t, &start));
  EP_TRY(check_memory(t, prec, start));
  EP_TRY(start_network(t, prec));
  if (start) EP_TRY(remember_start(t));
  const ptrdiff_t p = points->X.rows, z = t->net->shape.outputs;
  EP_TRY(ep_net_new(&t->grad, &t->net->shape, prec));
  EP_TRY(ep_mat_new(&t->F, prec, p, z));
  EP_TRY(ep_mat_new(&t->dF, prec, p, z));
  EP_TRY(ep_mat_new(&t->F_double, EP_DOUBLE, p, z));
  EP_TRY(ep_mat_new(&t->dF_double, EP_DOUBLE, p, z));
  return setup->files.resume[0] ? ep_checkpoint_read(t, setup->files.resume) : EP_OK;
}

ep_status ep_training_finish(ep_training *t) {
  ep_fit_info *info = t->info;
  info->epochs = t->epoch;
  info->start = info->history.rows ? info->history.value[1] : NAN;
  info->seconds = ep_training_seconds(t);
  return t->net == t->whole ? EP_OK : ep_rotation_undo(t->whole, &t->rotation, &t->small);
}

void ep_training_free(ep_training *t) {
  ep_rotation_free(&t->rotation);
  ep_net_free(&t->small);
  ep_net_free(&t->grad);
  ep_mat_free(&t->start);
  ep_mat_free(&t->F);
  ep_mat_free(&t->dF);
  ep_mat_free(&t->F_double);
  ep_mat_free(&t->dF_double);
  ep_release(t->trackers);
}

double ep_training_memory(const ep_training *t) {
  const double loss = ep_objective_memory(&t->objective, &t->points->pairs, t->F.cols);
  return ep_run_memory(&t->setup->run) - (double)ep_memory_current() - loss;
}

ep_status ep_training_outputs(ep_training *t) {
  ep_stream *stream;
  if (t->outputs_current) return EP_OK;
  EP_TRY(ep_stream_new(&stream, &t->X, &t->net->shape, 1, EP_PASS_FORWARD, ep_training_memory(t)));
  ep_stream_forward(&t->F, stream, t->net);
  ep_stream_free(stream);
  t->outputs_current = true;
  return EP_OK;
}

/* ---- one evaluation, one step */

ep_status ep_training_evaluate(ep_training *t, double *loss, ep_stream *stream,
                               const ep_pairs *pairs, bool gradient) {
  const ptrdiff_t p = pairs->points;
  const ep_mat F = ep_mat_rows(&t->F, 0, p), F_double = ep_mat_rows(&t->F_double, 0, p);
  const ep_mat dF = ep_mat_rows(&t->dF, 0, p), dF_double = ep_mat_rows(&t->dF_double, 0, p);
  ep_stream_forward(&F, stream, t->net);
  t->outputs_current = ep_training_full_batch(t);
  ep_mat_copy(&F_double, &F);
  EP_TRY(ep_objective_value(loss, gradient ? &dF_double : NULL, &F_double, pairs, &t->objective));
  if (!gradient) return EP_OK;
  ep_mat_copy(&dF, &dF_double);
  ep_stream_backward(&t->grad, stream, t->net, &dF);
  return EP_OK;
}

bool ep_training_update(ep_training *t) {
  const double most = t->net->theta.prec == EP_SINGLE ? 1e30 : 1e150;
  const double step = t->setup->fit.rate * sqrt(ep_mat_norm2(&t->grad.theta));
  if (!(step < most)) return false; /* NaN too; weights stay far from overflow */
  ep_mat_axpy(&t->net->theta, -t->setup->fit.rate, &t->grad.theta);
  t->outputs_current = false;
  return true;
}

bool ep_training_diverged(const ep_training *t, double loss) {
  const ep_history *h = &t->info->history;
  return !isfinite(loss) || (h->rows && fabs(loss) > 1e10 * (1 + fabs(h->value[1])));
}

/* best loss of the last `patience` epochs against the best before them */
bool ep_training_converged(const ep_training *t) {
  const ep_history *h = &t->info->history;
  const ptrdiff_t before = h->rows - t->setup->fit.patience;
  double old = INFINITY, now = INFINITY;
  if (t->setup->fit.tolerance == 0 || before < 1) return false;
  for (ptrdiff_t r = 0; r < h->rows; r++) {
    double *best = r < before ? &old : &now;
    *best = fmin(*best, h->value[r * h->columns + 1]);
  }
  return now > old - t->setup->fit.tolerance * fabs(old);
}

double ep_training_seconds(const ep_training *t) {
  return t->seconds + (omp_get_wtime() - t->clock);
}
