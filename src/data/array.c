/* Arrays of any file format: which one it is, labels, and matrices made of rows. */
#include "core/crew.h"
#include "core/file.h"
#include "core/mem.h"
#include "core/threads.h"
#include "data/parse.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

size_t ep_dtype_size(ep_dtype t) {
  static const size_t sizes[] = {
      [EP_U8] = 1, [EP_I32] = 4, [EP_I64] = 8, [EP_F32] = 4, [EP_F64] = 8};
  return sizes[t];
}

bool ep_shape_bytes(size_t *bytes, const ptrdiff_t *shape, int ndim, size_t item) {
  size_t total = item;
  bool empty = false;
  for (int i = 0; i < ndim; i++) {
    if (shape[i] < 0) return false;
    empty |= shape[i] == 0;
    if (shape[i] == 0) continue;
    if (total > (size_t)PTRDIFF_MAX / (size_t)shape[i]) return false;
    total *= (size_t)shape[i];
  }
  *bytes = empty ? 0 : total;
  return true;
}

static ptrdiff_t product(const ep_array *a, int first) {
  ptrdiff_t n = 1;
  for (int i = first; i < a->ndim; i++) n *= a->shape[i];
  return n;
}

static ptrdiff_t rows_of(const ep_array *a) { return a->ndim ? a->shape[0] : 1; }

ptrdiff_t ep_array_count(const ep_array *a) { return product(a, 0); }
ptrdiff_t ep_array_row_length(const ep_array *a) { return product(a, 1); }

/* the i-th value of type T, at any address */
#define LOAD(T, data, i, out)                                    \
  do {                                                           \
    T v_;                                                        \
    memcpy(&v_, (data) + (i) * (ptrdiff_t)sizeof(T), sizeof v_); \
    out = (double)v_;                                            \
  } while (0)

double ep_array_value(const ep_array *a, ptrdiff_t i) {
  double x = 0;
  switch (a->dtype) {
    case EP_U8: x = a->data[i]; break;
    case EP_I32: LOAD(int32_t, a->data, i, x); break;
    case EP_I64: LOAD(int64_t, a->data, i, x); break;
    case EP_F32: LOAD(float, a->data, i, x); break;
    case EP_F64: LOAD(double, a->data, i, x); break;
  }
  return x;
}

void ep_array_free(ep_array *a) {
  ep_release(a->owner);
  *a = (ep_array){.owner = NULL};
}

/* ---- which format */

typedef enum { NPY, ZIP, IDX, CIFAR, CSV, UNKNOWN } format;

bool ep_bytes_are_zip(const unsigned char *bytes, size_t size) {
  return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

bool ep_bytes_are_text(const unsigned char *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (bytes[i] == 0 || bytes[i] == 127 || (bytes[i] < 32 && !strchr("\n\r\t", bytes[i])))
      return false;
  return true;
}

/* A CIFAR-10 file may by chance begin as IDX does, but then its length does not fit. */
static format detect(const unsigned char *bytes, size_t size) {
  if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0) return NPY;
  if (ep_bytes_are_zip(bytes, size)) return ZIP;
  if (ep_idx_fits(bytes, size)) return IDX;
  const bool text = ep_bytes_are_text(bytes, size);
  if (!text && ep_cifar_fits(bytes, size)) return CIFAR;
  if (ep_idx_magic(bytes, size)) return IDX;
  return text ? CSV : UNKNOWN;
}

static ep_status parse(ep_array *a, const unsigned char *bytes, size_t size, const char *name,
                       bool labels) {
  *a = (ep_array){.owner = NULL};
  switch (detect(bytes, size)) {
    case NPY: return ep_parse_npy(a, bytes, size, name);
    case ZIP: return EP_FAIL(EP_ERR_INPUT, "%s: holds a packed archive; unpack it first", name);
    case IDX: return ep_parse_idx(a, bytes, size, name);
    case CIFAR: return ep_parse_cifar(labels ? NULL : a, labels ? a : NULL, bytes, size, name);
    case CSV: return ep_parse_csv(a, bytes, size, name);
    default: break;
  }
  return EP_FAIL(EP_ERR_INPUT, "%s: not a format I know (.npy, .npz, IDX, CIFAR-10, CSV)", name);
}

ep_status ep_parse_any(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  return parse(a, bytes, size, name, false);
}

/* ---- files */

