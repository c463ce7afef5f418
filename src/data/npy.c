/* NumPy's .npy: magic, version, length of the header, the header (a Python dict), the values. */
#include "core/file.h"
#include "core/mem.h"
#include "data/npy_rows.h"
#include "data/parse.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the values of files are read in place: a little-endian processor is needed"
#endif

/* of the file, and what it is in memory: those of another size are converted */
typedef struct {
  const char *descr;
  ep_dtype dtype;
  size_t item; /* bytes of a value in the file */
  bool plain;  /* is read where it stands */
} type;
static const type types[] = {
    {"<f4", EP_F32, 4, true},  {"<f8", EP_F64, 8, true},  {"|u1", EP_U8, 1, true},
    {"<i4", EP_I32, 4, true},  {"<i8", EP_I64, 8, true},  {"<f2", EP_F32, 2, false},
    {"|i1", EP_I32, 1, false}, {"|b1", EP_I32, 1, false}, {"<i2", EP_I32, 2, false},
    {"<u2", EP_I32, 2, false}, {"<u4", EP_I64, 4, false}, {"<u8", EP_F64, 8, false},
};

/* What is left to read of the header, or after it of the values. */
typedef struct {
  const unsigned char *p, *end;
  const char *name;
} cursor;

typedef struct {
  char descr[32];
  bool fortran;
  int ndim;
  ptrdiff_t shape[EP_MAX_DIMS];
} header;

static ep_status damaged(const cursor *c, const char *what) {
  return EP_FAIL(EP_ERR_INPUT, "%s: its .npy header is damaged (%s); save it again", c->name, what);
}

static void skip_blanks(cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r')) c->p++;
}

static bool peek(cursor *c, char x) {
  skip_blanks(c);
  return c->p < c->end && *c->p == (unsigned char)x;
}

static bool take(cursor *c, char x) {
  const bool found = peek(c, x);
  c->p += found;
  return found;
}

/* 'text' or "text" */
static ep_status parse_string(char *out, size_t room, cursor *c) {
  const char quote = peek(c, '"') ? '"' : '\'';
  if (!take(c, quote)) return damaged(c, "a word in quotes is missing");
  const unsigned char *close = memchr(c->p, quote, (size_t)(c->end - c->p));
  if (!close) return damaged(c, "a quote is not closed");
  const size_t length = (size_t)(close - c->p);
  if (length >= room) return damaged(c, "a word is too long");
  memcpy(out, c->p, length);
  out[length] = '\0';
  c->p = close + 1;
  return EP_OK;
}

static ep_status parse_bool(bool *out, cursor *c) {
  skip_blanks(c);
  const size_t left = (size_t)(c->end - c->p);
  *out = left >= 4 && memcmp(c->p, "True", 4) == 0;
  if (!*out && !(left >= 5 && memcmp(c->p, "False", 5) == 0))
    return damaged(c, "fortran_order is neither True nor False");
  c->p += *out ? 4 : 5;
  return EP_OK;
}

/* digits, perhaps with the L of Python 2 */
static ep_status parse_size(ptrdiff_t *out, cursor *c) {
  EP_CHECK(!peek(c, '-'), EP_ERR_INPUT, "%s: its shape has a negative size", c->name);
  const unsigned char *first = c->p;
  *out = 0;
  for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
    EP_CHECK(*out <= (PTRDIFF_MAX - 9) / 10, EP_ERR_INPUT, "%s: its shape is too large", c->name);
    *out = *out * 10 + (*c->p - '0');
  }
  if (c->p == first) return damaged(c, "the shape is not a list of numbers");
  take(c, 'L');
  return EP_OK;
}

/* (), (n,), (n, d), ... */
static ep_status parse_shape(header *h, cursor *c) {
  h->ndim = 0;
  if (!take(c, '(')) return damaged(c, "the shape is not in parentheses");
  while (!take(c, ')')) {
    EP_CHECK(h->ndim < EP_MAX_DIMS, EP_ERR_INPUT, "%s: has more than %d dimensions", c->name,
             EP_MAX_DIMS);
    EP_TRY(parse_size(&h->shape[h->ndim++], c));
    if (!take(c, ',') && !peek(c, ')')) return damaged(c, "the shape is not closed");
  }
  return EP_OK;
}

