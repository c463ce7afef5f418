#pragma once
/* Linear self-supervised dynamics over time: the equation of linear.h at chosen times, and beside it, if wished, a
 * descent of descent.h from the same start. */
#include <eigenpair/descent.h>
#include <eigenpair/linear.h>

EP_BEGIN

const char *ep_dynamics_way(int i); /* flow, steps, exact */

#define EP_DYNAMICS_OPTIONS(X, S)                                                             \
  X(S, REAL, time, "100", 0, 1e12, NULL,                                                      \
    "time T at the end; a step of descent is the time --rate")                                \
  X(S, TEXT, times, "", 0, 0, NULL, "times on the way, rising: t1,t2,..")                     \
  X(S, NAME, way, "flow", 0, 0, ep_dynamics_way,                                              \
    "flow: integrator with error control; steps: the paper's eq. 11 with --rate; exact: one " \
    "output only")                                                                            \
  X(S, REAL, tolerance, "1e-10", 1e-14, 1e-2, NULL, "flow: relative error a step")            \
  X(S, FLAG, compare, NULL, 0, 0, NULL, "also descend with a network, from the same start")
typedef struct {
  EP_DYNAMICS_OPTIONS(EP_OPT_FIELD, )
} ep_dynamics_config;
extern const ep_option ep_dynamics_options[];

/* One time. Ranks are RankMe: of the embedded points, or of q where there are no points. */
typedef struct {
  double time, loss, rank;
  double descent_loss, descent_rank; /* NAN without a descent */
  double difference;                 /* |q - U'B|_F of the two, B the network's product */
} ep_dynamics_row;

typedef struct {
  ep_linear basis;
  ptrdiff_t rows;       /* row 0 is the start, then --times, then --time */
  ep_dynamics_row *row; /* (rows) */
  ptrdiff_t spectrum;   /* min(d, z) */
  ep_mat sigma;         /* (rows, spectrum) singular values of q, falling */
  ep_mat projection;    /* (rows, spectrum) of the most negative eigenvectors on the span of q */
  ep_mat q;             /* (rows * d, z): q at each time, one below the other */
  long evaluations;     /* of the right-hand side, or steps */
  double seconds;
  bool diverged; /* the descent has */
} ep_dynamics;   /* all owned */

/* C (d x d), or NULL: that of the points. points may be NULL where C is given. q0 (d x z), or NULL: a random
 * orthogonal network's. Both are left alone. */
ep_status ep_dynamics_run(ep_dynamics *out, const ep_dynamics_config *config,
                          const ep_descent_config *descent, const ep_mat *C,
                          const ep_points *points, const ep_mat *q0, uint64_t seed);
void ep_dynamics_free(ep_dynamics *d);
ep_mat ep_dynamics_at(const ep_dynamics *d, ptrdiff_t row); /* q of a row: a view */

EP_END
