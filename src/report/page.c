#include "report/page.h"

#include "core/file.h"

#include <string.h>

/* JSON inside a page: `<` stands only within texts, and written so it can never end the element. */
static int put_in_page(const char *text, size_t size, void *stream) {
  while (size > 0) {
    const char *mark = memchr(text, '<', size);
    const size_t plain = mark ? (size_t)(mark - text) : size;
    fwrite(text, 1, plain, stream);
    if (mark) fputs("\\u003c", stream);
    text += plain + !!mark;
    size -= plain + !!mark;
  }
  return 0; /* the file sees to errors when it is closed */
}

ep_status ep_page_write(const char *path, const unsigned char *page, const json_t *document) {
  static const char mark[] = "@DOCUMENT@";
  const char *text = (const char *)page, *place = strstr(text, mark);
  ep_file f;
  EP_TRY(ep_file_open(&f, path));
  fwrite(text, 1, (size_t)(place - text), f.stream);
  if (json_dump_callback(document, put_in_page, f.stream, JSON_REAL_PRECISION(17) | JSON_COMPACT)) {
    ep_file_discard(&f);
    return EP_FAIL(EP_ERR_NOMEM, "%s: no memory to write it", path);
  }
  fputs(place + strlen(mark), f.stream);
  return ep_file_commit(&f);
}
