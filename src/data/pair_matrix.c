/* The pair matrix S as compressed rows, and products with it. */
#include "core/crew.h"
#include "core/mem.h"

#include <eigenpair/pairs.h>
#include <string.h>

/* Calls add(user, n, m, a) for every signed pair of the sparse part. With all_others an anchor's own views are taken
 * back out of "every view of every anchor", which left and right stand for. */
typedef void add_pair(void *user, ptrdiff_t n, ptrdiff_t m, double a);
static void visit(const ep_pairs *p, add_pair *add, void *user) {
  for (ptrdiff_t i = 0; i < p->anchors; i++) {
    for (ptrdiff_t k = p->start[i]; k < p->start[i + 1]; k++) {
      add(user, p->anchor[i], p->partner[k], p->sign[k]);
      if (p->all_others && p->sign[k] > 0) add(user, p->anchor[i], p->partner[k], 1);
    }
    if (p->all_others) add(user, p->anchor[i], p->anchor[i], 1);
  }
}

typedef struct {
  ep_pair_matrix *S;
  ptrdiff_t *at; /* (P) where the next entry of a row goes */
} filling;

static void count(void *user, ptrdiff_t n, ptrdiff_t m, double a) {
  filling *f = user;
  (void)a;
  f->S->start[n + 1]++;
  f->S->start[m + 1]++;
}

static void put(filling *f, ptrdiff_t row, ptrdiff_t column, double weight) {
  f->S->column[f->at[row]] = column;
  f->S->weight[f->at[row]++] = weight;
}

static void fill(void *user, ptrdiff_t n, ptrdiff_t m, double a) {
  filling *f = user;
  const double w = a / (2 * (double)f->S->anchors);
  put(f, n, m, w);
  put(f, m, n, w); /* n = m: the two halves make a/N */
}

/* left: how often a point is an anchor; right: how often it is a view of one */
static ep_status others(ep_pair_matrix *S, const ep_pairs *p) {
  S->left = ep_alloc(p->points, sizeof *S->left);
  S->right = ep_alloc(p->points, sizeof *S->right);
  EP_CHECK(S->left && S->right, EP_ERR_NOMEM, "no memory for the pair matrix");
  for (ptrdiff_t i = 0; i < p->anchors; i++) {
    S->left[p->anchor[i]]++;
    S->right[p->anchor[i]]++;
    for (ptrdiff_t k = p->start[i]; k < p->start[i + 1]; k++)
      if (p->sign[k] > 0) S->right[p->partner[k]]++;
  }
  return EP_OK;
}

static ep_status build(ep_pair_matrix *S, const ep_pairs *pairs, ptrdiff_t *at) {
  filling f = {S, at};
  S->start = ep_alloc(pairs->points + 1, sizeof *S->start);
  EP_CHECK(S->start && at, EP_ERR_NOMEM, "no memory for the pair matrix");
  visit(pairs, count, &f);
  for (ptrdiff_t i = 0; i < pairs->points; i++) S->start[i + 1] += S->start[i];
  memcpy(at, S->start, (size_t)pairs->points * sizeof *at);
  S->column = ep_alloc(S->start[pairs->points], sizeof *S->column);
  S->weight = ep_alloc(S->start[pairs->points], sizeof *S->weight);
  EP_CHECK(S->column && S->weight, EP_ERR_NOMEM, "no memory for the pair matrix");
  visit(pairs, fill, &f);
  return pairs->all_others ? others(S, pairs) : EP_OK;
}

ep_status ep_pair_matrix_new(ep_pair_matrix *out, const ep_pairs *pairs) {
  *out = (ep_pair_matrix){.points = pairs->points, .anchors = pairs->anchors};
  ptrdiff_t *at = ep_alloc(pairs->points, sizeof *at);
  const ep_status st = build(out, pairs, at);
  ep_release(at);
  if (st) ep_pair_matrix_free(out);
  return st;
}

void ep_pair_matrix_free(ep_pair_matrix *S) {
  ep_release(S->start);
  ep_release(S->column);
  ep_release(S->weight);
  ep_release(S->left);
  ep_release(S->right);
  *S = (ep_pair_matrix){0};
}

/* U -= x (y'T) / (2N), some columns at a time */
static void take_rank_one(const ep_mat *U, const double *x, const double *y, const ep_mat *T,
                          double two_n) {
  enum { COLUMNS = 64 };
  for (ptrdiff_t first = 0; first < T->cols; first += COLUMNS) {
    const ptrdiff_t n = T->cols - first < COLUMNS ? T->cols - first : COLUMNS;
    double sum[COLUMNS] = {0};
    for (ptrdiff_t i = 0; i < T->rows; i++)
      for (ptrdiff_t j = 0; j < n; j++) sum[j] += y[i] * ep_get(T, i, first + j);
    for (ptrdiff_t i = 0; i < T->rows; i++)
      for (ptrdiff_t j = 0; j < n; j++)
        ep_set(U, i, first + j, ep_get(U, i, first + j) - x[i] * sum[j] / two_n);
  }
}

typedef struct {
  const ep_mat *U, *T;
  const ep_pair_matrix *S;
} rows_loop;

static void mul_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *U = ((rows_loop *)of)->U, *T = ((rows_loop *)of)->T;
  const ep_pair_matrix *S = ((rows_loop *)of)->S;
  for (ptrdiff_t i = first; i < end; i++) {
    if (U->prec == EP_SINGLE) {
      float *restrict u = ep_s(U, i, 0);
      for (ptrdiff_t j = 0; j < U->cols; j++) u[j] = 0;
      for (ptrdiff_t k = S->start[i]; k < S->start[i + 1]; k++) {
        const float *restrict t = ep_s(T, S->column[k], 0), w = (float)S->weight[k];
        for (ptrdiff_t j = 0; j < U->cols; j++) u[j] += w * t[j];
      }
    } else {
      double *restrict u = ep_d(U, i, 0);
      for (ptrdiff_t j = 0; j < U->cols; j++) u[j] = 0;
      for (ptrdiff_t k = S->start[i]; k < S->start[i + 1]; k++) {
        const double *restrict t = ep_d(T, S->column[k], 0), w = S->weight[k];
        for (ptrdiff_t j = 0; j < U->cols; j++) u[j] += w * t[j];
      }
    }
  }
}

void ep_pair_matrix_mul(const ep_mat *U, const ep_pair_matrix *S, const ep_mat *T) {
  ep_crew_loop(S->points, 64, T->rows * T->cols > 20000, mul_rows, &(rows_loop){U, T, S});
  if (!S->left) return;
  const double two_n = 2 * (double)S->anchors;
  take_rank_one(U, S->left, S->right, T, two_n);
  take_rank_one(U, S->right, S->left, T, two_n);
}
