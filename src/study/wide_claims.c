/* The claims of WIDE. */
#include "study/wide.h"

#define DRIFT                                                                                    \
  "largest change of K at the end: exponent in width at most -0.4 with its 95 % interval below " \
  "0; in time it grows slower than linearly; no run diverges"

const ep_claim ep_claims_wide[] = {
    {"wide-fig1",
     "WIDE Fig. 1, Lemma 9",
     "Trained with cosine similarity, a wide network follows the dynamics of its frozen tangent "
     "kernel.",
     "largest fractional difference of the representations after 500 epochs: exponent in width at "
     "most -0.4 with its 95 % interval below 0",
     wide_fig1,
     {2, 8, 10}},
    {"wide-fig2",
     "WIDE Fig. 2, Prop. 10",
     "With the dot product the tangent kernel drifts without bound, however wide the network.",
     "the loss of every run is lost within 50 epochs, the drift then above 100 (K(0) is about 1)",
     wide_fig2,
     {1, 4, 150}},
    {"wide-prop10",
     "WIDE Prop. 10",
     "One input, one output, linear, dot product: the kernel is P(t)xy, in closed form, and blows "
     "up at a finite time whatever the width.",
     "blow-up time within 1 % of the closed form, P(t) within 1 % until 0.95 of it",
     wide_prop10,
     {1, 1, 1}},
    {"wide-fig3",
     "WIDE Figs. 3 and 6a, Theorem 13",
     "With cosine similarity (relu) the tangent kernel stays nearly constant; its change falls "
     "with width.",
     DRIFT,
     wide_fig3,
     {2, 17, 1300}},
    {"wide-fig4l",
     "WIDE Figs. 4 left and 6c, Lemma 16",
     "With an orthogonal output layer C stays nearly constant; its change falls with width.",
     "|C(T) - C(0)|_F: exponent in width at most -0.4 with its 95 % interval below 0",
     wide_fig4l,
     {2, 14, 500}},
    {"wide-fig4m",
     "WIDE Fig. 4 middle",
     "The output layer moves much faster than C.",
     "relative change of W above that of C at every recorded time, width and seed",
     wide_fig4m,
     {2, 12, 500}},
    {"wide-fig4r",
     "WIDE Fig. 4 right, Lemma 17",
     "PCA of C(0) and PCA of the trained C give the same representation up to a rotation.",
     "largest difference after the rotation falls with width: 95 % interval of the exponent below "
     "0",
     wide_fig4r,
     {2, 14, 500}},
    {"wide-fig5l",
     "WIDE Figs. 5 left and 6b",
     "Three hidden layers, cosine: the tangent kernel stays nearly constant too.",
     DRIFT,
     wide_fig5l,
     {1, 13, 6000}},
    {"wide-fig5m",
     "WIDE Fig. 5 middle",
     "Three hidden layers, dot product: the tangent kernel drifts without bound.",
     "the loss of every run is lost, the drift then above 100 (K(0) is about 1)",
     wide_fig5m,
     {1, 4, 600}},
    {"wide-fig5r",
     "WIDE Fig. 5 right",
     "A linear probe does as well on PCA of C(0) as on the trained model; a few iterations of PCA "
     "and one step of V help at small widths.",
     "mean test accuracies of grassmann, pca and iterate above 0.5 and within 0.03 of each other "
     "at "
     "the largest width (gains of iterating are reported with error bars)",
     wide_fig5r,
     {8, 130, 1500}},
    {"wide-fig7", "WIDE Fig. 7", "The same as Fig. 3 with tanh.", DRIFT, wide_fig7, {8, 80, 2500}},
    {"wide-bounds",
     "WIDE Lemmas 7, 8, 11, 12, 16, 17, Theorem 13",
     "Hessian, steps, weights, kernel, C and its PCA stay within bounds that fall with width.",
     "every bound that applies is at least the measurement, for tanh and erf, descent with and "
     "without an orthogonal output layer",
     wide_bounds,
     {1, 90, 4000}},
    {"wide-prop18",
     "WIDE Prop. 18",
     "Two equal columns of W(0) give two equal outputs for ever: a start can collapse dimensions.",
     "the two outputs differ by at most 1e-12 of the largest after training, while the loss falls, "
     "for cosine and dot",
     wide_prop18,
     {1, 1, 20}},
    {"wide-open",
     "WIDE section 6 (open)",
     "Open: trained until the loss settles, is the tangent kernel still nearly constant, and is "
     "the trained output layer PCA of C(0)?",
     "a question: answered once every run settles (improves by less than 1e-4 in 100 epochs) and "
     "the exponents are known to within 1; the answers are the numbers",
     wide_open,
     {12, 150, 15000}},
    {"wide-open-losses",
     "WIDE section 6 (open)",
     "Open: does the tangent kernel stay nearly constant under other losses, and at which rate?",
     "exponent of the largest change of K at most -0.4 with its 95 % interval below 0 for each of "
     "softmax, NT-Xent, Barlow Twins, VICReg at rate 1 and spectral at rate 0.01",
     wide_open_losses,
     {3, 80, 7000}},
    {"wide-open-depth",
     "WIDE section 6 (open)",
     "Open: does the theory of two layers describe deeper networks (cosine)?",
     "exponent of the largest change of K at most -0.4 with its 95 % interval below 0 for one to "
     "four hidden layers",
     wide_open_depth,
     {2, 50, 1500}},
    {"wide-open-data",
     "WIDE section 6 (open)",
     "Open: is it so on other data? Fashion-MNIST (points on a sphere at the quick size).",
     DRIFT,
     wide_open_data,
     {1, 27, 1300}},
    {"wide-open-start",
     "WIDE Prop. 18, section 6 (open)",
     "Open: which starts lead to collapse? Equal columns of W(0) do; what of columns that are "
     "nearly equal?",
     "RankMe of the trained outputs: 1 to 1e-6 for equal columns, and at correlation 0.99 below "
     "that for independent columns, for every seed",
     wide_open_start,
     {1, 37, 600}},
    {0}};
