#pragma once
/* Domains: points with a uniform measure, the spectrum of a kernel on them, and regression from training sets drawn
 * from them. Theory: section 8.
 *
 *   circle   M points evenly on a circle       levels: frequencies 0 .. M/2, by a Fourier transform
 *   cube     the 2^d vertices                  levels: degrees 0 .. d, by Krawtchouk polynomials
 *   sphere   all of the sphere in R^d          levels: degrees, by Gegenbauer polynomials; the last ones as a tail
 *   sample   any M points, or any matrix K     M levels, by a dense eigenproblem
 *
 * The first three never form a matrix of all points: a kernel of an infinitely wide network depends there on the angle
 * of two points alone. */
#include <eigenpair/analytic.h>
#include <eigenpair/learnability.h>
#include <eigenpair/powerlaw.h>
#include <stdint.h>

typedef enum { EP_CIRCLE, EP_CUBE, EP_SPHERE, EP_SAMPLE } ep_domain_kind;
const char *ep_domain_name(int i); /* circle, cube, sphere; NULL past them */

typedef struct {
  ep_analytic network;
  ep_analytic_kind kind; /* EP_NTK or EP_NNGP */
  double radius;         /* |x| */
} ep_domain_kernel;

typedef struct ep_domain ep_domain; /* opaque; owned by the caller */

/* size: M of the circle, d of cube (<= 30) and sphere (>= 2). */
ep_status ep_domain_new(ep_domain **out, ep_domain_kind kind, ptrdiff_t size,
                        const ep_domain_kernel *kernel);
/* K (M x M, double) becomes the domain's, also on failure. Rounding of its entries is `precision` of the largest one
 * (DBL_EPSILON, FLT_EPSILON): eigenvalues below what that makes of 0 are 0, and a matrix with eigenvalues clearly below
 * 0 is refused. */
ep_status ep_domain_sample(ep_domain **out, ep_mat *K, double precision);
void ep_domain_free(ep_domain *d); /* NULL is fine */

ep_domain_kind ep_domain_kind_of(const ep_domain *d);
/* Levels by degree, on a sample by falling eigenvalue. */
const ep_spectrum *ep_domain_spectrum(const ep_domain *d);
/* Bytes that ep_domain_sample of M points takes beside K. */
double ep_domain_sample_bytes(double M);

/* ---- targets */

/* A function on the domain: its values at all points, or as a sum of one function of norm 1 of each degree listed:
 * circle sqrt 2 cos(k a), cube x_1 .. x_k, sphere Re (x_1 + i x_2)^k normalised. */
typedef struct {
  ep_mat F;          /* (M x Z), double; empty: by degrees */
  const int *degree; /* (degrees) */
  int degrees; /* no values and no degrees: a random function of variance 1, in the mean over all of them */
} ep_target;
/* power[k] = sum over level k and the columns of F of v_i^2, for ep_learn_predict. */
ep_status ep_domain_power(double *power, const ep_domain *d, const ep_target *f);
/* F (n x 1) = f at the points X (n x D) of the domain (not a sample); any f by degrees. */
ep_status ep_domain_values(const ep_mat *F, const ep_domain *d, const ep_target *f,
                           const ep_mat *X);
/* X (n x D): points index[0..n) of circle or cube; of the sphere (index is not read) points drawn with the seed. */
ep_status ep_domain_points(const ep_mat *X, const ep_domain *d, const ptrdiff_t *index,
                           uint64_t seed, uint32_t sub);
ptrdiff_t ep_domain_dimension(const ep_domain *d); /* D; 0: a sample */

/* ---- measurement: regression from training sets drawn without repetition */

typedef struct {
  double mean, error; /* over the sets; standard error of the mean (NAN for one set) */
  double median;
} ep_mean;

typedef struct {
  ep_mean kappa;        /* 1 / Tr (K(D,D) + ridge)^{-1}: what kappa predicts, for n far below M */
  ep_mean sum;          /* Tr T: n without a ridge, or the rank of K(D,D) */
  ep_mean rank;         /* of K(D,D) */
  ep_mean learnability; /* <f, f^> / <f, f> */
  ep_mean mse, clean_mse, train_mse, unseen_mse;
  ep_mean
      gcv; /* the error on new points as the training set alone tells it: n y'A^2 y / (Tr A)^2, A = (K(D,D)+ridge)^{-1} */
  ep_mean
      accuracy; /* share of the points not trained on whose largest output is the right one; one column: the sign */
} ep_measurement;

/* L (levels, or NULL) = mean over the sets of T_jj, T = Lam Phi (K(D,D) + ridge)^{-1} Phi', and over the modes of a
 * level; NAN for the sphere's degrees past 32. Errors are taken over the whole domain, or over 1,024 points drawn from a
 * larger one. Sets are drawn with the seed; at most `memory` bytes. */
ep_status ep_domain_measure(ep_measurement *out, double *L, const ep_domain *d, const ep_target *f,
                            const ep_training_set *t, int sets, uint64_t seed, double memory);

/* More points than a sample has: how error on new points and kappa go on, by power laws of what its training sets tell. */
typedef struct {
  double from;                   /* M */
  double error_from, kappa_from; /* at all M points */
  ep_power_law error, kappa;     /* against n, from M/8 to M */
  double ridge, variance;
} ep_learn_law;
ep_status ep_learn_beyond(ep_learn_law *out, const ep_domain *d, const ep_target *f, double ridge,
                          double variance, uint64_t seed, double memory);
/* At n >= M; what has no such law is NAN. low, high: of mse, by the 95 % interval of the exponent. */
void ep_learn_beyond_at(ep_prediction *p, double *low, double *high, const ep_learn_law *law,
                        double n);

/* D (M x M) = dT_jj/dlambda_i = (1{i=j} - lambda_j phi_j'K^{-1}phi_i) phi_i'K^{-1}phi_j in row i, column j, for the
 * training set index[0..n) of a sample with K(D,D) invertible; T (M) = T_jj, or NULL. */
ep_status ep_domain_derivatives(const ep_mat *D, double *T, const ep_domain *d,
                                const ptrdiff_t *index, ptrdiff_t n);
