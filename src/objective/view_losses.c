/* Losses of the covariances of two views A, B (N x Z): Barlow Twins and VICReg, as in the papers' code. */
#include "objective/loss.h"

#include <math.h>

static const double barlow_epsilon = 1e-5, vicreg_epsilon = 1e-4;

/* mean[j], and scale[j] = 1 / sqrt(var_j + epsilon) with the variance divided by `by` */
static void moments(double *mean, double *scale, const ep_mat *A, double by, double epsilon) {
  for (ptrdiff_t j = 0; j < A->cols; j++) {
    double sum = 0, square = 0;
    for (ptrdiff_t i = 0; i < A->rows; i++) sum += *ep_d(A, i, j);
    mean[j] = sum / (double)A->rows;
    for (ptrdiff_t i = 0; i < A->rows; i++) {
      const double d = *ep_d(A, i, j) - mean[j];
      square += d * d;
    }
    scale[j] = 1 / sqrt(square / by + epsilon);
  }
}

/* Y = (A - mean) scale, column by column; scale NULL: 1 */
static void standardise(const ep_mat *Y, const ep_mat *A, const double *mean, const double *scale) {
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++)
      *ep_d(Y, i, j) = (*ep_d(A, i, j) - mean[j]) * (scale ? scale[j] : 1);
}

/* dA = scale (dY - mean dY - Y mean(dY . Y)): backward of standardise; in the place of dY */
static void standardise_back(const ep_mat *dY, const ep_mat *Y, const double *scale) {
  const double n = (double)Y->rows;
  for (ptrdiff_t j = 0; j < Y->cols; j++) {
    double sum = 0, along = 0;
    for (ptrdiff_t i = 0; i < Y->rows; i++) {
      sum += *ep_d(dY, i, j);
      along += *ep_d(dY, i, j) * *ep_d(Y, i, j);
    }
    for (ptrdiff_t i = 0; i < Y->rows; i++)
      *ep_d(dY, i, j) = scale[j] * (*ep_d(dY, i, j) - sum / n - *ep_d(Y, i, j) * along / n);
  }
}

/* L = sum_j (1 - c_jj)^2 + lambda sum_{j != k} c_jk^2,  c = Y_A'Y_B / N, Y the standardised views */
ep_status ep_loss_barlow(double *loss, ep_work *work, const ep_mat *dA, const ep_mat *dB,
                         const ep_mat *A, const ep_mat *B, const ep_objective_config *config) {
  const ptrdiff_t n = A->rows, z = A->cols;
  double *mean, *a, *b, sum = 0;
  ep_mat Ya, Yb, C;
  EP_TRY(ep_work_get(work, &mean, z, sizeof *mean));
  EP_TRY(ep_work_get(work, &a, z, sizeof *a));
  EP_TRY(ep_work_get(work, &b, z, sizeof *b));
  EP_TRY(ep_work_mat(work, &Ya, EP_DOUBLE, n, z));
  EP_TRY(ep_work_mat(work, &Yb, EP_DOUBLE, n, z));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, z, z));
  moments(mean, a, A, (double)n, barlow_epsilon);
  standardise(&Ya, A, mean, a);
  moments(mean, b, B, (double)n, barlow_epsilon);
  standardise(&Yb, B, mean, b);
  ep_mat_mul(&C, 1 / (double)n, &Ya, EP_T, &Yb, EP_N, 0);
  for (ptrdiff_t j = 0; j < z; j++)
    for (ptrdiff_t k = 0; k < z; k++) { /* C <- dL/dC */
      const double c = *ep_d(&C, j, k), w = j == k ? 1 : config->off_diagonal;
      sum += w * (j == k ? (1 - c) * (1 - c) : c * c);
      *ep_d(&C, j, k) = 2 * w * (j == k ? c - 1 : c);
    }
  ep_mat_mul(dA, 1 / (double)n, &Yb, EP_N, &C, EP_T, 0);
  ep_mat_mul(dB, 1 / (double)n, &Ya, EP_N, &C, EP_N, 0);
  standardise_back(dA, &Ya, a);
  standardise_back(dB, &Yb, b);
  *loss = sum;
  return EP_OK;
}

/* v(A) = variance/2 mean_j max(0, 1 - sd_j) + covariance/Z sum_{j != k} cov_jk^2;  dA += dv/dA */
static ep_status spread(double *loss, ep_work *work, const ep_mat *dA, const ep_mat *A,
                        const ep_objective_config *config) {
  const ptrdiff_t n = A->rows, z = A->cols;
  const double by = (double)(n - 1);
  double *mean, *scale;
  ep_mat Y, C;
  EP_TRY(ep_work_get(work, &mean, z, sizeof *mean));
  EP_TRY(ep_work_get(work, &scale, z, sizeof *scale));
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, n, z));
  EP_TRY(ep_work_mat(work, &C, EP_DOUBLE, z, z));
  moments(mean, scale, A, by, vicreg_epsilon);
  standardise(&Y, A, mean, NULL);
  ep_mat_mul(&C, 1 / by, &Y, EP_T, &Y, EP_N, 0);
  for (ptrdiff_t j = 0; j < z;
       j++) { /* C <- what Y is multiplied by in the gradient, times (N-1) */
    const double short_of = 1 - 1 / scale[j];
    for (ptrdiff_t k = 0; k < z; k++) {
      const double c = *ep_d(&C, j, k);
      if (j != k) *loss += config->covariance * c * c / (double)z;
      *ep_d(&C, j, k) = j == k ? 0 : 4 * config->covariance * c / (double)z;
    }
    if (short_of <= 0) continue;
    *loss += config->variance / 2 * short_of / (double)z;
    *ep_d(&C, j, j) = -config->variance / 2 * scale[j] / (double)z;
  }
  /* columns of Y sum to zero, so the derivative of the mean drops out */
  ep_mat_mul(dA, 1 / by, &Y, EP_N, &C, EP_N, 1);
  return EP_OK;
}

/* L = invariance mean_ij (A_ij - B_ij)^2 + v(A) + v(B) */
ep_status ep_loss_vicreg(double *loss, ep_work *work, const ep_mat *dA, const ep_mat *dB,
                         const ep_mat *A, const ep_mat *B, const ep_objective_config *config) {
  const double count = (double)(A->rows * A->cols);
  *loss = config->invariance * ep_mat_distance2(A, B) / count;
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++) {
      const double d = 2 * config->invariance * (*ep_d(A, i, j) - *ep_d(B, i, j)) / count;
      *ep_d(dA, i, j) = d;
      *ep_d(dB, i, j) = -d;
    }
  EP_TRY(spread(loss, work, dA, A, config));
  return spread(loss, work, dB, B, config);
}
