/* Curves, bounds and places of points out of a job. */
#include "study/compare.h"

#include <math.h>

static double number_of(const json_t *value) {
  return json_is_number(value) ? json_number_value(value) : NAN;
}

static ep_status numbers(double **out, ptrdiff_t *count, ep_work *work, const json_t *array) {
  size_t i;
  json_t *value;
  *count = (ptrdiff_t)json_array_size(array);
  EP_TRY(ep_work_get(work, out, *count, sizeof **out));
  json_array_foreach(array, i, value)(*out)[i] = number_of(value);
  return EP_OK;
}

/* y against x; without x against 1, 2, .. */
static ep_status curve(ep_curve *out, ep_work *work, const json_t *x, const json_t *y) {
  ptrdiff_t n;
  EP_TRY(numbers(&out->y, &out->count, work, y));
  if (x) {
    EP_TRY(numbers(&out->x, &n, work, x));
    if (n < out->count) out->count = n;
    return EP_OK;
  }
  EP_TRY(ep_work_get(work, &out->x, out->count, sizeof *out->x));
  for (ptrdiff_t i = 0; i < out->count; i++) out->x[i] = (double)(i + 1);
  return EP_OK;
}

static const char *text_of(const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : "";
}

static ep_status read_bounds(ep_job_curves *c, ep_work *work, const json_t *list) {
  size_t i;
  json_t *one;
  EP_TRY(ep_work_get(work, &c->bound, (ptrdiff_t)json_array_size(list), sizeof *c->bound));
  json_array_foreach(list, i, one) c->bound[c->bounds++] =
      (ep_bound_line){.method = text_of(one, "method"),
                      .name = text_of(one, "name"),
                      .note = text_of(one, "note"),
                      .measured = number_of(json_object_get(one, "log10_measured")),
                      .bound = number_of(json_object_get(one, "log10_bound")),
                      .holds = json_is_true(json_object_get(one, "holds"))};
  return EP_OK;
}

static ep_status read_plane(ep_plane *p, ep_work *work, const json_t *plane) {
  const json_t *labels = json_object_get(plane, "label");
  EP_TRY(curve(&p->at, work, json_object_get(plane, "x"), json_object_get(plane, "y")));
  EP_TRY(ep_work_get(work, &p->label, p->at.count, sizeof *p->label));
  for (ptrdiff_t i = 0; i < p->at.count; i++)
    p->label[i] = (int)json_integer_value(json_array_get(labels, (size_t)i));
  return EP_OK;
}

static ep_status read_planes(ep_job_curves *c, ep_work *work, const json_t *methods) {
  json_t *entry;
  const char *name;
  EP_TRY(ep_work_get(work, &c->plane, (ptrdiff_t)json_object_size(methods), sizeof *c->plane));
  json_object_foreach((json_t *)methods, name, entry) {
    const json_t *plane = json_object_get(entry, "plane");
    if (!plane) continue;
    ep_plane *p = &c->plane[c->planes++];
    *p = (ep_plane){.method = name, .accuracy = number_of(json_object_get(entry, "accuracy"))};
    EP_TRY(read_plane(p, work, plane));
  }
  return EP_OK;
}

ep_status ep_curves_read(ep_job_curves *c, ep_work *work, const json_t *job) {
  static const char *const times[EP_TIMES] = {"ntk_time", "c_time", "w_time"};
  static const char *const angles[EP_ANGLES] = {"angles_last_first", "angles_trained_first",
                                                "angles_trained_last"};
  *c = (ep_job_curves){.shown = json_object_get(job, "shown")};
  for (int k = 0; k < EP_TIMES; k++) {
    const json_t *t = json_object_get(job, times[k]);
    if (t)
      EP_TRY(curve(&c->time[k], work, json_object_get(t, "epoch"), json_object_get(t, "value")));
  }
  for (int k = 0; k < EP_ANGLES; k++)
    EP_TRY(curve(&c->angles[k], work, NULL, json_object_get(job, angles[k])));
  EP_TRY(curve(&c->spectrum, work, NULL, json_object_get(job, "spectrum")));
  EP_TRY(read_bounds(c, work, json_object_get(job, "bounds")));
  return read_planes(c, work, json_object_get(job, "methods"));
}
