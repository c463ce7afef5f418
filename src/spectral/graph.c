#include "spectral/graph.h"

#include "core/crew.h"

#include <eigenpair/eigen.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 256 }; /* of a graph that a thread takes at a time */

/* ---- the graph */

/* Row i of A' : those that have i for a neighbour. */
static ep_status transpose(ptrdiff_t **start, ptrdiff_t **from, ep_work *work, const ptrdiff_t *who,
                           ptrdiff_t n, ptrdiff_t k) {
  ptrdiff_t *at;
  EP_TRY(ep_work_get(work, start, n + 1, sizeof **start));
  EP_TRY(ep_work_get(work, &at, n, sizeof *at));
  EP_TRY(ep_work_get(work, from, n * k, sizeof **from));
  for (ptrdiff_t e = 0; e < n * k; e++) (*start)[who[e] + 1]++;
  for (ptrdiff_t i = 0; i < n; i++) (*start)[i + 1] += (*start)[i], at[i] = (*start)[i];
  for (ptrdiff_t e = 0; e < n * k; e++) (*from)[at[who[e]]++] = e / k;
  return EP_OK;
}

ep_status ep_graph_new(ep_graph *g, ep_work *work, const ptrdiff_t *who, ptrdiff_t n, ptrdiff_t k) {
  ptrdiff_t *back, *from, *place; /* place[j]: where j stands in the row at hand */
  *g = (ep_graph){.count = n};
  EP_TRY(transpose(&back, &from, work, who, n, k));
  EP_TRY(ep_work_get(work, &place, n, sizeof *place));
  EP_TRY(ep_work_get(work, &g->start, n + 1, sizeof *g->start));
  EP_TRY(ep_work_get(work, &g->to, 2 * n * k, sizeof *g->to));
  EP_TRY(ep_work_get(work, &g->weight, 2 * n * k, sizeof *g->weight));
  EP_TRY(ep_work_get(work, &g->degree, n, sizeof *g->degree));
  for (ptrdiff_t j = 0; j < n; j++) place[j] = -1;
  for (ptrdiff_t i = 0, end = 0; i < n; i++) {
    for (ptrdiff_t c = 0; c < k; c++, end++) {
      g->to[end] = who[i * k + c];
      g->weight[end] = 0.5;
      place[who[i * k + c]] = end;
    }
    for (ptrdiff_t e = back[i]; e < back[i + 1]; e++) {
      if (place[from[e]] >= g->start[i]) g->weight[place[from[e]]] = 1;
      else g->to[end] = from[e], g->weight[end++] = 0.5;
    }
    g->start[i + 1] = end;
    for (ptrdiff_t e = g->start[i]; e < end; e++) g->degree[i] += g->weight[e];
  }
  return EP_OK;
}

/* ---- eigenmap */

typedef struct {
  const ep_graph *graph;
  double tie; /* t */
  ep_mat L;   /* (n, 2): columns T^{-1/2} 1 and v_1 = T^{1/2} 1 / |..| */
  ep_mat G;   /* (2, block) */
  double products;
} laplacian;

typedef struct {
  const laplacian *l;
  const ep_mat *Y, *X;
} apply_loop;

/* Y += T^{-1/2} W T^{-1/2} X */
static void add_neighbours(void *of, ptrdiff_t first, ptrdiff_t end) {
  const laplacian *l = ((apply_loop *)of)->l;
  const ep_mat *Y = ((apply_loop *)of)->Y, *X = ((apply_loop *)of)->X;
  const ep_graph *g = l->graph;
  for (ptrdiff_t i = first; i < end; i++) {
    double *y = ep_d(Y, i, 0);
    for (ptrdiff_t e = g->start[i]; e < g->start[i + 1]; e++) {
      const ptrdiff_t j = g->to[e];
      const double w = *ep_d(&l->L, i, 0) * g->weight[e] * *ep_d(&l->L, j, 0), *x = ep_d(X, j, 0);
      for (ptrdiff_t c = 0; c < X->cols; c++) y[c] += w * x[c];
    }
  }
}

/* Y = (T^{-1/2} (W + t/n 11') T^{-1/2} - v_1 v_1') X: what is left when the known first eigenvector is taken out */
static ep_status apply(const ep_mat *Y, const ep_mat *X, void *user) {
  laplacian *l = user;
  const ep_graph *g = l->graph;
  const ep_mat G = ep_mat_cols(&l->G, 0, X->cols);
  ep_mat_mul(&G, 1, &l->L, EP_T, X, EP_N, 0);
  for (ptrdiff_t c = 0; c < X->cols; c++) {
    *ep_d(&G, 0, c) *= l->tie / (double)g->count;
    *ep_d(&G, 1, c) *= -1;
  }
  ep_mat_mul(Y, 1, &l->L, EP_N, &G, EP_N, 0);
  ep_crew_loop(g->count, ROWS, true, add_neighbours, &(apply_loop){l, Y, X});
  l->products += (double)X->cols;
  return ep_run_step("spectral map", l->products, 0);
}

static ep_status new_laplacian(laplacian *l, ep_work *work, const ep_graph *g, ptrdiff_t block) {
  double sum = 0, norm = 0;
  EP_TRY(ep_work_mat(work, &l->L, EP_DOUBLE, g->count, 2));
  EP_TRY(ep_work_mat(work, &l->G, EP_DOUBLE, 2, block));
  for (ptrdiff_t i = 0; i < g->count; i++) sum += g->degree[i];
  l->tie = 0.01 * sum / (double)g->count;
  for (ptrdiff_t i = 0; i < g->count; i++) norm += g->degree[i] + l->tie;
  for (ptrdiff_t i = 0; i < g->count; i++) {
    *ep_d(&l->L, i, 0) = 1 / sqrt(g->degree[i] + l->tie);
    *ep_d(&l->L, i, 1) = sqrt((g->degree[i] + l->tie) / norm);
  }
  return EP_OK;
}

