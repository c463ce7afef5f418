#pragma once
/* Random numbers by counter (Philox 4x32-10): number i of a stream is a function of (seed, stream, i)
 * alone, so results depend neither on the thread count nor on the order of the calls. */
#include <eigenpair/matrix.h>
#include <stdint.h>

/* Streams: one for each use, so that two uses never share numbers. */
enum {
  EP_STREAM_WEIGHTS, /* + layer */
  EP_STREAM_SAMPLE = 1000,
  EP_STREAM_NEGATIVE,
  EP_STREAM_AUGMENT,
  EP_STREAM_BATCH,
  EP_STREAM_DATA,
  EP_STREAM_START,
  EP_STREAM_KRYLOV,
  EP_STREAM_PATCH,
  EP_STREAM_LANDMARK,
  EP_STREAM_PROBE,
  EP_STREAM_MAP
};

typedef struct {
  uint64_t seed;
  uint32_t stream, sub; /* sub: an index such as the point, the epoch or the layer */
  uint64_t next;        /* counter of the sequential calls below */
} ep_random;

ep_random ep_random_new(uint64_t seed, uint32_t stream, uint32_t sub);
double ep_random_uniform(ep_random *r);           /* in [0, 1) */
double ep_random_normal(ep_random *r);            /* N(0, 1) */
int64_t ep_random_below(ep_random *r, int64_t n); /* 0 .. n-1, without bias */
void ep_random_permutation(ep_random *r, ptrdiff_t *p,
                           ptrdiff_t n); /* p = a permutation of 0..n-1 */
/* the first k of it alone */
void ep_random_some(ep_random *r, ptrdiff_t *p, ptrdiff_t k, ptrdiff_t n);

/* A = N(0, 1); entry (i, j) is number i * cols + j of the stream, rounded from double. */
void ep_random_fill_normal(const ep_mat *A, uint64_t seed, uint32_t stream, uint32_t sub);
