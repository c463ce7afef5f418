
/* - sum log sigmoid(a s) */
double ep_loss_logistic(double *ds, const double *s, const signed char *sign, ptrdiff_t count,
                        const ep_objective_config *config) {
  (void)config;
  double l = 0;
  for (ptrdiff_t q = 0; q < count; q++) {
    const double t = exp(-sign[q] * s[q]);
    l += log1p(t);
    ds[q] = -sign[q] * t / (1 + t);
  }
  return l;
}