const char *ep_path_split(char *file, size_t room, const char *path) {
  const char *at = NULL, *next = path;
  snprintf(file, room, "%s", path);
  if (access(path, F_OK) == 0) return NULL;
  while ((next = strstr(next, ".npz:"))) at = next++;
  if (!at || (size_t)(at - path) + 5 > room) return NULL;
  file[at - path + 4] = '\0';
  return at + 5;
}

static ep_status read_member(ep_array *a, const char *file, const char *member) {
  ep_npz *z;
  EP_TRY(ep_npz_open(&z, file));
  const ep_status st = member ? ep_npz_get(a, z, member) : ep_npz_get_only(a, z);
  ep_npz_close(z);
  return st;
}

static bool file_is_zip(const char *path) {
  unsigned char start[4];
  FILE *in = ep_file_stream(path);
  if (!in) return false; /* ep_file_read tells why */
  const size_t n = fread(start, 1, sizeof start, in);
  fclose(in);
  return ep_bytes_are_zip(start, n);
}

/* An array that points into the bytes takes them over; otherwise they are released. */
static ep_status read_plain(ep_array *a, const char *path, bool labels) {
  unsigned char *bytes;
  size_t size;
  EP_TRY(ep_file_read(&bytes, &size, path));
  const ep_status st = parse(a, bytes, size, path, labels);
  if (!st && !a->owner) a->owner = bytes;
  else ep_release(bytes);
  return st;
}

static ep_status read_any(ep_array *a, const char *path, bool labels) {
  char file[1024];
  *a = (ep_array){.owner = NULL};
  EP_CHECK(strlen(path) < sizeof file, EP_ERR_INPUT, "path is too long: %.80s...", path);
  const char *member = ep_path_split(file, sizeof file, path);
  if (member || file_is_zip(file)) return read_member(a, file, member);
  return read_plain(a, path, labels);
}

ep_status ep_array_read(ep_array *a, const char *path) { return read_any(a, path, false); }

/* ---- labels */

static ep_status to_labels(int *labels, const ep_array *a, ptrdiff_t n, const char *path) {
  for (ptrdiff_t i = 0; i < n; i++) {
    const double x = ep_array_value(a, i);
    EP_CHECK(x == floor(x), EP_ERR_INPUT, "%s: label %td is %g; labels are whole numbers", path,
             i + 1, x);
    EP_CHECK(x >= INT_MIN && x <= INT_MAX, EP_ERR_INPUT,
             "%s: label %td is %.17g; labels lie between %d and %d", path, i + 1, x, INT_MIN,
             INT_MAX);
    labels[i] = (int)x;
  }
  return EP_OK;
}

static ep_status make_labels(int **labels, ptrdiff_t *n, const ep_array *a, const char *path) {
  const ptrdiff_t count = ep_array_count(a);
  EP_CHECK(a->ndim >= 1 && (count == 0 || count == a->shape[0]), EP_ERR_INPUT,
           "%s: labels are one number a row; this has %td numbers in %td rows", path, count,
           rows_of(a));
  EP_CHECK(count > 0, EP_ERR_INPUT, "%s: holds no labels", path);
  int *out = ep_alloc(count, sizeof *out);
  EP_CHECK(out, EP_ERR_NOMEM, "%s: no memory for %td labels", path, count);
  const ep_status st = to_labels(out, a, count, path);
  if (st) {
    ep_release(out);
    return st;
  }
  *labels = out;
  *n = count;
  return EP_OK;
}

ep_status ep_labels_read(int **labels, ptrdiff_t *n, const char *path) {
  ep_array a;
  *labels = NULL;
  *n = 0;
  EP_TRY(read_any(&a, path, true));
  const ep_status st = make_labels(labels, n, &a, path);
  ep_array_free(&a);
  return st;
}

void ep_labels_free(int *labels) { ep_release(labels); }

/* ---- matrices */

/* out_j = factor in_j for one row; the sum of 0 out_j is 0, or NaN if an out_j is not finite */
#define CONVERT(OUT, IN)              \
  for (ptrdiff_t j = 0; j < n; j++) { \
    double x;                         \
    LOAD(IN, in, j, x);               \
    out[j] = (OUT)(factor * x);       \
    sum += 0 * (double)out[j];        \
  }
