#pragma once
/* Differential equations dy/dt = f(t, y) with error control, of order 5 (SUNDIALS). */
#include <eigenpair/status.h>
#include <stdbool.h>
#include <stddef.h>

/* dy = f(t, y); an error ends the integration. */
typedef ep_status ep_ode_rhs(double *dy, const double *y, double t, void *user);

typedef struct {
  bool reached; /* t1 was reached; false: the solution left every bound before it, y is of time t */
  double t;
  long evaluations; /* of f */
} ep_ode_info;

/* y (n numbers) from time t0 to t1 > t0, relative and absolute error a step: Dormand-Prince. */
ep_status ep_ode_flow(ep_ode_info *info, double *y, ptrdiff_t n, double t0, double t1,
                      ep_ode_rhs *f, void *user, double relative, double absolute);
/* The same where rates differ by orders of magnitude and most of them have died out: implicit, at most 20,000 steps. */
ep_status ep_ode_stiff(ep_ode_info *info, double *y, ptrdiff_t n, double t0, double t1,
                       ep_ode_rhs *f, void *user, double relative, double absolute);
