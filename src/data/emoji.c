/* Emoji of the packages emoji-datasource-VENDOR: emoji.json says what there is and where on a sheet, each vendor's sheet of
 * 66 x 66 squares (a border of one pixel around 64 x 64) has its drawing of it. Kept is what all vendors have drawn, in the
 * order of emoji.json, so that row i is the same thing by every hand; skin tones, one drawing in five colours, are left out.
 * Every fifth goes to the test part. */
#include "core/file.h"
#include "core/mem.h"
#include "data/packages.h"
#include "data/parse.h"

#include <eigenpair/array.h>
#include <string.h>

enum { VENDORS = 3, SIDE = 64, CELL = SIDE + 2, PIXELS = 3 * SIDE * SIDE, TEST_EVERY = 5 };

const char *ep_emoji_vendor(int i) {
  static const char *const names[VENDORS + 1] = {"google", "twitter", "facebook", NULL};
  return names[i];
}

/* Labels are 0, 1, ..; what is in none of them (samples of skin tones) is no picture of a thing. */
static int category_of(const json_t *emoji) {
  static const char *const names[] = {"Smileys & Emotion", "People & Body",   "Animals & Nature",
                                      "Food & Drink",      "Travel & Places", "Activities",
                                      "Objects",           "Symbols",         "Flags"};
  const char *name = json_string_value(json_object_get(emoji, "category"));
  for (int i = 0; name && i < (int)(sizeof names / sizeof *names); i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

static bool drawn_by_all(const json_t *emoji) {
  char key[40];
  bool all = true;
  for (int i = 0; i < VENDORS; i++) {
    snprintf(key, sizeof key, "has_img_%s", ep_emoji_vendor(i));
    all = all && json_is_true(json_object_get(emoji, key));
  }
  return all;
}

/* ---- the list */

typedef struct {
  const char *name; /* of the JSON */
  int label;
  ptrdiff_t x, y; /* square of the sheet */
} thing;

typedef struct {
  thing *all; /* owned */
  ptrdiff_t count;
} things;

static ep_status add(things *t, const json_t *emoji, const char *file) {
  const json_t *x = json_object_get(emoji, "sheet_x"), *y = json_object_get(emoji, "sheet_y"),
               *name = json_object_get(emoji, "short_name");
  if (category_of(emoji) < 0 || !drawn_by_all(emoji)) return EP_OK;
  EP_CHECK(json_is_integer(x) && json_is_integer(y) && json_is_string(name), EP_ERR_INPUT,
           "%s: an emoji has no sheet_x, sheet_y or short_name", file);
  t->all[t->count++] = (thing){json_string_value(name), category_of(emoji),
                               (ptrdiff_t)json_integer_value(x), (ptrdiff_t)json_integer_value(y)};
  return EP_OK;
}

static ep_status list(things *t, const json_t *emoji, const char *file) {
  const ptrdiff_t n = (ptrdiff_t)json_array_size(emoji);
  EP_CHECK(n > 0, EP_ERR_INPUT, "%s: is no list of emoji", file);
  t->all = ep_alloc(n, sizeof *t->all);
  EP_CHECK(t->all, EP_ERR_NOMEM, "%s: no memory for %td emoji", file, n);
  for (ptrdiff_t i = 0; i < n; i++) EP_TRY(add(t, json_array_get(emoji, (size_t)i), file));
  EP_CHECK(t->count >= TEST_EVERY, EP_ERR_INPUT,
           "%s: has %td emoji that all vendors have drawn: fewer than %d", file, t->count,
           TEST_EVERY);
  return EP_OK;
}

static ep_status read_json(json_t **out, const char *path) {
  unsigned char *bytes;
  size_t size;
  json_error_t error;
  EP_TRY(ep_file_read(&bytes, &size, path));
  *out = json_loadb((const char *)bytes, size, 0, &error);
  ep_release(bytes);
  EP_CHECK(*out || json_error_code(&error) != json_error_out_of_memory, EP_ERR_NOMEM,
           "%s: no memory for its JSON", path);
  EP_CHECK(*out, EP_ERR_INPUT, "%s: is not JSON: %s", path, error.text);
  return EP_OK;
}

/* ---- parts: which of the things, as what files */

static bool is_in(ptrdiff_t i, bool test) { return (i % TEST_EVERY == TEST_EVERY - 1) == test; }

static void path_of(char path[1200], const char *to, const char *what, bool test, const char *end) {
  snprintf(path, 1200, "%s/%s%s.%s", to, what, test ? "-test" : "", end);
}

static ep_status write_names(const char *to, const things *t, bool test) {
  char path[1200];
  ep_file f;
  path_of(path, to, "names", test, "txt");
  EP_TRY(ep_file_open(&f, path));
  for (ptrdiff_t i = 0; i < t->count; i++)
    if (is_in(i, test))
      fprintf(f.stream, "%.*s\n", (int)strcspn(t->all[i].name, "\r\n"), t->all[i].name);
  return ep_file_commit(&f);
}

static ep_status write_labels(const char *to, const things *t, bool test) {
  char path[1200];
  ptrdiff_t n = 0;
  int *labels = ep_alloc(t->count, sizeof *labels);
  EP_CHECK(labels, EP_ERR_NOMEM, "no memory for %td labels", t->count);
  for (ptrdiff_t i = 0; i < t->count; i++)
    if (is_in(i, test)) labels[n++] = t->all[i].label;
  path_of(path, to, "labels", test, "npy");
  const ep_status st = ep_npy_write_labels(path, labels, n);
  ep_release(labels);
  return st;
}

/* ---- pictures */

/* (H, W, 3) of the sheet -> (3, 64, 64) */
static void cut(unsigned char *out, const ep_array *sheet, const thing *e) {
  for (ptrdiff_t c = 0; c < 3; c++)
    for (ptrdiff_t i = 0; i < SIDE; i++)
      for (ptrdiff_t j = 0; j < SIDE; j++)
        *out++ =
            sheet->data[((e->y * CELL + 1 + i) * sheet->shape[1] + e->x * CELL + 1 + j) * 3 + c];
}

static ep_status check_sheet(const ep_array *sheet, const things *t, const char *path) {
  const ptrdiff_t down = sheet->shape[0] / CELL, across = sheet->shape[1] / CELL;
  EP_CHECK(sheet->shape[2] == 3, EP_ERR_INPUT, "%s: is not in colour", path);
  for (ptrdiff_t i = 0; i < t->count; i++)
    EP_CHECK(t->all[i].x >= 0 && t->all[i].x < across && t->all[i].y >= 0 && t->all[i].y < down,
             EP_ERR_INPUT, "%s: has no square for '%s'", path, t->all[i].name);
  return EP_OK;
}

static ep_status write_pictures(const char *to, const char *vendor, const ep_array *sheet,
                                const things *t, bool test) {
  char path[1200];
  ptrdiff_t shape[4] = {0, 3, SIDE, SIDE};
  unsigned char *pixels = ep_alloc(t->count, PIXELS);
  EP_CHECK(pixels, EP_ERR_NOMEM, "no memory for %td pictures", t->count);
  for (ptrdiff_t i = 0; i < t->count; i++)
    if (is_in(i, test)) cut(pixels + PIXELS * shape[0]++, sheet, &t->all[i]);
  path_of(path, to, vendor, test, "npy");
  const ep_status st = ep_npy_write_bytes(path, pixels, 4, shape);
  ep_release(pixels);
  return st;
}

static ep_status unpack_sheet(const char *to, const char *from, const char *vendor,
                              const things *t) {
  char path[1200];
  unsigned char *bytes;
  size_t size;
  ep_array sheet;
  snprintf(path, sizeof path, "%s/img/%s/sheets-clean/%d.png", from, vendor, SIDE);
  EP_TRY(ep_file_read(&bytes, &size, path));
  ep_status st = ep_parse_picture(&sheet, bytes, size, path);
  ep_release(bytes);
  EP_TRY(st);
  st = check_sheet(&sheet, t, path);
  if (!st) st = write_pictures(to, vendor, &sheet, t, false);
  if (!st) st = write_pictures(to, vendor, &sheet, t, true);
  ep_array_free(&sheet);
  return st;
}

/* ---- all of it */

static ep_status unpack(things *t, const json_t *emoji, const char *to, const char *from) {
  EP_TRY(list(t, emoji, "emoji.json"));
  for (int i = 0; i < VENDORS; i++) EP_TRY(unpack_sheet(to, from, ep_emoji_vendor(i), t));
  for (int test = 0; test < 2; test++) {
    EP_TRY(write_labels(to, t, test));
    EP_TRY(write_names(to, t, test));
  }
  return EP_OK;
}

ep_status ep_emoji_unpack(const char *to, const char *from) {
  char path[1200];
  json_t *emoji;
  things t = {0};
  snprintf(path, sizeof path, "%s/emoji.json", from);
  EP_TRY(read_json(&emoji, path));
  const ep_status st = unpack(&t, emoji, to, from);
  ep_release(t.all);
  json_decref(emoji);
  return st;
}
