/* Rows of a data set: parts one below the other, each in memory or a file that is read where it stands. */
#include "data/rows.h"

#include "core/crew.h"
#include "core/hash.h"
#include "core/mem.h"
#include "core/threads.h"
#include "data/npz_place.h"
#include "data/parse.h"
#include "data/table.h"

#include <eigenpair/comm.h>
#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `array.data` is NULL for a file: its values begin at `offset` */
typedef struct {
  ep_array array;
  ep_mat matrix; /* in the place of an array: made-up data */
  int file;      /* -1: in memory */
  int channels;  /* > 0: pixels have their channels last, and are read channel by channel */
  off_t offset;
  ptrdiff_t first, rows; /* of all rows */
  char name[1024];
} part;

struct ep_rows {
  int parts;
  part *part;
  ptrdiff_t count, length; /* as drawn; numbers a row */
  ptrdiff_t *drawn;        /* (count) which rows of all; NULL: all of them, in order */
  ep_image_shape shape;
  bool plain; /* bytes are numbers, not pixels */
  json_t *table, *classes;
  double *spread, *mean, *inverse; /* (length) or NULL; x is read as (x - mean) inverse */
  int *group;
  bool *missing; /* (all rows, columns of the table) or NULL */
  ep_mat sample;
};

ptrdiff_t ep_rows_count(const ep_rows *r) { return r->count; }
ptrdiff_t ep_rows_length(const ep_rows *r) { return r->length; }
ptrdiff_t ep_rows_part(const ep_rows *r, int i) { return r->part[i].rows; }
ep_image_shape ep_rows_shape(const ep_rows *r) { return r->shape; }
const json_t *ep_rows_table(const ep_rows *r) { return r->table; }
const json_t *ep_rows_classes(const ep_rows *r) { return r->classes; }
const double *ep_rows_spread(const ep_rows *r) { return r->spread; }
const int *ep_rows_group(const ep_rows *r) { return r->group; }

void ep_rows_free(ep_rows *r) {
  if (!r) return;
  for (int i = 0; i < r->parts; i++) {
    ep_array_free(&r->part[i].array);
    ep_mat_free(&r->part[i].matrix);
    if (r->part[i].file >= 0) close(r->part[i].file);
  }
  ep_release(r->part);
  ep_release(r->drawn);
  ep_release(r->spread);
  ep_release(r->group);
  ep_release(r->missing);
  ep_mat_free(&r->sample);
  ep_release(r->mean);
  ep_release(r->inverse);
  json_decref(r->table);
  json_decref(r->classes);
  ep_release(r);
}

static ep_status new_rows(ep_rows **out, int parts) {
  ep_rows *r = ep_alloc(1, sizeof *r);
  *out = r;
  EP_CHECK(r, EP_ERR_NOMEM, "no memory for a data set");
  r->part = ep_alloc(parts, sizeof *r->part);
  if (!r->part) {
    ep_release(r);
    *out = NULL;
    return EP_FAIL(EP_ERR_NOMEM, "no memory for %d files", parts);
  }
  r->parts = parts;
  for (int i = 0; i < parts; i++) r->part[i].file = -1;
  return EP_OK;
}

/* ---- opening */

/* Files below this are read whole: it is faster, and they fit. */
static const double large = 1e6;

/* A large regular file; *file -1: it is none, or whoever reads it tells what is wrong. */
static ep_status open_large(int *file, size_t *size, const char *path) {
  struct stat info;
  *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  EP_CHECK(*file >= 0 || errno != EMFILE, EP_ERR_IO,
           "%s: too many files are open at once; raise the limit (ulimit -n)", path);
  if (*file < 0) return EP_OK;
  if (fstat(*file, &info) || !S_ISREG(info.st_mode) || (double)info.st_size < large) {
    close(*file);
    *file = -1;
    return EP_OK;
  }
  *size = (size_t)info.st_size;
  return EP_OK;
}

/* The header of a .npy that begins at `at` and has `all` bytes; *stays: its values can be read in their place. */
static ep_status read_head(part *p, bool *stays, int file, uint64_t at, size_t all,
                           const char *name) {
  enum { HEAD = 70000 };
  size_t offset = 0;
  ep_status st = EP_OK;
  unsigned char *head = ep_alloc(HEAD, 1);
  EP_CHECK(head, EP_ERR_NOMEM, "no memory to open %s", name);
  const ssize_t n = pread(file, head, all < HEAD ? all : HEAD, (off_t)at);
  if (n >= 6 && memcmp(head, "\x93NUMPY", 6) == 0)
    st = ep_parse_npy_header(&p->array, &offset, stays, head, (size_t)n, all, name);
  if (st) *stays = false;
  ep_release(head);
  p->offset = (off_t)(at + offset);
  return st;
}

