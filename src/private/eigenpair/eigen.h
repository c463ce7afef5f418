#pragma once
/* The largest eigenvalues of a symmetric operator. Small problems go to LAPACK (ep_mat_eig_sym); large ones to block
 * Krylov with a block at least as wide as the number of eigenpairs wanted, so that repeated eigenvalues come out
 * with all their multiplicity. */
#include <eigenpair/closed.h>
#include <eigenpair/comm.h>
#include <eigenpair/matrix.h>
#include <stdint.h>

extern const ep_option ep_eigen_options[];

/* Columns of a block for so many eigenpairs of a problem of that order. */
ptrdiff_t ep_eigen_block(const ep_eigen_config *config, ptrdiff_t wanted, ptrdiff_t order);

/* Y (n x b) = A X (n x b), A symmetric; double, or for ep_eigen_mixed of the precision that X has. */
typedef ep_status ep_operator(const ep_mat *Y, const ep_mat *X, void *user);

typedef struct {
  bool converged;
  long restarts;
  ptrdiff_t products; /* columns the operator was applied to */
  double residual;    /* largest |A v - lambda v| of the pairs wanted */
  double next;    /* estimate of the first eigenvalue that was not asked for; NAN: there is none */
  ptrdiff_t span; /* directions that the problem was restricted to; 0: all */
} ep_eigen_info;

/* V (n x k): orthonormal columns, lambda[k] falling: the k algebraically largest eigenpairs. A start drawn with the
 * seed. Not to have converged is an outcome, not an error. */
ep_status ep_eigen_largest(const ep_mat *V, double *lambda, ep_eigen_info *info, ep_operator *A,
                           void *user, const ep_eigen_config *config, uint64_t seed);
/* The same of an operator that takes both precisions, up to a factor: single as far as that goes, the rest in double. */
ep_status ep_eigen_mixed(const ep_mat *V, double *lambda, ep_eigen_info *info, ep_operator *A,
                         void *user, const ep_eigen_config *config, uint64_t seed);
/* A / max |A| in single precision, which is work's: what such an operator is made from. */
ep_status ep_eigen_single(ep_mat *out, ep_work *work, const ep_mat *A);
/* The same of a matrix A (symmetric, n x n, double), from its whole decomposition by LAPACK. */
ep_status ep_eigen_whole(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A);
/* The configuration with no more restarts than cost what LAPACK would, where that takes a second or two and there is room for it;
 * each product is one with so many matrices. */
ep_eigen_config ep_eigen_patient(const ep_eigen_config *config, ptrdiff_t wanted, ptrdiff_t order,
                                 int matrices);
/* By LAPACK if it is small, by block Krylov if not, and by LAPACK after all where eigenvalues lie so close that it is
 * cheaper. */
ep_status ep_eigen_matrix(const ep_mat *V, double *lambda, ep_eigen_info *info, const ep_mat *A,
                          const ep_eigen_config *config, uint64_t seed);
/* The generalised problem A w = lambda B w, B = LL' given by its Cholesky factor: W'BW = I, signs as below. A is scratch
 * afterwards. */
ep_status ep_eigen_generalised(const ep_mat *W, double *lambda, ep_eigen_info *info,
                               const ep_mat *A, const ep_mat *L, const ep_eigen_config *config,
                               uint64_t seed);
/* The same with A and L spread over ranks (comm.h), every rank's part of each; W is whole on all of them. */
ep_status ep_eigen_spread(const ep_mat *W, double *lambda, ep_eigen_info *info, ep_dist *spread,
                          double *A, double *L, const ep_eigen_config *config, uint64_t seed);
/* A w = lambda (B + ridge I) w of covariances whose rank is at most so much, in the span of their columns. Not converged: the
 * rank is not far below the order, that span does not hold all of B but for such a share of its trace, or fewer than W has
 * columns are positive; then A and B are as they were, and the problem is for the others. */
ep_status ep_eigen_span(const ep_mat *W, double *lambda, ep_eigen_info *info, const ep_mat *A,
                        const ep_mat *B, double ridge, double rank, double rounding,
                        const ep_eigen_config *config, uint64_t seed);
/* The sign of a column makes its entry of largest magnitude positive. */
void ep_eigen_signs(const ep_mat *V);
