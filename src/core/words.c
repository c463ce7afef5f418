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
