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
 * k Cov(x0), Cov = (I - 11'/M)/M in the basis u, k = 1 (uniform) or exp(-1/tau) (Gaussian, |u_m-u_n|^2 = 2). */
static ep_status one_batch(double *error, double *least, ptrdiff_t n, const ep_alpha *alpha,
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
  double sum = 0;
  for (ptrdiff_t i = 0; !st && i < CLASSES * CLASSES; i++) {
    const double limit = k * ((i / CLASSES == i % CLASSES) - 1. / CLASSES) / CLASSES;
    sum += pow(*ep_d(&C, i / CLASSES, i % CLASSES) - limit, 2);
  }
  *error = sqrt(sum);
  if (!st) st = ep_mat_eig_sym(&C, lambda);
  *least = lambda[0];
  ep_work_free(&work);
  return st;
}

static ep_status limit_of(ep_claim_result *r, json_t *figure, const char *weights, int runs,
                          uint64_t seed) {
  double n[SIZES], error[SIZES], least[SIZES], one, low;
  ep_alpha alpha;
  char name[64];
  EP_TRY(ep_alpha_load(&alpha, weights, ""));
  for (int i = 0; i < SIZES; i++) {
    n[i] = 100 << i;
    error[i] = 0, least[i] = INFINITY;
    for (int k = 0; k < runs; k++) {
      EP_TRY(one_batch(&one, &low, 100 << i, &alpha, seed + (uint64_t)(1000 * i + k)));
      error[i] += one / runs;
      least[i] = fmin(least[i], low);
    }
    EP_TRY(ep_run_step("batches", i + 1, SIZES));
  }
  const ep_power_law law = ep_power_law_fit(n, error, SIZES);
  const double slope = law.exponent;
  r->pass = r->pass && slope < -0.4 && fmin(0, least[SIZES - 1]) >= fmin(0, least[0]) / 2;
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
  EP_TRY(ep_figure_new(&figure, "limit", EP_FIGURE_LINE, "C_alpha tends to its limit",
                       "The distance of the contrastive covariance from Lemma 2's limit falls as "
                       "one over the root of "
                       "the batch size.",
                       (ep_axis){"batch size N", true}, (ep_axis){"|C_alpha - limit|_F", true}));
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
     "0.380, departs at 0.384",
     optima_exact,
     {1, 1, 5}},
    {"optima-fig1",
     "OPTIMA Fig. 1 right",
     "for nearly orthogonal U power iteration converges next to every u_m",
     "|U'U - I| = 0.15: from all 8 patterns of each of 10 random U it settles within 5 degrees",
     optima_fig1,
     {3, 3, 3}},
    {"optima-linear",
     "OPTIMA section 3",
     "with linear activation every node learns the same direction",
     "one optimum, whatever the start",
     optima_linear,
     {1, 1, 1}},
    {"optima-count",
     "OPTIMA section 3, Corollary 2",
     "Gaussian weights lower the bound of the roughness by z0; more nodes collect more optima",
     "r(Gaussian)/r(uniform) = z0 to 0.02, z0 <= 1, roughness below its bound; 100 nodes hold "
     "all 6 optima",
     optima_count,
     {4, 30, 60}},
    {"optima-stability",
     "OPTIMA Theorem 1",
     "gap > roughness makes a locally maximal eigenvector stable",
     "each such one comes back after every small push",
     optima_stability,
     {1, 2, 5}},
    {"optima-limit",
     "OPTIMA Lemma 2",
     "C_alpha tends to a positive semidefinite limit as the batch grows",
     "distance falls with exponent below -0.4; a negative least eigenvalue at least halves from N "
     "= 100 to 1,600",
     optima_limit,
     {1, 3, 3}},
    {0},
};
