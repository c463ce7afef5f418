/* OPTIMA's claims, and Lemma 2's limit. */
#include "study/optima_claims.h"

#include <eigenpair/powerlaw.h>
#include <eigenpair/random.h>
#include <math.h>
#include <stdio.h>

ep_optima_config optima_config(long starts) {
  ep_optima_config c;
  ep_options_default(ep_optima_options, &c);
  c.starts = starts;
  return c;
}

long optima_starts(ep_claim_size size, long quick) {
  return size == EP_CLAIM_QUICK ? quick : size == EP_CLAIM_MEDIUM ? 3 * quick : 10 * quick;
}

/* ---- optima-limit */

enum { CLASSES = 4, SIZES = 5 };

/* Two noisy views of categorical points: |C_alpha[x] - limit|_F and the least eigenvalue. The limit is
 * k Cov(x0), Cov = (I - 11'/M)/M in the basis u, k = 1 (uniform) or exp(-1/tau) (Gaussian, |u_m-u_n|^2 = 2).
 * error[1]: the same with the noise of a view added to the limit, as if the second term of C_alpha were not there. */
static ep_status one_batch(double error[2], double *least, ptrdiff_t n, const ep_alpha *alpha,
                           uint64_t seed) {
  const double k = alpha->kind == EP_ALPHA_UNIFORM ? 1 : exp(-1 / alpha->tau), noise = 0.3;
  double lambda[CLASSES];
  ep_work work = {0};
  ep_mat X[3], C; /* views, and the points themselves */
  ep_status st = ep_work_mat(&work, &C, EP_DOUBLE, CLASSES, CLASSES);
  for (int v = 0; !st && v < 3; v++) {
    st = ep_work_mat(&work, &X[v], EP_DOUBLE, n, CLASSES);
    if (!st && v < 2) ep_random_fill_normal(&X[v], seed, EP_STREAM_DATA, (uint32_t)v);
  }
  ep_random random = ep_random_new(seed, EP_STREAM_DATA, 2);
  for (ptrdiff_t i = 0; !st && i < n; i++) {
    *ep_d(&X[2], i, (ptrdiff_t)ep_random_below(&random, CLASSES)) = 1;
    for (ptrdiff_t j = 0; j < CLASSES; j++)
      for (int v = 0; v < 2; v++)
        *ep_d(&X[v], i, j) = *ep_d(&X[2], i, j) + noise * *ep_d(&X[v], i, j);
  }
  if (!st) st = ep_covariance(&C, alpha, &X[2], NULL, &X[0], &X[1], &X[0], &X[1]);
  double sum[2] = {0};
  for (ptrdiff_t i = 0; !st && i < CLASSES * CLASSES; i++) {
    const bool same = i / CLASSES == i % CLASSES;
    const double limit = k * (same - 1. / CLASSES) / CLASSES;
    for (int wrong = 0; wrong < 2; wrong++)
      sum[wrong] +=
          pow(*ep_d(&C, i / CLASSES, i % CLASSES) - limit - wrong * same * k * noise * noise, 2);
  }
  for (int wrong = 0; wrong < 2; wrong++) error[wrong] = sqrt(sum[wrong]);
  if (!st) st = ep_mat_eig_sym(&C, lambda);
  *least = lambda[0];
  ep_work_free(&work);
  return st;
}

static ep_status limit_of(ep_claim_result *r, json_t *figure, const char *weights, int runs,
                          uint64_t seed) {
  double n[SIZES], error[SIZES], wrong[SIZES] = {0}, least[SIZES], one[2], low;
  ep_alpha alpha;
  char name[64];
  EP_TRY(ep_alpha_load(&alpha, weights, ""));
  for (int i = 0; i < SIZES; i++) {
    n[i] = 100 << i;
    error[i] = 0, least[i] = INFINITY;
    for (int k = 0; k < runs; k++) {
      EP_TRY(one_batch(one, &low, 100 << i, &alpha, seed + (uint64_t)(1000 * i + k)));
      error[i] += one[0] / runs, wrong[i] += one[1] / runs;
      least[i] = fmin(least[i], low);
    }
    EP_TRY(ep_run_step("batches", i + 1, SIZES));
  }
  const ep_power_law law = ep_power_law_fit(n, error, SIZES);
  const double slope = law.exponent;
  r->pass = r->pass && slope < -0.4 && fmin(0, least[SIZES - 1]) >= fmin(0, least[0]) / 2;
  const double control = ep_power_law_fit(n, wrong, SIZES).exponent;
  r->pass = r->pass && control > -0.4;
  snprintf(name, sizeof name, "exponent_of_the_control_%s", weights);
  EP_TRY(ep_claim_measure(r, name, control));
  snprintf(name, sizeof name, "exponent_%s", weights);
  EP_TRY(claim_measure_law(r, name, &law));
  snprintf(name, sizeof name, "error_%s", weights);
  EP_TRY(ep_claim_measure_all(r, name, error, SIZES));
  snprintf(name, sizeof name, "least_eigenvalue_%s", weights);
  EP_TRY(ep_claim_measure_all(r, name, least, SIZES));
  return ep_figure_add(figure, &(ep_series){.name = weights, .count = SIZES, .x = n, .y = error});
}

