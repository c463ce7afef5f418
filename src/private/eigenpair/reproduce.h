#pragma once
/* The papers' claims, run as independent jobs, and their reports. */
#include <eigenpair/claim.h>

const char *ep_claim_size_name(ep_claim_size size); /* quick, medium, paper */
/* The claims that a list of words names: an id, or the name of a paper for all of its claims; no words: all of them.
 * Puts those wanted into *wanted (room for EP_MOST_CLAIMS), each once, in the order of the papers. */
enum { EP_MOST_CLAIMS = 128 };
ep_status ep_claims_find(const ep_claim *wanted[], int *count, const char *const *words,
                         int word_count);

/* [{"id", "paper", "source", "says", "criterion", "control", "outcome" of the committed run}, ..]; *out is the caller's. */
ep_status ep_claims_list(json_t **out, const ep_claim *const *claims, int count);
/* What became of every statement of the papers that the claims belong to: [{"paper", "where", "by", "outcome", "note"}, ..];
 * *out is the caller's. */
ep_status ep_statements_list(json_t **out, const ep_claim *const *claims, int count);

/* Runs the claims one after the other; finished ones are kept in folder/jobs as they end, and taken from there when the
 * same is run again. A claim that cannot run has an `error` and is not passed; the others go on. *result (the caller's):
 *
 *   {"size": "quick", "seed": 0, "precision": "single", "version": .., "passed": 30, "failed": 2, "errors": 1, "seconds": ..,
 *    "claims": [{"id", "paper", "source", "says", "criterion", "control" (or null), "pass", "outcome", "measured": {..},
 *                "figures": [..], "notes": [..], "found": [..], "seconds", "error" (only if it could not run)}, ..]}
 *
 * outcome: pass, fail, answered (a question) or error. */
ep_status ep_reproduce(json_t **result, const ep_claim *const *claims, int count,
                       ep_claim_size size, const ep_run_config *run, const char *folder);
/* folder/report.html with all claims in a table, folder/PAPER/report.html for each paper, folder/findings.md.
 * `command` repeats it; machine is borrowed. */
ep_status ep_reproduce_write(const char *folder, const json_t *result, const char *command,
                             const json_t *machine);
