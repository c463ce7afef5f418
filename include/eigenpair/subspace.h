#pragma once
/* Ranks and subspaces of representations. */
#include <eigenpair/matrix.h>

/* RankMe: exp of the entropy of p_k = sigma_k / sum sigma, the singular values of F (n x Z) uncentred.
 * 0 for F = 0. */
ep_status ep_rankme(double *rank, const ep_mat *F);
