#include "core/mem.h"

#include <eigenpair/squared.h>
#include <float.h>
#include <math.h>

struct ep_squared {
  ep_mat U;       /* rows are eigenvectors */
  double *lambda; /* ascending */
};

ep_status ep_squared_new(ep_squared **out, const ep_mat *K) {
  *out = NULL;
  EP_CHECK(K->rows == K->cols && K->rows > 0 && K->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "a kernel of %td x %td is not square and in double", K->rows, K->cols);
  ep_squared *s = ep_alloc(1, sizeof *s);
  EP_CHECK(s, EP_ERR_NOMEM, "no memory for a kernel machine");
  s->lambda = ep_alloc(K->rows, sizeof *s->lambda);
  ep_status st = s->lambda ? ep_mat_new(&s->U, EP_DOUBLE, K->rows, K->rows)
                           : EP_FAIL(EP_ERR_NOMEM, "no memory for a kernel machine");
  if (!st) ep_mat_copy(&s->U, K);
  if (!st) st = ep_mat_eig_sym(&s->U, s->lambda);
  if (st) ep_squared_free(s);
  else *out = s;
  return st;
}

void ep_squared_free(ep_squared *s) {
  if (!s) return;
  ep_mat_free(&s->U);
  ep_release(s->lambda);
  ep_release(s);
}

const double *ep_squared_eigenvalues(const ep_squared *s) { return s->lambda; }

double ep_squared_stable_rate(const ep_squared *s) { return 2 / s->lambda[s->U.rows - 1]; }
double ep_squared_critical_rate(const ep_squared *s) {
  return 2 / (fmax(s->lambda[0], 0) + s->lambda[s->U.rows - 1]);
}

/* 1 - e^{-eta lambda t}, or 1 - (1 - eta lambda)^t: what has been learnt of a direction */
static double learnt(double x, double t, int steps) {
  if (t == INFINITY) return 1;
  if (!steps) return -expm1(-x * t);
  if (x < 1) return -expm1(t * log1p(-x)); /* accurate for small x */
  return 1 - pow(1 - x, t);
}

/* Out = U' g(lambda) U (Y - F0), g = learnt, or learnt / lambda */
static ep_status spectral(ep_work *work, const ep_mat *out, const ep_squared *s, const ep_mat *F0,
                          const ep_mat *Y, double rate, double t, int steps, int divide) {
  const ptrdiff_t n = s->U.rows, z = Y->cols;
  const double zero = (double)n * DBL_EPSILON * s->lambda[n - 1];
  ep_mat R, A;
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, n, z));
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, n, z));
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < z; j++) *ep_d(&R, i, j) = *ep_d(Y, i, j) - *ep_d(F0, i, j);
  ep_mat_mul(&A, 1, &s->U, EP_N, &R, EP_N, 0);
  for (ptrdiff_t k = 0; k < n; k++) {
    const double l = s->lambda[k], g = l > zero ? learnt(rate * l, t, steps) / (divide ? l : 1) : 0;
    for (ptrdiff_t j = 0; j < z; j++) *ep_d(&A, k, j) *= g;
  }
  ep_mat_mul(out, 1, &s->U, EP_T, &A, EP_N, 0);
  return EP_OK;
}

static ep_status check(const ep_squared *s, const ep_mat *F0, const ep_mat *Y, double rate,
                       double t, int steps) {
  EP_CHECK(F0->rows == s->U.rows && Y->rows == F0->rows && Y->cols == F0->cols &&
               F0->prec == EP_DOUBLE && Y->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "targets and start have to be n x Z in double");
  EP_CHECK(rate > 0 && t >= 0 && (!steps || t == INFINITY || t == floor(t)), EP_ERR_ARG,
           "rate %g and time %g make no sense", rate, t);
  EP_CHECK(!steps || t != INFINITY || rate < ep_squared_stable_rate(s), EP_ERR_ARG,
           "steps at rate %g do not converge: the limit is %g", rate, ep_squared_stable_rate(s));
  return EP_OK;
}

ep_status ep_squared_coefficients(const ep_mat *C, const ep_squared *s, const ep_mat *F0,
                                  const ep_mat *Y, double rate, double t, int steps) {
  EP_TRY(check(s, F0, Y, rate, t, steps));
  ep_work work = {0};
  const ep_status st = spectral(&work, C, s, F0, Y, rate, t, steps, 1);
  ep_work_free(&work);
  return st;
}

ep_status ep_squared_train(const ep_mat *F, const ep_squared *s, const ep_mat *F0, const ep_mat *Y,
                           double rate, double t, int steps) {
  EP_TRY(check(s, F0, Y, rate, t, steps));
  ep_work work = {0};
  const ep_status st = spectral(&work, F, s, F0, Y, rate, t, steps, 0);
  ep_work_free(&work);
  if (!st) ep_mat_axpy(F, 1, F0);
  return st;
}

/* C = U' g(lambda) U Y, g = 1/(lambda + ridge), 0 for directions without eigenvalue and ridge */
static ep_status ridge_solve(ep_work *work, const ep_mat *C, const ep_squared *s, const ep_mat *Y,
                             double ridge) {
  const ptrdiff_t n = s->U.rows;
  const double zero = (double)n * DBL_EPSILON * s->lambda[n - 1];
  ep_mat A;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, n, Y->cols));
  ep_mat_mul(&A, 1, &s->U, EP_N, Y, EP_N, 0);
  for (ptrdiff_t k = 0; k < n; k++) {
    const double l = s->lambda[k] > zero ? s->lambda[k] : 0;
    const double g = l + ridge > 0 ? 1 / (l + ridge) : 0;
    for (ptrdiff_t j = 0; j < Y->cols; j++) *ep_d(&A, k, j) *= g;
  }
  ep_mat_mul(C, 1, &s->U, EP_T, &A, EP_N, 0);
  return EP_OK;
}

ep_status ep_squared_ridge(const ep_mat *C, const ep_squared *s, const ep_mat *Y, double ridge) {
  EP_CHECK(Y->rows == s->U.rows && Y->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "targets have to be n x Z in double");
  EP_CHECK(ridge >= 0, EP_ERR_ARG, "ridge %g is negative", ridge);
  ep_work work = {0};
  const ep_status st = ridge_solve(&work, C, s, Y, ridge);
  ep_work_free(&work);
  return st;
}