/* key: value; returns in *seen one bit a key */
static ep_status parse_entry(header *h, unsigned *seen, cursor *c) {
  char key[32];
  EP_TRY(parse_string(key, sizeof key, c));
  if (!take(c, ':')) return damaged(c, "a colon is missing");
  if (strcmp(key, "descr") == 0) {
    EP_CHECK(!peek(c, '['), EP_ERR_INPUT,
             "%s: holds records (a structured type); save one plain array of numbers", c->name);
    *seen |= 1;
    return parse_string(h->descr, sizeof h->descr, c);
  }
  if (strcmp(key, "fortran_order") == 0) {
    *seen |= 2;
    return parse_bool(&h->fortran, c);
  }
  if (strcmp(key, "shape") == 0) {
    *seen |= 4;
    return parse_shape(h, c);
  }
  return damaged(c, "an unknown key");
}

/* {'descr': '<f8', 'fortran_order': False, 'shape': (n, d), } */
static ep_status parse_dict(header *h, cursor *c) {
  unsigned seen = 0;
  if (!take(c, '{')) return damaged(c, "it does not begin with a brace");
  while (!take(c, '}')) {
    EP_TRY(parse_entry(h, &seen, c));
    if (!take(c, ',') && !peek(c, '}')) return damaged(c, "it is not closed");
  }
  if (seen != 7) return damaged(c, "descr, fortran_order or shape is missing");
  return EP_OK;
}

/* \x93NUMPY, major, minor, length (2 bytes in version 1, 4 in versions 2 and 3), dict, values */
static ep_status parse_header(header *h, cursor *values, const unsigned char *bytes, size_t size,
                              const char *name) {
  EP_CHECK(size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0, EP_ERR_INPUT, "%s: is not a .npy file",
           name);
  const size_t wide = size > 6 && bytes[6] == 1 ? 2 : 4, head = 8 + wide;
  EP_CHECK(size >= head, EP_ERR_INPUT, "%s: is cut short within its .npy header", name);
  EP_CHECK(bytes[6] >= 1 && bytes[6] <= 3, EP_ERR_INPUT,
           "%s: is of .npy version %d; versions 1, 2 and 3 are read", name, bytes[6]);
  size_t length = 0;
  for (size_t i = 0; i < wide; i++) length |= (size_t)bytes[8 + i] << 8 * i;
  EP_CHECK(length <= size - head, EP_ERR_INPUT, "%s: is cut short within its .npy header", name);
  cursor c = {bytes + head, bytes + head + length, name};
  *h = (header){.ndim = 0};
  EP_TRY(parse_dict(h, &c));
  *values = (cursor){bytes + head + length, bytes + size, name};
  return EP_OK;
}

/* the letter of a type: f, i, u, b, c for numbers, and U, S, O, V, M, m */
static char kind_of(const char *descr) {
  return *descr && strchr("<>|=", *descr) ? descr[1] : *descr;
}

static ep_status find_type(const type **out, const header *h, const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(h->descr, types[i].descr) == 0) {
      *out = &types[i];
      return EP_OK;
    }
  const char kind = kind_of(h->descr);
  EP_CHECK(kind != 'O', EP_ERR_INPUT, "%s: holds Python objects; save numbers instead", name);
  EP_CHECK(kind != 'U' && kind != 'S', EP_ERR_INPUT, "%s: holds text; save numbers instead", name);
  return EP_FAIL(EP_ERR_INPUT,
                 "%s: holds values of type '%s'; float32, float64, uint8, int32 and int64, float16 "
                 "and other integers (little-endian) are read: convert it with astype",
                 name, h->descr);
}

/* Are as many bytes there as the shape says? */
static ep_status check_values(const header *h, size_t have, size_t item, const char *name) {
  size_t need;
  EP_CHECK(ep_shape_bytes(&need, h->shape, h->ndim, item), EP_ERR_INPUT,
           "%s: its shape is too large", name);
  EP_CHECK(have >= need, EP_ERR_INPUT,
           "%s: is cut short: its shape needs %zu bytes of values, it holds %zu", name, need, have);
  return EP_OK;
}

