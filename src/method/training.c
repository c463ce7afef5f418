#include "method/training.h"

#include "core/hash.h"

#include <math.h>
#include <omp.h>
#include <eigenpair/stream.h>

/* ---- setting up */

ep_status ep_training_new(ep_training *t, ep_model *model, ep_fit_info *info,
                          const ep_points *points, const ep_setup *setup) {
  *t = (ep_training){.setup = setup, .points = points, .info = info, .model = model};
  t->clock = omp_get_wtime();
  t->best = INFINITY;
  t->patient = ep_run_stopped();
  t->X = points->X;
  EP_TRY(ep_objective_parse(&t->objective, &setup->objective));
  if (model->lent.loss) t->loss = *model->lent.loss;
  else EP_TRY(ep_objective_check(&t->objective, &points->pairs));
  return ep_trackers_new(t);
}

bool ep_training_full_batch(const ep_training *t) {
  return t->setup->fit.batch == 0 || t->setup->fit.batch >= t->points->pairs.anchors;
}

/* Weights, gradient and outputs have to fit before anything is allocated. */
static ep_status check_memory(const ep_training *t) {
  const ep_net_config *n = &t->setup->net;
  ep_net_shape shape;
  EP_TRY(ep_net_shape_of(&shape, n, &t->setup->analytic, t->points->X.cols));
  const double z = (double)n->outputs, parameters = (double)ep_net_parameters(&shape);
  const bool whole = ep_training_full_batch(t);
  const double p = whole ? (double)t->points->X.rows : 0,
               size = (double)ep_sizeof(t->points->X.prec);
  const double need =
      (double)ep_memory_current() + parameters * size * 2 + p * z * 2 * (size + sizeof(double));
  EP_CHECK(
      n->init[0] || t->model->lent.start || need <= ep_run_memory(&t->setup->run), EP_ERR_ARG,
      "a network of width %ld and depth %ld takes %.0f MiB with its gradient and the data, more "
      "than --memory",
      (long)ep_net_widest(&shape), (long)shape.depth, ceil(need / 1048576));
  return EP_OK;
}

ep_status ep_training_network(ep_training *t, bool rotate) {
  const ep_precision prec = t->points->X.prec;
  EP_TRY(check_memory(t));
  EP_TRY(ep_model_add_network(t->model, &t->whole));
  EP_TRY(ep_net_begin(t->whole, t->model->lent.start, &t->setup->net, &t->setup->analytic,
                      t->X.cols, (uint64_t)t->setup->run.seed, prec));
  t->net = t->whole;
  if (t->setup->net.init[0] || t->model->lent.start)
    t->print = ep_hash(EP_HASH_START, t->whole->theta.data,
                       (size_t)t->whole->theta.cols * ep_sizeof(prec));
  if (rotate && ep_rotation_pays(t->X.rows, t->X.cols)) {
    EP_TRY(ep_rotation_new(&t->rotation, &t->X));
    EP_TRY(ep_rotation_apply(&t->small, &t->rotation, t->whole));
    t->net = &t->small;
    t->X = t->rotation.X;
  }
  return ep_net_new(&t->grad, &t->net->shape, prec);
}

ep_status ep_training_begin(ep_training *t, const ep_mat *state, const ep_mat *gradient,
                            ptrdiff_t outputs) {
  const ep_precision prec = t->points->X.prec;
  const ptrdiff_t all = t->points->X.rows, most = t->most_points;
  const ptrdiff_t p = most > 0 && most < all ? most : all;
  t->state = *state;
  t->gradient = *gradient;
  EP_TRY(ep_mat_new(&t->F, prec, p, outputs));
  EP_TRY(ep_mat_new(&t->dF, prec, p, outputs));
  EP_TRY(ep_mat_new(&t->F_double, EP_DOUBLE, p, outputs));
  EP_TRY(ep_mat_new(&t->dF_double, EP_DOUBLE, p, outputs));
  EP_TRY(ep_trackers_start(t));
  return t->setup->files.resume[0] ? ep_checkpoint_read(t, t->setup->files.resume) : EP_OK;
}

