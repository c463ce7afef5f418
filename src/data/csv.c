/* Tables of numbers as text: one row a line, fields apart by comma, semicolon, tab or blanks. */
#include "core/mem.h"
#include "data/parse.h"

#include <eigenpair/run.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
  const unsigned char *p, *end;
} span;

/* The lines that are left; `number` is that of the line last taken. */
typedef struct {
  span rest;
  size_t number;
} lines;

typedef struct {
  const char *name;
  char separator; /* ' ' stands for any run of blanks and tabs */
  ptrdiff_t cols;
  double *values;
  ptrdiff_t used;
} table;

static span trimmed(span s) {
  while (s.p < s.end && (*s.p == ' ' || *s.p == '\t' || *s.p == '\r')) s.p++;
  while (s.p < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t' || s.end[-1] == '\r')) s.end--;
  return s;
}

/* The next line that is neither empty nor a comment, without its line break; tabs at its ends stay,
 * for they may stand around an empty field. */
static bool next_line(span *line, lines *l) {
  while (l->rest.p < l->rest.end) {
    const size_t left = (size_t)(l->rest.end - l->rest.p);
    const unsigned char *stop = memchr(l->rest.p, '\n', left);
    *line = (span){l->rest.p, stop ? stop : l->rest.end};
    l->rest.p = stop ? stop + 1 : l->rest.end;
    l->number++;
    if (line->p < line->end && line->end[-1] == '\r') line->end--;
    const span inside = trimmed(*line);
    if (inside.p < inside.end && *inside.p != '#') return true;
  }
  return false;
}

/* Cuts the next field off the line; false when there is none left, which line->p == NULL tells (an
 * empty rest is still a field: the one after a separator at the end). */
static bool next_field(span *field, span *line, char separator) {
  if (!line->p) return false;
  if (separator == ' ') *line = trimmed(*line);
  const unsigned char *stop = line->p;
  while (stop < line->end && *stop != (unsigned char)separator &&
         !(separator == ' ' && *stop == '\t'))
    stop++;
  *field = trimmed((span){line->p, stop});
  line->p = stop < line->end ? stop + 1 : NULL;
  return true;
}

/* ---- one number, whatever the locale */

static bool is_digit(const span *s) { return s->p < s->end && *s->p >= '0' && *s->p <= '9'; }

/* Digits into m until it holds 18 of them; returns how many were read, *kept how many went in. */
static int digits(span *s, uint64_t *m, int *kept) {
  int n = 0;
  for (; is_digit(s); s->p++, n++)
    if (*m < 100000000000000000u) *m = *m * 10 + (uint64_t)(*s->p - '0'), ++*kept;
  return n;
}

enum { LONGEST = 500 }; /* characters of a number */

/* The slow and always right way, for what does not fit 53 bits; the "C" locale is in force. */
static bool by_library(double *out, span s) {
  char text[LONGEST + 1];
  const size_t n = (size_t)(s.end - s.p);
  memcpy(text, s.p, n);
  text[n] = '\0';
  *out = strtod(text, NULL);
  return true;
}

static bool special(double *out, span s) {
  static const struct {
    const char *word;
    double value;
  } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"infinity", INFINITY}};
  const bool minus = s.p < s.end && *s.p == '-';
  if (s.p < s.end && (*s.p == '-' || *s.p == '+')) s.p++;
  const size_t n = (size_t)(s.end - s.p);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i].word) == n && strncasecmp((const char *)s.p, words[i].word, n) == 0) {
      *out = minus ? -words[i].value : words[i].value;
      return true;
    }
  return false;
}

/* [e][sign]digits; false if there is an e without digits */
static bool exponent(int *out, span *s) {
  *out = 0;
  if (s->p == s->end || (*s->p != 'e' && *s->p != 'E')) return true;
  s->p++;
  const bool minus = s->p < s->end && *s->p == '-';
  if (s->p < s->end && (*s->p == '-' || *s->p == '+')) s->p++;
  if (!is_digit(s)) return false;
  for (; is_digit(s); s->p++)
    if (*out < 100000) *out = *out * 10 + (*s->p - '0');
  if (minus) *out = -*out;
  return true;
}

/* [sign]digits[.digits][e[sign]digits] = m 10^e; exact when m < 2^53 and |e| <= 22 (Clinger) */
static bool number(double *out, span s) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (s.end - s.p >= 2 && *s.p == '"' && s.end[-1] == '"') s = trimmed((span){s.p + 1, s.end - 1});
  if (s.end - s.p > LONGEST) return false;
  const span whole = s;
  uint64_t m = 0;
  int kept = 0, e;
  const bool minus = s.p < s.end && *s.p == '-';
  if (s.p < s.end && (*s.p == '-' || *s.p == '+')) s.p++;
  const int before = digits(&s, &m, &kept), lost = before - kept;
  int after = 0;
  kept = 0;
  if (s.p < s.end && *s.p == '.') s.p++, after = digits(&s, &m, &kept);
  if (before + after == 0) return special(out, whole);
  if (!exponent(&e, &s) || s.p != s.end) return false;
  if (lost > 0 || kept < after || m >= (uint64_t)1 << 53) return by_library(out, whole);
  e -= kept;
  if (e < -22 || e > 22) return by_library(out, whole);
  const double x = e < 0 ? (double)m / powers[-e] : (double)m * powers[e];
  *out = minus ? -x : x;
  return true;
}

bool ep_parse_number(double *out, const char *text, size_t size) {
  const unsigned char *p = (const unsigned char *)text;
  return number(out, trimmed((span){p, p + size}));
}

/* ---- the table */