/* *convert: how the values are brought to C order and a type of ours; NULL: they are so already */
static ep_status read_header(ep_array *a, size_t *offset, const type **convert, bool *fortran,
                             const unsigned char *bytes, size_t size, size_t all,
                             const char *name) {
  header h;
  cursor values;
  const type *t = &types[0];
  *a = (ep_array){.owner = NULL};
  EP_TRY(parse_header(&h, &values, bytes, size, name));
  EP_TRY(find_type(&t, &h, name));
  *offset = (size_t)(values.p - bytes);
  EP_TRY(check_values(&h, all - *offset, t->item, name));
  *fortran = h.fortran && h.ndim > 1;
  *convert = *fortran || !t->plain ? t : NULL;
  a->dtype = t->dtype;
  a->ndim = h.ndim;
  memcpy(a->shape, h.shape, sizeof a->shape);
  return EP_OK;
}

ep_status ep_parse_npy_header(ep_array *a, size_t *offset, bool *in_place,
                              const unsigned char *bytes, size_t size, size_t all,
                              const char *name) {
  const type *convert = NULL;
  bool fortran;
  EP_TRY(read_header(a, offset, &convert, &fortran, bytes, size, all, name));
  *in_place = !convert;
  return EP_OK;
}

/* ---- other types, other orders */

/* half precision: sign, 5 bits of exponent, 10 of fraction */
static float from_half(uint16_t h) {
  const int e = h >> 10 & 31, f = h & 1023;
  const double x = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
  return (float)(h >> 15 ? -x : x);
}

#define TAKE(T, OUT, expression)     \
  do {                               \
    T v;                             \
    memcpy(&v, in, sizeof v);        \
    const OUT x = (OUT)(expression); \
    memcpy(out, &x, sizeof x);       \
    return;                          \
  } while (0)

/* one value */
static void convert_value(unsigned char *out, const unsigned char *in, const type *t) {
  if (t->plain) {
    memcpy(out, in, t->item);
    return;
  }
  if (t->descr[1] == 'f') TAKE(uint16_t, float, from_half(v));
  if (t->item == 1 && t->descr[1] == 'i') TAKE(int8_t, int32_t, v);
  if (t->item == 1) TAKE(uint8_t, int32_t, v != 0);
  if (t->item == 2 && t->descr[1] == 'i') TAKE(int16_t, int32_t, v);
  if (t->item == 2) TAKE(uint16_t, int32_t, v);
  if (t->item == 4) TAKE(uint32_t, int64_t, v);
  TAKE(uint64_t, double, v);
}

/* the next index of an array in C order */
static void advance(ptrdiff_t *index, const ep_array *a) {
  for (int k = a->ndim - 1; k >= 0; k--) {
    if (++index[k] < a->shape[k]) return;
    index[k] = 0;
  }
}

/* a copy in C order that the array owns; in Fortran order value i, j, .. stands at i + n (j + ..) */
static ep_status convert_all(ep_array *a, const unsigned char *in, const type *t, bool fortran,
                             const char *name) {
  const ptrdiff_t n = ep_array_count(a);
  const size_t item = ep_dtype_size(a->dtype);
  ptrdiff_t index[EP_MAX_DIMS] = {0};
  unsigned char *out = ep_alloc(n > 0 ? n : 1, item);
  EP_CHECK(out, EP_ERR_NOMEM, "%s: no memory for %td values", name, n);
  for (ptrdiff_t i = 0; i < n; i++) {
    ptrdiff_t at = i;
    if (fortran) {
      at = 0;
      for (int k = a->ndim - 1; k >= 0; k--) at = at * a->shape[k] + index[k];
      advance(index, a);
    }
    convert_value(out + (size_t)i * item, in + (size_t)at * t->item, t);
  }
  a->data = a->owner = out;
  return EP_OK;
}

