/* Data for one layer: points as they are, two augmented views of each, or ready pairs. */
#include <eigenpair/optima.h>
#include <stdio.h>
#include <string.h>

/* row n of Y is the anchor of n (view 0) or its positive number `view` */
static ep_status gather(ep_mat *Y, const ep_points *p, int view) {
  EP_TRY(ep_mat_new(Y, EP_DOUBLE, p->pairs.anchors, p->X.cols));
  for (ptrdiff_t n = 0; n < p->pairs.anchors; n++) {
    const ptrdiff_t at = view ? p->pairs.partner[p->pairs.start[n] + view - 1] : p->pairs.anchor[n];
    memcpy(ep_d(Y, n, 0), ep_d(&p->X, at, 0), (size_t)p->X.cols * sizeof(double));
  }
  return EP_OK;
}

/* two views of every point, drawn anew; the point itself is what Gaussian weights look at */
static ep_status augmented(ep_layer *out, const ep_data_config *data, const ep_pair_config *pairs,
                           const ep_run_config *run) {
  ep_points p;
  EP_TRY(ep_points_load(NULL, &p, data, pairs, "2+0", run));
  ep_status st = gather(&out->X0, &p, 0);
  if (!st) st = gather(&out->X, &p, 1);
  if (!st) st = gather(&out->X2, &p, 2);
  ep_points_free(&p);
  return st;
}

static ep_status ready(ep_layer *out, const ep_data_config *data, const ep_pair_config *pairs,
                       const ep_run_config *run) {
  ep_points p;
  EP_TRY(ep_points_load(NULL, &p, data, pairs, "positives", run));
  ep_status st = EP_OK;
  if (p.pairs.start[1] != 1) st = EP_FAIL(EP_ERR_ARG, "optima take one file of --positives");
  if (!st) st = gather(&out->X, &p, 0);
  if (!st) st = gather(&out->X2, &p, 1);
  ep_points_free(&p);
  return st;
}

static ep_status plain(ep_layer *out, const ep_data_config *data, const ep_run_config *run) {
  ep_dataset set;
  EP_TRY(ep_dataset_load(NULL, &set, data, run));
  if (ep_dataset_is_unit(&set, data)) ep_scale_to_unit(&set.X);
  out->X = set.X;
  set.X = (ep_mat){0};
  ep_dataset_free(&set);
  return EP_OK;
}

static ep_status load(ep_layer *out, const ep_optima_config *config, const ep_data_config *data,
                      const ep_pair_config *pairs, const ep_run_config *run) {
  ep_run_config in_double = *run;
  in_double.precision = EP_DOUBLE;
  EP_TRY(ep_activation_parse(&out->h, config->activation));
  EP_TRY(ep_alpha_load(&out->alpha, config->weights, config->alpha));
  if (pairs->anchors[0] || pairs->positives[0]) EP_TRY(ready(out, data, pairs, &in_double));
  else if (pairs->augment[0]) EP_TRY(augmented(out, data, pairs, &in_double));
  else EP_TRY(plain(out, data, &in_double));
  return ep_layer_check(out);
}

static ep_status layer_load(ep_layer *out, const ep_optima_config *config,
                            const ep_data_config *data, const ep_pair_config *pairs,
                            const ep_run_config *run) {
  *out = (ep_layer){0};
  const ep_status st = load(out, config, data, pairs, run);
  if (st) ep_layer_free(out);
  return st;
}

ep_status ep_layer_load(ep_run *run, ep_layer *out, const ep_optima_config *config,
                        const ep_data_config *data, const ep_pair_config *pairs,
                        const ep_run_config *settings) {
  const ep_run_scope scope = ep_run_enter(run);
  const ep_status st = layer_load(out, config, data, pairs, settings);
  ep_run_leave(&scope);
  return st;
}

void ep_layer_free(ep_layer *layer) {
  ep_mat_free(&layer->X);
  ep_mat_free(&layer->X2);
  ep_mat_free(&layer->X0);
  ep_alpha_free(&layer->alpha);
}
