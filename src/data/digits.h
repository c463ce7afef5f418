#pragma once
#include <stdbool.h>
#include <stddef.h>

/* A gzipped IDX file of the embedded digits. */
const unsigned char *ep_digits(size_t *size, bool test, bool labels);
