/* Kernel regression from training sets drawn from a domain. For one set D, with A = (K(D,D) + ridge)^{-1}:
 *
 *   f^(x) = K(x,D) A y,    T_jj = lambda_j phi_j(D)' A phi_j(D),    mean over a level: lambda sum_xy A_xy P(x,y)
 *
 * A random function of variance 1 is the sum of n functions that are 1 at one training point and of one that vanishes on
 * D: the first n go through the same lines as the columns of any target (F(D) = I), the last is missed altogether. */
#include "theory/domains.h"

#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 512, TEST_POINTS = 1024 };
static const double worst_condition = 1e10; /* past it, the inverse comes from eigenvalues */

/* Some points of the domain: index, and coordinates unless it is a sample. */
typedef struct {
  ptrdiff_t *index;
  ep_mat X;
} sites;

typedef struct {
  const ep_domain *d;
  const ep_target *f;
  const ep_training_set *t;
  uint64_t seed;
  bool white;        /* the target is a random function */
  ptrdiff_t n, Z, T; /* training points, columns of the target, test points */
  sites train, test; /* test: a block of them */
  ep_mat A;          /* (n x n): K(D,D), then its inverse */
  ep_mat Y, C;       /* (n x Z): f(D), then noisy targets; coefficients A y */
  ep_mat P, F, H;    /* blocks: K(x,D) or phi_j(D) (BLOCK x n), values, predictions (BLOCK x Z) */
  ep_mat Q;          /* (BLOCK x n) */
  double *zonal;     /* (levels) */
  double trace;      /* Tr A */
  ptrdiff_t rank;
} run;

/* One number of each training set; see ep_measurement. */
#define NUMBERS(X) \
  X(kappa)         \
  X(sum) X(rank) X(learnability) X(mse) X(clean_mse) X(train_mse) X(unseen_mse) X(gcv) X(accuracy)
typedef struct {
#define X(name) double name;
  NUMBERS(X)
#undef X
} outcome;

/* ---- points */

static int by_value(const void *a, const void *b) {
  const ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
  return (x > y) - (x < y);
}

/* place of point i of s in the training set, or -1; on the sphere no two points drawn are the same */
static ptrdiff_t place_of(const run *r, const sites *s, ptrdiff_t i) {
  if (s == &r->train) return i;
  if (r->d->kind == EP_SPHERE) return -1;
  const ptrdiff_t *at =
      bsearch(&s->index[i], r->train.index, (size_t)r->n, sizeof *s->index, by_value);
  return at ? at - r->train.index : -1;
}

/* n different indices in order (Floyd): for j = M-n .. M-1 take a random t <= j, or j itself if t is there already */
static void draw_indices(ptrdiff_t *index, ptrdiff_t n, ptrdiff_t M, ep_random *random) {
  for (ptrdiff_t k = 0; k < n; k++) {
    const ptrdiff_t j = M - n + k;
    ptrdiff_t t = (ptrdiff_t)ep_random_below(random, j + 1), low = 0, high = k;
    while (low < high) {
      const ptrdiff_t middle = (low + high) / 2;
      if (index[middle] < t) low = middle + 1;
      else high = middle;
    }
    if (low < k && index[low] == t) t = j, low = k; /* j is larger than all before it */
    memmove(&index[low + 1], &index[low], (size_t)(k - low) * sizeof *index);
    index[low] = t;
  }
}

static ep_status draw_training(run *r, int set) {
  ep_random random = ep_random_new(r->seed, EP_STREAM_SAMPLE, (uint32_t)set);
  if (r->d->kind != EP_SPHERE)
    draw_indices(r->train.index, r->n, (ptrdiff_t)r->d->spectrum.size, &random);
  if (r->d->kind == EP_SAMPLE) return EP_OK;
  return ep_domain_points(&r->train.X, r->d, r->train.index, r->seed, 2 * (uint32_t)set);
}

