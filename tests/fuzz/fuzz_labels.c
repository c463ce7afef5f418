/* Labels in a file of their own, numbers or words: one a row, words in the list of classes; and renamed as another file's */
#include "archive.h"
#include "data/table.h"
#include "use.h"

static void use_labels(int *labels, ptrdiff_t n, const json_t *classes) {
  const ptrdiff_t count = (ptrdiff_t)json_array_size(classes);
  if (n < 1) abort();
  for (ptrdiff_t i = 0; i < n; i++) {
    if (classes && (labels[i] < 0 || labels[i] >= count)) abort();
    sink = labels[i];
  }
  for (ptrdiff_t i = 0; i < count; i++)
    if (!json_is_string(json_array_get(classes, (size_t)i))) abort();
}

/* The same words in another order are the same classes. */
static void rename_labels(int *labels, ptrdiff_t n, const json_t *classes) {
  json_t *other = json_array();
  for (size_t i = json_array_size(classes); i > 0; i--)
    json_array_append(other, json_array_get(classes, i - 1));
  const size_t before = json_array_size(other);
  if (ep_labels_rename(labels, n, other, classes)) abort();
  if (json_array_size(other) != before) abort();
  use_labels(labels, n, other);
  json_decref(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  int *labels = NULL;
  json_t *classes = NULL;
  ptrdiff_t n;
  if (!ep_table_labels(&labels, &classes, &n, as_file(bytes, size))) {
    use_labels(labels, n, classes);
    if (classes) rename_labels(labels, n, classes);
  }
  ep_release(labels);
  json_decref(classes);
  if (ep_mem_current() != 0) abort();
  return 0;
}
