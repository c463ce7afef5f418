/* Regression: kernels from their sources, the solver, new points in blocks. */
#include <eigenpair/lee.h>
#include <eigenpair/random.h>
#include <eigenpair/regress.h>
#include <eigenpair/regression.h>
#include <float.h>
#include <math.h>

enum { BLOCK = 256 };                    /* new points at a time */
static const double worst_pivots = 1e13; /* past it K counts as singular: by its eigenvalues */
static const double indefinite = 1e-4;   /* share of lambda_max that is no rounding */
static const double diverged = 1e6;      /* times the first loss */

const char *ep_regress_method_name(int i) {
  static const char *const names[] = {"ridge", "flow", "descent", NULL};
  return names[i];
}

/* One column a target where the kernel is the same for all outputs; else all outputs below each other. */
typedef struct {
  const ep_regress_kernel *k;
  const ep_regress_config *c;
  ptrdiff_t n, m, Z; /* points, new points, outputs */
  ptrdiff_t outputs; /* of a point in the kernel matrix: 1, or Z of a network */
  ptrdiff_t order;   /* n outputs */
  ep_mat Y, F0;      /* (order x columns): targets, the start */
  ep_mat A;          /* (order x order): K, then its factor; empty once `s` is there */
  ep_squared *s;     /* NULL: A is the factor */
  ep_mat C;          /* (order x columns): coefficients */
} task;

/* ---- kernels */

/* K of the training points, or Kx of new points first .. first + count */
static ep_status kernel_of(const ep_mat *K, const task *t, ep_analytic_kind kind, bool train,
                           ptrdiff_t first, ptrdiff_t count) {
  const ep_regress_kernel *k = t->k;
  if (k->K) {
    const ep_mat rows = train ? *k->K : ep_mat_rows(k->Kx, first, count);
    return ep_mat_copy(K, &rows), EP_OK;
  }
  const ep_mat T = train ? *k->X : ep_mat_rows(k->T, first, count);
  if (k->analytic) return ep_analytic_kernel(NULL, K, k->analytic, kind, &T, train ? NULL : k->X);
  return ep_ntk_joint(K, k->net, &T, train ? NULL : k->X, 0.5 * ep_run_room());
}

static ep_status diagonal_of(double *d, const task *t, ptrdiff_t first, ptrdiff_t count) {
  const ep_regress_kernel *k = t->k;
  for (ptrdiff_t i = 0; k->diagonal && i < count; i++) d[i] = k->diagonal[first + i];
  if (k->diagonal) return EP_OK;
  const ep_mat T = ep_mat_rows(k->T, first, count);
  if (k->analytic) return ep_analytic_diagonal(NULL, d, k->analytic, k->kind, &T);
  ep_work work = {0};
  ep_mat one;
  ep_status st = ep_work_mat(&work, &one, EP_DOUBLE, t->outputs, t->outputs);
  for (ptrdiff_t i = 0; !st && i < count; i++) {
    const ep_mat x = ep_mat_rows(&T, i, 1);
    st = ep_ntk_joint(&one, k->net, &x, NULL, 0.5 * ep_run_room());
    for (ptrdiff_t z = 0; !st && z < t->outputs; z++) d[i * t->outputs + z] = *ep_d(&one, z, z);
  }
  ep_work_free(&work);
  return st;
}

/* ---- the solver */

/* K = U' lambda U, and A goes */
static ep_status by_eigenvalues(task *t) {
  EP_TRY(ep_squared_new(&t->s, &t->A));
  ep_mat_free(&t->A);
  const double *lambda = ep_squared_eigenvalues(t->s), most = lambda[t->order - 1];
  EP_CHECK(lambda[0] > -indefinite * most, EP_ERR_INPUT,
           "a kernel has no negative eigenvalues; this matrix has %g (largest %g)", lambda[0],
           most);
  return EP_OK;
}

static double pivots(const ep_mat *L) {
  double low = INFINITY, high = 0;
  for (ptrdiff_t i = 0; i < L->rows; i++) {
    low = fmin(low, *ep_d(L, i, i));
    high = fmax(high, *ep_d(L, i, i));
  }
  return high * high / (low * low);
}

/* A = K + ridge -> L, or the eigenvalues of K where that is singular to rounding */
static ep_status factor(task *t) {
  for (ptrdiff_t i = 0; i < t->order; i++) *ep_d(&t->A, i, i) += t->c->ridge;
  const ep_status st = ep_mat_cholesky(&t->A);
  if (st && st != EP_ERR_NUMERIC) return st;
  if (!st && pivots(&t->A) < worst_pivots) return EP_OK;
  EP_TRY(kernel_of(&t->A, t, t->k->kind, true, 0, t->n));
  return by_eigenvalues(t);
}

