/* Limits that are too small, seen before any library starts. OpenBLAS takes its buffers when it is loaded and, where the
 * system refuses them (ulimit -v), asks again for ever; so what it will need is asked for once here, and given back.
 * Functions in .preinit_array run before those of libraries; of the C library only what needs no set-up is used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#ifndef SANITIZED
enum { BUFFER = 128 }; /* MiB; one a thread when it is loaded, one more for each that calls it */

static int number_of(char **environment, const char *name) {
  const size_t n = strlen(name);
  for (; *environment; environment++)
    if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
      return atoi(*environment + n + 1);
  return 0;
}

/* as OpenBLAS counts them: what the environment says, but no more than processors, whichever of them the process may use */
static int threads_of(char **environment) {
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS",
                                      "OMP_NUM_THREADS"};
  const long processors = sysconf(_SC_NPROCESSORS_CONF);
  const int cores = processors > 0 ? (int)processors : 1;
  for (int i = 0; i < 3; i++) {
    const int n = number_of(environment, names[i]);
    if (n > 0) return n < cores ? n : cores;
  }
  return cores;
}

static void check_limits(int argc, char **argv, char **environment) {
  struct rlimit space, data;
  (void)argc, (void)argv;
  if (getrlimit(RLIMIT_AS, &space) || getrlimit(RLIMIT_DATA, &data) ||
      (space.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY))
    return;
  const int threads = threads_of(environment);
  const size_t mib = (size_t)2 * BUFFER * (size_t)threads + 32;
  void *p = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p != MAP_FAILED) {
    munmap(p, mib << 20);
    return;
  }
  char line[300];
  const int n = snprintf(line, sizeof line,
                         "eigenpair: out of memory before the start: BLAS needs %zu MB of address "
                         "space for %d thread%s; raise `ulimit -v` (or -d)%s\n",
                         mib, threads, threads > 1 ? "s" : "",
                         threads > 1 ? " or set OMP_NUM_THREADS=1" : "");
  (void)!write(STDERR_FILENO, line, (size_t)n);
  _exit(1);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_all)(int, char **, char **) = check_limits;
#else
typedef int nothing; /* a sanitizer has the address space for itself */
#endif
