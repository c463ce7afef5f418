#include "spectral/tall.h"

#include <eigenpair/subspace.h>
#include <math.h>
#include <stdbool.h>

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

static ep_status rank_of(double *rank, ep_work *work, const ep_mat *F, bool centred) {
  const ptrdiff_t d = F->cols, count = F->rows < d ? F->rows : d;
  ep_tall rows = ep_tall_all(F);
  double *sigma;
  EP_TRY(ep_work_get(work, &sigma, count, sizeof *sigma));
  if (centred) EP_TRY(ep_tall_centre(&rows, work));
  EP_TRY(ep_tall_singular(sigma, &rows));
  *rank = entropy_rank(sigma, count, centred ? 2 : 1);
  return EP_OK;
}

static ep_status rank_alone(double *rank, const ep_mat *F, bool centred) {
  ep_work work = {0};
  const ep_status st = rank_of(rank, &work, F, centred);
  ep_work_free(&work);
  return st;
}

ep_status ep_rankme(double *rank, const ep_mat *F) { return rank_alone(rank, F, false); }
ep_status ep_effective_rank(double *rank, const ep_mat *F) { return rank_alone(rank, F, true); }

/* ---- both at once */

/* sum x x' = F'F + n m m' with F of the rows less their mean m: one row below F more, and nothing cancels */
static ep_status both(double *rankme, double *effective, ep_work *work, const ep_mat *covariance,
                      ep_tall rows, const double *mean, const double *sd) {
  const ptrdiff_t d = rows.X->cols;
  const double n = (double)rows.count;
  double *keep, *sigma;
  ep_mat F, all;
  EP_TRY(ep_work_get(work, &keep, d, sizeof *keep));
  EP_TRY(ep_work_get(work, &sigma, d, sizeof *sigma));
  for (ptrdiff_t j = 0; j < d; j++) keep[j] = sd[j] > 0;
  rows.shift = mean, rows.scale = keep;
  EP_TRY(ep_tall_factor(&F, work, &rows));
  ep_mat_gram_cols(covariance, 1 / n, &F, 0);
  ep_mat_mirror(covariance);
  EP_TRY(ep_work_mat(work, &all, EP_DOUBLE, F.rows + 1, d));
  const ep_mat top = ep_mat_rows(&all, 0, F.rows);
  ep_mat_copy(&top, &F);
  for (ptrdiff_t j = 0; j < d; j++) *ep_d(&all, F.rows, j) = sqrt(n) * mean[j];
  EP_TRY(ep_mat_svd(NULL, sigma, NULL, &F));
  *effective = entropy_rank(sigma, F.rows < d ? F.rows : d, 2);
  EP_TRY(ep_mat_svd(NULL, sigma, NULL, &all));
  *rankme = entropy_rank(sigma, all.rows < d ? all.rows : d, 1);
  return EP_OK;
}

ep_status ep_tall_ranks(double *rankme, double *effective, const ep_mat *covariance,
                        const ep_tall *rows, const double *mean, const double *sd) {
  ep_work work = {0};
  const ep_status st = both(rankme, effective, &work, covariance, *rows, mean, sd);
  ep_work_free(&work);
  return st;
}
