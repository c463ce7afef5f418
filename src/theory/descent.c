/* Gradient descent on linear and nonlinear networks under the constraints of LINEAR sections 3 and 4. */
#include "core/mem.h"

#include <eigenpair/descent.h>
#include <eigenpair/stream.h>
#include <eigenpair/objective.h>
#include <math.h>
#include <string.h>

const ep_option ep_descent_options[] = {EP_DESCENT_OPTIONS(EP_OPT_ROW, ep_descent_config){0}};

enum { MOST = 8 };
static const double bound = 1e100; /* weights beyond it: the descent has diverged */

typedef struct {
  const char *name, *help;
  bool scaled; /* the loss is divided by the squared norms of the weights */
  /* G = dL/dW_i -> the direction of the step; NULL: it is G */
  ep_status (*direction)(const ep_mat *G, const ep_mat *W);
  /* after the step, all weights */
  ep_status (*constrain)(ep_descent *d);
} constraint;

struct ep_descent {
  ep_descent_config config;
  const constraint *rule;
  int retraction;
  int layers;
  ep_mat W[MOST], G[MOST]; /* weights, and dL/dW; owned */
  ep_mat T[MOST];          /* T[i] = W_{i+1}' .. W_l; T[0] = B, the last is W_l; owned */
  double rate;
  bool diverged;
  /* one of the two */
  const ep_mat *C;
  const ep_points *points;
  ep_objective objective;
  ep_net net, grad; /* W in the scaling of network.h */
  ep_stream *stream;
  ep_mat F, dF; /* (P, z) */
};

/* ---- L and its gradient through C
 *
 *   T_l = W_l,  T_i = W_i' T_{i+1},  B = T_1,  L = Tr(B'CB),  dT_1 = 2 C B,  dT_{i+1} = W_i dT_i,  dW_i = T_{i+1} dT_i'
 *
 * so that no product is larger than h x h x z. */

static void down(const ep_descent *d) {
  const int l = d->layers;
  ep_mat_copy(&d->T[l - 1], &d->W[l - 1]);
  for (int i = l - 2; i >= 0; i--) ep_mat_mul(&d->T[i], 1, &d->W[i], EP_T, &d->T[i + 1], EP_N, 0);
}

/* <A, B> = sum of a_ij b_ij */
static double inner(const ep_mat *A, const ep_mat *B) {
  double sum = 0;
  for (ptrdiff_t i = 0; i < A->rows; i++)
    for (ptrdiff_t j = 0; j < A->cols; j++) sum += *ep_d(A, i, j) * *ep_d(B, i, j);
  return sum;
}

static ep_status through_matrix(double *loss, ep_work *work, ep_descent *d, bool gradient) {
  ep_mat dT, next;
  EP_TRY(ep_work_mat(work, &dT, EP_DOUBLE, d->T[0].rows, d->T[0].cols));
  down(d);
  ep_mat_mul(&dT, 2, d->C, EP_N, &d->T[0], EP_N, 0);
  *loss = inner(&dT, &d->T[0]) / 2;
  for (int i = 0; gradient && i < d->layers - 1; i++) {
    ep_mat_mul(&d->G[i], 1, &d->T[i + 1], EP_N, &dT, EP_T, 0);
    EP_TRY(ep_work_mat(work, &next, EP_DOUBLE, d->W[i].rows, dT.cols));
    ep_mat_mul(&next, 1, &d->W[i], EP_N, &dT, EP_N, 0);
    dT = next;
  }
  if (gradient) ep_mat_copy(&d->G[d->layers - 1], &dT);
  return EP_OK;
}

/* ---- through the points: network.h has W_2.. multiplied by sqrt(h) and divides by it */

static void set_scaled(const ep_mat *to, double c, const ep_mat *from) {
  ep_mat_fill(to, 0);
  ep_mat_axpy(to, c, from);
}

static const ep_mat *layer_of(const ep_net *net, int i, int layers) {
  return i == layers - 1 ? &net->W : &net->V[i];
}

static void fill_net(ep_net *net, const ep_descent *d) {
  const double root = sqrt((double)net->shape.width);
  for (int i = 0; i < d->layers; i++)
    set_scaled(layer_of(net, i, d->layers), i ? root : 1, &d->W[i]);
}

