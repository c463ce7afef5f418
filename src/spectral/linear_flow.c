/* The learning-dynamics equation (LINEAR Theorem 2), by an integrator, by the paper's steps, and exactly for z = 1. */
#include <eigenpair/linear.h>
#include <eigenpair/ode.h>
#include <eigenpair/run.h>
#include <math.h>
#include <string.h>

typedef struct {
  const double *lambda;
  double top;       /* max |lambda| */
  double positive;  /* max lambda, or 0 */
  ptrdiff_t d, z;   /* of q */
  ep_mat L;         /* (d, z) Lam q */
  ep_mat G, S, H;   /* (z, z) q'q, 2 I - q'q, and what q is multiplied with from the right */
  ep_mat V;         /* (z, z) eigenvectors of q'q */
  double *g;        /* (z) its eigenvalues */
  double done, all; /* time */
} flow;

static ep_status new_flow(flow *f, ep_work *work, const ep_mat *q, const double *lambda) {
  const ptrdiff_t d = q->rows, z = q->cols;
  *f = (flow){.lambda = lambda, .d = d, .z = z};
  for (ptrdiff_t i = 0; i < d; i++) {
    f->top = fmax(f->top, fabs(lambda[i]));
    f->positive = fmax(f->positive, lambda[i]);
  }
  EP_TRY(ep_work_mat(work, &f->L, EP_DOUBLE, d, z));
  EP_TRY(ep_work_mat(work, &f->G, EP_DOUBLE, z, z));
  EP_TRY(ep_work_mat(work, &f->S, EP_DOUBLE, z, z));
  EP_TRY(ep_work_mat(work, &f->H, EP_DOUBLE, z, z));
  EP_TRY(ep_work_mat(work, &f->V, EP_DOUBLE, z, z));
  return ep_work_get(work, &f->g, z, sizeof *f->g);
}

/* L = Lam q, G = q'q, S = 2 I - G, H = q' Lam q */
static void products(flow *f, const ep_mat *q) {
  for (ptrdiff_t i = 0; i < f->d; i++)
    for (ptrdiff_t j = 0; j < f->z; j++) *ep_d(&f->L, i, j) = f->lambda[i] * *ep_d(q, i, j);
  ep_mat_mul(&f->G, 1, q, EP_T, q, EP_N, 0);
  ep_mat_mul(&f->H, 1, q, EP_T, &f->L, EP_N, 0);
  for (ptrdiff_t i = 0; i < f->z; i++)
    for (ptrdiff_t j = 0; j < f->z; j++) *ep_d(&f->S, i, j) = 2 * (i == j) - *ep_d(&f->G, i, j);
}

/* q'q obeys dG/dt = -4 [ (I-G)H + H(I-G) ]: where H > 0 G = I is left at the rate 8 |H| <= 8 max lambda, below I
 * towards 0, above it to infinity. Rounding must not decide for the latter, so what exceeds I is damped at twice that
 * rate: H -= 4 max lambda (G - I)_+. */
static ep_status pull_back(flow *f) {
  double trace = 0;
  for (ptrdiff_t i = 0; i < f->z; i++) trace += *ep_d(&f->G, i, i);
  if (trace <= 1 || f->positive == 0) return EP_OK;
  ep_mat_copy(&f->V, &f->G);
  EP_TRY(ep_mat_eig_sym(&f->V, f->g));
  for (ptrdiff_t k = 0; k < f->z; k++) {
    const double excess = 4 * f->positive * (f->g[k] - 1);
    const double *v = ep_d(&f->V, k, 0);
    if (excess <= 0) continue;
    for (ptrdiff_t i = 0; i < f->z; i++)
      for (ptrdiff_t j = 0; j < f->z; j++) *ep_d(&f->H, i, j) -= excess * v[i] * v[j];
  }
  return EP_OK;
}

/* dq = -c [ Lam q (2 I - q'q) - q q' Lam q ] + beta dq */
static void slope(const ep_mat *dq, double c, double beta, const flow *f, const ep_mat *q) {
  ep_mat_mul(dq, -c, &f->L, EP_N, &f->S, EP_N, beta);
  ep_mat_mul(dq, c, q, EP_N, &f->H, EP_N, 1);
}

