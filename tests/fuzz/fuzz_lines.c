/* A text with a line for each point: what is accepted has as many lines as were asked for, and gives the text again */
#include "archive.h"
#include "data/table.h"
#include "use.h"

/* a mark in front of all is no part of the text */
static size_t mark(const uint8_t *bytes, size_t size) {
  return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* as many as there are ends, and one more for what follows the last */
static ptrdiff_t lines_of(const uint8_t *bytes, size_t size) {
  const size_t begin = mark(bytes, size);
  ptrdiff_t n = 0;
  for (size_t i = begin; i < size; i++) n += bytes[i] == '\n';
  return n + (size > begin && bytes[size - 1] != '\n');
}

/* the lines with their ends; a return before one may be lost */
static void compare(const json_t *lines, const uint8_t *bytes, size_t size) {
  size_t at = mark(bytes, size), i;
  const json_t *line;
  json_array_foreach(lines, i, line) {
    const size_t n = json_string_length(line);
    if (n > size - at || memcmp(bytes + at, json_string_value(line), n) != 0) abort();
    at += n;
    if (at < size && bytes[at] == '\r') at++;
    if (at < size && bytes[at++] != '\n') abort();
  }
  if (at != size) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  json_t *lines;
  const ptrdiff_t n = lines_of(bytes, size);
  const bool packed = size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; /* unpacked first */
  const char *path = as_file(bytes, size);
  if (!ep_lines_read(&lines, path, n)) {
    if ((ptrdiff_t)json_array_size(lines) != n) abort();
    if (!packed) compare(lines, bytes, size);
  }
  json_decref(lines);
  if (!packed && (!ep_lines_read(&lines, path, n + 1) || lines)) abort();
  if (ep_mem_current() != 0) abort();
  return 0;
}
