#pragma once
/* eigenpair learnability: what was asked and found (cmd_learnability.c), and how it is said (learnability_report.c). */
#include "commands.h"

enum { LEARN_ANALYTIC, LEARN_NNGP };
const char *learn_kernel_name(int i);

#define LEARN_OPTIONS(X, S)                                                                       \
  X(S, TEXT, kernel_matrix, "", 0, 0, NULL,                                                       \
    "a kernel of all points of the domain, .npy, instead of --data")                              \
  X(S, CHOICE, kernel, "analytic", 0, 0, learn_kernel_name,                                       \
    "infinitely wide network: its tangent kernel, or its Gaussian process")                       \
  X(S, INT, depth, "1", 1, 32, NULL, "hidden layers L")                                           \
  X(S, NAME, activation, "relu", 0, 1, ep_activation_name,                                        \
    "activation; leaky:SLOPE and monomial:POWER take a parameter")                                \
  X(S, FLAG, input_scale, NULL, 0, 0, NULL, "divide the first layer by sqrt(D)")                  \
  X(S, INT, train, "0", 0, 1e9, NULL, "training points n; 0: the last of --trains")               \
  X(S, TEXT, trains, "", 0, 0, NULL,                                                              \
    "n1,n2,..: a curve of the test error (default without --train: 10,20,50,..); beyond the "     \
    "points there are by the law of the error")                                                   \
  X(S, TEXT, target, "", 0, 0, NULL,                                                              \
    "what is learnt: .npy with a row a point; degree:K[,K2..] on circle, cube, sphere (default: " \
    "labels; "                                                                                    \
    "without, a random function)")                                                                \
  X(S, REAL, ridge, "0", 0, 1e300, NULL, "added to the diagonal of K(D,D)")                       \
  X(S, REAL, noise, "0", 0, 1e150, NULL, "standard deviation of the noise on training targets")   \
  X(S, INT, measure, "0", 0, 1e6, NULL,                                                           \
    "regression from so many drawn training sets beside the prediction")                          \
  X(S, INT, modes, "65536", 1, 1e9, NULL, "eigenvalues listed in JSON at most, the largest")      \
  X(S, TEXT, out, "", 0, 0, NULL, "the result as JSON in this file")                              \
  X(S, TEXT, report, "", 0, 0, NULL, "folder for report.html: the curve and the spectrum, drawn")
typedef struct {
  LEARN_OPTIONS(EP_OPT_FIELD, )
} learn_config;

typedef struct {
  learn_config learn;
  ep_data_config data;
  ep_variance_config analytic;
  ep_run_config run;
  cli_config cli;
} setup_learn;

enum { LEARN_CURVE = 64, LEARN_DEGREES = 64 };
typedef struct {
  ep_domain *domain;
  ep_target target; /* F owned */
  int degree[LEARN_DEGREES];
  bool white, labels; /* the target is a random function; is made of labels */
  double *power;      /* (levels), or NULL for a random function */
  double total;       /* |f|^2: the error of knowing nothing */
  double *L,
      *T; /* (levels) learnability predicted and, with --measure, measured at the n asked for */
  int curve, at; /* how many n; which of them --train is */
  double n[LEARN_CURVE];
  int within; /* of the n: the first so many are not beyond the points there are */
  ep_prediction predicted[LEARN_CURVE];
  double low[LEARN_CURVE], high[LEARN_CURVE]; /* of the error on unseen points, beyond them */
  ep_measurement measured[LEARN_CURVE];
  char name[1100]; /* of the domain */
} learn_work;

ep_status learn_report(const learn_work *w, const setup_learn *s, const ep_option_group *groups,
                       int argc, char **argv);