/* B <- (K + ridge)^{-1} B, with `room` of its shape */
static ep_status solve(const ep_mat *B, const ep_mat *room, const task *t) {
  if (!t->s) {
    ep_mat_solve_triangular(B, &t->A, EP_N);
    ep_mat_solve_triangular(B, &t->A, EP_T);
    return EP_OK;
  }
  EP_TRY(ep_squared_ridge(room, t->s, B, t->c->ridge));
  ep_mat_copy(B, room);
  return EP_OK;
}

static ptrdiff_t rank_of(const task *t) {
  if (!t->s) return t->order;
  const double *lambda = ep_squared_eigenvalues(t->s);
  ptrdiff_t rank = 0;
  for (ptrdiff_t i = 0; i < t->order; i++)
    rank += lambda[i] > (double)t->order * DBL_EPSILON * lambda[t->order - 1];
  return rank;
}

/* each point by all the others: y_i - f_i = c_i / ((K + ridge)^{-1})_ii */
static ep_status leave_one_out(ep_work *work, double *mse, const task *t) {
  const ptrdiff_t N = t->order, most = N < BLOCK ? N : BLOCK;
  ep_mat E, R;
  double sum = 0;
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, N, most));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, N, most));
  for (ptrdiff_t first = 0; first < N; first += BLOCK) {
    EP_TRY(ep_run_step("leaving one out", (double)first, (double)N));
    const ptrdiff_t count = N - first < BLOCK ? N - first : BLOCK;
    const ep_mat e = ep_mat_cols(&E, 0, count), r = ep_mat_cols(&R, 0, count);
    ep_mat_fill(&e, 0);
    for (ptrdiff_t i = 0; i < count; i++) *ep_d(&e, first + i, i) = 1;
    EP_TRY(solve(&e, &r, t));
    for (ptrdiff_t i = 0; i < count; i++)
      for (ptrdiff_t z = 0; z < t->C.cols; z++)
        sum += pow(*ep_d(&t->C, first + i, z) / *ep_d(&e, first + i, i), 2);
  }
  *mse = sum / (double)t->n;
  return EP_OK;
}

/* ---- ridge and flow */

static ep_status ridge(ep_work *work, ep_regress_result *out, task *t) {
  ep_mat room;
  EP_TRY(ep_work_mat(work, &room, EP_DOUBLE, t->order, t->Y.cols));
  EP_TRY(ep_run_step("factor", 0, 1));
  EP_TRY(factor(t));
  ep_mat_copy(&t->C, &t->Y);
  EP_TRY(solve(&t->C, &room, t));
  out->rank = rank_of(t);
  double along = 0;
  for (ptrdiff_t i = 0; i < t->order; i++)
    for (ptrdiff_t z = 0; z < t->Y.cols; z++) along += *ep_d(&t->Y, i, z) * *ep_d(&t->C, i, z);
  out->norm = sqrt(fmax(along, 0));
  if (out->rank == t->order || t->c->ridge > 0) EP_TRY(leave_one_out(work, &out->leave_one_out, t));
  /* y - K c = ridge c, and without a ridge what the kernel cannot reach */
  if (out->rank == t->order || t->c->ridge > 0) {
    out->train_mse = t->c->ridge * t->c->ridge * ep_mat_norm2(&t->C) / (double)t->n;
    return EP_OK;
  }
  EP_TRY(ep_squared_train(&room, t->s, &t->F0, &t->Y, 1, INFINITY, 0)); /* F0 = 0 */
  out->train_mse = ep_mat_distance2(&room, &t->Y) / (double)t->n;
  return EP_OK;
}

static ep_status flow(ep_work *work, ep_regress_result *out, task *t) {
  ep_mat F;
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, t->order, t->Y.cols));
  EP_TRY(ep_run_step("eigenvalues", 0, 1));
  EP_TRY(by_eigenvalues(t));
  EP_TRY(ep_squared_coefficients(&t->C, t->s, &t->F0, &t->Y, 1, t->c->time, 0));
  EP_TRY(ep_squared_train(&F, t->s, &t->F0, &t->Y, 1, t->c->time, 0));
  out->train_mse = ep_mat_distance2(&F, &t->Y) / (double)t->n;
  out->largest = ep_squared_eigenvalues(t->s)[t->order - 1];
  out->rank = rank_of(t);
  return EP_OK;
}

