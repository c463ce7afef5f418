/* What a document must be: its vocabulary (report.h, figure.h) as tables, and what tables cannot say. */
#include <eigenpair/report.h>
#include <stdio.h>
#include <string.h>

typedef enum { TEXT, TRUTH, NUMBER, ANY, OBJECT, LIST } kind;
static const char *const kind_names[] = {"text",      "true or false", "a number",
                                         "any value", "an object",     "an array"};

/* A field of an object. LIST and OBJECT: `of` are the fields of (each of) them; LIST without fields: `item` is what each
 * of them is. */
typedef struct field {
  const char *name; /* NULL ends the table */
  kind kind;
  bool needed;
  kind item;
  const struct field *of;
} field;

static const field axis[] = {{"title", TEXT, true, 0, NULL},
                             {"log", TRUTH, false, 0, NULL},
                             {"percent", TRUTH, false, 0, NULL},
                             {0}};
static const field series[] = {{"name", TEXT, true, 0, NULL},
                               {"panel", TEXT, false, 0, NULL},
                               {"dashed", TRUTH, false, 0, NULL},
                               {"x", LIST, true, NUMBER, NULL},
                               {"y", LIST, true, NUMBER, NULL},
                               {"low", LIST, false, NUMBER, NULL},
                               {"high", LIST, false, NUMBER, NULL},
                               {"label", LIST, false, NUMBER, NULL},
                               {0}};
static const field class_name[] = {
    {"label", NUMBER, true, 0, NULL}, {"name", TEXT, true, 0, NULL}, {0}};
static const field rule[] = {{"axis", TEXT, true, 0, NULL},
                             {"value", NUMBER, true, 0, NULL},
                             {"text", TEXT, true, 0, NULL},
                             {0}};
static const field pictures[] = {{"png", TEXT, true, 0, NULL},
                                 {"columns", NUMBER, true, 0, NULL},
                                 {"width", NUMBER, true, 0, NULL},
                                 {"height", NUMBER, true, 0, NULL},
                                 {0}};
static const field figure[] = {{"name", TEXT, true, 0, NULL},
                               {"kind", TEXT, true, 0, NULL},
                               {"title", TEXT, true, 0, NULL},
                               {"alt", TEXT, true, 0, NULL},
                               {"x", OBJECT, true, 0, axis},
                               {"y", OBJECT, true, 0, axis},
                               {"series", LIST, true, 0, series},
                               {"rules", LIST, false, 0, rule},
                               {"classes", LIST, false, 0, class_name},
                               {"pictures", OBJECT, false, 0, pictures},
                               {"named", TRUTH, false, 0, NULL},
                               {0}};
static const field card[] = {{"title", TEXT, true, 0, NULL},       {"badge", TEXT, false, 0, NULL},
                             {"text", TEXT, true, 0, NULL},        {"link", TEXT, false, 0, NULL},
                             {"figure", OBJECT, false, 0, figure}, {0}};
static const field column[] = {{"name", TEXT, true, 0, NULL},
                               {"unit", TEXT, false, 0, NULL},
                               {"format", TEXT, false, 0, NULL},
                               {0}};
static const field table[] = {{"title", TEXT, false, 0, NULL},
                              {"columns", LIST, true, 0, column},
                              {"rows", LIST, true, LIST, NULL},
                              {"folded", TRUTH, false, 0, NULL},
                              {0}};
static const field section[] = {
    {"title", TEXT, true, 0, NULL},    {"badge", TEXT, false, 0, NULL},
    {"text", LIST, false, TEXT, NULL}, {"facts", LIST, false, LIST, NULL},
    {"tables", LIST, false, 0, table}, {"figures", LIST, false, 0, figure},
    {"cards", LIST, false, 0, card},   {0}};
static const field headline[] = {
    {"words", TEXT, true, 0, NULL}, {"command", TEXT, false, 0, NULL}, {0}};
static const field word[] = {
    {"term", TEXT, true, 0, NULL},
    {"means", TEXT, true, 0, NULL},
    {"cell", TRUTH, false, 0, NULL}, /* a link only as the whole of a cell */
    {0}};
static const field answer[] = {{"question", TEXT, true, 0, NULL},
                               {"answer", TEXT, true, 0, NULL},
                               {"words", TEXT, true, 0, NULL},
                               {0}};
static const field document[] = {
    {"title", TEXT, true, 0, NULL},       {"headline", OBJECT, false, 0, headline},
    {"verdict", LIST, false, 0, answer},  {"sections", LIST, true, 0, section},
    {"settings", OBJECT, false, 0, NULL}, {"changed", LIST, false, TEXT, NULL},
    {"glossary", LIST, false, 0, word},   {"command", TEXT, false, 0, NULL},
    {"version", TEXT, false, 0, NULL},    {"machine", ANY, false, 0, NULL},
    {"result", OBJECT, true, 0, NULL},    {0}};

