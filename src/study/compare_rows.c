/* Jobs, which are files, and the typed rows that everything else works on: read once, here. */
#include "study/compare.h"

#include <math.h>
#include <string.h>

/* ---- a trial and its JSON, by one table */

static const struct {
  const char *name;
  size_t offset;
} fields[] = {{"accuracy", offsetof(ep_trial, accuracy)},
              {"train_accuracy", offsetof(ep_trial, train_accuracy)},
              {"recall", offsetof(ep_trial, recall)},
              {"rankme", offsetof(ep_trial, rankme)},
              {"test_loss", offsetof(ep_trial, test_loss)},
              {"loss", offsetof(ep_trial, loss)},
              {"seconds", offsetof(ep_trial, seconds)},
              {"memory", offsetof(ep_trial, memory)},
              {"difference", offsetof(ep_trial, difference)},
              {"moved", offsetof(ep_trial, moved)},
              {"settling", offsetof(ep_trial, settling)}};
enum { FIELDS = sizeof fields / sizeof *fields };

static double number_of(const json_t *object, const char *name) {
  const json_t *v = json_object_get(object, name);
  return json_is_number(v) ? json_number_value(v) : NAN;
}

ep_status ep_trial_write(json_t *entry, const ep_trial *trial) {
  for (int k = 0; k < FIELDS; k++)
    EP_TRY(ep_json_put(entry, fields[k].name,
                       ep_json_number(*(const double *)((const char *)trial + fields[k].offset))));
  return EP_OK;
}

void ep_trial_read(ep_trial *trial, const json_t *entry) {
  const char *status = json_string_value(json_object_get(entry, "status"));
  trial->there = entry != NULL;
  trial->diverged = status && strcmp(status, ep_outcome_name(EP_DIVERGED)) == 0;
  for (int k = 0; k < FIELDS; k++)
    *(double *)((char *)trial + fields[k].offset) = number_of(entry, fields[k].name);
}

/* ---- drifts */

static const struct {
  const char *name, *object, *number, *what, *legend; /* object NULL: the number is the job's */
} drifts[EP_DRIFTS] = {
    {"ntk", NULL, "ntk_drift", "tangent kernel: |K(T) - K(0)|_F / |K(0)|_F", "tangent kernel"},
    {"kernel_difference", "kernel_difference", "mean",
     "outputs of training against the frozen kernel", "training, frozen kernel"},
    {"analytic_difference", "analytic_difference", "mean",
     "outputs of training against the kernel of infinite width", "training, infinite width"},
    {"c", NULL, "c_drift", "C: |C(T) - C(0)|_F / |C(0)|_F", "C"},
    {"pca_difference", "pca_difference", "relative", "PCA of C(T) against PCA of C(0), rotated",
     "PCA of C(T), of C(0)"},
};

static ep_status read_drift(ep_drift_row *d, int which, ep_work *work, const ep_comparison *m,
                            const json_t *const *job) {
  const int n = m->widths * m->seeds;
  double *x;
  *d = (ep_drift_row){
      .name = drifts[which].name, .what = drifts[which].what, .legend = drifts[which].legend};
  EP_TRY(ep_work_get(work, &d->value, n, sizeof *d->value));
  EP_TRY(ep_work_get(work, &x, n, sizeof *x));
  for (int i = 0; i < n; i++) {
    const json_t *from =
        drifts[which].object ? json_object_get(job[i], drifts[which].object) : job[i];
    x[i] = m->width[i / m->seeds];
    d->value[i] = number_of(from, drifts[which].number);
  }
  d->law = ep_power_law_fit(x, d->value, n);
  return EP_OK;
}

/* ---- rows */

static bool no_width(const json_t *job) { return json_is_null(json_object_get(job, "width")); }

static bool add_once(double *list, int *count, int most, double value) {
  for (int k = 0; k < *count; k++)
    if (list[k] == value) return true;
  if (*count == most) return false;
  list[(*count)++] = value;
  return true;
}

