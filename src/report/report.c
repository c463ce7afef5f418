/* Document in, files out. */
#include "core/embed.h"
#include "core/file.h"
#include "report/draw.h"
#include "report/markdown.h"
#include "report/page.h"

#include <eigenpair/report.h>
#include <eigenpair/run.h>
#include <string.h>
#include <unistd.h>

/* report/template.html with style and program in it, built by report/build.mjs; a build without Node has none */
#ifdef EP_PAGE
EP_EMBED(ep_report_page, EP_PAGE);
bool ep_report_has_page(void) { return true; }
#else
static const char ep_report_page[] = "";
bool ep_report_has_page(void) { return false; }
#endif

static ep_status path_in(char out[1024], const char *folder, const char *name, const char *end) {
  EP_CHECK(snprintf(out, 1024, "%s/%s%s", folder, name, end) < 1024, EP_ERR_ARG,
           "path is too long: %.80s...", folder);
  return EP_OK;
}

static int put_in_file(const char *text, size_t size, void *stream) {
  fwrite(text, 1, size, stream);
  return 0;
}

static ep_status write_json(const char *folder, const char *name, const json_t *value) {
  char path[1024];
  ep_file f;
  EP_TRY(path_in(path, folder, name, ""));
  EP_TRY(ep_file_open(&f, path));
  if (json_dump_callback(value, put_in_file, f.stream, JSON_REAL_PRECISION(17) | JSON_INDENT(1))) {
    ep_file_discard(&f);
    return EP_FAIL(EP_ERR_NOMEM, "%s: no memory to write it", path);
  }
  fputc('\n', f.stream);
  return ep_file_commit(&f);
}

/* Drawings of an earlier report would stand beside numbers they do not show: they go first. */
static ep_status write_figure(const char *folder, const json_t *figure) {
  static const char *const drawings[] = {".svg", ".png"};
  const char *name = json_string_value(json_object_get(figure, "name"));
  char path[1024];
  for (int i = 0; i < 2; i++) {
    EP_TRY(path_in(path, folder, name, drawings[i]));
    unlink(path);
  }
  EP_TRY(path_in(path, folder, name, ".csv"));
  return ep_figure_write_csv(path, figure);
}

ep_status ep_report_write(const char *folder, const json_t *document) {
  char figures[1024], page[1024];
  size_t i, k;
  const json_t *s, *f;
  EP_CHECK(*folder, EP_ERR_ARG, "the name of the report's folder is empty");
  EP_TRY(ep_report_check(document));
  EP_TRY(path_in(figures, folder, "figures", ""));
  EP_TRY(path_in(page, folder, "report.html", ""));
  EP_TRY(ep_folder_make(figures));
  json_array_foreach(json_object_get(document, "sections"), i, s)
      json_array_foreach(json_object_get(s, "figures"), k, f) EP_TRY(write_figure(figures, f));
  EP_TRY(write_json(folder, "result.json", json_object_get(document, "result")));
  EP_TRY(write_json(folder, "document.json", document));
  if (ep_report_has_page()) {
    EP_TRY(ep_page_write(page, (const unsigned char *)ep_report_page, document));
    EP_TRY(ep_run_step("drawing", 0, 1));
    EP_TRY(ep_report_draw(page, figures, document));
  }
  return ep_report_markdown(folder, document);
}
