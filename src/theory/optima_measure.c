/* What is measured of one optimum w: spectrum of A(w), roughness and its bound, stability, irregularity. */
#include "core/vector.h"

#include <eigenpair/optima.h>
#include <eigenpair/random.h>
#include <math.h>
#include <string.h>

static ep_mat as_row(const double *w, ptrdiff_t d) {
  return ep_mat_view(EP_DOUBLE, 1, d, (void *)(uintptr_t)w);
}

/* ---- directions */

/* u <- its part at right angles to w, of length 1; false if nothing is left */
static bool make_tangent(double *u, const double *w, ptrdiff_t d) {
  for (int twice = 0; twice < 2; twice++) {
    const double along = ep_dot(u, w, d);
    for (ptrdiff_t j = 0; j < d; j++) u[j] -= along * w[j];
    const double norm = sqrt(ep_dot(u, u, d));
    if (!(norm > 1e-300)) return false;
    for (ptrdiff_t j = 0; j < d; j++) u[j] /= norm;
  }
  return true;
}

/* rows of U: random directions at right angles to w; zero where there is none (d = 1) */
static void draw_tangents(const ep_mat *U, const double *w, uint64_t seed, uint32_t sub) {
  ep_random_fill_normal(U, seed, EP_STREAM_START, sub);
  for (ptrdiff_t k = 0; k < U->rows; k++)
    if (U->cols == 1 || !make_tangent(ep_d(U, k, 0), w, U->cols))
      memset(ep_d(U, k, 0), 0, (size_t)U->cols * sizeof(double));
}

/* V = rows at angle a from w towards the rows of U */
static void turn(const ep_mat *V, const double *w, const ep_mat *U, double angle) {
  for (ptrdiff_t k = 0; k < U->rows; k++)
    for (ptrdiff_t j = 0; j < U->cols; j++)
      *ep_d(V, k, j) = cos(angle) * w[j] + sin(angle) * *ep_d(U, k, j);
}

/* ---- points on the hyperplane of w, where A(w) jumps */

static ptrdiff_t on_hyperplane(double *s, const ep_mat *X, const double *w) {
  ptrdiff_t count = 0;
  ep_mat_vec(s, 1, X, EP_N, w, 0);
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    const double *x = ep_d(X, i, 0);
    count += fabs(s[i]) <= 1e-6 * sqrt(ep_dot(x, x, X->cols));
  }
  return count;
}

/* points and second views on it; 0 where h' does not jump */
static ep_status touching(ep_work *work, ptrdiff_t *count, const ep_layer *layer, const double *w) {
  double *s;
  *count = 0;
  if (!(ep_activation_jump(&layer->h) > 0)) return EP_OK;
  EP_TRY(ep_work_get(work, &s, layer->X.rows, sizeof *s));
  *count = on_hyperplane(s, &layer->X, w);
  if (layer->X2.data) *count += on_hyperplane(s, &layer->X2, w);
  return EP_OK;
}

/* ---- the spectrum of A(w) */

static ep_status spectrum(ep_work *work, ep_optimum *o, const ep_layer *layer, const double *w) {
  const ptrdiff_t d = layer->X.cols;
  const double exact = 1e-6;
  ep_mat A, y;
  double *lambda;
  EP_TRY(ep_work_mat(work, &A, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &y, EP_DOUBLE, 1, d));
  EP_TRY(ep_work_get(work, &lambda, d, sizeof *lambda));
  EP_TRY(ep_layer_matrix(&A, layer, w, NULL));
  ep_mat_vec(y.data, 1, &A, EP_N, w, 0);
  o->lambda = ep_dot(w, y.data, d);
  double off = 0;
  for (ptrdiff_t j = 0; j < d; j++) off += pow(*ep_d(&y, 0, j) - o->lambda * w[j], 2);
  const double norm = sqrt(ep_mat_norm2(&y));
  o->residual = norm > 0 ? sqrt(off) / norm : 0;
  EP_TRY(ep_mat_eig_sym(&A, lambda));
  o->top = lambda[d - 1];
  o->gap = d > 1 ? lambda[d - 1] - lambda[d - 2] : lambda[d - 1];
  o->alignment = fabs(ep_dot(w, ep_d(&A, d - 1, 0), d));
  const bool eigenvector = o->residual < exact && 1 - o->alignment < exact;
  const bool on_a_jump = o->touching > 0 && o->alignment > 0.99;
  const bool gap = o->gap > exact * fabs(o->top);
  o->maximal = eigenvector && gap;
  o->nearly = on_a_jump && gap && !o->maximal;
  o->held = !o->maximal && !o->nearly && o->touching >= d;
  return EP_OK;
}