/* test points first .. first + count - 1: all of the domain in order, or drawn */
static ep_status draw_test(const run *r, sites *s, int set, ptrdiff_t first, ptrdiff_t count) {
  const bool all = (double)r->T == r->d->spectrum.size;
  const uint32_t sub = (uint32_t)(set * (TEST_POINTS / BLOCK) + first / BLOCK);
  ep_random random = ep_random_new(r->seed, EP_STREAM_BATCH, sub);
  *s = r->test;
  s->X.rows = count;
  for (ptrdiff_t i = 0; i < count && r->d->kind != EP_SPHERE; i++)
    s->index[i] =
        all ? first + i : (ptrdiff_t)ep_random_below(&random, (int64_t)r->d->spectrum.size);
  if (r->d->kind == EP_SAMPLE) return EP_OK;
  return ep_domain_points(&s->X, r->d, s->index, r->seed, 2 * sub + 1); /* training sets: even */
}

/* K (count x n) of points s and the training points */
static ep_status kernel_of(const run *r, const ep_mat *K, const sites *s) {
  const ep_domain *d = r->d;
  if (d->kind != EP_SAMPLE)
    return ep_analytic_kernel(NULL, K, &d->kernel.network, d->kernel.kind, &s->X,
                              s == &r->train ? NULL : &r->train.X);
  for (ptrdiff_t i = 0; i < K->rows; i++) {
    const double *from = ep_d(&d->K, s->index[i], 0);
    for (ptrdiff_t j = 0; j < r->n; j++) *ep_d(K, i, j) = from[r->train.index[j]];
  }
  return EP_OK;
}

/* F (count x Z) = f at points s */
static ep_status values_of(const run *r, const ep_mat *F, const sites *s) {
  for (ptrdiff_t i = 0; r->white && i < F->rows; i++) {
    const ptrdiff_t place = place_of(r, s, i);
    for (ptrdiff_t z = 0; z < r->Z; z++) *ep_d(F, i, z) = z == place;
  }
  if (r->white) return EP_OK;
  if (!r->f->F.data) return ep_domain_values(F, r->d, r->f, &s->X);
  for (ptrdiff_t i = 0; i < F->rows; i++)
    memcpy(ep_d(F, i, 0), ep_d(&r->f->F, s->index[i], 0), (size_t)r->Z * sizeof(double));
  return EP_OK;
}

/* ---- the inverse */

/* A <- U' g(lambda) U, g = 1/(lambda + ridge), and 0 where lambda is 0 but for rounding and there is no ridge */
static ep_status inverse_by_eigenvalues(ep_work *work, run *r, const ep_mat *K) {
  double *lambda;
  ep_mat U, V;
  EP_TRY(ep_work_get(work, &lambda, r->n, sizeof *lambda));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, r->n, r->n));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, r->n, r->n));
  ep_mat_copy(&U, K);
  EP_TRY(ep_mat_eig_sym(&U, lambda));
  const double precision = r->d->kind == EP_SAMPLE ? r->d->precision : DBL_EPSILON;
  const double noise = ep_domain_noise(r->n, precision, ep_mat_max(K), lambda[r->n - 1]);
  r->rank = 0, r->trace = 0;
  for (ptrdiff_t i = 0; i < r->n; i++) {
    const bool positive = lambda[i] > noise;
    const double a = positive || r->t->ridge > 0 ? 1 / (fmax(lambda[i], 0) + r->t->ridge) : 0;
    r->rank += positive;
    r->trace += positive || r->t->ridge > 0 ? a : INFINITY;
    for (ptrdiff_t j = 0; j < r->n; j++) *ep_d(&V, i, j) = a * *ep_d(&U, i, j);
  }
  ep_mat_mul(&r->A, 1, &U, EP_T, &V, EP_N, 0);
  return EP_OK;
}