static ep_status bad_field(const table *t, size_t line, ptrdiff_t col, span field) {
  const int n = field.end - field.p > 40 ? 40 : (int)(field.end - field.p);
  EP_CHECK(n > 0, EP_ERR_INPUT, "%s: line %zu, column %td: is empty; every field must be a number",
           t->name, line, col);
  char text[41];
  for (int i = 0; i < n; i++)
    text[i] = field.p[i] < 32 || field.p[i] == 127 ? '?' : (char)field.p[i];
  text[n] = '\0';
  return EP_FAIL(EP_ERR_INPUT, "%s: line %zu, column %td: '%s' is not a number", t->name, line, col,
                 text);
}

/* The fields of one row, t->cols of them, to the end of the table's values. */
static ep_status parse_row(table *t, span line, size_t number_of_line) {
  span field;
  ptrdiff_t col = 0;
  while (next_field(&field, &line, t->separator)) {
    double x;
    col++;
    if (!number(&x, field)) return bad_field(t, number_of_line, col, field);
    if (col <= t->cols) t->values[t->used++] = x;
  }
  EP_CHECK(col == t->cols, EP_ERR_INPUT, "%s: line %zu has %td fields, the lines before it %td",
           t->name, number_of_line, col, t->cols);
  return EP_OK;
}

static char find_separator(span line) {
  for (const char *s = ",;\t"; *s; s++)
    if (memchr(line.p, *s, (size_t)(line.end - line.p))) return *s;
  return ' ';
}

/* The second line is more likely to be numbers than the first; if it has one field only, it does
 * not tell. */
static char common_separator(span first, span second) {
  span field;
  const char separator = find_separator(second);
  next_field(&field, &second, ' ');
  return separator == ' ' && !second.p ? find_separator(first) : separator;
}

/* *numeric: one of the fields is a number. A line with one number in it is no header: a word among its
 * numbers is a mistake that parse_row names, not a line to lose. */
static ptrdiff_t count_fields(span line, char separator, bool *numeric) {
  span field;
  ptrdiff_t n = 0;
  double x;
  for (*numeric = false; next_field(&field, &line, separator); n++)
    if (!*numeric && number(&x, field)) *numeric = true;
  return n;
}

/* Looks at the first two lines: the separator, the header if there is one (then it is skipped), the
 * number of columns. */
static ep_status look(table *t, lines *l) {
  span first, second;
  bool numeric;
  EP_CHECK(next_line(&first, l), EP_ERR_INPUT, "%s: is empty", t->name);
  const lines after_first = *l;
  const bool more = next_line(&second, l);
  t->separator = more ? common_separator(first, second) : find_separator(first);
  t->cols = count_fields(first, t->separator, &numeric);
  *l = after_first;
  if (!numeric && more) { /* a lone line of words is no header: parse_row tells what is wrong */
    t->cols = count_fields(second, t->separator, &numeric);
    return EP_OK;
  }
  l->rest.p = first.p;
  l->number--;
  return EP_OK;
}

enum { STEP = 1 << 22 }; /* bytes between two looks at whether to stop */

ep_status ep_parse_step(size_t *looked, size_t at, size_t all) {
  if (at - *looked < STEP) return EP_OK;
  *looked = at;
  return ep_run_step("reading", (double)at, (double)all);
}

static ep_status count_rows(ptrdiff_t *rows, lines l, size_t size) {
  span line;
  size_t looked = 0;
  for (*rows = 0; next_line(&line, &l); ++*rows)
    EP_TRY(ep_parse_step(&looked, size - (size_t)(l.rest.end - l.rest.p), size));
  return EP_OK;
}

static ep_status parse_rows(table *t, lines l, size_t size) {
  span line;
  ptrdiff_t rows;
  size_t looked = 0;
  EP_TRY(count_rows(&rows, l, size));
  /* a value and what ends it take two bytes, so a ragged table cannot ask for more than this */
  const ptrdiff_t most = (ptrdiff_t)(size / 2 + 1);
  const ptrdiff_t room = rows > most / t->cols ? most : rows * t->cols;
  t->values = ep_alloc(room, sizeof *t->values);
  EP_CHECK(t->values, EP_ERR_NOMEM, "%s: no memory for %td numbers", t->name, room);
  while (next_line(&line, &l)) {
    EP_TRY(ep_parse_step(&looked, size - (size_t)(l.rest.end - l.rest.p), size));
    EP_TRY(parse_row(t, line, l.number));
  }
  return EP_OK;
}

static ep_status parse_table(table *t, const unsigned char *bytes, size_t size) {
  lines l = {{bytes, bytes + size}, 0};
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) l.rest.p += 3; /* byte order mark */
  EP_TRY(look(t, &l));
  return parse_rows(t, l, size);
}

ep_status ep_plain_numbers_begin(ep_plain_numbers *n) {
  n->plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  EP_CHECK(n->plain != (locale_t)0, EP_ERR_NOMEM, "no memory for a locale");
  n->before = uselocale(n->plain);
  return EP_OK;
}

void ep_plain_numbers_end(ep_plain_numbers *n) {
  uselocale(n->before);
  freelocale(n->plain);
}

ep_status ep_parse_csv(ep_array *a, const unsigned char *bytes, size_t size, const char *name) {
  table t = {.name = name};
  ep_plain_numbers numbers;
  *a = (ep_array){.owner = NULL};
  EP_CHECK(size > 0, EP_ERR_INPUT, "%s: is empty", name);
  EP_TRY(ep_plain_numbers_begin(&numbers));
  const ep_status st = parse_table(&t, bytes, size);
  ep_plain_numbers_end(&numbers);
  if (st) {
    ep_release(t.values);
    return st;
  }
  *a = (ep_array){.dtype = EP_F64,
                  .ndim = 2,
                  .shape = {t.used / t.cols, t.cols},
                  .data = (unsigned char *)t.values,
                  .owner = t.values};
  return EP_OK;
}