/* ---- roughness */

/* rows of Y: (A(v) - A(w)) w for the rows of V, alpha held at w; y = A(w)w */
static ep_status responses(const ep_mat *Y, const ep_layer *layer, const ep_mat *V,
                           const ep_mat *copies, const double *y) {
  EP_TRY(ep_layer_product(Y, layer, copies, V, copies));
  for (ptrdiff_t k = 0; k < Y->rows; k++)
    for (ptrdiff_t j = 0; j < Y->cols; j++) *ep_d(Y, k, j) -= y[j];
  return EP_OK;
}

/* max |(A(v)-A(w))w| / |v-w| over directions and their opposites. A response, made tangent, is the next direction: for
 * uniform weights the derivative is symmetric, and this is power iteration for its norm. */
static ep_status roughness(ep_work *work, double *out, const ep_layer *layer, const double *w,
                           const ep_optima_config *config, uint64_t seed) {
  enum { ROUNDS = 4 };
  const ptrdiff_t d = layer->X.cols, K = config->directions;
  const double chord = config->step, angle = 2 * asin(chord / 2);
  ep_mat U, V, Y, copies, y;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &Y, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &copies, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &y, EP_DOUBLE, 1, d));
  for (ptrdiff_t k = 0; k < K; k++) memcpy(ep_d(&copies, k, 0), w, (size_t)d * sizeof *w);
  const ep_mat row = as_row(w, d);
  EP_TRY(ep_layer_product(&y, layer, &row, NULL, NULL));
  draw_tangents(&U, w, seed, 1);
  *out = 0;
  for (int round = 0; round < 2 * ROUNDS; round++) {
    turn(&V, w, &U, round % 2 ? -angle : angle);
    EP_TRY(responses(&Y, layer, &V, &copies, y.data));
    for (ptrdiff_t k = 0; k < K; k++) {
      double *r = ep_d(&Y, k, 0);
      *out = fmax(*out, sqrt(ep_dot(r, r, d)) / chord);
      if (round % 2 && make_tangent(r, w, d)) memcpy(ep_d(&U, k, 0), r, (size_t)d * sizeof *r);
    }
  }
  return EP_OK;
}

/* ---- its bound */

typedef struct {
  ep_mat s, h, g; /* (N, 1) w'x, h(w'x), h'(w'x) w'x = p h */
  double *norm;   /* (N) |x| */
} side;

static ep_status new_side(side *out, ep_work *work, const ep_layer *layer, const ep_mat *X,
                          const double *w) {
  EP_TRY(ep_work_mat(work, &out->s, EP_DOUBLE, X->rows, 1));
  EP_TRY(ep_work_mat(work, &out->h, EP_DOUBLE, X->rows, 1));
  EP_TRY(ep_work_mat(work, &out->g, EP_DOUBLE, X->rows, 1));
  EP_TRY(ep_work_get(work, &out->norm, X->rows, sizeof *out->norm));
  ep_mat_vec(out->s.data, 1, X, EP_N, w, 0);
  ep_activation_values(&out->h, &layer->h, &out->s);
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    out->norm[i] = sqrt(ep_dot(ep_d(X, i, 0), ep_d(X, i, 0), X->cols));
    *ep_d(&out->g, i, 0) = ep_layer_power(layer) * *ep_d(&out->h, i, 0);
  }
  return EP_OK;
}

