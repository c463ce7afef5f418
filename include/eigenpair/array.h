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

ptrdiff_t ep_array_count(const ep_array *a); /* product of the shape */
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

/* .npz: open, add, commit; or read by name. */
typedef struct ep_npz ep_npz; /* opaque; owned by the caller until ep_npz_close */
ep_status ep_npz_create(ep_npz **out, const char *path);
/* The data must stay in place until ep_npz_commit. A 1 x n matrix with `vector` set is written 1-d. */
ep_status ep_npz_add_matrix(ep_npz *z, const char *name, const ep_mat *A, bool vector);
ep_status ep_npz_commit(ep_npz *z); /* writes the file; z still wants ep_npz_close */

ep_status ep_npz_open(ep_npz **out, const char *path);
ep_status ep_npz_get(ep_array *a, ep_npz *z, const char *name); /* any dtype above */
void ep_npz_close(ep_npz *z); /* NULL is fine; an uncommitted new file leaves nothing behind */

EP_END
