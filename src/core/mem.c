#include "core/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* The size of a block stands in front of it; 64 bytes keep the alignment of what follows. */
enum { HEAD = 64 };

long ep_alloc_fail_after = -1;
static atomic_size_t current, peak;

/* Large matrices in large pages: fewer faults at first touch, fewer misses later. Only a hint. */
enum { HUGE_PAGE = 1 << 21, HUGE_FROM = 1 << 23 };
static void advise_huge(unsigned char *block, size_t bytes) {
  const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  const uintptr_t end = ((uintptr_t)block + bytes) / HUGE_PAGE * HUGE_PAGE;
  (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

void *ep_alloc(ptrdiff_t count, size_t size) {
  if (count < 0 || (count > 0 && size > (PTRDIFF_MAX - HEAD) / (size_t)count)) return NULL;
  if (ep_alloc_fail_after >= 0 && ep_alloc_fail_after-- == 0) return NULL;
  const size_t bytes = (size_t)count * size;
  unsigned char *block = calloc(1, bytes + HEAD);
  if (!block) return NULL;
  if (bytes >= HUGE_FROM) advise_huge(block, bytes);
  *(size_t *)(void *)block = bytes;
  const size_t now = atomic_fetch_add(&current, bytes) + bytes;
  size_t seen = atomic_load(&peak);
  while (now > seen && !atomic_compare_exchange_weak(&peak, &seen, now)) {}
  return block + HEAD;
}

void ep_release(void *p) {
  if (!p) return;
  unsigned char *block = (unsigned char *)p - HEAD;
  atomic_fetch_sub(&current, *(size_t *)(void *)block);
  free(block);
}

size_t ep_mem_current(void) { return atomic_load(&current); }
size_t ep_mem_peak(void) { return atomic_load(&peak); }
void ep_mem_peak_reset(void) { atomic_store(&peak, atomic_load(&current)); }
