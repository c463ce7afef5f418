/* LINEAR section 2: which models and losses collapse (Lemma 1, Prop. 1 for wide networks and kernels, Remarks 2 and 3). */
#include "study/linear_claims.h"

#include "objective/loss.h"

#include <eigenpair/analytic.h>
#include <eigenpair/kernel.h>
#include <eigenpair/network.h>
#include <eigenpair/objective.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- u(x) = B'psi(x) under any loss: B <- B - rate Psi' dL/dU; psi(x) = x, or a factor of a kernel, K = Psi Psi' */

typedef struct {
  const ep_mat *Psi; /* (P, d) */
  const ep_pairs *pairs;
  ep_objective objective;
  double rate;
  bool scales;  /* the loss is quadratic in B, so that a step does not mind its scale */
  bool quartic; /* its curvature grows with the square of the outputs: steps shrink with it */
} free_model;

/* of a row */
static double largest_norm2(const ep_mat *U) {
  double top = 0;
  for (ptrdiff_t i = 0; i < U->rows; i++) {
    const ep_mat u = ep_mat_rows(U, i, 1);
    top = fmax(top, ep_mat_norm2(&u));
  }
  return top;
}

/* the objective of a loss with the dot product, if it takes one: NT-Xent is defined with the cosine */
static ep_status objective_of(ep_objective *out, const char *loss) {
  ep_objective_config config;
  ep_options_default(ep_objective_options, &config);
  snprintf(config.loss, sizeof config.loss, "%s", loss);
  EP_TRY(ep_objective_parse(out, &config));
  if (out->loss->other) config.similarity = EP_SIMILARITY_DOT;
  return ep_objective_parse(out, &config);
}

/* One step; B is kept below 1e100, for what falls without end: by its scale where that means nothing, else by ending there. */
static ep_status free_step(const ep_mat *B, const ep_mat *U, const ep_mat *dU, const free_model *m,
                           const ep_mat *A, bool *ended) {
  double loss;
  const double scale = m->scales && ep_mat_max(B) > 1e50 ? 1e-50 : 1;
  for (ptrdiff_t i = 0; scale < 1 && i < B->rows; i++)
    for (ptrdiff_t j = 0; j < B->cols; j++) *ep_d(B, i, j) *= scale;
  ep_mat_mul(U, 1, m->Psi, EP_N, B, EP_N, 0);
  EP_TRY(ep_objective_value(&loss, dU, U, m->pairs, &m->objective));
  if (!(ep_mat_max(B) < 1e100) || !(ep_mat_max(dU) < 1e100)) *ended = true;
  if (*ended) return EP_OK;
  const double rate = m->quartic ? m->rate * 16 / fmax(16, largest_norm2(U)) : m->rate;
  if (!A) return ep_mat_mul(B, -rate, m->Psi, EP_T, dU, EP_N, 1), EP_OK;
  /* B = Theta'A': Theta' <- Theta' - rate Psi' dU A, so B <- B - rate Psi' dU AA' */
  ep_mat G;
  EP_TRY(ep_mat_new(&G, EP_DOUBLE, dU->rows, dU->cols));
  ep_mat_mul(&G, 1, dU, EP_N, A, EP_N, 0);
  ep_mat_mul(B, -rate, m->Psi, EP_T, &G, EP_N, 1);
  ep_mat_free(&G);
  return EP_OK;
}

/* RankMe of U along c->x (steps), from B; AA (r x r) or NULL */
static ep_status free_run(const claim_curve *c, int run, const ep_mat *B, const free_model *m,
                          const ep_mat *AA) {
  ep_work work = {0};
  ep_mat U, dU;
  bool ended = false;
  long done = 0;
  ep_status st = ep_work_mat(&work, &U, EP_DOUBLE, m->Psi->rows, B->cols);
  if (!st) st = ep_work_mat(&work, &dU, EP_DOUBLE, m->Psi->rows, B->cols);
  for (ptrdiff_t i = 0; !st && i < c->count; i++) {
    for (; !st && !ended && done < (long)c->x[i]; done++) {
      if (done % 64 == 0) st = ep_run_step("steps", (double)done, c->x[c->count - 1]);
      if (!st) st = free_step(B, &U, &dU, m, AA, &ended);
    }
    ep_mat_mul(&U, 1, m->Psi, EP_N, B, EP_N, 0);
    if (!st) st = ep_rankme(claim_at(c, i, run), &U);
  }
  ep_work_free(&work);
  return st;
}

