/* Text -> cells, and what is in a cell. */
#include "data/cells.h"

#include "core/mem.h"
#include "core/words.h"
#include "data/parse.h"

#include <ctype.h>
#include <eigenpair/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct {
  const unsigned char *p, *end, *begin;
  size_t line;   /* of p */
  size_t looked; /* how far it was when it looked whether to stop */
  char separator;
  const char *name;
} scan;

static bool is_blank(int c) { return c == ' ' || c == '\t' || c == '\r'; }

/* To the beginning of the next row; false: there is none. */
static bool next_row(scan *s) {
  while (s->p < s->end) {
    const unsigned char *q = s->p;
    while (q < s->end && is_blank(*q)) q++;
    if (q < s->end && *q != '\n' && *q != '#') return true;
    const unsigned char *stop = memchr(q, '\n', (size_t)(s->end - q));
    s->p = stop ? stop + 1 : s->end;
    s->line++;
  }
  return false;
}

static bool ends_cell(const scan *s, int c) {
  return c == '\n' || c == s->separator || (s->separator == ' ' && c == '\t');
}

static void skip_blanks(scan *s) {
  while (s->p < s->end && is_blank(*s->p) && (s->separator == ' ' || *s->p != s->separator)) s->p++;
}

/* A byte of a cell; what would speak to a terminal becomes a blank. `out` NULL: only counted. */
static void put(char *out, size_t *n, unsigned char c) {
  const bool after_c2 = *n > 0 && out && (unsigned char)out[*n - 1] == 0xc2;
  if (out) out[*n] = c < 32 || c == 127 ? ' ' : (char)c;
  if (after_c2 && c >= 0x80 && c < 0xa0) out[*n - 1] = out[*n] = ' ';
  ++*n;
}

/* "..." with "" for a quote in it */
static ep_status quoted(scan *s, char *out, size_t *n) {
  const size_t begin = s->line;
  for (s->p++; s->p < s->end; s->p++) {
    if (*s->p == '\n') s->line++;
    if (*s->p != '"') put(out, n, *s->p);
    else if (s->p + 1 < s->end && s->p[1] == '"') put(out, n, *s->p++);
    else return s->p++, EP_OK;
  }
  return EP_FAIL(EP_ERR_INPUT, "%s: the quote that begins in line %zu is not closed", s->name,
                 begin);
}

/* The next cell of a row, trimmed and ended by a zero, *n characters; *last: the row ends behind it. */
static ep_status next_cell(scan *s, char *out, size_t *n, bool *last) {
  *n = 0;
  EP_TRY(ep_parse_step(&s->looked, (size_t)(s->p - s->begin), (size_t)(s->end - s->begin)));
  skip_blanks(s);
  if (s->p < s->end && *s->p == '"') EP_TRY(quoted(s, out, n));
  for (; s->p < s->end && !ends_cell(s, *s->p); s->p++) put(out, n, *s->p);
  while (out && *n && is_blank(out[*n - 1])) --*n;
  if (out) out[*n] = '\0';
  if (s->separator == ' ') skip_blanks(s);
  *last = s->p == s->end || *s->p == '\n';
  if (s->p < s->end && (*s->p == '\n' || s->separator != ' ')) s->line += *s->p++ == '\n';
  return EP_OK;
}

static ep_status count_row(ptrdiff_t *cells, scan *s) {
  bool last = false;
  size_t n;
  for (*cells = 0; !last; ++*cells) EP_TRY(next_cell(s, NULL, &n, &last));
  return EP_OK;
}

/* The separator that cuts the first two rows into the same number of cells, and into most. */
static ep_status find_separator(char *best, scan s) {
  static const char known[] = ",;\t ";
  ptrdiff_t most = 1;
  *best = ',';
  for (const char *k = known; *k; k++) {
    scan try = s;
    ptrdiff_t first = 0, second = 0;
    try.separator = *k;
    ep_status st = next_row(&try) ? count_row(&first, &try) : EP_ERR_INPUT;
    if (st == EP_OK && next_row(&try)) st = count_row(&second, &try);
    if (st == EP_ERR_INTERRUPTED) return st;
    if (st || (second && second != first)) continue;
    if (first > most && (*k != ' ' || most == 1)) most = first, *best = *k;
  }
  return EP_OK;
}

