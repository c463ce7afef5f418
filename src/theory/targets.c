/* Functions on domains: values, points, and how much of a function lies in each level. */
#include "core/fft.h"
#include "theory/domains.h"

#include <eigenpair/random.h>
#include <math.h>

static const double pi = 3.14159265358979323846264338327950288;

ptrdiff_t ep_domain_dimension(const ep_domain *d) {
  return d->kind == EP_SAMPLE ? 0 : d->kind == EP_CIRCLE ? 2 : d->size;
}

/* x = r z/|z|, z ~ N(0, I) */
static void sphere_point(double *x, ptrdiff_t D, double r, ep_random *random) {
  double norm2 = 0;
  while (norm2 == 0)
    for (ptrdiff_t j = 0; j < D; j++) {
      x[j] = ep_random_normal(random);
      norm2 += x[j] * x[j];
    }
  for (ptrdiff_t j = 0; j < D; j++) x[j] *= r / sqrt(norm2);
}

ep_status ep_domain_points(const ep_mat *X, const ep_domain *d, const ptrdiff_t *index,
                           uint64_t seed, uint32_t sub) {
  EP_CHECK(d->kind != EP_SAMPLE && X->cols == ep_domain_dimension(d) && X->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "points of this domain are not rows of %td numbers in double", X->cols);
  ep_random random = ep_random_new(seed, EP_STREAM_DATA, sub);
  const double r = d->kernel.radius;
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double *x = ep_d(X, i, 0);
    if (d->kind == EP_SPHERE) {
      sphere_point(x, X->cols, r, &random);
    } else if (d->kind == EP_CIRCLE) {
      const double a = 2 * pi * (double)index[i] / (double)d->size;
      x[0] = r * cos(a), x[1] = r * sin(a);
    } else {
      const double side = r / sqrt((double)d->size);
      for (ptrdiff_t j = 0; j < X->cols; j++) x[j] = index[i] >> j & 1 ? side : -side;
    }
  }
  return EP_OK;
}

/* r^k cos(k a), r and a the polar coordinates of (x_1, x_2)/|x|, times sqrt(2/E r^{2k}),
 * E r^{2k} = k! G(d/2)/G(k + d/2); on the circle E = 1, and frequency M/2 is its own mirror image */
static double harmonic(const ep_domain *d, const double *x, int k) {
  const double r = hypot(x[0], x[1]) / d->kernel.radius, a = atan2(x[1], x[0]);
  const double half = 0.5 * (double)ep_domain_dimension(d);
  const double mean = exp(lgamma(k + 1.0) + lgamma(half) - lgamma(k + half));
  const int single = k == 0 || (d->kind == EP_CIRCLE && 2 * (ptrdiff_t)k == d->size);
  return sqrt((single ? 1 : 2) / mean) * pow(r, k) * cos(k * a);
}

static double parity(const double *x, int k) {
  double sign = 1;
  for (int j = 0; j < k; j++) sign = x[j] < 0 ? -sign : sign;
  return sign;
}

static ep_status check_degrees(const ep_domain *d, const ep_target *f) {
  EP_CHECK(d->kind != EP_SAMPLE, EP_ERR_ARG,
           "functions by degree are known on circle, cube and sphere only");
  for (int i = 0; i < f->degrees; i++) {
    EP_CHECK(f->degree[i] >= 0 && f->degree[i] < d->spectrum.levels, EP_ERR_ARG,
             "no degree %d: they go from 0 to %td", f->degree[i], d->spectrum.levels - 1);
    for (int j = 0; j < i; j++)
      EP_CHECK(f->degree[i] != f->degree[j], EP_ERR_ARG, "degree %d is given twice", f->degree[i]);
  }
  return EP_OK;
}