static ep_status right_hand_side(double *dy, const double *y, double t, void *user) {
  flow *f = user;
  double *at = (double *)(uintptr_t)y; /* a view takes no const; it is only read */
  const ep_mat q = ep_mat_view(EP_DOUBLE, f->d, f->z, at),
               dq = ep_mat_view(EP_DOUBLE, f->d, f->z, dy);
  if (!isfinite(ep_mat_max(&q))) { /* too long a step: the integrator tries a shorter one */
    ep_mat_fill(&dq, NAN);
    return EP_OK;
  }
  EP_TRY(ep_run_step("time", f->done + t, f->all));
  products(f, &q);
  EP_TRY(pull_back(f));
  slope(&dq, 2, 0, f, &q);
  return EP_OK;
}

/* |q|_2 <= 1, but for the rounding of a file in single precision */
static ep_status check_start(const ep_mat *q, double t) {
  EP_CHECK(q->prec == EP_DOUBLE && q->ld == q->cols, EP_ERR_SHAPE, "q has to be in double");
  EP_CHECK(t >= 0 && isfinite(t), EP_ERR_ARG, "time %g is not a finite number from 0 on", t);
  double sigma = 0;
  ep_work work = {0};
  double *all;
  ep_status st = ep_work_get(&work, &all, q->rows < q->cols ? q->rows : q->cols, sizeof *all);
  if (!st) st = ep_linear_spectrum(all, NULL, 0, q);
  if (!st) sigma = all[0];
  ep_work_free(&work);
  if (st) return st;
  EP_CHECK(sigma <= 1 + 1e-6, EP_ERR_INPUT,
           "q has a singular value of %.9g: q = U'W_1'W_2 with orthonormal W_1 and W_2 has none "
           "above 1",
           sigma);
  return EP_OK;
}

/* An explicit integrator needs about max|lambda| t steps to be stable, in stretches, for it counts them. Past STIFF of
 * them, as with data that are not scaled, the implicit one takes over, whose steps grow as the flow comes to rest. */
static ep_status integrate(const ep_mat *q, ep_linear_info *info, flow *f, double tolerance) {
  enum { STRETCH = 1000, STIFF = 10000 };
  const bool stiff = f->top * f->all > STIFF;
  const double most = f->top > 0 && !stiff ? STRETCH / f->top : f->all;
  const double stretches = f->all > most ? ceil(f->all / most) : 1, dt = f->all / stretches;
  for (double k = 0; k < stretches; k++) {
    ep_ode_info one;
    f->done = k * dt;
    EP_TRY((stiff ? ep_ode_stiff : ep_ode_flow)(&one, q->data, f->d * f->z, 0, dt, right_hand_side,
                                                f, tolerance, tolerance * 1e-2));
    info->evaluations += one.evaluations;
    EP_CHECK(one.reached, EP_ERR_NUMERIC,
             "the integrator stopped at time %g of %g, with eigenvalues of C up to %.3g: scale the "
             "data (--scale unit) or lower --rate",
             f->done + one.t, f->all, f->top);
  }
  return EP_OK;
}

ep_status ep_linear_flow(const ep_mat *q, ep_linear_info *info, const double *lambda, double t,
                         double tolerance) {
  *info = (ep_linear_info){0};
  EP_TRY(check_start(q, t));
  if (t == 0) return EP_OK;
  flow f;
  ep_work work = {0};
  ep_status st = new_flow(&f, &work, q, lambda);
  f.all = t;
  if (!st) st = integrate(q, info, &f, tolerance);
  ep_work_free(&work);
  return st;
}

ep_status ep_linear_steps(const ep_mat *q, const double *lambda, double rate, long count) {
  EP_CHECK(q->prec == EP_DOUBLE && isfinite(ep_mat_max(q)), EP_ERR_INPUT,
           "q has to be finite and in double");
  flow f;
  ep_mat next;
  ep_work work = {0};
  ep_status st = new_flow(&f, &work, q, lambda);
  if (!st) st = ep_work_mat(&work, &next, EP_DOUBLE, q->rows, q->cols);
  for (long i = 0; !st && i < count; i++) {
    if (i % 64 == 0) st = ep_run_step("steps", (double)i, (double)count);
    products(&f, q);
    ep_mat_copy(&next, q);
    slope(&next, rate, 1, &f, q);
    ep_mat_copy(q, &next);
  }
  ep_work_free(&work);
  if (!st && !isfinite(ep_mat_max(q)))
    st = EP_FAIL(EP_ERR_NUMERIC, "steps at rate %g diverged: lower it", rate);
  return st;
}