static ep_status eigenmap(ep_work *work, const ep_mat *Y, double *lambda, const ep_graph *g,
                          uint64_t seed) {
  laplacian l = {.graph = g};
  ep_eigen_config config;
  ep_eigen_info info; /* a map that has not converged to the last digit is a map */
  ep_options_default(ep_eigen_options, &config);
  config.eigen_tolerance = 1e-5;
  config.restarts = 30;
  EP_TRY(new_laplacian(&l, work, g, ep_eigen_block(&config, Y->cols, g->count)));
  EP_TRY(ep_eigen_largest(Y, lambda, &info, apply, &l, &config, seed));
  ep_eigen_signs(Y);
  for (ptrdiff_t i = 0; i < Y->rows; i++)
    for (ptrdiff_t c = 0; c < Y->cols; c++) *ep_d(Y, i, c) *= *ep_d(&l.L, i, 0);
  return EP_OK;
}

ep_status ep_graph_eigenmap(const ep_mat *Y, double *lambda, const ep_graph *g, uint64_t seed) {
  ep_work work = {0};
  EP_CHECK(g->count > Y->cols, EP_ERR_ARG, "a map of %td points in %td dimensions", g->count,
           Y->cols);
  const ep_status st = eigenmap(&work, Y, lambda, g, seed);
  ep_work_free(&work);
  return st;
}

/* ---- layout */

static double within(double x, double most) { return fmax(-most, fmin(most, x)); }

/* what pulls and pushes point i */
static void force(double out[2], const ep_mat *Y, const ep_graph *g, ptrdiff_t i, ep_random *r) {
  enum { SAMPLES = 8 };
  const double *y = ep_d(Y, i, 0);
  double push[2] = {0};
  out[0] = out[1] = 0;
  for (ptrdiff_t e = g->start[i]; e < g->start[i + 1]; e++) {
    const double *z = ep_d(Y, g->to[e], 0), a = z[0] - y[0], b = z[1] - y[1];
    const double w = g->weight[e] / (g->degree[i] * (1 + a * a + b * b));
    out[0] += w * a;
    out[1] += w * b;
  }
  for (int s = 0; s < SAMPLES; s++) {
    const double *z = ep_d(Y, ep_random_below(r, g->count), 0), a = y[0] - z[0], b = y[1] - z[1];
    const double d2 = a * a + b * b, w = 1 / ((1e-3 + d2) * (1 + d2));
    push[0] += within(w * a, 4);
    push[1] += within(w * b, 4);
  }
  for (int c = 0; c < 2; c++) out[c] += 2.5 / SAMPLES * push[c];
}

typedef struct {
  double y;
  ptrdiff_t row;
} place;

static int by_place(const void *a, const void *b) {
  const place *p = a, *q = b;
  return p->y != q->y ? (p->y > q->y) - (p->y < q->y) : (p->row > q->row) - (p->row < q->row);
}

/* Each axis becomes the order of its values, from -6 to 6: a few far away, as eigenvectors have them, would otherwise push
 * all others together. A little noise, for points that lie on each other can never part. */
static ep_status begin(ep_work *work, const ep_mat *Y, uint64_t seed) {
  const ptrdiff_t n = Y->rows;
  ep_random r = ep_random_new(seed, EP_STREAM_MAP, 0);
  place *all;
  EP_TRY(ep_work_get(work, &all, n, sizeof *all));
  for (int c = 0; c < 2; c++) {
    for (ptrdiff_t i = 0; i < n; i++) all[i] = (place){*ep_d(Y, i, c), i};
    qsort(all, (size_t)n, sizeof *all, by_place);
    for (ptrdiff_t i = 0; i < n; i++)
      *ep_d(Y, all[i].row, c) = 12 * (double)i / (double)(n - 1) - 6 + 0.05 * ep_random_normal(&r);
  }
  return EP_OK;
}

typedef struct {
  const ep_mat *F, *Y;
  const ep_graph *g;
  uint64_t seed;
  long step;
} force_loop;

static void some_forces(void *of, ptrdiff_t first, ptrdiff_t end) {
  const force_loop *l = of;
  for (ptrdiff_t i = first; i < end; i++) {
    ep_random r = ep_random_new(l->seed, EP_STREAM_MAP, (uint32_t)(1 + l->step));
    r.next = 64 * (uint64_t)i;
    force(ep_d(l->F, i, 0), l->Y, l->g, i, &r);
  }
}

static ep_status layout(ep_work *work, const ep_mat *Y, const ep_graph *g, long steps,
                        uint64_t seed) {
  ep_mat F;
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, g->count, 2));
  EP_TRY(begin(work, Y, seed));
  for (long t = 0; t < steps; t++) {
    const double a = 1 - (double)t / (double)steps;
    EP_TRY(ep_run_step("neighbour map", (double)t, (double)steps));
    ep_crew_loop(g->count, ROWS, true, some_forces, &(force_loop){&F, Y, g, seed, t});
    ep_mat_axpy(Y, a, &F);
  }
  return EP_OK;
}

ep_status ep_graph_layout(const ep_mat *Y, const ep_graph *g, long steps, uint64_t seed) {
  ep_work work = {0};
  const ep_status st = layout(&work, Y, g, steps, seed);
  ep_work_free(&work);
  return st;
}
