#pragma once
/* What a kernel can learn from n points (Simon 2021). Theory: section 8.
 *
 * A domain has M points and the uniform measure; K/M has eigenvalues lambda_i and eigenfunctions phi_i. The target is
 * f = sum_i v_i phi_i, the training targets carry noise of variance sigma^2. For regression f^ = K(x,D)(K(D,D) +
 * ridge)^{-1} y, predicted without any training set:
 *
 *   sum_i lambda_i/(lambda_i + kappa) + ridge/kappa = n,   L_i = lambda_i/(lambda_i + kappa),   E0 = n/(n - sum L_i^2)
 *   learnability of f   sum L_i v_i^2 / |v|^2
 *   test error          E = E0 (sum (1-L_i)^2 v_i^2 + sigma^2)     (on noisy targets; on clean ones minus sigma^2)
 *   training error      (ridge/(n kappa))^2 E
 *
 * Equal eigenvalues are kept once, as a level with its multiplicity: a cube of 2^20 points has 21 of them. */
#include <eigenpair/matrix.h>

EP_BEGIN

typedef struct {
  ptrdiff_t levels;
  const double
      *value; /* (levels) lambda >= 0, any order; exactly 0: the kernel has no such direction */
  const double *count; /* (levels) multiplicity */
  double size;         /* M; INFINITY: a continuous domain */
  double tail; /* trace of the levels past the list, each small beside kappa: it acts as a ridge */
} ep_spectrum;
double ep_spectrum_rank(const ep_spectrum *s);  /* positive eigenvalues; INFINITY with a tail */
double ep_spectrum_trace(const ep_spectrum *s); /* mean of K(x, x) */

typedef struct {
  double train;    /* n */
  double ridge;    /* added to the diagonal of K(D,D) */
  double variance; /* sigma^2 of the noise on training targets */
} ep_training_set;

typedef struct {
  double kappa;        /* 0: more points than the kernel has dimensions, and no ridge */
  double sum;          /* of all learnabilities: n - ridge/kappa */
  double learnability; /* of the target; NAN for f = 0 */
  double overfit;      /* E0 */
  double mse;          /* E; may be INFINITY, at n = rank without a ridge */
  double clean_mse;    /* E - sigma^2 */
  double train_mse;
  double unseen_mse; /* on the M - n points not trained on, without noise; NAN with noise */
} ep_prediction;

ep_status ep_learn_kappa(double *kappa, const ep_spectrum *s, double n, double ridge);
/* L (levels) may be NULL. power[k] = sum of v_i^2 over level k; NULL: a random function of variance 1. */
ep_status ep_learn_predict(ep_prediction *out, double *L, const ep_spectrum *s, const double *power,
                           const ep_training_set *t);
/* D (levels x levels) = dL_j/dlambda_i in row i, column j: one eigenvalue of level i is moved, j is the level of another
 * mode, and on the diagonal of the same mode. Needs kappa > 0. */
ep_status ep_learn_sensitivity(const ep_mat *D, const ep_spectrum *s, double n, double ridge);

EP_END
