/* TANGENT, statement by statement. docs/papers/tangent.md is made from this table (tools/papers.py). */
#include <eigenpair/claim.h>

#define REGRESS "eigenpair regress"
#define LEARN   "eigenpair learnability"
#define NTK     "eigenpair ntk"

const ep_statement ep_statements_tangent[] = {
    /* section 2 */
    {"Eq. 1 (f_lin)", REGRESS " --method flow --kernel empirical", "defined",
     "The linearisation of a network of any number of outputs, at any time."},
    {"Theorem 2.1, eq. 2 (outputs)", "tangent-lee", NULL,
     "|f - f_lin| falls faster than M^-1/2 at these widths for smooth activations; relu is nearer "
     "to it."},
    {"Theorem 2.1, eq. 3 (parameters)", "tangent-lee", NULL,
     "The exponent is -1/2 for one hidden layer; deep networks are not there yet at widths 32 to "
     "256, at about -0.4 to -0.5."},
    {"Theorem 2.1, eq. 4 (kernel)", "tangent-lee", NULL,
     "The kernel's change falls nearly as 1/M."},
    {"eta_critical", "tangent-rate", NULL,
     "Linear model: 2/lambda_max; the network survives to about twice that by leaving for a "
     "flatter place."},
    {"Eq. 5 (kernel regression)", REGRESS, "defined",
     "Ridge or none, any kernel; with its variance."},
    {"Eq. 6 (learnability)", LEARN, "defined", "Of a training set, and its mean over them."},
    {"Section 2.2, L(f) in [0,1]", "tangent-general", "fail",
     "True of eigenfunctions; a random function's learnability may be negative or above 1 for a "
     "training set."},
    {"Eq. 7 and 8", "tangent-general", NULL, "From 0 without points to 1 with all of them."},
    {"Eq. 9 and 10", "tangent-nofreelunch", NULL,
     "Signs of all derivatives; off the diagonal it is minus a square, an identity."},
    {"Theorem 2.2, eq. 11 (no free lunch)", "tangent-nofreelunch", NULL,
     "The sum is n where K(D,D) is invertible, else its rank; for any orthogonal basis, a random "
     "one "
     "in tangent-general."},
    /* section 3 */
    {"Eq. 12 (R_0)", "tangent-bounds", NULL, "R_0 = |f_0(X) - Y| of the run."},
    {"Eq. 13 to 15", "tangent-bounds", NULL, "Their outcome, eq. 57, at every step."},
    {"Eq. 16 to 19 (flow)", "tangent-bounds", NULL,
     "The bound of eq. 120 holds; what is measured is half to four fifths of it."},
    {"Eq. 20 and 21 (new points)", "tangent-lee", NULL, "Distances are taken at new points."},
    {"Eq. 22 as printed", "tangent-slips", "fail",
     "f(theta_t) stands where f(theta_0) belongs: eq. 23 does not follow, and f_lin does not come "
     "near the network."},
    {"Eq. 23 to 30 (the review's descent)", "tangent-bounds", NULL,
     "Holds at every step with the terms that eq. 24 leaves out; about five orders of magnitude "
     "loose."},
    /* section 4 */
    {"Lemma 4.1", "tangent-nofreelunch", NULL,
     "By eq. 40 an identity; central differences in the tests."},
    {"Eq. 31 and 32", LEARN, "defined",
     "Eigenfunctions by symmetry on circle, cube, sphere; by an eigenproblem elsewhere."},
    {"Eq. 33 (T)", LEARN, "defined", "Its diagonal measured from drawn sets with --measure."},
    {"Eq. 34 to 37", "tangent-general", NULL, "T_ii against <f, f^>/<f, f> computed without T."},
    {"Eq. 38 to 40", "tangent-nofreelunch", NULL, "Derivatives in closed form."},
    /* section 5 */
    {"Section 5, width 20", "tangent-predict", "fail",
     "On the cube networks of width 20 have about half of the predicted error; agreement begins at "
     "about 1,000."},
    {"Section 5, |x| <= C", NTK, "defined",
     "--scale unit puts points on the sphere; nothing else depends on it."},
    {"Eq. 41 (limit kernel)", NTK " --kernel analytic", "defined",
     "Any depth and activation; the empirical kernel tends to it (tests)."},
    {"Eq. 42 and 43, lambda_min > 0", "tangent-nofreelunch", NULL,
     "So for erf and tanh, with biases or without, on points of the sphere of which no two are "
     "opposite; and with biases on opposite ones."},
    {"Eq. 42 and 43 without biases on opposite points", "tangent-nofreelunch", "fail",
     "erf and tanh are odd, so that f(-x) = -f(x) and K(D,D) is singular (relu, which footnote 7 "
     "excludes: on the circle)."},
    /* section 6 */
    {"Section 6, cross-entropy (open)", "tangent-loss", NULL,
     "Farther from the linearisation at every width, and never settled."},
    {"Section 6, finite networks do better (open)", "tangent-finite", NULL,
     "On the cube networks of width 20 have less error than their limit on the same training sets "
     "for the target of degree 2, more for degrees 1 and 4; their linearisations have more "
     "throughout: where networks win, it is the features that move."},
    {"Section 6, continuous domains (Simon Fig. 2c)", "tangent-modes", NULL,
     "On the 7-sphere with 256 points degrees from 4 on are below 1/4, and every degree is where "
     "its "
     "eigenvalue puts it."},
    {"Section 6, \"much closer to 0\" from degree 3 on", "tangent-modes", "fail",
     "Degree 3 (112 modes) is learnt to 0.38 with 256 points: among the 156 modes that they have "
     "room for, neither learnt nor not."},
    {"Section 6, target against spectrum (open)", "tangent-target", NULL,
     "|f - f_lin| goes about as the square of sqrt(y'K^-1 y)."},
    {"Simon 2021 (prediction), cube and sphere", "tangent-predict", NULL,
     "Test error within 10 % and learnability within 0.05 from eigenvalues alone, two layers."},
    {"Simon 2021 (prediction), learnability on the circle", "tangent-predict", NULL,
     "Within 0.05 of what eigenvalues say."},
    {"Simon 2021 (prediction), error on the circle and of one layer", "tangent-predict", "fail",
     "Predicted is less than a fifth of the mean error at worst, and less than half of the median "
     "on the circle."},
    /* appendix A */
    {"Eq. 44 and 45", NTK, "defined",
     "One hidden layer with biases (--bias-variance, --last-bias-variance); here weights N(0, 1) "
     "and "
     "1/sqrt H."},
    {"Eq. 46 to 48", "tangent-nngp", NULL, "Mean 0."},
    {"Eq. 49 as printed", "tangent-slips", "fail",
     "Var[h] stands where E[h^2] belongs; eq. 50 has it right. Networks drawn."},
    {"Eq. 50 and 51", "tangent-nngp", NULL,
     "The variance is exact at any width, with biases (sigma_b) and without."},
    {"A.1, central limit", "tangent-nngp", NULL,
     "The excess kurtosis is 3 (E h^4/(E h^2)^2 - 1)/H, for deep networks it falls with the "
     "width."},
    {"Eq. 52 and 53 (covariance)", NTK " --kernel nngp", "defined",
     "Variance of biases and weights as options, of networks too; networks against it in the "
     "tests."},
    {"A.1, Gaussian process", "tangent-ensemble", NULL,
     "For targets of the norm that the NNGP would give ensembles have the mean and variance of the "
     "limit: of "
     "its posterior where the last layer is trained, of Lee's where all are. With targets N(0, I) "
     "two layers of width 128 have four times the posterior's variance."},
    /* appendix B */
    {"Eq. 54", REGRESS " --method descent", "defined", "Gradient descent on 1/2 |f(X) - Y|^2."},
    {"Lemma B.1", "tangent-bounds", NULL,
     "K measured over the path and random points of its ball: about |J|_F, and steady over "
     "widths."},
    {"Theorem B.2, eq. 57", "tangent-bounds", NULL,
     "Every step, width and seed; not above eta_crit."},
    {"Theorem B.2, eq. 58", "tangent-bounds", NULL, "The path is about a hundredth of its bound."},
    {"Theorem B.2, eq. 59", "tangent-bounds", NULL, "The kernel's change is far within its bound."},
    {"Theorem B.3, eq. 60", "tangent-lee", NULL, "As Theorem 2.1."},
    {"Eq. 61 and 62 (assumptions)", "tangent-lee", NULL,
     "relu does not meet assumption 4 and behaves alike; R_0 that grows with the width does not."},
    {"Eq. 63 to 70", "tangent-bounds", NULL, "The induction for eq. 58, its outcome measured."},
    {"Eq. 71 to 78", "tangent-bounds", NULL, "The induction for eq. 57, its outcome measured."},
    {"Eq. 79 as printed", "tangent-slips", "fail",
     "Has a surplus eta_0, which eq. 82 multiplies in once more: with lambda_min/3 eq. 87 follows, "
     "as printed not where rates are above 1."},
    {"Eq. 80 to 83", "tangent-bounds", NULL, "Triangle inequalities."},
    {"Eq. 84 to 86 as printed", "tangent-slips", "fail",
     "(1 - eta_0) lambda_min stands where 1 - eta_0 lambda_min belongs, as in eq. 80 and 87: a "
     "wide "
     "network is above it."},
    {"Eq. 87 to 92 (N)", "tangent-bounds", NULL,
     "N is of the order of 1e12 here: the bounds hold long before."},
    {"Eq. 93 to 99", "tangent-bounds", NULL, "The steps to eq. 59."},
    {"Eq. 100 to 110", "tangent-bounds", NULL, "As eq. 22 to 30; eq. 101 has the slip of eq. 22."},
    {"Eq. 111 to 121 (Gronwall)", "tangent-bounds", NULL,
     "Integrals along the path; the bound comes closest where the kernel moves little."},
    /* appendix C */
    {"Eq. 122 to 126", NTK, "defined", "A step on one point."},
    {"Eq. 127 and 128 as printed", "tangent-slips", "fail",
     "Have lost the 2 of eq. 125: outputs move twice as far."},
    {"Eq. 129 to 131", LEARN, "defined", "Inner product, error and learnability over the domain."},
    {"Eq. 132 to 136", LEARN, "defined", "Kernels with negative eigenvalues are refused."},
    {"Eq. 137 to 148", LEARN, "defined", "As eq. 31 to 33."},
    {"Lemma 1 (a)", "tangent-general", NULL, "L(phi_i) = T_ii."},
    {"Lemma 1 (e) as printed", "tangent-general", "fail",
     "For every f: random functions lose learnability as points are added; eigenfunctions never "
     "do."},
    {"Proof of Lemma 1 (e), T", "tangent-slips", "fail",
     "Lam^1/2 stands on the right where Lam^-1/2 belongs, and the update has lost the same "
     "factors; "
     "v'(..)v is then no square for a general f."},
    {"Eq. 149 and 150", "tangent-general", "fail",
     "The matrix is not symmetric, and its quadratic form has no sign; its diagonal has."},
    {"Eq. 151 to 153", LEARN, "defined", "Orthonormal over the domain, nearly so over a sample."},
    {"Eq. 154 as printed", "tangent-slips", "fail", "Lacks the 1/n of eq. 153."},
    {"Eq. 155", LEARN, "defined",
     "The expectation of T is predicted by kappa and measured with --measure."},
    /* appendix D */
    {"Eq. 156 to 163 (Mercer)", LEARN, "defined", "Spectra of circle, cube, sphere and data."},
    {"Eq. 164 (norm)", REGRESS, "defined", "`norm` is sqrt(y'K^-1 y) of the targets."},
    {0},
};
