#pragma once
/* |C(t) - C(0)|_F of C = Psi'S Psi, without losing digits when little has changed. Theory: sections 6 and 10. */
#include "map/map.h"

#include <eigenpair/pairs.h>

typedef struct {
  ep_pair_matrix S;
  ep_mat Psi0, Delta;  /* (P, M) features at the start, and how they changed */
  bool primal;         /* M x M matrices, or P x P ones: whichever are smaller */
  ep_mat SPsi0, SH, B; /* primal: (P, M) S Psi0, (P, M) 2 S H, (M, M) */
  ep_mat G, A, E, Q;   /* dual: (P, P) Psi0 Psi0', and products of Delta and Psi0 */
  ep_mat T, U;         /* dual: scratch */
} ep_feature_drift;

/* Remembers the features of the start; refuses if that takes more than `memory` bytes. */
ep_status ep_feature_drift_new(ep_feature_drift *out, const ep_map *start, const ep_mat *X,
                               const ep_pairs *pairs, double memory);
ep_status ep_feature_drift_value(double *out, ep_feature_drift *k, const ep_map *now,
                                 const ep_mat *X);
void ep_feature_drift_free(ep_feature_drift *k); /* an empty one is fine */
