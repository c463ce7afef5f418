/* Networks under descent, and the distance to their linearisation. */
#include "core/mem.h"

#include <eigenpair/stream.h>
#include <eigenpair/lee.h>
#include <eigenpair/run.h>
#include <math.h>

/* of streams and kernels */
static double memory(void) { return fmin(1e9, 0.5 * ep_run_room()); }

struct ep_supervised {
  ep_net net, start, gradient;
  ep_stream *stream;
  ep_mat Y, F; /* (n x Z) targets (plus f_0 if centred), outputs and then their derivative */
  bool centred;
  ep_supervised_loss loss;
};

double ep_supervised_residual(const ep_mat *F, const ep_mat *Y, ep_supervised_loss loss) {
  if (loss == EP_LOSS_SQUARED) {
    ep_mat_axpy(F, -1, Y); /* dL/df = f - Y */
    return 0.5 * ep_mat_norm2(F);
  }
  double sum = 0;
  for (ptrdiff_t i = 0; i < F->rows; i++)
    for (ptrdiff_t z = 0; z < F->cols; z++) {
      const double y = *ep_d(Y, i, z), a = y * *ep_d(F, i, z);
      sum += a > 0 ? log1p(exp(-a)) : log1p(exp(a)) - a;
      *ep_d(F, i, z) = -y / (1 + exp(a)); /* dL/df = -y / (1 + e^{yf}) */
    }
  return sum;
}

void ep_supervised_set_loss(ep_supervised *d, ep_supervised_loss loss) { d->loss = loss; }

static ep_status forward(const ep_mat *F, const ep_net *net, const ep_mat *X) {
  ep_stream *s;
  EP_TRY(ep_stream_new(&s, X, &net->shape, 1, EP_PASS_FORWARD, memory()));
  ep_stream_forward(F, s, net);
  ep_stream_free(s);
  return EP_OK;
}

static ep_status begin(ep_supervised *d, const ep_net *start, const ep_mat *X, const ep_mat *Y) {
  EP_CHECK(start->shape.outputs == Y->cols && start->shape.inputs == X->cols, EP_ERR_SHAPE,
           "a network of %td inputs and %td outputs for points of %td and targets of %td columns",
           start->shape.inputs, start->shape.outputs, X->cols, Y->cols);
  EP_TRY(ep_net_new(&d->net, &start->shape, EP_DOUBLE));
  EP_TRY(ep_net_new(&d->start, &start->shape, EP_DOUBLE));
  EP_TRY(ep_net_new(&d->gradient, &start->shape, EP_DOUBLE));
  ep_mat_copy(&d->net.theta, &start->theta);
  ep_mat_copy(&d->start.theta, &start->theta);
  EP_TRY(ep_mat_new(&d->Y, EP_DOUBLE, Y->rows, Y->cols));
  EP_TRY(ep_mat_new(&d->F, EP_DOUBLE, Y->rows, Y->cols));
  EP_TRY(ep_stream_new(&d->stream, X, &d->net.shape, 1000, EP_PASS_BACKWARD, memory()));
  if (d->centred) ep_stream_forward(&d->Y, d->stream, &d->net);
  ep_mat_axpy(&d->Y, 1, Y);
  return EP_OK;
}

ep_status ep_supervised_from(ep_supervised **out, const ep_net *start, const ep_mat *X,
                             const ep_mat *Y, bool centred) {
  *out = NULL;
  EP_CHECK(X->rows == Y->rows && X->prec == EP_DOUBLE && Y->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "%td points and %td targets, in double", X->rows, Y->rows);
  ep_supervised *d = ep_alloc(1, sizeof *d);
  EP_CHECK(d, EP_ERR_NOMEM, "no memory for a descent");
  d->centred = centred;
  const ep_status st = begin(d, start, X, Y);
  if (st) ep_supervised_free(d);
  else *out = d;
  return st;
}

ep_status ep_supervised_new(ep_supervised **out, const ep_net_config *config, const ep_mat *X,
                            const ep_mat *Y, bool centred, uint64_t seed) {
  ep_net start;
  *out = NULL;
  EP_TRY(ep_net_start(&start, config, X->cols, seed, EP_DOUBLE));
  const ep_status st = ep_supervised_from(out, &start, X, Y, centred);
  ep_net_free(&start);
  return st;
}

void ep_supervised_free(ep_supervised *d) {
  if (!d) return;
  ep_stream_free(d->stream);
  ep_net_free(&d->net);
  ep_net_free(&d->start);
  ep_net_free(&d->gradient);
  ep_mat_free(&d->Y);
  ep_mat_free(&d->F);
  ep_release(d);
}

const ep_net *ep_supervised_net(const ep_supervised *d) { return &d->net; }
const ep_net *ep_supervised_start(const ep_supervised *d) { return &d->start; }

ep_status ep_supervised_steps(double *loss, ep_supervised *d, double rate, long steps,
                              double limit) {
  for (long i = 0; i < steps; i++) {
    if (i % 256 == 255) EP_TRY(ep_run_step("steps", (double)i, (double)steps));
    ep_stream_forward(&d->F, d->stream, &d->net);
    *loss = ep_supervised_residual(&d->F, &d->Y, d->loss);
    if (!(*loss <= limit)) return EP_OK;
    ep_stream_backward(&d->gradient, d->stream, &d->net, &d->F);
    ep_mat_axpy(&d->net.theta, -rate, &d->gradient.theta);
  }
  return EP_OK;
}

