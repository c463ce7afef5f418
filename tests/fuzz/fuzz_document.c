/* Documents of reports: what is accepted can be written down, as Markdown and as the numbers of its figures */
#include "archive.h"
#include "tree.h"
#include "use.h"

#include "report/markdown.h"

#include <eigenpair/figure.h>
#include <eigenpair/report.h>

/* One folder of its own for the whole run. */
static const char *folder(void) {
  static char path[] = "/dev/shm/fuzz-document-XXXXXX";
  static bool made;
  if (!made && !mkdtemp(path)) abort();
  made = true;
  return path;
}

static void use_document(const json_t *document) {
  char path[200];
  size_t i, k;
  const json_t *s, *f;
  int left = 2; /* files cost far more than checks */
  snprintf(path, sizeof path, "%s/x.csv", folder());
  json_array_foreach(json_object_get(document, "sections"), i, s) json_array_foreach(
      json_object_get(s, "figures"), k, f) if (left-- > 0 && ep_figure_write_csv(path, f)) abort();
  if (ep_report_markdown(folder(), document)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  json_t *document = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
  if (document && !ep_report_check(document)) use_document(document);
  json_decref(document);
  if (ep_mem_current() != 0) abort();
  return 0;
}
