/* TANGENT's claims on learnability: no free lunch, functions that are no eigenfunctions, degrees on the sphere (Simon). */
#include "study/tangent_claims.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <eigenpair/regression.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- tangent-nofreelunch */

typedef struct {
  const char *name;
  long samples; /* 0: all there are, 64 */
} lunch_set;
enum { LUNCH_CUBE = 1 };
static const lunch_set lunch_sets[] = {
    {"circle:64", 0}, [LUNCH_CUBE] = {"cube:6", 0}, {"sphere:5,64", 0}, {"digits", 64}};
static const struct {
  const char *name;
  int depth;
  double bias;
} lunch_kernels[] = {{"two layers", 2, 0}, {"biases", 1, 0.5}, {"neither", 1, 0}};

/* K (64 x 64), the caller's */
static ep_status lunch_kernel(ep_mat *K, const lunch_set *data, const ep_domain_kernel *k,
                              const ep_run_config *run) {
  ep_data_config c;
  ep_run_config in_double = *run;
  ep_dataset set;
  ep_options_default(ep_data_options, &c);
  in_double.precision = EP_DOUBLE;
  snprintf(c.data, sizeof c.data, "%s", data->name);
  c.samples = data->samples;
  EP_TRY(ep_dataset_load(NULL, &set, &c, &in_double));
  ep_scale_to_unit(&set.X);
  ep_status st = ep_mat_new(K, EP_DOUBLE, set.X.rows, set.X.rows);
  if (!st) st = ep_analytic_kernel(NULL, K, &k->network, EP_NTK, &set.X, NULL);
  ep_dataset_free(&set);
  if (st) ep_mat_free(K);
  return st;
}

static ep_status lunch_domain(ep_domain **out, const lunch_set *data, const ep_domain_kernel *k,
                              const ep_run_config *run) {
  ep_mat K;
  *out = NULL;
  EP_TRY(lunch_kernel(&K, data, k, run));
  return ep_domain_sample(out, &K, DBL_EPSILON);
}

typedef struct {
  double off;   /* largest |sum of learnabilities - rank of K(D,D)| over the sets */
  bool full;    /* the rank was n each time */
  double wrong; /* largest derivative of the wrong sign */
} lunch;

/* derivatives only where every training set has an invertible kernel matrix */
static ep_status lunch_one(lunch *out, const ep_domain *d, int sets, bool invertible,
                           const ep_run_config *run) {
  enum { M = 64, N = 20 };
  const ep_training_set t = {.train = N};
  for (int i = 0; i < sets; i++) {
    ep_measurement m;
    EP_TRY(ep_domain_measure(&m, NULL, d, &(ep_target){0}, &t, 1, (uint64_t)(run->seed + i),
                             tangent_memory));
    out->off = fmax(out->off, fabs(m.sum.mean - m.rank.mean));
    out->full = out->full && m.rank.mean == N;
  }
  ep_mat D;
  ptrdiff_t index[M];
  EP_TRY(ep_mat_new(&D, EP_DOUBLE, M, M));
  ep_random random = ep_random_new((uint64_t)run->seed, EP_STREAM_SAMPLE, 99);
  ep_random_permutation(&random, index, M);
  const ep_status st = invertible ? ep_domain_derivatives(&D, NULL, d, index, N) : EP_OK;
  for (int i = 0; i < M * M; i++) {
    const double e = *ep_d(&D, i / M, i % M);
    out->wrong = fmax(out->wrong, i / M == i % M ? -e : e);
  }
  ep_mat_free(&D);
  return st;
}

