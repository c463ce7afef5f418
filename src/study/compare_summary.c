/* From jobs to a table, power laws and a verdict. */
#include "study/compare.h"

#include <eigenpair/powerlaw.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- numbers of jobs */

/* job[a][b]..: a path with dots; NAN where it is not there */
static double number_at(const json_t *job, const char *path) {
  while (job && *path) {
    char key[64];
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), path);
    job = json_object_get(job, key);
    path += length + (path[length] == '.');
  }
  return json_is_number(job) ? json_number_value(job) : NAN;
}

typedef struct {
  double mean, sd, low, high;
  int count;
} spread;

static void add(spread *s, double x) {
  if (!isfinite(x)) return;
  s->low = s->count ? fmin(s->low, x) : x;
  s->high = s->count ? fmax(s->high, x) : x;
  s->count++;
  const double d = x - s->mean;
  s->mean += d / s->count;
  s->sd += d * (x - s->mean);
}

/* over the seeds of one width (< 0: jobs without one) */
static spread over_seeds(const json_t *jobs, double width, const char *path) {
  spread s = {0};
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) {
    const json_t *w = json_object_get(job, "width");
    if (json_is_null(w) ? width < 0 : json_number_value(w) == width) add(&s, number_at(job, path));
  }
  s.sd = s.count > 1 ? sqrt(s.sd / (s.count - 1)) : 0;
  if (!s.count) s.mean = s.low = s.high = NAN;
  return s;
}

/* widths in order, once each */
static int widths_of(double *out, int most, const json_t *jobs) {
  int count = 0;
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) {
    const json_t *w = json_object_get(job, "width");
    bool known = json_is_null(w);
    for (int k = 0; k < count; k++) known = known || out[k] == json_number_value(w);
    if (!known && count < most) out[count++] = json_number_value(w);
  }
  return count;
}

/* ---- the table */

/* what a method stands in for: its loss is on the same scale */
static const char *stands_for(const char *method) {
  if (strncmp(method, "kernel", 6) == 0 || strcmp(method, "linearised") == 0) return "gd";
  return strcmp(method, "pca") == 0 || strcmp(method, "iterate") == 0 ? "grassmann" : NULL;
}

/* loss of the method less that of training, means over seeds; NAN: there is nothing to compare with */
static double loss_gap(const json_t *jobs, double width, const char *method, double loss) {
  char path[96];
  if (!stands_for(method)) return NAN;
  snprintf(path, sizeof path, "methods.%s.loss", stands_for(method));
  return loss - over_seeds(jobs, width, path).mean;
}

static ep_status add_row(json_t *table, const json_t *jobs, double width, const char *method) {
  char path[4][96];
  static const char *const field[] = {"accuracy", "loss", "seconds", "memory"};
  spread s[4];
  for (int k = 0; k < 4; k++) {
    snprintf(path[k], sizeof path[k], "methods.%s.%s", method, field[k]);
    s[k] = over_seeds(jobs, width, path[k]);
  }
  int diverged = 0;
  size_t i;
  json_t *job;
  json_array_foreach(jobs, i, job) {
    const json_t *w = json_object_get(job, "width");
    const json_t *entry = json_object_get(json_object_get(job, "methods"), method);
    const char *status = json_string_value(json_object_get(entry, "status"));
    if ((json_is_null(w) ? width < 0 : json_number_value(w) == width) && status)
      diverged += strcmp(status, "diverged") == 0;
  }
  if (s[2].count == 0) return EP_OK; /* not run at this width */
  json_t *row =
      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i}", "method", method, "width",
                width < 0 ? json_null() : json_integer((json_int_t)width), "accuracy",
                ep_json_number(s[0].mean), "accuracy_sd",
                ep_json_number(s[0].count > 1 ? s[0].sd : NAN), "loss", ep_json_number(s[1].mean),
                "loss_gap", ep_json_number(loss_gap(jobs, width, method, s[1].mean)), "seconds",
                ep_json_number(s[2].mean), "memory", ep_json_number(s[3].high), "runs", s[2].count,
                "diverged", diverged);
  EP_CHECK(row && json_array_append_new(table, row) == 0, EP_ERR_NOMEM, "no memory for a table");
  return EP_OK;
}

