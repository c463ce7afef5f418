/* LD_PRELOAD: the calls that make a file last (open to write, fallocate, mmap, msync, fsync, rename, unlink) go wrong, or
 * those that fill it (write, pwrite, and what streams write).
 *   EP_FILE_AT=n      which one, counted from 1; 0: none
 *   EP_FILE_HOW=      fail: it fails, once, with ENOSPC; before, after: the power goes before or after it;
 *                     error: of the writes alone, it fails, once, with EIO; half: it writes half and says so
 *   EP_FILE_LOG=file  where the number of calls seen, and the most resident kB, go at the end
 * When the power goes, what was written and not yet synced is lost although renames are kept: data are written after names,
 * the worst order that a file system may choose. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 64 };
static struct {
  int fd; /* a descriptor of our own, which stays; -1: none */
  off_t synced;
} made[MOST];
static atomic_int files;
static long at;
static atomic_long seen;
static char how, log_to[1024];

__attribute__((constructor)) static void begin(void) {
  const char *n = getenv("EP_FILE_AT"), *what = getenv("EP_FILE_HOW"), *log = getenv("EP_FILE_LOG");
  unsetenv("LD_PRELOAD"); /* not for children */
  at = n ? atol(n) : 0;
  how = what ? what[0] : 'f';
  if (log) snprintf(log_to, sizeof log_to, "%s", log);
}

__attribute__((destructor)) static void end(void) {
  char line[256];
  long peak = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "VmHWM:", 6) == 0) peak = atol(line + 6);
  if (status) fclose(status);
  FILE *f = log_to[0] ? fopen(log_to, "w") : NULL;
  if (!f) return;
  fprintf(f, "%ld %ld\n", atomic_load(&seen), peak);
  fclose(f);
}

/* A file keeps the length it had at its last sync, and where it was never synced nothing. */
static void power_cut(void) {
  for (int i = 0; i < files && i < MOST; i++)
    if (made[i].fd >= 0) (void)!ftruncate(made[i].fd, made[i].synced);
  kill(getpid(), SIGKILL);
}

static int is_of_writes(void) { return how == 'e' || how == 'h'; }

/* Is this the call that fails? Counts it. */
static int goes_wrong(void) {
  if (is_of_writes() || atomic_fetch_add(&seen, 1) + 1 != at) return 0;
  if (how == 'b') power_cut();
  if (how != 'f') return 0;
  errno = ENOSPC;
  return 1;
}
static void afterwards(void) {
  if (how == 'a' && atomic_load(&seen) == at) power_cut();
}

/* Is it a file that was made here? Of others, such as standard output, nothing is asked. */
static int is_made(int fd) {
  struct stat info, own;
  if (!is_of_writes() || fstat(fd, &info) != 0) return 0;
  for (int i = 0; i < files && i < MOST; i++)
    if (made[i].fd >= 0 && fstat(made[i].fd, &own) == 0 && own.st_ino == info.st_ino &&
        own.st_dev == info.st_dev)
      return 1;
  return 0;
}

/* How many bytes of a write go through: all, half (one at least), or -1, an error. Counts it. */
static ssize_t passes(int fd, size_t size) {
  if (size == 0 || !is_made(fd) || atomic_fetch_add(&seen, 1) + 1 != at) return (ssize_t)size;
  if (how == 'h') return (ssize_t)(size + 1) / 2;
  errno = EIO;
  return -1;
}

static void synced(int fd) {
  struct stat info, own;
  for (int i = 0; i < files && i < MOST; i++)
    if (fstat(fd, &info) == 0 && fstat(made[i].fd, &own) == 0 && own.st_ino == info.st_ino)
      made[i].synced = info.st_size;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int opened(int fd) {
  const int i = fd >= 0 ? atomic_fetch_add(&files, 1) : MOST;
  if (i < MOST) made[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, 200);
  afterwards();
  return fd;
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  if (!(flags & O_CREAT)) return REAL(open)(path, flags, mode);
  if (goes_wrong()) return -1;
  return opened(REAL(open)(path, flags, mode));
}

ssize_t write(int fd, const void *bytes, size_t size) {
  const ssize_t n = passes(fd, size);
  return n < 0 ? n : REAL(write)(fd, bytes, (size_t)n);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t to) {
  const ssize_t n = passes(fd, size);
  return n < 0 ? n : REAL(pwrite)(fd, bytes, (size_t)n, to);
}

/* ---- streams: those of libc do not come by here when they write, so they get functions that do */

static int fd_of(void *cookie) { return (int)(intptr_t)cookie; }
static ssize_t stream_read(void *cookie, char *bytes, size_t size) {
  return read(fd_of(cookie), bytes, size);
}
/* as libc does it: on and on until all is written or a write fails */
static ssize_t stream_write(void *cookie, const char *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd_of(cookie), bytes + done, size - done);
    if (n < 0) return (ssize_t)done;
    done += (size_t)n;
  }
  return (ssize_t)size;
}
static int stream_seek(void *cookie, off64_t *to, int from) {
  *to = lseek(fd_of(cookie), *to, from);
  return *to < 0 ? -1 : 0;
}
static int stream_close(void *cookie) { return close(fd_of(cookie)); }

FILE *fdopen(int fd, const char *mode) {
  const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek, stream_close};
  if (mode[0] != 'w' || !is_of_writes()) return REAL(fdopen)(fd, mode);
  FILE *stream = fopencookie((void *)(intptr_t)fd, mode, functions);
  if (stream) stream->_fileno = fd; /* for fileno */
  return stream;
}

/* ---- calls that make a file last */

int posix_fallocate(int fd, off_t from, off_t size) {
  if (goes_wrong()) return ENOSPC;
  const int bad = REAL(posix_fallocate)(fd, from, size);
  afterwards();
  return bad;
}

/* of files; anonymous memory is no business of this one */
void *mmap(void *where, size_t size, int protection, int flags, int fd, off_t from) {
  const int writes = fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE);
  if (writes && goes_wrong()) return MAP_FAILED;
  void *p = REAL(mmap)(where, size, protection, flags, fd, from);
  if (writes) afterwards();
  return p;
}

int msync(void *where, size_t size, int flags) {
  if (goes_wrong()) return -1;
  const int bad = REAL(msync)(where, size, flags);
  afterwards();
  return bad;
}

int fsync(int fd) {
  if (goes_wrong()) return -1;
  const int bad = REAL(fsync)(fd);
  if (!bad) synced(fd);
  afterwards();
  return bad;
}

int rename(const char *from, const char *to) {
  if (goes_wrong()) return -1;
  const int bad = REAL(rename)(from, to);
  afterwards();
  return bad;
}

int unlink(const char *path) {
  if (goes_wrong()) return -1;
  const int bad = REAL(unlink)(path);
  afterwards();
  return bad;
}