/* the sum against n on the cube, a line a kernel */
static ep_status lunch_figure(ep_claim_result *r, const ep_run_config *run) {
  enum { SIZES = 8 };
  json_t *f;
  double n[SIZES], sum[SIZES];
  EP_TRY(ep_figure_new(
      &f, "sum", EP_FIGURE_LINE, "Sum of learnabilities on the cube of 64 points",
      "The sum of learnabilities against the number of training points, a line a kernel.",
      (ep_axis){"training points n", .log = false}, (ep_axis){"sum", .log = false}));
  ep_status st = EP_OK;
  for (int j = 0; !st && j < 3; j++) {
    ep_domain_kernel k;
    ep_domain *d = NULL;
    st = tangent_kernel(&k, "relu", lunch_kernels[j].depth, lunch_kernels[j].bias);
    if (!st) st = lunch_domain(&d, &lunch_sets[LUNCH_CUBE], &k, run);
    for (int i = 0; !st && i < SIZES; i++) {
      ep_measurement m = {0};
      n[i] = 8 * (i + 1);
      st = ep_domain_measure(&m, NULL, d, &(ep_target){0}, &(ep_training_set){.train = n[i]}, 5,
                             (uint64_t)run->seed, tangent_memory);
      sum[i] = m.sum.mean;
    }
    if (!st) st = tangent_line(f, lunch_kernels[j].name, n, sum, SIZES, j == 2);
    ep_domain_free(d);
  }
  return tangent_figure(r, f, st);
}

/* lambda_min/lambda_max of the kernel of one layer at 20 points of the sphere in R^10; opposite: the last ten are those
 * of the first with the sign turned */
static ep_status least_share(double *share, const char *phi, double bias, bool opposite,
                             long seed) {
  enum { N = 20, D = 10 };
  double lambda[N];
  ep_domain_kernel k;
  ep_work work = {0};
  ep_mat X, K;
  ep_status st = tangent_kernel(&k, phi, 1, bias);
  if (!st) st = tangent_points(&work, &X, N, D, seed, 41);
  for (int i = 0; !st && opposite && i < N / 2 * D; i++)
    *ep_d(&X, N / 2 + i / D, i % D) = -*ep_d(&X, i / D, i % D);
  if (!st) st = ep_work_mat(&work, &K, EP_DOUBLE, N, N);
  if (!st) st = ep_analytic_kernel(NULL, &K, &k.network, EP_NTK, &X, NULL);
  if (!st) st = ep_mat_eig_sym(&K, lambda);
  *share = st ? NAN : lambda[0] / lambda[N - 1];
  ep_work_free(&work);
  return st;
}

/* Eq. 42 and 43: above 0 (1e-6) but for opposite points without biases, where f(-x) = -f(x): 0 to rounding (1e-12) */
static ep_status least_eigenvalues(ep_claim_result *r, long seed) {
  static const char *const phis[] = {"erf", "tanh"};
  static const char *const names[] = {"no two opposite", "no two opposite, biases", "opposite",
                                      "opposite, biases"};
  for (int i = 0; i < 8; i++) {
    const int c = i % 4;
    double share;
    char name[96];
    EP_TRY(least_share(&share, phis[i / 4], c % 2 ? 0.5 : 0, c >= 2, seed));
    r->pass = r->pass && (c == 2 ? fabs(share) < 1e-12 : share > 1e-6);
    snprintf(name, sizeof name, "least over largest eigenvalue, %s, %s", phis[i / 4], names[c]);
    EP_TRY(ep_claim_measure(r, name, share));
  }
  return EP_OK;
}

ep_status tangent_nofreelunch(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int sets = size == EP_CLAIM_QUICK ? 20 : 200;
  int singular = 0;
  bool control = false; /* one layer without biases on the circle */
  r->pass = true;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 3; j++) {
      ep_domain_kernel k;
      ep_domain *d;
      lunch l = {.full = true};
      char name[96];
      EP_TRY(tangent_kernel(&k, "relu", lunch_kernels[j].depth, lunch_kernels[j].bias));
      EP_TRY(lunch_domain(&d, &lunch_sets[i], &k, run));
      const ep_status st = lunch_one(&l, d, sets, j < 2, run);
      ep_domain_free(d);
      EP_TRY(st);
      singular += !l.full;
      control = control || (i == 0 && j == 2 && !l.full);
      r->pass = r->pass && l.off <= 1e-8 && l.wrong <= 1e-9 && (j == 2 || l.full);
      snprintf(name, sizeof name, "off %s %s", lunch_sets[i].name, lunch_kernels[j].name);
      EP_TRY(ep_claim_measure(r, name, l.off));
      snprintf(name, sizeof name, "invertible %s %s", lunch_sets[i].name, lunch_kernels[j].name);
      EP_TRY(ep_claim_measure(r, name, l.full));
    }
  r->pass = r->pass && control;
  EP_TRY(least_eigenvalues(r, run->seed));
  EP_TRY(lunch_figure(r, run));
  EP_TRY(ep_claim_note(
      r,
      "Training sets of 20 out of 64 points, no ridge. Eigenvalues of eq. 41: 20 points of the "
      "sphere in R^10, one hidden layer of erf or tanh, biases of variance 0.5. An eigenvalue is "
      "known to n eps = 4e-15 of the largest: singular is below 1e-12, invertible above 1e-6, and "
      "nothing may lie between."));
  if (singular == 0 || !r->pass) return EP_OK;
  return ep_claim_found(
      r,
      "On %d of 4 sets K(D,D) is singular for one relu layer without biases, which "
      "has no odd degrees above 1: the sum of learnabilities is its rank, not n.",
      singular);
}

