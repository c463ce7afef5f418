#pragma once
/* SHA-256 (FIPS 180-4), for files that come from elsewhere. */
#include <stddef.h>

/* 64 hexadecimal digits and a zero. */
void ep_sha256(char hex[65], const unsigned char *data, size_t size);
