/* Embeddings and their labels, as probe, neighbours and explore read them. */
#include "commands.h"

#include <string.h>
#include <sys/stat.h>

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

/* A file (or a member of an .npz) holds labels; anything else names a data set. */
static bool is_label_file(const char *name) {
  struct stat info;
  return stat(name, &info) == 0 ? !S_ISDIR(info.st_mode) : strstr(name, ".npz:") != NULL;
}

static ep_status labels_of_set(int **labels, ptrdiff_t *n, const char *name, long samples,
                               const ep_run_config *run) {
  static ep_data_config config;
  ep_dataset set;
  ep_options_default(ep_data_options, &config);
  snprintf(config.data, sizeof config.data, "%s", name);
  config.samples = samples;
  EP_TRY(ep_dataset_load(&set, &config, run));
  *n = set.X.rows;
  *labels = set.labels;
  set.labels = NULL;
  ep_dataset_free(&set);
  EP_CHECK(*labels, EP_ERR_INPUT, "%s has no labels", name);
  return EP_OK;
}

ep_status read_labels(int **labels, const char *name, long samples, const ep_mat *E,
                      const char *embedding, const ep_run_config *run) {
  ptrdiff_t n;
  EP_TRY(is_label_file(name) ? ep_labels_read(labels, &n, name)
                             : labels_of_set(labels, &n, name, samples, run));
  EP_CHECK(n == E->rows, EP_ERR_SHAPE, "%s: %td labels for the %td points of %s", name, n, E->rows,
           embedding);
  return EP_OK;
}
