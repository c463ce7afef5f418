/* Fourier transforms of any length: radix 2, and Bluestein's chirp for the rest. */
#include "core/fft.h"

#include <eigenpair/matrix.h>
#include <math.h>

static const double pi = 3.14159265358979323846264338327950288;

static void swap(double *x, double *y) {
  const double t = *x;
  *x = *y;
  *y = t;
}

static void reverse_bits(double *re, double *im, ptrdiff_t n) {
  for (ptrdiff_t i = 1, j = 0; i < n; i++) {
    ptrdiff_t bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) swap(&re[i], &re[j]), swap(&im[i], &im[j]);
  }
}

/* n a power of 2; c[j] - i s[j] = e^{-2 pi i j/n}, j < n/2, each by its own sine: no error grows */
static void radix2(double *re, double *im, ptrdiff_t n, const double *c, const double *s) {
  reverse_bits(re, im, n);
  for (ptrdiff_t half = 1; half < n; half *= 2) {
    const ptrdiff_t step = n / (2 * half);
    for (ptrdiff_t i = 0; i < n; i += 2 * half)
      for (ptrdiff_t j = 0; j < half; j++) {
        const ptrdiff_t a = i + j, b = a + half;
        const double wr = c[j * step], wi = -s[j * step];
        const double tr = wr * re[b] - wi * im[b], ti = wr * im[b] + wi * re[b];
        re[b] = re[a] - tr, im[b] = im[a] - ti;
        re[a] += tr, im[a] += ti;
      }
  }
}

static ep_status circle_table(ep_work *work, double **c, double **s, ptrdiff_t n) {
  EP_TRY(ep_work_get(work, c, n / 2 + 1, sizeof **c));
  EP_TRY(ep_work_get(work, s, n / 2 + 1, sizeof **s));
  for (ptrdiff_t j = 0; j < n / 2; j++) {
    (*c)[j] = cos(2 * pi * (double)j / (double)n);
    (*s)[j] = sin(2 * pi * (double)j / (double)n);
  }
  return EP_OK;
}

/* jk = (j^2 + k^2 - (k-j)^2)/2:  X_k = w_k sum_j (x_j w_j) conj(w_{k-j}),  w_j = e^{-i pi j^2/n}: a convolution, done
 * by transforms of length m >= 2n - 1. With b_j = conj(w_j) and A = x w:  X = w . (A * b). */
static ep_status bluestein(ep_work *work, double *re, double *im, ptrdiff_t n) {
  ptrdiff_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  double *c, *s, *wr, *wi, *ar, *ai, *br, *bi;
  EP_TRY(circle_table(work, &c, &s, m));
  EP_TRY(ep_work_get(work, &wr, n, sizeof *wr));
  EP_TRY(ep_work_get(work, &wi, n, sizeof *wi));
  EP_TRY(ep_work_get(work, &ar, m, sizeof *ar));
  EP_TRY(ep_work_get(work, &ai, m, sizeof *ai));
  EP_TRY(ep_work_get(work, &br, m, sizeof *br));
  EP_TRY(ep_work_get(work, &bi, m, sizeof *bi));
  for (ptrdiff_t j = 0; j < n; j++) { /* j^2 mod 2n, so that the angle keeps its digits */
    const double angle = pi * (double)(((long long)j * j) % (2 * (long long)n)) / (double)n;
    wr[j] = cos(angle), wi[j] = -sin(angle);
    ar[j] = re[j] * wr[j] - im[j] * wi[j], ai[j] = re[j] * wi[j] + im[j] * wr[j];
    br[j] = wr[j], bi[j] = -wi[j];
    if (j) br[m - j] = br[j], bi[m - j] = bi[j];
  }
  radix2(ar, ai, m, c, s);
  radix2(br, bi, m, c, s);
  for (ptrdiff_t k = 0; k < m;
       k++) { /* the product, conjugated: a forward transform then goes back */
    const double pr = ar[k] * br[k] - ai[k] * bi[k], p = ar[k] * bi[k] + ai[k] * br[k];
    ar[k] = pr / (double)m, ai[k] = -p / (double)m;
  }
  radix2(ar, ai, m, c, s);
  for (ptrdiff_t k = 0; k < n; k++) {
    re[k] = ar[k] * wr[k] + ai[k] * wi[k];
    im[k] = ar[k] * wi[k] - ai[k] * wr[k];
  }
  return EP_OK;
}

static ep_status transform(ep_work *work, double *re, double *im, ptrdiff_t n) {
  double *c, *s;
  if (n & (n - 1)) return bluestein(work, re, im, n);
  EP_TRY(circle_table(work, &c, &s, n));
  radix2(re, im, n, c, s);
  return EP_OK;
}

ep_status ep_fft(double *re, double *im, ptrdiff_t n) {
  EP_CHECK(n >= 1 && n <= (ptrdiff_t)1 << 30, EP_ERR_ARG, "no Fourier transform of length %td", n);
  ep_work work = {0};
  const ep_status st = transform(&work, re, im, n);
  ep_work_free(&work);
  return st;
}

void ep_walsh(double *x, ptrdiff_t n) {
  for (ptrdiff_t half = 1; half < n; half *= 2)
    for (ptrdiff_t i = 0; i < n; i += 2 * half)
      for (ptrdiff_t j = i; j < i + half; j++) {
        const double a = x[j], b = x[j + half];
        x[j] = a + b, x[j + half] = a - b;
      }
}
