/* .npz: a zip archive of .npy files. Members are stored, not packed, and carry one fixed date, so
 * the same content gives the same bytes. */
#define _GNU_SOURCE /* memfd_create */
#include "core/file.h"
#include "core/mem.h"
#include "data/npz_place.h"
#include "data/parse.h"

#include <eigenpair/run.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

struct ep_npz {
  zip_t *zip; /* NULL after ep_npz_commit */
  bool writing;
  char name[1024];   /* of the archive, for messages */
  size_t size;       /* reading: bytes of the whole archive */
  ep_file file;      /* writing: libzip writes to file.stream through put */
  zip_error_t error; /* of put */
  ep_work scratch;   /* writing: headers, texts and lists of pieces, until ep_npz_close */
};

enum {
  MEMBER = 256,               /* room for the name of a member, with its .npy */
  START = 4096,               /* bytes that surely hold the header of an array */
  CHUNK = 1 << 24,            /* bytes read between two looks at whether to stop */
  MOST_TEXT = 1 << 25,        /* bytes of a text, four a letter */
  DATE = 0 << 9 | 1 << 5 | 1, /* 1 January 1980, where the time of zip files begins */
};

static ep_status zip_failed(const ep_npz *z, zip_error_t *e, ep_status st, const char *what) {
  /* it does not always remember that it was memory */
  const bool memory = zip_error_code_zip(e) == ZIP_ER_MEMORY || errno == ENOMEM;
  /* in the system's words, as of every other file */
  const bool absent = zip_error_code_zip(e) == ZIP_ER_NOENT;
  return EP_FAIL(memory ? EP_ERR_NOMEM : st, "%s: %s: %s", z->name, what,
                 memory   ? "out of memory"
                 : absent ? strerror(ENOENT)
                          : zip_error_strerror(e));
}

static ep_status new_npz(ep_npz **out, const char *path) {
  *out = NULL;
  ep_npz *z = ep_alloc(1, sizeof *z);
  EP_CHECK(z, EP_ERR_NOMEM, "%s: no memory to open it", path);
  snprintf(z->name, sizeof z->name, "%s", path);
  *out = z;
  return EP_OK;
}

/* The outer half of every way to open: hands z over, or closes it. */
static ep_status opened(ep_npz **out, ep_npz *z, ep_status st) {
  if (st) ep_npz_close(z);
  *out = st ? NULL : z;
  return st;
}

void ep_npz_close(ep_npz *z) {
  if (!z) return;
  if (z->zip) zip_discard(z->zip);
  if (z->writing) ep_file_discard(&z->file);
  ep_work_free(&z->scratch);
  ep_release(z);
}

/* ---- reading */

static ep_status open_file(ep_npz *z, const char *path) {
  struct stat info;
  int code;
  EP_CHECK(stat(path, &info) != 0 || S_ISREG(info.st_mode), EP_ERR_INPUT, "%s: not a regular file",
           path);
  errno = 0;
  z->zip = zip_open(path, ZIP_RDONLY, &code);
  if (!z->zip) {
    zip_error_t e;
    zip_error_init_with_code(&e, code);
    const ep_status st = zip_failed(z, &e, EP_ERR_INPUT, "cannot be opened as .npz");
    zip_error_fini(&e);
    return st;
  }
  EP_CHECK(stat(path, &info) == 0, EP_ERR_INPUT, "%s: cannot be read", path);
  z->size = (size_t)info.st_size;
  return EP_OK;
}

ep_status ep_npz_open(ep_npz **out, const char *path) {
  ep_npz *z;
  *out = NULL;
  EP_TRY(new_npz(&z, path));
  return opened(out, z, open_file(z, path));
}

static ep_status open_bytes(ep_npz *z, const unsigned char *bytes, size_t size) {
  zip_error_t e;
  zip_error_init(&e);
  errno = 0;
  zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &e);
  if (source) z->zip = zip_open_from_source(source, ZIP_RDONLY, &e);
  if (source && !z->zip) zip_source_free(source);
  const ep_status st = z->zip ? EP_OK : zip_failed(z, &e, EP_ERR_INPUT, "cannot be opened as .npz");
  zip_error_fini(&e);
  z->size = size;
  return st;
}