static ep_status through_points(double *loss, ep_descent *d, bool gradient) {
  const double root = sqrt((double)d->net.shape.width);
  fill_net(&d->net, d);
  ep_stream_forward(&d->F, d->stream, &d->net);
  EP_TRY(
      ep_objective_value(loss, gradient ? &d->dF : NULL, &d->F, &d->points->pairs, &d->objective));
  if (!gradient) return EP_OK;
  ep_stream_backward(&d->grad, d->stream, &d->net, &d->dF);
  for (int i = 0; i < d->layers; i++)
    set_scaled(&d->G[i], i ? root : 1, layer_of(&d->grad, i, d->layers));
  return EP_OK;
}

/* ---- L / prod |W_i|_2^2:  dW_i = (dL/dW_i - 2 L/s_i a_i b_i') / prod s^2, (s, a, b) the largest singular triple */

static ep_status top_triple(double *s, double *a, double *b, const ep_mat *W) {
  ep_mat U, Vt, copy;
  double *sigma;
  ep_work work = {0};
  ep_status st = ep_work_mat(&work, &U, EP_DOUBLE, W->rows, W->cols);
  if (!st) st = ep_work_mat(&work, &copy, EP_DOUBLE, W->rows, W->cols);
  if (!st) st = ep_work_mat(&work, &Vt, EP_DOUBLE, W->cols, W->cols);
  if (!st) st = ep_work_get(&work, &sigma, W->cols, sizeof *sigma);
  if (!st) ep_mat_copy(&copy, W);
  if (!st) st = ep_mat_svd(&U, sigma, &Vt, &copy);
  if (!st) {
    *s = sigma[0];
    for (ptrdiff_t i = 0; i < W->rows; i++) a[i] = *ep_d(&U, i, 0);
    for (ptrdiff_t j = 0; j < W->cols; j++) b[j] = *ep_d(&Vt, 0, j);
  }
  ep_work_free(&work);
  return st;
}

static ep_status scale(double *loss, ep_work *work, ep_descent *d, bool gradient) {
  double s[MOST], *a[MOST], *b[MOST], product = 1;
  for (int i = 0; i < d->layers; i++) {
    EP_TRY(ep_work_get(work, &a[i], d->W[i].rows, sizeof(double)));
    EP_TRY(ep_work_get(work, &b[i], d->W[i].cols, sizeof(double)));
    EP_TRY(top_triple(&s[i], a[i], b[i], &d->W[i]));
    product *= s[i] * s[i];
  }
  for (int i = 0; gradient && i < d->layers; i++) {
    const double c = 2 * *loss / s[i];
    for (ptrdiff_t r = 0; r < d->G[i].rows; r++)
      for (ptrdiff_t k = 0; k < d->G[i].cols; k++)
        *ep_d(&d->G[i], r, k) = (*ep_d(&d->G[i], r, k) - c * a[i][r] * b[i][k]) / product;
  }
  *loss /= product;
  return EP_OK;
}

static ep_status evaluate(double *loss, ep_descent *d, bool gradient) {
  ep_work work = {0};
  ep_status st =
      d->C ? through_matrix(loss, &work, d, gradient) : through_points(loss, d, gradient);
  if (!st && d->rule->scaled) st = scale(loss, &work, d, gradient);
  ep_work_free(&work);
  return st;
}

/* ---- constraints */

/* (I - WW')G; a square orthogonal matrix has nowhere to go */
static ep_status tangent(const ep_mat *G, const ep_mat *W) {
  if (W->rows == W->cols) return ep_mat_fill(G, 0), EP_OK;
  ep_mat A;
  EP_TRY(ep_mat_new(&A, EP_DOUBLE, W->cols, G->cols));
  ep_mat_mul(&A, 1, W, EP_T, G, EP_N, 0);
  ep_mat_mul(G, -1, W, EP_N, &A, EP_N, 1);
  ep_mat_free(&A);
  return EP_OK;
}

static ep_status retract_all(ep_descent *d) {
  for (int i = 0; i < d->layers; i++) EP_TRY(ep_retract(&d->W[i], d->retraction));
  return EP_OK;
}

static ep_status retract_moving(ep_descent *d) {
  for (int i = 0; i < d->layers; i++)
    if (d->W[i].rows > d->W[i].cols) EP_TRY(ep_retract(&d->W[i], d->retraction));
  return EP_OK;
}

