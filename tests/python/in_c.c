/* in_c X.npy E K name=value ..: fits with these options, and writes as plain numbers the embedding of the points (E) and the
 * trace of the model's tangent kernel (K). What a user of the C library would write; test_bits.py holds Python against it. */
#include <eigenpair/eigenpair.h>
#include <stdio.h>
#include <string.h>

static ep_status set(ep_setup *setup, char *word) {
  ep_option_group groups[EP_SETUP_GROUPS + 1];
  char *value = strchr(word, '=');
  *value++ = 0;
  ep_setup_groups(groups, setup);
  for (const ep_option_group *g = groups; g->title; g++) {
    const ep_option *row = ep_options_find(g->table, word);
    if (row) return ep_options_set(row, g->config, value);
  }
  return EP_FAIL(EP_ERR_ARG, "no option %s", word);
}

static ep_status write(const char *path, const ep_mat *A) {
  FILE *file = fopen(path, "wb");
  const size_t count = (size_t)(A->rows * A->cols), size = A->prec == EP_SINGLE ? 4 : 8;
  EP_CHECK(file, EP_ERR_IO, "%s: cannot be written", path);
  const int whole = fwrite(A->data, size, count, file) == count;
  EP_CHECK(fclose(file) == 0 && whole, EP_ERR_IO, "%s: cannot be written", path);
  return EP_OK;
}

static ep_status results(char **paths, ep_run *run, const ep_model *model, const ep_mat *X) {
  ep_mat E, K;
  EP_TRY(ep_mat_new(&E, X->prec, X->rows, ep_model_outputs(model)));
  EP_TRY(ep_mat_new(&K, X->prec, X->rows, X->rows));
  EP_TRY(ep_model_embed(run, &E, model, X));
  EP_TRY(ep_ntk_empirical(run, &K, ep_model_net(model), X, NULL, EP_TRACE, 1e9));
  EP_TRY(write(paths[0], &E));
  EP_TRY(write(paths[1], &K));
  ep_mat_free(&E);
  ep_mat_free(&K);
  return EP_OK;
}

static ep_status work(int argc, char **argv) {
  static ep_setup setup;
  static char data[4096];
  ep_points points;
  ep_dataset rows;
  ep_model *model;
  ep_fit_info info;
  ep_run *run;
  ep_setup_default(&setup);
  snprintf(data, sizeof data, "data=%s", argv[1]);
  EP_TRY(set(&setup, data));
  for (int i = 4; i < argc; i++) EP_TRY(set(&setup, argv[i]));
  EP_TRY(ep_run_new(&run, &setup.run));
  EP_TRY(ep_points_load(run, &points, &setup.data, &setup.pair, "triplet", &setup.run));
  EP_TRY(ep_fit(run, &model, &info, &points, &setup));
  EP_TRY(ep_dataset_load(run, &rows, &setup.data, &setup.run));
  EP_TRY(results(argv + 2, run, model, &rows.X));
  ep_dataset_free(&rows);
  ep_model_free(model);
  ep_fit_info_free(&info);
  ep_points_free(&points);
  ep_run_free(run);
  return EP_OK;
}

int main(int argc, char **argv) {
  const ep_status st =
      argc < 4 ? EP_FAIL(EP_ERR_ARG, "in_c X.npy E K name=value ..") : work(argc, argv);
  if (st) fprintf(stderr, "%s\n", ep_last_error());
  return ep_status_exit(st);
}
