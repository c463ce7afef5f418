#include "core/words.h"

#include <ctype.h>
#include <eigenpair/options.h>
#include <math.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

static void *field(const ep_option *o, const void *config) {
  return (char *)(uintptr_t)config + o->offset;
}

static size_t capacity(const ep_option *o) {
  return o->kind == EP_OPT_NAME   ? sizeof(ep_opt_NAME)
         : o->kind == EP_OPT_TEXT ? sizeof(ep_opt_TEXT)
                                  : sizeof(ep_opt_LIST);
}

/* input_scale and input-scale are the same name */
static bool same_name(const char *a, const char *b) {
  for (; *a && *b; a++, b++)
    if (*a != *b && !((*a == '_' || *a == '-') && (*b == '_' || *b == '-'))) return false;
  return *a == *b;
}

void ep_options_flag(char out[64], const char *name) {
  size_t i = 0;
  for (; name[i] && i < 63; i++) out[i] = name[i] == '_' ? '-' : name[i];
  out[i] = '\0';
}

void ep_options_default(const ep_option *table, void *config) {
  for (const ep_option *o = table; o->name; o++) {
    if (o->kind >= EP_OPT_NAME) ((char *)field(o, config))[0] = '\0';
    if (o->kind == EP_OPT_FLAG) *(ep_opt_FLAG *)field(o, config) = false;
    if (o->def) (void)ep_options_set(o, config, o->def);
  }
}

const ep_option *ep_options_find(const ep_option *table, const char *name) {
  for (const ep_option *o = table; o->name; o++)
    if (same_name(o->name, name)) return o;
  return NULL;
}

ep_status ep_options_name(int *index, const char **parameters, const char *what, const char *text,
                          const char *(*names)(int i)) {
  const size_t length = strcspn(text, ":");
  char known[512] = "", word[64];
  const char *near = NULL;
  size_t least = 3;
  snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), text);
  for (int i = 0; names(i); i++) {
    if (strlen(names(i)) == length && strncmp(names(i), text, length) == 0) {
      *index = i;
      if (parameters) *parameters = text[length] ? text + length + 1 : NULL;
      return EP_OK;
    }
    const size_t used = strlen(known);
    snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names(i));
    ep_word_nearer(&near, &least, word, names(i));
  }
  return near ? EP_FAIL(EP_ERR_ARG, "%s '%s' is not known; did you mean %s? Choose one of: %s",
                        what, text, near, known)
              : EP_FAIL(EP_ERR_ARG, "%s '%s' is not known; choose one of: %s", what, text, known);
}

const char *ep_auto_name(int i) { return i == 0 ? "auto" : NULL; }

static ep_status number(double *out, const ep_option *o, const char *flag, const char *value) {
  char *end;
  *out = EP_AUTO;
  if (o->names && strcmp(value, o->names(0)) == 0) return EP_OK;
  double v = strtod(value, &end);
  EP_CHECK(end != value && isfinite(v), EP_ERR_ARG, "--%s '%s' is not a number", flag, value);
  if (o->kind == EP_OPT_BYTES && *end) {
    const char *units = "KMGT", *u = strchr(units, toupper((unsigned char)*end));
    EP_CHECK(u, EP_ERR_ARG, "--%s '%s': bytes end in K, M, G or T, such as 4G", flag, value);
    v = ldexp(v, 10 * (int)(u - units + 1));
    end++;
    if (*end == 'B' || *end == 'b') end++;
  }
  EP_CHECK(*end == '\0', EP_ERR_ARG, "--%s '%s' is not a number", flag, value);
  EP_CHECK(o->kind != EP_OPT_INT || v == floor(v), EP_ERR_ARG, "--%s %s is not a whole number",
           flag, value);
  EP_CHECK(v >= o->lo && v <= o->hi, EP_ERR_ARG, "--%s %s is out of range: %.15g to %.15g", flag,
           value, o->lo, o->hi);
  *out = v;
  return EP_OK;
}

static ep_status choice(int *index, const ep_option *o, const char *flag, const char *value) {
  char what[72];
  int found = 0;
  EP_CHECK(ep_word_printable(value), EP_ERR_ARG, "--%s '%s' has a control character in it", flag,
           value);
  snprintf(what, sizeof what, "--%s", flag);
  EP_TRY(ep_options_name(&found, NULL, what, value, o->names));
  EP_CHECK(o->hi == 1 || !strchr(value, ':'), EP_ERR_ARG, "--%s '%s': '%.*s' takes no parameters",
           flag, value, (int)strcspn(value, ":"), value);
  if (index) *index = found;
  return EP_OK;
}

