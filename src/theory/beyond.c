/* More points than there are. A training set alone tells the error on new points (GCV: E = n y'A^2 y / (Tr A)^2) and
 * kappa = 1/Tr A, so both are known up to n = M; past that they go on as they went from M/8 on:
 *
 *   E(n) = E(M) (n/M)^e,   kappa(n) = kappa(M) (n/M)^k       e, k: least squares on logarithms
 *
 * The eigenvalues of K/M would not do: of the spectrum behind the points they show the first few, and the rest is what M
 * points make of it. */
#include <eigenpair/domain.h>
#include <eigenpair/run.h>
#include <math.h>

enum { SIZES = 6, SETS = 6, COUNT = SIZES * SETS + 1 };

/* M / 2^(1/2) .. M/8 training points, SETS of each; the first of all M, of which there is one */
static double size_at(double M, int i) { return floor(M / pow(2, 0.5 * ((i + SETS - 1) / SETS))); }

ep_status ep_learn_beyond(ep_learn_law *out, const ep_domain *d, const ep_target *f, double ridge,
                          double variance, uint64_t seed, double memory) {
  const double M = ep_domain_spectrum(d)->size;
  double n[COUNT], error[COUNT], kappa[COUNT];
  EP_CHECK(ep_domain_kind_of(d) == EP_SAMPLE && f->F.data, EP_ERR_ARG,
           "only of points and a target that were given can be said what more of them would bring");
  EP_CHECK(M >= 16, EP_ERR_ARG, "%.0f points are too few to say what more of them would bring", M);
  for (int i = 0; i < COUNT; i++) {
    const ep_training_set t = {size_at(M, i), ridge, variance};
    ep_measurement m;
    EP_TRY(ep_run_step("error on new points", i, COUNT));
    EP_TRY(ep_domain_measure(&m, NULL, d, f, &t, 1, seed + (uint64_t)i, memory));
    n[i] = t.train, error[i] = m.gcv.mean, kappa[i] = m.kappa.mean;
  }
  *out = (ep_learn_law){.from = M,
                        .error_from = error[0],
                        .kappa_from = kappa[0],
                        .error = ep_power_law_fit(n, error, COUNT),
                        .kappa = ep_power_law_fit(n, kappa, COUNT),
                        .ridge = ridge,
                        .variance = variance};
  EP_CHECK(error[0] > 0 && isfinite(error[0]) && isfinite(out->error.low) &&
               isfinite(out->kappa.exponent),
           EP_ERR_NUMERIC,
           "the kernel matrix of all points is singular, which hides their error on new ones: give "
           "--ridge");
  return EP_OK;
}

void ep_learn_beyond_at(ep_prediction *p, double *low, double *high, const ep_learn_law *law,
                        double n) {
  const double times = n / law->from;
  *p = (ep_prediction){.sum = NAN, .learnability = NAN, .overfit = NAN};
  p->kappa = law->kappa_from * pow(times, law->kappa.exponent);
  p->mse = law->error_from * pow(times, law->error.exponent);
  p->clean_mse = p->mse - law->variance;
  p->unseen_mse = law->variance > 0 ? NAN : p->mse;
  const double shrink = law->ridge / (n * p->kappa);
  p->train_mse = shrink * shrink * p->mse;
  *low = law->error_from * pow(times, law->error.low);
  *high = law->error_from * pow(times, law->error.high);
}