/* ---- z = 1. q = sqrt(rho) v/|v|, v = exp(-Lam s) q(0). With n(s) = |v|^2:
 *
 *   rho^2/(1 - rho) = n(s)^2/(1 - rho_0),   dt = ds / (2 (2 - rho)) */

typedef struct {
  const double *lambda, *q0;
  ptrdiff_t d;
  double rest; /* log(1 - rho_0), -INFINITY for rho_0 = 1 */
} line;

/* max over i with q_i != 0 of -lambda_i s: what exponents are taken relative to */
static double largest(const line *l, double s) {
  double top = -INFINITY;
  for (ptrdiff_t i = 0; i < l->d; i++)
    if (l->q0[i] != 0) top = fmax(top, -l->lambda[i] * s);
  return top;
}

static double log_n(const line *l, double s) {
  const double top = largest(l, s);
  double sum = 0;
  for (ptrdiff_t i = 0; i < l->d; i++) {
    const double v = l->q0[i];
    if (v != 0) sum += v * v * exp(2 * (-l->lambda[i] * s - top));
  }
  return log(sum) + 2 * top;
}

/* rho^2 + c rho - c = 0, c = n^2/(1 - rho_0) */
static double rho_at(const line *l, double s) {
  const double log_c = 2 * log_n(l, s) - l->rest;
  return 2 / (1 + sqrt(1 + exp(log(4) - log_c)));
}

static ep_status clock_slope(double *ds, const double *s, double t, void *user) {
  (void)t;
  *ds = 2 * (2 - rho_at(user, *s));
  return EP_OK;
}

static ep_status along(ep_work *work, const ep_mat *q, const double *lambda, double t) {
  const ptrdiff_t d = q->rows;
  double *q0, s = 0, rho0 = ep_mat_norm2(q);
  ep_ode_info info = {.reached = true};
  EP_TRY(ep_work_get(work, &q0, d, sizeof *q0));
  for (ptrdiff_t i = 0; i < d; i++) q0[i] = *ep_d(q, i, 0);
  const line l = {lambda, q0, d, rho0 < 1 ? log1p(-rho0) : -INFINITY};
  if (rho0 >= 1) s = 2 * t;
  else EP_TRY(ep_ode_flow(&info, &s, 1, 0, t, clock_slope, (void *)(uintptr_t)&l, 1e-13, 1e-15));
  EP_CHECK(info.reached, EP_ERR_NUMERIC, "the integrator stopped at time %g of %g", info.t, t);
  const double top = largest(&l, s); /* relative to it, no digit is lost at large times */
  double sum = 0;
  for (ptrdiff_t i = 0; i < d; i++) {
    *ep_d(q, i, 0) = q0[i] != 0 ? q0[i] * exp(-lambda[i] * s - top) : 0;
    sum += *ep_d(q, i, 0) * *ep_d(q, i, 0);
  }
  const double scale = sqrt(rho_at(&l, s) / sum);
  for (ptrdiff_t i = 0; i < d; i++) *ep_d(q, i, 0) *= scale;
  return EP_OK;
}

ep_status ep_linear_exact(const ep_mat *q, const double *lambda, double t) {
  EP_CHECK(q->cols == 1, EP_ERR_ARG, "the exact solution is for one output, not %td", q->cols);
  EP_TRY(check_start(q, t));
  if (t == 0 || ep_mat_norm2(q) == 0) return EP_OK;
  ep_work work = {0};
  const ep_status st = along(&work, q, lambda, t);
  ep_work_free(&work);
  return st;
}

/* ---- no constraint */

void ep_linear_unconstrained(const ep_mat *q, double *log_scale, const double *lambda, double t) {
  double top = -INFINITY;
  for (ptrdiff_t i = 0; i < q->rows; i++) {
    const ep_mat row = ep_mat_rows(q, i, 1);
    const double size = ep_mat_max(&row);
    if (size > 0) top = fmax(top, log(size) - 2 * lambda[i] * t);
  }
  *log_scale = top > -INFINITY ? top : 0;
  for (ptrdiff_t i = 0; i < q->rows; i++)
    for (ptrdiff_t j = 0; j < q->cols; j++)
      if (*ep_d(q, i, j) != 0) {
        const double size = log(fabs(*ep_d(q, i, j))) - 2 * lambda[i] * t - *log_scale;
        *ep_d(q, i, j) = copysign(exp(size), *ep_d(q, i, j));
      }
}
