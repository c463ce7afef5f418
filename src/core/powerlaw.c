#include <eigenpair/powerlaw.h>
#include <math.h>

/* 97.5 % point of Student's t: Hill's expansion in 1/n of the normal's, exact values where it is poor */
static double student(ptrdiff_t freedom) {
  static const double few[] = {12.706, 4.303, 3.182, 2.776, 2.571};
  if (freedom <= 5) return few[freedom - 1];
  const double z = 1.959964, n = (double)freedom;
  return z + (pow(z, 3) + z) / (4 * n) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * n * n);
}

static int usable(double x, double y) { return x > 0 && y > 0 && isfinite(x) && isfinite(y); }

ep_power_law ep_power_law_fit(const double *x, const double *y, ptrdiff_t count) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0;
  ep_power_law law = {NAN, NAN, NAN, NAN, 0};
  for (ptrdiff_t i = 0; i < count; i++)
    if (usable(x[i], y[i])) n++, sx += log(x[i]), sy += log(y[i]);
  law.count = (ptrdiff_t)n;
  for (ptrdiff_t i = 0; i < count; i++)
    if (usable(x[i], y[i])) {
      const double dx = log(x[i]) - sx / n;
      sxx += dx * dx;
      sxy += dx * (log(y[i]) - sy / n);
    }
  if (n < 2 || !(sxx > 1e-12)) return law;
  law.exponent = sxy / sxx;
  law.log_c = sy / n - law.exponent * sx / n;
  for (ptrdiff_t i = 0; i < count; i++)
    if (usable(x[i], y[i])) rest += pow(log(y[i]) - law.log_c - law.exponent * log(x[i]), 2);
  if (n < 3) return law;
  const double half = student(law.count - 2) * sqrt(rest / (n - 2) / sxx);
  law.low = law.exponent - half;
  law.high = law.exponent + half;
  return law;
}

/* means of log x and log y over the points of run k; how many there are */
static double centre(double *mx, double *my, const double *x, const double *y, ptrdiff_t count,
                     int runs, int k) {
  double n = 0;
  *mx = *my = 0;
  for (ptrdiff_t i = 0; i < count; i++)
    if (usable(x[i], y[i * runs + k])) n++, *mx += log(x[i]), *my += log(y[i * runs + k]);
  *mx /= fmax(n, 1), *my /= fmax(n, 1);
  return n;
}

ep_power_law ep_power_law_fit_runs(const double *x, const double *y, ptrdiff_t count, int runs) {
  double n = 0, levels = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, rest = 0, mx, my;
  ep_power_law law = {NAN, NAN, NAN, NAN, 0};
  for (int pass = 0; pass < 2; pass++) { /* the exponent, the scatter about it */
    for (int k = 0; k < runs; k++) {
      const double m = centre(&mx, &my, x, y, count, runs, k);
      if (pass == 0) n += m, levels += m > 0, sx += m * mx, sy += m * my;
      for (ptrdiff_t i = 0; i < count; i++) {
        if (!usable(x[i], y[i * runs + k])) continue;
        const double dx = log(x[i]) - mx, dy = log(y[i * runs + k]) - my;
        if (pass == 0) sxx += dx * dx, sxy += dx * dy;
        else rest += pow(dy - law.exponent * dx, 2);
      }
    }
    law.count = (ptrdiff_t)n;
    if (n < 2 || !(sxx > 1e-12)) return law;
    law.exponent = sxy / sxx;
  }
  law.log_c = (sy - law.exponent * sx) / n;
  const double freedom = n - levels - 1;
  if (freedom < 1) return law;
  const double half = student((ptrdiff_t)freedom) * sqrt(rest / freedom / sxx);
  law.low = law.exponent - half;
  law.high = law.exponent + half;
  return law;
}

double ep_power_law_meets(const ep_power_law *law, double y) {
  if (!(law->exponent != 0)) return NAN;
  const double x = exp((log(y) - law->log_c) / law->exponent);
  return isfinite(x) ? x : NAN;
}

void ep_mean_interval(double *mean, double *low, double *high, const double *value, ptrdiff_t n) {
  double sum = 0, rest = 0;
  for (ptrdiff_t i = 0; i < n; i++) sum += value[i];
  *mean = sum / (double)n;
  for (ptrdiff_t i = 0; i < n; i++) rest += pow(value[i] - *mean, 2);
  const double half =
      n > 1 ? student(n - 1) * sqrt(rest / (double)(n - 1) / (double)n) : (double)NAN;
  *low = *mean - half;
  *high = *mean + half;
}
