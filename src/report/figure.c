/* Figures as JSON. */
#include "core/file.h"

#include <eigenpair/figure.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *integers(const int *x, ptrdiff_t count) {
  json_t *array = json_array();
  for (ptrdiff_t i = 0; array && i < count; i++)
    if (json_array_append_new(array, json_integer(x[i]))) json_decref(array), array = NULL;
  return array;
}

ep_status ep_figure_new(json_t **out, const char *name, ep_figure_kind kind, const char *title,
                        const char *alt, ep_axis x, ep_axis y) {
  *out = json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:b, s:b}, s:{s:s, s:b, s:b}, s:[], s:[]}", "name",
                   name, "kind", kind == EP_FIGURE_LINE ? "line" : "scatter", "title", title, "alt",
                   alt, "x", "title", x.title, "log", x.log, "percent", x.percent, "y", "title",
                   y.title, "log", y.log, "percent", y.percent, "series", "rules");
  EP_CHECK(*out, EP_ERR_NOMEM, "no memory for a figure");
  return EP_OK;
}

ep_status ep_figure_add(json_t *figure, const ep_series *s) {
  json_t *one = json_pack("{s:s, s:s, s:b, s:o, s:o}", "name", s->name, "panel",
                          s->panel ? s->panel : "", "dashed", s->dashed, "x",
                          ep_json_numbers(s->x, s->count), "y", ep_json_numbers(s->y, s->count));
  EP_CHECK(one, EP_ERR_NOMEM, "no memory for a figure");
  bool ok = json_array_append_new(json_object_get(figure, "series"), one) == 0;
  if (ok && s->low) ok = json_object_set_new(one, "low", ep_json_numbers(s->low, s->count)) == 0;
  if (ok && s->high) ok = json_object_set_new(one, "high", ep_json_numbers(s->high, s->count)) == 0;
  if (ok && s->label) ok = json_object_set_new(one, "label", integers(s->label, s->count)) == 0;
  EP_CHECK(ok, EP_ERR_NOMEM, "no memory for a figure");
  return EP_OK;
}

ep_status ep_figure_rule(json_t *figure, char axis, double value, const char *text) {
  const char name[2] = {axis, 0};
  json_t *rule =
      json_pack("{s:s, s:o, s:s}", "axis", name, "value", ep_json_number(value), "text", text);
  EP_CHECK(rule && json_array_append_new(json_object_get(figure, "rules"), rule) == 0, EP_ERR_NOMEM,
           "no memory for a figure");
  return EP_OK;
}

/* ---- CSV */

/* Quoted where a comma, a quote or a line end would be misread. */
static void put_text(FILE *to, const char *text) {
  if (!text) return;
  const bool quote = strpbrk(text, ",\"\r\n") != NULL;
  if (quote) fputc('"', to);
  for (; *text; text++) {
    if (*text == '"') fputc('"', to);
    fputc(*text, to);
  }
  if (quote) fputc('"', to);
}

/* The fewest digits that are read back as the same number. */
static void put_number(FILE *to, const json_t *x) {
  if (!json_is_number(x)) return;
  char text[40];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, json_number_value(x));
    if (strtod(text, NULL) == json_number_value(x)) break;
  }
  fputs(text, to);
}

ep_status ep_figure_write_csv(const char *path, const json_t *figure) {
  static const char *const columns[] = {"x", "y", "low", "high", "label"};
  ep_file f;
  size_t k;
  const json_t *s;
  EP_TRY(ep_file_open(&f, path));
  fputs("series,panel,x,y,low,high,label\n", f.stream);
  json_array_foreach(json_object_get(figure, "series"), k, s) {
    for (size_t i = 0; i < json_array_size(json_object_get(s, "x")); i++) {
      put_text(f.stream, json_string_value(json_object_get(s, "name")));
      fputc(',', f.stream);
      put_text(f.stream, json_string_value(json_object_get(s, "panel")));
      for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        fputc(',', f.stream);
        put_number(f.stream, json_array_get(json_object_get(s, columns[c]), i));
      }
      fputc('\n', f.stream);
    }
  }
  return ep_file_commit(&f);
}
