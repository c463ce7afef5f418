/* A .npy file in the making, mapped into memory. */
#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

struct ep_npy_map {
  ep_file file;
  unsigned char *base; /* NULL: not mapped */
  size_t head, size;   /* bytes of the header, of the whole */
};

/* Space is reserved now: a disk that fills up later would end the program. */
static ep_status reserve(int fd, const char *path, size_t size) {
  struct statvfs disk;
  EP_CHECK(fstatvfs(fd, &disk) != 0 || (double)disk.f_bavail * (double)disk.f_frsize > (double)size,
           EP_ERR_INPUT, "%s: takes %.1f GiB, more than the disk has left", path,
           (double)size / 1073741824);
  const int bad = posix_fallocate(fd, 0, (off_t)size);
  EP_CHECK(bad == 0, EP_ERR_IO, "%s: cannot be written: %s", path, strerror(bad));
  return EP_OK;
}

static ep_status map_file(ep_npy_map *m, const char *path) {
  const int fd = fileno(m->file.stream);
  const bool nothing = ep_file_is_nothing(&m->file);
  if (!nothing) EP_TRY(reserve(fd, path, m->size));
  void *base = mmap(NULL, m->size, PROT_READ | PROT_WRITE,
                    nothing ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, nothing ? -1 : fd, 0);
  EP_CHECK(base != MAP_FAILED, EP_ERR_NOMEM, "%s: cannot be mapped: %s", path, strerror(errno));
  m->base = base;
  return EP_OK;
}

ep_status ep_npy_map_create(ep_npy_map **out, const char *path, ep_precision prec, int ndim,
                            const ptrdiff_t *shape) {
  char head[EP_NPY_HEADER];
  size_t bytes;
  *out = NULL;
  EP_CHECK(ep_shape_bytes(&bytes, shape, ndim, ep_sizeof(prec)) && bytes < (size_t)PTRDIFF_MAX / 2,
           EP_ERR_INPUT, "%s: would be too large for any disk", path);
  ep_npy_map *m = ep_alloc(1, sizeof *m);
  EP_CHECK(m, EP_ERR_NOMEM, "%s: no memory to write it", path);
  m->head = ep_npy_header(head, prec == EP_SINGLE ? "<f4" : "<f8", ndim, shape);
  m->size = m->head + bytes;
  ep_status st = ep_file_open(&m->file, path);
  if (!st) st = map_file(m, path);
  if (!st) memcpy(m->base, head, m->head), *out = m;
  else ep_npy_map_close(m);
  return st;
}

void *ep_npy_map_data(ep_npy_map *m) { return m->base + m->head; }

void ep_npy_map_rest(ep_npy_map *m) {
  if (m && m->base)
    (void)madvise(m->base, m->size, MADV_DONTNEED); /* shared pages: nothing is lost */
}

ep_status ep_npy_map_commit(ep_npy_map *m) {
  const int bad = ep_file_is_nothing(&m->file) ? 0 : msync(m->base, m->size, MS_SYNC);
  EP_CHECK(bad == 0, EP_ERR_IO, "%s: cannot be written: %s", m->file.path, strerror(errno));
  munmap(m->base, m->size);
  m->base = NULL;
  return ep_file_commit(&m->file);
}

void ep_npy_map_close(ep_npy_map *m) {
  if (!m) return;
  if (m->base) munmap(m->base, m->size);
  ep_file_discard(&m->file);
  ep_release(m);
}