/* A <- (K + ridge)^{-1} = L'^{-1} L^{-1}; *good: K is well conditioned, so that this is the answer */
static ep_status inverse_by_cholesky(ep_work *work, run *r, const ep_mat *K, bool *good) {
  ep_mat L;
  double sum = 0;
  *good = false;
  EP_TRY(ep_work_mat(work, &L, EP_DOUBLE, r->n, r->n));
  ep_mat_copy(&L, K);
  ep_mat_fill(&r->A, 0);
  for (ptrdiff_t i = 0; i < r->n; i++) {
    *ep_d(&L, i, i) += r->t->ridge;
    *ep_d(&r->A, i, i) = 1;
    sum += *ep_d(&L, i, i);
  }
  const ep_status st = ep_mat_cholesky(&L);
  if (st == EP_ERR_NUMERIC) return EP_OK;
  EP_TRY(st);
  ep_mat_solve_triangular(&r->A, &L, EP_N);
  ep_mat_solve_triangular(&r->A, &L, EP_T);
  r->trace = 0;
  r->rank = r->n;
  for (ptrdiff_t i = 0; i < r->n; i++) r->trace += *ep_d(&r->A, i, i);
  *good = sum * r->trace / (double)r->n < worst_condition; /* Tr K Tr K^{-1} >= the condition */
  return EP_OK;
}

static ep_status invert(ep_work *work, run *r) {
  ep_mat K;
  bool good;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, r->n, r->n));
  EP_TRY(kernel_of(r, &K, &r->train));
  EP_TRY(inverse_by_cholesky(work, r, &K, &good));
  return good ? EP_OK : inverse_by_eigenvalues(work, r, &K);
}

/* ---- learnabilities */

/* L_j += T_jj = lambda_j phi_j'A phi_j, phi_j = sqrt(M) u_j on D; *sum = Tr T */
static void add_sample_learnability(double *L, double *sum, const run *r) {
  const ep_domain *d = r->d;
  for (ptrdiff_t first = 0; first < d->size; first += BLOCK) {
    const ptrdiff_t count = d->size - first < BLOCK ? d->size - first : BLOCK;
    const ep_mat P = ep_mat_rows(&r->P, 0, count), Q = ep_mat_rows(&r->Q, 0, count);
    for (ptrdiff_t j = 0; j < count; j++)
      for (ptrdiff_t i = 0; i < r->n; i++)
        *ep_d(&P, j, i) = *ep_d(&d->U, first + j, r->train.index[i]);
    ep_mat_mul(&Q, (double)d->size, &P, EP_N, &r->A, EP_N, 0);
    for (ptrdiff_t j = 0; j < count; j++) {
      double T = 0;
      for (ptrdiff_t i = 0; i < r->n; i++) T += *ep_d(&P, j, i) * *ep_d(&Q, j, i);
      T *= d->value[first + j];
      *sum += T;
      if (L) L[first + j] += T;
    }
  }
}

static ep_status add_learnability(double *L, double *sum, const run *r) {
  const ep_domain *d = r->d;
  *sum = 0;
  if (d->kind == EP_SAMPLE) {
    add_sample_learnability(L, sum, r);
    return EP_OK;
  }
  EP_TRY(ep_domain_zonal_sums(r->zonal, d, &r->A, r->train.index, &r->train.X));
  for (ptrdiff_t k = 0; k < d->spectrum.levels; k++) {
    const double T = d->value[k] * r->zonal[k];
    if (L) L[k] += T;
    *sum += d->count[k] * T;
  }
  if (d->kind ==
      EP_SPHERE) /* infinitely many levels: Tr K A, which is the rank where there is no ridge */
    *sum = r->t->ridge > 0 ? (double)r->n - r->t->ridge * r->trace : (double)r->rank;
  return EP_OK;
}

/* ---- errors */

typedef struct {
  double along, square, missed, seen_missed, unseen, right;
} sums;

static bool is_right(const double *f, const double *h, ptrdiff_t Z) {
  ptrdiff_t a = 0, b = 0;
  if (Z == 1) return (f[0] > 0) == (h[0] > 0);
  for (ptrdiff_t z = 1; z < Z; z++) {
    if (f[z] > f[a]) a = z;
    if (h[z] > h[b]) b = z;
  }
  return a == b;
}

