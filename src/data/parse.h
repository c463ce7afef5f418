#pragma once
/* Parsers of bytes in memory, one a format; what the fuzzers call. On success the array's data points
 * into `bytes` (no copy, owner NULL) unless the comment says otherwise. `name` is for messages. */
#include <eigenpair/array.h>
#include <eigenpair/augment.h>
#include <eigenpair/json.h>
#include <locale.h>

ep_status ep_parse_npy(ep_array *a, const unsigned char *bytes, size_t size, const char *name);
/* The same from the beginning of a file of `all` bytes: everything but the data, which begin at *offset; *in_place: they are
 * in C order and of the array's type, where ep_parse_npy makes a copy otherwise, which the array then owns. */
ep_status ep_parse_npy_header(ep_array *a, size_t *offset, bool *in_place,
                              const unsigned char *bytes, size_t size, size_t all,
                              const char *name);
/* A NumPy string array of one entry ('<U' or '|S', 0-d or 1-d of length 1) as UTF-8; for ep_release. */
ep_status ep_parse_npy_text(char **text, const unsigned char *bytes, size_t size, const char *name);
/* Values of more than one byte are turned round into a copy, which the array then owns. */
ep_status ep_parse_idx(ep_array *a, const unsigned char *bytes, size_t size, const char *name);
ep_status ep_parse_csv(ep_array *a, const unsigned char *bytes, size_t size,
                       const char *name); /* owns */
/* Text was read as far as `at` of `all` bytes: is it to stop? *looked is where that was asked last. */
ep_status ep_parse_step(size_t *looked, size_t at, size_t all);
/* path.npz:name -> path.npz in `file`, and name; NULL: no such name, or a file is really called so */
const char *ep_path_split(char *file, size_t room, const char *path);
bool ep_bytes_are_zip(const unsigned char *bytes, size_t size);
bool ep_bytes_are_text(const unsigned char *bytes, size_t size); /* no control characters */
/* One number, blanks around it or not. Between begin and end strtod reads a point, whatever the user's locale. */
bool ep_parse_number(double *out, const char *text, size_t size);
typedef struct {
  locale_t plain, before;
} ep_plain_numbers;
ep_status ep_plain_numbers_begin(ep_plain_numbers *n);
void ep_plain_numbers_end(ep_plain_numbers *n);
/* n records of 1 label byte and 3072 pixel bytes; images and labels come out as two arrays; owns.
 * Either may be NULL. */
ep_status ep_parse_cifar(ep_array *images, ep_array *labels, const unsigned char *bytes,
                         size_t size, const char *name);
/* A PNG or JPEG picture: (H, W, C) bytes, C = 1 (grey) or 3 (RGB); owns. What is damaged is refused. */
ep_status ep_parse_picture(ep_array *a, const unsigned char *bytes, size_t size, const char *name);
bool ep_picture_magic(const unsigned char *bytes, size_t size);
bool ep_picture_name(const char *path); /* .png, .jpg, .jpeg */
/* out (C, H, W): the largest central box of that shape, resampled. */
ep_status ep_picture_fit(unsigned char *out, const ep_array *picture, ep_image_shape to);
/* The pictures of a folder as (n, C, H, W) bytes in the order of their names; its sub-folders are labels, by their names
 * (none: NULL).
 * `image`: HxW or CxHxW; empty: the first picture's, sides of 64 at most. What cannot be read is skipped with a note. */
ep_status ep_images_read(ep_array *a, int **labels, json_t **classes, const char *folder,
                         const char *image, bool strict);
/* Any of the above (not .npz, no pictures) by content. */
ep_status ep_parse_any(ep_array *a, const unsigned char *bytes, size_t size, const char *name);

/* ---- what the formats share */
/* Row i of X = factor times the values at `in`; 0, or NaN if one of them is not finite then. */
double ep_array_convert(const ep_mat *X, ptrdiff_t i, const unsigned char *in, ep_dtype dtype,
                        double factor);
/* The error for such a value x; row and column count from 0. */
ep_status ep_array_not_finite(const char *name, ptrdiff_t row, ptrdiff_t column, double x,
                              ep_precision prec);
size_t ep_dtype_size(ep_dtype t);
/* item x product of the shape; false if a size is negative or the product of the others than zero
 * overflows. */
bool ep_shape_bytes(size_t *bytes, const ptrdiff_t *shape, int ndim, size_t item);
/* "HxW" or "CxHxW" for points of that dimension; the shape that (n, h, w) and (n, c, h, w) have by themselves. */
ep_status ep_image_shape_parse(ep_image_shape *shape, const char *text, ptrdiff_t dimension);
ep_image_shape ep_image_shape_of(const ep_array *a);
int ep_channels_last(const ep_array *a); /* channels of (n, h, w, c) images; 0: they are not so */

/* Does it begin as IDX does; and is it also exactly as long as its sizes say? */
bool ep_idx_magic(const unsigned char *bytes, size_t size);
bool ep_idx_fits(const unsigned char *bytes, size_t size);
bool ep_cifar_fits(const unsigned char *bytes, size_t size); /* whole records, labels 0 to 9 */

/* The header of a version 1 file, padded to a multiple of 64; returns its length. */
enum { EP_NPY_HEADER = 384 };
size_t ep_npy_header(char out[EP_NPY_HEADER], const char *descr, int ndim, const ptrdiff_t *shape);
bool ep_npy_is_numeric(const unsigned char *bytes, size_t size); /* the beginning will do */

/* An archive in memory, which must stay in place until ep_npz_close. */
ep_status ep_npz_open_bytes(ep_npz **out, const unsigned char *bytes, size_t size,
                            const char *name);
/* An archive that is written into memory; *bytes is for ep_release, z still wants ep_npz_close. */
ep_status ep_npz_create_bytes(ep_npz **out);
ep_status ep_npz_commit_bytes(ep_npz *z, unsigned char **bytes, size_t *size);
/* The only numeric array, or else the one called X, or arr_0. */
ep_status ep_npz_get_only(ep_array *a, ep_npz *z);
