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
     .outcome = "pass"},
    {"linear-fig2",
     "LINEAR Fig. 2, Theorem 1, Conjecture 1",
     "With width, tanh and relu networks come close to linear ones, at the start within Theorem "
     "1's "
     "bound, and trained; sigmoid does not.",
     "tanh: difference after training falls with exponent below -0.3; sigmoid: grows above 0.3, "
     "both "
     "with their 95 % intervals; start of tanh within the bound, K fitted at the least width (relu "
     "is known to fail once trained: reported)",
     linear_fig2,
     {4, 50, 100},
     .outcome = "pass"},
    {"linear-fig3",
     "LINEAR Fig. 3, Theorem 2",
     "Loss and outputs of gradient descent and of the equation converge to the same values, "
     "whatever the width.",
     "last losses equal to 1e-6, outputs for z = 1 too; q within 0.05 on the way at rate 0.01",
     linear_fig3,
     {3, 7, 14},
     .outcome = "pass"},
    {"linear-fig4",
     "LINEAR Fig. 4, Conjecture 2",
     "The span of q tends to that of the z most negative eigenvectors.",
     "projections and singular values 1 to 1e-6 for z = 1, 2, 3",
     linear_fig4,
     {1, 2, 4},
     .outcome = "pass"},
    {"linear-fig5",
     "LINEAR Fig. 5",
     "A step of the equation is much faster than one of descent and does not depend on the width; "
     "a linear SVM does as well on either embedding.",
     "step of the equation: at most twice as long at the largest width as at the least, and at "
     "least 10 times shorter than a step of descent; test accuracies within 0.02",
     linear_fig5,
     {2, 13, 100},
     .outcome = "pass"},
    {"linear-fig6",
     "LINEAR Fig. 6, Theorems 2 and 3",
     "One, two and three hidden layers behave alike and end at the most negative eigenvector.",
     "that eigenvector to 1e-6 at every depth, within 0.05 of the equation on the way",
     linear_fig6,
     {1, 2, 4},
     .outcome = "pass"},
    {"linear-prop1",
     "LINEAR Prop. 1",
     "Every output of an unconstrained linear model has the same dynamics: all turn to the most "
     "negative eigenvector.",
     "second over first singular value below 1e-6, at the rate -2(lambda_2 - lambda_1) to 1 %; "
     "descent follows exp(-2Ct) to first order in its rate",
     linear_prop1,
     {1, 1, 1},
     .outcome = "pass"},
    {"linear-prop2",
     "LINEAR Prop. 2",
     "Frobenius norms do not prevent collapse.",
     "loss = lambda_1 to 1e-6 and second over first singular value below 1e-3",
     linear_prop2,
     {1, 1, 1},
     .outcome = "pass"},
    {"linear-prop3",
     "LINEAR Prop. 3",
     "Scaled loss, bounded spectral norms, bounded product and orthonormal weights have one "
     "optimum.",
     "all four reach the sum of the most negative eigenvalues to 1e-6",
     linear_prop3,
     {3, 5, 10},
     .outcome = "pass"},
    {"linear-noncontrastive",
     "LINEAR section 5",
     "The same with positives only.",
     "collapse without a constraint below 1e-6; optimum and spans with orthonormal weights to 1e-6",
     linear_noncontrastive,
     {1, 3, 6},
     .outcome = "pass"},
    {0}};
