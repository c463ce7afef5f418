/* Which products OpenBLAS uses. It knows processors by name and gives one that is younger than it those of 2004 (Prescott),
 * a tenth of the speed; so it is made to choose again, by what the processor can do. Only before the first product, and
 * unless OPENBLAS_CORETYPE says otherwise. */
#include "core/blas.h"

#include <cblas.h>
#include <eigenpair/machine.h>
#include <stdbool.h>
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

void ep_blas_choose(int level) {
  static const char *const knows_avx[] = {"Haswell",        "Zen",       "SkylakeX", "Cooperlake",
                                          "SapphireRapids", "Excavator", NULL};
  static const char *const by_level[] = {NULL, "Nehalem", "Haswell", "SkylakeX"};
  const char *core = level > 1 ? by_level[level] : NULL;
  if (!core || !gotoblas_dynamic_init || !gotoblas_dynamic_quit || getenv("OPENBLAS_CORETYPE") ||
      is_any(openblas_get_corename(), knows_avx) || setenv("OPENBLAS_CORETYPE", core, 1))
    return;
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

const char *ep_machine_blas(void) { return openblas_get_config(); }
const char *ep_machine_blas_core(void) { return openblas_get_corename(); }