/* Only points whose sign can change count: |w'x| <= |x| |v-w|. Of such a point x~ changes by at most j |x| and
 * g = w'x~ by j |w'x|, j the jump of phi'. From A(v)w = 1/(2N^2) [ x~'L g - (x~-x~')'D_r (g-g') ]:
 *   2N^2 |(A(v)-A(w))w| <= sum_i dx_i |(Lg)_i| + dg_i C (m + j) 2 (r_i + c_i)  +  the same of the second term,
 * C = max |x|, m = max |phi'|; and |L_i| summed over a row is at most 2 (r_i + c_i). r(w, alpha) is Theorem 2's first
 * term with the density at the hyperplane seen through that slab: sum_l z_l^2 p_l(x) = p(x) r_i/N. */
typedef struct {
  double bound, r;
} bounds;

static double slab(const side *s, ptrdiff_t i, double chord, double size) {
  return s->norm && fabs(*ep_d(&s->s, i, 0)) <= s->norm[i] * chord ? size : 0;
}

static bounds add_bounds(const side s[2], const ep_mat *Lg, const double *r, const double *c,
                         double j, double m, double chord) {
  const ptrdiff_t n = Lg->rows;
  double C = 0;
  bounds b = {0};
  for (ptrdiff_t i = 0; i < n; i++) C = fmax(C, fmax(s[0].norm[i], s[1].norm ? s[1].norm[i] : 0));
  for (ptrdiff_t i = 0; i < n; i++) {
    const double dx = j * slab(&s[0], i, chord, s[0].norm[i]);
    const double dg = j * slab(&s[0], i, chord, fabs(*ep_d(&s[0].s, i, 0)));
    b.bound += dx * fabs(*ep_d(Lg, i, 0)) + dg * C * (m + j) * 2 * (r[i] + c[i]);
    b.r += C * dx * r[i];
    if (!s[1].norm) continue;
    const double ddx = dx + j * slab(&s[1], i, chord, s[1].norm[i]);
    const double ddg = dg + j * slab(&s[1], i, chord, fabs(*ep_d(&s[1].s, i, 0)));
    const double e = fabs(*ep_d(&s[0].g, i, 0) - *ep_d(&s[1].g, i, 0));
    b.bound += r[i] * (ddx * e + ddg * (m * (s[0].norm[i] + s[1].norm[i]) + ddx));
  }
  const double N2 = (double)n * (double)n;
  return (bounds){b.bound / (2 * N2 * chord), b.r / (N2 * chord)};
}

/* what alpha is made from: first views, or the points before augmentation */
static ep_status find_bounds(ep_work *work, ep_optimum *o, const ep_layer *layer, const double *w,
                             double chord) {
  const ptrdiff_t n = layer->X.rows;
  const bool of_views = ep_alpha_of_views(&layer->alpha);
  side s[2] = {0}, before;
  ep_mat Lg;
  double *r, *c, z0 = 0;
  o->roughness_bound = o->r = o->z0 = NAN;
  if (isnan(ep_activation_jump(&layer->h)) || layer->alpha.kind == EP_ALPHA_GIVEN) return EP_OK;
  EP_TRY(new_side(&s[0], work, layer, &layer->X, w));
  if (layer->X2.data) EP_TRY(new_side(&s[1], work, layer, &layer->X2, w));
  EP_TRY(new_side(&before, work, layer, of_views || !layer->X0.data ? &layer->X : &layer->X0, w));
  EP_TRY(ep_work_mat(work, &Lg, EP_DOUBLE, n, 1));
  EP_TRY(ep_work_get(work, &r, n, sizeof *r));
  EP_TRY(ep_work_get(work, &c, n, sizeof *c));
  EP_TRY(ep_alpha_apply(&Lg, r, c, &layer->alpha, &before.h,
                        of_views && layer->X2.data ? &s[1].h : NULL, &s[0].g));
  const bounds b = add_bounds(s, &Lg, r, c, ep_activation_jump(&layer->h),
                              ep_activation_lipschitz(&layer->h), chord);
  o->roughness_bound = b.bound;
  o->r = b.r;
  const double *mass = layer->alpha.mass.data;
  for (ptrdiff_t i = 0; i < n; i++)
    z0 += (mass ? mass[i] : 1) * exp(-pow(*ep_d(&before.h, i, 0), 2) / (2 * layer->alpha.tau)) /
          (double)n;
  if (layer->alpha.kind == EP_ALPHA_UNIFORM) o->z0 = 1;
  if (layer->alpha.kind == EP_ALPHA_GAUSSIAN) o->z0 = z0;
  return EP_OK;
}

