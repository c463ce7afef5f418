#pragma once
#include "../../../include/eigenpair/array.h"

#include <eigenpair/json.h>

ptrdiff_t ep_array_row_length(const ep_array *a); /* count / shape[0]; 1 for a vector */

ep_status ep_npy_write_labels(const char *path, const int *labels, ptrdiff_t n); /* '<i4' */
ep_status ep_npy_write_bytes(const char *path, const unsigned char *bytes, int ndim,
                             const ptrdiff_t *shape); /* '|u1' */
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

/* A JSON text as a 0-d NumPy string array ('<U..'), so that numpy.load(..)['config'].item() gives it. */
ep_status ep_npz_add_text(ep_npz *z, const char *name, const char *text);

bool ep_npz_has(const ep_npz *z, const char *name);
bool ep_npz_name(char name[128], const ep_npz *z,
                 int i); /* of the i-th array; false past the last */
/* Type and shape without the values; nothing to free. */
ep_status ep_npz_shape(ep_array *a, ep_npz *z, const char *name);
ep_status ep_npz_get_text(char **text, ep_npz *z,
                          const char *name); /* for ep_labels-style free: ep_npz_text_free */
void ep_npz_text_free(char *text);
/* A text that is JSON; *out is the caller's. */
ep_status ep_npz_get_json(json_t **out, ep_npz *z, const char *name);
