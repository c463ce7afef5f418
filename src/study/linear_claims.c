/* The claims of LINEAR. */
#include "study/linear_claims.h"

const ep_claim ep_claims_linear[] = {
    {"linear-fig1",
     "LINEAR Fig. 1, Example 1",
     "Half moons, tanh, two outputs: without a constraint the loss diverges and the representation "
     "collapses to a line; with orthonormal weights, or the scaled loss, neither happens.",
     "without: second over first singular value below 0.05 and a loss 100 times the orthogonal "
     "one; with: above 0.2 and settled to 1 %",
     linear_fig1,
     {2, 10, 50},
     .control = "bounded Frobenius norms, which settle as well: second over first singular value "
                "must fall below 0.2",
     .mutation = "src/theory/descent.c: `- c * a[i][r] * b[i][k]) / product;` becomes `+ c * "
                 "a[i][r] * b[i][k]) / product;`",
     .outcome = "pass"},
    {"linear-fig2",
     "LINEAR Fig. 2, Theorem 1",
     "With width, tanh networks come close to linear ones, at the start within Theorem 1's bound, "
     "and trained; so do relu networks, more slowly; sigmoid networks drift away.",
     "tanh: the difference with the paper's rate and epochs, and, trained for longer, the relative "
     "difference and the share of the output outside its best linear map fall with exponents below "
     "-0.3; sigmoid, trained for longer: the difference grows above 0.3, all with their 95 % "
     "intervals; start of tanh within the bound, K fitted at the least width; the control's share "
     "does not fall",
     linear_fig2,
     {6, 60, 130},
     .control =
         "relu, whose phi'' is not bounded: the share outside its best linear map must not fall "
         "(95 % interval of the exponent above -0.2)",
     .mutation = "src/theory/descent.c: `set_scaled(&d->G[i], i ? root : 1,` becomes "
                 "`set_scaled(&d->G[i], 1,`",
     .outcome = "pass"},
    {"linear-conj1",
     "LINEAR Conjecture 1",
     "If phi(0) = 0 and phi'(0) = 1, linear and nonlinear network stay together for every t > 0 as "
     "the width grows.",
     "centred softplus: at t = 1 the difference and the share outside any linear map fall with "
     "exponents below -0.3, 95 % intervals below 0, and the relative difference falls; every run "
     "parts from all linear maps (a "
     "twentieth outside) before the end (t = 40, at larger sizes 80 and 160), at a time whose "
     "slope in log "
     "h has its 95 % "
     "interval above 0; at "
     "the end the share does not fall (above -0.2); the control's does",
     linear_conj1,
     {8, 60, 600},
     .control =
         "tanh: at the largest width it must not part, and its share outside any linear map at "
         "the end must fall",
     .mutation = "src/theory/descent.c: `set_scaled(&d->G[i], i ? root : 1,` becomes "
                 "`set_scaled(&d->G[i], 1,`",
     .outcome = "pass"},
    {"linear-fig3",
     "LINEAR Fig. 3, Theorem 2",
     "Loss and outputs of gradient descent and of the equation converge to the same values, "
     "whatever the width.",
     "last losses equal to 1e-6, outputs for z = 1 too; q within 0.05 on the way at rate 0.01; eq. "
     "10 with the nearest orthonormal matrix ends at the same loss to 1e-6; the control is off",
     linear_fig3,
     {4, 10, 20},
     .control =
         "eq. 11 as printed, without the 2 of eq. 8, at the same rate: its loss must be behind "
         "by more than 0.05 on the way",
     .mutation = "src/spectral/linear_flow.c: `slope(&dq, 2, 0, f, &q);` becomes `slope(&dq, 1, 0, "
                 "f, &q);`",
     .outcome = "pass"},
    {"linear-fig4",
     "LINEAR Fig. 4, Conjecture 2",
     "The span of q tends to that of the z most negative eigenvectors.",
     "projections and singular values 1 to 1e-6 for z = 1, 2, 3",
     linear_fig4,
     {1, 2, 4},
     .control = "a spectrum with one negative eigenvalue, the others turned round: two and three "
                "outputs must stay more than 0.1 away",
     .mutation = "src/spectral/linear_flow.c: `= 2 * (i == j) - *ep_d(&f->G, i, j);` becomes `= "
                 "1.5 * (i == j) - *ep_d(&f->G, i, j);`",
     .outcome = "pass"},
    {"linear-fig5",
     "LINEAR Fig. 5",
     "A step of the equation is much faster than one of descent and does not depend on the width; "
     "a linear SVM does as well on either embedding.",
     "mean test accuracies of the two within 0.02 at every width (times are reported, not judged: "
     "they are the machine's); the control's is below",
     linear_fig5,
     {4, 120, 400},
     .control = "the random start: its accuracy must be more than 0.02 below that of the equation",
     .mutation = "src/spectral/linear.c: `ep_mat_mul(B, 1, &l->U, EP_N, q, EP_N, 0);` becomes "
                 "`ep_mat_mul(B, 1, &l->U, EP_T, q, EP_N, 0);`",
     .outcome = "pass"},
    {"linear-fig6",
     "LINEAR Fig. 6, Theorems 2 and 3",
     "One, two and three hidden layers behave alike and end at the most negative eigenvector.",
     "that eigenvector to 1e-6 at every depth, within 0.05 of the equation on the way; with all "
     "eigenvalues positive q goes to 0, to 1e-6",
     linear_fig6,
     {1, 2, 4},
     .control = "eq. 11 as printed, without the 2 of eq. 8, at the same rate: its loss must be "
                "behind by more than 0.05 at every depth",
     .mutation = "src/spectral/linear_flow.c: `slope(&dq, 2, 0, f, &q);` becomes `slope(&dq, 1, 0, "
                 "f, &q);`",
     .outcome = "pass"},
    {"linear-prop1",
     "LINEAR Prop. 1",
     "Every output of an unconstrained linear model has the same dynamics: all turn to the most "
     "negative eigenvector.",
     "second over first singular value below 1e-6, at the rate -2(lambda_2 - lambda_1) to 1 %; "
     "descent follows exp(-2Ct) to first order in its rate",
     linear_prop1,
     {1, 1, 1},
     .control = "the same starts with orthonormal weights (eq. 8): second over first singular "
                "value must stay above 0.1",
     .mutation = "src/spectral/linear_flow.c: `- 2 * lambda[i] * t - *log_scale;` becomes `- "
                 "lambda[i] * t - *log_scale;`",
     .outcome = "pass"},
    {"linear-prop2",
     "LINEAR Prop. 2",
     "Frobenius norms do not prevent collapse.",
     "loss = lambda_1 to 1e-6 and second over first singular value below 1e-3",
     linear_prop2,
     {1, 1, 1},
     .control = "orthonormal weights in the place of bounded norms: second over first singular "
                "value must stay above 0.1",
     .mutation = "src/theory/descent.c: `d->config.radius / norm - 1,` becomes `2 * "
                 "d->config.radius / norm - 1,`",
     .outcome = "pass"},
    {"linear-prop3",
     "LINEAR Prop. 3",
     "Scaled loss, bounded spectral norms, bounded product and orthonormal weights have one "
     "optimum.",
     "all four reach the sum of the most negative eigenvalues to 1e-6, the fourth also for a "
     "diagonal C and a rotated one of one spectrum; the control does not",
     linear_prop3,
     {4, 8, 16},
     .control = "plain gradient and QR on a rotated C: it must stop short by more than 1e-3",
     .mutation = "src/theory/descent.c: `ep_mat_mul(G, -1, W, EP_N, &A, EP_N, 1);` becomes "
                 "`ep_mat_mul(G, 0, W, EP_N, &A, EP_N, 1);`",
     .outcome = "pass"},
    {"linear-noncontrastive",
     "LINEAR section 5",
     "The same with positives only.",
     "collapse without a constraint below 1e-6; optimum and spans with orthonormal weights to 1e-6",
     linear_noncontrastive,
     {1, 3, 6},
     .control = "C with the sign as printed in section 5: the equation must end more than 0.5 away "
                "from the spans",
     .mutation = "src/spectral/linear_flow.c: `= 2 * (i == j) - *ep_d(&f->G, i, j);` becomes `= "
                 "1.5 * (i == j) - *ep_d(&f->G, i, j);`",
     .outcome = "pass"},
    {"linear-lemma1",
     "LINEAR Lemma 1",
     "In the limit of infinite width the gradients of different outputs are orthogonal, and those "
     "of "
     "one output give a kernel, to which (so the proof) the first layer adds nothing.",
     "K_12 falls with exponent below -0.3, 95 % interval below 0, for linear, relu and tanh; the "
     "first layer's part of K_11 does not fall (above -0.1) and is more than a fifth of it",
     linear_lemma1,
     {1, 3, 6},
     .control = "the first layer's part of K_11, by the rule for K_12: it must not fall",
     .mutation = "src/kernel/empirical.c: `w->layout == EP_FULL ? z + 1 : 1);` becomes `1);`",
     .outcome = "pass"},
    {"linear-prop1-wide",
     "LINEAR Prop. 1, section 2.2",
     "Wide networks and kernels collapse as linear models do.",
     "RankMe of five outputs below 1.1 at the end, for the kernels of relu, tanh and centred "
     "softplus and for an unconstrained wide relu network; the control's is above 2",
     linear_prop1_wide,
     {3, 15, 60},
     .control = "the same network with W_i'W_i = I: it must not collapse",
     .mutation = "src/spectral/rank.c: `return exp(entropy);` becomes `return 1 + exp(entropy);`",
     .outcome = "pass"},
    {"linear-remark2",
     "LINEAR Remark 2",
     "InfoNCE resembles the linear loss, so that a linear model's outputs decouple and collapse "
     "under it, too; under the spectral loss they remain coupled.",
     "RankMe of five outputs at the end of long runs on three data sets: linear below 1.1; "
     "spectral above 1.5, and, against the inference, InfoNCE (softmax, NT-Xent) as well",
     linear_remark2,
     {5, 140, 1400},
     .control = "the linear loss, which Prop. 1 proves to collapse: by the rule for the others it "
                "must fail",
     .mutation = "src/objective/pair_losses.c: `ds[q] /= sum * tau;` becomes `ds[q] = 1;`",
     .outcome = "pass"},
    {"linear-remark3",
     "LINEAR Remark 3",
     "With a fixed projection, u(x) = A Theta x, all components have identical dynamics, and hence "
     "collapse.",
     "RankMe of three outputs below 1.01 at the end for a random A and for one with orthonormal "
     "rows; the control's is above 2; components that start equal stay so (1e-12) with orthonormal "
     "rows and, against the remark, part by more than 0.01 in ten steps with a random A",
     linear_remark3,
     {1, 3, 6},
     .control = "three outputs with orthonormal weights: they must not collapse",
     .mutation = "src/spectral/rank.c: `return exp(entropy);` becomes `return 1 + exp(entropy);`",
     .outcome = "pass"},
    {"linear-mean",
     "LINEAR section 4.1",
     "E[C] = -n E[xx'], which is negative definite.",
     "C/n tends to minus the covariance, of which the paper's is the case of mean zero (95 % "
     "interval of the exponent in n below -0.3) with mean "
     "zero and with another one; the control does not",
     linear_mean,
     {1, 2, 4},
     .control =
         "minus the second moment in the place of the covariance, mean not zero: C must stay "
         "away from it",
     .mutation = "src/spectral/linear.c: `*ep_d(&T, j, i)) / 2;` becomes `*ep_d(&T, j, i)) / 3;`",
     .outcome = "pass"},
    {"linear-riccati",
     "LINEAR section 4.1, after Theorem 2",
     "The equation for q turns into a matrix Riccati type equation for P = qq'.",
     "P by its own equation is qq' to 1e-7 until 1.5/|lambda_1|, and the equation's right side is "
     "the slope of qq' to 1e-4 of the largest until 9/|lambda_1|, for one to three outputs; the "
     "control's are not",
     linear_riccati,
     {1, 3, 6},
     .control = "Oja's flow, the usual Riccati equation with the same ends: it must leave by more "
                "than 0.01, and its slope be off by more than 0.01",
     .mutation = "src/spectral/linear_flow.c: `slope(&dq, 2, 0, f, &q);` becomes `slope(&dq, 1, 0, "
                 "f, &q);`",
     .outcome = "pass"},
    {"linear-ntk",
     "LINEAR section 6 (open)",
     "Open: what is the tangent kernel under orthogonality constraints, and is it constant?",
     "a question: answered once the outputs move by this kernel (their slope to 1e-6), and its "
     "change either falls with width or does not, at a fixed time (95 % interval of the exponent "
     "below -0.3) and at the end (within 0.1 of 0); the control's slope is off",
     linear_ntk,
     {1, 3, 6},
     .control = "the kernel without the constraint, 2 x'y I: the slope must be off by more than "
                "0.01",
     .mutation = "src/spectral/linear_flow.c: `slope(&dq, 2, 0, f, &q);` becomes `slope(&dq, 1, 0, "
                 "f, &q);`",
     .question = true,
     .outcome = "answered"},
    {0}};