ep_status ep_npz_open_bytes(ep_npz **out, const unsigned char *bytes, size_t size,
                            const char *name) {
  ep_npz *z;
  *out = NULL;
  EP_TRY(new_npz(&z, name));
  return opened(out, z, open_bytes(z, bytes, size));
}

/* The place of name.npy; -1 if there is none. */
static zip_int64_t locate(const ep_npz *z, const char *name) {
  char member[MEMBER];
  if (!z->zip || strlen(name) + 5 > sizeof member) return -1;
  snprintf(member, sizeof member, "%s.npy", name);
  return zip_name_locate(z->zip, member, 0);
}

bool ep_npz_has(const ep_npz *z, const char *name) { return locate(z, name) >= 0; }

bool ep_npz_name(char name[128], const ep_npz *z, int i) {
  const char *member = z->zip ? zip_get_name(z->zip, (zip_uint64_t)i, 0) : NULL;
  if (!member) return false;
  snprintf(name, 128, "%s", member);
  const size_t length = strlen(name);
  if (length > 4 && strcmp(name + length - 4, ".npy") == 0) name[length - 4] = '\0';
  return true;
}

/* "V, W, config" */
static void list_names(char *out, size_t room, const ep_npz *z) {
  char name[128];
  *out = '\0';
  for (int i = 0; ep_npz_name(name, z, i); i++) {
    const size_t used = strlen(out);
    snprintf(out + used, room - used, "%s%s", used ? ", " : "", name);
  }
  if (!*out) snprintf(out, room, "nothing");
}

/* A size that the packed bytes cannot give is a lie, and must not become an allocation: deflate
 * packs 1032 to 1 at best. */
static bool believable(const ep_npz *z, const zip_stat_t *s) {
  const zip_uint64_t packed = s->comp_size < z->size ? s->comp_size : z->size;
  return s->comp_method == ZIP_CM_STORE ? s->size <= packed : s->size / 1032 <= packed + 64;
}

static ep_status read_all(unsigned char *out, zip_uint64_t size, zip_file_t *in, const ep_npz *z,
                          const char *name) {
  unsigned char extra;
  for (zip_uint64_t done = 0; done < size;) {
    const zip_uint64_t chunk = size - done < CHUNK ? size - done : CHUNK;
    const zip_int64_t n = zip_fread(in, out + done, chunk);
    EP_CHECK(n > 0, EP_ERR_INPUT, "%s:%s: %s", z->name, name,
             n < 0 ? zip_error_strerror(zip_file_get_error(in)) : "is cut short");
    done += (zip_uint64_t)n;
    if (done < size) EP_TRY(ep_run_step("unpacking", (double)done, (double)size));
  }
  /* the checksum is looked at only when the end is seen */
  EP_CHECK(zip_fread(in, &extra, 1) == 0, EP_ERR_INPUT, "%s:%s: is damaged; save it again", z->name,
           name);
  return EP_OK;
}

static ep_status member_stat(zip_stat_t *s, const ep_npz *z, zip_uint64_t i, const char *name) {
  const zip_uint64_t want = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  EP_CHECK(zip_stat_index(z->zip, i, 0, s) == 0 && (s->valid & want) == want && believable(z, s),
           EP_ERR_INPUT, "%s:%s: its size is damaged; save it again", z->name, name);
  return EP_OK;
}

/* The bytes of member i; *out is for ep_release. */
static ep_status read_member(unsigned char **out, size_t *size, const ep_npz *z, zip_uint64_t i,
                             const char *name) {
  zip_stat_t s;
  char full[1024 + MEMBER];
  *out = NULL;
  EP_TRY(member_stat(&s, z, i, name));
  snprintf(full, sizeof full, "%s:%s", z->name, name);
  EP_CHECK(s.comp_method == ZIP_CM_STORE || (double)s.size <= ep_run_room(), EP_ERR_ARG,
           "%s: takes %.3g bytes unpacked, more than --memory leaves (%.3g); save it by np.savez, "
           "not savez_compressed, or make a .npy of it: eigenpair data convert",
           full, (double)s.size, fmax(0, ep_run_room()));
  EP_TRY(ep_file_room((double)s.size, full));
  errno = 0;
  zip_file_t *in = zip_fopen_index(z->zip, i, 0);
  if (!in) return zip_failed(z, zip_get_error(z->zip), EP_ERR_INPUT, name);
  *size = (size_t)s.size;
  ep_status st = EP_OK;
  *out = ep_alloc((ptrdiff_t)s.size, 1);
  if (!*out) st = EP_FAIL(EP_ERR_NOMEM, "%s:%s: no memory for its %zu bytes", z->name, name, *size);
  if (!st) st = read_all(*out, s.size, in, z, name);
  zip_fclose(in);
  if (st) ep_release(*out), *out = NULL;
  return st;
}

