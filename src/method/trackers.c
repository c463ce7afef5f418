/* More columns of the history: --track weights,rank,ntk,c. */
#include "core/mem.h"
#include "map/drift.h"
#include "method/training.h"

#include <eigenpair/kernel.h>
#include <eigenpair/subspace.h>
#include <math.h>
#include <string.h>

struct ep_trackers {
  int count, which[8]; /* rows of the table below */
  bool start, kernel;  /* one of them needs the first weights, the first kernel */
  ep_mat theta;        /* (1, parameters) weights at the start */
  double w, v;         /* |W(0)|_F, |V(0)|_F */
  ep_mat X, K0, K;     /* points of the kernel, its values at the start and now */
  bool covariance;     /* one of them needs the first features */
  ep_psi psi;
  ep_feature_drift drift;
};

/* |W(t) - W(0)|_F / |W(0)|_F and the same for all V together, each with its biases */
static ep_status track_weights(double *out, ep_training *t) {
  const struct ep_trackers *k = t->trackers;
  const ptrdiff_t v = ep_net_hidden_parameters(&t->net->shape), w = k->theta.cols - v;
  const ep_mat W0 = ep_mat_cols(&k->theta, v, w), W = ep_mat_cols(&t->net->theta, v, w);
  const ep_mat V0 = ep_mat_cols(&k->theta, 0, v), V = ep_mat_cols(&t->net->theta, 0, v);
  out[0] = sqrt(ep_mat_distance2(&W, &W0)) / k->w;
  out[1] = sqrt(ep_mat_distance2(&V, &V0)) / k->v; /* a rotation changes no distance */
  return EP_OK;
}

/* RankMe of the outputs at all points */
static ep_status track_rank(double *out, ep_training *t) {
  EP_TRY(ep_training_outputs(t));
  return ep_rankme(out, &t->F);
}

/* max |K(t) - K(0)| and |K(t) - K(0)|_F at the first --track-points points, all outputs */
static ep_status track_ntk(double *out, ep_training *t) {
  struct ep_trackers *k = t->trackers;
  EP_TRY(ep_ntk_empirical(NULL, &k->K, t->net, &k->X, NULL, EP_FULL, ep_training_memory(t)));
  const ep_drift d = ep_kernel_drift(&k->K0, &k->K);
  out[0] = d.max;
  out[1] = d.frobenius;
  return EP_OK;
}

/* |C(t) - C(0)|_F at all points */
static ep_status track_c(double *out, ep_training *t) {
  struct ep_trackers *k = t->trackers;
  const ep_network_map map = ep_network_map_of(t->net, k->psi);
  return ep_feature_drift_value(out, &k->drift, &map.head, &t->X);
}

static const struct {
  const char *name;
  int columns;
  const char *column[2];
  ep_status (*value)(double *out, ep_training *t);
  bool start, kernel, covariance; /* what it compares with; only networks have it */
  bool outputs;                   /* it looks at the outputs of all points */
} table[] = {
    {"ntk", 2, {"ntk_max", "ntk_frobenius"}, track_ntk, .kernel = true},
    {"c", 1, {"c_frobenius"}, track_c, .covariance = true},
    {"weights", 2, {"w_change", "v_change"}, track_weights, .start = true},
    {"rank", 1, {"rank"}, track_rank, .outputs = true},
};
enum { ROWS = sizeof table / sizeof *table };

static const char *tracker_name(int i) { return i < ROWS ? table[i].name : NULL; }

static ep_status add_tracker(struct ep_trackers *k, ep_history *h, const char *name) {
  int which = 0;
  EP_TRY(ep_options_name(&which, NULL, "--track", name, tracker_name));
  for (int i = 0; i < k->count; i++)
    EP_CHECK(k->which[i] != which, EP_ERR_ARG, "--track names '%s' twice", name);
  for (int c = 0; c < table[which].columns; c++) h->name[h->columns++] = table[which].column[c];
  k->start = k->start || table[which].start;
  k->kernel = k->kernel || table[which].kernel;
  k->covariance = k->covariance || table[which].covariance;
  k->which[k->count++] = which;
  return EP_OK;
}

