#include "kernel/dual_table.h"

#include <string.h>

enum {
  BLOCK = EP_VECTOR / 2
}; /* points at once: four vectors, as many as it takes to hide the latency of a sum */
/* out[b, d] = sum_a T_a(rho_x) table[a, b, d] */
static void collapse(double *out, const double *table, const ep_dual_table *t, double rho_x) {
  const ptrdiff_t q = t->norms, n = q * t->degree;
  double T[EP_TABLE_NORMS];
  ep_chebyshev(T, rho_x, (int)q);
  memcpy(out, table, (size_t)n * sizeof *out);
  for (ptrdiff_t a = 1; a < q; a++)
    for (ptrdiff_t i = 0; i < n; i++) out[i] += T[a] * table[a * n + i];
}

typedef double vec __attribute__((vector_size(EP_VECTOR), aligned(8), may_alias));
enum { VECTORS = BLOCK * sizeof(double) / sizeof(vec) };

/* sum[k] += scale[k] sum_d a_d T_d(x_k), by Clenshaw's recurrence; twice[k] = 2 x_k */
static void add_series(double *sum, const double *scale, const double *a, int degree,
                       const double *twice) {
  vec b[VECTORS] = {{0}}, before[VECTORS] = {{0}}, x[VECTORS];
#pragma GCC unroll 8
  for (int v = 0; v < VECTORS; v++) x[v] = ((const vec *)twice)[v];
  for (int d = degree - 1; d > 0; d--)
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; v++) {
      const vec next = x[v] * b[v] + (a[d] - before[v]);
      before[v] = b[v];
      b[v] = next;
    }
#pragma GCC unroll 8
  for (int v = 0; v < VECTORS; v++)
    ((vec *)sum)[v] += ((const vec *)scale)[v] * (0.5 * x[v] * b[v] + (a[0] - before[v]));
}

void R(ep_dual_table_row)(double *value, double *slope, const ep_dual_table *t, const double *gap,
                          double rho_x, const double *rho_y, ptrdiff_t n) {
  double V[EP_TABLE_MOST], S[EP_TABLE_MOST];
  collapse(V, t->value, t, rho_x);
  collapse(S, t->slope, t, rho_x);
  for (ptrdiff_t j = 0; j < n; j += BLOCK) {
    const ptrdiff_t m = n - j < BLOCK ? n - j : BLOCK;
    double g[BLOCK] = {0}, rho[BLOCK] = {0}, twice[BLOCK], T[BLOCK], last[BLOCK];
    double v[BLOCK] = {0}, s[BLOCK] = {0};
    memcpy(g, gap + j, (size_t)m * sizeof *g);
    memcpy(rho, rho_y + j, (size_t)m * sizeof *rho);
    for (int k = 0; k < BLOCK; k++) {
      twice[k] = 2 - 4 * (g[k] * (2 - g[k]));
      T[k] = 1; /* T_b(rho) and T_{b-1}(rho) */
      last[k] = rho[k];
    }
    for (int b = 0; b < t->norms; b++) {
      add_series(v, T, V + b * t->degree, t->degree, twice);
      add_series(s, T, S + b * t->degree, t->degree, twice);
      for (int k = 0; k < BLOCK; k++) {
        const double next = 2 * rho[k] * T[k] - last[k];
        last[k] = T[k];
        T[k] = next;
      }
    }
    for (ptrdiff_t k = 0; k < m; k++) {
      value[j + k] = (1 - g[k]) * v[k];
      slope[j + k] = s[k];
    }
  }
}