/* ---- the tables */

static bool is(kind k, const json_t *value) {
  switch (k) {
    case TEXT: return json_is_string(value);
    case TRUTH: return json_is_boolean(value);
    case NUMBER: return json_is_number(value) || json_is_null(value); /* null: not finite */
    case OBJECT: return json_is_object(value);
    case LIST: return json_is_array(value);
    default: return true;
  }
}

typedef struct {
  char text[160];
} place; /* sections[1].figures[0] */

static place within(const char *where, const char *name, ptrdiff_t index) {
  place p;
  int n =
      snprintf(p.text, sizeof p.text, "%.100s%s%.40s", where, *where && name[0] ? "." : "", name);
  if (index >= 0) snprintf(p.text + n, sizeof p.text - (size_t)n, "[%td]", index);
  return p;
}

static ep_status check_fields(const char *where, const json_t *object, const field *fields);

static ep_status check_value(const char *where, const json_t *value, const field *f) {
  EP_CHECK(is(f->kind, value), EP_ERR_INPUT, "%s: must be %s", where, kind_names[f->kind]);
  if (f->kind == OBJECT && f->of) return check_fields(where, value, f->of);
  if (f->kind != LIST) return EP_OK;
  for (size_t i = 0; i < json_array_size(value); i++) {
    const place p = within(where, "", (ptrdiff_t)i);
    const json_t *item = json_array_get(value, i);
    EP_CHECK(is(f->of ? OBJECT : f->item, item), EP_ERR_INPUT, "%s: must be %s", p.text,
             kind_names[f->of ? OBJECT : f->item]);
    if (f->of) EP_TRY(check_fields(p.text, item, f->of));
  }
  return EP_OK;
}

static ep_status check_fields(const char *where, const json_t *object, const field *fields) {
  const char *key;
  json_t *value;
  for (const field *f = fields; f->name; f++) {
    value = json_object_get(object, f->name);
    EP_CHECK(value || !f->needed, EP_ERR_INPUT, "%s: '%s' is missing",
             *where ? where : "the document", f->name);
    if (value) EP_TRY(check_value(within(where, f->name, -1).text, value, f));
  }
  json_object_foreach((json_t *)object, key, value) {
    const field *f = fields;
    while (f->name && strcmp(f->name, key) != 0) f++;
    EP_CHECK(f->name, EP_ERR_INPUT, "%s: there is no field '%s'", *where ? where : "the document",
             key);
  }
  return EP_OK;
}

/* ---- what they cannot say */

static ep_status check_series(const char *where, const json_t *s) {
  const size_t count = json_array_size(json_object_get(s, "x"));
  for (const field *f = series; f->name; f++) {
    const json_t *list = json_object_get(s, f->name);
    EP_CHECK(f->kind != LIST || !list || json_array_size(list) == count, EP_ERR_SHAPE,
             "%s: '%s' has %zu numbers, 'x' has %zu", where, f->name, json_array_size(list), count);
  }
  EP_CHECK(!json_object_get(s, "low") == !json_object_get(s, "high"), EP_ERR_INPUT,
           "%s: 'low' and 'high' come together", where);
  return EP_OK;
}

static const char *text_of(const json_t *object, const char *name) {
  return json_string_value(json_object_get(object, name));
}

static ep_status check_figure(const char *where, const json_t *fig) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  const char *name = text_of(fig, "name"), *what = text_of(fig, "kind");
  size_t i;
  const json_t *one;
  EP_CHECK(*name && strspn(name, letters) == strlen(name) && strlen(name) <= 64, EP_ERR_INPUT,
           "%s: the name '%.70s' must be 1 to 64 of a-z, 0-9, - and _", where, name);
  EP_CHECK(strcmp(what, "line") == 0 || strcmp(what, "scatter") == 0, EP_ERR_INPUT,
           "%s: no kind '%s' of figure; there are: line, scatter", where, what);
  json_array_foreach(json_object_get(fig, "series"), i, one)
      EP_TRY(check_series(within(where, "series", (ptrdiff_t)i).text, one));
  json_array_foreach(json_object_get(fig, "rules"), i, one) {
    const char *a = text_of(one, "axis");
    EP_CHECK(strcmp(a, "x") == 0 || strcmp(a, "y") == 0, EP_ERR_INPUT,
             "%s: no axis '%s'; there are: x, y", within(where, "rules", (ptrdiff_t)i).text, a);
  }
  return EP_OK;
}