/* the same of an archive's array, if it is stored there as it is */
static ep_status read_archive(part *p, bool *stays, int file, size_t all, const char *path,
                              const char *member) {
  char name[1280];
  uint64_t at, size;
  ep_npz *z;
  bool stored;
  EP_TRY(ep_npz_open(&z, path));
  ep_status st = ep_npz_place(&at, &size, &stored, name, z, member, file, all);
  ep_npz_close(z);
  if (!st && stored) st = read_head(p, stays, file, at, (size_t)size, name);
  return st;
}

/* A large .npy stays where it is, alone or in an archive; *stays false: read it another way. */
static ep_status open_npy(part *p, bool *stays) {
  char path[sizeof p->name];
  unsigned char start[4];
  int file;
  size_t size;
  const char *member = ep_path_split(path, sizeof path, p->name);
  *stays = false;
  EP_TRY(open_large(&file, &size, path));
  if (file < 0) return EP_OK;
  const ssize_t n = pread(file, start, sizeof start, 0);
  const bool zip = n > 0 && ep_bytes_are_zip(start, (size_t)n);
  const ep_status st = zip || member ? read_archive(p, stays, file, size, path, member)
                                     : read_head(p, stays, file, 0, size, path);
  if (*stays) p->file = file;
  else close(file);
  return st;
}

static ep_status open_part(part *p, const char *path) {
  bool stays;
  EP_CHECK(strlen(path) < sizeof p->name, EP_ERR_INPUT, "path is too long: %.80s...", path);
  snprintf(p->name, sizeof p->name, "%s", path);
  EP_TRY(open_npy(p, &stays));
  if (!stays) EP_TRY(ep_array_read(&p->array, path));
  EP_CHECK(p->array.ndim >= 1 && ep_array_count(&p->array) > 0, EP_ERR_INPUT, "%s: holds no points",
           path);
  p->rows = p->array.shape[0];
  return EP_OK;
}

/* how the parts lie below each other */
static ep_status arrange(ep_rows *r) {
  const part *a = &r->part[0];
  r->length = a->matrix.data ? a->matrix.cols : ep_array_row_length(&a->array);
  if (!a->matrix.data) r->shape = ep_image_shape_of(&a->array);
  for (int i = 0; i < r->parts; i++) {
    part *p = &r->part[i];
    const ptrdiff_t length = p->matrix.data ? p->matrix.cols : ep_array_row_length(&p->array);
    EP_CHECK(length == r->length, EP_ERR_SHAPE, "%s has points of dimension %td, but %s of %td",
             p->name, length, a->name, r->length);
    p->channels = p->matrix.data ? 0 : ep_channels_last(&p->array);
    p->first = r->count;
    r->count += p->rows;
  }
  return EP_OK;
}

static ep_status open_parts(ep_rows *r, const char *const *paths) {
  for (int i = 0; i < r->parts; i++) EP_TRY(open_part(&r->part[i], paths[i]));
  return arrange(r);
}

ep_status ep_rows_stack(ep_rows **out, const char *const *paths, int count) {
  EP_TRY(new_rows(out, count));
  const ep_status st = open_parts(*out, paths);
  if (st) ep_rows_free(*out), *out = NULL;
  return st;
}

static ep_status of_parts(ep_rows **out, ep_array *a, ep_mat *X, const char *name) {
  EP_TRY(new_rows(out, 1));
  part *p = &(*out)->part[0];
  snprintf(p->name, sizeof p->name, "%s", name);
  if (a) p->array = *a, *a = (ep_array){.owner = NULL};
  if (X) p->matrix = *X, *X = (ep_mat){.data = NULL};
  p->rows = p->matrix.data ? p->matrix.rows : p->array.shape[0];
  const ep_status st = arrange(*out);
  if (st) ep_rows_free(*out), *out = NULL;
  return st;
}

ep_status ep_rows_of_array(ep_rows **out, ep_array *a, const char *name) {
  return of_parts(out, a, NULL, name);
}

ep_status ep_rows_of_matrix(ep_rows **out, ep_mat *X, const char *name) {
  return of_parts(out, NULL, X, name);
}

static ep_status lend(ep_rows *r, const ep_array *arrays, const char *const *names) {
  for (int i = 0; i < r->parts; i++) {
    part *p = &r->part[i];
    snprintf(p->name, sizeof p->name, "%s", names[i]);
    EP_CHECK(arrays[i].ndim >= 1 && ep_array_count(&arrays[i]) > 0, EP_ERR_INPUT,
             "%s: holds no points", p->name);
    p->array = arrays[i];
    p->array.owner = NULL;
    p->rows = p->array.shape[0];
  }
  return arrange(r);
}