/* 0 and steps 10 apart by equal factors, from 10 to `most` */
static void step_grid(const claim_curve *c, double most) {
  c->x[0] = 0;
  for (ptrdiff_t i = 1; i < c->count; i++)
    c->x[i] = floor(10 * pow(most / 10, (double)(i - 1) / (double)(c->count - 2)) + 0.5);
}

/* ---- Remark 2 */

enum { LOSSES = 4, SETS = 3, LOOKS = 13, OUTPUTS = 5 };
static const struct {
  const char *name, *loss;
  bool collapses; /* measured; the remark has it of InfoNCE too */
  double rate;
  bool quartic;
} losses[LOSSES] = {{"linear", "linear", true, 0.5, false},
                    {"InfoNCE (softmax)", "softmax", false, 0.2, false},
                    {"InfoNCE (NT-Xent)", "ntxent", false, 0.2, false},
                    {"spectral", "spectral", false, 0.02, true}};
static const struct {
  const char *name;
  bool images;
} sets[SETS] = {{"clusters:5,100,10", false}, {"clusters:3,100,6", false}, {"digits", true}};

static ep_status remark2_set(ep_claim_result *r, ep_work *work, json_t *figure, int s, int k,
                             int runs, double steps, const ep_run_config *run) {
  claim_curve c;
  char name[96];
  const char *set = sets[s].name;
  EP_TRY(claim_curve_new(&c, work, LOOKS, runs));
  step_grid(&c, steps);
  for (int i = 0; i < runs; i++) {
    linear_problem p;
    free_model m = {
        .rate = losses[k].rate, .scales = losses[k].collapses, .quartic = losses[k].quartic};
    ep_mat B = {0};
    if (sets[s].images) EP_TRY(linear_problem_digits(&p, set, 50, true, run->seed + i));
    else EP_TRY(linear_problem_load(&p, set, "all", run->seed + i));
    ep_scale_to_unit(&p.points.X);
    m.Psi = &p.points.X;
    m.pairs = &p.points.pairs;
    ep_status st = objective_of(&m.objective, losses[k].loss);
    if (!st) st = ep_mat_new(&B, EP_DOUBLE, p.C.rows, OUTPUTS);
    if (!st) ep_random_fill_normal(&B, (uint64_t)(run->seed + i), EP_STREAM_WEIGHTS, 0);
    if (!st) st = free_run(&c, i, &B, &m, NULL);
    ep_mat_free(&B);
    linear_problem_free(&p);
    EP_TRY(st);
  }
  c.x[0] = 1; /* logarithms */
  EP_TRY(claim_draw(figure, losses[k].name, set, &c, false));
  snprintf(name, sizeof name, "%s on %s: RankMe at the start", losses[k].name, set);
  EP_TRY(ep_claim_measure(r, name, claim_median(&c, 0)));
  snprintf(name, sizeof name, "%s on %s: RankMe at the end", losses[k].name, set);
  EP_TRY(ep_claim_measure(r, name, claim_median(&c, LOOKS - 1)));
  const double least = claim_least(&c, LOOKS - 1);
  if (!losses[k].collapses && least <= 1.5)
    EP_TRY(ep_claim_found(r,
                          "After %.0f steps RankMe is %.2f in the flattest run under %s on %s, "
                          "%.2f in their median: it collapses there.",
                          steps, least, losses[k].name, set, claim_median(&c, LOOKS - 1)));
  r->pass = r->pass && (losses[k].collapses ? claim_worst(&c, LOOKS - 1) < 1.1 : least > 1.5);
  return EP_OK;
}