static ep_status find(zip_uint64_t *i, const ep_npz *z, const char *name) {
  char names[512];
  EP_CHECK(z->zip && !z->writing, EP_ERR_ARG, "%s: is not open for reading", z->name);
  const zip_int64_t at = locate(z, name);
  if (at < 0) list_names(names, sizeof names, z);
  EP_CHECK(at >= 0, EP_ERR_INPUT, "%s: holds no array '%s'; it holds: %s", z->name, name, names);
  *i = (zip_uint64_t)at;
  return EP_OK;
}

static ep_status get(ep_array *a, const ep_npz *z, zip_uint64_t i, const char *name) {
  unsigned char *bytes;
  size_t size;
  char full[1024 + MEMBER];
  snprintf(full, sizeof full, "%s:%s", z->name, name);
  EP_TRY(read_member(&bytes, &size, z, i, name));
  const ep_status st = ep_parse_npy(a, bytes, size, full);
  if (st || a->owner) ep_release(bytes); /* nothing, or a copy */
  else a->owner = bytes;
  return st;
}

ep_status ep_npz_get(ep_array *a, ep_npz *z, const char *name) {
  zip_uint64_t i = 0;
  *a = (ep_array){.owner = NULL};
  EP_TRY(find(&i, z, name));
  return get(a, z, i, name);
}

ep_status ep_npz_get_text(char **text, ep_npz *z, const char *name) {
  unsigned char *bytes;
  size_t size;
  zip_uint64_t i = 0;
  char full[1024 + MEMBER];
  zip_stat_t s;
  *text = NULL;
  EP_TRY(find(&i, z, name));
  EP_TRY(member_stat(&s, z, i, name));
  EP_CHECK(s.size <= MOST_TEXT, EP_ERR_INPUT, "%s:%s: a text of %llu bytes, %d at most", z->name,
           name, (unsigned long long)s.size, (int)MOST_TEXT);
  EP_TRY(read_member(&bytes, &size, z, i, name));
  snprintf(full, sizeof full, "%s:%s", z->name, name);
  const ep_status st = ep_parse_npy_text(text, bytes, size, full);
  ep_release(bytes);
  return st;
}

ep_status ep_npz_get_json(json_t **out, ep_npz *z, const char *name) {
  char *text;
  *out = NULL;
  EP_TRY(ep_npz_get_text(&text, z, name));
  const ep_status st = ep_json_parse(out, text, ep_run_room(), z->name);
  ep_npz_text_free(text);
  return st;
}

void ep_npz_text_free(char *text) { ep_release(text); }

/* -1 with errno where it cannot be read */
static zip_int64_t read_start(unsigned char start[START], const ep_npz *z, zip_uint64_t i) {
  errno = 0;
  zip_file_t *in = zip_fopen_index(z->zip, i, 0);
  if (!in) return -1;
  const zip_int64_t n = zip_fread(in, start, START);
  zip_fclose(in);
  return n;
}

ep_status ep_npz_shape(ep_array *a, ep_npz *z, const char *name) {
  zip_uint64_t i = 0;
  zip_stat_t s;
  unsigned char start[START];
  char full[1024 + MEMBER];
  *a = (ep_array){.owner = NULL};
  EP_TRY(find(&i, z, name));
  EP_TRY(member_stat(&s, z, i, name));
  snprintf(full, sizeof full, "%s:%s", z->name, name);
  const zip_int64_t n = read_start(start, z, i);
  EP_CHECK(n >= 0, errno == ENOMEM ? EP_ERR_NOMEM : EP_ERR_INPUT, "%s: cannot be read: %s", full,
           errno == ENOMEM ? "out of memory" : "it is damaged");
  size_t offset;
  bool in_place;
  return ep_parse_npy_header(a, &offset, &in_place, start, (size_t)n, (size_t)s.size, full);
}

