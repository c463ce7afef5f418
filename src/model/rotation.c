#include "model/rotation.h"

bool ep_rotation_pays(ptrdiff_t points, ptrdiff_t dimension) {
  return (double)points <= 0.4 * (double)dimension;
}

/* X' = Q R */
static ep_status factor(ep_work *work, ep_rotation *out, const ep_mat *X) {
  ep_mat Q, R;
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, X->cols, X->rows));
  EP_TRY(ep_work_mat(work, &R, EP_DOUBLE, X->rows, X->rows));
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j < X->cols; j++) *ep_d(&Q, j, i) = ep_get(X, i, j);
  EP_TRY(ep_mat_qr(&Q, &R));
  EP_TRY(ep_mat_new(&out->Q, X->prec, X->cols, X->rows));
  EP_TRY(ep_mat_new(&out->X, X->prec, X->rows, X->rows));
  ep_mat_copy(&out->Q, &Q);
  for (ptrdiff_t i = 0; i < X->rows; i++)
    for (ptrdiff_t j = 0; j <= i; j++) ep_set(&out->X, i, j, *ep_d(&R, j, i));
  return EP_OK;
}

ep_status ep_rotation_new(ep_rotation *out, const ep_mat *X) {
  *out = (ep_rotation){0};
  ep_work work = {0};
  const ep_status st = factor(&work, out, X);
  ep_work_free(&work);
  if (st) ep_rotation_free(out);
  return st;
}

void ep_rotation_free(ep_rotation *r) {
  ep_mat_free(&r->Q);
  ep_mat_free(&r->X);
}

/* all of theta behind V_1 */
static void copy_upper_layers(const ep_net *to, const ep_net *from) {
  const ptrdiff_t first = to->V[0].rows * to->V[0].cols, same = to->theta.cols - first;
  const ep_mat above = ep_mat_cols(&to->theta, first, same);
  const ep_mat these = ep_mat_cols(&from->theta, from->theta.cols - same, same);
  ep_mat_copy(&above, &these);
}

ep_status ep_rotation_apply(ep_net *small, const ep_rotation *r, const ep_net *net) {
  ep_net_shape shape = net->shape;
  shape.inputs = r->Q.cols;
  EP_TRY(ep_net_new(small, &shape, net->theta.prec));
  ep_mat_mul(&small->V[0], 1, &net->V[0], EP_N, &r->Q, EP_N, 0);
  copy_upper_layers(small, net);
  return EP_OK;
}

ep_status ep_rotation_undo(ep_net *net, const ep_rotation *r, const ep_net *small) {
  ep_mat change;
  EP_TRY(ep_mat_new(&change, net->theta.prec, net->V[0].rows, r->Q.cols));
  ep_mat_mul(&change, 1, &net->V[0], EP_N, &r->Q, EP_N, 0);
  for (ptrdiff_t i = 0; i < change.rows; i++)
    for (ptrdiff_t j = 0; j < change.cols; j++)
      ep_set(&change, i, j, ep_get(&small->V[0], i, j) - ep_get(&change, i, j));
  ep_mat_mul(&net->V[0], 1, &change, EP_N, &r->Q, EP_T, 1);
  copy_upper_layers(net, small);
  ep_mat_free(&change);
  return EP_OK;
}
