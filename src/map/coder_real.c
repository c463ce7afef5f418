/* One image through a layer of whitened patches (theory: section 11). A band is the places of one row of the grid:
 *
 *   X (places x d)  patches, (x - mean) / sqrt(var + floor) - their mean over the data
 *   Y = X whiten;  R = Y F' / |Y|: cosines with the filters, as X (F whiten)' / |X L| where LL' = whiten^2: half the product
 *   a = relu(R - theta), and relu(-R - theta) beside it where it has two sides
 *   h = a E - shift, of length 1, where neighbours were seen;  out = means of h, or of a, over the cells of the grid
 *   mirror: the mean of that and of the same of the mirrored image;  root: sign(out) sqrt|out|
 *
 * Of a, a tenth is not zero: its product with E visits only that. */
#include "map/map.h"

#include <math.h>
#include <string.h>

static real length(const real *x, ptrdiff_t n) {
  real sum = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < n; j++) sum += x[j] * x[j];
  return (real)sqrt((double)sum);
}

static void contrast(real *restrict x, const real *restrict mean, ptrdiff_t n, real floor) {
  real sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
  for (ptrdiff_t j = 0; j < n; j++) sum += x[j];
  sum /= (real)n;
#pragma omp simd reduction(+ : square)
  for (ptrdiff_t j = 0; j < n; j++) {
    x[j] -= sum;
    square += x[j] * x[j];
  }
  const real scale = 1 / (real)sqrt((double)(square / (real)n + floor));
  for (ptrdiff_t j = 0; j < n; j++) x[j] = x[j] * scale - mean[j];
}

void R(ep_coder_contrast)(const ep_mat *X, const ep_coder *l) {
  for (ptrdiff_t i = 0; i < X->rows; i++)
    contrast(at(X, i, 0), at(&l->mean, 0, 0), X->cols, (real)l->floor);
}

void R(ep_coder_whiten)(const ep_mat *Y, const ep_mat *X, const ep_coder *l) {
  R(ep_coder_contrast)(X, l);
  ep_mat_mul(Y, 1, X, EP_N, &l->whiten, EP_N, 0);
  for (ptrdiff_t i = 0; i < Y->rows; i++) {
    real *y = at(Y, i, 0);
    const real norm = length(y, Y->cols), scale = norm > 0 ? 1 / norm : 0;
    for (ptrdiff_t j = 0; j < Y->cols; j++) y[j] *= scale;
  }
}

void R(ep_coder_cosines)(const ep_mat *Z, const ep_mat *X, const ep_mat *Y, const ep_coder *l) {
  R(ep_coder_contrast)(X, l);
  ep_mat_copy(Y, X);
  ep_mat_mul_triangular(Y, &l->L);
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    real *x = at(X, i, 0);
    const real norm = length(at(Y, i, 0), Y->cols), scale = norm > 0 ? 1 / norm : 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) x[j] *= scale;
  }
  ep_mat_mul(Z, 1, X, EP_N, &l->cosine, EP_T, 0);
}

void R(ep_coder_code)(const ep_mat *A, const ep_mat *cosines, const ep_coder *l) {
  const ptrdiff_t K = l->filters;
  const real theta = (real)l->theta;
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    real *restrict a = at(A, i, 0);
    const real *restrict z = at(cosines, i, 0);
    for (ptrdiff_t k = 0; k < K; k++) a[k] = z[k] > theta ? z[k] - theta : 0;
    for (ptrdiff_t k = 0; l->two && k < K; k++) a[K + k] = -z[k] > theta ? -z[k] - theta : 0;
  }
}

/* ---- one place */

/* the entries of sign z that exceed theta, behind the n that are there */
static ptrdiff_t pick(real *restrict value, int *restrict index, ptrdiff_t n,
                      const real *restrict z, ptrdiff_t K, real sign, real theta, int first) {
  for (ptrdiff_t k = 0; k < K; k++) {
    const real v = sign * z[k] - theta;
    value[n] = v;
    index[n] = first + (int)k;
    n += v > 0;
  }
  return n;
}

/* h += sum of n <= 4 rows of E, each times its value: h is read and written once for them */
static void add_rows(real *restrict h, const ep_mat *E, const real *value, const int *index,
                     ptrdiff_t n) {
  const real *restrict a = at(E, index[0], 0), *restrict b = at(E, index[n > 1 ? 1 : 0], 0);
  const real *restrict c = at(E, index[n > 2 ? 2 : 0], 0), *restrict d =
                                                               at(E, index[n > 3 ? 3 : 0], 0);
  const real u = value[0], v = n > 1 ? value[1] : 0, w = n > 2 ? value[2] : 0,
             x = n > 3 ? value[3] : 0;
#pragma omp simd
  for (ptrdiff_t j = 0; j < E->cols; j++) h[j] += u * a[j] + v * b[j] + (w * c[j] + x * d[j]);
}

/* h = a E - shift for sparse a, then cell += h / |h| */
static void add_seen(real *restrict cell, real *restrict h, const ep_coder *l, const real *value,
                     const int *index, ptrdiff_t n) {
  const ptrdiff_t L = l->keep;
  const real *restrict shift = at(&l->shift, 0, 0);
  for (ptrdiff_t j = 0; j < L; j++) h[j] = -shift[j];
  for (ptrdiff_t k = 0; k < n; k += 4)
    add_rows(h, &l->E, value + k, index + k, n - k < 4 ? n - k : 4);
  const real norm = length(h, L), scale = norm > 0 ? 1 / norm : 0;
  for (ptrdiff_t j = 0; j < L; j++) cell[j] += scale * h[j];
}

