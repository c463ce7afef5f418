#pragma once
/* Archives from descriptions, so that mutations reach what stands behind container and header. A description is a list of
 * members:  name (1 byte, of the table), kind (1), rows (1), columns (1), length (2, little endian), so many bytes.
 *   kind % 5 = 0 <f4, 1 <f8, 2 |u1: a .npy of rows x columns (kind >= 128: rows alone) whose values are the bytes, again and
 *   again; 3: a .npy text; 4: the bytes as they are. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST_MEMBERS = 12, ROOM = 1 << 20 };

typedef struct {
  unsigned char *data; /* ROOM bytes */
  size_t used, directory;
  int members;
  unsigned char entries[4096]; /* the central directory */
} archive;

static inline void put_n(unsigned char *to, size_t *at, uint32_t x, int bytes) {
  for (int i = 0; i < bytes; i++) to[(*at)++] = (unsigned char)(x >> (8 * i));
}

/* A stored member: local header and bytes, and its entry in the directory. */
static inline void archive_add(archive *a, const char *name, const unsigned char *bytes,
                               size_t size) {
  const uint32_t crc = (uint32_t)crc32(0, bytes, (unsigned)size), n = (uint32_t)strlen(name);
  if (a->members == MOST_MEMBERS || a->used + size + 1000 > ROOM) return;
  const size_t at = a->used;
  put_n(a->data, &a->used, 0x04034b50, 4);
  for (int k = 0; k < 2; k++) {
    unsigned char *to = k ? a->entries : a->data;
    size_t *used = k ? &a->directory : &a->used;
    if (k) put_n(to, used, 0x02014b50, 4), put_n(to, used, 20, 2);
    put_n(to, used, 20, 2), put_n(to, used, 0, 4), put_n(to, used, 0x00210000, 4);
    put_n(to, used, crc, 4), put_n(to, used, (uint32_t)size, 4), put_n(to, used, (uint32_t)size, 4);
    put_n(to, used, n, 2), put_n(to, used, 0, 2);
    if (k)
      put_n(to, used, 0, 2), put_n(to, used, 0, 2), put_n(to, used, 0, 2), put_n(to, used, 0, 4);
    if (k) put_n(to, used, (uint32_t)at, 4);
    memcpy(to + *used, name, n), *used += n;
  }
  if (size) memcpy(a->data + a->used, bytes, size);
  a->used += size;
  a->members++;
}

static inline size_t npy_head(char *to, const char *type, int ndim, unsigned rows, unsigned cols) {
  char shape[40] = "";
  if (ndim == 1) snprintf(shape, sizeof shape, "%u,", rows);
  if (ndim == 2) snprintf(shape, sizeof shape, "%u, %u", rows, cols);
  memcpy(to, "\x93NUMPY\x01\x00\x76\x00", 10);
  const int n = snprintf(to + 10, 119, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                         type, shape);
  memset(to + 10 + n, ' ', (size_t)(118 - n));
  to[127] = '\n';
  return 128;
}

/* A text of one array, '<U..', from bytes as Latin-1. */
static inline void archive_text(archive *a, const char *name, const char *text, size_t n) {
  static unsigned char bytes[ROOM];
  char type[20];
  if (n > (ROOM - 2000) / 4) return;
  snprintf(type, sizeof type, "<U%zu", n > 0 ? n : 1);
  size_t used = npy_head((char *)bytes, type, 0, 0, 0);
  for (size_t i = 0; i < (n > 0 ? n : 1); i++)
    put_n(bytes, &used, i < n ? (unsigned char)text[i] : 0, 4);
  archive_add(a, name, bytes, used);
}

static inline void archive_array(archive *a, const char *name, const uint8_t *m,
                                 const uint8_t *bytes, size_t length) {
  static unsigned char out[ROOM];
  static const char *const types[] = {"<f4", "<f8", "|u1"};
  static const unsigned sizes[] = {4, 8, 1};
  const int kind = m[1] % 128 % 5, ndim = m[1] >= 128 ? 1 : 2;
  size_t used = npy_head((char *)out, types[kind], ndim, m[2], m[3]);
  const size_t size = sizes[kind] * (size_t)m[2] * (ndim == 2 ? m[3] : 1u);
  for (size_t i = 0; i < size; i++) out[used++] = length ? bytes[i % length] : 0;
  archive_add(a, name, out, used);
}

/* All members of a description; names as the table says. */
static inline void archive_members(archive *a, const uint8_t *bytes, size_t size,
                                   const char *const names[], unsigned count) {
  while (size >= 6) {
    const size_t asked = (size_t)bytes[4] | (size_t)bytes[5] << 8, left = size - 6;
    const size_t length = asked < left ? asked : left;
    const int kind = bytes[1] % 128 % 5;
    const char *name = names[bytes[0] % count];
    if (kind == 3) archive_text(a, name, (const char *)bytes + 6, length);
    else if (kind == 4) archive_add(a, name, bytes + 6, length);
    else archive_array(a, name, bytes, bytes + 6, length);
    bytes += 6 + length;
    size = left - length;
  }
}

static inline void archive_begin(archive *a) {
  static unsigned char room[ROOM + 8192];
  *a = (archive){.data = room};
}

static inline void archive_end(archive *a) {
  const size_t at = a->used;
  memcpy(a->data + at, a->entries, a->directory);
  a->used += a->directory;
  put_n(a->data, &a->used, 0x06054b50, 4), put_n(a->data, &a->used, 0, 4);
  put_n(a->data, &a->used, (uint32_t)a->members, 2),
      put_n(a->data, &a->used, (uint32_t)a->members, 2);
  put_n(a->data, &a->used, (uint32_t)a->directory, 4), put_n(a->data, &a->used, (uint32_t)at, 4);
  put_n(a->data, &a->used, 0, 2);
}

/* The bytes as a file in memory -> its path, the same one for every call. */
static inline const char *as_file(const void *bytes, size_t size) {
  static int fd = -1;
  static char path[40];
  if (fd < 0) fd = memfd_create("fuzz", 0);
  if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, bytes, size, 0) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return path;
}
