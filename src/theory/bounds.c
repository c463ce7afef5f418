/* WIDE's bounds, each with the norm of x that its proof needs: c_in = max |x_j| entry by entry, x_2 = max |x|_2 where x
 * enters as a vector. (The paper has one c_in for both; with max |x_j| Lemmas 7 and 8 and the printed Lemma 16 are false.)
 *
 * All of them go back to one fact. u = f/(|f| + delta) has |u| <= 1 and |du/df|_2 <= 1/(|f| + delta) <= 1/delta, so
 * |ds/df(x)| <= 1/delta; a step of V or W sums 2 Q such terms an anchor. With the cosine on psi, delta' = sqrt(M) delta. */
#include <eigenpair/bounds.h>

#include <math.h>
#include <string.h>

/* ---- conditions, in the order in which they are reported */

enum {
  ONE_LAYER = 1,
  LIPSCHITZ = 2,
  SMOOTH = 4,      /* the Hessian: Lemmas 7, 8, Theorem 13 */
  ZERO = 8,        /* |phi(v'x)| <= L |v'x|: the step of W */
  SIMILARITY = 16, /* c_l is finite */
  COSINE = 32,
  DESCENT = 64,
  ORTHOGONAL = 128,
  GAP = 256
};
static const struct {
  unsigned bit;
  const char *why;
} conditions[] = {
    {ONE_LAYER, "it is for one hidden layer"},
    {LIPSCHITZ, "phi is not Lipschitz"},
    {SMOOTH, "phi is not smooth"},
    {ZERO, "phi(0) is not 0"},
    {SIMILARITY, "the loss is not a function of similarities"},
    {COSINE, "it is for cosine similarity"},
    {DESCENT, "it is for plain gradient descent (method gd)"},
    {ORTHOGONAL, "it is for W'W = I (methods grassmann and iterate)"},
    {GAP, "there is no known gap behind eigenvalue Z of C(0)"},
};

static unsigned met(const ep_bound_inputs *in) {
  return (in->depth == 1 ? ONE_LAYER : 0) | (isfinite(in->L) ? LIPSCHITZ : 0) |
         (isfinite(in->L) && isfinite(in->B) ? SMOOTH : 0) | (in->phi0 == 0 ? ZERO : 0) |
         (isfinite(in->c_l) ? SIMILARITY : 0) | (in->cosine ? COSINE : 0) |
         (in->descent ? DESCENT : 0) | (in->orthogonal ? ORTHOGONAL : 0) | (in->gap > 0 ? GAP : 0);
}

static const char *unmet(unsigned needs, const ep_bound_inputs *in) {
  const unsigned missing = needs & ~met(in);
  for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
    if (missing & conditions[i].bit) return conditions[i].why;
  return NULL;
}

/* ---- numbers as their log10 */

/* log10(10^a + 10^b) */
static double plus(double a, double b) {
  const double top = fmax(a, b);
  return top == -INFINITY ? top : top + log10(1 + pow(10, fmin(a, b) - top));
}

/* log10(e^y - 1) */
static double log10_expm1(double y) { return y > 40 ? y / M_LN10 : log10(expm1(y)); }

/* ---- how far weights move (Lemmas 11, 12) */

/* b1 = 4 eta c_l c_in Q sqrt(Z) L / delta, b2 = 4 eta c_l c_in Q D L / delta (the 4 can be 2) */
static double b1(const ep_bound_inputs *in) {
  return 4 * in->eta * in->c_l * in->c_in * in->Q * sqrt(in->Z) * in->L / in->delta;
}
static double b2(const ep_bound_inputs *in) {
  return 4 * in->eta * in->c_l * in->c_in * in->Q * in->D * in->L / in->delta;
}
static double b(const ep_bound_inputs *in) { return fmax(b1(in), b2(in)); }

/* |dV_ij| <= b1 max|W| / sqrt(M) */
static double lemma_11_V(const ep_bound_inputs *in) { return log10(b1(in) * in->w / sqrt(in->M)); }
/* |dW_ij| <= b2 max|V| / sqrt(M) */
static double lemma_11_W(const ep_bound_inputs *in) { return log10(b2(in) * in->v / sqrt(in->M)); }

/* c(0) ((1 + b/sqrt(M))^t - 1) */
static double lemma_12(const ep_bound_inputs *in) {
  return log10(in->c0) + log10_expm1(in->steps * log1p(b(in) / sqrt(in->M)));
}

/* ---- the Hessian and the tangent kernel (Lemmas 7, 8, Theorem 13) */

/* a1 = 4 B x_2^2 L, a2 = 4 L x_2 (1 + B x_2 s0). By hand: |H|_2 <= M^{-1/2} (max|W| B x_2^2 + L x_2) and
 * max|W| <= s0 + R, which is no more as long as 4 L >= 1. */
