#pragma once
#include <stddef.h>

/* Calls into BLAS that stay on the calling thread. OpenBLAS asks OpenMP how many threads the caller has; between these
 * two the answer is one. */
int ep_solo_begin(void); /* what ep_solo_end takes */
void ep_solo_end(int threads);

/* tile t of the upper triangle of count x count tiles, row after row */
void ep_triangle_place(ptrdiff_t *row, ptrdiff_t *col, ptrdiff_t t, ptrdiff_t count);
