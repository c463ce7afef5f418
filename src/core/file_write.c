/* Files written whole or not at all: under a temporary name in the same folder, synced, then renamed. The name is random
 * and new (O_EXCL), so that nobody can have put a link there; its owner holds a lock on it, so that what a killed program
 * left behind is known by its free lock. */
#include "core/file.h"

#include <dirent.h>
#include <eigenpair/comm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX ".eigenpair-"
#define SUFFIX ".tmp"

/* ---- where a name leads */

/* The part of a path in front of its last name, with the slash. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Links at the end of a path are followed to the file they mean, which need not be there yet. Those through /proc are
 * open streams, not files. */
static ep_status follow(char target[1024], const char *path) {
  enum { MOST = 40 };
  EP_CHECK(*path, EP_ERR_ARG, "the name of an output file is empty");
  EP_CHECK(strlen(path) < 1024, EP_ERR_ARG, "path is too long: %.80s...", path);
  strcpy(target, path);
  for (int links = 0; links < MOST; links++) {
    char link[1024];
    const ssize_t n = readlink(target, link, sizeof link - 1);
    if (n < 0) return EP_OK;
    link[n] = '\0';
    const size_t before = link[0] == '/' ? 0 : folder_length(target);
    EP_CHECK(before + (size_t)n < 1023, EP_ERR_ARG, "path is too long: %.80s...", path);
    memcpy(target + before, link, (size_t)n + 1);
    EP_CHECK(strncmp(target, "/proc/", 6) != 0, EP_ERR_ARG,
             "%s: is an open stream, not a file; give the name of a file", path);
  }
  return EP_FAIL(EP_ERR_ARG, "%s: too many links, one leading to another", path);
}

static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode)                    ? "directory"
         : S_ISFIFO(mode)                 ? "fifo"
         : S_ISSOCK(mode)                 ? "socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "device"
                                          : "special file";
}