static double a1(const ep_bound_inputs *in) { return 4 * in->B * in->x_2 * in->x_2 * in->L; }
static double a2(const ep_bound_inputs *in) {
  return 4 * in->L * in->x_2 * (1 + in->B * in->x_2 * in->s0);
}

/* (a1 R + a2) / sqrt(M) */
static double lemma_7(const ep_bound_inputs *in) {
  return log10((a1(in) * in->R + a2(in)) / sqrt(in->M));
}

/* 2 |H| |df_z/dtheta| R, with the gradient on the way from theta(0) to theta(t) at most
 *   |df_z/dV|_F = M^{-1/2} |W_z phi'| |x| <= L x_2 (s0 + R/sqrt(M))
 *   |df_z/dW_z| = M^{-1/2} |phi(Vx)|     <= |phi(0)| + L x_2 (sqrt(D) v0 + R/sqrt(M)) */
static double lemma_8(const ep_bound_inputs *in) {
  const double moved = in->R / sqrt(in->M), scale = in->L * in->x_2;
  const double dV = scale * (in->s0 + moved);
  const double dW = in->phi0 + scale * (sqrt(in->D) * in->v0 + moved);
  return lemma_7(in) + log10(2 * hypot(dV, dW) * in->R);
}

/* 2 sqrt(2) D L c_in c(0) e^{b M^{a-1/2}} (a1 R^2 + a2 R) / sqrt(M), M^a = t, with Lemma 12's
 * R = c(0) sqrt(M) (sqrt(D) + sqrt(Z)) (e^{b M^{a-1/2}} - 1) */
static double theorem_13(const ep_bound_inputs *in) {
  const double root = sqrt(in->M), y = b(in) * in->steps / root;
  const double R = log10(in->c0 * root * (sqrt(in->D) + sqrt(in->Z))) + log10_expm1(y);
  const double gradient = log10(2 * sqrt(2) * in->D * in->L * in->c_in * in->c0) + y / M_LN10;
  return gradient + plus(log10(a1(in)) + 2 * R, log10(a2(in)) + R) - log10(root);
}

/* ---- C and its PCA (Lemmas 16, 17); c_l is 1 in the paper's loss */

/* 16 eta Q^2 L^2 c_in^2 sqrt(D) / delta^2 t/sqrt(M): the proof loses a sqrt(D) between |dV_ij| and |dV|_F */
static double lemma_16_printed(const ep_bound_inputs *in) {
  const double k = in->Q * in->L * in->c_in / in->delta;
  return log10(16 * in->eta * in->c_l * k * k * sqrt(in->D) * in->steps / sqrt(in->M));
}
/* 16 eta Q^2 L^2 c_in^2 D / delta^2 t/sqrt(M) */
static double lemma_16(const ep_bound_inputs *in) {
  return lemma_16_printed(in) + log10(in->D) / 2;
}
/* 4 eta Q^2 L^2 x_2^2 / delta^2 t/M. Proof: one step moves V by |dV|_F <= 2 eta Q c_l L x_2 / delta', since
 * |d(u_x'u_y)/dphi(Vx)| = |(dpsi/dphi)' WW'psi_y| <= 1/delta'; and |dpsi| <= L |dV|_F x_2 / delta', so that C, a mean of
 * Q products psi psi' with |psi| <= 1, moves by at most 2 Q L x_2 |dV|_F / delta'. */
static double lemma_16_sharp(const ep_bound_inputs *in) {
  const double k = in->Q * in->L * in->x_2 / in->delta;
  return log10(4 * in->eta * in->c_l * k * k * in->steps / in->M);
}

/* z t/sqrt(M) (1 + xi log M / gap), z = 4 eta Q sqrt(D) L^2 x_2^2 / delta, xi = 2^{7/2} Q D x_2 (L c + |phi(0)|) / delta,
 * c = max|V(0)| / log M. The proof needs |phi(V(0)x)|/sqrt(M) <= |phi(0)| + L D x_2 max|V(0)|, which is xi log M's
 * bracket only if D x_2 log M >= 1: hence the fmax. */
static double lemma_17(const ep_bound_inputs *in) {
  const double z =
      4 * in->eta * in->c_l * in->Q * sqrt(in->D) * pow(in->L * in->x_2, 2) / in->delta;
  const double norm =
      in->L * in->D * in->x_2 * in->v0 + in->phi0 * fmax(1, in->D * in->x_2 * log(in->M));
  const double xi_log_M = 8 * sqrt(2) * in->Q * norm / in->delta;
  return log10(z * in->steps / sqrt(in->M) * (1 + xi_log_M / in->gap));
}

/* ---- the table */