/* ---- tangent-general */

enum { GENERAL_POINTS = 64, GENERAL_FUNCTIONS = 64, TRACE_AT = 20 };

/* Learnabilities as training points are added one after another: extremes, and the deepest fall. */
typedef struct {
  double least, most, fall;
  int falls;
} history_of;

static void add_learnability(history_of *h, double *before, double L, bool first) {
  h->least = fmin(h->least, L), h->most = fmax(h->most, L);
  if (!first && *before - L > h->fall) h->fall = *before - L;
  h->falls += !first && *before - L > 1e-9;
  *before = L;
}

/* L(f_j) = <f_j, f^_j>/<f_j, f_j> of every column from the first n points of the order */
static ep_status learn_columns(ep_work *work, double *L, const ep_mat *K, const ep_mat *F,
                               const ptrdiff_t *order, ptrdiff_t n) {
  ep_mat KD, Kx, C, H;
  EP_TRY(ep_work_mat(work, &KD, EP_DOUBLE, n, n));
  EP_TRY(ep_work_mat(work, &Kx, EP_DOUBLE, K->rows, n));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, n, F->cols));
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, K->rows, F->cols));
  for (ptrdiff_t i = 0; i < n; i++) {
    const ep_mat to = ep_mat_rows(&C, i, 1), from = ep_mat_rows(F, order[i], 1);
    ep_mat_copy(&to, &from);
    for (ptrdiff_t j = 0; j < n; j++) *ep_d(&KD, i, j) = *ep_d(K, order[i], order[j]);
    for (ptrdiff_t x = 0; x < K->rows; x++) *ep_d(&Kx, x, i) = *ep_d(K, x, order[i]);
  }
  EP_TRY(ep_regression_ridge(&C, &KD, &C, 0));
  ep_mat_mul(&H, 1, &Kx, EP_N, &C, EP_N, 0);
  for (ptrdiff_t j = 0; j < F->cols; j++) {
    double along = 0, square = 0;
    for (ptrdiff_t x = 0; x < F->rows; x++) {
      along += *ep_d(F, x, j) * *ep_d(&H, x, j);
      square += *ep_d(F, x, j) * *ep_d(F, x, j);
    }
    L[j] = along / square;
  }
  return EP_OK;
}

/* eigenfunctions in the first columns, a random orthogonal basis (eigenvectors of a random matrix) in the rest */
static ep_status general_functions(ep_work *work, ep_mat *F, double *lambda, const ep_mat *K,
                                   long seed) {
  ep_mat U, R;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, GENERAL_POINTS, GENERAL_POINTS));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, GENERAL_POINTS, GENERAL_FUNCTIONS));
  EP_TRY(ep_work_mat(work, F, EP_DOUBLE, GENERAL_POINTS, GENERAL_POINTS + GENERAL_FUNCTIONS));
  ep_mat_copy(&U, K);
  EP_TRY(ep_mat_eig_sym(&U, lambda));
  ep_random_fill_normal(&R, (uint64_t)seed, EP_STREAM_DATA, 21);
  ep_mat_symmetrise(&R);
  double unused[GENERAL_FUNCTIONS];
  EP_TRY(ep_mat_eig_sym(&R, unused));
  for (ptrdiff_t x = 0; x < GENERAL_POINTS; x++)
    for (ptrdiff_t j = 0; j < F->cols; j++)
      *ep_d(F, x, j) = j < GENERAL_POINTS ? *ep_d(&U, j, x) : *ep_d(&R, j - GENERAL_POINTS, x);
  return EP_OK;
}

