/* One image through the filters, six places and two vectors of filters at a time; responses stay in registers:
 *
 *   phi_(k, cell) = mean over the places of the cell of max(0, response_k - theta_k)
 *
 * Blank places (all pixels 0) have the response 0 and take no product. */
#include "map/map.h"

#include <string.h>

enum { MR = 6, NV = 2, LANES = EP_VECTOR / sizeof(real), NR = NV * LANES };
typedef real vec __attribute__((vector_size(EP_VECTOR), aligned(sizeof(real)), may_alias));

static ptrdiff_t edge(ptrdiff_t cell, ptrdiff_t places, ptrdiff_t grid) {
  return cell * places / grid;
}

/* F_kj, a panel of NR filters after the other, pixel by pixel; filters past the last are zero */
void R(ep_patches_pack)(const ep_mat *to, const ep_mat *theta, const ep_patches *p) {
  const ptrdiff_t d = p->F.cols;
  for (ptrdiff_t k = 0; k < p->filters; k++) {
    real *f = at(to, k / NR * NR, 0) + k % NR;
    for (ptrdiff_t j = 0; j < d; j++) f[j * NR] = *at(&p->F, k, j);
    *at(theta, 0, k) = *at(&p->theta, 0, k);
  }
}

static bool blank(const real *x, const ptrdiff_t *offset, ptrdiff_t d) {
  for (ptrdiff_t j = 0; j < d; j++)
    if (x[offset[j]] != 0) return false;
  return true;
}

/* The places of a cell that are not blank, behind the n that are listed; the others' share of its sums. */
static ptrdiff_t list_cell(const ep_patches_scratch *s, ptrdiff_t n, const ep_patches *p,
                           const ep_mat *image, const ptrdiff_t box[4], ptrdiff_t cell) {
  const ptrdiff_t W = p->shape.width;
  ptrdiff_t blanks = 0;
  for (ptrdiff_t i = box[0]; i < box[1]; i++)
    for (ptrdiff_t j = box[2]; j < box[3]; j++)
      if (blank(at(image, 0, i * W + j), s->offset, p->F.cols)) blanks++;
      else s->place[n] = i * W + j, s->cell[n++] = cell;
  for (ptrdiff_t k = 0; k < s->theta.cols; k++) {
    const real r = -*at(&s->theta, 0, k);
    *at(&s->sums, cell, k) = r > 0 ? (real)blanks * r : 0;
  }
  return n;
}

/* sums of the cells of MR places, one panel of filters: += max(0, response - theta) */
static void add_responses(const ep_patches_scratch *s, const real *image, const ptrdiff_t *place,
                          const ptrdiff_t *cell, ptrdiff_t k0, ptrdiff_t d) {
  const vec *theta = (const vec *)at(&s->theta, 0, k0), *f = (const vec *)at(&s->F, k0, 0);
  const ptrdiff_t *offset = s->offset;
  const real *x[MR];
  vec c[MR][NV] = {{{0}}};
  for (int r = 0; r < MR; r++) x[r] = image + place[r];
  for (ptrdiff_t j = 0; j < d; j++, f += NV) {
    const ptrdiff_t o = offset[j];
#pragma GCC unroll 6
    for (int r = 0; r < MR; r++)
#pragma GCC unroll 2
      for (int v = 0; v < NV; v++) c[r][v] += x[r][o] * f[v];
  }
#pragma GCC unroll 6
  for (int r = 0; r < MR; r++) {
    vec *sum = (vec *)at(&s->sums, cell[r], k0);
#pragma GCC unroll 2
    for (int v = 0; v < NV; v++) {
      const vec over = c[r][v] - theta[v];
      const __typeof__(over > 0) positive = over > 0;
      sum[v] += (vec)((__typeof__(positive))over & positive);
    }
  }
}

void R(ep_patches_image)(const ep_mat *phi, const ep_patches *p, const ep_mat *image,
                         const ep_patches_scratch *s) {
  const ptrdiff_t g = p->grid, K = p->filters, d = p->F.cols;
  const ptrdiff_t down = p->shape.height - p->size + 1, across = p->shape.width - p->size + 1;
  ptrdiff_t n = 0;
  for (ptrdiff_t cell = 0; cell < g * g; cell++) {
    const ptrdiff_t u = cell / g, v = cell % g;
    const ptrdiff_t box[4] = {edge(u, down, g), edge(u + 1, down, g), edge(v, across, g),
                              edge(v + 1, across, g)};
    n = list_cell(s, n, p, image, box, cell);
  }
  for (; n % MR; n++) s->place[n] = 0, s->cell[n] = g * g; /* to a row that nobody reads */
  for (ptrdiff_t k = 0; k < s->theta.cols; k += NR)
    for (ptrdiff_t i = 0; i < n; i += MR)
      add_responses(s, at(image, 0, 0), s->place + i, s->cell + i, k, d);
  for (ptrdiff_t cell = 0; cell < g * g; cell++) {
    const ptrdiff_t u = cell / g, v = cell % g;
    const ptrdiff_t places =
        (edge(u + 1, down, g) - edge(u, down, g)) * (edge(v + 1, across, g) - edge(v, across, g));
    const real share = 1 / (real)places, *sum = at(&s->sums, cell, 0);
    real *to = at(phi, 0, cell * K);
    for (ptrdiff_t k = 0; k < K; k++) to[k] = sum[k] * share;
  }
}
