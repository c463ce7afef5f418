/* Data sets made by formula. Point i is drawn from its own stream (seed, EP_STREAM_DATA, i), in
 * double: a random point depends neither on n nor on the threads, and single precision is double
 * precision rounded. */
#include "core/crew.h"
#include "core/mem.h"
#include "core/threads.h"
#include "data/patterns.h"

#include <eigenpair/options.h>
#include <eigenpair/random.h>
#include <eigenpair/run.h>
#include <eigenpair/synthetic.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 4 };
static const double pi = 3.14159265358979323846264338327950288;
static const double max_entries = 1e9;
static const uint32_t shared_stream = UINT32_MAX; /* past every point: what all points share */

typedef struct {
  const char *name; /* NULL: the set has no such parameter */
  double def, lo, hi;
  bool whole;
} parameter;

/* A set about to be made: its parameters, its size, and the matrix that all points share. */
typedef struct {
  double p[PARAMETERS];
  ptrdiff_t n, d;
  uint64_t seed;
  ep_mat shared; /* double; patterns as columns, or centres, or empty */
} plan;

typedef struct {
  const char *name, *help;
  parameter parameters[PARAMETERS];
  int size;                    /* which parameter `samples` replaces; -1: none */
  void (*shape)(plan *s);      /* sets n and d */
  ep_status (*share)(plan *s); /* makes the shared matrix, or NULL */
  void (*point)(double *x, int *label, double *y, const plan *s, ptrdiff_t i); /* y: d of scratch */
  bool labelled;
} set;

static ep_random point_random(const plan *s, ptrdiff_t i) {
  return ep_random_new(s->seed, EP_STREAM_DATA, (uint32_t)i);
}

/* ---- what points share */

/* d x d: the patterns u_k, orthonormal but for the tilt */
static ep_status share_patterns(plan *s) { return ep_patterns(&s->shared, s->d, s->p[3], s->seed); }

/* k x d centres, N(0, 1) an entry; point_clusters spreads them */
static ep_status share_centres(plan *s) {
  EP_CHECK(s->p[0] * (double)s->d <= max_entries, EP_ERR_ARG,
           "clusters: %.15g centres of %td numbers are more than %g numbers", s->p[0], s->d,
           max_entries);
  EP_TRY(ep_mat_new(&s->shared, EP_DOUBLE, (ptrdiff_t)s->p[0], s->d));
  ep_random_fill_normal(&s->shared, s->seed, EP_STREAM_DATA, shared_stream);
  return EP_OK;
}

/* ---- the sets */

static void shape_moons(plan *s) { s->n = (ptrdiff_t)s->p[0], s->d = 3; }
static void shape_circle(plan *s) { s->n = (ptrdiff_t)s->p[0], s->d = 2; }
static void shape_cube(plan *s) { s->d = (ptrdiff_t)s->p[0], s->n = (ptrdiff_t)1 << s->d; }
static void shape_d_n(plan *s) { s->d = (ptrdiff_t)s->p[0], s->n = (ptrdiff_t)s->p[1]; }
static void shape_k_n_d(plan *s) { s->n = (ptrdiff_t)s->p[1], s->d = (ptrdiff_t)s->p[2]; }

/* t uniform in [0, pi), e ~ N(0, 0.1^2 I): label 0 x = (cos t, sin t, 0) + e, label 1
 * x = (1 - cos t, 1/2 - sin t, 0) + e, labels in turn. LINEAR (Example 1, Fig. 1 and 4) shows half
 * moons in R^3 and gives no formula: the arcs here are scikit-learn's make_moons, t is random so
 * that the first points are a fair sample, and the third coordinate is noise alone. */
static void point_moons(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)y;
  ep_random r = point_random(s, i);
  const double t = pi * ep_random_uniform(&r);
  *label = (int)(i % 2);
  x[0] = *label ? 1 - cos(t) : cos(t);
  x[1] = *label ? 0.5 - sin(t) : sin(t);
  x[2] = 0;
  for (int j = 0; j < 3; j++) x[j] += 0.1 * ep_random_normal(&r);
}

/* x = (cos 2 pi i/M, sin 2 pi i/M) */
static void point_circle(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)label, (void)y;
  x[0] = cos(2 * pi * (double)i / (double)s->n);
  x[1] = sin(2 * pi * (double)i / (double)s->n);
}

/* x_j = 1 where bit j of i is set, else -1 */
static void point_cube(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)label, (void)y;
  for (ptrdiff_t j = 0; j < s->d; j++) x[j] = i >> j & 1 ? 1 : -1;
}

