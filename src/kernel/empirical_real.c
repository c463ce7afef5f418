#include "core/crew.h"
#include "core/threads.h"
#include "kernel/empirical.h"

#include <stdbool.h>

/* ---- B of a layer */

typedef struct {
  const ep_mat *B, *Wt, *S;
  real c;
} down_loop;

static void top_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const down_loop *l = of;
  const ep_mat *B = l->B, *S = l->S;
  const real k = l->c;
  for (ptrdiff_t r = first; r < end; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict w = at(l->Wt, r / S->rows, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] = k * w[m] * s[m];
  }
}

static void mask_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *B = ((down_loop *)of)->B, *S = ((down_loop *)of)->S;
  for (ptrdiff_t r = first; r < end; r++) {
    real *restrict b = at(B, r, 0);
    const real *restrict s = at(S, r % S->rows, 0);
    for (ptrdiff_t m = 0; m < B->cols; m++) b[m] *= s[m];
  }
}

void R(ep_ntk_top)(const ep_mat *B, double c, const ep_mat *Wt, const ep_mat *S) {
  down_loop l = {B, Wt, S, (real)c};
  ep_crew_rows(B, top_rows, &l);
}

void R(ep_ntk_mask)(const ep_mat *B, const ep_mat *S) {
  down_loop l = {B, NULL, S, 1};
  ep_crew_rows(B, mask_rows, &l);
}

/* ---- K of a pair of blocks, a row of it a turn */

typedef struct {
  const ep_mat *K, *H, *T;
  double c;
  ptrdiff_t z, i;          /* entries of a pair; which of them */
  ptrdiff_t entries, step; /* of the last layer */
} add_loop;

static void add_full_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const add_loop *l = of;
  const ep_mat *H = l->H;
  const ptrdiff_t z = l->z;
  const real c = (real)l->c;
  for (ptrdiff_t x = first; x < end; x++)
    for (ptrdiff_t i = 0; i < z; i++) {
      const real *restrict t = at(l->T, i * H->rows + x, 0);
      const real *restrict h = at(H, x, 0);
      real *restrict k = at(l->K, x, i * z);
      for (ptrdiff_t y = 0; y < H->cols; y++)
        for (ptrdiff_t j = 0; j < z; j++) k[y * z * z + j] += c * h[y] * t[j * H->cols + y];
    }
}

static void add_one_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const add_loop *l = of;
  const ep_mat *K = l->K, *H = l->H, *T = l->T;
  const ptrdiff_t z = l->z, i = l->i;
  const real c = (real)l->c;
  for (ptrdiff_t x = first; x < end; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++) *at(K, x, y * z + i) += c * *at(H, x, y) * *at(T, x, y);
}

static void add_last_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const add_loop *l = of;
  const ep_mat *K = l->K, *H = l->H;
  const ptrdiff_t entries = l->entries, step = l->step;
  const real c = (real)l->c;
  for (ptrdiff_t x = first; x < end; x++)
    for (ptrdiff_t y = 0; y < H->cols; y++)
      for (ptrdiff_t e = 0; e < entries; e += step) *at(K, x, y * entries + e) += c * *at(H, x, y);
}

static void share_adding(ep_turns *turns, add_loop *l) {
  ep_crew_loop(l->H->rows, ep_rows_at_once(l->K->cols, 32768), ep_worth_entries(l->K), turns, l);
}

void R(ep_ntk_add_full)(const ep_mat *K, double c, const ep_mat *H, const ep_mat *T, ptrdiff_t z) {
  share_adding(add_full_rows, &(add_loop){.K = K, .H = H, .T = T, .c = c, .z = z});
}

void R(ep_ntk_add_one)(const ep_mat *K, double c, const ep_mat *H, const ep_mat *T, ptrdiff_t z,
                       ptrdiff_t i) {
  share_adding(add_one_rows, &(add_loop){.K = K, .H = H, .T = T, .c = c, .z = z, .i = i});
}

