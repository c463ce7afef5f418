/* IDX, the format of MNIST: 0, 0, type, number of dimensions, sizes, values; all big-endian. */
#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum {
  IDX_U8 = 0x08,
  IDX_I8 = 0x09,
  IDX_I16 = 0x0b,
  IDX_I32 = 0x0c,
  IDX_F32 = 0x0d,
  IDX_F64 = 0x0e,
};

static size_t item_size(int type) {
  switch (type) {
    case IDX_U8:
    case IDX_I8: return 1;
    case IDX_I16: return 2;
    case IDX_I32:
    case IDX_F32: return 4;
    case IDX_F64: return 8;
    default: return 0;
  }
}

bool ep_idx_magic(const unsigned char *bytes, size_t size) {
  return size >= 4 && bytes[0] == 0 && bytes[1] == 0 && item_size(bytes[2]) && bytes[3] >= 1 &&
         bytes[3] <= EP_MAX_DIMS;
}

/* The sizes, and the bytes that the values take; false if they are not all there or overflow. */
static bool read_sizes(ptrdiff_t *shape, size_t *need, const unsigned char *bytes, size_t size) {
  const int ndim = bytes[3];
  if (size < 4 + 4 * (size_t)ndim) return false;
  for (int i = 0; i < ndim; i++) {
    const unsigned char *p = bytes + 4 + 4 * i;
    shape[i] = (ptrdiff_t)p[0] << 24 | (ptrdiff_t)p[1] << 16 | (ptrdiff_t)p[2] << 8 | p[3];
  }
  return ep_shape_bytes(need, shape, ndim, item_size(bytes[2]));
}

bool ep_idx_fits(const unsigned char *bytes, size_t size) {
  ptrdiff_t shape[EP_MAX_DIMS];
  size_t need;
  return ep_idx_magic(bytes, size) && read_sizes(shape, &need, bytes, size) &&
         size - 4 - 4 * (size_t)bytes[3] == need;
}

static ep_status find_type(ep_dtype *out, int type, const char *name) {
  EP_CHECK(type != IDX_I8 && type != IDX_I16, EP_ERR_INPUT,
           "%s: holds IDX values of type 0x%02x; unsigned bytes (08), 32-bit integers (0c) and "
           "floating-point numbers (0d, 0e) are read",
           name, type);
  *out = type == IDX_U8 ? EP_U8 : type == IDX_I32 ? EP_I32 : type == IDX_F32 ? EP_F32 : EP_F64;
  return EP_OK;
}

/* out_i = in_i with its bytes the other way round */
static void swap(unsigned char *out, const unsigned char *in, size_t bytes, size_t item) {
  for (size_t i = 0; i < bytes; i += item)
    for (size_t k = 0; k < item; k++) out[i + k] = in[i + item - 1 - k];
}

ep_status ep_parse_idx(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  size_t need;
  ep_array found = {.owner = NULL};
  *a = found;
  EP_CHECK(ep_idx_magic(bytes, size), EP_ERR_INPUT, "%s: is not an IDX file", name);
  EP_TRY(find_type(&found.dtype, bytes[2], name));
  const size_t head = 4 + 4 * (size_t)bytes[3], item = item_size(bytes[2]);
  EP_CHECK(size >= head, EP_ERR_INPUT, "%s: is cut short within its IDX header", name);
  EP_CHECK(read_sizes(found.shape, &need, bytes, size), EP_ERR_INPUT,
           "%s: its IDX sizes are too large", name);
  EP_CHECK(size - head == need, EP_ERR_INPUT,
           "%s: is %s: its IDX sizes need %zu bytes of values, it holds %zu", name,
           size - head < need ? "cut short" : "too long", need, size - head);
  found.ndim = bytes[3];
  found.data = bytes + head;
  if (item > 1) {
    unsigned char *copy = ep_alloc((ptrdiff_t)need, 1);
    EP_CHECK(copy, EP_ERR_NOMEM, "%s: no memory for its %zu bytes", name, need);
    swap(copy, bytes + head, need, item);
    found.data = found.owner = copy;
  }
  *a = found;
  return EP_OK;
}

/* ---- writing */

typedef struct {
  unsigned char head[4 + 4 * EP_MAX_DIMS];
  size_t head_size;
  const uint8_t *data;
  size_t size;
} image;

static ep_status write_plain(const char *path, const image *m) {
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  fwrite(m->head, 1, m->head_size, f.stream);
  if (m->size > 0) fwrite(m->data, 1, m->size, f.stream);
  return ep_file_commit(&f);
}

static bool gz_all(gzFile out, const unsigned char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    const unsigned chunk = size - done < 1u << 30 ? (unsigned)(size - done) : 1u << 30;
    if (gzwrite(out, data + done, chunk) != (int)chunk) return false;
    done += chunk;
  }
  return true;
}

static ep_status write_packed(const ep_file *f, const image *m) {
  errno = 0;
  const int fd = dup(fileno(f->stream)); /* gzclose closes it */
  gzFile out = fd < 0 ? NULL : gzdopen(fd, "wb");
  if (!out && fd >= 0) close(fd);
  EP_CHECK(out, errno ? EP_ERR_IO : EP_ERR_NOMEM, "%s: cannot be written: %s", f->path,
           errno ? strerror(errno) : "no memory");
  const bool good = gz_all(out, m->head, m->head_size) && gz_all(out, m->data, m->size);
  const bool closed = gzclose(out) == Z_OK;
  EP_CHECK(good && closed, EP_ERR_IO, "%s: cannot be written: %s", f->path,
           errno ? strerror(errno) : "zlib failed");
  return EP_OK;
}

ep_status ep_idx_write(const char *path, const uint8_t *data, int ndim, const ptrdiff_t *shape) {
  image m = {.head = {0, 0, IDX_U8, (unsigned char)ndim}, .data = data};
  EP_CHECK(ndim >= 1 && ndim <= EP_MAX_DIMS, EP_ERR_ARG, "%s: IDX holds 1 to %d dimensions, not %d",
           path, EP_MAX_DIMS, ndim);
  EP_CHECK(ep_shape_bytes(&m.size, shape, ndim, 1), EP_ERR_ARG, "%s: the shape is too large", path);
  for (int i = 0; i < ndim; i++) {
    EP_CHECK(shape[i] <= (ptrdiff_t)UINT32_MAX, EP_ERR_ARG, "%s: IDX sizes are below 2^32", path);
    for (int k = 0; k < 4; k++) m.head[4 + 4 * i + k] = (unsigned char)(shape[i] >> (24 - 8 * k));
  }
  m.head_size = 4 + 4 * (size_t)ndim;
  const size_t length = strlen(path);
  if (length < 3 || strcmp(path + length - 3, ".gz") != 0) return write_plain(path, &m);
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  const ep_status st = write_packed(&f, &m);
  if (!st) return ep_file_commit(&f);
  ep_file_discard(&f);
  return st;
}
