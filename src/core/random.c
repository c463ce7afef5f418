#include "core/crew.h"

#include <Random123/philox.h>
#include <eigenpair/random.h>
#include <math.h>

static const double two_pi = 6.283185307179586476925286766559;

ep_random ep_random_new(uint64_t seed, uint32_t stream, uint32_t sub) {
  return (ep_random){.seed = seed, .stream = stream, .sub = sub};
}

/* Block i of a stream: 128 random bits. */
static philox4x32_ctr_t block(uint64_t seed, uint32_t stream, uint32_t sub, uint64_t i) {
  const philox4x32_ctr_t counter = {{(uint32_t)i, (uint32_t)(i >> 32), stream, sub}};
  const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
  return philox4x32(counter, key);
}

static uint64_t word(const philox4x32_ctr_t *b, int half) {
  return (uint64_t)b->v[2 * half] << 32 | b->v[2 * half + 1];
}

static double unit(uint64_t bits) { return (double)(bits >> 11) * 0x1p-53; }

/* Box-Muller: two normals from two uniforms; 1 - u is in (0, 1]. */
static void normals(double z[2], const philox4x32_ctr_t *b) {
  const double r = sqrt(-2 * log(1 - unit(word(b, 0)))), t = two_pi * unit(word(b, 1));
  z[0] = r * cos(t);
  z[1] = r * sin(t);
}

static philox4x32_ctr_t step(ep_random *r) { return block(r->seed, r->stream, r->sub, r->next++); }

double ep_random_uniform(ep_random *r) {
  const philox4x32_ctr_t b = step(r);
  return unit(word(&b, 0));
}

double ep_random_normal(ep_random *r) {
  const philox4x32_ctr_t b = step(r);
  double z[2];
  normals(z, &b);
  return z[0];
}

int64_t ep_random_below(ep_random *r, int64_t n) {
  const uint64_t range = (uint64_t)n, limit = UINT64_MAX - UINT64_MAX % range;
  for (;;) { /* numbers above the last multiple of n would favour the small ones */
    const philox4x32_ctr_t b = step(r);
    if (word(&b, 0) < limit) return (int64_t)(word(&b, 0) % range);
  }
}

/* Fisher-Yates */
void ep_random_permutation(ep_random *r, ptrdiff_t *p, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const ptrdiff_t j = (ptrdiff_t)ep_random_below(r, i + 1);
    if (j < i) p[i] = p[j];
    p[j] = i;
  }
}

void ep_random_some(ep_random *r, ptrdiff_t *p, ptrdiff_t k, ptrdiff_t n) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const ptrdiff_t j = (ptrdiff_t)ep_random_below(r, i + 1);
    if (j < i && i < k) p[i] = p[j];
    if (j < k) p[j] = i;
  }
}

typedef struct {
  const ep_mat *A;
  uint64_t seed;
  uint32_t stream, sub;
} normal_loop;

static void some_normals(void *of, ptrdiff_t first, ptrdiff_t end) { /* a turn: two numbers */
  const normal_loop *l = of;
  const ep_mat *A = l->A;
  const ptrdiff_t count = A->rows * A->cols;
  for (ptrdiff_t k = 2 * first; k < 2 * end; k += 2) {
    const philox4x32_ctr_t b = block(l->seed, l->stream, l->sub, (uint64_t)k / 2);
    double z[2];
    normals(z, &b);
    ep_set(A, k / A->cols, k % A->cols, z[0]);
    if (k + 1 < count) ep_set(A, (k + 1) / A->cols, (k + 1) % A->cols, z[1]);
  }
}

void ep_random_fill_normal(const ep_mat *A, uint64_t seed, uint32_t stream, uint32_t sub) {
  const ptrdiff_t count = A->rows * A->cols;
  normal_loop l = {A, seed, stream, sub};
  ep_crew_loop((count + 1) / 2, 1024, count > 10000, some_normals, &l);
}