/* rows and columns; every row has as many cells as the first */
static ep_status measure(ep_cells *c, scan s) {
  ptrdiff_t n;
  while (next_row(&s)) {
    const size_t line = s.line;
    EP_TRY(count_row(&n, &s));
    if (c->rows == 0) c->cols = n;
    EP_CHECK(n == c->cols, EP_ERR_INPUT, "%s: line %zu has %td fields, the lines before it %td",
             s.name, line, n, c->cols);
    c->rows++;
  }
  EP_CHECK(c->rows > 0, EP_ERR_INPUT, "%s: is empty", s.name);
  return EP_OK;
}

static ep_status fill(ep_cells *c, scan s, size_t size) {
  bool last;
  size_t n;
  c->text = ep_alloc((ptrdiff_t)size + 2, 1);
  c->cell = ep_alloc(c->rows * c->cols, sizeof *c->cell);
  c->line = ep_alloc(c->rows, sizeof *c->line);
  EP_CHECK(c->text && c->cell && c->line, EP_ERR_NOMEM, "%s: no memory for a table of %td x %td",
           s.name, c->rows, c->cols);
  char *to = c->text; /* a cell and its zero take no more than the cell and what ends it */
  for (ptrdiff_t i = 0; i < c->rows && next_row(&s); i++) {
    c->line[i] = s.line;
    for (ptrdiff_t j = 0; j < c->cols; j++) {
      EP_TRY(next_cell(&s, to, &n, &last));
      c->cell[i * c->cols + j] = to;
      to += n + 1;
    }
  }
  return EP_OK;
}

/* ---- names */

/* A first line without a number is a header, if anything follows it. A lone column of words whose first one comes again
 * has none: these are labels. */
static bool has_header(const ep_cells *c) {
  double x;
  for (ptrdiff_t i = 1; c->cols == 1 && i < c->rows; i++)
    if (strcmp(c->cell[i], c->cell[0]) == 0) return false;
  for (ptrdiff_t j = 0; j < c->cols; j++)
    if (ep_cell_number(&x, c->cell[j], '.') || ep_cell_number(&x, c->cell[j], ',')) return false;
  return c->rows > 1;
}

/* name, name.2, name.3, ..; without one the number of the column. times: how many were called so, by name, which keeps
 * many of one name from being counted through again and again. */
static ep_status set_name(ep_cells *c, json_t *times, ptrdiff_t j, char *to, size_t room) {
  char number[24];
  snprintf(number, sizeof number, "%td", j + 1);
  const char *name = c->header && *c->cell[j] ? c->cell[j] : number;
  const json_t *before = json_object_get(times, name);
  long long again = before ? json_integer_value(before) : 1;
  snprintf(to, room, "%s", name);
  while (json_object_get(c->index, to)) snprintf(to, room, "%s.%lld", name, ++again);
  if (again > 1) EP_TRY(ep_json_put(times, name, json_integer(again)));
  c->name[j] = to;
  return ep_json_put(c->index, to, json_integer((json_int_t)j));
}

static ep_status set_names(ep_cells *c, json_t *times, const char *file) {
  size_t room = 0;
  for (ptrdiff_t j = 0; j < c->cols; j++) room += (c->header ? strlen(c->cell[j]) : 0) + 32;
  c->name = ep_alloc(c->cols, sizeof *c->name);
  c->names = ep_alloc((ptrdiff_t)room, 1);
  c->index = json_object();
  EP_CHECK(c->name && c->names && c->index && times, EP_ERR_NOMEM,
           "%s: no memory for %td names of columns", file, c->cols);
  char *to = c->names;
  for (ptrdiff_t j = 0; j < c->cols; j++) {
    const size_t mine = (c->header ? strlen(c->cell[j]) : 0) + 32;
    EP_TRY(set_name(c, times, j, to, mine));
    to += mine;
  }
  return EP_OK;
}

static ep_status name_columns(ep_cells *c, const char *file) {
  c->header = has_header(c);
  json_t *times = json_object();
  const ep_status st = set_names(c, times, file);
  json_decref(times);
  EP_TRY(st);
  if (!c->header) return EP_OK;
  c->rows--;
  memmove(c->cell, c->cell + c->cols, (size_t)(c->rows * c->cols) * sizeof *c->cell);
  memmove(c->line, c->line + 1, (size_t)c->rows * sizeof *c->line);
  return EP_OK;
}

static ep_status check_text(const unsigned char *bytes, size_t size, const char *name) {
  EP_CHECK(ep_word_utf8((const char *)bytes, size), EP_ERR_INPUT,
           "%s: is not in UTF-8; convert it: iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW", name);
  return EP_OK;
}

