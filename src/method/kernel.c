/* Descent with the tangent kernel frozen (WIDE Lemma 9). The gradient of L with respect to the weights acts on the
 * outputs through K alone, so with K fixed the pair points are closed among themselves:
 *
 *   F(t) = F(0) + K Y(t),     Y <- Y - eta dL/dF   (euler)     dY/dt = -dL/dF   (flow)
 *
 * and a new point is f_0(x) + K(x, X) Y. K is the network's at its start (empirical: P Z x P Z numbers, or products
 * J (J'Y) where it does not fit or does not pay), or that of infinite width (analytic: K(x, y) I). */
#include "core/mem.h"
#include "kernel/empirical.h"
#include "method/methods.h"
#include "method/training.h"

#include <eigenpair/stream.h>
#include <eigenpair/ode.h>
#include <eigenpair/random.h>
#include <math.h>
#include <string.h>

typedef struct frozen frozen;
struct frozen {
  ep_mat Y;          /* (P, Z) double: what is trained */
  ep_mat Y_real, Yt; /* the same in the run's precision; (Z, P) its transpose */
  ep_mat F0;         /* (P, Z) outputs at the start */
  ep_mat Y0;         /* (P, Z) of a start drawn from the Gaussian process */
  ep_analytic kernel;
  ep_mat K;                                 /* (P, P) or (P, P Z^2) */
  ep_stream *stream;                        /* where K is not formed */
  void (*apply)(ep_training *t, frozen *k); /* t->F = K Y_real */
};

static void apply_small(ep_training *t, frozen *k) {
  for (ptrdiff_t i = 0; i < k->Y_real.rows; i++)
    for (ptrdiff_t z = 0; z < k->Y_real.cols; z++) ep_set(&k->Yt, z, i, ep_get(&k->Y_real, i, z));
  ep_mat_mul_skinny(&t->F, &k->K, &k->Yt);
}

static void apply_full(ep_training *t, frozen *k) {
  EP_PICK(t->F.prec, ep_ntk_full_apply)(&t->F, &k->K, &k->Y_real);
}

/* J (J' Y) */
static void apply_free(ep_training *t, frozen *k) {
  ep_stream_forward(&t->F, k->stream, t->net);
  ep_stream_backward(&t->grad, k->stream, t->net, &k->Y_real);
  ep_stream_tangent(&t->F, k->stream, t->net, &t->grad);
}

static ep_status evaluate(ep_training *t, double *loss, bool gradient) {
  frozen *k = t->method;
  ep_mat_copy(&k->Y_real, &k->Y);
  k->apply(t, k);
  ep_mat_axpy(&t->F, 1, &k->F0);
  t->outputs_current = true;
  return ep_training_loss(t, loss, &t->points->pairs, gradient);
}

/* ---- gradient flow: one epoch is the time `rate` */

/* dY = -dL/dF at F(0) + K Y */
static ep_status slope(double *dy, const double *y, double time, void *user) {
  ep_training *t = user;
  frozen *k = t->method;
  double loss;
  (void)time;
  EP_CHECK(!ep_run_stopped(), EP_ERR_INTERRUPTED, "interrupted at epoch %ld", t->epoch);
  if (y != k->Y.data) memcpy(k->Y.data, y, (size_t)t->state.cols * sizeof *y);
  EP_TRY(evaluate(t, &loss, true));
  for (ptrdiff_t i = 0; i < t->state.cols; i++) dy[i] = -*ep_d(&t->dF_double, 0, i);
  return EP_OK;
}

/* One epoch of the flow; asked to stop on the way, Y goes back to the epoch's start and the work is saved. */
static ep_status flow_epoch(ep_training *t, bool *reached, double *y, double *start) {
  frozen *k = t->method;
  const size_t bytes = (size_t)t->state.cols * sizeof *y;
  const double tol = t->setup->fit.flow_tolerance;
  ep_ode_info info;
  memcpy(start, k->Y.data, bytes);
  memcpy(y, k->Y.data, bytes);
  const ep_status st =
      ep_ode_flow(&info, y, t->state.cols, 0, t->setup->fit.rate, slope, t, tol, tol * 1e-2);
  memcpy(k->Y.data, st || !info.reached ? start : y, bytes);
  *reached = info.reached;
  if (st != EP_ERR_INTERRUPTED) return st;
  t->info->history.rows--; /* the epoch's own row will be made again */
  EP_TRY(ep_checkpoint_write(t));
  return EP_FAIL(st, "interrupted at epoch %ld", t->epoch);
}

