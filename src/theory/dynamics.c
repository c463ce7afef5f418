#include "core/mem.h"

#include <eigenpair/dynamics.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

const ep_option ep_dynamics_options[] = {EP_DYNAMICS_OPTIONS(EP_OPT_ROW, ep_dynamics_config){0}};

/* ---- ways to move q on by the time t */

typedef struct {
  double rate, tolerance;
  long *evaluations;
} how;

static ep_status by_flow(const ep_mat *q, const double *lambda, double t, const how *h) {
  ep_linear_info info;
  EP_TRY(ep_linear_flow(q, &info, lambda, t, h->tolerance));
  *h->evaluations += info.evaluations;
  return EP_OK;
}

/* a step of eq. 11 is the time rate / 2; the rate is lowered a little, so that the steps end at t */
static ep_status by_steps(const ep_mat *q, const double *lambda, double t, const how *h) {
  const double count = ceil(2 * t / h->rate - 1e-9);
  EP_CHECK(count < 1e9, EP_ERR_ARG, "time %g takes %.3g steps of --rate %g", t, count, h->rate);
  if (count >= 1) EP_TRY(ep_linear_steps(q, lambda, 2 * t / count, (long)count));
  *h->evaluations += (long)count;
  return EP_OK;
}

static ep_status by_formula(const ep_mat *q, const double *lambda, double t, const how *h) {
  (void)h;
  return ep_linear_exact(q, lambda, t);
}

static const struct {
  const char *name;
  ep_status (*move)(const ep_mat *q, const double *lambda, double t, const how *h);
} ways[] = {[EP_WAY_FLOW] = {"flow", by_flow},
            [EP_WAY_STEPS] = {"steps", by_steps},
            [EP_WAY_EXACT] = {"exact", by_formula}};
enum { WAYS = sizeof ways / sizeof *ways };
const char *ep_dynamics_way(int i) { return i < WAYS ? ways[i].name : NULL; }

/* ---- times */

/* 0, --times, --time; row NULL: only their number */
static ep_status read_times(ep_dynamics_row *row, ptrdiff_t *count,
                            const ep_dynamics_config *config) {
  double last = 0;
  *count = 1;
  for (const char *text = config->times; *text;) {
    char *end;
    const double t = strtod(text, &end);
    EP_CHECK(end != text && (*end == ',' || !*end) && isfinite(t), EP_ERR_ARG,
             "--times '%s' is not a list of numbers such as 0.1,1,10", config->times);
    EP_CHECK(t > last, EP_ERR_ARG, "--times '%s' does not rise from 0 on", config->times);
    if (row) row[*count].time = t;
    *count += 1;
    last = t;
    text = end + (*end == ',');
  }
  EP_CHECK(config->time >= last, EP_ERR_ARG, "--time %g is before the last of --times",
           config->time);
  if (config->time == last && *count > 1) return EP_OK;
  if (row) row[*count].time = config->time;
  *count += 1;
  return EP_OK;
}

/* ---- one run */

typedef struct {
  ep_dynamics *out;
  const ep_points *points;
  ep_descent *descent; /* or NULL */
  double rate;         /* of the descent */
  long steps;          /* done by it */
  ep_mat B, p;         /* (d, z) the network's product, and U'B */
  ep_mat E;            /* (P, z) embedding */
} simulation;

static ep_status rank_of(double *rank, simulation *r, const ep_mat *q) {
  if (!r->points) return ep_rankme(rank, q);
  const ep_linear basis = ep_dynamics_basis(r->out);
  EP_TRY(ep_linear_embed(&r->E, &basis, q, &r->points->X));
  return ep_rankme(rank, &r->E);
}

/* the descent at the time of the row: so many steps of --rate */
static ep_status follow(simulation *r, ep_dynamics_row *row, const ep_mat *q) {
  row->descent_loss = row->descent_rank = row->difference = NAN;
  if (!r->descent) return EP_OK;
  const long due = (long)floor(row->time / r->rate + 0.5);
  EP_TRY(ep_descent_step(r->descent, due - r->steps));
  r->steps = due;
  r->out->diverged = ep_descent_diverged(r->descent);
  EP_TRY(ep_descent_loss(&row->descent_loss, r->descent));
  ep_descent_product(&r->B, r->descent);
  ep_mat_mul(&r->p, 1, &r->out->U, EP_T, &r->B, EP_N, 0);
  row->difference = sqrt(ep_mat_distance2(&r->p, q));
  if (!r->points) return ep_rankme(&row->descent_rank, &r->B);
  EP_TRY(ep_descent_embed(&r->E, r->descent, &r->points->X));
  return ep_rankme(&row->descent_rank, &r->E);
}

static ep_status all_rows(simulation *r, const ep_dynamics_config *config) {
  ep_dynamics *o = r->out;
  const how h = {r->rate, config->tolerance, &o->evaluations};
  EP_CHECK((unsigned)config->way < WAYS, EP_ERR_ARG, "there is no way %d", config->way);
  for (ptrdiff_t i = 0; i < o->rows; i++) {
    const ep_mat q = ep_dynamics_at(o, i);
    ep_dynamics_row *row = &o->row[i];
    if (i > 0) {
      const ep_mat before = ep_dynamics_at(o, i - 1);
      ep_mat_copy(&q, &before);
      EP_TRY(ways[config->way].move(&q, o->lambda, row->time - row[-1].time, &h));
    }
    row->loss = ep_linear_loss(&q, o->lambda);
    EP_TRY(ep_linear_spectrum(ep_d(&o->sigma, i, 0), ep_d(&o->projection, i, 0), o->spectrum, &q));
    EP_TRY(rank_of(&row->rank, r, &q));
    EP_TRY(follow(r, row, &q));
  }
  return EP_OK;
}

