#pragma once
/* A network under gradient descent on L = 1/2 |f(X) - Y|^2, and beside it the linear model it starts as (Lee 2019).
 * Theory: section 8. Everything in double. */
#include <eigenpair/kernel.h>
#include <eigenpair/squared.h>

typedef struct ep_supervised ep_supervised; /* opaque; owned by the caller; borrows X */

/* X (n x D), Y (n x Z); config->outputs is Z. centred: f(x) - f_0(x) is the model instead of f(x), which takes the
 * random function of the start away. */
ep_status ep_supervised_new(ep_supervised **out, const ep_net_config *config, const ep_mat *X,
                            const ep_mat *Y, bool centred, uint64_t seed);
/* The same from a network that is there; it is copied. */
ep_status ep_supervised_from(ep_supervised **out, const ep_net *start, const ep_mat *X,
                             const ep_mat *Y, bool centred);
void ep_supervised_free(ep_supervised *d); /* NULL is fine */
/* theta <- theta - rate dL/dtheta, so many times; *loss: before the last of them. Stops early, with *loss above `limit`
 * (or no number), once it is that large. */
ep_status ep_supervised_steps(double *loss, ep_supervised *d, double rate, long steps,
                              double limit);
const ep_net *ep_supervised_net(const ep_supervised *d);
const ep_net *ep_supervised_start(const ep_supervised *d);
/* F (m x Z): the model at any points. */
ep_status ep_supervised_outputs(const ep_mat *F, const ep_supervised *d, const ep_mat *X);

/* Lee's three quantities, largest over training: how far the network leaves its linearisation. */
typedef struct {
  double outputs;    /* sup_t |f_t - f_lin,t| over the test points */
  double parameters; /* sup_t |theta_t - theta_0| / sqrt(M) */
  double kernel;     /* sup_t |K_t - K_0|_F on the training points */
} ep_lee;
enum { EP_LEE_TIMES = 16 };
typedef struct {
  ep_lee sup;
  long step[EP_LEE_TIMES]; /* 1 .. steps, about geometric */
  ep_lee at[EP_LEE_TIMES];
  double rate,
      critical;   /* eta, and eta_crit = 2/(lambda_min + lambda_max) of the kernel at the start */
  double loss[2]; /* of the network at the start and at the end */
} ep_lee_run;
/* One output (Y is n x 1). rate = share x critical. */
ep_status ep_lee_follow(ep_lee_run *out, const ep_net_config *config, const ep_mat *X,
                        const ep_mat *Y, const ep_mat *test, double share, long steps,
                        uint64_t seed);
