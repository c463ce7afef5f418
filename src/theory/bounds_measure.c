/* The constants of a run, and what WIDE's bounds are on: steps, weights, Hessian, kernel, C, its PCA. */
#include "core/crew.h"
#include "map/drift.h"
#include "method/methods.h"
#include "method/closed.h"

#include <eigenpair/stream.h>
#include <eigenpair/bounds.h>
#include <eigenpair/subspace.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Points at a time, if each takes so many numbers of scratch. */
static ptrdiff_t points_a_block(const ep_bound_run *run, double numbers) {
  const double bytes = (double)ep_sizeof(run->points->X.prec) * numbers;
  const double fit = fmin(fmax(ep_run_memory_left(&run->setup->run) / bytes, 1), 512);
  return fit < (double)run->points->X.rows ? (ptrdiff_t)fit : run->points->X.rows;
}

static ep_status check(const ep_bound_run *run) {
  const ep_net *a = run->start, *b = run->now;
  const ep_mat *X = &run->points->X;
  EP_CHECK(a->shape.inputs == b->shape.inputs && a->shape.width == b->shape.width &&
               a->shape.outputs == b->shape.outputs && a->shape.depth == b->shape.depth,
           EP_ERR_SHAPE, "the networks at the start and now have different shapes");
  EP_CHECK(X->cols == a->shape.inputs && X->rows > 0, EP_ERR_SHAPE,
           "the network takes points of dimension %td, there are %td of dimension %td",
           a->shape.inputs, X->rows, X->cols);
  EP_CHECK(a->theta.prec == X->prec && b->theta.prec == X->prec, EP_ERR_ARG,
           "networks and points have to be of one precision");
  EP_CHECK(run->epochs >= 0, EP_ERR_ARG, "%ld epochs make no sense", run->epochs);
  return EP_OK;
}

/* ---- constants */

static double longest_row(const ep_mat *X) {
  double longest = 0;
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    const ep_mat x = ep_mat_rows(X, i, 1);
    longest = fmax(longest, ep_mat_norm2(&x));
  }
  return sqrt(longest);
}

/* updates in all: an epoch has at most ceil(N / batch) */
static double steps_of(const ep_bound_run *run) {
  const double anchors = (double)run->points->pairs.anchors, batch = (double)run->setup->fit.batch;
  return (double)run->epochs * (batch > 0 && batch < anchors ? ceil(anchors / batch) : 1);
}

ep_status ep_bound_inputs_from(ep_bound_inputs *out, const ep_bound_run *run) {
  EP_TRY(check(run));
  const ep_net_shape *shape = &run->start->shape;
  const ep_mat V0 = ep_net_hidden_theta(run->start), V = ep_net_hidden_theta(run->now);
  const ep_method_row *method = ep_method_find(run->setup->fit.method);
  const double v0 = ep_mat_max(&V0), s0 = ep_mat_max(&run->start->W);
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &run->setup->objective));
  *out = (ep_bound_inputs){
      .M = (double)shape->width,
      .D = (double)shape->inputs,
      .Z = (double)shape->outputs,
      .Q = ep_objective_partners(&o, &run->points->pairs),
      .eta = run->setup->fit.rate,
      .steps = steps_of(run),
      .delta = o.config.delta,
      .c_l = ep_objective_slope(&o),
      .x_2 = shape->input_scale * longest_row(&run->points->X),
      .c_in = shape->input_scale * ep_mat_max(&run->points->X),
      .L = ep_activation_lipschitz(&shape->phi),
      .B = ep_activation_smoothness(&shape->phi),
      .phi0 = fabs(ep_activation_value(&shape->phi, 0)),
      .v0 = v0,
      .s0 = s0,
      .c0 = fmax(v0, s0),
      .v = ep_mat_max(&V),
      .w = ep_mat_max(&run->now->W),
      .R = sqrt(ep_mat_distance2(&V, &V0)) + sqrt(ep_mat_distance2(&run->now->W, &run->start->W)),
      .gap = NAN,
      .depth = shape->depth,
      .cosine = ep_psi_of(&o).cosine,
      .descent = method && method->plain,
      .orthogonal = method && method->orthogonal && run->setup->closed.norms == EP_NORMS_FEATURES,
  };
  return EP_OK;
}

