#pragma once
/* Rows of a data set wherever they are: in memory, in a file, in several (shards). They are read when they are asked for,
 * so that there may be more of them than fit in memory. */
#include <eigenpair/dataset.h>

typedef struct ep_rows ep_rows;

/* What --data names; *labels (for ep_labels_free) is NULL where there are none. */
ep_status ep_rows_open(ep_rows **out, int **labels, const ep_data_config *config,
                       const ep_run_config *run);
/* Files, one below the other, as they are: no drawing, no labels. */
ep_status ep_rows_stack(ep_rows **out, const char *const *paths, int count);
/* An array or a matrix in memory (taken over); then, if wanted, a part of it, and that rows are images. */
ep_status ep_rows_of_array(ep_rows **out, ep_array *a, const char *name);
ep_status ep_rows_of_matrix(ep_rows **out, ep_mat *X, const char *name);
/* Arrays that the caller lends, one below the other; they stay in place as long as the rows do. */
ep_status ep_rows_lend(ep_rows **out, const ep_array *arrays, const char *const *names, int count);
/* One array that the caller lends, in the place of --data: --samples and --image hold. */
ep_status ep_rows_open_array(ep_rows **out, const ep_array *X, const ep_data_config *config,
                             const ep_run_config *run);
void ep_rows_draw(ep_rows *rows, ptrdiff_t *drawn, ptrdiff_t count); /* taken over; of ep_alloc */
void ep_rows_set_shape(ep_rows *rows, ep_image_shape shape);
void ep_rows_free(ep_rows *rows); /* NULL is fine */

ptrdiff_t ep_rows_count(const ep_rows *rows);
ptrdiff_t ep_rows_length(const ep_rows *rows);      /* numbers a row */
ptrdiff_t ep_rows_part(const ep_rows *rows, int i); /* rows of the i-th file */
ep_image_shape ep_rows_shape(const ep_rows *rows);

/* X (n x D) = rows index[0 .. n-1], or from `first` on where index is NULL; pixels in [0, 1]. Fails on values that are
 * not finite, naming the place. Any number of threads may read at once. */
ep_status ep_rows_read(const ep_mat *X, const ep_rows *rows, const ptrdiff_t *index,
                       ptrdiff_t first);
