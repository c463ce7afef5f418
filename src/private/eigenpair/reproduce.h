#pragma once
/* The papers' claims, run as independent jobs, and their reports. */
#include <eigenpair/claim.h>

const char *ep_claim_size_name(ep_claim_size size); /* quick, medium, paper */
/* The claims that a list of words names: an id, or the name of a paper for all of its claims; no words: all of them.
 * Puts those wanted into *wanted (room for EP_MOST_CLAIMS), each once, in the order of the papers. */
enum { EP_MOST_CLAIMS = 128 };
ep_status ep_claims_find(const ep_claim *wanted[], int *count, const char *const *words,
                         int word_count);

/* [{"id", "paper", "source", "says", "criterion", "control", "mutation", "command", "outcome" of the committed run}, ..];
 * *out is the caller's. */
ep_status ep_claims_list(json_t **out, const ep_claim *const *claims, int count);
/* The i-th statement of the papers that the claims belong to, and what became of it; false past the last. */
typedef struct {
  const ep_paper *paper;
  ep_statement statement; /* its outcome is never NULL */
} ep_listed;
bool ep_statement_at(ep_listed *out, int i, const ep_claim *const *claims, int count);
/* All of them: [{"paper", "where", "by", "outcome", "note"}, ..]; *out is the caller's. */
ep_status ep_statements_list(json_t **out, const ep_claim *const *claims, int count);

typedef enum { EP_CLAIM_PASS, EP_CLAIM_FAIL, EP_CLAIM_ANSWERED, EP_CLAIM_ERROR } ep_claim_outcome;
const char *ep_claim_outcome_name(ep_claim_outcome outcome); /* pass, fail, answered, error */

/* A claim that was looked at. */
typedef struct {
  const ep_claim *claim;
  const ep_paper *paper;
  ep_claim_result result; /* owned */
  char error[1024];       /* why it could not run; "": it did */
  double seconds;
  char made[200]; /* on what, by which version */
  bool kept;      /* taken from the folder of kept results */
} ep_checked;
/* answered: a question that was */
ep_claim_outcome ep_checked_outcome(const ep_checked *c);

/* The seed that claims are run with. They count on from it, run by run, so that neighbouring seeds would share most of their
 * runs: a million and three lie between two. 0 stays 0. */
long ep_claim_seed(long seed);

typedef struct {
  ep_claim_size size;
  long seed;
  ep_precision precision; /* of the run's options */
  int count;
  ep_checked *claim; /* owned */
} ep_reproduced;
/* Runs the claims one after the other; finished ones are kept in folder/jobs as they end, and taken from there when the
 * same is run again by the same build. A claim that cannot run is not passed; the others go on.
 * `kept` (or NULL): a folder with one file a claim, ID.json, which is taken whichever build and machine it is of, if it
 * answers the same criterion at the same size, seed and precision; what is finished is put there, and ID.json.parts are of
 * what is not. */
ep_status ep_reproduce(ep_reproduced *out, const ep_claim *const *claims, int count,
                       ep_claim_size size, const ep_run_config *run, const char *folder,
                       const char *kept);
void ep_reproduced_free(ep_reproduced *r);
/* {"id", "paper", "source", "says", "criterion", "control" and "mutation" (or null), "command", "pass", "outcome", "measured": {..},
 *  "figures": [..], "notes": [..], "found": [..], "seconds", "made", "error" (only if it could not run)}; *out is the caller's. */
ep_status ep_checked_to_json(json_t **out, const ep_checked *c);

/* folder/report.html with all claims in a table, folder/PAPER/report.html for each paper, folder/findings.md.
 * `command` repeats it; machine and config, which every result.json carries, are borrowed. result.json of the overview:
 *
 *   {"size": "quick", "seed": 0, "precision": "single", "version": .., "passed": 30, "failed": 2, "errors": 1, "seconds": ..,
 *    "claims": [as above], "config": ..} */
ep_status ep_reproduce_write(const char *folder, const ep_reproduced *r, const char *command,
                             const json_t *machine, const json_t *config);
