/* Folders of pictures: names, sub-folders, labels, what is no picture. A description is a byte of options and entries:
 * kind (1), length of the name (1), of the bytes (2, little endian), name, bytes.
 *   kind % 4: which sub-folder, 0 none; kind & 4: a folder in the place of the file; kind & 8: no ending of a picture */
#include "use.h"

#include <eigenpair/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 12, SUBS = 3 };
static char root[] = "/dev/shm/fuzz-folder-XXXXXX";
static char made[MOST][400];
static int count;
static const char *const subs[] = {"", "a/", "b\xff/", "c\033/"};

static void leave(void) {
  char path[400];
  for (int i = SUBS; i >= 0; i--) {
    snprintf(path, sizeof path, "%s/%s", root, subs[i]);
    rmdir(path);
  }
}

static void begin(void) {
  static bool there;
  char path[400];
  if (!there && (!mkdtemp(root) || atexit(leave))) abort();
  for (int i = 1; !there && i <= SUBS; i++) {
    snprintf(path, sizeof path, "%s/%s", root, subs[i]);
    if (mkdir(path, 0700)) abort();
  }
  there = true;
  count = 0;
}

static void end(void) {
  while (count > 0) (void)remove(made[--count]);
}

/* Bytes that a name may have; never empty. */
static void name_of(char out[80], const uint8_t *bytes, size_t n) {
  size_t used = 0;
  out[used++] = 'p';
  for (size_t i = 0; i < n && used < 64; i++)
    if (bytes[i] != 0 && bytes[i] != '/') out[used++] = (char)bytes[i];
  out[used] = 0;
}

static void put(uint8_t kind, const uint8_t *name, size_t n, const uint8_t *bytes, size_t size) {
  char text[80];
  name_of(text, name, n);
  snprintf(made[count], sizeof made[count], "%s/%s%s%s", root, subs[kind % 4], text,
           kind & 8 ? "" : ".png");
  struct stat info;
  if (lstat(made[count], &info) == 0) return;
  if (kind & 4) {
    if (mkdir(made[count], 0700) == 0) count++;
    return;
  }
  FILE *f = fopen(made[count], "wb");
  if (!f) return;
  count++;
  if (size) fwrite(bytes, 1, size, f);
  fclose(f);
}

static void fill(const uint8_t *bytes, size_t size) {
  while (size >= 4 && count < MOST) {
    const size_t left = size - 4, asked = (size_t)bytes[2] | (size_t)bytes[3] << 8;
    const size_t n = bytes[1] < left ? bytes[1] : left;
    const size_t length = asked < left - n ? asked : left - n;
    put(bytes[0], bytes + 4, n, bytes + 4 + n, length);
    bytes += 4 + n + length;
    size = left - n - length;
  }
}

static void use_pictures(ep_array *a, const int *labels, const json_t *classes) {
  const ptrdiff_t n = a->shape[0];
  if (a->ndim != 4 || n < 1 || n > MOST || !labels != !classes) abort();
  for (ptrdiff_t i = 0; labels && i < n; i++)
    if (labels[i] < 0 || labels[i] >= (int)json_array_size(classes)) abort();
  use(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const shapes[] = {"", "4x5", "3x4x4", "1x2x2", "0x1", "x", "3x", "1x1"};
  ep_array a;
  int *labels;
  json_t *classes;
  if (size < 1) return 0;
  begin();
  fill(bytes + 1, size - 1);
  if (!ep_images_read(&a, &labels, &classes, root, shapes[bytes[0] % 8], bytes[0] & 8)) {
    use_pictures(&a, labels, classes);
    ep_release(labels);
    json_decref(classes);
  }
  end();
  if (ep_mem_current() != 0) abort();
  return 0;
}
