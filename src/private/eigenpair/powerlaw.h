#pragma once
/* y = c x^e by least squares on logarithms; the interval of a mean. */
#include <stddef.h>

typedef struct {
  double exponent, low,
      high; /* and its 95 % interval, from the scatter about the line; NAN for fewer than 3 points */
  double log_c;    /* natural logarithm of c */
  ptrdiff_t count; /* points used: those with x, y > 0 and finite */
} ep_power_law;
/* exponent is NAN for fewer than two different x. */
ep_power_law ep_power_law_fit(const double *x, const double *y, ptrdiff_t count);
/* One exponent for several runs that were made at the same x, y (count x runs): each has a c of its own, so that what sets one
 * run apart from another at every x is not in the interval. log_c is their mean. */
ep_power_law ep_power_law_fit_runs(const double *x, const double *y, ptrdiff_t count, int runs);
/* x at which the law meets y; NAN if it never does (exponent 0 or NAN). */
double ep_power_law_meets(const ep_power_law *law, double y);
/* Mean of n numbers with its 95 % interval (Student's t), whose ends are NAN for fewer than two. */
void ep_mean_interval(double *mean, double *low, double *high, const double *value, ptrdiff_t n);
