#pragma once
/* Words of users: for a "did you mean", and for printing. */
#include <stdbool.h>
#include <stddef.h>

size_t ep_word_edits(const char *a, const char *b); /* letters to change, add or leave out */
/* *best becomes `known` where that is fewer than *least letters from the word, and fewer than it has; *least their number. */
void ep_word_nearer(const char **best, size_t *least, const char *word, const char *known);
/* Texts are printed again: is there nothing in it that would speak to the terminal? Line breaks and tabs may be. */
bool ep_word_printable(const char *text);
bool ep_word_utf8(const char *bytes, size_t size);
