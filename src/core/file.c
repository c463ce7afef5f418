#include "core/file.h"

#include "core/mem.h"

#include <eigenpair/run.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 24 }; /* read or unpacked between two looks at whether to stop */

ep_status ep_file_room(double bytes, const char *name) {
  EP_CHECK(bytes <= ep_run_room(), EP_ERR_ARG,
           "%s: takes %.3g bytes in memory, more than --memory leaves (%.3g)", name, bytes,
           fmax(0, ep_run_room()));
  return EP_OK;
}

FILE *ep_file_stream(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  FILE *in = fd < 0 ? NULL : fdopen(fd, "rb");
  if (fd >= 0 && !in) close(fd);
  return in;
}

static ep_status read_stream(unsigned char *data, size_t size, FILE *in, const char *path) {
  for (size_t done = 0; done < size;) {
    const size_t n = size - done < CHUNK ? size - done : CHUNK;
    EP_CHECK(fread(data + done, 1, n, in) == n, EP_ERR_INPUT, "%s: cannot be read: %s", path,
             ferror(in) ? strerror(errno) : "it became shorter");
    done += n;
    if (done < size)
      EP_TRY(ep_run_step("reading", (double)done, (double)size)); /* a small file is read at once */
  }
  return EP_OK;
}

static ep_status read_raw(unsigned char **data, size_t *size, const char *path, FILE *in) {
  struct stat info;
  EP_CHECK(fstat(fileno(in), &info) == 0, EP_ERR_INPUT, "%s: %s", path, strerror(errno));
  EP_CHECK(S_ISREG(info.st_mode), EP_ERR_INPUT, "%s: not a regular file", path);
  *size = (size_t)info.st_size;
  EP_TRY(ep_file_room((double)*size, path));
  *data = ep_alloc((ptrdiff_t)*size + 1, 1);
  EP_CHECK(*data, EP_ERR_NOMEM, "%s: no memory for its %zu bytes", path, *size);
  const ep_status st = read_stream(*data, *size, in, path);
  if (st) ep_release(*data), *data = NULL;
  return st;
}

/* The size that the end of gzip data claims, less than 1032 to 1 (deflate's best); only a first guess. */
static size_t claimed_size(const z_stream *z) {
  if (z->avail_in < 18) return 0;
  const unsigned char *p = z->next_in + z->avail_in - 4;
  const size_t n = (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
  return n / 1032 <= z->avail_in ? n : 0;
}

/* Unpacks into `out`, growing it; gzip members may follow one another. */
static ep_status inflate_all(unsigned char **out, size_t *out_size, z_stream *z, const char *name) {
  size_t room = 0, used = 0;
  const size_t first = claimed_size(z) + (1 << 20), packed = z->avail_in;
  for (int end = Z_OK;;) {
    if (room - used < 65536) {
      const size_t more = room ? room * 2 : first;
      EP_TRY(ep_file_room((double)more, name));
      unsigned char *bigger = ep_alloc((ptrdiff_t)more + 1, 1);
      EP_CHECK(bigger, EP_ERR_NOMEM, "%s: no memory to unpack it", name);
      if (used) memcpy(bigger, *out, used);
      ep_release(*out);
      *out = bigger;
      room = more;
    }
    if (end == Z_STREAM_END) {
      if (z->avail_in == 0) break;
      EP_CHECK(inflateReset(z) == Z_OK, EP_ERR_INPUT, "%s: gzip data is damaged", name);
    }
    const size_t chunk = room - used < CHUNK ? room - used : CHUNK;
    if (used >= CHUNK)
      EP_TRY(ep_run_step("unpacking", (double)(packed - z->avail_in), (double)packed));
    z->next_out = *out + used;
    z->avail_out = (unsigned)chunk;
    end = inflate(z, Z_NO_FLUSH);
    used += chunk - z->avail_out;
    EP_CHECK(end == Z_OK || end == Z_STREAM_END, EP_ERR_INPUT, "%s: gzip data is %s", name,
             end == Z_BUF_ERROR ? "cut short" : "damaged");
    EP_CHECK(end == Z_STREAM_END || z->avail_in > 0 || z->avail_out == 0, EP_ERR_INPUT,
             "%s: gzip data is cut short", name);
  }
  *out_size = used;
  (*out)[used] = 0;
  return EP_OK;
}

ep_status ep_gunzip(unsigned char **out, size_t *out_size, const unsigned char *data, size_t size,
                    const char *name) {
  z_stream z = {0};
  *out = NULL;
  EP_CHECK(size <= UINT_MAX, EP_ERR_INPUT, "%s: packed files above 4 GiB are not read", name);
  EP_CHECK(inflateInit2(&z, 16 + MAX_WBITS) == Z_OK, EP_ERR_NOMEM, "no memory for zlib");
  z.next_in = (unsigned char *)(uintptr_t)data;
  z.avail_in = (unsigned)size;
  const ep_status st = inflate_all(out, out_size, &z, name);
  inflateEnd(&z);
  if (st) ep_release(*out), *out = NULL;
  return st;
}

ep_status ep_file_read(unsigned char **data, size_t *size, const char *path) {
  *data = NULL;
  FILE *in = ep_file_stream(path);
  EP_CHECK(in, EP_ERR_INPUT, "%s: %s", path, strerror(errno));
  ep_status st = read_raw(data, size, path, in);
  fclose(in);
  if (st || *size < 2 || (*data)[0] != 0x1f || (*data)[1] != 0x8b) return st;
  unsigned char *packed = *data;
  st = ep_gunzip(data, size, packed, *size, path);
  ep_release(packed);
  return st;
}
