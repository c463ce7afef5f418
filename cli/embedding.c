/* Embeddings and their labels, as probe, neighbours and explore read them. */
#include "commands.h"
#include "core/hash.h"
#include "core/words.h"
#include "data/rows.h"
#include "data/table.h"

#include <eigenpair/comm.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* rows of files; in single precision where the run is, and the file is not */
static ep_status read_rows(const ep_mat *to, void *user, const ptrdiff_t *index, ptrdiff_t first) {
  const large_embedding *e = user;
  const ep_dtype type = ep_rows_dtype(e->rows);
  EP_TRY(ep_rows_read(to, e->rows, index, first));
  if (e->X.prec == EP_DOUBLE || type == EP_U8 || type == EP_F32) return EP_OK;
  for (ptrdiff_t i = 0; i < to->rows; i++)
    for (ptrdiff_t j = 0; j < to->cols; j++) *ep_d(to, i, j) = (double)(float)*ep_d(to, i, j);
  return EP_OK;
}

/* ranks: the same points for all of them */
static ep_status same_points(const ep_mat *X, const char *path) {
  uint64_t print = EP_HASH_START;
  if (ep_comm_size() == 1) return EP_OK;
  for (ptrdiff_t i = 0; i < X->rows; i++)
    print = ep_hash(print, ep_mat_rows(X, i, 1).data, (size_t)X->cols * ep_sizeof(X->prec));
  return ep_comm_same(print, path);
}

ep_status open_embedding(large_embedding *e, const char *path, bool own_precision,
                         const ep_run_config *run) {
  struct stat info;
  ep_rows *rows;
  const bool large = stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
                     (double)info.st_size > 0.25 * ep_run_memory_left(run);
  if (!large) {
    EP_TRY(read_embedding(&e->X, path, own_precision, run));
    return same_points(&e->X, path);
  }
  EP_TRY(ep_rows_stack(&rows, &path, 1));
  ep_rows_set_plain(rows);
  const ep_dtype type = ep_rows_dtype(rows);
  const ep_precision stored = type == EP_F32 || type == EP_U8 ? EP_SINGLE : EP_DOUBLE;
  const ptrdiff_t cols = ep_rows_length(rows);
  e->rows = rows;
  e->X = (ep_mat){.prec = own_precision ? ep_run_precision(run) : stored,
                  .rows = ep_rows_count(rows),
                  .cols = cols,
                  .ld = cols};
  e->reader = (ep_reader){.read = read_rows, .user = e};
  return ep_rows_same(rows, path);
}

ep_labelled embedding_points(large_embedding *e, const int *labels) {
  return (ep_labelled){&e->X, labels, e->rows ? &e->reader : NULL};
}

void close_embedding(large_embedding *e) {
  if (!e->rows) ep_mat_free(&e->X);
  ep_rows_free(e->rows);
  e->rows = NULL;
}

ep_status read_embedding(ep_mat *E, const char *path, bool own_precision,
                         const ep_run_config *run) {
  ep_array a;
  EP_TRY(ep_array_read(&a, path));
  const ep_precision stored = a.dtype == EP_F32 || a.dtype == EP_U8 ? EP_SINGLE : EP_DOUBLE;
  const ep_status st =
      a.ndim < 1 || ep_array_count(&a) == 0
          ? EP_FAIL(EP_ERR_INPUT, "%s: holds no points", path)
          : ep_array_to_matrix(E, &a, NULL, a.shape[0], 1,
                               own_precision ? ep_run_precision(run) : stored, path);
  ep_array_free(&a);
  return st;
}

/* A file (or a member of an .npz) holds labels; anything else names a data set, or a table. */
static bool is_label_file(const char *name, const ep_data_config *config) {
  struct stat info;
  if (config->label_column[0]) return false;
  return stat(name, &info) == 0 ? !S_ISDIR(info.st_mode) : strstr(name, ".npz:") != NULL;
}

static ep_status labels_of_set(int **labels, json_t **classes, ptrdiff_t *n, const char *name,
                               const ep_data_config *given, const ep_run_config *run) {
  static ep_data_config config;
  ep_dataset set;
  config = *given;
  config.labels[0] = '\0';
  snprintf(config.data, sizeof config.data, "%s", name);
  EP_TRY(ep_dataset_load(NULL, &set, &config, run));
  *n = set.X.rows;
  *labels = set.labels;
  json_t *own = set.classes;
  if (own && !*classes) *classes = json_incref(own);
  const ep_status st =
      own && own != *classes ? ep_labels_rename(*labels, *n, *classes, own) : EP_OK;
  set.labels = NULL;
  ep_dataset_free(&set);
  EP_TRY(st);
  EP_CHECK(*labels, EP_ERR_INPUT, "%s has no labels%s", name,
           strstr(name, ".csv") ? "; name their column with --label-column" : "");
  return EP_OK;
}

ep_status read_labels(int **labels, json_t **classes, const char *name,
                      const ep_data_config *config, const ep_mat *E, const char *embedding,
                      const ep_run_config *run) {
  ptrdiff_t n;
  EP_TRY(is_label_file(name, config) ? ep_table_labels(labels, classes, &n, name)
                                     : labels_of_set(labels, classes, &n, name, config, run));
  EP_CHECK(n == E->rows, EP_ERR_SHAPE, "%s: %td labels for the %td points of %s", name, n, E->rows,
           embedding);
  return EP_OK;
}

const char *label_name(char number[24], const json_t *classes, int label) {
  const char *name =
      json_string_value(json_array_get(classes, label < 0 ? SIZE_MAX : (size_t)label));
  snprintf(number, 24, "%d", label);
  return name && ep_word_printable(name) ? name : number;
}