/* ---- steps and weights */

/* grad = dL/dtheta at the weights now */
static ep_status gradient(ep_net *grad, ep_work *work, ep_stream *stream, const ep_bound_run *run) {
  const ptrdiff_t p = run->points->X.rows, z = run->now->W.cols;
  ep_objective o;
  ep_mat F, dF, f, df;
  double loss;
  EP_TRY(ep_objective_parse(&o, &run->setup->objective));
  EP_TRY(ep_objective_check(&o, &run->points->pairs));
  EP_TRY(ep_work_mat(work, &F, EP_DOUBLE, p, z));
  EP_TRY(ep_work_mat(work, &dF, EP_DOUBLE, p, z));
  EP_TRY(ep_work_mat(work, &f, run->points->X.prec, p, z));
  EP_TRY(ep_work_mat(work, &df, run->points->X.prec, p, z));
  ep_stream_forward(&f, stream, run->now);
  ep_mat_copy(&F, &f);
  EP_TRY(ep_objective_value(&loss, &dF, &F, &run->points->pairs, &o));
  ep_mat_copy(&df, &dF);
  ep_stream_backward(grad, stream, run->now, &df);
  return EP_OK;
}

/* eta max |dL/dV| or |dL/dW| */
static ep_status step(ep_work *work, ep_measured *out, const ep_bound_run *run, bool of_W) {
  ep_net grad = {0};
  ep_stream *stream = NULL;
  ep_status st = ep_net_new(&grad, &run->now->shape, run->now->theta.prec);
  if (!st)
    st = ep_stream_new(&stream, &run->points->X, &run->now->shape, 2, EP_PASS_BACKWARD,
                       ep_run_memory_left(&run->setup->run) / 2);
  if (!st) st = gradient(&grad, work, stream, run);
  if (!st) {
    const ep_mat V = ep_net_hidden_theta(run->now), dV = ep_net_hidden_theta(&grad);
    out->value = run->setup->fit.rate * ep_mat_max(of_W ? &grad.W : &dV);
    out->ceiling = ep_mat_max(of_W ? &run->now->W : &V);
  }
  ep_stream_free(stream);
  ep_net_free(&grad);
  return st;
}

static ep_status step_V(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  return step(work, out, run, false);
}
static ep_status step_W(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  return step(work, out, run, true);
}

static ep_status weights(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  (void)work;
  out->value = ep_kernel_drift(&run->start->theta, &run->now->theta).max;
  out->ceiling = ep_mat_max(&run->start->theta);
  return EP_OK;
}

/* ---- Hessian */

enum { GROUPS = 64 };
typedef struct {
  const ep_mat *X, *A, *slope, *curve;
  const double *w;
  const ep_net *net;
  double top[GROUPS];
} hessian_loop;

/* f_z(x) = M^{-1/2} sum_m w_mz phi(v_m'x): its Hessian has one block for (v_m, w_mz), M^{-1/2} [p xx'/|x|^2, q x/|x|; ..],
 * p = w_mz phi'' |x|^2, q = phi' |x|, of norm M^{-1/2} (|p| + sqrt(p^2 + 4 q^2)) / 2; the largest of z has the largest |w|. */
