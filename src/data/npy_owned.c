/* A .npy file whose pieces are written by those who own them (npy_owned.h). */
#include "data/npy_owned.h"

#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"

#include <eigenpair/run.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct ep_npy_owned {
  ep_file file;
  int fd; /* ranks above 0: of their own; -1: none */
  ep_precision prec;
  ptrdiff_t cols; /* numbers a row */
  off_t head, size;
};

static int fd_of(const ep_npy_owned *f) { return f->fd >= 0 ? f->fd : fileno(f->file.stream); }

static ep_status write_all(const ep_npy_owned *f, const void *data, size_t bytes, off_t at) {
  const char *from = data;
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(fd_of(f), from + done, bytes - done, at + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    EP_CHECK(n > 0, EP_ERR_IO, "%s: cannot be written: %s", f->file.path, strerror(errno));
    done += (size_t)n;
  }
  return EP_OK;
}

/* Ranks above 0 open what rank 0 has made. */
static ep_status open_there(ep_npy_owned *f, const char *temporary) {
  struct stat info;
  f->fd = open(temporary, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  EP_CHECK(f->fd >= 0 && fstat(f->fd, &info) == 0 && info.st_size == f->size, EP_ERR_IO,
           "%s: rank 0 makes this file, and this rank does not see it: put it on a disk that all "
           "of them see",
           f->file.path);
  return EP_OK;
}

static ep_status begin(ep_npy_owned *f, const char *path, int ndim, const ptrdiff_t *shape) {
  char head[EP_NPY_HEADER], name[sizeof f->file.temporary];
  size_t bytes;
  const ep_comm *comm = ep_run_comm(ep_run_current());
  EP_CHECK(
      ep_shape_bytes(&bytes, shape, ndim, ep_sizeof(f->prec)) && bytes < (size_t)PTRDIFF_MAX / 2,
      EP_ERR_INPUT, "%s: would be too large for any disk", path);
  f->head = (off_t)ep_npy_header(head, f->prec == EP_SINGLE ? "<f4" : "<f8", ndim, shape);
  f->size = f->head + (off_t)bytes;
  f->cols = 1;
  for (int i = 1; i < ndim; i++) f->cols *= shape[i];
  EP_TRY(ep_file_open(&f->file, path));
  if (!ep_file_is_nothing(&f->file)) {
    const int bad = posix_fallocate(fd_of(f), 0, f->size);
    EP_CHECK(bad == 0, EP_ERR_IO, "%s: takes %.1f GiB: %s", path, (double)f->size / 1073741824,
             strerror(bad));
    EP_TRY(write_all(f, head, (size_t)f->head, 0));
  }
  if (comm->size == 1) return EP_OK;
  memcpy(name, f->file.temporary, sizeof name);
  EP_TRY(comm->broadcast(comm, name, sizeof name));
  return comm->rank > 0 ? open_there(f, name) : EP_OK;
}

ep_status ep_npy_owned_create(ep_npy_owned **out, const char *path, ep_precision prec, int ndim,
                              const ptrdiff_t *shape) {
  *out = ep_alloc(1, sizeof **out);
  EP_CHECK(*out, EP_ERR_NOMEM, "%s: no memory to write it", path);
  (*out)->prec = prec, (*out)->fd = -1;
  const ep_status st = begin(*out, path, ndim, shape);
  if (st) ep_npy_owned_close(*out), *out = NULL;
  return st;
}

ep_status ep_npy_owned_put(ep_npy_owned *f, const ep_mat *A, ptrdiff_t row, ptrdiff_t col) {
  const size_t size = ep_sizeof(f->prec), bytes = (size_t)A->cols * size;
  for (ptrdiff_t i = 0; i < A->rows; i++) {
    const off_t at = f->head + ((off_t)(row + i) * f->cols + col) * (off_t)size;
    EP_TRY(write_all(f, ep_mat_rows(A, i, 1).data, bytes, at));
  }
  return EP_OK;
}

ep_status ep_npy_owned_commit(ep_npy_owned *f) {
  bool bad = fsync(fd_of(f)) != 0;
  const int why = errno;
  EP_CHECK(!bad, EP_ERR_IO, "%s: cannot be written: %s", f->file.path, strerror(why));
  EP_TRY(ep_comm_any(&bad)); /* all have written theirs */
  return ep_file_commit(&f->file);
}

void ep_npy_owned_close(ep_npy_owned *f) {
  if (!f) return;
  if (f->fd >= 0) close(f->fd);
  ep_file_discard(&f->file);
  ep_release(f);
}