/* ---- stability: push and watch */

static ep_status push(ep_work *work, ep_optimum *o, const ep_layer *layer, const double *w,
                      const ep_optima_config *config, uint64_t seed) {
  const ptrdiff_t d = layer->X.cols, K = config->pushes;
  ep_mat U, V;
  ep_path *paths;
  ptrdiff_t back = 0;
  o->returns = NAN;
  o->stable = o->theorem1;
  if (K == 0) return EP_OK;
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, K, d));
  EP_TRY(ep_work_get(work, &paths, K, sizeof *paths));
  draw_tangents(&U, w, seed, 2);
  turn(&V, w, &U, config->push);
  EP_TRY(ep_optima_follow(&V, paths, layer, config, NULL));
  /* nearer than it was pushed: an end that lies on a jump is not met to the last digit */
  const double near = fmin(config->merge, config->push / 2);
  for (ptrdiff_t k = 0; k < K; k++)
    back += paths[k].end == EP_END_SETTLED && ep_layer_angle(layer, w, ep_d(&V, k, 0)) <= near;
  o->returns = (double)back / (double)K;
  o->stable = back == K;
  return EP_OK;
}

/* ---- irregularity and Theorem 3's ball */

/* mu = (1+c)/(2c^2) (1 - gap/top)^2,  omega = mu + 2 kappa L^2 (1 + mu c) + 2 L/gap sqrt(mu (1 + mu c)) */
double ep_irregularity(double c, double top, double gap, double L, double kappa) {
  const double mu = (1 + c) / (2 * c * c) * pow(1 - gap / top, 2), more = 1 + mu * c;
  const double turn_of_eigenvector = L > 0 ? 2 * L / gap * sqrt(mu * more) : 0;
  return mu + 2 * kappa * L * L * more + turn_of_eigenvector;
}

/* (c0 - c_gamma) / (1 - c_gamma), c_gamma = 2 sqrt(gamma) / (1 + gamma) */
double ep_theorem3_ball(double c0, double gamma) {
  const double c = 2 * sqrt(gamma) / (1 + gamma);
  return (c0 - c) / (1 - c);
}

typedef struct {
  ep_mat A, phi;  /* (d, d) the matrix, its eigenvectors as rows */
  double *lambda; /* (d) ascending */
} eigen;

static ep_status new_eigen(eigen *e, ep_work *work, ptrdiff_t d) {
  EP_TRY(ep_work_mat(work, &e->A, EP_DOUBLE, d, d));
  EP_TRY(ep_work_mat(work, &e->phi, EP_DOUBLE, d, d));
  return ep_work_get(work, &e->lambda, d, sizeof *e->lambda);
}

static ep_status fill_eigen(eigen *e, const ep_layer *layer, const double *v) {
  EP_TRY(ep_layer_matrix(&e->A, layer, v, NULL));
  ep_mat_copy(&e->phi, &e->A);
  return ep_mat_eig_sym(&e->phi, e->lambda);
}

/* omega(v); where A is indefinite, of A - lambda_min I (proof of Theorem 3) */
static double omega(const eigen *e, const double *v, double L, double kappa) {
  const ptrdiff_t d = e->A.rows;
  const double top = e->lambda[d - 1] - fmin(0, e->lambda[0]);
  const double gap = d > 1 ? e->lambda[d - 1] - e->lambda[d - 2] : top;
  return ep_irregularity(fabs(ep_dot(v, ep_d(&e->phi, d - 1, 0), d)), top, gap, L, kappa);
}