/* the row of this name and width, made if it is not there */
static ep_status row_of(ep_row **out, ep_comparison *m, ep_work *work, const char *name,
                        long width) {
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == width && strcmp(m->row[i].name, name) == 0) {
      *out = &m->row[i];
      return EP_OK;
    }
  ep_row *r = *out = &m->row[m->rows++];
  char method[64];
  snprintf(method, sizeof method, "%.*s", (int)strcspn(name, ","), name); /* kernel, analytic */
  *r = (ep_row){.name = name, .method = ep_method_find(method), .width = width, .seeds = m->seeds};
  return ep_work_get(work, &r->trial, m->seeds, sizeof *r->trial);
}

static ep_status read_rows(ep_comparison *m, ep_work *work, const json_t *jobs,
                           const double *seed) {
  size_t i, most = 0;
  json_t *job, *entry;
  const char *name;
  json_array_foreach(jobs, i, job) most += json_object_size(json_object_get(job, "methods"));
  EP_TRY(ep_work_get(work, &m->row, (ptrdiff_t)most + 1, sizeof *m->row));
  json_array_foreach(jobs, i, job) {
    const long width = no_width(job) ? 0 : (long)number_of(job, "width");
    int k = 0;
    while (k < m->seeds - 1 && seed[k] != number_of(job, "seed")) k++;
    json_object_foreach(json_object_get(job, "methods"), name, entry) {
      ep_row *row;
      EP_TRY(row_of(&row, m, work, name, width));
      row->features = json_string_value(json_object_get(entry, "features"));
      ep_trial_read(&row->trial[k], entry);
    }
  }
  return EP_OK;
}

static ep_score score_of(const ep_comparison *m) {
  for (int i = 0; i < m->rows; i++)
    if (isfinite(ep_spread_of(&m->row[i], offsetof(ep_trial, accuracy)).mean))
      return EP_BY_ACCURACY;
  return EP_BY_RECALL;
}

/* the largest principal angles between the trained W and the two PCAs, mean over seeds */
static void read_angles(ep_comparison *m, const json_t *const *job) {
  static const char *const names[] = {"angles_trained_first", "angles_trained_last"};
  double *const to[] = {&m->angle_first, &m->angle_last};
  for (int k = 0; k < 2; k++) {
    double sum = 0;
    int count = 0;
    for (int s = 0; s < m->seeds; s++) {
      const json_t *a = json_object_get(job[(m->widths - 1) * m->seeds + s], names[k]);
      const size_t n = json_array_size(a);
      if (n > 0) sum += json_number_value(json_array_get(a, n - 1)), count++;
    }
    *to[k] = count > 0 ? sum / count : NAN;
  }
}

ep_status ep_comparison_read(ep_comparison *m, ep_work *work, const json_t *jobs,
                             double tolerance) {
  enum { MOST_SEEDS = 1000 };
  double *seed;
  const json_t **table;
  size_t i;
  json_t *job;
  *m = (ep_comparison){.tolerance = tolerance, .tests = NAN};
  EP_TRY(ep_work_get(work, &seed, MOST_SEEDS, sizeof *seed));
  json_array_foreach(jobs, i, job) {
    if (!no_width(job)) add_once(m->width, &m->widths, 64, number_of(job, "width"));
    if (isfinite(number_of(job, "tests"))) m->tests = number_of(job, "tests");
    add_once(seed, &m->seeds, MOST_SEEDS, number_of(job, "seed"));
  }
  EP_TRY(ep_work_get(work, &table, (ptrdiff_t)m->widths * m->seeds + 1, sizeof *table));
  json_array_foreach(jobs, i, job) {
    int w = 0, s = 0;
    while (w < m->widths && m->width[w] != number_of(job, "width")) w++;
    while (s < m->seeds && seed[s] != number_of(job, "seed")) s++;
    if (w < m->widths && s < m->seeds) table[w * m->seeds + s] = job;
  }
  EP_TRY(read_rows(m, work, jobs, seed));
  for (int d = 0; d < EP_DRIFTS; d++) EP_TRY(read_drift(&m->drift[d], d, work, m, table));
  read_angles(m, table);
  m->by = score_of(m);
  ep_rows_sort(m->row, m->rows, m->by);
  return EP_OK;
}
