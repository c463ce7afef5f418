#include "study/size.h"

#include "map/map.h"

#include <math.h>

/* |C|_F = sqrt Tr(S G S G), G the Gram matrix of the features */
static ep_status measure(ep_work *work, double *size, const ep_model *m, const ep_points *p) {
  const ptrdiff_t n = p->X.rows;
  const ep_network_map map = ep_network_map_of(ep_model_net(m), ep_model_psi(m));
  ep_mat Psi, G, T;
  ep_pair_matrix S;
  EP_TRY(ep_work_mat(work, &Psi, p->X.prec, n, map.head.count));
  EP_TRY(ep_work_mat(work, &G, p->X.prec, n, n));
  EP_TRY(ep_work_mat(work, &T, p->X.prec, n, n));
  EP_TRY(ep_map_rows(&Psi, &map.head, &p->X));
  ep_mat_gram(&G, 1, &Psi, 0);
  EP_TRY(ep_pair_matrix_new(&S, &p->pairs));
  ep_pair_matrix_mul(&T, &S, &G);
  ep_pair_matrix_free(&S);
  double sum = 0;
  for (ptrdiff_t i = 0; i < n; i++)
    for (ptrdiff_t j = 0; j < n; j++) sum += ep_get(&T, i, j) * ep_get(&T, j, i);
  *size = sqrt(fmax(sum, 0));
  return EP_OK;
}

ep_status ep_covariance_size(double *size, const ep_model *model, const ep_points *points) {
  ep_work work = {0};
  const ep_status st = measure(&work, size, model, points);
  ep_work_free(&work);
  return st;
}