/* both kinds along one order of the points; *trace: of T as printed, with Lam^1/2 on the right; off[k]: how far the sum of
 * learnabilities over a basis is from n, at most */
static ep_status general_order(ep_work *work, history_of kind[2], double *trace, double off[2],
                               const ep_mat *K, long seed) {
  enum { ALL = GENERAL_POINTS + GENERAL_FUNCTIONS };
  ep_mat F;
  double lambda[GENERAL_POINTS], L[ALL], before[ALL];
  ptrdiff_t order[GENERAL_POINTS];
  ep_random random = ep_random_new((uint64_t)seed, EP_STREAM_SAMPLE, 22);
  EP_TRY(general_functions(work, &F, lambda, K, seed));
  ep_random_permutation(&random, order, GENERAL_POINTS);
  for (ptrdiff_t n = 1; n < GENERAL_POINTS; n++) {
    ep_work inner = {0};
    const ep_status st = learn_columns(&inner, L, K, &F, order, n);
    ep_work_free(&inner);
    EP_TRY(st);
    double sum[2] = {0};
    for (int j = 0; j < ALL; j++) sum[j >= GENERAL_POINTS] += L[j];
    for (int k = 0; k < 2; k++) off[k] = fmax(off[k], fabs(sum[k] - (double)n));
    for (int j = 0; j < ALL; j++)
      add_learnability(&kind[j >= GENERAL_POINTS], &before[j], L[j], n == 1);
    for (int j = 0; n == TRACE_AT && j < GENERAL_POINTS; j++)
      *trace += lambda[j] / GENERAL_POINTS * L[j];
  }
  return EP_OK;
}

static ep_status general_report(ep_claim_result *r, const history_of kind[2], double trace,
                                const double off[2]) {
  static const char *const names[2] = {"eigenfunctions", "random functions"};
  for (int k = 0; k < 2; k++) {
    char name[64];
    const history_of *h = &kind[k];
    const bool meets = h->least >= -1e-8 && h->most <= 1 + 1e-8 && h->fall <= 1e-8;
    r->pass = r->pass && meets == (k == 0);
    snprintf(name, sizeof name, "least and largest %s", names[k]);
    EP_TRY(ep_claim_measure_all(r, name, (double[]){h->least, h->most}, 2));
    snprintf(name, sizeof name, "deepest fall %s", names[k]);
    EP_TRY(ep_claim_measure(r, name, h->fall));
    r->pass = r->pass && off[k] <= 1e-8; /* Theorem 2.2: for any basis */
    snprintf(name, sizeof name, "sum over the basis less n %s", names[k]);
    EP_TRY(ep_claim_measure(r, name, off[k]));
    snprintf(name, sizeof name, "falls %s", names[k]);
    EP_TRY(ep_claim_measure(r, name, h->falls));
  }
  EP_TRY(ep_claim_measure(r, "trace of T as printed at n = 20", trace));
  if (r->pass)
    EP_TRY(ep_claim_found(
        r,
        "Learnabilities of random functions lie between %.2f and %.2f, and may fall as points are "
        "added, by up to %.2f at once: \"in [0,1]\" and Lemma 1 (e) hold for eigenfunctions, not "
        "for every f.",
        kind[1].least, kind[1].most, kind[1].fall));
  if (fabs(trace - TRACE_AT) < 1) return EP_OK;
  return ep_claim_found(
      r,
      "The proof of Lemma 1 (e) writes T with Lam^1/2 on the right, where Lam^-1/2 "
      "belongs: its trace would be %.3f for 20 points.",
      trace);
}

