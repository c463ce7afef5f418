#pragma once
/* Every allocation of the library goes through here: counted for the run that asked for it, and able to fail on
 * demand. */
#include <stdbool.h>
#include <stddef.h>

void *ep_alloc(ptrdiff_t count, size_t size); /* zeroed; NULL on overflow or no memory */
void ep_release(void *p);                     /* NULL is fine; from any thread */

/* What a run holds. Blocks name the account they were taken from, so they may outlive the run. */
typedef struct ep_account ep_account;
ep_account *ep_account_new(
    double limit); /* no block is given that would take it past so many bytes; NULL: no memory */
void ep_account_free(ep_account *account); /* once its last block is gone */
ep_account *ep_account_use(
    ep_account *account); /* of this thread from now on (NULL: of no run); the one before */

size_t ep_mem_current(void); /* bytes in use, by this thread's account */
size_t ep_mem_peak(void);    /* most bytes in use at once since the last reset */
void ep_mem_peak_reset(void);

/* Was the last allocation of this thread that failed refused for the limit of its account? */
bool ep_alloc_limited(void);

extern long ep_alloc_fail_after; /* tests only: the n-th allocation from now fails; < 0 = never */