ep_status ep_trackers_new(ep_training *t) {
  const char *text = t->setup->fit.track;
  t->info->history = (ep_history){.columns = 2, .name = {"epoch", "loss"}};
  t->trackers = ep_alloc(1, sizeof *t->trackers);
  EP_CHECK(t->trackers, EP_ERR_NOMEM, "no memory for trackers");
  while (*text) {
    char name[64];
    const size_t length = strcspn(text, ",");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
    EP_TRY(add_tracker(t->trackers, &t->info->history, name));
    text += length + (text[length] == ',');
  }
  return EP_OK;
}

static ep_status remember_weights(ep_training *t) {
  struct ep_trackers *k = t->trackers;
  const ptrdiff_t v = ep_net_hidden_parameters(&t->whole->shape), w = t->whole->theta.cols - v;
  const ep_mat V = ep_mat_cols(&t->whole->theta, 0, v), W = ep_mat_cols(&t->whole->theta, v, w);
  EP_TRY(ep_mat_new(&k->theta, t->net->theta.prec, 1, t->net->theta.cols));
  ep_mat_copy(&k->theta, &t->net->theta);
  k->w = sqrt(ep_mat_norm2(&W));
  k->v = sqrt(ep_mat_norm2(&V));
  return EP_OK;
}

static ep_status remember_kernel(ep_training *t) {
  struct ep_trackers *k = t->trackers;
  const ptrdiff_t z = t->net->shape.outputs, asked = t->setup->fit.track_points;
  const ptrdiff_t n = asked < t->X.rows ? asked : t->X.rows;
  k->X = ep_mat_rows(&t->X, 0, n);
  EP_TRY(ep_mat_new(&k->K0, t->X.prec, n, n * z * z));
  EP_TRY(ep_mat_new(&k->K, t->X.prec, n, n * z * z));
  return ep_ntk_empirical(NULL, &k->K0, t->net, &k->X, NULL, EP_FULL, ep_training_memory(t));
}

static ep_status remember_features(ep_training *t) {
  struct ep_trackers *k = t->trackers;
  ep_objective o;
  EP_TRY(ep_objective_parse(&o, &t->setup->objective));
  k->psi = ep_psi_of(&o);
  const ep_network_map map = ep_network_map_of(t->net, k->psi);
  return ep_feature_drift_new(&k->drift, &map.head, &t->X, &t->points->pairs,
                              ep_training_memory(t));
}

ep_status ep_trackers_start(ep_training *t) {
  const struct ep_trackers *k = t->trackers;
  const bool network = k->start || k->kernel || k->covariance;
  EP_CHECK(t->state.data == (t->net ? t->net->theta.data : NULL) || !network, EP_ERR_ARG,
           "--track %s: method %s keeps its weights and its kernel as they are",
           t->setup->fit.track, t->setup->fit.method);
  if (k->start) EP_TRY(remember_weights(t));
  if (k->kernel) EP_TRY(remember_kernel(t));
  if (k->covariance) EP_TRY(remember_features(t));
  return EP_OK;
}

static ep_status look(double *row, ep_training *t) {
  const struct ep_trackers *k = t->trackers;
  for (int i = 0; i < k->count; row += table[k->which[i++]].columns)
    EP_TRY(table[k->which[i]].value(row, t));
  return EP_OK;
}

static bool is_look(const ep_training *t, long epoch) {
  return epoch == 0 || epoch % t->setup->fit.track_every == 0 || epoch >= t->setup->fit.epochs;
}

/* between two looks the values of the row before stand */
ep_status ep_trackers_record(double *row, ep_training *t) {
  const ep_history *h = &t->info->history;
  if (h->rows == 0 || is_look(t, t->epoch)) return look(row, t);
  memcpy(row, h->value + (h->rows - 1) * h->columns + 2, (size_t)(h->columns - 2) * sizeof *row);
  return EP_OK;
}

ep_status ep_trackers_end(ep_training *t) {
  const ep_history *h = &t->info->history;
  double *row = h->value + (h->rows - 1) * h->columns;
  return is_look(t, (long)row[0]) ? EP_OK : look(row + 2, t);
}

bool ep_trackers_see_outputs(const ep_training *t) {
  for (int i = 0; i < t->trackers->count; i++)
    if (table[t->trackers->which[i]].outputs) return true;
  return false;
}

void ep_trackers_free(ep_training *t) {
  if (!t->trackers) return;
  ep_mat_free(&t->trackers->theta);
  ep_mat_free(&t->trackers->K0);
  ep_mat_free(&t->trackers->K);
  ep_feature_drift_free(&t->trackers->drift);
  ep_release(t->trackers);
  t->trackers = NULL;
}