static void add_plain(real *restrict cell, const ep_coder *l, const real *restrict z) {
  const ptrdiff_t K = l->filters;
  const real theta = (real)l->theta;
  for (ptrdiff_t k = 0; k < K; k++) cell[k] += z[k] > theta ? z[k] - theta : 0;
  for (ptrdiff_t k = 0; l->two && k < K; k++) cell[K + k] += -z[k] > theta ? -z[k] - theta : 0;
}

static void add_place(const ep_coder *l, const real *z, const ep_coder_scratch *s) {
  if (l->keep == 0) {
    add_plain(at(&s->cell, 0, 0), l, z);
    return;
  }
  ptrdiff_t n = pick(at(&s->value, 0, 0), s->index, 0, z, l->filters, 1, (real)l->theta, 0);
  if (l->two)
    n = pick(at(&s->value, 0, 0), s->index, n, z, l->filters, -1, (real)l->theta, (int)l->filters);
  add_seen(at(&s->cell, 0, 0), at(&s->h, 0, 0), l, at(&s->value, 0, 0), s->index, n);
}

/* ---- one image */

/* Rows top .. of places, each a row of X: channel after channel, row by row */
static void take_band(const ep_mat *X, const ep_coder *l, const ep_mat *image, ptrdiff_t top,
                      ptrdiff_t rows) {
  const ptrdiff_t H = l->in.height, W = l->in.width, across = ep_coder_places(l).width;
  for (ptrdiff_t i = 0; i < rows; i++)
    for (ptrdiff_t j = 0; j < across; j++) {
      real *restrict to = at(X, i * across + j, 0);
      for (ptrdiff_t c = 0; c < l->in.channels; c++)
        for (ptrdiff_t a = 0; a < l->size; a++, to += l->size) {
          const real *restrict from = at(image, 0, (c * H + top + i + a) * W + j);
          for (ptrdiff_t b = 0; b < l->size; b++) to[b] = from[b];
        }
    }
}

static bool is_flat(const real *x, ptrdiff_t n) {
  for (ptrdiff_t j = 1; j < n; j++)
    if (x[j] != x[0]) return false;
  return true;
}

/* Patches of one colour have no contrast and are all alike: one row of X stands for them. row[i]: that of place i; -> rows */
static ptrdiff_t join_flat(ptrdiff_t *row, const ep_mat *X) {
  ptrdiff_t n = 0, flat = -1;
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    const bool is = is_flat(at(X, i, 0), X->cols);
    row[i] = is && flat >= 0 ? flat : n;
    if (row[i] < n) continue;
    if (is) flat = n;
    if (n < i) memcpy(at(X, n, 0), at(X, i, 0), (size_t)X->cols * sizeof(real));
    n++;
  }
  return n;
}

static void see(const ep_mat *out, const ep_coder *l, const ep_mat *image,
                const ep_coder_scratch *s) {
  const ptrdiff_t g = l->grid, channels = ep_coder_channels(l);
  const ptrdiff_t down = ep_coder_places(l).height, across = ep_coder_places(l).width;
  for (ptrdiff_t u = 0; u < g; u++) {
    const ptrdiff_t top = u * down / g, rows = (u + 1) * down / g - top;
    const ep_mat all = ep_mat_rows(&s->X, 0, rows * across);
    take_band(&all, l, image, top, rows);
    const ptrdiff_t n = join_flat(s->row, &all);
    const ep_mat X = ep_mat_rows(&s->X, 0, n), Y = ep_mat_rows(&s->Y, 0, n),
                 Z = ep_mat_rows(&s->R, 0, n);
    R(ep_coder_cosines)(&Z, &X, &Y, l);
    for (ptrdiff_t v = 0; v < g; v++) {
      const ptrdiff_t left = v * across / g, right = (v + 1) * across / g;
      const real share = 1 / (real)(rows * (right - left));
      real *cell = at(&s->cell, 0, 0);
      memset(cell, 0, (size_t)channels * sizeof(real));
      for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = left; j < right; j++) add_place(l, at(&Z, s->row[i * across + j], 0), s);
      for (ptrdiff_t c = 0; c < channels; c++) *at(out, 0, (c * g + u) * g + v) = share * cell[c];
    }
  }
}

/* out = (out + what the image seen in a mirror gives) / 2 */
static void add_mirrored(const ep_mat *out, const ep_coder *l, const ep_mat *image,
                         const ep_coder_scratch *s) {
  const ptrdiff_t lines = (ptrdiff_t)l->in.channels * l->in.height, W = l->in.width;
  const real *from = at(image, 0, 0), *more = at(&s->more, 0, 0);
  real *flipped = at(&s->flipped, 0, 0), *to = at(out, 0, 0);
  for (ptrdiff_t i = 0; i < lines; i++)
    for (ptrdiff_t j = 0; j < W; j++) flipped[i * W + j] = from[i * W + W - 1 - j];
  see(&s->more, l, &s->flipped, s);
  for (ptrdiff_t j = 0; j < out->cols; j++) to[j] = (to[j] + more[j]) / 2;
}

void R(ep_coder_image)(const ep_mat *out, const ep_coder *l, const ep_mat *image,
                       const ep_coder_scratch *s) {
  see(out, l, image, s);
  if (l->mirror) add_mirrored(out, l, image, s);
  if (!l->root) return;
  real *x = at(out, 0, 0);
  for (ptrdiff_t j = 0; j < out->cols; j++)
    x[j] = (real)copysign(sqrt(fabs((double)x[j])), (double)x[j]);
}