/* one function as points are added, drawn beside an eigenfunction */
static ep_status general_figure(ep_claim_result *r, ep_work *work, const ep_mat *K, long seed) {
  enum { SHOWN = 4, ALL = GENERAL_POINTS + GENERAL_FUNCTIONS };
  static const int columns[SHOWN] = {GENERAL_POINTS - 5, GENERAL_POINTS / 2, GENERAL_POINTS,
                                     GENERAL_POINTS + 1};
  static const char *const names[SHOWN] = {"eigenfunction 5", "eigenfunction 32", "random function",
                                           "another"};
  ep_mat F;
  json_t *figure;
  double lambda[GENERAL_POINTS], L[ALL], x[GENERAL_POINTS], y[SHOWN][GENERAL_POINTS];
  ptrdiff_t order[GENERAL_POINTS];
  ep_random random = ep_random_new((uint64_t)seed, EP_STREAM_SAMPLE, 22);
  EP_TRY(general_functions(work, &F, lambda, K, seed));
  ep_random_permutation(&random, order, GENERAL_POINTS);
  for (ptrdiff_t n = 1; n < GENERAL_POINTS; n++) {
    ep_work inner = {0};
    const ep_status st = learn_columns(&inner, L, K, &F, order, n);
    ep_work_free(&inner);
    EP_TRY(st);
    x[n - 1] = (double)n;
    for (int k = 0; k < SHOWN; k++) y[k][n - 1] = L[columns[k]];
  }
  EP_TRY(claim_figure(&figure, r, "general", EP_FIGURE_LINE, "Learnability as points are added",
                      "Learnability of two eigenfunctions and of two random functions (dashed) as "
                      "points are added.",
                      (ep_axis){"training points n", .log = false},
                      (ep_axis){"learnability", .log = false}));
  for (int k = 0; k < SHOWN; k++)
    EP_TRY(tangent_line(figure, names[k], x, y[k], GENERAL_POINTS - 1, k > 1));
  return EP_OK;
}

ep_status tangent_general(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int orders = claim_pick(size, 5, 50, 200);
  history_of kind[2] = {{INFINITY, -INFINITY, 0, 0}, {INFINITY, -INFINITY, 0, 0}};
  double trace = 0, off[2] = {0};
  r->pass = true;
  for (int i = 0; i < 3; i++) { /* not the circle */
    ep_domain_kernel k;
    ep_mat K;
    ep_work work = {0};
    EP_TRY(tangent_kernel(&k, "relu", 2, 0));
    EP_TRY(lunch_kernel(&K, &lunch_sets[LUNCH_CUBE + i], &k, run));
    ep_status st = EP_OK;
    for (int j = 0; !st && j < orders; j++) {
      double one = 0;
      st = general_order(&work, kind, &one, off, &K, run->seed + j);
      trace += one / (3 * orders);
    }
    if (!st && i == 0) st = general_figure(r, &work, &K, run->seed);
    ep_mat_free(&K);
    ep_work_free(&work);
    EP_TRY(st);
  }
  EP_TRY(general_report(r, kind, trace, off));
  return ep_claim_note(r,
                       "64 points of cube, sphere and digits, relu with two hidden layers; all 64 "
                       "eigenfunctions and a random orthogonal basis of 64 functions from 1 to 63 "
                       "training points, added one by "
                       "one in random order.");
}

/* ---- tangent-modes */

enum { DEGREES = 6, MODE_SIZES = 8 };

typedef struct {
  double n[MODE_SIZES], predicted[DEGREES][MODE_SIZES], found[DEGREES][MODE_SIZES];
  double worst; /* |predicted - found| for n >= 8 */
  double other; /* the same with the spectrum of another kernel */
} mode_table;

/* d: the domain with the kernel that is measured; another: with that of the control */
static ep_status mode_runs(ep_work *work, mode_table *m, const ep_domain *d,
                           const ep_domain *another, int sets, uint64_t seed) {
  const ep_spectrum *s = ep_domain_spectrum(d), *o = ep_domain_spectrum(another);
  double *L, *T, *wrong;
  EP_TRY(ep_work_get(work, &L, s->levels, sizeof *L));
  EP_TRY(ep_work_get(work, &T, s->levels, sizeof *T));
  EP_TRY(ep_work_get(work, &wrong, o->levels, sizeof *wrong));
  for (int i = 0; i < MODE_SIZES; i++) {
    ep_prediction p;
    ep_measurement unused;
    m->n[i] = 2 << i;
    const ep_training_set t = {.train = m->n[i]};
    EP_TRY(ep_run_step("sizes", i, MODE_SIZES));
    EP_TRY(ep_learn_predict(&p, wrong, o, NULL, &t));
    EP_TRY(ep_learn_predict(&p, L, s, NULL, &t));
    EP_TRY(ep_domain_measure(&unused, T, d, &(ep_target){0}, &t, sets, seed, tangent_memory));
    for (int g = 0; g < DEGREES; g++) {
      m->predicted[g][i] = L[g], m->found[g][i] = T[g];
      if (m->n[i] < 8) continue;
      m->worst = fmax(m->worst, fabs(L[g] - T[g]));
      m->other = fmax(m->other, fabs(wrong[g] - T[g]));
    }
  }
  return EP_OK;
}

