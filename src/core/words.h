#pragma once
/* For a "did you mean". */
#include <stddef.h>

size_t ep_word_edits(const char *a, const char *b); /* letters to change, add or leave out */
/* *best becomes `known` where that is fewer than *least letters from the word, and fewer than it has; *least their number. */
void ep_word_nearer(const char **best, size_t *least, const char *word, const char *known);