static ep_status parse(ep_cells *c, const unsigned char *bytes, size_t size, const char *name) {
  const size_t mark = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  EP_TRY(check_text(bytes, size, name));
  scan s = {bytes + mark, bytes + size, bytes, 1, 0, ',', name};
  EP_TRY(find_separator(&c->separator, s));
  s.separator = c->separator;
  EP_TRY(measure(c, s));
  EP_TRY(fill(c, s, size));
  return name_columns(c, name);
}

ep_status ep_cells_parse(ep_cells *out, const unsigned char *bytes, size_t size, const char *name) {
  *out = (ep_cells){0};
  const ep_status st = parse(out, bytes, size, name);
  if (st) ep_cells_free(out);
  return st;
}

void ep_cells_free(ep_cells *c) {
  ep_release(c->cell);
  ep_release(c->line);
  ep_release(c->name);
  ep_release(c->text);
  ep_release(c->names);
  json_decref(c->index);
  *c = (ep_cells){0};
}

ptrdiff_t ep_cells_find(const ep_cells *c, const char *name) {
  char *end;
  const int j = ep_text_place(c->index, name);
  if (j >= 0) return j;
  const long number = strtol(name, &end, 10);
  return *name && !*end && number >= 1 && number <= c->cols ? number - 1 : -1;
}

/* ---- values */

bool ep_cell_is_missing(const char *cell) {
  static const char *const words[] = {"", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasecmp(cell, words[i]) == 0) return true;
  return false;
}

static bool three_digits(const char *p) {
  return isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]) &&
         isdigit((unsigned char)p[2]) && !isdigit((unsigned char)p[3]);
}

bool ep_cell_number(double *x, const char *cell, char decimal) {
  char plain[512];
  size_t n = 0;
  bool whole = true; /* before the decimal sign */
  const char between = decimal == ',' ? '.' : ',';
  for (const char *p = cell; *p; p++) {
    if (n + 1 >= sizeof plain) return false;
    if (*p == between) {
      if (!whole || n == 0 || !isdigit((unsigned char)plain[n - 1]) || !three_digits(p + 1))
        return false;
      continue;
    }
    whole = whole && *p != decimal;
    plain[n++] = *p == decimal ? '.' : *p;
  }
  plain[n] = '\0';
  return n > 0 && ep_parse_number(x, plain, n);
}

/* days from 1970-01-01 in the Gregorian calendar (Hinnant's days_from_civil) */
static double days(int y, int m, int d) {
  y -= m <= 2;
  const int era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
  const int of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int of_days = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
  return era * 146097.0 + of_days - 719468;
}

static bool is_day(int y, int m, int d) {
  static const int most[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
  return m >= 1 && m <= 12 && d >= 1 && d <= most[m - 1] + (m == 2 && leap);
}

/* digits with these signs between them: "0000-00-00" */
static bool looks_like(const char *text, const char *form) {
  for (; *form; text++, form++)
    if (*form == '0' ? !isdigit((unsigned char)*text) : *text != *form) return false;
  return true;
}

static int digits_at(const char *text, int from, int count) {
  int x = 0;
  for (int i = from; i < from + count; i++) x = x * 10 + (text[i] - '0');
  return x;
}

/* [T ]HH:MM[:SS] -> share of a day */
static bool clock_time(double *share, const char *text) {
  *share = 0;
  if (!*text) return true;
  const bool seconds = looks_like(text + 1, "00:00:00"), minutes = looks_like(text + 1, "00:00");
  if ((*text != ' ' && *text != 'T') || !minutes) return false;
  const char *rest = text + (seconds ? 9 : 6);
  if (*rest && strcmp(rest, "Z") != 0) return false;
  const int h = digits_at(text, 1, 2), m = digits_at(text, 4, 2),
            s = seconds ? digits_at(text, 7, 2) : 0;
  *share = (h * 3600 + m * 60 + s) / 86400.0;
  return h < 24 && m < 60 && s < 61;
}

bool ep_cell_date(double *x, const char *cell) {
  const bool year_first = looks_like(cell, "0000-00-00") || looks_like(cell, "0000/00/00");
  double share;
  if (!year_first && !looks_like(cell, "00.00.0000")) return false;
  const int y = digits_at(cell, year_first ? 0 : 6, 4), m = digits_at(cell, year_first ? 5 : 3, 2),
            d = digits_at(cell, year_first ? 8 : 0, 2);
  if (!is_day(y, m, d) || !clock_time(&share, cell + 10)) return false;
  *x = days(y, m, d) + share;
  return true;
}
