#pragma once
/* A network under gradient descent on L = 1/2 |f(X) - Y|^2, or on cross-entropy, and beside it the linear model it starts
 * as (Lee 2019). Theory: section 8. Everything in double. */
#include <eigenpair/kernel.h>
#include <eigenpair/squared.h>

typedef enum {
  EP_LOSS_SQUARED, /* 1/2 sum (f - y)^2 */
  EP_LOSS_LOGISTIC /* sum log(1 + e^{-yf}), y = +-1: cross-entropy of two classes, each output by itself */
} ep_supervised_loss;
/* The loss; F (n x Z) becomes dL/dF. */
double ep_supervised_residual(const ep_mat *F, const ep_mat *Y, ep_supervised_loss loss);

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
void ep_supervised_set_loss(ep_supervised *d, ep_supervised_loss loss); /* squared at first */
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
/* Any number of outputs. rate = share x critical. */
ep_status ep_lee_follow(ep_lee_run *out, const ep_net_config *config, const ep_mat *X,
                        const ep_mat *Y, const ep_mat *test, ep_supervised_loss loss, double share,
                        long steps, uint64_t seed);

/* The constants of Lemma B.1 and Theorem B.2 on one run, and what they bound, in the parametrisation of network.h: there
 * theta is sqrt(n) times the paper's, J and the kernel are 1/sqrt(n) and 1/n times it, and eta is eta_0. The ball of Lemma
 * B.1 is sampled on the path of the descent and at random. */
typedef struct {
  double K, R0, least,
      most;     /* of Lemma B.1; |f_0 - Y|; extreme eigenvalues of the kernel at the start */
  double width; /* N of eq. 92, its last term: (18 K^3 R0 / lambda_min^2)^2 */
  /* largest over the steps of measurement over bound: below 1 the statement holds */
  double loss, path, kernel; /* eq. 57, 58, 59 */
  double step, sum;          /* eq. 30 at each step; its sum over the steps against |g_lin - g| */
  double gronwall;           /* eq. 120, integrals by the trapezoid rule */
  double bounds[3],
      measured[3]; /* largest of: path, kernel, |g_lin - g| with its bound by eq. 30 */
  double
      misprint; /* |f_lin - f| at the end with f_lin as printed in eq. 22, f(theta_t) for f(theta_0) */
  double difference; /* and with f(theta_0) */
} ep_lee_bounds;
/* Any number of outputs; rate = share of the critical one. */
ep_status ep_lee_check(ep_lee_bounds *out, const ep_net_config *config, const ep_mat *X,
                       const ep_mat *Y, double share, long steps, uint64_t seed);
