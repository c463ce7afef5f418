#include <eigenpair/subspace.h>
#include <math.h>

/* sigma_k^2 are the eigenvalues of F'F */
static ep_status rankme(double *rank, ep_work *work, const ep_mat *F) {
  ep_mat D, G;
  double *lambda, sum = 0, entropy = 0;
  EP_TRY(ep_work_mat(work, &D, EP_DOUBLE, F->rows, F->cols));
  EP_TRY(ep_work_mat(work, &G, EP_DOUBLE, F->cols, F->cols));
  EP_TRY(ep_work_get(work, &lambda, F->cols, sizeof *lambda));
  ep_mat_copy(&D, F);
  ep_mat_mul(&G, 1, &D, EP_T, &D, EP_N, 0);
  EP_TRY(ep_mat_eig_sym(&G, lambda));
  for (ptrdiff_t k = 0; k < F->cols; k++) sum += sqrt(fmax(lambda[k], 0));
  for (ptrdiff_t k = 0; k < F->cols; k++) {
    const double p = sqrt(fmax(lambda[k], 0)) / sum;
    if (sum > 0 && p > 0) entropy -= p * log(p);
  }
  *rank = sum > 0 ? exp(entropy) : 0;
  return EP_OK;
}

ep_status ep_rankme(double *rank, const ep_mat *F) {
  ep_work work = {0};
  const ep_status st = rankme(rank, &work, F);
  ep_work_free(&work);
  return st;
}
