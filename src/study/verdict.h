#pragma once
/* What a comparison says, as data: pure functions of the measured rows. How they were measured is compare_job.c, how it
 * is told compare_words.c.
 *
 * An answer is yes, no or none. There is none where training has not moved (then its own start would pass every test),
 * where it has not settled (then it may still come to differ) or its epochs are too few to tell, where seeds disagree or an interval contains zero. */
#include "method/methods.h"

#include <eigenpair/powerlaw.h>

typedef enum { EP_NO_ANSWER, EP_YES, EP_NO } ep_answer;
const char *ep_answer_name(ep_answer answer); /* no answer, yes, no */

typedef enum {
  EP_DECIDED,
  EP_NOT_MEASURED,
  EP_NOT_MOVED,
  EP_NOT_SETTLED,
  EP_TOO_FEW_EPOCHS, /* to tell whether it has */
  EP_SEEDS_DISAGREE,
  EP_TRAINING_DIVERGED,
  EP_METHOD_DIVERGED,
  EP_TRADE /* less of one thing, more of another */
} ep_reason;

typedef struct {
  ep_answer answer;
  ep_reason reason;
  double number, low, high; /* NAN: not measured */
} ep_finding;

/* One fit: a method, a width and a seed. NAN: not measured. */
typedef struct {
  bool there, diverged;
  double accuracy, train_accuracy; /* linear probe, on test points and on those it was made from */
  double recall;                   /* share of held-out anchors whose positive is the nearest */
  double rankme, test_loss;        /* of the outputs at the held-out pairs */
  double loss;
  double seconds, memory;
  double difference; /* outputs against those of training, relative to their length */
  double moved;      /* outputs against those at the start; methods that train */
  double settling;   /* share of the change of the loss that the last tenth of the epochs made */
} ep_trial;

/* What every method has to be better than. */
typedef enum { EP_NO_BASELINE, EP_BASELINE_RAW, EP_BASELINE_PCA, EP_BASELINES } ep_baseline;
const char *ep_baseline_name(ep_baseline which); /* raw inputs, PCA of inputs; NULL: none */

typedef struct {
  const char *name;
  const ep_method_row *method; /* NULL: a baseline */
  ep_baseline baseline;
  bool analytic;        /* with the kernel of infinite width */
  const char *features; /* where compare chose them; NULL: as the options say */
  long width;           /* 0: none */
  int seeds;
  ep_trial *trial; /* (seeds), a row's k-th is of the same seed as another's */
} ep_row;

typedef enum { EP_BY_ACCURACY, EP_BY_RECALL } ep_score;
double ep_trial_score(const ep_trial *t, ep_score by);

/* Mean, standard deviation and range of a number over the seeds that have it. */
typedef struct {
  double mean, sd, low, high;
  int count;
} ep_spread;
ep_spread ep_spread_of(const ep_row *row, size_t offset); /* offset: of a double in ep_trial */
ep_spread ep_spread_score(const ep_row *row, ep_score by);
int ep_row_diverged(const ep_row *row); /* seeds */

#define EP_MARGIN        0.01 /* of a score: less does not matter */
#define EP_MEMORY_MARGIN 16e6 /* bytes that do not matter */
#define EP_SETTLED       0.02 /* of the change of the loss, in the last tenth */
#define EP_TENTHS        10   /* epochs that have a last tenth */

/* Has training moved by more than the tolerance, and settled? EP_DECIDED: both, at every seed. */
ep_reason ep_training_state(const ep_row *training, double tolerance);

/* Are the outputs those of training, within the tolerance, at every seed? number: mean relative difference. */
ep_finding ep_same_function(const ep_row *row, const ep_row *training, double tolerance);
/* Is the score at most EP_MARGIN below training's? number: the score less training's, with its 95 % interval: over seeds
 * (Student's t), with one seed by the number of test points. */
ep_finding ep_as_good(const ep_row *row, const ep_row *training, ep_score by, double tests,
                      double tolerance);
/* Does it take less time at every seed, and not more memory (by a tenth and EP_MEMORY_MARGIN)? Less of one and more of the other is a
 * trade: no answer. number: training's time over its own. */
ep_finding ep_cheaper(const ep_row *row, const ep_row *training);
/* Is a drift within the tolerance at every seed? */
ep_finding ep_small(const double *drift, int count, double tolerance);
/* Does it fall with width: is the interval of the exponent below zero? number: the exponent. */
ep_finding ep_falls(const ep_power_law *law);

/* The rows sorted by mean score, best first; of equal ones the cheaper; those without a score last. Cheaper: by class (inputs as
 * they are, closed forms, descents that stand for training, training), then by memory. Both are counted, not timed: the
 * same jobs give the same order and choice whenever they are run. */
void ep_rows_sort(ep_row *row, int count, ep_score by);
typedef enum { EP_OF_METHODS, EP_OF_CLOSED, EP_OF_BASELINES } ep_among; /* CLOSED: no training */
/* What to use: the cheapest of those whose score is at most EP_MARGIN below the best of them; -1: none has a score. A baseline is
 * a choice where no method is better, -1 elsewhere: what is as good and free stands first in the sorted rows, too. */
int ep_rows_choose(const ep_row *row, int count, ep_score by, ep_among of);
/* The training that a row is held against: what it stands for at its own width if that was run, else the training with
 * the best score; NULL: none was run. */
const ep_row *ep_row_training(const ep_row *row, const ep_row *rows, int count, ep_score by);
bool ep_row_trains(const ep_row *row); /* it is training itself, no stand-in for it */
