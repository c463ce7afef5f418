#include "data/pixels.h"

#define IN static inline __attribute__((always_inline))

void R(ep_pixels_load)(double *restrict x, const float *restrict from, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) x[j] = from[j];
}

void R(ep_pixels_store)(float *restrict to, const double *restrict x, ptrdiff_t n) {
  for (ptrdiff_t j = 0; j < n; j++) to[j] = (float)x[j];
}

double R(ep_pixels_mean)(const double *x, ptrdiff_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < n; j++) sum += x[j];
  return sum / (double)n;
}

/* ---- colours */

IN double in_range(double x) {
  const double low = x < 0 ? 0 : x;
  return low > 1 ? 1 : low;
}

void R(ep_pixels_light)(double *x, ptrdiff_t n, double scale, double offset) {
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) x[j] = in_range(scale * x[j] + offset);
}

void R(ep_pixels_turn)(double *restrict x, double *restrict y, double *restrict z, ptrdiff_t n,
                       const double M[3][3], double offset) {
#pragma omp simd
  for (ptrdiff_t j = 0; j < n; j++) {
    const double r = x[j], g = y[j], b = z[j];
    x[j] = in_range(M[0][0] * r + M[0][1] * g + M[0][2] * b + offset);
    y[j] = in_range(M[1][0] * r + M[1][1] * g + M[1][2] * b + offset);
    z[j] = in_range(M[2][0] * r + M[2][1] * g + M[2][2] * b + offset);
  }
}

/* ---- blur: the widths that occur have code of their own, in which the sum over weights stays in a register */

#define EP_WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6)
enum { MOST = 6 };

IN void across(double *restrict y, const double *restrict line, int n, const double *g, int half) {
#pragma omp simd
  for (int j = 0; j < n; j++) {
    double sum = g[half] * line[j + half];
#pragma GCC unroll 6
    for (int k = 1; k <= half; k++) sum += g[half + k] * (line[j + half - k] + line[j + half + k]);
    y[j] = sum;
  }
}

IN void down(double *restrict y, const double *const *rows, int n, const double *g, int half) {
  const double *row[2 * MOST + 1];
  for (int k = 0; k <= 2 * half; k++) row[k] = rows[k];
#pragma omp simd
  for (int j = 0; j < n; j++) {
    double sum = g[half] * row[half][j];
#pragma GCC unroll 6
    for (int k = 1; k <= half; k++) sum += g[half + k] * (row[half - k][j] + row[half + k][j]);
    y[j] = sum;
  }
}

/* y <- y + g (a + b) */
IN void add(double *restrict y, const double *a, const double *b, int n, double g) {
#pragma omp simd
  for (int j = 0; j < n; j++) y[j] += g * (a[j] + b[j]);
}

void R(ep_pixels_across)(double *restrict y, const double *line, int n, const double *g, int half) {
  switch (half) {
#define EP_WIDTH(K) \
  case K: across(y, line, n, g, K); return;
    EP_WIDTHS(EP_WIDTH)
#undef EP_WIDTH
    default: break;
  }
  for (int j = 0; j < n; j++) y[j] = g[half] * line[j + half];
  for (int k = 1; k <= half; k++) add(y, line + half - k, line + half + k, n, g[half + k]);
}

void R(ep_pixels_down)(double *restrict y, const double *const *rows, int n, const double *g,
                       int half) {
  switch (half) {
#define EP_WIDTH(K) \
  case K: down(y, rows, n, g, K); return;
    EP_WIDTHS(EP_WIDTH)
#undef EP_WIDTH
    default: break;
  }
  for (int j = 0; j < n; j++) y[j] = g[half] * rows[half][j];
  for (int k = 1; k <= half; k++) add(y, rows[half - k], rows[half + k], n, g[half + k]);
}

/* ---- what is moved */

void R(ep_pixels_line)(double *restrict to_u, double *restrict to_v, int n, double u, double du,
                       double v, double dv) {
#pragma omp simd
  for (int j = 0; j < n; j++) to_u[j] = u + du * j, to_v[j] = v + dv * j;
}

void R(ep_pixels_places)(int *restrict from, double *restrict u, double *restrict v, int n, int H,
                         int W) {
#pragma omp simd
  for (int j = 0; j < n; j++) {
    const double least_u = u[j] > -1 ? u[j] : -1, least_v = v[j] > -1 ? v[j] : -1;
    const double a = (least_u < H ? least_u : H) + 1, b = (least_v < W ? least_v : W) + 1;
    const int i = (int)a, k = (int)b;
    from[j] = i * (W + 3) + k;
    u[j] = a - i;
    v[j] = b - k;
  }
}

/* two neighbours at once: the four pixels about a place are two of these */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

IN pair load_pair(const double *x) { return *(const pair *)x; }
IN double mix(double a, double b, double w) { return (1 - w) * a + w * b; }

void R(ep_pixels_between)(double *restrict y, const double *restrict x, const int *restrict from,
                          const double *restrict u, const double *restrict v, int n,
                          ptrdiff_t line) {
  int j = 0;
  for (; j + 2 <= n; j += 2) {
    const double *a = x + from[j], *b = x + from[j + 1];
    const pair s = load_pair(a) * (1 - u[j]) + load_pair(a + line) * u[j];
    const pair t = load_pair(b) * (1 - u[j + 1]) + load_pair(b + line) * u[j + 1];
    const pair left = {s[0], t[0]}, right = {s[1], t[1]}, w = load_pair(v + j);
    *(pair *)(y + j) = left * (1 - w) + right * w;
  }
  for (; j < n; j++) {
    const double *a = x + from[j], *b = a + line;
    y[j] = mix(mix(a[0], b[0], u[j]), mix(a[1], b[1], u[j]), v[j]);
  }
}

void R(ep_pixels_widen)(double *restrict y, const double *restrict x, const int *restrict from,
                        const double *restrict w, int n) {
  int j = 0;
  for (; j + 2 <= n; j += 2) {
    const pair a = load_pair(x + from[j]), b = load_pair(x + from[j + 1]), share = load_pair(w + j);
    const pair left = {a[0], b[0]}, right = {a[1], b[1]};
    *(pair *)(y + j) = left * (1 - share) + right * share;
  }
  for (; j < n; j++) y[j] = mix(x[from[j]], x[from[j] + 1], w[j]);
}

void R(ep_pixels_mix)(double *restrict y, const double *a, const double *b, int n, double w) {
#pragma omp simd
  for (int j = 0; j < n; j++) y[j] = mix(a[j], b[j], w);
}