/* the block's points into the sums */
static void add_errors(sums *s, const run *r, const sites *at, const ep_mat *F, const ep_mat *H) {
  for (ptrdiff_t i = 0; i < F->rows; i++) {
    const double *f = ep_d(F, i, 0), *h = ep_d(H, i, 0);
    const bool seen = place_of(r, at, i) >= 0;
    double missed = r->white && !seen, square = r->white && !seen, norm = 0;
    for (ptrdiff_t z = 0; z < r->Z; z++) {
      missed += (f[z] - h[z]) * (f[z] - h[z]);
      square += f[z] * f[z];
      s->along += f[z] * h[z];
      norm += h[z] * h[z];
    }
    if (r->white) missed += r->t->variance * norm; /* noise goes the way of the columns */
    s->square += square;
    s->missed += missed;
    if (seen) s->seen_missed += missed;
    else s->unseen++, s->right += is_right(f, h, r->Z);
  }
}

/* Y = f(D) + noise, C = A Y */
static ep_status train(run *r, int set) {
  EP_TRY(values_of(r, &r->Y, &r->train));
  ep_random random = ep_random_new(r->seed, EP_STREAM_AUGMENT, (uint32_t)set);
  for (ptrdiff_t i = 0; i < r->n * r->Z && !r->white && r->t->variance > 0; i++)
    ((double *)r->Y.data)[i] += sqrt(r->t->variance / (double)r->Z) * ep_random_normal(&random);
  ep_mat_mul(&r->C, 1, &r->A, EP_N, &r->Y, EP_N, 0);
  return EP_OK;
}

/* y - K(D,D) c = ridge A y, or without a ridge the part that the kernel cannot reach, y - K A y */
static ep_status training_error(ep_work *work, double *mse, const run *r) {
  const double noise = r->white ? 1 + r->t->variance : 1; /* y has this variance */
  if (r->t->ridge > 0 || r->rank == r->n) {
    *mse = r->t->ridge * r->t->ridge * ep_mat_norm2(&r->C) / (double)r->n * noise;
    return EP_OK;
  }
  ep_mat K, R;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, r->n, r->n));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, r->n, r->Z));
  EP_TRY(kernel_of(r, &K, &r->train));
  ep_mat_copy(&R, &r->Y);
  ep_mat_mul(&R, -1, &K, EP_N, &r->C, EP_N, 1);
  *mse = ep_mat_norm2(&R) / (double)r->n * noise;
  return EP_OK;
}

static ep_status test(run *r, outcome *o, int set) {
  sums s = {0};
  for (ptrdiff_t first = 0; first < r->T; first += BLOCK) {
    const ptrdiff_t count = r->T - first < BLOCK ? r->T - first : BLOCK;
    const ep_mat P = ep_mat_rows(&r->P, 0, count), F = ep_mat_rows(&r->F, 0, count);
    const ep_mat H = ep_mat_rows(&r->H, 0, count);
    sites at;
    EP_TRY(draw_test(r, &at, set, first, count));
    EP_TRY(kernel_of(r, &P, &at));
    EP_TRY(values_of(r, &F, &at));
    ep_mat_mul(&H, 1, &P, EP_N, &r->C, EP_N, 0);
    add_errors(&s, r, &at, &F, &H);
  }
  const double unseen = s.unseen > 0 ? s.unseen : NAN;
  o->learnability = s.square > 0 ? s.along / s.square : NAN;
  o->clean_mse = s.missed / (double)r->T;
  o->mse = o->clean_mse + r->t->variance;
  o->unseen_mse = (s.missed - s.seen_missed) / unseen;
  o->accuracy = r->white ? NAN : s.right / unseen;
  return EP_OK;
}