static double hessian_of_point(const hessian_loop *l, ptrdiff_t i) {
  const ep_net *net = l->net;
  const ep_mat x = ep_mat_rows(l->X, i, 1), a = ep_mat_rows(l->A, i, 1);
  const ep_mat s = ep_mat_rows(l->slope, i, 1), c = ep_mat_rows(l->curve, i, 1);
  const double norm = net->shape.input_scale * sqrt(ep_mat_norm2(&x));
  double top = 0;
  ep_activation_slopes(&s, &net->shape.phi, &a);
  ep_activation_curves(&c, &net->shape.phi, &a);
  for (ptrdiff_t m = 0; m < a.cols; m++) {
    const double p = l->w[m] * fabs(ep_get(&c, 0, m)) * norm * norm, q = ep_get(&s, 0, m) * norm;
    top = fmax(top, (p + hypot(p, 2 * q)) / 2);
  }
  return top;
}

static void hessian_groups(void *of, ptrdiff_t first, ptrdiff_t end) {
  hessian_loop *l = of;
  const ptrdiff_t n = l->A->rows;
  for (ptrdiff_t g = first; g < end; g++)
    for (ptrdiff_t i = n * g / GROUPS; i < n * (g + 1) / GROUPS; i++)
      l->top[g] = fmax(l->top[g], hessian_of_point(l, i));
}

static double hessian_of_block(const ep_mat *X, const ep_mat *A, const ep_mat *slope,
                               const ep_mat *curve, const double *w, const ep_net *net) {
  hessian_loop l = {.X = X, .A = A, .slope = slope, .curve = curve, .w = w, .net = net};
  double top = 0;
  ep_crew_loop(GROUPS, 1, true, hessian_groups, &l);
  for (int g = 0; g < GROUPS; g++) top = fmax(top, l.top[g]);
  return top / sqrt((double)A->cols);
}

static ep_status hessian(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  const ep_net *net = run->now;
  const ep_mat *X = &run->points->X;
  const ptrdiff_t m = net->shape.width, block = points_a_block(run, 3 * (double)m);
  ep_mat A, S, C;
  double *w;
  EP_TRY(ep_work_get(work, &w, m, sizeof *w));
  EP_TRY(ep_work_mat(work, &A, X->prec, block, m));
  EP_TRY(ep_work_mat(work, &S, X->prec, block, m));
  EP_TRY(ep_work_mat(work, &C, X->prec, block, m));
  for (ptrdiff_t i = 0; i < m; i++) {
    const ep_mat row = ep_mat_rows(&net->W, i, 1);
    w[i] = ep_mat_max(&row);
  }
  for (ptrdiff_t i = 0; i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), a = ep_mat_rows(&A, 0, n);
    EP_TRY(ep_run_step("Hessian", (double)i, (double)X->rows));
    ep_mat_mul(&a, net->shape.input_scale, &x, EP_N, &net->V[0], EP_T, 0);
    out->value = fmax(out->value, hessian_of_block(&x, &a, &S, &C, w, net));
  }
  return EP_OK;
}

/* ---- tangent kernel, C */

static ep_status kernel(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  const ptrdiff_t asked = run->setup->fit.track_points, p = run->points->X.rows;
  const ptrdiff_t n = asked < p ? asked : p, z = run->now->W.cols;
  const ep_mat X = ep_mat_rows(&run->points->X, 0, n);
  const double need = 2 * (double)ep_sizeof(X.prec) * pow((double)n * (double)z, 2);
  ep_mat K0, K;
  EP_CHECK(need < ep_run_memory_left(&run->setup->run), EP_ERR_ARG,
           "kernels of %td points take %.0f MiB, more than --memory: lower --track-points", n,
           need / 1048576);
  EP_TRY(ep_work_mat(work, &K0, X.prec, n, n * z * z));
  EP_TRY(ep_work_mat(work, &K, X.prec, n, n * z * z));
  EP_TRY(ep_ntk_empirical(NULL, &K0, run->start, &X, NULL, EP_FULL,
                          ep_run_memory_left(&run->setup->run)));
  EP_TRY(ep_ntk_empirical(NULL, &K, run->now, &X, NULL, EP_FULL,
                          ep_run_memory_left(&run->setup->run)));
  out->value = ep_kernel_drift(&K0, &K).max;
  out->ceiling = ep_mat_max(&K0);
  return EP_OK;
}

