#include "core/real.h"

#include <eigenpair/machine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

int ep_level;

#define NAME(unused, level) #level,
static const char *const names[] = {EP_LEVELS(NAME, )};
static int best;         /* the highest level this processor can run */
static char refused[32]; /* what EP_KERNELS says, where that is none */

#ifdef __x86_64__
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

const char *ep_machine_processor(void) {
  static char name[128];
  char line[256];
  if (name[0]) return name;
  FILE *in = fopen("/proc/cpuinfo", "r");
  while (in && !name[0] && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "model name", 10) == 0 && strchr(line, ':'))
      snprintf(name, sizeof name, "%s", strchr(line, ':') + 2);
  }
  if (in) fclose(in);
  struct utsname machine;
  if (!name[0]) snprintf(name, sizeof name, "%s", uname(&machine) ? "unknown" : machine.machine);
  return name;
}
