/* LINEAR section 4: the expectation of C, the Riccati form of the equation, and the tangent kernel under orthonormal
 * weights, which the paper leaves open. */
#include "study/linear_claims.h"

#include <eigenpair/ode.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- E[C] */

enum { MEAN_SIZES = 4, MEAN_D = 4 };
static const long mean_sizes[MEAN_SIZES] = {200, 1000, 5000, 25000};
static const double mean_sd[MEAN_D] = {1.5, 1, 0.7, 0.4};

/* C of n anchors x ~ N(mu, diag(sd^2)), positives x + 0.1 N(0, I), negatives independent; its distance, relative to
 * |Cov|_F, from -Cov and from -E[xx'] = -(Cov + mu mu') */
static ep_status distance_of_C(double out[2], long n, double mu, uint64_t seed) {
  const ep_pair_plan plan = {1, 1, false, false};
  ep_mat X = {0}, C = {0};
  ep_pairs pairs = {0};
  double sum[3] = {0};
  ep_status st = ep_mat_new(&X, EP_DOUBLE, 2 * n, MEAN_D);
  if (!st) st = ep_mat_new(&C, EP_DOUBLE, MEAN_D, MEAN_D);
  if (!st) st = ep_pairs_draw(&pairs, n, &plan, (long)seed);
  if (!st) {
    ep_random_fill_normal(&X, seed, EP_STREAM_DATA, 3);
    for (ptrdiff_t i = 0; i < 2 * n; i++)
      for (int j = 0; j < MEAN_D; j++) {
        double *x = ep_d(&X, i, j);
        *x = i < n ? mu + mean_sd[j] * *x : *ep_d(&X, i - n, j) + 0.1 * *x;
      }
    st = ep_linear_add(&C, &X, &pairs, 1 / (double)n);
  }
  for (int i = 0; !st && i < MEAN_D * MEAN_D; i++) {
    const int a = i / MEAN_D, b = i % MEAN_D;
    const double cov = a == b ? mean_sd[a] * mean_sd[a] : 0, c = *ep_d(&C, a, b);
    sum[0] += (c + cov) * (c + cov);
    sum[1] += (c + cov + mu * mu) * (c + cov + mu * mu);
    sum[2] += cov * cov;
  }
  out[0] = sqrt(sum[0] / sum[2]);
  out[1] = sqrt(sum[1] / sum[2]);
  ep_pairs_free(&pairs);
  ep_mat_free(&X);
  ep_mat_free(&C);
  return st;
}

static ep_status mean(ep_claim_result *r, ep_work *work, int runs, long seed) {
  static const char *const panels[2] = {"mean 0", "mean 1 in every direction"};
  static const char *const lines[2] = {"C + Cov[x]", "C + E[xx']"};
  claim_curve c[2][2];
  ep_power_law law[2][2];
  json_t *figure;
  EP_TRY(claim_figure(&figure, r, "distance", EP_FIGURE_LINE, "C beside its expectation",
                      "Distance of C from minus the covariance and from minus the second moment "
                      "against the number of points, for data of mean zero and of another mean.",
                      (ep_axis){"points n", .log = true},
                      (ep_axis){"distance over |Cov|", .log = true}));
  for (int m = 0; m < 2; m++) {
    for (int k = 0; k < 2; k++) EP_TRY(claim_curve_new(&c[m][k], work, MEAN_SIZES, runs));
    for (int s = 0; s < MEAN_SIZES; s++)
      for (int i = 0; i < runs; i++) {
        double two[2];
        EP_TRY(ep_run_step("sizes", s, MEAN_SIZES));
        EP_TRY(distance_of_C(two, mean_sizes[s], m, (uint64_t)(seed + i)));
        for (int k = 0; k < 2; k++) {
          c[m][k].x[s] = (double)mean_sizes[s];
          *claim_at(&c[m][k], s, i) = two[k];
        }
      }
    for (int k = 0; k < 2; k++) {
      char name[64];
      law[m][k] = claim_law(&c[m][k]);
      EP_TRY(claim_draw(figure, lines[k], panels[m], &c[m][k], k == 1));
      snprintf(name, sizeof name, "%s, %s: exponent", panels[m], lines[k]);
      EP_TRY(claim_measure_law(r, name, &law[m][k]));
      snprintf(name, sizeof name, "%s, %s: at most points", panels[m], lines[k]);
      EP_TRY(ep_claim_measure(r, name, claim_median(&c[m][k], MEAN_SIZES - 1)));
    }
  }
  const bool falls[2] = {law[0][0].high < -0.3 && law[0][1].high < -0.3, law[1][0].high < -0.3};
  r->pass = falls[0] && falls[1] && law[1][1].low > -0.1;
  if (r->pass)
    EP_TRY(ep_claim_found(r,
                          "E[C] = -n E[xx'] is for data of mean zero: with another mean C/n tends "
                          "to -Cov[x], negative definite as well, and stays away from -E[xx']."));
  return ep_claim_note(r, "Gaussian points in R^4, positives x + 0.1 N(0, I), C divided by n.");
}