/* W_i into the ball |W_i|_F <= radius */
static ep_status frobenius_ball(ep_descent *d) {
  for (int i = 0; i < d->layers; i++) {
    const double norm = sqrt(ep_mat_norm2(&d->W[i]));
    if (norm > d->config.radius) ep_mat_axpy(&d->W[i], d->config.radius / norm - 1, &d->W[i]);
  }
  return EP_OK;
}

/* X <- X - X R (I - diag(f)) R', the columns of R orthonormal: along them X is multiplied by f */
static ep_status shrink(const ep_mat *X, const ep_mat *R, const double *f) {
  ep_mat Y;
  EP_TRY(ep_mat_new(&Y, EP_DOUBLE, X->rows, R->cols));
  ep_mat_mul(&Y, 1, X, EP_N, R, EP_N, 0);
  for (ptrdiff_t i = 0; i < Y.rows; i++)
    for (ptrdiff_t j = 0; j < Y.cols; j++) *ep_d(&Y, i, j) *= 1 - f[j];
  ep_mat_mul(X, -1, &Y, EP_N, R, EP_T, 1);
  ep_mat_free(&Y);
  return EP_OK;
}

/* A = P diag(sigma) Q', f = min(1, 1/sigma)^power: right <- right Q f Q' (and the rest), left <- left P f P' */
static ep_status clip(ep_work *work, const ep_mat *right, const ep_mat *left, const ep_mat *A,
                      double power) {
  const ptrdiff_t k = A->cols;
  ep_mat P, Qt, Q, copy;
  double *f;
  EP_TRY(ep_work_mat(work, &copy, EP_DOUBLE, A->rows, k));
  EP_TRY(ep_work_mat(work, &P, EP_DOUBLE, A->rows, k));
  EP_TRY(ep_work_mat(work, &Qt, EP_DOUBLE, k, k));
  EP_TRY(ep_work_mat(work, &Q, EP_DOUBLE, k, k));
  EP_TRY(ep_work_get(work, &f, k, sizeof *f));
  ep_mat_copy(&copy, A);
  EP_TRY(ep_mat_svd(&P, f, &Qt, &copy));
  if (k == 0 || f[0] <= 1) return EP_OK;
  for (ptrdiff_t r = 0; r < k; r++) {
    f[r] = f[r] > 1 ? pow(f[r], -power) : 1;
    for (ptrdiff_t c = 0; c < k; c++) *ep_d(&Q, c, r) = *ep_d(&Qt, r, c);
  }
  EP_TRY(shrink(right, &Q, f));
  return left ? shrink(left, &P, f) : EP_OK;
}

static ep_status spectral_ball(ep_descent *d) {
  ep_work work = {0};
  ep_status st = EP_OK;
  for (int i = 0; !st && i < d->layers; i++) st = clip(&work, &d->W[i], NULL, &d->W[i], 1);
  ep_work_free(&work);
  return st;
}

/* |B|_2 <= 1, B = W_1'..W_l, half by the first and half by the last layer, so that neither outgrows the other */
static ep_status product_ball(ep_descent *d) {
  ep_work work = {0};
  down(d);
  const bool one = d->layers == 1;
  const ep_status st =
      clip(&work, &d->W[d->layers - 1], one ? NULL : &d->W[0], &d->T[0], one ? 1 : 0.5);
  ep_work_free(&work);
  return st;
}

static const constraint constraints[] = {
    [EP_CONSTRAINT_GRASSMANN] = {"grassmann",
                                 "gradient along the manifold W_i'W_i = I, then a retraction",
                                 false, tangent, retract_moving},
    [EP_CONSTRAINT_ORTHOGONAL] =
        {"orthogonal", "plain gradient, then a retraction to W_i'W_i = I (qr misses the optimum)",
         false, NULL, retract_all},
    [EP_CONSTRAINT_NONE] = {"none", "no constraint: collapses, and diverges", false, NULL, NULL},
    [EP_CONSTRAINT_FROBENIUS] = {"frobenius", "|W_i|_F at most --radius: collapses", false, NULL,
                                 frobenius_ball},
    [EP_CONSTRAINT_SPECTRAL] = {"spectral", "|W_i|_2 at most 1", false, NULL, spectral_ball},
    [EP_CONSTRAINT_PRODUCT] = {"product", "|W_l'..W_1|_2 at most 1", false, NULL, product_ball},
    [EP_CONSTRAINT_SCALED] = {"scaled", "the loss is divided by the product of |W_i|_2^2", true,
                              NULL, NULL},
};
enum { CONSTRAINTS = sizeof constraints / sizeof *constraints };
const char *ep_constraint_name(int i) { return i < CONSTRAINTS ? constraints[i].name : NULL; }
const char *ep_constraint_help(int i) { return i < CONSTRAINTS ? constraints[i].help : NULL; }

