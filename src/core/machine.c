#define _GNU_SOURCE /* dl_iterate_phdr */
#include "core/blas.h"
#include "core/loaded.h"
#include "core/real.h"

#include <eigenpair/machine.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

int ep_level;

#define NAME(unused, level) #level,
static const char *const names[] = {EP_LEVELS(NAME, )};
static int best;         /* the highest level this processor can run */
static char refused[32]; /* what EP_KERNELS says, where that is none */

#if defined __x86_64__ && !defined EP_PLAIN
/* The compilers' own names of the levels are too new; these are what our loops make use of. */
static int can_run(void) {
  __builtin_cpu_init();
  const int v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                 __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                 __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl");
  return v2 + v3 + v4;
}
#else
static int can_run(void) { return 0; }
#endif

__attribute__((constructor)) static void choose(void) {
  const char *wish = getenv("EP_KERNELS");
  ep_level = best = can_run();
  ep_blas_choose(best);
  if (!wish || !*wish) return;
  snprintf(refused, sizeof refused, "%s", wish);
  for (int level = 0; level <= best; level++)
    if (strcmp(names[level], wish) == 0) {
      ep_level = level;
      refused[0] = 0;
    }
}

const char *ep_machine_kernels(void) { return names[ep_level]; }

ep_status ep_machine_check(void) {
  char list[64] = "";
  for (int level = 0; level <= best; level++) {
    if (level) strcat(list, level < best ? ", " : " or ");
    strcat(list, names[level]);
  }
  EP_CHECK(!refused[0], EP_ERR_ARG, "EP_KERNELS is '%s'; on this processor it can be %s", refused,
           list);
  return EP_OK;
}

/* The note that the linker leaves in the object this function is in (NT_GNU_BUILD_ID), as hexadecimal digits. */
static int find_build(struct dl_phdr_info *object, size_t size, void *user) {
  const bool ours = ep_object_holds(object, (uintptr_t)&find_build);
  (void)size;
  for (int i = 0; ours && i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &object->dlpi_phdr[i];
    const unsigned char *p = (const unsigned char *)(object->dlpi_addr + h->p_vaddr);
    for (size_t at = 0; h->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < h->p_memsz;) {
      const ElfW(Nhdr) *note = (const void *)(p + at);
      const size_t name = at + sizeof *note, value = name + (note->n_namesz + 3) / 4 * 4;
      for (size_t k = 0; note->n_type == NT_GNU_BUILD_ID && k < note->n_descsz && k < 20; k++)
        snprintf((char *)user + 2 * k, 3, "%02x", p[value + k]);
      at = value + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return ours;
}

static char build[48], processor[128]; /* of `know` */

static void know_build(void) {
  dl_iterate_phdr(find_build, build);
  if (!build[0]) snprintf(build, sizeof build, "unknown");
}

static void know_processor(void) {
  char line[256];
  struct utsname machine;
  FILE *in = fopen("/proc/cpuinfo", "r");
  while (in && !processor[0] && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
      snprintf(processor, sizeof processor, "%s", strchr(line, ':') + 2);
  }
  if (in) fclose(in);
  if (!processor[0])
    snprintf(processor, sizeof processor, "%s", uname(&machine) ? "unknown" : machine.machine);
}

/* found when first asked for, by one thread of those that ask */
static void know(void) {
  know_build();
  know_processor();
}

static pthread_once_t known = PTHREAD_ONCE_INIT;

const char *ep_machine_build(void) {
  (void)pthread_once(&known, know);
  return build;
}

const char *ep_machine_processor(void) {
  (void)pthread_once(&known, know);
  return processor;
}