ep_status linear_mean(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  ep_work work = {0};
  const ep_status st = mean(r, &work, claim_pick(size, 10, 20, 40), run->seed);
  ep_work_free(&work);
  return st;
}

/* ---- the Riccati form: P = qq'
 *
 *   dP/dt = -2 [ 2 (Lam P + P Lam) - Lam P^2 - P^2 Lam - 2 P Lam P ]
 *
 * and Oja's flow, which has the same ends: dP/dt = -4 [ Lam P + P Lam - 2 P Lam P ] */

typedef struct {
  const double *lambda;
  ptrdiff_t d;
  bool oja;
} riccati;

static ep_status riccati_rhs(double *dy, const double *y, double t, void *user) {
  const riccati *k = user;
  const ptrdiff_t d = k->d;
  (void)t;
  for (ptrdiff_t i = 0; i < d * d; i++) {
    double squared = 0, through = 0;
    for (ptrdiff_t m = 0; m < d; m++) {
      const double pp = y[i / d * d + m] * y[m * d + i % d];
      squared += pp;
      through += k->lambda[m] * pp;
    }
    const double both = k->lambda[i / d] + k->lambda[i % d];
    dy[i] = k->oja ? -4 * (both * y[i] - 2 * through)
                   : -2 * (2 * both * y[i] - both * squared - 2 * through);
  }
  return EP_OK;
}

enum { RICCATI_TIMES = 31 };

/* largest |P - qq'|_F along the way, and at its end, for z outputs */
static ep_status riccati_gap(const claim_curve *c, int run, const linear_problem *p, ptrdiff_t z,
                             bool oja, uint64_t seed) {
  const ptrdiff_t d = p->C.rows;
  riccati k = {.lambda = p->basis.lambda, .d = d, .oja = oja};
  /* P of rank z is not stable where more eigenvalues are negative: an error grows as e^{-8 lambda_1 t} */
  const double end = 1.5 / fabs(p->basis.lambda[0]), step = end / (RICCATI_TIMES - 1);
  ep_work work = {0};
  ep_linear_info info;
  ep_ode_info ode;
  ep_mat q, P = {0}, Q;
  double *y = NULL; /* P, row by row */
  ep_status st = ep_work_mat(&work, &q, EP_DOUBLE, d, z);
  if (!st) st = ep_work_get(&work, &y, d * d, sizeof *y);
  if (!st) P = ep_mat_view(EP_DOUBLE, d, d, y);
  if (!st) st = ep_work_mat(&work, &Q, EP_DOUBLE, d, d);
  if (!st) st = ep_linear_start(&q, 2 * d, seed);
  if (!st) ep_mat_gram(&P, 1, &q, 0);
  for (ptrdiff_t i = 0; !st && i < RICCATI_TIMES; i++) {
    c->x[i] = step * (double)i;
    ep_mat_gram(&Q, 1, &q, 0);
    *claim_at(c, i, run) = sqrt(ep_mat_distance2(&P, &Q));
    st = ep_run_step("times", (double)i, RICCATI_TIMES);
    if (!st) st = ep_linear_flow(&q, &info, k.lambda, step, 1e-11);
    if (!st) st = ep_ode_flow(&ode, y, d * d, 0, step, riccati_rhs, &k, 1e-11, 1e-13);
  }
  ep_work_free(&work);
  return st;
}