/* ---- making one */

static ep_status new_layer(ep_descent *d, int i, ptrdiff_t rows, ptrdiff_t cols, uint64_t seed) {
  EP_CHECK(rows >= cols, EP_ERR_ARG,
           "a width of %td cannot take %td orthonormal columns: --width has to be at least the "
           "dimension and the outputs",
           rows, cols);
  EP_TRY(ep_mat_new(&d->W[i], EP_DOUBLE, rows, cols));
  EP_TRY(ep_mat_new(&d->G[i], EP_DOUBLE, rows, cols));
  ep_random_fill_normal(&d->W[i], seed, EP_STREAM_WEIGHTS, (uint32_t)i);
  return ep_retract(&d->W[i], EP_RETRACT_QR); /* of a Gaussian matrix: uniform */
}

static ep_status new_weights(ep_descent *d, ptrdiff_t inputs, uint64_t seed) {
  const ptrdiff_t z = d->config.outputs, two = inputs > z ? 2 * inputs : inputs + z;
  const ptrdiff_t h = d->config.width > 0 ? d->config.width : two;
  const int l = d->layers;
  for (int i = 0; i < l; i++) {
    const ptrdiff_t in = i == 0 ? inputs : h;
    EP_TRY(new_layer(d, i, l == 1 ? inputs : h, i == l - 1 ? z : in, seed));
    /* T[i] has the rows of what W_i takes; for the last layer, of what it gives to z outputs */
    EP_TRY(ep_mat_new(&d->T[i], EP_DOUBLE, i == l - 1 ? d->W[i].rows : in, z));
  }
  return EP_OK;
}

static ep_status new_pass(ep_descent *d, const ep_activation *phi) {
  const ep_mat *X = &d->points->X;
  ep_objective_config config;
  EP_CHECK(d->layers >= 2 && X->prec == EP_DOUBLE, EP_ERR_ARG,
           "descent through points needs two layers or more and points in double");
  const ep_net_shape shape = {.inputs = X->cols,
                              .width = d->W[0].rows,
                              .outputs = d->config.outputs,
                              .depth = d->layers - 1,
                              .input_scale = 1,
                              .phi = *phi};
  ep_options_default(ep_objective_options, &config);
  config.similarity = EP_SIMILARITY_DOT; /* loss: linear */
  EP_TRY(ep_objective_parse(&d->objective, &config));
  EP_TRY(ep_objective_check(&d->objective, &d->points->pairs));
  EP_TRY(ep_net_new(&d->net, &shape, EP_DOUBLE));
  EP_TRY(ep_net_new(&d->grad, &shape, EP_DOUBLE));
  EP_TRY(ep_mat_new(&d->F, EP_DOUBLE, X->rows, shape.outputs));
  EP_TRY(ep_mat_new(&d->dF, EP_DOUBLE, X->rows, shape.outputs));
  const ep_run_config run = ep_run_default();
  return ep_stream_new(&d->stream, X, &shape, 1e4, EP_PASS_BACKWARD, ep_run_memory(&run));
}