void R(ep_ntk_add_last)(const ep_mat *K, double c, const ep_mat *H, ptrdiff_t entries,
                        ptrdiff_t step) {
  share_adding(add_last_rows,
               &(add_loop){.K = K, .H = H, .c = c, .entries = entries, .step = step});
}

typedef struct {
  const ep_mat *K;
  const ptrdiff_t *ys, *xs;
  ptrdiff_t rows, cols;
} mirror_loop;

/* rows = cols = z for the full layout; 1 x entries otherwise, where nothing is transposed */
static void mirror_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const mirror_loop *l = of;
  const ptrdiff_t rows = l->rows, cols = l->cols, entries = rows * cols;
  for (ptrdiff_t y = l->ys[0] + first; y < l->ys[0] + end; y++)
    for (ptrdiff_t x = l->xs[0]; x < l->xs[1] && x < y; x++) {
      const real *from = at(l->K, x, y * entries);
      real *to = at(l->K, y, x * entries);
      for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < cols; j++) to[j * rows + i] = from[i * cols + j];
    }
}

void R(ep_ntk_mirror)(const ep_mat *K, const ptrdiff_t ys[2], const ptrdiff_t xs[2], ptrdiff_t rows,
                      ptrdiff_t cols) {
  mirror_loop l = {K, ys, xs, rows, cols};
  ep_crew_loop(ys[1] - ys[0], 8, ep_worth_entries(K), mirror_rows, &l);
}

typedef struct {
  const ep_mat *F, *K, *Y;
} apply_loop;

static void apply_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *F = ((apply_loop *)of)->F, *K = ((apply_loop *)of)->K, *Y = ((apply_loop *)of)->Y;
  const ptrdiff_t z = Y->cols;
  for (ptrdiff_t x = first; x < end; x++)
    for (ptrdiff_t i = 0; i < z; i++) {
      real sum = 0;
      for (ptrdiff_t y = 0; y < Y->rows; y++) {
        const real *k = at(K, x, (y * z + i) * z), *v = at(Y, y, 0);
        for (ptrdiff_t j = 0; j < z; j++) sum += k[j] * v[j];
      }
      *at(F, x, i) = sum;
    }
}

void R(ep_ntk_full_apply)(const ep_mat *F, const ep_mat *K, const ep_mat *Y) {
  ep_crew_loop(F->rows, ep_rows_at_once(K->cols, 32768), ep_worth_entries(K), apply_rows,
               &(apply_loop){F, K, Y});
}

/* ---- products of rows */

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

typedef struct {
  const ep_mat *Wt, *WW, *W;
} weights_loop;

static void turn_weights(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *Wt = ((weights_loop *)of)->Wt, *W = ((weights_loop *)of)->W;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t m = 0; m < W->rows; m++) *at(Wt, i, m) = *at(W, m, i);
}

static void multiply_weights(void *of, ptrdiff_t first, ptrdiff_t end) {
  const ep_mat *Wt = ((weights_loop *)of)->Wt, *WW = ((weights_loop *)of)->WW;
  const ptrdiff_t z = Wt->rows;
  const bool pairs = WW->rows == z * (z + 1) / 2 && z > 1;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = i; j < (pairs ? z : i + 1); j++) {
      const ptrdiff_t row = pairs ? i * z - i * (i - 1) / 2 + (j - i) : WW->rows == 1 ? 0 : i;
      add_product(WW, row, Wt, i, j, WW->rows == 1 ? 1 / (real)z : 1);
    }
}

void R(ep_ntk_products_of_w)(const ep_mat *Wt, const ep_mat *WW, const ep_mat *W) {
  weights_loop l = {Wt, WW, W};
  ep_crew_loop(W->cols, 1, ep_worth_entries(W), turn_weights, &l);
  const bool one_sum = WW->rows == 1; /* of all i, in their order */
  ep_crew_loop(W->cols, 1, !one_sum && ep_worth_entries(WW), multiply_weights, &l);
}
