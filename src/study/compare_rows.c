/* Jobs, which are files, and the typed rows that everything else works on: read once, here and in compare_curves.c. */
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

bool ep_drift_measured(const ep_drift_row *d, const ep_comparison *m) {
  for (int i = 0; i < m->widths * m->seeds; i++)
    if (isfinite(d->value[i])) return true;
  return false;
}

ep_finding ep_drift_at(const ep_drift_row *d, const ep_comparison *m, int width) {
  return ep_small(d->value + width * m->seeds, m->seeds, m->tolerance);
}

double ep_drift_width_needed(const ep_drift_row *d, double tolerance) {
  return d->law.exponent < 0 ? ep_power_law_meets(&d->law, tolerance) : NAN;
}

/* ---- rows */

bool ep_row_is_first(const ep_comparison *m, int i) {
  for (int k = 0; k < i; k++)
    if (strcmp(m->row[k].name, m->row[i].name) == 0) return false;
  return true;
}

bool ep_row_is_best(const ep_comparison *m, int i) {
  return i == 0 && isfinite(ep_spread_score(&m->row[0], m->by).mean);
}

double ep_row_loss_gap(const ep_comparison *m, const ep_row *row) {
  const size_t loss = offsetof(ep_trial, loss);
  if (!row->method || !row->method->stands_for) return NAN;
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == row->width && !m->row[i].analytic &&
        m->row[i].method == ep_method_find(row->method->stands_for))
      return ep_spread_of(row, loss).mean - ep_spread_of(&m->row[i], loss).mean;
  return NAN;
}

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
                        const json_t *entry, long width) {
  for (int i = 0; i < m->rows; i++)
    if (m->row[i].width == width && strcmp(m->row[i].name, name) == 0) {
      *out = &m->row[i];
      return EP_OK;
    }
  ep_row *r = *out = &m->row[m->rows++];
  const char *method = json_string_value(json_object_get(entry, "method"));
  ep_baseline baseline = method ? EP_NO_BASELINE : EP_BASELINES - 1;
  while (baseline > EP_NO_BASELINE && strcmp(ep_baseline_name(baseline), name) != 0) baseline--;
  *r = (ep_row){.name = name,
                .method = method ? ep_method_find(method) : NULL,
                .baseline = baseline,
                .analytic = json_is_true(json_object_get(entry, "analytic")),
                .width = width,
                .seeds = m->seeds};
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
      EP_TRY(row_of(&row, m, work, name, entry, width));
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

/* the largest principal angles between the trained W and the two PCAs at the largest width, mean over seeds */
static double last_angle(const ep_comparison *m, ep_angles which) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < m->jobs; i++) {
    const ep_curve *a = &m->job[i].angles[which];
    if (m->job[i].width == (long)m->width[m->widths - 1] && a->count > 0)
      sum += a->y[a->count - 1], count++;
  }
  return count > 0 ? sum / count : NAN;
}

static ep_status read_curves(ep_comparison *m, ep_work *work, const json_t *jobs) {
  size_t i;
  json_t *job;
  const json_t *first = json_object_get(json_array_get(jobs, 0), "seed");
  EP_TRY(ep_work_get(work, &m->job, (ptrdiff_t)json_array_size(jobs), sizeof *m->job));
  json_array_foreach(jobs, i, job) {
    ep_job_curves *c = &m->job[m->jobs++];
    EP_TRY(ep_curves_read(c, work, job));
    c->width = no_width(job) ? 0 : (long)number_of(job, "width");
    c->first = json_equal(json_object_get(job, "seed"), first);
  }
  m->angle_first = last_angle(m, EP_ANGLES_TRAINED_FIRST);
  m->angle_last = last_angle(m, EP_ANGLES_TRAINED_LAST);
  return EP_OK;
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
    if (!no_width(job)) add_once(m->width, &m->widths, EP_MOST_WIDTHS, number_of(job, "width"));
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
  EP_TRY(read_curves(m, work, jobs));
  m->by = score_of(m);
  ep_rows_sort(m->row, m->rows, m->by);
  return EP_OK;
}