static ep_status flow(ep_training *t, ep_work *work) {
  double *y, *start, loss;
  bool reached;
  EP_TRY(ep_work_get(work, &y, t->state.cols, sizeof *y));
  EP_TRY(ep_work_get(work, &start, t->state.cols, sizeof *start));
  for (;;) {
    EP_TRY(evaluate(t, &loss, false));
    if (ep_training_diverged(t, loss)) return t->info->outcome = EP_DIVERGED, EP_OK;
    EP_TRY(ep_training_record(t, loss));
    if (ep_training_converged(t)) return t->info->outcome = EP_CONVERGED, EP_OK;
    if (ep_training_finished(t)) return EP_OK;
    EP_TRY(flow_epoch(t, &reached, y, start));
    if (!reached) return t->info->outcome = EP_DIVERGED, EP_OK;
    t->epoch++;
    EP_TRY(ep_training_between(t, true));
  }
}

/* ---- the empirical kernel */

/* Form K, or go through the network each time? Bytes first, then operations. */
static bool form_pays(const ep_training *t) {
  const ep_net_shape *s = &t->net->shape;
  const double p = (double)t->X.rows, z = (double)s->outputs, m = (double)s->width;
  const double layers = (double)s->inputs * m + (s->depth - 1) * m * m,
               epochs = (double)t->setup->fit.epochs;
  const double form = p * p * z * z * m * s->depth + 2 * p * layers * (1 + z),
               formed = 2 * p * p * z * z;
  const double pass = 8 * p * layers;
  const bool fits = p * p * z * z * (double)ep_sizeof(t->X.prec) < 0.5 * ep_training_memory(t);
  return fits && form + epochs * formed < epochs * pass;
}

static ep_status start_empirical(ep_training *t, frozen *k) {
  const ptrdiff_t p = t->X.rows, z = t->net->shape.outputs;
  const double passes = 4.0 * (double)t->setup->fit.epochs + 1;
  const bool form = form_pays(t);
  if (form) {
    EP_TRY(ep_mat_new(&k->K, t->X.prec, p, p * z * z));
    const ep_mat K = ep_comm_rows(&k->K), X = ep_comm_rows(&t->X);
    EP_TRY(ep_ntk_empirical(NULL, &K, t->net, &X, ep_comm_columns(&t->X), EP_FULL,
                            ep_training_memory(t)));
    EP_TRY(ep_comm_gather(&k->K));
  }
  k->apply = form ? apply_full : apply_free;
  EP_TRY(ep_stream_new(&k->stream, &t->X, &t->net->shape, form ? 1 : passes,
                       form ? EP_PASS_FORWARD : EP_PASS_TANGENT, ep_training_memory(t)));
  ep_stream_forward(&k->F0, k->stream, t->net);
  t->info->block = ep_stream_block(k->stream);
  t->info->density = ep_stream_density(k->stream);
  return EP_OK;
}

/* ---- the analytic kernel */

/* K(X, X); ranks make their rows of it */
static ep_status all_pairs(const ep_mat *K, const ep_analytic *kernel, ep_analytic_kind kind,
                           const ep_mat *X) {
  const ep_mat rows = ep_comm_rows(K), x = ep_comm_rows(X);
  EP_TRY(ep_analytic_kernel(NULL, &rows, kernel, kind, &x, ep_comm_columns(X)));
  return ep_comm_gather(K);
}

/* A start drawn from the Gaussian process: F(0) = NNGP Y0, Y0 = L^{-T} xi, LL' = NNGP + tiny I */
static ep_status draw_start(ep_work *work, const ep_training *t, frozen *k) {
  const ptrdiff_t p = t->X.rows;
  ep_mat G, L, Y0;
  double top = 0;
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, p, p));
  EP_TRY(ep_work_mat(work, &L, EP_DOUBLE, p, p));
  EP_TRY(ep_work_mat(work, &Y0, EP_DOUBLE, p, k->F0.cols));
  EP_TRY(all_pairs(&G, &k->kernel, EP_NNGP, &t->X));
  ep_mat_copy(&L, &G);
  for (ptrdiff_t i = 0; i < p; i++) top = fmax(top, *ep_d(&G, i, i));
  for (ptrdiff_t i = 0; i < p; i++) *ep_d(&L, i, i) += 1e-10 * top;
  ep_random_fill_normal(&Y0, (uint64_t)t->setup->run.seed, EP_STREAM_START, 0);
  EP_TRY(ep_mat_cholesky(&L));
  ep_mat_solve_triangular(&Y0, &L, EP_T);
  ep_mat_copy(&k->Y0, &Y0);
  ep_mat_copy(&Y0, &k->Y0); /* as it will be in the file */
  ep_mat F;
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, p, k->F0.cols));
  ep_mat_mul(&F, 1, &G, EP_N, &Y0, EP_N, 0);
  ep_mat_copy(&k->F0, &F);
  return EP_OK;
}

