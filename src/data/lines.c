/* A text with a line for each point. */
#include "core/file.h"
#include "core/mem.h"
#include "core/words.h"
#include "data/table.h"

#include <string.h>

/* The line at `at`, which is moved behind it; *size without its end. NULL: none is left. What follows the last end is no
 * line. */
static const char *next_line(size_t *size, const char **at, const char *end) {
  const char *line = *at;
  if (line == end) return NULL;
  const char *stop = memchr(line, '\n', (size_t)(end - line));
  *at = stop ? stop + 1 : end;
  *size = (size_t)((stop ? stop : end) - line);
  if (*size && line[*size - 1] == '\r') --*size;
  return line;
}

static ptrdiff_t count_lines(const char *at, const char *end) {
  size_t size;
  ptrdiff_t n = 0;
  while (next_line(&size, &at, end)) n++;
  return n;
}

static ep_status add_lines(json_t *lines, const char *at, const char *end, const char *path) {
  size_t size, n = 0;
  for (const char *line; (line = next_line(&size, &at, end)); n++) {
    EP_CHECK(ep_word_utf8(line, size), EP_ERR_INPUT, "%s: line %zu is not UTF-8", path, n + 1);
    EP_CHECK(!memchr(line, '\0', size), EP_ERR_INPUT, "%s: line %zu has a zero byte", path, n + 1);
    EP_TRY(ep_json_append(lines, json_stringn_nocheck(line, size)));
    if (n % 4096 == 0) EP_TRY(ep_run_look());
  }
  return EP_OK;
}

static ep_status parse_lines(json_t *lines, const char *text, size_t size, const char *path,
                             ptrdiff_t rows) {
  enum { STRING = 80 }; /* bytes that jansson takes for one besides its letters */
  const size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  const ptrdiff_t n = count_lines(text + mark, text + size);
  EP_CHECK(n == rows, EP_ERR_SHAPE, "%s: %td lines for %td points%s", path, n, rows,
           n == rows + 1 ? "; a header is one too many" : "");
  EP_TRY(ep_file_room((double)size + STRING * (double)n, path));
  return add_lines(lines, text + mark, text + size, path);
}

ep_status ep_lines_read(json_t **lines, const char *path, ptrdiff_t rows) {
  unsigned char *bytes;
  size_t size;
  *lines = NULL;
  EP_TRY(ep_file_read(&bytes, &size, path));
  json_t *list = json_array();
  const ep_status st = list ? parse_lines(list, (const char *)bytes, size, path, rows)
                            : EP_FAIL(EP_ERR_NOMEM, "%s: no memory for its lines", path);
  ep_release(bytes);
  if (st) json_decref(list);
  else *lines = list;
  return st;
}