static ep_status fill_in(ep_descent *d, const ep_mat *C, const ep_points *points, uint64_t seed) {
  ep_activation phi;
  d->C = C;
  d->points = points;
  d->layers = (int)d->config.layers;
  d->rate = d->config.rate;
  d->retraction = d->config.retraction;
  EP_TRY(ep_activation_parse(&phi, d->config.activation));
  EP_CHECK((unsigned)d->config.constraint < CONSTRAINTS, EP_ERR_ARG, "there is no constraint %d",
           d->config.constraint);
  d->rule = &constraints[d->config.constraint];
  EP_CHECK(!C || ep_activation_is_linear(&phi), EP_ERR_ARG,
           "descent on a matrix C is for linear networks, not %s", d->config.activation);
  const ptrdiff_t inputs = C ? C->rows : points->X.cols;
  EP_CHECK(d->config.outputs <= inputs, EP_ERR_ARG,
           "%ld outputs of a network on %td dimensions: at most as many outputs as dimensions",
           d->config.outputs, inputs);
  EP_TRY(new_weights(d, inputs, seed));
  return points ? new_pass(d, &phi) : EP_OK;
}

ep_status ep_descent_new(ep_descent **out, const ep_descent_config *config, const ep_mat *C,
                         const ep_points *points, uint64_t seed) {
  *out = NULL;
  EP_CHECK(!C != !points, EP_ERR_ARG, "a descent takes a matrix C or points, one of the two");
  ep_descent *d = ep_alloc(1, sizeof *d);
  EP_CHECK(d, EP_ERR_NOMEM, "no memory for a descent");
  d->config = *config;
  const ep_status st = fill_in(d, C, points, seed);
  if (st) ep_descent_free(d);
  else *out = d;
  return st;
}

void ep_descent_free(ep_descent *d) {
  if (!d) return;
  for (int i = 0; i < MOST; i++) {
    ep_mat_free(&d->W[i]);
    ep_mat_free(&d->G[i]);
    ep_mat_free(&d->T[i]);
  }
  ep_stream_free(d->stream);
  ep_net_free(&d->net);
  ep_net_free(&d->grad);
  ep_mat_free(&d->F);
  ep_mat_free(&d->dF);
  ep_release(d);
}

/* ---- descending */

static bool in_bounds(const ep_mat *A) { return ep_mat_max(A) < bound; } /* false for NaN */

static ep_status one_step(ep_descent *d) {
  double loss;
  EP_TRY(evaluate(&loss, d, true));
  for (int i = 0; i < d->layers; i++) {
    if (d->rule->direction) EP_TRY(d->rule->direction(&d->G[i], &d->W[i]));
    if (!in_bounds(&d->W[i]) || !in_bounds(&d->G[i])) d->diverged = true;
  }
  if (d->diverged) return EP_OK;
  for (int i = 0; i < d->layers; i++) ep_mat_axpy(&d->W[i], -d->rate, &d->G[i]);
  d->rate *= d->config.decay;
  return d->rule->constrain ? d->rule->constrain(d) : EP_OK;
}

ep_status ep_descent_step(ep_descent *d, long count) {
  for (long i = 0; i < count && !d->diverged; i++) {
    if (i % 16 == 0) EP_TRY(ep_run_step("steps", (double)i, (double)count));
    EP_TRY(one_step(d));
  }
  return EP_OK;
}

bool ep_descent_diverged(const ep_descent *d) { return d->diverged; }
ep_status ep_descent_loss(double *loss, ep_descent *d) { return evaluate(loss, d, false); }

ep_status ep_descent_gradient(const ep_mat *G, ep_descent *d, int layer) {
  double loss;
  EP_TRY(evaluate(&loss, d, true));
  ep_mat_copy(G, &d->G[layer]);
  return EP_OK;
}

int ep_descent_layers(const ep_descent *d) { return d->layers; }
const ep_mat *ep_descent_weights(const ep_descent *d, int layer) { return &d->W[layer]; }

void ep_descent_product(const ep_mat *B, const ep_descent *d) {
  down(d);
  ep_mat_copy(B, &d->T[0]);
}

ep_status ep_descent_embed(const ep_mat *E, const ep_descent *d, const ep_mat *X) {
  ep_stream *stream;
  if (d->C) {
    down(d);
    ep_mat_mul(E, 1, X, EP_N, &d->T[0], EP_N, 0);
    return EP_OK;
  }
  const ep_run_config run = ep_run_default();
  ep_net net = d->net; /* its weights are set below; the views are the same */
  fill_net(&net, d);
  EP_TRY(ep_stream_new(&stream, X, &net.shape, 1, EP_PASS_FORWARD, ep_run_memory(&run)));
  ep_stream_forward(E, stream, &net);
  ep_stream_free(stream);
  return EP_OK;
}
