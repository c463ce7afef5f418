/* Linear support vector machines, one class against the rest:
 *
 *   min_w  f(w) = 1/2 |w|^2 + C sum_i max(0, s_i)^2      s_i = 1 - y_i w'x_i, y_i = 1 for the class and -1 for the rest
 *
 * by Newton's method (Keerthi and DeCoste 2005). Its equations are solved by conjugate gradients, which see the points
 * only as products; the step along the direction is exact, for f is piecewise quadratic there. */
#include "core/crew.h"
#include "probe/probes.h"

#include <math.h>
#include <string.h>

typedef struct {
  const ep_part *part;
  double cost, tolerance;
  ptrdiff_t n, d;
  ep_mat X; /* (n, d) all points, a 1 behind each; no rows: they are made one at a time */
} problem;

/* What one class needs. */
typedef struct {
  double *w, *g, *p, *r, *v,
      *Hv;       /* (d) weights, gradient, step; residual, direction, product of CG */
  double *s, *u; /* (n) s_i, and how fast it falls along p */
  double *row;   /* (d) */
  double target; /* of |g| */
  ptrdiff_t class;
  bool done;
} machine;

static const double *point(const problem *p, ptrdiff_t i, double *row) {
  if (p->X.rows > 0) return ep_d(&p->X, i, 0);
  const ep_mat one = ep_mat_view(EP_DOUBLE, 1, p->d, row);
  ep_linear_rows(&one, &p->part->rows, i);
  return row;
}

static double dot(const double *a, const double *b, ptrdiff_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < n; j++) sum += a[j] * b[j];
  return sum;
}

/* y += c x */
static void add(double *y, double c, const double *x, ptrdiff_t n) {
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) y[j] += c * x[j];
}

static double sign_of(const machine *m, const problem *q, ptrdiff_t i) {
  return q->part->class[i] == m->class ? 1 : -1;
}

/* g = w - 2C sum_i max(0, s_i) y_i x_i; returns |g| */
static double gradient(machine *m, const problem *q) {
  memcpy(m->g, m->w, (size_t)q->d * sizeof *m->g);
  for (ptrdiff_t i = 0; i < q->n; i++)
    if (m->s[i] > 0)
      add(m->g, -2 * q->cost * m->s[i] * sign_of(m, q, i), point(q, i, m->row), q->d);
  return sqrt(dot(m->g, m->g, q->d));
}

/* Hv = v + 2C sum_{s_i > 0} x_i x_i'v */
static void hessian(machine *m, const problem *q) {
  memcpy(m->Hv, m->v, (size_t)q->d * sizeof *m->v);
  for (ptrdiff_t i = 0; i < q->n; i++) {
    if (m->s[i] <= 0) continue;
    const double *x = point(q, i, m->row);
    add(m->Hv, 2 * q->cost * dot(x, m->v, q->d), x, q->d);
  }
}

/* H p = -g to a tenth of |g| */
static void direction(machine *m, const problem *q, double size) {
  enum { MOST = 250 };
  double rho = size * size;
  for (ptrdiff_t j = 0; j < q->d; j++) m->p[j] = 0, m->r[j] = m->v[j] = -m->g[j];
  for (int k = 0; k < MOST && sqrt(rho) > 0.1 * size; k++) {
    hessian(m, q);
    const double a = rho / dot(m->v, m->Hv, q->d), before = rho;
    add(m->p, a, m->v, q->d);
    add(m->r, -a, m->Hv, q->d);
    rho = dot(m->r, m->r, q->d);
    for (ptrdiff_t j = 0; j < q->d; j++) m->v[j] = m->r[j] + rho / before * m->v[j];
  }
}

/* The root of df/dt(w + t p) = w'p + t p'p - 2C sum_i u_i max(0, s_i - t u_i), which rises with t; Newton's method in a
 * bracket. */
static double step_length(const machine *m, const problem *q) {
  enum { MOST = 100 };
  const double wp = dot(m->w, m->p, q->d), pp = dot(m->p, m->p, q->d);
  double low = 0, high = INFINITY, t = 1;
  for (int k = 0; k < MOST; k++) {
    double first = wp + t * pp, second = pp;
    for (ptrdiff_t i = 0; i < q->n; i++) {
      const double left = m->s[i] - t * m->u[i];
      if (left <= 0) continue;
      first -= 2 * q->cost * m->u[i] * left;
      second += 2 * q->cost * m->u[i] * m->u[i];
    }
    if (first < 0) low = t;
    else high = t;
    const double next = t - first / second;
    if (fabs(next - t) <= 1e-12 * t) return next;
    t = next > low && next < high ? next : isfinite(high) ? (low + high) / 2 : 2 * t;
  }
  return t;
}

static void advance(machine *m, const problem *q) {
  const double size = gradient(m, q);
  m->done = size <= m->target;
  if (m->done) return;
  direction(m, q, size);
  for (ptrdiff_t i = 0; i < q->n; i++)
    m->u[i] = sign_of(m, q, i) * dot(point(q, i, m->row), m->p, q->d);
  const double t = step_length(m, q);
  add(m->w, t, m->p, q->d);
  add(m->s, -t, m->u, q->n);
}

