/* .npz: archives in memory, as they are (first byte even) or made from a description (odd; archive.h) */
#include "archive.h"
#include "data/npz_place.h"
#include "use.h"

#include <fcntl.h>

static const char *const members[] = {"X.npy",   "W.npy", "arr_0.npy", "config.npy",
                                      "a/b.npy", "X",     "note.txt",  "../X.npy"};

/* An array that is read where it stands is the one that libzip unpacks. */
static void compare(ep_npz *z, const uint8_t *bytes, size_t size, const char *name) {
  uint64_t at, length;
  bool stored;
  char full[1280];
  ep_array whole, part;
  const int file = open(as_file(bytes, size), O_RDONLY);
  if (file < 0) abort();
  if (!ep_npz_place(&at, &length, &stored, full, z, name, file, size) && stored) {
    if (at > size || length > size - at) abort();
    const bool good = !(name ? ep_npz_get(&whole, z, name) : ep_npz_get_only(&whole, z));
    if (good != !ep_parse_npy(&part, bytes + at, length, full)) abort();
    if (good) {
      const size_t all = (size_t)ep_array_count(&whole) * ep_dtype_size(whole.dtype);
      if (whole.dtype != part.dtype || ep_array_count(&whole) != ep_array_count(&part)) abort();
      if (all && memcmp(whole.data, part.data, all) != 0) abort();
      ep_array_free(&whole);
      ep_array_free(&part);
    }
  }
  close(file);
}

static void look(const uint8_t *bytes, size_t size) {
  static const char *const names[] = {"X", "W", "arr_0", "config"};
  ep_npz *z;
  ep_array a;
  char *text, name[128];
  if (ep_npz_open_bytes(&z, bytes, size, "x.npz")) return;
  if (!ep_npz_get_only(&a, z)) use(&a);
  for (int i = 0; ep_npz_name(name, z, i) && i < 20; i++) sink = name[0];
  for (int i = 0; i < 4; i++) {
    ep_array shape;
    const bool known = ep_npz_shape(&shape, z, names[i]) == EP_OK;
    if (!ep_npz_get(&a, z, names[i])) {
      if (known && (shape.ndim != a.ndim || ep_array_count(&shape) != ep_array_count(&a))) abort();
      use(&a);
    }
    ep_array_free(&shape);
    if (ep_npz_get_text(&text, z, names[i])) continue;
    for (const char *p = text; *p; p++) sink = *p;
    ep_npz_text_free(text);
  }
  for (int i = 0; i < 5; i++) compare(z, bytes, size, i < 4 ? names[i] : NULL);
  ep_npz_close(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  archive a;
  if (size < 1) return 0;
  if (bytes[0] % 2) {
    archive_begin(&a);
    archive_members(&a, bytes + 1, size - 1, members, sizeof members / sizeof *members);
    archive_end(&a);
    look(a.data, a.used);
  } else look(bytes + 1, size - 1);
  if (ep_mem_current() != 0) abort();
  return 0;
}
