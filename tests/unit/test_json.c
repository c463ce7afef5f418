/* JSON from strangers: what a text becomes is known before it is read. */
#include "check.h"

#include <eigenpair/json.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- what jansson holds, with malloc's own share of it */

static size_t held;

static void *counted(size_t size) {
  void *p = malloc(size);
  if (p) held += malloc_usable_size(p) + sizeof(size_t);
  return p;
}

static void uncounted(void *p) {
  if (p) held -= malloc_usable_size(p) + sizeof(size_t);
  free(p);
}

/* `first`, `again` n times, with the number of the turn where it has a %d, `last` */
static char *repeated(const char *first, const char *again, const char *last, int n) {
  char *text = malloc(strlen(first) + (size_t)n * (strlen(again) + 12) + strlen(last) + 1);
  assert_non_null(text);
  char *at = text + sprintf(text, "%s", first);
  for (int i = 0; i < n; i++) {
    const char *number = strstr(again, "%d");
    if (!number) at += sprintf(at, "%s", again);
    else at += sprintf(at, "%.*s%d%s", (int)(number - again), again, i, number + 2);
  }
  strcpy(at, last);
  return text;
}

static const struct {
  const char *first, *again, *last;
} texts[] = {
    {"[", "[],", "1]"},
    {"[", "{},", "1]"},
    {"[", "1,", "1]"},
    {"[", "0.25,", "1]"},
    {"[", "\"\",", "1]"},
    {"[", "\"12345678901234567890123456789012\",", "1]"},
    {"[", "true,", "1]"},
    {"[", "{\"a\":1},", "1]"},
    {"[", "{\"a\":{}},", "1]"},
    {"[", "[[]],", "1]"},
    {"[", "{\"a\":[],\"b\":[1,2,3,4,5,6,7,8,9]},", "1]"},
    {"{", "\"%d\":1,", "\"x\":1}"},
    {"{", "\"%d\":[],", "\"x\":1}"},
    {"{", "\"%d\":{},", "\"x\":1}"},
    {"{\"gd\":[", "-0.12345678901234567,", "1]}"},
};

static void what_a_text_becomes(void **state) {
  (void)state;
  static const int counts[] = {1, 7, 8, 9, 33, 1025, 4097, 30000};
  json_set_alloc_funcs(counted, uncounted);
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
      char *text = repeated(texts[k].first, texts[k].again, texts[k].last, counts[c]);
      const double most = ep_json_becomes(text, strlen(text));
      held = 0;
      json_t *value = json_loads(text, 0, NULL);
      assert_non_null(value);
      const bool numbers = k + 1 == sizeof texts / sizeof *texts; /* what jobs are full of */
      if ((double)held > most || (numbers && counts[c] > 1000 && most > 3 * (double)held))
        fail_msg("%d of %s: %zu bytes, %.0f said", counts[c], texts[k].again, held, most);
      json_decref(value);
      assert_int_equal(held, 0);
      free(text);
    }
  json_set_alloc_funcs(malloc, free);
}

static void nested(void **state) {
  (void)state;
  char text[2049];
  memset(text, '[', 1024);
  memset(text + 1024, ']', 1024);
  text[2048] = '\0';
  json_set_alloc_funcs(counted, uncounted);
  held = 0;
  json_t *value = json_loads(text, 0, NULL);
  assert_non_null(value);
  assert_true((double)held <= ep_json_becomes(text, 2048));
  json_decref(value);
  json_set_alloc_funcs(malloc, free);
}

static void room(void **state) {
  (void)state;
  char *text = repeated("[", "[],", "1]", 30000);
  json_t *value;
  CHECK_STATUS(ep_json_check(text, strlen(text), 1e6, "a file"), EP_ERR_INPUT);
  assert_non_null(strstr(ep_last_error(), "a file: its JSON has 90003 bytes"));
  CHECK_OK(ep_json_check(text, strlen(text), 1e7, "a file"));
  CHECK_STATUS(ep_json_parse(&value, text, 1e6, "a file"), EP_ERR_INPUT);
  assert_null(value);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_text_becomes),
                                     cmocka_unit_test(nested), cmocka_unit_test(room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