static ep_status remark2(ep_claim_result *r, ep_work *work, int runs, double steps,
                         const ep_run_config *run) {
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, "rank", EP_FIGURE_LINE, "RankMe of a linear model's outputs",
                      "RankMe of five outputs over the steps, a line a loss, a panel a data set, "
                      "with the range over starts.",
                      (ep_axis){"steps", .log = true}, (ep_axis){"RankMe", .log = false}));
  r->pass = true;
  for (int s = 0; s < SETS; s++)
    for (int k = 0; k < LOSSES; k++) EP_TRY(remark2_set(r, work, figure, s, k, runs, steps, run));
  if (r->pass)
    EP_TRY(ep_claim_found(
        r,
        "The remark's inference from the linear loss to InfoNCE fails: under InfoNCE RankMe ends "
        "above 1.5 on every data set, under the linear loss below 1.1."));
  return ep_claim_note(
      r,
      "u(x) = B'x, B from N(0, 1), five outputs, dot product (NT-Xent: cosine), temperature 0.5, "
      "points on the unit "
      "sphere; clusters: every other point is a negative; digits 3 and 8 in 14 x 14 pixels, crops "
      "and one negative. Plain descent; the linear loss falls without end, and its outputs "
      "are scaled down on the way; steps of the spectral loss are 16 / max |u|^2 as long where "
      "that "
      "is less than 1.");
}

ep_status linear_remark2(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st =
      remark2(r, &work, claim_pick(size, 2, 5, 10), claim_pick(size, 2000, 20000, 100000), run);
  ep_work_free(&work);
  return st;
}

/* ---- Remark 3: u(x) = A Theta x, A (r x z) fixed */

enum { R = 3, Z = 8 };

/* AA' of a random A with N(0, 1/z) entries; orthonormal rows: the identity */
static ep_status projector(ep_mat *AA, uint64_t seed, bool orthonormal) {
  ep_mat A;
  EP_TRY(ep_mat_new(&A, EP_DOUBLE, R, Z));
  ep_random_fill_normal(&A, seed, EP_STREAM_START, 7);
  ep_mat_gram(AA, 1. / Z, &A, 0);
  ep_mat_free(&A);
  for (int i = 0; orthonormal && i < R * R; i++) *ep_d(AA, i / R, i % R) = i / R == i % R;
  return EP_OK;
}

/* r = 3 outputs from the start B, with AA' or orthonormal rows (AA' = I): RankMe over the steps */
static ep_status remark3_run(const claim_curve *c, int run, const ep_mat *B,
                             const linear_problem *p, bool orthonormal, uint64_t seed) {
  free_model m = {.Psi = &p->points.X, .pairs = &p->points.pairs, .rate = 0.1};
  ep_mat AA = {0};
  ep_status st = objective_of(&m.objective, "linear");
  if (!st) st = ep_mat_new(&AA, EP_DOUBLE, R, R);
  if (!st) st = projector(&AA, seed, orthonormal);
  if (!st) st = free_run(c, run, B, &m, &AA);
  ep_mat_free(&AA);
  return st;
}

static ep_status remark3_start(ep_mat *B, const linear_problem *p, uint64_t seed) {
  EP_TRY(ep_mat_new(B, EP_DOUBLE, p->C.rows, R));
  ep_random_fill_normal(B, seed, EP_STREAM_WEIGHTS, 0);
  return EP_OK;
}

static ep_status remark3_one(const claim_curve *c, int run, const linear_problem *p,
                             bool orthonormal, uint64_t seed) {
  ep_mat B;
  EP_TRY(remark3_start(&B, p, seed));
  const ep_status st = remark3_run(c, run, &B, p, orthonormal, seed);
  ep_mat_free(&B);
  return st;
}

/* how far components that start equal are apart after ten steps: largest |b_j - b_1| / |b_1| */
static ep_status part_from_equal(double *apart, const linear_problem *p, bool orthonormal,
                                 uint64_t seed) {
  double look[2], at[2] = {0, 10};
  const claim_curve ten = {.count = 2, .runs = 1, .x = at, .all = look};
  ep_mat B;
  EP_TRY(remark3_start(&B, p, seed));
  for (ptrdiff_t i = 0; i < B.rows * R; i++) *ep_d(&B, i / R, i % R) = *ep_d(&B, i / R, 0);
  const ep_status st = remark3_run(&ten, 0, &B, p, orthonormal, seed);
  *apart = 0;
  for (int j = 1; !st && j < R; j++) {
    double off = 0, size = 0;
    for (ptrdiff_t i = 0; i < B.rows; i++)
      off += pow(*ep_d(&B, i, j) - *ep_d(&B, i, 0), 2), size += pow(*ep_d(&B, i, 0), 2);
    *apart = fmax(*apart, sqrt(off / size));
  }
  ep_mat_free(&B);
  return st;
}

