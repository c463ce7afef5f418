#include "spectral/rows.h"

#include <eigenpair/subspace.h>
#include <math.h>

/* exp of the entropy of p_k = sigma_k^power / sum; 0 if all are 0 */
static double entropy_rank(const double *sigma, ptrdiff_t count, double power) {
  double sum = 0, entropy = 0;
  if (count == 0 || sigma[0] == 0) return 0;
  for (ptrdiff_t k = 0; k < count; k++) sum += pow(sigma[k] / sigma[0], power);
  for (ptrdiff_t k = 0; k < count; k++) {
    const double p = pow(sigma[k] / sigma[0], power) / sum;
    if (p > 0) entropy -= p * log(p);
  }
  return exp(entropy);
}

static ep_status rank_of(double *rank, ep_work *work, ep_rows rows, bool centred) {
  const ptrdiff_t d = rows.X->cols, count = rows.count < d ? rows.count : d;
  double *sigma;
  EP_TRY(ep_work_get(work, &sigma, count, sizeof *sigma));
  if (centred) EP_TRY(ep_rows_centre(&rows, work));
  EP_TRY(ep_rows_singular(sigma, &rows));
  *rank = entropy_rank(sigma, count, centred ? 2 : 1);
  return EP_OK;
}

ep_status ep_rows_rank(double *rank, const ep_rows *rows, bool covariance) {
  ep_work work = {0};
  const ep_status st = rank_of(rank, &work, *rows, covariance);
  ep_work_free(&work);
  return st;
}

ep_status ep_rankme(double *rank, const ep_mat *F) {
  const ep_rows rows = ep_rows_all(F);
  return ep_rows_rank(rank, &rows, false);
}

ep_status ep_effective_rank(double *rank, const ep_mat *F) {
  const ep_rows rows = ep_rows_all(F);
  return ep_rows_rank(rank, &rows, true);
}
