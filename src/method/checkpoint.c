/* Work in progress in an .npz: config (JSON), theta, history, and where the work is. */
#include "core/mem.h"
#include "method/methods.h"
#include "method/training.h"

#include <eigenpair/json.h>
#include <eigenpair/run.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATE = 4 }; /* epoch, batch, loss_sum, seconds */

void ep_checkpoint_path(char path[1100], const ep_setup *setup) {
  if (setup->files.checkpoint[0] || !setup->files.out[0])
    snprintf(path, 1100, "%s", setup->files.checkpoint);
  else snprintf(path, 1100, "%s.checkpoint.npz", setup->files.out);
}

/* taken once: the points do not change */
static ep_status fingerprint(char text[20], ep_training *t) {
  if (t->points_print == 0) EP_TRY(ep_points_fingerprint(&t->points_print, t->points));
  snprintf(text, 20, "%016" PRIx64, t->points_print ^ t->print);
  return EP_OK;
}

static ep_status write_all(ep_npz *file, ep_training *t, json_t *config) {
  const ep_history *h = &t->info->history;
  double state[STATE] = {(double)t->epoch, (double)t->batch, t->loss_sum, ep_training_seconds(t)};
  const ep_mat S = ep_mat_view(EP_DOUBLE, 1, STATE, state);
  const ep_mat H = ep_mat_view(EP_DOUBLE, h->rows, h->columns, h->value);
  char print[20];
  EP_TRY(fingerprint(print, t));
  EP_CHECK(json_object_set_new(config, "points", json_string(print)) == 0 &&
               json_object_set_new(config, "every", json_integer(t->setup->files.every)) == 0 &&
               json_object_set_new(config, "out", json_string(t->setup->files.out)) == 0 &&
               json_object_set_new(config, "history", json_string(t->setup->files.history)) == 0,
           EP_ERR_NOMEM, "no memory for the settings as JSON");
  char *text = ep_json_text(config, JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
  EP_CHECK(text, EP_ERR_NOMEM, "no memory for the settings as JSON");
  ep_status st = ep_npz_add_text(file, "config", text);
  free(text);
  if (!st) st = ep_npz_add_matrix(file, "theta", &t->state, true);
  if (!st) st = ep_npz_add_matrix(file, "history", &H, false);
  if (!st) st = ep_npz_add_matrix(file, "state", &S, true);
  return st ? st : ep_npz_commit(file);
}

ep_status ep_checkpoint_write(ep_training *t) {
  char path[1100];
  json_t *config;
  ep_npz *file;
  ep_checkpoint_path(path, t->setup);
  if (!path[0]) return EP_OK;
  EP_TRY(ep_setup_to_json(&config, t->setup));
  ep_status st = ep_npz_create(&file, path);
  if (!st) st = write_all(file, t, config);
  if (!st) t->info->saved = true;
  ep_npz_close(file);
  json_decref(config);
  return st;
}

/* ---- reading */

static ep_status get_matrix(ep_mat *out, ep_npz *file, const char *name, ep_precision prec,
                            const char *path) {
  ep_array a = {0};
  ep_status st = ep_npz_get(&a, file, name);
  const ptrdiff_t rows = a.ndim == 2 ? a.shape[0] : 1;
  if (!st && a.ndim == 1) a.ndim = 2, a.shape[1] = a.shape[0], a.shape[0] = 1;
  if (!st) st = ep_array_to_matrix(out, &a, NULL, rows, 1, prec, path);
  ep_array_free(&a);
  return st;
}

static ep_status read_config(json_t **config, ep_npz *file, const char *path) {
  EP_CHECK(ep_npz_has(file, "theta") && ep_npz_has(file, "state"), EP_ERR_INPUT,
           "%s: is not a checkpoint of a fit", path);
  return ep_npz_get_json(config, file, "config");
}

static ep_status take_weights(ep_training *t, ep_npz *file, const char *path) {
  ep_mat theta = {0};
  ep_status st = get_matrix(&theta, file, "theta", t->state.prec, path);
  if (!st && (theta.rows != 1 || theta.cols != t->state.cols))
    st = EP_FAIL(EP_ERR_SHAPE, "%s: %td x %td weights for a model of %td", path, theta.rows,
                 theta.cols, t->state.cols);
  if (!st) ep_mat_copy(&t->state, &theta);
  ep_mat_free(&theta);
  return st;
}

static ep_status take_history(ep_training *t, ep_npz *file, const char *path) {
  ep_mat H = {0};
  ep_status st = get_matrix(&H, file, "history", EP_DOUBLE, path);
  if (!st && H.cols != t->info->history.columns)
    st = EP_FAIL(EP_ERR_SHAPE, "%s: its history has %td columns, not %d", path, H.cols,
                 t->info->history.columns);
  for (ptrdiff_t r = 0; !st && r < H.rows; r++)
    st = ep_history_add(&t->info->history, ep_d(&H, r, 0));
  if (!st && H.rows) t->info->loss = *ep_d(&H, H.rows - 1, 1);
  ep_mat_free(&H);
  return st;
}

static ep_status take_state(ep_training *t, ep_npz *file, const char *path) {
  ep_mat S = {0};
  EP_TRY(get_matrix(&S, file, "state", EP_DOUBLE, path));
  const double *s = S.data;
  const bool good =
      S.rows == 1 && S.cols == STATE && s[0] >= 0 && s[0] < 1e10 && s[1] >= 0 && s[1] < 1e10;
  if (good) {
    t->epoch = (long)s[0];
    t->batch = (long)s[1];
    t->loss_sum = s[2];
    t->seconds = s[3];
  }
  ep_mat_free(&S);
  EP_CHECK(good, EP_ERR_INPUT, "%s: its state makes no sense", path);
  const ptrdiff_t rows = t->epoch + !ep_training_full_batch(t); /* batches record row 0 at once */
  EP_CHECK(t->info->history.rows == rows, EP_ERR_INPUT,
           "%s: its history has %td rows for %ld epochs", path, t->info->history.rows, t->epoch);
  return EP_OK;
}

static bool may_change(const char *name) {
  const ep_option *row = ep_setup_option(name);
  return row && row->resumed == EP_RESUMED_FREE;
}

static ep_status same_fit(ep_training *t, const json_t *then, const char *path) {
  json_t *now, *value;
  const char *name;
  char print[20];
  const json_t *points = json_object_get(then, "points");
  ep_status st = EP_OK;
  EP_TRY(ep_setup_to_json(&now, t->setup));
  json_object_foreach(now, name, value) {
    if (st || may_change(name) || json_equal(value, json_object_get(then, name))) continue;
    char flag[64];
    ep_options_flag(flag, name);
    st = EP_FAIL(EP_ERR_ARG, "--%s differs from the run in %s, which cannot be resumed with it",
                 flag, path);
  }
  json_decref(now);
  if (st) return st;
  EP_TRY(fingerprint(print, t));
  EP_CHECK(json_is_string(points) && strcmp(json_string_value(points), print) == 0, EP_ERR_INPUT,
           "%s: the data, or the weights in --init, are not those of the interrupted run", path);
  return EP_OK;
}

static ep_status read_all(ep_training *t, json_t **config, ep_npz *file, const char *path) {
  EP_TRY(read_config(config, file, path));
  EP_TRY(same_fit(t, *config, path));
  EP_TRY(take_weights(t, file, path));
  EP_TRY(take_history(t, file, path));
  return take_state(t, file, path);
}

ep_status ep_checkpoint_read(ep_training *t, const char *path) {
  json_t *config = NULL;
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  const ep_status st = read_all(t, &config, file, path);
  ep_npz_close(file);
  json_decref(config);
  return st;
}

ep_status ep_checkpoint_setup(ep_setup *setup, const char *path) {
  json_t *config = NULL;
  ep_npz *file;
  EP_TRY(ep_npz_open(&file, path));
  ep_status st = read_config(&config, file, path);
  if (!st) st = ep_setup_from_json(setup, config);
  if (!st && strlen(path) < sizeof setup->files.checkpoint)
    strcpy(setup->files.checkpoint, path); /* the resumed run saves where the first one did */
  ep_npz_close(file);
  json_decref(config);
  return st;
}
