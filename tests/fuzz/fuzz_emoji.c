/* emoji.json: what is accepted is cut from sheets of 3 x 2 squares into as many pictures as labels and names */
#include "tree.h"
#include "use.h"

#include "core/file.h"
#include "data/packages.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CELL = 66, ACROSS = 3, DOWN = 2, WIDE = 3 * CELL * ACROSS, HIGH = CELL * DOWN };
static char root[] = "/dev/shm/fuzz-emoji-XXXXXX";

static void number(FILE *f, uint32_t x) {
  for (int i = 24; i >= 0; i -= 8) fputc((int)(x >> i & 255), f);
}

static void chunk(FILE *f, const char *name, const unsigned char *bytes, size_t size) {
  uLong sum = crc32(0, (const unsigned char *)name, 4);
  if (size) sum = crc32(sum, bytes, (uInt)size);
  number(f, (uint32_t)size);
  fwrite(name, 1, 4, f);
  if (size) fwrite(bytes, 1, size, f);
  number(f, (uint32_t)sum);
}

/* a sheet in colour */
static void write_sheet(const char *path) {
  static unsigned char rows[(WIDE + 1) * HIGH], packed[sizeof rows + 1000];
  unsigned char head[13] = {0, 0, 0, CELL * ACROSS, 0, 0, 0, HIGH, 8, 2, 0, 0, 0};
  uLongf size = sizeof packed;
  for (size_t i = 0; i < sizeof rows; i++) rows[i] = i % (WIDE + 1) ? (unsigned char)i : 0;
  FILE *f = fopen(path, "wb");
  if (!f || compress(packed, &size, rows, sizeof rows) != Z_OK) abort();
  fwrite("\x89PNG\r\n\x1a\n", 1, 8, f);
  chunk(f, "IHDR", head, sizeof head);
  chunk(f, "IDAT", packed, size);
  chunk(f, "IEND", NULL, 0);
  fclose(f);
}

/* the deepest first */
static void leave(void) {
  char path[300];
  for (int i = 0; ep_emoji_vendor(i); i++) {
    snprintf(path, sizeof path, "%s/img/%s/sheets-clean", root, ep_emoji_vendor(i));
    ep_folder_remove(path);
    path[strlen(path) - strlen("/sheets-clean")] = 0;
    rmdir(path);
  }
  snprintf(path, sizeof path, "%s/img", root);
  rmdir(path);
  ep_folder_remove(root);
}

static void begin(void) {
  static bool there;
  char path[300];
  if (there) return;
  there = true;
  if (!mkdtemp(root) || atexit(leave)) abort();
  for (int i = 0; ep_emoji_vendor(i); i++) {
    snprintf(path, sizeof path, "%s/img/%s/sheets-clean", root, ep_emoji_vendor(i));
    if (ep_folder_make(path)) abort();
    snprintf(path, sizeof path, "%s/img/%s/sheets-clean/64.png", root, ep_emoji_vendor(i));
    write_sheet(path);
  }
}

static ptrdiff_t lines_of(const char *path) {
  ptrdiff_t lines = 0;
  FILE *f = fopen(path, "rb");
  if (!f) abort();
  for (int c; (c = fgetc(f)) != EOF;) lines += c == '\n';
  fclose(f);
  return lines;
}

static void use_set(const char *part) {
  char path[300];
  int *labels;
  ptrdiff_t n;
  ep_array a;
  snprintf(path, sizeof path, "%s/labels%s.npy", root, part);
  if (ep_labels_read(&labels, &n, path)) abort();
  for (ptrdiff_t i = 0; i < n; i++)
    if (labels[i] < 0 || labels[i] > 8) abort();
  ep_release(labels);
  snprintf(path, sizeof path, "%s/twitter%s.npy", root, part);
  if (ep_array_read(&a, path) || a.shape[0] != n) abort();
  ep_array_free(&a);
  snprintf(path, sizeof path, "%s/names%s.txt", root, part);
  if (lines_of(path) != n) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char path[300];
  begin();
  snprintf(path, sizeof path, "%s/emoji.json", root);
  FILE *f = fopen(path, "wb");
  if (!f) abort();
  if (size) fwrite(bytes, 1, size, f);
  fclose(f);
  if (!ep_emoji_unpack(root, root)) use_set(""), use_set("-test");
  if (ep_mem_current() != 0) abort();
  return 0;
}
