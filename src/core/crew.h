#pragma once
/* Loops whose turns several threads take as they come, a few at a time. */
#include <stdbool.h>
#include <stddef.h>

/* turns first .. end - 1 of a loop */
typedef void ep_turns(void *loop, ptrdiff_t first, ptrdiff_t end);

/* All turns 0 .. count - 1, `at_once` of them a time, by the threads of the run where it is `worth` it; else, and within
 * another shared loop or a team of OpenMP's, all of them by the caller. Which thread takes which turns is left to chance: no result may hang on it. */
void ep_crew_loop(ptrdiff_t count, ptrdiff_t at_once, bool worth, ep_turns *turns, void *loop);
/* The calling thread has turns of a shared loop in hand; which of the threads it is, whose scratch to use: below the
 * ep_run_threads() of the one who shares, which is 0. */
bool ep_crew_busy(void);
int ep_crew_thread(void);
