/* The claims of WIDE. */
#include "study/wide.h"

#define EXPONENT "exponent in width at most -0.4 with its 95 % interval below 0"
#define SAME_PROGRESS \
  "a rate that grows with M, so that rate x t / M is the same at every width: it must not fall"
#define DRIFT                                                                                      \
  "largest change of K at the end: exponent in width at most -0.4 with its 95 % interval below "   \
  "0; in time it grows slower than linearly (95 % interval of the mean exponent below 1); no run " \
  "diverges"

const ep_claim ep_claims_wide[] = {
    {"wide-fig1",
     "WIDE Fig. 1",
     "Trained with cosine similarity, a wide network follows the dynamics of its frozen tangent "
     "kernel.",
     "largest fractional difference of the representations after 500 epochs: " EXPONENT
     ", and its median over seeds at most a tenth at the largest width (the worst seed is "
     "reported)",
     wide_fig1,
     {2, 8, 10},
     .control =
         "the dot product for a fifth of the epochs: the difference must not fall to a tenth",
     .mutation = "src/method/kernel.c: `ep_mat_axpy(&t->F, 1, &k->F0);` becomes "
                 "`ep_mat_axpy(&t->F, 1.5, &k->F0);`",
     .outcome = "pass"},
    {"wide-lemma9",
     "WIDE Lemma 9",
     "Along gradient flow the output at any point changes by a sum over pairs of the kernel of the "
     "moment and the derivatives of similarity and loss.",
     "the sum as printed is the slope of descent at new points to 1e-6, after training, and "
     "integrated with K(0) it is the frozen-kernel flow to 1e-6; cosine and dot, linear and "
     "softmax",
     wide_lemma9,
     {1, 2, 2},
     .in_double = true,
     .control =
         "K(0) in the place of K(t) after 50 epochs: the slope must be off by more than 1e-3",
     .mutation = "src/method/kernel.c: `ep_mat_axpy(&t->F, 1, &k->F0);` becomes "
                 "`ep_mat_axpy(&t->F, 1.5, &k->F0);`",
     .outcome = "pass"},
    {"wide-fig2",
     "WIDE Fig. 2, Prop. 10",
     "With the dot product the tangent kernel drifts without bound, however wide the network.",
     "the loss of every run is lost within 50 epochs, the drift then above 100 (K(0) is about 1)",
     wide_fig2,
     {1, 4, 150},
     .control = "the cosine at the same rate and epochs: no run may be lost",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .outcome = "pass"},
    {"wide-prop10",
     "WIDE Prop. 10",
     "One input, one output, linear, dot product: the kernel is P(t)xy, in closed form, and blows "
     "up at a finite time whatever the width: before log M in a share of at least 1 - 25/sqrt(M) "
     "of "
     "the starts, for a suitable dataset.",
     "blow-up time within 1 % of the closed form, P(t) within 1 % until 0.95 of it; of 1,000 "
     "starts "
     "at M = 100 to 10,000 at least the promised share blows up before log M for C = 1.5",
     wide_prop10,
     {2, 2, 2},
     .in_double = true,
     .control = "C < 0 must not blow up; with C = 0.05 fewer than promised do so before log M",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .outcome = "pass"},
    {"wide-fig3",
     "WIDE Figs. 3 and 6a, Theorem 13",
     "With cosine similarity (relu) the tangent kernel stays nearly constant; its change falls "
     "with width.",
     DRIFT,
     wide_fig3,
     {2, 17, 1300},
     .control = "the dot product at the same sizes: runs are lost, or their drift does not fall",
     .mutation = "src/objective/similarity.c: `{\"cosine\", cosine_forward, cosine_backward}` "
                 "becomes `{\"cosine\", dot_forward, dot_backward}`",
     .outcome = "pass"},
    {"wide-fig4l",
     "WIDE Figs. 4 left and 6c, Lemma 16",
     "With an orthogonal output layer C stays nearly constant; its change falls with width.",
     "|C(T) - C(0)|_F: exponent in width at most -0.4 with its 95 % interval below 0",
     wide_fig4l,
     {2, 14, 1600},
     .control = SAME_PROGRESS,
     .mutation = "src/method/grassmann.c: `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, "
                 "&dV);` becomes `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate * "
                 "(double)t->net->W.rows, &dV);`",
     .outcome = "pass"},
    {"wide-fig4m",
     "WIDE Fig. 4 middle",
     "The output layer moves much faster than C.",
     "relative change of W above that of C at every recorded time, width and seed",
     wide_fig4m,
     {2, 12, 1600},
     .control = "thirty times the rate at the least width: W has gone as far as it can, and C must "
                "overtake it",
     .mutation = "src/method/grassmann.c: `ep_mat_axpy(&W, -rate, &G);` becomes `ep_mat_axpy(&W, "
                 "-rate / 1000, &G);`",
     .outcome = "pass"},
    {"wide-fig4r",
     "WIDE Fig. 4 right",
     "Trained with C(t) free and with C held at C(0), the model gives nearly the same outputs; the "
     "difference goes to zero with width.",
     "mean fractional difference of the outputs, as they are and after the best rotation: " EXPONENT
     "; the control's is not",
     wide_fig4r,
     {3, 40, 5000},
     .control = SAME_PROGRESS,
     .mutation = "src/method/grassmann.c: `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, "
                 "&dV);` becomes `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate * "
                 "(double)t->net->W.rows, &dV);`",
     .outcome = "pass"},
    {"wide-lemma17",
     "WIDE Lemma 17",
     "PCA of C(0) and PCA of C(t) give the same representation up to a rotation.",
     "largest difference after the rotation: " EXPONENT "; the control's is not",
     wide_lemma17,
     {3, 30, 3300},
     .control = SAME_PROGRESS,
     .mutation = "src/method/grassmann.c: `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, "
                 "&dV);` becomes `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate * "
                 "(double)t->net->W.rows, &dV);`",
     .outcome = "pass"},
    {"wide-timescale",
     "WIDE Lemma 16, Fig. 4 left",
     "C changes by O(t / sqrt(M)) in t steps.",
     "a sharper form, time enters as rate x t / M: for widths and rates in a ratio of 4, at equal "
     "rate x t / M the change of C and the fall of the "
     "loss (medians over seeds) agree within a factor of 1.25 at the last five of ten times",
     wide_timescale,
     {3, 40, 2000},
     .control = "equal t in the place of equal rate x t / M: twice the width must change C by a "
                "factor of more than 1.25",
     .mutation = "src/method/grassmann.c: `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, "
                 "&dV);` becomes `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate * "
                 "(double)t->net->W.rows, &dV);`",
     .outcome = "pass"},
    {"wide-remark15",
     "WIDE Remark 15",
     "With the dot product the tangent kernel diverges within log M steps; it follows (not proved) "
     "that C, too, diverges from C(0) as V is trained, so that such models do not seem to be PCA "
     "of a constant matrix.",
     "against that inference, where W'W = I: the change of C at a fixed time: " EXPONENT
     "; the epoch at which training is lost: 95 % interval of its "
     "exponent between 0.8 and 1.2; the control's below 0.5",
     wide_remark15,
     {3, 60, 3000},
     .control =
         "the dot product without the constraint: the epoch at which it is lost must not grow "
         "so",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .outcome = "pass"},
    {"wide-eq9",
     "WIDE eq. 9 and 10",
     "With W'W = I the cosine is at least the similarity with the norms of the features.",
     "so in every pair with f(x)'f(y) > 0, reversed in every pair below 0 (an identity: |W'phi| is "
     "at most |phi|); the change of C if the "
     "cosine itself is trained falls with width, too (95 % interval of the exponent below 0)",
     wide_eq9,
     {3, 60, 2000},
     .control = "eq. 9 as printed, for all pairs: some must be reversed",
     .mutation = "src/method/grassmann.c: `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate, "
                 "&dV);` becomes `if (!t->setup->closed.frozen) ep_mat_axpy(&V, -rate * "
                 "(double)t->net->W.rows, &dV);`",
     .outcome = "pass"},
    {"wide-fig5l",
     "WIDE Figs. 5 left and 6b",
     "Three hidden layers, cosine: the tangent kernel stays nearly constant too.",
     DRIFT,
     wide_fig5l,
     {1, 13, 70000},
     .control = "the dot product at the same sizes: runs are lost, or their drift does not fall",
     .mutation = "src/objective/similarity.c: `{\"cosine\", cosine_forward, cosine_backward}` "
                 "becomes `{\"cosine\", dot_forward, dot_backward}`",
     .outcome = "pass"},
    {"wide-fig5m",
     "WIDE Fig. 5 middle",
     "Three hidden layers, dot product: the tangent kernel drifts without bound.",
     "the loss of every run is lost, the drift then above 100 (K(0) is about 1)",
     wide_fig5m,
     {1, 4, 7000},
     .control = "the cosine at the same rate and epochs: no run may be lost",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .outcome = "pass"},
    {"wide-fig5r",
     "WIDE Fig. 5 right",
     "A linear probe does as well on PCA of C(0) as on the trained model; five iterations of PCA "
     "and one step of V do well, above all at small widths.",
     "largest width: mean test accuracies of grassmann and pca above 0.4 and within 0.03 of each "
     "other, of iterate within 0.03 of pca; least width: iterating at the rate chosen on held-out "
     "points gains over PCA, and gains more than at the largest (95 % intervals above 0)",
     wide_fig5r,
     {8, 130, 5000},
     .control = "rate 1, that of the training, of whose epochs five steps are one to two percent: "
                "its gain at the least width must be below all of that interval",
     .mutation = "src/method/grassmann.c: `if (!st) ep_mat_copy(&t->net->W, &W);` becomes `if "
                 "(!st) ep_mat_fill(&W, 0);`",
     .outcome = "pass"},
    {"wide-fig7",
     "WIDE Fig. 7",
     "The same as Fig. 3 with tanh.",
     DRIFT,
     wide_fig7,
     {8, 80, 2500},
     .control = "the dot product at the same sizes: runs are lost, or their drift does not fall",
     .mutation = "src/objective/similarity.c: `{\"cosine\", cosine_forward, cosine_backward}` "
                 "becomes `{\"cosine\", dot_forward, dot_backward}`",
     .outcome = "pass"},
    {"wide-cifar",
     "WIDE Figs. 1, 3, 4, 5 left and middle, summary",
     "The same on CIFAR-10, three colours of 32 x 32, in the place of MNIST: kernel and C stay "
     "nearly "
     "constant, the more so the wider.",
     "what wide-fig1, -fig3, -fig4l, -fig4m, -fig4r, -fig5l and -fig5m ask for, controls and all "
     "(quick: the first and fig5l, on points of a sphere)",
     wide_cifar,
     {5, 180, 100000},
     .control = "those of the seven: the other similarity, and a rate that grows with M or is "
                "thirty times as large",
     .data = "cifar10",
     .mutation = "src/method/kernel.c: `ep_mat_axpy(&t->F, 1, &k->F0);` becomes "
                 "`ep_mat_axpy(&t->F, 1.5, &k->F0);`",
     .outcome = "fail"},
    {"wide-bounds",
     "WIDE Lemmas 7, 8, 11, 12, 16, 17, Theorem 13",
     "Hessian, steps, weights, kernel, C and its PCA stay within bounds that fall with width.",
     "every bound that applies is at least the measurement, for tanh and erf, descent with and "
     "without an orthogonal output layer; Lemma 11 in every step; the control does not hold",
     wide_bounds,
     {2, 120, 4000},
     .control =
         "Lemma 7 with max |x_j| in the place of |x|_2 on points of the sphere in R^1000: it "
         "must be below the Hessian",
     .mutation = "src/theory/bounds.c: `return log10((a1(in) * in->R + a2(in)) / sqrt(in->M));` "
                 "becomes `return log10((a1(in) * in->R + a2(in)) / pow(in->M, 2));`",
     .outcome = "pass"},
    {"wide-theorem13",
     "WIDE Theorem 13",
     "With cosine similarity the tangent kernel has changed by O(M^{-1/6} log^3 M) after M^{1/6} "
     "steps.",
     "largest change of K after M^{1/6} steps: 95 % interval of the exponent in width below -1/6; "
     "after M^{1/4} and M^{1/2} below 0; the control's is not",
     wide_theorem13,
     {2, 40, 1500},
     .control = "the dot product after M^{1/2} steps: it must not fall",
     .mutation = "src/objective/similarity.c: `{\"cosine\", cosine_forward, cosine_backward}` "
                 "becomes `{\"cosine\", dot_forward, dot_backward}`",
     .outcome = "pass"},
    {"wide-prop18",
     "WIDE Prop. 18",
     "Two equal columns of W(0) give two equal outputs for ever, with the network and with the "
     "analytic kernel: a start can collapse dimensions.",
     "the two outputs differ by at most 1e-12 of the largest after training, while the loss falls, "
     "for cosine and dot, by descent and by the analytic kernel's dynamics",
     wide_prop18,
     {1, 2, 30},
     .in_double = true,
     .control = "a third output with a column of its own must differ by more than a tenth",
     .mutation = "src/objective/similarity.c: `du[j] = c * du[j] - b * f[j];` becomes `du[j] = (c "
                 "* du[j] - b * f[j]) * (double)(j + 1);`",
     .outcome = "pass"},
    {"wide-open",
     "WIDE section 5 (open)",
     "Open: trained until the loss settles, is the tangent kernel still nearly constant, and is "
     "the trained output layer PCA of C(0)?",
     "a question: answered once every run settles (improves by less than 1e-4 in 100 epochs), "
     "the 95 % intervals of the exponents are less than 1 wide, and the control comes out; the "
     "answers are the numbers",
     wide_open,
     {12, 150, 15000},
     .control = "PCA of C at the end, which the same angles must show W to be (mean cosine above "
                "0.9 in every run)",
     .mutation = "src/objective/similarity.c: `{\"cosine\", cosine_forward, cosine_backward}` "
                 "becomes `{\"cosine\", dot_forward, dot_backward}`",
     .question = true,
     .outcome = "answered"},
    {"wide-open-losses",
     "WIDE section 5 (open)",
     "Open: does the tangent kernel stay nearly constant under other losses, at equal progress?",
     "a question: answered once the rule that all losses are judged by tells the control apart",
     wide_open_losses,
     {8, 200, 15000},
     .control =
         "the linear loss with the dot product, whose kernel does not stay (Prop. 10), by the "
         "same rule",
     .mutation = "src/method/training.c: `ep_mat_axpy(&t->state, -t->setup->fit.rate, "
                 "&t->gradient);` becomes `ep_mat_axpy(&t->state, -t->setup->fit.rate * pow(0.97, "
                 "(double)t->epoch), &t->gradient);`",
     .question = true,
     .outcome = "answered"},
    {"wide-open-depth",
     "WIDE section 5 (open)",
     "Open: does the theory of two layers describe deeper networks (cosine)?",
     "a question: answered once the 95 % intervals of the exponents of the largest change of K "
     "for one to four hidden layers are less than 1 wide, and the rule tells the control apart",
     wide_open_depth,
     {2, 50, 1500},
     .control = "the dot product with one hidden layer: runs are lost, or their drift does not "
                "fall",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .question = true,
     .outcome = "answered"},
    {"wide-open-data",
     "WIDE section 5 (open)",
     "Open: is it so on other data? Fashion-MNIST (points on a sphere at the quick size).",
     "a question: answered once the 95 % interval of the exponent of the largest change of K is "
     "less than 1 wide, and the rule tells the control apart",
     wide_open_data,
     {1, 27, 1300},
     .control = "the dot product on the same data: runs are lost, or their drift does not fall",
     .mutation = "src/objective/similarity.c: `{\"dot\", dot_forward, dot_backward}` becomes "
                 "`{\"dot\", cosine_forward, cosine_backward}`",
     .data = "fashion",
     .question = true,
     .outcome = "answered"},
    {"wide-open-start",
     "WIDE Prop. 18, section 5 (open)",
     "Open: which starts lead to collapse? Equal columns of W(0) do; what of columns that are "
     "nearly equal?",
     "a question: answered once equal columns are seen to stay at RankMe 1 (to 1e-6) for every "
     "seed; what nearly equal ones do is the answer",
     wide_open_start,
     {1, 37, 600},
     .in_double = true,
     .control = "independent columns: RankMe must end above 2 for every seed",
     .mutation = "src/objective/similarity.c: `du[j] = c * du[j] - b * f[j];` becomes `du[j] = (c "
                 "* du[j] - b * f[j]) * (double)(j + 1);`",
     .question = true,
     .outcome = "answered"},
    {0}};