static ep_status make_room(ep_dynamics *o, const ep_dynamics_config *config, ptrdiff_t d,
                           ptrdiff_t z) {
  EP_TRY(read_times(NULL, &o->rows, config));
  o->spectrum = d < z ? d : z;
  o->row = ep_alloc(o->rows, sizeof *o->row);
  EP_CHECK(o->row, EP_ERR_NOMEM, "no memory for %td times", o->rows);
  EP_TRY(ep_mat_new(&o->sigma, EP_DOUBLE, o->rows, o->spectrum));
  EP_TRY(ep_mat_new(&o->projection, EP_DOUBLE, o->rows, o->spectrum));
  EP_TRY(ep_mat_new(&o->q, EP_DOUBLE, o->rows * d, z));
  return read_times(o->row, &o->rows, config);
}

/* q(0): as given, of the network, or drawn */
static ep_status set_start(simulation *r, const ep_descent_config *config, const ep_mat *q0,
                           uint64_t seed) {
  const ep_mat q = ep_dynamics_at(r->out, 0);
  const ptrdiff_t d = q.rows, z = q.cols, two = d > z ? 2 * d : d + z;
  if (q0) return ep_mat_copy(&q, q0), EP_OK;
  if (!r->descent) return ep_linear_start(&q, config->width > 0 ? config->width : two, seed);
  ep_descent_product(&r->B, r->descent);
  ep_mat_mul(&q, 1, &r->out->U, EP_T, &r->B, EP_N, 0);
  return EP_OK;
}

static ep_status simulate(simulation *r, ep_work *work, const ep_dynamics_config *config,
                          const ep_descent_config *descent, const ep_mat *C, const ep_mat *q0,
                          uint64_t seed) {
  const ptrdiff_t d = C->rows, z = q0 ? q0->cols : descent->outputs;
  EP_CHECK(!q0 || q0->rows == d, EP_ERR_SHAPE, "q(0) has %td rows for %td dimensions", q0->rows, d);
  EP_TRY(make_room(r->out, config, d, z));
  ep_linear basis;
  EP_TRY(ep_linear_new(&basis, C));
  r->out->U = basis.U;
  r->out->lambda = basis.lambda;
  EP_TRY(ep_work_mat(work, &r->B, EP_DOUBLE, d, z));
  EP_TRY(ep_work_mat(work, &r->p, EP_DOUBLE, d, z));
  if (r->points) EP_TRY(ep_work_mat(work, &r->E, EP_DOUBLE, r->points->X.rows, z));
  if (config->compare) {
    ep_activation phi;
    EP_TRY(ep_activation_parse(&phi, descent->activation));
    const bool linear = ep_activation_is_linear(&phi);
    EP_CHECK(!q0, EP_ERR_ARG, "--compare starts from its network's own q; leave out --q0");
    EP_CHECK(linear || r->points, EP_ERR_ARG,
             "a network with --activation %s descends on pairs, not on --matrix",
             descent->activation);
    EP_TRY(
        ep_descent_new(&r->descent, descent, linear ? C : NULL, linear ? NULL : r->points, seed));
  }
  EP_TRY(set_start(r, descent, q0, seed));
  return all_rows(r, config);
}

static ep_status dynamics_run(ep_dynamics *out, const ep_dynamics_config *config,
                              const ep_descent_config *descent, const ep_mat *C,
                              const ep_points *points, const ep_mat *q0, uint64_t seed) {
  simulation r = {.out = out, .points = points, .rate = descent->rate};
  ep_work work = {0};
  ep_mat own = {0};
  ep_status st = EP_OK;
  const double begin = omp_get_wtime();
  *out = (ep_dynamics){0};
  EP_CHECK(C || points, EP_ERR_ARG, "neither pairs nor a matrix are given");
  if (!C) {
    st = ep_mat_new(&own, EP_DOUBLE, points->X.cols, points->X.cols);
    if (!st)
      st = ep_linear_add(&own, &points->X, &points->pairs, 1 / (double)points->pairs.anchors);
  }
  if (!st) st = simulate(&r, &work, config, descent, C ? C : &own, q0, seed);
  ep_descent_free(r.descent);
  ep_work_free(&work);
  ep_mat_free(&own);
  out->seconds = omp_get_wtime() - begin;
  if (st) ep_dynamics_free(out);
  return st;
}

ep_status ep_dynamics_run(ep_run *run, ep_dynamics *out, const ep_dynamics_config *config,
                          const ep_descent_config *descent, const ep_mat *C,
                          const ep_points *points, const ep_mat *q0, uint64_t seed) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = dynamics_run(out, config, descent, C, points, q0, seed);
  ep_run_leave(&scope);
  return st;
}

void ep_dynamics_free(ep_dynamics *d) {
  ep_linear basis = ep_dynamics_basis(d);
  ep_linear_free(&basis);
  ep_release(d->row);
  ep_mat_free(&d->sigma);
  ep_mat_free(&d->projection);
  ep_mat_free(&d->q);
  *d = (ep_dynamics){0};
}

ep_mat ep_dynamics_at(const ep_dynamics *d, ptrdiff_t row) {
  const ptrdiff_t n = d->q.rows / d->rows;
  return ep_mat_rows(&d->q, row * n, n);
}
