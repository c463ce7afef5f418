/* Checkpoints: archives made from a description (archive.h), with the config of a real one where there is no other; a fit
 * goes on from what is accepted */
#include "archive.h"
#include "use.h"

#include <eigenpair/json.h>
#include <eigenpair/method.h>

static const char *const names[] = {"theta.npy", "history.npy", "state.npy", "config.npy"};
static ep_setup setup;
static ep_points points;
static char *config;

/* A small fit and the config that its checkpoint has. */
static void prepare(void) {
  ep_fit_info info = {0};
  ep_model *model = NULL;
  ep_npz *file;
  char path[] = "/tmp/fuzz-checkpoint-XXXXXX";
  const int fd = mkstemp(path);
  ep_setup_default(&setup);
  strcpy(setup.data.data, "moons:6");
  setup.net.width = 2, setup.net.outputs = 1, setup.fit.epochs = 2, setup.files.every = 1;
  setup.run.threads = 1;
  strcpy(setup.files.checkpoint, path);
  if (fd < 0 || ep_points_load(NULL, &points, &setup.data, &setup.pair, "triplet", &setup.run))
    abort();
  if (ep_fit(NULL, &model, &info, &points, &setup)) abort();
  if (ep_npz_open(&file, path) || ep_npz_get_text(&config, file, "config")) abort();
  ep_npz_close(file);
  ep_model_free(model);
  ep_fit_info_free(&info);
  close(fd);
  unlink(path);
  setup.files.checkpoint[0] = 0, setup.files.every = 0;
}

static void resume(const char *path) {
  ep_fit_info info = {0};
  ep_model *model = NULL;
  ep_setup now = setup, other;
  ep_setup_default(&other);
  (void)ep_checkpoint_setup(&other, path);
  snprintf(now.files.resume, sizeof now.files.resume, "%s", path);
  (void)ep_fit(NULL, &model, &info, &points, &now);
  ep_model_free(model);
  ep_fit_info_free(&info);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  archive a;
  if (!config) prepare();
  const size_t before = ep_mem_current();
  archive_begin(&a);
  archive_members(&a, bytes, size, names, size % 2 ? 4 : 3);
  if (size % 2 == 0) archive_text(&a, "config.npy", config, strlen(config));
  archive_end(&a);
  resume(as_file(a.data, a.used));
  if (ep_mem_current() != before) abort();
  return 0;
}