/* The slope of qq' along the flow beside the right side of the equation for P, at times to the end: central differences
 * over 2 e, e = 1e-3/|lambda_1|, so good to about 1e-5. Largest distance, over the largest slope. */
static ep_status riccati_slope(double *off, const linear_problem *p, ptrdiff_t z, bool oja,
                               uint64_t seed) {
  const ptrdiff_t d = p->C.rows;
  const double e = 1e-3 / fabs(p->basis.lambda[0]);
  riccati k = {.lambda = p->basis.lambda, .d = d, .oja = oja};
  ep_work work = {0};
  ep_linear_info info;
  ep_mat q, P[3], D;
  double top = 0, *slope = NULL;
  *off = 0;
  ep_status st = ep_work_mat(&work, &q, EP_DOUBLE, d, z);
  for (int j = 0; !st && j < 3; j++) st = ep_work_mat(&work, &P[j], EP_DOUBLE, d, d);
  if (!st) st = ep_work_get(&work, &slope, d * d, sizeof *slope);
  if (!st) st = ep_linear_start(&q, 2 * d, seed);
  for (int i = 0; !st && i < RICCATI_TIMES; i++) {
    for (int j = 0; !st && j < 3; j++) {
      ep_mat_gram(&P[j], 1, &q, 0);
      st = ep_linear_flow(&q, &info, k.lambda, j < 2 ? e : 300 * e, 1e-12);
    }
    if (!st) st = riccati_rhs(slope, P[1].data, 0, &k);
    D = ep_mat_view(EP_DOUBLE, d, d, slope);
    if (!st) ep_mat_axpy(&P[2], -1, &P[0]), ep_mat_axpy(&P[2], -2 * e, &D);
    if (!st) top = fmax(top, sqrt(ep_mat_norm2(&D)));
    if (!st) *off = fmax(*off, sqrt(ep_mat_norm2(&P[2])) / (2 * e));
  }
  *off /= top;
  ep_work_free(&work);
  return st;
}

static double largest(const claim_curve *c) {
  double most = 0;
  for (ptrdiff_t i = 0; i < c->count; i++) most = fmax(most, claim_worst(c, i));
  return most;
}

