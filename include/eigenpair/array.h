#pragma once
/* Arrays as they stand in files: .npy, .npz, IDX, CIFAR-10, CSV; and matrices made of them. */
#include <eigenpair/matrix.h>
#include <stdbool.h>
#include <stdint.h>

EP_BEGIN

typedef enum { EP_U8, EP_I32, EP_I64, EP_F32, EP_F64 } ep_dtype;
enum { EP_MAX_DIMS = 8 };

/* Values in C order. `data` lies inside `owner`, perhaps unaligned: read it with ep_array_value. */
typedef struct {
  ep_dtype dtype;
  int ndim;
  ptrdiff_t shape[EP_MAX_DIMS];
  const unsigned char *data;
  void *owner; /* NULL: data is the caller's */
} ep_array;

ptrdiff_t ep_array_count(const ep_array *a);      /* product of the shape */
ptrdiff_t ep_array_row_length(const ep_array *a); /* count / shape[0]; 1 for a vector */
double ep_array_value(const ep_array *a, ptrdiff_t i);
void ep_array_free(ep_array *a);

/* Reads a file of any known format, told by its content, not by its name: IDX (plain or gzipped),
 * .npy, .npz (its only array, or `path.npz:name`), CIFAR-10 binary (images; shape (n, 3, 32, 32)),
 * CSV (with or without a header line, first the numbers' separator found: comma, semicolon, tab or
 * blank; gives a float64 array (n, d)). */
ep_status ep_array_read(ep_array *a, const char *path);
/* Labels: a vector of whole numbers, from an IDX1 file, a .npy or .npz vector, a one-column CSV, or the
 * label bytes of a CIFAR-10 binary. *labels is for ep_labels_free. */
ep_status ep_labels_read(int **labels, ptrdiff_t *n, const char *path);
void ep_labels_free(int *labels);

/* X = rows[0..n) of the array (rows NULL: the first n), each flattened, times `factor`. Fails on NaN and
 * on infinite values, naming the place. X is made by ep_mat_new and is the caller's. */
ep_status ep_array_to_matrix(ep_mat *X, const ep_array *a, const ptrdiff_t *rows, ptrdiff_t n,
                             double factor, ep_precision prec, const char *name);

/* Writers: the file appears whole or not at all. */
ep_status ep_npy_write(const char *path, const ep_mat *A); /* '<f4' or '<f8', 2-d, version 1 */
ep_status ep_npy_write_labels(const char *path, const int *labels, ptrdiff_t n); /* '<i4' */
ep_status ep_npy_write_indices(const char *path, const ptrdiff_t *index, ptrdiff_t rows,
                               ptrdiff_t cols); /* '<i8', 2-d */
/* Bytes as IDX with the given shape, gzipped if the path ends in .gz. */
ep_status ep_idx_write(const char *path, const uint8_t *data, int ndim, const ptrdiff_t *shape);

/* A .npy file that is written in place, for results larger than memory. Its space is reserved at once; the file
 * appears under its name with ep_npy_map_commit. */
typedef struct ep_npy_map ep_npy_map; /* opaque; owned by the caller until ep_npy_map_close */
ep_status ep_npy_map_create(ep_npy_map **out, const char *path, ep_precision prec, int ndim,
                            const ptrdiff_t *shape);
void *ep_npy_map_data(ep_npy_map *map); /* the values, all zero at first */
void ep_npy_map_rest(
    ep_npy_map *map); /* what was written so far leaves the program's memory for the file's cache */
ep_status ep_npy_map_commit(ep_npy_map *map);
void ep_npy_map_close(ep_npy_map *map); /* NULL is fine; without a commit nothing is left behind */

/* .npz: open, add, commit; or read by name. */
typedef struct ep_npz ep_npz; /* opaque; owned by the caller until ep_npz_close */
ep_status ep_npz_create(ep_npz **out, const char *path);
/* The data must stay in place until ep_npz_commit. A 1 x n matrix with `vector` set is written 1-d. */
ep_status ep_npz_add_matrix(ep_npz *z, const char *name, const ep_mat *A, bool vector);
/* A JSON text as a 0-d NumPy string array ('<U..'), so that numpy.load(..)['config'].item() gives it. */
ep_status ep_npz_add_text(ep_npz *z, const char *name, const char *text);
ep_status ep_npz_commit(ep_npz *z); /* writes the file; z still wants ep_npz_close */

ep_status ep_npz_open(ep_npz **out, const char *path);
bool ep_npz_has(const ep_npz *z, const char *name);
bool ep_npz_name(char name[128], const ep_npz *z,
                 int i); /* of the i-th array; false past the last */
ep_status ep_npz_get(ep_array *a, ep_npz *z, const char *name); /* any dtype above */
/* Type and shape without the values; nothing to free. */
ep_status ep_npz_shape(ep_array *a, ep_npz *z, const char *name);
ep_status ep_npz_get_text(char **text, ep_npz *z,
                          const char *name); /* for ep_labels-style free: ep_npz_text_free */
void ep_npz_text_free(char *text);
void ep_npz_close(ep_npz *z); /* NULL is fine; an uncommitted new file leaves nothing behind */

EP_END