void ep_training_summary(ep_training *t) {
  ep_fit_info *info = t->info;
  info->epochs = t->epoch;
  info->start = info->history.rows ? info->history.value[1] : NAN;
  info->seconds = ep_training_seconds(t);
}

ep_status ep_training_finish(ep_training *t) {
  ep_training_summary(t);
  return t->net == t->whole ? EP_OK : ep_rotation_undo(t->whole, &t->rotation, &t->small);
}

void ep_training_free(ep_training *t) {
  ep_rotation_free(&t->rotation);
  ep_net_free(&t->small);
  ep_net_free(&t->grad);
  ep_mat_free(&t->F);
  ep_mat_free(&t->dF);
  ep_mat_free(&t->F_double);
  ep_mat_free(&t->dF_double);
  ep_trackers_free(t);
}

double ep_training_memory(const ep_training *t) {
  const double loss = t->loss.value
                          ? t->loss.memory
                          : ep_objective_memory(&t->objective, &t->points->pairs, t->F.cols);
  return ep_run_memory_left(&t->setup->run) - loss;
}

/* ---- one evaluation, one step */

ep_status ep_training_loss(ep_training *t, double *loss, const ep_pairs *pairs, bool gradient) {
  const ptrdiff_t p = pairs->points;
  const ep_mat F = ep_mat_rows(&t->F, 0, p), F_double = ep_mat_rows(&t->F_double, 0, p);
  const ep_mat dF = ep_mat_rows(&t->dF, 0, p), dF_double = ep_mat_rows(&t->dF_double, 0, p);
  ep_mat_copy(&F_double, &F);
  const ep_mat *const to = gradient ? &dF_double : NULL;
  EP_TRY(t->loss.value ? t->loss.value(loss, to, &F_double, pairs, t->loss.user)
                       : ep_objective_value(loss, to, &F_double, pairs, &t->objective));
  if (gradient) ep_mat_copy(&dF, &dF_double);
  return EP_OK;
}

void ep_training_loose_begin(const ep_training *t) {
  if (!t->patient) ep_run_loose_begin();
}

ep_status ep_training_loose_end(ep_training *t) {
  bool left = ep_run_loose_end() != EP_OK;
  EP_TRY(ep_comm_any(&left));
  if (!left) return EP_OK;
  EP_TRY(ep_checkpoint_write(t));
  return EP_FAIL(EP_ERR_INTERRUPTED, "interrupted at epoch %ld", t->epoch);
}

ep_status ep_training_pass(ep_training *t, double *loss, ep_stream *stream, const ep_pairs *pairs,
                           bool gradient) {
  const ep_mat F = ep_mat_rows(&t->F, 0, pairs->points), dF = ep_mat_rows(&t->dF, 0, pairs->points);
  const ep_mat mine = ep_comm_rows(&F), d_mine = ep_comm_rows(&dF);
  ep_training_loose_begin(t);
  ep_stream_forward(&mine, stream, t->net);
  EP_TRY(ep_training_loose_end(t));
  EP_TRY(ep_comm_gather(&F));
  t->outputs_current = ep_training_full_batch(t);
  EP_TRY(ep_training_loss(t, loss, pairs, gradient));
  if (!gradient) return EP_OK;
  ep_training_loose_begin(t);
  ep_stream_backward(&t->grad, stream, t->net, &d_mine);
  EP_TRY(ep_training_loose_end(t));
  return ep_comm_sum(&t->grad.theta);
}

