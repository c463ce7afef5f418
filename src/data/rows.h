#pragma once
/* Rows of a data set wherever they are: in memory, in a file, in several (shards). They are read when they are asked for,
 * so that there may be more of them than fit in memory. */
#include <eigenpair/dataset.h>

typedef struct ep_rows ep_rows;

/* What --data names; *labels (for ep_labels_free) is NULL where there are none. `table` is what a model learnt on its own
 * table (columns, means, scales, categories), NULL: learn it here. */
ep_status ep_rows_open(ep_rows **out, int **labels, const ep_data_config *config,
                       const ep_run_config *run, const json_t *table);
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
/* taken over; of ep_alloc; NULL: the first so many */
void ep_rows_draw(ep_rows *rows, ptrdiff_t *drawn, ptrdiff_t count);
void ep_rows_set_plain(ep_rows *rows); /* bytes are read as 0 .. 255, not as pixels */
void ep_rows_set_shape(ep_rows *rows, ep_image_shape shape);
/* What the rows were as a table (data/table.h), taken over but for X and the labels. */
struct ep_table;
void ep_rows_set_table(ep_rows *rows, const struct ep_table *table);
void ep_rows_set_classes(ep_rows *rows,
                         json_t *classes); /* names of labels, taken over; NULL: none */
/* From now on every column is read as (x - mean) / deviation, of these rows themselves or of a plan. */
ep_status ep_rows_standardise(ep_rows *rows);
ep_status ep_rows_scale_as(ep_rows *rows, const json_t *plan, const char *name);
/* Some of the rows, evenly spread over all, the rows' own. */
ep_status ep_rows_sample(const ep_mat **out, ep_rows *rows);
void ep_rows_free(ep_rows *rows); /* NULL is fine */
/* Under several ranks: is it the same data for all of them? By its shape and 64 rows that are spread over it. */
ep_status ep_rows_same(const ep_rows *rows, const char *name);

ptrdiff_t ep_rows_count(const ep_rows *rows);
ep_dtype ep_rows_dtype(const ep_rows *rows);        /* of the first file */
ptrdiff_t ep_rows_length(const ep_rows *rows);      /* numbers a row */
ptrdiff_t ep_rows_part(const ep_rows *rows, int i); /* rows of the i-th file */
ep_image_shape ep_rows_shape(const ep_rows *rows);
const json_t *ep_rows_table(const ep_rows *rows);   /* NULL: no table, no scale */
const json_t *ep_rows_classes(const ep_rows *rows); /* names of the labels; NULL: numbers */
const double *ep_rows_spread(const ep_rows *rows);  /* NULL: none is known */
const int *ep_rows_group(const ep_rows *rows);      /* NULL: every column by itself */
/* *out (count, columns of the plan), of ep_alloc: cells that were filled in; NULL: none was */
ep_status ep_rows_missing(bool **out, const ep_rows *rows);

/* X (n x D) = rows index[0 .. n-1], or from `first` on where index is NULL; pixels in [0, 1]. Fails on values that are
 * not finite, naming the place. Any number of threads may read at once. */
ep_status ep_rows_read(const ep_mat *X, const ep_rows *rows, const ptrdiff_t *index,
                       ptrdiff_t first);
