/* Which products OpenBLAS uses. It knows processors by name and gives one that is younger than it those of 2004 (Prescott),
 * a tenth of the speed; so it is made to choose again, by what the processor can do. Only where nobody can be in the middle
 * of a product, and unless OPENBLAS_CORETYPE says otherwise. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include "core/blas.h"

#include "core/loaded.h"

#include <cblas.h>
#include <dirent.h>
#include <eigenpair/machine.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* OpenBLAS's own, where it has several processors in it */
void gotoblas_dynamic_init(void) __attribute__((weak));
void gotoblas_dynamic_quit(void) __attribute__((weak));

static bool is_any(const char *name, const char *const *list) {
  for (; *list; list++)
    if (strcmp(name, *list) == 0) return true;
  return false;
}

/* ---- may somebody be at a product? */

typedef struct {
  uintptr_t address;
  int place; /* of the object that holds it, in the order of loading */
} holder;

static int look(struct dl_phdr_info *object, size_t size, void *user) {
  holder *h = user;
  (void)size;
  if (ep_object_holds(object, h->address)) return 1;
  h->place++;
  return 0;
}

/* a program, or a module of Python, that was there before us may have brought it */
static bool came_with_us(void) {
  holder us = {.address = (uintptr_t)&look}, blas = {.address = (uintptr_t)&gotoblas_dynamic_init};
  return dl_iterate_phdr(look, &us) && dl_iterate_phdr(look, &blas) && us.place <= blas.place;
}

static bool one_thread(void) {
  int threads = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (const struct dirent *e; tasks && (e = readdir(tasks));) threads += e->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return threads == 1;
}

/* ---- */

void ep_blas_choose(int level) {
  static const char *const knows_avx[] = {"Haswell",        "Zen",       "SkylakeX", "Cooperlake",
                                          "SapphireRapids", "Excavator", NULL};
  static const char *const by_level[] = {NULL, "Nehalem", "Haswell", "SkylakeX"};
  const char *core = level > 1 ? by_level[level] : NULL;
  if (!core || !gotoblas_dynamic_init || !gotoblas_dynamic_quit || getenv("OPENBLAS_CORETYPE") ||
      is_any(openblas_get_corename(), knows_avx) || !(came_with_us() || one_thread()) ||
      setenv("OPENBLAS_CORETYPE", core, 1))
    return;
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

const char *ep_machine_blas(void) { return openblas_get_config(); }
const char *ep_machine_blas_core(void) { return openblas_get_corename(); }