static ep_status riccati_form(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                              long seed) {
  json_t *figure;
  double off = 0, other = INFINITY, slope = 0, other_slope = INFINITY, one;
  EP_TRY(claim_figure(&figure, r, "path", EP_FIGURE_LINE, "P by its own equation minus qq'",
                      "Distance of P, by its own equation and by Oja's flow (the control), from "
                      "qq' by Theorem 2, over time.",
                      (ep_axis){"time", .log = false}, (ep_axis){"|P - qq'|_F", .log = true}));
  for (ptrdiff_t z = 1; z <= 3; z++)
    for (int oja = 0; oja < 2; oja++) {
      claim_curve c;
      char panel[32];
      EP_TRY(claim_curve_new(&c, work, RICCATI_TIMES, runs));
      for (int i = 0; i < runs; i++) {
        EP_TRY(riccati_gap(&c, i, p, z, oja, (uint64_t)(seed + i)));
        EP_TRY(riccati_slope(&one, p, z, oja, (uint64_t)(seed + i)));
        if (oja) other_slope = fmin(other_slope, one);
        else slope = fmax(slope, one);
      }
      snprintf(panel, sizeof panel, "z = %td", z);
      EP_TRY(claim_draw(figure, oja ? "Oja's flow" : "Riccati form", panel, &c, oja));
      if (oja) other = fmin(other, largest(&c));
      else off = fmax(off, largest(&c));
    }
  EP_TRY(ep_claim_measure(r, "largest_distance_of_P_from_qq", off));
  EP_TRY(ep_claim_measure(r, "least_distance_of_Ojas_flow", other));
  EP_TRY(ep_claim_measure(r, "largest_error_of_the_slope", slope));
  EP_TRY(ep_claim_measure(r, "least_error_of_Ojas_slope", other_slope));
  r->pass = off < 1e-7 && other > 0.01 && slope < 1e-4 && other_slope > 0.01;
  if (r->pass)
    EP_TRY(
        ep_claim_found(r,
                       "dP/dt = -2 [2 (Lam P + P Lam) - Lam P^2 - P^2 Lam - 2 P Lam P] for P = "
                       "qq': quadratic in P, with terms Lam P^2 + P^2 Lam that Oja's flow and the "
                       "usual Riccati equation do not have."));
  return ep_claim_note(r,
                       "Half moons, C divided by n, one to three outputs, both equations with a "
                       "relative error of 1e-11 a step, until 1.5/|lambda_1|: longer, the error of "
                       "rounding that grows as e^{-8 lambda_1 t} would be larger than 1e-7. The "
                       "slope of qq' by central differences, until 9/|lambda_1|.");
}

ep_status linear_riccati(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, riccati_form, "triplet", claim_pick(size, 3, 10, 20), run->seed);
}

/* ---- the tangent kernel along W_i'W_i = I, two layers, linear: with J the derivative of u(x) and T the projection on the
 * tangent space, K(x, y) = J(x) T J(y)' = x'y (I - q'q) + x'(I - qq')y I,  x and y in the eigenbasis of C */

enum { NTK_WIDTHS = 4 };
static const int ntk_widths[NTK_WIDTHS] = {10, 100, 1000, 10000};

/* |K(t) - K(0)|_F / |K(0)|_F over all x, y of an orthonormal basis: from M = q'q - q0'q0 and N = qq' - q0q0',
 * K(x, y) - K0 = -(x'y M + x'Ny I), |x'y A + x'By I|_F^2 summed = d |A|^2 + z |B|^2 + 2 tr A tr B */
static ep_status kernel_change(double *change, const ep_mat *q, const ep_mat *q0) {
  const ptrdiff_t d = q->rows, z = q->cols;
  ep_work work = {0};
  ep_mat M, N, A, B;
  ep_status st = ep_work_mat(&work, &M, EP_DOUBLE, z, z);
  if (!st) st = ep_work_mat(&work, &N, EP_DOUBLE, d, d);
  if (!st) st = ep_work_mat(&work, &A, EP_DOUBLE, z, z);
  if (!st) st = ep_work_mat(&work, &B, EP_DOUBLE, d, d);
  if (!st) {
    double trace[2] = {0}, part[2] = {0};
    ep_mat_mul(&A, -1, q0, EP_T, q0, EP_N, 0);
    ep_mat_mul(&B, -1, q0, EP_N, q0, EP_T, 0);
    ep_mat_copy(&M, &A);
    ep_mat_copy(&N, &B);
    ep_mat_mul(&M, 1, q, EP_T, q, EP_N, 1);
    ep_mat_mul(&N, 1, q, EP_N, q, EP_T, 1);
    for (ptrdiff_t i = 0; i < z; i++) trace[0] += *ep_d(&M, i, i), *ep_d(&A, i, i) += 1;
    for (ptrdiff_t i = 0; i < d; i++) trace[1] += *ep_d(&N, i, i), *ep_d(&B, i, i) += 1;
    for (ptrdiff_t i = 0; i < z; i++) part[0] += *ep_d(&A, i, i);
    for (ptrdiff_t i = 0; i < d; i++) part[1] += *ep_d(&B, i, i);
    const double D = (double)d, Z = (double)z;
    *change = sqrt((D * ep_mat_norm2(&M) + Z * ep_mat_norm2(&N) + 2 * trace[0] * trace[1]) /
                   (D * ep_mat_norm2(&A) + Z * ep_mat_norm2(&B) + 2 * part[0] * part[1]));
  }
  ep_work_free(&work);
  return st;
}