static bool is_numeric(const ep_npz *z, zip_uint64_t i) {
  unsigned char start[START];
  const zip_int64_t n = read_start(start, z, i);
  return n > 0 && ep_npy_is_numeric(start, (size_t)n);
}

/* The only array of numbers, or X, or arr_0. */
static ep_status find_only(zip_uint64_t *found, ep_npz *z) {
  char names[512];
  int numeric = 0;
  EP_CHECK(z->zip && !z->writing, EP_ERR_ARG, "%s: is not open for reading", z->name);
  const zip_int64_t n = zip_get_num_entries(z->zip, 0);
  for (zip_int64_t i = 0; i < n && numeric < 2; i++)
    if (is_numeric(z, (zip_uint64_t)i)) numeric++, *found = (zip_uint64_t)i;
  if (numeric == 1) return EP_OK;
  if (numeric > 1 && ep_npz_has(z, "X")) return find(found, z, "X");
  if (numeric > 1 && ep_npz_has(z, "arr_0")) return find(found, z, "arr_0");
  EP_CHECK(numeric || errno != ENOMEM, EP_ERR_NOMEM, "%s: cannot be read: out of memory", z->name);
  list_names(names, sizeof names, z);
  EP_CHECK(numeric, EP_ERR_INPUT, "%s: holds no array of numbers; it holds: %s", z->name, names);
  return EP_FAIL(EP_ERR_INPUT, "%s: holds several arrays: %s; choose one, such as %s:NAME", z->name,
                 names, z->name);
}

/* as messages call it */
static const char *name_of(char name[128], const ep_npz *z, zip_uint64_t i) {
  return ep_npz_name(name, z, (int)i) ? name : "";
}

ep_status ep_npz_get_only(ep_array *a, ep_npz *z) {
  zip_uint64_t i = 0;
  *a = (ep_array){.owner = NULL};
  EP_TRY(find_only(&i, z));
  return get(a, z, i, zip_get_name(z->zip, i, 0));
}

ep_status ep_npz_place(uint64_t *offset, uint64_t *size, bool *stored, char full[1280], ep_npz *z,
                       const char *name, int file, uint64_t all) {
  zip_uint64_t i = 0;
  zip_stat_t s;
  char own[128];
  *stored = false;
  EP_TRY(name ? find(&i, z, name) : find_only(&i, z));
  snprintf(full, 1280, "%s:%s", z->name, name_of(own, z, i));
  EP_TRY(member_stat(&s, z, i, name_of(own, z, i)));
  *size = s.size;
  return s.comp_method == ZIP_CM_STORE ? ep_npz_find(offset, stored, file, all, i, s.size, full)
                                       : EP_OK;
}

/* ---- writing */

/* The half of a zip source that writes, into our own file: libzip's would make a temporary file of its own. */
static zip_int64_t put(void *user, void *data, zip_uint64_t length, zip_source_cmd_t what) {
  ep_npz *z = user;
  FILE *to = z->file.stream;
  zip_int64_t at;
  switch (what) {
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(
          ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
          ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_BEGIN_WRITE,
          ZIP_SOURCE_WRITE, ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_COMMIT_WRITE,
          ZIP_SOURCE_ROLLBACK_WRITE, ZIP_SOURCE_REMOVE, -1);
    case ZIP_SOURCE_STAT: zip_stat_init(data); return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&z->error, data, length);
    case ZIP_SOURCE_WRITE:
      if (fwrite(data, 1, length, to) == length) return (zip_int64_t)length;
      break;
    case ZIP_SOURCE_TELL_WRITE:
      if ((at = ftello(to)) >= 0) return at;
      break;
    case ZIP_SOURCE_SEEK_WRITE:
      if (fseeko(to, ((zip_source_args_seek_t *)data)->offset,
                 ((zip_source_args_seek_t *)data)->whence) == 0)
        return 0;
      break;
    default: return 0;
  }
  zip_error_set(&z->error, ZIP_ER_WRITE, errno);
  return -1;
}

