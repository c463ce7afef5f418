/* Products with a matrix of few columns, such as an output layer. BLAS rounds the columns of a narrow product
 * differently, by where they stand in its tiles; here all columns take the same operations in the same order, so equal
 * columns stay equal to the last bit (WIDE Prop. 18 in floating point).
 *
 * A strip of columns is 64 bytes of some vectors, padded with zeros; some rows of sums stay in registers. Serial. */
#include "core/loops.h"
#include "core/vector.h"

#include <string.h>

enum { ROWS = EP_VECTOR > 16 ? 6 : 3, NV = 64 / EP_VECTOR, LANES = 64 / sizeof(real), DEPTH = 256 };
typedef real vec __attribute__((vector_size(EP_VECTOR), aligned(sizeof(real)), may_alias));

/* panel_k = the strip of B that begins at (k0 + k, j); what is beyond its width stays as it is */
static void fill_panel(real *panel, const ep_mat *B, ptrdiff_t k0, ptrdiff_t depth, ptrdiff_t j,
                       ptrdiff_t width) {
  for (ptrdiff_t c = 0; c < width; c++)
    for (ptrdiff_t k = 0; k < depth; k++) panel[k * LANES + c] = *at(B, k0 + k, j + c);
}

/* c <- alpha sum + beta c for one strip of a row */
static void store(real *c, const real *sum, real alpha, real beta, ptrdiff_t width) {
  if (beta == 0)
    for (ptrdiff_t i = 0; i < width; i++) c[i] = alpha * sum[i];
  else
    for (ptrdiff_t i = 0; i < width; i++) c[i] = alpha * sum[i] + beta * c[i];
}

/* sum_r = sum_k a[r stride + k step] panel_k */
static inline __attribute__((always_inline)) void sum_rows(real *sum, const real *a,
                                                           const ptrdiff_t stride[ROWS],
                                                           ptrdiff_t step, const real *panel,
                                                           ptrdiff_t depth) {
  vec s[ROWS][NV] = {{{0}}};
  const real *row[ROWS];
  for (int r = 0; r < ROWS; r++) row[r] = a + stride[r];
  for (ptrdiff_t k = 0; k < depth; k++, panel += LANES)
#pragma GCC unroll 6
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
      for (int v = 0; v < NV; v++) s[r][v] += row[r][k * step] * ((const vec *)panel)[v];
#pragma GCC unroll 6
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
    for (int v = 0; v < NV; v++) ((vec *)sum)[r * NV + v] = s[r][v];
}

/* C = alpha op(A) B + beta C */
static inline __attribute__((always_inline)) void skinny(const ep_mat *C, double alpha,
                                                         const ep_mat *A, const int transposed,
                                                         const ep_mat *B, double beta) {
  real panel[DEPTH * LANES], sum[ROWS * LANES];
  for (ptrdiff_t j = 0; j < C->cols; j += LANES) {
    const ptrdiff_t width = ep_least(LANES, C->cols - j);
    memset(panel, 0, sizeof panel);
    for (ptrdiff_t k = 0; k < B->rows; k += DEPTH) {
      const ptrdiff_t depth = ep_least(DEPTH, B->rows - k);
      fill_panel(panel, B, k, depth, j, width);
      for (ptrdiff_t i = 0; i < C->rows; i += ROWS) {
        const ptrdiff_t n = ep_least(ROWS, C->rows - i);
        ptrdiff_t stride[ROWS];
        for (int r = 0; r < ROWS; r++) stride[r] = ep_least(r, n - 1) * (transposed ? 1 : A->ld);
        sum_rows(sum, transposed ? at(A, k, i) : at(A, i, k), stride, transposed ? A->ld : 1, panel,
                 depth);
        for (ptrdiff_t r = 0; r < n; r++)
          store(at(C, i + r, j), sum + r * LANES, (real)alpha, k ? 1 : (real)beta, width);
      }
    }
  }
}

void R(ep_skinny_mul)(const ep_mat *C, double alpha, const ep_mat *A, const ep_mat *B,
                      double beta) {
  skinny(C, alpha, A, 0, B, beta);
}

void R(ep_skinny_mul_t)(const ep_mat *C, double alpha, const ep_mat *A, const ep_mat *B,
                        double beta) {
  skinny(C, alpha, A, 1, B, beta);
}