ep_status ep_parse_npy(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  size_t offset;
  const type *convert = NULL;
  bool fortran;
  EP_TRY(read_header(a, &offset, &convert, &fortran, bytes, size, size, name));
  if (convert) return convert_all(a, bytes + offset, convert, fortran, name);
  a->data = bytes + offset;
  return EP_OK;
}

bool ep_npy_is_numeric(const unsigned char *bytes, size_t size) {
  header h;
  cursor values;
  if (size < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0) return false;
  if (parse_header(&h, &values, bytes, size, "")) return true; /* its reader is told why not */
  const char kind = kind_of(h.descr);
  return kind && strchr("fiubc", kind);
}

/* ---- text */

/* code point -> 1 to 4 bytes of UTF-8; 0 if it is none */
static size_t put_utf8(unsigned char *out, uint32_t x) {
  if (x > 0x10ffff || (x >= 0xd800 && x <= 0xdfff)) return 0;
  const size_t n = x < 0x80 ? 1 : x < 0x800 ? 2 : x < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = n; i-- > 1; x >>= 6) out[i] = (unsigned char)(0x80 | (x & 0x3f));
  out[0] = (unsigned char)(lead[n] | x);
  return n;
}

static uint32_t character(const unsigned char *p, size_t i, size_t wide) {
  uint32_t x = p[i * wide];
  if (wide == 4) memcpy(&x, p + i * 4, 4);
  return x;
}

/* n characters of 1 (bytes, kept as they are) or 4 bytes -> out, which has room for 4 n + 1 */
static ep_status decode(unsigned char *out, const unsigned char *p, size_t n, size_t wide,
                        const char *name) {
  while (n > 0 && character(p, n - 1, wide) == 0) n--;
  for (size_t i = 0; i < n; i++) {
    const uint32_t x = character(p, i, wide);
    EP_CHECK(x, EP_ERR_INPUT, "%s: its text has a zero character within", name);
    size_t used = 1;
    if (wide == 1) *out = (unsigned char)x;
    else used = put_utf8(out, x);
    EP_CHECK(used, EP_ERR_INPUT, "%s: its text is not Unicode", name);
    out += used;
  }
  *out = '\0';
  return EP_OK;
}

/* '<U12' -> 12 characters of 4 bytes, '|S12' -> 12 of 1 */
static ep_status text_type(size_t *n, size_t *wide, const header *h, const char *name) {
  const bool unicode = strncmp(h->descr, "<U", 2) == 0;
  EP_CHECK(unicode || strncmp(h->descr, "|S", 2) == 0, EP_ERR_INPUT,
           "%s: holds values of type '%s', not text", name, h->descr);
  cursor c = {(const unsigned char *)h->descr + 2,
              (const unsigned char *)h->descr + strlen(h->descr), name};
  ptrdiff_t length;
  EP_TRY(parse_size(&length, &c));
  EP_CHECK(length <= PTRDIFF_MAX / 8, EP_ERR_INPUT, "%s: its text is too long", name);
  *n = (size_t)length;
  *wide = unicode ? 4 : 1;
  return EP_OK;
}

ep_status ep_parse_npy_text(char **text, const unsigned char *bytes, size_t size,
                            const char *name) {
  header h;
  cursor values;
  size_t n = 0, wide = 0;
  *text = NULL;
  EP_TRY(parse_header(&h, &values, bytes, size, name));
  EP_TRY(text_type(&n, &wide, &h, name));
  EP_CHECK(h.ndim == 0 || (h.ndim == 1 && h.shape[0] == 1), EP_ERR_INPUT,
           "%s: holds several texts, one is expected", name);
  EP_TRY(check_values(&h, (size_t)(values.end - values.p), n * wide, name));
  char *out = ep_alloc((ptrdiff_t)(4 * n + 1), 1);
  EP_CHECK(out, EP_ERR_NOMEM, "%s: no memory for its text", name);
  const ep_status st = decode((unsigned char *)out, values.p, n, wide, name);
  if (st) ep_release(out);
  else *text = out;
  return st;
}

/* ---- writing */

