#pragma once
/* Calls into BLAS that stay on the calling thread. OpenBLAS asks OpenMP how many threads the caller has; between these
 * two the answer is one. */
int ep_solo_begin(void); /* what ep_solo_end takes */
void ep_solo_end(int threads);
