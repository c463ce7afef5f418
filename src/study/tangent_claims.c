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
  ep_options_default(ep_variance_options, &k->network.config);
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
     "TANGENT Theorem 2.1, B.3",
     "outputs, parameters and kernel of a wide network stay within O(M^-1/2) of its linearisation",
     "erf, tanh, relu; one to three hidden layers; one to three outputs: exponents over widths at "
     "most -0.35 with their 95 % intervals below -0.25; the parameters' within 0.1 of -0.5 (deep "
     "networks: at the larger sizes, for three runs to width 256 cannot tell)",
     tangent_lee,
     {8, 60, 600},
     .control = "targets that grow as sqrt M, and R_0 with them: the criterion must not be met",
     .mutation = "src/theory/lee.c: `ep_mat_axpy(&l->c, -l->rate, &l->F);` becomes "
                 "`ep_mat_axpy(&l->c, -2 * l->rate, &l->F);`",
     .outcome = "pass"},
    {"tangent-bounds",
     "TANGENT Lemma B.1, Theorem B.2, eq. 30, 120",
     "with K of Lemma B.1 and R_0 the loss falls as (1 - eta lambda/3)^t, path and kernel stay "
     "within their bounds, and so does the distance of network and linearisation, step by step",
     "measurement at most the bound for eq. 57, 58, 59, 30 (a step, and summed) and 120: every "
     "width, seed and step; erf, tanh, relu, one to three hidden layers, one to three outputs",
     tangent_bounds,
     {4, 15, 40},
     .control = "1.2 times the critical rate: eq. 57 must fail",
     .mutation = "src/theory/lee.c: `ep_mat_axpy(&d->net.theta, -rate, &d->gradient.theta);` "
                 "becomes `ep_mat_axpy(&d->net.theta, -3 * rate, &d->gradient.theta);`",
     .outcome = "pass"},
    {"tangent-rate",
     "TANGENT eta_crit",
     "descent converges below the critical rate and not far above it",
     "linear model: below 2/lambda_max converges (to 1e-3 of the loss), above does not; network: "
     "below converges, at three times diverges; every seed",
     tangent_rate,
     {2, 12, 50},
     .control =
         "rates above the limit: the linear model must not converge, nor the network at three "
         "times it",
     .mutation = "src/kernel/squared.c: `{ return 2 / s->lambda[s->U.rows - 1]; }` becomes `{ "
                 "return 3 / s->lambda[s->U.rows - 1]; }`",
     .outcome = "pass"},
    {"tangent-loss",
     "TANGENT section 6 (open)",
     "Open: why do f and f_lin agree less under cross-entropy than under squared loss? How far are "
     "they apart, over width and time?",
     "a question: the distances over width and time, with their intervals, are the answer, once "
     "the control comes out",
     tangent_loss,
     {5, 40, 300},
     .control = "squared loss: over the last third of the logarithm of time the distance must grow "
                "by less than a tenth of what it grows by under cross-entropy, in every network of "
                "the largest width",
     .mutation =
         "src/theory/lee.c: `*ep_d(F, i, z) = -y / (1 + exp(a));` becomes `*ep_d(F, i, z) -= y;`",
     .question = true,
     .outcome = "answered"},
    {"tangent-target",
     "TANGENT section 6 (open)",
     "Open: how does the agreement of network and linearisation hang on where the target lies in "
     "the kernel's spectrum?",
     "a question: the distance for targets along eigenvectors, against their norm sqrt(y'K^-1 y), "
     "is the answer, once the control comes out",
     tangent_target,
     {2, 15, 60},
     .control = "the last eigenvector, shortened to the norm of the first: the distance must fall "
                "by more than its length does",
     .mutation = "src/theory/lee.c: `at->outputs = sqrt(ep_mat_norm2(&l->f));` becomes "
                 "`at->outputs = 1 + sqrt(ep_mat_norm2(&l->f));`",
     .question = true,
     .outcome = "answered"},
    {"tangent-nngp",
     "TANGENT A.1 (Neal)",
     "outputs of random networks become a Gaussian process as the layer grows wide",
     "excess kurtosis within 5 standard errors of 3 (E h^4/(E h^2)^2 - 1)/H for erf, tanh, relu "
     "and "
     "H = 1, 4, 16, and tanh with biases; three hidden layers of each: less at width 64 than at 4, "
     "by 3 standard errors",
     tangent_nngp,
     {2, 8, 30},
     .control = "H = 1: the kurtosis must differ from a normal one's by 5 standard errors",
     .mutation = "src/model/network.c: `draw(ep_net_weights(out, l), shape.standard ? "
                 "root_of_layer(&shape, l) : 1, seed, l);` becomes `draw(ep_net_weights(out, l), "
                 "2, seed, 0);`",
     .outcome = "pass"},
    {"tangent-ensemble",
     "TANGENT A.1, eq. 5 (Neal, Lee)",
     "trained wide networks are a Gaussian process: its mean and variance in closed form",
     "targets of the norm that the NNGP gives: mean over networks within two standard errors of "
     "the limit (in the mean of squares over new points), variance within a factor of 1.5: all "
     "layers trained against Lee's limit, the last one alone against the posterior of the NNGP; "
     "and the difference of the two ways, network by network, along that of the limits: 1 of it "
     "within three standard errors; erf, and two layers of tanh with biases",
     tangent_ensemble,
     {2, 8, 60},
     .control = "the same networks before training: mean or variance must be off; one limit for "
                "both ways: the difference must be above 0 by more than three standard errors",
     .mutation = "src/theory/regression.c: `variance[i] -= *ep_d(&V, j, i)` becomes `variance[i] "
                 "+= *ep_d(&V, j, i)`",
     .outcome = "pass"},
    {"tangent-nofreelunch",
     "TANGENT Thm 2.2, Lemma 4.1",
     "learnabilities sum to n; raising one eigenvalue lowers the learnability of all others",
     "sum = rank of K(D,D) to 1e-8, = n with two layers or biases; no derivative of the wrong sign "
     "(off the diagonal an identity: minus a square); erf and tanh: least eigenvalue above 1e-6 of "
     "the largest but for opposite points without biases (below 1e-12)",
     tangent_nofreelunch,
     {1, 1, 1},
     .control = "one relu layer without biases on the circle: the sum must not be n; erf and tanh "
                "without biases on opposite points: the kernel must be singular",
     .mutation = "src/theory/measure.c: `T *= d->value[first + j];` becomes `T *= 1.01 * "
                 "d->value[first + j];`",
     .outcome = "pass"},
    {"tangent-general",
     "TANGENT eq. 6 to 8, Lemma 1 (e)",
     "learnability is in [0,1] and never falls as data are added",
     "all eigenfunctions: within [0,1], and no fall at any of 63 steps, to 1e-8; they and any "
     "other "
     "orthogonal basis add up to n",
     tangent_general,
     {1, 5, 20},
     .control = "random functions, no eigenfunctions: they must leave [0,1] or fall",
     .mutation = "src/theory/regression.c: `*ep_d(L, i, i) += ridge;` becomes `*ep_d(L, i, i) += "
                 "ridge + 1;`",
     .outcome = "pass"},
    {"tangent-modes",
     "TANGENT section 6 (Simon Fig. 2c)",
     "on the 7-sphere all but the top few modes are far from learnt even with 2^8 points",
     "every degree within 0.05 of lambda/(lambda + kappa) for n = 8 to 256; n = 256: every degree "
     "past the 256 modes that there is room for (from 4 on) below 1/4",
     tangent_modes,
     {3, 12, 40},
     .control = "the spectrum of one hidden layer: its prediction must be off by more than 0.05",
     .mutation = "src/theory/learnability.c: `s->value[k] / (s->value[k] + kappa);` becomes "
                 "`s->value[k] / (s->value[k] + 2 * kappa);`",
     .outcome = "pass"},
    {"tangent-predict",
     "Simon 2021, TANGENT section 5",
     "eigenvalues alone predict the test error of kernel regression and of wide networks",
     "test error within 10 % of kernel regression for n >= 30 on cube and sphere, learnability "
     "within 0.05 there and on the circle; error of networks of width 1,024 within 15 %",
     tangent_predict,
     {8, 30, 60},
     .control = "networks of width 20: their error must be off by more than 15 %",
     .mutation = "src/theory/learnability.c: `s->value[k] / (s->value[k] + kappa);` becomes "
                 "`s->value[k] / (s->value[k] + 2 * kappa);`",
     .outcome = "pass"},
    {"tangent-finite",
     "TANGENT section 6 (open)",
     "Open: finite networks often do better than their infinite-width limit, and yet improve with "
     "width: where, on the same training sets?",
     "a question: errors over those of the limit, by target and width, with their intervals, are "
     "the answer (if nowhere, it says so), once the control comes out",
     tangent_finite,
     {4, 40, 120},
     .control =
         "no linearisation of these networks at width 20 may do better than the limit by two "
         "standard errors at any target, and at degree 1 they must do worse by as much",
     .mutation = "src/kernel/dual_double.c: `theta[k] = w * (S[k] + theta[k] * slope[k]) + b;` "
                 "becomes `theta[k] = w * theta[k] * theta[k] * slope[k] + b;`",
     .question = true,
     .outcome = "answered"},
    {"tangent-slips",
     "TANGENT eq. 22, 49, 79, 84, 127, 154, proof of Lemma 1 (e)",
     "the formulas and the proof as they are printed",
     "each formula as corrected within what is allowed (identities to rounding, bounds kept)",
     tangent_slips,
     {1, 1, 1},
     .control = "each formula as printed: its error must be above what is allowed",
     .mutation = "src/theory/regression.c: `*ep_d(L, i, i) += ridge;` becomes `*ep_d(L, i, i) += "
                 "ridge + 1;`",
     .outcome = "pass"},
    {0}};
