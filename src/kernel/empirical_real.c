#include "kernel/empirical.h"

void R(ep_ntk_top)(const ep_mat *B, double c, const ep_mat *Wt, const ep_mat *S) {
  const real k = (real)c;
#pragma omp parallel for schedule(static)
  for (ptrdiff_t r = 0; r < B->rows; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict w = at(Wt, r / S->rows, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] = k * w[m] * s[m];
  }
}

void R(ep_ntk_mask)(const ep_mat *B, const ep_mat *S) {
#pragma omp parallel for schedule(static)
  for (ptrdiff_t r = 0; r < B->rows; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] *= s[m];
  }
}

void R(ep_ntk_add_full)(const ep_mat *K, double c, const ep_mat *H, const ep_mat *T, ptrdiff_t z) {
#pragma omp parallel for schedule(static)
  for (ptrdiff_t x = 0; x < H->rows; x++)
    for (ptrdiff_t i = 0; i < z; i++) {
      const real *restrict t = at(T, i * H->rows + x, 0);
      const real *restrict h = at(H, x, 0);
      real *restrict k = at(K, x, i * z);
      for (ptrdiff_t y = 0; y < H->cols; y++)
        for (ptrdiff_t j = 0; j < z; j++) k[y * z * z + j] += (real)c * h[y] * t[j * H->cols + y];
    }
}

void R(ep_ntk_add_one)(const ep_mat *K, double c, const ep_mat *H, const ep_mat *T, ptrdiff_t z,
                       ptrdiff_t i) {
#pragma omp parallel for schedule(static)
  for (ptrdiff_t x = 0; x < H->rows; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++)
      *at(K, x, y * z + i) += (real)c * *at(H, x, y) * *at(T, x, y);
}

void R(ep_ntk_add_last)(const ep_mat *K, double c, const ep_mat *H, ptrdiff_t entries,
                        ptrdiff_t step) {
#pragma omp parallel for schedule(static)
  for (ptrdiff_t x = 0; x < H->rows; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++)
      for (ptrdiff_t e = 0; e < entries; e += step)
        *at(K, x, y * entries + e) += (real)c * *at(H, x, y);
}

/* rows = cols = z for the full layout; 1 x entries otherwise, where nothing is transposed */
void R(ep_ntk_mirror)(const ep_mat *K, ptrdiff_t rows, ptrdiff_t cols) {
  const ptrdiff_t n = K->rows, entries = rows * cols;
#pragma omp parallel for schedule(dynamic, 8)
  for (ptrdiff_t y = 1; y < n; y++)
    for (ptrdiff_t x = 0; x < y; x++) {
      const real *from = at(K, x, y * entries);
      real *to = at(K, y, x * entries);
      for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
    }
}

void R(ep_ntk_full_apply)(const ep_mat *F, const ep_mat *K, const ep_mat *Y) {
  const ptrdiff_t z = Y->cols;
#pragma omp parallel for schedule(static)
  for (ptrdiff_t x = 0; x < F->rows; x++)
    for (ptrdiff_t i = 0; i < z; i++) {
      real sum = 0;
      for (ptrdiff_t y = 0; y < Y->rows; y++) {
        const real *k = at(K, x, (y * z + i) * z), *v = at(Y, y, 0);
        for (ptrdiff_t j = 0; j < z; j++) sum += k[j] * v[j];
      }
      *at(F, x, i) = sum;
    }
}