static ep_status start_analytic(ep_training *t, frozen *k) {
  const ptrdiff_t p = t->X.rows;
  EP_TRY(ep_mat_new(&k->K, t->X.prec, p, p));
  EP_TRY(ep_mat_new(&k->Yt, t->X.prec, k->F0.cols, p));
  EP_TRY(all_pairs(&k->K, &k->kernel, EP_NTK, &t->X));
  k->apply = apply_small;
  if (t->net) { /* from the outputs of the network in --init */
    EP_TRY(ep_stream_new(&k->stream, &t->X, &t->net->shape, 1, EP_PASS_FORWARD,
                         ep_training_memory(t)));
    ep_stream_forward(&k->F0, k->stream, t->net);
    return EP_OK;
  }
  EP_TRY(ep_mat_new(&k->Y0, t->X.prec, p, k->F0.cols));
  ep_work work = {0};
  const ep_status st = draw_start(&work, t, k);
  ep_work_free(&work);
  return st;
}

/* ---- */

/* what the options say, or the network that the start comes from */
static ep_status set_analytic(ep_analytic *kernel, const ep_training *t) {
  if (t->net) return ep_analytic_of(kernel, &t->net->shape, EP_NTK);
  return ep_analytic_from(kernel, &t->setup->net, &t->setup->analytic, t->X.cols, EP_NTK);
}

static ep_status prepare(ep_training *t, frozen *k) {
  const bool analytic = t->setup->fit.kernel == EP_KERNEL_ANALYTIC;
  const ptrdiff_t p = t->X.rows;
  if (!analytic || t->setup->net.init[0] || t->model->lent.start)
    EP_TRY(ep_training_network(t, false));
  const ptrdiff_t z = t->net ? t->net->shape.outputs : t->setup->net.outputs;
  EP_TRY(ep_mat_new(&k->Y, EP_DOUBLE, p, z));
  EP_TRY(ep_mat_new(&k->Y_real, t->X.prec, p, z));
  EP_TRY(ep_mat_new(&k->F0, t->X.prec, p, z));
  const ep_mat state = ep_mat_view(EP_DOUBLE, 1, p * z, k->Y.data);
  EP_TRY(ep_training_begin(t, &state, &state, z));
  t->gradient = ep_mat_view(EP_DOUBLE, 1, p * z, t->dF_double.data);
  t->method = k;
  t->evaluate = evaluate;
  if (!analytic) return start_empirical(t, k);
  EP_TRY(set_analytic(&k->kernel, t));
  return start_analytic(t, k);
}

static ep_status descend(ep_training *t) {
  if (t->setup->fit.integrator == EP_INTEGRATOR_EULER) return ep_training_descend(t);
  ep_work work = {0};
  const ep_status st = flow(t, &work);
  ep_work_free(&work);
  return st;
}

/* what stands before it (a network, if any), sections of the kernel, sections of the process that drew the start */
static ep_status finish(ep_training *t, frozen *k) {
  const ep_psi none = {0};
  ep_mat X;
  ep_training_summary(t);
  ep_term *term = ep_model_add(t->model);
  term->outputs = k->Y.cols;
  EP_TRY(ep_mat_new(&term->C, t->X.prec, k->Y.rows, k->Y.cols));
  ep_mat_copy(&term->C, &k->Y);
  EP_TRY(ep_mat_new(&X, t->X.prec, t->X.rows, t->X.cols));
  ep_mat_copy(&X, &t->X);
  const bool analytic = k->apply == apply_small;
  ep_status st = analytic ? ep_sections_new(&term->map, &ep_map_ntk, &k->kernel, none, &X, false)
                          : ep_empirical_new(&term->map, t->whole, &X);
  ep_mat_free(&X);
  if (st || !k->Y0.data) return st;
  ep_term *start = ep_model_add(t->model);
  start->outputs = k->Y0.cols;
  start->C = k->Y0;
  k->Y0 = (ep_mat){0};
  ep_mat shared = *ep_sections_points(term->map);
  return ep_sections_new(&start->map, &ep_map_nngp, &k->kernel, none, &shared, true);
}

ep_status ep_fit_kernel(ep_model *model, ep_fit_info *info, const ep_points *points,
                        const ep_setup *setup) {
  ep_training t;
  frozen k = {0};
  ep_status st = ep_training_new(&t, model, info, points, setup);
  if (!st) st = prepare(&t, &k);
  if (!st) st = descend(&t);
  if (!st) st = finish(&t, &k);
  ep_stream_free(k.stream);
  ep_mat_free(&k.Y);
  ep_mat_free(&k.Y_real);
  ep_mat_free(&k.Yt);
  ep_mat_free(&k.F0);
  ep_mat_free(&k.Y0);
  ep_mat_free(&k.K);
  ep_training_free(&t);
  return st;
}
