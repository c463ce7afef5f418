#pragma once
#include <stdint.h>
#include <string.h>

/* FNV-1a, eight bytes at a time where they last; start with EP_HASH_START. */
#define EP_HASH_START 14695981039346656037u
static inline uint64_t ep_hash(uint64_t h, const void *data, size_t bytes) {
  const unsigned char *b = data;
  uint64_t word;
  for (; bytes >= 8; bytes -= 8, b += 8) {
    memcpy(&word, b, 8);
    h = (h ^ word) * 1099511628211u;
    h ^= h >> 29;
  }
  for (; bytes; bytes--, b++) h = (h ^ *b) * 1099511628211u;
  return h;
}
