/* Learnability from a spectrum alone. */
#include <eigenpair/learnability.h>
#include <math.h>

double ep_spectrum_rank(const ep_spectrum *s) {
  double rank = 0;
  for (ptrdiff_t k = 0; k < s->levels; k++) rank += s->value[k] > 0 ? s->count[k] : 0;
  return s->tail > 0 ? INFINITY : rank;
}

double ep_spectrum_trace(const ep_spectrum *s) {
  double trace = s->tail;
  for (ptrdiff_t k = 0; k < s->levels; k++) trace += s->value[k] * s->count[k];
  return trace;
}

/* sum_i lambda_i/(lambda_i + kappa) + (ridge + tail)/kappa: falls with kappa */
static double capacity(const ep_spectrum *s, double kappa, double ridge) {
  double sum = (ridge + s->tail) / kappa;
  for (ptrdiff_t k = 0; k < s->levels; k++)
    sum += s->count[k] * s->value[k] / (s->value[k] + kappa);
  return sum;
}

/* least positive eigenvalue; INFINITY: there is none */
static double least(const ep_spectrum *s) {
  double low = INFINITY;
  for (ptrdiff_t k = 0; k < s->levels; k++)
    if (s->value[k] > 0 && s->value[k] < low) low = s->value[k];
  return low;
}

ep_status ep_learn_kappa(double *kappa, const ep_spectrum *s, double n, double ridge) {
  *kappa = 0;
  EP_CHECK(n > 0 && isfinite(n) && ridge >= 0 && isfinite(ridge), EP_ERR_ARG,
           "%g training points and ridge %g make no sense", n, ridge);
  EP_CHECK(n <= s->size, EP_ERR_ARG, "%.0f training points, but the domain has %.0f", n, s->size);
  const double rank = ep_spectrum_rank(s), r = ridge + s->tail, trace = ep_spectrum_trace(s);
  EP_CHECK(trace > 0 && isfinite(trace), EP_ERR_INPUT, "a kernel of trace %g learns nothing",
           trace);
  if (r == 0 && n >= rank) return EP_OK; /* the limit ridge -> 0 */
  /* lambda/(lambda+kappa) <= lambda/kappa gives the upper end; rank times the least term, or the ridge, the lower */
  double high = log((trace + ridge) / n), low = log(r / n);
  if (n < rank && isfinite(rank)) low = fmax(low, log(least(s) * (rank - n) / n));
  for (int i = 0; i < 200 && high - low > 1e-16 * fmax(1, fabs(low)); i++) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    if (capacity(s, exp(middle), ridge) > n) low = middle;
    else high = middle;
  }
  *kappa = exp(0.5 * (low + high));
  return EP_OK;
}

/* L of an eigenvalue; at kappa = 0 the limit: 1, and 0 where the kernel has no such direction */
static double learnt(double lambda, double kappa) {
  return lambda > 0 ? lambda / (lambda + kappa) : 0;
}

/* v_i^2 of level k in all; without a target every function is alike: 1/M each */
static double level_power(const ep_spectrum *s, const double *power, ptrdiff_t k) {
  return power ? power[k] : s->count[k] / s->size;
}

ep_status ep_learn_predict(ep_prediction *out, double *L, const ep_spectrum *s, const double *power,
                           const ep_training_set *t) {
  const double n = t->train;
  ep_prediction p = {0};
  EP_CHECK(t->variance >= 0 && isfinite(t->variance), EP_ERR_ARG, "noise of variance %g",
           t->variance);
  EP_TRY(ep_learn_kappa(&p.kappa, s, n, t->ridge));
  double squares = 0, total = 0, along = 0, missed = t->variance, listed = 0;
  for (ptrdiff_t k = 0; k < s->levels; k++) {
    const double l = learnt(s->value[k], p.kappa), v = level_power(s, power, k);
    if (L) L[k] = l;
    listed += s->count[k] * l;
    squares += s->count[k] * l * l;
    total += v;
    along += l * v;
    missed += (1 - l) * (1 - l) * v;
  }
  if (!power) missed += 1 - total, total = 1; /* what lies past the list is not learnt */
  p.sum = p.kappa > 0 ? n - t->ridge / p.kappa : listed;
  p.learnability = along / total;
  p.overfit = n / (n - squares);
  p.mse = missed > 0 ? (n > squares ? p.overfit * missed : INFINITY) : 0;
  p.clean_mse = p.mse - t->variance;
  const double shrink = p.kappa > 0 ? t->ridge / (n * p.kappa) : (n - listed) / n;
  p.train_mse = shrink * shrink * p.mse;
  /* M E = n E_train + (M - n) E_unseen */
  p.unseen_mse = t->variance > 0 ? NAN : p.mse;
  if (isfinite(s->size)) p.unseen_mse = (s->size * p.unseen_mse - n * p.train_mse) / (s->size - n);
  *out = p;
  return EP_OK;
}

/* kappa by the implicit function: dkappa/dlambda_i = kappa/(lambda_i+kappa)^2 / (sum lambda/(lambda+kappa)^2 + ridge/kappa^2)
 * dL_j/dlambda_i = (1{i=j} kappa - lambda_j dkappa/dlambda_i) / (lambda_j+kappa)^2 */
ep_status ep_learn_sensitivity(const ep_mat *D, const ep_spectrum *s, double n, double ridge) {
  double kappa;
  EP_CHECK(D->rows == s->levels && D->cols == s->levels && D->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "derivatives of %td levels are not %td x %td", s->levels, D->rows, D->cols);
  EP_TRY(ep_learn_kappa(&kappa, s, n, ridge));
  EP_CHECK(kappa > 0, EP_ERR_ARG, "%g points learn everything: kappa is 0, without a derivative",
           n);
  double slope = (ridge + s->tail) / (kappa * kappa);
  for (ptrdiff_t k = 0; k < s->levels; k++) {
    const double a = s->value[k] + kappa;
    slope += s->count[k] * s->value[k] / (a * a);
  }
  for (ptrdiff_t i = 0; i < s->levels; i++) {
    const double a = s->value[i] + kappa, dkappa = kappa / (a * a) / slope;
    for (ptrdiff_t j = 0; j < s->levels; j++) {
      const double b = s->value[j] + kappa;
      *ep_d(D, i, j) = ((i == j ? kappa : 0) - s->value[j] * dkappa) / (b * b);
    }
  }
  return EP_OK;
}
