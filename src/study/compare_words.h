#pragma once
/* The verdict in words. */
#include "study/compare.h"

const char *ep_score_name(ep_score by); /* accuracy, recall of positives */

/* The first line: what to use, how good it is, what it costs; and the command that fits the method. `rival`: the best that is no
 * training; NULL: none. */
ep_status ep_say_use(ep_verdict *v, const ep_comparison *m, const ep_row *rival,
                     const ep_compare_config *config, const ep_setup *base);
/* The three questions. */
void ep_say_same(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                 const ep_comparison *m, const ep_compare_config *config);
void ep_say_good(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                 const ep_comparison *m, const ep_compare_config *config);
void ep_say_cheaper(char text[600], const ep_finding *f, const ep_row *row, const ep_row *training,
                    const ep_compare_config *config);
/* What to run where the interval of an exponent is too wide, or there is none: --widths .. */
void ep_say_more(char text[100], const ep_comparison *m, const ep_compare_config *config);
/* The theory's part; lost: its training diverges at the largest width. */
void ep_say_theory(ep_theory_part *t, ep_theory which, const ep_comparison *m, bool lost,
                   const ep_compare_config *config);
void ep_say_small(ep_said *said, ep_theory which, const ep_drift_row *d, const ep_comparison *m,
                  const ep_compare_config *config);
void ep_say_falls(ep_said *said, ep_theory which, const ep_drift_row *d, const ep_comparison *m,
                  const ep_compare_config *config);
void ep_say_angles(char text[600], const ep_comparison *m);