/* the control: the same outputs with W_i'W_i = I */
static ep_status remark3_control(double *rank, const linear_problem *p, uint64_t seed) {
  const ep_descent_config config = linear_descent(EP_CONSTRAINT_GRASSMANN, "linear", 2, 0, R, 0.1);
  ep_descent *d;
  ep_mat U;
  EP_TRY(linear_descent_new(&d, &config, p, seed));
  ep_status st = ep_mat_new(&U, EP_DOUBLE, p->points.X.rows, R);
  if (!st) st = ep_descent_step(d, 1000);
  if (!st) st = ep_descent_embed(&U, d, &p->points.X);
  if (!st) st = ep_rankme(rank, &U);
  ep_mat_free(&U);
  ep_descent_free(d);
  return st;
}

static ep_status remark3(ep_claim_result *r, ep_work *work, int runs, const ep_run_config *run) {
  static const char *const names[2] = {"random A", "A with orthonormal rows"};
  claim_curve c[2], control, apart;
  json_t *figure;
  EP_TRY(claim_curve_new(&control, work, 1, runs));
  EP_TRY(claim_curve_new(&apart, work, 2, runs));
  for (int k = 0; k < 2; k++) {
    EP_TRY(claim_curve_new(&c[k], work, LOOKS, runs));
    step_grid(&c[k], 2000);
  }
  for (int i = 0; i < runs; i++) {
    linear_problem p;
    EP_TRY(linear_problem_load(&p, "clusters:5,200,10", "triplet", run->seed + i));
    ep_scale_to_unit(&p.points.X);
    ep_status st = remark3_control(claim_at(&control, 0, i), &p, (uint64_t)(run->seed + i));
    for (int k = 0; !st && k < 2; k++)
      st = remark3_one(&c[k], i, &p, k == 1, (uint64_t)(run->seed + i));
    for (int k = 0; !st && k < 2; k++)
      st = part_from_equal(claim_at(&apart, k, i), &p, k == 1, (uint64_t)(run->seed + i));
    linear_problem_free(&p);
    EP_TRY(st);
  }
  EP_TRY(claim_figure(
      &figure, r, "rank", EP_FIGURE_LINE, "RankMe of A Theta x",
      "RankMe of three outputs over the steps, for a random A and for one with orthonormal rows.",
      (ep_axis){"steps", .log = true}, (ep_axis){"RankMe", .log = false}));
  for (int k = 0; k < 2; k++) {
    c[k].x[0] = 1;
    EP_TRY(claim_draw(figure, names[k], NULL, &c[k], false));
  }
  EP_TRY(ep_claim_measure(r, "rankme_at_start", claim_median(&c[0], 0)));
  EP_TRY(ep_claim_measure(r, "rankme_at_end_random_A", claim_worst(&c[0], LOOKS - 1)));
  EP_TRY(ep_claim_measure(r, "rankme_at_end_orthonormal_rows", claim_worst(&c[1], LOOKS - 1)));
  EP_TRY(ep_claim_measure(r, "rankme_with_orthonormal_weights", claim_least(&control, 0)));
  const double parted = claim_least(&apart, 0), equal = claim_worst(&apart, 1);
  EP_TRY(ep_claim_measure(r, "equal_components_apart_after_10_steps_random_A", parted));
  EP_TRY(ep_claim_measure(r, "equal_components_apart_after_10_steps_orthonormal_rows", equal));
  if (parted > 0.01 && equal < 1e-12)
    EP_TRY(ep_claim_found(r,
                          "The components of A Theta x have identical dynamics only where AA' is a "
                          "multiple of the identity (dB/dt = -2 C B AA'): with a random A "
                          "components that start equal are %.2f to %.2f of their length apart "
                          "after ten steps, with orthonormal rows not at all.",
                          parted, claim_worst(&apart, 0)));
  r->pass = claim_worst(&c[0], LOOKS - 1) < 1.01 && claim_worst(&c[1], LOOKS - 1) < 1.01 &&
            claim_least(&control, 0) > 2 && parted > 0.01 && equal < 1e-12;
  return ep_claim_note(r,
                       "Five clusters in R^10 on the unit sphere, A 3 x 8 of N(0, 1/8), Theta "
                       "from N(0, 1), linear loss, dot product, plain descent at rate 0.1.");
}

