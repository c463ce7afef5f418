#include "core/words.h"

#include <string.h>

/* Levenshtein's distance, a row of its table at a time */
size_t ep_word_edits(const char *a, const char *b) {
  size_t row[64], n = strlen(b), diagonal, up;
  if (n > 62) return 99;
  for (size_t j = 0; j <= n; j++) row[j] = j;
  for (size_t i = 1; *a; a++, i++) {
    diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      up = row[j];
      const size_t change = diagonal + (*a != b[j - 1]);
      row[j] = up + 1 < row[j - 1] + 1 ? up + 1 : row[j - 1] + 1;
      if (change < row[j]) row[j] = change;
      diagonal = up;
    }
  }
  return row[n];
}

void ep_word_nearer(const char **best, size_t *least, const char *word, const char *known) {
  const size_t edits = ep_word_edits(word, known);
  if (edits < *least && edits < strlen(word)) *least = edits, *best = known;
}

bool ep_word_printable(const char *text) {
  for (const unsigned char *p = (const unsigned char *)text; *p; p++)
    if ((*p < 32 && *p != '\n' && *p != '\t') || *p == 127 ||
        (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0))
      return false;
  return true;
}

/* How many bytes the character at p has, of `left`; 0: it is none. RFC 3629: 1 to 4 bytes, none longer than needed, no
 * surrogates, none above 10ffff. */
static size_t character(const unsigned char *p, size_t left) {
  const size_t n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
  if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4 || n > left) return 0;
  if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f)) return 0;
  if ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f)) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xc0) != 0x80) return 0;
  return n;
}

bool ep_word_utf8(const char *bytes, size_t size) {
  const unsigned char *p = (const unsigned char *)bytes, *end = p + size;
  while (p < end) {
    const size_t n = character(p, (size_t)(end - p));
    if (n == 0) return false;
    p += n;
  }
  return true;
}
