/* Lemma B.1, Theorem B.2, the bounds of section 3 (descent) and of eq. 111 to 121 (flow), beside what they bound.
 *
 * In the parametrisation of network.h, with n the width, J (points and outputs x parameters) and theta as they are here:
 *
 *   B.1   |J(theta)|_F <= K,   |J(theta) - J(theta~)|_F <= K |theta - theta~| / sqrt n
 *   57    |g_t| <= (1 - eta lambda/3)^t R0
 *   58    sum |theta_j - theta_{j-1}| <= 3 K R0 / lambda
 *   59    |K_t - K_0|_F <= 6 K^3 R0 / (lambda sqrt n)
 *   30    |D_{t+1} - D_t| <= 3 eta K^3 R0^2 / (lambda sqrt n) (1 - eta lambda/3)^t,      D = g_lin - g
 *   120   |D(t)| <= e^{-lambda eta t} a(t) exp(int b),  a' = eta e^{lambda eta s} |K_s - K_0| |g_lin(s)|,  b = eta |K_s - K_0| */
#include <eigenpair/lee.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>

enum { TIMES = 12, RANDOM = 4 }; /* Jacobians kept of the path; random points of the ball */

typedef struct {
  ep_supervised *d;
  ep_squared *s;
  const ep_mat *X, *Y;
  ep_mat K0, K, F0, F, L,
      Y1; /* (nZ x nZ), (nZ x nZ), (nZ x 1): start, network, linear model, Y; outputs of a point together */
  ep_mat J[TIMES + RANDOM], theta[TIMES + RANDOM];
  double *lambda;
} path;

static double room(void) { return fmin(1e9, 0.5 * ep_run_room()); }

/* J (nZ x parameters): a row an output of a point */
static ep_status jacobian(const ep_mat *J, const ep_net *net, const ep_mat *X) {
  const ptrdiff_t Z = net->shape.outputs;
  ep_mat g;
  ep_net row;
  EP_TRY(ep_mat_new(&g, EP_DOUBLE, 1, Z));
  ep_status st = ep_net_new(&row, &net->shape, EP_DOUBLE);
  if (st) return ep_mat_free(&g), st;
  for (ptrdiff_t i = 0; !st && i < X->rows * Z; i++) {
    const ep_mat x = ep_mat_rows(X, i / Z, 1), to = ep_mat_rows(J, i, 1);
    ep_mat_fill(&g, 0);
    *ep_d(&g, 0, i % Z) = 1;
    st = ep_ntk_pull(&row, net, &x, &g, room());
    if (!st) ep_mat_copy(&to, &row.theta);
  }
  ep_mat_free(&g);
  ep_net_free(&row);
  return st;
}

/* the outputs of the network below each other, into F (nZ x 1) */
static ep_status outputs(const ep_mat *F, const path *p) {
  const ep_mat each = ep_mat_view(EP_DOUBLE, p->Y->rows, p->Y->cols, F->data);
  return ep_supervised_outputs(&each, p->d, p->X);
}

static ep_status begin(ep_work *work, path *p, const ep_net_config *config, uint64_t seed) {
  const ptrdiff_t n = p->X->rows * p->Y->cols;
  EP_TRY(ep_supervised_new(&p->d, config, p->X, p->Y, false, seed));
  const ep_net *net = ep_supervised_net(p->d);
  ep_mat *square[] = {&p->K0, &p->K}, *column[] = {&p->F0, &p->F, &p->L, &p->Y1};
  for (int i = 0; i < 2; i++) EP_TRY(ep_work_mat(work, square[i], EP_DOUBLE, n, n));
  for (int i = 0; i < 4; i++) EP_TRY(ep_work_mat(work, column[i], EP_DOUBLE, n, 1));
  const ep_mat each = ep_mat_view(EP_DOUBLE, p->Y->rows, p->Y->cols, p->Y1.data);
  ep_mat_copy(&each, p->Y);
  for (int i = 0; i < TIMES + RANDOM; i++) {
    EP_TRY(ep_work_mat(work, &p->J[i], EP_DOUBLE, n, net->theta.cols));
    EP_TRY(ep_work_mat(work, &p->theta[i], EP_DOUBLE, 1, net->theta.cols));
  }
  EP_TRY(ep_work_get(work, &p->lambda, n, sizeof *p->lambda));
  EP_TRY(ep_ntk_joint(&p->K0, net, p->X, NULL, room()));
  EP_TRY(ep_squared_new(&p->s, &p->K0));
  return outputs(&p->F0, p);
}

