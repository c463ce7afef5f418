/* OPTIMA, statement by statement. docs/papers/optima.md is made from this table (tools/papers.py). */
#include <eigenpair/claim.h>

#define OPTIMA_COMMAND "eigenpair optima"

const ep_statement ep_statements_optima[] = {
    /* section 2 */
    {"Eq. 1 (InfoNCE)", "eigenpair fit --method alpha", "defined",
     "The gradient of tr C_alpha with InfoNCE weights, any epsilon, is that of -L_nce/N^2 to "
     "rounding (tests)."},
    {"Eq. 2 (alpha-CL)", "optima-joint", NULL,
     "Weights from all K outputs, held constant in the gradient: fit --method alpha --rows unit "
     "and optima --nodes K."},
    {"Eq. 3 (C_alpha)", OPTIMA_COMMAND, "defined",
     "Computed as a graph Laplacian product, never as N^2 outer products; held against the double "
     "sum in the tests."},
    {"Definition 1", "optima-kernel", NULL,
     "Gaussian weights are sums of phi_l phi_l; in several dimensions l counts monomials."},
    {"Definition 2", "optima-kernel", NULL,
     "z_l and the densities p_l of every l; they are densities only where the outputs are bounded "
     "below."},
    {"Lemma 1", "optima-kernel", NULL,
     "The Taylor series reproduces the Gaussian weights; its condition (bounded below) is needed "
     "for phi_l >= 0 alone."},
    {"Lemma 2, eq. 4", "optima-limit", NULL,
     "The distance from the limit falls as N^{-1/2}, and negative eigenvalues shrink."},
    {"Corollary 1", "optima-kernel", NULL,
     "Without augmentation it is an identity, for the law of a finite sample as well."},
    {"Figure 1 left", "optima-linear", NULL,
     "Linear activation has one optimum, relu several: maps of which optimum a start reaches."},
    {"Figure 1 right", "optima-fig1", NULL,
     "Settles next to every u_m for |U'U - I| = 0.15, not for 0.39; the figure has eq. 94 as "
     "printed beside the shifted iteration."},
    /* section 3 */
    {"Eq. 5 (K nodes)", "optima-joint", NULL,
     "With weights held fixed the nodes separate; with weights of all outputs they share the "
     "patterns out."},
    {"Section 3, linear", "optima-linear", NULL,
     "With linear activation every start ends in the principal axis."},
    {"Assumption 1, eq. 6", OPTIMA_COMMAND, "defined",
     "relu, leaky relu, linear and monomials; others are refused."},
    {"Lemma 3, eq. 7", OPTIMA_COMMAND, "pass",
     "A(w)w is the gradient, by central differences in the tests; for monomials x^p it carries "
     "1/p."},
    {"Definition 3", "optima-exact", NULL,
     "`maximal` is the definition to 1e-6; ends that are so but for a jump of A(w) are "
     "`nearly_maximal`."},
    {"Theorem 1", "optima-stability", NULL,
     "Sufficient, not necessary: Gaussian points are stable above a ratio of 1, promised above "
     "1.934, with locally maximal eigenvectors above 1.467."},
    {"Theorem 2 as printed", "optima-theorem2", "fail",
     "C0^3 vol(C0) r / pi is below the roughness for a disc of radius C0 = 0.05."},
    {"Theorem 2 with C0^2", "optima-theorem2", NULL,
     "Holds for discs of every radius, with uniform and Gaussian weights."},
    {"Corollary 2", "optima-count", NULL,
     "r falls by z0, an identity; the roughness itself falls by tau/(1 + tau) for normal points."},
    {"Section 3.1, Gaussian weights make more optima", "optima-weights", "fail",
     "For one node it is the opposite: below tau = 0.805 (q = 0.2) no u_m is a locally maximal "
     "eigenvector; it stays stable to 0.536 because alpha follows w."},
    {"Section 1, InfoNCE has more optima", "optima-joint", NULL,
     "True of layers whose nodes share their weights, up to a point: tau = 1 with twelve nodes "
     "loses patterns."},
    {"Section 1, more nodes collect more", "optima-count", NULL,
     "The number of distinct optima grows with the number of nodes until all are there."},
    {"Section 3.1, wider layers (open)", "optima-joint", "answered",
     "Coverage of the patterns against the number of nodes, with intervals."},
    {"Section 3.1, lottery tickets (open)", "optima-ticket", NULL,
     "Nodes kept with their own starts cover more than fresh ones, also where the weights couple "
     "them."},
    {"Section 3.1, basins (open)", "optima-basins", NULL,
     "The share of starts that reach each optimum with its 95 % interval, against q_m; `optima` "
     "has it as `basin` for any data."},
    /* appendix A */
    {"Eq. 8 to 13", "optima-kernel", NULL, "The proof of Lemma 1, term by term."},
    {"Eq. 14 to 33", "optima-limit", NULL,
     "The two terms of the proof of Lemma 2 in the limit; measured together."},
    /* appendix B */
    {"B.1 categorical, eq. 34 and 37", "optima-exact", NULL,
     "A(u_m) to 1e-12, all u_m found and nothing else."},
    {"B.1 summation, eq. 35 and 38", "optima-exact", NULL,
     "A(u_m) to 1e-12, also for unequal q_m; the threshold 0.382 from both sides."},
    {"Eq. 36 (two-part variance)", "optima-exact", NULL, "Used for the closed forms."},
    {"Eq. 39 and 40 (proof of Lemma 3)", OPTIMA_COMMAND, "pass",
     "The gradient of 1/2 C_alpha[h] is A(w)w: central differences of the energy, weights held "
     "(tests)."},
    {"Eq. 41 to 43 (w'(dA)w = 0)", OPTIMA_COMMAND, "pass",
     "Energy and gradient agree by central differences without the extra term (tests)."},
    {"Eq. 44 to 58 (proof of Theorem 1)", "optima-stability", NULL,
     "The decay of a push is measured on both sides of each threshold."},
    {"Eq. 59 to 86 (proof of Theorem 2)", "optima-theorem2", NULL,
     "Eq. 82 turns C0^2 into C0^3 (as eq. 71 does, in a term of second order): |x| <= C0 was "
     "already "
     "used twice in eq. 81."},
    {"Eq. 87 to 93 (proof of Corollary 2)", "optima-count", NULL,
     "Only l = 0 is left on the hyperplane; z0 in closed form for normal points."},
    {"Eq. 94 (power iteration)", "optima-fig1", NULL,
     "As printed it goes round for ever from a few starts and is faster elsewhere; the program "
     "adds a shift (--shift 0: as printed)."},
    {"Definition 4, eq. 95", "optima-theorem3", NULL,
     "Irregularity with L and kappa, which have no formula, taken as the largest on the ball."},
    {"Theorem 3, eq. 96 to 99", "optima-theorem3", NULL,
     "Holds where gamma exists; with L over the whole sphere, as defined, it seldom does."},
    {"B.5, nearly orthogonal U keeps its optima", "optima-fig1", NULL,
     "In both models; the optima of the tilted categorical model lie where A(w) jumps and are no "
     "eigenvectors."},
    /* appendix C */
    {"Lemma 4, eq. 100 to 104", "optima-theorem3", NULL,
     "1 - d_t <= mu_t (1 - c_t) at every step."},
    {"Lemma 5, eq. 105 to 107", "optima-theorem3", NULL,
     "The step is within its bound at every step."},
    {"Lemma 6, eq. 108 and 109", "optima-theorem3", NULL,
     "kappa is the largest remainder over pairs of the ball."},
    {"Lemma 7, eq. 110 to 121", "optima-theorem3", NULL,
     "|d_t - c_{t+1}| <= nu_t (1 - c_t) at every step."},
    {"Lemma 8, eq. 122 to 138", "optima-theorem3", NULL,
     "1 - c_t <= gamma^t (1 - c_0), and w(t) stays in the ball; computed as |w - phi_1|^2/2, which "
     "does not round below 0."},
    {0},
};
