#include "core/threads.h"
#include "kernel/empirical.h"

#include <stdbool.h>

void R(ep_ntk_top)(const ep_mat *B, double c, const ep_mat *Wt, const ep_mat *S) {
  const real k = (real)c;
#pragma omp parallel for schedule(static) if (ep_worth_entries(B))
  for (ptrdiff_t r = 0; r < B->rows; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict w = at(Wt, r / S->rows, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] = k * w[m] * s[m];
  }
}

void R(ep_ntk_mask)(const ep_mat *B, const ep_mat *S) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(B))
  for (ptrdiff_t r = 0; r < B->rows; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] *= s[m];
  }
}

void R(ep_ntk_add_full)(const ep_mat *K, double c, const ep_mat *H, const ep_mat *T, ptrdiff_t z) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(K))
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
#pragma omp parallel for schedule(static) if (ep_worth_entries(K))
  for (ptrdiff_t x = 0; x < H->rows; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++)
      *at(K, x, y * z + i) += (real)c * *at(H, x, y) * *at(T, x, y);
}

void R(ep_ntk_add_last)(const ep_mat *K, double c, const ep_mat *H, ptrdiff_t entries,
                        ptrdiff_t step) {
#pragma omp parallel for schedule(static) if (ep_worth_entries(K))
  for (ptrdiff_t x = 0; x < H->rows; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++)
      for (ptrdiff_t e = 0; e < entries; e += step)
        *at(K, x, y * entries + e) += (real)c * *at(H, x, y);
}

/* rows = cols = z for the full layout; 1 x entries otherwise, where nothing is transposed */
void R(ep_ntk_mirror)(const ep_mat *K, const ptrdiff_t ys[2], const ptrdiff_t xs[2], ptrdiff_t rows,
                      ptrdiff_t cols) {
  const ptrdiff_t entries = rows * cols;
#pragma omp parallel for schedule(dynamic, 8) if (ep_worth_entries(K))
  for (ptrdiff_t y = ys[0]; y < ys[1]; y++)
    for (ptrdiff_t x = xs[0]; x < xs[1] && x < y; x++) {
      const real *from = at(K, x, y * entries);
      real *to = at(K, y, x * entries);
      for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
    }
}

void R(ep_ntk_full_apply)(const ep_mat *F, const ep_mat *K, const ep_mat *Y) {
  const ptrdiff_t z = Y->cols;
#pragma omp parallel for schedule(static) if (ep_worth_entries(K))
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

void R(ep_ntk_row_products)(const ep_mat *P, const ep_mat *s, const ep_mat *S) {
  const real *restrict a = at(s, 0, 0);
  for (ptrdiff_t y = 0; y < P->rows; y++) {
    real *restrict p = at(P, y, 0);
    const real *restrict b = at(S, y, 0);
    for (ptrdiff_t m = 0; m < P->cols; m++) p[m] = a[m] * b[m];
  }
}

void R(ep_ntk_add_pairs)(const ep_mat *K, double c, const ep_mat *h, const ep_mat *T, ptrdiff_t z) {
  for (ptrdiff_t y = 0; y < T->rows; y++) {
    real *k = at(K, 0, y * z * z);
    const real *t = at(T, y, 0), a = (real)c * *at(h, 0, y);
    for (ptrdiff_t i = 0; i < z; i++)
      for (ptrdiff_t j = i; j < z; j++, t++) {
        k[i * z + j] += a * *t;
        if (j > i) k[j * z + i] += a * *t;
      }
  }
}

static void add_product(const ep_mat *WW, ptrdiff_t row, const ep_mat *Wt, ptrdiff_t i, ptrdiff_t j,
                        real c) {
  real *restrict out = at(WW, row, 0);
  const real *a = at(Wt, i, 0), *b = at(Wt, j, 0);
  for (ptrdiff_t m = 0; m < Wt->cols; m++) out[m] += c * a[m] * b[m];
}

void R(ep_ntk_products_of_w)(const ep_mat *Wt, const ep_mat *WW, const ep_mat *W) {
  const ptrdiff_t z = W->cols;
#pragma omp parallel for schedule(static) if (ep_worth_entries(W))
  for (ptrdiff_t i = 0; i < z; i++)
    for (ptrdiff_t m = 0; m < W->rows; m++) *at(Wt, i, m) = *at(W, m, i);
  const bool pairs = WW->rows == z * (z + 1) / 2 && z > 1;
#pragma omp parallel for schedule(dynamic) if (ep_worth_entries(WW))
  for (ptrdiff_t i = 0; i < z; i++)
    for (ptrdiff_t j = i; j < (pairs ? z : i + 1); j++) {
      const ptrdiff_t row = pairs ? i * z - i * (i - 1) / 2 + (j - i) : WW->rows == 1 ? 0 : i;
      add_product(WW, row, Wt, i, j, WW->rows == 1 ? 1 / (real)z : 1);
    }
}