/* |K - K_0| as an operator; K is used up */
static ep_status moved(double *norm, path *p) {
  const ptrdiff_t n = p->K.rows;
  ep_mat_axpy(&p->K, -1, &p->K0);
  EP_TRY(ep_mat_eig_sym(&p->K, p->lambda));
  *norm = fmax(fabs(p->lambda[0]), fabs(p->lambda[n - 1]));
  return EP_OK;
}

/* per step, before K is known: the left sides */
typedef struct {
  double g, step, kernel, op, D, change, linear;
} looks;

static ep_status look(looks *now, path *p, const ep_mat *before, double *last, double rate,
                      long t) {
  const ep_net *net = ep_supervised_net(p->d);
  EP_TRY(outputs(&p->F, p));
  EP_TRY(ep_squared_train(&p->L, p->s, &p->F0, &p->Y1, rate, (double)t, 1));
  now->g = sqrt(ep_mat_distance2(&p->F, &p->Y1));
  now->linear = sqrt(ep_mat_distance2(&p->L, &p->Y1));
  now->D = sqrt(ep_mat_distance2(&p->L, &p->F));
  double change = 0;
  for (ptrdiff_t i = 0; i < p->L.rows; i++) {
    const double D = *ep_d(&p->L, i, 0) - *ep_d(&p->F, i, 0);
    change += (D - last[i]) * (D - last[i]);
    last[i] = D;
  }
  now->change = sqrt(change);
  now->step = t ? sqrt(ep_mat_distance2(&net->theta, before)) : 0;
  EP_TRY(ep_ntk_joint(&p->K, net, p->X, NULL, room()));
  now->kernel = sqrt(ep_mat_distance2(&p->K, &p->K0));
  return moved(&now->op, p);
}

/* K of Lemma B.1 over the points that were kept */
static double lipschitz(const path *p, int count, double width) {
  double K = 0;
  for (int i = 0; i < count; i++) {
    K = fmax(K, sqrt(ep_mat_norm2(&p->J[i])));
    for (int j = 0; j < i; j++) {
      const double apart = sqrt(ep_mat_distance2(&p->theta[i], &p->theta[j]));
      const double change = sqrt(ep_mat_distance2(&p->J[i], &p->J[j]));
      if (apart > 1e-6 * sqrt(width)) K = fmax(K, sqrt(width) * change / apart);
    }
  }
  return K;
}

/* random points of the ball that the path reaches */
static ep_status random_points(path *p, double radius, uint64_t seed) {
  ep_net net;
  const ep_net *from = ep_supervised_start(p->d);
  EP_TRY(ep_net_new(&net, &from->shape, EP_DOUBLE));
  ep_status st = EP_OK;
  for (int i = TIMES; !st && i < TIMES + RANDOM; i++) {
    ep_random_fill_normal(&net.theta, seed, EP_STREAM_BATCH, (uint32_t)i);
    const double norm = sqrt(ep_mat_norm2(&net.theta));
    ep_mat_copy(&p->theta[i], &from->theta);
    ep_mat_axpy(&p->theta[i], radius / norm, &net.theta);
    ep_mat_copy(&net.theta, &p->theta[i]);
    st = jacobian(&p->J[i], &net, p->X);
  }
  ep_net_free(&net);
  return st;
}

/* |f_lin - f| with f_lin = f(theta_t) + J_0 (theta_t - theta_0), as printed, and with f(theta_0) */
static void misprint(ep_lee_bounds *out, const path *p) {
  const ep_net *now = ep_supervised_net(p->d), *start = ep_supervised_start(p->d);
  double printed = 0, right = 0;
  for (ptrdiff_t i = 0; i < p->F.rows; i++) {
    double along = 0;
    for (ptrdiff_t j = 0; j < now->theta.cols; j++)
      along += *ep_d(&p->J[0], i, j) * (*ep_d(&now->theta, 0, j) - *ep_d(&start->theta, 0, j));
    printed += along * along;
    right += pow(*ep_d(&p->F0, i, 0) + along - *ep_d(&p->F, i, 0), 2);
  }
  out->misprint = sqrt(printed), out->difference = sqrt(right);
}