ep_status optima_limit(ep_claim_result *r, ep_claim_size size, const ep_run_config *run) {
  const int runs = size == EP_CLAIM_QUICK ? 12 : 50;
  json_t *figure;
  r->pass = true;
  EP_TRY(ep_figure_new(
      &figure, "limit", EP_FIGURE_LINE, "C_alpha and its limit",
      "The distance of the contrastive covariance from Lemma 2's limit against the batch size.",
      (ep_axis){"batch size N", .log = true}, (ep_axis){"|C_alpha - limit|_F", .log = true}));
  ep_status st = limit_of(r, figure, "uniform", runs, (uint64_t)run->seed);
  if (!st) st = limit_of(r, figure, "gaussian:0.5", runs, (uint64_t)run->seed);
  if (st) return json_decref(figure), st;
  EP_TRY(ep_claim_figure(r, figure));
  return ep_claim_note(r,
                       "Two views of four orthonormal categories with noise 0.3, batches of 100 to "
                       "1,600, the means of some batches.");
}

/* ---- */

const ep_claim ep_claims_optima[] = {
    {"optima-exact",
     "OPTIMA B.1",
     "A(u_m) has a closed form in the categorical and the summation model, and every u_m is an "
     "optimum",
     "A(u_m) to 1e-12; all 6 of 6 found and no other locally maximal eigenvector; returns at q = "
     "0.380; with six different q_m locally maximal where q_m < 0.382 alone",
     optima_exact,
     {1, 1, 5},
     .control = "q = 0.384, above (3 - sqrt 5)/2: u_m must depart",
     .mutation = "src/theory/optima_product.c: `= s[i] * *ep_d(X, i, j) - (mean ? mean[j] : 0);` "
                 "becomes `= 2 * s[i] * *ep_d(X, i, j) - (mean ? mean[j] : 0);`",
     .outcome = "pass"},
    {"optima-fig1",
     "OPTIMA Fig. 1 right",
     "for nearly orthogonal U power iteration converges next to every u_m",
     "|U'U - I| = 0.15: from all 8 patterns of each of 10 random U it settles, within 5 degrees in "
     "the summation model and within asin 0.15 in the categorical one",
     optima_fig1,
     {3, 3, 3},
     .control = "|U'U - I| = 0.39: it must not settle next to all of them",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .outcome = "pass"},
    {"optima-linear",
     "OPTIMA section 3",
     "with linear activation every node learns the same direction, with relu there are many",
     "one optimum, whatever the start, with linear activation; more than one with relu",
     optima_linear,
     {1, 1, 1},
     .control = "relu on the same points: there must be more than one optimum",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .outcome = "pass"},
    {"optima-count",
     "OPTIMA section 3, Corollary 2",
     "Gaussian weights lower the roughness; more nodes collect more optima",
     "normal points: Gaussian weights multiply the roughness by tau/(1 + tau) to 10 %, and it "
     "stays "
     "below its bound on these points; 100 nodes hold all 6 optima, 5 nodes do not",
     optima_count,
     {1, 1, 1},
     .control = "5 nodes: they must not hold all 6 optima",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .outcome = "pass"},
    {"optima-joint",
     "OPTIMA eq. 2 and 5, section 1",
     "the more nodes the more optima are collected, and InfoNCE has more of them than the "
     "quadratic "
     "loss",
     "weights made from all outputs: layers cover more patterns with InfoNCE than with uniform "
     "weights (6 nodes at tau 2 and 1, 12 at tau 4) and with 12 nodes than with 3 (uniform and tau "
     "2), all of each 95 % interval of the difference above 0; the control's is not",
     optima_joint,
     {4, 10, 15},
     .control = "InfoNCE weights of each node's own output: the gain must not be above 0",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .outcome = "pass"},
    {"optima-ticket",
     "OPTIMA section 3.1 (open)",
     "Open: do lottery tickets come from nodes that start near useful optima? A wide layer is cut "
     "down to one node a pattern and trained again from the same starts, and from fresh ones.",
     "a question: the numbers of patterns covered, with their intervals, are the answer, once "
     "tickets keep what the wide layer covers with uniform weights (an identity) and the control "
     "does not",
     optima_ticket,
     {2, 5, 10},
     .control = "fresh starts, uniform weights: they must cover fewer patterns than tickets (95 % "
                "interval of the difference above 0)",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .question = true,
     .outcome = "answered"},
    {"optima-basins",
     "OPTIMA section 3.1, B.5 (open)",
     "Open: how likely is each local optimum from a random start?",
     "a question: the shares of starts, with their intervals, are the answer, once they differ "
     "(chi^2 above 25.7, a chance of 1e-4) and the control's do not",
     optima_basins,
     {1, 2, 5},
     .control = "equal q_m: by symmetry the shares may not differ (chi^2 below 25.7)",
     .mutation = "src/theory/optima_search.c: `y[j] = a * y[j] + b * w[j];` becomes `y[j] = a * "
                 "y[j] - b * w[j];`",
     .question = true,
     .outcome = "answered"},
    {"optima-stability",
     "OPTIMA Theorem 1",
     "gap > roughness makes a locally maximal eigenvector stable",
     "Gaussian points, ratio of variances 0.05 below and above 1, 1.467, 1.934: stable, locally "
     "maximal, promised by Theorem 1 only above; gap to 1e-4 and roughness to 3 % of their closed "
     "forms; of 24 u_m with unequal q none with gap > roughness departs, and some depart",
     optima_stability,
     {1, 1, 1},
     .control = "ratio 0.95: e_1 is a critical point, and must depart after a push",
     .mutation = "src/theory/optima_product.c: `gate_rows(&z, s + i, &X, mean);` becomes "
                 "`gate_rows(&z, s + i, &X, NULL);`",
     .outcome = "pass"},
    {"optima-weights",
     "OPTIMA Definition 3, Lemma 1 (Gaussian weights)",
     "Gaussian weights can lead to more local optima than uniform ones",
     "A(u_m) to 1e-12 of its closed form; tau 0.03 below and above 0.805: locally maximal only "
     "above; 0.03 below and above 0.536: returns only above; a search finds 6 of them at tau = 2, "
     "none at 0.7",
     optima_weights,
     {1, 1, 1},
     .control = "weights held at u_m: at tau = 0.775 it must depart",
     .mutation = "src/objective/covariance.c: `out[j] = exp(-out[j] / alpha->tau);` becomes "
                 "`out[j] = exp(-2 * out[j] / alpha->tau);`",
     .outcome = "pass"},
    {"optima-theorem2",
     "OPTIMA Theorem 2, Corollary 2",
     "the roughness is at most C0^3 vol(C0) r / pi, and Gaussian weights multiply that by z0",
     "points uniform in discs of radius 0.05 to 3: roughness at most C0^2 vol(C0) r / pi (C0^3 is "
     "printed) with uniform weights and with Gaussian ones times z0; with uniform ones to 5 % what "
     "the disc's closed form says",
     optima_theorem2,
     {2, 2, 2},
     .control = "the bound as printed, C0^3: at C0 = 0.05 it must be below the roughness",
     .mutation = "src/theory/optima_measure.c: `*out = fmax(*out, sqrt(ep_dot(r, r, d)) / chord);` "
                 "becomes `*out = fmax(*out, 99 * sqrt(ep_dot(r, r, d)) / chord);`",
     .outcome = "pass"},
    {"optima-theorem3",
     "OPTIMA Definition 4, Theorem 3, Lemmas 4 to 8",
     "where the irregularity is at most gamma < 1 on a ball, power iteration as printed converges "
     "to an eigenvector in it, and 1 - c_t <= gamma^t (1 - c_0)",
     "from w(0) away from w*: gamma < 1 exists, every step obeys Lemmas 4, 5 and 7, 1 - c_t <= "
     "gamma^t (1 - c_0), w(t) stays in the ball; Gaussian points and the summation model",
     optima_theorem3,
     {1, 1, 1},
     .control = "gamma^2 in the place of gamma: 1 - c_t must be above gamma^{2t} (1 - c_0)",
     .mutation =
         "src/theory/optima_measure.c: `const double mu = (1 + c) / (2 * c * c) * pow(1 - gap / "
         "top, 2),` becomes `const double mu = (1 + c) / (99 * c * c) * pow(1 - gap / top, 2),`",
     .outcome = "pass"},
    {"optima-kernel",
     "OPTIMA Definitions 1 and 2, Lemma 1, Corollary 1",
     "Gaussian weights are sums of phi_l phi_l with phi_l >= 0, and C_alpha is the sum of z_l^2 "
     "times the variances under the densities p_l",
     "an identity: the sum over all l up to degree 47 is C_alpha to 1e-10, no p_l is negative",
     optima_kernel,
     {1, 1, 2},
     .control =
         "l = 0 alone must be off by more than 0.05; with outputs that are not bounded below "
         "some p_l must be negative",
     .mutation = "src/objective/covariance.c: `out[j] = exp(-out[j] / alpha->tau);` becomes "
                 "`out[j] = exp(-2 * out[j] / alpha->tau);`",
     .outcome = "pass"},
    {"optima-limit",
     "OPTIMA Lemma 2",
     "C_alpha tends to a positive semidefinite limit as the batch grows",
     "distance falls with exponent below -0.4; a negative least eigenvalue at least halves from N "
     "= 100 to 1,600",
     optima_limit,
     {1, 3, 3},
     .control = "the variance of a view left in the limit (no second term in eq. 3): the exponent "
                "must not be below -0.4",
     .mutation = "src/objective/covariance.c: `ep_mat_mul(C, -share, a[0], EP_T, &T, EP_N, 1);` "
                 "becomes `ep_mat_mul(C, share, a[0], EP_T, &T, EP_N, 1);`",
     .outcome = "pass"},
    {0},
};