/* `z` writes to its stream from now on */
static ep_status start(ep_npz *z) {
  zip_error_t e;
  z->writing = true;
  zip_error_init(&e);
  errno = 0;
  zip_source_t *source = zip_source_function_create(put, z, &e);
  if (source) z->zip = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &e);
  if (source && !z->zip) zip_source_free(source);
  const ep_status st = z->zip ? EP_OK : zip_failed(z, &e, EP_ERR_IO, "cannot be written");
  zip_error_fini(&e);
  return st;
}

static ep_status create(ep_npz *z, const char *path) {
  EP_TRY(ep_file_open(&z->file, path));
  return start(z);
}

ep_status ep_npz_create(ep_npz **out, const char *path) {
  ep_npz *z;
  *out = NULL;
  EP_TRY(new_npz(&z, path));
  return opened(out, z, create(z, path));
}

/* a file without a name, in memory */
static ep_status create_bytes(ep_npz *z) {
  const int fd = memfd_create("npz", MFD_CLOEXEC);
  z->file.stream = fd >= 0 ? fdopen(fd, "w+b") : NULL;
  if (fd >= 0 && !z->file.stream) close(fd);
  EP_CHECK(z->file.stream, EP_ERR_NOMEM, "no memory for an archive in memory");
  return start(z);
}

ep_status ep_npz_create_bytes(ep_npz **out) {
  ep_npz *z;
  *out = NULL;
  EP_TRY(new_npz(&z, "an archive in memory"));
  return opened(out, z, create_bytes(z));
}

/* A member made of pieces of memory, which stay in place. */
static ep_status add_member(ep_npz *z, const char *name, const zip_buffer_fragment_t *pieces,
                            zip_uint64_t n) {
  char member[MEMBER];
  snprintf(member, sizeof member, "%s.npy", name);
  errno = 0;
  zip_source_t *source = zip_source_buffer_fragment(z->zip, pieces, n, 0);
  if (!source) return zip_failed(z, zip_get_error(z->zip), EP_ERR_IO, name);
  const zip_int64_t i = zip_file_add(z->zip, member, source, ZIP_FL_ENC_UTF_8);
  if (i < 0) {
    zip_source_free(source);
    return zip_failed(z, zip_get_error(z->zip), EP_ERR_ARG, name);
  }
  if (zip_set_file_compression(z->zip, (zip_uint64_t)i, ZIP_CM_STORE, 0) ||
      zip_file_set_dostime(z->zip, (zip_uint64_t)i, 0, DATE, 0))
    return zip_failed(z, zip_get_error(z->zip), EP_ERR_IO, name);
  return EP_OK;
}

/* Is z open for writing, and can a member be called so? */
static ep_status check_name(const ep_npz *z, const char *name) {
  EP_CHECK(z->writing && z->zip, EP_ERR_ARG, "%s: is not open for writing", z->name);
  EP_CHECK(*name && strlen(name) + 5 <= MEMBER, EP_ERR_ARG,
           "%s: the name of an array is empty or too long", z->name);
  return EP_OK;
}

static ep_status header_piece(zip_buffer_fragment_t *piece, ep_npz *z, const char *descr, int ndim,
                              const ptrdiff_t *shape) {
  char *head;
  EP_TRY(ep_work_get(&z->scratch, &head, EP_NPY_HEADER, 1));
  piece->length = ep_npy_header(head, descr, ndim, shape);
  piece->data = (zip_uint8_t *)head;
  return EP_OK;
}