static ep_status psi_of(ep_psi *psi, ep_objective *o, const ep_bound_run *run) {
  EP_TRY(ep_objective_parse(o, &run->setup->objective));
  *psi = ep_psi_of(o);
  return EP_OK;
}

/* |psi| <= 1: C, a mean of at most Q products, has |C|_F <= Q */
static ep_status covariance(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  ep_psi psi;
  ep_objective o;
  ep_feature_drift drift;
  (void)work;
  EP_TRY(psi_of(&psi, &o, run));
  const ep_network_map start = ep_network_map_of(run->start, psi);
  const ep_network_map now = ep_network_map_of(run->now, psi);
  const ep_mat *X = &run->points->X;
  EP_TRY(ep_feature_drift_new(&drift, &start.head, X, &run->points->pairs,
                              ep_run_memory_left(&run->setup->run)));
  const ep_status st = ep_feature_drift_value(&out->value, &drift, &now.head, X);
  ep_feature_drift_free(&drift);
  if (psi.cosine) out->ceiling = 2 * ep_objective_partners(&o, &run->points->pairs);
  return st;
}

/* ---- PCA */

typedef struct {
  ep_mat W;     /* (M, Z) top eigenvectors of C */
  ep_mat U;     /* (P, Z) u(x) = M^{-1/2} W'phi(Vx) */
  double gap;   /* lambda_Z - lambda_{Z+1} */
  double error; /* of the eigensolver: residual / gap */
} pca;

/* U = M^{-1/2} phi(X V') W, some points at a time */
static ep_status embed(ep_work *work, pca *p, const ep_net *net, const ep_bound_run *run) {
  const ep_mat *X = &run->points->X;
  const ptrdiff_t m = net->shape.width, z = p->U.cols;
  const ptrdiff_t block = points_a_block(run, 2 * (double)m);
  ep_mat H, W, u;
  EP_TRY(ep_work_mat(work, &H, X->prec, block, m));
  EP_TRY(ep_work_mat(work, &W, X->prec, m, z));
  EP_TRY(ep_work_mat(work, &u, X->prec, block, z));
  ep_mat_copy(&W, &p->W);
  for (ptrdiff_t i = 0; i < X->rows; i += block) {
    const ptrdiff_t n = X->rows - i < block ? X->rows - i : block;
    const ep_mat x = ep_mat_rows(X, i, n), h = ep_mat_rows(&H, 0, n), v = ep_mat_rows(&u, 0, n);
    const ep_mat to = ep_mat_rows(&p->U, i, n);
    EP_TRY(ep_run_step("representation", (double)i, (double)X->rows));
    EP_TRY(ep_net_hidden(&h, net, &x));
    ep_mat_mul(&v, 1 / sqrt((double)m), &h, EP_N, &W, EP_N, 0);
    ep_mat_copy(&to, &v);
  }
  return EP_OK;
}

/* One eigenpair more than outputs, so that the gap is one of converged eigenvalues. */
static ep_status pca_of(ep_work *work, pca *out, const ep_net *net, const ep_bound_run *run) {
  const ptrdiff_t m = net->shape.width, z = net->shape.outputs, k = z < m ? z + 1 : z;
  ep_setup setup = *run->setup;
  ep_eigen_info info;
  ep_psi psi;
  ep_objective o;
  ep_plan plan;
  ep_mat W;
  double *lambda;
  setup.closed.path = EP_PATH_AUTO;
  EP_TRY(psi_of(&psi, &o, run));
  const ep_network_map map = ep_network_map_of(net, psi);
  EP_TRY(ep_work_mat(work, &W, EP_DOUBLE, m, k));
  EP_TRY(ep_work_mat(work, &out->U, EP_DOUBLE, run->points->X.rows, z));
  EP_TRY(ep_work_get(work, &lambda, k, sizeof *lambda));
  EP_TRY(ep_plan_make(&plan, &map.head, run->points, k, &setup));
  EP_TRY(ep_closed_pca(&W, lambda, &info, &plan, &map.head, run->points, &setup));
  out->W = ep_mat_cols(&W, 0, z);
  out->gap = k > z ? lambda[z - 1] - lambda[z] : INFINITY;
  out->error = info.residual / out->gap;
  return embed(work, out, net, run);
}