ep_status ep_options_set(const ep_option *o, void *config, const char *value) {
  void *at = field(o, config);
  char flag[64];
  double v = 0;
  ep_options_flag(flag, o->name);
  switch (o->kind) {
    case EP_OPT_FLAG: *(ep_opt_FLAG *)at = strcmp(value, "false") != 0; return EP_OK;
    case EP_OPT_INT:
      EP_TRY(number(&v, o, flag, value));
      *(ep_opt_INT *)at = (long)v;
      return EP_OK;
    case EP_OPT_REAL:
    case EP_OPT_BYTES:
      EP_TRY(number(&v, o, flag, value));
      *(ep_opt_REAL *)at = v;
      return EP_OK;
    case EP_OPT_CHOICE: return choice(at, o, flag, value);
    default: break;
  }
  char *text = at;
  const size_t used = o->kind == EP_OPT_LIST ? strlen(text) : 0;
  EP_CHECK(used + strlen(value) + 2 <= capacity(o), EP_ERR_ARG, "--%s is too long", flag);
  EP_CHECK(!strchr(value, '\n'), EP_ERR_ARG, "--%s has a line break in it", flag);
  EP_CHECK(ep_word_printable(value), EP_ERR_ARG, "--%s '%s' has a control character in it", flag,
           value);
  if (o->names) EP_TRY(choice(NULL, o, flag, value));
  snprintf(text + used, capacity(o) - used, "%s%s", used ? "\n" : "", value);
  return EP_OK;
}

static json_t *to_json(const ep_option *o, const void *config) {
  const void *at = field(o, config);
  if (o->names && ((o->kind == EP_OPT_INT && *(const ep_opt_INT *)at == EP_AUTO) ||
                   (o->kind == EP_OPT_REAL && *(const ep_opt_REAL *)at == EP_AUTO)))
    return json_string(o->names(0));
  switch (o->kind) {
    case EP_OPT_FLAG: return json_boolean(*(const ep_opt_FLAG *)at);
    case EP_OPT_INT: return json_integer(*(const ep_opt_INT *)at);
    case EP_OPT_REAL:
    case EP_OPT_BYTES: return json_real(*(const ep_opt_REAL *)at);
    case EP_OPT_CHOICE: return json_string(o->names(*(const ep_opt_CHOICE *)at));
    default: return json_string(at);
  }
}

static bool is_text(const ep_option *o, const void *config) {
  return ep_word_utf8(field(o, config), strlen(field(o, config)));
}

ep_status ep_options_to_json(json_t *object, const ep_option *table, const void *config) {
  for (const ep_option *o = table; o->name; o++) {
    EP_CHECK(o->kind < EP_OPT_NAME || is_text(o, config), EP_ERR_INPUT,
             "option %s cannot be written as JSON: it is not UTF-8", o->name);
    EP_CHECK(json_object_set_new(object, o->name, to_json(o, config)) == 0, EP_ERR_NOMEM,
             "no memory for option %s as JSON", o->name);
  }
  return EP_OK;
}

static ep_status from_json(const ep_option *o, void *config, const json_t *value) {
  char text[64];
  if (json_is_string(value)) {
    if (o->kind >= EP_OPT_TEXT) { /* a LIST comes back whole, with its line breaks */
      const char *s = json_string_value(value);
      EP_CHECK(strlen(s) + 1 <= capacity(o), EP_ERR_INPUT, "option %s is too long", o->name);
      EP_CHECK(ep_word_printable(s) && (o->kind == EP_OPT_LIST || !strchr(s, '\n')), EP_ERR_INPUT,
               "option %s has a control character in it", o->name);
      memcpy(field(o, config), s, strlen(s) + 1);
      return EP_OK;
    }
    return ep_options_set(o, config, json_string_value(value));
  }
  if (json_is_boolean(value))
    return ep_options_set(o, config, json_is_true(value) ? "true" : "false");
  EP_CHECK(json_is_number(value), EP_ERR_INPUT, "option %s has the wrong type in JSON", o->name);
  snprintf(text, sizeof text, "%.17g", json_number_value(value));
  return ep_options_set(o, config, text);
}

ep_status ep_options_from_json(const ep_option *table, void *config, const json_t *object) {
  for (const ep_option *o = table; o->name; o++) {
    const json_t *value = json_object_get(object, o->name);
    if (value) EP_TRY(from_json(o, config, value));
  }
  return EP_OK;
}

static const char *placeholder(const ep_option *o) {
  static const char *const words[] = {"N", "X", "BYTES", "", "NAME", "NAME", "TEXT", "FILE"};
  return words[o->kind];
}

void ep_options_help(const ep_option *table, FILE *to) {
  for (const ep_option *o = table; o->name; o++) {
    char flag[64];
    ep_options_flag(flag, o->name);
    const int n = fprintf(to, "  --%s %s", flag, placeholder(o));
    fprintf(to, "%*s%s", n < 26 ? 26 - n : 1, "", o->help);
    if (o->def && *o->def && o->kind != EP_OPT_FLAG) fprintf(to, " (default %s)", o->def);
    fputc('\n', to);
    if (!o->names) continue;
    fprintf(to, "%26s", "");
    for (int i = 0; o->names(i); i++) fprintf(to, "%s%s", i ? "|" : "", o->names(i));
    fputc('\n', to);
  }
}
