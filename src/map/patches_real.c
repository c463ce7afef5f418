/* One image through the filters. A band is the places of one row of the grid:
 *
 *   columns (places x c p^2) = the patches,  responses = columns F' (places x K),
 *   phi_(k, cell) = mean over the places of the cell of max(0, response_k - theta_k) */
#include "map/map.h"

#include <string.h>

static ptrdiff_t edge(ptrdiff_t cell, ptrdiff_t places, ptrdiff_t grid) {
  return cell * places / grid;
}

/* rows of patches, channel after channel, each row by row */
void R(ep_patch_columns)(const ep_mat *columns, ep_image_shape shape, ptrdiff_t size,
                         const ep_mat *image, ptrdiff_t top, ptrdiff_t rows) {
  const ptrdiff_t H = shape.height, W = shape.width, across = W - size + 1;
  for (ptrdiff_t i = 0; i < rows; i++)
    for (ptrdiff_t j = 0; j < across; j++) {
      real *restrict to = at(columns, i * across + j, 0);
      for (ptrdiff_t c = 0; c < shape.channels; c++)
        for (ptrdiff_t a = 0; a < size; a++, to += size) {
          const real *restrict from = at(image, 0, (c * H + top + i + a) * W + j);
          for (ptrdiff_t b = 0; b < size; b++) to[b] = from[b];
        }
    }
}

static void pool(real *restrict sum, const real *restrict response, const real *restrict theta,
                 ptrdiff_t filters) {
  for (ptrdiff_t k = 0; k < filters; k++) {
    const real r = response[k] - theta[k];
    sum[k] += r > 0 ? r : 0;
  }
}

void R(ep_patches_image)(const ep_mat *phi, const ep_patches *p, const ep_mat *image,
                         const ep_mat *columns, const ep_mat *responses) {
  const ptrdiff_t g = p->grid, K = p->filters;
  const ptrdiff_t down = p->shape.height - p->size + 1, across = p->shape.width - p->size + 1;
  memset(at(phi, 0, 0), 0, (size_t)phi->cols * sizeof(real));
  for (ptrdiff_t u = 0; u < g; u++) {
    const ptrdiff_t top = edge(u, down, g), rows = edge(u + 1, down, g) - top;
    const ep_mat X = ep_mat_rows(columns, 0, rows * across),
                 Y = ep_mat_rows(responses, 0, rows * across);
    R(ep_patch_columns)(&X, p->shape, p->size, image, top, rows);
    ep_mat_mul(&Y, 1, &X, EP_N, &p->F, EP_T, 0);
    for (ptrdiff_t v = 0; v < g; v++) {
      const ptrdiff_t left = edge(v, across, g), right = edge(v + 1, across, g);
      real *cell = at(phi, 0, (u * g + v) * K);
      for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = left; j < right; j++)
          pool(cell, at(&Y, i * across + j, 0), at(&p->theta, 0, 0), K);
      const real share = 1 / (real)(rows * (right - left));
      for (ptrdiff_t k = 0; k < K; k++) cell[k] *= share;
    }
  }
}