/* magic 1.0 length {'descr': '<f8', 'fortran_order': False, 'shape': (n, d), } blanks newline */
size_t ep_npy_header(char out[EP_NPY_HEADER], const char *descr, int ndim, const ptrdiff_t *shape) {
  char dims[EP_MAX_DIMS * 24] = "";
  for (int i = 0; i < ndim; i++) {
    const size_t used = strlen(dims);
    snprintf(dims + used, sizeof dims - used, "%td%s", shape[i],
             i + 1 < ndim ? ", "
             : ndim == 1  ? ","
                          : "");
  }
  memset(out, ' ', EP_NPY_HEADER);
  memcpy(out, "\x93NUMPY\x01\x00", 8);
  const int n = snprintf(out + 10, EP_NPY_HEADER - 10,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, dims);
  const size_t whole = ((size_t)n + 10 + 1 + 63) / 64 * 64;
  out[10 + n] = ' '; /* where snprintf ended the string */
  out[whole - 1] = '\n';
  out[8] = (char)((whole - 10) & 0xff);
  out[9] = (char)((whole - 10) >> 8);
  return whole;
}

ep_status ep_npy_begin(ep_file *f, const char *path, ep_precision prec, ptrdiff_t rows,
                       ptrdiff_t cols) {
  char head[EP_NPY_HEADER];
  const ptrdiff_t shape[] = {rows, cols};
  const size_t length = ep_npy_header(head, prec == EP_SINGLE ? "<f4" : "<f8", 2, shape);
  EP_TRY(ep_file_open(f, path));
  fwrite(head, 1, length, f->stream); /* ep_file_commit sees whether all of it went well */
  return EP_OK;
}

void ep_npy_add_rows(ep_file *f, const ep_mat *A) {
  const size_t row = (size_t)A->cols * ep_sizeof(A->prec);
  for (ptrdiff_t i = 0; i < A->rows && row > 0 && !ferror(f->stream); i++)
    fwrite(ep_mat_rows(A, i, 1).data, 1, row, f->stream);
}

ep_status ep_npy_write(const char *path, const ep_mat *A) {
  ep_file f;
  EP_TRY(ep_npy_begin(&f, path, A->prec, A->rows, A->cols));
  ep_npy_add_rows(&f, A);
  return ep_file_commit(&f);
}

ep_status ep_npy_write_labels(const char *path, const int *labels, ptrdiff_t n) {
  _Static_assert(sizeof(int) == 4, "labels are written as '<i4'");
  ep_file f;
  char head[EP_NPY_HEADER];
  const size_t length = ep_npy_header(head, "<i4", 1, &n);
  EP_TRY(ep_file_open(&f, path));
  fwrite(head, 1, length, f.stream);
  if (n > 0) fwrite(labels, sizeof *labels, (size_t)n, f.stream);
  return ep_file_commit(&f);
}

ep_status ep_npy_write_bytes(const char *path, const unsigned char *bytes, int ndim,
                             const ptrdiff_t *shape) {
  ep_file f;
  char head[EP_NPY_HEADER];
  const size_t length = ep_npy_header(head, "|u1", ndim, shape);
  size_t size = 1;
  for (int i = 0; i < ndim; i++) size *= (size_t)shape[i];
  EP_TRY(ep_file_open(&f, path));
  fwrite(head, 1, length, f.stream);
  fwrite(bytes, 1, size, f.stream);
  return ep_file_commit(&f);
}

ep_status ep_npy_write_indices(const char *path, const ptrdiff_t *index, ptrdiff_t rows,
                               ptrdiff_t cols) {
  _Static_assert(sizeof(ptrdiff_t) == 8, "indices are written as '<i8'");
  ep_file f;
  char head[EP_NPY_HEADER];
  const ptrdiff_t shape[] = {rows, cols};
  const size_t length = ep_npy_header(head, "<i8", 2, shape);
  EP_TRY(ep_file_open(&f, path));
  fwrite(head, 1, length, f.stream);
  fwrite(index, sizeof *index, (size_t)(rows * cols), f.stream);
  return ep_file_commit(&f);
}
