#pragma once
/* JSON that stays JSON: a mutation changes one value of the tree, so that it reaches what stands behind the text. What is no
 * JSON, and a quarter of the rest, is mutated as bytes. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static inline unsigned draw(unsigned *seed, size_t below) {
  *seed = *seed * 1664525u + 1013904223u;
  return below ? (unsigned)((*seed >> 8) % below) : 0;
}

/* What a number may become: neighbours of it, and edges. */
static inline json_t *other_number(const json_t *x, unsigned *seed) {
  static const json_int_t whole[] = {-1,    0,          1,          2,         255,
                                     65536, 2147483647, 4294967297, INT64_MAX, INT64_MIN};
  static const double real[] = {0.5, -0.0, 1e-320, 1e38, 1e39, 1e308};
  const json_int_t i = json_integer_value(x);
  switch (draw(seed, 4)) {
    case 0: return json_integer(i < INT64_MAX ? i + 1 : i);
    case 1: return json_integer(i > INT64_MIN ? i - 1 : i);
    case 2: return json_real(real[draw(seed, sizeof real / sizeof *real)]);
    default: return json_integer(whole[draw(seed, sizeof whole / sizeof *whole)]);
  }
}

static inline json_t *other_text(const json_t *x, unsigned *seed) {
  uint8_t bytes[256] = {0};
  size_t n = json_string_length(x) < 200 ? json_string_length(x) : 200;
  memcpy(bytes, json_string_value(x), n);
  n = LLVMFuzzerMutate(bytes, n, sizeof bytes);
  json_t *text = json_stringn((const char *)bytes, n); /* NULL: no UTF-8 */
  return text ? text : draw(seed, 2) ? json_string("") : json_null();
}

/* One entry goes, or one comes twice. */
static inline json_t *other_list(const json_t *x, unsigned *seed) {
  json_t *copy = json_copy((json_t *)(uintptr_t)x);
  const size_t i = draw(seed, json_array_size(copy));
  if (draw(seed, 2)) json_array_remove(copy, i);
  else if (json_array_size(copy)) json_array_append(copy, json_array_get(copy, i));
  return copy;
}

/* One entry goes, or has the value of another. */
static inline json_t *other_object(const json_t *x, unsigned *seed) {
  json_t *copy = json_copy((json_t *)(uintptr_t)x), *value, *one = NULL;
  const char *key, *from = NULL, *to = NULL;
  const size_t i = draw(seed, json_object_size(copy)), k = draw(seed, json_object_size(copy));
  size_t at = 0;
  json_object_foreach(copy, key, value) {
    if (at == i) from = key, one = value;
    if (at++ == k) to = key;
  }
  if (from && draw(seed, 2)) json_object_del(copy, from);
  else if (to) json_object_set(copy, to, one);
  return copy;
}

static inline json_t *other_value(const json_t *x, unsigned *seed) {
  static const char *const kinds[] = {"null", "true", "[]", "{}", "\"x\"", "1", "[[]]"};
  if (draw(seed, 6) == 0)
    return json_loads(kinds[draw(seed, sizeof kinds / sizeof *kinds)], JSON_DECODE_ANY, NULL);
  if (json_is_number(x)) return other_number(x, seed);
  if (json_is_string(x)) return other_text(x, seed);
  if (json_is_array(x)) return other_list(x, seed);
  if (json_is_object(x)) return other_object(x, seed);
  return json_is_true(x) ? json_false() : json_true();
}

static inline size_t values_in(const json_t *x) {
  size_t count = 1, i;
  const char *key;
  json_t *value;
  json_array_foreach(x, i, value) count += values_in(value);
  json_object_foreach((json_t *)(uintptr_t)x, key, value) count += values_in(value);
  return count;
}

/* The same tree but for value number *left of it. */
static inline json_t *changed(const json_t *x, size_t *left, unsigned *seed) {
  size_t i;
  const char *key;
  json_t *value;
  if ((*left)-- == 0) return other_value(x, seed);
  if (!json_is_array(x) && !json_is_object(x)) return json_incref((json_t *)(uintptr_t)x);
  json_t *copy = json_is_array(x) ? json_array() : json_object();
  json_array_foreach(x, i, value) json_array_append_new(copy, changed(value, left, seed));
  json_object_foreach((json_t *)(uintptr_t)x, key, value)
      json_object_set_new(copy, key, changed(value, left, seed));
  return copy;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  json_t *tree =
      draw(&seed, 4) ? json_loadb((const char *)data, size, JSON_DECODE_ANY, NULL) : NULL;
  if (!tree) return LLVMFuzzerMutate(data, size, most);
  size_t left = draw(&seed, values_in(tree));
  json_t *other = changed(tree, &left, &seed);
  char *text = json_dumps(other, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
  const size_t length = text ? strlen(text) : 0;
  const int fits = length > 0 && length <= most;
  if (fits) memcpy(data, text, length);
  free(text);
  json_decref(other);
  json_decref(tree);
  return fits ? length : LLVMFuzzerMutate(data, size, most);
}