/* [+][,][.digits][~][type], the part of d3's formats that numbers in a table need */
static bool is_format(const char *f) {
  f += *f == '+';
  f += *f == ',';
  if (*f == '.') {
    const size_t digits = strspn(f + 1, "0123456789");
    if (digits < 1 || digits > 2) return false;
    f += 1 + digits;
  }
  f += *f == '~';
  return !*f || (strchr("defgrs%p", *f) && !f[1]);
}

static ep_status check_table(const char *where, const json_t *t) {
  const json_t *columns = json_object_get(t, "columns"), *one;
  size_t i;
  json_array_foreach(columns, i, one) {
    const char *f = text_of(one, "format");
    EP_CHECK(!f || is_format(f), EP_ERR_INPUT, "%s: '%s' is no format for numbers, such as .3~g",
             within(where, "columns", (ptrdiff_t)i).text, f);
  }
  json_array_foreach(json_object_get(t, "rows"), i, one) {
    EP_CHECK(json_array_size(one) == json_array_size(columns), EP_ERR_SHAPE,
             "%s: has %zu cells, there are %zu columns", within(where, "rows", (ptrdiff_t)i).text,
             json_array_size(one), json_array_size(columns));
    for (size_t c = 0; c < json_array_size(one); c++)
      EP_CHECK(!json_is_object(json_array_get(one, c)) && !json_is_array(json_array_get(one, c)),
               EP_ERR_INPUT, "%s: cell %zu is neither text nor number",
               within(where, "rows", (ptrdiff_t)i).text, c);
  }
  return EP_OK;
}

/* a.html#b, in this folder or one below: nothing that runs or leads elsewhere */
static bool is_beside(const char *link) {
  const char *end = link + strcspn(link, "#");
  for (const char *p = link; p < end; p++)
    if (strchr(":\\?%", *p) || (unsigned char)*p <= ' ' || (*p == '.' && p[1] == '.')) return false;
  return *link != '/' && end - link > 5 && memcmp(end - 5, ".html", 5) == 0;
}

static ep_status check_card(const char *where, const json_t *one) {
  const char *link = text_of(one, "link");
  const json_t *fig = json_object_get(one, "figure");
  EP_CHECK(!link || is_beside(link), EP_ERR_INPUT,
           "%s: '%.100s' is no page beside this one, such as a.html#b", where, link);
  return fig ? check_figure(within(where, "figure", -1).text, fig) : EP_OK;
}

static ep_status check_section(const char *where, const json_t *s) {
  size_t i;
  const json_t *one;
  json_array_foreach(json_object_get(s, "facts"), i, one)
      EP_CHECK(json_array_size(one) == 2 && json_is_string(json_array_get(one, 0)), EP_ERR_INPUT,
               "%s: must be [name, value]", within(where, "facts", (ptrdiff_t)i).text);
  json_array_foreach(json_object_get(s, "tables"), i, one)
      EP_TRY(check_table(within(where, "tables", (ptrdiff_t)i).text, one));
  json_array_foreach(json_object_get(s, "figures"), i, one)
      EP_TRY(check_figure(within(where, "figures", (ptrdiff_t)i).text, one));
  json_array_foreach(json_object_get(s, "cards"), i, one)
      EP_TRY(check_card(within(where, "cards", (ptrdiff_t)i).text, one));
  return EP_OK;
}

/* Two figures of one name would be one file. */
static ep_status check_names(const json_t *sections, json_t *seen) {
  size_t i, k;
  const json_t *s, *f;
  json_array_foreach(sections, i, s) json_array_foreach(json_object_get(s, "figures"), k, f) {
    const char *name = text_of(f, "name");
    EP_CHECK(!json_object_get(seen, name), EP_ERR_INPUT, "two figures are called '%s'", name);
    EP_CHECK(json_object_set_new(seen, name, json_true()) == 0, EP_ERR_NOMEM,
             "no memory for the names of the figures");
  }
  return EP_OK;
}

ep_status ep_report_check(const json_t *doc) {
  size_t i;
  const json_t *s, *sections = json_object_get(doc, "sections");
  EP_CHECK(json_is_object(doc), EP_ERR_INPUT, "the document: must be an object");
  EP_TRY(check_fields("", doc, document));
  json_array_foreach(sections, i, s)
      EP_TRY(check_section(within("", "sections", (ptrdiff_t)i).text, s));
  json_t *seen = json_object();
  EP_CHECK(seen, EP_ERR_NOMEM, "no memory for the names of the figures");
  const ep_status st = check_names(sections, seen);
  json_decref(seen);
  return st;
}