static ep_status mode_report(ep_claim_result *r, const mode_table *m) {
  json_t *figure;
  char name[64];
  EP_TRY(claim_figure(&figure, r, "modes", EP_FIGURE_LINE, "Learnability by degree on the 7-sphere",
                      "Learnability of each degree against the number of training points, measured "
                      "and (dashed) predicted.",
                      (ep_axis){"training points n", .log = true},
                      (ep_axis){"learnability", .log = false}));
  for (int g = 0; g < DEGREES; g++) {
    snprintf(name, sizeof name, "degree %d", g);
    EP_TRY(tangent_line(figure, name, m->n, m->found[g], MODE_SIZES, false));
    snprintf(name, sizeof name, "degree %d, predicted", g);
    EP_TRY(tangent_line(figure, name, m->n, m->predicted[g], MODE_SIZES, true));
    snprintf(name, sizeof name, "learnability of degree %d", g);
    EP_TRY(ep_claim_measure_all(r, name, m->found[g], MODE_SIZES));
  }
  EP_TRY(ep_figure_rule(figure, 'y', 0.25, "1/4"));
  EP_TRY(ep_claim_measure(r, "largest difference from the prediction for n >= 8", m->worst));
  EP_TRY(ep_claim_measure(r, "the same with the spectrum of one layer", m->other));
  EP_TRY(ep_claim_note(
      r,
      "relu, two hidden layers, all of the sphere in R^8; n = 2, 4, .., 256; means over training "
      "sets. 256 points can learn 256 modes (Theorem 2.2): degrees 0 to 3 have 156, degrees 0 to 4 "
      "have 450. \"Much closer to 0 than to 1\" is read as below 1/4, for all past these."));
  return ep_claim_found(
      r,
      "With 256 points on the 7-sphere degree 3 (112 modes) is learnt to %.2f, degree 4 to %.2f, "
      "degree 5 to %.2f%s.",
      m->found[3][MODE_SIZES - 1], m->found[4][MODE_SIZES - 1], m->found[5][MODE_SIZES - 1],
      m->found[3][MODE_SIZES - 1] >= 0.25 && m->found[4][MODE_SIZES - 1] < 0.25
          ? ": \"all but the top few modes\" are then all but the first 156"
          : "");
}

ep_status tangent_modes(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  enum { LAST = MODE_SIZES - 1, WITHIN = 3 }; /* degrees that 256 points have room for */
  mode_table m = {0};
  ep_domain_kernel k;
  ep_domain *d = NULL, *another = NULL;
  ep_work work = {0};
  EP_TRY(tangent_kernel(&k, "relu", 2, 0));
  EP_TRY(ep_domain_new(&d, EP_SPHERE, 8, &k));
  ep_status st = tangent_kernel(&k, "relu", 1, 0);
  if (!st) st = ep_domain_new(&another, EP_SPHERE, 8, &k);
  if (!st)
    st = mode_runs(&work, &m, d, another, claim_pick(size, 10, 50, 200), (uint64_t)run->seed);
  ep_work_free(&work);
  ep_domain_free(d);
  ep_domain_free(another);
  EP_TRY(st);
  r->pass = m.worst <= 0.05 && m.other > 0.05; /* the control */
  for (int g = WITHIN + 1; g < DEGREES; g++) r->pass = r->pass && m.found[g][LAST] < 0.25;
  return mode_report(r, &m);
}