/* ---- new points */

/* variance of rows of Kx: d - diag(Kx (K + ridge)^{-1} Kx') */
static ep_status posterior_variance(double *d, const task *t, const ep_mat *Kx, const ep_mat *V,
                                    const ep_mat *room) {
  for (ptrdiff_t i = 0; i < Kx->rows; i++)
    for (ptrdiff_t j = 0; j < Kx->cols; j++) *ep_d(V, j, i) = *ep_d(Kx, i, j);
  EP_TRY(solve(V, room, t));
  for (ptrdiff_t i = 0; i < Kx->rows; i++) {
    for (ptrdiff_t j = 0; j < Kx->cols; j++) d[i] -= *ep_d(Kx, i, j) * *ep_d(V, j, i);
    d[i] = fmax(d[i], 0);
  }
  return EP_OK;
}

/* of networks after the flow: NNGP at the start, the kernel of the flow afterwards (mean into `unused`) */
static ep_status trained_variance(double *d, const task *t, const ep_mat *Tx, const ep_mat *K,
                                  const ep_mat *Kx, const ep_mat *unused, ptrdiff_t first) {
  ep_work work = {0};
  double *start;
  const ep_mat T = ep_mat_rows(t->k->T, first, Tx->rows);
  ep_status st = ep_work_get(&work, &start, Tx->rows, sizeof *start);
  if (!st) st = kernel_of(Kx, t, EP_NNGP, false, first, Tx->rows);
  if (!st) st = ep_analytic_diagonal(NULL, start, t->k->analytic, EP_NNGP, &T);
  if (!st) st = ep_gp_trained(unused, d, t->s, Tx, K, Kx, start, &t->Y, 1, t->c->time);
  for (ptrdiff_t i = 0; !st && i < Tx->rows; i++) d[i] = fmax(d[i], 0);
  ep_work_free(&work);
  return st;
}

typedef struct {
  ep_mat Kx, V, room, K, Kn, unused;
} scratch;

static ep_status scratch_new(ep_work *work, scratch *s, const task *t, bool variance) {
  const ptrdiff_t rows = (t->m < BLOCK ? t->m : BLOCK) * t->outputs, N = t->order;
  EP_TRY(ep_work_mat(work, &s->Kx, EP_DOUBLE, rows, N));
  if (!variance) return EP_OK;
  if (t->c->method == EP_REGRESS_RIDGE) {
    EP_TRY(ep_work_mat(work, &s->V, EP_DOUBLE, N, rows));
    return ep_work_mat(work, &s->room, EP_DOUBLE, N, rows);
  }
  EP_TRY(ep_work_mat(work, &s->K, EP_DOUBLE, N, N));
  EP_TRY(ep_work_mat(work, &s->Kn, EP_DOUBLE, rows, N));
  EP_TRY(ep_work_mat(work, &s->unused, EP_DOUBLE, rows, t->Z));
  return kernel_of(&s->K, t, EP_NNGP, true, 0, t->n);
}

/* mean (m outputs x columns) += Kx C, block by block, and the variance */
static ep_status new_points(ep_work *work, const ep_mat *mean, double *variance, const task *t) {
  scratch s = {0};
  EP_TRY(scratch_new(work, &s, t, variance != NULL));
  for (ptrdiff_t first = 0; first < t->m; first += BLOCK) {
    EP_TRY(ep_run_step("new points", (double)first, (double)t->m));
    const ptrdiff_t count = t->m - first < BLOCK ? t->m - first : BLOCK, q = t->outputs;
    const ep_mat Kx = ep_mat_rows(&s.Kx, 0, count * q), f = ep_mat_rows(mean, first * q, count * q);
    EP_TRY(kernel_of(&Kx, t, t->k->kind, false, first, count));
    ep_mat_mul(&f, 1, &Kx, EP_N, &t->C, EP_N, 1);
    double *d = variance ? variance + first * q : NULL;
    if (!d) continue;
    if (t->c->method == EP_REGRESS_RIDGE) {
      const ep_mat V = ep_mat_cols(&s.V, 0, count * q), room = ep_mat_cols(&s.room, 0, count * q);
      EP_TRY(diagonal_of(d, t, first, count));
      EP_TRY(posterior_variance(d, t, &Kx, &V, &room));
    } else {
      const ep_mat Kn = ep_mat_rows(&s.Kn, 0, count), f2 = ep_mat_rows(&s.unused, 0, count);
      EP_TRY(trained_variance(d, t, &Kx, &s.K, &Kn, &f2, first));
    }
  }
  return EP_OK;
}