static ep_status make_table(json_t *result, const json_t *jobs, const double *width, int widths) {
  json_t *table = json_array();
  EP_TRY(ep_json_put(result, "table", table));
  for (int i = 0; ep_method_name(i); i++)
    for (int w = -1; w < widths; w++) {
      EP_TRY(add_row(table, jobs, w < 0 ? -1 : width[w], ep_method_name(i)));
      if (strcmp(ep_method_name(i), "kernel") == 0 && w >= 0)
        EP_TRY(add_row(table, jobs, width[w], "kernel, analytic"));
    }
  return EP_OK;
}

/* ---- drifts against width */

static const struct {
  const char *name, *path, *what;
} drifts[] = {
    {"ntk", "ntk_drift", "tangent kernel: |K(T) - K(0)|_F / |K(0)|_F"},
    {"kernel_difference", "kernel_difference.mean",
     "outputs of training against the frozen kernel"},
    {"analytic_difference", "analytic_difference.mean",
     "outputs of training against the kernel of infinite width"},
    {"c", "c_drift", "C: |C(T) - C(0)|_F / |C(0)|_F"},
    {"pca_difference", "pca_difference.relative", "PCA of C(T) against PCA of C(0), rotated"},
};
enum { DRIFTS = sizeof drifts / sizeof *drifts };

static ep_status make_drift(json_t *result, const json_t *jobs, const double *width, int widths,
                            double tolerance) {
  enum { MOST = 4096 };
  json_t *all = json_object();
  EP_TRY(ep_json_put(result, "drift", all));
  for (int d = 0; d < DRIFTS; d++) {
    double x[MOST], y[MOST], mean[64], low[64], high[64];
    ptrdiff_t n = 0;
    int count = 0;
    size_t i;
    json_t *job;
    json_array_foreach(jobs, i, job) {
      if (n == MOST) break;
      x[n] = number_at(job, "width");
      y[n++] = number_at(job, drifts[d].path);
    }
    for (int w = 0; w < widths; w++) {
      const spread s = over_seeds(jobs, width[w], drifts[d].path);
      mean[w] = s.mean, low[w] = s.low, high[w] = s.high;
      count += s.count;
    }
    if (count == 0) continue;
    const ep_power_law law = ep_power_law_fit(x, y, n);
    json_t *one =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "what", drifts[d].what,
                  "exponent", ep_json_number(law.exponent), "exponent_low", ep_json_number(law.low),
                  "exponent_high", ep_json_number(law.high), "width_needed",
                  ep_json_number(law.exponent < 0 ? ep_power_law_meets(&law, tolerance) : NAN),
                  "width", ep_json_numbers(width, widths), "mean", ep_json_numbers(mean, widths),
                  "low", ep_json_numbers(low, widths), "high", ep_json_numbers(high, widths));
    EP_TRY(ep_json_put(all, drifts[d].name, one));
  }
  return EP_OK;
}

/* ---- the verdict */

typedef struct {
  const char *name, *drift, *model, *instead;
  const char *trained; /* the method whose divergence is a no */
} question;
static const question questions[] = {
    {"kernel", "kernel_difference", "the frozen tangent kernel", "training", "gd"},
    {"pca", "pca_difference", "PCA of C(0)", "the PCA of C at the end of training", "grassmann"},
};

static int diverged_at(const json_t *table, const char *method, double width) {
  size_t i;
  json_t *row;
  json_array_foreach(table, i, row) {
    if (strcmp(json_string_value(json_object_get(row, "method")), method) == 0 &&
        json_number_value(json_object_get(row, "width")) == width)
      return (int)json_integer_value(json_object_get(row, "diverged"));
  }
  return 0;
}

static void say(char text[600], const char *format, ...) {
  va_list args;
  const size_t used = strlen(text);
  va_start(args, format);
  vsnprintf(text + used, 600 - used, format, args);
  va_end(args);
}

