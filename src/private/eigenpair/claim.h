#pragma once
/* The papers' claims, each a check: what it runs, what it measures, its criterion, its figures. */
#include <eigenpair/figure.h>
#include <eigenpair/run.h>

typedef enum {
  EP_CLAIM_QUICK,  /* seconds: what the tests run */
  EP_CLAIM_MEDIUM, /* a minute or two */
  EP_CLAIM_PAPER   /* the paper's own sizes */
} ep_claim_size;

/* A number that was measured, or a list of them, and the ends of its interval where it has one. */
enum { EP_CLAIM_NAME = 160 };
typedef struct {
  char name[EP_CLAIM_NAME];
  bool list;
  ptrdiff_t count;          /* of a list; else 1 */
  double *value;            /* (count), owned */
  const double *low, *high; /* (count), in the same block; NULL: no interval */
} ep_claim_number;

/* What came out. All of it is the caller's. */
typedef struct {
  bool pass;
  ep_claim_number *measured; /* every number with its name */
  int numbers, room;
  json_t *figures; /* array of figures (figure.h) */
  json_t *notes;   /* array of sentences: what was done where the paper is silent */
  json_t *found;   /* array of sentences: what was found that the paper does not say */
} ep_claim_result;
/* Empty, ready to be filled in; and the end of it. */
ep_status ep_claim_result_new(ep_claim_result *out);
void ep_claim_result_free(ep_claim_result *r);
/* Fill in. The figure becomes the result's, also on failure. */
ep_status ep_claim_measure(ep_claim_result *r, const char *name, double value);
ep_status ep_claim_measure_all(ep_claim_result *r, const char *name, const double *value,
                               ptrdiff_t count);
ep_status ep_claim_measure_within(ep_claim_result *r, const char *name, double value, double low,
                                  double high);
ep_status ep_claim_measure_all_within(ep_claim_result *r, const char *name, const double *value,
                                      const double *low, const double *high, ptrdiff_t count);
/* a number as it is, under another name */
ep_status ep_claim_measure_as(ep_claim_result *r, const char *name, const ep_claim_number *number);
ep_status ep_claim_figure(ep_claim_result *r, json_t *figure);
ep_status ep_claim_note(ep_claim_result *r, const char *sentence);
ep_status ep_claim_found(ep_claim_result *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What is measured as files have it: {NAME: number or [..], NAME_low: .., NAME_high: .. (the ends of an interval), ..}, null
 * where a number is not finite. *out is the caller's. */
ep_status ep_claim_measured_to_json(json_t **out, const ep_claim_result *r);
ep_status ep_claim_measured_from_json(ep_claim_result *r, const json_t *object);

typedef struct {
  const char *id;        /* linear-fig1 */
  const char *source;    /* LINEAR Fig. 1 */
  const char *says;      /* the paper's statement, in our words */
  const char *criterion; /* what must come out */
  /* `result` is empty when it is called; on failure the caller frees it all the same */
  ep_status (*check)(ep_claim_result *result, ep_claim_size size, const ep_run_config *run);
  double seconds[3]; /* about how long each size takes on two cores: for the time left */
  const char *
      control; /* where the criterion must fail, run and shown with the rest; NULL: there is none */
  const char *outcome; /* of the committed run (docs/findings.md): pass, fail, answered */
  const char *data;    /* a data set that it needs past --quick, or NULL */
  /* "FILE: `OLD` becomes `NEW`": with this its test goes red (tools/mutants.py) */
  const char *mutation;
  bool in_double; /* whatever --precision says */
  bool question;  /* of the paper: no criterion that it can fail, its numbers are the answer */
} ep_claim;
/* One table a paper; ends with a row whose id is NULL. */
extern const ep_claim ep_claims_wide[], ep_claims_linear[], ep_claims_tangent[], ep_claims_optima[];

/* A numbered statement, definition, figure or open question of a paper, and what became of it. */
typedef struct {
  const char *where; /* Theorem 1 */
  const char *by;    /* the claim or the command that looks at it */
  const char *
      outcome; /* NULL: that of the claim; defined: nothing to check, used by what is named; left out */
  const char *note; /* one sentence */
} ep_statement;
/* One table a paper; ends with a row whose `where` is NULL. */
extern const ep_statement ep_statements_wide[], ep_statements_linear[], ep_statements_tangent[],
    ep_statements_optima[];

typedef struct {
  const char *name;  /* wide: what its ids begin with */
  const char *title; /* what the paper is about */
  const ep_claim *claims;
  const ep_statement *statements; /* NULL: its claims stand for them */
  bool in_double;                 /* whatever --precision says */
} ep_paper;
extern const ep_paper ep_papers[]; /* ends with a row whose name is NULL */
