#pragma once
/* Archives from descriptions, so that mutations reach what stands behind container and header. A description is a list of
 * members:  name (1 byte, of the table), kind (1), rows (1), columns (1), length (2, little endian), so many bytes.
 *   kind % 5 = 0 <f4, 1 <f8, 2 |u1: a .npy of rows x columns (kind >= 128: rows alone) whose values are the bytes, again and
 *   again; 3: a .npy text; 4: the bytes as they are.
 * A name beyond the table says what is wrong with the container there, by (name / names): see FAULT. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { MOST_MEMBERS = 12, ROOM = 1 << 20 };

enum fault {
  FAULT_NONE,
  FAULT_PACKED, /* none: deflated */
  FAULT_CRC,
  FAULT_LONGER,
  FAULT_SHORTER,
  FAULT_HUGE, /* its size is said to be 4 GB, packed or not */
  FAULT_HUGE_PACKED,
  FAULT_PLACE,
  FAULT_METHOD,
  FAULT_SECRET /* encrypted, it says */
};

typedef struct {
  unsigned char *data; /* ROOM bytes */
  unsigned fault;      /* of the next member */
  size_t used, directory;
  int members;
  unsigned char entries[4096]; /* the central directory */
} archive;

static inline void put_n(unsigned char *to, size_t *at, uint32_t x, int bytes) {
  for (int i = 0; i < bytes; i++) to[(*at)++] = (unsigned char)(x >> (8 * i));
}

/* deflate without a header, as zip has it; NULL: it did not become shorter */
static inline const unsigned char *pack(const unsigned char *bytes, size_t size, size_t *packed) {
  static unsigned char out[ROOM];
  static z_stream z;
  if (!z.state && deflateInit2(&z, 1, Z_DEFLATED, -15, 5, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  deflateReset(&z);
  z.next_in = (unsigned char *)bytes, z.avail_in = (unsigned)size;
  z.next_out = out, z.avail_out = (unsigned)(size < ROOM ? size : ROOM);
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) return NULL;
  *packed = z.total_out;
  return out;
}

/* what both headers say of a member */
typedef struct {
  uint32_t flags, method, crc, packed, size, place;
} said;

static inline said say(const archive *a, uint32_t crc, size_t packed, size_t size, bool deflated) {
  said s = {0, deflated ? 8 : 0, crc, (uint32_t)packed, (uint32_t)size, (uint32_t)a->used};
  switch (a->fault) {
    case FAULT_CRC: s.crc ^= 1; break;
    case FAULT_LONGER: s.size++, s.packed += !deflated; break;
    case FAULT_SHORTER: s.size--, s.packed -= !deflated; break;
    case FAULT_HUGE:
    case FAULT_HUGE_PACKED: s.size = 0xfffffff0; break;
    case FAULT_PLACE: s.place++; break;
    case FAULT_METHOD: s.method = 99; break;
    case FAULT_SECRET: s.flags = 1; break;
    default: break;
  }
  return s;
}

/* A member: local header and bytes, and its entry in the directory. */
static inline void archive_add(archive *a, const char *name, const unsigned char *bytes,
                               size_t size) {
  const uint32_t crc = (uint32_t)crc32(0, bytes, (unsigned)size), n = (uint32_t)strlen(name);
  if (a->members == MOST_MEMBERS || a->used + size + 1000 > ROOM) return;
  size_t length = size;
  const bool wanted = a->fault == FAULT_PACKED || a->fault == FAULT_HUGE_PACKED;
  const unsigned char *packed = wanted ? pack(bytes, size, &length) : NULL;
  if (!packed) length = size;
  const said s = say(a, crc, length, size, packed);
  put_n(a->data, &a->used, 0x04034b50, 4);
  for (int k = 0; k < 2; k++) {
    unsigned char *to = k ? a->entries : a->data;
    size_t *used = k ? &a->directory : &a->used;
    if (k) put_n(to, used, 0x02014b50, 4), put_n(to, used, 20, 2);
    put_n(to, used, 20, 2), put_n(to, used, s.flags, 2), put_n(to, used, s.method, 2);
    put_n(to, used, 0x00210000, 4), put_n(to, used, s.crc, 4), put_n(to, used, s.packed, 4);
    put_n(to, used, s.size, 4), put_n(to, used, n, 2), put_n(to, used, 0, 2);
    if (k) put_n(to, used, 0, 4), put_n(to, used, 0, 2), put_n(to, used, 0, 4);
    if (k) put_n(to, used, s.place, 4);
    memcpy(to + *used, name, n), *used += n;
  }
  if (length) memcpy(a->data + a->used, packed ? packed : bytes, length);
  a->used += length;
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
    a->fault = bytes[0] / count;
    if (kind == 3) archive_text(a, name, (const char *)bytes + 6, length);
    else if (kind == 4) archive_add(a, name, bytes + 6, length);
    else archive_array(a, name, bytes, bytes + 6, length);
    bytes += 6 + length;
    size = left - length;
  }
  a->fault = FAULT_NONE;
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
