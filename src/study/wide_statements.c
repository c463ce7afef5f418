/* WIDE, statement by statement. docs/papers/wide.md is made from this table (tools/papers.py). */
#include <eigenpair/claim.h>

#define FIT "eigenpair fit"

const ep_statement ep_statements_wide[] = {
    /* section 1 */
    {"Section 1, observation 1 of section 3", "wide-fig2", NULL,
     "With the dot product the kernel leaves within a few dozen epochs at every width; larger "
     "widths only delay it."},
    {"Section 1, observation 2 of section 3", "wide-theorem13", NULL,
     "With the cosine it stays after M^{1/6} steps, and the drift falls faster than is proved."},
    {"Section 1, observation 1 of section 4", "wide-eq9", "fail",
     "Equivalence to PCA is that of a modified similarity: a lower bound of the cosine only where "
     "f(x)'f(y) >= 0."},
    {"Section 1, observation 2 of section 4", "wide-fig4l", NULL,
     "C moves by O(rate t / M) at a fixed time, which is less than the O(t / sqrt(M)) of the "
     "text."},
    /* section 2 */
    {"Eq. 1 (loss)", FIT " --loss softmax", "defined",
     "Losses of the similarities of an anchor's pairs; --loss names them."},
    {"Dot product and cosine", FIT " --similarity cosine --delta 0.01", "defined",
     "Both similarities with delta > 0, finite at f(x) = 0."},
    {"Assumption 1", FIT " --delta 0.01", "defined", "delta is 0.01 throughout, as an option."},
    {"Assumption 2", "wide-bounds", NULL,
     "sup |dl/ds| of each loss enters the bounds; losses of two views (Barlow Twins, VICReg) have "
     "none and are outside."},
    {"Assumption 3", "wide-bounds", NULL,
     "One c_in for two norms of x: with max |x_j| Lemma 7 fails on a sphere in R^1000, so |x|_2 is "
     "used where x enters as a vector."},
    {"Eq. 2 (network)", FIT " --width 1000", "defined",
     "NTK parametrisation; the shapes of V and W are exchanged in the text."},
    {"Assumption 4", "wide-bounds", NULL,
     "The largest entries at the start are measured, not assumed."},
    {"Assumption 5", "wide-fig7", NULL,
     "tanh meets it, relu (Figs. 3 to 5) does not: it has no second derivative."},
    {"Assumption 6", "wide-bounds", NULL, "s_0 c_s is taken as max |W(0)|."},
    {"Eq. 3 (constancy)", "wide-fig3", NULL,
     "At a fixed time the largest change of K falls with width."},
    {"Lemma 7, eq. 4", "wide-bounds", NULL,
     "Holds with |x|_2; the Hessian has no ceiling by which the bound could be called empty."},
    {"Lemma 8", "wide-bounds", NULL, "Holds, and says something from about 10^9 hidden units on."},
    /* section 3 */
    {"Lemma 9", "wide-lemma9", NULL,
     "The printed sum is the slope of descent to 1e-6, with the kernel of the moment, not of the "
     "start."},
    {"Figure 1", "wide-fig1", NULL,
     "The difference of training and frozen kernel falls with width; largest over points, as norms "
     "(entry by entry it is heavy-tailed)."},
    {"Prop. 10", "wide-prop10", NULL,
     "Blow-up time and P(t) as in closed form; the share of starts lost before log M is far above "
     "the promised one."},
    {"Figure 2", "wide-fig2", NULL, "Every run is lost within 50 epochs."},
    {"Lemma 11", "wide-bounds", NULL,
     "Holds in every step; 10^5 to 10^7 times above it, and empty below 10^5 hidden units."},
    {"Lemma 12", "wide-bounds", NULL, "Holds; hundreds of orders above what is measured."},
    {"Theorem 13", "wide-theorem13", NULL,
     "The drift after M^{1/6} steps falls with an exponent near -0.9; the theorem's M > b^3 is "
     "about "
     "10^15."},
    {"Theorem 13, the bound", "wide-bounds", NULL,
     "Holds; empty below 10^45 hidden units with the constants of these runs."},
    {"Section 3.2, 1/sqrt(M) at a fixed time", "wide-fig3", NULL,
     "The drift falls somewhat faster than M^{-1/2}."},
    {"Figure 3", "wide-fig3", NULL, "Exponent at most -0.4 with its interval below 0."},
    {"Remark 14 (no closed form)", FIT " --method kernel --kernel analytic", "defined",
     "The dynamics of Lemma 9 with a fixed kernel is integrated; the paper has no closed form of "
     "it "
     "and the program none either."},
    /* section 4 */
    {"Eq. 5 (trace maximisation)", FIT " --method pca", "defined",
     "Top eigenvectors by C, by products with its factors or by the Gram matrix: one answer "
     "(tests)."},
    {"Eq. 6 (linear loss)", FIT " --loss linear", "defined",
     "Printed with the sign turned: minimised is minus that sum."},
    {"Eq. 7 (W'W = I)", FIT " --method grassmann", "defined",
     "Descent along the Grassmannian with QR or polar retraction."},
    {"Eq. 8 (dot product)", FIT " --method pca --similarity dot", "defined",
     "C without norms; the loss is exactly the trace (tests)."},
    {"Remark 15 as inferred", "wide-remark15", "fail",
     "With W'W = I the dot product's C does not leave within log M steps: training is lost at t in "
     "proportion to M."},
    {"Remark 15, without the constraint", "wide-fig2", NULL,
     "There the kernel, and C with it, does leave."},
    {"Eq. 9 as printed", "wide-eq9", "fail",
     "Reversed in every pair with f(x)'f(y) < 0: after training a third of the pairs with relu at "
     "width 50, the fewer the wider, and a third to a half with tanh."},
    {"Eq. 9 where f(x)'f(y) >= 0", "wide-eq9", NULL,
     "Holds in every pair; the cosine itself is trained by --norms outputs."},
    {"Eq. 10 (modified loss)", FIT " --method grassmann", "defined",
     "The default of grassmann (--norms features)."},
    {"Lemma 16 as printed", "wide-bounds", "fail",
     "Holds on these data, but a network of one unit on points of +-1 in D = 10^6 is above it by a "
     "factor of 3.9 (tests): the proof needs D for sqrt(D)."},
    {"Lemma 16 with D for sqrt(D)", "wide-bounds", NULL, "Holds; empty below 10^17 hidden units."},
    {"Lemma 16, the rate t / sqrt(M)", "wide-timescale", NULL,
     "Time enters as rate x t / M: a sharper bound of that order is proved in the program and "
     "holds."},
    {"Figure 4 left", "wide-fig4l", NULL, "|C(T) - C(0)|_F falls with an exponent near -1."},
    {"Figure 4 middle", "wide-fig4m", NULL,
     "W moves faster than C at every recorded time: W by rate x t, C by rate x t / M."},
    {"Section 4.1, W is PCA of a C near C(0)", "wide-open", "answered",
     "Not at convergence: the trained W is then far from PCA of C(0)."},
    {"Lemma 17", "wide-lemma17", NULL,
     "The difference falls with width at a fixed time, and does not at equal rate x t / M."},
    {"Lemma 17, the bound", "wide-bounds", NULL, "Holds; empty below 10^32 hidden units."},
    {"Figure 4 right", "wide-fig4r", NULL,
     "Training with C frozen and with C free: the difference falls with width at a fixed time, and "
     "does not at equal rate x t / M."},
    /* section 5 */
    {"Prop. 18", "wide-prop18", NULL, "Equal to the last bit, for cosine and dot."},
    {"Prop. 18, analytic kernel", "wide-prop18", NULL,
     "Equal outputs at the start stay equal under the kernel of infinite width."},
    {"Section 5, collapse by the start", "wide-open-start", NULL,
     "Nearly equal columns collapse in part; equal ones entirely."},
    {"Section 5 (i), deep networks", "wide-open-depth", NULL,
     "One to four hidden layers: the drift falls with width."},
    {"Figure 5 left", "wide-fig5l", NULL, "Three hidden layers, cosine: as with one."},
    {"Figure 5 middle", "wide-fig5m", NULL,
     "Three hidden layers, dot product: lost at every width."},
    {"Section 5 (ii), iterating", "wide-fig5r", NULL,
     "Five iterations gain two to four points at width 20 or 30, at a rate chosen on held-out "
     "points; "
     "nothing at rate 1."},
    {"Section 5 (iii), Figure 5 right", "wide-fig5r", NULL,
     "PCA of C(0), training and iterating agree in accuracy at the largest width."},
    {"Open problem, contrastive models and PCA", "wide-open", NULL,
     "Trained until it settles, W is not PCA of C(0)."},
    {"Open problem, NTK at convergence", "wide-open", NULL,
     "The drift of K at convergence still falls with width, slowly; that of C does not."},
    {"Open problem, M^a steps with a < 1/4", "wide-theorem13", NULL,
     "At a = 1/4 and 1/2 the drift falls, too."},
    /* appendix */
    {"A.1 to A.9 (proofs)", "wide-bounds", NULL,
     "Constants re-derived; where the proof needs another norm of x, that one is used."},
    {"A.8, footnote on Grassmannian descent", FIT " --method grassmann", "defined",
     "(I - WW') times the gradient, then a retraction."},
    {"Figure 6a", "wide-fig3", NULL, "The drift over time, slower than linear."},
    {"Figure 6b", "wide-fig5l", NULL, "The same with three hidden layers."},
    {"Figure 6c", "wide-fig4l", NULL, "The same of C."},
    {"Figure 7", "wide-fig7", NULL, "tanh as relu."},
    /* the summary of the paper (its open questions and next checks) */
    {"Summary, widths over orders of magnitude", "wide-fig3", NULL,
     "Widths 50 to 400 with --quick, 100 to 1,600 by default, to 10,000 with --paper."},
    {"Summary, other losses", "wide-open-losses", NULL,
     "Softmax, NT-Xent, Barlow Twins and VICReg keep their kernel at equal progress; the spectral "
     "loss has no end on triplets."},
    {"Summary, supervised contrastive loss and AMDIM", "wide-open-losses", NULL,
     "Pairs by label (--pairs labels:2+4) and four local views an image (--pairs 4+4 --augment "
     "crop:0.1-0.3) with the softmax loss, in that claim."},
    {"Summary, other data", "wide-open-data", NULL,
     "Default size: Fashion-MNIST; the committed quick run has points of a sphere in its place."},
    {"Summary, CIFAR-10 in the place of MNIST, Figures 3, 4 left and right, 5 left and middle",
     "wide-cifar", "pass",
     "Default size, CIFAR-10: each by the criterion and the control of its own claim (Figure 5 "
     "right is not among them); the committed quick run has points of a sphere in its place."},
    {"Summary, CIFAR-10 in the place of MNIST, Figure 4 middle", "wide-cifar", NULL,
     "Default size, CIFAR-10: C overtakes W within 200 epochs at widths 50 and 100 (least ratio of "
     "their relative changes 0.27 and 0.50), not at 200 and 400 (1.5 and 3.5); not run at the "
     "quick size."},
    {"Summary, CIFAR-10 in the place of MNIST, Figure 1", "wide-cifar", NULL,
     "Default size, CIFAR-10: the distance from the frozen kernel falls as M^{-0.38} and is 0.16 "
     "at width 3,000, where a tenth is asked for; on the points of a sphere of the committed quick "
     "run it passes."},
    {0},
};