ep_status ep_supervised_outputs(const ep_mat *F, const ep_supervised *d, const ep_mat *X) {
  if (!d->centred) return forward(F, &d->net, X);
  ep_work work = {0};
  ep_mat F0;
  ep_status st = ep_work_mat(&work, &F0, EP_DOUBLE, F->rows, F->cols);
  if (!st) st = forward(F, &d->net, X);
  if (!st) st = forward(&F0, &d->start, X);
  if (!st) ep_mat_axpy(F, -1, &F0);
  ep_work_free(&work);
  return st;
}

/* ---- Lee's quantities */

/* The linear model beside it: f_lin(x; t) = f_0(x) + K_0(x, X) c(t), c <- c - eta dL/df(f_lin(X)). */
typedef struct {
  ep_supervised *d;
  ep_supervised_loss loss;
  double rate;
  const ep_mat *X, *test, *Y;
  ep_mat K0, K, Kx; /* (n Z x n Z), (n Z x n Z), (m Z x n Z) */
  ep_mat F0, F, c;  /* (n x Z): outputs of the linear model at the start and now, coefficients */
  ep_mat f0, f;     /* (m x Z): outputs at the test points: start, now */
} lee;

/* all outputs below each other */
static ep_mat flat(const ep_mat *A) {
  return ep_mat_view(EP_DOUBLE, A->rows * A->cols, 1, A->data);
}

static ep_status lee_begin(ep_work *work, lee *l, const ep_net_config *config, uint64_t seed) {
  const ptrdiff_t Z = l->Y->cols, n = l->X->rows, m = l->test->rows;
  EP_TRY(ep_supervised_new(&l->d, config, l->X, l->Y, false, seed));
  ep_supervised_set_loss(l->d, l->loss);
  const struct {
    ep_mat *to;
    ptrdiff_t rows, cols;
  } all[] = {{&l->K0, n * Z, n * Z}, {&l->K, n * Z, n * Z}, {&l->Kx, m * Z, n * Z}, {&l->F0, n, Z},
             {&l->F, n, Z},          {&l->c, n, Z},         {&l->f0, m, Z},         {&l->f, m, Z}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    EP_TRY(ep_work_mat(work, all[i].to, EP_DOUBLE, all[i].rows, all[i].cols));
  const ep_net *net = ep_supervised_net(l->d);
  EP_TRY(ep_ntk_joint(&l->K0, net, l->X, NULL, memory()));
  EP_TRY(ep_ntk_joint(&l->Kx, net, l->test, l->X, memory()));
  EP_TRY(forward(&l->F0, net, l->X));
  return forward(&l->f0, net, l->test);
}

static void linear_steps(lee *l, long steps) {
  const ep_mat F = flat(&l->F), c = flat(&l->c);
  for (long i = 0; i < steps; i++) {
    ep_mat_copy(&l->F, &l->F0);
    ep_mat_mul(&F, 1, &l->K0, EP_N, &c, EP_N, 1);
    ep_supervised_residual(&l->F, l->Y, l->loss);
    ep_mat_axpy(&l->c, -l->rate, &l->F);
  }
}

static ep_status lee_look(ep_lee *at, lee *l) {
  const ep_net *net = ep_supervised_net(l->d);
  const ep_mat f = flat(&l->f), c = flat(&l->c);
  EP_TRY(forward(&l->f, net, l->test));
  ep_mat_axpy(&l->f, -1, &l->f0);
  ep_mat_mul(&f, -1, &l->Kx, EP_N, &c, EP_N, 1);
  at->outputs = sqrt(ep_mat_norm2(&l->f));
  at->parameters = sqrt(ep_mat_distance2(&net->theta, &ep_supervised_start(l->d)->theta) /
                        (double)net->shape.width);
  EP_TRY(ep_ntk_joint(&l->K, net, l->X, NULL, memory()));
  at->kernel = sqrt(ep_mat_distance2(&l->K, &l->K0));
  return EP_OK;
}

static ep_status lee_follow(ep_lee_run *out, lee *l, double share, long steps) {
  long done = 0;
  ep_squared *s;
  EP_TRY(ep_squared_new(&s, &l->K0));
  out->critical = ep_squared_critical_rate(s);
  ep_squared_free(s);
  l->rate = out->rate = share * out->critical;
  for (int i = 0; i < EP_LEE_TIMES; i++) {
    const double end = pow((double)steps, (i + 1.0) / EP_LEE_TIMES);
    const long next = lround(end) > done ? lround(end) : done + 1;
    double loss;
    EP_TRY(ep_supervised_steps(&loss, l->d, out->rate, next - done, INFINITY));
    linear_steps(l, next - done);
    out->loss[done > 0] = loss;
    done = out->step[i] = next;
    ep_lee *at = &out->at[i];
    EP_TRY(lee_look(at, l));
    out->sup.outputs = fmax(out->sup.outputs, at->outputs);
    out->sup.parameters = fmax(out->sup.parameters, at->parameters);
    out->sup.kernel = fmax(out->sup.kernel, at->kernel);
  }
  return EP_OK;
}

ep_status ep_lee_follow(ep_lee_run *out, const ep_net_config *config, const ep_mat *X,
                        const ep_mat *Y, const ep_mat *test, ep_supervised_loss loss, double share,
                        long steps, uint64_t seed) {
  EP_CHECK(X->rows == Y->rows && X->cols == test->cols && steps >= EP_LEE_TIMES, EP_ERR_SHAPE,
           "a target a point, and at least %d steps", EP_LEE_TIMES);
  *out = (ep_lee_run){0};
  lee l = {.X = X, .Y = Y, .test = test, .loss = loss};
  ep_work work = {0};
  ep_status st = lee_begin(&work, &l, config, seed);
  if (!st) st = lee_follow(out, &l, share, steps);
  ep_supervised_free(l.d);
  ep_work_free(&work);
  return st;
}