/* the same variance for all outputs: from one number a point to Z */
static void spread(double *variance, const task *t) {
  if (t->outputs == t->Z) return;
  for (ptrdiff_t i = t->m - 1; i >= 0; i--)
    for (ptrdiff_t z = t->Z - 1; z >= 0; z--) variance[i * t->Z + z] = variance[i];
}

/* f_0 of a network at the training points and at the new ones; 0 where it does not count */
static ep_status start(const ep_mat *mean, task *t) {
  ep_mat_fill(mean, 0);
  if (!t->k->net || t->c->centred || t->c->method != EP_REGRESS_FLOW) return EP_OK;
  const ep_mat F0 = ep_mat_view(EP_DOUBLE, t->n, t->Z, t->F0.data);
  ep_supervised *d;
  EP_TRY(ep_supervised_from(&d, t->k->net, t->k->X, &F0, false));
  ep_status st = ep_supervised_outputs(&F0, d, t->k->X);
  if (!st) st = ep_supervised_outputs(mean, d, t->k->T);
  ep_supervised_free(d);
  return st;
}

static ep_status by_kernel(ep_work *work, ep_regress_result *out, const ep_mat *mean,
                           double *variance, task *t) {
  EP_TRY(ep_mat_new(&t->A, EP_DOUBLE, t->order, t->order));
  EP_TRY(ep_work_mat(work, &t->C, EP_DOUBLE, t->order, t->Y.cols));
  EP_TRY(ep_work_mat(work, &t->F0, EP_DOUBLE, t->order, t->Y.cols));
  EP_TRY(ep_run_step("kernel", 0, 1));
  EP_TRY(kernel_of(&t->A, t, t->k->kind, true, 0, t->n));
  EP_CHECK(isfinite(ep_mat_max(&t->A)), EP_ERR_NUMERIC,
           "the kernel is not finite: the data are too large for it (--scale unit)");
  EP_TRY(start(mean, t));
  EP_TRY(t->c->method == EP_REGRESS_RIDGE ? ridge(work, out, t) : flow(work, out, t));
  const ep_mat below = ep_mat_view(EP_DOUBLE, t->m * t->outputs, t->Y.cols, mean->data);
  EP_TRY(new_points(work, &below, variance, t));
  if (variance) spread(variance, t);
  return EP_OK;
}

/* ---- descent */

/* largest eigenvalue of the tangent kernel by powers of it, none of which is formed */
static ep_status largest(ep_work *work, double *lambda, const ep_regress_kernel *k, ptrdiff_t Z) {
  enum { POWERS = 40 };
  ep_mat v, Kv;
  EP_TRY(ep_work_mat(work, &v, EP_DOUBLE, k->X->rows, Z));
  EP_TRY(ep_work_mat(work, &Kv, EP_DOUBLE, k->X->rows, Z));
  ep_random_fill_normal(&v, 0, EP_STREAM_START, 0);
  for (int i = 0; i < POWERS; i++) {
    EP_TRY(ep_run_step("rate", i, POWERS));
    const double norm = sqrt(ep_mat_norm2(&v));
    EP_CHECK(norm > 0 && isfinite(norm), EP_ERR_NUMERIC,
             "the network does not change with its weights: its tangent kernel is 0");
    for (ptrdiff_t j = 0; j < v.rows * Z; j++) ((double *)v.data)[j] /= norm;
    EP_TRY(ep_ntk_apply(NULL, &Kv, k->net, k->X, NULL, &v, 0.5 * ep_run_room()));
    ep_mat_copy(&v, &Kv);
    *lambda = sqrt(ep_mat_norm2(&v));
  }
  return EP_OK;
}

static ep_status descend(ep_regress_result *out, const ep_mat *mean, ep_supervised *d,
                         const task *t) {
  ep_mat F = {0};
  double loss;
  EP_TRY(ep_mat_new(&F, EP_DOUBLE, t->n, t->Z));
  ep_status st = ep_supervised_outputs(&F, d, t->k->X);
  out->loss[0] = 0.5 * ep_mat_distance2(&F, &t->Y);
  if (!st)
    st = ep_supervised_steps(&loss, d, out->rate, t->c->epochs, diverged * (1 + out->loss[0]));
  if (!st) st = ep_supervised_outputs(&F, d, t->k->X);
  if (!st) st = ep_supervised_outputs(mean, d, t->k->T);
  out->loss[1] = 0.5 * ep_mat_distance2(&F, &t->Y);
  if (!(out->loss[1] <= diverged * (1 + out->loss[0]))) out->loss[1] = INFINITY;
  out->train_mse = 2 * out->loss[1] / (double)t->n;
  ep_mat_free(&F);
  return st;
}

