#pragma once
/* What the tests of file formats share: bytes in memory, files in a folder of their own. */
#include "check.h"
#include "core/file.h"
#include "core/mem.h"
#include "data/parse.h"

#include <dirent.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static char folder[64];

static inline const char *in_folder(const char *name) {
  static char paths[4][400];
  static int turn;
  char *path = paths[turn++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static inline const char *write_bytes(const char *name, const void *bytes, size_t size) {
  const char *path = in_folder(name);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, size, f), size);
  fclose(f);
  return path;
}

/* what an error says begins with `start` and has `part` in it */
static inline void check_message(const char *start, const char *part) {
  const char *m = ep_last_error();
  if (strncmp(m, start, strlen(start)) != 0 || !strstr(m, part))
    fail_msg("message '%s' lacks '%s' or '%s'", m, start, part);
}

/* ---- .npy */

typedef struct {
  unsigned char bytes[8192];
  size_t size;
} blob;

/* A .npy file of the given version and dict, with `count` bytes of data. */
static inline blob make_npy(int version, const char *dict, const void *data, size_t count) {
  blob b = {.size = 0};
  const size_t n = strlen(dict), head = version == 1 ? 10 : 12;
  memcpy(b.bytes, "\x93NUMPY", 6);
  b.bytes[6] = (unsigned char)version;
  b.bytes[8] = (unsigned char)(n & 255);
  b.bytes[9] = (unsigned char)(n >> 8);
  memcpy(b.bytes + head, dict, n);
  if (count) memcpy(b.bytes + head + n, data, count);
  b.size = head + n + count;
  return b;
}

/* Parses from a block of exactly the right size, so that the sanitizer sees a byte too many. */
static inline ep_status parse_exact(ep_array *a, const blob *b,
                                    ep_status (*parse)(ep_array *, const unsigned char *, size_t,
                                                       const char *)) {
  static unsigned char *kept;
  free(kept); /* the array of the last call pointed there */
  kept = malloc(b->size ? b->size : 1);
  memcpy(kept, b->bytes, b->size);
  return parse(a, kept, b->size, "x.dat");
}
#define DICT(descr, order, shape) \
  "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"

static inline blob text_blob(const char *text) {
  blob b = {.size = strlen(text)};
  memcpy(b.bytes, text, b.size);
  return b;
}

enum { RECORD = 3073 };

static inline int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/ep_array_XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static inline int tear_down(void **state) {
  (void)state;
  DIR *d = opendir(folder);
  for (struct dirent *e; (e = readdir(d));)
    if (e->d_name[0] != '.') unlink(in_folder(e->d_name));
  closedir(d);
  return rmdir(folder);
}
