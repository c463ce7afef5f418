#pragma once
#include <eigenpair/kernel.h>

/* Two variables with variances A, B and covariance C. `gap` is 1 - C / sqrt(AB) where A, B > 0, kept apart because
 * it cannot be had from A, B, C when the two variables are almost the same; 0 for equal ones. */
typedef struct {
  double A, B, C, gap;
} ep_moments;

/* *value = S, *slope = S' (NULL: not wanted); the same as how accurately: see ep_dual_error. A or B may be 0. */
void ep_dual(double *value, double *slope, const ep_activation *phi, const ep_moments *m);
/* Stated bound on the error of ep_dual for this activation, relative to sqrt(S(A, A, A) S(B, B, B)), for S' likewise:
 * about 1e-15 for closed forms. */
double ep_dual_error(const ep_activation *phi);
/* The same for a layer of ep_analytic_kernel, which may go by tables. */
double ep_analytic_error(const ep_activation *phi);
/* "closed form" or "quadrature" */
const char *ep_dual_way(const ep_activation *phi);

/* Points of the columns of many kernels, made ready once: what of them does not depend on the rows they meet. */
typedef struct {
  ep_mat X;         /* (n, D), lent */
  double *size;     /* (n), owned */
  double *diagonal; /* (n) of the kernel; owned */
} ep_analytic_ready;
ep_status ep_analytic_ready_new(ep_analytic_ready *out, const ep_analytic *a, ep_analytic_kind kind,
                                const ep_mat *X);
void ep_analytic_ready_free(ep_analytic_ready *r);
/* ep_analytic_kernel against r->X, to the same bits. */
ep_status ep_analytic_kernel_ready(const ep_mat *K, const ep_analytic *a, ep_analytic_kind kind,
                                   const ep_mat *X, const ep_analytic_ready *r);