ep_status linear_remark3(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st = remark3(r, &work, claim_pick(size, 3, 10, 20), run);
  ep_work_free(&work);
  return st;
}

/* ---- Prop. 1 for kernels and wide networks */

/* Psi (P x P) with K = Psi Psi', K the tangent kernel of infinite width */
static ep_status kernel_factor(const ep_mat *Psi, ep_work *work, const char *phi, const ep_mat *X) {
  ep_net_config config;
  ep_analytic a;
  ep_mat K;
  double *lambda;
  ep_options_default(ep_net_options, &config);
  snprintf(config.activation, sizeof config.activation, "%s", phi);
  EP_TRY(ep_analytic_from(&a, &config, NULL, X->cols, EP_NTK));
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, X->rows, X->rows));
  EP_TRY(ep_work_get(work, &lambda, X->rows, sizeof *lambda));
  EP_TRY(ep_analytic_kernel(NULL, &K, &a, EP_NTK, X, NULL));
  EP_TRY(ep_mat_eig_sym(&K, lambda));
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t k = 0; k < X->rows; k++)
      *ep_d(Psi, i, k) = sqrt(fmax(0, lambda[k])) * *ep_d(&K, k, i);
  return EP_OK;
}

static ep_status by_kernel(const claim_curve *c, ep_work *work, int run, const linear_problem *p,
                           const char *phi, uint64_t seed) {
  free_model m = {.pairs = &p->points.pairs, .rate = 0.5};
  ep_mat Psi, B;
  EP_TRY(ep_work_mat(work, &Psi, EP_DOUBLE, p->points.X.rows, p->points.X.rows));
  EP_TRY(ep_work_mat(work, &B, EP_DOUBLE, p->points.X.rows, OUTPUTS));
  EP_TRY(kernel_factor(&Psi, work, phi, &p->points.X));
  EP_TRY(objective_of(&m.objective, "linear"));
  m.Psi = &Psi;
  ep_random_fill_normal(&B, seed, EP_STREAM_WEIGHTS, 0);
  return free_run(c, run, &B, &m, NULL);
}

/* A relu network of width h from orthonormal weights, by descent under a constraint, until its weights leave every bound */
static ep_status by_network(const claim_curve *c, ep_work *work, int run, const linear_problem *p,
                            ep_constraint constraint, ptrdiff_t h, uint64_t seed) {
  const ep_descent_config config = linear_descent(constraint, "relu", 2, h, OUTPUTS, 0.05);
  ep_descent *d;
  ep_mat U;
  long done = 0;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, p->points.X.rows, OUTPUTS));
  EP_TRY(linear_descent_new(&d, &config, p, seed));
  ep_status st = EP_OK;
  for (ptrdiff_t i = 0; !st && i < c->count; i++) {
    st = ep_descent_step(d, (long)c->x[i] - done);
    done = (long)c->x[i];
    if (!st) st = ep_descent_embed(&U, d, &p->points.X);
    if (!st) st = ep_rankme(claim_at(c, i, run), &U);
  }
  ep_descent_free(d);
  return st;
}

enum { MODELS = 5 };
static const struct {
  const char *name, *kernel; /* NULL: a network, under a */
  ep_constraint constraint;
  double steps;
} models[MODELS] = {{"kernel of relu", "relu", 0, 2000},
                    {"kernel of tanh", "tanh", 0, 2000},
                    {"kernel of the centred softplus", "csoftplus", 0, 2000},
                    {"relu network", NULL, EP_CONSTRAINT_NONE, 1000},
                    {"relu network, W_i'W_i = I", NULL, EP_CONSTRAINT_GRASSMANN, 1000}};