static ep_status answer(json_t *verdict, const json_t *result, const question *q,
                        const double *width, int widths, double tolerance) {
  const json_t *drift = json_object_get(json_object_get(result, "drift"), q->drift);
  const json_t *table = json_object_get(result, "table");
  const json_t *mean = json_object_get(drift, "mean"), *high = json_object_get(drift, "high");
  double from = NAN;
  int diverged = 0;
  char text[600] = "";
  for (int w = widths - 1; w >= 0;
       w--) { /* the smallest width from which on all pass, every seed of them */
    diverged = diverged_at(table, q->trained, width[w]);
    const json_t *worst = json_array_get(high, (size_t)w);
    if (diverged || !json_is_number(worst) || json_number_value(worst) > tolerance) break;
    from = width[w];
  }
  const bool holds = isfinite(from);
  const double last = json_number_value(json_array_get(mean, (size_t)widths - 1));
  const double exponent = number_at(drift, "exponent"), needed = number_at(drift, "width_needed");
  const int lost = diverged_at(table, q->trained, width[widths - 1]);
  if (holds)
    say(text,
        "Yes, from width %.0f on: %s differs from %s by %.2g of its length at width %.0f "
        "(tolerance %g).",
        from, q->model, q->instead, last, width[widths - 1], tolerance);
  else if (lost)
    say(text, "No: training diverges at width %.0f, and %s cannot describe it.", width[widths - 1],
        q->model);
  else
    say(text, "No: at width %.0f %s still differs from %s by %.2g of its length (tolerance %g).",
        width[widths - 1], q->model, q->instead, last, tolerance);
  if (isfinite(exponent)) say(text, " It falls as width^%.2f", exponent);
  if (isfinite(exponent) && isfinite(number_at(drift, "exponent_low")))
    say(text, " (95 %% interval %.2f to %.2f)", number_at(drift, "exponent_low"),
        number_at(drift, "exponent_high"));
  if (isfinite(exponent)) say(text, ".");
  const bool mends = isfinite(needed) && needed > width[widths - 1] && needed < 1e9;
  if (!holds && mends) say(text, " By that law the tolerance is met near width %.2g.", needed);
  if (!holds && !mends && !lost)
    say(text, " More width does not mend it at any size one can train.");
  json_t *one = json_pack(
      "{s:s, s:b, s:b, s:f, s:o, s:o, s:o, s:s, s:s}", "answer", holds ? "holds" : "fails", "holds",
      holds, "fails", !holds, "tolerance", tolerance, "from_width", ep_json_number(from),
      "difference", ep_json_number(mean ? last : NAN), "width_needed", ep_json_number(needed),
      "measured", drift ? json_string_value(json_object_get(drift, "what")) : "nothing", "words",
      text);
  return ep_json_put(verdict, q->name, one);
}

/* Is W at its optimum? The largest principal angle between the trained W and PCA of C at the end. */
static ep_status add_training_note(json_t *verdict, const json_t *jobs, double width) {
  spread last = {0}, first = {0};
  size_t i;
  json_t *job;
  char text[600] = "";
  json_array_foreach(jobs, i, job) {
    const json_t *a = json_object_get(job, "angles_trained_last"),
                 *b = json_object_get(job, "angles_trained_first");
    if (json_number_value(json_object_get(job, "width")) != width || !json_array_size(a)) continue;
    add(&last, json_number_value(json_array_get(a, json_array_size(a) - 1)));
    add(&first, json_number_value(json_array_get(b, json_array_size(b) - 1)));
  }
  if (last.count == 0) return EP_OK;
  say(text,
      "At width %.0f the trained W is %.3g degrees (largest principal angle) from PCA of C(0) and "
      "%.3g "
      "degrees from PCA of C at the end: training %s.",
      width, first.mean, last.mean,
      last.mean < 5 ? "has reached its optimum" : "is still on its way");
  return ep_json_put(verdict, "trained",
                     json_pack("{s:o, s:o, s:s}", "angle_first", ep_json_number(first.mean),
                               "angle_last", ep_json_number(last.mean), "words", text));
}

ep_status ep_compare_summary(json_t *result, const ep_compare_config *config) {
  const json_t *jobs = json_object_get(result, "jobs");
  double width[64];
  const int widths = widths_of(width, 64, jobs);
  json_t *verdict = json_object();
  EP_TRY(make_table(result, jobs, width, widths));
  EP_TRY(make_drift(result, jobs, width, widths, config->tolerance));
  EP_TRY(ep_json_put(result, "verdict", verdict));
  if (ep_compare_has(config, "gd") && ep_compare_has(config, "kernel"))
    EP_TRY(answer(verdict, result, &questions[0], width, widths, config->tolerance));
  if (!ep_compare_has(config, "grassmann") || !ep_compare_has(config, "pca")) return EP_OK;
  EP_TRY(answer(verdict, result, &questions[1], width, widths, config->tolerance));
  return add_training_note(verdict, jobs, width[widths - 1]);
}
