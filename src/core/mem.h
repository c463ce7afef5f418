#pragma once
/* Every allocation of the library goes through here: counted, and able to fail on demand. */
#include <stddef.h>

void *ep_alloc(ptrdiff_t count, size_t size); /* zeroed; NULL on overflow or no memory */
void ep_release(void *p);                     /* NULL is fine */

size_t ep_mem_current(void); /* bytes now in use through ep_alloc */
size_t ep_mem_peak(void);    /* most bytes in use at once since the last reset */
void ep_mem_peak_reset(void);

extern long ep_alloc_fail_after; /* tests only: the n-th allocation from now fails; < 0 = never */