/* O brings W_t closest to W_0: the rotation of the proof */
static ep_status representation(ep_work *work, ep_measured *out, const ep_bound_run *run) {
  const ptrdiff_t z = run->now->W.cols;
  ep_procrustes_info fit;
  pca start, now;
  ep_mat O, E;
  EP_TRY(pca_of(work, &start, run->start, run));
  EP_TRY(pca_of(work, &now, run->now, run));
  EP_TRY(ep_work_mat(work, &O, EP_DOUBLE, z, z));
  EP_TRY(ep_procrustes(&O, &fit, &now.W, &start.W));
  EP_TRY(ep_work_mat(work, &E, EP_DOUBLE, start.U.rows, start.U.cols));
  ep_mat_copy(&E, &start.U);
  ep_mat_mul(&E, 1, &now.U, EP_N, &O, EP_N, -1); /* rows O'u_t - u_0 */
  out->value = longest_row(&E);
  out->ceiling = longest_row(&start.U) + longest_row(&now.U);
  out->rounding = out->ceiling * (start.error + now.error);
  out->gap = start.gap;
  return EP_OK;
}

/* ---- the table */

static const struct {
  const char *name, *ceiling;
  ep_status (*measure)(ep_work *work, ep_measured *out, const ep_bound_run *run);
} quantities[EP_BOUND_QUANTITIES] = {
    [EP_BOUND_STEP_V] = {"largest change of V in a step", "the largest entry of V", step_V},
    [EP_BOUND_STEP_W] = {"largest change of W in a step", "the largest entry of W", step_W},
    [EP_BOUND_WEIGHTS] = {"largest change of a weight since the start",
                          "the largest weight of the start", weights},
    [EP_BOUND_HESSIAN] = {"norm of the Hessian", NULL, hessian},
    [EP_BOUND_KERNEL] = {"largest change of K", "the largest entry of K(0)", kernel},
    [EP_BOUND_COVARIANCE] = {"change of C, Frobenius", "2 Q, more than C can ever change",
                             covariance},
    [EP_BOUND_REPRESENTATION] = {"change of the PCA representation of a point",
                                 "the norms of the two representations together", representation},
};

const char *ep_bound_quantity_name(ep_bound_quantity what) { return quantities[what].name; }
const char *ep_bound_ceiling_name(ep_bound_quantity what) { return quantities[what].ceiling; }

ep_status ep_bound_measure(ep_measured *out, ep_bound_quantity what, const ep_bound_run *run) {
  *out = (ep_measured){.ceiling = INFINITY, .gap = NAN};
  EP_TRY(check(run));
  EP_CHECK(run->now->shape.depth == 1, EP_ERR_ARG,
           "the bounds are for one hidden layer; this network has %d", run->now->shape.depth);
  EP_CHECK(ep_net_is_plain(&run->now->shape), EP_ERR_ARG,
           "the bounds are for networks of --parametrisation ntk, weights of variance 1, without "
           "biases");
  ep_work work = {0};
  const ep_status st = quantities[what].measure(&work, out, run);
  ep_work_free(&work);
  EP_TRY(st);
  /* differences of numbers of the ceiling's size, each the end of a sum */
  const double unit = run->points->X.prec == EP_SINGLE ? FLT_EPSILON : DBL_EPSILON;
  if (isfinite(out->ceiling)) out->rounding += 64 * unit * out->ceiling;
  EP_CHECK(isfinite(out->value), EP_ERR_NUMERIC, "the %s is not finite", quantities[what].name);
  return EP_OK;
}
