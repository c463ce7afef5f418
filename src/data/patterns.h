#pragma once
/* The vectors u_m that OPTIMA's generative models are made of. */
#include <eigenpair/matrix.h>
#include <stdint.h>

/* U (m x m, made here, the caller's): unit columns with |U'U - I|_2 = tilt, 0: orthonormal, uniform. A function of tilt
 * and seed, whatever the threads. */
ep_status ep_patterns(ep_mat *U, ptrdiff_t m, double tilt, uint64_t seed);