static ep_status one_set(ep_work *work, outcome *o, double *L, run *r, int set) {
  EP_TRY(draw_training(r, set));
  EP_TRY(invert(work, r));
  EP_TRY(add_learnability(L, &o->sum, r));
  EP_TRY(train(r, set));
  EP_TRY(test(r, o, set));
  EP_TRY(training_error(work, &o->train_mse, r));
  const double noise = r->white ? 1 + r->t->variance : 1;
  o->kappa = 1 / r->trace;
  o->rank = (double)r->rank;
  o->gcv =
      isfinite(r->trace) ? (double)r->n * noise * ep_mat_norm2(&r->C) / (r->trace * r->trace) : NAN;
  return EP_OK;
}

/* ---- all sets */

static ep_status room(ep_work *work, run *r) {
  const ptrdiff_t n = r->n, block = r->T < BLOCK ? r->T : BLOCK, D = ep_domain_dimension(r->d),
                  tall = r->d->kind == EP_SAMPLE && r->d->size < BLOCK ? r->d->size : BLOCK;
  const struct {
    ep_mat *to;
    ptrdiff_t rows, cols;
  } all[] = {{&r->A, n, n},        {&r->Y, n, r->Z},    {&r->C, n, r->Z},
             {&r->P, tall, n},     {&r->Q, tall, n},    {&r->F, block, r->Z},
             {&r->H, block, r->Z}, {&r->train.X, n, D}, {&r->test.X, block, D}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    EP_TRY(ep_work_mat(work, all[i].to, EP_DOUBLE, all[i].rows, all[i].cols));
  EP_TRY(ep_work_get(work, &r->zonal, r->d->spectrum.levels, sizeof *r->zonal));
  if (r->d->kind == EP_SPHERE) return EP_OK;
  EP_TRY(ep_work_get(work, &r->train.index, n, sizeof *r->train.index));
  return ep_work_get(work, &r->test.index, block, sizeof *r->test.index);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* mean, standard error and median of a number that lies so many bytes from the beginning of an outcome */
static ep_mean mean_of(double *x, const outcome *o, int sets, size_t offset) {
  double sum = 0, squares = 0;
  for (int i = 0; i < sets; i++) {
    memcpy(&x[i], (const char *)&o[i] + offset, sizeof *x);
    sum += x[i];
  }
  const double mean = sum / sets;
  for (int i = 0; i < sets; i++) squares += (x[i] - mean) * (x[i] - mean);
  qsort(x, (size_t)sets, sizeof *x, by_size);
  return (ep_mean){mean, sets > 1 ? sqrt(squares / (sets - 1) / sets) : NAN,
                   0.5 * (x[(sets - 1) / 2] + x[sets / 2])};
}

static void means(ep_measurement *out, double *room_of_sets, const outcome *o, int sets) {
#define X(name) out->name = mean_of(room_of_sets, o, sets, offsetof(outcome, name));
  NUMBERS(X)
#undef X
}

static ep_status measure(ep_work *work, outcome *o, double *L, run *r, int sets) {
  EP_TRY(room(work, r));
  for (int i = 0; i < sets; i++) {
    EP_TRY(ep_run_step("training sets", i, sets));
    ep_work inner = {0};
    const ep_status st = one_set(&inner, &o[i], L, r, i);
    ep_work_free(&inner);
    EP_TRY(st);
  }
  return EP_OK;
}

static ep_status check(const ep_domain *d, const ep_target *f, const ep_training_set *t, int sets,
                       double memory) {
  EP_CHECK(t->train >= 1 && t->train == floor(t->train) && t->train <= d->spectrum.size &&
               t->ridge >= 0 && t->variance >= 0 && sets >= 1,
           EP_ERR_ARG, "%d sets of %g training points out of %g cannot be drawn", sets, t->train,
           d->spectrum.size);
  const double n = t->train, Z = f->F.data ? (double)f->F.cols : f->degrees ? 1 : n;
  const double bytes = 8 * (6 * n * n + 2 * BLOCK * n + 2 * Z * (n + BLOCK));
  EP_CHECK(t->train < 1e6 && bytes <= memory, EP_ERR_ARG,
           "regression from %.0f points takes %.0f MiB: more than --memory", t->train,
           bytes / 1048576);
  EP_CHECK(!f->F.data || (double)f->F.rows == d->spectrum.size, EP_ERR_SHAPE,
           "a target of %td values on a domain of %.0f points", f->F.rows, d->spectrum.size);
  return EP_OK;
}

ep_status ep_domain_measure(ep_measurement *out, double *L, const ep_domain *d, const ep_target *f,
                            const ep_training_set *t, int sets, uint64_t seed, double memory) {
  EP_TRY(check(d, f, t, sets, memory));
  const bool white = !f->F.data && f->degrees == 0;
  const ptrdiff_t n = (ptrdiff_t)t->train;
  run r = {.d = d, .f = f, .t = t, .seed = seed, .white = white, .n = n};
  r.Z = white ? n : f->F.data ? f->F.cols : 1;
  r.T = d->spectrum.size <= TEST_POINTS || d->kind == EP_SAMPLE ? (ptrdiff_t)d->spectrum.size
                                                                : TEST_POINTS;
  ep_work work = {0};
  outcome *o;
  double *sorted;
  for (ptrdiff_t k = 0; L && k < d->spectrum.levels; k++) L[k] = 0;
  ep_status st = ep_work_get(&work, &o, sets, sizeof *o);
  if (!st) st = ep_work_get(&work, &sorted, sets, sizeof *sorted);
  if (!st) st = measure(&work, o, L, &r, sets);
  for (ptrdiff_t k = 0; L && k < d->spectrum.levels; k++) L[k] /= sets;
  if (!st) means(out, sorted, o, sets);
  ep_work_free(&work);
  return st;
}

/* ---- derivatives */

/* G_ij = phi_i'A phi_j on D, all modes; then dT_jj/dlambda_i = (1{i=j} - lambda_j G_ij) G_ij */
static ep_status derivatives(ep_work *work, const ep_mat *D, double *T, run *r) {
  const ep_domain *d = r->d;
  ep_mat P, Q;
  EP_TRY(ep_work_mat(work, &r->A, EP_DOUBLE, r->n, r->n));
  EP_TRY(ep_work_mat(work, &P, EP_DOUBLE, d->size, r->n));
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, d->size, r->n));
  EP_TRY(invert(work, r));
  EP_CHECK(r->rank == r->n, EP_ERR_INPUT,
           "K(D,D) of %td points has rank %td: learnabilities have no derivative there", r->n,
           r->rank);
  for (ptrdiff_t j = 0; j < d->size; j++)
    for (ptrdiff_t i = 0; i < r->n; i++)
      *ep_d(&P, j, i) = sqrt((double)d->size) * *ep_d(&d->U, j, r->train.index[i]);
  ep_mat_mul(&Q, 1, &P, EP_N, &r->A, EP_N, 0);
  ep_mat_mul(D, 1, &Q, EP_N, &P, EP_T, 0);
  for (ptrdiff_t j = 0; j < d->size; j++) {
    if (T) T[j] = d->value[j] * *ep_d(D, j, j);
    for (ptrdiff_t i = 0; i < d->size; i++) {
      double *g = ep_d(D, i, j);
      *g *= (i == j) - d->value[j] * *g;
    }
  }
  return EP_OK;
}

ep_status ep_domain_derivatives(const ep_mat *D, double *T, const ep_domain *d,
                                const ptrdiff_t *index, ptrdiff_t n) {
  EP_CHECK(d->kind == EP_SAMPLE && D->rows == d->size && D->cols == d->size &&
               D->prec == EP_DOUBLE && n >= 1 && n <= d->size,
           EP_ERR_SHAPE, "derivatives on a sample of %td points, not %td x %td", d->size, D->rows,
           D->cols);
  const ep_training_set t = {.train = (double)n};
  ep_work work = {0};
  run r = {.d = d, .t = &t, .n = n, .train.index = (ptrdiff_t *)index};
  const ep_status st = derivatives(&work, D, T, &r);
  ep_work_free(&work);
  return st;
}