#define WEIGHTS (ONE_LAYER | LIPSCHITZ | SIMILARITY | COSINE | DESCENT)
#define PCA     (ONE_LAYER | LIPSCHITZ | SIMILARITY | COSINE | ORTHOGONAL)
const ep_bound ep_bounds[EP_BOUNDS] = {
    {"Lemma 11 V", EP_BOUND_STEP_V, WEIGHTS, lemma_11_V},
    {"Lemma 11 W", EP_BOUND_STEP_W, WEIGHTS | ZERO, lemma_11_W},
    {"Lemma 12", EP_BOUND_WEIGHTS, WEIGHTS | ZERO, lemma_12},
    {"Lemma 7", EP_BOUND_HESSIAN, ONE_LAYER | SMOOTH, lemma_7},
    {"Lemma 8", EP_BOUND_KERNEL, ONE_LAYER | SMOOTH, lemma_8},
    {"Theorem 13", EP_BOUND_KERNEL, WEIGHTS | ZERO | SMOOTH, theorem_13},
    {"Lemma 16 (as printed)", EP_BOUND_COVARIANCE, PCA, lemma_16_printed},
    {"Lemma 16 (D for sqrt D)", EP_BOUND_COVARIANCE, PCA, lemma_16},
    {"Lemma 16 sharp", EP_BOUND_COVARIANCE, PCA, lemma_16_sharp},
    {"Lemma 17", EP_BOUND_REPRESENTATION, PCA | GAP, lemma_17},
};

const ep_bound *ep_bound_find(const char *name) {
  for (int i = 0; i < EP_BOUNDS; i++)
    if (strcmp(ep_bounds[i].name, name) == 0) return &ep_bounds[i];
  return NULL;
}

double ep_bound_log10(const char **why, const ep_bound *bound, const ep_bound_inputs *in) {
  const char *missing = unmet(bound->needs, in);
  if (why) *why = missing;
  return missing ? NAN : bound->log10(in);
}

/* ---- bound and measurement side by side */

static void judge(ep_bound_result *r, const ep_bound_inputs *in) {
  r->log10_bound = ep_bound_log10(&r->why, r->bound, in);
  if (r->why) return;
  r->holds = log10(fmax(r->measured.value - r->measured.rounding, 0)) <= r->log10_bound;
  r->vacuous = r->log10_bound >= log10(r->measured.ceiling);
}

ep_status ep_bounds_check(ep_bound_result out[EP_BOUNDS], const ep_bound_run *run) {
  ep_bound_inputs in;
  ep_measured known[EP_BOUND_QUANTITIES];
  bool measured[EP_BOUND_QUANTITIES] = {false};
  EP_TRY(ep_bound_inputs_from(&in, run));
  for (int i = 0; i < EP_BOUNDS; i++) {
    const ep_bound_quantity what = ep_bounds[i].what;
    out[i] = (ep_bound_result){.bound = &ep_bounds[i], .measured = {NAN, INFINITY, 0, NAN}};
    EP_TRY(ep_run_step("bounds", i, EP_BOUNDS));
    if (unmet(ep_bounds[i].needs & ~(unsigned)GAP, &in)) continue;
    if (!measured[what]) EP_TRY(ep_bound_measure(&known[what], what, run));
    measured[what] = true;
    out[i].measured = known[what];
    if (what == EP_BOUND_REPRESENTATION) in.gap = known[what].gap;
  }
  for (int i = 0; i < EP_BOUNDS; i++) judge(&out[i], &in);
  return EP_OK;
}

static json_t *row_to_json(const ep_bound_result *r) {
  char note[256] = "";
  const char *ceiling = ep_bound_ceiling_name(r->bound->what);
  if (r->why) snprintf(note, sizeof note, "does not apply: %s", r->why);
  else if (!r->holds) snprintf(note, sizeof note, "does not hold");
  else if (r->vacuous) snprintf(note, sizeof note, "says nothing: it is not below %s", ceiling);
  return json_pack("{ss, ss, so, so, so, so, so, so, ss}", "name", r->bound->name, "bounds",
                   ep_bound_quantity_name(r->bound->what), "log10_bound",
                   ep_json_number(r->log10_bound), "measured", ep_json_number(r->measured.value),
                   "log10_measured", ep_json_number(log10(r->measured.value)), "ceiling",
                   ep_json_number(r->measured.ceiling), "holds",
                   r->why ? json_null() : json_boolean(r->holds), "vacuous",
                   r->why ? json_null() : json_boolean(r->vacuous), "note", note);
}

ep_status ep_bounds_to_json(json_t **out, const ep_bound_result results[EP_BOUNDS]) {
  *out = json_array();
  for (int i = 0; i < EP_BOUNDS; i++)
    if (!*out || json_array_append_new(*out, row_to_json(&results[i]))) {
      json_decref(*out);
      *out = NULL;
      return EP_FAIL(EP_ERR_NOMEM, "no memory for the table of bounds");
    }
  return EP_OK;
}
