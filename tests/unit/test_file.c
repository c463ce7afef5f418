/* Checksums, and names of files. */
#include "files.h"

#include "core/sha256.h"

/* FIPS 180-4's examples, and lengths around the end of a block (by coreutils' sha256sum). */
static void sha256_of_known_texts(void **state) {
  (void)state;
  static const struct {
    const char *text, *hex;
  } known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmn"
       "opqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"}};
  char hex[65];
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    ep_sha256(hex, (const unsigned char *)known[i].text, strlen(known[i].text));
    assert_string_equal(hex, known[i].hex);
  }
  unsigned char *million = malloc(1000000);
  memset(million, 'a', 1000000);
  ep_sha256(hex, million, 1000000);
  assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  ep_sha256(hex, million, 55);
  assert_string_equal(hex, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  ep_sha256(hex, million, 64);
  assert_string_equal(hex, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  free(million);
}

static void names_of_one_file(void **state) {
  (void)state;
  char link_name[400];
  write_bytes("a", "x", 1);
  write_bytes("b", "x", 1);
  snprintf(link_name, sizeof link_name, "%s/link", folder);
  assert_int_equal(symlink("new", link_name), 0);
  assert_true(ep_file_same(in_folder("a"), in_folder("a")));
  assert_true(ep_file_same(in_folder("a"), in_folder("./a")));
  assert_false(ep_file_same(in_folder("a"), in_folder("b")));
  assert_false(ep_file_same(in_folder("a"), in_folder("new"))); /* one of them is not there */
  assert_true(ep_file_same(in_folder("new"), in_folder("./new")));
  assert_true(ep_file_same(in_folder("new"), in_folder("link")));
  assert_false(ep_file_same(in_folder("new"), in_folder("newer")));
  assert_false(ep_file_same(in_folder("gone/new"), in_folder("gone/new"))); /* nor can it be */
  unlink(link_name);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sha256_of_known_texts),
                                     cmocka_unit_test(names_of_one_file)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