static bool same_node(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool stat_folder(struct stat *info, const char *path) {
  char folder[1030];
  snprintf(folder, sizeof folder, "%.*s.", (int)folder_length(path), path);
  return stat(folder, info) == 0;
}

bool ep_file_same(const char *a, const char *b) {
  char paths[2][1024];
  struct stat info[2], folders[2];
  if (follow(paths[0], a) || follow(paths[1], b)) return false;
  const bool there[2] = {stat(paths[0], &info[0]) == 0, stat(paths[1], &info[1]) == 0};
  if (there[0] || there[1]) return there[0] && there[1] && same_node(&info[0], &info[1]);
  return stat_folder(&folders[0], paths[0]) && stat_folder(&folders[1], paths[1]) &&
         same_node(&folders[0], &folders[1]) &&
         strcmp(paths[0] + folder_length(paths[0]), paths[1] + folder_length(paths[1])) == 0;
}

/* ---- temporary files */

static bool is_temporary(const char *name) {
  const size_t n = strlen(name), before = strlen(PREFIX), after = strlen(SUFFIX);
  return n == before + 16 + after && strncmp(name, PREFIX, before) == 0 &&
         strspn(name + before, "0123456789abcdef") == 16 && strcmp(name + n - after, SUFFIX) == 0;
}

/* What killed programs left in a folder: temporary files on which nobody holds a lock. */
static void sweep(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *e; (e = readdir(folder));) {
    struct stat info;
    if (!is_temporary(e->d_name)) continue;
    const int fd = openat(dirfd(folder), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
      (void)unlinkat(dirfd(folder), e->d_name, 0);
    close(fd);
  }
  closedir(folder);
}

/* Ours from here on, unless somebody swept it away between the two calls. A file system without locks has no sweepers. */
static bool take(int fd) {
  struct stat info;
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {}
  return fstat(fd, &info) == 0 && info.st_nlink > 0;
}

static ep_status make_temporary(int *fd, ep_file *f, mode_t mode) {
  enum { TRIES = 100 };
  for (int i = 0; i < TRIES; i++) {
    uint64_t word = 0;
    EP_CHECK(getrandom(&word, sizeof word, 0) == sizeof word, EP_ERR_IO,
             "%s: no random name for a temporary file: %s", f->path, strerror(errno));
    snprintf(f->temporary, sizeof f->temporary, "%.*s" PREFIX "%016llx" SUFFIX,
             (int)folder_length(f->target), f->target, (unsigned long long)word);
    *fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (*fd < 0 && errno == EEXIST) continue;
    if (*fd < 0) f->temporary[0] = '\0';
    EP_CHECK(*fd >= 0, EP_ERR_IO, "%s: cannot be written: %s", f->path, strerror(errno));
    if (take(*fd)) return EP_OK;
    close(*fd);
  }
  f->temporary[0] = '\0';
  return EP_FAIL(EP_ERR_IO, "%s: cannot be written: no temporary name is free", f->path);
}

/* ---- open, commit, discard */

static ep_status open_target(ep_file *f, const char *path) {
  struct stat old;
  int fd;
  EP_TRY(follow(f->target, path));
  strcpy(f->path, path);
  const bool replaces = stat(f->target, &old) == 0;
  EP_CHECK(!replaces || S_ISREG(old.st_mode), EP_ERR_ARG, "%s: is a %s; give the name of a file",
           path, kind_of(old.st_mode));
  EP_TRY(make_temporary(&fd, f, replaces ? old.st_mode & 0777 : 0666));
  if (replaces) (void)fchmod(fd, old.st_mode & 0777); /* the umask took some of it away */
  f->stream = fdopen(fd, "w+b");
  if (!f->stream) close(fd);
  EP_CHECK(f->stream, EP_ERR_NOMEM, "%s: no memory to write it", path);
  return EP_OK;
}

/* ranks above 0 write into nothing */
static ep_status open_nothing(ep_file *f, const char *path) {
  snprintf(f->path, sizeof f->path, "%s", path);
  f->stream = fopen("/dev/null", "w+b");
  EP_CHECK(f->stream, EP_ERR_IO, "/dev/null: cannot be opened: %s", strerror(errno));
  return EP_OK;
}

bool ep_file_is_nothing(const ep_file *f) { return f->stream && !f->temporary[0]; }

ep_status ep_file_open(ep_file *f, const char *path) {
  *f = (ep_file){.stream = NULL};
  const ep_status st = ep_comm_rank() > 0 ? open_nothing(f, path) : open_target(f, path);
  if (st) ep_file_discard(f);
  return st;
}

/* A rename that a power cut must not undo. Some file systems cannot sync a folder, and need not. */
static bool sync_folder(const char *path) {
  char folder[1030];
  snprintf(folder, sizeof folder, "%.*s.", (int)folder_length(path), path);
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return true; /* a folder one may write to but not read */
  const bool good = fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  close(fd);
  return good;
}

static ep_status sync_and_rename(ep_file *f) {
  const bool good = !ferror(f->stream) && fflush(f->stream) == 0 && fsync(fileno(f->stream)) == 0;
  EP_CHECK(good, EP_ERR_IO, "%s: cannot be written: %s", f->path, strerror(errno));
  EP_CHECK(rename(f->temporary, f->target) == 0, EP_ERR_IO, "%s: cannot be written: %s", f->path,
           strerror(errno));
  f->temporary[0] = '\0';
  EP_CHECK(sync_folder(f->target), EP_ERR_IO, "%s: its folder cannot be synced: %s", f->path,
           strerror(errno));
  return EP_OK;
}

ep_status ep_file_commit(ep_file *f) {
  const ep_status st = ep_file_is_nothing(f) ? EP_OK : sync_and_rename(f);
  ep_file_discard(f);
  return st;
}

void ep_file_discard(ep_file *f) {
  if (f->temporary[0]) unlink(f->temporary);
  if (f->stream) fclose(f->stream);
  f->stream = NULL;
  f->temporary[0] = '\0';
}

ep_status ep_file_check_writable(const char *path) {
  ep_file f;
  char folder[1030];
  const ep_status st = ep_file_open(&f, path);
  if (!st) {
    snprintf(folder, sizeof folder, "%.*s.", (int)folder_length(f.target), f.target);
    sweep(folder);
  }
  ep_file_discard(&f);
  return st == EP_ERR_IO ? EP_ERR_ARG : st; /* known before any work: the input is bad */
}

ep_status ep_file_write_text(const char *path, const char *text) {
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  fputs(text, f.stream);
  return ep_file_commit(&f);
}

/* ---- folders */

ep_status ep_folder_make(const char *path) {
  char part[1024];
  struct stat info;
  EP_CHECK(*path, EP_ERR_ARG, "the name of a folder is empty");
  EP_CHECK(strlen(path) < sizeof part, EP_ERR_ARG, "path is too long: %.80s...", path);
  for (size_t i = 1; i <= strlen(path); i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    EP_CHECK(mkdir(part, 0777) == 0 || errno == EEXIST, EP_ERR_IO, "%s: cannot be made: %s", part,
             strerror(errno));
  }
  EP_CHECK(stat(path, &info) == 0 && S_ISDIR(info.st_mode), EP_ERR_IO, "%s: is not a folder", path);
  sweep(path); /* and the folder of the report that it is part of */
  snprintf(part, sizeof part, "%.*s", (int)folder_length(path), path);
  if (*part) sweep(part);
  return EP_OK;
}

void ep_folder_remove(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return;
  for (struct dirent *e; (e = readdir(folder));) {
    char name[1400];
    if (snprintf(name, sizeof name, "%s/%s", path, e->d_name) < (int)sizeof name) unlink(name);
  }
  closedir(folder);
  rmdir(path);
}