/* Lemma 6: |phi_1' - (phi_1 + sum_{j>1} phi_j (phi_j'dA phi_1) / (lambda_1 - lambda_j))| / |dA|^2; scratch: 2d */
static double second_order(const eigen *at, const eigen *moved, double change, double *scratch) {
  const ptrdiff_t d = at->A.rows;
  const double *p = ep_d(&at->phi, d - 1, 0), *q = ep_d(&moved->phi, d - 1, 0);
  double *rest = scratch, *pull = scratch + d; /* dA phi_1 */
  const double sign = ep_dot(p, q, d) < 0 ? -1 : 1;
  for (ptrdiff_t i = 0; i < d; i++)
    pull[i] = ep_dot(ep_d(&moved->A, i, 0), p, d) - ep_dot(ep_d(&at->A, i, 0), p, d);
  for (ptrdiff_t i = 0; i < d; i++) rest[i] = sign * q[i] - p[i];
  for (ptrdiff_t k = 0; k < d - 1; k++) {
    const double *f = ep_d(&at->phi, k, 0);
    const double c = ep_dot(f, pull, d) / (at->lambda[d - 1] - at->lambda[k]);
    for (ptrdiff_t i = 0; i < d; i++) rest[i] -= c * f[i];
  }
  return sqrt(ep_dot(rest, rest, d)) / (change * change);
}

/* Theorem 3 asks for sup omega < 1 in a ball and gives no formula for L and kappa: all three are the largest found in
 * `directions` directions, at growing radii, until omega reaches 1. */
static ep_status ball(ep_work *work, ep_optimum *o, const ep_layer *layer, const double *w,
                      const ep_optima_config *config, uint64_t seed) {
  static const double radii[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4};
  const ptrdiff_t d = layer->X.cols, K = config->directions;
  eigen at, moved;
  ep_mat U, V;
  double L = 0, kappa = 0, *scratch;
  EP_TRY(new_eigen(&at, work, d));
  EP_TRY(new_eigen(&moved, work, d));
  EP_TRY(ep_work_mat(work, &U, EP_DOUBLE, K, d));
  EP_TRY(ep_work_mat(work, &V, EP_DOUBLE, K, d));
  EP_TRY(ep_work_get(work, &scratch, 2 * d, sizeof *scratch));
  EP_TRY(fill_eigen(&at, layer, w));
  draw_tangents(&U, w, seed, 3);
  o->ball = 0;
  for (size_t r = 0; r < sizeof radii / sizeof *radii; r++) {
    double worst = 0;
    turn(&V, w, &U, radii[r]);
    for (ptrdiff_t k = 0; k < K; k++) {
      EP_TRY(fill_eigen(&moved, layer, ep_d(&V, k, 0)));
      const double change = sqrt(ep_mat_distance2(&moved.A, &at.A));
      L = fmax(L, change / (2 * sin(radii[r] / 2)));
      if (change > 1e-12 * fabs(at.lambda[d - 1]))
        kappa = fmax(kappa, second_order(&at, &moved, change, scratch));
      worst = fmax(worst, omega(&moved, ep_d(&V, k, 0), L, kappa));
    }
    if (r == 0) o->irregularity = omega(&at, w, L, kappa);
    if (!(worst < 1)) break;
    o->ball = radii[r];
  }
  return EP_OK;
}

/* ---- */

static ep_status measure(ep_work *work, ep_optimum *o, const ep_layer *layer, const double *w,
                         const ep_optima_config *config, uint64_t seed) {
  EP_TRY(touching(work, &o->touching, layer, w));
  EP_TRY(spectrum(work, o, layer, w));
  EP_TRY(roughness(work, &o->roughness, layer, w, config, seed));
  if (o->roughness < 1e-12 * o->lambda) o->roughness = 0; /* rounding */
  EP_TRY(find_bounds(work, o, layer, w, config->step));
  o->theorem1 = o->maximal && o->gap > o->roughness;
  EP_TRY(push(work, o, layer, w, config, seed));
  o->irregularity = o->ball = NAN;
  return config->ball ? ball(work, o, layer, w, config, seed) : EP_OK;
}

ep_status ep_optimum_measure(ep_optimum *out, const ep_layer *layer, const double *w,
                             const ep_optima_config *config, uint64_t seed) {
  ep_work work = {0};
  const ep_status st = measure(&work, out, layer, w, config, seed);
  ep_work_free(&work);
  return st;
}
