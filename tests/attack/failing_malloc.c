/* LD_PRELOAD: the n-th allocation that comes from a module fails, once.
 *   EP_FAIL_AT=n     which one, counted from 1; 0: none
 *   EP_FAIL_IN=part  of the module's file name; "" is the program itself
 *   EP_FAIL_LOG=file where the number of allocations seen goes at the end
 * Within a process: ep_failing_arm(n, part) begins to count anew, ep_failing_seen() has counted so many. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

void ep_failing_arm(long n, const char *module);
long ep_failing_seen(void);

static struct { uintptr_t low, high; } range[16];
static int ranges;
static long at;
static atomic_long seen;
static const char *log_to;

static int find(struct dl_phdr_info *info, size_t size, void *user) {
  const char *want = user;
  (void)size;
  if (*want ? !strstr(info->dlpi_name, want) : *info->dlpi_name) return 0;
  for (int i = 0; i < info->dlpi_phnum && ranges < 16; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type != PT_LOAD || !(h->p_flags & PF_X)) continue;
    range[ranges].low = info->dlpi_addr + h->p_vaddr;
    range[ranges++].high = info->dlpi_addr + h->p_vaddr + h->p_memsz;
  }
  return 0;
}

void ep_failing_arm(long n, const char *module) {
  at = 0; /* nothing fails on the way */
  ranges = 0;
  dl_iterate_phdr(find, (void *)(uintptr_t)module);
  atomic_store(&seen, 0);
  at = n;
}

long ep_failing_seen(void) { return atomic_load(&seen); }

__attribute__((constructor)) static void begin(void) {
  const char *n = getenv("EP_FAIL_AT"), *module = getenv("EP_FAIL_IN");
  log_to = getenv("EP_FAIL_LOG");
  unsetenv("LD_PRELOAD"); /* not for children */
  if (n && module) ep_failing_arm(atol(n), module);
}

__attribute__((destructor)) static void end(void) {
  FILE *f = log_to ? fopen(log_to, "w") : NULL;
  if (!f) return;
  fprintf(f, "%ld\n", atomic_load(&seen));
  fclose(f);
}

static int fails(void *caller) {
  for (int i = 0; i < ranges; i++)
    if ((uintptr_t)caller >= range[i].low && (uintptr_t)caller < range[i].high)
      return atomic_fetch_add(&seen, 1) + 1 == at ? (errno = ENOMEM, 1) : 0;
  return 0;
}

void *malloc(size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}
void *realloc(void *p, size_t size) {
  return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}
