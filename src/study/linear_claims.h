#pragma once
/* What the checks of LINEAR's claims share: problems, runs from several starts, curves with their spread. */
#include "study/curve.h"

#include <eigenpair/descent.h>
#include <eigenpair/linear.h>

/* Points, pairs, C divided by the number of anchors, and its eigenbasis. */
typedef struct {
  ep_points points;
  int *labels; /* (anchors) or NULL, owned */
  ep_mat C;
  ep_linear basis;
} linear_problem;

extern const char linear_moons[]; /* the half moons of the paper, as --data */
/* `data` as for --data, in double; `pairs` as for --pairs. */
ep_status linear_problem_load(linear_problem *p, const char *data, const char *pairs, long seed);
/* Two classes of digits, `each` points of each, views by crops; `pool`: means of 2 x 2 pixels. */
ep_status linear_problem_digits(linear_problem *p, const char *data, ptrdiff_t each, bool pool,
                                long seed);
void linear_problem_free(linear_problem *p);

ep_descent_config linear_descent(ep_constraint constraint, const char *activation, int layers,
                                 ptrdiff_t width, ptrdiff_t outputs, double rate);
/* On C where the activation is linear, on the points otherwise. */
ep_status linear_descent_new(ep_descent **d, const ep_descent_config *config,
                             const linear_problem *p, uint64_t seed);
/* q (d x z) = U'B of the network. */
ep_status linear_coordinates(const ep_mat *q, const ep_descent *d, const linear_problem *p);
/* second over first singular value of the network's outputs at all points: 0 is collapse */
ep_status linear_collapse(double *ratio, const ep_descent *d, const linear_problem *p);

/* One check on the half moons with these pairs: loads the problem, owns it and the scratch. */
typedef ep_status linear_inner(ep_claim_result *result, ep_work *work, const linear_problem *p,
                               int runs, long seed);
ep_status linear_on_moons(ep_claim_result *result, linear_inner *inner, const char *pairs, int runs,
                          long seed);

typedef ep_status linear_check(ep_claim_result *result, ep_claim_size size,
                               const ep_run_config *run);
linear_check linear_fig1, linear_fig2, linear_fig3, linear_fig4, linear_fig5, linear_fig6,
    linear_prop1, linear_prop2, linear_prop3, linear_noncontrastive, linear_conj1, linear_lemma1,
    linear_prop1_wide, linear_remark2, linear_remark3, linear_mean, linear_riccati, linear_ntk;
