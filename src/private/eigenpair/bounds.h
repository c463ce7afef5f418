#pragma once
/* WIDE's bounds for two-layer networks, from a run's own constants, beside what was measured. Theory: sections 5, 6, 10.
 *
 *   ep_bound_run run = {&start, &model.net, &points, &setup, info.epochs};
 *   ep_bound_result rows[EP_BOUNDS];
 *   ep_bounds_check(rows, &run);      each row: bound, measurement, does it hold, does it say anything
 *
 * Bounds grow like e^t: they are kept as log10 and never overflow. */
#include <eigenpair/method.h>

/* The run a bound is about; everything is borrowed. */
typedef struct {
  const ep_net *start,
      *now; /* weights at t = 0 and now; of one shape, in the precision of the points */
  const ep_points *points;
  const ep_setup
      *setup;  /* its method, rate, loss, similarity, delta, track_points, memory are used */
  long epochs; /* done: ep_fit_info.epochs */
} ep_bound_run;

/* The run's own constants. Points count as the first layer sees them: times its scale. */
typedef struct {
  double M, D, Z, Q; /* width, dimensions, outputs, most partners of an anchor */
  double eta, steps; /* rate, and updates done */
  double delta,
      c_l; /* of the cosine; sup |dl/ds|, INFINITY for a loss that is no function of similarities */
  double x_2, c_in;  /* max |x|_2, max |x_j| */
  double L, B, phi0; /* sup |phi'|, sup |phi''|, |phi(0)| */
  double v0, s0, c0; /* max |V(0)|, max |W(0)|, the larger of the two */
  double v, w;       /* max |V|, max |W| now: Lemma 11 bounds the next step */
  double R;          /* |V - V(0)|_F + |W - W(0)|_F, measured */
  double gap;        /* lambda_Z - lambda_{Z+1} of C(0): from ep_bound_measure; NAN: not known */
  int depth;
  bool cosine, descent, orthogonal; /* similarity; W moved by gradient descent, or kept W'W = I */
} ep_bound_inputs;
ep_status ep_bound_inputs_from(ep_bound_inputs *out, const ep_bound_run *run);

/* What the bounds are on. */
typedef enum {
  EP_BOUND_STEP_V,     /* max |dV_ij| of the step from here */
  EP_BOUND_STEP_W,     /* max |dW_ij| of the step from here */
  EP_BOUND_WEIGHTS,    /* max of |V - V(0)| and |W - W(0)|, entry by entry */
  EP_BOUND_HESSIAN,    /* |d2 f_z(x) / dtheta2|_2, largest over points and outputs, exactly */
  EP_BOUND_KERNEL,     /* max |K - K(0)| over outputs and the first --track-points points */
  EP_BOUND_COVARIANCE, /* |C - C(0)|_F */
  EP_BOUND_REPRESENTATION, /* max over points of |O'u(x) - u_0(x)|, u by PCA of C and of C(0), O the best rotation */
  EP_BOUND_QUANTITIES
} ep_bound_quantity;
const char *ep_bound_quantity_name(ep_bound_quantity what);
/* What a bound has to stay below to say anything, as words: "the largest entry of K(0)"; NULL: there is no such thing. */
const char *ep_bound_ceiling_name(ep_bound_quantity what);

typedef struct {
  double value;
  double ceiling;  /* INFINITY: none */
  double rounding; /* differences below this are rounding */
  double gap;      /* EP_BOUND_REPRESENTATION: that of C(0), INFINITY if Z = M; else NAN */
} ep_measured;
/* Only networks with one hidden layer. */
ep_status ep_bound_measure(ep_measured *out, ep_bound_quantity what, const ep_bound_run *run);

/* A row of the table. */
typedef struct {
  const char *name; /* "Lemma 11 V" */
  ep_bound_quantity what;
  unsigned needs;                             /* conditions, as bits; see bounds.c */
  double (*log10)(const ep_bound_inputs *in); /* of the bound, where its conditions hold */
} ep_bound;
enum { EP_BOUNDS = 10 };
extern const ep_bound ep_bounds[EP_BOUNDS];
const ep_bound *ep_bound_find(const char *name); /* NULL: there is none */
/* log10 of the bound; NAN where a condition does not hold, and *why (a static text) says which; *why may be NULL. */
double ep_bound_log10(const char **why, const ep_bound *bound, const ep_bound_inputs *in);

typedef struct {
  const ep_bound *bound;
  double log10_bound; /* NAN: it does not apply */
  const char *why;    /* why not, or NULL; a static text */
  ep_measured measured;
  bool holds;   /* measured <= bound, up to rounding */
  bool vacuous; /* true of any run: the bound is not below the ceiling */
} ep_bound_result;
/* Every row; a quantity is measured once, and only if a bound on it applies. */
ep_status ep_bounds_check(ep_bound_result out[EP_BOUNDS], const ep_bound_run *run);
/* A list of objects: name, bounds, log10_bound, measured, log10_measured, ceiling, holds, vacuous, note. The caller's. */
ep_status ep_bounds_to_json(json_t **out, const ep_bound_result results[EP_BOUNDS]);
