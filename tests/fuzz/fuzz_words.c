/* word vectors in JSON */
#include "tree.h"
#include "use.h"

#include "data/packages.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ep_mat X;
  json_t *words;
  if (!ep_parse_words(&X, &words, bytes, size, "x.json")) {
    for (ptrdiff_t i = 0; i < X.rows; i++) sink = ep_get(&X, i, X.cols - 1);
    ep_mat_free(&X);
    json_decref(words);
  }
  if (ep_mem_current() != 0) abort();
  return 0;
}