ep_status ep_npz_add_matrix(ep_npz *z, const char *name, const ep_mat *A, bool vector) {
  EP_TRY(check_name(z, name));
  EP_CHECK(!vector || A->rows == 1, EP_ERR_SHAPE, "%s:%s: a vector is a matrix of one row", z->name,
           name);
  const ptrdiff_t shape[] = {A->rows, A->cols};
  const bool whole = A->ld == A->cols || A->rows == 1;
  const ptrdiff_t parts = whole ? 1 : A->rows; /* rows with gaps between them go in one by one */
  const ptrdiff_t length = whole ? A->rows * A->cols : A->cols;
  zip_buffer_fragment_t *pieces;
  EP_TRY(ep_work_get(&z->scratch, &pieces, 1 + parts, sizeof *pieces));
  EP_TRY(header_piece(pieces, z, A->prec == EP_SINGLE ? "<f4" : "<f8", vector ? 1 : 2,
                      shape + vector));
  for (ptrdiff_t i = 0; i < parts; i++) {
    pieces[1 + i].data = (zip_uint8_t *)ep_mat_rows(A, i, 1).data;
    pieces[1 + i].length = (zip_uint64_t)length * ep_sizeof(A->prec);
  }
  return add_member(z, name, pieces, 1 + (zip_uint64_t)(length > 0 ? parts : 0));
}

/* One character of UTF-8; returns its bytes, 0 if it is none. */
static int get_utf8(uint32_t *out, const unsigned char *p) {
  if (p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2)) return 0;
  const int n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  uint32_t x = n == 1 ? p[0] : p[0] & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if ((p[i] & 0xc0) != 0x80) return 0; /* the zero at the end of the text included */
    x = x << 6 | (p[i] & 0x3f);
  }
  if (x < least[n] || x > 0x10ffff || (x >= 0xd800 && x <= 0xdfff)) return 0;
  *out = x;
  return n;
}

ep_status ep_npz_add_text(ep_npz *z, const char *name, const char *text) {
  uint32_t *wide;
  size_t n = 0;
  char descr[32];
  zip_buffer_fragment_t pieces[2];
  EP_TRY(check_name(z, name));
  EP_TRY(ep_work_get(&z->scratch, &wide, (ptrdiff_t)strlen(text) + 1, sizeof *wide));
  for (const unsigned char *p = (const unsigned char *)text; *p; n++) {
    const int used = get_utf8(&wide[n], p);
    EP_CHECK(used, EP_ERR_INPUT, "%s:%s: the text is not UTF-8", z->name, name);
    p += used;
  }
  if (n == 0) n = 1; /* NumPy's empty text has one zero character */
  snprintf(descr, sizeof descr, "<U%zu", n);
  EP_TRY(header_piece(&pieces[0], z, descr, 0, NULL));
  pieces[1].data = (zip_uint8_t *)wide;
  pieces[1].length = n * sizeof *wide;
  return add_member(z, name, pieces, 2);
}

/* a file that is nobody's is not written at all */
static ep_status drop_zip(ep_npz *z) {
  zip_discard(z->zip);
  z->zip = NULL;
  return EP_OK;
}

static ep_status close_zip(ep_npz *z) {
  EP_CHECK(z->writing && z->zip, EP_ERR_ARG, "%s: is not open for writing", z->name);
  EP_CHECK(zip_get_num_entries(z->zip, 0) > 0, EP_ERR_ARG, "%s: nothing was put into it", z->name);
  errno = 0;
  if (zip_close(z->zip))
    return zip_failed(z, zip_get_error(z->zip), EP_ERR_IO, "cannot be written");
  z->zip = NULL;
  return EP_OK;
}

ep_status ep_npz_commit(ep_npz *z) {
  EP_TRY(z->zip && ep_file_is_nothing(&z->file) ? drop_zip(z) : close_zip(z));
  return ep_file_commit(&z->file);
}

ep_status ep_npz_commit_bytes(ep_npz *z, unsigned char **bytes, size_t *size) {
  *bytes = NULL;
  EP_TRY(close_zip(z));
  FILE *f = z->file.stream;
  const off_t end = fflush(f) == 0 && fseeko(f, 0, SEEK_END) == 0 ? ftello(f) : -1;
  EP_CHECK(end >= 0, EP_ERR_NOMEM, "no memory for an archive in memory");
  rewind(f);
  *size = (size_t)end;
  *bytes = ep_alloc(end, 1);
  const bool read = *bytes && fread(*bytes, 1, *size, f) == *size;
  if (!read) ep_release(*bytes), *bytes = NULL;
  EP_CHECK(read, EP_ERR_NOMEM, "no memory for an archive of %zu bytes", *size);
  return EP_OK;
}