ep_status ep_rows_lend(ep_rows **out, const ep_array *arrays, const char *const *names, int count) {
  EP_TRY(new_rows(out, count));
  const ep_status st = lend(*out, arrays, names);
  if (st) ep_rows_free(*out), *out = NULL;
  return st;
}

void ep_rows_draw(ep_rows *r, ptrdiff_t *drawn, ptrdiff_t count) {
  r->drawn = drawn;
  r->count = count;
}

ep_dtype ep_rows_dtype(const ep_rows *r) {
  const part *p = &r->part[0];
  return p->matrix.data ? p->matrix.prec == EP_SINGLE ? EP_F32 : EP_F64 : p->array.dtype;
}

void ep_rows_set_plain(ep_rows *r) { r->plain = true; }

void ep_rows_set_shape(ep_rows *r, ep_image_shape shape) { r->shape = shape; }

void ep_rows_set_table(ep_rows *r, const ep_table *t) {
  r->table = t->plan;
  r->spread = t->spread;
  r->group = t->group;
  r->missing = t->missing;
  ep_rows_set_classes(r, json_incref(json_object_get(t->plan, "classes")));
}

void ep_rows_set_classes(ep_rows *r, json_t *classes) {
  json_decref(r->classes);
  r->classes = classes;
}

/* ---- reading */

static const part *part_of(const ep_rows *r, ptrdiff_t row) {
  int low = 0, high = r->parts - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (r->part[middle].first <= row) low = middle;
    else high = middle - 1;
  }
  return &r->part[low];
}

/* all of it, however often the system stops on the way */
static bool read_bytes(unsigned char *to, const part *p, size_t bytes, off_t at) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pread(p->file, to + done, bytes - done, at + (off_t)done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

typedef enum { FINE, NOT_FINITE, NOT_READ } trouble;

/* x_(pixel, channel) -> x_(channel, pixel); `scratch` holds a row */
static void channels_first(const ep_mat *X, ptrdiff_t i, int channels, double *scratch) {
  const ptrdiff_t pixels = X->cols / channels;
  for (ptrdiff_t p = 0; p < pixels; p++)
    for (ptrdiff_t c = 0; c < channels; c++)
      scratch[c * pixels + p] = ep_get(X, i, p * channels + c);
  for (ptrdiff_t j = 0; j < X->cols; j++) ep_set(X, i, j, scratch[j]);
}

/* row i of X = row `row` of all; `bytes` is scratch of a row */
static trouble read_row(const ep_mat *X, ptrdiff_t i, const ep_rows *r, ptrdiff_t row,
                        unsigned char *bytes) {
  const part *p = part_of(r, row);
  const ptrdiff_t at = row - p->first;
  if (p->matrix.data) {
    const ep_mat to = ep_mat_rows(X, i, 1), from = ep_mat_rows(&p->matrix, at, 1);
    ep_mat_copy(&to, &from);
    return FINE;
  }
  const size_t length = (size_t)r->length * ep_dtype_size(p->array.dtype);
  const unsigned char *in = p->array.data ? p->array.data + (size_t)at * length : NULL;
  if (p->file >= 0) {
    if (!read_bytes(bytes, p, length, p->offset + (off_t)((size_t)at * length))) return NOT_READ;
    in = bytes;
  }
  const double factor = p->array.dtype == EP_U8 && !r->plain ? 1 / 255. : 1;
  const trouble t = ep_array_convert(X, i, in, p->array.dtype, factor) == 0 ? FINE : NOT_FINITE;
  if (p->channels > 1) channels_first(X, i, p->channels, (double *)bytes);
  return t;
}

/* which of all rows is the i-th of those drawn */
static ptrdiff_t row_of(const ep_rows *r, ptrdiff_t i) { return r->drawn ? r->drawn[i] : i; }

ep_status ep_rows_missing(bool **out, const ep_rows *r) {
  const ptrdiff_t columns = (ptrdiff_t)json_array_size(json_object_get(r->table, "columns"));
  *out = NULL;
  if (!r->missing) return EP_OK;
  *out = ep_alloc(r->count * columns, sizeof **out);
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for what is missing in %td rows", r->count);
  for (ptrdiff_t i = 0; i < r->count; i++)
    memcpy(*out + i * columns, r->missing + row_of(r, i) * columns, (size_t)columns * sizeof **out);
  return EP_OK;
}

/* says what is wrong with a row; its values as they stand in the file, in double */
static ep_status complain(const ep_mat *row_in_double, const ep_rows *r, ptrdiff_t row,
                          trouble what, ep_precision prec, unsigned char *bytes) {
  const part *p = part_of(r, row);
  const ptrdiff_t place = row - p->first;
  ptrdiff_t j = 0;
  EP_CHECK(what != NOT_READ, EP_ERR_IO, "%s: row %td cannot be read: %s", p->name, place + 1,
           errno ? strerror(errno) : "the file was cut short");
  read_row(row_in_double, 0, r, row, bytes);
  const double most = prec == EP_SINGLE ? FLT_MAX : DBL_MAX;
  while (j + 1 < row_in_double->cols && fabs(*ep_d(row_in_double, 0, j)) <= most) j++;
  return ep_array_not_finite(p->name, place, j, *ep_d(row_in_double, 0, j), prec);
}

/* loops over rows of X */
typedef struct {
  const ep_mat *X;
  const ep_rows *r;
  const ptrdiff_t *index;
  ptrdiff_t first;
  unsigned char *bytes; /* a row a thread */
  pthread_mutex_t lock; /* of what follows: the first row in trouble, */
  ptrdiff_t bad;        /* X->rows: none; */
  trouble kind;
  int error; /* errno there */
} rows_loop;

static ptrdiff_t row_asked(const rows_loop *l, ptrdiff_t i) {
  return row_of(l->r, l->index ? l->index[i] : l->first + i);
}

static void note_trouble(rows_loop *l, ptrdiff_t i, trouble kind, int error) {
  pthread_mutex_lock(&l->lock);
  if (i < l->bad) l->bad = i, l->kind = kind, l->error = error;
  pthread_mutex_unlock(&l->lock);
}

static void read_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  rows_loop *l = of;
  unsigned char *mine = l->bytes + ep_crew_thread() * l->r->length * (ptrdiff_t)sizeof(double);
  errno = 0;
  for (ptrdiff_t i = first; i < end; i++) {
    const trouble t = read_row(l->X, i, l->r, row_asked(l, i), mine);
    if (t != FINE) note_trouble(l, i, t, errno);
  }
}