typedef struct {
  machine *m;
  const problem *q;
} machines_loop;

static void start_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  machine *m = ((machines_loop *)of)->m;
  const problem *q = ((machines_loop *)of)->q;
  for (ptrdiff_t c = first; c < end; c++) {
    for (ptrdiff_t i = 0; i < q->n; i++) m[c].s[i] = 1; /* w = 0 */
    m[c].target = q->tolerance * gradient(&m[c], q);
  }
}

static void advance_some(void *of, ptrdiff_t first, ptrdiff_t end) {
  machine *m = ((machines_loop *)of)->m;
  for (ptrdiff_t c = first; c < end; c++)
    if (!m[c].done) advance(&m[c], ((machines_loop *)of)->q);
}

/* Steps for machines side by side, each by itself: threads do not change a bit. */
static ep_status train(machine *m, ptrdiff_t count, const problem *q, const ep_probe_task *t,
                       ep_probe_result *info) {
  machines_loop l = {m, q};
  bool all = false;
  ep_crew_loop(count, 1, true, start_some, &l);
  for (long k = 0; k < t->config->iterations && !all; k++) {
    EP_TRY(ep_run_step("svm probe", (double)m->class, (double)t->classes));
    ep_crew_loop(count, 1, true, advance_some, &l);
    all = true;
    for (ptrdiff_t c = 0; c < count; c++) {
      info->iterations += !m[c].done;
      all = all && m[c].done;
    }
  }
  info->converged = info->converged && all;
  return EP_OK;
}

/* The points once more in double, where that leaves half of the memory. */
static ep_status make_problem(problem *q, ep_work *work, const ep_probe_task *t) {
  const ep_tall *rows = &t->train.rows;
  *q = (problem){.part = &t->train,
                 .cost = t->config->cost,
                 .tolerance = t->config->tolerance,
                 .n = rows->count,
                 .d = rows->X->cols + 1,
                 .X = {.prec = EP_DOUBLE}};
  const double bytes = 16. * (double)q->n * (double)q->d;
  EP_CHECK(
      !rows->reader || bytes <= ep_run_memory_left(t->run), EP_ERR_ARG,
      "the svm probe meets its points thousands of times and takes %.0f MiB for them, more than "
      "--memory: use --probe linear, ridge or knn, or --samples",
      ceil(bytes / 1048576));
  if (bytes > ep_run_memory_left(t->run)) return EP_OK;
  EP_TRY(ep_work_mat(work, &q->X, EP_DOUBLE, q->n, q->d));
  ep_linear_rows(&q->X, rows, 0);
  return EP_OK;
}

static ep_status new_machine(machine *m, ep_work *work, const problem *q) {
  double **vectors[] = {&m->g, &m->p, &m->r, &m->v, &m->Hv, &m->row};
  for (size_t k = 0; k < sizeof vectors / sizeof *vectors; k++)
    EP_TRY(ep_work_get(work, vectors[k], q->d, sizeof **vectors[k]));
  EP_TRY(ep_work_get(work, &m->s, q->n, sizeof *m->s));
  return ep_work_get(work, &m->u, q->n, sizeof *m->u);
}

/* Classes first .. first + count - 1 */
static ep_status train_group(const ep_mat *W, ptrdiff_t first, ptrdiff_t count, const problem *q,
                             const ep_probe_task *t, ep_probe_result *info) {
  ep_work work = {0};
  machine *m;
  ep_status st = ep_work_get(&work, &m, count, sizeof *m);
  for (ptrdiff_t c = 0; !st && c < count; c++) {
    m[c].w = ep_d(W, first + c, 0);
    m[c].class = first + c;
    st = new_machine(&m[c], &work, q);
  }
  if (!st) st = train(m, count, q, t, info);
  ep_work_free(&work);
  return st;
}

ep_status ep_svm_fit(ep_mat *W, ep_probe_result *info, ep_work *work, const ep_probe_task *t) {
  enum { MOST = 16 };
  problem q;
  EP_TRY(make_problem(&q, work, t));
  EP_TRY(ep_work_mat(work, W, EP_DOUBLE, t->classes, q.d));
  info->iterations = 0;
  info->converged = true;
  const bool two = t->classes == 2; /* the second is the negative of the first */
  const ptrdiff_t all = two ? 1 : t->classes;
  ptrdiff_t group = all < MOST ? all : MOST;
  while (group > 1 && 16. * (double)q.n * (double)group > ep_run_memory_left(t->run) / 2) group--;
  for (ptrdiff_t c = 0; c < all; c += group)
    EP_TRY(train_group(W, c, all - c < group ? all - c : group, &q, t, info));
  for (ptrdiff_t j = 0; two && j < W->cols; j++) *ep_d(W, 1, j) = -*ep_d(W, 0, j);
  return EP_OK;
}