ep_status ep_training_outputs(ep_training *t) {
  ep_stream *stream;
  if (t->outputs_current) return EP_OK;
  const ep_mat X = ep_comm_rows(&t->X), F = ep_comm_rows(&t->F);
  EP_TRY(ep_stream_new(&stream, &X, &t->net->shape, 1, EP_PASS_FORWARD, ep_training_memory(t)));
  ep_stream_forward(&F, stream, t->net);
  ep_stream_free(stream);
  t->outputs_current = true;
  return ep_comm_gather(&t->F);
}

bool ep_training_step_is_safe(const ep_training *t) {
  const double most = t->state.prec == EP_SINGLE ? 1e30 : 1e150;
  return t->setup->fit.rate * sqrt(ep_mat_norm2(&t->gradient)) < most; /* not if NaN */
}

bool ep_training_update(ep_training *t) {
  if (!ep_training_step_is_safe(t)) return false;
  ep_mat_axpy(&t->state, -t->setup->fit.rate, &t->gradient);
  if (t->project && t->project(t)) return false;
  t->outputs_current = false;
  return true;
}

ep_status ep_training_record(ep_training *t, double loss) {
  double row[16] = {(double)t->epoch, loss};
  EP_TRY(ep_trackers_record(row + 2, t));
  for (int c = 0; c < t->info->history.columns; c++)
    EP_CHECK(isfinite(row[c]), EP_ERR_NUMERIC, "%s is not finite at epoch %ld",
             t->info->history.name[c], t->epoch);
  t->info->loss = loss;
  return ep_history_add(&t->info->history, row);
}

/* ---- when to stop */

bool ep_training_finished(const ep_training *t) { return t->epoch >= t->setup->fit.epochs; }

bool ep_training_diverged(const ep_training *t, double loss) {
  const ep_history *h = &t->info->history;
  return !isfinite(loss) || (h->rows && fabs(loss) > 1e10 * (1 + fabs(h->value[1])));
}

/* best loss of the last `patience` epochs against the best before them */
bool ep_training_converged(ep_training *t) {
  const ep_history *h = &t->info->history;
  const ptrdiff_t before = h->rows - t->setup->fit.patience;
  double now = INFINITY;
  if (t->setup->fit.tolerance == 0 || before < 1) return false;
  for (; t->looked_at < before; t->looked_at++)
    t->best = fmin(t->best, h->value[t->looked_at * h->columns + 1]);
  for (ptrdiff_t r = before; r < h->rows; r++) now = fmin(now, h->value[r * h->columns + 1]);
  return now > t->best - t->setup->fit.tolerance * fabs(t->best);
}

double ep_training_seconds(const ep_training *t) {
  return t->seconds + (omp_get_wtime() - t->clock);
}

ep_status ep_training_between(ep_training *t, bool epoch_over) {
  const long every = t->setup->files.every;
  ep_run_progress("epoch", (double)t->epoch, (double)t->setup->fit.epochs);
  bool stopped = ep_run_stopped();
  EP_TRY(ep_comm_any(&stopped));
  if (stopped || (epoch_over && every > 0 && t->epoch % every == 0)) EP_TRY(ep_checkpoint_write(t));
  EP_CHECK(!stopped, EP_ERR_INTERRUPTED, "interrupted at epoch %ld", t->epoch);
  return EP_OK;
}

ep_status ep_training_descend(ep_training *t) {
  for (;;) {
    double loss;
    EP_TRY(t->evaluate(t, &loss, !ep_training_finished(t)));
    if (ep_training_diverged(t, loss)) return t->info->outcome = EP_DIVERGED, EP_OK;
    EP_TRY(ep_training_record(t, loss));
    if (ep_training_converged(t)) {
      t->info->outcome = EP_CONVERGED;
      return ep_trackers_end(t);
    }
    if (ep_training_finished(t)) return EP_OK;
    bool finite = true;
    if (t->step) EP_TRY(t->step(t, &finite));
    else finite = ep_training_update(t);
    if (!finite) return t->info->outcome = EP_DIVERGED, EP_OK;
    t->epoch++;
    EP_TRY(ep_training_between(t, true));
  }
}