static ep_status read_all(ep_work *work, const ep_mat *X, const ep_rows *r, const ptrdiff_t *index,
                          ptrdiff_t first) {
  const ptrdiff_t row_bytes = r->length * (ptrdiff_t)sizeof(double);
  rows_loop l = {.X = X,
                 .r = r,
                 .index = index,
                 .first = first,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .bad = X->rows};
  ep_mat one;
  EP_TRY(ep_work_get(work, &l.bytes, row_bytes * ep_run_threads(), 1));
  ep_crew_rows(X, read_rows, &l);
  if (l.bad == X->rows) return EP_OK;
  EP_TRY(ep_work_mat(work, &one, EP_DOUBLE, 1, X->cols));
  errno = l.error;
  return complain(&one, r, row_asked(&l, l.bad), l.kind, X->prec, l.bytes);
}

/* x <- (x - mean) / deviation */
static void scale_rows(void *of, ptrdiff_t first, ptrdiff_t end) {
  const rows_loop *l = of;
  const ep_rows *r = l->r;
  for (ptrdiff_t i = first; i < end; i++)
    for (ptrdiff_t j = 0; j < l->X->cols; j++)
      ep_set(l->X, i, j, (ep_get(l->X, i, j) - r->mean[j]) * r->inverse[j]);
}

static void scale(const ep_mat *X, const ep_rows *r) {
  ep_crew_rows(X, scale_rows, &(rows_loop){.X = X, .r = r});
}

ep_status ep_rows_read(const ep_mat *X, const ep_rows *r, const ptrdiff_t *index, ptrdiff_t first) {
  EP_CHECK(X->cols == r->length, EP_ERR_SHAPE, "points have %td numbers, %td were asked for",
           r->length, X->cols);
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    const ptrdiff_t asked = index ? index[i] : first + i;
    EP_CHECK(asked >= 0 && asked < r->count, EP_ERR_ARG, "row %td of %td was asked for", asked,
             r->count);
  }
  ep_work work = {0};
  const ep_status st = read_all(&work, X, r, index, first);
  ep_work_free(&work);
  if (!st && r->mean) scale(X, r);
  return st;
}

/* ---- ranks */