static ep_status descent(ep_work *work, ep_regress_result *out, const ep_mat *mean, task *t) {
  ep_supervised *d;
  EP_TRY(largest(work, &out->largest, t->k, t->Z));
  out->rate = t->c->rate > 0 ? t->c->rate : 1 / out->largest;
  EP_TRY(ep_supervised_from(&d, t->k->net, t->k->X, &t->Y, t->c->centred));
  const ep_status st = descend(out, mean, d, t);
  ep_supervised_free(d);
  return st;
}

/* ---- all of it */

static ep_status check(const ep_regress_kernel *k, const ep_mat *mean, const double *variance,
                       const ep_mat *Y, const ep_regress_config *c) {
  const ptrdiff_t n = k->K ? k->K->rows : k->X->rows, m = k->K ? k->Kx->rows : k->T->rows;
  EP_CHECK(n == Y->rows && m == mean->rows && Y->cols == mean->cols && n > 0, EP_ERR_SHAPE,
           "%td training points and %td targets; %td new points and room for %td", n, Y->rows, m,
           mean->rows);
  EP_CHECK(!k->K || (k->K->cols == n && k->Kx->cols == n), EP_ERR_SHAPE,
           "a kernel of %td x %td and one of new points of %td columns", n, k->K->cols,
           k->Kx->cols);
  EP_CHECK(k->K || k->X->cols == k->T->cols, EP_ERR_SHAPE,
           "training points of dimension %td and new ones of %td", k->X->cols, k->T->cols);
  EP_CHECK(c->ridge >= 0 && isfinite(c->ridge) && c->time > 0 && c->rate >= 0 && c->epochs >= 0,
           EP_ERR_ARG, "ridge %g, time %g, rate %g", c->ridge, c->time, c->rate);
  EP_CHECK(c->method != EP_REGRESS_DESCENT || k->net, EP_ERR_ARG, "descent wants a network");
  EP_CHECK(!k->net || (k->net->shape.outputs == Y->cols && k->net->shape.inputs == k->X->cols),
           EP_ERR_SHAPE,
           "a network of %td inputs and %td outputs for points of %td, targets of %td",
           k->net->shape.inputs, k->net->shape.outputs, k->X->cols, Y->cols);
  EP_CHECK(!variance || (c->method == EP_REGRESS_RIDGE && (!k->K || k->diagonal)) ||
               (c->method == EP_REGRESS_FLOW && k->analytic),
           EP_ERR_ARG, "no variance: it wants a kernel's own values at the new points");
  return EP_OK;
}

double ep_regress_bytes(const ep_regress_kernel *k, const ep_mat *Y, const ep_regress_config *c) {
  const double q = k->net ? (double)Y->cols : 1;
  const double N = q * (double)Y->rows, rows = q * BLOCK;
  if (c->method == EP_REGRESS_DESCENT) return 4 * (double)k->net->theta.cols * sizeof(double);
  /* the eigenproblem has its matrix, its eigenvectors and twice as much scratch */
  return ((c->method == EP_REGRESS_FLOW ? 4 : 1) * N * N + 3 * rows * N) * sizeof(double);
}

ep_status ep_regress(ep_regress_result *out, const ep_mat *mean, double *variance,
                     const ep_regress_kernel *kernel, const ep_mat *Y,
                     const ep_regress_config *config) {
  *out = (ep_regress_result){.leave_one_out = NAN, .norm = NAN, .largest = NAN};
  EP_TRY(check(kernel, mean, variance, Y, config));
  task t = {.k = kernel, .c = config, .n = Y->rows, .m = mean->rows, .Z = Y->cols};
  t.outputs = kernel->net ? t.Z : 1;
  t.order = out->order = t.n * t.outputs;
  const bool descends = config->method == EP_REGRESS_DESCENT;
  t.Y = descends ? *Y : ep_mat_view(EP_DOUBLE, t.order, t.Z / t.outputs, Y->data);
  ep_work work = {0};
  const ep_status st =
      descends ? descent(&work, out, mean, &t) : by_kernel(&work, out, mean, variance, &t);
  ep_squared_free(t.s);
  ep_mat_free(&t.A);
  ep_work_free(&work);
  return st;
}