/* measurement over bound, largest over the steps */
static void compare(ep_lee_bounds *out, const looks *at, long steps, double eta, double width) {
  const double K = out->K, R0 = out->R0, l = out->least, shrink = 1 - eta * l / 3;
  const double path_bound = 3 * K * R0 / l, kernel = 6 * pow(K, 3) * R0 / (l * sqrt(width));
  const double change = 3 * eta * pow(K, 3) * R0 * R0 / (l * sqrt(width));
  double sum = 0, steps_bound = 0, a = 0, b = 0;
  for (long t = 0; t <= steps; t++) {
    const looks *x = &at[t];
    const double time = eta * (double)t, decay = exp((double)t * log(shrink));
    sum += x->step;
    if (t) out->loss = fmax(out->loss, x->g / (decay * R0)); /* at the start they are equal */
    out->path = fmax(out->path, sum / path_bound);
    out->kernel = fmax(out->kernel, x->kernel / kernel);
    out->measured[1] = fmax(out->measured[1], x->kernel);
    out->measured[2] = fmax(out->measured[2], x->D);
    if (t == 0) continue;
    const double before = change * exp((double)(t - 1) * log(shrink));
    out->step = fmax(out->step, x->change / before);
    steps_bound += before;
    out->sum = fmax(out->sum, x->D / steps_bound);
    const looks *y = &at[t - 1];
    b += 0.5 * eta * (x->op + y->op);
    a +=
        0.5 * eta * (exp(l * time) * x->op * x->linear + exp(l * (time - eta)) * y->op * y->linear);
    if (x->D > 1e-10) out->gronwall = fmax(out->gronwall, x->D / (exp(b - l * time) * a));
  }
  out->measured[0] = sum;
  out->bounds[0] = path_bound, out->bounds[1] = kernel, out->bounds[2] = steps_bound;
}

static ep_status follow(ep_work *work, ep_lee_bounds *out, path *p, double share, long steps,
                        uint64_t seed) {
  const ep_net *net = ep_supervised_net(p->d);
  const double eta = share * ep_squared_critical_rate(p->s), width = (double)net->shape.width;
  looks *at;
  double *last, loss, radius = 0;
  ep_mat before;
  int kept = 0;
  EP_TRY(ep_work_get(work, &at, steps + 1, sizeof *at));
  EP_TRY(ep_work_get(work, &last, p->F.rows, sizeof *last));
  EP_TRY(ep_work_mat(work, &before, EP_DOUBLE, 1, net->theta.cols));
  for (long t = 0; t <= steps; t++) {
    EP_TRY(look(&at[t], p, &before, last, eta, t));
    if (kept < TIMES && t >= lround(pow((double)steps + 1, kept / (TIMES - 1.)) - 1)) {
      ep_mat_copy(&p->theta[kept], &net->theta);
      EP_TRY(jacobian(&p->J[kept++], net, p->X));
    }
    radius = fmax(radius, sqrt(ep_mat_distance2(&net->theta, &ep_supervised_start(p->d)->theta)));
    ep_mat_copy(&before, &net->theta);
    if (t < steps) EP_TRY(ep_supervised_steps(&loss, p->d, eta, 1, INFINITY));
  }
  EP_TRY(random_points(p, radius, seed));
  for (int i = kept; i < TIMES; i++) { /* a path of few steps */
    ep_mat_copy(&p->theta[i], &p->theta[0]);
    ep_mat_copy(&p->J[i], &p->J[0]);
  }
  const double *lambda = ep_squared_eigenvalues(p->s);
  out->least = lambda[0], out->most = lambda[p->F.rows - 1];
  out->R0 = at[0].g;
  out->K = fmax(1, lipschitz(p, TIMES + RANDOM, width));
  out->width = pow(18 * pow(out->K, 3) * out->R0 / (out->least * out->least), 2);
  compare(out, at, steps, eta, width);
  misprint(out, p);
  return EP_OK;
}

ep_status ep_lee_check(ep_lee_bounds *out, const ep_net_config *config, const ep_mat *X,
                       const ep_mat *Y, double share, long steps, uint64_t seed) {
  EP_CHECK(X->rows == Y->rows && steps >= TIMES, EP_ERR_SHAPE,
           "a target a point, and at least %d steps", TIMES);
  *out = (ep_lee_bounds){0};
  path p = {.X = X, .Y = Y};
  ep_work work = {0};
  ep_status st = begin(&work, &p, config, seed);
  if (!st) st = follow(&work, out, &p, share, steps, seed);
  ep_squared_free(p.s);
  ep_supervised_free(p.d);
  ep_work_free(&work);
  return st;
}
