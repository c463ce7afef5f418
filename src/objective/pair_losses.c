/* Losses of one anchor's similarities. Theory: section 3. */
#include "objective/loss.h"
#include "objective/softmax.h"

#include <math.h>

/* l = - sum_q a_q s_q */
double ep_loss_linear(double *ds, const double *s, const signed char *sign, ptrdiff_t count,
                      const ep_objective_config *config) {
  (void)config;
  double l = 0;
  for (ptrdiff_t q = 0; q < count; q++) {
    l -= sign[q] * s[q];
    ds[q] = -sign[q];
  }
  return l;
}

/* l = - mean_{p positive} log( e^{s_p/tau} / (eps sum_{p positive} e^{s_p/tau} + sum_{q negative} e^{s_q/tau}) )
 *   = log(denominator) - mean s_p/tau,
 * with the largest exponent taken out */
double ep_loss_softmax(double *ds, const double *s, const signed char *sign, ptrdiff_t count,
                       const ep_objective_config *config) {
  const double tau = config->temperature, eps = config->epsilon;
  double top, sum = 0, mean = 0;
  ptrdiff_t positives = 0;
  for (; positives < count && sign[positives] > 0; positives++) mean += s[positives];
  mean /= (double)positives;
  const ptrdiff_t first = eps > 0 ? 0 : positives; /* of those in the denominator */
  for (ptrdiff_t q = 0; q < first; q++) ds[q] = 0;
  top = EP_PICK_DOUBLE(ep_softmax_terms)(ds + first, s + first, count - first, tau);
  for (ptrdiff_t q = first; q < positives; q++) ds[q] *= eps;
  for (ptrdiff_t q = 0; q < count; q++) sum += ds[q];
  for (ptrdiff_t q = 0; q < count; q++) ds[q] /= sum * tau;
  for (ptrdiff_t q = 0; q < positives; q++) ds[q] -= 1 / ((double)positives * tau);
  return log(sum) + (top - mean) / tau;
}

/* l = - 2 mean over positives of s + mean over negatives of s^2 */
double ep_loss_spectral(double *ds, const double *s, const signed char *sign, ptrdiff_t count,
                        const ep_objective_config *config) {
  (void)config;
  ptrdiff_t positives = 0;
  for (ptrdiff_t q = 0; q < count; q++) positives += sign[q] > 0;
  const double p = (double)positives, n = (double)(count - positives);
  double l = 0;
  for (ptrdiff_t q = 0; q < count; q++) {
    l += sign[q] > 0 ? -2 * s[q] / p : s[q] * s[q] / n;
    ds[q] = sign[q] > 0 ? -2 / p : 2 * s[q] / n;
  }
  return l;
}