static ep_status wide_models(ep_claim_result *r, ep_work *work, int runs, ptrdiff_t h,
                             const ep_run_config *run) {
  json_t *figure;
  claim_curve c;
  r->pass = true;
  EP_TRY(claim_figure(
      &figure, r, "rank", EP_FIGURE_LINE, "RankMe of kernels and of a wide network",
      "RankMe of five outputs over the steps under the linear loss: kernels, a wide network "
      "without a constraint and (dashed, the control) with orthonormal weights.",
      (ep_axis){"steps", .log = true}, (ep_axis){"RankMe", .log = false}));
  for (int k = 0; k < MODELS; k++) {
    char name[80];
    EP_TRY(claim_curve_new(&c, work, LOOKS, runs));
    step_grid(&c, models[k].steps);
    for (int i = 0; i < runs; i++) {
      const uint64_t seed = (uint64_t)(run->seed + i);
      linear_problem p;
      EP_TRY(linear_problem_load(&p, "clusters:8,100,10", "triplet", run->seed + i));
      ep_scale_to_unit(&p.points.X);
      const ep_status st = models[k].kernel
                               ? by_kernel(&c, work, i, &p, models[k].kernel, seed)
                               : by_network(&c, work, i, &p, models[k].constraint, h, seed);
      linear_problem_free(&p);
      EP_TRY(st);
    }
    c.x[0] = 1;
    EP_TRY(claim_draw(figure, models[k].name, NULL, &c, k == MODELS - 1));
    snprintf(name, sizeof name, "%s: RankMe at the start", models[k].name);
    EP_TRY(ep_claim_measure(r, name, claim_median(&c, 0)));
    snprintf(name, sizeof name, "%s: RankMe at the end", models[k].name);
    EP_TRY(ep_claim_measure(r, name, claim_median(&c, LOOKS - 1)));
    r->pass = r->pass &&
              (k < MODELS - 1 ? claim_worst(&c, LOOKS - 1) < 1.1 : claim_least(&c, LOOKS - 1) > 2);
  }
  return ep_claim_note(
      r,
      "Eight clusters in R^10 on the unit sphere, triplets, five outputs, dot product. Kernels: "
      "the tangent kernel of infinite width, one hidden layer, K = Psi Psi', descent on B of u = "
      "B'psi from N(0, 1). Network: orthonormal weights at the start, plain descent at rate 0.05 "
      "until the weights leave every bound.");
}

ep_status linear_prop1_wide(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st =
      wide_models(r, &work, claim_pick(size, 2, 5, 10), claim_pick(size, 300, 1000, 3000), run);
  ep_work_free(&work);
  return st;
}

/* ---- Lemma 1: K_lj, l != j, and the part of K_ll that its proof drops */

enum { LEMMA_WIDTHS = 4, LEMMA_PHIS = 3, LEMMA_LINEAR = 0 };
static const int lemma_widths[LEMMA_WIDTHS] = {30, 100, 300, 1000};
static const char *const lemma_phis[LEMMA_PHIS] = {[LEMMA_LINEAR] = "linear", "relu", "tanh"};

/* |K_12|_F and |first-layer part of K_11|_F, both over |K_11|_F, of one network with two outputs */
static ep_status lemma_parts(double *across, double *first, ep_work *work, const char *phi,
                             long width, const ep_mat *X, uint64_t seed) {
  ep_net_config config;
  ep_net net;
  ep_mat K, H;
  double sum[3] = {0};
  ep_options_default(ep_net_options, &config);
  snprintf(config.activation, sizeof config.activation, "%s", phi);
  config.width = width;
  config.outputs = 2;
  EP_TRY(ep_work_mat(work, &K, EP_DOUBLE, X->rows, 4 * X->rows));
  EP_TRY(ep_work_mat(work, &H, EP_DOUBLE, X->rows, width));
  EP_TRY(ep_net_start(&net, &config, X->cols, seed, EP_DOUBLE));
  ep_mat_mul(&H, 1, X, EP_N, &net.V[0], EP_T, 0);
  ep_activation_values(&H, &net.shape.phi, &H);
  const ep_status st = ep_ntk_empirical(NULL, &K, &net, X, NULL, EP_FULL, 1e8);
  ep_net_free(&net);
  EP_TRY(st);
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j < X->rows; j++) {
      const double *k = ep_d(&K, i, 4 * j);
      double second = 0;
      for (long m = 0; m < width; m++) second += *ep_d(&H, i, m) * *ep_d(&H, j, m) / (double)width;
      sum[0] += k[1] * k[1];
      sum[1] += (k[0] - second) * (k[0] - second);
      sum[2] += k[0] * k[0];
    }
  *across = sqrt(sum[0] / sum[2]);
  *first = sqrt(sum[1] / sum[2]);
  return EP_OK;
}

