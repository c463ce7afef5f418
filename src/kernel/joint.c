/* The tangent kernel of all outputs as one matrix: rows (x, i), columns (y, j). */
#include <eigenpair/squared.h>

enum { BLOCK = 64 }; /* points whose Z x Z blocks are laid out at a time */

static ep_status joint(ep_work *work, const ep_mat *K, const ep_net *net, const ep_mat *X,
                       const ep_mat *Y, double memory) {
  const ptrdiff_t Z = net->shape.outputs, m = Y->rows;
  ep_mat full;
  EP_TRY(ep_work_mat(work, &full, EP_DOUBLE, X->rows < BLOCK ? X->rows : BLOCK, m * Z * Z));
  for (ptrdiff_t first = 0; first < X->rows; first += BLOCK) {
    const ptrdiff_t count = X->rows - first < BLOCK ? X->rows - first : BLOCK;
    const ep_mat rows = ep_mat_rows(X, first, count), F = ep_mat_rows(&full, 0, count);
    EP_TRY(ep_ntk_empirical(NULL, &F, net, &rows, Y, EP_FULL, memory));
    for (ptrdiff_t x = 0; x < count; x++)
      for (ptrdiff_t y = 0; y < m; y++)
        for (ptrdiff_t i = 0; i < Z; i++)
          for (ptrdiff_t j = 0; j < Z; j++)
            *ep_d(K, (first + x) * Z + i, y * Z + j) = *ep_d(&F, x, (y * Z + i) * Z + j);
  }
  return EP_OK;
}

ep_status ep_ntk_joint(const ep_mat *K, const ep_net *net, const ep_mat *X, const ep_mat *Y,
                       double memory) {
  const ptrdiff_t Z = net->shape.outputs;
  EP_CHECK(K->rows == X->rows * Z && K->cols == (Y ? Y : X)->rows * Z && K->prec == EP_DOUBLE,
           EP_ERR_SHAPE, "a joint kernel of %td x %td for %td outputs", K->rows, K->cols, Z);
  if (Z == 1) return ep_ntk_empirical(NULL, K, net, X, Y, EP_TRACE, memory);
  ep_work work = {0};
  const ep_status st = joint(&work, K, net, X, Y ? Y : X, memory);
  if (!st && !Y) ep_mat_symmetrise(K);
  ep_work_free(&work);
  return st;
}
