#include "model/activation_loops.h"

#include <eigenpair/activation.h>
#include <eigenpair/options.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void loop(void *out, const void *in, ptrdiff_t n, double p);
typedef void two_loop(void *value, void *slope, const void *in, ptrdiff_t n, double p);

struct ep_activation_kind {
  const char *name;
  double def, lo, hi; /* of the parameter; lo = hi: there is none */
  double (*lipschitz)(double p), (*smoothness)(double p), (*degree)(double p), (*jump)(double p);
  bool mirrored;
  loop *const *value[2], *const *slope[2], *const *curve[2]; /* by precision and level */
  two_loop *const *both[2];
};

#define X(name, DEGREE, JUMP, MIRRORED, def, lo, hi, L, B, value, slope, curve) \
  static double lipschitz_##name(double p) { return (void)p, (L); }             \
  static double smoothness_##name(double p) { return (void)p, (B); }            \
  static double degree_##name(double p) { return (void)p, (DEGREE); }           \
  static double jump_##name(double p) { return (void)p, (JUMP); }
EP_ACTIVATIONS(X, X)
#undef X

static const ep_activation_kind kinds[] = {
#define X(name, DEGREE, JUMP, MIRRORED, def, lo, hi, L, B, value, slope, curve) \
  {#name,                                                                       \
   def,                                                                         \
   lo,                                                                          \
   hi,                                                                          \
   lipschitz_##name,                                                            \
   smoothness_##name,                                                           \
   degree_##name,                                                               \
   jump_##name,                                                                 \
   MIRRORED,                                                                    \
   {ep_act_value_##name##_s_of, ep_act_value_##name##_d_of},                    \
   {ep_act_slope_##name##_s_of, ep_act_slope_##name##_d_of},                    \
   {ep_act_curve_##name##_s_of, ep_act_curve_##name##_d_of},                    \
   {ep_act_both_##name##_s_of, ep_act_both_##name##_d_of}},
    EP_ACTIVATIONS(X, X)
#undef X
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *ep_activation_name(int i) { return i < KINDS ? kinds[i].name : NULL; }

ep_status ep_activation_parse(ep_activation *out, const char *text) {
  int i = 0;
  const char *parameter;
  EP_TRY(ep_options_name(&i, &parameter, "activation", text, ep_activation_name));
  *out = (ep_activation){.kind = &kinds[i], .parameter = kinds[i].def};
  if (!parameter) return EP_OK;
  EP_CHECK(kinds[i].lo < kinds[i].hi, EP_ERR_ARG, "activation %s takes no parameter",
           kinds[i].name);
  char *end;
  const double p = strtod(parameter, &end);
  EP_CHECK(end != parameter && !*end && p >= kinds[i].lo && p <= kinds[i].hi, EP_ERR_ARG,
           "activation '%s': the parameter is a number from %g to %g", text, kinds[i].lo,
           kinds[i].hi);
  EP_CHECK(out->kind->value[0] != ep_act_value_monomial_s_of || p == floor(p), EP_ERR_ARG,
           "activation '%s': the power is a whole number", text);
  out->parameter = p;
  return EP_OK;
}

const char *ep_activation_label(const ep_activation *phi) { return phi->kind->name; }

/* the shortest number that is read back as the same */
void ep_activation_text(char text[64], const ep_activation *phi) {
  const ep_activation_kind *k = phi->kind;
  if (k->lo >= k->hi) {
    snprintf(text, 64, "%s", k->name);
    return;
  }
  const int n = snprintf(text, 64, "%s:%.15g", k->name, phi->parameter);
  if (n > 0 && strtod(strchr(text, ':') + 1, NULL) != phi->parameter)
    snprintf(text, 64, "%s:%.17g", k->name, phi->parameter);
}

bool ep_activation_equal(const ep_activation *a, const ep_activation *b) {
  return a->kind == b->kind && a->parameter == b->parameter;
}

double ep_activation_lipschitz(const ep_activation *phi) {
  return phi->kind->lipschitz(phi->parameter);
}
double ep_activation_degree(const ep_activation *phi) { return phi->kind->degree(phi->parameter); }
double ep_activation_jump(const ep_activation *phi) { return phi->kind->jump(phi->parameter); }
bool ep_activation_mirrored(const ep_activation *phi) { return phi->kind->mirrored; }
bool ep_activation_is_linear(const ep_activation *phi) {
  return phi->kind->mirrored && ep_activation_jump(phi) == 0;
}

double ep_activation_smoothness(const ep_activation *phi) {
  return phi->kind->smoothness(phi->parameter);
}

double ep_activation_value(const ep_activation *phi, double a) {
  double h;
  phi->kind->value[EP_DOUBLE][ep_level](&h, &a, 1, phi->parameter);
  return h;
}

double ep_activation_slope(const ep_activation *phi, double a) {
  double s;
  phi->kind->slope[EP_DOUBLE][ep_level](&s, &a, 1, phi->parameter);
  return s;
}

double ep_activation_curve(const ep_activation *phi, double a) {
  double c;
  phi->kind->curve[EP_DOUBLE][ep_level](&c, &a, 1, phi->parameter);
  return c;
}

static void by_rows(const ep_mat *out, loop *f, const ep_mat *A, double p) {
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const ep_mat to = ep_mat_rows(out, i, 1), from = ep_mat_rows(A, i, 1);
    f(to.data, from.data, A->cols, p);
  }
}

void ep_activation_values(const ep_mat *H, const ep_activation *phi, const ep_mat *A) {
  by_rows(H, phi->kind->value[A->prec][ep_level], A, phi->parameter);
}

void ep_activation_slopes(const ep_mat *S, const ep_activation *phi, const ep_mat *A) {
  by_rows(S, phi->kind->slope[A->prec][ep_level], A, phi->parameter);
}

void ep_activation_curves(const ep_mat *C, const ep_activation *phi, const ep_mat *A) {
  by_rows(C, phi->kind->curve[A->prec][ep_level], A, phi->parameter);
}

void ep_activation_both(const ep_mat *H, const ep_mat *S, const ep_activation *phi,
                        const ep_mat *A) {
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const ep_mat h = ep_mat_rows(H, i, 1), s = ep_mat_rows(S, i, 1), a = ep_mat_rows(A, i, 1);
    phi->kind->both[A->prec][ep_level](h.data, s.data, a.data, A->cols, phi->parameter);
  }
}
