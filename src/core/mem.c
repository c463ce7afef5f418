#include "core/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct ep_account {
  atomic_size_t current, peak;
  atomic_long users; /* the run, and every block */
  size_t limit;
};

/* Size and account of a block stand in front of it; 64 bytes keep the alignment of what follows. */
typedef struct {
  size_t bytes;
  ep_account *account;
} head;
enum { HEAD = 64 };

long ep_alloc_fail_after = -1;
static ep_account no_run = {.users = 1, .limit = SIZE_MAX}; /* of work outside of any run */
static _Thread_local ep_account *mine;
static _Thread_local bool limited;

static ep_account *account(void) { return mine ? mine : &no_run; }

ep_account *ep_account_new(double limit) {
  ep_account *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->users = 1;
  a->limit = limit < (double)PTRDIFF_MAX ? (size_t)limit : SIZE_MAX;
  return a;
}

void ep_account_free(ep_account *a) {
  if (a && atomic_fetch_sub(&a->users, 1) == 1) free(a);
}

ep_account *ep_account_use(ep_account *a) {
  ep_account *before = mine;
  mine = a;
  return before;
}

/* Large matrices in large pages: fewer faults at first touch, fewer misses later. Only a hint. */
enum { HUGE_PAGE = 1 << 21, HUGE_FROM = 1 << 23 };
static void advise_huge(unsigned char *block, size_t bytes) {
  const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  const uintptr_t end = ((uintptr_t)block + bytes) / HUGE_PAGE * HUGE_PAGE;
  (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
}

bool ep_alloc_limited(void) { return limited; }

void *ep_alloc(ptrdiff_t count, size_t size) {
  limited = false;
  if (count < 0 || (count > 0 && size > (PTRDIFF_MAX - HEAD) / (size_t)count)) return NULL;
  if (ep_alloc_fail_after >= 0 && ep_alloc_fail_after-- == 0) return NULL;
  const size_t bytes = (size_t)count * size;
  ep_account *a = account();
  const size_t held = atomic_load(&a->current);
  limited = bytes > a->limit || held > a->limit - bytes;
  if (limited) return NULL;
  unsigned char *block = calloc(1, bytes + HEAD);
  if (!block) return NULL;
  if (bytes >= HUGE_FROM) advise_huge(block, bytes);
  *(head *)(void *)block = (head){bytes, a};
  atomic_fetch_add(&a->users, 1);
  const size_t now = atomic_fetch_add(&a->current, bytes) + bytes;
  size_t seen = atomic_load(&a->peak);
  while (now > seen && !atomic_compare_exchange_weak(&a->peak, &seen, now)) {}
  return block + HEAD;
}

void ep_release(void *p) {
  if (!p) return;
  unsigned char *block = (unsigned char *)p - HEAD;
  const head *h = (void *)block;
  ep_account *a = h->account;
  atomic_fetch_sub(&a->current, h->bytes);
  free(block);
  ep_account_free(a);
}

size_t ep_mem_current(void) { return atomic_load(&account()->current); }
size_t ep_mem_peak(void) { return atomic_load(&account()->peak); }
void ep_mem_peak_reset(void) { atomic_store(&account()->peak, atomic_load(&account()->current)); }