#define ROW(OUT)                                                                          \
  static double row_##OUT(OUT *out, const unsigned char *in, ep_dtype dtype, ptrdiff_t n, \
                          double factor) {                                                \
    double sum = 0;                                                                       \
    switch (dtype) {                                                                      \
      case EP_U8:                                                                         \
        for (ptrdiff_t j = 0; j < n; j++) out[j] = (OUT)(factor * in[j]);                 \
        break;                                                                            \
      case EP_I32: CONVERT(OUT, int32_t) break;                                           \
      case EP_I64: CONVERT(OUT, int64_t) break;                                           \
      case EP_F32: CONVERT(OUT, float) break;                                             \
      case EP_F64: CONVERT(OUT, double) break;                                            \
    }                                                                                     \
    return sum;                                                                           \
  }
ROW(float)
ROW(double)

double ep_array_convert(const ep_mat *X, ptrdiff_t i, const unsigned char *in, ep_dtype dtype,
                        double factor) {
  return X->prec == EP_SINGLE ? row_float(ep_s(X, i, 0), in, dtype, X->cols, factor)
                              : row_double(ep_d(X, i, 0), in, dtype, X->cols, factor);
}

typedef struct {
  const ep_mat *X;
  const ep_array *a;
  const ptrdiff_t *rows;
  double factor;
  _Atomic ptrdiff_t bad; /* the first row with a value that is not finite */
} fill_loop;

static void fill_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  fill_loop *l = of;
  const size_t row_bytes = (size_t)l->X->cols * ep_dtype_size(l->a->dtype);
  for (ptrdiff_t i = first; i < end; i++) {
    const unsigned char *in = l->a->data + (size_t)(l->rows ? l->rows[i] : i) * row_bytes;
    if (ep_array_convert(l->X, i, in, l->a->dtype, l->factor) == 0) continue;
    ptrdiff_t bad = atomic_load(&l->bad);
    while (i < bad && !atomic_compare_exchange_weak(&l->bad, &bad, i)) {}
  }
}

/* Returns the first row with a value that is not finite, or X->rows. */
static ptrdiff_t fill(const ep_mat *X, const ep_array *a, const ptrdiff_t *rows, double factor) {
  fill_loop l = {.X = X, .a = a, .rows = rows, .factor = factor, .bad = X->rows};
  ep_crew_loop(X->rows, ep_rows_at_once(X->cols, 32768), X->rows * X->cols > 100000, fill_rows, &l);
  return atomic_load(&l.bad);
}

ep_status ep_array_not_finite(const char *name, ptrdiff_t row, ptrdiff_t column, double x,
                              ep_precision prec) {
  EP_CHECK(!isfinite(x), EP_ERR_INPUT, "%s: row %td, column %td: %g is too large for %s precision",
           name, row + 1, column + 1, x, prec == EP_SINGLE ? "single" : "double");
  return EP_FAIL(EP_ERR_INPUT,
                 "%s: row %td, column %td: is %s; every value must be a finite number", name,
                 row + 1, column + 1, isnan(x) ? "NaN" : "infinite");
}

static ep_status not_finite(const ep_mat *X, const ep_array *a, const ptrdiff_t *rows, ptrdiff_t i,
                            const char *name) {
  ptrdiff_t j = 0;
  while (j + 1 < X->cols && isfinite(ep_get(X, i, j))) j++;
  const ptrdiff_t row = rows ? rows[i] : i;
  return ep_array_not_finite(name, row, j, ep_array_value(a, row * X->cols + j), X->prec);
}

ep_status ep_array_to_matrix(ep_mat *X, const ep_array *a, const ptrdiff_t *rows, ptrdiff_t n,
                             double factor, ep_precision prec, const char *name) {
  const ptrdiff_t have = rows_of(a);
  *X = (ep_mat){.prec = prec};
  EP_CHECK(n >= 0 && (rows || n <= have), EP_ERR_ARG, "%s: has %td rows, %td were asked for", name,
           have, n);
  for (ptrdiff_t i = 0; rows && i < n; i++)
    EP_CHECK(rows[i] >= 0 && rows[i] < have, EP_ERR_ARG, "%s: has %td rows, row %td was asked for",
             name, have, rows[i] + 1);
  EP_TRY(ep_mat_new(X, prec, n, ep_array_row_length(a)));
  const ptrdiff_t bad = fill(X, a, rows, factor);
  if (bad == n) return EP_OK;
  const ep_status st = not_finite(X, a, rows, bad, name);
  ep_mat_free(X);
  return st;
}
