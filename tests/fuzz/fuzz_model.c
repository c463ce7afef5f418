/* Models: archives made from a description (archive.h); what loads embeds points, and is saved to load again */
#include "archive.h"
#include "use.h"

#include <eigenpair/method.h>

static const char *const names[] = {"config.npy",  "V.npy",     "W.npy",   "V1.npy", "V2.npy",
                                    "X.npy",       "Y.npy",     "Y0.npy",  "dV.npy", "dW.npy",
                                    "F.npy",       "theta.npy", "dV1.npy", "b.npy",  "offset.npy",
                                    "filters.npy", "c.npy",     "b1.npy"};

static void embed(const ep_model *m) {
  const ptrdiff_t d = ep_model_inputs(m), z = ep_model_outputs(m);
  char text[EP_DESCRIPTION];
  ep_mat X = {0}, E = {0};
  ep_model_describe(text, m);
  if (d < 1 || z < 1) abort();
  if (d > 4096 || ep_mat_new(&X, EP_SINGLE, 2, d) || ep_mat_new(&E, EP_SINGLE, 2, z)) return;
  for (ptrdiff_t j = 0; j < d; j++) ep_set(&X, 1, j, 1);
  if (!ep_model_embed(NULL, &E, m, &X) && !(ep_mat_max(&E) <= 3.5e38)) abort();
  ep_mat_free(&X);
  ep_mat_free(&E);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  archive a;
  ep_model *m;
  archive_begin(&a);
  archive_members(&a, bytes, size, names, sizeof names / sizeof *names);
  archive_end(&a);
  if (!ep_model_load(&m, as_file(a.data, a.used), EP_SINGLE)) {
    embed(m);
    ep_model_free(m);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