static ep_status print_of(uint64_t *print, ep_work *work, const ep_rows *r) {
  enum { ROWS = 64 };
  const ptrdiff_t n = r->count, count = n < ROWS ? n : ROWS, shape[] = {n, r->length};
  ptrdiff_t index[ROWS];
  ep_mat X;
  *print = ep_hash(EP_HASH_START, shape, sizeof shape);
  for (ptrdiff_t i = 0; i < count; i++) index[i] = count > 1 ? i * (n - 1) / (count - 1) : 0;
  EP_TRY(ep_work_mat(work, &X, EP_DOUBLE, count, r->length));
  EP_TRY(ep_rows_read(&X, r, index, 0));
  for (ptrdiff_t i = 0; i < count; i++)
    *print = ep_hash(*print, ep_d(&X, i, 0), (size_t)r->length * sizeof(double));
  return EP_OK;
}

ep_status ep_rows_same(const ep_rows *r, const char *name) {
  ep_work work = {0};
  uint64_t print = 0;
  if (ep_comm_size() == 1) return EP_OK;
  ep_status st = print_of(&print, &work, r);
  ep_work_free(&work);
  return st ? st : ep_comm_same(print, name);
}

/* ---- scales of columns */

/* mean_j and deviation_j of all rows, a block at a time, in two passes */
static ep_status moments(ep_work *work, double *mean, double *deviation, const ep_rows *r) {
  enum { BLOCK = 1024 };
  ep_mat buffer;
  const ptrdiff_t n = r->count;
  EP_TRY(ep_work_mat(work, &buffer, EP_DOUBLE, n < BLOCK ? n : BLOCK, r->length));
  for (int pass = 0; pass < 2; pass++)
    for (ptrdiff_t i = 0; i < n; i += buffer.rows) {
      const ep_mat x = ep_mat_rows(&buffer, 0, n - i < buffer.rows ? n - i : buffer.rows);
      EP_TRY(ep_rows_read(&x, r, NULL, i));
      for (ptrdiff_t k = 0; k < x.rows; k++)
        for (ptrdiff_t j = 0; j < x.cols; j++) {
          const double v = *ep_d(&x, k, j);
          if (pass) deviation[j] += (v - mean[j]) * (v - mean[j]) / (double)n;
          else mean[j] += v / (double)n;
        }
    }
  for (ptrdiff_t j = 0; j < r->length; j++) deviation[j] = sqrt(deviation[j]);
  return EP_OK;
}

static ep_status learn_scales(ep_work *work, ep_rows *r) {
  double *mean, *deviation;
  EP_TRY(ep_work_get(work, &mean, r->length, sizeof *mean));
  EP_TRY(ep_work_get(work, &deviation, r->length, sizeof *deviation));
  EP_TRY(moments(work, mean, deviation, r));
  json_t *plan = ep_plan_of_columns(mean, deviation, r->length);
  EP_CHECK(plan, EP_ERR_NOMEM, "no memory for the scales of %td columns", r->length);
  const ep_status st = ep_rows_scale_as(r, plan, r->part[0].name);
  json_decref(plan);
  return st;
}

ep_status ep_rows_standardise(ep_rows *r) {
  ep_work work = {0};
  const ep_status st = learn_scales(&work, r);
  ep_work_free(&work);
  return st;
}

ep_status ep_rows_scale_as(ep_rows *r, const json_t *plan, const char *name) {
  double *mean = ep_alloc(r->length, sizeof *mean);
  double *inverse = ep_alloc(r->length, sizeof *inverse);
  const bool memory = mean && inverse,
             fits = memory && ep_plan_scales(mean, inverse, r->length, plan);
  if (!fits) {
    ep_release(mean);
    ep_release(inverse);
    EP_CHECK(memory, EP_ERR_NOMEM, "no memory for the scales of %td columns", r->length);
    return EP_FAIL(EP_ERR_SHAPE,
                   "%s: the model was made from a table with %zu columns; give it a table with "
                   "these columns (CSV)",
                   name, json_array_size(json_object_get(plan, "columns")));
  }
  r->mean = mean;
  r->inverse = inverse;
  return ep_json_copy(&r->table, plan);
}

static ep_status read_sample(ep_work *work, ep_rows *r, ptrdiff_t m) {
  ptrdiff_t *index;
  EP_TRY(ep_work_get(work, &index, m, sizeof *index));
  for (ptrdiff_t i = 0; i < m; i++)
    index[i] = (ptrdiff_t)((double)i * (double)r->count / (double)m);
  EP_TRY(ep_mat_new(&r->sample, EP_DOUBLE, m, r->length));
  return ep_rows_read(&r->sample, r, index, 0);
}

ep_status ep_rows_sample(const ep_mat **out, ep_rows *r) {
  const double most = fmax(16, 1e6 / (double)r->length);
  ep_work work = {0};
  const ep_status st = read_sample(&work, r, (double)r->count < most ? r->count : (ptrdiff_t)most);
  ep_work_free(&work);
  *out = &r->sample;
  return st;
}