/* x = z / |z|, z ~ N(0, I) */
static void point_sphere(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)label, (void)y;
  ep_random r = point_random(s, i);
  double norm2;
  do {
    norm2 = 0;
    for (ptrdiff_t j = 0; j < s->d; j++) {
      x[j] = ep_random_normal(&r);
      norm2 += x[j] * x[j];
    }
  } while (norm2 == 0);
  for (ptrdiff_t j = 0; j < s->d; j++) x[j] /= sqrt(norm2);
}

/* x = u_k + noise N(0, I), u_k column k of U, k uniform; label k counted from 0 */
static void point_categorical(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)y;
  ep_random r = point_random(s, i);
  const ptrdiff_t k = (ptrdiff_t)ep_random_below(&r, s->d);
  *label = (int)k;
  for (ptrdiff_t j = 0; j < s->d; j++) x[j] = *ep_d(&s->shared, j, k);
  if (s->p[2] > 0)
    for (ptrdiff_t j = 0; j < s->d; j++) x[j] += s->p[2] * ep_random_normal(&r);
}

/* x = U y, y_k = (b_k - q) / sqrt(q (1 - q)), b_k ~ Bernoulli(q): E y = 0, E y^2 = 1 */
static void point_summation(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)label;
  ep_random r = point_random(s, i);
  const double q = s->p[2], scale = sqrt(q * (1 - q));
  for (ptrdiff_t k = 0; k < s->d; k++) y[k] = ((ep_random_uniform(&r) < q ? 1 : 0) - q) / scale;
  for (ptrdiff_t j = 0; j < s->d; j++) {
    const double *u = ep_d(&s->shared, j, 0);
    x[j] = 0;
    for (ptrdiff_t k = 0; k < s->d; k++) x[j] += u[k] * y[k];
  }
}

/* x = 3 c_k + N(0, I), c_k ~ N(0, I), k = i mod the number of clusters, so all are equally large */
static void point_clusters(double *x, int *label, double *y, const plan *s, ptrdiff_t i) {
  (void)y;
  ep_random r = point_random(s, i);
  const ptrdiff_t k = i % s->shared.rows;
  *label = (int)k;
  for (ptrdiff_t j = 0; j < s->d; j++) x[j] = 3 * *ep_d(&s->shared, k, j) + ep_random_normal(&r);
}

static const set sets[] = {
    {"moons",
     "moons[:n]  two half moons in R^3",
     {{"n", 200, 1, 1e8, true}},
     0,
     shape_moons,
     NULL,
     point_moons,
     true},
    {"circle",
     "circle[:M]  M points evenly on the unit circle",
     {{"M", 64, 1, 1e8, true}},
     -1,
     shape_circle,
     NULL,
     point_circle,
     false},
    {"cube",
     "cube[:d]  all 2^d vertices of {-1,1}^d",
     {{"d", 8, 1, 20, true}},
     -1,
     shape_cube,
     NULL,
     point_cube,
     false},
    {"sphere",
     "sphere[:d[,n]]  n points uniform on the unit sphere of R^d",
     {{"d", 3, 1, 1e6, true}, {"n", 256, 1, 1e8, true}},
     1,
     shape_d_n,
     NULL,
     point_sphere,
     false},
    {"categorical",
     "categorical[:m[,n[,noise]]]  one of m orthonormal vectors, plus noise",
     {{"m", 6, 1, 4096, true}, {"n", 600, 1, 1e8, true}, {"noise", 0, 0, 1e6, false}},
     1,
     shape_d_n,
     share_patterns,
     point_categorical,
     true},
    {"summation",
     "summation[:m[,n[,q[,tilt]]]]  sum of m vectors times Bernoulli(q), |U'U - I| = tilt",
     {{"m", 6, 1, 4096, true},
      {"n", 600, 1, 1e8, true},
      {"q", 0.2, 1e-6, 1 - 1e-6, false},
      {"tilt", 0, 0, 0.9, false}},
     1,
     shape_d_n,
     share_patterns,
     point_summation,
     false},
    {"clusters",
     "clusters[:k[,n[,d]]]  k Gaussian clusters in R^d",
     {{"k", 10, 1, 1e6, true}, {"n", 1000, 1, 1e8, true}, {"d", 20, 1, 1e6, true}},
     1,
     shape_k_n_d,
     share_centres,
     point_clusters,
     true},
};
enum { SETS = sizeof sets / sizeof *sets };

const char *ep_synthetic_name(int i) { return i >= 0 && i < SETS ? sets[i].name : NULL; }
const char *ep_synthetic_help(int i) { return i >= 0 && i < SETS ? sets[i].help : NULL; }

/* ---- making */