ep_status ep_domain_values(const ep_mat *F, const ep_domain *d, const ep_target *f,
                           const ep_mat *X) {
  EP_TRY(check_degrees(d, f));
  EP_CHECK(F->rows == X->rows && F->cols == 1 && F->prec == EP_DOUBLE && X->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "a function by degrees has one value a point");
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double sum = 0;
    for (int k = 0; k < f->degrees; k++)
      sum += d->kind == EP_CUBE ? parity(ep_d(X, i, 0), f->degree[k])
                                : harmonic(d, ep_d(X, i, 0), f->degree[k]);
    *ep_d(F, i, 0) = sum;
  }
  return EP_OK;
}

/* ---- power by level */

/* v_i = 1/M sum f phi_i, phi_i = sqrt(M) u_i */
static ep_status sample_power(ep_work *work, double *power, const ep_domain *d, const ep_mat *F) {
  ep_mat V;
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, d->size, F->cols));
  ep_mat_mul(&V, 1, &d->U, EP_N, F, EP_N, 0);
  for (ptrdiff_t i = 0; i < d->size; i++)
    for (ptrdiff_t z = 0; z < F->cols; z++)
      power[i] += *ep_d(&V, i, z) * *ep_d(&V, i, z) / (double)d->size;
  return EP_OK;
}

/* frequencies k and M - k are one level; Fourier of a real function gives both the same power */
static ep_status circle_power(ep_work *work, double *power, const ep_domain *d, const ep_mat *F) {
  const double M = (double)d->size;
  double *re, *im;
  EP_TRY(ep_work_get(work, &re, d->size, sizeof *re));
  EP_TRY(ep_work_get(work, &im, d->size, sizeof *im));
  for (ptrdiff_t z = 0; z < F->cols; z++) {
    for (ptrdiff_t i = 0; i < d->size; i++) re[i] = *ep_d(F, i, z), im[i] = 0;
    EP_TRY(ep_fft(re, im, d->size));
    for (ptrdiff_t k = 0; k < d->spectrum.levels; k++)
      power[k] += d->count[k] * (re[k] * re[k] + im[k] * im[k]) / (M * M);
  }
  return EP_OK;
}

/* parities S of |S| = k are level k */
static ep_status cube_power(ep_work *work, double *power, const ep_domain *d, const ep_mat *F) {
  double *x;
  EP_TRY(ep_work_get(work, &x, F->rows, sizeof *x));
  for (ptrdiff_t z = 0; z < F->cols; z++) {
    for (ptrdiff_t i = 0; i < F->rows; i++) x[i] = *ep_d(F, i, z);
    ep_walsh(x, F->rows);
    for (ptrdiff_t S = 0; S < F->rows; S++) {
      const double v = x[S] / d->spectrum.size;
      power[__builtin_popcountll((unsigned long long)S)] += v * v;
    }
  }
  return EP_OK;
}

static ep_status values_power(ep_work *work, double *power, const ep_domain *d, const ep_mat *F) {
  EP_CHECK(d->kind != EP_SPHERE, EP_ERR_ARG,
           "the sphere has no list of points; give the target by degree, or draw points");
  EP_CHECK((double)F->rows == d->spectrum.size && F->prec == EP_DOUBLE, EP_ERR_SHAPE,
           "a target of %td values on a domain of %.0f points", F->rows, d->spectrum.size);
  if (d->kind == EP_SAMPLE) return sample_power(work, power, d, F);
  return d->kind == EP_CUBE ? cube_power(work, power, d, F) : circle_power(work, power, d, F);
}

ep_status ep_domain_power(double *power, const ep_domain *d, const ep_target *f) {
  for (ptrdiff_t k = 0; k < d->spectrum.levels; k++) power[k] = 0;
  if (!f->F.data) {
    EP_TRY(check_degrees(d, f));
    for (int k = 0; k < f->degrees; k++) power[f->degree[k]] += 1;
    return EP_OK;
  }
  ep_work work = {0};
  const ep_status st = values_power(&work, power, d, &f->F);
  ep_work_free(&work);
  return st;
}
