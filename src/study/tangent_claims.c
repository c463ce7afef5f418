/* The claims of TANGENT: linearised networks (Lee), the Gaussian-process limit (Neal), learnability (Simon). */
#include "study/tangent_claims.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <stdio.h>

const double tangent_memory = 1e9;

ep_net_config tangent_network(const char *phi, long width, long depth) {
  ep_net_config c;
  ep_options_default(ep_net_options, &c);
  snprintf(c.activation, sizeof c.activation, "%s", phi);
  c.width = width, c.depth = depth, c.outputs = 1;
  return c;
}

ep_status tangent_kernel(ep_domain_kernel *k, const char *phi, int depth, double bias) {
  *k = (ep_domain_kernel){.kind = EP_NTK, .radius = 1};
  k->network = (ep_analytic){.depth = depth, .input_scale = 1};
  ep_options_default(ep_analytic_options, &k->network.config);
  k->network.config.bias_variance = bias;
  return ep_activation_parse(&k->network.phi, phi);
}

ep_status tangent_points(ep_work *work, ep_mat *X, ptrdiff_t n, ptrdiff_t D, long seed,
                         uint32_t sub) {
  EP_TRY(ep_work_mat(work, X, EP_DOUBLE, n, D));
  ep_random_fill_normal(X, (uint64_t)seed, EP_STREAM_DATA, sub);
  ep_scale_to_unit(X);
  return EP_OK;
}

ep_status tangent_line(json_t *figure, const char *name, const double *x, const double *y,
                       ptrdiff_t count, bool dashed) {
  return ep_figure_add(
      figure, &(ep_series){.name = name, .count = count, .x = x, .y = y, .dashed = dashed});
}
ep_status tangent_figure(ep_claim_result *r, json_t *figure, ep_status st) {
  if (!st) return ep_claim_figure(r, figure);
  json_decref(figure);
  return st;
}

const ep_claim ep_claims_tangent[] = {
    {"tangent-lee",
     "TANGENT Thm 2.1",
     "outputs, parameters and kernel of a wide network stay within O(M^-1/2) of its linearisation",
     "exponents over widths at most -0.35, the parameters' within 0.1 of -0.5",
     tangent_lee,
     {4, 14, 150},
     .outcome = "pass"},
    {"tangent-rate",
     "TANGENT eta_crit",
     "descent converges below the critical rate and not far above it",
     "linear model: below 2/lambda_max converges (to 1e-3 of the loss), above does not; network: "
     "below converges, at three times diverges; every seed",
     tangent_rate,
     {2, 12, 50},
     .outcome = "pass"},
    {"tangent-nngp",
     "TANGENT A.1 (Neal)",
     "outputs of random wide networks are a Gaussian process with the NNGP kernel",
     "error of the covariance falls as draws^-1/2 (exponent within 0.15) at one hidden layer; "
     "deeper: less bias for wider",
     tangent_nngp,
     {3, 12, 50},
     .outcome = "pass"},
    {"tangent-nofreelunch",
     "TANGENT Thm 2.2, Lemma 4.1",
     "learnabilities sum to n; raising one eigenvalue lowers the learnability of all others",
     "sum = rank of K(D,D) to 1e-8, = n with two layers or biases; no derivative of the wrong sign",
     tangent_nofreelunch,
     {1, 1, 1},
     .outcome = "pass"},
    {"tangent-predict",
     "Simon 2021",
     "eigenvalues alone predict the test error of kernel regression and of wide networks",
     "test error within 10 % and learnability within 0.05 of kernel regression for n >= 30 on cube "
     "and sphere; error of networks of width 1,024 within 15 %",
     tangent_predict,
     {6, 25, 25},
     .outcome = "pass"},
    {0}};