/* The slope of the outputs by the kernel, -sum_y K(., y) dL/du(y), beside that of the equation: with U the eigenbasis
 * and L = Tr(q' Lam q) both are -2 [2 Lam q - Lam q q'q - q q' Lam q]. Here by differences of the flow. gap[1]: by the
 * kernel of free weights, 2 x'y I where they are orthonormal. */
static ep_status slope_gap(double gap[2], const linear_problem *p, uint64_t seed) {
  const ptrdiff_t d = p->C.rows, z = 2;
  const double h = 1e-5, *lambda = p->basis.lambda;
  ep_linear_info info;
  ep_work work = {0};
  ep_mat q, next, G, T;
  ep_status st = ep_work_mat(&work, &q, EP_DOUBLE, d, z);
  if (!st) st = ep_work_mat(&work, &next, EP_DOUBLE, d, z);
  if (!st) st = ep_work_mat(&work, &G, EP_DOUBLE, d, z);
  if (!st) st = ep_work_mat(&work, &T, EP_DOUBLE, z, z);
  if (!st) st = ep_linear_start(&q, 2 * d, seed);
  if (!st) ep_mat_copy(&next, &q);
  if (!st) st = ep_linear_flow(&next, &info, lambda, 2 * h, 1e-13);
  if (!st) st = ep_linear_flow(&q, &info, lambda, h, 1e-13); /* the middle */
  if (!st) {
    ep_mat start;
    st = ep_work_mat(&work, &start, EP_DOUBLE, d, z);
    if (!st) st = ep_linear_start(&start, 2 * d, seed);
    /* row x of the slope: -sum_y [x'y (I - q'q) + x'(I - qq')y I] g_y, g = 2 Lam q */
    for (ptrdiff_t i = 0; !st && i < d * z; i++)
      *ep_d(&G, i / z, i % z) = 2 * lambda[i / z] * *ep_d(&q, i / z, i % z);
    double sum[2] = {0}, size = 0;
    ep_mat S;
    if (!st) st = ep_work_mat(&work, &S, EP_DOUBLE, d, z);
    if (!st) {
      ep_mat_copy(&S, &G);
      ep_mat_axpy(&S, 1, &G);
      ep_mat_mul(&T, 1, &q, EP_T, &q, EP_N, 0);
      ep_mat_mul(&S, -1, &G, EP_N, &T, EP_N, 1);
      ep_mat_mul(&T, 1, &q, EP_T, &G, EP_N, 0);
      ep_mat_mul(&S, -1, &q, EP_N, &T, EP_N, 1);
      for (ptrdiff_t i = 0; i < d * z; i++) {
        const double slope = (*ep_d(&next, i / z, i % z) - *ep_d(&start, i / z, i % z)) / (2 * h);
        sum[0] += pow(slope + *ep_d(&S, i / z, i % z), 2);
        sum[1] += pow(slope + 2 * *ep_d(&G, i / z, i % z), 2);
        size += slope * slope;
      }
    }
    for (int k = 0; k < 2; k++) gap[k] = sqrt(sum[k] / size);
  }
  ep_work_free(&work);
  return st;
}