/* One number of the list into p, the range checked; *text moves to the comma or the end. */
static ep_status read_one(double *p, const set *t, const parameter *q, const char **text) {
  const int length = (int)strcspn(*text, ",");
  const char *start = *text;
  char *end = NULL;
  if (length && strspn(start, "0123456789.+-eE") >= (size_t)length) *p = strtod(start, &end);
  EP_CHECK(end == start + length && isfinite(*p), EP_ERR_ARG,
           "%s: %s '%.*s' is not a number; write %s", t->name, q->name, length < 40 ? length : 40,
           start, t->help);
  EP_CHECK(!q->whole || *p == floor(*p), EP_ERR_ARG, "%s: %s %.15g is not a whole number", t->name,
           q->name, *p);
  EP_CHECK(*p >= q->lo && *p <= q->hi, EP_ERR_ARG, "%s: %s %.15g is out of range: %.15g to %.15g",
           t->name, q->name, *p, q->lo, q->hi);
  *text = start + length;
  return EP_OK;
}

static ep_status read_parameters(plan *s, const set *t, const char *text, ptrdiff_t samples) {
  for (int k = 0; k < PARAMETERS; k++) s->p[k] = t->parameters[k].def;
  for (int k = 0; text; k++) {
    EP_CHECK(k < PARAMETERS && t->parameters[k].name, EP_ERR_ARG,
             "%s: too many parameters; write %s", t->name, t->help);
    EP_TRY(read_one(&s->p[k], t, &t->parameters[k], &text));
    text = *text ? text + 1 : NULL;
  }
  if (samples > 0 && t->size >= 0) {
    const double most = t->parameters[t->size].hi;
    EP_CHECK((double)samples <= most, EP_ERR_ARG, "%s: %td samples are more than %.15g", t->name,
             samples, most);
    s->p[t->size] = (double)samples;
  }
  t->shape(s);
  EP_CHECK((double)s->n * (double)s->d <= max_entries, EP_ERR_ARG,
           "%s: %td points of %td numbers are more than %g numbers", t->name, s->n, s->d,
           max_entries);
  return EP_OK;
}

typedef struct {
  const ep_mat *X;
  int *labels;
  const set *t;
  const plan *s;
  double *scratch; /* (2 d) a thread */
} points_loop;

static void some_points(void *of, ptrdiff_t first, ptrdiff_t end) {
  const points_loop *l = of;
  const ptrdiff_t d = l->s->d;
  double *x = l->scratch + 2 * d * ep_crew_thread();
  for (ptrdiff_t i = first; i < end; i++) {
    int label = 0;
    l->t->point(x, &label, x + d, l->s, i);
    for (ptrdiff_t j = 0; j < d; j++) ep_set(l->X, i, j, x[j]);
    if (l->labels) l->labels[i] = label;
  }
}

/* Shared matrix, then every point into its row. */
static ep_status make_points(ep_work *work, const ep_mat *X, int *labels, const set *t, plan *s) {
  const bool many = (double)s->n * (double)s->d >= 10000;
  points_loop l = {.X = X, .labels = labels, .t = t, .s = s};
  EP_TRY(
      ep_work_get(work, &l.scratch, 2 * s->d * (many ? ep_run_threads() : 1), sizeof *l.scratch));
  if (t->share) EP_TRY(t->share(s));
  ep_crew_loop(s->n, ep_rows_at_once(s->d, 4096), many, some_points, &l);
  return EP_OK;
}

static ep_status make(ep_mat *X, int **labels, const set *t, plan *s, ep_precision prec) {
  EP_TRY(ep_mat_new(X, prec, s->n, s->d));
  if (t->labelled) {
    *labels = ep_alloc(s->n, sizeof **labels);
    EP_CHECK(*labels, EP_ERR_NOMEM, "no memory for %td labels", s->n);
  }
  ep_work work = {0};
  const ep_status st = make_points(&work, X, *labels, t, s);
  ep_mat_free(&s->shared);
  ep_work_free(&work);
  return st;
}

ep_status ep_synthetic_make(ep_mat *X, int **labels, const char *name, const char *parameters,
                            ptrdiff_t samples, uint64_t seed, ep_precision prec) {
  *X = (ep_mat){.prec = prec};
  *labels = NULL;
  int index;
  const char *inside;
  EP_TRY(ep_options_name(&index, &inside, "synthetic data", name, ep_synthetic_name));
  EP_CHECK(!inside, EP_ERR_ARG, "'%s': the parameters of %s are given apart from its name", name,
           sets[index].name);
  plan s = {.seed = seed};
  EP_TRY(read_parameters(&s, &sets[index], parameters, samples));
  const ep_status st = make(X, labels, &sets[index], &s, prec);
  if (st) {
    ep_mat_free(X);
    ep_release(*labels);
    *labels = NULL;
  }
  return st;
}
