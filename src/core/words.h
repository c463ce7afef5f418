#pragma once
/* For a "did you mean". */
#include <stddef.h>

size_t ep_word_edits(const char *a, const char *b); /* letters to change, add or leave out */