static ep_status ntk_path(const claim_curve *c, int run, const linear_problem *p, ptrdiff_t h,
                          uint64_t seed) {
  ep_work work = {0};
  ep_linear_info info;
  ep_mat q, q0;
  ep_status st = ep_work_mat(&work, &q, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = ep_work_mat(&work, &q0, EP_DOUBLE, p->C.rows, 2);
  if (!st) st = ep_linear_start(&q, h, seed);
  if (!st) ep_mat_copy(&q0, &q);
  for (ptrdiff_t i = 0; !st && i < c->count; i++) {
    if (i) st = ep_linear_flow(&q, &info, p->basis.lambda, c->x[i] - c->x[i - 1], 1e-10);
    if (!st) st = kernel_change(claim_at(c, i, run), &q, &q0);
  }
  ep_work_free(&work);
  return st;
}

static ep_status ntk(ep_claim_result *r, ep_work *work, const linear_problem *p, int runs,
                     long seed) {
  enum { TIMES = 41 };
  claim_curve early, late;
  json_t *figure;
  double gap = 0, control = INFINITY, one[2];
  EP_TRY(claim_curve_new(&early, work, NTK_WIDTHS, runs));
  EP_TRY(claim_curve_new(&late, work, NTK_WIDTHS, runs));
  EP_TRY(claim_figure(&figure, r, "drift", EP_FIGURE_LINE, "The kernel along orthonormal weights",
                      "Change of the tangent kernel over time, a line a width.",
                      (ep_axis){"time", .log = false},
                      (ep_axis){"|K(t) - K(0)| / |K(0)|", .log = true}));
  for (int w = 0; w < NTK_WIDTHS; w++) {
    claim_curve c;
    char name[24];
    EP_TRY(claim_curve_new(&c, work, TIMES, runs));
    for (ptrdiff_t i = 0; i < TIMES; i++) c.x[i] = 60 * pow((double)i / (TIMES - 1), 2);
    early.x[w] = late.x[w] = ntk_widths[w];
    for (int i = 0; i < runs; i++) {
      EP_TRY(ep_run_step("widths", w, NTK_WIDTHS));
      EP_TRY(ntk_path(&c, i, p, ntk_widths[w], (uint64_t)(seed + i)));
      *claim_at(&early, w, i) = *claim_at(&c, 3, i); /* t = 0.34 */
      *claim_at(&late, w, i) = *claim_at(&c, TIMES - 1, i);
    }
    for (int i = 0; i < runs; i++) *claim_at(&c, 0, i) = NAN; /* 0, on a logarithmic axis */
    snprintf(name, sizeof name, "h = %d", ntk_widths[w]);
    EP_TRY(claim_draw(figure, name, NULL, &c, false));
  }
  for (int i = 0; i < runs; i++) {
    EP_TRY(slope_gap(one, p, (uint64_t)(seed + i)));
    gap = fmax(gap, one[0]), control = fmin(control, one[1]);
  }
  const ep_power_law first = claim_law(&early), last = claim_law(&late);
  EP_TRY(claim_measure_law(r, "change_at_time_0.34_exponent", &first));
  EP_TRY(claim_measure_law(r, "change_at_the_end_exponent", &last));
  EP_TRY(ep_claim_measure(r, "change_at_the_end", claim_median(&late, NTK_WIDTHS - 1)));
  EP_TRY(ep_claim_measure(r, "kernel_slope_minus_equation", gap));
  EP_TRY(ep_claim_measure(r, "control_slope_by_the_free_kernel", control));
  r->pass = gap < 1e-6 && first.high < -0.3 && last.low > -0.1 && last.high < 0.1 && control > 0.01;
  if (r->pass)
    EP_TRY(ep_claim_found(
        r,
        "Along orthonormal weights a linear network has the tangent kernel x'y (I - q'q) + "
        "x'(I - qq')y I. It holds still at a fixed time (exponent %.2f in width) and not to the "
        "end: there it has changed by %.0f %% at every width.",
        first.exponent, 100 * claim_median(&late, NTK_WIDTHS - 1)));
  return ep_claim_note(r,
                       "Half moons, C divided by n, two layers, two outputs; norms over all "
                       "pairs of an orthonormal basis. That the kernel is the one that drives "
                       "the outputs is checked by differences of the flow.");
}

ep_status linear_ntk(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  return linear_on_moons(r, ntk, "triplet", claim_pick(size, 5, 10, 20), run->seed);
}