/* *share: of the first layer in an output's own kernel, at the largest width */
static ep_status lemma1_phi(double *share, ep_claim_result *r, ep_work *work, json_t *figure,
                            const linear_problem *p, const char *phi, int runs, long seed) {
  const ep_mat X = ep_mat_rows(&p->points.X, 0, 30);
  claim_curve across, first;
  char name[64];
  EP_TRY(claim_curve_new(&across, work, LEMMA_WIDTHS, runs));
  EP_TRY(claim_curve_new(&first, work, LEMMA_WIDTHS, runs));
  for (int w = 0; w < LEMMA_WIDTHS; w++)
    for (int i = 0; i < runs; i++) {
      ep_work scratch = {0};
      across.x[w] = first.x[w] = lemma_widths[w];
      EP_TRY(ep_run_step("widths", w, LEMMA_WIDTHS));
      const ep_status st = lemma_parts(claim_at(&across, w, i), claim_at(&first, w, i), &scratch,
                                       phi, lemma_widths[w], &X, (uint64_t)(seed + i));
      ep_work_free(&scratch);
      EP_TRY(st);
    }
  EP_TRY(claim_draw(figure, "K_12", phi, &across, false));
  EP_TRY(claim_draw(figure, "first-layer part of K_11", phi, &first, false));
  const ep_power_law a = claim_law(&across), f = claim_law(&first);
  snprintf(name, sizeof name, "%s_between_outputs_exponent", phi);
  EP_TRY(claim_measure_law(r, name, &a));
  snprintf(name, sizeof name, "%s_first_layer_exponent", phi);
  EP_TRY(claim_measure_law(r, name, &f));
  snprintf(name, sizeof name, "%s_first_layer_share", phi);
  *share = claim_median(&first, LEMMA_WIDTHS - 1);
  EP_TRY(ep_claim_measure(r, name, *share));
  r->pass = r->pass && a.exponent < -0.3 && a.high < 0 && f.low > -0.1 &&
            claim_least(&first, LEMMA_WIDTHS - 1) > 0.2;
  return EP_OK;
}

static ep_status lemma1(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                        long seed) {
  json_t *figure;
  double share[LEMMA_PHIS];
  r->pass = true;
  EP_TRY(claim_figure(&figure, r, "parts", EP_FIGURE_LINE, "Parts of the tangent kernel",
                      "The kernel between two outputs, and the first layer's part of an output's "
                      "own kernel, which the proof drops, over that kernel, against width.",
                      (ep_axis){"hidden units h", .log = true},
                      (ep_axis){"share of |K_11|", .log = true}));
  for (int k = 0; k < LEMMA_PHIS; k++)
    EP_TRY(lemma1_phi(&share[k], r, work, figure, p, lemma_phis[k], runs, seed));
  if (r->pass)
    EP_TRY(
        ep_claim_found(r,
                       "The lemma holds with k the whole tangent kernel. Its proof says that the "
                       "first layer adds nothing: that holds between outputs, but an output's own "
                       "kernel keeps it, %.2f of it for a linear network.",
                       share[LEMMA_LINEAR]));
  return ep_claim_note(r,
                       "30 of the half moons, two outputs, weights N(0, 1), NTK "
                       "parametrisation; norms over all pairs of points.");
}

ep_status linear_lemma1(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, lemma1, "triplet", claim_pick(size, 20, 30, 50), run->seed);
}
