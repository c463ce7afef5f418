/* With Delta = Psi_t - Psi_0 and H = Psi_0 + Delta/2, exactly
 *
 *   C(t) - C(0) = B + B',  B = Delta'S H                                  primal, 2 P M^2 operations
 *   |B + B'|_F^2 = 2 Tr(S HH' S Delta Delta') + 2 Tr(S Delta H' S Delta H')   dual, 3 P^2 M
 *
 * in which nothing of the size of C is subtracted. */
#include "map/drift.h"

#include <math.h>

static ep_status allocate(ep_feature_drift *k, ptrdiff_t p, ptrdiff_t m, ep_precision prec,
                          double memory) {
  const double points = (double)p, features = (double)m;
  k->primal = m <= p;
  const double numbers =
      k->primal ? features * (4 * points + features) : points * (2 * features + 6 * points);
  const double need = (double)ep_sizeof(prec) * numbers;
  EP_CHECK(need <= memory, EP_ERR_ARG,
           "the change of C takes %.0f MiB for %td points, more than --memory: use fewer --samples",
           need / 1048576, p);
  EP_TRY(ep_mat_new(&k->Psi0, prec, p, m));
  EP_TRY(ep_mat_new(&k->Delta, prec, p, m));
  if (k->primal) {
    EP_TRY(ep_mat_new(&k->SPsi0, prec, p, m));
    EP_TRY(ep_mat_new(&k->SH, prec, p, m));
    return ep_mat_new(&k->B, prec, m, m);
  }
  ep_mat *const square[] = {&k->G, &k->A, &k->E, &k->Q, &k->T, &k->U};
  for (int i = 0; i < 6; i++) EP_TRY(ep_mat_new(square[i], prec, p, p));
  return EP_OK;
}

ep_status ep_feature_drift_new(ep_feature_drift *out, const ep_map *start, const ep_mat *X,
                               const ep_pairs *pairs, double memory) {
  *out = (ep_feature_drift){0};
  ep_status st = ep_pair_matrix_new(&out->S, pairs);
  if (!st) st = allocate(out, X->rows, start->count, X->prec, memory);
  if (!st) st = ep_map_rows(&out->Psi0, start, X);
  if (!st && out->primal) ep_pair_matrix_mul(&out->SPsi0, &out->S, &out->Psi0);
  if (!st && !out->primal) ep_mat_gram(&out->G, 1, &out->Psi0, 0);
  if (st) ep_feature_drift_free(out);
  return st;
}

void ep_feature_drift_free(ep_feature_drift *k) {
  ep_mat *const all[] = {&k->Psi0, &k->Delta, &k->SPsi0, &k->SH, &k->B, &k->G,
                         &k->A,    &k->E,     &k->Q,     &k->T,  &k->U};
  for (int i = 0; i < 11; i++) ep_mat_free(all[i]);
  ep_pair_matrix_free(&k->S);
}

/* B = Delta'(2 S Psi0 + S Delta) / 2; |B + B'|_F */
static double primal(ep_feature_drift *k) {
  ep_pair_matrix_mul(&k->SH, &k->S, &k->Delta);
  ep_mat_axpy(&k->SH, 2, &k->SPsi0);
  ep_mat_mul(&k->B, 0.5, &k->Delta, EP_T, &k->SH, EP_N, 0);
  ep_mat_symmetrise(&k->B);
  return 2 * sqrt(ep_mat_norm2(&k->B));
}

/* sum_ij (S A)_ij (S B)_ji = Tr(S A S B) */
static double trace(ep_feature_drift *k, const ep_mat *A, const ep_mat *B) {
  double sum = 0;
  ep_pair_matrix_mul(&k->T, &k->S, A);
  ep_pair_matrix_mul(&k->U, &k->S, B);
  for (ptrdiff_t i = 0; i < k->T.rows; i++)
    for (ptrdiff_t j = 0; j < k->T.rows; j++) sum += ep_get(&k->T, i, j) * ep_get(&k->U, j, i);
  return sum;
}

/* With E0 = Delta Psi0', Q = Delta Delta', G = Psi0 Psi0': Delta H' = E0 + Q/2, HH' = G + (E0 + E0')/2 + Q/4. */
static double dual(ep_feature_drift *k) {
  ep_mat_mul(&k->E, 1, &k->Delta, EP_N, &k->Psi0, EP_T, 0);
  ep_mat_gram(&k->Q, 1, &k->Delta, 0);
  ep_mat_copy(&k->A, &k->E);
  ep_mat_symmetrise(&k->A);
  ep_mat_axpy(&k->A, 1, &k->G);
  ep_mat_axpy(&k->A, 0.25, &k->Q);
  ep_mat_axpy(&k->E, 0.5, &k->Q);
  return sqrt(fmax(2 * trace(k, &k->A, &k->Q) + 2 * trace(k, &k->E, &k->E), 0));
}

ep_status ep_feature_drift_value(double *out, ep_feature_drift *k, const ep_map *now,
                                 const ep_mat *X) {
  EP_TRY(ep_map_rows(&k->Delta, now, X));
  ep_mat_axpy(&k->Delta, -1, &k->Psi0);
  *out = k->primal ? primal(k) : dual(k);
  return EP_OK;
}
